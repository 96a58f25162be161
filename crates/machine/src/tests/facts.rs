use std::collections::BTreeSet;

use simulated::Files;

use super::{check_absences, machine_of, said, say, simulated};
use crate::facts::fact_table::FactRow;
use crate::ports::Machine;
use crate::{conditions, facts};

#[test]
fn facts_of_a_simulated_server_are_what_was_put_in() {
    let machine = facts::machine(&simulated("2s-56c"));
    let facts: Vec<String> =
        machine.facts.iter().map(|fact| format!("{}: {}", fact.id, say(fact))).collect();
    assert_eq!(
        facts,
        [
            "cpu.brand: SIMULATED 2 x 56 cores",
            "cpu.vendor: GenuineIntel",
            "cpu.family_model_stepping: 6/143/8",
            "cpu.microcode: 0x1",
            "cpu.microarchitecture: SIMULATED wide core",
            "cpu.core_types: one type",
            "cpu.isa: avx fma avx2 avx512f avx512cd avx512bw avx512vl",
            "cpu.isa_not_enabled: unavailable",
            "cpu.cores: 2 packages, 112 cores, 224 CPUs (SMT 2)",
            "cpu.kinds: one kind",
            "cpu.dies: 1 per package",
            "cpu.caches: L1d 48 KiB, L2 2 MiB, L3 105 MiB shared by 56 cores",
            "cpu.offline: none",
            "cpu.not_shown: none",
            "cpu.isolated: none",
            "cpu.nohz_full: none",
            "memory.nodes: 2 nodes; distances 10 to 21",
            "cpu.base_frequency: 2000000000 Hz",
            "cpu.max_frequency: 3800000000 Hz",
            "cpu.min_frequency: 800000000 Hz",
            "cpu.disputed_clocks: none",
            "turbo.ratio_limits: 3.8 GHz to 2 cores, 3.7 GHz to 8, 3.5 GHz to 16, 3.3 GHz to 32, \
              3.1 GHz to 48, 3 GHz to 56",
            "turbo.hwp: highest 38, guaranteed 20, efficient 11, lowest 8",
            "cppc.performance: unavailable",
            "cppc.favoured_cores: none: all have 38 (MSR 771h)",
            "uncore.limits: 0.8 to 2.5 GHz",
            "idle.driver: intel_idle, governor menu",
            "idle.states: POLL, C1 1/1 us, C1E 2/4 us, C6 290/800 us",
            "idle.haltpoll: unavailable",
            "memory.total: 549755813888 B",
            "memory.limit: none",
            "memory.huge_pages: 1024 x 2 MiB (1000 free)",
            "memory.dimms: unavailable",
            "memory.slots_empty: unavailable",
            "memory.channels: unavailable",
            "memory.speed: unavailable",
            "memory.speed_rated: unavailable",
            "memory.ecc: unavailable",
            "memory.disputed: unavailable",
            "platform.virtualisation: none (bare metal)",
            "platform.model: SIMULATED server",
            "platform.firmware: SIMULATED firmware 1 (01/01/2026)",
            "kernel.release: 6.1.0-simulated",
            "kernel.preemption: none",
            "kernel.timer: unavailable",
            "kernel.command_line: mitigations=auto preempt=none nmi_watchdog=0 (3 others not shown)",
            "cgroup.version: version 2",
            "kernel.mitigations: 3 mitigated",
            "kernel.mitigations.each: spec_store_bypass: Mitigation: Speculative Store Bypass \
             disabled via prctl | spectre_v1: Mitigation: usercopy/swapgs barriers and __user \
             pointer sanitization | spectre_v2: Mitigation: Enhanced / Automatic IBRS; IBPB: \
             conditional; RSB filling | not affected: gather_data_sampling, l1tf, meltdown",
            "kernel.debug_options: unavailable",
        ]
    );
}

#[test]
fn what_a_small_machine_lacks_is_not_there() {
    let facts = facts::machine(&simulated("1c")).facts;
    assert_eq!(said(&facts, "cpu.isa"), "avx fma avx2");
    assert_eq!(said(&facts, "cpu.cores"), "1 package, 1 core, 1 CPU (no SMT)");
    let guest = facts::machine(&simulated("vm-2c")).facts;
    assert_eq!(said(&guest, "platform.virtualisation"), "KVM");
}

#[test]
fn conditions_of_a_server_and_of_a_guest() {
    let server = conditions::read(&simulated("2s-56c"));
    for (id, expected) in [
        ("cpufreq.driver", "intel_pstate"),
        ("cpufreq.governor", "performance"),
        ("cpufreq.boost", "on"),
        ("cpufreq.limits", "0.8 to 3.8 GHz"),
        ("smt.control", "on"),
        ("thp.enabled", "madvise"),
        ("clocksource", "tsc"),
        ("load", "0.00"),
        ("temperature", "45 °C"),
        ("cpus.usable", "224 of 224"),
        ("cgroup.quota", "none"),
        ("user", "plain user"),
    ] {
        assert_eq!(said(&server, id), expected, "{id}");
    }
    let guest = conditions::read(&simulated("vm-2c"));
    let governor = guest.iter().find(|fact| fact.id == "cpufreq.governor").unwrap();
    assert!(format!("{governor:?}").contains("the hypervisor does not show it"), "{governor:?}");
    check_absences(&guest);
}

#[test]
fn a_machine_that_says_nothing_is_no_reason_to_panic() {
    let empty = machine_of(Files::default(), "");
    for facts in [facts::machine(&empty).facts, conditions::read(&empty)] {
        check_absences(&facts);
        let known: Vec<&str> = facts
            .iter()
            .filter(|fact| fact.value.value().is_some())
            .map(|fact| fact.id.as_str())
            .collect();
        assert!(known.iter().all(|id| ["cpus.usable", "user"].contains(id)), "{known:?}");
    }
    assert!(facts::isa(&empty).is_err());
}

#[test]
fn rows_have_unique_ids_and_labels() {
    for table in facts::TABLES.iter().chain(&[conditions::TABLE]) {
        let unique =
            |key: fn(&FactRow) -> &'static str| table.iter().map(key).collect::<BTreeSet<_>>();
        assert_eq!(unique(|row| row.id).len(), table.len());
        assert_eq!(unique(|row| row.label).len(), table.len());
    }
}

#[test]
fn different_settings_are_folded() {
    let mut files = Files::default();
    files.put("/sys/devices/system/cpu/online", "0-3");
    for (cpu, governor) in ["powersave", "performance", "powersave", "powersave"].iter().enumerate()
    {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        files.put(path, *governor);
    }
    let conditions = conditions::read(&machine_of(files, "0-3"));
    assert_eq!(said(&conditions, "cpufreq.governor"), "powersave (3), performance (1)");
}

#[test]
fn quotas_of_both_versions_of_cgroup() {
    let quota_of = |membership: &str, files_of_group: &[(&str, &str)]| {
        let mut files = Files::default();
        files.put("/proc/self/cgroup", membership);
        for (path, text) in files_of_group {
            files.put(format!("/sys/fs/cgroup/{path}"), *text);
        }
        said(&conditions::read(&machine_of(files, "0")), "cgroup.quota")
    };
    let starts = |told: String, start: &str| assert!(told.starts_with(start), "{told}");
    starts(quota_of("0::/a/b", &[("a/cpu.max", "150000 100000")]), "1.5 CPUs (");
    assert_eq!(quota_of("0::/a", &[("a/cpu.max", "max 100000")]), "none");
    let v1 = [("cpu/x/cpu.cfs_quota_us", "50000"), ("cpu/x/cpu.cfs_period_us", "100000")];
    let told = "0.5 CPU (50000 of 100000 us, cpu.cfs_quota_us of its control group)";
    assert_eq!(quota_of("4:cpu,cpuacct:/x\n0::/", &v1), told);
    let unlimited = [("cpu/cpu.cfs_quota_us", "-1"), ("cpu/cpu.cfs_period_us", "100000")];
    assert_eq!(quota_of("1:cpu:/", &unlimited), "none");
    assert_eq!(quota_of("0::/", &[]), "unavailable");
}

#[test]
fn the_real_machine_answers() {
    let machine = Machine::real();
    let facts = facts::machine(&machine);
    check_absences(&facts.facts);
    check_absences(&conditions::read(&machine));
    assert!(!facts.topology.usable.is_empty());
    assert_eq!(facts.topology.cpus.len(), facts.topology.usable.len());
    assert_ne!(said(&facts.facts, "kernel.release"), "unavailable");
    assert_eq!(machine.host.run_id().len(), 12);
    assert!(machine.host.now_utc().ends_with('Z'));
}
