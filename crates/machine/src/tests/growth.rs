//! Two looks at a machine that works, between which one of its counters fell: nothing that is told is more than can be,
//! and what rests on that counter is told with a word.

use std::fmt::Write as _;
use std::time::Duration;

use model::record::{Fact, FactValue, THERMAL_THROTTLES};
use model::{CpuSet, Known, Reading, Unit};
use proptest::prelude::*;

use super::activity::{Changing, two_packages};
use crate::activity::Activity;
use crate::disturbances;
use crate::ports::Machine;

const CPU: &str = "/sys/devices/system/cpu";
const CPUS: usize = 2;
/// Of each CPU in `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
const FIELDS: usize = 8;
const IDLE: usize = 3;
const IOWAIT: usize = 4;
const STEAL: usize = 7;

/// What the kernel counts, in the order of [`Counts::put`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counter {
    /// Ticks of a CPU in a field.
    Stat(usize, usize),
    /// Interrupts of a CPU.
    Interrupts(usize),
    /// Throttles of a core, and of a package.
    Throttles(&'static str, usize),
    /// Microseconds of a CPU in its idle state.
    Idle(usize),
    /// Microjoules of a package.
    Energy(usize),
    /// Of the control group.
    Group(&'static str),
}

fn all() -> Vec<Counter> {
    let of_cpu = |cpu| {
        let stat = (0..FIELDS).map(move |field| Counter::Stat(cpu, field));
        stat.chain([
            Counter::Interrupts(cpu),
            Counter::Throttles("core", cpu),
            Counter::Throttles("package", cpu),
            Counter::Idle(cpu),
            Counter::Energy(cpu),
        ])
    };
    let of_group = ["nr_throttled", "throttled_usec"].map(Counter::Group);
    (0..CPUS).flat_map(of_cpu).chain(of_group).collect()
}

/// Writes what all counters say.
fn put(files: &Changing, counts: &[u64]) {
    let count = |wanted: Counter| {
        let at = all().iter().position(|counter| *counter == wanted).unwrap();
        counts[at]
    };
    let mut stat = String::from("cpu 0 0 0 0 0 0 0 0\n");
    let mut interrupts = String::from("  CPU0 CPU1\n 7:");
    for cpu in 0..CPUS {
        let fields = (0..FIELDS).map(|field| count(Counter::Stat(cpu, field)).to_string());
        writeln!(stat, "cpu{cpu} {} 0 0", fields.collect::<Vec<_>>().join(" ")).unwrap();
        write!(interrupts, " {}", count(Counter::Interrupts(cpu))).unwrap();
        for scope in ["core", "package"] {
            let path = format!("{CPU}/cpu{cpu}/thermal_throttle/{scope}_throttle_count");
            files.put(&path, &count(Counter::Throttles(scope, cpu)).to_string());
        }
        let state = format!("{CPU}/cpu{cpu}/cpuidle/state0");
        files.put(&format!("{state}/name"), "C1");
        files.put(&format!("{state}/time"), &count(Counter::Idle(cpu)).to_string());
        let zone = format!("/sys/class/powercap/intel-rapl:{cpu}");
        files.put(&format!("{zone}/name"), &format!("package-{cpu}"));
        files.put(&format!("{zone}/max_energy_range_uj"), "262143328850");
        files.put(&format!("{zone}/energy_uj"), &count(Counter::Energy(cpu)).to_string());
    }
    files.put("/proc/stat", &stat);
    files.put("/proc/interrupts", &(interrupts + "  IO-APIC\n"));
    files.put("/proc/self/cgroup", "0::/");
    let group = |name| format!("{name} {}\n", count(Counter::Group(name)));
    files.put("/sys/fs/cgroup/cpu.stat", &(group("nr_throttled") + &group("throttled_usec")));
}

/// The facts of disturbances that a counter is a part of.
fn facts_of(counter: Counter) -> Vec<&'static str> {
    match counter {
        Counter::Stat(_, IDLE | IOWAIT) | Counter::Idle(_) | Counter::Energy(_) => Vec::new(),
        Counter::Stat(_, STEAL) => vec!["disturbance.steal", "disturbance.wanted"],
        Counter::Stat(..) => vec!["disturbance.wanted"],
        Counter::Interrupts(_) => vec!["disturbance.interrupts"],
        Counter::Throttles("core", _) => vec![THERMAL_THROTTLES[0]],
        Counter::Throttles(..) => vec![THERMAL_THROTTLES[1]],
        Counter::Group("nr_throttled") => vec!["disturbance.cgroup_throttles"],
        Counter::Group(_) => vec!["disturbance.cgroup_throttled"],
    }
}

/// The column that holds what a counter grew by, and nothing else.
fn column_of(counter: Counter) -> Option<(&'static str, usize)> {
    match counter {
        Counter::Idle(cpu) => Some(("C1%", cpu)),
        Counter::Energy(package) => Some(("PkgWatt", package)),
        _ => None,
    }
}

/// What happened between two looks at a machine.
struct Seen {
    values: Vec<(String, Unit, Vec<Reading<f64>>)>,
    disturbances: Vec<Fact>,
}

fn seen(machine: &Machine, files: &Changing, before: &[u64], after: &[u64]) -> Seen {
    let cpus: CpuSet = "0-1".parse().unwrap();
    put(files, before);
    let mut activity = Activity::open(machine, Some(&cpus)).unwrap();
    activity.look();
    let first = disturbances::read(machine, &cpus);
    std::thread::sleep(Duration::from_millis(2));
    put(files, after);
    let interval = activity.look().unwrap();
    let disturbances = disturbances::read(machine, &cpus).since(&first);
    let columns = activity.columns().iter().zip(interval.values);
    let values = columns.map(|(column, values)| (column.header.to_string(), column.unit, values));
    Seen { values: values.collect(), disturbances }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_counter_that_fell_is_a_word_and_no_number(
        counts in prop::collection::vec((1_u64..1_000_000_000, 1_u64..50), 2 * (FIELDS + 5) + 2),
        which: prop::sample::Index,
        share in 0.0..1.0f64,
    ) {
        let (files, machine) = two_packages();
        let counters = all();
        let before: Vec<u64> = counts.iter().map(|(count, _)| *count).collect();
        let mut after: Vec<u64> = counts.iter().map(|(count, grown)| count + grown).collect();
        let fell = which.index(counters.len());
        after[fell] = (before[fell] as f64 * share) as u64;
        let seen = seen(&machine, &files, &before, &after);
        let of = format!("{:?} from {} to {}", counters[fell], before[fell], after[fell]);
        prop_assert!(seen.values.iter().any(|(name, ..)| name == "PkgWatt"), "{of}");
        for (name, unit, values) in &seen.values {
            for value in values.iter().flatten() {
                prop_assert!(value.is_finite() && *value >= 0.0, "{of}: {name} {value}");
                let most = match unit {
                    Unit::One => 1.0,
                    Unit::Watt => 1000.0,
                    _ => f64::INFINITY,
                };
                prop_assert!(*value <= most, "{of}: {name} {value}");
            }
        }
        for fact in &seen.disturbances {
            if let Known::Yes(FactValue::Number { value, .. }) = &fact.value {
                prop_assert!(value.is_finite() && *value >= 0.0, "{of}: {fact:?}");
                prop_assert!(*value < 1000.0, "{of}: {fact:?}");
            }
        }
        for id in facts_of(counters[fell]) {
            let fact = seen.disturbances.iter().find(|fact| fact.id == id).unwrap();
            let Known::No { unavailable } = &fact.value else { panic!("{of}: {fact:?}") };
            prop_assert!(unavailable.why.contains("fell from"), "{of}: {unavailable:?}");
        }
        if let Some((column, place)) = column_of(counters[fell]) {
            let (.., values) = seen.values.iter().find(|(name, ..)| name == column).unwrap();
            prop_assert!(values[place].is_err(), "{of}: {column} {:?}", values[place]);
            prop_assert!(values[1 - place].is_ok(), "{of}: {column} {:?}", values[1 - place]);
        }
    }
}
