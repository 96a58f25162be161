//! Which settings are known to change what is measured.

use model::areas::{cores, memory, openmp, turbo, wake};

use super::{Cause, RatioVerdict, ResultRow, Setting};
use crate::digest::AFTER;

/// What a setting changes, and why.
struct CauseRow {
    /// The id of the fact.
    setting: &'static str,
    /// Whether somebody can choose it.
    chosen: Chosen,
    /// The areas whose numbers it changes; none named: every one.
    areas: &'static [&'static str],
    why: &'static str,
}

/// Who decides it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chosen {
    /// Somebody did.
    Always,
    /// Somebody did, or it is what the CPU came with.
    OnTheSameCpu,
    /// It is what the machine is.
    Never,
}

const fn chosen(
    setting: &'static str,
    areas: &'static [&'static str],
    why: &'static str,
) -> CauseRow {
    CauseRow { setting, chosen: Chosen::Always, areas, why }
}

const fn limit(
    setting: &'static str,
    areas: &'static [&'static str],
    why: &'static str,
) -> CauseRow {
    CauseRow { setting, chosen: Chosen::OnTheSameCpu, areas, why }
}

const fn is(setting: &'static str, areas: &'static [&'static str], why: &'static str) -> CauseRow {
    CauseRow { setting, chosen: Chosen::Never, areas, why }
}

/// Of every area: whatever it measures, cores go by their clock.
const EVERY: &[&str] = &[];

#[rustfmt::skip]
const KNOWN: &[CauseRow] = &[
    chosen("cpufreq.governor", EVERY, "it asks for the clock"),
    chosen("cpufreq.epp", EVERY, "it tells the hardware how eagerly to raise the clock"),
    chosen("cpufreq.epb", EVERY, "it tells the hardware how eagerly to raise the clock"),
    chosen("cpufreq.boost", EVERY, "it allows clocks above the base frequency, or does not"),
    limit("cpufreq.limits", EVERY, "the clock stays within them"),
    chosen("cpufreq.share", EVERY, "the driver keeps the clock within it"),
    chosen("cpufreq.driver", EVERY, "it decides who chooses the clock"),
    chosen("cpufreq.mode", EVERY, "it decides who chooses the clock"),
    chosen("power.profile", EVERY, "firmware moves power limits by it"),
    limit("turbo.ratio_limits", EVERY, "they limit the clock by active cores"),
    chosen("turbo.hwp", EVERY, "the hardware chooses the clock within it"),
    limit("uncore.limits", &[memory::AREA, cores::AREA], "the mesh and its caches have this clock"),
    chosen("sst.level", EVERY, "it sets base clock, limits of turbo and the cores that take part"),
    chosen("sst.base_freq", EVERY, "some cores have a higher base clock at the others' cost"),
    chosen("sst.turbo_freq", EVERY, "some cores have a higher turbo clock at the others' cost"),
    chosen("sst.core_power", EVERY, "power goes to cores by their class"),
    chosen("sst.priority", EVERY, "power goes to cores by their class"),
    chosen("sst.classes", EVERY, "power goes to cores by their class"),
    is("disturbance.thermal_core", EVERY, "heat lowered the clock of cores"),
    is("disturbance.thermal_package", EVERY, "heat lowered the clock of packages"),
    is("disturbance.cgroup_throttles", EVERY, "a quota stopped threads"),
    is("disturbance.memory_errors_corrected", &[memory::AREA], "memory had errors to correct"),
    is("busy.cpus", EVERY, "other work took its share"),
    is("temperature", EVERY, "hot cores leak power, which their clock pays"),
    chosen("idle.disabled", &[wake::AREA, turbo::AREA, openmp::AREA], "waking takes as long as the deepest state that is allowed, and idle cores leave their power to others"),
    chosen("idle.resume_latency", &[wake::AREA, turbo::AREA, openmp::AREA], "idle states that take longer to leave are left out"),
    chosen("prefetchers", &[memory::AREA], "they fetch what is asked for next, and what is not"),
    chosen("thp.defrag", &[memory::AREA], "it decides whether huge pages are made when memory is first touched"),
    chosen("memory.reserved_pages", &[memory::AREA], "huge pages spare misses of the TLB"),
    chosen("kernel.numa_balancing", &[memory::AREA, openmp::AREA], "it moves pages between nodes"),
    chosen("idle.driver", &[wake::AREA], "it chooses the idle state"),
    chosen("idle.haltpoll", &[wake::AREA, openmp::AREA], "the guest polls before it halts"),
    limit("idle.states", &[wake::AREA], "deeper states take longer to leave"),
    chosen("memory.limit", &[memory::AREA], "a control group limits memory"),
    chosen("tool.version", EVERY, "it measures otherwise"),
    chosen("smt.control", &[turbo::AREA, memory::AREA, openmp::AREA, wake::AREA], "siblings share a core"),
    chosen("cpu.isolated", &[wake::AREA, openmp::AREA], "the scheduler leaves these CPUs alone"),
    limit("cpu.offline", &[turbo::AREA, memory::AREA, openmp::AREA], "another number of CPUs takes part"),
    chosen("thp.enabled", &[memory::AREA], "huge pages spare misses of the TLB"),
    chosen("memory.huge_pages", &[memory::AREA], "huge pages spare misses of the TLB"),
    limit("memory.nodes", &[memory::AREA, cores::AREA], "how far memory is, and how it is interleaved"),
    chosen("clocksource", &[wake::AREA], "reading the time may be a system call"),
    chosen("cgroup.quota", EVERY, "a quota takes CPUs away"),
    limit("cpus.usable", &[turbo::AREA, memory::AREA, openmp::AREA], "another number of CPUs takes part"),
    chosen("kernel.mitigations", &[wake::AREA, openmp::AREA], "they lengthen every way into the kernel"),
    chosen("kernel.mitigations.each", &[wake::AREA, openmp::AREA], "they lengthen every way into the kernel"),
    chosen("kernel.command_line", EVERY, "it may switch anything"),
    chosen("kernel.preemption", &[wake::AREA], "it decides when a woken thread may run"),
    chosen("kernel.timer", &[wake::AREA], "ticks wake idle CPUs"),
    chosen("kernel.release", &[wake::AREA, openmp::AREA], "its scheduler wakes threads"),
    limit("cpu.microcode", EVERY, "it changes limits and mitigations"),
    chosen("platform.firmware", EVERY, "it sets limits of power, memory and uncore"),
    is("cpu.brand", EVERY, "it is another CPU"),
    is("cpu.caches", &[memory::AREA, cores::AREA], "caches differ"),
    is("memory.total", &[memory::AREA], "channels may be populated otherwise"),
    is("memory.channels", &[memory::AREA], "another number of channels is filled"),
    is("memory.dimms", &[memory::AREA], "slots hold other DIMMs"),
    is("memory.speed", &[memory::AREA], "channels run at another rate"),
    is("platform.virtualisation", EVERY, "a hypervisor takes its share"),
];

/// Settings that follow from others: without boost the kernel's limits end at the base clock.
const FOLLOWS: &[(&str, &str)] = &[
    ("cpufreq.limits", "cpufreq.boost"),
    ("after.cpufreq.limits", "cpufreq.boost"),
    ("turbo.hwp", "cpufreq.boost"),
];

/// Whether somebody chose what the fact says, on one CPU or on two.
pub(super) fn can_be_chosen(id: &str, same_cpu: bool) -> bool {
    let id = id.strip_prefix(AFTER).unwrap_or(id);
    let row = KNOWN.iter().find(|row| row.setting == id);
    row.is_some_and(|row| match row.chosen {
        Chosen::Always => true,
        Chosen::OnTheSameCpu => same_cpu,
        Chosen::Never => false,
    })
}

/// Whether a fact before the run is a setting that may move results.
pub(crate) fn may_be_set(id: &str) -> bool {
    KNOWN.iter().any(|row| row.setting == id) && can_be_chosen(id, true)
}

/// Why a fact may move results of an area, where that is known, and its place among causes: what somebody chose first.
pub(crate) fn known(id: &str, area: &str) -> Option<(usize, &'static str)> {
    let id = id.strip_prefix(AFTER).unwrap_or(id);
    let is_about = |row: &CauseRow| row.areas.is_empty() || row.areas.contains(&area);
    let place = KNOWN.iter().position(|row| row.setting == id && is_about(row))?;
    // What follows from another comes after it.
    let follows = if FOLLOWS.iter().any(|(it, _)| *it == id) { KNOWN.len() } else { 0 };
    Some((place + follows, KNOWN[place].why))
}

/// Which way a setting that differs in a record moves results of an area, where it can move them one way only:
/// without boost nothing is faster, and with fewer idle states no wake-up is slower.
fn way(setting: &Setting, place: usize, area: &str) -> Option<RatioVerdict> {
    let [first, other] = [0, place].map(|place| setting.values[place].as_deref());
    match (setting.id.strip_prefix(AFTER).unwrap_or(&setting.id), first?, other?) {
        ("cpufreq.boost", "off", "on") => Some(RatioVerdict::Better),
        ("cpufreq.boost", "on", "off") => Some(RatioVerdict::Worse),
        ("idle.disabled", "none", _) if area == wake::AREA => Some(RatioVerdict::Better),
        ("idle.disabled", _, "none") if area == wake::AREA => Some(RatioVerdict::Worse),
        _ => None,
    }
}

/// Whether a result that differs in a record may be that setting's doing.
fn may_explain(setting: &Setting, place: usize, row: &ResultRow) -> bool {
    let told = row.beside[place - 1].as_ref().map(|beside| beside.verdict);
    let way = way(setting, place, &row.what.area);
    row.differs_in(place) && (way.is_none() || told == way || told == Some(RatioVerdict::Differs))
}

/// The differing settings that are known to change areas whose results differ in the same records, in the order of
/// settings.
pub(super) fn of(settings: &[Setting], results: &[ResultRow]) -> Vec<Cause> {
    // What follows from another setting that differs is no cause beside it.
    let follows = |setting: &Setting, place: usize| {
        let from = FOLLOWS.iter().filter(|(what, _)| setting.id == *what).map(|(_, from)| *from);
        let mut from = from.flat_map(|from| settings.iter().filter(move |it| it.id == from));
        from.any(|from| from.differs_in(place))
    };
    let mut causes = Vec::new();
    for setting in settings {
        let is_own = |place: &usize| setting.differs_in(*place) && !follows(setting, *place);
        let places: Vec<usize> = (1..setting.values.len()).filter(is_own).collect();
        let explained = |area: &str| {
            let of_area = results.iter().filter(|row| row.what.area == area);
            of_area
                .filter(|row| places.iter().any(|place| may_explain(setting, *place, row)))
                .count()
        };
        let id = setting.id.strip_prefix(AFTER).unwrap_or(&setting.id);
        for row in KNOWN.iter().filter(|row| row.setting == id) {
            let named = row.areas.iter().copied();
            let every = model::areas::ids().filter(|_| row.areas.is_empty());
            let areas = named.chain(every).map(|area| (area, explained(area)));
            causes.extend(areas.filter(|(_, count)| *count > 0).map(|(area, results)| Cause {
                setting: setting.label.clone(),
                area: area.to_owned(),
                results,
                why: row.why,
            }));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::Unit;
    use model::record::ResultKey;

    use super::super::{RelativeValue, Value};
    use super::*;

    fn setting(id: &str, values: [&str; 2]) -> Setting {
        let values = values.map(|value| Some(value.to_owned())).to_vec();
        Setting { id: id.to_owned(), label: id.to_owned(), values, can_be_chosen: true }
    }

    fn result(area: &str, verdict: RatioVerdict) -> ResultRow {
        let ratio = if verdict == RatioVerdict::Worse { 2.0 } else { 0.5 };
        let what = ResultKey {
            area: area.to_owned(),
            workload: "futex".to_owned(),
            quantity: "round_trip".to_owned(),
            active: 1,
            cpus: None,
            parameters: BTreeMap::new(),
        };
        let beside =
            RelativeValue { ratio, interval: Some([ratio, ratio]), false_share: None, verdict };
        let value = Value { median: 1.0, interval: None };
        let values = vec![Some(value), Some(Value { median: ratio, ..value })];
        ResultRow { what, unit: Unit::Second, better: None, values, beside: vec![Some(beside)] }
    }

    #[test]
    fn a_setting_that_cannot_make_things_slower_is_no_cause_of_what_got_slower() {
        let idle = [setting("idle.disabled", ["none", "C6"])];
        let slower = [result("wake", RatioVerdict::Worse), result("wake", RatioVerdict::Worse)];
        assert_eq!(of(&idle, &slower), []);
        let both = [result("wake", RatioVerdict::Worse), result("wake", RatioVerdict::Better)];
        assert_eq!(of(&idle, &both)[0].results, 1);
        let boost = [setting("cpufreq.boost", ["on", "off"])];
        assert_eq!(of(&boost, &slower)[0].results, 2);
    }

    #[test]
    fn a_setting_of_one_record_is_no_cause_of_what_differs_in_another() {
        let three = |id: &str, values: [&str; 3]| Setting {
            values: values.map(|value| Some(value.to_owned())).to_vec(),
            ..setting(id, ["", ""])
        };
        let mut differs_in_first = result("turbo", RatioVerdict::Worse);
        differs_in_first.beside.push(None);
        let [one, other] = [["on", "off", "on"], ["on", "on", "off"]];
        let all = std::slice::from_ref(&differs_in_first);
        assert_eq!(of(&[three("smt.control", one)], all).len(), 1);
        assert_eq!(of(&[three("smt.control", other)], all), []);
        // Limits follow from boost where that differs, too.
        let limits = three("cpufreq.limits", ["3 GHz", "2 GHz", "3 GHz"]);
        assert_eq!(of(&[three("cpufreq.boost", one), limits.clone()], all).len(), 1);
        let causes = of(&[three("cpufreq.boost", other), limits], all);
        assert!(causes.len() == 1 && causes[0].setting == "cpufreq.limits", "{causes:?}");
    }

    #[test]
    fn what_machines_are_is_said_in_no_direction() {
        // Which record has more is not asked.
        for row in KNOWN.iter().filter(|row| row.setting.starts_with("cpu")) {
            assert!(!["fewer", "more "].iter().any(|it| row.why.contains(it)), "{}", row.why);
        }
    }

    #[test]
    fn limits_that_follow_from_boost_are_no_second_cause() {
        let boost = setting("cpufreq.boost", ["on", "off"]);
        let limits = setting("cpufreq.limits", ["1 to 3 GHz", "1 to 2 GHz"]);
        let slower = [result("turbo", RatioVerdict::Worse)];
        assert_eq!(of(&[boost, limits.clone()], &slower).len(), 1);
        assert_eq!(of(&[limits], &slower).len(), 1);
    }
}
