//! `cpudyno cores` on simulated machines: what was put in comes out.

use machine::Machine;
use measure::areas::cores::{CoresOptions, Home, MESSAGES};
use measure::run::Error;
use model::record::{Outcome, PageKind, Presentation, Record, Series};
use model::{CpuSet, Seconds};
use rig::executor::Stop;
use rig::placement::Choice;
use simulated::Model;

use crate::common::measure;

fn options(cpus: Option<&str>) -> CoresOptions {
    let cpus = cpus.map(|list| list.parse::<CpuSet>().unwrap());
    let (messages, home, budget) = (None, Home::First, None);
    CoresOptions { messages, home, budget, cpus: Choice::usual(cpus) }
}

fn run(machine: &Machine, options: CoresOptions) -> Result<Record, Error> {
    let look = Presentation::of(PageKind::Cores);
    let request = options.request(vec!["cpudyno".to_owned()], look);
    measure(machine, &request, &Stop::default(), &mut |_| ())
}

fn changed(name: &str, change: impl FnOnce(&mut Model)) -> Machine {
    let mut model = Model::named(name).unwrap();
    change(&mut model);
    Machine::from(model)
}

fn latencies(record: &Record) -> impl Iterator<Item = &Series> {
    record.series.iter().filter(|series| series.area == "cores")
}

#[test]
fn every_message_has_the_distance_that_was_put_in() {
    let machine = changed("2s-56c", |model| {
        model.distance.same_cache_seconds = 43e-9;
        model.distance.apart_seconds = 131e-9;
    });
    let record = run(&machine, options(Some("0,1,56,57"))).unwrap();
    assert_eq!(latencies(&record).count(), 6 * MESSAGES.len());
    for series in latencies(&record) {
        let within = series.parameters["between"] == "same-cache";
        let expected = if within { 43e-9 } else { 131e-9 };
        let median = series.summary().unwrap().median;
        assert!((median / expected - 1.0).abs() < 0.02, "{}: {median}", series.workload);
    }
}

#[test]
fn siblings_are_measured_when_asked_for() {
    let machine = changed("2s-56c", |_| ());
    let record = run(&machine, options(Some("0,112"))).unwrap();
    assert!(latencies(&record).all(|series| series.parameters["between"] == "smt-sibling"));
    assert_eq!(latencies(&record).count(), MESSAGES.len());
}

#[test]
fn many_cpus_stay_within_their_time() {
    let machine = changed("2s-56c", |model| {
        model.topology.cores_per_package = 288;
        for licence in &mut model.licence {
            licence.bins.push((288, 2.0e9));
        }
    });
    let budget = Seconds(5.0);
    let record = run(&machine, CoresOptions { budget: Some(budget), ..options(None) }).unwrap();
    assert_eq!(record.run.plan.cpus.len(), 576);
    assert!(record.run.seconds <= budget.0 * 1.1, "{} s", record.run.seconds);
    let measured: Vec<&Series> = latencies(&record).filter(|s| s.summary().is_some()).collect();
    assert!(measured.len() > 100, "{} pairs", measured.len());
    for between in ["same-cache", "other-package"] {
        assert!(measured.iter().any(|s| s.parameters["between"] == between), "{between}");
    }
}

#[test]
fn what_cannot_be_asked_has_a_reason() {
    let alone = changed("1c", |_| ());
    let record = run(&alone, options(None)).unwrap();
    let reasons = latencies(&record).filter_map(|series| match &series.outcome {
        Outcome::Unavailable { unavailable } => Some(unavailable.why.as_str()),
        Outcome::Measured { .. } => None,
    });
    assert!(reasons.collect::<String>().ends_with("a pair needs two"));
    let machine = changed("2s-56c", |_| ());
    let elsewhere = CoresOptions { home: Home::Node(7), ..options(Some("0,1")) };
    let error = run(&machine, elsewhere).unwrap_err();
    assert!(matches!(&error, Error::Asked(_)), "{error}");
    assert!(error.to_string().contains("nodes 0, 1"), "{error}");
}
