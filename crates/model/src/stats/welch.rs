//! Two groups of numbers that were not taken in turns, and many such pairs at once.
//!
//! Whoever asks hundreds of questions gets some wrong answers: of results that are the same, five of a
//! hundred differ at a level of 5 %. The false discovery rate bounds their share among those that are told.

/// How likely means of logarithms as far apart as these are where both groups have the same: Welch's test,
/// both sides. `None` where a group has fewer than two numbers, or one that is not above zero.
///
/// # Source
/// B. L. Welch, The generalization of Student's problem when several different population variances are
/// involved, Biometrika 34, 1947.
pub fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (Logs::of(a)?, Logs::of(b)?);
    if a.count.min(b.count) < 2.0 {
        return None;
    }
    let [error_a, error_b] = [&a, &b].map(|it| it.squares / (it.count - 1.0) / it.count);
    let error = error_a + error_b;
    let freedom =
        error.powi(2) / (error_a.powi(2) / (a.count - 1.0) + error_b.powi(2) / (b.count - 1.0));
    Some(chance(a.mean - b.mean, error, freedom))
}

/// The same where both groups scatter alike, which is asked of few numbers: Student's test. One number is a group, too.
///
/// # Source
/// Student, The probable error of a mean, Biometrika 6, 1908; e.g. Welch as above.
pub fn student_of(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (Logs::of(a)?, Logs::of(b)?);
    let freedom = a.count + b.count - 2.0;
    if freedom < 1.0 {
        return None;
    }
    let error = (a.squares + b.squares) / freedom * (1.0 / a.count + 1.0 / b.count);
    Some(chance(a.mean - b.mean, error, freedom))
}

/// Logarithms of numbers, summed up.
struct Logs {
    count: f64,
    mean: f64,
    /// The sum of the squares of what each is away from the mean.
    squares: f64,
}

impl Logs {
    fn of(values: &[f64]) -> Option<Logs> {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        if logs.is_empty() || !logs.iter().all(|log| log.is_finite()) {
            return None;
        }
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares = logs.iter().map(|log| (log - mean).powi(2)).sum();
        Some(Logs { count, mean, squares })
    }
}

/// How likely a difference as large is, by its squared error.
pub(super) fn chance(difference: f64, error: f64, freedom: f64) -> f64 {
    if error <= 0.0 {
        return if difference.abs() > 0.0 { 0.0 } else { 1.0 };
    }
    student(difference.abs() / error.sqrt(), freedom)
}

/// The chance that Student's t is beyond that number, on either side.
///
/// # Source
/// Abramowitz and Stegun, 26.7.1 and 26.5.8: the incomplete beta function as a continued fraction.
fn student(t: f64, freedom: f64) -> f64 {
    let x = freedom / (freedom + t * t);
    incomplete_beta(x, freedom / 2.0, 0.5)
}

fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // Each side has the half in which its fraction converges.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction, from its front, as Lentz does it.
#[expect(clippy::many_single_char_names, reason = "the names of the literature")]
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TERMS: u32 = 300;
    let not_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut sum = d;
    for term in 1..=TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / not_zero(1.0 + step * d);
            c = not_zero(1.0 + step / c);
            sum *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    sum
}

/// The logarithm of the gamma function, by Stirling's series beyond 10.
///
/// # Source
/// Abramowitz and Stegun, 6.1.41 and 6.1.15.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut less) = (x, 0.0);
    while x < 10.0 {
        less += x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series =
        (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / x;
    (x - 0.5) * x.ln() - x + (2.0 * std::f64::consts::PI).ln() / 2.0 + series - less
}

/// For each of these chances: of all that are as small, the expected share of those that are mere chance.
///
/// # Source
/// Benjamini and Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B
/// 57, 1995.
pub fn false_shares(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|&a, &b| chances[b].total_cmp(&chances[a]));
    let (mut shares, mut least) = (vec![1.0; chances.len()], 1.0f64);
    for (place, &index) in order.iter().enumerate() {
        let rank = chances.len() - place;
        least = least.min(chances[index] * chances.len() as f64 / rank as f64);
        shares[index] = least;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6 * b.max(1e-3), "{a} {b}");
    }

    #[test]
    fn students_table_is_met() {
        // Abramowitz and Stegun, table 26.10.
        near(student(12.706_204_736, 1.0), 0.05);
        near(student(2.570_581_836, 5.0), 0.05);
        near(student(4.032_142_984, 5.0), 0.01);
        near(student(2.042_272_456, 30.0), 0.05);
        near(student(0.0, 7.0), 1.0);
    }

    #[test]
    fn groups_apart_are_unlikely_and_equal_ones_are_not() {
        let (a, b) = ([100.0, 101.0, 99.0, 100.5, 99.5], [90.0, 91.0, 89.0, 90.5, 89.5]);
        assert!(welch(&a, &b).unwrap() < 1e-5);
        assert!(welch(&a, &a).unwrap() > 0.999);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), Some(0.0));
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]), Some(1.0));
        assert_eq!(welch(&[1.0], &[2.0, 2.0]), None);
        assert_eq!(welch(&[0.0, 1.0], &[2.0, 2.0]), None);
    }

    #[test]
    fn of_many_results_without_a_difference_few_are_told() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut families = 0;
        for _ in 0..400 {
            let group = |random: &mut fastrand::Rng| -> Vec<f64> {
                let one = |random: &mut fastrand::Rng| (0..12).map(|_| random.f64()).sum::<f64>();
                (0..8).map(|_| 100.0 + one(random)).collect()
            };
            let chances: Vec<f64> =
                (0..60).map(|_| welch(&group(&mut random), &group(&mut random)).unwrap()).collect();
            families += u32::from(false_shares(&chances).iter().any(|share| *share <= 0.05));
        }
        // Where nothing differs, any is false: 5 % of 400, and chance.
        assert!(families <= 35, "{families} of 400");
    }

    #[test]
    fn shares_are_those_of_the_paper() {
        // Its example: of 15 chances, four are told at 5 %.
        let chances = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let told = false_shares(&chances).iter().filter(|share| **share <= 0.05).count();
        assert_eq!(told, 4);
    }
}
