//! Whether machines of one kind are of several sorts: a second lot of silicon, another firmware.

use model::stats::quantile_sorted;

/// A sort has at least this share of the machines; fewer that are apart are suspects.
pub(super) const SHARE_MIN: f64 = 0.05;

/// And at least so many of them.
const HOSTS_MIN: usize = 4;

/// Sorts are so many of their deviations apart. One normal group that is cut in two is 2.65, a uniform one 3.5.
///
/// # Source
/// Ashman, Bird and Zepf, Detecting bimodality in astronomical datasets, Astron. J. 108, 1994: D.
const SEPARATION_MIN: f64 = 4.0;

/// Of what is in both sorts, at most this share of the smaller one lies in the middle third between their medians.
const BETWEEN_MAX: f64 = 0.15;

/// Medians of sorts differ by this part, at least: less is nobody's concern.
const APART_MIN: f64 = 0.01;

/// Where ascending numbers are cut into sorts: the end of each but the last.
pub(super) fn cuts(sorted: &[f64]) -> Vec<usize> {
    let least = ((sorted.len() as f64 * SHARE_MIN).ceil() as usize).max(HOSTS_MIN);
    let mut found = Vec::new();
    within(sorted, 0, least, &mut found);
    found
}

fn within(sorted: &[f64], from: usize, least: usize, found: &mut Vec<usize>) {
    let Some(at) = cut(sorted, least).filter(|at| is_apart(&sorted[..*at], &sorted[*at..])) else {
        return;
    };
    within(&sorted[..at], from, least, found);
    found.push(from + at);
    within(&sorted[at..], from + at, least, found);
}

/// Where two groups differ most from each other for what they differ in themselves.
///
/// # Source
/// N. Otsu, A threshold selection method from gray-level histograms, IEEE Trans. SMC 9, 1979: between-class variance.
fn cut(sorted: &[f64], least: usize) -> Option<usize> {
    let count = sorted.len();
    if count < 2 * least {
        return None;
    }
    let whole: f64 = sorted.iter().sum();
    let mut below: f64 = sorted[..least].iter().sum();
    let mut best = (least, f64::NEG_INFINITY);
    for at in least..=count - least {
        let (a, b) = (at as f64, (count - at) as f64);
        let between = a * b * (below / a - (whole - below) / b).powi(2);
        if between > best.1 {
            best = (at, between);
        }
        below += sorted[at];
    }
    Some(best.0)
}

fn is_apart(lower: &[f64], upper: &[f64]) -> bool {
    let [a, b] = [lower, upper].map(|group| quantile_sorted(group, 0.5));
    if b - a < APART_MIN * a.abs().max(b.abs()) {
        return false;
    }
    // The middle 68 % are two deviations of normal numbers; outliers do not count.
    let spread =
        |group: &[f64]| (quantile_sorted(group, 0.841) - quantile_sorted(group, 0.159)) / 2.0;
    let deviation = ((spread(lower).powi(2) + spread(upper).powi(2)) / 2.0).sqrt();
    let third = (b - a) / 3.0;
    let between = lower.iter().chain(upper).filter(|x| **x > a + third && **x < b - third).count();
    b - a > SEPARATION_MIN * deviation
        && (between as f64) <= BETWEEN_MAX * lower.len().min(upper.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(of: &[(usize, f64)], deviation: f64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(7);
        let mut all: Vec<f64> = Vec::new();
        for (count, middle) in of {
            // The sum of twelve is nearly normal.
            let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
            all.extend((0..*count).map(|_| middle + deviation * normal()));
        }
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    #[test]
    fn sorts_of_machines_are_told_apart_and_one_is_never_cut() {
        for count in [8, 20, 100, 3_000] {
            assert_eq!(cuts(&numbers(&[(count, 100.0)], 2.0)), [0; 0], "{count}");
        }
        assert_eq!(cuts(&numbers(&[(300, 90.0), (700, 100.0)], 1.0)), [300]);
        assert_eq!(cuts(&numbers(&[(100, 80.0), (100, 90.0), (200, 100.0)], 1.0)), [100, 200]);
        // Too few, too near, and ill ones beside a whole fleet.
        assert_eq!(cuts(&numbers(&[(4, 90.0), (96, 100.0)], 1.0)), [0; 0]);
        assert_eq!(cuts(&numbers(&[(50, 100.0), (50, 100.9)], 0.01)), [0; 0]);
        assert_eq!(cuts(&[100.0; 50]), [0; 0]);
    }
}
