//! Runs whose truth is known: what the promises of this module are checked against.
//!
//! Noise is the logarithm of a factor on each measurement, in the order of the run. All of it is made
//! up; the sizes are those that the project saw on shared guests, or worse.

use super::noise::Arm;
use super::{Better, Comparison, Draw, Kind, Looks, Quad, Rules, Slot, Verdict, compare, schedule};
use crate::Seconds;

/// What disturbs the measurements beside independent normal noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// Nothing.
    None,
    /// All takes 10 % longer at the end than at the beginning, evenly.
    Drift,
    /// The noise remembers: an AR(1) process with a coefficient of 0.9 takes the place of half of the
    /// variance.
    Autocorrelated,
    /// Once in 50 measurements somebody interferes, for four measurements on average, which take 10 %
    /// longer on average.
    Bursts,
    /// The machine has two clocks, and changes once in 20 measurements on average. They are so far apart
    /// that they take the place of half of the variance.
    TwoClocks,
    /// The same with clocks that are 10 % apart, whatever the spread is beside that.
    FarClocks,
    /// All of these at once, with clocks that are far apart.
    All,
}

impl Disturbance {
    /// Each of them.
    pub const EACH: [Disturbance; 7] = [
        Disturbance::None,
        Disturbance::Drift,
        Disturbance::Autocorrelated,
        Disturbance::Bursts,
        Disturbance::TwoClocks,
        Disturbance::FarClocks,
        Disturbance::All,
    ];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Disturbance::None => "none",
            Disturbance::Drift => "drift",
            Disturbance::Autocorrelated => "autocorrelated",
            Disturbance::Bursts => "bursts",
            Disturbance::TwoClocks => "two clocks",
            Disturbance::FarClocks => "clocks 10 % apart",
            Disturbance::All => "all of them",
        }
    }

    fn is(self, one: Disturbance) -> bool {
        self == one || self == Disturbance::All
    }

    /// How far the two clocks are apart, as a log ratio.
    fn apart(self, spread: f64) -> f64 {
        match self {
            // Half of the time at either side of the middle: the standard deviation is half of it.
            Disturbance::TwoClocks => spread * std::f64::consts::SQRT_2,
            Disturbance::FarClocks | Disturbance::All => 1.1f64.ln(),
            _ => 0.0,
        }
    }
}

/// A run by the schedule on a machine on which B takes `ratio` times as long as A, with noise of that
/// relative spread in each measurement.
pub fn run(
    slots: &[Slot],
    ratio: f64,
    disturbance: Disturbance,
    spread: f64,
    draw: Draw<'_>,
) -> Vec<Quad> {
    let noise = noise(4 * slots.len(), disturbance, spread, draw);
    let measured = slots.iter().zip(noise.chunks_exact(4)).map(|(slot, noise)| {
        let arms = slot.order.arms();
        let values = [0, 1, 2, 3].map(|seat| {
            let is_b = arms[seat] == Arm::B && slot.kind == Kind::Compared;
            noise[seat].exp() * if is_b { ratio } else { 1.0 }
        });
        Quad { slot: *slot, values }
    });
    measured.collect()
}

/// A kind of run, of which many are simulated.
#[derive(Debug, Clone)]
pub struct Case {
    /// What disturbs it.
    pub disturbance: Disturbance,
    /// The relative spread of each measurement.
    pub spread: f64,
    /// How long B takes, of what A takes.
    pub ratio: f64,
    /// When it is looked at, and at which level. Decided runs end.
    pub looks: Looks,
    /// One of so many quads is a control; 0 for none.
    pub control_every: u64,
    /// What is the same.
    pub band: f64,
}

impl Case {
    /// One run: what is told at the look that decides, or at its end, and what those after it would have
    /// told.
    pub fn trial(&self, draw: Draw<'_>) -> Trial {
        let slots = schedule(self.looks.last(), self.control_every, draw);
        let run = run(&slots, self.ratio, self.disturbance, self.spread, draw);
        let rules = Rules { better: Better::Less, band: self.band, level: self.looks.level };
        let mut compared = 0;
        let mut told: Option<Comparison> = None;
        let mut all_hold = true;
        for (index, quad) in run.iter().enumerate() {
            compared += u64::from(quad.slot.kind == Kind::Compared);
            if quad.slot.kind == Kind::Control || !self.looks.is_due(compared) {
                continue;
            }
            let found = compare(&run[..=index], &rules, Some(Seconds(0.1)));
            all_hold &= found.as_ref().is_some_and(|found| holds(found, self.ratio));
            if !told.as_ref().is_some_and(|told| told.verdict.is_decided()) {
                told = found;
            }
        }
        let told = told.unwrap_or_else(|| panic!("BUG: a plan without looks"));
        Trial { told, all_hold }
    }

    /// So many runs, counted.
    pub fn trials(&self, count: u64, draw: Draw<'_>) -> Tally {
        let mut tally = Tally::default();
        for _ in 0..count {
            tally.count(&self.trial(draw), self.ratio);
        }
        tally
    }
}

/// What came out of one run.
#[derive(Debug, Clone)]
pub struct Trial {
    /// What is told.
    pub told: Comparison,
    /// Whether the intervals of all planned looks hold the true ratio.
    pub all_hold: bool,
}

fn holds(found: &Comparison, ratio: f64) -> bool {
    found.ratio.interval.value().is_some_and(|interval| interval.holds(ratio.ln()))
}

/// What came out of many runs of one case.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// How many runs.
    pub trials: u64,
    /// How many had the true ratio in the interval that is told.
    pub covered: u64,
    /// How many had it in the intervals of all planned looks, those after the one that decides too.
    pub covered_by_all: u64,
    /// How many called B different where it is not, or different in the wrong direction.
    pub false_differences: u64,
    /// How many found the difference that there is.
    pub found: u64,
    /// How many said "same".
    pub same: u64,
    /// How many could not tell.
    pub cannot_tell: u64,
    /// How many quads were compared in all of them.
    pub quads: u64,
    /// How many quads those asked for that could not tell.
    pub needed: Vec<u64>,
}

impl Tally {
    fn count(&mut self, trial: &Trial, ratio: f64) {
        let truth = ratio.ln();
        let comparison = &trial.told;
        self.trials += 1;
        self.quads += comparison.ratio.count;
        self.covered += u64::from(holds(comparison, ratio));
        self.covered_by_all += u64::from(trial.all_hold);
        let right = match comparison.verdict {
            Verdict::Faster => truth < 0.0,
            Verdict::Slower => truth > 0.0,
            Verdict::Same => {
                self.same += 1;
                return;
            }
            Verdict::CannotTell(_) => {
                self.cannot_tell += 1;
                self.needed.extend(comparison.needed);
                return;
            }
        };
        *if right { &mut self.found } else { &mut self.false_differences } += 1;
    }

    /// A count as a share of all runs.
    pub fn share(&self, count: u64) -> f64 {
        count as f64 / self.trials as f64
    }
}

/// The logarithms of the factors on so many measurements in a row.
pub fn noise(count: usize, disturbance: Disturbance, spread: f64, draw: Draw<'_>) -> Vec<f64> {
    const MEMORY: f64 = 0.9;
    let mut slow = normal(draw);
    let apart = disturbance.apart(spread);
    let (mut burst, mut high) = (0.0, false);
    let one_in = |n: u64, draw: Draw<'_>| draw(n) == 0;
    let mut one = |index: usize| {
        let mut noise = spread * normal(draw);
        if disturbance == Disturbance::TwoClocks {
            noise /= std::f64::consts::SQRT_2;
        }
        if disturbance.is(Disturbance::Autocorrelated) {
            slow = MEMORY * slow + (1.0 - MEMORY * MEMORY).sqrt() * normal(draw);
            noise = (noise + spread * slow) / std::f64::consts::SQRT_2;
        }
        if disturbance.is(Disturbance::Drift) {
            noise += 1.1f64.ln() * index as f64 / count as f64;
        }
        if disturbance.is(Disturbance::Bursts) {
            if burst > 0.0 && one_in(4, draw) {
                burst = 0.0;
            }
            if one_in(50, draw) {
                burst = -0.1 * uniform(draw).ln();
            }
            noise += burst;
        }
        if apart > 0.0 {
            high ^= one_in(20, draw);
            noise += if high { apart / 2.0 } else { -apart / 2.0 };
        }
        noise
    };
    (0..count).map(&mut one).collect()
}

/// A number above 0 and up to 1.
fn uniform(draw: Draw<'_>) -> f64 {
    const STEPS: u64 = 1 << 53;
    (draw(STEPS) + 1) as f64 / STEPS as f64
}

/// A standard normal number, by the method of Box and Muller.
fn normal(draw: Draw<'_>) -> f64 {
    let radius = (-2.0 * uniform(draw).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(draw)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_spread_that_was_asked_for() {
        let mut chance = fastrand::Rng::with_seed(5);
        let in_total = [Disturbance::None, Disturbance::Autocorrelated, Disturbance::TwoClocks];
        for disturbance in in_total {
            let noise = noise(100_000, disturbance, 0.02, &mut |below| chance.u64(..below));
            let square = noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64;
            assert!((square.sqrt() / 0.02 - 1.0).abs() < 0.03, "{disturbance:?}: {square}");
        }
    }

    #[test]
    fn only_compared_quads_have_the_ratio() {
        let mut chance = fastrand::Rng::with_seed(5);
        let draw: Draw<'_> = &mut |below| chance.u64(..below);
        let slots = super::super::schedule(6, 3, draw);
        for quad in run(&slots, 1.5, Disturbance::None, 0.0, draw) {
            let expected = if quad.slot.kind == Kind::Compared { 1.5f64.ln() } else { 0.0 };
            assert!((quad.log_ratio() - expected).abs() < 1e-12, "{quad:?}");
        }
    }
}
