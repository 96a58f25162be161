//! Each core alone, all others idle.

use super::{HIGHER, Quantity};
use crate::Unit;

/// Its id.
pub const AREA: &str = "preferred-cores";
/// Its workload: the lightest stream on one core, all others idle.
pub const WORKLOAD: &str = "each core";
/// Its quantity.
pub const CLOCK: &str = "core_clock";

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[Quantity::new(
    CLOCK,
    "clock of a core alone",
    Unit::Hertz,
    HIGHER,
    "Core clock under scalar_iadd by the chain, all other cores idle.",
)];
