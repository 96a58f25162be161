//! What a comparison says, as a page.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use model::areas::result_name;
use model::page::{Align, Block, Page, Slope, SlopeEnd, Slopes, Table, Text, Tone, si};

use super::{Comparison, RatioVerdict, RecordSource, RelativeValue, ResultRow, Setting, Value};

/// Differing results that are listed; more are in the record of the comparison.
const LISTED: usize = 40;

/// Of one quantity of an area: a setting that moves the clock moves that of each stream.
const LISTED_OF_EACH: usize = 6;

/// Records that have columns; all are in the comparison's JSON.
const NAMED: usize = 6;

/// The places of the records that have columns: the first, and of the others those that differ from it in most results,
/// then those that have none in common with it, then those that differ in most settings.
fn named(comparison: &Comparison) -> Vec<usize> {
    let mut others: Vec<usize> = (1..comparison.records.len()).collect();
    let rank = |place: &usize| {
        let results = differing_results(comparison, *place);
        Reverse((results, !comparison.is_compared(*place), differing_settings(comparison, *place)))
    };
    others.sort_by_cached_key(rank);
    others.truncate(NAMED - 1);
    others.sort_unstable();
    std::iter::once(0).chain(others).filter(|place| *place < comparison.records.len()).collect()
}

fn differing_results(comparison: &Comparison, place: usize) -> usize {
    comparison.results.iter().filter(|row| row.differs_in(place)).count()
}

fn differing_settings(comparison: &Comparison, place: usize) -> usize {
    comparison.settings.iter().filter(|setting| setting.differs_in(place)).count()
}

/// What is said of the records without a column.
fn further(comparison: &Comparison, named: &[usize]) -> Option<Text> {
    let rest: Vec<usize> =
        (0..comparison.records.len()).filter(|place| !named.contains(place)).collect();
    let (compared, lonely): (Vec<usize>, Vec<usize>) =
        rest.iter().partition(|place| comparison.is_compared(**place));
    let differs = |place: &usize| {
        differing_results(comparison, *place) + differing_settings(comparison, *place) > 0
    };
    let (differ, alike): (Vec<usize>, Vec<usize>) = compared.into_iter().partition(differs);
    let mut told = Vec::new();
    if let Some(names) = some_names(comparison, &lonely) {
        told.push(number(lonely.len(), "has", "have") + " no result in common with A: " + &names);
    }
    if !differ.is_empty() {
        let differ = number(differ.len(), "differs", "differ");
        told.push(differ + " from A, in no more results than those that have one");
    }
    if !alike.is_empty() {
        told.push(if alike.len() == rest.len() {
            "none differs from A with certainty".to_owned()
        } else {
            number(alike.len(), "does", "do") + " not differ from A with certainty"
        });
    }
    let records = number(rest.len(), "further record", "further records");
    let text = format!("{records} without a column: {}; `--json FILE` has all.", told.join("; "));
    let tone = if lonely.is_empty() { Tone::Plain } else { Tone::Warning };
    (!rest.is_empty()).then(|| Text::toned(text, tone))
}

/// The file of the first of these records, and how many more there are.
fn some_names(comparison: &Comparison, places: &[usize]) -> Option<String> {
    let (first, more) = places.split_first()?;
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    Some(format!("{}{more}", comparison.records[*first].name))
}

const DIFFERING: &str = "Results that differ";

/// The page of a comparison. A verbosity of 1 and more lists every result.
pub fn page(comparison: &Comparison, verbosity: u8) -> Page {
    let named = &named(comparison);
    let mut blocks = vec![title(comparison), machines(comparison, named)];
    blocks.push(Block::List(sentences(comparison, named)));
    blocks.push(Block::Heading("Settings that differ".to_owned()));
    blocks.push(settings(comparison, named));
    blocks.push(Block::Heading(DIFFERING.to_owned()));
    blocks.push(results(comparison, named, verbosity));
    if !comparison.causes.is_empty() {
        blocks.push(Block::Heading("Likely causes".to_owned()));
        blocks.push(causes(comparison, verbosity));
    }
    if !comparison.lonely.is_empty() {
        blocks.push(Block::Heading("Not compared".to_owned()));
        blocks.push(lonely(comparison, verbosity));
    }
    Page { blocks }
}

/// The page where it can be drawn: lines from record to record stand before the table.
pub fn drawn(comparison: &Comparison, verbosity: u8) -> Page {
    let mut page = page(comparison, verbosity);
    let is_place = |block: &Block| matches!(block, Block::Heading(text) if text == DIFFERING);
    if let (Some(slopes), Some(place)) = (slopes(comparison), page.blocks.iter().position(is_place))
    {
        page.blocks.insert(place + 1, slopes);
    }
    page
}

/// The results that differ most, as lines.
fn slopes(comparison: &Comparison) -> Option<Block> {
    /// More lines are no picture.
    const DRAWN: usize = 14;
    /// Of a kind: what one setting does to all streams and numbers of cores is the same line again.
    const DRAWN_OF_EACH: usize = 2;
    let named = named(comparison);
    let differing = comparison.results.iter().filter(|row| row.differs_among(&named));
    let lines: Vec<Slope> = first_of_each(differing, DRAWN_OF_EACH)
        .into_iter()
        .take(DRAWN)
        .map(|row| {
            let cores = if row.what.active == 1 { "core" } else { "cores" };
            // The first record has a number in each row.
            let ratio = |place: usize| match place {
                0 => Some(1.0),
                place => Some(row.beside[place - 1].as_ref()?.ratio),
            };
            let ends = named.iter().map(|place| {
                let number = si::format(row.values[*place].as_ref()?.median, row.unit);
                Some(SlopeEnd { ratio: ratio(*place)?, number })
            });
            Slope {
                name: format!("{}, {} {cores}", result_name(&row.what), row.what.active),
                ends: ends.collect(),
            }
        })
        .collect();
    let caption = "the largest differences, each as a ratio to A, by its logarithm".to_owned();
    let columns = named.iter().map(|place| letter(*place)).collect();
    (!lines.is_empty()).then_some(Block::Slopes(Slopes { caption, columns, lines }))
}

/// The first rows of each quantity of each area.
fn first_of_each<'a>(rows: impl Iterator<Item = &'a ResultRow>, most: usize) -> Vec<&'a ResultRow> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let is_early = |row: &&'a ResultRow| {
        let count = counts.entry((&row.what.area, &row.what.quantity)).or_default();
        *count += 1;
        *count <= most
    };
    rows.filter(is_early).collect()
}

/// `A`, `B` ... by which records are named in tables.
fn letter(place: usize) -> String {
    let letter = char::from(b'A' + (place % 26) as u8);
    if place < 26 { letter.to_string() } else { format!("{letter}{}", place / 26) }
}

fn title(comparison: &Comparison) -> Block {
    let records = &comparison.records;
    let simulated = records.iter().filter(|record| record.simulated.is_some()).count();
    let simulated = match simulated {
        0 => "",
        some if some == records.len() => "SIMULATED: ",
        _ => "partly SIMULATED: ",
    };
    let subtitle = "A is what the others are held against; `cpudyno ab` compares settings in turns";
    let text = format!("{simulated}{} records beside one another", records.len());
    Block::Title { text, subtitle: subtitle.to_owned() }
}

fn machines(comparison: &Comparison, named: &[usize]) -> Block {
    let line = |&place: &usize| {
        let of: &RecordSource = &comparison.records[place];
        let simulated = if of.simulated.is_some() { "SIMULATED, " } else { "" };
        let stopped = of.interrupted.as_ref().map_or_else(String::new, |why| format!(", {why}"));
        let when = of.elsewhere.as_ref().unwrap_or(&of.started);
        let text = format!("{}: {simulated}{}, {when}{stopped}", of.name, of.cpu);
        (letter(place), Text::from(text))
    };
    Block::Box(named.iter().map(line).collect())
}

/// What came of it, in brief.
fn sentences(comparison: &Comparison, named: &[usize]) -> Vec<Text> {
    let chosen = comparison.settings.iter().filter(|setting| setting.can_be_chosen).count();
    let others = comparison.settings.len() - chosen;
    let mut lines = vec![Text::from(format!(
        "{} and {} differ.",
        number(chosen, "setting", "settings"),
        number(others, "fact about the machines", "facts about the machines"),
    ))];
    if !comparison.known_to_some.is_empty() {
        let labels = comparison.known_to_some.join(", ");
        lines.push(Text::toned(format!("Known to some records only: {labels}."), Tone::Faint));
    }
    if comparison.results.is_empty() {
        let none = "A has no result in common with another of these records: nothing is compared.";
        lines.push(Text::toned(none, Tone::Warning));
    } else {
        lines.extend(named[1..].iter().map(|place| beside(comparison, *place)));
    }
    lines.extend(further(comparison, named));
    lines
}

/// How one record stands beside the first.
fn beside(comparison: &Comparison, place: usize) -> Text {
    let [first, other] = [&comparison.records[0], &comparison.records[place]];
    // All simulated runs have one id.
    if first.simulated.is_none() && (&first.run, &first.started) == (&other.run, &other.started) {
        return Text::toned(format!("{} is the same run as A.", letter(place)), Tone::Warning);
    }
    let verdicts: Vec<RatioVerdict> = comparison
        .results
        .iter()
        .filter_map(|row| Some(row.beside[place - 1].as_ref()?.verdict))
        .collect();
    let count = |verdict| verdicts.iter().filter(|told| **told == verdict).count();
    let words = [
        (RatioVerdict::Worse, "worse"),
        (RatioVerdict::Better, "better"),
        (RatioVerdict::Differs, "different"),
        (RatioVerdict::Same, "the same within 1 %"),
        (RatioVerdict::CannotTell, "cannot tell"),
    ];
    let told = words.map(|(verdict, word)| (count(verdict), word));
    let told = told.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, word)| format!("{count} {word}")).collect();
    let left_out = match comparison.not_compared(place) {
        0 => String::new(),
        some => format!("; {some} could not be compared"),
    };
    let letter = letter(place);
    if verdicts.is_empty() {
        let text = format!("{letter} has no result in common with A{left_out}.");
        return Text::toned(text, Tone::Warning);
    }
    let results = number(verdicts.len(), "result", "results");
    Text::from(format!("{letter} beside A, {results}: {}{left_out}.", told.join(", ")))
}

fn number(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

fn settings(comparison: &Comparison, named: &[usize]) -> Block {
    if comparison.settings.is_empty() {
        let is_silent = |record: &RecordSource| record.elsewhere.is_some();
        return Block::Paragraph(if comparison.records.iter().any(is_silent) {
            "none that is known: a matrix says nothing of its machine".into()
        } else {
            "none: the machines say the same of themselves".into()
        });
    }
    let row = |setting: &Setting| {
        let label = Text::toned(
            setting.label.clone(),
            if setting.can_be_chosen { Tone::Strong } else { Tone::Plain },
        );
        let value = |value: &Option<String>| match value {
            Some(value) => Text::from(value.as_str()),
            None => Text::toned("not known", Tone::Faint),
        };
        let values = named.iter().map(|place| value(&setting.values[*place]));
        std::iter::once(label).chain(values).collect()
    };
    let caption = match comparison.settings.first() {
        Some(first) if first.can_be_chosen => "what was chosen first",
        _ => "what the machines are first",
    };
    Table::of(caption)
        .label("setting")
        .columns(named.iter().map(|place| (letter(*place), Align::Left)))
        .rows(comparison.settings.iter().map(row))
        .legend(elsewhere(comparison, named))
        .into()
}

/// Where no two records that have columns differ: which others do.
fn elsewhere(comparison: &Comparison, named: &[usize]) -> Vec<String> {
    /// All are in the comparison's JSON.
    const NOTED: usize = 6;
    let note = |setting: &Setting| {
        let value = |place: usize| setting.values[place].as_deref();
        let shown: BTreeSet<&str> = named.iter().filter_map(|place| value(*place)).collect();
        let is_other = |place: &usize| value(*place).is_some_and(|value| !shown.contains(value));
        let mut others = (0..setting.values.len()).filter(is_other).filter(|_| shown.len() < 2);
        let first = others.next()?;
        let (mut alike, differing): (Vec<usize>, Vec<usize>) =
            others.partition(|place| value(*place) == value(first));
        alike.insert(0, first);
        let names = some_names(comparison, &alike)?;
        let else_in = some_names(comparison, &differing)
            .map_or_else(String::new, |names| format!(", something else in {names}"));
        Some(format!("{} without a column: {} in {names}{else_in}", setting.label, value(first)?))
    };
    let mut notes: Vec<String> = comparison.settings.iter().filter_map(note).collect();
    let more = notes.split_off(notes.len().min(NOTED)).len();
    notes.extend((more > 0).then(|| format!("{more} more differ in records without a column")));
    notes
}

fn verdict(beside: &RelativeValue) -> Text {
    match beside.verdict {
        RatioVerdict::Better => Text::toned("better", Tone::Good),
        RatioVerdict::Worse => Text::toned("worse", Tone::Warning),
        RatioVerdict::Differs => Text::from("different"),
        RatioVerdict::Same => Text::from("same"),
        RatioVerdict::CannotTell => Text::toned("cannot tell", Tone::Faint),
    }
}

fn ratio(beside: &RelativeValue) -> String {
    match beside.interval {
        Some([low, high]) => format!("{:.3} ({low:.3} to {high:.3})", beside.ratio),
        None => format!("{:.3}", beside.ratio),
    }
}

fn results(comparison: &Comparison, named: &[usize], verbosity: u8) -> Block {
    let differing = || comparison.results.iter().filter(|row| row.differs_among(named));
    let all: Vec<&ResultRow> =
        if verbosity > 0 { comparison.results.iter().collect() } else { differing().collect() };
    if all.is_empty() {
        let none = match comparison.results.as_slice() {
            [] => "nothing was compared",
            _ => "none with certainty; -v lists every result",
        };
        return Block::Paragraph(none.into());
    }
    let count = all.len();
    let listed = if verbosity > 0 {
        all
    } else {
        let mut first = first_of_each(differing(), LISTED_OF_EACH);
        first.truncate(LISTED);
        first
    };
    let row = |row: &&ResultRow| {
        let mut cells = vec![result_name(&row.what).into(), row.what.active.to_string().into()];
        let absent = || Text::toned("-", Tone::Faint);
        let median = |it: &Value| Text::from(si::format(it.median, row.unit));
        let values = named.iter().map(|place| row.values[*place].as_ref());
        cells.extend(values.map(|it| it.map_or_else(absent, median)));
        for place in &named[1..] {
            let told = |beside: &RelativeValue| [ratio(beside).into(), verdict(beside)];
            let beside = row.beside[place - 1].as_ref();
            cells.extend(beside.map_or_else(|| [absent(), absent()], told));
        }
        cells
    };
    let mut legend = Vec::new();
    let notes = [
        format!(
            "a difference is told where the intervals lie apart, and of all that are told for a record no more \
             than {:.0} % are expected to be chance",
            super::FALSE_MAX * 100.0
        ),
        "ratios with the least and the greatest of both intervals, which come from the spread within each \
         run: what changed between the runs is in none"
            .to_owned(),
    ];
    if listed.len() < count {
        legend.push(format!("{} more differ: -v lists them", count - listed.len()));
    }
    let beside_first = |place: &usize| {
        let letter = letter(*place);
        [(format!("{letter}/A"), Align::Right), (format!("{letter} is"), Align::Left)]
    };
    Table::of("Differences, largest first")
        .label("result")
        .right("cores")
        .columns(named.iter().map(|place| (letter(*place), Align::Right)))
        .columns(named[1..].iter().flat_map(beside_first))
        .rows(listed.iter().map(row))
        .legend(legend)
        .notes(notes)
        .into()
}

fn causes(comparison: &Comparison, verbosity: u8) -> Block {
    /// Of two machines that have little in common, everything is a cause.
    const FIRST: usize = 5;
    let line = |cause: &super::Cause| {
        let (setting, area, why) = (&cause.setting, &cause.area, cause.why);
        let results = if cause.results == 1 { "result differs" } else { "results differ" };
        Text::from(format!("{setting}: {} {results} in {area}, and {why}", cause.results))
    };
    let all = &comparison.causes;
    let listed = if verbosity > 0 { all.len() } else { all.len().min(FIRST) };
    let mut lines: Vec<Text> = all[..listed].iter().map(line).collect();
    if listed < all.len() {
        let more = format!("{} more: -v lists them", all.len() - listed);
        lines.push(Text::toned(more, Tone::Faint));
    }
    Block::List(lines)
}

fn lonely(comparison: &Comparison, verbosity: u8) -> Block {
    if verbosity == 0 {
        let count = |some: bool| {
            let mine = |lonely: &&super::Lonely| lonely.has.contains(&true) == some;
            let count = comparison.lonely.iter().filter(mine).count();
            (count > 0).then(|| number(count, "result", "results"))
        };
        let words = [
            count(true).map(|of| format!("{of} of some records only")),
            count(false).map(|of| format!("{of} without a number in any record")),
        ];
        let words = words.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let text = format!("{words}: -v lists them, with reasons");
        return Block::Paragraph(Text::toned(text, Tone::Faint));
    }
    let line = |lonely: &super::Lonely| {
        let has = lonely.has.iter().enumerate().filter(|(_, has)| **has);
        let letters: Vec<String> = has.map(|(place, _)| letter(place)).collect();
        let cores = if lonely.what.active == 1 { "core" } else { "cores" };
        let (name, active) = (result_name(&lonely.what), lonely.what.active);
        let letters = if letters.is_empty() { "none".to_owned() } else { letters.join(", ") };
        let why = lonely.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        Text::from(format!("{name}, {active} {cores}, in {letters}{why}"))
    };
    Block::List(comparison.lonely.iter().map(line).collect())
}
