//! What is to be said of a run as a whole: of what happened in it, and of what its numbers show together.

use model::areas::{self, TIMELINE};
use model::budget::{BUDGET_MAX, more_time, seconds_in};
use model::record::{
    BUSY_CPUS, Event, Fact, FactValue, NONE_BUSY, Outcome, Plan, Record, Series, Told,
};
use model::stats::BLOCKS_FOR_INTERVAL;
use model::{CpuId, Finding, Severity};

use crate::areas::turbo;
use crate::areas::{SECTIONS, Section};
use crate::sheet::{claims, normal};

/// Adds what is to be said of a record that was just measured: the account of its clocks, and findings, the most
/// serious first.
pub fn annotate(record: &mut Record) {
    let accounts = turbo::accounts(record);
    if let Some(clock) = &mut record.clock {
        clock.accounts = accounts;
    }
    record.findings.extend(findings(record));
    let took_part = |section: &&Section| {
        record.run.plan.areas.iter().any(|area| area == areas::word(section.id()))
    };
    let sections: Vec<&Section> = SECTIONS.iter().filter(took_part).collect();
    let mut more: Vec<Finding> =
        sections.iter().flat_map(|section| section.findings(record)).collect();
    more.extend(normal::findings(record, &sections));
    // A claim that another finding refutes already needs none.
    let told: Vec<&Finding> = record.findings.iter().chain(&more).collect();
    let refuted = claims::findings(record, &sections, &told);
    more.extend(refuted);
    record.findings.extend(more);
    // Settings come last: what was measured says more of the same.
    let told: Vec<&Finding> = record.findings.iter().collect();
    let of_settings = checks::findings(record, &told);
    record.findings.extend(of_settings);
    record.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
}

/// Of the run.
fn findings(record: &Record) -> Vec<Finding> {
    let happened = record.run.events.iter().filter_map(|event| of_event(event, &record.run.plan));
    happened.chain(of_numbers(record)).chain(of_others(record)).collect()
}

/// Of what happened.
fn of_event(event: &Event, plan: &Plan) -> Option<Finding> {
    const RUN: &str = "this run";
    let finding = |id: &str, severity, about: &str, text, remedy: Option<&String>| {
        Finding::new(severity, id.to_owned(), about.to_owned(), text).remedy(remedy.cloned())
    };
    let done = plan.blocks_done;
    let until = format!("after {done} complete sweeps");
    let stands = "earlier numbers stand";
    Some(match event {
        Event::NoRuler { cpus, told } => no_ruler(cpus, told.as_ref()),
        Event::RulersLate { cpus, of } => {
            let text = format!(
                "calibration needed several attempts on {cpus} of {of} CPUs: other work used these cores"
            );
            finding("ruler.retried", Severity::Note, "core clock", text, None)
        }
        Event::CpuLost { cpu, told: Told { why, remedy } } => {
            let text = format!("it went away {until} ({why}); {stands}");
            let about = format!("CPU {cpu}");
            finding("run.cpu-lost", Severity::Serious, &about, text, remedy.as_ref())
        }
        Event::Failed { told: Told { why, remedy } } => {
            let text = format!("{why}, {until}; {stands}");
            finding("run.failed", Severity::Serious, RUN, text, remedy.as_ref())
        }
        Event::StoodStill { seconds } => {
            let text = format!(
                "nothing ran for {:.1} s: the machine was suspended, or the hypervisor, a signal or other work stopped it",
                seconds.0
            );
            let again = "run it again".to_owned();
            finding("run.stood-still", Severity::Warning, RUN, text, Some(&again))
        }
        Event::CellsFailed { area, workloads, told: Told { why, remedy } } => {
            let text = format!("{} failed: {why}; everything else stands", workloads.join(", "));
            let about = areas::title(area);
            finding("run.area-failed", Severity::Warning, about, text, remedy.as_ref())
        }
        Event::PartFailed { doing, told: Told { why, remedy } } => {
            let text = format!("{doing} failed: {why}; everything else stands");
            finding("run.part-failed", Severity::Warning, RUN, text, remedy.as_ref())
        }
        Event::PlacementChanged { sweeps } => {
            // One that was stopped is not done.
            let of = done.max(*sweeps);
            let text = format!(
                "CPU placement changed during {sweeps} of {of} sweeps (the host moved vCPUs); those blocks are reported separately as `changed`"
            );
            finding("placement.changed", Severity::Note, "placement", text, None)
        }
        // Only records of later versions have one, with what those found.
        Event::Unknown => return None,
    })
}

/// Clock and cycles are unknown there.
fn no_ruler(cpus: &[CpuId], told: Option<&Told>) -> Finding {
    let disagree = "multiply and add chains agree on no whole number of cycles";
    let when_idle = "run again when the machine, or its SMT siblings, are idle";
    let why = told.map_or(disagree, |told| &told.why);
    let remedy = told.map_or(Some(when_idle), |told| told.remedy.as_deref());
    let cpus: Vec<String> = cpus.iter().map(CpuId::to_string).collect();
    Finding::serious(
        "ruler.no-clock",
        format!("CPU {}", cpus.join(", ")),
        format!("{why}: clock and cycles are unknown"),
    )
    .remedy(remedy.map(str::to_owned))
}

/// Of what its numbers show together.
fn of_numbers(record: &Record) -> Vec<Finding> {
    [interrupted, few_blocks, preempted, contended, gaps, migrated, left_out]
        .into_iter()
        .filter_map(|finding| finding(record))
        .collect()
}

fn finding(id: &str, severity: Severity, text: String, remedy: Option<&str>) -> Finding {
    Finding::new(severity, id.to_owned(), "this run", text).remedy(remedy.map(str::to_owned))
}

fn interrupted(record: &Record) -> Option<Finding> {
    let signal = record.run.interrupted.as_ref()?;
    let done = record.run.plan.blocks_done;
    let text = format!("{signal} after {done} complete sweeps; earlier numbers stand");
    Some(finding("run.interrupted", Severity::Warning, text, None))
}

fn few_blocks(record: &Record) -> Option<Finding> {
    /// Of less than this of the budget somebody asks why the rest was not used.
    const UNUSED: f64 = 0.8;
    let plan = &record.run.plan;
    let enough = plan.blocks_done >= BLOCKS_FOR_INTERVAL as u64;
    let ends = |event: &Event| matches!(event, Event::CpuLost { .. } | Event::Failed { .. });
    let ended = record.run.interrupted.is_some() || record.run.events.iter().any(ends);
    // What goes on over time has one block, and its samples in order.
    let is_timeline = |series: &Series| series.parameters.contains_key(TIMELINE);
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
    let remedy = more_time(asked_seconds(record).fold(needed.min(BUDGET_MAX), f64::max));
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
    let is_own = record.findings.iter().any(|it| it.id == "placement.hidden-sibling");
    let whose = match (is_own, record.is_guest()) {
        (true, _) => "another thread of this run",
        (false, true) => "another guest of this host, or another program in this guest,",
        (false, false) => "another program",
    };
    let text = format!(
        "{:.0} % of clock samples were taken while {whose} used the same core, and are left out: there a chain \
         of adds and one of multiplies disagreed by more than 0.25 %",
        share * 100.0
    );
    let remedy = if record.is_guest() {
        "ask for a guest with cores of its own"
    } else {
        "idle the machine, or the SMT siblings of these CPUs"
    };
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
        "{:.1} % of the time was lost to interruptions (interrupts, other threads, hypervisor)",
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
        "other work preempted the threads {switches} times in {blocks} blocks; {} of {} sweeps completed",
        plan.blocks_done, plan.blocks_planned
    );
    let remedy = "stop it, or measure other CPUs: --cpus LIST";
    Some(finding("run.preempted", Severity::Warning, text, Some(remedy)))
}

fn migrated(record: &Record) -> Option<Finding> {
    let migrations: u64 = threads(record).map(|s| s.disturbance.migrations).sum();
    let text = format!("threads ran on other CPUs than their own {migrations} times");
    let remedy = "leave the affinity of cpudyno's threads alone";
    (migrations > 0).then(|| finding("run.migrated", Severity::Serious, text, Some(remedy)))
}

fn left_out(record: &Record) -> Option<Finding> {
    let seconds = asked_seconds(record).reduce(f64::max)?;
    // One run has one answer to how long it should take.
    let few = few_blocks(record).and_then(|it| seconds_in(it.remedy.as_deref()?));
    let remedy = few.map_or_else(|| more_time(seconds), more_time);
    let is_left = |series: &&Series| match &series.outcome {
        Outcome::Unavailable { unavailable } => {
            unavailable.remedy.as_deref().and_then(seconds_in).is_some()
        }
        Outcome::Measured { .. } => false,
    };
    let left: Vec<&Series> = record.measured().filter(is_left).collect();
    let areas = areas::ids().filter(|area| left.iter().any(|series| areas::is_of(series, area)));
    let titles: Vec<&str> = areas.map(areas::title).collect();
    let text = format!("there was no time for some results: {}", titles.join(", "));
    Some(finding("run.left-out", Severity::Note, text, Some(&remedy)))
}

/// The budgets that cells asked for which were left out.
fn asked_seconds(record: &Record) -> impl Iterator<Item = f64> {
    let left = record.measured().filter_map(|series| match &series.outcome {
        Outcome::Unavailable { unavailable } => unavailable.remedy.as_deref(),
        Outcome::Measured { .. } => None,
    });
    left.filter_map(seconds_in)
}

/// Others used CPUs before the run or meanwhile.
fn of_others(record: &Record) -> Vec<Finding> {
    let said = |facts: &[Fact]| {
        let fact = facts.iter().find(|fact| fact.id == BUSY_CPUS)?;
        match fact.value.value()? {
            FactValue::Text(text) if text != NONE_BUSY => Some(text.clone()),
            _ => None,
        }
    };
    let finding = |id: &str, when: &str, who: String| {
        Finding::warning(id.to_owned(), "other work", format!("{who} ran other work {when}"))
            .remedy("stop it, or measure other CPUs: --cpus LIST".to_owned())
    };
    let before = said(&record.conditions.before);
    let after = said(&record.conditions.after);
    let mut findings = Vec::new();
    findings.extend(before.map(|who| finding("run.busy-before", "right before the run", who)));
    findings.extend(after.map(|who| finding("run.busy-neighbour", "during the run", who)));
    findings
}

#[cfg(test)]
mod tests {
    use model::{Obstacle, Unavailable};

    use super::*;

    #[test]
    fn blocks_without_a_number_stand_beside_their_switches() {
        let mut record = crate::testing::sheet("sim:vm-2c", 2.0);
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
