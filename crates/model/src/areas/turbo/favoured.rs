//! Each core alone, all others idle.

/// Its workload: the lightest stream on one core, all others idle.
pub const WORKLOAD: &str = "each core";
/// Its quantity.
pub const CLOCK: &str = "core_clock";
