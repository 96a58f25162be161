//! The help of every command, which `cargo xtask generate` writes to `target/site/cpudyno.md`.

use std::fmt::Write;
use std::path::Path;

use crate::common::{cpudyno, finish};

/// The width of the page, and of help where there is no terminal.
const COLUMNS: usize = 100;

#[test]
fn help_of_every_command_fits_a_page() {
    let all = help(&["help", "--all"]);
    let mut page = format!(
        "# The command line\n\n\
         What help prints, command by command.\n\n```text\n{all}```\n"
    );
    add(&mut page, &[]);
    let commands = names(&all);
    assert!(commands.contains(&"sheet") && commands.contains(&"capture"), "{commands:?}");
    for command in commands {
        add(&mut page, &[command]);
    }
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/site");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("cpudyno.md"), &page).unwrap();
    }
}

/// Adds the help of a command, and of those below it.
fn add(page: &mut String, words: &[&str]) {
    let text = help(&[words, &["--help"]].concat());
    let title = [&["cpudyno"], words].concat().join(" ");
    write!(page, "\n## {title}\n\n```text\n{text}```\n").unwrap();
    if words.is_empty() {
        return;
    }
    let is_list = |line: &&str| *line != "Commands:";
    let list: Vec<&str> = text.lines().skip_while(is_list).skip(1).collect();
    let end = list.iter().position(|line| line.is_empty()).unwrap_or(list.len());
    for command in names(&list[..end].join("\n")) {
        add(page, &[words, &[command]].concat());
    }
}

/// What a command prints, without the blanks at the ends of lines.
fn help(args: &[&str]) -> String {
    let mut command = cpudyno(args);
    command.env("COLUMNS", COLUMNS.to_string());
    let text = finish(command).success();
    for line in text.lines() {
        assert!(line.chars().count() <= COLUMNS, "{args:?}: {line}");
    }
    text.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// The names that a list of commands has, each at the beginning of an indented line.
fn names(list: &str) -> Vec<&str> {
    // What is indented further continues the line before.
    let lines = list.lines().filter_map(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| !line.starts_with(' '));
    lines.filter_map(|line| line.split_whitespace().next()).collect()
}
