//! Remarks that belong to no area: on the rulers, on the run as a whole.

use std::collections::BTreeMap;

use model::record::{Plan, Record, Series};
use model::stats::BLOCKS_FOR_INTERVAL;
use model::{Finding, Obstacle, Seconds, Severity, in_order};

use super::sweep::{End, Swept};
use super::{Program, Rulers};
use crate::areas::turbo::soak;
use rig::executor::RunError;

/// The host moved the CPUs between the probes before and after some sweeps.
pub(super) fn of_placement(changed: u64, sweeps: u64) -> Option<Finding> {
    // One that was stopped is not done.
    let sweeps = sweeps.max(changed);
    (changed > 0).then(|| Finding {
        id: "placement.changed".to_owned(),
        severity: Severity::Note,
        about: "placement".to_owned(),
        text: format!(
            "in {changed} of {sweeps} sweeps CPUs lay otherwise to each other after it than before: \
             those blocks stand apart as class `changed`"
        ),
        remedy: None,
 cause: None,
 gain: None,
})
}

/// How the run went.
pub(super) fn of_run(program: &Program, run: &Swept) -> Vec<Finding> {
    let mut findings = of_rulers(&run.rulers);
    findings.extend(run.end.as_ref().and_then(|end| of_end(end, run.sweeps_done)));
    findings.extend(of_standstill(run.stood_still));
    findings.extend(of_failed(program, &run.failed));
    findings.extend(of_skipped(&run.skipped));
    findings
}

/// Rulers that were hard to calibrate, or could not be.
fn of_rulers(rulers: &Rulers) -> Vec<Finding> {
    let disagree = "multiply and add chains agree on no whole number of cycles";
    let when_idle = "run again when the machine, or its SMT siblings, are idle";
    let mut failed: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (cpu, ruler) in rulers {
        let Err(reason) = ruler else { continue };
        let words = match (reason.obstacle, &reason.remedy) {
            (Obstacle::Measurement, _) | (_, None) => (disagree, when_idle),
            (_, Some(remedy)) => (reason.why.as_str(), remedy.as_str()),
        };
        failed.entry(words).or_default().push(cpu.to_string());
    }
    let retried = rulers.values().flatten().filter(|ruler| ruler.attempts > 1).count();
    let unknown = |((why, remedy), cpus): ((&str, &str), Vec<String>)| Finding {
        id: "ruler.no-clock".to_owned(),
        severity: Severity::Serious,
        about: format!("CPU {}", cpus.join(", ")),
        text: format!("{why}, so that clock and cycles are unknown there"),
        remedy: Some(remedy.to_owned()),
        cause: None,
        gain: None,
    };
    let mut findings: Vec<Finding> = failed.into_iter().map(unknown).collect();
    if retried > 0 {
        findings.push(Finding {
            id: "ruler.retried".to_owned(),
            severity: Severity::Note,
            about: "core clock".to_owned(),
            text: format!(
                "on {retried} of {} CPUs the rulers agreed only after several attempts: something \
                 else used the core meanwhile",
                rulers.len()
            ),
            remedy: None,
            cause: None,
            gain: None,
        });
    }
    findings
}

/// What helps where a CPU was lost.
pub(super) const WITHOUT_LOST: &str = "bring it online again, or measure others: --cpus LIST";

/// The id of the remark on a lost CPU.
const LOST: &str = "run.cpu-lost";

/// The id of the remark on a run that failed before it was done.
const FAILED: &str = "run.failed";

/// What ended a run, where no signal did: that is in the record itself, as is whatever had no time.
fn of_end(end: &End, sweeps: u64) -> Option<Finding> {
    let stands = "the run ended, and what was measured until then stands";
    let serious = |id: &str, about: String, text, remedy| {
        let (id, severity) = (id.to_owned(), Severity::Serious);
        Some(Finding { id, severity, about, text, remedy, cause: None, gain: None })
    };
    match end {
        End::Interrupted | End::OutOfTime => None,
        End::Lost { cpu, why } => {
            let text = format!(
                "it was lost during the run, after {sweeps} complete sweeps ({why}): {stands}"
            );
            serious(LOST, format!("CPU {cpu}"), text, Some(WITHOUT_LOST.to_owned()))
        }
        End::Failed(error) => {
            let text = format!("{error}, after {sweeps} complete sweeps: {stands}");
            serious(FAILED, "this run".to_owned(), text, error.reason("").remedy)
        }
    }
}

/// The time in which nothing ran.
fn of_standstill(time: Seconds) -> Option<Finding> {
    (time.0 > 0.0).then(|| Finding {
        id: "run.stood-still".to_owned(),
        severity: Severity::Warning,
        about: "this run".to_owned(),
        text: format!(
            "for {:.1} s nothing of it ran: the machine was suspended, its hypervisor or a signal stopped it, or \
             others had all of its CPUs",
            time.0
        ),
        remedy: Some("run it again".to_owned()),
        cause: None,
        gain: None,
    })
}

/// What is done beside the cells, and failed.
fn of_skipped(skipped: &BTreeMap<String, RunError>) -> Vec<Finding> {
    let of = |(doing, error): (&String, &RunError)| Finding {
        id: "run.part-failed".to_owned(),
        severity: Severity::Warning,
        about: "this run".to_owned(),
        text: format!("{doing} failed: {error}; everything else stands"),
        remedy: error.reason("").remedy,
        cause: None,
        gain: None,
    };
    skipped.iter().map(of).collect()
}

/// Parts of areas that failed while everything else was measured, one remark by area and reason.
fn of_failed(program: &Program, failed: &BTreeMap<usize, RunError>) -> Vec<Finding> {
    let mut alike: BTreeMap<(usize, String), Vec<&'static str>> = BTreeMap::new();
    for (&cell, error) in failed {
        let planned = program.cell(cell);
        let ids = planned.cell.workloads().into_iter().map(|workload| workload.id);
        alike.entry((planned.area, error.to_string())).or_default().extend(ids);
    }
    let remedy = |area: usize, why: &str| {
        let mine = failed
            .iter()
            .find(|(cell, error)| program.cell(**cell).area == area && error.to_string() == why);
        mine.and_then(|(_, error)| error.reason("").remedy)
    };
    let of = |((area, why), ids): ((usize, String), Vec<&'static str>)| Finding {
        id: "run.area-failed".to_owned(),
        severity: Severity::Warning,
        about: model::areas::title(program.areas[area].id()).to_owned(),
        text: format!("{} failed: {why}; everything else stands", in_order(ids).join(", ")),
        remedy: remedy(area, &why),
        cause: None,
        gain: None,
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

/// Remarks on the run as a whole.
pub(super) fn of_record(record: &Record) -> Vec<Finding> {
    [interrupted, few_blocks, preempted, contended, gaps, migrated, left_out]
        .into_iter()
        .filter_map(|finding| finding(record))
        .collect()
}

fn finding(id: &str, severity: Severity, text: String, remedy: Option<&str>) -> Finding {
    Finding {
        id: id.to_owned(),
        severity,
        about: "this run".to_owned(),
        text,
        remedy: remedy.map(str::to_owned),
        cause: None,
        gain: None,
    }
}

fn interrupted(record: &Record) -> Option<Finding> {
    let signal = record.run.interrupted.as_ref()?;
    let done = record.run.plan.blocks_done;
    let text =
        format!("{signal} after {done} complete sweeps: what was measured until then stands");
    Some(finding("run.interrupted", Severity::Warning, text, None))
}

fn few_blocks(record: &Record) -> Option<Finding> {
    /// As long as `--budget` may be.
    const BUDGET_MAX: f64 = 3600.0;
    /// Of less than this of the budget somebody asks why the rest was not used.
    const UNUSED: f64 = 0.8;
    let plan = &record.run.plan;
    let enough = plan.blocks_done >= BLOCKS_FOR_INTERVAL as u64;
    let has = |id: &str| record.findings.iter().any(|finding| finding.id == id);
    let ended = record.run.interrupted.is_some() || has(LOST) || has(FAILED);
    // What goes on over time has one block, and its samples in order.
    let is_timeline = |series: &Series| series.parameters.contains_key(soak::TIMELINE);
    let over_time = record.measured().count() > 0 && record.measured().all(is_timeline);
    if enough || plan.blocks_planned == 0 || ended || over_time {
        return None;
    }
    let done = plan.blocks_done;
    let blocks = if done == 1 { "block was" } else { "blocks were" };
    let over = record.run.seconds > 1.2 * plan.budget_seconds && done == 1;
    let took = if over {
        format!(", in {:.0} s where there were {:.0}", record.run.seconds, plan.budget_seconds)
    } else if record.run.seconds < UNUSED * plan.budget_seconds && done > 0 {
        let (took, given) = (record.run.seconds, plan.budget_seconds);
        format!(
            ", in {took:.0} of {given:.0} s: another block of every cell did not fit into the rest"
        )
    } else {
        String::new()
    };
    let text = format!("only {done} {blocks} completed{took}: numbers have no interval");
    let needed = if over { record.run.seconds * 3.0 } else { plan.budget_seconds * 2.0 };
    let remedy = in_seconds(asked_seconds(record).fold(needed.min(BUDGET_MAX), f64::max));
    Some(finding("run.few-blocks", Severity::Warning, text, Some(&remedy)))
}

/// One series for each thread of a cell: its quantities share the disturbance.
fn threads(record: &Record) -> impl Iterator<Item = &Series> {
    record.measured().filter(|series| series.quantity == "cycles_per_op")
}

fn contended(record: &Record) -> Option<Finding> {
    /// Fewer contended blocks than this are everyday noise, and named in the series alone.
    const SHARE_MIN: f64 = 0.05;
    let (mut contended, mut blocks) = (0, 0);
    for series in record.measured().filter(|series| series.quantity == "clock") {
        contended += series.disturbance.contended_blocks;
        blocks += series.summary().map_or(0, |summary| summary.blocks);
    }
    let share = contended as f64 / (contended + blocks).max(1) as f64;
    if share < SHARE_MIN {
        return None;
    }
    let text = format!(
        "in {:.0} % of blocks the add chain disagreed with the multiply chain by more than 0.25 %: \
         cores were shared with something busy; those blocks are left out",
        share * 100.0
    );
    let remedy = "idle the machine or its SMT siblings; in a guest, ask for cores of its own";
    Some(finding("run.contended", Severity::Warning, text, Some(remedy)))
}

fn gaps(record: &Record) -> Option<Finding> {
    /// Less time than this is lost to timer ticks on any machine.
    const LOST_MIN: f64 = 0.01;
    /// Where more than that is lost, what is left of the time is the exception.
    const LOST_HALF: f64 = 0.5;
    let lost = record.lost_share()?;
    if lost < LOST_MIN {
        return None;
    }
    let text = format!(
        "{:.1} % of the time polled was lost in gaps: interrupts, other threads, or the hypervisor",
        lost * 100.0
    );
    let severity = if lost > LOST_HALF { Severity::Serious } else { Severity::Warning };
    Some(finding("run.gaps", severity, text, Some("stop other work on these CPUs")))
}

/// Blocks that the disturbance of a series was counted in: also of one that has no number, because its
/// cycles are unknown or all of its blocks were held back.
fn blocks_of(series: &Series, plan: &Plan) -> u64 {
    let known = series.summary().map_or(0, |summary| summary.blocks);
    match known + series.disturbance.contended_blocks {
        0 if series.disturbance.involuntary_switches > 0 => plan.blocks_done,
        blocks => blocks,
    }
}

/// The kernel took CPUs away in the middle of blocks.
fn preempted(record: &Record) -> Option<Finding> {
    /// A block lasts about 10 ms. An idle guest was seen to lose its CPU about once in that time, with
    /// a load of two beside it four times.
    const PER_BLOCK_MIN: f64 = 2.0;
    let (mut switches, mut blocks) = (0, 0);
    for series in threads(record) {
        switches += series.disturbance.involuntary_switches;
        blocks += blocks_of(series, &record.run.plan);
    }
    if (switches as f64) < PER_BLOCK_MIN * blocks.max(1) as f64 {
        return None;
    }
    let plan = &record.run.plan;
    let text = format!(
        "the kernel took CPUs away {switches} times within {blocks} blocks; {} of {} sweeps were \
         done: other work runs on these CPUs",
        plan.blocks_done, plan.blocks_planned
    );
    let remedy = "stop it, or measure other CPUs: --cpus LIST";
    Some(finding("run.preempted", Severity::Warning, text, Some(remedy)))
}

fn migrated(record: &Record) -> Option<Finding> {
    let migrations: u64 = threads(record).map(|s| s.disturbance.migrations).sum();
    let text = format!("threads were found on other CPUs than their own {migrations} times");
    let remedy = "let nobody change the affinity of cpudyno's threads meanwhile";
    (migrations > 0).then(|| finding("run.migrated", Severity::Serious, text, Some(remedy)))
}

fn left_out(record: &Record) -> Option<Finding> {
    let seconds = asked_seconds(record).reduce(f64::max)?;
    // One run has one answer to how long it should take.
    let few = few_blocks(record).and_then(|it| seconds_in(it.remedy.as_deref()?));
    let remedy = few.map_or_else(|| in_seconds(seconds), in_seconds);
    let text = "some cells did not fit into the budget; each says so".to_owned();
    Some(finding("run.left-out", Severity::Note, text, Some(&remedy)))
}

/// What stands before the seconds of a remedy.
const MORE_TIME: &str = "give it more time: --budget ";

pub(super) fn in_seconds(seconds: f64) -> String {
    format!("{MORE_TIME}{:.0}s", seconds.ceil().max(1.0))
}

/// The seconds that a remedy names.
fn seconds_in(remedy: &str) -> Option<f64> {
    let seconds = remedy.strip_prefix(MORE_TIME)?.split('s').next()?;
    seconds.parse().ok()
}

/// The budgets that cells asked for which were left out.
fn asked_seconds(record: &Record) -> impl Iterator<Item = f64> {
    let left = record.measured().filter_map(|series| match &series.outcome {
        model::record::Outcome::Unavailable { unavailable } => unavailable.remedy.as_deref(),
        model::record::Outcome::Measured { .. } => None,
    });
    left.filter_map(seconds_in)
}

#[cfg(test)]
mod tests {
    use machine::Machine;
    use model::record::{Outcome, PageKind, Presentation};
    use model::{Obstacle, Seconds, Unavailable};

    use super::*;
    use rig::executor::Stop;

    #[test]
    fn blocks_without_a_number_stand_beside_their_switches() {
        let look = Presentation { width: 80, colour: false, verbosity: 0, page: PageKind::Sheet };
        let request = crate::sheet::request(Seconds(2.0), None, None, Vec::new(), look);
        let machine = Machine::named("sim:vm-2c").unwrap();
        let mut record =
            crate::run::measure(&machine, &request, &Stop::default(), &mut |_| {}).unwrap();
        let done = record.run.plan.blocks_done;
        let mut switched = |switches: u64| {
            for series in record.series.iter_mut().filter(|s| s.quantity == "cycles_per_op") {
                let unavailable = Unavailable::new(Obstacle::Measurement, "cycles", "no clock");
                series.outcome = Outcome::Unavailable { unavailable };
                series.disturbance.involuntary_switches = switches;
                series.disturbance.contended_blocks = 0;
            }
            preempted(&record).map(|finding| finding.text)
        };
        assert_eq!(switched(done), None, "one for each block is everyday");
        let text = switched(3 * done).unwrap();
        assert!(!text.contains("within 0 blocks"), "{text}");
    }
}
