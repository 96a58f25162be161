//! What follows from counts: the metrics of `data/metrics.toml`, for the core that was counted on.

use machine::{Machine, facts, perf};
use model::record::{Counts, MetricValue};
use model::{CpuId, Known, Unavailable};

use crate::events::{Events, Family, Target};
use crate::metrics::Metric;

/// The core whose formulas count.
#[derive(Debug, Clone, Copy)]
pub struct Core {
    family: Option<&'static Family>,
    /// Threads of the core.
    threads: u32,
}

impl Core {
    /// The core of a CPU.
    pub fn of(machine: &Machine, cpu: CpuId) -> Core {
        let topology = facts::topology(machine);
        let threads = topology.place(cpu).map_or(1, |place| place.siblings.iter().count());
        let pmu = perf::core_pmu(machine, cpu);
        let family = Target::of(machine).family_of(pmu.as_deref());
        Core { family, threads: threads.clamp(1, 2) as u32 }
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
    /// value.
    pub fn derive(&self, counts: &Counts, asked: &[String]) -> Vec<MetricValue> {
        Metric::all().iter().filter_map(|metric| self.one(metric, counts, asked)).collect()
    }

    fn one(&self, metric: &Metric, counts: &Counts, asked: &[String]) -> Option<MetricValue> {
        let is_asked = asked.contains(&metric.id);
        let of = |value: Known<f64>, formula: &str| MetricValue {
            id: metric.id.clone(),
            title: metric.title.clone(),
            unit: metric.unit.clone(),
            formula: formula.to_owned(),
            value,
        };
        let formula = match metric.formula(self.family, self.threads) {
            Ok(formula) => formula,
            Err(unavailable) => return is_asked.then(|| of(Known::No { unavailable }, "")),
        };
        let count = |name: &str| count(counts, name);
        let is_counted = formula.events().into_iter().all(|name| count(name).is_some());
        (is_counted || is_asked).then(|| of(metric.value(formula, count).into(), formula.text()))
    }
}

/// What an event counted, by its name or by that name of one PMU.
fn count(counts: &Counts, name: &str) -> Option<f64> {
    let inner = |event: &str| -> Option<bool> {
        let (_, rest) = event.split_once('/')?;
        Some(rest.strip_suffix('/')? == name)
    };
    let row = counts.events.iter().find(|row| row.event == name);
    let row = row.or_else(|| counts.events.iter().find(|row| inner(&row.event) == Some(true)))?;
    row.count.value().map(|count| *count as f64)
}

/// The events that metrics of these names need, as names to be resolved; those that this core has no
/// formula for are left to the table, which says so.
pub fn needed(core: &Core, events: &Events<'_>, metrics: &[String]) -> Vec<String> {
    let all = metrics.iter().filter_map(|id| Metric::find(id));
    let names = all.filter_map(|metric| core.events(metric).ok()).flatten();
    names.filter(|name| events.resolve(name).is_ok()).collect()
}
