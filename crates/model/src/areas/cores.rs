//! Signals between cores.

use super::{LOWER, Quantity};
use crate::Unit;

/// Its id.
pub const AREA: &str = "cores";
/// Its quantity.
pub const LATENCY: &str = "latency";

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[Quantity::new(
    LATENCY,
    "latency",
    Unit::Second,
    LOWER,
    "Half of a round trip, one sample for each line; of `one_way`, a store until the other core \
          has seen it, less the cost of a stamp.",
)];
