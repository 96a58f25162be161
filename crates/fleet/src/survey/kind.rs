//! Machines of one kind beside each other.

use std::collections::{BTreeMap, BTreeSet};

use model::stats::median;

use super::limits;
use super::modes;
use super::ranks;
use super::separators::{CHANCE_MAX, DifferingFact, KindFacts, Separator};
use super::sorts::{ApartHost, SortedResult, tails};
use super::{
    Deviation, FactSpread, Host, HostDeviation, HostGroup, HostKind, Names, OddSetting,
    ResultColumn,
};
use crate::compare::can_be_chosen;
use crate::digest::AFTER;
use crate::threads::each;

/// Machines of a kind while they are looked at.
pub(super) struct KindOfHost<'a> {
    alike: Vec<(String, String)>,
    pub hosts: Vec<&'a Host>,
    pub facts: Vec<DifferingFact>,
    /// The results that are judged.
    pub results: Vec<SortedResult>,
    names: &'a Names,
}

/// What a look at a kind found.
pub(super) struct KindFindings {
    pub suspects: Vec<HostGroup>,
    pub modes: Vec<HostGroup>,
}

impl<'a> KindOfHost<'a> {
    pub(super) fn new(
        alike: Vec<(String, String)>,
        hosts: Vec<&'a Host>,
        names: &'a Names,
    ) -> Self {
        let facts = differing(&hosts, names);
        let columns = names.results.all();
        let sorted = |result: usize| {
            let better = columns[result].better?;
            let cells = (0..).zip(&hosts);
            let cells: Vec<(u32, f64)> =
                cells.filter_map(|(host, it)| Some((host, it.result(result)?.median))).collect();
            (cells.len() >= limits::HOSTS_MIN).then(|| SortedResult::new(result, better, cells))
        };
        let results = each(columns.len(), sorted).into_iter().flatten().collect();
        KindOfHost { alike, hosts, facts, results, names }
    }

    /// What the number of a text stands for.
    fn said(&self, text: Option<u32>) -> Option<String> {
        text.map(|text| self.names.said(text).to_owned())
    }

    /// What its machines say differently, to be asked.
    fn question(&self) -> KindFacts<'_> {
        KindFacts { facts: &self.facts, hosts: self.hosts.len(), names: self.names }
    }

    /// What the number of a result stands for.
    pub(super) fn column(&self, result: usize) -> &ResultColumn {
        &self.names.results.all()[result]
    }

    /// How many numbers are judged.
    pub(super) fn judged(&self) -> usize {
        self.results.iter().map(|result| result.values.len()).sum()
    }

    /// Machines that have fewer results than most of their kind, and how many.
    pub(super) fn partial(&self) -> impl Iterator<Item = (&'a Host, usize)> {
        let count = |host: usize| {
            let has = |it: &&SortedResult| self.hosts[host].result(it.result).is_some();
            self.results.iter().filter(has).count()
        };
        let counts: Vec<usize> = (0..self.hosts.len()).map(count).collect();
        let numbers: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
        let usual = median(&numbers).unwrap_or(0.0);
        let all = self.hosts.clone().into_iter().zip(counts);
        all.filter(move |(_, count)| (*count as f64) < usual)
    }

    pub(super) fn told(&self) -> HostKind {
        let spread = |fact: &DifferingFact| FactSpread {
            id: fact.id.clone(),
            label: fact.label.clone(),
            says: fact.counts().into_iter().map(|it| (self.said(it.0), it.1)).collect(),
        };
        HostKind {
            alike: self.alike.clone(),
            hosts: self.hosts.len(),
            results: self.results.len(),
            differing: self.facts.iter().map(spread).collect(),
        }
    }

    /// Settings that somebody can choose and few machines have, but for suspects: theirs are told with what they cost.
    pub(super) fn odd(&self, kind: usize, suspects: &BTreeSet<String>) -> Vec<OddSetting> {
        let most = (self.hosts.len() as f64 * modes::SHARE_MIN) as usize;
        let mut found = Vec::new();
        for fact in self.facts.iter().filter(|fact| can_be_chosen(&fact.id)) {
            let counts = fact.counts();
            for (says, _) in counts.iter().filter(|it| it.1 <= most) {
                let has = |(place, _): &(usize, &&Host)| fact.texts[*place] == *says;
                let hosts = self.hosts.iter().enumerate().filter(has).map(|it| it.1.name.clone());
                let hosts: Vec<String> = hosts.filter(|name| !suspects.contains(name)).collect();
                let (id, label) = (fact.id.clone(), fact.label.clone());
                let (says, usual) = (self.said(*says), self.said(counts[0].0));
                if !hosts.is_empty() {
                    found.push(OddSetting { kind, id, label, says, usual, hosts });
                }
            }
        }
        found
    }

    pub(super) fn look(&self, place: usize, chance: f64) -> KindFindings {
        let tails = tails(&self.results, chance, self.names);
        let beyond = |place: usize| {
            let result = &self.results[place];
            result.beyond(&self.hosts, chance, tails[&result.quantity(self.names)])
        };
        let apart: Vec<ApartHost> =
            each(self.results.len(), beyond).into_iter().flatten().collect();
        let ill: BTreeSet<usize> = apart.iter().map(|it| it.host).collect();
        KindFindings {
            suspects: self.suspects(place, &apart),
            modes: self.modes(place, self.sorts(&ill)),
        }
    }

    /// Machines that are worse together, each time in one result or by one fact. Who is ill is of no sort.
    fn sorts(&self, ill: &BTreeSet<usize>) -> Vec<Vec<ApartHost>> {
        let least = (self.hosts.len() as f64 * modes::SHARE_MIN).ceil() as usize;
        let mut cut: Vec<Vec<ApartHost>> =
            self.results.iter().flat_map(SortedResult::worse_sorts).collect();
        for sort in &mut cut {
            sort.retain(|it| !ill.contains(&it.host));
        }
        cut.retain(|sort| sort.len() >= least);
        // They are in the order of their numbers.
        let middle = |sort: &Vec<ApartHost>| sort[sort.len() / 2].lost;
        cut.sort_by(|a, b| middle(b).total_cmp(&middle(a)));
        cut.extend(ranks::worse(self, ill));
        cut
    }

    /// Machines that are apart, together with those that are so for the same reason.
    fn suspects(&self, place: usize, apart: &[ApartHost]) -> Vec<HostGroup> {
        let mut rest = worst(apart);
        rest.sort_by(|a, b| b.lost.total_cmp(&a.lost));
        let mut found: Vec<(Vec<usize>, Vec<Separator>)> = Vec::new();
        while !rest.is_empty() {
            let (group, facts) = self.next_group(&mut rest);
            // Of few machines no fact is certain; that of two is the same.
            let is_same = |known: &Separator| {
                facts.first().is_some_and(|it| it.id == known.id && it.says == known.says)
            };
            match found.iter_mut().find(|(_, known)| known.first().is_some_and(is_same)) {
                Some((known, _)) => known.extend(group),
                None => found.push((group, facts)),
            }
        }
        let told = |(mut hosts, facts): (Vec<usize>, Vec<Separator>)| {
            hosts.sort_unstable();
            let among: BTreeSet<usize> = hosts.iter().copied().collect();
            let theirs: Vec<ApartHost> =
                apart.iter().filter(|it| among.contains(&it.host)).copied().collect();
            let group = self.group(place, &hosts, facts, &theirs);
            let losses: Vec<(String, f64)> = worst(&theirs)
                .into_iter()
                .map(|it| (self.hosts[it.host].name.clone(), it.lost))
                .collect();
            let machines_lost = losses.iter().map(|it| it.1).sum();
            HostGroup { losses, machines_lost, each: self.each(theirs), ..group }
        };
        found.into_iter().map(told).collect()
    }

    /// The machine that loses most, with those that the best fact of its own has in common with it.
    fn next_group(&self, rest: &mut Vec<ApartHost>) -> (Vec<usize>, Vec<Separator>) {
        let question = self.question();
        let area = &self.column(rest[0].result).what.area;
        let all: Vec<usize> = rest.iter().map(|it| it.host).collect();
        let whole = question.separators_with(&all[..1], &all, area);
        let mut group = match whole.first() {
            Some(first) if first.chance <= CHANCE_MAX => self.saying(first, &all),
            // What suspects alone say may be chance, but is worth a word where it goes with the same area.
            Some(first) => {
                let is_like = |it: &&ApartHost| self.column(it.result).what.area == *area;
                let like: Vec<usize> = rest.iter().filter(is_like).map(|it| it.host).collect();
                self.saying(first, &like)
            }
            None => all[..1].to_vec(),
        };
        group.sort_unstable();
        rest.retain(|it| !group.contains(&it.host));
        let mut facts = question.separators(&group, area);
        // They were put together by what they say: chance is that of all suspects, of whom these were taken.
        for fact in &mut facts {
            let known = whole.iter().find(|it| it.id == fact.id && it.says == fact.says);
            fact.chance = known.map_or(fact.chance, |it| it.chance.max(fact.chance));
        }
        (group, facts)
    }

    /// Those of these machines that say what separates.
    fn saying(&self, separator: &Separator, hosts: &[usize]) -> Vec<usize> {
        let Some(fact) = self.facts.iter().find(|fact| fact.id == separator.id) else {
            return Vec::new();
        };
        let says = |host: &usize| self.said(fact.texts[*host]) == separator.says;
        hosts.iter().copied().filter(says).collect()
    }

    fn group(
        &self,
        kind: usize,
        hosts: &[usize],
        facts: Vec<Separator>,
        apart: &[ApartHost],
    ) -> HostGroup {
        // Of several that were found of a machine in a result the worst one counts.
        let mut apart = apart.to_vec();
        let place = |it: &ApartHost| (it.result, it.host);
        apart.sort_unstable_by(|a, b| place(a).cmp(&place(b)).then(b.lost.total_cmp(&a.lost)));
        apart.dedup_by_key(|it| place(it));
        let mut by_result: Vec<&[ApartHost]> =
            apart.chunk_by(|a, b| a.result == b.result).collect();
        // What one machine of many shows is told of that one alone; but where they have nothing in common.
        let is_shared = |all: &&[ApartHost]| all.len() * 2 >= hosts.len();
        if by_result.iter().any(is_shared) {
            by_result.retain(is_shared);
        }
        let told = |all: &[ApartHost]| self.deviation(all[0].result, all);
        let mut results: Vec<(Deviation, &[ApartHost])> =
            by_result.into_iter().map(|all| (told(all), all)).collect();
        results.sort_by(|a, b| b.0.lost.total_cmp(&a.0.lost));
        let dearest = results.first().map_or(&[][..], |it| it.1);
        let losses: Vec<(String, f64)> =
            dearest.iter().map(|it| (self.hosts[it.host].name.clone(), it.lost)).collect();
        HostGroup {
            kind,
            hosts: hosts.iter().map(|host| self.hosts[*host].name.clone()).collect(),
            of: self.hosts.len(),
            results: results.into_iter().map(|it| it.0).collect(),
            facts,
            machines_lost: losses.iter().map(|it| it.1).sum(),
            losses,
            each: Vec::new(),
        }
    }

    /// Each machine in each result, the dearest first.
    fn each(&self, mut apart: Vec<ApartHost>) -> Vec<HostDeviation> {
        apart.sort_by(|a, b| b.lost.total_cmp(&a.lost));
        let told = |it: ApartHost| HostDeviation {
            host: self.hosts[it.host].name.clone(),
            deviation: self.deviation(it.result, &[it]),
        };
        apart.into_iter().map(told).collect()
    }

    fn deviation(&self, result: usize, all: &[ApartHost]) -> Deviation {
        let of = |number: fn(&ApartHost) -> f64| {
            median(&all.iter().map(number).collect::<Vec<_>>()).unwrap_or_default()
        };
        Deviation {
            column: self.column(result).clone(),
            usual: of(|it| it.usual),
            here: of(|it| it.here),
            lost: of(|it| it.lost),
        }
    }

    /// Sorts of machines; those that most results, or facts, cut alike are one.
    fn modes(&self, place: usize, sorts: Vec<Vec<ApartHost>>) -> Vec<HostGroup> {
        /// Two sorts are one where so much of what is in either is in both.
        const SAME: f64 = 0.8;
        let mut found: Vec<(BTreeSet<usize>, Vec<ApartHost>)> = Vec::new();
        for sort in sorts {
            let hosts: BTreeSet<usize> = sort.iter().map(|it| it.host).collect();
            let is_same = |known: &BTreeSet<usize>| {
                let both = known.intersection(&hosts).count() as f64;
                both >= SAME * (known.len() + hosts.len()) as f64 - SAME * both
            };
            match found.iter_mut().find(|(known, _)| is_same(known)) {
                Some((_, all)) => all.extend(sort),
                None => found.push((hosts, sort)),
            }
        }
        let told = |(hosts, all): (Vec<usize>, Vec<ApartHost>)| {
            self.group(place, &hosts, self.separators(&hosts, &all), &all)
        };
        self.joined(found).into_iter().map(told).collect()
    }

    /// What separates machines that are worse in these results.
    fn separators(&self, hosts: &[usize], apart: &[ApartHost]) -> Vec<Separator> {
        let area = &self.column(apart[0].result).what.area;
        self.question().separators(hosts, area)
    }

    /// Sorts together that the same fact separates: a warm rack is one, of whichever lots its machines are.
    fn joined(
        &self,
        sorts: Vec<(BTreeSet<usize>, Vec<ApartHost>)>,
    ) -> Vec<(Vec<usize>, Vec<ApartHost>)> {
        type Said = Option<(String, Option<String>)>;
        let mut found: Vec<(Said, BTreeSet<usize>, Vec<ApartHost>)> = Vec::new();
        for (hosts, all) in sorts {
            let facts = self.separators(&hosts.iter().copied().collect::<Vec<_>>(), &all);
            let first = facts.into_iter().next().filter(|it| it.chance <= CHANCE_MAX);
            let said = first.map(|it| (it.id, it.says));
            match found.iter_mut().find(|(known, ..)| said.is_some() && *known == said) {
                Some((_, known, theirs)) => {
                    known.extend(hosts);
                    theirs.extend(all);
                }
                None => found.push((said, hosts, all)),
            }
        }
        let plain = |(_, hosts, all): (Said, BTreeSet<usize>, Vec<ApartHost>)| {
            (hosts.into_iter().collect(), all)
        };
        found.into_iter().map(plain).collect()
    }
}

/// Each machine in the result in which it loses most.
fn worst(apart: &[ApartHost]) -> Vec<ApartHost> {
    let mut worst: BTreeMap<usize, ApartHost> = BTreeMap::new();
    for it in apart {
        let known = worst.entry(it.host).or_insert(*it);
        if it.lost > known.lost {
            *known = *it;
        }
    }
    worst.into_values().collect()
}

/// The facts that machines say differently. What is as it was before the run is told once.
fn differing(hosts: &[&Host], names: &Names) -> Vec<DifferingFact> {
    let facts = names.facts.all().iter().enumerate();
    let texts = |fact: usize| hosts.iter().map(|host| host.fact(fact)).collect::<Vec<_>>();
    let differs = |(fact, [id, label]): (usize, &[String; 2])| {
        let texts = texts(fact);
        let earlier = id.strip_prefix(AFTER).and_then(|id| names.fact(id));
        if earlier.is_some_and(|earlier| {
            hosts.iter().zip(&texts).all(|(it, text)| it.fact(earlier) == *text)
        }) {
            return None;
        }
        DifferingFact::of(id, label, texts)
    };
    facts.filter_map(differs).collect()
}
