//! `cpudyno turbo`: what it says of others that use the machine, and that `show` prints the same.
#![expect(clippy::print_stderr, reason = "a test that cannot be run here says why")]

use std::process::{Child, Command, Stdio};

use crate::common::{cpudyno, finish};
use crate::record::checked;
use model::CpuId;
use model::record::{FactValue, Outcome, Record};

/// A program that does nothing, all the time, on one CPU.
struct Spinning(Child);

impl Spinning {
    fn on(cpu: CpuId) -> Spinning {
        let mut spin = Command::new("taskset");
        spin.args(["-c", &cpu.to_string(), "yes"]).stdout(Stdio::null());
        Spinning(spin.spawn().unwrap())
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// What the run says of other work on the CPUs that it did not use itself.
fn others(record: &Record) -> &str {
    let fact = record.conditions.after.iter().find(|fact| fact.id == "busy.cpus").unwrap();
    match fact.value.value() {
        Some(FactValue::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_neighbour_that_spins_is_named() {
    /// Others may use more of that CPU in the moment in which its processes are looked at.
    const TRIES: usize = 20;
    let usable = sys::affinity::current().unwrap();
    let &[first, second, ..] = usable.as_slice() else {
        assert_eq!(usable.len(), 1);
        return eprintln!(
            "skipped: a neighbour needs a second CPU, and there is CPU {usable} alone"
        );
    };
    if Command::new("taskset").arg("--version").output().is_err() {
        return eprintln!("skipped: there is no `taskset` (util-linux)");
    }
    let _spinning = Spinning::on(second);
    let cpu = first.to_string();
    let args = ["turbo", "--test", "scalar_iadd", "--cpus", &cpu, "--json", "-"];
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let record = checked(&finish(cpudyno(&args)).success());
        let others = others(&record);
        let found = record.findings.iter().find(|finding| finding.id == "run.busy-neighbour");
        // The CPU is busy in every run, by whomever.
        assert!(others.contains(&format!("CPU {second} (")), "{others}");
        let found = found.expect("other work is a finding");
        assert!(found.text.starts_with(others) && found.remedy.is_some(), "{found:?}");
        if others.contains("by `yes`") {
            return;
        }
        seen.push(others.to_owned());
    }
    panic!("the process was not named: {seen:?}");
}

#[test]
fn nobody_else_works_on_a_simulated_machine() {
    let args = ["turbo", "--machine", "sim:2s-56c", "--test", "scalar_iadd", "--max-threads", "1"];
    let record = checked(&finish(cpudyno(&[&args[..], &["--json", "-"]].concat())).success());
    assert_eq!(others(&record), "none");
}

/// What `turbo` prints of a simulated machine.
fn page(args: &[&str]) -> String {
    finish(cpudyno(&[&["turbo", "--width", "100"], args].concat())).success()
}

/// What `turbo` prints of a simulated machine with one stream.
fn of_one_stream(machine: &str, more: &[&str]) -> String {
    let args = ["turbo", "--machine", machine, "--test", "scalar_iadd"];
    finish(cpudyno(&[&args[..], more].concat())).success()
}

/// The columns of all tables.
fn columns(page: &str) -> Vec<&str> {
    let headers = page.lines().filter(|line| line.starts_with("Cores |"));
    headers.flat_map(|header| header.split('|').map(str::trim)).collect()
}

#[test]
fn columns_that_do_not_fit_stand_in_a_table_below() {
    const NEEDED: [&str; 4] = ["Mops", "A/M-MHz", "Cycles/op", "MHz (chain)"];
    const ASKED: [&str; 5] = ["OVRLP", "A/M-ratio", "M/tsc-ratio", "Avg-MHz", "chain - A/M"];
    for machine in ["sim:2s-56c", "sim:laptop"] {
        for width in ["80", "100", "140"] {
            let brief = of_one_stream(machine, &["--width", width]);
            let shown = columns(&brief);
            assert!(NEEDED.iter().all(|name| shown.contains(name)), "{machine} {width}: {brief}");
            let left_out = ASKED.iter().any(|name| !shown.contains(name));
            assert!(!left_out || brief.contains("no room for "), "{brief}");
            let verbose = of_one_stream(machine, &["--width", width, "-v"]);
            let shown = columns(&verbose);
            let all = NEEDED.iter().chain(&ASKED).all(|name| shown.contains(name));
            assert!(all, "{machine} {width}: {verbose}");
        }
    }
}

#[test]
fn a_forced_calibration_says_its_rate_and_what_others_say() {
    let said = |more: &[&str]| {
        let more = [&["--max-threads", "1", "--width", "300"], more].concat();
        let text = of_one_stream("sim:2s-28c", &more);
        text.lines().find(|line| line.contains("Stamp clock")).expect(&text).to_owned()
    };
    let forced = said(&["--force-tsc-calibrate"]);
    for part in [
        "2000.004 MHz (CLOCK_MONOTONIC_RAW, simulated); other sources: CPUID 15h 2000.000 MHz (-2.0 ppm)",
        "kernel's conversion 2000.000 MHz (-2.0 ppm)",
        "NTP discipline (adjtimex) 2000.018 MHz (+7.0 ppm)",
    ] {
        assert!(forced.contains(part), "{part}: {forced}");
    }
    assert!(!said(&[]).contains("other sources"));
}

#[test]
fn why_a_laptop_is_not_faster() {
    insta::assert_snapshot!("why-100", page(&["--why", "--machine", "sim:laptop"]));
}

#[test]
fn how_long_the_clock_of_a_laptop_lasts() {
    insta::assert_snapshot!("sustain-100", page(&["--sustain", "20s", "--machine", "sim:laptop"]));
}

#[test]
fn what_neighbours_on_a_server_cost() {
    let args = ["--neighbours", "--machine", "sim:2s-56c", "--cpus", "0-3,112"];
    insta::assert_snapshot!("neighbours-100", page(&args));
}

#[test]
fn transitions_of_a_server() {
    let args = ["--trace", "avx512_fma_t", "--machine", "sim:2s-56c", "--num-cpus", "2"];
    insta::assert_snapshot!("trace-100", page(&args));
}

#[test]
fn show_prints_what_turbo_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    for machine in ["sim:1c", "sim:vm-2c", "sim:2s-56c"] {
        for width in ["60", "100", "200"] {
            for more in [&[][..], &["-v"]] {
                let args = ["turbo", "--machine", machine, "--num-cpus", "1", "--width", width];
                let live = cpudyno(&[&args[..], &["--json", file], more].concat());
                let live = finish(live).success();
                assert!(live.contains("Cores | ID "), "{live}");
                let shown = finish(cpudyno(&["show", file])).success();
                assert!(live == shown, "{machine} {width} {more:?}: `show` prints something else");
                let widest = live.lines().map(|line| line.chars().count()).max();
                assert!(widest <= width.parse().ok(), "{machine} {width}: {widest:?} columns");
            }
        }
    }
}

#[test]
fn the_answer_to_each_question_is_a_record_and_show_prints_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    let questions: [&[&str]; 4] =
        [&["--why"], &["--sustain", "5s"], &["--neighbours"], &["--trace", "avx256_fma_t"]];
    for question in questions {
        for machine in ["sim:laptop", "sim:vm-2c"] {
            let args = ["turbo", "--machine", machine, "--json", file];
            let live = finish(cpudyno(&[&args[..], question].concat())).success();
            checked(&std::fs::read_to_string(file).unwrap());
            let shown = finish(cpudyno(&["show", file])).success();
            assert!(live == shown, "{machine} {question:?}: `show` prints something else");
        }
    }
}

#[test]
fn a_plan_shows_each_type_of_core_by_itself() {
    let hybrid = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/machines/hybrid.capture");
    let args = ["turbo", "--dry-run", "--machine", hybrid, "--test", "scalar_iadd"];
    let plan = finish(cpudyno(&args)).success();
    assert!(plan.starts_with("Plan of clocks under instruction streams"), "{plan}");
    let cells = plan.lines().find(|line| line.starts_with("turbo  scalar_iadd")).unwrap();
    let types: Vec<&str> = cells["turbo  scalar_iadd".len()..].split(';').collect();
    assert!(types.len() >= 2, "{cells}");
    assert!(types[0].contains("1, 2, 3, 4"), "four fast cores: {cells}");
    assert!(types.iter().all(|cells| !cells.contains("times")), "types are mixed: {cells}");
}

#[test]
fn every_cell_without_a_number_has_its_reason_below_the_table() {
    let args = ["turbo", "--machine", "sim:vm-2c", "--width", "200"];
    let text = finish(cpudyno(&args)).success();
    let record = checked(&finish(cpudyno(&[&args[..], &["--json", "-"]].concat())).success());
    let mut reasons: Vec<&str> = Vec::new();
    for series in record.series.iter().filter(|series| series.area == "turbo") {
        if let Outcome::Unavailable { unavailable } = &series.outcome {
            reasons.push(&unavailable.why);
        }
    }
    reasons.sort_unstable();
    reasons.dedup();
    assert!(!reasons.is_empty());
    // Lines are broken between words.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = words(&text);
    for reason in reasons {
        assert!(page.contains(&words(reason)), "`{reason}` is not in:\n{text}");
    }
}
