//! The table of datatypes, and what it says of wide units.

use model::areas::transitions;
use model::page::{Align, Block, Table, Text, Tone, si, tally};
use model::record::{Record, Series};
use model::stats::median;
use model::{Datatype, Unit, in_order};

use super::rates::{Rate, rates};
use super::roofline;
use crate::areas::published::distinct;

/// The table, a line for each stream with the fewest and the most cores that it was measured on, and the rooflines.
pub(crate) fn blocks(record: &Record) -> Vec<Block> {
    let rates = rates(record);
    let Some(most) = rates.iter().map(|rate| rate.active.len()).max() else { return Vec::new() };
    let fewest = rates.iter().map(|rate| rate.active.len()).min().unwrap_or(most);
    let ends: Vec<usize> = if fewest == most { vec![most] } else { vec![fewest, most] };
    let lines = lines(&rates, &ends);
    let has_types = rates.iter().any(|rate| rate.kind.is_some() || rate.is_mixed);
    let mut table =
        Table::of("Multiply-adds by datatype, as operations a second: two for each element")
            .label("datatype");
    if has_types {
        table = table.left("cores");
    }
    table = table.folded("stream").right("elements/cycle");
    for count in &ends {
        table = table.right(tally(*count, "CPU")).right("MHz");
    }
    let has_watts = lines.iter().any(|line| line.watts().is_some());
    if has_watts {
        table = table.right("W").right("per J");
    }
    let columns = [has_types, has_watts];
    let table = table
        .column("of theory", Align::Right)
        .rows(lines.iter().map(|line| line.cells(columns)))
        .legend(legend(&rates));
    let mut blocks = vec![Block::Heading("Datatypes".to_owned()), table.into()];
    let all = roofline::of_rates(record, &rates);
    blocks.extend(all.iter().flat_map(|it| [roofline::plot(it, &[]), roofline::ridges(it)]));
    blocks
}

/// What the shares are of, and why some are missing.
fn legend(rates: &[Rate<'_>]) -> Vec<String> {
    let known = || rates.iter().filter(|rate| rate.of_theory().is_some());
    let units = || known().filter_map(|rate| rate.units.as_ref());
    let mut lines = Vec::new();
    if known().next().is_some() {
        let sources = distinct(units().flat_map(|units| units.sources.clone()), ", ");
        lines.push(format!(
            "of theory, with the most CPUs: what was reached of units x elements x 2 x the clocks that were held; units by \
             {sources}"
        ));
    }
    if units().any(|units| units.is_one_of_several) {
        lines.push(
            "where sources found cores of this name with more units and with fewer, the count nearest to what was measured \
             is taken"
                .to_owned(),
        );
    }
    if known().any(|rate| rate.of_theory() > Some(1.05)) {
        lines.push("above 105 %: more units than are known of such a core".to_owned());
    }
    if rates.iter().any(|rate| rate.units.is_none() && !rate.is_mixed) {
        lines.push("unknown: nobody is known to have counted the units of such a core, or its clock is not known".to_owned());
    }
    if rates.iter().any(|rate| rate.watts.is_some()) {
        lines.push("W: all packages with all CPUs at work, by their energy counters; per J: operations for each joule".to_owned());
    }
    lines.push("operands change no bit: under others power may allow a lower clock".to_owned());
    lines
}

/// A stream on cores of one type, or on all, with each number of them.
struct Line<'a> {
    ends: Vec<Option<&'a Rate<'a>>>,
}

fn lines<'a>(rates: &'a [Rate<'a>], ends: &[usize]) -> Vec<Line<'a>> {
    let key = |rate: &'a Rate<'a>| (rate.stream.id.as_str(), rate.kind, rate.is_mixed);
    let line = |of: (&str, Option<&str>, bool)| {
        let with =
            |count: &usize| rates.iter().find(|it| key(it) == of && it.active.len() == *count);
        Line { ends: ends.iter().map(with).collect() }
    };
    let lines = in_order(rates.iter().map(key)).into_iter().map(line);
    let mut lines: Vec<Line<'_>> = lines.filter(|line| line.any().is_some()).collect();
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

    /// The last, where it is known what it drew.
    fn watts(&self) -> Option<(&'a Rate<'a>, f64)> {
        let last = self.last()?;
        Some((last, last.watts?))
    }

    fn cells(&self, [has_types, has_watts]: [bool; 2]) -> Vec<Text> {
        let Some((first, last)) = self.any().zip(self.last()) else { return Vec::new() };
        let absent = || Text::toned("-", Tone::Faint);
        let per_cycle = first.elements_per_cycle().or_else(|| last.elements_per_cycle());
        let mut cells: Vec<Text> =
            vec![format!("{} {}", first.datatype.name(), first.width()).into()];
        if has_types {
            cells.push(first.kind.unwrap_or("all").into());
        }
        cells.push(first.stream.id.as_str().into());
        cells.push(per_cycle.map_or_else(absent, |it| format!("{it:.1}").into()));
        for rate in &self.ends {
            cells.push(rate.map_or_else(absent, told));
            let clock = rate.and_then(Rate::clock);
            cells.push(clock.map_or_else(absent, |hertz| format!("{:.0}", hertz / 1e6).into()));
        }
        if has_watts {
            let watts = self.watts();
            cells.push(watts.map_or_else(absent, |(_, watts)| format!("{watts:.0}").into()));
            let per_joule = |(rate, watts): (&Rate<'_>, f64)| {
                roofline::told(rate.per_second / watts, rate.datatype).replace("/s", "").into()
            };
            cells.push(watts.map_or_else(absent, per_joule));
        }
        cells.push(match last.of_theory() {
            Some(share) => Text::from(format!("{:.1} %", share * 100.0)),
            None if last.is_mixed => absent(),
            None => Text::toned("unknown", Tone::Faint),
        });
        cells
    }
}

fn told(rate: &Rate<'_>) -> Text {
    Text::from(roofline::told(rate.per_second, rate.datatype)).doubted(rate.is_doubtful)
}

/// Whether the widest vectors do more than those of half their width, and at which clock: of each type of core, on as many
/// CPUs of it as were measured together.
pub(super) fn sentences(record: &Record) -> Vec<Text> {
    let rates = rates(record);
    let kinds = in_order(rates.iter().filter(|rate| !rate.is_mixed).map(|rate| rate.kind));
    kinds.into_iter().filter_map(|kind| of_kind(record, &rates, kind)).collect()
}

fn of_kind(record: &Record, rates: &[Rate<'_>], kind: Option<&str>) -> Option<Text> {
    let mine = || rates.iter().filter(|rate| !rate.is_mixed && rate.kind == kind);
    let most = mine().map(|rate| rate.active.len()).max()?;
    let of = |datatype: Datatype| {
        let its = mine().filter(|it| it.datatype == datatype && it.active.len() == most);
        let mut widths: Vec<(u32, &Rate<'_>)> = Vec::new();
        for rate in its {
            let Some(bits) = rate.vector_bits() else { continue };
            match widths.iter_mut().find(|(known, _)| *known == bits) {
                Some((_, best)) if best.per_second >= rate.per_second => {}
                Some((_, best)) => *best = rate,
                None => widths.push((bits, rate)),
            }
        }
        widths.sort_by_key(|(bits, _)| *bits);
        Some((widths.pop()?.1, widths.pop()?.1))
    };
    let (wide, narrow) = Datatype::ALL.into_iter().find_map(of)?;
    let on = kind.map_or_else(String::new, |kind| format!(" of type {kind}"));
    let clock = wide.clock().zip(narrow.clock()).map_or_else(String::new, |(wide, narrow)| {
        match (wide / narrow - 1.0) * 100.0 {
            same if same.abs() < 0.5 => " at the same clock".to_owned(),
            less if less < 0.0 => format!(" at a clock {:.1} % lower", -less),
            more => format!(" at a clock {more:.1} % higher"),
        }
    });
    let power = wide.watts.zip(narrow.watts).map_or_else(String::new, |(wide, narrow)| {
        format!(" and {wide:.0} W instead of {narrow:.0} W")
    });
    let text = format!(
        "{} multiply-adds of {} do {:.2} times what those of {} do{clock}{power}, on {}{on}: {}{}.",
        wide.datatype.name(),
        wide.width(),
        wide.per_second / narrow.per_second,
        narrow.width(),
        tally(most, "CPU"),
        verdict(wide, narrow),
        costs_to_begin(record, wide).unwrap_or_default()
    );
    Some(text.into())
}

/// Whether the wide unit is worth it.
fn verdict(wide: &Rate<'_>, narrow: &Rate<'_>) -> &'static str {
    /// As much as this is no gain that anybody would change a program for.
    const SAME: f64 = 0.02;
    let gain = wide.per_second / narrow.per_second;
    let known = wide.uncertainty.zip(narrow.uncertainty).map(|(wide, narrow)| wide + narrow);
    if wide.is_doubtful || narrow.is_doubtful {
        return "nothing follows from that, the run was disturbed";
    }
    match known {
        Some(off) if gain - off > 1.0 + SAME => "the wide unit is worth it here",
        Some(off) if gain + off < 1.0 - SAME => "narrower code is faster here",
        Some(off) if off < 2.0 * SAME => "the wide unit gives no more here",
        _ => "the intervals are too wide to tell whether it is worth it",
    }
}

/// What it costs a core to begin with such instructions, where that was seen.
fn costs_to_begin(record: &Record, wide: &Rate<'_>) -> Option<String> {
    let licence = record.run.plan.licence(&wide.stream.id);
    let seen = |quantity: &str| {
        let is_its = |series: &&Series| {
            let of = |name: &str| series.parameters.get(name).map(String::as_str);
            let stream = of(model::areas::STREAM);
            stream.is_some_and(|stream| record.run.plan.licence(stream) == licence)
                && of(transitions::CORE) == Some(transitions::OWN)
        };
        let all = record.series_of(model::areas::turbo::AREA, quantity).filter(is_its);
        median(&all.filter_map(|series| Some(series.summary()?.median)).collect::<Vec<_>>())
    };
    let halt = seen(transitions::HALT).filter(|seconds| *seconds > 0.0)?;
    let low = seen(transitions::HOLD).filter(|seconds| *seconds > 0.0);
    let low = low.map_or_else(String::new, |seconds| {
        format!(
            ", and its clock stays low for {} after the last",
            si::format(seconds, Unit::Second)
        )
    });
    Some(format!("; the first of them halt a core for {}{low}", si::format(halt, Unit::Second)))
}
