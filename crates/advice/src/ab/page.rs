//! The page of `cpudyno ab`, a pure function of the record (invariant I2).

use model::page::{Block, Lines, Page, Remark, Scale, Table, Text, Tone};
use model::record::{AbRun, FactValue, LeftOut, Record};
use model::stats::paired::{
    Arm, Beside, Better, COUNT_MIN, Comparison, Estimate, Flag, Kind, Verdict, log_ratios,
};
use model::stats::quantile;
use model::{Known, Unavailable};

use report::parts;

use crate::frame::{ending, title};

/// What came of a comparison.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED comparison: machine sim:{name}, nothing was measured"),
        None => "A against B".to_owned(),
    };
    let mut blocks = vec![title(record, text)];
    let Some(run) = &record.comparison else { return Page { blocks } };
    blocks.push(header(record, run));
    blocks.push(Block::Paragraph(answer(run)));
    if !run.quads.is_empty() {
        blocks.push(arms(run));
        blocks.extend(quads(run));
    }
    blocks.extend(super::watch_shown::clocks(run));
    blocks.extend(report::speed_select::expected(record));
    if let Some(settings) = &record.settings {
        blocks.extend(report::settings::proofs(&settings.proofs));
        blocks.extend(plans(&settings.remarks));
    }
    blocks.push(Block::Heading("How noisy it was".to_owned()));
    blocks.push(Block::List(noise(record, run)));
    let mut remarks: Vec<Remark> = run.failures.iter().map(failure).collect();
    let is_same = run.comparison.value().is_some_and(|found| found.verdict == Verdict::Same);
    remarks.extend(run.flags.iter().map(|it| {
        let remark = flag(it, &run.unit);
        // What is known needs no other run.
        if is_same { Remark { remedy: None, ..remark } } else { remark }
    }));
    if !remarks.is_empty() {
        blocks.push(Block::Remarks(remarks));
    }
    blocks.extend(ending(record, verbosity));
    Page { blocks }
}

/// What plans of several settings come to.
fn plans(lines: &[String]) -> Vec<Block> {
    if lines.is_empty() {
        return Vec::new();
    }
    let lines = lines.iter().map(|line| line.as_str().into()).collect();
    vec![Block::Heading("What the plans set".to_owned()), Block::List(lines)]
}

/// The settings of an arm.
fn words(words: &[String]) -> String {
    match words {
        [] => "as it is".to_owned(),
        words => words.join(", "),
    }
}

fn header(record: &Record, run: &AbRun) -> Block {
    let better = match run.rules.better {
        Better::Less => "lower is better",
        Better::More => "higher is better",
    };
    let mut lines = vec![
        ("Measured", run.subject.clone()),
        ("Metric", format!("{}, {better}", run.metric)),
        ("A", words(&run.a)),
        ("B", words(&run.b)),
    ];
    lines.extend(parts::known(record, "cpu.brand").map(|text| ("CPU", text)));
    lines.extend(parts::runs_on(record).map(|text| ("Runs on", text)));
    Block::Box(lines.into_iter().map(|(label, text)| (label.to_owned(), text.into())).collect())
}

/// The answer in one sentence.
fn answer(run: &AbRun) -> Text {
    let found = match &run.comparison {
        Known::Yes(found) => found,
        Known::No { unavailable: Unavailable { why, remedy, .. } } => {
            let remedy = remedy.as_ref().map_or(String::new(), |remedy| format!("; {remedy}"));
            return Text::toned(format!("Cannot tell: {why}{remedy}."), Tone::Warning);
        }
    };
    let ratio = estimate(&found.ratio, run.looks.quads.len());
    match &found.verdict {
        Verdict::Faster => Text::toned(format!("B is better: {ratio}."), Tone::Good),
        Verdict::Slower => Text::toned(format!("B is worse: {ratio}."), Tone::Serious),
        Verdict::Same => {
            let text = format!("A and B are the same within {}: {ratio}.", band(run));
            Text::toned(text, Tone::Strong)
        }
        Verdict::CannotTell(reason) => cannot(reason),
    }
}

/// Relative differences up to this are the same.
fn band(run: &AbRun) -> String {
    let percent = run.rules.band * 100.0;
    if percent < 0.1 { format!("{percent:.3} %") } else { format!("{percent:.1} %") }
}

fn cannot(reason: &Unavailable) -> Text {
    let remedy =
        reason.remedy.as_ref().map_or(String::new(), |remedy| format!(" It takes {remedy}."));
    Text::toned(format!("Cannot tell: {}.{remedy}", reason.why), Tone::Warning)
}

/// `B / A = 1.034, 1.021 to 1.047 with a confidence of 95.2 %, from 14 quads`. Where several looks were
/// planned, that is what this one has alone; all of them together have 95 %.
fn estimate(estimate: &Estimate, looks: usize) -> String {
    let count = estimate.count;
    let centre = format!("B / A = {}", ratio(estimate.centre));
    match &estimate.interval {
        Known::Yes(interval) => {
            let one = percent_at_least(interval.confidence);
            let confidence = match looks {
                0 | 1 => format!("with a confidence of {one}"),
                _ => format!("with a confidence of at least 95 % (of this look alone {one})"),
            };
            let (low, high) = (ratio(interval.low), ratio(interval.high));
            format!("{centre}, {low} to {high} {confidence}, from {count} quads")
        }
        Known::No { unavailable } => format!("{centre} from {count} quads ({})", unavailable.why),
    }
}

/// A share in per cent, never rounded up.
fn percent_at_least(share: f64) -> String {
    format!("{:.1} %", (share * 1000.0 + 1e-9).floor() / 10.0)
}

/// A log ratio as a ratio.
fn ratio(log: f64) -> String {
    let ratio = log.exp();
    if ratio < 10.0 { format!("{ratio:.4}") } else { format!("{ratio:.1}") }
}

fn arms(run: &AbRun) -> Block {
    let row = |arm: Arm| {
        let values = values(run, arm);
        let at =
            |q: f64| quantile(&values, q).map_or(String::new(), |value| number(value, &run.unit));
        let words = match arm {
            Arm::A => &run.a,
            Arm::B => &run.b,
        };
        let name = format!("{arm:?}");
        let cells = [name, self::words(words), at(0.5), at(0.1), at(0.9), values.len().to_string()];
        cells.into_iter().map(Text::from).collect()
    };
    Table::of(format!("{}, controls among those of A", run.metric))
        .left("arm")
        .left("setting")
        .right("median")
        .right("p10")
        .right("p90")
        .right("measurements")
        .rows([row(Arm::A), row(Arm::B)])
        .into()
}

/// All measurements of an arm.
fn values(run: &AbRun, arm: Arm) -> Vec<f64> {
    let of = |quad: &model::stats::paired::Quad| {
        let is_control = quad.slot.kind == Kind::Control;
        let arms = quad.slot.order.arms().map(|side| if is_control { Arm::A } else { side });
        std::iter::zip(arms, quad.values)
            .filter(|(side, _)| *side == arm)
            .map(|(_, value)| value)
            .collect::<Vec<_>>()
    };
    run.quads.iter().flat_map(of).collect()
}

/// Four significant digits with the prefix that fits.
pub fn number(value: f64, unit: &str) -> String {
    longer(value, unit, 0)
}

/// Two numbers with as many digits as tell them apart.
fn apart(values: [f64; 2], unit: &str) -> [String; 2] {
    const MOST: usize = 6;
    let with = |more| values.map(|value| longer(value, unit, more));
    (0..MOST).map(with).find(|[one, other]| one != other).unwrap_or_else(|| with(MOST))
}

/// So many more than four significant digits, with the prefix that fits.
fn longer(value: f64, unit: &str, more: usize) -> String {
    let plain = |text: String| if unit.is_empty() { text } else { format!("{text} {unit}") };
    let known = ["s", "Hz", "B/s"].contains(&unit);
    let steps =
        [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")];
    match steps.iter().find(|(step, _)| known && value >= *step) {
        Some((step, prefix)) => {
            let scaled = value / step;
            let digits = if scaled >= 100.0 {
                1
            } else if scaled >= 10.0 {
                2
            } else {
                3
            };
            let digits = digits + more;
            format!("{scaled:.digits$} {prefix}{unit}")
        }
        None => plain(format!("{value:.*}", 4 + more)),
    }
}

fn quads(run: &AbRun) -> Option<Block> {
    let line = |kind: Kind| {
        let points = run.quads.iter().enumerate().filter(|(_, quad)| quad.slot.kind == kind);
        points.map(|(place, quad)| (place as f64 + 1.0, quad.log_ratio().exp())).collect::<Vec<_>>()
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> =
        [("B / A", Kind::Compared), ("A / A (control)", Kind::Control)]
            .into_iter()
            .map(|(name, kind)| (name.to_owned(), line(kind)))
            .filter(|(_, points)| points.len() > 1)
            .collect();
    (!lines.is_empty()).then(|| {
        Block::Lines(Lines {
            caption: "Ratio of each quad in order of measurement".to_owned(),
            x: "quad".to_owned(),
            y: "ratio".to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            reach: None,
            lines,
            marks: Vec::new(),
        })
    })
}

fn noise(record: &Record, run: &AbRun) -> Vec<Text> {
    let mut lines = Vec::new();
    if let Known::Yes(Comparison { control, needed, .. }) = &run.comparison {
        lines.push(match control {
            Some(found) => bar(run, found).into(),
            None => "There was no control arm.".into(),
        });
        if let Some(needed) = needed {
            let band = band(run);
            let text = format!(
                "To tell {band} from nothing takes about {needed} quads here, {} were measured",
                log_ratios(&run.quads, Kind::Compared).len()
            );
            lines.push(text.into());
        }
    }
    lines.extend(beside(run).map(Text::from));
    lines.extend(left_out(run).into_iter().map(Text::from));
    lines.extend(taken_away(run).map(Text::from));
    lines.extend(stolen(record).map(Text::from));
    let seconds = |seconds: f64| number(seconds, "s");
    lines.extend(run.held_seconds.map(|held| {
        let held = seconds(held);
        format!(
            "Each setting was under load for {held} before it was measured: the heat is its own"
        )
        .into()
    }));
    lines.push(format!("It ended because: {}", run.ended).into());
    if let Some(cost) = &run.cost {
        let [quad, set, own] = [cost.seconds, cost.setting, cost.own].map(seconds);
        let set = if cost.setting > 0.0 {
            format!("writing settings took {set}, and ")
        } else {
            String::new()
        };
        let own = if cost.own > 0.0 {
            format!("{own} were cpudyno's own")
        } else {
            "nothing was cpudyno's own".to_owned()
        };
        lines.push(format!("A quad took {quad}, of which {set}{own}").into());
    }
    lines
}

/// What a difference of nothing looks like here: an interval, or the quads themselves where they are
/// too few for one.
fn bar(run: &AbRun, found: &Estimate) -> String {
    let words = "A against A, in the control arm";
    if found.interval.value().is_some() {
        return format!("{words}: {}", estimate(found, 1)).replace("B / A", "A / A");
    }
    let ratios = log_ratios(&run.quads, Kind::Control);
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let centre = ratio(found.centre);
    match ratios.len() {
        1 => format!("{words}: A / A = {centre} in the only control quad, which says little"),
        count => format!(
            "{words}: A / A from {} to {}, the least and the greatest of {count} control quads, with \
             {centre} in their middle; fewer than {COUNT_MIN} give no interval",
            ratio(least),
            ratio(most)
        ),
    }
}

/// What the machine did meanwhile by itself.
fn beside(run: &AbRun) -> Option<String> {
    let beside = run.beside.as_ref()?;
    let found = Beside::of(&beside.quads);
    let change = |log: f64| format!("{:+.2} %", log.exp_m1() * 100.0);
    let whole = |log: f64| change(2.0 * log);
    let ratio = found.ratio.as_ref().map(|ratio| format!("B against A {}", ranged(ratio, change)));
    let drift = found.drift.as_ref();
    let drift = drift.map(|drift| format!("from beginning to end {}", ranged(drift, whole)));
    let told: Vec<String> = ratio.into_iter().chain(drift).collect();
    Some(format!(
        "Beside it, {} on CPU {} after each measurement, the same in both arms: {}",
        beside.subject,
        beside.cpu,
        told.join("; ")
    ))
}

/// A change with its interval, where it has one.
fn ranged(estimate: &Estimate, words: impl Fn(f64) -> String) -> String {
    let centre = words(estimate.centre);
    match estimate.interval.value() {
        Some(interval) => {
            let (low, high) = (words(interval.low), words(interval.high));
            format!("{centre} ({low} to {high})")
        }
        None => centre,
    }
}

/// Quads that have no number: how many, in which arm, and why.
fn left_out(run: &AbRun) -> Vec<String> {
    let mut reasons: Vec<&str> = run.left_out.iter().map(|l| &*l.unavailable.why).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let of = |why: &str, is_it: fn(&LeftOut) -> bool| {
        run.left_out.iter().filter(|left| left.unavailable.why == why && is_it(left)).count()
    };
    let line = |why: &str| {
        let a = of(why, |left| left.kind == Kind::Compared && left.arm == Arm::A);
        let b = of(why, |left| left.kind == Kind::Compared && left.arm == Arm::B);
        let control = of(why, |left| left.kind == Kind::Control);
        let count = a + b + control;
        let quads = if count == 1 { "quad was" } else { "quads were" };
        format!(
            "{count} {quads} left out ({a} by a measurement of A, {b} of B, {control} of a control): {why}"
        )
    };
    reasons.into_iter().map(line).collect()
}

/// How often a command lost its CPU.
fn taken_away(run: &AbRun) -> Option<String> {
    let each = |arm: Arm| {
        let ran = run.ran.iter().find(|ran| ran.arm == arm && ran.runs > 0)?;
        Some(ran.involuntary_switches as f64 / ran.runs as f64)
    };
    let (a, b) = (each(Arm::A)?, each(Arm::B)?);
    Some(format!(
        "In each run of the command a CPU was taken away from it {a:.1} times in A, {b:.1} times in B"
    ))
}

/// What the hypervisor took, as the kernel counts it.
pub fn stolen(record: &Record) -> Option<String> {
    let facts = &record.conditions.after;
    let steal = facts.iter().find(|fact| fact.id == "disturbance.steal")?;
    let FactValue::Number { value, .. } = steal.value.value()? else { return None };
    Some(format!(
        "The hypervisor took {value:.2} s of the time of the CPUs that were measured, says the kernel"
    ))
}

/// An arm that failed.
pub fn failure(failure: &model::record::ArmFailure) -> Remark {
    Remark {
        mark: Text::toned("failed", Tone::Serious),
        about: failure.arm.clone(),
        text: failure.why.clone(),
        remedy: None,
    }
}

fn flag(flag: &Flag, unit: &str) -> Remark {
    let percent = |log: f64| format!("{:+.1} %", log.exp_m1() * 100.0);
    let name = |arm: &Arm| format!("{arm:?}");
    let (about, text) = match flag {
        Flag::Drift { whole } => (
            "drift".to_owned(),
            format!(
                "everything changed by {} from beginning to end; quads cancel that",
                percent(*whole)
            ),
        ),
        Flag::Machine { whole } => (
            "machine".to_owned(),
            format!(
                "the fixed chain beside it changed by {} from beginning to end, which is more than B \
                 and A differ: the machine moved. Quads cancel what moves evenly",
                percent(*whole)
            ),
        ),
        Flag::Order { excess } => (
            "order".to_owned(),
            format!(
                "quads A B B A differ by {} from the mean of both orders: an arm leaves something behind for the next one",
                percent(*excess)
            ),
        ),
        Flag::Wanders { memory } => (
            "memory".to_owned(),
            format!(
                "successive quads are alike (correlation of ranks {memory:.2}): the ratio itself changed over the run"
            ),
        ),
        Flag::Lost { arm, lost, count } => (
            name(arm),
            format!(
                "{lost} of {count} quads that were left out were lost by it: what disturbs it more \
                 than the other is a part of the setting, and is not in the ratio"
            ),
        ),
        Flag::Outliers { arm, outliers, count } => {
            (name(arm), format!("{outliers} of {count} measurements are far from all others"))
        }
        Flag::TwoModes { arm, medians } => {
            let [one, other] = apart(*medians, unit);
            (name(arm), format!("measurements fall into two groups, about {one} and {other}"))
        }
    };
    let remedy = matches!(flag, Flag::Machine { .. })
        .then(|| "compare again when the machine is steady".to_owned());
    Remark { mark: Text::toned("note", Tone::Warning), about, text, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_have_the_digits_that_tell_them_apart() {
        assert_eq!(apart([12.3461e-6, 12.3539e-6], "s"), ["12.346 us", "12.354 us"]);
        assert_eq!(apart([3.1e9, 3.2e9], "Hz"), ["3.100 GHz", "3.200 GHz"]);
        assert_eq!(apart([1.0, 1.0], ""), ["1.0000000000", "1.0000000000"]);
    }
}
