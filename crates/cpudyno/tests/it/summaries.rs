//! Summaries of records follow from their samples (invariant I4). A record is read as plain JSON, and each summary is
//! computed again by code of its own: what other programs read does not rest on one reading of the method.

mod again;

use std::fs;
use std::path::Path;

use again::{Numbers, items};
use serde_json::Value;

use crate::common::{cpudyno, finish};

/// The record of a data sheet.
fn sheet(args: &[&str]) -> Value {
    let run = finish(cpudyno(&[&["sheet", "--json", "-"], args].concat()));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn simulated(machine: &str, budget: &str) -> Value {
    sheet(&["--machine", machine, "--budget", budget])
}

/// What of a series does not follow from its samples, each with the name of the number.
fn series_failures(series: &Value) -> Vec<String> {
    let summary = &series["summary"];
    let Some(numbers) = Numbers::of(&series["samples"]) else {
        let has_reason = series["unavailable"]["why"].is_string() && summary.is_null();
        return if has_reason { Vec::new() } else { vec!["unavailable".to_owned()] };
    };
    let interval = numbers.interval();
    let end = |at: usize| interval.map(|ends| ends[at]);
    let ends = &summary["between_blocks"];
    let expected = [
        ("count", &summary["count"], Some(numbers.samples.len() as f64)),
        ("blocks", &summary["blocks"], Some(numbers.block_medians.len() as f64)),
        ("min", &summary["min"], numbers.quantile(0.0)),
        ("p5", &summary["p5"], numbers.quantile(0.05)),
        ("median", &summary["median"], numbers.quantile(0.5)),
        ("p95", &summary["p95"], numbers.quantile(0.95)),
        ("max", &summary["max"], numbers.quantile(1.0)),
        ("between_blocks", &ends[0], end(0)),
        ("between_blocks", &ends[1], end(1)),
    ];
    let mut failures = Vec::new();
    for (name, stated, expected) in expected {
        let stated = stated.as_f64();
        // The last bit depends on how a sum is written.
        let near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-12 * a.abs().max(b.abs());
        let is_same =
            stated.is_none() && expected.is_none() || stated.zip(expected).is_some_and(near);
        if !is_same {
            failures.push(format!("{name} {stated:?}, the samples give {expected:?}"));
        }
    }
    if !is_fixed_cost_stated(series) {
        failures.push(format!("fixed_cost {}", series["fixed_cost"]));
    }
    failures
}

/// Whether a series states what was subtracted from its samples, to seven digits, if that was done. It cannot be
/// computed again: stamps are not kept.
fn is_fixed_cost_stated(series: &Value) -> bool {
    let is_net = ["cycles_per_op", "time_per_op"].iter().any(|id| series["quantity"] == *id);
    match series.get("fixed_cost").map(Value::as_f64) {
        None => !is_net,
        Some(cost) => is_net && cost.is_some_and(has_seven_digits),
    }
}

fn has_seven_digits(value: f64) -> bool {
    let text = format!("{value:e}");
    let digits = text.split('e').next().unwrap_or_default();
    digits.chars().filter(char::is_ascii_digit).count() <= 7
}

/// The same of a whole record.
fn failures(record: &Value) -> Vec<String> {
    let all = items(&record["series"]).iter();
    let of = |series: &Value| {
        let name = ["area", "workload", "quantity", "active", "cpu"].map(|key| &series[key]);
        let [area, workload, quantity, active, cpu] = name;
        let name = format!("{area} {workload} {quantity} on {active}, CPU {cpu}");
        series_failures(series).into_iter().map(move |it| format!("{name}: {it}"))
    };
    all.flat_map(of).collect()
}

#[track_caller]
fn assert_follows(record: &Value) {
    let measured = items(&record["series"]).iter().filter(|it| it.get("samples").is_some());
    assert!(measured.count() > 10, "hardly anything was measured");
    let failures = failures(record);
    assert!(failures.is_empty(), "{} summaries:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn summaries_of_a_large_server_follow_from_samples() {
    assert_follows(&simulated("sim:2s-56c", "10s"));
}

#[test]
fn summaries_of_a_server_with_everything_follow_from_samples() {
    assert_follows(&simulated("sim:2s-28c", "60s"));
}

#[test]
fn summaries_of_servers_with_speed_select_follow_from_samples() {
    for (name, budget) in [("guide", "2s"), ("guide", "5s"), ("granite", "5s"), ("sierra", "5s")] {
        assert_follows(&simulated(&format!("sim:{name}"), budget));
    }
}

#[test]
fn summaries_without_rights_or_on_one_core_follow_from_samples() {
    assert_follows(&simulated("sim:container", "30s"));
    assert_follows(&simulated("sim:epyc", "10s"));
    assert_follows(&simulated("sim:1c", "2s"));
}

#[test]
fn summaries_of_any_budget_follow_from_samples() {
    for machine in ["sim:4c", "sim:laptop", "sim:vm-2c"] {
        for budget in ["5s", "10s", "30s"] {
            assert_follows(&simulated(machine, budget));
        }
    }
}

#[test]
fn summaries_of_this_machine_follow_from_samples() {
    assert_follows(&sheet(&["--budget", "8s"]));
}

#[test]
fn summaries_of_a_run_with_earlier_records_follow_from_samples() {
    let folder = tempfile::tempdir().unwrap();
    let (earlier, state) = (folder.path().join("earlier"), folder.path().join("state"));
    fs::create_dir(&earlier).unwrap();
    let mut record = simulated("sim:4c", "10s");
    for run in 0..8 {
        record["run"]["id"] = Value::from(format!("run {run}"));
        fs::write(earlier.join(format!("{run}.json")), record.to_string()).unwrap();
    }
    let slowed = format!("sim:4c@{}", state.display());
    let mut set = cpudyno(&["set", "no_turbo=on", "--machine", &slowed]);
    set.env("CPUDYNO_STATE", folder.path().join("journal"));
    finish(set).success();
    for machine in ["sim:4c", &slowed] {
        let reference = ["--reference", earlier.to_str().unwrap()];
        let record = sheet(&[&["--machine", machine, "--budget", "15s"], &reference[..]].concat());
        assert!(record["reference"].is_object(), "{machine} has no earlier records");
        assert_follows(&record);
    }
}

/// Any record: `RECORD=r.json cargo test --test it summaries -- --ignored`.
#[test]
#[ignore = "needs RECORD: the file of a record"]
fn summaries_of_the_named_record_follow_from_samples() {
    let text = fs::read_to_string(Path::new(&std::env::var("RECORD").unwrap())).unwrap();
    assert_follows(&serde_json::from_str(&text).unwrap());
}

/// Makes samples larger, packed or not.
fn scale(samples: &mut Value, factor: f64) {
    match samples {
        Value::Array(items) => items.iter_mut().for_each(|it| scale(it, factor)),
        Value::Object(packed) => {
            let step = packed["step"].as_f64().unwrap();
            packed["step"] = Value::from(step * factor);
            scale_medians(&mut packed["block_medians"], factor);
        }
        number => *number = Value::from(number.as_f64().unwrap() * factor),
    }
}

fn scale_medians(medians: &mut Value, factor: f64) {
    for block in medians.as_array_mut().unwrap() {
        scale(&mut block[1], factor);
    }
}

/// A series of a quantity with numbers.
type Of = (&'static str, Option<&'static str>, &'static str);

/// One of each table, plain and packed.
const CHANGED: [(&str, &[Of]); 3] = [
    (
        "sim:4c",
        &[
            ("turbo", Some("avx128_iadd"), "clock"),
            ("turbo", Some("avx128_iadd"), "cycles_per_op"),
            ("turbo", None, "trace_folded_clock"),
            ("turbo", None, "trace_gap_rate"),
            ("turbo", None, "soak_clock"),
            ("memory", Some("copy"), "bandwidth"),
            ("memory", Some("chase"), "latency"),
            ("cores", None, "latency"),
            ("pause", None, "time_per_op"),
            ("wake", Some("futex"), "time_per_signal"),
            ("wake", Some("futex"), "round_trip"),
            ("pmu", None, "instructions_per_op"),
        ],
    ),
    (
        "sim:laptop",
        &[
            ("turbo", Some("scalar_iadd"), "clock"),
            ("turbo", None, "trace_low"),
            ("turbo", None, "tax_clock_alone"),
        ],
    ),
    ("sim:vm-2c", &[("openmp", None, "loop_time")]),
];

fn find(record: &mut Value, (area, workload, quantity): Of) -> &mut Value {
    let is_it = |it: &&mut Value| {
        let is_of_workload = workload.is_none_or(|workload| it["workload"] == workload);
        it["area"] == area
            && it["quantity"] == quantity
            && it.get("samples").is_some()
            && is_of_workload
    };
    let mut all = record["series"].as_array_mut().unwrap().iter_mut();
    all.find(is_it).unwrap_or_else(|| panic!("no series {area} {workload:?} {quantity}"))
}

#[test]
fn summary_of_changed_samples_is_noticed() {
    for (machine, changed) in CHANGED {
        let record = simulated(machine, "60s");
        assert_follows(&record);
        for of in changed {
            let mut record = record.clone();
            let series = find(&mut record, *of);
            let stated = series.clone();
            scale(&mut series["samples"], 1.07);
            let found = series_failures(series);
            for name in ["min", "p5", "median", "p95", "max"] {
                let is_noticed = found.iter().any(|it| it.starts_with(name));
                assert!(is_noticed, "{of:?}: {name} of {found:?}");
            }
            assert_eq!(failures(&record).len(), found.len(), "{of:?}: no other series changed");
            assert!(series_failures(&stated).is_empty());
        }
    }
}

#[test]
fn summary_of_changed_blocks_counts_or_fixed_cost_is_noticed() {
    let mut record = simulated("sim:4c", "120s");
    let series = find(&mut record, ("turbo", Some("scalar_iadd"), "cycles_per_op"));
    let noticed = |change: fn(&mut Value)| -> Vec<String> {
        let mut series = series.clone();
        change(&mut series);
        let names = series_failures(&series).into_iter();
        let names = names.map(|it| it.split(' ').next().unwrap_or_default().to_owned());
        // Each end of an interval is a failure of its own.
        model::in_order(names)
    };
    assert!(series["samples"].is_object(), "it is packed: samples and blocks are apart");
    let spread = |it: &mut Value| scale_medians(&mut it["samples"]["block_medians"], 1.07);
    assert_eq!(noticed(spread), ["between_blocks"]);
    let one_less = |it: &mut Value| {
        it["samples"]["block_medians"].as_array_mut().unwrap().pop();
    };
    assert!(noticed(one_less).contains(&"blocks".to_owned()));
    let one_more = |it: &mut Value| {
        let count = &mut it["samples"]["packed"][0][1];
        *count = Value::from(count.as_u64().unwrap() + 1);
    };
    assert!(noticed(one_more).contains(&"count".to_owned()));
    let without = |it: &mut Value| {
        it.as_object_mut().unwrap().remove("fixed_cost");
    };
    assert_eq!(noticed(without), ["fixed_cost"]);
    let digits = |it: &mut Value| it["fixed_cost"] = Value::from(1.234_567_89);
    assert_eq!(noticed(digits), ["fixed_cost"]);
    let unsaid = |it: &mut Value| {
        it.as_object_mut().unwrap().remove("samples");
    };
    assert_eq!(noticed(unsaid), ["unavailable"]);
}
