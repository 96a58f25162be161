//! Counting on simulated machines, where every count is known, and with what this machine has.

use machine::Machine;
use machine::perf::{Wanted, Way};
use model::record::{Counts, EventCount};
use model::{CpuId, Known};
use pmu::counting::examples::{self, Packets};
use pmu::counting::{
    Budget, CounterSet, CountingPlan, Expected, PartIndex, Session, Work, base, report, software,
};
use pmu::events::{CounterPlace, Encoded, EventScope, Modes, Source};
use simulated::{Fault, Model};
use sys::perf_open::{Attributes, Event};

fn model(change: impl FnOnce(&mut Model)) -> Model {
    let mut model = Model::named("4c").unwrap();
    change(&mut model);
    model
}

fn machine(change: impl FnOnce(&mut Model)) -> Machine {
    model(change).into()
}

fn with(fault: Fault) -> Machine {
    machine(|model| model.faults.push(fault))
}

/// An event of the simulated PMU `cpu`.
fn event(name: &str, config: u64, counters: u64) -> Encoded {
    Encoded {
        name: name.to_owned(),
        pmu: Some("cpu".to_owned()),
        kind: Some(4),
        config: [config, 0, 0, 0],
        by_mode: true,
        modes: None,
        scope: EventScope::Thread,
        place: CounterPlace::General { counters, takes: 1 },
        register: None,
        source: Source::Raw,
        description: None,
        caveats: Vec::new(),
    }
}

fn branches() -> Vec<Encoded> {
    vec![
        event("br_inst_retired.all_branches", 0xc4, u64::MAX),
        event("br_misp_retired.all_branches", 0xc5, u64::MAX),
    ]
}

fn caches() -> Vec<Encoded> {
    let rows = [("l1_hit", 0x01d1), ("l2_hit", 0x02d1), ("l3_hit", 0x04d1), ("l3_miss", 0x20d1)];
    rows.map(|(name, code)| event(&format!("mem_load_uops_retired.{name}"), code, 0xf)).to_vec()
}

fn row<'a>(counts: &'a Counts, event: &str) -> &'a EventCount {
    let found = counts.events.iter().find(|row| row.event == event);
    found.unwrap_or_else(|| panic!("{event} is no row of {counts:#?}"))
}

fn count(counts: &Counts, event: &str) -> u64 {
    match &row(counts, event).count {
        Known::Yes(count) => *count,
        Known::No { unavailable } => panic!("{event}: {}", unavailable.why),
    }
}

fn why(counts: &Counts, event: &str) -> String {
    match &row(counts, event).count {
        Known::Yes(count) => panic!("{event} was counted: {count}"),
        Known::No { unavailable } => unavailable.why.clone(),
    }
}

fn counted_loop(machine: &Machine, events: &[Encoded]) -> Counts {
    let session = Session::on(machine, None).unwrap();
    let plan = session.plan(events);
    examples::counted_loop(&session, &plan, 1_000_000).unwrap()
}

#[test]
fn a_loop_counts_what_the_model_says_without_the_measurements_own() {
    let counts = counted_loop(&machine(|_| {}), &branches());
    assert_eq!(count(&counts, "instructions"), 2_000_009);
    assert_eq!(count(&counts, "cycles"), 1_000_020);
    assert_eq!(count(&counts, "br_inst_retired.all_branches"), 1_000_002);
    assert_eq!(count(&counts, "br_misp_retired.all_branches"), 1);
    assert_eq!(row(&counts, "instructions").own, Some(5));
    assert_eq!(row(&counts, "instructions").way.as_deref(), Some("simulated"));
    assert_eq!((counts.executions, counts.spread.len()), (1, 0));
    let text = report(&counts, &[("loop", 1_000_000)]).to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "EVENT                             TOTAL  /loop");
    assert_eq!(lines[1], "instructions                  2,000,009  2.000");
    assert_eq!(lines[2], "cycles                        1,000,020  1.000");
    assert!(lines[3].starts_with("ref-cycles "), "{text}");
    assert_eq!(lines[4], "br_inst_retired.all_branches  1,000,002  1.000");
    assert_eq!(lines[5], "br_misp_retired.all_branches          1  0.000");
    assert!(text.contains("\nloop                          1,000,000  1.000\n"), "{text}");
}

#[test]
fn an_empty_function_shows_what_is_subtracted_elsewhere() {
    let machine = machine(|_| {});
    let session = Session::on(&machine, None).unwrap();
    let counts = examples::empty(&session, &session.plan(&[])).unwrap();
    assert_eq!([count(&counts, "instructions"), count(&counts, "cycles")], [5, 4]);
}

#[test]
fn checksums_are_counted_by_byte_and_packet() {
    let machine = machine(|_| {});
    let session = Session::on(&machine, None).unwrap();
    let plan = session.plan(&caches());
    let tables = examples::checksums(&session, &plan, Packets::USUAL);
    let titles: Vec<&str> = tables.iter().map(|counts| counts.title.as_str()).collect();
    if cfg!(target_arch = "x86_64") {
        assert_eq!(titles, ["generic", "sse2", "avx2", "avx512"]);
        // What the simulated machine lacks has its reason, whatever this one has.
        assert!(why(&tables[3], "cycles").contains("lacks avx512f"));
    }
    // 12 instructions by packet and 2.918 by byte.
    assert_eq!(count(&tables[0], "instructions"), 1_200_000 + 420_192_000);
    assert_eq!(count(&tables[0], "mem_load_uops_retired.l1_hit"), 271_584_000);
    let text = report(&tables[0], &[("byte", 144_000_000), ("packet", 100_000)]).to_string();
    assert!(text.contains("2.926  4213.920\n"), "{text}");
    assert!(
        text.lines()
            .any(|line| { line.split_whitespace().eq(["packet", "100,000", "0.001", "1.000"]) })
    );
}

#[test]
fn more_events_than_counters_take_further_passes_with_anchors() {
    let machine = machine(|_| {});
    let session = Session::on(&machine, None).unwrap();
    // Four general counters are left to each of two threads.
    let asked: Vec<Encoded> = branches().into_iter().chain(caches()).collect();
    let plan = session.plan(&asked);
    assert_eq!(plan.limits.as_ref().unwrap().general, 4);
    let passes = plan.names();
    assert_eq!(passes.len(), 2, "{passes:?}");
    for pass in &passes {
        assert_eq!(pass[..2], ["instructions", "cycles"]);
        assert!(pass.iter().filter(|name| name.contains("retired")).count() <= 4, "{pass:?}");
    }
    let counts = counted_loop(&machine, &asked);
    assert_eq!((counts.executions, counts.spread.len()), (2, 2));
    assert!(counts.spread.iter().all(|spread| spread.agrees && spread.least == spread.greatest));
    assert_eq!(count(&counts, "br_inst_retired.all_branches"), 1_000_002);
    let names: Vec<&str> = counts.events.iter().map(|row| row.event.as_str()).collect();
    assert!(asked.iter().all(|event| names.contains(&event.name.as_str())), "{names:?}");
}

#[test]
fn smt_and_the_watchdog_take_counters() {
    let names = |machine: &Machine, events: &[Encoded]| {
        Session::on(machine, None).unwrap().plan(events).names()
    };
    let six: Vec<Encoded> = branches().into_iter().chain(caches()).collect();
    let alone = machine(|model| model.topology.threads_per_core = 1);
    assert_eq!(names(&alone, &six).len(), 1, "eight counters are one thread's");
    // The watchdog counts cycles on their fixed counter: the anchor takes a general one.
    let four = caches();
    assert_eq!(names(&machine(|_| {}), &four).len(), 1);
    let watched = machine(|model| model.nmi_watchdog = true);
    assert_eq!(names(&watched, &four).len(), 2);
    let counts = counted_loop(&watched, &four);
    assert_eq!(count(&counts, "cycles"), 1_000_020);
    assert_eq!(counts.executions, 2);
}

#[test]
fn an_event_that_fits_nowhere_has_its_reason() {
    // Two events that only the first counter takes, one that takes more than there are.
    let first = [event("one", 0x1c2, 1), event("other", 0x2c2, 1)];
    let machine = machine(|_| {});
    let session = Session::on(&machine, None).unwrap();
    assert_eq!(session.plan(&first).names().len(), 2);
    let mut wide = event("wide", 0x3c2, 1);
    wide.place = CounterPlace::General { counters: 1, takes: 2 };
    let mut of_another = event("atom", 0xc0, 1);
    of_another.pmu = Some("cpu_atom".to_owned());
    let mut uncore = event("uncore", 0x304, 1);
    uncore.scope = EventScope::Shared;
    let mut nobodys = event("nobody's", 0x304, 1);
    nobodys.kind = None;
    let counts = counted_loop(&machine, &[wide, of_another, uncore, nobodys]);
    assert!(
        why(&counts, "wide").contains("no counter is left for it after instructions and cycles")
    );
    assert!(why(&counts, "atom").contains("another kind of core"));
    assert!(why(&counts, "uncore").contains("not for one function"));
    assert!(why(&counts, "nobody's").contains("no PMU `cpu`"));
    assert_eq!(count(&counts, "cycles"), 1_000_020);
}

#[test]
fn events_that_want_one_register_with_two_values_are_apart() {
    let mut events = [event("one", 0x1c6, u64::MAX), event("other", 0x1c6, u64::MAX)];
    for (at, event) in events.iter_mut().enumerate() {
        event.register = Some(0x3f7);
        event.config[1] = at as u64;
    }
    let machine = machine(|_| {});
    let passes =
        |events: &[Encoded]| Session::on(&machine, None).unwrap().plan(events).names().len();
    assert_eq!(passes(&events), 2);
    events[1].register = None;
    assert_eq!(passes(&events), 1);
}

#[test]
fn a_count_of_a_part_of_the_time_is_rejected() {
    let counts = counted_loop(&with(Fault::PmuMultiplexes), &branches());
    for event in ["instructions", "cycles", "br_inst_retired.all_branches"] {
        assert!(why(&counts, event).contains("rejected, not scaled"), "{event}");
    }
    // What needs no counter is counted.
    assert!(count(&counts, "tsc") > 0);
}

#[test]
fn a_pass_whose_canary_is_counted_wrongly_is_rejected() {
    let six: Vec<Encoded> = branches().into_iter().chain(caches()).collect();
    let counts = counted_loop(&with(Fault::PmuHostShares), &six);
    // The first pass stands; what only the second one has does not.
    assert_eq!(count(&counts, "cycles"), 1_000_020);
    let refused = counts.events.iter().filter(|row| matches!(row.count, Known::No { .. }));
    let refused: Vec<String> = refused.map(|row| why(&counts, &row.event)).collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    let heard = |why: &String| why.contains("counted 14006 in a loop that has 20000");
    assert!(refused.iter().all(heard), "{refused:?}");
}

#[test]
fn passes_that_differ_make_no_table() {
    let six: Vec<Encoded> = branches().into_iter().chain(caches()).collect();
    let machine = with(Fault::PmuHostShares);
    let session = Session::on(&machine, None).unwrap().without_canary();
    let plan = session.plan(&six);
    let counts = examples::counted_loop(&session, &plan, 1_000_000).unwrap();
    assert!(counts.spread.iter().all(|spread| !spread.agrees), "{:?}", counts.spread);
    assert_eq!(count(&counts, "cycles"), 1_000_020);
    let refused = counts.events.iter().filter(|row| matches!(row.count, Known::No { .. }));
    let refused: Vec<String> = refused.map(|row| why(&counts, &row.event)).collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused.iter().all(|why| why.contains("differs from the first")), "{refused:?}");
}

/// A function of some hundred instructions is not like itself where a third of them is missing.
#[test]
fn passes_of_a_short_function_that_differ_make_no_table() {
    let six: Vec<Encoded> = branches().into_iter().chain(caches()).collect();
    let machine = with(Fault::PmuHostShares);
    let session = Session::on(&machine, None).unwrap().without_canary();
    let counts = examples::counted_loop(&session, &session.plan(&six), 300).unwrap();
    let instructions = counts.spread.iter().find(|it| it.event == "instructions").unwrap();
    assert!(!instructions.agrees && instructions.greatest - instructions.least < 200);
    assert_eq!(counts.events.iter().filter(|row| row.count.value().is_none()).count(), 2);
}

/// Reference cycles take a general counter where no fixed one is theirs, and cost nobody a pass.
#[test]
fn what_nobody_asked_for_costs_no_pass() {
    let bare = machine(|model| {
        model.topology.threads_per_core = 1;
        model.pmu[0].fixed = 0;
        model.pmu[0].general = 4;
    });
    let plan = |machine: &Machine, asked: &[Encoded]| -> CountingPlan {
        Session::on(machine, None).unwrap().plan(asked)
    };
    let reason = |plan: &CountingPlan| {
        let is_it =
            |absent: &&pmu::counting::Absent| plan.events[absent.event].name == "ref-cycles";
        plan.absent.iter().find(is_it).map(|absent| absent.why.clone())
    };
    let one = plan(&bare, &branches()[..1]);
    assert_eq!((one.names().len(), reason(&one)), (1, None), "there is a counter left for them");
    let two = plan(&bare, &branches());
    assert_eq!(two.names(), [["instructions", "cycles", &branches()[0].name, &branches()[1].name]]);
    let absent = reason(&two).unwrap();
    assert!(absent.why.contains("gets no further execution"), "{absent:?}");
    assert_eq!(absent.remedy.as_deref(), Some("ask for `ref-cycles` by its name"));
    // Who asks for them has them.
    let wished = [branches(), base(&bare, CpuId(0))].concat();
    let three = plan(&bare, &wished);
    assert_eq!((three.names().len(), reason(&three)), (2, None));
    // Where nobody knows how many counters there are, one event is one pass.
    let unknown = Machine { cpuid: Box::new(Silent), ..machine(|_| {}) };
    let one = plan(&unknown, &branches()[..1]);
    assert!(one.limits.is_err());
    assert_eq!(one.names(), [["instructions", "cycles", &branches()[0].name]]);
}

/// A CPU that says nothing of itself.
struct Silent;

impl machine::ports::Cpuid for Silent {
    fn leaf(&self, _: u32, _: u32) -> Option<sys::cpuid::Leaf> {
        None
    }

    fn leaf_of(&self, _: CpuId, _: u32, _: u32) -> Option<sys::cpuid::Leaf> {
        None
    }

    fn xcr0(&self) -> Option<u64> {
        None
    }
}

/// What the kernel does not open is in no pass of a dry run, and has its reason.
#[test]
fn a_dry_run_says_what_would_not_be_counted() {
    let guest: Machine = Model::named("vm-2c").unwrap().into();
    let session = Session::on(&guest, None).unwrap();
    let plan = session.tried(session.plan(&software()));
    let run = session.outline("a loop", &plan);
    assert_eq!(run.passes, [["task-clock", "page-faults"]]);
    let absent: Vec<&str> = run.absent.iter().map(|absent| absent.what.as_str()).collect();
    assert_eq!(absent[..3], ["instructions", "cycles", "ref-cycles"]);
    assert!(run.absent[..3].iter().all(|absent| absent.why.contains("hypervisor")), "{run:#?}");
    // Switches are the kernel's, which plain users may not count here.
    assert_eq!(absent[3..], ["context-switches", "cpu-migrations"]);
    assert!(run.absent[3..].iter().all(|absent| absent.why.contains("EACCES")), "{run:#?}");
    // What has no counter is told as well; what is there is in its pass.
    let mut uncore = event("uncore", 0x304, 1);
    uncore.scope = EventScope::Shared;
    let machine = machine(|_| {});
    let session = Session::on(&machine, None).unwrap();
    let plan = session.tried(session.plan(&[uncore]));
    let run = session.outline("a loop", &plan);
    assert_eq!(run.passes, [["instructions", "cycles", "ref-cycles"]]);
    assert_eq!(run.absent.len(), 1);
    assert_eq!(run.absent[0].what, "uncore");
}

#[test]
fn a_counter_that_falls_is_no_number() {
    let machine = with(Fault::PmuFalls);
    let counts = counted_loop(&machine, &branches());
    for event in ["instructions", "cycles", "br_inst_retired.all_branches"] {
        assert!(why(&counts, event).contains("its counter fell"), "{event}");
    }
    let falling = model(|model| model.faults.push(Fault::PmuFalls));
    let machine: Machine = falling.clone().into();
    let mut set = CounterSet::open(&machine, &base(&machine, CpuId(0)), &["part"]).unwrap();
    falling.execute("loop", 1, 1000).unwrap();
    set.switch_to(PartIndex(0));
    assert_eq!(set.intervals(PartIndex(0)), Some((1, 1)));
}

#[test]
fn a_counter_that_stands_still_is_no_zero() {
    let counts = counted_loop(&with(Fault::PmuReadsZero), &branches());
    for event in ["instructions", "ref-cycles", "br_misp_retired.all_branches"] {
        assert!(why(&counts, event).contains("stood still"), "{event}");
    }
}

#[test]
fn a_counter_that_is_taken_away_is_no_zero() {
    let counts = counted_loop(&with(Fault::PmuTaken), &branches());
    for event in ["instructions", "cycles", "br_inst_retired.all_branches"] {
        assert!(why(&counts, event).contains("took its counter"), "{event}");
    }
}

#[test]
fn counters_that_begin_again_at_zero_go_on() {
    for width in [40, 48] {
        let wrapping = machine(|model| {
            model.faults.push(Fault::PmuWraps);
            model.pmu[0].width = width;
        });
        let counts = counted_loop(&wrapping, &branches());
        assert_eq!(count(&counts, "cycles"), 1_000_020, "{width} bits");
        assert_eq!(count(&counts, "br_inst_retired.all_branches"), 1_000_002, "{width} bits");
    }
}

/// Who counts half as much again is found by known answers, and by nothing else.
#[test]
fn a_counter_that_lies_is_found_by_the_canary() {
    let events: Vec<Encoded> = branches().into_iter().chain(caches()).collect();
    let counts = counted_loop(&with(Fault::PmuMiscounts), &events);
    assert_eq!(count(&counts, "cycles"), 1_000_020);
    let found = why(&counts, "br_inst_retired.all_branches");
    assert!(found.contains("counted 15003 in a loop that has 10000"), "{found}");
    // Of what a loop does not do, the canary knows nothing.
    assert_eq!(count(&counts, "mem_load_uops_retired.l1_hit"), 0);
}

#[test]
fn refusals_say_why_and_what_helps() {
    let refusal = |machine: &Machine, event: &str| {
        let counts = counted_loop(machine, &[]);
        match row(&counts, event).count.clone() {
            Known::No { unavailable } => unavailable,
            Known::Yes(count) => panic!("{event} was counted: {count}"),
        }
    };
    let strict = refusal(&machine(|model| model.perf_event_paranoid = 3), "cycles");
    assert!(strict.why.contains("EACCES") && strict.why.contains("is 3"), "{strict:?}");
    assert!(strict.remedy.unwrap().contains("perf_event_paranoid"));
    let bare = refusal(&machine(|model| model.pmu.clear()), "cycles");
    assert!(bare.why.contains("ENOENT"), "{bare:?}");
    let guest: Machine = Model::named("vm-2c").unwrap().into();
    let guest = refusal(&guest, "instructions");
    assert!(guest.why.contains("hypervisor"), "{guest:?}");
    // Bits that no format has.
    let odd = event("odd", 1 << 40, u64::MAX);
    let counts = counted_loop(&machine(|_| {}), &[odd]);
    assert!(why(&counts, "odd").contains("EINVAL"));
    assert_eq!(count(&counts, "cycles"), 1_000_020);
    // Levels beyond 2 are some distributions' own, and let nobody count, the kernel's events
    // neither.
    for level in [3, 4] {
        let machine = machine(|model| model.perf_event_paranoid = level);
        let counts = counted_loop(&machine, &[branches(), software()].concat());
        let is_refused = |row: &&EventCount| row.event != "tsc";
        for row in counts.events.iter().filter(is_refused) {
            let why = why(&counts, &row.event);
            assert!(why.contains("EACCES") && why.contains(&format!("is {level}")), "{why}");
        }
        assert!(count(&counts, "tsc") > 0);
    }
    // Levels that let threads count user mode let them count it.
    for level in [-1, 0, 1, 2] {
        let counts = counted_loop(&machine(|model| model.perf_event_paranoid = level), &[]);
        assert_eq!(count(&counts, "cycles"), 1_000_020, "level {level}");
    }
    let kernel = Encoded { modes: Some(Modes::Kernel), ..event("cycles:k", 0x3c, u64::MAX) };
    let counts = counted_loop(&machine(|_| {}), &[kernel]);
    assert!(why(&counts, "cycles:k").contains("EACCES"));
}

fn of_kind(pmu: &str, events: Vec<Encoded>) -> Vec<Encoded> {
    let named = |event: Encoded| Encoded { name: format!("{pmu}/{}/", event.name), ..event };
    events.into_iter().map(named).collect()
}

#[test]
fn a_hybrid_counts_on_the_kind_of_core_that_it_runs_on() {
    let hybrid = || {
        machine(|model| {
            model.topology.threads_per_core = 1;
            model.kind = simulated::CoreKind::pair(model.topology.cores_per_package - 2, 2);
            let mut atom = model.pmu[0].clone();
            model.pmu[0].name = "cpu_core".to_owned();
            atom.name = "cpu_atom".to_owned();
            atom.kind = 10;
            atom.general = 6;
            model.pmu.push(atom);
        })
    };
    let machine = hybrid();
    for (cpu, pmu, general) in [(0, "cpu_core", 8), (3, "cpu_atom", 6)] {
        let session = Session::on(&machine, Some(CpuId(cpu))).unwrap();
        let plan = session.plan(&[]);
        assert_eq!(session.outline("loop", &plan).pmu.as_deref(), Some(pmu));
        assert_eq!(plan.limits.as_ref().unwrap().general, general);
        let counts = examples::counted_loop(&session, &plan, 1_000_000).unwrap();
        assert_eq!(count(&counts, "instructions"), 2_000_009, "{pmu}");
    }
    // What a name means on the other kind is a row with its reason, on each bill.
    let asked = [base(&machine, CpuId(0)), of_kind("cpu_atom", base(&machine, CpuId(3)))].concat();
    drop(Session::on(&machine, Some(CpuId(0))).unwrap());
    let set = CounterSet::open(&machine, &asked, &["part"]).unwrap();
    let bill = set.bill(PartIndex(0), "unit").unwrap();
    assert!(why(&bill, "cpu_atom/cycles/").contains("counts on another kind of core"));
    assert!(why(&bill, "cycles").contains("has not ended yet"));
    let alone = of_kind("cpu_atom", base(&machine, CpuId(3)));
    let reason = CounterSet::open(&machine, &alone, &["part"]).unwrap_err();
    assert!(reason.why.contains("counts on another kind of core"), "{reason:?}");
    // A counter of the other kind never has its place here, and nothing makes a number of that.
    let session = Session::on(&machine, Some(CpuId(3))).unwrap();
    let plan = CountingPlan { events: base(&machine, CpuId(0)), ..session.plan(&[]) };
    let counts = examples::counted_loop(&session, &plan, 1000).unwrap();
    assert!(matches!(row(&counts, "cycles").count, Known::No { .. }), "{counts:#?}");
}

/// Shares of slots are counted where slots lead their group, and nowhere else.
#[test]
fn shares_of_slots_are_led_by_slots() {
    let machine: Machine = Model::named("2s-56c").unwrap().into();
    let events = pmu::events::Events::of(pmu::events::Target::of(&machine));
    let asked = events.resolve_all(["topdown-retiring", "topdown-be-bound"]).unwrap();
    let session = Session::on(&machine, None).unwrap();
    let plan = session.plan(&asked);
    let led = plan.names().into_iter().find(|pass| pass.contains(&"slots".to_owned())).unwrap();
    assert_eq!(led[0], "slots", "{led:?}");
    assert!(led.iter().any(|name| name.contains("topdown-retiring")), "{led:?}");
    let counts = examples::counted_loop(&session, &plan, 1_000_000).unwrap();
    assert_eq!(count(&counts, "topdown-retiring"), 2_000_009);
    assert_eq!(count(&counts, "slots"), 6 * 1_000_020);
    // Where slots have no counter, their shares have that reason.
    let machine: Machine = Model::named("2s-56c")
        .map(|mut model| {
            model.pmu[0].fixed = 3;
            model
        })
        .unwrap()
        .into();
    let session = Session::on(&machine, None).unwrap();
    let counts = examples::counted_loop(&session, &session.plan(&asked), 1_000_000).unwrap();
    assert!(why(&counts, "topdown-retiring").contains("counted only together with `slots`"));
}

/// A machine whose package draws 62 W where it idles, and 1.4 W more for each GHz of a core at work.
#[test]
fn the_energy_of_a_package_is_what_the_model_draws() {
    let machine: Machine = Model::named("2s-56c").unwrap().into();
    let of = |iterations: u64, asked: &[String]| {
        let session = Session::on(&machine, None).unwrap().with_metrics(asked);
        examples::counted_loop(&session, &session.plan(&software()), iterations).unwrap()
    };
    let counts = of(2_000_000_000, &[]);
    let cycles = count(&counts, "cycles") as f64;
    let seconds = count(&counts, "task-clock") as f64 * 1e-9;
    let nanojoules = 1e9 * 62.0 * seconds + 1.4 * cycles;
    let found = count(&counts, "package-energy") as f64;
    assert!((found / nanojoules - 1.0).abs() < 1e-5, "{found} is not {nanojoules}");
    let metric = counts.metrics.iter().find(|it| it.id == "energy-per-instruction").unwrap();
    let each = *metric.value.value().unwrap();
    assert!((each - found / count(&counts, "instructions") as f64).abs() < 1e-9, "{each}");
    let text = report(&counts, &[("loop", 2_000_000_000)]).to_string();
    assert!(text.contains("package-energy (nJ)") && text.contains("idling included"), "{text}");
    // A budget is of the program, and this is not.
    let kept = Budget::of(&[counts], 0.1);
    assert!(kept.expected.iter().all(|it| it.event != "package-energy"), "{kept:?}");
}

#[test]
fn energy_of_a_moment_is_no_number() {
    let asked = ["energy-per-instruction".to_owned()];
    let of = |machine: &Machine, iterations: u64, asked: &[String]| {
        let session = Session::on(machine, None).unwrap().with_metrics(asked);
        examples::counted_loop(&session, &session.plan(&[]), iterations).unwrap()
    };
    let machine: Machine = Model::named("2s-56c").unwrap().into();
    let counts = of(&machine, 1_000_000, &asked);
    let reason = why(&counts, "package-energy");
    assert!(reason.contains("ms: counters of energy move once a millisecond"), "{reason}");
    let metric = counts.metrics.iter().find(|it| it.id == asked[0]).unwrap();
    assert!(metric.value.value().is_none(), "{metric:?}");
    // Nobody asked for it.
    let row = |counts: &Counts| counts.events.iter().any(|row| row.event == "package-energy");
    assert!(!row(&of(&machine, 1_000_000, &[])));
    // A machine without counters of energy says so, however long it took.
    let without: Machine = Model::named("4c").unwrap().into();
    let reason = why(&of(&without, 2_000_000_000, &asked), "package-energy");
    assert!(reason.contains("no zone that counts energy"), "{reason}");
}

/// Where CPUID tells of counters, and the kernel has no PMU: in guests.
#[test]
fn counters_without_a_pmu_are_not_there() {
    let mut model = Model::named("epyc").unwrap();
    model.pmu.clear();
    let machine: Machine = model.into();
    let session = Session::on(&machine, None).unwrap();
    let outline = session.outline("loop", &session.plan(&[]));
    let Some(Known::No { unavailable }) = outline.limits else { panic!("{:?}", outline.limits) };
    assert_eq!(unavailable.why, "the kernel has no PMU of the core");
}

#[test]
fn a_function_of_this_program_is_not_executed_by_a_model() {
    let machine = machine(|_| {});
    let session = Session::on(&machine, None).unwrap();
    let mut executed = false;
    let mut function = || executed = true;
    let work = Work::Function(&mut function);
    let reason = session.count("function", &session.plan(&[]), work, &[]).unwrap_err();
    assert!(reason.why.contains("cannot execute a function of this program"), "{reason:?}");
    assert!(!executed);
}

#[test]
fn each_part_has_its_bill() {
    let model = model(|_| {});
    let machine: Machine = model.clone().into();
    let events: Vec<Encoded> = base(&machine, CpuId(0)).into_iter().chain(branches()).collect();
    let mut set = CounterSet::open(&machine, &events, &["parse", "route"]).unwrap();
    let [parse, route] = [set.part("parse").unwrap(), set.part("route").unwrap()];
    assert_eq!((parse, route, set.part("send")), (PartIndex(0), PartIndex(1), None));
    for _ in 0..10 {
        set.switch_to(parse);
        model.execute("loop", 1, 100).unwrap();
        set.done(100);
        set.switch_to(route);
        model.execute("checksum_avx2", 1, 1000).unwrap();
        set.done(1000);
    }
    set.switch_to(parse);
    let bill = set.bill(parse, "packet").unwrap();
    assert_eq!(count(&bill, "instructions"), 10 * (9 + 200));
    assert_eq!(count(&bill, "br_inst_retired.all_branches"), 10 * 102);
    let bill = set.bill(route, "packet").unwrap();
    assert_eq!(count(&bill, "instructions"), 10 * (12 + 394));
    assert_eq!(bill.units[0].number, 10_000);
    assert_eq!(set.intervals(route), Some((10, 0)));
    let expected = |part: &str, event: &str, per_unit: f64, tolerance: f64| Expected {
        part: part.to_owned(),
        event: event.to_owned(),
        per_unit,
        tolerance,
        slack: 0.0,
    };
    let budget = Budget {
        kernel: None,
        expected: vec![
            expected("parse", "instructions", 2.0, 0.05),
            expected("parse", "cycles", 1.0, 0.05),
            expected("route", "instructions", 0.4, 0.05),
            expected("route", "l1_hit", 0.4, 0.05),
            expected("send", "cycles", 1.0, 0.05),
        ],
    };
    let drifts = set.check(&budget);
    let found: Vec<(&str, &str)> = drifts
        .iter()
        .map(|drift| (drift.expected.part.as_str(), drift.expected.event.as_str()))
        .collect();
    assert_eq!(found, [("parse", "cycles"), ("route", "l1_hit"), ("send", "cycles")]);
    assert_eq!(drifts[0].found, Ok(1.2));
    assert!(drifts[1].found.as_ref().unwrap_err().why.contains("this event is not counted"));
    assert!(drifts[2].found.as_ref().unwrap_err().why.contains("no part `send`"));
    let text = serde_json::to_string(&budget).unwrap();
    assert_eq!(serde_json::from_str::<Budget>(&text).unwrap(), budget);
}

/// Counters that lie are found when the set is opened, and later when somebody asks.
#[test]
fn a_set_believes_no_counter_that_lies() {
    let open = |fault: Option<Fault>, events: &[Encoded]| {
        let machine = machine(|model| model.faults.extend(fault));
        CounterSet::open(&machine, events, &["part"])
    };
    let machine_of_all = machine(|_| {});
    let events = [base(&machine_of_all, CpuId(0)), branches()].concat();
    let lies = open(Some(Fault::PmuMiscounts), &events).unwrap_err();
    assert!(lies.why.contains("counted 15003 in a loop that has 10000"), "{lies:?}");
    assert!(lies.remedy.unwrap().contains("pmu selftest"));
    let stood = open(Some(Fault::PmuReadsZero), &events).unwrap_err();
    assert!(stood.why.contains("`instructions` counted 0 in a loop"), "{stood:?}");
    // The second group is the one that the host cheats.
    let shared = with(Fault::PmuHostShares);
    drop(CounterSet::open(&shared, &events, &["part"]).unwrap());
    let second = CounterSet::open(&shared, &events, &["part"]).unwrap_err();
    assert!(second.why.contains("in a loop that has 20000"), "{second:?}");
    // An honest one is verified at any time, and the loop is on no bill.
    let mut honest = open(None, &events).unwrap();
    honest.switch_to(PartIndex(0));
    honest.verify().unwrap();
    honest.switch_to(PartIndex(0));
    assert_eq!(count(&honest.bill(PartIndex(0), "unit").unwrap(), "instructions"), 0);
    assert_eq!(honest.intervals(PartIndex(0)), Some((3, 0)));
}

#[test]
fn an_interval_without_its_counters_is_on_no_bill() {
    let taken = model(|model| model.faults.push(Fault::PmuTaken));
    let machine: Machine = taken.clone().into();
    let mut set = CounterSet::open(&machine, &base(&machine, CpuId(0)), &["part"]).unwrap();
    for _ in 0..5 {
        taken.execute("loop", 1, 1000).unwrap();
        set.switch_to(PartIndex(0));
    }
    // The counters are taken after two executions, of which the canary of the opening was one.
    assert_eq!(set.intervals(PartIndex(0)), Some((5, 4)));
    assert_eq!(count(&set.bill(PartIndex(0), "loop").unwrap(), "instructions"), 2009);
    let lost = set.verify().unwrap_err();
    assert!(lost.why.contains("was off the hardware"), "{lost:?}");
    let mut shared = model(|model| model.faults.push(Fault::PmuMultiplexes));
    shared.name = "shared".to_owned();
    let machine: Machine = shared.clone().into();
    let mut set = CounterSet::open(&machine, &base(&machine, CpuId(0)), &["part"]).unwrap();
    shared.execute("loop", 1, 1000).unwrap();
    set.switch_to(PartIndex(0));
    assert!(
        why(&set.bill(PartIndex(0), "loop").unwrap(), "cycles").contains("each of 1 intervals")
    );
}

/// Programs name events; what they do not mean is said with what they may have meant.
#[test]
fn events_have_names() {
    let machine = machine(|_| {});
    let mut set = CounterSet::open(&machine, &["instructions", "task-clock"], &["part"]).unwrap();
    set.switch_to(PartIndex(0));
    let bill = set.bill(PartIndex(0), "packet").unwrap();
    assert_eq!(row(&bill, "task-clock").unit.as_deref(), Some("ns"));
    let reason = CounterSet::open(&machine, &["instrucions"], &["part"]).unwrap_err();
    assert!(reason.remedy.unwrap().contains("did you mean `instructions"));
    let reason = pmu::measure(|| (), &["nobody's"]).unwrap_err();
    assert!(reason.why.contains("nobody's"), "{reason:?}");
    // What helps is printed with what does not work, where anybody may be pinned at all.
    let mut out = Vec::new();
    pmu::profile_to(&mut out, || (), &["page-fault"], &[]).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains("did you mean `page-faults") || text.starts_with("thread on CPUs"),
        "{text}"
    );
}

#[test]
fn a_set_takes_what_fits_into_one_pass_alone() {
    let machine = machine(|_| {});
    let six: Vec<Encoded> = branches().into_iter().chain(caches()).collect();
    let reason = CounterSet::open(&machine, &six, &["part"]).unwrap_err();
    assert!(reason.why.contains("do not fit together on 4 general"), "{reason:?}");
    assert!(CounterSet::open(&machine, &six[..2], &[]).is_err());
}

/// Whether the kernel lets this process count page faults, and be pinned: asked of the kernel
/// itself.
fn may_count() -> bool {
    const FAULTS: Event = Event { kind: 1, config: 2, kernel: false };
    let counts = sys::perf_open::Counter::open(FAULTS, sys::perf_open::Scope::ThisThread).is_ok();
    let pins = || {
        let usable = sys::affinity::current().ok()?;
        sys::affinity::restrict(&usable).ok()
    };
    counts && pins().is_some()
}

fn touch(pages: usize) {
    let memory: Vec<u8> = std::hint::black_box(vec![1; pages << 21]);
    drop(memory);
}

/// With what this machine has: the kernel's own events are counted wherever anything is.
#[test]
fn functions_of_this_machine_are_counted_with_what_it_has() {
    let pages = 16;
    let mut executed = 0;
    let touched = || {
        executed += 1;
        touch(pages);
    };
    let profile = pmu::profile(touched, &software(), &[("page", pages as u64)]);
    if !may_count() {
        // Whoever may not be pinned has a reason, and whoever may not count has one in each row.
        return match profile {
            Err(reason) => assert!(!reason.why.is_empty(), "{reason:?}"),
            Ok(profile) => assert!(!why(&profile.counts, "page-faults").is_empty()),
        };
    }
    let profile = profile.unwrap();
    assert_eq!((executed, profile.counts.executions), (1, 1), "{profile:#?}");
    assert!(profile.run.cpu.is_some() && profile.run.modes == "user mode", "{:?}", profile.run);
    // Huge pages take one fault each, others more.
    assert!(count(&profile.counts, "page-faults") >= pages as u64, "{profile}");
    assert!(count(&profile.counts, "task-clock") > 1000, "{profile}");
    assert_eq!(row(&profile.counts, "page-faults").way.as_deref(), Some("read(2)"));
    if let Known::Yes(moves) = row(&profile.counts, "cpu-migrations").count {
        assert_eq!(moves, 0, "the thread is pinned");
    }
    let text = profile.to_string();
    assert!(text.contains("TOTAL") && text.contains("/page"), "{text}");
    match pmu::is_available() {
        Err(reason) => {
            assert!(text.contains(&reason.why), "{text}");
            assert!(matches!(row(&profile.counts, "cycles").count, Known::No { .. }));
        }
        Ok(()) => assert!(count(&profile.counts, "cycles") > 1000, "{text}"),
    }
}

/// A program's own function, under circumstances.
#[test]
fn a_function_has_a_data_sheet() {
    let sizes = [4096, 1 << 20];
    let mut called = Vec::new();
    let work = |size: u64| {
        called.push(size);
        let data: Vec<u8> = std::hint::black_box(vec![1; size as usize]);
        drop(data);
    };
    let units = |size| vec![("byte", size), ("page", size / 4096)];
    let sheet = pmu::sheet(work, &["page-faults"], &sizes, units);
    if !may_count() {
        return assert!(sheet.is_err() || !called.is_empty());
    }
    let sheet = sheet.unwrap();
    let titles: Vec<&str> = sheet.run.tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles.len(), 6, "{titles:?}");
    assert_eq!(titles[..2], ["function, 4 KiB, warm", "function, 4 KiB, cold"]);
    let counted = sheet.run.tables.iter().filter(|table| table.executions > 0);
    // Each circumstance calls it before, and once a pass.
    let expected: u64 = counted.map(|table| 2 * table.executions).sum();
    assert_eq!(called.len() as u64, expected, "{sheet}");
    let warm = &sheet.run.tables[0];
    assert_eq!((warm.units[0].number, warm.units[1].number), (4096, 1));
    assert!(row(warm, "page-faults").count.value().is_some(), "{sheet}");
    let text = sheet.to_string();
    for words in ["4 KiB, warm", "1 MiB, cold", "counts of each byte"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Without another CPU nobody is busy beside it, and that is said.
    let beside = sheet.run.tables.iter().find(|table| table.title.ends_with("neighbour busy"));
    let beside = beside.unwrap();
    assert!(beside.circumstances.contains_key("neighbour") || text.contains("only one CPU"));
}

#[test]
fn a_function_is_executed_once_and_its_result_comes_back() {
    let mut executed = 0;
    let (result, counts) = pmu::measure(
        || {
            executed += 1;
            // A sum that the compiler knows may take no more than what is subtracted for the reading.
            (0..100_000).map(std::hint::black_box).sum::<u64>()
        },
        &software(),
    )
    .unwrap();
    assert_eq!((result, counts.executions, executed), (4_999_950_000, 1, 1));
    assert!(
        matches!(row(&counts, "tsc").count, Known::Yes(ticks) if ticks > 0)
            || cfg!(not(target_arch = "x86_64"))
    );
}

/// Real counters of the PMU `msr`, which guests have, too: its TSC is the one that the instruction reads.
#[test]
fn the_pmu_msr_counts_the_time_stamp_counter() {
    let machine = Machine::real();
    let msr = machine::pmu::Pmu::new(machine.tree.as_ref(), "msr");
    let (Ok(kind), Ok(tsc)) = (msr.kind(), msr.event("tsc")) else {
        return; // There is no such PMU: on AArch64, or without rights.
    };
    let event = Encoded {
        name: "msr/tsc/".to_owned(),
        pmu: Some("msr".to_owned()),
        kind: Some(kind),
        config: tsc.config,
        by_mode: false,
        place: CounterPlace::Software,
        ..event("", 0, 0)
    };
    let ((), counts) = pmu::measure(|| spin(1_000_000), &[event]).unwrap();
    // With what reading takes: it is subtracted from each as it was without the function, and may differ since.
    let whole = |count: &u64, name: &str| count + row(&counts, name).own.unwrap_or(0);
    match (&row(&counts, "msr/tsc/").count, &row(&counts, "tsc").count) {
        (Known::Yes(by_pmu), Known::Yes(by_instruction)) => {
            assert!(*by_pmu > 0, "{counts:#?}");
            // It counts while the thread has its CPU, which others may have for most of the time.
            let (by_pmu, by_instruction) =
                (whole(by_pmu, "msr/tsc/"), whole(by_instruction, "tsc"));
            assert!(by_pmu <= by_instruction, "{counts:#?}");
        }
        (Known::No { unavailable }, _) => assert!(!unavailable.why.is_empty()),
        (_, Known::No { .. }) => {}
    }
}

fn spin(times: u64) {
    (0..times).for_each(|number| {
        std::hint::black_box(number);
    });
}

/// Each sample says how it was read; the kernel's own clock has no counter to read by instruction.
#[test]
fn readers_say_which_way_they_went() {
    let clock = Attributes::from(Event { kind: 1, config: 1, kernel: true });
    let wanted = Wanted::of_this_thread("task-clock", clock);
    if let Ok(reader) = Machine::real().perf.open(&wanted, None) {
        let [first, second] = [reader.read().unwrap(), reader.read().unwrap()];
        assert_eq!((first.way, first.waited_ns), (Way::Syscall, second.waited_ns));
        assert!(second.value >= first.value);
    }
    let elsewhere: Machine = machine(|_| {});
    let reader = elsewhere.perf.open(&wanted, None);
    assert!(reader.is_err(), "plain users may not count the kernel's mode");
    let user = Wanted { attributes: Event::CYCLES_USER.into(), ..wanted };
    assert_eq!(elsewhere.perf.open(&user, None).unwrap().read().unwrap().way, Way::Simulated);
}
