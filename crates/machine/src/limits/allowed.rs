//! How far the kernel lets clocks go, and who keeps them below that.

use std::collections::BTreeSet;

use model::areas::turbo::promise::{self, BY_FIRMWARE, BY_SHARE};
use model::record::AllowedClock;
use model::{CpuId, CpuSet};

use super::together;
use crate::conditions;
use crate::facts::fact_cache::Survey;
use crate::facts::{BY_KERNEL, Policy};

/// What the kernel lets each of these CPUs have; nothing where it does not say so.
///
/// Where a driver lists steps, the last of them stands for all that boost adds: who may have it may have boost.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/cpufreq.rst`: `scaling_max_freq`; `drivers/cpufreq/acpi-cpufreq.c`:
/// `cpuinfo_max_freq` counts boost in, which no step of the list has.
pub(super) fn by_kernel(
    survey: &Survey<'_>,
    cpus: &CpuSet,
    without_boost: &CpuSet,
) -> Vec<AllowedClock> {
    each(survey, cpus, promise::BY_KERNEL, |policy| {
        let allowed = policy.hertz(survey, promise::BY_KERNEL).ok()?;
        let is_last = policy.last_step(survey).is_some_and(|last| allowed >= last);
        let reach = policy.hertz(survey, BY_KERNEL).ok();
        let has_boost = policy.cpus.intersection(without_boost).is_empty();
        let reach = reach.filter(|_| is_last && has_boost);
        Some(reach.map_or(allowed, |reach| reach.max(allowed)))
    })
}

/// Where firmware limits clocks to less than the last step, or than the kernel's highest clock where no steps are listed.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/cpufreq.rst`: `bios_limit`.
pub(super) fn by_firmware(survey: &Survey<'_>, cpus: &CpuSet) -> Vec<AllowedClock> {
    each(survey, cpus, BY_FIRMWARE, |policy| {
        let limit = policy.hertz(survey, BY_FIRMWARE).ok()?;
        let last = policy.last_step(survey).or_else(|| policy.hertz(survey, BY_KERNEL).ok())?;
        (limit < last).then_some(limit)
    })
}

/// The highest clocks of these CPUs as the kernel claims them: while boost is off, those without.
pub(super) fn highest_now(
    survey: &Survey<'_>,
    cpus: &CpuSet,
    without_boost: &CpuSet,
) -> Vec<AllowedClock> {
    let of_policy = |policy: &Policy| {
        let is_off = !policy.cpus.intersection(without_boost).is_empty();
        let now = [policy.hertz(survey, BY_KERNEL).ok(), policy.last_step(survey)];
        let now = now.into_iter().flatten().filter(|_| is_off).reduce(f64::min);
        let believed = |cpu: CpuId| {
            let believed = survey.claimed_clocks().of(cpu).ok()?;
            Some((cpu, now.map_or(believed, |now| now.min(believed))))
        };
        policy.cpus.intersection(cpus).iter().filter_map(believed).collect::<Vec<_>>()
    };
    let mut claimed: Vec<(CpuId, f64)> = survey.policies().all.iter().flat_map(of_policy).collect();
    claimed.sort_unstable_by_key(|(cpu, _)| *cpu);
    together(claimed.into_iter(), BY_KERNEL)
}

fn each(
    survey: &Survey<'_>,
    cpus: &CpuSet,
    source: &str,
    read: impl Fn(&Policy) -> Option<f64>,
) -> Vec<AllowedClock> {
    let policies = survey.policies().all.iter();
    let known = policies.filter_map(|policy| Some((policy.cpus.intersection(cpus), read(policy)?)));
    let each =
        known.flat_map(|(cpus, hertz)| cpus.iter().map(|cpu| (cpu, hertz)).collect::<Vec<_>>());
    together(each, source)
}

/// What the driver's share of the highest clock with boost leaves of the highest clocks as they are now.
///
/// # Source
/// Linux, drivers/cpufreq/intel_pstate.c: `intel_pstate_update_perf_limits` rounds up to levels of the hardware, which
/// are multiples of 100 MHz but on hybrids.
pub(super) fn by_share(survey: &Survey<'_>, highest: &[AllowedClock]) -> Vec<AllowedClock> {
    const RATIO_HERTZ: f64 = 100e6;
    let Some(percent) = conditions::most_share(survey) else { return Vec::new() };
    let of_cpu = |(cpu, now): (CpuId, f64)| {
        let share = survey.claimed_clocks().of(cpu).ok()? * percent / 100.0;
        let is_of_hybrid = survey.topology().place(cpu)?.kind.is_some();
        let whole = (share / RATIO_HERTZ - 1e-6).ceil() * RATIO_HERTZ;
        let share = if is_of_hybrid { share } else { whole };
        (share < now).then_some((cpu, share))
    };
    let each = |it: &AllowedClock| {
        let hertz = it.hertz;
        it.cpus.iter().map(|cpu| (cpu, hertz)).collect::<Vec<_>>()
    };
    together(highest.iter().flat_map(each).filter_map(of_cpu), BY_SHARE)
}

/// Drivers whose governors choose no clock, whatever they are called: the hardware does.
const OF_THEIR_OWN: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];

/// The clock of governors that choose one and keep it, where the driver lets governors choose.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/cpufreq.rst`, section "Generic scaling governors";
/// `intel_pstate.rst` and `amd-pstate.rst`: active drivers have governors of their own by these names.
pub(super) fn by_governor(survey: &Survey<'_>, cpus: &CpuSet) -> Vec<AllowedClock> {
    let of_policy = |policy: &Policy| {
        let [driver, governor] =
            ["scaling_driver", "scaling_governor"].map(|file| policy.read(survey, file));
        let (driver, governor) = (driver.ok()?, governor.ok()?);
        let (driver, governor) = (driver.trim(), governor.trim());
        let file = match governor {
            "powersave" => "scaling_min_freq",
            "userspace" => "scaling_setspeed",
            _ => return None,
        };
        let hertz = policy.hertz(survey, file).ok()?;
        let source = format!("governor {governor} ({file})");
        (!OF_THEIR_OWN.contains(&driver)).then(|| (policy.cpus.intersection(cpus), source, hertz))
    };
    let chosen: Vec<(CpuSet, String, f64)> =
        survey.policies().all.iter().filter_map(of_policy).collect();
    let sources: BTreeSet<&String> = chosen.iter().map(|(_, source, _)| source).collect();
    let of_source = |source: &String| {
        let mine = chosen.iter().filter(|(_, by, _)| by == source);
        let each = mine.flat_map(|(cpus, _, hertz)| cpus.iter().map(|cpu| (cpu, *hertz)));
        together(each, source)
    };
    sources.into_iter().flat_map(of_source).collect()
}
