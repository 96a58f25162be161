//! Names of events, and what they are to the kernel.
//!
//! A [`Target`] says for which CPU: the machine at hand, or one that is only known by its name. [`Events`]
//! answers names, patterns and codes from the sources of [`SOURCES`], the first of which that knows a
//! name is believed:
//!
//! 1. our own table, `data/events.toml`, with what CPUID announces;
//! 2. a folder of event lists in JSON: perfmon of Intel, `tools/perf` of Linux, those of Arm;
//! 3. the kernel: generic events, its own counters, names in sysfs;
//! 4. libpfm4, where it is installed;
//! 5. the user's own codes.
//!
//! What a source does not have comes back as [`model::Unavailable`], and a name that means nothing is an
//! [`Error`] with names that are like it: nothing is dropped.

mod cpu;
mod encoded;
mod error;
mod fields;
mod lookup;
pub(crate) mod sources;
mod table;
mod target;
mod zero;

pub use cpu::{CpuModel, Maker};
pub use encoded::{CounterPlace, Encoded, EventScope, Modes, Source};
pub use error::Error;
pub use fields::Fields;
pub use lookup::Events;
pub(crate) use lookup::plain;
pub use sources::{EventSource, Listed, TABLE as SOURCES, lists};
pub use table::{CoreType, EventFile, EventRow, Family, Set, Table};
pub use target::Target;
