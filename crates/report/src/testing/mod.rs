//! Records that simulated machines gave, and records made by hand, for the tests of what is read from them.

mod by_hand;

pub(crate) use self::by_hand::*;

use machine::Machine;
use measure::areas::memory::{MemoryOptions, Question};
use measure::run::{Request, measure};
use model::record::{
    PageKind, PlannedWorkload, PowerLimit, PowerTerm, Presentation, Record, Series, TurboLimit,
    TurboStep,
};
use model::{CpuId, CpuSet, Seconds};
use rig::executor::Stop;

fn look(page: PageKind) -> Presentation {
    Presentation { width: 80, ..Presentation::of(page) }
}

/// The machine of that name, without a measurement.
pub(crate) fn described(name: &str) -> Record {
    machine::describe(&Machine::named(name).unwrap(), Vec::new(), look(PageKind::Sheet))
}

fn measured(name: &str, request: &Request) -> Record {
    let machine = Machine::named(name).unwrap();
    let mut record = measure(&machine, request, &Stop::default(), &mut |_| {}).unwrap();
    crate::annotate(&mut record);
    record
}

/// What `cpudyno memory` measures of it.
pub(crate) fn memory(
    name: &str,
    question: Question,
    change: impl FnOnce(&mut MemoryOptions),
) -> Record {
    let mut options = MemoryOptions::about(question);
    change(&mut options);
    measured(name, &options.request(vec!["test".to_owned()], look(PageKind::Memory)))
}

/// What `cpudyno sheet` measures of it.
pub(crate) fn sheet(name: &str, budget: f64) -> Record {
    let command = vec!["test".to_owned()];
    let look = look(PageKind::Sheet);
    measured(name, &measure::sheet::request(Seconds(budget), None, None, command, look))
}

/// The same of another one of the active CPUs.
pub(crate) fn on(cpu: u32, series: Series) -> Series {
    Series { cpu: CpuId(cpu), ..series }
}

/// So many watts of a package.
pub(crate) fn power_limit(package: u32, term: PowerTerm, watts: f64) -> PowerLimit {
    PowerLimit {
        package,
        term,
        watts: Some(watts),
        no_limit_watts: None,
        seconds: None,
        enabled: true,
        locked: None,
        source: String::new(),
        beside: Vec::new(),
    }
}

/// Promises so many MHz to CPUs of a package, each up to a number of active cores.
pub(crate) fn promise(record: &mut Record, cpus: &str, steps: &[(u32, f64)]) {
    let step = |&(active_cores, mhz): &(u32, f64)| TurboStep { active_cores, hertz: mhz * 1e6 };
    record.machine.turbo_limits.push(TurboLimit {
        kind: None,
        cpus: cpus.parse().unwrap(),
        cores: None,
        steps: steps.iter().map(step).collect(),
        beyond: None,
        source: "a register".to_owned(),
    });
}

/// Four cores of one package that promises 3,500 MHz to one of them, 3,300 to two and 3,000 to four: streams, the CPUs
/// that executed each of them, and its clock in MHz in each of five blocks.
pub(crate) fn turbo(streams: &[(&str, &str, f64)]) -> Record {
    let mut record = blank();
    place(&mut record, &["0-3"]);
    promise(&mut record, "0-3", &[(1, 3500.0), (2, 3300.0), (4, 3000.0)]);
    for (stream, cpus, mhz) in streams {
        let active: CpuSet = cpus.parse().unwrap();
        let clock = || series(["turbo", stream, "clock"], cpus, &[], &[&[mhz * 1e6][..]; 5]);
        record.series.extend(active.iter().map(|cpu| on(cpu.0, clock())));
        record.run.plan.active_cores.push(active.len() as u32);
    }
    record
}

/// Two cores with two units for multiply-adds of 512 bit: the clock of both in MHz, and the nanoseconds that one
/// multiply-add takes in each block.
pub(crate) fn multiply_adds(mhz: f64, nanoseconds: &[f64]) -> Record {
    const STREAM: &str = "avx512_fma_t";
    let mut record = turbo(&[(STREAM, "0-1", mhz)]);
    say(&mut record, "cpu.microarchitecture", "Cascade Lake");
    let blocks: Vec<[f64; 1]> = nanoseconds.iter().map(|it| [it * 1e-9]).collect();
    let blocks: Vec<&[f64]> = blocks.iter().map(|block| &block[..]).collect();
    let time = || series(["turbo", STREAM, "time_per_op"], "0-1", &[], &blocks);
    record.series.extend([0, 1].map(|cpu| on(cpu, time())));
    record.run.plan.workloads.push(PlannedWorkload {
        id: STREAM.to_owned(),
        title: String::new(),
        kind: "throughput".to_owned(),
        width_bits: Some(512),
        licence: None,
        mnemonic: Some("vfmadd132pd".to_owned()),
        ops_per_iteration: 100,
        datatype: None,
        operations_per_op: None,
    });
    record
}
