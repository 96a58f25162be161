//! Counters held against work whose counts are known: honest ones, those that lie, and those of this
//! machine.

use std::collections::BTreeMap;

use machine::Machine;
use model::Known;
use model::record::KnownAnswer;
use pmu::counting::{Session, examples, refused, selftest};
use pmu::events::{Encoded, Events, Target};
use simulated::{Fault, Model};

fn machine(name: &str, change: impl FnOnce(&mut Model)) -> Machine {
    let mut model = Model::named(name).unwrap();
    change(&mut model);
    model.into()
}

fn answers(machine: &Machine) -> Vec<KnownAnswer> {
    let session = Session::on(machine, None).unwrap().without_canary();
    selftest(&session, &Events::of(Target::of(machine)), None)
}

/// Events that were counted, with what was right and what was counted.
fn counted(answers: &[KnownAnswer]) -> BTreeMap<&str, (f64, f64)> {
    let found = |answer: &KnownAnswer| {
        let found = answer.found.value()?.clone();
        Some((found.expected, found.counted))
    };
    answers.iter().filter_map(|it| Some((it.event.as_str(), found(it)?))).collect()
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-4
}

#[test]
fn honest_counters_give_the_known_answers() {
    for name in ["4c", "2s-56c"] {
        let machine = machine(name, |model| model.perf_event_paranoid = 0);
        let answers = answers(&machine);
        let wrong: Vec<_> = answers.iter().filter(|it| it.is_right() == Some(false)).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        let counted = counted(&answers);
        let walk = if cfg!(target_arch = "x86_64") { 1.0625 } else { 1.0 };
        for (event, expected) in [
            ("instructions", 2.0),
            ("br_inst_retired.all_branches", 1.0),
            ("br_inst_retired.near_taken", 1.0),
            ("br_misp_retired.all_branches", 0.5),
            ("cycles", 1.0),
            ("ref-cycles", 1.0),
            ("fp_arith_inst_retired.256b_packed_double", 2.0),
            ("mem_inst_retired.all_loads", walk),
            ("page-faults", 1.0),
            ("context-switches", 1.0),
            ("task-clock", 1.0),
        ] {
            let Some(&(right, found)) = counted.get(event) else {
                panic!("{name}: {event} was not counted: {answers:#?}")
            };
            assert!(near(right, expected), "{name}: {event} should be {right}");
            assert!((found - expected).abs() <= 0.05 * expected, "{name}: {event}: {found}");
        }
        for level in ["l1_hit", "l2_hit", "l3_hit", "l3_miss"] {
            let is_it = |event: &&&str| event.starts_with("mem_load") && event.ends_with(level);
            assert!(counted.keys().any(|event| is_it(&event)), "{name}: {level}: {counted:?}");
        }
    }
}

#[test]
fn counters_that_lie_are_refused_by_name() {
    let liar = machine("2s-56c", |model| model.faults.push(Fault::PmuMiscounts));
    let answers = answers(&liar);
    let refused = refused(&answers);
    let names: Vec<&str> = refused.iter().map(|(name, _)| name.as_str()).collect();
    // Those that have no counter of their own lie, and each of them is named.
    for event in [
        "branches",
        "br_inst_retired.all_branches",
        "br_misp_retired.all_branches",
        "mem_inst_retired.all_loads",
        "mem_load_retired.l2_hit",
        "mem_load_retired.l3_miss",
        "fp_arith_inst_retired.256b_packed_double",
    ] {
        assert!(names.contains(&event), "{event}: {names:?}");
    }
    for honest in ["instructions", "cycles", "ref-cycles", "task-clock", "page-faults"] {
        assert!(!names.contains(&honest), "{honest}: {names:?}");
        assert!(answers.iter().any(|it| it.event == honest && it.is_right() == Some(true)));
    }
    let (_, why) = refused.iter().find(|(name, _)| name == "branches").unwrap();
    assert!(
        why.why.contains("1.500 for each iteration of a loop, where 1.000 is right"),
        "{why:?}"
    );
}

#[test]
fn who_is_refused_is_counted_no_more() {
    let liar = machine("2s-56c", |model| model.faults.push(Fault::PmuMiscounts));
    let events = Events::of(Target::of(&liar));
    let asked = events.resolve_all(["mem_load_retired.l1_hit", "task-clock"]).unwrap();
    let session = Session::on(&liar, None).unwrap().without_canary();
    let answers = selftest(&session, &events, Some(&asked));
    let tested: Vec<&str> = answers.iter().map(|answer| answer.event.as_str()).collect();
    assert_eq!(tested, ["task-clock", "mem_load_retired.l1_hit"], "no others were asked for");
    let mut plan = session.plan(&asked);
    plan.refuse(&refused(&answers));
    let counts = examples::counted_loop(&session, &plan, 1000).unwrap();
    let row = |name: &str| counts.events.iter().find(|row| row.event == name).unwrap();
    match &row("mem_load_retired.l1_hit").count {
        Known::No { unavailable } => assert!(unavailable.why.contains("known answer is wrong")),
        Known::Yes(count) => panic!("it was counted: {count}"),
    }
    assert!(row("instructions").count.value().is_some());
}

/// Without its anchors a pass says nothing.
#[test]
fn where_instructions_are_wrong_no_counter_of_the_core_is_believed() {
    let machine = machine("4c", |_| {});
    let session = Session::on(&machine, None).unwrap();
    let asked: Vec<Encoded> =
        Events::of(Target::of(&machine)).resolve_all(["branches", "task-clock"]).unwrap();
    let mut plan = session.plan(&asked);
    let why = model::Unavailable::new(model::Obstacle::Hardware, "instructions", "it lies");
    plan.refuse(&[("instructions".to_owned(), why)]);
    let counts = examples::counted_loop(&session, &plan, 1000).unwrap();
    for row in &counts.events {
        let is_counted = row.count.value().is_some();
        assert_eq!(is_counted, ["tsc", "task-clock"].contains(&row.event.as_str()), "{row:?}");
    }
}

/// What this machine has counts as it should, and what it has not has its reason.
#[test]
fn this_machines_events_give_the_known_answers() {
    let machine = Machine::real();
    let Ok(session) = Session::on(&machine, None) else {
        return; // Nobody may be pinned here, so that nothing is counted.
    };
    let session = session.without_canary();
    let answers = selftest(&session, &Events::of(Target::of(&machine)), None);
    assert!(answers.iter().any(|answer| answer.event == "page-faults"), "{answers:#?}");
    for answer in &answers {
        match &answer.found {
            Known::No { unavailable } => assert!(!unavailable.why.is_empty(), "{answer:#?}"),
            // Others may disturb what caches and clocks count; faults are this thread's own.
            Known::Yes(found) if answer.event == "page-faults" => {
                assert!(answer.is_right() == Some(true), "{found:?}");
            }
            Known::Yes(_) => {}
        }
    }
}
