//! `cpudyno info`: the page of simulated machines, the same bytes from a record, and what is refused.

use crate::common::{cpudyno, finish};
use crate::record::checked;

const MACHINES: [&str; 3] = ["sim:1c", "sim:vm-2c", "sim:2s-56c"];

fn info(machine: &str, more: &[&str]) -> String {
    finish(cpudyno(&[&["info", "--machine", machine], more].concat())).success()
}

#[test]
fn a_large_server() {
    insta::assert_snapshot!("info-2s-56c", info("sim:2s-56c", &["--width", "80"]));
}

#[test]
fn a_guest_with_every_fact() {
    insta::assert_snapshot!("info-vm-2c", info("sim:vm-2c", &["--width", "80", "--verbose"]));
}

#[test]
fn one_core_for_a_ticket() {
    insta::assert_snapshot!("info-1c-markdown", info("sim:1c", &["--format", "markdown"]));
}

#[test]
fn show_prints_what_info_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("info.json");
    let file = file.to_str().unwrap();
    for machine in MACHINES {
        for look in [&["--width", "80"][..], &["--width", "120", "-v"]] {
            let live = info(machine, &[&["--json", file], look].concat());
            assert!(live.starts_with("SIMULATED"), "{live}");
            let shown = finish(cpudyno(&["show", file])).success();
            assert!(live == shown, "{machine} {look:?}: `show` prints something else");
        }
    }
}

#[test]
fn records_keep_their_schema_and_are_the_same_every_time() {
    for machine in MACHINES {
        let json = info(machine, &["--json", "-"]);
        assert_eq!(json, info(machine, &["--json", "-"]), "{machine}");
        let record = checked(&json);
        assert_eq!(record.run.simulated.as_deref(), machine.strip_prefix("sim:"));
        assert!(record.series.is_empty());
    }
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for width in [40, 80, 132] {
        let page = info("sim:2s-56c", &["-v", "--width", &width.to_string()]);
        let widest = page.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{widest:?} columns where {width} were asked for");
    }
}

#[test]
fn there_are_no_samples_for_csv() {
    let refused = finish(cpudyno(&["info", "--machine", "sim:1c", "--format", "csv"]));
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert!(refused.stderr.contains("no samples"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);
}

#[test]
fn this_machine_has_a_page_and_a_record() {
    let page = finish(cpudyno(&["info", "--width", "80"])).success();
    assert!(page.starts_with("This machine, as it describes itself\n"), "{page}");
    let record = checked(&finish(cpudyno(&["info", "--json", "-"])).success());
    assert!(record.run.simulated.is_none());
    assert!(!record.machine.topology.online.is_empty());
}
