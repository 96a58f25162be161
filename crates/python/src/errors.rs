//! Errors of Rust as exceptions of Python.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rig::executor::RunError;
use rig::placement::Refusal;

/// The exceptions, which Python defines.
mod python {
    pyo3::import_exception!(cpudyno._errors, Bug);
    pyo3::import_exception!(cpudyno._errors, Busy);
    pyo3::import_exception!(cpudyno._errors, Error);
    pyo3::import_exception!(cpudyno._errors, Refused);
    pyo3::import_exception!(cpudyno._errors, Unavailable);
}

/// Where the last panic was, of whatever thread.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

fn place() -> MutexGuard<'static, Option<String>> {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Panics say nothing on standard error: each becomes an exception, which has the words and the place.
pub(crate) fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|info| {
        *place() = info.location().map(ToString::to_string);
    }));
}

/// What is done, or `cpudyno.Bug` where it panics: a panic never crosses into the interpreter.
pub(crate) fn guarded<T>(done: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(done)).unwrap_or_else(|panic| Err(bug(&*panic)))
}

/// A panic as an exception.
pub(crate) fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    let place = place().take().unwrap_or_else(|| "unknown".to_owned());
    let text = text.strip_prefix("BUG: ").unwrap_or(text);
    python::Bug::new_err(format!("BUG: {text} (at {place})"))
}

/// The reason why something is missing, as an exception.
pub(crate) fn unavailable(reason: &model::Unavailable) -> PyErr {
    let model::Unavailable { what, why, remedy, obstacle } = reason;
    let obstacle = serde_json::to_value(obstacle).ok();
    let obstacle = obstacle.as_ref().and_then(|it| it.as_str()).unwrap_or_default().to_owned();
    python::Unavailable::new_err((what.clone(), why.clone(), remedy.clone(), obstacle))
}

/// Why there is no answer, as an exception: what was asked wrongly is Python's own.
pub(crate) fn failed(error: cpudyno::Error) -> PyErr {
    use cpudyno::Error;
    use measure::run::Error as Run;
    let (message, hint) = (error.to_string(), error.hint());
    match error {
        Error::Busy { holder } => {
            let hint =
                "the argument wait=SECONDS waits for it; CPUDYNO_LOCK=off measures beside it";
            python::Busy::new_err((message, hint, holder))
        }
        Error::Machine(error) => wrong(&message, Some(&machine_hint(&error))),
        Error::Measure(Run::Unavailable(reason)) => unavailable(&reason),
        Error::Measure(Run::Asked(reason)) => wrong(&message, reason.remedy.as_deref()),
        Error::Measure(Run::Placement(Refusal::Missing { usable, .. })) => {
            wrong(&message, Some(&format!("choose among cpus=\"{usable}\"")))
        }
        Error::Measure(Run::Placement(Refusal::TooMany { chosen, .. })) => {
            wrong(&message, Some(&format!("ask for at most {chosen}")))
        }
        Error::Measure(Run::Run(RunError::OutOfTime)) => {
            python::Error::new_err((message, "give it more time: budget=SECONDS"))
        }
        Error::Measure(Run::Run(RunError::Fault(_) | RunError::WrongAnswer(_))) => {
            python::Bug::new_err((message, "please report it, with the lines above"))
        }
        Error::NoRecord { .. } | Error::Argument { .. } => wrong(&message, hint.as_deref()),
        Error::File { .. } | Error::Lock(_) => python::Refused::new_err((message, hint)),
        _ => python::Error::new_err((message, hint)),
    }
}

/// An argument that means nothing here.
pub(crate) fn wrong(message: &str, hint: Option<&str>) -> PyErr {
    let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    PyValueError::new_err(format!("{message}{hint}"))
}

/// What helps when there is no machine of that name.
fn machine_hint(error: &recorded::Error) -> String {
    use recorded::Error::{Broken, Simulated, Unread};
    use simulated::Error::Unknown;
    match error {
        Simulated(Unknown { suggestion: Some(near), .. })
        | Unread { suggestion: Some(near), .. } => format!("did you mean \"sim:{near}\"?"),
        Broken { .. } => {
            "the file is no capture, or was changed; `cpudyno capture FILE` writes one".to_owned()
        }
        _ => {
            let known: Vec<String> = simulated::names().map(|name| format!("sim:{name}")).collect();
            format!("machines: {}, or the file of a capture", known.join(", "))
        }
    }
}

/// Panics, for tests of what becomes of that.
#[pyfunction]
pub(crate) fn provoke_bug() -> PyResult<()> {
    guarded(|| panic!("BUG: provoked by a test"))
}
