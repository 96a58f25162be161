//! Spin or sleep? What the numbers of other areas say about waiting on this machine.
//!
//! Whoever waits for at most as long as a wake-up takes is better off spinning; whoever waits longer keeps
//! a CPU busy for nothing. Spinning for exactly as long as a wake-up takes never costs more than twice
//! what the better of the two would have cost (Karlin, Manasse, McGeoch, Owicki: Competitive randomized
//! algorithms for non-uniform problems, SODA 1990).

mod advice;
mod facts;

use model::page::{Block, Page, Table, Text, Tone};
use model::record::Record;

use super::{Section, cores, openmp, pause, wake};
use crate::parts::{self, Leaf, known};
use advice::{Advice, advice};

/// What it says.
pub const SECTION: Section = Section { sentences, ..Section::of(model::areas::WAIT, of_sheet) };

fn sentences(record: &Record) -> Vec<Text> {
    advice(record).into_iter().take(1).filter_map(|advice| advice.sentence()).collect()
}

fn of_sheet(record: &Record) -> Vec<Block> {
    // What a sheet had no time for has its reason elsewhere.
    let mut advice = advice(record);
    advice.retain(|advice| advice.value.is_ok());
    if advice.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Spin or sleep".to_owned()), table(&advice)]
}

/// Whose numbers it rests on.
static RESTS_ON: &[Section] = &[pause::SECTION, cores::SECTION, wake::SECTION, openmp::SECTION];

/// The page of `cpudyno wait`: advice, and then what it rests on.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let mut blocks = vec![table(&advice(record))];
    blocks.extend(RESTS_ON.iter().flat_map(|area| area.section(record)));
    let plan = &record.run.plan;
    let lines = vec![
        ("CPU", known(record, "cpu.brand")),
        ("CPUs", Some(format!("{}: {}", plan.cpus, plan.placement))),
        ("Other busy CPUs", known(record, "busy.cpus")),
    ];
    let (title, simulated) = ("Advice on waiting", "advice on waiting");
    parts::leaf(
        record,
        verbosity,
        Leaf { answer: SECTION.sentences(record), title, simulated, lines, blocks },
    )
}

fn table(advice: &[Advice]) -> Block {
    let row = |advice: &Advice| {
        let (value, because) = match &advice.value {
            Ok((value, because)) => {
                (Text::toned(value.as_str(), Tone::Strong), Text::from(because.as_str()))
            }
            Err(why) => (Text::toned("unavailable", Tone::Warning), Text::from(why.as_str())),
        };
        vec![Text::from(advice.what), value, because]
    };
    Table::of("Advice on waiting")
        .left("question")
        .left("advice")
        .left("it rests on")
        .rows(advice.iter().map(row))
        .into()
}
