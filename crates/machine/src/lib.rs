//! Everything that is read from the machine, through ports.
//!
//! [`ports`] are the narrow traits through which files, registers and the surroundings are read; a
//! [`Machine`] is a set of them: the real one, or a [`simulated`] one made from a text description.
//! [`facts`] and [`conditions`] are tables, one row per thing that a machine says of itself;
//! [`disturbances`] are counters that only grow; [`instruments`] says what is read during a run and
//! how well it reads.
//!
//! This crate neither prints nor writes, and it decides nothing: what cannot be read comes back as
//! [`model::Unavailable`] with the reason and, where there is one, the remedy.

#![forbid(unsafe_code)]

mod cgroup;
pub mod conditions;
pub mod disturbances;
mod error;
pub mod facts;
pub mod instruments;
pub mod ports;
mod real;
mod rows;
pub mod simulated;
#[cfg(test)]
mod tests;
mod text;

pub use error::Error;
pub use ports::{Cpuid, Host, Machine, Msr, Reading, Tree};
