//! Pairs of CPUs: how two lie to each other, one pair for each way.

use model::record::{Relation, Topology};
use model::{CpuId, CpuSet, Obstacle, Unavailable};

use super::super::turbo::active;
use crate::run::plan::Planning;

/// Why there is no such pair among these CPUs.
fn missing(topology: &Topology, cpus: &[CpuId], relation: Relation) -> Unavailable {
    let unsaid = has_unsaid_caches(topology);
    let why = match relation {
        _ if relation != Relation::SameCpu && has_unsaid_pairs(topology, cpus) => {
            "the placement of the CPUs in use to each other is unknown"
        }
        Relation::SameCache | Relation::OtherCache if unsaid => {
            "which cores share a cache is unknown"
        }
        Relation::SamePackage => "the shared caches of all CPUs in use are known",
        Relation::SameCpu => "this process may use no CPU",
        Relation::Sibling => "no two of the CPUs in use are threads of one core",
        Relation::SameCache => "no two cores in use share a last-level cache",
        Relation::OtherCache => "no two cores in use have last-level caches of their own",
        Relation::OtherPackage => "all CPUs in use are in one package",
    };
    Unavailable::new(Obstacle::Hardware, relation.word(), why)
}

/// Two CPUs: who signals first, and who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuPair {
    /// Begins.
    pub first: CpuId,
    /// Answers.
    pub second: CpuId,
}

impl CpuPair {
    /// How they lie to each other; none where one of them is not online.
    pub fn kind(self, topology: &Topology) -> Option<Relation> {
        topology.relation(self.first, self.second)
    }

    /// The CPUs, each once.
    pub fn cpus(self) -> Vec<CpuId> {
        if self.first == self.second { vec![self.first] } else { vec![self.first, self.second] }
    }
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairSpec {
    /// The first pair of that kind.
    Relation(Relation),
    /// This pair.
    Pair(CpuPair),
}

/// The first pair of a kind among these CPUs, or why there is none.
pub(super) fn of_kind(
    topology: &Topology,
    cpus: &[CpuId],
    asked: Relation,
) -> Result<CpuPair, Unavailable> {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    for &first in &sorted {
        let second = sorted.iter().find(|&&second| {
            (second > first || asked == Relation::SameCpu)
                && topology.relation(first, second) == Some(asked)
        });
        if let Some(&second) = second {
            return Ok(CpuPair { first, second });
        }
    }
    Err(missing(topology, cpus, asked))
}

/// The same within each type of core that has such a pair, or of all these CPUs where none has.
pub(super) fn of_each_type(
    plan: &Planning<'_>,
    asked: Relation,
) -> Result<Vec<CpuPair>, Unavailable> {
    let topology = plan.topology();
    let within = |(_, cpus): (_, Vec<CpuId>)| of_kind(topology, &cpus, asked).ok();
    let pairs: Vec<CpuPair> = active::kinds(plan).into_iter().filter_map(within).collect();
    if pairs.is_empty() {
        return of_kind(topology, &plan.placement.cpus, asked).map(|pair| vec![pair]);
    }
    Ok(pairs)
}

/// The nearest two within each type of core that has two, or of all CPUs where none has.
pub(super) fn nearest_of_each_type(plan: &Planning<'_>) -> Result<Vec<CpuPair>, Unavailable> {
    let topology = plan.topology();
    let within = |(_, cpus): (_, Vec<CpuId>)| nearest_two(topology, &cpus).ok();
    let pairs: Vec<CpuPair> = active::kinds(plan).into_iter().filter_map(within).collect();
    if pairs.is_empty() {
        return nearest_two(topology, &plan.placement.cpus).map(|pair| vec![pair]);
    }
    Ok(pairs)
}

/// Whether nobody says of some of these CPUs in which core or package they are.
pub(super) fn has_unsaid_pairs(topology: &Topology, cpus: &[CpuId]) -> bool {
    let unsaid = &topology.unsaid;
    cpus.iter().any(|cpu| unsaid.core.contains(*cpu) || unsaid.package.contains(*cpu))
}

/// Two CPUs, where of no two of these it is known how they lie to each other.
pub(super) fn unsaid_two(topology: &Topology, cpus: &[CpuId]) -> Option<CpuPair> {
    nearest_two(topology, cpus).ok().filter(|pair| pair.kind(topology).is_none())
}

/// Whether nobody says of some CPU who shares its caches.
fn has_unsaid_caches(topology: &Topology) -> bool {
    topology.usable_places().any(|place| place.last_level_cache.is_empty())
}

/// What a parameter says of how two CPUs lie to each other.
pub(super) fn word(kind: Option<Relation>) -> &'static str {
    const UNSAID: &str = "unsaid";
    kind.map_or(UNSAID, Relation::word)
}

/// The ways to lie that this machine may have.
pub(super) fn kinds(topology: &Topology) -> impl Iterator<Item = Relation> {
    let unsaid = has_unsaid_caches(topology);
    Relation::ALL.into_iter().filter(move |kind| unsaid || *kind != Relation::SamePackage)
}

/// The nearest two CPUs that differ.
pub(super) fn nearest_two(topology: &Topology, cpus: &[CpuId]) -> Result<CpuPair, Unavailable> {
    let order = [
        Relation::SameCache,
        Relation::SamePackage,
        Relation::OtherCache,
        Relation::Sibling,
        Relation::OtherPackage,
    ];
    let found = order.into_iter().find_map(|kind| of_kind(topology, cpus, kind).ok());
    // Nobody may say how they lie to each other.
    let any_two = || {
        let [first, second, ..] = *cpus else { return None };
        Some(CpuPair { first: first.min(second), second: first.max(second) })
    };
    found.or_else(any_two).ok_or_else(|| {
        let why =
            "the waking thread must stay awake on a CPU of its own, and only one CPU may be used";
        Unavailable::new(Obstacle::Permission, "a sleeper on another CPU", why)
            .with_remedy("allow more CPUs: `taskset`, `--cpus`, the cpuset of the container")
    })
}

/// The CPUs of these pairs that this process may not use.
pub(super) fn unusable(asked: &[PairSpec], usable: &CpuSet) -> CpuSet {
    let named = asked.iter().filter_map(|asked| match asked {
        PairSpec::Pair(pair) => Some(pair.cpus()),
        PairSpec::Relation(_) => None,
    });
    named.flatten().filter(|cpu| !usable.contains(*cpu)).collect()
}

#[cfg(test)]
mod tests {
    use machine::{Machine, facts};

    use super::*;

    #[test]
    fn one_pair_for_each_way_to_lie() {
        let of = |name: &str, kind| {
            let topology = facts::machine(&Machine::named(name).unwrap()).topology;
            let cpus: Vec<CpuId> = topology.usable.iter().collect();
            of_kind(&topology, &cpus, kind).map(|pair| (pair.first.0, pair.second.0))
        };
        assert_eq!(of("sim:2s-56c", Relation::SameCpu), Ok((0, 0)));
        assert_eq!(of("sim:2s-56c", Relation::SameCache), Ok((0, 1)));
        assert_eq!(of("sim:2s-56c", Relation::Sibling), Ok((0, 112)));
        assert_eq!(of("sim:2s-56c", Relation::OtherPackage), Ok((0, 56)));
        assert!(of("sim:2s-56c", Relation::OtherCache).is_err());
        assert_eq!(of("sim:vm-2c", Relation::SameCache), Ok((0, 1)));
        for kind in &Relation::ALL[1..] {
            assert!(of("sim:1c", *kind).is_err(), "{kind:?}");
        }
    }
}
