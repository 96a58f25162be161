//! Highest frequencies by number of active cores, from registers.
//!
//! # Source
//! Intel SDM volume 4, the tables of registers by model: `MSR_PLATFORM_INFO`,
//! `MSR_TURBO_RATIO_LIMIT` and its neighbours.

use model::record::{TurboLimit, TurboStep};
use model::{Obstacle, Unavailable};

use super::cpu::Signature;
use super::groups::{Group, Maker, bits, byte, groups, identity, register};
use crate::ports::Reading;
use crate::rows::{Row, row, text};
use crate::survey::Survey;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("turbo.ratio_limits", "Turbo limits", |s| Ok(text(in_words(s.turbo_limits()?)))),
];

/// Ratios of performance cores; on all other CPUs the only ones.
const TURBO_RATIO_LIMIT: u32 = 0x1ad;
/// The counts of cores that the ratios belong to, or ratios of more cores.
const TURBO_RATIO_LIMIT1: u32 = 0x1ae;
const TURBO_RATIO_LIMIT2: u32 = 0x1af;
/// Ratios of efficient cores of hybrids, and the counts of cores that they belong to.
const SECONDARY_TURBO_RATIO_LIMIT: u32 = 0x650;
const SECONDARY_TURBO_RATIO_LIMIT_CORES: u32 = 0x651;
/// Ratios that are the same under every load.
pub(super) const PLATFORM_INFO: u32 = 0xce;

/// More than any CPU reaches; a register that says so is not understood.
const HERTZ_MAX: f64 = 12e9;

/// Packages that differ are few.
const LIMITS_SHOWN: usize = 16;

/// How a model states its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Eight ratios to a register: of 1 core, of 2 cores, and so on; this many registers.
    PerCore(usize),
    /// Eight ratios in 1ADh, and in 1AEh the counts of cores up to which they hold.
    Groups,
    /// The same for performance cores, and in 650h and 651h for efficient ones. Older ones among
    /// them have no 1AEh: one ratio per core, then.
    Hybrid,
    /// A ratio and a count of cores in 1ADh, then differences.
    Differences,
}

/// # Source
/// Intel SDM volume 4: table 2-1 for the models, then the table of each; turbostat of the Linux
/// kernel (`trl_msrs`), which reads the same registers.
fn layout(model: u32) -> Option<Layout> {
    Some(match model {
        // Nehalem, Westmere; Sandy Bridge to Comet Lake, Ice, Tiger and Rocket Lake.
        0x1a | 0x1e | 0x1f | 0x25 | 0x2c | 0x2a | 0x2d | 0x3a | 0x3c | 0x45 | 0x46 | 0x3d
        | 0x47 | 0x4e | 0x5e | 0x8e | 0x9e | 0x66 | 0xa5 | 0xa6 | 0x7d | 0x7e | 0x8c | 0x8d
        | 0xa7 => Layout::PerCore(1),
        // Ivy Bridge-EP.
        0x3e => Layout::PerCore(2),
        // Haswell-EP, Broadwell-EP and -DE.
        0x3f | 0x4f | 0x56 => Layout::PerCore(3),
        // Skylake-SP to Clearwater Forest; Goldmont, Goldmont Plus, Tremont.
        0x55 | 0x6a | 0x6c | 0x8f | 0xcf | 0xad | 0xae | 0xaf | 0xdd | 0x5c | 0x5f | 0x7a
        | 0x86 | 0x96 | 0x9c => Layout::Groups,
        // Alder Lake to Panther Lake.
        0x97 | 0x9a | 0xb7 | 0xba | 0xbf | 0xaa | 0xac | 0xb5 | 0xc5 | 0xc6 | 0xbd | 0xcc => {
            Layout::Hybrid
        }
        // Knights Landing, Knights Mill.
        0x57 | 0x85 => Layout::Differences,
        _ => return None,
    })
}

/// Whether 1ADh states a ratio for each number of cores.
pub(crate) fn is_per_core(model: u32) -> bool {
    matches!(layout(model), Some(Layout::PerCore(_)))
}

/// What ratios are multiplied with.
///
/// # Unit
/// Hertz.
///
/// # Source
/// Intel SDM volume 4, tables of Nehalem and Westmere: 133.33 MHz; from Sandy Bridge on 100 MHz.
/// Before them, and in Bonnell, Silvermont and Airmont, it is set per product (`MSR_FSB_FREQ`).
fn bus_clock(model: u32) -> Option<f64> {
    match model {
        0x1a | 0x1e | 0x1f | 0x2e | 0x25 | 0x2c | 0x2f => Some(400e6 / 3.0),
        0x00..=0x19
        | 0x1c
        | 0x1d
        | 0x26
        | 0x27
        | 0x35..=0x37
        | 0x4a
        | 0x4c
        | 0x4d
        | 0x5a
        | 0x5d
        | 0x65
        | 0x6e
        | 0x75 => None,
        _ => Some(100e6),
    }
}

/// Base and lowest ratio of Intel CPUs, and the bus clock they are multiplied with.
///
/// # Source
/// Intel SDM volume 4, `MSR_PLATFORM_INFO`: bits 15:8 maximum non-turbo ratio, 47:40 maximum
/// efficiency ratio.
pub(super) fn platform_info(survey: &Survey<'_>) -> Reading<(f64, f64)> {
    let (maker, signature) = identity(survey)?;
    if maker != Maker::Intel || signature.family != 6 {
        return Err(no_limits("only CPUs of Intel have the register CEh"));
    }
    let value = register(survey, super::first_cpu(survey)?, PLATFORM_INFO)?;
    let bus = bus_clock(signature.model).ok_or_else(|| {
        let why = "the bus clock of this model differs from product to product";
        Unavailable::new(Obstacle::Cpudyno, "base frequency", why)
    })?;
    let (base, lowest) = (bits(value, 8, 8), bits(value, 40, 8));
    Ok((base as f64 * bus, lowest as f64 * bus))
}

/// Limits in the order of CPUs; equal packages are one.
pub(crate) fn turbo_limits(survey: &Survey<'_>) -> Reading<Vec<TurboLimit>> {
    let (maker, signature) = identity(survey)?;
    let layout = match maker {
        Maker::Intel if signature.family == 6 => layout(signature.model),
        Maker::Intel => None,
        Maker::Amd => {
            let why = "CPUs of AMD state no limits by number of active cores";
            return Err(no_limits(why));
        }
    };
    let known = layout.zip(bus_clock(signature.model));
    let (layout, bus) = known.ok_or_else(|| {
        let Signature { family, model, .. } = signature;
        let why = format!("this version does not know where family {family} model {model} has it");
        Unavailable::new(Obstacle::Cpudyno, "turbo limits", why)
    })?;
    let mut limits: Vec<TurboLimit> = Vec::new();
    let mut reason = None;
    for group in groups(survey) {
        let limit = match limit(survey, layout, bus, &group) {
            Ok(limit) => limit,
            Err(error) => {
                reason = reason.or(Some(error));
                continue;
            }
        };
        let same = |known: &&mut TurboLimit| {
            (&known.kind, &known.steps, &known.source) == (&limit.kind, &limit.steps, &limit.source)
        };
        match limits.iter_mut().find(same) {
            Some(known) => known.cpus = known.cpus.iter().chain(limit.cpus.iter()).collect(),
            None => limits.push(limit),
        }
    }
    if limits.is_empty() {
        return Err(reason.unwrap_or_else(super::topology::nothing_known));
    }
    Ok(limits)
}

fn no_limits(why: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, "turbo limits", why)
}

fn limit(survey: &Survey<'_>, layout: Layout, bus: f64, group: &Group) -> Reading<TurboLimit> {
    let kind = group.kind.as_deref();
    if layout == Layout::Hybrid && kind.is_some_and(|kind| !["P", "E"].contains(&kind)) {
        // Low-power cores read the register of efficient ones, and run at less.
        return Err(no_limits("no register states the limits of low-power cores"));
    }
    let efficient = kind == Some("E");
    let addresses: &[u32] = match layout {
        Layout::Hybrid if efficient => {
            &[SECONDARY_TURBO_RATIO_LIMIT, SECONDARY_TURBO_RATIO_LIMIT_CORES]
        }
        Layout::PerCore(2) | Layout::Groups | Layout::Hybrid => {
            &[TURBO_RATIO_LIMIT, TURBO_RATIO_LIMIT1]
        }
        Layout::PerCore(3) => &[TURBO_RATIO_LIMIT, TURBO_RATIO_LIMIT1, TURBO_RATIO_LIMIT2],
        Layout::PerCore(_) | Layout::Differences => &[TURBO_RATIO_LIMIT],
    };
    let mut readings = survey.msr.read_many(group.first(), addresses).into_iter();
    let ratios = readings.next().unwrap_or_else(|| Err(no_limits("nothing was read")))?;
    let rest: Vec<Reading<u64>> = readings.collect();
    let (steps, used) = decode(layout, ratios, &rest)?;
    let steps = reachable(&steps, group.cores, bus);
    if steps.is_empty() || steps.iter().any(|step| step.hertz > HERTZ_MAX) {
        let first = addresses.first().copied().unwrap_or_default();
        let why = format!("the register {first:x}h holds {ratios:#x}, which is no list of ratios");
        return Err(Unavailable::new(Obstacle::Cpudyno, "turbo limits", why));
    }
    let names: Vec<String> =
        addresses.iter().take(used).map(|address| format!("{address:X}h")).collect();
    let source = format!("MSR {} x {} MHz", names.join(", "), (bus / 1e4).round() / 100.0);
    Ok(TurboLimit { kind: group.kind.clone(), cpus: group.cpus.clone(), steps, source })
}

/// A count of cores that no machine has: the ratio holds for any.
const ANY_CORES: u32 = 0xff;

/// A ratio, and up to how many active cores it holds.
type Step = (u32, u32);

/// The steps, and how many registers they were taken from.
fn decode(layout: Layout, ratios: u64, rest: &[Reading<u64>]) -> Reading<(Vec<Step>, usize)> {
    let second = rest.first().cloned();
    match layout {
        Layout::Differences => Ok((differences(ratios), 1)),
        Layout::PerCore(_) => {
            let more: Vec<u64> = rest.iter().map_while(|value| value.clone().ok()).collect();
            let used = 1 + more.len();
            let all: Vec<u64> = std::iter::once(ratios).chain(more).collect();
            Ok((per_core(&all), used))
        }
        Layout::Groups | Layout::Hybrid => match second {
            Some(Ok(counts)) => Ok((in_groups(ratios, counts), 2)),
            // Where all ratios are the same, counts do not matter.
            _ if same_for_all(ratios) => Ok((vec![(ANY_CORES, byte(ratios, 0))], 1)),
            _ if layout == Layout::Hybrid => Ok((per_core(&[ratios]), 1)),
            Some(Err(reason)) => Err(reason),
            None => Err(no_limits("nothing was read")),
        },
    }
}

fn same_for_all(ratios: u64) -> bool {
    ratios != 0 && (0..8).all(|index| byte(ratios, index) == byte(ratios, 0))
}

fn is_ratio(ratio: u32) -> bool {
    (1..=0xfe).contains(&ratio)
}

/// Bit 63 of the last of several registers is the semaphore by which firmware hands them over.
///
/// # Source
/// Intel SDM volume 4, `MSR_TURBO_RATIO_LIMIT` to `_LIMIT2`: byte n is the ratio with n+1 cores.
fn per_core(registers: &[u64]) -> Vec<Step> {
    let last = registers.len().checked_sub(1).filter(|&last| last > 0);
    let cleared = registers
        .iter()
        .enumerate()
        .map(|(index, &value)| if Some(index) == last { value & !(1 << 63) } else { value });
    let ratios = cleared.flat_map(u64::to_le_bytes).map(u32::from);
    (1..).zip(ratios).take_while(|&(_, ratio)| is_ratio(ratio)).collect()
}

/// Groups that no number of cores reaches are left out: some firmware leaves one at 0, or repeats
/// the last one.
///
/// # Source
/// Intel SDM volume 4, Skylake-SP: `MSR_TURBO_RATIO_LIMIT_CORES` holds the counts.
fn in_groups(ratios: u64, counts: u64) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for index in 0..8 {
        let (count, ratio) = (byte(counts, index), byte(ratios, index));
        if !is_ratio(ratio) {
            break;
        }
        if steps.last().map_or(0, |&(known, _)| known) < count {
            steps.push((count, ratio));
        }
    }
    steps
}

/// # Source
/// Intel SDM volume 4, Knights Landing, `MSR_TURBO_RATIO_LIMIT`: bits 7:1 count and 15:8 ratio of
/// the first group; then per byte 4:0 more cores and 7:5 less ratio.
fn differences(value: u64) -> Vec<Step> {
    let mut step = (byte(value, 0) >> 1, byte(value, 1));
    let mut steps = Vec::new();
    for index in 2..=8 {
        if is_ratio(step.1) && steps.last().map_or(0, |&(known, _): &Step| known) < step.0 {
            steps.push(step);
        }
        let next = byte(value, index);
        step = (step.0 + (next & 0x1f), step.1.saturating_sub(next >> 5));
    }
    steps
}

/// The steps that this many cores can reach, in hertz.
fn reachable(steps: &[Step], cores: u32, bus: f64) -> Vec<TurboStep> {
    let mut before = 0;
    let mut kept = Vec::new();
    for &(count, ratio) in steps {
        if before >= cores {
            break;
        }
        let hertz = (f64::from(ratio) * bus).round();
        kept.push(TurboStep { active_cores: count.min(cores), hertz });
        before = count;
    }
    kept
}

/// `3.8 GHz to 2 cores, 3.6 GHz to 12`, kinds and unequal packages apart.
fn in_words(limits: &[TurboLimit]) -> String {
    let say = |limit: &TurboLimit| {
        let steps = in_steps(&limit.steps);
        match &limit.kind {
            Some(kind) => format!("{kind}: {steps}"),
            None if limits.len() == 1 => steps,
            None => format!("CPUs {}: {steps}", limit.cpus),
        }
    };
    let words = limits.iter().take(LIMITS_SHOWN).map(say).collect::<Vec<_>>().join("; ");
    let unusual = limits.first().filter(|limit| !limit.source.ends_with("x 100 MHz"));
    match unusual {
        Some(limit) => format!("{words} ({})", limit.source),
        None => words,
    }
}

fn in_steps(steps: &[TurboStep]) -> String {
    let mut words: Vec<String> = Vec::new();
    for equal in steps.chunk_by(|a, b| a.hertz.to_bits() == b.hertz.to_bits()) {
        let Some(last) = equal.last() else { continue };
        let cores = match (words.len(), last.active_cores) {
            (0, 1) => " core",
            (0, _) => " cores",
            _ => "",
        };
        let gigahertz = super::frequency::gigahertz(last.hertz);
        words.push(format!("{gigahertz} GHz to {}{cores}", last.active_cores));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failed() -> Reading<u64> {
        Err(no_limits("faulted"))
    }

    #[test]
    fn ratios_by_core_go_on_in_the_next_registers() {
        let steps = |registers: &[u64]| per_core(registers).into_iter().map(|s| s.1).collect();
        let haswell: Vec<u32> = steps(&[0x1d1e_1f20_2122_2424, 0x1c1c_1c1c_1c1c_1c1c, 0x1c1c]);
        assert_eq!(haswell.len(), 18);
        assert_eq!(&haswell[..9], [36, 36, 34, 33, 32, 31, 30, 29, 28]);
        let westmere: Vec<u32> = steps(&[0x1717_1919_1a1a]);
        assert_eq!(westmere, [26, 26, 25, 25, 23, 23]);
        // The semaphore is no ratio.
        let with_semaphore: Vec<u32> = steps(&[0x1d1e_1f20_2122_2424, 0x8000_1c1c_1c1c_1c1c]);
        assert_eq!(with_semaphore.len(), 14);
    }

    #[test]
    fn groups_of_servers() {
        let skylake = in_groups(0x1c1c_1e20_2222_2325, 0x1c18_1410_0c08_0402);
        assert_eq!(skylake[..3], [(2, 37), (4, 35), (8, 34)]);
        // A count of 0 in the midst, and a last one that repeats.
        let hole = in_groups(0x1c1c_1e21_2222_2325, 0x1a18_1410_0c00_0402);
        assert_eq!(hole[1..4], [(4, 35), (12, 34), (16, 33)]);
        assert_eq!(in_groups(0x3132_3334_3434_3434, 0x1818_1410_0c08_0402).len(), 7);
        assert_eq!(in_groups(0x1818_1818_1818, 0x0c0a_0806_0402).last(), Some(&(12, 24)));
    }

    #[test]
    fn one_ratio_for_all_needs_no_counts() {
        let denverton = decode(Layout::Groups, 0x1414_1414_1414_1414, &[failed()]).unwrap();
        assert_eq!(denverton, (vec![(ANY_CORES, 20)], 1));
        assert!(decode(Layout::Groups, 0x1414_1414_1414_1415, &[failed()]).is_err());
        let raptor = decode(Layout::Hybrid, 0x2c, &[Ok(u64::MAX)]).unwrap();
        assert_eq!(raptor, (vec![(ANY_CORES, 44)], 2));
        assert_eq!(reachable(&raptor.0, 16, 100e6)[0].active_cores, 16);
        let alder = decode(Layout::Hybrid, 0x2626_2626_2628_2f2f, &[failed()]).unwrap();
        assert_eq!(alder.0[..3], [(1, 47), (2, 47), (3, 40)]);
    }

    #[test]
    fn differences_of_knights_landing() {
        // Made by hand from the layout.
        let first = |cores: u64, ratio: u64| (ratio << 8) | (cores << 1);
        let next = |byte: u32, cores: u64, ratio: u64| ((ratio << 5) | cores) << (8 * byte);
        let value = first(2, 16) | next(2, 30, 1) | next(3, 31, 1);
        assert_eq!(differences(value), [(2, 16), (32, 15), (63, 14)]);
    }

    #[test]
    fn the_bus_clock_is_not_guessed() {
        // Bay Trail's is 83.3, 100, 133.3 or 116.7 MHz.
        assert_eq!(bus_clock(0x37), None);
        assert_eq!(bus_clock(0x55), Some(100e6));
        assert!((0..256).all(|model| layout(model).is_none() || bus_clock(model).is_some()));
    }

    #[test]
    fn unreachable_steps_are_left_out() {
        let steps = reachable(&[(2, 34), (8, 31), (10, 30), (16, 30)], 10, 100e6);
        assert_eq!(steps.len(), 3);
        assert_eq!(in_steps(&steps), "3.4 GHz to 2 cores, 3.1 GHz to 8, 3 GHz to 10");
        let westmere = reachable(&[(1, 26), (2, 26), (3, 25)], 3, bus_clock(0x2c).unwrap());
        assert_eq!(in_steps(&westmere), "3.47 GHz to 2 cores, 3.33 GHz to 3");
    }

    proptest! {
        #[test]
        fn any_register_is_decoded_or_refused(
            model in 0u32..256,
            ratios: u64,
            second: u64,
            third: u64,
            fails: bool,
            cores in 0u32..300,
        ) {
            let rest = if fails { vec![failed(), Ok(third)] } else { vec![Ok(second), Ok(third)] };
            if let Some(layout) = layout(model)
                && let Ok((steps, _)) = decode(layout, ratios, &rest)
            {
                prop_assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0));
                prop_assert!(steps.iter().all(|&(_, ratio)| is_ratio(ratio)));
                let steps = reachable(&steps, cores, bus_clock(model).unwrap());
                prop_assert!(steps.iter().all(|step| step.active_cores <= cores));
            }
        }
    }
}
