//! What the shades of a heat map span.

use model::page::{HeatCell, HeatMap, HeatRow};

/// A smaller difference between least and greatest, as a share of the values, is noise as often as
/// not: shades would make a pattern of it.
const FLAT: f64 = 0.005;

/// The least and the greatest value of a map, each with its text.
pub(crate) struct Range<'a> {
    pub(crate) least: (f64, &'a str),
    pub(crate) greatest: (f64, &'a str),
    /// What a value must exceed to be shaded, where shades begin at 0.
    noise: Option<f64>,
}

impl<'a> Range<'a> {
    /// None for a map without values.
    pub(crate) fn of(map: &'a HeatMap) -> Option<Self> {
        let values = || rows(map).flat_map(|row| &row.cells).filter_map(value);
        let least = values().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let greatest = values().max_by(|a, b| a.0.total_cmp(&b.0))?;
        // What stands in brackets is an interval, and of that cell alone.
        let alone = |(value, text): (f64, &'a str)| match text.split_once(" (") {
            Some((text, _)) => (value, text),
            None => (value, text),
        };
        let (mut least, mut greatest) = (alone(least), alone(greatest));
        if map.shaded_from.is_some() {
            // Sizes, whichever sign says that more is worse.
            least = (0.0, "0");
            greatest.1 = greatest.1.trim_start_matches(['-', '+']);
        }
        Some(Range { least, greatest, noise: map.shaded_from })
    }

    /// How far the two are apart, as a share of the larger.
    fn spread(&self) -> f64 {
        let size = self.least.0.abs().max(self.greatest.0.abs());
        if size == 0.0 { 0.0 } else { self.greatest.0 / size - self.least.0 / size }
    }

    /// Why there are no shades, where there are none.
    pub(crate) fn flat(&self, unit: &str) -> Option<String> {
        if let Some(noise) = self.noise {
            return (self.greatest.0 <= noise)
                .then(|| format!("no shades: none is more than {noise} {unit}"));
        }
        if self.spread() >= FLAT {
            return None;
        }
        let (least, greatest) = (self.least.1, self.greatest.1);
        Some(if least == greatest || self.spread() == 0.0 {
            format!("no shades: all are {least} {unit}")
        } else {
            // Rounded up, as all are within it; the last bits are no difference.
            let percent = (self.spread() * 1000.0 - 1e-9).ceil() / 10.0;
            format!("no shades: all within {percent:.1} %, {least} to {greatest} {unit}")
        })
    }

    /// How far a value is from the least to the greatest, where there are shades.
    pub(crate) fn share(&self, value: f64) -> Option<f64> {
        if let Some(noise) = self.noise {
            let share = value / self.greatest.0;
            return (self.greatest.0 > noise).then(|| share.clamp(0.0, 1.0));
        }
        if self.spread() < FLAT {
            return None;
        }
        // The difference of two halves is always a number.
        let above_least = |value: f64| value / 2.0 - self.least.0 / 2.0;
        Some(above_least(value) / above_least(self.greatest.0))
    }

    /// The value that is so far from the least to the greatest.
    pub(crate) fn at(&self, share: f64) -> f64 {
        self.least.0 * (1.0 - share) + self.greatest.0 * share
    }
}

pub(crate) fn rows(map: &HeatMap) -> impl Iterator<Item = &HeatRow> {
    map.groups.iter().flatten()
}

/// The value of a cell that has one, with its text.
pub(crate) fn value(cell: &HeatCell) -> Option<(f64, &str)> {
    match cell {
        HeatCell::Value { value, text } if value.is_finite() => Some((*value, text)),
        _ => None,
    }
}
