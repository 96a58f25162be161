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

impl Page {
    /// What a reader sees before asking for more: nothing that is folded.
    #[must_use]
    pub fn top(&self) -> Page {
        let is_shown = |block: &&Block| !matches!(block, Block::Fold { .. });
        Page { blocks: self.blocks.iter().take_while(is_shown).cloned().collect() }
    }

    /// The same without notes under tables and maps; what belongs to a legend stays.
    #[must_use]
    pub fn without_notes(mut self) -> Page {
        for block in &mut self.blocks {
            match block {
                Block::Table(Table { notes, .. })
                | Block::Ruled(Ruled { notes, .. })
                | Block::HeatMap(HeatMap { notes, .. }) => notes.clear(),
                Block::Figures(figures) => figures.iter_mut().for_each(|it| it.why = None),
                _ => {}
            }
        }
        self
    }
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
    /// A part for readers who want more than the answer, up to the next one. Views hide it until it is asked for.
    Fold {
        /// Its heading.
        title: String,
        /// Whether it is shown where a reader can close it: something in it asks for attention.
        open: bool,
    },
    /// Key figures: one line each, or a card with a small picture.
    Figures(Vec<Figure>),
    /// Label and value pairs in a box.
    Box(Vec<(String, Text)>),
    /// Label and value pairs in groups, aligned over all of them: many facts on one screen.
    Groups(Vec<Vec<(String, Text)>>),
    /// A grade, and what it rests on.
    Badge {
        /// What is graded.
        label: String,
        /// The grade.
        grade: Text,
        /// What it rests on.
        reasons: String,
    },
    /// Running text.
    Paragraph(Text),
    /// Short sentences, one to a line.
    List(Vec<Text>),
    /// Remarks, each with a mark of its weight and a remedy.
    Remarks(Vec<Remark>),
    /// Remarks that ask for something: a line each, and one for the remedy, where room is short.
    Actions(Vec<Remark>),
    /// What to type next; only where somebody types.
    Hints(Vec<String>),
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
    /// Many numbers of each of several results; only where it can be drawn.
    Strips(StripPlot),
}

/// A key figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it is: `clock of 2 cores, scalar`.
    pub name: String,
    /// The value with its unit, or a word for its absence.
    pub value: Text,
    /// Half its 95 % interval, as a share of it: `± 0.3 %`.
    pub uncertainty: String,
    /// How it stands to what is normal for this core: `normal`, `12 % low`, `no reference`.
    pub standing: Text,
    /// What that rests on, or why there is no value.
    pub why: Option<String>,
    /// Where the value lies on a scale.
    pub strip: Option<Strip>,
    /// The same over numbers of active cores.
    pub curve: Vec<(f64, f64)>,
}

impl Figure {
    /// Figures as a table, each reason once below it.
    pub fn table(figures: &[Figure]) -> Table {
        let row = |figure: &Figure| {
            let Figure { name, value, uncertainty, standing, .. } = figure;
            vec![name.into(), value.clone(), uncertainty.into(), standing.clone()]
        };
        let has_empty =
            figures.iter().any(|it| it.uncertainty.is_empty() && it.value.text != "unavailable");
        let reasons = figures
            .iter()
            .filter_map(|figure| Some(format!("{}: {}", figure.name, figure.why.as_ref()?)));
        Table::of("")
            .left("figure")
            .right("value")
            .right("95 % ±")
            .left("is it normal?")
            .rows(figures.iter().map(row))
            .legend(reasons.chain(
                has_empty.then(|| "no ±: single events, or a plateau of several sizes".to_owned()),
            ))
    }
}

/// Where a value lies, all ends in one unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Strip {
    /// The value.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The range that is normal.
    pub expected: [f64; 2],
    /// The same as people read it.
    pub range: String,
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

/// Results that many machines have, each as a row of marks.
#[derive(Debug, Clone, PartialEq)]
pub struct StripPlot {
    /// What is shown.
    pub caption: String,
    /// The results.
    pub rows: Vec<StripRow>,
}

/// A result of many machines.
#[derive(Debug, Clone, PartialEq)]
pub struct StripRow {
    /// What it is, and which direction is better.
    pub name: String,
    /// Its numbers; what lies close together may be one mark.
    pub marks: Vec<StripMark>,
}

/// One number, or several that are nearly the same.
#[derive(Debug, Clone, PartialEq)]
pub struct StripMark {
    /// The number over the usual one.
    pub ratio: f64,
    /// Whose it is, and the number with its unit.
    pub name: String,
    /// Whether it asks for attention.
    pub stands_out: bool,
    /// A page about it.
    pub link: Option<String>,
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

    /// With the mark of a number that rests on disturbed blocks alone, if it does.
    #[must_use]
    pub fn doubted(mut self, is_doubtful: bool) -> Text {
        if is_doubtful {
            self.text.push_str(DOUBT);
        }
        self
    }
}

/// What stands behind a number that rests on disturbed blocks alone.
pub const DOUBT: &str = "~";

/// What that mark means, where some of these cells have it.
pub fn doubts(rows: &[Vec<Text>]) -> Option<String> {
    let is_marked = |cell: &Text| cell.text.len() > DOUBT.len() && cell.text.ends_with(DOUBT);
    let any = rows.iter().flatten().any(is_marked);
    any.then(|| format!("{DOUBT}: of disturbed blocks alone; more `--budget` may give others"))
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
    /// What its cells need: the meaning of a mark, why a cell is empty, what is left out.
    pub legend: Vec<String>,
    /// Sources and methods, for who asks for them.
    pub notes: Vec<String>,
}

impl Table {
    /// One without columns and rows, by what it shows, with units and which direction is better.
    #[must_use]
    pub fn of(caption: impl Into<String>) -> Table {
        Table {
            caption: caption.into(),
            columns: Vec::new(),
            rows: Vec::new(),
            legend: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// With another column of words that say which row it is.
    #[must_use]
    pub fn label(self, name: impl Into<String>) -> Table {
        self.column(name, Align::Label)
    }

    /// With another column of words.
    #[must_use]
    pub fn left(self, name: impl Into<String>) -> Table {
        self.column(name, Align::Left)
    }

    /// With another column of words that may take several lines.
    #[must_use]
    pub fn folded(self, name: impl Into<String>) -> Table {
        self.column(name, Align::Folded)
    }

    /// With another column of numbers.
    #[must_use]
    pub fn right(self, name: impl Into<String>) -> Table {
        self.column(name, Align::Right)
    }

    /// With another column.
    #[must_use]
    pub fn column(self, name: impl Into<String>, align: Align) -> Table {
        self.columns([(name, align)])
    }

    /// With more columns.
    #[must_use]
    pub fn columns(
        mut self,
        columns: impl IntoIterator<Item = (impl Into<String>, Align)>,
    ) -> Table {
        self.columns.extend(columns.into_iter().map(|(name, align)| (name.into(), align)));
        self
    }

    /// With more rows.
    #[must_use]
    pub fn rows(mut self, rows: impl IntoIterator<Item = Vec<Text>>) -> Table {
        self.rows.extend(rows);
        if self.legend.iter().all(|line| !line.starts_with(DOUBT)) {
            self.legend.extend(doubts(&self.rows));
        }
        self
    }

    /// With more that its cells need.
    #[must_use]
    pub fn legend(mut self, legend: impl IntoIterator<Item = impl Into<String>>) -> Table {
        self.legend.extend(legend.into_iter().map(Into::into));
        self
    }

    /// With more sources and methods.
    #[must_use]
    pub fn notes(mut self, notes: impl IntoIterator<Item = impl Into<String>>) -> Table {
        self.notes.extend(notes.into_iter().map(Into::into));
        self
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Block {
        Block::Table(table)
    }
}

/// Tables of one form under one another. As text, columns stand between ` | ` and nothing else is in
/// a line, so that scripts can split it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled {
    /// What they show, with units and which direction is better.
    pub caption: String,
    /// Headers with their alignment, above each table.
    pub columns: Vec<(String, Align)>,
    /// Places of columns that may be left out where the page is narrow, the first to go first; all others that do not
    /// fit stand in a further table below.
    pub optional: Vec<usize>,
    /// The rows of each table, with as many cells as there are columns.
    pub parts: Vec<Vec<Vec<Text>>>,
    /// What its cells need: the meaning of a mark, why a cell is empty, what is left out.
    pub legend: Vec<String>,
    /// Sources and methods, for who asks for them.
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
    /// What its cells need: why a cell is empty, what is left out.
    pub legend: Vec<String>,
    /// Sources and methods, for who asks for them.
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
            Unit::Hertz
            | Unit::Second
            | Unit::PerSecond
            | Unit::FlopPerSecond
            | Unit::BytePerSecond
            | Unit::Watt => prefixed(value, unit.symbol()),
            Unit::SecondPerOp => prefixed(value, "s"),
            // As makers and firmware write it.
            Unit::TransferPerSecond => format!("{:.0} MT/s", value / 1e6),
            Unit::CyclePerOp | Unit::Cycle => format!("{value:.2}"),
            Unit::One => format!("{:.2} %", value * 100.0),
            Unit::Count => format!("{value:.0}"),
            Unit::Byte => bytes(value),
            Unit::Celsius => format!("{value:.0} °C"),
        }
    }

    /// How long something ran that people wait for: `41.30 s`, and from five minutes on `20 min`, `20 min 34 s`,
    /// `3 h 20 min`.
    pub fn run_length(seconds: f64) -> String {
        const MINUTES_FROM: f64 = 300.0;
        const HOURS_FROM: f64 = 3600.0;
        let two = |whole: f64, name: &str, rest: f64, finer: &str| match rest {
            0.0 => format!("{whole:.0} {name}"),
            rest => format!("{whole:.0} {name} {rest:.0} {finer}"),
        };
        let (rounded, minutes) = (seconds.round(), (seconds / 60.0).round());
        match seconds {
            s if s >= HOURS_FROM => two((minutes / 60.0).floor(), "h", minutes % 60.0, "min"),
            s if s >= MINUTES_FROM => two((rounded / 60.0).floor(), "min", rounded % 60.0, "s"),
            _ => format(seconds, Unit::Second),
        }
    }

    fn prefixed(value: f64, symbol: &str) -> String {
        const PREFIXES: [(f64, &str); 8] = [
            (1e12, "T"),
            (1e9, "G"),
            (1e6, "M"),
            (1e3, "k"),
            (1.0, ""),
            (1e-3, "m"),
            (1e-6, "u"),
            (1e-9, "n"),
        ];
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
        fn people_wait_for_minutes() {
            for (seconds, text) in [
                (0.25, "250.0 ms"),
                (120.04, "120.0 s"),
                (300.0, "5 min"),
                (1200.03, "20 min"),
                (1234.4, "20 min 34 s"),
                (3599.7, "60 min"),
                (3600.0, "1 h"),
                (12_010.0, "3 h 20 min"),
            ] {
                assert_eq!(run_length(seconds), text);
            }
        }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_to_a_table_stands_in_the_order_of_calls() {
        let row = |words: [&str; 5]| words.map(Text::from).to_vec();
        let table = Table::of("clocks")
            .label("core")
            .columns(Some(("kind", Align::Left)))
            .columns(None::<(String, Align)>)
            .left("stream")
            .folded("why")
            .right("MHz")
            .rows([row(["0", "P", "scalar", "-", "3600"])])
            .rows([row(["1", "P", "scalar", "-", "3500"])])
            .notes(Some("as probed"))
            .notes(vec!["alone".to_owned()]);
        let columns = [
            ("core", Align::Label),
            ("kind", Align::Left),
            ("stream", Align::Left),
            ("why", Align::Folded),
            ("MHz", Align::Right),
        ];
        assert_eq!(table.caption, "clocks");
        assert_eq!(table.columns, columns.map(|(name, align)| (name.to_owned(), align)));
        assert_eq!(table.rows.iter().map(|row| &*row[0].text).collect::<Vec<_>>(), ["0", "1"]);
        assert_eq!(table.notes, ["as probed", "alone"]);
        assert_eq!(Block::from(table.clone()), Block::Table(table));
    }
}
