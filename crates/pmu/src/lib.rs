//! Events of PMUs: how they are called, how they are encoded, how they are counted, and what a table
//! of counts looks like.
//!
//! [`events`] turns names into [`Encoded`] events; it opens no counter. `counting` opens,
//! reads and plans passes, and asks no source for a name. This crate measures no area: whatever has
//! CPUs, sweeps and a record stands in `measure`.
//!
//! ```no_run
//! // A function, counted by packet: names, patterns and codes mean events of this machine.
//! let packets = 1000;
//! let work = || {
//!     for packet in 0..packets {
//!         std::hint::black_box(packet);
//!     }
//! };
//! println!("{}", pmu::profile(work, &["branches", "mem_load.*l._hit"], &[("packet", packets)])?);
//! # Ok::<(), model::Unavailable>(())
//! ```
#![forbid(unsafe_code)]

pub mod counting;
pub mod events;
pub mod metrics;

pub use counting::{
    Budget, CounterSet, DataSheet, Drift, EventList, Expected, PartIndex, Profile, Report, Window,
    is_available, measure, profile, profile_to, report, sheet,
};
pub use events::Encoded;
pub use machine::Machine;
pub use model::Unavailable;
