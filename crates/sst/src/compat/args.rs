//! The arguments of the reference tool: options, a feature, a command, its options.
//!
//! What it drops in silence or ignores is refused here.

use std::path::{Path, PathBuf};

use model::{CpuId, CpuSet};

use super::layout::CompatOutput;
use super::{Tool, changing, code, help};
use crate::change::Wish;
use crate::commands::{COMMANDS, Command};
use crate::lessons::Lesson;

/// What was asked for.
#[derive(Debug)]
pub enum CompatCommand {
    /// How it is called.
    Help(String),
    /// Which version it is.
    Version {
        /// Where the answer goes.
        file: Option<PathBuf>,
    },
    /// What the machine can do.
    Info {
        /// Where the answer goes.
        file: Option<PathBuf>,
    },
    /// What a command shows.
    Results {
        /// Of what, and how.
        query: Query,
        /// Where the answer goes.
        file: Option<PathBuf>,
    },
    /// The turbo limits that hold at most.
    TurboLimits {
        /// Only what belongs to these CPUs.
        cpus: Option<CpuSet>,
        /// Told as JSON.
        json: bool,
        /// Where the answer goes.
        file: Option<PathBuf>,
    },
    /// Something is to be changed.
    Change {
        /// What.
        wish: Wish,
        /// By which command.
        command: String,
        /// Told as JSON.
        json: bool,
        /// Where the answer goes.
        file: Option<PathBuf>,
    },
}

impl CompatCommand {
    /// Where the answer goes, where a file was named.
    pub fn file(&self) -> Option<&Path> {
        match self {
            CompatCommand::Help(_) => None,
            CompatCommand::Version { file }
            | CompatCommand::Info { file }
            | CompatCommand::Results { file, .. }
            | CompatCommand::TurboLimits { file, .. }
            | CompatCommand::Change { file, .. } => file.as_deref(),
        }
    }
}

/// What a command shows of which part of the machine.
#[derive(Debug, Clone)]
pub struct Query {
    /// The command.
    pub command: &'static Command,
    /// Only what belongs to these CPUs.
    pub cpus: Option<CpuSet>,
    /// As JSON.
    pub json: bool,
    /// How many ioctls it took, too.
    pub debug: bool,
    /// Only this level.
    pub level: Option<u8>,
    /// Only this group of cores.
    pub bucket: Option<usize>,
    /// Only this licence.
    pub licence: Option<u8>,
    /// Only this class.
    pub class: Option<u8>,
}

impl Query {
    /// What the machine can do.
    pub(super) const INFO: Query = Query::of(&COMMANDS[0]);

    const fn of(command: &'static Command) -> Query {
        Query {
            command,
            cpus: None,
            json: false,
            debug: false,
            level: None,
            bucket: None,
            licence: None,
            class: None,
        }
    }
}

/// Why arguments are not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// In the words of the reference tool.
    AsThere {
        /// What is printed.
        text: String,
        /// The exit code.
        code: u8,
    },
    /// It takes them, and misleads; or it does something that is not done here.
    Here {
        /// What is wrong.
        why: String,
        /// What helps.
        hint: String,
    },
}

impl Refused {
    pub(super) fn as_there(text: impl Into<String>, code: u8) -> Refused {
        Refused::AsThere { text: text.into(), code }
    }

    pub(super) fn here(why: impl Into<String>) -> Refused {
        Refused::Here {
            why: why.into(),
            hint: "`intel-speed-select --help` lists what there is".to_owned(),
        }
    }

    /// An error among results.
    pub(super) fn error(message: &str, json: bool, code: u8) -> Refused {
        let mut shown = CompatOutput::default();
        shown.fail(message);
        Refused::as_there(shown.written(json), code)
    }

    /// A number, of digits alone.
    pub(super) fn number<T: std::str::FromStr>(of: &str, text: &str) -> Result<T, Refused> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number.ok_or_else(|| {
            Refused::as_there(format!("malformed arguments for:{of} [{text}]\n"), code::USAGE)
        })
    }
}

/// An option: one letter, its long name, and whether a value follows.
pub(super) type Word = (char, &'static str, bool, &'static str);

/// Those before the feature.
pub(super) const GLOBAL: &[Word] = &[
    ('c', "cpu", true, "only these CPUs: 0,2,8-11"),
    ('d', "debug", false, "how many ioctls it took, too"),
    ('f', "format", true, "text or json"),
    ('h', "help", false, "this text; behind a feature or a command, about that"),
    ('i', "info", false, "what this machine can do"),
    ('o', "out", true, "results to a file instead of standard error"),
    ('v', "version", false, "which version is followed"),
];

/// Those of the reference tool that are for what is not done here.
const ELSEWHERE: &[Word] = &[
    ('a', "all-cpus-online", false, "switches CPUs on"),
    ('p', "pause", true, "slows the mailbox down"),
    ('r', "retry", true, "sets how often the mailbox is tried; here it is three times"),
    ('b', "oob", false, "begins a daemon"),
    ('n', "no-daemon", false, "is for the daemon"),
    ('w', "poll-interval", true, "is for the daemon"),
    ('g', "cgroupv2", false, "isolates CPUs"),
    ('u', "cpu0-workaround", false, "isolates CPU 0"),
];

/// Those behind a command, with the commands that have them.
pub(super) const OF_COMMANDS: &[(Word, &[&str])] = &[
    (
        ('l', "level", true, "the performance level"),
        &["perf-profile info", "base-freq info", "turbo-freq info"],
    ),
    (('b', "bucket", true, "only this group of cores"), &["turbo-freq info"]),
    (('r', "trl-type", true, "only limits under sse, avx2 or avx512"), &["turbo-freq info"]),
    (('c', "clos", true, "the class, 0 to 3"), &["core-power get-config"]),
    (HELP, &[]),
];

const HELP: Word = ('h', "help", false, "about this command");

/// The one command that reads and is no row: a register, as it is.
const TURBO_LIMITS: &str = "turbo-mode get-trl";

/// The arguments that are left.
struct Rest<'a>(&'a [String]);

/// An option as it was given.
struct Given<'a> {
    word: Word,
    value: &'a str,
}

impl<'a> Rest<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// The next option; `None`: what follows is none. Long ones may be shortened, and begin with one
    /// stroke, too.
    fn option(&mut self, known: &[Word]) -> Result<Option<Given<'a>>, Refused> {
        let Some(argument) = self.0.first().filter(|a| a.len() > 1 && a.starts_with('-')) else {
            return Ok(None);
        };
        self.next();
        if argument == "--" {
            return Ok(None);
        }
        let name = argument.trim_start_matches('-');
        let (letter, behind) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
        let is_short = !argument.starts_with("--");
        let short = known.iter().find(|word| is_short && letter.chars().eq([word.0]));
        let (whole, attached) = name.split_once('=').map_or((name, None), |(n, v)| (n, Some(v)));
        let mut long = known.iter().filter(|word| word.1.starts_with(whole));
        let by_name = long.next().filter(|word| long.next().is_none() || word.1 == whole);
        let (word, attached) = match (short, by_name) {
            (Some(word), _) if behind.is_empty() => (word, None),
            (_, Some(word)) => (word, attached),
            (Some(word), None) if word.2 => (word, Some(behind)),
            _ => return Err(unknown(argument)),
        };
        let value = match attached {
            Some(_) if !word.2 => return Err(unknown(argument)),
            Some(value) => value,
            None if word.2 => self
                .next()
                .ok_or_else(|| Refused::here(format!("option `{argument}` needs a value")))?,
            None => "",
        };
        Ok(Some(Given { word: *word, value }))
    }
}

fn unknown(argument: &str) -> Refused {
    Refused::here(format!("there is no option `{argument}` here"))
}

/// Options before the feature.
#[derive(Default)]
struct Before {
    cpus: Option<CpuSet>,
    json: bool,
    debug: bool,
    file: Option<PathBuf>,
}

/// What was typed, checked alone.
pub fn parse(tool: &Tool, arguments: &[String]) -> Result<CompatCommand, Refused> {
    let known: Vec<Word> = GLOBAL.iter().chain(ELSEWHERE).copied().collect();
    let mut rest = Rest(arguments);
    let mut before = Before::default();
    while let Some(Given { word, value }) = rest.option(&known)? {
        match word.0 {
            'c' => {
                let more = cpus(value).ok_or_else(|| {
                    Refused::as_there(format!("\"--cpu {value}\" malformed\n"), code::MALFORMED)
                })?;
                let before = before.cpus.get_or_insert_default();
                *before = before.iter().chain(more.iter()).collect();
            }
            'd' => before.debug = true,
            'f' => before.json = is_json(value)?,
            'h' => return Ok(CompatCommand::Help(help::top(tool))),
            'i' => return Ok(CompatCommand::Info { file: before.file }),
            'o' => before.file = Some(value.into()),
            'v' => return Ok(CompatCommand::Version { file: before.file }),
            _ => {
                let why = format!("option --{} {}, which is not done here", word.1, word.3);
                return Err(Refused::here(why));
            }
        }
    }
    let Some(feature) = rest.next() else {
        return Err(Refused::here("no feature and no command was given"));
    };
    of_feature(feature, rest, before)
}

/// A feature stands alone, or a command without its feature.
fn no_command(word: &str) -> Refused {
    let of: Vec<&str> = Lesson::of_commands(word).map(|lesson| lesson.words).collect();
    if of.is_empty() {
        return Refused::here(format!("no command was given for `{word}`"));
    }
    Refused::Here {
        why: format!("`{word}` needs its feature before it"),
        hint: format!("{}; `{} --help` has an example", of.join(", or "), of[0]),
    }
}

fn is_json(format: &str) -> Result<bool, Refused> {
    match format {
        "json" => Ok(true),
        "text" => Ok(false),
        _ => Err(Refused::here(format!("there is no format `{format}`, only text and json"))),
    }
}

/// Numbers and ranges, `4-7` or `4..7`.
fn cpus(list: &str) -> Option<CpuSet> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok())?
    };
    let mut all = CpuSet::default();
    for part in list.split(',') {
        let range = part.split_once("..").or_else(|| part.split_once('-'));
        let (first, last) = match range {
            None => (number(part)?, number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last <= first {
                    return None;
                }
                (first, last)
            }
        };
        // More than any kernel has would only cost memory.
        if last > CPUS_MAX {
            return None;
        }
        all = all.iter().chain((first..=last).map(CpuId)).collect();
    }
    Some(all)
}

/// Twice what the kernel can be built for.
const CPUS_MAX: u32 = 16384;

fn of_feature(feature: &str, mut rest: Rest<'_>, before: Before) -> Result<CompatCommand, Refused> {
    let Some(word) = rest.0.first().filter(|word| !word.starts_with('-')) else {
        return match rest.option(&[HELP])? {
            Some(_) => help::feature(feature).map(CompatCommand::Help).ok_or_else(invalid),
            None => Err(no_command(feature)),
        };
    };
    rest.next();
    let words = format!("{feature} {word}");
    if let Some(row) = changing::named(&words) {
        return of_change(row, rest, before);
    }
    if words == TURBO_LIMITS {
        if rest.option(&[HELP])?.is_some() {
            return Ok(CompatCommand::Help(help::command(&words, &[HELP])));
        }
        if let Some(word) = rest.next() {
            return Err(Refused::here(format!("`{word}` is too much behind `{words}`")));
        }
        let Before { cpus, json, file, .. } = before;
        return Ok(CompatCommand::TurboLimits { cpus, json, file });
    }
    let command = COMMANDS.iter().find(|command| command.words == words).ok_or_else(invalid)?;
    let Before { cpus, json, debug, file } = before;
    let mut query = Query { cpus, json, debug, ..Query::of(command) };
    let known: Vec<Word> = options(command).collect();
    let mut class = None;
    while let Some(Given { word, value }) = rest.option(&known)? {
        match word.0 {
            'l' => query.level = Some(Refused::number("level", value)?),
            'b' => query.bucket = Some(Refused::number("bucket", value)?),
            'c' => class = Some(Refused::number::<u32>("clos", value)?),
            'r' => query.licence = Some(licence(value)?),
            _ => return Ok(CompatCommand::Help(help::command(&words, &known))),
        }
    }
    if let Some(word) = rest.next() {
        return Err(Refused::here(format!("`{word}` is too much behind `{words}`")));
    }
    required(&mut query, class)?;
    Ok(CompatCommand::Results { query, file })
}

/// A command that changes the machine.
fn of_change(
    row: &'static changing::ChangeCommand,
    mut rest: Rest<'_>,
    before: Before,
) -> Result<CompatCommand, Refused> {
    let Before { cpus, json, file, .. } = before;
    let known: Vec<Word> = row.options().iter().copied().chain([HELP]).collect();
    let mut given = changing::Given::default();
    while let Some(Given { word, value }) = rest.option(&known)? {
        if word == HELP {
            return Ok(CompatCommand::Help(help::command(row.words, &known)));
        }
        given.take(&word, value)?;
    }
    if let Some(word) = rest.next() {
        return Err(Refused::here(format!("`{word}` is too much behind `{}`", row.words)));
    }
    let wish = row.wish(&given, cpus, json)?;
    Ok(CompatCommand::Change { wish, command: row.words.to_owned(), json, file })
}

/// What a command cannot do without.
fn required(query: &mut Query, class: Option<u32>) -> Result<(), Refused> {
    let error = |message, code| Err(Refused::error(message, query.json, code));
    match query.command.words {
        "base-freq info" if query.level.is_none() => {
            error("Invalid command: specify tdp_level", code::FAILED)
        }
        "turbo-freq info" if query.level.is_none() => {
            error("Invalid command: specify tdp_level\n", code::FAILED)
        }
        "core-power get-config" => {
            query.class = class.and_then(|class| u8::try_from(class).ok()).filter(|it| *it < 4);
            if query.class.is_some() { Ok(()) } else { error("Invalid clos id\n", code::USAGE) }
        }
        "core-power get-assoc" if query.cpus.is_none() => {
            error("Invalid target cpu. Specify with [-c|--cpu]", code::USAGE)
        }
        _ => Ok(()),
    }
}

fn invalid() -> Refused {
    Refused::as_there("Invalid command\n", code::USAGE)
}

/// The options of a command.
pub(super) fn options(command: &Command) -> impl Iterator<Item = Word> {
    let words = command.words;
    let has = move |on: &[&str]| on.is_empty() || on.contains(&words);
    OF_COMMANDS.iter().filter(move |(_, on)| has(on)).map(|(word, _)| *word)
}

fn licence(name: &str) -> Result<u8, Refused> {
    let names = ["sse", "avx2", "avx512"];
    let place = names.iter().position(|known| *known == name);
    place
        .map(|place| place as u8)
        .ok_or_else(|| Refused::as_there("Invalid sse,avx options\n", code::FAILED))
}
