use model::Hertz;
use model::record::{CalibratedRate, InstrumentState};
use simulated::Model;

use super::simulated;
use crate::instruments::clock::{RateChoice, StampClock, StampSource, calibrate, calibrate_by};
use crate::ports::Machine;

fn rate(clock: &StampClock) -> &CalibratedRate {
    match &clock.instruments[0].state {
        InstrumentState::Used { rate: Some(rate), .. } => rate,
        state => panic!("the stamp clock has no rate: {state:?}"),
    }
}

fn ids(clock: &StampClock) -> Vec<&str> {
    clock.findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn a_simulated_clock_ticks_as_it_says() {
    let clock = calibrate(&simulated("2s-56c")).unwrap();
    assert!(matches!(clock.source, StampSource::Simulated));
    assert!((clock.rate.hertz().0 - 2e9).abs() < 1.0);
    assert_eq!(rate(&clock).chosen, "CPUID 15h");
    assert_eq!(rate(&clock).sources.len(), 6);
    assert_eq!(ids(&clock), [""; 0]);
    let InstrumentState::Used { resolution, own_cost_seconds, .. } = clock.instruments[0].state
    else {
        panic!("{clock:?}")
    };
    assert!((resolution - 1e-9).abs() < 1e-15 && (own_cost_seconds - 20e-9).abs() < 1e-15);
}

#[test]
fn disagreement_that_was_put_in_is_found_and_a_small_one_is_not() {
    let guest = calibrate(&simulated("vm-2c")).unwrap();
    assert_eq!(ids(&guest), ["clock.rates-disagree"]);
    assert!(guest.findings[0].text.contains("+350 ppm"), "{:?}", guest.findings);
    let mut model = Model::named("vm-2c").unwrap();
    model.clock.claims.monotonic_raw_hz = Some(2.0001e9);
    assert_eq!(ids(&calibrate(&Machine::from(model)).unwrap()), [""; 0]);
}

#[test]
fn the_measured_rate_can_be_forced() {
    let guest = calibrate_by(&simulated("vm-2c"), RateChoice::Measured).unwrap();
    assert_eq!(guest.rate.hertz(), Hertz(2.0007e9));
    assert_eq!(rate(&guest).chosen, "CLOCK_MONOTONIC_RAW, simulated");
    assert_eq!(rate(&guest).sources.len(), 6);
    assert_eq!(ids(&guest), ["clock.rates-disagree"; 2]);
    let here = calibrate_by(&Machine::real(), RateChoice::Measured).unwrap();
    let InstrumentState::Used { rate: Some(rate), .. } = &here.instruments[0].state else {
        panic!("{here:?}")
    };
    // Where the stamp clock is CLOCK_MONOTONIC_RAW itself, there is nothing to choose.
    let measured = rate.chosen.starts_with("CLOCK_MONOTONIC_RAW, 3 windows of 20 ms");
    assert!(measured || rate.chosen == "nanoseconds by definition", "{rate:?}");
}

#[test]
fn a_clock_of_which_nobody_knows_the_rate_is_unavailable() {
    let mut model = Model::named("1c").unwrap();
    model.clock.claims = simulated::Claims::default();
    assert!(!calibrate(&Machine::from(model)).unwrap_err().why.is_empty());
}

#[test]
fn the_real_clock_agrees_with_the_kernels() {
    let clock = calibrate(&Machine::real()).unwrap();
    let rate = rate(&clock);
    let raw = rate.sources.iter().find(|source| source.source.contains("CLOCK_MONOTONIC_RAW"));
    if let Some(hertz) = raw.and_then(|raw| raw.hertz.value()) {
        assert!((rate.hertz.0 / hertz - 1.0).abs() < 0.01, "{rate:?}");
    }
    assert!(rate.sources.iter().any(|source| source.source == rate.chosen), "{rate:?}");
    for source in &rate.sources {
        assert_eq!(source.disagreement_ppm.is_some(), source.hertz.value().is_some());
    }
    for id in ["monotonic_raw", "thread_usage"] {
        assert!(clock.instruments.iter().any(|instrument| instrument.id == id), "{id}");
    }
}
