//! Every number of threads tried, on machines whose quota, siblings, types of cores, memory and hypervisor differ.

use std::collections::BTreeMap;

use advice::threads::{Advice, Work, advice};
use machine::Machine;
use measure::areas::memory::{MemoryOptions, Question};
use measure::areas::openmp::OpenmpOptions;
use measure::areas::turbo::{Tests, TurboOptions};
use measure::run::{Request, measure};
use measure::threads;
use model::record::{PageKind, Presentation, Record, Series};
use model::{CpuId, CpuSet, Seconds};
use rig::executor::Stop;
use rig::placement::{Choice, Order};
use simulated::Model;

/// The proposal is no farther from the best of all numbers.
const NEAR: f64 = 0.95;

fn run(machine: Fresh<'_>, request: &Request) -> Record {
    let mut tell = |_: measure::run::Progress<'_>| {};
    measure(&machine(), request, &Stop::default(), &mut tell).unwrap()
}

fn look() -> Presentation {
    Presentation::of(PageKind::Threads)
}

/// A machine of which nobody has used any time yet.
pub(crate) type Fresh<'a> = &'a dyn Fn() -> Machine;

pub(crate) fn advised(machine: Fresh<'_>) -> (Record, Advice) {
    let record = run(machine, &threads::request(None, None, Vec::new(), look()));
    let advice = advice(&record);
    (record, advice)
}

pub(crate) fn named(name: &str) -> impl Fn() -> Machine {
    move || Machine::named(&format!("sim:{name}")).unwrap()
}

/// A machine of that name, described a little otherwise.
fn bent(name: &str, bend: impl Fn(&mut Model)) -> impl Fn() -> Machine {
    move || {
        let mut model = Model::named(name).unwrap();
        bend(&mut model);
        Machine::from(model)
    }
}

/// The usual sample: what a quota takes is known, and a hypervisor takes as much from every team.
fn usual(series: &Series) -> Option<f64> {
    Some(series.summary()?.median)
}

/// What the machine's quota leaves of the time of so many threads.
fn left(machine: Fresh<'_>, threads: usize) -> f64 {
    let stopped = machine().simulated.map(|model| model.topology.stopped_by_quota(threads));
    1.0 / (1.0 + stopped.unwrap_or(0.0))
}

/// The first CPUs of the order of spread, for each number of them.
fn teams(record: &Record) -> Vec<CpuSet> {
    let topology = &record.machine.topology;
    let choice = Choice { siblings: true, order: Order::Spread, ..Choice::usual(None) };
    let cpus: Vec<CpuId> = choice.place(topology).unwrap().cpus;
    (1..=cpus.len()).map(|count| cpus[..count].iter().copied().collect()).collect()
}

/// What a team does in a second: all together, and as many times the slowest as there are threads.
fn computed(machine: Fresh<'_>, cpus: &CpuSet, stream: &str) -> [f64; 2] {
    let row = kernels::streams::TABLE.iter().find(|row| row.id == stream).unwrap();
    let options = TurboOptions {
        cpus: Choice { siblings: true, ..Choice::usual(Some(cpus.clone())) },
        ..TurboOptions::about(Tests::Spec(vec![(row, cpus.len())]))
    };
    let record = run(machine, &options.request(Vec::new(), look()));
    // A CPU has several series where it was placed otherwise in between.
    let times = record.series_of("turbo", "time_per_op");
    let rates: BTreeMap<CpuId, f64> =
        times.filter_map(|it| Some((it.cpu, 1.0 / usual(it)?))).collect();
    assert_eq!(rates.len(), cpus.len());
    let slowest = rates.values().copied().fold(f64::INFINITY, f64::min);
    let left = left(machine, cpus.len());
    [rates.values().sum::<f64>() * left, slowest * rates.len() as f64 * left]
}

/// The same machine without what takes time away: of samples that are so long some would have it, and some not.
fn calm(machine: Fresh<'_>) -> impl Fn() -> Machine + '_ {
    move || {
        let mut model = machine().simulated.unwrap();
        model.topology.quota_cpus = None;
        model.noise.steal_share = 0.0;
        Machine::from(model)
    }
}

/// Bytes per second.
fn moved(machine: Fresh<'_>, cpus: &CpuSet) -> f64 {
    let options = MemoryOptions {
        kernels: kernels::memory::find("triad").map(|kernel| vec![kernel]),
        threads: Some(cpus.len()),
        cpus: Choice { siblings: true, ..Choice::usual(Some(cpus.clone())) },
        ..MemoryOptions::about(Question::Bandwidth)
    };
    let record = run(&calm(machine), &options.request(Vec::new(), look()));
    let most = record.series_of("memory", "bandwidth").filter_map(usual).fold(0.0, f64::max);
    most * left(machine, cpus.len())
}

/// Seconds of a region of the loop.
fn looped(machine: Fresh<'_>, cpus: &CpuSet) -> f64 {
    let options = OpenmpOptions {
        threads: Some(vec![cpus.len()]),
        runtimes: Some(vec!["spin_barrier".to_owned()]),
        budget: Some(Seconds(3.0)),
        cpus: Choice { siblings: true, ..Choice::usual(Some(cpus.clone())) },
        ..OpenmpOptions::usual()
    };
    let record = run(&calm(machine), &options.request(Vec::new(), look()));
    let time = record.series_of("openmp", "loop_time").find_map(usual).unwrap();
    time / left(machine, cpus.len())
}

/// What is to be compared: the best of all numbers, and the proposal, each measured alike.
fn near(what: &str, work: Work, advice: &Advice, teams: &[CpuSet], of: impl Fn(&CpuSet) -> f64) {
    let proposal = advice.of(work).unwrap_or_else(|| panic!("{what}: no proposal for {work:?}"));
    let each: BTreeMap<usize, f64> = teams.iter().map(|cpus| (cpus.len(), of(cpus))).collect();
    let (best, most) = each.iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    let reached = of(&proposal.cpus);
    let share = reached / most;
    assert!(
        share >= NEAR,
        "{what}, {work:?}: {} threads reach {share:.3} of {best}, the best",
        proposal.threads
    );
}

/// Streams, memory and loops of every number of threads against the proposals for them.
fn held(what: &str, machine: Fresh<'_>) -> Advice {
    held_at(what, machine, |_| true)
}

/// The same of some numbers of threads.
fn held_at(what: &str, machine: Fresh<'_>, is_tried: impl Fn(usize) -> bool) -> Advice {
    let (record, advice) = advised(machine);
    let mut teams = teams(&record);
    teams.retain(|cpus| is_tried(cpus.len()));
    let vector = record.series_of("turbo", "time_per_op").map(|it| it.workload.clone());
    let vector = vector.filter(|it| it != "scalar_iadd").last().unwrap();
    near(what, Work::Vector, &advice, &teams, |cpus| computed(machine, cpus, &vector)[0]);
    near(what, Work::Scalar, &advice, &teams, |cpus| computed(machine, cpus, "scalar_iadd")[0]);
    if !advice.types.is_empty() {
        near(what, Work::EqualParts, &advice, &teams, |cpus| computed(machine, cpus, &vector)[1]);
    }
    near(what, Work::Bandwidth, &advice, &teams, |cpus| moved(machine, cpus));
    if machine().simulated.as_ref().is_some_and(|model| model.openmp.is_some()) {
        // The loop takes one thread some 10 us and more: steps of that length.
        let steps = Work::Steps(advice::threads::STEPS[0]);
        near(what, steps, &advice, &teams, |cpus| 1.0 / looped(machine, cpus));
    }
    advice
}

#[test]
fn of_small_machines_the_proposal_is_near_the_best() {
    for name in ["vm-2c", "4c", "1c", "laptop", "container"] {
        held(name, &named(name));
    }
}

#[test]
fn of_large_machines_the_proposal_is_near_the_best() {
    held_at("epyc", &named("epyc"), |count| count < 9 || count % 4 == 0);
    // Every number of so many takes a minute.
    held_at("2s-28c", &named("2s-28c"), |count| count.is_power_of_two() || count % 14 == 0);
}

#[test]
fn of_types_of_cores_the_proposal_is_near_the_best() {
    let advice = held("hybrid", &named("hybrid"));
    assert_eq!(advice.of(Work::EqualParts).unwrap().cpus, "0-3".parse().unwrap());
    assert_eq!(advice.of(Work::Vector).unwrap().threads, 10);
    // Cores that are nearly as fast pay in equal parts, too.
    let alike = bent("hybrid", |model| {
        for kind in &mut model.kind {
            kind.highest_hz = kind.highest_hz.map(|_| 4.0e9);
            kind.costs.retain(|id, _| id == "pause_only");
        }
    });
    assert_eq!(held("hybrid, alike", &alike).of(Work::EqualParts).unwrap().threads, 10);
}

#[test]
fn under_a_quota_the_proposal_is_near_the_best_and_says_what_stands_still() {
    for cpus in [0.5, 1.5, 2.0, 3.9] {
        let machine = bent("laptop", |model| model.topology.quota_cpus = Some(cpus));
        let advice = held(&format!("a quota of {cpus}"), &machine);
        assert!((advice.quota.unwrap().cpus - cpus).abs() < 1e-9);
        let most = advice.proposals.iter().map(|it| it.threads).max().unwrap();
        assert!(most as f64 <= cpus.ceil(), "{most} threads under {cpus} CPUs");
        let single = advice.proposals.iter().filter(|it| it.threads == 1);
        assert!(single.clone().all(|it| (it.speedup - 1.0).abs() < 1e-9), "{:?}", advice.proposals);
        assert_eq!(single.count() > 0, cpus < 1.0);
    }
}

#[test]
fn what_siblings_yield_decides_whether_they_are_used() {
    for (smt_yield, pays) in [(0.9, false), (1.0, false), (1.2, true), (1.5, true)] {
        let machine = bent("laptop", |model| model.topology.smt_yield = Some(smt_yield));
        let advice = held(&format!("siblings that yield {smt_yield}"), &machine);
        let gain = advice.siblings.iter().find(|gain| gain.work == Work::Vector).unwrap();
        assert!((gain.factor / smt_yield - 1.0).abs() < 0.02, "{gain:?}");
        assert_eq!((gain.pays(), gain.costs()), (pays, smt_yield < 1.0));
        let cores = advice.usable.len() / 2;
        let threads = advice.of(Work::Vector).unwrap().threads;
        assert_eq!(threads > cores, pays, "{threads} threads of {cores} cores");
    }
}

#[test]
fn bandwidth_that_ends_early_takes_few_threads() {
    // A core moves 10 GB/s, and the node 105: eleven of 56 cores are enough.
    let machine = bent("2s-56c", |model| {
        model.topology.packages = 1;
        model.topology.threads_per_core = 1;
        let memory = model.memory.as_mut().unwrap();
        memory.core_bandwidth = 10e9;
        memory.node_bandwidth = 105e9;
        model.distance.apart_seconds = 120e-9;
    });
    let (record, advice) = advised(&machine);
    let teams = teams(&record);
    near("early end", Work::Bandwidth, &advice, &teams, |cpus| moved(&machine, cpus));
    let threads = advice.of(Work::Bandwidth).unwrap().threads;
    assert!((10..=13).contains(&threads), "{threads}");
}

#[test]
fn a_hypervisor_that_takes_time_takes_it_from_effective_cores() {
    let cores = |share: f64| {
        let machine = bent("laptop", |model| model.noise.steal_share = share);
        let advice = held(&format!("steal {share}"), &machine);
        *advice.vector_cores.value().unwrap()
    };
    let (none, some) = (cores(0.0), cores(0.25));
    // A quarter more time for the same work.
    assert!((some / none - 1.0 / 1.25).abs() < 0.08, "{some} of {none}");
}
