//! Holds a page against rules: what has a number must have a rule, and stand as the rule calculates it.

use super::page::{HEADING, Page, Part, Table, What, has_digit, matches};
use super::record::Record;
use super::stats::{greatest, least, short, short_bytes};

/// How a block of the page is calculated again. For a new block, add one of these to the list of its area.
pub(crate) enum Rule {
    /// Lines that begin, go on and end as the template: all of them, in any order.
    Lines { area: &'static str, section: &'static str, template: &'static str, want: Lines },
    /// Tables with such a caption, in order.
    Tables { area: &'static str, section: &'static str, template: &'static str, want: Tables },
    /// Plots, which are tables in Markdown.
    Plots { area: &'static str, section: &'static str, template: &'static str, want: Plots },
}

/// The section of sentences, which areas put above all or into their own part: each is checked where it stands.
pub(crate) const ANYWHERE: &str = "{}";

pub(crate) type Lines = fn(&Record) -> Vec<String>;
pub(crate) type Tables = fn(&Record) -> Vec<Table>;
pub(crate) type Plots = fn(&Record) -> Vec<Plot>;

/// Something on the page that is not what the record gives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Failure {
    pub(crate) area: &'static str,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(area: &'static str, text: impl Into<String>) -> Failure {
        Failure { area, text: text.into() }
    }
}

/// What blocks without a rule are failures of.
pub(crate) const WITHOUT: &str = "no rule";

/// A table with that caption.
pub(crate) fn table(caption: impl Into<String>, columns: &[&str], rows: Vec<Vec<String>>) -> Table {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    Table { caption: caption.into(), columns, rows }
}

/// Lines over a numeric axis.
pub(crate) struct Plot {
    pub(crate) caption: String,
    /// What stands beside the axes.
    pub(crate) x: String,
    pub(crate) y: String,
    /// Whether the horizontal axis has bytes.
    pub(crate) bytes: bool,
    /// Names of places on it, which stand in a line below.
    pub(crate) marks: Vec<String>,
    /// Name and points of each line.
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Plot {
    pub(crate) fn new(caption: impl Into<String>, [x, y]: [&str; 2], lines: Lined) -> Plot {
        let (x, y) = (x.to_owned(), y.to_owned());
        Plot { caption: caption.into(), x, y, bytes: false, marks: Vec::new(), lines }
    }

    /// A place on the horizontal axis.
    pub(crate) fn place(&self, x: f64) -> String {
        if self.bytes { short_bytes(x) } else { short(x) }
    }

    /// Every point of up to twelve places, of more the ends and the extremes of each line.
    fn listed(&self) -> Table {
        const LISTED_MAX: usize = 12;
        let Plot { caption, x, y, lines, .. } = self;
        let mut places: Vec<f64> = lines.iter().flat_map(|line| &line.1).map(|it| it.0).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        if places.len() > LISTED_MAX {
            let row = |(name, points): &(String, Vec<(f64, f64)>)| {
                let values: Vec<f64> = points.iter().map(|point| point.1).collect();
                let ends = [values.first().copied(), values.last().copied()];
                let numbers = ends.into_iter().chain([least(&values), greatest(&values)]);
                let numbers = numbers.map(|it| it.map(short).unwrap_or_default());
                [name.clone(), points.len().to_string()].into_iter().chain(numbers).collect()
            };
            let columns = ["", "points", "first", "last", "min", "max"];
            let caption = format!("{caption} ({y} over {x})");
            return table(caption, &columns, lines.iter().map(row).collect());
        }
        let row = |place: &f64| {
            let of = |line: &(String, Vec<(f64, f64)>)| {
                let point = line.1.iter().find(|point| point.0.total_cmp(place).is_eq());
                point.map(|point| short(point.1)).unwrap_or_default()
            };
            std::iter::once(self.place(*place)).chain(lines.iter().map(of)).collect()
        };
        let names = lines.iter().map(|line| line.0.as_str());
        let columns: Vec<&str> = std::iter::once(x.as_str()).chain(names).collect();
        table(format!("{caption} ({y})"), &columns, places.iter().map(row).collect())
    }
}

/// The lines below plots that name places.
pub(crate) fn marks(plots: Vec<Plot>) -> Vec<String> {
    let named = plots.into_iter().filter(|plot| !plot.marks.is_empty());
    named.map(|plot| plot.marks.join("; ")).collect()
}

/// The lines of a plot.
pub(crate) type Lined = Vec<(String, Vec<(f64, f64)>)>;

/// Everything that is wrong with a page.
pub(crate) fn page(page: &Page, record: &Record, rules: &[&Rule]) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut ruled = vec![false; page.parts.len()];
    for rule in rules {
        let (section, template) = rule.place();
        let is_mine = |part: &Part| {
            let words = match &part.what {
                What::Line(text) => (matches!(rule, Rule::Lines { .. })).then_some(text),
                What::Table(table) => {
                    (!matches!(rule, Rule::Lines { .. })).then_some(&table.caption)
                }
            };
            let of_kind =
                |words: &String| words.starts_with(HEADING) == template.starts_with(HEADING);
            matches(section, &part.section)
                && words.is_some_and(|words| of_kind(words) && matches(template, words))
        };
        let mut mine = Vec::new();
        for (part, ruled) in page.parts.iter().zip(&mut ruled) {
            // The first rule that fits has it.
            if !*ruled && is_mine(part) {
                *ruled = true;
                mine.push(&part.what);
            }
        }
        rule.check(record, &mine, &mut failures);
    }
    for (part, _) in page.parts.iter().zip(ruled).filter(|(_, ruled)| !ruled) {
        let (words, has_number) = match &part.what {
            What::Line(text) => (text, has_digit(text)),
            What::Table(table) => {
                (&table.caption, table.rows.iter().flatten().any(|c| has_digit(c)))
            }
        };
        if has_number {
            let text = format!("{} has numbers without a rule: {words:?}", part.section);
            failures.push(Failure::new(WITHOUT, text));
        }
    }
    failures
}

impl Rule {
    fn place(&self) -> (&'static str, &'static str) {
        match self {
            Rule::Lines { section, template, .. }
            | Rule::Tables { section, template, .. }
            | Rule::Plots { section, template, .. } => (section, template),
        }
    }

    fn check(&self, record: &Record, mine: &[&What], failures: &mut Vec<Failure>) {
        let tables = || {
            mine.iter().filter_map(|what| if let What::Table(it) = what { Some(it) } else { None })
        };
        let mut hold = |area, section, template, wanted: &[Table]| {
            let found = tables().count();
            if wanted.len() != found {
                let text = format!("{found} on the page, the record gives {}", wanted.len());
                failures.push(Failure::new(area, format!("{section}, {template:?}: {text}")));
            }
            for (said, wanted) in tables().zip(wanted) {
                let of =
                    |text| Failure::new(area, format!("{section}, {:?}: {text}", said.caption));
                failures.extend(differences(said, wanted).into_iter().map(of));
            }
        };
        match self {
            Rule::Lines { area, section, want, .. } => {
                let mut fail = |text| failures.push(Failure::new(area, text));
                let mut wanted = want(record);
                for what in mine {
                    let What::Line(said) = what else { continue };
                    match wanted.iter().position(|wanted| wanted == said) {
                        Some(place) => drop(wanted.remove(place)),
                        None => fail(format!(
                            "{section}: the page says {said:?}, the record gives {wanted:?}"
                        )),
                    }
                }
                if !wanted.is_empty() && *section != ANYWHERE {
                    fail(format!("{section}: the page does not say {wanted:?}"));
                }
            }
            Rule::Tables { area, section, template, want } => {
                hold(area, section, template, &want(record));
            }
            Rule::Plots { area, section, template, want } => {
                let tables: Vec<Table> = want(record).iter().map(Plot::listed).collect();
                hold(area, section, template, &tables);
            }
        }
    }
}

/// Cell by cell, by the label of the row and the header of the column.
fn differences(said: &Table, wanted: &Table) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, said: &dyn std::fmt::Debug, wanted: &dyn std::fmt::Debug| {
        found.push(format!("{what}: the page says {said:?}, the record gives {wanted:?}"));
    };
    if said.caption != wanted.caption {
        differ("caption", &said.caption, &wanted.caption);
    }
    if said.columns != wanted.columns {
        differ("columns", &said.columns, &wanted.columns);
    }
    if said.rows.len() != wanted.rows.len() {
        differ("rows", &said.rows, &wanted.rows);
    }
    for (said_row, wanted_row) in said.rows.iter().zip(&wanted.rows) {
        let label = said_row.first().map_or("", String::as_str);
        if said_row.len() != wanted_row.len() {
            differ(label, said_row, wanted_row);
        }
        for (place, (cell, wanted)) in said_row.iter().zip(wanted_row).enumerate() {
            if cell != wanted {
                let column = said.columns.get(place).map_or("", String::as_str);
                differ(&format!("row {label:?}, column {column:?}"), cell, wanted);
            }
        }
    }
    found
}
