//! Spin or sleep? What the numbers of other areas say about waiting on this machine.
//!
//! It measures nothing itself: pauses, lines from core to core, wake-ups and parallel regions are theirs.
//! Whoever waits for at most as long as a wake-up takes is better off spinning; whoever waits longer keeps
//! a CPU busy for nothing. Spinning for exactly as long as a wake-up takes never costs more than twice
//! what the better of the two would have cost (Karlin, Manasse, McGeoch, Owicki: Competitive randomized
//! algorithms for non-uniform problems, SODA 1990).

use model::Seconds;
use model::record::Presentation;

use super::cores::CORES;
use super::openmp::{self, OPENMP};
use super::pause::PAUSE;
use super::wake::WAKE;
use crate::run::area::Area;
use crate::run::plan::{Planning, Proposal};
use crate::run::{AreaRequest, Request, Span};
use rig::placement::Choice;

/// Whose numbers it rests on.
static RESTS_ON: &[&Area] = &[&PAUSE, &CORES, &WAKE, &OPENMP];

/// The run that measures what advice rests on.
pub fn request(
    budget: Option<Seconds>,
    cpus: Choice,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    const TIME: Seconds = Seconds(25.0);
    let ask = |plan: &Planning<'_>| {
        let proposal = |area: &Area| match area.id {
            // The sheet needs fewer settings.
            openmp::AREA => openmp::to_advise(plan),
            _ => area.proposal(plan),
        };
        let asked = |area: &&'static Area| AreaRequest { area, proposal: proposal(area) };
        Ok(RESTS_ON.iter().map(asked).collect())
    };
    let span = Span::Budget(budget.unwrap_or(TIME));
    let streams = super::pause::waits().into_iter().take(1).collect();
    Request { cpus, streams, ..Request::new(span, ask, command, presentation) }
}

/// The area.
pub static WAIT: Area = Area::new(model::areas::WAIT, &[], 0.0, |_| Proposal::default());
