//! `cpudyno show`.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use measure::areas::cores;
use model::record::{PageKind, Presentation, ReadError, Record};
use sys::errno::words;
use views::html::NoText;

use super::{Delivery, WIDTH, broken, colour, sinks_beside};
use crate::args::ShowArgs;
use crate::failure::{Failure, code};

pub(super) fn run(args: ShowArgs) -> Result<ExitCode, Failure> {
    let (sinks, look) = sinks_beside(std::slice::from_ref(&args.file), args.output)?;
    let record = read(&args.file)?;
    let stored = record.run.presentation;
    let presentation = Presentation {
        width: look.width.unwrap_or(stored.width),
        colour: colour(&look),
        verbosity: stored.verbosity.max(u8::from(look.verbose)),
        all: stored.all || look.all,
        page: stored.page,
    };
    Delivery::shown(&record, presentation).deliver(sinks, look.format)?;
    Ok(ExitCode::SUCCESS)
}

/// The record in a file, or on a page.
pub(super) fn read(file: &Path) -> Result<Record, Failure> {
    let mut buffer = Vec::new();
    let text = text(file, &mut buffer)?;
    model::record::read(&text).map_err(|error| refused(file, &text, &error))
}

/// What is in a file, or on a page; of a matrix the record of it. The buffer may have held another file before.
pub(super) fn text<'a>(file: &Path, buffer: &'a mut Vec<u8>) -> Result<Cow<'a, str>, Failure> {
    /// Devices never end.
    const LARGEST: u64 = 1 << 30;
    buffer.clear();
    let read = if file == Path::new("-") {
        std::io::stdin().take(LARGEST).read_to_end(buffer)
    } else {
        File::open(file).and_then(|file| file.take(LARGEST).read_to_end(buffer))
    };
    let count = read.map_err(|error| unread(file, &words(&error)))?;
    if count as u64 == LARGEST {
        return Err(unread(file, "it is too large for a record: 1 GiB and more"));
    }
    let text = views::html::unpacked(buffer).map_err(|why| {
        let failure = unread(file, &why.to_string());
        match why {
            NoText::Damaged => failure.hint(CUT_OFF),
            NoText::Foreign => failure,
        }
    })?;
    // A page that was forwarded is as good as its record.
    let text = views::html::attached(&text).map_or(text, Cow::Owned);
    if cores::is_matrix(&text) { of_matrix(file, &text).map(Cow::Owned) } else { Ok(text) }
}

/// The record of a matrix, as text.
fn of_matrix(file: &Path, text: &str) -> Result<String, Failure> {
    let modified = || {
        let time = file.metadata().ok()?.modified().ok()?;
        // Others cannot be written as RFC 3339, or are no file's.
        let is_past = (UNIX_EPOCH..=SystemTime::now()).contains(&time);
        is_past.then(|| humantime::format_rfc3339_seconds(time).to_string())
    };
    let modified = if file == Path::new("-") { None } else { modified() };
    let page = PageKind::Cores;
    let presentation = Presentation { width: WIDTH, ..Presentation::of(page) };
    let record = cores::of_matrix(text, modified, presentation).map_err(|error| {
        unread(file, &error.to_string())
            .hint("write one matrix to a file: `core-to-core-latency --csv > FILE`")
    })?;
    views::json::render(&record).map_err(|error| broken(&error))
}

const CUT_OFF: &str = "the file may be cut off; write it again: `cpudyno sheet --json FILE`";

fn unread(file: &Path, why: &str) -> Failure {
    Failure::new(code::USAGE, format!("cannot read `{}`: {why}", file.display()))
        .hint("`cpudyno sheet --json FILE` writes a record")
}

/// A file that is no record.
pub(super) fn refused(file: &Path, text: &str, error: &ReadError) -> Failure {
    if text.trim_start().starts_with('<') {
        return unread(file, "it is a page without a whole record")
            .hint("it may be cut off; write it again: `cpudyno sheet --html FILE`");
    }
    let hint = match error {
        _ if text.starts_with("cpudyno-capture") => {
            "the file of a capture is a machine: `cpudyno info --machine FILE`"
        }
        ReadError::OtherMajor(_) => "another version of cpudyno wrote it; read it with that one",
        ReadError::Json(_) | ReadError::Contradiction(_) => CUT_OFF,
        ReadError::Broken(_) => {
            "write it again, or read it with the version of cpudyno that wrote it"
        }
        ReadError::NoSchema | ReadError::Foreign(_) => {
            "`cpudyno sheet --json FILE` writes a record"
        }
    };
    Failure::new(code::USAGE, format!("cannot read `{}`: {error}", file.display())).hint(hint)
}
