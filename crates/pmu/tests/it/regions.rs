//! Regions on simulated machines, whose loop has known counts: 9 instructions by call, 2 by trip.

use machine::Machine;
use model::Known;
use model::record::EventCount;
use pmu::counting::{REGIONS_MAX, RegionCounters, RegionPlan, RegionRefusal, RegionTotal};
use simulated::{Fault, Model};

fn machine(fault: Option<Fault>) -> Machine {
    let mut model = Model::named("4c").unwrap();
    model.faults.extend(fault);
    model.into()
}

fn counters(fault: Option<Fault>) -> RegionCounters {
    let machine = machine(fault);
    let plan = RegionPlan::of(&machine, &["instructions", "branches", "task-clock"]).unwrap();
    RegionCounters::open(machine, &plan).unwrap()
}

fn row<'a>(total: &'a RegionTotal, event: &str) -> &'a EventCount {
    let row = total.events.iter().find(|row| row.event == event);
    row.unwrap_or_else(|| panic!("{event}: {total:?}"))
}

fn why(total: &RegionTotal, event: &str) -> String {
    match &row(total, event).count {
        Known::No { unavailable } => unavailable.why.clone(),
        Known::Yes(count) => panic!("{event} is {count}"),
    }
}

fn seconds(total: &RegionTotal) -> f64 {
    *total.seconds.value().unwrap_or_else(|| panic!("{total:?}"))
}

fn instructions(counters: &RegionCounters, region: usize) -> u64 {
    let total = counters.sums().total(region).unwrap();
    *row(&total, "instructions").count.value().unwrap()
}

#[test]
fn regions_nest_and_overlap() {
    let counters = counters(None);
    let (outer, inner, across) = (0, 1, REGIONS_MAX - 1);
    for _ in 0..3 {
        counters.enter(outer).unwrap();
        counters.execute_loop(100).unwrap();
        counters.enter(inner).unwrap();
        counters.execute_loop(10).unwrap();
        counters.leave(inner).unwrap();
        counters.enter(across).unwrap();
        counters.execute_loop(20).unwrap();
        counters.leave(outer).unwrap();
        counters.execute_loop(30).unwrap();
        counters.leave(across).unwrap();
    }
    let of = |trips: u64, loops: u64| 3 * (2 * trips + 9 * loops);
    assert_eq!(instructions(&counters, outer), of(130, 3));
    assert_eq!(instructions(&counters, inner), of(10, 1));
    assert_eq!(instructions(&counters, across), of(50, 2));
    let [outer, inner] = [outer, inner].map(|region| counters.sums().total(region).unwrap());
    assert_eq!((outer.calls, outer.counted, outer.inside), (3, 3, 0));
    assert!(seconds(&outer) > seconds(&inner) && seconds(&inner) > 0.0, "{outer:?} {inner:?}");
    let clock = row(&outer, "task-clock");
    assert_eq!((clock.unit.as_deref(), clock.way.as_deref()), (Some("ns"), Some("simulated")));
}

#[test]
fn what_makes_no_sense_changes_nothing() {
    let counters = counters(None);
    assert_eq!(counters.leave(0), Err(RegionRefusal::NotEntered));
    counters.enter(0).unwrap();
    assert_eq!(counters.enter(0), Err(RegionRefusal::Entered));
    counters.execute_loop(5).unwrap();
    assert_eq!(counters.sums().total(0).unwrap().inside, 1);
    counters.leave(0).unwrap();
    assert_eq!(counters.leave(0), Err(RegionRefusal::NotEntered));
    for outside in [REGIONS_MAX, usize::MAX] {
        assert_eq!(counters.enter(outside), Err(RegionRefusal::Unknown));
        assert_eq!(counters.leave(outside), Err(RegionRefusal::Unknown));
        assert_eq!(counters.reset(outside), Err(RegionRefusal::Unknown));
        assert!(counters.sums().total(outside).is_err());
    }
    assert_eq!(instructions(&counters, 0), 19);
    counters.enter(0).unwrap();
    counters.reset(0).unwrap();
    let total = counters.sums().total(0).unwrap();
    assert_eq!((total.calls, total.inside), (0, 1));
    assert_eq!(why(&total, "instructions"), "no thread has left the region yet");
    assert_eq!(total.seconds.value(), None);
    counters.leave(0).unwrap();
    assert_eq!(counters.sums().total(0).unwrap().calls, 1);
}

#[test]
fn counters_that_lie_have_reasons_and_time_stays() {
    let after_a_call = |fault: Fault| {
        let counters = counters(Some(fault));
        for _ in 0..3 {
            counters.enter(0).unwrap();
            counters.execute_loop(1000).unwrap();
            counters.leave(0).unwrap();
        }
        counters.sums().total(0).unwrap()
    };
    let stood = after_a_call(Fault::PmuReadsZero);
    assert!(seconds(&stood) > 0.0 && stood.calls == 3, "{stood:?}");
    for event in ["instructions", "branches"] {
        assert!(why(&stood, event).contains(&format!("`{event}` counted 0")), "{stood:?}");
    }
    assert!(row(&stood, "task-clock").count.value().is_some());
    let wrong = after_a_call(Fault::PmuMiscounts);
    assert!(why(&wrong, "branches").contains("counted 15003"), "{wrong:?}");
    assert_eq!(row(&wrong, "instructions").count, Known::Yes(3 * 2009));
    // Taken after two executions, of which the loop of the opening was one.
    let taken = after_a_call(Fault::PmuTaken);
    assert_eq!((taken.calls, taken.counted), (3, 1));
    assert_eq!(row(&taken, "instructions").count, Known::Yes(2009));
    let shared = after_a_call(Fault::PmuMultiplexes);
    assert_eq!((shared.calls, shared.counted), (3, 0));
    assert!(why(&shared, "branches").contains("each of 3 calls"), "{shared:?}");
}

#[test]
fn a_machine_without_counters_measures_time() {
    let machine = Machine::from(Model::named("vm-2c").unwrap());
    let nothing: [&str; 0] = [];
    let plan = RegionPlan::of(&machine, &nothing).unwrap();
    assert_eq!(plan.events().collect::<Vec<_>>(), ["instructions", "cycles", "ref-cycles"]);
    let counters = RegionCounters::open(machine, &plan).unwrap();
    counters.enter(0).unwrap();
    counters.execute_loop(1000).unwrap();
    counters.leave(0).unwrap();
    let total = counters.sums().total(0).unwrap();
    assert!(total.calls == 1 && seconds(&total) > 0.0, "{total:?}");
    for event in plan.events() {
        assert!(!why(&total, event).is_empty());
    }
}

#[test]
fn what_does_not_fit_or_means_nothing_is_refused() {
    let machine = machine(None);
    let unknown = RegionPlan::of(&machine, &["instrucions"]).unwrap_err();
    assert!(unknown.remedy.unwrap().contains("did you mean `instructions`?"));
    let many: Vec<String> = (0..9).map(|at| format!("r{:x}", 0x01c2 + (at << 8))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let plan = RegionPlan::of(&machine, many.as_slice()).unwrap();
    let refused = RegionCounters::open(machine, &plan).err().unwrap();
    assert!(refused.why.contains("do not fit together"), "{refused:?}");
}

/// Other threads ask for sums while they grow, and never see half of a call.
#[test]
fn sums_are_of_one_moment() {
    let counters = counters(None);
    let sums = counters.sums();
    std::thread::scope(|scope| {
        let asked = scope.spawn(move || {
            let mut last = 0;
            while last < 2000 {
                let total = sums.total(7).unwrap();
                let of_calls = total.calls * (9 + 2 * 50);
                if total.calls > 0 {
                    assert_eq!(row(&total, "instructions").count, Known::Yes(of_calls));
                }
                last = total.calls;
            }
        });
        for _ in 0..2000 {
            counters.enter(7).unwrap();
            counters.execute_loop(50).unwrap();
            counters.leave(7).unwrap();
        }
        asked.join().unwrap();
    });
}

#[test]
fn threads_are_added() {
    let of_thread = |loops: u64, fault| {
        let counters = counters(fault);
        for _ in 0..loops {
            counters.enter(0).unwrap();
            counters.execute_loop(10).unwrap();
            counters.leave(0).unwrap();
        }
        counters.sums().total(0).unwrap()
    };
    let totals = [0, 2, 3, 0].map(|loops| of_thread(loops, None));
    let time: f64 = totals[1..3].iter().map(seconds).sum();
    let total = totals.into_iter().reduce(RegionTotal::with).unwrap();
    assert_eq!(total.calls, 5);
    assert!((seconds(&total) - time).abs() < 1e-12);
    assert_eq!(row(&total, "instructions").count, Known::Yes(5 * 29));
    // What one thread could not count is not known of all of them.
    let total = total.with(of_thread(1, Some(Fault::PmuReadsZero)));
    assert_eq!(total.calls, 6);
    assert!(why(&total, "instructions").contains("counted 0 in a loop"));
}
