//! The one reader of series: those that belong together, whatever area they are of.

use std::collections::BTreeMap;

use model::CpuSet;
use model::page::Text;
use model::record::{Record, Series};

/// One workload with its parameters on one set of CPUs: the series of all its quantities. What an area alone asks of it
/// stands with the area.
#[derive(Clone)]
pub(crate) struct Cell<'a> {
    pub(crate) workload: &'a str,
    pub(crate) active: &'a CpuSet,
    pub(crate) parameters: &'a BTreeMap<String, String>,
    pub(crate) series: Vec<&'a Series>,
}

/// The cells of the series that are wanted, in the order of the record; those that were not measured, too.
pub(crate) fn cells(record: &Record, is_wanted: impl Fn(&Series) -> bool) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell<'_>> = Vec::new();
    // The next series is mostly of the same cell, or of the one behind it.
    let mut last = 0;
    for series in record.series.iter().filter(|series| is_wanted(series)) {
        let is_its = |place: &usize| {
            let cell = &cells[*place];
            cell.workload == series.workload
                && *cell.active == series.active
                && *cell.parameters == series.parameters
        };
        last = (last..cells.len()).chain(0..last).find(is_its).unwrap_or(cells.len());
        if last == cells.len() {
            cells.push(Cell {
                workload: &series.workload,
                active: &series.active,
                parameters: &series.parameters,
                series: Vec::new(),
            });
        }
        cells[last].series.push(series);
    }
    cells
}

impl<'a> Cell<'a> {
    /// A parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// A parameter that is a whole number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// All series of that quantity.
    pub(crate) fn all<'b>(&'b self, quantity: &'b str) -> impl Iterator<Item = &'a Series> + 'b {
        self.series.iter().filter(move |series| series.quantity == quantity).copied()
    }

    /// The series of that quantity. Classes of placement are never pooled: of several, the one with
    /// the most samples.
    pub(crate) fn series(&self, quantity: &str) -> Option<&'a Series> {
        let count = |series: &Series| series.summary().map_or(0, |summary| summary.count);
        self.all(quantity).max_by_key(|series| count(series))
    }

    /// How the host placed its CPUs in the series that is shown.
    pub(crate) fn class(&self, quantity: &str) -> Option<&'a str> {
        self.series(quantity)?.placement_class.as_deref()
    }

    /// The median of that quantity.
    pub(crate) fn median(&self, quantity: &str) -> Option<f64> {
        Some(self.series(quantity)?.summary()?.median)
    }

    /// Whether that quantity rests on disturbed blocks alone.
    pub(crate) fn is_doubtful(&self, quantity: &str) -> bool {
        self.series(quantity).is_some_and(Series::is_doubtful)
    }

    /// The median of that quantity as a cell of a table: its number, marked where it is doubtful; none where there is none.
    pub(crate) fn told(&self, quantity: &str, say: impl Fn(f64) -> String) -> Option<Text> {
        let text = Text::from(say(self.median(quantity)?));
        Some(text.doubted(self.is_doubtful(quantity)))
    }

    /// The farther end of the median's interval between blocks, relative to it.
    pub(crate) fn uncertainty(&self, quantity: &str) -> Option<f64> {
        self.series(quantity)?.summary()?.relative_uncertainty()
    }

    /// Its samples, in no particular order.
    pub(crate) fn samples(&self, quantity: &str) -> Vec<f64> {
        let samples = self.series(quantity).and_then(Series::samples);
        samples.map(model::record::Samples::all).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use model::page::{Block, DOUBT, Table};
    use model::record::Disturbance;

    use super::*;
    use crate::testing::{blank, series};

    #[test]
    fn a_number_of_disturbed_blocks_alone_is_marked_and_the_mark_explained() {
        let told = |blocks: &[&[f64]], disturbance: Disturbance| {
            let mut record = blank();
            let of = series(["wake", "futex", "round_trip"], "0-1", &[], blocks);
            record.series.push(Series { disturbance, ..of });
            cells(&record, |_| true)[0].told("round_trip", |value| format!("{value}")).unwrap()
        };
        let quiet = Disturbance::default();
        let preempted = Disturbance { involuntary_switches: 1, ..quiet };
        let lost = |share| Disturbance { lost_share: Some(share), ..quiet };
        let unsettled = |unsettled_blocks| Disturbance { unsettled_blocks, ..quiet };
        let (one, two): (&[&[f64]], &[&[f64]]) = (&[&[3.0]], &[&[3.0], &[3.0]]);
        for (blocks, disturbance, is_marked) in [
            (one, quiet, false),
            (one, preempted, true),
            (one, lost(0.011), true),
            (one, lost(0.009), false),
            // Of several blocks nobody knows which one was disturbed.
            (two, preempted, false),
            (two, unsettled(1), false),
            (two, unsettled(2), true),
        ] {
            let text = told(blocks, disturbance);
            assert_eq!(text.text, if is_marked { "3~" } else { "3" }, "{disturbance:?}");
            let Block::Table(table) = Table::of("").right("us").rows([vec![text]]).into() else {
                panic!("it is a table")
            };
            let legend = table.legend.iter().filter(|line| line.starts_with(DOUBT)).count();
            assert_eq!(legend, usize::from(is_marked));
        }
    }
}
