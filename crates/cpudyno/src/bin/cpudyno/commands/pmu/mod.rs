//! `cpudyno pmu`.

mod check;
mod counting;
mod kernel;
mod list;
mod repl;
mod roofline;
mod selftest;
mod stat;
mod update;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use machine::Machine;
use pmu::events::{Error, Table, Target};

use crate::args::{CpuModelArgs, PmuArgs, PmuCommand, PmuEventsCommand};
use crate::failure::{Failure, code};

pub(super) fn run(machine: &Machine, args: PmuArgs) -> Result<ExitCode, Failure> {
    match args.command {
        PmuCommand::Stat(args) => stat::run(machine, args),
        PmuCommand::Kernel(args) => kernel::run(machine, &args),
        PmuCommand::Selftest(args) => selftest::run(machine, &args),
        PmuCommand::Check(args) => check::run(machine, args),
        PmuCommand::Repl(args) => repl::run(machine, args.file.as_deref()),
        PmuCommand::List(args) => list::run(machine, &args),
        PmuCommand::Events(PmuEventsCommand::Update(args)) => update::run(machine, &args),
    }
}

/// What events are looked up for, with the folder of lists, if there is one.
fn target<'a>(machine: &'a Machine, asked: &CpuModelArgs) -> Result<Target<'a>, Failure> {
    let target = match &asked.model {
        Some(model) => Target::named(model).map_err(refused)?,
        None => Target::of(machine),
    };
    Ok(target.with_folder(lists(asked.event_dir.as_deref()).as_deref()))
}

/// The folder of lists that was named, or that of fetched ones, where there is one.
fn lists(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| kept().filter(|folder| folder.is_dir()))
}

/// Where fetched lists are kept.
fn kept() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|it| it.is_absolute());
    Some(cache.or_else(home)?.join("cpudyno/events"))
}

/// A name that means nothing.
fn refused(error: Error) -> Failure {
    const LIST: &str = "`cpudyno pmu list` lists the events of this machine";
    let message = error.to_string();
    let meant = |near: &[String]| {
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        format!("did you mean {}?", near.join(" or "))
    };
    match error {
        Error::OtherArchitecture { .. } => {
            Failure::usage(message).hint("its own kernel lists them: `cpudyno pmu list` there")
        }
        Error::UnknownCpu { near: Some(near), .. } => Failure::usage(message).hint(meant(&[near])),
        Error::UnknownCpu { .. } => {
            let known: Vec<&str> =
                Table::builtin().family.iter().map(|it| it.id.as_str()).collect();
            let known = known.join(", ");
            Failure::usage(message)
                .hint(format!("name a CPU, such as GenuineIntel-6-8F, or one of {known}"))
        }
        Error::Pattern { .. } => {
            Failure::usage(message).hint("put a backslash before \\ ( [ * + ?")
        }
        Error::Unknown { near, .. } if !near.is_empty() => {
            Failure::new(code::NOT_HERE, message).hint(meant(&near))
        }
        Error::Unknown { .. } | Error::NoMatch { .. } | Error::Encoding { .. } => {
            Failure::new(code::NOT_HERE, message).hint(LIST)
        }
    }
}
