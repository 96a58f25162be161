//! The page of counts, a pure function of the record (invariant I2).

use model::page::{Align, Block, Page, Remark, Table, Text, Tone};
use model::record::{Counts, CountsRun, Record};
use model::{Known, Unavailable};

use super::report::{Report, reasons};

/// Tables of counts, how they were counted, and why some are missing.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let Some(run) = &record.counts else { return Page::default() };
    let mut blocks = vec![title(record, run)];
    blocks.push(Block::Box(facts(run, verbosity)));
    if verbosity > 0 || run.tables.is_empty() {
        blocks.push(passes(run));
    }
    blocks.extend(run.tables.iter().map(|counts| Block::Table(table(counts))));
    let missing = reasons(&run.tables);
    if !missing.is_empty() {
        let remark = |(events, why, remedy): (Vec<String>, String, Option<String>)| Remark {
            mark: Text::toned("not counted", Tone::Warning),
            about: events.join(", "),
            text: why,
            remedy,
        };
        blocks.push(Block::Remarks(missing.into_iter().map(remark).collect()));
    }
    Page { blocks }
}

fn title(record: &Record, run: &CountsRun) -> Block {
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED counts of {}: machine sim:{name}", run.subject),
        None => format!("Counts of {}", run.subject),
    };
    let subtitle = format!("{} {}, {}", record.tool.name, record.tool.version, record.run.started);
    Block::Title { text, subtitle }
}

fn facts(run: &CountsRun, verbosity: u8) -> Vec<(String, Text)> {
    let mut facts: Vec<(String, Text)> = Vec::new();
    let mut fact = |label: &str, text: String| facts.push((label.to_owned(), text.into()));
    if let Some(cpu) = run.cpu {
        let pmu = run.pmu.as_ref().map_or_else(String::new, |pmu| format!(", PMU `{pmu}`"));
        fact("CPU", format!("{cpu}{pmu}"));
    }
    fact("counted", run.modes.clone());
    match &run.limits {
        Some(Known::Yes(limits)) => fact("counters", limits.clone()),
        Some(Known::No { unavailable: Unavailable { why, .. } }) => fact("counters", why.clone()),
        None => {}
    }
    if verbosity == 0 && run.passes.len() > 1 {
        fact("passes", run.passes.len().to_string());
    }
    facts
}

fn passes(run: &CountsRun) -> Block {
    let line = |(at, names): (usize, &Vec<String>)| {
        Text::from(format!("pass {}: {}", at + 1, names.join(", ")))
    };
    Block::List(run.passes.iter().enumerate().map(line).collect())
}

fn table(counts: &Counts) -> Table {
    let report = Report::of(counts, &counts.units);
    let align = |(at, name): (usize, &String)| {
        (name.clone(), if at == 0 { Align::Left } else { Align::Right })
    };
    let mut notes = report.notes().to_vec();
    notes.extend(counts.ended.clone());
    Table {
        caption: format!("profiling: {}", counts.title),
        columns: report.columns().iter().enumerate().map(align).collect(),
        rows: report
            .rows()
            .iter()
            .map(|row| row.iter().map(|cell| Text::from(cell.as_str())).collect())
            .collect(),
        notes,
    }
}
