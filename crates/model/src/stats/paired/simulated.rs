//! Runs whose truth is known: what the promises of this module are checked against.
//!
//! Noise is the logarithm of a factor on each measurement, in the order of the run. All of it is made
//! up; the sizes are those that the project saw on shared guests, or worse.

use super::{Draw, Kind, Quad, Slot, noise::Arm};

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
    /// The machine has two clocks 10 % apart, and changes once in 20 measurements on average.
    TwoClocks,
    /// All of these at once.
    All,
}

impl Disturbance {
    /// Each of them.
    pub const EACH: [Disturbance; 6] = [
        Disturbance::None,
        Disturbance::Drift,
        Disturbance::Autocorrelated,
        Disturbance::Bursts,
        Disturbance::TwoClocks,
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
            Disturbance::All => "all of them",
        }
    }

    fn is(self, one: Disturbance) -> bool {
        self == one || self == Disturbance::All
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

/// The logarithms of the factors on so many measurements in a row.
pub fn noise(count: usize, disturbance: Disturbance, spread: f64, draw: Draw<'_>) -> Vec<f64> {
    const MEMORY: f64 = 0.9;
    let mut slow = normal(draw);
    let (mut burst, mut high) = (0.0, false);
    let one_in = |n: u64, draw: Draw<'_>| draw(n) == 0;
    let mut one = |index: usize| {
        let mut noise = spread * normal(draw);
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
        if disturbance.is(Disturbance::TwoClocks) {
            high ^= one_in(20, draw);
            noise += if high { 1.1f64.ln() } else { 0.0 };
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
        for disturbance in [Disturbance::None, Disturbance::Autocorrelated] {
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
