//! How many cores are active in a run, and which.

use model::CpuId;
use model::record::{CpuPlace, Relation};

use crate::run::plan::Planning;

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

/// The chosen CPUs that are in other cores than this one.
pub(in crate::areas) fn others(plan: &Planning<'_>, cpu: CpuId) -> Vec<CpuId> {
    let topology = plan.topology();
    let is_own =
        |other: CpuId| other == cpu || topology.relation(cpu, other) == Some(Relation::Sibling);
    plan.placement.cpus.iter().copied().filter(|other| !is_own(*other)).collect()
}

/// The CPUs of each type of core: types never share a row.
pub(in crate::areas) fn kinds(plan: &Planning<'_>) -> Vec<(Option<String>, Vec<CpuId>)> {
    let mut kinds: Vec<(Option<String>, Vec<CpuId>)> = Vec::new();
    for &cpu in &plan.placement.cpus {
        let kind = plan.topology().place(cpu).and_then(|place: &CpuPlace| place.kind.clone());
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, cpus)) => cpus.push(cpu),
            None => kinds.push((kind, vec![cpu])),
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use machine::Machine;

    use model::areas::turbo::promise::{busiest, cores};

    #[test]
    fn threads_of_a_core_are_one_core_and_bins_are_a_packages() {
        let machine = Machine::named("sim:2s-56c").unwrap();
        let topology = machine::facts::machine(&machine).topology;
        // CPUs 112 and 113 are the siblings of 0 and 1, package 1 begins with CPU 56.
        for (cpus, all, in_package) in
            [("0-3", 4, 4), ("0-1,112-113", 2, 2), ("0-1,56-58,168", 5, 3), ("0-111", 112, 56)]
        {
            let cpus = cpus.parse().unwrap();
            assert_eq!((cores(&topology, &cpus), busiest(&topology, &cpus)), (all, in_package));
        }
    }
}
