//! `cpudyno wake` on simulated machines: its pages, that `show` prints the same, and bad input.

use crate::common::{cpudyno, finish};
use crate::record::checked;

/// What `cpudyno wake` prints.
fn wake(machine: &str, more: &[&str]) -> String {
    finish(cpudyno(&[&["wake", "--machine", machine], more].concat())).success()
}

#[test]
fn signals_between_all_kinds_of_pairs() {
    let asked = ["--budget", "2s", "--methods", "futex,pipe,spin,umwait", "--width", "120"];
    insta::assert_snapshot!("signals-120", wake("sim:2s-56c", &asked));
}

#[test]
fn signals_of_one_cpu() {
    insta::assert_snapshot!("signals-80", wake("sim:1c", &["--budget", "1s", "--width", "80"]));
}

#[test]
fn a_deep_sleep_cliff() {
    let asked = ["idle", "--limit-latency", "20", "--width", "100"];
    insta::assert_snapshot!("idle-100", wake("sim:4c", &asked));
}

#[test]
fn a_guest_sees_no_idle_states() {
    let page = wake("sim:vm-2c", &["idle", "--width", "80"]);
    assert!(page.contains("[unavailable] idle states that wake-ups ended"), "{page}");
    insta::assert_snapshot!("idle-80", page);
}

#[test]
fn plain_pages_say_whether_deep_sleep_is_included() {
    let page = |machine: &str| {
        let page = wake(machine, &["--budget", "1s", "--methods", "futex"]);
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let four = page("sim:4c");
    assert!(four.contains("too short for C6, the deepest idle state allowed here"), "{four}");
    let guest = page("sim:vm-2c");
    assert!(guest.contains("in a guest the host decides how deep a CPU sleeps"), "{guest}");
}

#[test]
fn alarms() {
    insta::assert_snapshot!("timer-80", wake("sim:4c", &["timer", "--width", "80"]));
}

#[test]
fn the_list_says_what_is_here() {
    insta::assert_snapshot!("list-120", wake("sim:4c", &["--list", "--width", "120"]));
}

#[test]
fn show_prints_what_the_live_run_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    for machine in ["sim:4c", "sim:vm-2c"] {
        for question in [&[][..], &["idle"], &["timer"]] {
            let look = ["--budget", "1s", "--width", "90", "--json", file];
            let live = wake(machine, &[question, &look[..]].concat());
            let shown = finish(cpudyno(&["show", file])).success();
            assert!(live == shown, "{machine} {question:?}: `show` prints something else");
            checked(&std::fs::read_to_string(file).unwrap());
        }
    }
}

#[test]
fn bad_input_is_refused_with_a_hint() {
    let refused = |args: &[&str], words: &str| {
        let all = [&["wake", "--machine", "sim:vm-2c"], args].concat();
        let finished = finish(cpudyno(&all));
        assert_eq!(finished.code, Some(2), "{args:?}: {finished:#?}");
        assert!(finished.stderr.contains(words), "{args:?}: {finished:#?}");
        assert!(finished.stderr.contains("hint: "), "{args:?}: {finished:#?}");
    };
    refused(&["--methods", "futx"], "did you mean `futex`?");
    refused(&["--pairs", "0:9"], "cannot use CPU 9: this process may use 0-1");
    refused(&["--pairs", "same-cash"], "did you mean `same-cache`?");
    refused(&["--cpus", "7"], "cannot use CPU 7");
    refused(&["--signals", "0"], "expected a number from 1");
    refused(&["--signals", "5", "--budget", "3s"], "cannot be used with");
    refused(&["idle", "--limit-latency", "-1"], "");
    refused(&["idle", "--limit-latency", "soon"], "expected microseconds");
    refused(&["timer", "--methods", "futex"], "--methods does not go with this question");
}

#[test]
fn one_cpu_is_a_reason_and_nothing_else_is_measured() {
    for question in [&["wake", "idle"][..], &["cores"]] {
        let done = finish(cpudyno(&[question, &["--machine", "sim:1c"]].concat()));
        assert_eq!((done.code, done.stderr.as_str()), (Some(3), ""), "{}", done.stdout);
        let page = done.stdout;
        let (_, missing) = page.split_once("Not measured").unwrap();
        let words = if question[0] == "wake" {
            "the waking thread must stay awake"
        } else {
            "a pair needs two"
        };
        assert!(missing.contains(words) && missing.contains("allow more CPUs"), "{page}");
    }
    let sheet =
        finish(cpudyno(&["sheet", "--machine", "sim:1c", "--budget", "3s", "--all"])).success();
    for what in ["pairs of cores: ", "a sleeper on another CPU: "] {
        assert!(sheet.contains(what), "no {what}in:\n{sheet}");
    }
}

#[test]
fn alarms_are_on_every_cpu_that_there_is_time_for() {
    let of = |budget| wake("sim:2s-56c", &["timer", "--budget", budget, "--width", "400"]);
    let rows = |page: &str| page.lines().filter(|l| l.contains("  clock_nanosleep  ")).count();
    let page = of("5s");
    assert!((10..100).contains(&rows(&page)), "{page}");
    assert!(page.contains("alarms on CPUs 1-") && page.contains("give it more time"), "{page}");
    let page = of("1m");
    // One more row for each idle state.
    assert!((224..230).contains(&rows(&page)), "{page}");
    assert!(!page.contains("alarms on CPUs"), "{page}");
}

/// States that no wake-up ended are in the table all the same.
#[test]
fn the_limit_that_is_advised_is_that_of_the_next_state_of_the_table() {
    let page = finish(cpudyno(&["wait", "--machine", "sim:4c", "--width", "200"])).success();
    assert!(page.contains("hold /dev/cpu_dma_latency at 10 us"), "{page}");
}
