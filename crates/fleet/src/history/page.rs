//! What a history says, as a page.

use std::collections::BTreeSet;

use model::areas::result_name;
use model::page::{Block, Lines, Mark, Page, Remark, Scale, Table, Text, Tone, si, tally};

use super::{Boot, FactChange, History, Move, RUNS_MIN, ResultSeries};

/// Boots that are told of in a sentence; the table has all.
const TOLD: usize = 3;

/// Changes of a boot that a cell names; more with `-v`.
const NAMED: usize = 3;

/// Results that are drawn.
const DRAWN: usize = 3;

/// The longest text of a fact that is shown whole.
const LONGEST: usize = 40;

/// The page of a history. A verbosity of 1 and more shows every boot, and all that changed and moved.
pub fn page(history: &History, verbosity: u8) -> Page {
    let mut blocks = vec![title(history), Block::List(answer(history, verbosity))];
    blocks.extend(remark(history));
    if !history.boots.is_empty() {
        blocks.push(Block::Table(table(history, verbosity)));
    }
    if let Some(lines) = drawn(history) {
        blocks.push(Block::Heading("What moved most".to_owned()));
        blocks.push(Block::Lines(lines));
    }
    Page { blocks }
}

fn title(history: &History) -> Block {
    let (boots, runs) = (tally(history.boots.len(), "boot"), tally(history.runs(), "run"));
    let ends = history.boots.first().zip(history.boots.last());
    let span = ends.map(|(first, last)| format!(", {} to {}", first.day(), last.day()));
    let simulated = history.boots.iter().find_map(|boot| boot.simulated.as_ref());
    let simulated = simulated.map(|name| format!("; SIMULATED: sim:{name}"));
    let subtitle =
        format!("{boots}, {runs}{}{}", span.unwrap_or_default(), simulated.unwrap_or_default());
    Block::Title { text: "history of this machine".to_owned(), subtitle }
}

impl Boot {
    /// When it was measured first, as people read it.
    fn time(&self) -> String {
        let started = self.runs.first().map_or("", String::as_str);
        started.get(..16).unwrap_or(started).replace('T', " ")
    }

    fn day(&self) -> &str {
        let started = self.runs.first().map_or("", String::as_str);
        started.get(..10).unwrap_or(started)
    }
}

/// The answer: what moved, at which boot, and what changed with it; the newest first.
fn answer(history: &History, verbosity: u8) -> Vec<Text> {
    let count = history.boots.len();
    if history.results.is_empty() {
        let text = format!(
            "Nothing can be said yet: no result has numbers of {RUNS_MIN} runs. \
             `cpudyno history add` measures another one."
        );
        return vec![Text::toned(text, Tone::Warning)];
    }
    let moved: Vec<(usize, &Boot)> =
        history.boots.iter().enumerate().filter(|(_, boot)| !boot.moved.is_empty()).collect();
    if moved.is_empty() {
        let results = tally(history.results.len(), "result");
        let text = format!("Nothing moved beyond noise: {results} of {}.", tally(count, "boot"));
        return vec![Text::toned(text, Tone::Good)];
    }
    let shown = if verbosity > 0 { moved.len() } else { TOLD };
    let newest = moved.iter().rev().take(shown);
    let mut lines: Vec<Text> =
        newest.flat_map(|(place, boot)| sentences(boot, *place, count)).collect();
    if moved.len() > shown {
        let more = tally(moved.len() - shown, "earlier boot");
        lines.push(format!("Results moved at {more}, too: -v tells of all.").into());
    }
    lines
}

/// What moved at a boot: one sentence of what became slower, one of what became faster, one of why.
fn sentences(boot: &Boot, place: usize, count: usize) -> Vec<Text> {
    let is_newest = place + 1 == count;
    let since = format!("boot {} of {count} ({})", place + 1, boot.time());
    let mut lines = Vec::new();
    for (way, tone, is_slower) in [("slower", Tone::Warning, true), ("faster", Tone::Good, false)] {
        for confirmed in [true, false] {
            let all: Vec<&Move> = boot
                .moved
                .iter()
                .filter(|it| (it.speed < 1.0) == is_slower && it.confirmed == confirmed)
                .collect();
            let Some(most) = all.first() else { continue };
            let results = tally(all.len(), "result");
            let are = if all.len() == 1 { "is" } else { "are" };
            let by = if all.len() == 1 { "by" } else { "by up to" };
            let percent = (most.speed - 1.0).abs() * 100.0;
            let what = if confirmed {
                format!("Since {since} {results} {are} {way}, {by} {percent:.1} %")
            } else {
                format!("At the newest run, in {since}, {results} {are} {way}, {by} {percent:.1} %")
            };
            let [before, now] = most.levels.map(|level| si::format(level, most.unit));
            let text = format!("{what}: {}: {before} -> {now}.", named(most));
            lines.push(Text::toned(text, tone));
        }
    }
    let moved: Vec<&Move> = boot.moved.iter().collect();
    let causes = boot.causes(&moved);
    let mut why: Vec<String> = causes
        .iter()
        .take(NAMED)
        .map(|(change, why)| format!("With it changed {}; {why}.", said(change)))
        .collect();
    if why.is_empty() {
        why.push(if boot.changed.is_empty() {
            "Nothing that cpudyno reads changed with it.".to_owned()
        } else {
            format!("With it changed {}.", listed(&boot.changed, NAMED))
        });
    }
    if is_newest && boot.moved.iter().any(|it| !it.confirmed) {
        why.push("One run may be chance: `cpudyno history add` measures another one.".to_owned());
    }
    lines.extend(why.into_iter().map(Text::from));
    lines
}

/// A line for each boot; where nothing happened, one for all that follow each other.
fn table(history: &History, verbosity: u8) -> Table {
    let count = history.boots.len();
    let is_plain = |place: usize| {
        let boot = &history.boots[place];
        boot.changed.is_empty() && boot.moved.is_empty() && place > 0 && place + 1 < count
    };
    let mut rows = Vec::new();
    let mut place = 0;
    while place < count {
        let plain = (place..count).take_while(|it| is_plain(*it)).count();
        if verbosity == 0 && plain > 1 {
            let last = place + plain;
            let runs: usize = history.boots[place..last].iter().map(|boot| boot.runs.len()).sum();
            let boots = format!("{} to {last}", place + 1);
            rows.push(vec![
                boots.into(),
                "as before".into(),
                runs.to_string().into(),
                "".into(),
                "".into(),
            ]);
            place = last;
            continue;
        }
        let boot = &history.boots[place];
        let shown = if verbosity > 0 { usize::MAX } else { NAMED };
        rows.push(vec![
            (place + 1).to_string().into(),
            boot.time().into(),
            boot.runs.len().to_string().into(),
            listed(&boot.changed, shown).into(),
            moved(boot),
        ]);
        place += 1;
    }
    Table::of("what changed at each boot, and what moved with it")
        .right("boot")
        .left("measured (UTC)")
        .right("runs")
        .folded("changed")
        .left("moved")
        .rows(rows)
}

/// How many results moved, as a cell.
fn moved(boot: &Boot) -> Text {
    let count = |is: &dyn Fn(&Move) -> bool| boot.moved.iter().filter(|it| is(it)).count();
    let (slower, faster) = (count(&|it| it.speed < 1.0), count(&|it| it.speed > 1.0));
    let Some(most) = boot.moved.first() else { return "".into() };
    let counts = [(slower, "slower"), (faster, "faster")].into_iter().filter(|it| it.0 > 0);
    let counts: Vec<String> = counts.map(|(count, way)| format!("{count} {way}")).collect();
    let text = format!("{}, up to {:.1} %", counts.join(", "), (most.speed - 1.0).abs() * 100.0);
    Text::toned(text, if slower > 0 { Tone::Warning } else { Tone::Good })
}

/// The results that moved most, boot by boot: one of a quantity.
fn drawn(history: &History) -> Option<Lines> {
    let mut all: Vec<&Move> = history.boots.iter().flat_map(|boot| &boot.moved).collect();
    all.sort_by(|a, b| a.speed.ln().abs().total_cmp(&b.speed.ln().abs()).reverse());
    let mut seen = BTreeSet::new();
    all.retain(|it| seen.insert((&it.what.area, &it.what.quantity)));
    all.truncate(DRAWN);
    let of = |it: &Move| history.results.iter().find(|result| result.what == it.what);
    let lines: Vec<_> =
        all.iter().filter_map(|it| Some((named(it), points(history, of(it)?)?))).collect();
    let is_drawn =
        |boot: &Boot| boot.moved.iter().any(|it| all.iter().any(|of| of.what == it.what));
    let marks = history.boots.iter().enumerate().filter(|(_, boot)| is_drawn(boot));
    let marks =
        marks.map(|(place, boot)| Mark { at: (place + 1) as f64, text: listed(&boot.changed, 1) });
    (!lines.is_empty()).then(|| Lines {
        caption: match lines.as_slice() {
            [(name, _)] => format!("{name}: each run, over the level at the beginning"),
            _ => "each run, over the level at the beginning".to_owned(),
        },
        x: "boot".to_owned(),
        y: "%".to_owned(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        reach: None,
        lines,
        marks: marks.filter(|mark| !mark.text.is_empty()).collect(),
    })
}

/// The boot of each run, and its number over the level that was first, in per cent.
fn points(history: &History, result: &ResultSeries) -> Option<Vec<(f64, f64)>> {
    let moved = history.boots.iter().flat_map(|boot| &boot.moved);
    let first = moved.clone().find(|it| it.what == result.what)?.levels[0];
    let places = history.boots.iter().enumerate();
    let places = places.flat_map(|(place, boot)| vec![place + 1; boot.runs.len()]);
    let points = places.zip(&result.values);
    let point =
        |(boot, value): (usize, &Option<f64>)| Some((boot as f64, (*value)? / first * 100.0));
    Some(points.filter_map(point).collect())
}

/// What was skipped.
fn remark(history: &History) -> Option<Block> {
    let first = history.skipped.first()?;
    let lines = tally(history.skipped.len(), "line");
    let are = if history.skipped.len() == 1 { "is" } else { "are" };
    let text = format!(
        "{lines} {are} skipped, first line {} of `{}`: {}",
        first.line,
        first.file.display(),
        first.why
    );
    let mark = Text::toned("warning", Tone::Warning);
    Some(Block::Remarks(vec![Remark { mark, about: "history".to_owned(), text, remedy: None }]))
}

fn named(it: &Move) -> String {
    let cpus = tally(it.what.active, "CPU");
    format!("{}, {cpus}", result_name(&it.what))
}

fn said(FactChange { label, before, now, .. }: &FactChange) -> String {
    format!("{label}: {} -> {}", short(before), short(now))
}

fn listed(changes: &[FactChange], most: usize) -> String {
    let mut words: Vec<String> = changes.iter().take(most).map(said).collect();
    if changes.len() > most {
        words.push(format!("{} more", changes.len() - most));
    }
    words.join("; ")
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some(_) => text.chars().take(LONGEST - 3).collect::<String>() + "...",
        None => text.to_owned(),
    }
}
