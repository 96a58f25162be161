//! What is read during a run, and how well it reads: one file per instrument.

pub mod aperf_mperf;
pub mod clock;
mod gauge;
pub mod idle;
pub mod interruptions;
mod monotonic_raw;
mod rates;
mod regression;
mod sources;
mod thread_usage;
pub mod traffic;
