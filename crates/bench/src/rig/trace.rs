//! Traces: a payload in a duty cycle, looked at about every microsecond, and what the looks say together.
//!
//! A look is a short chain of adds and a short chain of multiplies between three stamps. A lower clock makes both
//! longer alike. Throttled dispatch, which lets ops begin in one cycle of four, makes the adds four times as long
//! and the multiplies, of three cycles, a third longer: so the two are told apart, and such looks say nothing of
//! the clock. A halt is time that is in none of them. What the machine loses anyway comes at any time; what the
//! payload causes comes at the same time in each period, so that only what is there in most periods at one phase
//! is believed.

use std::collections::BTreeSet;

use model::stats::{median, quantile};
use model::ticks::Stamp;
use model::{CpuId, Rate, Seconds, Ticks};

use super::job::{Around, Load, Tools};

/// A payload in a duty cycle.
#[derive(Clone)]
pub struct Trace {
    /// Where the payload runs.
    pub cpu: CpuId,
    /// Where looks are taken, too, without a payload.
    pub beside: Option<CpuId>,
    /// What runs for the first part of each period; none: nothing, so that only the machine is seen.
    pub payload: Option<Load>,
    /// How long a period is.
    pub period: Seconds,
    /// For how long of it the payload runs.
    pub burst: Seconds,
    /// How many periods.
    pub periods: u32,
    /// The chains.
    pub tools: Tools,
}

impl Trace {
    /// The CPUs that it keeps busy; the payload's first.
    pub fn cpus(&self) -> Vec<CpuId> {
        std::iter::once(self.cpu).chain(self.beside).collect()
    }

    /// How long it takes, as planned.
    pub fn duration(&self) -> Seconds {
        self.period * f64::from(self.periods)
    }

    /// Looks that one CPU may take: more are not kept.
    pub fn room(&self) -> usize {
        (self.duration().0 / LOOK_LEAST.0).min(LOOKS_MAX) as usize
    }

    /// The least time from look to look, so that there is room for all: nothing, unless periods are long.
    pub fn pace(&self) -> Seconds {
        let all = self.duration() / LOOK_LEAST;
        if all > LOOKS_MAX { self.duration() / LOOKS_MAX } else { Seconds(0.0) }
    }
}

/// How long each chain of a look is.
pub const CHAIN: Seconds = Seconds(0.35e-6);
/// How long each piece of the payload between two looks is.
pub const PIECE: Seconds = Seconds(0.3e-6);

/// No look is shorter than this.
const LOOK_LEAST: Seconds = Seconds(0.5e-6);
/// More looks of a CPU than this are not worth their memory (40 bytes each, and 72 when they are numbers): as many
/// as the usual periods may have.
const LOOKS_MAX: f64 = 1_048_576.0;

/// A look, in stamps.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Before the adds, between, after the multiplies.
    pub stamps: [u64; 3],
    /// The longest time between two polls since the look before: its beginning and its end.
    pub waited: [u64; 2],
}

impl Look {
    fn first(&self) -> u64 {
        self.stamps[0]
    }

    /// Ticks from its beginning to its end.
    fn length(&self) -> u64 {
        self.stamps[2] - self.stamps[0]
    }
}

/// What one CPU saw.
#[derive(Debug, Clone)]
pub struct RawTraced {
    /// Where.
    pub cpu: CpuId,
    /// In the order of time.
    pub looks: Vec<Look>,
    /// Iterations of adds and of multiplies in each look.
    pub iterations: [u64; 2],
    /// What went on around it.
    pub around: Around,
}

/// What all CPUs saw.
#[derive(Debug, Clone)]
pub struct RawTrace {
    /// When the first period began.
    pub begun: Ticks<Stamp>,
    /// The payload's CPU first.
    pub cpus: Vec<RawTraced>,
}

/// What is known of a CPU's chains.
#[derive(Debug, Clone, Copy)]
pub struct Chains {
    /// Cycles of an iteration of adds and of multiplies.
    pub cycles: [f64; 2],
    /// What of a stretch is fixed: in seconds, and in iterations of each.
    pub null: f64,
    /// The same in iterations.
    pub fixed: [f64; 2],
    /// The clock without a payload by longer chains, in hertz; none: nothing tells.
    pub hertz: Option<f64>,
}

/// A look in numbers.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Which period.
    pub period: u32,
    /// Seconds since that began.
    pub phase: f64,
    /// The clock by the multiplies, in hertz.
    pub clock: f64,
    /// The clock that the adds would have, in hertz.
    pub adds: f64,
    /// How much longer the adds took than the clock by the multiplies says: 1 is as it should be.
    pub stretch: f64,
    /// Seconds before it that are missing.
    pub lost: f64,
    /// Where that began, if it ended with this look: seconds since the period began.
    pub lost_at: f64,
    /// Seconds that a look of its kind takes usually, with the payload before it.
    pub usual: f64,
}

/// A look in which adds are stretched by less than this, or by more, is no throttled dispatch.
const STRETCHED: std::ops::Range<f64> = 1.5..10.0;

/// A look whose two chains are farther apart than this saw no clock: dispatch was throttled in all of it or in
/// part, or something came between.
const AGREE: std::ops::Range<f64> = 0.85..1.5;

/// The numbers of one CPU's looks.
pub fn seen(
    raw: &RawTraced,
    job: &Trace,
    chains: Chains,
    begun: u64,
    rate: Rate<Stamp>,
) -> Vec<Seen> {
    let hertz = rate.hertz().0;
    let (period, burst) = (job.period.0, job.burst.0);
    let place = |stamp: u64| {
        let at = stamp.saturating_sub(begun) as f64 / hertz;
        let number = (at / period).floor();
        (number as u32, at - number * period)
    };
    let is_loaded = |phase: f64| job.payload.is_some() && raw.cpu == job.cpu && phase < burst;
    // What the first op of the first period costs lies before the first look.
    let start = Look { stamps: [begun; 3], waited: [begun; 2] };
    let before = std::iter::once(&start).chain(&raw.looks);
    let seconds = |ticks: u64| ticks as f64 / hertz;
    // Where looks wait for each other, time that is missing is in the look before or between two polls; else all of
    // it is in the way from look to look.
    let is_paced = job.pace().0 > 0.0;
    let steps: Vec<Step> = std::iter::zip(before, &raw.looks)
        .map(|(before, look)| {
            // The payload is in the step that ends in the burst, too.
            let loaded = [before, look].iter().any(|it| is_loaded(place(it.first()).1));
            let parts = if is_paced {
                [before.length(), look.waited[1].saturating_sub(look.waited[0])].map(seconds)
            } else {
                [seconds(look.first().saturating_sub(before.first())), 0.0]
            };
            Step { loaded, parts, begins: [before.first(), look.waited[0]] }
        })
        .collect();
    let usual = |loaded: bool| {
        [0, 1].map(|part| {
            let of = steps.iter().filter(|it| it.loaded == loaded).map(|it| it.parts[part]);
            median(&of.collect::<Vec<_>>()).unwrap_or(f64::INFINITY)
        })
    };
    let usual = [usual(false), usual(true)];
    let long = raw.looks.iter().map(|look| seconds(look.length()));
    let long = median(&long.collect::<Vec<_>>()).unwrap_or(f64::INFINITY);
    let one = |(look, step): (&Look, &Step)| {
        let stamps = look.stamps;
        let lengths = [stamps[1] - stamps[0], stamps[2] - stamps[1]].map(seconds);
        let cycles = |which: usize| {
            chains.cycles[which] * (raw.iterations[which] as f64 + chains.fixed[which])
        };
        let clocks = [0, 1].map(|which| cycles(which) / (lengths[which] - chains.null).max(1e-9));
        let usual = usual[usize::from(step.loaded)];
        let parts = [0, 1].map(|part| (step.parts[part] - usual[part]).max(0.0));
        let lost = parts[0] + parts[1];
        let (period, phase) = place(look.first());
        let lost_at = if is_paced {
            let begin = step.begins[usize::from(parts[1] > parts[0])];
            // What began in the period before is there when this one begins.
            Some(place(begin)).filter(|(number, _)| *number == period).map_or(0.0, |(_, at)| at)
        } else {
            (phase - lost).max(0.0)
        };
        Seen {
            period,
            phase,
            clock: clocks[1],
            adds: clocks[0],
            stretch: clocks[1] / clocks[0],
            lost,
            lost_at,
            usual: long + if step.loaded { PIECE.0 } else { 0.0 },
        }
    };
    let mut all: Vec<Seen> = std::iter::zip(&raw.looks, &steps).map(one).collect();
    let excess = raw.looks.iter().map(|look| (seconds(look.length()) - long).max(0.0));
    untangle(&mut all, &excess.collect::<Vec<_>>(), is_paced);
    all.retain(|seen| seen.period < job.periods);
    all
}

/// What throttled dispatch has made of the look before is no time that is missing. A halt within a look
/// stretches that one alone. Excess: by how much each look is longer than others, in seconds.
fn untangle(all: &mut [Seen], excess: &[f64], is_paced: bool) {
    for index in 2..all.len() {
        let before = [all[index - 2], all[index - 1]];
        if before.iter().all(|look| STRETCHED.contains(&look.stretch)) {
            let (look, excess) = (&mut all[index], excess[index - 1]);
            look.lost_at =
                if is_paced { look.lost_at } else { look.lost_at + excess.min(look.lost) };
            look.lost = (look.lost - excess).max(0.0);
        }
    }
}

/// The way from one look to the next.
struct Step {
    /// Whether the payload was on it.
    loaded: bool,
    /// What of it may be too long, in seconds: the look before and the longest time between polls, or all of it.
    parts: [f64; 2],
    /// When those began, in stamps.
    begins: [u64; 2],
}

/// Sets looks right by those without a payload: chains this short are longer by what of them is fixed, which is
/// known less well than they need it. `hertz` is the clock of that time, by longer chains.
pub fn set_right(seen: &mut [Seen], quiet: &[Seen], hertz: f64) {
    let typical = |of: fn(&Seen) -> f64| median(&quiet.iter().map(of).collect::<Vec<_>>());
    let (clock, adds) = (typical(|look| look.clock), typical(|look| look.adds));
    let Some((clock, adds)) = clock.zip(adds) else { return };
    for look in seen {
        look.clock *= hertz / clock;
        look.adds *= hertz / adds;
        look.stretch = look.clock / look.adds;
    }
}

/// Something that comes at the same phase in most periods.
#[derive(Debug, Clone, PartialEq)]
pub struct Halt {
    /// Seconds since the period began, the median.
    pub phase: f64,
    /// How long it is, one for each period that has it.
    pub lengths: Vec<f64>,
    /// In which share of periods it is there.
    pub share: f64,
}

/// Dispatch that is throttled at the same phase in most periods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttled {
    /// Where it begins, in seconds since the period began.
    pub phase: f64,
    /// How long it lasts.
    pub length: f64,
    /// How much longer adds take than without a payload.
    pub ratio: f64,
}

/// What the looks at one CPU say together.
#[derive(Debug, Clone)]
pub struct Folded {
    /// Seconds of a bin.
    pub bin: f64,
    /// The median clock of each bin, of looks that saw one; none where no look fell into it.
    pub clock: Vec<Option<f64>>,
    /// The median clock by the adds, of all looks.
    pub adds: Vec<Option<f64>>,
    /// The median stretch of each bin, of all looks.
    pub stretch: Vec<Option<f64>>,
}

impl Folded {
    /// The median clock of all bins.
    pub fn typical(&self) -> Option<f64> {
        median(&self.clock.iter().copied().flatten().collect::<Vec<_>>())
    }
}

/// How wide a bin of phases is.
const BIN: f64 = 2e-6;

/// Halts of one transition come within this of each other, period by period.
const WINDOW: f64 = 20e-6;

/// What is in fewer periods than this comes by chance (R9 of the methods).
const SHARE: f64 = 0.8;

/// Folds the looks of all periods over each other.
pub fn fold(seen: &[Seen], job: &Trace) -> Folded {
    let bins = (job.period.0 / BIN).ceil().max(1.0) as usize;
    let place = |look: &Seen| ((look.phase / BIN) as usize).min(bins - 1);
    let medians = |of: fn(&Seen) -> Option<f64>| {
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); bins];
        for look in seen {
            all[place(look)].extend(of(look));
        }
        all.iter().map(|of| median(of)).collect()
    };
    let clock = |look: &Seen| AGREE.contains(&look.stretch).then_some(look.clock);
    let (adds, stretch) = (medians(|look| Some(look.adds)), medians(|look| Some(look.stretch)));
    Folded { bin: BIN, clock: medians(clock), adds, stretch }
}

/// The time that must be missing at once so that no more than one window in ten misses it by chance: what is
/// shorter cannot be told from the machine's own gaps, or from the length of a look. `quiet` are the looks of
/// that long without a payload, `loaded` is the job whose halts are asked for.
pub fn visible(quiet: &[Seen], duration: Seconds, loaded: &Trace) -> f64 {
    let mut worst: Vec<f64> = Vec::new();
    let mut window = (0, 0);
    for look in quiet {
        let at = (look.period, (look.phase / WINDOW) as u64);
        if at != window || worst.is_empty() {
            worst.push(0.0);
            window = at;
        }
        if let Some(last) = worst.last_mut() {
            *last = last.max(look.lost);
        }
    }
    let least = if loaded.pace().0 > 0.0 {
        // What is between two looks that wait for each other is seen by polls, with the payload in between.
        let looks: Vec<f64> = quiet.iter().map(|look| look.usual).collect();
        median(&looks).unwrap_or(f64::INFINITY) + PIECE.0
    } else {
        duration.0 / quiet.len().max(1) as f64
    };
    quantile(&worst, 0.9).unwrap_or(f64::INFINITY).max(least)
}

/// Halts: time that is missing at the same phase in most periods.
pub fn halts(seen: &[Seen], job: &Trace, visible: f64) -> Vec<Halt> {
    /// Dispatch at a quarter makes a look four times as long, and no more.
    const SLOWED: f64 = 3.5;
    let is_stretched = |look: &Seen| STRETCHED.contains(&look.stretch);
    let throttled = |index: usize| {
        let near = &seen[index.saturating_sub(1)..(index + 2).min(seen.len())];
        near.iter().any(is_stretched) && seen[index].lost < SLOWED * seen[index].usual
    };
    let gaps: Vec<&Seen> = (0..seen.len())
        .filter(|&index| seen[index].lost > visible && !throttled(index))
        .map(|index| &seen[index])
        .collect();
    let within = |from: f64| {
        let inside = |gap: &&&Seen| (from..from + WINDOW).contains(&gap.lost_at);
        gaps.iter().filter(inside).copied().collect::<Vec<&Seen>>()
    };
    let periods =
        |gaps: &[&Seen]| gaps.iter().map(|gap| gap.period).collect::<BTreeSet<u32>>().len() as f64;
    let mut found: Vec<Halt> = Vec::new();
    let mut from = 0.0;
    while from < job.period.0 {
        let here = within(from);
        let share = periods(&here) / f64::from(job.periods);
        let next = periods(&within(from + WINDOW / 2.0)) / f64::from(job.periods);
        if share < SHARE || next > share {
            from += WINDOW / 2.0;
            continue;
        }
        let phases: Vec<f64> = here.iter().map(|gap| gap.lost_at).collect();
        // Of several gaps of one period the longest is the halt.
        let numbers: BTreeSet<u32> = here.iter().map(|gap| gap.period).collect();
        let longest = |number: u32| {
            let of = here.iter().filter(|gap| gap.period == number).map(|gap| gap.lost);
            of.fold(0.0, f64::max)
        };
        found.push(Halt {
            phase: median(&phases).unwrap_or(from),
            lengths: numbers.into_iter().map(longest).collect(),
            share,
        });
        from += WINDOW;
    }
    found
}

/// Fewer bins are chance.
const BINS_MIN: usize = 2;

/// The shortest stretch of throttled dispatch that is seen wherever it begins: as many bins as it takes, with those
/// between them into which no look fell, and no less than what looks were taken for by chance: `without` are those
/// without a payload, whose clock is `quiet`.
pub fn throttled_visible(without: &Folded, quiet: f64) -> f64 {
    let (mut longest, mut empty) = (0, 0);
    for stretch in &without.stretch {
        empty = if stretch.is_some() { 0 } else { empty + 1 };
        longest = longest.max(empty);
    }
    let resolved = (BINS_MIN + longest) as f64 * without.bin;
    let by_chance = throttled(without, quiet);
    by_chance.iter().map(|it| it.length).fold(resolved, f64::max)
}

/// Stretches of bins in which adds are held up while multiplies hardly are, against the clock without a payload:
/// until dispatch is free, the clock is the one of before. Throttled looks are so long that some bins have none:
/// those belong to what is around them.
pub fn throttled(folded: &Folded, quiet: f64) -> Vec<Throttled> {
    /// The end of the period ends a stretch, too.
    const END: (Option<f64>, Option<f64>) = (Some(1.0), Some(1.0));
    let mut found = Vec::new();
    let mut ratios: Vec<f64> = Vec::new();
    let (mut first, mut last) = (0, 0);
    let bins = std::iter::zip(folded.stretch.iter().copied(), folded.adds.iter().copied());
    for (bin, (stretch, adds)) in bins.chain([END]).enumerate() {
        let Some((stretch, adds)) = stretch.zip(adds) else { continue };
        if STRETCHED.contains(&stretch) {
            if ratios.is_empty() {
                first = bin;
            }
            last = bin;
            ratios.push(quiet / adds);
            continue;
        }
        if let Some(ratio) = median(&ratios).filter(|_| ratios.len() >= BINS_MIN) {
            // A halt may follow: what comes after it is none of this.
            let [phase, length] = [first, last + 1 - first].map(|bins| bins as f64 * folded.bin);
            found.push(Throttled { phase, length, ratio });
        }
        ratios.clear();
    }
    found
}

/// How long the clock stays low after the payload, and what can be seen of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// The clock under the payload, in hertz.
    pub low: f64,
    /// The one that it comes back to: at the end of the period, or without a payload where that is higher.
    pub relaxed: f64,
    /// Whether it was lower.
    pub is_lower: bool,
    /// Seconds from the end of the payload until it is back; none: it was never lower, by the least that can be
    /// seen, or it was not back at the end of the period.
    pub length: Option<f64>,
    /// The least difference that can be seen, as a share of the clock.
    pub visible: f64,
}

/// The clock after the payload. `quiet` is the one of a while before and of a while after without any: a clock that
/// does not come back within the period differs from those alone.
pub fn hold(folded: &Folded, job: &Trace, quiet: [f64; 2]) -> Option<Hold> {
    /// Medians of many looks still differ by as much.
    const LEAST: f64 = 0.004;
    /// Within a second clocks drift by as much, and a payload costs half of it by its heat.
    const DRIFT: f64 = 0.01;
    let bin = |seconds: f64| (seconds / folded.bin) as usize;
    let of = |from: f64, to: f64| -> Vec<f64> {
        let to = bin(to).min(folded.clock.len());
        folded.clock.get(bin(from)..to).unwrap_or_default().iter().copied().flatten().collect()
    };
    let (period, burst) = (job.period.0, job.burst.0);
    let low = median(&of(burst / 2.0, burst))?;
    let rest = of(period * 0.75, period);
    let end = median(&rest)?;
    let deviations: Vec<f64> = rest.iter().map(|clock| (clock / end - 1.0).abs()).collect();
    let within = (median(&deviations)? * 4.0).max(LEAST);
    if low < end * (1.0 - within) {
        let length = back(folded, bin(burst), f64::midpoint(low, end));
        return Some(Hold { low, relaxed: end, is_lower: true, length, visible: within });
    }
    let [before, after] = quiet;
    let visible = DRIFT.max(2.0 * (before / after - 1.0).abs()).max(within);
    let least = before.min(after);
    let is_lower = low < least * (1.0 - visible);
    let (relaxed, visible) = if is_lower { (least, visible) } else { (end, within) };
    Some(Hold { low, relaxed, is_lower, length: None, visible })
}

/// Seconds from that bin on until the clock is above the middle, and stays there; none: it never is.
fn back(folded: &Folded, first: usize, middle: f64) -> Option<f64> {
    /// So many bins in a row must be back.
    const BACK: usize = 5;
    let is_back = |at: usize| {
        let next = folded.clock.get(at..at + BACK).unwrap_or_default();
        next.len() == BACK && next.iter().flatten().all(|clock| *clock > middle)
    };
    let back = (first..folded.clock.len()).find(|at| is_back(*at))?;
    Some((back - first) as f64 * folded.bin)
}
