//! What surrounds CPU and kernel: hypervisor, container, model, firmware.

use model::{Obstacle, Unavailable};

use super::groups::flag;
use crate::ports::{Machine, Reading};
use crate::rows::{Row, row, text};
use crate::survey::Survey;
use crate::text::value_of;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("platform.virtualisation", "Virtualisation", |s| virtualisation(s).map(text)),
    row("platform.model", "Model", |s| model(s).map(text)),
    row("platform.firmware", "Firmware", |s| firmware(s).map(text)),
];

/// What helps where a hypervisor stands in the way.
pub(crate) const ON_THE_HOST: &str = "read it on the host, or measure on bare metal";

/// An absence because the hypervisor keeps something from its guest.
pub(crate) fn hidden_from_guest(what: &str) -> Unavailable {
    let why = "the hypervisor does not show it to this guest";
    Unavailable::new(Obstacle::Permission, what, why).with_remedy(ON_THE_HOST)
}

/// An absence because hardware or kernel do not offer it.
pub(super) fn not_offered(why: &str, path: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, format!("`{path}`"), why)
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

/// How vendor and product of virtual machines begin in the DMI table.
///
/// # Source
/// What each of them writes there by default.
const VIRTUAL_MODELS: &[(&str, &str)] = &[
    ("Alibaba Cloud", "KVM"),
    ("Amazon EC2", "KVM"),
    ("Apple Inc. Apple Virtualization", "Apple Virtualization"),
    ("BHYVE", "bhyve"),
    ("Google Google Compute Engine", "KVM"),
    ("KubeVirt", "KVM"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("OpenStack Foundation", "KVM"),
    ("Parallels", "Parallels"),
    ("QEMU", "QEMU or KVM"),
    ("Red Hat KVM", "KVM"),
    ("VMware", "VMware"),
    ("Xen", "Xen"),
    ("innotek GmbH VirtualBox", "VirtualBox"),
];

/// What is below the kernel.
enum Below {
    /// Nothing: bare metal.
    Hardware,
    /// A hypervisor of that name.
    Hypervisor(String),
}

const NAMELESS: &str = "hypervisor without a name";

/// Whether a hypervisor is known to be below; an absence of signs is no proof.
pub(crate) fn is_guest(machine: &Machine) -> bool {
    match by_cpuid(machine) {
        Some(below) => matches!(below, Below::Hypervisor(_)),
        None => by_files(machine).is_some(),
    }
}

fn below(survey: &Survey<'_>) -> Reading<Below> {
    if let Some(below) = by_cpuid(survey) {
        return Ok(below);
    }
    if let Some(name) = by_files(survey) {
        return Ok(Below::Hypervisor(name));
    }
    // Only x86 has flags, and there the kernel copies the bit of CPUID.
    match flag(survey, "hypervisor") {
        Some(true) => Ok(Below::Hypervisor(NAMELESS.into())),
        Some(false) => Ok(Below::Hardware),
        None => {
            let why = "nothing here names a hypervisor, and without CPUID that proves nothing";
            Err(Unavailable::new(Obstacle::Cpudyno, "virtualisation", why))
        }
    }
}

/// Nothing where the CPU has no CPUID.
///
/// # Source
/// Intel SDM volume 2A, CPUID 1: ECX\[31\] is always 0; hypervisors set it for their guests.
fn by_cpuid(machine: &Machine) -> Option<Below> {
    if machine.cpuid.leaf(1, 0)?.ecx >> 31 == 0 {
        return Some(Below::Hardware);
    }
    let name = |leaf| machine.cpuid.leaf(leaf, 0).map(hypervisor_name);
    let first = name(0x4000_0000);
    // Others offer the interface of Hyper-V to Windows first, and their own right behind it.
    let own = (first.as_deref() == Some("Hyper-V")).then(|| name(0x4000_0100)).flatten();
    let known = |own: &String| HYPERVISORS.iter().any(|(_, name)| name == own);
    let name = own.filter(known).or(first);
    Some(Below::Hypervisor(name.unwrap_or_else(|| NAMELESS.into())))
}

fn hypervisor_name(leaf: sys::cpuid::Leaf) -> String {
    let letters: Vec<u8> =
        [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|register| register.to_le_bytes()).collect();
    let letters = String::from_utf8_lossy(&letters);
    let letters = letters.trim_matches(['\0', ' ']);
    let known = HYPERVISORS.iter().find(|(signature, _)| *signature == letters);
    known.map_or_else(|| format!("hypervisor `{letters}`"), |(_, name)| (*name).into())
}

/// What the kernel, the device tree or the firmware's tables say of a hypervisor.
///
/// # Source
/// `Documentation/ABI/stable/sysfs-hypervisor-xen`; the bindings `arm,xen` and `linux,kvm` of the
/// device tree's node `hypervisor`; `arch/s390/kernel/sysinfo.c`.
fn by_files(machine: &Machine) -> Option<String> {
    let read = |path: &str| machine.tree.read(path).ok();
    if let Some(kind) = read("/sys/hypervisor/type") {
        let kind = kind.trim();
        return Some(if kind == "xen" { "Xen".into() } else { kind.into() });
    }
    if let Some(compatible) = read("/proc/device-tree/hypervisor/compatible") {
        let first = compatible.split('\0').next().unwrap_or_default();
        let known = [("linux,kvm", "KVM"), ("xen,xen", "Xen")];
        let known = known.iter().find(|(of, _)| *of == first).map(|(_, name)| (*name).into());
        return Some(known.unwrap_or_else(|| format!("hypervisor `{first}`")));
    }
    // The name of the guest is in the same file: only the program's own is taken.
    if let Some(sysinfo) = read("/proc/sysinfo")
        && let Some(program) = value_of(&sysinfo, "VM00 Control Program")
    {
        let name = program.split(' ').next().unwrap_or_default();
        return Some(name.strip_suffix("/Linux").unwrap_or(name).into());
    }
    let model = model(machine).ok()?;
    // Rented machines without a hypervisor have the same vendor.
    let whole = model.contains(".metal");
    let fits = |(start, _): &&(&str, &str)| model.starts_with(start) && !whole;
    VIRTUAL_MODELS.iter().find(fits).map(|(_, name)| (*name).into())
}

fn virtualisation(survey: &Survey<'_>) -> Reading<String> {
    if let Some(kernel) = replaced_kernel(survey) {
        return Ok(kernel.into());
    }
    let below = match below(survey)? {
        Below::Hardware => "none (bare metal)".into(),
        Below::Hypervisor(name) => name,
    };
    let controls = survey.tree.read("/proc/xen/capabilities");
    let control = controls.is_ok_and(|text| text.contains("control_d"));
    let control = if control { ", its control domain" } else { "" };
    let container = container(survey).map(|kind| format!(", in {kind}")).unwrap_or_default();
    Ok(format!("{below}{control}{container}"))
}

/// Something else than Linux that answers as Linux, or a Linux that belongs to another system.
///
/// # Source
/// gVisor, `pkg/sentry/kernel`: the constant version that it reports; Microsoft's kernels for WSL
/// carry it in their release.
fn replaced_kernel(machine: &Machine) -> Option<&'static str> {
    const GVISOR: &str = "#1 SMP Sun Jan 10 15:06:54 PST 2016";
    let of_kernel = |file| machine.tree.read(&format!("/proc/sys/kernel/{file}"));
    let release = of_kernel("osrelease").unwrap_or_default().to_ascii_lowercase();
    if release.contains("microsoft") {
        let second = release.contains("wsl2") || release.contains("microsoft-standard");
        return Some(if second { "Hyper-V, WSL 2" } else { "WSL 1 (no Linux kernel)" });
    }
    let version = of_kernel("version").unwrap_or_default();
    (version.trim() == GVISOR).then_some("gVisor (a kernel in user space)")
}

/// Files that container engines leave, and what they stand for.
const CONTAINER_FILES: &[(&str, &str)] = &[
    ("/run/.containerenv", "a Podman container"),
    ("/.dockerenv", "a Docker container"),
    ("/var/run/secrets/kubernetes.io/serviceaccount/namespace", "a Kubernetes pod"),
    ("/proc/vz/version", "an OpenVZ container"),
];

/// Parts of the paths of control groups, and what they stand for.
const CONTAINER_GROUPS: &[(&str, &str)] = &[
    ("kubepods", "a Kubernetes pod"),
    ("libpod", "a Podman container"),
    ("/docker", "a Docker container"),
    ("/lxc", "an LXC container"),
    ("containerd", "a container"),
];

fn container(machine: &Machine) -> Option<String> {
    // systemd writes what it found itself in: `docker`, `lxc`, `systemd-nspawn`.
    if let Ok(kind) = machine.tree.read("/run/systemd/container") {
        let kind = kind.trim();
        let word = |c: char| c.is_ascii_lowercase() || c == '-';
        let known = (1..=20).contains(&kind.len()) && kind.chars().all(word);
        return Some(if known { format!("a container ({kind})") } else { "a container".into() });
    }
    let file = CONTAINER_FILES.iter().find(|(path, _)| machine.tree.read(path).is_ok());
    let groups = machine.tree.read("/proc/self/cgroup").unwrap_or_default();
    let group = || CONTAINER_GROUPS.iter().find(|(part, _)| groups.contains(part));
    file.or_else(group).map(|(_, kind)| (*kind).into())
}

/// A text of the firmware's DMI table. Serial numbers and asset tags are in other files of the same
/// folder, and are not read (invariant I10).
fn dmi(machine: &Machine, file: &str) -> Reading<String> {
    let folder = "/sys/class/dmi/id";
    let path = format!("{folder}/{file}");
    let answer = machine.tree.read(&path).map_err(|error| match error.obstacle {
        Obstacle::Permission => error,
        _ if machine.tree.list(folder).is_ok() => {
            not_offered("the firmware's DMI table does not say", &path)
        }
        _ => not_offered("the firmware passes no DMI table on; usual in small guests", &path),
    })?;
    let answer = answer.trim();
    if answer.is_empty() || is_placeholder(answer) {
        return Err(not_offered("the maker left the firmware's table unfilled", &path));
    }
    Ok(answer.into())
}

/// What makers leave in the table when they do not fill it.
fn is_placeholder(answer: &str) -> bool {
    const PLACEHOLDERS: &[&str] = &[
        "Default string",
        "Not Applicable",
        "Not Specified",
        "System Product Name",
        "System manufacturer",
        "To Be Filled By O.E.M.",
        "To be filled by O.E.M.",
    ];
    PLACEHOLDERS.contains(&answer)
}

/// Vendor and product; where the maker left them unfilled, those of the board; without a table the
/// model of the device tree.
fn model(machine: &Machine) -> Reading<String> {
    let pair = |vendor, product| {
        let product = dmi(machine, product)?;
        Ok(match dmi(machine, vendor) {
            Ok(vendor) if !product.starts_with(&vendor) => format!("{vendor} {product}"),
            _ => product,
        })
    };
    pair("sys_vendor", "product_name").or_else(|reason: Unavailable| {
        let board = pair("board_vendor", "board_name").or_else(|_| dmi(machine, "sys_vendor"));
        board.or_else(|_| device_tree_model(machine).ok_or(reason))
    })
}

fn device_tree_model(machine: &Machine) -> Option<String> {
    let model = machine.tree.read("/proc/device-tree/model").ok()?;
    let model = model.trim_matches(['\0', ' ', '\n']);
    (!model.is_empty()).then(|| model.into())
}

/// Vendor, version and date.
fn firmware(machine: &Machine) -> Reading<String> {
    let version = dmi(machine, "bios_version")?;
    let vendor = dmi(machine, "bios_vendor").map(|vendor| vendor + " ").unwrap_or_default();
    let date = dmi(machine, "bios_date").map(|date| format!(" ({date})")).unwrap_or_default();
    Ok(format!("{vendor}{version}{date}"))
}
