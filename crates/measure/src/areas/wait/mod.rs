//! Spin or sleep? What the numbers of other areas say about waiting on this machine.
//!
//! It measures nothing itself: pauses, lines from core to core, wake-ups and parallel regions are theirs.
//! Whoever waits for at most as long as a wake-up takes is better off spinning; whoever waits longer keeps
//! a CPU busy for nothing. Spinning for exactly as long as a wake-up takes never costs more than twice
//! what the better of the two would have cost (Karlin, Manasse, McGeoch, Owicki: Competitive randomized
//! algorithms for non-uniform problems, SODA 1990).

use model::Seconds;
use model::areas::Quantity;
use model::record::Presentation;

use super::cores::Cores;
use super::openmp::{self, Openmp};
use super::pause::Pause;
use super::wake::Wake;
use crate::run::area::Area;
use crate::run::plan::{Planning, Wishes};
use crate::run::{AreaRequest, Request, Span};
use rig::placement::Choice;

/// The area.
pub struct Wait;

/// Whose numbers it rests on.
static RESTS_ON: &[&dyn Area] = &[&Pause, &Cores, &Wake, &Openmp];

/// The run that measures what advice rests on.
pub fn request(
    budget: Option<Seconds>,
    cpus: Choice,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    const TIME: Seconds = Seconds(25.0);
    let ask = |plan: &Planning<'_>| {
        let wishes = |area: &dyn Area| match area.id() {
            // The sheet needs fewer settings.
            openmp::AREA => openmp::to_advise(plan),
            _ => area.wishes(plan),
        };
        let asked = |area: &&'static dyn Area| AreaRequest { area: *area, wishes: wishes(*area) };
        Ok(RESTS_ON.iter().map(asked).collect())
    };
    let span = Span::Budget(budget.unwrap_or(TIME));
    let streams = super::pause::waits().into_iter().take(1).collect();
    Request { cpus, streams, ..Request::new(span, ask, command, presentation) }
}

impl Area for Wait {
    fn id(&self) -> &'static str {
        "wait"
    }

    fn weight(&self) -> f64 {
        0.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        &[]
    }

    fn wishes(&self, _plan: &Planning<'_>) -> Wishes {
        Wishes::default()
    }
}
