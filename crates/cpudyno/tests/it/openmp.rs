//! `cpudyno openmp` on simulated machines and on the one at hand.

use std::fs;
use std::time::{Duration, Instant};

use crate::common::{Running, cpudyno, finish, program};
use crate::record::checked;

/// What `cpudyno openmp` prints.
fn openmp(machine: &str, more: &[&str]) -> String {
    finish(cpudyno(&[&["openmp", "--machine", machine], more].concat())).success()
}

#[test]
fn regions_of_described_machines() {
    insta::assert_snapshot!("vm-2c-100", openmp("sim:vm-2c", &["--width", "100"]));
    insta::assert_snapshot!("2s-56c-120", openmp("sim:2s-56c", &["--width", "120"]));
    insta::assert_snapshot!("small-80", openmp("sim:vm-2c", &["--small", "--width", "80"]));
    insta::assert_snapshot!("dry-run-80", openmp("sim:vm-2c", &["--dry-run", "--width", "80"]));
}

#[test]
fn a_machine_without_runtimes_says_so() {
    let done = finish(cpudyno(&["openmp", "--machine", "sim:1c", "--width", "100"]));
    assert_eq!((done.code, done.stderr.as_str()), (Some(3), ""));
    let page = done.stdout;
    assert!(page.contains("it is not installed on this machine"), "{page}");
    assert!(!page.contains("apt-get"), "{page}");
    // Nothing was planned with it: no number of active CPUs belongs to it.
    assert!(page.contains("[unavailable] libgomp, libomp, libiomp5: "), "{page}");
}

#[test]
fn small_regions_are_fewer_where_there_is_no_time() {
    let page = openmp("sim:vm-2c", &["--small", "--budget", "6s", "--width", "100"]);
    assert!(page.contains("\n1 empty region with 200 ms"), "{page}");
    assert!(page.contains("there is no time for 25"), "{page}");
    let page = openmp("sim:vm-2c", &["--small", "--budget", "65s", "--width", "100"]);
    assert!(page.contains("25 empty regions") && !page.contains("there is no time"), "{page}");
}

#[test]
fn what_sleeping_costs_is_said_of_the_usual_two_settings() {
    let page = openmp("sim:vm-2c", &["--width", "200"]);
    // As in the description of the machine: 46 us and 0.9 us a region.
    for settings in [
        ["KMP_BLOCKTIME=1", "KMP_BLOCKTIME=0"],
        ["OMP_WAIT_POLICY=active", "OMP_WAIT_POLICY=passive"],
    ] {
        let [awake, asleep] = settings;
        let faster = format!(" with {awake} and ");
        let line = page.lines().find(|line| line.contains(&faster));
        let line = line.unwrap_or_else(|| panic!("no `{faster}` in:\n{page}"));
        assert!(line.contains(&format!(" with {asleep}, ")), "{line}");
        let (_, alone) = line.split_once("the region alone costs ").unwrap();
        let times = alone.rsplit(' ').nth(1).unwrap();
        assert!((40.0..60.0).contains(&times.parse::<f64>().unwrap()), "{line}");
    }
}

#[test]
fn a_cell_that_has_no_time_says_its_setting() {
    for (budget, cell) in [
        ("2s", "futex after a rest of 1000 us with 2 active"),
        ("3s", "libomp KMP_BLOCKTIME=0 with 2 active"),
    ] {
        let wait = ["wait", "--machine", "sim:vm-2c", "--budget", budget, "--width", "400"];
        let page = finish(cpudyno(&wait)).success();
        assert!(page.contains(cell), "no {cell} in:\n{page}");
    }
}

/// What settings do is what the area is about: a sheet of usual length of two CPUs has them.
#[test]
fn the_usual_sheet_has_time_for_opposite_settings() {
    let page =
        finish(cpudyno(&["sheet", "--machine", "sim:vm-2c", "--width", "120", "--all"])).success();
    let (_, section) = page.split_once("\nOpenMP regions").unwrap();
    for setting in ["KMP_BLOCKTIME=0", "OMP_WAIT_POLICY=passive"] {
        assert!(section.contains(setting), "no {setting} in:\n{section}");
    }
}

#[test]
fn show_prints_what_the_live_run_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    let live = openmp("sim:2s-56c", &["--threads", "2,56", "--json", file]);
    checked(&fs::read_to_string(file).unwrap());
    assert!(finish(cpudyno(&["show", file])).success() == live);
}

#[test]
fn what_was_put_in_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    openmp("sim:vm-2c", &["--json", file.to_str().unwrap()]);
    let record = checked(&fs::read_to_string(&file).unwrap());
    let median = |runtime: &str, setting: &str, quantity: &str| {
        let mut of = record.series.iter().filter(|series| {
            let is_setting = series.parameters.get("setting").is_some_and(|it| it == setting);
            let is_quantity = series.quantity == quantity && series.active.len() == 2;
            series.workload == runtime && is_setting && is_quantity
        });
        of.next().unwrap().summary().unwrap().median
    };
    // As in the description of the machine: 46 us and 0.9 us a region, 21 us and 0.35 us a barrier.
    // Its noise takes a few per cent.
    for (setting, quantity, expected) in [
        ("KMP_BLOCKTIME=0", "region_cost", 46e-6),
        ("KMP_BLOCKTIME=1", "region_cost", 0.9e-6),
        ("KMP_BLOCKTIME=0", "barrier_cost", 21e-6),
        ("KMP_BLOCKTIME=infinite", "barrier_cost", 0.35e-6),
        ("KMP_BLOCKTIME=0", "loop_time", 46e-6 + 9999.0 * 1.9e-9 / 2.0),
        ("KMP_BLOCKTIME=200", "loop_time", 0.9e-6 + 9999.0 * 1.9e-9 / 2.0),
    ] {
        let found = median("libomp", setting, quantity);
        assert!((found / expected - 1.0).abs() < 0.12, "{setting} {quantity}: {found}");
    }
    let burnt = |setting| median("libomp", setting, "rest_busy");
    assert!(burnt("KMP_BLOCKTIME=0") < 0.001);
    // 1 ms of the 20 ms after the region.
    assert!((0.03..0.07).contains(&burnt("KMP_BLOCKTIME=1")));
    assert!(burnt("KMP_BLOCKTIME=infinite") > 0.9);
    let finding = |id: &str| record.findings.iter().any(|finding| finding.id == id);
    assert!(finding("openmp.waiting") && finding("openmp.default-burns"));
    assert!(!finding("openmp.default-slow"));
}

/// One short block of everything that there is.
#[test]
fn the_machine_at_hand_answers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let quick = ["openmp", "--budget", "1s", "--outer", "50", "--inner", "100"];
    let live = finish(cpudyno(&[&quick[..], &["--json", file.to_str().unwrap()]].concat()));
    let live = live.success();
    for word in ["spin_barrier", "futex_barrier", "OpenMP loop with 50 outer and 100 parallel"] {
        assert!(live.contains(word), "no {word} in:\n{live}");
    }
    let record = checked(&fs::read_to_string(&file).unwrap());
    // Each runtime is there, or has a reason.
    for runtime in ["libgomp", "libomp", "libiomp5"] {
        assert!(record.series.iter().any(|series| series.workload == runtime), "{runtime}");
    }
    assert!(finish(cpudyno(&["show", file.to_str().unwrap()])).success() == live);
}

#[test]
fn one_cpu_is_enough() {
    let quick = ["openmp", "--budget", "1s", "--cpus", "0", "--runtime", "libgomp,futex_barrier"];
    let page = finish(cpudyno(&[&quick[..], &["--width", "200"]].concat())).success();
    assert!(page.contains("futex_barrier"), "{page}");
    assert!(page.contains("waiting takes at least two threads"), "{page}");
    assert!(!page.contains("1 threads") && !page.contains("cores kept busy"), "{page}");
    let refused = finish(cpudyno(&["openmp", "--cpus", "0", "--threads", "2"]));
    assert_eq!(refused.code, Some(2), "{refused:#?}");
}

#[test]
fn whoever_ends_takes_its_children_along() {
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)] {
        let running = Running::start(cpudyno(&["openmp", "--runtime", "futex_barrier"]));
        let begun = Instant::now();
        let child = loop {
            if let Some(child) = child_of(running.child.id()) {
                break child;
            }
            assert!(begun.elapsed() < Duration::from_mins(1), "{signal}: it never had a child");
            std::thread::sleep(Duration::from_millis(1));
        };
        let mut kill = program("sh");
        kill.args(["-c", &format!("kill -s {signal} {}", running.child.id())]);
        finish(kill).success();
        assert_eq!(running.finish().code, code, "{signal}");
        while is_running(child) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What `/proc/PID/stat` says behind the name: state, parent, ...
fn stat(process: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

fn child_of(parent: u32) -> Option<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.find(|&process| stat(process).is_some_and(|stat| stat[1] == parent.to_string()))
}

fn is_running(process: u32) -> bool {
    stat(process).is_some_and(|stat| stat[0] != "Z")
}
