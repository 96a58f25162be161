//! What a run would measure, before anything is measured.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Machine, facts};
use model::page::{Align, Block, Page, Table, Text, Tone, si};
use model::record::{PageKind, Relation, Tool, Topology};
use model::{CpuId, CpuSet, Seconds, Unavailable, Unit};

use super::{Error, Planned, Program, Request, Span, assemble};
use crate::run::plan::Planning;
use rig::placement::Placement;

/// What a run would measure.
pub struct Outline {
    /// For people.
    pub page: Page,
    /// For programs.
    pub json: String,
}

/// What a run of this request would measure on this machine, what not, and why. It works for
/// machines that are not here, too.
pub fn outline(machine: &Machine, request: &Request) -> Result<Outline, Error> {
    let description = facts::machine(machine);
    let topology = &description.topology;
    let placement = request.cpus.place(topology)?;
    let planning = Planning {
        machine,
        description: &description,
        placement: &placement,
        streams: &request.streams,
    };
    let program = Program::new(&planning, request)?;
    let usable = format!("{} of {} online", topology.usable.len(), topology.online.len());
    let json = json(machine, topology, &placement, &program);
    let mut blocks = vec![
        title(machine, request.presentation.page),
        in_brief(&program, request.span, &placement, usable, quota(machine, &program)),
        Block::Heading("Cells".to_owned()),
        cells(&program, topology),
    ];
    if program.cells.is_empty() && program.left_out.is_empty() {
        blocks.truncate(2);
    }
    blocks.extend(not_planned(&program));
    Ok(Outline { page: Page { blocks }, json })
}

/// The plan as JSON: cells with their CPUs and whatever tells them apart.
fn json(machine: &Machine, topology: &Topology, on: &Placement, program: &Program) -> String {
    let cell = |planned: &Planned, is_planned: bool| {
        let workloads = planned.cell.workloads().into_iter().map(|workload| workload.id);
        let cpus = planned.cell.cpus();
        let relation = pair(topology, &cpus).map(Relation::word);
        serde_json::json!({
            "area": program.areas[planned.area].id(),
            "workloads": workloads.collect::<Vec<_>>(),
            "cpus": cpus,
            "parameters": planned.cell.parameters,
            "relation": relation,
            "block_seconds": planned.cell.duration().0,
            "planned": is_planned,
        })
    };
    let planned = program.cells.iter().map(|planned| cell(planned, true));
    let left_out = program.left_out.iter().map(|planned| cell(planned, false));
    let absent = program.absent.iter().map(|(area, id, reason)| {
        serde_json::json!({ "area": program.areas[*area].id(), "id": id, "unavailable": reason })
    });
    let plan = serde_json::json!({
        "schema": "cpudyno.plan/1",
        "tool": Tool::this(),
        "simulated": machine.simulated.as_ref().map(|model| &model.name),
        "elsewhere": machine.elsewhere,
        "cpus": on.cpus,
        "placement": on.reason,
        "usable": topology.usable,
        "online": topology.online,
        "quota_cpus": facts::cpu_quota(machine).ok().flatten().map(facts::Quota::cpus),
        "sweeps": program.sweeps,
        "sweep_seconds": program.cost_of(false).0,
        "cells": planned.chain(left_out).collect::<Vec<_>>(),
        "absent": absent.collect::<Vec<_>>(),
    });
    format!("{plan:#}\n")
}

/// How two CPUs lie to each other, where a cell has two.
fn pair(topology: &Topology, cpus: &[CpuId]) -> Option<Relation> {
    let &[a, b] = cpus else { return None };
    topology.relation(a, b)
}

fn title(machine: &Machine, page: PageKind) -> Block {
    let what = match page {
        PageKind::Turbo => "clocks under instruction streams",
        PageKind::Memory => "bandwidth and latency of memory",
        PageKind::Cores => "latencies from core to core",
        PageKind::Wait => "what advice on waiting rests on",
        PageKind::Pause => "times of instructions that wait",
        PageKind::Wake => "what waking a thread costs",
        PageKind::Openmp => "what parallel regions cost",
        PageKind::Sheet
        | PageKind::Info
        | PageKind::Doctor
        | PageKind::Settings
        | PageKind::Changes
        | PageKind::Top
        | PageKind::Ab
        | PageKind::Pmu
        | PageKind::Quiet
        | PageKind::Gate
        | PageKind::Sst => "a data sheet",
    };
    let text = match (&machine.simulated, &machine.elsewhere) {
        (Some(model), _) => format!("SIMULATED plan of {what}: machine sim:{}", model.name),
        (None, Some(_)) => format!("Plan of {what} for a machine elsewhere"),
        (None, None) => format!("Plan of {what}"),
    };
    let tool = Tool::this();
    let from = machine.elsewhere.as_ref().map_or(String::new(), |from| format!(", {from}"));
    let subtitle = format!("{} {}{from}, nothing was measured", tool.name, tool.version);
    Block::Title { text, subtitle }
}

/// What a quota means for as many threads at once as are planned.
fn quota(machine: &Machine, program: &Program) -> Option<String> {
    let quota = facts::cpu_quota(machine).ok().flatten()?;
    let most = program.cells.iter().map(|planned| planned.cell.cpus().len()).max()?;
    quota.binds(most).then(|| {
        let stopped = match quota.cpus().floor() {
            0.0 => "one thread is".to_owned(),
            1.0 => "more than 1 thread at once are".to_owned(),
            at_once => format!("more than {at_once} threads at once are"),
        };
        format!("{}: {stopped} stopped in between", quota.words())
    })
}

fn in_brief(
    program: &Program,
    span: Span,
    placement: &Placement,
    usable: String,
    quota: Option<String>,
) -> Block {
    let cpus: CpuSet = placement.cpus.iter().copied().collect();
    let [sweep, once] = [false, true].map(|once| program.cost_of(once));
    let sweeps = match span {
        // As many as there is time for, and one at least.
        Span::All(time) => ((time / sweep) as u64).max(1).min(program.sweeps),
        Span::Budget(_) | Span::Blocks(_) | Span::Bounded(_) => program.sweeps,
    };
    let takes = si::format(sweep.0 * sweeps as f64 + once.0, Unit::Second);
    let total = program.cells.len() + program.left_out.len();
    let (fit, given) = match span {
        Span::Budget(budget) => {
            (" fit into the budget", format!(" of {}", si::format(budget.0, Unit::Second)))
        }
        Span::All(time) => ("", format!(" of {}", si::format(time.0, Unit::Second))),
        Span::Bounded(_) => {
            ("", format!(", {} at most", si::format(program.latest().0, Unit::Second)))
        }
        Span::Blocks(_) => ("", String::new()),
    };
    let mut lines = vec![
        ("CPUs", format!("{cpus}: {}", placement.reason)),
        ("Usable", usable),
        ("Quota", quota.unwrap_or_default()),
        ("Active at once", active(&program.cells)),
        ("Cells", format!("{} of {total}{fit}", program.cells.len())),
        ("Sweeps", in_order(sweeps, sweep, once)),
        ("Time", format!("about {takes}{given}, calibration and probes not counted")),
    ];
    lines.retain(|(_, text)| !text.is_empty());
    if program.cells.is_empty() {
        lines.retain(|(label, _)| ["CPUs", "Usable", "Cells"].contains(label));
    }
    Block::Box(lines.into_iter().map(|(label, text)| (label.to_owned(), text.into())).collect())
}

/// What is gone through again and again, and what once.
fn in_order(sweeps: u64, sweep: Seconds, once: Seconds) -> String {
    let time = |seconds: Seconds| si::format(seconds.0, Unit::Second);
    let each = format!("{sweeps}, each one block of every cell: {}", time(sweep));
    match (sweep.0 > 0.0, once.0 > 0.0) {
        (_, false) => each,
        (true, true) => format!("{each}; then what goes on over time: {}", time(once)),
        (false, true) => format!("what goes on over time, once: {}", time(once)),
    }
}

/// The numbers of active cores, ascending.
fn active(cells: &[Planned]) -> String {
    let mut counts: Vec<usize> = cells.iter().map(|planned| planned.cell.cpus().len()).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// One row for each workload: with how many cores it is measured, and with how many it is not.
fn cells(program: &Program, topology: &Topology) -> Block {
    let all = program.cells.iter().chain(&program.left_out);
    let of = |planned: &Planned| {
        let area = planned.area;
        planned.cell.workloads().into_iter().map(move |one| (area, one.order, one.id))
    };
    let mut workloads: Vec<(usize, usize, &str)> = all.flat_map(of).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let mut columns = vec![
        ("area", Align::Left),
        ("workload", Align::Left),
        ("active cores", Align::Left),
        ("per sweep", Align::Right),
    ];
    let kinds: Vec<String> =
        workloads.iter().map(|&(area, _, id)| kinds(program, topology, area, id)).collect();
    let has_kinds = kinds.iter().any(|kinds| !kinds.is_empty());
    if has_kinds {
        columns.push(("sizes, nodes, pairs", Align::Folded));
    }
    if !program.left_out.is_empty() {
        columns.push(("does not fit with", Align::Left));
    }
    let row = |(&(area, _, id), kinds): (&(usize, usize, &str), &String)| {
        let of = |cells: &'_ [Planned]| -> Vec<Count> {
            let has = |p: &&Planned| p.cell.workloads().iter().any(|known| known.id == id);
            cells.iter().filter(|p| p.area == area).filter(has).map(Count::of).collect()
        };
        let planned = of(&program.cells);
        let sweep = planned.iter().fold(Seconds(0.0), |sum, count| sum + count.cost);
        let mut cells = vec![
            Text::from(program.areas[area].id()),
            Text::from(id),
            Text::from(counts(planned)),
            Text::from(si::format(sweep.0, Unit::Second)),
        ];
        if has_kinds {
            cells.push(Text::from(kinds.as_str()));
        }
        if !program.left_out.is_empty() {
            cells.push(Text::toned(counts(of(&program.left_out)), Tone::Faint));
        }
        cells
    };
    Block::Table(Table {
        caption: "cells: a workload on so many cores at once".to_owned(),
        columns: columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect(),
        rows: workloads.iter().zip(&kinds).map(row).collect(),
        notes: Vec::new(),
    })
}

/// What tells the cells of a workload apart: how large their data is, from which node to which, how the
/// CPUs of pairs lie to each other.
fn kinds(program: &Program, topology: &Topology, area: usize, id: &str) -> String {
    let has = |planned: &&Planned| {
        planned.area == area && planned.cell.workloads().iter().any(|known| known.id == id)
    };
    let mine: Vec<&Planned> = program.cells.iter().filter(has).collect();
    let numbers = |key: &str| -> BTreeSet<u64> {
        let texts = mine.iter().filter_map(|planned| planned.cell.parameters.get(key));
        texts.filter_map(|text| text.parse().ok()).collect()
    };
    let sizes = numbers("footprint");
    let size = |bytes: &u64| si::format(*bytes as f64, Unit::Byte);
    let sizes = match (sizes.first(), sizes.last()) {
        (Some(least), Some(most)) if least < most => {
            Some(format!("{} to {}", size(least), size(most)))
        }
        (Some(one), _) => Some(size(one)),
        _ => None,
    };
    let list = |nodes: BTreeSet<u64>| -> String {
        let nodes = nodes.into_iter().filter_map(|node| u32::try_from(node).ok().map(CpuId));
        // Node lists are written like CPU lists.
        nodes.collect::<CpuSet>().to_string()
    };
    let (from, to) = (numbers("from_node"), numbers("to_node"));
    let nodes = (!from.is_empty()).then(|| format!("nodes {} to {}", list(from), list(to)));
    // Of workloads of pairs; what others do with two CPUs is one number of many.
    let are_pairs = mine.iter().all(|planned| planned.cell.cpus().len() == 2);
    let pairs = mine.iter().filter(|_| are_pairs);
    let relations = pairs.filter_map(|planned| pair(topology, &planned.cell.cpus()));
    let mut counts: BTreeMap<Relation, usize> = BTreeMap::new();
    for relation in relations {
        *counts.entry(relation).or_default() += 1;
    }
    let pairs = counts.into_iter().map(|(relation, count)| format!("{count} {}", relation.word()));
    sizes.into_iter().chain(nodes).chain(pairs).collect::<Vec<_>>().join(", ")
}

/// A number of active cores.
struct Count {
    /// The type of the cores, where the machine has several and they are not mixed.
    core_type: Option<String>,
    cores: usize,
    /// The first of its CPUs.
    cpu: CpuId,
    /// Seconds of one block.
    cost: Seconds,
}

impl Count {
    fn of(planned: &Planned) -> Count {
        Count {
            core_type: planned.cell.parameters.get("core_type").cloned(),
            cores: planned.cell.cpus().len(),
            cpu: planned.cell.cpus()[0],
            cost: planned.cell.duration(),
        }
    }
}

/// Ascending numbers of active cores: `1, 2, 4`, or `1 (on 56 CPUs)`, one after the other, or `1 (44
/// times)` on the same; those of each type of core by themselves: `P 1, 2; E 1`.
fn counts(mut counts: Vec<Count>) -> String {
    // Types stay in their order.
    let mut types: Vec<Option<String>> = Vec::new();
    for count in &counts {
        if !types.contains(&count.core_type) {
            types.push(count.core_type.clone());
        }
    }
    counts.sort_by_key(|count| count.cores);
    let word = |equal: &[&Count]| match equal {
        [Count { cores: 1, .. }, _, ..] if distinct(equal) == equal.len() => {
            format!("1 (on {} CPUs)", equal.len())
        }
        [count, _, ..] => format!("{} ({} times)", count.cores, equal.len()),
        _ => equal.iter().map(|count| count.cores.to_string()).collect(),
    };
    let of_type = |core_type: &Option<String>| {
        let mine: Vec<&Count> = counts.iter().filter(|c| c.core_type == *core_type).collect();
        let words: Vec<String> = mine.chunk_by(|a, b| a.cores == b.cores).map(word).collect();
        let name = core_type.as_ref().map_or(String::new(), |name| format!("{name} "));
        name + &words.join(", ")
    };
    types.iter().map(of_type).collect::<Vec<_>>().join("; ")
}

/// On how many CPUs these begin.
fn distinct(counts: &[&Count]) -> usize {
    counts.iter().map(|count| count.cpu).collect::<BTreeSet<_>>().len()
}

/// What is left out, by reason.
fn not_planned(program: &Program) -> Vec<Block> {
    let mut absences = report::kit::Absences::default();
    for (_, _, reason) in &program.absent {
        absences.note(reason, reason.what.clone());
    }
    let count = program.left_out.len();
    let reason = Unavailable::new(
        model::Obstacle::Measurement,
        "cells",
        format!("five blocks of each do not fit into half of {} s", program.time.0),
    )
    .with_remedy(assemble::more_time(program, program.time.0));
    if count > 0 {
        absences.note(&reason, format!("{count} cell{}", if count == 1 { "" } else { "s" }));
    }
    let remarks = absences.remarks();
    if remarks.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Not measured".to_owned()), Block::Remarks(remarks)]
}

#[cfg(test)]
mod tests {
    use model::record::Presentation;

    use super::*;
    use rig::executor::Stop;

    /// A machine that is not here, with the files of a simulated one: it has no AVX-512.
    fn elsewhere() -> Machine {
        let simulated = Machine::named("sim:1c").unwrap();
        Machine { simulated: None, elsewhere: Some("a capture".to_owned()), ..simulated }
    }

    fn request() -> Request {
        let presentation =
            Presentation { width: 80, colour: false, verbosity: 0, page: PageKind::Sheet };
        let streams = kernels::streams::TABLE.to_vec();
        crate::sheet::request(Seconds(30.0), None, Some(streams), Vec::new(), presentation)
    }

    #[test]
    fn elsewhere_is_planned_by_its_own_instruction_sets() {
        let page = outline(&elsewhere(), &request()).unwrap().page;
        let Some(Block::Table(table)) = page.blocks.iter().find(|b| matches!(b, Block::Table(_)))
        else {
            panic!("no cells: {page:?}");
        };
        let planned: Vec<&str> = table.rows.iter().map(|row| row[1].text.as_str()).collect();
        assert!(planned.contains(&"scalar_iadd"), "{planned:?}");
        assert!(!planned.iter().any(|id| id.starts_with("avx512")), "{planned:?}");
        #[cfg(target_arch = "x86_64")]
        {
            let Some(Block::Remarks(remarks)) = page.blocks.last() else { panic!("{page:?}") };
            assert!(remarks.iter().any(|remark| remark.text.contains("lacks avx512f")));
            assert!(planned.contains(&"avx256_fma"), "{planned:?}");
        }
    }

    #[test]
    fn elsewhere_is_not_measured() {
        let never = |_: super::super::Progress<'_>| panic!("nothing may be read before");
        let refused =
            super::super::measure(&elsewhere(), &request(), &Stop::default(), &mut { never });
        let Err(Error::Unavailable(reason)) = refused else { panic!("it was measured") };
        assert!(reason.why.contains("a capture"), "{reason:?}");
        assert!(reason.remedy.unwrap().contains("--dry-run"));
    }

    #[test]
    fn equal_counts_are_folded() {
        let mut next = 0;
        let mut of = |core_type: Option<&str>, cores| Count {
            core_type: core_type.map(str::to_owned),
            cores,
            cpu: {
                next += 1;
                CpuId(next)
            },
            cost: Seconds(1.0),
        };
        let mut cell = |cores| of(None, cores);
        assert_eq!(counts(vec![cell(4), cell(1), cell(2)]), "1, 2, 4");
        assert_eq!(counts(vec![cell(1), cell(1), cell(2)]), "1 (on 2 CPUs), 2");
        let sizes = [cell(1), cell(1), cell(1)].map(|count| Count { cpu: CpuId(7), ..count });
        assert_eq!(counts(sizes.into()), "1 (3 times)");
        let [fast, small] = [Some("P"), Some("E")];
        assert_eq!(counts(vec![of(fast, 2), of(fast, 1), of(small, 1)]), "P 1, 2; E 1");
        assert_eq!(counts(Vec::new()), "");
    }
}
