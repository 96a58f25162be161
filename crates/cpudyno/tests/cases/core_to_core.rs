//! Matrices that others measured with core-to-core-latency, read from `../shared/fixtures/core-to-core`: they are
//! shown as they are, and compared pair by pair. Where that folder is missing, every case is shown as ignored.

use std::fs;
use std::path::PathBuf;

use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use crate::archive;
use crate::common::{cpudyno, finish};

const FOLDER: &str = "core-to-core";

/// The machines of the files.
const NAMES: &[&str] = &[
    "AMD Ryzen 9 7950X",
    "AWS Graviton3",
    "Dual Intel(R) Xeon(R) CPU E5-2690 0 @ 2.90GHz",
    "Intel Core i9-12900K",
    "Intel(R) Atom(TM) CPU D510 @ 1.66GHz",
    "Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz",
];

pub(crate) fn trials() -> Vec<Trial> {
    let is_missing = archive::folder(FOLDER).is_none();
    let each = NAMES.iter().map(|name| {
        Trial::test(format!("core_to_core::{name}"), || shown(name)).with_ignored_flag(is_missing)
    });
    let compared = Trial::test("core_to_core::two_machines_are_compared_by_pair", compared)
        .with_ignored_flag(is_missing);
    each.chain([compared]).collect()
}

/// The text of a matrix, and a file of it that goes with its folder.
fn unpacked(name: &str) -> (tempfile::TempDir, PathBuf, String) {
    let text = archive::text(&archive::path(FOLDER, &format!("{name}.csv.xz")));
    let folder = tempfile::tempdir().expect("there is room for a matrix");
    let file = folder.path().join("matrix.csv");
    fs::write(&file, &text).expect("there is room for a matrix");
    (folder, file, text)
}

/// Every cell of the file is in the record, once, and the page tells what it is.
fn shown(name: &str) -> Result<(), Failed> {
    let (_folder, file, text) = unpacked(name);
    let file = file.to_str().ok_or("a path is text")?;
    let record: Value =
        serde_json::from_str(&finish(cpudyno(&["show", file, "--format", "json"])).success())?;
    let cells = text.lines().flat_map(|line| line.trim().split(','));
    let mut expected: Vec<f64> = cells.filter_map(|cell| cell.parse().ok()).collect();
    let series = record["series"].as_array().ok_or("a record has series")?;
    let told = series.iter().filter_map(|series| series["summary"]["median"].as_f64());
    let mut told: Vec<f64> = told.map(|seconds| seconds * 1e9).collect();
    expected.sort_by(f64::total_cmp);
    told.sort_by(f64::total_cmp);
    let is_near = |(a, b): (&f64, &f64)| (a / b - 1.0).abs() < 1e-9;
    assert!(told.len() == expected.len() && told.iter().zip(&expected).all(is_near), "{name}");

    let page = finish(cpudyno(&["show", file])).success();
    let said = ["core-to-core-latency, a matrix in a file of 20", "Quality: ", "cas: latency"];
    for said in said {
        assert!(page.contains(said), "no `{said}` in\n{page}");
    }
    Ok(())
}

fn compared() -> Result<(), Failed> {
    let [(_a, a, _), (_b, b, _)] = [NAMES[0], NAMES[2]].map(unpacked);
    let [a, b] = [&a, &b].map(|file| file.to_string_lossy());
    let compared = finish(cpudyno(&["compare", &a, &b, "--json", "-"])).success();
    let compared: Value = serde_json::from_str(&compared)?;
    let results = compared["results"].as_array().ok_or("a comparison has results")?;
    assert_eq!(results.len(), 32 * 31 / 2);
    assert!(results.iter().all(|result| result["beside"][0]["verdict"] == "cannot-tell"));
    let near = results.iter().find(|result| result["cpus"] == "0-1").ok_or("CPUs 0 and 1")?;
    let ratio = near["beside"][0]["ratio"].as_f64().ok_or("a ratio")?;
    assert!((ratio - 39.972_124_666 / 5.333_333_333).abs() < 1e-6, "{ratio}");
    Ok(())
}
