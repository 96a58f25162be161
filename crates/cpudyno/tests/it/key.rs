//! `cpudyno key`.

use std::fs;

use serde_json::Value;

use crate::common::{Finished, finish};

fn cpudyno(args: &[&str]) -> Finished {
    finish(crate::common::cpudyno(args))
}

#[test]
fn a_key_is_a_line_and_is_compared_with_a_key_or_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (record, key) = (file("record.json"), file("key.json"));
    let line = cpudyno(&["key", "--machine", "sim:4c", "--json", &record, "--line"]).success();
    assert!(line.starts_with("k1 SIMULATED claims=") && line.lines().count() == 1, "{line}");
    let json = cpudyno(&["key", "--machine", "sim:4c", "--line", "--format", "json"]).success();
    assert_eq!(json.lines().count(), 1);
    fs::write(&key, json).unwrap();
    for earlier in [&record, &key] {
        let same = cpudyno(&["key", "--machine", "sim:4c", "--compare", earlier, "--line"]);
        assert_eq!(same.success(), "SIMULATED COMPARABLE: same kind, as it was\n");
        let other = cpudyno(&["key", "--machine", "sim:laptop", "--compare", earlier, "--line"]);
        assert_eq!(other.code, Some(1));
        assert!(
            other.stdout.starts_with("SIMULATED NOT COMPARABLE: another kind: "),
            "{}",
            other.stdout
        );
    }
    let shown = cpudyno(&["show", &record]).success();
    assert!(shown.contains(line.split_whitespace().nth(2).unwrap()), "{shown}");
}

#[test]
fn what_is_no_key_is_said_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("none.json");
    fs::write(&file, "k1 claims=0").unwrap();
    let file = file.display().to_string();
    for args in [
        &["--compare", &file][..],
        &["--line", "--format", "csv"],
        &["--watch", "3s"],
        &["--watch", "1m", "--line"],
        &["--line", "--json", "-"],
        &["--compare", "/dev/zero"],
    ] {
        let words = [&["key", "--machine", "sim:1c"], args].concat();
        let refused = cpudyno(&words);
        assert_eq!(refused.code, Some(2), "{args:?}");
        assert!(refused.stderr.starts_with("error: "), "{}", refused.stderr);
    }
    let line = cpudyno(&["key", "--machine", "sim:1c", "--compare", &file]).stderr;
    assert!(
        line.contains("rounded for reading") && line.contains("key --line --format json"),
        "{line}"
    );
}

#[test]
fn a_machine_that_is_watched_is_graded() {
    let page = cpudyno(&["key", "--machine", "sim:vm-2c", "--watch", "20s"]).success();
    assert!(page.contains("How much it varies, by ") && page.contains("Grade: "), "{page}");
    let args = ["--watch", "20s", "--budget", "1s", "--cpus", "1", "--json", "-"];
    let record = cpudyno(&[&["key", "--machine", "sim:vm-2c"][..], &args].concat()).success();
    let record: Value = serde_json::from_str(&record).unwrap();
    let keys = record["keys"].as_array().unwrap();
    let is_alone = |key: &Value| key["pairs"]["unsaid"]["class"]["unavailable"].is_object();
    assert!(keys.len() > 5 && keys.iter().all(is_alone), "of one CPU: {keys:?}");
}

#[test]
fn ab_keeps_a_key_before_and_after_unless_it_shall_not() {
    let arms = ["--area", "turbo", "--a", "cpus=0", "--b", "cpus=1", "--format", "json"];
    let keys = |more: &[&str]| {
        let done = cpudyno(&[&["ab", "--machine", "sim:vm-2c"][..], &arms, more].concat());
        let record: Value = serde_json::from_str(&done.stdout).unwrap();
        record["keys"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((keys(&[]), keys(&["--no-key"])), (2, 0));
}
