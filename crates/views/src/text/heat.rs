//! Heat maps: numbers whose size is seen before they are read.
//!
//! Behind each number stands one of five glyphs, the denser the greater; in colour, the background
//! says the same instead. Shades span the values of the whole map, from the least to the greatest,
//! and the legend names both. Where these two hardly differ, there are no shades.
//!
//! A map that is too wide is cut as tables are. One that would fall into too many parts, such as a
//! matrix of all cores, is drawn in glyphs alone: its pattern is seen, and a note says where the
//! numbers are.

use anstyle::{Ansi256Color, Style};
use model::page::{Align, HeatCell, HeatMap, Tone};

use super::grid::{Grid, GridColumn};
use super::line::{StyledLine, style};
use super::wrap::{char_width, longest_word, width, wrap};
use super::{WIDTHS, toned};
use crate::number;
use crate::shades::{Range, rows, value};

/// A cell of the map is several columns of the grid, as its pieces differ in colour.
const GRID: Grid = Grid { between: "", labels: 1 };

/// Over more parts than these, numbers cannot be compared by eye.
const PARTS_MAX: usize = 3;

/// Columns beside the number in its cell: a space before it and the glyph behind it.
const BESIDE: usize = 2;

/// Text of one style.
type Piece<'a> = (&'a str, Style);

const NOTHING: Piece<'static> = ("", Style::new());

/// A shade.
struct Shade {
    glyph: &'static str,
    /// From the part of the 256 colours that themes leave alone, as are black and white.
    colour: u8,
    /// Black or white, whichever is easier to read on that colour.
    ink: u8,
}

/// From the least to the greatest. Each colour is lighter than the one before, so that they are in
/// order also for those who see hues differently.
const LEVELS: [Shade; 5] = [
    Shade { glyph: "·", colour: 54, ink: WHITE },
    Shade { glyph: "░", colour: 25, ink: WHITE },
    Shade { glyph: "▒", colour: 30, ink: BLACK },
    Shade { glyph: "▓", colour: 71, ink: BLACK },
    Shade { glyph: "█", colour: 220, ink: BLACK },
];
const BLACK: u8 = 16;
const WHITE: u8 = 231;

/// Any value of a map without shades, where there are no numbers either.
const UNSHADED: &str = "=";

/// Stands before numbers of cells that are outlined.
const OUTLINED: &str = "=";

/// Words that have no room in a cell are named by these; those beyond the last share it.
const LETTERS: [&str; 27] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
    "t", "u", "v", "w", "x", "y", "z", "?",
];

impl Shade {
    fn paint(&self) -> Style {
        Ansi256Color(self.ink).on(Ansi256Color(self.colour))
    }

    /// Where the background says it, the glyph is there only for those who copy the text.
    fn hidden_glyph(&self) -> Piece<'static> {
        (self.glyph, Ansi256Color(self.colour).on(Ansi256Color(self.colour)))
    }

    /// Glyphs that stand alone are seen as such, in the colour of the greatest on that of the least:
    /// the denser, the nearer to the greatest. Absent cells are on the terminal's own background.
    fn lone_glyph(&self) -> Piece<'static> {
        let [least, .., greatest] = &LEVELS;
        (self.glyph, Ansi256Color(greatest.colour).on(Ansi256Color(least.colour)))
    }

    /// The glyph of that look, and how the words behind it in the legend are drawn.
    fn swatch(&self, look: CellStyle) -> (Piece<'static>, Style) {
        match look {
            CellStyle::Numbers => (self.hidden_glyph(), self.paint()),
            CellStyle::Glyphs { .. } => (self.lone_glyph(), Style::new()),
        }
    }
}

/// What the shades mean, or why there are none.
fn legend(range: &Range<'_>, unit: &str, look: CellStyle, limit: usize) -> Vec<StyledLine> {
    let Some(flat) = range.flat(unit) else { return shades(range, unit, look, limit) };
    let mark = if look == CellStyle::Numbers { "" } else { &format!("{UNSHADED} ") };
    toned(&format!("{mark}{flat}"), Tone::Faint, limit)
}

fn shades(range: &Range<'_>, unit: &str, look: CellStyle, limit: usize) -> Vec<StyledLine> {
    let item = |(index, level): (usize, &Shade)| {
        let from = || number::short(range.at(index as f64 / LEVELS.len() as f64));
        let words = match index {
            0 => format!(" from {}", range.least.1),
            _ if index + 1 == LEVELS.len() => format!(" from {} to {}", from(), range.greatest.1),
            _ => format!(" from {}", from()),
        };
        let (glyph, style) = level.swatch(look);
        (glyph, words, style)
    };
    let unit = range.unit(unit);
    let title = if unit.is_empty() { "shades:".to_owned() } else { format!("{unit}:") };
    let title = (NOTHING, title, style(Tone::Faint));
    flow(std::iter::once(title).chain(LEVELS.iter().enumerate().map(item)), limit)
}

/// The shade of a value, where there are shades.
fn level(range: &Range<'_>, value: f64) -> Option<&'static Shade> {
    let share = range.share(value)?;
    LEVELS.get((share * LEVELS.len() as f64) as usize).or(LEVELS.last())
}

/// What a cell says, number or word.
fn text(cell: &HeatCell) -> (&str, Tone) {
    match cell {
        HeatCell::Value { text, .. } => (text, Tone::Plain),
        HeatCell::Absent(text) => (&text.text, text.tone),
    }
}

/// How cells are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellStyle {
    /// Numbers with glyphs.
    Numbers,
    /// Glyphs alone: so many in a cell, and each takes so many columns.
    Glyphs { count: usize, width: usize },
}

/// The map with its caption above and its legend below.
pub(super) fn lines(map: &HeatMap, limit: usize) -> Vec<StyledLine> {
    let mut lines = toned(&map.caption, Tone::Plain, limit);
    let (look, parts) = fit(map, limit);
    let drawing = Drawing { map, look, range: Range::of(map), words: words(map) };
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            lines.push(StyledLine::default());
        }
        lines.extend(drawing.part(part, limit));
    }
    lines.extend(drawing.explanations(limit));
    lines.extend(
        map.legend.iter().chain(&map.notes).flat_map(|note| toned(note, Tone::Faint, limit)),
    );
    lines
}

/// How to draw the map in that width, and the columns of each part.
fn fit(map: &HeatMap, limit: usize) -> (CellStyle, Vec<Vec<GridColumn>>) {
    let numbers = Sizes::of(map, CellStyle::Numbers).parts(limit);
    if numbers.len() <= PARTS_MAX {
        return (CellStyle::Numbers, numbers);
    }
    // Column labels stand on end above the glyphs; some characters need two columns for that.
    let characters = map.columns.iter().flat_map(|label| label.chars());
    let width = characters.map(char_width).max().unwrap_or(0).max(1);
    // Two glyphs side by side are about as wide as high.
    let pairs = CellStyle::Glyphs { count: 2, width };
    let in_pairs = Sizes::of(map, pairs).parts(limit);
    if in_pairs.len() == 1 {
        return (pairs, in_pairs);
    }
    let look = CellStyle::Glyphs { count: 1, width };
    (look, Sizes::of(map, look).parts(limit))
}

/// All columns, as wide as they would be and as narrow as they can be.
struct Sizes {
    natural: Vec<GridColumn>,
    narrow: Vec<GridColumn>,
}

impl Sizes {
    fn of(map: &HeatMap, look: CellStyle) -> Self {
        let columns = |words| columns(map, look, words);
        Sizes { natural: columns(width), narrow: columns(longest_word) }
    }

    fn parts(&self, limit: usize) -> Vec<Vec<GridColumn>> {
        GRID.parts(&self.natural, &self.narrow, limit)
    }
}

/// The labels, and a column for each column of the map, with headers and words as wide as `words`
/// says.
fn columns(map: &HeatMap, look: CellStyle, words: fn(&str) -> usize) -> Vec<GridColumn> {
    let labels = rows(map).map(|row| width(&row.label)).max().unwrap_or(0);
    // A space keeps labels off the first cell.
    let labels = labels.max(words(&map.row_title)) + 1;
    let cell_width = |cell: &HeatCell| match value(cell) {
        Some((_, text)) => width(text),
        None => words(text(cell).0),
    };
    let column = |(index, header): (usize, &String)| {
        let widest = || rows(map).filter_map(|row| row.cells.get(index)).map(cell_width).max();
        let width = match look {
            CellStyle::Numbers => words(header).max(widest().unwrap_or(0)) + BESIDE,
            CellStyle::Glyphs { count, width } => count * width,
        };
        GridColumn { index: index + 1, width, align: Align::Right }
    };
    std::iter::once(GridColumn { index: 0, width: labels, align: Align::Left })
        .chain(map.columns.iter().enumerate().map(column))
        .collect()
}

/// The words of a map that have no room in a cell of glyphs, each once.
fn words(map: &HeatMap) -> Vec<&str> {
    let mut words = Vec::new();
    for cell in rows(map).flat_map(|row| &row.cells).filter(|cell| value(cell).is_none()) {
        let (word, _) = text(cell);
        if !is_mark(word) && words.len() < LETTERS.len() && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Whether a word has room in a cell of glyphs, and is not taken for a letter there.
fn is_mark(word: &str) -> bool {
    width(word) <= 1 && !word.contains(char::is_alphabetic)
}

/// The letter for the word at that place among the words.
fn letter(place: Option<usize>) -> &'static str {
    let last = LETTERS.len() - 1;
    LETTERS[place.unwrap_or(last).min(last)]
}

/// A map about to be drawn.
struct Drawing<'a> {
    map: &'a HeatMap,
    look: CellStyle,
    range: Option<Range<'a>>,
    words: Vec<&'a str>,
}

impl Drawing<'_> {
    fn part(&self, columns: &[GridColumn], limit: usize) -> Vec<StyledLine> {
        let pieces: Vec<GridColumn> =
            columns.iter().flat_map(|column| self.split(*column)).collect();
        let mut lines = self.column_title(columns, limit);
        let header = columns.iter().flat_map(|column| match column.index.checked_sub(1) {
            None => vec![(self.map.row_title.as_str(), style(Tone::Strong)), NOTHING],
            Some(index) => self.header(&self.map.columns[index]),
        });
        lines.extend(GRID.row(&pieces, header));
        lines.push(GRID.rule(&pieces));
        let mut number = 0..;
        for (place, group) in self.map.groups.iter().filter(|group| !group.is_empty()).enumerate() {
            if place > 0 {
                lines.push(StyledLine::default());
            }
            lines.extend(group.iter().zip(&mut number).flat_map(|(row, number)| {
                let cells = columns.iter().flat_map(|column| match column.index.checked_sub(1) {
                    None => vec![(row.label.as_str(), Style::new()), NOTHING],
                    Some(index) => {
                        let mark = self.map.is_outlined(number, index);
                        row.cells.get(index).map_or(vec![], |cell| self.cell(cell, mark))
                    }
                });
                GRID.row(&pieces, cells)
            }));
        }
        lines
    }

    /// The columns of the grid for the pieces of a cell.
    fn split(&self, column: GridColumn) -> Vec<GridColumn> {
        let widths = match self.look {
            _ if column.index == 0 => vec![column.width - 1, 1],
            CellStyle::Numbers => vec![1, column.width - BESIDE, 1],
            CellStyle::Glyphs { count, width } => vec![width; count],
        };
        widths.into_iter().map(|width| GridColumn { width, ..column }).collect()
    }

    /// Above the columns if it has room there.
    fn column_title(&self, columns: &[GridColumn], limit: usize) -> Vec<StyledLine> {
        let title = &self.map.column_title;
        let labels = columns.first().map_or(0, |labels| labels.width);
        let indent = if labels + width(title) <= limit { labels } else { 0 };
        let mut lines = Vec::new();
        for row in wrap(title, limit - indent).iter().filter(|row| !row.is_empty()) {
            let mut line = StyledLine::default();
            line.space(indent);
            line.push(row, style(Tone::Faint));
            lines.push(line);
        }
        lines
    }

    fn header<'b>(&self, label: &'b str) -> Vec<Piece<'b>> {
        let label = (label, style(Tone::Strong));
        match self.look {
            CellStyle::Numbers => vec![NOTHING, label, NOTHING],
            CellStyle::Glyphs { count, .. } => {
                std::iter::once(label).chain(vec![NOTHING; count - 1]).collect()
            }
        }
    }

    fn cell<'b>(&self, cell: &'b HeatCell, is_outlined: bool) -> Vec<Piece<'b>> {
        let before = if is_outlined { OUTLINED } else { " " };
        let (text, tone) = text(cell);
        let level = value(cell).map(|(value, _)| level(self.range.as_ref()?, value));
        match (self.look, level) {
            (CellStyle::Numbers, Some(Some(level))) => {
                vec![(before, level.paint()), (text, level.paint()), level.hidden_glyph()]
            }
            (CellStyle::Numbers, _) => vec![(before, style(tone)), (text, style(tone)), NOTHING],
            (CellStyle::Glyphs { count, .. }, Some(Some(level))) => vec![level.lone_glyph(); count],
            (CellStyle::Glyphs { count, .. }, Some(None)) => vec![(UNSHADED, Style::new()); count],
            (CellStyle::Glyphs { count, .. }, None) => {
                let place = self.words.iter().position(|word| *word == text);
                let short = if is_mark(text) { text } else { letter(place) };
                let rest = vec![NOTHING; count - 1];
                std::iter::once((short, style(tone))).chain(rest).collect()
            }
        }
    }

    /// What shades and letters mean, and what was left out.
    fn explanations(&self, limit: usize) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        if let Some(range) = &self.range {
            lines.extend(legend(range, &self.map.unit, self.look, limit));
        }
        if self.look == CellStyle::Numbers {
            let outline = self.map.outline.iter().filter(|outline| !outline.cells.is_empty());
            let meaning = outline.map(|outline| format!("{OUTLINED} {}", outline.meaning));
            lines.extend(meaning.flat_map(|text| toned(&text, Tone::Faint, limit)));
            return lines;
        }
        let words = self.words.iter().enumerate().map(|(place, word)| {
            let word = if place == LETTERS.len() - 1 { "other reasons" } else { word };
            (NOTHING, format!("{} {word}", letter(Some(place))), style(Tone::Faint))
        });
        lines.extend(flow(words, limit));
        let sizes = Sizes::of(self.map, CellStyle::Numbers);
        let mut widths = WIDTHS;
        let note = match widths.find(|width| sizes.parts(*width).len() <= PARTS_MAX) {
            Some(width) => format!("`--width {width}` shows the numbers"),
            None => "the numbers are in the record: `--format csv`".to_owned(),
        };
        lines.extend(toned(&note, Tone::Faint, limit));
        lines
    }
}

/// Glyphs, each with its words, one after another in as many lines as they need.
fn flow<'a>(
    items: impl Iterator<Item = (Piece<'a>, String, Style)>,
    limit: usize,
) -> Vec<StyledLine> {
    const GAP: usize = 2;
    let mut lines: Vec<StyledLine> = Vec::new();
    let mut used = 0;
    for ((glyph, its), words, style) in items {
        for (index, row) in wrap(&words, limit - width(glyph)).iter().enumerate() {
            let (glyph, its) = if index == 0 { (glyph, its) } else { NOTHING };
            let needed = width(glyph) + width(row);
            if lines.is_empty() || used + GAP + needed > limit {
                lines.push(StyledLine::default());
                used = 0;
            }
            let Some(line) = lines.last_mut() else { continue };
            if used > 0 {
                line.space(GAP);
                used += GAP;
            }
            line.push(glyph, its);
            line.push(row, style);
            used += needed;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of one of the 216 colours from 16 on, a cube with six steps an edge
    /// (WCAG 2.2, "relative luminance").
    fn luminance(colour: u8) -> f64 {
        let index = usize::from(colour - 16);
        let steps = [0.0, 95.0, 135.0, 175.0, 215.0, 255.0_f64];
        [(0.2126, index / 36), (0.7152, index / 6 % 6), (0.0722, index % 6)]
            .map(|(weight, step)| weight * ((steps[step] / 255.0 + 0.055) / 1.055).powf(2.4))
            .iter()
            .sum()
    }

    #[test]
    fn numbers_are_readable_on_every_shade() {
        for level in &LEVELS {
            let (a, b) = (luminance(level.colour), luminance(level.ink));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            // The least that WCAG 2.2 accepts for text.
            assert!(contrast >= 4.5, "{}: {contrast:.1}", level.colour);
        }
    }

    #[test]
    fn shades_are_in_order_without_their_hue() {
        let lights: Vec<f64> = LEVELS.iter().map(|level| luminance(level.colour)).collect();
        assert!(lights.windows(2).all(|pair| pair[0] * 1.5 < pair[1]), "{lights:?}");
    }
}
