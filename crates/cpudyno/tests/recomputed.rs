//! Every number of the data sheet, calculated again from the record by code of its own.
//!
//! A page is a pure function of a record. Here the record is read as plain JSON, what should stand on the page is
//! calculated without any code of the program, and each line and cell that holds a digit is compared as text, at
//! the precision at which it is printed. A block with numbers for which there is no rule fails by its name: a new
//! table needs one more [`check::Rule`] in the list of its area.

mod common;

#[path = "recomputed/around.rs"]
mod around;
#[path = "recomputed/check.rs"]
mod check;
#[path = "recomputed/heat.rs"]
mod heat;
#[path = "recomputed/html.rs"]
mod html;
#[path = "recomputed/known.rs"]
mod known;
#[path = "recomputed/memory.rs"]
mod memory;
#[path = "recomputed/neighbours.rs"]
mod neighbours;
#[path = "recomputed/openmp.rs"]
mod openmp;
#[path = "recomputed/page.rs"]
mod page;
#[path = "recomputed/record.rs"]
mod record;
#[path = "recomputed/sst.rs"]
mod sst;
#[path = "recomputed/stats.rs"]
mod stats;
#[path = "recomputed/trace.rs"]
mod trace;
#[path = "recomputed/turbo.rs"]
mod turbo;
#[path = "recomputed/waiting.rs"]
mod waiting;
#[path = "recomputed/why.rs"]
mod why;

use std::fs;
use std::path::PathBuf;

use check::{Failure, Rule};
use common::{cpudyno, finish};
use page::Page;
use record::Record;
use serde_json::Value;

/// All rules, area by area.
fn rules() -> Vec<&'static [Rule]> {
    vec![
        turbo::RULES,
        why::RULES,
        trace::RULES,
        neighbours::RULES,
        heat::RULES,
        memory::RULES,
        waiting::RULES,
        known::RULES,
        openmp::RULES,
        sst::RULES,
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
        let show = |args: &[&str]| {
            let run = finish(cpudyno(&[&["show", json], args].concat()));
            assert_eq!(run.code, Some(0), "{}", run.stderr);
            run.stdout
        };
        let markdown = show(&["--format", "markdown"]);
        let terminal = show(&["--width", "400"]);
        show(&["--html", html]);
        Run {
            json: serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap(),
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
        let numbers = [("min", q(0.0)), ("p5", q(0.05)), ("median", q(0.5)), ("p95", q(0.95)), ("max", q(1.0))];
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
                let of = format!("{} {} {} of CPU {}", series.area, series.workload, series.quantity, series.cpu);
                failures.push(Failure::new("summaries", format!("{of}: {name} {said:?}, the samples give {wanted:?}")));
            }
        }
    }
    failures
}

#[track_caller]
fn assert_follows(run: &Run) {
    let record = Record::of(run.json.clone());
    let failures = run.failures(&record);
    let lines: Vec<String> = failures.iter().map(|it| format!("[{}] {}", it.area, it.text)).collect();
    assert!(lines.is_empty(), "{} numbers do not follow from the record:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn simulated_servers_page_follows_from_its_record() {
    assert_follows(&Run::of("2s-56c", &["--machine", "sim:2s-56c", "--budget", "10s"]));
}

#[test]
fn simulated_desktops_page_follows_from_its_record() {
    assert_follows(&Run::of("4c", &["--machine", "sim:4c", "--budget", "10s"]));
    assert_follows(&Run::of("4c-long", &["--machine", "sim:4c", "--budget", "60s"]));
}

#[test]
fn simulated_laptops_page_follows_from_its_record() {
    assert_follows(&Run::of("laptop", &["--machine", "sim:laptop", "--budget", "10s"]));
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
fn this_machines_page_follows_from_its_record() {
    assert_follows(&Run::of("here", &["--budget", "8s"]));
}
