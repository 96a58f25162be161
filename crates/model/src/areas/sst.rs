//! Speed Select.

/// Its id.
pub const AREA: &str = "sst";
