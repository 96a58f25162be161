//! Where caches end, found from the latency of random accesses by the size of what they go over.
//!
//! The curve is a staircase: each cache has a plateau, and where it ends latency rises to the next
//! one. Plateaus are found by fitting a staircase with at most one step more than the machine claims
//! caches to the logarithms; steps that are no plateau, such as the slope between two, are dropped.

use std::collections::BTreeMap;

use model::stats::{median, quantile};

/// A point of the curve.
#[derive(Debug, Clone)]
pub(super) struct CurvePoint {
    /// What was gone over.
    pub(super) bytes: u64,
    /// Its typical latency, in seconds: of the quieter samples, because noise only adds to it.
    pub(super) seconds: f64,
    /// The median of each block, by its number.
    pub(super) blocks: Vec<(u64, f64)>,
}

/// A cache as the machine claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClaimedCache {
    /// Its level.
    pub(super) level: u8,
    /// Its size.
    pub(super) bytes: u64,
}

/// Whose plateau it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// A cache that the machine claims.
    Cache(ClaimedCache),
    /// One of which it says nothing: the first, second, ...
    Unclaimed(usize),
    /// Certainly none of the caches.
    Memory,
    /// Past the end of this level, and not far enough to be memory.
    Beyond(Option<u8>),
}

/// Where a plateau ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knee {
    /// The middle of the step, in bytes.
    pub(super) bytes: f64,
    /// From the last size that is on the lower plateau to the first one on the upper, and as far as it
    /// moved from block to block.
    pub(super) interval: [f64; 2],
    /// How many blocks have all of the points around it.
    pub(super) blocks: usize,
}

impl Knee {
    /// How far a size is from the interval, in octaves.
    fn off(&self, bytes: f64) -> f64 {
        let [low, high] = self.interval;
        (low / bytes).log2().max((bytes / high).log2()).max(0.0)
    }

    /// How many times as large the end of the interval is as its beginning.
    pub(super) fn factor(&self) -> f64 {
        self.interval[1] / self.interval[0]
    }

    /// Whether there is more between than sizes are apart and noise explains.
    pub(super) fn is_gap(&self) -> bool {
        /// In octaves.
        const WIDE: f64 = 4.0;
        self.factor().log2() > WIDE
    }
}

/// A plateau of the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LatencyLevel {
    /// Whose it is.
    pub(super) whose: Whose,
    /// Its typical latency, in seconds.
    pub(super) seconds: f64,
    /// The least and the greatest size on it.
    pub(super) sizes: [u64; 2],
    /// Where it ends; none of the last one.
    pub(super) knee: Option<Knee>,
}

/// Sizes this near to a plateau's latency are on it.
const ON_PLATEAU: f64 = 1.15;

/// A plateau has half of its points this near to its height: what rises faster is a slope.
const FLAT: f64 = 1.25;

/// Plateaus that differ by less than this are one.
const APART_MIN: f64 = 1.3;

/// The levels that a curve shows, nearest first. Points ascend by size.
pub(super) fn levels(
    points: &[CurvePoint],
    claims: &[ClaimedCache],
    claimed_caches: u64,
) -> Vec<LatencyLevel> {
    /// Where nobody says how many caches there are.
    const CACHES_USUAL: usize = 3;
    let caches = if claims.is_empty() { CACHES_USUAL } else { claims.len() };
    let curve: Vec<f64> = quiet(points).iter().map(|seconds| seconds.log2()).collect();
    let steps = plateaus(&curve, caches + 1);
    let knees: Vec<Knee> =
        steps.windows(2).map(|pair| knee(points, &curve, &pair[0], &pair[1])).collect();
    let mut whose = name(&knees, claims);
    whose.extend(
        points.last().map(|last| {
            whose_last(last.bytes, &knees, claims, claimed_caches, whose.last().copied())
        }),
    );
    let level = |(index, step): (usize, &CurveStep)| {
        let on_it: Vec<usize> = step.near(&curve, FLAT).collect();
        Some(LatencyLevel {
            whose: *whose.get(index)?,
            seconds: step.value.exp2(),
            sizes: [on_it.first(), on_it.last()].map(|at| at.map_or(0, |at| points[*at].bytes)),
            knee: knees.get(index).copied(),
        })
    };
    steps.iter().enumerate().filter_map(level).collect()
}

/// The curve without what disturbed single points. Latency does not fall where sizes grow, and noise
/// only adds to it: so a point is no higher than any after it.
fn quiet(points: &[CurvePoint]) -> Vec<f64> {
    let raw: Vec<f64> = points.iter().map(|point| point.seconds).collect();
    // The ends have no neighbours on both sides, and are taken as they are: a median over what lies on one
    // side would make two heights one.
    let around = |at: usize| match (at.checked_sub(1), raw.get(at + 1)) {
        (Some(before), Some(after)) => median(&[raw[before], raw[at], *after]).unwrap_or(raw[at]),
        _ => raw[at],
    };
    let mut quiet: Vec<f64> = (0..raw.len()).map(around).collect();
    for at in (1..quiet.len()).rev() {
        quiet[at - 1] = quiet[at - 1].min(quiet[at]);
    }
    quiet
}

/// A step of the staircase: these points, at the height of their median.
#[derive(Debug, Clone, PartialEq)]
struct CurveStep {
    from: usize,
    to: usize,
    value: f64,
}

impl CurveStep {
    fn over(curve: &[f64], from: usize, to: usize) -> CurveStep {
        CurveStep { from, to, value: median(&curve[from..to]).unwrap_or(f64::NAN) }
    }

    /// Its points that are so near its height.
    fn near<'a>(&'a self, curve: &'a [f64], ratio: f64) -> impl Iterator<Item = usize> + 'a {
        let near = ratio.log2();
        (self.from..self.to).filter(move |&at| (curve[at] - self.value).abs() <= near)
    }

    /// Whether it is flat, and no part of a slope.
    fn is_plateau(&self, curve: &[f64]) -> bool {
        let flat = self.near(curve, FLAT).count();
        flat >= 2 && flat * 2 >= self.to - self.from
    }
}

/// The plateaus of a rising curve of logarithms: at most so many.
fn plateaus(curve: &[f64], most: usize) -> Vec<CurveStep> {
    let mut steps = staircase(curve, most);
    // What is no plateau is a part of the way between two. The largest size has a height of its own, though
    // nothing larger says how far it goes.
    let is_last = |step: &CurveStep| step.to == curve.len() && step.to - step.from == 1;
    steps.retain(|step| step.is_plateau(curve) || is_last(step));
    let near = APART_MIN.log2();
    while let Some(at) =
        (1..steps.len()).find(|&at| (steps[at].value - steps[at - 1].value).abs() < near)
    {
        let joined = CurveStep::over(curve, steps[at - 1].from, steps[at].to);
        steps.splice(at - 1..=at, [joined]);
    }
    steps
}

/// The staircase of at most so many steps with the least sum of distances from its points.
fn staircase(curve: &[f64], most: usize) -> Vec<CurveStep> {
    let count = curve.len();
    let cost = |from: usize, to: usize| {
        // The curve rises, so that the median is in the middle.
        let middle = curve[usize::midpoint(from, to - 1)];
        curve[from..to].iter().map(|value| (value - middle).abs()).sum::<f64>()
    };
    // The least cost of the first points with so many steps, and where the last step begins.
    let mut best = vec![vec![(f64::INFINITY, 0); count + 1]; most + 1];
    best[0][0] = (0.0, 0);
    for steps in 1..=most {
        for to in 1..=count {
            let ways = (0..to).map(|from| (best[steps - 1][from].0 + cost(from, to), from));
            if let Some(way) = ways.min_by(|a, b| a.0.total_cmp(&b.0)) {
                best[steps][to] = way;
            }
        }
    }
    let fewest = (1..=most).min_by(|&a, &b| best[a][count].0.total_cmp(&best[b][count].0));
    let mut steps = Vec::new();
    let mut to = count;
    for left in (1..=fewest.unwrap_or(0)).rev() {
        let from = best[left][to].1;
        if to > from {
            steps.push(CurveStep::over(curve, from, to));
        }
        to = from;
    }
    steps.reverse();
    steps
}

/// The step from one plateau up to the next.
fn knee(points: &[CurvePoint], curve: &[f64], lower: &CurveStep, upper: &CurveStep) -> Knee {
    let near = ON_PLATEAU.log2();
    let bytes = |at: usize| points[at].bytes as f64;
    let range = lower.from..upper.to;
    let last = range.clone().rfind(|&at| curve[at] <= lower.value + near).unwrap_or(lower.from);
    let first = range.clone().find(|&at| curve[at] >= upper.value - near).unwrap_or(upper.from);
    let at = split(&curve[range.clone()], lower.value, upper.value) + lower.from;
    let middle = (bytes(at - 1) * bytes(at)).sqrt();
    let moved = by_block(points, lower, upper);
    let spread = |end: usize, q: f64| {
        let ends: Vec<f64> = moved.iter().map(|between| between[end]).collect();
        quantile(&ends, q).unwrap_or(middle)
    };
    Knee {
        bytes: middle,
        interval: [
            bytes(last.min(at - 1)).min(spread(0, 0.05)),
            bytes(first.max(at)).max(spread(1, 0.95)),
        ],
        blocks: moved.len(),
    }
}

/// How many of these are on the lower plateau, so that the sum of distances is least; at least one is
/// on each.
fn split(curve: &[f64], lower: f64, upper: f64) -> usize {
    let cost = |at: usize| {
        let below: f64 = curve[..at].iter().map(|value| (value - lower).abs()).sum();
        let above: f64 = curve[at..].iter().map(|value| (value - upper).abs()).sum();
        below + above
    };
    (1..curve.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(1)
}

/// The sizes around the same step in each block that has all of its points.
fn by_block(points: &[CurvePoint], lower: &CurveStep, upper: &CurveStep) -> Vec<[f64; 2]> {
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    let range = &points[lower.from..upper.to];
    for point in range {
        for (block, seconds) in &point.blocks {
            blocks.entry(*block).or_default().push(seconds.log2());
        }
    }
    let whole = blocks.values().filter(|curve| curve.len() == range.len());
    let around = |curve: &Vec<f64>| {
        let at = split(curve, lower.value, upper.value);
        [range[at - 1].bytes as f64, range[at].bytes as f64]
    };
    whole.map(around).collect()
}

/// The claimed cache of each knee: in their order, and as near as possible. Where nothing was measured
/// between two plateaus several are as near, and the first of them is taken.
fn name(knees: &[Knee], claims: &[ClaimedCache]) -> Vec<Whose> {
    if claims.is_empty() {
        return (1..=knees.len()).map(Whose::Unclaimed).collect();
    }
    // All ways to leave out claims; there are never more than a few.
    let mut best: Option<(f64, Vec<Whose>)> = None;
    for chosen in 0..1u32 << claims.len().min(16) {
        let taken: Vec<ClaimedCache> =
            (0..claims.len()).filter(|at| chosen >> at & 1 == 1).map(|at| claims[at]).collect();
        if taken.len() != knees.len() {
            continue;
        }
        let off = |(knee, claim): (&Knee, &ClaimedCache)| knee.off(claim.bytes as f64);
        let cost = knees.iter().zip(&taken).map(off).sum();
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, taken.into_iter().map(Whose::Cache).collect()));
        }
    }
    best.map_or_else(|| (1..=knees.len()).map(Whose::Unclaimed).collect(), |(_, whose)| whose)
}

/// Whose the last plateau is, which has no end.
fn whose_last(
    largest: u64,
    knees: &[Knee],
    claims: &[ClaimedCache],
    claimed_caches: u64,
    before: Option<Whose>,
) -> Whose {
    let past = knees.last().is_none_or(|knee| largest as f64 >= 2.0 * knee.interval[1]);
    // Sizes are whole lines.
    let beyond_claims = largest.saturating_add(64) >= 4u64.saturating_mul(claimed_caches);
    if past && beyond_claims {
        return Whose::Memory;
    }
    let level = match before {
        Some(Whose::Cache(claim)) => Some(claim.level),
        _ => None,
    };
    let mut rest = claims.iter().filter(|claim| level.is_none_or(|level| claim.level > level));
    match rest.clone().find(|claim| largest <= claim.bytes) {
        Some(claim) => Whose::Cache(*claim),
        None => Whose::Beyond(rest.next_back().map(|claim| claim.level).or(level)),
    }
}

#[cfg(test)]
mod tests;
