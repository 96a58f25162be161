//! The data sheet: what all areas say of one run, a pure function of the record (invariant I2).

pub mod claims;
pub mod normal;

use std::collections::VecDeque;

use model::Known;
use model::page::{Block, Page, Text, Tone};
use model::record::Record;

use crate::areas::SECTIONS;
use crate::digest;
use crate::kit::value_text;
use crate::parts::{self, IN_BRIEF};

/// The data sheet. A verbosity of 1 and more adds every fact, condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let mut blocks = vec![title(record), top_box(record), Block::Paragraph(parts::trust(record))];
    let mut told = AreaSentences::of(record);
    let sentences = told.take(SENTENCES);
    if !sentences.is_empty() {
        blocks.push(Block::List(sentences));
    }
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(parts::findings(record));
    blocks.extend(claims::section(record));
    blocks.extend(normal::section(record, verbosity));
    blocks.push(Block::Fold("All numbers, area by area".to_owned()));
    for area in SECTIONS {
        let mut section = area.section(record);
        section.retain(|block| !matches!(block, Block::Table(table) if table.rows.is_empty()));
        if section.is_empty() {
            section = parts::in_its_place(record, area.id());
        }
        fill_gaps(&mut section, parts::in_its_place(record, area.id()));
        let rest = told.rest_of(area.id());
        if let ([Block::Heading(_), ..], false) = (section.as_slice(), rest.is_empty()) {
            section.insert(1, Block::List(rest));
        }
        blocks.extend(section);
    }
    blocks.extend(parts::missing(record));
    blocks.extend(parts::how(record));
    if verbosity > 0 {
        blocks.extend(parts::details(record));
    }
    blocks.retain(|block| !matches!(block, Block::Table(table) if table.rows.is_empty()));
    Page { blocks }
}

/// Where nothing stands below a heading stand the reasons, once, as those of the area; a further one goes.
fn fill_gaps(section: &mut Vec<Block>, reasons: Vec<Block>) {
    let mut reasons = reasons.into_iter().skip(1).collect::<Vec<_>>();
    let is_heading = |block: Option<&Block>| matches!(block, None | Some(Block::Heading(_)));
    let mut place = 0;
    while place < section.len() {
        let is_gap = is_heading(section.get(place)) && is_heading(section.get(place + 1));
        if is_gap && reasons.is_empty() {
            section.remove(place);
        } else if is_gap {
            let after = section.split_off(place + 1);
            section.append(&mut reasons);
            section.extend(after);
        } else {
            place += 1;
        }
    }
}

/// Sentences at the top of the sheet.
const SENTENCES: usize = 5;

/// What areas have to say: what matters most comes to the top of the sheet, the rest stands where it
/// belongs.
struct AreaSentences(Vec<(&'static str, VecDeque<Text>)>);

impl AreaSentences {
    fn of(record: &Record) -> AreaSentences {
        // The others speak when those that lead have no more to say.
        let mut areas: Vec<_> = SECTIONS.iter().collect();
        areas.sort_by_key(|area| !area.leads());
        let told = areas.into_iter().map(|area| (area.id(), area.sentences(record).into()));
        AreaSentences(told.collect())
    }

    /// One of each, and again, until there are so many.
    fn take(&mut self, count: usize) -> Vec<Text> {
        let mut taken = Vec::new();
        while taken.len() < count && self.0.iter().any(|(_, sentences)| !sentences.is_empty()) {
            let round = self.0.iter_mut().filter_map(|(_, sentences)| sentences.pop_front());
            taken.extend(round.take(count - taken.len()));
        }
        taken
    }

    /// What is left of that area.
    fn rest_of(&mut self, id: &str) -> Vec<Text> {
        let found = self.0.iter_mut().find(|(area, _)| *area == id);
        found.map_or_else(Vec::new, |(_, sentences)| std::mem::take(sentences).into())
    }
}

/// A verdict in a word; why it is so, where it says that, is a note below the table.
pub(crate) fn in_a_cell(what: &str, verdict: Text) -> (Text, Option<String>) {
    match verdict.text.split_once(": ") {
        None => (verdict, None),
        Some((word, why)) => {
            let note = format!("{what}, {word}: {why}");
            (Text::toned(word, verdict.tone), Some(note))
        }
    }
}

fn title(record: &Record) -> Block {
    let run = &record.run;
    let text = match &run.simulated {
        Some(name) => format!("SIMULATED data sheet: machine sim:{name}, nothing was measured"),
        None => "CPU data sheet".to_owned(),
    };
    Block::Title { text, subtitle: parts::subtitle(record) }
}

/// What Speed Select is set to, where it is there.
fn speed_select(record: &Record) -> Option<String> {
    const TOLD: [(&str, &str); 4] = [
        ("sst.level", "level"),
        ("sst.base_freq", "base frequency"),
        ("sst.turbo_freq", "turbo frequency"),
        ("sst.core_power", "core power"),
    ];
    let rows = digest::speed_select(record.speed_select.as_ref());
    let told = TOLD.iter().filter_map(|(id, word)| {
        let value = rows.iter().find(|row| row.id == *id)?.text.as_ref()?;
        Some(format!("{word} {value}"))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The machine in brief. What is not known says why; what was not asked for is left out.
fn top_box(record: &Record) -> Block {
    let known = |id: &&str| {
        if *id == parts::VIRTUALISATION {
            return parts::runs_on(record);
        }
        let fact = record.fact(id)?;
        let value = fact.value.value().is_some().then(|| value_text(&fact.value).text)?;
        // A bare switch or version needs its name in front.
        let bare = id.starts_with("cpufreq.") || *id == "kernel.release";
        Some(if bare { format!("{} {value}", fact.label.to_lowercase()) } else { value })
    };
    let lines = IN_BRIEF.iter().filter_map(|(label, ids)| {
        let parts: Vec<String> = ids.iter().filter_map(known).collect();
        let text = || Text::from(parts.join(", "));
        let why = || {
            let Known::No { unavailable } = &record.fact(ids.first()?)?.value else { return None };
            Some(Text::toned(format!("not known: {}", unavailable.why), Tone::Faint))
        };
        let text = if parts.is_empty() { why() } else { Some(text()) };
        text.map(|text| ((*label).to_owned(), text))
    });
    let sst = speed_select(record).map(|text| ("Speed Select".to_owned(), text.into()));
    let lines = lines.chain(sst);
    let plan = &record.run.plan;
    let word = if plan.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let measured = format!("{word} {}: {}", plan.cpus, plan.placement);
    Block::Box(lines.chain([("Measured".to_owned(), measured.into())]).collect())
}
