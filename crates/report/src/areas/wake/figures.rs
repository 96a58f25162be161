//! The area's key figures: waking a thread on another core, in the middle and in the worst hundredth.

use model::Unit;
use model::record::{Record, Relation};

use super::findings::{costliest, usual};
use super::read::Cell;
use super::shown::idle::staircases;
use super::shown::signals::measured;
use crate::figure::KeyFigure;

/// What most programs sleep on.
const METHOD: &str = "futex";

pub(super) fn figures(record: &Record) -> Vec<KeyFigure> {
    let cells = measured(record);
    let is_near =
        |cell: &Cell<'_>| matches!(cell.kind(), Some(Relation::SameCpu | Relation::Sibling));
    let is_apart = |cell: &&Cell<'_>| cell.workload == METHOD && !is_near(cell);
    let Some(cell) = cells.iter().find(is_apart) else { return Vec::new() };
    let Some(spread) = cell.spread("round_trip") else { return Vec::new() };
    // One way cannot be timed without trusting two clocks: half of a round trip stands for it.
    let figure = |name: &str, round_trip: f64| {
        KeyFigure::of(format!("wake-up ({METHOD}), {name}"), round_trip / 2.0, Unit::Second)
    };
    let mut figures = vec![
        figure("median", spread.median).known_to(cell.uncertainty("round_trip")),
        figure("p99", spread.p99),
    ];
    let stairs = staircases(record);
    figures.extend(usual(&stairs).and_then(costliest).map(|state| {
        KeyFigure::of(format!("wake-up, from {}", state.name), state.spread.median, Unit::Second)
    }));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, series};

    #[test]
    fn a_wake_up_is_half_of_a_round_trip_to_another_core() {
        let mut record = blank();
        let mut put = |active: &str, pair: Relation, blocks: &[&[f64]]| {
            let parameters = [("question", "signals"), ("pair", pair.word())];
            for quantity in ["time_per_signal", "round_trip"] {
                record.series.push(series(["wake", METHOD, quantity], active, &parameters, blocks));
            }
        };
        put("0", Relation::SameCpu, &[&[1e-6]]);
        put("0-1", Relation::SameCache, &[&[8e-6], &[9e-6], &[10e-6], &[11e-6], &[12e-6]]);
        let figures = figures(&record);
        let [median, p99] = figures.as_slice() else { panic!("{figures:?}") };
        // Half of 10 us, and of 11.96: 0.96 of the way from the fourth to the fifth.
        near(median.value().unwrap(), 5e-6);
        near(p99.value().unwrap(), 5.98e-6);
        // From 8 to 12 around 10.
        near(median.uncertainty.unwrap(), 0.2);
    }
}
