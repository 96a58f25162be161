//! `include/cpudyno.h` is what `src` says.

use std::fs;
use std::path::{Path, PathBuf};

/// The most functions that the header may have.
const FUNCTIONS_MAX: usize = 40;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The header, made anew.
fn generated() -> String {
    let config = cbindgen::Config::from_file(folder().join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder().join("src")).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The order in which a reader needs them.
    let first = ["status", "version", "last_error", "text", "regions", "measure"];
    let rank = |path: &PathBuf| first.iter().position(|stem| path.file_stem().unwrap() == *stem);
    files.sort_by_key(|path| (rank(path).unwrap_or(first.len()), path.clone()));
    for file in files.iter().filter(|file| rank(file).is_some()) {
        builder = builder.with_src(file);
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    without_safety(&String::from_utf8(text).unwrap())
}

/// Comments without what Rust alone asks for, and without blanks at the ends of lines.
fn without_safety(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut skips = false;
    for line in text.lines().map(str::trim_end) {
        if line.trim() == "// # Safety" {
            skips = true;
            // The empty line before it goes, too.
            lines.pop_if(|line| line.trim() == "//");
        }
        skips &= line.trim().starts_with("//");
        if !skips {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_header_is_what_the_code_says() {
    let generated = generated();
    let path = folder().join("include/cpudyno.h");
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        fs::write(&path, &generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == generated, "{} is stale: run `cargo xtask generate`", path.display());
}

#[test]
fn the_header_is_small_and_its_names_are_ours() {
    let header = generated();
    let is_function = |line: &&str| {
        !line.trim_start().starts_with("//") && line.contains("cd_") && line.contains('(')
    };
    let functions = header.lines().filter(is_function).count();
    let exported = exported();
    assert_eq!(functions, exported.len(), "{exported:?}");
    assert!((20..=FUNCTIONS_MAX).contains(&functions), "{functions}");
    for name in &exported {
        assert!(name.starts_with("cd_"), "{name}");
        assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
    }
    for line in header.lines().filter(|line| line.starts_with("#define ")) {
        let name = line.split(' ').nth(1).unwrap();
        assert!(name.starts_with("CD_") || name == "CPUDYNO_H", "{name}");
    }
}

/// The functions that the sources export.
fn exported() -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder().join("src")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for (_, rest) in
            text.match_indices("#[unsafe(no_mangle)]").map(|(at, it)| (at, &text[at + it.len()..]))
        {
            let (_, rest) = rest.split_once(" fn ").unwrap();
            names.push(rest.split('(').next().unwrap().to_owned());
        }
    }
    names
}
