//! README and guide show what the command prints.
//!
//! - A block `console` is about simulated machines: each of its commands is run, and its output
//!   compared byte for byte. A line that begins with `$ ` is a command and the lines below it are
//!   its output; a line `[..]` stands for any lines up to the next one that is given. A command
//!   without output below it has to succeed. `UPDATE_GENERATED=1` writes anew what is given.
//! - A block `text` shows what some machine printed once: its commands are only read, and planned
//!   on a simulated machine where they have `--dry-run`.
//! - In a block of no kind, lines that begin with `cpudyno` are only read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Finished, cpudyno, finish, program};

const ANY: &str = "[..]";

/// The machine on which commands of other machines are planned.
const PLANNED_ON: &str = "--dry-run --machine sim:2s-56c";

#[test]
fn the_readme_is_true() {
    is_true(&root().join("README.md"));
}

#[test]
fn the_guide_is_true() {
    let mut pages: Vec<PathBuf> = fs::read_dir(root().join("docs/guide"))
        .expect("there is a guide")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root().join("docs/speed-select.md"));
    pages.sort();
    for page in pages {
        is_true(&page);
    }
}

/// The project's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs what a page shows, and compares, or writes it anew where that was asked for.
fn is_true(page: &Path) {
    let markdown = fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let update = std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1");
    let mut lines: Vec<String> = markdown.lines().map(str::to_owned).collect();
    let mut moved = Vec::new();
    for example in examples(&markdown) {
        if example.kind != Kind::Run {
            read(page, &example, folder.path());
            continue;
        }
        if let Err(why) = check(&example, folder.path()) {
            let at = format!("{}:\n$ {}\n{}", page.display(), example.command, why.text);
            assert!(update, "{at}\nUPDATE_GENERATED=1 writes it anew");
            let anew =
                anew(&example.output, &why.printed).unwrap_or_else(|why| panic!("{at}\n{why}"));
            moved.push((example.below..example.below + example.output.len(), anew));
        }
    }
    if moved.is_empty() {
        return;
    }
    for (range, anew) in moved.into_iter().rev() {
        lines.splice(range, anew);
    }
    fs::write(page, lines.join("\n") + "\n").unwrap();
}

/// What is done with an example.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// It is run and compared.
    Run,
    /// Its arguments are read, and planned where they can be.
    Plan,
    /// Its arguments are read.
    Read,
}

/// A command and the lines that are printed below it.
#[derive(Debug, PartialEq)]
struct Example<'a> {
    kind: Kind,
    command: &'a str,
    output: Vec<&'a str>,
    /// The line of the page, from 0, on which the output begins.
    below: usize,
}

fn examples(markdown: &str) -> Vec<Example<'_>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    // The block that a line lies in, and what is done with it.
    let mut inside: Option<Option<Kind>> = None;
    for (at, line) in markdown.lines().enumerate() {
        if let Some(word) = line.strip_prefix("```") {
            inside = match (inside, word) {
                (Some(_), _) => None,
                (None, "console") => Some(Some(Kind::Run)),
                (None, "text") => Some(Some(Kind::Plan)),
                (None, "") => Some(Some(Kind::Read)),
                (None, _) => Some(None),
            };
            continue;
        }
        let Some(kind) = inside.flatten() else { continue };
        let command = line.strip_prefix("$ ").or_else(|| (kind == Kind::Read).then_some(line));
        match command.filter(|command| kind == Kind::Run || is_ours(command)) {
            Some(command) => {
                examples.push(Example { kind, command, output: Vec::new(), below: at + 1 });
            }
            None if kind == Kind::Run => {
                if let Some(example) = examples.last_mut() {
                    example.output.push(line);
                }
            }
            None => {}
        }
    }
    examples
}

fn is_ours(command: &str) -> bool {
    command.strip_prefix("sudo ").unwrap_or(command).starts_with("cpudyno ")
}

/// Why an example is not as it is shown.
struct Differs {
    text: String,
    printed: Vec<String>,
}

fn check(example: &Example<'_>, folder: &Path) -> Result<(), Differs> {
    let Example { command, output, .. } = example;
    // Records, captures and histories are those that simulated machines have made before.
    let named = command.split_once("--machine ").and_then(|(_, rest)| rest.split(' ').next());
    let simulated = match named {
        Some(machine) => machine.starts_with("sim:") || folder.join(machine).exists(),
        None => ["cpudyno show ", "cpudyno compare ", "cpudyno history --store "]
            .iter()
            .any(|it| command.starts_with(it)),
    };
    assert!(simulated, "{command}: other machines are shown in blocks `text`");
    let finished = shell(command, folder);
    if output.is_empty() {
        finished.success();
        return Ok(());
    }
    // As a terminal shows it: an example may be an error.
    let printed: Vec<&str> = finished.stdout.lines().chain(finished.stderr.lines()).collect();
    matches(output, &printed)
        .map_err(|text| Differs { text, printed: printed.into_iter().map(str::to_owned).collect() })
}

/// Lets the command read its arguments, and plan what it can.
fn read(page: &Path, example: &Example<'_>, folder: &Path) {
    let command = example.command.strip_prefix("sudo ").unwrap_or(example.command);
    let ends = [" #", " &&", ";", " |", " >"].map(|end| command.find(end));
    let command = command[..ends.into_iter().flatten().min().unwrap_or(command.len())].trim_end();
    let with = |more: &str| {
        let (ours, theirs) = command.split_once(" -- ").unwrap_or((command, "true"));
        let tail = if command.contains(" -- ") { format!(" -- {theirs}") } else { String::new() };
        let finished = shell(&format!("{ours} {more}{tail}"), folder);
        let why = format!("{}:\n$ {command} {more}\n{}", page.display(), finished.stderr);
        assert_eq!(finished.code, Some(0), "{why}");
        finished.stdout
    };
    let help = with("--help");
    if example.kind == Kind::Plan && help.contains("--dry-run") && !command.contains("--machine") {
        with(PLANNED_ON);
    }
}

fn shell(command: &str, folder: &Path) -> Finished {
    let binary = cpudyno(&[]);
    let binaries = Path::new(binary.get_program()).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = program("sh");
    shell.args(["-c", command]).current_dir(folder);
    shell.env("PATH", format!("{}:{path}", binaries.display()));
    finish(shell)
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

/// What is to be shown instead of what was: of each stretch between `[..]` the lines from one that
/// has the words of its first line to one that has those of its last.
fn anew(shown: &[&str], printed: &[String]) -> Result<Vec<String>, String> {
    let mut anew = Vec::new();
    let mut from = 0;
    let mut stretches = shown.split(|line| *line == ANY).peekable();
    while let Some(stretch) = stretches.next() {
        let is_last = stretches.peek().is_none();
        if let [first, .., last] | [first @ last] = stretch {
            let begin = if anew.is_empty() { from } else { alike(printed, first, from, from)? };
            let wanted = begin + stretch.len() - 1;
            let end = if is_last {
                printed.len().max(begin + 1) - 1
            } else {
                alike(printed, last, begin, wanted)?
            };
            let stretch = printed.get(begin..=end).ok_or("less is printed than is shown")?;
            anew.extend_from_slice(stretch);
            from = end + 1;
        }
        if !is_last {
            anew.push(ANY.to_owned());
        }
    }
    matches(&borrowed(&anew), &borrowed(printed)).map(|()| anew)
}

/// Where a line is printed, not before one and near another: the same words, and if possible the
/// same beginning.
fn alike(printed: &[String], line: &str, first: usize, near: usize) -> Result<usize, String> {
    let head = |line: &str| line.split_whitespace().next().map(str::to_owned);
    (first..printed.len())
        .filter(|at| words(&printed[*at]) == words(line))
        .min_by_key(|at| (head(&printed[*at]) != head(line), at.abs_diff(near)))
        .ok_or_else(|| format!("nothing printed is like: {line}"))
}

/// The letters of a line: what stays when numbers move.
fn words(line: &str) -> String {
    line.chars().filter(char::is_ascii_alphabetic).collect()
}

fn borrowed(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

#[test]
fn examples_are_commands_and_their_output() {
    let markdown = "```console\n$ a b\n1\n\n2\n$ c\n```\n$ no\n```sh\n$ no\n```\n\
                    ```text\n$ cpudyno e\n3\n$ no\n```\n```\ncpudyno f\nno\n```\n";
    let of = |kind, command, output, below| Example { kind, command, output, below };
    let expected = [
        of(Kind::Run, "a b", vec!["1", "", "2"], 2),
        of(Kind::Run, "c", vec![], 6),
        of(Kind::Plan, "cpudyno e", vec![], 13),
        of(Kind::Read, "cpudyno f", vec![], 18),
    ];
    assert_eq!(examples(markdown), expected);
}

#[test]
fn an_example_is_run_as_in_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let is_shown = |command: &str, output: Vec<&str>| {
        let example = Example { kind: Kind::Run, command, output, below: 0 };
        check(&example, folder.path()).map_err(|why| why.text)
    };
    let sheet = "cpudyno sheet --machine sim:1c --budget 1s";
    let title = "SIMULATED data sheet: machine sim:1c, nothing was measured";
    assert_eq!(is_shown(sheet, vec![title, ANY]), Ok(()));
    assert_eq!(is_shown(sheet, vec![]), Ok(()));
    assert!(is_shown(sheet, vec![title]).is_err());
    let output = vec!["error: unrecognized subcommand 'shet'", "hint: did you mean `sheet`?"];
    assert_eq!(is_shown("cpudyno shet --machine sim:1c", output), Ok(()));
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

#[test]
fn what_moved_is_shown_anew() {
    let printed = ["title", "a 3", "b 4", "c 5", "1 row 8", "2 row 9", "end 6"];
    let printed = printed.map(str::to_owned);
    let shown = |lines: &[&str]| anew(lines, &printed).map(|lines| lines.join("|"));
    for (was, is) in [
        (&["title", "a 1", "new", "c 2", "end 1"][..], "title|a 3|b 4|c 5|1 row 8|2 row 9|end 6"),
        (&["title", ANY, "b 1", "c 1", ANY], "title|[..]|b 4|c 5|[..]"),
        (&[ANY, "2 row 1", "end 1"], "[..]|2 row 9|end 6"),
        (&["title", ANY], "title|[..]"),
        (&[ANY, "b 1", ANY, "end 1"], "[..]|b 4|[..]|end 6"),
        (&[ANY, "2 row 1", ANY], "[..]|2 row 9|[..]"),
    ] {
        assert_eq!(shown(was).as_deref(), Ok(is), "{was:?}");
    }
    assert!(shown(&[ANY, "gone 1", ANY]).is_err());
}
