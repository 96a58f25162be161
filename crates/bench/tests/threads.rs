//! Real threads: jobs come back whole, with every clock, and never hang. Nothing here looks at how long
//! something took: that is what a shared machine cannot promise.

use bench::rig::executor::threads::Threads;
use bench::rig::executor::{Executor, RunError, Stop};
use bench::rig::job::{Exchange, Manner, Member, Purpose, RawRepeat, Repeat, What};
use bench::rig::protocol;
use bench::streams;
use kernels::Data;
use machine::Machine;
use model::{CpuId, Hertz, Rate};
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

/// A rate near enough for sizing: jobs say what they did, not how long it was.
fn executor<P: Probe>(probe: P, stop: &Stop) -> Threads<P> {
    Threads::new(probe, Rate::new(Hertz(1e9)), None, stop.clone())
}

fn check(job: &Repeat, raw: &RawRepeat) {
    assert_eq!(raw.members.len(), job.members.len());
    for (member, asked) in std::iter::zip(&raw.members, &job.members) {
        assert_eq!(member.cpu, asked.cpu);
        assert_eq!(member.migrations, 0);
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
                let once = of(What::Payload, 1).unwrap();
                assert!(once > 0);
                assert_eq!(of(What::Payload, 2), Some(2 * once), "n against exactly 2n");
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

#[test]
fn an_exchange_comes_back_whole() {
    let [first, second] = cpus()[..] else {
        return; // One CPU: nobody to exchange with.
    };
    let job = Exchange { first, second, repetitions: 5, round_trips: 20 };
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
    let job = Exchange { first: cpus()[0], second: absent, repetitions: 1, round_trips: 1 };
    let error = executor.exchange(&job).unwrap_err();
    assert!(matches!(error, RunError::Pin { cpu, .. } if cpu == absent), "{error}");
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
