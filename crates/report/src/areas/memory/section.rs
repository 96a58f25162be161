//! The area's part of the sheet.

use model::CpuSet;
use model::page::tally;
use model::page::{Align, Block, Table, Text, Tone};
use model::record::Record;

use super::super::interference;
use super::byte_accounting::Counting;
use super::cache_boundaries::{LatencyLevel, Whose};
use super::read::{Cell, alone, cells, cores, in_order};
use super::shown::bandwidth::medians;
use super::shown::sweep::{
    LevelVerdict, Sweep, bandwidth_plot, gaps, latency_plot, level_table, name, sweep, verdict,
};
use super::shown::{loaded, nanoseconds, numa, scaling, size};
use super::working_set::Extent;

pub(super) fn section(record: &Record) -> Vec<Block> {
    let counting = Counting::of(record);
    let mut blocks = Vec::new();
    let bandwidths = in_brief(record);
    if let Some(heading) = bandwidth_heading(record, &bandwidths) {
        blocks.push(Block::Heading(heading));
        blocks.push(bandwidth_table(record, &bandwidths));
        blocks.extend(scaling::in_brief(counting, &record.machine.topology, &bandwidths));
    }
    if let Some(sweep) = sweep(record) {
        blocks.push(Block::Heading("Latency and bandwidth by size".to_owned()));
        blocks.extend(latency_plot(&sweep));
        blocks.extend(bandwidth_plot(counting, &sweep));
        blocks.extend(level_table(counting, &sweep));
        blocks.extend(gaps(&sweep));
    }
    if let Some(loaded) = loaded::loaded(record) {
        blocks.push(Block::Heading(loaded::heading(counting, &loaded)));
        blocks.push(loaded::table(counting, &loaded));
        blocks.extend(loaded::plot(counting, &loaded));
    }
    blocks.extend(numa::blocks(record));
    blocks
}

/// The first choice of variants; of several types of cores that are alone, the first.
fn in_brief(record: &Record) -> Vec<Cell<'_>> {
    let topology = &record.machine.topology;
    let mut cells = of_every_type(record);
    let first = cells.iter().find_map(|cell| alone(topology, cell.active));
    cells.retain(|cell| alone(topology, cell.active).is_none_or(|kind| Some(kind) == first));
    cells
}

/// The same of every type.
fn of_every_type(record: &Record) -> Vec<Cell<'_>> {
    let mut cells = cells(record, "bandwidth");
    let choice = cells.first().and_then(|cell| cell.text("choice"));
    cells.retain(|cell| cell.text("choice") == choice);
    cells
}

fn bandwidth_heading(record: &Record, cells: &[Cell<'_>]) -> Option<String> {
    cells.first()?;
    let extents = Counting::of(record).extents(cells);
    let words: Vec<String> = extents.iter().map(Extent::words).collect();
    Some(format!("Bandwidth: {}", words.join(", ")))
}

fn bandwidth_table(record: &Record, cells: &[Cell<'_>]) -> Block {
    let counting = Counting::of(record);
    let mut counts = in_order(cells.iter().map(|cell| cell.active.len()));
    counts.sort_unstable();
    // Of numbers of cores between the ends only one kernel is measured: a line shows them.
    let kernels = in_order(cells.iter().map(|cell| cell.workload)).len();
    let of_count = |count| cells.iter().filter(|cell| cell.active.len() == count).count();
    counts.retain(|count| of_count(*count) > 1 || kernels == 1);
    let of = |kernel: &str, count: usize| {
        cells.iter().find(|cell| cell.workload == kernel && cell.active.len() == count)
    };
    let value = |cell: Option<&Cell<'_>>| {
        let Some(cell) = cell else { return Text::toned("not planned", Tone::Faint) };
        let Some(numbers) = cell.numbers("bandwidth") else {
            return Text::toned("unavailable", Tone::Warning);
        };
        let asked = medians(counting, &numbers, 1.0);
        match counting.moved_per_asked(cell) {
            Some(moved) if moved > 1.0 => {
                format!("{asked} ({})", medians(counting, &numbers, moved)).into()
            }
            _ => asked.into(),
        }
    };
    let row = |kernel: &str| {
        let widest = counts.last().and_then(|count| of(kernel, *count));
        let formula = widest.and_then(|cell| cell.text("formula")).unwrap_or("");
        let variant = widest.and_then(|cell| cell.text("variant")).unwrap_or("-");
        let mut row = vec![Text::from(kernel), Text::from(formula)];
        row.extend(counts.iter().map(|count| value(of(kernel, *count))));
        row.push(variant.into());
        row
    };
    let title = |count: usize| {
        let active = cells.iter().map(|cell| cell.active).find(|active| active.len() == count);
        active.map_or(String::new(), |active| cores(&record.machine.topology, active))
    };
    Table::of(format!(
        "{} as the program asks for them, and with write-allocate where that is more (higher is \
         better)",
        counting.unit()
    ))
    .left("kernel")
    .left("formula")
    .columns(counts.iter().map(|count| (title(*count), Align::Right)))
    .left("variant")
    .rows(in_order(cells.iter().map(|cell| cell.workload)).into_iter().map(row))
    .into()
}

pub(super) fn sentences(record: &Record) -> Vec<Text> {
    let sweep = sweep(record);
    let mut sentences = Vec::new();
    sentences.extend(memory(record, sweep.as_ref()));
    sentences.extend(sweep.as_ref().and_then(caches));
    sentences.extend(interference::sentence(record));
    sentences
}

/// What memory gives, with all cores and one, and how long one access takes.
fn memory(record: &Record, sweep: Option<&Sweep<'_>>) -> Option<Text> {
    let counting = Counting::of(record);
    let topology = &record.machine.topology;
    let cells = in_brief(record);
    let mut of_copy: Vec<(CpuSet, String)> = of_every_type(record)
        .iter()
        .filter(|cell| cell.workload == "copy")
        .filter(|cell| counting.extent(cell) == Some(Extent::Memory))
        .filter_map(|cell| {
            let numbers = cell.numbers("bandwidth")?;
            Some((cell.active.clone(), medians(counting, &numbers, 1.0)))
        })
        .collect();
    // All cores and one say what those between do not.
    of_copy.sort_by_key(|(active, _)| std::cmp::Reverse(active.len()));
    let ends = [of_copy.first(), of_copy.last()].map(|end| end.map(|(active, _)| active.len()));
    of_copy.retain(|(active, _)| ends.contains(&Some(active.len())));
    let with = |(active, moved): &(CpuSet, String)| {
        format!("{moved} {} with {}", counting.unit(), cores(topology, active))
    };
    let moved: Vec<String> = of_copy.iter().map(with).collect();
    let of_sweep = sweep.and_then(|sweep| {
        let level = sweep.levels.last().filter(|level| level.whose == Whose::Memory)?;
        Some(sweep.seconds(level))
    });
    let latency = of_sweep.or_else(|| idle(record));
    let latency = latency.map(|seconds| format!("one access takes {} ns", nanoseconds(seconds)));
    let moved = (!moved.is_empty()).then(|| format!("{} (copy, as asked)", moved.join(", ")));
    let enough = scaling::of_one_package(topology, &cells).map(|(cores, asked)| {
        format!(
            "{} of one package have nearly all that it gives ({} {})",
            tally(cores, "core"),
            counting.text(asked),
            counting.unit()
        )
    });
    let parts: Vec<String> = moved.into_iter().chain(enough).chain(latency).collect();
    (!parts.is_empty()).then(|| format!("Memory: {}.", parts.join("; ")).into())
}

/// What one access takes beyond all caches before others move data: short runs have that, and no level of a sweep.
fn idle(record: &Record) -> Option<f64> {
    let is_idle = |cell: &&Cell<'_>| cell.text("mix").is_none() && cell.limited().is_empty();
    cells(record, "loaded").iter().find(is_idle)?.main_median("latency")
}

/// The caches, and where they are not what they claim.
fn caches(sweep: &Sweep<'_>) -> Option<Text> {
    let of_level = |level: &LatencyLevel| {
        let Whose::Cache(claim) = level.whose else { return None };
        let name = name(level.whose);
        let takes = format!("{} ns", nanoseconds(sweep.seconds(level)));
        Some(match verdict(level) {
            LevelVerdict::Behaves(bytes) => format!(
                "{name} {takes}, behaves like {} although {} are claimed",
                size(bytes),
                size(claim.bytes)
            ),
            LevelVerdict::AsClaimed | LevelVerdict::Vague(_) | LevelVerdict::Unknown => {
                format!("{name} {} {takes}", size(claim.bytes))
            }
        })
    };
    let known: Vec<String> = sweep.levels.iter().filter_map(of_level).collect();
    (!known.is_empty()).then(|| format!("Caches: {}.", known.join("; ")).into())
}

#[cfg(test)]
mod tests {
    use measure::areas::memory::Question;

    use super::*;
    use crate::testing::memory;

    #[test]
    fn what_memory_takes_is_said_without_a_sweep_too() {
        let mut record = memory("sim:vm-2c", Question::Loaded, |_| ());
        let said = |record: &Record| {
            sentences(record).iter().any(|sentence| sentence.text.contains("one access takes"))
        };
        assert!(said(&record));
        // Where there was less room than that takes, it may have been in a cache.
        for series in &mut record.series {
            series.parameters.insert("limited_by".to_owned(), "free memory".to_owned());
        }
        assert!(!said(&record));
    }
}
