//! Whether machines of one kind are of several sorts: a second lot of silicon, another firmware.

use model::stats::quantile_sorted;

use super::limits::HOSTS_MIN;

/// A sort has at least this share of the machines, and so many that they say what is usual among them; fewer that are
/// apart are suspects.
pub(super) const SHARE_MIN: f64 = 0.05;

/// Sorts are so many of their deviations apart. One normal group that is cut in two is 2.65, a uniform one 3.5.
///
/// # Source
/// Ashman, Bird and Zepf, Detecting bimodality in astronomical datasets, Astron. J. 108, 1994: D.
const SEPARATION_MIN: f64 = 4.0;

/// Of what is in both sorts, at most this share of the smaller one lies in the middle third between their medians.
const BETWEEN_MAX: f64 = 0.15;

/// Medians of sorts differ by this part, at least: less is nobody's concern.
pub(super) const APART_MIN: f64 = 0.01;

/// Where ascending numbers are cut into sorts: the end of each but the last.
pub(super) fn cuts(sorted: &[f64]) -> Vec<usize> {
    let least = ((sorted.len() as f64 * SHARE_MIN).ceil() as usize).max(HOSTS_MIN);
    let mut found = Vec::new();
    within(sorted, 0, least, &mut found);
    found
}

fn within(sorted: &[f64], from: usize, least: usize, found: &mut Vec<usize>) {
    let Some(at) = cut(sorted, least) else { return };
    within(&sorted[..at], from, least, found);
    found.push(from + at);
    within(&sorted[at..], from + at, least, found);
}

/// Where numbers are sparsest, of the places that leave two groups far enough apart.
fn cut(sorted: &[f64], least: usize) -> Option<usize> {
    /// Of many machines not every place is tried: sorts have hundreds.
    const TRIED: usize = 500;
    let count = sorted.len();
    let step = (count / TRIED).max(1);
    // A gap between two neighbours is chance; one that hundredths of all leave is none.
    let near = (count / 100).max(1);
    let (first, last) = (least.max(near), count.checked_sub(least.max(near))?);
    let width = |at: usize| sorted[(at + near).min(count - 1)] - sorted[at - near];
    let apart = (first..=last).step_by(step).filter(|at| are_sorts(sorted, *at, least));
    let at = apart.max_by(|a, b| width(*a).total_cmp(&width(*b)))?;
    let around = at.saturating_sub(near).max(first)..=(at + near).min(last);
    let gap = |at: usize| sorted[at] - sorted[at - 1];
    let around = around.filter(|at| are_sorts(sorted, *at, least));
    around.max_by(|a, b| gap(*a).total_cmp(&gap(*b)))
}

/// Whether two groups are so far apart that they are sorts.
fn are_sorts(sorted: &[f64], at: usize, least: usize) -> bool {
    const FEW: usize = 20;
    let (lower, upper) = sorted.split_at(at);
    let [a, b] = [lower, upper].map(|group| quantile_sorted(group, 0.5));
    if b - a < APART_MIN * a.abs().max(b.abs()) {
        return false;
    }
    // The middle 68 % are two deviations of normal numbers; outliers do not count, but where they would make a sort.
    let spread = |group: &[f64]| {
        let [low, high, deviations] = match group.len() {
            len if len < FEW => [0.0, 1.0, 2.0],
            len if len < 2 * least => [0.05, 0.95, 3.29],
            _ => [0.159, 0.841, 2.0],
        };
        (quantile_sorted(group, high) - quantile_sorted(group, low)) / deviations
    };
    let deviation = f64::midpoint(spread(lower).powi(2), spread(upper).powi(2)).sqrt();
    let third = (b - a) / 3.0;
    let below = |limit: f64| sorted.partition_point(|number| *number < limit);
    let between = (below(b - third) - below(a + third)) as f64;
    b - a > SEPARATION_MIN * deviation
        && between <= BETWEEN_MAX * lower.len().min(upper.len()) as f64
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
        assert_eq!(cuts(&numbers(&[(100, 80.0), (450, 97.0), (450, 104.0)], 1.0)), [100, 550]);
        // Those that are ill hide no sorts.
        let beside_ill = numbers(&[(5, 30.0), (20, 86.0), (400, 92.0), (560, 100.0)], 0.7);
        assert_eq!(cuts(&beside_ill), [425]);
        // Too few, too near, and ill ones beside a whole fleet.
        assert_eq!(cuts(&numbers(&[(4, 90.0), (96, 100.0)], 1.0)), [0; 0]);
        assert_eq!(cuts(&numbers(&[(50, 100.0), (50, 100.9)], 0.01)), [0; 0]);
        assert_eq!(cuts(&[100.0; 50]), [0; 0]);
    }
}
