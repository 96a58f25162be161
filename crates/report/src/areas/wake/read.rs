//! Reading the area's series back out of a record.

use std::collections::BTreeMap;

use model::CpuSet;
use model::record::{Record, Relation, Series};
use model::stats::quantile_sorted;

use super::{AREA, PAIR, QUESTION};
pub(super) use model::in_order;

/// One workload with its parameters on one set of CPUs: the series of all its quantities.
pub(super) struct Cell<'a> {
    pub(super) workload: &'a str,
    pub(super) active: &'a CpuSet,
    parameters: &'a BTreeMap<String, String>,
    series: Vec<&'a Series>,
}

/// What a page says of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
    pub(super) max: f64,
    pub(super) count: usize,
}

impl Spread {
    /// Of samples in any order.
    pub(super) fn of(samples: &[f64]) -> Option<Spread> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let at = |q| quantile_sorted(&sorted, q);
        let (median, p99, p999) = (at(0.5), at(0.99), at(0.999));
        Some(Spread { min, median, p99, p999, max, count: sorted.len() })
    }
}

impl<'a> Cell<'a> {
    /// A parameter.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// A parameter that is a whole number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// How its CPUs lie to each other, as the machine says.
    pub(super) fn kind(&self) -> Option<Relation> {
        Relation::named(self.text(PAIR)?)
    }

    /// The series of that quantity. Classes of placement are never pooled: of several, the one with
    /// the most samples.
    pub(super) fn series(&self, quantity: &str) -> Option<&'a Series> {
        let count = |series: &Series| series.summary().map_or(0, |summary| summary.count);
        self.of(quantity).max_by_key(|series| count(series))
    }

    fn of<'b>(&'b self, quantity: &'b str) -> impl Iterator<Item = &'a Series> + 'b {
        self.series.iter().filter(move |series| series.quantity == quantity).copied()
    }

    /// How the host placed its CPUs in the series that is shown.
    pub(super) fn class(&self, quantity: &str) -> Option<&'a str> {
        self.series(quantity)?.placement_class.as_deref()
    }

    /// The median of that quantity.
    pub(super) fn median(&self, quantity: &str) -> Option<f64> {
        Some(self.series(quantity)?.summary()?.median)
    }

    /// The farther end of the median's interval between blocks, relative to it.
    pub(super) fn uncertainty(&self, quantity: &str) -> Option<f64> {
        self.series(quantity)?.summary()?.relative_uncertainty()
    }

    /// The distribution of that quantity.
    pub(super) fn spread(&self, quantity: &str) -> Option<Spread> {
        Spread::of(&self.samples(quantity))
    }

    /// Its samples, in no particular order.
    pub(super) fn samples(&self, quantity: &str) -> Vec<f64> {
        let samples = self.series(quantity).and_then(Series::samples);
        samples.map(model::record::Samples::all).unwrap_or_default()
    }
}

/// The cells of a question, in the order of the record; those that were not measured, too.
pub(super) fn cells<'a>(record: &'a Record, question: &str) -> Vec<Cell<'a>> {
    let asked = |series: &&Series| {
        let of = series.parameters.get(QUESTION);
        series.area == AREA && of.is_some_and(|of| of == question)
    };
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for series in record.series.iter().filter(asked) {
        let same = |cell: &&mut Cell<'_>| {
            cell.workload == series.workload
                && *cell.active == series.active
                && *cell.parameters == series.parameters
        };
        match cells.iter_mut().rfind(same) {
            Some(cell) => cell.series.push(series),
            None => cells.push(Cell {
                workload: &series.workload,
                active: &series.active,
                parameters: &series.parameters,
                series: vec![series],
            }),
        }
    }
    cells
}
