//! A against B, interleaved, with a verdict: is a command, or a workload of an area, faster with one setting than with
//! another?
//!
//! ```no_run
//! let trial = cpudyno::ab::command(["./solver", "--quick"])
//!     .a("env.OMP_WAIT_POLICY", "active")?
//!     .b("env.OMP_WAIT_POLICY", "passive")?
//!     .run()?;
//! println!("{}", cpudyno::record::text(trial.record()));
//! # Ok::<(), cpudyno::Error>(())
//! ```
//!
//! Arms differ in how they run: `env.NAME`, `cpus`, `threads`, `pages`, `nice`, `wake`. Settings of the machine are for
//! `cpudyno ab`, which plans, reads back and undoes them; nothing here changes a machine.

use measure::ab::{AbSubject, Comparing, Metric};
use measure::areas::subjects;
use measure::run::arm_env::ArmEnv;
use measure::run::refuse_elsewhere;
use measure::run::single::Subject;
use model::record::{PageKind, Record};
use model::stats::paired::BAND;
pub use model::stats::paired::{Comparison, Verdict};
use model::{Known, Obstacle, Reading, Unavailable};

use crate::Error;
use crate::builder::{Answer, AskedOptions, Builder, Measurement, some};

/// What is compared, and how.
#[derive(Clone)]
pub struct TrialOptions {
    what: TrialSubject,
    arms: [Vec<(String, String)>; 2],
    /// Relative differences up to this are the same.
    pub band: f64,
}

#[derive(Clone)]
enum TrialSubject {
    Command(Vec<String>, CommandMetric),
    Area(String),
}

/// The number that a command is compared by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandMetric {
    /// The time from its start to its end.
    Wall,
    /// The number at this path of the JSON that it prints: `results.0.mean`.
    Json(String),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct AbTrial {
    record: Record,
}

/// Compares a command, with its arguments, by the time that it takes.
pub fn command<S: Into<String>>(
    words: impl IntoIterator<Item = S>,
) -> Builder<AbTrial, TrialOptions> {
    let words = words.into_iter().map(Into::into).collect();
    builder(TrialSubject::Command(words, CommandMetric::Wall))
}

/// Compares a workload of an area, such as `memory-latency`; `cpudyno ab --help` lists them.
pub fn area(name: impl Into<String>) -> Builder<AbTrial, TrialOptions> {
    builder(TrialSubject::Area(name.into()))
}

fn builder(what: TrialSubject) -> Builder<AbTrial, TrialOptions> {
    Builder::new(TrialOptions { what, arms: [Vec::new(), Vec::new()], band: BAND })
}

impl AbTrial {
    /// The comparison with its verdict.
    ///
    /// # Errors
    /// Why there is none.
    pub fn comparison(&self) -> Reading<&Comparison> {
        let none = || Unavailable::new(Obstacle::Measurement, "comparison", "nothing was compared");
        match self.record.comparison.as_ref().map(|run| &run.comparison) {
            Some(Known::Yes(found)) => Ok(found),
            Some(Known::No { unavailable }) => Err(unavailable.clone()),
            None => Err(none()),
        }
    }

    /// The record: every pair that was measured.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The record alone.
    #[must_use]
    pub fn into_record(self) -> Record {
        self.record
    }
}

impl Builder<AbTrial, TrialOptions> {
    /// What A is: `a("threads", "4")`. Several are set one by one.
    ///
    /// # Errors
    /// Where there is no such setting of an arm, or it takes something else.
    pub fn a(self, setting: &str, value: &str) -> Result<Self, Error> {
        self.arm(0, setting, value)
    }

    /// What B is.
    ///
    /// # Errors
    /// Where there is no such setting of an arm, or it takes something else.
    pub fn b(self, setting: &str, value: &str) -> Result<Self, Error> {
        self.arm(1, setting, value)
    }

    /// By which number a command is compared; without it by its time.
    pub fn metric(mut self, metric: CommandMetric) -> Self {
        if let TrialSubject::Command(_, known) = &mut self.options.what {
            *known = metric;
        }
        self
    }

    fn arm(mut self, arm: usize, setting: &str, value: &str) -> Result<Self, Error> {
        let wrong = |why: String| Error::Argument {
            why: format!("arm `{setting}={value}`: {why}"),
            hint: Some("`cpudyno settings` lists those of an arm".to_owned()),
        };
        let taken = ArmEnv::default().take(setting, value);
        let known = taken.ok_or_else(|| wrong("there is no such setting of an arm".to_owned()))?;
        known.map_err(wrong)?;
        self.options.arms[arm].push((setting.to_owned(), value.to_owned()));
        Ok(self)
    }
}

impl Answer for AbTrial {
    type Options = TrialOptions;
    const NAME: &'static str = "cpudyno::ab";
    const PAGE: PageKind = PageKind::Ab;

    fn measure(options: &TrialOptions, how: Measurement<'_>) -> Result<AbTrial, Error> {
        let Measurement { machine, extent, command, presentation, stop, progress } = how;
        refuse_elsewhere(machine).map_err(measure::run::Error::from)?;
        let mut comparing = options.comparing()?;
        for arm in &mut comparing.own {
            arm.cpus = arm.cpus.take().or_else(|| extent.cpus.clone());
        }
        comparing.budget = extent.budget.unwrap_or(comparing.budget);
        let described = machine::describe(machine, command, presentation);
        let record = measure::ab::run(machine, &comparing, None, described, stop, progress)?;
        Ok(AbTrial { record })
    }

    /// A command that measures takes its turn itself.
    fn is_alone(options: &TrialOptions) -> bool {
        matches!(options.what, TrialSubject::Area(_))
    }
}

impl AskedOptions for TrialOptions {
    fn check(&self) -> Result<(), Error> {
        if let TrialSubject::Command(words, _) = &self.what {
            some("the words of the command", Some(words.as_slice()))?;
        }
        if self.band > 0.0 && self.band <= 0.5 {
            return Ok(());
        }
        let why = format!("`band` is {}: it is more than 0 and at most 0.5", self.band);
        Err(Error::Argument { why, hint: None })
    }
}

impl TrialOptions {
    fn comparing(&self) -> Result<Comparing, Error> {
        let what = match &self.what {
            TrialSubject::Command(words, CommandMetric::Wall) => {
                AbSubject::Command(words.clone(), Metric::Wall)
            }
            TrialSubject::Command(words, CommandMetric::Json(path)) => {
                let path = path.split('.').map(str::to_owned).collect();
                AbSubject::Command(words.clone(), Metric::Json(path))
            }
            TrialSubject::Area(name) => AbSubject::Area(subject(name)?, None),
        };
        let own = |arm: &Vec<(String, String)>| {
            let mut own = ArmEnv::default();
            for (setting, value) in arm {
                drop(own.take(setting, value));
            }
            own
        };
        let [mut a, mut b] = self.arms.each_ref().map(own);
        a.beside = b.variables.keys().cloned().collect();
        b.beside = a.variables.keys().cloned().collect();
        let typed = |(setting, value): &(String, String)| format!("{setting}={value}");
        let words = self.arms.each_ref().map(|arm| arm.iter().map(typed).collect());
        Ok(Comparing { own: [a, b], words, band: self.band, ..Comparing::usual(what) })
    }
}

fn subject(name: &str) -> Result<&'static Subject, Error> {
    subjects::find(name).ok_or_else(|| {
        let known: Vec<String> =
            subjects::SUBJECTS.iter().map(|subject| subject.id.replace(' ', "-")).collect();
        Error::Argument {
            why: format!("nothing called `{name}` can be compared"),
            hint: Some(format!("there are {}", known.join(", "))),
        }
    })
}
