//! Which pairs of CPUs are measured.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use model::CpuId;
use model::record::{Relation, Topology};

/// Of more CPUs than this, not every pair is measured, whatever time there is.
const ALL_PAIRS_MAX: usize = 128;

/// Pairs of these CPUs, each with the lower CPU first: all, if they are no more than so many; else one
/// for each way in which two of them lie to each other, and others at random until they are so many.
pub(super) fn pairs(
    topology: &Topology,
    cpus: &[CpuId],
    count: usize,
    seed: u64,
) -> Vec<[CpuId; 2]> {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    let every = || {
        sorted.iter().enumerate().flat_map(|(i, &a)| sorted[i + 1..].iter().map(move |&b| [a, b]))
    };
    let there_are = sorted.len() * sorted.len().saturating_sub(1) / 2;
    if sorted.len() <= ALL_PAIRS_MAX && there_are <= count.max(1) {
        return every().collect();
    }
    let mut chosen = representatives(topology, cpus);
    let mut known: BTreeSet<[CpuId; 2]> = chosen.iter().copied().collect();
    let mut random = Rng::with_seed(seed);
    // Half of all pairs are soon found, so that this ends.
    while chosen.len() < count.min(there_are / 2) {
        let [a, b] = [random.usize(..sorted.len()), random.usize(..sorted.len())];
        let pair = [sorted[a.min(b)], sorted[a.max(b)]];
        if a != b && known.insert(pair) {
            chosen.push(pair);
        }
    }
    chosen
}

/// So many of these CPUs, in their order: neighbours of each last-level cache, from as many of those as
/// there can be, spread evenly.
pub(super) fn spread(topology: &Topology, cpus: &[CpuId], count: usize) -> Vec<CpuId> {
    /// Fewer of one cache have no neighbours to compare.
    const EACH_MIN: usize = 2;
    if cpus.len() <= count {
        return cpus.to_vec();
    }
    let cache = |cpu: CpuId| {
        topology.place(cpu).map(|place| (place.package, place.last_level_cache.iter().next()))
    };
    let mut caches: BTreeMap<_, Vec<CpuId>> = BTreeMap::new();
    for &cpu in cpus {
        caches.entry(cache(cpu)).or_default().push(cpu);
    }
    let groups: Vec<Vec<CpuId>> = caches.into_values().collect();
    let wanted = groups.len().min(count / EACH_MIN).max(1);
    let evenly = |of: usize, wanted: usize| (0..wanted).map(move |place| place * of / wanted);
    let chosen = evenly(groups.len(), wanted).map(|place| &groups[place]);
    let each = count / wanted;
    let members = chosen
        .flat_map(|group| evenly(group.len(), each.min(group.len())).map(|place| group[place]));
    let members: BTreeSet<CpuId> = members.collect();
    cpus.iter().copied().filter(|cpu| members.contains(cpu)).collect()
}

/// The first pair of each way in which two of these CPUs lie to each other, of each pair of types.
pub(super) fn representatives(topology: &Topology, cpus: &[CpuId]) -> Vec<[CpuId; 2]> {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    let sorted = &sorted;
    let pairs = sorted
        .iter()
        .enumerate()
        .flat_map(|(at, &a)| sorted[at + 1..].iter().map(move |&b| [a, b]));
    let kind = |cpu| topology.place(cpu).and_then(|place| place.kind.clone());
    let mut seen: BTreeSet<(Option<Relation>, BTreeSet<Option<String>>)> = BTreeSet::new();
    pairs
        .filter(|&[a, b]| seen.insert((topology.relation(a, b), [kind(a), kind(b)].into())))
        .collect()
}

#[cfg(test)]
mod tests {
    use model::record::{CpuPlace, Topology};
    use model::{CpuId, CpuSet};

    use super::*;

    /// Two packages, cores of one thread, four to a last-level cache.
    fn topology(count: u32) -> Topology {
        let half = count / 2;
        let place = |cpu: u32| CpuPlace {
            cpu: CpuId(cpu),
            package: cpu / half,
            die: None,
            module: None,
            core: cpu % half,
            siblings: CpuSet::from_iter([CpuId(cpu)]),
            last_level_cache: (cpu / 4 * 4..cpu / 4 * 4 + 4).map(CpuId).collect(),
            node: None,
            kind: None,
        };
        Topology { cpus: (0..count).map(place).collect(), ..Topology::default() }
    }

    fn cpus(count: u32) -> Vec<CpuId> {
        (0..count).map(CpuId).collect()
    }

    #[test]
    fn a_few_of_many_lie_in_every_package_and_have_neighbours() {
        let (topology, all) = (topology(576), cpus(576));
        let few = spread(&topology, &all, 8);
        assert_eq!(few.len(), 8);
        let relations: BTreeSet<_> =
            pairs(&topology, &few, 100, 1).iter().map(|&[a, b]| topology.relation(a, b)).collect();
        assert_eq!(relations.len(), 3, "same cache, other cache, other package: {few:?}");
        assert_eq!(spread(&topology, &all[..5], 8), all[..5]);
        assert_eq!(spread(&Topology::default(), &all, 8).len(), 8);
    }

    #[test]
    fn few_cpus_have_every_pair_once() {
        let four = pairs(&topology(16), &cpus(4), 100, 1);
        assert_eq!(four.len(), 6);
        assert!(four.iter().all(|[a, b]| a < b));
        assert_eq!(pairs(&topology(16), &cpus(2), 0, 1).len(), 1);
        assert_eq!(pairs(&topology(16), &cpus(1), 100, 1), Vec::<[CpuId; 2]>::new());
    }

    #[test]
    fn what_does_not_fit_has_every_kind_of_pair_and_some_at_random() {
        let topology = topology(576);
        for count in [16, 576] {
            let some = pairs(&topology, &cpus(count), 50, 1);
            assert_eq!(some.len(), 50);
            let relations: BTreeSet<_> =
                some.iter().map(|&[a, b]| topology.relation(a, b)).collect();
            let expected = if count == 16 { 2 } else { 3 };
            assert_eq!(relations.len(), expected, "same cache, other cache, other package");
            let distinct: BTreeSet<_> = some.iter().collect();
            assert_eq!(distinct.len(), some.len());
            assert_eq!(some, pairs(&topology, &cpus(count), 50, 1), "one seed, one choice");
            assert_ne!(some, pairs(&topology, &cpus(count), 50, 2));
        }
    }
}
