//! Columns in addition to the usual ones, on simulated machines.

use machine::Machine;
use model::record::{Outcome, PageKind, Presentation, Record, Series};
use model::{CpuSet, Seconds, Unavailable};
use simulated::{Fault, Model};

use super::AddedColumn;
use crate::areas::top::{COLUMN, COUNTERS, Watch, Watched};

/// What was seen of these CPUs in two seconds.
fn seen(model: Model, cpus: &str, added: &[&str], counted: &[&str]) -> Record {
    let machine: Machine = model.into();
    let cpus: CpuSet = cpus.parse().unwrap();
    let added: Vec<AddedColumn> = added.iter().map(|text| text.parse().unwrap()).collect();
    let is_counted_anyway = counted.len() == 1;
    let watched =
        Watched { cpus: Some(&cpus), every: None, added: &added, counted, is_counted_anyway };
    let look = Presentation::of(PageKind::Top);
    let mut watch = Watch::begin(&machine, &watched, Vec::new(), look).unwrap();
    watch.wait(Seconds(2.0));
    watch.look();
    watch.record()
}

fn of<'a>(record: &'a Record, column: &str) -> Vec<&'a Series> {
    let is_it = |series: &&Series| series.parameters.get(COLUMN).is_some_and(|it| it == column);
    record.series.iter().filter(is_it).collect()
}

/// The values of a column, one of each carrier.
fn values(record: &Record, column: &str) -> Vec<f64> {
    let all = of(record, column).into_iter().filter_map(|series| series.samples());
    all.map(|samples| samples.all()[0]).collect()
}

fn reason(series: &Series) -> Option<&Unavailable> {
    match &series.outcome {
        Outcome::Unavailable { unavailable } => Some(unavailable),
        Outcome::Measured { .. } => None,
    }
}

/// Why a column, or its first carrier, has no number.
fn why(record: &Record, column: &str) -> String {
    let absent = record.series.iter().filter_map(reason).find(|it| it.what == column);
    let absent = absent.or_else(|| reason(of(record, column)[0]));
    absent.map(|it| it.why.clone()).unwrap_or_default()
}

fn named(name: &str) -> Model {
    Model::named(name).unwrap()
}

fn with(fault: Fault) -> Model {
    let mut model = named("2s-56c");
    model.faults.push(fault);
    model
}

#[test]
fn registers_files_and_events_are_columns() {
    let mut model = named("2s-56c");
    model.noise.smis_per_second = 3.0;
    let added = [
        "msr/0x34,name=SMIs",
        "msr/0xce,raw,package,name=Info",
        "msr/0xce,raw,u32,core,name=Low",
        "sysfs/devices/system/cpu/cpu5/topology/core_id",
        "sysfs/devices/system/node/nodeN/cpulist,name=list",
        "perf/instructions,name=Instr",
        "perf/cpu/event=0x3c,umask=0x0/,name=Cycles",
    ];
    let record = seen(model, "0,1,56", &added, &[]);
    assert_eq!(values(&record, "SMIs"), [6.0; 3]);
    // Of each package, and of each core.
    assert_eq!((values(&record, "Info").len(), values(&record, "Low").len()), (2, 3));
    let lower = values(&record, "Info")[0] as u64 as u32;
    assert_eq!(values(&record, "Low")[..1], [f64::from(lower)]);
    assert_eq!(values(&record, "core_id").len(), 3);
    // What is no number costs a reason.
    assert!(why(&record, "list").contains("which is no number"), "{}", why(&record, "list"));
    // 1.4 instructions a cycle, in user and kernel mode.
    let (instructions, cycles) = (values(&record, "Instr"), values(&record, "Cycles"));
    assert_eq!(cycles.len(), 3);
    for (instructions, cycles) in instructions.iter().zip(&cycles) {
        assert!(*cycles > 1e8 && (instructions / cycles - 1.4).abs() < 1e-6, "{cycles}");
    }
}

#[test]
fn what_cannot_be_read_has_a_reason_and_the_rest_has_numbers() {
    let added = ["msr/0x10", "perf/no-such-event,name=X", "sysfs/no/such/file,name=F"];
    let record = seen(with(Fault::NoMsr), "0-1", &added, COUNTERS);
    assert!(why(&record, "msr0x10").contains("/dev/cpu/*/msr"), "{}", why(&record, "msr0x10"));
    assert!(why(&record, "X").contains("no-such-event"), "{}", why(&record, "X"));
    assert!(why(&record, "F").contains("/sys/no/such/file"), "{}", why(&record, "F"));
    assert_eq!(values(&record, "IPC").len(), 2);
    let mut model = named("2s-56c");
    model.perf_event_paranoid = 2;
    let record = seen(model, "0-1", &["perf/cycles,name=C", "perf/cycles:u,name=U"], COUNTERS);
    for column in ["C", "U", "IPC", "LLC%hit"] {
        assert!(why(&record, column).contains("EACCES"), "{column}: {}", why(&record, column));
    }
    let mut guest = named("vm-2c");
    guest.perf_event_paranoid = 0;
    let guest = seen(guest, "0", &["perf/cycles,name=C"], COUNTERS);
    assert!(why(&guest, "IPC").contains("hypervisor"), "{}", why(&guest, "IPC"));
}

#[test]
fn ratios_are_of_one_group() {
    let record = seen(named("2s-56c"), "0,9", &[], &["IPC", "Stall%", "L2MRPS", "L2%hit"]);
    let llc = seen(named("2s-56c"), "0", &[], &["LLCMRPS", "LLC%hit"]);
    let near = |record: &Record, column: &str, expected: f64| {
        let value = values(record, column)[0];
        assert!((value / expected - 1.0).abs() < 1e-4, "{column}: {value}");
    };
    near(&record, "IPC", 1.4);
    near(&record, "Stall%", 0.3);
    near(&record, "L2%hit", 0.75);
    near(&llc, "LLC%hit", 0.75);
    let cycles = values(&record, "Avg_MHz")[0];
    near(&record, "L2MRPS", 0.02 * cycles);
    // What ratios are weighted by is there without being asked for.
    near(&record, "cycles of IPC", cycles);
    near(&seen(named("2s-56c"), "0", &[], &["L2%hit"]), "L2MRPS", 0.02 * cycles);
    near(&llc, "LLCMRPS", 0.004 * cycles);
    // There are no turns: what does not fit with the others is left to who asks for it.
    let all = seen(named("2s-56c"), "0", &[], COUNTERS);
    assert!(why(&all, "LLC%hit").contains("do not suffice"), "{}", why(&all, "LLC%hit"));
    // CPU 9 was halted: no cycles, no ratio.
    assert!(reason(of(&record, "IPC")[1]).unwrap().why.contains("idle for the whole"));
}

#[test]
fn counters_of_a_part_of_the_time_are_no_numbers_and_counters_begin_again() {
    let added = ["perf/instructions,name=Instr"];
    for (fault, said) in [(Fault::PmuMultiplexes, "rejected"), (Fault::PmuFalls, "fell")] {
        let record = seen(with(fault), "0", &[], COUNTERS);
        let alone = seen(with(fault), "0", &added, &[]);
        for why in [why(&record, "IPC"), why(&record, "L2%hit"), why(&alone, "Instr")] {
            assert!(why.contains(said), "{why}");
        }
    }
    // Counters are for one of them, unless both are asked for.
    let both = seen(named("2s-56c"), "0", &added, COUNTERS);
    assert!(why(&both, "IPC").contains("the event that was added"), "{}", why(&both, "IPC"));
    let whole = seen(with(Fault::PmuWraps), "0", &added, &["IPC"]);
    assert_eq!(values(&whole, "Instr"), values(&seen(named("2s-56c"), "0", &added, &[]), "Instr"));
}

#[test]
fn each_kind_of_core_has_its_events() {
    let mut model = named("hybrid");
    model.perf_event_paranoid = 0;
    let record = seen(model, "0,8", &["perf/instructions,name=Instr"], &["IPC"]);
    assert_eq!(of(&record, "Instr").len(), 2);
    assert_eq!(of(&record, "IPC").len(), 2);
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let machine: Machine = named("4c").into();
    let added: AddedColumn = "sysfs/devices/system/cpu/online,name=Busy%".parse().unwrap();
    let added = [added];
    let watched = Watched { added: &added, ..Watched::default() };
    let refused = Watch::begin(&machine, &watched, Vec::new(), Presentation::of(PageKind::Top));
    assert!(refused.err().unwrap().why.contains("two columns"));
}

#[test]
fn what_is_added_says_where_it_is() {
    let name = |text: &str| text.parse::<AddedColumn>().map(|column| column.name().to_owned());
    assert_eq!(name("msr/0x1B,u32").unwrap(), "msr0x1b");
    assert_eq!(name("msr/16").unwrap(), "msr0x10");
    assert_eq!(name("sysfs//sys/a/cpu0/b").unwrap(), "b");
    assert_eq!(name("sysfs/sys-like/b,delta,name=x").unwrap(), "x");
    assert_eq!(name("perf/cpu/event=0x3c,umask=0/u").unwrap(), "cpu/event=0x3c,umask=0/u");
    assert_eq!(name("perf/cycles:u,name=a").unwrap(), "a");
    for bad in [
        "",
        "msr0x10",
        "msr/",
        "msr/0xzz",
        "msr/0x10,percent",
        "sysfs/",
        "sysfs/../etc/passwd",
        "perf/",
        "perf/cycles,raw",
        "perf/cycles,core",
        "pmt/1",
        "msr/0x10,name=",
        "sysfs/a/node0/b,core",
    ] {
        assert!(name(bad).is_err(), "{bad}");
    }
}
