//! Heat as people read it: retention, the first drop, and the lines of clock, power and temperature.

use model::page::{Align, Block, Lines, Scale, Table, Text, Tone};
use model::record::{PowerTerm, Record, Series};
use model::stats::median;
use model::{Finding, Severity};

use super::super::series_of;
use super::AREA;
use super::soak::{CLOCK, POWER, STREAM, TEMPERATURE, TIME};

/// A clock that falls by more than this, and stays there, has dropped.
const DROP: f64 = 0.02;

/// How near power is to a limit that holds it.
const AT_LIMIT: f64 = 0.05;

/// The windows under one stream.
struct Soaked<'a> {
    stream: &'a str,
    time: Vec<f64>,
    clock: Vec<f64>,
    power: Option<Vec<f64>>,
    temperature: Option<Vec<f64>>,
}

/// The first drop of a clock.
struct Drop {
    /// Seconds after the beginning.
    at: f64,
    /// Medians of the clock before and after, in hertz.
    from: f64,
    to: f64,
    /// What it is, where power says so.
    named: Option<String>,
}

fn soaked(record: &Record) -> Vec<Soaked<'_>> {
    // In the order of the plan: the light stream ran first.
    let streams = record.run.plan.workloads.iter().map(|planned| planned.id.as_str());
    let of = |id: &str, quantity: &'static str| -> Option<Vec<f64>> {
        let mut series = series_of(record, AREA, quantity);
        let mine = |it: &&Series| it.parameters.get(STREAM).is_some_and(|it| it == id);
        Some(series.find(mine)?.samples()?.all())
    };
    let one = |id| {
        let (time, clock) = (of(id, TIME)?, of(id, CLOCK)?);
        let (power, temperature) = (of(id, POWER), of(id, TEMPERATURE));
        (time.len() == clock.len() && time.len() > 1).then_some(Soaked {
            stream: id,
            time,
            clock,
            power,
            temperature,
        })
    };
    streams.filter_map(one).collect()
}

/// The first and the last tenth of the windows, one at least.
fn ends(values: &[f64]) -> Option<[f64; 2]> {
    let count = (values.len() / 10).max(1);
    Some([median(values.get(..count)?)?, median(values.get(values.len() - count..)?)?])
}

impl Soaked<'_> {
    /// The first window from which on the clock stays below what it had begun with. Two windows in a row are
    /// needed: one may have been disturbed.
    fn drop(&self, record: &Record) -> Option<Drop> {
        let first = ends(&self.clock)?[0];
        let is_low = |index: &usize| self.clock[*index] < first * (1.0 - DROP);
        let last = self.clock.len() - 1;
        let at = (1..last).find(|index| is_low(index) && is_low(&(index + 1)))?;
        let from = median(&self.clock[..at])?;
        let to = median(&self.clock[at..])?;
        // Between the last window with the old clock and the first with the new one.
        let time = f64::midpoint(self.time[at - 1], self.time[at]);
        Some(Drop { at: time, from, to, named: self.named(record, at) })
    }

    /// A drop from one limit of power to the other, where power was at both.
    fn named(&self, record: &Record, at: usize) -> Option<String> {
        let power = self.power.as_ref()?;
        let limit = |term| {
            let limits = record.clock.iter().flat_map(|clock| &clock.power);
            let watts: Vec<f64> = limits
                .filter(|limit| limit.term == term && limit.enabled)
                .filter_map(|limit| limit.watts)
                .collect();
            (!watts.is_empty()).then(|| watts.iter().sum::<f64>())
        };
        let near = |watts: f64, limit: Option<f64>| {
            limit.is_some_and(|limit| (watts / limit - 1.0).abs() <= AT_LIMIT)
        };
        let before = median(power.get(..at)?)?;
        // The window in which it happened holds some of both.
        let after = median(power.get(at + 1..)?)?;
        let (long, short) = (limit(PowerTerm::Long), limit(PowerTerm::Short));
        if !near(after, long) {
            return None;
        }
        let from = if near(before, short) { "PL2" } else { "more" };
        Some(format!("{from} to PL1 ({before:.0} to {after:.0} W)"))
    }
}

/// One of the lines over time, where it is known.
type Of = fn(&Soaked<'_>) -> Option<Vec<f64>>;

/// Table and lines; nothing where nothing was sustained.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let soaked = soaked(record);
    if soaked.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Heat".to_owned()), table(record, &soaked)];
    let plots: [(&str, &str, Of); 3] = [
        ("clock of all cores over time (higher is better)", "MHz", |it| {
            Some(it.clock.iter().map(|hertz| hertz / 1e6).collect())
        }),
        ("power of all packages over time", "W", |it| it.power.clone()),
        ("temperature over time, the hottest sensor", "°C", |it| it.temperature.clone()),
    ];
    for (caption, unit, of) in plots {
        blocks.extend(lines(&soaked, caption, unit, of));
    }
    blocks
}

fn table(record: &Record, soaked: &[Soaked<'_>]) -> Block {
    let row = |it: &Soaked<'_>| -> Vec<Text> {
        let clock = ends(&it.clock);
        let mhz =
            |index: usize| clock.map_or("-".to_owned(), |ends| format!("{:.0}", ends[index] / 1e6));
        let change = |values: &Option<Vec<f64>>, unit: &str| {
            let ends = values.as_deref().and_then(ends);
            ends.map_or_else(
                || Text::toned("-", Tone::Faint),
                |[first, last]| format!("{first:.0} to {last:.0} {unit}").into(),
            )
        };
        let kept =
            clock.map_or("-".to_owned(), |[first, last]| format!("{:.1} %", last / first * 100.0));
        let drop = it.drop(record).map_or("none seen".to_owned(), |drop| {
            let named = drop.named.map_or(String::new(), |it| format!(", {it}"));
            let (from, to) = (drop.from / 1e6, drop.to / 1e6);
            format!("after {:.1} s: {from:.0} to {to:.0} MHz{named}", drop.at)
        });
        vec![
            it.stream.into(),
            mhz(0).into(),
            mhz(1).into(),
            kept.into(),
            change(&it.power, "W"),
            change(&it.temperature, "°C"),
            drop.into(),
        ]
    };
    let columns = [
        ("stream", Align::Left),
        ("first MHz", Align::Right),
        ("last MHz", Align::Right),
        ("kept", Align::Right),
        ("power", Align::Right),
        ("temperature", Align::Right),
        ("first drop", Align::Left),
    ];
    let seconds = soaked[0].time.last().copied().unwrap_or(0.0);
    Block::Table(Table {
        caption: format!(
            "all cores under a light and then a heavy stream, {seconds:.0} s each: the first tenth of \
             the windows and the last one"
        ),
        columns: columns.map(|(name, align)| (name.to_owned(), align)).to_vec(),
        rows: soaked.iter().map(row).collect(),
        notes: vec![
            "a drop is a clock that stays 2 % below the first windows; the heavy stream begins with the \
             heat of the light one"
                .to_owned(),
        ],
    })
}

fn lines(soaked: &[Soaked<'_>], caption: &str, unit: &str, of: Of) -> Option<Block> {
    let line = |it: &Soaked<'_>| {
        let values = of(it)?;
        Some((it.stream.to_owned(), std::iter::zip(it.time.clone(), values).collect()))
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> = soaked.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| {
        Block::Lines(Lines {
            caption: caption.to_owned(),
            x: "s".to_owned(),
            y: unit.to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            lines,
        })
    })
}

/// A clock that fell under a stream.
pub(super) fn findings(record: &Record) -> Vec<Finding> {
    let of = |it: &Soaked<'_>| {
        let drop = it.drop(record)?;
        let named = drop.named.map_or(String::new(), |it| format!(": {it}"));
        Some(Finding {
            id: "turbo.clock-drops".to_owned(),
            severity: Severity::Note,
            about: format!("{} on all cores", it.stream),
            text: format!(
                "{:.1} s after its beginning the clock fell from {:.0} to {:.0} MHz and stayed \
                 there{named}",
                drop.at,
                drop.from / 1e6,
                drop.to / 1e6
            ),
            remedy: None,
        })
    };
    soaked(record).iter().filter_map(of).collect()
}
