//! What signals cost, kind of pair by kind of pair.

use model::CpuSet;
use model::areas::wake::SLEEPS;
use model::page::{Block, Table, Text, Tone};
use model::record::{Record, Relation};

use super::super::SIGNALS;
use super::super::read::{Cell, cells, in_order};
use super::{dash, distribution, microseconds, note, percent};

/// As many as the ancestor counts.
const COUNTED: f64 = 100_000.0;

/// A table and a plot for each kind of pair.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let all = measured(record);
    let mut kinds = in_order(all.iter().map(Cell::kind));
    // Of whom nobody says how they lie come last.
    kinds.sort_unstable_by_key(|kind| (kind.is_none(), *kind));
    let mut blocks = Vec::new();
    for kind in kinds {
        let sets = in_order(all.iter().filter(|c| c.kind() == kind).map(|c| c.active));
        for active in sets {
            let of: Vec<&Cell<'_>> =
                all.iter().filter(|cell| cell.kind() == kind && cell.active == active).collect();
            let word = if active.len() == 1 { "CPU" } else { "CPUs" };
            let title = kind.map_or("CPUs of which nobody says how they lie", Relation::title);
            let types = of_types(record, active);
            blocks.push(Block::Heading(format!("Signals between {title}: {word} {active}{types}")));
            // Methods that spin were asked for, and have no row here.
            let is_alone = kind == Some(Relation::SameCpu) && all.iter().any(spins);
            blocks.push(table(&of, is_alone));
            blocks.push(round_trips(&of));
            blocks.extend(plot(&of));
        }
    }
    if !blocks.is_empty() {
        blocks.push(note(where_they_ran(&all)));
        blocks.extend(offsets(&all));
    }
    blocks
}

/// The cells that have numbers.
pub(in super::super) fn measured(record: &Record) -> Vec<Cell<'_>> {
    let mut all = cells(record, SIGNALS);
    all.retain(|cell| cell.median("time_per_signal").is_some());
    all
}

/// Of what types the cores are, where the machine has several.
pub(in super::super) fn of_types(record: &Record, cpus: &CpuSet) -> String {
    record.machine.topology.types(cpus).map_or(String::new(), |types| format!(" ({types})"))
}

/// Whether its threads keep their CPUs.
fn spins(cell: &Cell<'_>) -> bool {
    cell.text("waits") != Some(SLEEPS)
}

/// What the ancestor prints: total time, time per operation, operations per second.
fn table(cells: &[&Cell<'_>], is_alone: bool) -> Block {
    let row = |cell: &&Cell<'_>| {
        let seconds = cell.median("time_per_signal")?;
        let uncertainty = cell.uncertainty("time_per_signal");
        let uncertainty = uncertainty.map_or_else(dash, |u| percent(u).into());
        let one_way = cell.spread("one_way");
        let slept = cell.median("slept");
        Some(vec![
            Text::from(cell.workload),
            cell.text("waits").unwrap_or("-").into(),
            cell.told("time_per_signal", microseconds)?,
            uncertainty,
            format!("{:.0}", 1.0 / seconds).into(),
            format!("{:.3} s", seconds * COUNTED).into(),
            sent(cell).map_or_else(dash, |(count, took)| format!("{count} in {took:.3} s").into()),
            one_way.map_or_else(dash, |one_way| microseconds(one_way.median).into()),
            slept.map_or_else(dash, |slept| percent(slept).into()),
        ])
    };
    let class = cells.iter().find_map(|cell| cell.class("time_per_signal"));
    let mut legend = Vec::new();
    let mut notes = vec![
        "100,000: their time at the median rate; sent: what was really sent, and what that took; slept: \
         times that the kernel took a waiting thread off its CPU, per signal"
            .to_owned(),
    ];
    notes.extend(class.map(|class| format!("placement of the CPUs, as probed: {class}")));
    if is_alone {
        legend.push("who spins would keep the CPU from who is to signal it".to_owned());
    }
    Table::of("Signals between two threads, us (half a round trip)")
        .left("method")
        .left("waiting")
        .right("us/op")
        .right("±")
        .right("op/s")
        .right("100,000")
        .right("sent")
        .right("one way us")
        .right("slept")
        .rows(cells.iter().filter_map(row))
        .legend(legend)
        .notes(notes)
        .into()
}

/// Signals that were sent between stamps, and the seconds that they took.
pub(in super::super) fn sent(cell: &Cell<'_>) -> Option<(u64, f64)> {
    let samples = cell.samples("time_per_signal");
    let blocks = cell.series("time_per_signal")?.summary()?.blocks;
    let count = cell.number("signals")?.checked_mul(blocks)?;
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    Some((count, mean * count as f64))
}

/// The distribution of round trips.
fn round_trips(cells: &[&Cell<'_>]) -> Block {
    let row = |cell: &&Cell<'_>| {
        let spread = cell.spread("round_trip")?;
        let numbers = [spread.min, spread.median, spread.p99, spread.p999, spread.max];
        let mut row = vec![Text::from(cell.workload)];
        row.extend(numbers.map(|seconds| Text::from(microseconds(seconds))));
        row.push(Text::toned(spread.count.to_string(), Tone::Faint));
        Some(row)
    };
    Table::of("Round trips, us")
        .left("method")
        .right("min")
        .right("median")
        .right("p99")
        .right("p99.9")
        .right("max")
        .right("round trips")
        .rows(cells.iter().filter_map(row))
        .into()
}

/// The distribution of a few methods that differ most.
pub(in super::super) fn plot(cells: &[&Cell<'_>]) -> Option<Block> {
    const SHOWN: [&str; 4] = ["futex", "pipe", "spin-futex", "spin"];
    let samples = |cell: &&&Cell<'_>| (cell.workload.to_owned(), cell.samples("round_trip"));
    let mut shown: Vec<&&Cell<'_>> = cells.iter().filter(|c| SHOWN.contains(&c.workload)).collect();
    if shown.is_empty() {
        shown = cells.iter().take(SHOWN.len()).collect();
    }
    let samples: Vec<(String, Vec<f64>)> = shown.iter().map(samples).collect();
    distribution("Round-trip latency distribution", "us", &samples)
}

/// Threads are pinned, and it is checked.
fn where_they_ran(cells: &[Cell<'_>]) -> String {
    let moved: u64 = cells
        .iter()
        .filter_map(|cell| cell.series("time_per_signal"))
        .map(|series| series.disturbance.migrations)
        .sum();
    match moved {
        0 => "Every thread was found on the CPU that it was pinned to.".to_owned(),
        moved => format!("{moved} times a thread was found on another CPU than it was pinned to."),
    }
}

/// How far clocks were seen to agree.
fn offsets(cells: &[Cell<'_>]) -> Option<Block> {
    let of = |cell: &Cell<'_>| {
        let [low, high] = ["clock_offset_low", "clock_offset_high"].map(|id| cell.median(id));
        Some((cell.active.clone(), low? * 1e9, high? * 1e9))
    };
    let mut words: Vec<String> = Vec::new();
    for kind in Relation::ALL.into_iter().map(Some).chain([None]) {
        let mut known = cells.iter().filter(|cell| cell.kind() == kind).filter_map(of);
        if let Some((active, low, high)) = known.next() {
            words.push(format!("CPUs {active}: {low:+.0} to {high:+.0} ns"));
        }
    }
    (!words.is_empty()).then(|| {
        note(format!(
            "One-way times rest on both CPUs' clocks; the second one is ahead by (cache lines there and \
             back): {}.",
            words.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, series};

    #[test]
    fn signals_that_were_sent_took_their_mean_each() {
        let mut record = blank();
        let parameters = [("question", SIGNALS), ("signals", "1000")];
        let blocks: [&[f64]; 2] = [&[1e-6, 2e-6], &[6e-6]];
        record.series =
            vec![series(["wake", "pipe", "time_per_signal"], "0-1", &parameters, &blocks)];
        let (count, seconds) = sent(&measured(&record)[0]).unwrap();
        // 1,000 in each of two blocks, of 3 us in the mean.
        assert_eq!(count, 2000);
        near(seconds, 6e-3);
    }
}
