//! Where the level of a series steps: from which run on a machine is faster or slower.

use super::median;
use super::welch::{chance, student_of};

/// A step of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The place of the first number of the new level.
    pub at: usize,
    /// The level before and the new one: medians.
    pub levels: [f64; 2],
    /// How likely a step as clear as this one is, anywhere in a series of its length that has none.
    pub chance: f64,
}

/// What counts as a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepRules {
    /// The smallest change of the level, as a part of it.
    pub least: f64,
    /// The greatest chance that it is none.
    pub chance: f64,
}

/// So many numbers a level has, at least: one alone is an outlier until the next one confirms it.
const LEVEL_MIN: usize = 2;

/// The same of a level with others before and after it: two outliers in a row are no level.
const INNER_MIN: usize = 3;

/// What is usual is known from so many numbers, at least.
const USUAL_MIN: usize = 4;

/// A series of numbers above zero, cut into its levels, by whatever rules they are judged.
///
/// The series is cut into the levels around whose means its logarithms scatter least, where each further level has its
/// price. Single outliers are put among their neighbours before.
///
/// # Source
/// Cuts: Jackson et al., An algorithm for optimal partitioning of data on an interval, IEEE Signal Processing Letters 12,
/// 2005. Outliers: Hampel, Journal of the American Statistical Association 69, 1974.
#[derive(Debug)]
pub struct Levels<'a> {
    series: &'a [f64],
    /// Without outliers: levels are those of most numbers.
    smooth: Vec<f64>,
    /// Logarithms of all numbers: how sure levels are is for all to say.
    logs: Vec<f64>,
    memory: f64,
    cuts: Vec<usize>,
}

impl Levels<'_> {
    /// The levels of a series; a number that is not above zero leaves one.
    pub fn of(series: &[f64]) -> Levels<'_> {
        let smooth = without_outliers(series);
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        let (smooth_logs, logs) = (logs(&smooth), logs(series));
        let memory = memory(&logs);
        let is_sound = logs.iter().all(|log| log.is_finite());
        let cuts = if is_sound { cuts(&smooth_logs, variance(&logs) * memory) } else { Vec::new() };
        Levels { series, smooth, logs, memory, cuts }
    }

    /// The steps from level to level, in their order: levels are joined whose difference is small, or which Student's test,
    /// as often as there are places for a step, does not take for different.
    pub fn steps(&self, rules: &StepRules) -> Vec<Step> {
        let mut cuts = self.cuts.clone();
        loop {
            let steps = self.between(&cuts);
            let doubt =
                |step: &Step| if step.is_large(rules) { step.chance } else { f64::INFINITY };
            let worst = steps.iter().enumerate().max_by(|a, b| doubt(a.1).total_cmp(&doubt(b.1)));
            match worst {
                Some((place, step)) if doubt(step) > rules.chance => cuts.remove(place),
                _ => return steps,
            };
        }
    }

    /// How the last number stands apart from the level before it, which begins after these steps, if it does: the next
    /// number says whether that is a step or an outlier.
    pub fn apart(&self, steps: &[Step], rules: &StepRules) -> Option<Step> {
        let level = &self.series[steps.last().map_or(0, |step| step.at)..];
        let (last, level) = level.split_last().filter(|(_, level)| level.len() >= USUAL_MIN)?;
        let step = Step {
            at: self.series.len() - 1,
            levels: [median(level)?, *last],
            chance: student_of(level, &[*last])?,
        };
        (step.chance <= rules.chance && step.is_large(rules)).then_some(step)
    }

    /// The steps at these cuts.
    fn between(&self, cuts: &[usize]) -> Vec<Step> {
        let Levels { smooth, logs, memory, .. } = self;
        let ends = [0].into_iter().chain(cuts.iter().copied()).chain([smooth.len()]);
        let ends: Vec<usize> = ends.collect();
        let sums = Sums::of(logs);
        let levels = || ends.windows(2).map(|ends| (ends[0], ends[1]));
        let squares: f64 = levels().map(|(from, to)| sums.squares(from, to)).sum();
        // A step may be anywhere; a level between two of them may begin and end anywhere.
        let places = (logs.len() + 1).saturating_sub(2 * LEVEL_MIN) as f64;
        let tried = if cuts.len() > 1 { places * places / 2.0 } else { places };
        // All levels scatter alike.
        let freedom = logs.len() as f64 - cuts.len() as f64 - 1.0;
        let step = |((from, at), (_, to)): ((usize, usize), (usize, usize))| {
            let (left, right) = ((at - from) as f64, (to - at) as f64);
            let error = squares / freedom * (1.0 / left + 1.0 / right) * memory;
            let difference = sums.mean(at, to) - sums.mean(from, at);
            let [old, new] = [(from, at), (at, to)].map(|(from, to)| median(&smooth[from..to]));
            let chance = (chance(difference, error, freedom) * tried).min(1.0);
            Some(Step { at, levels: [old?, new?], chance })
        };
        levels().zip(levels().skip(1)).filter_map(step).collect()
    }
}

/// Sums of numbers and of their squares, from the first to each.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(values: &[f64]) -> Sums {
        // What is near zero is summed up without loss.
        let middle = median(values).unwrap_or(0.0);
        let add = |sums: &mut (f64, f64), value: &f64| {
            let value = value - middle;
            *sums = (sums.0 + value, sums.1 + value * value);
            Some(*sums)
        };
        Sums([(0.0, 0.0)].into_iter().chain(values.iter().scan((0.0, 0.0), add)).collect())
    }

    /// The mean of a part, away from the median of all.
    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.0[to].0 - self.0[from].0) / (to - from) as f64
    }

    /// The squares of a part around its mean.
    fn squares(&self, from: usize, to: usize) -> f64 {
        let squares = self.0[to].1 - self.0[from].1;
        (squares - self.mean(from, to).powi(2) * (to - from) as f64).max(0.0)
    }
}

/// Where the levels end that are cheapest together.
fn cuts(logs: &[f64], variance: f64) -> Vec<usize> {
    /// The price of a level, in variances and logarithms of the length: Zhang and Siegmund, Biometrics 63, 2007.
    const PRICE: f64 = 3.0;
    let count = logs.len();
    if count < 2 * LEVEL_MIN {
        return Vec::new();
    }
    let price = PRICE * (count as f64).ln() * variance;
    let sums = Sums::of(logs);
    // Of the first so many: their price, and where their last level begins.
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0].0 = 0.0;
    for end in LEVEL_MIN..=count {
        for begin in 0..=end - LEVEL_MIN {
            let is_inner = begin > 0 && end < count;
            if is_inner && end - begin < INNER_MIN {
                continue;
            }
            let all = best[begin].0 + price + sums.squares(begin, end);
            if all < best[end].0 {
                best[end] = (all, begin);
            }
        }
    }
    let mut cuts = Vec::new();
    let mut end = best[count].1;
    while end > 0 {
        cuts.push(end);
        end = best[end].1;
    }
    cuts.reverse();
    cuts
}

/// The variance of noise, by the distances of neighbours: a step widens one of them, numbers that jump between two levels
/// widen many.
///
/// # Source
/// von Neumann et al., The mean square successive difference, Annals of Mathematical Statistics 12, 1941.
fn variance(values: &[f64]) -> f64 {
    let squares: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    squares / (2.0 * values.len().saturating_sub(1).max(1) as f64)
}

/// How much more the mean of a level varies than that of independent numbers: a number may take after the one before.
/// By how much farther the next but one is than the next, in medians, which steps do not move.
fn memory(values: &[f64]) -> f64 {
    /// Of fewer numbers nobody can tell.
    const KNOWN_MIN: usize = 20;
    /// Whatever takes after the one before by more is a drift.
    const MOST: f64 = 0.8;
    let distance = |reach: usize| {
        let pairs = values.iter().zip(values.iter().skip(reach));
        median(&pairs.map(|(a, b)| (b - a).abs()).collect::<Vec<_>>()).filter(|it| *it > 0.0)
    };
    let Some((next, second)) = distance(1).zip(distance(2)).filter(|_| values.len() >= KNOWN_MIN)
    else {
        return 1.0;
    };
    let likeness = ((second / next).powi(2) - 1.0).clamp(0.0, MOST);
    (1.0 + likeness) / (1.0 - likeness)
}

/// The standard deviation of normal noise over the median distance of neighbours.
const DEVIATION: f64 = 1.0 / 0.953_87;

/// The median distance of neighbours.
fn neighbours(values: &[f64]) -> Option<f64> {
    let distances: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    median(&distances)
}

impl Step {
    /// The new level over the one before.
    pub fn ratio(&self) -> f64 {
        self.levels[1] / self.levels[0]
    }

    fn is_large(&self, rules: &StepRules) -> bool {
        self.ratio().ln().abs() >= rules.least.ln_1p()
    }
}

/// The numbers, where each that lies far beyond its neighbours' scatter is their median.
fn without_outliers(series: &[f64]) -> Vec<f64> {
    /// The median of so many on each side, and itself, which a step does not move.
    const REACH: usize = 2;
    /// So many standard deviations are no outlier.
    const FAR: f64 = 6.0;
    let distance = neighbours(series).filter(|distance| *distance > 0.0);
    let Some(distance) = distance else { return series.to_vec() };
    let far = FAR * DEVIATION * distance;
    let last = series.len() - 1;
    let around = |at: usize| {
        // The last two of a new level are two of three.
        let (from, to) = match (at, last - at) {
            (0 | 1, _) => (0, REACH.min(last)),
            (_, 0 | 1) => (last.saturating_sub(REACH), last),
            _ => (at - REACH, at + REACH),
        };
        median(&series[from..=to]).unwrap_or(series[at])
    };
    let drawn = |at: usize| {
        let around = around(at);
        if (series[at] - around).abs() > far { around } else { series[at] }
    };
    (0..series.len()).map(drawn).collect()
}

#[cfg(test)]
mod tests {
    use super::super::normal;
    use super::*;

    /// Normal noise around 100, by a seed.
    fn noise(count: usize, spread: f64, seed: u64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| 100.0 * (1.0 + spread * normal::quantile(random.f64()))).collect()
    }

    const RULES: StepRules = StepRules { least: 0.01, chance: 0.05 };

    fn steps(series: &[f64], rules: &StepRules) -> Vec<Step> {
        Levels::of(series).steps(rules)
    }

    fn apart(series: &[f64], rules: &StepRules) -> Option<Step> {
        Levels::of(series).apart(&steps(series, rules), rules)
    }

    #[test]
    fn series_without_a_step_have_one_in_fewer_than_one_of_twenty() {
        for count in [5, 10, 40, 200] {
            let false_alarms = (0..400)
                .filter(|&seed| !steps(&noise(count, 0.02, seed), &RULES).is_empty())
                .count();
            assert!(false_alarms <= 20, "{count} runs: {false_alarms} of 400");
        }
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let mut found = 0;
        for seed in 0..200 {
            let mut series = noise(200, 0.005, seed);
            let at = 20 + (seed as usize * 7) % 160;
            series[at..].iter_mut().for_each(|value| *value *= 0.96);
            // A run that something disturbed is no step.
            series[at / 2] *= 0.7;
            let steps = steps(&series, &RULES);
            found += usize::from(matches!(steps[..], [Step { at: it, .. }] if it == at));
        }
        assert!(found >= 190, "{found} of 200");
    }

    #[test]
    fn a_step_back_is_a_step() {
        let mut series = noise(60, 0.004, 3);
        series[20..40].iter_mut().for_each(|value| *value *= 1.08);
        let steps = steps(&series, &RULES);
        assert_eq!(steps.iter().map(|step| step.at).collect::<Vec<_>>(), [20, 40]);
        assert!(
            (steps[0].ratio() - 1.08).abs() < 0.01 && (steps[1].ratio() - 1.0 / 1.08).abs() < 0.01
        );
    }

    #[test]
    fn the_last_number_stands_apart_until_another_one_says_more() {
        let mut series = noise(20, 0.005, 6);
        assert_eq!(apart(&series, &RULES), None);
        series.push(90.0);
        assert_eq!(apart(&series, &RULES).map(|step| step.at), Some(20));
        assert_eq!(steps(&series, &RULES), []);
        series.push(90.2);
        assert_eq!(apart(&series, &RULES), None);
        assert_eq!(steps(&series, &RULES).iter().map(|step| step.at).collect::<Vec<_>>(), [20]);
        for few in [&[][..], &[1.0], &[1.0, 1.0, 1.0, 2.0]] {
            assert_eq!(apart(few, &RULES), None);
        }
    }

    #[test]
    fn hardly_any_last_number_stands_apart_by_chance() {
        for count in [5, 10, 40] {
            let alarms =
                (0..400).filter(|&seed| apart(&noise(count, 0.02, seed), &RULES).is_some());
            let alarms = alarms.count();
            assert!(alarms <= 30, "{count} runs: {alarms} of 400");
        }
    }

    #[test]
    fn what_is_small_or_alone_or_nothing_is_no_step() {
        let mut small = noise(100, 0.0005, 5);
        small[50..].iter_mut().for_each(|value| *value *= 1.005);
        assert_eq!(steps(&small, &RULES), []);
        let mut alone = noise(20, 0.005, 6);
        alone[19] *= 0.5;
        assert_eq!(steps(&alone, &RULES), []);
        for series in [&[][..], &[1.0], &[1.0, 2.0], &[1.0, 1.0, 2.0]] {
            assert_eq!(steps(series, &RULES), []);
        }
        // Without any noise a step is certain.
        assert_eq!(steps(&[1.0, 1.0, 2.0, 2.0], &RULES).len(), 1);
        assert_eq!(steps(&[1.0; 9], &RULES), []);
    }
}
