//! What takes CPUs away from a thread that never sleeps: how often, for how long, and what causes it.

use model::Seconds;
use model::record::{Presentation, Record};

use crate::Error;
use crate::builder::{AskedOptions, Builder, RunExtent, answers, as_budget};

/// Watches every CPU for ten seconds.
///
/// # Errors
/// See [`Builder::run`].
pub fn gaps() -> Result<Gaps, Error> {
    Gaps::builder().run()
}

/// Gaps in the time of threads: rows with the quantities `gap` (seconds, by `cause`) and `lost` (a share).
#[derive(Debug, Clone, PartialEq)]
pub struct Gaps {
    record: Record,
}

impl Gaps {
    fn of_record(record: Record) -> Gaps {
        Gaps { record }
    }
}

/// What may be chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapOptions {
    /// The shortest gap that counts.
    pub shortest: Seconds,
}

answers! {
    Gaps of GapOptions as "jitter::Gaps", Jitter, GapOptions { shortest: Seconds(1e-6) }, request;
}

fn request(
    options: GapOptions,
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    const TIME: Seconds = Seconds(10.0);
    let time = budget.unwrap_or(TIME);
    measure::areas::jitter::request(time, options.shortest, cpus, command, presentation)
}

impl AskedOptions for GapOptions {
    fn check(&self) -> Result<(), Error> {
        as_budget("shortest", self.shortest.0).map(drop)
    }
}

impl<A> Builder<A, GapOptions> {
    /// Counts gaps from so long on.
    pub fn shortest(mut self, gap: Seconds) -> Self {
        self.options.shortest = gap;
        self
    }
}
