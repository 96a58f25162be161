//! What a page shows of each question.

pub(super) mod idle;
pub(super) mod signals;
pub(super) mod timer;

use model::page::{Block, Lines, Scale, Text, Tone};

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
            caption: caption.to_owned(),
            x: x.to_owned(),
            y: "samples, %".to_owned(),
            x_scale: Scale::Logarithmic,
            y_scale: Scale::Logarithmic,
            reach: None,
            lines,
            marks: Vec::new(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::near;

    #[test]
    fn a_distribution_has_shares_of_twelfths_of_a_decade() {
        // 11 us lie in the step 60 below a second, 110 us in that 48 below: 12 further.
        let samples = [("it".to_owned(), vec![11e-6, 110e-6, 11e-6, 11e-6])];
        let Some(Block::Lines(lines)) = distribution("it", "us", &samples) else { panic!("lines") };
        let points = &lines.lines[0].1;
        // One step before the first, and one after the last; half a sample of four is 12.5 %.
        assert_eq!(points.len(), 15);
        for (step, expected) in [(0, 12.5), (1, 75.0), (2, 12.5), (13, 25.0), (14, 12.5)] {
            near(points[step].1, expected);
        }
        near(points[13].0 / points[1].0, 10.0);
        // The middle of the step: 10^(-59.5 / 12) s.
        near(points[1].0, 10f64.powf(-59.5 / 12.0) * 1e6);
    }
}
