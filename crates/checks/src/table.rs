//! The rows of `data/checks.toml`.

use std::sync::LazyLock;

use model::Severity;
use serde::Deserialize;

use crate::expectation::{Condition, Expectation};

static TABLE: LazyLock<Vec<Check>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct CheckFile {
        check: Vec<Check>,
    }
    const TEXT: &str = include_str!("../../../data/checks.toml");
    toml::from_str::<CheckFile>(TEXT).expect("BUG: a test reads the table").check
});

/// A row: what one setting should be, where, and why.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Its name, the same in every version, such as `governor`.
    pub id: String,
    /// What it is about, as people call it.
    pub about: String,
    /// How much a difference matters.
    pub weight: Severity,
    /// The fact or condition that it reads, or what is drawn from several of them.
    pub reads: String,
    /// What is expected of it.
    pub expect: Expectation,
    /// The same in words, where the words of `expect` are not those of people.
    pub expected: Option<String>,
    /// Where that holds: every one of these.
    #[serde(default)]
    pub only: Vec<Condition>,
    /// Whether it does not apply where hardware, firmware and kernel have no such thing.
    #[serde(default)]
    pub optional: bool,
    /// Why it matters, a clause.
    pub why: String,
    /// Which row of `COSTS` knows what it costs by the numbers of a record; none: no record does.
    pub cost: Option<String>,
    /// Findings of a run that say the same, with numbers.
    #[serde(default)]
    pub found_by: Vec<String>,
    /// What measures its cost: a command.
    pub measure: String,
    /// What mends it: a command, or what to do in the firmware's setup.
    pub mend: String,
    /// Who says so.
    pub source: String,
}

/// Every check.
pub fn table() -> &'static [Check] {
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_nothing_is_empty() {
        let mut ids: Vec<&str> = table().iter().map(|check| check.id.as_str()).collect();
        ids.sort_unstable();
        let twice: Vec<&[&str]> = ids.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        for Check { id, about, reads, why, measure, mend, source, .. } in table() {
            for text in [about, reads, why, measure, mend, source] {
                assert!(!text.trim().is_empty() && !text.ends_with('.'), "{id}: {text:?}");
            }
        }
    }
}
