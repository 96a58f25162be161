//! The README shows what the command prints: every command in a `console` block that names a
//! simulated machine is run, and its output compared byte for byte.
//!
//! A line that begins with `$ ` is a command and the lines below it are its output; a line `[..]`
//! stands for any lines up to the next one that is given. A command without output below it has to
//! succeed. Commands that name no simulated machine are not run.

mod common;

use std::path::Path;

use common::{cpudyno, finish, program};

const ANY: &str = "[..]";

#[test]
fn the_readme_is_true() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(file).expect("there is a README.md");
    let folder = tempfile::tempdir().unwrap();
    for example in examples(&readme) {
        if example.command.starts_with("cpudyno ") && example.command.contains("--machine sim:") {
            check(&example, folder.path());
        }
    }
}

/// A command and the lines that are printed below it.
#[derive(Debug, PartialEq)]
struct Example<'a> {
    command: &'a str,
    output: Vec<&'a str>,
}

fn examples(markdown: &str) -> Vec<Example<'_>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            examples.push(Example { command, output: Vec::new() });
        } else if let Some(example) = examples.last_mut().filter(|_| inside) {
            example.output.push(line);
        }
    }
    examples
}

fn check(example: &Example<'_>, folder: &Path) {
    let Example { command, output } = example;
    let binary = cpudyno(&[]);
    let binaries = Path::new(binary.get_program()).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = program("sh");
    shell.args(["-c", command]).current_dir(folder);
    shell.env("PATH", format!("{}:{path}", binaries.display()));
    let finished = finish(shell);
    if output.is_empty() {
        finished.success();
        return;
    }
    // As a terminal shows it: an example may be an error.
    let printed: Vec<&str> = finished.stdout.lines().chain(finished.stderr.lines()).collect();
    matches(output, &printed).unwrap_or_else(|why| panic!("$ {command}\n{why}"));
}

/// Whether lines are as expected, where `[..]` stands for any lines up to the next expected one.
fn matches(expected: &[&str], printed: &[&str]) -> Result<(), String> {
    let mut rest = printed.iter();
    let mut any = false;
    for line in expected {
        if *line == ANY {
            any = true;
            continue;
        }
        let found = if any { rest.find(|printed| *printed == line) } else { rest.next() };
        if found != Some(line) {
            return Err(format!(
                "expected: {line}\nprinted:  {}",
                found.unwrap_or(&"(no such line)")
            ));
        }
        any = false;
    }
    match rest.next().filter(|_| !any) {
        Some(line) => Err(format!("printed and not expected: {line}")),
        None => Ok(()),
    }
}

#[test]
fn examples_are_commands_and_their_output() {
    let markdown = "```console\n$ a b\n1\n\n2\n$ c\n```\n$ no\n```sh\n$ no\n```\n";
    let expected = [
        Example { command: "a b", output: vec!["1", "", "2"] },
        Example { command: "c", output: vec![] },
    ];
    assert_eq!(examples(markdown), expected);
}

#[test]
fn an_example_is_run_as_in_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = "cpudyno sheet --machine sim:1c --budget 1s";
    let title = "SIMULATED data sheet: machine sim:1c, nothing was measured";
    check(&Example { command: sheet, output: vec![title, ANY] }, folder.path());
    check(&Example { command: sheet, output: vec![] }, folder.path());
    let command = "cpudyno shet";
    let output = vec!["error: unrecognized subcommand 'shet'", "hint: did you mean `sheet`?"];
    check(&Example { command, output }, folder.path());
}

#[test]
fn dots_stand_for_any_lines() {
    let printed = ["a", "b", "c", "d"];
    for right in [&printed[..], &["a", ANY, "d"], &[ANY, "d"], &["a", ANY], &[ANY]] {
        assert_eq!(matches(right, &printed), Ok(()), "{right:?}");
    }
    for wrong in [&["a", "b", "c"][..], &["a", ANY, "e"], &["b", ANY], &["a", ANY, "c"], &[]] {
        assert!(matches(wrong, &printed).is_err(), "{wrong:?}");
    }
}
