//! Reading the area's series back out of a record.

use model::record::{Record, Relation, Series};
use model::stats::quantile_sorted;

use super::{AREA, PAIR, QUESTION};
pub(super) use crate::cells::Cell;
pub(super) use model::in_order;

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

impl Cell<'_> {
    /// How its CPUs lie to each other, as the machine says.
    pub(super) fn kind(&self) -> Option<Relation> {
        Relation::named(self.text(PAIR)?)
    }

    /// The distribution of that quantity.
    pub(super) fn spread(&self, quantity: &str) -> Option<Spread> {
        Spread::of(&self.samples(quantity))
    }
}

/// The cells of a question, in the order of the record; those that were not measured, too.
pub(super) fn cells<'a>(record: &'a Record, question: &str) -> Vec<Cell<'a>> {
    let asked = |series: &Series| {
        let of = series.parameters.get(QUESTION);
        series.area == AREA && of.is_some_and(|of| of == question)
    };
    crate::cells::cells(record, asked)
}
