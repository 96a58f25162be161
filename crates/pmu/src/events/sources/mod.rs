//! Where encodings come from: one file a source, one row each, in the order of precedence.

pub(crate) mod kernel;
mod libpfm;
mod own;
mod perfmon;
mod raw;

pub use perfmon::lists;

use model::Unavailable;

use super::encoded::{Encoded, Source};
use super::error::Error;
use super::target::Target;

/// A source of encodings.
pub struct EventSource {
    /// Which one.
    pub source: Source,
    /// Its name in tables and commands.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Everything that it knows of a target.
    pub(crate) all: fn(&Target<'_>) -> Listed,
    /// Names that only it can read and that it does not list; `None`: this is no such name.
    pub(crate) find: fn(&Target<'_>, &str) -> Found,
}

/// Events, or what is wrong with a name; none where it is no name of that kind.
pub(crate) type Found = Option<Result<Vec<Encoded>, Error>>;

/// In the order of precedence.
pub const TABLE: &[EventSource] = &[own::ROW, perfmon::ROW, kernel::ROW, libpfm::ROW, raw::ROW];

/// What a source has to say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listed {
    /// Its events.
    pub events: Vec<Encoded>,
    /// What it has not, and why.
    pub missing: Vec<Unavailable>,
}

impl Listed {
    fn nothing(reason: Unavailable) -> Listed {
        Listed { events: Vec::new(), missing: vec![reason] }
    }
}

impl Source {
    /// Its row.
    pub fn row(self) -> &'static EventSource {
        TABLE.iter().find(|row| row.source == self).expect("BUG: every source has a row")
    }
}

/// The name that a name of perf stands for.
pub(super) fn kernel_aliases(name: &str) -> &str {
    kernel::ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name)
}

/// A source that reads no names but those that it lists.
fn no_more(_: &Target<'_>, _: &str) -> Found {
    None
}
