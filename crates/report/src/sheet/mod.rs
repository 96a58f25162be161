//! The data sheet: what all areas say of one run, a pure function of the record (invariant I2).

pub mod claims;
pub mod normal;

use std::cmp::Reverse;

use model::page::{Block, Page, Remark, Text, Tone, tally};
use model::record::Record;
use model::{Finding, Known, Severity, areas};

use crate::areas::{SECTIONS, Section};
use crate::figure::KeyFigure;
use crate::kit::value_text;
use crate::parts::{self, IN_BRIEF};

/// The data sheet: a first screen that answers, and folded parts with everything. A verbosity of 1 and more adds every
/// fact, condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let figures = key_figures(record);
    let mut blocks = vec![title(record), parts::machine_in_brief(record), parts::quality(record)];
    if let (Some(Block::Badge { reasons, .. }), Some(least)) =
        (blocks.last_mut(), least_certain(&figures))
    {
        *reasons = format!("{}; least certain: {least}", reasons.trim_end_matches('.'));
    }
    if !figures.is_empty() {
        blocks.push(is_it_normal(record, &figures));
        blocks.push(Block::Figures(figures.iter().map(KeyFigure::shown).collect()));
    }
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
        matches!(
            block,
            Block::HeatMap(_)
                | Block::Bars(_)
                | Block::Lines(_)
                | Block::Slopes(_)
                | Block::Strips(_)
        )
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
fn key_figures(record: &Record) -> Vec<KeyFigure> {
    let earlier = record.reference.as_ref();
    let figures = SECTIONS.iter().flat_map(|area| area.figures(record));
    figures.map(|figure| figure.among(earlier)).collect()
}

/// The figure with the widest interval, and that: `pause instruction, ± 1.1 %`.
fn least_certain(figures: &[KeyFigure]) -> Option<String> {
    let known = figures.iter().filter_map(|it| Some((it, it.uncertainty?)));
    let (figure, _) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!("{}, {}", figure.name, figure.shown().uncertainty))
}

/// Which of them lie outside of what is normal, and how many nobody can judge.
fn is_it_normal(record: &Record, figures: &[KeyFigure]) -> Block {
    let has = |id: &str| record.findings.iter().filter(|it| it.id == id).count();
    let found: Vec<&str> =
        OF_MACHINE.iter().filter(|(id, _)| has(id) > 0).map(|(_, words)| *words).collect();
    let is_outside = OF_MACHINE.iter().any(|(id, _)| *id != REFUTED && has(id) > 0);
    let judged: Vec<(&KeyFigure, f64)> =
        figures.iter().filter_map(|it| Some((it, it.off()?))).collect();
    let outside = judged.iter().filter(|(_, off)| *off != 0.0);
    let mut reasons: Vec<String> =
        outside.map(|(it, _)| format!("{}: {}", it.name, it.shown().standing.text)).collect();
    let grade = match (reasons.is_empty(), judged.is_empty()) {
        (false, _) => Text::toned("no", Tone::Warning),
        _ if is_outside => Text::toned("no", Tone::Warning),
        _ if !found.is_empty() => Text::toned("see the findings", Tone::Warning),
        (true, false) => Text::toned("nothing abnormal found", Tone::Good),
        (true, true) => Text::toned("unknown", Tone::Plain),
    };
    let normal = judged.len() - reasons.len();
    let refuted = record.findings.iter().find(|it| it.id == REFUTED);
    reasons.extend(found.into_iter().map(|words| match refuted {
        Some(claim) if words == CLAIM_REFUTED => format!("{words}: {}", claim.about),
        _ => words.to_owned(),
    }));
    reasons.extend(judged.iter().filter(|(_, off)| *off == 0.0).filter_map(|it| it.0.published()));
    let of = tally(figures.len(), "key figure");
    reasons.push(format!("of {of} {normal} normal, {} not judged", figures.len() - judged.len()));
    Block::Badge {
        label: "Normal".to_owned(),
        grade,
        reasons: parts::sentence(&reasons.join("; ")),
    }
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

/// Findings that a machine is slower than such machines are, or not what it claims to be.
const OF_MACHINE: [(&str, &str); 4] = [
    (REFUTED, CLAIM_REFUTED),
    ("sheet.outside-band", "a result outside of its range"),
    ("reference.outside", "a result unlike earlier records"),
    ("placement.hidden-sibling", "CPUs that share a core, although the kernel lists two"),
];
const REFUTED: &str = "sheet.claim-refuted";
const CLAIM_REFUTED: &str = "claim refuted";

/// A cause goes before the details of what was seen.
fn in_short(finding: &Finding) -> Remark {
    let text = match (&finding.cause, finding.text.split_once(": ")) {
        (Some(_), Some((what, _))) if finding.id == REFUTED => what.to_owned(),
        _ => finding.text.clone(),
    };
    Remark::from(&Finding { text, ..finding.clone() })
}

fn changes_a_setting(remark: &Remark) -> bool {
    remark.remedy.as_ref().is_some_and(|remedy| remedy.contains("`cpudyno set "))
}

fn asking(record: &Record) -> Vec<Remark> {
    let asks = |finding: &&Finding| finding.severity > Severity::Note || finding.remedy.is_some();
    let mut asking: Vec<&Finding> = record.findings.iter().filter(asks).collect();
    // What contradicts a claim or lies outside of what is normal comes before what is good to know.
    let is_of_machine = |it: &Finding| OF_MACHINE.iter().any(|(id, _)| *id == it.id);
    asking.sort_by_key(|it| (Reverse(it.severity), !is_of_machine(it)));
    asking.into_iter().map(in_short).collect()
}

/// What to type next.
fn next(record: &Record) -> Block {
    let more = record.findings.len() - asking(record).len().min(ACTIONS_MAX);
    let more = if more == 0 { "" } else { &format!(" and {}", tally(more, "more finding")) };
    let mut lines = vec![format!(
        "add `--all` for every section{more}, `-v` for notes, `--html FILE` for a page to forward"
    )];
    if asking(record).iter().take(ACTIONS_MAX).any(changes_a_setting) {
        lines.push(
            "`cpudyno set` needs root, shows its plan with `--dry-run`, and `cpudyno undo` puts all back"
                .to_owned(),
        );
    }
    if record.reference.is_none() {
        lines.push("where there is no reference: `cpudyno sheet --reference DIR`, a folder of records of such machines".to_owned());
    }
    if record.run.elsewhere.is_none() && record.run.simulated.is_none() {
        lines.push("what this machine hides, and how to see it: `cpudyno doctor`".to_owned());
    }
    lines.push(
        "what takes the clock: `cpudyno turbo --why`; two machines: `cpudyno sheet --json FILE` on each, \
         then `cpudyno compare FILE FILE`"
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

#[cfg(test)]
mod tests {
    use model::Unit;

    use super::*;
    use crate::testing::blank;

    fn normal(record: &Record, values: &[f64]) -> String {
        let figure = |value: &f64| {
            KeyFigure::of("clock", *value, Unit::Hertz).normally(Some([2e9, 3e9]), "a test")
        };
        let mut figures: Vec<KeyFigure> = values.iter().map(figure).collect();
        figures.push(KeyFigure::of("copy", 1e9, Unit::BytePerSecond));
        let Block::Badge { grade, reasons, .. } = is_it_normal(record, &figures) else { panic!() };
        format!("{}. {reasons}", grade.text)
    }

    #[test]
    fn a_machine_is_normal_as_far_as_its_key_figures_have_a_reference() {
        let mut record = blank();
        assert_eq!(normal(&record, &[]), "unknown. Of 1 key figure 0 normal, 1 not judged");
        let fine = "nothing abnormal found. Of 3 key figures 2 normal, 1 not judged";
        assert_eq!(normal(&record, &[2.5e9, 3e9]), fine);
        // 1.5 of 2 GHz: a quarter less.
        let low = "no. Clock: 25 % below 2.000 GHz; of 3 key figures 1 normal, 1 not judged";
        assert_eq!(normal(&record, &[2.5e9, 1.5e9]), low);
        record.findings.push(Finding::note(REFUTED, "turbo", "-5 %".to_owned()));
        let words = normal(&record, &[3e9]);
        assert!(words.starts_with("see the findings. Claim refuted: turbo; "), "{words}");
        let shared = "they share a core".to_owned();
        record.findings.push(Finding::warning("placement.hidden-sibling", "CPUs", shared));
        let words = normal(&record, &[]);
        assert!(words.starts_with("no. Claim refuted: turbo; CPUs that share"), "{words}");
    }
}
