//! What may be said of a comparison.

use serde::{Deserialize, Serialize};

use super::{COUNT_MIN, Estimate, Interval, Kind, Quad, log_ratios};
use crate::stats::normal;
use crate::{Obstacle, Seconds, Unavailable};

/// Differences up to this size, relative, are nothing to act on, unless somebody says otherwise.
pub const BAND: f64 = 0.01;

/// The level at which the control arm is called different. It is an alarm: at 5 % it would spoil one
/// good run of twenty.
const CONTROL_LEVEL: f64 = 0.01;

/// The chance with which the number of quads that is asked for shall decide.
const CHANCE: f64 = 0.9;

/// Which direction of a measurement is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Times and costs.
    Less,
    /// Rates and bandwidths.
    More,
}

/// What a verdict rests on; laid down before the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rules {
    /// Which direction is better.
    pub better: Better,
    /// Relative differences up to this are "the same", 0.01 for 1 %. It reaches from 1 / (1 + band) to
    /// 1 + band, so that both directions are alike.
    pub band: f64,
    /// The two-sided level of the interval: that of the [`super::Looks`].
    pub level: f64,
}

impl Rules {
    /// The band as a log ratio.
    pub fn log_band(&self) -> f64 {
        self.band.ln_1p()
    }
}

/// What B is, compared with A.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better: the interval holds no "equal", and equal settings differed by less.
    Faster,
    /// Worse: likewise.
    Slower,
    /// The whole interval lies inside the band. Within it there may be a difference.
    Same,
    /// None of these, and why.
    CannotTell(Unavailable),
}

impl Verdict {
    /// Whether there is an answer, so that a planned look may end the run.
    pub fn is_decided(&self) -> bool {
        !matches!(self, Verdict::CannotTell(_))
    }
}

/// What a run says about B and A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// ln(B / A).
    pub ratio: Estimate,
    /// The same of the control arm, A with A, at a level of 1 %. None where there was no control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Estimate>,
    /// What may be said.
    pub verdict: Verdict,
    /// How many compared quads would decide with a chance of 90 %: find a difference of the size of the
    /// band, or show that there is none. None without an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<u64>,
}

/// Judges a run, quads in the order in which they were measured. `quad_time` is what a compared quad
/// costs, with its share of the controls; it turns quads into a budget. None without a compared quad.
pub fn compare(run: &[Quad], rules: &Rules, quad_time: Option<Seconds>) -> Option<Comparison> {
    let ratio = Estimate::of(&log_ratios(run, Kind::Compared), rules.level)?;
    let control = Estimate::of(&log_ratios(run, Kind::Control), CONTROL_LEVEL);
    let band = rules.log_band();
    // Equal arms are shown to be the same with the chance that neither end of the interval is outside.
    let either_way = f64::midpoint(1.0, CHANCE);
    let needed = ratio.spread().map(|spread| needed(spread, band, rules.level, either_way));
    let verdict = verdict(&ratio, control.as_ref(), rules).unwrap_or_else(|why| {
        let missing = Unavailable::new(Obstacle::Measurement, "verdict", why);
        Verdict::CannotTell(match remedy(&ratio, needed, rules, quad_time) {
            Some(remedy) => missing.with_remedy(remedy),
            None => missing,
        })
    });
    Some(Comparison { ratio, control, verdict, needed })
}

fn verdict(ratio: &Estimate, control: Option<&Estimate>, rules: &Rules) -> Result<Verdict, String> {
    let band = rules.log_band();
    if let Some(control) = control
        && let Some(interval) = control.interval.value()
        && interval.excludes_zero()
        && control.centre.abs() > band
    {
        return Err(format!(
            "A differs from A, in the control arm, by {} ({}): what makes B differ may be the same",
            percent(control.centre),
            range(interval)
        ));
    }
    let interval = match &ratio.interval {
        crate::Known::Yes(interval) => interval,
        crate::Known::No { unavailable } => return Err(unavailable.why.clone()),
    };
    if interval.is_within(band) {
        return Ok(Verdict::Same);
    }
    if !interval.excludes_zero() {
        return Err(format!(
            "the interval ({}) holds both no difference and differences of more than {:.1} %",
            range(interval),
            rules.band * 100.0
        ));
    }
    if let Some(control) = control
        && control.centre.abs() >= ratio.centre.abs()
    {
        return Err(format!(
            "B differs from A by {}, but A from A, in the control arm, by {}",
            percent(ratio.centre),
            percent(control.centre)
        ));
    }
    let better = match rules.better {
        Better::Less => ratio.centre < 0.0,
        Better::More => ratio.centre > 0.0,
    };
    Ok(if better { Verdict::Faster } else { Verdict::Slower })
}

/// How many quads it takes: more than there were, because these did not decide.
fn remedy(
    ratio: &Estimate,
    needed: Option<u64>,
    rules: &Rules,
    quad_time: Option<Seconds>,
) -> Option<String> {
    let needed = match needed {
        Some(needed) if needed > ratio.count => needed,
        Some(_) => return None,
        None => COUNT_MIN as u64,
    };
    let budget = quad_time
        .map(|time| format!(", {} s", (time.0 * needed as f64).ceil()))
        .unwrap_or_default();
    Some(if ratio.interval.value().is_some() {
        let percent = rules.band * 100.0;
        format!("about {needed} quads{budget}, to tell a difference of {percent:.1} % from none")
    } else {
        format!("{needed} quads or more{budget}")
    })
}

/// How many quads find a log ratio of `effect` with a chance of `chance`, when each has a standard
/// deviation of `spread` (see [`Estimate::spread`]) and the test is two-sided of level `level`; never
/// fewer than give an interval.
///
/// The effect is one worth finding, chosen before the run. The one that was seen is no use here: what
/// chance made small then seems to need many quads, and what it made great few.
///
/// # Source
/// Noether, Sample size determination for some common nonparametric tests, J. Am. Stat. Assoc. 82, 1987;
/// the efficiency of the test is in the spread already, which is taken from its interval.
pub fn needed(spread: f64, effect: f64, level: f64, chance: f64) -> u64 {
    let z = normal::quantile(1.0 - level / 2.0) + normal::quantile(chance);
    ((z * spread / effect).powi(2).ceil() as u64).max(COUNT_MIN as u64)
}

/// A log ratio as a change.
fn percent(log_ratio: f64) -> String {
    format!("{:+.2} %", log_ratio.exp_m1() * 100.0)
}

fn range(interval: &Interval) -> String {
    format!("{} to {}", percent(interval.low), percent(interval.high))
}

#[cfg(test)]
mod tests {
    use super::super::{Order, Slot};
    use super::*;

    const RULES: Rules = Rules { better: Better::Less, band: BAND, level: 0.05 };

    /// Quads with these log ratios, in per cent.
    fn quads(kind: Kind, percents: &[f64]) -> Vec<Quad> {
        let quad = |percent: &f64| {
            let factor = (percent / 100.0).exp();
            let slot = Slot { kind, order: Order::Abba };
            Quad::new(slot, [2.0, 2.0 * factor, 2.0 * factor, 2.0]).unwrap()
        };
        percents.iter().map(quad).collect()
    }

    /// Ten log ratios about a centre, in per cent.
    fn about(centre: f64, spread: f64) -> Vec<f64> {
        (0..10).map(|i| centre + spread * (f64::from(i) - 4.5)).collect()
    }

    fn judge(compared: &[f64], control: &[f64], rules: &Rules) -> Verdict {
        let mut run = quads(Kind::Compared, compared);
        run.extend(quads(Kind::Control, control));
        compare(&run, rules, Some(Seconds(0.5))).unwrap().verdict
    }

    fn why(verdict: Verdict) -> (String, Option<String>) {
        match verdict {
            Verdict::CannotTell(why) => (why.why, why.remedy),
            other => panic!("it can tell: {other:?}"),
        }
    }

    #[test]
    fn each_answer_has_its_case() {
        let calm = about(0.0, 0.01);
        assert_eq!(judge(&about(-5.0, 0.1), &calm, &RULES), Verdict::Faster);
        assert_eq!(judge(&about(5.0, 0.1), &calm, &RULES), Verdict::Slower);
        let more = Rules { better: Better::More, ..RULES };
        assert_eq!(judge(&about(5.0, 0.1), &[], &more), Verdict::Faster);
        // A difference that is smaller than the band is no news, however sure.
        assert_eq!(judge(&about(0.5, 0.01), &calm, &RULES), Verdict::Same);
        assert_eq!(
            judge(&about(0.5, 0.01), &calm, &Rules { band: 0.001, ..RULES }),
            Verdict::Slower
        );
        let (why, remedy) = why(judge(&about(0.0, 1.0), &calm, &RULES));
        assert_eq!(
            why,
            "the interval (-2.47 % to +2.53 %) holds both no difference and differences of more \
             than 1.0 %"
        );
        assert_eq!(
            remedy.as_deref(),
            Some("about 212 quads, 106 s, to tell a difference of 1.0 % from none")
        );
    }

    #[test]
    fn a_control_that_differs_spoils_every_answer() {
        for centre in [0.0, 5.0] {
            let (why, _) = why(judge(&about(centre, 0.01), &about(2.0, 0.01), &RULES));
            assert!(why.starts_with("A differs from A, in the control arm, by +2.02 %"), "{why}");
        }
        // Less than the band does not; nor do few quads, of which each is a guess.
        assert_eq!(judge(&about(5.0, 0.01), &about(0.5, 0.01), &RULES), Verdict::Slower);
        assert_eq!(judge(&about(5.0, 0.01), &[2.0, 2.0], &RULES), Verdict::Slower);
    }

    #[test]
    fn no_difference_is_smaller_than_that_of_equal_arms() {
        let (why, _) = why(judge(&about(2.0, 0.01), &[-2.5, -2.5], &RULES));
        assert_eq!(
            why,
            "B differs from A by +2.02 %, but A from A, in the control arm, by -2.47 %"
        );
    }

    #[test]
    fn few_quads_tell_nothing() {
        let (why, remedy) = why(judge(&[5.0; 7], &[], &RULES));
        assert_eq!(why, "there are 7, and fewer than 8 give no interval");
        assert_eq!(remedy.as_deref(), Some("8 quads or more, 4 s"));
        assert!(compare(&quads(Kind::Control, &[1.0]), &RULES, None).is_none());
    }

    #[test]
    fn needed_quads_are_those_of_the_formula() {
        // (1.96 + 1.2816)^2 = 10.507.
        assert_eq!(needed(0.02, 0.02, 0.05, 0.9), 11);
        assert_eq!(needed(0.02, 0.01, 0.05, 0.9), 43);
        assert_eq!(needed(0.0, 0.01, 0.05, 0.9), COUNT_MIN as u64);
    }

    #[test]
    fn a_comparison_survives_the_disk() {
        let mut run = quads(Kind::Compared, &about(0.0, 1.0));
        run.extend(quads(Kind::Control, &[0.5]));
        let comparison = compare(&run, &RULES, None).unwrap();
        let text = serde_json::to_string(&comparison).unwrap();
        assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), comparison);
    }
}
