//! Which settings are known to change what is measured.

use super::{Cause, ResultRow, Setting};

/// What a setting changes, and why.
struct Row {
    /// The id of the fact.
    setting: &'static str,
    /// Whether somebody can choose it.
    chosen: Chosen,
    /// The areas whose numbers it changes.
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

const fn chosen(setting: &'static str, areas: &'static [&'static str], why: &'static str) -> Row {
    Row { setting, chosen: Chosen::Always, areas, why }
}

const fn limit(setting: &'static str, areas: &'static [&'static str], why: &'static str) -> Row {
    Row { setting, chosen: Chosen::OnTheSameCpu, areas, why }
}

const fn is(setting: &'static str, areas: &'static [&'static str], why: &'static str) -> Row {
    Row { setting, chosen: Chosen::Never, areas, why }
}

const CLOCKED: &[&str] = &["turbo", "memory", "cores", "pause", "wake", "openmp", "pmu"];

#[rustfmt::skip]
const KNOWN: &[Row] = &[
    chosen("cpufreq.governor", CLOCKED, "it asks for the clock"),
    chosen("cpufreq.epp", CLOCKED, "it tells the hardware how eagerly to raise the clock"),
    chosen("cpufreq.epb", CLOCKED, "it tells the hardware how eagerly to raise the clock"),
    chosen("cpufreq.boost", CLOCKED, "it allows clocks above the base frequency, or does not"),
    limit("cpufreq.limits", CLOCKED, "the clock stays within them"),
    chosen("cpufreq.driver", CLOCKED, "it decides who chooses the clock"),
    chosen("cpufreq.mode", CLOCKED, "it decides who chooses the clock"),
    chosen("power.profile", CLOCKED, "firmware moves power limits by it"),
    limit("turbo.ratio_limits", CLOCKED, "they limit the clock by active cores"),
    chosen("turbo.hwp", CLOCKED, "the hardware chooses the clock within it"),
    limit("uncore.limits", &["memory", "cores"], "the mesh and its caches have this clock"),
    chosen("sst.level", CLOCKED, "it sets base clock, limits of turbo and the cores that take part"),
    chosen("sst.base_freq", CLOCKED, "some cores have a higher base clock at the others' cost"),
    chosen("sst.turbo_freq", CLOCKED, "some cores have a higher turbo clock at the others' cost"),
    chosen("sst.core_power", CLOCKED, "power goes to cores by their class"),
    chosen("sst.priority", CLOCKED, "power goes to cores by their class"),
    chosen("sst.classes", CLOCKED, "power goes to cores by their class"),
    is("disturbance.thermal_core", CLOCKED, "heat lowered the clock of cores"),
    is("disturbance.thermal_package", CLOCKED, "heat lowered the clock of packages"),
    is("disturbance.cgroup_throttles", CLOCKED, "a quota stopped threads"),
    chosen("idle.disabled", &["wake", "turbo", "openmp"], "waking takes as long as the deepest state that is allowed, and idle cores leave their power to others"),
    chosen("idle.resume_latency", &["wake", "turbo", "openmp"], "idle states that take longer to leave are left out"),
    chosen("prefetchers", &["memory"], "they fetch what is asked for next, and what is not"),
    chosen("thp.defrag", &["memory"], "it decides whether huge pages are made when memory is first touched"),
    chosen("memory.reserved_pages", &["memory"], "huge pages spare misses of the TLB"),
    chosen("kernel.numa_balancing", &["memory", "openmp"], "it moves pages between nodes"),
    chosen("idle.driver", &["wake"], "it chooses the idle state"),
    chosen("idle.haltpoll", &["wake", "openmp"], "the guest polls before it halts"),
    limit("idle.states", &["wake"], "deeper states take longer to leave"),
    chosen("memory.limit", &["memory"], "a control group limits memory"),
    chosen("tool.version", CLOCKED, "it measures otherwise"),
    chosen("smt.control", &["turbo", "memory", "openmp", "wake"], "siblings share a core"),
    chosen("cpu.isolated", &["wake", "openmp"], "the scheduler leaves these CPUs alone"),
    limit("cpu.offline", &["turbo", "memory", "openmp"], "fewer CPUs take part"),
    chosen("thp.enabled", &["memory"], "huge pages spare misses of the TLB"),
    chosen("memory.huge_pages", &["memory"], "huge pages spare misses of the TLB"),
    limit("memory.nodes", &["memory", "cores"], "how far memory is, and how it is interleaved"),
    chosen("clocksource", &["wake"], "reading the time may be a system call"),
    chosen("cgroup.quota", CLOCKED, "a quota takes CPUs away"),
    limit("cpus.usable", &["turbo", "memory", "openmp"], "fewer CPUs take part"),
    chosen("kernel.mitigations", &["wake", "openmp"], "they lengthen every way into the kernel"),
    chosen("kernel.mitigations.each", &["wake", "openmp"], "they lengthen every way into the kernel"),
    chosen("kernel.command_line", CLOCKED, "it may switch anything"),
    chosen("kernel.preemption", &["wake"], "it decides when a woken thread may run"),
    chosen("kernel.timer", &["wake"], "ticks wake idle CPUs"),
    chosen("kernel.release", &["wake", "openmp"], "its scheduler wakes threads"),
    limit("cpu.microcode", CLOCKED, "it changes limits and mitigations"),
    chosen("platform.firmware", CLOCKED, "it sets limits of power, memory and uncore"),
    is("cpu.brand", CLOCKED, "it is another CPU"),
    is("cpu.caches", &["memory", "cores"], "caches differ"),
    is("memory.total", &["memory"], "channels may be populated otherwise"),
    is("platform.virtualisation", CLOCKED, "a hypervisor takes its share"),
];

/// Whether somebody chose what the fact says, on one CPU or on two.
pub(super) fn can_be_chosen(id: &str, same_cpu: bool) -> bool {
    let id = id.strip_prefix(super::AFTER).unwrap_or(id);
    let row = KNOWN.iter().find(|row| row.setting == id);
    row.is_some_and(|row| match row.chosen {
        Chosen::Always => true,
        Chosen::OnTheSameCpu => same_cpu,
        Chosen::Never => false,
    })
}

/// The differing settings that are known to change areas whose results differ, in the order of settings.
pub(super) fn of(settings: &[Setting], results: &[ResultRow]) -> Vec<Cause> {
    let differing =
        |area: &str| results.iter().filter(|row| row.what.area == area && row.differs()).count();
    let mut causes = Vec::new();
    for setting in settings {
        let id = setting.id.strip_prefix(super::AFTER).unwrap_or(&setting.id);
        for row in KNOWN.iter().filter(|row| row.setting == id) {
            let areas = row.areas.iter().map(|area| (*area, differing(area)));
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
