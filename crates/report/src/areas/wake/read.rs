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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::near;

    #[test]
    fn a_spread_has_quantiles_between_neighbours() {
        // 0 to 1000 from the greatest down: the hundredths are tens.
        let falling: Vec<f64> = (0..=1000).rev().map(f64::from).collect();
        let found = Spread::of(&falling).unwrap();
        let of = |q: [f64; 5]| Spread {
            min: q[0],
            median: q[1],
            p99: q[2],
            p999: q[3],
            max: q[4],
            count: 1001,
        };
        assert_eq!(found, of([0.0, 500.0, 990.0, 999.0, 1000.0]));
        // 2.97 steps from 1 on: 3 and 0.97 of the way to 5; 1.5 steps: between 2 and 3.
        let found = Spread::of(&[5.0, 1.0, 3.0, 2.0]).unwrap();
        near(found.median, 2.5);
        near(found.p99, 4.94);
        assert_eq!(Spread::of(&[]), None);
    }
}
