//! What a survey says, as a page.

mod drift;

use model::counts::thousands;
use model::page::{Align, Block, Page, Table, Text, Tone};

use super::drift::CHANGE;
use super::{
    CHANCE_MAX, Deviation, HostDeviation, HostGroup, HostKind, Separator, Survey, named, worded,
};

/// Groups that are shown; `-v` shows all.
const SHOWN: usize = 10;

/// Names of machines on a line; `-v` shows all.
const NAMED: usize = 6;

/// The page. A verbosity of 1 and more shows every machine, result and fact.
pub fn page(survey: &Survey, verbosity: u8) -> Page {
    let mut blocks = vec![title(survey), answer(survey, verbosity)];
    groups(&mut blocks, "Suspects, dearest first", survey, &survey.suspects, verbosity);
    groups(&mut blocks, "Sorts within a kind", survey, &survey.modes, verbosity);
    blocks.extend(survey.strips.iter().cloned().map(Block::Strips));
    blocks.extend(survey.drift.iter().flat_map(|drift| drift::blocks(drift, verbosity)));
    if !survey.odd.is_empty() {
        blocks.push(Block::Heading(
            "Settings that few machines have, and no result shows".to_owned(),
        ));
        let shown = if verbosity > 0 { survey.odd.len() } else { SHOWN };
        let lines = survey.odd.iter().take(shown).map(|odd| odd_setting(odd, verbosity).into());
        blocks.push(Block::List(lines.collect()));
    }
    if verbosity > 0 {
        blocks.extend(differing(survey, Block::Heading));
        for (title, list) in
            [("Left out", &survey.left_out), ("Fewer results than others", &survey.partial)]
        {
            if !list.is_empty() {
                blocks.push(Block::Heading(title.to_owned()));
                let name = |it: &super::LeftOutHost| it.file.clone().unwrap_or(it.name.clone());
                let line =
                    |it: &super::LeftOutHost| Text::from(format!("{}: {}", name(it), it.why));
                blocks.push(Block::List(list.iter().map(line).collect()));
            }
        }
    }
    Page { blocks }
}

/// Tables that a page has beside what is shown without `-v`, where a reader can open them.
pub fn folded(survey: &Survey) -> Vec<Block> {
    differing(survey, |title| Block::Fold { title, open: false })
}

/// The facts that machines of each kind say differently.
fn differing(survey: &Survey, heading: impl Fn(String) -> Block) -> Vec<Block> {
    let kinds = survey.kinds.iter().enumerate().filter(|it| !it.1.differing.is_empty());
    let told = |(place, kind): (usize, &HostKind)| {
        [heading(format!("Facts that differ, {}", kind_name(place, kind))), facts(kind)]
    };
    kinds.flat_map(told).collect()
}

fn title(survey: &Survey) -> Block {
    let simulated = if survey.is_simulated { "SIMULATED: " } else { "" };
    Block::Title {
        text: format!("cpudyno fleet: {simulated}{}", number(survey.hosts, "machine")),
        subtitle: "each machine is held against those of its kind, result by result".to_owned(),
    }
}

/// What comes out, in lines.
fn answer(survey: &Survey, verbosity: u8) -> Block {
    let bad: usize = survey.suspects.iter().map(|group| group.hosts.len()).sum();
    let (groups, numbers) = (survey.suspects.len(), number(survey.judged, "number"));
    let mut lines = vec![if survey.judged == 0 {
        Text::toned("no machine could be held against others", Tone::Warning)
    } else if bad == 0 {
        let of_sort = if survey.modes.is_empty() { "" } else { " from others of its sort" };
        let text = format!("no machine stands apart{of_sort}; {numbers} were judged");
        Text::toned(text, Tone::Good)
    } else {
        let are = if bad == 1 { "stands" } else { "stand" };
        let machines = number(bad, "machine");
        let text = format!("{machines} {are} apart, in {groups} ways; {numbers} were judged");
        Text::toned(text, Tone::Warning)
    }];
    // What is wrong is worse than what is slow.
    let wrong = survey.wrong.iter().map(|it| {
        Text::toned(
            format!("{} computes wrong: {} ({})", it.name, it.cpus, it.started),
            Tone::Serious,
        )
    });
    lines.splice(0..0, wrong);
    lines.extend(survey.drift.iter().map(|drift| drift::line(drift)));
    for (place, kind) in survey.kinds.iter().enumerate() {
        lines.push(Text::from(format!(
            "{}, {} compared",
            kind_name(place, kind),
            number(kind.results, "result")
        )));
    }
    if !survey.missing.is_empty() {
        let names = listed(&survey.missing, verbosity);
        let text = format!("no record of {}: {names}", number(survey.missing.len(), "machine"));
        lines.push(Text::toned(text, Tone::Warning));
    }
    if !survey.left_out.is_empty() {
        let mut why: Vec<(&str, usize)> = Vec::new();
        for out in &survey.left_out {
            match why.iter_mut().find(|(it, _)| *it == out.why) {
                Some((_, count)) => *count += 1,
                None => why.push((&out.why, 1)),
            }
        }
        let why: Vec<String> = why.iter().map(|(why, count)| format!("{count}: {why}")).collect();
        let text = format!(
            "{} left out (-v names them): {}",
            number(survey.left_out.len(), "record"),
            why.join("; ")
        );
        lines.push(Text::toned(text, Tone::Warning));
    }
    if !survey.partial.is_empty() {
        let text = format!(
            "{} with fewer results than others of the kind (-v names them)",
            number(survey.partial.len(), "machine")
        );
        lines.push(Text::from(text));
    }
    if survey.older > 0 {
        let text =
            format!("{} of machines that have a newer one", number(survey.older, "older record"));
        lines.push(Text::from(text));
    }
    Block::List(lines)
}

fn kind_name(place: usize, kind: &HostKind) -> String {
    let value = |label: &str| kind.alike.iter().find(|it| it.0 == label).map_or("", |it| &it.1);
    let kind_letter = letter(place);
    let cores = value("cores");
    let (cpu, packages) = (value("CPU"), value("packages"));
    format!(
        "kind {kind_letter}: {} of {cpu}, packages {packages}, cores {cores}",
        number(kind.hosts, "machine")
    )
}

/// A, B ... Z, then numbers.
pub(super) fn letter(place: usize) -> String {
    u8::try_from(place)
        .ok()
        .filter(|place| *place < 26)
        .map_or_else(|| (place + 1).to_string(), |place| char::from(b'A' + place).to_string())
}

fn groups(blocks: &mut Vec<Block>, title: &str, survey: &Survey, all: &[HostGroup], verbosity: u8) {
    if all.is_empty() {
        return;
    }
    blocks.push(Block::Heading(title.to_owned()));
    let shown = if verbosity > 0 { all.len() } else { SHOWN };
    let several = survey.kinds.len() > 1;
    let told = all.iter().take(shown).map(|group| told(group, several, verbosity)).collect();
    blocks.push(Block::Groups(told));
    if all.len() > shown {
        let more = all.len() - shown;
        blocks.push(Block::Paragraph(Text::from(format!("{more} more: -v shows all."))));
    }
}

fn told(group: &HostGroup, several: bool, verbosity: u8) -> Vec<(String, Text)> {
    let count = number(group.hosts.len(), "machine");
    let kind = if several { format!(" of kind {}", letter(group.kind)) } else { String::new() };
    let label = format!("{count}{kind}");
    let mut rows = vec![(label, Text::from(listed(&group.hosts, verbosity)))];
    let results = if verbosity > 0 { group.results.len() } else { 1 };
    for (place, result) in group.results.iter().take(results).enumerate() {
        let more = group.results.len() - results;
        let more = match more {
            0 => String::new(),
            _ => format!("; and in {}", number(more, "more result")),
        };
        let label = if place == 0 { "worse in" } else { "" };
        rows.push((label.to_owned(), Text::toned(deviation(result) + &more, Tone::Warning)));
    }
    let facts = if verbosity > 0 { group.facts.len() } else { 2 };
    for (place, fact) in group.facts.iter().take(facts).enumerate() {
        let label = if place == 0 { "what is different" } else { "" };
        rows.push((label.to_owned(), Text::from(separator(fact, group))));
    }
    if group.facts.is_empty() {
        let text = "no fact that the records have separates them from the others";
        rows.push(("what is different".to_owned(), Text::from(text)));
    }
    rows
}

fn deviation(result: &Deviation) -> String {
    let unit = result.column.unit;
    let (here, usual) = (worded(result.here, unit), worded(result.usual, unit));
    let lost = result.lost * 100.0;
    format!("{}: {here}, usual {usual} ({lost:.1} % lost)", named(&result.column.what))
}

fn separator(fact: &Separator, group: &HostGroup) -> String {
    let says = |text: &Option<String>| text.as_deref().map_or("not known".to_owned(), short);
    let (these, others) = (group.hosts.len(), group.of - group.hosts.len());
    let who = match (fact.of_these == these, fact.of_others) {
        (true, 0) => "they alone".to_owned(),
        (_, of_others) => format!("{} of {these}, {of_others} of {others} others", fact.of_these),
    };
    let chance = if fact.chance <= CHANCE_MAX {
        format!("by chance once in {}", rounded(1.0 / fact.chance.max(1e-12)))
    } else {
        "may be chance: too few machines to tell".to_owned()
    };
    let why = fact.why.map_or_else(String::new, |why| format!("; {why}"));
    let (label, here, usual) = (&fact.label, says(&fact.says), says(&fact.usual));
    format!("{label}: {here} ({who}; usual {usual}; {chance}){why}")
}

fn odd_setting(odd: &super::OddSetting, verbosity: u8) -> String {
    let says = |text: &Option<String>| text.as_deref().map_or("not known".to_owned(), short);
    let (here, usual) = (says(&odd.says), says(&odd.usual));
    format!("{}: {here} on {}; usual {usual}", odd.label, listed(&odd.hosts, verbosity))
}

const LONGEST: usize = 40;

/// What changed, in short.
pub(crate) fn changed_text(before: &str, now: &str) -> String {
    short(&[before, now].join(CHANGE))
}

/// A long text's beginning; of a change, both from where they begin to differ.
fn short(text: &str) -> String {
    let cut = |text: &str| match text.char_indices().nth(LONGEST) {
        Some(_) => text.chars().take(LONGEST - 3).collect::<String>() + "...",
        None => text.to_owned(),
    };
    match text.split_once(CHANGE) {
        Some((before, now)) => parted(before, now).map(|text| cut(&text)).join(CHANGE),
        None => cut(text),
    }
}

/// Two texts from where they begin to differ, by words, if they are long.
fn parted(before: &str, now: &str) -> [String; 2] {
    let is_long = before.len().max(now.len()) > LONGEST;
    let same = before.split(' ').zip(now.split(' ')).take_while(|(a, b)| is_long && a == b);
    let same: usize = same.map(|(word, _)| word.len() + 1).sum();
    [before, now].map(|text| match text.get(same..) {
        Some(rest) if same > 0 => format!("... {rest}"),
        _ => text.to_owned(),
    })
}

/// One digit and zeros in groups of three.
fn rounded(number: f64) -> String {
    if number >= 1e9 {
        return "a billion".to_owned();
    }
    let size = 10f64.powf(number.log10().floor());
    thousands(((number / size).floor() * size).round() as u64)
}

fn number(count: usize, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {word}{plural}", thousands(count as u64))
}

/// The first names, and how many more there are.
fn listed(names: &[String], verbosity: u8) -> String {
    let shown = if verbosity > 0 { names.len() } else { NAMED };
    let told = names.iter().take(shown).cloned().collect::<Vec<_>>().join(" ");
    match names.len().saturating_sub(shown) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

fn facts(kind: &HostKind) -> Block {
    let says = |(says, count): &(Option<String>, usize)| {
        format!("{} ({count})", says.as_deref().map_or("not known".to_owned(), short))
    };
    let row = |fact: &super::FactSpread| {
        let all = fact.says.iter().take(4).map(says).collect::<Vec<_>>().join("; ");
        vec![Text::from(fact.label.clone()), Text::from(all)]
    };
    Block::Table(Table {
        caption: String::new(),
        columns: vec![("fact".to_owned(), Align::Left), ("machines say".to_owned(), Align::Left)],
        rows: kind.differing.iter().map(row).collect(),
        legend: Vec::new(),
        notes: Vec::new(),
    })
}

/// A line for each suspect machine and result.
pub fn csv(survey: &Survey) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "host", "kind", "result", "unit", "usual", "here", "lost", "fact", "says", "chance",
    ])?;
    // Numbers of what changed are now over before.
    let changed = survey.drift.iter().flat_map(|drift| &drift.apart.suspects);
    let changed = changed.map(|group| ("now/before of ", group));
    for (prefix, group) in survey.suspects.iter().map(|group| ("", group)).chain(changed) {
        let first = group.facts.first();
        let fact = [
            first.map(|it| it.id.clone()),
            first.and_then(|it| it.says.clone()),
            first.map(|it| format!("{:.2e}", it.chance)),
        ];
        for HostDeviation { host, deviation } in &group.each {
            let Deviation { column, usual, here, lost } = deviation;
            let result = format!("{prefix}{}", named(&column.what));
            let what =
                [host, &letter(group.kind), &result, column.unit.symbol()].map(str::to_owned);
            let numbers = [usual, here, lost].map(f64::to_string);
            let fact = fact.iter().cloned().map(Option::unwrap_or_default);
            writer.write_record(what.into_iter().chain(numbers).chain(fact))?;
        }
    }
    let bytes = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn long_texts_of_a_change_are_told_from_where_they_differ() {
        assert_eq!(short("on -> off"), "on -> off");
        let long = "mitigations=auto preempt=none nmi_watchdog=0 quiet";
        assert_eq!(short(long), "mitigations=auto preempt=none nmi_wat...");
        let change = format!("{long} -> {}", long.replace("nmi_watchdog=0", "nmi_watchdog=1"));
        assert_eq!(short(&change), "... nmi_watchdog=0 quiet -> ... nmi_watchdog=1 quiet");
    }
}
