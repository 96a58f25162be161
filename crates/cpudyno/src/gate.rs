//! Whether a machine is what it should be: by what is known of its kind, and by bounds.
//!
//! ```no_run
//! let verdict = cpudyno::gate::Judgement::builder().bound_min("memory.triad=80GB/s")?.run()?;
//! if !verdict.passes() {
//!     println!("{}", verdict.line());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use measure::gate::NoBound;
use measure::gate::Wanted;
use model::Seconds;
pub use model::record::{Bound, BoundKind, GateItem, GateVerdict};
use model::record::{PageKind, Presentation, Record};

use crate::Error;
use crate::builder::{Answer, AskedOptions, Builder, Measurement, RunExtent, methods};

/// Judges by what is known anyway: figures of its core, claims, settings, errors of memory.
///
/// # Errors
/// See [`Builder::run`].
pub fn judge() -> Result<Judgement, Error> {
    Judgement::builder().run()
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    record: Record,
}

impl Judgement {
    /// The verdict; that nothing could be judged is one, too.
    pub fn verdict(&self) -> GateVerdict {
        self.record.gate.as_ref().map_or(GateVerdict::CannotJudge, |gate| gate.verdict)
    }

    /// Whether all that was judged holds.
    pub fn passes(&self) -> bool {
        self.verdict() == GateVerdict::Pass
    }

    /// What it was judged by, the worst first.
    pub fn items(&self) -> &[GateItem] {
        self.record.gate.as_ref().map_or(&[], |gate| &gate.items)
    }

    /// In a line, as the command prints it.
    pub fn line(&self) -> String {
        fleet::gate::line(&self.record)
    }

    /// What a record says by these bounds.
    #[must_use]
    pub fn of(mut record: Record, bounds: &[Bound]) -> Judgement {
        let measures = fleet::gate::Measures { bounds, reference: None, unfit: None };
        record.gate = Some(fleet::gate::judge(&record, &measures));
        Judgement { record }
    }
}

impl Answer for Judgement {
    type Options = Vec<Bound>;
    const NAME: &'static str = "cpudyno::gate::Judgement";
    const PAGE: PageKind = PageKind::Gate;

    fn measure(bounds: &Vec<Bound>, how: Measurement<'_>) -> Result<Judgement, Error> {
        let (extent, command) = (how.extent.clone(), how.command.clone());
        let request = request(bounds.clone(), extent, command, how.presentation);
        Ok(Judgement::of(how.record(&request)?, bounds))
    }
}

impl AskedOptions for Vec<Bound> {}

methods!(Judgement, Vec<Bound>, Vec::new());

fn request(
    bounds: Vec<Bound>,
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    const TIME: Seconds = Seconds(30.0);
    /// In less, a sheet lacks what tells most of a machine.
    const WHOLE_FROM: Seconds = Seconds(15.0);
    let budget = budget.unwrap_or(TIME);
    let wanted = match bounds.as_slice() {
        [] if budget < WHOLE_FROM => Wanted::Known,
        [] => Wanted::Sheet,
        _ => Wanted::Bounds(bounds),
    };
    measure::gate::request(budget, cpus, wanted, command, presentation)
}

impl<A> Builder<A, Vec<Bound>> {
    /// A result has to be at least that: `memory.triad=80GB/s`.
    ///
    /// # Errors
    /// Where there is no such result, or it has another unit.
    pub fn bound_min(self, bound: &str) -> Result<Self, NoBound> {
        self.bound(bound, BoundKind::Min)
    }

    /// A result has to be at most that: `cores.latency=200ns`.
    ///
    /// # Errors
    /// Where there is no such result, or it has another unit.
    pub fn bound_max(self, bound: &str) -> Result<Self, NoBound> {
        self.bound(bound, BoundKind::Max)
    }

    fn bound(mut self, bound: &str, kind: BoundKind) -> Result<Self, NoBound> {
        self.options.push(measure::gate::read(bound, kind)?);
        Ok(self)
    }
}
