//! What a stream does to clock, power and temperature over time.

use serde_json::Value;

use super::check::{Plot, Rule, table};
use super::page::Table;
use super::record::{Record, items};
use super::stats::{median, mhz, once, time};

const AREA: &str = "turbo: heat";
const SECTION: &str = "Heat";

pub(crate) static RULES: &[Rule] = &[
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "all cores under one stream{}",
        want: ends,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "a drop is a clock that stays {}",
        want: drops,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "first drop of {} unavailable: {}",
        want: untold,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "the machine rested for {}",
        want: rests,
    },
    Rule::Plots {
        area: AREA,
        section: SECTION,
        template: "clock of all cores over time (higher is better) ({})",
        want: clock,
    },
    Rule::Plots {
        area: AREA,
        section: SECTION,
        template: "power of all packages over time (lower is better at one clock) ({})",
        want: power,
    },
    Rule::Plots {
        area: AREA,
        section: SECTION,
        template: "temperature over time, the hottest sensor (lower is better) ({})",
        want: temperature,
    },
];

fn of<'a>(record: &'a Record, stream: &'a str, quantity: &'a str) -> Option<&'a [f64]> {
    let mut all = record.of_quantity("turbo", quantity);
    let found = all.find(|it| it.parameter("stream") == Some(stream) && it.has())?;
    Some(&found.samples)
}

/// The heavy stream ran first.
fn streams(record: &Record) -> Vec<&str> {
    let all = record.of_quantity("turbo", "soak_clock").filter(|it| it.samples.len() > 1);
    let mut streams = once(all.filter_map(|it| it.parameter("stream")));
    let order = ["avx512_fma_t", "avx256_fma_t", "avx128_fma_t", "scalar_iadd"];
    streams.sort_by_key(|it| order.iter().position(|known| known == it));
    streams.retain(|it| of(record, it, "soak_time").is_some());
    streams
}

fn ends(record: &Record) -> Vec<Table> {
    let streams = streams(record);
    let Some(first) = streams.first() else { return Vec::new() };
    let row = |stream: &&str| {
        let ends = |quantity| {
            let all = of(record, stream, quantity)?;
            Some((*all.first()?, *all.last()?))
        };
        let change = |quantity, unit: &str| {
            let said = |(first, last)| format!("{first:.0} to {last:.0} {unit}");
            ends(quantity).map_or("-".to_owned(), said)
        };
        let (begin, end) = ends("soak_clock").expect("a clock in a window");
        let kept = format!("{:.1} %", end / begin * 100.0);
        let is_told = of(record, stream, "soak_time").is_some_and(|it| it.len() >= 10);
        let none = if is_told { "none seen" } else { "unavailable" };
        let fell = fall(record, stream).map_or(none.to_owned(), |fall| {
            let [from, to] = [fall.from, fall.to].map(mhz);
            format!("{}: {from} to {to} MHz, {}", fall.when(), fall.cause)
        });
        let cells = [mhz(begin), mhz(end), kept, change("soak_power", "W")];
        let more = [change("soak_temperature", "°C"), fell];
        std::iter::once((*stream).to_owned()).chain(cells).chain(more).collect()
    };
    let at = of(record, first, "soak_time").expect("windows have times");
    // Times are the middles of windows: the last one ends half a window later.
    let windows = at.len() as f64;
    let whole = at[at.len() - 1] * windows / (windows - 0.5);
    let others = if streams.len() > 1 { " after the other" } else { "" };
    let long = time(whole);
    let caption =
        format!("all cores under one stream{others}, {long}: the first window and the last one");
    let columns = ["stream", "first MHz", "last MHz", "kept", "power", "temperature", "first drop"];
    vec![table(caption, &columns, streams.iter().map(row).collect())]
}

/// What a drop must be more than, as a share: 2 %, or four deviations of a window where that is more. Of two windows
/// the distance is a deviation of both, whose median is 0.954 of one's.
fn least_fall(record: &Record, stream: &str) -> Option<f64> {
    let clock = of(record, stream, "soak_clock")?;
    let logs: Vec<f64> = clock.iter().map(|hertz| hertz.ln()).collect();
    let moves: Vec<f64> = (1..logs.len()).map(|at| (logs[at] - logs[at - 1]).abs()).collect();
    Some((4.0 * median(&moves)? / 0.954).max(0.02))
}

/// A clock that fell by more than that, and stayed there.
struct Fall {
    /// The middles of the windows before and after.
    middles: [f64; 2],
    from: f64,
    to: f64,
    cause: String,
}

impl Fall {
    /// So many decimals that both differ by two and more of the last one.
    fn when(&self) -> String {
        let [from, to] = self.middles;
        let mut decimals = 1;
        while decimals < 4 && (to - from) / 2.0 < 10f64.powi(-decimals) {
            decimals += 1;
        }
        let decimals = decimals as usize;
        format!("between {from:.decimals$} and {to:.decimals$} s")
    }
}

fn fall(record: &Record, stream: &str) -> Option<Fall> {
    let (at, clock) = (of(record, stream, "soak_time")?, of(record, stream, "soak_clock")?);
    let kept = 1.0 - least_fall(record, stream)?;
    let mut before: f64 = 0.0;
    let place = (1..clock.len() - 1).find(|&place| {
        before = before.max(median(&clock[..place]).unwrap_or(0.0));
        let limit = before * kept;
        let two = clock[place] < limit && clock[place + 1] < limit;
        let rest = clock.len() - place;
        let last = clock.iter().rev().take(rest.min(4.max(rest / 4)));
        let (low, high): (Vec<f64>, Vec<f64>) = last.partition(|hertz| **hertz < limit);
        let is_back = clock[clock.len() - 2..].iter().all(|hertz| *hertz >= limit);
        let end = low.len() >= high.len() + 2 && !is_back;
        two && end && median(&clock[place..]) < Some(limit)
    })?;
    let (from, to) = (before, median(&clock[place..])?);
    let cause = cause(record, stream, place);
    Some(Fall { middles: [at[place - 1], at[place]], from, to, cause })
}

/// From one limit of power to the other, where power was within a twentieth of both; heat that the kernel
/// counted. Other reasons are words.
fn cause(record: &Record, stream: &str, place: usize) -> String {
    let limit = |term: &str| {
        let all = items(&record.clock()["power"]).iter();
        let of = all.filter(|it| it["term"] == *term && it["enabled"] == true);
        let watts: Vec<f64> = of.filter_map(|it| it["watts"].as_f64()).collect();
        (!watts.is_empty()).then(|| watts.iter().sum::<f64>())
    };
    let near = |watts: f64, limit: Option<f64>| {
        limit.is_some_and(|limit| (watts / limit - 1.0).abs() <= 0.05)
    };
    let ends = of(record, stream, "soak_power")
        .and_then(|power| Some((median(power.get(..place)?)?, median(power.get(place + 1..)?)?)));
    let of_power = ends.filter(|(_, after)| near(*after, limit("long"))).map(|(before, after)| {
        let from = if near(before, limit("short")) { "PL2" } else { "more" };
        format!("{from} to PL1 ({before:.0} to {after:.0} W)")
    });
    let is_power = |it: &Value| {
        let id = super::record::text(&it["id"]);
        id == "power" || id.starts_with("pl")
    };
    let held = items(&record.clock()["reasons"]).iter();
    let held = held.filter(|it| super::why::is_held_cause(it));
    let new = held.filter(|it| of_power.is_none() || !is_power(it));
    let named =
        once(new.map(|it| format!("{} held during the run", super::record::text(&it["label"]))));
    let mut parts: Vec<String> = of_power.iter().cloned().chain(named).collect();
    let heat = ["disturbance.thermal_core", "disturbance.thermal_package"];
    let throttles: f64 = heat.iter().filter_map(|id| record.grown(id)).sum();
    if throttles > 0.0 {
        parts.push(format!("throttled by heat {throttles:.0} times during the run"));
    }
    if parts.is_empty() { "cause not known".to_owned() } else { parts.join("; ") }
}

/// The same as findings have it.
pub(crate) fn findings(record: &Record) -> Vec<String> {
    let said = |stream: &&str| {
        let fall = fall(record, stream)?;
        let ([from, to], when) = ([fall.from, fall.to].map(mhz), fall.when());
        Some(format!(
            "{when} after its beginning the clock fell from {from} to {to} MHz and stayed there: {}",
            fall.cause
        ))
    };
    streams(record).iter().filter_map(said).collect()
}

/// Fewer than ten windows, in which no drop was seen.
fn untold(record: &Record) -> Vec<String> {
    let line = |stream: &&str| {
        let count = of(record, stream, "soak_time")?.len();
        (count < 10 && fall(record, stream).is_none()).then(|| {
            format!("first drop of {stream} unavailable: {count} windows, and 10 are needed")
        })
    };
    streams(record).iter().filter_map(line).collect()
}

/// More than a twentieth of the windows' time.
pub(crate) fn disturbed(record: &Record) -> Vec<String> {
    let said = |stream: &&str| {
        let lost = median(of(record, stream, "soak_lost")?).filter(|lost| *lost > 0.05)?;
        Some(format!(
            "{:.0} % of the time of its windows was taken away: its clock is that of the rest, in which others heat \
             the cores",
            lost * 100.0
        ))
    };
    streams(record).iter().filter_map(said).collect()
}

/// Fewer than ten windows.
pub(crate) fn few(record: &Record) -> Vec<String> {
    let said = |stream: &&str| {
        let count = of(record, stream, "soak_time")?.len();
        Some(format!(
            "its time has {count} windows instead of 10, because somebody else had the CPUs, or it was ended early: a \
             drop near one of its ends is not seen"
        ))
    };
    streams(record).iter().filter_map(said).collect()
}

/// A limit of the method, and no number of the record.
fn drops(record: &Record) -> Vec<String> {
    let percent = |stream: &&str| Some(least_fall(record, stream)? * 100.0);
    let all = once(streams(record).iter().filter_map(percent).map(|it| format!("{it:.1}")));
    let least = all.join(" % or ").replace("2.0", "2");
    let line = format!("a drop is a clock that stays {least} % below what it was before");
    if streams(record).is_empty() { Vec::new() } else { vec![line] }
}

/// The rest before a stream, beside what an average of power remembers.
fn rests(record: &Record) -> Vec<String> {
    let long = items(&record.clock()["power"]).iter().filter(|it| it["term"] == "long");
    let told = long.clone().count() > 0;
    let limits = long.filter(|it| it["watts"].is_number() && it["enabled"] == true);
    let constant = limits.filter_map(|it| it["seconds"].as_f64()).reduce(f64::max);
    let line = |stream: &&str| {
        let rest = *of(record, stream, "soak_rest")?.first()?;
        let remembers = match constant {
            None if told => "there is no PL1 that remembers".to_owned(),
            None => "how long PL1 remembers is not known".to_owned(),
            Some(constant) => {
                let short = rest < 3.0 * constant;
                let less = if short { ": it may begin below what it had alone" } else { "" };
                format!("PL1 remembers {}{less}", time(constant))
            }
        };
        Some(format!("the machine rested for {} before {stream}; {remembers}", time(rest)))
    };
    streams(record).iter().filter_map(line).collect()
}

fn plots(record: &Record, caption: &str, unit: &str, quantity: &str, scale: f64) -> Vec<Plot> {
    let line = |stream: &&str| {
        let (at, of) = (of(record, stream, "soak_time")?, of(record, stream, quantity)?);
        let mut points = Vec::new();
        for (index, of) in of.iter().enumerate() {
            // From the middle between this window and the one before to the one between this and the next.
            let middle = |a: usize, b: usize| f64::midpoint(at[a], at[b]);
            let last = at.len() - 1;
            let begin = if index == 0 {
                (2.0 * at[0] - middle(0, 1)).max(0.0)
            } else {
                middle(index - 1, index)
            };
            let end = if index == last {
                2.0 * at[last] - middle(last - 1, last)
            } else {
                middle(index, index + 1)
            };
            points.extend([begin, end].map(|at| (at, of / scale)));
        }
        Some(((*stream).to_owned(), points))
    };
    let lines: Vec<_> = streams(record).iter().filter_map(line).collect();
    let plot = || Plot::new(caption, ["s", unit], lines.clone());
    if lines.is_empty() { Vec::new() } else { vec![plot()] }
}

fn clock(record: &Record) -> Vec<Plot> {
    plots(record, "clock of all cores over time (higher is better)", "MHz", "soak_clock", 1e6)
}

fn power(record: &Record) -> Vec<Plot> {
    plots(
        record,
        "power of all packages over time (lower is better at one clock)",
        "W",
        "soak_power",
        1.0,
    )
}

fn temperature(record: &Record) -> Vec<Plot> {
    plots(
        record,
        "temperature over time, the hottest sensor (lower is better)",
        "°C",
        "soak_temperature",
        1.0,
    )
}
