//! Which leaves of CPUID are captured.

use sys::cpuid::Leaf;

/// How many sub-leaves a leaf has.
#[derive(Debug, Clone, Copy)]
enum Subleaves {
    /// As many as sub-leaf 0 says in EAX, beside itself.
    LastInEax,
    /// Up to and with the first one whose register is zero below this mask.
    UntilZero(fn(Leaf) -> u32),
    /// So many.
    Count(u32),
}

/// Leaves that have sub-leaves; all others ignore the number.
///
/// # Source
/// Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.
const SUBLEAVES: &[(u32, Subleaves)] = &[
    (0x4, Subleaves::UntilZero(|leaf| leaf.eax & 0x1f)),
    (0x7, Subleaves::LastInEax),
    (0xb, Subleaves::UntilZero(|leaf| leaf.ecx & 0xff00)),
    (0xd, Subleaves::Count(64)),
    (0xf, Subleaves::Count(2)),
    (0x10, Subleaves::Count(4)),
    (0x12, Subleaves::Count(4)),
    (0x14, Subleaves::LastInEax),
    (0x17, Subleaves::Count(4)),
    (0x18, Subleaves::LastInEax),
    (0x1d, Subleaves::LastInEax),
    (0x1e, Subleaves::Count(2)),
    (0x1f, Subleaves::UntilZero(|leaf| leaf.ecx & 0xff00)),
    (0x20, Subleaves::LastInEax),
    (0x23, Subleaves::Count(6)),
    (0x24, Subleaves::LastInEax),
    (0x8000_001d, Subleaves::UntilZero(|leaf| leaf.eax & 0x1f)),
    (0x8000_0020, Subleaves::Count(4)),
    (0x8000_0026, Subleaves::UntilZero(|leaf| leaf.ecx & 0xff00)),
];

/// The most sub-leaves that a leaf is believed to have.
const SUBLEAVES_MAX: u32 = 64;

/// First leaf of each range, and the last that is believed to be there.
const RANGES: &[(u32, u32)] = &[
    (0, 0x40),
    (0x4000_0000, 0x4000_0020),
    // Hyper-V's answers stand in front of KVM's own.
    (0x4000_0100, 0x4000_0110),
    (0x8000_0000, 0x8000_0040),
    (0xc000_0000, 0xc000_0010),
];

/// Leaf 3 held the serial number of the Pentium III (invariant I10).
const SERIAL_NUMBER: u32 = 3;

/// The sub-leaf under which an answer stands: 0 where the leaf ignores the number.
pub(crate) fn subleaf(leaf: u32, subleaf: u32) -> u32 {
    if SUBLEAVES.iter().any(|(known, _)| *known == leaf) { subleaf } else { 0 }
}

/// Every leaf that is answered, by leaf and sub-leaf.
pub(crate) fn all(ask: impl Fn(u32, u32) -> Option<Leaf>) -> Vec<((u32, u32), Leaf)> {
    let mut answers = Vec::new();
    for &(first, last) in RANGES {
        let Some(head) = ask(first, 0) else { continue };
        // Not every hypervisor says in EAX how far its range goes.
        let last = if (first..=last).contains(&head.eax) { head.eax } else { last };
        for leaf in (first..=last).filter(|leaf| *leaf != SERIAL_NUMBER) {
            answers.extend(with_subleaves(&ask, leaf));
        }
    }
    answers
}

fn with_subleaves(ask: &impl Fn(u32, u32) -> Option<Leaf>, leaf: u32) -> Vec<((u32, u32), Leaf)> {
    let Some(first) = ask(leaf, 0) else { return Vec::new() };
    let mut answers = vec![((leaf, 0), first)];
    let Some((_, subleaves)) = SUBLEAVES.iter().find(|(known, _)| *known == leaf) else {
        return answers;
    };
    let count = match subleaves {
        Subleaves::LastInEax => first.eax.saturating_add(1).min(SUBLEAVES_MAX),
        Subleaves::UntilZero(_) => SUBLEAVES_MAX,
        Subleaves::Count(count) => *count,
    };
    let mut before = first;
    for subleaf in 1..count {
        if matches!(subleaves, Subleaves::UntilZero(kind) if kind(before) == 0) {
            break;
        }
        let Some(answer) = ask(leaf, subleaf) else { break };
        answers.push(((leaf, subleaf), answer));
        before = answer;
    }
    answers
}

/// The sub-leaf under which answers stand.
pub(crate) fn key(leaf: u32, subleaf: u32) -> (u32, u32) {
    (leaf, self::subleaf(leaf, subleaf))
}
