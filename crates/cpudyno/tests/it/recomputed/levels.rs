//! Where caches end, by the latencies alone: METHODOLOGY's staircase, written again.

use std::collections::BTreeMap;

use super::memory::{Cell, caches_in_use, cells, data_caches};
use super::record::{Record, items, text};
use super::stats::{median, numbers, quantile};

/// A sweep over sizes, and the levels that it shows.
pub(crate) struct Sweep<'a> {
    pub(crate) cells: Vec<Cell<'a>>,
    pub(crate) levels: Vec<Level>,
    /// Level and bytes of each cache that the machine claims.
    pub(crate) claims: Vec<(u64, u64)>,
    pub(crate) largest: u64,
}

/// Whose plateau it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Whose {
    /// Of a claimed cache: its level and its bytes.
    Cache(u64, u64),
    Unclaimed(usize),
    Memory,
    Beyond(Option<u64>),
}

pub(crate) struct Level {
    pub(crate) whose: Whose,
    /// Of the staircase.
    seconds: f64,
    /// The least and the greatest size on it.
    pub(crate) sizes: [u64; 2],
    pub(crate) knee: Option<Knee>,
}

/// Where a plateau ends.
#[derive(Clone)]
pub(crate) struct Knee {
    pub(crate) at: f64,
    pub(crate) interval: [f64; 2],
    blocks: usize,
}

/// How an end compares with what is claimed.
pub(crate) enum Ends {
    AsClaimed,
    Elsewhere(f64),
    /// Perhaps there: the end is known to that factor only.
    Vague(f64),
    Unknown,
}

impl Knee {
    /// Sixteen times and more between its ends tell of no end.
    pub(crate) fn is_gap(&self) -> bool {
        self.interval[1] / self.interval[0] > 16.0
    }

    /// Octaves from the interval to a size.
    fn off(&self, bytes: f64) -> f64 {
        let [low, high] = self.interval.map(|end| (end / bytes).log2());
        low.max(-high).max(0.0)
    }
}

/// What is said where an end is known to that factor only.
pub(crate) fn known_to(factor: f64) -> String {
    format!("its end is known to a factor of {factor:.0} only")
}

impl Level {
    /// Whether a size lies on it.
    pub(crate) fn holds(&self, size: Option<u64>) -> bool {
        let [least, greatest] = self.sizes;
        size.is_some_and(|size| least <= size && size <= greatest)
    }

    pub(crate) fn ends(&self) -> Ends {
        let (Whose::Cache(_, claimed), Some(knee)) = (self.whose, &self.knee) else {
            return Ends::Unknown;
        };
        if knee.is_gap() || knee.blocks < 3 {
            return Ends::Unknown;
        }
        let [low, high] = knee.interval;
        let near = (low / 1.3..=high * 1.3).contains(&(claimed as f64));
        match high / low {
            _ if !near => Ends::Elsewhere(knee.at),
            factor if factor > 4.0 => Ends::Vague(factor),
            _ => Ends::AsClaimed,
        }
    }
}

impl<'a> Sweep<'a> {
    pub(crate) fn of<'b>(&'b self, workload: &'b str) -> impl Iterator<Item = &'b Cell<'a>> {
        self.cells.iter().filter(move |it| it.workload == workload)
    }

    /// The median over the sizes of a level of their medians.
    pub(crate) fn over(&self, level: &Level, workload: &str, quantity: &str) -> Option<f64> {
        let on_it = |it: &&Cell<'_>| level.holds(it.whole("footprint"));
        let of = self.of(workload).filter(on_it).filter_map(|it| it.median(quantity));
        median(&of.collect::<Vec<_>>())
    }

    pub(crate) fn seconds(&self, level: &Level) -> f64 {
        self.over(level, "chase", "latency").unwrap_or(level.seconds)
    }
}

/// A size with its latency, by the lower quartile: noise only adds to it.
struct Point {
    bytes: u64,
    seconds: f64,
    blocks: Vec<(u64, f64)>,
}

/// Level and bytes of the data caches of a CPU.
pub(crate) fn claimed(record: &Record, cpu: u64) -> Vec<(u64, u64)> {
    let claim = |it: &serde_json::Value| {
        let mut instances = items(&it["instances"]).iter().map(|it| numbers(text(it)));
        let is_mine = instances.any(|it| it.contains(&cpu));
        is_mine.then_some((it["level"].as_u64()?, it["bytes"].as_u64()?))
    };
    let mut claims: Vec<(u64, u64)> = data_caches(record).into_iter().filter_map(claim).collect();
    claims.sort_unstable();
    claims.dedup_by_key(|it| it.0);
    claims
}

pub(crate) fn sweep(record: &Record) -> Option<Sweep<'_>> {
    let mut cells = cells(record, "sweep");
    cells.sort_by_key(|it| it.whole("footprint"));
    let cpu = *cells.first()?.cpus.first()?;
    let claims = claimed(record, cpu);
    let point = |it: &Cell<'_>| {
        let series = it.shown("latency")?;
        let (bytes, blocks) = (it.whole("footprint")?, series.blocks.clone());
        Some(Point { bytes, seconds: quantile(&series.samples, 0.25)?, blocks })
    };
    let points: Vec<Point> =
        cells.iter().filter(|it| it.workload == "chase").filter_map(point).collect();
    let largest = points.last()?.bytes;
    let levels = levels(&points, &claims, caches_in_use(record, &[cpu])?);
    Some(Sweep { cells, levels, claims, largest })
}

/// A plateau in the making: points from, points up to, and their median.
#[derive(Clone, Debug)]
struct Step {
    from: usize,
    to: usize,
    height: f64,
}

impl Step {
    fn of(curve: &[f64], from: usize, to: usize) -> Step {
        Step { from, to, height: median(&curve[from..to]).expect("a step has points") }
    }

    /// Its points within a quarter of its height.
    fn flat(&self, curve: &[f64]) -> Vec<usize> {
        let near = |at: &usize| (curve[*at] - self.height).abs() <= 1.25f64.log2();
        (self.from..self.to).filter(near).collect()
    }
}

fn levels(points: &[Point], claims: &[(u64, u64)], claimed: u64) -> Vec<Level> {
    let curve = quiet(points);
    let caches = if claims.is_empty() { 3 } else { claims.len() };
    let mut steps = staircase(&curve, caches + 1);
    steps.retain(|it| {
        let flat = it.flat(&curve).len();
        let is_last = it.to == curve.len() && it.to - it.from == 1;
        is_last || flat >= 2 && flat * 2 >= it.to - it.from
    });
    let near = |pair: &[Step]| (pair[1].height - pair[0].height).abs() < 1.3f64.log2();
    while let Some(at) = steps.windows(2).position(near) {
        let joined = Step::of(&curve, steps[at].from, steps[at + 1].to);
        steps.splice(at..at + 2, [joined]);
    }
    let knees: Vec<Knee> =
        steps.windows(2).map(|pair| knee(points, &curve, &pair[0], &pair[1])).collect();
    let mut whose = named(&knees, claims);
    whose.extend(
        points.last().map(|it| last(it.bytes, &knees, claims, claimed, whose.last().copied())),
    );
    let level = |(at, step): (usize, &Step)| {
        let flat = step.flat(&curve);
        let size = |at: Option<&usize>| at.map_or(0, |at| points[*at].bytes);
        Some(Level {
            whose: *whose.get(at)?,
            seconds: step.height.exp2(),
            sizes: [size(flat.first()), size(flat.last())],
            knee: knees.get(at).cloned(),
        })
    };
    steps.iter().enumerate().filter_map(level).collect()
}

/// Medians of three neighbours, the ends as they are, and no point higher than any after it, as logarithms.
fn quiet(points: &[Point]) -> Vec<f64> {
    let raw: Vec<f64> = points.iter().map(|it| it.seconds).collect();
    let count = raw.len();
    let of_three = |at: usize| {
        if at == 0 || at + 1 == count {
            return raw[at];
        }
        median(&raw[at - 1..at + 2]).expect("there are three")
    };
    let mut curve: Vec<f64> = (0..count).map(of_three).collect();
    let mut least = f64::INFINITY;
    for value in curve.iter_mut().rev() {
        least = least.min(*value);
        *value = least.log2();
    }
    curve
}

/// The staircase of at most so many steps with the least distances from its points; of equals that with the
/// fewest steps.
fn staircase(curve: &[f64], most: usize) -> Vec<Step> {
    let count = curve.len();
    let cost = |from: usize, to: usize| -> f64 {
        let middle = curve[usize::midpoint(from, to - 1)];
        curve[from..to].iter().map(|it| (it - middle).abs()).sum()
    };
    // For each number of steps and of points: the least cost, and where each step begins.
    let mut best: Vec<Option<(f64, Vec<usize>)>> = vec![None; count + 1];
    best[0] = Some((0.0, Vec::new()));
    let mut found: Option<(f64, Vec<usize>)> = None;
    for _ in 0..most {
        let mut next: Vec<Option<(f64, Vec<usize>)>> = vec![None; count + 1];
        for (to, way) in next.iter_mut().enumerate().skip(1) {
            for (from, before) in best.iter().enumerate().take(to) {
                let Some((before, begins)) = before else { continue };
                let all = before + cost(from, to);
                if way.as_ref().is_none_or(|known| all < known.0) {
                    *way = Some((all, [begins.as_slice(), &[from]].concat()));
                }
            }
        }
        if let Some(all) = &next[count]
            && found.as_ref().is_none_or(|known| all.0 < known.0)
        {
            found = Some(all.clone());
        }
        best = next;
    }
    let Some((_, begins)) = found else { return Vec::new() };
    let ends = begins.iter().skip(1).copied().chain([count]);
    begins.iter().zip(ends).map(|(from, to)| Step::of(curve, *from, to)).collect()
}

/// How many of these are nearer to the lower height, so that the sum of distances is least; one and more are on
/// each side.
fn split(curve: &[f64], low: f64, high: f64) -> usize {
    let cost = |at: usize| -> f64 {
        let below: f64 = curve[..at].iter().map(|it| (it - low).abs()).sum();
        below + curve[at..].iter().map(|it| (it - high).abs()).sum::<f64>()
    };
    let ways = (1..curve.len()).map(|at| (cost(at), at));
    ways.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(1, |it| it.1)
}

fn knee(points: &[Point], curve: &[f64], low: &Step, high: &Step) -> Knee {
    let on = 1.15f64.log2();
    let bytes = |at: usize| points[at].bytes as f64;
    let (from, to) = (low.from, high.to);
    let at = from + split(&curve[from..to], low.height, high.height);
    let last = (from..to).rev().find(|at| curve[*at] <= low.height + on).unwrap_or(from);
    let first = (from..to).find(|at| curve[*at] >= high.height - on).unwrap_or(high.from);
    // The same in each block that has all of these points.
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (block, seconds) in points[from..to].iter().flat_map(|it| &it.blocks) {
        blocks.entry(*block).or_default().push(seconds.log2());
    }
    let whole: Vec<&Vec<f64>> = blocks.values().filter(|it| it.len() == to - from).collect();
    let moved = whole.iter().map(|it| from + split(it, low.height, high.height));
    let moved: Vec<usize> = moved.collect();
    let middle = (bytes(at - 1) * bytes(at)).sqrt();
    let spread = |ends: Vec<f64>, q| quantile(&ends, q).unwrap_or(middle);
    let low_end = spread(moved.iter().map(|at| bytes(at - 1)).collect(), 0.05);
    let high_end = spread(moved.iter().map(|at| bytes(*at)).collect(), 0.95);
    let interval = [bytes(last.min(at - 1)).min(low_end), bytes(first.max(at)).max(high_end)];
    Knee { at: middle, interval, blocks: whole.len() }
}

/// The claimed cache of each knee, in order, and as near as possible.
fn named(knees: &[Knee], claims: &[(u64, u64)]) -> Vec<Whose> {
    let mut best: Option<(f64, Vec<Whose>)> = None;
    for chosen in 0..1u32 << claims.len() {
        let taken = (0..claims.len()).filter(|at| chosen & (1 << at) != 0).map(|at| claims[at]);
        let taken: Vec<(u64, u64)> = taken.collect();
        if taken.len() != knees.len() {
            continue;
        }
        let off: f64 = knees.iter().zip(&taken).map(|(knee, it)| knee.off(it.1 as f64)).sum();
        if best.as_ref().is_none_or(|known| off < known.0) {
            best = Some((off, taken.iter().map(|it| Whose::Cache(it.0, it.1)).collect()));
        }
    }
    let best = best.filter(|_| !claims.is_empty());
    best.map_or_else(|| (1..=knees.len()).map(Whose::Unclaimed).collect(), |it| it.1)
}

/// The last plateau is memory where it goes twice beyond the last end, and to four times the claimed caches.
fn last(
    largest: u64,
    knees: &[Knee],
    claims: &[(u64, u64)],
    claimed: u64,
    before: Option<Whose>,
) -> Whose {
    let past = knees.last().is_none_or(|it| largest as f64 >= 2.0 * it.interval[1]);
    if past && largest + 64 >= 4 * claimed {
        return Whose::Memory;
    }
    let level = match before {
        Some(Whose::Cache(level, _)) => Some(level),
        _ => None,
    };
    let rest = || claims.iter().filter(|it| level.is_none_or(|level| it.0 > level));
    match rest().find(|it| largest <= it.1) {
        Some(it) => Whose::Cache(it.0, it.1),
        None => Whose::Beyond(rest().next_back().map(|it| it.0).or(level)),
    }
}
