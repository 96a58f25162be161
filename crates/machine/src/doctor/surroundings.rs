//! What stands around the process: clock, hypervisor, container, filters, locks, rights.

use model::{Obstacle, Reading, Unavailable};

use super::{Survey, not_permitted, said_elsewhere, surroundings};
use crate::facts::fact_table::{FactRow, row, text};
use crate::facts::{self, Ground, TimeStampCounter};
use crate::parse::value_of;
use crate::permissions::Question;
use crate::ports::Machine;
use crate::probes::{MOUNT_PROC, setcap};

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("clock", "Clock of constant rate", |s| clock(s).map(text)),
    row("virtualisation", "Virtualisation", |s| virtualisation(s).map(text)),
    row("container", "Container", |s| container(s).map(text)),
    row("seccomp", "Free of call filters (seccomp)", |s| seccomp(s).map(text)),
    row("lockdown", "Kernel lockdown", |s| lockdown(s).map(text)),
    row("capabilities", "Rights (capabilities)", |s| capabilities(s).map(text)),
];

fn clock(survey: &Survey<'_>) -> Reading<String> {
    survey.cpuinfo()?;
    let used = said_elsewhere(survey, "clocksource")
        .map_or_else(|_| String::new(), |source| format!("; the kernel's clock is `{source}`"));
    let why = match facts::time_stamp_counter(survey) {
        TimeStampCounter::None => return Ok(format!("generic timer{used}")),
        TimeStampCounter::Invariant => return Ok(format!("TSC, invariant{used}")),
        unproven => unproven.why(),
    };
    Err(match survey.ground() {
        Ground::Guest => {
            let remedy = "announce it on the host (QEMU with KVM: `-cpu host,+invtsc`)";
            not_permitted(format!("{why}: the hypervisor does not pass it on"), remedy)
        }
        Ground::Emulator => {
            let why = format!("{why}: QEMU emulates one of its own");
            not_permitted(why, "have QEMU use KVM, where its host has it")
        }
        Ground::Machine => Unavailable::new(Obstacle::Hardware, "", why),
    })
}

fn virtualisation(survey: &Survey<'_>) -> Reading<String> {
    let below = said_elsewhere(survey, "platform.virtualisation")?;
    let guest = survey.is_guest();
    let hides =
        "; it decides on clock, idle states and placement, and on what this guest sees of them";
    Ok(format!("{below}{}", if guest { hides } else { "" }))
}

fn container(survey: &Survey<'_>) -> Reading<String> {
    let here = surroundings(survey);
    let namespace = here.in_user_namespace();
    Ok(match (facts::container(&*survey.tree), namespace) {
        (Some(kind), true) => format!("{kind}, without rights outside of its user namespace"),
        (Some(kind), false) => kind,
        (None, true) => "none, but a user namespace: its root has no rights outside".into(),
        // Files alone, without those of a process, cannot tell.
        (None, false)
            if ["uid_map", "cgroup"]
                .iter()
                .all(|file| survey.tree.read(&format!("/proc/self/{file}")).is_err()) =>
        {
            let why = "no file here says whether this is a container";
            return Err(Unavailable::new(Obstacle::Cpudyno, "", why));
        }
        (None, false) => "none".into(),
    })
}

/// A file about this process, and the line of that name.
fn status(machine: &Machine, key: &str) -> Reading<String> {
    let path = "/proc/self/status";
    let status = machine.tree.read(path).map_err(|reason| {
        if machine.is_copied() {
            return facts::no_file(machine, "", path);
        }
        Unavailable { obstacle: Obstacle::Permission, remedy: Some(MOUNT_PROC.into()), ..reason }
    })?;
    value_of(&status, key).map(String::from).ok_or_else(|| {
        let why = format!("`{path}` has no line `{key}`");
        if machine.is_copied() {
            return Unavailable::new(Obstacle::Cpudyno, "", why);
        }
        let why = format!("{why}: the kernel was built without it");
        not_permitted(why, "boot a kernel with CONFIG_SECCOMP_FILTER")
    })
}

fn seccomp(survey: &Survey<'_>) -> Reading<String> {
    match status(survey, "Seccomp")?.as_str() {
        "0" => return Ok("no filter".into()),
        "2" => {}
        mode => {
            let why = format!("`/proc/self/status` says `Seccomp: {mode}`");
            return Err(Unavailable::new(Obstacle::Cpudyno, "", why));
        }
    }
    let refused = |question: &&Question| {
        survey.permits.ask(**question).is_err_and(|reason| reason.why.contains("seccomp filter"))
    };
    let refused: Vec<&str> =
        Question::ALL.iter().filter(refused).map(|question| question.name()).collect();
    if refused.is_empty() {
        return Ok("a filter is active; it refused nothing that was tried".into());
    }
    Err(not_permitted(
        format!("a filter of system calls is active; it refused: {}", refused.join(", ")),
        "run outside of the sandbox; in a container: `docker run --security-opt \
         seccomp=unconfined` (podman takes the same)",
    ))
}

const SECURITY: &str = "/sys/kernel/security";

/// The mode in brackets: `none [integrity] confidentiality`.
fn chosen(modes: &str) -> &str {
    let mode = modes.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    mode.map_or(modes.trim(), |(mode, _)| mode)
}

/// Why no register of this machine can be written, where the kernel is locked down.
///
/// # Source
/// kernel_lockdown(7), and `lockdown=` in `Documentation/admin-guide/kernel-parameters.txt`.
pub fn locked_registers(machine: &Machine) -> Option<Unavailable> {
    let file = format!("{SECURITY}/lockdown");
    let by_file = machine.tree.read(&file).map(|modes| (chosen(&modes).to_owned(), file));
    let by_line = || {
        let line = machine.tree.read("/proc/cmdline").ok()?;
        let mode = line.split_whitespace().find_map(|word| word.strip_prefix("lockdown="))?;
        Some((mode.to_owned(), "/proc/cmdline".to_owned()))
    };
    // Where its folder is there without the file, this kernel has no lock, whatever its line says.
    let is_mounted = machine.tree.list(SECURITY).is_ok_and(|files| !files.is_empty());
    let (mode, source) = by_file.ok().or_else(|| if is_mounted { None } else { by_line() })?;
    let locks = ["integrity", "confidentiality"].contains(&mode.as_str());
    let why =
        format!("the kernel is locked down (`{source}` says {mode}): registers cannot be written");
    locks.then(|| not_permitted(why, "boot without `lockdown=`, and without Secure Boot"))
}

/// # Source
/// kernel_lockdown(7): `integrity` keeps user space from changing the kernel, `confidentiality`
/// also from reading it. Reading MSRs is refused by neither (`arch/x86/kernel/msr.c`).
fn lockdown(survey: &Survey<'_>) -> Reading<String> {
    /// The efivarfs name of the variable of the UEFI specification, section 3.3.
    const SECURE_BOOT: &str =
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    let boot = match survey.tree.read(SECURE_BOOT) {
        // Four bytes of attributes, one of value.
        Ok(bytes) if bytes.ends_with('\u{1}') => "; Secure Boot is on",
        Ok(_) => "; Secure Boot is off",
        Err(_) => "",
    };
    let Ok(modes) = survey.tree.read(&format!("{SECURITY}/lockdown")) else {
        let systems = survey.tree.read("/proc/filesystems");
        let mounted = survey.tree.list(SECURITY).is_ok_and(|names| !names.is_empty());
        let Some(systems) = systems.ok().or_else(|| mounted.then(String::new)) else {
            let why = format!("neither `{SECURITY}` nor `/proc/filesystems` can be read");
            return Err(Unavailable::new(Obstacle::Cpudyno, "", why));
        };
        if mounted || !systems.contains("securityfs") {
            return Ok(format!("none: the kernel was built without it{boot}"));
        }
        return Err(not_permitted(
            format!("`{SECURITY}` is not mounted, so the mode is unknown{boot}"),
            format!("`sudo mount -t securityfs securityfs {SECURITY}`"),
        ));
    };
    let mode = chosen(&modes);
    let refuses = match mode {
        "none" => "",
        "integrity" => ": registers can be read, never written",
        _ => ": registers can be read, never written; the kernel's memory is not shown",
    };
    Ok(format!("{mode}{refuses}{boot}"))
}

/// # Source
/// capabilities(7): the numbers; proc_pid_status(5): `CapEff`.
fn capabilities(survey: &Survey<'_>) -> Reading<String> {
    const WANTED: &[(u32, &str)] = &[
        (38, "CAP_PERFMON"),
        (21, "CAP_SYS_ADMIN"),
        (17, "CAP_SYS_RAWIO"),
        (23, "CAP_SYS_NICE"),
        (14, "CAP_IPC_LOCK"),
    ];
    let effective = status(survey, "CapEff")?;
    let mask = u64::from_str_radix(&effective, 16).map_err(|_| {
        let why = format!("`/proc/self/status` says `CapEff: {effective}`");
        Unavailable::new(Obstacle::Cpudyno, "", why)
    })?;
    let here = surroundings(survey);
    let held: Vec<&str> =
        WANTED.iter().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, name)| *name).collect();
    if here.in_user_namespace() && !held.is_empty() {
        let why = format!("{} hold only inside of this user namespace", held.join(", "));
        return Err(not_permitted(why, "run as root outside of it (a rootless container?)"));
    }
    if held.is_empty() {
        let why = "this process holds none of CAP_PERFMON, CAP_SYS_RAWIO, CAP_SYS_NICE";
        let given = setcap("cap_perfmon,cap_sys_rawio,cap_sys_nice");
        return Err(not_permitted(why, format!("run as root, or {given}")));
    }
    Ok(held.join(", "))
}
