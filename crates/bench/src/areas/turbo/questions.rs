//! The area's further questions in short, for the data sheet: transitions, heat, neighbours.

use kernels::StreamRow;
use model::page::{Block, Text};
use model::record::{Record, Series};
use model::{Finding, Obstacle, Seconds, Unavailable};

use super::super::{Area, DATA, Planning, Wishes};
use super::{QUANTITIES, Turbo, favoured, neighbours, soak, trace, why};
use crate::rig::collect::Quantity;
use crate::streams;

/// The same area with a share of the sheet's time of its own, so that streams and questions do not crowd each
/// other out. What its numbers say is told by [`Turbo`].
pub struct Questions;

impl Area for Questions {
    fn id(&self) -> &'static str {
        Turbo.id()
    }

    fn title(&self) -> &'static str {
        "Questions"
    }

    fn weight(&self) -> f64 {
        2.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn offers(&self, workload: &str, quantity: &Quantity) -> bool {
        Turbo.offers(workload, quantity)
    }

    fn name_of(&self, series: &Series) -> Option<String> {
        Turbo.name_of(series)
    }

    fn wishes(&self, _plan: &Planning<'_>) -> Wishes {
        Wishes::default()
    }

    fn findings(&self, _record: &Record) -> Vec<Finding> {
        Vec::new()
    }

    fn sentences(&self, _record: &Record) -> Vec<Text> {
        Vec::new()
    }

    fn section(&self, _record: &Record) -> Vec<Block> {
        Vec::new()
    }
}

/// What fits into a sheet of that time: the heaviest of its streams in a duty cycle and for some seconds on all
/// cores, beside the lightest one, and what the heaviest neighbours cost. Who asks for others alone asks nothing of this.
pub fn questions(plan: &Planning<'_>, budget: Seconds) -> Wishes {
    /// The share of the sheet's time that is sustained, and its ends.
    const SHARE: f64 = 0.05;
    const SUSTAINED: [f64; 2] = [0.5, 3.0];
    /// Of more cores each one alone takes too long.
    const CORES_MAX: usize = 16;
    let mut all = Wishes::default();
    let is_asked = |row: &&'static StreamRow| plan.streams.iter().any(|asked| asked.id == row.id);
    let can = |row: &&'static StreamRow| streams::load(plan.machine, row, DATA).is_ok();
    let mut asked = why::heavy_streams().into_iter().filter(is_asked).peekable();
    let is_sheet = kernels::streams::SHEET.iter().all(is_asked);
    if asked.peek().is_none() && !is_sheet {
        return all;
    }
    let heaviest = asked.find(can);
    let Some(row) = heaviest else {
        let why = "none of the heavy streams is measured here";
        let heavy: Vec<&str> = why::heavy_streams().iter().map(|row| row.id).collect();
        for workload in [trace::WORKLOAD, soak::WORKLOAD, neighbours::SCALAR] {
            let reason = Unavailable::new(Obstacle::Measurement, workload, why);
            let remedy = format!("measure one of them: --streams {}", heavy.join(","));
            all.absent.push((workload, reason.with_remedy(remedy)));
        }
        return all;
    };
    if plan.placement.cpus.len() <= CORES_MAX {
        all.cells.extend(favoured::cells(plan));
    } else {
        let why =
            format!("more than {CORES_MAX} cores one after the other take too long for a sheet");
        let reason = Unavailable::new(Obstacle::Measurement, favoured::WORKLOAD, why);
        all.absent.push((favoured::WORKLOAD, reason.with_remedy("cpudyno turbo --why")));
    }
    let light = why::streams().first().copied().unwrap_or(row);
    add(&mut all, trace::WORKLOAD, trace::wishes(plan, &[row], trace::Extent::SHORT));
    let seconds = Seconds((budget.0 * SHARE).clamp(SUSTAINED[0], SUSTAINED[1]));
    // Two streams, and a rest between them.
    let soak = soak::cell(plan, seconds / 3.0, &[light, row]);
    let soak = soak.map(|cell| Wishes { cells: vec![cell], absent: Vec::new() });
    add(&mut all, soak::WORKLOAD, soak);
    let matrix = neighbours::Matrix::short(row);
    add(&mut all, neighbours::SCALAR, neighbours::wishes(plan, &matrix));
    all
}

/// Takes wishes to the others, or the reason why there are none.
fn add(all: &mut Wishes, workload: &'static str, wishes: Result<Wishes, Unavailable>) {
    match wishes {
        Ok(wishes) => {
            all.cells.extend(wishes.cells);
            all.absent.extend(wishes.absent);
        }
        Err(reason) => all.absent.push((workload, reason)),
    }
}
