//! The area's key figures: a parallel region whose threads spin between regions, and one whose threads sleep.

use model::Unit;
use model::page::tally;
use model::record::Record;

use super::read::{Cell, libraries, teams};
use crate::figure::KeyFigure;

pub(super) fn figures(record: &Record) -> Vec<KeyFigure> {
    let teams = teams(record);
    let libraries = libraries(&teams);
    let Some(library) = libraries.first() else { return Vec::new() };
    let spinning = library.iter().find(|team| team.is_default());
    let sleeping = library.iter().find(|team| is_sleeping(team.setting()));
    let figure = |team: &&Cell<'_>, how: &str| {
        let threads = tally(team.active.len(), "thread");
        let median = team.median("loop_time").filter(|time| *time > 0.0)?;
        let name = format!("OpenMP loop, {threads}, {how}");
        Some(KeyFigure::of(name, median, Unit::Second).known_to(team.uncertainty("loop_time")))
    };
    let spinning = spinning.and_then(|team| figure(team, &format!("{} default", team.workload)));
    let sleeping = sleeping.and_then(|team| figure(team, "threads sleep"));
    spinning.into_iter().chain(sleeping).collect()
}

/// Whether a setting sends threads to sleep at once.
fn is_sleeping(setting: &str) -> bool {
    setting.contains("passive") || setting.ends_with("BLOCKTIME=0")
}
