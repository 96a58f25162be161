//! Calibration of rulers, and the clock of a CPU that nobody disturbs.

use model::stats::median;
use model::{CpuId, Obstacle, Seconds, Unavailable};

use crate::executor::{Executor, RunError};
use crate::job::{Interval, Manner, Member, Phase, Purpose, Repeat, Step, StepKind, Tools};
use crate::ruler::{Fixed, Ruler, Rulers};
use crate::{protocol, reduce};

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
) -> Result<Rulers, RunError> {
    let mut rulers = Rulers::new();
    for &cpu in cpus {
        let ruler = match calibrate_one(executor, tools, cpu) {
            Err(error) if error.is_of_one_job() => Err(error.reason("core clock")),
            found => found?,
        };
        rulers.insert(cpu, ruler);
    }
    Ok(rulers)
}

/// What is fixed about the rulers of a few CPUs is known by so many looks at each.
pub const LOOKS: usize = 5;

/// One more look at what is fixed about the rulers of these CPUs, where there were few: alone, because
/// beside other active cores lengths scatter to one side, and 10 ns are 0.3 % of a look at the clock.
pub fn refine(
    executor: &mut dyn Executor,
    tools: &Tools,
    rulers: &mut Rulers,
) -> Result<(), RunError> {
    for (&cpu, ruler) in rulers {
        if let Ok(ruler) = ruler
            && ruler.looks.len() < LOOKS
        {
            let job = quiet(tools, cpu);
            let raw = executor.repeat(&job)?;
            ruler.keep(reduce::fixed(&raw.members[0], &job));
        }
    }
    Ok(())
}

/// The rulers alone.
pub fn quiet(tools: &Tools, cpu: CpuId) -> Repeat {
    Repeat {
        members: vec![Member::new(cpu, tools.null)],
        phases: vec![protocol::quiet(12)],
        tools: *tools,
        manner: Manner::USUAL,
    }
}

/// What a CPU does without a payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Undisturbed {
    /// Seconds of the empty repetition.
    pub null: f64,
    /// The clock in hertz, or why nothing tells.
    pub hertz: Result<f64, Unavailable>,
}

/// What a CPU does without a payload while nobody disturbs it: in jobs whose rulers agree with each other as they did
/// at calibration, and of which three say the same. Who is disturbed is slow, so that the highest such clock is it.
pub fn undisturbed(
    executor: &mut dyn Executor,
    tools: &Tools,
    cpu: CpuId,
    ruler: &Ruler,
) -> Result<Undisturbed, RunError> {
    const ALIKE: usize = 3;
    const TOLERANCE: f64 = 0.01;
    let job = quiet(tools, cpu);
    let (mut null, mut clocks) = (f64::INFINITY, Vec::new());
    for _ in 0..ATTEMPTS_MAX {
        let raw = executor.repeat(&job)?;
        let reduced =
            reduce::reduce(&raw.members[0], tools.null, &job, Some(ruler), executor.rate());
        null = reduced.null_seconds.unwrap_or(0.0).min(null);
        let latency = reduce::ruler_latency(&raw.members[0], &job).and_then(whole);
        clocks
            .extend(median(&reduced.quiet_clock).filter(|_| latency == Some(ruler.latency_cycles)));
        clocks.sort_by(f64::total_cmp);
        let are_alike = |it: &&[f64]| it[ALIKE - 1] <= it[0] * (1.0 + TOLERANCE);
        if let Some(alike) = clocks.windows(ALIKE).rev().find(are_alike) {
            return Ok(Undisturbed { null, hertz: Ok(alike[ALIKE / 2]) });
        }
    }
    let why = format!(
        "contended: without a payload, the multiply and add chains of CPU {cpu} agreed in {} of \
         {ATTEMPTS_MAX} attempts, and no {ALIKE} of those found the same clock within 1 %",
        clocks.len()
    );
    let reason = Unavailable::new(Obstacle::Measurement, "core clock", why);
    Ok(Undisturbed { null, hertz: Err(reason.with_remedy(WHEN_IDLE)) })
}

/// What helps where something else uses the core.
const WHEN_IDLE: &str = "run again when the machine, or its SMT sibling, is idle";

/// Seconds that one multiply of the chain takes on a CPU at this moment, as the middle of a few short
/// stretches: the same work whatever else is set, so that only the clock can change it. None where the
/// clock sees no time pass.
pub fn multiply(
    executor: &mut dyn Executor,
    tools: &Tools,
    cpu: CpuId,
) -> Result<Option<f64>, RunError> {
    const STRETCH: Seconds = Seconds(20e-6);
    const STRETCHES: u32 = 9;
    let steps = vec![Step { what: StepKind::Ruler, target: STRETCH, multiple: 1 }];
    let settle = Seconds(0.0);
    let phase = Phase { purpose: Purpose::Counting, steps, rounds: STRETCHES, settle };
    let job = Repeat {
        members: vec![Member::new(cpu, tools.null)],
        phases: vec![phase],
        tools: *tools,
        manner: Manner::USUAL,
    };
    let raw = executor.repeat(&job)?;
    let (phase, hertz) = (&raw.members[0].phases[0], executor.rate().hertz().0);
    let multiplies = (phase.iterations[0] * tools.ruler.ops_per_iteration) as f64;
    let seconds = |stamps: &Interval| stamps.length().count() as f64 / hertz / multiplies;
    let seconds = median(&phase.stamps.iter().map(seconds).collect::<Vec<_>>());
    Ok(seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0))
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
            let looks: Vec<Fixed> = reduce::fixed(&raw.members[0], &job).into_iter().collect();
            let fixed = looks.first().copied().unwrap_or_default();
            return Ok(Ok(Ruler { latency_cycles, fixed, looks, attempts }));
        }
    }
    let median = model::stats::median(&seen);
    let why = match median {
        Some(_) => format!(
            "a multiply takes no whole number of add cycles within 0.5 % in {ATTEMPTS_MAX} \
             attempts: other work uses the core"
        ),
        None => "the multiply and add chains took no measurable time".to_owned(),
    };
    Ok(Err(Unavailable::new(Obstacle::Measurement, "core clock", why).with_remedy(WHEN_IDLE)))
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
