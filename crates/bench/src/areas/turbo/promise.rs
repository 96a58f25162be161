//! What the machine promises: which clock with how many active cores, and where that changes.

use std::collections::BTreeMap;

use model::record::{Fact, FactValue, Record};
use model::{CpuId, CpuSet};

use super::super::Planning;

/// Up to so many cores every number of them is measured; beyond, those that say something.
const EACH_MAX: usize = 8;

/// The numbers of active cores to measure where nobody asks for others: all of a few; else powers of
/// two, where the promised clock changes, the whole first package, and all.
pub(super) fn counts(plan: &Planning<'_>, kind: Option<&str>, cpus: &[CpuId]) -> Vec<usize> {
    let all = cpus.len();
    if all <= EACH_MAX {
        return (1..=all).collect();
    }
    let package_of = |cpu: &CpuId| plan.topology().place(*cpu).map(|place| place.package);
    let first = cpus.first().and_then(package_of);
    let in_first = cpus.iter().take_while(|cpu| package_of(cpu) == first).count();
    let doubled = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < in_first);
    let limits = &plan.description.turbo_limits;
    let bins = limits.iter().filter(|limit| limit.kind.as_deref() == kind);
    let steps = bins.flat_map(|limit| limit.steps.iter().map(|step| step.active_cores as usize));
    let mut counts: Vec<usize> = doubled.chain(steps.filter(|n| *n < in_first)).collect();
    counts.extend([in_first, all]);
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// The highest clock that the registers promise to these CPUs, in hertz, by the package that has most
/// of them.
pub(super) fn turbo_hertz(record: &Record, active: &CpuSet) -> Option<f64> {
    let mut by_package: BTreeMap<u32, usize> = BTreeMap::new();
    for cpu in active.iter() {
        *by_package.entry(record.machine.topology.place(cpu)?.package).or_default() += 1;
    }
    let busiest = by_package.values().copied().max()?;
    let first = active.iter().next()?;
    let limit = record.machine.turbo_limits.iter().find(|limit| limit.cpus.contains(first))?;
    let step = limit.steps.iter().find(|step| step.active_cores as usize >= busiest);
    step.or(limit.steps.last()).map(|step| step.hertz)
}

/// The highest clock that the kernel allows, in hertz.
pub(super) fn allowed_hertz(record: &Record) -> Option<f64> {
    number(record.machine.facts.iter(), "cpu.max_frequency")
}

fn number<'a>(mut facts: impl Iterator<Item = &'a Fact>, id: &str) -> Option<f64> {
    match facts.find(|fact| fact.id == id)?.value.value()? {
        FactValue::Number { value, .. } => Some(*value),
        FactValue::Text(_) => None,
    }
}
