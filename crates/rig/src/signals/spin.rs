//! A cache line that is polled.

use super::{Method, Waits};
use crate::line::Line;

/// The method.
pub(super) static SPIN: Method = Method {
    id: "spin",
    doc: "A store to a cache line, which the other one polls without pause.",
    waits: Waits::Polling,
    needs: None,
    open: || Ok(Box::new(Line::default())),
};
