//! The page: what a reader is told, before anybody decides how it looks.
//!
//! Areas turn records into blocks (tables, plots, sentences); views turn blocks into text, Markdown
//! or HTML. Numbers are already rounded and carry their prefix here, so that every view prints the
//! same ones.

use std::collections::BTreeSet;

use crate::{Finding, Severity};

/// `1 package`, `2 packages`.
pub fn tally(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A whole page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Its blocks, top to bottom.
    pub blocks: Vec<Block>,
}

/// How a piece of text is meant. Views may colour by it; no meaning rests on colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// As usual.
    #[default]
    Plain,
    /// Of less weight.
    Faint,
    /// Better than it might be.
    Good,
    /// To be careful with.
    Warning,
    /// Not to be relied on.
    Serious,
    /// The one to look at.
    Strong,
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// The page's title, with a line under it.
    Title {
        /// The title.
        text: String,
        /// What stands under it.
        subtitle: String,
    },
    /// A heading.
    Heading(String),
    /// All that follows is for who wants more than a top, and is called so. A view that can hides it until
    /// it is asked for.
    Fold(String),
    /// Label and value pairs in a box.
    Box(Vec<(String, Text)>),
    /// Label and value pairs in groups, aligned over all of them: many facts on one screen.
    Groups(Vec<Vec<(String, Text)>>),
    /// Running text.
    Paragraph(Text),
    /// Short sentences, one to a line.
    List(Vec<Text>),
    /// Remarks, each with a mark of its weight and a remedy.
    Remarks(Vec<Remark>),
    /// A table.
    Table(Table),
    /// Tables of one form, which scripts can split.
    Ruled(Ruled),
    /// Numbers over rows and columns, shaded by their size.
    HeatMap(HeatMap),
    /// Horizontal bars.
    Bars(Bars),
    /// Lines over a numeric axis.
    Lines(Lines),
    /// A few results of several records, as lines from one to the next; only where it can be drawn.
    Slopes(Slopes),
}

/// Results of several records beside one another.
#[derive(Debug, Clone, PartialEq)]
pub struct Slopes {
    /// What is shown, and which direction is better.
    pub caption: String,
    /// The records.
    pub columns: Vec<String>,
    /// The results.
    pub lines: Vec<Slope>,
}

/// A result in several records.
#[derive(Debug, Clone, PartialEq)]
pub struct Slope {
    /// What it is.
    pub name: String,
    /// Each record's number, the first record's first; `None` where one has none.
    pub ends: Vec<Option<SlopeEnd>>,
}

/// A result in one record.
#[derive(Debug, Clone, PartialEq)]
pub struct SlopeEnd {
    /// The number over that of the first record.
    pub ratio: f64,
    /// The number with its unit.
    pub number: String,
}

/// A piece of text with its tone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// The text.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
}

impl Text {
    /// Text of that tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Text { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Text { text: text.into(), tone: Tone::Plain }
    }
}

/// A remark with its weight and remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The word in front: `warning`, `not measured`.
    pub mark: Text,
    /// What it is about.
    pub about: String,
    /// What was seen.
    pub text: String,
    /// What would help.
    pub remedy: Option<String>,
}

impl From<&Finding> for Remark {
    fn from(finding: &Finding) -> Remark {
        let tone = match finding.severity {
            Severity::Serious => Tone::Serious,
            Severity::Warning => Tone::Warning,
            Severity::Note => Tone::Faint,
        };
        Remark {
            mark: Text::toned(finding.severity.word(), tone),
            about: finding.about.clone(),
            text: match &finding.cause {
                Some(cause) => format!("{}; likely because {cause}", finding.text),
                None => finding.text.clone(),
            },
            remedy: match (&finding.remedy, &finding.gain) {
                (Some(remedy), Some(gain)) => Some(format!("{remedy} (expected: {gain})")),
                (remedy, _) => remedy.clone(),
            },
        }
    }
}

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words that say which row it is, when one column of them is not enough: they stand first, and
    /// again where a table is cut.
    Label,
    /// Words.
    Left,
    /// Words that rather take several lines than have the table cut.
    Folded,
    /// Numbers.
    Right,
}

/// A table. Every row has as many cells as there are columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows, with units and which direction is better.
    pub caption: String,
    /// Headers with their alignment.
    pub columns: Vec<(String, Align)>,
    /// Rows of cells.
    pub rows: Vec<Vec<Text>>,
    /// Remarks under the table, such as what a mark means.
    pub notes: Vec<String>,
}

/// Tables of one form under one another. As text, columns stand between ` | ` and nothing else is in
/// a line, so that scripts can split it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled {
    /// What they show, with units and which direction is better.
    pub caption: String,
    /// Headers with their alignment, above each table.
    pub columns: Vec<(String, Align)>,
    /// Places of columns that may be left out where the page is narrow, the first to go first.
    pub optional: Vec<usize>,
    /// The rows of each table, with as many cells as there are columns.
    pub parts: Vec<Vec<Vec<Text>>>,
    /// Remarks under the last table.
    pub notes: Vec<String>,
}

/// Numbers of one unit over rows and columns, shaded from the least to the greatest of the map.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// What it shows, with unit and which direction is better.
    pub caption: String,
    /// The unit of all cells, for what they say and for the legend of the shades.
    pub unit: String,
    /// What the rows are, as the header of their labels: `stream`.
    pub row_title: String,
    /// What the columns are: `active cores`.
    pub column_title: String,
    /// Labels of the columns.
    pub columns: Vec<String>,
    /// Rows in groups, with a gap between groups.
    pub groups: Vec<Vec<HeatRow>>,
    /// Values are losses, and texts are something else; none: texts say the values, and shades span them all.
    pub shaded_from: Option<Losses>,
    /// Cells that stand out, and why.
    pub outline: Option<Outline>,
    /// Remarks under the map.
    pub notes: Vec<String>,
}

/// What is shaded where cells say something else, such as the change that is a loss: from 0 on.
#[derive(Debug, Clone, PartialEq)]
pub struct Losses {
    /// There are no shades where no value exceeds this one.
    pub noise: f64,
    /// The greatest value, as the legend says it.
    pub greatest: String,
    /// The unit of the values: `% lost`.
    pub unit: String,
}

/// Cells of a heat map that have something in common beside their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// What they have in common.
    pub meaning: String,
    /// The cells, by row (over all groups) and column.
    pub cells: BTreeSet<(usize, usize)>,
}

impl HeatMap {
    /// Whether the cell of that row (over all groups) and column stands out.
    pub fn is_outlined(&self, row: usize, column: usize) -> bool {
        self.outline.as_ref().is_some_and(|outline| outline.cells.contains(&(row, column)))
    }
}

/// A row of a heat map. It has as many cells as there are columns.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatRow {
    /// What it is.
    pub label: String,
    /// A cell for each column.
    pub cells: Vec<HeatCell>,
}

/// A cell of a heat map.
#[derive(Debug, Clone, PartialEq)]
pub enum HeatCell {
    /// There is a value.
    Value {
        /// Its size in the unit of the map, by which it is shaded.
        value: f64,
        /// The value as text, rounded, without its unit.
        text: String,
    },
    /// There is none, and this word says why; it is never shaded.
    Absent(Text),
}

/// Horizontal bars: one label and one value each.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// What they show, with unit and which direction is better.
    pub caption: String,
    /// Bars, top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is.
    pub label: String,
    /// Where it begins, in the unit of the caption: at zero, but for what is a part of others.
    pub from: f64,
    /// Where it ends.
    pub value: f64,
    /// The value, or what lies between both, as text, with its unit.
    pub text: String,
}

/// Lines over a numeric axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// What they show.
    pub caption: String,
    /// The horizontal axis: name with unit.
    pub x: String,
    /// The vertical axis: name with unit.
    pub y: String,
    /// How the horizontal axis is divided.
    pub x_scale: Scale,
    /// How the vertical axis is divided.
    pub y_scale: Scale,
    /// Points of a line that lie farther apart than this along the horizontal axis are not joined: nothing is known
    /// of what lies between. None: all are.
    pub reach: Option<f64>,
    /// The lines: name and points.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
    /// Places on the horizontal axis that have a name.
    pub marks: Vec<Mark>,
}

impl Lines {
    /// The pieces of a line whose points are joined.
    pub fn pieces<'a>(
        &self,
        points: &'a [(f64, f64)],
    ) -> impl Iterator<Item = &'a [(f64, f64)]> + use<'a> {
        let reach = self.reach;
        points.chunk_by(move |a, b| reach.is_none_or(|reach| b.0 - a.0 <= reach))
    }
}

/// A place on the horizontal axis of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Where, in the unit of the axis.
    pub at: f64,
    /// What is there, with its number and unit where they matter.
    pub text: String,
}

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By its logarithm; only positive numbers have a place on it.
    Logarithmic,
    /// By the logarithm of numbers of bytes: 4K, 64K, 1M.
    Bytes,
}

/// Numbers with prefixes, for people.
pub mod si {
    use crate::quantity::Unit;

    /// `2.593 GHz`, `41.3 ns`, `0.12 %`: four significant digits and the SI prefix that fits.
    pub fn format(value: f64, unit: Unit) -> String {
        match unit {
            Unit::Hertz | Unit::Second | Unit::PerSecond | Unit::BytePerSecond | Unit::Watt => {
                prefixed(value, unit.symbol())
            }
            Unit::SecondPerOp => prefixed(value, "s"),
            Unit::CyclePerOp | Unit::Cycle => format!("{value:.2}"),
            Unit::One => format!("{:.2} %", value * 100.0),
            Unit::Count => format!("{value:.0}"),
            Unit::Byte => bytes(value),
            Unit::Celsius => format!("{value:.0} °C"),
        }
    }

    fn prefixed(value: f64, symbol: &str) -> String {
        const PREFIXES: [(f64, &str); 7] =
            [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")];
        if value == 0.0 {
            return format!("0 {symbol}");
        }
        let (scale, prefix) = PREFIXES
            .into_iter()
            .find(|(scale, _)| value.abs() >= *scale * 0.999_95)
            .unwrap_or((1e-9, "n"));
        let scaled = value / scale;
        let decimals = match scaled.abs() {
            v if v >= 99.995 => 1,
            v if v >= 9.9995 => 2,
            _ => 3,
        };
        format!("{scaled:.decimals$} {prefix}{symbol}")
    }

    /// Memory sizes use powers of 1,024, as caches and DIMMs do.
    fn bytes(value: f64) -> String {
        const STEPS: [(f64, &str); 4] = [
            (1024.0 * 1024.0 * 1024.0, "GiB"),
            (1024.0 * 1024.0, "MiB"),
            (1024.0, "KiB"),
            (1.0, "B"),
        ];
        let (scale, name) = STEPS.into_iter().find(|s| value >= s.0).unwrap_or((1.0, "B"));
        let scaled = value / scale;
        let whole = (scaled - scaled.round()).abs() < 0.05;
        // Halves go up, as people round: 1.25 is 1.3.
        let tenths = (scaled * 10.0).round() / 10.0;
        if whole { format!("{scaled:.0} {name}") } else { format!("{tenths:.1} {name}") }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn prefixes_fit() {
            assert_eq!(format(2.5934e9, Unit::Hertz), "2.593 GHz");
            assert_eq!(format(41.26e-9, Unit::SecondPerOp), "41.26 ns");
            assert_eq!(format(0.999_99e-6, Unit::Second), "1.000 us");
            assert_eq!(format(0.0, Unit::Second), "0 s");
            assert_eq!(format(0.0012, Unit::One), "0.12 %");
            assert_eq!(format(32.0 * 1024.0, Unit::Byte), "32 KiB");
        }
    }
}
