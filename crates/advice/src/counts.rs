//! The page of `cpudyno pmu`.

use std::cmp::Ordering;

use model::page::{Align, Block, Page, Remark, Table, Text, Tone};
use model::record::{AnswerFound, BudgetRow, Counts, CountsRun, KnownAnswer, MetricValue, Record};
use model::{Known, Unavailable};

use model::counts::{Report, gathered, header, number, reasons};
use report::areas::datatypes::{plot, sentence};

/// Tables of counts, how they were counted, and why some are missing.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let Some(run) = &record.counts else { return Page::default() };
    let mut blocks = vec![title(record, run)];
    blocks.push(Block::Box(facts(run, verbosity)));
    if !run.passes.is_empty() && (verbosity > 0 || run.tables.is_empty()) {
        blocks.push(passes(run));
    }
    let compared = run.tables.iter().any(|counts| !counts.circumstances.is_empty());
    if compared {
        blocks.push(Block::Table(sheet(&run.tables)));
    }
    if verbosity > 0 || !compared {
        blocks.extend(run.tables.iter().map(|counts| Block::Table(table(counts))));
    }
    blocks.extend(explained(&run.tables));
    blocks.extend(metrics(&run.tables).map(Block::Table));
    blocks.extend(placed(run));
    blocks.extend(answers(&run.answers).map(Block::Table));
    blocks.extend(budget(&run.budget).map(Block::Table));
    let missing = missing(run);
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
    let legend = report.notes().iter().chain(&counts.ended).cloned();
    of_counts(format!("profiling: {}", counts.title), &report, Align::Left).legend(legend)
}

/// Why something is missing, of tables and answers alike.
fn missing(run: &CountsRun) -> Vec<(Vec<String>, String, Option<String>)> {
    let of_answers = run.answers.iter().filter_map(|answer| match &answer.found {
        Known::Yes(_) => None,
        Known::No { unavailable } => Some((answer.event.clone(), unavailable.clone())),
    });
    let of_plan = run.absent.iter().map(|absent| (absent.what.clone(), absent.clone()));
    gathered(reasons(&run.tables).chain(of_answers).chain(of_plan))
}

/// Counts for each unit, a column for each of the circumstances.
fn sheet(tables: &[Counts]) -> Table {
    let report = Report::of_sheet(tables);
    of_counts(report.notes().concat(), &report, Align::Label)
}

fn of_counts(caption: String, report: &Report, first: Align) -> Table {
    let aligns = std::iter::once(first).chain(std::iter::repeat(Align::Right));
    let row = |row: &Vec<String>| row.iter().map(|cell| Text::from(cell.as_str())).collect();
    Table::of(caption)
        .columns(report.columns().iter().cloned().zip(aligns))
        .rows(report.rows().iter().map(row))
}

/// What bounds each of the tables: from the largest share of the slots to the largest part of it, and so on.
fn explained(tables: &[Counts]) -> Option<Block> {
    let sentences: Vec<Text> = tables.iter().filter_map(explanation).map(Text::from).collect();
    (!sentences.is_empty()).then_some(Block::List(sentences))
}

/// Where the work lies on each roofline, and what bounds it there.
fn placed(run: &CountsRun) -> Vec<Block> {
    let mut blocks = Vec::new();
    for roofline in &run.rooflines {
        let spot = |counts: &'_ Counts| match &counts.spot {
            Some(Known::Yes(spot)) if spot.cpus == roofline.cpus => Some(spot.clone()),
            _ => None,
        };
        let spots: Vec<_> =
            run.tables.iter().filter_map(|it| Some((header(it), spot(it)?))).collect();
        if spots.is_empty() {
            continue;
        }
        let named: Vec<_> = spots.iter().map(|(name, spot)| (name.clone(), spot)).collect();
        blocks.push(plot(roofline, &named));
        let sentences = named.iter().filter_map(|(name, spot)| sentence(roofline, name, spot));
        blocks.push(Block::List(sentences.map(Text::from).collect()));
    }
    blocks
}

/// The unit of shares that add up to all.
const OF_SLOTS: &str = "% of slots";

/// `triad: waits for memory, 62 % of cycles (waits for caches or memory 70 % of slots, ...)`.
fn explanation(counts: &Counts) -> Option<String> {
    let share = |metric: &'_ MetricValue| metric.value.value().copied();
    let find = |id: &str| counts.metrics.iter().find(|metric| metric.id == id);
    // A share that a core has no formula of has none of its parts either: they are parts of the next one up.
    let parent = |metric: &MetricValue| {
        let mut parent = metric.parent.clone();
        while let Some(absent) = parent.as_deref().and_then(find).filter(|it| share(it).is_none()) {
            parent = absent.parent.clone();
        }
        parent
    };
    let parts_of = |of: Option<&str>| {
        let parts = counts.metrics.iter().filter(|metric| parent(metric).as_deref() == of);
        let parts = parts.filter_map(|it| Some((it, it.says.as_deref()?, share(it)?)));
        parts.collect::<Vec<_>>()
    };
    let largest_below = |of: Option<&str>| {
        let parts = parts_of(of).into_iter();
        // Cycles of a core whose slots are known say less.
        let rank = |part: &(&MetricValue, &str, f64)| (part.0.unit == OF_SLOTS, part.2);
        parts.max_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(Ordering::Equal))
    };
    let first = largest_below(None)?;
    // Some of the slots alone say nothing of the rest, nor do a few cycles.
    let slots = parts_of(None).into_iter().filter(|part| part.0.unit == OF_SLOTS);
    let slots: f64 = slots.map(|part| part.2).sum();
    let is_whole = (95.0..=105.0).contains(&slots);
    if !(is_whole || first.0.unit != OF_SLOTS && first.2 >= 50.0) {
        return None;
    }
    // What is less than half of a share does not explain it.
    let part = |share: &(&MetricValue, &str, f64)| {
        largest_below(Some(&share.0.id)).filter(|part| part.2 >= share.2 / 2.0)
    };
    let chain: Vec<_> = std::iter::successors(Some(first), part).collect();
    let mut words = chain.iter().rev().map(|(metric, says, value)| {
        let unit = metric.unit.trim_start_matches("% ");
        (says, format!("{value:.0} % {unit}"))
    });
    let (says, share) = words.next()?;
    let above: Vec<String> = words.map(|(says, share)| format!("{says} {share}")).collect();
    let above = if above.is_empty() { String::new() } else { format!(" ({})", above.join(", ")) };
    Some(format!("{}: {says}, {share}{above}", header(counts)))
}

/// What follows from the counts, a column for each table.
fn metrics(tables: &[Counts]) -> Option<Table> {
    let mut titles: Vec<(&str, &str)> = Vec::new();
    for metric in tables.iter().flat_map(|counts| &counts.metrics) {
        let title = (metric.title.as_str(), metric.unit.as_str());
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    let tables: Vec<&Counts> = tables.iter().filter(|counts| !counts.metrics.is_empty()).collect();
    let row = |(title, unit): &(&str, &str)| {
        let of = |counts: &&Counts| {
            let found = counts.metrics.iter().find(|metric| metric.title == *title);
            Text::from(found.map_or_else(|| "-".to_owned(), number))
        };
        std::iter::once(Text::from(*title))
            .chain(tables.iter().map(of))
            .chain([(*unit).into()])
            .collect()
    };
    (!titles.is_empty()).then(|| {
        Table::of("Derived metrics")
            .label("METRIC")
            .columns(tables.iter().map(|counts| (header(counts), Align::Right)))
            .left("UNIT")
            .rows(titles.iter().map(row))
    })
}

/// Whether something is as it should be, as a word.
fn verdict(is_right: Option<bool>, words: [&str; 2]) -> Text {
    match is_right {
        Some(true) => Text::from(words[0]),
        Some(false) => Text::toned(words[1], Tone::Warning),
        None => Text::from("not counted"),
    }
}

/// Events beside their known answers.
fn answers(answers: &[KnownAnswer]) -> Option<Table> {
    let row = |answer: &KnownAnswer| {
        let numbers = match &answer.found {
            Known::Yes(found) => {
                let AnswerFound { unit, expected, least, most, counted, .. } = found;
                [
                    unit.clone(),
                    format!("{expected:.3}"),
                    format!("{least:.3} - {most:.3}"),
                    format!("{counted:.3}"),
                ]
            }
            Known::No { .. } => ["-"; 4].map(str::to_owned),
        };
        let mut cells = vec![Text::from(answer.event.as_str()), answer.work.as_str().into()];
        cells.extend(numbers.map(Text::from));
        cells.push(verdict(answer.is_right(), ["right", "WRONG"]));
        cells
    };
    let mut notes: Vec<String> = Vec::new();
    for answer in answers.iter().filter(|answer| answer.found.value().is_some()) {
        let same = |note: &&mut String| note.ends_with(&format!(": {}", answer.why));
        match notes.iter_mut().find(same) {
            Some(note) if note.contains(&answer.event) => {}
            Some(note) => *note = format!("{}, {note}", answer.event),
            None => notes.push(format!("{}: {}", answer.event, answer.why)),
        }
    }
    (!answers.is_empty()).then(|| {
        Table::of("Counts of known work per unit, 2n minus n")
            .label("EVENT")
            .left("WORK")
            .left("UNIT")
            .right("EXPECTED")
            .right("RIGHT IF")
            .right("COUNTED")
            .left("VERDICT")
            .rows(answers.iter().map(row))
            .notes(notes)
    })
}

/// A budget beside what was counted.
fn budget(rows: &[BudgetRow]) -> Option<Table> {
    let row = |row: &BudgetRow| {
        let found = row.found.value().map_or_else(|| "-".to_owned(), |found| format!("{found:.3}"));
        vec![
            Text::from(row.part.as_str()),
            row.event.as_str().into(),
            format!("{:.3}", row.expected).into(),
            format!("{:.3} - {:.3}", row.least, row.most).into(),
            found.into(),
            verdict(row.holds(), ["holds", "DRIFTS"]),
        ]
    };
    (!rows.is_empty()).then(|| {
        Table::of("Budget per unit")
            .label("PART")
            .label("EVENT")
            .right("EXPECTED")
            .right("HOLDS IF")
            .right("COUNTED")
            .left("VERDICT")
            .rows(rows.iter().map(row))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares with their parents, in per cent.
    fn explained(shares: &[(&str, Option<&str>, f64)]) -> Option<String> {
        let metric = |(id, parent, value): &(&str, Option<&str>, f64)| MetricValue {
            id: (*id).to_owned(),
            title: (*id).to_owned(),
            unit: if id.ends_with("bound") { "% of slots" } else { "% of cycles" }.to_owned(),
            parent: parent.map(str::to_owned),
            says: Some(format!("waits for {id}")),
            formula: String::new(),
            value: Known::Yes(*value),
        };
        let metrics = shares.iter().map(metric).collect();
        explanation(&Counts { title: "triad".to_owned(), metrics, ..Counts::default() })
    }

    #[test]
    fn the_largest_share_is_followed_while_one_part_is_half_of_it() {
        let (core, memory) =
            (("core bound", Some("back bound"), 20.0), ("mem bound", Some("back bound"), 50.0));
        let levels = [("back bound", None, 70.0), ("front bound", None, 30.0), core, memory];
        let l2 = ("L2", Some("mem bound"), 41.0);
        let text = explained(&[&levels[..], &[l2]].concat()).unwrap();
        let above = "(waits for mem bound 50 % of slots, waits for back bound 70 % of slots)";
        assert_eq!(text, format!("triad: waits for L2, 41 % of cycles {above}"));
        // 15 of 50 is less than half: no level explains it.
        let spread = ["L1", "L2", "L3"].map(|level| (level, Some("mem bound"), 15.0));
        let text = explained(&[&levels[..], &spread].concat()).unwrap();
        assert!(text.starts_with("triad: waits for mem bound, 50 % of slots ("), "{text}");
        // Cycles stand for slots only where there are none.
        let stalled = ("stalled", None, 90.0);
        let text = explained(&[&levels[..2], &[stalled]].concat()).unwrap();
        assert_eq!(text, "triad: waits for back bound, 70 % of slots");
        // A part of the slots alone explains nothing, nor do a few cycles.
        assert_eq!(explained(&levels[1..2]), None);
        assert_eq!(explained(&[("stalled", None, 2.0)]), None);
        assert_eq!(explained(&[stalled]).unwrap(), "triad: waits for stalled, 90 % of cycles");
        assert_eq!(explained(&[]), None);
    }
}
