//! The axes of plots: where numbers stand on them, and which of them have labels.

use model::page::Scale;

use crate::number;

/// Larger and smaller numbers are no measurements, and their differences overflow.
const PLOTTABLE_MAX: f64 = 1e290;

/// Where a number stands on an axis of that scale, if anywhere.
pub(crate) fn place(value: f64, scale: Scale) -> Option<f64> {
    match scale {
        Scale::Linear => (value.abs() <= PLOTTABLE_MAX).then_some(value),
        Scale::Logarithmic | Scale::Bytes => {
            (PLOTTABLE_MAX.recip()..=PLOTTABLE_MAX).contains(&value).then(|| value.log2())
        }
    }
}

/// What spans so many decades has powers of ten as labels.
const DECADES_FROM: f64 = 3.0;

/// The range of an axis and the distance between its labels, as places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    pub(crate) low: f64,
    pub(crate) high: f64,
    step: f64,
    scale: Scale,
}

impl Axis {
    /// An axis over these places with about that many labels, a round distance apart.
    pub(crate) fn over(
        values: impl Iterator<Item = f64> + Clone,
        labels: usize,
        scale: Scale,
    ) -> Axis {
        let whole = values.clone().all(|value| value.fract() == 0.0);
        let ends = |(low, high): (f64, f64), value| (low.min(value), high.max(value));
        let (mut low, mut high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        let size = low.abs().max(high.abs());
        // A constant needs some room around it to be drawn at all.
        if high - low <= size * 1e-6 || high - low < PLOTTABLE_MAX.recip() {
            let room = if size < PLOTTABLE_MAX.recip() { 1.0 } else { size * 0.1 };
            (low, high) = (low - room, high + room);
        }
        let least = (high - low) / labels as f64;
        let decade = 10f64.log2();
        if scale == Scale::Logarithmic && high - low >= DECADES_FROM * decade {
            return Axis { low, high, step: (least / decade).ceil() * decade, scale };
        }
        if scale != Scale::Linear {
            // Labels are powers of two, so many times apart.
            let step = least.max(1.0).log2().ceil().exp2();
            return Axis { low, high, step, scale };
        }
        let power = 10f64.powf(least.log10().floor());
        let round = [1.0, 2.0, 5.0].into_iter().find(|round| round * power >= least * 0.999);
        let step = round.unwrap_or(10.0) * power;
        // There is nothing between whole numbers, such as counts of cores.
        Axis { low, high, step: if whole { step.max(1.0) } else { step }, scale }
    }

    /// As [`Axis::over`], for what is measured: where all of it is nearly the same it is to look so.
    pub(crate) fn of_measured(
        values: impl Iterator<Item = f64> + Clone,
        labels: usize,
        scale: Scale,
    ) -> Axis {
        /// A smaller share of the numbers themselves is no height of a picture.
        const SHARE_MIN: f64 = 0.05;
        let ends = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let (low, high) = values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        let least = match scale {
            Scale::Linear => low.abs().max(high.abs()) * SHARE_MIN,
            Scale::Logarithmic | Scale::Bytes => (1.0 + SHARE_MIN).log2(),
        };
        let room = ((least - (high - low)) / 2.0).max(0.0);
        let ends = [low - room, high + room].into_iter().filter(|end| end.is_finite());
        Axis::over(values.chain(ends.collect::<Vec<_>>()), labels, scale)
    }

    /// The same axis from label to label.
    pub(crate) fn rounded(self) -> Axis {
        let low = (self.low / self.step).floor() * self.step;
        let high = (self.high / self.step).ceil() * self.step;
        Axis { low, high, ..self }
    }

    /// How far along the axis `value` is.
    pub(crate) fn share(self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Where labels stand, and what they say.
    pub(crate) fn labels(self) -> Vec<(f64, String)> {
        let size = self.low.abs().max(self.high.abs());
        let slack = 1e-6;
        let first = (self.low / self.step - slack).ceil() as i64;
        let last = (self.high / self.step + slack).floor() as i64;
        if self.scale == Scale::Logarithmic && last <= first {
            return self.between_powers();
        }
        let label = |index: i64| {
            let place = index as f64 * self.step;
            let text = match self.scale {
                Scale::Linear => number::on_scale(place, self.step, size),
                Scale::Logarithmic => number::short(place.exp2()),
                Scale::Bytes => number::bytes(place.exp2()),
            };
            (place, text)
        };
        (first..=last).map(label).collect()
    }

    /// Round numbers, where there are no two powers on it.
    fn between_powers(self) -> Vec<(f64, String)> {
        const LABELS: usize = 4;
        let ends = [self.low.exp2(), self.high.exp2()];
        let plain = Axis::over(ends.into_iter(), LABELS, Scale::Linear);
        plain.labels().into_iter().map(|(value, text)| (value.log2(), text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64], labels: usize) -> Axis {
        Axis::over(values.iter().copied(), labels, Scale::Linear)
    }

    fn labels(values: &[f64], labels: usize, scale: Scale) -> Vec<String> {
        let places = values.iter().filter_map(|value| place(*value, scale)).collect::<Vec<_>>();
        let axis = Axis::over(places.into_iter(), labels, scale);
        axis.labels().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn what_is_nearly_the_same_looks_so() {
        let of = |low: f64, high: f64| {
            Axis::of_measured([low, high].into_iter(), 5, Scale::Linear).rounded()
        };
        let flat = of(8.98, 8.99);
        assert!(flat.share(8.99) - flat.share(8.98) < 0.05, "{flat:?}");
        let steep = of(5.0, 9.0);
        assert!(steep.share(9.0) - steep.share(5.0) > 0.7, "{steep:?}");
    }

    #[test]
    fn logarithms_are_labelled_with_powers_of_two() {
        let caches = [4096.0, 448e6];
        assert_eq!(labels(&caches, 5, Scale::Bytes), ["4K", "64K", "1M", "16M", "256M"]);
        assert_eq!(labels(&[1.4, 110.0], 8, Scale::Logarithmic), ["2", "4", "8", "16", "32", "64"]);
        assert_eq!(labels(&[0.02, 99.0], 8, Scale::Logarithmic), ["0.1", "1", "10"]);
        assert_eq!(place(0.0, Scale::Bytes), None);
        assert_eq!(place(-1.0, Scale::Logarithmic), None);
    }

    #[test]
    fn labels_are_round_and_cover_the_data() {
        let labels: Vec<String> =
            axis(&[1.93, 3.41], 4).rounded().labels().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["1.5", "2", "2.5", "3", "3.5"]);
    }

    #[test]
    fn less_than_a_doubling_has_labels_too() {
        assert_eq!(labels(&[1.1, 1.9], 8, Scale::Logarithmic), ["1.2", "1.4", "1.6", "1.8"]);
        assert!(labels(&[65.0, 65.0], 8, Scale::Logarithmic).len() > 1);
    }

    #[test]
    fn a_constant_gets_room() {
        let zero = axis(&[0.0, 0.0], 4);
        assert_eq!(zero, Axis { low: -1.0, high: 1.0, step: 1.0, scale: Scale::Linear });
        let five = axis(&[5.0], 4);
        assert!(five.low < 5.0 && five.high > 5.0 && five.step > 0.0);
    }

    #[test]
    fn extremes_have_labels_too() {
        for values in
            [[-1e290, 1e290], [0.0, 1e-300], [1e-280, 3e-280], [1e15, 1e15 + 1.0], [1e4, 10_000.1]]
        {
            let labels = axis(&values, 4).rounded().labels();
            assert!((2..10).contains(&labels.len()), "{values:?}: {labels:?}");
            assert!(labels.windows(2).all(|pair| pair[0].1 != pair[1].1), "{labels:?}");
        }
    }
}
