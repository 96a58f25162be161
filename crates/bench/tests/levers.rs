//! Settings of simulated machines with faults: refused, not kept, not obeyed, and whatever happens put
//! back.

use bench::ab::{self, Comparing, What};
use bench::proof::{self, Observer};
use bench::rig::executor::Stop;
use levers::ask::Asked;
use levers::journal::Shelf;
use levers::plan::Plan;
use levers::{Error, Object, Session, port};
use machine::Machine;
use machine::simulated::{Fault, Model};
use model::record::{PageKind, Presentation, Proof, ProofAnswer, Record};
use model::{Known, Seconds};
use tempfile::TempDir;

fn machine(faults: &[Fault]) -> Machine {
    let model = Model::named("2s-56c").unwrap();
    Machine::from(Model { faults: faults.to_vec(), ..model })
}

fn asked(settings: &[&str]) -> Vec<Asked> {
    settings.iter().map(|text| text.parse().unwrap()).collect()
}

fn shelf(folder: &TempDir, machine: &Machine) -> Shelf {
    Shelf::new(folder.path(), machine)
}

fn session<'a>(machine: &'a Machine, folder: &TempDir) -> Session<'a> {
    let levers = port::of(machine).unwrap();
    Session::open(machine, levers, &shelf(folder, machine), "test").unwrap()
}

fn text(machine: &Machine, path: &str) -> String {
    machine.tree.read(path).unwrap()
}

const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Sets, and says what that was seen to do.
fn proved(machine: &Machine, settings: &[&str]) -> Vec<Proof> {
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(machine, &folder);
    let plan = Plan::new(machine, session.levers(), &asked(settings), false).unwrap();
    let mut observer = Observer::new(machine, &Stop::default()).unwrap();
    let before = observer.look(&plan.changes).unwrap();
    session.apply(&plan).unwrap();
    let after = observer.look(&plan.changes).unwrap();
    proof::judge(machine, &plan.changes, &before, &after)
}

#[test]
fn rights_and_read_only_files_are_told_apart() {
    for (fault, is_right) in [
        (Fault::PlainUser, (|e| matches!(e, Error::Rights { .. })) as fn(&Error) -> bool),
        (Fault::ReadOnlyFiles, |e| matches!(e, Error::Absent { remedy: Some(_), .. })),
    ] {
        let machine = machine(&[fault]);
        let levers = port::of(&machine).unwrap();
        for setting in ["governor=powersave", "no_turbo=on", "thp=always", "idle.C6=off", "epb=3"] {
            let error = Plan::new(&machine, &*levers, &asked(&[setting]), false).unwrap_err();
            assert!(is_right(&error), "{setting}: {error}");
        }
    }
}

#[test]
fn what_does_not_stick_is_found_out() {
    let machine = machine(&[Fault::SettingsDoNotStick]);
    for setting in
        ["governor=powersave", "no_turbo=on", "thp=always", "idle.C6=off", "prefetch.l2=off"]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut session = session(&machine, &folder);
        let plan = Plan::new(&machine, session.levers(), &asked(&[setting]), false).unwrap();
        let error = session.apply(&plan).unwrap_err();
        assert!(matches!(error.cause, Error::NotKept { .. }), "{setting}: {error}");
        assert!(session.restore().is_complete(), "{setting}");
        assert!(!shelf(&folder, &machine).path().exists(), "{setting}: a journal of nothing");
    }
}

#[test]
fn a_driver_that_ignores_boost_is_found_out() {
    let machine = machine(&[Fault::IgnoresBoost]);
    let proofs = proved(&machine, &["boost=off"]);
    assert_eq!(proofs[0].answer, ProofAnswer::NotObeyed, "{proofs:?}");
    let said = "set, but the CPU does not obey: intel_pstate ignores `boost`: write `no_turbo`";
    assert!(proofs[0].seen.starts_with(said), "{proofs:?}");
    let proofs = proved(&machine, &["no_turbo=on"]);
    assert_eq!(proofs[0].answer, ProofAnswer::Obeyed, "{proofs:?}");
}

#[test]
fn idle_states_that_are_forbidden_are_not_entered() {
    let machine = machine(&[]);
    for setting in ["idle.C6=off", "resume_latency=100", "resume_latency=n/a"] {
        let proofs = proved(&machine, &[setting]);
        assert_eq!(proofs[0].answer, ProofAnswer::Obeyed, "{setting}: {proofs:?}");
    }
    // A limit that is beyond all states forbids none.
    let proofs = proved(&machine, &["resume_latency=1000"]);
    assert_eq!(proofs[0].answer, ProofAnswer::NotObservable, "{proofs:?}");
}

#[test]
fn limits_that_were_not_reached_cannot_be_seen() {
    let machine = machine(&[]);
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&machine, &folder);
    let low = Plan::new(&machine, session.levers(), &asked(&["max_freq=2GHz"]), false).unwrap();
    session.apply(&low).unwrap();
    session.leave();
    // The clock is below the base frequency's limit already.
    let proofs = proved(&machine, &["no_turbo=on"]);
    assert_eq!(proofs[0].answer, ProofAnswer::NotObservable, "{proofs:?}");
    assert!(proofs[0].seen.contains("was not above 2.000 GHz before"), "{proofs:?}");
}

fn described(machine: &Machine) -> Record {
    let look = Presentation { width: 100, colour: false, verbosity: 0, page: PageKind::Ab };
    machine::describe(machine, vec!["test".to_owned()], look)
}

fn comparing(machine: &Machine, a: &[&str], b: &[&str]) -> Comparing {
    let levers = port::of(machine).unwrap();
    let (a, b) = (asked(a), asked(b));
    let (changes, _) = Plan::arms(machine, &*levers, [&a, &b], false).unwrap();
    let turbo = What::Area(ab::find("turbo").unwrap(), None);
    let mut comparing = Comparing { changes, budget: Seconds(20.0), ..Comparing::usual(turbo) };
    for own in &mut comparing.own {
        own.cpus = Some("0".parse().unwrap());
    }
    comparing
}

#[test]
fn what_only_one_arm_names_is_as_it_was_in_the_other() {
    let machine = machine(&[]);
    let folder = tempfile::tempdir().unwrap();
    let comparing = comparing(&machine, &["no_turbo=on"], &["thp=always"]);
    for changes in &comparing.changes {
        assert_eq!(changes.len(), 2);
    }
    let mut session = session(&machine, &folder);
    let (lent, stop) = (Some(&mut session), Stop::default());
    let done = ab::run(&machine, &comparing, lent, described(&machine), &stop, &mut |_| {});
    assert!(session.restore().is_complete());
    let run = done.unwrap().comparison.unwrap();
    let Known::Yes(found) = &run.comparison else { panic!("{run:?}") };
    assert!((found.ratio.centre.exp() - 1.9).abs() < 0.03, "{found:?}");
    assert_eq!(text(&machine, NO_TURBO), "0");
    assert_eq!(text(&machine, THP), "always [madvise] never");
    assert!(!shelf(&folder, &machine).path().exists());
}

#[test]
fn a_cpu_that_is_lost_between_rounds_ends_it_with_everything_put_back() {
    let machine = machine(&[Fault::CpuLost]);
    let folder = tempfile::tempdir().unwrap();
    let mut comparing = comparing(&machine, &["no_turbo=on"], &["no_turbo=off"]);
    for own in &mut comparing.own {
        own.cpus = Some("223".parse().unwrap());
    }
    let mut session = session(&machine, &folder);
    let (lent, stop) = (Some(&mut session), Stop::default());
    let done = ab::run(&machine, &comparing, lent, described(&machine), &stop, &mut |_| {});
    assert!(session.restore().is_complete());
    let error = done.unwrap_err().to_string();
    assert!(error.contains("CPU 223"), "{error}");
    assert_eq!(text(&machine, NO_TURBO), "0");
    assert!(!shelf(&folder, &machine).path().exists());
}

/// A comparison on a machine of which the last CPU goes offline after ten rounds.
fn with_a_cpu_that_leaves<'m>(
    machine: &'m Machine,
    comparing: &Comparing,
    session: &mut Session<'m>,
) -> Result<Record, bench::run::Error> {
    let mut rounds = 0;
    let mut leave = |_: bench::run::Progress<'_>| {
        rounds += 1;
        if rounds == 10 {
            set_online(machine, "0");
        }
    };
    let described = described(machine);
    let stop = Stop::default();
    ab::run(machine, comparing, Some(session), described, &stop, &mut leave)
}

fn set_online(machine: &Machine, text: &str) {
    let object = Object::File("/sys/devices/system/cpu/cpu223/online".to_owned());
    port::of(machine).unwrap().write(&object, text).unwrap();
}

#[test]
fn a_cpu_that_leaves_after_some_rounds_leaves_what_was_measured() {
    let machine = machine(&[]);
    let folder = tempfile::tempdir().unwrap();
    let mut comparing = comparing(&machine, &["thp=always"], &["thp=never"]);
    comparing.band = 1e-4;
    for own in &mut comparing.own {
        own.cpus = Some("223".parse().unwrap());
    }
    let mut session = session(&machine, &folder);
    let record = with_a_cpu_that_leaves(&machine, &comparing, &mut session).unwrap();
    assert!(session.restore().is_complete());
    let run = record.comparison.as_ref().unwrap();
    assert_eq!(run.ended, "CPU 223 was lost after 9 quads");
    assert!(matches!(&run.comparison, Known::Yes(_)), "{run:?}");
    let lost = record.findings.iter().find(|finding| finding.id == "run.cpu-lost").unwrap();
    assert!(lost.text.contains("cannot pin a thread there: "), "{lost:?}");
    assert_eq!(text(&machine, THP), "always [madvise] never");
    assert!(!shelf(&folder, &machine).path().exists());
}

#[test]
fn a_setting_that_vanishes_between_rounds_is_told_and_put_back_when_it_is_there_again() {
    let machine = machine(&[]);
    let folder = tempfile::tempdir().unwrap();
    let governor = ["governor@223=powersave", "governor@223=performance"];
    let mut comparing = comparing(&machine, &governor[..1], &governor[1..]);
    (comparing.band, comparing.prove) = (1e-4, false);
    let mut session = session(&machine, &folder);
    let record = with_a_cpu_that_leaves(&machine, &comparing, &mut session).unwrap();
    let run = record.comparison.as_ref().unwrap();
    assert_eq!(run.ended, "a setting could not be made any more");
    let Known::No { unavailable } = &run.comparison else { panic!("{run:?}") };
    assert!(unavailable.why.contains("governor"), "{unavailable:?}");
    assert!(run.quads.len() >= 8, "{run:?}");
    drop(session.restore());
    set_online(&machine, "1");
    let levers = port::of(&machine).unwrap();
    let shelf = shelf(&folder, &machine);
    let undone = levers::undo(&machine, levers, &shelf, levers::Others::Spare, "test").unwrap();
    assert!(undone.is_complete(), "{undone:?}");
    let path = "/sys/devices/system/cpu/cpu223/cpufreq/scaling_governor";
    assert_eq!(text(&machine, path), "performance");
    assert!(!shelf.path().exists());
}

#[test]
fn a_budget_that_is_too_short_says_what_it_takes() {
    let machine = machine(&[]);
    let mut comparing = comparing(&machine, &[], &[]);
    comparing.budget = Seconds(1e-3);
    let stop = Stop::default();
    let done = ab::run(&machine, &comparing, None, described(&machine), &stop, &mut |_| {});
    match done {
        Err(bench::run::Error::Unavailable(reason)) => {
            assert!(reason.remedy.unwrap().starts_with("give it time: --budget "));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_limits_of_the_uncore_show_in_the_last_cache() {
    let machine = machine(&[]);
    for setting in ["uncore_max=1GHz", "uncore_min=1.6GHz"] {
        let proofs = proved(&machine, &[setting]);
        assert_eq!(proofs[0].answer, ProofAnswer::Obeyed, "{setting}: {proofs:?}");
    }
    // Where nothing obeys, other reasons may hide it.
    let machine = self::machine(&[Fault::IgnoresSettings]);
    let proofs = proved(&machine, &["uncore_max=1GHz"]);
    assert_eq!(proofs[0].answer, ProofAnswer::NotObservable, "{proofs:?}");
}

#[test]
fn prefetchers_show_in_ascending_pointers_where_no_other_brings_the_lines() {
    let machine = machine(&[]);
    let answer = |settings: &[&str]| {
        let proofs = proved(&machine, settings);
        (proofs[0].answer, proofs[0].seen.clone())
    };
    let (answered, seen) = answer(&["prefetch.l2=off"]);
    assert_eq!(answered, ProofAnswer::Obeyed, "{seen}");
    let (answered, seen) = answer(&["prefetch.l1_ip=off"]);
    assert_eq!(answered, ProofAnswer::NotObservable, "{seen}");
    assert!(seen.ends_with("other prefetchers may bring the lines"), "{seen}");
}

#[test]
fn governor_and_preference_show_in_how_the_clock_rises_from_rest() {
    let machine = machine(&[]);
    let folder = tempfile::tempdir().unwrap();
    let proofs = proved(&machine, &["governor=powersave"]);
    assert_eq!(proofs[0].answer, ProofAnswer::Obeyed, "{proofs:?}");
    // The bias has no part in it, and says how high the clock was.
    let proofs = proved(&machine, &["epb=15"]);
    assert_eq!(proofs[0].answer, ProofAnswer::NotObservable, "{proofs:?}");
    assert!(proofs[0].seen.contains("the clock was at its height within"), "{proofs:?}");
    let mut session = session(&machine, &folder);
    let plan =
        Plan::new(&machine, session.levers(), &asked(&["governor=powersave"]), false).unwrap();
    session.apply(&plan).unwrap();
    session.leave();
    for setting in ["epp=power", "min_freq=3GHz"] {
        let proofs = proved(&machine, &[setting]);
        assert_eq!(proofs[0].answer, ProofAnswer::Obeyed, "{setting}: {proofs:?}");
    }
}

#[test]
fn what_the_hardware_ignores_is_never_said_to_be_obeyed() {
    let machine = machine(&[Fault::IgnoresSettings]);
    for (setting, answer) in [
        ("no_turbo=on", ProofAnswer::NotObeyed),
        ("idle.C6=off", ProofAnswer::NotObeyed),
        ("governor=powersave", ProofAnswer::NotObservable),
        ("min_freq=2GHz", ProofAnswer::NotObservable),
        ("uncore_max=1GHz", ProofAnswer::NotObservable),
        ("prefetch.l2=off", ProofAnswer::NotObservable),
    ] {
        let proofs = proved(&machine, &[setting]);
        assert_eq!(proofs[0].answer, answer, "{setting}: {proofs:?}");
    }
}
