//! What is known before it is done: CPUs that are off, values that the kernel will cut, who shares a
//! setting, and what it will refuse.

use std::collections::BTreeSet;

use machine::Machine;
use model::{CpuId, CpuSet};

use super::{Change, Plan};
use crate::ask::SettingSpec;
use crate::drivers;
use crate::overrides;
use crate::rows::Scope;
use crate::targets::{self, SettingOwner};
use crate::unlimited;

/// Remarks on what a plan will come to.
pub(super) fn remarks(machine: &Machine, plan: &Plan, asked: &[SettingSpec]) -> Vec<String> {
    let off = off(machine, plan, asked);
    let shared = asked.iter().filter_map(|asked| shared(machine, plan, asked));
    let refused = above(machine, plan).into_iter().chain(boost_of_all(machine, plan));
    let refused = refused.chain(threads(machine, plan));
    off.into_iter().chain(shared).chain(cut(machine, plan)).chain(refused).collect()
}

/// Boost of some CPUs needs that of all.
///
/// # Source
/// Linux, drivers/cpufreq/cpufreq.c: `store_local_boost`.
fn boost_of_all(machine: &Machine, plan: &Plan) -> Option<String> {
    const OF_ALL: &str = "/sys/devices/system/cpu/cpufreq/boost";
    let is_of = |change: &&Change, scope| change.lever.id == "boost" && change.lever.scope == scope;
    let planned = plan.changes.iter().find(|change| is_of(change, Scope::Machine));
    // Where that of all moves, what is so already is written again.
    let again = plan.already.iter().filter(|_| planned.is_some());
    let mut some = plan.changes.iter().chain(again).filter(|it| is_of(it, Scope::Policy));
    let wants = some.any(|change| change.wanted == "1");
    let of_all = planned.map(|change| change.wanted.clone());
    let of_all = of_all.or_else(|| machine.tree.read(OF_ALL).ok())?;
    (wants && of_all.trim() == "0").then(|| {
        "`boost`: while boost of all CPUs is off, the kernel refuses it for single CPUs (EINVAL): \
         set boost=on, too"
            .to_owned()
    })
}

/// Second threads of cores come with SMT alone.
fn threads(machine: &Machine, plan: &Plan) -> Option<String> {
    let is_on = |id: &str, text: &str| {
        plan.changes.iter().any(|change| change.lever.id == id && change.wanted == text)
    };
    let why = overrides::smt_off(machine)?;
    (is_on("online", "1") && !is_on("smt", "on"))
        .then(|| format!("`online`: the kernel refuses CPUs that are off with SMT (EPERM). {why}"))
}

/// Settings of CPUs are set where CPUs are on.
fn off(machine: &Machine, plan: &Plan, asked: &[SettingSpec]) -> Option<String> {
    let of_cpus = |asked: &&SettingSpec| {
        let is_each = matches!(asked.lever.scope, Scope::Cpu | Scope::Policy | Scope::IdleState);
        is_each && asked.cpus.is_none() && asked.lever.id != "online"
    };
    let names: Vec<String> =
        asked.iter().filter(of_cpus).map(|asked| format!("`{}`", asked.name)).collect();
    let covered = covered(machine, plan.changes.iter().chain(&plan.already));
    let off = drivers::off(machine).difference(&covered);
    let word = if off.len() == 1 { "is off" } else { "are off" };
    (!names.is_empty() && !off.is_empty()).then(|| {
        let (names, cpus) = (names.join(", "), off.named());
        match overrides::smt_off(machine) {
            Some(why) => format!("{names}: {cpus} {word}, so nothing is set there. {why}"),
            None => format!(
                "{names}: {cpus} {word}, so nothing is set there: `cpudyno set online@{off}=on` \
                 brings CPUs back"
            ),
        }
    })
}

/// All CPUs that have a setting together with those that it is set for.
fn covered<'c>(machine: &Machine, changes: impl Iterator<Item = &'c Change>) -> CpuSet {
    let cpus = changes.flat_map(|change| match (&change.of, change.lever.scope) {
        (SettingOwner::Cpu(cpu), Scope::Policy) => targets::group(machine, *cpu).iter().collect(),
        (SettingOwner::Cpu(cpu), _) => vec![*cpu],
        (SettingOwner::Machine | SettingOwner::Part(_), _) => Vec::new(),
    });
    cpus.collect()
}

/// CPUs of one policy have one setting, whichever of them was named.
fn shared(machine: &Machine, plan: &Plan, asked: &SettingSpec) -> Option<String> {
    let named = asked.cpus.as_ref().filter(|_| asked.lever.scope == Scope::Policy)?;
    let mine = plan.changes.iter().filter(|change| change.setting == asked.name);
    let others = covered(machine, mine).difference(named);
    let word = if others.len() == 1 { "shares" } else { "share" };
    (!others.is_empty())
        .then(|| format!("`{}@{named}`: {} {word} it, and change, too", asked.name, others.named()))
}

/// Limits beyond what the clock of a CPU does come to less, or more.
fn cut(machine: &Machine, plan: &Plan) -> Vec<String> {
    // What the clock does then depends on that.
    let moves_boost = |change: &Change| ["boost", "no_turbo"].contains(&change.lever.id);
    if plan.changes.iter().any(moves_boost) {
        return Vec::new();
    }
    let mut told = BTreeSet::new();
    for change in &plan.changes {
        let Some((khz, bound)) = unlimited::cut(machine, &change.object, &change.wanted) else {
            continue;
        };
        let [wanted, kept] = [&change.wanted, &khz].map(|khz| change.lever.in_words(khz));
        told.insert(format!(
            "`{}`: the kernel changes {wanted} to {kept} (`{bound}`), and a value that is not kept is \
             put back",
            change.setting
        ));
    }
    told.into_iter().collect()
}

/// The lowest clock is never above the highest one.
fn above(machine: &Machine, plan: &Plan) -> Option<String> {
    // And whether it is asked for itself.
    let highest = |cpu: CpuId| {
        let limit =
            |change: &&Change| change.lever.id == "max_freq" && change.of == SettingOwner::Cpu(cpu);
        let planned = plan.changes.iter().chain(&plan.already).find(limit);
        let planned = planned.map(|change| change.wanted.clone());
        let is_asked = planned.is_some();
        let most = planned.or_else(|| unlimited::highest_allowed(machine, cpu))?;
        Some((most.parse::<u64>().ok()?, is_asked))
    };
    let lowest = plan.changes.iter().filter(|change| change.lever.id == "min_freq");
    let (change, most) = lowest.into_iter().find_map(|change| {
        let SettingOwner::Cpu(cpu) = change.of else { return None };
        let (most, is_asked) = highest(cpu)?;
        (change.wanted.parse::<u64>().ok()? > most).then_some((change, (most, is_asked)))
    })?;
    let (most, is_asked) = most;
    let [least, most] = [&change.wanted, &most.to_string()].map(|khz| change.lever.in_words(khz));
    Some(if is_asked {
        format!("`min_freq`: {least} is above `max_freq`, {most}, and no clock is both: swap them")
    } else {
        format!(
            "`min_freq`: {least} is above the highest clock that is allowed, {most}: set `max_freq`, too"
        )
    })
}
