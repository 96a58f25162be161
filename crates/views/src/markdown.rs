//! A page for a ticket: GitHub-flavoured Markdown, short enough for a comment.

use model::page::{
    Align, Bars, Block, Figure, HeatCell, HeatMap, HeatRow, Lines, Page, Remark, Ruled, Scale,
    Table, Text, Tone,
};

use crate::{number, visible};

/// Lines over more places than this are summed up instead of listed.
const LISTED_PLACES_MAX: usize = 12;

/// Maps of more columns are summed up: a matrix of 128 cores would not fit into a comment.
const LISTED_COLUMNS_MAX: usize = 64;

/// The page as Markdown. Plots become tables: a ticket has no columns to rely on.
pub fn render(page: &Page) -> String {
    let mut parts = Vec::new();
    let mut folded = false;
    for it in &page.blocks {
        // A fold ends where the next one begins.
        if folded && matches!(it, Block::Fold { .. }) {
            parts.push("</details>\n".to_owned());
        }
        folded |= matches!(it, Block::Fold { .. });
        parts.push(block(it));
    }
    parts.extend(folded.then(|| "</details>\n".to_owned()));
    parts.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Title { text, subtitle } if subtitle.is_empty() => format!("## {}\n", escape(text)),
        Block::Title { text, subtitle } => {
            format!("## {}\n\n{}\n", escape(text), escape(subtitle))
        }
        Block::Heading(text) => format!("### {}\n", escape(text)),
        Block::Fold { title, open } => {
            let open = if *open { " open" } else { "" };
            format!("<details{open}><summary>{}</summary>\n", escape(title))
        }
        Block::Badge { label, grade, reasons } => {
            format!("**{}: {}** ({})\n", escape(label), escape(&grade.text), escape(reasons))
        }
        Block::Figures(figures) => with_notes(&Figure::table(figures)),
        Block::Box(pairs) => pair_table(pairs.iter()),
        Block::Groups(groups) => pair_table(groups.iter().flatten()),
        Block::Paragraph(text) => format!("{}\n", toned(text)),
        Block::List(items) => items.iter().map(bullet).collect(),
        Block::Remarks(remarks) | Block::Actions(remarks) => remarks.iter().map(remark).collect(),
        Block::Hints(lines) => lines.iter().flat_map(|line| ["- ", line, "\n"]).collect(),
        Block::Table(table) => with_notes(table),
        Block::Ruled(ruled) => ruled_tables(ruled),
        Block::HeatMap(map) => heat_table(map),
        Block::Bars(bars) => bar_table(bars),
        Block::Lines(lines) => line_table(lines),
        // A table beside it has its numbers.
        Block::Slopes(_) | Block::Strips(_) => String::new(),
    }
}

fn pair_table<'a>(pairs: impl Iterator<Item = &'a (String, Text)>) -> String {
    let row = |(label, value): &(String, Text)| vec![label.as_str().into(), value.clone()];
    let columns = vec![(String::new(), Align::Left), (String::new(), Align::Left)];
    pipes("", &columns, &pairs.map(row).collect::<Vec<_>>())
}

fn bullet(item: &Text) -> String {
    format!("- {}\n", toned(item))
}

fn remark(remark: &Remark) -> String {
    let about = if remark.about.is_empty() { "" } else { &format!(" {}:", escape(&remark.about)) };
    let remedy = remark.remedy.as_deref().map_or_else(String::new, |remedy| {
        // Two spaces keep the remedy within its item.
        format!("  → {}\n", escape(remedy))
    });
    format!("- **{}**{about} {}\n{remedy}", escape(&remark.mark.text), escape(&remark.text))
}

fn with_notes(table: &Table) -> String {
    pipes(&table.caption, &table.columns, &table.rows)
        + &notes(table.legend.iter().chain(&table.notes))
}

fn notes<'a>(notes: impl IntoIterator<Item = &'a String>) -> String {
    notes.into_iter().flat_map(|note| ["\n".to_owned(), escape(note), "\n".to_owned()]).collect()
}

/// A table for each part, with all columns.
fn ruled_tables(ruled: &Ruled) -> String {
    let captions = std::iter::once(ruled.caption.as_str()).chain(std::iter::repeat(""));
    let tables = captions.zip(&ruled.parts);
    let tables: Vec<String> =
        tables.map(|(caption, rows)| pipes(caption, &ruled.columns, rows)).collect();
    tables.join("\n") + &notes(ruled.legend.iter().chain(&ruled.notes))
}

/// Every number where there are not too many columns, else the least and the greatest of each row.
fn heat_table(map: &HeatMap) -> String {
    let listed = map.columns.len() <= LISTED_COLUMNS_MAX;
    let few = ["least".to_owned(), "greatest".to_owned()];
    let headers = if listed { map.columns.as_slice() } else { &few };
    let headers = headers.iter().map(|header| (header.clone(), Align::Right));
    let columns: Vec<_> =
        std::iter::once((map.row_title.clone(), Align::Left)).chain(headers).collect();
    let row = |(place, row): (usize, &HeatRow)| {
        let cell = |(column, cell): (usize, &HeatCell)| {
            let text = heat_cell(cell);
            if map.is_outlined(place, column) { Text { tone: Tone::Strong, ..text } } else { text }
        };
        let cells = row.cells.iter().enumerate().map(cell);
        let cells = if listed { cells.collect() } else { extremes(row) };
        std::iter::once(row.label.as_str().into()).chain(cells).collect()
    };
    let rows: Vec<Vec<Text>> = map.groups.iter().flatten().enumerate().map(row).collect();
    let outline = map.outline.iter().filter(|outline| listed && !outline.cells.is_empty());
    let outline = outline.map(|outline| format!("bold: {}", outline.meaning));
    let below: Vec<String> = outline.chain(map.legend.iter().chain(&map.notes).cloned()).collect();
    let over = if listed { "columns" } else { "least and greatest of the columns" };
    let caption = format!("{} ({over}: {})", map.caption, map.column_title);
    pipes(&caption, &columns, &rows) + &notes(&below)
}

fn heat_cell(cell: &HeatCell) -> Text {
    match cell {
        HeatCell::Value { text, .. } => text.as_str().into(),
        HeatCell::Absent(text) => text.clone(),
    }
}

/// The cells with the least and the greatest value of a row.
fn extremes(row: &HeatRow) -> Vec<Text> {
    let values = || {
        row.cells.iter().filter_map(|cell| match cell {
            HeatCell::Value { value, text } => Some((*value, text.as_str())),
            HeatCell::Absent(_) => None,
        })
    };
    let least = values().min_by(|a, b| a.0.total_cmp(&b.0));
    let greatest = values().max_by(|a, b| a.0.total_cmp(&b.0));
    [least, greatest].map(|cell| cell.map_or_else(Text::default, |(_, text)| text.into())).into()
}

fn bar_table(bars: &Bars) -> String {
    let columns = vec![(String::new(), Align::Left), (String::new(), Align::Right)];
    let row = |bar: &model::page::Bar| vec![bar.label.as_str().into(), bar.text.as_str().into()];
    pipes(&bars.caption, &columns, &bars.bars.iter().map(row).collect::<Vec<_>>())
}

/// Every point where there are few places on the axis, else one row for each line.
fn line_table(plot: &Lines) -> String {
    let points = plot.lines.iter().flat_map(|(_, points)| points);
    let mut places: Vec<f64> = points.map(|point| point.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let table =
        if places.len() <= LISTED_PLACES_MAX { listed(plot, &places) } else { summed_up(plot) };
    let marks: Vec<String> = plot.marks.iter().map(|mark| mark.text.clone()).collect();
    table + &notes(&if marks.is_empty() { marks } else { vec![marks.join("; ")] })
}

fn listed(plot: &Lines, places: &[f64]) -> String {
    let headers = std::iter::once(&plot.x).chain(plot.lines.iter().map(|(name, _)| name));
    let columns: Vec<_> = headers.map(|header| (header.clone(), Align::Right)).collect();
    let row = |&x: &f64| {
        let value = |(_, points): &(String, Vec<(f64, f64)>)| {
            let point = points.iter().find(|point| point.0.total_cmp(&x).is_eq());
            point.map(|point| number::short(point.1)).unwrap_or_default()
        };
        let cells = plot.lines.iter().map(value);
        let place = match plot.x_scale {
            Scale::Bytes => number::bytes(x),
            Scale::Linear | Scale::Logarithmic => number::short(x),
        };
        std::iter::once(place).chain(cells).map(Text::from).collect()
    };
    let rows: Vec<Vec<Text>> = places.iter().map(row).collect();
    pipes(&format!("{} ({})", plot.caption, plot.y), &columns, &rows)
}

fn summed_up(plot: &Lines) -> String {
    let right = |text: &str| (text.to_owned(), Align::Right);
    let columns = [
        (String::new(), Align::Left),
        right("points"),
        right("first"),
        right("last"),
        right("min"),
        right("max"),
    ];
    let row = |(name, points): &(String, Vec<(f64, f64)>)| {
        let values = || points.iter().map(|point| point.1);
        let numbers = [
            values().next(),
            values().next_back(),
            values().min_by(f64::total_cmp),
            values().max_by(f64::total_cmp),
        ];
        let numbers = numbers.map(|value| value.map(number::short).unwrap_or_default());
        let head = [name.clone(), points.len().to_string()];
        head.into_iter().chain(numbers).map(Text::from).collect()
    };
    let rows: Vec<Vec<Text>> = plot.lines.iter().map(row).collect();
    pipes(&format!("{} ({} over {})", plot.caption, plot.y, plot.x), &columns, &rows)
}

/// A pipe table under its caption.
fn pipes(caption: &str, columns: &[(String, Align)], rows: &[Vec<Text>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = String::new();
    if !caption.is_empty() {
        text.extend(["*", &escape(caption), "*\n\n"]);
    }
    text.push_str(&line(columns.iter().map(|(header, _)| cell(&escape(header))).collect()));
    let rule = |(_, align): &(String, Align)| match align {
        Align::Label | Align::Left | Align::Folded => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    };
    text.push_str(&line(columns.iter().map(rule).collect()));
    for row in rows {
        text.push_str(&line(row.iter().map(|text| cell(&toned(text))).collect()));
    }
    text
}

/// In a table, `|` ends a cell even within a code span, and `\|` does not.
fn cell(text: &str) -> String {
    text.replace('|', r"\|")
}

fn toned(text: &Text) -> String {
    let escaped = escape(&text.text);
    if text.tone == Tone::Strong && !escaped.is_empty() {
        format!("**{escaped}**")
    } else {
        escaped
    }
}

/// Keeps code spans, and takes the meaning from what would be markup elsewhere.
fn escape(text: &str) -> String {
    let text = visible::text(text.trim());
    let spans = text.matches('`').count().is_multiple_of(2);
    let mut in_code = false;
    let mut escaped = String::new();
    for c in text.chars() {
        if c == '`' && spans {
            in_code = !in_code;
        } else if !in_code && matches!(c, '\\' | '*' | '<' | '[' | '`') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_from_data_stays_text() {
        assert_eq!(escape("<b> 2*3 [x] a_b \x1b"), r"\<b> 2\*3 \[x] a_b ␛");
        assert_eq!(escape("run `a < *`, not *"), r"run `a < *`, not \*");
        assert_eq!(escape("a ` b"), r"a \` b");
        assert_eq!(cell(&escape("`a | b`")), r"`a \| b`");
    }

    #[test]
    fn long_lines_are_summed_up() {
        let points = (0..13).map(|i| (f64::from(i), f64::from(i * i))).collect();
        let plot = Lines {
            caption: "growth".into(),
            x: "n".into(),
            y: "s".into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            reach: None,
            lines: vec![("square".into(), points)],
            marks: Vec::new(),
        };
        let text = line_table(&plot);
        assert!(text.ends_with("| square | 13 | 0 | 144 | 0 | 144 |\n"), "{text}");
    }
}
