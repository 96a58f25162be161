//! What a machine says of itself, in words, as far as that tells one machine or run from another.

use model::record::{
    BUSY_CPUS, ComparedAnswers, DigestFact, Fact, FactValue, NONE_BUSY, Record, VerifyRun,
};
use model::{CpuSet, Known};

use report::kit::value_text;

/// Facts and conditions, settings of Speed Select, and which cpudyno it was.
pub(super) fn of(record: &Record) -> Vec<DigestFact> {
    let first = record.facts().filter(|fact| !is_fleeting(&fact.id)).map(said);
    let sst = report::speed_select::facts(record.speed_select.as_ref());
    let tool = DigestFact {
        id: "tool.version".to_owned(),
        label: "cpudyno".to_owned(),
        text: (!record.tool.is_foreign()).then(|| record.tool.version.clone()),
    };
    first.chain(later(record)).chain(sst).chain(answers(record)).chain([tool]).collect()
}

/// The fact that names CPUs which compute wrong.
pub(crate) const WRONG: &str = "verify.wrong";

/// What it says where there are none.
pub(crate) const NONE_WRONG: &str = "none";

/// CPUs that compute wrong, where answers were compared, or some were wrong that were compared on the way.
fn answers(record: &Record) -> Option<DigestFact> {
    let timed = record.answers.as_ref().map(ComparedAnswers::faulty).unwrap_or_default();
    let run = record.verify.as_ref();
    if run.is_none() && timed.is_empty() {
        return None;
    }
    let of_run = run.map(VerifyRun::faulty).unwrap_or_default();
    let faulty: CpuSet = of_run.iter().chain(timed.iter()).collect();
    let text = if faulty.is_empty() { NONE_WRONG.to_owned() } else { format!("CPU {faulty}") };
    let label = "CPUs that compute wrong".to_owned();
    Some(DigestFact { id: WRONG.to_owned(), label, text: Some(text) })
}

fn said(fact: &Fact) -> DigestFact {
    let is_known = matches!(fact.value, Known::Yes(_));
    DigestFact {
        id: fact.id.clone(),
        label: fact.label.clone(),
        text: is_known.then(|| value_text(&fact.value).text),
    }
}

/// What stands before the id of a condition that was read after the run.
pub(crate) const AFTER: &str = "after.";

/// Whether what a fact says otherwise than before is a change of the machine: who launched a run says nothing of it, and
/// what is known of the time before the run, too, says more than what is of the time after it.
pub(crate) fn can_change(id: &str, is_known: impl Fn(&str) -> bool) -> bool {
    !id.starts_with("launch.") && !id.strip_prefix(AFTER).is_some_and(is_known)
}

/// Conditions as they were after the run, and what came up during it.
fn later(record: &Record) -> Vec<DigestFact> {
    /// Any of it is a lot: how much, and on which CPUs, is chance.
    const COUNTED: [&str; 5] = [
        "disturbance.thermal_core",
        "disturbance.thermal_package",
        "disturbance.cgroup_throttles",
        "disturbance.memory_errors_corrected",
        "disturbance.memory_errors_uncorrected",
    ];
    let during = |fact: &Fact, is_some: bool| {
        let text = Some(if is_some { "some" } else { "none" }.to_owned());
        Some(DigestFact { text, label: format!("{} during the run", fact.label), ..said(fact) })
    };
    let after = |fact: &Fact| DigestFact {
        id: format!("{AFTER}{}", fact.id),
        label: format!("{} after the run", fact.label),
        ..said(fact)
    };
    let told = |fact: &Fact| match &fact.value {
        Known::Yes(FactValue::Number { value, .. }) if COUNTED.contains(&&*fact.id) => {
            during(fact, *value > 0.0)
        }
        Known::Yes(FactValue::Text(text)) if fact.id == BUSY_CPUS => {
            during(fact, text != NONE_BUSY)
        }
        Known::Yes(FactValue::Text(text)) if fact.id == TEMPERATURE => {
            Some(DigestFact { text: Some(about(text)?), ..after(fact) })
        }
        _ if is_fleeting(&fact.id) => None,
        _ => Some(after(fact)),
    };
    record.conditions.after.iter().filter_map(told).collect()
}

const TEMPERATURE: &str = "temperature";

/// A temperature to ten degrees: what is finer differs by itself.
fn about(text: &str) -> Option<String> {
    let degrees: f64 = text.strip_suffix(" °C")?.parse().ok()?;
    let low = (degrees / 10.0).floor() * 10.0;
    Some(format!("{low:.0} to {:.0} °C", low + 9.0))
}

/// Facts that differ by themselves between any two moments, or machines of one job: they are no causes.
fn is_fleeting(id: &str) -> bool {
    const FLEETING: [&str; 8] = [
        "load",
        "memory.errors",
        "memory.swapped",
        TEMPERATURE,
        BUSY_CPUS,
        "user",
        "launch.rank",
        "launch.node_list",
    ];
    FLEETING.contains(&id) || id.starts_with("disturbance.")
}
