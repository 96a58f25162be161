//! `cpudyno cores` and `cpudyno pause` on simulated machines: their pages, and that `show` prints the same.

use crate::common::{cpudyno, finish};
use crate::record::checked;

/// What `cpudyno cores` prints.
fn cores(machine: &str, more: &[&str]) -> String {
    finish(cpudyno(&[&["cores", "--machine", machine], more].concat())).success()
}

#[test]
fn a_pair_that_shares_a_core() {
    insta::assert_snapshot!("pair-80", cores("sim:vm-2c", &["--width", "80"]));
}

#[test]
fn a_map_of_two_packages() {
    let some = ["--cpus", "0-5,56-61", "--budget", "2s", "--width", "100"];
    insta::assert_snapshot!("map-100", cores("sim:2s-56c", &some));
}

#[test]
fn what_was_printed_is_in_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let file = file.to_str().unwrap();
    for command in ["cores", "pause"] {
        let live = [command, "--machine", "sim:vm-2c", "--json", file, "--budget", "1s"];
        let live = finish(cpudyno(&live)).success();
        checked(&std::fs::read_to_string(file).unwrap());
        assert_eq!(finish(cpudyno(&["show", file])).success(), live, "{command}");
    }
}

#[test]
fn every_cpu_has_its_pause() {
    let page = finish(cpudyno(&["pause", "--machine", "sim:2s-56c", "--width", "80"])).success();
    for cpu in [0, 63, 64, 223] {
        assert!(
            page.lines().any(|line| line.trim_start().starts_with(&format!("{cpu} "))),
            "{page}"
        );
    }
    insta::assert_snapshot!(
        "pause-80",
        finish(cpudyno(&[
            "pause",
            "--machine",
            "sim:2s-56c",
            "--cpus",
            "0-2,112",
            "--width",
            "80",
        ]))
        .success()
    );
}
