//! What machines say differently of themselves.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use model::Known;
use model::record::{Brief, Fact, FactValue, FeatureState, SpeedSelect};

use super::{Digest, Setting, causes};

impl Digest {
    /// What is known, by the ids of facts; of two of one id the first.
    fn said(&self) -> HashMap<&str, &str> {
        let known = self.facts.iter().rev();
        known.filter_map(|(id, _, text)| Some((&**id, text.as_deref()?))).collect()
    }
}

/// Facts of one record: id, label, text where it is known.
type Told = (String, String, Option<String>);

/// What stands before the id of a condition that was read after the run.
pub(super) const AFTER: &str = "after.";

/// Conditions as they were after the run, and what came up during it.
pub(super) fn later(record: &Brief, text: impl Fn(&Fact) -> Option<String>) -> Vec<Told> {
    /// Any of it is a lot: how much is chance.
    const COUNTED: [&str; 3] =
        ["disturbance.thermal_core", "disturbance.thermal_package", "disturbance.cgroup_throttles"];
    let told = |fact: &Fact| match &fact.value {
        Known::Yes(FactValue::Number { value, .. }) if COUNTED.contains(&&*fact.id) => {
            let some = if *value > 0.0 { "some" } else { "none" };
            Some((fact.id.clone(), format!("{} during the run", fact.label), Some(some.to_owned())))
        }
        _ if is_fleeting(&fact.id) => None,
        _ => Some((
            format!("{AFTER}{}", fact.id),
            format!("{} after the run", fact.label),
            text(fact),
        )),
    };
    record.conditions.after.iter().filter_map(told).collect()
}

/// What Speed Select is set to, where it is there: power domains that are alike say it once.
pub(crate) fn speed_select(found: Option<&SpeedSelect>) -> Vec<Told> {
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
            (id.to_owned(), label.to_owned(), text)
        })
        .collect()
}

/// Facts that differ by themselves between any two moments.
pub(super) fn is_fleeting(id: &str) -> bool {
    const FLEETING: [&str; 4] = ["load", "temperature", "busy.cpus", "user"];
    FLEETING.contains(&id) || id.starts_with("disturbance.")
}

/// What records say differently, and what only some of them know.
pub(super) fn settings(records: &[Digest]) -> (Vec<Setting>, Vec<String>) {
    let mut ids: Vec<(&str, &str)> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    let all = records.iter().flat_map(|record| &record.facts);
    ids.extend(all.map(|(id, label, _)| (&**id, &**label)).filter(|(id, _)| seen.insert(id)));
    let said: Vec<HashMap<&str, &str>> = records.iter().map(Digest::said).collect();
    let (mut settings, mut known_to_some) = (Vec::new(), Vec::new());
    for (id, label) in ids {
        let values: Vec<Option<&str>> = said.iter().map(|said| said.get(id).copied()).collect();
        let known: BTreeSet<&str> = values.iter().flatten().copied().collect();
        let later = id.strip_prefix(AFTER);
        // What stayed as it was is told once.
        let stayed = |earlier: &str| {
            let mut both = said.iter().zip(&values);
            both.all(|(said, now)| now.is_none() || said.get(earlier).copied() == *now)
        };
        if later.is_some_and(stayed) {
            continue;
        }
        if known.len() > 1 {
            let (id, label) = (id.to_owned(), label.to_owned());
            let values = values.iter().map(|value| value.map(str::to_owned)).collect();
            settings.push(Setting { id, label, values, can_be_chosen: false });
        } else if later.is_none() && !known.is_empty() && values.iter().any(Option::is_none) {
            known_to_some.push(label.to_owned());
        }
    }
    // Another CPU explains more than any setting, and has limits of its own that nobody chose.
    let same_cpu = !settings.iter().any(|setting| setting.id == "cpu.brand");
    for setting in &mut settings {
        setting.can_be_chosen = causes::can_be_chosen(&setting.id, same_cpu);
    }
    settings.sort_by_key(|setting| setting.can_be_chosen != same_cpu);
    (settings, known_to_some)
}
