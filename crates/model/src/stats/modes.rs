//! Do samples fall into two groups with nothing between them?

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

    #[test]
    fn few_samples_and_no_ratios_have_no_groups() {
        assert_eq!(Split::of(&[1.0, 2.0, 1.0, 2.0]), None);
        assert_eq!(Split::of(&[0.0; 9]), None);
    }
}
