//! `cpudyno fleet pack`: what a survey finds in records it finds in their pack.

use std::fs;
use std::path::Path;

use crate::common::{cpudyno, finish};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What is found among these, as JSON, and on a page.
fn surveyed(named: &[&Path]) -> [String; 2] {
    let named: Vec<&str> = named.iter().map(|path| text(path)).collect();
    [&["--json", "-"][..], &["-v"]]
        .map(|more| finish(cpudyno(&[&["fleet"][..], &named, more].concat())).success())
}

/// The same is found; the first lines that differ.
fn same(named: &[&Path], expected: &[String; 2]) {
    for (found, expected) in surveyed(named).iter().zip(expected) {
        let differs = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
        assert!(found == expected, "{named:?}: {differs:?}");
    }
}

/// Records of 60 simulated machines with faults, of one that was interrupted, and of one that is cut off.
fn records(folder: &Path) -> std::path::PathBuf {
    let (base, records) = (folder.join("base.json"), folder.join("records"));
    let sheet = ["sheet", "--machine", "sim:2s-56c", "--budget", "10s", "--json", text(&base)];
    finish(cpudyno(&sheet)).success();
    let faults = ["--fault", "missing-dimm:1,wrong-epp:3,smt-off:2"];
    let fleet = ["fleet", "simulate", "--from", text(&base), "--hosts", "60", text(&records)];
    finish(cpudyno(&[&fleet[..], &faults].concat())).success();
    let record = fs::read_to_string(records.join("r000n00.json")).unwrap();
    let began = r#""started":"2026-01-01T00:00:00Z""#;
    assert!(record.contains(began));
    let stopped = record.replacen(began, &format!(r#"{began},"interrupted":"SIGTERM""#), 1);
    fs::write(records.join("r009n09.json"), stopped).unwrap();
    fs::write(records.join("r009n10.json"), &record[..record.len() / 2]).unwrap();
    // An older one of a machine, which counts for nothing.
    let older = record.replace("2026-01-01T", "2025-12-01T");
    fs::write(records.join("r000n01_20251201.json"), older).unwrap();
    records
}

#[test]
fn a_survey_of_a_pack_is_that_of_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let records = records(folder.path());
    let found = surveyed(&[&records]);
    assert!(found[0].contains("its run was interrupted") && found[0].contains("r009n10.json"));
    assert!(found[1].contains("480 GiB"), "{}", found[1]);
    let elsewhere = folder.path().join("fleet.pack");
    let pack = ["fleet", "pack", text(&records), "--to", text(&elsewhere)];
    let told = finish(cpudyno(&pack)).success();
    assert!(told.starts_with("62 runs with "), "{told}");
    assert!(told.ends_with("1 file is no record\n"), "{told}");
    same(&[&elsewhere], &found);
    // Again: nothing is new.
    let told = finish(cpudyno(&pack)).success();
    assert!(
        told.starts_with("0 runs with 0 results ") && told.contains("\n62 were there"),
        "{told}"
    );
    // Beside the records, and with half of them gone.
    finish(cpudyno(&["fleet", "pack", text(&records)])).success();
    assert!(records.join("pack/facts/month=2026-01/000001.parquet").is_file());
    same(&[&records], &found);
    let mut files: Vec<_> = fs::read_dir(&records).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    for file in files.iter().step_by(2) {
        fs::remove_file(file).unwrap();
    }
    same(&[&records], &found);
    same(&[&elsewhere, &records], &found);
}

#[test]
fn what_cannot_be_packed_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let done = finish(cpudyno(&["fleet", "pack", text(folder.path())]));
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{done:?}");
    assert!(done.stderr.contains("there is no record in `"), "{done:?}");
    let file = folder.path().join("it.json");
    fs::write(&file, "{}").unwrap();
    let done = finish(cpudyno(&["fleet", "pack", text(&file), "--to", text(&file)]));
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("cannot write to the pack `"), "{done:?}");
    assert!(done.stderr.contains("hint: "), "{done:?}");
    let broken = folder.path().join("facts/month=2026-01");
    fs::create_dir_all(&broken).unwrap();
    fs::create_dir_all(folder.path().join("results")).unwrap();
    fs::write(broken.join("000001.parquet"), "PAR1").unwrap();
    let told = finish(cpudyno(&["fleet", "-v", text(folder.path())])).success();
    assert!(told.contains("000001.parquet` of the pack: "), "{told}");
}
