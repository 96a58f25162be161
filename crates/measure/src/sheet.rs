//! The data sheet's run: all areas at once.

use kernels::StreamRow;
use model::record::Presentation;
use model::{CpuSet, Seconds};

use crate::areas::AREAS;
use crate::run::area::Area;
use crate::run::plan::Planning;
use crate::run::{AreaRequest, Request, Span};
use rig::placement::Choice;

/// All areas within this time, on these CPUs or one of each core, with these streams or the sheet's.
pub fn request(
    budget: Seconds,
    cpus: Option<CpuSet>,
    streams: Option<Vec<&'static StreamRow>>,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    let ask = |plan: &Planning<'_>| {
        let asked = |area: &&'static Area| AreaRequest { area, proposal: area.proposal(plan) };
        // What asks something else of an area's measurements comes after all that the others measure first.
        let is_further = |area: &&&Area| area.is_within_another();
        let (further, first): (Vec<_>, Vec<_>) = AREAS.iter().partition(is_further);
        Ok(first.into_iter().chain(further).map(asked).collect())
    };
    Request {
        cpus: Choice::usual(cpus),
        streams: streams.unwrap_or_else(|| kernels::streams::SHEET.to_vec()),
        ..Request::new(Span::Budget(budget), ask, command, presentation)
    }
}
