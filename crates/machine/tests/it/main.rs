//! The machine: real files, captures, and what no kernel would make.

mod bent;
mod capabilities;
mod capture;
mod cycle_counters;
pub mod hostile;
mod machines;
mod msr_fuse;
