//! "Cannot" is a value: what is missing, why, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who stands in the way. The three are kept apart because the remedy differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// The hardware does not have it.
    Hardware,
    /// The kernel, the hypervisor, the container or missing rights do not allow it.
    Permission,
    /// cpudyno does not know how.
    Cpudyno,
    /// It was not measured well enough, or there was no time for it.
    Measurement,
}

/// A value, or the reason why it cannot be read.
pub type Reading<T> = Result<T, Unavailable>;

/// Why a cell has no number (invariant I5: no number stands for absence).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unavailable {
    /// What is missing: a quantity, an instrument, a fact.
    pub what: String,
    /// Why, with the object that was touched and what it answered.
    pub why: String,
    /// What would make it available; a command where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Who stands in the way.
    pub obstacle: Obstacle,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for Unavailable {}

/// The remedy where rights are missing, and how more of a remedy begins there.
pub const AS_ROOT: &str = "run as root";

impl Unavailable {
    /// Whether root may do what this user may not.
    pub fn needs_root(&self) -> bool {
        self.remedy.as_deref().is_some_and(|remedy| remedy.starts_with(AS_ROOT))
    }

    /// An absence without a remedy.
    pub fn new(obstacle: Obstacle, what: impl Into<String>, why: impl Into<String>) -> Self {
        Unavailable { what: what.into(), why: why.into(), remedy: None, obstacle }
    }

    /// A library that the static build of cpudyno does not load, though it may be installed.
    pub fn in_static_build(library: impl Into<String>) -> Self {
        let why = "this is the static build of cpudyno, and a static program loads no libraries";
        let remedy = "use the build of cpudyno for glibc, which is in its packages";
        Unavailable::new(Obstacle::Cpudyno, library, why).with_remedy(remedy)
    }

    /// Adds what would help.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// A value, or the reason why it is not known. In JSON: the bare value, or `{"unavailable": {...}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Known<T> {
    /// Not known. (First, so that an untagged reader tries the more specific shape first.)
    No {
        /// The reason.
        unavailable: Unavailable,
    },
    /// Known.
    Yes(T),
}

impl<T> Known<T> {
    /// The value, where it is known.
    pub fn value(&self) -> Option<&T> {
        match self {
            Known::Yes(value) => Some(value),
            Known::No { .. } => None,
        }
    }
}

impl<T> From<Result<T, Unavailable>> for Known<T> {
    fn from(reading: Result<T, Unavailable>) -> Self {
        match reading {
            Ok(value) => Known::Yes(value),
            Err(unavailable) => Known::No { unavailable },
        }
    }
}
