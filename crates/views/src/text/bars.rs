//! Horizontal bars from zero, in eighths of a column.

use anstyle::{AnsiColor, Style};
use model::page::{Bars, Tone};

use super::line::Line;
use super::toned;
use super::wrap::{width, wrap};

/// Longer bars take the eye too far from their label.
const BAR_WIDTH_MAX: usize = 60;

const GAP: usize = 2;

/// The bars with their caption above.
pub(super) fn lines(bars: &Bars, limit: usize) -> Vec<Line> {
    let column = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0).min(limit / 3);
    let label_width = column(&mut bars.bars.iter().map(|bar| width(&bar.label)));
    let text_width = column(&mut bars.bars.iter().map(|bar| width(&bar.text)));
    let bar_width = (limit - label_width - text_width - 2 * GAP).min(BAR_WIDTH_MAX);
    let finite = bars.bars.iter().map(|bar| bar.value).filter(|value| value.is_finite());
    let longest = finite.fold(0.0, f64::max);

    let mut lines = toned(&bars.caption, Tone::Plain, limit);
    for bar in &bars.bars {
        let labels = wrap(&bar.label, label_width);
        let texts = wrap(&bar.text, text_width);
        let blocks = blocks(bar.value, longest, bar_width);
        for index in 0..labels.len().max(texts.len()) {
            let at = |rows: &[String]| rows.get(index).cloned().unwrap_or_default();
            let mut line = Line::default();
            line.push_left(&at(&labels), label_width, Style::new());
            line.space(GAP);
            let blocks = if index == 0 { blocks.as_str() } else { "" };
            line.push_left(blocks, bar_width, AnsiColor::Cyan.on_default());
            line.space(GAP);
            line.push_right(&at(&texts), text_width, Style::new());
            lines.push(line);
        }
    }
    lines
}

/// A bar of that length; what is above zero shows at least an eighth.
fn blocks(value: f64, longest: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !(value.is_finite() && value > 0.0) {
        return String::new();
    }
    let eighths = (value / longest * (8 * columns) as f64).round().max(1.0) as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn length_is_proportional_and_starts_at_zero() {
        assert_eq!(blocks(8.0, 8.0, 4), "████");
        assert_eq!(blocks(4.5, 8.0, 4), "██▎");
        assert_eq!(blocks(1e-9, 8.0, 4), "▏");
        assert_eq!(blocks(0.0, 0.0, 4), "");
        assert_eq!(blocks(-1.0, 8.0, 4), "");
        assert_eq!(blocks(f64::NAN, 8.0, 4), "");
    }
}
