//! Levers on files that are laid out like a kernel's.

mod fake;
mod journal;
mod kills;
mod plans;
mod requests;
mod rows;
