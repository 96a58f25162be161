//! As far as CPUs would come with boost, where it is off: drivers then call their base the highest clock.

use model::record::{AllowedClock, CoreLevel, FactValue};
use model::{CpuId, CpuSet};

use super::together;
use crate::conditions;
use crate::facts::{Policy, boosted_by_levels};
use crate::survey::Survey;

/// What HWP levels are multiplied with, where they are ratios.
const RATIO_HERTZ: f64 = 100e6;

/// The clock of a CPU by one of the sources, in hertz.
type Told<'a> = &'a dyn Fn(CpuId) -> Option<f64>;

/// Whether the kernel says that boost is off.
fn is_off(survey: &Survey<'_>) -> bool {
    matches!(conditions::boost(survey), Ok(FactValue::Text(word)) if word == "off")
}

/// What is said beyond the kernel's highest clocks, by the first of these that says it: the driver of AMD, levels of
/// the firmware, registers of HWP. Nothing while boost is on: then the kernel's word holds.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/amd-pstate.rst`: `amd_pstate_max_freq` is that of the highest level, with
/// boost.
pub(super) fn clocks(
    survey: &Survey<'_>,
    cpus: &CpuSet,
    highest: &[AllowedClock],
    levels: &[CoreLevel],
) -> Vec<AllowedClock> {
    const BY_DRIVER: &str = "amd_pstate_max_freq";
    if !is_off(survey) {
        return Vec::new();
    }
    let policies = &survey.policies().all;
    let by_driver = |cpu: CpuId| {
        let of_cpu = |policy: &&Policy| policy.cpus.contains(cpu);
        policies.iter().find(of_cpu)?.hertz(survey, BY_DRIVER).ok()
    };
    let by_hwp = |cpu: CpuId| {
        let is_ratio = survey.topology().place(cpu)?.kind.is_none();
        let of_cpu = |it: &&CoreLevel| it.source == "MSR 771h" && it.cpus.contains(cpu);
        let level = levels.iter().find(of_cpu).filter(|_| is_ratio)?;
        Some(f64::from(level.highest) * RATIO_HERTZ)
    };
    let beyond = |cpu: CpuId, hertz: f64| {
        let stated = highest.iter().find(|it| it.cpus.contains(cpu));
        stated.is_none_or(|it| hertz > it.hertz)
    };
    let sources: [(&str, Told<'_>); 3] = [
        (BY_DRIVER, &by_driver),
        ("ACPI `_CPC`: highest level over nominal one, times the nominal clock", &|cpu| {
            boosted_by_levels(survey, cpu)
        }),
        ("MSR 771h: highest level times 100 MHz", &by_hwp),
    ];
    let of_source = |(source, of): &(&str, Told<'_>)| {
        let told = cpus.iter().filter_map(|cpu| Some((cpu, of(cpu)?)));
        let told: Vec<(CpuId, f64)> = told.filter(|(cpu, hertz)| beyond(*cpu, *hertz)).collect();
        together(told.into_iter(), source)
    };
    sources.iter().map(of_source).find(|told| !told.is_empty()).unwrap_or_default()
}
