//! The ruler: a serial chain of multiplies whose length in cycles is calibrated, never assumed.
//!
//! A chain of `imul r,r` takes a whole number of cycles per op on every known core, and stays true when
//! an SMT sibling is busy; a chain of `add r,r` takes one cycle per op, but reads some per cent slow
//! beside a busy sibling. So the adds say how many cycles the multiply takes, at a moment when both
//! agree on a whole number, and from then on the multiply is the clock and the adds are its witness.

use std::collections::BTreeMap;

use model::{CpuId, Obstacle, Unavailable};

use super::executor::{Executor, RunError};
use super::job::{Manner, Member, Repeat, Tools};
use super::{protocol, reduce};

/// What of a repetition does not grow with its iterations, beyond the empty one; counted in iterations,
/// because it takes longer where the clock is lower.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fixed {
    /// Of the multiply chain.
    pub ruler: f64,
    /// Of the add chain.
    pub witness: f64,
}

/// The ruler of one CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruler {
    /// Cycles that one multiply takes.
    pub latency_cycles: u32,
    /// What of each repetition is fixed, as each job so far said: one alone is no better than 0.1 % of
    /// a repetition, the median of many is.
    pub fixed: Vec<Fixed>,
    /// Attempts until rulers agreed: 1 on a quiet machine.
    pub attempts: u32,
}

impl Ruler {
    /// The median of what jobs said so far.
    pub fn fixed(&self) -> Fixed {
        let median = |of: fn(&Fixed) -> f64| {
            let values: Vec<f64> = self.fixed.iter().map(of).collect();
            model::stats::median(&values).unwrap_or(0.0)
        };
        Fixed { ruler: median(|fixed| fixed.ruler), witness: median(|fixed| fixed.witness) }
    }
}

/// How far the measured latency may be from a whole number.
const TOLERANCE: f64 = 0.005;

/// Attempts before giving up: 3 ms each, so that a busy neighbour has time to pause.
const ATTEMPTS_MAX: u32 = 40;

/// Whole numbers of cycles that an integer multiply takes on known cores (2 on some Arm cores, 3 on
/// most, more on small ones).
const LATENCIES: std::ops::RangeInclusive<u32> = 2..=7;

/// The rulers of these CPUs, one after the other so that none disturbs another.
pub fn calibrate(
    executor: &mut dyn Executor,
    tools: &Tools,
    cpus: &[CpuId],
) -> Result<BTreeMap<CpuId, Result<Ruler, Unavailable>>, RunError> {
    let mut rulers = BTreeMap::new();
    for &cpu in cpus {
        rulers.insert(cpu, calibrate_one(executor, tools, cpu)?);
    }
    Ok(rulers)
}

/// What is fixed about a ruler is known by so many looks.
pub const LOOKS: usize = 5;

/// One more look at what is fixed about the rulers of these CPUs, where there were few: alone, because
/// beside other active cores lengths scatter to one side, and 10 ns are 0.3 % of a look at the clock.
pub fn refine(
    executor: &mut dyn Executor,
    tools: &Tools,
    rulers: &mut BTreeMap<CpuId, Result<Ruler, Unavailable>>,
) -> Result<(), RunError> {
    for (&cpu, ruler) in rulers {
        if let Ok(ruler) = ruler
            && ruler.fixed.len() < LOOKS
        {
            let job = quiet(tools, cpu);
            let raw = executor.repeat(&job)?;
            ruler.fixed.extend(reduce::fixed(&raw.members[0], &job));
        }
    }
    Ok(())
}

/// The rulers alone.
fn quiet(tools: &Tools, cpu: CpuId) -> Repeat {
    Repeat {
        members: vec![Member::new(cpu, tools.null)],
        phases: vec![protocol::quiet(12)],
        tools: *tools,
        manner: Manner::USUAL,
    }
}

fn calibrate_one(
    executor: &mut dyn Executor,
    tools: &Tools,
    cpu: CpuId,
) -> Result<Result<Ruler, Unavailable>, RunError> {
    let job = quiet(tools, cpu);
    let mut seen = Vec::new();
    for attempts in 1..=ATTEMPTS_MAX {
        let raw = executor.repeat(&job)?;
        let latency = reduce::ruler_latency(&raw.members[0], &job);
        seen.extend(latency);
        if let Some(latency_cycles) = latency.and_then(whole) {
            let fixed = reduce::fixed(&raw.members[0], &job).into_iter().collect();
            return Ok(Ok(Ruler { latency_cycles, fixed, attempts }));
        }
    }
    let median = model::stats::median(&seen);
    let why = match median {
        Some(_) => format!(
            "a multiply takes no whole number of add cycles within 0.5 % in {ATTEMPTS_MAX} attempts: \
             something else uses the core"
        ),
        None => "the rulers took no time that the clock can see".to_owned(),
    };
    Ok(Err(Unavailable::new(Obstacle::Measurement, "core clock", why)
        .with_remedy("run again when the machine, or its SMT sibling, is idle")))
}

/// The whole number of cycles that this is within tolerance of.
fn whole(latency: f64) -> Option<u32> {
    let nearest = latency.round();
    let near = (latency / nearest - 1.0).abs() <= TOLERANCE;
    let nearest = nearest as u32;
    (near && LATENCIES.contains(&nearest)).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn only_whole_numbers_of_cycles_make_a_ruler() {
        assert_eq!(whole(3.001), Some(3));
        assert_eq!(whole(2.989), Some(3));
        assert_eq!(whole(2.95), None, "a witness slowed by 1.7 % is no witness");
        assert_eq!(whole(1.0), None);
        assert_eq!(whole(8.0), None);
        assert_eq!(whole(f64::NAN), None);
    }
}
