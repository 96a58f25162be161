//! What changed of each machine between two runs, and of the fleet.
//!
//! Each machine is its own measure: what is now over what was before. Machines whose change is not that of the others of
//! their kind are found as slow ones are, and what they say otherwise than before is the fact that may separate them.

use std::collections::{BTreeMap, BTreeSet};

use model::record::ResultValue;
use model::stats::paired::{BAND, Better};
use model::stats::welch::welch;
use model::stats::{median, median_interval};
use serde::Serialize;

use super::rows::HostNumber;
use super::{
    Deviation, FLEETS_PER_ALARM, Host, HostGroup, Names, ResultColumn, Survey, by_kind, limits,
    survey,
};
use crate::compare::can_be_chosen;
use crate::digest::can_change;
use crate::threads::each;

/// What stands between what was said and what is.
pub(super) const CHANGE: &str = " -> ";

/// What changed since.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// Since when, as it was asked for.
    pub since: String,
    /// How many machines have a run of both times.
    pub hosts: usize,
    /// Machines that have none from before.
    pub new: Vec<String>,
    /// Machines that have one from before alone.
    pub gone: Vec<String>,
    /// The change of each kind in each result in which it is more than chance and 1 %, the dearest first.
    pub fleet: Vec<FleetChange>,
    /// In how many results of a kind the change is within 1 %, with the whole interval.
    pub within: usize,
    /// How many results of kinds were asked.
    pub asked: usize,
    /// Machines that are as they were, where the others became faster.
    pub stayed: Vec<String>,
    /// What machines say otherwise than before: what somebody can choose first, then the most frequent.
    pub facts: Vec<ChangedFact>,
    /// Machines that became slower than the others did: the numbers are ratios, now over before as speeds are.
    pub apart: Survey,
    /// Each machine, the slowest by what it was first.
    pub machines: Vec<HostChange>,
}

/// The change of all machines of a kind in a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetChange {
    /// The place of the kind.
    pub kind: usize,
    /// The result.
    #[serde(flatten)]
    pub column: ResultColumn,
    /// The median over machines of now over before, as speeds: below 1 is slower.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval: [f64; 2],
    /// Of how many machines.
    pub of: usize,
}

/// What some machines say otherwise than before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangedFact {
    /// The fact's id.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What they said.
    pub before: String,
    /// What they say.
    pub now: String,
    /// Their names.
    pub hosts: Vec<String>,
}

/// The change of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostChange {
    /// Its name.
    pub host: String,
    /// The median over results of now over before, as speeds: below 1 is slower.
    pub ratio: f64,
    /// The same of the result that changed most to the worse.
    pub worst_ratio: f64,
    /// That result.
    pub worst: ResultColumn,
}

/// Holds machines against themselves, as they were.
pub fn drift(now: &[Host], then: &[Host], names: &Names, since: String) -> Drift {
    let before: BTreeMap<&str, &Host> = then.iter().map(|host| (&*host.name, host)).collect();
    let both: Vec<(&Host, &Host)> =
        now.iter().filter_map(|host| Some((host, *before.get(&*host.name)?))).collect();
    let is_now: BTreeSet<&str> = now.iter().map(|host| &*host.name).collect();
    let only = |hosts: &[Host], others: &dyn Fn(&str) -> bool| -> Vec<String> {
        hosts.iter().map(|it| &it.name).filter(|name| !others(name)).cloned().collect()
    };
    let mut ratios: Vec<Host> = each(both.len(), |place| over(both[place].0, both[place].1, names));
    let mut changed = names.of_ratios();
    let facts = facts(&both, names, &mut changed, &mut ratios);
    let mut apart = survey(&ratios, &changed);
    let stayed = slower_alone(&mut apart);
    let kinds = by_kind(&ratios, &changed);
    let numbered = kinds.iter().enumerate().filter(|it| it.1.1.len() >= limits::HOSTS_MIN);
    let asked: Vec<KindChange> =
        numbered.flat_map(|(kind, it)| changes(kind, &it.1, &changed)).collect();
    // They are told of all machines, whether or not a result shows them.
    apart.odd.clear();
    for strip in &mut apart.strips {
        strip.caption += ": now over before, as speeds";
    }
    Drift {
        since,
        hosts: both.len(),
        new: only(now, &|name| before.contains_key(name)),
        gone: only(then, &|name| is_now.contains(name)),
        within: asked.iter().filter(|it| it.is_within()).count(),
        asked: asked.len(),
        fleet: fleet(asked),
        stayed,
        facts,
        apart,
        machines: machines(&ratios, &changed),
    }
}

impl Drift {
    /// Results in which the fleet loses more than this part of its speed.
    pub fn fleet_slower_than(&self, share: f64) -> impl Iterator<Item = &FleetChange> {
        self.fleet.iter().filter(move |change| 1.0 - change.ratio > share)
    }
}

/// A machine whose numbers are those of now over those of before.
fn over(now: &Host, then: &Host, names: &Names) -> Host {
    let mut ratios = now.without_results();
    for (number, column) in names.results.all().iter().enumerate() {
        let Some(better) = column.better else { continue };
        if let Some((now, then)) = now.result(number).zip(then.result(number)) {
            let ratio = speed_ratio(now, then, better);
            ratios.put_result(number as u32, Some(Better::More), ratio);
        }
    }
    ratios
}

/// The one over the other, so that less is worse. The relative widths of both intervals add as independent ones do.
fn speed_ratio(now: HostNumber, then: HostNumber, better: Better) -> ResultValue {
    let over = now.median / then.median;
    let ratio = if better == Better::More { over } else { 1.0 / over };
    let width = |of: HostNumber| {
        let [low, high] = [of.low, of.high].map(|end| (f64::from(end) - of.median).abs());
        low.max(high) / of.median
    };
    let width = width(now).hypot(width(then));
    let ends = [ratio * (1.0 - width), ratio * (1.0 + width)];
    ResultValue { median: ratio, interval: (!width.is_nan()).then_some(ends) }
}

/// The change of a kind in a result, and how likely it is no more than 1 %.
struct KindChange {
    change: FleetChange,
    chance: f64,
}

impl KindChange {
    fn is_within(&self) -> bool {
        self.change.interval.iter().all(|end| (end - 1.0).abs() <= BAND)
    }
}

/// The change of the machines of a kind in each result.
fn changes(kind: usize, hosts: &[&Host], names: &Names) -> Vec<KindChange> {
    let columns = names.results.all();
    let change = |result: usize| {
        let numbers: Vec<f64> =
            hosts.iter().filter_map(|host| Some(host.result(result)?.median)).collect();
        let numbers = Some(numbers).filter(|it| it.len() >= limits::HOSTS_MIN)?;
        let (ratio, interval) = (median(&numbers)?, median_interval(&numbers)?);
        // Student's test against the nearer end of what is no change: of two that are alike nothing varies.
        let edge = if ratio < 1.0 { 1.0 - BAND } else { 1.0 + BAND };
        let chance = if (ratio - 1.0).abs() > BAND { welch(&numbers, &[edge; 2])? } else { 1.0 };
        let (column, of) = (columns[result].clone(), numbers.len());
        Some(KindChange { change: FleetChange { kind, column, ratio, interval, of }, chance })
    };
    each(columns.len(), change).into_iter().flatten().collect()
}

/// Those that are more than chance, however many were asked.
fn fleet(asked: Vec<KindChange>) -> Vec<FleetChange> {
    let tried = asked.len() as f64 * FLEETS_PER_ALARM;
    let is_change = |it: &KindChange| it.chance * tried <= 1.0;
    let mut found: Vec<FleetChange> =
        asked.into_iter().filter(is_change).map(|it| it.change).collect();
    found.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    found
}

/// Leaves those that became slower than they were, by no more than that; gives the names of machines that are as they
/// were where the others became faster.
fn slower_alone(apart: &mut Survey) -> Vec<String> {
    let mut stayed = apart.bad();
    for group in apart.suspects.iter_mut().chain(&mut apart.modes) {
        let is_slower = |it: &Deviation| it.here < 1.0 - BAND;
        let own = |it: &mut Deviation| it.lost = it.lost.min(1.0 - it.here);
        group.results.retain(is_slower);
        group.results.iter_mut().for_each(own);
        group.each.retain(|it| is_slower(&it.deviation));
        group.each.iter_mut().for_each(|it| own(&mut it.deviation));
        cap_losses(group);
    }
    for groups in [&mut apart.suspects, &mut apart.modes] {
        groups.retain(|group| !group.hosts.is_empty() && !group.results.is_empty());
    }
    let bad: BTreeSet<String> = apart.bad().into_iter().collect();
    stayed.retain(|name| !bad.contains(name));
    stayed
}

/// What each machine of a group lost of what it was.
fn cap_losses(group: &mut HostGroup) {
    let dearest = group.results.iter().map(|it| it.lost).fold(0.0, f64::max);
    let mut own: BTreeMap<&str, f64> = BTreeMap::new();
    for it in &group.each {
        let most = own.entry(&it.host).or_default();
        *most = most.max(it.deviation.lost);
    }
    let is_suspect = !own.is_empty();
    for (host, lost) in &mut group.losses {
        *lost =
            if is_suspect { own.get(&**host).copied().unwrap_or(0.0) } else { lost.min(dearest) };
    }
    group.losses.retain(|it| it.1 > 0.0);
    if is_suspect {
        group.hosts.retain(|host| own.contains_key(&**host));
    }
    group.machines_lost = group.losses.iter().map(|it| it.1).sum();
}

fn machines(ratios: &[Host], names: &Names) -> Vec<HostChange> {
    let columns = names.results.all();
    let change = |place: usize| {
        let host = &ratios[place];
        let all = (0..columns.len()).filter_map(|it| Some((it, host.result(it)?.median)));
        let all: Vec<(usize, f64)> = all.collect();
        let ratio = median(&all.iter().map(|it| it.1).collect::<Vec<_>>())?;
        let (worst, worst_ratio) = all.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (host, worst) = (host.name.clone(), columns[worst].clone());
        Some(HostChange { host, ratio, worst_ratio, worst })
    };
    let mut found: Vec<HostChange> = each(ratios.len(), change).into_iter().flatten().collect();
    found.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    found
}

/// What is said otherwise than before, where both are known; the machines of ratios say so, too. Who launched a run says
/// nothing of its machine, and what a run changed is no change since.
fn facts(
    both: &[(&Host, &Host)],
    names: &Names,
    changed: &mut Names,
    ratios: &mut [Host],
) -> Vec<ChangedFact> {
    let mut found = Vec::new();
    for (number, [id, label]) in names.facts.all().iter().enumerate() {
        if !can_change(id, |id| names.facts.number(id).is_some()) {
            for host in &mut *ratios {
                host.put_fact(number as u32, None);
            }
            continue;
        }
        let mut changes: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
        for (place, (now, then)) in both.iter().enumerate() {
            let says = then.fact(number).zip(now.fact(number));
            if let Some((then, now)) = says.filter(|(then, now)| then != now) {
                changes.entry([then, now]).or_default().push(place);
            }
        }
        for (says, places) in changes {
            let [before, now] = says.map(|text| names.said(text).to_owned());
            let text = changed.text(&[&*before, &now].join(CHANGE));
            for place in &places {
                ratios[*place].put_fact(number as u32, Some(text));
            }
            let hosts = places.iter().map(|place| ratios[*place].name.clone()).collect();
            let (id, label) = (id.clone(), label.clone());
            found.push(ChangedFact { id, label, before, now, hosts });
        }
    }
    found.sort_by_key(|fact| (!can_be_chosen(&fact.id), std::cmp::Reverse(fact.hosts.len())));
    found
}
