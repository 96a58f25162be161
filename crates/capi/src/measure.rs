//! Measuring, as C calls it: what the library in Rust answers, as numbers or as its record.

use std::ffi::{c_char, c_double};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use cpudyno::by_name::{self, Listener, as_budget};
use cpudyno::{Answer, AskedOptions, Builder, Error, Stop};
use measure::run::Error as RunError;

use crate::border::{self, Out, call, slow_call};
use crate::library::{self, Library};
use crate::status::{CallError, CdStatus};
use crate::text;

/// A measured number in its SI unit: the median of its samples, the smallest and the largest of them.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CdValue {
    /// The median.
    pub median: c_double,
    /// The smallest sample.
    pub minimum: c_double,
    /// The largest sample.
    pub maximum: c_double,
    /// How many samples it rests on.
    pub samples: u64,
    /// 1: each of them was disturbed; 0: it can be relied on.
    pub is_doubtful: u32,
}

/// What STREAM's kernels read and write, in bytes per second.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CdBandwidth {
    /// How many threads moved data, one on each CPU.
    pub threads: u32,
    /// `c[i] = a[i]`
    pub copy: CdValue,
    /// `b[i] = s * c[i]`
    pub scale: CdValue,
    /// `c[i] = a[i] + b[i]`
    pub add: CdValue,
    /// `a[i] = b[i] + s * c[i]`
    pub triad: CdValue,
}

/// Measures the bandwidth of memory by STREAM's four kernels, each in the fastest way that this CPU has: all four
/// numbers, or none.
///
/// `machine`: NULL for this one, or a simulated one such as "sim:2s-56c", which takes no time.
/// `threads`: so many; 0: as many as there are cores.
/// `seconds`: about so long, at most 3600; 0: as long as the command takes by itself.
///
/// CD_ERROR_BUSY: another process or thread measures this machine. CD_ERROR_UNAVAILABLE: there is no such number here.
///
/// # Safety
/// Pointers are NULL or valid, texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_memory_bandwidth(
    machine: *const c_char,
    threads: u32,
    seconds: c_double,
    bandwidth: *mut CdBandwidth,
) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let machine = unsafe { border::optional("machine", machine) }?;
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("bandwidth", bandwidth) }?;
        let mut builder = cpudyno::memory::Bandwidth::builder();
        if let Some(machine) = machine {
            builder = builder.on(machine);
        }
        if threads > 0 {
            builder = builder.threads(threads as usize);
        }
        // Zero is exactly that: whoever leaves it out says so.
        if seconds.to_bits() << 1 != 0 {
            builder =
                builder.budget(as_budget("seconds", seconds).map_err(|error| failed(&error))?);
        }
        let answer = run(builder)?;
        let was_stopped = answer.record().run.interrupted.is_some();
        let of = |kernel| match answer.kernels.bandwidth(kernel) {
            Ok(value) => Ok(CdValue {
                median: value.median(),
                minimum: value.minimum(),
                maximum: value.maximum(),
                samples: value.samples(),
                is_doubtful: u32::from(value.is_doubtful()),
            }),
            Err(_) if was_stopped => Err(stopped()),
            Err(reason) => Err(reason.into()),
        };
        let threads = answer.kernels.threads() as u32;
        let [copy, scale, add, triad] = [of("copy")?, of("scale")?, of("add")?, of("triad")?];
        out.put(CdBandwidth { threads, copy, scale, add, triad });
        Ok(())
    })
}

/// Measures, and gives the record as JSON, the same that `cpudyno ... --json` writes: `cpudyno show` reads it.
/// Free it with `cd_string_free()`. What could not be measured has its reason there.
///
/// `area`: "sheet", "memory", "turbo", "cores", "wake", "pause", "openmp", "jitter", "threads",
/// "gate", "verify"; "info" and "doctor" only read.
/// `options`: NULL, or a JSON object such as {"machine": "sim:2s-56c", "budget": 2, "threads": 4}. The guide lists them;
/// one that is not known is CD_ERROR_ARGUMENT.
///
/// # Safety
/// Pointers are NULL or valid, texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_measure_json(
    area: *const c_char,
    options: *const c_char,
    json: *mut *mut c_char,
) -> CdStatus {
    slow_call(|| {
        // SAFETY: the caller promises it.
        let area = unsafe { border::text("area", area) }?;
        // SAFETY: the caller promises it.
        let options = unsafe { border::optional("options", options) }?;
        // SAFETY: the caller promises it.
        let out = unsafe { Out::new("json", json) }?;
        let running = Running::begin();
        let listener = Listener { stop: running.0.clone(), ..Listener::default() };
        let record = by_name::measure(area, options, listener).map_err(|error| failed(&error))?;
        drop(running);
        text::give(cpudyno::record::json(&record).map_err(|error| failed(&error))?, out);
        Ok(())
    })
}

/// Ends what this process measures at the moment: each call ends soon, with what was measured until then, or with
/// CD_ERROR_STOPPED. Signal handlers and other threads may call it. Where nothing is measured it does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn cd_stop() -> CdStatus {
    call(|| {
        if let Some(flag) = STOP.get() {
            flag.store(true, Ordering::Relaxed);
        }
        Ok(())
    })
}

/// What `cd_stop` sets: made by the first measurement, read without a lock.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// A call that measures, from its beginning to its end.
struct Running(Stop);

impl Running {
    fn begin() -> Running {
        let flag = STOP.get_or_init(Arc::default);
        library::locked(|library| {
            if library.begin_measuring() {
                // Whoever stopped something earlier did not mean this.
                flag.store(false, Ordering::Relaxed);
            }
        });
        Running(Stop::from_flag(Arc::clone(flag)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        library::locked(Library::end_measuring);
    }
}

fn run<A: Answer<Options = O>, O: Clone + AskedOptions>(
    builder: Builder<A, O>,
) -> Result<A, CallError> {
    let running = Running::begin();
    builder.stop(running.0.clone()).run().map_err(|error| failed(&error))
}

fn stopped() -> CallError {
    CallError::Plain(CdStatus::CdErrorStopped, "cd_stop() ended it before there was a number")
}

/// Why there is no answer, for C.
fn failed(error: &Error) -> CallError {
    let status = match error {
        Error::Busy { .. } => CdStatus::CdErrorBusy,
        Error::Stopped => return stopped(),
        Error::Argument { .. }
        | Error::Machine(_)
        | Error::Measure(RunError::Asked(_) | RunError::Placement(_)) => CdStatus::CdErrorArgument,
        _ => CdStatus::CdErrorFailed,
    };
    if let Some(reason) = error.unavailable() {
        return CallError::Absent(reason.clone());
    }
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    CallError::Worded(status, format!("{error}{hint}"))
}
