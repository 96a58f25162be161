//! Everything that is read from the machine, through ports.
//!
//! [`ports`] are the narrow traits through which files, registers and the surroundings are read; a
//! [`Machine`] is a set of them: the real one, a simulated one (crate `simulated`), the files below
//! a folder, or a capture (crate `recorded`, which stands above this one).
//! [`facts`] and [`conditions`] are tables, one row per thing that a machine says of itself;
//! [`disturbances`] are counters that only grow, [`activity`] is what CPUs do while others use them, [`busy`] says who else uses the CPUs, [`memory`] how
//! much room there is and what memory is made of; [`instruments`] says what is read during a run and
//! how well it reads.
//!
//! [`isst`] are the questions that Speed Select answers.
//!
//! This crate neither prints nor writes, and it decides nothing: what cannot be read comes back as
//! [`model::Unavailable`] with the reason and, where there is one, the remedy.

#![forbid(unsafe_code)]

pub mod activity;
mod attempts;
pub mod busy;
pub mod conditions;
pub mod contradictions;
mod describe;
pub mod disturbances;
pub mod doctor;
mod error;
pub mod facts;
mod files_only;
pub mod folder;
mod growth;
pub mod instruments;
pub mod isst;
pub mod latency_limit;
pub mod limits;
pub mod links;
pub mod memory;
pub mod pepc;
pub mod perf;
pub mod permits;
pub mod pmu;
pub mod ports;
mod real;
mod registers;
mod simulated_ports;
#[cfg(test)]
mod tests;
pub mod text;

pub use describe::describe;
pub use error::Error;
pub use ports::{Cpuid, Host, Isst, IsstDevice, KnownHost, Machine, Msr, Perf, Tree};
pub use registers::MsrFolder;
pub use simulated::Files;
