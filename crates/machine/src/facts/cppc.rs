//! Collaborative performance control: levels that firmware states per CPU.
//!
//! # Source
//! ACPI specification, section on `_CPC`; Linux, `Documentation/admin-guide/acpi/cppc_sysfs.rst`;
//! AMD processor programming references, `Core::X86::Msr::CppcCapability1`.

use std::collections::BTreeMap;

use model::{CpuId, Obstacle, Reading, Unavailable};

use super::frequency::{base_of_policy, gigahertz};
use super::groups::{Maker, by_kind, byte, groups, identity, register};
use super::platform::{hidden_from_guest, no_file, not_offered};
use super::topology::first_cpu;
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::parse::first_number;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("cppc.performance", "Performance levels", |s| performance(s).map(text)),
];

/// Capabilities of AMD CPUs whose firmware leaves them to registers.
const CPPC_CAPABILITY_1: u32 = 0xc001_02b0;

/// Levels are 8 bits wide, or 32 in ACPI; larger numbers are garbage.
const LEVEL_MAX: f64 = 65_535.0;

fn level(survey: &Survey<'_>, cpu: CpuId, file: &str) -> Reading<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/acpi_cppc/{file}");
    let answer = survey.tree.read(&path).map_err(|error| match error.obstacle {
        Obstacle::Permission => error,
        _ if survey.is_guest() && !survey.is_copied() => {
            hidden_from_guest(survey, "performance levels")
        }
        _ => {
            let why = "the kernel shows no performance levels (its folder `acpi_cppc`)";
            no_file(survey, why, &path)
        }
    })?;
    let level = first_number(&path, &answer)?;
    if (0.0..=LEVEL_MAX).contains(&level) {
        return Ok(level as u32);
    }
    let why = format!("`{path}` says {level}, which is no level");
    Err(Unavailable::new(Obstacle::Cpudyno, "performance levels", why))
}

/// Frequencies in megahertz; firmware that does not state one says 0.
fn megahertz(survey: &Survey<'_>, cpu: CpuId, file: &str) -> Option<f64> {
    level(survey, cpu, file).ok().filter(|&megahertz| megahertz > 0).map(f64::from)
}

/// What the firmware calls nominal: the frequency without turbo, in hertz.
pub(crate) fn nominal_frequency(survey: &Survey<'_>) -> Reading<f64> {
    let megahertz = megahertz(survey, first_cpu(survey)?, "nominal_freq");
    megahertz.map(|megahertz| megahertz * 1e6).ok_or_else(|| {
        no_file(survey, "the firmware states no nominal frequency (ACPI `_CPC`)", "nominal_freq")
    })
}

/// How far levels let a CPU come.
pub(crate) struct Boosted {
    pub(crate) hertz: f64,
    /// How far off it may be, as a part of it: levels are whole numbers, and the clock that one of them stands for is
    /// rounded to 100 MHz.
    pub(crate) step: f64,
    /// Who states it.
    pub(crate) source: &'static str,
}

/// The clock of a CPU's highest level, to which the nominal one is in proportion: within a kind, for kinds have no
/// common measure. None where levels of equal cores differ, since those may be a ranking alone.
///
/// # Source
/// Linux, arch/x86/kernel/acpi/cppc.c, `amd_get_boost_ratio_numerator`: levels of preferred cores are no clocks.
pub(crate) fn boosted_by_levels(survey: &Survey<'_>, cpu: CpuId) -> Option<Boosted> {
    let stated = survey.highest_levels().ok().filter(|stated| stated.source == ACPI)?;
    let kind = |cpu| survey.topology().place(cpu).and_then(|place| place.kind.as_deref());
    let own = kind(cpu);
    let mut alike = stated.of.iter().filter(|(of, _)| kind(*of) == own).map(|(_, level)| *level);
    let first = alike.next()?;
    let is_ranking = alike.any(|level| level != first);
    let nominal = level(survey, cpu, "nominal_perf").ok().filter(|level| *level > 0)?;
    // Firmware of hybrids states one clock for both kinds.
    let hertz = match own {
        Some(_) => base_of_policy(survey, cpu)?,
        None => megahertz(survey, cpu, "nominal_freq")? * 1e6,
    };
    (!is_ranking).then(|| Boosted::new(hertz, first, nominal, ACPI))
}

impl Boosted {
    /// In proportion to a clock and its level.
    fn new(hertz: f64, highest: u32, level: u32, source: &'static str) -> Boosted {
        let (highest, level) = (f64::from(highest), f64::from(level));
        let step = 1.0 / level + 1e8 / hertz;
        Boosted { hertz: (hertz * highest / level).round(), step, source }
    }
}

/// The same by the registers of HWP, whose guaranteed level is base. Levels are no multiples of 100 MHz everywhere.
///
/// # Source
/// Linux, drivers/cpufreq/intel_pstate.c, `intel_pstate_hybrid_hwp_adjust`: levels of performance cores are scaled.
pub(crate) fn boosted_by_hwp(survey: &Survey<'_>, cpu: CpuId) -> Option<Boosted> {
    let [highest, guaranteed] = super::hwp::highest_and_guaranteed(survey, cpu).ok()?;
    let base = super::frequency::base_of(survey, cpu)?;
    (guaranteed > 0 && highest > guaranteed)
        .then(|| Boosted::new(base, highest, guaranteed, "MSR 771h"))
}

/// Online CPUs by kind and highest level: only this one differs within a kind.
type ByHighest<'a> = BTreeMap<(Option<&'a str>, u32), Vec<CpuId>>;

fn by_highest<'a>(survey: &'a Survey<'_>, levels: &HighestLevels) -> ByHighest<'a> {
    let mut cpus = ByHighest::new();
    for (place, &(cpu, highest)) in survey.topology().cpus.iter().zip(&levels.of) {
        cpus.entry((place.kind.as_deref(), highest)).or_default().push(cpu);
    }
    cpus
}

/// The highest level of every online CPU, in the order of the topology.
pub(crate) struct HighestLevels {
    /// Who states it.
    pub(crate) source: &'static str,
    /// The levels.
    pub(crate) of: Vec<(CpuId, u32)>,
}

/// The source that tells all levels in files.
const ACPI: &str = "ACPI `_CPC`";

/// By ACPI, else by the registers that say the same.
pub(crate) fn highest_levels(survey: &Survey<'_>) -> Reading<HighestLevels> {
    let places = &survey.topology().cpus;
    if places.is_empty() {
        return Err(super::topology::nothing_known());
    }
    let by_acpi = |cpu| {
        level(survey, cpu, "highest_perf").and_then(|highest| {
            // The kernel's cppc_acpi.c, `cppc_get_perf_caps`: 0 is no level.
            let none = || not_offered("the firmware states 0 as the highest level", "acpi_cppc");
            (highest > 0).then_some(highest).ok_or_else(none)
        })
    };
    let of_all = |of: &dyn Fn(CpuId) -> Reading<u32>| -> Reading<Vec<(CpuId, u32)>> {
        places.iter().map(|place| Ok((place.cpu, of(place.cpu)?))).collect()
    };
    match of_all(&by_acpi) {
        Ok(of) => Ok(HighestLevels { source: ACPI, of }),
        // A guest that may read such registers reads what its hypervisor makes up.
        Err(reason) if survey.is_guest() => Err(reason),
        Err(reason) => match identity(survey).map(|(maker, _)| maker) {
            Err(_) => return Err(reason),
            Ok(Maker::Amd) => of_all(&|cpu| {
                let levels = levels_of(register(survey, cpu, CPPC_CAPABILITY_1)?)?;
                Ok(levels.highest)
            })
            .map(|of| HighestLevels { source: "MSR C00102B0h", of }),
            Ok(Maker::Intel) => of_all(&|cpu| super::hwp::highest(survey, cpu))
                .map(|of| HighestLevels { source: "MSR 771h", of }),
        }
        // What only rights are missing for has its own remedy.
        .map_err(|by_register| match by_register.obstacle {
            Obstacle::Permission => by_register,
            _ => reason,
        }),
    }
}

/// Kinds apart: the first CPU of each answers for all, except for the highest level.
fn performance(survey: &Survey<'_>) -> Reading<String> {
    let levels = match survey.highest_levels() {
        Ok(levels) if levels.source == ACPI => by_highest(survey, levels),
        Ok(_) => return by_registers(survey),
        Err(reason) => return by_registers(survey).map_err(|_| reason),
    };
    let mut kinds: BTreeMap<Option<&str>, (u32, u32, CpuId)> = BTreeMap::new();
    for (&(kind, highest), cpus) in &levels {
        let first = cpus.first().copied().unwrap_or(CpuId(0));
        let known = kinds.entry(kind).or_insert((highest, highest, first));
        *known = (known.0.min(highest), known.1.max(highest), known.2.min(first));
    }
    let mut parts: Vec<(CpuId, String)> = kinds
        .into_iter()
        .map(|(kind, (low, high, first))| {
            let highest = if low == high { low.to_string() } else { format!("{low} to {high}") };
            let kind = kind.map_or_else(String::new, |kind| format!("{kind}: "));
            (first, format!("{kind}highest {highest}{}", other_levels(survey, first)))
        })
        .collect();
    parts.sort();
    Ok(parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join("; "))
}

fn other_levels(survey: &Survey<'_>, cpu: CpuId) -> String {
    let levels = [
        ("nominal", "nominal_perf", Some("nominal_freq")),
        ("lowest nonlinear", "lowest_nonlinear_perf", None),
        ("lowest", "lowest_perf", Some("lowest_freq")),
    ];
    let say = |(name, file, frequency): (&str, &str, Option<&str>)| {
        let level = level(survey, cpu, file).ok()?;
        let megahertz = frequency.and_then(|file| megahertz(survey, cpu, file));
        let frequency = megahertz.map(|mhz| format!(" ({} GHz)", gigahertz(mhz * 1e6)));
        Some(format!(", {name} {level}{}", frequency.unwrap_or_default()))
    };
    levels.into_iter().filter_map(say).collect()
}

fn by_registers(survey: &Survey<'_>) -> Reading<String> {
    if identity(survey)?.0 != Maker::Amd {
        let why = "only CPUs of AMD have the register C00102B0h";
        return Err(Unavailable::new(Obstacle::Hardware, "performance levels", why));
    }
    by_kind(&groups(survey), |group| {
        capabilities(register(survey, group.first(), CPPC_CAPABILITY_1)?)
    })
}

struct Levels {
    lowest: u32,
    nonlinear: u32,
    nominal: u32,
    highest: u32,
}

fn levels_of(value: u64) -> Reading<Levels> {
    let [lowest, nonlinear, nominal, highest] = [0, 1, 2, 3].map(|index| byte(value, index));
    if highest == 0 {
        let why = format!("the register C00102B0h holds {value:#x}, which names no levels");
        return Err(Unavailable::new(Obstacle::Cpudyno, "performance levels", why));
    }
    Ok(Levels { lowest, nonlinear, nominal, highest })
}

fn capabilities(value: u64) -> Reading<String> {
    let Levels { lowest, nonlinear, nominal, highest } = levels_of(value)?;
    Ok(format!(
        "highest {highest}, nominal {nominal}, lowest nonlinear {nonlinear}, lowest {lowest}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_in_the_register_of_amd() {
        let expected = "highest 166, nominal 144, lowest nonlinear 60, lowest 14";
        assert_eq!(capabilities(0xa690_3c0e).as_deref(), Ok(expected));
        assert!(capabilities(0).is_err());
    }
}
