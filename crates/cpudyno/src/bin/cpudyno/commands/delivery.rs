//! What a record is printed and written as.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use model::page::Page;
use model::record::{PageKind, Presentation, Record};
use views::text::Layout;

use super::launch;
use crate::args::{Format, Output, PresentationArgs};
use crate::failure::{Failure, code};
use crate::output::{self, Sink};

/// The files that a record goes to, opened before anything is read or done.
#[derive(Default)]
pub(super) struct Sinks {
    json: Option<Sink>,
    html: Option<Sink>,
}

impl Sinks {
    pub(super) fn is_none(&self) -> bool {
        self.json.is_none() && self.html.is_none()
    }

    /// Writes what there is in the format of each file.
    pub(super) fn write(
        self,
        told: impl Fn(Format) -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        let write = |(sink, format): (Option<Sink>, Format)| match sink {
            Some(sink) => sink.write(&told(format)?),
            None => Ok(()),
        };
        // Where one cannot be written, the other one is all the more wanted.
        let done = [(self.json, Format::Json), (self.html, Format::Html)].map(write);
        done.into_iter().collect()
    }
}

/// The files that `--json` and `--html` name, and how the record looks; `-` is standard output, in
/// place of the page. A folder gets a file that is named by host and time.
pub(super) fn sinks(mut output: Output) -> Result<(Sinks, PresentationArgs), Failure> {
    let folder = output.files.json.take_if(|path| output::is_folder(path));
    let (mut sinks, look) = sinks_beside(&[], output)?;
    if let Some(folder) = folder {
        sinks.json = Some(Sink::open_in(&folder, launch::host())?);
    }
    Ok((sinks, look))
}

/// The same of a command that reads these files.
pub(super) fn sinks_beside(
    read: &[PathBuf],
    output: Output,
) -> Result<(Sinks, PresentationArgs), Failure> {
    let Output { files, mut look } = output;
    let named = [("--json", files.json.as_deref()), ("--html", files.html.as_deref())];
    output::are_apart(&named)?;
    output::spare(read, &named)?;
    let mut open = |file: &Option<PathBuf>, format| match file.as_deref() {
        Some(file) if file == Path::new("-") => {
            look.format = format;
            Ok(None)
        }
        file => file.map(Sink::open).transpose(),
    };
    let json = open(&files.json, Format::Json)?;
    let html = open(&files.html, Format::Html)?;
    Ok((Sinks { json, html }, look))
}

/// A record and its page, which is made once, whatever it is told as.
pub(super) struct Delivery<'a> {
    record: &'a Record,
    presentation: Presentation,
    page: OnceCell<Page>,
}

impl<'a> Delivery<'a> {
    /// As the record says.
    pub(super) fn of(record: &'a Record) -> Delivery<'a> {
        Delivery::shown(record, record.run.presentation)
    }

    /// Otherwise than the record says.
    pub(super) fn shown(record: &'a Record, presentation: Presentation) -> Delivery<'a> {
        Delivery { record, presentation, page: OnceCell::new() }
    }

    /// Writes it into its files and prints it. Time was spent on it: it is printed even where a file
    /// cannot be written.
    pub(super) fn deliver(&self, sinks: Sinks, format: Format) -> Result<(), Failure> {
        let written = self.write(sinks);
        output::data(&self.told(format)?)?;
        written
    }

    /// Writes it into its files.
    pub(super) fn write(&self, sinks: Sinks) -> Result<(), Failure> {
        sinks.write(|format| self.told(format))
    }

    /// The record in that format.
    pub(super) fn told(&self, format: Format) -> Result<String, Failure> {
        let Delivery { record, presentation, .. } = self;
        match format {
            Format::Html => {
                views::html::render(|| self.page(), Some(record)).map_err(|error| broken(&error))
            }
            Format::Json => views::json::render(record).map_err(|error| broken(&error)),
            Format::Csv if is_told(presentation.page) => {
                Err(Failure::usage("a record without measurements has no samples for a table")
                    .hint("print it as text, markdown, html or json: --format json"))
            }
            Format::Csv => views::csv::render(record).map_err(|error| broken(&error)),
            format => unrecorded("a page", self.page(), format, *presentation),
        }
    }

    fn page(&self) -> &Page {
        self.page.get_or_init(|| cpudyno::record::page(self.record, self.presentation))
    }
}

pub(super) fn broken(error: &views::Error) -> Failure {
    Failure::new(code::BUG, error.to_string())
}

/// An answer that is no record, as JSON.
pub(super) fn json(text: serde_json::Result<String>) -> Result<String, Failure> {
    Ok(text.map_err(|error| Failure::new(code::BUG, error.to_string()))? + "\n")
}

/// A share in per cent as it was typed: one of 7 % is none that binary numbers have.
pub(super) fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// A page that no record is behind, in the format that was asked for.
pub(super) fn unrecorded(
    what: &str,
    page: &Page,
    format: Format,
    presentation: Presentation,
) -> Result<String, Failure> {
    match format {
        Format::Text => Ok(text(page, presentation)),
        Format::Markdown => Ok(views::markdown::render(&asked_for(page, presentation))),
        Format::Html => views::html::render(|| page, None).map_err(|error| broken(&error)),
        Format::Json | Format::Csv => Err(Failure::usage(format!("{what} is no record"))
            .hint("print it as text, markdown or html: --format markdown")),
    }
}

/// Whether it is a page of what a machine says of itself.
fn is_told(page: PageKind) -> bool {
    matches!(page, PageKind::Info | PageKind::Doctor | PageKind::Sst)
}

pub(super) fn text(page: &Page, presentation: Presentation) -> String {
    let Presentation { width, colour, .. } = presentation;
    views::text::render(&asked_for(page, presentation), Layout { width, colour })
}

/// What of a page is printed: the answer without sources and methods, unless they were asked for.
fn asked_for(page: &Page, presentation: Presentation) -> Cow<'_, Page> {
    let Presentation { all, verbosity, .. } = presentation;
    match verbosity {
        _ if all => Cow::Borrowed(page),
        0 => Cow::Owned(page.top().without_notes()),
        _ => Cow::Owned(page.top()),
    }
}
