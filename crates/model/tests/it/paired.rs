//! Comparisons of known truth: a small version of `cargo peers trials`, with bounds that hold for these
//! seeds and would not for a test that is a little wrong.

use model::stats::paired::simulated::{Case, Disturbance, Tally, noise};
use model::stats::paired::{BAND, Draw, Estimate, Looks};
use model::stats::share_at_most;

const TRIALS: u64 = 600;

fn trials(disturbance: Disturbance, ratio: f64, looks: Looks, seed: u64) -> Tally {
    let mut chance = fastrand::Rng::with_seed(seed);
    let case = Case { disturbance, spread: 0.02, ratio, looks, control_every: 4, band: BAND };
    case.trials(TRIALS, &mut |below| chance.u64(..below))
}

fn looks(quads: u64, looks: u64) -> Looks {
    Looks::planned(quads, looks).unwrap()
}

#[test]
fn intervals_hold_the_truth_under_every_disturbance() {
    for (seed, disturbance) in Disturbance::EACH.into_iter().enumerate() {
        for (quads, ratio) in [(8, 1.0), (20, 1.0), (20, 1.02)] {
            let tally = trials(disturbance, ratio, looks(quads, 1), seed as u64);
            let coverage = tally.share(tally.covered);
            // 95.2 % for twenty quads and 96.1 % for eight, with a standard deviation of 0.9 %.
            assert!((0.925..0.985).contains(&coverage), "{disturbance:?}, {quads}: {coverage}");
        }
    }
}

#[test]
fn equal_arms_are_rarely_called_different() {
    for (seed, disturbance) in Disturbance::EACH.into_iter().enumerate() {
        for count in [1, 5] {
            let tally = trials(disturbance, 1.0, looks(20, count), 10 + seed as u64);
            let bound = share_at_most(tally.false_differences, tally.trials);
            assert!(bound < 0.07, "{disturbance:?}, {count} looks: {bound}");
            assert!(tally.false_differences > 0, "{disturbance:?}: the test never decides");
        }
    }
}

#[test]
fn a_change_of_the_size_of_the_spread_is_found() {
    let calm = [Disturbance::None, Disturbance::Drift, Disturbance::Autocorrelated];
    for (seed, disturbance) in calm.into_iter().enumerate() {
        for count in [1, 5] {
            let tally = trials(disturbance, 1.02, looks(20, count), 20 + seed as u64);
            let found = tally.share(tally.found);
            assert!(found >= 0.9, "{disturbance:?}, {count} looks: {found}");
            assert_eq!((tally.same, tally.false_differences), (0, 0));
        }
    }
}

#[test]
fn early_looks_save_quads() {
    let tally = trials(Disturbance::None, 1.02, looks(40, 5), 30);
    let used = tally.quads as f64 / tally.trials as f64;
    assert!(used < 20.0, "{used} of 40 quads");
}

#[test]
fn noise_that_is_too_large_is_called_that() {
    let mut chance = fastrand::Rng::with_seed(40);
    let draw: Draw<'_> = &mut |below| chance.u64(..below);
    let noisy = |quads: u64| Case {
        disturbance: Disturbance::None,
        spread: 0.03,
        ratio: 1.0,
        looks: looks(quads, 1),
        control_every: 4,
        band: BAND,
    };
    let tally = noisy(20).trials(TRIALS, draw);
    assert!(tally.share(tally.cannot_tell) > 0.9);
    let mut needed = tally.needed;
    needed.sort_unstable();
    let needed = needed[needed.len() / 2];
    // (1.96 + 1.645)^2 times (3 % / 1 %)^2, and 1 / 0.955 for the efficiency of ranks: 124.
    assert!((100..170).contains(&needed), "{needed}");
    let tally = noisy(needed).trials(TRIALS / 2, draw);
    assert!(tally.share(tally.cannot_tell) < 0.15, "{needed} quads do not decide");
}

#[test]
fn what_the_design_prevents_does_happen_without_it() {
    // Looking again and again without paying.
    let every = Looks { quads: (8..=60).collect(), level: 0.05 };
    let case = Case {
        disturbance: Disturbance::None,
        spread: 0.02,
        ratio: 1.0,
        looks: every,
        control_every: 0,
        band: 0.0,
    };
    let mut chance = fastrand::Rng::with_seed(50);
    let draw: Draw<'_> = &mut |below| chance.u64(..below);
    let tally = case.trials(TRIALS / 2, draw);
    assert!(tally.share(tally.false_differences) > 0.15);
    // First all of A, then all of B, while the machine drifts.
    let noise = noise(80, Disturbance::Drift, 0.02, draw);
    let pairs: Vec<f64> = (0..40).map(|i| noise[40 + i] - noise[i]).collect();
    let interval = Estimate::of(&pairs, 0.05).unwrap().interval;
    assert!(interval.value().unwrap().excludes_zero());
}

#[test]
fn a_seed_repeats_its_trials() {
    let of = |seed| trials(Disturbance::All, 1.0, looks(8, 1), seed).covered;
    assert_eq!(of(1), of(1));
}
