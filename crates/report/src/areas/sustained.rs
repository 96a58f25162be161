//! Heat as people read it: retention, the first drop with what is known of its cause, and the lines of clock,
//! power and temperature.

use std::fmt::Write as _;

use model::page::{Block, Lines, Scale, Table, Text, Tone, si};
use model::record::{PowerTerm, Record, Series};
use model::stats::median;
use model::{Finding, in_order, in_order_of};

use super::Section;
use super::turbo::clocked::{Clocked, Lighter, LimitEvidence};
use super::turbo::{AREA, clock_account};
use model::areas::STREAM;
use model::areas::sustained::{
    self, CLOCK, GROUP, LIMIT, LIMITED, LOST, POWER, REST, TEMPERATURE, TIME, TIME_CONSTANTS,
    WINDOWS_MIN, time_constant,
};
use model::areas::turbo::{HEAVY, LIGHT};

/// What it says: its blocks stand within those of clocks.
pub const SECTION: Section = Section { findings, ..Section::of(sustained::AREA, |_| Vec::new()) };

/// A clock that falls by more than this, and stays there, has dropped; on a noisy clock, more is needed.
const DROP: f64 = 0.02;

/// So many standard deviations of a window are needed.
const DEVIATIONS: f64 = 4.0;

/// How near power is to a limit that holds it.
const AT_LIMIT: f64 = 0.05;

/// The windows under one stream, of CPUs that have type and limits in common.
struct Soaked<'a> {
    stream: &'a str,
    /// The series of its clock.
    series: &'a Series,
    time: Vec<f64>,
    clock: Vec<f64>,
    power: Option<Vec<f64>>,
    temperature: Option<Vec<f64>>,
    /// The share of each window that rounds took longer than they usually do.
    lost: Option<Vec<f64>>,
    /// Seconds of rest before it; none: nothing ran before it.
    rest: Option<f64>,
}

/// The first drop of a clock.
struct Drop {
    /// Seconds after the beginning: it was after the first, and before the second.
    between: [f64; 2],
    /// The highest median of the clock before, and the median after, in hertz.
    from: f64,
    to: f64,
    /// What was seen to hold, or that nothing was.
    cause: String,
}

/// By how much a clock must fall, as a share: by what it moves from window to window, as the median of its changes
/// tells, in which one drop is no more than one.
fn least(clock: &[f64]) -> f64 {
    /// The median distance of two normal numbers, in standard deviations of one.
    const MEDIAN_DISTANCE: f64 = 0.954;
    let changes: Vec<f64> = clock.windows(2).map(|pair| (pair[1] / pair[0]).ln().abs()).collect();
    let deviation = median(&changes).unwrap_or(0.0) / MEDIAN_DISTANCE;
    DROP.max(DEVIATIONS * deviation)
}

/// The window from which on a clock stays low, and what it had before. Of one window nothing is told, since it may
/// have been disturbed: two low ones are needed in a row, and two more than high ones at the end, and a low
/// median. Where the last two are high, it came back.
fn falls(clock: &[f64]) -> Option<(usize, f64)> {
    /// Windows of the end, which is the last quarter of what follows.
    const END_MIN: usize = 4;
    let least = least(clock);
    let mut before: f64 = 0.0;
    (1..clock.len().saturating_sub(1)).find_map(|index| {
        let (held, rest) = clock.split_at(index);
        before = before.max(median(held).unwrap_or_default());
        let is_low = |hertz: &f64| *hertz < before * (1.0 - least);
        let begins = rest[..2].iter().all(is_low);
        let length = (rest.len() / 4).max(END_MIN).min(rest.len());
        let low = rest[rest.len() - length..].iter().filter(|hertz| is_low(hertz)).count();
        let is_back = !rest[rest.len() - 2..].iter().any(is_low);
        let ends = 2 * low >= length + 2 && !is_back;
        (begins && ends && is_low(&median(rest)?)).then_some((index, before))
    })
}

/// The series of a stream.
fn of_stream<'a>(
    record: &'a Record,
    stream: &'a str,
    quantity: &'static str,
) -> impl Iterator<Item = &'a Series> {
    let is_mine =
        move |it: &&Series| it.parameters.get(STREAM).is_some_and(|named| named == stream);
    record.series_of(AREA, quantity).filter(is_mine)
}

fn soaked<'a>(record: &'a Record) -> Vec<Soaked<'a>> {
    // The heavy stream ran first.
    let order = [&HEAVY[..], &[LIGHT]].concat();
    let clocks = record.series_of(AREA, CLOCK);
    let named = clocks.filter_map(|series| Some(series.parameters.get(STREAM)?.as_str()));
    let streams = in_order_of(named, &order).into_iter();
    let of = |id: &'a str, quantity: &'static str| -> Option<Vec<f64>> {
        Some(of_stream(record, id, quantity).next()?.samples()?.all())
    };
    let one = |(id, series): (&'a str, &'a Series)| {
        let (time, clock) = (of(id, TIME)?, series.samples()?.all());
        let (power, temperature) = (of(id, POWER), of(id, TEMPERATURE));
        (time.len() == clock.len() && time.len() > 1).then_some(Soaked {
            stream: id,
            series,
            time,
            clock,
            power,
            temperature,
            lost: of(id, LOST),
            rest: of(id, REST).and_then(|rest| rest.first().copied()),
        })
    };
    let clocks = streams.flat_map(|id| of_stream(record, id, CLOCK).map(move |it| (id, it)));
    clocks.filter_map(one).collect()
}

/// The first and the last window.
fn ends(values: &[f64]) -> Option<[f64; 2]> {
    Some([*values.first()?, *values.last()?])
}

impl Soaked<'_> {
    /// The CPUs that it is of, where others have another type or other limits.
    fn group(&self) -> Option<&str> {
        self.series.parameters.get(GROUP).map(String::as_str)
    }

    /// The stream, and whose clock it is.
    fn name(&self) -> String {
        let group = self.group().map_or(String::new(), |cpus| format!(", CPUs {cpus}"));
        format!("{}{group}", self.stream)
    }

    /// What findings are about.
    fn about(&self) -> String {
        let group = self.group().map_or(String::new(), |cpus| format!(": CPUs {cpus}"));
        format!("{} on all cores{group}", self.stream)
    }

    /// Limits that were seen under this stream, those that were at some of these times if any are given.
    fn has<'a>(&'a self, record: &'a Record, times: &'a [f64]) -> impl Iterator<Item = &'a String> {
        let is_then = move |series: &&Series| {
            let seen = series.samples().map_or(Vec::new(), model::record::Samples::all);
            times.is_empty() || seen.iter().any(|it| times.iter().any(|at| (it - at).abs() < 1e-6))
        };
        let mine = of_stream(record, self.stream, LIMITED).filter(is_then);
        mine.filter_map(|series| series.parameters.get(LIMIT))
    }

    /// The first window from which on the clock stays below what it had before, which may be one window alone.
    fn drop(&self, record: &Record) -> Option<Drop> {
        let (at, from) = falls(&self.clock)?;
        let to = median(&self.clock[at..])?;
        // A median changes in the middle of a window: between that of the last one with the old clock and that of the
        // first one with the new one.
        let between = [self.time[at - 1], self.time[at]];
        Some(Drop { between, from, to, cause: self.cause(record, at) })
    }

    /// Why a drop that is not seen may be there all the same; none: it is not.
    fn too_few(&self) -> Option<String> {
        let count = self.time.len();
        ((count as f64) < WINDOWS_MIN)
            .then(|| format!("{count} windows, and {WINDOWS_MIN:.0} are needed"))
    }

    /// What held: a limit of power where watts say so, and every other one that was seen in the last window before
    /// the drop or in the first one after it.
    fn cause(&self, record: &Record, at: usize) -> String {
        let power = self.power_limit(record, at);
        let when = [self.time[at - 1], self.time[at]];
        let new = self.has(record, &when).filter(|label| power.is_none() || !is_power(label));
        let named = in_order(new.map(|label| format!("{label} was seen then")));
        let parts: Vec<String> = power.iter().cloned().chain(named).collect();
        if parts.is_empty() { "cause not known".to_owned() } else { parts.join("; ") }
    }

    /// A drop from one limit of power to the other, where power was at both.
    fn power_limit(&self, record: &Record, at: usize) -> Option<String> {
        let power = self.power.as_ref()?;
        let before = median(power.get(..at)?)?;
        // The window in which it happened holds some of both.
        let after = median(power.get(at + 1..)?)?;
        let [long, short] = [PowerTerm::Long, PowerTerm::Short].map(|term| watts(record, term));
        if !is_near(after, long) {
            return None;
        }
        let from = if is_near(before, short) { "PL2" } else { "more" };
        Some(format!("{from} to PL1 ({before:.0} to {after:.0} W)"))
    }

    /// Whether registers would have said that power is limited, and none did in the whole run.
    fn is_denied(&self, record: &Record) -> bool {
        let Some(clock) = &record.clock else { return false };
        let mut held = clock.reasons.iter().filter(|it| it.held());
        tell_of_power(&clock.asked)
            && !self.has(record, &[]).any(|limit| is_power(limit))
            && !held.any(|it| is_power(&it.label))
    }

    /// What was seen to hold in a window: the limit of power that its watts are at, and what came up then.
    fn seen(&self, record: &Record, at: usize) -> Vec<LimitEvidence> {
        let drawn = self.power.as_ref().and_then(|power| power.get(at)).copied();
        // Without registers other limits may hold as well, which nobody states.
        let mut unread: Vec<&str> =
            record.clock.iter().flat_map(|it| &it.unread).map(|it| it.what.as_str()).collect();
        // Registers may state that of other CPUs alone.
        let mut of_others = record.machine.turbo_limits.iter().peekable();
        if of_others.peek().is_some() && of_others.all(|it| !it.cpus.contains(self.series.cpu)) {
            unread.push(clock_account::ACTIVE_CORES);
        }
        let by_watts = drawn.filter(|_| !self.is_denied(record)).and_then(|drawn| {
            let mut terms = [(PowerTerm::Long, "pl1"), (PowerTerm::Short, "pl2")].into_iter();
            let at_limit = |(term, id): (PowerTerm, &str)| {
                let limit = watts(record, term).filter(|it| is_near(drawn, Some(*it)))?;
                let mut label = format!("{} {limit:.0} W", term.word());
                let mut evidence = format!("{drawn:.0} W in that window");
                if !unread.is_empty() {
                    label.push_str(", or what is not known");
                    let _ = write!(
                        evidence,
                        "; {} may be part of it: not read here",
                        unread.join(", ")
                    );
                }
                Some(LimitEvidence { id: id.to_owned(), label, evidence })
            };
            terms.find_map(at_limit)
        });
        let labels = in_order(self.has(record, &self.time[at..=at]));
        let came_up = labels.into_iter().filter(|it| by_watts.is_none() || !is_power(it));
        let seen = |label: &String| {
            let mut reasons = record.clock.iter().flat_map(|clock| &clock.reasons);
            let known = reasons.find(|it| it.label == *label).map(|it| it.id.clone());
            let (id, evidence) = (known.unwrap_or(label.replace(' ', "-")), "seen in that window");
            LimitEvidence { id, label: label.clone(), evidence: evidence.to_owned() }
        };
        by_watts.iter().cloned().chain(came_up.map(seen)).collect()
    }
}

/// Whether registers that were asked say when power is limited: that of AMD's CPUs knows no reasons.
fn tell_of_power(asked: &[String]) -> bool {
    clock_account::STATUS.iter().all(|status| asked.iter().any(|asked| asked == status))
}

/// Whether what was seen is one of the limits of power.
fn is_power(limit: &str) -> bool {
    limit.starts_with("power") || limit.starts_with("PL")
}

/// A limit of power of all packages together, where there is one.
fn watts(record: &Record, term: PowerTerm) -> Option<f64> {
    let limits = record.clock.iter().flat_map(|clock| &clock.power);
    let mine = limits.filter(|limit| limit.term == term && limit.enabled);
    mine.filter_map(|limit| limit.watts).reduce(|a, b| a + b)
}

fn is_near(watts: f64, limit: Option<f64>) -> bool {
    limit.is_some_and(|limit| (watts / limit - 1.0).abs() <= AT_LIMIT)
}

/// The clocks of the first window and of the last one of each stream, for their accounts.
pub(super) fn clocked<'a>(record: &'a Record) -> Vec<Clocked<'a>> {
    let soaked = soaked(record);
    let of = |it: &Soaked<'a>| {
        let mut light = soaked.iter().filter(|other| other.group() == it.group());
        let light = light.find(|it| it.stream == LIGHT);
        let group = it.group().map_or(String::new(), |cpus| format!(", CPUs {cpus}"));
        let moment = |(at, moment): (usize, &'static str), of_light: Option<f64>| {
            let moment = format!("{moment}{group}");
            let lighter = of_light.filter(|_| it.stream != LIGHT);
            let lighter = lighter.map(|hertz| Lighter { name: LIGHT, hertz });
            let of = Clocked::of_series(it.series, it.stream, &moment, it.clock[at]);
            let gaps = it.lost.as_ref().and_then(|lost| lost.get(at)).copied();
            let gaps = gaps.map(|share| (share, "rounds of that window longer than the others"));
            Clocked { lighter, seen: Some(it.seen(record, at)), gaps, ..of }
        };
        let last = it.clock.len() - 1;
        let of_light = |of: fn(&[f64]) -> Option<&f64>| of(&light?.clock).copied();
        [
            moment((0, "first window"), of_light(<[f64]>::first)),
            moment((last, "last window"), of_light(<[f64]>::last)),
        ]
    };
    soaked.iter().flat_map(of).collect()
}

/// The limit of power that the lightest stream was at on all cores, by watts: `PL1 28 W (28 W in that window)`.
pub(super) fn light_at_limit(record: &Record) -> Option<String> {
    let soaked = soaked(record);
    let light = soaked.iter().filter(|it| it.stream == LIGHT);
    light.into_iter().find_map(|it| {
        let mut seen = (0..it.clock.len()).rev().flat_map(|at| it.seen(record, at));
        let limit = seen.find(|it| ["pl1", "pl2"].contains(&it.id.as_str()))?;
        Some(format!("{} ({})", limit.label, limit.evidence))
    })
}

impl Drop {
    /// `between 4.0 and 6.0 s`, with as many decimals as tell both apart.
    fn when(&self) -> String {
        let [from, to] = self.between;
        let decimals = (-((to - from) / 2.0).log10()).ceil().clamp(1.0, 4.0) as usize;
        format!("between {from:.decimals$} and {to:.decimals$} s")
    }
}

/// One of the lines over time, where it is known.
type SoakLine = fn(&Soaked<'_>) -> Option<Vec<f64>>;

/// Table and lines; nothing where nothing was sustained.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let soaked = soaked(record);
    if soaked.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Heat".to_owned()), table(record, &soaked)];
    let clock: SoakLine = |it| Some(it.clock.iter().map(|hertz| hertz / 1e6).collect());
    let of_clock = "Clock of all cores over time";
    blocks.extend(lines(soaked.iter(), of_clock, "MHz", Soaked::name, clock));
    // Of all groups of CPUs together.
    let mut each = soaked;
    each.dedup_by_key(|it| it.stream);
    let plots: [(&str, &str, SoakLine); 2] = [
        ("power of all packages over time (lower is better at one clock)", "W", |it| {
            it.power.clone()
        }),
        ("Temperature over time, hottest sensor", "°C", |it| it.temperature.clone()),
    ];
    for (caption, unit, of) in plots {
        blocks.extend(lines(each.iter(), caption, unit, |it| it.stream.to_owned(), of));
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
        let drop = match (it.drop(record), it.too_few()) {
            (Some(drop), _) => {
                let (from, to) = (drop.from / 1e6, drop.to / 1e6);
                format!("{}: {from:.0} to {to:.0} MHz, {}", drop.when(), drop.cause)
            }
            (None, Some(_)) => "unavailable".to_owned(),
            (None, None) => "none seen".to_owned(),
        };
        vec![
            it.name().into(),
            mhz(0).into(),
            mhz(1).into(),
            kept.into(),
            change(&it.power, "W"),
            change(&it.temperature, "°C"),
            drop.into(),
        ]
    };
    // Times are the middles of windows of equal length.
    let windows = soaked[0].time.len() as f64;
    let last = soaked[0].time.last().copied().unwrap_or(0.0);
    let long = si::run_length(last * windows / (windows - 0.5));
    let streams = in_order(soaked.iter().map(|it| it.stream));
    let others = if streams.len() > 1 { " after the other" } else { "" };
    // Of a steady clock the same for all streams.
    let leasts = in_order(soaked.iter().map(|it| format!("{:.1}", least(&it.clock) * 100.0)));
    let least = leasts.join(" % or ").replace("2.0", "2") + " %";
    Table::of(format!(
        "all cores under one stream{others}, {long}: the first window and the last one"
    ))
    .left("stream")
    .right("first MHz")
    .right("last MHz")
    .right("kept")
    .right("power")
    .right("temperature")
    .left("first drop")
    .rows(soaked.iter().map(row))
    .notes([format!("a drop is a clock that stays {least} below what it was before")])
    .legend(soaked.iter().filter_map(|it| untold(record, it)))
    .legend(in_order(soaked.iter().filter_map(|it| rested(record, it))))
    .into()
}

/// Why nobody knows whether the clock of a stream dropped.
fn untold(record: &Record, soaked: &Soaked<'_>) -> Option<String> {
    let why = soaked.too_few().filter(|_| soaked.drop(record).is_none())?;
    Some(format!("first drop of {} unavailable: {why}", soaked.name()))
}

/// How long the machine rested before a stream, and whether power had forgotten the one before.
fn rested(record: &Record, soaked: &Soaked<'_>) -> Option<String> {
    let rest = soaked.rest?;
    let stream = soaked.stream;
    let limits = || record.clock.iter().flat_map(|clock| &clock.power);
    let is_told = limits().any(|limit| limit.term == PowerTerm::Long);
    let said = si::run_length;
    let enough = match time_constant(limits()) {
        None if is_told => "there is no PL1 that remembers".to_owned(),
        None => "how long PL1 remembers is not known".to_owned(),
        Some(constant) if rest >= TIME_CONSTANTS * constant => {
            format!("PL1 remembers {}", said(constant))
        }
        Some(constant) => {
            format!("PL1 remembers {}: it may begin below what it had alone", said(constant))
        }
    };
    Some(format!("the machine rested for {} before {stream}; {enough}", said(rest)))
}

/// Each window from its beginning to its end: what happened between two of them is no ramp.
fn in_steps(middles: &[f64], values: &[f64]) -> Vec<(f64, f64)> {
    let between = middles.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
    let between: Vec<f64> = between.collect();
    let (Some(first), Some(last)) = (middles.first(), middles.last()) else { return Vec::new() };
    let outer = |middle: &f64, inner: Option<&f64>| inner.map_or(*middle, |it| 2.0 * middle - it);
    let begin = outer(first, between.first()).max(0.0);
    let end = outer(last, between.last());
    let begins = std::iter::once(begin).chain(between.iter().copied());
    let ends = between.iter().copied().chain([end]);
    let windows = std::iter::zip(begins, ends).zip(values);
    windows.flat_map(|((begin, end), value)| [(begin, *value), (end, *value)]).collect()
}

fn lines<'a>(
    soaked: impl Iterator<Item = &'a Soaked<'a>>,
    caption: &str,
    unit: &str,
    name: impl Fn(&'a Soaked<'a>) -> String,
    of: SoakLine,
) -> Option<Block> {
    let line = |it: &'a Soaked<'a>| Some((name(it), in_steps(&it.time, &of(it)?)));
    let lines: Vec<(String, Vec<(f64, f64)>)> = soaked.filter_map(line).collect();
    (!lines.is_empty()).then(|| {
        Block::Lines(Lines {
            caption: caption.to_owned(),
            x: "s".to_owned(),
            y: unit.to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            reach: None,
            lines,
            marks: Vec::new(),
        })
    })
}

/// A clock that fell under a stream.
pub(super) fn findings(record: &Record) -> Vec<Finding> {
    let of = |it: &Soaked<'_>| {
        let drop = it.drop(record)?;
        Some(Finding::note(
            "turbo.clock-drops",
            it.about(),
            format!(
                "{} after its beginning the clock fell from {:.0} to {:.0} MHz and stayed there: {}",
                drop.when(),
                drop.from / 1e6,
                drop.to / 1e6,
                drop.cause
            ),
        ))
    };
    let mut soaked = soaked(record);
    let mut all: Vec<Finding> = soaked.iter().filter_map(of).collect();
    all.extend(soaked.iter().filter_map(few));
    soaked.dedup_by_key(|it| it.stream);
    all.extend(soaked.iter().filter_map(disturbed));
    all
}

/// Others had the CPUs of a stream for more of its time than an idle machine takes.
fn disturbed(soaked: &Soaked<'_>) -> Option<Finding> {
    const LOST_MAX: f64 = 0.05;
    let lost = median(soaked.lost.as_ref()?).filter(|lost| *lost > LOST_MAX)?;
    let text = format!(
        "{:.0} % of the time of its windows was taken away: its clock is that of the rest, in which others heat \
             the cores",
        lost * 100.0
    );
    Some(
        Finding::warning(
            "turbo.windows-disturbed",
            format!("{} on all cores", soaked.stream),
            text,
        )
        .remedy("stop other work on these CPUs".to_owned()),
    )
}

/// Too few windows to tell a drop from a disturbance.
fn few(soaked: &Soaked<'_>) -> Option<Finding> {
    let count = soaked.time.len();
    let text = || {
        format!(
            "its time has {count} windows instead of {WINDOWS_MIN:.0}, because somebody else had the CPUs, or it was \
             ended early: a drop near one of its ends is not seen"
        )
    };
    ((count as f64) < WINDOWS_MIN).then(|| {
        Finding::warning("turbo.few-windows", soaked.about(), text())
            .remedy("stop other work, or sustain it for longer: --sustain 60s".to_owned())
    })
}

#[cfg(test)]
mod tests;
