//! As far as CPUs would come with boost, where it is off: drivers then call their base the highest clock.

use model::record::AllowedClock;
use model::{CpuId, CpuSet};

use super::together;
use crate::facts::fact_cache::Survey;
use crate::facts::frequency::{BY_DRIVER, BY_LIST, base_of};
use crate::facts::{Policy, boosted_by_hwp, boosted_by_levels, is_sold};

/// The clock of a CPU by one of the sources, in hertz.
type ClockOf<'a> = &'a dyn Fn(CpuId) -> Option<f64>;

/// What is said beyond the kernel's highest clocks, by the first of these that says it: the driver of AMD, levels of
/// the firmware, registers of HWP. Of CPUs without boost alone: while it is on, the kernel's word holds.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/amd-pstate.rst`: `amd_pstate_max_freq` is that of the highest level, with
/// boost; `cpufreq.rst`: `scaling_boost_frequencies` are those beyond what is listed without boost.
pub(super) fn clocks(
    survey: &Survey<'_>,
    cpus: &CpuSet,
    highest: &[AllowedClock],
) -> Vec<AllowedClock> {
    let policies = &survey.policies().all;
    let by_driver = |cpu: CpuId| {
        let of_cpu = |policy: &&Policy| policy.cpus.contains(cpu);
        policies.iter().find(of_cpu)?.hertz(survey, BY_DRIVER).ok()
    };
    let boosted_file = |cpu: CpuId| {
        let policy = policies.iter().find(|policy| policy.cpus.contains(cpu))?;
        let list = policy.read(survey, BY_LIST).ok()?;
        list.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).reduce(f64::max)
    };
    let beyond = |cpu: CpuId, hertz: f64| {
        let stated = highest.iter().find(|it| it.cpus.contains(cpu));
        // A kernel that claims more than the base counts boost in.
        let base = base_of(survey, cpu);
        let with_boost = |it: &AllowedClock| base.is_some_and(|base| it.hertz > base * 1.01);
        is_sold(hertz) && stated.is_none_or(|it| hertz > it.hertz && !with_boost(it))
    };
    let sources: [(&str, ClockOf<'_>); 4] = [
        (BY_DRIVER, &by_driver),
        (BY_LIST, &|cpu| Some(boosted_file(cpu)? * 1e3)),
        ("ACPI `_CPC`: highest level over nominal one, times the nominal clock", &|cpu| {
            Some(boosted_by_levels(survey, cpu)?.hertz)
        }),
        ("MSR 771h: highest level over guaranteed one, times the base", &|cpu| {
            Some(boosted_by_hwp(survey, cpu)?.hertz)
        }),
    ];
    let of_source = |(source, of): &(&str, ClockOf<'_>)| {
        let told = cpus.iter().filter_map(|cpu| Some((cpu, of(cpu)?)));
        let told: Vec<(CpuId, f64)> = told.filter(|(cpu, hertz)| beyond(*cpu, *hertz)).collect();
        together(told.into_iter(), source)
    };
    sources.iter().map(of_source).find(|told| !told.is_empty()).unwrap_or_default()
}
