//! The table of datatypes, and what it says of wide units.

use model::Datatype;
use model::page::{Block, Table, Text, Tone, tally};
use model::record::Record;

use super::rates::{Rate, rates};
use super::roofline;
use crate::areas::published::distinct;

/// The table: a line for each stream, with the fewest and the most cores that it was measured on.
pub(crate) fn blocks(record: &Record) -> Vec<Block> {
    let rates = rates(record);
    let Some(most) = rates.iter().map(|rate| rate.active.len()).max() else { return Vec::new() };
    let fewest = rates.iter().map(|rate| rate.active.len()).min().unwrap_or(most);
    let ends: Vec<usize> = if fewest == most { vec![most] } else { vec![fewest, most] };
    let lines: Vec<Line<'_>> = lines(&rates, &ends);
    if lines.is_empty() {
        return Vec::new();
    }
    let columns = ends.iter().map(|count| (tally(*count, "core"), model::page::Align::Right));
    let sources = distinct(rates.iter().filter_map(Rate::sources), "; ");
    let theory = "of theory: what was reached of clock x units x elements x 2 x cores";
    let legend = match rates.iter().any(|rate| rate.of_theory().is_some()) {
        true => format!("{theory}; units as found by {sources}"),
        false => "the units of such a core are not known: no theory to hold it against".to_owned(),
    };
    let table =
        Table::of("Multiply-adds by datatype, an addition and a multiplication counted each")
            .left("datatype")
            .left("width")
            .folded("stream")
            .right("elements/cycle")
            .columns(columns)
            .right("MHz")
            .right("of theory")
            .rows(lines.iter().map(|line| line.cells()))
            .legend([legend]);
    let mut blocks = vec![Block::Heading("Datatypes".to_owned()), table.into()];
    blocks.extend(roofline::blocks(record, &rates));
    blocks
}

/// A stream with each number of cores.
struct Line<'a> {
    ends: Vec<Option<&'a Rate<'a>>>,
}

fn lines<'a>(rates: &'a [Rate<'a>], ends: &[usize]) -> Vec<Line<'a>> {
    let mut ids: Vec<&str> = Vec::new();
    for rate in rates {
        if !ids.contains(&rate.stream.id.as_str()) {
            ids.push(&rate.stream.id);
        }
    }
    let line = |id: &str| {
        let with = |count: &usize| {
            rates.iter().find(|rate| rate.stream.id == id && rate.active.len() == *count)
        };
        Line { ends: ends.iter().map(with).collect() }
    };
    let mut lines: Vec<Line<'_>> = ids.into_iter().map(line).collect();
    lines.sort_by_key(|line| line.any().map(|rate| rate.datatype));
    lines
}

impl<'a> Line<'a> {
    fn any(&self) -> Option<&'a Rate<'a>> {
        self.ends.iter().flatten().copied().next()
    }

    /// The one with the most cores.
    fn last(&self) -> Option<&'a Rate<'a>> {
        self.ends.iter().flatten().copied().next_back()
    }

    fn cells(&self) -> Vec<Text> {
        let Some((first, last)) = self.any().zip(self.last()) else { return Vec::new() };
        let absent = || Text::toned("-", Tone::Faint);
        let per_cycle = first.elements_per_cycle().or_else(|| last.elements_per_cycle());
        let mut cells: Vec<Text> = vec![
            first.datatype.name().into(),
            first.width().into(),
            first.stream.id.as_str().into(),
            per_cycle.map_or_else(absent, |it| format!("{it:.1}").into()),
        ];
        cells.extend(self.ends.iter().map(|rate| rate.map_or_else(absent, told)));
        cells.push(last.clock.map_or_else(absent, |hertz| format!("{:.0}", hertz / 1e6).into()));
        let share = |rate: &Rate<'_>| rate.of_theory().map(|it| format!("{:.1} %", it * 100.0));
        cells.push(share(last).map_or_else(|| Text::toned("unknown", Tone::Faint), Text::from));
        cells
    }
}

/// `119.5 GFLOP/s`, or `956 GOP/s` of integers.
pub(super) fn told(rate: &Rate<'_>) -> Text {
    let giga = rate.per_second / 1e9;
    let digits = if giga < 1000.0 { 1 } else { 0 };
    Text::from(format!("{giga:.digits$} {}", unit(rate.datatype))).doubted(rate.is_doubtful)
}

/// What its operations a second are called.
fn unit(datatype: Datatype) -> &'static str {
    if datatype.is_floating() { "GFLOP/s" } else { "GOP/s" }
}

/// Whether the widest vectors do more than those of half their width, and at which clock.
pub(super) fn sentences(record: &Record) -> Vec<Text> {
    let rates = rates(record);
    let Some(most) = rates.iter().map(|rate| rate.active.len()).max() else { return Vec::new() };
    let of = |datatype: Datatype| {
        let its = rates.iter().filter(move |it| it.datatype == datatype && it.active.len() == most);
        let mut vectors: Vec<&Rate<'_>> =
            its.filter(|rate| rate.stream.width_bits.is_some()).collect();
        vectors.sort_by_key(|rate| rate.stream.width_bits);
        Some((vectors.pop()?, vectors.pop()?))
    };
    let Some((wide, narrow)) = Datatype::ALL.into_iter().find_map(of) else { return Vec::new() };
    let gain = wide.per_second / narrow.per_second;
    let clock = wide.clock.zip(narrow.clock).map_or_else(String::new, |(wide, narrow)| {
        match (wide / narrow - 1.0) * 100.0 {
            same if same.abs() < 0.5 => " at the same clock".to_owned(),
            less if less < 0.0 => format!(" at a clock {:.1} % lower", -less),
            more => format!(" at a clock {more:.1} % higher"),
        }
    });
    let off = wide.uncertainty.unwrap_or(0.0) + narrow.uncertainty.unwrap_or(0.0);
    let worth = if gain > 1.0 + off.max(0.02) {
        "the wide unit is worth it here"
    } else if gain < 1.0 - off.max(0.02) {
        "narrower code is faster here"
    } else {
        "the wide unit gives no more here"
    };
    let cores = if most == 1 { "on one core".to_owned() } else { format!("on {most} cores") };
    let text = format!(
        "{} multiply-adds of {} do {gain:.2} times what those of {} do{clock}, {cores}: {worth}.",
        wide.datatype.name(),
        wide.width(),
        narrow.width()
    );
    vec![text.into()]
}
