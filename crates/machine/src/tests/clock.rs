//! What machines say of their clock, where sources contradict each other or are silent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use model::areas::turbo::promise;
use model::record::{PageKind, Presentation, Record};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use proptest::prelude::*;
use simulated::Files;

use super::{machine_of, said};
use crate::ports::{Machine, Msr};
use crate::{conditions, describe, facts};

const CPU: &str = "/sys/devices/system/cpu";

/// The same registers on all CPUs.
struct Registers(BTreeMap<u32, u64>);

impl Msr for Registers {
    fn read(&self, _cpu: CpuId, register: u32) -> Reading<u64> {
        self.0.get(&register).copied().ok_or_else(|| {
            Unavailable::new(Obstacle::Hardware, format!("{register:x}h"), "it was not read")
        })
    }
}

/// A machine of this many single-threaded cores.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) files: Files,
    cores: u32,
    registers: BTreeMap<u32, u64>,
}

impl Made {
    pub(super) fn new(vendor: &str, family: u32, model: u32, cores: u32) -> Made {
        let mut files = Files::default();
        let mut cpuinfo = String::new();
        for cpu in 0..cores {
            write!(
                cpuinfo,
                "processor\t: {cpu}\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n\
                 stepping\t: 1\nphysical id\t: 0\ncore id\t\t: {cpu}\nflags\t\t: sse2 hwp\n\n"
            )
            .unwrap();
        }
        files.put("/proc/cpuinfo", &cpuinfo);
        files.put(format!("{CPU}/online"), &Made::list(cores));
        Made { files, cores, registers: BTreeMap::new() }
    }

    fn list(cores: u32) -> String {
        format!("0-{}", cores - 1)
    }

    pub(super) fn registers(mut self, registers: &[(u32, u64)]) -> Made {
        self.registers.extend(registers.iter().copied());
        self
    }

    /// A file of cpufreq or of `acpi_cppc` of one CPU.
    pub(super) fn put<T: ToString + ?Sized>(mut self, cpu: u32, file: &str, value: &T) -> Made {
        let folder = if file.ends_with("perf") && !file.starts_with("amd") || file == "nominal_freq"
        {
            format!("{CPU}/cpu{cpu}/acpi_cppc")
        } else {
            format!("{CPU}/cpufreq/policy{cpu}")
        };
        self.files.put(format!("{folder}/{file}"), &value.to_string());
        self
    }

    /// The same of every CPU.
    fn put_all<T: ToString + ?Sized>(self, file: &str, value: &T) -> Made {
        (0..self.cores).fold(self, |made, cpu| made.put(cpu, file, value))
    }

    fn kinds(mut self, performance: &str, efficient: &str) -> Made {
        self.files.put("/sys/devices/cpu_core/cpus", performance);
        self.files.put("/sys/devices/cpu_atom/cpus", efficient);
        self
    }

    pub(super) fn machine(self) -> Machine {
        let mut machine = machine_of(self.files, &Made::list(self.cores));
        machine.msr = Arc::new(Registers(self.registers));
        machine
    }

    pub(super) fn fact(&self, id: &str) -> String {
        said(&facts::machine(&self.clone().machine()).facts, id)
    }

    pub(super) fn record(&self) -> Record {
        let presentation =
            Presentation { width: 80, verbosity: 1, ..Presentation::of(PageKind::Info) };
        describe(&self.clone().machine(), Vec::new(), presentation)
    }
}

pub(super) const INTEL: &str = "GenuineIntel";
pub(super) const AMD: &str = "AuthenticAMD";

/// 5.7 GHz to two cores, 5.5 to eight.
const TABLE: [(u32, u64); 3] =
    [(0xce, 0x800_0000_2200), (0x1ad, 0x37_3737_3737_3739), (0x1ae, 0x08_0706_0504_0302)];

#[test]
fn levels_that_a_kernel_took_for_ratios_are_no_clocks() {
    let made =
        Made::new(INTEL, 6, 0xd7, 8).registers(&TABLE).put_all("cpuinfo_max_freq", &7_300_000);
    assert_eq!(made.fact("cpu.max_frequency"), "5700000000 Hz");
    let disputed = made.fact("cpu.disputed_clocks");
    assert_eq!(
        disputed,
        "`cpuinfo_max_freq` claims 7.3 GHz of CPUs 0-7, which reach 5.7 GHz by MSR 1ADh, 1AEh x 100 MHz"
    );
    let record = made.record();
    let highest = &record.clock.unwrap().highest;
    assert!(highest.len() == 1 && (highest[0].hertz - 5.7e9).abs() < 1.0, "{highest:?}");
    let agreed = made.put_all("cpuinfo_max_freq", &5_700_000);
    assert_eq!(agreed.fact("cpu.disputed_clocks"), "none");
}

/// Two packages whose tables differ: registers of the first say nothing of the second.
#[test]
fn each_package_is_held_against_its_own_table() {
    struct OfPackage;
    impl Msr for OfPackage {
        fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
            let mut of = Registers(TABLE.into());
            if cpu.0 >= 4 {
                of.0.insert(0x1ad, 0x3b_3b3b_3b3b_3b3b);
            }
            of.read(cpu, register)
        }
    }
    let mut made = Made::new(INTEL, 6, 0x8f, 8).put_all("cpuinfo_max_freq", &5_700_000);
    for cpu in 0..8 {
        let package = if cpu < 4 { "0-3" } else { "4-7" };
        made.files.put(format!("{CPU}/cpu{cpu}/topology/package_cpus_list"), package);
    }
    let made = (4..8).fold(made, |made, cpu| made.put(cpu, "cpuinfo_max_freq", &5_900_000));
    let machine = Machine { msr: Arc::new(OfPackage), ..made.machine() };
    let facts = facts::machine(&machine).facts;
    assert_eq!(said(&facts, "cpu.disputed_clocks"), "none");
    assert!(said(&facts, "turbo.ratio_limits").contains("5.9 GHz"), "{facts:?}");
}

/// Turbo Boost Max 3.0 as on Skylake-X: 4.3 GHz by the table, and 4.5 GHz for cores that HWP ranks higher.
#[test]
fn favoured_cores_may_be_sold_with_more_than_the_table_has() {
    let of_hwp = |highest: u64| [(0x770, 1), (0x771, 0x080a_2200 | highest)];
    let table = [TABLE[0], (0x1ad, 0x2b2b_2b2b_2b2b_2b2b), TABLE[2]];
    let made =
        Made::new(INTEL, 6, 0x55, 8).registers(&table).put_all("cpuinfo_max_freq", &4_300_000);
    let made = made.put(5, "cpuinfo_max_freq", &4_500_000);
    let believed = made.clone().registers(&of_hwp(45));
    assert_eq!(believed.fact("cpu.disputed_clocks"), "none");
    for refuted in [made.clone(), made.registers(&of_hwp(73))] {
        let said = refuted.fact("cpu.disputed_clocks");
        assert!(
            said.starts_with("`cpuinfo_max_freq` claims 4.5 GHz of CPU 5, which reach"),
            "{said}"
        );
    }
}

/// The table of ACPI leaves boost out, and so does the driver that has nothing else.
#[test]
fn the_end_of_the_firmwares_table_is_not_believed_while_boost_is_on() {
    let of = |boost: &str| {
        let mut made = Made::new(AMD, 23, 1, 4)
            .put_all("scaling_driver", "acpi-cpufreq")
            .put_all("scaling_available_frequencies", "2300000 1900000 1200000")
            .put_all("cpuinfo_max_freq", &2_300_000);
        made.files.put(format!("{CPU}/cpufreq/boost"), boost);
        made
    };
    let on = of("1");
    let said = on.fact("cpu.disputed_clocks");
    assert!(said.contains("2.3 GHz of CPUs 0-3, which is their base, while boost"), "{said}");
    assert_eq!(on.fact("cpu.max_frequency"), "unavailable");
    assert_eq!(on.fact("cpu.base_frequency"), "2300000000 Hz");
    assert_eq!(of("0").fact("cpu.disputed_clocks"), "none");
    // Newer kernels add what `_CPC` tells of boost.
    let newer = on.put_all("cpuinfo_max_freq", &3_200_000);
    assert_eq!(newer.fact("cpu.disputed_clocks"), "none");
    assert_eq!(newer.fact("cpu.max_frequency"), "3200000000 Hz");
}

#[test]
fn less_than_the_turbo_table_is_said() {
    let made = Made::new(INTEL, 6, 0x55, 8).registers(&TABLE);
    let disputed = |kilohertz: u32| {
        let made = made.clone().put_all("cpuinfo_max_freq", &kilohertz);
        (made.fact("cpu.disputed_clocks"), made.fact("cpu.max_frequency"))
    };
    assert_eq!(disputed(5_700_000).0, "none");
    for less in [5_400_000, 4_000_000] {
        let (said, highest) = disputed(less);
        let end = "of CPUs 0-7, less than they reach by MSR 1ADh, 1AEh x 100 MHz, 5.7 GHz";
        assert!(said.contains(end), "{said}");
        assert_eq!(highest, format!("{less}000 Hz"));
    }
}

fn ranked(driver: &str) -> Made {
    let made = Made::new(AMD, 25, 24, 4).put_all("scaling_driver", driver);
    let made = made.put_all("nominal_perf", &124).put_all("nominal_freq", &4000);
    [166u32, 171, 176, 246].into_iter().zip(0..).fold(made, |made, (rank, cpu)| {
        made.put(cpu, "highest_perf", &rank).put(cpu, "cpuinfo_max_freq", &(rank * 4_000_000 / 124))
    })
}

#[test]
fn ranks_that_a_driver_took_for_clocks_are_not_believed() {
    for driver in ["acpi-cpufreq", "amd-pstate"] {
        let made = ranked(driver);
        assert_eq!(made.fact("cpu.max_frequency"), "5354838000 Hz", "{driver}");
        let disputed = made.fact("cpu.disputed_clocks");
        assert!(
            disputed.starts_with(
                "`cpuinfo_max_freq` claims 5.52 to 7.94 GHz of CPUs 1-3, which the kernel made"
            ),
            "{disputed}"
        );
        assert_eq!(made.fact("cppc.favoured_cores"), "CPU 3 (246, others 166 to 176, ACPI `_CPC`)");
    }
}

/// Between what levels of the firmware come to and what some CPU is sold with.
#[test]
fn a_claim_beyond_the_levels_is_not_believed() {
    let amd = Made::new(AMD, 25, 97, 4).put_all("scaling_driver", "amd-pstate-epp");
    let by_driver = amd.clone().put_all("amd_pstate_max_freq", &5_350_000);
    let levels = |made: Made, [highest, nominal, megahertz]: [u32; 3]| {
        let made = made.put_all("highest_perf", &highest).put_all("nominal_perf", &nominal);
        made.put_all("nominal_freq", &megahertz)
    };
    let intel = levels(Made::new(INTEL, 6, 0xb7, 4), [72, 43, 3400]);
    let [cpuinfo, driver] = ["cpuinfo_max_freq", "amd_pstate_max_freq"];
    for (made, file, claim, most, source) in [
        (levels(by_driver.clone(), [166, 124, 4000]), cpuinfo, 6_000_000, 5.35, "ACPI `_CPC`"),
        (levels(amd, [166, 124, 4000]), driver, 6_000_000, 5.35, "ACPI `_CPC`"),
        (by_driver, cpuinfo, 6_000_000, 5.35, driver),
        (intel, cpuinfo, 6_200_000, 5.69, "ACPI `_CPC`"),
    ] {
        let beyond = made.clone().put_all(file, &claim);
        let disputed = beyond.fact("cpu.disputed_clocks");
        let claim = f64::from(claim) / 1e6;
        let expected =
            format!("`{file}` claims {claim} GHz of CPUs 0-3, which reach {most} GHz by {source}");
        assert_eq!(disputed, expected);
        let highest = &beyond.record().clock.unwrap().highest;
        assert!(highest.len() == 1 && (highest[0].hertz / 1e9 - most).abs() < 0.01, "{highest:?}");
        let agreed = made.put_all(file, &(most * 1e6));
        assert_eq!(agreed.fact("cpu.disputed_clocks"), "none");
    }
}

/// Efficient cores of Arrow Lake: 55 over 21 times a base of 1.4 GHz, which the kernel rounded, is 3.67 GHz.
#[test]
fn levels_are_no_finer_than_the_clock_that_one_of_them_stands_for() {
    let made = Made::new(INTEL, 6, 0xc5, 4).kinds("0-1", "2-3");
    let of = |made: Made, cpu: u32| {
        let (megahertz, levels) = if cpu < 2 { (2300, [72, 36]) } else { (1400, [55, 21]) };
        let made = made.put(cpu, "base_frequency", &(megahertz * 1000));
        let made = made.put(cpu, "highest_perf", &levels[0]).put(cpu, "nominal_perf", &levels[1]);
        made.put(cpu, "cpuinfo_max_freq", &(if cpu < 2 { 4_500_000 } else { 3_900_000 }))
    };
    let made = (0..4).fold(made, of);
    assert_eq!(made.fact("cpu.disputed_clocks"), "none");
    let beyond = made.put(2, "cpuinfo_max_freq", &5_000_000);
    assert!(beyond.fact("cpu.disputed_clocks").contains("5 GHz of CPU 2, which reach 3.67 GHz"));
}

#[test]
fn a_clock_that_no_cpu_is_sold_with_is_none() {
    let made = Made::new(AMD, 26, 112, 4).put_all("cpuinfo_max_freq", &11_141_000);
    assert_eq!(made.fact("cpu.max_frequency"), "unavailable");
    assert!(made.fact("cpu.disputed_clocks").contains("claims 11.14 GHz of CPUs 0-3"));
    // Who is wrong of one core is not believed of others.
    let made = made.put(0, "cpuinfo_max_freq", &5_100_000).put(1, "cpuinfo_max_freq", &5_900_000);
    assert_eq!(made.fact("cpu.max_frequency"), "5100000000 Hz");
}

#[test]
fn a_base_is_not_the_highest_clock_while_boost_is_on() {
    let made = Made::new(INTEL, 6, 0x8f, 8).registers(&[
        (0xce, 0x800_0000_1400),
        (0x1ad, 0x1e_1e1e_1e1e_2226),
        (0x1ae, 0x08_0807_0605_0402),
    ]);
    let unknown = made.put_all("cpuinfo_max_freq", &2_000_000);
    assert_eq!(unknown.fact("cpu.disputed_clocks"), "none", "boost may be off");
    let mut made = unknown;
    made.files.put(format!("{CPU}/intel_pstate/no_turbo"), "0");
    assert_eq!(made.fact("cpu.max_frequency"), "3800000000 Hz");
    assert!(made.fact("cpu.disputed_clocks").contains("2 GHz of CPUs 0-7, which is their base"));
    let mut off = made;
    off.files.put(format!("{CPU}/intel_pstate/no_turbo"), "1");
    assert_eq!(off.fact("cpu.max_frequency"), "2000000000 Hz");
    assert_eq!(off.fact("cpu.disputed_clocks"), "none");
}

#[test]
fn ranges_below_the_lowest_clock_are_said() {
    let made = Made::new(AMD, 25, 80, 4)
        .put_all("cpuinfo_min_freq", &400_000)
        .put_all("cpuinfo_max_freq", &4_463_000)
        .put_all("scaling_max_freq", &300_000);
    let disputed = made.fact("cpu.disputed_clocks");
    assert!(disputed.starts_with("`scaling_max_freq` allows 0.3 GHz at most on"), "{disputed}");
    let upside_down =
        made.clone().put_all("scaling_max_freq", &900_000).put_all("scaling_min_freq", &1_000_000);
    let disputed = upside_down.fact("cpu.disputed_clocks");
    assert!(
        disputed.contains("0.9 GHz at most on CPU 0, less than `scaling_min_freq`, 1 GHz"),
        "{disputed}"
    );
    let below = made.put_all("cpuinfo_max_freq", &200_000);
    assert_eq!(below.fact("cpu.max_frequency"), "unavailable");
    assert!(below.fact("cpu.disputed_clocks").contains("less than their lowest, 0.4 GHz"));
}

/// Each core has a clock of its own, and all are of one kind.
#[test]
fn many_clocks_are_a_range() {
    let made = Made::new("Arm", 8, 1, 6);
    let made =
        (0..6).fold(made, |made, cpu| made.put(cpu, "cpuinfo_max_freq", &(3_321_000 + cpu * 9000)));
    assert_eq!(made.fact("cpu.max_frequency"), "3.32 to 3.37 GHz");
    assert_eq!(made.fact("cppc.favoured_cores"), "unavailable");
}

/// A policy may set the clock of cores of several kinds, whichever its first CPU is of.
#[test]
fn every_kind_within_a_policy_has_its_clock() {
    let made = Made::new(INTEL, 6, 0xba, 6).kinds("0-1,4-5", "2-3");
    let policies = |made: Made, of: &[(u32, &str, u32)]| {
        let put = |made: Made, (first, cpus, khz): &(u32, &str, u32)| {
            made.put(*first, "affected_cpus", *cpus).put(*first, "cpuinfo_min_freq", khz)
        };
        of.iter().fold(made, put).fact("cpu.min_frequency")
    };
    let (wide, narrow) = ((0, "0 1 2 3", 300_000), (4, "4 5", 600_000));
    assert_eq!(policies(made.clone(), &[wide, narrow]), "P: 0.3 to 0.6 GHz; E: 0.3 GHz");
    let across = [(0, "0", 400_000), (1, "1 2", 500_000), (3, "3 4 5", 600_000)];
    assert_eq!(policies(made, &across), "P: 0.4 to 0.6 GHz; E: 0.5 to 0.6 GHz");
}

/// 3.0 GHz to one module, 2.8 GHz to two: of four cores each.
#[test]
fn counts_of_servers_of_efficient_cores_are_modules() {
    let counts = [(0x1ad, 0x1c1c_1c1c_1c1c_1c1e), (0x1ae, 0x202_0202_0202_0201)];
    for model in [0xaf, 0xdd, 0xb6] {
        let made = Made::new(INTEL, 6, model, 8).registers(&counts);
        assert_eq!(made.fact("turbo.ratio_limits"), "3 GHz to 4 cores, 2.8 GHz to 8");
    }
    // Others count cores.
    let others = Made::new(INTEL, 6, 0x8f, 8).registers(&counts);
    let said = "3 GHz to 1 core, 2.8 GHz to 2, 3 to 8 not known (1ADh, 1AEh ends there)";
    assert_eq!(others.fact("turbo.ratio_limits"), said);
    // Two cores share an L2 here.
    let mut pairs = Made::new(INTEL, 6, 0xaf, 4).registers(&counts);
    for cpu in 0..4 {
        for (file, value) in [
            ("level", "2".into()),
            ("type", "Unified".into()),
            ("size", "4096K".into()),
            ("shared_cpu_list", format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1)),
        ] {
            pairs.files.put(format!("{CPU}/cpu{cpu}/cache/index2/{file}"), &value);
        }
    }
    assert_eq!(pairs.fact("turbo.ratio_limits"), "3 GHz to 2 cores, 2.8 GHz to 4");
}

#[test]
fn the_register_that_is_wrong_is_blamed() {
    let why = |registers: &[(u32, u64)]| {
        let made = Made::new(INTEL, 6, 0x8f, 8).registers(registers);
        let facts = facts::machine(&made.machine()).facts;
        let fact = facts.into_iter().find(|fact| fact.id == "turbo.ratio_limits").unwrap();
        format!("{:?}", fact.value)
    };
    let ratios = 0x1c1c_1c1c_1c1c_1c1e;
    let counts = why(&[(0x1ad, ratios), (0x1ae, 0)]);
    assert!(counts.contains("1aeh holds 0x0, which is no list of counts of cores"), "{counts}");
    let ratios = why(&[(0x1ad, 0), (0x1ae, TABLE[2].1)]);
    assert!(ratios.contains("1adh holds 0x0, which is no list of ratios"), "{ratios}");
}

#[test]
fn a_register_that_was_not_read_ends_the_table_with_a_word() {
    let made = Made::new(INTEL, 6, 0x4f, 12).registers(&[(0x1ad, 0x1b1c_1d1e_1f20_2222)]);
    let said = made.fact("turbo.ratio_limits");
    assert!(said.ends_with("2.7 GHz to 8, 9 to 12 not known (1AEh: it was not read)"), "{said}");
    let limits = facts::machine(&made.machine()).turbo_limits;
    assert!(limits[0].beyond.is_some() && limits[0].cores == Some(12));
}

#[test]
fn favoured_is_within_a_kind() {
    let hybrid = Made::new(INTEL, 6, 0xba, 4).kinds("0-1", "2-3");
    let levels = |made: Made, levels: [u32; 4]| {
        levels
            .into_iter()
            .zip(0..)
            .fold(made, |made, (level, cpu)| made.put(cpu, "highest_perf", &level))
    };
    let favoured = |made: &Made| made.fact("cppc.favoured_cores");
    let none = levels(hybrid.clone(), [60, 60, 35, 35]);
    assert_eq!(favoured(&none), "none: all P have 60, all E have 35 (ACPI `_CPC`)");
    let one = levels(hybrid.clone(), [60, 62, 35, 35]);
    assert_eq!(favoured(&one), "CPU 1 (62, other P 60, ACPI `_CPC`)");
    let clocks = |made: Made, mhz: [u32; 4]| {
        mhz.into_iter()
            .zip(0..)
            .fold(made, |made, (mhz, cpu)| made.put(cpu, "cpuinfo_max_freq", &(mhz * 1000)))
    };
    let by_clock = clocks(hybrid, [5500, 5800, 4300, 4300]);
    assert_eq!(favoured(&by_clock), "CPU 1 (5.8 GHz, other P 5.5 GHz, cpuinfo_max_freq)");
    // Who does not know the kinds says of which CPUs the others are.
    let mut nameless = Made::new(INTEL, 6, 0xba, 4);
    for (cpu, kib) in [(0, "1280K"), (1, "1280K"), (2, "2048K"), (3, "2048K")] {
        let cache = format!("{CPU}/cpu{cpu}/cache/index2");
        let files = [
            ("level", "2"),
            ("type", "Unified"),
            ("size", kib),
            ("shared_cpu_list", &cpu.to_string()),
        ];
        for (file, text) in files {
            nameless.files.put(format!("{cache}/{file}"), text);
        }
    }
    let nameless = levels(nameless, [60, 62, 35, 35]);
    assert_eq!(favoured(&nameless), "CPU 1 (62, others of CPUs 0-1 60, ACPI `_CPC`)");
    // Levels that tell nothing leave it to what does.
    let both = levels(by_clock, [60, 60, 35, 35]);
    assert_eq!(favoured(&both), "CPU 1 (5.8 GHz, other P 5.5 GHz, cpuinfo_max_freq)");
}

#[test]
fn drivers_rank_cores_too_and_silence_is_not_the_firmware() {
    let bare = Made::new(AMD, 26, 68, 4);
    let facts = facts::machine(&bare.clone().machine()).facts;
    let fact = facts.iter().find(|fact| fact.id == "cppc.favoured_cores").unwrap();
    let why = format!("{:?}", fact.value);
    assert!(why.contains("rank cores of one kind") && !why.contains("firmware"), "{why}");
    let ranks = [236, 236, 231, 166];
    let made = ranks.into_iter().zip(0..).fold(bare, |made, (rank, cpu)| {
        made.put(cpu, "amd_pstate_prefcore_ranking", &rank).put(
            cpu,
            "amd_pstate_highest_perf",
            &166,
        )
    });
    let said = "CPUs 0-1 (236, others 166 to 231, amd_pstate_prefcore_ranking)";
    assert_eq!(made.fact("cppc.favoured_cores"), said);
}

fn zone(made: &mut Made, zone: &str, name: &str, watts: [u32; 2], enabled: &str) {
    let folder = format!("/sys/class/powercap/{zone}");
    for (file, value) in [
        ("name", name),
        ("enabled", enabled),
        ("energy_uj", "1000"),
        ("max_energy_range_uj", "262143328850"),
    ] {
        made.files.put(format!("{folder}/{file}"), value);
    }
    for (index, (term, watts)) in ["long_term", "short_term"].into_iter().zip(watts).enumerate() {
        made.files.put(format!("{folder}/constraint_{index}_name"), term);
        made.files
            .put(format!("{folder}/constraint_{index}_power_limit_uw"), &format!("{watts}000000"));
    }
}

fn power(made: &Made) -> Vec<String> {
    made.record().clock.unwrap().power.iter().map(model::record::PowerLimit::said).collect()
}

#[test]
fn the_least_of_all_limits_of_power_holds() {
    let mut made = Made::new(INTEL, 6, 0xb7, 4);
    zone(&mut made, "intel-rapl:0", "package-0", [175, 175], "1");
    zone(&mut made, "intel-rapl-mmio:0", "package-0", [45, 90], "1");
    assert_eq!(
        power(&made),
        [
            "PL1 45 W (intel-rapl-mmio:0; 175 W by intel-rapl:0 does not bind)",
            "PL2 90 W (intel-rapl-mmio:0; 175 W by intel-rapl:0 does not bind)"
        ]
    );
    zone(&mut made, "intel-rapl-mmio:0", "package-0", [45, 90], "0");
    assert_eq!(power(&made)[0], "PL1 175 W (intel-rapl:0; 45 W by intel-rapl-mmio:0 is off)");
    // 175 W in both, as the kernel reads the register, too.
    let registers = [(0x606, 0xa_0e03), (0x610, 0x0000_8578_0000_8578)];
    let made = made.registers(&registers);
    assert!(power(&made)[0].starts_with("PL1 175 W over"), "{:?}", power(&made));
    assert!(!power(&made)[0].contains("intel-rapl:0"), "{:?}", power(&made));
}

#[test]
fn of_dies_the_least_limit_is_named_and_who_is_off_limits_nothing() {
    let mut made = Made::new(INTEL, 6, 0x8f, 4);
    zone(&mut made, "intel-rapl:0", "package-0-die-0", [200, 250], "1");
    zone(&mut made, "intel-rapl:1", "package-0-die-1", [100, 250], "1");
    assert_eq!(
        power(&made),
        [
            "PL1 100 W (intel-rapl:1; 200 W by intel-rapl:0 does not bind)",
            "PL2 250 W (intel-rapl:0)"
        ]
    );
    zone(&mut made, "intel-rapl-mmio:0", "package-0", [45, 90], "1");
    made.files.put("/sys/class/powercap/intel-rapl-mmio/enabled", "0");
    let long = &power(&made)[0];
    assert!(
        long.starts_with("PL1 100 W") && long.contains("45 W by intel-rapl-mmio:0 is off"),
        "{long}"
    );
    made.files.put("/sys/class/powercap/intel-rapl-mmio/enabled", "1");
    assert!(power(&made)[0].starts_with("PL1 45 W"), "{:?}", power(&made));
}

/// What the whole platform may draw, wherever that is less than what the package may.
#[test]
fn the_platform_has_limits_of_its_own() {
    let mut made = Made::new(INTEL, 6, 0xb7, 4);
    zone(&mut made, "intel-rapl:0", "package-0", [125, 250], "1");
    zone(&mut made, "intel-rapl:1", "psys", [60, 90], "1");
    // Of the second package.
    zone(&mut made, "intel-rapl:2", "psys-1", [30, 30], "1");
    let all = ["PL1 125 W (intel-rapl:0)", "PL2 250 W (intel-rapl:0)"];
    let platform = ["platform PL1 60 W (intel-rapl:1)", "platform PL2 90 W (intel-rapl:1)"];
    assert_eq!(power(&made), [all, platform].concat());
    let page = format!("{:?}", report::info(&made.record(), 0));
    assert!(page.contains("platform PL1 60 W"), "{page}");
}

/// Nothing, and as much as fits, is no limit; what is in force and is none is said.
#[test]
fn what_is_no_limit_of_power_is_said() {
    let row = |made: &Made| {
        let page = format!("{:?}", report::info(&made.record(), 0));
        page.split_once("Power limits").map(|(_, rest)| rest.split('}').next().unwrap().to_owned())
    };
    let of = |watts, enabled: &str| {
        let mut made = Made::new(INTEL, 6, 0xb7, 4);
        zone(&mut made, "intel-rapl:0", "package-0", watts, enabled);
        row(&made)
    };
    let none = of([4096, 4096], "1").unwrap();
    assert!(none.contains("PL1 none (intel-rapl:0), PL2 none (intel-rapl:0)"), "{none}");
    let zero = of([0, 250], "1").unwrap();
    assert!(zero.contains("PL1 0 W, which nothing could keep (intel-rapl:0), PL2 250 W"), "{zero}");
    assert_eq!(of([0, 0], "0"), None, "who is off and states nothing is not worth a row");
    let made = Made::new(INTEL, 6, 0x9e, 2).registers(&[(0x606, 0xa_0e03), (0x610, u64::MAX)]);
    let ones = row(&made).unwrap();
    assert!(ones.contains("PL1 none (MSR 610h, locked)"), "{ones}");
}

/// `intel_pstate` allows half of the clock, as programs that save energy make it.
#[test]
fn a_share_of_the_clock_is_told_with_who_keeps_it() {
    const FOLDER: &str = "/sys/devices/system/cpu/intel_pstate";
    let of = |share: Option<[&str; 2]>| {
        let mut made = Made::new(INTEL, 6, 0x9e, 4)
            .put_all("scaling_driver", "intel_pstate")
            .put_all("cpuinfo_min_freq", &800_000)
            .put_all("cpuinfo_max_freq", &4_700_000);
        made.files.put(format!("{FOLDER}/status"), "active");
        for (file, value) in ["max_perf_pct", "min_perf_pct"].iter().zip(share.iter().flatten()) {
            made.files.put(format!("{FOLDER}/{file}"), *value);
        }
        let record = made.record();
        let allowed = record.clock.clone().unwrap().allowed;
        let hertz = allowed.iter().find(|it| it.source == "max_perf_pct").map(|it| it.hertz);
        let said = said(&record.conditions.before, "cpufreq.share");
        let is_on_page = format!("{:?}", report::info(&record, 0)).contains("Driver's share");
        let turbo = report::limits_of_clock(&record);
        assert_eq!(format!("{turbo:?}").contains("Driver's share"), is_on_page, "{turbo:?}");
        (said, hertz, is_on_page)
    };
    let (half, hertz, is_on_page) = of(Some(["50", "17"]));
    let most = "at most 50 % of the highest clock, by `/sys/devices/system/cpu/intel_pstate/max_perf_pct`; `echo \
                100 | sudo tee /sys/devices/system/cpu/intel_pstate/max_perf_pct` lifts the limit until a program \
                sets it again";
    assert!(half == most && is_on_page, "{half}");
    // 2.35 GHz, which the kernel rounds up.
    assert!(hertz.is_some_and(|hertz| (hertz - 2.4e9).abs() < 1.0), "{hertz:?}");
    assert_eq!(of(Some(["100", "17"])), ("none".to_owned(), None, false));
    let raised = of(Some(["100", "100"]));
    assert!(raised.0.starts_with("at least 100 % of the highest clock, by `/sys/"), "{}", raised.0);
    for silent in [None, Some(["", ""]), Some(["x", "17"]), Some(["101", "17"])] {
        let (said, hertz, is_on_page) = of(silent);
        assert_eq!((&*said, hertz, is_on_page), ("unavailable", None, false), "{silent:?}");
    }
}

/// Passive drivers show the share as the kernel's limit, too: raising that one would not help.
#[test]
fn a_share_of_the_clock_is_no_limit_that_somebody_wrote() {
    let mut made = Made::new(INTEL, 6, 0x9e, 2)
        .put_all("scaling_driver", "intel_cpufreq")
        .put_all("cpuinfo_max_freq", &4_700_000)
        .put_all("scaling_max_freq", &2_400_000);
    let page = |made: &Made| format!("{:?}", report::info(&made.record(), 0));
    assert!(page(&made).contains("Held down"), "{}", page(&made));
    made.files.put("/sys/devices/system/cpu/intel_pstate/max_perf_pct", "50");
    assert!(!page(&made).contains("Held down"), "{}", page(&made));
    assert!(page(&made).contains("Driver's share"), "{}", page(&made));
    // Less than the share is somebody's.
    let less = made.put_all("scaling_max_freq", &1_200_000);
    assert!(page(&less).contains("Held down"), "{}", page(&less));
}

/// Without turbo the highest clock is less than half of that with it: nothing is taken from it.
#[test]
fn a_share_of_the_clock_with_turbo_may_be_all_of_that_without() {
    let mut made = Made::new(INTEL, 6, 0x9e, 2)
        .put_all("scaling_driver", "intel_pstate")
        .put_all("base_frequency", &2_000_000)
        .put_all("cpuinfo_max_freq", &2_000_000)
        .registers(&[(0xce, 0x800_0000_1400), (0x1ad, 0x2f2f_2f2f_2f2f_2f2f)]);
    made.files.put("/sys/devices/system/cpu/intel_pstate/max_perf_pct", "80");
    made.files.put("/sys/devices/system/cpu/intel_pstate/no_turbo", "1");
    let clock = made.record().clock.unwrap();
    assert!(
        clock.allowed.iter().all(|it| it.source != "max_perf_pct" || it.hertz < 2e9),
        "{clock:?}"
    );
}

#[test]
fn what_the_kernel_shows_of_amd_is_a_limit() {
    let mut made = Made::new(AMD, 25, 17, 4);
    assert_eq!(power(&made), [""; 0]);
    made.files.put("/sys/class/hwmon/hwmon3/name", "amd_hsmp_hwmon");
    made.files.put("/sys/class/hwmon/hwmon3/power1_cap", "280000000");
    assert_eq!(power(&made), ["PPT 280 W (hwmon3/power1_cap)"]);
}

#[test]
fn registers_of_reasons_are_told_as_they_stand() {
    let made = Made::new(INTEL, 6, 0x9e, 2).registers(&[
        (0x64f, 0x3000_1000),
        (0x19c, 0x8841_0000),
        (0x1b1, 0x8841_0000),
        (0x1fc, 0x2),
    ]);
    let record = made.record();
    let page = format!("{:?}", report::info(&record, 1));
    for words in [
        "turbo limit of the active cores",
        "in force now, and logged",
        "turbo transition attenuation",
        "logged only",
        "MSR 64Fh bits 12, 28",
        "promotion of C1 to C1E",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("\"temperature\"") && !page.contains("power limit\""), "{page}");
    let conditions = conditions::read(&made.machine());
    assert_eq!(said(&conditions, "temperature"), "65 °C below its limit (MSR 19Ch)");
}

/// What the kernel lets CPUs have is no more than a setting, and it is said.
#[test]
fn a_bound_of_the_kernel_is_told_beside_the_clock_that_it_keeps() {
    let made = Made::new(AMD, 25, 80, 4)
        .put_all("cpuinfo_max_freq", &4_463_000)
        .put_all("scaling_max_freq", &400_000);
    let page = format!("{:?}", report::info(&made.record(), 0));
    assert!(page.contains("CPUs 0-3 at 400.0 MHz of 4.463 GHz"), "{page}");
    assert!(page.contains("`cpudyno set max_freq=4463MHz`"), "{page}");
    // Kinds with clocks of their own are each raised to their own.
    let several = made.clone().put(3, "cpuinfo_max_freq", &3_000_000);
    let page = format!("{:?}", report::info(&several.record(), 0));
    assert!(
        page.contains("CPUs 0-2 at 400.0 MHz of 4.463 GHz; CPU 3 at 400.0 MHz of 3.000 GHz"),
        "{page}"
    );
    assert!(page.contains("set max_freq@0-2=4463MHz max_freq@3=3000MHz`"), "{page}");
    let free = made.put_all("scaling_max_freq", &4_463_000);
    assert!(!format!("{:?}", report::info(&free.record(), 0)).contains("Held down"));
}

/// acpi-cpufreq lists steps without boost, counts boost into the highest clock, and its last step stands for boost.
#[test]
fn the_last_step_of_a_list_holds_nothing_down() {
    let made = Made::new(AMD, 25, 1, 4)
        .put_all("scaling_driver", "acpi-cpufreq")
        .put_all("cpuinfo_max_freq", &3_529_052)
        .put_all("scaling_available_frequencies", "2450000 2000000 1500000")
        .put_all("bios_limit", &2_450_000)
        .put_all("scaling_max_freq", &2_450_000);
    let page = |made: &Made| format!("{:?}", report::info(&made.record(), 0));
    assert!(!page(&made).contains("Held down"), "{}", page(&made));
    let record = made.record();
    let limiting = promise::limiting(record.clock.as_ref(), &(0..4).map(CpuId).collect()).count();
    assert_eq!(limiting, 0);
    let set = made.clone().put_all("scaling_max_freq", &2_000_000);
    assert!(page(&set).contains("CPUs 0-3 at 2.000 GHz of 3.529 GHz, by `scaling_max_freq`"));
    // Without boost the last step is all that there is.
    let off = made.clone().put_all("boost", "0");
    assert!(!page(&off).contains("Held down"), "{}", page(&off));
    let set = off.put_all("scaling_max_freq", &2_000_000);
    assert!(page(&set).contains("CPUs 0-3 at 2.000 GHz of 2.450 GHz"), "{}", page(&set));
}

/// What firmware limits, no setting raises; boost that is off for some is no bound that somebody wrote.
#[test]
fn who_holds_a_clock_down_is_named() {
    let made = Made::new(AMD, 25, 1, 4)
        .put_all("cpuinfo_max_freq", &4_100_000)
        .put_all("scaling_available_frequencies", "1700000 1600000 1400000")
        .put_all("bios_limit", &1_400_000)
        .put_all("scaling_max_freq", &1_400_000);
    let page = |made: &Made| format!("{:?}", report::info(&made.record(), 0));
    let said = page(&made);
    assert!(said.contains("CPUs 0-3 at 1.400 GHz of 4.100 GHz, by firmware (`bios_limit`)"));
    assert!(!said.contains("set max_freq"), "{said}");
    // Who sets less than firmware allows is told both.
    let said = page(&made.put(3, "bios_limit", &1_600_000));
    assert!(said.contains("CPU 3 at 1.600 GHz of 4.100 GHz"), "{said}");
    assert!(said.contains("CPU 3 at 1.400 GHz of 4.100 GHz, by `scaling_max_freq`"), "{said}");
    assert!(said.contains("`cpudyno set max_freq=4100MHz`"), "{said}");
    let mixed = Made::new(AMD, 25, 97, 4)
        .put_all("cpuinfo_max_freq", &5_263_000)
        .put_all("scaling_max_freq", &5_263_000)
        .put_all("boost", "1")
        .put_all("amd_pstate_max_freq", &5_263_000)
        .put(1, "boost", "0")
        .put(1, "cpuinfo_max_freq", &4_201_000)
        .put(1, "scaling_max_freq", &4_201_000);
    assert!(!page(&mixed).contains("Held down"), "{}", page(&mixed));
}

/// A good tree: a table of 5.7 GHz, the kernel's claim of it, levels, limits of power.
fn good() -> Made {
    let mut made = Made::new(INTEL, 6, 0xb7, 8)
        .registers(&TABLE)
        .registers(&[(0x606, 0xa_0e03), (0x610, 0x0000_83e8_0000_83e8)])
        .put_all("cpuinfo_max_freq", &5_700_000)
        .put_all("cpuinfo_min_freq", &800_000)
        .put_all("scaling_max_freq", &5_700_000)
        .put_all("scaling_min_freq", &800_000)
        .put_all("highest_perf", &72)
        .put_all("nominal_perf", &43)
        .put_all("nominal_freq", &3400);
    zone(&mut made, "intel-rapl:0", "package-0", [125, 125], "1");
    zone(&mut made, "intel-rapl-mmio:0", "package-0", [125, 125], "1");
    made
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever one file or register of a good tree is bent to, no claim goes beyond what the table proves, a table
    /// that says less has a word of it, and no limit of power is named that another one undercuts.
    #[test]
    fn a_bent_source_is_not_believed_against_a_good_one(
        cpu in 0u32..8,
        file in prop::sample::select(vec![
            "cpuinfo_max_freq", "cpuinfo_min_freq", "scaling_max_freq", "highest_perf", "nominal_perf",
        ]),
        value in 0u32..20_000_000,
        watts in 1u32..4000,
        by_memory: bool,
        gone in prop::option::of(prop::sample::select(vec![0xceu32, 0x1ae, 0x606, 0x610])),
    ) {
        let mut made = good().put(cpu, file, &value);
        let bent = if by_memory { "intel-rapl-mmio:0" } else { "intel-rapl:0" };
        zone(&mut made, bent, "package-0", [watts, 125], "1");
        if let Some(register) = gone {
            made.registers.remove(&register);
        }
        let record = made.record();
        let clock = record.clock.as_ref().unwrap();
        prop_assert!(clock.highest.iter().all(|it| it.hertz <= 5.7e9 * 1.011), "{:?}", clock.highest);
        let claim = f64::from(value) * 1e3;
        let disputed = said(&record.machine.facts, "cpu.disputed_clocks");
        if file == "cpuinfo_max_freq" && (5.8e9..20e9).contains(&claim) {
            prop_assert!(disputed.contains("`cpuinfo_max_freq` claims"), "{disputed}");
        }
        for limit in &record.machine.turbo_limits {
            let last = limit.steps.last().unwrap().active_cores;
            prop_assert_eq!(limit.beyond.is_some(), Some(last) < limit.cores);
        }
        let least = clock.power[0].watts.unwrap();
        prop_assert!(least <= f64::from(watts.min(125)) + 0.5, "{:?}", clock.power);
        let all: CpuSet = clock.highest.iter().flat_map(|it| it.cpus.iter()).collect();
        prop_assert!(all.len() <= 8);
    }
}
