//! What one access costs in each cache and in memory, what address translation adds, and how many
//! accesses one core has in flight.

use model::page::{Align, Block, Lines, Scale, Table, Text};
use model::record::{Record, Topology};
use model::{CpuSet, Pages};

use super::super::read::{Cell, cells, in_order};
use super::super::working_set::{self, Extent};
use super::factors::POINTS_MIN;
use super::{dash, digits, nanoseconds, note, pages, size as size_text};

/// The walk that goes to another page at nearly every step.
const RANDOM: &str = "random";

/// What is no faster than this part of memory is no cache.
const NEAR: f64 = 1.3;

/// The table of levels, and the chains side by side, of each CPU.
pub(in super::super) fn blocks(record: &Record, verbosity: u8) -> Vec<Block> {
    let cells = cells(record, "latency");
    let of = |active: &CpuSet| {
        let mine = cells.iter().filter(|cell| cell.active == active);
        blocks_of(record, &mine.cloned().collect::<Vec<_>>(), verbosity)
    };
    in_order(cells.iter().map(|cell| cell.active)).into_iter().flat_map(of).collect()
}

fn blocks_of(record: &Record, cells: &[Cell<'_>], verbosity: u8) -> Vec<Block> {
    let Some(cpu) = cells.first().and_then(|cell| cell.active.iter().next()) else {
        return Vec::new();
    };
    let cpu = record.machine.topology.named(cpu);
    let mut blocks = vec![Block::Heading(format!("Latency of one access, {cpu}"))];
    blocks.push(table(record, cells));
    let limits = in_order(cells.iter().filter_map(|cell| cell.text("limited_by")));
    blocks.extend(limits.into_iter().map(|by| note(format!("sizes limited by {by}"))));
    blocks.extend(chains(cells, verbosity));
    blocks
}

/// One row for each size, a column for each kind of pages and walk.
fn table(record: &Record, cells: &[Cell<'_>]) -> Block {
    let mut sizes = in_order(cells.iter().filter_map(|cell| cell.number("footprint")));
    sizes.sort_unstable();
    let kinds = in_order(cells.iter().filter_map(|cell| cell.text("pages")));
    let (base, huge) = match kinds.as_slice() {
        [base, huge, ..] if *base == Pages::Base.name() => (Some(*base), Some(*huge)),
        [huge, base, ..] if *base == Pages::Base.name() => (Some(*base), Some(*huge)),
        [only, ..] => (Some(*only), None),
        [] => (None, None),
    };
    let find = |bytes: u64, kind: Option<&str>, random: bool| {
        let kind = kind?;
        cells.iter().find(|cell| {
            cell.number("footprint") == Some(bytes)
                && cell.number("chains") == Some(1)
                && cell.text("pages") == Some(kind)
                && (cell.text("walk") == Some(RANDOM)) == random
        })
    };
    // The largest size, where it is one of memory.
    let memory = sizes.last().and_then(|&bytes| find(bytes, base, true));
    let memory = memory
        .filter(|cell| extent(&record.machine.topology, cell) == Some(Extent::Memory))
        .and_then(|cell| cell.main_median("latency"));
    let row = |&bytes: &u64| {
        let of = |kind, random| find(bytes, kind, random);
        let difference = || {
            let small = of(base, true)?.main_median("latency")?;
            let large = of(huge, true)?.main_median("latency")?;
            let ns = (small - large) * 1e9;
            Some(Text::from(format!("{ns:+.1}")))
        };
        let level = cells.iter().find(|cell| cell.number("footprint") == Some(bytes));
        let seconds = of(base, true).and_then(|cell| cell.main_median("latency"));
        let slow = seconds.zip(memory).is_some_and(|(here, memory)| here * NEAR >= memory);
        let mut row = vec![
            Text::from(level.map_or_else(String::new, |cell| where_to(record, cell, slow))),
            size_text(bytes).into(),
            both(of(base, true)),
        ];
        if huge.is_some() {
            row.extend([both(of(huge, true)), difference().unwrap_or_else(dash)]);
        }
        row.push(both(of(base, false)));
        row
    };
    let rows: Vec<Vec<Text>> = sizes.iter().map(row).collect();
    let notes = vec![
        format!(
            "local, 256 KiB windows: in {}, a window after the other, so that address translation \
             hardly counts",
            base.map_or("the same pages", pages)
        ),
        "translation: what base pages cost beyond huge ones, ns".to_owned(),
    ];
    let legend = unseen(&rows);
    let in_pages = |kind: &str| format!("random, {}", pages(kind));
    Table::of("Access latency, ns (core cycles)")
        .left("level")
        .right("size")
        .right(in_pages(base.unwrap_or_default()))
        .columns(huge.map(|huge| (in_pages(huge), Align::Right)))
        .columns(huge.map(|_| ("translation", Align::Right)))
        .right("local, 256 KiB windows")
        .rows(rows)
        .legend(legend)
        .notes(notes)
        .into()
}

/// Levels that others claim, where nothing is faster than memory.
fn unseen(rows: &[Vec<Text>]) -> Vec<String> {
    let claimed = rows.iter().filter(|row| row[0].text.ends_with(CLAIMED));
    let line = |row: &Vec<Text>| {
        let [level, size] = [&row[0].text, &row[1].text];
        format!("{level}: {size} would lie in it, and is no faster than memory")
    };
    claimed.map(line).collect()
}

/// Nanoseconds and cycles of a cell.
fn both(cell: Option<&Cell<'_>>) -> Text {
    let Some(seconds) = cell.and_then(|cell| cell.main_median("latency")) else { return dash() };
    let cycles = cell.and_then(|cell| cell.main_median("latency_cycles"));
    let cycles = cycles.map_or(String::new(), |cycles| format!(" ({})", digits(cycles)));
    let is_doubtful = cell.is_some_and(|cell| cell.is_doubtful("latency"));
    Text::from(format!("{}{cycles}", nanoseconds(seconds))).doubted(is_doubtful)
}

/// What accesses of a size go to, by what the machine says.
fn extent(topology: &Topology, cell: &Cell<'_>) -> Option<Extent> {
    let bytes = cell.number("footprint")?;
    Some(match working_set::holding(topology, cell.active, bytes) {
        Some(level) => Extent::Within(level),
        None if bytes >= model::areas::memory::rule(topology, cell.active.as_slice()) / 64 * 64 => {
            Extent::Memory
        }
        None => Extent::Partly,
    })
}

/// What is said of a cache where nothing of it is seen.
const CLAIMED: &str = "only claimed";

/// The same in words; what takes as long as memory is called no cache.
fn where_to(record: &Record, cell: &Cell<'_>, slow: bool) -> String {
    match extent(&record.machine.topology, cell) {
        Some(Extent::Within(level)) if slow => format!("L{level} {CLAIMED}"),
        Some(Extent::Within(level)) => format!("L{level}, as claimed"),
        Some(other) => other.words(),
        None => String::new(),
    }
}

/// Latency by the number of chains that one core follows at once.
fn chains(cells: &[Cell<'_>], verbosity: u8) -> Vec<Block> {
    let Some(most) = cells.iter().filter_map(|cell| cell.number("chains")).max() else {
        return Vec::new();
    };
    let Some(parallel) = cells.iter().find(|cell| cell.number("chains") == Some(most)) else {
        return Vec::new();
    };
    let same = |cell: &&Cell<'_>| {
        ["footprint", "pages", "walk"].iter().all(|name| cell.text(name) == parallel.text(name))
    };
    let mut steps: Vec<(u64, f64)> = cells
        .iter()
        .filter(same)
        .filter_map(|cell| Some((cell.number("chains")?, cell.main_median("latency")?)))
        .collect();
    steps.sort_by_key(|step| step.0);
    let Some((_, alone)) = steps.first().copied().filter(|step| step.0 == 1 && steps.len() > 1)
    else {
        return Vec::new();
    };
    // A step moves all chains on by one.
    let in_flight = |(chains, seconds): (u64, f64)| alone * chains as f64 / seconds;
    let greatest = steps.iter().map(|step| in_flight(*step)).fold(0.0, f64::max);
    let enough = steps.iter().find(|step| in_flight(**step) >= 0.95 * greatest);
    let bytes = parallel.number("footprint").unwrap_or(0);
    let text = format!(
        "One core has up to {greatest:.1} accesses in flight over {} ({} chains are enough for 95 % of \
         it): then one is done every {} ns, against {} ns one after the other.",
        size_text(bytes),
        enough.map_or(1, |step| step.0),
        nanoseconds(alone / greatest),
        nanoseconds(alone)
    );
    let mut blocks =
        vec![Block::Heading("Accesses in parallel".to_owned()), Block::Paragraph(text.into())];
    if steps.len() >= POINTS_MIN {
        blocks.push(Block::Lines(Lines {
            caption: "Accesses in flight by number of independent chains".to_owned(),
            x: "chains".to_owned(),
            y: "accesses in flight".to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            reach: None,
            lines: vec![(
                "in flight".to_owned(),
                steps.iter().map(|step| (step.0 as f64, in_flight(*step))).collect(),
            )],
            marks: Vec::new(),
        }));
    }
    if verbosity > 0 {
        let row = |step: &(u64, f64)| {
            vec![
                Text::from(step.0.to_string()),
                nanoseconds(step.1 / step.0 as f64).into(),
                format!("{:.1}", in_flight(*step)).into(),
            ]
        };
        blocks.push(
            Table::of("Independent pointer chains of one core")
                .right("chains")
                .right("ns per access")
                .right("in flight")
                .rows(steps.iter().map(row))
                .into(),
        );
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, cache, near, series};

    fn put(record: &mut Record, more: &[(&str, &str)], seconds: f64) {
        let parameters = [&[("question", "latency")], more].concat();
        record.series.push(series(["memory", "chase", "latency"], "0", &parameters, &[&[seconds]]));
    }

    #[test]
    fn accesses_in_flight_are_chains_times_how_much_faster_a_step_is() {
        let mut record = blank();
        for (chains, seconds) in [("10", 200e-9), ("1", 100e-9), ("4", 110e-9)] {
            let more =
                [("chains", chains), ("footprint", "4096"), ("pages", "thp"), ("walk", RANDOM)];
            put(&mut record, &more, seconds);
        }
        let blocks = chains(&cells(&record, "latency"), 0);
        let Some(Block::Lines(Lines { lines, .. })) = blocks.last() else { panic!("{blocks:?}") };
        // 1 x 100/100, 4 x 100/110, 10 x 100/200.
        for ((x, y), (chains, expected)) in
            lines[0].1.iter().zip([(1.0, 1.0), (4.0, 40.0 / 11.0), (10.0, 5.0)])
        {
            near(*x, chains);
            near(*y, expected);
        }
        assert_eq!(lines[0].1.len(), 3);
    }

    #[test]
    fn a_size_is_one_of_memory_from_whole_lines_of_four_times_the_caches_on() {
        let extent_of = |bytes: u64| {
            let mut record = blank();
            // 4 x (1 MiB + 8) are half a line more than 4 MiB.
            cache(&mut record, 2, (1 << 20) + 8, &["0"]);
            put(&mut record, &[("footprint", &bytes.to_string())], 1e-9);
            extent(&record.machine.topology, &cells(&record, "latency")[0])
        };
        assert_eq!(extent_of(1 << 20), Some(Extent::Within(2)));
        assert_eq!(extent_of((4 << 20) - 64), Some(Extent::Partly));
        assert_eq!(extent_of(4 << 20), Some(Extent::Memory));
    }

    #[test]
    fn translation_is_what_base_pages_take_beyond_huge_ones() {
        let mut record = blank();
        for (pages, walk, seconds) in
            [("4k", RANDOM, 121.5e-9), ("thp", RANDOM, 100e-9), ("4k", "local", 97e-9)]
        {
            let more =
                [("chains", "1"), ("footprint", "1048576"), ("pages", pages), ("walk", walk)];
            put(&mut record, &more, seconds);
        }
        let Block::Table(table) = table(&record, &cells(&record, "latency")) else {
            panic!("a table")
        };
        let texts: Vec<&str> = table.rows[0][2..].iter().map(|text| text.text.as_str()).collect();
        // 121.5 - 100 ns.
        assert_eq!(texts, ["122", "100", "+21.5", "97.0"]);
    }
}
