//! `cpudyno history`: kept, shown, and told to scripts.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Finished, cpudyno, finish};

/// Another run of the machine, in a short time.
fn add(machine: &str, store: &Path) -> Finished {
    let store = store.to_str().unwrap();
    let args = ["history", "add", "--machine", machine, "--store", store, "--budget", "2s"];
    finish(cpudyno(&args))
}

fn shown(store: &Path, more: &[&str]) -> Finished {
    finish(cpudyno(&[&["history", "--store", store.to_str().unwrap()][..], more].concat()))
}

fn found(store: &Path) -> Value {
    serde_json::from_str(&shown(store, &["--format", "json"]).success()).unwrap()
}

#[test]
fn a_setting_is_found_at_its_run_with_what_it_costs() {
    let folder = tempfile::tempdir().unwrap();
    let (store, state) = (folder.path().join("h"), folder.path().join("state"));
    let machine = format!("sim:4c@{}", state.display());
    for _ in 0..4 {
        assert_eq!(add(&machine, &store).code, Some(0));
    }
    assert_eq!(shown(&store, &["--fail-on", "slower:5%"]).code, Some(0));
    let set = ["set", "no_turbo=on", "--no-proof", "--machine", &machine];
    let set = finish(cpudyno(&set));
    assert_eq!(set.code, Some(0), "{set:?}");
    for _ in 0..2 {
        assert_eq!(add(&machine, &store).code, Some(0));
    }
    let history = found(&store);
    let runs = history["runs"].as_array().unwrap();
    let moved: Vec<usize> =
        (0..6).filter(|run| !runs[*run]["moved"].as_array().unwrap().is_empty()).collect();
    assert_eq!(moved, [4]);
    assert_eq!(runs[4]["changed"][0]["id"], "cpufreq.boost");
    assert_eq!(runs[4]["simulated"], "4c");
    let page = shown(&store, &[]).success();
    assert!(
        page.contains("Since the run of 2026-01-01 00:00 (boot 5)") && page.contains("SIMULATED"),
        "{page}"
    );
    let slower = shown(&store, &["--fail-on", "slower:5%"]);
    assert_eq!(slower.code, Some(1), "{slower:?}");
}

#[test]
fn damaged_lines_are_skipped_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("h");
    assert_eq!(add("sim:1c", &store).code, Some(0));
    let mut text = fs::read_to_string(&store).unwrap();
    text.truncate(text.len() / 2);
    fs::write(&store, text).unwrap();
    let again = add("sim:1c", &store);
    assert!(again.stdout.contains("1 line is skipped, first line 1 of"), "{again:?}");
    assert_eq!(found(&store)["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn records_are_kept_too_once_each_and_others_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (store, file) = (folder.path().join("h"), folder.path().join("run.json"));
    let (store_name, file_name) = (store.to_str().unwrap(), file.to_str().unwrap());
    let kept = ["history", "add", file_name, "--store", store_name];
    let missing = finish(cpudyno(&kept));
    assert_eq!(missing.code, Some(2), "{missing:?}");
    let args = ["sheet", "--machine", "sim:1c", "--budget", "2s", "--json", file_name];
    assert_eq!(finish(cpudyno(&args)).code, Some(0));
    // As if it had been measured: a run that is there already is no other one.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen(r#","simulated":"1c""#, "", 1)).unwrap();
    for told in ["1 run kept", "0 runs kept"] {
        let done = finish(cpudyno(&kept));
        assert!(done.code == Some(0) && done.stderr.contains(told), "{done:?}");
    }
    assert_eq!(fs::read_to_string(&store).unwrap().lines().count(), 1);
    let few = shown(&store, &["--fail-on", "slower:5%"]);
    assert_eq!(few.code, Some(3), "{few:?}");
    assert_eq!(found(&store)["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let none = shown(&folder.path().join("none"), &[]);
    assert_eq!(none.code, Some(3));
    assert!(none.stderr.contains("cpudyno history add"), "{none:?}");
    let other = finish(cpudyno(&["history", "add", "--machine", "sim:1c"]));
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("--store"), "{other:?}");
    let of_machine = finish(cpudyno(&["history", "--machine", "sim:1c"]));
    assert_eq!(of_machine.code, Some(2), "{of_machine:?}");
    let (file, former) = (folder.path().join("h"), folder.path().join("h.former"));
    let add = ["history", "add", "--machine", "sim:1c", "--store", file.to_str().unwrap()];
    for json in [&file, &former] {
        fs::write(json, "kept").unwrap();
        let json = json.to_str().unwrap();
        let onto_itself = finish(cpudyno(&[&add[..], &["--json", json]].concat()));
        assert_eq!(onto_itself.code, Some(2), "{onto_itself:?}");
        let shown = shown(&file, &["--json", json]);
        assert_eq!(shown.code, Some(2), "{shown:?}");
        assert_eq!(fs::read_to_string(json).unwrap(), "kept");
    }
    let folder_itself = shown(folder.path(), &[]);
    assert_eq!(folder_itself.code, Some(3), "{folder_itself:?}");
    let table = shown(&folder.path().join("none"), &["--last", "1"]);
    assert!(table.stderr.contains("4 to 10,000"), "{table:?}");
}
