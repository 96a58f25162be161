//! What came of changes, and of putting them back.

use crate::error::Error;
use crate::object::Object;

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The setting, as it was asked for.
    pub setting: String,
    /// What was written to.
    pub object: Object,
    /// What was there before.
    pub former: String,
    /// What is there now.
    pub now: String,
}

/// What came of putting things back.
#[derive(Debug, Default)]
pub struct Undone {
    /// What has its former value again.
    pub restored: Vec<Changed>,
    /// What somebody else changed meanwhile, and was left alone: `former` is what would be put back.
    pub foreign: Vec<Changed>,
    /// What could not be put back, and why.
    pub failed: Vec<(Changed, Error)>,
    /// What the journal says and nobody can read.
    pub unread: Vec<String>,
}

impl Undone {
    /// Whether everything has its former value.
    pub fn is_complete(&self) -> bool {
        self.foreign.is_empty() && self.failed.is_empty() && self.unread.is_empty()
    }

    /// What has not its former value, in words; nothing where all has.
    pub fn left(&self) -> Vec<String> {
        let foreign = self.foreign.iter().map(|changed| {
            format!("another program changed {} to `{}`", changed.object, changed.now)
        });
        let failed =
            self.failed.iter().map(|(changed, error)| format!("{}: {error}", changed.object));
        let unread = self.unread.iter().map(|line| format!("the journal is damaged: {line}"));
        foreign.chain(failed).chain(unread).collect()
    }

    /// The same without what a message says already.
    pub fn left_beside(&self, message: &str) -> Vec<String> {
        self.left().into_iter().filter(|left| !message.contains(left.as_str())).collect()
    }
}

/// What to do with values that somebody else wrote meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Leave them, and the journal with the former ones.
    Spare,
    /// Overwrite them with the former ones.
    Overwrite,
    /// Leave them, and forget the former ones, with everything that cannot be put back.
    Accept,
}
