//! The area's key figures: waking a thread on another core, in the middle, in the worst hundredth and at worst.

use model::Unit;
use model::record::{Outcome, Record, Relation};

use super::IDLE;
use super::findings::{costliest, usual};
use super::read::{Cell, cells};
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
    // One way cannot be timed without trusting two clocks: half of a round trip stands for it.
    let figure = |cell: &Cell<'_>, name: &str, round_trip: f64| {
        let types = record.machine.topology.types(cell.active);
        let whose = types.map_or(String::new(), |types| format!(", {types}"));
        let name = format!("wake-up from a nap, {name}{whose}");
        KeyFigure::of(name, round_trip / 2.0, Unit::Second)
    };
    let median = |cell: &Cell<'_>| {
        let spread = cell.spread("round_trip")?;
        let figure = figure(cell, "median", spread.median);
        let figure = figure.known_to(cell.uncertainty("round_trip"));
        Some(figure.doubted(cell.is_doubtful("round_trip")))
    };
    let mut apart = cells.iter().filter(is_apart);
    let Some(first) = apart.next() else { return Vec::new() };
    let Some(spread) = first.spread("round_trip") else { return Vec::new() };
    let mut figures: Vec<KeyFigure> = median(first).into_iter().collect();
    figures.push(figure(first, "p99", spread.p99));
    figures.push(figure(first, "longest", spread.max));
    // Of further types of cores the middle alone.
    let types = |cell: &Cell<'_>| record.machine.topology.types(cell.active);
    figures.extend(apart.filter(|cell| types(cell) != types(first)).filter_map(median));
    figures.extend(deep_sleep(record));
    figures
}

/// From the idle state that takes longest to leave, or why there is none; nothing where nobody asked.
fn deep_sleep(record: &Record) -> Option<KeyFigure> {
    let stairs = staircases(record);
    let absent = |why: &str| Some(KeyFigure::absent("wake-up from deep sleep", why));
    let Some(stairs) = usual(&stairs) else {
        let of_idle = cells(record, IDLE);
        let why = of_idle.iter().find_map(|cell| match &cell.series("round_trip")?.outcome {
            Outcome::Unavailable { unavailable } => Some(unavailable.why.as_str()),
            Outcome::Measured { .. } => None,
        });
        return why.and_then(absent);
    };
    let Some(state) = costliest(stairs) else {
        return absent("no idle state seen takes 20 us to leave");
    };
    let name = format!("wake-up from {}, median", state.name);
    Some(KeyFigure::of(name, state.spread.median, Unit::Second))
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
        let [median, p99, longest] = figures.as_slice() else { panic!("{figures:?}") };
        // Half of 10 us, and of 11.96: 0.96 of the way from the fourth to the fifth.
        near(median.value().unwrap(), 5e-6);
        near(p99.value().unwrap(), 5.98e-6);
        near(longest.value().unwrap(), 6e-6);
        // From 8 to 12 around 10.
        near(median.uncertainty.unwrap(), 0.2);
    }
}
