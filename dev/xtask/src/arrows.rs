//! Which of our crates may use which: the table of ARCHITECTURE.md is what every `Cargo.toml` has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use xtask::cargo;

/// What each of our crates uses, of ours, beside what its tests use.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Our crates as others call them, with their folders.
fn ours(root: &Path) -> BTreeMap<String, String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let of_line = |line: &str| {
        let (name, rest) = line.split_once(" = {")?;
        let (_, path) = rest.split_once("path = \"")?;
        Some((name.to_owned(), path.split('"').next()?.to_owned()))
    };
    manifest.lines().filter_map(of_line).collect()
}

/// As the manifests have them.
fn built(root: &Path) -> Arrows {
    let ours = ours(root);
    let folders =
        ["crates", "dev"].iter().flat_map(|parent| fs::read_dir(root.join(parent)).unwrap());
    let folders = folders.map(|entry| entry.unwrap().path());
    let manifests = folders.filter_map(|folder| {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        Some((name, fs::read_to_string(folder.join("Cargo.toml")).ok()?))
    });
    let uses = |manifest: &str| {
        let is_product = |head: &str| !head.contains("dev-") && !head.contains("build-");
        let sections = manifest.split("\n[").filter_map(|section| section.split_once(']'));
        let sections: Vec<(&str, &str)> = sections.filter(|(head, _)| is_product(head)).collect();
        let lists = sections.iter().filter(|(head, _)| head.ends_with("dependencies"));
        let lines = lists.flat_map(|(_, lines)| lines.lines());
        let in_lists = lines.filter_map(|line| line.split(['.', ' ']).next());
        // `[dependencies.machine]` is the same in another form.
        let in_heads = sections.iter().filter_map(|(head, _)| head.split_once("dependencies."));
        let names = in_lists.chain(in_heads.map(|(_, name)| name));
        names.filter(|name| ours.contains_key(*name)).map(str::to_owned).collect()
    };
    manifests.map(|(name, manifest)| (name, uses(&manifest))).collect()
}

/// As the table has them; none for a crate that may use all of them.
fn written(root: &Path) -> BTreeMap<String, Option<BTreeSet<String>>> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, rules) = text.split_once("## Dependency rules").unwrap();
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.split('|').collect();
        let name = cells[0].trim().trim_end_matches('`').to_owned();
        Some((name, (cells[1].trim() != "all of them").then(|| words(cells[1]))))
    };
    let table = rules.lines().skip_while(|line| !line.starts_with("| `"));
    table.map_while(row).collect()
}

#[test]
fn every_arrow_is_in_the_table() {
    let root = cargo::root();
    let (built, written) = (built(&root), written(&root));
    assert!(written.len() > 10, "{written:?}");
    assert_eq!(built.keys().collect::<Vec<_>>(), written.keys().collect::<Vec<_>>());
    for (name, allowed) in written {
        if let Some(allowed) = allowed {
            assert_eq!(built[&name], allowed, "{name}");
        }
    }
}

/// Whoever reads records knows no machine.
#[test]
fn the_wall_stands() {
    let built = built(&cargo::root());
    assert_eq!(built["checks"], BTreeSet::from(["model".to_owned()]));
    assert_eq!(built["report"], ["checks", "model"].map(str::to_owned).into());
    assert_eq!(built["fleet"], ["checks", "model", "report"].map(str::to_owned).into());
    for reader in ["views", "model"] {
        assert!(
            ["machine", "sys", "kernels", "rig", "measure"]
                .iter()
                .all(|it| !built[reader].contains(*it))
        );
    }
}

/// Whoever measures makes no page: of what pages are made of, it uses how numbers are written in sentences.
#[test]
fn who_measures_makes_no_page() {
    const WORDS: [&str; 2] = ["si", "tally"];
    for name in ["machine", "sys", "kernels", "rig", "measure", "pmu", "levers", "sst"] {
        for file in sources(&cargo::root().join("crates").join(name).join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            let product = text.split("mod tests {").next().unwrap();
            for rest in product.split("model::page::").skip(1) {
                let names = rest.strip_prefix('{').map_or_else(
                    || rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default(),
                    |list| list.split('}').next().unwrap_or_default(),
                );
                let is_word = |name: &str| WORDS.contains(&name.trim()) || name.trim().is_empty();
                assert!(names.split(',').all(is_word), "{}: page::{names}", file.display());
            }
        }
    }
}

/// The files of a folder and below it that are compiled into the product.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_test = |path: &PathBuf| path.file_stem().is_some_and(|it| it == "tests");
    let of = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.filter(|path| !is_test(path)).flat_map(of).collect()
}
