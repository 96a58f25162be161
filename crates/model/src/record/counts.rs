//! What events were counted: tables of one function or command each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Roofline, RooflineSpot};
use crate::cpus::CpuId;
use crate::unavailable::{Known, Unavailable};

/// What was counted, where, and in how many passes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// What was asked for and has no counter, as it is known before anything is executed: each with
    /// its name, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Unavailable>,
    /// The counts.
    pub tables: Vec<Counts>,
    /// Counts of work whose counts are known, where that was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<KnownAnswer>,
    /// The rooflines that the work is placed on, where that was asked: those of another record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rooflines: Vec<Roofline>,
    /// What was held against a budget, where there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budget: Vec<BudgetRow>,
}

/// What an event counts of work of which it is known, held against that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnownAnswer {
    /// The event.
    pub event: String,
    /// What was to be executed, in words.
    pub work: String,
    /// Why the answer may be off by as much as it may.
    pub why: String,
    /// What was counted; or why nothing was.
    pub found: Known<AnswerFound>,
}

/// A count beside what it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerFound {
    /// What it is counted by, in the singular.
    pub unit: String,
    /// So many units and twice as many were executed; the difference of their counts counts.
    pub number: u64,
    /// How often the event happens in a unit.
    pub expected: f64,
    /// The least that is right.
    pub least: f64,
    /// The most that is right.
    pub most: f64,
    /// What was counted for a unit.
    pub counted: f64,
}

impl KnownAnswer {
    /// Whether it was counted as it should be; none: it was not counted.
    pub fn is_right(&self) -> Option<bool> {
        let found = self.found.value()?;
        Some((found.least..=found.most).contains(&found.counted))
    }
}

/// A count of which a budget says how large it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetRow {
    /// Whose count: the title of its table, or the part of a program.
    pub part: String,
    /// The event.
    pub event: String,
    /// What was expected for each unit.
    pub expected: f64,
    /// The least that holds.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// What was found for each unit; or why nothing was.
    pub found: Known<f64>,
}

impl BudgetRow {
    /// Whether the budget holds; none: that cannot be told.
    pub fn holds(&self) -> Option<bool> {
        match &self.found {
            Known::Yes(found) => Some((self.least..=self.most).contains(found)),
            Known::No { .. } => None,
        }
    }
}

/// The counts of one function, or of one command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// What was executed.
    pub title: String,
    /// What it did, by unit: `byte`, `packet`.
    #[serde(default)]
    pub units: Vec<CountedUnit>,
    /// Under which circumstances, where they are compared: `size`, `caches`, `neighbour`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub circumstances: BTreeMap<String, String>,
    /// The events, in the order of the table.
    pub events: Vec<EventCount>,
    /// How often it was executed: once a pass.
    pub executions: u64,
    /// How far the anchors were apart between passes, as a share of the least; none: one pass.
    #[serde(default)]
    pub spread: Vec<AnchorSpread>,
    /// What follows from the counts: instructions per cycle, shares of slots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricValue>,
    /// Where it lies below a roofline, where that was asked; or why that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot: Option<Known<RooflineSpot>>,
    /// How it ended, where it was a command, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// So many of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountedUnit {
    /// Its name, in the singular.
    pub name: String,
    /// How many.
    pub number: u64,
}

/// How far an anchor was apart between passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// A number that is computed from counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricValue {
    /// Its name in commands: `ipc`.
    pub id: String,
    /// Its name in tables.
    pub title: String,
    /// The unit.
    pub unit: String,
    /// Of a share, the id of the one that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Of a share of slots or cycles, what the core does in it, as a verb phrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// The formula, over the names of events.
    pub formula: String,
    /// The number; or why there is none.
    pub value: Known<f64>,
}

/// What an event counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
