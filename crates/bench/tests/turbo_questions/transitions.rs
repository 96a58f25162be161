//! Transitions on simulated machines: halts, throttled dispatch and hold times that were put in come out again,
//! and what the machine loses anyway never is called one.

use bench::areas::turbo::{Options, Tests};
use bench::rig::placement::Choice;
use machine::Machine;
use machine::simulated::Model;
use model::record::{Record, Series};
use model::{CpuId, Seconds};

use super::common::{assert_near, measured, of, stream, streams, why};

const PERIOD: Seconds = Seconds(2e-3);

fn traced(name: &str, id: &str, change: impl FnOnce(&mut Model)) -> Record {
    traced_by(PERIOD, name, id, change)
}

fn traced_by(period: Seconds, name: &str, id: &str, change: impl FnOnce(&mut Model)) -> Record {
    let mut model = Model::named(name).unwrap();
    model.noise.drift_amplitude = 0.0;
    change(&mut model);
    let tests = Tests::Trace(vec![stream(id)], period);
    let cpus = Choice { at_most: Some(2), ..Choice::usual(None) };
    measured(&Machine::from(model), Options { tests, cpus, ..streams(&[]) })
}

/// A core as Skylake servers are: throttled, halted, held low, halted again.
fn transitions(model: &mut Model) {
    model.throttled_seconds = 9e-6;
    model.halt_seconds = 11e-6;
    model.licence_hold_seconds = 650e-6;
    model.return_halt_seconds = 10e-6;
}

fn all<'a>(record: &'a Record, quantity: &'a str) -> Vec<&'a Series> {
    of(record, quantity).filter(|series| series.summary().is_some()).collect()
}

#[track_caller]
fn one(record: &Record, quantity: &str) -> f64 {
    let all = all(record, quantity);
    assert_eq!(all.len(), 1, "{quantity}: {all:#?}");
    all[0].summary().unwrap().median
}

fn at(series: &Series) -> f64 {
    series.parameters["at_us"].parse().unwrap()
}

#[test]
fn halts_throttles_and_holds_come_out() {
    let record = traced("2s-56c", "avx512_fma_t", transitions);
    let mut halts = all(&record, "trace_halt");
    halts.sort_by(|a, b| at(a).total_cmp(&at(b)));
    assert_eq!(halts.len(), 2, "{halts:#?}");
    for (halt, (phase, length)) in halts.iter().zip([(10.0, 11e-6), (852.0, 10e-6)]) {
        assert_near(halt.summary().unwrap().median, length, 0.02, "halt");
        assert!((at(halt) - phase).abs() < 3.0, "at {} us", at(halt));
    }
    let throttled = one(&record, "trace_throttled");
    // Within two bins.
    assert!((throttled - 9e-6).abs() < 4e-6, "{throttled}");
    assert_near(one(&record, "trace_throttled_ratio"), 4.0, 0.03, "dispatch at a quarter");
    assert_near(one(&record, "trace_hold"), 650e-6, 0.02, "hold");
    assert_near(one(&record, "trace_low"), 3.4e9, 0.004, "licence L2 with two cores active");
    assert_near(one(&record, "trace_relaxed"), 3.8e9, 0.004, "the lightest licence");
    assert!(record.findings.iter().any(|it| it.id == "turbo.transition"));
}

/// Throttled dispatch alone: 256-bit integer code on Skylake only waits for voltage.
#[test]
fn dispatch_at_a_quarter_is_no_clock() {
    let record = traced("2s-56c", "avx512_iadd", |model| {
        transitions(model);
        model.halt_seconds = 0.0;
        model.return_halt_seconds = 0.0;
        model.licence[1].bins = model.licence[0].bins.clone();
    });
    assert!(all(&record, "trace_halt").is_empty());
    assert!((one(&record, "trace_throttled") - 9e-6).abs() < 3e-6);
    assert!(all(&record, "trace_hold").is_empty());
}

#[test]
fn a_light_stream_causes_nothing() {
    let record = traced("2s-56c", "scalar_iadd", transitions);
    for quantity in ["trace_halt", "trace_throttled", "trace_hold"] {
        assert!(all(&record, quantity).is_empty(), "{quantity}");
    }
    assert!(one(&record, "trace_visible") < 20e-6);
    assert!(!record.findings.iter().any(|it| it.id == "turbo.transition"));
    let looks = all(&record, "trace_clock");
    assert_eq!(looks.len(), 6, "three periods of two cores");
    assert!(looks[0].samples().unwrap().all().len() > 1000, "about one look a microsecond");
}

/// A look at throttled dispatch saw no clock: the multiplies are a third longer, and that is none.
#[test]
fn throttled_looks_are_not_in_the_clock() {
    let record = traced("2s-56c", "avx512_iadd", |model| {
        transitions(model);
        model.halt_seconds = 0.0;
        model.return_halt_seconds = 0.0;
        model.licence[1].bins = model.licence[0].bins.clone();
    });
    let of_own = |quantity| {
        let mut all = of(&record, quantity);
        let own = all.find(|series: &&Series| series.parameters["core"] == "own").unwrap();
        own.samples().unwrap().all()
    };
    let [time, clock] = ["trace_folded_time", "trace_folded_clock"].map(of_own);
    assert!(time.len() > 900, "{} bins", time.len());
    for (at, hertz) in std::iter::zip(&time, &clock) {
        assert_near(*hertz, 3.8e9, 0.01, &format!("{:.0} us after the beginning", at * 1e6));
    }
}

/// The clock is low all the time: only a while without a payload tells that it is.
#[test]
fn a_period_shorter_than_the_hold_still_finds_the_lower_clock() {
    let record = traced_by(Seconds(0.5e-3), "2s-56c", "avx512_fma_t", transitions);
    assert_near(one(&record, "trace_low"), 3.4e9, 0.004, "licence L2 with two cores active");
    assert_near(one(&record, "trace_relaxed"), 3.8e9, 0.004, "the lightest licence");
    let hold: Vec<&Series> = of(&record, "trace_hold").collect();
    let [hold] = hold.as_slice() else { panic!("{hold:#?}") };
    assert!(why(hold).contains("not back at the end of a period of 0.5 ms"), "{hold:?}");
    let finding = record.findings.iter().find(|it| it.id == "turbo.transition").unwrap();
    assert!(finding.text.contains("not back within the period: 3"), "{}", finding.text);
}

/// A core that halts at once, with the first op of the payload.
#[test]
fn a_halt_at_the_beginning_of_a_burst_is_seen_there() {
    // As long as usual: there is room for the looks of all periods.
    let record = traced_by(Seconds(5e-3), "2s-56c", "avx512_fma_t", |model| {
        transitions(model);
        model.throttled_seconds = 0.0;
        model.return_halt_seconds = 0.0;
    });
    let halts = all(&record, "trace_halt");
    let [halt] = halts.as_slice() else { panic!("{halts:#?}") };
    assert_near(halt.summary().unwrap().median, 11e-6, 0.02, "halt");
    assert!(at(halt) < 1.5, "at {} us", at(halt));
    assert!(one(&record, "trace_halt_share") > 0.995, "in every period");
}

/// Long periods have fewer looks a microsecond, not more memory.
#[test]
fn looks_at_long_periods_are_bounded() {
    let job = |period: f64| bench::rig::trace::Trace {
        cpu: CpuId(0),
        beside: None,
        payload: None,
        period: Seconds(period),
        burst: Seconds(period / 10.0),
        periods: 100,
        tools: bench::streams::tools(&Machine::named("sim:2s-56c").unwrap()).unwrap(),
    };
    assert!(job(5e-3).pace().0 < 1e-12, "looks follow each other");
    assert!(job(0.1).room() <= 1 << 20);
    assert!(job(0.1).pace() * job(0.1).room() as f64 >= job(0.1).duration());
    let record = traced_by(Seconds(0.02), "2s-56c", "avx512_fma_t", transitions);
    assert_near(one(&record, "trace_hold"), 650e-6, 0.03, "hold");
    assert_eq!(all(&record, "trace_halt").len(), 2);
}

/// Looks are ten microseconds apart, and halts are as long as those between them: polls see all of each.
#[test]
fn halts_between_looks_that_are_far_apart_have_their_length() {
    let record = traced_by(Seconds(0.1), "2s-56c", "avx512_fma_t", transitions);
    let mut halts = all(&record, "trace_halt");
    halts.sort_by(|a, b| at(a).total_cmp(&at(b)));
    let lengths: Vec<f64> = halts.iter().map(|it| it.summary().unwrap().median).collect();
    let [first, second] = lengths[..] else { panic!("{halts:#?}") };
    assert_near(first, 11e-6, 0.03, "the licence comes");
    assert_near(second, 10e-6, 0.03, "the licence goes");
    let visible = one(&record, "trace_visible");
    assert!((0.7e-6..5e-6).contains(&visible), "{visible}");
}

/// The least that could be told is measured, and no constant.
#[test]
fn what_throttled_dispatch_could_be_told_is_measured() {
    let light = traced("2s-56c", "scalar_iadd", transitions);
    let least = one(&light, "trace_throttled_visible");
    assert!((4e-6..20e-6).contains(&least), "{least}");
    let page = format!("{:?}", bench::areas::turbo::page(&light, 0, 200));
    let said = model::page::si::format(least, model::Unit::Second);
    assert!(page.contains(&format!("none seen above {said}")), "{said}: {page}");
}

/// A guest whose host takes the CPU away for 1 ms now and then loses time, and has no transition.
#[test]
fn gaps_of_a_guest_are_no_transitions() {
    let record = traced("vm-2c", "avx512_fma_t", |model| {
        model.noise.steal_share = 0.05;
        for licence in 1..model.licence.len() {
            model.licence[licence].bins = model.licence[0].bins.clone();
        }
        model.halt_seconds = 0.0;
    });
    for quantity in ["trace_halt", "trace_throttled", "trace_hold"] {
        assert!(all(&record, quantity).is_empty(), "{quantity}");
    }
    let gaps = all(&record, "trace_gap");
    let longest = gaps.iter().map(|gap| gap.summary().unwrap().max).fold(0.0, f64::max);
    assert!(longest > 0.9e-3, "the host's millisecond is among the gaps: {longest}");
}
