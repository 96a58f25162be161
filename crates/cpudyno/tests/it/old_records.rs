//! Records that earlier versions wrote: they are read without loss, shown, and compared.

use std::path::PathBuf;

use model::record::Digest;
use serde_json::Value;

use crate::common::{cpudyno, finish};

fn files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/records");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|end| end == "gz")).collect();
    files.sort();
    files
}

/// Those that begin with a digest.
const DIGESTED: [&str; 4] = [
    "2026-11-27-memory.json.gz",
    "2026-11-27-sheet.json.gz",
    "2026-11-27-turbo.json.gz",
    "2026-11-27-wake.json.gz",
];

#[test]
fn nothing_of_an_old_record_is_lost() {
    assert_eq!(files().len(), 25);
    for file in files() {
        let packed = std::fs::read(&file).unwrap();
        let text = views::html::unpacked(&packed).unwrap();
        let is_measured = DIGESTED.iter().any(|name| file.ends_with(name));
        assert_eq!(Digest::read(&text).is_some(), is_measured, "{}", file.display());
        let record = model::record::read(&text).unwrap();
        let written = views::json::render(&record).unwrap();
        let [before, after] =
            [&*text, &*written].map(|text| serde_json::from_str::<Value>(text).unwrap());
        assert!(before == after, "{}", file.display());
    }
}

#[test]
fn old_records_are_shown_and_compared() {
    for file in files() {
        let name = file.to_str().unwrap();
        let page = finish(cpudyno(&["show", name])).success();
        assert!(page.contains("SIMULATED") && page.lines().count() > 10, "{name}\n{page}");
        let json = finish(cpudyno(&["compare", name, name, "--json", "-"])).success();
        let compared: Value = serde_json::from_str(&json).unwrap();
        let is_empty = |part: &str| compared[part].as_array().unwrap().is_empty();
        assert!(is_empty("settings") && is_empty("causes"), "{name}");
        let counted = ["results", "lonely"].map(|part| compared[part].as_array().unwrap().len());
        let own = file.file_name().unwrap().to_str().unwrap();
        let measures_nothing =
            ["info", "pmu", "settings", "sst", "top"].iter().any(|word| own.contains(word));
        assert_eq!(counted.iter().sum::<usize>() == 0, measures_nothing, "{name}");
        for result in compared["results"].as_array().unwrap() {
            assert_eq!(result["beside"][0]["ratio"], 1.0, "{name}");
        }
    }
}

/// A later version may have events and licences that this one has no word for: everything else is shown.
#[test]
fn words_of_later_versions_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("turbo.json");
    let name = file.to_str().unwrap();
    let made = ["turbo", "--machine", "sim:4c", "--spec", "avx256_fma/1", "--json", name];
    finish(cpudyno(&made)).success();
    let before = finish(cpudyno(&["show", name])).success();
    let mut record: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    record["run"]["events"] = serde_json::json!([{"event": "moon_phase", "of": [1, 2]}]);
    let workload = &mut record["run"]["plan"]["workloads"][0];
    assert!(workload["licence"].is_string(), "{workload}");
    workload["licence"] = "heavy-1024".into();
    std::fs::write(&file, record.to_string()).unwrap();
    assert_eq!(finish(cpudyno(&["show", name])).success(), before);
}
