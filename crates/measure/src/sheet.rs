//! The data sheet's run: all areas at once.

use kernels::StreamRow;
use model::record::Presentation;
use model::{CpuSet, Seconds};

use crate::areas::AREAS;
use crate::run::area::Area;
use crate::run::plan::Planning;
use crate::run::{AreaRequest, Request, Span};
use rig::placement::Choice;

/// Loading one package after the other takes as long as the memory of all together: shorter sheets are without it.
const ENERGY_FROM: Seconds = Seconds(120.0);

/// What cores compute by datatype says nothing new of most machines: shorter sheets leave its time to the others.
const DATATYPES_FROM: Seconds = Seconds(20.0);

/// Whether a sheet of that time has room for an area.
fn has_time(budget: Seconds, area: &Area) -> bool {
    match area.id {
        model::areas::energy::AREA => budget >= ENERGY_FROM,
        model::areas::datatypes::AREA => budget >= DATATYPES_FROM,
        _ => true,
    }
}

/// All areas within this time, on these CPUs or one of each core, with these streams or the sheet's.
pub fn request(
    budget: Seconds,
    cpus: Option<CpuSet>,
    streams: Option<Vec<&'static StreamRow>>,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    let ask = move |plan: &Planning<'_>| {
        let asked = |area: &&'static Area| AreaRequest { area, proposal: area.proposal(plan) };
        // What asks something else of an area's measurements comes after all that the others measure first.
        let is_further = |area: &&&Area| area.is_within_another();
        let all = AREAS.iter().filter(|area| has_time(budget, area));
        let (further, first): (Vec<_>, Vec<_>) = all.partition(is_further);
        Ok(first.into_iter().chain(further).map(asked).collect())
    };
    Request {
        cpus: Choice::usual(cpus),
        streams: streams.unwrap_or_else(|| kernels::streams::SHEET.to_vec()),
        ..Request::new(Span::Budget(budget), ask, command, presentation)
    }
}
