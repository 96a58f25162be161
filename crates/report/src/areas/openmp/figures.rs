//! The area's key figures: a parallel region whose threads spin between regions, and one whose threads sleep.

use model::areas::openmp::AREA;
use model::page::tally;
use model::record::{Outcome, Record, Series};
use model::{Obstacle, Unit};

use super::read::{Cell, libraries, teams};
use crate::figure::KeyFigure;

pub(super) fn figures(record: &Record) -> Vec<KeyFigure> {
    let teams = teams(record);
    let libraries = libraries(&teams);
    let Some(library) = libraries.first() else { return missing(record).into_iter().collect() };
    let spinning = library.iter().find(|team| team.is_default());
    let sleeping = library.iter().find(|team| is_sleeping(team.setting()));
    let figure = |team: &&Cell<'_>, how: &str| {
        let threads = tally(team.active.len(), "thread");
        let median = team.median("loop_time").filter(|time| *time > 0.0)?;
        let name = format!("OpenMP loop, {threads} {how}");
        let figure = KeyFigure::of(name, median, Unit::Second);
        let figure = figure.known_to(team.uncertainty("loop_time"));
        Some(figure.doubted(team.is_doubtful("loop_time")))
    };
    let ways = [(spinning, "spin"), (sleeping, "sleep")];
    let figures: Vec<_> = ways.into_iter().filter_map(|(it, how)| figure(it?, how)).collect();
    if figures.is_empty() { missing(record).into_iter().collect() } else { figures }
}

/// Why no runtime has a number, where one was looked for.
fn missing(record: &Record) -> Option<KeyFigure> {
    let reason = |series: &'_ Series| match &series.outcome {
        Outcome::Unavailable { unavailable } => Some(unavailable.clone()),
        Outcome::Measured { .. } => None,
    };
    let all = || record.series_of(AREA, "loop_time").filter_map(reason);
    // Of a runtime that is there says more than of one that is not.
    let why = all().find(|why| why.obstacle == Obstacle::Measurement).or_else(|| all().next());
    why.map(|why| KeyFigure::absent("OpenMP loop", why.why))
}

/// Whether a setting sends threads to sleep at once.
fn is_sleeping(setting: &str) -> bool {
    setting.contains("passive") || setting.ends_with("BLOCKTIME=0")
}

#[cfg(test)]
mod tests {
    use model::Unavailable;

    use super::*;
    use crate::testing::{blank, series};

    #[test]
    fn a_runtime_that_is_there_says_why_before_one_that_is_not() {
        let absent = |runtime: &str, obstacle, why: &str| {
            let unavailable = Unavailable::new(obstacle, runtime, why);
            let outcome = Outcome::Unavailable { unavailable };
            Series { outcome, ..series([AREA, runtime, "loop_time"], "0-1", &[], &[&[1.0]]) }
        };
        let mut record = blank();
        record.series = vec![
            absent("libiomp5", Obstacle::Permission, "it is another name of libomp"),
            absent("libgomp", Obstacle::Measurement, "there was no time for it"),
        ];
        let told = |record: &Record| figures(record).pop().unwrap().values.unwrap_err();
        assert_eq!(told(&record), "there was no time for it");
        record.series.pop();
        assert_eq!(told(&record), "it is another name of libomp");
    }
}
