//! A dynamometer for CPUs, as a library.
//!
//! The command `cpudyno` is a thin face of the same crates: [`machine`] reads the machine, [`mod@bench`]
//! measures it, the answer is a [`model::record::Record`], and [`views`] turn records into text.
//!
//! ```no_run
//! use cpudyno::{bench, machine, model};
//!
//! let machine = machine::Machine::real();
//! let page = model::record::PageKind::Sheet;
//! let presentation =
//!     model::record::Presentation { width: 100, colour: false, verbosity: 0, page };
//! let command = vec!["my-program".to_owned()];
//! let request =
//!     bench::sheet::request(model::Seconds(10.0), None, None, command, presentation);
//! let stop = rig::executor::Stop::default();
//! let record = bench::run::measure(&machine, &request, &stop, &mut |_| {})?;
//! println!("{} series", record.series.len());
//! # Ok::<(), bench::run::Error>(())
//! ```
#![forbid(unsafe_code)]

pub use ::{bench, kernels, machine, model, pmu, sst, views};
