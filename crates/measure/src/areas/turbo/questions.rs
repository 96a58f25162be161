//! The area's further questions in short, for the data sheet: transitions, heat, neighbours.

use kernels::StreamRow;
use model::areas::Quantity;
use model::stats::BLOCKS_FOR_INTERVAL;
use model::{Obstacle, Seconds, Unavailable};

use super::{QUANTITIES, Turbo, asked, favoured, neighbours, soak, trace};
use crate::run::area::Area;
use crate::run::plan::{Cell, DATA, Planning, Wishes};
use rig::streams;

/// The same area with a share of the sheet's time of its own, so that streams and questions do not crowd each
/// other out. What its numbers say is told by [`Turbo`].
pub struct Questions;

impl Area for Questions {
    fn id(&self) -> &'static str {
        Turbo.id()
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

    fn wishes(&self, _plan: &Planning<'_>) -> Wishes {
        Wishes::default()
    }
}

/// What fits into a sheet of that time: the heaviest of its streams in a duty cycle and for some seconds on all
/// cores, beside the lightest one, and what the heaviest neighbours cost. Who asks for others alone asks nothing of this.
pub fn questions(plan: &Planning<'_>, budget: Seconds) -> Wishes {
    /// The share of the sheet's time that is sustained, and its ends.
    const SHARE: f64 = 0.05;
    const SUSTAINED: [f64; 2] = [0.5, 3.0];
    let mut all = Wishes::default();
    let is_asked = |row: &&'static StreamRow| plan.streams.iter().any(|asked| asked.id == row.id);
    let can = |row: &&'static StreamRow| streams::load(plan.machine, row, DATA).is_ok();
    let mut asked = asked::heavy_streams().into_iter().filter(is_asked).peekable();
    let is_sheet = kernels::streams::SHEET.iter().all(is_asked);
    if asked.peek().is_none() && !is_sheet {
        return all;
    }
    let heaviest = asked.find(can);
    let Some(row) = heaviest else {
        let why = "none of the heavy streams is measured here";
        let heavy: Vec<&str> = asked::heavy_streams().iter().map(|row| row.id).collect();
        for workload in [trace::WORKLOAD, soak::WORKLOAD, neighbours::SCALAR] {
            let reason = Unavailable::new(Obstacle::Measurement, workload, why);
            let remedy = format!("measure one of them: --streams {}", heavy.join(","));
            all.absent.push((workload, reason.with_remedy(remedy)));
        }
        return all;
    };
    let light = asked::streams().first().copied().unwrap_or(row);
    add(&mut all, trace::WORKLOAD, trace::wishes(plan, &[row], trace::Extent::SHORT));
    let seconds = Seconds((budget.0 * SHARE).clamp(SUSTAINED[0], SUSTAINED[1]));
    // Two streams, and a rest between them.
    let soak = soak::cell(plan, seconds / 3.0, &[light, row]);
    let soak = soak.map(|cell| Wishes { cells: vec![cell], absent: Vec::new() });
    add(&mut all, soak::WORKLOAD, soak);
    add(&mut all, favoured::WORKLOAD, each_core(plan, budget));
    add(&mut all, neighbours::SCALAR, neighbours_within(plan, budget, row));
    all
}

/// Seconds that five blocks of some cells take.
fn takes(cells: &[Cell]) -> f64 {
    cells.iter().map(|cell| cell.duration().0).sum::<f64>() * BLOCKS_FOR_INTERVAL as f64
}

/// Each core alone, where all of them take no more than a twentieth of the time; what does not fit of few is left out as
/// everything else is.
fn each_core(plan: &Planning<'_>, budget: Seconds) -> Result<Wishes, Unavailable> {
    const SHARE: f64 = 0.05;
    const FEW: usize = 8;
    let cells = favoured::cells(plan);
    let seconds = takes(&cells);
    if cells.len() <= FEW || seconds <= budget.0 * SHARE {
        return Ok(Wishes { cells, absent: Vec::new() });
    }
    let why = format!(
        "five blocks of {} cores, one after the other, take {seconds:.0} s, more than a twentieth of {} s",
        cells.len(),
        budget.0
    );
    let reason = Unavailable::new(Obstacle::Measurement, favoured::WORKLOAD, why);
    Err(reason.with_remedy("cpudyno turbo --why"))
}

/// What the heaviest neighbours cost, and of all others as much as a tenth of the time has room for; what is left out
/// altogether has its reason.
fn neighbours_within(
    plan: &Planning<'_>,
    budget: Seconds,
    heaviest: &StreamRow,
) -> Result<Wishes, Unavailable> {
    const SHARE: f64 = 0.1;
    let mut wishes = neighbours::wishes(plan, &neighbours::Matrix::short(heaviest))?;
    let all = neighbours::wishes(plan, &neighbours::Matrix::whole())?;
    let name = |cell: &Cell| (cell.workloads()[0].id, cell.parameters.clone());
    let known: Vec<_> = wishes.cells.iter().map(name).collect();
    let mut room = budget.0 * SHARE - takes(&wishes.cells);
    let mut left_out = Vec::new();
    for cell in all.cells.into_iter().filter(|cell| !known.contains(&name(cell))) {
        let seconds = takes(std::slice::from_ref(&cell));
        // One that does not fit ends it: those after it are wanted less.
        if seconds <= room && left_out.is_empty() {
            room -= seconds;
            wishes.cells.push(cell);
        } else {
            left_out.push(cell);
        }
    }
    let is_in = |cells: &[Cell], what: &str| {
        cells.iter().any(|cell| {
            let beside = cell.parameters.get(neighbours::BESIDE);
            cell.workloads()[0].id == what || beside.is_some_and(|class| class == what)
        })
    };
    let missing = neighbours::named_in_matrix()
        .filter(|it| is_in(&left_out, it) && !is_in(&wishes.cells, it));
    let why = format!("a tenth of {} s has no room for it", budget.0);
    let reason = |what: &'static str| {
        let reason = Unavailable::new(Obstacle::Measurement, format!("neighbours: {what}"), &*why);
        (what, reason.with_remedy("cpudyno turbo --neighbours"))
    };
    let missing: Vec<_> = missing.map(reason).collect();
    wishes.absent.extend(missing);
    Ok(wishes)
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
