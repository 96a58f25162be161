//! What a machine says of itself, in words, as far as that tells one machine or run from another.

use std::collections::{BTreeMap, BTreeSet};

use model::Known;
use model::record::{DigestFact, Fact, FactValue, FeatureState, Record, SpeedSelect};

use crate::kit::value_text;

/// Facts and conditions, settings of Speed Select, and which cpudyno it was.
pub(super) fn of(record: &Record) -> Vec<DigestFact> {
    let first = record.facts().filter(|fact| !is_fleeting(&fact.id)).map(said);
    let sst = speed_select(record.speed_select.as_ref());
    let tool = DigestFact {
        id: "tool.version".to_owned(),
        label: "cpudyno".to_owned(),
        text: (!record.tool.is_foreign()).then(|| record.tool.version.clone()),
    };
    first.chain(later(record)).chain(sst).chain([tool]).collect()
}

fn said(fact: &Fact) -> DigestFact {
    let is_known = matches!(fact.value, Known::Yes(_));
    DigestFact {
        id: fact.id.clone(),
        label: fact.label.clone(),
        text: is_known.then(|| value_text(&fact.value).text),
    }
}

/// What stands before the id of a condition that was read after the run.
pub(crate) const AFTER: &str = "after.";

/// Conditions as they were after the run, and what came up during it.
fn later(record: &Record) -> Vec<DigestFact> {
    /// Any of it is a lot: how much is chance.
    const COUNTED: [&str; 3] =
        ["disturbance.thermal_core", "disturbance.thermal_package", "disturbance.cgroup_throttles"];
    let told = |fact: &Fact| match &fact.value {
        Known::Yes(FactValue::Number { value, .. }) if COUNTED.contains(&&*fact.id) => {
            let some = if *value > 0.0 { "some" } else { "none" };
            let text = Some(some.to_owned());
            Some(DigestFact { text, label: format!("{} during the run", fact.label), ..said(fact) })
        }
        _ if is_fleeting(&fact.id) => None,
        _ => Some(DigestFact {
            id: format!("{AFTER}{}", fact.id),
            label: format!("{} after the run", fact.label),
            ..said(fact)
        }),
    };
    record.conditions.after.iter().filter_map(told).collect()
}

/// What Speed Select is set to, where it is there: power domains that are alike say it once.
pub(crate) fn speed_select(found: Option<&SpeedSelect>) -> Vec<DigestFact> {
    let Some(found) = found else { return Vec::new() };
    let mut rows: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    let state = |state: &Known<FeatureState>| {
        state.value().map(|state| match state {
            FeatureState::Unsupported => "not supported".to_owned(),
            FeatureState::Disabled => "off".to_owned(),
            FeatureState::Enabled => "on".to_owned(),
        })
    };
    for domain in &found.domains {
        let mut say = |id: &'static str, label: &'static str, value: Option<String>| {
            rows.entry((id, label)).or_default().extend(value);
        };
        if let Some(Known::Yes(profiles)) = &domain.profiles {
            let current = profiles.levels.iter().find(|level| level.number == profiles.current);
            say("sst.level", "Speed Select level", Some(profiles.current.to_string()));
            let base = current.and_then(|level| state(&level.base_freq_state));
            say("sst.base_freq", "Speed Select base frequency", base);
            let turbo = current.and_then(|level| state(&level.turbo_freq_state));
            say("sst.turbo_freq", "Speed Select turbo frequency", turbo);
        }
        if let Some(power) = &domain.core_power {
            let on = power.enabled.value().map(|on| if *on { "on" } else { "off" }.to_owned());
            say("sst.core_power", "Speed Select core power", on);
            say("sst.priority", "Speed Select priority", power.priority.value().cloned());
        }
        if !domain.associations.is_empty() {
            let classes = domain.associations.iter().filter_map(|core| core.class.value());
            let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
            for class in classes {
                *counts.entry(*class).or_default() += 1;
            }
            let words = counts.iter().map(|(class, cores)| format!("{cores} in class {class}"));
            let words = words.collect::<Vec<_>>().join(", ");
            say("sst.classes", "Speed Select cores", (!words.is_empty()).then_some(words));
        }
    }
    rows.into_iter()
        .map(|((id, label), values)| {
            let values: Vec<String> = values.into_iter().collect();
            let text = (!values.is_empty()).then(|| values.join(" / "));
            DigestFact { id: id.to_owned(), label: label.to_owned(), text }
        })
        .collect()
}

/// Facts that differ by themselves between any two moments.
fn is_fleeting(id: &str) -> bool {
    const FLEETING: [&str; 4] = ["load", "temperature", "busy.cpus", "user"];
    FLEETING.contains(&id) || id.starts_with("disturbance.")
}
