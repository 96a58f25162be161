//! Signals between cores.

use super::{LOWER, Quantity};
use crate::Unit;

/// Its id.
pub const AREA: &str = "cores";
/// Its quantity.
pub const LATENCY: &str = "latency";

/// How one core tells another one something, the usual way first: the workload, and what goes on, in words.
pub const MESSAGES: [(&str, &str); 3] = [
    ("cas", "both compare and swap one line: what a contended lock costs"),
    (
        "load_store",
        "each stores to a line of its own, which the other one polls: no line has two writers",
    ),
    (
        "one_way",
        "a store until the polling core has seen it, without an answer; the mean of both directions, in which the \
         difference of the clocks cancels",
    ),
];

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[Quantity::new(
    LATENCY,
    "latency",
    Unit::Second,
    LOWER,
    "Half of a round trip, one sample for each line; of `one_way`, a store until the other core \
          has seen it, less the cost of a stamp.",
)
.judged()];
