//! Changing Speed Select: what a command wants becomes steps in their order, or a reason why not.
//!
//! A recipe says what is to be, not what is to be done: what is so already drops out when it is planned, and
//! a recipe that is asked again after it was done has nothing left to do. Writing, reading back, the
//! journal and undoing are those of [`levers`]; there is one row there for each kind of value.
//!
//! What must not be done is refused before anything is written: [`Refused`] says what must come first.

mod apply;
mod ceilings;
mod clocks;
mod foreseen;
mod ground;
mod limits;
mod proof;
mod recipes;

use levers::plan::PlannedWrite;
use model::CpuSet;

pub use self::apply::{NotChanged, apply, arms, foreseen, foreseen_at, make, planned};
pub use self::ceilings::{Ceiling, CeilingBy};
pub use self::clocks::{
    Clocks, Expected, Time, expected, expected_at, expected_with, first_class, gainers, others,
};
pub(crate) use self::ground::registers;
pub use self::proof::{Base, base_frequencies};
use crate::error::Error;
use crate::model::Priority;

/// What a command wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// What is to be.
    pub what: What,
    /// Only the power domains of these CPUs; for classes and turbo frequencies these CPUs.
    pub cpus: Option<CpuSet>,
    /// Whether it is done as the reference tool does, where that is lenient: what must come first is done
    /// along with it.
    pub lenient: bool,
}

/// What is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Another performance level; with its CPUs online and no others, where that is wanted.
    Level {
        /// Its number.
        level: u8,
        /// Whether CPUs come and go with it.
        with_cpus: bool,
    },
    /// Priorities of cores.
    CorePower {
        /// Whether they have any.
        on: bool,
        /// Of which kind they are; while they are off, of which kind they would be.
        priority: Priority,
    },
    /// A class.
    Class(ClassWish),
    /// The CPUs are in that class.
    Association(u8),
    /// Base frequencies of two kinds of cores.
    BaseFreq {
        /// Whether they are on.
        on: bool,
        /// Whether priorities and limits of the clock follow.
        auto: bool,
    },
    /// Turbo frequencies of two kinds of cores.
    TurboFreq {
        /// Whether they are on.
        on: bool,
        /// Whether priorities follow.
        auto: bool,
        /// Turbo limits that are to hold then, a ratio in each byte; none: the usual ones.
        limits: Option<u64>,
    },
    /// Whether CPUs may go above their base frequency, by limits of the clock.
    TurboMode(bool),
    /// Turbo limits that hold at most, a ratio in each byte.
    TurboLimits(u64),
}

/// A class, as it is wished for: what was not said is as the guide says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassWish {
    /// Its number.
    pub class: u8,
    /// Its weight; 0 unless it is said.
    pub weight: Option<u8>,
    /// Its energy preference; 0 unless it is said.
    pub epp: Option<u8>,
    /// The lowest frequency in MHz; 0 unless it is said.
    pub min_mhz: Option<u32>,
    /// The highest one; none unless it is said.
    pub max_mhz: Option<u32>,
}

/// What a wish comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steps {
    /// What firmware holds, and which CPUs are online, in this order.
    pub firmware: Vec<PlannedWrite>,
    /// Limits of clocks, in any order: what they may be may depend on what firmware holds.
    pub limits: Vec<PlannedWrite>,
    /// What to know before it is done.
    pub remarks: Vec<String>,
}

/// Why a wish is not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Speed Select cannot be read.
    #[error(transparent)]
    Unread(#[from] Error),
    /// It is not there, or cannot be.
    #[error("cannot {what}: {why}")]
    NotHere {
        /// What was wanted.
        what: String,
        /// What is not there.
        why: String,
        /// What helps.
        hint: String,
    },
    /// It must not be, as things are: something is locked, or something else comes first.
    #[error("cannot {what}: {why}")]
    Order {
        /// What was wanted.
        what: String,
        /// What stands in the way.
        why: String,
        /// What comes first.
        hint: String,
    },
    /// It was asked for wrongly.
    #[error("cannot {what}: {why}")]
    Usage {
        /// What was wanted.
        what: String,
        /// What is wrong.
        why: String,
        /// What is right.
        hint: String,
    },
}

impl Refused {
    /// What helps, where that is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Refused::Unread(_) => None,
            Refused::NotHere { hint, .. }
            | Refused::Order { hint, .. }
            | Refused::Usage { hint, .. } => Some(hint),
        }
    }
}

impl Wish {
    /// The command line up to the feature, for whoever is told what comes first.
    pub fn face(&self) -> String {
        let cpus = self.cpus.as_ref().map_or_else(String::new, |cpus| format!(" -c {cpus}"));
        format!("cpudyno sst{cpus}")
    }

    /// What was wanted, as errors say it.
    pub fn words(&self) -> String {
        let switch = |on: bool| if on { "enable" } else { "disable" };
        match &self.what {
            What::Level { level, .. } => format!("set performance level {level}"),
            What::CorePower { on, .. } => format!("{} core-power", switch(*on)),
            What::Class(wish) => format!("configure class {}", wish.class),
            What::Association(class) => format!("associate CPUs with class {class}"),
            What::BaseFreq { on, .. } => format!("{} base-freq", switch(*on)),
            What::TurboFreq { on, .. } => format!("{} turbo-freq", switch(*on)),
            What::TurboMode(on) => format!("{} turbo-mode", switch(*on)),
            What::TurboLimits(_) => "set turbo limits".to_owned(),
        }
    }

    fn not_here(&self, why: impl Into<String>, hint: impl Into<String>) -> Refused {
        Refused::NotHere { what: self.words(), why: why.into(), hint: hint.into() }
    }

    fn order(&self, why: impl Into<String>, hint: impl Into<String>) -> Refused {
        Refused::Order { what: self.words(), why: why.into(), hint: hint.into() }
    }

    fn usage(&self, why: impl Into<String>, hint: impl Into<String>) -> Refused {
        Refused::Usage { what: self.words(), why: why.into(), hint: hint.into() }
    }
}
