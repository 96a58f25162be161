//! The page of a run that was planned and not measured.

use std::collections::{BTreeMap, BTreeSet};

use model::outline::{Outline, OutlinedCell, OutlinedWorkload, Span};
use model::page::{Align, Block, Page, Table, Text, Tone, si};
use model::record::{PageKind, Relation};
use model::{CpuId, CpuSet, Seconds, Unit};

use crate::kit::Absences;

/// Its page.
pub fn outline(outline: &Outline) -> Page {
    let mut blocks =
        vec![title(outline), in_brief(outline), Block::Heading("Cells".to_owned()), cells(outline)];
    if outline.cells.is_empty() {
        blocks.truncate(2);
    }
    blocks.extend(not_planned(outline));
    Page { blocks }
}

fn title(outline: &Outline) -> Block {
    let what = match outline.page {
        PageKind::Turbo => "clocks under instruction streams",
        PageKind::Memory => "bandwidth and latency of memory",
        PageKind::Cores => "latencies from core to core",
        PageKind::Wait => "what advice on waiting rests on",
        PageKind::Pause => "times of instructions that wait",
        PageKind::Wake => "what waking a thread costs",
        PageKind::Openmp => "what parallel regions cost",
        PageKind::Jitter => "interruptions of busy CPUs",
        PageKind::Threads => "numbers of threads",
        PageKind::Key => "the key of a machine",
        PageKind::Sheet => "a data sheet",
        _ => "a run",
    };
    let text = match (&outline.simulated, &outline.elsewhere) {
        (Some(name), _) => format!("SIMULATED plan of {what}: machine sim:{name}"),
        (None, Some(_)) => format!("Plan of {what} for a machine elsewhere"),
        (None, None) => format!("Plan of {what}"),
    };
    let tool = &outline.tool;
    let from = outline.elsewhere.as_ref().map_or(String::new(), |from| format!(", {from}"));
    let subtitle = format!("{} {}{from}, nothing was measured", tool.name, tool.version);
    Block::Title { text, subtitle }
}

fn planned(outline: &Outline) -> impl Iterator<Item = &OutlinedCell> {
    outline.cells.iter().filter(|cell| cell.planned)
}

/// What a quota means for as many threads at once as are planned.
fn quota(outline: &Outline) -> Option<String> {
    let (quota, words) = outline.quota_cpus.zip(outline.quota.as_ref())?;
    let most = planned(outline).map(|cell| cell.cpus.len()).max()?;
    (quota < most as f64).then(|| {
        let stopped = match quota.floor() {
            0.0 => "one thread is".to_owned(),
            1.0 => "more than 1 thread at once are".to_owned(),
            at_once => format!("more than {at_once} threads at once are"),
        };
        format!("{words}: {stopped} stopped in between")
    })
}

fn in_brief(outline: &Outline) -> Block {
    let cpus: CpuSet = outline.cpus.iter().copied().collect();
    let (sweep, once) = (outline.sweep_seconds, outline.once_seconds);
    let sweeps = match outline.span {
        // As many as there is time for, and one at least.
        Span::All(time) => ((time / sweep) as u64).max(1).min(outline.sweeps),
        Span::Budget(_) | Span::Blocks(_) | Span::Bounded(_) => outline.sweeps,
    };
    let takes = si::run_length(sweep.0 * sweeps as f64 + once.0);
    let fitting = planned(outline).count();
    let (fit, given) = match outline.span {
        Span::Budget(budget) => {
            (" fit into the budget", format!(" of {}", si::run_length(budget.0)))
        }
        Span::All(time) => ("", format!(" of {}", si::run_length(time.0))),
        Span::Bounded(_) => ("", format!(", {} at most", si::run_length(outline.seconds_max.0))),
        Span::Blocks(_) => ("", String::new()),
    };
    let usable = format!("{} of {} online", outline.usable.len(), outline.online.len());
    let mut lines = vec![
        ("CPUs", format!("{cpus}: {}", outline.placement)),
        ("Usable", usable),
        ("Quota", quota(outline).unwrap_or_default()),
        ("Active at once", active(outline)),
        ("Cells", format!("{fitting} of {}{fit}", outline.cells.len())),
        ("Sweeps", in_order(sweeps, sweep, once)),
        ("Time", format!("about {takes}{given}, calibration and probes not counted")),
    ];
    lines.retain(|(_, text)| !text.is_empty());
    if fitting == 0 {
        lines.retain(|(label, _)| ["CPUs", "Usable", "Cells"].contains(label));
    }
    Block::Box(lines.into_iter().map(|(label, text)| (label.to_owned(), text.into())).collect())
}

/// What is gone through again and again, and what once.
fn in_order(sweeps: u64, sweep: Seconds, once: Seconds) -> String {
    let time = |seconds: Seconds| si::run_length(seconds.0);
    let each = format!("{sweeps}, each one block of every cell: {}", time(sweep));
    match (sweep.0 > 0.0, once.0 > 0.0) {
        (_, false) => each,
        (true, true) => format!("{each}; then what goes on over time: {}", time(once)),
        (false, true) => format!("what goes on over time, once: {}", time(once)),
    }
}

/// The numbers of active cores, ascending.
fn active(outline: &Outline) -> String {
    let mut counts: Vec<usize> = planned(outline).map(|cell| cell.cpus.len()).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// One row for each workload: with how many cores it is measured, and with how many it is not.
fn cells(outline: &Outline) -> Block {
    let workloads = &outline.workloads;
    let kinds: Vec<String> = workloads.iter().map(|workload| kinds(outline, workload)).collect();
    let has_kinds = kinds.iter().any(|kinds| !kinds.is_empty());
    let row = |(workload, kinds): (&OutlinedWorkload, &String)| {
        let of = |fits: bool| -> Vec<CoreCount> {
            let cells = of_workload(outline, workload).filter(|cell| cell.planned == fits);
            cells.map(CoreCount::of).collect()
        };
        let planned = of(true);
        let sweep = planned.iter().fold(Seconds(0.0), |sum, count| sum + count.cost);
        let mut cells = vec![
            Text::from(workload.area),
            Text::from(workload.id),
            Text::from(counts(planned)),
            Text::from(si::run_length(sweep.0)),
        ];
        if has_kinds {
            cells.push(Text::from(kinds.as_str()));
        }
        if outline.left_out.is_some() {
            cells.push(Text::toned(counts(of(false)), Tone::Faint));
        }
        cells
    };
    Table::of("Cells: workloads by number of active cores")
        .left("area")
        .left("workload")
        .left("active cores")
        .right("per sweep")
        .columns(has_kinds.then_some(("sizes, nodes, pairs", Align::Folded)))
        .columns(outline.left_out.is_some().then_some(("does not fit with", Align::Left)))
        .rows(workloads.iter().zip(&kinds).map(row))
        .into()
}

fn of_workload<'a>(
    outline: &'a Outline,
    workload: &'a OutlinedWorkload,
) -> impl Iterator<Item = &'a OutlinedCell> {
    let is_its =
        |cell: &&OutlinedCell| cell.area == workload.area && cell.workloads.contains(&workload.id);
    outline.cells.iter().filter(is_its)
}

/// What tells the cells of a workload apart: how large their data is, from which node to which, how the
/// CPUs of pairs lie to each other.
fn kinds(outline: &Outline, workload: &OutlinedWorkload) -> String {
    let mine: Vec<&OutlinedCell> =
        of_workload(outline, workload).filter(|cell| cell.planned).collect();
    let numbers = |key: &str| -> BTreeSet<u64> {
        let texts = mine.iter().filter_map(|cell| cell.parameters.get(key));
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
    let are_pairs = mine.iter().all(|cell| cell.cpus.len() == 2);
    let pairs = mine.iter().filter(|_| are_pairs);
    let relations = pairs.filter_map(|cell| cell.relation);
    let mut counts: BTreeMap<Relation, usize> = BTreeMap::new();
    for relation in relations {
        *counts.entry(relation).or_default() += 1;
    }
    let pairs = counts.into_iter().map(|(relation, count)| format!("{count} {}", relation.word()));
    sizes.into_iter().chain(nodes).chain(pairs).collect::<Vec<_>>().join(", ")
}

/// A number of active cores.
struct CoreCount {
    /// The type of the cores, where the machine has several and they are not mixed.
    core_type: Option<String>,
    cores: usize,
    /// The first of its CPUs.
    cpu: CpuId,
    /// Seconds of one block.
    cost: Seconds,
}

impl CoreCount {
    fn of(cell: &OutlinedCell) -> CoreCount {
        CoreCount {
            core_type: cell.parameters.get("core_type").cloned(),
            cores: cell.cpus.len(),
            cpu: cell.cpus[0],
            cost: cell.block_seconds,
        }
    }
}

/// Ascending numbers of active cores: `1, 2, 4`, or `1 (on 56 CPUs)`, one after the other, or `1 (44
/// times)` on the same; those of each type of core by themselves: `P 1, 2; E 1`.
fn counts(mut counts: Vec<CoreCount>) -> String {
    // Types stay in their order.
    let mut types: Vec<Option<String>> = Vec::new();
    for count in &counts {
        if !types.contains(&count.core_type) {
            types.push(count.core_type.clone());
        }
    }
    counts.sort_by_key(|count| count.cores);
    let word = |equal: &[&CoreCount]| match equal {
        [CoreCount { cores: 1, .. }, _, ..] if distinct(equal) == equal.len() => {
            format!("1 (on {} CPUs)", equal.len())
        }
        [count, _, ..] => format!("{} ({} times)", count.cores, equal.len()),
        _ => equal.iter().map(|count| count.cores.to_string()).collect(),
    };
    let of_type = |core_type: &Option<String>| {
        let mine: Vec<&CoreCount> = counts.iter().filter(|c| c.core_type == *core_type).collect();
        let words: Vec<String> = mine.chunk_by(|a, b| a.cores == b.cores).map(word).collect();
        let name = core_type.as_ref().map_or(String::new(), |name| format!("{name} "));
        name + &words.join(", ")
    };
    types.iter().map(of_type).collect::<Vec<_>>().join("; ")
}

/// On how many CPUs these begin.
fn distinct(counts: &[&CoreCount]) -> usize {
    counts.iter().map(|count| count.cpu).collect::<BTreeSet<_>>().len()
}

/// What is left out, by reason.
fn not_planned(outline: &Outline) -> Vec<Block> {
    let mut absences = Absences::default();
    for absent in &outline.absent {
        absences.note(&absent.unavailable, absent.unavailable.what.clone());
    }
    if let Some(reason) = &outline.left_out {
        let count = outline.cells.len() - planned(outline).count();
        absences.note(reason, format!("{count} cell{}", if count == 1 { "" } else { "s" }));
    }
    let remarks = absences.remarks();
    if remarks.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Not measured".to_owned()), Block::Remarks(remarks)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_counts_are_folded() {
        let mut next = 0;
        let mut of = |core_type: Option<&str>, cores| CoreCount {
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
        let sizes = [cell(1), cell(1), cell(1)].map(|count| CoreCount { cpu: CpuId(7), ..count });
        assert_eq!(counts(sizes.into()), "1 (3 times)");
        let [fast, small] = [Some("P"), Some("E")];
        assert_eq!(counts(vec![of(fast, 2), of(fast, 1), of(small, 1)]), "P 1, 2; E 1");
        assert_eq!(counts(Vec::new()), "");
    }
}
