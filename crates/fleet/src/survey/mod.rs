//! Which of many machines are not like the others, what that costs, and which fact separates them.
//!
//! Machines are held against those of their kind, result by result: nothing is assumed but that most of a kind are well.
//! Where a kind falls into sorts, each is held against its own sort, and the sorts are told. A limit is so far out that
//! of fleets without a fault one in twenty shows a suspect, however many machines and results there are.

mod answers;
mod drift;
mod kind;
mod limits;
mod modes;
mod page;
mod ranks;
mod rows;
mod separators;
mod sorts;
mod strips;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};

use model::Unit;
use model::page::StripPlot;
use model::record::ResultKey;
use serde::Serialize;

pub use self::answers::WrongHost;
pub use self::drift::{ChangedFact, Drift, FleetChange, HostChange, drift};
use self::kind::KindOfHost;
pub(crate) use self::page::changed_text;
pub use self::page::{csv, folded, page};
pub use self::rows::{Host, Names, ResultColumn, Rows, beginning_of};
#[cfg(feature = "parquet")]
pub(crate) use self::rows::{Numbered, column, write_key};
pub use self::separators::{CHANCE_MAX, Separator};
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
    /// Machines whose CPUs compute wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongHost>,
    /// Machines that are not like the others, dearest first.
    pub suspects: Vec<HostGroup>,
    /// Sorts of machines within a kind, dearest first.
    pub modes: Vec<HostGroup>,
    /// Settings that few machines of a kind have, and that show in no result.
    pub odd: Vec<OddSetting>,
    /// The dearest results of each kind, machine by machine, to be drawn.
    #[serde(skip)]
    pub strips: Vec<StripPlot>,
    /// How many numbers were judged.
    pub judged: usize,
    /// Records that say nothing, and why.
    pub left_out: Vec<LeftOutHost>,
    /// Machines that are held against others in fewer results than most of their kind, and in how many.
    pub partial: Vec<LeftOutHost>,
    /// How many records are of machines that have a newer one.
    pub older: usize,
    /// What changed, where earlier runs were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Box<Drift>>,
    /// Machines that were expected and have no record.
    pub missing: Vec<String>,
    /// The names of machines that are neither suspects nor left out; those of a worse sort are among them.
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
    /// What they cost together, in machines: the sum of what each loses, a suspect in its dearest result, others in that
    /// of all.
    pub machines_lost: f64,
    /// What each loses there.
    #[serde(skip)]
    pub losses: Vec<(String, f64)>,
    /// Of suspects: each machine in each result in which it is apart, the dearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<HostDeviation>,
}

/// A machine in a result in which it is worse.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostDeviation {
    /// Its name.
    pub host: String,
    /// The result.
    #[serde(flatten)]
    pub deviation: Deviation,
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
    /// Its machine.
    pub name: String,
    /// Its file, where that is no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why.
    pub why: String,
}

/// Holds machines against each other, one record of each.
pub fn survey(hosts: &[Host], names: &Names) -> Survey {
    let without = hosts.iter().filter(|host| host.result_count() == 0);
    let told = |host: &Host| {
        let (name, why) = (host.name.clone(), "it has no results".to_owned());
        LeftOutHost { name, file: None, why }
    };
    let mut left_out: Vec<LeftOutHost> = without.map(told).collect();
    let kinds = by_kind(hosts, names).into_iter();
    let kinds: Vec<KindOfHost<'_>> =
        kinds.map(|(alike, hosts)| KindOfHost::new(alike, hosts, names)).collect();
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
        left_out.push(LeftOutHost { name: host.name.clone(), file: None, why });
    }
    let bad: BTreeSet<String> = suspects.iter().flat_map(|it| it.hosts.iter().cloned()).collect();
    let partial = |kind: &KindOfHost<'_>| {
        let (all, told) = (kind.told().results, kind.partial());
        let partial = told.map(move |(host, count)| LeftOutHost {
            name: host.name.clone(),
            file: None,
            why: format!("it has {count} of {all} results"),
        });
        partial.collect::<Vec<_>>()
    };
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
        strips: kinds
            .iter()
            .enumerate()
            .filter_map(|(place, kind)| kind.strips(place, &suspects, &modes))
            .collect(),
        wrong: Vec::new(),
        suspects,
        modes,
        judged,
        left_out,
        partial: kinds.iter().flat_map(partial).collect(),
        older: 0,
        drift: None,
        missing: Vec::new(),
        good,
    }
    .with_answers(hosts, names)
}

impl Survey {
    /// Whether any machine is suspected.
    pub fn has_suspects(&self) -> bool {
        !self.suspects.is_empty() || !self.wrong.is_empty()
    }

    /// The same with what changed: who changed unlike the others is a suspect, too.
    #[must_use]
    pub fn with_drift(mut self, drift: Drift) -> Survey {
        let bad = drift.apart.bad();
        self.good.retain(|name| !bad.contains(name));
        self.drift = Some(Box::new(drift));
        self
    }

    /// Suspects and sorts, and those of the drift.
    fn groups(&self) -> impl Iterator<Item = &HostGroup> {
        let apart = self.drift.iter().map(|drift| &drift.apart);
        std::iter::once(self).chain(apart).flat_map(|it| it.suspects.iter().chain(&it.modes))
    }

    /// Machines that lose more than this part of the usual speed in some result, the dearest first: suspects, and those
    /// of a worse sort. Where earlier runs were asked for, also of what they were.
    pub fn slower_than(&self, share: f64) -> Vec<&str> {
        let losses = self.groups().flat_map(|group| &group.losses);
        let mut found: BTreeMap<&str, f64> = BTreeMap::new();
        for (host, lost) in losses.filter(|it| it.1 > share) {
            let most = found.entry(host).or_default();
            *most = most.max(*lost);
        }
        let mut found: Vec<(&str, f64)> = found.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.into_iter().map(|it| it.0).collect()
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

    /// The names of suspects, each once; also of those that changed unlike the others.
    pub fn bad(&self) -> Vec<String> {
        let changed = self.drift.iter().flat_map(|drift| &drift.apart.suspects);
        let names: BTreeSet<&String> =
            self.suspects.iter().chain(changed).flat_map(|it| &it.hosts).collect();
        let wrong = self.wrong.iter().map(|it| &it.name);
        let names: BTreeSet<&String> = names.into_iter().chain(wrong).collect();
        names.into_iter().cloned().collect()
    }
}

/// What makes a kind: labels and values.
type Alike = Vec<(String, String)>;

/// Machines that have results, by their kinds, the most frequent first.
fn by_kind<'a>(hosts: &'a [Host], names: &Names) -> Vec<(Alike, Vec<&'a Host>)> {
    let mut by_kind: BTreeMap<Alike, Vec<&Host>> = BTreeMap::new();
    for host in hosts.iter().filter(|host| host.result_count() > 0) {
        by_kind.entry(alike(host, names)).or_default().push(host);
    }
    let mut kinds: Vec<_> = by_kind.into_iter().collect();
    kinds.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    kinds
}

/// What makes a machine's kind.
fn alike(host: &Host, names: &Names) -> Alike {
    let said = |id: &str| Some(names.said(host.fact(names.fact(id)?)?).to_owned());
    // Simulated faults have names of their own, and are of one kind with what has none.
    let simulated = host.is_simulated.then(|| "yes".to_owned());
    reference::alike(simulated, host.packages, host.cores, said)
}

/// A number of a result in words.
fn worded(value: f64, unit: Unit) -> String {
    model::page::si::format(value, unit)
}

/// What a result is called, with how many CPUs were active.
pub(crate) fn named(what: &ResultKey) -> String {
    let word = if what.active == 1 { "CPU" } else { "CPUs" };
    format!("{}, {} {word}", model::areas::result_name(what), what.active)
}
