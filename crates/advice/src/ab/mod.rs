//! A comparison of two settings, as people read it.

mod page;
mod watch_shown;

pub use page::{failure, number, page, stolen};
