//! The data sheet's run: all areas at once.

use kernels::StreamRow;
use machine::instruments::clock::RateChoice;
use model::record::Presentation;
use model::{CpuSet, Seconds};

use crate::areas::contained::wishes;
use crate::areas::{AREAS, turbo};
use crate::run::area::Area;
use crate::run::{AreaRequest, Request, Span};
use rig::job::Manner;
use rig::placement::Choice;

/// All areas within this time, on these CPUs or one of each core, with these streams or the sheet's.
pub fn request(
    budget: Seconds,
    cpus: Option<CpuSet>,
    streams: Option<Vec<&'static StreamRow>>,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    Request {
        span: Span::Budget(budget),
        cpus: Choice::usual(cpus),
        streams: streams.unwrap_or_else(|| kernels::streams::SHEET.to_vec()),
        ask: Box::new(move |plan| {
            let asked =
                |area: &&'static dyn Area| AreaRequest { area: *area, wishes: area.wishes(plan) };
            let questions = AreaRequest {
                area: &turbo::Questions,
                wishes: wishes(turbo::Questions.id(), || turbo::questions(plan, budget)),
            };
            Ok(AREAS.iter().map(asked).chain([questions]).collect())
        }),
        manner: Manner::USUAL,
        rate: RateChoice::Best,
        remark: None,
        bytes: None,
        command,
        presentation,
    }
}
