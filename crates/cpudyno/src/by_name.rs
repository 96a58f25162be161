//! Measurements that are asked for by words: as other languages ask, which have no builders.
//!
//! ```
//! use cpudyno::by_name::{Listener, measure};
//!
//! let options = r#"{"machine": "sim:4c", "threads": 2, "budget": 1}"#;
//! let record = measure("memory", Some(options), Listener::default())?;
//! assert_eq!(record.run.simulated.as_deref(), Some("4c"));
//! # Ok::<(), cpudyno::Error>(())
//! ```

use std::time::Duration;

use model::name::did_you_mean;
use model::record::Record;
use model::{CpuSet, Seconds};
use serde_json::{Map, Value};

pub use crate::builder::as_budget;
use crate::gate::Judgement;
use crate::jitter::Gaps;
use crate::openmp::Overheads;
use crate::sheet::Sheet;
use crate::threads::Threads;
use crate::turbo::{Active, Clocks};
use crate::verify::Verified;
use crate::{Answer, AskedOptions, Builder, Error, Progress, Stop, cores, pause};

/// What can be measured, and what can only be read.
const AREAS: &[&str] = &[
    "sheet", "memory", "turbo", "cores", "wake", "pause", "openmp", "jitter", "threads", "gate",
    "verify", "info", "doctor",
];

/// Who hears how far it is, and may end it.
pub struct Listener {
    /// Ends it early.
    pub stop: Stop,
    /// Is told a few times a second.
    pub progress: Box<dyn FnMut(Progress<'_>) + Send>,
    /// What the record is to call the command.
    pub command: Option<Vec<String>>,
}

impl Default for Listener {
    fn default() -> Listener {
        Listener { stop: Stop::default(), progress: Box::new(|_| {}), command: None }
    }
}

/// Measures an area (`sheet`, `memory`, `turbo`, ...), or reads what the machine says (`info`, `doctor`), with options as
/// a JSON object. The guide's page on C lists them; one that is not known is an error with a hint.
///
/// # Errors
/// See [`Builder::run`]; also where area or options mean nothing.
pub fn measure(area: &str, options: Option<&str>, listener: Listener) -> Result<Record, Error> {
    let mut options = Options::read(options)?;
    options.listener = Some(listener);
    measured(area, options)
}

/// The record of an area.
fn measured(area: &str, mut options: Options) -> Result<Record, Error> {
    let options = &mut options;
    match area {
        "sheet" => record(area, Sheet::builder(), Sheet::into_record, options),
        "memory" => memory(options),
        "turbo" => turbo(options),
        "cores" => {
            let known: Vec<&cores::Message> = cores::MESSAGES.iter().collect();
            let ways = options.rows("messages", &known, |it| it.id, "cpudyno cores --list")?;
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
        "threads" => record(area, Threads::builder(), Threads::into_record, options),
        "gate" => {
            let bounds = (options.texts("min")?, options.texts("max")?);
            let mut builder = Judgement::builder();
            for bound in bounds.0.iter().flatten() {
                builder = builder.bound_min(bound).map_err(|error| no_bound(bound, error))?;
            }
            for bound in bounds.1.iter().flatten() {
                builder = builder.bound_max(bound).map_err(|error| no_bound(bound, error))?;
            }
            record(area, builder, Judgement::into_record, options)
        }
        "verify" => {
            let workloads = options.texts("workloads")?;
            let builder = with(Verified::builder(), workloads, |it, ids| {
                it.workloads(&ids.iter().map(String::as_str).collect::<Vec<_>>())
            });
            record(area, builder, Verified::into_record, options)
        }
        "info" | "doctor" => told(area, options),
        _ => {
            let hint = meant(area, AREAS.iter().copied());
            Err(unknown(format!("there is no area `{area}`"), hint))
        }
    }
}

fn no_bound(bound: &str, error: crate::gate::NoBound) -> Error {
    unknown(format!("`{bound}` is no bound: {}", error.why), error.hint)
}

fn memory(options: &mut Options) -> Result<Record, Error> {
    use crate::memory::{Bandwidth, Latency, Scaling, VectorLengths, all_kernels};
    const QUESTIONS: &[&str] = &["bandwidth", "scaling", "vector-lengths", "latency"];
    let question = options.word("question", QUESTIONS)?;
    let kernels = options.rows("kernels", all_kernels(), |it| it.id, "cpudyno memory --list")?;
    let (threads, length) = (options.count("threads")?, options.count("length")?);
    let variant = options.text("variant")?;
    let (every, moved) = (options.flag("every")?, options.flag("write_allocate")?);
    /// The same options of each of the questions.
    macro_rules! asked {
        ($answer:ident) => {{
            let builder = with($answer::builder(), kernels, |it, kernels| it.kernels(&kernels));
            let builder = with(builder, threads, |it, threads| it.threads(threads));
            let builder = with(builder, length, |it, length| it.length(length as u64));
            let builder = with(builder, variant, |it, variant| it.variant(variant));
            let builder = builder.options(|it| {
                it.every_count = every.unwrap_or(it.every_count);
                it.bytes.write_allocate = moved.unwrap_or(it.bytes.write_allocate);
            });
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

fn turbo(options: &mut Options) -> Result<Record, Error> {
    let streams =
        options.rows("streams", crate::turbo::all_streams(), |it| it.id, "cpudyno streams")?;
    let cores = options.count("cores")?;
    let active = match options.word("active", &["each", "all"])? {
        "all" => Active::All,
        _ => Active::Each,
    };
    let builder = with(Clocks::builder(), streams, |it, streams| it.streams(&streams));
    let builder = builder.active(cores.map_or(active, Active::Cores));
    record("turbo", builder, Clocks::into_record, options)
}

fn wake(options: &mut Options) -> Result<Record, Error> {
    use crate::wake::{Idle, Latencies, Timer, methods};
    let question = options.word("question", &["signals", "idle", "timer"])?;
    let ways = options.rows("methods", methods(), |it| it.id, "cpudyno wake --list")?;
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
fn told(area: &str, options: &mut Options) -> Result<Record, Error> {
    let machine = options.text("machine")?;
    options.all_taken(area)?;
    match (machine, area) {
        (Some(name), "info") => crate::info_of(&name),
        (Some(name), _) => crate::doctor_of(&name),
        (None, "info") => Ok(crate::info()),
        (None, _) => Ok(crate::doctor()),
    }
}

/// The same builder, or one that was told something.
fn with<B, T>(builder: B, option: Option<T>, tell: impl FnOnce(B, T) -> B) -> B {
    match option {
        None => builder,
        Some(option) => tell(builder, option),
    }
}

/// Measures with what every area may be told.
fn record<A: Answer<Options = O>, O: Clone + AskedOptions>(
    area: &str,
    builder: Builder<A, O>,
    of: fn(A) -> Record,
    options: &mut Options,
) -> Result<Record, Error> {
    let builder = with(builder, options.text("machine")?, Builder::on);
    let builder = with(builder, options.text("root")?, Builder::root);
    let builder = with(builder, options.cpus("cpus")?, Builder::cpus);
    let builder = with(builder, options.seconds("budget")?, Builder::budget);
    let builder = with(builder, options.text("program")?, Builder::program);
    let wait = options.seconds("wait")?.map(|seconds| Duration::from_secs_f64(seconds.0));
    let builder = with(builder, wait, Builder::wait);
    options.all_taken(area)?;
    let Listener { stop, progress, command } = options.listener.take().unwrap_or_default();
    let builder = with(builder, command, Builder::command).stop(stop).progress(progress);
    builder.run().map(of)
}

/// The options of a call, taken one after the other; those that nobody took are an error.
struct Options {
    left: Map<String, Value>,
    /// The names that were asked for.
    known: Vec<&'static str>,
    listener: Option<Listener>,
}

fn senseless(why: impl Into<String>) -> Error {
    Error::Argument { why: why.into(), hint: None }
}

fn unknown(why: String, hint: String) -> Error {
    Error::Argument { why, hint: Some(hint) }
}

/// What a word may have been meant for.
fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = did_you_mean(word, known.clone()) {
        return format!("did you mean `{near}`?");
    }
    let known: Vec<&str> = known.into_iter().collect();
    format!("known are {}", known.join(", "))
}

impl Options {
    /// Reads them; none are those of an empty object.
    fn read(text: Option<&str>) -> Result<Options, Error> {
        let left = match text.map(str::trim).filter(|text| !text.is_empty()) {
            None => Map::new(),
            Some(text) => match serde_json::from_str(text) {
                Ok(Value::Object(left)) => left,
                Ok(_) => {
                    return Err(unknown(
                        "options are no object".to_owned(),
                        "{\"threads\": 4}".to_owned(),
                    ));
                }
                Err(error) => return Err(senseless(format!("options are no JSON: {error}"))),
            },
        };
        Ok(Options { left, known: Vec::new(), listener: None })
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.left.remove(name)
    }

    /// A text.
    fn text(&mut self, name: &'static str) -> Result<Option<String>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(senseless(format!("`{name}` is no text: {other}"))),
        }
    }

    /// Yes or no.
    fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(is)) => Ok(Some(is)),
            Some(other) => Err(senseless(format!("`{name}` is neither true nor false: {other}"))),
        }
    }

    /// CPUs, such as "0-3,8".
    fn cpus(&mut self, name: &'static str) -> Result<Option<CpuSet>, Error> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let cpus = text.parse().map_err(|error| senseless(format!("`{name}`: {error}")))?;
        Ok(Some(cpus))
    }

    /// A time in seconds, more than none and no longer than an hour.
    fn seconds(&mut self, name: &'static str) -> Result<Option<Seconds>, Error> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let seconds = value.as_f64();
        let seconds =
            seconds.ok_or_else(|| senseless(format!("`{name}` is no number: {value}")))?;
        as_budget(name, seconds).map(Some)
    }

    /// A number of things.
    fn count(&mut self, name: &'static str) -> Result<Option<usize>, Error> {
        self.take(name).map(|value| count(name, &value)).transpose()
    }

    /// Several numbers.
    fn counts(&mut self, name: &'static str) -> Result<Option<Vec<usize>>, Error> {
        let list = self.list(name)?;
        list.map(|list| list.iter().map(|value| count(name, value)).collect()).transpose()
    }

    /// Several texts.
    fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Error> {
        let text = |value: Value| match value {
            Value::String(text) => Ok(text),
            other => Err(senseless(format!("`{name}` holds what is no text: {other}"))),
        };
        self.list(name)?.map(|list| list.into_iter().map(text).collect()).transpose()
    }

    /// Several rows of a table, by their names.
    fn rows<T>(
        &mut self,
        name: &'static str,
        table: &[&'static T],
        id: impl Fn(&T) -> &'static str,
        listed_by: &str,
    ) -> Result<Option<Vec<&'static T>>, Error> {
        let row = |wanted: &String| {
            table.iter().copied().find(|row| id(row) == wanted).ok_or_else(|| {
                let near = did_you_mean(wanted, table.iter().map(|row| id(row)));
                let hint = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("`{listed_by}` lists them"),
                };
                unknown(format!("`{name}` has no `{wanted}`"), hint)
            })
        };
        self.texts(name)?.map(|wanted| wanted.iter().map(row).collect()).transpose()
    }

    /// One of a few words; without it the first.
    fn word(&mut self, name: &'static str, known: &[&'static str]) -> Result<&'static str, Error> {
        let Some(wanted) = self.text(name)? else { return Ok(known[0]) };
        known.iter().copied().find(|word| *word == wanted).ok_or_else(|| {
            let hint = meant(&wanted, known.iter().copied());
            unknown(format!("`{name}` is not `{wanted}`"), hint)
        })
    }

    fn list(&mut self, name: &'static str) -> Result<Option<Vec<Value>>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(senseless(format!("`{name}` is no list: {other}"))),
        }
    }

    /// That nothing is left.
    fn all_taken(&self, area: &str) -> Result<(), Error> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => {
                let hint = meant(name, self.known.iter().copied());
                Err(unknown(format!("`{name}` is no option of {area}"), hint))
            }
        }
    }
}

fn count(name: &str, value: &Value) -> Result<usize, Error> {
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| senseless(format!("`{name}` is no number from 1 on: {value}")))
}
