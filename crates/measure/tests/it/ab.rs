//! Comparisons on simulated machines that somebody else disturbs.

use machine::Machine;
use measure::ab::{self, AbSubject, Comparing};
use measure::run::arm_env::ArmEnv;
use model::record::{AbRun, PageKind, Presentation, Record};
use model::stats::paired::{Beside, Flag};
use model::{CpuId, CpuSet, Known, Seconds};
use rig::executor::Stop;
use simulated::{Fault, Model};

/// A comparison of the clock with itself, on the first CPU.
fn compared(change: impl FnOnce(&mut Model)) -> Record {
    let mut model = Model::named("2s-56c").unwrap();
    change(&mut model);
    let machine = Machine::from(model);
    let one = || ArmEnv { cpus: Some(CpuSet::from_iter([CpuId(0)])), ..ArmEnv::default() };
    let what = AbSubject::Area(measure::areas::subjects::find("turbo").unwrap(), None);
    let comparing =
        Comparing { own: [one(), one()], budget: Seconds(6.0), ..Comparing::usual(what) };
    let look = Presentation::of(PageKind::Ab);
    let described = machine::describe(&machine, Vec::new(), look);
    ab::run(&machine, &comparing, None, described, &Stop::default(), &mut |_| {}).unwrap()
}

fn run(record: &Record) -> &AbRun {
    record.comparison.as_ref().unwrap()
}

fn page(record: &Record) -> String {
    format!("{:?}", advice::ab::page(record, 0))
}

#[test]
fn a_disturbed_measurement_costs_its_quad_and_no_more() {
    let record = compared(|model| model.faults = vec![Fault::SiblingsBusyAtTimes]);
    let found = run(&record);
    assert!(!found.left_out.is_empty() && found.failures.is_empty(), "{found:?}");
    let Known::Yes(comparison) = &found.comparison else { panic!("{found:?}") };
    assert!(comparison.verdict.is_decided(), "{comparison:?}");
    // The planned number of quads is measured all the same, or enough of them to decide.
    assert!(found.looks.is_due(comparison.ratio.count), "{found:?}");
    let why = &found.left_out[0].unavailable.why;
    assert!(why.starts_with("sibling busy"), "{why}");
    let text = page(&record);
    assert!(text.contains(" left out (") && text.contains(why), "{text}");
}

#[test]
fn who_is_disturbed_all_the_time_is_told_by_what() {
    let record = compared(|model| model.faults = vec![Fault::SiblingsBusyLater]);
    let found = run(&record);
    let Known::No { unavailable } = &found.comparison else { panic!("{found:?}") };
    let (left_out, tried) = (found.left_out.len(), found.left_out.len() + found.quads.len());
    let words = format!("{left_out} of {tried} quads had to be left out");
    assert!(tried >= 8 && left_out * 2 > tried, "{left_out} of {tried}");
    assert_eq!(found.ended, words);
    let why = &unavailable.why;
    assert!(why.starts_with(&words) && why.contains("sibling busy: the add chain"), "{why}");
    assert!(page(&record).contains("Cannot tell: "));
}

#[test]
fn a_ruler_that_nobody_found_at_first_is_looked_for_again() {
    // The core is shared while everything is made ready, and for some quads.
    let record = compared(|model| {
        model.faults = vec![Fault::SiblingsBusyAtTimes];
        model.elapsed.advance(Seconds(0.72));
    });
    let found = run(&record);
    let Known::Yes(comparison) = &found.comparison else { panic!("{found:?}") };
    assert!(comparison.verdict.is_decided(), "{comparison:?}");
}

#[test]
fn a_machine_that_drifts_more_than_the_arms_differ_is_told_apart() {
    let quiet = compared(|model| model.noise.drift_amplitude = 0.0);
    let beside = run(&quiet).beside.as_ref().unwrap();
    let slots = |quads: &[model::stats::paired::Quad]| {
        quads.iter().map(|quad| quad.slot).collect::<Vec<_>>()
    };
    assert_eq!(slots(&beside.quads), slots(&run(&quiet).quads));
    // Three cycles at 3.8 GHz.
    let first = beside.quads[0].values[0];
    assert!((first / (3.0 / 3.8e9) - 1.0).abs() < 0.02, "{first}");
    let is_machine = |flag: &&Flag| matches!(flag, Flag::Machine { .. });
    assert_eq!(run(&quiet).flags.iter().find(is_machine), None);
    // A quarter of a swing of 10 %: the clock rises all the time.
    let drifting = compared(|model| {
        model.noise.drift_amplitude = 0.1;
        model.noise.drift_period_seconds = 40.0;
    });
    let found = run(&drifting);
    assert!(found.flags.iter().any(|flag| is_machine(&flag)), "{:?}", found.flags);
    assert_eq!(
        found.flags.iter().find(is_machine).copied(),
        Beside::of(&found.beside.as_ref().unwrap().quads).flag(0.0, 0.01)
    );
    assert!(page(&drifting).contains("the machine moved"));
}
