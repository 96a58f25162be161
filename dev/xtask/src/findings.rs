//! Each finding that the product makes has a row in its catalogue, and each row is made.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use xtask::cargo;

const PAGE: &str = "docs/reference/findings.md";

/// What stands right before an id.
#[rustfmt::skip]
const BEFORE: &[&str] = &[
    "note(", "warning(", "serious(", "finding(", "Severity::Note,", "Severity::Warning,", "Severity::Serious,",
    "Finding { id:", "OtherTraffic { id:", "Finding::new(check.weight,",
];

/// Where findings get an id that stands elsewhere, once for each place: there it has one of the shapes above.
const HELPERS: &[&str] = &[
    "checks/src/lib.rs",
    "measure/src/quiet.rs",
    "report/src/areas/interference.rs",
    "report/src/areas/memory/findings.rs",
    "report/src/areas/wake/findings.rs",
    "report/src/run.rs",
    "report/src/run.rs",
    "report/src/run.rs",
    "rig/src/placement.rs",
];

/// With `*` for what differs from case to case: `{}` in code, `<area>` on the page.
fn pattern(id: &str, [open, close]: [char; 2]) -> String {
    let parts = id.split(open).map(|part| part.split_once(close).map_or(part, |(_, rest)| rest));
    parts.collect::<Vec<_>>().join("*")
}

/// Adds the ids in a text that has one blank between its words; how many findings get theirs from elsewhere.
fn read(text: &str, ids: &mut BTreeSet<String>) -> usize {
    let mut elsewhere = text.matches("Finding::new(").count();
    elsewhere -= text.matches("Finding::new(Severity::").count();
    for (at, before) in BEFORE.iter().flat_map(|before| text.match_indices(before)) {
        let rest = text[at + before.len()..].trim_start().trim_start_matches("format!(");
        let id = rest.strip_prefix('"').and_then(|rest| rest.split('"').next());
        let head = &text[..at];
        let is_made = head.ends_with("Finding::") || head.ends_with("Finding::new(");
        match id.filter(|id| id.contains('.') && !id.contains(' ')) {
            Some(id) => _ = ids.insert(pattern(id, ['{', '}'])),
            None => elsewhere += usize::from(is_made || before == "Finding { id:"),
        }
    }
    elsewhere
}

/// Reads what is below a folder, without its tests.
fn collect(folder: &Path, ids: &mut BTreeSet<String>, helpers: &mut Vec<String>) {
    let crates = cargo::root().join("crates");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.strip_prefix(&crates).unwrap().to_str().unwrap();
        let is_rust = path.extension().is_some_and(|it| it == "rs");
        let is_other = path.file_stem().is_some_and(|it| it == "tests" || it == "testing")
            || file == "model/src/finding.rs";
        if path.is_dir() && !is_other {
            collect(&path, ids, helpers);
        } else if is_rust && file.contains("/src/") && !is_other {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
            let words: Vec<&str> = code.split_whitespace().collect();
            let count = read(&words.join(" ").replace("( ", "("), ids);
            helpers.extend(std::iter::repeat_n(file.to_owned(), count));
        }
    }
}

#[test]
fn every_finding_has_a_row() {
    let (mut made, mut helpers) = (BTreeSet::new(), Vec::new());
    collect(&cargo::root().join("crates"), &mut made, &mut helpers);
    helpers.sort_unstable();
    assert_eq!(helpers, HELPERS, "name a new helper here, and what stands before its ids above");
    let page = fs::read_to_string(cargo::root().join(PAGE)).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let rows: Vec<String> = rows.map(|id| pattern(id, ['<', '>'])).collect();
    let listed: BTreeSet<String> = rows.iter().cloned().collect();
    assert_eq!(listed.len(), rows.len(), "a row each: {rows:?}");
    let missing: Vec<_> = made.difference(&listed).collect();
    assert!(missing.is_empty(), "without a row in {PAGE}: {missing:?}");
    let extra: Vec<_> = listed.difference(&made).collect();
    assert!(extra.is_empty(), "made nowhere, and in {PAGE}: {extra:?}");
}
