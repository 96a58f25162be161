//! The words that everybody uses, as types.
//!
//! This crate is the bottom of the dependency graph: quantities with their units, counts with their
//! clocks, sets of CPUs, instruction sets, reasons for absence, statistics, the [`record`] that a run
//! produces and the [`page`] that views render. It is pure: no I/O, no clock, no environment, so that
//! whatever is computed here can be computed again on another machine, a year later.

#![forbid(unsafe_code)]

pub mod areas;
pub mod budget;
pub mod contradictions;
pub mod counters;
pub mod counts;
pub mod cpus;
pub mod datatype;
pub mod fabric;
pub mod finding;
pub mod growth;
pub mod isa;
pub mod json;
pub mod licence;
pub mod memory;
pub mod microarchitecture;
pub mod name;
pub mod order;
pub mod outline;
pub mod page;
pub mod quantity;
pub mod record;
pub mod stats;
pub mod ticks;
pub mod unavailable;

pub use cpus::{CpuId, CpuSet};
pub use datatype::Datatype;
pub use finding::{Finding, Severity};
pub use isa::Isa;
pub use memory::Pages;
pub use order::{in_order, in_order_of};
pub use quantity::{Hertz, Seconds, Unit};
pub use ticks::{Rate, Ticks};
pub use unavailable::{AS_ROOT, Known, Obstacle, Reading, Unavailable};
