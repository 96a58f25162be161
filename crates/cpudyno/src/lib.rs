//! A dynamometer for CPUs, as a library: it measures what a CPU really does, says how sure it is, and changes nothing.
//!
//! # A number
//!
//! ```no_run
//! let bandwidth = cpudyno::memory::bandwidth()?;
//! println!("{} GB/s", bandwidth.triad()?.median() / 1e9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every module asks one question: [`memory`] (bandwidth, scaling, vector lengths, latency), [`turbo`] (the clock by
//! what is executed), [`cores`] (core to core), [`wake`], [`pause`], [`openmp`], [`jitter`], [`mod@threads`] (how many, and
//! where); [`sheet`] asks a little of everything, [`key`] which machine it is, [`gate`] whether it is what it should be,
//! [`mod@verify`] whether every core computes right, [`ab`] which of two ways is faster. [`info`] and [`doctor`] only read.
//!
//! # Choices
//!
//! Each answer has a builder, with what the command of that name has as options. Simulated machines measure in no time,
//! and always the same, so that programs can be tested on machines that nobody has:
//!
//! ```
//! use cpudyno::Seconds;
//! use cpudyno::memory::Bandwidth;
//!
//! let bandwidth = Bandwidth::builder()
//!     .on("sim:2s-56c")
//!     .threads(4)
//!     .budget(Seconds(1.0))
//!     .progress(|progress| assert!(progress.share <= 1.0))
//!     .run()?;
//! let triad = bandwidth.triad()?;
//! assert_eq!(bandwidth.kernels.threads(), 4);
//! assert!(triad.minimum() <= triad.median() && triad.median() <= triad.maximum());
//! println!("{triad}, of {} samples", triad.samples());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is not there
//!
//! A number is right, or it is not there: [`Value`] always is one, and where it cannot be had, there is an
//! [`Unavailable`] that says what, why, and what would help.
//!
//! ```
//! let record = cpudyno::info_of("sim:vm-2c")?;
//! let missing = record.machine.capabilities.iter().filter(|fact| fact.value.value().is_none());
//! assert!(missing.count() > 0);
//! # Ok::<(), cpudyno::Error>(())
//! ```
//!
//! # The record
//!
//! Every answer holds its [`Record`], the same as the command writes: all samples, the machine, what disturbed them, the
//! findings. [`record`] reads, shows and writes it; [`fleet`] holds many against each other.
//!
//! ```
//! let clocks = cpudyno::turbo::Clocks::builder()
//!     .on("sim:vm-2c")
//!     .streams(&[cpudyno::turbo::all_streams()[0]])
//!     .budget(cpudyno::Seconds(0.5))
//!     .run()?;
//! assert!(cpudyno::record::text(clocks.record()).contains("SIMULATED"));
//! let again = cpudyno::record::from_json(&cpudyno::record::json(clocks.record())?)?;
//! assert_eq!(again.run.id, clocks.record().run.id);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Counters
//!
//! `pmu` counts events of functions, as Snabb's `lib.pmu` does: `pmu::profile(f, &["branches"], &[])`.
//!
//! # Manners
//!
//! The library prints nothing, installs no signal handler and keeps no state: an answer depends on its builder and the
//! machine. Threads that measure are its own, the caller's keeps its affinity. One measurement runs at a time on a host,
//! whoever asks: another gets [`Error::Busy`], or waits as long as its builder says. [`Stop`] ends one early.
//!
//! # Features
//!
//! | feature | brings |
//! |---|---|
//! | `report` | [`record`] and [`fleet`]: reading, showing and comparing, on any platform of Rust's Linux targets |
//! | `measure` | everything of this page |
//! | `parquet` | packs of fleets |
//! | `command` (default) | the program `cpudyno` |
//!
//! A program that reads records: `cpudyno = { version = "0.1", default-features = false, features = ["report"] }`.
#![forbid(unsafe_code)]

#[cfg(feature = "measure")]
mod builder;
mod error;
#[doc(hidden)]
pub mod files;
#[cfg(feature = "measure")]
#[doc(hidden)]
pub mod host_lock;
#[cfg(feature = "measure")]
mod told;
mod value;

#[cfg(feature = "measure")]
pub mod ab;
#[cfg(feature = "measure")]
pub mod by_name;
#[cfg(feature = "measure")]
pub mod cores;
pub mod fleet;
#[cfg(feature = "measure")]
pub mod gate;
#[cfg(feature = "measure")]
pub mod jitter;
#[cfg(feature = "measure")]
pub mod key;
#[cfg(feature = "measure")]
pub mod memory;
#[cfg(feature = "measure")]
pub mod openmp;
#[cfg(feature = "measure")]
pub mod pause;
pub mod record;
#[cfg(feature = "measure")]
pub mod sheet;
#[cfg(feature = "measure")]
pub mod threads;
#[cfg(feature = "measure")]
pub mod turbo;
#[cfg(feature = "measure")]
pub mod verify;
#[cfg(feature = "measure")]
pub mod wake;

#[cfg(feature = "measure")]
pub use kernels::streams;
pub use model::record::Record;
pub use model::{CpuId, CpuSet, Finding, Reading, Seconds, Severity, Unavailable, Unit};
#[cfg(feature = "measure")]
pub use pmu;
#[cfg(feature = "measure")]
pub use threads::threads;

#[cfg(feature = "measure")]
pub use builder::{Answer, AskedOptions, Builder, Progress, Stop};
pub use error::Error;
pub use fleet::compare;
#[cfg(feature = "measure")]
pub use told::{doctor, doctor_of, info, info_of};
pub use value::{Row, Value};
#[cfg(feature = "measure")]
pub use verify::verify;

/// Programs in documents are run.
#[cfg(all(doctest, feature = "measure"))]
mod documents {
    #[doc = include_str!("../../../docs/guide/rust.md")]
    struct Guide;

    #[doc = include_str!("../../../README.md")]
    struct Readme;
}
