//! The data sheet's run: all areas at once.

use kernels::StreamRow;
use model::record::Presentation;
use model::{CpuSet, Seconds};

use crate::areas::contained::wishes;
use crate::areas::{AREAS, turbo};
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
    let ask = move |plan: &Planning<'_>| {
        let asked =
            |area: &&'static dyn Area| AreaRequest { area: *area, wishes: area.wishes(plan) };
        let questions = AreaRequest {
            area: &turbo::Questions,
            wishes: wishes(turbo::Questions.id(), || turbo::questions(plan, budget)),
        };
        Ok(AREAS.iter().map(asked).chain([questions]).collect())
    };
    Request {
        cpus: Choice::usual(cpus),
        streams: streams.unwrap_or_else(|| kernels::streams::SHEET.to_vec()),
        ..Request::new(Span::Budget(budget), ask, command, presentation)
    }
}
