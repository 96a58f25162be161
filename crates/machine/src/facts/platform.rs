//! What surrounds the CPU: memory, hypervisor, container, firmware, the kernel's mitigations.

use model::{Obstacle, Unavailable, Unit};

use crate::ports::{Machine, Reading};
use crate::rows::{Row, number, row, text};
use crate::text::{first_number, value_of};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("memory.total", "Memory", |s| Ok(number(memory_bytes(s)?, Unit::Byte))),
    row("platform.virtualisation", "Virtualisation", |s| virtualisation(s).map(text)),
    row("platform.firmware", "Firmware", |s| firmware(s).map(text)),
    row("kernel.release", "Kernel", |s| s.tree.read("/proc/sys/kernel/osrelease").map(text)),
    row("kernel.mitigations", "Vulnerabilities", |s| mitigations(s).map(text)),
];

/// An absence because hardware or kernel do not offer it.
pub(super) fn not_offered(why: &str, path: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, format!("`{path}`"), why)
}

fn memory_bytes(machine: &Machine) -> Reading<f64> {
    let path = "/proc/meminfo";
    let meminfo = machine.tree.read(path)?;
    let total = value_of(&meminfo, "MemTotal")
        .ok_or_else(|| not_offered("`/proc/meminfo` has no line `MemTotal`", path))?;
    Ok(first_number(path, total)? * 1024.0)
}

/// Signatures of hypervisors in CPUID 4000_0000h.
///
/// # Source
/// Each hypervisor's own documentation of its CPUID leaves.
const HYPERVISORS: &[(&str, &str)] = &[
    ("KVMKVMKVM", "KVM"),
    ("VMwareVMware", "VMware"),
    ("Microsoft Hv", "Hyper-V"),
    ("XenVMMXenVMM", "Xen"),
    ("TCGTCGTCGTCG", "QEMU (emulated)"),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("bhyve bhyve", "bhyve"),
    ("ACRNACRNACRN", "ACRN"),
    ("prl hyperv", "Parallels"),
    ("lrpepyh vr", "Parallels"),
    ("QNXQVMBSQG", "QNX"),
];

/// Whether a hypervisor is known to be below; an absence of signs is no proof.
pub(crate) fn is_guest(machine: &Machine) -> bool {
    hypervisor(machine).is_ok_and(|name| name.is_some())
}

/// The hypervisor; `None` on bare metal.
fn hypervisor(machine: &Machine) -> Reading<Option<String>> {
    // CPUID 1 ECX[31] is set by hypervisors only.
    match machine.cpuid.leaf(1, 0) {
        Some(leaf) if leaf.ecx >> 31 == 0 => return Ok(None),
        Some(_) => {
            let name = machine.cpuid.leaf(0x4000_0000, 0).map(hypervisor_name);
            return Ok(Some(name.unwrap_or_else(|| "hypervisor without a name".into())));
        }
        None => {}
    }
    machine.tree.read("/sys/hypervisor/type").map(|name| Some(name.trim().into())).map_err(|_| {
        let why = "this CPU has no CPUID, and `/sys/hypervisor/type` is not there; this version \
                   knows no other sign";
        Unavailable::new(Obstacle::Cpudyno, "virtualisation", why)
    })
}

fn hypervisor_name(leaf: sys::cpuid::Leaf) -> String {
    let letters: Vec<u8> =
        [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|register| register.to_le_bytes()).collect();
    let letters = String::from_utf8_lossy(&letters);
    let letters = letters.trim_matches(['\0', ' ']);
    let known = HYPERVISORS.iter().find(|(signature, _)| *signature == letters);
    known.map_or_else(|| format!("hypervisor `{letters}`"), |(_, name)| (*name).into())
}

fn virtualisation(machine: &Machine) -> Reading<String> {
    let below = hypervisor(machine)?.unwrap_or_else(|| "none (bare metal)".into());
    let container = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"]
        .iter()
        .any(|path| machine.tree.read(path).is_ok());
    Ok(if container { format!("{below}, in a container") } else { below })
}

fn firmware(machine: &Machine) -> Reading<String> {
    let read = |file| machine.tree.read(&format!("/sys/class/dmi/id/{file}"));
    let version = read("bios_version").map_err(|error| match error.obstacle {
        Obstacle::Permission => error,
        _ => not_offered("the firmware passes no DMI table on; usual in small guests", "dmi"),
    })?;
    let vendor = read("bios_vendor").unwrap_or_default();
    Ok(format!("{vendor} {version}").trim().into())
}

fn mitigations(machine: &Machine) -> Reading<String> {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let names = machine.tree.list(folder)?;
    let states: Vec<String> = names
        .iter()
        .filter_map(|name| machine.tree.read(&format!("{folder}/{name}")).ok())
        .collect();
    let count = |start: &str| states.iter().filter(|state| state.starts_with(start)).count();
    let (mitigated, vulnerable) = (count("Mitigation"), count("Vulnerable"));
    let unclear = states.len() - mitigated - vulnerable - count("Not affected");
    let parts = [(mitigated, "mitigated"), (vulnerable, "vulnerable"), (unclear, "unclear")];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, state)| format!("{n} {state}")).collect();
    Ok(if parts.is_empty() { "none that the kernel knows".into() } else { parts.join(", ") })
}
