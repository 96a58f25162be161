//! What a history says, as a page.

use std::collections::BTreeSet;

use model::page::{Block, Lines, Mark, Page, Remark, Scale, Table, Text, Tone, si, tally};

use super::{FactChange, History, HistoryRun, Move, RUNS_MIN, ResultSeries, why};
use crate::survey::{changed_text, named};

/// Runs that are told of in a sentence; the table has all.
const TOLD: usize = 3;

/// Changes that a cell names; more with `-v`.
const NAMED: usize = 3;

/// Results that are drawn.
const DRAWN: usize = 3;

/// The page of a history. A verbosity of 1 and more shows every run, and all that changed.
pub fn page(history: &History, verbosity: u8) -> Page {
    let mut blocks = vec![title(history), Block::List(answer(history, verbosity))];
    blocks.extend(remark(history));
    if !history.runs.is_empty() {
        blocks.push(Block::Table(table(history, verbosity)));
    }
    if let Some(lines) = drawn(history) {
        blocks.push(Block::Heading("What moved most".to_owned()));
        blocks.push(Block::Lines(lines));
    }
    Page { blocks }
}

fn title(history: &History) -> Block {
    let (runs, boots) = (tally(history.runs.len(), "run"), tally(history.boots(), "boot"));
    let ends = history.runs.first().zip(history.runs.last());
    let span = ends.map(|(first, last)| format!(", {} to {}", first.day(), last.day()));
    let simulated = history.runs.iter().find_map(|run| run.simulated.as_ref());
    let simulated = simulated.map(|name| format!("; SIMULATED: sim:{name}"));
    let subtitle =
        format!("{runs}, {boots}{}{}", span.unwrap_or_default(), simulated.unwrap_or_default());
    Block::Title { text: "history of this machine".to_owned(), subtitle }
}

impl HistoryRun {
    /// When it was measured, as people read it.
    fn time(&self) -> String {
        self.started.get(..16).unwrap_or(&self.started).replace('T', " ")
    }

    fn day(&self) -> &str {
        self.started.get(..10).unwrap_or(&self.started)
    }
}

/// The answer: what moved, at which run, and what changed with it; the newest first.
fn answer(history: &History, verbosity: u8) -> Vec<Text> {
    if history.results.is_empty() {
        let text = format!(
            "Nothing can be said yet: no result has numbers of {RUNS_MIN} runs. \
             `cpudyno history add` measures another one."
        );
        return vec![Text::toned(text, Tone::Warning)];
    }
    let places = 0..history.runs.len();
    let moved: Vec<usize> = places.filter(|place| !history.runs[*place].moved.is_empty()).collect();
    if moved.is_empty() {
        let (results, runs) =
            (tally(history.results.len(), "result"), tally(history.runs.len(), "run"));
        let text = format!("Nothing moved beyond noise: {results} of {runs}.");
        return vec![Text::toned(text, Tone::Good)];
    }
    let shown = if verbosity > 0 { moved.len() } else { TOLD };
    let newest = moved.iter().rev().take(shown);
    let mut lines: Vec<Text> = newest.flat_map(|place| sentences(history, *place)).collect();
    if moved.len() > shown {
        let more = tally(moved.len() - shown, "earlier run");
        lines.push(format!("Results moved at {more}, too: -v tells of all.").into());
    }
    lines
}

/// What moved at a run: what became slower, what faster, and what changed with it.
fn sentences(history: &History, place: usize) -> Vec<Text> {
    let run = &history.runs[place];
    let mut lines = Vec::new();
    for confirmed in [true, false] {
        for is_slower in [true, false] {
            let is_it = |it: &&Move| (it.speed < 1.0) == is_slower && it.confirmed == confirmed;
            let all: Vec<&Move> = run.moved.iter().filter(is_it).collect();
            lines.extend(all.first().map(|most| sentence(run, most, all.len())));
        }
    }
    let changed = history.changed_with(place);
    let known = changed.iter().filter_map(|change| Some((change, why(change, &run.moved)?)));
    let known: Vec<String> = known
        .take(NAMED)
        .map(|(change, why)| format!("With it changed {}; {why}.", said(change)))
        .collect();
    if known.is_empty() {
        let told = if changed.is_empty() {
            "Nothing that cpudyno reads changed since the run before.".to_owned()
        } else {
            format!("With it changed {}.", listed(&changed, NAMED))
        };
        lines.push(told.into());
    }
    lines.extend(known.into_iter().map(Text::from));
    if run.moved.iter().any(|it| !it.confirmed) {
        let text = "One run may be chance: `cpudyno history add` measures another one.";
        lines.push(text.into());
    }
    lines
}

/// How many results moved one way at a run, and the one that did most.
fn sentence(run: &HistoryRun, most: &Move, count: usize) -> Text {
    let (way, tone) =
        if most.speed < 1.0 { ("slower", Tone::Warning) } else { ("faster", Tone::Good) };
    let at = format!("{} (boot {})", run.time(), run.boot);
    let since = if most.confirmed { "Since the run of" } else { "In the newest run alone, of" };
    let (are, by) = if count == 1 { ("is", "by") } else { ("are", "by up to") };
    let percent = (most.speed - 1.0).abs() * 100.0;
    let results = tally(count, "result");
    let [before, now] = most.levels.map(|level| si::format(level, most.unit));
    let text = format!(
        "{since} {at} {results} {are} {way}, {by} {percent:.1} %: {}: {before} -> {now}.",
        named(&most.what)
    );
    Text::toned(text, tone)
}

/// A line for each run; where nothing happened, one for all that follow each other.
fn table(history: &History, verbosity: u8) -> Table {
    let count = history.runs.len();
    let is_plain = |place: usize| {
        let run = &history.runs[place];
        run.changed.is_empty() && run.moved.is_empty() && place > 0 && place + 1 < count
    };
    let mut rows = Vec::new();
    let mut place = 0;
    while place < count {
        let plain = (place..count).take_while(|it| is_plain(*it)).count();
        if verbosity == 0 && plain > 1 {
            let boots = [place, place + plain - 1].map(|place| history.runs[place].boot);
            let boots = if boots[0] == boots[1] {
                boots[0].to_string()
            } else {
                format!("{} to {}", boots[0], boots[1])
            };
            let runs = format!("{}, as before", tally(plain, "run"));
            rows.push(vec![boots.into(), runs.into(), "".into(), "".into()]);
            place += plain;
            continue;
        }
        let run = &history.runs[place];
        let shown = if verbosity > 0 { usize::MAX } else { NAMED };
        let changed: Vec<&FactChange> = run.changed.iter().collect();
        rows.push(vec![
            run.boot.to_string().into(),
            run.time().into(),
            listed(&changed, shown).into(),
            moved(run),
        ]);
        place += 1;
    }
    Table::of("what changed at each run, and what moved with it")
        .right("boot")
        .left("run (UTC)")
        .folded("changed")
        .left("moved")
        .rows(rows)
}

/// How many results moved, as a cell.
fn moved(run: &HistoryRun) -> Text {
    let count = |is: &dyn Fn(&Move) -> bool| run.moved.iter().filter(|it| is(it)).count();
    let (slower, faster) = (count(&|it| it.speed < 1.0), count(&|it| it.speed > 1.0));
    let Some(most) = run.moved.first() else { return "".into() };
    let counts = [(slower, "slower"), (faster, "faster")].into_iter().filter(|it| it.0 > 0);
    let counts: Vec<String> = counts.map(|(count, way)| format!("{count} {way}")).collect();
    let text = format!("{}, up to {:.1} %", counts.join(", "), (most.speed - 1.0).abs() * 100.0);
    Text::toned(text, if slower > 0 { Tone::Warning } else { Tone::Good })
}

/// The results that moved most, run by run: one of a quantity.
fn drawn(history: &History) -> Option<Lines> {
    let mut all: Vec<&Move> = history.runs.iter().flat_map(|run| &run.moved).collect();
    all.sort_by(|a, b| a.dearest_first(b));
    let mut seen = BTreeSet::new();
    all.retain(|it| seen.insert((&it.what.area, &it.what.quantity)));
    all.truncate(DRAWN);
    let of = |it: &Move| history.results.iter().find(|result| result.what == it.what);
    let lines: Vec<_> =
        all.iter().filter_map(|it| Some((named(&it.what), points(history, of(it)?)?))).collect();
    let is_drawn =
        |run: &HistoryRun| run.moved.iter().any(|it| all.iter().any(|of| of.what == it.what));
    let places = (0..history.runs.len()).filter(|place| is_drawn(&history.runs[*place]));
    let marks = places.map(|place| Mark {
        at: (place + 1) as f64,
        text: listed(&history.changed_with(place), 1),
    });
    (!lines.is_empty()).then(|| Lines {
        caption: match lines.as_slice() {
            [(name, _)] => format!("{name}: each run, over the level at the beginning"),
            _ => "each run, over the level at the beginning".to_owned(),
        },
        x: "run".to_owned(),
        y: "%".to_owned(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        reach: None,
        lines,
        marks: marks.filter(|mark| !mark.text.is_empty()).collect(),
    })
}

/// Each run, and its number over the level that was first, in per cent.
fn points(history: &History, result: &ResultSeries) -> Option<Vec<(f64, f64)>> {
    let mut moved = history.runs.iter().flat_map(|run| &run.moved);
    let first = moved.find(|it| it.what == result.what)?.levels[0];
    let points = result.values.iter().enumerate();
    let point =
        |(run, value): (usize, &Option<f64>)| Some(((run + 1) as f64, (*value)? / first * 100.0));
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

fn said(FactChange { label, before, now, .. }: &FactChange) -> String {
    format!("{label}: {}", changed_text(before, now))
}

fn listed(changes: &[&FactChange], most: usize) -> String {
    let mut words: Vec<String> = changes.iter().take(most).map(|change| said(change)).collect();
    if changes.len() > most {
        words.push(format!("{} more", changes.len() - most));
    }
    words.join("; ")
}
