//! Columns beside each other, and what becomes of them where the page is too narrow.

use anstyle::Style;
use model::page::{Align, Tone};

use super::line::{StyledLine, style};
use super::wrap::{width, wrap};

/// A column of words is not narrowed below this; the columns are cut into parts instead.
const WORDS_WIDTH_MIN: usize = 24;

/// A column, and how wide it is drawn.
#[derive(Clone, Copy)]
pub(super) struct GridColumn {
    /// Its place among all columns.
    pub(super) index: usize,
    pub(super) width: usize,
    pub(super) align: Align,
}

/// How columns stand beside each other.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    /// What stands between two columns.
    pub(super) between: &'static str,
    /// The first columns, which each part has again.
    pub(super) labels: usize,
}

impl Grid {
    /// How wide all columns are together.
    pub(super) fn total(self, columns: &[GridColumn]) -> usize {
        let gap = width(self.between);
        columns.iter().map(|column| column.width + gap).sum::<usize>().saturating_sub(gap)
    }

    /// The columns of each part: as wide as they would be if they fit, else no wider than `narrow`,
    /// else with less room for words, and cut only then.
    pub(super) fn parts(
        self,
        natural: &[GridColumn],
        narrow: &[GridColumn],
        limit: usize,
    ) -> Vec<Vec<GridColumn>> {
        if natural.is_empty() || self.total(natural) <= limit {
            return vec![natural.to_vec()];
        }
        let mut narrow = narrow.to_vec();
        self.fold(&mut narrow, limit);
        let excess = self.total(&narrow).saturating_sub(limit);
        let words = narrow.iter_mut().filter(|column| column.align != Align::Right);
        match words.max_by_key(|column| column.width) {
            _ if excess == 0 => vec![narrow],
            Some(widest) if widest.width >= excess + WORDS_WIDTH_MIN => {
                widest.width -= excess;
                vec![narrow]
            }
            _ => self.cut(&narrow, limit, limit / 2),
        }
    }

    /// Columns that may fold give way, the widest first, as long as that keeps all of them beside each other.
    fn fold(self, columns: &mut [GridColumn], limit: usize) {
        let before = columns.to_vec();
        while self.total(columns) > limit {
            let may = |column: &&mut GridColumn| {
                column.align == Align::Folded && column.width > WORDS_WIDTH_MIN
            };
            match columns.iter_mut().filter(may).max_by_key(|column| column.width) {
                Some(widest) => widest.width -= 1,
                None => return columns.copy_from_slice(&before),
            }
        }
    }

    /// The columns that each part has again, and the others; a single column is one of these.
    pub(super) fn split(self, columns: &[GridColumn]) -> (&[GridColumn], &[GridColumn]) {
        columns.split_at(self.labels.min(columns.len().saturating_sub(1)))
    }

    /// As many columns in each part as fit beside the labels, which share `room` and are narrowed
    /// where they need more; a column that fits in no part is narrowed too.
    pub(super) fn cut(
        self,
        columns: &[GridColumn],
        limit: usize,
        room: usize,
    ) -> Vec<Vec<GridColumn>> {
        let narrowed = |column: &GridColumn, most: usize| GridColumn {
            width: column.width.min(most),
            ..*column
        };
        let gap = width(self.between);
        let (labels, others) = self.split(columns);
        let gaps = gap * labels.len().saturating_sub(1);
        let most = match labels.len() {
            count if self.total(labels) > room => (room - gaps) / count,
            _ => limit,
        };
        let labels: Vec<GridColumn> = labels.iter().map(|column| narrowed(column, most)).collect();
        let taken = if labels.is_empty() { 0 } else { self.total(&labels) + gap };
        let mut parts: Vec<Vec<GridColumn>> = Vec::new();
        for column in others {
            let column = narrowed(column, limit - taken);
            let beside = parts.last().map(|part| {
                let mut part: Vec<GridColumn> = part.iter().copied().chain([column]).collect();
                self.fold(&mut part, limit);
                part
            });
            match (parts.last_mut(), beside) {
                (Some(part), Some(beside)) if self.total(&beside) <= limit => *part = beside,
                _ => parts.push(labels.iter().copied().chain([column]).collect()),
            }
        }
        parts
    }

    /// One row, in as many lines as its highest cell needs.
    pub(super) fn row<'a>(
        self,
        columns: &[GridColumn],
        cells: impl IntoIterator<Item = (&'a str, Style)>,
    ) -> Vec<StyledLine> {
        let cells = cells.into_iter().zip(columns);
        let wrapped: Vec<(Vec<String>, Style)> =
            cells.map(|((text, style), column)| (wrap(text, column.width), style)).collect();
        let height = wrapped.iter().map(|(rows, _)| rows.len()).max().unwrap_or(0);
        let mut lines: Vec<StyledLine> = (0..height).map(|_| StyledLine::default()).collect();
        for (place, ((rows, style), column)) in wrapped.iter().zip(columns).enumerate() {
            for (index, line) in lines.iter_mut().enumerate() {
                let text = rows.get(index).map_or("", String::as_str);
                if place > 0 {
                    line.push(self.between, Style::new());
                }
                match column.align {
                    Align::Label | Align::Left | Align::Folded => {
                        line.push_left(text, column.width, *style);
                    }
                    Align::Right => line.push_right(text, column.width, *style),
                }
            }
        }
        lines
    }

    /// A line under the header.
    pub(super) fn rule(self, columns: &[GridColumn]) -> StyledLine {
        let mut rule = StyledLine::default();
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                rule.push(self.between, Style::new());
            }
            rule.push("─".repeat(column.width), style(Tone::Faint));
        }
        rule
    }
}
