//! Transitions as people read them: what the payload causes, what the machine loses anyway, and the timeline.

use machine::pages::parts::fact;
use model::page::{Align, Block, Lines, Scale, Table, Text, Tone, si};
use model::record::{FactValue, Record, Series};
use model::stats::median;
use model::{Finding, Severity, Unit};

use super::super::{in_order, series_of};
use super::soak::STREAM;
use super::trace::{
    AT, BURST_US, CORE, FOLDED_CLOCK, FOLDED_TIME, GAP, GAP_RATE, HALT, HALT_SHARE, HOLD,
    HOLD_VISIBLE, LOADED, LOW, OTHER, OWN, PASS, PERIOD_US, QUIET, RELAXED, THROTTLED,
    THROTTLED_RATIO, THROTTLED_VISIBLE, VISIBLE,
};
use super::{AREA, published};

fn of<'a>(record: &'a Record, stream: &'a str, quantity: &'static str) -> Vec<&'a Series> {
    let mine = |series: &&Series| series.parameters.get(STREAM).is_some_and(|it| it == stream);
    series_of(record, AREA, quantity).filter(mine).collect()
}

fn number(record: &Record, stream: &str, quantity: &'static str) -> Option<f64> {
    of(record, stream, quantity).first()?.summary().map(|summary| summary.median)
}

fn parameter<'a>(series: &'a Series, key: &str) -> &'a str {
    series.parameters.get(key).map_or("", String::as_str)
}

/// The streams that were followed, in the order of the run.
fn streams(record: &Record) -> Vec<&str> {
    in_order(series_of(record, AREA, VISIBLE).filter_map(|series| {
        series.summary()?;
        series.parameters.get(STREAM).map(String::as_str)
    }))
}

/// Tables and timelines; nothing where nothing was followed.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let streams = streams(record);
    if streams.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Transitions".to_owned()), events(record, &streams)];
    blocks.push(gaps(record, &streams));
    blocks.extend(streams.iter().filter_map(|stream| timeline(record, stream)));
    blocks
}

fn time(seconds: f64) -> String {
    si::format(seconds, Unit::Second)
}

/// `11.00 us at 9 us, in 100 % of periods`.
fn halts(record: &Record, stream: &str) -> String {
    let visible = number(record, stream, VISIBLE).unwrap_or(f64::NAN);
    let share = |halt: &Series| {
        let mut shares = of(record, stream, HALT_SHARE).into_iter();
        let same = shares.find(|it| parameter(it, AT) == parameter(halt, AT))?;
        same.summary().map(|summary| summary.median * 100.0)
    };
    let say = |halt: &&Series| {
        let length = halt.summary()?.median;
        let share = share(halt).map_or(String::new(), |it| format!(", in {it:.0} % of periods"));
        Some(format!("{} at {} us{share}", time(length), parameter(halt, AT)))
    };
    let said: Vec<String> = of(record, stream, HALT).iter().filter_map(say).collect();
    if said.is_empty() { format!("none seen above {}", time(visible)) } else { said.join("; ") }
}

fn throttled(record: &Record, stream: &str) -> String {
    let ratio = |series: &Series| {
        let mut ratios = of(record, stream, THROTTLED_RATIO).into_iter();
        let same = ratios.find(|it| parameter(it, AT) == parameter(series, AT))?;
        same.summary().map(|summary| summary.median)
    };
    let say = |series: &&Series| {
        let length = series.summary()?.median;
        let ratio = ratio(series)?;
        let at = parameter(series, AT);
        Some(format!("{} at {at} us, adds take {ratio:.1} times as long", time(length)))
    };
    let said: Vec<String> = of(record, stream, THROTTLED).iter().filter_map(say).collect();
    if !said.is_empty() {
        return said.join("; ");
    }
    let visible = number(record, stream, THROTTLED_VISIBLE);
    visible.map_or("none seen".to_owned(), |it| format!("none seen above {}", time(it)))
}

fn hold(record: &Record, stream: &str) -> String {
    let of = |quantity| number(record, stream, quantity);
    match (of(HOLD), of(LOW), of(RELAXED), of(HOLD_VISIBLE)) {
        (Some(length), Some(low), Some(relaxed), _) => {
            let (low, relaxed) = (low / 1e6, relaxed / 1e6);
            format!("{} after it, at {low:.0} of {relaxed:.0} MHz", time(length))
        }
        (None, Some(low), Some(relaxed), _) if !self::of(record, stream, HOLD).is_empty() => {
            let (low, relaxed) = (low / 1e6, relaxed / 1e6);
            format!("not back within the period: {low:.0} of {relaxed:.0} MHz")
        }
        (.., Some(visible)) => format!("no lower clock seen above {:.1} %", visible * 100.0),
        _ => "-".to_owned(),
    }
}

fn events(record: &Record, streams: &[&str]) -> Block {
    let row = |stream: &&str| -> Vec<Text> {
        vec![
            (*stream).into(),
            halts(record, stream).into(),
            throttled(record, stream).into(),
            hold(record, stream).into(),
        ]
    };
    let first = of(record, streams[0], VISIBLE).first().copied();
    let layout = first.map_or(String::new(), |series| {
        let (burst, period) = (parameter(series, BURST_US), parameter(series, PERIOD_US));
        format!(": {burst} us in each {period} us")
    });
    let columns = [
        ("stream", Align::Left),
        ("halts", Align::Left),
        ("throttled", Align::Left),
        ("low clock", Align::Left),
    ];
    let mut notes = vec![
        "a halt counts only where it comes at the same phase in 80 % of periods and more; adds that are \
         held up while multiplies are not are throttled dispatch, and no clock"
            .to_owned(),
    ];
    if is_guest(record) {
        notes.push(
            "this is a guest: what its host takes away comes at any phase, and is among the gaps below"
                .to_owned(),
        );
    }
    notes.extend(published::transition(record));
    Block::Table(Table {
        caption: format!("what a stream in a duty cycle causes{layout}"),
        columns: columns.map(|(name, align)| (name.to_owned(), align)).to_vec(),
        rows: streams.iter().map(row).collect(),
        notes,
    })
}

fn is_guest(record: &Record) -> bool {
    let said = fact(record, "platform.virtualisation").and_then(|fact| fact.value.value());
    matches!(said, Some(FactValue::Text(text)) if !text.starts_with("none"))
}

/// What the machine loses anyway, beside what is lost with the payload.
fn gaps(record: &Record, streams: &[&str]) -> Block {
    let mut rows: Vec<Vec<Text>> = Vec::new();
    for stream in streams {
        for pass in [QUIET, LOADED] {
            for core in [OWN, OTHER] {
                let of = |quantity| {
                    let mut all = of(record, stream, quantity).into_iter();
                    let is =
                        |it: &&Series| parameter(it, PASS) == pass && parameter(it, CORE) == core;
                    all.find(is).and_then(|series| series.summary())
                };
                let Some(rate) = of(GAP_RATE) else { continue };
                let gap = of(GAP);
                let of_gap = |value: fn(&model::stats::Summary) -> f64| {
                    gap.map_or(Text::toned("-", Tone::Faint), |it| time(value(it)).into())
                };
                rows.push(vec![
                    (*stream).into(),
                    pass.into(),
                    core.into(),
                    format!("{:.0}", rate.median).into(),
                    of_gap(|summary| summary.median),
                    of_gap(|summary| summary.max),
                ]);
            }
        }
    }
    let columns = [
        ("stream", Align::Left),
        ("pass", Align::Left),
        ("core", Align::Left),
        ("gaps per second", Align::Right),
        ("median", Align::Right),
        ("longest", Align::Right),
    ];
    let visible = streams.first().and_then(|stream| number(record, stream, VISIBLE));
    let above = visible.map_or(String::new(), |it| format!(" above {}", time(it)));
    Block::Table(Table {
        caption: format!("time that is missing at once{above}, whatever took it (lower is better)"),
        columns: columns.map(|(name, align)| (name.to_owned(), align)).to_vec(),
        rows,
        notes: Vec::new(),
    })
}

/// The clock by phase, of both cores.
fn timeline(record: &Record, stream: &str) -> Option<Block> {
    /// More points than this fall onto each other.
    const POINTS: usize = 250;
    let line = |core: &str| {
        let samples = |quantity| {
            let mut all = of(record, stream, quantity).into_iter();
            Some(all.find(|it| parameter(it, CORE) == core)?.samples()?.all())
        };
        let (time, clock) = (samples(FOLDED_TIME)?, samples(FOLDED_CLOCK)?);
        let size = time.len().div_ceil(POINTS).max(1);
        let chunks = std::iter::zip(time.chunks(size), clock.chunks(size));
        let point =
            |(time, clock): (&[f64], &[f64])| Some((median(time)? * 1e6, median(clock)? / 1e6));
        let points: Vec<(f64, f64)> = chunks.filter_map(point).collect();
        let name = if core == OWN { stream.to_owned() } else { "other core".to_owned() };
        (!points.is_empty()).then_some((name, points))
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> = [OWN, OTHER].into_iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| {
        Block::Lines(Lines {
            caption: format!("clock by the time since {stream} began, all periods over each other"),
            x: "us".to_owned(),
            y: "MHz".to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            lines,
            marks: Vec::new(),
        })
    })
}

/// A transition that was seen.
pub(super) fn findings(record: &Record) -> Vec<Finding> {
    let seen = |stream: &&str| {
        let is_there = |quantity| !of(record, stream, quantity).is_empty();
        // A clock that was not back within the period has a reason instead of a length.
        let any = is_there(HALT) || is_there(THROTTLED) || is_there(HOLD);
        any.then(|| Finding {
            id: "turbo.transition".to_owned(),
            severity: Severity::Note,
            about: (*stream).to_owned(),
            text: format!(
                "halts: {}; throttled: {}; low clock: {}",
                halts(record, stream),
                throttled(record, stream),
                hold(record, stream)
            ),
            remedy: None,
            cause: None,
            gain: None,
        })
    };
    streams(record).iter().filter_map(seen).collect()
}
