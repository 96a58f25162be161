//! Arguments: what was typed, checked alone. Parsing opens no file and reads no machine.

mod ab;
mod capture;
mod common;
mod compare;
mod compat;
mod cores;
mod doctor;
mod fleet;
mod formats;
mod gate;
mod help;
mod history;
mod info;
mod jitter;
mod key;
mod lessons;
mod memory;
mod openmp;
mod pages;
mod pause;
mod plan;
mod pmu;
mod quiet;
mod settings;
mod sheet;
mod show;
mod sst;
mod start;
mod streams;
mod sweep;
mod threads;
mod top;
mod turbo;
mod verify;
mod version;
mod wait;
mod wake;

pub(crate) use ab::{AbArgs, Area, ArmSetting, Direction, arm_setting};
pub(crate) use capture::CaptureArgs;
pub(crate) use common::{Colour, Files, Format, Measuring, Output, PresentationArgs, Stream};
pub(crate) use compare::CompareArgs;
pub(crate) use compat::{CompatArgs, compat};
pub(crate) use cores::CoresArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use fleet::{AskedFault, FleetArgs, FleetCommand, PackArgs, SimulateArgs, Since};
pub(crate) use gate::{Bounded, GateArgs};
pub(crate) use help::HelpArgs;
pub(crate) use history::{HistoryAddArgs, HistoryArgs, HistoryCommand, StoreArgs};
pub(crate) use info::InfoArgs;
pub(crate) use jitter::JitterArgs;
pub(crate) use key::KeyArgs;
pub(crate) use memory::{KernelArg, MemoryArgs, OriginalArgs, QuestionArgs, Switch};
pub(crate) use openmp::{OpenmpArgs, RuntimeName};
pub(crate) use pages::{CompletionsArgs, PagesArgs, completions, pages};
pub(crate) use pause::PauseArgs;
pub(crate) use plan::{AskedHosts, PlanArgs};
pub(crate) use pmu::{
    AskedEvents, CpuModelArgs, PmuArgs, PmuCheckArgs, PmuCommand, PmuEventsCommand, PmuKernel,
    PmuKernelArgs, PmuListArgs, PmuSelftestArgs, PmuStatArgs, PmuUpdateArgs, RooflineOfRecord,
    SavedBudget,
};
pub(crate) use quiet::QuietArgs;
pub(crate) use settings::{Asked, Changing, SetArgs, SettingsArgs, UndoArgs, setting};
pub(crate) use sheet::SheetArgs;
pub(crate) use show::ShowArgs;
pub(crate) use sst::{
    Change as SstChange, Chosen, SstArgs, SstFeature, Tried, TriedWorkload, TryArgs,
};
pub(crate) use start::{StartArgs, StartTime};
pub(crate) use streams::StreamsArgs;
pub(crate) use sweep::{PerUnit, SweepArgs};
pub(crate) use threads::{KindOfWork, ThreadsArgs};
pub(crate) use top::TopArgs;
pub(crate) use turbo::{MixPart, Test, TurboArgs};
pub(crate) use verify::VerifyArgs;
pub(crate) use wait::WaitArgs;
pub(crate) use wake::{WakeArgs, WakeMethod, WakeQuestion};

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use model::name::did_you_mean;

use crate::failure::Failure;
use crate::output;

/// Measure what the CPUs of a machine really do.
///
/// cpudyno measures clocks, caches, memory, latencies and the cost of instructions, and says how far the
/// numbers can be trusted. It runs on bare metal, in virtual machines and in containers, with root or without.
/// It changes nothing on the machine unless you ask for it: by `set`, `ab`, `quiet` and `sst`, which restore
/// what they changed or leave it to `undo`, and by `wake idle --limit-latency` while it runs.
///
/// Start with `cpudyno sheet`. If a number is missing, `cpudyno doctor` shows why.
#[derive(Debug, Parser)]
#[command(name = "cpudyno", version, max_term_width = 100, after_long_help = EXIT_CODES)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Use another machine: a capture, or a simulated one such as sim:2s-56c.
    ///
    /// `cpudyno capture FILE` writes a capture; NAME is its file. A simulated machine is a description that
    /// answers like a machine; everything printed or recorded says SIMULATED. There are sim:1c, sim:4c, sim:laptop, sim:faulty, sim:hybrid, sim:container,
    /// sim:2s-28c, sim:2s-56c, sim:epyc, sim:quota, sim:vm-2c, and with Speed Select sim:guide, sim:icelake, sim:sapphire,
    /// sim:sapphire-dimm, sim:sapphire-locked, sim:granite and sim:sierra.
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) machine: Option<String>,

    /// Read files below this folder instead of `/`: the root of another system.
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "machine")]
    pub(crate) root: Option<PathBuf>,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    the answer is no: doctor --require, verify, gate, key --compare, pmu selftest, pmu check, and
       --fail-on of compare, history, fleet; or the machine does not obey: set, sst
  2    wrong arguments, or a file that is no record
  3    cannot be measured, or decided, here
  4    refused: missing rights, a lock, or a change that cannot be undone
  70   a bug in cpudyno
  130  interrupted by Ctrl-C; the record holds what was measured
  143  the same by SIGTERM; 129 by SIGHUP, 131 by SIGQUIT

Commands that run another command (quiet, top, pmu stat) pass its exit code on.";

/// The commands; `help::GROUPS` has their order in the help.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Sheet(SheetArgs),
    Turbo(TurboArgs),
    Memory(MemoryArgs),
    Cores(CoresArgs),
    Pause(PauseArgs),
    Wake(WakeArgs),
    Openmp(OpenmpArgs),
    Jitter(JitterArgs),
    Threads(ThreadsArgs),
    Wait(WaitArgs),
    Pmu(PmuArgs),
    Top(TopArgs),
    Sst(SstArgs),
    Info(InfoArgs),
    Doctor(DoctorArgs),
    Settings(SettingsArgs),
    Set(SetArgs),
    Undo(UndoArgs),
    Ab(Box<AbArgs>),
    Sweep(Box<SweepArgs>),
    Quiet(QuietArgs),
    Verify(VerifyArgs),
    Gate(Box<GateArgs>),
    Key(KeyArgs),
    Compare(CompareArgs),
    History(Box<HistoryArgs>),
    Fleet(Box<FleetArgs>),
    Capture(CaptureArgs),
    Show(ShowArgs),
    Streams(StreamsArgs),
    Completions(CompletionsArgs),
    #[command(hide = true)]
    Pages(PagesArgs),
    /// Do what needs a process of its own: one order on standard input, the answer on standard output.
    #[command(hide = true)]
    Worker,
    Help(HelpArgs),
}

impl Command {
    /// Whether people read what it says besides its answer.
    pub(crate) fn is_for_people(&self) -> bool {
        let is_apart = matches!(
            self,
            Command::Worker
                | Command::Undo(_)
                | Command::Help(_)
                | Command::Completions(_)
                | Command::Pages(_)
        );
        !self.reads_no_machine() && !is_apart
    }

    /// Whether it has no use for a machine: `NOT_TAKEN` keeps the options that name one out of its help.
    pub(crate) fn reads_no_machine(&self) -> bool {
        match self {
            Command::Show(_) | Command::Compare(_) | Command::Fleet(_) | Command::Streams(_) => {
                true
            }
            Command::History(args) => args.command.is_none(),
            _ => false,
        }
    }
}

/// Reads the arguments. Help and version are printed here; they end with a failure of code 0.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, Failure> {
    let (args, command): (Vec<OsString>, _) = (args.into_iter().collect(), command());
    if version::is_asked(&args) {
        output::data(&version::text())?;
        return Err(Failure::new(0, ""));
    }
    let help = help_of(&command, &args);
    let words = path_of(&command, &args);
    let matches = command.try_get_matches_from(args);
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|error| {
        incomplete(&error, &words)
            .or_else(|| lessons::lacking(&error, &words.named))
            .unwrap_or_else(|| refused(&error, &words, help))
    })
}

/// Options of all questions of a command, or of all commands, that one of them does not take: its help
/// does not list them.
const NOT_TAKEN: &[(&[&str], &[&str])] = &[
    (&["memory", "latency"], &["kernels", "variant", "threads"]),
    (&["memory", "loaded"], &["kernels", "variant"]),
    (&["memory", "numa"], &["threads"]),
    (&["wake", "timer"], &["methods", "pairs"]),
    (&["show"], &["machine", "root"]),
    (&["compare"], &["machine", "root"]),
    (&["history"], &["machine", "root"]),
    (&["fleet"], &["machine", "root"]),
    (&["fleet", "pack"], &["machine", "root"]),
    (&["fleet", "plan"], &["machine", "root", "json", "html"]),
    (&["fleet", "simulate"], &["machine", "root"]),
    (&["streams"], &["machine", "root"]),
    (&["completions"], &["machine", "root"]),
    (&["help"], &["machine", "root"]),
];

/// Prints what `cpudyno help` was asked for.
pub(crate) fn help(args: &HelpArgs) -> Result<ExitCode, Failure> {
    let command = command();
    if args.all {
        output::data(&help::all(&command))?;
        return Ok(ExitCode::SUCCESS);
    }
    let typed: Vec<OsString> =
        [command.get_name()].into_iter().chain(args.words()).map(OsString::from).collect();
    let mut at = &command;
    for word in args.words() {
        at = at.find_subcommand(word).ok_or_else(|| {
            let known = at.get_subcommands().filter(|it| !it.is_hide_set());
            let hint = match did_you_mean(word, known.map(clap::Command::get_name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => help_of(&command, &typed),
            };
            Failure::usage(format!("unrecognized subcommand '{word}'")).hint(hint)
        })?;
    }
    // It prints the help, and ends with a failure of code 0.
    parse(typed.into_iter().chain(["--help".into()])).map(|_| ExitCode::SUCCESS)
}

fn command() -> clap::Command {
    let mut command = Cli::command().mut_subcommand("sst", lessons::taught);
    for (path, options) in NOT_TAKEN {
        let (name, above) = path.split_last().expect("BUG: a command has a name");
        let above = above.iter().try_fold(&mut command, |at, name| at.find_subcommand_mut(name));
        let above = above.expect("BUG: there is no such command");
        // What a command has itself is not passed on to it.
        let of_all: Vec<Arg> = above.get_arguments().cloned().collect();
        let hidden = of_all.into_iter().filter(|arg| options.contains(&arg.get_id().as_str()));
        let found = above.find_subcommand_mut(name).expect("BUG: there is no such command");
        *found = std::mem::take(found).args(hidden.map(|arg| arg.hide(true)));
    }
    let template = help::template(&command);
    formats::offered(command.help_template(template))
}

/// The commands that were named, one below the other, and those that are below the last of them.
struct Path {
    named: Vec<String>,
    below: Vec<String>,
    /// One of these that can stand alone.
    example: Option<String>,
}

fn path_of(command: &clap::Command, args: &[OsString]) -> Path {
    let (mut at, mut named) = (command, Vec::new());
    for word in args.iter().skip(1) {
        if let Some(found) = at.find_subcommand(word) {
            at = found;
            named.push(at.get_name().to_owned());
        }
    }
    let shown = || at.get_subcommands().filter(|it| !it.is_hide_set());
    let is_alone = |it: &&clap::Command| {
        !it.is_subcommand_required_set() && !it.get_arguments().any(Arg::is_required_set)
    };
    let name = |it: &clap::Command| it.get_name().to_owned();
    Path { named, below: shown().map(name).collect(), example: shown().find(is_alone).map(name) }
}

/// A command below one that was named is lacking: those that there are, and an example.
fn incomplete(error: &clap::Error, path: &Path) -> Option<Failure> {
    let is_lacking = matches!(
        error.kind(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand
    );
    if !is_lacking || path.named.is_empty() || path.below.is_empty() {
        return None;
    }
    let words = path.named.join(" ");
    let example = path.example.as_deref().map(|name| format!(", such as `cpudyno {words} {name}`"));
    let hint = format!(
        "one of {}{}; `cpudyno {words} --help` describes them",
        path.below.join(", "),
        example.unwrap_or_default()
    );
    Some(Failure::usage(format!("`cpudyno {words}` is followed by nothing")).hint(hint))
}

/// Options that people look for where there are none: the command, the option, what it takes instead.
const INSTEAD: &[(&str, &str, &str)] = &[
    (
        "turbo",
        "--threads",
        "from the least to the greatest number: --min-threads 1 --max-threads 4",
    ),
    ("wake", "--threads", "two threads signal each other; which CPUs: --pairs 0:1"),
];

fn instead(error: &clap::Error, path: &Path) -> Option<String> {
    let ContextValue::String(typed) = error.get(ContextKind::InvalidArg)? else { return None };
    let is_it = |row: &&(&str, &str, &str)| {
        path.named.first().is_some_and(|it| it == row.0) && typed == row.1
    };
    INSTEAD.iter().find(is_it).map(|row| row.2.to_owned())
}

/// One line and a hint, whatever clap has to say.
fn refused(error: &clap::Error, path: &Path, help: String) -> Failure {
    let rendered = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::data(&rendered.to_string()).err().unwrap_or_else(|| Failure::new(0, ""))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            output::data(&help::questions()).err().unwrap_or_else(|| Failure::usage(""))
        }
        _ => {
            let text = rendered.to_string();
            // What follows the first empty line repeats the suggestion and the usage.
            let lines: Vec<_> =
                text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
            let message = lines.join(" ");
            let message = message.strip_prefix("error: ").unwrap_or(&message);
            let message = match message.split_once(" [possible values: ") {
                Some((refused, known)) => {
                    format!("{refused}: expected one of {}", known.trim_end_matches(']'))
                }
                None => message.to_owned(),
            };
            let refused_value = error.source().and_then(|source| source.downcast_ref::<BadValue>());
            let hint = refused_value
                .map(|bad| bad.hint.clone())
                .or_else(|| instead(error, path))
                .or_else(|| suggestion(error))
                .unwrap_or(help);
            Failure::usage(message).hint(hint)
        }
    }
}

/// A value that an option does not take, and what helps.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{why}")]
pub(crate) struct BadValue {
    why: String,
    pub(crate) hint: String,
}

impl BadValue {
    fn new(why: impl Into<String>, hint: impl Into<String>) -> Self {
        BadValue { why: why.into(), hint: hint.into() }
    }
}

/// The help of the command that was typed.
fn help_of(command: &clap::Command, args: &[OsString]) -> String {
    let mut at = command;
    let mut typed = at.get_name().to_owned();
    for arg in args {
        if let Some(found) = at.find_subcommand(arg) {
            at = found;
            typed = format!("{typed} {}", found.get_name());
        }
    }
    if std::ptr::eq(at, command) {
        return format!("`{typed} --help` lists options, `{typed} help --all` lists every command");
    }
    let what = if at.has_subcommands() { "commands and options" } else { "what it takes" };
    format!("`{typed} --help` lists {what}")
}

/// The known word that is most like what was typed.
fn suggestion(error: &clap::Error) -> Option<String> {
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let suggested = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(word) => Some(format!("did you mean `{word}`?")),
        ContextValue::Strings(words) => Some(format!("did you mean `{}`?", words.last()?)),
        _ => None,
    });
    suggested.or_else(|| {
        // Letters of another case are too far away for clap.
        let (ContextValue::String(typed), ContextValue::Strings(known)) =
            (error.get(ContextKind::InvalidValue)?, error.get(ContextKind::ValidValue)?)
        else {
            return None;
        };
        let same = known.iter().find(|known| known.eq_ignore_ascii_case(typed))?;
        Some(format!("did you mean `{same}`?"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command with the words that name it.
    fn all(command: &clap::Command, above: &[String]) -> Vec<(Vec<String>, clap::Command)> {
        let named = |at: &clap::Command| [above, &[at.get_name().to_owned()]].concat();
        let below = command.get_subcommands().flat_map(|at| all(at, &named(command)));
        [(named(command), command.clone())].into_iter().chain(below).collect()
    }

    /// Whatever clap says by itself of a value is "invalid digit found in string", or "0 is not in 1..=64".
    #[test]
    fn every_option_says_itself_what_it_expects() {
        let mut root = command();
        root.build();
        let mut tried = 0;
        for (words, at) in all(&root, &[]) {
            let valued = at.get_arguments().filter(|arg| arg.get_action().takes_values());
            for long in valued.filter_map(Arg::get_long) {
                for bad in ["nonsense", "", "-1", "1e99", "99999999999999999999999", "1-4"] {
                    let typed = words.iter().cloned().chain([format!("--{long}={bad}")]);
                    let Err(error) = command().try_get_matches_from(typed) else { continue };
                    if error.kind() != ErrorKind::ValueValidation {
                        continue;
                    }
                    let own = error.source().and_then(|source| source.downcast_ref::<BadValue>());
                    assert!(own.is_some(), "{words:?} --{long}={bad}: {error}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 200, "{tried}");
    }
}
