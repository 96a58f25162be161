//! The native part of the Python package `cpudyno`: what Python's own part (`python/cpudyno`) is made of.
//!
//! It hands over records as JSON and pages as text, and keeps rules of Python out of the other crates: errors become
//! Python's exceptions ([`errors`]), and what belongs to a thread stays there ([`counting`]).
#![deny(unsafe_code)]
#![expect(clippy::needless_pass_by_value, reason = "what Python hands over was made for the call")]

mod counting;
mod errors;
mod measuring;
mod records;

use pyo3::prelude::*;

/// The native part of `cpudyno`; its parts are documented in the package.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::counting::{
        CounterSet, Window, count_function, forked, report, why_no_event, why_nothing_counts,
    };
    #[pymodule_export]
    use super::errors::provoke_bug;
    #[pymodule_export]
    use super::measuring::{describe, faulty, measure, threads_advice, verdict};
    #[pymodule_export]
    use super::records::{Record, compare, fleet};

    use super::{Bound, PyModule, errors};

    #[pymodule_init]
    #[expect(clippy::unnecessary_wraps, reason = "Python's modules may fail to begin")]
    fn init(_module: &Bound<'_, PyModule>) -> pyo3::PyResult<()> {
        errors::keep_panics_quiet();
        Ok(())
    }
}
