//! Counters of the cores: what they have is counted by its usual name and by its own, what they lack is said to be
//! lacking and never 0.

use serde_json::Value;

use super::{Judge, fact, told};
use crate::machine::Arch;

/// Steps of a loop of a million take no fewer cycles.
const LOOP: u64 = 1_000_000;

pub(crate) fn judge(judge: &mut Judge<'_>) {
    let machine = judge.machine;
    let counts_cycles = machine.counts("cycles");
    let record = judge.record("pmu-doctor-json");
    let said = fact(&record, "pmu");
    let (expected, right) = if counts_cycles {
        ("it is there", !said.starts_with("unavailable"))
    } else {
        ("it is not there", said.starts_with("unavailable"))
    };
    judge.holds("pmu-doctor-json", "PMU", expected, said, right);
    let own = machine.arch == Arch::Arm;
    // Any program takes more than a thousand of each.
    let mut files = vec![("stat-record", 1000, vec!["cycles", "instructions"])];
    files.push(("loop-record", LOOP, vec!["cycles", "instructions"]));
    if own {
        files.push(("own-record", 1000, vec!["cpu_cycles"]));
    }
    for (note, least, events) in files {
        let record = judge.noted_record(note);
        for event in events {
            counted(judge, note, &record, event, least);
        }
    }
    for label in ["pmu-stat", "pmu-stat-comma"] {
        judge.ends(label, if counts_cycles { &[0] } else { &[0, 3] });
        judge.never_says(label, "cannot find event");
    }
    if own {
        judge.ends("pmu-stat-own", if counts_cycles { &[0] } else { &[0, 3] });
    } else {
        // An event of another architecture is refused by its name.
        judge.ends("pmu-stat-own", &[2, 3]);
    }
    judge.ends("pmu-list", &[0]);
    // QEMU counts some events as 0, which the product rightly refuses.
    judge.ends("pmu-selftest", if counts_cycles { &[0, 1] } else { &[0, 3] });
    judge.ends("pmu-save", if counts_cycles { &[0] } else { &[0, 3] });
    // What was not counted holds no promise.
    judge.ends("pmu-check", if counts_cycles { &[0, 1] } else { &[2, 3] });
    if counts_cycles {
        for label in ["pmu-stat", "pmu-loop", "pmu-selftest", "pmu-loop-own"] {
            judge.never_says(label, "the kernel found no PMU");
        }
        judge.ends("pmu-loop-own", &[0]);
    }
    if own {
        judge.never_says("pmu-loop", "CPUID");
    }
    if judge.replies.notes.contains_key("user-access") {
        user_access(judge);
    }
}

/// That a thread may read a counter itself is for a value to say, not for the file.
fn user_access(judge: &mut Judge<'_>) {
    judge.equal(
        "kernel",
        "perf_user_access",
        &"1".to_owned(),
        &judge.note("user-access").to_owned(),
    );
    let record = judge.record("pmu-closed-doctor-json");
    let said = fact(&record, "rdpmc");
    let right = said.starts_with("unavailable") && said.contains("perf_user_access");
    judge.holds(
        "pmu-closed-doctor-json",
        "rdpmc",
        "not there, until perf_user_access is 1",
        said,
        right,
    );
    if judge.machine.counts("cycles") {
        let record = judge.record("pmu-open-doctor-json");
        let said = fact(&record, "rdpmc");
        let right = !said.starts_with("unavailable");
        judge.holds("pmu-open-doctor-json", "rdpmc", "it is there", said, right);
        judge.ends("pmu-open-loop", &[0]);
    }
}

/// An event that the PMU has is counted; another one is named with a reason.
fn counted(judge: &mut Judge<'_>, label: &str, record: &Value, event: &str, least: u64) {
    if record.is_null() {
        return;
    }
    let kind = if event == "cpu_cycles" { "cycles" } else { event };
    let tables = record["counts"]["tables"].as_array().into_iter().flatten();
    let mut events = tables.filter_map(|table| table["events"].as_array()).flatten();
    let count = events.find(|row| row["event"] == event).map(|row| &row["count"]);
    let absent = record["counts"]["absent"].as_array().into_iter().flatten();
    let is_absent = absent.into_iter().any(|row| row["what"] == event);
    let number = count.and_then(Value::as_u64);
    let said = match count {
        Some(count) => told(count),
        None if is_absent => "absent".to_owned(),
        None => "nothing".to_owned(),
    };
    let (expected, right) = if judge.machine.counts(kind) {
        (format!("at least {least}"), number.is_some_and(|number| number >= least))
    } else {
        ("a reason why not".to_owned(), said.starts_with("unavailable") || is_absent)
    };
    judge.holds(label, event, expected, said, right);
}
