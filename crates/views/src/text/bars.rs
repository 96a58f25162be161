//! Horizontal bars from zero, in eighths of a column.

use anstyle::{AnsiColor, Style};
use model::page::{Bars, Tone};

use super::line::StyledLine;
use super::toned;
use super::wrap::{width, wrap};

/// Longer bars take the eye too far from their label.
const BAR_WIDTH_MAX: usize = 60;

const GAP: usize = 2;

/// The bars with their caption above.
pub(super) fn lines(bars: &Bars, limit: usize) -> Vec<StyledLine> {
    let column = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0).min(limit / 3);
    let label_width = column(&mut bars.bars.iter().map(|bar| width(&bar.label)));
    let text_width = column(&mut bars.bars.iter().map(|bar| width(&bar.text)));
    let bar_width = (limit - label_width - text_width - 2 * GAP).min(BAR_WIDTH_MAX);
    let ends = bars.bars.iter().flat_map(|bar| [bar.from, bar.value]);
    let longest = ends.filter(|end| end.is_finite()).fold(0.0, f64::max);

    let mut lines = toned(&bars.caption, Tone::Plain, limit);
    for bar in &bars.bars {
        let labels = wrap(&bar.label, label_width);
        let texts = wrap(&bar.text, text_width);
        let blocks = blocks([bar.from, bar.value], longest, bar_width);
        for index in 0..labels.len().max(texts.len()) {
            let at = |rows: &[String]| rows.get(index).cloned().unwrap_or_default();
            let mut line = StyledLine::default();
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

/// A bar from one of these to the other; what is longer than zero shows at least an eighth. It begins with a whole
/// column: no character is empty on its left.
fn blocks(ends: [f64; 2], longest: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let [from, to] = [ends[0].min(ends[1]).max(0.0), ends[0].max(ends[1])];
    if !(ends.iter().all(|end| end.is_finite()) && to > from) {
        return String::new();
    }
    let eighths = |value: f64| (value / longest * (8 * columns) as f64).round() as usize;
    let length = eighths(to - from).max(1);
    let skipped = (eighths(to).saturating_sub(length) + 4) / 8;
    let skipped = skipped.min(columns.saturating_sub(length.div_ceil(8)));
    " ".repeat(skipped) + &"█".repeat(length / 8) + EIGHTHS[length % 8]
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn length_is_proportional_and_starts_at_zero() {
        let blocks = |value, longest, columns| blocks([0.0, value], longest, columns);
        assert_eq!(blocks(8.0, 8.0, 4), "████");
        assert_eq!(blocks(4.5, 8.0, 4), "██▎");
        assert_eq!(blocks(1e-9, 8.0, 4), "▏");
        assert_eq!(blocks(0.0, 0.0, 4), "");
        assert_eq!(blocks(-1.0, 8.0, 4), "");
        assert_eq!(blocks(f64::NAN, 8.0, 4), "");
    }

    #[test]
    fn a_part_lies_where_it_is() {
        assert_eq!(blocks([8.0, 4.0], 8.0, 4), "  ██");
        assert_eq!(blocks([4.0, 6.5], 8.0, 4), "  █▎");
        assert_eq!(blocks([8.0, 8.001], 8.001, 4), "   ▏");
        assert_eq!(blocks([4.0, 4.001], 8.0, 4), "  ▏");
        assert_eq!(blocks([5.5, 8.0], 8.0, 4), "  █▎", "no wider than all columns");
        assert_eq!(blocks([4.0, 4.0], 8.0, 4), "");
        assert_eq!(blocks([f64::NAN, 4.0], 8.0, 4), "");
    }
}
