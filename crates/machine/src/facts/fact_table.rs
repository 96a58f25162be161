//! A table of facts: one row per fact, read in order.

use model::record::{Fact, FactValue};
use model::{Known, Obstacle, Reading, Unavailable, Unit};

use crate::facts::fact_cache::Survey;

/// One fact: its id, what people call it, how it is read.
pub(crate) struct FactRow {
    pub(crate) id: &'static str,
    pub(crate) label: &'static str,
    pub(crate) read: fn(&Survey<'_>) -> Reading<FactValue>,
}

/// A row, short enough for a table.
pub(crate) const fn row(
    id: &'static str,
    label: &'static str,
    read: fn(&Survey<'_>) -> Reading<FactValue>,
) -> FactRow {
    FactRow { id, label, read }
}

/// Reads every row. An absence is called by its label, whatever the port called it.
pub(crate) fn read(table: &[FactRow], survey: &Survey<'_>) -> Vec<Fact> {
    let read = |row: &FactRow| (row.read)(survey).map_err(|reason| fitting(survey, reason));
    table.iter().map(|row| fact(row.id, row.label, read(row))).collect()
}

/// A reason without the remedy that was taken already; what stands beside it is kept. The hardware is not at fault where
/// somebody chose which files there are.
fn fitting(survey: &Survey<'_>, mut reason: Unavailable) -> Unavailable {
    if survey.is_copied() && reason.obstacle == Obstacle::Hardware {
        reason.obstacle = Obstacle::Cpudyno;
    }
    if survey.host.is_root() {
        reason.remedy = reason.remedy.and_then(beside_root);
    }
    reason
}

/// What is left of a remedy for who is root.
fn beside_root(remedy: String) -> Option<String> {
    let Some(rest) = remedy.strip_prefix("run as root") else { return Some(remedy) };
    if let Some(other) = rest.strip_prefix(", or ").or_else(|| rest.strip_prefix("; ")) {
        return Some(other.to_owned());
    }
    let is_all = rest.is_empty() || rest.starts_with(':');
    (!is_all).then_some(remedy)
}

pub(crate) fn fact(id: &str, label: &str, reading: Reading<FactValue>) -> Fact {
    let value = reading.map_err(|mut unavailable| {
        unavailable.what = label.into();
        unavailable
    });
    Fact { id: id.into(), label: label.into(), value: Known::from(value) }
}

pub(crate) fn text(text: impl Into<String>) -> FactValue {
    FactValue::Text(text.into())
}

pub(crate) fn number(value: f64, unit: Unit) -> FactValue {
    FactValue::Number { value, unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_keeps_what_stands_beside_root() {
        let left = |remedy: &str| beside_root(remedy.to_owned());
        assert_eq!(left("run as root"), None);
        assert_eq!(left("run as root: `sudo cpudyno ...`"), None);
        assert_eq!(left("run as root, or `setcap x`").as_deref(), Some("`setcap x`"));
        assert_eq!(left("run as root; in a container, so").as_deref(), Some("in a container, so"));
        let outside = "run as root outside of this namespace";
        assert_eq!(left(outside).as_deref(), Some(outside));
        assert_eq!(left("`sudo modprobe msr`").as_deref(), Some("`sudo modprobe msr`"));
    }
}
