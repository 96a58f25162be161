//! What the five ancestors do, and where it is here: the table in `docs/ancestors.toml`, as a page of the site.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// The table, from the root.
const TABLE: &str = "docs/ancestors.toml";

/// Something that a user of an ancestor would miss.
#[derive(Debug, Default)]
struct Behaviour {
    ancestor: String,
    does: String,
    here: String,
    /// The test that holds it, by the end of its path.
    test: String,
    /// Why nothing here does it.
    why: String,
}

fn read(root: &Path) -> anyhow::Result<Vec<Behaviour>> {
    let text = fs::read_to_string(root.join(TABLE)).context(TABLE)?;
    let rows = text.split("[[behaviour]]").skip(1).map(|block| {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            let quoted = line.and_then(|line| line.strip_prefix('"')?.rsplit_once('"'));
            quoted
                .map_or(String::new(), |(text, _)| text.replace("\\\"", "\"").replace("\\\\", "\\"))
        };
        Behaviour {
            ancestor: value("ancestor"),
            does: value("does"),
            here: value("here"),
            test: value("test"),
            why: value("why"),
        }
    });
    Ok(rows.collect())
}

/// The page.
pub(crate) fn page(root: &Path) -> anyhow::Result<String> {
    let rows = read(root)?;
    let mut text =
        "# What the ancestors do\n\nFive programs that people know, line by line: what each does, \
                    the command here that does it, and the test that holds it.\n"
            .to_owned();
    let mut last = "";
    for row in &rows {
        if row.ancestor != last {
            text.extend(["\n## ", &row.ancestor, "\n\n| it | here | test |\n|---|---|---|\n"]);
            last = &row.ancestor;
        }
        let cell = |text: &str| text.replace('|', "\\|");
        let code = |text: &str| {
            if text.is_empty() { "-".to_owned() } else { format!("`{}`", cell(text)) }
        };
        let here = if row.here.is_empty() { cell(&row.why) } else { cell(&row.here) };
        text.extend(["| ", &cell(&row.does), " | ", &here, " | ", &code(&row.test), " |\n"]);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use xtask::cargo;

    use super::*;
    use crate::paths::texts;

    #[test]
    fn every_behaviour_of_an_ancestor_is_here_or_says_why_not_and_names_a_test_that_is_there() {
        let root = cargo::root();
        let rows = read(&root).unwrap();
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        let mut sources = Vec::new();
        for folder in ["crates", "dev"] {
            texts(&root.join(folder), &mut sources);
        }
        for row in &rows {
            *count.entry(&row.ancestor).or_default() += 1;
            assert!(!row.does.is_empty(), "{row:?}");
            assert_ne!(row.here.is_empty(), row.why.is_empty(), "{row:?}");
            let name = row.test.rsplit("::").next().unwrap();
            let is_there = |text: &String| text.contains(&format!("fn {name}("));
            assert!(name.is_empty() || sources.iter().any(is_there), "no such test: {row:?}");
        }
        assert_eq!(count.len(), 5, "{count:?}");
        assert!(rows.len() >= 120, "{}", rows.len());
        let untested = rows.iter().filter(|row| !row.here.is_empty() && row.test.is_empty());
        let untested: Vec<&str> = untested.map(|row| row.does.as_str()).collect();
        assert!(untested.is_empty(), "nothing holds these: {untested:#?}");
    }
}
