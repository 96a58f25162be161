//! Numbers beside the range that they should lie in.

use model::page::{Text, Tone};

/// A number and the range that it should lie in.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// What was measured: `copy on 56 cores`.
    pub what: String,
    /// What it is held against, with its unit.
    pub expected: String,
    /// Where that comes from, for a note below the table.
    pub source: String,
    /// What was measured, with its unit.
    pub measured: String,
    /// Where it lies: `88 % of it`.
    pub position: String,
    /// Whether that is normal.
    pub verdict: BandVerdict,
    /// The ends of the range that is normal, over what was measured.
    pub normal: [f64; 2],
    /// The nearest that is normal over what was measured, where that is outside.
    pub missing: Option<f64>,
    /// What shows more of it, or mends it, where it is outside.
    pub remedy: &'static str,
}

/// Whether a number is normal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BandVerdict {
    /// It lies where such numbers lie.
    Normal,
    /// It does not, and this is the likely reason.
    Outside(String),
    /// Nobody can tell, for this reason.
    CannotTell(String),
}

impl BandVerdict {
    pub(crate) fn text(&self) -> Text {
        match self {
            BandVerdict::Normal => Text::toned("normal", Tone::Good),
            BandVerdict::Outside(why) => Text::toned(format!("outside: {why}"), Tone::Warning),
            BandVerdict::CannotTell(why) => Text::toned(format!("cannot tell: {why}"), Tone::Faint),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Copy on four cores, at half of what is expected.
    pub(crate) fn band(verdict: BandVerdict) -> Band {
        let text = |words: &str| words.to_owned();
        Band {
            what: text("copy on 4 cores"),
            expected: text("40 GB/s"),
            source: text("a table"),
            measured: text("20 GB/s"),
            position: text("50 % of it"),
            verdict,
            normal: [1.6, 2.0],
            missing: None,
            remedy: "populate the other channel",
        }
    }
}
