//! Clocks, as people read them.

mod claims;
mod clocked;
mod favoured;
pub mod known;
pub(super) mod neighbours_shown;
mod page;
mod promise_shown;
mod published;
pub(crate) mod read;
mod section;
mod soak_shown;
mod time_lost;
mod trace_shown;
mod why;
mod why_shown;

pub use page::{WIDE, page};
pub use why::accounts;

use model::Finding;
pub(super) use model::areas::turbo::AREA;
use model::areas::turbo::{HEAVY, LIGHT, is_question, neighbours, soak, trace};
use model::record::Record;

use super::Section;

/// What it says.
pub const SECTION: Section = Section {
    leads: true,
    findings,
    sentences: section::sentences,
    claims: claims::claims,
    bands: claims::bands,
    ..Section::of(AREA, section::section)
};

fn findings(record: &Record) -> Vec<Finding> {
    [drifting(record), slow_looks(record), known::differing(record)]
        .into_iter()
        .flatten()
        .chain(soak_shown::findings(record))
        .chain(trace_shown::findings(record))
        .chain(neighbours_shown::findings(record))
        .collect()
}

/// The clock moved while nothing but the ruler ran.
fn drifting(record: &Record) -> Option<Finding> {
    /// Less than this is what clocks do anyway between one minute and the next.
    const DRIFT_MIN: f64 = 0.02;
    let [low, high] = read::quiet_drift(record, &record.run.plan.cpus)?;
    let drift = high / low - 1.0;
    (drift >= DRIFT_MIN).then(|| {
        Finding::note(
            "turbo.clock-drifts",
            "core clock",
            format!(
                "without any payload the clock moved between {:.0} and {:.0} MHz during the run \
                 ({:.1} %): compare runs by cycles per op, not by MHz",
                low / 1e6,
                high / 1e6,
                drift * 100.0
            ),
        )
    })
}

/// One look at the clock in twenty, or more, found much less than the others: what the chain counts as
/// lost cycles may be a halt or throttled dispatch rather than a lower frequency.
fn slow_looks(record: &Record) -> Option<Finding> {
    /// Between this and the median, clocks drift.
    const RATIO_MAX: f64 = 0.9;
    let mut cells: Vec<String> = Vec::new();
    for series in record.series_of(AREA, "clock") {
        let Some(clock) = series.summary().filter(|c| c.p5 < RATIO_MAX * c.median) else {
            continue;
        };
        let cell = format!("{} with {} active", series.workload, series.active.len());
        if !cells.iter().any(|known| known.starts_with(&cell)) {
            cells.push(format!("{cell} ({:.0} of {:.0} MHz)", clock.p5 / 1e6, clock.median / 1e6));
        }
    }
    if cells.is_empty() {
        return None;
    }
    let text = format!(
        "one look in twenty found far less than the median under {}: the core halted, was throttled \
         or was taken away, which the chain counts as lost cycles",
        cells.join(", ")
    );
    Some(Finding::note("turbo.slow-looks", "core clock", text))
}
