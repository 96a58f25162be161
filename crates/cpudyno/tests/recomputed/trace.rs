//! Transitions: halts, throttled dispatch, clocks that stay low, gaps, and the folded timeline.

use super::check::{Plot, Rule, table};
use super::page::Table;
use super::record::{Record, Series};
use super::stats::{median, mhz, once, time};

const AREA: &str = "turbo: transitions";
const SECTION: &str = "Transitions";

pub(crate) static RULES: &[Rule] = &[
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "what a stream in a duty cycle causes{}",
        want: events,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "a halt counts only where it comes at the same phase in {}",
        want: what_counts,
    },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "time that is missing at once{}",
        want: gaps,
    },
    Rule::Plots {
        area: AREA,
        section: SECTION,
        template: "clock by the time since {} began, all periods over each other ({})",
        want: timelines,
    },
];

fn of<'a>(record: &'a Record, stream: &'a str, quantity: &'a str) -> Vec<&'a Series> {
    let all = record.of_quantity("turbo", quantity);
    all.filter(|it| it.parameter("stream") == Some(stream)).collect()
}

fn first(record: &Record, stream: &str, quantity: &str) -> Option<f64> {
    of(record, stream, quantity).first()?.median()
}

fn streams(record: &Record) -> Vec<&str> {
    let all = record.of_quantity("turbo", "trace_visible").filter(|it| it.has());
    once(all.filter_map(|it| it.parameter("stream")))
}

/// The series of the same phase.
fn there<'a>(all: Vec<&'a Series>, at: &Series) -> Option<&'a Series> {
    all.into_iter().find(|it| it.parameter("at_us") == at.parameter("at_us"))
}

fn halts(record: &Record, stream: &str) -> String {
    let one = |halt: &&Series| {
        let share = there(of(record, stream, "trace_halt_share"), halt).and_then(Series::median);
        let share =
            share.map_or(String::new(), |it| format!(", in {:.0} % of periods", it * 100.0));
        let at = halt.parameter("at_us")?;
        Some(format!("{} at {at} us{share}", time(halt.median()?)))
    };
    let said: Vec<String> = of(record, stream, "trace_halt").iter().filter_map(one).collect();
    if said.is_empty() {
        let least = first(record, stream, "trace_visible").expect("it was followed");
        return format!("none seen above {}", time(least));
    }
    said.join("; ")
}

fn throttled(record: &Record, stream: &str) -> String {
    let one = |it: &&Series| {
        let ratio = there(of(record, stream, "trace_throttled_ratio"), it)?.median()?;
        let (length, at) = (time(it.median()?), it.parameter("at_us")?);
        Some(format!("{length} at {at} us, adds take {ratio:.1} times as long"))
    };
    let said: Vec<String> = of(record, stream, "trace_throttled").iter().filter_map(one).collect();
    if !said.is_empty() {
        return said.join("; ");
    }
    let least = first(record, stream, "trace_throttled_visible");
    least.map_or("none seen".to_owned(), |it| format!("none seen above {}", time(it)))
}

fn low(record: &Record, stream: &str) -> String {
    let number = |quantity| first(record, stream, quantity);
    let clocks = number("trace_low").zip(number("trace_relaxed"));
    let clocks = clocks.map(|(low, high)| format!("{} of {} MHz", mhz(low), mhz(high)));
    let is_there = !of(record, stream, "trace_hold").is_empty();
    match (number("trace_hold"), clocks) {
        (Some(length), Some(clocks)) => format!("{} after it, at {clocks}", time(length)),
        (None, Some(clocks)) if is_there => format!("not back within the period: {clocks}"),
        _ => number("trace_hold_visible")
            .map_or("-".to_owned(), |it| format!("no lower clock seen above {:.1} %", it * 100.0)),
    }
}

/// The same as a finding has it.
pub(crate) fn findings(record: &Record) -> Vec<String> {
    let said = |stream: &&str| {
        let [halts, throttled, low] = [halts, throttled, low].map(|it| it(record, stream));
        format!("halts: {halts}; throttled: {throttled}; low clock: {low}")
    };
    streams(record).iter().map(said).collect()
}

fn events(record: &Record) -> Vec<Table> {
    let streams = streams(record);
    let Some(stream) = streams.first() else { return Vec::new() };
    let layout = of(record, stream, "trace_visible")[0];
    let [burst, period] = ["burst_us", "period_us"].map(|it| layout.parameter(it).unwrap_or("?"));
    let row = |stream: &&str| {
        let cells = [halts, throttled, low].map(|it| it(record, stream));
        std::iter::once((*stream).to_owned()).chain(cells).collect()
    };
    let caption = format!("what a stream in a duty cycle causes: {burst} us in each {period} us");
    let columns = ["stream", "halts", "throttled", "low clock"];
    vec![table(caption, &columns, streams.iter().map(row).collect())]
}

/// A limit of the method, and no number of the record.
fn what_counts(record: &Record) -> Vec<String> {
    let line = "a halt counts only where it comes at the same phase in 80 % of periods and more; adds that are \
                held up while multiplies are not are throttled dispatch, and no clock";
    if streams(record).is_empty() { Vec::new() } else { vec![line.to_owned()] }
}

fn gaps(record: &Record) -> Vec<Table> {
    let mut rows = Vec::new();
    let streams = streams(record);
    for stream in &streams {
        for pass in ["without payload", "with payload"] {
            for core in ["own", "other"] {
                let find = |quantity| {
                    let is = |it: &&Series| {
                        it.parameter("pass") == Some(pass) && it.parameter("core") == Some(core)
                    };
                    of(record, stream, quantity).into_iter().find(is).filter(|it| it.has())
                };
                let Some(rate) = find("trace_gap_rate").and_then(Series::median) else { continue };
                let gap = find("trace_gap");
                let of_gap = |q| gap.and_then(|it| it.q(q)).map_or("-".to_owned(), time);
                let words = [*stream, pass, core].map(str::to_owned);
                let numbers = [format!("{rate:.0}"), of_gap(0.5), of_gap(1.0)];
                rows.push(words.into_iter().chain(numbers).collect());
            }
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let least = streams.first().and_then(|it| first(record, it, "trace_visible"));
    let least = least.map_or(String::new(), |it| format!(" above {}", time(it)));
    let caption =
        format!("time that is missing at once{least}, whatever took it (lower is better)");
    vec![table(caption, &["stream", "pass", "core", "gaps per second", "median", "longest"], rows)]
}

/// The medians of neighbouring bins, so that there are no more than 250 points.
fn timelines(record: &Record) -> Vec<Plot> {
    let plot = |stream: &&str| {
        let line = |core: &str| {
            let samples = |quantity| {
                let mut all = of(record, stream, quantity).into_iter();
                all.find(|it| it.parameter("core") == Some(core)).map(|it| &it.samples)
            };
            let (at, clock) = (samples("trace_folded_time")?, samples("trace_folded_clock")?);
            let size = at.len().div_ceil(250).max(1);
            let bins = at.chunks(size).zip(clock.chunks(size));
            let point =
                |(at, clock): (&[f64], &[f64])| Some((median(at)? * 1e6, median(clock)? / 1e6));
            let points: Vec<(f64, f64)> = bins.filter_map(point).collect();
            let name = if core == "own" { stream } else { "other core" };
            (!points.is_empty()).then(|| (name.to_owned(), points))
        };
        let lines: Vec<_> = ["own", "other"].into_iter().filter_map(line).collect();
        let caption =
            format!("clock by the time since {stream} began, all periods over each other");
        (!lines.is_empty()).then(|| Plot::new(caption, ["us", "MHz"], lines))
    };
    streams(record).iter().filter_map(plot).collect()
}
