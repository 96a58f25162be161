//! What Speed Select is set to, in words: what tells one machine from another.

use std::collections::{BTreeMap, BTreeSet};

use model::Known;
use model::record::{DigestFact, FeatureState, SpeedSelect};

/// What Speed Select is set to, where it is there: power domains that are alike say it once.
pub fn facts(found: Option<&SpeedSelect>) -> Vec<DigestFact> {
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
