//! Machines that answer anything, and everything that reads a machine. The targets in `fuzz/` share
//! it.

use std::sync::Arc;

use machine::isst::{DomainAddress, RecordedIsst};
use machine::memory::Room;
use machine::permissions::{Permits, Question};
use machine::pmu::{self, Pmu};
use machine::{Cpuid, Files, KnownHost, Machine, Msr};
use model::record::{Fact, FactValue, PageKind, Presentation};
use model::{CpuId, Known, Obstacle, Pages, Reading, Unavailable};
use sys::cpuid::Leaf;

/// Everything that reads a machine, and the pages of it.
pub fn survey(machine: &Machine) {
    let presentation = Presentation { width: 80, verbosity: 1, ..Presentation::of(PageKind::Info) };
    let record = machine::describe(machine, Vec::new(), presentation);
    for facts in [&record.machine.facts, &record.machine.capabilities, &record.conditions.before] {
        check(facts);
    }
    for verbosity in 0..2 {
        report::info(&record, verbosity);
        report::doctor(&record, verbosity);
    }
    for name in pmu::names(&*machine.tree).unwrap_or_default() {
        check_pmu(Pmu::new(&*machine.tree, &name));
    }
    check_isst(machine);
    for pages in Pages::ALL {
        check_room(machine::memory::room(machine, *pages));
        check_room(machine::memory::room_on_node(machine, *pages, 0));
    }
}

/// What is said of a PMU can be used, or has a reason.
fn check_pmu(pmu: Pmu<'_>) {
    let reasons = [pmu.kind().err(), pmu.cpus().err()].into_iter().flatten();
    assert!(reasons.into_iter().all(|reason| !reason.why.is_empty()), "{}", pmu.name());
    for event in pmu.events().unwrap_or_default() {
        match pmu.event(&event) {
            Ok(event) => assert!(event.scale.is_none_or(|s| s.is_finite() && s > 0.0)),
            Err(reason) => assert!(!reason.why.is_empty(), "{reason:?}"),
        }
    }
}

/// Registers of Speed Select answer every question, or refuse it.
fn check_isst(machine: &Machine) {
    let Ok(device) = machine.isst.open() else { return };
    let _ = device.physical(&[CpuId(0), CpuId(u32::MAX)]);
    let _ = device.msr(&[(CpuId(0), 0x1ad)]);
    for (package, domain) in [(0, 0), (0, 15), (1, 0), (255, 255)] {
        let at = DomainAddress { package, domain };
        let _ = (device.instances(package), device.core_power(at), device.levels(at));
        let _ = (device.class(at, 3), device.associations(&[(at, 63)]));
        for level in [0, 1, 4, 5, 255] {
            let _ = (device.level(at, level), device.cores(at, level));
            let _ = (device.base_freq(at, level), device.base_freq_cores(at, level));
            let _ = (device.turbo_freq(at, level), device.fabrics(at, level));
        }
    }
}

/// Never more than there is.
fn check_room(room: Reading<Room>) {
    match room {
        Ok(room) => assert!(room.usable() <= room.bytes, "{room:?}"),
        Err(unavailable) => assert!(!unavailable.why.is_empty(), "{unavailable:?}"),
    }
}

/// Every absence has a reason, every number is one.
fn check(facts: &[Fact]) {
    for fact in facts {
        match &fact.value {
            Known::No { unavailable } => assert!(!unavailable.why.is_empty(), "{fact:?}"),
            Known::Yes(FactValue::Number { value, .. }) => {
                assert!(value.is_finite(), "{fact:?}");
            }
            Known::Yes(FactValue::Text(_)) => {}
        }
    }
}

/// A machine of these files whose registers answer with what they are given.
pub fn machine_of(files: Files, words: Vec<u32>) -> Machine {
    let msr: Arc<dyn Msr> = Arc::new(Words(words.clone()));
    Machine {
        tree: Box::new(files.clone()),
        cpuid: Box::new(Words(words.clone())),
        msr: Arc::clone(&msr),
        isst: Arc::new(RecordedIsst::new(files, msr)),
        permits: Box::new(Words(words)),
        perf: Box::new(machine::perf::Elsewhere("files of a test".to_owned())),
        host: Box::new(KnownHost {
            now_utc: "2026-01-01T00:00:00Z".to_owned(),
            run_id: "0123456789ab".to_owned(),
            seed: 1,
            affinity: Err(Unavailable::new(Obstacle::Cpudyno, "affinity", "it is a test")),
            is_root: false,
        }),
        elsewhere: Some("files of a test".to_owned()),
        simulated: None,
        worker: None,
    }
}

/// Registers that hold whatever comes.
struct Words(Vec<u32>);

impl Words {
    fn word(&self, place: u32) -> u32 {
        let count = self.0.len().max(1);
        self.0.get(place as usize % count).copied().unwrap_or(0)
    }
}

impl Cpuid for Words {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
        let word = |n: u32| self.word(leaf.wrapping_mul(7).wrapping_add(subleaf * 4 + n));
        (!self.0.is_empty()).then(|| Leaf {
            eax: word(0),
            ebx: word(1),
            ecx: word(2),
            edx: word(3),
        })
    }

    fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        self.leaf(leaf.wrapping_add(cpu.0), subleaf)
    }

    fn xcr0(&self) -> Option<u64> {
        self.0.first().map(|word| u64::from(*word))
    }
}

impl Msr for Words {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        if self.0.is_empty() {
            return Err(Unavailable::new(Obstacle::Hardware, "register", "no registers"));
        }
        let place = register.wrapping_add(cpu.0);
        Ok(u64::from(self.word(place)) << 32 | u64::from(self.word(place.wrapping_add(1))))
    }
}

impl Permits for Words {
    fn ask(&self, question: Question) -> Reading<String> {
        Err(Unavailable::new(Obstacle::Cpudyno, question.name(), "it is a test"))
    }
}

/// Files whose texts are worth spoiling.
pub const PATHS: &[&str] = &[
    "/sys/firmware/dmi/tables/DMI",
    "/sys/devices/system/edac/mc/mc0/ce_count",
    "/sys/devices/system/edac/mc/mc0/ce_noinfo_count",
    "/sys/devices/system/edac/mc/mc0/max_location",
    "/sys/devices/system/edac/mc/mc0/dimm0/size",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_location",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_label",
    "/sys/devices/system/edac/mc/mc0/rank1/size",
    "/sys/devices/system/edac/mc/mc0/rank1/dimm_ce_count",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/cpu0/topology/core_id",
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "/sys/devices/system/cpu/cpu0/topology/die_id",
    "/sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "/sys/devices/system/cpu/cpu1/topology/core_cpus_list",
    "/sys/devices/system/cpu/cpu0/cache/index0/level",
    "/sys/devices/system/cpu/cpu0/cache/index0/type",
    "/sys/devices/system/cpu/cpu0/cache/index0/size",
    "/sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity",
    "/sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "/sys/devices/system/cpu/cpu0/cache/index3/level",
    "/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpu0/cpufreq/base_frequency",
    "/sys/devices/system/cpu/cpu0/cpuidle/state0/name",
    "/sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
    "/sys/devices/system/cpu/cpu0/cpuidle/state0/residency",
    "/sys/devices/system/cpu/cpu0/acpi_cppc/highest_perf",
    "/sys/devices/system/cpu/cpu0/acpi_cppc/nominal_perf",
    "/sys/devices/system/cpu/vulnerabilities/meltdown",
    "/sys/devices/system/node/online",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/devices/system/node/node0/distance",
    "/sys/devices/system/node/node0/meminfo",
    "/sys/devices/cpu_core/cpus",
    "/sys/devices/cpu_atom/cpus",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/class/hwmon/hwmon0/name",
    "/sys/class/hwmon/hwmon0/temp1_input",
    "/sys/class/thermal/thermal_zone0/temp",
    "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw",
    "/sys/kernel/debug/tpmi-0000:00:03.1/tpmi-id-05/mem_dump",
    "/sys/kernel/debug/tpmi-0000:00:03.1/tpmi-id-81/mem_dump",
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/memory.stat",
    "/proc/bus/pci/devices",
    "/proc/cpuinfo",
    "/proc/device-tree/hypervisor/compatible",
    "/proc/device-tree/model",
    "/proc/meminfo",
    "/proc/cmdline",
    "/proc/loadavg",
    "/proc/self/cgroup",
    "/proc/self/limits",
    "/proc/self/status",
    "/proc/sys/kernel/osrelease",
    "/proc/sysinfo",
    "/sys/class/dmi/id/bios_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/hypervisor/type",
    "/sys/bus/event_source/devices/uncore_imc_0/type",
    "/sys/bus/event_source/devices/uncore_imc_0/cpumask",
    "/sys/bus/event_source/devices/uncore_imc_0/format/event",
    "/sys/bus/event_source/devices/uncore_imc_0/format/umask",
    "/sys/bus/event_source/devices/uncore_imc_0/events/cas_count_read",
    "/sys/bus/event_source/devices/uncore_imc_0/events/cas_count_read.scale",
    "/sys/bus/event_source/devices/uncore_imc_0/events/cas_count_read.unit",
];
