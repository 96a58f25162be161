//! The verdict as one JSON object, for programs.

use model::record::{GateItem, GateState, GateVerdict, Record};
use serde::Serialize;

use super::callers;

/// The version of the object; it grows by new members alone.
const SCHEMA: &str = "cpudyno.verdict/1";

#[derive(Serialize)]
struct NodeVerdict<'a> {
    schema: &'static str,
    /// `PASS`, `WARNING`, `CRITICAL`, or `UNKNOWN`.
    verdict: &'static str,
    /// What it fails by.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    /// The line that others get.
    line: String,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    failed: Vec<&'a GateItem>,
    warned: Vec<&'a GateItem>,
    not_judged: Vec<&'a GateItem>,
    held: Vec<&'a GateItem>,
}

/// Of a record that was judged.
pub(super) fn object(record: &Record) -> String {
    let verdict = callers::verdict_of(record);
    let items = || record.gate.iter().flat_map(|gate| &gate.items);
    let of = |states: &[GateState]| -> Vec<&GateItem> {
        items().filter(|item| states.contains(&item.state)).collect()
    };
    let warned = of(&[GateState::Warns]);
    let failed = of(&[GateState::Fails]);
    print(&NodeVerdict {
        schema: SCHEMA,
        verdict: match verdict {
            GateVerdict::Pass if !warned.is_empty() => "WARNING",
            GateVerdict::Pass => "PASS",
            GateVerdict::Fail => "CRITICAL",
            GateVerdict::CannotJudge => "UNKNOWN",
        },
        code: failed.first().map(|item| item.code.word()),
        line: callers::line(record),
        reason: record.gate.as_ref().map_or("", |gate| gate.reason.as_str()),
        simulated: record.run.simulated.as_deref(),
        seconds: Some(record.run.seconds),
        failed,
        warned,
        not_judged: of(&[GateState::CannotJudge, GateState::NotJudged]),
        held: of(&[GateState::Holds]),
    })
}

/// Where nothing was measured, or a CPU computed something wrong, by that code.
pub(super) fn unmeasured(line: &str, code: Option<&str>, why: &str) -> String {
    print(&NodeVerdict {
        schema: SCHEMA,
        verdict: if code.is_some() { "CRITICAL" } else { "UNKNOWN" },
        code,
        line: line.to_owned(),
        reason: why,
        simulated: None,
        seconds: None,
        failed: Vec::new(),
        warned: Vec::new(),
        not_judged: Vec::new(),
        held: Vec::new(),
    })
}

fn print(verdict: &NodeVerdict<'_>) -> String {
    // Only a number that is not finite could be refused, and records hold none.
    serde_json::to_string(verdict).unwrap_or_else(|_| format!("{{\"schema\":\"{SCHEMA}\"}}"))
}
