//! A dynamometer for CPUs, as a library.
//!
//! The command `cpudyno` is a thin face of the same crates: [`machine`] reads the machine, [`mod@measure`]
//! measures it, the answer is a [`model::record::Record`], and [`views`] turn records into text.
//!
//! ```no_run
//! use cpudyno::{measure, machine, model};
//!
//! let machine = machine::Machine::real();
//! let page = model::record::PageKind::Sheet;
//! let presentation =
//!     model::record::Presentation::of(page);
//! let command = vec!["my-program".to_owned()];
//! let request =
//!     measure::sheet::request(model::Seconds(10.0), None, None, command, presentation);
//! let stop = rig::executor::Stop::default();
//! let record = measure::run::measure(&machine, &request, &stop, &mut |_| {})?;
//! println!("{} series", record.series.len());
//! # Ok::<(), measure::run::Error>(())
//! ```
#![forbid(unsafe_code)]

pub use ::{kernels, machine, measure, model, pmu, recorded, simulated, sst, views};
