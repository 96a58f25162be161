//! Measuring: what is asked of a machine, and the record of its answers.
//!
//! [`areas`] know what to ask of the [`rig`], and how quantities are taken; [`run`] measures what they ask for as one
//! record; [`sheet`](mod@sheet) asks all of them.
#![forbid(unsafe_code)]

pub mod ab;
pub mod areas;
pub mod arms;
pub mod gate;
mod jury;
pub mod key;
pub mod original;
pub mod proof;
pub mod quiet;
pub mod run;
pub mod sheet;
pub mod sweep;
pub mod threads;
pub mod verify;
