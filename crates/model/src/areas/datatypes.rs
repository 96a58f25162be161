//! Datatypes: how many multiply-adds of each a core does.

use crate::record::Series;

/// Its id.
pub const AREA: &str = "datatypes";

pub use super::turbo::QUANTITIES;

/// What a series is called: another area measures the same streams for their clock.
pub(super) fn name_of(series: &Series) -> String {
    format!("multiply-adds {}", series.workload)
}
