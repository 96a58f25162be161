//! Commands: each in its own file, each a short way from arguments to text.

mod sheet;
mod show;
mod streams;

use std::io::IsTerminal;
use std::process::ExitCode;

use machine::Machine;
use model::page::Page;
use model::record::{Presentation, Record};
use views::text::Layout;

use crate::args::{Cli, Colour, Command, Format, Look};
use crate::failure::{Failure, code};

/// Does what was asked.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Sheet(args) => sheet::run(&machine(cli.machine.as_deref())?, args),
        Command::Show(_) | Command::Streams(_) if cli.machine.is_some() => {
            Err(Failure::usage("this command reads no machine")
                .hint("`cpudyno sheet --machine NAME` does"))
        }
        Command::Show(args) => show::run(&args),
        Command::Streams(args) => streams::run(&args),
    }
}

fn machine(name: Option<&str>) -> Result<Machine, Failure> {
    let Some(name) = name else { return Ok(Machine::real()) };
    Machine::named(name).map_err(|error| {
        let known: Vec<String> =
            machine::simulated::names().map(|name| format!("sim:{name}")).collect();
        let hint = match &error {
            machine::Error::UnknownSimulation { suggestion: Some(near), .. } => {
                format!("did you mean `sim:{near}`?")
            }
            _ => format!("machines: {}", known.join(", ")),
        };
        Failure::usage(error.to_string()).hint(hint)
    })
}

/// Columns where there is neither a terminal nor a wish.
const WIDTH: u16 = 100;

/// How live text is laid out.
fn presentation(look: &Look) -> Presentation {
    let width = look.width.or_else(sys::host::terminal_columns).unwrap_or(WIDTH);
    Presentation {
        width: width.clamp(40, 400),
        colour: colour(look),
        verbosity: u8::from(look.verbose),
    }
}

fn colour(look: &Look) -> bool {
    match look.color {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            std::io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    }
}

/// A record in the format that was asked for.
fn render(record: &Record, format: Format, presentation: Presentation) -> Result<String, Failure> {
    let page = || bench::sheet::page(record, presentation.verbosity);
    let broken = |error: views::Error| Failure::new(code::BUG, error.to_string());
    match format {
        Format::Text => Ok(text(&page(), presentation)),
        Format::Markdown => Ok(views::markdown::render(&page())),
        Format::Json => views::json::render(record).map_err(broken),
        Format::Csv => views::csv::render(record).map_err(broken),
    }
}

fn text(page: &Page, presentation: Presentation) -> String {
    let Presentation { width, colour, .. } = presentation;
    views::text::render(page, Layout { width, colour })
}
