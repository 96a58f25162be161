//! Settings of simulated machines with faults: refused, not kept, not obeyed, and whatever happens put
//! back.

use levers::ask::SettingSpec;
use levers::journal::JournalDir;
use levers::plan::Plan;
use levers::{Error, Lever, Object, Session, port};
use machine::Machine;
use measure::ab::{self, AbSubject, Comparing};
use measure::proof::{self, Observer};
use model::record::{PageKind, Presentation, Proof, ProofAnswer, Record};
use model::stats::paired::{Arm as Side, Kind};
use model::{Known, Seconds};
use rig::executor::Stop;
use simulated::{Fault, Model};
use tempfile::TempDir;

fn machine(faults: &[Fault]) -> Machine {
    let model = Model::named("2s-56c").unwrap();
    Machine::from(Model { faults: faults.to_vec(), ..model })
}

fn asked(settings: &[&str]) -> Vec<SettingSpec> {
    settings.iter().map(|text| text.parse().unwrap()).collect()
}

fn shelf(folder: &TempDir, machine: &Machine) -> JournalDir {
    JournalDir::new(folder.path(), machine)
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
    let plan = Plan::new(machine, session.levers(), &asked(settings), true).unwrap();
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
    let look = Presentation::of(PageKind::Ab);
    machine::describe(machine, vec!["test".to_owned()], look)
}

fn comparing(machine: &Machine, a: &[&str], b: &[&str]) -> Comparing {
    let levers = port::of(machine).unwrap();
    let (a, b) = (asked(a), asked(b));
    let (changes, _) = Plan::arms(machine, &*levers, [&a, &b], false).unwrap();
    let turbo = AbSubject::Area(measure::areas::subjects::find("turbo").unwrap(), None);
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

/// Whoever looks at the machine whenever an arm was set writes nothing.
#[test]
fn a_look_at_what_was_set_is_no_time_of_writing() {
    let machine = machine(&[]);
    let folder = tempfile::tempdir().unwrap();
    let mut comparing = comparing(&machine, &["no_turbo=on"], &["no_turbo=off"]);
    comparing.look = Some(|machine| {
        machine.simulated.as_ref().unwrap().elapsed.advance(Seconds(5e-3));
        Vec::new()
    });
    let mut session = session(&machine, &folder);
    let (lent, stop) = (Some(&mut session), Stop::default());
    let done = ab::run(&machine, &comparing, lent, described(&machine), &stop, &mut |_| {});
    assert!(session.restore().is_complete());
    let cost = done.unwrap().comparison.unwrap().cost.unwrap();
    assert!(cost.setting < 1e-9 && cost.own > 5e-3, "{cost:?}");
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
) -> Result<Record, measure::run::Error> {
    let mut rounds = 0;
    let mut leave = |_: measure::run::Progress<'_>| {
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
    assert_eq!(run.ended, "a setting could not be made again");
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
    let run = done.unwrap().comparison.unwrap();
    let Known::No { unavailable } = &run.comparison else { panic!("{run:?}") };
    let remedy = unavailable.remedy.as_ref().unwrap();
    assert!(remedy.starts_with("give it time: --budget "), "{unavailable:?}");
    assert!(run.quads.is_empty(), "{run:?}");
}

#[test]
fn settings_that_move_power_are_held_until_heat_has_settled_where_the_time_allows() {
    let machine = machine(&[]);
    let folder = tempfile::tempdir().unwrap();
    let mut comparing = comparing(&machine, &["no_turbo=on"], &["no_turbo=off"]);
    let mut session = session(&machine, &folder);
    let mut compared = |comparing: &Comparing| {
        let (lent, stop) = (Some(&mut session), Stop::default());
        let described = described(&machine);
        ab::run(&machine, comparing, lent, described, &stop, &mut |_| {}).unwrap()
    };
    let short = compared(&comparing);
    assert_eq!(short.comparison.as_ref().unwrap().held_seconds, None);
    let caveat = short.settings.unwrap().proofs[0].caveat.clone().unwrap();
    assert!(caveat.contains("less than 3 s"), "{caveat}");
    comparing.prove = false;
    let unproved = compared(&comparing);
    assert!(unproved.findings.iter().any(|found| found.id == "ab.heat"), "{unproved:?}");
    comparing.budget = Seconds(200.0);
    let held = compared(&comparing);
    assert!(held.findings.iter().all(|found| found.id != "ab.heat"), "{held:?}");
    let run = held.comparison.unwrap();
    assert_eq!(run.held_seconds, Some(3.0));
    // Whoever is measured after the other arm's settings, or a control in its seat, was held before.
    let mut before = Side::B;
    let mut holds = 0;
    for quad in &run.quads {
        for seat in quad.slot.order.arms() {
            let side = if quad.slot.kind == Kind::Compared { seat } else { Side::A };
            let is_first = holds == 0;
            holds += u32::from(is_first || before != side || seat != side);
            before = side;
        }
    }
    let held = run.cost.unwrap().seconds * (run.quads.len() + run.left_out.len() + 1) as f64;
    assert!(run.quads.len() >= 8 && held > f64::from(holds) * 3.0, "{holds} holds in {held} s");
}

#[test]
fn the_limits_of_the_uncore_show_in_the_last_cache() {
    let machine = machine(&[]);
    for setting in ["uncore_max=1GHz", "uncore_min=1.6GHz"] {
        let proofs = proved(&machine, &[setting]);
        assert_eq!(proofs[0].answer, ProofAnswer::Obeyed, "{setting}: {proofs:?}");
    }
    // Where nothing obeys, the hardware's own clock tells.
    let machine = self::machine(&[Fault::IgnoresSettings]);
    for setting in ["uncore_max=1GHz", "uncore_min=2GHz"] {
        let proofs = proved(&machine, &[setting]);
        assert_eq!(proofs[0].answer, ProofAnswer::NotObeyed, "{setting}: {proofs:?}");
        assert!(proofs[0].seen.contains("the uncore clock by hardware"), "{proofs:?}");
    }
    // A clock within the limit was there before.
    let proofs = proved(&machine, &["uncore_max=2.2GHz"]);
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
    let on = "other prefetchers that are on may fetch the lines: prefetch.l2, prefetch.l2_pair, prefetch.l1";
    assert!(seen.ends_with(on), "{seen}");
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

/// Who decides instead is named with the evidence, where there is some.
#[test]
fn a_clock_that_does_not_rise_has_its_reasons_named() {
    let machine = machine(&[Fault::IgnoresSettings, Fault::ThermalThrottle]);
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&machine, &folder);
    let low = Plan::new(&machine, session.levers(), &asked(&["max_freq=2GHz"]), false).unwrap();
    session.apply(&low).unwrap();
    session.leave();
    let mut session = self::session(&machine, &folder);
    let plan = Plan::new(&machine, session.levers(), &asked(&["max_freq=3.8GHz"]), false).unwrap();
    let mut observer = Observer::new(&machine, &Stop::default()).unwrap();
    let before = observer.look(&plan.changes).unwrap();
    session.apply(&plan).unwrap();
    // It is throttled every second.
    machine.simulated.as_ref().unwrap().elapsed.advance(Seconds(2.0));
    let after = observer.look(&plan.changes).unwrap();
    let proofs = proof::judge(&machine, &plan.changes, &before, &after);
    assert_eq!(proofs[0].answer, ProofAnswer::NotObservable, "{proofs:?}");
    let said = "did not rise: heat throttled the core";
    assert!(proofs[0].seen.contains(said), "{proofs:?}");
    assert!(proofs[0].seen.contains("HWP is on: bit 0 of MSR 0x770 of CPU 0"), "{proofs:?}");
    assert!(proofs[0].seen.contains("intel_pstate is in mode `active`"), "{proofs:?}");
}

/// A lever on the simulated machine: what is asked, what is seen where it is obeyed, and where it is not.
struct Row {
    id: &'static str,
    asked: &'static [&'static str],
    obeyed: ProofAnswer,
    ignored: ProofAnswer,
}

const fn row(
    id: &'static str,
    asked: &'static [&'static str],
    [obeyed, ignored]: [ProofAnswer; 2],
) -> Row {
    Row { id, asked, obeyed, ignored }
}

/// It is seen whether the machine obeys.
const CERTAIN: [ProofAnswer; 2] = [ProofAnswer::Obeyed, ProofAnswer::NotObeyed];
/// It is seen where it obeys; where it does not, other reasons may hide it.
const ONE_SIDED: [ProofAnswer; 2] = [ProofAnswer::Obeyed, ProofAnswer::NotObservable];
const UNSEEN: [ProofAnswer; 2] = [ProofAnswer::NotObservable; 2];

/// For each lever; what `online` and `smt` do there, no fault hides.
const ROWS: &[Row] = &[
    row("governor", &["governor=powersave"], ONE_SIDED),
    row("epp", &["governor=powersave", "epp=power"], ONE_SIDED),
    row("epb", &["epb=15"], UNSEEN),
    row("no_turbo", &["no_turbo=on"], CERTAIN),
    row("boost", &["boost=off"], CERTAIN),
    row("min_freq", &["min_freq=3GHz"], CERTAIN),
    row("max_freq", &["max_freq=2GHz"], CERTAIN),
    row("uncore_min", &["uncore_min=2GHz"], CERTAIN),
    row("uncore_max", &["uncore_max=1GHz"], CERTAIN),
    row("resume_latency", &["resume_latency=n/a"], CERTAIN),
    row("cpu_dma_latency", &["cpu_dma_latency=1"], CERTAIN),
    row("idle.STATE", &["idle.C6=off"], CERTAIN),
    row("thp", &["thp=always"], UNSEEN),
    row("thp_defrag", &["thp_defrag=never"], UNSEEN),
    row("huge_pages", &["huge_pages=8"], UNSEEN),
    row("numa_balancing", &["numa_balancing=0"], UNSEEN),
    row("smt", &["smt=off"], [ProofAnswer::Obeyed; 2]),
    row("online", &["online@9=off"], [ProofAnswer::Obeyed; 2]),
    row("prefetch.l2", &["prefetch.l2=off"], ONE_SIDED),
    row("prefetch.l2_pair", &["prefetch.l2_pair=off"], UNSEEN),
    row("prefetch.l1", &["prefetch.l1=off"], UNSEEN),
    row("prefetch.l1_ip", &["prefetch.l1_ip=off"], UNSEEN),
    row("platform_profile", &["platform_profile=performance"], UNSEEN),
    row("prefetch.l1_stream", &["prefetch.l1_stream=off"], UNSEEN),
    row("prefetch.l1_stride", &["prefetch.l1_stride=off"], UNSEEN),
    row("prefetch.l1_region", &["prefetch.l1_region=off"], UNSEEN),
    row("prefetch.l2_stream", &["prefetch.l2_stream=off"], ONE_SIDED),
    row("prefetch.up_down", &["prefetch.up_down=off"], UNSEEN),
];

const OF_AMD: &[&str] = &[
    "prefetch.l1_stream",
    "prefetch.l1_stride",
    "prefetch.l1_region",
    "prefetch.l2_stream",
    "prefetch.up_down",
];

/// A machine that has a lever, with faults.
fn machine_with(id: &str, faults: &[Fault]) -> Machine {
    let name = if OF_AMD.contains(&id) { "epyc" } else { "2s-56c" };
    let mut model = Model::named(name).unwrap();
    // Each look lists all CPUs.
    model.topology.cores_per_package = 4;
    if id == "platform_profile" {
        model.platform_profiles = ["balanced", "performance"].map(str::to_owned).to_vec();
    }
    let other = (id == "boost").then(|| "acpi-cpufreq".to_owned());
    let cpufreq_driver = other.or(model.cpufreq_driver);
    let faults = faults.to_vec();
    Machine::from(Model { faults, cpufreq_driver, may_limit_latency: true, ..model })
}

#[test]
fn every_lever_is_proved_or_not_on_a_simulated_machine() {
    for lever in Lever::all() {
        let row = ROWS.iter().find(|row| row.id == lever.id);
        let Row { asked, obeyed, ignored, .. } =
            row.unwrap_or_else(|| panic!("the lever `{}` has no row in ROWS", lever.id));
        let answers = [(&[][..], obeyed), (&[Fault::IgnoresSettings], ignored)];
        for (faults, expected) in answers {
            let proofs = proved(&machine_with(lever.id, faults), asked);
            let proof = proofs.last().unwrap();
            assert_eq!(proof.answer, *expected, "{asked:?}, {faults:?}: {proof:?}");
            assert!(!proof.seen.is_empty() && !proof.load.is_empty(), "{proof:?}");
            assert_eq!(proof.caveat.is_some(), lever.moves_power, "{proof:?}");
        }
    }
}

#[test]
fn every_lever_of_a_simulated_machine_is_refused_found_out_and_put_back() {
    for row in ROWS {
        for fault in [Fault::PlainUser, Fault::SettingsDoNotStick] {
            let machine = machine_with(row.id, &[fault]);
            let folder = tempfile::tempdir().unwrap();
            let mut session = session(&machine, &folder);
            // The preference alone: under governor `performance` it is another one's.
            let settings = asked(&row.asked[row.asked.len() - 1..]);
            let plan = Plan::new(&machine, session.levers(), &settings, true);
            if fault == Fault::PlainUser {
                assert!(matches!(plan, Err(Error::Rights { .. })), "{}: {plan:?}", row.id);
                continue;
            }
            let error = session.apply(&plan.unwrap()).unwrap_err();
            let cause = &error.cause;
            let is_found_out = matches!(cause, Error::NotKept { .. } | Error::Refused { .. });
            assert!(is_found_out, "{}: {error}", row.id);
            assert!(session.restore().is_complete(), "{}", row.id);
            assert!(!shelf(&folder, &machine).path().exists(), "{}: a journal", row.id);
        }
        let machine = machine_with(row.id, &[]);
        let folder = tempfile::tempdir().unwrap();
        let before = listed(&machine);
        let mut session = session(&machine, &folder);
        let plan = Plan::new(&machine, session.levers(), &asked(row.asked), true).unwrap();
        session.apply(&plan).unwrap();
        assert_ne!(listed(&machine), before, "{}", row.id);
        let undone = session.restore();
        assert!(undone.is_complete() && !undone.restored.is_empty(), "{}: {undone:?}", row.id);
        assert_eq!(listed(&machine), before, "{}", row.id);
    }
}

/// All settings with their values.
fn listed(machine: &Machine) -> Vec<(String, String, Option<String>)> {
    let levers = port::of(machine).unwrap();
    let listed = levers::settings::settings(machine, Some(&*levers));
    listed.into_iter().map(|s| (s.name, s.of, s.value.value().cloned())).collect()
}
