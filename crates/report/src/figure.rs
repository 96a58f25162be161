//! Key figures: the few numbers that a machine is known by, each with how it stands to what is normal.

use model::Unit;
use model::page::{Figure, Strip, Text, Tone, si};
use model::record::{ReferencePlace, ReferencePosition, ReferenceRun, ReferenceSide};

use crate::band::{Band, BandVerdict};

/// A key figure of a machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyFigure {
    /// What it is: `clock of 2 cores, scalar`.
    pub(crate) name: String,
    /// The value, or why there is none. Samples in groups without a common middle have several, the main one first.
    pub(crate) values: Result<Vec<f64>, String>,
    pub(crate) unit: Unit,
    /// Half the 95 % interval of the value, relative to it.
    pub(crate) uncertainty: Option<f64>,
    /// Whether it rests on disturbed blocks alone.
    pub(crate) is_doubtful: bool,
    pub(crate) standing: Standing,
    /// The same by the number of active cores.
    pub(crate) curve: Vec<(usize, f64)>,
    /// The result of the record that it is, where earlier records may have the same.
    pub(crate) result: Option<ResultOfFigure>,
}

/// What a figure is called among results of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultOfFigure {
    area: &'static str,
    workload: &'static str,
    quantity: &'static str,
    active: usize,
}

/// How a value stands to what is normal for such a core.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Standing {
    /// It lies in this range, or so far beyond its nearer end.
    Known {
        normal: [f64; 2],
        /// Who says so.
        source: String,
    },
    /// There is a range, and the value cannot be held against it.
    CannotTell { why: String },
    /// Neither theory, nor published figures, nor earlier records say anything.
    NoReference,
}

impl KeyFigure {
    /// One that nothing is known to compare with.
    pub(crate) fn of(name: impl Into<String>, value: f64, unit: Unit) -> KeyFigure {
        KeyFigure {
            name: name.into(),
            values: Ok(vec![value]),
            unit,
            uncertainty: None,
            is_doubtful: false,
            standing: Standing::NoReference,
            curve: Vec::new(),
            result: None,
        }
    }

    /// One that was asked for and has no value.
    pub(crate) fn absent(name: impl Into<String>, why: impl Into<String>) -> KeyFigure {
        let values = Err(why.into());
        KeyFigure { values, ..KeyFigure::of(name, 0.0, Unit::One) }
    }

    /// With half the interval of its median, relative to it.
    pub(crate) fn known_to(self, uncertainty: Option<f64>) -> KeyFigure {
        KeyFigure { uncertainty, ..self }
    }

    /// Marked, where it rests on disturbed blocks alone.
    pub(crate) fn doubted(self, is_doubtful: bool) -> KeyFigure {
        KeyFigure { is_doubtful, ..self }
    }

    /// With the range that is normal, where there is one.
    pub(crate) fn normally(self, normal: Option<[f64; 2]>, source: &str) -> KeyFigure {
        let known = |normal| Standing::Known { normal, source: source.to_owned() };
        KeyFigure { standing: normal.map_or(self.standing, known), ..self }
    }

    /// Beside what theory allows or others found.
    pub(crate) fn within(self, band: Option<&Band>) -> KeyFigure {
        let Some((band, value)) = band.zip(self.value()) else { return self };
        let standing = match &band.verdict {
            BandVerdict::Normal | BandVerdict::Outside(_) => {
                let normal = band.normal.map(|end| end * value);
                Standing::Known { normal, source: band.source.clone() }
            }
            BandVerdict::CannotTell(why) => Standing::CannotTell { why: why.clone() },
        };
        KeyFigure { standing, ..self }
    }

    /// That result of the record.
    pub(crate) fn result(
        self,
        area: &'static str,
        workload: &'static str,
        quantity: &'static str,
        active: usize,
    ) -> KeyFigure {
        let result = Some(ResultOfFigure { area, workload, quantity, active });
        KeyFigure { result, ..self }
    }

    /// Among earlier records of such machines, where nothing else says what is normal.
    pub(crate) fn among(self, earlier: Option<&ReferenceRun>) -> KeyFigure {
        let (Some(result), Some(earlier)) = (self.result, earlier) else { return self };
        if let Standing::Known { .. } = self.standing {
            return self;
        }
        let is_it = |it: &&ReferencePosition| {
            let what = &it.what;
            (what.area.as_str(), what.workload.as_str()) == (result.area, result.workload)
                && (what.quantity.as_str(), what.active) == (result.quantity, result.active)
        };
        let place = earlier.positions.iter().find(is_it).and_then(|it| it.place.value());
        let value = self.value();
        // What enough of them share is no outlier, though it lies beyond the limits.
        let limits = |place: &ReferencePlace| match (place.side, value) {
            (ReferenceSide::Inside, Some(value)) => {
                [place.limits[0].min(value), place.limits[1].max(value)]
            }
            _ => place.limits,
        };
        self.normally(place.map(limits), "earlier records")
    }

    /// The main value.
    pub(crate) fn value(&self) -> Option<f64> {
        self.values.as_ref().ok()?.first().copied()
    }

    /// What it is beside what is published of such a CPU: `clock, 1 core: 3.690 GHz, published 3.700 GHz (...)`.
    pub(crate) fn published(&self) -> Option<String> {
        let Standing::Known { source, .. } = &self.standing else { return None };
        let value = si::format(self.value()?, self.unit);
        source.starts_with("published").then(|| format!("{}: {value}, {source}", self.name))
    }

    /// How far it is below the range that is normal, as a negative share of that end, or above it. A narrow range is one
    /// figure with its tolerance: the distance is from that.
    pub(crate) fn off(&self) -> Option<f64> {
        let Standing::Known { normal: [low, high], .. } = self.standing else { return None };
        if self.is_too_vague() {
            return None;
        }
        let value = self.value()?;
        let is_outside = value < low || value > high;
        Some(if is_outside { value / self.nearest()? - 1.0 } else { 0.0 })
    }

    /// Whether its interval reaches beyond both ends of what is normal, so that it can be anything.
    fn is_too_vague(&self) -> bool {
        /// A narrow range is one figure with its tolerance, which an interval may well cover.
        const VAGUE: f64 = 0.1;
        let Standing::Known { normal: [low, high], .. } = self.standing else { return false };
        let interval = self.value().zip(self.uncertainty.filter(|u| *u > VAGUE));
        interval.is_some_and(|(value, u)| value * (1.0 - u) < low && value * (1.0 + u) > high)
    }

    /// What it is held against: the nearer end of what is normal, or the middle of a narrow range.
    fn nearest(&self) -> Option<f64> {
        const NARROW: f64 = 1.05;
        let Standing::Known { normal: [low, high], .. } = self.standing else { return None };
        let middle = f64::midpoint(low, high);
        let end = if self.value()? < middle { low } else { high };
        Some(if high / low < NARROW { middle } else { end })
    }

    /// As people read it.
    pub(crate) fn shown(&self) -> Figure {
        let value = match &self.values {
            Ok(values) => {
                let texts: Vec<String> =
                    values.iter().map(|value| si::format(*value, self.unit)).collect();
                Text::toned(texts.join(" or "), Tone::Strong).doubted(self.is_doubtful)
            }
            Err(_) => Text::toned("unavailable", Tone::Faint),
        };
        let interval =
            |value: f64| self.uncertainty.map(|u| [value * (1.0 - u), value * (1.0 + u)]);
        let expected = match self.standing {
            Standing::Known { normal, .. } => Some(normal),
            Standing::CannotTell { .. } | Standing::NoReference => None,
        };
        let strip = self.value().zip(expected).map(|(value, expected)| Strip {
            value,
            interval: interval(value),
            expected,
            range: range(expected, self.unit),
        });
        Figure {
            name: self.name.clone(),
            value,
            uncertainty: self.uncertainty.map_or(String::new(), percent),
            standing: self.standing(),
            why: self.why(),
            strip,
            curve: self.curve.iter().map(|(cores, value)| (*cores as f64, *value)).collect(),
        }
    }

    fn standing(&self) -> Text {
        if let Err(why) = &self.values {
            return Text::toned(why.clone(), Tone::Faint);
        }
        let of = self.nearest().map_or(String::new(), |end| si::format(end, self.unit));
        match (&self.standing, self.off()) {
            (Standing::Known { .. }, Some(off)) if off < 0.0 => {
                Text::toned(format!("{} below {of}", whole_percent(-off)), Tone::Warning)
            }
            (Standing::Known { .. }, Some(off)) if off > 0.0 => {
                Text::toned(format!("{} above {of}", whole_percent(off)), Tone::Warning)
            }
            (Standing::Known { .. }, None) => {
                Text::toned("cannot tell: the interval is too wide", Tone::Faint)
            }
            (Standing::Known { .. }, _) => Text::toned("normal", Tone::Good),
            (Standing::CannotTell { why }, _) => {
                Text::toned(format!("cannot tell: {why}"), Tone::Faint)
            }
            (Standing::NoReference, _) => Text::toned("no reference", Tone::Faint),
        }
    }

    /// What its standing rests on, or why there is none.
    fn why(&self) -> Option<String> {
        match &self.standing {
            Standing::Known { normal, source } => {
                Some(format!("normal: {} ({source})", range(*normal, self.unit)))
            }
            Standing::CannotTell { .. } | Standing::NoReference => None,
        }
    }
}

/// `2.5 to 3.0 GHz`: a unit that both ends share stands once.
fn range(ends: [f64; 2], unit: Unit) -> String {
    let [low, high] = ends.map(|end| si::format(end, unit));
    let shared = high.split_once(' ').map_or("", |(_, unit)| unit);
    format!("{} to {high}", low.trim_end_matches(shared).trim_end())
}

/// `± 0.3 %`, `± 12 %`, `< 0.1 %`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 0.05 {
        return "< 0.1 %".to_owned();
    }
    if percent < 9.95 { format!("± {percent:.1} %") } else { format!("± {percent:.0} %") }
}

/// `12 %`, `0.4 %`: what rounds to nothing has a digit more.
fn whole_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 0.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use model::Known;
    use model::record::{ReferencePlace, ReferenceSide, ResultKey};

    use super::*;
    use crate::testing::near;

    fn clock(hertz: f64, normal: [f64; 2]) -> KeyFigure {
        KeyFigure::of("clock", hertz, Unit::Hertz).normally(Some(normal), "a test")
    }

    #[test]
    fn a_value_beyond_its_range_is_off_by_its_distance_from_the_nearer_end() {
        // 2.2 of 2.5 GHz: 12 % below the lower end; 3.3 of 3.0: 10 % above the upper one.
        let range = [2.5e9, 3.0e9];
        for (hertz, off, words) in [
            (2.2e9, -0.12, "12 % below 2.500 GHz"),
            (2.6e9, 0.0, "normal"),
            (3.3e9, 0.1, "10 % above 3.000 GHz"),
        ] {
            let figure = clock(hertz, range);
            assert!((figure.off().unwrap() - off).abs() < 1e-9);
            assert_eq!(figure.shown().standing.text, words);
        }
        // 0.4 % of 2.5 GHz are 10 MHz.
        assert_eq!(clock(2.49e9, range).shown().standing.text, "0.4 % below 2.500 GHz");
    }

    #[test]
    fn a_value_whose_interval_covers_its_whole_range_has_no_verdict() {
        // 2.6 GHz less and more 20 % is 2.08 to 3.12 GHz, beyond both 2.5 and 3.0; of 10 % it is 2.34 to 2.86.
        let vague = clock(2.6e9, [2.5e9, 3.0e9]).known_to(Some(0.2));
        assert_eq!(vague.off(), None);
        let words = "cannot tell: the interval is too wide";
        assert_eq!(vague.shown().standing.text, words);
        assert_eq!(clock(2.6e9, [2.5e9, 3.0e9]).known_to(Some(0.1)).off(), Some(0.0));
    }

    #[test]
    fn a_band_is_a_range_around_the_value_whatever_it_counts_in() {
        let mut band = crate::band::tests::band(BandVerdict::Normal);
        // Measured 5 ns, normal from 4 to 6 ns.
        band.normal = [0.8, 1.2];
        let figure = KeyFigure::of("L2", 5e-9, Unit::Second);
        let Standing::Known { normal: [low, high], .. } =
            figure.clone().within(Some(&band)).standing
        else {
            panic!("it has a range")
        };
        assert!((low - 4e-9).abs() < 1e-15 && (high - 6e-9).abs() < 1e-15);
        band.verdict = BandVerdict::CannotTell("a guest".to_owned());
        let shown = figure.clone().within(Some(&band)).shown();
        assert_eq!(shown.standing.text, "cannot tell: a guest");
        assert_eq!(figure.within(None).shown().standing.text, "no reference");
    }

    #[test]
    fn what_has_no_value_says_why_and_draws_nothing() {
        let shown =
            KeyFigure::absent("FP64", "contended").normally(Some([1.0, 2.0]), "a test").shown();
        assert_eq!(shown.value.text, "unavailable");
        assert_eq!(shown.standing.text, "contended");
        assert!(shown.strip.is_none());
    }

    #[test]
    fn a_value_beyond_a_narrow_range_is_off_by_its_distance_from_the_middle() {
        // 2.02 is 2 % above 1.98: 1.76 and 2.1 of 2 GHz.
        near(clock(1.76e9, [1.98e9, 2.02e9]).off().unwrap(), -0.12);
        near(clock(2.1e9, [1.98e9, 2.02e9]).off().unwrap(), 0.05);
        // 2 is 5.3 % above 1.9: 1.71 of 1.9 GHz.
        near(clock(1.71e9, [1.9e9, 2e9]).off().unwrap(), -0.1);
    }

    #[test]
    fn strip_has_the_ends_of_the_interval() {
        let strip = |figure: KeyFigure| figure.shown().strip.unwrap();
        // 2.6 GHz and 5 % of it: 2.47 to 2.73 GHz.
        let found = strip(clock(2.6e9, [2.5e9, 3.0e9]).known_to(Some(0.05)));
        let [low, high] = found.interval.unwrap();
        near(low, 2.47e9);
        near(high, 2.73e9);
        assert_eq!((found.value, found.expected), (2.6e9, [2.5e9, 3.0e9]));
    }

    #[test]
    fn earlier_records_give_the_range_of_a_figure_without_one() {
        let place = ReferencePlace {
            quartiles: [2.4e9, 2.5e9, 2.6e9, 2.7e9, 2.8e9],
            deviation: 0.1e9,
            below: 0.1,
            limits: [2.3e9, 2.9e9],
            side: ReferenceSide::Below,
        };
        let position = |active| ReferencePosition {
            what: ResultKey {
                area: "turbo".to_owned(),
                workload: "scalar_iadd".to_owned(),
                quantity: "clock".to_owned(),
                active,
                cpus: None,
                parameters: [].into(),
            },
            unit: Unit::Hertz,
            better: None,
            value: 2.07e9,
            count: 20,
            place: Known::Yes(place),
        };
        let earlier =
            |active| ReferenceRun { positions: vec![position(active)], ..ReferenceRun::default() };
        let of = |figure: KeyFigure| figure.result("turbo", "scalar_iadd", "clock", 2);
        let plain = of(KeyFigure::of("clock", 2.07e9, Unit::Hertz));
        // 2.07 of 2.3 GHz: 10 % below the lower limit.
        near(plain.clone().among(Some(&earlier(2))).off().unwrap(), -0.1);
        assert_eq!(plain.among(Some(&earlier(1))).off(), None, "of another number of cores");
        // A promised range of 1.98 to 2.02 GHz goes first.
        let promised = of(clock(2.07e9, [1.98e9, 2.02e9]));
        // 2.07 of the 2.00 GHz in its middle.
        near(promised.among(Some(&earlier(2))).off().unwrap(), 0.035);
    }
}
