//! Real threads: jobs come back whole, with every clock, and never hang. Nothing here looks at how long
//! something took: that is what a shared machine cannot promise.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::patience::patiently;
use kernels::Data;
use machine::Machine;
use model::{CpuId, Hertz, Rate, Seconds};
use rig::calibration;
use rig::clock_rise::{self, REST};
use rig::exchange::{Channel, Exchange, Pace, Patience, Side};
use rig::executor::threads::Threads;
use rig::executor::{Executor, RunError, Stop};
use rig::job::{Density, Manner, Member, Phase, Purpose, RawRepeat, Repeat, Step, StepKind};
use rig::line::{LINE, Line};
use rig::reduce::{self, Evidence, Reduced};
use rig::ruler::{Fixed, Ruler};
use rig::streams;
use rig::{protocol, verdict};
use sys::clock::{MonotonicRaw, Probe, Tsc};

fn cpus() -> Vec<CpuId> {
    sys::affinity::current().unwrap().iter().take(2).collect()
}

fn job(cpus: &[CpuId]) -> Repeat {
    let machine = Machine::real();
    let row = kernels::streams::find("scalar_iadd").unwrap();
    let payload = streams::load(&machine, row, Data::Quiet).unwrap();
    Repeat {
        members: cpus.iter().map(|&cpu| Member::new(cpu, payload)).collect(),
        phases: vec![protocol::quiet(2), protocol::ratio(3), protocol::dense(2)],
        tools: streams::tools(&machine).unwrap(),
        manner: Manner::USUAL,
    }
}

#[test]
fn a_thread_sleeps_before_each_rise_of_its_clock() {
    const RISES: u32 = 3;
    let mut executor = executor(MonotonicRaw::new().unwrap(), &Stop::default());
    let tools = streams::tools(&Machine::real()).unwrap();
    let job = clock_rise::job(&tools, cpus()[0], RISES);
    let raw = executor.repeat(&job).unwrap();
    check(&job, &raw);
    let member = &raw.members[0];
    assert!(member.around.usage.unwrap().voluntary_switches >= u64::from(RISES));
    // Nobody is woken up too early; the kernel's clock and this one differ by some millionths.
    let least = executor.rate().ticks_in(REST * 0.99).count();
    let stamps = &member.phases[0].stamps;
    let round = job.phases[0].steps.len();
    for rest in (round..stamps.len()).step_by(round) {
        assert!(stamps[rest].end.since(stamps[rest - 1].end).count() >= least);
    }
    let ruler =
        Ruler { latency_cycles: 3, fixed: Fixed::default(), looks: Vec::new(), attempts: 1 };
    let rises = clock_rise::of(member, &job, &ruler, executor.rate());
    assert_eq!(rises.len(), RISES as usize);
    assert!(rises.iter().all(|rise| rise.first > 0.0 && rise.height.is_finite()));
}

/// A rate near enough for sizing: jobs say what they did, not how long it was.
fn executor<P: Probe>(probe: P, stop: &Stop) -> Threads<P> {
    Threads::new(probe, Rate::new(Hertz(1e9)), None, stop.clone())
}

fn check(job: &Repeat, raw: &RawRepeat) {
    assert_eq!(raw.members.len(), job.members.len());
    for (member, asked) in std::iter::zip(&raw.members, &job.members) {
        assert_eq!(member.cpu, asked.cpu);
        assert_eq!(member.around.migrations, 0);
        for (phase, raw) in std::iter::zip(&job.phases, &member.phases) {
            assert_eq!(raw.stamps.len(), phase.steps.len() * phase.rounds as usize);
            assert!(raw.stamps.is_sorted_by_key(|stamp| stamp.start), "{:?}", phase.purpose);
            assert!(raw.stamps.iter().all(|stamp| stamp.start <= stamp.end));
            let of = |what, multiple| {
                let steps = std::iter::zip(&phase.steps, &raw.iterations);
                let mut found =
                    steps.filter(move |(s, _)| (s.what, s.multiple) == (what, multiple));
                found.next().map(|(_, iterations)| *iterations)
            };
            if matches!(phase.purpose, Purpose::Ratio | Purpose::Dense) {
                let once = of(StepKind::Payload, 1).unwrap();
                assert!(once > 0);
                assert_eq!(of(StepKind::Payload, 2), Some(2 * once), "n against exactly 2n");
            }
        }
    }
}

#[test]
fn a_job_comes_back_whole_with_every_clock() {
    let (cpus, stop) = (cpus(), Stop::default());
    for members in 1..=cpus.len() {
        let job = job(&cpus[..members]);
        let raw = executor(MonotonicRaw::new().unwrap(), &stop).repeat(&job).unwrap();
        check(&job, &raw);
        if let Some(tsc) = Tsc::invariant() {
            check(&job, &executor(tsc, &stop).repeat(&job).unwrap());
        }
    }
}

fn exchange(first: CpuId, second: CpuId, channels: Arc<[Box<dyn Channel>]>) -> Exchange {
    let (stretches, round_trips, pace) = (5, 20, Pace::Rally);
    Exchange { id: LINE, first, second, channels, stretches, round_trips, pace, look: None }
}

fn lines(count: usize) -> Arc<[Box<dyn Channel>]> {
    (0..count).map(|_| Box::new(Line::default()) as Box<dyn Channel>).collect()
}

#[test]
fn stamps_of_signals_are_in_order() {
    let [first, second] = cpus()[..] else {
        return; // One CPU: nobody to exchange with.
    };
    for pace in [Pace::Stamped, Pace::Rested(Seconds(20e-6))] {
        let job = Exchange { pace, ..exchange(first, second, lines(2)) };
        let clock = MonotonicRaw::new().unwrap();
        let raw = executor(clock, &Stop::default()).exchange(&job).unwrap();
        assert_eq!((raw.stretches.len(), raw.trips.len()), (5, 100));
        for trip in &raw.trips {
            assert!(trip.sent <= trip.received && trip.received <= trip.returned, "{trip:?}");
        }
        if pace != Pace::Stamped {
            let rests = raw.trips.windows(2).map(|pair| pair[1].sent.since(pair[0].returned));
            assert!(rests.min().unwrap().count() >= 20_000, "it rested");
        }
    }
}

#[test]
fn an_exchange_comes_back_whole() {
    let [first, second] = cpus()[..] else {
        return; // One CPU: nobody to exchange with.
    };
    let job = exchange(first, second, lines(2));
    let raw = executor(MonotonicRaw::new().unwrap(), &Stop::default()).exchange(&job).unwrap();
    assert_eq!(raw.stretches.len(), 5);
    assert!(raw.stretches.iter().all(|stretch| stretch.length().count() > 0));
}

#[test]
fn one_thread_that_cannot_be_pinned_ends_the_job_for_all() {
    let absent = CpuId(60_000);
    let mut executor = executor(MonotonicRaw::new().unwrap(), &Stop::default());
    let with_absent: Vec<CpuId> = cpus().into_iter().chain([absent]).collect();
    let error = executor.repeat(&job(&with_absent)).unwrap_err();
    assert!(matches!(error, RunError::Pin { cpu, .. } if cpu == absent), "{error}");
    let job = exchange(cpus()[0], absent, lines(1));
    let error = executor.exchange(&job).unwrap_err();
    assert!(matches!(error, RunError::Pin { cpu, .. } if cpu == absent), "{error}");
}

/// Who waits there hears of nothing until it is let go.
struct Stuck(Arc<AtomicBool>);

impl Channel for Stuck {
    fn signal(&self, _: Side, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn wait(&self, _: Side, _: u32, _: &dyn Patience) -> io::Result<()> {
        while !self.0.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

#[test]
fn threads_that_hang_are_left_behind_and_the_next_job_comes_back() {
    let [first, second] = cpus()[..] else {
        return; // One CPU: nobody to exchange with.
    };
    let let_go = Arc::new(AtomicBool::new(false));
    let mut executor = executor(MonotonicRaw::new().unwrap(), &Stop::default());
    executor.limit(Seconds(0.05), None);
    let error = executor
        .exchange(&exchange(first, second, Arc::new([Box::new(Stuck(Arc::clone(&let_go)))])))
        .unwrap_err();
    let RunError::Hung { cpus, left, .. } = &error else { panic!("{error}") };
    assert_eq!((cpus.len(), left), (2, cpus), "both wait there");
    assert!(error.to_string().contains("within 0.1 s: its threads on CPU"), "{error}");
    // Long enough for any machine.
    executor.limit(Seconds(600.0), None);
    let job = job(&[first]);
    check(&job, &executor.repeat(&job).unwrap());
    let_go.store(true, Ordering::Release);
}

#[test]
fn threads_that_only_take_too_long_are_stopped() {
    let mut executor = executor(MonotonicRaw::new().unwrap(), &Stop::default());
    executor.limit(Seconds(0.01), None);
    let mut job = job(&cpus()[..1]);
    // Minutes.
    job.phases = vec![Phase { rounds: 10_000_000, ..protocol::quiet(2) }];
    let error = executor.repeat(&job).unwrap_err();
    let RunError::Hung { left, .. } = &error else { panic!("{error}") };
    assert!(left.is_empty() || !error.to_string().contains("were stopped"), "{error}");
}

#[test]
fn a_job_that_is_stopped_ends() {
    let stop = Stop::default();
    stop.ask();
    let mut executor = executor(MonotonicRaw::new().unwrap(), &stop);
    let error = executor.repeat(&job(&cpus())).unwrap_err();
    assert!(matches!(error, RunError::Interrupted), "{error}");
}

#[test]
fn more_threads_than_cpus_still_meet() {
    let cpu = cpus()[0];
    let job = job(&[cpu, cpu, cpu]);
    let raw = executor(MonotonicRaw::new().unwrap(), &Stop::default()).repeat(&job).unwrap();
    assert_eq!(raw.members.len(), 3);
}

#[test]
fn any_number_of_ops_is_executed_in_whole_iterations() {
    let payload = job(&cpus()[..1]).members[0].payload;
    for ops in [1, 7, 100_000, 12_345_678_u64] {
        let iterations = ops.div_ceil(payload.ops_per_iteration);
        let mut job = job(&cpus()[..1]);
        job.members[0].iterations = Some(iterations);
        let raw = executor(MonotonicRaw::new().unwrap(), &Stop::default()).repeat(&job).unwrap();
        for (phase, raw) in std::iter::zip(&job.phases, &raw.members[0].phases) {
            for (step, found) in std::iter::zip(&phase.steps, &raw.iterations) {
                if step.what == StepKind::Payload {
                    assert_eq!(*found, iterations * step.multiple, "{ops} ops");
                }
            }
            assert!(raw.stamps.len().is_multiple_of(phase.steps.len()), "whole rounds");
            assert!(raw.stamps.len() >= 3 * phase.steps.len() || phase.rounds < 3);
        }
    }
}

/// A sandwich whose looks from within the payload's loop have the payload this dense, and half as
/// dense as the chain can bear.
fn looks(dense: u8) -> Phase {
    let step =
        |what, microseconds: f64| Step { what, target: Seconds(microseconds * 1e-6), multiple: 1 };
    let after_payload =
        |what, microseconds| [step(StepKind::Payload, 45.0), step(what, microseconds)];
    let look = || after_payload(StepKind::Ruler, 3.0);
    let in_loop =
        |per_cent| after_payload(StepKind::InLoop { density: Density::PerCent(per_cent) }, 10.0);
    let steps = [look(), look(), in_loop(dense), look(), look(), in_loop(50)].concat();
    Phase { purpose: Purpose::Sandwich, steps, rounds: 12, settle: Seconds(0.0) }
}

/// What one job says of the clock within the loop, where its CPU has a ruler.
fn evidence(executor: &mut dyn Executor, dense: u8) -> Option<Evidence> {
    let cpu = cpus()[0];
    let phases = vec![protocol::quiet(4), looks(dense)];
    let job = Repeat { phases, ..job(&[cpu]) };
    let rulers = calibration::calibrate(executor, &job.tools, &[cpu]).unwrap();
    let ruler: &Ruler = rulers[&cpu].as_ref().ok()?;
    let raw = executor.repeat(&job).unwrap();
    let payload = job.members[0].payload;
    let reduced: Reduced =
        reduce::reduce(&raw.members[0], payload, &job, Some(ruler), executor.rate());
    reduced.evidence()
}

/// Ratios within one run are judged, no times; noise spoils some runs, not all of them.
#[test]
fn a_payload_that_is_too_dense_for_the_chain_is_refused() {
    /// The chain takes 1 / 1.2 of the payload's time.
    const TOO_DENSE: u8 = 120;
    if job(&cpus()[..1]).members[0].payload.in_loop_ops.is_none() {
        assert_ne!(
            std::env::consts::ARCH,
            "x86_64",
            "scalar_iadd has kernels with the ruler in the loop"
        );
        return;
    }
    let mut executor = executor(MonotonicRaw::new().unwrap(), &Stop::default());
    let (mut refused, mut agreed, mut seen) = (false, false, Vec::new());
    patiently(|| {
        let Some(evidence) = evidence(&mut executor, TOO_DENSE) else {
            return Err((refused, agreed, seen.clone()));
        };
        let reason = verdict::refutes(evidence, false, "clock".to_owned());
        refused |= evidence.dense <= 0.95 && reason.is_some();
        agreed |= (evidence.half - 1.0).abs() <= 0.01;
        seen.push(evidence);
        if refused && agreed { Ok(()) } else { Err((refused, agreed, seen.clone())) }
    });
}
