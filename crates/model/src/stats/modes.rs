//! Do samples fall into groups with nothing between them?

use super::quantile_sorted;

/// One of two groups of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// The part of all samples that is in it.
    pub share: f64,
    /// Its median, in the unit of the samples.
    pub median: f64,
    /// Its standard deviation, relative (of the natural logarithms).
    pub spread: f64,
}

/// Samples cut in two where the gap between neighbours is widest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// The lower group and the upper one.
    pub modes: [Mode; 2],
    /// The least sample of the upper group over the greatest of the lower one.
    pub gap: f64,
}

impl Split {
    /// A group with a smaller share of the samples is a disturbance.
    pub const SHARE_MIN: f64 = 0.2;
    /// Fewer samples fall into groups by chance.
    pub const SAMPLES_MIN: usize = 8;

    /// Cuts positive samples at the widest gap (as a ratio) that leaves both groups their least share.
    /// None for fewer than eight samples, and where one is not positive.
    pub fn of(samples: &[f64]) -> Option<Split> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        let least = ((count as f64 * Split::SHARE_MIN).ceil() as usize).max(1);
        if count < Split::SAMPLES_MIN || sorted[0] <= 0.0 {
            return None;
        }
        let gap = |at: usize| sorted[at] / sorted[at - 1];
        let at = (least..=count - least).max_by(|a, b| gap(*a).total_cmp(&gap(*b)))?;
        let mode = |group: &[f64]| Mode {
            share: group.len() as f64 / count as f64,
            median: quantile_sorted(group, 0.5),
            spread: spread(group),
        };
        Some(Split { modes: [mode(&sorted[..at]), mode(&sorted[at..])], gap: gap(at) })
    }

    /// Median of the upper group over that of the lower one.
    pub fn apart(&self) -> f64 {
        self.modes[1].median / self.modes[0].median
    }

    /// How far the groups are apart, in units of their spread. One normal group that is cut in two has
    /// about 2.7, a uniform one 3.5.
    ///
    /// # Source
    /// Ashman, Bird and Zepf, Detecting bimodality in astronomical datasets, Astron. J. 108, 1994: D.
    pub fn separation(&self) -> f64 {
        let variance = self.modes.iter().map(|mode| mode.spread.powi(2)).sum::<f64>() / 2.0;
        self.apart().ln() / variance.sqrt()
    }
}

/// Samples that lie together; between them and all others nothing was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// How many they are.
    pub count: usize,
    /// The part of all samples that is in it.
    pub share: f64,
    /// The tenth hundredth of them, in the unit of the samples.
    pub p10: f64,
    /// Their median.
    pub median: f64,
    /// The ninetieth hundredth of them.
    pub p90: f64,
}

impl Group {
    /// Whether it is a mode; a smaller one is a disturbance.
    pub fn is_mode(&self) -> bool {
        self.share >= Split::SHARE_MIN
    }
}

/// Samples fall into groups where neighbours are so many times each other ...
pub const GAP: f64 = 1.2;
/// ... and the groups' medians are.
pub const APART: f64 = 1.4;

/// The groups of samples that are modes, where there are several: together they have no middle.
pub fn several(samples: &[f64]) -> Option<Vec<Group>> {
    let modes = groups(samples, GAP, APART).into_iter().filter(Group::is_mode).collect::<Vec<_>>();
    (modes.len() > 1).then_some(modes)
}

/// Cuts positive samples wherever a neighbour is `gap` times as large, and puts groups together again
/// whose medians are less than `apart` times each other. Ascending. Of fewer than eight samples, and
/// where one is not positive, all are one group; of none there is none.
pub fn groups(samples: &[f64], gap: f64, apart: f64) -> Vec<Group> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let divides = sorted.len() >= Split::SAMPLES_MIN && sorted[0] > 0.0;
    let mut ends: Vec<usize> =
        (1..sorted.len()).filter(|&at| divides && sorted[at] >= gap * sorted[at - 1]).collect();
    ends.push(sorted.len());
    let mut found: Vec<&[f64]> = Vec::new();
    let mut first = 0;
    for end in ends.into_iter().filter(|end| *end > 0) {
        let begins = first;
        first = end;
        let near = |before: &&[f64]| {
            quantile_sorted(&sorted[begins..end], 0.5) < apart * quantile_sorted(before, 0.5)
        };
        let joined = found.last().filter(|before| near(before)).map_or(0, |before| before.len());
        if joined > 0 {
            found.pop();
        }
        found.push(&sorted[begins - joined..end]);
    }
    let group = |group: &[f64]| Group {
        count: group.len(),
        share: group.len() as f64 / sorted.len() as f64,
        p10: quantile_sorted(group, 0.1),
        median: quantile_sorted(group, 0.5),
        p90: quantile_sorted(group, 0.9),
    };
    found.into_iter().map(group).collect()
}

/// The standard deviation of logarithms.
fn spread(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().map(|value| value.ln()).sum::<f64>() / count;
    let squares = values.iter().map(|value| (value.ln() - mean).powi(2)).sum::<f64>();
    (squares / (count - 1.0).max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_are_told_from_a_broad_one() {
        let two: Vec<f64> = [1.0, 1.01, 1.02, 1.03, 1.2, 1.21, 1.22, 1.23, 1.24, 1.25].to_vec();
        let split = Split::of(&two).unwrap();
        assert!((split.modes[0].share - 0.4).abs() < 1e-12);
        assert!((split.modes[1].median - 1.225).abs() < 1e-12);
        assert!((split.gap - 1.2 / 1.03).abs() < 1e-12);
        assert!(split.separation() > 8.0, "{split:?}");
        let broad: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i) * 0.01).collect();
        assert!(Split::of(&broad).unwrap().separation() < 4.0);
    }

    /// Counts and medians.
    fn parts(samples: &[f64]) -> Vec<(usize, f64)> {
        groups(samples, 1.2, 1.4).into_iter().map(|group| (group.count, group.median)).collect()
    }

    #[test]
    fn samples_are_cut_where_nothing_lies_between() {
        let two = [60.0, 111.0, 62.0, 109.0, 61.0, 112.0, 59.0, 113.0, 112.0, 110.0];
        assert_eq!(parts(&two), [(4, 60.5), (6, 111.5)]);
        let found = groups(&two, 1.2, 1.4);
        assert!(found.iter().all(Group::is_mode), "{found:?}");
        assert!((found[0].p10 - 59.3).abs() < 1e-9 && (found[1].p90 - 112.5).abs() < 1e-9);
        // As broad, but with something everywhere between.
        let broad: Vec<f64> = (0..20).map(|i| 60.0 + 3.0 * f64::from(i)).collect();
        assert_eq!(parts(&broad), [(20, 88.5)]);
        // One disturbed sample of ten is a group, and no mode.
        let disturbed = [60.0, 111.0, 112.0, 113.0, 110.0, 109.0, 111.0, 112.0, 113.0, 111.0];
        assert_eq!(parts(&disturbed), [(1, 60.0), (9, 111.0)]);
        assert!(!groups(&disturbed, 1.2, 1.4)[0].is_mode());
        // Groups that are near each other are one.
        assert_eq!(parts(&[90.0, 91.0, 90.0, 92.0, 111.0, 111.0, 112.0, 111.0]), [(8, 101.5)]);
        assert_eq!(parts(&[1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 8.0, 8.0]).len(), 4);
    }

    #[test]
    fn few_samples_and_no_ratios_are_one_group() {
        assert_eq!(parts(&[60.0, 120.0]), [(2, 90.0)]);
        assert_eq!(parts(&[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]), [(8, 0.5)]);
        assert_eq!(parts(&[]), []);
    }

    #[test]
    fn few_samples_and_no_ratios_have_no_groups() {
        assert_eq!(Split::of(&[1.0, 2.0, 1.0, 2.0]), None);
        assert_eq!(Split::of(&[0.0; 9]), None);
    }
}
