//! Counters for Python: blocks, functions, and sets.
//!
//! Counters count one thread of one process. Each object here names counters that lie with their thread: asked on
//! another thread, or in a child after `fork`, it is an error with that reason, and freed there it does nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use model::record::{CountedUnit, Counts};
use pmu::{EventList, PartIndex};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{guarded, unavailable};

/// Counted up by each `fork`, in the child.
static FORKS: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The machine, as each thread that counts reads it: once a thread, and as long as it may count.
    static MACHINE: &'static pmu::Machine = Box::leak(Box::new(pmu::Machine::real()));
    static WINDOWS: RefCell<HashMap<u64, pmu::Window<'static>>> = RefCell::default();
    static SETS: RefCell<HashMap<u64, pmu::CounterSet>> = RefCell::default();
}

/// A name for counters of a thread.
struct Key {
    id: u64,
    forks: u64,
}

impl Key {
    fn new() -> Key {
        Key { id: NEXT.fetch_add(1, Relaxed), forks: FORKS.load(Relaxed) }
    }

    /// What is done with the counters of that name.
    fn with<T, R>(
        &self,
        all: &'static std::thread::LocalKey<RefCell<HashMap<u64, T>>>,
        done: impl FnOnce(&mut T) -> PyResult<R>,
    ) -> PyResult<R> {
        if self.forks != FORKS.load(Relaxed) {
            return Err(PyRuntimeError::new_err(
                "these counters count the process that opened them, not this child; open others here",
            ));
        }
        guarded(|| {
            all.with(|all| {
                let mut all = all.try_borrow_mut().map_err(|_| {
                    PyRuntimeError::new_err("counters of this thread are in use at this moment")
                })?;
                done(all.get_mut(&self.id).ok_or_else(elsewhere)?)
            })
        })
    }

    /// Closes the counters, where they lie with this thread; others are closed when their thread ends.
    fn close<T>(&self, all: &'static std::thread::LocalKey<RefCell<HashMap<u64, T>>>) {
        // While the thread ends there is nothing left to close.
        let taken = all.try_with(|all| all.try_borrow_mut().ok()?.remove(&self.id));
        drop(taken);
    }
}

fn elsewhere() -> PyErr {
    PyRuntimeError::new_err(
        "these counters count another thread, or are closed; open them on the thread that they count",
    )
}

/// Says that this process is a child that `fork` made.
#[pyfunction]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Relaxed);
}

/// Why cycles of this thread cannot be counted, as the exception `Unavailable`; none: they can.
#[pyfunction]
pub(crate) fn why_nothing_counts() -> PyResult<Option<PyErr>> {
    guarded(|| Ok(pmu::is_available().err().as_ref().map(unavailable)))
}

/// Counts, as JSON of `{"run": ..., "counts": ...}`, and their table as text.
type Told = (String, String);

fn told(profile: &pmu::Profile) -> Told {
    let json = serde_json::json!({ "run": profile.run, "counts": profile.counts });
    (json.to_string(), profile.to_string())
}

fn words(events: &[String]) -> Vec<&str> {
    events.iter().map(String::as_str).collect()
}

fn units_of(units: Vec<(String, u64)>) -> Vec<CountedUnit> {
    units.into_iter().map(|(name, number)| CountedUnit::new(name, number)).collect()
}

/// The reason why a name means no event here, as the exception `Unavailable`; none: it means one.
#[pyfunction]
pub(crate) fn why_no_event(event: &str) -> PyResult<Option<PyErr>> {
    guarded(|| {
        let found = [event].as_slice().encoded(MACHINE.with(|machine| *machine));
        Ok(found.err().as_ref().map(unavailable))
    })
}

/// Counters around a block.
#[pyclass(frozen, module = "cpudyno._native")]
pub(crate) struct Window(Key);

#[pymethods]
impl Window {
    #[new]
    fn new(events: Vec<String>) -> PyResult<Window> {
        guarded(|| {
            let machine = MACHINE.with(|machine| *machine);
            let window = pmu::Window::open(machine, words(&events).as_slice());
            let window = window.map_err(|reason| unavailable(&reason))?;
            let key = Key::new();
            WINDOWS.with_borrow_mut(|all| all.insert(key.id, window));
            Ok(Window(key))
        })
    }

    /// The events that were asked for; of none, those that every table begins with.
    fn asked(&self) -> PyResult<Vec<String>> {
        self.0.with(&WINDOWS, |window| Ok(window.asked().to_vec()))
    }

    /// Why events that were asked for will have no count.
    fn refusals(&self) -> PyResult<Vec<PyErr>> {
        self.0.with(&WINDOWS, |window| Ok(window.refusals().iter().map(unavailable).collect()))
    }

    fn begin(&self) -> PyResult<()> {
        self.0.with(&WINDOWS, |window| {
            window.begin();
            Ok(())
        })
    }

    fn end(&self) -> PyResult<()> {
        self.0.with(&WINDOWS, |window| {
            window.end();
            Ok(())
        })
    }

    /// Says that nothing was done between the last two ends.
    fn was_nothing(&self) -> PyResult<()> {
        self.0.with(&WINDOWS, |window| {
            window.was_nothing();
            Ok(())
        })
    }

    fn profile(&self, units: Vec<(String, u64)>) -> PyResult<Told> {
        self.0.with(&WINDOWS, |window| {
            let profile = window.profile(&units_of(units));
            Ok(told(&profile.ok_or_else(|| PyRuntimeError::new_err("no block has ended"))?))
        })
    }

    /// Closes the counters and lets the thread go; twice, or on another thread, it does nothing.
    fn close(&self) {
        self.0.close(&WINDOWS);
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.0.close(&WINDOWS);
    }
}

/// Counts a function of Python, which is called once a pass; its first exception ends it.
#[pyfunction]
pub(crate) fn count_function(
    function: &Bound<'_, PyAny>,
    events: Vec<String>,
    units: Vec<(String, u64)>,
) -> PyResult<Told> {
    guarded(|| {
        let units: Vec<(&str, u64)> = units.iter().map(|(name, it)| (name.as_str(), *it)).collect();
        let mut failed = None;
        let call = || {
            if failed.is_none() {
                failed = function.call0().err();
            }
        };
        let profile = pmu::profile(call, words(&events).as_slice(), &units);
        match failed {
            Some(error) => Err(error),
            None => Ok(told(&profile.map_err(|reason| unavailable(&reason))?)),
        }
    })
}

/// The table of counts (as JSON) by other units.
#[pyfunction]
pub(crate) fn report(counts: &str, units: Vec<(String, u64)>) -> PyResult<String> {
    guarded(|| Ok(model::counts::Report::of(&read(counts)?, &units_of(units)).to_string()))
}

fn read(counts: &str) -> PyResult<Counts> {
    serde_json::from_str(counts)
        .map_err(|error| PyValueError::new_err(format!("these are no counts: {error}")))
}

/// Counters that stay open, with a bill for each part.
#[pyclass(frozen, module = "cpudyno._native")]
pub(crate) struct CounterSet(Key);

#[pymethods]
impl CounterSet {
    #[new]
    fn new(events: Vec<String>, parts: Vec<String>) -> PyResult<CounterSet> {
        guarded(|| {
            let machine = MACHINE.with(|machine| *machine);
            let set = pmu::CounterSet::open(machine, words(&events).as_slice(), &words(&parts));
            let set = set.map_err(|reason| unavailable(&reason))?;
            let key = Key::new();
            SETS.with_borrow_mut(|all| all.insert(key.id, set));
            Ok(CounterSet(key))
        })
    }

    fn switch_to(&self, part: usize) -> PyResult<()> {
        self.0.with(&SETS, |set| {
            set.switch_to(PartIndex(part));
            Ok(())
        })
    }

    fn done(&self, units: u64) -> PyResult<()> {
        self.0.with(&SETS, |set| {
            set.done(units);
            Ok(())
        })
    }

    /// How often a part was left, and how many of those intervals are on no bill.
    fn intervals(&self, part: usize) -> PyResult<Option<(u64, u64)>> {
        self.0.with(&SETS, |set| Ok(set.intervals(PartIndex(part))))
    }

    /// The bill of a part, as JSON of counts.
    fn bill(&self, part: usize, unit: &str) -> PyResult<Option<String>> {
        self.0.with(&SETS, |set| {
            let bill = set.bill(PartIndex(part), unit);
            Ok(bill.map(|bill| serde_json::json!(bill).to_string()))
        })
    }

    fn verify(&self) -> PyResult<()> {
        self.0.with(&SETS, |set| set.verify().map_err(|reason| unavailable(&reason)))
    }

    /// Closes the counters; twice, or on another thread, it does nothing.
    fn close(&self) {
        self.0.close(&SETS);
    }
}

impl Drop for CounterSet {
    fn drop(&mut self) {
        self.0.close(&SETS);
    }
}
