//! Label and value pairs in a box.

use anstyle::Style;
use model::page::{Text, Tone};

use super::line::{Line, style};
use super::wrap::{width, wrap};

/// Two borders, a space within each, and two spaces between label and value.
const FRAME: usize = 6;

/// A box as wide as its content, at most `limit`.
pub(super) fn lines(pairs: &[(String, Text)], limit: usize) -> Vec<Line> {
    let label_width = pairs.iter().map(|(label, _)| width(label)).max().unwrap_or(0).min(limit / 3);
    let widest = pairs.iter().map(|(_, value)| width(&value.text)).max().unwrap_or(0);
    let value_width = widest.min(limit - FRAME - label_width);
    let edge = "─".repeat(label_width + value_width + FRAME - 2);

    let mut lines = vec![Line::new(format!("┌{edge}┐"), Style::new())];
    for (label, value) in pairs {
        let labels = wrap(label, label_width);
        let values = wrap(&value.text, value_width);
        for index in 0..labels.len().max(values.len()) {
            let at = |rows: &[String]| rows.get(index).cloned().unwrap_or_default();
            let mut line = Line::new("│ ", Style::new());
            line.push_left(&at(&labels), label_width, style(Tone::Faint));
            line.space(2);
            line.push_left(&at(&values), value_width, style(value.tone));
            line.push(" │", Style::new());
            lines.push(line);
        }
    }
    lines.push(Line::new(format!("└{edge}┘"), Style::new()));
    lines
}
