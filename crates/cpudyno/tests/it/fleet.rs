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
    assert!(page.contains("Facts that differ, kind A"), "{bad}");
    assert!(page.contains("machines: ") || page.contains("<title>1 machine: "), "{bad}");
}

#[test]
fn what_changed_is_the_same_since_a_time_a_folder_and_in_a_pack() {
    let fleet = tempfile::tempdir().unwrap();
    let beside = |name: &str| fleet.path().join(name).display().to_string();
    let [base, then, now, both] = ["base.json", "then", "now", "both"].map(beside);
    let sheet = ["sheet", "--machine", "sim:2s-28c", "--budget", "2s", "--json", &base];
    finish(cpudyno(&sheet)).success();
    let simulate = |more: &[&str]| {
        let fleet = ["fleet", "simulate", "--from", &base, "--hosts", "20"];
        finish(cpudyno(&[&fleet[..], more].concat())).success()
    };
    simulate(&[&then]);
    simulate(&["--day", "30", "--fault", "clock-cap:1", &now]);
    fs::create_dir(&both).unwrap();
    for (folder, time) in [(&then, "20260101T000000Z"), (&now, "20260131T000000Z")] {
        for file in fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
            let name = file.file_stem().unwrap().to_str().unwrap();
            fs::copy(&file, format!("{both}/{name}_{time}.json")).unwrap();
        }
    }
    // One that is new.
    fs::rename(format!("{now}/r009n01.json"), format!("{now}/new1.json")).unwrap();
    fs::rename(format!("{both}/r009n01_20260131T000000Z.json"), format!("{both}/new1.json"))
        .unwrap();
    let changed = |args: &[&str]| -> Value {
        let told = finish(cpudyno(&[&["fleet", "--json", "-"], args].concat())).success();
        let mut drift = serde_json::from_str::<Value>(&told).unwrap()["drift"].take();
        drift["since"].take();
        drift
    };
    let found = changed(&[&now, "--since", &then]);
    assert_eq!((&found["hosts"], words(&found["new"])), (&19.into(), vec!["new1".to_owned()]));
    assert_eq!(words(&found["gone"]), ["r009n01"]);
    let [suspect] = found["apart"]["suspects"].as_array().unwrap().as_slice() else {
        panic!("{found}")
    };
    assert_eq!(suspect["facts"][0]["id"], "cpufreq.limits");
    assert_eq!(suspect["facts"][0]["says"], "0.8 to 3.5 GHz -> 0.8 to 2.6 GHz");
    assert_eq!(changed(&[&both, "--since", "2026-01-15"]), found);
    let pack = beside("fleet.pack");
    finish(cpudyno(&["fleet", "pack", &both, "--to", &pack])).success();
    assert_eq!(changed(&[&pack, "--since", "2026-01-15"]), found);
    // For scripts, and in words.
    let bad = finish(cpudyno(&["fleet", &now, "--since", &then, "--bad"])).success();
    assert_eq!(bad.trim(), suspect["hosts"][0]);
    let slower = ["fleet", &now, "--since", &then, "--fail-on", "slower:20%"];
    assert_eq!(finish(cpudyno(&slower)).code, Some(1));
    let page = finish(cpudyno(&["fleet", &now, "--since", &then])).success();
    assert!(page.contains("1 machine became slower than the others; no change of all"), "{page}");
    // A machine that was not measured since.
    let answer = finish(cpudyno(&["fleet", &now, "--since", &then, "--fail-on", "slower:50%"]));
    assert_eq!(answer.code, Some(3), "{answer:?}");
    assert!(answer.stderr.contains("1 machine not measured since"), "{answer:?}");
    // What is no time, not there, empty, or was swapped.
    let empty = beside("empty");
    fs::create_dir(&empty).unwrap();
    let swapped = finish(cpudyno(&["fleet", &then, "--since", &now])).success();
    assert!(swapped.contains("nothing could be held against before"), "{swapped}");
    for since in ["yesterday", "2026-1", "2026-13-45", "2126-01", &empty] {
        let refused = finish(cpudyno(&["fleet", &now, "--since", since]));
        assert_eq!((refused.code, &*refused.stdout), (Some(2), ""), "{refused:?}");
        assert!(refused.stderr.contains("--since 2026-11-01"), "{refused:?}");
    }
}

#[test]
fn records_that_are_too_old_or_of_a_wrong_clock_are_left_out_with_their_reason() {
    let fleet = Fleet::new();
    let of = |name| fs::read_to_string(fleet.record(name)).unwrap();
    let ahead = of("r000n00.json").replacen("\"started\":\"2026", "\"started\":\"2126", 1);
    fs::write(fleet.record("r000n00_21260101T000000Z.json"), ahead).unwrap();
    let found = fleet.survey(&[]);
    assert_eq!((&found["hosts"], &found["older"]), (&20.into(), &0.into()));
    let why = found["left_out"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("it begins more than a day after now"), "{why}");
    // Simulated machines were measured on the first day of 2026.
    let found = fleet.survey(&["--max-age", "1d"]);
    assert_eq!((&found["hosts"], found["left_out"].as_array().unwrap().len()), (&0.into(), 21));
}
