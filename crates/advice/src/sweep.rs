//! The page of `cpudyno sweep`: which value is best, which are as good, and where the knee is.

use model::page::{Block, Lines, Mark, Page, Remark, Scale, Table, Text, Tone, tally};
use model::record::{Record, SweepRun};
use model::stats::paired::{ArmStanding, Better, Estimate, Per, Ranked, Ranking};
use model::stats::quantile;
use model::{Known, Unavailable};
use report::parts;

use crate::ab::{failure, number, stolen};
use crate::frame::{self, ending};

/// What came of a sweep.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let Some(run) = &record.sweep else { return Page::default() };
    let title = format!("{} swept", run.setting);
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED {title}: machine sim:{name}, nothing was measured"),
        None => title,
    };
    let mut blocks = vec![frame::title(record, text)];
    blocks.push(header(record, run));
    blocks.extend(found(run));
    if let Some(settings) = &record.settings {
        blocks.extend(report::settings::proofs(&settings.proofs));
    }
    blocks.push(Block::Heading("How noisy it was".to_owned()));
    blocks.push(Block::List(noise(record, run)));
    let failed: Vec<Remark> = run.failures.iter().map(failure).collect();
    if !failed.is_empty() {
        blocks.push(Block::Remarks(failed));
    }
    blocks.extend(ending(record, verbosity));
    Page { blocks }
}

/// The answer, the table and the curve.
pub(crate) fn found(run: &SweepRun) -> Vec<Block> {
    let mut blocks: Vec<Block> = answer(run).into_iter().map(Block::Paragraph).collect();
    if !run.blocks.is_empty() {
        blocks.push(values(run));
        blocks.extend(curve(run));
    }
    blocks
}

fn header(record: &Record, run: &SweepRun) -> Block {
    let better = match run.rules.better {
        Better::Less => "lower is better",
        Better::More => "higher is better",
    };
    let mut lines = vec![
        ("Measured", run.subject.clone()),
        ("Metric", format!("{}, {better}", run.metric)),
        ("Setting", run.setting.clone()),
    ];
    lines.extend(run.per.map(|per| ("Ranked by", ranked_by(run, per).to_owned())));
    lines.extend(parts::known(record, "cpu.brand").map(|text| ("CPU", text)));
    lines.extend(parts::runs_on(record).map(|text| ("Runs on", text)));
    Block::Box(lines.into_iter().map(|(label, text)| (label.to_owned(), text.into())).collect())
}

/// What values are ranked by, where it is not what was measured.
fn ranked_by(run: &SweepRun, per: Per) -> &'static str {
    match (per, run.rules.better) {
        (Per::Watt, Better::Less) => "performance per watt: the least energy",
        (Per::Watt, Better::More) => "performance per watt: the most for the power",
        (Per::Joule, _) => "performance per joule: the least product of energy and time",
    }
}

/// A value of the setting as it was typed.
fn value(run: &SweepRun, arm: usize) -> &str {
    run.arms.get(arm).map_or("", |value| &value.text)
}

/// The answer: who is best, who is as good, where the knee is.
fn answer(run: &SweepRun) -> Vec<Text> {
    let found = match &run.ranking {
        Known::Yes(found) => found,
        Known::No { unavailable: Unavailable { why, remedy, .. } } => {
            let remedy = remedy.as_ref().map_or(String::new(), |remedy| format!("; {remedy}"));
            return vec![Text::toned(format!("Cannot tell: {why}{remedy}."), Tone::Warning)];
        }
    };
    if !found.is_sound(run.rules.band) {
        let text = "Cannot tell: the first value differs from itself, in the control, by more than the band";
        return vec![Text::toned(
            format!("{text}. Try again on a quieter machine."),
            Tone::Warning,
        )];
    }
    let band = percent(run.rules.band);
    let mut told = Vec::new();
    let of = |is_it: fn(&Ranked) -> bool| -> Vec<&str> {
        found.arms.iter().filter(|arm| is_it(arm)).map(|arm| value(run, arm.arm)).collect()
    };
    let (equals, unclear) = (
        of(|arm| arm.standing == ArmStanding::Within),
        of(|arm| arm.standing == ArmStanding::Unclear),
    );
    let best = format!("{}={}", run.setting, value(run, found.best));
    let has_intervals = found
        .arms
        .iter()
        .filter_map(|arm| arm.loss.as_ref())
        .all(|it| it.interval.value().is_some());
    if !has_intervals {
        let blocks = tally(run.blocks.len(), "block");
        let text = format!("{best} was best in {blocks}, too few to tell that from chance.");
        return vec![Text::toned(text, Tone::Warning)];
    }
    let text = match (&equals[..], &unclear[..]) {
        ([], []) => format!("{best} is best, and every other value is worse by more than {band}."),
        ([], _) => format!("{best} is best."),
        _ => format!("{best} is best; within {band} as good: {}.", equals.join(", ")),
    };
    told.push(Text::toned(text, Tone::Good));
    if !unclear.is_empty() {
        let text =
            format!("Not clear within {band}: {}; a longer --budget tells.", unclear.join(", "));
        told.push(Text::toned(text, Tone::Warning));
    }
    told.extend(knee(run, found));
    told
}

/// Only where values are numbers, and so have a least one, and there are enough of them for a curve.
fn knee(run: &SweepRun, found: &Ranking) -> Option<Text> {
    if run.arms.len() < 3 || run.arms.iter().any(|value| value.number.is_none()) {
        return None;
    }
    let text = |arm: usize| value(run, arm);
    let [low, high] = found.knee_between;
    let sure = if found.knee_is_known() {
        String::new()
    } else {
        format!(", surely from {} to {}", text(low.min(high)), text(high.max(low)))
    };
    let band = percent(run.rules.band);
    let knee = text(found.knee);
    Some(
        format!("The knee is at {knee}{sure}: the least value that loses no more than {band}.")
            .into(),
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A loss as the change that it is.
fn change(run: &SweepRun, loss: f64) -> String {
    let log = match run.rules.better {
        Better::Less => loss,
        Better::More => -loss,
    };
    // Whatever rounds to nothing has no sign.
    format!("{:+.1} %", log.exp_m1() * 100.0).replace("-0.0 ", "+0.0 ")
}

/// `+3.2 %, +2.9 % to +3.6 %`.
fn ranged(run: &SweepRun, loss: &Estimate) -> [String; 2] {
    let centre = change(run, loss.centre);
    match loss.interval.value() {
        Some(interval) => {
            let (one, other) = (change(run, interval.low), change(run, interval.high));
            match run.rules.better {
                Better::Less => [centre, format!("{one} to {other}")],
                Better::More => [centre, format!("{other} to {one}")],
            }
        }
        None => [centre, "unknown".to_owned()],
    }
}

/// All that was measured of an arm: values, and watts where they were read.
fn measured(run: &SweepRun, arm: usize) -> [Vec<f64>; 2] {
    let values = run.blocks.iter().filter_map(|block| block.of(arm)).flatten().collect();
    let watts = run.blocks.iter().filter_map(|block| block.watts_of(arm)).flatten().collect();
    [values, watts]
}

fn values(run: &SweepRun) -> Block {
    let found = run.ranking.value();
    let has_watts = run.per.is_some();
    let row = |arm: usize| -> Vec<Text> {
        let [values, watts] = measured(run, arm);
        let at = |q: f64| quantile(&values, q).map_or(String::new(), |it| number(it, &run.unit));
        let ranked = found.and_then(|it| it.arms.iter().find(|ranked| ranked.arm == arm));
        let [centre, range] = match ranked.and_then(|it| it.loss.as_ref()) {
            Some(loss) => ranged(run, loss),
            None => Default::default(),
        };
        let standing = match ranked.map(|it| it.standing) {
            Some(ArmStanding::Best) => Text::toned("best", Tone::Good),
            Some(ArmStanding::Within) => Text::toned("as good", Tone::Good),
            Some(ArmStanding::Worse) => Text::from("worse"),
            Some(ArmStanding::Unclear) => Text::toned("not clear", Tone::Warning),
            None => Text::toned("failed", Tone::Serious),
        };
        let mut cells: Vec<Text> =
            [run.arms[arm].text.clone(), at(0.5), at(0.1), at(0.9)].map(Text::from).to_vec();
        if has_watts {
            let watts = quantile(&watts, 0.5);
            cells.push(watts.map_or(String::new(), |it| format!("{it:.1}")).into());
        }
        cells.extend([centre.into(), range.into(), standing]);
        cells
    };
    let mut table = Table::of(run.metric.clone())
        .left(run.setting.clone())
        .right("median")
        .right("p10")
        .right("p90");
    if has_watts {
        table = table.right("W");
    }
    table
        .right("against the best")
        .right("interval")
        .left("")
        .rows((0..run.arms.len()).map(row))
        .into()
}

/// The medians over the values, where these are numbers.
fn curve(run: &SweepRun) -> Option<Block> {
    let point = |(arm, value): (usize, &model::record::SweptValue)| {
        let [values, _] = measured(run, arm);
        Some((value.number?, quantile(&values, 0.5)?))
    };
    let points: Vec<(f64, f64)> = run.arms.iter().enumerate().filter_map(point).collect();
    let knee = run.ranking.value().and_then(|found| run.arms.get(found.knee)?.number);
    let unit = if run.unit.is_empty() { String::new() } else { format!(", {}", run.unit) };
    (points.len() > 2).then(|| {
        Block::Lines(Lines {
            caption: format!("Median by {}", run.setting),
            x: run.setting.clone(),
            y: format!("{}{unit}", run.metric),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            reach: None,
            lines: vec![(run.metric.clone(), points)],
            marks: knee.map(|at| Mark { at, text: "knee".to_owned() }).into_iter().collect(),
        })
    })
}

pub(crate) fn noise(record: &Record, run: &SweepRun) -> Vec<Text> {
    let mut lines: Vec<Text> = Vec::new();
    let control = run.ranking.value().and_then(|found| found.control.as_ref());
    lines.extend(control.map(|control| {
        let [centre, range] = ranged(run, control);
        let range = if range == "unknown" { String::new() } else { format!(" ({range})") };
        format!("The first value against itself, in the control: {centre}{range}").into()
    }));
    let mut reasons: Vec<&str> = run.left_out.iter().map(|it| &*it.unavailable.why).collect();
    reasons.sort_unstable();
    reasons.dedup();
    lines.extend(reasons.into_iter().map(|why| {
        let count = run.left_out.iter().filter(|it| it.unavailable.why == why).count();
        format!("{} left out: {why}", tally(count, "block")).into()
    }));
    lines.extend(stolen(record).map(Text::from));
    lines.extend(run.energy_source.as_ref().map(|source| format!("Energy by {source}").into()));
    lines.extend(run.held_seconds.map(|held| {
        let held = number(held, "s");
        format!(
            "Each setting was under load for {held} before it was measured: the heat is its own"
        )
        .into()
    }));
    lines.push(format!("It ended because: {}", run.ended).into());
    lines.extend(run.cost.map(|cost| {
        let own = if cost.seconds > 0.0 { cost.own / cost.seconds * 100.0 } else { 0.0 };
        let [block, set] = [cost.seconds, cost.setting].map(|it| number(it, "s"));
        let set =
            if cost.setting > 0.0 { format!(", writing settings {set}") } else { String::new() };
        format!("A block of every value twice took {block}{set}; {own:.1} % was cpudyno's own")
            .into()
    }));
    lines
}
