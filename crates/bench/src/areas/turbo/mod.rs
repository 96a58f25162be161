//! Which clock the cores hold, under which instructions, with how many of them active; and what each
//! instruction costs in cycles of that clock.

mod claims;
mod clocked;
mod favoured;
pub mod known;
mod licence;
mod neighbours;
pub(super) mod neighbours_shown;
mod page;
mod promise;
mod promise_shown;
mod published;
mod questions;
pub(crate) mod read;
mod request;
mod section;
pub(crate) mod soak;
mod soak_shown;
mod speed_select;
mod time_lost;
mod trace;
mod trace_shown;
mod why;
mod why_shown;

pub use page::{WIDE, page};
pub use questions::{Questions, questions};
pub use request::{Options, Tests};
pub(crate) use why::accounts;

use kernels::{Kind, StreamRow};
use model::areas::Quantity;
pub(crate) use model::areas::turbo::AREA;
use model::areas::turbo::QUANTITIES;
use model::page::{Block, Text};
use model::record::{Record, Series};
use model::{Finding, Severity};

use super::Area;
use crate::rig::collect::{Guard, Take, Taken};
use crate::rig::job::Phase;
use crate::rig::protocol;
use crate::run::plan::{Cell, DATA, Planning, Wishes};
use crate::sheet::claims::Claim;
use crate::sheet::normal::Band;
use crate::streams;

/// The area.
pub struct Turbo;

/// Workloads that are no streams.
const QUESTIONS: [&str; 7] = [
    trace::WORKLOAD,
    favoured::WORKLOAD,
    soak::WORKLOAD,
    neighbours::SCALAR,
    neighbours::VECTOR,
    neighbours::BANDWIDTH,
    neighbours::LATENCY,
];

/// Whether a workload is no stream.
fn is_question(workload: &str) -> bool {
    QUESTIONS.contains(&workload) || neighbours::is_class(workload)
}

/// They come after all streams.
const ORDER_OF_QUESTIONS: usize = 1000;

/// The stream that other areas report.
const NOT_HERE: &str = "pause_only";

pub(super) fn phases(row: &StreamRow) -> Vec<Phase> {
    if is_heavy(row) { protocol::heavy() } else { protocol::serial() }
}

/// Whether a stream saturates execution units, or needs a licence by its width alone.
fn is_heavy(row: &StreamRow) -> bool {
    match row.kind {
        Kind::Throughput | Kind::Rename => true,
        Kind::Latency => row.width_bits == Some(512),
        Kind::Spin | Kind::Null => false,
    }
}

impl Area for Turbo {
    fn id(&self) -> &'static str {
        AREA
    }

    fn title(&self) -> &'static str {
        "Clock"
    }

    fn weight(&self) -> f64 {
        4.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn taken(&self, quantity: &str) -> Taken {
        match quantity {
            "clock" => Taken::by(Take::Samples(|reduced| reduced.clock.clone()))
                .always()
                .guarded(Guard::Clock),
            "clock_in_loop" => Taken::by(Take::Samples(|reduced| reduced.clock_in_loop.clone()))
                .guarded(Guard::Witness),
            "clock_in_loop_half" => {
                Taken::by(Take::Samples(|reduced| reduced.clock_in_loop_half.clone()))
                    .guarded(Guard::Witness)
            }
            "cycles_per_op" => {
                Taken::by(Take::PerOp(|reduced| &reduced.cycles)).always().guarded(Guard::Witness)
            }
            "time_per_op" => Taken::by(Take::PerOp(|reduced| &reduced.seconds)).always(),
            "overlap" => {
                Taken::by(Take::Samples(|reduced| reduced.overlap.into_iter().collect())).always()
            }
            "aperf_per_mperf" => Taken::by(Take::Reading(|reduced| {
                Some(reduced.counters.clone()?.map(|clock| clock.aperf_per_mperf))
            }))
            .always(),
            "mperf_rate" => Taken::by(Take::Reading(|reduced| {
                Some(reduced.counters.clone()?.map(|clock| clock.mperf_hertz))
            }))
            .always(),
            favoured::CLOCK => Taken::NAMED.guarded(Guard::Witness),
            _ => Taken::NAMED,
        }
    }

    fn offers(&self, workload: &str, quantity: &Quantity) -> bool {
        match workload {
            favoured::WORKLOAD => quantity.id == favoured::CLOCK,
            soak::WORKLOAD => {
                quantity.id.starts_with("soak_")
                    && ![soak::LIMITED, soak::REST].contains(&quantity.id)
            }
            trace::WORKLOAD => quantity.id == trace::VISIBLE,
            class if neighbours::is_class(class) => quantity.id == neighbours::RATE.ratio,
            victim if neighbours::VICTIMS.contains(&victim) => {
                neighbours::measures(victim).iter().any(|measure| measure.has(quantity.id))
            }
            _ => !self.taken(quantity.id).is_named(),
        }
    }

    fn name_of(&self, series: &Series) -> Option<String> {
        if let Some(beside) = series.parameters.get(neighbours::BESIDE) {
            let place = series.parameters.get(neighbours::PLACE)?;
            return Some(format!("{} beside {beside}, {place}", series.workload));
        }
        let stream = series.parameters.get(soak::STREAM)?;
        let core = series.parameters.get(trace::CORE).map(|core| format!("{core} core"));
        let cpus = series.parameters.get(soak::GROUP).map(|cpus| format!("CPUs {cpus}"));
        let of = core.or(cpus).map_or(String::new(), |of| format!(" ({of})"));
        let what = model::areas::quantity(AREA, &series.quantity);
        let what = what.map_or(series.quantity.as_str(), |quantity| quantity.label);
        Some(format!("{what} of {stream}{of}"))
    }

    /// All streams on one core, then on all, then on the numbers between, so that a small budget
    /// loses the middle of the sweep first.
    fn wishes(&self, plan: &Planning<'_>) -> Wishes {
        let mut wishes = Wishes::default();
        let mut loads = Vec::new();
        for (order, row) in plan.streams.iter().enumerate().filter(|(_, row)| row.id != NOT_HERE) {
            match streams::load(plan.machine, row, DATA) {
                Ok(load) => loads.push((order, load, phases(row))),
                Err(reason) => wishes.absent.push((row.id, reason)),
            }
        }
        let mut counts = plan.placement.active_counts(plan.topology());
        if counts.len() > 2 {
            let all = counts.pop();
            counts.splice(1..1, all);
        }
        for count in counts {
            let cpus = &plan.placement.cpus[..count];
            wishes.cells.extend(
                loads.iter().map(|(order, load, phases)| {
                    Cell::uniform(*order, *load, cpus, phases.clone())
                }),
            );
        }
        wishes
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        [drifting(record), slow_looks(record), known::differing(record)]
            .into_iter()
            .flatten()
            .chain(soak_shown::findings(record))
            .chain(trace_shown::findings(record))
            .chain(neighbours_shown::findings(record))
            .collect()
    }

    fn sentences(&self, record: &Record) -> Vec<Text> {
        section::sentences(record)
    }

    fn claims(&self, record: &Record) -> Vec<Claim> {
        claims::claims(record)
    }

    fn bands(&self, record: &Record) -> Vec<Band> {
        claims::bands(record)
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        section::section(record)
    }
}

/// The clock moved while nothing but the ruler ran.
fn drifting(record: &Record) -> Option<Finding> {
    /// Less than this is what clocks do anyway between one minute and the next.
    const DRIFT_MIN: f64 = 0.02;
    let [low, high] = read::quiet_drift(record, &record.run.plan.cpus)?;
    let drift = high / low - 1.0;
    (drift >= DRIFT_MIN).then(|| Finding {
        id: "turbo.clock-drifts".to_owned(),
        severity: Severity::Note,
        about: "core clock".to_owned(),
        text: format!(
            "without any payload the clock moved between {:.0} and {:.0} MHz during the run \
                 ({:.1} %): compare runs by cycles per op, not by MHz",
            low / 1e6,
            high / 1e6,
            drift * 100.0
        ),
        remedy: None,
        cause: None,
        gain: None,
    })
}

/// One look at the clock in twenty, or more, found much less than the others: what the chain counts as
/// lost cycles may be a halt or throttled dispatch rather than a lower frequency.
fn slow_looks(record: &Record) -> Option<Finding> {
    /// Between this and the median, clocks drift.
    const RATIO_MAX: f64 = 0.9;
    let mut cells: Vec<String> = Vec::new();
    for series in record.series_of(AREA, "clock") {
        let Some(clock) = series.summary().filter(|c| c.p5 < RATIO_MAX * c.median) else {
            continue;
        };
        let cell = format!("{} with {} active", series.workload, series.active.len());
        if !cells.iter().any(|known| known.starts_with(&cell)) {
            cells.push(format!("{cell} ({:.0} of {:.0} MHz)", clock.p5 / 1e6, clock.median / 1e6));
        }
    }
    (!cells.is_empty()).then(|| Finding {
        id: "turbo.slow-looks".to_owned(),
        severity: Severity::Note,
        about: "core clock".to_owned(),
        text: format!(
            "one look in twenty found far less than the median under {}: the core halted, was throttled \
             or was taken away, which the chain counts as lost cycles",
            cells.join(", ")
        ),
        remedy: None,
 cause: None,
 gain: None,
})
}
