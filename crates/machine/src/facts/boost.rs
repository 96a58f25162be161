//! Whether cores may go beyond their base clock, as the kernel says it.

use model::record::FactValue;
use model::{CpuSet, Obstacle, Reading, Unavailable};

use super::fact_cache::Survey;
use super::fact_table::text;
use super::frequency::{self, Policy, folded_over_policies, no_cpufreq};
use crate::ports::Machine;

/// A file below `/sys/devices/system/cpu`.
pub(crate) fn of_cpus(machine: &Machine, file: &str) -> Reading<String> {
    machine.tree.read(&format!("/sys/devices/system/cpu/{file}"))
}

/// One switch for all CPUs, or one per policy.
pub(crate) fn boost(survey: &Survey<'_>) -> Reading<FactValue> {
    let on_off = |on: bool| if on { "on" } else { "off" };
    if let Ok(no_turbo) = of_cpus(survey, "intel_pstate/no_turbo") {
        return switch("no_turbo", &no_turbo).map(|off| text(on_off(!off)));
    }
    let per_policy = folded_over_policies(survey, |policy| {
        Ok(on_off(switch("boost", &policy.read(survey, "boost")?)?).to_owned())
    });
    let of_all = of_cpus(survey, "cpufreq/boost").and_then(|answer| switch("boost", &answer));
    match (of_all, per_policy) {
        (Ok(false), _) => Ok(text("off")),
        (_, Ok(boost)) => Ok(text(boost)),
        (Ok(_), Err(_)) => Ok(text("on")),
        (Err(_), Err(_)) => Err(no_such_setting(survey, "switch for boost")),
    }
}

/// Whether the kernel says that boost is off.
pub(crate) fn is_boost_off(survey: &Survey<'_>) -> bool {
    matches!(boost(survey), Ok(FactValue::Text(word)) if word == "off")
}

/// The CPUs for which it says so: policies may have a switch of their own.
pub(crate) fn without_boost(survey: &Survey<'_>) -> CpuSet {
    let all_off = is_boost_off(survey);
    let is_off = |policy: &&Policy| {
        let own = || policy.read(survey, "boost").and_then(|answer| switch("boost", &answer));
        all_off || own() == Ok(false)
    };
    let off = survey.policies().all.iter().filter(is_off);
    off.flat_map(|policy| policy.cpus.iter()).collect()
}

/// Whether the kernel says that boost is on; where it has no switch, nobody knows.
pub(crate) fn is_boost_on(survey: &Survey<'_>) -> bool {
    matches!(boost(survey), Ok(FactValue::Text(word)) if word == "on")
}

/// What a switch of the kernel says.
fn switch(file: &str, answer: &str) -> Reading<bool> {
    match answer.trim() {
        "0" => Ok(false),
        "1" => Ok(true),
        other => {
            let why = format!("`{file}` says `{other}`, which is neither 0 nor 1");
            Err(Unavailable::new(Obstacle::Cpudyno, "switch", why))
        }
    }
}

/// What is said of a setting of the driver of frequencies that there is not.
pub(crate) fn no_such_setting(survey: &Survey<'_>, setting: &str) -> Unavailable {
    match frequency::driver(survey) {
        Ok(driver) => {
            let why = format!("the driver `{driver}` has no {setting}");
            Unavailable::new(Obstacle::Hardware, setting, why)
        }
        Err(_) => no_cpufreq(survey),
    }
}
