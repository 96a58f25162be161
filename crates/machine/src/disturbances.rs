//! Counters that should only grow: what happened to these CPUs during a run.

use std::collections::BTreeMap;

use model::page::tally;
use model::record::THERMAL_THROTTLES;
use model::record::{Fact, FactValue};
use model::{CpuId, CpuSet, Finding, Obstacle, Reading, Unavailable, Unit};

use crate::cpu_load::{FIELDS, USER_HZ};
use crate::facts::fact_table::{fact, number, text};
use crate::facts::{cgroup, memory_errors};
use crate::interrupts::InterruptTable;
use crate::parse::first_number;
use crate::ports::Machine;
use model::growth::{Places, grown_together};

/// How one counter is read, of each place that has its own.
struct DisturbanceRow {
    id: &'static str,
    label: &'static str,
    unit: Unit,
    read: fn(&Machine, &CpuSet) -> Reading<Places>,
}

const STEAL: &str = "disturbance.steal";
const THERMAL_CORE: &str = THERMAL_THROTTLES[0];
const THERMAL_PACKAGE: &str = THERMAL_THROTTLES[1];

/// Memory errors that were corrected, and those that were not.
const MEMORY_ERRORS: [&str; 2] =
    ["disturbance.memory_errors_corrected", "disturbance.memory_errors_uncorrected"];
/// Which DIMMs had them, where any did.
const MEMORY_ERRORS_IN: &str = "disturbance.memory_errors_in";

const CGROUP_THROTTLES: &str = "disturbance.cgroup_throttles";
const CGROUP_THROTTLED: &str = "disturbance.cgroup_throttled";

const fn row(
    id: &'static str,
    label: &'static str,
    unit: Unit,
    read: fn(&Machine, &CpuSet) -> Reading<Places>,
) -> DisturbanceRow {
    DisturbanceRow { id, label, unit, read }
}

#[rustfmt::skip]
const TABLE: &[DisturbanceRow] = &[
    row(STEAL, "Time taken by the hypervisor", Unit::Second, steal),
    row("disturbance.wanted", "Time wanted by anybody", Unit::Second, wanted),
    row("disturbance.interrupts", "Interrupts", Unit::Count, interrupts),
    row(THERMAL_CORE, "Thermal throttles, cores", Unit::Count, thermal_core),
    row(THERMAL_PACKAGE, "Thermal throttles, packages", Unit::Count, thermal_package),
    row(CGROUP_THROTTLES, "Throttles by cgroup quota", Unit::Count, cgroup_throttles),
    row(CGROUP_THROTTLED, "Time throttled by cgroup quota", Unit::Second, cgroup_throttled),
    row(MEMORY_ERRORS[0], "Memory errors, corrected", Unit::Count, |m, _| memory_errors(m, "ce")),
    row(MEMORY_ERRORS[1], "Memory errors, uncorrected", Unit::Count, |m, _| memory_errors(m, "ue")),
];

/// What the counters said at one moment, of the CPUs that were asked for.
#[derive(Debug, Clone)]
pub struct Counters {
    /// One per row of the table.
    values: Vec<Reading<Places>>,
}

/// Reads the counters of these CPUs.
pub fn read(machine: &Machine, cpus: &CpuSet) -> Counters {
    Counters { values: TABLE.iter().map(|row| (row.read)(machine, cpus)).collect() }
}

impl Counters {
    /// How much each counter grew since `earlier`: seconds or counts, or why it is not known.
    pub fn since(&self, earlier: &Counters) -> Vec<Fact> {
        let growth = |(now, then): (&Reading<Places>, &Reading<Places>)| {
            grown_together(
                "",
                now.as_ref().map_err(Clone::clone)?,
                then.as_ref().map_err(Clone::clone)?,
            )
        };
        let growths = self.values.iter().zip(&earlier.values).map(growth);
        let facts = TABLE.iter().zip(growths);
        let facts = facts.map(|(row, value)| {
            fact(row.id, row.label, value.map(|value| number(value, row.unit)))
        });
        facts.chain(self.erroneous(earlier)).collect()
    }

    /// Where memory errors were counted, most of them first.
    fn erroneous(&self, earlier: &Counters) -> Option<Fact> {
        let is_of_errors = |row: &&DisturbanceRow| MEMORY_ERRORS.contains(&row.id);
        let mut grown = Places::new();
        for (row, (now, then)) in TABLE.iter().zip(self.values.iter().zip(&earlier.values)) {
            let (Ok(now), Ok(then)) = (now, then) else { continue };
            let places = now.iter().filter(|_| is_of_errors(&row));
            for (place, now) in places {
                *grown.entry(place.clone()).or_default() += now - then.get(place).unwrap_or(now);
            }
        }
        let mut grown: Vec<(String, f64)> = grown.into_iter().filter(|(_, it)| *it > 0.0).collect();
        grown.sort_by(|a, b| b.1.total_cmp(&a.1));
        let places: Vec<&str> = grown.iter().map(|(place, _)| place.as_str()).collect();
        let said = || fact(MEMORY_ERRORS_IN, "Memory errors, where", Ok(text(places.join(", "))));
        (!places.is_empty()).then(said)
    }
}

fn steal(machine: &Machine, cpus: &CpuSet) -> Reading<Places> {
    seconds_of(machine, cpus, &[STEAL_FIELD], "steal time of these CPUs")
}

/// What had work, whoever's: user, nice, system, irq and softirq, and what the hypervisor took from it.
fn wanted(machine: &Machine, cpus: &CpuSet) -> Reading<Places> {
    seconds_of(machine, cpus, &[0, 1, 2, 5, 6, STEAL_FIELD], "time of these CPUs")
}

const STEAL_FIELD: usize = 7;

/// Those fields of each of those CPUs, in seconds.
fn seconds_of(machine: &Machine, cpus: &CpuSet, fields: &[usize], what: &str) -> Reading<Places> {
    let stat = machine.tree.read("/proc/stat")?;
    let ticks = |line: &str| -> Option<Vec<(String, f64)>> {
        let (cpu, said) = line.strip_prefix("cpu")?.split_once(' ')?;
        let cpu = CpuId(cpu.parse().ok()?);
        let said: Vec<f64> = said.split_whitespace().map_while(|it| it.parse().ok()).collect();
        let name = |field: usize| format!("CPU {cpu}, {}", FIELDS[field]);
        let of_field = |field: &usize| Some((name(*field), said.get(*field)? / USER_HZ));
        if cpus.contains(cpu) { fields.iter().map(of_field).collect() } else { None }
    };
    let ticks: Places = stat.lines().filter_map(ticks).flatten().collect();
    if ticks.is_empty() { Err(unsaid("/proc/stat", what)) } else { Ok(ticks) }
}

fn unsaid(path: &str, what: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, what, format!("`{path}` says nothing of {what}"))
}

fn interrupts(machine: &Machine, cpus: &CpuSet) -> Reading<Places> {
    InterruptTable::read(machine)?.of(cpus)
}

fn throttle_count(machine: &Machine, cpu: CpuId, scope: &str) -> Reading<f64> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{scope}_throttle_count");
    let text = machine.tree.read(&path).map_err(|mut error| {
        if error.obstacle == Obstacle::Hardware {
            error.why = "the kernel counts no thermal throttling here; usual in guests".into();
        }
        error
    })?;
    first_number(&path, &text)
}

/// How often each of these CPUs was throttled by heat since boot: its core, or all of its package.
///
/// # Error
/// Where the kernel does not count it, as in guests.
pub fn throttles(machine: &Machine, cpus: &CpuSet) -> Reading<BTreeMap<CpuId, u64>> {
    let of = |cpu| {
        let counts = ["core", "package"].map(|scope| throttle_count(machine, cpu, scope));
        Ok((cpu, counts.into_iter().sum::<Reading<f64>>()? as u64))
    };
    cpus.iter().map(of).collect()
}

fn thermal_core(machine: &Machine, cpus: &CpuSet) -> Reading<Places> {
    let of = |cpu| Ok((format!("CPU {cpu}"), throttle_count(machine, cpu, "core")?));
    cpus.iter().map(of).collect()
}

/// Every CPU counts the throttles of its package: the largest count of each package is taken.
fn thermal_package(machine: &Machine, cpus: &CpuSet) -> Reading<Places> {
    let mut packages = Places::new();
    for cpu in cpus.iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
        let package = machine.tree.read(&path).unwrap_or_default();
        let count = packages.entry(format!("package {package}")).or_default();
        *count = count.max(throttle_count(machine, cpu, "package")?);
    }
    Ok(packages)
}

fn cgroup_throttles(machine: &Machine, _cpus: &CpuSet) -> Reading<Places> {
    cgroup::throttles(machine).map(|throttles| alone(throttles.count))
}

fn cgroup_throttled(machine: &Machine, _cpus: &CpuSet) -> Reading<Places> {
    cgroup::throttles(machine).map(|throttles| alone(throttles.seconds))
}

/// A counter of the whole machine.
fn alone(count: f64) -> Places {
    Places::from([(String::new(), count)])
}

/// What is to be said of a difference over so many seconds and CPUs.
pub fn findings(difference: &[Fact], seconds: f64, cpus: usize) -> Vec<Finding> {
    let value = |id: &str| {
        let fact = difference.iter().find(|fact| fact.id == id)?;
        match fact.value.value()? {
            FactValue::Number { value, .. } => Some(*value),
            FactValue::Text(_) => None,
        }
    };
    let thermal = value(THERMAL_CORE).unwrap_or(0.0) + value(THERMAL_PACKAGE).unwrap_or(0.0);
    let quota = value(CGROUP_THROTTLES).zip(value(CGROUP_THROTTLED));
    [
        value(STEAL).and_then(|steal| steal_finding(steal, seconds, cpus)),
        (thermal > 0.0).then(|| thermal_finding(thermal)),
        quota.and_then(|(count, seconds)| quota_finding(count, seconds)),
        value(MEMORY_ERRORS[0]).and_then(|count| memory_finding(difference, count, true)),
        value(MEMORY_ERRORS[1]).and_then(|count| memory_finding(difference, count, false)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn steal_finding(steal: f64, seconds: f64, cpus: usize) -> Option<Finding> {
    /// Below it, steal hides in the spread between blocks.
    const SHARE_MAX: f64 = 0.005;
    let offered = seconds * cpus as f64;
    let share = steal / offered;
    (offered > 0.0 && share > SHARE_MAX).then(|| {
        Finding::warning(
            "disturbance.steal",
            tally(cpus, "CPU"),
            format!(
                "the hypervisor took {:.1} % of the CPU time ({steal:.2} s of {offered:.1} s)",
                share * 100.0
            ),
        )
        .remedy("measure on a dedicated host, or when its neighbours are quiet".to_owned())
    })
}

fn thermal_finding(count: f64) -> Finding {
    Finding::warning(
        "disturbance.thermal-throttle",
        "clock",
        format!(
            "heat throttled cores or packages {count} times during the run: clocks are those of \
             the cooling, not of the CPU"
        ),
    )
    .remedy("improve the cooling, or let the machine cool down, and measure again".to_owned())
}

fn quota_finding(count: f64, seconds: f64) -> Option<Finding> {
    (count > 0.0).then(|| {
        let text = format!(
            "the CPU quota of this cgroup stopped its threads {count} times, {seconds:.2} s in all"
        );
        Finding::warning("disturbance.cgroup-throttle", "cgroup", text)
            .remedy("raise the quota (`cpu.max`), or run outside of the container".to_owned())
    })
}

fn memory_finding(difference: &[Fact], count: f64, are_corrected: bool) -> Option<Finding> {
    let places = difference.iter().find(|fact| fact.id == MEMORY_ERRORS_IN);
    let places = match places.and_then(|fact| fact.value.value()) {
        Some(FactValue::Text(places)) => places.as_str(),
        _ => "memory",
    };
    let errors = tally(count as usize, "memory error");
    let finding = if are_corrected {
        let text = format!("{errors} came up during the run and had to be corrected");
        Finding::warning("memory.corrected-errors", places, text)
    } else {
        let text = format!("{errors} came up during the run and could not be corrected");
        Finding::serious("memory.uncorrected-errors", places, text)
    };
    let remedy =
        "replace the DIMM if it goes on: `grep . /sys/devices/system/edac/mc/mc*/*/dimm_*e_count`";
    (count > 0.0).then(|| finding.remedy(remedy.to_owned()))
}
