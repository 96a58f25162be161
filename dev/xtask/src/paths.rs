//! Paths that Markdown names: each link and each path in code leads to something that is there.

use std::fs;
use std::path::{Path, PathBuf};

use xtask::cargo;

/// Ends of words that are paths; a slash is another one.
const EXTENSIONS: &[&str] =
    &["c", "capture", "gz", "json", "md", "png", "py", "rs", "sh", "snap", "toml", "txt"];

/// Parts of words that stand for others, or are no path.
const NO_PATH: &[&str] = &["<", "*", "...", "{", "$", "://", "mailto:"];

/// Beginnings of paths elsewhere: in Linux' sources, in sysfs, in another program; an event of perf; what is built.
const ELSEWHERE: &[&str] = &[
    "/",
    "~",
    "arch/x86/",
    "tools/perf/",
    "topology/",
    "src/bench.rs",
    "msr/tsc/",
    "target/",
    "dist/",
    "docs/reference/cpudyno.md",
    "docs/reference/ancestors.md",
];

/// Adds the Markdown files below a folder, without what is built or hidden.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(&path, files);
        } else if path.extension().is_some_and(|it| it == "md") {
            files.push(path);
        }
    }
}

/// Targets of links, without their anchors.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '#']).next());
    targets.filter(|target| !target.is_empty())
}

/// Words between backticks that look like paths with a folder, on whichever line a longer piece of code began.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let pieces: Vec<&str> = line.split('`').collect();
    let inner = pieces.into_iter().rev().skip(1).rev().skip(1);
    inner.filter(|word| {
        let end = word.rsplit(['.', '/']).next().unwrap_or_default();
        word.contains('/') && (word.ends_with('/') || EXTENSIONS.contains(&end))
    })
}

#[test]
fn every_path_in_markdown_leads_somewhere() {
    let root = cargo::root();
    let is_path = |word: &&str| {
        ELSEWHERE.iter().all(|start| !word.starts_with(start))
            && !word.contains(char::is_whitespace)
            && NO_PATH.iter().all(|part| !word.contains(part))
    };
    let (mut files, mut count, mut dead) = (Vec::new(), 0, Vec::new());
    collect(&root, &mut files);
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let (folder, name) = (file.parent().unwrap(), file.strip_prefix(&root).unwrap().display());
        // The site's contents stand beside the texts of the root there.
        let folder = if file.ends_with("docs/SUMMARY.md") { &root } else { folder };
        let mut is_block = false;
        for (number, line) in (1..).zip(text.lines()) {
            is_block ^= line.trim_start().starts_with("```");
            let from_links = links(line).map(|target| (target, vec![folder.join(target)]));
            let places = |word| [&root, &root.join("crates"), folder].map(|it| it.join(word));
            let from_words = words(line).map(|word| (word, places(word).to_vec()));
            let named = from_links.chain(from_words).filter(|(path, _)| !is_block && is_path(path));
            for (path, places) in named {
                count += 1;
                if !places.iter().any(|place| place.exists()) {
                    dead.push(format!("{name}:{number}: {path}"));
                }
            }
        }
    }
    assert!(count > 300, "paths were read: {count}");
    assert!(dead.is_empty(), "these lead nowhere:\n{}", dead.join("\n"));
}

/// Recipes name the tests that prove them.
#[test]
fn every_proof_that_a_recipe_names_is_a_test() {
    let root = cargo::root();
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let proofs = text.split("Proof:").skip(1).flat_map(|rest| {
        let sentence = rest.split(". ").next().unwrap_or_default().split("\n\n").next();
        sentence.unwrap_or_default().split('`').skip(1).step_by(2)
    });
    let is_test =
        |name: &&str| name.contains('_') && name.chars().all(|c| c.is_lowercase() || c == '_');
    let proofs: Vec<&str> = proofs.filter(is_test).collect();
    assert!(proofs.len() > 5, "{proofs:?}");
    let mut sources = Vec::new();
    for folder in ["crates", "dev"] {
        texts(&root.join(folder), &mut sources);
    }
    let is_there = |name: &&&str| sources.iter().any(|text| text.contains(&format!("fn {name}(")));
    let lost: Vec<&&str> = proofs.iter().filter(|name| !is_there(name)).collect();
    assert!(lost.is_empty(), "no such tests: {lost:?}");
}

/// Adds the texts of the Rust files below a folder.
pub(crate) fn texts(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}
