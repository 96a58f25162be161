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
use model::page::{Block, Text};
use model::record::{Record, Series};
use model::{Finding, Severity, Unit};

use super::Area;
use crate::rig::collect::{Guard, Quantity, Take};
use crate::rig::job::Phase;
use crate::rig::protocol;
use crate::run::plan::{Cell, DATA, Planning, Wishes};
use crate::sheet::claims::Claim;
use crate::sheet::normal::Band;
use crate::streams;

/// The area.
pub struct Turbo;

/// Its id.
pub(crate) const AREA: &str = "turbo";

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

static QUANTITIES: &[Quantity] = &[
    Quantity {
        id: "clock",
        label: "clock",
        unit: Unit::Hertz,
        better: "higher is better",
        doc: "Core clock right after 45 us of the payload at full density: 3 us of the multiply chain, \
              whose length in cycles is known, between two stamps.",
        guard: Guard::Clock,
        if_offered: false,
        packing: 5e-4,
        take: Take::Samples(|reduced| reduced.clock.clone()),
    },
    Quantity {
        id: "clock_in_loop",
        label: "clock in the loop, dense",
        unit: Unit::Hertz,
        better: "",
        doc: "Core clock while the payload executes: the multiply chain in the payload's own loop, \
              with the payload taking at most 95 % of the chain's time. Evidence for `clock`.",
        guard: Guard::Witness,
        if_offered: true,
        packing: 5e-4,
        take: Take::Samples(|reduced| reduced.clock_in_loop.clone()),
    },
    Quantity {
        id: "clock_in_loop_half",
        label: "clock in the loop, less dense",
        unit: Unit::Hertz,
        better: "",
        doc: "The same with the payload taking less, at most 50 %: where it differs, payload and chain are \
              in each other's way, and neither tells the clock.",
        guard: Guard::Witness,
        if_offered: true,
        packing: 5e-4,
        take: Take::Samples(|reduced| reduced.clock_in_loop_half.clone()),
    },
    Quantity {
        id: "cycles_per_op",
        label: "cycles per op",
        unit: Unit::CyclePerOp,
        better: "lower is better",
        doc: "Core cycles per op, against multiply chains right before and right after, n against 2n.",
        guard: Guard::Witness,
        if_offered: false,
        packing: 2e-4,
        take: Take::PerOp(|reduced| &reduced.cycles),
    },
    Quantity {
        id: "time_per_op",
        label: "time per op",
        unit: Unit::SecondPerOp,
        better: "lower is better",
        doc: "Seconds per op, n against 2n; its reciprocal is the rate of ops.",
        guard: Guard::None,
        if_offered: false,
        packing: 5e-4,
        take: Take::PerOp(|reduced| &reduced.seconds),
    },
    Quantity {
        id: "overlap",
        label: "overlap",
        unit: Unit::One,
        better: "higher is better",
        doc: "Time that all threads executed the payload together, as a share of the time that any of \
              them did.",
        guard: Guard::None,
        if_offered: false,
        packing: 1e-3,
        take: Take::Samples(|reduced| reduced.overlap.into_iter().collect()),
    },
    Quantity {
        id: "aperf_per_mperf",
        label: "A/M-ratio",
        unit: Unit::One,
        better: "higher is better",
        doc: "APERF per MPERF while the payload executes: core cycles per cycle of a constant clock, \
              both counted only while the core is not halted.",
        guard: Guard::None,
        if_offered: false,
        packing: 1e-4,
        take: Take::Reading(|reduced| {
            Some(reduced.counters.clone()?.map(|clock| clock.aperf_per_mperf))
        }),
    },
    Quantity {
        id: "mperf_rate",
        label: "MPERF per second",
        unit: Unit::Hertz,
        better: "",
        doc: "MPERF per second of the stamp clock: below its own rate by the share of time that the \
              core was halted.",
        guard: Guard::None,
        if_offered: false,
        packing: 1e-4,
        take: Take::Reading(|reduced| {
            Some(reduced.counters.clone()?.map(|clock| clock.mperf_hertz))
        }),
    },
    Quantity {
        guard: Guard::Witness,
        ..Quantity::named(
            favoured::CLOCK,
            "clock of a core alone",
            Unit::Hertz,
            "higher is better",
            "Core clock under scalar_iadd by the chain, all other cores idle.",
        )
    },
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            soak::TIME,
            "middle of a window",
            Unit::Second,
            "",
            "Time from the beginning of the stream to the middle of each window.",
        )
    },
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            soak::CLOCK,
            "clock in a window",
            Unit::Hertz,
            "higher is better",
            "Median over all looks by the chain and all cores in each window.",
        )
    },
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            soak::LOST,
            "time lost in a window",
            Unit::One,
            "lower is better",
            "What rounds of the stream took longer than the median of them, of all their time, the mean over jobs and \
             cores: interrupts, other threads, or the hypervisor.",
        )
    },
    Quantity::named(
        soak::REST,
        "rest before a stream",
        Unit::Second,
        "",
        "How long nothing was executed between the stream before and this one.",
    ),
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            soak::POWER,
            "power in a window",
            Unit::Watt,
            "",
            "Energy counters of all packages over the time of each window.",
        )
    },
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            soak::TEMPERATURE,
            "temperature after a window",
            Unit::Celsius,
            "",
            "The hottest sensor of the packages, else of the cores.",
        )
    },
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            soak::LIMITED,
            "windows in which a limit was seen",
            Unit::Second,
            "",
            "Times of the windows in which its log came up, or after which it was in force.",
        )
    },
    Quantity::named(
        trace::VISIBLE,
        "the least halt that can be told",
        Unit::Second,
        "lower is better",
        "Nine windows of 20 us in ten lose less than this at once, without the payload and with it, and no look is \
         shorter.",
    ),
    Quantity::named(
        trace::VISIBLE_BESIDE,
        "the least halt that can be told beside throttled dispatch",
        Unit::Second,
        "lower is better",
        "A look beside stretched ones may be as long by throttled dispatch, which makes it four times as long at most: \
         3.5 times is taken for that. Only where time was taken for it at the same phase of many periods.",
    ),
    Quantity::named(
        trace::LOOKED,
        "periods in which a phase was looked at",
        Unit::Count,
        "higher is better",
        "Those in which no gap covers the phase, at the phase where they are fewest; of fewer than 50 nothing is told.",
    ),
    Quantity::named(
        trace::HALT,
        "halt",
        Unit::Second,
        "lower is better",
        "Time that is missing at one phase in 80 % and more of the periods that were looked at then, one for each \
         that has it.",
    ),
    Quantity::named(
        trace::HALT_SHARE,
        "share of periods that have the halt",
        Unit::One,
        "",
        "Of those that were looked at at that phase. Halts that come by chance are in few.",
    ),
    Quantity::named(
        trace::THROTTLED,
        "throttled dispatch",
        Unit::Second,
        "lower is better",
        "Time in which adds take longer while multiplies hardly do, by the median over periods of each 2 us, in 80 % and \
         more of the periods that were looked at then.",
    ),
    Quantity::named(
        trace::THROTTLED_VISIBLE,
        "the least throttled dispatch that can be told",
        Unit::Second,
        "lower is better",
        "Two bins of 2 us, those between them that no look fell into, without the payload or with it, and no \
         less than what is seen without.",
    ),
    Quantity::named(
        trace::THROTTLED_RATIO,
        "how much longer adds take meanwhile",
        Unit::One,
        "lower is better",
        "Against the clock without a payload: dispatch is throttled before the clock changes.",
    ),
    Quantity::named(
        trace::HOLD,
        "how long the clock stays low after the payload",
        Unit::Second,
        "lower is better",
        "From the end of the payload until five bins of 2 us in a row are nearer to the clock at the \
         end of the period.",
    ),
    Quantity::named(
        trace::HOLD_VISIBLE,
        "the least difference of clocks that can be told",
        Unit::One,
        "lower is better",
        "Of the payload's second half and the period's last quarter the worse: four median distances of the bins \
         from their median, or a step of the stamps over a look's chain and the root of the looks in a bin.",
    ),
    Quantity::named(
        trace::LOW,
        "clock under the payload",
        Unit::Hertz,
        "higher is better",
        "Median of the bins of the second half of the payload.",
    ),
    Quantity::named(
        trace::RELAXED,
        "clock at the end of the period",
        Unit::Hertz,
        "higher is better",
        "Median of the bins of the last quarter of the period; without a payload where that is higher.",
    ),
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            trace::TIME,
            "time of a look",
            Unit::Second,
            "",
            "Since its period began.",
        )
    },
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            trace::CLOCK,
            "clock in a look",
            Unit::Hertz,
            "higher is better",
            "By a chain of multiplies of 0.35 us.",
        )
    },
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            trace::STRETCH,
            "how much longer adds took in a look",
            Unit::One,
            "",
            "Against the clock by the multiplies right after them.",
        )
    },
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            trace::FOLDED_TIME,
            "middle of a bin",
            Unit::Second,
            "",
            "Since the period began.",
        )
    },
    Quantity {
        packing: 0.0,
        ..Quantity::named(
            trace::FOLDED_CLOCK,
            "clock in a bin",
            Unit::Hertz,
            "higher is better",
            "By the mean time of looks in all periods, without those that something came into.",
        )
    },
    Quantity::named(
        trace::GAP,
        "time that is missing at once",
        Unit::Second,
        "lower is better",
        "Between two looks, beyond what lies between them usually, whatever took it.",
    ),
    Quantity::named(
        trace::GAP_RATE,
        "such gaps per second",
        Unit::PerSecond,
        "lower is better",
        "Those above the least halt that can be told.",
    ),
    Quantity::named(
        trace::GAP_SHARE,
        "share of time that is missing in gaps",
        Unit::One,
        "lower is better",
        "All gaps longer than 1 us, whether a halt as short could be told or not, over the time of the pass.",
    ),
    Quantity::named(
        neighbours::CLOCK.alone,
        "clock of the victim alone",
        Unit::Hertz,
        "higher is better",
        "Median clock by the chain, the mean of the jobs before and after those beside neighbours.",
    ),
    Quantity::named(
        neighbours::CLOCK.beside,
        "clock of the victim beside neighbours",
        Unit::Hertz,
        "higher is better",
        "Median clock by the chain, the mean of two jobs beside neighbours.",
    ),
    Quantity::named(
        neighbours::CLOCK.ratio,
        "clock beside neighbours over alone",
        Unit::One,
        "higher is better",
        "One for each block: alone, beside, beside, alone.",
    ),
    Quantity::named(
        neighbours::RATE.alone,
        "ops per second of the victim alone",
        Unit::PerSecond,
        "higher is better",
        "Median rate of ops, the mean of the jobs before and after those beside neighbours.",
    ),
    Quantity::named(
        neighbours::RATE.beside,
        "ops per second of the victim beside neighbours",
        Unit::PerSecond,
        "higher is better",
        "Median rate of ops, the mean of two jobs beside neighbours.",
    ),
    Quantity::named(
        neighbours::RATE.ratio,
        "ops per second beside neighbours over alone",
        Unit::One,
        "higher is better",
        "One for each block: alone, beside, beside, alone.",
    ),
    Quantity::named(
        neighbours::MOVED.alone,
        "bandwidth of the victim alone",
        Unit::BytePerSecond,
        "higher is better",
        "Median bandwidth of a triad beyond caches, the mean of the jobs before and after those beside neighbours.",
    ),
    Quantity::named(
        neighbours::MOVED.beside,
        "bandwidth of the victim beside neighbours",
        Unit::BytePerSecond,
        "higher is better",
        "Median bandwidth of a triad beyond caches, the mean of two jobs beside neighbours.",
    ),
    Quantity::named(
        neighbours::MOVED.ratio,
        "bandwidth beside neighbours over alone",
        Unit::One,
        "higher is better",
        "One for each block: alone, beside, beside, alone.",
    ),
    Quantity::named(
        neighbours::WAIT.alone,
        "latency of the victim alone",
        Unit::Second,
        "lower is better",
        "Median latency of one chain of pointers beyond caches, the mean of the jobs before and after \
         those beside neighbours.",
    ),
    Quantity::named(
        neighbours::WAIT.beside,
        "latency of the victim beside neighbours",
        Unit::Second,
        "lower is better",
        "Median latency of one chain of pointers beyond caches, the mean of two jobs beside neighbours.",
    ),
    Quantity::named(
        neighbours::WAIT.ratio,
        "latency beside neighbours over alone",
        Unit::One,
        "lower is better",
        "One for each block: alone, beside, beside, alone.",
    ),
];

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

    fn offers(&self, workload: &str, quantity: &Quantity) -> bool {
        let is_named = matches!(quantity.take, Take::Named(_));
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
            _ => !is_named,
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
        let what = super::quantity(self, &series.quantity);
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
