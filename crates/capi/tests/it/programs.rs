//! Programs in C, compiled with every warning and run: they end with 0 where all is as they expect.

use std::fs;
use std::process::Command;

use crate::installed::{Installed, root};

/// The arguments for C.
const C: &[&str] = &["cc", "-std=c11", "-Wpedantic", "-D_GNU_SOURCE"];

/// What a program prints, which ends with 0 and complains about nothing.
fn run(source: &str, arguments: &[&str]) -> String {
    let installed = Installed::new();
    let program = installed.compiled(C, &root().join(source));
    let mut program = Command::new(program);
    program.args(arguments);
    installed.run(&program).unwrap_or_else(|why| panic!("{source}: {why}"))
}

#[test]
fn what_makes_no_sense_is_an_error_and_changes_nothing() {
    run("tests/it/programs/bad_input.c", &[]);
}

#[test]
fn threads_count_for_themselves() {
    run("tests/it/programs/threads.c", &[]);
}

#[test]
fn signal_handlers_may_enter_and_leave_regions() {
    run("tests/it/programs/signals.c", &[]);
}

#[test]
fn a_child_counts_for_itself() {
    run("tests/it/programs/forks.c", &[]);
}

#[test]
fn the_library_can_be_loaded_and_unloaded() {
    run("tests/it/programs/loads.c", &[]);
}

#[test]
fn what_the_library_in_rust_measures_can_be_asked_for() {
    run("tests/it/programs/measures.c", &[]);
}

#[test]
fn examples_run_on_the_machine_at_hand() {
    let printed = run("examples/regions.c", &[]);
    assert!(printed.contains("region `inner`: 100 calls, "), "{printed}");
}

/// The guide shows each example as it is, and what it prints.
#[test]
fn the_guide_shows_the_examples() {
    let page = root().join("../../docs/guide/c.md");
    let guide = fs::read_to_string(&page).unwrap();
    let mut blocks: Vec<(String, String)> = Vec::new();
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        assert!(lines <= EXAMPLE_LINES_MAX, "{}: {lines} lines", path.display());
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_some_and(|it| it == "c") {
            let machine = "sim:2s-56c";
            let printed = run(&format!("examples/{name}"), &[machine]);
            let command = format!("$ ./{} {machine}\n", name.trim_end_matches(".c"));
            blocks.push((command.clone(), command + &printed));
        }
        blocks.push((text.lines().next().unwrap().to_owned(), text));
    }
    assert_eq!(blocks.len(), 6 + 2, "examples, and what two print");
    let mut anew = guide.clone();
    for (begin, text) in blocks {
        let begin = begin.trim_end();
        let at = anew.find(&format!("\n{begin}\n"));
        let at =
            at.unwrap_or_else(|| panic!("{}: no block begins with {begin}", page.display())) + 1;
        let end = at + anew[at..].find("```").unwrap();
        anew.replace_range(at..end, &text);
    }
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        fs::write(&page, &anew).unwrap();
        return;
    }
    assert!(anew == guide, "{} is stale: run `cargo xtask generate`", page.display());
}

/// The longest example.
const EXAMPLE_LINES_MAX: usize = 40;
