//! Regions for counters, as C calls them.

use std::ffi::{c_char, c_double};
use std::sync::Arc;

use model::counts::with_reasons;
use model::page::{si, tally};
use model::record::{CountedUnit, Counts};
use model::{Known, Unit};
use pmu::counting::{REGIONS_MAX, RegionPlan, RegionRefusal, RegionTotal};
use serde_json::{Value, json};

use crate::border::{self, Out, call, slow_call};
use crate::status::{CallError, CdStatus, Done};
use crate::thread::{self, ThreadSet};
use crate::{library, text};

/// A set of regions, counted with the same events: a number, 0 is none. It serves all threads.
pub type CdRegions = u64;

/// All threads together.
pub const CD_ALL_THREADS: u32 = u32::MAX;

/// Opens regions: named stretches of a program, whose time and events are summed by thread. The counters of the calling
/// thread are opened, too; those of other threads at their first start, or by `cd_regions_thread()`.
///
/// `machine`: NULL for this one, or a simulated one such as "sim:2s-56c", which does not execute your program: its
/// counters move by `cd_regions_loop()` alone.
/// `events`: names, patterns and codes as `cpudyno pmu list` has them, with commas between them; NULL: instructions,
/// cycles, reference cycles. An event that cannot be counted here has its reason in place of a count, and time is
/// measured anyway.
///
/// CD_ERROR_ARGUMENT: there is no such machine. CD_ERROR_UNAVAILABLE: an event means nothing, or they do not fit on the
/// counters together.
///
/// # Safety
/// Pointers are NULL or valid, texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_regions_open(
    machine: *const c_char,
    events: *const c_char,
    regions: *mut CdRegions,
) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let machine = unsafe { border::optional("machine", machine) }?;
        // SAFETY: the caller promises it.
        let events = unsafe { border::optional("events", events) }?.unwrap_or_default();
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("regions", regions) }?;
        let events: Vec<&str> =
            events.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
        let plan = RegionPlan::of(&thread::machine(machine)?, events.as_slice())?;
        let (machine, plan) = (machine.map(Arc::from), Arc::new(plan));
        let handle = library::locked(|library| library.open(machine, plan))?;
        // Events that do not fit are refused now, and not at the first start.
        if let Err(refusal) = thread::with(handle, |_| Ok(())) {
            library::locked(|library| library.close(handle))?;
            return Err(refusal);
        }
        out.put(handle);
        Ok(())
    })
}

/// Closes regions: their handle is CD_ERROR_HANDLE from then on, in every thread. The counters of other threads are closed
/// when those end. Closing 0 does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn cd_regions_close(regions: CdRegions) -> CdStatus {
    slow_call(|| {
        if regions != 0 {
            library::locked(|library| library.close(regions))?;
            thread::free(library::place(regions));
        }
        Ok(())
    })
}

/// The number of the region of that name, which is the same in all threads; at most 256 in a set. The first use of a
/// name makes it.
///
/// # Safety
/// Pointers are NULL or valid, texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_region(
    regions: CdRegions,
    name: *const c_char,
    region: *mut u32,
) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let name = unsafe { border::text("name", name) }?;
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("region", region) }?;
        out.put(library::locked(|library| library.set(regions)?.number(name, REGIONS_MAX))?);
        Ok(())
    })
}

/// Opens the counters of the calling thread, which its first start would do otherwise: that takes a millisecond or two.
#[unsafe(no_mangle)]
pub extern "C" fn cd_regions_thread(regions: CdRegions) -> CdStatus {
    slow_call(|| thread::with(regions, |_| Ok(())))
}

/// Enters a region. Regions may nest and overlap. After the first call in a thread it allocates nothing, takes no lock,
/// and makes no system call where the kernel lets programs read counters by instruction; a signal handler may call
/// it.
///
/// CD_ERROR_STATE: the thread is in this region already. CD_ERROR_ARGUMENT: there is no region of that number.
#[unsafe(no_mangle)]
pub extern "C" fn cd_region_start(regions: CdRegions, region: u32) -> CdStatus {
    call(|| on(regions, region, |set| set.counters.enter(region as usize)))
}

/// Leaves a region, and adds its time and events to the sums of the thread. As cheap as entering it.
///
/// CD_ERROR_STATE: the thread is not in this region.
#[unsafe(no_mangle)]
pub extern "C" fn cd_region_stop(regions: CdRegions, region: u32) -> CdStatus {
    call(|| on(regions, region, |set| set.counters.leave(region as usize)))
}

/// Forgets what the calling thread has summed in a region; it may be inside.
#[unsafe(no_mangle)]
pub extern "C" fn cd_region_reset(regions: CdRegions, region: u32) -> CdStatus {
    call(|| on(regions, region, |set| set.counters.reset(region as usize)))
}

#[inline]
fn on(
    regions: CdRegions,
    region: u32,
    work: impl FnOnce(&ThreadSet) -> Result<(), RegionRefusal>,
) -> Done {
    thread::with(regions, |set| {
        let known = if region < library::named(library::place(regions)) {
            work(set)
        } else {
            Err(RegionRefusal::Unknown)
        };
        known.map_err(refused)
    })
}

#[cold]
fn refused(refusal: RegionRefusal) -> CallError {
    let (status, why) = match refusal {
        RegionRefusal::Unknown => {
            let why = "there is no region of that number\nhint: cd_region() gives numbers";
            (CdStatus::CdErrorArgument, why)
        }
        RegionRefusal::Entered => (CdStatus::CdErrorState, "the thread is in this region already"),
        RegionRefusal::NotEntered => (CdStatus::CdErrorState, "the thread is not in this region"),
        RegionRefusal::Changing => (
            CdStatus::CdErrorState,
            "a signal interrupted the thread while it entered or left this region",
        ),
    };
    CallError::Plain(status, why)
}

/// Goes so many times through a loop of two instructions, one of them a branch: counts that are known, to try regions
/// out. A simulated machine does it by its model.
#[unsafe(no_mangle)]
pub extern "C" fn cd_regions_loop(regions: CdRegions, trips: u64) -> CdStatus {
    slow_call(|| thread::with(regions, |set| Ok(set.counters.execute_loop(trips)?)))
}

/// How many threads have counters in these regions, those that have ended among them. After a fork the child has none
/// at first: what was summed before is the parent's.
///
/// # Safety
/// The pointer is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_regions_threads(regions: CdRegions, threads: *mut u32) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("threads", threads) }?;
        out.put(library::locked(|library| {
            Ok::<_, CallError>(library.set(regions)?.threads().len())
        })? as u32);
        Ok(())
    })
}

/// How often a region was left.
///
/// `thread`: from 0 on in the order in which threads came, or CD_ALL_THREADS.
///
/// # Safety
/// The pointer is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_region_calls(
    regions: CdRegions,
    region: u32,
    thread: u32,
    calls: *mut u64,
) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("calls", calls) }?;
        out.put(total(regions, region, thread)?.calls);
        Ok(())
    })
}

/// For how many seconds threads were in a region, without what the measurement itself takes. Calls that have not ended
/// do not count.
///
/// CD_ERROR_UNAVAILABLE: no thread has left it yet.
///
/// # Safety
/// The pointer is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_region_seconds(
    regions: CdRegions,
    region: u32,
    thread: u32,
    seconds: *mut c_double,
) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("seconds", seconds) }?;
        out.put(known(total(regions, region, thread)?.seconds)?);
        Ok(())
    })
}

/// How many events of a name a region had, without what the measurement itself counts, and in how many of its calls:
/// those in which a counter was off the hardware are left out. `calls` may be NULL.
///
/// CD_ERROR_UNAVAILABLE: it could not be counted; CD_ERROR_ARGUMENT: it is none of the events of these regions.
///
/// # Safety
/// Pointers are NULL or valid, texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_region_count(
    regions: CdRegions,
    region: u32,
    thread: u32,
    event: *const c_char,
    count: *mut u64,
    calls: *mut u64,
) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let event = unsafe { border::text("event", event) }?;
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("count", count) }?;
        // SAFETY: the caller promises it.
        let calls = unsafe { Out::new("calls", calls) };
        let total = total(regions, region, thread)?;
        let row = total.events.iter().find(|row| row.event == event);
        let row = row.ok_or_else(|| {
            let names: Vec<&str> = total.events.iter().map(|row| row.event.as_str()).collect();
            let why = format!("`{event}` is none of the events: {}", names.join(", "));
            CallError::Worded(CdStatus::CdErrorArgument, why)
        })?;
        out.put(known(row.count.clone())?);
        if let Ok(calls) = calls {
            calls.put(total.counted);
        }
        Ok(())
    })
}

/// All regions as JSON, each with its total and its threads; free it with `cd_string_free()`.
///
/// # Safety
/// The pointer is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_regions_json(regions: CdRegions, json: *mut *mut c_char) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("json", json) }?;
        text::give(format!("{:#}", as_json(regions)?), out);
        Ok(())
    })
}

/// All regions as a table each, in the form of `cpudyno pmu`; free it with `cd_string_free()`.
///
/// # Safety
/// The pointer is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_regions_text(regions: CdRegions, text: *mut *mut c_char) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("text", text) }?;
        let pages = names(regions)?
            .into_iter()
            .enumerate()
            .map(|(region, name)| Ok(page(&name, total(regions, region as u32, CD_ALL_THREADS)?)));
        let pages = pages.collect::<Result<Vec<String>, CallError>>()?;
        let machine =
            library::locked(|library| Ok::<_, CallError>(library.set(regions)?.machine.clone()))?;
        let head = machine.map(|name| format!("SIMULATED: {name}\n\n")).unwrap_or_default();
        text::give(head + &pages.join("\n"), out);
        Ok(())
    })
}

fn known<T>(value: Known<T>) -> Result<T, CallError> {
    match value {
        Known::Yes(value) => Ok(value),
        Known::No { unavailable } => Err(unavailable.into()),
    }
}

fn names(regions: CdRegions) -> Result<Vec<String>, CallError> {
    library::locked(|library| Ok(library.set(regions)?.names.clone()))
}

/// What a region took in one thread, or in all of them.
fn total(regions: CdRegions, region: u32, thread: u32) -> Result<RegionTotal, CallError> {
    let (threads, named) = library::locked(|library| {
        let set = library.set(regions)?;
        Ok::<_, CallError>((set.threads(), set.names.len()))
    })?;
    if region as usize >= named {
        return Err(refused(RegionRefusal::Unknown));
    }
    let of_thread = |at: usize| Ok(threads[at].total(region as usize)?);
    if thread != CD_ALL_THREADS {
        if thread as usize >= threads.len() {
            let why = format!("there is no thread {thread}: {} have counters here", threads.len());
            return Err(CallError::Worded(CdStatus::CdErrorArgument, why));
        }
        return of_thread(thread as usize);
    }
    let mut totals = (0..threads.len()).map(of_thread);
    let nobody =
        CallError::Plain(CdStatus::CdErrorState, "no thread has counters in these regions");
    let first = totals.next().ok_or(nobody)??;
    totals.try_fold(first, |sum, next| Ok(sum.with(next?)))
}

fn as_json(regions: CdRegions) -> Result<Value, CallError> {
    let (machine, threads) = library::locked(|library| {
        let set = library.set(regions)?;
        Ok::<_, CallError>((set.machine.clone(), set.threads().len() as u32))
    })?;
    let of_region = |(region, name): (usize, String)| -> Result<Value, CallError> {
        let of = |thread| total(regions, region as u32, thread);
        let each: Result<Vec<RegionTotal>, CallError> = (0..threads).map(of).collect();
        let each = each?;
        Ok(
            json!({ "name": name, "total": each.iter().cloned().reduce(RegionTotal::with), "threads": each }),
        )
    };
    let all: Result<Vec<Value>, CallError> =
        names(regions)?.into_iter().enumerate().map(of_region).collect();
    Ok(json!({
        "cpudyno": env!("CARGO_PKG_VERSION"),
        "machine": machine.as_deref().unwrap_or("this one"),
        "simulated": machine.is_some(),
        "regions": all?,
    }))
}

/// A region as a table.
fn page(name: &str, total: RegionTotal) -> String {
    let RegionTotal { calls, counted, seconds, events, .. } = total;
    let time = match seconds {
        Known::Yes(seconds) => {
            format!("{}, {}", tally(calls as usize, "call"), si::format(seconds, Unit::Second))
        }
        Known::No { unavailable } => unavailable.why,
    };
    let units = vec![CountedUnit::new("call", counted)];
    let counts =
        Counts { title: name.to_owned(), units, events, executions: 1, ..Counts::default() };
    format!("region `{name}`: {time}\n{}", RegionTable(&counts))
}

/// A table of counts, with the reasons of what is missing.
struct RegionTable<'a>(&'a Counts);

impl std::fmt::Display for RegionTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        with_reasons(self.0, f)
    }
}
