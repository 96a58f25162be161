//! Settings of the kernel that cost speed where they are otherwise than most people want them.

use model::record::FactValue;
use model::{CpuSet, Obstacle, Reading, Unavailable, Unit};

use super::fact_cache::Survey;
use super::fact_table::{FactRow, number, row, text};
use super::memory::{MEMINFO, meminfo_bytes};
use super::platform::{no_file, not_offered};
use super::{kernel, topology};
use crate::parse::folded;
use crate::ports::Machine;

/// Of facts that stay.
#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("kernel.debug_options", "Debugging of the kernel", |s| debug_options(s).map(text)),
];

/// A reading whose absence people understand better in other words; refusals keep theirs, and so do
/// files that may only not have been copied.
pub(crate) fn or_words(machine: &Machine, reading: Reading<String>, why: &str) -> Reading<String> {
    reading.map_err(|error| match error.obstacle {
        Obstacle::Permission => error,
        _ if machine.is_copied() => error,
        _ => Unavailable::new(Obstacle::Hardware, error.what, why),
    })
}

/// A file below `/proc/sys`.
pub(crate) fn of_kernel(machine: &Survey<'_>, file: &str) -> Reading<FactValue> {
    let read = machine.tree.read(&format!("/proc/sys/{file}"));
    or_words(machine, read, "the kernel was built without it").map(text)
}

/// Options that make each use of a lock, an allocation or an access of the kernel dearer.
///
/// # Source
/// Linux, `lib/Kconfig.debug`, `lib/Kconfig.kasan`, `lib/Kconfig.kcsan`, `lib/Kconfig.kmsan`, `mm/Kconfig.debug`.
const DEBUG_OPTIONS: &[&str] = &[
    "DEBUG_KMEMLEAK",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_OBJECTS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_VM",
    "GCOV_KERNEL",
    "KASAN",
    "KCOV",
    "KCSAN",
    "KMSAN",
    "LOCKDEP",
    "LOCK_STAT",
    "PROVE_LOCKING",
    "SLUB_DEBUG_ON",
];

/// Those that the kernel was built with, and does not leave off until asked.
fn debug_options(machine: &Machine) -> Reading<String> {
    let configuration = kernel::configuration(machine, "debugging of the kernel")?;
    let is_built_in = |option: &str| {
        let line = format!("CONFIG_{option}=y");
        configuration.lines().any(|found| found.trim_end() == line)
    };
    let is_on =
        |option: &&&str| is_built_in(option) && !is_built_in(&format!("{option}_DEFAULT_OFF"));
    let on: Vec<&str> = DEBUG_OPTIONS.iter().filter(is_on).copied().collect();
    Ok(if on.is_empty() { "none".to_owned() } else { on.join(", ") })
}

/// A scheduler that a BPF program brought.
///
/// # Source
/// Linux, `Documentation/scheduler/sched-ext.rst`.
pub(crate) fn sched_ext(survey: &Survey<'_>) -> Reading<FactValue> {
    const FOLDER: &str = "/sys/kernel/sched_ext";
    let path = format!("{FOLDER}/state");
    let state = survey.tree.read(&path).map_err(|error| match error.obstacle {
        Obstacle::Permission => error,
        _ => no_file(survey, "the kernel has no sched_ext", &path),
    })?;
    if state == "disabled" {
        return Ok(text("none"));
    }
    let name = survey.tree.read(&format!("{FOLDER}/root/ops")).unwrap_or(state);
    Ok(text(name))
}

/// Whether the scheduler prefers cores with a higher clock; from 6.16 on, a file of root says it.
///
/// # Source
/// Linux, `arch/x86/kernel/itmt.c`.
pub(crate) fn preferred_cores(survey: &Survey<'_>) -> Reading<FactValue> {
    let switch = survey.tree.read("/sys/kernel/debug/x86/sched_itmt_enabled");
    match switch.as_deref() {
        Ok("Y") => Ok(text("1")),
        Ok("N") => Ok(text("0")),
        _ => of_kernel(survey, "kernel/sched_itmt_enabled"),
    }
}

/// Memory whose content is on a disk, or compressed, in bytes.
///
/// # Source
/// proc_meminfo(5).
pub(crate) fn swapped(survey: &Survey<'_>) -> Reading<FactValue> {
    let meminfo = survey.tree.read(MEMINFO)?;
    let all = meminfo_bytes(&meminfo, "SwapTotal")?;
    let free = meminfo_bytes(&meminfo, "SwapFree")?;
    if free > all {
        let why = format!("`{MEMINFO}` says that more swap is free than there is");
        return Err(Unavailable::new(Obstacle::Cpudyno, "swap", why));
    }
    Ok(number(all - free, Unit::Byte))
}

/// Which isolated CPUs interrupts of devices are sent to.
///
/// # Source
/// Linux, `Documentation/core-api/irq/irq-affinity.rst`: `effective_affinity_list` is where one is sent to,
/// whatever was asked for; `Documentation/ABI/testing/sysfs-kernel-irq`: an interrupt without `actions` has no driver.
pub(crate) fn interrupts_on_isolated(survey: &Survey<'_>) -> Reading<FactValue> {
    /// As many lines as a machine with many devices has queues; a tree may be made up.
    const LINES_MAX: usize = 20_000;
    let isolated = topology::isolated(survey);
    if isolated.is_empty() {
        return Err(not_offered("no CPU is isolated", "/sys/devices/system/cpu/isolated"));
    }
    let lines = survey.tree.list("/proc/irq")?;
    let sent = |line: &String| -> Option<CpuSet> {
        line.parse::<u32>().ok()?;
        let actions = survey.tree.read(&format!("/sys/kernel/irq/{line}/actions"));
        let is_used = !actions.is_ok_and(|actions| actions.is_empty());
        let sent = survey.tree.read(&format!("/proc/irq/{line}/effective_affinity_list"));
        if is_used { sent.ok()?.parse().ok() } else { None }
    };
    let sent: Vec<CpuSet> = lines.iter().take(LINES_MAX).filter_map(sent).collect();
    if sent.is_empty() {
        let why = "`/proc/irq` does not say where interrupts are sent to";
        return Err(Unavailable::new(Obstacle::Permission, "interrupts", why));
    }
    let hit = |cpus: CpuSet| cpus.intersection(&isolated);
    let hit: Vec<String> = sent
        .into_iter()
        .map(hit)
        .filter(|cpus| !cpus.is_empty())
        .map(|it| it.to_string())
        .collect();
    let said = folded(hit.iter().map(String::as_str));
    Ok(text(if said.is_empty() { "none".to_owned() } else { format!("to CPUs {said}") }))
}

#[cfg(test)]
mod tests {
    use simulated::Files;

    use super::*;
    use crate::tests::machine_of;

    fn said(reading: Reading<FactValue>) -> Result<String, String> {
        reading.map_err(|reason| reason.why).map(|value| match value {
            FactValue::Text(text) => text,
            FactValue::Number { value, .. } => value.to_string(),
        })
    }

    #[test]
    fn options_that_are_built_in_are_named() {
        let options = |lines: &str| {
            let mut files = Files::default();
            files.put("/proc/sys/kernel/osrelease", "6.1.0");
            files.put("/boot/config-6.1.0", lines);
            debug_options(&machine_of(files, "0"))
        };
        let lines = "CONFIG_KASAN_GENERIC=y\n# CONFIG_KASAN is not set\nCONFIG_KCOV=m\nCONFIG_LOCKDEP_BITS=15\nCONFIG_DEBUG_KMEMLEAK=y\nCONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF=y";
        assert_eq!(options(lines).as_deref(), Ok("none"));
        assert_eq!(
            options("CONFIG_PROVE_LOCKING=y\nCONFIG_KASAN=y").as_deref(),
            Ok("KASAN, PROVE_LOCKING")
        );
        let mut files = Files::default();
        files.put("/proc/sys/kernel/osrelease", "6.1.0");
        assert!(debug_options(&machine_of(files, "0")).is_err(), "no configuration is no pass");
    }

    #[test]
    fn swap_that_is_used_is_all_but_what_is_free() {
        let swap = |lines: &str| {
            let mut files = Files::default();
            files.put("/proc/meminfo", lines);
            said(swapped(&Survey::new(&machine_of(files, "0"))))
        };
        assert_eq!(swap("SwapTotal: 8 kB\nSwapFree: 2 kB").as_deref(), Ok("6144"));
        assert_eq!(swap("SwapTotal: 0 kB\nSwapFree: 0 kB").as_deref(), Ok("0"));
        assert!(swap("SwapTotal: 2 kB\nSwapFree: 8 kB").unwrap_err().contains("more swap is free"));
        assert!(swap("SwapTotal: 2 kB").is_err());
    }

    #[test]
    fn a_scheduler_of_a_program_is_named() {
        let scheduler = |files: &[(&str, &str)]| {
            let mut all = Files::default();
            for (file, text) in files {
                all.put(format!("/sys/kernel/sched_ext/{file}"), *text);
            }
            said(sched_ext(&Survey::new(&machine_of(all, "0"))))
        };
        assert_eq!(scheduler(&[("state", "disabled")]).as_deref(), Ok("none"));
        assert_eq!(scheduler(&[("state", "enabled"), ("root/ops", "lavd")]).as_deref(), Ok("lavd"));
        assert_eq!(scheduler(&[("state", "enabling")]).as_deref(), Ok("enabling"));
        assert!(scheduler(&[]).is_err());
    }

    #[test]
    fn interrupts_of_drivers_that_go_to_isolated_cpus_are_named() {
        let sent = |isolated: &str, interrupts: &[(&str, &str, &str)]| {
            let mut files = Files::default();
            files.put("/sys/devices/system/cpu/online", "0-3");
            files.put("/sys/devices/system/cpu/isolated", isolated);
            files.put("/proc/irq/default_smp_affinity", "f");
            for (number, cpus, actions) in interrupts {
                files.put(format!("/proc/irq/{number}/effective_affinity_list"), *cpus);
                files.put(format!("/sys/kernel/irq/{number}/actions"), *actions);
            }
            said(interrupts_on_isolated(&Survey::new(&machine_of(files, "0-3"))))
        };
        let one = [("9", "0", "acpi"), ("24", "2-3", "eth0"), ("25", "3", "")];
        assert_eq!(sent("2-3", &one).as_deref(), Ok("to CPUs 2-3"), "25 has no driver");
        assert_eq!(sent("3", &[("9", "0", "acpi")]).as_deref(), Ok("none"));
        assert!(sent("", &one).unwrap_err().contains("no CPU is isolated"));
        assert!(sent("3", &[("9", "garbage", "acpi")]).is_err());
    }
}
