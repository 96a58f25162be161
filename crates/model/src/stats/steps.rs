//! Where the level of a series steps: from which run on a machine is faster or slower.

use super::median;
use super::welch::student_of;

/// A step of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The place of the first number of the new level.
    pub at: usize,
    /// The new level over the one before: medians.
    pub ratio: f64,
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

/// The steps of a series of numbers above zero, in their order.
///
/// The series is cut where both parts together scatter least around their means of logarithms, if Student's test, as often
/// as there are cuts, takes the parts for different; then each part is. Single outliers are drawn to their neighbours
/// before.
///
/// # Source
/// Binary segmentation: Scott and Knott, Biometrics 30, 1974. Outliers: Hampel, Journal of the American Statistical
/// Association 69, 1974.
pub fn steps(series: &[f64], rules: &StepRules) -> Vec<Step> {
    let smooth = without_outliers(series);
    let mut cuts = Vec::new();
    cut(&smooth, 0, rules, &mut cuts);
    cuts.sort_by_key(|&(at, _)| at);
    let ends = cuts.iter().map(|&(at, _)| at).chain([series.len()]);
    let mut begun = 0;
    let levels: Vec<f64> = ends
        .map(|end| {
            let level = median(&series[begun..end]).unwrap_or(f64::NAN);
            begun = end;
            level
        })
        .collect();
    let ratios = levels.windows(2).map(|pair| pair[1] / pair[0]);
    let steps = cuts.iter().zip(ratios).map(|(&(at, chance), ratio)| Step { at, ratio, chance });
    steps.filter(|step| step.ratio.ln().abs() >= rules.least.ln_1p()).collect()
}

/// Cuts a part that begins there, and what comes of it.
fn cut(part: &[f64], begin: usize, rules: &StepRules, cuts: &mut Vec<(usize, f64)>) {
    let Some(at) = best_cut(part) else { return };
    let (before, after) = part.split_at(at);
    let tried = part.len() + 1 - 2 * LEVEL_MIN;
    let Some(chance) = student_of(before, after).map(|chance| (chance * tried as f64).min(1.0))
    else {
        return;
    };
    let levels = median(before).zip(median(after));
    let is_large = levels.is_some_and(|(a, b)| (b / a).ln().abs() >= rules.least.ln_1p());
    if chance > rules.chance || !is_large {
        return;
    }
    cuts.push((begin + at, chance));
    cut(before, begin, rules, cuts);
    cut(after, begin + at, rules, cuts);
}

/// Where both parts together scatter least.
fn best_cut(part: &[f64]) -> Option<usize> {
    let logs: Vec<f64> = part.iter().map(|value| value.ln()).collect();
    let sum: f64 = logs.iter().sum();
    let count = logs.len() as f64;
    let mut before: f64 = logs.iter().take(LEVEL_MIN - 1).sum();
    let mut best: Option<(usize, f64)> = None;
    for at in LEVEL_MIN..=part.len().checked_sub(LEVEL_MIN)? {
        before += logs[at - 1];
        let (left, right) = (at as f64, count - at as f64);
        // What the squares around both means are less than those around one.
        let gain = before * before / left + (sum - before).powi(2) / right;
        if best.is_none_or(|(_, most)| gain > most) {
            best = Some((at, gain));
        }
    }
    best.map(|(at, _)| at)
}

/// Each number, drawn to where its neighbours' scatter ends.
fn without_outliers(series: &[f64]) -> Vec<f64> {
    /// The median of so many on each side, and itself, which a step does not move.
    const REACH: usize = 2;
    /// So many standard deviations are no outlier.
    const FAR: f64 = 6.0;
    /// The standard deviation of normal noise over the median distance of neighbours.
    const DEVIATION: f64 = 1.0 / 0.953_87;
    let distances: Vec<f64> = series.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let distance = median(&distances).filter(|distance| *distance > 0.0);
    let Some(distance) = distance else { return series.to_vec() };
    let far = FAR * DEVIATION * distance;
    let last = series.len() - 1;
    let around = |at: usize| {
        // At an end there are neighbours on one side alone.
        let (from, to) = (at.saturating_sub(REACH), (at + REACH).min(last));
        median(&series[from..=to]).unwrap_or(series[at])
    };
    (0..series.len()).map(|at| series[at].clamp(around(at) - far, around(at) + far)).collect()
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
        assert!((steps[0].ratio - 1.08).abs() < 0.01 && (steps[1].ratio - 1.0 / 1.08).abs() < 0.01);
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
