//! Pairs of CPUs: how two lie to each other, one pair for each way.

use model::record::{CpuPlace, Topology};
use model::{CpuId, CpuSet, Obstacle, Unavailable};

/// How two CPUs lie to each other, as the machine says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// They are one: the threads take turns on it.
    SameCpu,
    /// They are threads of one core.
    Sibling,
    /// Cores that share the last-level cache.
    SameCache,
    /// Cores of one package with last-level caches of their own.
    OtherCache,
    /// In different packages.
    OtherPackage,
}

impl Kind {
    /// All of them, the nearest first.
    pub const ALL: [Kind; 5] =
        [Kind::SameCpu, Kind::Sibling, Kind::SameCache, Kind::OtherCache, Kind::OtherPackage];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::SameCpu => "same-cpu",
            Kind::Sibling => "smt-sibling",
            Kind::SameCache => "same-cache",
            Kind::OtherCache => "other-cache",
            Kind::OtherPackage => "other-package",
        }
    }

    /// What it is, for headings.
    pub const fn title(self) -> &'static str {
        match self {
            Kind::SameCpu => "the same CPU",
            Kind::Sibling => "SMT siblings",
            Kind::SameCache => "cores with one last-level cache",
            Kind::OtherCache => "cores with last-level caches of their own",
            Kind::OtherPackage => "cores of two packages",
        }
    }

    /// The one of that word.
    pub fn named(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Why there is no such pair.
    fn missing(self) -> Unavailable {
        let why = match self {
            Kind::SameCpu => "this process may use no CPU",
            Kind::Sibling => "no two of the CPUs in use are threads of one core",
            Kind::SameCache => "no two cores in use share a last-level cache",
            Kind::OtherCache => "no two cores in use have last-level caches of their own",
            Kind::OtherPackage => "all CPUs in use are in one package",
        };
        Unavailable::new(Obstacle::Hardware, self.word(), why)
    }
}

/// Two CPUs: who signals first, and who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Begins.
    pub first: CpuId,
    /// Answers.
    pub second: CpuId,
}

impl Pair {
    /// How they lie to each other; none where one of them is not online.
    pub fn kind(self, topology: &Topology) -> Option<Kind> {
        Some(kind(topology.place(self.first)?, topology.place(self.second)?))
    }

    /// The CPUs, each once.
    pub fn cpus(self) -> Vec<CpuId> {
        if self.first == self.second { vec![self.first] } else { vec![self.first, self.second] }
    }
}

fn kind(first: &CpuPlace, second: &CpuPlace) -> Kind {
    let caches = [&first.last_level_cache, &second.last_level_cache];
    if first.cpu == second.cpu {
        Kind::SameCpu
    } else if first.package != second.package {
        Kind::OtherPackage
    } else if first.siblings.contains(second.cpu) {
        Kind::Sibling
    } else if caches[0].contains(second.cpu) || caches.iter().any(|cpus| cpus.is_empty()) {
        // Where nobody says who shares a cache, a package is the best guess.
        Kind::SameCache
    } else {
        Kind::OtherCache
    }
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The first pair of that kind.
    Kind(Kind),
    /// This pair.
    Pair(Pair),
}

/// The first pair of a kind among these CPUs, or why there is none.
pub(super) fn of_kind(
    topology: &Topology,
    cpus: &[CpuId],
    asked: Kind,
) -> Result<Pair, Unavailable> {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    let places: Vec<&CpuPlace> = sorted.iter().filter_map(|&cpu| topology.place(cpu)).collect();
    for first in &places {
        let second = places.iter().find(|second| {
            (second.cpu > first.cpu || asked == Kind::SameCpu) && kind(first, second) == asked
        });
        if let Some(second) = second {
            return Ok(Pair { first: first.cpu, second: second.cpu });
        }
    }
    Err(asked.missing())
}

/// The nearest two CPUs that differ.
pub(super) fn nearest_two(topology: &Topology, cpus: &[CpuId]) -> Result<Pair, Unavailable> {
    let order = [Kind::SameCache, Kind::OtherCache, Kind::Sibling, Kind::OtherPackage];
    let found = order.into_iter().find_map(|kind| of_kind(topology, cpus, kind).ok());
    found.ok_or_else(|| {
        let why = "who wakes must stay awake, on another CPU: this process may use one";
        Unavailable::new(Obstacle::Permission, "a sleeper on another CPU", why)
    })
}

/// The CPUs of these pairs that this process may not use.
pub(super) fn unusable(asked: &[Asked], usable: &CpuSet) -> CpuSet {
    let named = asked.iter().filter_map(|asked| match asked {
        Asked::Pair(pair) => Some(pair.cpus()),
        Asked::Kind(_) => None,
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
        assert_eq!(of("sim:2s-56c", Kind::SameCpu), Ok((0, 0)));
        assert_eq!(of("sim:2s-56c", Kind::SameCache), Ok((0, 1)));
        assert_eq!(of("sim:2s-56c", Kind::Sibling), Ok((0, 112)));
        assert_eq!(of("sim:2s-56c", Kind::OtherPackage), Ok((0, 56)));
        assert!(of("sim:2s-56c", Kind::OtherCache).is_err());
        assert_eq!(of("sim:vm-2c", Kind::SameCache), Ok((0, 1)));
        for kind in &Kind::ALL[1..] {
            assert!(of("sim:1c", *kind).is_err(), "{kind:?}");
        }
    }

    #[test]
    fn words_name_kinds() {
        assert!(Kind::ALL.iter().all(|kind| Kind::named(kind.word()) == Some(*kind)));
    }
}
