//! `memory` on simulated machines: what caches, nodes and links give in truth comes out, whatever the
//! machine says of itself, and what cannot be measured says why.

mod measured_traffic;

use std::collections::BTreeSet;
use std::path::Path;

use machine::Machine;
use measure::areas::memory::{Length, MemoryOptions, Question};
use measure::run::{Error, outline};
use measure::sheet;
use model::record::{ByteCount, ByteUnit, Outcome, PageKind, Presentation, Record, Series};
use model::{Pages, Seconds};
use rig::executor::Stop;
use rig::placement::{Choice, Refusal};
use simulated::{Fault, Memory, Model};

use crate::common::{assert_near, measure};

const MACHINES: [&str; 3] = ["sim:2s-56c", "sim:vm-2c", "sim:1c"];

const QUESTIONS: [Question; 7] = [
    Question::Bandwidth,
    Question::Scaling,
    Question::Sweep,
    Question::Factors(2),
    Question::Latency,
    Question::Loaded,
    Question::Numa,
];

fn look(page: PageKind) -> Presentation {
    Presentation { width: 200, ..Presentation::of(page) }
}

fn asked(question: Question) -> MemoryOptions {
    let bytes = ByteCount { unit: ByteUnit::Mega, ..ByteCount::USUAL };
    MemoryOptions { bytes, ..MemoryOptions::about(question) }
}

fn changed(name: &str, change: impl FnOnce(&mut Model)) -> Machine {
    let mut model = Model::named(name.trim_start_matches("sim:")).unwrap();
    change(&mut model);
    Machine::from(model)
}

fn run(machine: &Machine, options: MemoryOptions) -> Result<Record, Error> {
    let request = options.request(vec!["test".to_owned()], look(PageKind::Memory));
    measure(machine, &request, &Stop::default(), &mut |_| {})
}

#[track_caller]
fn measured(machine: &Machine, options: MemoryOptions) -> Record {
    run(machine, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Why there is no record.
#[track_caller]
fn failed(machine: &Machine, options: MemoryOptions) -> Error {
    let asked = format!("{options:?}");
    match run(machine, options) {
        Err(error) => error,
        Ok(_) => panic!("{asked} was measured"),
    }
}

/// The machine, what its memory gives in truth, and its record. Nobody takes time away from it: what
/// lasts longer than a slice would lose a part of it for certain.
fn answered(name: &str, options: MemoryOptions) -> (Model, Memory, Record) {
    let machine = changed(name, |model| model.noise.steal_share = 0.0);
    let model = machine.simulated.clone().unwrap();
    let memory = model.memory.clone().unwrap();
    (model, memory, measured(&machine, options))
}

/// The series of a quantity that have all of these parameters; trials are none.
fn of<'a>(record: &'a Record, quantity: &str, having: &[(&str, &str)]) -> Vec<&'a Series> {
    let is_meant = |series: &&Series| {
        series.area == "memory"
            && series.quantity == quantity
            && parameter(series, "question") != "trial"
            && having.iter().all(|(key, value)| parameter(series, key) == *value)
    };
    record.series.iter().filter(is_meant).collect()
}

fn parameter<'a>(series: &'a Series, key: &str) -> &'a str {
    series.parameters.get(key).map_or("", String::as_str)
}

#[track_caller]
fn number(series: &Series, key: &str) -> u64 {
    parameter(series, key).parse().unwrap_or_else(|_| panic!("`{key}` of {series:?}"))
}

#[track_caller]
fn median(series: &Series) -> f64 {
    match &series.outcome {
        Outcome::Measured { summary, .. } => summary.median,
        Outcome::Unavailable { unavailable } => panic!("{}: {}", name(series), unavailable.why),
    }
}

fn name(series: &Series) -> String {
    let Series { workload, quantity, active, parameters, .. } = series;
    format!("{quantity} of {workload} on CPUs {active} {parameters:?}")
}

#[track_caller]
fn near(series: &Series, put_in: f64, tolerance: f64) {
    assert_near(median(series), put_in, tolerance, &name(series));
}

/// What a node gives to so many cores of its own.
fn given(memory: &Memory, cores: usize) -> f64 {
    (cores as f64 * memory.core_bandwidth).min(memory.node_bandwidth)
}

/// What the active CPUs move, each to and from its own node: all do the same work, so that those in
/// the fullest node are through last.
fn given_to_all(model: &Model, memory: &Memory, series: &Series) -> f64 {
    let cores = |node| series.active.iter().filter(|cpu| model.node_of(*cpu) == node).count();
    let fullest = series.active.iter().map(|cpu| cores(model.node_of(cpu))).max().unwrap();
    given(memory, fullest) / fullest as f64 * series.active.len() as f64
}

/// Bytes that cross the bus for each that is asked for: 24/16.
fn moved_per_asked(series: &Series) -> Option<f64> {
    let (moved, asked) = series.parameters.get("moved_per_asked")?.split_once('/')?;
    Some(moved.parse::<f64>().ok()? / asked.parse::<f64>().ok()?)
}

#[test]
fn bandwidth_of_one_core_and_of_all_is_what_memory_gives() {
    for machine in MACHINES {
        let (model, memory, record) = answered(machine, asked(Question::Bandwidth));
        let mut cells = BTreeSet::new();
        for series in of(&record, "bandwidth", &[("question", "bandwidth")]) {
            let ordinary =
                if ["copy", "scale"].contains(&series.workload.as_str()) { 1.5 } else { 4.0 / 3.0 };
            let factor = match parameter(series, "choice") {
                "ordinary stores" => ordinary,
                "best" => 1.0,
                other => panic!("{other}"),
            };
            near(series, given_to_all(&model, &memory, series) / factor, 0.01);
            let stores = parameter(series, "stores");
            assert_eq!(stores == "ordinary", factor > 1.0, "{}", name(series));
            if stores != "string" {
                assert_eq!(moved_per_asked(series), Some(factor), "{}", name(series));
            }
            let choice = parameter(series, "choice").to_owned();
            cells.insert((series.workload.clone(), choice, series.active.len()));
        }
        let counts = record.run.plan.active_cores.len();
        assert_eq!(cells.len(), 4 * 2 * counts, "{machine}: {cells:?}");
        assert!(of(&record, "answer_error", &[]).is_empty(), "nothing is computed");
    }
}

#[test]
fn scaling_saturates_where_cores_ask_for_what_a_node_gives() {
    let (model, memory, record) = answered("sim:2s-56c", asked(Question::Scaling));
    let saturated = (memory.node_bandwidth / memory.core_bandwidth).ceil() as usize;
    assert_eq!(saturated, 15, "what was put in");
    let mut orders = BTreeSet::new();
    for series in of(&record, "bandwidth", &[]) {
        let factor = moved_per_asked(series).unwrap();
        near(series, given_to_all(&model, &memory, series) / factor, 0.01);
        orders.insert(parameter(series, "order").to_owned());
    }
    assert_eq!(
        orders.iter().map(String::as_str).collect::<Vec<_>>(),
        ["compact", "node 0", "node 1", "spread"]
    );
    let fewest = |order: &str, nodes: f64| {
        let all = of(&record, "bandwidth", &[("order", order)]);
        let copies = all.iter().filter(|series| series.workload == "copy");
        let enough = copies.filter(|series| median(series) >= 0.95 * nodes * memory.node_bandwidth);
        enough.map(|series| series.active.len()).min()
    };
    assert_eq!(fewest("compact", 1.0), Some(15));
    assert_eq!(fewest("node 0", 1.0), Some(15));
    assert_eq!(fewest("node 1", 1.0), Some(15));
    assert_eq!(fewest("spread", 2.0), Some(33), "the first count from 30 on");
}

/// Seven channels of eight give seven eighths of what all give.
#[test]
fn an_empty_channel_lowers_what_its_package_gives() {
    let (_, memory, record) = answered("sim:sapphire-dimm", asked(Question::Scaling));
    for (order, share) in [("node 0", 1.0), ("node 1", 7.0 / 8.0)] {
        let all = of(&record, "bandwidth", &[("order", order)]);
        let moved = all.iter().map(|series| median(series) * moved_per_asked(series).unwrap());
        let most = moved.fold(0.0, f64::max);
        assert_near(most, share * memory.node_bandwidth, 0.01, order);
    }
    let finding = record.findings.iter().find(|it| it.id == "memory.channels-empty").unwrap();
    assert!(finding.text.starts_with("15 of 16 channels are filled"), "{finding:?}");
    assert!(finding.text.contains("nothing is in CPU2_DIMM_C1: 6 %"), "{finding:?}");
}

#[test]
fn arrays_are_four_times_the_caches_of_the_cpus_that_use_them() {
    let (_, _, record) = answered("sim:2s-56c", asked(Question::Scaling));
    let topology = &record.machine.topology;
    for series in of(&record, "bandwidth", &[]) {
        let caches = topology.caches_in_use(&series.active).unwrap().bytes;
        let (elements, threads) = (number(series, "elements"), series.active.len() as u64);
        assert!(
            (4 * caches / 8 - threads..=4 * caches / 8).contains(&elements),
            "{}",
            name(series)
        );
        assert!(!series.parameters.contains_key("limited_by"), "{}", name(series));
    }
}

#[test]
fn a_sweep_finds_the_caches_that_there_are_and_not_those_that_are_claimed() {
    for machine in MACHINES {
        let (model, memory, record) = answered(machine, asked(Question::Sweep));
        let mut levels = BTreeSet::new();
        for series in of(&record, "latency", &[("chains", "1")]) {
            let reach = memory.reach(None);
            let level = reach.level(number(series, "footprint"), 1);
            levels.insert(level.map(|level| level.bytes));
            let put_in = level.map_or(memory.latency_seconds, |level| level.latency_seconds);
            near(series, put_in, 0.015);
        }
        assert_eq!(levels.len(), memory.cache.len() + 1, "{machine}: all levels were met");
        for series in of(&record, "bandwidth", &[]) {
            let reach = memory.reach(None);
            let level = reach.level(number(series, "footprint"), 1);
            near(series, level.map_or(memory.core_bandwidth, |level| level.core_bandwidth), 0.015);
        }
        let claimed = model.caches.l2_bytes + model.caches.l3_bytes;
        let largest =
            of(&record, "latency", &[]).into_iter().map(|series| number(series, "footprint")).max();
        assert_eq!(largest, Some(4 * claimed));
    }
}

#[test]
fn latency_of_each_level_and_of_small_pages_is_what_was_put_in() {
    for machine in MACHINES {
        let (model, memory, record) = answered(machine, asked(Question::Latency));
        let mut seen = BTreeSet::new();
        for series in of(&record, "latency", &[("chains", "1")]) {
            let bytes = number(series, "footprint");
            let (pages, walk) = (parameter(series, "pages"), parameter(series, "walk"));
            let reach = memory.reach(None);
            let level = reach.level(bytes, 1);
            let misses = pages == "4k" && walk == "random" && bytes > memory.tlb_bytes;
            let put_in = level.map_or(memory.latency_seconds, |level| level.latency_seconds)
                + if misses { memory.page_walk_seconds } else { 0.0 };
            near(series, put_in, 0.015);
            seen.insert((parameter(series, "level").to_owned(), pages.to_owned(), walk.to_owned()));
            if parameter(series, "level") == "memory" {
                assert!(level.is_none(), "{}", name(series));
            }
        }
        assert_eq!(seen.len(), (3 + 1) * 2 * 2, "{machine}: {seen:?}");
        let hertz = model.bin_hz(0, 1);
        for series in of(&record, "latency_cycles", &[("level", "memory"), ("walk", "random")]) {
            if (parameter(series, "pages"), parameter(series, "chains")) == ("thp", "1") {
                near(series, memory.latency_seconds * hertz, 0.015);
            }
        }
    }
}

#[test]
fn parallel_chains_gain_until_as_many_lines_are_in_flight_as_a_core_can() {
    for machine in MACHINES {
        let (_, memory, record) = answered(machine, asked(Question::Latency));
        let mut chains_seen = BTreeSet::new();
        for series in of(&record, "latency", &[("level", "memory"), ("pages", "thp")]) {
            if parameter(series, "walk") == "random" {
                let chains = number(series, "chains");
                let waves = (chains as f64 / memory.lines_in_flight).max(1.0);
                near(series, memory.latency_seconds * waves, 0.015);
                chains_seen.insert(chains);
            }
        }
        assert!(chains_seen.iter().copied().eq(1..=16), "{machine}: {chains_seen:?}");
    }
}

#[test]
fn nodes_are_as_far_from_each_other_as_put_in() {
    for memory_only in [0, 1] {
        let machine = changed("sim:2s-56c", |model| model.topology.memory_only_nodes = memory_only);
        let model = machine.simulated.clone().unwrap();
        let memory = model.memory.clone().unwrap();
        let record = measured(&machine, asked(Question::Numa));
        assert_eq!(record.machine.topology.nodes.len() as u32, 2 + memory_only);
        let mut pairs = BTreeSet::new();
        for series in of(&record, "latency", &[]) {
            let (from, to) = (number(series, "from_node"), number(series, "to_node"));
            let far = if from == to { 0.0 } else { memory.remote_latency_seconds };
            near(series, memory.latency_seconds + far, 0.01);
            assert_eq!(u64::from(model.node_of(series.cpu)), from);
            pairs.insert((from, to));
        }
        let expected = (0..2u32).flat_map(|from| (0..2 + memory_only).map(move |to| (from, to)));
        let expected: BTreeSet<_> =
            expected.map(|(from, to)| (u64::from(from), u64::from(to))).collect();
        assert_eq!(pairs, expected);
        let mut compared = 0;
        for series in of(&record, "bandwidth", &[]) {
            let is_local = number(series, "from_node") == number(series, "to_node");
            let most = if is_local { memory.node_bandwidth } else { memory.remote_bandwidth };
            near(series, most, 0.01);
            compared += 1;
        }
        assert_eq!(compared, expected.len());
    }
}

#[test]
fn one_node_is_a_matrix_of_one() {
    for machine in ["sim:vm-2c", "sim:1c"] {
        let (_, memory, record) = answered(machine, asked(Question::Numa));
        let all = of(&record, "latency", &[]);
        assert_eq!(all.len(), 1, "{machine}");
        near(all[0], memory.latency_seconds, 0.015);
    }
}

#[test]
fn loaded_latency_grows_with_the_share_of_bandwidth_that_others_use() {
    for machine in ["sim:2s-56c", "sim:vm-2c"] {
        let (model, memory, record) = answered(machine, asked(Question::Loaded));
        let (idle, loaded): (Vec<&Series>, Vec<&Series>) =
            of(&record, "latency", &[]).into_iter().partition(|series| series.active.len() == 1);
        assert_eq!(idle.len(), 1);
        near(idle[0], memory.latency_seconds, 0.015);
        let mut used_shares = Vec::new();
        for series in loaded {
            let keys =
                [("pause_us", parameter(series, "pause_us")), ("mix", parameter(series, "mix"))];
            let beside = of(&record, "background", &keys);
            assert_eq!(beside.len(), 1, "{}", name(series));
            let kernel = kernels::memory::find(parameter(series, "beside")).unwrap();
            let stores = kernel.variant(parameter(series, "variant")).unwrap().stores;
            let (asked, moved) = (
                kernel.bytes_per_element() as f64,
                kernel.moved_bytes_per_element(stores).unwrap() as f64,
            );
            // Each load goes over 2048 elements and rests.
            let pause = parameter(series, "pause_us").parse::<f64>().unwrap() * 1e-6;
            let loads = |node| {
                let there = series.active.iter().filter(|cpu| model.node_of(*cpu) == node);
                there.filter(|cpu| *cpu != series.cpu).count()
            };
            let rate = |node| {
                let loads = loads(node) as f64;
                let share = memory.core_bandwidth.min(memory.node_bandwidth / loads);
                loads * 2048.0 * moved / (2048.0 * moved / share + pause)
            };
            let nodes: BTreeSet<u32> = series.active.iter().map(|c| model.node_of(c)).collect();
            let all = nodes.into_iter().filter(|node| loads(*node) > 0).map(rate).sum::<f64>();
            near(beside[0], all * asked / moved, 0.02);
            let used = (rate(model.node_of(series.cpu)) / memory.node_bandwidth).min(0.97);
            let put_in = memory.latency_seconds * (1.0 + memory.queueing * used / (1.0 - used));
            near(series, put_in, 0.02);
            used_shares.push(used);
        }
        assert_eq!(used_shares.len(), 4 * 8, "mixes and pauses");
        assert!(used_shares.iter().any(|used| *used < 0.15), "{machine}: {used_shares:?}");
        assert!(used_shares.iter().any(|used| *used > 0.6), "{machine}: {used_shares:?}");
    }
}

#[test]
fn kernels_variants_threads_and_lengths_asked_for_are_the_ones_measured() {
    let kernels = ["update", "store"].map(|id| kernels::memory::find(id).unwrap());
    let options = MemoryOptions {
        kernels: Some(kernels.to_vec()),
        variant: Some("avx512-nt".to_owned()),
        threads: Some(7),
        length: Some(Length::Bytes(700_000_000)),
        ..asked(Question::Bandwidth)
    };
    let (_, memory, record) = answered("sim:2s-56c", options);
    let all = of(&record, "bandwidth", &[]);
    let workloads: Vec<&str> = all.iter().map(|series| series.workload.as_str()).collect();
    assert_eq!(workloads, ["store", "update"]);
    for series in all {
        assert_eq!(series.active.len(), 7);
        assert_eq!(parameter(series, "choice"), "as asked for");
        assert_eq!(parameter(series, "variant"), "avx512-nt");
        assert_eq!(number(series, "elements"), 700_000_000 / 8 / 7 * 7);
        near(series, given(&memory, 7), 0.01);
    }
}

#[test]
fn arrays_of_several_times_the_caches_are_asked_for_by_factors() {
    let (_, _, record) = answered("sim:vm-2c", asked(Question::Factors(3)));
    let caches = record.machine.topology.caches_in_use(&"0-1".parse().unwrap()).unwrap().bytes;
    for factor in 1..=3 {
        let key = factor.to_string();
        let all = of(&record, "bandwidth", &[("factor", &key)]);
        assert_eq!(all.len(), 4);
        assert!(all.iter().all(|series| number(series, "elements") == factor * caches / 8));
    }
}

#[test]
fn one_seed_is_one_record_and_another_seed_another_one() {
    for question in QUESTIONS {
        let short = || MemoryOptions { budget: Some(Seconds(0.1)), ..asked(question) };
        let record = |seed| measured(&changed("sim:vm-2c", |model| model.seed = seed), short());
        let first = record(1);
        assert_eq!(first, record(1), "{question:?}");
        assert_ne!(first.series, record(2).series, "{question:?}");
    }
}

#[test]
fn every_answer_is_computed_from_samples_that_are_there() {
    let (_, _, record) = answered("sim:vm-2c", asked(Question::Latency));
    for series in of(&record, "latency", &[]) {
        let Outcome::Measured { samples, summary } = &series.outcome else { panic!("{series:?}") };
        assert_eq!(samples.summary().as_ref(), Some(summary), "{}", name(series));
        assert!(summary.blocks >= 5, "{}", name(series));
    }
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_has() {
    let machine = Machine::named("sim:2s-56c").unwrap();
    let request = asked(Question::Sweep).request(Vec::new(), look(PageKind::Memory));
    let stop = Stop::default();
    let mut steps = 0;
    let record = measure(&machine, &request, &stop, &mut |progress| {
        steps += u32::from(["chase", "load"].contains(&progress.doing));
        if steps == 20 {
            stop.ask();
        }
    })
    .unwrap();
    assert!(record.run.interrupted.is_some());
    let (measured, without): (Vec<&Series>, Vec<&Series>) = record
        .series
        .iter()
        .filter(|series| series.area == "memory" && series.quantity != "answer_error")
        .partition(|series| series.summary().is_some());
    assert!(measured.len() >= 19, "{}", measured.len());
    assert!(without.len() > 10, "{}", without.len());
    assert!(without.iter().all(|series| why(series).contains("the run was stopped before")));
}

#[track_caller]
fn why(series: &Series) -> &str {
    match &series.outcome {
        Outcome::Unavailable { unavailable } => &unavailable.why,
        Outcome::Measured { summary, .. } => panic!("{} is {}", name(series), summary.median),
    }
}

#[test]
fn a_cpu_that_is_lost_ends_the_run_with_what_was_measured() {
    // A look at memory controllers would take longer than the CPU is there.
    let machine = changed("sim:2s-56c", |model| {
        model.faults.push(Fault::CpuLost);
        model.memory.as_mut().unwrap().controllers = None;
    });
    let options = MemoryOptions {
        cpus: Choice::usual(Some("0,223".parse().unwrap())),
        variant: Some("avx512".to_owned()),
        ..asked(Question::Bandwidth)
    };
    let record = measured(&machine, options);
    let lost = record.findings.iter().find(|finding| finding.id == "run.cpu-lost").unwrap();
    assert_eq!(lost.about, "CPU 223");
    let (alone, together): (Vec<&Series>, Vec<&Series>) =
        of(&record, "bandwidth", &[]).into_iter().partition(|series| series.active.len() == 1);
    assert!(alone.len() == 4 && alone.iter().all(|series| series.summary().is_some()));
    assert_eq!(together.len(), 4);
    for series in together {
        assert!(why(series).starts_with("CPU 223 was lost during the run: "), "{}", why(series));
    }
}

fn without_memory(name: &str) -> Machine {
    changed(name, |model| model.memory = None)
}

#[test]
fn a_description_without_memory_says_so_and_the_sheet_still_works() {
    let machine = without_memory("sim:2s-56c");
    for question in [Question::Bandwidth, Question::Sweep, Question::Loaded, Question::Numa] {
        let error = failed(&machine, asked(question));
        let Error::Unavailable(reason) = &error else { panic!("{error:?}") };
        assert!(reason.why.contains("`2s-56c` describes no memory"), "{reason:?}");
    }
    let page = look(PageKind::Sheet);
    let request = sheet::request(Seconds(5.0), None, None, vec!["test".to_owned()], page);
    let record = measure(&machine, &request, &Stop::default(), &mut |_| {}).unwrap();
    let absent: Vec<&Series> = record.series.iter().filter(|s| s.area == "memory").collect();
    let found: Vec<(&str, &str)> =
        absent.iter().map(|s| (s.workload.as_str(), s.quantity.as_str())).collect();
    assert_eq!(found, [("copy", "bandwidth"), ("chase", "latency")], "each once");
    assert!(absent.iter().all(|series| why(series).contains("describes no memory")));
    let measured = record.series.iter().any(|s| s.area == "turbo" && s.summary().is_some());
    assert!(measured);
    assert!(!report::sheet::page(&record, 1).blocks.is_empty());
}

#[test]
fn the_sheet_has_bandwidth_sweep_and_loaded_latency() {
    for machine in ["sim:vm-2c", "sim:1c"] {
        let page = look(PageKind::Sheet);
        let request = sheet::request(Seconds(60.0), None, None, vec!["test".to_owned()], page);
        let described = Machine::named(machine).unwrap();
        let record = measure(&described, &request, &Stop::default(), &mut |_| {}).unwrap();
        let has = |quantity, question| {
            let all = of(&record, quantity, &[("question", question)]);
            all.into_iter().any(|series| series.summary().is_some())
        };
        assert!(has("bandwidth", "bandwidth"), "{machine}");
        assert!(has("latency", "sweep"), "{machine}");
        assert_eq!(has("latency", "loaded"), record.run.plan.cpus.len() > 1, "{machine}");
    }
}

#[track_caller]
fn refused(machine: &Machine, options: MemoryOptions) -> model::Unavailable {
    match failed(machine, options) {
        Error::Asked(reason) => reason,
        other => panic!("{other:?}"),
    }
}

/// The number after a word of a hint.
fn number_after(hint: &str, word: &str) -> u64 {
    let (_, rest) = hint.split_once(word).unwrap_or_else(|| panic!("{hint}"));
    rest.trim().parse().unwrap_or_else(|_| panic!("{hint}"))
}

#[test]
fn a_length_that_does_not_fit_is_refused_with_one_that_does() {
    let machine = Machine::named("sim:vm-2c").unwrap();
    let questions = [
        Question::Bandwidth,
        Question::Scaling,
        Question::Sweep,
        Question::Latency,
        Question::Loaded,
        Question::Numa,
    ];
    for question in questions {
        let of = |length| MemoryOptions {
            length: Some(length),
            budget: Some(Seconds(0.01)),
            ..asked(question)
        };
        for huge in [Length::Bytes(64 << 30), Length::Bytes(100_000_000_000)] {
            let reason = refused(&machine, of(huge));
            let elements = huge.elements().to_string();
            assert!(reason.why.contains(&elements), "{question:?}: {reason:?}");
            assert!(reason.why.contains("available memory"), "{question:?}: {reason:?}");
            let most = number_after(&reason.remedy.unwrap(), "--length ");
            let record = run(&machine, of(Length::Elements(most)));
            assert!(record.is_ok(), "{question:?}: {most} elements: {:?}", record.err());
            let more = refused(&machine, of(Length::Elements(most + most / 1000)));
            assert!(more.remedy.is_some());
        }
    }
}

#[test]
fn lengths_that_are_none_are_refused() {
    let machine = Machine::named("sim:1c").unwrap();
    let lengths = [
        Length::Elements(0),
        Length::Bytes(7),
        Length::Elements(u64::MAX),
        Length::Bytes(u64::MAX),
    ];
    for length in lengths {
        for question in [Question::Bandwidth, Question::Sweep, Question::Numa] {
            let reason =
                refused(&machine, MemoryOptions { length: Some(length), ..asked(question) });
            let too_small = length.elements() == 0;
            let why = if too_small { "at least " } else { "arrays may have " };
            assert!(reason.why.contains(why), "{reason:?}");
            assert!(reason.remedy.as_ref().is_some_and(|remedy| remedy.contains("--length ")));
            assert!(reason.what.contains("elements"), "{reason:?}");
        }
    }
}

#[test]
fn any_length_is_whole_lines_and_elements() {
    for machine in ["sim:1c", "sim:vm-2c"] {
        let machine = Machine::named(machine).unwrap();
        for elements in [512, 1000, 4097, 1_000_003] {
            let length = Some(Length::Elements(elements));
            let budget = Some(Seconds(0.01));
            for question in [Question::Bandwidth, Question::Sweep, Question::Latency] {
                let record =
                    measured(&machine, MemoryOptions { length, budget, ..asked(question) });
                for series in of(&record, "latency", &[]) {
                    assert!(number(series, "footprint").is_multiple_of(64), "{}", name(series));
                    let is_memory = parameter(series, "level") == "memory";
                    assert!(!is_memory, "no cache is called memory: {}", name(series));
                }
                for series in of(&record, "bandwidth", &[("question", "bandwidth")]) {
                    let threads = series.active.len() as u64;
                    let expected = elements / threads * threads;
                    assert_eq!(number(series, "elements"), expected);
                }
            }
        }
    }
}

#[test]
fn too_little_memory_shrinks_arrays_and_says_what_limits_them() {
    let with = |bytes| changed("sim:2s-56c", |model| model.caches.memory_bytes = bytes);
    let cases = [
        (Question::Bandwidth, 1 << 30),
        (Question::Sweep, 512 << 20),
        (Question::Latency, 512 << 20),
        (Question::Loaded, 1 << 30),
        (Question::Numa, 1 << 30),
    ];
    for (question, memory) in cases {
        let machine = with(memory);
        let record =
            measured(&machine, MemoryOptions { budget: Some(Seconds(0.1)), ..asked(question) });
        let mut largest = 0;
        for quantity in ["bandwidth", "latency"] {
            for series in of(&record, quantity, &[]) {
                let by = parameter(series, "limited_by");
                assert!(by.contains("memory of"), "{}", name(series));
                largest = largest.max(number(series, "footprint"));
            }
        }
        assert!((16 << 20..memory).contains(&largest), "{question:?}: {largest}");
    }
    let numa = measured(&with(1 << 30), asked(Question::Numa));
    for series in of(&numa, "latency", &[]) {
        let by = parameter(series, "limited_by");
        assert!(by.contains("free memory of node"), "{by}");
    }
}

#[test]
fn where_not_even_the_smallest_arrays_fit_nothing_is_measured() {
    let machine = changed("sim:2s-56c", |model| model.caches.memory_bytes = 100 << 20);
    let error = failed(&machine, asked(Question::Bandwidth));
    let Error::Unavailable(reason) = &error else { panic!("{error:?}") };
    assert!(reason.why.contains("there is room for"), "{reason:?}");
}

#[test]
fn reserved_pages_are_counted_as_a_whole() {
    let free_pages = |free| {
        let machine = changed("sim:2s-56c", |model| model.huge_pages[0].free = free);
        let options = MemoryOptions {
            pages: Some(Pages::Huge2M),
            threads: Some(16),
            ..asked(Question::Bandwidth)
        };
        (machine, options)
    };
    let (machine, options) = free_pages(500);
    let record = measured(&machine, options);
    for series in of(&record, "bandwidth", &[]) {
        assert_eq!(parameter(series, "pages"), "2m");
        assert!(parameter(series, "limited_by").contains("2 MiB"), "{}", name(series));
        // Three arrays, though copy and scale use two of them.
        let pages = (number(series, "elements") / 16 * 8 * 3).div_ceil(2 << 20) * 16;
        assert!((500 - 16..=500).contains(&pages), "{pages} pages: {}", name(series));
    }
    let (machine, options) = free_pages(16);
    measured(&machine, options);
    for too_few in [15, 0] {
        // Sixteen threads need a page each.
        let (machine, options) = free_pages(too_few);
        let error = failed(&machine, options);
        assert!(matches!(&error, Error::Unavailable(_)), "{error:?}");
    }
}

/// One machine of each capture that the project has.
fn captures() -> Vec<(String, Machine)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    let open = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, recorded::named(path.to_str().unwrap()).unwrap())
    };
    std::fs::read_dir(folder).unwrap().map(open).collect()
}

#[test]
fn machines_that_are_not_here_are_planned() {
    let mut refused = BTreeSet::new();
    for (name, machine) in captures() {
        for question in QUESTIONS {
            let request = asked(question).request(Vec::new(), look(PageKind::Memory));
            match outline(&machine, &request) {
                Ok(plan) => assert!(report::outline(&plan).blocks.len() > 3, "{name} {question:?}"),
                Err(Error::Unavailable(reason)) => {
                    refused.insert((name.clone(), question.word(), reason.what));
                }
                Err(other) => panic!("{name} {question:?}: {other}"),
            }
        }
    }
    let refused: Vec<(&str, &str, &str)> = refused
        .iter()
        .map(|(name, question, what)| (name.as_str(), *question, what.as_str()))
        .collect();
    let expected = [
        ("arm", "numa", "memory nodes"),
        ("contradictory", "loaded", "loaded latency"),
        ("one-cpu", "loaded", "loaded latency"),
        ("one-cpu", "numa", "memory nodes"),
    ];
    assert_eq!(refused, expected);
}

#[test]
fn more_threads_than_cpus_are_refused() {
    let machine = Machine::named("sim:vm-2c").unwrap();
    for question in [Question::Bandwidth, Question::Scaling, Question::Factors(2), Question::Loaded]
    {
        let asked = |threads| MemoryOptions { threads: Some(threads), ..asked(question) };
        let error = failed(&machine, asked(3));
        let Error::Placement(refusal) = error else { panic!("{error:?}") };
        assert_eq!(refusal, Refusal::TooMany { asked: 3, chosen: 2 });
        let error = failed(&machine, asked(0));
        assert!(matches!(error, Error::Placement(Refusal::Nobody)), "{error:?}");
    }
}

#[test]
fn loads_need_somebody_beside_the_chase() {
    let reason = refused(
        &Machine::named("sim:vm-2c").unwrap(),
        MemoryOptions { threads: Some(1), ..asked(Question::Loaded) },
    );
    assert_eq!(reason.remedy.as_deref(), Some("use more: --threads 2"));
    for (machine, cpus) in [("sim:1c", None), ("sim:vm-2c", Some("1"))] {
        let cpus = Choice::usual(cpus.map(|cpus| cpus.parse().unwrap()));
        let machine = Machine::named(machine).unwrap();
        let error = failed(&machine, MemoryOptions { cpus, ..asked(Question::Loaded) });
        let Error::Unavailable(reason) = error else { panic!("{error:?}") };
        assert!(reason.why.contains("the other moves data"), "{reason:?}");
    }
}

#[test]
fn options_that_a_question_cannot_heed_are_refused() {
    let machine = Machine::named("sim:vm-2c").unwrap();
    let kernels = || Some(vec![kernels::memory::find("copy").unwrap()]);
    let variant = || Some("avx512".to_owned());
    let cases = [
        ("sweep with `--threads`", MemoryOptions { threads: Some(2), ..asked(Question::Sweep) }),
        (
            "latency with `--threads`",
            MemoryOptions { threads: Some(2), ..asked(Question::Latency) },
        ),
        ("numa with `--threads`", MemoryOptions { threads: Some(1), ..asked(Question::Numa) }),
        (
            "latency with `--kernels`",
            MemoryOptions { kernels: kernels(), ..asked(Question::Latency) },
        ),
        (
            "loaded with `--kernels`",
            MemoryOptions { kernels: kernels(), ..asked(Question::Loaded) },
        ),
        (
            "latency with `--variant`",
            MemoryOptions { variant: variant(), ..asked(Question::Latency) },
        ),
        (
            "factors with `--length`",
            MemoryOptions { length: Some(Length::Elements(9)), ..asked(Question::Factors(1)) },
        ),
    ];
    for (what, options) in cases {
        assert_eq!(refused(&machine, options).what, what);
    }
}

#[test]
fn variants_that_are_not_there_say_why() {
    let small = Machine::named("sim:1c").unwrap();
    let of = |kernels: &[&str], variant: &str| MemoryOptions {
        kernels: Some(kernels.iter().map(|id| kernels::memory::find(id).unwrap()).collect()),
        variant: Some(variant.to_owned()),
        ..asked(Question::Bandwidth)
    };
    let reason = refused(&small, of(&["scale"], "avx512"));
    assert!(reason.why.contains("avx512f"), "{reason:?}");
    let reason = refused(&small, of(&["scale"], "rep-movsb"));
    assert!(reason.why.contains("no variant `rep-movsb`"), "{reason:?}");
    let record = measured(&small, of(&["copy", "scale"], "rep-movsb"));
    let all = of_workload(&record, "copy");
    assert!(all.len() == 1 && all[0].summary().is_some());
    let all = of_workload(&record, "scale");
    assert_eq!(all.len(), 1, "once");
    assert!(why(all[0]).contains("no variant `rep-movsb`"));
}

fn of_workload<'a>(record: &'a Record, workload: &str) -> Vec<&'a Series> {
    let all = of(record, "bandwidth", &[]);
    all.into_iter().filter(|series| series.workload == workload).collect()
}
