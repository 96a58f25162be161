//! The kernel: which one, and which of its settings change performance.

use model::page::tally;
use model::{Obstacle, Reading, Unavailable, Unit};

use crate::facts::cgroup;
use crate::facts::fact_table::{FactRow, number, row, text};
use crate::ports::Machine;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("kernel.release", "Kernel", |s| release(s).map(text)),
    row("kernel.preemption", "Preemption", |s| preemption(s).map(text)),
    row("kernel.timer", "Timer frequency", |s| Ok(number(timer_hz(s)?, Unit::Hertz))),
    row("kernel.command_line", "Kernel parameters", |s| command_line(s).map(text)),
    row("cgroup.version", "Control groups", |s| cgroup::version(s).map(text)),
    row("kernel.mitigations", "Vulnerabilities", |s| Ok(text(summary(&vulnerabilities(s)?)))),
    row("kernel.mitigations.each", "Mitigations", |s| Ok(text(each(&vulnerabilities(s)?)))),
];

fn release(machine: &Machine) -> Reading<String> {
    machine.tree.read("/proc/sys/kernel/osrelease")
}

/// How readily the kernel takes a CPU from a thread that is inside of it.
///
/// # Source
/// `kernel/sched/debug.c`: the mode in parentheses; `init/Makefile`: the words of the version.
fn preemption(machine: &Machine) -> Reading<String> {
    // Several modes, the one in use in parentheses: `none voluntary (full)`.
    let modes = machine.tree.read("/sys/kernel/debug/sched/preempt");
    if let Ok(modes) = &modes
        && let Some((_, rest)) = modes.split_once('(')
        && let Some((mode, _)) = rest.split_once(')')
    {
        return Ok(mode.into());
    }
    let path = "/proc/sys/kernel/version";
    let version = machine.tree.read(path)?;
    let has = |flag: &str| version.split_whitespace().any(|word| word == flag);
    if has("PREEMPT_RT") || has("PREEMPT_{RT,LAZY}") {
        return Ok("real-time".into());
    }
    if has("PREEMPT_DYNAMIC") {
        let chosen = machine.tree.read("/proc/cmdline").ok().and_then(|line| {
            let value = parameters(&line).find_map(|word| word.strip_prefix("preempt="));
            value.map(shortened)
        });
        return Ok(chosen.unwrap_or_else(|| "dynamic".into()));
    }
    if !version.starts_with('#') {
        let why = format!("`{path}` is no version as Linux writes it");
        return Err(Unavailable::new(Obstacle::Cpudyno, "preemption", why));
    }
    Ok(if has("PREEMPT") { "full" } else { "none or voluntary" }.into())
}

/// What the kernel was built with.
///
/// # Error
/// Where the file is not in its place, or only root may read it.
pub(super) fn configuration(machine: &Machine, what: &str) -> Reading<String> {
    let release = release(machine)?;
    if release.is_empty() || release.contains('/') {
        let why = "the name of the kernel is no name of a file";
        return Err(Unavailable::new(Obstacle::Cpudyno, what, why));
    }
    let path = format!("/boot/config-{release}");
    machine.tree.read(&path).map_err(|error| {
        if error.obstacle == Obstacle::Permission {
            return error;
        }
        let why = format!("the kernel's configuration is not at `{path}`");
        Unavailable::new(Obstacle::Cpudyno, what, why)
    })
}

/// Interrupts per second of a busy CPU, as the kernel was configured.
///
/// # Unit
/// Hertz.
fn timer_hz(machine: &Machine) -> Reading<f64> {
    let configuration = configuration(machine, "timer")?;
    let hertz = configuration.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="));
    let hertz = hertz.and_then(|text| text.trim().parse::<u32>().ok()).filter(|hertz| *hertz > 0);
    hertz.map(f64::from).ok_or_else(|| {
        let why = "the kernel's configuration has no line `CONFIG_HZ`";
        Unavailable::new(Obstacle::Cpudyno, "timer", why)
    })
}

/// Parameters that change how fast, or how evenly, a machine runs. Everything else on the command
/// line is counted and never shown: host names, addresses and identifiers of disks stand there. One
/// that ends in a dot stands for all parameters of that module.
///
/// # Source
/// The kernel's `Documentation/admin-guide/kernel-parameters.txt`.
#[rustfmt::skip]
const SHOWN: &[&str] = &[
    "acpi_cppc", "amd_iommu", "amd_prefcore", "amd_pstate", "amd_pstate.", "clearcpuid",
    "clocksource", "cpufreq.", "cpuidle.", "default_hugepagesz", "gather_data_sampling", "hpet",
    "hugepages", "hugepagesz", "idle", "indirect_target_selection", "init_on_alloc", "init_on_free",
    "intel_idle.", "intel_iommu", "intel_pstate", "iommu", "irqaffinity", "isolcpus", "kpti",
    "kvm.", "l1tf", "maxcpus", "mds", "mem", "mem_encrypt", "mitigations", "mmio_stale_data",
    "nmi_watchdog", "no_timer_check", "nohlt", "nohz", "nohz_full", "nopcid", "nopti", "nosmt",
    "nosoftlockup", "nospec_store_bypass_disable", "nospectre_v1", "nospectre_v2", "notsc",
    "nowatchdog", "nox2apic", "noxsave", "nr_cpus", "numa", "numa_balancing", "pcie_aspm",
    "possible_cpus", "preempt", "processor.", "psi", "pti", "rcu_nocb_poll", "rcu_nocbs",
    "rcupdate.", "reg_file_data_sampling", "retbleed", "skew_tick", "slub_debug", "smt",
    "spec_rstack_overflow", "spec_store_bypass_disable", "spectre_bhi", "spectre_v2",
    "spectre_v2_user", "split_lock_detect", "srbds", "ssbd", "threadirqs", "transparent_hugepage",
    "tsa", "tsc", "tsx", "tsx_async_abort", "vmscape", "watchdog", "workqueue.",
];

/// The words for the kernel; those after `--` are for the first process.
pub(super) fn parameters(command_line: &str) -> impl Iterator<Item = &str> {
    command_line.split_whitespace().take_while(|word| *word != "--")
}

/// How to load a module; `None` where it is loaded already.
///
/// # Source
/// proc_modules(5).
pub(crate) fn to_load(machine: &Machine, module: &str) -> Option<String> {
    let modules = machine.tree.read("/proc/modules").unwrap_or_default();
    let name = module.replace('-', "_");
    let mut loaded = modules.lines().filter_map(|line| line.split_whitespace().next());
    (!loaded.any(|known| known == name)).then(|| format!("`sudo modprobe {module}`"))
}

/// Whether a parameter is among those that change performance.
pub fn concerns_performance(parameter: &str) -> bool {
    let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
    // The kernel takes `-` and `_` for the same.
    let name = name.replace('-', "_");
    SHOWN.iter().any(|shown| name == *shown || (shown.ends_with('.') && name.starts_with(shown)))
}

/// A list of CPUs may be as long as the machine is large.
fn shortened(parameter: &str) -> String {
    const LETTERS_MAX: usize = 80;
    match parameter.char_indices().nth(LETTERS_MAX) {
        Some((end, _)) => format!("{}...", &parameter[..end]),
        None => parameter.into(),
    }
}

fn command_line(machine: &Machine) -> Reading<String> {
    /// More than this is no line of a kernel that wants to be read.
    const SHOWN_MAX: usize = 40;
    let line = machine.tree.read("/proc/cmdline")?;
    let (shown, hidden): (Vec<&str>, Vec<&str>) =
        parameters(&line).partition(|word| concerns_performance(word));
    let hidden = hidden.len() + shown.len().saturating_sub(SHOWN_MAX);
    let shown: Vec<String> = shown.iter().take(SHOWN_MAX).map(|word| shortened(word)).collect();
    let others = match hidden {
        0 => String::new(),
        count => format!(" ({} not shown)", tally(count, "other")),
    };
    let shown = if shown.is_empty() { "none for performance".into() } else { shown.join(" ") };
    Ok(shown + &others)
}

const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

/// What became of a vulnerability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Mitigated,
    Vulnerable,
    Unclear,
    NotAffected,
}

impl State {
    /// # Source
    /// `Documentation/ABI/testing/sysfs-devices-system-cpu`, and `itlb_multihit_show_state` in
    /// `arch/x86/kernel/cpu/bugs.c`, which puts the one concerned in front.
    fn of(answer: &str) -> State {
        let answer = answer.strip_prefix("KVM: ").unwrap_or(answer);
        let starts = |words: &[&str]| words.iter().any(|word| answer.starts_with(word));
        if starts(&["Not affected"]) {
            State::NotAffected
        } else if starts(&["Mitigation"]) {
            State::Mitigated
        } else if starts(&["Vulnerable", "Processor vulnerable"]) {
            State::Vulnerable
        } else {
            State::Unclear
        }
    }
}

/// Name and answer of each vulnerability that the kernel knows.
fn vulnerabilities(machine: &Machine) -> Reading<Vec<(String, String)>> {
    let names = machine.tree.list(VULNERABILITIES)?;
    let answer = |name: String| {
        let answer = machine.tree.read(&format!("{VULNERABILITIES}/{name}")).ok()?;
        Some((name, answer))
    };
    // Linux knows two dozen.
    Ok(names.into_iter().take(100).filter_map(answer).collect())
}

fn summary(all: &[(String, String)]) -> String {
    let count = |state| all.iter().filter(|(_, answer)| State::of(answer) == state).count();
    let parts = [
        (count(State::Mitigated), "mitigated"),
        (count(State::Vulnerable), "vulnerable"),
        (count(State::Unclear), "unclear"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, state)| format!("{n} {state}")).collect();
    if parts.is_empty() { "none that the kernel knows".into() } else { parts.join(", ") }
}

/// Each by name with the kernel's words, a vertical bar between them; last those that do not
/// concern this CPU.
fn each(all: &[(String, String)]) -> String {
    let (spared, concerned): (Vec<_>, Vec<_>) =
        all.iter().partition(|(_, answer)| State::of(answer) == State::NotAffected);
    let mut parts: Vec<String> =
        concerned.iter().map(|(name, answer)| format!("{name}: {answer}")).collect();
    if !spared.is_empty() {
        let names: Vec<&str> = spared.iter().map(|(name, _)| name.as_str()).collect();
        parts.push(format!("not affected: {}", names.join(", ")));
    }
    if parts.is_empty() { "none that the kernel knows".into() } else { parts.join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_parameters_are_shown() {
        for shown in ["isolcpus=1-3", "nosmt", "intel-idle.max_cstate=1", "kvm.nx_huge_pages=off"] {
            assert!(concerns_performance(shown), "{shown}");
        }
        for hidden in ["ip=10.0.0.1::host", "root=UUID=1", "idlehost=me", "kvmx", "intel_idlex=1"] {
            assert!(!concerns_performance(hidden), "{hidden}");
        }
        let sorted = SHOWN.windows(2).filter(|pair| pair[0] >= pair[1]).collect::<Vec<_>>();
        assert!(sorted.is_empty(), "out of order: {sorted:?}");
    }

    #[test]
    fn long_lists_are_cut_between_letters() {
        assert_eq!(shortened("isolcpus=1"), "isolcpus=1");
        assert_eq!(shortened(&"µ".repeat(90)).chars().count(), 83);
    }

    #[test]
    fn states_as_kernels_write_them() {
        for (answer, state) in [
            ("Mitigation: Retpolines; IBPB: conditional", State::Mitigated),
            ("KVM: Mitigation: VMX disabled", State::Mitigated),
            ("KVM: Vulnerable", State::Vulnerable),
            ("Vulnerable: Clear CPU buffers attempted, no microcode", State::Vulnerable),
            ("Processor vulnerable", State::Vulnerable),
            ("Unknown: Dependent on hypervisor status", State::Unclear),
            ("Not affected", State::NotAffected),
            ("", State::Unclear),
        ] {
            assert_eq!(State::of(answer), state, "{answer}");
        }
    }
}
