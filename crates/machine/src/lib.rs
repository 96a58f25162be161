//! Everything that is read from the machine, through ports.
//!
//! [`ports`] are the narrow traits through which files, registers and the surroundings are read; a
//! [`Machine`] is a set of them: the real one, a simulated one (crate `simulated`), the files below
//! a folder, or a capture (crate `recorded`, which stands above this one).
//! [`facts`] and [`conditions`] are tables, one row per thing that a machine says of itself;
//! [`disturbances`] are counters that only grow, [`activity`] is what CPUs do while others use them, [`interrupts`] what interrupts them, [`cpu_load`] says who else uses the CPUs, [`memory`] how
//! much room there is and what memory is made of; [`instruments`] says what is read during a run and
//! how well it reads.
//!
//! [`isst`] are the questions that Speed Select answers.
//!
//! This crate neither prints nor writes, and it decides nothing: what cannot be read comes back as
//! [`model::Unavailable`] with the reason and, where there is one, the remedy.

#![forbid(unsafe_code)]

pub mod activity;
pub mod conditions;
pub mod cpu_load;
pub mod dir;
pub mod disturbances;
pub mod doctor;
mod error;
pub mod facts;
pub mod instruments;
pub mod interrupts;
pub mod isst;
pub mod limits;
pub mod links;
pub mod memory;
mod msr;
mod native;
mod offline;
pub mod parse;
pub mod pepc;
pub mod perf;
pub mod permissions;
pub mod pm_qos;
pub mod pmu;
pub mod ports;
mod probes;
mod simulated_ports;
mod snapshot;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use msr::MsrFolder;
pub use ports::{Cpuid, Host, Isst, IsstDevice, KnownHost, Machine, Msr, Perf, Tree};
pub use simulated::Files;
pub use snapshot::describe;
