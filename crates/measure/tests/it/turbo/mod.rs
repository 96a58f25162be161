//! `turbo` on simulated machines: licences, bins and faults that were put in come out in every cell,
//! under the stream and on the cores that were asked for.

mod every_run;
mod heat;
mod limits;
mod neighbours;
mod own_limits;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use machine::{Machine, facts};
use measure::areas::turbo::{Tests, TurboOptions};
use model::record::{ClockAccount, InstrumentState, Record, Series};
use model::{CpuId, Seconds};
use rig::executor::Stop;
use rig::placement::{Choice, Order};
use simulated::{Fault, Model};

use crate::common::measure;
use crate::common::{LOOK, assert_near, counters, measured, of, stream, streams, why};

/// A stream of each licence, light and heavy.
const OF_EACH_LICENCE: [&str; 6] =
    ["scalar_iadd", "avx128_fma_t", "avx256_fma", "avx256_fma_t", "avx512_fma", "avx512_fma_t"];

/// How far a thread's clock by the chain may be off with this machine's noise: what of a ruler's
/// repetition is fixed is known to some cycles only, and a look is 3 us.
const CHAIN: f64 = 0.004;

/// Stamps in steps of 10 ns, as AMD's are, are no sibling; one that is there is found all the same.
#[test]
fn coarse_stamps_are_no_busy_sibling() {
    let clocks = |busy: bool| {
        let mut machine = Machine::named("sim:epyc").unwrap();
        if busy {
            machine.simulated.as_mut().unwrap().faults.push(Fault::SiblingsBusyAtTimes);
        }
        let ids = ["avx256_fma_t", "avx256_xor_zero", "avx256_vshift_t", "avx512_vpermd_t"];
        let record = measured(&machine, streams(&ids));
        let without = of(&record, "clock").filter(|series| series.summary().is_none());
        let without: Vec<String> =
            without.map(|series| format!("{}: {}", name(series), why(series))).collect();
        let held_back = of(&record, "clock").map(|series| series.disturbance.contended_blocks);
        (without, held_back.sum::<u64>())
    };
    assert_eq!(clocks(false).0, [""; 0]);
    let (quiet, busy) = (clocks(false).1, clocks(true).1);
    assert!(busy > quiet, "blocks of the last 0.3 s of each second: {busy} against {quiet}");
}

/// The large server, changed.
fn server(change: impl FnOnce(&mut Model)) -> Machine {
    let mut machine = Machine::named("sim:2s-56c").unwrap();
    change(machine.simulated.as_mut().unwrap());
    machine
}

fn usual() -> Machine {
    server(|_| {})
}

/// The clock that was put in where a series was measured.
fn put_in(model: &Model, series: &Series) -> f64 {
    let package = model.package_of(series.cpu);
    let active = series.active.iter().filter(|&cpu| model.package_of(cpu) == package).count();
    model.bin_hz(model.licence_of(&series.workload).unwrap(), active as u32)
}

fn name(series: &Series) -> String {
    format!("{} on CPU {} of {}", series.workload, series.cpu, series.active)
}

/// The rate of MPERF that the run found, in hertz.
fn mperf_hertz(record: &Record) -> f64 {
    match &counters(record).state {
        InstrumentState::Used { rate: Some(rate), .. } => rate.hertz.0,
        other => panic!("{other:?}"),
    }
}

#[test]
fn licences_and_bins_come_out_by_the_counters() {
    for drift in [0.0, 0.01] {
        let machine = server(|model| model.noise.drift_amplitude = drift);
        let model = machine.simulated.clone().unwrap();
        let record = measured(&machine, streams(&OF_EACH_LICENCE));
        let mperf = mperf_hertz(&record);
        let (mut licences, mut counts) = (BTreeSet::new(), BTreeSet::new());
        for series in of(&record, "aperf_per_mperf") {
            let Some(summary) = series.summary() else { panic!("{}", why(series)) };
            licences.insert(model.licence_of(&series.workload));
            counts.insert(series.active.len());
            let found = summary.median * mperf;
            assert_near(found, put_in(&model, series), 0.002 + drift, &name(series));
        }
        assert_eq!(licences.len(), 3, "all licences were measured");
        assert!(counts.len() >= 8 && counts.contains(&1) && counts.contains(&112), "{counts:?}");
    }
}

#[test]
fn licences_and_bins_come_out_by_the_chain_where_there_are_no_counters() {
    let without: [fn(&mut Model); 2] = [
        |model| model.faults.push(Fault::NoMsr),
        |model| model.registers.as_mut().unwrap().aperf_mperf = false,
    ];
    for (without, drift) in without.into_iter().zip([0.0, 0.01]) {
        let machine = server(|model| {
            without(model);
            model.noise.drift_amplitude = drift;
        });
        let model = machine.simulated.clone().unwrap();
        let record = measured(&machine, streams(&OF_EACH_LICENCE));
        assert!(matches!(counters(&record).state, InstrumentState::Unavailable { .. }));
        for series in of(&record, "aperf_per_mperf").chain(of(&record, "mperf_rate")) {
            assert!(!why(series).is_empty());
        }
        let mut ratios = Vec::new();
        for series in of(&record, "clock") {
            let Some(summary) = series.summary() else { panic!("{}", why(series)) };
            let tolerance = CHAIN.max(0.001 + drift);
            assert_near(summary.median, put_in(&model, series), tolerance, &name(series));
            ratios.push(summary.median / put_in(&model, series));
        }
        assert!(ratios.len() > 1000, "{} threads", ratios.len());
        // Noise of many threads averages out, so that what is left is bias.
        let ratio = model::stats::median(&ratios).unwrap();
        assert_near(ratio, 1.0, 0.0005 + drift, "all threads");
    }
}

#[test]
fn each_member_of_a_mix_has_numbers_of_its_own() {
    let parts = [("avx512_fma_t", 1), ("scalar_iadd", 3), ("avx256_fma", 2), ("scalar_iadd", 1)];
    let words: Vec<String> = parts.iter().map(|(id, n)| format!("{id}/{n}")).collect();
    let tests = Tests::Spec(parts.iter().map(|(id, n)| (stream(id), *n)).collect());
    let machine = server(|model| {
        model.noise.drift_amplitude = 0.0;
        // One cell alone knows little of what is fixed: with the usual noise the witness is doubted.
        model.noise.relative_sd = 0.0002;
    });
    let model = machine.simulated.clone().unwrap();
    let record = measured(&machine, TurboOptions { tests, ..streams(&[]) });
    let found: Vec<(&str, u32)> =
        of(&record, "cycles_per_op").map(|s| (s.workload.as_str(), s.cpu.0)).collect();
    let expected = [
        ("avx512_fma_t", 0),
        ("scalar_iadd", 1),
        ("scalar_iadd", 2),
        ("scalar_iadd", 3),
        ("avx256_fma", 4),
        ("avx256_fma", 5),
        ("scalar_iadd", 6),
    ];
    let sorted = |mut list: Vec<(&'static str, u32)>| {
        list.sort_unstable();
        list
    };
    let found: Vec<(&'static str, u32)> =
        found.into_iter().map(|(id, cpu)| (stream(id).id, cpu)).collect();
    assert_eq!(sorted(found), sorted(expected.to_vec()));
    for series in record.series.iter().filter(|series| series.area == "turbo") {
        assert_eq!(series.parameters.get("spec"), Some(&words.join(",")));
        assert_eq!(series.active.len(), 7, "{}", name(series));
    }
    for series in of(&record, "cycles_per_op") {
        let cycles = model.cycles_per_op(&series.workload).unwrap();
        let Some(summary) = series.summary() else { panic!("{}: {}", name(series), why(series)) };
        assert_near(summary.median, cycles, 0.003, &name(series));
    }
    for series in of(&record, "clock") {
        let Some(summary) = series.summary() else { panic!("{}: {}", name(series), why(series)) };
        assert_near(summary.median, put_in(&model, series), CHAIN, &name(series));
    }
}

#[test]
fn orders_place_cores_far_or_near() {
    let topology = facts::machine(&usual()).topology;
    let placed = |order, siblings, at_most| {
        let choice = Choice { cpus: None, siblings, order, at_most };
        let cpus = choice.place(&topology).unwrap().cpus;
        cpus.iter().map(|cpu| cpu.0).collect::<Vec<u32>>()
    };
    assert_eq!(placed(Order::Package, false, None), (0..112).collect::<Vec<u32>>());
    assert_eq!(placed(Order::Package, true, None), {
        // Siblings of a package after all its cores, and before the next package.
        let package = |first: u32| (first..first + 56).chain(first + 112..first + 168);
        package(0).chain(package(56)).collect::<Vec<u32>>()
    });
    assert_eq!(placed(Order::Compact, false, None), (0..112).collect::<Vec<u32>>());
    assert_eq!(placed(Order::Compact, true, Some(6)), [0, 112, 1, 113, 2, 114]);
    assert_eq!(placed(Order::Spread, false, Some(6)), [0, 56, 1, 57, 2, 58]);
    let spread = placed(Order::Spread, true, None);
    assert_eq!(spread[..4], [0, 56, 1, 57]);
    assert_eq!(spread[112..116], [112, 168, 113, 169], "siblings last");
    assert_eq!(spread.iter().collect::<BTreeSet<_>>().len(), 224);
}

#[test]
fn the_order_says_which_cores_are_active_together() {
    let ask = |order| TurboOptions {
        threads_min: Some(4),
        threads_max: Some(4),
        cpus: Choice { order, ..Choice::usual(None) },
        ..streams(&["avx512_fma_t"])
    };
    let machine = server(|model| model.noise.drift_amplitude = 0.0);
    let model = machine.simulated.clone().unwrap();
    for (order, cpus, in_package) in
        [(Order::Package, "0-3", 4), (Order::Compact, "0-3", 4), (Order::Spread, "0-1,56-57", 2)]
    {
        let record = measured(&machine, ask(order));
        let clocks: Vec<&Series> = of(&record, "clock").collect();
        assert_eq!(clocks.len(), 4);
        for series in clocks {
            assert_eq!(series.active.to_string(), cpus, "{order:?}");
            let clock = series.summary().unwrap().median;
            assert_near(clock, model.bin_hz(2, in_package), CHAIN, &name(series));
        }
    }
}

#[test]
fn counters_that_fail_say_why_in_every_cell_and_the_chain_goes_on() {
    for (fault, expected) in [
        (Fault::AperfStuck, "neither APERF nor MPERF moved"),
        (Fault::AperfBackwards, "APERF ran backwards by "),
        (Fault::AperfEio, "Input/output error"),
    ] {
        let machine = server(|model| model.faults.push(fault));
        let asked =
            TurboOptions { threads_max: Some(2), ..streams(&["scalar_iadd", "avx512_fma_t"]) };
        let record = measured(&machine, asked);
        for quantity in ["aperf_per_mperf", "mperf_rate"] {
            let reasons: Vec<&str> = of(&record, quantity).map(why).collect();
            assert_eq!(reasons.len(), 6, "{fault:?}: two streams on one core and on two");
            assert!(reasons.iter().all(|why| why.contains(expected)), "{fault:?}: {reasons:?}");
        }
        for quantity in ["clock", "cycles_per_op", "time_per_op"] {
            let all: Vec<&Series> = of(&record, quantity).collect();
            assert!(all.len() == 6 && all.iter().all(|s| s.summary().is_some()), "{fault:?}");
        }
    }
}

#[test]
fn counters_that_wrap_say_the_same_as_others() {
    let asked =
        || TurboOptions { threads_max: Some(2), ..streams(&["scalar_iadd", "avx512_fma_t"]) };
    let run = |fault: Option<Fault>| measured(&server(|m| m.faults.extend(fault)), asked());
    let (plain, wrapped) = (run(None), run(Some(Fault::AperfWraps)));
    let medians = |record: &Record| -> Vec<f64> {
        of(record, "aperf_per_mperf").map(|s| s.summary().unwrap().median).collect()
    };
    assert_eq!(medians(&plain), medians(&wrapped));
    assert_eq!(medians(&plain).len(), 6);
}

/// A machine with the CPUs of a capture and the costs of the large server.
fn with_cpus_of(capture: &str) -> Machine {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    let capture = recorded::named(folder.join(capture).to_str().unwrap()).unwrap();
    Machine { elsewhere: None, simulated: usual().simulated, ..capture }
}

#[test]
fn types_of_cores_never_share_a_row() {
    let machine = with_cpus_of("hybrid.capture");
    let topology = facts::machine(&machine).topology;
    let kind = |cpu: CpuId| topology.place(cpu).and_then(|place| place.kind.clone());
    let record = measured(&machine, streams(&["scalar_iadd"]));
    let mut rows: BTreeMap<Option<String>, BTreeSet<usize>> = BTreeMap::new();
    for series in record.series.iter().filter(|series| series.area == "turbo") {
        let kinds: BTreeSet<Option<String>> = series.active.iter().map(kind).collect();
        assert_eq!(kinds.len(), 1, "{}", name(series));
        let kind = kinds.into_iter().next().unwrap();
        assert_eq!(series.parameters.get("core_type"), kind.as_ref(), "{}", name(series));
        rows.entry(kind).or_default().insert(series.active.len());
    }
    assert!(rows.len() >= 2 && rows.keys().all(Option::is_some), "{rows:?}");
    // Four fast cores with a sibling each that is left idle.
    assert!(rows.values().any(|counts| counts.iter().copied().eq(1..=4)), "{rows:?}");
}

/// The kernel claims a clock for each type of core, in files that anybody may read.
#[test]
fn each_type_of_core_has_an_advertised_clock_without_registers() {
    let capture = with_cpus_of("hybrid.capture");
    let mut model = Model::named("2s-56c").unwrap();
    model.faults.push(Fault::NoMsr);
    let machine = Machine { msr: Machine::from(model).msr, ..capture };
    let record = measured(&machine, TurboOptions { tests: Tests::Why, ..streams(&[]) });
    let accounts = &record.clock.as_ref().unwrap().accounts;
    for (core_type, hertz) in [("P", 4.5e9), ("E", 3.6e9)] {
        let mut of = accounts.iter().filter(|it| it.core_type.as_deref() == Some(core_type));
        assert!(of.clone().count() > 1);
        let advertised = |it: &ClockAccount| it.advertised.value().map(|it| it.hertz);
        assert!(of.all(|it| advertised(it) == Some(hertz)), "{core_type}: {accounts:#?}");
    }
}

#[test]
fn any_number_of_ops_is_rounded_up_to_whole_iterations() {
    let row = stream("scalar_iadd");
    for ops in [1, 7, 100_000, 12_345_678] {
        let asked =
            TurboOptions { ops: Some(ops), threads_max: Some(1), ..streams(&["scalar_iadd"]) };
        let record = measured(&usual(), asked);
        let whole = ops.next_multiple_of(row.ops_per_iteration).to_string();
        for series in record.series.iter().filter(|series| series.area == "turbo") {
            assert_eq!(series.parameters.get("ops"), Some(&whole), "{}", series.quantity);
        }
        let cycles = of(&record, "cycles_per_op").next().unwrap();
        assert!(cycles.summary().is_some(), "{ops} ops: {}", why(cycles));
    }
}

#[test]
fn a_test_is_held_for_its_duration_and_a_budget_is_kept() {
    let one = || TurboOptions { threads_max: Some(1), ..streams(&["scalar_iadd"]) };
    let held = measured(&usual(), TurboOptions { duration: Some(Seconds(10.0)), ..one() });
    assert!((10.0..11.0).contains(&held.run.seconds), "{} s", held.run.seconds);
    assert_eq!(held.run.plan.blocks_done, 5);
    for budget in [1.0, 5.0] {
        let record = measured(&usual(), TurboOptions { budget: Some(Seconds(budget)), ..one() });
        assert!(record.run.seconds <= budget * 1.1, "{} s of {budget} s", record.run.seconds);
        assert!(record.run.plan.blocks_done > 5, "{budget} s are more than five blocks");
    }
}

#[test]
fn a_duration_is_for_one_test() {
    let asked = TurboOptions { duration: Some(Seconds(10.0)), ..streams(&["scalar_iadd"]) };
    let request = asked.request(Vec::new(), LOOK);
    let error = measure(&usual(), &request, &Stop::default(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("a duration is for one test, and these are"), "{error}");
}

#[test]
fn a_cpu_that_is_lost_ends_the_run_with_what_was_measured() {
    let machine = server(|model| model.faults.push(Fault::CpuLost));
    let asked = TurboOptions {
        cpus: Choice::usual(Some("0,223".parse().unwrap())),
        ..streams(&["scalar_iadd", "avx256_fma", "avx512_fma"])
    };
    let record = measured(&machine, asked);
    let lost = record.findings.iter().find(|finding| finding.id == "run.cpu-lost").unwrap();
    assert_eq!(lost.about, "CPU 223");
    assert!(lost.text.contains("cannot pin a thread to CPU 223: Invalid argument"), "{lost:?}");
    assert!(lost.remedy.is_some());
    assert!(record.run.plan.blocks_done < record.run.plan.blocks_planned);
    assert_eq!(record.run.interrupted, None, "no signal came");
    assert!(!record.findings.iter().any(|finding| finding.id == "run.few-blocks"));
    let (mut measured, mut without) = (0, 0);
    for series in of(&record, "clock") {
        if series.summary().is_some() {
            measured += 1;
        } else {
            assert!(series.active.contains(CpuId(223)), "{}", name(series));
            assert!(why(series).starts_with("CPU 223 was lost during the run: "));
            without += 1;
        }
    }
    assert!(measured >= 3 && without == 3, "{measured} measured, {without} not");
}

#[test]
fn a_cpu_that_is_lost_before_anything_was_measured_is_an_error() {
    let machine = server(|model| {
        model.faults.push(Fault::CpuLost);
        model.elapsed.advance(Seconds(1.0));
    });
    let asked = TurboOptions {
        cpus: Choice::usual(Some("0,223".parse().unwrap())),
        ..streams(&["scalar_iadd"])
    };
    let request = asked.request(Vec::new(), LOOK);
    let error = measure(&machine, &request, &Stop::default(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("cannot pin a thread to CPU 223: "), "{error}");
}
