//! Disjoint groups of CPUs: cores, modules, dies, packages.

use std::collections::{BTreeMap, BTreeSet};

use model::{CpuId, CpuSet};

/// A partition of CPUs. Lists that contradict each other cannot break it: a CPU belongs to the
/// first group that claims it.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Ascending by their first CPU.
    groups: Vec<CpuSet>,
    of: BTreeMap<CpuId, usize>,
}

impl Groups {
    /// Groups as the kernel lists them: the first CPU of a group is asked for all of its CPUs. A
    /// CPU without a list is a group of its own.
    pub(super) fn listed(cpus: &CpuSet, list: impl Fn(CpuId) -> Option<CpuSet>) -> Groups {
        let mut groups = Groups::default();
        let mut left = listed_at_most(cpus);
        for cpu in cpus.iter() {
            if !groups.of.contains_key(&cpu) {
                let listed = if left > 0 { list(cpu) } else { None };
                left = left.saturating_sub(listed.as_ref().map_or(0, CpuSet::len));
                let listed = listed.filter(|list| list.contains(cpu));
                let free = |other: &CpuId| cpus.contains(*other) && !groups.of.contains_key(other);
                let group: CpuSet = match listed {
                    Some(listed) => listed.iter().filter(free).collect(),
                    None => std::iter::once(cpu).collect(),
                };
                groups.push(group);
            }
        }
        groups
    }

    /// CPUs with equal keys are a group.
    pub(super) fn keyed<K: Ord>(cpus: &CpuSet, key: impl Fn(CpuId) -> K) -> Groups {
        let mut members: BTreeMap<K, Vec<CpuId>> = BTreeMap::new();
        for cpu in cpus.iter() {
            members.entry(key(cpu)).or_default().push(cpu);
        }
        let mut groups = Groups::default();
        let mut members: Vec<CpuSet> =
            members.into_values().map(|cpus| cpus.into_iter().collect()).collect();
        members.sort_unstable_by_key(|group| group.iter().next());
        for group in members {
            groups.push(group);
        }
        groups
    }

    fn push(&mut self, group: CpuSet) {
        self.of.extend(group.iter().map(|cpu| (cpu, self.groups.len())));
        self.groups.push(group);
    }

    /// The groups, ascending by their first CPU.
    pub(super) fn iter(&self) -> impl Iterator<Item = &CpuSet> {
        self.groups.iter()
    }

    /// The index of the group of a CPU.
    pub(super) fn index(&self, cpu: CpuId) -> Option<usize> {
        self.of.get(&cpu).copied()
    }

    /// The group of a CPU.
    pub(super) fn of(&self, cpu: CpuId) -> Option<&CpuSet> {
        self.groups.get(self.index(cpu)?)
    }

    /// With the number of each group, from its first CPU.
    pub(super) fn with(self, mut number: impl FnMut(CpuId) -> Option<u32>) -> Numbered {
        let numbers = self.iter().map(first).map(|cpu| cpu.and_then(&mut number)).collect();
        Numbered { groups: self, numbers }
    }

    /// With the kernel's numbers made unique within a package: by their first CPU where they repeat
    /// (s390 has one number for the cores of a chip, and cores of two dies may have equal ones).
    pub(super) fn with_unique(
        self,
        packages: &Numbered,
        number: impl FnMut(CpuId) -> Option<u32>,
    ) -> Numbered {
        let mut numbered = self.with(number);
        let mut seen = BTreeSet::new();
        let unique = numbered.groups.iter().zip(&numbered.numbers).all(|(group, number)| {
            let package = first(group).and_then(|cpu| packages.number(cpu));
            number.is_none_or(|number| seen.insert((package, number)))
        });
        if !unique {
            for (group, number) in numbered.groups.groups.iter().zip(&mut numbered.numbers) {
                *number = number.and(first(group)).map(|CpuId(cpu)| cpu);
            }
        }
        numbered
    }
}

/// How many CPUs the lists of all groups name at most, where they make sense: each CPU once, and
/// CPUs that are offline. Lists that all name thousands are not worth the time.
pub(super) fn listed_at_most(cpus: &CpuSet) -> usize {
    4 * cpus.len() + 65_536
}

fn first(group: &CpuSet) -> Option<CpuId> {
    group.iter().next()
}

/// Groups, and the number of each; `None` where it has none.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) groups: Groups,
    numbers: Vec<Option<u32>>,
}

impl Numbered {
    /// The number of the group of a CPU.
    pub(super) fn number(&self, cpu: CpuId) -> Option<u32> {
        *self.numbers.get(self.groups.index(cpu)?)?
    }
}
