//! What stands around the process: clock, hypervisor, container, filters, locks, rights.

use model::{Obstacle, Unavailable};

use super::{Survey, not_permitted, said_elsewhere, surroundings};
use crate::attempts::setcap;
use crate::facts::{self, flag};
use crate::permits::Question;
use crate::ports::{Machine, Reading};
use crate::rows::{Row, row, text};
use crate::text::value_of;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("clock", "Clock of constant rate", |s| clock(s).map(text)),
    row("virtualisation", "Virtualisation", |s| virtualisation(s).map(text)),
    row("container", "Container", |s| container(s).map(text)),
    row("seccomp", "Free of call filters (seccomp)", |s| seccomp(s).map(text)),
    row("lockdown", "Kernel lockdown", |s| lockdown(s).map(text)),
    row("capabilities", "Rights (capabilities)", |s| capabilities(s).map(text)),
];

/// # Source
/// Intel SDM volume 3B, 18.17.1 "Invariant TSC": CPUID 8000_0007h EDX\[8\]; the kernel's flags
/// `constant_tsc` and `nonstop_tsc` say the same in two words.
fn clock(survey: &Survey<'_>) -> Reading<String> {
    survey.cpuinfo()?;
    let has = |name| flag(survey, name).unwrap_or(false);
    let invariant = survey.cpuid.leaf(0x8000_0007, 0).map(|leaf| leaf.edx >> 8 & 1 == 1);
    let used = said_elsewhere(survey, "clocksource")
        .map_or_else(|_| String::new(), |source| format!("; the kernel's clock is `{source}`"));
    if flag(survey, "constant_tsc").is_none() {
        return Ok(format!("generic timer{used}"));
    }
    if invariant.unwrap_or(has("nonstop_tsc")) && has("constant_tsc") {
        return Ok(format!("TSC, invariant{used}"));
    }
    if has("constant_tsc") {
        return Ok(format!("TSC of constant rate, not announced as invariant{used}"));
    }
    let why = "the TSC is not announced to run at a constant rate";
    Err(if survey.is_guest() {
        let remedy = "announce it on the host (QEMU: `-cpu host,+invtsc`)";
        not_permitted(format!("{why}: the hypervisor does not pass it on"), remedy)
    } else {
        Unavailable::new(Obstacle::Hardware, "", why)
    })
}

fn virtualisation(survey: &Survey<'_>) -> Reading<String> {
    let below = said_elsewhere(survey, "platform.virtualisation")?;
    let guest = survey.is_guest();
    let hides = "; it decides on clock, idle states and placement, and shows what it likes";
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
    let status = machine.tree.read(path).map_err(|reason| Unavailable {
        obstacle: Obstacle::Permission,
        remedy: Some("`sudo mount -t proc proc /proc`".into()),
        ..reason
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

/// # Source
/// kernel_lockdown(7): `integrity` keeps user space from changing the kernel, `confidentiality`
/// also from reading it. Reading MSRs is refused by neither (`arch/x86/kernel/msr.c`).
fn lockdown(survey: &Survey<'_>) -> Reading<String> {
    const SECURITY: &str = "/sys/kernel/security";
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
            let why = format!("neither `{SECURITY}` nor `/proc/filesystems` is here to tell");
            return Err(Unavailable::new(Obstacle::Cpudyno, "", why));
        };
        if mounted || !systems.contains("securityfs") {
            return Ok(format!("none: the kernel was built without it{boot}"));
        }
        return Err(not_permitted(
            format!("`{SECURITY}` is not mounted: it cannot be told{boot}"),
            format!("`sudo mount -t securityfs securityfs {SECURITY}`"),
        ));
    };
    let mode = modes.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let mode = mode.map_or(modes.trim(), |(mode, _)| mode);
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
