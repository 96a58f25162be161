//! Label and value pairs, in a box or in groups.

use anstyle::Style;
use model::page::{Text, Tone};

use super::line::{StyledLine, style};
use super::wrap::{width, wrap};

/// Between label and value.
const GAP: usize = 2;

/// A border on each side, and a space within it.
const FRAME: usize = 4;

/// How wide the two columns are.
#[derive(Clone, Copy)]
struct Columns {
    label: usize,
    value: usize,
}

impl Columns {
    /// As wide as their content, within `limit`.
    fn of<'a>(pairs: impl Iterator<Item = &'a (String, Text)> + Clone, limit: usize) -> Columns {
        let labels = pairs.clone().map(|(label, _)| width(label));
        let label = labels.max().unwrap_or(0).min(limit / 3);
        let widest = pairs.map(|(_, value)| width(&value.text)).max().unwrap_or(0);
        Columns { label, value: widest.min(limit - GAP - label) }
    }

    /// A pair in as many lines as it takes, each between `before` and `behind`.
    fn lines(self, (label, value): &(String, Text), before: &str, behind: &str) -> Vec<StyledLine> {
        let labels = wrap(label, self.label);
        let values = wrap(&value.text, self.value);
        let line = |index: usize| {
            let at = |rows: &[String]| rows.get(index).cloned().unwrap_or_default();
            let mut line = StyledLine::new(before, Style::new());
            line.push_left(&at(&labels), self.label, style(Tone::Faint));
            line.space(GAP);
            line.push_left(&at(&values), self.value, style(value.tone));
            line.push(behind, Style::new());
            line
        };
        (0..labels.len().max(values.len())).map(line).collect()
    }
}

/// A box as wide as its content, at most `limit`.
pub(super) fn boxed(pairs: &[(String, Text)], limit: usize) -> Vec<StyledLine> {
    let columns = Columns::of(pairs.iter(), limit - FRAME);
    let edge = "─".repeat(columns.label + columns.value + GAP + FRAME - 2);
    let mut lines = vec![StyledLine::new(format!("┌{edge}┐"), Style::new())];
    lines.extend(pairs.iter().flat_map(|pair| columns.lines(pair, "│ ", " │")));
    lines.push(StyledLine::new(format!("└{edge}┘"), Style::new()));
    lines
}

/// Groups with an empty line between them, one alignment for all.
pub(super) fn groups(groups: &[Vec<(String, Text)>], limit: usize) -> Vec<StyledLine> {
    let columns = Columns::of(groups.iter().flatten(), limit);
    let mut lines = Vec::new();
    for group in groups.iter().filter(|group| !group.is_empty()) {
        if !lines.is_empty() {
            lines.push(StyledLine::default());
        }
        lines.extend(group.iter().flat_map(|pair| columns.lines(pair, "", "")));
    }
    lines
}
