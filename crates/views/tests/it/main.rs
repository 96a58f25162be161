//! Views of pages and records.

mod layout;
mod sample;
mod views;
