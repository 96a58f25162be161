//! `cpudyno show`.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use model::record::{Presentation, ReadError};
use sys::errno::words;

use super::{colour, render};
use crate::args::ShowArgs;
use crate::failure::{Failure, code};
use crate::output;

pub(super) fn run(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let text = text(&args.file)?;
    let record = model::record::read(&text).map_err(|error| refused(&args.file, &text, &error))?;
    let stored = record.run.presentation;
    let presentation = Presentation {
        width: args.look.width.unwrap_or(stored.width),
        colour: colour(&args.look),
        verbosity: stored.verbosity.max(u8::from(args.look.verbose)),
        page: stored.page,
    };
    output::data(&render(&record, args.look.format, presentation)?)?;
    Ok(ExitCode::SUCCESS)
}

fn text(file: &Path) -> Result<String, Failure> {
    let read = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    read.map_err(|error| {
        Failure::new(code::USAGE, format!("cannot read `{}`: {}", file.display(), words(&error)))
            .hint("`cpudyno sheet --json FILE` writes a record")
    })
}

fn refused(file: &Path, text: &str, error: &ReadError) -> Failure {
    let hint = match error {
        _ if text.starts_with("cpudyno-capture") => {
            "the file of a capture is a machine: `cpudyno info --machine FILE`"
        }
        ReadError::OtherMajor(_) => "another version of cpudyno wrote it; read it with that one",
        ReadError::Json(_) | ReadError::Broken(_) | ReadError::Contradiction(_) => {
            "the file may be cut off; write it again: `cpudyno sheet --json FILE`"
        }
        ReadError::NoSchema | ReadError::Foreign(_) => {
            "`cpudyno sheet --json FILE` writes a record"
        }
    };
    Failure::new(code::USAGE, format!("cannot show `{}`: {error}", file.display())).hint(hint)
}
