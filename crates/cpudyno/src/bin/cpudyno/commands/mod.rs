//! Commands: each in its own file, each a short way from arguments to text.

mod ab;
mod capture;
mod child;
mod compare;
mod compat;
mod cores;
mod delivery;
mod doctor;
mod fleet;
mod gate;
mod history;
mod info;
mod jitter;
mod key;
mod keys;
mod launch;
mod lists;
mod measuring;
mod memory;
mod openmp;
mod packs;
mod pause;
mod plans;
mod pmu;
mod quiet;
mod records;
mod settings;
mod sheet;
mod show;
mod sst;
mod start;
mod sweep;
mod threads;
mod top;
mod turbo;
mod verify;
mod wait;
mod wake;
mod worker;

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use machine::Machine;
use model::record::{PageKind, Presentation};

pub(crate) use self::compat::compat;
use self::delivery::{
    Delivery, Sinks, broken, json, percent, sinks, sinks_beside, text, unrecorded,
};
pub(crate) use self::gate::misused;
use crate::args::{self, Cli, Colour, Command, HistoryCommand, PresentationArgs};
use crate::failure::Failure;

/// Does what was asked.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let (name, root) = (cli.machine.as_deref(), cli.root.as_deref());
    if root.is_none() && cli.command.is_for_people() {
        settings::remind(name);
    }
    match cli.command {
        Command::Help(args) => args::help(&args),
        Command::Completions(args) => args::completions(&args),
        Command::Pages(args) => args::pages(&args),
        command if command.reads_no_machine() && (name.is_some() || root.is_some()) => {
            Err(Failure::usage("this command reads no machine")
                .hint("`cpudyno info --machine NAME` does"))
        }
        Command::Sheet(args) => sheet::run(&machine(name, root)?, args),
        Command::Turbo(args) if args.list => lists::streams(&args.measuring.output.look),
        Command::Turbo(args) => turbo::run(&machine(name, root)?, args),
        Command::Memory(args) => memory::run(&machine(name, root)?, args),
        Command::Cores(args) => cores::run(&machine(name, root)?, args),
        Command::Pause(args) => pause::run(&machine(name, root)?, args),
        Command::Wake(args) => wake::run(&machine(name, root)?, args),
        Command::Wait(args) => wait::run(&machine(name, root)?, args),
        Command::Jitter(args) => jitter::run(&machine(name, root)?, args),
        Command::Threads(args) => threads::run(&machine(name, root)?, args),
        Command::Openmp(args) => openmp::run(&machine(name, root)?, args),
        Command::Top(args) => top::run(&machine(name, root)?, args),
        Command::Sst(args) => sst::run(machine(name, root)?, args),
        Command::Pmu(args) => pmu::run(&machine(name, root)?, args),
        Command::Worker => worker::run(),
        Command::Info(args) => info::run(&machine(name, root)?, args),
        Command::Doctor(args) => doctor::run(&machine(name, root)?, &args),
        Command::Settings(args) => settings::settings(&machine(name, root)?, args),
        Command::Set(args) => settings::set(&machine(name, root)?, args),
        Command::Ab(args) => ab::run(&machine(name, root)?, &args),
        Command::Sweep(args) => sweep::run(&machine(name, root)?, &args),
        Command::Quiet(args) => quiet::run(&machine(name, root)?, args),
        Command::Verify(args) => verify::run(&machine(name, root)?, args),
        Command::Gate(args) => gate::run(&machine(name, root)?, *args),
        Command::Undo(args) => settings::undo(&machine(name, root)?, args),
        Command::Capture(args) => capture::run(&machine(name, root)?, &args),
        Command::Show(args) => show::run(args),
        Command::Key(args) => key::run(&machine(name, root)?, args),
        Command::Compare(args) => compare::run(args),
        Command::History(args) => match args.command {
            Some(HistoryCommand::Add(args)) => history::add(&machine(name, root)?, args),
            None => history::run(*args),
        },
        Command::Fleet(args) => fleet::run(*args),
        Command::Streams(args) => lists::streams(&args.look),
    }
}

fn machine(name: Option<&str>, root: Option<&Path>) -> Result<Machine, Failure> {
    let machine = match (name, root) {
        (Some(name), _) => recorded::named(name)
            .map_err(|error| Failure::usage(error.to_string()).hint(machine_hint(&error)))?,
        (None, Some(folder)) => Machine::rooted(folder).map_err(|error| {
            let hint = "name the folder that holds proc and sys: --root DIR";
            Failure::usage(error.to_string()).hint(hint)
        })?,
        (None, None) => Machine::real(),
    };
    // What needs a process of its own is done by this program, too.
    Ok(Machine { worker: std::env::current_exe().ok(), ..machine })
}

fn is_json(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// What helps when there is no machine of that name.
fn machine_hint(error: &recorded::Error) -> String {
    use recorded::Error::{Broken, Simulated, Unread};
    use simulated::Error::Unknown;
    const WRITE: &str = "`cpudyno capture FILE` writes one";
    match error {
        Simulated(Unknown { suggestion: Some(near), .. })
        | Unread { suggestion: Some(near), .. } => format!("did you mean `sim:{near}`?"),
        Unread { name, .. } if Path::new(name).is_dir() => {
            format!("the files below a folder are a machine with --root {name}")
        }
        Unread { name, .. } if Path::new(name).exists() => {
            format!("a machine is the file of a capture; {WRITE}")
        }
        Broken { name, line: 1, .. } if is_json(name) => {
            format!("a record is no machine; `cpudyno show {name}` prints it")
        }
        Broken { .. } => format!("the file is no capture, or was changed; {WRITE}"),
        _ => {
            let known: Vec<String> = simulated::names().map(|name| format!("sim:{name}")).collect();
            format!("machines: {}, or the file of a capture", known.join(", "))
        }
    }
}

/// Options that take a path.
const PATHS: &[&str] = &[
    "--json",
    "--html",
    "--machine",
    "--root",
    "--source",
    "--compiler",
    "--event-dir",
    "--save-budget",
    "--reference",
    "--compare",
    "--bounds",
    "--learn",
    "--metrics",
    "--store",
];

/// The command as the record keeps it: without paths, which may name people (invariant I10).
fn command() -> Vec<String> {
    let mut words = vec!["cpudyno".to_owned()];
    let mut path_follows = false;
    let names_nobody = |value: &str| value.starts_with("sim:");
    // A file's name may be no UTF-8, and is left out anyway.
    for argument in std::env::args_os().skip(1) {
        let argument = argument.to_string_lossy();
        let word = match argument.split_once('=') {
            _ if path_follows && !names_nobody(&argument) => "FILE".to_owned(),
            Some((option, value)) if PATHS.contains(&option) && !names_nobody(value) => {
                format!("{option}=FILE")
            }
            _ => argument.clone().into_owned(),
        };
        path_follows = PATHS.contains(&argument.as_ref());
        words.push(word);
    }
    words
}

/// Columns where there is neither a terminal nor a wish.
const WIDTH: u16 = 100;

/// How live text is laid out.
fn presentation(look: &PresentationArgs, page: PageKind) -> Presentation {
    let width = look.width.or_else(sys::host::terminal_columns).unwrap_or(WIDTH);
    Presentation {
        width: width.clamp(40, 400),
        colour: colour(look),
        verbosity: u8::from(look.verbose),
        all: look.all,
        page,
    }
}

fn colour(look: &PresentationArgs) -> bool {
    match look.color {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            std::io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    }
}
