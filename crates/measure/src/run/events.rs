//! What happened in a run, for whoever explains it.

use std::collections::BTreeMap;

use model::record::{Event, Told};
use model::{CpuId, Obstacle, Seconds, in_order};

use super::sweep::{End, Swept};
use super::{Program, Rulers};
use rig::executor::RunError;

/// How the run went.
pub(super) fn of_run(program: &Program, run: &Swept) -> Vec<Event> {
    let mut events = of_rulers(&run.rulers);
    events.extend(run.end.as_ref().and_then(of_end));
    events.extend(
        (run.stood_still > Seconds(0.0)).then_some(Event::StoodStill { seconds: run.stood_still }),
    );
    events.extend(of_failed(program, &run.failed));
    let of_part = |(doing, error): (&String, &RunError)| Event::PartFailed {
        doing: doing.clone(),
        told: told(error),
    };
    events.extend(run.skipped.iter().map(of_part));
    let changed = run.changed.len() as u64;
    events.extend((changed > 0).then_some(Event::PlacementChanged { sweeps: changed }));
    events
}

fn told(error: &RunError) -> Told {
    Told { why: error.to_string(), remedy: error.reason("").remedy }
}

/// Rulers that were hard to calibrate, or could not be.
fn of_rulers(rulers: &Rulers) -> Vec<Event> {
    let mut failed: BTreeMap<Option<(&str, &str)>, Vec<CpuId>> = BTreeMap::new();
    for (cpu, ruler) in rulers {
        let Err(reason) = ruler else { continue };
        let words = match (reason.obstacle, &reason.remedy) {
            (Obstacle::Measurement, _) | (_, None) => None,
            (_, Some(remedy)) => Some((reason.why.as_str(), remedy.as_str())),
        };
        failed.entry(words).or_default().push(*cpu);
    }
    let unknown = |(words, cpus): (Option<(&str, &str)>, Vec<CpuId>)| Event::NoRuler {
        cpus,
        told: words
            .map(|(why, remedy)| Told { why: why.to_owned(), remedy: Some(remedy.to_owned()) }),
    };
    let mut events: Vec<Event> = failed.into_iter().map(unknown).collect();
    let late = rulers.values().flatten().filter(|ruler| ruler.attempts > 1).count() as u64;
    events.extend((late > 0).then_some(Event::RulersLate { cpus: late, of: rulers.len() as u64 }));
    events
}

/// What helps where a CPU was lost.
pub(super) const WITHOUT_LOST: &str = "bring it online again, or measure others: --cpus LIST";

/// What ended a run, where no signal did: that is in the record itself, as is whatever had no time.
fn of_end(end: &End) -> Option<Event> {
    match end {
        End::Interrupted | End::OutOfTime => None,
        End::Lost { cpu, why } => {
            let told = Told { why: why.clone(), remedy: Some(WITHOUT_LOST.to_owned()) };
            Some(Event::CpuLost { cpu: *cpu, told })
        }
        End::Failed(error) => Some(Event::Failed { told: told(error) }),
    }
}

/// Cells that failed while everything else was measured, together by area and reason.
fn of_failed(program: &Program, failed: &BTreeMap<usize, RunError>) -> Vec<Event> {
    let mut alike: BTreeMap<(usize, String), (&RunError, Vec<&'static str>)> = BTreeMap::new();
    for (&cell, error) in failed {
        let planned = program.cell(cell);
        let ids = planned.cell.workloads().into_iter().map(|workload| workload.id);
        let (_, known) =
            alike.entry((planned.area, error.to_string())).or_insert_with(|| (error, Vec::new()));
        known.extend(ids);
    }
    let of = |((area, _), (error, ids)): ((usize, String), (&RunError, Vec<&'static str>))| {
        let workloads = in_order(ids).into_iter().map(str::to_owned).collect();
        let area = program.areas[area].word().to_owned();
        Event::CellsFailed { area, workloads, told: told(error) }
    };
    alike.into_iter().map(of).collect()
}

/// What ended a cell: itself, or a cell of its area that hung and left threads behind, because what hangs once would hang
/// again.
pub(super) fn end_of<'a>(
    program: &Program,
    failed: &'a BTreeMap<usize, RunError>,
    cell: usize,
) -> Option<&'a RunError> {
    let area = program.cell(cell).area;
    let hung = |(other, error): &(&usize, &RunError)| {
        let is_left = matches!(error, RunError::Hung { left, .. } if !left.is_empty());
        is_left && program.cell(**other).area == area
    };
    failed.get(&cell).or_else(|| failed.iter().find(hung).map(|(_, error)| error))
}
