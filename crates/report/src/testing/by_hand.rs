//! Records made by hand, for the tests of what is read from them: of pages, and of many records together.

use model::record::{
    Cache, CacheKind, CpuPlace, Disturbance, Fact, FactValue, Outcome, PageKind, Plan,
    Presentation, Record, Run, Samples, Series,
};
use model::{CpuSet, Known, Unit};

/// A record without facts and numbers.
pub(crate) fn blank() -> Record {
    let run = Run {
        id: "1f".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        seconds: 1.0,
        command: Vec::new(),
        simulated: None,
        elsewhere: None,
        interrupted: None,
        plan: Plan::nothing(),
        events: Vec::new(),
        presentation: Presentation { width: 80, ..Presentation::of(PageKind::Sheet) },
    };
    Record::new(run, model::record::Machine::default())
}

/// Samples of a quantity, block by block, in its unit; the first of the active CPUs carries them.
pub(crate) fn series(
    [area, workload, quantity]: [&str; 3],
    active: &str,
    parameters: &[(&str, &str)],
    blocks: &[&[f64]],
) -> Series {
    let samples = Samples::Plain(blocks.iter().map(|block| block.to_vec()).collect());
    let summary = samples.summary().unwrap();
    let active: CpuSet = active.parse().unwrap();
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Series {
        area: area.to_owned(),
        workload: workload.to_owned(),
        quantity: quantity.to_owned(),
        unit: model::areas::quantity(area, quantity).map_or(Unit::One, |row| row.unit),
        parameters: parameters.iter().map(owned).collect(),
        cpu: active.as_slice()[0],
        active,
        placement_class: None,
        outcome: Outcome::Measured { samples, summary },
        fixed_cost: None,
        disturbance: Disturbance::default(),
    }
}

/// Says a text of the machine.
pub(crate) fn say(record: &mut Record, id: &str, text: &str) {
    let value = Known::Yes(FactValue::Text(text.to_owned()));
    record.machine.facts.push(Fact { id: id.to_owned(), label: id.to_owned(), value });
}

/// Puts each CPU on a core of its own, in these packages.
pub(crate) fn place(record: &mut Record, packages: &[&str]) {
    for (package, cpus) in (0..).zip(packages) {
        let cpus: CpuSet = cpus.parse().unwrap();
        record.machine.topology.cpus.extend(cpus.iter().map(|cpu| CpuPlace {
            cpu,
            package,
            die: None,
            module: None,
            core: cpu.0,
            siblings: CpuSet::from_iter([cpu]),
            last_level_cache: cpus.clone(),
            node: None,
            kind: None,
        }));
    }
}

/// Adds caches of a level, one for each of these sets of CPUs.
pub(crate) fn cache(record: &mut Record, level: u8, bytes: u64, instances: &[&str]) {
    record.machine.topology.caches.push(Cache {
        level,
        kind: CacheKind::Unified,
        bytes: Some(bytes),
        line_bytes: None,
        ways: None,
        inclusive: None,
        instances: instances.iter().map(|cpus| cpus.parse().unwrap()).collect(),
    });
}

/// Equal, but for rounding.
#[track_caller]
pub(crate) fn near(found: f64, expected: f64) {
    let off = (found - expected).abs();
    assert!(off <= expected.abs().max(1e-12) * 1e-9, "{found} is not {expected}");
}
