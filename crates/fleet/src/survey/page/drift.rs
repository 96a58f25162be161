//! What changed since, as a part of a survey's page.

use std::collections::{BTreeMap, BTreeSet};

use model::page::{Align, Block, Table, Text, Tone};

use super::{SHOWN, groups, letter, listed, number, short};
use crate::survey::drift::CHANGE;
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
        "Became slower than the others (now/before)",
        apart,
        &apart.suspects,
        verbosity,
    );
    groups(&mut blocks, "Became slower alike (now/before)", apart, &apart.modes, verbosity);
    blocks.extend(apart.strips.iter().cloned().map(Block::Strips));
    if !drift.facts.is_empty() {
        blocks.push(Block::Heading("Facts that changed".to_owned()));
        let mut lines = facts(drift, verbosity);
        if verbosity == 0 && lines.len() > SHOWN {
            let more = lines.len() - SHOWN;
            lines.truncate(SHOWN);
            lines.push(format!("{more} more: -v shows all").into());
        }
        blocks.push(Block::List(lines));
    }
    if verbosity > 0 && !drift.machines.is_empty() {
        blocks.push(Block::Heading("Each machine".to_owned()));
        blocks.push(each(drift));
    }
    blocks
}

/// A line for each change; where nearly each machine has another one, one for all of them.
fn facts(drift: &Drift, verbosity: u8) -> Vec<Text> {
    const EACH_MAX: usize = 3;
    let mut of_fact: Vec<(&str, Vec<&ChangedFact>)> = Vec::new();
    for fact in &drift.facts {
        match of_fact.iter_mut().find(|it| it.0 == fact.id) {
            Some((_, changes)) => changes.push(fact),
            None => of_fact.push((&fact.id, vec![fact])),
        }
    }
    let told = |(_, changes): (&str, Vec<&ChangedFact>)| -> Vec<Text> {
        if verbosity == 0 && changes.len() > EACH_MAX {
            let hosts: usize = changes.iter().map(|it| it.hosts.len()).sum();
            let (label, count) = (&changes[0].label, number(changes.len(), "different change"));
            return vec![format!("{label}: {count} on {}", machines(hosts)).into()];
        }
        let line = |fact: &&ChangedFact| {
            let change = [&*fact.before, &fact.now].join(CHANGE);
            let change = if verbosity > 0 { change } else { short(&change) };
            let (count, who) = (machines(fact.hosts.len()), listed(&fact.hosts, verbosity));
            format!("{}: {change} on {count}: {who}", fact.label).into()
        };
        changes.iter().map(line).collect()
    };
    of_fact.into_iter().flat_map(told).collect()
}

/// The answer in a line.
pub(super) fn line(drift: &Drift) -> Text {
    let since = &drift.since;
    if drift.apart.judged == 0 {
        let text = format!("since {since}: nothing could be held against before");
        return Text::toned(text, Tone::Warning);
    }
    let many = |count: usize| if count == 0 { "no machine".to_owned() } else { machines(count) };
    let apart = many(drift.apart.bad().len());
    let alike: BTreeSet<&String> = drift.apart.modes.iter().flat_map(|it| &it.hosts).collect();
    let slower_alike = match alike.len() {
        0 => String::new(),
        count => format!("; {} became slower alike", machines(count)),
    };
    let of_all = match drift.fleet.len() {
        0 => "no change of all is certain".to_owned(),
        count => format!("all changed in {}", number(count, "result")),
    };
    let text =
        format!("since {since}: {apart} became slower than the others{slower_alike}; {of_all}");
    let is_good = drift.fleet.is_empty() && !drift.apart.has_suspects() && alike.is_empty();
    Text::toned(text, if is_good { Tone::Good } else { Tone::Warning })
}

fn answer(drift: &Drift, verbosity: u8) -> Vec<Text> {
    let mut lines = Vec::new();
    let shown = if verbosity > 0 { drift.fleet.len() } else { 3 };
    lines.extend(drift.fleet.iter().take(shown).map(|change| fleet(drift, change)));
    if drift.fleet.len() > shown {
        let more = number(drift.fleet.len() - shown, "more result");
        lines.push(Text::from(format!("all changed in {more}: -v shows them")));
    }
    let (within, asked) = (drift.within, number(drift.asked, "result"));
    let rest = drift.asked - drift.fleet.len() - within;
    if drift.asked > 0 {
        let rest = match rest {
            0 => String::new(),
            rest => format!("; of {rest} the machines vary too much, or are too few, to tell"),
        };
        let text =
            format!("{within} of {asked} are within 1 % of before, by the median machine{rest}");
        lines.push(Text::from(text));
    }
    if !drift.stayed.is_empty() {
        let (count, names) = (machines(drift.stayed.len()), listed(&drift.stayed, verbosity));
        let text = format!("{count} did not gain what the others gained: {names}");
        lines.push(Text::from(text));
    }
    let mut why: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for out in &drift.apart.left_out {
        why.entry(&out.why).or_default().push(out.name.clone());
    }
    for (why, names) in why {
        let (count, names) = (machines(names.len()), listed(&names, verbosity));
        lines.push(Text::from(format!("{count} not held against before, {why}: {names}")));
    }
    for (names, what) in [(&drift.new, "new"), (&drift.gone, "not measured since")] {
        if !names.is_empty() {
            let (count, names) = (machines(names.len()), listed(names, verbosity));
            lines.push(Text::from(format!("{count} {what}: {names}")));
        }
    }
    lines
}

fn fleet(drift: &Drift, change: &FleetChange) -> Text {
    let percent = (change.ratio - 1.0) * 100.0;
    let (way, tone) =
        if percent < 0.0 { ("slower", Tone::Warning) } else { ("faster", Tone::Good) };
    let [low, high] = change.interval;
    let who = match drift.apart.kinds.as_slice() {
        [_] => format!("the {} are", machines(change.of)),
        _ => format!("the {} of kind {} are", machines(change.of), letter(change.kind)),
    };
    let text = format!(
        "{who} {:.1} % {way} in {}: {:.3} of before ({low:.3} to {high:.3})",
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
