//! How tests ask for a run of `turbo`, and find its answers.

use kernels::StreamRow;
use machine::Machine;
use measure::areas::turbo::{Tests, TurboOptions};
use measure::run::{Error, Progress, Request};
use model::record::{Instrument, Outcome, PageKind, Presentation, Record, Series};
use rig::executor::Stop;

/// How the page is laid out.
pub(crate) const LOOK: Presentation =
    Presentation { width: 200, ..Presentation::of(PageKind::Turbo) };

/// What is measured, with all that is to be said of it.
pub(crate) fn measure(
    machine: &Machine,
    request: &Request,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Record, Error> {
    let mut record = measure::run::measure(machine, request, stop, progress)?;
    report::annotate(&mut record);
    Ok(record)
}

/// The stream of that id.
pub(crate) fn stream(id: &str) -> &'static StreamRow {
    kernels::streams::find(id).unwrap()
}

/// Five blocks of each of these streams, on the usual CPUs.
pub(crate) fn streams(ids: &[&str]) -> TurboOptions {
    TurboOptions::about(Tests::Streams(ids.iter().map(|id| stream(id)).collect()))
}

/// The record that answers it; its page must be there, too.
pub(crate) fn measured(machine: &Machine, options: TurboOptions) -> Record {
    let request = options.request(vec!["test".to_owned()], LOOK);
    let record = measure(machine, &request, &Stop::default(), &mut |_| {}).unwrap();
    assert!(!report::areas::turbo::page(&record, 1, 100).blocks.is_empty());
    record
}

/// The series of that quantity.
pub(crate) fn of<'a>(record: &'a Record, quantity: &'a str) -> impl Iterator<Item = &'a Series> {
    let mine = move |s: &&Series| s.area == "turbo" && s.quantity == quantity;
    record.series.iter().filter(mine)
}

/// Why a series has no number.
#[track_caller]
pub(crate) fn why(series: &Series) -> &str {
    match &series.outcome {
        Outcome::Unavailable { unavailable } => &unavailable.why,
        Outcome::Measured { summary, .. } => {
            panic!("{} of {} is {}", series.quantity, series.workload, summary.median)
        }
    }
}

/// The row of the counters of core cycles.
pub(crate) fn counters(record: &Record) -> &Instrument {
    record.instruments.iter().find(|instrument| instrument.id == "aperf_mperf").unwrap()
}

/// A number that must be there, and near to another one.
#[track_caller]
pub(crate) fn assert_near(found: f64, expected: f64, tolerance: f64, what: &str) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= tolerance, "{what}: {found}, expected {expected}, {:.3} % off", off * 1e2);
}
