//! What events were counted: tables of one function or command each.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuId;
use crate::unavailable::Known;

/// What was counted, where, and in how many passes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CountsRun {
    /// What was executed: the name of a demonstration, or the command.
    pub subject: String,
    /// In which modes of the CPU, in words.
    pub modes: String,
    /// The CPU to which the thread was pinned; none: it ran where the scheduler put it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuId>,
    /// The PMU of that CPU's kind of core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pmu: Option<String>,
    /// The counters that there are, in words; or why that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Known<String>>,
    /// The events of each pass, the anchors among them.
    #[serde(default)]
    pub passes: Vec<Vec<String>>,
    /// The counts.
    pub tables: Vec<Counts>,
}

/// The counts of one function, or of one command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Counts {
    /// What was executed.
    pub title: String,
    /// What it did, by unit: `byte`, `packet`.
    #[serde(default)]
    pub units: Vec<CountedUnit>,
    /// The events, in the order of the table.
    pub events: Vec<EventCount>,
    /// How often it was executed: once a pass.
    pub executions: u64,
    /// How far the anchors were apart between passes, as a share of the least; none: one pass.
    #[serde(default)]
    pub spread: Vec<AnchorSpread>,
    /// How it ended, where it was a command, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// So many of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CountedUnit {
    /// Its name, in the singular.
    pub name: String,
    /// How many.
    pub number: u64,
}

/// How far an anchor was apart between passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AnchorSpread {
    /// The event.
    pub event: String,
    /// Its least count.
    pub least: u64,
    /// Its greatest.
    pub greatest: u64,
    /// Whether they are near enough for passes to be put into one table.
    pub agrees: bool,
}

/// What an event counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EventCount {
    /// Its name.
    pub event: String,
    /// What counts it.
    pub by: CountedBy,
    /// The unit, where it is not a number of events: `ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How many, without what the measurement itself counts; or why not.
    pub count: Known<u64>,
    /// What the measurement itself counts, and was subtracted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<u64>,
    /// How it was read: `rdpmc`, `read(2)`, `simulated`; the slower way where both were needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
}

/// What counts an event, in the order of tables.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CountedBy {
    /// A counter of the core that counts nothing else; or an anchor, where there are none such.
    Fixed,
    /// A general counter of the core.
    General,
    /// A clock.
    Clock,
    /// The kernel.
    Kernel,
}

impl CountedUnit {
    /// So many of that unit.
    pub fn new(name: impl Into<String>, number: u64) -> CountedUnit {
        CountedUnit { name: name.into(), number }
    }
}
