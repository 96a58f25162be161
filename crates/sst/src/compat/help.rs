//! How it is called, in our own words.

use std::fmt::Write;

use super::Tool;
use super::args::{GLOBAL, Word};
use super::changing::{self, ROWS};
use crate::commands::{COMMANDS, Command};
use crate::lessons::Lesson;

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

/// The commands of a feature that change the machine.
fn changes(feature: &str) -> impl Iterator<Item = &'static changing::ChangeCommand> {
    let prefix = format!("{feature} ");
    ROWS.iter().filter(move |row| row.words.starts_with(&prefix))
}

/// Everything.
pub(super) fn top(tool: &Tool) -> String {
    let two_words = COMMANDS.iter().filter(|command| command.words.contains(' '));
    format!(
        "Shows and changes Intel Speed Select as {NAME} {} does; cpudyno answers. What it changes it keeps \
         in a journal: `cpudyno undo` puts it back.\n\n\
         {NAME} [OPTIONS] FEATURE COMMAND [OPTIONS OF THE COMMAND]\n\n\
         Options:\n{}\nFeatures and commands:\n{}\n\
         `FEATURE --help` and `FEATURE COMMAND --help` say more. What differs, and why:\n\
         docs/reference/conformance.md. `cpudyno sst` says more in fewer words.\n",
        tool.version,
        lines(GLOBAL.iter().map(|word| option(*word))),
        lines(
            two_words
                .map(|command| (command.words.to_owned(), command.doc))
                .chain(ROWS.iter().map(|row| (row.words.to_owned(), row.doc)))
        ),
    )
}

/// A feature; `None`: there is no such feature.
pub(super) fn feature(name: &str) -> Option<String> {
    let reading = commands(name).map(|command| (command.words.to_owned(), command.doc));
    let all = lines(reading.chain(changes(name).map(|row| (row.words.to_owned(), row.doc))));
    let all = format!("Commands:\n{all}\n`{name} COMMAND --help` says more of each.\n");
    Lesson::of(name).map(|lesson| page(&format!("{name} COMMAND"), lesson, &all))
}

/// A command, with the options that stand behind it.
pub(super) fn command(words: &str, known: &[Word]) -> String {
    let options = format!("Options:\n{}", lines(known.iter().map(|word| option(*word))));
    Lesson::of(words).map_or_else(String::new, |lesson| page(words, lesson, &options))
}

/// How it is called, what it does, what stands behind it, and a call of it.
fn page(call: &str, lesson: &Lesson, rest: &str) -> String {
    let mut text = format!("{NAME} {call}\n\n{}\n{rest}", wrapped(lesson.text));
    if !lesson.example.is_empty() {
        let _ = write!(text, "\nExample:\n  {NAME} {}\n", lesson.example);
    }
    text
}

/// How wide a text becomes, in characters.
const WIDTH: usize = 100;

fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut().filter(|line| line.len() + 1 + word.len() <= WIDTH) {
            Some(line) if !line.is_empty() => *line = format!("{line} {word}"),
            Some(line) => line.push_str(word),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}
