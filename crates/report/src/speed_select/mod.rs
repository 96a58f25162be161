//! Pages about Speed Select, pure functions of the record (invariant I2).

mod core_power;
mod facts;
mod features;
mod info;
mod levels;
mod parts;
mod picture;
mod plan;
mod summary;

use crate::kit::Absences;
use model::page::{Block, Page, Remark, Text, Tone};
use model::record::{Record, SpeedSelect};

pub use self::facts::facts;
use self::parts::PageBuilder;

/// The page of a command.
struct CommandPage {
    command: &'static str,
    title: &'static str,
    blocks: for<'a> fn(&mut PageBuilder<'a>) -> Vec<Block>,
}

/// All of them.
const ROWS: &[CommandPage] = &[
    CommandPage { command: "info", title: "what this machine can do", blocks: info::blocks },
    CommandPage {
        command: "perf-profile info",
        title: "performance levels (perf-profile)",
        blocks: levels::blocks,
    },
    CommandPage {
        command: "perf-profile get-config-levels",
        title: "the highest performance level",
        blocks: |told| summary::blocks(told, "highest level", |of| Ok(summary::levels(of))),
    },
    CommandPage {
        command: "perf-profile get-config-version",
        title: "revision of performance levels",
        blocks: |told| summary::blocks(told, "revision", summary::revision),
    },
    CommandPage {
        command: "perf-profile get-config-enabled",
        title: "whether performance levels can be chosen",
        blocks: |told| {
            summary::blocks(told, "while the machine runs", |of| {
                let word = if of.can_change { "enabled" } else { "disabled" };
                Ok(word.to_owned())
            })
        },
    },
    CommandPage {
        command: "perf-profile get-config-current-level",
        title: "the performance level at present",
        blocks: |told| summary::blocks(told, "level", |of| Ok(of.current.to_string())),
    },
    CommandPage {
        command: "perf-profile get-lock-status",
        title: "whether the performance level is locked",
        blocks: |told| summary::blocks(told, "lock", |of| Ok(summary::lock(of))),
    },
    CommandPage {
        command: "core-power info",
        title: "priorities of cores (core-power)",
        blocks: core_power::switches,
    },
    CommandPage {
        command: "core-power get-config",
        title: "classes of cores (core-power)",
        blocks: core_power::classes,
    },
    CommandPage {
        command: "core-power get-assoc",
        title: "who is in which class (core-power)",
        blocks: core_power::associations,
    },
    CommandPage {
        command: "base-freq info",
        title: "base frequencies of two kinds of cores (base-freq)",
        blocks: features::base,
    },
    CommandPage {
        command: "turbo-freq info",
        title: "turbo frequencies of two kinds of cores (turbo-freq)",
        blocks: features::turbo,
    },
    CommandPage {
        command: "plan perf-profile",
        title: "what another performance level would give and take",
        blocks: plan::blocks,
    },
    CommandPage {
        command: "plan base-freq",
        title: "what base-freq would give and take",
        blocks: plan::blocks,
    },
    CommandPage {
        command: "plan turbo-freq",
        title: "what turbo-freq would give and take",
        blocks: plan::blocks,
    },
];

/// What was asked of Speed Select, and what it answered. A verbosity of 1 and more adds what goes without
/// saying.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let Some(run) = &record.speed_select else { return Page::default() };
    let Some(row) = ROWS.iter().find(|row| row.command == run.question.command) else {
        return Page::default();
    };
    let mut told = PageBuilder { run, verbosity, absences: Absences::default() };
    let mut blocks = vec![title(record, row.title)];
    blocks.extend((row.blocks)(&mut told));
    let mut remarks = told.absences.remarks();
    remarks.extend(lost(run));
    if !remarks.is_empty() {
        blocks.push(Block::Heading("Not told".to_owned()));
        blocks.push(Block::Remarks(remarks));
    }
    if verbosity > 0 {
        let s = if run.ioctls == 1 { "" } else { "s" };
        let text = format!("{} ioctl{s} to the driver.", run.ioctls);
        blocks.push(Block::Paragraph(Text::toned(text, Tone::Faint)));
    }
    if !run.calls.is_empty() {
        blocks.push(Block::Heading("What the driver was asked".to_owned()));
        blocks.push(Block::List(run.calls.iter().map(|call| call.as_str().into()).collect()));
    }
    Page { blocks }
}

/// Speed Select in the data sheet: nothing where there is none.
pub fn section(record: &Record) -> Vec<Block> {
    let Some(run) = &record.speed_select else { return Vec::new() };
    let mut told = PageBuilder { run, verbosity: 0, absences: Absences::default() };
    let mut blocks = vec![Block::Heading("Speed Select".to_owned())];
    if !run.domains.is_empty() {
        blocks.extend(info::blocks(&mut told));
        blocks.extend(picture::block(run));
    }
    let mut remarks = told.absences.remarks();
    remarks.extend(lost(run));
    if !remarks.is_empty() {
        blocks.push(Block::Remarks(remarks));
    }
    blocks
}

/// Who would get which clock, beside what was measured of it: nothing where nobody thought of that.
pub fn expected(record: &Record) -> Option<Block> {
    let run = record.speed_select.as_ref().filter(|run| !run.expected.is_empty())?;
    Some(plan::measured(&run.expected))
}

fn title(record: &Record, title: &str) -> Block {
    let run = &record.run;
    let text = match &run.simulated {
        Some(name) => format!("SIMULATED Speed Select, {title}: machine sim:{name}"),
        None => format!("Speed Select: {title}"),
    };
    let from = run.elsewhere.as_ref().map_or(String::new(), |from| format!(", {from}"));
    let tool = &record.tool;
    let subtitle = format!("{} {}, {}{from}", tool.name, tool.version, run.started);
    Block::Title { text, subtitle }
}

/// CPUs and packages of which nothing could be shown.
fn lost(run: &SpeedSelect) -> Vec<Remark> {
    let remark = |about: String, reason: &model::Unavailable| Remark {
        mark: Text::toned("not placed", Tone::Warning),
        about,
        text: reason.why.clone(),
        remedy: reason.remedy.clone(),
    };
    let cpus = run.unplaced.iter().map(|it| remark(it.cpus.named(), &it.reason));
    let missing = run.missing.iter().map(|reason| Remark {
        mark: Text::toned("not told", Tone::Warning),
        ..remark(reason.what.clone(), reason)
    });
    missing.chain(cpus).collect()
}
