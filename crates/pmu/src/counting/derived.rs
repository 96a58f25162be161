//! What follows from counts: the metrics of `data/metrics.toml`, for the core that was counted on.

use machine::{Machine, facts, perf};
use model::counts::PACKAGE_ENERGY;
use model::record::{Counts, MetricValue};
use model::{CpuId, Known, Unavailable};

use super::plan::kinds;
use crate::events::{Events, Family, Target};
use crate::metrics::Metric;

/// A kind of core, whose formulas count.
#[derive(Debug, Clone)]
pub struct Core {
    family: Option<&'static Family>,
    /// Threads of the core.
    threads: u32,
    /// Its PMU.
    pmu: Option<String>,
    /// Whether counts of other kinds stand beside its own.
    is_one_of_several: bool,
}

impl Core {
    /// The core of a CPU.
    pub fn of(machine: &Machine, cpu: CpuId) -> Core {
        let topology = facts::topology(machine);
        let threads = topology.place(cpu).map_or(1, |place| place.siblings.iter().count());
        let pmu = perf::core_pmu(machine, cpu);
        let family = Target::of(machine).family_of(pmu.as_deref());
        Core { family, threads: threads.clamp(1, 2) as u32, pmu, is_one_of_several: false }
    }

    /// Every kind of core that a command may be executed on.
    pub fn all(machine: &Machine) -> Vec<Core> {
        let of_kind = |(_, cpu): (String, CpuId)| {
            let core = Core::of(machine, cpu);
            Core { is_one_of_several: true, ..core }
        };
        let all: Vec<Core> = kinds(machine).into_iter().map(of_kind).collect();
        if !all.is_empty() {
            return all;
        }
        let usable = machine.host.affinity().unwrap_or_default();
        vec![Core::of(machine, usable.iter().next().unwrap_or(CpuId(0)))]
    }

    /// The events that a metric needs.
    ///
    /// # Error
    /// Where no formula is known for the core.
    pub fn events(&self, metric: &Metric) -> Result<Vec<String>, Unavailable> {
        let formula = metric.formula(self.family, self.threads)?;
        Ok(formula.events().into_iter().map(str::to_owned).collect())
    }

    /// The metrics whose events were counted; those that were asked for have a reason where they have no
    /// value. Of one kind of core among several they are called with its PMU.
    pub fn derive(&self, counts: &Counts, asked: &[String]) -> Vec<MetricValue> {
        Metric::all().iter().filter_map(|metric| self.one(metric, counts, asked)).collect()
    }

    fn one(&self, metric: &Metric, counts: &Counts, asked: &[String]) -> Option<MetricValue> {
        let is_asked = asked.contains(&metric.id);
        let pmu = self.pmu.as_ref().filter(|_| self.is_one_of_several);
        let called = |id: &String| pmu.map_or(id.clone(), |pmu| format!("{pmu}/{id}/"));
        let title = pmu.map_or(metric.title.clone(), |pmu| format!("{}, {pmu}", metric.title));
        let of = |value: Known<f64>, formula: &str| MetricValue {
            id: called(&metric.id),
            title,
            unit: metric.unit.clone(),
            parent: metric.parent.as_ref().map(called),
            says: metric.says.clone(),
            formula: formula.to_owned(),
            value,
        };
        let formula = match metric.formula(self.family, self.threads) {
            Ok(formula) => formula,
            Err(unavailable) => return is_asked.then(|| of(Known::No { unavailable }, "")),
        };
        let count = |name: &str| self.count(counts, name);
        let is_counted = formula.events().into_iter().all(|name| count(name).is_some());
        (is_counted || is_asked).then(|| of(metric.value(formula, count).into(), formula.text()))
    }

    /// What an event counted on this kind of core: by that name of its PMU, or by its name alone.
    /// That name of another PMU is another event.
    fn count(&self, counts: &Counts, name: &str) -> Option<f64> {
        // The energy of all kinds of cores is that of none.
        if name == PACKAGE_ENERGY && self.is_one_of_several {
            return None;
        }
        let own = self.pmu.as_ref().map(|pmu| format!("{pmu}/{name}/"));
        let called = |name: &str| counts.events.iter().find(|row| row.event == name);
        let row = own.as_deref().and_then(called).or_else(|| called(name))?;
        row.count.value().map(|count| *count as f64)
    }
}

/// The events that metrics of these names need on these kinds of cores, as names to be resolved,
/// each once; those that a core has no formula for are left to the table, which says so.
pub fn needed(cores: &[Core], events: &Events<'_>, metrics: &[String]) -> Vec<String> {
    let all = metrics.iter().filter_map(|id| Metric::find(id));
    let of_cores = all.flat_map(|metric| cores.iter().filter_map(|core| core.events(metric).ok()));
    let mut names: Vec<String> = of_cores.flatten().collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| events.resolve(name).is_ok());
    names
}

#[cfg(test)]
mod tests {
    use model::record::{CountedBy, EventCount};
    use simulated::Model;

    use super::*;

    fn row(event: &str, count: u64) -> EventCount {
        EventCount {
            event: event.to_owned(),
            by: CountedBy::General,
            unit: None,
            count: Known::Yes(count),
            own: None,
            way: None,
        }
    }

    #[test]
    fn each_kind_of_core_has_its_own_numbers() {
        let core = |pmu: &str| Core {
            family: None,
            threads: 1,
            pmu: Some(pmu.to_owned()),
            is_one_of_several: true,
        };
        let counts = Counts {
            events: vec![
                row("cpu_core/instructions/", 4000),
                row("cpu_core/cycles/", 1000),
                row("cpu_atom/instructions/", 900),
                row("cpu_atom/cycles/", 900),
                // Of parts of the machine that happen to use the same words.
                row("uncore_pcu/cycles/", 7),
            ],
            ..Counts::default()
        };
        let ipc = |pmu: &str| {
            let derived = core(pmu).derive(&counts, &[]);
            let found =
                derived.into_iter().find(|it| it.title.starts_with("instructions per cycle"));
            found.map(|it| (it.title, it.value.value().copied()))
        };
        let called =
            |pmu: &str, value| Some((format!("instructions per cycle, {pmu}"), Some(value)));
        assert_eq!(ipc("cpu_core"), called("cpu_core", 4.0));
        assert_eq!(ipc("cpu_atom"), called("cpu_atom", 1.0));
        assert_eq!(ipc("cpu_lowpower"), None);
    }

    #[test]
    fn what_is_counted_outside_of_the_cores_is_in_no_metric() {
        let machine: Machine = Model::named("4c").unwrap().into();
        let [core] = &Core::all(&machine)[..] else { panic!("there is one kind") };
        let counts = |of_cycles: &str| Counts {
            events: vec![row("instructions", 4000), row(of_cycles, 1000)],
            ..Counts::default()
        };
        let ids = |of_cycles: &str| -> Vec<String> {
            core.derive(&counts(of_cycles), &[]).into_iter().map(|metric| metric.id).collect()
        };
        assert!(ids("cycles").contains(&"ipc".to_owned()));
        assert!(ids("cpu/cycles/").contains(&"ipc".to_owned()));
        assert_eq!(ids("uncore_cha_0/cycles/"), [""; 0]);
    }
}
