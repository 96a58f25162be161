//! Intel Speed Select: what the firmware offers, read through both interfaces of the kernel.
//!
//! [`read`] asks the device of the driver what a [`Wanted`] names and makes a [`Snapshot`] of it: packages,
//! power domains, performance levels, priorities. The two generations of hardware are two
//! [`backends`], one row each; whoever uses the snapshot need not know which one answered.
//!
//! [`compat`] is the face of the reference tool: its text and JSON, made of a snapshot.
//!
//! [`change`] makes a wish into steps that the engine of [`levers`] writes, reads back and undoes.
//!
//! Nothing is measured here, nothing printed. What cannot be read is a reason.
#![forbid(unsafe_code)]

pub mod backends;
mod cascade_lake_n;
pub mod change;
pub mod commands;
pub mod compat;
mod error;
pub mod lessons;
pub mod model;
mod processor;
mod query;
mod read;
mod recorded;
#[cfg(test)]
mod tests;
mod topology;
mod trace;

pub use self::commands::{COMMANDS, Command};
pub use self::error::Error;
pub use self::model::{Domain, Level, Profiles, Snapshot, Unplaced};
pub use self::processor::Processor;
pub use self::read::{Levels, Part, Wanted, read};
pub use self::recorded::{expected, record, speed_select};
pub use self::trace::Calls;
