//! The page as HTML: the tables that Markdown has, and the points of its plots.

use super::check::{Failure, Plot, Rule};
use super::page::{Page, matches};
use super::record::Record;
use super::stats::short;

const HTML: &str = "html";

/// Points of a line that show their value at most.
const MARKS_MAX: usize = 120;

/// A figure: its caption, and the texts of its cells or bars, row by row.
struct Figure {
    caption: String,
    rows: Vec<Vec<String>>,
    points: Vec<String>,
}

/// What stands between `<name ...>` and its end, each time.
fn within<'a>(html: &'a str, name: &str) -> Vec<(&'a str, &'a str)> {
    let (begin, end) = (format!("<{name}"), format!("</{name}>"));
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(place) = rest.find(&begin) {
        rest = &rest[place + begin.len()..];
        // Not the beginning of another name.
        if !rest.starts_with([' ', '>']) {
            continue;
        }
        let (Some(open), Some(close)) = (rest.find('>'), rest.find(&end)) else { break };
        found.push((&rest[..open], &rest[open + 1..close]));
        rest = &rest[close + end.len()..];
    }
    found
}

fn seen(html: &str) -> String {
    // As it is in Markdown.
    let html = html.replace("<code>", "`").replace("</code>", "`");
    let mut text = String::new();
    let mut in_tag = false;
    for letter in html.chars() {
        match letter {
            '<' => in_tag = true,
            '>' => in_tag = false,
            _ if !in_tag => text.push(letter),
            _ => {}
        }
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&#39;", "'").replace("&amp;", "&")
}

/// The text of a cell; where it is too small for one, what shows while the pointer rests on it.
fn cell((attributes, inner): (&str, &str)) -> String {
    let text = seen(inner);
    let hover = attributes.split_once("title=\"").and_then(|(_, it)| it.split('"').next());
    match hover {
        Some(hover) if text.is_empty() => {
            let hover = seen(hover);
            let value = hover.rsplit_once(": ").map_or(hover.as_str(), |it| it.1);
            value.split(' ').next().unwrap_or_default().to_owned()
        }
        _ => text,
    }
}

fn figures(html: &str) -> Vec<Figure> {
    let figure = |(_, inner): (&str, &str)| {
        let caption = within(inner, "figcaption").first().map_or(String::new(), |it| seen(it.1));
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (_, body) in within(inner, "tbody") {
            for (_, row) in within(body, "tr") {
                let label = within(row, "th").into_iter().map(cell);
                rows.push(label.chain(within(row, "td").into_iter().map(cell)).collect());
            }
        }
        let spans = within(inner, "span");
        let of = |class: &str| {
            let mine = spans.iter().filter(|it| it.0.contains(&format!("class=\"{class}\"")));
            mine.map(|it| seen(it.1)).collect::<Vec<_>>()
        };
        let bars = of("name").into_iter().zip(of("value"));
        rows.extend(bars.map(|(name, value)| vec![name, value]));
        let circles = within(inner, "circle");
        let points = circles.iter().flat_map(|it| within(it.1, "title")).map(|it| seen(it.1));
        Figure { caption, rows, points: points.collect() }
    };
    within(html, "figure").into_iter().map(figure).collect()
}

/// Holds the tables against those of Markdown, and the points against the record.
pub(crate) fn check(html: &str, page: &Page, record: &Record, rules: &[&Rule]) -> Vec<Failure> {
    let mut failures = Vec::new();
    let figures = figures(html);
    let mut drawn = 0;
    for rule in rules {
        let Rule::Plots { want, area, .. } = rule else { continue };
        for plot in want(record) {
            drawn += 1;
            let mine =
                figures.iter().find(|it| it.caption == plot.caption && !it.points.is_empty());
            let Some(mine) = mine else {
                failures.push(Failure::new(area, format!("HTML has no plot {:?}", plot.caption)));
                continue;
            };
            for (said, wanted) in differences(&mine.points, &points(&plot)) {
                let text = format!(
                    "HTML, {:?}: a point says {said:?}, the record gives {wanted:?}",
                    plot.caption
                );
                failures.push(Failure::new(area, text));
            }
        }
    }
    let plots = figures.iter().filter(|it| !it.points.is_empty()).count();
    if plots != drawn {
        failures.push(Failure::new(HTML, format!("{plots} plots, {drawn} have a rule")));
    }
    // Plots have no table in HTML, and boxes no figure.
    let is_plot = |caption: &str| {
        let plotted = |rule: &&Rule| matches!(rule, Rule::Plots { template, .. } if matches(template, caption));
        rules.iter().any(plotted)
    };
    let mut left: Vec<&Figure> = figures.iter().filter(|it| it.points.is_empty()).collect();
    for table in page.tables().filter(|it| !it.caption.is_empty() && !is_plot(&it.caption)) {
        let is = |it: &&Figure| {
            let more = table.caption.strip_prefix(&it.caption);
            more.is_some_and(|more| more.is_empty() || more.starts_with(" ("))
        };
        match left.iter().position(is) {
            Some(place) => {
                let figure = left.remove(place);
                for (said, wanted) in differences(&figure.rows, &table.rows) {
                    let text =
                        format!("{:?}: HTML has {said:?}, Markdown {wanted:?}", table.caption);
                    failures.push(Failure::new(HTML, text));
                }
            }
            None => failures.push(Failure::new(HTML, format!("no figure {:?}", table.caption))),
        }
    }
    for figure in left {
        failures.push(Failure::new(HTML, format!("Markdown has no table {:?}", figure.caption)));
    }
    failures
}

/// What the points of a plot say: of many points every so-manieth.
fn points(plot: &Plot) -> Vec<String> {
    let mut words = Vec::new();
    for (name, points) in &plot.lines {
        let step = points.len().div_ceil(MARKS_MAX).max(1);
        for (x, y) in points.iter().step_by(step) {
            let (x, y) = (plot.place(*x), short(*y));
            words.push(format!("{name}: {y} ({}) at {x} ({})", plot.y, plot.x));
        }
    }
    words
}

fn differences<'a, T: PartialEq>(
    said: &'a [T],
    wanted: &'a [T],
) -> Vec<(Option<&'a T>, Option<&'a T>)> {
    let count = said.len().max(wanted.len());
    let pairs = (0..count).map(|place| (said.get(place), wanted.get(place)));
    pairs.filter(|(said, wanted)| said != wanted).collect()
}

/// The terminal's page, without truncation: each row of a table stands in one line of it.
pub(crate) fn terminal(text: &str, page: &Page, rules: &[&Rule]) -> Vec<Failure> {
    let lines: Vec<&str> = text.lines().collect();
    let mut failures = Vec::new();
    for table in page.tables() {
        let is_plot = rules.iter().any(
            |rule| matches!(rule, Rule::Plots { template, .. } if matches(template, &table.caption)),
        );
        for row in table.rows.iter().filter(|_| !is_plot) {
            let stands = |line: &&&str| {
                let mut rest = **line;
                row.iter().all(|cell| match rest.find(cell.as_str()) {
                    Some(place) => {
                        rest = &rest[place + cell.len()..];
                        true
                    }
                    None => false,
                })
            };
            if !lines.iter().any(|line| stands(&line)) {
                let text = format!("{:?}: the terminal has no line of {row:?}", table.caption);
                failures.push(Failure::new("terminal", text));
            }
        }
    }
    failures
}
