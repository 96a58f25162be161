//! Types that share a name with many others cannot be found by it: those that do are named here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use xtask::cargo;

/// How many types may share a name.
const MOST: usize = 3;

/// Names of more than that: each crate calls its own errors so.
const SHARED: &[&str] = &["Error"];

/// Counts the types that files below a folder define outside of tests.
fn count(folder: &Path, names: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().unwrap() != "tests" {
                count(&path, names);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
            for name in code.lines().filter_map(defined) {
                *names.entry(name.to_owned()).or_default() += 1;
            }
        }
    }
}

/// The type that a line defines. Types within a trait or a function's aliases are not looked for by name.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| c.is_whitespace()).filter(|word| !word.is_empty());
    let mut word = words.next()?;
    if word.starts_with("pub") {
        word = words.next()?;
    }
    let is_alias = word == "type" && !line.starts_with(' ');
    if !is_alias && !["struct", "enum", "trait", "union"].contains(&word) {
        return None;
    }
    let name = words.next()?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[test]
fn few_types_share_a_name() {
    let mut names = BTreeMap::new();
    count(&cargo::root().join("crates"), &mut names);
    assert!(names.len() > 500, "types were read");
    let shared = names.iter().filter(|(_, count)| **count > MOST).map(|(name, _)| name.as_str());
    assert_eq!(shared.collect::<Vec<_>>(), SHARED, "{names:?}");
}

#[test]
fn definitions_are_read() {
    assert_eq!(defined("pub(crate) struct Row<'a> {"), Some("Row"));
    assert_eq!(defined("    enum Way {"), Some("Way"));
    assert_eq!(defined("pub type At = (u32, u32);"), Some("At"));
    assert_eq!(defined("    type Value = String;"), None);
    assert_eq!(defined("// struct of arrays"), None);
}
