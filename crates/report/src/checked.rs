//! Checks of configuration: what they say of a machine, in half a minute.

use std::cmp::Reverse;

use checks::{Checked, State};
use model::page::{Block, Remark, Table, Text, Tone, tally};
use model::record::Record;
use model::{Finding, Known, Unavailable};

/// What differs, with its cost and remedy; what is unknown, by its reasons; the rest is counted. A verbosity of 1 and
/// more adds every check with its source.
pub(crate) fn blocks(record: &Record, verbosity: u8) -> Vec<Block> {
    let all = checks::of(record);
    let mut blocks = vec![Block::Heading("Settings".to_owned()), Block::Paragraph(summary(&all))];
    let mut differing: Vec<&Checked> = all.iter().filter(|it| is_different(it)).collect();
    differing.sort_by_key(|it| Reverse(it.check.weight));
    let mut remarks: Vec<Remark> = differing.into_iter().filter_map(remark).collect();
    remarks.extend(unknown(&all));
    blocks.push(Block::Remarks(remarks));
    if verbosity > 0 {
        blocks.push(every(&all));
    }
    blocks.retain(|block| !matches!(block, Block::Remarks(remarks) if remarks.is_empty()));
    blocks
}

fn is_different(checked: &Checked) -> bool {
    matches!(checked.state, State::Differs { .. })
}

/// `3 of 34 settings can cost speed here; 5 unknown; 15 are of other machines.`
fn summary(all: &[Checked]) -> Text {
    let count = |is: fn(&State) -> bool| all.iter().filter(|it| is(&it.state)).count();
    let differing = count(|state| matches!(state, State::Differs { .. }));
    let expected = count(|state| matches!(state, State::AsExpected));
    let unknown = count(|state| matches!(state, State::Unknown(_)));
    let others = count(|state| matches!(state, State::DoesNotApply));
    let known = tally(differing + expected, "setting");
    let mut clauses = vec![match differing {
        0 => format!("None of {known} costs speed here, as far as is known"),
        _ => format!("{differing} of {known} can cost speed here"),
    }];
    if unknown > 0 {
        clauses.push(format!("{unknown} unknown"));
    }
    if others > 0 {
        clauses.push(format!("{others} do not apply"));
    }
    Text::toned(clauses.join("; ") + ".", if differing == 0 { Tone::Good } else { Tone::Strong })
}

fn remark(checked: &Checked) -> Option<Remark> {
    let finding = checks::finding(checked)?;
    let cost = match &checked.cost {
        Known::Yes(cost) => format!("Cost here: {cost}."),
        Known::No { unavailable } => match &unavailable.remedy {
            Some(command) => format!("Cost not measured: {command}."),
            None => "Cost not measured.".to_owned(),
        },
    };
    let text = format!("{}. {cost}", finding.text);
    // What it costs stands in the text.
    Some(Remark::from(&Finding { text, gain: None, ..finding }))
}

/// One for each reason that has a remedy, and one for all others.
fn unknown(all: &[Checked]) -> Vec<Remark> {
    type Names<'a> = Vec<&'a str>;
    let mut reasons: Vec<(&Unavailable, Names<'_>)> = Vec::new();
    let mut others: Names<'_> = Vec::new();
    for checked in all {
        let State::Unknown(reason) = &checked.state else { continue };
        let same =
            |known: &Unavailable| (&known.why, &known.remedy) == (&reason.why, &reason.remedy);
        let names = match reasons.iter().position(|(known, _)| same(known)) {
            _ if reason.remedy.is_none() => &mut others,
            Some(at) => &mut reasons[at].1,
            None => {
                reasons.push((reason, Vec::new()));
                &mut reasons.last_mut().expect("BUG: it was pushed").1
            }
        };
        names.push(checked.check.id.as_str());
    }
    let remark = |names: &Names<'_>, why: &str, remedy: Option<String>| Remark {
        mark: Text::toned("unknown", Tone::Faint),
        about: names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        text: why.to_owned(),
        remedy,
    };
    let mut remarks: Vec<Remark> = reasons
        .iter()
        .map(|(reason, names)| remark(names, &reason.why, reason.remedy.clone()))
        .collect();
    if !others.is_empty() {
        remarks.push(remark(&others, "nothing here says it; `-v` names the reasons", None));
    }
    remarks
}

fn every(all: &[Checked]) -> Block {
    let row = |checked: &Checked| {
        let state = match &checked.state {
            State::AsExpected => Text::toned("as expected", Tone::Good),
            State::Differs { found, .. } => Text::toned(found, Tone::Warning),
            State::Unknown(reason) => Text::toned(format!("unknown: {}", reason.why), Tone::Faint),
            State::DoesNotApply => Text::toned("does not apply", Tone::Faint),
        };
        let check = checked.check;
        vec![Text::from(check.id.as_str()), state, check.source.as_str().into()]
    };
    Table::of("Every setting")
        .left("id")
        .left("found")
        .left("source of what is expected")
        .rows(all.iter().map(row))
        .into()
}
