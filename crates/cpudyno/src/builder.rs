//! How a measurement is asked for, whatever it measures.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use machine::Machine;
pub use measure::run::Progress;
use measure::run::Request;
use model::record::{PageKind, Presentation, Record};
use model::{CpuSet, Seconds};
pub use rig::executor::Stop;

use crate::Error;
use crate::host_lock::{self, Held, Taken};

/// What a measurement answers with. The types of this crate are all there are.
pub trait Answer: Sized {
    /// What may be chosen beside where and how long.
    type Options: Clone + AskedOptions;
    /// What its record calls the command.
    #[doc(hidden)]
    const NAME: &'static str;
    #[doc(hidden)]
    const PAGE: PageKind;
    #[doc(hidden)]
    fn measure(options: &Self::Options, how: Measurement<'_>) -> Result<Self, Error>;
    /// Whether somebody else who measures is in the way.
    #[doc(hidden)]
    fn is_alone(_: &Self::Options) -> bool {
        true
    }
}

/// What may be chosen of a question.
pub trait AskedOptions {
    /// Whether the choices mean something.
    #[doc(hidden)]
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl AskedOptions for () {}

/// Refuses a list without anything in it, of which nothing would be measured.
pub(crate) fn some<T>(name: &str, list: Option<&[T]>) -> Result<(), Error> {
    if list.is_none_or(|list| !list.is_empty()) {
        return Ok(());
    }
    let hint = Some("leave it out: the usual ones are measured then".to_owned());
    Err(Error::Argument { why: format!("{name} are an empty list"), hint })
}

/// Refuses a number of nothing.
pub(crate) fn some_number(name: &str, number: Option<usize>) -> Result<(), Error> {
    if number.is_none_or(|number| number > 0) {
        return Ok(());
    }
    let hint = Some("leave it out, or ask for 1 or more".to_owned());
    Err(Error::Argument { why: format!("{name} are no number from 1 on"), hint })
}

/// Seconds that a measurement may take: more than none, and no longer than an hour, as of the command.
///
/// # Errors
/// Where they are none, or too many.
pub fn as_budget(name: &str, seconds: f64) -> Result<Seconds, Error> {
    const MAX: f64 = 3600.0;
    if seconds > 0.0 && seconds <= MAX {
        return Ok(Seconds(seconds));
    }
    let why = format!("`{name}` is {seconds} s: it is more than 0 and at most {MAX} s");
    Err(Error::Argument { why, hint: None })
}

/// Where and how to measure, once it is time.
#[doc(hidden)]
pub struct Measurement<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) extent: RunExtent,
    pub(crate) command: Vec<String>,
    pub(crate) presentation: Presentation,
    pub(crate) stop: &'a Stop,
    pub(crate) progress: &'a mut dyn FnMut(Progress<'_>),
}

impl Measurement<'_> {
    pub(crate) fn record(self, request: &Request) -> Result<Record, Error> {
        let mut record = measure::run::measure(self.machine, request, self.stop, self.progress)?;
        report::annotate(&mut record);
        record.digest = Some(fleet::digest::of(&record));
        Ok(record)
    }
}

/// On which CPUs, and for how long; none: as the command without options.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunExtent {
    pub(crate) cpus: Option<CpuSet>,
    pub(crate) budget: Option<Seconds>,
}

/// A measurement that is being asked for: every method narrows it, [`Builder::run`] measures.
///
/// It measures this machine, as the command of that name does without options, and changes nothing on it. While it
/// runs, nobody else measures this host: another measurement, in whatever process or thread, gets [`Error::Busy`],
/// or waits as long as [`Builder::wait`] says. Simulated machines are measured side by side.
#[must_use = "`run` measures"]
pub struct Builder<A, O> {
    pub(crate) options: O,
    machine: MachineChoice,
    extent: RunExtent,
    program: Option<PathBuf>,
    patience: Duration,
    stop: Stop,
    progress: Box<dyn FnMut(Progress<'_>) + Send>,
    command: Option<Vec<String>>,
    answer: PhantomData<fn() -> A>,
}

enum MachineChoice {
    Here,
    Named(String),
    Rooted(PathBuf),
}

impl<A: Answer<Options = O>, O: Clone + AskedOptions> Builder<A, O> {
    pub(crate) fn new(options: O) -> Builder<A, O> {
        Builder {
            options,
            machine: MachineChoice::Here,
            extent: RunExtent::default(),
            program: None,
            patience: Duration::ZERO,
            stop: Stop::default(),
            progress: Box::new(|_| {}),
            command: None,
            answer: PhantomData,
        }
    }

    /// Measures another machine: `sim:2s-56c` and its like are simulated (`cpudyno --help` lists them), anything else
    /// is the file of a capture. Records of simulated machines say so.
    pub fn on(self, machine: impl Into<String>) -> Self {
        Builder { machine: MachineChoice::Named(machine.into()), ..self }
    }

    /// Reads what the machine says of itself below that folder, such as `/host`.
    pub fn root(self, folder: impl Into<PathBuf>) -> Self {
        Builder { machine: MachineChoice::Rooted(folder.into()), ..self }
    }

    /// Uses these CPUs: `"0-3".parse()?`.
    pub fn cpus(mut self, cpus: CpuSet) -> Self {
        self.extent.cpus = Some(cpus);
        self
    }

    /// Takes about so long.
    pub fn budget(mut self, budget: Seconds) -> Self {
        self.extent.budget = Some(budget);
        self
    }

    /// The `cpudyno` command, which runs what needs a process of its own (OpenMP runtimes); without it the one in
    /// `PATH`. It has to be of this version.
    pub fn program(self, program: impl Into<PathBuf>) -> Self {
        Builder { program: Some(program.into()), ..self }
    }

    /// Waits so long for somebody else who measures this host; without it not at all.
    pub fn wait(self, patience: Duration) -> Self {
        Builder { patience, ..self }
    }

    /// Ends early when this is asked to, also by another thread. What was measured until then is the answer;
    /// [`Record::run`] says in `interrupted` that it is not all. Where that is nothing, it is [`Error::Stopped`].
    pub fn stop(self, stop: Stop) -> Self {
        Builder { stop, ..self }
    }

    /// Tells how far it is, a few times a second.
    pub fn progress(self, tell: impl FnMut(Progress<'_>) + Send + 'static) -> Self {
        Builder { progress: Box::new(tell), ..self }
    }

    /// What the record is to call the command, without paths.
    pub fn command(self, words: Vec<String>) -> Self {
        Builder { command: Some(words), ..self }
    }

    /// Sets any option of the question.
    pub fn options(mut self, set: impl FnOnce(&mut O)) -> Self {
        set(&mut self.options);
        self
    }

    /// Measures.
    ///
    /// # Errors
    /// Where nothing could be measured: somebody else measures, there is no such machine, or what was asked for does
    /// not go there. A single number that cannot be had is no error: it is a reason in the answer.
    pub fn run(self) -> Result<A, Error> {
        let Builder { options, machine, extent, program, patience, stop, mut progress, .. } = self;
        options.check()?;
        if let Some(budget) = extent.budget {
            as_budget("budget", budget.0)?;
        }
        if let Some(cpus) = &extent.cpus {
            some("cpus", Some(cpus.as_slice()))?;
        }
        let machine = machine.find(program)?;
        let command = self.command.unwrap_or_else(|| vec![A::NAME.to_owned()]);
        let presentation = Presentation::of(A::PAGE);
        let alone = A::is_alone(&options).then(|| turn(&machine, patience, &stop)).transpose()?;
        let (machine, stop, progress) = (&machine, &stop, &mut *progress);
        let how = Measurement { machine, extent, command, presentation, stop, progress };
        let answer = A::measure(&options, how);
        drop(alone);
        answer
    }
}

impl MachineChoice {
    fn find(self, program: Option<PathBuf>) -> Result<Machine, Error> {
        let machine = match self {
            MachineChoice::Here => Machine::real(),
            MachineChoice::Named(name) => recorded::named(&name)?,
            MachineChoice::Rooted(folder) => Machine::rooted(&folder).map_err(|error| {
                Error::File { verb: "read", path: folder, why: error.to_string() }
            })?,
        };
        Ok(Machine { worker: program.or_else(in_path), ..machine })
    }
}

/// The machine itself, for what is read and not measured.
pub(crate) fn machine(name: Option<&str>) -> Result<Machine, Error> {
    name.map_or(MachineChoice::Here, |name| MachineChoice::Named(name.to_owned())).find(None)
}

fn in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("cpudyno"));
    programs.find(|program| program.is_absolute() && Path::is_file(program))
}

/// The right to measure this host, once nobody else does.
fn turn(machine: &Machine, patience: Duration, stop: &Stop) -> Result<Option<Held>, Error> {
    const STEP: Duration = Duration::from_millis(50);
    let is_here = machine.simulated.is_none() && machine.elsewhere.is_none();
    let Some(place) = host_lock::place(is_here) else { return Ok(None) };
    let begun = Instant::now();
    loop {
        if stop.asked() {
            return Err(Error::Stopped);
        }
        let holder = match place.take()? {
            Taken::Held(held) => return Ok(held),
            Taken::By(holder) => holder,
        };
        let left = patience.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(Error::Busy { holder });
        }
        thread::sleep(left.min(STEP));
    }
}

/// What every answer has.
macro_rules! answers {
    ($($answer:ident of $options:ty as $name:literal, $page:ident, $usual:expr, $request:path;)+) => {$(
        impl $crate::builder::Answer for $answer {
            type Options = $options;
            const NAME: &'static str = concat!("cpudyno::", $name);
            const PAGE: ::model::record::PageKind = ::model::record::PageKind::$page;

            fn measure(
                options: &$options,
                how: $crate::builder::Measurement<'_>,
            ) -> Result<Self, $crate::Error> {
                let (extent, command) = (how.extent.clone(), how.command.clone());
                let request = $request(options.clone(), extent, command, how.presentation);
                Ok($answer::of_record(how.record(&request)?))
            }
        }

        $crate::builder::methods!($answer, $options, $usual);
    )+};
}
pub(crate) use answers;

/// What is the same of each.
macro_rules! methods {
    ($answer:ident, $options:ty, $usual:expr) => {
        impl $answer {
            /// Asks for it, with all that may be chosen.
            pub fn builder() -> $crate::Builder<$answer, $options> {
                $crate::Builder::new($usual)
            }

            /// The record: everything that was measured, and how.
            pub fn record(&self) -> &::model::record::Record {
                &self.record
            }

            /// The record alone.
            #[must_use]
            pub fn into_record(self) -> ::model::record::Record {
                self.record
            }

            /// Every result, also those that have no field here.
            pub fn rows(&self) -> Vec<$crate::record::Row> {
                $crate::record::rows(&self.record)
            }

            /// What is remarkable, the gravest first.
            pub fn findings(&self) -> &[::model::Finding] {
                &self.record.findings
            }
        }
    };
}
pub(crate) use methods;
