//! Pieces that several pages are made of.

use model::page::{Block, Remark, Table, Text, Tone, si};
use model::record::{Fact, FactValue, Record};
use model::{Known, Unavailable};

/// The value as people read it; the reason where there is none.
pub fn value_text(value: &Known<FactValue>) -> Text {
    match value {
        Known::Yes(FactValue::Text(text)) => Text::from(text.as_str()),
        Known::Yes(FactValue::Number { value, unit }) => si::format(*value, *unit).into(),
        Known::No { unavailable } => {
            Text::toned(format!("unavailable: {}", unavailable.why), Tone::Faint)
        }
    }
}

/// Facts with their values or reasons.
pub fn fact_table<'a>(facts: impl Iterator<Item = &'a Fact>) -> Block {
    let row = |fact: &Fact| vec![Text::from(fact.label.as_str()), value_text(&fact.value)];
    Table::of("Machine").left("fact").left("value").rows(facts.map(row)).into()
}

/// What is missing, by reason: one remark per reason.
#[derive(Debug, Default)]
pub struct Absences<'a>(Vec<(&'a Unavailable, Vec<String>)>);

impl<'a> Absences<'a> {
    /// Adds what is missing; one that is there already for that reason is left out.
    pub fn note(&mut self, reason: &'a Unavailable, name: String) {
        match self.0.iter_mut().find(|(known, _)| known.why == reason.why) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => self.0.push((reason, vec![name])),
        }
    }

    /// Adds the facts and conditions of these that have no value.
    pub fn note_facts(&mut self, record: &'a Record, of: impl Fn(&Fact) -> bool) {
        for fact in record.facts().filter(|fact| of(fact)) {
            if let Known::No { unavailable } = &fact.value {
                self.note(unavailable, fact.label.to_lowercase());
            }
        }
    }

    /// One remark per reason.
    pub fn remarks(self) -> Vec<Remark> {
        let remark = |(reason, names): (&Unavailable, Vec<String>)| {
            absent("unavailable", &names, &reason.why, reason.remedy.clone())
        };
        self.0.into_iter().map(remark).collect()
    }

    /// One remark per remedy, without what nothing helps against; `root` is the command that helps
    /// where root may read what this user may not.
    pub fn remarks_by_remedy(self, root: &str) -> Vec<Remark> {
        let mut groups: Vec<(Remedy<'_>, &str, Vec<String>)> = Vec::new();
        for (reason, names) in self.0 {
            let Some(remedy) = Remedy::of(reason) else { continue };
            match groups.iter_mut().find(|(known, ..)| *known == remedy) {
                Some((known, why, of_group)) => {
                    of_group.extend(names);
                    if *known == Remedy::Root {
                        *why = "this user may not read it";
                    }
                }
                None => groups.push((remedy, &reason.why, names)),
            }
        }
        groups.sort_by_key(|(remedy, ..)| *remedy != Remedy::Root);
        let remark = |(remedy, why, names): (Remedy<'_>, &str, Vec<String>)| match remedy {
            Remedy::Root => absent("needs root", &names, why, Some(root.to_owned())),
            Remedy::Other(help) => absent("unavailable", &names, why, Some(help.to_owned())),
        };
        groups.into_iter().map(remark).collect()
    }
}

/// What helps against an absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy<'a> {
    /// Whatever refused it, root would read it.
    Root,
    Other(&'a str),
}

impl Remedy<'_> {
    fn of(reason: &Unavailable) -> Option<Remedy<'_>> {
        let remedy = reason.remedy.as_deref()?;
        Some(if reason.needs_root() { Remedy::Root } else { Remedy::Other(remedy) })
    }
}

fn absent(mark: &str, names: &[String], why: &str, remedy: Option<String>) -> Remark {
    /// More names than this are counted.
    const NAMES_MAX: usize = 6;
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    let more = names.len().saturating_sub(NAMES_MAX);
    let about = if more > 0 { format!("{shown} and {more} more") } else { shown };
    Remark { mark: Text::toned(mark, Tone::Faint), about, text: why.to_owned(), remedy }
}
