//! What changed since, as a part of a survey's page.

use model::page::{Align, Block, Table, Text, Tone};

use super::{SHOWN, groups, listed, number, short};
use crate::survey::{ChangedFact, Drift, FleetChange, HostChange, named};

pub(super) fn blocks(drift: &Drift, verbosity: u8) -> Vec<Block> {
    let since = &drift.since;
    let mut blocks = vec![
        Block::Heading(format!("Since {since}: {} measured before and now", machines(drift.hosts))),
        Block::List(answer(drift, verbosity)),
    ];
    let apart = &drift.apart;
    groups(
        &mut blocks,
        "Changed unlike the others (now/before)",
        apart,
        &apart.suspects,
        verbosity,
    );
    groups(&mut blocks, "Changed alike (now/before)", apart, &apart.modes, verbosity);
    blocks.extend(apart.strips.iter().cloned().map(Block::Strips));
    if !drift.facts.is_empty() {
        blocks.push(Block::Heading("Facts that changed".to_owned()));
        let shown = if verbosity > 0 { drift.facts.len() } else { SHOWN };
        let line = |fact: &ChangedFact| {
            let (before, now) = (short(&fact.before), short(&fact.now));
            let who = listed(&fact.hosts, verbosity);
            let count = machines(fact.hosts.len());
            Text::from(format!("{}: {before} -> {now} on {count}: {who}", fact.label))
        };
        let mut lines: Vec<Text> = drift.facts.iter().take(shown).map(line).collect();
        if drift.facts.len() > shown {
            lines.push(format!("{} more: -v shows all", drift.facts.len() - shown).into());
        }
        blocks.push(Block::List(lines));
    }
    if verbosity > 0 && !drift.machines.is_empty() {
        blocks.push(Block::Heading("Each machine".to_owned()));
        blocks.push(each(drift));
    }
    blocks
}

/// The answer in a line.
pub(super) fn line(drift: &Drift) -> Text {
    let apart = match drift.apart.bad().len() {
        0 => "no machine".to_owned(),
        count => machines(count),
    };
    let fleet = match drift.fleet.len() {
        0 => "as a whole is as it was".to_owned(),
        count => format!("changed in {}", number(count, "result")),
    };

    let text =
        format!("since {}: {apart} changed unlike the others; the fleet {fleet}", drift.since);
    let is_good = drift.fleet.is_empty() && !drift.apart.has_suspects();
    Text::toned(text, if is_good { Tone::Good } else { Tone::Warning })
}

fn answer(drift: &Drift, verbosity: u8) -> Vec<Text> {
    let mut lines = Vec::new();
    let shown = if verbosity > 0 { drift.fleet.len() } else { 3 };
    lines.extend(drift.fleet.iter().take(shown).map(fleet));
    if drift.fleet.len() > shown {
        let more = number(drift.fleet.len() - shown, "more result");
        lines.push(Text::from(format!("the fleet changed in {more}: -v shows all")));
    } else if drift.fleet.is_empty() && drift.apart.judged > 0 {
        let text = "as a whole the fleet is as it was, within 1 % in each result";
        lines.push(Text::toned(text, Tone::Good));
    }
    let bad = drift.apart.bad();
    if !bad.is_empty() {
        let text = format!("{} changed unlike the others", machines(bad.len()));
        lines.push(Text::toned(text, Tone::Warning));
    } else if drift.apart.judged > 0 {
        lines.push(Text::toned("no machine changed unlike the others", Tone::Good));
    }
    let few = drift.apart.left_out.len();
    if few > 0 {
        lines.push(Text::from(format!(
            "{} of small kinds: `cpudyno compare BEFORE NOW` holds one against itself",
            machines(few)
        )));
    }
    for (names, what) in [(&drift.new, "new"), (&drift.gone, "not measured since")] {
        if !names.is_empty() {
            let (count, names) = (machines(names.len()), listed(names, verbosity));
            lines.push(Text::from(format!("{count} {what}: {names}")));
        }
    }
    lines
}

fn fleet(change: &FleetChange) -> Text {
    let percent = (change.ratio - 1.0) * 100.0;
    let (way, tone) =
        if percent < 0.0 { ("slower", Tone::Warning) } else { ("faster", Tone::Good) };
    let [low, high] = change.interval;
    let text = format!(
        "the fleet is {:.1} % {way} in {}: {:.3} of before ({low:.3} to {high:.3})",
        percent.abs(),
        named(&change.column.what),
        change.ratio,
    );
    Text::toned(text, tone)
}

fn each(drift: &Drift) -> Block {
    let row = |it: &HostChange| {
        let worst = format!("{:.3} {}", it.worst_ratio, named(&it.worst.what));
        [it.host.clone(), format!("{:.3}", it.ratio), worst].map(Text::from).to_vec()
    };
    Block::Table(Table {
        caption: "Now over before, as speeds: the median over results, and the worst".to_owned(),
        columns: vec![
            ("machine".to_owned(), Align::Left),
            ("median".to_owned(), Align::Right),
            ("worst".to_owned(), Align::Left),
        ],
        rows: drift.machines.iter().map(row).collect(),
        legend: Vec::new(),
        notes: Vec::new(),
    })
}

fn machines(count: usize) -> String {
    number(count, "machine")
}
