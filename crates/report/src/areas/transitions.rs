//! Transitions as people read them: what the payload causes, what the machine loses anyway, and the timeline.

use model::page::{Block, Lines, Mark, Scale, Table, Text, Tone, si};
use model::record::{Outcome, Record, Series};
use model::stats::median;
use model::{Finding, Unavailable, Unit, in_order};

use super::Section;
use super::turbo::clocked::{Clocked, Lighter};
use super::turbo::read::{HIDDEN, is_same_core, rows};
use super::turbo::{AREA, published_licences};
use model::areas::STREAM;
use model::areas::transitions::{
    self, AT, BIN, BURST_US, CORE, CORE_TYPE, FOLDED_CLOCK, FOLDED_TIME, GAP, GAP_RATE, GAP_SHARE,
    HALT, HALT_SHARE, HOLD, HOLD_VISIBLE, LOADED, LOOKED, LOW, OTHER, OWN, PASS, PERIOD_US, QUIET,
    RELAXED, THROTTLED, THROTTLED_RATIO, THROTTLED_VISIBLE, VISIBLE, VISIBLE_BESIDE,
};

/// What it says: its blocks stand within those of clocks.
pub const SECTION: Section = Section { findings, ..Section::of(transitions::AREA, |_| Vec::new()) };

/// How the gaps were seen that its bursts have, too.
const GAPS_WITHOUT: &str = "gaps of its core without the stream, before and after it";

fn parameter<'a>(series: &'a Series, key: &str) -> &'a str {
    series.parameters.get(key).map_or("", String::as_str)
}

/// A stream in a duty cycle, as one core saw it.
#[derive(Clone, Copy)]
struct TracedCore<'a> {
    record: &'a Record,
    /// The series that every such core has.
    first: &'a Series,
}

/// The cores that streams were followed on, in the order of the run, each before the one beside it.
fn watched(record: &Record) -> Vec<TracedCore<'_>> {
    let mut all: Vec<TracedCore<'_>> = record
        .series_of(AREA, VISIBLE)
        .filter(|first| first.summary().is_some())
        .map(|first| TracedCore { record, first })
        .collect();
    let names = in_order(all.iter().map(TracedCore::name));
    all.sort_by_key(|it| (names.iter().position(|name| *name == it.name()), !it.is_own()));
    all
}

impl<'a> TracedCore<'a> {
    fn is_own(&self) -> bool {
        parameter(self.first, CORE) == OWN
    }

    /// The stream, with the type of core where there are several.
    fn name(&self) -> String {
        match self.first.parameters.get(CORE_TYPE) {
            Some(kind) => format!("{} on {kind}", parameter(self.first, STREAM)),
            None => parameter(self.first, STREAM).to_owned(),
        }
    }

    /// Which core it is: what the probes say goes before what the kernel lists.
    fn core(&self) -> String {
        let word = match parameter(self.first, CORE) {
            OTHER if is_same_core(self.first) => HIDDEN,
            word => word,
        };
        format!("{word}, CPU {}", self.first.cpu)
    }

    fn of(&self, quantity: &'static str) -> Vec<&'a Series> {
        let alike = |series: &&Series| {
            [STREAM, CORE_TYPE, CORE]
                .iter()
                .all(|key| parameter(series, key) == parameter(self.first, key))
        };
        self.record.series_of(AREA, quantity).filter(alike).collect()
    }

    fn number(&self, quantity: &'static str) -> Option<f64> {
        self.of(quantity).first()?.summary().map(|summary| summary.median)
    }

    fn reason(&self, quantity: &'static str) -> Option<&'a Unavailable> {
        self.of(quantity).into_iter().find_map(|series| match &series.outcome {
            Outcome::Unavailable { unavailable } => Some(unavailable),
            Outcome::Measured { .. } => None,
        })
    }

    /// Those of some events with numbers, each with a number of another quantity at the same phase.
    fn events(&self, quantity: &'static str, with: &'static str) -> Vec<PhaseEvent<'a>> {
        let others = self.of(with);
        let event = |series: &&'a Series| {
            let at = parameter(series, AT);
            let same = others.iter().find(|it| parameter(it, AT) == at)?;
            Some(PhaseEvent { at, length: series.summary()?.median, with: same.summary()?.median })
        };
        self.of(quantity).iter().filter_map(event).collect()
    }

    fn clocked(&self) -> Option<Clocked<'a>> {
        let series = self.of(LOW).into_iter().next()?;
        let (clock, stream) = (series.summary()?.median, series.parameters.get(STREAM)?);
        let without = |hertz| Lighter { name: "the core without it", hertz };
        let lighter = self.number(RELAXED).map(without);
        let of = Clocked::of_series(series, stream, "in its bursts", clock);
        // With the stream, its halts are among the gaps.
        let mut gaps = self.of(GAP_SHARE).into_iter();
        let gaps = gaps.find(|it| parameter(it, PASS) == QUIET).and_then(|it| it.summary());
        let gaps = gaps.map(|share| (share.median, GAPS_WITHOUT));
        Some(Clocked { lighter, halted: self.halted(), gaps, ..of })
    }

    /// The share of a burst in which the core halts, and what says so.
    fn halted(&self) -> Option<(f64, String)> {
        let us = |text: &str| text.parse::<f64>().ok();
        let burst = us(parameter(self.first, BURST_US))?;
        let within = |it: &PhaseEvent<'_>| {
            let left = burst - us(it.at)?;
            Some((it.length * 1e6).min(left).max(0.0) * it.with)
        };
        let halted: f64 = self.halts().iter().filter_map(within).sum();
        let evidence = format!("halts at the same phase of each burst, {halted:.2} of {burst} us");
        (halted > 0.0).then_some((halted / burst, evidence))
    }

    fn halts(&self) -> Vec<PhaseEvent<'a>> {
        self.events(HALT, HALT_SHARE)
    }

    fn throttled(&self) -> Vec<PhaseEvent<'a>> {
        self.events(THROTTLED, THROTTLED_RATIO)
    }
}

/// Something at one phase of most periods.
struct PhaseEvent<'a> {
    /// When, in microseconds.
    at: &'a str,
    /// How long, in seconds.
    length: f64,
    /// The share of periods that have it, or how much longer adds take.
    with: f64,
}

/// The clock of each stream while it ran, for its account: what the core has without it is lighter.
pub(super) fn clocked(record: &Record) -> Vec<Clocked<'_>> {
    watched(record).iter().filter(|it| it.is_own()).filter_map(TracedCore::clocked).collect()
}

/// Tables and timelines; nothing where nothing was followed.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let watched = watched(record);
    if watched.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Transitions".to_owned()), events(record, &watched)];
    blocks.push(gaps(&watched));
    for own in watched.iter().filter(|it| it.is_own()) {
        let both: Vec<TracedCore<'_>> =
            watched.iter().copied().filter(|it| it.name() == own.name()).collect();
        blocks.extend(timeline(own, &both, None));
        blocks.extend(timeline(own, &both, Some(BEGINNING)));
    }
    blocks
}

fn time(seconds: f64) -> String {
    si::format(seconds, Unit::Second)
}

/// A length that is told in whole bins: more digits would say what nobody saw.
fn in_bins(seconds: f64) -> String {
    format!("{:.0} us", seconds * 1e6)
}

/// The same with how well it is known.
fn to_a_bin(seconds: f64) -> String {
    format!("{:.0} ± {}", seconds * 1e6, in_bins(BIN))
}

/// What stands where there is a reason instead of a number; the reason is in a note.
const UNAVAILABLE: &str = "unavailable";

/// `11.00 us at 9 us, in 100 % of periods`.
fn halts(of: &TracedCore<'_>) -> String {
    let say = |it: &PhaseEvent<'_>| {
        format!("{} at {} us, in {:.0} % of periods", time(it.length), it.at, it.with * 100.0)
    };
    let said: Vec<String> = of.halts().iter().map(say).collect();
    let least = of.number(VISIBLE).zip(of.number(LOOKED));
    // What throttled dispatch may have made of looks is taken for no halt.
    let beside = of.number(VISIBLE_BESIDE);
    let beside =
        beside.map_or(String::new(), |it| format!(" ({} beside throttled looks)", time(it)));
    let least = least.map(|(it, periods)| format!("{}{beside}, {periods:.0} periods", time(it)));
    seen(&said, least.filter(|_| of.reason(HALT).is_none()))
}

/// What was seen, and what of others could have been; no least: that is unavailable.
fn seen(said: &[String], least: Option<String>) -> String {
    match (said, least) {
        ([], Some(least)) => format!("none seen above {least}"),
        ([], None) => UNAVAILABLE.to_owned(),
        (said, Some(least)) => format!("{}; no others above {least}", said.join("; ")),
        (said, None) => format!("{}; others {UNAVAILABLE}", said.join("; ")),
    }
}

fn throttled(of: &TracedCore<'_>) -> String {
    let say = |it: &PhaseEvent<'_>| {
        let length = to_a_bin(it.length);
        format!("{length} at {} us, adds take {:.1} times as long", it.at, it.with)
    };
    let said: Vec<String> = of.throttled().iter().map(say).collect();
    let least = of.number(THROTTLED_VISIBLE).filter(|_| of.reason(THROTTLED).is_none());
    seen(&said, least.map(in_bins))
}

fn hold(of: &TracedCore<'_>) -> String {
    let clocks = of.number(LOW).zip(of.number(RELAXED));
    let clocks = clocks.map(|(low, high)| format!("{:.0} of {:.0} MHz", low / 1e6, high / 1e6));
    match (of.number(HOLD), clocks, of.number(HOLD_VISIBLE)) {
        (Some(length), Some(clocks), _) => format!("{} after it, at {clocks}", to_a_bin(length)),
        (None, Some(clocks), _) if of.reason(HOLD).is_some() => {
            format!("not back within the period: {clocks}")
        }
        (.., Some(visible)) => format!("no lower clock seen above {:.1} %", visible * 100.0),
        _ if of.reason(HOLD_VISIBLE).is_some() => UNAVAILABLE.to_owned(),
        _ => "-".to_owned(),
    }
}

fn events(record: &Record, watched: &[TracedCore<'_>]) -> Block {
    let row = |of: &TracedCore<'_>| -> Vec<Text> {
        let cells = [of.name(), of.core(), halts(of), throttled(of), hold(of)];
        cells.map(Text::from).to_vec()
    };
    let layout = watched.first().map_or(String::new(), |of| {
        let (burst, period) = (parameter(of.first, BURST_US), parameter(of.first, PERIOD_US));
        format!(": {burst} us in each {period} us")
    });
    let method = "a halt counts only where it comes at the same phase in 80 % of the periods that were looked at then, of 50 \
         and more; adds that are held up while multiplies are not are throttled dispatch, and no clock";
    let mut legend = Vec::new();
    for of in watched {
        for (what, quantity) in
            [("halts", HALT), ("throttled", THROTTLED), ("low clock", HOLD_VISIBLE)]
        {
            let reason = of.reason(quantity).into_iter();
            legend.extend(reason.map(|it| {
                format!("{what} of {} ({}) unavailable: {}", of.name(), of.core(), it.why)
            }));
        }
    }
    if record.is_guest() {
        legend.push(
            "this is a guest: what its host takes away comes at any phase, and is among the gaps below"
                .to_owned(),
        );
    }
    legend.extend(not_followed(record, watched));
    Table::of(format!("Effects of a stream in a duty cycle{layout}"))
        .label("stream")
        .label("core")
        .left("halts")
        .left("throttled")
        .left("low clock")
        .rows(watched.iter().map(row))
        .legend(legend)
        .notes([method])
        .notes(published_licences::transition(record))
        .into()
}

/// That other streams of the run were not followed, and who does that.
fn not_followed(record: &Record, watched: &[TracedCore<'_>]) -> Option<String> {
    let is_followed = |id: &str| watched.iter().any(|it| parameter(it.first, STREAM) == id);
    let others = rows(record).iter().any(|row| !is_followed(row.workload));
    others.then(|| {
        "the heaviest stream is followed alone: `cpudyno turbo --trace STREAM` follows any other"
            .to_owned()
    })
}

/// What the machine loses anyway, beside what is lost with the payload.
fn gaps(watched: &[TracedCore<'_>]) -> Block {
    let mut rows: Vec<Vec<Text>> = Vec::new();
    let names = in_order(watched.iter().map(TracedCore::name));
    for (name, pass) in names.iter().flat_map(|name| [QUIET, LOADED].map(|pass| (name, pass))) {
        for core in watched.iter().filter(|it| it.name() == *name) {
            let of = |quantity| {
                let mut all = core.of(quantity).into_iter();
                all.find(|it| parameter(it, PASS) == pass).and_then(|series| series.summary())
            };
            let (Some(rate), Some(share)) = (of(GAP_RATE), of(GAP_SHARE)) else { continue };
            let gap = of(GAP);
            let of_gap = |value: fn(&model::stats::Summary) -> f64| {
                gap.map_or(Text::toned("-", Tone::Faint), |it| time(value(it)).into())
            };
            rows.push(vec![
                core.name().into(),
                pass.into(),
                core.core().into(),
                core.number(VISIBLE).map_or(String::from("-"), time).into(),
                format!("{:.0}", rate.median).into(),
                format!("{:.1} %", share.median * 100.0).into(),
                of_gap(|summary| summary.median),
                of_gap(|summary| summary.max),
            ]);
        }
    }
    Table::of("Gaps in execution")
        .label("stream")
        .label("pass")
        .label("core")
        .right("above")
        .right("gaps per second")
        .right("time missing")
        .right("median")
        .right("longest")
        .rows(rows)
        .notes(["time missing is that of all gaps longer than 1 us"])
        .into()
}

/// What of a period is drawn a second time, in microseconds: transitions begin with the stream.
const BEGINNING: f64 = 100.0;

/// The clock by phase, of both cores: all of the period, or its beginning.
fn timeline(own: &TracedCore<'_>, both: &[TracedCore<'_>], until: Option<f64>) -> Option<Block> {
    /// More points than this fall onto each other.
    const POINTS: usize = 250;
    let is_drawn = |at: f64| until.is_none_or(|until| at < until);
    let mut reach: Option<f64> = None;
    let mut line = |core: &TracedCore<'_>| {
        let samples = |quantity| Some(core.of(quantity).first()?.samples()?.all());
        let (time, clock) = (samples(FOLDED_TIME)?, samples(FOLDED_CLOCK)?);
        let drawn = time.iter().filter(|at| is_drawn(**at * 1e6)).count();
        let size = drawn.div_ceil(POINTS).max(1);
        // Where a bin is missing, nobody saw a clock: the core halted, or its dispatch was throttled.
        let bin = time.windows(2).map(|pair| pair[1] - pair[0]).reduce(f64::min);
        reach =
            bin.map(|bin| 1.5 * bin * size as f64 * 1e6).into_iter().chain(reach).reduce(f64::max);
        let chunks = std::iter::zip(time[..drawn].chunks(size), clock[..drawn].chunks(size));
        let point =
            |(time, clock): (&[f64], &[f64])| Some((median(time)? * 1e6, median(clock)? / 1e6));
        let points: Vec<(f64, f64)> = chunks.filter_map(point).collect();
        (!points.is_empty()).then(|| (core.core(), points))
    };
    let lines: Vec<(String, Vec<(f64, f64)>)> = both.iter().filter_map(&mut line).collect();
    let span = until.map_or(String::new(), |until| format!(", the first {until:.0} us"));
    (!lines.is_empty()).then(|| {
        Block::Lines(Lines {
            caption: format!("Clock since {} began, all periods folded{span}", own.name()),
            x: "us".to_owned(),
            y: "MHz".to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            reach,
            lines,
            marks: marks(own).into_iter().filter(|mark| is_drawn(mark.at)).collect(),
        })
    })
}

/// What happens to the core of the stream, and when that ends.
fn marks(own: &TracedCore<'_>) -> Vec<Mark> {
    let at = |text: &str| text.parse::<f64>().ok();
    let halt = |it: &PhaseEvent<'_>| {
        let text = format!("halt of {} at {} us", time(it.length), it.at);
        Some(Mark { at: at(it.at)?, text })
    };
    let throttled = |it: &PhaseEvent<'_>| {
        let text = format!("throttled for {} from {} us on", in_bins(it.length), it.at);
        Some(Mark { at: at(it.at)?, text })
    };
    let burst = parameter(own.first, BURST_US);
    let end = at(burst).map(|at| Mark { at, text: format!("the stream ends at {burst} us") });
    let halts = own.halts();
    let of_throttled = own.throttled();
    let mut marks: Vec<Mark> =
        of_throttled.iter().filter_map(throttled).chain(halts.iter().filter_map(halt)).collect();
    marks.extend(end);
    marks
}

/// A transition that was seen.
pub(super) fn findings(record: &Record) -> Vec<Finding> {
    let seen = |of: &TracedCore<'_>| {
        // A clock that was not back within the period has a reason instead of a length.
        let any = !of.halts().is_empty() || !of.throttled().is_empty() || !of.of(HOLD).is_empty();
        any.then(|| {
            Finding::note(
                "turbo.transition",
                if of.is_own() { of.name() } else { format!("{}, {}", of.name(), of.core()) },
                format!(
                    "halts: {}; throttled: {}; low clock: {}",
                    halts(of),
                    throttled(of),
                    hold(of)
                ),
            )
        })
    };
    watched(record).iter().filter_map(seen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::areas::turbo::accounts;
    use crate::testing::{blank, near, promise, series};

    /// A number of a stream in bursts of 100 us, as its own core has it.
    fn seen(quantity: &str, more: &[(&str, &str)], values: &[f64]) -> Series {
        let own = [(STREAM, "avx512_fma_t"), (CORE, OWN), (BURST_US, "100"), (PERIOD_US, "1000")];
        let parameters = [&own[..], more].concat();
        series([AREA, transitions::WORKLOAD, quantity], "0", &parameters, &[values])
    }

    fn record(more: Vec<Series>) -> Record {
        Record { series: [vec![seen(VISIBLE, &[], &[1e-6])], more].concat(), ..blank() }
    }

    /// 10 us at 5 us of the burst in nine of ten periods, and 20 us at 95 us in all of them.
    fn halts() -> Vec<Series> {
        let halt = |at: &str, length: f64, share: f64| {
            [seen(HALT, &[(AT, at)], &[length]), seen(HALT_SHARE, &[(AT, at)], &[share])]
        };
        [halt("5", 10e-6, 0.9), halt("95", 20e-6, 1.0)].concat()
    }

    #[test]
    fn halts_count_within_the_burst_by_their_share_of_periods() {
        let record = record(halts());
        let own = watched(&record)[0];
        let lengths: Vec<f64> = own.halts().iter().map(|it| it.length).collect();
        assert_eq!(lengths, [10e-6, 20e-6]);
        // 10 us x 0.9, and 5 us until the burst ends at 100 us: 14 of 100 us.
        near(own.halted().unwrap().0, 0.14);
    }

    #[test]
    fn throttled_dispatch_is_paired_with_its_ratio_by_phase() {
        let record = record(vec![
            seen(THROTTLED_RATIO, &[(AT, "40")], &[2.0]),
            seen(THROTTLED, &[(AT, "0")], &[9e-6]),
            seen(THROTTLED_RATIO, &[(AT, "0")], &[4.0]),
            seen(THROTTLED, &[(AT, "20")], &[6e-6]),
        ]);
        let events = watched(&record)[0].throttled();
        // That at 20 us has no ratio, and the ratio at 40 us no length.
        let found: Vec<(&str, f64, f64)> =
            events.iter().map(|it| (it.at, it.length, it.with)).collect();
        assert_eq!(found, [("0", 9e-6, 4.0)]);
    }

    #[test]
    fn account_of_bursts_has_halts_and_the_gaps_without_the_stream() {
        let mut more = halts();
        more.extend([seen(LOW, &[], &[3000e6]), seen(RELAXED, &[], &[3500e6])]);
        more.extend([
            seen(GAP_SHARE, &[(PASS, LOADED)], &[0.2]),
            seen(GAP_SHARE, &[(PASS, QUIET)], &[0.02]),
        ]);
        let mut record = record(more);
        promise(&mut record, "0", &[(1, 3500.0)]);
        let [account] = &accounts(&record)[..] else { panic!("one stream") };
        let steps: Vec<(&str, f64)> =
            account.steps.iter().map(|it| (it.id.as_str(), (it.hertz / 1e6).round())).collect();
        // 3,500 - 3,000; 14 % of 3,000 and 2 % of 3,000: the gaps with the stream have its halts in them.
        assert_eq!(steps, [("heavier", 500.0), ("halted", 420.0), ("taken", 60.0)]);
        near(account.delivered, 2520e6);
    }

    #[test]
    fn timeline_of_many_bins_has_the_median_of_each_pair() {
        // 500 bins of 2 us, their clocks in turn 3,000 and 3,100 MHz.
        let time: Vec<f64> = (0..500).map(|bin| (2.0 * f64::from(bin) + 1.0) * 1e-6).collect();
        let clock: Vec<f64> = (0..500).map(|bin| 3000e6 + f64::from(bin % 2) * 100e6).collect();
        let record = record(vec![seen(FOLDED_TIME, &[], &time), seen(FOLDED_CLOCK, &[], &clock)]);
        let watched = watched(&record);
        let drawn = |until| match timeline(&watched[0], &watched, until) {
            Some(Block::Lines(it)) => (it.lines[0].1.clone(), it.reach.unwrap()),
            _ => panic!("there are bins"),
        };
        // 250 points of two bins each: at the middle of 1 and 3 us, 3,050 MHz. Three halves of 4 us are joined.
        let (points, reach) = drawn(None);
        assert_eq!(points.len(), 250);
        near(points[0].0, 2.0);
        near(points[0].1, 3050.0);
        near(reach, 6.0);
        // The first 100 us have 50 bins, each a point: at 1 us, 3,000 MHz.
        let (points, reach) = drawn(Some(BEGINNING));
        assert_eq!(points.len(), 50);
        near(points[0].0, 1.0);
        near(points[0].1, 3000.0);
        near(reach, 3.0);
    }
}
