//! Whole runs on simulated machines: what was put in must come out again, as numbers and findings.

use std::collections::BTreeMap;

use kernels::StreamRow;
use machine::Machine;
use measure::run::area::Area;
use measure::run::plan::{
    Cell, CellWork, CustomJob, JobContext, JobTarget, Planning, Proposal, Run,
};
use measure::run::{AreaRequest, Request};
use measure::sheet;
use model::areas::Quantity;
use model::page::Block;
use model::record::{FactValue, Outcome, Presentation, Record, Samples, Series};
use model::{CpuSet, Known, Obstacle, Seconds, Unavailable};
use rig::executor::{RunError, Stop};
use simulated::Fault;

use crate::common::{assert_near, measure};

fn asked(budget: f64, cpus: Option<&str>, streams: Option<Vec<&'static StreamRow>>) -> Request {
    let page = model::record::PageKind::Sheet;
    let presentation = Presentation::of(page);
    let cpus = cpus.map(|list| list.parse().unwrap());
    sheet::request(Seconds(budget), cpus, streams, vec!["test".to_owned()], presentation)
}

fn request(budget: f64) -> Request {
    asked(budget, None, None)
}

fn run(machine: &str, budget: f64) -> Record {
    let machine = Machine::named(machine).unwrap();
    measure(&machine, &request(budget), &Stop::default(), &mut |_| {}).unwrap()
}

fn series<'a>(record: &'a Record, area: &'a str, quantity: &'a str) -> Vec<&'a Series> {
    record.series.iter().filter(|s| s.area == area && s.quantity == quantity).collect()
}

fn has_finding(record: &Record, id: &str) -> bool {
    record.findings.iter().any(|finding| finding.id == id)
}

#[test]
fn cycles_and_clocks_of_a_large_machine_come_out_as_put_in() {
    let record = run("sim:2s-56c", 12.0);
    let model = Machine::named("sim:2s-56c").unwrap().simulated.unwrap();
    let cycles = series(&record, "turbo", "cycles_per_op");
    assert_eq!(cycles.iter().filter(|s| s.active.len() == 1).count(), 10, "all streams but pause");
    let mut in_many: BTreeMap<(&str, usize), Vec<f64>> = BTreeMap::new();
    for series in cycles {
        let Some(summary) = series.summary() else { continue };
        let expected = model.cycles_per_op(&series.workload).unwrap();
        assert_near(summary.median, expected, 0.003, &series.workload);
        in_many.entry((&series.workload, series.active.len())).or_default().push(summary.median);
    }
    // Noise of many cores averages out, so that what is left is bias: throughputs of one core scatter by
    // 0.2 %, the median of fifty by 0.03 %, and three times that is allowed.
    for ((workload, active), medians) in in_many.into_iter().filter(|(_, m)| m.len() >= 50) {
        let expected = model.cycles_per_op(workload).unwrap();
        let median = model::stats::median(&medians).unwrap();
        assert_near(median, expected, 0.001, &format!("{workload} with {active} active"));
    }
    let mut licences = Vec::new();
    for series in series(&record, "turbo", "clock") {
        let Some(summary) = series.summary() else { continue };
        let licence = model.licence_of(&series.workload).unwrap();
        licences.push(licence);
        let package = model.package_of(series.cpu);
        let active = series.active.iter().filter(|&cpu| model.package_of(cpu) == package).count();
        let bin = model.bin_hz(licence, active as u32);
        // The clock of all cores swings by 1 %: the median over the run stays within that.
        let what = format!("{} with {active} active", series.workload);
        assert_near(summary.median, bin, 0.0105, &what);
    }
    licences.sort_unstable();
    licences.dedup();
    assert_eq!(licences, [0, 1, 2], "all three licences were measured");
    let pauses: Vec<f64> = series(&record, "pause", "cycles_per_op")
        .iter()
        .filter_map(|series| Some(series.summary()?.median))
        .collect();
    assert!(!pauses.is_empty());
    for pause in pauses {
        assert_near(pause, model.cycles_per_op("pause_only").unwrap(), 0.003, "pause");
    }
}

/// The matrix of neighbours, and each core alone, go as far as there is time; what is left out says who has it.
#[test]
fn a_longer_sheet_asks_more_of_neighbours_and_cores() {
    let victims = |record: &Record| -> Vec<String> {
        let of_area = |it: &&Series| it.area == "turbo" && it.summary().is_some();
        let measured = record.series.iter().filter(of_area);
        let beside = measured.filter(|it| it.parameters.contains_key("beside"));
        let mut victims: Vec<String> = beside.map(|it| it.workload.clone()).collect();
        victims.sort_unstable();
        victims.dedup();
        victims
    };
    let short = run("sim:laptop", 10.0);
    assert_eq!(victims(&short), ["victim bandwidth", "victim scalar"]);
    let reason = short.series.iter().find(|it| it.workload == "victim latency").unwrap();
    let Outcome::Unavailable { unavailable } = &reason.outcome else { panic!("{reason:?}") };
    assert_eq!(unavailable.remedy.as_deref(), Some("cpudyno turbo --neighbours"));
    let page = format!("{:?}", report::sheet::page(&short, 0));
    let note = "not measured: victim vector, victim latency, ";
    assert!(page.contains(note), "{page}");
    let all = ["victim bandwidth", "victim latency", "victim scalar", "victim vector"];
    assert_eq!(victims(&run("sim:laptop", 120.0)), all);
    let alone = |budget| series(&run("sim:2s-28c", budget), "turbo", "core_clock").len();
    assert_eq!([alone(5.0), alone(55.0)], [1, 56], "a reason, and each of 56 cores");
}

#[test]
fn disturbances_that_were_put_in_come_out() {
    let record = run("sim:2s-56c", 12.0);
    let noise = Machine::named("sim:2s-56c").unwrap().simulated.unwrap().noise;
    let lost: Vec<f64> = record.series.iter().filter_map(|s| s.disturbance.lost_share).collect();
    let mean = lost.iter().sum::<f64>() / lost.len() as f64;
    let put_in = noise.interrupts_per_second * noise.interrupt_seconds;
    assert_near(mean, put_in, 0.25, "share of time lost in interrupts");
    let drift = record.findings.iter().find(|f| f.id == "turbo.clock-drifts").unwrap();
    assert!(drift.text.contains("MHz"), "{}", drift.text);
    assert!(!has_finding(&record, "run.contended"));
    assert!(!has_finding(&record, "ruler.no-clock"));
}

#[test]
fn a_guest_whose_cpus_share_a_core_is_found_out() {
    let record = run("sim:vm-2c", 20.0);
    for id in ["placement.hidden-sibling", "clock.rates-disagree", "disturbance.steal"] {
        assert!(has_finding(&record, id), "{id} is missing from {:?}", record.findings);
    }
    // The add chain is slow beside a busy sibling, so that cells of both CPUs are held back.
    let contended = |series: &&&Series| match &series.outcome {
        Outcome::Unavailable { unavailable } => unavailable.why.starts_with("contended"),
        Outcome::Measured { .. } => false,
    };
    let clocks = series(&record, "turbo", "clock");
    assert!(clocks.iter().filter(|s| s.active.len() == 2).all(|s| contended(&s)));
    // What is fixed about the rulers is known to some 10 ns where repetitions have noise of 0.3 %: of the
    // 3 us of a dense cell's rulers that is as much again, the same in all blocks of a run, so that dense
    // cells may be held back; of the 10 us of serial ones it is within the tolerance.
    let is_dense = |id: &str| id.ends_with("_t") || id.starts_with("avx512");
    let alone = |s: &&&Series| s.active.len() == 1 && !is_dense(&s.workload);
    assert!(clocks.iter().filter(alone).all(|s| s.summary().is_some()));
    assert!(clocks.iter().filter(alone).count() >= 5);
    let class = clocks.iter().find_map(|series| series.placement_class.as_deref());
    assert_eq!(class, Some("same-core"));
}

#[test]
fn what_a_machine_lacks_is_unavailable_with_a_reason() {
    let record = run("sim:1c", 5.0);
    let wide: Vec<&Series> =
        record.series.iter().filter(|series| series.workload.starts_with("avx512")).collect();
    assert!(!wide.is_empty());
    for series in wide {
        let Outcome::Unavailable { unavailable } = &series.outcome else {
            panic!("{} was measured on a machine without it", series.workload);
        };
        assert!(!unavailable.why.is_empty());
    }
    assert_eq!(record.run.plan.active_cores, [1]);
}

#[test]
fn every_summary_can_be_computed_again_from_its_samples() {
    for (machine, budget) in [("sim:1c", 5.0), ("sim:2s-56c", 12.0)] {
        let record = run(machine, budget);
        let mut checked = 0;
        for series in &record.series {
            if let Outcome::Measured { samples, summary } = &series.outcome {
                assert_eq!(samples.summary().as_ref(), Some(summary), "{}", series.workload);
                checked += 1;
            }
        }
        assert!(checked > 10, "{machine}: {checked} series with samples");
    }
}

#[test]
fn one_seed_is_one_record() {
    assert_eq!(run("sim:2s-56c", 6.0), run("sim:2s-56c", 6.0));
}

#[test]
fn a_small_budget_is_kept_and_what_does_not_fit_is_named() {
    let record = run("sim:2s-56c", 1.0);
    assert!(record.run.seconds <= 1.1, "{} s", record.run.seconds);
    assert!(has_finding(&record, "run.left-out"));
    let left_out = record.series.iter().filter(|series| series.summary().is_none()).count();
    assert!(left_out > 0);
    for area in ["turbo", "pause"] {
        let measured = record.series.iter().any(|s| s.area == area && s.summary().is_some());
        assert!(measured, "{area} has its share of any budget");
    }
    for budget in [2.0, 5.0, 30.0] {
        let seconds = run("sim:2s-56c", budget).run.seconds;
        assert!(seconds <= budget * 1.1, "{seconds} s of {budget} s");
    }
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_has() {
    let machine = Machine::named("sim:2s-56c").unwrap();
    let stop = Stop::default();
    let mut steps = 0;
    let record = measure(&machine, &request(10.0), &stop, &mut |_| {
        steps += 1;
        if steps == 700 {
            stop.ask();
        }
    })
    .unwrap();
    assert!(record.run.interrupted.is_some());
    assert!(has_finding(&record, "run.interrupted"));
    assert!(record.series.iter().any(|series| series.summary().is_some()));
    assert!(record.run.plan.blocks_done < record.run.plan.blocks_planned);
}

#[test]
fn cpus_and_streams_that_were_asked_for_are_the_ones_measured() {
    let machine = Machine::named("sim:2s-56c").unwrap();
    let fma = || Some(vec![kernels::streams::find("avx256_fma").unwrap()]);
    let record =
        measure(&machine, &asked(5.0, Some("3,60"), fma()), &Stop::default(), &mut |_| {}).unwrap();
    assert_eq!(record.run.plan.cpus, "3,60".parse::<CpuSet>().unwrap());
    let workloads: Vec<&str> = record
        .series
        .iter()
        .filter(|series| series.area == "turbo")
        .map(|series| series.workload.as_str())
        .collect();
    assert!(!workloads.is_empty() && workloads.iter().all(|id| *id == "avx256_fma"));
    let unknown = asked(5.0, Some("0,5000"), fma());
    let error = measure(&machine, &unknown, &Stop::default(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("5000"), "{error}");
}

/// The record of a machine that calls itself so, in which one stream takes so many cycles.
fn renamed(record: &Record, name: &str, stream: &str, cycles: f64) -> Record {
    let mut record = record.clone();
    let mut facts = record.machine.facts.iter_mut();
    let fact = facts.find(|fact| fact.id == "cpu.microarchitecture").unwrap();
    fact.value = Known::Yes(FactValue::Text(name.to_owned()));
    let of_stream = |s: &&mut Series| s.workload == stream && s.quantity == "cycles_per_op";
    for series in record.series.iter_mut().filter(of_stream) {
        let samples = Samples::Plain(vec![vec![cycles; 9]; 5]);
        let summary = samples.summary().unwrap();
        series.outcome = Outcome::Measured { samples, summary };
    }
    record
}

#[test]
fn what_others_found_of_pauses_needs_no_clock_of_ours() {
    let mut record = renamed(&run("sim:vm-2c", 5.0), "Cascade Lake", "pause_only", 40.0);
    let unknown = |s: &&mut Series| s.workload == "pause_only" && s.quantity == "cycles_per_op";
    for series in record.series.iter_mut().filter(unknown) {
        let unavailable = Unavailable::new(Obstacle::Measurement, "cycles", "no clock");
        series.outcome = Outcome::Unavailable { unavailable };
    }
    let page = format!("{:?}", report::areas::pause::page(&record, 0));
    assert!(page.contains("unavailable") && page.contains("\"40.42\""), "{page}");
    assert!(page.contains("known: InstLatx64"), "{page}");
}

#[test]
fn cycles_that_others_did_not_find_are_a_finding() {
    const ID: &str = "turbo.latency-differs";
    let record = run("sim:2s-56c", 12.0);
    assert!(!has_finding(&record, ID), "{:?}", record.findings);
    let found = |name, cycles| {
        let findings =
            report::areas::turbo::SECTION.findings(&renamed(&record, name, "avx256_fma", cycles));
        findings.into_iter().find(|finding| finding.id == ID).map(|finding| finding.text)
    };
    assert_eq!(found("Cascade Lake", 4.05), None);
    let text = found("Cascade Lake", 6.0).unwrap();
    assert!(text.ends_with(": avx256_fma 6.000 (known: 4, by InstLatx64)"), "{text}");
    assert_eq!(found("SIMULATED wide core", 6.0), None);
    let page = |verbosity| {
        let record = renamed(&record, "Cascade Lake", "avx256_fma", 6.0);
        format!("{:?}", report::areas::turbo::page(&record, verbosity, 100))
    };
    assert!(page(1).contains("measured and published") && page(1).contains("\"differs\""));
    assert!(!page(0).contains("measured and published"));
}

/// The counters of the core say what the ruler says of the same streams; where they do not, it is told.
#[test]
fn counters_and_ruler_agree_on_cycles() {
    let record = run("sim:4c", 6.0);
    let model = Machine::named("sim:4c").unwrap().simulated.unwrap();
    let counted = series(&record, "pmu", "counted_cycles_per_op");
    let counted_streams: Vec<&str> = counted.iter().map(|s| s.workload.as_str()).collect();
    let chosen = ["scalar_iadd", "avx256_fma", "avx128_fma_t", "avx256_fma_t"];
    assert_eq!(counted_streams, chosen);
    for series in counted {
        let expected = model.cycles_per_op(&series.workload).unwrap();
        assert_near(series.summary().unwrap().median, expected, 1e-4, &series.workload);
    }
    let instructions = series(&record, "pmu", "instructions_per_op");
    let of_adds = instructions.iter().find(|series| series.workload == "scalar_iadd").unwrap();
    // A hundred ops and the two instructions of the loop.
    assert_near(of_adds.summary().unwrap().median, 1.02, 1e-4, "instructions per op");
    assert!(!has_finding(&record, "pmu.cycles-disagree"));
    let mut apart = record.clone();
    for series in apart.series.iter_mut().filter(|s| s.quantity == "counted_cycles_per_op") {
        let Outcome::Measured { summary, .. } = &mut series.outcome else { continue };
        summary.median *= 1.06;
    }
    let findings = report::areas::pmu::SECTION.findings(&apart);
    assert!(findings.iter().any(|finding| finding.id == "pmu.cycles-disagree"), "{findings:?}");
    // Without a PMU there is a reason, and no number.
    let guest = run("sim:vm-2c", 3.0);
    for series in guest.series.iter().filter(|series| series.area == "pmu") {
        let Outcome::Unavailable { unavailable } = &series.outcome else { panic!("{series:?}") };
        assert!(unavailable.why.contains("hypervisor"), "{unavailable:?}");
    }
    assert!(guest.series.iter().any(|series| series.area == "pmu"));
}

/// An area whose only workload panics, in the place of the one that it is called like.
static FAULTY: Area = {
    const CLOCK: Quantity = Quantity::new("clock", "clock", model::Unit::Hertz, None, "none");
    Area::new("pause", &[CLOCK], 1.0, |_| {
        let work = CellWork::CustomJob(Box::new(Panics));
        Proposal::from(vec![Cell { work, parameters: BTreeMap::new() }])
    })
};

struct Panics;

impl CustomJob for Panics {
    fn aim(&self) -> JobTarget {
        JobTarget { order: 0, workload: "faulty", cpus: vec![model::CpuId(0)] }
    }
    fn duration(&self) -> Seconds {
        Seconds(0.01)
    }
    fn run(&self, _: JobContext<'_>) -> Result<Run, RunError> {
        panic!("no such\nthing")
    }
}

#[test]
fn an_area_that_panics_says_so_in_its_place_and_the_rest_stands() {
    let machine = Machine::named("sim:4c").unwrap();
    let with = |others: bool| {
        let Request { ask, .. } = request(5.0);
        let ask = move |planning: &Planning<'_>| {
            let mut asked = if others { ask(planning)? } else { Vec::new() };
            asked.retain(|asked| asked.area.id != "pause");
            asked.push(AreaRequest { area: &FAULTY, proposal: FAULTY.proposal(planning) });
            Ok(asked)
        };
        let request = Request { ask: Box::new(ask), ..request(5.0) };
        measure(&machine, &request, &Stop::default(), &mut |_| {})
    };
    let record = with(true).unwrap();
    let clocks = series(&record, "turbo", "clock");
    assert!(clocks.iter().any(|series| series.summary().is_some()), "turbo was measured");
    let faulty = series(&record, "pause", "clock");
    let [Series { outcome: Outcome::Unavailable { unavailable }, .. }] = faulty[..] else {
        panic!("{faulty:?}")
    };
    assert_eq!(unavailable.what, "faulty with 1 active");
    assert_eq!(unavailable.why, "a fault of cpudyno ended it: no such thing");
    assert_eq!(
        unavailable.remedy.as_deref(),
        Some("please report it, with the record: --json FILE")
    );
    assert_eq!(unavailable.obstacle, Obstacle::Cpudyno);
    assert!(has_finding(&record, "run.area-failed"));
    let page = report::sheet::page(&record, 0);
    let sections = page.blocks.windows(2);
    let mut reasons = sections.filter_map(|pair| match pair {
        [Block::Fold { title, .. }, Block::Remarks(remarks)] if title == "Pause" => {
            Some(remarks.iter().map(|remark| remark.text.as_str()).collect::<String>())
        }
        _ => None,
    });
    assert!(reasons.next().unwrap().contains("no such thing"), "its section says why");
    // A run that has nothing else has failed.
    let error = with(false).unwrap_err();
    assert!(matches!(error, measure::run::Error::Run(RunError::Fault(_))), "{error}");
}

#[test]
fn an_area_that_hangs_costs_its_section_and_the_rest_stands() {
    let mut model = Machine::named("sim:4c").unwrap().simulated.unwrap();
    model.faults.push(Fault::SignalsHang);
    let record =
        measure(&Machine::from(model), &request(20.0), &Stop::default(), &mut |_| {}).unwrap();
    let waits = series(&record, "wake", "round_trip");
    let why = |series: &&Series| match &series.outcome {
        Outcome::Unavailable { unavailable } => unavailable.why.clone(),
        Outcome::Measured { .. } => panic!("{series:?}"),
    };
    let (hung, no_time): (Vec<String>, Vec<String>) =
        waits.iter().map(why).partition(|why| why.starts_with("no answer from CPU "));
    assert!(hung.len() > 1 && hung.iter().all(|why| why.contains(" s: its threads ")), "{hung:?}");
    assert!(no_time.iter().all(|why| why.contains("did not fit")), "{no_time:?}");
    let failed: Vec<_> =
        record.findings.iter().filter(|finding| finding.id == "run.area-failed").collect();
    assert_eq!(failed.len(), 1, "what hangs once is not tried again");
    assert!(failed[0].text.ends_with("; everything else stands"), "{}", failed[0].text);
    for (area, quantity) in [("turbo", "clock"), ("memory", "bandwidth"), ("cores", "latency")] {
        let measured = series(&record, area, quantity);
        assert!(measured.iter().any(|series| series.summary().is_some()), "{area}");
    }
    assert!(record.run.seconds < 22.0, "{} s", record.run.seconds);
}

#[test]
fn a_budget_ends_a_run_in_the_middle_of_a_job_and_what_was_measured_stands() {
    let mut model = Machine::named("sim:4c").unwrap().simulated.unwrap();
    model.faults.push(Fault::SignalsHang);
    let machine = Machine::from(model);
    let record = measure(&machine, &request(4.0), &Stop::default(), &mut |_| {}).unwrap();
    assert!(record.run.seconds < 5.0, "{} s", record.run.seconds);
    let (mut measured, mut over) = (0, 0);
    for series in &record.series {
        match &series.outcome {
            Outcome::Measured { .. } => measured += 1,
            Outcome::Unavailable { unavailable }
                if unavailable.why.contains(" s of the run ended") =>
            {
                assert_eq!(unavailable.remedy.as_deref(), Some("give it more time: --budget 8s"));
                over += 1;
            }
            Outcome::Unavailable { .. } => {}
        }
    }
    assert!(measured > 0 && over > 0, "{measured} measured, {over} of no time");
}
