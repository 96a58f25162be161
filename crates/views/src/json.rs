//! The record as JSON: objects one field to a line, numbers in rows.
//!
//! Samples are many. One line per number would bury everything else, one line for all of them would
//! make the difference between two records unreadable; so arrays within arrays fill rows.

use std::io::{self, Write};

use model::outline::Outline;
use model::record::Record;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::Error;

/// The record as JSON that [`model::record::read`] reads back as the same record. Numbers that are
/// not finite are refused: JSON would turn them into `null`, and nobody could read the record.
pub fn render(record: &Record) -> Result<String, Error> {
    written(record, Rows::default())
}

/// What a run would measure, as JSON.
pub fn outline(outline: &Outline) -> Result<String, Error> {
    written(outline, Rows::default())
}

/// The same record in one line, for those that only programs read.
pub(crate) fn dense(record: &Record) -> Result<String, Error> {
    written(record, Dense)
}

fn written(record: &impl Serialize, formatter: impl Formatter) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
    if let Err(source) = record.serialize(&mut serializer) {
        return Err(Error::Json { field: last_field(&String::from_utf8_lossy(&bytes)), source });
    }
    bytes.push(b'\n');
    Ok(String::from_utf8(bytes).expect("BUG: JSON written from strings is not UTF-8"))
}

/// The last field whose value was begun.
fn last_field(text: &str) -> String {
    let key = text.rsplit_once("\":").and_then(|(before, _)| before.rsplit_once('"'));
    key.map_or_else(String::new, |(_, key)| key.to_owned())
}

/// A row with this many values ends before the next array within an array.
const ROW_VALUES: usize = 16;

/// Something that was opened and not yet closed.
struct OpenContainer {
    array: bool,
    /// Whether any of its parts began a line.
    lines: bool,
}

/// A record leaves out what is absent, so a `null` can only be a number that is not finite.
fn no_number() -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::InvalidData, "a number in it is not finite"))
}

/// Writes nothing that could be left out.
struct Dense;

impl Formatter for Dense {
    fn write_null<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        no_number()
    }
}

/// Starts a line for every field, every object and every full row.
#[derive(Default)]
struct Rows {
    open: Vec<OpenContainer>,
    /// Values of arrays in the present line.
    values: usize,
}

impl Rows {
    fn line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(open) = self.open.last_mut() {
            open.lines = true;
        }
        self.values = 0;
        write!(writer, "\n{:1$}", "", 2 * self.open.len())
    }

    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        let array = bracket == b"[";
        let within = self.open.last().is_some_and(|open| open.array);
        if within && (!array || self.values > ROW_VALUES) {
            self.line(writer)?;
        }
        self.open.push(OpenContainer { array, lines: false });
        writer.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.open.pop().is_some_and(|open| open.lines) {
            write!(writer, "\n{:1$}", "", 2 * self.open.len())?;
        }
        writer.write_all(bracket)
    }
}

fn comma<W: ?Sized + Write>(writer: &mut W, first: bool) -> io::Result<()> {
    if first { Ok(()) } else { writer.write_all(b",") }
}

impl Formatter for Rows {
    fn write_null<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        no_number()
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.values += 1;
        comma(w, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        comma(w, first)?;
        self.line(w)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
