//! Every machine in `testdata/machines`, read by every command that reads. A new file fails until
//! its pages are accepted as snapshots.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cpudyno, finish};
use crate::record::checked;

/// A machine that cannot be measured.
const CANNOT: i32 = 3;

/// Name and path of every capture.
fn captures() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    let mut captures: Vec<(String, PathBuf)> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    captures.sort();
    assert!(captures.len() >= 12, "{captures:?}");
    captures
}

fn page(command: &[&str], path: &Path) -> String {
    let args = [command, &["--machine", path.to_str().unwrap(), "--width", "80"]].concat();
    let page = finish(cpudyno(&args)).success();
    let widest = page.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{command:?} of {}: {widest:?} columns", path.display());
    let control = page.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None, "{command:?} of {}", path.display());
    page
}

#[test]
fn every_page_is_as_it_was_read_and_accepted() {
    for (name, path) in captures() {
        insta::assert_snapshot!(format!("{name}-info"), page(&["info"], &path));
        insta::assert_snapshot!(format!("{name}-doctor"), page(&["doctor"], &path));
        insta::assert_snapshot!(format!("{name}-dry-run"), page(&["sheet", "--dry-run"], &path));
        // It holds the short page, and each line of its tables is read by the tests of pages.
        let verbose = page(&["info", "-v"], &path);
        assert!(verbose.contains("\nFacts\n") && verbose.contains("\nCPUs\n"), "{verbose}");
    }
}

#[test]
fn records_keep_the_schema_and_show_prints_the_page_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.json");
    let file = file.to_str().unwrap();
    for (name, path) in captures() {
        for command in ["info", "doctor"] {
            let json = page_as_json(command, &path);
            assert_eq!(json, page_as_json(command, &path), "{command} of {name}");
            let record = checked(&json);
            assert!(record.run.elsewhere.is_some() && record.series.is_empty(), "{name}");
            fs::write(file, json).unwrap();
            let shown = finish(cpudyno(&["show", file])).success();
            assert!(shown == page(&[command], &path), "{command} of {name}:\n{shown}");
        }
    }
}

fn page_as_json(command: &str, path: &Path) -> String {
    let path = path.to_str().unwrap();
    let args = [command, "--machine", path, "--width", "80", "--format", "json"];
    finish(cpudyno(&args)).success()
}

#[test]
fn none_of_them_can_be_measured() {
    for (name, path) in captures() {
        let refused = finish(cpudyno(&["sheet", "--machine", path.to_str().unwrap()]));
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(CANNOT), ""), "{name}");
        assert!(refused.stderr.contains("nothing can run on it"), "{name}: {}", refused.stderr);
        assert!(refused.stderr.contains("hint: "), "{name}: {}", refused.stderr);
    }
}
