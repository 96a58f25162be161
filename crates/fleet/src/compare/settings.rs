//! What machines say differently of themselves.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Named, Setting, causes};
use crate::digest::AFTER;

/// What is known, by the ids of facts; of two of one id the first.
fn said(record: &Named) -> HashMap<&str, &str> {
    let known = record.digest.facts.iter().rev();
    known.filter_map(|fact| Some((&*fact.id, fact.text.as_deref()?))).collect()
}

/// What records say differently, and what only some of them know.
pub(super) fn settings(records: &[Named]) -> (Vec<Setting>, Vec<String>) {
    let mut ids: Vec<(&str, &str)> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    let all = records.iter().flat_map(|record| &record.digest.facts);
    ids.extend(all.map(|fact| (&*fact.id, &*fact.label)).filter(|(id, _)| seen.insert(id)));
    let said: Vec<HashMap<&str, &str>> = records.iter().map(said).collect();
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
