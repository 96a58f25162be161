//! The streams that the area's questions are asked with.

use kernels::StreamRow;
use model::areas::turbo::{HEAVY, LIGHT};

/// The streams that the question is asked with: those that the machine lacks are left out.
pub(super) fn streams() -> Vec<&'static StreamRow> {
    let ids = std::iter::once(LIGHT).chain(HEAVY.into_iter().rev());
    ids.filter_map(|id| kernels::streams::TABLE.iter().find(|row| row.id == id)).copied().collect()
}

/// The heaviest streams of this architecture, the heaviest first; the lightest where there are no others.
pub(super) fn heavy_streams() -> Vec<&'static StreamRow> {
    let mut all = streams();
    all.reverse();
    all.truncate(HEAVY.len().min(all.len().saturating_sub(1)).max(1));
    all
}
