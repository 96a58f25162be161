//! What the shades of a heat map span.

use model::page::{HeatCell, HeatMap, HeatRow, Losses};

/// A smaller difference between least and greatest, as a share of the values, is noise as often as
/// not: shades would make a pattern of it.
const FLAT: f64 = 0.005;

/// The least and the greatest value of a map, each with its text.
pub(crate) struct Range<'a> {
    pub(crate) least: (f64, &'a str),
    pub(crate) greatest: (f64, &'a str),
    /// What the values are, where texts say something else.
    losses: Option<&'a Losses>,
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
        let losses = map.shaded_from.as_ref();
        if let Some(losses) = losses {
            (least, greatest.1) = ((0.0, "0"), &losses.greatest);
        }
        Some(Range { least, greatest, losses })
    }

    /// How far the two are apart, as a share of the larger.
    fn spread(&self) -> f64 {
        let size = self.least.0.abs().max(self.greatest.0.abs());
        if size == 0.0 { 0.0 } else { self.greatest.0 / size - self.least.0 / size }
    }

    /// The unit of what is shaded; `unit` is that of the cells.
    pub(crate) fn unit<'b>(&'b self, unit: &'b str) -> &'b str {
        self.losses.map_or(unit, |losses| &losses.unit)
    }

    /// Why there are no shades, where there are none.
    pub(crate) fn flat(&self, unit: &str) -> Option<String> {
        if let Some(Losses { noise, unit, .. }) = self.losses {
            // Of a cell that may as well be nothing the value is 0, whatever it says.
            return (self.greatest.0 <= *noise)
                .then(|| format!("no shades: none is more than {noise} {unit} with certainty"));
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
        if let Some(losses) = self.losses {
            let share = value / self.greatest.0;
            return (self.greatest.0 > losses.noise).then(|| share.clamp(0.0, 1.0));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(cells: &[(f64, &str)]) -> HeatMap {
        let cell = |&(value, text): &(f64, &str)| HeatCell::Value { value, text: text.to_owned() };
        let cells: Vec<HeatCell> = cells.iter().map(cell).collect();
        HeatMap {
            caption: String::new(),
            unit: "%".to_owned(),
            row_title: String::new(),
            column_title: String::new(),
            columns: vec![String::new(); cells.len()],
            groups: vec![vec![HeatRow { label: String::new(), cells }]],
            legend: Vec::new(),
            notes: Vec::new(),
            shaded_from: Some(Losses {
                noise: 0.5,
                greatest: "88.9".to_owned(),
                unit: "% lost".to_owned(),
            }),
            outline: None,
        }
    }

    /// What takes nine times as long has lost 89 %, although its cell says 800.
    #[test]
    fn a_legend_of_losses_says_losses() {
        let map = losses(&[(88.9, "+800.1 (+790.0, +810.0)"), (14.8, "-14.8")]);
        let range = Range::of(&map).unwrap();
        assert_eq!([range.least.1, range.greatest.1], ["0", "88.9"]);
        assert_eq!(range.unit("%"), "% lost");
        assert_eq!(range.flat("%"), None);
    }

    /// Cells without shades may say large numbers whose intervals contain 0.
    #[test]
    fn losses_that_may_be_none_are_not_certain() {
        let map = losses(&[(0.0, "-44.7 (-56.5, +7.9)")]);
        let flat = Range::of(&map).unwrap().flat("%").unwrap();
        assert_eq!(flat, "no shades: none is more than 0.5 % lost with certainty");
    }
}
