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

#[test]
fn nothing_of_an_old_record_is_lost() {
    assert_eq!(files().len(), 20);
    for file in files() {
        let packed = std::fs::read(&file).unwrap();
        let text = views::html::unpacked(&packed).unwrap();
        assert_eq!(Digest::read(&text), None, "{}", file.display());
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
        let measures_nothing =
            ["info", "pmu", "settings", "sst", "top"].iter().any(|word| name.contains(word));
        assert_eq!(counted.iter().sum::<usize>() == 0, measures_nothing, "{name}");
        for result in compared["results"].as_array().unwrap() {
            assert_eq!(result["beside"][0]["ratio"], 1.0, "{name}");
        }
    }
}
