//! Priorities of cores (SST-CP).

use super::Megahertz;
use model::Reading;

/// Whether cores have priorities. The older generation has two switches, which can disagree.
#[derive(Debug, Clone, PartialEq)]
pub struct CorePower {
    /// Whether the firmware can heed priorities.
    pub supported: Reading<bool>,
    /// Whether it does.
    pub enabled: Reading<bool>,
    /// Whether cores have classes.
    pub classes_enabled: Reading<bool>,
    /// What classes mean.
    pub priority: Reading<Priority>,
}

/// What classes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// Power is shared in proportion to weights.
    Proportional,
    /// The class of the lowest number is throttled last.
    Ordered,
}

impl Priority {
    /// By whether there is an order.
    pub fn of(ordered: bool) -> Priority {
        if ordered { Priority::Ordered } else { Priority::Proportional }
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Priority::Proportional => "proportional",
            Priority::Ordered => "ordered",
        }
    }
}

/// A class of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Class {
    /// Its number.
    pub number: u8,
    /// Hint between performance (0) and energy (15); the newer generation has none.
    pub energy_preference: Option<u8>,
    /// Its weight, 0 to 15.
    pub weight: u8,
    /// The lowest frequency.
    pub lowest: Megahertz,
    /// The highest one; none: no limit.
    pub highest: Option<Megahertz>,
    /// The one that is wished for; the newer generation has none.
    pub desired: Option<Megahertz>,
}
