//! Disjoint groups of CPUs: cores, modules, dies, packages, the users of one cache.

use std::collections::{BTreeMap, BTreeSet};

use model::{CpuId, CpuSet};

/// A partition of CPUs.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Ascending by their first CPU.
    groups: Vec<CpuSet>,
    of: BTreeMap<CpuId, usize>,
}

impl Groups {
    /// CPUs with equal keys are a group.
    pub(super) fn keyed<K: Ord>(cpus: &CpuSet, key: impl Fn(CpuId) -> K) -> Groups {
        let mut members: BTreeMap<K, Vec<CpuId>> = BTreeMap::new();
        for cpu in cpus.iter() {
            members.entry(key(cpu)).or_default().push(cpu);
        }
        Groups::new(members.into_values().map(|cpus| cpus.into_iter().collect()).collect())
    }

    fn new(mut groups: Vec<CpuSet>) -> Groups {
        groups.sort_unstable_by_key(first);
        let index = |(index, group): (usize, &CpuSet)| {
            group.iter().map(|cpu| (cpu, index)).collect::<Vec<_>>()
        };
        let of = groups.iter().enumerate().flat_map(index).collect();
        Groups { groups, of }
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

    /// Whether a set lies within one group.
    pub(super) fn hold(&self, set: &CpuSet) -> bool {
        let group = set.iter().find_map(|cpu| self.of(cpu));
        group.is_none_or(|group| set.difference(group).is_empty())
    }

    /// Whether a set has some CPUs of a group and lacks others.
    pub(super) fn are_split_by(&self, set: &CpuSet) -> bool {
        let mut members: BTreeMap<usize, usize> = BTreeMap::new();
        for index in set.iter().filter_map(|cpu| self.index(cpu)) {
            *members.entry(index).or_default() += 1;
        }
        members.iter().any(|(&index, &count)| self.groups[index].len() != count)
    }

    /// With the number of each group, from the first of its CPUs that has one.
    pub(super) fn with(self, mut number: impl FnMut(&CpuSet) -> Option<u32>) -> Numbered {
        let numbers = self.iter().map(&mut number).collect();
        Numbered { groups: self, numbers }
    }

    /// With the kernel's numbers made unique within a package: by their first CPU where they repeat
    /// (s390 has one number for the cores of a chip, and cores of two dies may have equal ones).
    pub(super) fn with_unique(
        self,
        packages: &Numbered,
        number: impl Fn(CpuId) -> Option<u32>,
    ) -> Numbered {
        let mut numbered = self.with(|group| group.iter().find_map(&number));
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

/// Who shares something with whom, as each CPU says, before it is decided.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// By their list.
    claims: BTreeMap<String, SharingClaim>,
    /// How many more CPUs lists may name: lists that all name thousands are not worth the time.
    left: usize,
}

#[derive(Debug)]
struct SharingClaim {
    cpus: CpuSet,
    by: BTreeSet<CpuId>,
}

impl Claims {
    /// None yet, of these CPUs.
    pub(super) fn of(cpus: &CpuSet) -> Claims {
        Claims { claims: BTreeMap::new(), left: 4 * cpus.len() + 65_536 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// A CPU says who shares something with it. A list without the CPU itself says nothing.
    pub(super) fn add(&mut self, cpu: CpuId, listed: &CpuSet) {
        let name = listed.to_string();
        if let Some(claim) = self.claims.get_mut(&name) {
            if claim.cpus.contains(cpu) {
                claim.by.insert(cpu);
            }
        } else if listed.contains(cpu) {
            self.left = self.left.saturating_sub(listed.len());
            self.claims.insert(name, SharingClaim { cpus: listed.clone(), by: [cpu].into() });
        }
    }

    /// Whether lists name more CPUs than any that make sense.
    pub(super) fn are_absurd(&self) -> bool {
        self.left == 0
    }

    /// The CPUs that somebody names.
    pub(super) fn named(&self) -> BTreeSet<CpuId> {
        self.claims.values().flat_map(|claim| claim.cpus.iter()).collect()
    }

    /// Groups of these CPUs. Where claims overlap, those that `fits` come first, then those on which
    /// most CPUs agree, then those that all of their CPUs make; what is left of the others is in a
    /// word. A CPU that nobody names is a group of its own.
    pub(super) fn decided(
        &self,
        cpus: &CpuSet,
        fits: impl Fn(&CpuSet) -> bool,
    ) -> (Groups, Option<String>) {
        let mut order: Vec<(&SharingClaim, CpuSet)> =
            self.claims.values().map(|claim| (claim, claim.cpus.intersection(cpus))).collect();
        let rank = |(claim, here): &(&SharingClaim, CpuSet)| {
            let votes = claim.by.len();
            (!fits(here), std::cmp::Reverse(votes), here.len() - votes.min(here.len()), first(here))
        };
        order.sort_by_cached_key(rank);
        let mut taken: BTreeSet<CpuId> = BTreeSet::new();
        let mut groups = Vec::new();
        let mut refused = None;
        for (claim, here) in &order {
            let group: CpuSet = here.iter().filter(|cpu| !taken.contains(cpu)).collect();
            if group != *here {
                refused = refused.or(Some(*claim));
            }
            taken.extend(group.iter());
            groups.extend(Some(group).filter(|group| !group.is_empty()));
        }
        groups.extend(
            cpus.iter().filter(|cpu| !taken.contains(cpu)).map(|cpu| CpuSet::from_iter([cpu])),
        );
        let dispute = refused.map(|refused| {
            let overlaps =
                |claim: &SharingClaim| !claim.cpus.intersection(&refused.cpus).is_empty();
            let rivals = order.iter().map(|(claim, _)| *claim).filter(|claim| overlaps(claim));
            in_words(&rivals.collect::<Vec<_>>())
        });
        (Groups::new(groups), dispute)
    }
}

/// Claims that exclude each other, the believed one first.
fn in_words(rivals: &[&SharingClaim]) -> String {
    /// More of them tell nobody more.
    const SHOWN: usize = 3;
    let say = |claim: &SharingClaim| {
        let by: CpuSet = claim.by.iter().copied().collect();
        let verb = if by.len() == 1 { "lists" } else { "list" };
        format!("{} {verb} {}", by.named(), claim.cpus)
    };
    let words = rivals.iter().take(SHOWN).map(|claim| say(claim)).collect::<Vec<_>>().join(", ");
    let mut speakers = BTreeSet::new();
    let speaks_twice = rivals.iter().flat_map(|claim| &claim.by).any(|cpu| !speakers.insert(cpu));
    if speaks_twice { format!("{words} (lists and masks differ)") } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    /// Groups of these CPUs, and what is disputed.
    fn decided(cpus: &str, lists: &[(u32, &str)]) -> (String, Option<String>) {
        let cpus = set(cpus);
        let mut claims = Claims::of(&cpus);
        for (cpu, list) in lists {
            claims.add(CpuId(*cpu), &set(list));
        }
        let (groups, dispute) = claims.decided(&cpus, |_| true);
        (groups.iter().map(CpuSet::to_string).collect::<Vec<_>>().join(" "), dispute)
    }

    #[test]
    fn lists_that_agree_are_groups() {
        let lists = [(0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")];
        assert_eq!(decided("0-3", &lists), ("0,2 1,3".into(), None));
        assert_eq!(decided("0,1", &lists[..2]), ("0 1".into(), None), "others are off");
    }

    #[test]
    fn a_cpu_without_a_list_is_where_others_name_it() {
        assert_eq!(decided("0-3", &[(1, "0-1"), (2, "2")]), ("0-1 2 3".into(), None));
    }

    #[test]
    fn most_cpus_are_believed_and_the_others_named() {
        let of = |odd: &str| decided("0-3", &[(0, odd), (1, "0-3"), (2, "0-3"), (3, "0-3")]);
        let words = "CPUs 1-3 list 0-3, CPU 0 lists 0";
        assert_eq!(of("0"), ("0-3".into(), Some(words.into())));
        assert_eq!(of("0-2").0, "0-3");
        assert_eq!(of("1-3"), ("0-3".into(), None), "a list without its CPU says nothing");
    }

    #[test]
    fn of_two_that_disagree_the_one_is_believed_that_all_of_its_cpus_make() {
        let (groups, dispute) = decided("0-1", &[(0, "0-1"), (1, "1")]);
        assert_eq!(groups, "0 1");
        assert_eq!(dispute.as_deref(), Some("CPU 1 lists 1, CPU 0 lists 0-1"));
    }
}
