//! A command, and what went on beside it: can its result be trusted?

use model::page::{Block, Page, Text, Tone, si};
use model::record::{CommandEnd, QuietRun, Record, Trust};
use model::{Hertz, Known, Seconds, Unit};

use report::parts;
use report::settings;

/// What came of it, or would.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED surroundings of a command: machine sim:{name}"),
        None => "A command, and what went on beside it".to_owned(),
    };
    let (tool, run) = (&record.tool, &record.run);
    let subtitle = format!("{} {}, {}", tool.name, tool.version, run.started);
    let mut blocks = vec![Block::Title { text, subtitle }];
    let Some(run) = &record.quiet else { return Page { blocks } };
    blocks.push(Block::Box(lines(record, run)));
    blocks.push(Block::Paragraph(answer(run)));
    blocks.extend(remedy(run).map(Block::Paragraph));
    if let Some(made) = &record.settings {
        if !made.changes.is_empty() {
            blocks.push(settings::change_table(&made.changes));
        }
        blocks.extend(settings::proofs(&made.proofs));
        if !made.remarks.is_empty() {
            let remarks = made.remarks.iter().map(|remark| remark.as_str().into());
            blocks.push(Block::List(remarks.collect()));
        }
    }
    if run.ended.is_some() || !record.findings.is_empty() {
        blocks.push(Block::Heading("Findings".to_owned()));
        blocks.push(parts::findings(record));
    }
    if verbosity > 0 {
        blocks.extend(parts::details(record));
    }
    Page { blocks }
}

fn lines(record: &Record, run: &QuietRun) -> Vec<(String, Text)> {
    let clock = |clock: &Known<Hertz>| match clock {
        Known::Yes(Hertz(hertz)) => Some(si::format(*hertz, Unit::Hertz)),
        Known::No { .. } => None,
    };
    let ended = run.ended.map(|end| match end {
        CommandEnd::Code(code) => format!("with exit code {code}"),
        CommandEnd::Signal(signal) => format!("by signal {signal}"),
    });
    let is_run = ended.is_some();
    let around = clock(&run.clock[0]).zip(clock(&run.clock[1]));
    let unknown = match (&run.clock, is_run) {
        ([Known::No { unavailable }, _] | [_, Known::No { unavailable }], true) => {
            Some(format!("not known: {}", unavailable.why))
        }
        _ => None,
    };
    let time = |seconds: Seconds| si::run_length(seconds.0);
    let rows = [
        ("Command", Some(run.program.clone())),
        ("Ended", ended),
        (
            "Took",
            is_run.then(|| format!("{}, {} of CPUs", time(run.seconds), time(run.cpu_seconds))),
        ),
        ("CPUs", Some(run.cpus.to_string())),
        (
            "Clock",
            around
                .map(|(before, after)| format!("{before} before, {after} after, under load"))
                .or(unknown),
        ),
        ("Meanwhile", clock(&run.clock_meanwhile).map(|hertz| format!("{hertz}, busy CPUs"))),
        ("Others", is_run.then(|| others(run))),
        ("CPU", parts::known(record, "cpu.brand")),
        ("Runs on", parts::runs_on(record)),
    ];
    let told = rows.into_iter().filter_map(|(label, text)| Some((label.to_owned(), text?.into())));
    told.collect()
}

/// What others used.
fn others(run: &QuietRun) -> String {
    match &run.others {
        Known::Yes(share) => format!("{:.1} % of these CPUs", share * 100.0),
        Known::No { unavailable } => format!("not known: {}", unavailable.why),
    }
}

/// What would help where it cannot be told.
fn remedy(run: &QuietRun) -> Option<Text> {
    let Known::No { unavailable } = &run.others else { return None };
    let cannot = run.ended.is_some() && run.trust == Trust::CannotTell;
    let remedy = unavailable.remedy.as_ref().filter(|_| cannot)?;
    Some(Text::from(format!("-> {remedy}")))
}

/// The answer in one sentence.
fn answer(run: &QuietRun) -> Text {
    if run.ended.is_none() {
        return Text::from("Nothing was run, and nothing set: this is what would be.");
    }
    match run.trust {
        Trust::Yes => Text::toned(
            "Its result can be trusted: nothing that was watched disturbed it.",
            Tone::Good,
        ),
        Trust::No => Text::toned(
            "Do not trust its result as it is: see the findings, do what they say, and run it again.",
            Tone::Warning,
        ),
        Trust::CannotTell => Text::toned(
            "Whether its result can be trusted cannot be told: what others did meanwhile is not known.",
            Tone::Warning,
        ),
    }
}
