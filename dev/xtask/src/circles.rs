//! Modules that import each other in a circle cannot be read one after the other: those that do are named here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use xtask::cargo;

/// What a crate's modules, those right below its root, import of each other.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The modules that still lie in circles. A crate that is not here has none.
const IN_CIRCLES: &[(&str, &[&str])] = &[
    // A stream's row holds its kernels with the ruler in their loop, and each of those says whose it is.
    ("kernels", &["in_loop", "stream"]),
    ("sst", &["backends", "cascade_lake_n", "commands", "read"]),
];

fn imports(crate_folder: &Path) -> Imports {
    let source = crate_folder.join("src");
    let mut imports = Imports::new();
    for entry in fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if !["lib", "main", "tests", "testing"].contains(&name.as_str()) {
            read(&path, 1, imports.entry(name).or_default());
        }
    }
    let root = fs::read_to_string(source.join("lib.rs")).unwrap_or_default();
    let exported = exported(&root);
    let known: BTreeSet<String> = imports.keys().cloned().collect();
    for (name, of) in &mut imports {
        of.extend(
            exported
                .iter()
                .filter(|it| of.contains(it.0))
                .map(|it| it.1.clone())
                .collect::<Vec<_>>(),
        );
        of.retain(|other| known.contains(other) && other != name);
    }
    imports
}

/// The names that a crate's root takes from its modules, each with its module.
fn exported(root: &str) -> BTreeMap<String, String> {
    let uses = root.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let of = |path: &str| {
        let path = path.trim_start_matches("self::");
        let (module, names) = path.split_once("::")?;
        let names = names.trim_matches(|c: char| "{}".contains(c) || c.is_whitespace());
        let named = |name: &str| Some((name.trim().to_owned(), module.to_owned()));
        Some(names.split(',').filter_map(named).collect::<Vec<_>>())
    };
    uses.filter_map(of).flatten().collect()
}

/// Adds what a file, or all files below a folder, import from the root of their crate; modules right below it have depth 1.
fn read(path: &Path, depth: usize, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            let inner = entry.unwrap().path();
            let is_itself = inner.file_name().is_some_and(|name| name == "mod.rs");
            read(&inner, depth + usize::from(!is_itself), found);
        }
    } else if path.extension().is_some_and(|it| it == "rs")
        && path.file_stem().is_some_and(|it| it != "tests")
    {
        let text = fs::read_to_string(path).unwrap();
        // They stand last in a file, for which targets and for whom ever.
        let product = text.split("mod tests {").next().unwrap();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let code: String = product.lines().filter(is_code).flat_map(|line| [line, "\n"]).collect();
        let from_root = "super::".repeat(depth);
        for root in ["crate::", &from_root] {
            for (at, _) in code.match_indices(root) {
                let is_whole =
                    !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
                let rest = &code[at + root.len()..];
                if is_whole && !rest.starts_with("super::") {
                    found.extend(first_words(rest));
                }
            }
        }
    }
}

/// The first word of a path, or those of each path of a list in braces.
fn first_words(path: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(list) = path.strip_prefix('{') else { return vec![word(path)] };
    let (mut words, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                words.push(word(&list[begin..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                words.push(word(&list[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
    }
    words
}

/// Modules that are imported by what they import.
fn in_circles(imports: &Imports) -> BTreeSet<&str> {
    let reached = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = imports[from].iter().map(String::as_str).collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(imports[next].iter().map(String::as_str));
            }
        }
        reached.contains(from)
    };
    imports.keys().map(String::as_str).filter(|name| reached(name)).collect()
}

#[test]
fn circles_are_those_that_are_named() {
    let mut crates = 0;
    for entry in fs::read_dir(cargo::root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let imports = imports(&folder);
        let named = IN_CIRCLES.iter().find(|(known, _)| *known == name);
        let named = named.map_or(BTreeSet::new(), |(_, modules)| modules.iter().copied().collect());
        assert_eq!(in_circles(&imports), named, "{name}");
        crates += usize::from(imports.values().any(|of| !of.is_empty()));
    }
    assert!(crates > 8, "imports were read");
}

#[test]
fn paths_are_read() {
    assert_eq!(first_words("rows::{self, Row};"), ["rows"]);
    assert_eq!(first_words("{a, b::{c, d}, e};\nf"), ["a", "b", "e"]);
    let root = "pub use stream::{Kind, Row};\npub use self::parse::parse;\n";
    let names = ["Kind", "Row", "parse"].map(|name| exported(root)[name].clone());
    assert_eq!(names, ["stream", "stream", "parse"]);
}
