//! How long it takes to wake a thread.
//!
//! ```no_run
//! let wakes = cpudyno::wake::latency()?;
//! for row in wakes.rows().iter().filter(|row| row.quantity == "one_way") {
//!     println!("{} ({}): {}", row.workload, row.parameters["pair"], row.value.clone()?);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use measure::areas::wake::Question;
pub use measure::areas::wake::{CpuPair, PairSpec, WakeOptions};
use model::record::{Presentation, Record};
pub use rig::signals::Method;

use crate::Error;
use crate::builder::{AskedOptions, Builder, RunExtent, answers, some};

/// What signals cost, one right after the other, in every way: futex, eventfd, pipe, spinning, ...
///
/// # Errors
/// See [`Builder::run`].
pub fn latency() -> Result<Latencies, Error> {
    Latencies::builder().run()
}

/// What waking costs when the sleeper's core rested before: exits of idle states.
///
/// # Errors
/// See [`Builder::run`].
pub fn idle() -> Result<Idle, Error> {
    Idle::builder().run()
}

/// How late alarms of the kernel are.
///
/// # Errors
/// See [`Builder::run`].
pub fn timer() -> Result<Timer, Error> {
    Timer::builder().run()
}

/// The ways to signal.
pub fn methods() -> &'static [&'static Method] {
    rig::signals::TABLE
}

macro_rules! plain {
    ($($name:ident: $doc:literal)+) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            record: Record,
        }

        impl $name {
            fn of_record(record: Record) -> $name {
                $name { record }
            }
        }
    )+};
}

plain! {
    Latencies: "Costs of signals: rows with the quantities `one_way` and `round_trip`, in seconds."
    Idle: "Costs of waking a core that rested: rows by `rest_us` and `state_name`."
    Timer: "How late alarms are: rows with the quantity `lateness`, in seconds."
}

answers! {
    Latencies of WakeOptions as "wake::Latencies", Wake, WakeOptions::about(Question::Signals), request;
    Idle of WakeOptions as "wake::Idle", Wake, WakeOptions::about(Question::Idle), request;
    Timer of WakeOptions as "wake::Timer", Wake, WakeOptions::about(Question::Timer), request;
}

fn request(
    options: WakeOptions,
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    let cpus = cpus.or(options.cpus.clone());
    WakeOptions { cpus, budget: budget.or(options.budget), ..options }
        .request(command, presentation)
}

impl AskedOptions for WakeOptions {
    fn check(&self) -> Result<(), Error> {
        some("methods", self.methods.as_deref())
    }
}

impl<A> Builder<A, WakeOptions> {
    /// These ways alone: of [`methods`].
    pub fn methods(mut self, methods: &[&'static Method]) -> Self {
        self.options.methods = Some(methods.to_vec());
        self
    }
}
