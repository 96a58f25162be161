//! Where the results of a record lie among those of earlier records, in words and as a table; who found the places is told
//! by the record.

use model::areas::result_name;
use model::page::{Block, Table, Text, Tone, si};
use model::record::{LeftOutRecords, ReferencePosition, ReferenceRun, ReferenceSide};
use model::stats::paired::Better;
use model::{Finding, Known};

/// So many earlier numbers it takes to say what is usual: with fewer, limits that are seldom wrong are so far
/// out that nothing is beyond them.
pub const COUNT_MIN: usize = 8;

/// What is outside, the worst first; and that it cannot be said where there are too few earlier records.
pub fn findings(run: &ReferenceRun) -> Vec<Finding> {
    let mut worse: Vec<&ReferencePosition> =
        run.positions.iter().filter(|position| position.is_worse()).collect();
    worse.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    let finding = |position: &&ReferencePosition| {
        Finding::warning("reference.outside", result_name(&position.what), in_words(position))
            .remedy("hold a good record against this one: `cpudyno compare GOOD THIS`".to_owned())
    };
    let mut findings: Vec<Finding> = worse.iter().map(finding).collect();
    let placed = run.positions.iter().any(|position| position.place.value().is_some());
    if !placed && !run.positions.is_empty() {
        findings.push(
            Finding::note("reference.too-few", "earlier records", too_few(run))
                .remedy("keep records in that folder: `cpudyno sheet --json FILE`".to_owned()),
        );
    }
    findings
}

/// Why nothing has a place among earlier records.
pub fn too_few(run: &ReferenceRun) -> String {
    let records = run.records;
    if records < COUNT_MIN as u64 {
        return format!(
            "{} of such a machine {} too few, {COUNT_MIN} are needed",
            earlier(records),
            if records == 1 { "is" } else { "are" }
        );
    }
    format!(
        "of {} results of this run none is in {COUNT_MIN} or more of {} of such a machine",
        run.positions.len(),
        earlier(records)
    )
}

/// How many files say nothing of such a machine, where any does.
pub fn left_out(run: &ReferenceRun) -> Option<String> {
    let count: u64 = run.left_out.iter().map(|left| left.count).sum();
    (count > 0).then(|| format!("{} left out", counted(count, "file")))
}

/// How many files are left out, and why.
pub fn left_out_in_words(left: &LeftOutRecords) -> String {
    format!("{} left out: {}", counted(left.count, "file"), left.why)
}

/// How many earlier records.
fn earlier(count: u64) -> String {
    counted(count, "earlier record")
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// How far from the median of the earlier ones it is, as a log ratio.
fn excess(position: &ReferencePosition) -> f64 {
    let Some(place) = position.place.value() else { return 0.0 };
    (position.value / place.quartiles[2]).ln().abs()
}

/// `12.10 GB/s is 35.2 % below the median 18.68 GB/s of 40 earlier records, and below the limit 18.01 GB/s`.
pub fn in_words(position: &ReferencePosition) -> String {
    let unit = position.unit;
    let value = si::format(position.value, unit);
    let place = match &position.place {
        Known::Yes(place) => place,
        Known::No { unavailable } => return format!("{value}: {}", unavailable.why),
    };
    let middle = place.quartiles[2];
    let share = (position.value / middle - 1.0) * 100.0;
    let side = if share < 0.0 { "below" } else { "above" };
    let limit = match place.side {
        ReferenceSide::Below => place.limits[0],
        ReferenceSide::Above => place.limits[1],
        ReferenceSide::Inside => {
            let [low, high] = place.limits.map(|limit| si::format(limit, unit));
            return format!(
                "{value} is within {low} to {high}, by {} earlier records",
                position.count
            );
        }
    };
    format!(
        "{value} is {:.1} % {side} the median {} of {} earlier records, and {side} the limit {}",
        share.abs(),
        si::format(middle, unit),
        position.count,
        si::format(limit, unit),
    )
}

/// The positions as a table, those outside first, then those that are farthest from the median; without
/// verbosity, of the rest only how many they are.
pub fn table(run: &ReferenceRun, verbosity: u8) -> Block {
    /// Of those that are not outside.
    const LISTED: usize = 5;
    let mut all: Vec<&ReferencePosition> = run.positions.iter().collect();
    let outside = |position: &ReferencePosition| {
        position.place.value().is_some_and(|place| place.side != ReferenceSide::Inside)
    };
    all.sort_by(|a, b| {
        let key = |position| (outside(position), excess(position));
        let ((a_out, a), (b_out, b)) = (key(a), key(b));
        b_out.cmp(&a_out).then(b.total_cmp(&a))
    });
    let (placed, out) = (
        all.iter().filter(|position| position.place.value().is_some()).count(),
        all.iter().filter(|position| outside(position)).count(),
    );
    let listed = if verbosity > 0 { all.len() } else { placed.min(out.max(LISTED)) };
    let rows: Vec<Vec<Text>> = all[..listed].iter().map(|position| row(position)).collect();
    let mut legend = vec![format!(
        "{} of {} results lie where {} of such machines do; {out} outside",
        placed - out,
        all.len(),
        earlier(run.records)
    )];
    if placed < all.len() {
        legend.push(format!(
            "{} have fewer than {COUNT_MIN} earlier numbers, and no place",
            all.len() - placed
        ));
    }
    legend.extend(run.left_out.iter().map(left_out_in_words));
    if rows.is_empty() {
        return Block::List(legend.into_iter().map(Text::from).collect());
    }
    Table::of("Results among earlier records of such machines")
        .label("result")
        .left("is")
        .right("cores")
        .right("here")
        .right("median")
        .right("limits")
        .right("lower")
        .rows(rows)
        .legend(legend)
        .into()
}

fn row(position: &ReferencePosition) -> Vec<Text> {
    let number = |value: f64| Text::from(si::format(value, position.unit));
    let head = |is: Text| {
        let cores = position.what.active.to_string().into();
        [Text::from(result_name(&position.what)), is, cores, number(position.value)]
    };
    let Some(place) = position.place.value() else {
        let none = || Text::toned("-", Tone::Faint);
        let few = Text::toned(format!("{} earlier: too few", position.count), Tone::Faint);
        return head(few).into_iter().chain([none(), none(), none()]).collect();
    };
    let [low, high] = place.limits.map(|limit| si::format(limit, position.unit));
    let word = match (place.side, position.better) {
        (ReferenceSide::Inside, _) => Text::from("usual"),
        (side, None) => {
            let word = if side == ReferenceSide::Below { "lower" } else { "higher" };
            Text::toned(word, Tone::Warning)
        }
        (side, Some(better)) if (side == ReferenceSide::Above) == (better == Better::More) => {
            Text::toned("better", Tone::Good)
        }
        _ => Text::toned("worse", Tone::Warning),
    };
    let tail = [
        number(place.quartiles[2]),
        format!("{low} to {high}").into(),
        format!("{:.0} %", place.below * 100.0).into(),
    ];
    head(word).into_iter().chain(tail).collect()
}
