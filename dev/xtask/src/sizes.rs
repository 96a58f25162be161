//! A crate that a stranger reads in a day has so many lines at most.

use std::fs;
use std::path::Path;

use xtask::cargo;

/// Lines of a crate, without its tests.
const LINES_MAX: usize = 20_000;

/// Lines of files below a folder, without tests.
fn lines(folder: &Path) -> usize {
    let of = |path: &Path| {
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests" || stem == "testing");
        match path {
            _ if is_test => 0,
            _ if path.is_dir() => lines(path),
            _ if is_code => {
                let text = fs::read_to_string(path).unwrap();
                let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
                code.lines().count()
            }
            _ => 0,
        }
    };
    fs::read_dir(folder).unwrap().map(|entry| of(&entry.unwrap().path())).sum()
}

#[test]
fn no_crate_is_too_large() {
    let mut all = 0;
    for entry in fs::read_dir(cargo::root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let lines = lines(&folder.join("src"));
        assert!(lines <= LINES_MAX, "{}: {lines} lines", folder.display());
        all += lines;
    }
    assert!(all > 50_000, "crates were read: {all}");
}
