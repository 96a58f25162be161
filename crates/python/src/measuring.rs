//! Measuring for Python: on a thread of its own, without the interpreter's lock, while the caller's thread shows progress
//! and hears signals.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use cpudyno::by_name::{self, Listener};
use cpudyno::{Error, Stop};
use pyo3::prelude::*;

use crate::errors::{bug, failed, guarded};
use crate::records::Record;

/// How far it is, or that it has ended.
enum Told {
    Progress(f64, String),
    Ended(Box<Result<cpudyno::Record, Error>>),
}

/// Measures an area with options as a JSON object, and calls `progress` with a share and what is being done.
///
/// An exception of the caller's thread (Ctrl-C, or one of `progress`) ends the measurement early and is raised with the
/// record of what was measured as its attribute `record`.
#[pyfunction]
pub(crate) fn measure(
    py: Python<'_>,
    area: &str,
    options: &str,
    command: Vec<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Record> {
    let stop = Stop::default();
    let (tell, mut told) = channel();
    let shown = tell.clone();
    let listener = Listener {
        stop: stop.clone(),
        // Who is gone hears nothing.
        progress: Box::new(move |at| drop(shown.send(Told::Progress(at.share, at.doing.into())))),
        command: Some(command),
    };
    let (area, options) = (area.to_owned(), options.to_owned());
    let run = move || by_name::measure(&area, Some(&options), listener);
    let worker = move || drop(tell.send(Told::Ended(Box::new(run()))));
    let worker = thread::Builder::new().name("cpudyno".to_owned()).spawn(worker)?;
    let mut interrupted: Option<PyErr> = None;
    let ended = loop {
        match py.detach(|| heard(&mut told)) {
            Ok(Told::Ended(ended)) => break *ended,
            Err(RecvTimeoutError::Disconnected) => {
                // Its thread has panicked: nothing else drops the other end.
                let panic = py.detach(|| worker.join()).err();
                return Err(panic.map_or_else(|| bug(&"no answer"), |panic| bug(&*panic)));
            }
            Ok(Told::Progress(share, doing)) if interrupted.is_none() => {
                let shown = progress.as_ref().map(|progress| progress.call1((share, doing)));
                interrupted = shown.and_then(Result::err);
            }
            Ok(Told::Progress(..)) | Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals() {
            interrupted.get_or_insert(error);
        }
        if interrupted.is_some() {
            stop.ask();
        }
    };
    match (interrupted, ended) {
        (None, ended) => Ok(ended.map_err(failed)?.into()),
        (Some(error), ended) => {
            let record = ended.ok().map(Record::from);
            error.value(py).setattr("record", record)?;
            Err(error)
        }
    }
}

fn heard(told: &mut Receiver<Told>) -> Result<Told, RecvTimeoutError> {
    const STEP: Duration = Duration::from_millis(50);
    told.recv_timeout(STEP)
}

/// The record of what a machine says of itself, or of what can be measured there.
#[pyfunction]
pub(crate) fn describe(py: Python<'_>, what: &str, machine: Option<&str>) -> PyResult<Record> {
    let described = || {
        guarded(|| {
            Ok(match (what, machine) {
                ("doctor", None) => Ok(cpudyno::doctor()),
                ("doctor", Some(name)) => cpudyno::doctor_of(name),
                (_, None) => Ok(cpudyno::info()),
                (_, Some(name)) => cpudyno::info_of(name),
            })
        })
    };
    Ok(py.detach(described)?.map_err(failed)?.into())
}

/// The verdict of a gate in a word and in a line.
#[pyfunction]
pub(crate) fn verdict(record: &Bound<'_, Record>) -> PyResult<(String, String)> {
    guarded(|| {
        let record = record.get().record();
        let verdict = record.gate.as_ref().map(|gate| gate.verdict);
        let verdict = verdict.unwrap_or(cpudyno::gate::GateVerdict::CannotJudge);
        let word = fleet::gate::word(verdict).to_owned();
        Ok((word, fleet::gate::line(record)))
    })
}

/// CPUs that compute something wrong which others compute right, as a list such as `2,6`.
#[pyfunction]
pub(crate) fn faulty(record: &Bound<'_, Record>) -> PyResult<String> {
    guarded(|| {
        let run = record.get().record().verify.as_ref();
        Ok(run.map_or_else(String::new, |run| run.faulty().to_string()))
    })
}

/// What a record says of numbers of threads, as JSON.
#[pyfunction]
pub(crate) fn threads_advice(record: &Bound<'_, Record>) -> PyResult<String> {
    guarded(|| {
        let advice = advice::threads::advice(record.get().record());
        serde_json::to_string(&advice).map_err(|error| bug(&error.to_string()))
    })
}
