//! What a page shows of each question.

pub(super) mod idle;
pub(super) mod signals;
pub(super) mod timer;

use model::page::{Align, Block, Lines, Scale, Text, Tone};

/// Microseconds, to three digits.
pub(super) fn microseconds(seconds: f64) -> String {
    let value = seconds * 1e6;
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A share, in per cent.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A remark of less weight.
fn note(text: impl Into<String>) -> Block {
    Block::Paragraph(Text::toned(text, Tone::Faint))
}

/// What stands where there is no number.
fn dash() -> Text {
    Text::toned("-", Tone::Faint)
}

/// Columns with their alignment.
fn columns<const N: usize>(columns: [(&str, Align); N]) -> Vec<(String, Align)> {
    columns.map(|(name, align)| (name.to_owned(), align)).to_vec()
}

/// How samples are distributed, as a line for each name: the share of them in each of equal steps of
/// the logarithm. Rare ones matter, so that shares stand on a logarithmic axis, too: a step without any
/// stands at half a sample.
fn distribution(caption: &str, x: &str, samples: &[(String, Vec<f64>)]) -> Option<Block> {
    /// Steps in a decade: as fine as a terminal's columns.
    const STEPS: f64 = 12.0;
    let bin = |sample: &f64| (sample.log10() * STEPS).floor() as i64;
    let line = |(name, samples): &(String, Vec<f64>)| {
        let mut bins: Vec<i64> = samples.iter().filter(|s| **s > 0.0).map(bin).collect();
        bins.sort_unstable();
        let (&first, &last) = (bins.first()?, bins.last()?);
        let share = |step: i64| {
            let count = bins.partition_point(|b| *b <= step) - bins.partition_point(|b| *b < step);
            (count as f64).max(0.5) / bins.len() as f64 * 100.0
        };
        let middle = |step: i64| 10f64.powf((step as f64 + 0.5) / STEPS) * 1e6;
        let points = (first - 1..=last + 1).map(|step| (middle(step), share(step)));
        Some((name.clone(), points.collect()))
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> = samples.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| {
        Block::Lines(Lines {
            caption: format!("{caption} (farther to the left is better)"),
            x: x.to_owned(),
            y: "per cent (steps without any stand at half a sample)".to_owned(),
            x_scale: Scale::Logarithmic,
            y_scale: Scale::Logarithmic,
            reach: None,
            lines,
            marks: Vec::new(),
        })
    })
}
