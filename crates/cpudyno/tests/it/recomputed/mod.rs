//! Every number of the data sheet, calculated again from the record by code of its own.
//!
//! A page is a pure function of a record. Here the record is read as plain JSON, what should stand on the page is
//! calculated without any code of the program, and each line and cell that holds a digit is compared as text, at
//! the precision at which it is printed. A block with numbers for which there is no rule fails by its name: a new
//! table needs one more [`check::Rule`] in the list of its area.

mod around;
mod check;
mod claims;
mod contradictions;
mod heat;
mod html;
mod known;
mod levels;
mod memory;
mod neighbours;
mod openmp;
mod page;
mod promise;
mod record;
mod reference;
mod sst;
mod stats;
mod trace;
mod turbo;
mod waiting;
mod why;

use std::fs;
use std::path::PathBuf;

use crate::common::{cpudyno, finish};
use check::{Failure, Rule};
use page::Page;
use record::Record;
use serde_json::Value;

/// All rules, area by area.
fn rules() -> Vec<&'static [Rule]> {
    vec![
        turbo::RULES,
        promise::RULES,
        why::RULES,
        trace::RULES,
        neighbours::RULES,
        heat::RULES,
        memory::RULES,
        waiting::RULES,
        known::RULES,
        reference::RULES,
        openmp::RULES,
        sst::RULES,
        claims::RULES,
        around::RULES,
    ]
}

/// A record with its pages.
struct Run {
    json: Value,
    markdown: String,
    html: String,
    terminal: String,
}

impl Run {
    /// A data sheet of a machine.
    fn of(name: &str, args: &[&str]) -> Run {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recomputed");
        fs::create_dir_all(&folder).unwrap();
        let [json, html] = ["json", "html"].map(|kind| folder.join(format!("{name}.{kind}")));
        let [json_file, html_file] = [&json, &html].map(|file| file.to_str().unwrap());
        let run = finish(cpudyno(&[&["sheet", "--json", json_file], args].concat()));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        Run::shown(json_file, html_file)
    }

    /// The pages of a record that is there.
    fn shown(json: &str, html: &str) -> Run {
        let show = |args: &[&str]| finish(cpudyno(&[&["show", json], args].concat())).success();
        let text = fs::read_to_string(json).unwrap();
        let record = model::record::read(&text).unwrap();
        // As a ticket has it that wants everything, without each fact and instrument.
        let markdown = views::markdown::render(&report::sheet::page(&record, 0));
        let terminal = show(&["--width", "400"]);
        show(&["--html", html]);
        Run {
            json: serde_json::from_str(&text).unwrap(),
            markdown,
            html: fs::read_to_string(html).unwrap(),
            terminal,
        }
    }

    fn page(&self) -> Page {
        page::parse(&self.markdown)
    }

    /// What of the page does not follow from a record.
    fn failures(&self, record: &Record) -> Vec<Failure> {
        let (page, rules) = (self.page(), flat());
        let mut failures = check::page(&page, record, &rules);
        failures.extend(why::recalculated(record));
        failures.extend(around::facts_again(record));
        failures.extend(around::findings_again(record));
        failures.extend(html::check(&self.html, &page, record, &rules));
        failures.extend(html::terminal(&self.terminal, &page, &rules));
        failures.extend(summaries(record));
        failures
    }
}

/// All rules as one list.
fn flat() -> Vec<&'static Rule> {
    rules().into_iter().flatten().collect()
}

/// The summaries that a record holds, which other programs read.
fn summaries(record: &Record) -> Vec<Failure> {
    let mut failures = Vec::new();
    for series in record.series.iter().filter(|it| it.has()) {
        let q = |q| series.q(q);
        let interval = series.interval();
        let numbers = [
            ("min", q(0.0)),
            ("p5", q(0.05)),
            ("median", q(0.5)),
            ("p95", q(0.95)),
            ("max", q(1.0)),
        ];
        let ends = [0, 1].map(|at| ("between_blocks", interval.map(|ends| ends[at])));
        let said = |name: &str, at: usize| match &series.summary[name] {
            Value::Array(ends) => ends[at].as_f64(),
            number => number.as_f64(),
        };
        let all = numbers.map(|it| (it, 0)).into_iter().chain([(ends[0], 0), (ends[1], 1)]);
        for ((name, wanted), at) in all {
            let said = said(name, at);
            // The last bit depends on how a sum is written.
            let near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-12 * a.abs().max(b.abs());
            let is_same = said.is_none() && wanted.is_none() || said.zip(wanted).is_some_and(near);
            if !is_same {
                let of = format!(
                    "{} {} {} of CPU {}",
                    series.area, series.workload, series.quantity, series.cpu
                );
                failures.push(Failure::new(
                    "summaries",
                    format!("{of}: {name} {said:?}, the samples give {wanted:?}"),
                ));
            }
        }
    }
    failures
}

/// Makes the samples of a series larger, packed or not.
fn scale(samples: &mut Value, factor: f64) {
    match samples {
        Value::Array(items) => items.iter_mut().for_each(|it| scale(it, factor)),
        Value::Object(packed) => {
            let step = packed["step"].as_f64().unwrap();
            packed["step"] = Value::from(step * factor);
            for block in packed["block_medians"].as_array_mut().unwrap() {
                block[1] = Value::from(block[1].as_f64().unwrap() * factor);
            }
        }
        number => *number = Value::from(number.as_f64().unwrap() * factor),
    }
}

/// A change of a record, and the area that must notice it.
struct Change {
    machine: &'static str,
    notices: &'static str,
    /// Area, workload (or none) and quantity of the series whose samples grow by 7 %.
    of: Of,
}

type Of = (&'static str, Option<&'static str>, &'static str);

const fn change(machine: &'static str, notices: &'static str, of: Of) -> Change {
    Change { machine, notices, of }
}

const DESKTOP: &str = "sim:4c";
/// It has runtimes of OpenMP.
const GUEST: &str = "sim:vm-2c";
/// It has licences, and limits of power.
const LAPTOP: &str = "sim:laptop";

/// One series of each table.
const CHANGES: [Change; 18] = [
    change(DESKTOP, "turbo: clock", ("turbo", Some("avx128_iadd"), "clock")),
    change(DESKTOP, "turbo: cycles per op", ("turbo", Some("avx128_iadd"), "cycles_per_op")),
    change(LAPTOP, "turbo: why not faster", ("turbo", Some("scalar_iadd"), "clock")),
    change(DESKTOP, "turbo: transitions", ("turbo", None, "trace_folded_clock")),
    change(DESKTOP, "turbo: transitions", ("turbo", None, "trace_gap_rate")),
    change(LAPTOP, "turbo: transitions", ("turbo", None, "trace_low")),
    change(LAPTOP, "turbo: neighbours", ("turbo", None, "tax_clock_alone")),
    change(DESKTOP, "turbo: heat", ("turbo", None, "soak_clock")),
    change(DESKTOP, "memory", ("memory", Some("copy"), "bandwidth")),
    change(DESKTOP, "memory", ("memory", Some("chase"), "latency")),
    change(DESKTOP, "cores", ("cores", None, "latency")),
    change(DESKTOP, "pause", ("pause", None, "time_per_op")),
    change(DESKTOP, "wake", ("wake", Some("futex"), "time_per_signal")),
    change(DESKTOP, "wake", ("wake", Some("futex"), "round_trip")),
    change(DESKTOP, "wait", ("wake", Some("futex"), "round_trip")),
    change(DESKTOP, "pmu", ("pmu", None, "instructions_per_op")),
    change(GUEST, "openmp", ("openmp", None, "loop_time")),
    change(DESKTOP, "box", ("turbo", Some("scalar_iadd"), "cycles_per_op")),
];

#[track_caller]
fn assert_follows(run: &Run) {
    let record = Record::of(run.json.clone());
    let failures = run.failures(&record);
    let lines: Vec<String> =
        failures.iter().map(|it| format!("[{}] {}", it.area, it.text)).collect();
    assert!(
        lines.is_empty(),
        "{} numbers do not follow from the record:\n{}",
        lines.len(),
        lines.join("\n")
    );
}

#[test]
fn simulated_servers_page_follows_from_its_record() {
    assert_follows(&Run::of("2s-56c", &["--machine", "sim:2s-56c", "--budget", "10s"]));
}

#[test]
fn a_server_with_everything_has_a_page_that_follows_from_its_record() {
    assert_follows(&Run::of("2s-28c", &["--machine", "sim:2s-28c", "--budget", "60s"]));
}

#[test]
fn a_container_without_rights_has_a_page_that_follows_from_its_record() {
    assert_follows(&Run::of("container", &["--machine", "sim:container", "--budget", "30s"]));
}

#[test]
fn simulated_desktops_page_follows_from_its_record() {
    assert_follows(&Run::of("4c", &["--machine", "sim:4c", "--budget", "10s"]));
    assert_follows(&Run::of("4c-long", &["--machine", "sim:4c", "--budget", "60s"]));
}

#[test]
fn simulated_laptops_page_follows_from_its_record() {
    assert_follows(&Run::of("laptop", &["--machine", "sim:laptop", "--budget", "10s"]));
    assert_follows(&Run::of("epyc", &["--machine", "sim:epyc", "--budget", "10s"]));
}

#[test]
fn simulated_guests_page_follows_from_its_record() {
    assert_follows(&Run::of("vm-2c", &["--machine", "sim:vm-2c", "--budget", "10s"]));
    assert_follows(&Run::of("vm-2c-long", &["--machine", "sim:vm-2c", "--budget", "60s"]));
}

#[test]
fn speed_select_pages_follow_from_their_records() {
    for name in ["guide", "granite", "sierra"] {
        let machine = format!("sim:{name}");
        assert_follows(&Run::of(name, &["--machine", &machine, "--budget", "5s"]));
    }
}

#[test]
fn a_page_beside_earlier_records_follows_from_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let (earlier, state) = (folder.path().join("earlier"), folder.path().join("state"));
    fs::create_dir(&earlier).unwrap();
    let mut record = Run::of("earlier", &["--machine", "sim:4c", "--budget", "10s"]).json;
    for run in 0..8 {
        record["run"]["id"] = Value::from(format!("run {run}"));
        fs::write(earlier.join(format!("{run}.json")), record.to_string()).unwrap();
    }
    fs::write(earlier.join("other.json"), "{}").unwrap();
    let slowed = format!("sim:4c@{}", state.display());
    let mut set = cpudyno(&["set", "no_turbo=on", "--machine", &slowed]);
    set.env("CPUDYNO_STATE", folder.path().join("journal"));
    finish(set).success();
    for (name, machine) in [("usual", "sim:4c"), ("slower", &slowed)] {
        let reference = ["--reference", earlier.to_str().unwrap()];
        let args = [&["--machine", machine, "--budget", "15s"], &reference[..]].concat();
        let run = Run::of(name, &args);
        assert!(run.markdown.contains("among earlier records of machines like this one"));
        assert_follows(&run);
    }
}

/// Makes the samples of one series larger, and expects a failure of that area.
#[track_caller]
fn assert_notices(run: &Run, notices: &str, (area, workload, quantity): Of) {
    let mut json = run.json.clone();
    let is_it = |it: &&mut Value| {
        let of_workload = workload.is_none_or(|workload| it["workload"] == workload);
        it["area"] == area
            && it["quantity"] == quantity
            && it.get("samples").is_some()
            && of_workload
            // Advice is about other CPUs than one's own.
            && (notices != "wait" || it["active"] != "0")
    };
    let series = json["series"].as_array_mut().unwrap().iter_mut().find(is_it);
    let series = series.unwrap_or_else(|| panic!("no series {area} {workload:?} {quantity}"));
    let samples = &mut series["samples"];
    if notices == "box" {
        // The spread between blocks, and not the numbers: one half of the blocks.
        let packed = samples.is_object();
        let blocks = if packed { &mut samples["block_medians"] } else { samples };
        for block in blocks.as_array_mut().unwrap().iter_mut().step_by(2) {
            scale(if packed { &mut block[1] } else { block }, 1.07);
        }
    } else {
        scale(samples, 1.07);
    }
    let failures = run.failures(&Record::of(json));
    let noticed = failures.iter().any(|it| it.area == notices);
    assert!(noticed, "{notices} does not notice {quantity}: {failures:?}");
}

/// Where a series changes and the page does not, its area says so.
#[test]
fn a_changed_series_is_noticed() {
    let run = |name: &str, machine| {
        Run::of(&format!("changed-{name}"), &["--machine", machine, "--budget", "60s"])
    };
    let runs = [DESKTOP, GUEST, LAPTOP].map(|machine| (machine, run(&machine[4..], machine)));
    for Change { machine, notices, of } in CHANGES {
        let (_, run) = runs.iter().find(|run| run.0 == machine).unwrap();
        assert_notices(run, notices, of);
    }
}

/// What is copied from the record, and no series: a changed fact is noticed, too.
#[test]
fn a_changed_fact_is_noticed() {
    let run = Run::of("changed-facts", &["--machine", "sim:guide", "--budget", "2s"]);
    let changes: [(&str, &str, Value); 6] = [
        ("sst", "/speed_select/domains/0/profiles/current", 3.into()),
        ("instruments", "/instruments/0/resolution", 2e-8.into()),
        ("instruments", "/instruments/0/rate/hertz", 2.001e9.into()),
        ("box", "/run/seconds", 99.0.into()),
        ("turbo: why not faster", "/machine/turbo_limits/0/steps/0/hertz", 3.3e9.into()),
        ("turbo: why not faster", "/clock/accounts/0/clock", 3.3e9.into()),
    ];
    for (notices, place, value) in changes {
        let mut json = run.json.clone();
        *json.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
        let failures = run.failures(&Record::of(json));
        let noticed = failures.iter().any(|it| it.area == notices);
        assert!(noticed, "{notices} does not notice {place}: {failures:?}");
    }
}

/// Simulated cores are none that others measured: the record of one that says it is.
#[test]
fn a_known_core_is_held_against_what_others_found() {
    let mut record = Run::of("known", &["--machine", "sim:4c", "--budget", "60s"]).json;
    let facts = record["machine"]["facts"].as_array_mut().unwrap();
    let core = facts.iter_mut().find(|fact| fact["id"] == "cpu.microarchitecture").unwrap();
    core["value"] = "Zen 4".into();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recomputed");
    let [json, html] = ["json", "html"].map(|kind| folder.join(format!("known-core.{kind}")));
    fs::write(&json, record.to_string()).unwrap();
    let run = Run::shown(json.to_str().unwrap(), html.to_str().unwrap());
    assert!(run.markdown.contains("| latency of L2 |"), "{}", run.markdown);
    assert_follows(&run);
}

/// A block with numbers that nobody thought of is a failure by its name.
#[test]
fn a_block_without_a_rule_is_noticed() {
    let mut run = Run::of("without", &["--machine", "sim:1c", "--budget", "2s"]);
    run.markdown.push_str("\n### New\n\n*a new table*\n\n| what | how many |\n| --- | ---: |\n| it | 5 |\n\nabout 7 more\n");
    let record = Record::of(run.json.clone());
    let failures = check::page(&run.page(), &record, &flat());
    let named =
        |what: &str| failures.iter().any(|it| it.area == check::WITHOUT && it.text.contains(what));
    assert!(named("a new table") && named("about 7 more"), "{failures:?}");
}

/// Numbers that follow from the record, and yet cannot be: by each other.
#[test]
fn no_page_contradicts_itself() {
    let mut found = Vec::new();
    for machine in ["sim:4c", "sim:laptop", "sim:vm-2c"] {
        for budget in ["5s", "10s", "30s"] {
            let name = format!("sane-{}-{budget}", &machine[4..]);
            let run = Run::of(&name, &["--machine", machine, "--budget", budget]);
            let record = Record::of(run.json.clone());
            let of = contradictions::of(&record).into_iter();
            found.extend(of.map(|it| format!("{machine}, {budget}: {it}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The pages of any record: `RECORD=r.json cargo test --test it recomputed -- --ignored`.
#[test]
#[ignore = "needs RECORD: the file of a data sheet's record"]
fn the_named_records_page_follows_from_it() {
    let file = std::env::var("RECORD").unwrap();
    let html = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("named.html");
    assert_follows(&Run::shown(&file, html.to_str().unwrap()));
}

#[test]
fn this_machines_page_follows_from_its_record() {
    let run = Run::of("here", &["--budget", "8s"]);
    assert_follows(&run);
    // No simulated machine has it.
    assert_notices(&run, "top", ("top", None, "busy_share"));
}
