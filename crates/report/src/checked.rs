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
            Some(command) => format!("Cost unknown: `{command}` measures it."),
            None => "Cost unknown.".to_owned(),
        },
    };
    let text = format!("{}. {cost}", finding.text);
    // What it costs stands in the text.
    Some(Remark::from(&Finding { text, gain: None, ..finding }))
}

/// One for each reason and remedy.
fn unknown(all: &[Checked]) -> Vec<Remark> {
    let mut reasons: Vec<(&Unavailable, Vec<&str>)> = Vec::new();
    for checked in all {
        let State::Unknown(reason) = &checked.state else { continue };
        let same =
            |known: &Unavailable| (&known.why, &known.remedy) == (&reason.why, &reason.remedy);
        let about = checked.check.about.as_str();
        match reasons.iter_mut().find(|(known, _)| same(known)) {
            Some((_, names)) if names.contains(&about) => {}
            Some((_, names)) => names.push(about),
            None => reasons.push((reason, vec![about])),
        }
    }
    let remark = |(reason, names): (&Unavailable, Vec<&str>)| Remark {
        mark: Text::toned("unknown", Tone::Faint),
        about: names.join(", "),
        text: reason.why.clone(),
        remedy: reason.remedy.clone(),
    };
    reasons.into_iter().map(remark).collect()
}

fn every(all: &[Checked]) -> Block {
    let row = |checked: &Checked| {
        let state = match &checked.state {
            State::AsExpected => Text::toned("as expected", Tone::Good),
            State::Differs { found, .. } => Text::toned(found, Tone::Warning),
            State::Unknown(_) => Text::toned("unknown", Tone::Faint),
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
