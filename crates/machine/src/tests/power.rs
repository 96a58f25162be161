use std::sync::Arc;

use model::Reading;
use proptest::prelude::*;
use simulated::Files;

use super::{check_absences, machine_of, said};
use crate::ports::{Machine, Msr};
use crate::{conditions, facts};

const CPU: &str = "/sys/devices/system/cpu";

/// Where frequencies, performance levels and idle states of two CPUs are read.
fn paths() -> Vec<String> {
    let mut paths: Vec<String> = ["driver", "governor"]
        .iter()
        .map(|file| format!("{CPU}/cpuidle/current_{file}"))
        .chain(
            ["intel_pstate/no_turbo", "intel_pstate/status", "cpufreq/boost"]
                .map(|file| format!("{CPU}/{file}")),
        )
        .collect();
    for cpu in 0..2 {
        for file in [
            "affected_cpus",
            "scaling_driver",
            "scaling_min_freq",
            "scaling_max_freq",
            "cpuinfo_max_freq",
            "cpuinfo_min_freq",
            "base_frequency",
            "scaling_available_frequencies",
            "boost",
        ] {
            paths.push(format!("{CPU}/cpufreq/policy{cpu}/{file}"));
        }
        for file in ["highest_perf", "nominal_perf", "nominal_freq", "lowest_perf"] {
            paths.push(format!("{CPU}/cpu{cpu}/acpi_cppc/{file}"));
        }
        for file in ["name", "latency", "residency", "disable"] {
            paths.push(format!("{CPU}/cpu{cpu}/cpuidle/state0/{file}"));
        }
        paths.push(format!("{CPU}/cpu{cpu}/power/energy_perf_bias"));
    }
    for file in ["min_freq_khz", "max_freq_khz", "initial_min_freq_khz"] {
        paths.push(format!("{CPU}/intel_uncore_frequency/uncore00/{file}"));
    }
    paths
}

/// Answers the same to every question.
struct Same(u64);

impl Msr for Same {
    fn read(&self, _cpu: model::CpuId, _register: u32) -> Reading<u64> {
        Ok(self.0)
    }
}

fn cpuinfo(vendor: &str, family: u32, model: u32) -> String {
    format!(
        "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n\
         stepping\t: 1\nflags\t\t: hwp epb"
    )
}

fn answers(machine: &Machine) {
    let facts = facts::machine(machine);
    check_absences(&facts.facts);
    check_absences(&conditions::read(machine));
    for step in facts.turbo_limits.iter().flat_map(|limit| &limit.steps) {
        assert!(step.hertz > 0.0 && step.hertz < 20e9 && step.active_cores > 0, "{step:?}");
    }
    for state in &facts.idle_states {
        for seconds in [state.latency_seconds, state.residency_seconds].into_iter().flatten() {
            assert!((0.0..=1000.0).contains(&seconds), "{state:?}");
        }
    }
}

#[test]
fn policies_count_their_cpus_and_cpus_without_one_are_not_hidden() {
    let mut files = Files::default();
    files.put(format!("{CPU}/online"), "0-4");
    for (policy, cpus, governor) in [(0, "0 1 2", "schedutil"), (3, "3", "performance")] {
        files.put(format!("{CPU}/cpufreq/policy{policy}/affected_cpus"), cpus);
        files.put(format!("{CPU}/cpufreq/policy{policy}/scaling_governor"), governor);
        files.put(format!("{CPU}/cpufreq/policy{policy}/boost"), "1");
    }
    let machine = machine_of(files, "0-4");
    let conditions = conditions::read(&machine);
    let governors = said(&conditions, "cpufreq.governor");
    assert_eq!(governors, "schedutil (3), performance (1), unreadable (1)");
    assert_eq!(said(&conditions, "cpufreq.boost"), "on (4), unreadable (1)");
}

#[test]
fn absurd_frequencies_are_a_reason() {
    for kilohertz in ["0", "-1", "4294967295000", "inf", "<unsupported>", ""] {
        let mut files = Files::default();
        files.put(format!("{CPU}/online"), "0");
        files.put(format!("{CPU}/cpufreq/policy0/affected_cpus"), "0");
        files.put(format!("{CPU}/cpufreq/policy0/cpuinfo_max_freq"), kilohertz);
        let facts = facts::machine(&machine_of(files, "0")).facts;
        assert_eq!(said(&facts, "cpu.max_frequency"), "unavailable", "{kilohertz}");
    }
}

proptest! {
    #[test]
    fn whatever_files_and_registers_hold_is_a_fact_or_a_reason(
        texts in proptest::collection::vec("[0-9]{0,12}|[ -~]{0,12}|\\PC{0,6}", 50),
        register: u64,
        vendor in "GenuineIntel|AuthenticAMD|HygonGenuine|x",
        family in 5u32..28,
        model in 0u32..256,
    ) {
        let mut files = Files::default();
        files.put(format!("{CPU}/online"), "0-1");
        files.put("/proc/cpuinfo", &cpuinfo(&vendor, family, model));
        for (path, text) in paths().into_iter().zip(texts) {
            files.put(path, &text);
        }
        let mut machine = machine_of(files, "0-1");
        machine.msr = Arc::new(Same(register));
        answers(&machine);
    }
}

#[test]
fn switches_that_say_nothing_are_not_off() {
    for path in ["intel_pstate/no_turbo", "cpufreq/boost"] {
        for answer in ["", "2", "on"] {
            let mut files = Files::default();
            files.put(format!("{CPU}/online"), "0");
            files.put(format!("{CPU}/{path}"), answer);
            let conditions = conditions::read(&machine_of(files, "0"));
            assert_eq!(said(&conditions, "cpufreq.boost"), "unavailable", "{path} `{answer}`");
        }
    }
}

#[test]
fn numbers_that_no_machine_has_are_a_reason() {
    let mut files = Files::default();
    let cache = format!("{CPU}/cpu0/cache/index0");
    for (path, answer) in [
        (format!("{CPU}/online"), "0"),
        (format!("{CPU}/cpufreq/policy0/affected_cpus"), "0"),
        (format!("{CPU}/cpufreq/policy0/scaling_governor"), ""),
        (format!("{cache}/level"), "1"),
        (format!("{cache}/type"), "Data"),
        (format!("{cache}/size"), "18446744073709551615K"),
        (format!("{cache}/shared_cpu_list"), "0"),
        ("/sys/devices/system/node/node0/cpulist".into(), "0"),
        ("/sys/devices/system/node/node0/meminfo".into(), "Node 0 MemTotal: 99999999999999999 kB"),
        ("/proc/meminfo".into(), "MemTotal: 18446744073709551615 kB"),
        ("/sys/class/thermal/thermal_zone0/temp".into(), "-274000"),
    ] {
        files.put(path, answer);
    }
    let machine = machine_of(files, "0");
    let conditions = conditions::read(&machine);
    assert_eq!(said(&conditions, "cpufreq.governor"), "unavailable");
    assert_eq!(said(&conditions, "temperature"), "unavailable");
    let facts = facts::machine(&machine);
    assert_eq!(said(&facts.facts, "memory.total"), "unavailable");
    assert_eq!(facts.topology.caches[0].bytes, None);
    assert_eq!(facts.topology.nodes[0].memory_bytes, None);
}

#[test]
fn empty_lists_make_no_packages() {
    let mut files = Files::default();
    files.put(format!("{CPU}/online"), "0-3");
    for cpu in 0..4 {
        for file in ["package_cpus_list", "core_cpus_list", "physical_package_id"] {
            files.put(format!("{CPU}/cpu{cpu}/topology/{file}"), "");
        }
    }
    let topology = facts::machine(&machine_of(files, "0-3")).topology;
    assert!(topology.cpus.iter().all(|place| place.package == 0), "{topology:?}");
}
