//! The face of the reference tool, intel-speed-select: its arguments, its text, its JSON.
//!
//! Scripts that were written for it get the same bytes here, but for the differences that
//! `docs/reference/conformance.md` lists, each with its reason. [`TOOLS`] are the versions that are
//! followed, one row each. [`args`] are the arguments; `render` makes a tree of sections and titles of a
//! snapshot, a pure function; `tree` writes it as text or as JSON.
//!
//! # Source
//! What the unmodified tool prints on simulated machines; `cargo peers conformance` compares.

pub mod args;
mod changing;
mod help;
mod info;
mod layout;
mod render;
#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::path::PathBuf;

use machine::Machine;
use machine::isst::settable::{self, Settable};
use model::{CpuSet, Obstacle, Unavailable};

use self::args::{CompatCommand, Query, Refused};
use self::layout::{CompatOutput, Node};
use self::render::RenderContext;
use crate::change::{NotChanged, Refused as Rejected, Wish, registers};
use crate::error::Error;
use crate::model::{Licence, NAMED, Snapshot};
use crate::processor::Processor;
use crate::read::{Levels, Wanted, read};

/// A version of the reference tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// As it calls itself.
    pub version: &'static str,
    /// The kernel that it came with.
    pub kernel: &'static str,
    /// The newest interface that it knows.
    pub newest_interface: u16,
    /// Whether it has the titles that came with power domains.
    pub newer_titles: bool,
}

/// The versions that are followed, the one that is followed unasked first.
pub const TOOLS: &[Tool] = &[
    Tool { version: "1.20", kernel: "6.12", newest_interface: 3, newer_titles: true },
    Tool { version: "1.13", kernel: "6.1", newest_interface: 1, newer_titles: false },
];

impl Tool {
    /// The version that is followed unasked.
    pub const DEFAULT: &'static Tool = &TOOLS[0];

    /// What it calls a licence; none: it does not know it. The older one knows three.
    fn licence(&self, licence: Licence) -> Option<&'static str> {
        const OLDER: usize = 3;
        if self.newer_titles {
            return Some(licence.name);
        }
        NAMED[..OLDER].get(usize::from(licence.number)).copied()
    }

    /// The row of a version.
    pub fn of(version: &str) -> Option<&'static Tool> {
        TOOLS.iter().find(|tool| tool.version == version)
    }
}

/// What is printed where, and how the process ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompatAnswer {
    /// For standard output.
    pub stdout: String,
    /// For standard error, which is where the reference tool has its results.
    pub stderr: String,
    /// Results for a file, where one was named.
    pub file: Option<(PathBuf, String)>,
    /// The exit code.
    pub code: u8,
    /// How many ioctls it took.
    pub ioctls: u32,
}

/// Exit codes, in addition to those of the reference tool.
mod code {
    /// Something could not be read.
    pub(super) const FAILED: u8 = 1;
    /// Wrong arguments, which the reference tool does not always refuse.
    pub(super) const USAGE: u8 = 2;
    /// This machine has no Speed Select.
    pub(super) const NOT_HERE: u8 = 3;
    /// This user may not ask.
    pub(super) const REFUSED: u8 = 4;
    /// A list of CPUs that is none.
    pub(super) const MALFORMED: u8 = 255;
}

/// Who fulfils a wish, all of it or nothing.
pub type Changer<'a> = &'a mut dyn FnMut(&Wish) -> Result<(), NotChanged>;

/// Of who only reads.
pub fn nobody(wish: &Wish) -> Result<(), NotChanged> {
    Err(NotChanged::Refused(Rejected::Order {
        what: wish.words(),
        why: "nothing is changed here".to_owned(),
        hint: "`cpudyno sst` changes".to_owned(),
    }))
}

/// What the tool would say, called with these arguments on that machine.
pub fn answer(
    machine: &Machine,
    tool: &Tool,
    arguments: &[String],
    changer: Changer<'_>,
) -> CompatAnswer {
    let mut answer = CompatAnswer { stdout: banner(machine), ..CompatAnswer::default() };
    let asked = match args::parse(tool, arguments) {
        Ok(asked) => asked,
        Err(refused) => return refused_arguments(answer, &refused),
    };
    let (file, text) = match asked {
        CompatCommand::Help(text) => {
            answer.stdout.push_str(&text);
            return answer;
        }
        CompatCommand::Version { file } => (file, Ok(format!("Version v{}\n", tool.version))),
        CompatCommand::Info { file } => (file, results(machine, tool, &Query::INFO, &mut answer)),
        CompatCommand::Results { query, file } => {
            (file, results(machine, tool, &query, &mut answer))
        }
        CompatCommand::TurboLimits { cpus, json, file } => {
            (file, turbo_limits(machine, tool, cpus, json, &mut answer))
        }
        CompatCommand::Change { wish, command, json, file } => {
            match changed(machine, tool, (&wish, &command, json), &mut answer, changer) {
                Ok(text) => (file, Ok(text)),
                Err(NotChanged::Refused(Rejected::Unread(error))) => (file, Err(error)),
                Err(error) => return not_changed(answer, &error),
            }
        }
    };
    match (text, file) {
        (Err(error), _) => return failed(answer, &error),
        (Ok(text), Some(file)) => answer.file = Some((file, text)),
        (Ok(text), None) => answer.stderr.push_str(&text),
    }
    answer
}

/// Two lines that come before everything else.
fn banner(machine: &Machine) -> String {
    let mut text = "Intel(R) Speed Select Technology\n".to_owned();
    if let Some(Processor { model, .. }) = Processor::of(machine) {
        let _ = writeln!(text, "Executing on CPU model:{model}[{model:#x}]");
    }
    if let Some(model) = &machine.simulated {
        let _ = writeln!(text, "SIMULATED machine: {}", model.name);
    }
    text
}

/// The results of a query, and what it says beside them.
fn results(
    machine: &Machine,
    tool: &Tool,
    query: &Query,
    answer: &mut CompatAnswer,
) -> Result<String, Error> {
    let mut wanted = Wanted::by(query.command);
    wanted.levels = query.level.map_or(wanted.levels, Levels::Only);
    wanted.cpus.clone_from(&query.cpus);
    let snapshot = match read(machine, &wanted) {
        // Which levels there are says what is wrong with the one that is not.
        Err(Error::Level { .. }) => {
            read(machine, &Wanted { levels: Levels::Summary, ..wanted.clone() })
        }
        other => other,
    }?;
    newest(tool, &snapshot)?;
    answer.ioctls = snapshot.ioctls;
    if query.debug {
        let (backend, ioctls) = (snapshot.backend, snapshot.ioctls);
        let _ = writeln!(answer.stdout, "debug: {ioctls} ioctls through {backend}");
    }
    let seen = RenderContext { tool, snapshot: &snapshot, words: mask_words(machine, &snapshot) };
    let page =
        if query.command.words == "info" { info::page(&seen) } else { render::page(&seen, query) };
    answer.code = if page.failed { code::FAILED } else { 0 };
    Ok(page.written(query.json))
}

/// The turbo limits that hold at most, of each power domain.
fn turbo_limits(
    machine: &Machine,
    tool: &Tool,
    cpus: Option<CpuSet>,
    json: bool,
    answer: &mut CompatAnswer,
) -> Result<String, Error> {
    let wanted = Wanted { levels: Levels::Summary, parts: Vec::new(), cpus };
    let snapshot = read(machine, &wanted)?;
    newest(tool, &snapshot)?;
    let seen = RenderContext { tool, snapshot: &snapshot, words: mask_words(machine, &snapshot) };
    let mut shown = CompatOutput::default();
    for at in render::places(&snapshot, wanted.cpus.as_ref()) {
        if at.cpu.is_none() {
            continue;
        }
        let registers = registers(&snapshot, at.domain);
        let settable = Settable { at: registers, what: settable::What::TurboLimits };
        match settable.read(&*machine.isst, &*machine.tree) {
            Ok(text) => {
                let limits = text.trim_start_matches("0x").trim_start_matches('0');
                let leaf = Node::leaf("trl", &format_args!("0x{limits:0>1}"));
                seen.put(&mut shown, at, vec![Node::section("get-trl", vec![leaf])]);
            }
            Err(reason) => shown.fail(format!("Failed to get trl: {}", reason.why)),
        }
    }
    answer.ioctls = snapshot.ioctls;
    answer.code = if shown.failed { code::FAILED } else { 0 };
    Ok(shown.written(json))
}

/// What is told when a wish was fulfilled.
fn changed(
    machine: &Machine,
    tool: &Tool,
    (wish, command, json): (&Wish, &str, bool),
    answer: &mut CompatAnswer,
    changer: Changer<'_>,
) -> Result<String, NotChanged> {
    let Some(row) = changing::named(command) else { return Ok(String::new()) };
    let wanted = Wanted { levels: Levels::Summary, parts: Vec::new(), cpus: wish.cpus.clone() };
    let snapshot = read(machine, &wanted).map_err(Rejected::from)?;
    newest(tool, &snapshot).map_err(Rejected::from)?;
    answer.ioctls = snapshot.ioctls;
    changer(wish)?;
    let seen = RenderContext { tool, snapshot: &snapshot, words: mask_words(machine, &snapshot) };
    Ok(row.told(&seen, wish).written(json))
}

/// Nothing comes before the reason: what was refused was not executed on any CPU.
fn refusal(answer: CompatAnswer, code: u8, why: &str, hint: Option<&str>) -> CompatAnswer {
    let hint = hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
    let stderr = format!("{}error: {why}\n{hint}", answer.stderr);
    CompatAnswer { stdout: String::new(), stderr, code, ..answer }
}

fn not_changed(answer: CompatAnswer, error: &NotChanged) -> CompatAnswer {
    let code = match error {
        NotChanged::Refused(Rejected::NotHere { .. }) => code::NOT_HERE,
        NotChanged::Refused(Rejected::Order { .. }) => code::REFUSED,
        NotChanged::Refused(Rejected::Usage { .. }) => code::USAGE,
        _ => code::FAILED,
    };
    refusal(answer, code, &error.to_string(), error.hint())
}

/// An older version refuses what it does not know, and so do its titles.
fn newest(tool: &Tool, snapshot: &Snapshot) -> Result<(), Error> {
    let interface = snapshot.platform.api_version;
    if interface <= tool.newest_interface {
        return Ok(());
    }
    let why = format!(
        "version {} of the tool knows interface 1 alone, and this machine has interface {interface}",
        tool.version
    );
    Err(Error::Unavailable(
        Unavailable::new(Obstacle::Cpudyno, "Speed Select", why)
            .with_remedy(format!("`--compat={}` knows it", Tool::DEFAULT.version)),
    ))
}

/// How many words of 32 bits the kernel's masks of CPUs have; as many as are needed where it does not say.
fn mask_words(machine: &Machine, snapshot: &Snapshot) -> usize {
    const WORD: usize = 32;
    let possible = machine.tree.read("/sys/devices/system/cpu/possible").ok();
    let possible = possible.and_then(|text| text.parse::<model::CpuSet>().ok());
    let last = possible.and_then(|cpus| cpus.iter().last());
    let members = snapshot.domains.iter().flat_map(|domain| &domain.cpus);
    let last = members.map(|member| member.cpu).chain(last).max();
    last.map_or(1, |cpu| (cpu.0 as usize + 1).div_ceil(WORD))
}

fn refused_arguments(mut answer: CompatAnswer, refused: &Refused) -> CompatAnswer {
    match refused {
        Refused::AsThere { text, code } => {
            answer.stderr.push_str(text);
            answer.code = *code;
        }
        Refused::Here { why, hint } => return refusal(answer, code::USAGE, why, Some(hint)),
    }
    answer
}

fn failed(answer: CompatAnswer, error: &Error) -> CompatAnswer {
    let hint = match error {
        Error::Unavailable(reason) | Error::Unplaced { reason, .. } => reason.remedy.clone(),
        Error::Cpus { online, .. } => Some(format!("choose among -c {online}")),
        Error::Level { .. } => None,
    };
    let code = match error {
        _ if error.is_right() => code::REFUSED,
        Error::Unavailable(_) | Error::Unplaced { .. } => code::NOT_HERE,
        Error::Cpus { .. } | Error::Level { .. } => code::USAGE,
    };
    refusal(answer, code, &error.to_string(), hint.as_deref())
}
