//! What one access costs in each cache and in memory, what address translation adds, and how many
//! accesses one core has in flight.

use model::Pages;
use model::page::{Align, Block, Lines, Scale, Table, Text};
use model::record::{Record, Topology};

use super::super::extent::{self, Extent};
use super::super::read::{Cell, cells, in_order};
use super::factors::POINTS_MIN;
use super::{columns, dash, digits, nanoseconds, note, of_cpu, pages, size as size_text};

/// The walk that goes to another page at nearly every step.
const RANDOM: &str = "random";

/// What is no faster than this part of memory is no cache.
const NEAR: f64 = 1.3;

/// The table of levels, and the chains side by side.
pub(in super::super) fn blocks(record: &Record, verbosity: u8) -> Vec<Block> {
    let cells = cells(record, "latency");
    let Some(cpu) = cells.first().and_then(|cell| cell.active.iter().next()) else {
        return Vec::new();
    };
    let mut blocks = vec![Block::Heading(format!("Latency of one access, {}", of_cpu(cpu)))];
    blocks.push(table(record, &cells));
    let limits = in_order(cells.iter().filter_map(|cell| cell.text("limited_by")));
    blocks.extend(limits.into_iter().map(|by| note(format!("sizes limited by {by}"))));
    blocks.extend(chains(&cells, verbosity));
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
    let mut notes = vec![
        format!(
            "local, 256 KiB windows: in {}, a window after the other, so that address translation \
             hardly counts",
            base.map_or("the same pages", pages)
        ),
        "translation: what base pages cost beyond huge ones, ns".to_owned(),
    ];
    let unseen = rows.iter().filter(|row| row[0].text.ends_with(CLAIMED));
    notes.extend(unseen.map(|row| {
        format!("{}: {} would lie in it, and is no faster than memory", row[0].text, row[1].text)
    }));
    Block::Table(Table {
        caption: "latency of one access: ns (core cycles); lower is better".to_owned(),
        columns: header(base, huge),
        rows,
        notes,
    })
}

/// A column for each kind of pages and walk.
fn header(base: Option<&str>, huge: Option<&str>) -> Vec<(String, Align)> {
    let in_pages = |kind: &str| (format!("random, {}", pages(kind)), Align::Right);
    let mut header = columns([("level", Align::Left), ("size", Align::Right)]);
    header.push(in_pages(base.unwrap_or_default()));
    if let Some(huge) = huge {
        header.extend([in_pages(huge), ("translation".to_owned(), Align::Right)]);
    }
    header.push(("local, 256 KiB windows".to_owned(), Align::Right));
    header
}

/// Nanoseconds and cycles of a cell.
fn both(cell: Option<&Cell<'_>>) -> Text {
    let Some(seconds) = cell.and_then(|cell| cell.main_median("latency")) else { return dash() };
    let cycles = cell.and_then(|cell| cell.main_median("latency_cycles"));
    let cycles = cycles.map_or(String::new(), |cycles| format!(" ({})", digits(cycles)));
    format!("{}{cycles}", nanoseconds(seconds)).into()
}

/// What accesses of a size go to, by what the machine says.
fn extent(topology: &Topology, cell: &Cell<'_>) -> Option<Extent> {
    let bytes = cell.number("footprint")?;
    Some(match extent::holding(topology, cell.active, bytes) {
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
            caption: "accesses in flight by the number of independent chains (higher is better)"
                .to_owned(),
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
        blocks.push(Block::Table(Table {
            caption: "independent chains that one core follows at once".to_owned(),
            columns: columns([
                ("chains", Align::Right),
                ("ns per access", Align::Right),
                ("in flight", Align::Right),
            ]),
            rows: steps.iter().map(row).collect(),
            notes: Vec::new(),
        }));
    }
    blocks
}
