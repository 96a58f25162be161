//! The area's key figures: a parallel region whose threads spin between regions, and one whose threads sleep.

use model::Unit;
use model::areas::openmp::AREA;
use model::page::tally;
use model::record::{Outcome, Record};

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
    let why = record.series_of(AREA, "loop_time").find_map(|series| match &series.outcome {
        Outcome::Unavailable { unavailable } => Some(unavailable.why.as_str()),
        Outcome::Measured { .. } => None,
    });
    why.map(|why| KeyFigure::absent("OpenMP loop", why))
}

/// Whether a setting sends threads to sleep at once.
fn is_sleeping(setting: &str) -> bool {
    setting.contains("passive") || setting.ends_with("BLOCKTIME=0")
}
