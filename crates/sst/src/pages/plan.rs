//! Who would get which clock.

use model::page::{Align, Block, Text, Tone};
use model::record::ExpectedClocks;
use model::{Hertz, Known};

use super::parts::{NONE, Told, mhz, table};

/// `plan`.
pub(super) fn blocks(told: &mut Told<'_>) -> Vec<Block> {
    lacking(told);
    let mut blocks = vec![expected(&told.run.expected, "; nothing was measured or changed")];
    if !told.run.to_know.is_empty() {
        blocks.push(Block::Heading("To know".to_owned()));
        blocks.push(Block::List(told.run.to_know.iter().map(|it| it.as_str().into()).collect()));
    }
    blocks
}

fn lacking(told: &mut Told<'_>) {
    let run = told.run;
    for clocks in run.expected.iter().flat_map(|it| [Some(&it.now), it.then.as_ref()]).flatten() {
        for (known, name) in [(&clocks.base, "base frequency"), (&clocks.turbo, "turbo limit")] {
            if let Known::No { unavailable } = known {
                told.lacking(unavailable, name.to_owned());
            }
        }
    }
}

/// The clocks that CPUs are given, before a change and after it.
pub(super) fn expected(expected: &[ExpectedClocks], and: &str) -> Block {
    let columns = [
        ("CPUs", Align::Left),
        ("base", Align::Right),
        ("then", Align::Right),
        ("all-core turbo", Align::Right),
        ("then", Align::Right),
        ("", Align::Left),
    ];
    let rows = expected.iter().map(row).collect();
    let notes = vec![format!(
        "MHz, for the weakest instructions, by the firmware's own numbers{and}. Base: guaranteed where power \
         runs short or turbo is off. All-core turbo: the limit while all cores of the level are at work."
    )];
    table("who would get which clock", &columns, rows, notes)
}

fn row(it: &ExpectedClocks) -> Vec<Text> {
    let cell = |known: &Known<Hertz>| known.value().map_or(NONE.to_owned(), |hertz| mhz(*hertz));
    let then = |pick: fn(&model::record::ClockPair) -> &Known<Hertz>| {
        it.then.as_ref().map_or(NONE.to_owned(), |then| cell(pick(then)))
    };
    let cells = [
        it.cpus.to_string(),
        cell(&it.now.base),
        then(|clocks| &clocks.base),
        cell(&it.now.turbo),
        then(|clocks| &clocks.turbo),
    ];
    let mut row: Vec<Text> = cells.into_iter().map(Text::from).collect();
    row.push(verdict(it));
    row
}

/// Who gains, and who loses.
fn verdict(it: &ExpectedClocks) -> Text {
    let Some(then) = &it.then else {
        return Text::toned("not in the level", Tone::Warning);
    };
    // What nobody knows is no difference of nothing.
    let pairs = [(&it.now.base, &then.base), (&it.now.turbo, &then.turbo)];
    if pairs.iter().any(|(now, then)| now.value().is_some() != then.value().is_some()) {
        return Text::toned("unknown", Tone::Warning);
    }
    let change = |now: &Known<Hertz>, then: &Known<Hertz>, name: &str| {
        let mhz = (then.value()?.0 - now.value()?.0) / 1e6;
        (mhz.abs() >= 1.0).then(|| (mhz, format!("{mhz:+.0} MHz {name}")))
    };
    let changes: Vec<(f64, String)> =
        [change(&it.now.base, &then.base, "base"), change(&it.now.turbo, &then.turbo, "turbo")]
            .into_iter()
            .flatten()
            .collect();
    let words = changes.iter().map(|(_, words)| words.as_str()).collect::<Vec<_>>().join(", ");
    let (gains, loses) =
        (changes.iter().any(|(mhz, _)| *mhz > 0.0), changes.iter().any(|(mhz, _)| *mhz < 0.0));
    match (gains, loses) {
        (false, false) => Text::toned("as it is", Tone::Faint),
        (true, false) => Text::toned(format!("gains: {words}"), Tone::Good),
        (false, true) => Text::toned(format!("loses: {words}"), Tone::Warning),
        (true, true) => format!("gains and loses: {words}").into(),
    }
}
