//! Traces: a payload in a duty cycle, looked at about every microsecond, and what the looks say together.
//!
//! A look is a short chain of adds and a short chain of multiplies between three stamps. A lower clock makes both
//! longer alike. Throttled dispatch, which lets ops begin in one cycle of four, makes the adds four times as long
//! and the multiplies, of three cycles, a third longer: so the two are told apart, and such looks say nothing of
//! the clock. A halt is time that is in none of them. What the machine loses anyway comes at any time; what the
//! payload causes comes at the same time in each period, so that only what is there in most periods at one phase
//! is believed; and that nothing is there is believed only where enough periods were looked at.

use std::collections::{BTreeMap, BTreeSet};

pub use model::areas::transitions::BIN;
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
}

/// A look in numbers.
#[derive(Debug, Clone, Copy)]
pub struct LookSample {
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
    /// When those began, if they ended with this look: seconds since the first period began.
    pub lost_from: f64,
    /// Seconds that a look of its kind takes usually, with the payload before it.
    pub usual: f64,
}

impl LookSample {
    /// Seconds since the first period began.
    fn at(&self, job: &Trace) -> f64 {
        f64::from(self.period) * job.period.0 + self.phase
    }

    /// Where in its period the time that is missing began. What began in the period before is there when this one
    /// begins.
    fn lost_at(&self, job: &Trace) -> f64 {
        (self.lost_from - f64::from(self.period) * job.period.0).max(0.0)
    }
}

/// The looks of several passes of a job, one after the other as if they were one job of as many periods. From the last
/// look of a pass to the first of the next nobody looked.
pub fn joined(passes: impl IntoIterator<Item = Vec<LookSample>>, job: &Trace) -> Vec<LookSample> {
    let mut all: Vec<LookSample> = Vec::new();
    for (number, mut pass) in (0..).zip(passes) {
        for look in &mut pass {
            look.period += number * job.periods;
            look.lost_from += f64::from(number) * job.duration().0;
        }
        if number > 0
            && let Some(first) = pass.first_mut()
        {
            let ended = all.last().map_or(0.0, |look| look.at(job) + look.usual);
            let unseen = (first.lost_from - ended).max(0.0);
            first.lost_from -= unseen;
            first.lost += unseen;
        }
        all.extend(pass);
    }
    all
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
) -> Vec<LookSample> {
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
    // Time that is missing is in the look before or after it: where looks wait for each other, between two polls.
    // The parts are judged apart, because a clock that changes between them is no time that is missing.
    let is_paced = job.pace().0 > 0.0;
    let steps: Vec<TraceStep> = std::iter::zip(before, &raw.looks)
        .map(|(before, look)| {
            // The payload is in the step that ends in the burst, too.
            let loaded = [before, look].iter().any(|it| is_loaded(place(it.first()).1));
            let after = if is_paced {
                look.waited[1].saturating_sub(look.waited[0])
            } else {
                look.first().saturating_sub(before.stamps[2])
            };
            let parts = [before.length(), after].map(seconds);
            TraceStep { loaded, parts, begins: [before.first(), look.waited[0]] }
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
    let one = |(look, step): (&Look, &TraceStep)| {
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
        let since_begun = |stamp: u64| seconds(stamp.saturating_sub(begun));
        let lost_from = if is_paced {
            since_begun(step.begins[usize::from(parts[1] > parts[0])])
        } else {
            (since_begun(look.first()) - lost).max(0.0)
        };
        LookSample {
            period,
            phase,
            clock: clocks[1],
            adds: clocks[0],
            stretch: clocks[1] / clocks[0],
            lost,
            lost_from,
            usual: long + if step.loaded { PIECE.0 } else { 0.0 },
        }
    };
    let mut all: Vec<LookSample> = std::iter::zip(&raw.looks, &steps).map(one).collect();
    let excess = raw.looks.iter().map(|look| (seconds(look.length()) - long).max(0.0));
    untangle(&mut all, &excess.collect::<Vec<_>>(), is_paced);
    all.retain(|seen| seen.period < job.periods);
    all
}

/// What throttled dispatch has made of the look before is no time that is missing. A halt within a look
/// stretches that one alone. Excess: by how much each look is longer than others, in seconds.
fn untangle(all: &mut [LookSample], excess: &[f64], is_paced: bool) {
    for index in 2..all.len() {
        let before = [all[index - 2], all[index - 1]];
        if before.iter().all(|look| STRETCHED.contains(&look.stretch)) {
            let (look, excess) = (&mut all[index], excess[index - 1]);
            if !is_paced {
                look.lost_from += excess.min(look.lost);
            }
            look.lost = (look.lost - excess).max(0.0);
        }
    }
}

/// The way from one look to the next.
struct TraceStep {
    /// Whether the payload was on it.
    loaded: bool,
    /// What of it may be too long, in seconds: the look before, and all of the rest or the longest time between polls.
    parts: [f64; 2],
    /// When those began, in stamps.
    begins: [u64; 2],
}

/// The clock that some looks saw together: the mean of their times. Stamps have steps, 10 ns on some machines, which
/// are 3 % of a look; a median of looks keeps them, and their mean does not, because looks begin anywhere between two
/// steps. Looks that something came into are left out.
fn together(clocks: &[f64]) -> Option<f64> {
    /// Farther from the median no clock was: several steps, and less than what came into looks.
    const NEAR: f64 = 0.15;
    let middle = median(clocks)?;
    let is_near = |time: &f64| (time * middle - 1.0).abs() < NEAR;
    let times: Vec<f64> = clocks.iter().map(|clock| 1.0 / clock).filter(is_near).collect();
    (!times.is_empty()).then(|| times.len() as f64 / times.iter().sum::<f64>())
}

/// The least difference of lengths of looks: a step of the stamps, in seconds.
pub fn step(raw: &RawTraced, rate: Rate<Stamp>) -> f64 {
    let chains = |look: &Look| [0, 1].map(|at| look.stamps[at + 1].saturating_sub(look.stamps[at]));
    let lengths: BTreeSet<u64> = raw.looks.iter().flat_map(chains).collect();
    let lengths: Vec<u64> = lengths.into_iter().collect();
    let apart = lengths.windows(2).map(|pair| pair[1] - pair[0]).min();
    // Of one length alone nothing is known.
    apart.or(lengths.first().copied()).unwrap_or(0) as f64 / rate.hertz().0
}

/// By what the clocks of looks are set right: that of multiplies, and that of adds.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    clock: f64,
    adds: f64,
}

impl Scale {
    /// From looks without a payload, at a time when longer chains say that the clock is `hertz`: chains this short are
    /// longer by what of them is fixed, which is known less well than they need it. None: there were no looks.
    pub fn of(quiet: &[LookSample], hertz: f64) -> Option<Scale> {
        let typical =
            |of: fn(&LookSample) -> f64| together(&quiet.iter().map(of).collect::<Vec<_>>());
        let (clock, adds) = (typical(|look| look.clock)?, typical(|look| look.adds)?);
        Some(Scale { clock: hertz / clock, adds: hertz / adds })
    }

    /// How far the worse of the two is from one.
    pub fn off(&self) -> f64 {
        (self.clock - 1.0).abs().max((self.adds - 1.0).abs())
    }

    /// Sets these looks right.
    pub fn apply(&self, seen: &mut [LookSample]) {
        for look in seen {
            look.clock *= self.clock;
            look.adds *= self.adds;
            look.stretch = look.clock / look.adds;
        }
    }
}

/// Something that comes at the same phase in most periods.
#[derive(Debug, Clone, PartialEq)]
pub struct Halt {
    /// Seconds since the period began, the median.
    pub phase: f64,
    /// How long it is, one for each period that has it.
    pub lengths: Vec<f64>,
    /// In which share of the periods that were looked at then it is there.
    pub share: f64,
}

/// What the looks of all periods say of halts.
#[derive(Debug, Clone, PartialEq)]
pub struct Halts {
    /// Those that are believed.
    pub found: Vec<Halt>,
    /// In how many periods a phase was looked at, where that was in fewest; the halts themselves do not count.
    pub fewest: u32,
    /// Which phase that is, in seconds since the period began.
    pub fewest_at: f64,
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

impl Throttled {
    /// Whether it is there in most of the periods that were looked at then, and those are enough.
    pub fn is_believed(&self, seen: &[LookSample]) -> bool {
        let phases = self.phase..self.phase + self.length;
        let here = || seen.iter().filter(|look| phases.contains(&look.phase));
        let periods = |looks: &mut dyn Iterator<Item = &LookSample>| -> u32 {
            looks.map(|look| look.period).collect::<BTreeSet<u32>>().len() as u32
        };
        let looked = periods(&mut here());
        let with = periods(&mut here().filter(|look| STRETCHED.contains(&look.stretch)));
        looked >= PERIODS_MIN && f64::from(with) >= SHARE * f64::from(looked)
    }
}

/// What the looks at one CPU say together.
#[derive(Debug, Clone)]
pub struct Folded {
    /// Seconds of a bin.
    pub bin: f64,
    /// The mean clock of each bin, of looks that saw one; none where no look fell into it.
    pub clock: Vec<Option<f64>>,
    /// How many looks that is.
    pub looks: Vec<usize>,
    /// The median clock by the adds, of all looks.
    pub adds: Vec<Option<f64>>,
    /// The median stretch of each bin, of all looks.
    pub stretch: Vec<Option<f64>>,
    /// In how many periods each window of phases saw a clock.
    pub periods: Vec<u32>,
}

impl Folded {
    /// The median clock of all bins.
    pub fn typical(&self) -> Option<f64> {
        median(&self.clock.iter().copied().flatten().collect::<Vec<_>>())
    }
}

/// Halts of one transition come within this of each other, period by period.
const WINDOW: f64 = 20e-6;

/// What is in fewer periods than this comes by chance (R9 of the methods).
const SHARE: f64 = 0.8;

/// Where fewer periods were looked at, nothing is told (R9 of the methods).
pub const PERIODS_MIN: u32 = 50;

/// Folds the looks of all periods over each other.
pub fn fold(seen: &[LookSample], job: &Trace) -> Folded {
    let bins = (job.period.0 / BIN).ceil().max(1.0) as usize;
    let place = |look: &LookSample| ((look.phase / BIN) as usize).min(bins - 1);
    let by_bin = |of: fn(&LookSample) -> Option<f64>| {
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); bins];
        for look in seen {
            all[place(look)].extend(of(look));
        }
        all
    };
    let medians =
        |of: fn(&LookSample) -> Option<f64>| by_bin(of).iter().map(|of| median(of)).collect();
    let (adds, stretch) = (medians(|look| Some(look.adds)), medians(|look| Some(look.stretch)));
    let clocks = by_bin(|look| AGREE.contains(&look.stretch).then_some(look.clock));
    let clock = clocks.iter().map(|of| together(of)).collect();
    let windows = (job.period.0 / WINDOW).ceil().max(1.0) as usize;
    let mut periods = vec![BTreeSet::new(); windows];
    for look in seen.iter().filter(|look| AGREE.contains(&look.stretch)) {
        periods[((look.phase / WINDOW) as usize).min(windows - 1)].insert(look.period);
    }
    let periods = periods.iter().map(|of| of.len() as u32).collect();
    let looks = clocks.iter().map(Vec::len).collect();
    Folded { bin: BIN, clock, looks, adds, stretch, periods }
}

/// The time that must be missing at once so that no more than one window in ten misses it by chance: what is
/// shorter cannot be told from the machine's own gaps. Halts that were found do not count.
pub fn by_chance(seen: &[LookSample], job: &Trace, except: &[Halt]) -> f64 {
    // Where halts seem to be everywhere, all of it is chance.
    let is_halted = |phase: f64| except.iter().any(|it| (phase - it.phase).abs() < WINDOW);
    let is_left_out =
        |phase: f64| except.len() as f64 * 4.0 * WINDOW < job.period.0 && is_halted(phase);
    let mut worst: Vec<f64> = Vec::new();
    let mut window = (0, 0);
    for look in seen.iter().filter(|look| !is_left_out(look.lost_at(job))) {
        let at = (look.period, (look.phase / WINDOW) as u64);
        if at != window || worst.is_empty() {
            worst.push(0.0);
            window = at;
        }
        if let Some(last) = worst.last_mut() {
            *last = last.max(look.lost);
        }
    }
    quantile(&worst, 0.9).unwrap_or(f64::INFINITY)
}

/// What is shorter cannot be told from the way from look to look: by looks without a payload, and a piece of one.
pub fn resolved(quiet: &[LookSample]) -> f64 {
    let looks: Vec<f64> = quiet.iter().map(|look| look.usual).collect();
    median(&looks).unwrap_or(f64::INFINITY) + PIECE.0
}

/// Dispatch at a quarter makes a look four times as long, and no more.
const SLOWED: f64 = 3.5;

/// Whether what is missing before a look may be what throttled dispatch has made of it.
fn is_throttled(seen: &[LookSample], index: usize) -> bool {
    let near = &seen[index.saturating_sub(1)..(index + 2).min(seen.len())];
    let is_stretched = |look: &LookSample| STRETCHED.contains(&look.stretch);
    near.iter().any(is_stretched) && seen[index].lost < SLOWED * seen[index].usual
}

/// The time that must be missing at once beside throttled dispatch so that it is not taken for that; none: at no phase
/// of half of the periods that a halt needs was more than `visible` taken for it.
pub fn visible_beside_throttled(seen: &[LookSample], job: &Trace, visible: f64) -> Option<f64> {
    let taken = |index: &usize| seen[*index].lost > visible && is_throttled(seen, *index);
    let taken: Vec<&LookSample> = (0..seen.len()).filter(taken).map(|index| &seen[index]).collect();
    let mut periods: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for look in &taken {
        let window = (look.lost_at(job) / WINDOW) as u64;
        periods.entry(window).or_default().insert(look.period);
    }
    let most = periods.values().map(BTreeSet::len).max().unwrap_or(0);
    let usual = median(&taken.iter().map(|look| look.usual).collect::<Vec<_>>())?;
    let least = (SLOWED * usual).max(visible);
    (most as f64 >= SHARE / 2.0 * f64::from(PERIODS_MIN)).then_some(least)
}

/// Looks before which more than that is missing.
fn gaps(seen: &[LookSample], visible: f64) -> impl Iterator<Item = &LookSample> {
    let is_gap = move |index: &usize| seen[*index].lost > visible && !is_throttled(seen, *index);
    (0..seen.len()).filter(is_gap).map(|index| &seen[index])
}

/// Time that is missing at once for longer than that, in seconds each: whatever took it, at the end, too.
pub fn missing(seen: &[LookSample], job: &Trace, visible: f64) -> Vec<f64> {
    let lost = seen.iter().map(|look| look.lost).filter(|lost| *lost > visible);
    let [from, to] = unseen_end(seen, job);
    lost.chain(Some(to - from).filter(|lost| *lost > visible)).collect()
}

/// From the last look to the end of the job: no look comes after that.
fn unseen_end(seen: &[LookSample], job: &Trace) -> [f64; 2] {
    let last = seen.last().map_or(0.0, |look| look.at(job) + look.usual);
    let end = job.duration().0;
    [last.min(end), end]
}

/// Windows of phases, half over each other, and in which periods nobody looked at their beginning.
struct Windows {
    /// By window and period.
    unseen: Vec<Vec<bool>>,
}

impl Windows {
    const APART: f64 = WINDOW / 2.0;

    fn of(seen: &[LookSample], job: &Trace, visible: f64) -> Windows {
        let count = (job.period.0 / Self::APART).ceil().max(1.0) as usize;
        let mut unseen = vec![vec![false; job.periods as usize]; count];
        let ended = unseen_end(seen, job);
        let all = gaps(seen, visible).map(|gap| [gap.lost_from, gap.lost_from + gap.lost]);
        for [from, to] in all.chain(Some(ended).filter(|[from, to]| to - from > visible)) {
            let first = (from / job.period.0) as usize;
            for period in first..=(to / job.period.0) as usize {
                let [from, to] = [from, to].map(|at| at - period as f64 * job.period.0);
                // A look ago is not before.
                let begin = ((from + BIN) / Self::APART).ceil().max(0.0) as usize;
                let end = ((to / Self::APART).ceil() as usize).min(count);
                for window in unseen.iter_mut().take(end).skip(begin) {
                    if let Some(unseen) = window.get_mut(period) {
                        *unseen = true;
                    }
                }
            }
        }
        Windows { unseen }
    }

    /// In how many periods its beginning was seen.
    fn periods(&self, window: usize) -> u32 {
        self.unseen[window].iter().filter(|unseen| !**unseen).count() as u32
    }

    /// Whether it was in that one.
    fn is_seen(&self, window: usize, period: u32) -> bool {
        let of = self.unseen.get(window).and_then(|of| of.get(period as usize));
        of.is_some_and(|unseen| !unseen)
    }
}

/// Halts: time that is missing at the same phase in most of the periods that were looked at then.
pub fn halts(seen: &[LookSample], job: &Trace, visible: f64) -> Halts {
    let windows = Windows::of(seen, job, visible);
    let gaps: Vec<&LookSample> = gaps(seen, visible).collect();
    let within = |window: usize| {
        let from = window as f64 * Windows::APART;
        let is_inside = |gap: &&&LookSample| {
            (from..from + WINDOW).contains(&gap.lost_at(job)) && windows.is_seen(window, gap.period)
        };
        gaps.iter().filter(is_inside).copied().collect::<Vec<&LookSample>>()
    };
    let numbers =
        |gaps: &[&LookSample]| gaps.iter().map(|gap| gap.period).collect::<BTreeSet<u32>>();
    let mut found: Vec<Halt> = Vec::new();
    let mut window = 0;
    while window < windows.unseen.len() {
        let here = within(window);
        let (with, looked) = (numbers(&here), windows.periods(window));
        let share = with.len() as f64 / f64::from(looked.max(1));
        let is_next = numbers(&within(window + 1)).len() > with.len();
        if share < SHARE || looked < PERIODS_MIN.min(job.periods) || is_next {
            window += 1;
            continue;
        }
        let phases: Vec<f64> = here.iter().map(|gap| gap.lost_at(job)).collect();
        // Of several gaps of one period the longest is the halt.
        let longest = |number: u32| {
            let of = here.iter().filter(|gap| gap.period == number).map(|gap| gap.lost);
            of.fold(0.0, f64::max)
        };
        found.push(Halt {
            phase: median(&phases).unwrap_or(window as f64 * Windows::APART),
            lengths: with.into_iter().map(longest).collect(),
            share,
        });
        window += 2;
    }
    let is_halted = |at: f64| {
        let covers = |halt: &Halt| {
            let length = median(&halt.lengths).unwrap_or(0.0);
            (halt.phase - WINDOW..halt.phase + length + WINDOW).contains(&at)
        };
        found.iter().any(covers)
    };
    let all = (0..windows.unseen.len()).map(|it| (windows.periods(it), it as f64 * Windows::APART));
    let fewest = all.filter(|(_, at)| !is_halted(*at)).min_by_key(|(periods, _)| *periods);
    let (fewest, fewest_at) = fewest.unwrap_or((job.periods, 0.0));
    Halts { found, fewest, fewest_at }
}

/// Fewer bins are chance.
const BINS_MIN: usize = 2;

/// The shortest stretch of throttled dispatch that is seen wherever it begins: as many bins as it takes, with those
/// between them into which no look fell, with the payload or without, and no less than what looks were taken for by
/// chance: `without` are those without a payload, whose clock is `quiet`. Where the core halts or is throttled there
/// are fewer looks.
pub fn throttled_visible(without: &Folded, with: &Folded, quiet: f64, halts: &Halts) -> f64 {
    let chance = throttled(without, quiet);
    let halted = halts.found.iter().filter_map(|it| Some([it.phase, median(&it.lengths)?]));
    let slow = throttled(with, quiet).into_iter().map(|it| [it.phase, it.length]).chain(halted);
    let slow: Vec<[f64; 2]> = slow.collect();
    let longest = unseen_bins(without, &[]).max(unseen_bins(with, &slow));
    let resolved = (BINS_MIN + longest) as f64 * without.bin;
    chance.iter().map(|it| it.length).fold(resolved, f64::max)
}

/// The most bins in a row into which no look fell, but for those in or beside stretches with these beginnings and
/// lengths.
fn unseen_bins(folded: &Folded, except: &[[f64; 2]]) -> usize {
    let is_beside = |at: f64| {
        let around = |[from, length]: &[f64; 2]| *from - BIN..from + length + 2.0 * BIN;
        except.iter().any(|it| around(it).contains(&at))
    };
    let (mut longest, mut empty) = (0, 0);
    for (bin, stretch) in folded.stretch.iter().enumerate() {
        let is_empty = stretch.is_none() && !is_beside((bin as f64 + 0.5) * folded.bin);
        empty = if is_empty { empty + 1 } else { 0 };
        longest = longest.max(empty);
    }
    longest
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
    /// In how many periods both clocks were seen.
    pub periods: u32,
}

/// The clock after the payload. `quiet` is the one of a while before and of a while after without any: a clock that
/// does not come back within the period differs from those alone. `step` is that of the stamps, in seconds. None: no
/// look saw the clock in one of the two windows.
pub fn hold(folded: &Folded, job: &Trace, quiet: [f64; 2], step: f64) -> Option<Hold> {
    /// Means of many looks still differ by as much.
    const LEAST: f64 = 0.004;
    /// Within a second clocks drift by as much, and a payload costs half of it by its heat.
    const DRIFT: f64 = 0.01;
    let bin = |seconds: f64| (seconds / folded.bin) as usize;
    let (period, burst) = (job.period.0, job.burst.0);
    let under = Stretch::of(folded, bin(burst / 2.0)..bin(burst))?;
    let rest = Stretch::of(folded, bin(period * 0.75)..bin(period))?;
    let (low, end) = (under.clock, rest.clock);
    let periods = under.periods.min(rest.periods);
    let within = [under, rest].map(|it| it.visible(step)).into_iter().fold(LEAST, f64::max);
    if low < end * (1.0 - within) {
        let length = back(folded, bin(burst), f64::midpoint(low, end));
        return Some(Hold { low, relaxed: end, is_lower: true, length, visible: within, periods });
    }
    let [before, after] = quiet;
    let visible = DRIFT.max(2.0 * (before / after - 1.0).abs()).max(within);
    let least = before.min(after);
    let is_lower = low < least * (1.0 - visible);
    let (relaxed, visible) = if is_lower { (least, visible) } else { (end, within) };
    Some(Hold { low, relaxed, is_lower, length: None, visible, periods })
}

/// Bins of one clock.
#[derive(Clone, Copy)]
struct Stretch {
    /// Their median.
    clock: f64,
    /// The median distance from it, as a share.
    scatter: f64,
    /// How many looks saw a clock in one of them, by the median.
    looks: f64,
    /// In how many periods a window among them saw one, by the median.
    periods: u32,
}

impl Stretch {
    fn of(folded: &Folded, bins: std::ops::Range<usize>) -> Option<Stretch> {
        let bins = bins.start..bins.end.min(folded.clock.len());
        let clocks: Vec<f64> = folded.clock.get(bins.clone())?.iter().copied().flatten().collect();
        let clock = median(&clocks)?;
        let distances: Vec<f64> = clocks.iter().map(|it| (it / clock - 1.0).abs()).collect();
        let looks =
            folded.looks.get(bins.clone())?.iter().filter(|it| **it > 0).map(|it| *it as f64);
        let looks = median(&looks.collect::<Vec<_>>())?;
        let windows = |bin: usize| bin as f64 * folded.bin / WINDOW;
        let (first, last) = (windows(bins.start) as usize, windows(bins.end).ceil() as usize);
        let periods = folded.periods.get(first..last.min(folded.periods.len()))?.iter();
        let periods = median(&periods.map(|it| f64::from(*it)).collect::<Vec<_>>())? as u32;
        Some(Stretch { clock, scatter: median(&distances)?, looks, periods })
    }

    /// The least difference that can be told: by the scatter of its bins, and by the steps of stamps, of which the
    /// mean of many looks keeps the less the more they are.
    fn visible(&self, step: f64) -> f64 {
        (4.0 * self.scatter).max(step / CHAIN.0 / self.looks.sqrt())
    }
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
