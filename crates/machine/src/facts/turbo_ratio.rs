//! Highest frequencies by number of active cores, from registers.
//!
//! # Source
//! Intel SDM volume 4, the tables of registers by model: `MSR_PLATFORM_INFO`,
//! `MSR_TURBO_RATIO_LIMIT` and its neighbours.

use std::collections::BTreeSet;

use model::microarchitecture::{Signature, Turbo, clock_of_intel};
use model::record::{TurboLimit, TurboStep};
use model::{Obstacle, Reading, Unavailable};

use super::groups::{CpuGroup, Maker, bits, byte, groups, identity, register};
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
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

/// What ratios are multiplied with.
///
/// # Unit
/// Hertz.
///
/// # Source
/// Intel SDM volume 4, tables of Nehalem and Westmere: 133.33 MHz; from Sandy Bridge on 100 MHz.
fn bus_clock(signature: Signature) -> Option<f64> {
    clock_of_intel(signature.family, signature.model).map_or(Some(100e6), |clock| clock.bus)
}

/// Base and lowest ratio of Intel CPUs, and the bus clock they are multiplied with.
///
/// # Source
/// Intel SDM volume 4, `MSR_PLATFORM_INFO`: bits 15:8 maximum non-turbo ratio, 47:40 maximum
/// efficiency ratio.
pub(super) fn platform_info(survey: &Survey<'_>) -> Reading<(f64, f64)> {
    let (maker, signature) = identity(survey)?;
    if maker != Maker::Intel || !signature.is_6_or_later() {
        return Err(no_limits("only CPUs of Intel have the register CEh"));
    }
    let value = register(survey, super::first_cpu(survey)?, PLATFORM_INFO)?;
    let bus = bus_clock(signature).ok_or_else(|| {
        let why = "the bus clock of this model differs from product to product";
        Unavailable::new(Obstacle::Cpudyno, "base frequency", why)
    })?;
    let (base, lowest) = (bits(value, 8, 8), bits(value, 40, 8));
    Ok((base as f64 * bus, lowest as f64 * bus))
}

/// Limits in the order of CPUs; equal packages are one.
pub(crate) fn turbo_limits(survey: &Survey<'_>) -> Reading<Vec<TurboLimit>> {
    let (maker, signature) = identity(survey)?;
    if maker == Maker::Amd {
        return Err(no_limits("CPUs of AMD state no limits by number of active cores"));
    }
    let Signature { family, model, .. } = signature;
    let known = clock_of_intel(family, model).and_then(|clock| clock.turbo.zip(clock.bus));
    let (layout, bus) = known.ok_or_else(|| {
        let why = format!(
            "this version does not know the registers of turbo limits of family {family} model \
             {model}"
        );
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
            known.kind == limit.kind
                && (known.cores, &known.steps, &known.beyond, &known.source)
                    == (limit.cores, &limit.steps, &limit.beyond, &limit.source)
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

fn limit(survey: &Survey<'_>, layout: Turbo, bus: f64, group: &CpuGroup) -> Reading<TurboLimit> {
    let kind = group.kind.as_deref();
    if layout == Turbo::Hybrid && kind.is_some_and(|kind| !["P", "E"].contains(&kind)) {
        // Low-power cores read the register of efficient ones, and run at less.
        return Err(no_limits("no register states the limits of low-power cores"));
    }
    let efficient = kind == Some("E");
    let addresses: &[u32] = match layout {
        Turbo::Hybrid if efficient => {
            &[SECONDARY_TURBO_RATIO_LIMIT, SECONDARY_TURBO_RATIO_LIMIT_CORES]
        }
        Turbo::PerCore(2) | Turbo::Groups | Turbo::Modules | Turbo::Hybrid => {
            &[TURBO_RATIO_LIMIT, TURBO_RATIO_LIMIT1]
        }
        Turbo::PerCore(3) => &[TURBO_RATIO_LIMIT, TURBO_RATIO_LIMIT1, TURBO_RATIO_LIMIT2],
        Turbo::PerCore(_) | Turbo::Differences => &[TURBO_RATIO_LIMIT],
    };
    let mut readings = survey.msr.read_many(group.first(), addresses).into_iter();
    let ratios = readings.next().unwrap_or_else(|| Err(no_limits("nothing was read")))?;
    let rest: Vec<Reading<u64>> = readings.collect();
    let (mut steps, used) = decode(layout, ratios, &rest)?;
    if layout == Turbo::Modules {
        let cores = cores_of_a_module(survey, group);
        for (count, _) in steps.iter_mut().filter(|(count, _)| *count != ANY_CORES) {
            *count *= cores;
        }
    }
    let steps = reachable(&steps, group.cores, bus);
    if steps.is_empty() || steps.iter().any(|step| step.hertz > HERTZ_MAX) {
        let blamed = match (addresses, rest.first()) {
            // Counts of nothing, beside ratios that are some.
            ([_, second, ..], Some(Ok(counts)))
                if !matches!(layout, Turbo::PerCore(_)) && is_ratio(byte(ratios, 0)) =>
            {
                (*second, *counts, "counts of cores")
            }
            _ => (addresses.first().copied().unwrap_or_default(), ratios, "ratios"),
        };
        let (address, value, what) = blamed;
        let why = format!("the register {address:x}h holds {value:#x}, which is no list of {what}");
        return Err(Unavailable::new(Obstacle::Cpudyno, "turbo limits", why));
    }
    let names: Vec<String> =
        addresses.iter().take(used).map(|address| format!("{address:X}h")).collect();
    let source = format!("MSR {} x {} MHz", names.join(", "), (bus / 1e4).round() / 100.0);
    let is_short = steps.last().is_some_and(|last| last.active_cores < group.cores);
    let beyond = is_short.then(|| {
        let read = addresses.iter().skip(1).zip(&rest);
        let unread = read.filter_map(|(address, value)| Some((address, value.as_ref().err()?)));
        let unread = unread.map(|(address, reason)| format!("{address:X}h: {}", reason.why)).next();
        unread.unwrap_or_else(|| format!("{} ends there", names.join(", ")))
    });
    let (kind, cpus, cores) = (group.kind.clone(), group.cpus.clone(), group.cores);
    Ok(TurboLimit { kind, cpus, cores: Some(cores), steps, beyond, source })
}

/// Cores that share an L2; four where nothing tells, as in every such model so far.
fn cores_of_a_module(survey: &Survey<'_>, group: &CpuGroup) -> u32 {
    let topology = survey.topology();
    let first = group.first();
    let module = topology.place(first).and_then(|place| Some((place.package, place.module?)));
    let by_place = topology.cpus.iter().filter(|place| {
        module.is_some_and(|(package, module)| {
            (place.package, place.module) == (package, Some(module))
        })
    });
    let second = topology.caches.iter().filter(|cache| cache.level == 2);
    let shared = second.flat_map(|cache| &cache.instances).find(|cpus| cpus.contains(first));
    let by_cache =
        topology.cpus.iter().filter(|it| shared.is_some_and(|cpus| cpus.contains(it.cpu)));
    let cores: BTreeSet<(u32, u32)> = match shared {
        Some(_) => by_cache.map(|place| (place.package, place.core)).collect(),
        None => by_place.map(|place| (place.package, place.core)).collect(),
    };
    u32::try_from(cores.len()).ok().filter(|cores| *cores > 0).unwrap_or(4)
}

/// A count of cores that no machine has: the ratio holds for any.
const ANY_CORES: u32 = 0xff;

/// A ratio, and up to how many active cores it holds.
type RatioStep = (u32, u32);

/// The steps, and how many registers they were taken from.
fn decode(layout: Turbo, ratios: u64, rest: &[Reading<u64>]) -> Reading<(Vec<RatioStep>, usize)> {
    let second = rest.first().cloned();
    match layout {
        Turbo::Differences => Ok((differences(ratios), 1)),
        Turbo::PerCore(_) => {
            let more: Vec<u64> = rest.iter().map_while(|value| value.clone().ok()).collect();
            let used = 1 + more.len();
            let all: Vec<u64> = std::iter::once(ratios).chain(more).collect();
            Ok((per_core(&all), used))
        }
        Turbo::Groups | Turbo::Modules | Turbo::Hybrid => match second {
            Some(Ok(counts)) => Ok((in_groups(ratios, counts), 2)),
            // Where all ratios are the same, counts do not matter.
            _ if same_for_all(ratios) => Ok((vec![(ANY_CORES, byte(ratios, 0))], 1)),
            _ if layout == Turbo::Hybrid => Ok((per_core(&[ratios]), 1)),
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
fn per_core(registers: &[u64]) -> Vec<RatioStep> {
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
fn in_groups(ratios: u64, counts: u64) -> Vec<RatioStep> {
    let mut steps: Vec<RatioStep> = Vec::new();
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
fn differences(value: u64) -> Vec<RatioStep> {
    let mut step = (byte(value, 0) >> 1, byte(value, 1));
    let mut steps = Vec::new();
    for index in 2..=8 {
        if is_ratio(step.1) && steps.last().map_or(0, |&(known, _): &RatioStep| known) < step.0 {
            steps.push(step);
        }
        let next = byte(value, index);
        step = (step.0 + (next & 0x1f), step.1.saturating_sub(next >> 5));
    }
    steps
}

/// The steps that this many cores can reach, in hertz.
fn reachable(steps: &[RatioStep], cores: u32, bus: f64) -> Vec<TurboStep> {
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
        let steps = in_steps(limit);
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

fn in_steps(limit: &TurboLimit) -> String {
    let mut words: Vec<String> = Vec::new();
    for equal in limit.steps.chunk_by(|a, b| a.hertz.to_bits() == b.hertz.to_bits()) {
        let Some(last) = equal.last() else { continue };
        let cores = match (words.len(), last.active_cores) {
            (0, 1) => " core",
            (0, _) => " cores",
            _ => "",
        };
        let gigahertz = super::frequency::gigahertz(last.hertz);
        words.push(format!("{gigahertz} GHz to {}{cores}", last.active_cores));
    }
    let stated = limit.steps.last().map_or(0, |last| last.active_cores);
    if let Some((why, all)) = limit.beyond.as_ref().zip(limit.cores) {
        words.push(format!("{} to {all} not known ({why})", stated + 1));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use model::CpuSet;
    use proptest::prelude::*;

    use super::*;

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
        let denverton = decode(Turbo::Groups, 0x1414_1414_1414_1414, &[failed()]).unwrap();
        assert_eq!(denverton, (vec![(ANY_CORES, 20)], 1));
        assert!(decode(Turbo::Groups, 0x1414_1414_1414_1415, &[failed()]).is_err());
        let raptor = decode(Turbo::Hybrid, 0x2c, &[Ok(u64::MAX)]).unwrap();
        assert_eq!(raptor, (vec![(ANY_CORES, 44)], 2));
        assert_eq!(reachable(&raptor.0, 16, 100e6)[0].active_cores, 16);
        let alder = decode(Turbo::Hybrid, 0x2626_2626_2628_2f2f, &[failed()]).unwrap();
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
        let of = |model| bus_clock(Signature { family: 6, model, stepping: None });
        assert_eq!(of(0x37), None);
        assert_eq!(of(0x55), Some(100e6));
    }

    #[test]
    fn unreachable_steps_are_left_out() {
        let steps = reachable(&[(2, 34), (8, 31), (10, 30), (16, 30)], 10, 100e6);
        assert_eq!(steps.len(), 3);
        let said = |steps, beyond: Option<&str>| {
            let (kind, cpus, cores) = (None, CpuSet::default(), Some(12));
            let beyond = beyond.map(str::to_owned);
            in_steps(&TurboLimit { kind, cpus, cores, steps, beyond, source: String::new() })
        };
        assert_eq!(said(steps.clone(), None), "3.4 GHz to 2 cores, 3.1 GHz to 8, 3 GHz to 10");
        let cut = "3.4 GHz to 2 cores, 3.1 GHz to 8, 3 GHz to 10, 11 to 12 not known (1AEh: no)";
        assert_eq!(said(steps, Some("1AEh: no")), cut);
        let westmere = reachable(&[(1, 26), (2, 26), (3, 25)], 3, 400e6 / 3.0);
        assert_eq!(said(westmere, None), "3.47 GHz to 2 cores, 3.33 GHz to 3");
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
            if let Some(clock) = clock_of_intel(6, model)
                && let Some((layout, bus)) = clock.turbo.zip(clock.bus)
                && let Ok((steps, _)) = decode(layout, ratios, &rest)
            {
                prop_assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0));
                prop_assert!(steps.iter().all(|&(_, ratio)| is_ratio(ratio)));
                let steps = reachable(&steps, cores, bus);
                prop_assert!(steps.iter().all(|step| step.active_cores <= cores));
            }
        }
    }
}
