//! The one reader of series: those that belong together, whatever area they are of.

use std::collections::BTreeMap;

use model::CpuSet;
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
