//! Which of many machines are not like the others, what that costs, and which fact separates them.
//!
//! Machines are held against those of their kind, result by result: nothing is assumed but that most of a kind are well.
//! Where a kind falls into sorts, each is held against its own sort, and the sorts are told. A limit is so far out that
//! of fleets without a fault one in twenty shows a suspect, however many machines and results there are.

mod limits;
mod modes;
mod page;
mod rows;
mod separators;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use model::Unit;
use model::record::ResultKey;
use model::stats::paired::Better;
use model::stats::{median, quantile_sorted};
use serde::Serialize;

use self::limits::Sample;
pub use self::page::{csv, page};
pub use self::rows::{Host, Names, ResultColumn, Rows};
pub use self::separators::{CHANCE_MAX, Separator};
use self::separators::{DifferingFact, KindFacts};
use crate::compare::can_be_chosen;
use crate::digest::AFTER;
use crate::reference;

/// Of so many fleets without a fault, one shows a suspect.
pub const FLEETS_PER_ALARM: f64 = 20.0;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Survey {
    /// Which form this is.
    pub schema: &'static str,
    /// How many machines were looked at.
    pub hosts: usize,
    /// Whether any of them is simulated.
    pub is_simulated: bool,
    /// Kinds of machines, the most frequent first.
    pub kinds: Vec<HostKind>,
    /// Machines that are not like the others, dearest first.
    pub suspects: Vec<HostGroup>,
    /// Sorts of machines within a kind, dearest first.
    pub modes: Vec<HostGroup>,
    /// Settings that few machines of a kind have, and that show in no result.
    pub odd: Vec<OddSetting>,
    /// How many numbers were judged.
    pub judged: usize,
    /// Records that say nothing, and why.
    pub left_out: Vec<LeftOutHost>,
    /// Machines that were expected and have no record.
    pub missing: Vec<String>,
    /// The names of machines that are neither suspects nor left out.
    pub good: Vec<String>,
}

/// Machines that were bought alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostKind {
    /// What makes them alike: labels and values.
    pub alike: Vec<(String, String)>,
    /// How many there are.
    pub hosts: usize,
    /// How many results are compared.
    pub results: usize,
    /// Facts that they say differently.
    pub differing: Vec<FactSpread>,
}

/// What machines of a kind say of a fact.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactSpread {
    /// The fact's id.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What is said and by how many, the most frequent first; `None` where it is not known.
    pub says: Vec<(Option<String>, usize)>,
}

/// Machines that differ from the others of their kind in the same way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostGroup {
    /// The place of their kind.
    pub kind: usize,
    /// Their names.
    pub hosts: Vec<String>,
    /// How many machines of the kind have such results.
    pub of: usize,
    /// What they are worse in, the dearest first.
    pub results: Vec<Deviation>,
    /// Facts that separate them, the best first.
    pub facts: Vec<Separator>,
    /// What they cost together, in machines: hosts times the loss in the dearest result.
    pub machines_lost: f64,
}

/// A result in which machines are worse.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deviation {
    /// The result.
    #[serde(flatten)]
    pub column: ResultColumn,
    /// What is usual.
    pub usual: f64,
    /// The median of theirs.
    pub here: f64,
    /// The part of the usual speed that is lost: of a bandwidth or a clock 1 - here/usual, of a time 1 - usual/here.
    pub lost: f64,
}

/// A setting that few machines of a kind have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OddSetting {
    /// The place of their kind.
    pub kind: usize,
    /// The fact's id.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What they say; `None` where they do not know it.
    pub says: Option<String>,
    /// What others say most often.
    pub usual: Option<String>,
    /// Their names.
    pub hosts: Vec<String>,
}

/// A record that is not held against others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOutHost {
    /// Its machine, or its file.
    pub name: String,
    /// Why.
    pub why: String,
}

/// Holds machines against each other, one record of each.
pub fn survey(hosts: &[Host], names: &Names) -> Survey {
    let mut left_out = Vec::new();
    let mut by_kind: BTreeMap<Vec<(String, String)>, Vec<&Host>> = BTreeMap::new();
    for host in hosts {
        if host.result_count() == 0 {
            let why = "it has no results".to_owned();
            left_out.push(LeftOutHost { name: host.name.clone(), why });
        } else {
            by_kind.entry(alike(host, names)).or_default().push(host);
        }
    }
    let mut kinds: Vec<KindOfHost<'_>> =
        by_kind.into_iter().map(|(alike, hosts)| KindOfHost::new(alike, hosts, names)).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.hosts.len()));
    let judged: usize = kinds.iter().map(KindOfHost::judged).sum();
    let chance = 1.0 / FLEETS_PER_ALARM / judged.max(1) as f64;
    let (mut suspects, mut modes) = (Vec::new(), Vec::new());
    for (place, kind) in kinds.iter().enumerate() {
        let found = kind.look(place, chance);
        suspects.extend(found.suspects);
        modes.extend(found.modes);
    }
    for groups in [&mut suspects, &mut modes] {
        groups.sort_by(|a, b| b.machines_lost.total_cmp(&a.machines_lost));
    }
    let few = kinds.iter().filter(|kind| kind.hosts.len() < limits::HOSTS_MIN);
    for host in few.flat_map(|kind| &kind.hosts) {
        let why = format!("fewer than {} machines are of its kind", limits::HOSTS_MIN);
        left_out.push(LeftOutHost { name: host.name.clone(), why });
    }
    let bad: BTreeSet<String> = suspects.iter().flat_map(|it| it.hosts.iter().cloned()).collect();
    let out: BTreeSet<&str> = left_out.iter().map(|it| it.name.as_str()).collect();
    let is_good = |host: &&Host| !bad.contains(&host.name) && !out.contains(&*host.name);
    let mut good: Vec<String> = hosts.iter().filter(is_good).map(|it| it.name.clone()).collect();
    good.sort();
    Survey {
        schema: "cpudyno.fleet/1",
        hosts: hosts.len(),
        is_simulated: hosts.iter().any(|host| host.is_simulated),
        kinds: kinds.iter().map(KindOfHost::told).collect(),
        odd: kinds.iter().enumerate().flat_map(|(place, kind)| kind.odd(place, &bad)).collect(),
        suspects,
        modes,
        judged,
        left_out,
        missing: Vec::new(),
        good,
    }
}

impl Survey {
    /// Whether any machine is suspected.
    pub fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// The id of the fact that is named first for most of these machines: suspects, a sort, or an odd setting.
    pub fn fact_of(&self, hosts: &[String]) -> Option<String> {
        let most =
            |of: &[String]| hosts.iter().filter(|it| of.contains(it)).count() * 2 > hosts.len();
        let groups = self.suspects.iter().chain(&self.modes);
        let group = groups.filter(|group| most(&group.hosts)).find_map(|it| it.facts.first());
        let odd = self.odd.iter().find(|odd| most(&odd.hosts)).map(|odd| odd.id.clone());
        group.map(|fact| fact.id.clone()).or(odd)
    }

    /// The names of suspects, each once.
    pub fn bad(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.suspects.iter().flat_map(|it| &it.hosts).collect();
        names.into_iter().cloned().collect()
    }
}

/// What makes a machine's kind.
fn alike(host: &Host, names: &Names) -> Vec<(String, String)> {
    let said = |id: &str| Some(names.said(host.fact(names.fact(id)?)?).to_owned());
    // Simulated faults have names of their own, and are of one kind with what has none.
    let simulated = host.is_simulated.then(|| "yes".to_owned());
    reference::alike(simulated, host.packages, host.cores, said)
}

/// Machines of a kind while they are looked at.
struct KindOfHost<'a> {
    alike: Vec<(String, String)>,
    hosts: Vec<&'a Host>,
    facts: Vec<DifferingFact>,
    /// The numbers of results that are judged.
    results: Vec<usize>,
    names: &'a Names,
}

/// What a look at a kind found.
struct KindFindings {
    suspects: Vec<HostGroup>,
    modes: Vec<HostGroup>,
}

/// One machine in one result: the place of the machine, what is usual and what is here.
#[derive(Clone, Copy)]
struct ApartHost {
    host: usize,
    result: usize,
    usual: f64,
    here: f64,
    lost: f64,
}

impl<'a> KindOfHost<'a> {
    fn new(alike: Vec<(String, String)>, hosts: Vec<&'a Host>, names: &'a Names) -> Self {
        let facts = differing(&hosts, names);
        let columns = names.results.all();
        let is_judged = |result: &usize| {
            let having = hosts.iter().filter(|host| host.result(*result).is_some()).count();
            columns[*result].better.is_some() && having >= limits::HOSTS_MIN
        };
        let results = (0..columns.len()).filter(is_judged).collect();
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

    /// How many numbers are judged.
    fn judged(&self) -> usize {
        self.results.len() * self.hosts.len()
    }

    fn told(&self) -> HostKind {
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
    fn odd(&self, kind: usize, suspects: &BTreeSet<String>) -> Vec<OddSetting> {
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

    fn look(&self, place: usize, chance: f64) -> KindFindings {
        let all: Vec<SortedResult> =
            self.results.iter().filter_map(|result| self.sorted(*result)).collect();
        let bends = bends(&all, chance, self.names);
        let apart: Vec<ApartHost> = all
            .iter()
            .flat_map(|result| result.beyond(chance, bends[&result.quantity(self.names)]))
            .collect();
        // Who is ill is of no sort.
        let ill: BTreeSet<usize> = apart.iter().map(|it| it.host).collect();
        let least = (self.hosts.len() as f64 * modes::SHARE_MIN).ceil() as usize;
        let mut sorts: Vec<Vec<ApartHost>> =
            all.iter().flat_map(SortedResult::worse_sorts).collect();
        for sort in &mut sorts {
            sort.retain(|it| !ill.contains(&it.host));
        }
        sorts.retain(|sort| sort.len() >= least);
        KindFindings { suspects: self.suspects(place, &apart), modes: self.modes(place, sorts) }
    }

    /// One result of all machines that have it, cut into sorts.
    fn sorted(&self, result: usize) -> Option<SortedResult> {
        let better = self.names.results.all()[result].better?;
        let cells = self.hosts.iter().enumerate();
        let mut cells: Vec<(usize, rows::HostNumber)> =
            cells.filter_map(|(host, it)| Some((host, it.result(result)?))).collect();
        cells.sort_unstable_by(|a, b| a.1.median.total_cmp(&b.1.median));
        let values: Vec<f64> = cells.iter().map(|(_, cell)| cell.median).collect();
        let ends = modes::cuts(&values).into_iter().chain([cells.len()]).collect();
        Some(SortedResult { result, better, cells, values, ends })
    }

    /// Machines that are apart, together with those that are so for the same reason.
    fn suspects(&self, place: usize, apart: &[ApartHost]) -> Vec<HostGroup> {
        // By the result in which a machine loses most.
        let mut worst: BTreeMap<usize, ApartHost> = BTreeMap::new();
        for it in apart {
            let known = worst.entry(it.host).or_insert(*it);
            if it.lost > known.lost {
                *known = *it;
            }
        }
        let mut rest: Vec<ApartHost> = worst.into_values().collect();
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
            self.group(place, &hosts, facts, apart)
        };
        found.into_iter().map(told).collect()
    }

    /// The machine that loses most, with those that the best fact of its own has in common with it.
    fn next_group(&self, rest: &mut Vec<ApartHost>) -> (Vec<usize>, Vec<Separator>) {
        let question = self.question();
        let area = &self.names.results.all()[rest[0].result].what.area;
        let all: Vec<usize> = rest.iter().map(|it| it.host).collect();
        let whole = question.separators_with(&all[..1], &all, area);
        let mut group = match whole.first().filter(|first| first.chance <= CHANCE_MAX) {
            Some(first) => self.saying(first, &all),
            None => all[..1].to_vec(),
        };
        group.sort_unstable();
        rest.retain(|it| !group.contains(&it.host));
        let facts = question.separators(&group, area);
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
        let mut by_result: BTreeMap<usize, Vec<ApartHost>> = BTreeMap::new();
        let among: BTreeSet<usize> = hosts.iter().copied().collect();
        for it in apart.iter().filter(|it| among.contains(&it.host)) {
            by_result.entry(it.result).or_default().push(*it);
        }
        // What one machine of many shows is told of that one alone.
        by_result.retain(|_, all| all.len() * 2 >= hosts.len());
        let mut results: Vec<Deviation> =
            by_result.into_iter().map(|(result, all)| self.deviation(result, &all)).collect();
        results.sort_by(|a, b| b.lost.total_cmp(&a.lost));
        let most = results.first().map_or(0.0, |first| first.lost);
        HostGroup {
            kind,
            hosts: hosts.iter().map(|host| self.hosts[*host].name.clone()).collect(),
            of: self.hosts.len(),
            results,
            facts,
            machines_lost: most * hosts.len() as f64,
        }
    }

    fn deviation(&self, result: usize, all: &[ApartHost]) -> Deviation {
        let of = |number: fn(&ApartHost) -> f64| {
            median(&all.iter().map(number).collect::<Vec<_>>()).unwrap_or_default()
        };
        Deviation {
            column: self.names.results.all()[result].clone(),
            usual: of(|it| it.usual),
            here: of(|it| it.here),
            lost: of(|it| it.lost),
        }
    }

    /// Sorts of machines; those that most results cut alike are one.
    fn modes(&self, place: usize, mut sorts: Vec<Vec<ApartHost>>) -> Vec<HostGroup> {
        /// Two sorts are one where so much of what is in either is in both.
        const SAME: f64 = 0.8;
        sorts.sort_by(|a, b| b[0].lost.total_cmp(&a[0].lost));
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
        let question = self.question();
        let told = |(hosts, all): (BTreeSet<usize>, Vec<ApartHost>)| {
            let hosts: Vec<usize> = hosts.into_iter().collect();
            let area = &self.names.results.all()[all[0].result].what.area;
            let facts = question.separators(&hosts, area);
            self.group(place, &hosts, facts, &all)
        };
        found.into_iter().map(told).collect()
    }
}

/// The numbers of a result, ascending, and where each sort of machines ends.
struct SortedResult {
    result: usize,
    better: Better,
    /// The place of the machine, and its number.
    cells: Vec<(usize, rows::HostNumber)>,
    values: Vec<f64>,
    ends: Vec<usize>,
}

/// What results of one sort have in common.
type QuantityOfArea<'a> = (&'a str, &'a str);

/// How the worse side of each quantity bends, by the median over its results: of one alone it is uncertain.
fn bends<'a>(
    all: &[SortedResult],
    chance: f64,
    names: &'a Names,
) -> BTreeMap<QuantityOfArea<'a>, f64> {
    let mut bends: BTreeMap<QuantityOfArea<'a>, Vec<f64>> = BTreeMap::new();
    for result in all {
        let of_quantity = bends.entry(result.quantity(names)).or_default();
        of_quantity.extend(result.sorts().filter_map(|sort| result.sample(sort, chance).bend()));
    }
    let pooled = |bends: Vec<f64>| median(&bends).unwrap_or(0.0);
    bends.into_iter().map(|(quantity, bends)| (quantity, pooled(bends))).collect()
}

impl SortedResult {
    fn quantity<'a>(&self, names: &'a Names) -> QuantityOfArea<'a> {
        let what = &names.results.all()[self.result].what;
        (&what.area, &what.quantity)
    }

    fn sorts(&self) -> impl Iterator<Item = Range<usize>> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| begin..*end)
    }

    fn sample(&self, sort: Range<usize>, chance: f64) -> Sample<'_> {
        Sample { numbers: &self.values[sort], worse_above: self.better == Better::Less, chance }
    }

    /// The part of the usual speed that is lost.
    fn lost(&self, usual: f64, here: f64) -> f64 {
        match self.better {
            Better::More => 1.0 - here / usual,
            Better::Less => 1.0 - usual / here,
        }
    }

    /// Sorts that are worse than the best one.
    fn worse_sorts(&self) -> Vec<Vec<ApartHost>> {
        let middle = |sort: Range<usize>| quantile_sorted(&self.values[sort], 0.5);
        let middles = self.sorts().map(middle);
        let best = match self.better {
            Better::More => middles.last(),
            Better::Less => self.sorts().map(middle).next(),
        };
        let Some(usual) = best.filter(|_| self.ends.len() > 1) else { return Vec::new() };
        let told = |sort: Range<usize>| {
            let lost = self.lost(usual, middle(sort.clone()));
            let apart = |(host, cell): &(usize, rows::HostNumber)| {
                let (host, here) = (*host, cell.median);
                ApartHost { host, result: self.result, usual, here, lost }
            };
            (lost > 0.0).then(|| self.cells[sort].iter().map(apart).collect())
        };
        self.sorts().filter_map(told).collect()
    }

    /// Machines that are worse than others of their sort by more than chance, with the whole of their interval.
    fn beyond(&self, chance: f64, bend: f64) -> Vec<ApartHost> {
        /// Among more, one machine moves neither median.
        const EACH_MAX: usize = 100;
        let mut found = Vec::new();
        for sort in self.sorts() {
            let sample = self.sample(sort.clone(), chance);
            let of_all = sample.usual(bend);
            for place in sort.clone() {
                let mut usual = of_all;
                if sort.len() <= EACH_MAX {
                    let others =
                        [&self.values[sort.start..place], &self.values[place + 1..sort.end]];
                    usual = Sample { numbers: &others.concat(), ..sample }.usual(bend);
                }
                let (host, cell) = self.cells[place];
                if let Some(usual) = usual.filter(|usual| self.is_beyond(cell, *usual)) {
                    let (result, usual, here) = (self.result, usual.middle, cell.median);
                    found.push(ApartHost {
                        host,
                        result,
                        usual,
                        here,
                        lost: self.lost(usual, here),
                    });
                }
            }
        }
        found
    }

    fn is_beyond(&self, cell: rows::HostNumber, usual: limits::Usual) -> bool {
        match self.better {
            Better::More => f64::from(cell.high).max(cell.median) < usual.middle - usual.reach,
            Better::Less => f64::from(cell.low).min(cell.median) > usual.middle + usual.reach,
        }
    }
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

/// A number of a result in words.
fn worded(value: f64, unit: Unit) -> String {
    model::page::si::format(value, unit)
}

/// What a result is called, with how many CPUs were active.
fn named(what: &ResultKey) -> String {
    let word = if what.active == 1 { "CPU" } else { "CPUs" };
    format!("{}, {} {word}", model::areas::result_name(what), what.active)
}
