//! Counting on Arm, as kernels before 6.6 answer it: a file `cpus` for the only PMU, too, ENOENT for
//! generic events that name a PMU, and 0 for events that the PMU has not.

use machine::Machine;
use model::record::Counts;
use model::{CpuId, Known, Unavailable};
use pmu::counting::{Session, base, examples, rehearse};
use pmu::events::{Encoded, Events, Target};
use simulated::{ArmPmu, CorePmu, Model};

/// A Neoverse N1 and its smaller and larger kin.
const N1: u64 = 0x414f_d0c1;
const A53: u64 = 0x410f_d034;
const A72: u64 = 0x410f_d083;

fn model(pmus: &[(&str, u32, u64)], lacks: &[&str]) -> Model {
    let mut model = Model::named("4c").unwrap();
    let lacks: Vec<String> = lacks.iter().map(|&name| name.to_owned()).collect();
    let pmu = |&(name, kind, midr): &(&str, u32, u64)| CorePmu {
        name: name.to_owned(),
        kind,
        general: 6,
        fixed: 0,
        width: 64,
        halved_by_smt: false,
        events: Vec::new(),
        arm: Some(ArmPmu { midr, lacks: lacks.clone() }),
    };
    model.pmu = pmus.iter().map(pmu).collect();
    model.topology.threads_per_core = 1;
    model
}

fn one_pmu(lacks: &[&str]) -> Machine {
    model(&[("armv8_pmuv3", 8, N1)], lacks).into()
}

/// CPUs 0 and 1 are large, 2 and 3 small.
fn two_pmus() -> Machine {
    let mut model = model(&[("armv8_cortex_a72", 8, A72), ("armv8_cortex_a53", 9, A53)], &[]);
    model.kind = simulated::CoreKind::pair(model.topology.cores_per_package - 2, 2);
    model.into()
}

fn counted_loop(machine: &Machine, cpu: u32, events: &[Encoded]) -> Counts {
    let session = Session::on(machine, Some(CpuId(cpu))).unwrap();
    examples::counted_loop(&session, &session.plan(events), 1_000_000).unwrap()
}

fn count(counts: &Counts, event: &str) -> Result<u64, Unavailable> {
    let row = counts.events.iter().find(|row| row.event == event);
    match &row.unwrap_or_else(|| panic!("{event} is no row of {counts:#?}")).count {
        Known::Yes(count) => Ok(*count),
        Known::No { unavailable } => Err(unavailable.clone()),
    }
}

fn asked(machine: &Machine, names: &[&str]) -> Vec<Encoded> {
    Events::of(Target::of(machine)).resolve_all(names.iter().copied()).unwrap()
}

#[test]
fn the_only_pmu_is_asked_by_plain_numbers() {
    let machine = one_pmu(&[]);
    for event in base(&machine, CpuId(0)) {
        assert_eq!((event.kind, event.config[0] >> 32), (Some(0), 0), "{event:?}");
    }
    let counts = counted_loop(&machine, 0, &asked(&machine, &["branches", "cpu_cycles"]));
    assert_eq!(count(&counts, "instructions"), Ok(2_000_009));
    assert_eq!(count(&counts, "cycles"), Ok(1_000_020));
    assert_eq!(count(&counts, "branches"), Ok(1_000_002));
    assert_eq!(count(&counts, "cpu_cycles"), Ok(1_000_020));
}

#[test]
fn an_event_that_is_not_there_is_not_the_pmu() {
    const ASKED: &str = "ENOENT: PMU `armv8_pmuv3` has no such event";
    const NEVER: &str = "Arm's architecture has no such event";
    // As QEMU's PMU without `-icount`.
    let machine = one_pmu(&["instructions", "branch-instructions"]);
    let counts = counted_loop(&machine, 0, &asked(&machine, &["ref-cycles", "branches"]));
    assert_eq!(count(&counts, "cycles"), Ok(1_000_020));
    for (event, why) in [("instructions", ASKED), ("branches", ASKED), ("ref-cycles", NEVER)] {
        let reason = count(&counts, event).unwrap_err();
        assert!(reason.why.contains(why), "{reason:?}");
        assert_eq!(reason.remedy, None, "nothing helps");
    }
    let (_, absent) = rehearse(&machine, &asked(&machine, &["ref-cycles"]));
    assert!(absent[0].why.contains(ASKED), "{absent:?}");
}

/// Several events in several passes: one that is missing is no reason to doubt the rest.
#[test]
fn events_of_later_passes_are_counted_without_instructions() {
    let machine = one_pmu(&["instructions"]);
    let names = ["branches", "branch-misses", "cache-misses"];
    let counts = counted_loop(&machine, 0, &asked(&machine, &names));
    assert!(counts.executions > 1, "{counts:?}");
    for name in names {
        assert!(count(&counts, name).is_ok(), "{name}: {:?}", count(&counts, name));
    }
}

#[test]
fn kinds_of_cores_are_asked_by_their_own_numbers() {
    let machine = two_pmus();
    for (cpu, kind) in [(0, 8), (3, 9)] {
        let base = base(&machine, CpuId(cpu));
        let of = |name: &str| base.iter().find(|event| event.name == name).unwrap();
        assert_eq!((of("cycles").kind, of("cycles").config[0]), (Some(kind), 0x11));
        assert_eq!((of("instructions").kind, of("instructions").config[0]), (Some(kind), 0x08));
        let counts = counted_loop(&machine, cpu, &asked(&machine, &["branches", "br_mis_pred"]));
        assert_eq!(count(&counts, "instructions"), Ok(2_000_009));
        assert_eq!(count(&counts, "cycles"), Ok(1_000_020));
        let pmu = if cpu == 0 { "armv8_cortex_a72" } else { "armv8_cortex_a53" };
        assert_eq!(count(&counts, &format!("{pmu}/branches/")), Ok(1_000_002));
        let reason = count(&counts, "ref-cycles").unwrap_err();
        assert!(reason.why.contains("Arm's architecture has no such event"), "{reason:?}");
    }
}

/// The kernel opens them all the same, and they count 0.
#[test]
fn events_that_the_pmu_has_not_are_refused_by_every_name() {
    let machine = one_pmu(&["instructions", "branch-instructions"]);
    let events = asked(&machine, &["inst_retired", "br_retired", "r21", "cpu_cycles"]);
    let (able, absent) = rehearse(&machine, &events);
    let able: Vec<&str> = able.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(able, ["cpu_cycles"]);
    assert_eq!(absent.len(), 3, "{absent:?}");
    for reason in &absent {
        assert!(reason.why.starts_with("PMU `armv8_pmuv3` does not have event 0x"), "{reason:?}");
    }
    let counts = counted_loop(&machine, 0, &events);
    assert!(count(&counts, "inst_retired").is_err() && count(&counts, "cpu_cycles").is_ok());
    // A PMU that has them counts them.
    let whole = one_pmu(&[]);
    let (able, absent) = rehearse(&whole, &asked(&whole, &["inst_retired", "br_retired"]));
    assert_eq!((able.len(), absent), (2, Vec::new()));
}
