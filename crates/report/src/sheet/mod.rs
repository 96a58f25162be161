//! The data sheet: what all areas say of one run, a pure function of the record (invariant I2).

pub mod claims;
pub mod normal;

use model::page::{Block, Figure, Page, Remark, Text, Tone};
use model::record::Record;
use model::{Finding, Known, Severity, areas};

use crate::areas::{SECTIONS, Section};
use crate::kit::value_text;
use crate::parts::{self, IN_BRIEF};

/// The data sheet: a first screen that answers, and folded parts with everything. A verbosity of 1 and more adds every
/// fact, condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let mut blocks = vec![title(record), parts::machine_in_brief(record), parts::quality(record)];
    blocks.extend(key_figures(record));
    blocks.extend(actions(record));
    blocks.push(next(record));
    blocks.extend(part("Machine", false, vec![top_box(record)]));
    blocks.extend(part("All findings", false, vec![parts::findings(record)]));
    blocks.extend(part("Claims against facts", false, claims::section(record)));
    blocks.extend(part("Is this normal?", false, normal::section(record, verbosity)));
    blocks.extend(SECTIONS.iter().flat_map(|area| area_part(record, area)));
    let mut method: Vec<Block> = parts::missing(record).into_iter().collect();
    method.extend(parts::how(record));
    if verbosity > 0 {
        method.extend(parts::details(record));
    }
    blocks.extend(part("Method", false, method));
    blocks.retain(|block| !matches!(block, Block::Table(table) if table.rows.is_empty()));
    Page { blocks }
}

/// A folded part, whose title need not head it again; nothing of nothing.
fn part(title: &str, open: bool, mut blocks: Vec<Block>) -> Vec<Block> {
    if matches!(blocks.first(), Some(Block::Heading(first)) if first == title) {
        blocks.remove(0);
    }
    if !blocks.is_empty() {
        blocks.insert(0, Block::Fold { title: title.to_owned(), open });
    }
    blocks
}

/// Everything of one area; open where a finding of it asks for something.
fn area_part(record: &Record, area: &Section) -> Vec<Block> {
    let mut blocks = area.section(record);
    blocks.retain(|block| !matches!(block, Block::Table(table) if table.rows.is_empty()));
    if blocks.is_empty() {
        blocks = parts::in_its_place(record, area.id());
    }
    fill_gaps(&mut blocks, parts::in_its_place(record, area.id()));
    let title = areas::title(area.id());
    let sentences = area.sentences(record);
    if let (Some(Block::Heading(first)), false) = (blocks.first(), sentences.is_empty()) {
        blocks.insert(usize::from(first == title), Block::List(sentences));
    }
    let asks = |finding: &Finding| finding.severity > Severity::Note && finding.is_of(area.id());
    part(title, record.findings.iter().any(asks), plots_first(&blocks))
}

/// Below each heading plots stand before the first table.
fn plots_first(blocks: &[Block]) -> Vec<Block> {
    let is_plot = |block: &Block| {
        matches!(block, Block::HeatMap(_) | Block::Bars(_) | Block::Lines(_) | Block::Slopes(_))
    };
    let starts = |_: &Block, next: &Block| !matches!(next, Block::Heading(_));
    let mut ordered = Vec::new();
    for below in blocks.chunk_by(starts) {
        let first = below.iter().position(|block| matches!(block, Block::Table(_)));
        let (before, rest) = below.split_at(first.unwrap_or(below.len()));
        let (plots, others): (Vec<&Block>, Vec<&Block>) = rest.iter().partition(|it| is_plot(it));
        ordered.extend(before.iter().chain(plots).chain(others).cloned());
    }
    ordered
}

/// The few numbers that a machine is known by.
fn key_figures(record: &Record) -> Option<Block> {
    let earlier = record.reference.as_ref();
    let figures = SECTIONS.iter().flat_map(|area| area.figures(record));
    let figures: Vec<Figure> = figures.map(|figure| figure.among(earlier).shown()).collect();
    (!figures.is_empty()).then_some(Block::Figures(figures))
}

/// Findings on the first screen.
const ACTIONS_MAX: usize = 5;

/// The findings that ask for something.
fn actions(record: &Record) -> Vec<Block> {
    let mut asking = asking(record);
    asking.truncate(ACTIONS_MAX);
    let shown = if asking.is_empty() {
        let others = if record.findings.is_empty() { "None." } else { "None asks for action." };
        Block::Paragraph(others.into())
    } else {
        Block::Actions(asking)
    };
    vec![Block::Heading("Findings".to_owned()), shown]
}

fn asking(record: &Record) -> Vec<Remark> {
    let asks = |finding: &&Finding| finding.severity > Severity::Note || finding.remedy.is_some();
    record.findings.iter().filter(asks).map(Remark::from).collect()
}

/// What to type next.
fn next(record: &Record) -> Block {
    let more = record.findings.len() - asking(record).len().min(ACTIONS_MAX);
    let more = match more {
        0 => String::new(),
        1 => " and 1 more finding".to_owned(),
        _ => format!(" and {more} more findings"),
    };
    let mut lines = vec![format!(
        "add `--all` for every section{more}, `-v` for notes, `--html FILE` for a page to forward"
    )];
    if record.run.elsewhere.is_none() && record.run.simulated.is_none() {
        lines.push("what this machine hides, and how to see it: `cpudyno doctor`".to_owned());
    }
    lines.push(
        "where the clock goes: `cpudyno turbo --why`; two records: `cpudyno compare A B`"
            .to_owned(),
    );
    Block::Hints(lines)
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
    let sst =
        parts::speed_select_in_brief(record).map(|text| ("Speed Select".to_owned(), text.into()));
    let lines = lines.chain(sst);
    let plan = &record.run.plan;
    let word = if plan.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let measured = format!("{word} {}: {}", plan.cpus, plan.placement);
    Block::Box(lines.chain([("Measured".to_owned(), measured.into())]).collect())
}
