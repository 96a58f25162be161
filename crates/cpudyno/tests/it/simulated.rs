//! Whole runs on simulated machines: the same bytes every time, and what was put into a machine
//! comes out as numbers and findings.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;

use crate::common::{cpudyno, finish};
use crate::record::checked;
use model::record::{Outcome, Record};

const MACHINES: [&str; 3] = ["sim:1c", "sim:vm-2c", "sim:2s-56c"];

/// The sheet of a simulated machine; `more` are further arguments.
fn sheet(machine: &str, more: &[&str]) -> String {
    finish(cpudyno(&[&["sheet", "--machine", machine, "--all"], more].concat())).success()
}

fn record(machine: &str) -> Record {
    checked(&sheet(machine, &["--budget", "10s", "--json", "-"]))
}

#[test]
fn the_sheet_of_a_large_server() {
    insta::assert_snapshot!("2s-56c", sheet("sim:2s-56c", &["--budget", "10s"]));
}

#[test]
fn the_sheet_of_a_guest_that_misleads() {
    insta::assert_snapshot!("vm-2c", sheet("sim:vm-2c", &["--budget", "10s", "--width", "80"]));
}

#[test]
fn the_sheet_of_one_core_for_a_ticket() {
    let more = ["--budget", "5s", "--format", "markdown", "--verbose"];
    insta::assert_snapshot!("1c-markdown", sheet("sim:1c", &more));
}

/// Transitions, heat and neighbours are parts of the sheet, measured in short; each without its number has a
/// reason.
#[test]
fn the_sheet_asks_the_questions_of_turbo_in_short() {
    let args = ["--budget", "30s"];
    let record = checked(&sheet("sim:laptop", &[&args[..], &["--json", "-"]].concat()));
    for workload in ["trace", "sustain", "victim scalar", "victim bandwidth"] {
        let mut of = record.series.iter().filter(|series| series.workload == workload);
        assert!(of.any(|series| series.summary().is_some()), "{workload} was not measured");
    }
    // What is planned fits, with what is gone through once; how long it then takes nobody promises.
    let plan = ["sheet", "--machine", "sim:laptop", "--budget", "30s", "--dry-run"];
    let plan = finish(cpudyno(&plan));
    let plan = plan.success();
    let time = plan.lines().find(|line| line.contains("about ")).unwrap();
    let (_, about) = time.split_once("about ").unwrap();
    let seconds: f64 = about.split_whitespace().next().unwrap().parse().unwrap();
    assert!((20.0..=30.0).contains(&seconds), "{time}");
    let page = sheet("sim:laptop", &args);
    for heading in ["Transitions", "Neighbours", "Heat", "Why not faster?"] {
        assert!(page.lines().any(|line| line.contains(heading)), "no {heading}: {page}");
    }
    let alone = checked(&sheet("sim:1c", &["--budget", "2s", "--json", "-"]));
    let of = |workload: &str| -> Vec<&Outcome> {
        let of = alone.series.iter().filter(|series| series.workload == workload);
        of.map(|series| &series.outcome).collect()
    };
    for workload in ["trace", "sustain", "victim scalar"] {
        assert!(!of(workload).is_empty(), "{workload} has neither numbers nor a reason");
    }
    let is_absent = |outcome: &&Outcome| matches!(outcome, Outcome::Unavailable { .. });
    assert!(of("victim scalar").iter().all(is_absent), "one core has no neighbour");
}

#[test]
fn two_runs_are_the_same_to_the_byte() {
    for machine in MACHINES {
        let folder = tempfile::tempdir().unwrap();
        let run = |name: &str| {
            let file = folder.path().join(name);
            let text = sheet(machine, &["--budget", "3s", "--json", file.to_str().unwrap()]);
            (text, fs::read_to_string(file).unwrap())
        };
        let (first, second) = (run("first.json"), run("second.json"));
        assert!(first == second, "{machine}: two runs differ");
    }
}

#[test]
fn records_keep_their_schema_and_say_simulated() {
    for machine in MACHINES {
        let simulated = record(machine).run.simulated;
        assert_eq!(simulated.as_deref(), machine.strip_prefix("sim:"));
    }
}

#[test]
fn everything_that_is_printed_says_simulated() {
    for machine in MACHINES {
        for format in ["text", "json", "markdown", "csv"] {
            let printed = sheet(machine, &["--budget", "1s", "--format", format]);
            assert!(printed.contains("SIMULATED"), "{machine} as {format}");
        }
        let text = sheet(machine, &["--budget", "1s"]);
        assert!(text.starts_with("SIMULATED"), "{machine}: {text}");
    }
}

#[test]
fn what_is_wrong_with_a_guest_is_found() {
    let record = record("sim:vm-2c");
    let found: BTreeSet<&str> = record.findings.iter().map(|found| found.id.as_str()).collect();
    for id in ["clock.rates-disagree", "placement.hidden-sibling", "disturbance.steal"] {
        assert!(found.contains(id), "{id} is not among {found:?}");
    }
    let text = |id: &str| &record.findings.iter().find(|found| found.id == id).unwrap().text;
    assert!(text("clock.rates-disagree").contains("+350 ppm"));
}

#[test]
fn nothing_of_the_kind_is_found_where_it_is_not() {
    let record = record("sim:1c");
    for finding in &record.findings {
        let id = finding.id.as_str();
        let put_in = ["clock.rates-disagree", "placement.hidden-sibling", "disturbance.steal"];
        assert!(!put_in.contains(&id), "{finding:?}");
    }
}

/// Numbers of cores of two types are never mixed.
#[test]
fn figures_of_each_type_of_core_stand_apart() {
    let sheet = ["sheet", "--machine", "sim:hybrid", "--budget", "30s", "--width", "120"];
    let page = finish(cpudyno(&sheet)).success();
    let line = |name: &str| page.lines().find(|line| line.starts_with(name)).expect(&page);
    let value = |name: &str| -> f64 {
        line(name)[name.len()..].split_whitespace().next().unwrap().parse().unwrap()
    };
    // Of 256 bit, 4 doubles and 2 operations, a cycle takes one or a half: 4 x 8 x 4.2 + 4 x 4 x 3.8 + 2 x 4 x 2.5
    // GFLOP/s. Pauses are 151.8 cycles at 4.6 GHz, 60.8 at 3.8, 40 at 2.5. A wake-up is 2.6 us, times 1, 1.25 and 1.8, the
    // way of a line and 1 us of C1.
    for (name, put_in) in [
        ("clock, 10 cores, P, scalar ", 4.2),
        ("clock, 10 cores, E, scalar ", 3.8),
        ("clock, 10 cores, LP-E, scalar ", 2.5),
        ("FP64, 10 cores, 256-bit FMA ", 215.2),
        ("memory copy, 1 core, P ", 14.0),
        ("memory copy, 1 core, E ", 10.0),
        ("memory copy, 1 core, LP-E ", 7.0),
        ("latency, memory ", 80.0),
        ("latency, memory, E ", 95.0),
        ("latency, memory, LP-E ", 150.0),
        ("core to core, same-cache, P ", 40.0),
        ("core to core, same-cache, P and E ", 55.0),
        ("core to core, same-cache, E ", 62.0),
        ("core to core, same-cache, LP-E ", 75.0),
        ("core to core, other-cache, P and LP-E ", 120.0),
        ("pause instruction, P ", 33.0),
        ("pause instruction, E ", 16.0),
        ("pause instruction, LP-E ", 16.0),
        ("wake-up from a nap, median, P ", 3.64),
        ("wake-up from a nap, median, E ", 4.31),
        ("wake-up from a nap, median, LP-E ", 5.76),
    ] {
        let found = value(name);
        assert!((found / put_in - 1.0).abs() < 0.02, "{name}: {found} is not {put_in}");
    }
    // Registers state limits of the first two.
    for (kind, verdict) in [("P", "normal"), ("E", "normal"), ("LP-E", "no reference")] {
        let line = line(&format!("clock, 10 cores, {kind}, scalar "));
        assert!(line.trim_end().ends_with(verdict), "{line}");
    }
}

/// The number in a column of the first line that begins so, from the place where another one stands.
fn number_after(page: &str, place: &str, begins: &str, column: usize) -> f64 {
    let part = &page[page.find(place).unwrap_or_else(|| panic!("no {place}: {page}"))..];
    let line = part.lines().find(|line| line.starts_with(begins)).expect(part);
    line[begins.len()..].split_whitespace().nth(column).unwrap().parse().expect(line)
}

#[test]
fn pages_show_each_type_of_core_under_its_name() {
    let page = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let rest = ["--machine", "sim:hybrid", "--width", "120"];
        finish(cpudyno(&[words.as_slice(), &rest].concat())).success()
    };
    // In memory, in huge pages; what low-power cores have no third level of.
    let latency = page("memory latency");
    for (place, nanoseconds, levels) in
        [("CPU 0 (P)", 80.0, 3), ("CPU 4 (E)", 95.0, 3), ("CPU 8 (LP-E)", 150.0, 2)]
    {
        let place = format!("Latency of one access, {place}");
        // Size, unit, and base pages with their cycles go before.
        let found = number_after(&latency, &place, "memory ", 4);
        assert!((found / nanoseconds - 1.0).abs() < 0.02, "{place}: {found}");
        let part = &latency[latency.find(&place).unwrap()..];
        let part = &part[..part.find("Accesses in parallel").unwrap()];
        assert_eq!(part.matches("as claimed").count(), levels, "{part}");
    }
    let wake = page("wake --methods futex");
    for (cpus, microseconds) in [("0-1 (P)", 3.64), ("4-5 (E)", 4.31), ("8-9 (LP-E)", 5.76)] {
        let found = number_after(&wake, &format!("CPUs {cpus}"), "futex ", 1);
        assert!((found / microseconds - 1.0).abs() < 0.02, "{cpus}: {found}");
    }
    // 9,999 numbers of 1.3 ns, times 1, 1.6 and 2.5, in 4 or 2 parts, and 0.7 us of a region.
    let openmp = page("openmp");
    for (crew, microseconds) in [("4 P", 3.95), ("4 E", 5.90), ("2 LP-E", 16.95)] {
        let begins = format!("libgomp default {crew} ");
        let squeezed: Vec<String> = openmp
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let found = number_after(&squeezed.join("\n"), "OpenMP loop with", &begins, 0);
        assert!((found / microseconds - 1.0).abs() < 0.02, "{crew}: {found}");
    }
}

#[test]
fn clocks_that_were_put_in_come_out() {
    let record = record("sim:2s-56c");
    let clock = |stream: &str, active: usize| {
        let series = record.series.iter().find(|series| {
            (series.area.as_str(), series.workload.as_str()) == ("turbo", stream)
                && series.quantity == "clock"
                && series.active.len() == active
                && series.summary().is_some()
        });
        series.and_then(|series| series.summary()).unwrap().median
    };
    // The turbo bins of the description; its clock drifts by one per cent around them.
    for (stream, active, hertz) in
        [("scalar_iadd", 1, 3.8e9), ("scalar_iadd", 112, 3.0e9), ("avx512_fma", 112, 2.2e9)]
    {
        let measured = clock(stream, active);
        assert!((measured / hertz - 1.0).abs() < 0.02, "{stream} on {active}: {measured}");
    }
}

#[test]
fn show_prints_what_the_live_run_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    for machine in ["sim:1c", "sim:vm-2c"] {
        for width in ["80", "132"] {
            for colour in ["always", "never"] {
                for verbose in [&[][..], &["-v"]] {
                    let look = [&["--width", width, "--color", colour], verbose].concat();
                    let more = [&["--budget", "2s", "--json", file], &look[..]].concat();
                    let live = sheet(machine, &more);
                    // Width and verbosity are in the record.
                    let shown = finish(cpudyno(&["show", file, "--color", colour])).success();
                    assert!(live == shown, "{machine} {look:?}: `show` prints something else");
                    assert_eq!(live.contains('\u{1b}'), colour == "always", "{machine} {look:?}");
                }
            }
        }
    }
}

#[test]
fn show_prints_every_format_and_width_from_one_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let name = file.to_str().unwrap();
    let live = |more: &[&str]| sheet("sim:2s-56c", &[&["--budget", "3s"], more].concat());
    live(&["--json", name]);
    let show = |more: &[&str]| finish(cpudyno(&[&["show", name], more].concat())).success();
    for look in
        [["--width", "80"], ["--width", "132"], ["--format", "markdown"], ["--format", "csv"]]
    {
        assert!(live(&look) == show(&look), "{look:?}: `show` prints something else");
    }
    assert!(show(&["--format", "json"]) == fs::read_to_string(&file).unwrap());
    let mut piped = cpudyno(&["show", "-"]);
    piped.stdin(File::open(&file).unwrap());
    assert!(finish(piped).success() == show(&[]));
}

#[test]
fn lines_are_no_wider_than_asked() {
    for width in [80, 132] {
        let text = sheet("sim:vm-2c", &["--budget", "2s", "-v", "--width", &width.to_string()]);
        // Every character that the sheet of this machine has takes one column.
        let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= width, "{width}: {widest}");
    }
}

#[test]
fn only_the_streams_and_cpus_that_were_asked_for_are_measured() {
    let more = ["--budget", "2s", "--cpus", "0,2", "--streams", "scalar_iadd", "--json", "-"];
    let record = checked(&sheet("sim:2s-56c", &more));
    assert_eq!(record.run.plan.cpus.to_string(), "0,2");
    let turbo = record.series.iter().filter(|series| series.area == "turbo");
    let streams: BTreeSet<_> = turbo.map(|series| series.workload.as_str()).collect();
    assert_eq!(streams, BTreeSet::from(["scalar_iadd"]));
    for series in &record.series {
        assert!(series.active.difference(&record.run.plan.cpus).is_empty(), "{series:?}");
    }
}

#[test]
fn a_full_disk_costs_the_file_and_not_the_sheet() {
    let args = ["sheet", "--machine", "sim:1c", "--budget", "1s"];
    let finished = finish(cpudyno(&[&args[..], &["--json", "/dev/full"]].concat()));
    assert_eq!(finished.code, Some(3), "{finished:#?}");
    assert!(finished.stderr.starts_with("error: cannot write `/dev/full`: "), "{finished:#?}");
    assert!(finished.stdout.starts_with("SIMULATED"), "{finished:#?}");

    let mut to_full = cpudyno(&args);
    to_full.stdout(File::options().write(true).open("/dev/full").unwrap());
    let finished = finish(to_full);
    assert_eq!(finished.code, Some(3), "{finished:#?}");
    let expected = "error: cannot write to standard output: ";
    assert!(finished.stderr.starts_with(expected), "{finished:#?}");
    assert_eq!(finished.stderr.lines().count(), 2, "{finished:#?}");
}

#[test]
fn a_file_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(OsStr::from_bytes(b"\xff.json"));
    let mut command = cpudyno(&["sheet", "--machine", "sim:1c", "--budget", "1s", "--json"]);
    command.arg(&file);
    let live = finish(command).success();
    checked(&fs::read_to_string(&file).unwrap());
    let mut show = cpudyno(&["show"]);
    show.arg(&file);
    assert!(finish(show).success() == live);
}

#[test]
fn a_file_that_is_there_is_replaced_only_by_a_whole_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    fs::write(&file, "the record of last week").unwrap();
    let args = ["sheet", "--machine", "sim:1c", "--budget", "1s", "--json", file.to_str().unwrap()];
    finish(cpudyno(&args)).success();
    checked(&fs::read_to_string(&file).unwrap());
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}
