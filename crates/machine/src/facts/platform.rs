//! What surrounds CPU and kernel: hypervisor, container, model, firmware.

use model::record::ROOT_PARTITION;
use model::{Obstacle, Reading, Unavailable};

use super::cpu::brand_by_cpuid;
use super::cpuinfo::Architecture;
use super::groups::flag;
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::parse::value_of;
use crate::ports::{Machine, Tree};

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("platform.virtualisation", "Virtualisation", |s| virtualisation(s).map(text)),
    row("platform.model", "Model", |s| model(s).map(text)),
    row("platform.firmware", "Firmware", |s| firmware(s).map(text)),
];

/// What helps where a hypervisor stands in the way.
pub(crate) const ON_THE_HOST: &str = "read it on the host, or measure on bare metal";

/// An absence because the hypervisor keeps something from its guest, unless somebody chose which files there are.
pub(crate) fn hidden_from_guest(machine: &Machine, what: &str) -> Unavailable {
    if machine.is_copied() {
        return Unavailable::new(Obstacle::Cpudyno, what, "none of these files says it");
    }
    let why = "the hypervisor does not show it to this guest";
    Unavailable::new(Obstacle::Permission, what, why).with_remedy(ON_THE_HOST)
}

/// An absence because hardware or kernel do not offer it.
pub(super) fn not_offered(why: &str, path: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, format!("`{path}`"), why)
}

/// That no file says it: the kernel's doing, or the hardware's, for that reason, unless somebody chose which files there
/// are.
pub(crate) fn no_file(machine: &Machine, why: &str, path: &str) -> Unavailable {
    if machine.is_copied() {
        let why = format!("there is no `{path}` among these files");
        return Unavailable::new(Obstacle::Cpudyno, format!("`{path}`"), why);
    }
    not_offered(why, path)
}

/// QEMU where it executes the instructions itself, without KVM.
const EMULATED: &str = "QEMU (emulated)";

/// Signatures of hypervisors in CPUID 4000_0000h.
///
/// # Source
/// Each hypervisor's own documentation of its CPUID leaves.
const HYPERVISORS: &[(&str, &str)] = &[
    ("KVMKVMKVM", "KVM"),
    ("VMwareVMware", "VMware"),
    ("Microsoft Hv", "Hyper-V"),
    ("XenVMMXenVMM", "Xen"),
    ("TCGTCGTCGTCG", EMULATED),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("bhyve bhyve", "bhyve"),
    ("ACRNACRNACRN", "ACRN"),
    ("prl hyperv", "Parallels"),
    ("lrpepyh vr", "Parallels"),
    ("QNXQVMBSQG", "QNX"),
    ("Linux KVM Hv", "KVM"),
    ("Jailhouse", "Jailhouse"),
    ("HAXMHAXMHAXM", "HAXM"),
    ("UnisysSpar64", "Unisys s-Par"),
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
    ("DigitalOcean Droplet", "KVM"),
    ("FreeBSD BHYVE", "bhyve"),
    ("Google Google Compute Engine", "KVM"),
    ("Hetzner vServer", "KVM"),
    ("KubeVirt", "KVM"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("Nutanix AHV", "KVM"),
    ("OpenStack Foundation", "KVM"),
    ("Parallels", "Parallels"),
    ("QEMU", "QEMU or KVM"),
    ("Red Hat KVM", "KVM"),
    ("Red Hat RHEV", "KVM"),
    ("VMware", "VMware"),
    ("Xen", "Xen"),
    ("innotek GmbH", "VirtualBox"),
    ("Oracle Corporation VirtualBox", "VirtualBox"),
    ("linux,dummy-virt", "QEMU or KVM"),
    ("oVirt", "KVM"),
    ("riscv-virtio", "QEMU or KVM"),
];

/// Who makes firmware, boards and chassis of virtual machines alone, by the beginning of the name.
///
/// # Source
/// What each of them writes there by default.
const VIRTUAL_MAKERS: &[(&str, &str)] = &[
    ("BHYVE", "bhyve"),
    ("Bochs", "Bochs or QEMU"),
    ("EFI Development Kit II / OVMF", "QEMU or KVM"),
    ("Parallels", "Parallels"),
    ("QEMU", "QEMU or KVM"),
    ("SeaBIOS", "QEMU or KVM"),
    ("VMware", "VMware"),
    ("Xen", "Xen"),
    ("innotek GmbH", "VirtualBox"),
];

/// How lines of the list of PCI devices begin that only virtual machines have: vendor and device.
///
/// # Source
/// The PCI ID repository, `pci.ids`; the columns of `/proc/bus/pci/devices` are made in the kernel's
/// `drivers/pci/proc.c`.
const VIRTUAL_DEVICES: &[(&str, &str)] = &[
    ("12341111", "QEMU or KVM"),
    ("14145353", "Hyper-V"),
    ("15ad0405", "VMware"),
    ("15ad0740", "VMware"),
    ("1ab8", "Parallels"),
    ("1b36", "QEMU or KVM"),
    ("58530001", "Xen"),
    ("80ee", "VirtualBox"),
    ("fb5d", "bhyve"),
];

/// What is below the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Below {
    /// Nothing: bare metal.
    Hardware,
    /// A hypervisor of that name.
    Hypervisor(String),
    /// A hypervisor that leaves the machine to this kernel: registers are real here.
    Root(&'static str),
}

const NAMELESS: &str = "hypervisor without a name";

/// Whether a hypervisor is known to be below, and keeps the machine; an absence of signs is no
/// proof.
pub fn is_guest(machine: &Machine) -> bool {
    Survey::new(machine).is_guest()
}

/// What the kernel runs on, as far as there are signs: remedies depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// Nothing shows a hypervisor that keeps the machine.
    Machine,
    /// A hypervisor.
    Guest,
    /// A program that executes every instruction itself: nothing of the host can be passed on.
    Emulator,
}

pub(crate) fn ground(survey: &Survey<'_>) -> Ground {
    match below(survey) {
        Ok(Below::Hypervisor(name)) if name.starts_with(EMULATED) => Ground::Emulator,
        Ok(Below::Hypervisor(_)) => Ground::Guest,
        Ok(Below::Hardware | Below::Root(_)) | Err(_) => Ground::Machine,
    }
}

/// Why it is not known what the kernel runs on, where that is so.
pub(super) fn unknown_ground(survey: &Survey<'_>) -> Option<Unavailable> {
    below(survey).err()
}

/// What CPUID announces, held against what other files show: one bit that is not set proves nothing
/// against them.
fn below(survey: &Survey<'_>) -> Reading<Below> {
    let announced = by_cpuid(survey);
    let denied = announced == Some(Below::Hardware);
    let sign = by_files(survey, denied);
    match (announced, sign) {
        (Some(Below::Hypervisor(name)), sign) => Ok(Below::Hypervisor(reconciled(name, sign))),
        // A virtual machine that is the root partition of its own Hyper-V has nothing real either.
        (Some(Below::Root(name)), Some(Sign { name: shown, source })) => {
            let name = format!("{shown} (by {source}; CPUID shows a root partition of {name})");
            Ok(Below::Hypervisor(name))
        }
        (Some(root @ Below::Root(_)), None) => Ok(root),
        (Some(Below::Hardware) | None, Some(sign)) => {
            Ok(Below::Hypervisor(unannounced(survey, denied, sign)))
        }
        (Some(Below::Hardware) | None, None) => without_signs(survey, denied),
    }
}

/// Only x86 has flags, and there the kernel copies the bit of CPUID: where both are at hand they
/// can differ in a recording alone.
fn flag_of_kernel(survey: &Survey<'_>, denied: bool) -> Option<bool> {
    let may_differ = !denied || survey.elsewhere.is_some();
    if may_differ { flag(survey, "hypervisor") } else { None }
}

/// The name of a hypervisor that CPUID does not announce, with who hides it.
fn unannounced(survey: &Survey<'_>, denied: bool, Sign { name, source }: Sign) -> String {
    match (denied, flag_of_kernel(survey, denied)) {
        (true, _) => format!("{name} (by {source}; CPUID hides it)"),
        (false, Some(false)) => format!("{name} (by {source}; the CPU's list of flags hides it)"),
        (false, _) => name,
    }
}

/// What is below where no file shows a hypervisor, and CPUID announces none.
fn without_signs(survey: &Survey<'_>, denied: bool) -> Reading<Below> {
    match flag_of_kernel(survey, denied) {
        Some(true) if denied => {
            let name = format!("{NAMELESS} (by the flag `hypervisor`; CPUID hides it)");
            Ok(Below::Hypervisor(name))
        }
        Some(true) => Ok(Below::Hypervisor(NAMELESS.into())),
        _ if denied => match model(survey).ok().filter(|model| rents_metal(model)) {
            Some(model) => {
                let why = format!(
                    "CPUID announces no hypervisor, and whole machines and parts of them are both rented as \
                     `{model}`"
                );
                Err(Unavailable::new(Obstacle::Cpudyno, "virtualisation", why))
            }
            None => Ok(Below::Hardware),
        },
        Some(false) if is_described(survey) => Ok(Below::Hardware),
        Some(false) => {
            let why = "the CPU has no flag `hypervisor`, and neither a DMI table nor a list of PCI \
                       devices is here to confirm that there is none";
            Err(Unavailable::new(Obstacle::Cpudyno, "virtualisation", why))
        }
        // The kernel's `arch/powerpc/platforms/powernv/setup.c`: it runs on the bare machine.
        None if cpuinfo(survey, "platform") == "PowerNV" => Ok(Below::Hardware),
        None => {
            let why = "nothing here names a hypervisor, and without CPUID that proves nothing";
            Err(Unavailable::new(Obstacle::Cpudyno, "virtualisation", why))
        }
    }
}

/// The name that a hypervisor gives itself in CPUID, with the one that files show where that is
/// another one; the files' alone where CPUID has none.
fn reconciled(name: String, sign: Option<Sign>) -> String {
    let Some(Sign { name: shown, source }) = sign else { return name };
    let is_known = HYPERVISORS.iter().any(|(_, known)| *known == name);
    // Others offer the interfaces of these two to their guests.
    let is_borrowed = match name.as_str() {
        "Hyper-V" => shown != name,
        "KVM" => ["VirtualBox", "Parallels"].contains(&shown.as_str()),
        _ => false,
    };
    // QEMU writes its own name into tables that it makes for KVM, Xen and others.
    let by_qemu = |name: &str| name.contains("QEMU");
    let are_one = name == shown || by_qemu(&shown) || by_qemu(&name) && shown == "KVM";
    match (is_known, is_borrowed, are_one) {
        (false, ..) => shown,
        (_, true, _) => format!("{shown} (by {source}; CPUID shows the interface of {name})"),
        (.., true) => name,
        (.., false) => format!("{name} (by CPUID; {source} says {shown})"),
    }
}

/// Whether files are here that would show a hypervisor.
fn is_described(machine: &Machine) -> bool {
    model(machine).is_ok() || machine.tree.read(PCI_DEVICES).is_ok()
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
    let own = own.filter(known);
    if own.is_none() && first.as_deref() == Some("Hyper-V") && is_root_partition(machine) {
        return Some(Below::Root("Hyper-V"));
    }
    Some(Below::Hypervisor(own.or(first).unwrap_or_else(|| NAMELESS.into())))
}

/// # Source
/// Microsoft, Hypervisor Top Level Functional Specification, HV_PARTITION_PRIVILEGE_MASK in CPUID
/// 4000_0003h: EBX\[0\] CreatePartitions, \[12\] CpuManagement, \[22\] Isolation; the kernel's
/// `arch/x86/kernel/cpu/mshyperv.c` takes the first two without the third for the root partition.
fn is_root_partition(machine: &Machine) -> bool {
    const OF_ROOT: u32 = 1 | 1 << 12;
    const ISOLATION: u32 = 1 << 22;
    let privileges = machine.cpuid.leaf(0x4000_0003, 0).map_or(0, |leaf| leaf.ebx);
    privileges & (OF_ROOT | ISOLATION) == OF_ROOT
}

fn hypervisor_name(leaf: sys::cpuid::Leaf) -> String {
    let letters: Vec<u8> =
        [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|register| register.to_le_bytes()).collect();
    let letters = String::from_utf8_lossy(&letters);
    let letters = letters.trim_matches(['\0', ' ']);
    if letters.is_empty() {
        return NAMELESS.into();
    }
    let known = HYPERVISORS.iter().find(|(signature, _)| *signature == letters);
    known.map_or_else(|| format!("hypervisor `{letters}`"), |(_, name)| (*name).into())
}

/// A hypervisor that a file shows.
struct Sign {
    name: String,
    /// In words.
    source: &'static str,
}

/// What the kernel, the device tree, the firmware's tables or the devices say of a hypervisor;
/// `denied`: CPUID announces none.
fn by_files(survey: &Survey<'_>, denied: bool) -> Option<Sign> {
    let sign = |source| move |name| Sign { name, source };
    by_kernel(survey)
        .or_else(|| by_firmware(survey))
        .map(sign("the kernel"))
        .or_else(|| by_tables(survey, denied).map(sign("the DMI table")))
        .or_else(|| by_devices(survey).map(sign("a PCI device")))
        .or_else(|| by_brand(survey).map(sign("the CPU's name")))
}

/// # Source
/// `Documentation/ABI/stable/sysfs-hypervisor-xen`; the bindings `arm,xen` and `linux,kvm` of the
/// device tree's node `hypervisor`; `arch/s390/kernel/sysinfo.c`.
fn by_kernel(machine: &Machine) -> Option<String> {
    let read = |path: &str| machine.tree.read(path).ok();
    if let Some(kind) = read("/sys/hypervisor/type") {
        let kind = kind.trim();
        return Some(if kind == "xen" { "Xen".into() } else { kind.into() });
    }
    if let Some(compatible) = read("/proc/device-tree/hypervisor/compatible") {
        let first = compatible.split('\0').next().unwrap_or_default();
        // Xen puts its version first: `xen,xen-4.17`.
        let known = [("linux,kvm", "KVM"), ("xen,xen", "Xen"), ("vmware", "VMware")];
        let known = known.iter().find(|(start, _)| first.starts_with(start));
        let known = known.map(|(_, name)| (*name).into());
        return Some(known.unwrap_or_else(|| format!("hypervisor `{first}`")));
    }
    if read("/proc/xen/capabilities").is_some() {
        return Some("Xen".into());
    }
    // The name of the guest is in the same file: only the program's own is taken.
    let sysinfo = read("/proc/sysinfo")?;
    match value_of(&sysinfo, "VM00 Control Program") {
        Some(program) => {
            let name = program.split(' ').next().unwrap_or_default();
            Some(name.strip_suffix("/Linux").unwrap_or(name).into())
        }
        None => value_of(&sysinfo, "LPAR Number").map(|_| "PR/SM, a logical partition".into()),
    }
}

/// Hypervisors that are part of the firmware, and show themselves to other architectures than x86.
///
/// # Source
/// Power Architecture Platform Reference, `ibm,partition-name`: the node `/` of a partition has it;
/// the kernel's `arch/powerpc/platforms/pseries/setup.c` for QEMU's machine, QEMU's `hw/arm/virt.c` and
/// `hw/riscv/virt.c` for what its device trees are compatible with, and
/// `arch/sparc/kernel/cpu.c`: `type : sun4v` is a machine below a hypervisor.
fn by_firmware(survey: &Survey<'_>) -> Option<String> {
    if cpuinfo(survey, "machine").contains("emulated by qemu") {
        return Some("QEMU or KVM".into());
    }
    if survey.tree.read("/proc/device-tree/ibm,partition-name").is_ok() {
        return Some("PowerVM".into());
    }
    let compatible = survey.tree.read("/proc/device-tree/compatible").unwrap_or_default();
    if compatible.split('\0').any(|name| ["linux,dummy-virt", "riscv-virtio"].contains(&name)) {
        return Some("QEMU or KVM".into());
    }
    if has_firmware_device(survey) {
        return Some("QEMU or KVM".into());
    }
    (cpuinfo(survey, "type") == "sun4v").then(|| "sun4v hypervisor".into())
}

/// The device by which QEMU, and those that took it over, hand their tables to firmware: it is there
/// whether a device tree or ACPI describes the machine.
///
/// # Source
/// The kernel's `drivers/firmware/qemu_fw_cfg.c` and the binding `qemu,fw-cfg-mmio`; QEMU's
/// `docs/specs/fw_cfg.rst` for its ACPI name, QEMU0002.
fn has_firmware_device(machine: &Machine) -> bool {
    let begins = |folder: &str, start: &str| {
        let names = machine.tree.list(folder).unwrap_or_default();
        names.iter().any(|name| name.starts_with(start))
    };
    // The folder is there wherever the driver is loaded, this file where it found the device.
    machine.tree.read("/sys/firmware/qemu_fw_cfg/rev").is_ok()
        || begins("/proc/device-tree", "fw-cfg@")
        || begins("/sys/bus/acpi/devices", "QEMU0002")
}

/// A line of `/proc/cpuinfo` of other architectures than x86; empty where there is none.
fn cpuinfo<'a>(survey: &'a Survey<'_>, key: &str) -> &'a str {
    match survey.architecture() {
        Some(Architecture::Power | Architecture::Sparc) => {
            survey.cpuinfo().ok().and_then(|cpuinfo| cpuinfo.first(key)).unwrap_or_default()
        }
        _ => "",
    }
}

/// The names that QEMU gives its own models of CPUs, the first to what it executes itself.
fn by_brand(survey: &Survey<'_>) -> Option<String> {
    const STARTS: &[(&str, &str)] = &[
        ("QEMU TCG ", EMULATED),
        ("QEMU ", "QEMU or KVM"),
        ("Common KVM", "QEMU or KVM"),
        ("Common 32-bit KVM", "QEMU or KVM"),
    ];
    let listed = || Some(survey.cpuinfo().ok()?.first("model name")?.to_owned());
    let brand = brand_by_cpuid(survey).or_else(listed)?;
    let known = STARTS.iter().find(|(start, _)| brand.starts_with(start));
    known.map(|(_, name)| (*name).into())
}

/// Whether a machine of that model may be a whole one that is rented, or a part of one.
fn rents_metal(model: &str) -> bool {
    const RENT_METAL: &[&str] = &["Alibaba Cloud", "Google"];
    !model.contains(".metal") && RENT_METAL.iter().any(|vendor| model.starts_with(vendor))
}

/// By the model of the machine, else by who wrote its firmware.
fn by_tables(machine: &Machine, denied: bool) -> Option<String> {
    let model = model(machine).unwrap_or_default();
    if model.contains(".metal") || denied && rents_metal(&model) {
        return None;
    }
    let fits = |text: &str| {
        VIRTUAL_MODELS.iter().find(|(start, _)| text.starts_with(start)).map(|(_, name)| *name)
    };
    let by_maker = |file: &str| {
        let vendor = dmi(machine, file).ok()?;
        let maker = VIRTUAL_MAKERS.iter().find(|(start, _)| vendor.starts_with(start));
        maker.map(|(_, name)| *name)
    };
    let of_parts =
        || ["bios_vendor", "board_vendor", "chassis_vendor"].into_iter().find_map(by_maker);
    fits(&model).or_else(of_parts).map(String::from)
}

const PCI_DEVICES: &str = "/proc/bus/pci/devices";

fn by_devices(machine: &Machine) -> Option<String> {
    let devices = machine.tree.read(PCI_DEVICES).ok()?;
    let numbers = || devices.lines().filter_map(|line| line.split_whitespace().nth(1));
    let is_there = |(start, _): &&(&str, &str)| numbers().any(|number| number.starts_with(start));
    VIRTUAL_DEVICES.iter().find(is_there).map(|(_, name)| (*name).into())
}

fn virtualisation(survey: &Survey<'_>) -> Reading<String> {
    if let Some(kernel) = replaced_kernel(survey) {
        return Ok(kernel.into());
    }
    let below = match below(survey)? {
        Below::Hardware => "none (bare metal)".into(),
        Below::Hypervisor(name) => name,
        Below::Root(name) => format!("{name}{ROOT_PARTITION}"),
    };
    let controls = survey.tree.read("/proc/xen/capabilities");
    let control = controls.is_ok_and(|text| text.contains("control_d"));
    let control = if control { ", its control domain" } else { "" };
    let container = container(&*survey.tree).map(|kind| format!(", in {kind}")).unwrap_or_default();
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
    ("docker", "a Docker container"),
    ("lxc", "an LXC container"),
    ("containerd", "a container"),
];

/// Whether this process is in a container.
pub(crate) fn is_contained(tree: &dyn Tree) -> bool {
    container(tree).is_some()
}

/// The kind of container that this process is in, in words; `None`: nothing says that it is in one.
pub(crate) fn container(tree: &dyn Tree) -> Option<String> {
    // systemd writes what it found itself in: `docker`, `lxc`, `systemd-nspawn`.
    if let Ok(kind) = tree.read("/run/systemd/container") {
        let kind = kind.trim();
        let word = |c: char| c.is_ascii_lowercase() || c == '-';
        let known = (1..=20).contains(&kind.len()) && kind.chars().all(word);
        return Some(if known { format!("a container ({kind})") } else { "a container".into() });
    }
    let file = CONTAINER_FILES.iter().find(|(path, _)| tree.read(path).is_ok());
    let groups = tree.read("/proc/self/cgroup").unwrap_or_default();
    // Services of engines are no containers.
    let names = || groups.split(['/', '\n']).filter(|name| !name.ends_with(".service"));
    let is_in = |part: &str| {
        names().any(|name| name.starts_with(part) || name.contains(&format!("-{part}")))
    };
    let group = || CONTAINER_GROUPS.iter().find(|(part, _)| is_in(part));
    let known = file.or_else(group).map(|(_, kind)| (*kind).into());
    known.or_else(|| shows_files_of_lxcfs(tree).then(|| "an LXC container".into()))
}

/// Whether files of `/proc` or `/sys` are those of a file system that shows a container's share of
/// them.
fn shows_files_of_lxcfs(tree: &dyn Tree) -> bool {
    let mounts = tree.read("/proc/self/mountinfo").or_else(|_| tree.read("/proc/mounts"));
    let is_over = |line: &str| {
        line.contains(" fuse.lxcfs ") && [" /proc/", " /sys/"].iter().any(|at| line.contains(at))
    };
    mounts.is_ok_and(|mounts| mounts.lines().any(is_over))
}

/// A text of the firmware's DMI table. Serial numbers and asset tags are in other files of the same
/// folder, and are not read (invariant I10).
fn dmi(machine: &Machine, file: &str) -> Reading<String> {
    let folder = "/sys/class/dmi/id";
    let path = format!("{folder}/{file}");
    let answer = machine.tree.read(&path).map_err(|error| match error.obstacle {
        Obstacle::Permission => error,
        _ if machine.tree.list(folder).is_ok() => {
            no_file(machine, "the firmware's DMI table does not say", &path)
        }
        _ => no_file(machine, "the firmware passes no DMI table on; usual in small guests", &path),
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
