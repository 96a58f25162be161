//! Answers of CPUs that were compared: one that is wrong fails the machine, whatever else holds.

use model::Finding;
use model::page::si;
use model::record::{GateCode, GateItem, GateState, Record, VerifyRun, WrongAnswers};

/// Whether a finding is of such an answer.
pub(super) fn is_of_answers(finding: &Finding) -> bool {
    finding.id.starts_with("verify.")
}

/// What came of the comparison, where there was one.
pub(super) fn items(record: &Record) -> Vec<GateItem> {
    // What was wrong on the way is no less wrong; that nothing was says less than a comparison, and is no item.
    let timed = record.answers.iter().flat_map(|answers| &answers.wrong).map(wrong);
    let compared = record.verify.iter().flat_map(|run| match &run.wrong[..] {
        [] => vec![right(run)],
        some => some.iter().map(wrong).collect(),
    });
    compared.chain(timed).collect()
}

fn blank(name: String) -> GateItem {
    GateItem {
        code: GateCode::Sdc,
        name,
        state: GateState::Holds,
        found: None,
        expected: None,
        by: "reference".to_owned(),
        why: None,
        remedy: None,
        off: None,
    }
}

fn right(run: &VerifyRun) -> GateItem {
    let least = run.cpus.iter().map(|cpu| cpu.ops).min().unwrap_or(0);
    let item = blank("answers".to_owned());
    if run.cpus.iter().any(|cpu| cpu.calls == 0) {
        let why = "answers: some CPUs had no time to be compared";
        return GateItem {
            state: GateState::CannotJudge,
            why: Some(why.to_owned()),
            remedy: Some("give it more: --verify 60s".to_owned()),
            ..item
        };
    }
    let time = si::run_length(run.seconds);
    let found = format!("none wrong in {:.1e} ops of each CPU, in {time}", least as f64);
    GateItem { found: Some(found), ..item }
}

fn wrong(it: &WrongAnswers) -> GateItem {
    let WrongAnswers { cpu, workload, wrong, calls, .. } = it;
    let is_program = it.is_everywhere();
    let whom = if is_program { "every CPU".to_owned() } else { format!("CPU {cpu}") };
    let why = format!("{whom} computes wrong: {wrong} of {calls} calls of {workload}");
    GateItem {
        // What emulates a CPU, or cpudyno itself, is no reason to take a machine out of use.
        state: if is_program { GateState::CannotJudge } else { GateState::Fails },
        found: Some(format!("{wrong} wrong")),
        expected: Some("0".to_owned()),
        why: Some(why),
        remedy: Some(format!("cpudyno verify --cpus {cpu} --minutes 10")),
        // More than any speed can be off.
        off: Some(f64::MAX.ln()),
        ..blank(format!("cpu{cpu}.{workload}"))
    }
}
