//! CPUs of other architectures than x86: what each kernel's `/proc/cpuinfo` says, and the files
//! beside it.

use model::CpuId;
use model::record::{Fact, Machine as Described};
use proptest::prelude::*;
use simulated::Files;

use super::{check_absences, machine_of, said};
use crate::facts;
use crate::ports::Machine;

const CPU: &str = "/sys/devices/system/cpu";

fn machine(online: &str, cpuinfo: &str, texts: &[(&str, &str)]) -> Machine {
    let mut files = Files::default();
    files.put(format!("{CPU}/online"), online);
    files.put("/proc/cpuinfo", cpuinfo);
    for (path, text) in texts {
        files.put(*path, *text);
    }
    machine_of(files, online)
}

fn described(online: &str, cpuinfo: &str, texts: &[(&str, &str)]) -> Described {
    facts::machine(&machine(online, cpuinfo, texts))
}

fn of(facts: &[Fact], ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| said(facts, id)).collect()
}

fn remedy(facts: &[Fact], id: &str) -> Option<String> {
    let fact = facts.iter().find(|fact| fact.id == id).unwrap();
    match &fact.value {
        model::Known::No { unavailable } => unavailable.remedy.clone(),
        model::Known::Yes(_) => None,
    }
}

const LOONGARCH: &str = "system type\t\t: generic-loongson-machine\n\n\
    processor\t\t: 0\npackage\t\t\t: 0\ncore\t\t\t: 0\nCPU Family\t\t: Loongson-64bit\n\
    Model Name\t\t: Loongson-3C6000/S\nISA\t\t\t: loongarch32 loongarch64\n\
    Features\t\t: cpucfg lam ual fpu lsx lasx crc32\n\n\
    processor\t\t: 1\npackage\t\t\t: 0\ncore\t\t\t: 0\nModel Name\t\t: Loongson-3C6000/S\n\n\
    processor\t\t: 2\npackage\t\t\t: 1\ncore\t\t\t: 0\nModel Name\t\t: Loongson-3C6000/S\n";

#[test]
fn a_block_of_the_system_comes_before_those_of_the_cpus() {
    let facts = described("0-2", LOONGARCH, &[]).facts;
    let ids = ["cpu.brand", "cpu.vendor", "cpu.microarchitecture", "cpu.cores", "cpu.isa"];
    assert_eq!(
        of(&facts, &ids),
        [
            "Loongson-3C6000/S",
            "Loongson",
            "LA664",
            "2 packages, 2 cores, 3 CPUs (SMT 2; 1 core with 1 thread)",
            "cpucfg lam ual fpu lsx lasx crc32"
        ]
    );
    check_absences(&facts);
}

const S390: &str = "vendor_id       : IBM/S390\n# processors    : 2\nfeatures\t: esan3 zarch vx\n\
    cache0          : level=1 type=Data scope=Private size=128K line_size=256 associativity=8\n\
    cache1          : level=1 type=Instruction scope=Private size=96K line_size=256 associativity=6\n\
    cache2          : level=3 type=Unified scope=Shared size=65536K line_size=256 associativity=16\n\
    processor 0: version = 00,  identification = 0A1B2C,  machine = 2964\n\
    processor 1: version = 00,  identification = 0A1B2C,  machine = 2964\n\n\
    cpu number      : 0\nphysical id     : 1\ncore id         : 4\ncpu MHz static  : 5000\n\n\
    cpu number      : 1\nphysical id     : 1\ncore id         : 5\ncpu MHz static  : 5000\n";

#[test]
fn mainframes_have_caches_that_sysfs_does_not_list() {
    let partition = ("/proc/sysinfo", "Manufacturer: IBM\n\nLPAR Number:          7\nLPAR Name: X");
    let machine = described("0-1", S390, &[partition]);
    let facts = &machine.facts;
    let ids = ["cpu.brand", "cpu.microarchitecture", "cpu.caches", "platform.virtualisation"];
    assert_eq!(
        of(facts, &ids),
        [
            "IBM z13, machine type 2964",
            "z13",
            "L1d 128 KiB, L3 64 MiB",
            "PR/SM, a logical partition"
        ]
    );
    assert_eq!(said(facts, "cpu.cores"), "1 package, 2 cores, 2 CPUs (no SMT)");
    assert_eq!(machine.topology.cpus.iter().map(|cpu| cpu.core).collect::<Vec<_>>(), [4, 5]);
    assert!(machine.topology.caches_in_use(&"0".parse().unwrap()).is_none(), "who shares L3?");
    assert!(!format!("{facts:?}").contains("0A1B2C"), "a serial number");
    assert!(!format!("{facts:?}").contains("acpi-cpufreq"));
}

#[test]
fn chips_of_mainframes_are_numbered_anew_in_each_book() {
    let block = |cpu: u32, drawer: u32, book: u32| {
        format!(
            "cpu number      : {cpu}\nphysical id     : 1\ncore id         : {cpu}\n\
             book id         : {book}\ndrawer id       : {drawer}\n\n"
        )
    };
    let head = "vendor_id       : IBM/S390\n# processors    : 4\n\n";
    let cpuinfo =
        head.to_owned() + &block(0, 0, 1) + &block(1, 0, 1) + &block(2, 0, 2) + &block(3, 1, 1);
    let facts = described("0-3", &cpuinfo, &[]).facts;
    assert_eq!(said(&facts, "cpu.cores"), "3 packages, 4 cores, 4 CPUs (no SMT)");
}

#[test]
fn caches_that_sysfs_lists_are_not_described_twice() {
    let folder = format!("{CPU}/cpu0/cache/index0");
    let file = |name: &str| format!("{folder}/{name}");
    let [level, kind, size, shared] = ["level", "type", "size", "shared_cpu_list"].map(file);
    let texts = [(&*level, "1"), (&*kind, "Data"), (&*size, "120K"), (&*shared, "0")];
    let topology = described("0", S390, &texts).topology;
    let sizes: Vec<Option<u64>> = topology.caches.iter().map(|cache| cache.bytes).collect();
    assert_eq!(sizes, [120 << 10, 96 << 10, 65536 << 10].map(Some));
}

#[test]
fn power_is_a_partition_or_the_bare_machine() {
    let block = |cpu: u32| {
        format!(
            "processor\t: {cpu}\ncpu\t\t: POWER10 (architected), altivec supported\n\
                 revision\t: 2.0 (pvr 0080 0200)\n\n"
        )
    };
    let of_platform = |platform: &str, machine: &str| {
        let common =
            format!("timebase\t: 512000000\nplatform\t: {platform}\nmachine\t\t: {machine}\n");
        block(0) + &block(1) + &common
    };
    let virtualisation = |cpuinfo: &str, texts: &[(&str, &str)]| {
        said(&described("0-1", cpuinfo, texts).facts, "platform.virtualisation")
    };
    let partition = ("/proc/device-tree/ibm,partition-name", "x\0");
    let lpar = of_platform("pSeries", "CHRP IBM,9105-22A");
    assert_eq!(virtualisation(&lpar, &[partition]), "PowerVM");
    assert_eq!(virtualisation(&lpar, &[]), "unavailable");
    let node = ("/proc/device-tree/hypervisor/compatible", "linux,kvm\0");
    assert_eq!(virtualisation(&lpar, &[node, partition]), "KVM");
    let qemu = of_platform("pSeries", "CHRP IBM pSeries (emulated by qemu)");
    assert_eq!(virtualisation(&qemu, &[]), "QEMU or KVM");
    let bare = of_platform("PowerNV", "PowerNV 9006-22P");
    assert_eq!(virtualisation(&bare, &[]), "none (bare metal)");
    let facts = described("0-1", &bare, &[]).facts;
    let ids = ["cpu.microarchitecture", "cpu.family_model_stepping", "cpu.isa"];
    assert_eq!(of(&facts, &ids), ["POWER10", "PVR 0080 0200", "altivec"]);
    assert_eq!(remedy(&facts, "cpu.max_frequency"), None, "no driver of x86 helps");
}

#[test]
fn sparc_describes_its_caches_in_the_folders_of_cpus() {
    let file = |name: &str| format!("{CPU}/cpu0/{name}");
    let [data, line, second] = ["l1_dcache_size", "l1_dcache_line_size", "l2_cache_size"].map(file);
    let texts = [(&*data, "16384"), (&*line, "32"), (&*second, "4194304")];
    let cpuinfo = "cpu\t\t: UltraSparc T3 (Niagara3)\nfpu\t\t: UltraSparc T3 integrated FPU\n\
                   type\t\t: sun4v\nncpus probed\t: 1\n";
    let facts = described("0", cpuinfo, &texts).facts;
    let ids = ["cpu.brand", "cpu.microarchitecture", "cpu.caches", "platform.virtualisation"];
    let cpu = "UltraSparc T3 (Niagara3)";
    assert_eq!(of(&facts, &ids), [cpu, cpu, "L1d 16 KiB, L2 4 MiB", "sun4v hypervisor"]);
}

#[test]
fn old_arm_writes_once_what_all_cpus_are() {
    let cpuinfo = "Processor\t: ARMv7 Processor rev 4 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 38.40\n\n\
                   processor\t: 1\nBogoMIPS\t: 38.40\n\nFeatures\t: swp half neon\n\
                   CPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xc07\n\
                   CPU revision\t: 3\n\nHardware\t: a board\nSerial\t\t: 00000000deadbeef\n";
    let facts = described("0-1", cpuinfo, &[]).facts;
    let ids = ["cpu.brand", "cpu.family_model_stepping", "cpu.core_types", "cpu.kinds"];
    let numbers = "implementer 0x41 part 0xc07 r0p3";
    assert_eq!(of(&facts, &ids), ["Arm Cortex-A7", numbers, "Cortex-A7", "one kind"]);
    assert!(!format!("{facts:?}").contains("deadbeef"), "a serial number");
    assert_eq!(said(&facts, "cpu.isa"), "swp half neon", "words of 32-bit Arm");
    let newer = "processor\t: 0\nmodel name\t: ARMv7 Processor rev 3 (v7l)\n\
                 CPU implementer\t: 0x41\nCPU part\t: 0xc0f\n";
    assert_eq!(said(&described("0", newer, &[]).facts, "cpu.brand"), "Arm Cortex-A15");
    let stranger = newer.replace("0xc0f", "0xabc");
    let name = "ARMv7 Processor rev 3 (v7l)";
    assert_eq!(said(&described("0", &stranger, &[]).facts, "cpu.brand"), name);
}

fn riscv(harts: &[&[(&str, &str)]]) -> String {
    let block = |(cpu, lines): (usize, &&[(&str, &str)])| {
        let lines: Vec<String> =
            lines.iter().map(|(key, value)| format!("{key}\t: {value}\n")).collect();
        format!("processor\t: {cpu}\nhart\t\t: {cpu}\nmmu\t\t: sv39\n{}\n", lines.concat())
    };
    harts.iter().enumerate().map(block).collect()
}

#[test]
fn risc_v_cores_are_told_apart_by_what_each_hart_says() {
    let kinds = |online: &str, blocks: &[&[(&str, &str)]]| {
        said(&described(online, &riscv(blocks), &[]).facts, "cpu.kinds")
    };
    let isa = ("isa", "rv64imafdcv_zba");
    let [big, small] = [("marchid", "0x8000000058000002"), ("marchid", "0x8000000041000002")];
    let vendor = ("mvendorid", "0x710");
    assert_eq!(
        kinds("0-2", &[&[isa, vendor, big], &[isa, vendor, small], &[isa, vendor, big]]),
        "SpacemiT X100 0,2; SpacemiT A100 1"
    );
    let [u74, s7] = [("uarch", "sifive,u74-mc"), ("uarch", "sifive,s7")];
    assert_eq!(kinds("0-1", &[&[isa, s7], &[isa, u74]]), "SiFive S7 0; SiFive U74-MC 1");
    assert_eq!(kinds("0-1", &[&[isa, u74], &[isa, u74]]), "one kind");
    let of_hart = |isa| [("isa", "rv64imac"), ("hart isa", isa)];
    assert_eq!(
        kinds("0-1", &[&of_hart("rv64imac_zba"), &of_hart("rv64imafdc_zba")]),
        "rv64imac 0; rv64imafdc 1"
    );
    let stranger = [isa, ("mvendorid", "0x5b7"), ("marchid", "0x0")];
    let facts = described("0", &riscv(&[&stranger]), &[]).facts;
    let ids = ["cpu.vendor", "cpu.family_model_stepping", "cpu.isa"];
    let draft = "rv64imafdcv_zba (v: draft 0.7.1)";
    assert_eq!(of(&facts, &ids), ["T-Head", "mvendorid 0x5b7 marchid 0x0", draft]);
}

#[test]
fn no_other_architecture_has_instruction_sets_of_x86_and_arm() {
    let power = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n";
    for cpuinfo in [LOONGARCH, S390, power, &riscv(&[&[("isa", "rv64gc")]])] {
        assert_eq!(facts::isa(&machine("0", cpuinfo, &[])), Ok(Vec::new()), "{cpuinfo}");
    }
    assert!(facts::isa(&machine("0", "nothing", &[])).is_err());
}

#[test]
fn capacities_that_ripple_make_no_kinds() {
    let kinds = |capacities: &[&str]| {
        let paths: Vec<String> =
            (0..capacities.len()).map(|cpu| format!("{CPU}/cpu{cpu}/cpu_capacity")).collect();
        let texts: Vec<(&str, &str)> =
            paths.iter().map(String::as_str).zip(capacities.iter().copied()).collect();
        let online = format!("0-{}", capacities.len() - 1);
        let places = described(&online, "nothing", &texts).topology.cpus;
        places.into_iter().map(|place| place.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&["1024", "1015", "1024", "996"]), [None, None, None, None]);
    let told = kinds(&["446", "440", "1024", "1010"]);
    let [small, big] = ["capacity 440 to 446", "capacity 1010 to 1024"].map(|it| Some(it.into()));
    assert_eq!(told, [small.clone(), small, big.clone(), big]);
}

#[test]
fn cores_that_cpuinfo_does_not_list_are_not_of_the_kind_of_others() {
    let block =
        |cpu: u32| format!("processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n");
    let listed = block(0) + &block(1);
    let kinds = |texts: &[(&str, &str)]| said(&described("0-3", &listed, texts).facts, "cpu.kinds");
    assert_eq!(kinds(&[]), "unavailable");
    let types = said(&described("0-3", &listed, &[]).facts, "cpu.core_types");
    assert_eq!(types, "Cortex-A55 (2), not told (2)");
    let file = |cpu: u32| format!("{CPU}/cpu{cpu}/regs/identification/midr_el1");
    let (second, third) = (file(2), file(3));
    let midr = "0x00000000410fd0b0";
    assert_eq!(kinds(&[(&second, midr), (&third, midr)]), "Cortex-A55 0-1; Cortex-A76 2-3");
}

#[test]
fn remedies_are_not_for_what_is_known_otherwise() {
    let x86 = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nflags\t: fpu\n";
    let idle = |texts: &[(&str, &str)]| remedy(&described("0", x86, texts).facts, "idle.states");
    let line = |line| [("/proc/cmdline", line)];
    assert_eq!(idle(&line("root=/dev/x quiet")), None);
    assert_eq!(idle(&line("quiet -- idle=poll")), None, "not the kernel's");
    assert_eq!(idle(&line("idle=poll quiet")).as_deref(), Some("boot without `idle=poll`"));
    let both = idle(&line("cpuidle.off=1 nohlt"));
    assert_eq!(both.as_deref(), Some("boot without `cpuidle.off=1` and `nohlt`"));
    assert!(idle(&[]).unwrap().starts_with("where `cat /proc/cmdline` shows"));
    let frequency = |cpuinfo| remedy(&described("0", cpuinfo, &[]).facts, "cpu.max_frequency");
    assert!(frequency(x86).unwrap().contains("acpi-cpufreq"));
    let loaded = [("/proc/modules", "acpi_cpufreq 28672 0 - Live 0x0")];
    assert_eq!(remedy(&described("0", x86, &loaded).facts, "cpu.max_frequency"), None);
    assert_eq!(frequency(S390), None);
    assert_eq!(frequency(LOONGARCH), None);
    assert_eq!(remedy(&described("0", S390, &[]).facts, "idle.states"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Lines of a good file dropped, doubled, swapped for others' or cut: every CPU keeps a place,
    /// what is absent has a reason, and no remedy is for another architecture.
    #[test]
    fn bent_files_of_other_architectures(
        which in 0usize..3,
        bends in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4, "\\PC{0,9}"), 1..6),
    ) {
        let harts = riscv(&[&[("isa", "rv64gcv"), ("uarch", "thead,c910")], &[("isa", "rv64gc")]]);
        let good = [LOONGARCH, S390, &harts][which];
        let mut lines: Vec<String> = good.lines().map(str::to_owned).collect();
        for (place, how, text) in bends {
            let place = place.index(lines.len());
            let Some(line) = lines.get(place).cloned() else { break };
            let half: String = line.chars().take(line.chars().count() / 2).collect();
            match how {
                0 => lines[place] = String::new(),
                1 => lines.insert(place, line),
                2 => lines[place] = half + &text,
                _ => lines[place] = line.split(':').next().unwrap_or_default().to_owned() + ": " + &text,
            }
        }
        let machine = described("0-2", &lines.join("\n"), &[]);
        check_absences(&machine.facts);
        let places: Vec<CpuId> = machine.topology.cpus.iter().map(|place| place.cpu).collect();
        prop_assert_eq!(places, [0, 1, 2].map(CpuId));
        let numbered = machine.topology.cpus.iter().all(|it| it.core < 1 << 31 && it.package < 1 << 31);
        prop_assert!(numbered);
        let remedies: Vec<Option<String>> =
            machine.facts.iter().map(|fact| remedy(&machine.facts, &fact.id)).collect();
        prop_assert!(!format!("{remedies:?}").contains("acpi-cpufreq"), "{remedies:?}");
        prop_assert!(!said(&machine.facts, "platform.virtualisation").starts_with("none"));
    }

    /// Equal cores, whatever their capacities within three per cent; two kinds that are far apart
    /// are two, in whatever order they lie.
    #[test]
    fn kinds_by_bent_capacities(
        of in prop::collection::vec((any::<bool>(), 0u32..30), 2..20),
        high in 600u32..1024,
    ) {
        let files = |mixed: bool| {
            let capacity = |(is_low, off): &(bool, u32)| {
                let base = if mixed && *is_low { high / 2 } else { high };
                base * (1000 + off) / 1000
            };
            let texts = (0..).zip(&of).map(|(cpu, it)| {
                (format!("{CPU}/cpu{cpu}/cpu_capacity"), capacity(it).to_string())
            });
            texts.collect::<Vec<(String, String)>>()
        };
        let kinds = |files: Vec<(String, String)>| {
            let texts: Vec<(&str, &str)> = files.iter().map(|(a, b)| (&**a, &**b)).collect();
            let online = format!("0-{}", of.len() - 1);
            let places = described(&online, "nothing", &texts).topology.cpus;
            places.into_iter().map(|place| place.kind).collect::<Vec<_>>()
        };
        prop_assert!(kinds(files(false)).iter().all(Option::is_none));
        let told = kinds(files(true));
        let both = of.iter().any(|it| it.0) && of.iter().any(|it| !it.0);
        for (kind, (is_low, _)) in told.iter().zip(&of) {
            prop_assert_eq!(kind.is_some(), both);
            let same = told.iter().zip(&of).all(|(other, (low, _))| (other == kind) == (low == is_low));
            prop_assert!(same || !both, "{told:?}");
        }
    }

    /// Whatever the command line holds: the advice names words of it, and no others.
    #[test]
    fn advice_names_what_the_command_line_has(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "quiet", "idle=poll", "idle=nomwait", "cpuidle.off=1", "nohlt", "--", "xidle=poll",
            ]),
            0..6,
        ),
    ) {
        let line = words.join(" ");
        let x86 = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nflags\t: fpu\n";
        let machine = machine("0", x86, &[("/proc/cmdline", &line)]);
        let kernel: Vec<&str> = words.iter().copied().take_while(|word| *word != "--").collect();
        let asked = |word: &&&str| ["idle=poll", "cpuidle.off=1", "nohlt"].contains(*word);
        let advice = [
            remedy(&facts::machine(&machine).facts, "idle.states"),
            remedy(&crate::doctor::capabilities(&machine), "cpuidle"),
        ];
        for advice in advice {
            prop_assert_eq!(advice.is_some(), kernel.iter().any(|word| asked(&word)));
            for word in advice.iter().flat_map(|it| it.split('`').skip(1).step_by(2)) {
                prop_assert!(kernel.contains(&word), "{word}");
            }
        }
    }
}
