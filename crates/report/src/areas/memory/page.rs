//! The page of `cpudyno memory`, a pure function of the record (invariant I2).

use model::page::{Block, Page, Table, Text, si};
use model::record::{CpuPlace, Record, Series};
use model::{CpuId, Known, Unit};

use super::byte_accounting::Counting;
use super::read::{cells, in_order};
use super::shown;
use crate::parts;
use model::areas::memory::QUESTION;

/// What was asked of memory. A verbosity of 1 and more adds points of plots, trials, every fact,
/// condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let mut blocks = vec![title(record)];
    blocks.extend(parts::answer(super::SECTION.sentences(record)));
    blocks.extend([parts::quality(record), header(record)]);
    blocks.extend(shown::bandwidth::blocks(record));
    if verbosity > 0 {
        blocks.extend(shown::stream_lines::blocks(record));
    }
    blocks.extend(super::stream_comparison::section(record));
    blocks.extend(shown::scaling::blocks(record));
    blocks.extend(pinning(record));
    blocks.extend(shown::factors::blocks(record));
    blocks.extend(shown::sweep::blocks(record));
    blocks.extend(shown::latency::blocks(record, verbosity));
    blocks.extend(shown::loaded::blocks(record, verbosity));
    blocks.extend(shown::numa::blocks(record));
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(parts::findings(record));
    blocks.extend(parts::missing(record));
    if verbosity > 0 {
        blocks.extend(trials(record));
        blocks.extend(parts::how(record));
        blocks.extend(parts::details(record));
    }
    blocks.retain(|block| !matches!(block, Block::Table(table) if table.rows.is_empty()));
    Page { blocks }
}

fn title(record: &Record) -> Block {
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED memory: machine sim:{name}, nothing was measured"),
        None => "Bandwidth and latency of caches and memory".to_owned(),
    };
    Block::Title { text, subtitle: parts::subtitle(record) }
}

/// What programs of several threads need to get what was measured, where it matters on which CPUs they run.
fn pinning(record: &Record) -> Option<Block> {
    let cells: Vec<_> =
        ["bandwidth", "scaling"].iter().flat_map(|question| cells(record, question)).collect();
    let topology = &record.machine.topology;
    let used =
        |cpu: &CpuId| cells.iter().any(|cell| cell.active.len() > 1 && cell.active.contains(*cpu));
    let of: Vec<&CpuPlace> = topology.cpus.iter().filter(|place| used(&place.cpu)).collect();
    let nodes = in_order(of.iter().filter_map(|place| place.node)).len();
    let kinds = in_order(of.iter().filter_map(|place| place.kind.as_deref())).len();
    let strays = match (nodes > 1, kinds > 1) {
        (true, true) => "far from their memory, or on slower cores",
        (true, false) => "far from their memory",
        (false, true) => "on slower cores",
        (false, false) => return None,
    };
    let text = format!(
        "All threads were pinned here; those of a program that does not pin them may run {strays}: with \
         OpenMP set OMP_PLACES=cores OMP_PROC_BIND=spread, else use taskset or numactl."
    );
    Some(Block::Paragraph(text.into()))
}

/// What a reader of such numbers asks first.
fn header(record: &Record) -> Block {
    let known = |id: &str| parts::known(record, id);
    let plan = &record.run.plan;
    let word = if plan.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let lines = [
        ("CPU", known("cpu.brand")),
        ("Caches", known("cpu.caches")),
        ("Memory", known("memory.total")),
        ("Pages", backing(record)),
        ("Measured", Some(format!("{word} {}: {}", plan.cpus, plan.placement))),
        ("Bytes", counted(record)),
        ("Other busy CPUs", known("busy.cpus")),
    ];
    let lines = lines.into_iter().filter_map(|(label, text)| Some((label, text?)));
    Block::Box(lines.map(|(label, text)| (label.to_owned(), Text::from(text))).collect())
}

/// How bytes are counted; nothing where no bandwidth was measured.
fn counted(record: &Record) -> Option<String> {
    let moves = |s: &&Series| s.unit == Unit::BytePerSecond && s.area == super::AREA;
    let moved: Vec<&Series> = record.series.iter().filter(moves).collect();
    let question = |s: &Series| s.parameters.get(QUESTION).is_some_and(|word| word == "sweep");
    let is_sweep = moved.iter().all(|series| question(series));
    let text = match Counting::of(record).write_allocate() {
        _ if is_sweep => {
            "counted as asked by the program: within caches no line is brought in first"
        }
        true => {
            "counted with write-allocate: lines that ordinary stores bring into the cache first count, \
             too"
        }
        false => "counted as asked by the program, as STREAM counts",
    };
    (!moved.is_empty()).then(|| text.to_owned())
}

/// What memory was really made of, each kind once.
fn backing(record: &Record) -> Option<String> {
    let memory = &record.run.plan.memory;
    let words = |memory: &model::record::PlacedMemory| match &memory.backing {
        Known::Yes(backing) => backing.clone(),
        Known::No { unavailable } => format!("unknown: {}", unavailable.why),
    };
    let of = |memory: &model::record::PlacedMemory| {
        format!("{}, asked for {}", words(memory), memory.pages)
    };
    let known = in_order(memory.iter().map(of));
    (!known.is_empty()).then(|| known.join("; "))
}

/// What was tried before the first sweep to choose variants.
fn trials(record: &Record) -> Option<Block> {
    let mut tried = cells(record, "trial");
    tried.sort_by_key(|cell| cell.active.len());
    let row = |cell: &super::read::Cell<'_>| {
        let tried = cell.shown("bandwidth")?.summary()?;
        Some(vec![
            Text::from(cell.active.len().to_string()),
            Text::from(cell.workload),
            Text::from(cell.text("choice").unwrap_or("-")),
            Text::from(cell.text("variant").unwrap_or("-")),
            Text::from(cell.text("stores").unwrap_or("-")),
            si::format(tried.median, Unit::BytePerSecond).into(),
            tried.count.to_string().into(),
        ])
    };
    let rows: Vec<Vec<Text>> = tried.iter().filter_map(row).collect();
    let note = "what decides is how fast each is beside the others of the same round, not the median \
                here; who is behind takes no part in later rounds";
    (!rows.is_empty()).then(|| {
        Table::of("Trials that chose the variants: median, as asked")
            .right("threads")
            .left("kernel")
            .left("choice")
            .left("variant")
            .left("stores")
            .right("median")
            .right("rounds")
            .rows(rows)
            .notes([note])
            .into()
    })
}
