//! The generated reference is what it is generated from. `cargo xtask generate` rewrites it.

use std::fmt::Write;
use std::path::Path;

use crate::common::{cpudyno, finish};

#[test]
fn the_reference_is_the_help_of_every_command() {
    let main = help(&["--help"]);
    let mut page = String::from(
        "# The command line\n\n\
         What `--help` prints, command by command; `cargo xtask generate` rewrites this file.\n",
    );
    let mut add = |title: &str, help: &str| {
        write!(page, "\n## {title}\n\n```text\n{help}```\n").unwrap();
    };
    add("cpudyno", &main);
    let commands = commands(&main);
    assert!(commands.contains(&"sheet"), "{commands:?}");
    for command in commands {
        add(&format!("cpudyno {command}"), &help(&[command, "--help"]));
    }
    is_current("cpudyno.md", &page);
}

/// The help of a command, without the blanks at the ends of lines.
fn help(args: &[&str]) -> String {
    let mut command = cpudyno(args);
    command.env("COLUMNS", "100");
    finish(command)
        .success()
        .lines()
        .fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// The commands that a help lists, without the one that prints help.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        // What is indented further continues the line before.
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect()
}

/// Compares a file of the reference with what it should be, or rewrites it when asked to.
fn is_current(name: &str, expected: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let file = folder.join(name);
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&file, expected).unwrap();
        return;
    }
    let current = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(current == expected, "docs/reference/{name} is stale: run `cargo xtask generate`");
}
