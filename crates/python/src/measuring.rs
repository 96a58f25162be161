//! Measuring for Python: on a thread of its own, without the interpreter's lock, while the caller's thread shows progress
//! and hears signals.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use cpudyno::{Builder, Error, Seconds, Stop};
use pyo3::prelude::*;

use crate::errors::{bug, failed, guarded, wrong};
use crate::records::Record;

/// What is asked for; `None`: as usual.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MeasureArguments {
    machine: Option<String>,
    cpus: Option<String>,
    budget: Option<f64>,
    program: Option<PathBuf>,
    wait: f64,
    /// The command, as the record is to have it.
    command: Vec<String>,
    threads: Option<Vec<usize>>,
    /// Kernels, streams, messages, methods, runtimes: what the question has rows of.
    rows: Option<Vec<String>>,
    write_allocate: bool,
    every: bool,
    elements: Option<u64>,
    variant: Option<String>,
    active: Option<usize>,
    all_alone: bool,
    minima: Vec<String>,
    maxima: Vec<String>,
}

/// How far it is, or that it has ended.
enum Told {
    Progress(f64, String),
    Ended(Box<Result<cpudyno::Record, Error>>),
}

/// Measures, and calls `progress` with a share and what is being done.
///
/// An exception of the caller's thread (Ctrl-C, or one of `progress`) ends the measurement early and is raised with the
/// record of what was measured as its attribute `record`.
#[pyfunction]
pub(crate) fn measure(
    py: Python<'_>,
    question: &str,
    asked: MeasureArguments,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Record> {
    let stop = Stop::default();
    let (tell, mut told) = channel();
    let run = guarded(|| prepared(question, &asked, &stop, &tell))?;
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

type Measurement = Box<dyn FnOnce() -> Result<cpudyno::Record, Error> + Send>;

/// The measurement, ready to run on any thread.
fn prepared(
    question: &str,
    asked: &MeasureArguments,
    stop: &Stop,
    tell: &Sender<Told>,
) -> PyResult<Measurement> {
    use cpudyno::{cores, gate, jitter, memory, openmp, pause, sheet, turbo, wake};
    macro_rules! run {
        ($builder:expr) => {{
            let builder = usual($builder, asked, stop, tell)?;
            Box::new(move || Ok(builder.run()?.into_record()))
        }};
    }
    Ok(match question {
        "sheet" => run!(sheet::Sheet::builder()),
        "bandwidth" => run!(of_memory(memory::Bandwidth::builder(), asked)?),
        "scaling" => run!(of_memory(memory::Scaling::builder(), asked)?),
        "vector_lengths" => run!(of_memory(memory::VectorLengths::builder(), asked)?),
        "latency" => run!(of_memory(memory::Latency::builder(), asked)?),
        "turbo" => run!(of_turbo(turbo::Clocks::builder(), asked)?),
        "cores" => {
            let builder = cores::Latencies::builder();
            let find = |name: &str| cores::MESSAGES.iter().find(|row| row.id == name);
            let rows = rows(asked, "message", "cpudyno cores --list", find)?;
            if let Some(rows) = rows { run!(builder.messages(&rows)) } else { run!(builder) }
        }
        "wake" => {
            let builder = wake::Latencies::builder();
            let find = |name: &str| wake::methods().iter().copied().find(|row| row.id == name);
            let rows = rows(asked, "method", "cpudyno wake --list", find)?;
            if let Some(rows) = rows { run!(builder.methods(&rows)) } else { run!(builder) }
        }
        "wake_idle" => run!(wake::Idle::builder()),
        "wake_timer" => run!(wake::Timer::builder()),
        "pause" => run!(pause::Latencies::builder()),
        "jitter" => run!(jitter::Gaps::builder()),
        "openmp" => {
            let mut builder = openmp::Overheads::builder();
            if let Some(counts) = &asked.threads {
                builder = builder.threads(counts);
            }
            if let Some(names) = &asked.rows {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                builder = builder.runtimes(&names);
            }
            run!(builder)
        }
        "gate" => {
            let mut builder = gate::Judgement::builder();
            for bound in &asked.minima {
                builder = builder.bound_min(bound).map_err(|error| no_bound(&error))?;
            }
            for bound in &asked.maxima {
                builder = builder.bound_max(bound).map_err(|error| no_bound(&error))?;
            }
            run!(builder)
        }
        _ => return Err(wrong(&format!("there is no question `{question}`"), None)),
    })
}

/// What every question has.
fn usual<A: cpudyno::Answer<Options = O>, O: Clone>(
    mut builder: Builder<A, O>,
    asked: &MeasureArguments,
    stop: &Stop,
    tell: &Sender<Told>,
) -> PyResult<Builder<A, O>> {
    let tell = tell.clone();
    if let Some(machine) = &asked.machine {
        builder = builder.on(machine);
    }
    if let Some(cpus) = &asked.cpus {
        let read = cpus.parse();
        builder = builder.cpus(read.map_err(|error| {
            wrong(&format!("cpus={cpus:?}: {error}"), Some("a list such as \"0-3,8\""))
        })?);
    }
    if let Some(budget) = asked.budget {
        builder = builder.budget(Seconds(budget));
    }
    if let Some(program) = &asked.program {
        builder = builder.program(program);
    }
    let patience = Duration::try_from_secs_f64(asked.wait)
        .map_err(|error| wrong(&format!("wait={}: {error}", asked.wait), None))?;
    Ok(builder
        .wait(patience)
        .command(asked.command.clone())
        .stop(stop.clone())
        // Who is gone hears nothing.
        .progress(move |at| drop(tell.send(Told::Progress(at.share, at.doing.to_string())))))
}

fn of_memory<A>(
    mut builder: Builder<A, cpudyno::memory::MemoryOptions>,
    asked: &MeasureArguments,
) -> PyResult<Builder<A, cpudyno::memory::MemoryOptions>>
where
    A: cpudyno::Answer<Options = cpudyno::memory::MemoryOptions>,
{
    if let Some(rows) = rows(asked, "kernel", "cpudyno memory --list", kernels::memory::find)? {
        builder = builder.kernels(&rows);
    }
    if let Some(&[threads]) = asked.threads.as_deref() {
        builder = builder.threads(threads);
    }
    if let Some(elements) = asked.elements {
        builder = builder.length(elements);
    }
    if let Some(variant) = &asked.variant {
        builder = builder.variant(variant);
    }
    let MeasureArguments { write_allocate, every, .. } = *asked;
    Ok(builder.options(|options| {
        options.bytes.write_allocate = write_allocate;
        options.every_count = every;
    }))
}

fn of_turbo<A>(
    mut builder: Builder<A, cpudyno::turbo::TurboOptions>,
    asked: &MeasureArguments,
) -> PyResult<Builder<A, cpudyno::turbo::TurboOptions>>
where
    A: cpudyno::Answer<Options = cpudyno::turbo::TurboOptions>,
{
    use cpudyno::turbo::{Active, stream};
    if let Some(streams) = rows(asked, "stream", "cpudyno streams", stream)? {
        builder = builder.streams(&streams);
    }
    Ok(match asked.active {
        _ if asked.all_alone => builder.active(Active::All),
        Some(cores) => builder.active(Active::Cores(cores)),
        None => builder,
    })
}

/// The rows of a table that were asked for by name.
fn rows<T>(
    asked: &MeasureArguments,
    what: &str,
    command: &str,
    find: impl Fn(&str) -> Option<T>,
) -> PyResult<Option<Vec<T>>> {
    let Some(names) = &asked.rows else { return Ok(None) };
    let row = |name: &String| {
        find(name).ok_or_else(|| {
            wrong(&format!("there is no {what} `{name}`"), Some(&format!("`{command}` lists them")))
        })
    };
    names.iter().map(row).collect::<PyResult<Vec<T>>>().map(Some)
}

fn no_bound(error: &cpudyno::gate::NoBound) -> PyErr {
    wrong(&error.to_string(), Some("such as memory.triad=80GB/s; `cpudyno gate --help`"))
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
