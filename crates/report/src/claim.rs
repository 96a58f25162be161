//! What a machine claims, and what became of that.

use model::Known;
use model::page::{Text, Tone};

/// One claim and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What it is about: `L3`, `clock of one core`.
    pub what: String,
    /// What is claimed, with its unit.
    pub claimed: String,
    /// Who says so; empty where nobody does.
    pub by: String,
    /// What was measured, with its unit; a dash where nothing was.
    pub measured: String,
    /// How the two compare.
    pub verdict: Verdict,
    /// What the ids of findings begin with that say so themselves where it is refuted.
    pub finding: Option<&'static str>,
    /// The share that is missing, where it is refuted because the machine gives so much less that it cannot be what was
    /// bought.
    pub short: Option<f64>,
    /// What caused it where it is refuted, as far as the record says so.
    pub cause: Option<String>,
    /// The command that shows more of it.
    pub command: &'static str,
}

/// How what was measured compares with what was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is as claimed, as far as it can be told.
    AsClaimed,
    /// It is not, in these words.
    Differs(String),
    /// It is not, and a limit that was seen to hold is why: what was promised holds below that limit.
    Held(String),
    /// Nobody can tell, for this reason.
    CannotTell(String),
}

impl Verdict {
    pub(crate) fn text(&self) -> Text {
        match self {
            Verdict::AsClaimed => Text::toned("as claimed", Tone::Good),
            Verdict::Differs(how) => Text::toned(format!("differs: {how}"), Tone::Warning),
            Verdict::Held(how) => Text::toned(format!("limited: {how}"), Tone::Plain),
            Verdict::CannotTell(why) => Text::toned(format!("cannot tell: {why}"), Tone::Faint),
        }
    }
}

/// What is claimed where somebody says it: the text, or the reason why nobody does.
pub fn said<T>(known: &Known<T>, text: impl Fn(&T) -> String) -> Result<String, String> {
    match known {
        Known::Yes(value) => Ok(text(value)),
        Known::No { unavailable } => Err(unavailable.why.clone()),
    }
}
