//! A table of facts: one row per fact, read in order.

use model::record::{Fact, FactValue};
use model::{Known, Obstacle, Unavailable, Unit};

use crate::ports::Reading;
use crate::survey::Survey;

/// One fact: its id, what people call it, how it is read.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) label: &'static str,
    pub(crate) read: fn(&Survey<'_>) -> Reading<FactValue>,
}

/// A row, short enough for a table.
pub(crate) const fn row(
    id: &'static str,
    label: &'static str,
    read: fn(&Survey<'_>) -> Reading<FactValue>,
) -> Row {
    Row { id, label, read }
}

/// Reads every row. An absence is called by its label, whatever the port called it, and is not the hardware's fault where
/// somebody chose which files there are.
pub(crate) fn read(table: &[Row], survey: &Survey<'_>) -> Vec<Fact> {
    let of = |reason: Unavailable| match reason.obstacle {
        Obstacle::Hardware if survey.is_copied() => {
            Unavailable { obstacle: Obstacle::Cpudyno, ..reason }
        }
        _ => reason,
    };
    table.iter().map(|row| fact(row.id, row.label, (row.read)(survey).map_err(of))).collect()
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
