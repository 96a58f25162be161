//! Remarks on validity or result, with their remedy.

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Some numbers are worse than they could be; they say which.
    Warning,
    /// Numbers of this run should not be used before this is mended.
    Serious,
}

impl Severity {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Serious => "serious",
        }
    }
}

/// A remark on validity or result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Its kind, such as `ruler.sibling-busy`; the same in every run.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about: a CPU, a clock, a workload.
    pub about: String,
    /// What was seen, with numbers and units.
    pub text: String,
    /// What likely causes it, where its text does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What would help; a command where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// What the remedy is expected to give, by the numbers of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<String>,
}

impl Finding {
    /// One without cause, remedy and gain.
    pub fn new(
        severity: Severity,
        id: impl Into<String>,
        about: impl Into<String>,
        text: impl Into<String>,
    ) -> Finding {
        Finding {
            id: id.into(),
            severity,
            about: about.into(),
            text: text.into(),
            cause: None,
            remedy: None,
            gain: None,
        }
    }

    /// What is good to know.
    pub fn note(
        id: impl Into<String>,
        about: impl Into<String>,
        text: impl Into<String>,
    ) -> Finding {
        Finding::new(Severity::Note, id, about, text)
    }

    /// What makes some numbers worse than they could be.
    pub fn warning(
        id: impl Into<String>,
        about: impl Into<String>,
        text: impl Into<String>,
    ) -> Finding {
        Finding::new(Severity::Warning, id, about, text)
    }

    /// What spoils numbers of this run.
    pub fn serious(
        id: impl Into<String>,
        about: impl Into<String>,
        text: impl Into<String>,
    ) -> Finding {
        Finding::new(Severity::Serious, id, about, text)
    }

    /// Whether its id is of an area, such as `turbo`.
    pub fn is_of(&self, area: &str) -> bool {
        self.id.split_once('.').is_some_and(|(of, _)| of == area)
    }

    /// With what likely causes it, where that is known.
    #[must_use]
    pub fn cause(self, cause: impl Into<Option<String>>) -> Finding {
        Finding { cause: cause.into(), ..self }
    }

    /// With what would help, where anything does.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<Option<String>>) -> Finding {
        Finding { remedy: remedy.into(), ..self }
    }

    /// With what the remedy is expected to give, where that is known.
    #[must_use]
    pub fn gain(self, gain: impl Into<Option<String>>) -> Finding {
        Finding { gain: gain.into(), ..self }
    }
}
