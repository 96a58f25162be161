//! How it is called, in our own words.

use std::fmt::Write;

use super::Tool;
use super::words::{GLOBAL, Word, options};
use crate::commands::{COMMANDS, Command};

const NAME: &str = "intel-speed-select";

fn lines<'a>(rows: impl Iterator<Item = (String, &'a str)>) -> String {
    let rows: Vec<(String, &str)> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |mut text, (name, doc)| {
        let _ = writeln!(text, "  {name:width$}  {doc}");
        text
    })
}

fn option((letter, long, value, doc): Word) -> (String, &'static str) {
    (format!("-{letter}, --{long}{}", if value { " VALUE" } else { "" }), doc)
}

fn commands(feature: &str) -> impl Iterator<Item = &'static Command> {
    let prefix = format!("{feature} ");
    COMMANDS.iter().filter(move |command| command.words.starts_with(&prefix))
}

/// Everything.
pub(super) fn top(tool: &Tool) -> String {
    let two_words = COMMANDS.iter().filter(|command| command.words.contains(' '));
    format!(
        "Shows Intel Speed Select as {NAME} {} does; cpudyno answers, which reads and changes nothing.\n\n\
         {NAME} [OPTIONS] FEATURE COMMAND [OPTIONS OF THE COMMAND]\n\n\
         Options:\n{}\nFeatures and commands:\n{}\n\
         `FEATURE --help` and `FEATURE COMMAND --help` say more. What differs, and why:\n\
         docs/reference/conformance.md. `cpudyno sst` says more in fewer words.\n",
        tool.version,
        lines(GLOBAL.iter().map(|word| option(*word))),
        lines(two_words.map(|command| (command.words.to_owned(), command.doc))),
    )
}

/// A feature; `None`: there is no such feature.
pub(super) fn feature(name: &str) -> Option<String> {
    let all = lines(commands(name).map(|command| (command.words.to_owned(), command.doc)));
    (!all.is_empty()).then(|| format!("Commands of {name}:\n{all}"))
}

/// A command.
pub(super) fn command(command: &Command) -> String {
    let Command { words, doc, .. } = command;
    format!("{NAME} {words}\n\n{doc}.\n\nOptions:\n{}", lines(options(command).map(option)))
}
