//! What is asked of a device and holds as long as somebody asks, on a simulated machine.

use levers::journal::JournalDir;
use levers::plan::Plan;
use levers::{Error, Others, Session, port, undo};
use machine::Machine;
use machine::pm_qos::{LatencyLimits, effective};
use model::Seconds;
use model::record::NO_LATENCY_LIMIT_US;
use simulated::{Fault, Model};
use tempfile::TempDir;

use crate::fake::asked;

fn machine(faults: &[Fault]) -> (Machine, TempDir) {
    let model = Model::named("4c").unwrap();
    let machine = Machine::from(Model { faults: faults.to_vec(), ..model });
    (machine, tempfile::tempdir().unwrap())
}

fn session<'a>(machine: &'a Machine, shelf: &JournalDir) -> Session<'a> {
    Session::open(machine, port::of(machine).unwrap(), shelf, "test").unwrap()
}

/// How a session ends.
type End = fn(Session<'_>);

#[test]
fn it_holds_as_long_as_the_session_and_leaves_nothing_to_undo() {
    fn left(session: Session<'_>) {
        session.leave();
    }
    let ends: [End; 3] = [
        |session| drop(session),
        left,
        |session| {
            let undone = session.restore();
            assert_eq!((undone.restored.len(), undone.is_complete()), (1, true), "{undone:?}");
            assert_eq!(
                (&*undone.restored[0].former, &*undone.restored[0].now),
                ("20", "2000000000")
            );
        },
    ];
    for end in ends {
        let (machine, folder) = machine(&[]);
        let shelf = JournalDir::new(folder.path(), &machine);
        let mut session = session(&machine, &shelf);
        let settings = asked(&["cpu_dma_latency=20us"]);
        let plan = Plan::new(&machine, session.levers(), &settings, false).unwrap();
        session.apply(&plan).unwrap();
        assert_eq!(effective(&machine), Ok(20));
        // Whoever is killed now leaves a journal of nothing: the kernel forgets.
        assert_eq!(shelf.pending().unwrap().unwrap().kept.len(), 0);
        end(session);
        assert_eq!(effective(&machine), Ok(NO_LATENCY_LIMIT_US));
        let levers = port::of(&machine).unwrap();
        let undone = undo(&machine, levers, &shelf, Others::Spare, "test").unwrap();
        assert!(undone.is_complete() && undone.restored.is_empty(), "{undone:?}");
    }
}

#[test]
fn the_arms_of_a_comparison_ask_for_it_by_turns() {
    let (machine, folder) = machine(&[]);
    let shelf = JournalDir::new(folder.path(), &machine);
    let mut session = session(&machine, &shelf);
    let asked = [&asked(&["cpu_dma_latency=0"])[..], &asked(&["thp=never"])];
    let (arms, _) = Plan::arms(&machine, session.levers(), asked, false).unwrap();
    for _ in 0..2 {
        for (arm, limit) in std::iter::zip(&arms, [0, NO_LATENCY_LIMIT_US]) {
            session.switch(arm).unwrap();
            assert_eq!(effective(&machine), Ok(limit));
        }
    }
    assert!(session.restore().is_complete());
}

#[test]
fn the_strictest_one_who_asks_counts_and_is_named() {
    let (machine, folder) = machine(&[]);
    let shelf = JournalDir::new(folder.path(), &machine);
    let _other = LatencyLimits::of(&machine).unwrap().hold(Seconds(5e-6)).unwrap();
    let mut session = session(&machine, &shelf);
    let plan = Plan::new(&machine, session.levers(), &asked(&["cpu_dma_latency=20"]), false);
    let error = session.apply(&plan.unwrap()).unwrap_err();
    assert!(matches!(error.cause, Error::NotKept { .. }), "{error}");
    let said = "reads `5`; another program requests 5 us, and the strictest request applies";
    assert!(error.to_string().ends_with(said), "{error}");
    drop(session);
    assert_eq!(effective(&machine), Ok(5));
}

#[test]
fn who_may_not_ask_is_told_so() {
    for (faults, name) in [(&[Fault::PlainUser][..], "4c"), (&[], "2s-56c")] {
        let model = Model::named(name).unwrap();
        let machine = Machine::from(Model { faults: faults.to_vec(), ..model });
        let levers = port::of(&machine).unwrap();
        let plan = Plan::new(&machine, &*levers, &asked(&["cpu_dma_latency=20"]), false);
        assert!(matches!(plan, Err(Error::Rights { .. })), "{name}: {plan:?}");
        let listed = levers::settings::settings(&machine, Some(&*levers));
        let row = listed.iter().find(|setting| setting.name == "cpu_dma_latency").unwrap();
        assert!(row.settable.value().is_none(), "{name}: {row:?}");
    }
}
