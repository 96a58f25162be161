//! Counters of the core.

use super::{LOWER, NEITHER, Quantity};
use crate::Unit;

/// Its id.
pub const AREA: &str = "pmu";
/// Instructions of one op, as counted.
pub const INSTRUCTIONS: &str = "instructions_per_op";
/// Instructions of one op, by the machine code.
pub const KNOWN_INSTRUCTIONS: &str = "known_instructions_per_op";
/// Core cycles of one op, as counted.
pub const CYCLES: &str = "counted_cycles_per_op";

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        INSTRUCTIONS,
        "instructions per op, counted",
        Unit::Count,
        NEITHER,
        "Instructions retired per op, n against 2n, by a counter of the core, in user mode; the loop's \
         own two instructions are among them.",
    ),
    Quantity::new(
        KNOWN_INSTRUCTIONS,
        "instructions per op, executed",
        Unit::Count,
        NEITHER,
        "Instructions of an op by the machine code of its loop, the loop's own two among them: nothing was \
         measured.",
    ),
    Quantity::new(
        CYCLES,
        "cycles per op, counted",
        Unit::CyclePerOp,
        LOWER,
        "Core cycles per op, n against 2n, by a counter of the core, in user mode.",
    ),
];
