//! The page of `cpudyno ab`, a pure function of the record (invariant I2).

use levers::pages;
use model::page::{Align, Block, Lines, Page, Remark, Scale, Table, Text, Tone};
use model::record::{AbRun, Record};
use model::stats::paired::{Arm, Better, Comparison, Estimate, Flag, Kind, Verdict, log_ratios};
use model::stats::quantile;
use model::{Known, Unavailable};

use crate::sheet::parts;

/// What came of a comparison.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED comparison: machine sim:{name}, nothing was measured"),
        None => "A against B".to_owned(),
    };
    let (tool, run) = (&record.tool, &record.run);
    let took = match run.seconds {
        seconds if seconds > 0.0 => format!(", {seconds:.1} s"),
        _ => String::new(),
    };
    let subtitle = format!("{} {}, {}{took}", tool.name, tool.version, run.started);
    let mut blocks = vec![Block::Title { text, subtitle }];
    let Some(run) = &record.comparison else { return Page { blocks } };
    blocks.push(header(record, run));
    blocks.push(Block::Paragraph(answer(run)));
    blocks.push(arms(run));
    blocks.extend(quads(run));
    if let Some(settings) = &record.settings {
        blocks.extend(pages::proofs(&settings.proofs));
    }
    blocks.push(Block::Heading("How noisy it was".to_owned()));
    blocks.push(Block::List(noise(run)));
    let mut remarks: Vec<Remark> = run.failures.iter().map(failure).collect();
    remarks.extend(run.flags.iter().map(flag));
    if !remarks.is_empty() {
        blocks.push(Block::Remarks(remarks));
    }
    if !record.findings.is_empty() {
        blocks.push(Block::Heading("Findings".to_owned()));
        blocks.push(parts::findings(record));
    }
    if verbosity > 0 {
        blocks.extend(parts::details(record));
    }
    Page { blocks }
}

fn header(record: &Record, run: &AbRun) -> Block {
    let words = |words: &[String]| match words {
        [] => "as it is".to_owned(),
        words => words.join(", "),
    };
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
    for (label, id) in [("CPU", "cpu.brand"), ("Runs on", "platform.virtualisation")] {
        lines.extend(parts::known(record, id).map(|text| (label, text)));
    }
    Block::Box(lines.into_iter().map(|(label, text)| (label.to_owned(), text.into())).collect())
}

/// The answer in one sentence.
fn answer(run: &AbRun) -> Text {
    let found = match &run.comparison {
        Known::Yes(found) => found,
        Known::No { unavailable } => return cannot(unavailable),
    };
    let ratio = estimate(&found.ratio);
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

/// `B / A = 1.034, 1.021 to 1.047 with a confidence of at least 95 %, from 14 quads`. Over all looks
/// together, the confidence of an interval is that much, whatever that of each alone.
fn estimate(estimate: &Estimate) -> String {
    let count = estimate.count;
    let centre = format!("B / A = {}", ratio(estimate.centre));
    match &estimate.interval {
        Known::Yes(interval) => format!(
            "{centre}, {} to {} with a confidence of at least 95 %, from {count} quads",
            ratio(interval.low),
            ratio(interval.high)
        ),
        Known::No { unavailable } => format!("{centre} from {count} quads ({})", unavailable.why),
    }
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
        let cells = [name, words.join(", "), at(0.5), at(0.1), at(0.9), values.len().to_string()];
        cells.into_iter().map(Text::from).collect()
    };
    let columns = [
        ("arm", Align::Left),
        ("setting", Align::Left),
        ("median", Align::Right),
        ("p10", Align::Right),
        ("p90", Align::Right),
        ("measurements", Align::Right),
    ];
    Block::Table(Table {
        caption: format!("{}, controls among those of A", run.metric),
        columns: columns.map(|(name, align)| (name.to_owned(), align)).to_vec(),
        rows: vec![row(Arm::A), row(Arm::B)],
        notes: Vec::new(),
    })
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
fn number(value: f64, unit: &str) -> String {
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
            format!("{scaled:.digits$} {prefix}{unit}")
        }
        None => plain(format!("{value:.4}")),
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
            caption: "ratio of each quad, in the order of the run".to_owned(),
            x: "quad".to_owned(),
            y: "ratio".to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            lines,
        })
    })
}

fn noise(run: &AbRun) -> Vec<Text> {
    let mut lines = Vec::new();
    if let Known::Yes(Comparison { control, needed, .. }) = &run.comparison {
        lines.push(match control {
            Some(control) => format!("A against A, in the control arm: {}", estimate(control))
                .replace("B / A", "A / A")
                .into(),
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
    let [quad, own] = [run.quad_seconds, run.own_seconds].map(|seconds| number(seconds, "s"));
    lines.push(format!("It ended because: {}", run.ended).into());
    if run.own_seconds > 0.0 {
        lines.push(format!("A quad took {quad}, of which {own} were cpudyno's own").into());
    }
    lines
}

fn failure(failure: &model::record::ArmFailure) -> Remark {
    Remark {
        mark: Text::toned("failed", Tone::Serious),
        about: failure.arm.clone(),
        text: failure.why.clone(),
        remedy: None,
    }
}

fn flag(flag: &Flag) -> Remark {
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
        Flag::Outliers { arm, outliers, count } => {
            (name(arm), format!("{outliers} of {count} measurements are far from all others"))
        }
        Flag::TwoModes { arm, medians } => (
            name(arm),
            format!(
                "measurements fall into two groups, about {:.4e} and {:.4e}",
                medians[0], medians[1]
            ),
        ),
    };
    Remark { mark: Text::toned("note", Tone::Warning), about, text, remedy: None }
}
