//! Identity and instruction sets, by CPUID and by the kernel's words.

use std::collections::BTreeMap;

use model::CpuId;
use proptest::prelude::*;
use simulated::Files;
use sys::cpuid::Leaf;

use super::{check_absences, machine_of, said};
use crate::facts;
use crate::ports::{Cpuid, Machine};

/// Leaves of CPUs, by number of CPU, leaf and sub-leaf; and XCR0.
#[derive(Clone, Default)]
pub(super) struct Leaves {
    pub(super) of: BTreeMap<(u32, u32, u32), [u32; 4]>,
    pub(super) xcr0: Option<u64>,
}

impl Cpuid for Leaves {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
        self.leaf_of(CpuId(0), leaf, subleaf)
    }

    fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        let &[eax, ebx, ecx, edx] = self.of.get(&(cpu.0, leaf, subleaf))?;
        Some(Leaf { eax, ebx, ecx, edx })
    }

    fn xcr0(&self) -> Option<u64> {
        self.xcr0
    }
}

const SSE2: u32 = 1 << 26;
const OSXSAVE: u32 = 1 << 27;
const AVX: u32 = 1 << 28;
const AVX2: u32 = 1 << 5;
const AVX512F: u32 = 1 << 16;
const HYBRID: u32 = 1 << 15;

/// Two CPUs of an Alder Lake with AVX2 and AVX-512.
fn leaves(xcr0: Option<u64>) -> Leaves {
    let mut leaves = Leaves { xcr0, ..Leaves::default() };
    let text = |word: &[u8; 4]| u32::from_le_bytes(*word);
    for cpu in 0..2 {
        let vendor = [0x20, text(b"Genu"), text(b"ntel"), text(b"ineI")];
        leaves.of.insert((cpu, 0, 0), vendor);
        leaves.of.insert((cpu, 1, 0), [0x0009_0672, cpu << 24, OSXSAVE | AVX, SSE2]);
        leaves.of.insert((cpu, 7, 0), [0, AVX2 | AVX512F, 0, 0]);
    }
    leaves
}

fn machine_with(leaves: Leaves, flags: Option<&str>) -> Machine {
    let mut files = Files::default();
    files.put("/sys/devices/system/cpu/online", "0-1");
    if let Some(flags) = flags {
        files.put("/proc/cpuinfo", &format!("processor : 0\nflags : {flags}"));
    }
    let mut machine = machine_of(files, "0-1");
    machine.cpuid = Box::new(leaves);
    machine
}

fn isa_rows(leaves: Leaves, flags: Option<&str>) -> [String; 2] {
    let facts = facts::machine(&machine_with(leaves, flags)).facts;
    ["cpu.isa", "cpu.isa_not_enabled"].map(|id| said(&facts, id))
}

/// A leaf that the CPU announces and nobody recorded says nothing.
#[test]
fn leaves_that_were_not_recorded_leave_it_to_the_kernels_list() {
    let mut cut = leaves(Some(0xe7));
    cut.of.retain(|(_, leaf, _), _| *leaf != 7);
    let [isa, not_enabled] = isa_rows(cut.clone(), Some("sse2 avx avx2 avx512f"));
    assert_eq!((isa.as_str(), not_enabled.as_str()), ("sse2 avx avx2 avx512f", "unavailable"));
    assert_eq!(isa_rows(cut.clone(), None)[0], "unavailable");
    // Older CPUs do not announce it.
    for cpu in 0..2 {
        cut.of.get_mut(&(cpu, 0, 0)).unwrap()[0] = 6;
    }
    assert_eq!(isa_rows(cut, None)[0], "sse2 avx");
}

#[test]
fn what_the_operating_system_does_not_save_is_not_allowed() {
    assert_eq!(isa_rows(leaves(Some(0xe7)), None), ["sse2 avx avx2 avx512f", "none"]);
    assert_eq!(
        isa_rows(leaves(Some(0x7)), None),
        [
            "sse2 avx avx2",
            "avx512f: the CPU has it, the operating system does not enable it (XCR0)"
        ]
    );
    let mut without_xsave = leaves(Some(0xe7));
    without_xsave.of.insert((0, 1, 0), [0x0009_0672, 0, AVX, SSE2]);
    assert_eq!(isa_rows(without_xsave, None)[0], "sse2");
}

#[test]
fn a_kernel_that_lists_less_or_more_is_told_of() {
    let [isa, rest] = isa_rows(leaves(Some(0xe7)), Some("sse2 avx avx512f"));
    assert_eq!(isa, "sse2 avx avx2 avx512f");
    assert!(rest.starts_with("avx2: allowed, and `/proc/cpuinfo` does not list it"), "{rest}");
    let [isa, rest] = isa_rows(leaves(Some(0xe7)), Some("sse2 avx avx2 avx512f fma sme"));
    assert_eq!(isa, "sse2 avx avx2 avx512f");
    assert!(rest.starts_with("fma: `/proc/cpuinfo` lists it"), "{rest}");
}

#[test]
fn without_xcr0_the_kernels_list_decides_and_without_either_nobody() {
    assert_eq!(isa_rows(leaves(None), Some("sse2 avx"))[0], "sse2 avx");
    assert_eq!(isa_rows(leaves(None), None), ["unavailable", "unavailable"]);
}

#[test]
fn hybrids_allow_what_all_their_cpus_have() {
    let mut leaves = leaves(Some(0xe7));
    leaves.of.insert((0, 7, 0), [0, AVX2 | AVX512F, 0, HYBRID]);
    leaves.of.insert((1, 7, 0), [0, AVX2, 0, HYBRID]);
    leaves.of.insert((0, 0x1a, 0), [0x4000_0001, 0, 0, 0]);
    leaves.of.insert((1, 0x1a, 0), [0x2000_0001, 0, 0, 0]);
    let facts = facts::machine(&machine_with(leaves, None)).facts;
    assert_eq!(said(&facts, "cpu.isa"), "sse2 avx avx2");
    assert_eq!(said(&facts, "cpu.core_types"), "Golden Cove (1), Gracemont (1)");
    assert_eq!(said(&facts, "cpu.microarchitecture"), "Alder Lake");
    assert_eq!(said(&facts, "cpu.family_model_stepping"), "6/151/2");
    assert_eq!(said(&facts, "cpu.vendor"), "GenuineIntel");
}

#[test]
fn mixed_cores_of_amd_are_told_apart() {
    let mut leaves = Leaves::default();
    let text = |word: &[u8; 4]| u32::from_le_bytes(*word);
    for cpu in 0..2 {
        let vendor = [0x10, text(b"Auth"), text(b"cAMD"), text(b"enti")];
        leaves.of.insert((cpu, 0, 0), vendor);
        leaves.of.insert((cpu, 1, 0), [0x00b2_0f40, cpu << 24, 0, SSE2]);
        // One thread a core, one core a complex, dies and a package of two.
        for (subleaf, (level, shift)) in [(1, 0), (2, 0), (3, 0), (4, 1)].into_iter().enumerate() {
            let subleaf = u32::try_from(subleaf).unwrap();
            let registers = [1 << 30 | shift, cpu << 28 | 1, level << 8 | subleaf, cpu];
            leaves.of.insert((cpu, 0x8000_0026, subleaf), registers);
        }
    }
    let machine = machine_with(leaves, None);
    let facts = facts::machine(&machine).facts;
    assert_eq!(said(&facts, "cpu.core_types"), "performance (1), efficiency (1)");
    assert_eq!(said(&facts, "cpu.vendor"), "AuthenticAMD");
    assert_eq!(said(&facts, "cpu.microarchitecture"), "Zen 5");
    let topology = facts::topology_by_cpuid(&machine, &"0-1".parse().unwrap()).unwrap();
    let kinds: Vec<&str> = topology.cpus.iter().filter_map(|place| place.kind.as_deref()).collect();
    assert_eq!(kinds, ["P", "E"]);
}

#[test]
fn amd_before_its_leaf_of_caches_says_them_in_codes() {
    let mut leaves = Leaves::default();
    let text = |word: &[u8; 4]| u32::from_le_bytes(*word);
    for cpu in 0..4 {
        leaves.of.insert((cpu, 0, 0), [5, text(b"Auth"), text(b"cAMD"), text(b"enti")]);
        leaves.of.insert((cpu, 1, 0), [0x0010_0f42, cpu << 24, 0, SSE2]);
        leaves.of.insert((cpu, 0x8000_0005, 0), [0, 0, 0x4002_0140, 0x40ff_0140]);
        leaves.of.insert((cpu, 0x8000_0006, 0), [0, 0, 0x0200_8140, 0x0030_b140]);
        leaves.of.insert((cpu, 0x8000_0008, 0), [0, 0, 0x2003, 0]);
    }
    let machine = machine_with(leaves, None);
    let topology = facts::topology_by_cpuid(&machine, &"0-3".parse().unwrap()).unwrap();
    let caches: Vec<String> = topology
        .caches
        .iter()
        .map(|cache| {
            let (bytes, ways) = (cache.bytes.unwrap(), cache.ways.unwrap());
            format!("L{} {} {ways} {}", cache.level, bytes >> 10, cache.instances.len())
        })
        .collect();
    assert_eq!(caches, ["L1 64 2 4", "L1 64 1024 4", "L2 512 16 4", "L3 6144 48 1"]);
    assert_eq!(topology.cpus.iter().map(|place| place.core).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(said(&facts::machine(&machine).facts, "cpu.microarchitecture"), "K10");
}

#[test]
fn models_have_their_extension_from_family_6_up() {
    for (eax, numbers) in [
        (0x0005_0654, "6/85/4"),
        (0x00b4_0f40, "26/68/0"),
        // Zhaoxin.
        (0x0003_07b0, "7/59/0"),
        // A 486 has none, whatever stands there.
        (0x0003_0480, "4/8/0"),
    ] {
        let mut leaves = leaves(None);
        leaves.of.insert((0, 1, 0), [eax, 0, 0, SSE2]);
        let facts = facts::machine(&machine_with(leaves, None)).facts;
        assert_eq!(said(&facts, "cpu.family_model_stepping"), numbers);
    }
}

fn of_cpuinfo(cpuinfo: &str) -> impl Fn(&str) -> String + use<> {
    let mut files = Files::default();
    files.put("/proc/cpuinfo", cpuinfo);
    let facts = facts::machine(&machine_of(files, "0")).facts;
    check_absences(&facts);
    move |id| said(&facts, id)
}

#[test]
fn arm_cores_have_names() {
    let core = |cpu: u32, part: &str| {
        format!(
            "processor\t: {cpu}\nFeatures\t: fp asimd atomics sve sme\nCPU implementer\t: 0x41\n\
             CPU variant\t: 0x1\nCPU part\t: {part}\nCPU revision\t: 2\n\n"
        )
    };
    let little = core(1, "0xd46") + &core(2, "0xd46");
    let said = of_cpuinfo(&(core(0, "0xd47") + &little));
    assert_eq!(said("cpu.brand"), "Arm Cortex-A510 (2), Cortex-A710 (1)");
    assert_eq!(said("cpu.vendor"), "Arm");
    assert_eq!(said("cpu.core_types"), "Cortex-A510 (2), Cortex-A710 (1)");
    assert_eq!(said("cpu.isa"), "asimd atomics sve sme");
    let said = of_cpuinfo(&core(0, "0xd49"));
    assert_eq!(said("cpu.family_model_stepping"), "implementer 0x41 part 0xd49 r1p2");
    assert_eq!(of_cpuinfo(&core(0, "0xfff"))("cpu.microarchitecture"), "unavailable");
    assert_eq!(of_cpuinfo(&core(0, "0x99999999999999999"))("cpu.microarchitecture"), "unavailable");
}

#[test]
fn other_architectures_say_what_their_kernels_say() {
    let power = of_cpuinfo("processor\t: 0\ncpu\t\t: POWER9 (raw), altivec supported\n");
    assert_eq!(power("cpu.brand"), "POWER9 (raw), altivec supported");
    assert_eq!(power("cpu.microarchitecture"), "POWER9");
    let riscv = of_cpuinfo("processor\t: 0\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc\n");
    assert_eq!(riscv("cpu.microarchitecture"), "SiFive U74-MC");
    let mainframe = of_cpuinfo(
        "vendor_id       : IBM/S390\n\
         processor 0: version = FF,  identification = 0133E8,  machine = 2964\n",
    );
    assert_eq!(mainframe("cpu.vendor"), "IBM/S390");
    assert_eq!(mainframe("cpu.brand"), "IBM z13, machine type 2964");
}

#[test]
fn rdpru_is_a_way_to_the_counters_of_cycles() {
    let doctor = |ebx: u32, edx: u32| {
        let mut leaves = leaves(None);
        leaves.of.insert((0, 0x8000_0008, 0), [0, ebx, 0, edx]);
        said(&crate::doctor::capabilities(&machine_with(leaves, None)), "aperf_mperf")
    };
    assert_eq!(doctor(1 << 4, 1 << 16), "both can be read, by the instruction RDPRU");
    assert_eq!(doctor(1 << 4, 0), "unavailable");
    assert_eq!(doctor(0, 1 << 16), "unavailable");
}

proptest! {
    /// Whatever CPUID says, each row has an answer or a reason.
    #[test]
    fn any_answer_of_cpuid_is_survived(
        words in proptest::collection::vec(any::<u32>(), 4..40),
        xcr0 in any::<Option<u64>>(),
    ) {
        let mut random = leaves(xcr0);
        let numbers = [
            (0, 0), (1, 0), (4, 0), (7, 0), (7, 1), (0xb, 0), (0xb, 1), (0x1a, 0), (0x1f, 0),
            (0x24, 0), (0x8000_0001, 0), (0x8000_0002, 0), (0x8000_0003, 0), (0x8000_0004, 0),
        ];
        for (i, (leaf, subleaf)) in numbers.into_iter().enumerate() {
            let word = |j: usize| words[(i * 4 + j) % words.len()];
            for cpu in 0..2 {
                random.of.insert((cpu, leaf, subleaf), std::array::from_fn(word));
            }
        }
        let machine = machine_with(random, None);
        check_absences(&facts::machine(&machine).facts);
        let _ = facts::topology_by_cpuid(&machine, &"0-1".parse().unwrap());
    }
}
