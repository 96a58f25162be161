//! Which instruction sets CPU and operating system allow.
//!
//! CPUID says what the CPU has, XCR0 which register files the operating system saves; an
//! instruction set is allowed where both agree. Where there is no CPUID, the kernel's list counts.

use model::{Isa, Obstacle, Reading, Unavailable};
use sys::cpuid::Leaf;

use super::cpu::cpuinfo;
use super::cpuinfo::{Architecture, CPUINFO};
use super::platform::not_offered;
use super::topology;
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::ports::Machine;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("cpu.isa", "Instruction sets", |s| in_words(s).map(text)),
    row("cpu.isa_not_enabled", "Instruction sets not enabled", |s| not_enabled(s).map(text)),
];

/// A register of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Register {
    A,
    B,
    C,
    D,
}

use Register::{A, B, C, D};

/// What shows that a CPU has an instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// A bit of CPUID: leaf, sub-leaf, register, bit.
    Bit(u32, u32, Register, u32),
    /// At least this version of AVX10.
    Avx10(u32),
    /// The kernel's word among the features of an Arm CPU (its HWCAP): user mode sees no more.
    Feature,
}

/// One instruction set.
struct IsaRow {
    isa: Isa,
    /// The kernel's word for it in `/proc/cpuinfo`, where it lists it.
    flag: Option<&'static str>,
    proof: Proof,
    /// The bits of XCR0 that it needs.
    xcr0: u64,
}

/// Nothing beyond what every 64-bit kernel saves.
const BASE: u64 = 0;
/// XMM and the upper halves of YMM.
const YMM: u64 = 0b110;
/// And mask registers, upper halves of ZMM, ZMM 16 to 31.
const ZMM: u64 = 0b1110_0110;
/// Configuration and data of tiles.
const TILE: u64 = 0b11 << 17;

const fn listed(isa: Isa, flag: &'static str, proof: Proof, xcr0: u64) -> IsaRow {
    IsaRow { isa, flag: Some(flag), proof, xcr0 }
}

const fn unlisted(isa: Isa, proof: Proof, xcr0: u64) -> IsaRow {
    IsaRow { isa, flag: None, proof, xcr0 }
}

const fn arm(isa: Isa, flag: &'static str) -> IsaRow {
    IsaRow { isa, flag: Some(flag), proof: Proof::Feature, xcr0: BASE }
}

use Proof::{Avx10, Bit};

const EXTENDED: u32 = 0x8000_0001;
const CAPACITY: u32 = 0x8000_0008;

/// In the order of [`Isa::ALL`].
///
/// # Source
/// Intel SDM volume 2A, CPUID: leaves 1, 7 and 24h; AMD APM volume 3, appendix E: 8000_0001h and
/// 8000_0008h. Components of XCR0: Intel SDM volume 1, section 13.1. The kernel's words:
/// `arch/x86/include/asm/cpufeatures.h`, `arch/arm64/kernel/cpuinfo.c`.
#[rustfmt::skip]
const TABLE: &[IsaRow] = &[
    listed(Isa::Sse2, "sse2", Bit(1, 0, D, 26), BASE),
    listed(Isa::Sse3, "pni", Bit(1, 0, C, 0), BASE),
    listed(Isa::Ssse3, "ssse3", Bit(1, 0, C, 9), BASE),
    listed(Isa::Sse4a, "sse4a", Bit(EXTENDED, 0, C, 6), BASE),
    listed(Isa::Sse41, "sse4_1", Bit(1, 0, C, 19), BASE),
    listed(Isa::Sse42, "sse4_2", Bit(1, 0, C, 20), BASE),
    listed(Isa::Popcnt, "popcnt", Bit(1, 0, C, 23), BASE),
    listed(Isa::Aes, "aes", Bit(1, 0, C, 25), BASE),
    listed(Isa::Pclmulqdq, "pclmulqdq", Bit(1, 0, C, 1), BASE),
    listed(Isa::Avx, "avx", Bit(1, 0, C, 28), YMM),
    listed(Isa::F16c, "f16c", Bit(1, 0, C, 29), YMM),
    listed(Isa::Xop, "xop", Bit(EXTENDED, 0, C, 11), YMM),
    listed(Isa::Fma4, "fma4", Bit(EXTENDED, 0, C, 16), YMM),
    listed(Isa::Fma, "fma", Bit(1, 0, C, 12), YMM),
    listed(Isa::Avx2, "avx2", Bit(7, 0, B, 5), YMM),
    listed(Isa::Bmi1, "bmi1", Bit(7, 0, B, 3), BASE),
    listed(Isa::Bmi2, "bmi2", Bit(7, 0, B, 8), BASE),
    listed(Isa::Adx, "adx", Bit(7, 0, B, 19), BASE),
    listed(Isa::ShaNi, "sha_ni", Bit(7, 0, B, 29), BASE),
    listed(Isa::Avx512f, "avx512f", Bit(7, 0, B, 16), ZMM),
    listed(Isa::Avx512cd, "avx512cd", Bit(7, 0, B, 28), ZMM),
    listed(Isa::Avx512er, "avx512er", Bit(7, 0, B, 27), ZMM),
    listed(Isa::Avx512pf, "avx512pf", Bit(7, 0, B, 26), ZMM),
    listed(Isa::Avx512dq, "avx512dq", Bit(7, 0, B, 17), ZMM),
    listed(Isa::Avx512bw, "avx512bw", Bit(7, 0, B, 30), ZMM),
    listed(Isa::Avx512vl, "avx512vl", Bit(7, 0, B, 31), ZMM),
    listed(Isa::Avx512ifma, "avx512ifma", Bit(7, 0, B, 21), ZMM),
    listed(Isa::Avx512vbmi, "avx512vbmi", Bit(7, 0, C, 1), ZMM),
    listed(Isa::Avx512Vnniw4, "avx512_4vnniw", Bit(7, 0, D, 2), ZMM),
    listed(Isa::Avx512Fmaps4, "avx512_4fmaps", Bit(7, 0, D, 3), ZMM),
    listed(Isa::Avx512Vpopcntdq, "avx512_vpopcntdq", Bit(7, 0, C, 14), ZMM),
    listed(Isa::Avx512Vnni, "avx512_vnni", Bit(7, 0, C, 11), ZMM),
    listed(Isa::Avx512Vbmi2, "avx512_vbmi2", Bit(7, 0, C, 6), ZMM),
    listed(Isa::Avx512Bitalg, "avx512_bitalg", Bit(7, 0, C, 12), ZMM),
    listed(Isa::Avx512Vp2intersect, "avx512_vp2intersect", Bit(7, 0, D, 8), ZMM),
    listed(Isa::Avx512Bf16, "avx512_bf16", Bit(7, 1, A, 5), ZMM),
    listed(Isa::Avx512Fp16, "avx512_fp16", Bit(7, 0, D, 23), ZMM),
    listed(Isa::Gfni, "gfni", Bit(7, 0, C, 8), BASE),
    listed(Isa::Vaes, "vaes", Bit(7, 0, C, 9), YMM),
    listed(Isa::Vpclmulqdq, "vpclmulqdq", Bit(7, 0, C, 10), YMM),
    listed(Isa::AvxVnni, "avx_vnni", Bit(7, 1, A, 4), YMM),
    unlisted(Isa::AvxIfma, Bit(7, 1, A, 23), YMM),
    unlisted(Isa::AvxNeConvert, Bit(7, 1, D, 5), YMM),
    unlisted(Isa::AvxVnniInt8, Bit(7, 1, D, 4), YMM),
    unlisted(Isa::AvxVnniInt16, Bit(7, 1, D, 10), YMM),
    unlisted(Isa::Avx10v1, Avx10(1), ZMM),
    unlisted(Isa::Avx10v2, Avx10(2), ZMM),
    listed(Isa::AmxTile, "amx_tile", Bit(7, 0, D, 24), TILE),
    listed(Isa::AmxInt8, "amx_int8", Bit(7, 0, D, 25), TILE),
    listed(Isa::AmxBf16, "amx_bf16", Bit(7, 0, D, 22), TILE),
    unlisted(Isa::AmxFp16, Bit(7, 1, A, 21), TILE),
    unlisted(Isa::AmxComplex, Bit(7, 1, D, 8), TILE),
    listed(Isa::Rdtscp, "rdtscp", Bit(EXTENDED, 0, D, 27), BASE),
    listed(Isa::Rdpid, "rdpid", Bit(7, 0, C, 22), BASE),
    listed(Isa::Rdpru, "rdpru", Bit(CAPACITY, 0, B, 4), BASE),
    listed(Isa::Monitor, "monitor", Bit(1, 0, C, 3), BASE),
    listed(Isa::Mwaitx, "mwaitx", Bit(EXTENDED, 0, C, 29), BASE),
    listed(Isa::Waitpkg, "waitpkg", Bit(7, 0, C, 5), BASE),
    listed(Isa::Serialize, "serialize", Bit(7, 0, D, 14), BASE),
    listed(Isa::Cldemote, "cldemote", Bit(7, 0, C, 25), BASE),
    listed(Isa::Movdiri, "movdiri", Bit(7, 0, C, 27), BASE),
    listed(Isa::Movdir64b, "movdir64b", Bit(7, 0, C, 28), BASE),
    listed(Isa::Erms, "erms", Bit(7, 0, B, 9), BASE),
    listed(Isa::Fsrm, "fsrm", Bit(7, 0, D, 4), BASE),
    arm(Isa::Asimd, "asimd"),
    arm(Isa::Atomics, "atomics"),
    arm(Isa::Asimdhp, "asimdhp"),
    arm(Isa::Asimddp, "asimddp"),
    arm(Isa::Sve, "sve"),
    arm(Isa::I8mm, "i8mm"),
    arm(Isa::Bf16, "bf16"),
    arm(Isa::Sve2, "sve2"),
    arm(Isa::Wfxt, "wfxt"),
    arm(Isa::Sme, "sme"),
    arm(Isa::Sme2, "sme2"),
];

/// The leaves that the table asks for.
const LEAVES: [(u32, u32); 6] = [(1, 0), (7, 0), (7, 1), (0x24, 0), (EXTENDED, 0), (CAPACITY, 0)];

/// The answers of one CPU to [`LEAVES`], each leaf asked once.
struct Answers([Option<Leaf>; LEAVES.len()]);

impl Answers {
    /// Of a CPU whose CPUID describes it; `None` for one without, and for one of whose leaves some are recorded and
    /// the one of most instruction sets is not.
    fn of(ask: impl Fn(u32, u32) -> Option<Leaf>) -> Option<Answers> {
        let answers = Answers(LEAVES.map(|(leaf, subleaf)| ask(leaf, subleaf)));
        let announced = ask(0, 0).is_some_and(|leaf| leaf.eax >= 7);
        let is_whole = !announced || answers.leaf(7, 0).is_some();
        // Every x86-64 CPU has SSE2: an answer without it was made up, and describes none.
        (is_whole && answers.bit(1, 0, D, 26)).then_some(answers)
    }

    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
        let index = LEAVES.iter().position(|&known| known == (leaf, subleaf))?;
        *self.0.get(index)?
    }

    fn bit(&self, leaf: u32, subleaf: u32, register: Register, bit: u32) -> bool {
        self.leaf(leaf, subleaf).is_some_and(|leaf| {
            let value = match register {
                A => leaf.eax,
                B => leaf.ebx,
                C => leaf.ecx,
                D => leaf.edx,
            };
            value >> bit & 1 == 1
        })
    }

    fn has(&self, proof: Proof) -> bool {
        match proof {
            Bit(leaf, subleaf, register, bit) => self.bit(leaf, subleaf, register, bit),
            // Intel SDM volume 2A, CPUID: 7.1 EDX[19] announces leaf 24h, whose EBX[7:0] is the
            // version.
            Avx10(version) => {
                let known = self.leaf(0x24, 0).map_or(0, |leaf| leaf.ebx & 0xff);
                self.bit(7, 1, D, 19) && known >= version
            }
            Proof::Feature => false,
        }
    }

    /// Intel SDM volume 2A, CPUID: 7 EDX\[15\] says that cores of the machine differ.
    fn is_hybrid(&self) -> bool {
        self.bit(7, 0, D, 15)
    }

    fn saves_by_xsave(&self) -> bool {
        self.bit(1, 0, C, 27)
    }
}

/// The answers of the CPU at hand; of every CPU where they differ.
fn answers(survey: &Survey<'_>) -> Vec<Answers> {
    let Some(first) = Answers::of(|leaf, subleaf| survey.cpuid.leaf(leaf, subleaf)) else {
        return Vec::new();
    };
    let mut answers = Vec::new();
    if first.is_hybrid() {
        let of = |cpu| Answers::of(|leaf, subleaf| survey.cpuid.leaf_of(cpu, leaf, subleaf));
        answers.extend(topology::online(survey).iter().filter_map(of));
    }
    answers.push(first);
    answers
}

/// The kernel's own list of words.
fn kernel_list(survey: &Survey<'_>, proof: Proof) -> Reading<Vec<String>> {
    let key = if proof == Proof::Feature { "Features" } else { "flags" };
    let line = cpuinfo(survey, key)?;
    Ok(line.split_whitespace().map(String::from).collect())
}

/// What the CPU has, and what becomes of it.
#[derive(Default)]
struct Offer {
    /// CPU and operating system allow it.
    allowed: Vec<&'static IsaRow>,
    /// The CPU has it, and the operating system does not save its registers.
    not_enabled: Vec<&'static IsaRow>,
}

/// By CPUID and XCR0; `None` where there is no CPUID.
fn offer(survey: &Survey<'_>) -> Option<Reading<Offer>> {
    let answers = answers(survey);
    let first = answers.last()?;
    let xcr0 = if first.saves_by_xsave() { survey.cpuid.xcr0() } else { Some(BASE) };
    let kernel = match (xcr0, kernel_list(survey, Bit(1, 0, D, 26))) {
        (None, Err(reason)) => return Some(Err(reason)),
        (_, kernel) => kernel.unwrap_or_default(),
    };
    let is_enabled = |entry: &IsaRow| match xcr0 {
        Some(xcr0) => xcr0 & entry.xcr0 == entry.xcr0,
        None => entry.xcr0 == BASE || is_listed(entry, &kernel),
    };
    let here = TABLE.iter().filter(|entry| answers.iter().all(|cpu| cpu.has(entry.proof)));
    let (allowed, not_enabled) = here.partition(|entry| is_enabled(entry));
    Some(Ok(Offer { allowed, not_enabled }))
}

fn is_listed(entry: &IsaRow, kernel: &[String]) -> bool {
    entry.flag.is_some_and(|flag| kernel.iter().any(|word| word == flag))
}

/// By the kernel's list, where there is no CPUID: it leaves out what it does not enable.
fn by_kernel(survey: &Survey<'_>) -> Reading<Vec<Isa>> {
    if has_none_of_these(survey) {
        return Ok(Vec::new());
    }
    let (of_x86, kernel) = match kernel_list(survey, Bit(1, 0, D, 26)) {
        Ok(flags) => (true, flags),
        Err(reason) => (false, kernel_list(survey, Proof::Feature).map_err(|_| reason)?),
    };
    // The same word may mean two things: `sme` encrypts memory on AMD and is SME on Arm.
    let fits = |entry: &&IsaRow| (entry.proof != Proof::Feature) == of_x86;
    let entries = TABLE.iter().filter(fits).filter(|entry| is_listed(entry, &kernel));
    Ok(entries.map(|entry| entry.isa).collect())
}

/// The instruction sets that CPU and operating system allow, in the order of [`Isa::ALL`]; of
/// hybrids, what all CPUs have in common.
pub fn isa(machine: &Machine) -> Reading<Vec<Isa>> {
    isa_of(&Survey::new(machine))
}

fn isa_of(survey: &Survey<'_>) -> Reading<Vec<Isa>> {
    match offer(survey) {
        Some(offer) => Ok(offer?.allowed.iter().map(|entry| entry.isa).collect()),
        None => by_kernel(survey),
    }
}

/// Whether the CPUs are of an architecture of which [`TABLE`] has no instruction sets.
fn has_none_of_these(survey: &Survey<'_>) -> bool {
    let known = |of| !matches!(of, Architecture::X86 | Architecture::Arm);
    survey.architecture().is_some_and(known)
}

/// Names of the table; of other architectures what the kernel lists, in its words.
fn in_words(survey: &Survey<'_>) -> Reading<String> {
    if !has_none_of_these(survey) {
        let sets = isa_of(survey)?;
        // 32-bit Arm has words of its own.
        let words = || kernel_list(survey, Proof::Feature).ok().filter(|_| sets.is_empty());
        return Ok(words().map_or_else(|| names(&sets), |words| words.join(" ")));
    }
    let listed = survey.cpuinfo()?.instruction_sets();
    listed.ok_or_else(|| not_offered(&format!("`{CPUINFO}` lists none here"), CPUINFO))
}

fn names(isa: &[Isa]) -> String {
    let names: Vec<&str> = isa.iter().map(|isa| isa.name()).collect();
    if names.is_empty() { "none beyond the base".into() } else { names.join(" ") }
}

/// What the CPU has and the operating system does not enable, and where the kernel's list says
/// something else than CPUID and XCR0.
fn not_enabled(survey: &Survey<'_>) -> Reading<String> {
    let Some(offer) = offer(survey) else {
        let why = "only CPUID states what the CPU has beyond what is enabled, and CPUID is not \
                   available here";
        return Err(Unavailable::new(Obstacle::Hardware, "instruction sets", why));
    };
    let Offer { allowed, not_enabled } = offer?;
    let mut sentences = Vec::new();
    let mut say = |entries: Vec<&IsaRow>, what: &str| {
        if !entries.is_empty() {
            let isa: Vec<Isa> = entries.iter().map(|entry| entry.isa).collect();
            sentences.push(format!("{}: {what}", names(&isa)));
        }
    };
    let kernel = kernel_list(survey, Bit(1, 0, D, 26)).unwrap_or_default();
    let is_missing =
        |entry: &&&IsaRow| entry.flag.is_some() && !kernel.is_empty() && !is_listed(entry, &kernel);
    let missing = allowed.iter().filter(is_missing).copied().collect();
    let is_more = |entry: &&IsaRow| {
        let known = allowed.iter().any(|allowed| allowed.isa == entry.isa);
        !known && entry.proof != Proof::Feature && is_listed(entry, &kernel)
    };
    let more = TABLE.iter().filter(is_more).collect();
    say(not_enabled, "the CPU has it, the operating system does not enable it (XCR0)");
    let cause = "the kernel is older, or was booted with clearcpuid=";
    say(missing, &format!("allowed, and `{CPUINFO}` does not list it: {cause}"));
    say(more, &format!("`{CPUINFO}` lists it, and CPUID and XCR0 do not allow it everywhere"));
    Ok(if sentences.is_empty() { "none".into() } else { sentences.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_set_has_one_entry_in_order() {
        let table: Vec<Isa> = TABLE.iter().map(|entry| entry.isa).collect();
        assert_eq!(table, Isa::ALL);
    }

    #[test]
    fn every_leaf_is_asked_for_and_no_two_entries_share_a_proof() {
        for (i, entry) in TABLE.iter().enumerate() {
            if let Bit(leaf, subleaf, _, bit) = entry.proof {
                assert!(LEAVES.contains(&(leaf, subleaf)), "{}", entry.isa);
                assert!(bit < 32, "{}", entry.isa);
            }
            let same = |other: &&IsaRow| {
                other.flag.is_some() && other.flag == entry.flag
                    || entry.proof != Proof::Feature && other.proof == entry.proof
            };
            let twin = TABLE[..i].iter().find(same);
            assert!(twin.is_none(), "{} and {}", entry.isa, twin.unwrap().isa);
        }
    }

    #[test]
    fn names_are_the_kernels_words() {
        for entry in TABLE {
            let known = entry.flag.is_none_or(|flag| flag == entry.isa.name());
            assert!(known || entry.isa == Isa::Sse3, "{}", entry.isa);
        }
    }
}
