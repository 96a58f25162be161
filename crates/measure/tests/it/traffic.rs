//! Real threads that move data: every kernel in every variant that runs here, checked, in memory that is
//! kept and given back. Nothing here looks at how long something took: that is what a shared machine
//! cannot promise.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use kernels::memory::chase::{CHAINS_MAX, STEPS_AT_ONCE, Walk};
use kernels::memory::{MemoryKernel, TABLE};
use machine::Machine;
use machine::instruments::traffic::TrafficCounters;
use machine::memory::backing;
use measure::areas::memory::{Length, MemoryOptions, Question};
use measure::run::{Error, outline};
use model::record::{PageKind, Presentation};
use model::{CpuId, Hertz, Pages, Rate, Seconds, Unavailable};
use rig::executor::threads::Threads;
use rig::executor::{Executor, RunError, Stop};
use rig::streams;
use rig::traffic::{Begin, Party, Placed, RawTraffic, Store, Task, Traffic, Transfer, reduce};
use simulated::Model;
use sys::clock::MonotonicRaw;

use crate::common::measure;

/// Two CPUs; the same one twice where there is only one.
fn cpus() -> Vec<CpuId> {
    let usable = sys::affinity::current().unwrap();
    usable.as_slice().iter().copied().cycle().take(2).collect()
}

/// A rate near enough for sizing: jobs say what they did, not how long it was.
fn executor(stop: &Stop) -> Threads<MonotonicRaw> {
    Threads::new(MonotonicRaw::new().unwrap(), Rate::new(Hertz(1e9)), None, stop.clone())
}

fn run(executor: &mut dyn Executor, job: &Traffic) -> Result<RawTraffic, RunError> {
    executor.traffic(job, &streams::tools(&Machine::real()).unwrap(), None)
}

/// Every kernel in every variant that this CPU can execute.
fn transfers() -> Vec<Transfer> {
    let machine = Machine::real();
    let of_kernel = |kernel: &&'static MemoryKernel| {
        streams::transfers(&machine, kernel, kernel.variants)
            .filter_map(Result::ok)
            .collect::<Vec<_>>()
    };
    TABLE.iter().flat_map(of_kernel).collect()
}

fn transfer(kernel: &str) -> Transfer {
    transfers().into_iter().find(|transfer| transfer.kernel.id == kernel).unwrap()
}

fn store(elements: u64) -> Store {
    Store::of_arrays(4, elements, Pages::Base)
}

/// Trips over so many elements of a store.
fn trips(cpu: CpuId, store: Store, transfer: Transfer, elements: u64, moving: bool) -> Party {
    let task = Task::Trips { transfer, elements, moving, pause: Seconds(0.0) };
    Party { cpu, store, task, background: false }
}

fn background(party: &Party, pause: Seconds) -> Party {
    let Task::Trips { transfer, elements, .. } = party.task else { panic!("{party:?}") };
    let task = Task::Trips { transfer, elements, moving: true, pause };
    Party { task, background: true, ..party.clone() }
}

fn chase(cpu: CpuId, bytes: u64, walk: Walk, chains: usize, begin: Begin) -> Party {
    let task = Task::Chase { chains, bytes, walk, begin };
    Party { cpu, store: Store::of_ring(bytes, Pages::Base), task, background: false }
}

const REPETITIONS: u32 = 3;

fn job(members: Vec<Party>) -> Traffic {
    Traffic { members, repetitions: REPETITIONS, target: Seconds(20e-6) }
}

/// What every job must be: whole, in order, and right.
fn check(job: &Traffic, raw: &RawTraffic) {
    assert_eq!(raw.members.len(), job.members.len());
    for (member, party) in std::iter::zip(&raw.members, &job.members) {
        assert_eq!(member.cpu, party.cpu);
        assert_eq!(member.around.migrations, 0);
        assert_eq!(member.stretches.len(), job.repetitions as usize);
        let intervals = || member.stretches.iter().map(|stretch| stretch.interval);
        assert!(intervals().all(|interval| interval.start <= interval.end));
        assert!(intervals().is_sorted_by_key(|interval| interval.start));
        match party.task {
            Task::Trips { transfer, .. } => {
                let answer = member.answer.expect("it is checked");
                let Ok(error) = answer else {
                    panic!("{} {}: {answer:?}", transfer.kernel.id, transfer.variant.id)
                };
                assert_eq!(error.to_bits(), 0);
            }
            Task::Chase { .. } => {
                assert!(member.answer.is_none());
                assert_eq!(member.rulers.iter().flatten().count(), job.repetitions as usize);
            }
        }
    }
    // All of the foreground do the same.
    let units = |(member, party): (&rig::traffic::RawParty, &Party)| {
        let is_alike = !party.background && matches!(party.task, Task::Trips { .. });
        is_alike.then(|| member.stretches.iter().map(|s| s.units).collect::<Vec<_>>())
    };
    let mut alike: Vec<Vec<u64>> =
        std::iter::zip(&raw.members, &job.members).filter_map(units).collect();
    alike.dedup();
    assert!(alike.len() <= 1, "{alike:?}");
}

/// Counters that can be read anywhere: of a machine whose memory nobody uses.
fn idle_counters() -> Arc<TrafficCounters> {
    let mut model = Model::named("2s-56c").unwrap();
    let controllers = model.memory.as_mut().and_then(|memory| memory.controllers.as_mut());
    let controllers = controllers.unwrap();
    (controllers.idle_read, controllers.idle_written) = (0.0, 0.0);
    Arc::new(TrafficCounters::find(&Machine::from(model)).unwrap())
}

#[test]
fn counters_are_read_before_all_begin_and_after_all_are_through() {
    let (cpus, counters) = (cpus(), idle_counters());
    let tools = streams::tools(&Machine::real()).unwrap();
    let mut executor = executor(&Stop::default());
    for count in 1..=2 {
        let party = |&cpu: &CpuId| trips(cpu, store(4099), transfer("copy"), 4099, false);
        let job = job(cpus[..count].iter().map(party).collect());
        let raw = executor.traffic(&job, &tools, Some(&counters)).unwrap();
        check(&job, &raw);
        assert_eq!(raw.counted.len(), job.repetitions as usize);
        for (repetition, [before, after]) in raw.counted.iter().enumerate() {
            for member in &raw.members {
                let interval = member.stretches[repetition].interval;
                assert!(before.stamp <= interval.start && interval.end <= after.stamp);
            }
        }
        let haul = reduce(&raw, &job, executor.rate(), None).unwrap();
        // Counters that count nothing while data is moved give no zero but a reason.
        let counted = haul.counted.unwrap();
        assert!(counted.read.is_empty() && counted.beyond.is_empty(), "{counted:?}");
        assert_eq!(counted.left_out.len() as u32, REPETITIONS - 1, "{counted:?}");
        let why = |reason: &Unavailable| reason.why.contains("the memory controllers counted 0: ");
        assert!(counted.left_out.iter().all(why), "{counted:?}");
        assert!(run(&mut executor, &job).unwrap().counted.is_empty(), "nobody asked for it");
    }
}

#[test]
fn nobody_counts_beside_a_background() {
    let (cpus, counters) = (cpus(), idle_counters());
    let tools = streams::tools(&Machine::real()).unwrap();
    let mut executor = executor(&Stop::default());
    let first = trips(cpus[0], store(4099), transfer("copy"), 4099, false);
    let second = Party { background: true, cpu: cpus[1], ..first.clone() };
    let job = job(vec![first, second]);
    let raw = executor.traffic(&job, &tools, Some(&counters)).unwrap();
    assert!(raw.counted.is_empty());
    assert!(reduce(&raw, &job, executor.rate(), None).unwrap().counted.is_none());
}

#[test]
fn all_kernels_answer_rightly_in_all_variants_on_one_cpu_and_on_two() {
    // Neither is a multiple of what kernels take at once; of the second one, moving trips visit 9 parts,
    // each more often than once.
    const ELEMENTS: u64 = 4099;
    const PART: u64 = 499;
    let (cpus, transfers) = (cpus(), transfers());
    let mut executor = executor(&Stop::default());
    assert!(transfers.len() >= TABLE.len(), "{} variants run here", transfers.len());
    for transfer in transfers {
        for count in 1..=2 {
            for (elements, moving) in [(ELEMENTS, false), (PART, true), (1, false)] {
                let party = |&cpu: &CpuId| trips(cpu, store(ELEMENTS), transfer, elements, moving);
                let job = job(cpus[..count].iter().map(party).collect());
                let raw = run(&mut executor, &job).unwrap();
                check(&job, &raw);
                let haul = reduce(&raw, &job, executor.rate(), None).unwrap();
                assert!(haul.bandwidth.iter().all(|bandwidth| *bandwidth > 0.0));
                assert_eq!(haul.error, [0.0]);
            }
        }
    }
}

#[test]
fn trips_are_right_however_often_they_are_repeated_and_tried() {
    let mut executor = executor(&Stop::default());
    for kernel in ["update", "daxpy", "load", "triad"] {
        let whole = job(vec![trips(cpus()[0], store(70_000), transfer(kernel), 70_000, false)]);
        for job in [whole.trial(), whole.clone(), whole.trial(), whole] {
            check(&job, &run(&mut executor, &job).unwrap());
        }
    }
}

#[test]
fn a_large_array_is_tried_in_parts_that_move() {
    const ELEMENTS: u64 = 1_300_000;
    let party = |&cpu: &CpuId| trips(cpu, store(ELEMENTS), transfer("copy"), ELEMENTS, false);
    let job = job(cpus().iter().map(party).collect());
    let trial = job.trial();
    assert!(matches!(trial.members[0].task, Task::Trips { moving: true, .. }));
    let mut executor = executor(&Stop::default());
    for job in [&trial, &trial, &job, &trial] {
        check(job, &run(&mut executor, job).unwrap());
    }
}

#[test]
fn a_background_goes_on_until_the_others_are_through() {
    let [first, second] = cpus()[..] else { panic!("there are two") };
    for pause in [0.0, 30e-6] {
        for kernel in ["load", "copy", "update"] {
            let load = trips(second, store(50_000), transfer(kernel), 2048, true);
            let chase = chase(first, 1 << 20, Walk::Random, 1, Begin::Lap);
            let job = job(vec![chase, background(&load, Seconds(pause))]);
            let mut executor = executor(&Stop::default());
            let raw = run(&mut executor, &job).unwrap();
            check(&job, &raw);
            let [chased, loaded] = &raw.members[..] else { panic!("{raw:?}") };
            for (chased, loaded) in std::iter::zip(&chased.stretches, &loaded.stretches) {
                assert!(loaded.interval.end >= chased.interval.end);
                // On a busy machine it may come when the others are through.
                let came_late = loaded.interval.start >= chased.interval.end;
                assert!(loaded.units >= 1 || came_late, "{raw:?}");
            }
            let haul = reduce(&raw, &job, executor.rate(), Some(300.0)).unwrap();
            for samples in [&haul.latency, &haul.cycles] {
                assert_eq!(samples.len(), REPETITIONS as usize, "{haul:?}");
                assert!(samples.iter().all(|sample| *sample > 0.0), "{haul:?}");
            }
            assert_eq!(haul.background.len(), REPETITIONS as usize, "{haul:?}");
            assert!(haul.bandwidth.is_empty() && haul.skew.is_empty());
        }
    }
}

#[test]
fn a_job_that_is_stopped_ends_with_all_its_members() {
    let [first, second] = cpus()[..] else { panic!("there are two") };
    let load = || trips(second, store(50_000), transfer("copy"), 2048, true);
    let jobs = [
        vec![load()],
        vec![trips(first, store(50_000), transfer("copy"), 2048, false), load()],
        vec![
            chase(first, 1 << 20, Walk::Random, 1, Begin::Lap),
            background(&load(), Seconds(1e-6)),
        ],
    ];
    for members in jobs {
        let endless = Traffic { members, repetitions: 100_000_000, target: Seconds(20e-6) };
        let stop = Stop::default();
        let asked = stop.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                asked.ask();
            });
            let error = run(&mut executor(&stop), &endless).unwrap_err();
            assert!(matches!(error, RunError::Interrupted), "{error}");
        });
        let error = run(&mut executor(&stop), &endless).unwrap_err();
        assert!(matches!(error, RunError::Interrupted), "{error}");
    }
}

#[test]
fn more_threads_than_cpus_still_meet() {
    let cpu = cpus()[0];
    let party = trips(cpu, store(1000), transfer("add"), 1000, false);
    let job = job(vec![party.clone(), party.clone(), party]);
    let mut executor = executor(&Stop::default());
    check(&job, &run(&mut executor, &job).unwrap());
}

#[test]
fn one_thread_without_its_cpu_or_its_memory_ends_the_job_for_all() {
    let [first, second] = cpus()[..] else { panic!("there are two") };
    let good = trips(first, store(1000), transfer("add"), 1000, false);
    let mut executor = executor(&Stop::default());
    let absent = CpuId(60_000);
    let error = run(&mut executor, &job(vec![good.clone(), Party { cpu: absent, ..good.clone() }]));
    assert!(matches!(error, Err(RunError::Pin { cpu, .. }) if cpu == absent), "{error:?}");
    let nowhere = Store { node: Some(1023), ..store(1000) };
    let bad = Party { cpu: second, store: nowhere, ..good.clone() };
    let error = run(&mut executor, &job(vec![good.clone(), bad])).unwrap_err();
    assert!(matches!(error, RunError::Memory { cpu, .. } if cpu == second), "{error}");
    assert!(error.to_string().starts_with("cannot get "), "{error}");
    let job = job(vec![good]);
    check(&job, &run(&mut executor, &job).unwrap());
}

#[test]
fn chases_of_all_numbers_of_chains_come_back_whole() {
    let cpu = cpus()[0];
    let mut executor = executor(&Stop::default());
    for chains in 1..=CHAINS_MAX {
        for walk in [Walk::Random, Walk::LOCAL, Walk::Ascending] {
            // The smallest one has four lines for each of the most chains.
            for bytes in [4096, 300 << 10] {
                let job = job(vec![chase(cpu, bytes, walk, chains, Begin::Lap)]);
                let raw = run(&mut executor, &job).unwrap();
                check(&job, &raw);
                let is_whole = |units: u64| units > 0 && units.is_multiple_of(STEPS_AT_ONCE);
                assert!(raw.members[0].stretches.iter().all(|s| is_whole(s.units)));
                let haul = reduce(&raw, &job, executor.rate(), None).unwrap();
                assert_eq!(haul.latency.len(), REPETITIONS as usize);
                assert!(haul.bandwidth.is_empty());
            }
        }
    }
}

#[test]
fn a_cold_ring_has_no_line_that_is_visited_twice() {
    /// As often as this a repetition of one member alone is executed, if it is disturbed.
    const TRIES: u64 = 3;
    const BYTES: u64 = 8 << 20;
    let cpus = cpus();
    let lines = BYTES / 64;
    let mut executor = executor(&Stop::default());
    for members in 1..=2 {
        for chains in [1, 2, 7, 16] {
            let party = |&cpu: &CpuId| chase(cpu, BYTES, Walk::Random, chains, Begin::Cold);
            let mut job = job(cpus[..members].iter().map(party).collect());
            // Far longer than once round takes.
            job.target = Seconds(10.0);
            let raw = run(&mut executor, &job).unwrap();
            check(&job, &raw);
            let tries = if members == 1 { TRIES } else { 1 };
            for member in &raw.members {
                let counted: u64 = member.stretches.iter().map(|s| s.units).sum();
                // Before each repetition beside others a quarter of it is walked, and before all of them
                // a 64th of the ring.
                let unseen = if members == 1 { 0 } else { counted / 3 };
                let visited = (counted * tries + unseen) * chains as u64 + lines / 64;
                assert!(visited <= lines, "{visited} of {lines} lines with {chains} chains");
                assert!(visited > lines / 2, "{visited} of {lines} lines with {chains} chains");
            }
        }
    }
}

fn placed(executor: &dyn Executor) -> Vec<Placed> {
    executor.placed()
}

#[test]
fn memory_is_kept_between_jobs_and_grows_where_more_is_asked_for() {
    let cpu = cpus()[0];
    let mut executor = executor(&Stop::default());
    let mut measured = |elements: u64| {
        let job = job(vec![trips(cpu, store(elements), transfer("striad"), elements, false)]);
        check(&job, &run(&mut executor, &job).unwrap());
        let [placed] = placed(&executor)[..] else { panic!("it has one store") };
        assert_eq!(placed.cpu, cpu);
        assert!(placed.range.1 as u64 >= placed.store.bytes);
        (placed.range.0, placed.store.bytes)
    };
    let first = measured(10_000);
    assert_eq!(first.1, store(10_000).bytes);
    assert_eq!(measured(10_000), first, "the same");
    assert_eq!(measured(10), first, "less is a part of it");
    let grown = measured(3_000_000);
    assert_eq!(grown.1, store(3_000_000).bytes);
    assert_eq!(measured(10_000), grown, "it does not shrink");
}

#[test]
fn each_cpu_content_and_kind_of_pages_has_memory_of_its_own() {
    let [first, second] = cpus()[..] else { panic!("there are two") };
    let mut executor = executor(&Stop::default());
    let with = |pages| Store::of_arrays(2, 300_000, pages);
    let party = |cpu, pages| trips(cpu, with(pages), transfer("copy"), 300_000, false);
    let jobs = [
        job(vec![party(first, Pages::Base), party(second, Pages::Base)]),
        job(vec![party(first, Pages::Transparent)]),
        job(vec![chase(first, 1 << 20, Walk::Random, 1, Begin::Lap)]),
    ];
    for job in &jobs {
        check(job, &run(&mut executor, job).unwrap());
    }
    let placed = placed(&executor);
    let expected = if first == second { 3 } else { 4 };
    assert_eq!(placed.len(), expected, "{placed:?}");
    let mut ranges: Vec<(usize, usize)> = placed.iter().map(|placed| placed.range).collect();
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{ranges:?}");
    let machine = Machine::real();
    for Placed { store, range: (address, bytes), .. } in placed {
        // Some kernels do not say.
        let Ok(backing) = backing(&machine, &(address..address + bytes)) else { continue };
        assert!(backing.resident() > 0, "{backing}");
        let share = backing.share_of(store.pages).unwrap();
        match store.pages {
            // Whatever the kernel does for others.
            Pages::Base => assert!(share > 0.999, "{backing}"),
            // It gives as many as it has.
            _ => assert!((0.0..=1.0).contains(&share), "{backing}"),
        }
    }
}

/// A line of this process's status, in bytes.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    let kibibytes = line.trim_start_matches(':').trim().trim_end_matches("kB").trim();
    kibibytes.parse::<u64>().unwrap() * 1024
}

fn bandwidth(length: Length) -> MemoryOptions {
    MemoryOptions {
        threads: Some(1),
        length: Some(length),
        pages: Some(Pages::Base),
        budget: Some(Seconds(5.0)),
        ..MemoryOptions::about(Question::Bandwidth)
    }
}

/// What a process that does nothing else needs, and what it gives back; said to its parent.
fn alone() {
    const ARRAY: u64 = 64 << 20;
    /// What the project promises beside the arrays.
    const MORE: u64 = 20_000_000;
    let machine = Machine::real();
    let presentation = Presentation::of(PageKind::Memory);
    let request = |length| bandwidth(length).request(vec!["test".to_owned()], presentation);
    let huge = outline(&machine, &request(Length::Bytes(1 << 50)));
    assert!(matches!(huge, Err(Error::Asked(_))), "nobody has a pebibyte");
    let huge = measure(&machine, &request(Length::Bytes(1 << 50)), &Stop::default(), &mut |_| {});
    assert!(matches!(huge, Err(Error::Asked(_))), "nobody has a pebibyte");
    assert!(status("VmHWM") < MORE * 2, "{} bytes for nothing", status("VmHWM"));
    let record =
        measure(&machine, &request(Length::Bytes(ARRAY)), &Stop::default(), &mut |_| {}).unwrap();
    let peak = status("VmHWM");
    assert!(peak >= 3 * ARRAY, "{peak} bytes for {record:?}");
    assert!(peak <= 3 * ARRAY + MORE, "{} bytes beside arrays", peak - 3 * ARRAY);
    assert!(record.series.iter().any(|series| series.workload == "triad"));
    assert!(status("VmRSS") < peak - 2 * ARRAY, "{} bytes are still there", status("VmRSS"));
}

/// In a process of its own, where no other test has memory.
#[test]
fn a_request_needs_what_its_arrays_need_and_gives_it_back() {
    const ALONE: &str = "CPUDYNO_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return alone();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "traffic::a_request_needs_what_its_arrays_need_and_gives_it_back",
            "--nocapture",
        ])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}
