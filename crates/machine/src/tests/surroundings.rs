//! Memory, hypervisors, containers, kernels: files in, facts out.

use std::sync::Arc;

use model::{CpuId, CpuSet, Known, Obstacle, Reading, Unavailable};
use proptest::prelude::*;
use simulated::Files;

use super::cpuid::Leaves;
use super::{host, machine_of, said};
use crate::facts::fact_cache::Survey;
use crate::facts::{self, TimeStampCounter};
use crate::ports::{Machine, Msr, Tree};

/// The fact of a machine of these files alone.
fn fact(id: &str, texts: &[(&str, &str)]) -> String {
    let mut files = Files::default();
    for (path, text) in texts {
        files.put(*path, *text);
    }
    said(&facts::machine(&machine_of(files, "0")).facts, id)
}

#[test]
fn hypervisors_without_cpuid() {
    let of = |texts: &[(&str, &str)]| fact("platform.virtualisation", texts);
    let dmi = |vendor, product| {
        of(&[("/sys/class/dmi/id/sys_vendor", vendor), ("/sys/class/dmi/id/product_name", product)])
    };
    assert_eq!(dmi("Amazon EC2", "c7g.large"), "KVM");
    assert_eq!(dmi("Amazon EC2", "c7g.metal"), "unavailable", "no sign is no proof");
    assert_eq!(dmi("QEMU", "KVM Virtual Machine"), "QEMU or KVM");
    assert_eq!(dmi("Microsoft Corporation", "Virtual Machine"), "Hyper-V");
    assert_eq!(dmi("Microsoft Corporation", "Surface Laptop"), "unavailable");
    assert_eq!(of(&[("/sys/hypervisor/type", "xen")]), "Xen");
    let control = [("/sys/hypervisor/type", "xen"), ("/proc/xen/capabilities", "control_d")];
    assert_eq!(of(&control), "Xen, its control domain");
    assert_eq!(of(&[("/proc/device-tree/hypervisor/compatible", "linux,kvm\0")]), "KVM");
    let xen = "xen,xen-4.17\0xen,xen\0";
    assert_eq!(of(&[("/proc/device-tree/hypervisor/compatible", xen)]), "Xen");
    assert_eq!(of(&[("/proc/device-tree/compatible", "linux,dummy-virt\0")]), "QEMU or KVM");
    assert_eq!(of(&[("/proc/device-tree/compatible", "raspberrypi,5\0")]), "unavailable");
    assert_eq!(of(&[("/sys/class/dmi/id/chassis_vendor", "QEMU")]), "QEMU or KVM");
    // Arm servers with ACPI have neither tree nor, without firmware, a table.
    assert_eq!(of(&[("/sys/firmware/qemu_fw_cfg/rev", "3")]), "QEMU or KVM");
    assert_eq!(of(&[("/sys/firmware/qemu_fw_cfg/other", "")]), "unavailable", "a driver alone");
    assert_eq!(of(&[("/proc/device-tree/fw-cfg@9020000/compatible", "")]), "QEMU or KVM");
    assert_eq!(of(&[("/sys/bus/acpi/devices/QEMU0002:00/hid", "QEMU0002")]), "QEMU or KVM");
    let sysinfo = "VM00 Name:            GUEST\nVM00 Control Program: z/VM    6.4.0";
    assert_eq!(of(&[("/proc/sysinfo", sysinfo)]), "z/VM");
    assert_eq!(of(&[("/proc/sysinfo", "VM00 Control Program: KVM/Linux")]), "KVM");
    let flags = "processor\t: 0\nflags\t\t: fpu tsc hypervisor";
    assert_eq!(of(&[("/proc/cpuinfo", flags)]), "hypervisor without a name");
    assert_eq!(of(&[("/proc/cpuinfo", "flags\t: fpu tsc")]), "unavailable", "one bit is no proof");
    let made = ("/sys/class/dmi/id/product_name", "PowerEdge R750");
    assert_eq!(of(&[("/proc/cpuinfo", "flags\t: fpu tsc"), made]), "none (bare metal)");
    assert_eq!(of(&[("/proc/cpuinfo", "Features\t: fp asimd")]), "unavailable");
}

/// An x86 machine of these files, whose CPUID has these leaves, each in EAX, EBX, ECX, EDX.
fn x86(leaves: &[(u32, [u32; 4])], texts: &[(&str, &str)]) -> Machine {
    let mut files = Files::default();
    for (path, text) in texts {
        files.put(*path, *text);
    }
    let of = leaves.iter().map(|(leaf, words)| ((0, *leaf, 0), *words)).collect();
    Machine {
        cpuid: Box::new(Leaves { of, xcr0: None }),
        elsewhere: Some("a machine of a test".to_owned()),
        ..machine_of(files, "0")
    }
}

/// The leaf in which a hypervisor names itself by twelve letters.
fn named(letters: &str) -> (u32, [u32; 4]) {
    let word = |at: usize| {
        let bytes = letters.as_bytes().get(at..at + 4).unwrap();
        u32::from_le_bytes(bytes.try_into().unwrap())
    };
    (0x4000_0000, [0x4000_0005, word(0), word(4), word(8)])
}

const DENIES: (u32, [u32; 4]) = (1, [0x0005_0654, 0, 0, 0]);
const ANNOUNCES: (u32, [u32; 4]) = (1, [0x0005_0654, 0, 1 << 31, 0]);

const VENDOR: &str = "/sys/class/dmi/id/sys_vendor";
const PRODUCT: &str = "/sys/class/dmi/id/product_name";

#[test]
fn an_absent_bit_is_held_against_what_other_files_show() {
    let of = |texts: &[(&str, &str)]| {
        let machine = x86(&[DENIES], texts);
        let said = said(&facts::machine(&machine).facts, "platform.virtualisation");
        let is_known = said != "unavailable" && !said.starts_with("none");
        assert_eq!(facts::is_guest(&machine), is_known, "{said}");
        said
    };
    assert_eq!(of(&[]), "none (bare metal)");
    assert_eq!(
        of(&[(VENDOR, "QEMU"), (PRODUCT, "Standard PC")]),
        "QEMU or KVM (by the DMI table; CPUID hides it)"
    );
    assert_eq!(
        of(&[("/proc/bus/pci/devices", "0010\t15ad0405\t10")]),
        "VMware (by a PCI device; CPUID hides it)"
    );
    assert_eq!(of(&[("/proc/bus/pci/devices", "0010 80862000 10")]), "none (bare metal)");
    assert_eq!(of(&[("/sys/hypervisor/type", "xen")]), "Xen (by the kernel; CPUID hides it)");
    let firmware = ("/sys/class/dmi/id/bios_vendor", "SeaBIOS");
    assert_eq!(of(&[(PRODUCT, "A1"), firmware]), "QEMU or KVM (by the DMI table; CPUID hides it)");
    let flags = ("/proc/cpuinfo", "flags\t: fpu hypervisor");
    assert_eq!(
        of(&[flags]),
        "hypervisor without a name (by the flag `hypervisor`; CPUID hides it)"
    );
    assert_eq!(of(&[(VENDOR, "Amazon EC2"), (PRODUCT, "m7i.metal-24xl")]), "none (bare metal)");
    let bhyve = "bhyve (by the DMI table; CPUID hides it)";
    assert_eq!(of(&[(VENDOR, "FreeBSD"), (PRODUCT, "BHYVE")]), bhyve);
    // Those rent whole machines and parts of them under one name.
    for model in [("Google", "Google Compute Engine"), ("Alibaba Cloud", "Alibaba Cloud ECS")] {
        let texts = [(VENDOR, model.0), (PRODUCT, model.1)];
        assert_eq!(of(&texts), "unavailable", "{model:?}");
        let facts = facts::machine(&x86(&[DENIES], &texts)).facts;
        let fact = facts.iter().find(|fact| fact.id == "platform.virtualisation").unwrap();
        assert!(format!("{fact:?}").contains("are both rented as"), "{fact:?}");
    }
    let list = ("/proc/bus/pci/devices", "0020 80eebeef 12");
    let without_cpuid = fact("platform.virtualisation", &[list, ("/proc/cpuinfo", "flags\t: fpu")]);
    assert_eq!(without_cpuid, "VirtualBox (by a PCI device; the CPU's list of flags hides it)");
}

#[test]
fn a_hypervisor_that_files_name_otherwise_has_both_names() {
    let of = |leaf, texts: &[(&str, &str)]| {
        let machine = x86(&[ANNOUNCES, leaf], texts);
        said(&facts::machine(&machine).facts, "platform.virtualisation")
    };
    let qemu = [(VENDOR, "QEMU"), (PRODUCT, "Standard PC")];
    let vmware = [(VENDOR, "VMware, Inc."), (PRODUCT, "VMware7,1")];
    assert_eq!(of(named("KVMKVMKVM\0\0\0"), &qemu), "KVM");
    assert_eq!(of(named("KVMKVMKVM\0\0\0"), &vmware), "KVM (by CPUID; the DMI table says VMware)");
    assert_eq!(of(named("\0\0\0\0\0\0\0\0\0\0\0\0"), &vmware), "VMware");
    let oracle = [(VENDOR, "innotek GmbH"), (PRODUCT, "VirtualBox")];
    let lent = "VirtualBox (by the DMI table; CPUID shows the interface of KVM)";
    assert_eq!(of(named("KVMKVMKVM\0\0\0"), &oracle), lent);
    let lent = "QEMU or KVM (by the DMI table; CPUID shows the interface of Hyper-V)";
    assert_eq!(of(named("Microsoft Hv"), &qemu), lent);
    let azure = [(VENDOR, "Microsoft Corporation"), (PRODUCT, "Virtual Machine")];
    assert_eq!(of(named("Microsoft Hv"), &azure), "Hyper-V");
    assert_eq!(of(named("nobody knows"), &[]), "hypervisor `nobody knows`");
    assert_eq!(of(named("\0\0\0\0\0\0\0\0\0\0\0\0"), &[]), "hypervisor without a name");
}

/// What is said of a machine whose Hyper-V grants these privileges, and whether it is a guest.
fn below_hyper_v(privileges: u32, texts: &[(&str, &str)]) -> (String, bool) {
    let leaf = (0x4000_0003, [0, privileges, 0, 0]);
    let machine = x86(&[ANNOUNCES, named("Microsoft Hv"), leaf], texts);
    let said = said(&facts::machine(&machine).facts, "platform.virtualisation");
    (said, facts::is_guest(&machine))
}

#[test]
fn what_qemu_executes_itself_gets_no_remedy_of_kvm() {
    let clock = |leaf| {
        let flags = ("/proc/cpuinfo", "cpu family : 6\nflags : fpu hypervisor");
        let machine = x86(&[ANNOUNCES, leaf], &[flags]);
        let all = crate::doctor::capabilities(&machine);
        let row = all.into_iter().find(|fact| fact.id == "clock").unwrap();
        match row.value {
            Known::No { unavailable } => unavailable.remedy.unwrap_or_default(),
            Known::Yes(value) => panic!("{value:?}"),
        }
    };
    assert!(clock(named("KVMKVMKVM\0\0\0")).contains("-cpu host,+invtsc"));
    let emulated = clock(named("TCGTCGTCGTCG"));
    assert!(!emulated.contains("-cpu host") && emulated.contains("use KVM"), "{emulated}");
}

#[test]
fn the_root_partition_of_hyper_v_is_a_host() {
    let of = |privileges| below_hyper_v(privileges, &[]);
    let nested = below_hyper_v(0x1001, &[(VENDOR, "QEMU"), (PRODUCT, "Standard PC")]);
    let name = "QEMU or KVM (by the DMI table; CPUID shows a root partition of Hyper-V)";
    assert_eq!(nested, (name.to_owned(), true));
    assert_eq!(of(0x1001), ("Hyper-V, its root partition".to_owned(), false));
    for guest in [0, 1, 0x1000, 0x0040_1001] {
        assert_eq!(of(guest), ("Hyper-V".to_owned(), true), "{guest:#x}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever else is taken away or bent: who has a virtual machine's table is not bare metal.
    #[test]
    fn no_table_of_a_virtual_machine_is_bare_metal(
        cpuid: bool,
        flags in prop::sample::select(vec!["", "flags : fpu", "flags : fpu hypervisor", "flags"]),
        spoiled in prop::sample::select(vec![
            VENDOR,
            "/proc/bus/pci/devices",
            "/proc/sysinfo",
            "/sys/class/dmi/id/bios_vendor",
        ]),
        text in "[a-zA-Z0-9 ]{0,12}|\\PC{0,12}",
    ) {
        let sign = if spoiled == VENDOR {
            ("/sys/hypervisor/type", "xen")
        } else {
            (VENDOR, "QEMU")
        };
        let leaves = if cpuid { vec![DENIES] } else { Vec::new() };
        let texts = [("/proc/cpuinfo", flags), (spoiled, &text), (PRODUCT, "Standard PC"), sign];
        let machine = x86(&leaves, &texts);
        let said = said(&facts::machine(&machine).facts, "platform.virtualisation");
        prop_assert!(said.starts_with("QEMU or KVM") || said.starts_with("Xen"), "{said}");
        prop_assert!(facts::is_guest(&machine));
    }
}

#[test]
fn containers_and_kernels_that_are_none() {
    let of = |path, text| {
        fact("platform.virtualisation", &[("/sys/hypervisor/type", "xen"), (path, text)])
    };
    let guest = ("/proc/xen/capabilities", "");
    assert_eq!(fact("platform.virtualisation", &[guest]), "Xen");
    assert_eq!(of("/.dockerenv", ""), "Xen, in a Docker container");
    assert_eq!(of("/run/.containerenv", ""), "Xen, in a Podman container");
    assert_eq!(of("/run/systemd/container", "lxc\n"), "Xen, in a container (lxc)");
    assert_eq!(of("/run/systemd/container", "host.example"), "Xen, in a container");
    let pod = "0::/kubepods.slice/pod0f/cri-containerd-99.scope";
    assert_eq!(of("/proc/self/cgroup", pod), "Xen, in a Kubernetes pod");
    let release = "/proc/sys/kernel/osrelease";
    assert_eq!(of(release, "5.15.90.1-microsoft-standard-WSL2"), "Hyper-V, WSL 2");
    assert_eq!(of(release, "4.4.0-19041-Microsoft"), "WSL 1 (no Linux kernel)");
    let version = "#1 SMP Sun Jan 10 15:06:54 PST 2016";
    assert_eq!(of("/proc/sys/kernel/version", version), "gVisor (a kernel in user space)");
}

#[test]
fn models_without_what_makers_leave_unfilled() {
    let of = |vendor, product| {
        let folder = "/sys/class/dmi/id";
        let (vendor_file, product_file) =
            (format!("{folder}/sys_vendor"), format!("{folder}/product_name"));
        fact("platform.model", &[(&vendor_file, vendor), (&product_file, product)])
    };
    assert_eq!(of("Dell Inc.", "PowerEdge R750"), "Dell Inc. PowerEdge R750");
    assert_eq!(of("HP", "HP EliteBook"), "HP EliteBook");
    assert_eq!(of("ASUS", "System Product Name"), "ASUS");
    assert_eq!(of("To Be Filled By O.E.M.", "Default string"), "unavailable");
    assert_eq!(fact("platform.model", &[("/proc/device-tree/model", "Board 5\0")]), "Board 5");
}

#[test]
fn memory_limits_of_both_versions() {
    let of = |membership, path: &str, text| {
        fact("memory.limit", &[("/proc/self/cgroup", membership), (path, text)])
    };
    assert_eq!(of("0::/a/b", "/sys/fs/cgroup/a/memory.max", "1073741824"), "1 GiB");
    assert_eq!(of("0::/a/b", "/sys/fs/cgroup/a/memory.max", "max"), "none");
    let v1 = "/sys/fs/cgroup/memory/x/memory.limit_in_bytes";
    assert_eq!(of("9:memory:/x", v1, "536870912"), "512 MiB");
    assert_eq!(of("9:memory:/x", v1, "9223372036854771712"), "none");
    assert_eq!(of("9:memory:/x", v1, "-5"), "none");
    assert_eq!(of("9:cpu:/x", v1, "5"), "unavailable");
    let version = |groups| fact("cgroup.version", &[("/proc/self/cgroup", groups)]);
    assert_eq!(version("0::/"), "version 2");
    assert_eq!(version("1:name=systemd:/\n0::/"), "version 2");
    assert_eq!(version("4:cpu,cpuacct:/x\n0::/"), "version 1, version 2 beside it");
    assert_eq!(version("4:cpu,cpuacct:/x"), "version 1");
    assert_eq!(version(""), "unavailable");
}

#[test]
fn huge_pages_by_size_and_by_default() {
    let folder = "/sys/kernel/mm/hugepages";
    let of = |texts: &[(&str, &str)]| fact("memory.huge_pages", texts);
    let (total, free) = (
        format!("{folder}/hugepages-2048kB/nr_hugepages"),
        format!("{folder}/hugepages-2048kB/free_hugepages"),
    );
    assert_eq!(of(&[(&total, "512"), (&free, "12")]), "512 x 2 MiB (12 free)");
    assert_eq!(of(&[(&total, "0"), (&free, "0")]), "none reserved of 2 MiB");
    assert_eq!(of(&[(&total, "many"), (&free, "0")]), "unavailable");
    let meminfo = "HugePages_Total:      4\nHugePages_Free:       1\nHugepagesize:    2048 kB";
    assert_eq!(of(&[("/proc/meminfo", meminfo)]), "4 x 2 MiB (1 free)");
}

#[test]
fn command_lines_show_what_changes_performance_and_count_the_rest() {
    let of = |line| fact("kernel.command_line", &[("/proc/cmdline", line)]);
    assert_eq!(of("root=UUID=1f nosmt quiet"), "nosmt (2 others not shown)");
    assert_eq!(of("quiet"), "none for performance (1 other not shown)");
    assert_eq!(of("nosmt -- --addr 10.0.0.1 isolcpus=1"), "nosmt");
    assert_eq!(of(""), "none for performance");
    let hostile = "isolcpus=".to_owned() + &"1,".repeat(100_000);
    assert!(of(&hostile).len() < 200);
    let many = "nosmt ".repeat(100_000);
    assert!(of(&many).ends_with("(99960 others not shown)"));
}

#[test]
fn preemption_is_what_the_kernel_says_or_what_it_was_built_with() {
    let version = "/proc/sys/kernel/version";
    let of = |texts: &[(&str, &str)]| fact("kernel.preemption", texts);
    let debug = ("/sys/kernel/debug/sched/preempt", "none voluntary (full) lazy");
    assert_eq!(of(&[debug, (version, "#1 SMP PREEMPT_DYNAMIC x")]), "full");
    assert_eq!(of(&[(version, "#1 SMP PREEMPT_RT x")]), "real-time");
    assert_eq!(of(&[(version, "#1 SMP PREEMPT x")]), "full");
    assert_eq!(of(&[(version, "#1 SMP x")]), "none or voluntary");
    assert_eq!(of(&[(version, "#1 SMP PREEMPT_DYNAMIC x")]), "dynamic");
    let line = ("/proc/cmdline", "quiet preempt=voluntary");
    assert_eq!(of(&[(version, "#1 SMP PREEMPT_DYNAMIC x"), line]), "voluntary");
    assert_eq!(of(&[(version, "unknown")]), "unavailable");
}

#[test]
fn the_timer_is_read_from_the_kernels_configuration() {
    let release = ("/proc/sys/kernel/osrelease", "6.1.0");
    let of = |release, text| fact("kernel.timer", &[release, ("/boot/config-6.1.0", text)]);
    assert_eq!(of(release, "CONFIG_HZ_250=y\nCONFIG_HZ=250"), "250 Hz");
    assert_eq!(of(release, "CONFIG_HZ=0"), "unavailable");
    assert_eq!(of(("/proc/sys/kernel/osrelease", "../boot/config-6.1.0"), "x"), "unavailable");
}

const INTEL: (u32, [u32; 4]) = (0, [7, 0x756e_6547, 0x6c65_746e, 0x4965_6e69]);

/// Registers that all read 0, as those that a hypervisor or an emulator does not know.
struct Zeros;

impl Msr for Zeros {
    fn read(&self, _: CpuId, _: u32) -> Reading<u64> {
        Ok(0)
    }
}

#[test]
fn prefetchers_are_on_where_their_bits_are_known() {
    let of = |signature: u32, ecx: u32, hybrid: bool| {
        let leaves = [INTEL, (1, [signature, 0, ecx, 0]), (7, [0, 0, 0, u32::from(hybrid) << 15])];
        let online = [("/sys/devices/system/cpu/online", "0"), (PRODUCT, "A1")];
        let machine = Machine { msr: Arc::new(Zeros), ..x86(&leaves, &online) };
        said(&crate::conditions::read(&machine), "prefetchers")
    };
    assert_eq!(of(0x0005_0654, 0, false), "all on", "Skylake of servers");
    assert_eq!(of(0x000a_06f1, 0, false), "unavailable", "Sierra Forest is made of Atoms");
    assert_eq!(of(0x0001_06d1, 0, false), "unavailable", "before Nehalem");
    assert_eq!(of(0x0009_0672, 0, true), "unavailable", "cores of two types");
    assert_eq!(
        of(0x0005_0654, 1 << 31, false),
        "unavailable",
        "a hypervisor answers what it likes"
    );
}

/// What is announced of the TSC is told in one way, whoever asks.
#[test]
fn the_time_stamp_counter_has_one_answer() {
    let of = |edx: u32, flags: &str| {
        let cpuinfo = format!("cpu family : 6\nflags : fpu {flags}");
        let machine =
            x86(&[INTEL, DENIES, (0x8000_0007, [0, 0, 0, edx])], &[("/proc/cpuinfo", &cpuinfo)]);
        let counter = facts::time_stamp_counter(&Survey::new(&machine));
        let all = crate::doctor::capabilities(&machine);
        let row = all.into_iter().find(|fact| fact.id == "clock").unwrap();
        match row.value {
            Known::Yes(_) => assert_eq!(counter, TimeStampCounter::Invariant),
            Known::No { unavailable } => assert_eq!(unavailable.why, counter.why()),
        }
        counter
    };
    assert_eq!(of(1 << 8, "constant_tsc nonstop_tsc"), TimeStampCounter::Invariant);
    assert_eq!(of(0, "constant_tsc"), TimeStampCounter::Constant);
    assert_eq!(of(0, ""), TimeStampCounter::Unannounced);
}

/// Files that nobody may read, and a process that is root or not.
struct Closed;

impl Tree for Closed {
    fn read(&self, path: &str) -> Reading<String> {
        let reason = Unavailable::new(Obstacle::Permission, path, "it may not be read");
        Err(reason.with_remedy("run as root"))
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.read(path).map(|_| Vec::new())
    }
}

#[test]
fn root_is_not_told_to_be_root() {
    let remedies = |is_root: bool| {
        let (tree, host) = (Box::new(Closed), host(Ok(CpuSet::from_iter([CpuId(0)])), is_root));
        let machine = Machine { tree, host, ..machine_of(Files::default(), "0") };
        let facts = facts::machine(&machine).facts.into_iter();
        let all = facts.chain(crate::conditions::read(&machine));
        let told =
            all.chain(crate::doctor::capabilities(&machine)).filter(|fact| match &fact.value {
                Known::No { unavailable } => unavailable.remedy.as_deref() == Some("run as root"),
                Known::Yes(_) => false,
            });
        told.count()
    };
    assert!(remedies(false) > 10);
    assert_eq!(remedies(true), 0);
}
