//! Many machines beside each other.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Finished, cpudyno, finish};

/// A folder of records of a simulated fleet, and what lies beside it.
struct Fleet(TempDir);

impl Fleet {
    /// Twenty machines of which two have a clock that somebody capped.
    fn new() -> Fleet {
        let fleet = Fleet(tempfile::tempdir().unwrap());
        let base = fleet.beside("base.json");
        let sheet = ["sheet", "--machine", "sim:2s-28c", "--budget", "2s", "--json", &base];
        finish(cpudyno(&sheet)).success();
        let made = ["fleet", "simulate", "--from", &base, "--hosts", "20"];
        let faults = ["--fault", "clock-cap:2", &fleet.beside("records")];
        finish(cpudyno(&[&made[..], &faults[..]].concat())).success();
        fleet
    }

    fn beside(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn record(&self, name: &str) -> PathBuf {
        self.0.path().join("records").join(name)
    }

    fn run(&self, args: &[&str]) -> Finished {
        finish(cpudyno(&[&["fleet", &self.beside("records")], args].concat()))
    }

    fn survey(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[args, &["--format", "json"]].concat()).stdout).unwrap()
    }
}

fn words(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn records_that_are_old_cut_foreign_or_missing_are_told_and_lose_no_fleet() {
    let fleet = Fleet::new();
    let of = |name| fs::read_to_string(fleet.record(name)).unwrap();
    let whole = of("r000n00.json");
    let cut =
        |text: &str, name: &str| fs::write(fleet.record(name), &text[..text.len() / 2]).unwrap();
    let old = whole.replacen("\"started\":\"2026", "\"started\":\"2020", 1);
    fs::write(fleet.record("r000n00_20200101T000000Z.json"), old).unwrap();
    cut(&whole, "cut.json");
    fs::write(fleet.record("foreign.json"), "{\"schema\": 1}").unwrap();
    fs::write(fleet.record("two\nlines and blanks.json"), "").unwrap();
    let record = whole.replacen("\"digest\"", "\"digest\":{\"schema\":\"future\"},\"was\"", 1);
    fs::write(
        fleet.record("future.json"),
        record.replacen("cpudyno.record/", "cpudyno.record/9", 1),
    )
    .unwrap();
    let expected = fleet.beside("expected");
    fs::write(fleet.record("long.example.org.json"), &whole).unwrap();
    fs::write(&expected, "r000n[00-01]\nlong\ncut\ngone7\ngone7\n").unwrap();
    let found = fleet.survey(&["--expect", &expected]);
    assert_eq!(found["hosts"], 21);
    assert_eq!(found["older"], 1);
    assert_eq!(words(&found["missing"]), ["gone7"]);
    let left_out = found["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 4, "{left_out:?}");
    // The answer for scripts: nobody loses half, and not all were judged.
    let answer = fleet.run(&["--fail-on", "slower:50%"]);
    assert_eq!(answer.code, Some(3), "{answer:?}");
    assert!(answer.stderr.contains("4 records left out and 0 missing"), "{answer:?}");
}

#[test]
fn scripts_are_answered_by_each_machine_that_is_slower() {
    let fleet = Fleet::new();
    let answer = fleet.run(&["--fail-on", "slower:5%"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stderr.contains("2 machines lose more than 5 %"), "{answer:?}");
    assert_eq!(fleet.run(&["--fail-on", "slower:50%"]).code, Some(0));
    let bad = fleet.run(&["--bad"]).stdout;
    let lines = fleet.run(&["--format", "csv"]).stdout;
    let mut hosts: Vec<&str> =
        lines.lines().skip(1).filter_map(|it| it.split(',').next()).collect();
    hosts.dedup();
    hosts.sort_unstable();
    hosts.dedup();
    assert_eq!(hosts.len(), 2, "{lines}");
    assert!(
        !bad.is_empty() && hosts.iter().all(|host| bad.contains(&host[..4])),
        "{bad} {hosts:?}"
    );
}

#[test]
fn an_empty_folder_is_told_with_what_helps() {
    let empty = tempfile::tempdir().unwrap();
    let refused =
        finish(cpudyno(&["fleet", empty.path().to_str().unwrap(), "--fail-on", "slower:5%"]));
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("cpudyno sheet --json"), "{refused:?}");
}

#[test]
fn a_page_shows_each_machine_and_links_those_that_have_a_page_of_their_own() {
    let fleet = Fleet::new();
    let bad = fleet.survey(&[])["suspects"][0]["hosts"][0].as_str().unwrap().to_owned();
    fs::write(fleet.record(&format!("{bad}.html")), "no record").unwrap();
    let page = fleet.beside("fleet.html");
    fleet.run(&["--html", &page]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains(&format!("<a href=\"records/{bad}.html\"><circle")), "{bad}");
    assert!(page.contains(&format!("<title>{bad}: ")), "{bad}");
    assert!(page.contains("machines: ") || page.contains("<title>1 machine: "), "{bad}");
}
