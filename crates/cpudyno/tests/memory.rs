//! `cpudyno memory` on simulated machines: its pages, and that `show` prints the same.

mod common;
#[path = "common/record.rs"]
mod record;

use common::{cpudyno, finish};
use record::checked;

/// What `cpudyno memory` prints.
fn memory(machine: &str, more: &[&str]) -> String {
    finish(cpudyno(&[&["memory", "--machine", machine], more].concat())).success()
}

#[test]
fn bandwidth_of_a_guest() {
    insta::assert_snapshot!("bandwidth-80", memory("sim:vm-2c", &["--width", "80"]));
    let asked = ["--width", "120", "--write-allocate", "off", "--unit", "GB"];
    insta::assert_snapshot!("bandwidth-120", memory("sim:vm-2c", &asked));
}

#[test]
fn arrays_within_caches_are_called_so() {
    let small = ["--length", "20000", "--threads", "1", "--kernels", "copy,triad"];
    let page = memory("sim:1c", &[&small[..], &["--width", "100"]].concat());
    insta::assert_snapshot!("within-caches", page);
    for (length, words) in [("1000", "within L1"), ("300000", "within L3"), ("2MiB", "within L3")] {
        let page = memory("sim:1c", &["--length", length, "--budget", "1s"]);
        assert!(page.contains(&format!("CPU 0: {words}")), "{length}: {page}");
        assert!(page.contains("--length 4718592"), "{length}: {page}");
    }
    let page = memory("sim:1c", &["--length", "1000000", "--budget", "1s"]);
    assert!(page.contains("CPU 0: cache and memory"), "{page}");
}

#[test]
fn scaling_of_two_packages() {
    insta::assert_snapshot!("scaling-80", memory("sim:2s-56c", &["scaling", "--width", "80"]));
}

#[test]
fn sweep_of_a_guest_that_claims_too_much() {
    insta::assert_snapshot!("sweep-80", memory("sim:vm-2c", &["sweep", "--width", "80"]));
    insta::assert_snapshot!("sweep-120", memory("sim:2s-56c", &["sweep", "--width", "120"]));
}

#[test]
fn factors_as_the_original_has_them() {
    let page = memory("sim:2s-56c", &["sweep", "--factors", "4", "--width", "80"]);
    insta::assert_snapshot!("factors-80", page);
}

#[test]
fn latency_in_small_and_huge_pages() {
    insta::assert_snapshot!("latency-80", memory("sim:vm-2c", &["latency", "--width", "80"]));
    insta::assert_snapshot!("latency-120", memory("sim:1c", &["latency", "--width", "120"]));
    let page = memory("sim:1c", &["latency", "--verbose"]);
    assert!(page.contains("    16           10.0        8.0\n"), "{page}");
}

#[test]
fn latency_while_others_move_data() {
    insta::assert_snapshot!("loaded-80", memory("sim:2s-56c", &["loaded", "--width", "80"]));
}

#[test]
fn from_node_to_node() {
    insta::assert_snapshot!("numa-80", memory("sim:2s-56c", &["numa", "--width", "80"]));
    let page = memory("sim:1c", &["numa"]);
    assert!(page.contains("This machine has one memory node, 0"), "{page}");
}

#[test]
fn the_list_says_what_runs_here() {
    let page = memory("sim:1c", &["--list", "--width", "120"]);
    insta::assert_snapshot!("list-120", page);
}

#[test]
fn show_prints_what_the_live_run_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let file = file.to_str().unwrap();
    for machine in ["sim:vm-2c", "sim:2s-56c"] {
        for question in [&[][..], &["scaling"], &["sweep"], &["latency"], &["loaded"], &["numa"]] {
            for width in ["80", "120"] {
                let look = ["--budget", "5s", "--width", width, "--json", file];
                let live = memory(machine, &[question, &look[..]].concat());
                let shown = finish(cpudyno(&["show", file])).success();
                assert!(live == shown, "{machine} {question:?}: `show` prints something else");
                checked(&std::fs::read_to_string(file).unwrap());
            }
        }
    }
}

/// What is asked for wrongly, what is said of it, and what helps.
#[test]
fn wrong_values_are_told_what_is_right() {
    #[rustfmt::skip]
    let rows: &[(&str, &str, &str)] = &[
        ("--length -1", "invalid value '-1' for '--length <LENGTH>'", "give elements of 8 bytes"),
        ("--threads -1", "expected a number of at least 1", "`cpudyno info`"),
        ("--budget -1", "expected a time from 1s to 1h", "--budget 30s"),
        ("--length 512M", "expected a length", "did you mean `512MB`?"),
        ("--unit mb", "invalid value 'mb' for '--unit <UNIT>'", "did you mean `MB`?"),
        ("--length 15", "arrays of 15 elements: it takes 16, a cache line for each of 2 threads",
            "--length 16"),
        ("sweep --length 511", "arrays of 511 elements: it takes 512, a page", "--length 512"),
        ("latency --length 511", "arrays of 511 elements: it takes 512, a page", "--length 512"),
    ];
    for (args, error, hint) in rows {
        let args: Vec<&str> = args.split(' ').collect();
        let refused = finish(cpudyno(&[&["memory", "--machine", "sim:vm-2c"], &args[..]].concat()));
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}");
        let said = &refused.stderr;
        assert!(said.contains(error) && said.contains(hint), "{args:?}: {said}");
    }
}

#[test]
fn a_kernel_that_is_named_twice_is_measured_once() {
    let of = |kernels| memory("sim:1c", &["--kernels", kernels, "--budget", "1s"]);
    assert_eq!(of("copy,copy"), of("copy"));
}
