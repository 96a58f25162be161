//! The stamp clock: which one, how fast it ticks, who says so, how fine and how dear it is.
//!
//! The stamp clock is the invariant TSC on x86 and the generic timer on Arm, else
//! `CLOCK_MONOTONIC_RAW`. Every source of its rate is asked; the best one is used, and all of them
//! are in the record, so that a wrong one can be found out later.

use model::record::{CalibratedRate, Instrument, InstrumentState};
use model::ticks::Stamp;
use model::{Finding, Obstacle, Rate, Unavailable, Unit};
use simulated::Model;
use sys::clock::{Cntvct, MonotonicRaw, Tsc};

use super::gauge::{Gauge, gauge};
pub use super::rates::RateChoice;
use super::rates::{RateReading, Role, choose};
use super::{monotonic_raw, sources, thread_usage};
use crate::facts::fact_cache::Survey;
use crate::facts::{self, Ground};
use crate::ports::Machine;

/// Where stamps come from.
#[derive(Debug, Clone, Copy)]
pub enum StampSource {
    /// The time stamp counter of x86.
    Tsc(Tsc),
    /// `CLOCK_MONOTONIC_RAW`.
    MonotonicRaw(MonotonicRaw),
    /// The generic timer of Arm.
    Cntvct(Cntvct),
    /// The simulated executor makes them.
    Simulated,
}

/// The stamp clock of a run, calibrated.
#[derive(Debug, Clone)]
pub struct StampClock {
    /// Where stamps come from.
    pub source: StampSource,
    /// How fast they tick.
    pub rate: Rate<Stamp>,
    /// What is read during the run, the stamp clock first.
    pub instruments: Vec<Instrument>,
    /// What is to be said of them.
    pub findings: Vec<Finding>,
}

/// Chooses the stamp clock of a machine and calibrates it by the best source of its rate; takes
/// about 70 ms on a real one.
///
/// # Error
/// Where no source says how fast the clock ticks.
///
/// # Caveats
/// On a real machine it stamps on the CPU that the calling thread happens to run on: the stamp
/// clocks of all CPUs tick alike.
pub fn calibrate(machine: &Machine) -> Result<StampClock, Unavailable> {
    calibrate_by(machine, RateChoice::Best)
}

/// As [`calibrate`], by the sources that may be chosen. All others stand in the record, compared
/// with the chosen one. `CLOCK_MONOTONIC_RAW` as the stamp clock has no rate to choose.
///
/// # Error
/// Where none of those sources says how fast the clock ticks.
pub fn calibrate_by(machine: &Machine, choice: RateChoice) -> Result<StampClock, Unavailable> {
    if let Some(model) = &machine.simulated {
        return simulated(machine, model, choice);
    }
    let (source, title, sources, gauge) = if let Some(tsc) = Tsc::invariant() {
        (StampSource::Tsc(tsc), &TSC, sources::of_tsc(machine, tsc), gauge(tsc))
    } else if let Some((timer, hertz)) = Cntvct::with_rate() {
        let sources = sources::of_cntvct(machine, timer, hertz);
        (StampSource::Cntvct(timer), &CNTVCT, sources, gauge(timer))
    } else {
        return fallback(machine);
    };
    let calibrated = choose(title.id, &sources, choice)?;
    Ok(counter(machine, source, title, gauge, calibrated))
}

/// How a counter introduces itself.
struct Title {
    id: &'static str,
    source: &'static str,
    measures: &'static str,
}

const TSC: Title = Title {
    id: "tsc",
    source: "lfence; rdtsc; lfence",
    measures: "time, by a counter of constant rate",
};

const CNTVCT: Title = Title {
    id: "cntvct",
    source: "isb; mrs cntvct_el0; isb",
    measures: "time, by a counter of constant rate",
};

const SIMULATED: Title = Title {
    id: "tsc",
    source: "SIMULATED counter",
    measures: "time, as the simulated machine's description has it",
};

fn counter(
    machine: &Machine,
    source: StampSource,
    title: &Title,
    gauge: Gauge,
    (rate, findings): (CalibratedRate, Vec<Finding>),
) -> StampClock {
    let mut instruments = vec![instrument(title, gauge, rate.clone())];
    if machine.simulated.is_none() {
        instruments.extend(MonotonicRaw::new().map(|raw| monotonic_raw::instrument(raw, None)));
        instruments.push(thread_usage::instrument());
    }
    StampClock { source, rate: Rate::new(rate.hertz), instruments, findings }
}

fn instrument(title: &Title, gauge: Gauge, rate: CalibratedRate) -> Instrument {
    Instrument {
        id: title.id.into(),
        source: title.source.into(),
        measures: title.measures.into(),
        state: InstrumentState::Used {
            unit: Unit::Second,
            resolution: gauge.step_ticks as f64 / rate.hertz.0,
            own_cost_seconds: gauge.cost_ticks / rate.hertz.0,
            rate: Some(rate),
        },
    }
}

fn simulated(
    machine: &Machine,
    model: &Model,
    choice: RateChoice,
) -> Result<StampClock, Unavailable> {
    let clock = &model.clock;
    let gauge =
        Gauge { step_ticks: clock.tsc_step_ticks, cost_ticks: clock.stamp_cost_ticks as f64 };
    let sources = sources::of_simulated(machine, model);
    let calibrated = choose(SIMULATED.id, &sources, choice)?;
    Ok(counter(machine, StampSource::Simulated, &SIMULATED, gauge, calibrated))
}

fn fallback(machine: &Machine) -> Result<StampClock, Unavailable> {
    let raw = MonotonicRaw::new().ok_or_else(|| {
        let why =
            "the kernel refuses CLOCK_MONOTONIC_RAW, and there is no counter of constant rate";
        Unavailable::new(Obstacle::Permission, "stamp clock", why)
    })?;
    let source = RateReading {
        name: "nanoseconds by definition".into(),
        hertz: Ok(monotonic_raw::HERTZ),
        independent: false,
        role: Role::Rate,
    };
    let (rate, mut findings) = choose("monotonic_raw", &[source], RateChoice::Best)?;
    findings.push(no_counter(machine));
    let hertz = rate.hertz;
    Ok(StampClock {
        source: StampSource::MonotonicRaw(raw),
        rate: Rate::new(hertz),
        instruments: vec![monotonic_raw::instrument(raw, Some(rate)), thread_usage::instrument()],
        findings,
    })
}

fn no_counter(machine: &Machine) -> Finding {
    let survey = Survey::new(machine);
    let remedy = match survey.ground() {
        Ground::Guest => Some("let the hypervisor pass the invariant TSC on (`cpudyno doctor`)"),
        Ground::Emulator | Ground::Machine => None,
    };
    Finding::warning(
        "clock.no-invariant-counter",
        "monotonic_raw",
        format!(
            "{}, so stamps are CLOCK_MONOTONIC_RAW, with coarser resolution and higher overhead",
            facts::time_stamp_counter(&survey).why()
        ),
    )
    .remedy(remedy.map(String::from))
}
