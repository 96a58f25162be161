//! Whoever builds a part builds it as the whole is built: then nothing of ours is compiled twice in one profile.
//!
//! Cargo unites the features that the selected packages ask for, so a foreign crate may have others for
//! `-p cpudyno` than for `--workspace`; and whatever is above it is then compiled once more. The crate
//! `features` asks for all of them, for every selection.

use std::collections::{BTreeMap, BTreeSet};

use xtask::cargo;

/// What each foreign crate is built with, by name and version; with several entries, it is built several times.
type Built = BTreeMap<String, BTreeSet<String>>;

/// What a selection of packages builds.
fn built(selection: &str) -> Built {
    let line = format!("cargo tree --locked --prefix none {selection} --format");
    let output = cargo::command(&line).arg("{p};{f}").output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut all = Built::new();
    // Ours are named with their folder; an empty line stands between packages.
    let foreign = text.lines().filter(|line| !line.contains('/'));
    for (package, features) in foreign.filter_map(|line| line.split_once(';')) {
        let features = features.trim_end_matches(" (*)").to_owned();
        let package = package.trim_end_matches(" (proc-macro)").to_owned();
        all.entry(package).or_default().insert(features);
    }
    all
}

#[test]
fn no_selection_builds_a_crate_otherwise() {
    const TESTED: &str = "-e normal,build,dev";
    const PLAIN: &str = "-e normal,build";
    let whole = built(&format!("--workspace {TESTED}"));
    // What is below our libraries; nothing of ours is above what only the command and tests use.
    let below = built(&format!("--package cpudyno-measure --package cpudyno-views {PLAIN}"));
    let crates = std::fs::read_dir(cargo::root().join("crates")).unwrap();
    let folders =
        crates.map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with("features"));
    let mut selections: Vec<String> = folders
        .map(|path| {
            let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = "));
            format!("--package {} {TESTED}", name.unwrap().trim_matches('"'))
        })
        .collect();
    selections.extend(
        ["cpudyno", "peers", "cpudyno-isst-shim"].map(|it| format!("--package {it} {PLAIN}")),
    );
    let mut otherwise = BTreeSet::new();
    for selection in selections {
        for (package, features) in built(&selection) {
            if below.contains_key(&package) && !features.is_subset(&whole[&package]) {
                otherwise.insert(format!(
                    "{package}: {:?}, with {selection} {features:?}",
                    whole[&package]
                ));
            }
        }
    }
    let lines = otherwise.into_iter().collect::<Vec<_>>().join("\n");
    assert!(lines.is_empty(), "name these features in `crates/features/Cargo.toml`:\n{lines}");
}
