//! Hints that one waits.

use super::{NEITHER, Quantity};
use crate::Unit;

/// Its id.
pub const AREA: &str = "pause";
/// The usual hint.
pub const PAUSE: &str = "pause_only";

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        "time_per_op",
        "time per pause",
        Unit::SecondPerOp,
        NEITHER,
        "Duration of one executed PAUSE, by n against 2n.",
    ),
    Quantity::new(
        "cycles_per_op",
        "cycles per pause",
        Unit::CyclePerOp,
        NEITHER,
        "The same in core cycles, by the multiply chains beside it. A busy SMT sibling changes \
              the pause itself, so that it is not held back when the witness disagrees.",
    )
    .judged(),
];
