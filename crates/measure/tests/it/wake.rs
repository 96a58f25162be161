//! Wake-ups: every method of this machine between real threads, which never hang; and simulated
//! machines, whose idle states must come out again. Nothing here looks at how long something took.

use std::sync::Arc;

use machine::Machine;
use measure::areas::wake::{CpuPair, PairSpec, Question, WakeOptions};
use model::record::{Outcome, PageKind, Presentation, Record, Relation, Samples, Series};
use model::{CpuId, Hertz, Rate, Seconds};
use report::areas::wake::{SECTION, page};
use rig::alarm::{Alarm, By};
use rig::exchange::{Exchange, Pace};
use rig::executor::threads::Threads;
use rig::executor::{Executor, RunError, Stop};
use rig::signals::{Method, TABLE, Waits};
use simulated::Model;
use sys::clock::MonotonicRaw;

fn cpus() -> Vec<CpuId> {
    sys::affinity::current().unwrap().iter().take(2).collect()
}

fn executor(stop: &Stop) -> Threads<MonotonicRaw> {
    let clock = MonotonicRaw::new().unwrap();
    Threads::new(clock, Rate::new(Hertz(1e9)), None, stop.clone())
}

/// Those that this machine has, between CPUs on which they do not wait forever.
fn playable() -> Vec<(&'static Method, [CpuId; 2])> {
    let cpus = cpus();
    let mut playable = Vec::new();
    for &method in TABLE {
        if (method.open)().is_err() {
            continue; // This CPU lacks its instruction.
        }
        if let [first, second] = cpus[..] {
            playable.push((method, [first, second]));
        }
        if method.waits == Waits::Sleeping {
            playable.push((method, [cpus[0]; 2]));
        }
    }
    playable
}

fn play(
    executor: &mut dyn Executor,
    (method, [first, second]): (&'static Method, [CpuId; 2]),
    (stretches, round_trips, pace): (u32, u32, Pace),
) -> Result<rig::exchange::RawExchange, RunError> {
    let channels = Arc::new([(method.open)().unwrap()]);
    let id = method.id;
    executor.exchange(&Exchange {
        id,
        first,
        second,
        channels,
        stretches,
        round_trips,
        pace,
        look: None,
    })
}

#[test]
fn every_method_comes_back_whole() {
    let mut executor = executor(&Stop::default());
    for of in playable() {
        let raw = play(&mut executor, of, (4, 25, Pace::Rally)).unwrap();
        assert_eq!(raw.stretches.len(), 4, "{}", of.0.id);
        assert!(raw.stretches.is_sorted_by_key(|stretch| stretch.start), "{}", of.0.id);
        assert_eq!(raw.around[0].migrations + raw.around[1].migrations, 0, "{}", of.0.id);
        let raw = play(&mut executor, of, (2, 25, Pace::Stamped)).unwrap();
        assert_eq!(raw.trips.len(), 50, "{}", of.0.id);
        for trip in &raw.trips {
            assert!(trip.sent <= trip.received && trip.received <= trip.returned, "{}", of.0.id);
        }
        if of.1[0] != of.1[1] {
            let raw = play(&mut executor, of, (1, 10, Pace::Rested(Seconds(1e-4)))).unwrap();
            assert_eq!(raw.trips.len(), 10, "{}", of.0.id);
        }
    }
}

/// Who waits when the job is given up must be woken, whatever it waits in.
#[test]
fn a_job_that_is_stopped_ends_whatever_threads_wait_in() {
    for of in playable() {
        let stop = Stop::default();
        let result = std::thread::scope(|scope| {
            let asked = stop.clone();
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                asked.ask();
            });
            // Far more than it can do until then.
            play(&mut executor(&stop), of, (4_000_000, 2, Pace::Rally))
        });
        assert!(matches!(result, Err(RunError::Interrupted)), "{}", of.0.id);
    }
}

#[test]
fn alarms_come_back_whole_and_are_never_early() {
    let distances = vec![Seconds(1e-5), Seconds(2e-3), Seconds(1e-4)];
    for by in [By::Nanosleep, By::TimerFile] {
        let distances = distances.clone();
        let job = Alarm { id: "alarm", by, cpu: cpus()[0], distances, look: None };
        let raw = executor(&Stop::default()).alarm(&job).unwrap();
        assert_eq!(raw.late.len(), job.distances.len());
        assert!(raw.late.iter().all(|late| late.0 >= 0.0), "{by:?}");
    }
}

fn measured(
    machine: &Machine,
    change: impl FnOnce(&mut WakeOptions),
    question: Question,
) -> Record {
    let mut options = WakeOptions::about(question);
    options.budget = Some(Seconds(3.0));
    change(&mut options);
    let look = Presentation::of(PageKind::Wake);
    let request = options.request(vec!["test".to_owned()], look);
    crate::common::measure(machine, &request, &Stop::default(), &mut |_| {}).unwrap()
}

fn of<'a>(record: &'a Record, quantity: &str, words: &[(&str, &str)]) -> Vec<&'a Series> {
    let fits = |series: &&Series| {
        series.quantity == quantity
            && words
                .iter()
                .all(|(name, word)| series.parameters.get(*name).is_some_and(|known| known == word))
    };
    record.series.iter().filter(fits).collect()
}

fn median(record: &Record, quantity: &str, words: &[(&str, &str)]) -> f64 {
    let whole = |s: &&Series| {
        words.iter().any(|w| w.0.starts_with("state")) || !s.parameters.contains_key("state")
    };
    let series = of(record, quantity, words).into_iter().find(whole).unwrap();
    series.summary().unwrap().median
}

#[test]
fn deep_sleep_that_was_put_in_comes_out() {
    let machine = Machine::named("sim:4c").unwrap();
    let record = measured(&machine, |_| {}, Question::Idle);
    let rest = |rest: &str| median(&record, "round_trip", &[("rest_us", rest)]);
    assert!(rest("10") < 5e-6 && rest("100") < 15e-6, "{} {}", rest("10"), rest("100"));
    assert!((rest("1000") - rest("10") - 139e-6).abs() < 2e-6, "{}", rest("1000"));
    let entries = median(&record, "entries", &[("rest_us", "10000"), ("state_name", "C6")]);
    assert!((entries - 1.0).abs() < 1e-9, "{entries}");
    let from_c6 = median(&record, "round_trip", &[("rest_us", "1000"), ("state", "3")]);
    assert!((from_c6 - rest("1000")).abs() < 1e-6, "{from_c6}");
    let finding = record.findings.iter().find(|finding| finding.id == "wake.deep-sleep").unwrap();
    assert!(finding.text.contains("C6") && finding.text.contains("140 us more"), "{finding:?}");
    assert!(finding.remedy.as_ref().unwrap().contains("--limit-latency 10"), "{finding:?}");
    assert!(!record.findings.iter().any(|finding| finding.id == "wake.table-off"));
}

#[test]
fn of_very_many_samples_there_are_counts() {
    let machine = Machine::named("sim:4c").unwrap();
    let record = measured(&machine, |_| {}, Question::Signals);
    let (mut plain, mut packed) = (0, 0);
    for series in &record.series {
        match &series.outcome {
            Outcome::Measured { samples: Samples::Plain(blocks), .. } => {
                plain += 1;
                assert!(blocks.iter().map(Vec::len).sum::<usize>() <= 1_000, "{series:?}");
            }
            Outcome::Measured { samples: Samples::Packed { step, .. }, summary } => {
                packed += 1;
                assert!(summary.count > 1_000, "{series:?}");
                assert!(*step <= summary.median * 5.01e-4, "{step} {}", summary.median);
            }
            Outcome::Unavailable { .. } => {}
        }
    }
    assert!(plain > 0 && packed > 0, "{plain} {packed}");
}

#[test]
fn a_limit_keeps_deep_sleep_away_while_it_is_held() {
    let machine = Machine::named("sim:4c").unwrap();
    let limit = |options: &mut WakeOptions| options.limit = Some(Seconds(20e-6));
    let record = measured(&machine, limit, Question::Idle);
    let limited = [("rest_us", "10000"), ("limit_us", "20")];
    let limited = median(&record, "round_trip", &limited);
    let series = of(&record, "round_trip", &[("rest_us", "10000")]);
    let free = series.iter().find(|s| !s.parameters.contains_key("limit_us")).unwrap();
    let free = free.summary().unwrap().median;
    assert!(limited < 15e-6 && free > 140e-6, "{limited} {free}");
}

#[test]
fn without_the_right_a_limit_is_a_reason_and_the_rest_is_measured() {
    let mut model = Model::named("4c").unwrap();
    model.may_limit_latency = false;
    let limit = |options: &mut WakeOptions| options.limit = Some(Seconds(20e-6));
    let record = measured(&Machine::from(model), limit, Question::Idle);
    assert!(median(&record, "round_trip", &[("rest_us", "1000")]) > 100e-6);
    let absent = record.series.iter().find(|series| series.workload == "limited").unwrap();
    let model::record::Outcome::Unavailable { unavailable } = &absent.outcome else {
        panic!("{absent:?}");
    };
    assert!(unavailable.what.contains("20 us"), "{unavailable:?}");
}

#[test]
fn a_table_that_is_wrong_is_found() {
    let mut model = Model::named("4c").unwrap();
    // The driver's table is made of the model; the record's is changed instead.
    model.idle[3].exit_latency_seconds = 140e-6;
    let machine = Machine::from(model);
    let mut record = measured(&machine, |_| {}, Question::Idle);
    for state in &mut record.machine.idle_states {
        state.latency_seconds = state.latency_seconds.map(|seconds| seconds / 3.0);
    }
    assert!(SECTION.findings(&record).iter().any(|finding| finding.id == "wake.table-off"));
}

#[test]
fn one_cpu_has_reasons_for_everything_that_needs_two() {
    let machine = Machine::named("sim:1c").unwrap();
    let record = measured(&machine, |_| {}, Question::Signals);
    assert!(median(&record, "time_per_signal", &[("pair", "same-cpu")]) > 0.0);
    for id in ["smt-sibling", "same-cache", "other-cache", "other-package", "spin", "umwait"] {
        let series = record.series.iter().find(|series| series.workload == id);
        assert!(series.is_some_and(|series| series.summary().is_none()), "{id}");
    }
    let idle = WakeOptions::about(Question::Idle);
    let look = Presentation::of(PageKind::Wake);
    let request = idle.request(Vec::new(), look);
    let record = crate::common::measure(&machine, &request, &Stop::default(), &mut |_| {}).unwrap();
    let missing = record.series.iter().find(|series| series.workload == "other-cpu");
    assert!(missing.is_some_and(|series| series.summary().is_none()));
}

#[test]
fn as_many_signals_are_sent_as_were_asked_for() {
    let machine = Machine::named("sim:vm-2c").unwrap();
    let record = measured(&machine, |options| options.signals = Some(10_000), Question::Signals);
    for series in of(&record, "time_per_signal", &[]) {
        let each: u64 = series.parameters["signals"].parse().unwrap();
        assert_eq!(each * series.summary().unwrap().blocks, 10_000, "{}", series.workload);
    }
}

#[test]
fn pairs_that_cannot_be_used_are_refused() {
    let machine = Machine::named("sim:vm-2c").unwrap();
    let absent = PairSpec::Pair(CpuPair { first: CpuId(0), second: CpuId(7) });
    let options =
        WakeOptions { pairs: Some(vec![absent]), ..WakeOptions::about(Question::Signals) };
    let look = Presentation::of(PageKind::Wake);
    let request = options.request(Vec::new(), look);
    let refused = crate::common::measure(&machine, &request, &Stop::default(), &mut |_| {});
    assert!(matches!(refused, Err(measure::run::Error::Placement(_))));
    let missing = PairSpec::Relation(Relation::OtherPackage);
    let record = measured(&machine, |o| o.pairs = Some(vec![missing]), Question::Signals);
    assert!(record.series.iter().any(|series| series.workload == "other-package"));
}

#[test]
fn no_record_is_too_strange_for_a_page() {
    let machine = Machine::named("sim:4c").unwrap();
    for question in [Question::Signals, Question::Idle, Question::Timer] {
        let record = measured(&machine, |_| {}, question);
        let shown = |record: &Record| {
            assert!(!page(record, 0).blocks.is_empty());
            SECTION.findings(record);
            SECTION.sentences(record);
            SECTION.section(record);
        };
        let names: std::collections::BTreeSet<String> =
            record.series.iter().flat_map(|series| series.parameters.keys().cloned()).collect();
        for name in names.iter().filter(|name| *name != "question") {
            for value in ["0", "18446744073709551615", "-1", "x", ""] {
                let mut strange = record.clone();
                for series in &mut strange.series {
                    series.parameters.insert(name.clone(), value.to_owned());
                }
                shown(&strange);
            }
            let mut without = record.clone();
            for series in &mut without.series {
                series.parameters.remove(name);
            }
            shown(&without);
        }
        let mut nowhere = record.clone();
        nowhere.machine.idle_states.clear();
        for series in &mut nowhere.series {
            series.active = model::CpuSet::default();
        }
        shown(&nowhere);
        nowhere.series.clear();
        shown(&nowhere);
    }
}
