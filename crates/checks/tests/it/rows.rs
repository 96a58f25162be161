//! Each row has a record in which it differs, and one in which it is as expected.

use checks::State;
use model::record::{
    ClockRecord, Fact, FactValue, IdleState, LimitReason, LimitState, Node, PageKind, Plan,
    PowerLimit, PowerLimitBeside, PowerTerm, Presentation, Record, Run,
};
use model::{CpuId, CpuSet, Known};

/// A check, what else is said, and what it reads when it differs and when not.
struct Case {
    id: &'static str,
    /// Facts and their texts.
    said: &'static [(&'static str, &'static str)],
    reads: &'static str,
    differs: &'static str,
    expected: &'static str,
}

const fn case(
    id: &'static str,
    said: &'static [(&'static str, &'static str)],
    reads: &'static str,
    [differs, expected]: [&'static str; 2],
) -> Case {
    Case { id, said, reads, differs, expected }
}

const DRIVER: &str = "cpufreq.driver";
const LINE: &str = "kernel.command_line";
const BARE: (&str, &str) = ("platform.virtualisation", "none (bare metal)");
const GUEST: (&str, &str) = ("platform.virtualisation", "KVM");
const INTEL: (&str, &str) = ("cpu.vendor", "GenuineIntel");
const AMD: (&str, &str) = ("cpu.vendor", "AuthenticAMD");
const CORE: (&str, &str) = ("cpu.microarchitecture", "Skylake");
const NODES: (&str, &str) = ("memory.nodes", "2 nodes; distances 10 to 21");
const ISOLATED: (&str, &str) = ("cpu.isolated", "2-3");
/// What is drawn from other parts of the record than facts.
const DRAWN: &str = "";

#[rustfmt::skip] // A check a line.
const CASES: &[Case] = &[
    case("governor", &[(DRIVER, "acpi-cpufreq")], "cpufreq.governor", ["performance (4), powersave (4)", "performance"]),
    case("governor-follows-load", &[(DRIVER, "cppc_cpufreq")], "cpufreq.governor", ["schedutil", "performance"]),
    case("epp", &[], "cpufreq.epp", ["balance_power", "balance_performance (4), performance (4)"]),
    case("epb", &[], "cpufreq.epb", ["6 (4), 15 (4)", "6"]),
    case("driver-intel", &[INTEL, BARE, CORE], DRIVER, ["acpi-cpufreq", "intel_pstate"]),
    case("driver-amd", &[AMD, BARE, ("cppc.performance", "highest 166")], DRIVER, ["acpi-cpufreq", "amd-pstate-epp"]),
    case("driver-passive", &[("turbo.hwp", "highest 39, guaranteed 20")], "cpufreq.mode", ["passive", "active"]),
    case("boost", &[], "cpufreq.boost", ["off", "on"]),
    case("clock-limit", &[("cpufreq.boost", "on"), ("cpufreq.share", "none"), ("cpu.max_frequency", "P: 4.6 GHz; E: 3.8 GHz")], "cpufreq.limits", ["0.4 to 4.6 GHz (4), 0.4 to 2 GHz (4)", "0.4 to 3.8 GHz (8), 0.4 to 4.6 GHz (4)"]),
    case("clock-share", &[], "cpufreq.share", ["at most 60 % of the highest clock, by `max_perf_pct`", "none"]),
    case("prochot", &[INTEL, BARE], DRAWN, ["", ""]),
    case("heat", &[INTEL, BARE], DRAWN, ["", ""]),
    case("p-state-limit", &[AMD, BARE], DRAWN, ["", ""]),
    case("power-hidden", &[INTEL, BARE], DRAWN, ["", ""]),
    case("uncore", &[], "uncore.limits", ["0.8 to 1.6 GHz (of 0.8 to 2.4 GHz)", "0.8 to 2.4 GHz"]),
    case("prefetchers", &[], "prefetchers", ["all on (2), off: bits 0 (2)", "all on"]),
    case("power-profile", &[], "power.profile", ["low-power", "balanced"]),
    case("preferred-cores", &[], "kernel.sched_itmt", ["0", "1"]),
    case("idle-disabled", &[], "idle.disabled", ["C6 (CPUs 0-1)", "none"]),
    case("idle-latency-limit", &[], "idle.resume_latency", ["any (2), 20 us (2)", "any"]),
    case("idle-parameters", &[], LINE, ["nosmt intel_idle.max_cstate=1", "nosmt"]),
    case("deep-sleep", &[("idle.states", "POLL, C6 290/800 us")], DRAWN, ["", ""]),
    case("idle-driver", &[INTEL, BARE, CORE], "idle.driver", ["acpi_idle, governor menu", "intel_idle, governor menu"]),
    case("smt", &[], "smt.control", ["forceoff", "notsupported"]),
    case("cpus-offline", &[("smt.control", "on")], "cpu.offline", ["6-7,10-11", "none"]),
    case("cpus-parameter", &[], LINE, ["quiet maxcpus=10", "quiet"]),
    case("quota", &[], "cgroup.quota", ["2 CPUs (200000 of 100000 us, cpu.max of its control group)", "8 CPUs (800000 of 100000 us, cpu.max of its control group), and no limit to 8 usable CPUs"]),
    case("cpuset", &[], "cpus.usable", ["3 of 8", "8 of 8"]),
    case("nohz-not-isolated", &[ISOLATED], "cpu.nohz_full", ["1-3", "2-3"]),
    case("isolated-ticks", &[ISOLATED], "cpu.nohz_full", ["2", "2-3"]),
    case("isolated-interrupts", &[ISOLATED], "interrupts.on_isolated", ["to CPUs 2 (4), 3 (1)", "none"]),
    case("emulated", &[], "platform.virtualisation", ["QEMU (emulated)", "KVM"]),
    case("guest-halts", &[GUEST], "idle.haltpoll", ["the guest halts right away", "for up to 200 us (guest_halt_poll_ns)"]),
    case("thp", &[], "thp.enabled", ["never", "madvise"]),
    case("thp-defrag", &[], "thp.defrag", ["always", "madvise"]),
    case("huge-pages-unused", &[("memory.total", "17179869184")], "memory.huge_pages", ["8 x 1 GiB (6 free), 8 x 2 MiB (0 free)", "8 x 1 GiB (1 free)"]),
    case("numa-balancing", &[NODES], "kernel.numa_balancing", ["0", "1"]),
    case("zone-reclaim", &[NODES], "vm.zone_reclaim_mode", ["1", "0"]),
    case("swap", &[("memory.total", "17179869184")], "memory.swapped", ["4294967296", "0"]),
    case("swappiness", &[], "vm.swappiness", ["180", "60"]),
    case("memory-limit", &[], "memory.limit", ["4 GiB", "none"]),
    case("memory-parameter", &[], LINE, ["mem=4G numa=off", "mem_encrypt=on numa_balancing=0"]),
    case("memory-channels", &[BARE], "memory.channels", ["15 of 16, empty: CPU2_DIMM_C1", "8 of 8 in each package"]),
    case("memory-slots", &[BARE], "memory.slots_empty", ["8", "0"]),
    case("memory-speed", &[BARE, ("memory.speed_rated", "5600000000")], "memory.speed", ["4800000000", "5600000000"]),
    case("memory-balance", &[BARE, NODES], DRAWN, ["", ""]),
    case("clock-source", &[], "clocksource", ["hpet", "tsc"]),
    case("timer", &[], "kernel.timer", ["1000", "250"]),
    case("preemption", &[], "kernel.preemption", ["real-time", "none or voluntary"]),
    case("mitigations", &[], "kernel.mitigations.each", ["meltdown: Mitigation: PTI | mds: Mitigation: Clear CPU buffers; SMT vulnerable", "spectre_v2: Mitigation: Enhanced / Automatic IBRS; IBPB: conditional | not affected: mds"]),
    case("page-clearing", &[], LINE, ["init_on_alloc=1", "init_on_alloc=0"]),
    case("kernel-debug", &[], "kernel.debug_options", ["KASAN, LOCKDEP", "none"]),
    case("nmi-watchdog", &[], "kernel.nmi_watchdog", ["1", "0"]),
    case("sched-ext", &[], "kernel.sched_ext", ["lavd", "none"]),
    case("sched-stats", &[], "kernel.sched_schedstats", ["1", "0"]),
];

/// A record without facts.
pub(crate) fn blank() -> Record {
    let run = Run {
        id: "1f".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        seconds: 1.0,
        command: Vec::new(),
        simulated: None,
        elsewhere: None,
        interrupted: None,
        plan: Plan::nothing(),
        events: Vec::new(),
        presentation: Presentation::of(PageKind::Doctor),
    };
    Record::new(run, model::record::Machine::default())
}

/// Says a text of the machine.
pub(crate) fn say(record: &mut Record, id: &str, text: &str) {
    let value = Known::Yes(FactValue::Text(text.to_owned()));
    record.machine.facts.push(Fact { id: id.to_owned(), label: id.to_owned(), value });
}

fn cpus(list: &str) -> CpuSet {
    list.parse().unwrap()
}

fn put_nodes(record: &mut Record, differs: bool) {
    let sizes = if differs { [64_u64 << 30, 32 << 30] } else { [64 << 30, 63 << 30] };
    let node = |(id, bytes): (u32, u64)| Node {
        id,
        cpus: CpuSet::from_iter([CpuId(id)]),
        not_shown: CpuSet::default(),
        memory_bytes: Some(bytes),
        usable: None,
        distances: std::collections::BTreeMap::new(),
    };
    record.machine.topology.nodes = (0..).zip(sizes).map(node).collect();
}

fn put_idle_state(record: &mut Record, differs: bool) {
    record.machine.idle_states.push(IdleState {
        name: "C6".to_owned(),
        description: String::new(),
        latency_seconds: Some(290e-6),
        residency_seconds: None,
        cpus: cpus("0-1"),
        disabled_on: if differs { cpus("0") } else { cpus("0-1") },
    });
    record.machine.idle_states.push(IdleState {
        latency_seconds: Some(1e-6),
        disabled_on: CpuSet::default(),
        ..record.machine.idle_states[0].clone()
    });
}

fn reason(id: &str, active: bool) -> LimitReason {
    let state = LimitState { active, logged: active };
    LimitReason {
        id: id.to_owned(),
        label: id.to_owned(),
        cpus: cpus("0"),
        of_cores: false,
        source: "MSR 19Ch".to_owned(),
        before: state,
        after: state,
        spared: Vec::new(),
        met: Vec::new(),
    }
}

fn put_clock(record: &mut Record, on: &str, differs: bool) {
    let is_on = |id: &str| differs && on == id;
    let power = PowerLimit {
        package: 0,
        term: PowerTerm::Long,
        watts: Some(15.0),
        no_limit_watts: None,
        seconds: Some(28.0),
        enabled: true,
        locked: None,
        source: if is_on("power-hidden") { "intel-rapl-mmio:0" } else { "MSR 610h" }.to_owned(),
        beside: vec![PowerLimitBeside {
            watts: Some(28.0),
            no_limit_watts: None,
            enabled: true,
            source: "MSR 610h".to_owned(),
        }],
    };
    record.clock = Some(ClockRecord {
        power: vec![power],
        asked: vec!["MSR 19Ch".to_owned()],
        reasons: [("prochot", "prochot"), ("thermal", "heat"), ("p-state-limit", "p-state-limit")]
            .map(|(id, check)| reason(id, is_on(check)))
            .into(),
        ..ClockRecord::default()
    });
}

fn record(case: &Case, differs: bool) -> Record {
    let mut record = blank();
    for (id, text) in case.said {
        say(&mut record, id, text);
    }
    let text = if differs { case.differs } else { case.expected };
    match case.id {
        // What a guest without polling says is a reason.
        "guest-halts" if differs => {
            let why = model::Unavailable::new(model::Obstacle::Permission, "polling", text);
            let value = Known::No { unavailable: why };
            let id = case.reads.to_owned();
            record.machine.facts.push(Fact { label: id.clone(), id, value });
        }
        _ if case.reads != DRAWN => say(&mut record, case.reads, text),
        _ => {}
    }
    put_nodes(&mut record, differs);
    put_idle_state(&mut record, differs);
    put_clock(&mut record, case.id, differs);
    record
}

/// What a check says of a record.
pub(crate) fn state(record: &Record, id: &str) -> State {
    let all = checks::of(record);
    all.into_iter().find(|checked| checked.check.id == id).unwrap().state
}

#[test]
fn every_row_differs_in_one_record_and_is_as_expected_in_another() {
    let ids: Vec<&str> = checks::table().iter().map(|check| check.id.as_str()).collect();
    assert_eq!(ids, CASES.iter().map(|case| case.id).collect::<Vec<_>>(), "a case for each row");
    for case in CASES {
        let differing = state(&record(case, true), case.id);
        assert!(matches!(differing, State::Differs { .. }), "{}: {differing:?}", case.id);
        assert_eq!(state(&record(case, false), case.id), State::AsExpected, "{}", case.id);
    }
}

#[test]
fn what_differs_is_said_in_short() {
    for case in CASES {
        let State::Differs { found, expected } = state(&record(case, true), case.id) else {
            panic!("{}", case.id)
        };
        for text in [&found, &expected] {
            assert!((1..=110).contains(&text.chars().count()), "{}: {text}", case.id);
        }
        assert_ne!(found, expected, "{}", case.id);
    }
}

#[test]
fn every_cost_of_a_row_is_in_the_table() {
    for check in checks::table() {
        if let Some(cost) = &check.cost {
            assert!(checks::costs().any(|known| known == cost), "{}: {cost}", check.id);
        }
    }
}
