//! Clocks, as people read them.

mod claims;
pub mod classic;
pub(super) mod clock_account;
pub(super) mod clocked;
mod figures;
mod licence_clocks;
mod page;
pub mod published_costs;
pub(super) mod published_licences;
pub(crate) mod read;
mod section;
mod time_lost;
mod waterfall;

pub use clock_account::accounts;
pub use page::{WIDE, page};

use model::Finding;
pub(super) use model::areas::turbo::AREA;
use model::areas::turbo::{HEAVY, LIGHT};
use model::record::Record;

use super::Section;

/// What it says.
pub const SECTION: Section = Section {
    findings,
    sentences: section::sentences,
    claims: claims::claims,
    bands: claims::bands,
    figures: figures::figures,
    ..Section::of(AREA, section::section)
};

fn findings(record: &Record) -> Vec<Finding> {
    [drifting(record), slow_looks(record), published_costs::differing(record)]
        .into_iter()
        .flatten()
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
                "the idle-load clock drifted from {:.0} to {:.0} MHz during the run ({:.1} %): compare runs by cycles per op, not by MHz",
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
        "one clock reading in twenty lies far below the median under {}: the core was halted, throttled or preempted",
        cells.join(", ")
    );
    Some(Finding::note("turbo.slow-looks", "core clock", text))
}
