//! Measuring, as C calls it: what the library in Rust answers, as numbers or as its record.

use std::ffi::{c_char, c_double};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cpudyno::jitter::Gaps;
use cpudyno::openmp::Overheads;
use cpudyno::sheet::Sheet;
use cpudyno::turbo::{Active, Clocks};
use cpudyno::{Answer, Builder, Error, Record, Stop, cores, pause};
use measure::run::Error as RunError;

use crate::border::{self, Out, call, slow_call};
use crate::library::{self, Library};
use crate::options::{Options, as_budget, meant, senseless};
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

/// What can be measured, and what can only be read.
const AREAS: &[&str] =
    &["sheet", "memory", "turbo", "cores", "wake", "pause", "openmp", "jitter", "info", "doctor"];

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
            builder = builder.budget(as_budget("seconds", seconds)?);
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
/// `area`: "sheet", "memory", "turbo", "cores", "wake", "pause", "openmp", "jitter"; "info" and "doctor" only read.
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
        let record = measured(area, Options::read(options)?)?;
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

fn run<A: Answer<Options = O>, O: Clone>(builder: Builder<A, O>) -> Result<A, CallError> {
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
        Error::Machine(_) | Error::Measure(RunError::Asked(_) | RunError::Placement(_)) => {
            CdStatus::CdErrorArgument
        }
        _ => CdStatus::CdErrorFailed,
    };
    if let Some(reason) = error.unavailable() {
        return CallError::Absent(reason.clone());
    }
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    CallError::Worded(status, format!("{error}{hint}"))
}

/// The record of an area.
fn measured(area: &str, mut options: Options) -> Result<Record, CallError> {
    let options = &mut options;
    match area {
        "sheet" => record(area, Sheet::builder(), Sheet::into_record, options),
        "memory" => memory(options),
        "turbo" => turbo(options),
        "cores" => {
            let known: Vec<&cores::Message> = cores::MESSAGES.iter().collect();
            let ways = options.rows("messages", &known, |it| it.id)?;
            let builder = with(cores::Latencies::builder(), ways, |it, ways| it.messages(&ways));
            record(area, builder, cores::Latencies::into_record, options)
        }
        "wake" => wake(options),
        "pause" => {
            record(area, pause::Latencies::builder(), pause::Latencies::into_record, options)
        }
        "openmp" => {
            let (threads, runtimes) = (options.counts("threads")?, options.texts("runtimes")?);
            let builder = with(Overheads::builder(), threads, |it, counts| it.threads(&counts));
            let builder = with(builder, runtimes, |it, names| {
                it.runtimes(&names.iter().map(String::as_str).collect::<Vec<_>>())
            });
            record(area, builder, Overheads::into_record, options)
        }
        "jitter" => {
            let shortest = options.seconds("shortest")?;
            let builder = with(Gaps::builder(), shortest, Builder::shortest);
            record(area, builder, Gaps::into_record, options)
        }
        "info" | "doctor" => told(area, options),
        _ => {
            let hint = meant(area, AREAS.iter().copied());
            Err(senseless(format!("there is no area `{area}`{hint}")))
        }
    }
}

fn memory(options: &mut Options) -> Result<Record, CallError> {
    use cpudyno::memory::{Bandwidth, Latency, Scaling, VectorLengths, all_kernels};
    const QUESTIONS: &[&str] = &["bandwidth", "scaling", "vector-lengths", "latency"];
    let question = options.word("question", QUESTIONS)?;
    let kernels = options.rows("kernels", all_kernels(), |it| it.id)?;
    let (threads, length) = (options.count("threads")?, options.count("length")?);
    let variant = options.text("variant")?;
    /// The same options of each of the questions.
    macro_rules! asked {
        ($answer:ident) => {{
            let builder = with($answer::builder(), kernels, |it, kernels| it.kernels(&kernels));
            let builder = with(builder, threads, |it, threads| it.threads(threads));
            let builder = with(builder, length, |it, length| it.length(length as u64));
            let builder = with(builder, variant, |it, variant| it.variant(variant));
            record("memory", builder, $answer::into_record, options)
        }};
    }
    match question {
        "scaling" => asked!(Scaling),
        "vector-lengths" => asked!(VectorLengths),
        "latency" => asked!(Latency),
        _ => asked!(Bandwidth),
    }
}

fn turbo(options: &mut Options) -> Result<Record, CallError> {
    let streams = options.rows("streams", cpudyno::turbo::streams(), |it| it.id)?;
    let cores = options.count("cores")?;
    let active = match options.word("active", &["each", "all"])? {
        "all" => Active::All,
        _ => Active::Each,
    };
    let builder = with(Clocks::builder(), streams, |it, streams| it.streams(&streams));
    let builder = builder.active(cores.map_or(active, Active::Cores));
    record("turbo", builder, Clocks::into_record, options)
}

fn wake(options: &mut Options) -> Result<Record, CallError> {
    use cpudyno::wake::{Idle, Latencies, Timer, methods};
    let question = options.word("question", &["signals", "idle", "timer"])?;
    let ways = options.rows("methods", methods(), |it| it.id)?;
    /// The same options of each of the questions.
    macro_rules! asked {
        ($answer:ident) => {{
            let builder = with($answer::builder(), ways, |it, ways| it.methods(&ways));
            record("wake", builder, $answer::into_record, options)
        }};
    }
    match question {
        "idle" => asked!(Idle),
        "timer" => asked!(Timer),
        _ => asked!(Latencies),
    }
}

/// What a machine says of itself.
fn told(area: &str, options: &mut Options) -> Result<Record, CallError> {
    let machine = options.text("machine")?;
    options.all_taken(area)?;
    let record = match (machine, area) {
        (Some(name), "info") => cpudyno::info_of(&name),
        (Some(name), _) => cpudyno::doctor_of(&name),
        (None, "info") => Ok(cpudyno::info()),
        (None, _) => Ok(cpudyno::doctor()),
    };
    record.map_err(|error| failed(&error))
}

/// The same builder, or one that was told something.
fn with<B, T>(builder: B, option: Option<T>, tell: impl FnOnce(B, T) -> B) -> B {
    match option {
        None => builder,
        Some(option) => tell(builder, option),
    }
}

/// Measures with what every area may be told.
fn record<A: Answer<Options = O>, O: Clone>(
    area: &str,
    builder: Builder<A, O>,
    of: fn(A) -> Record,
    options: &mut Options,
) -> Result<Record, CallError> {
    let builder = with(builder, options.text("machine")?, Builder::on);
    let builder = with(builder, options.text("root")?, Builder::root);
    let builder = with(builder, options.cpus("cpus")?, Builder::cpus);
    let builder = with(builder, options.seconds("budget")?, Builder::budget);
    let builder = with(builder, options.text("program")?, Builder::program);
    let wait = options.seconds("wait")?.map(|seconds| Duration::from_secs_f64(seconds.0));
    let builder = with(builder, wait, Builder::wait);
    options.all_taken(area)?;
    run(builder).map(of)
}
