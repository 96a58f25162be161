//! The standard normal distribution, as far as intervals and plans need it.

use std::f64::consts::TAU;

/// The chance that a standard normal number is at most `x`; right to 1e-14 for |x| up to 7, and 0 or 1
/// beyond.
///
/// # Source
/// Taylor series; Marsaglia, Evaluating the Normal Distribution, J. Stat. Soft. 11(4), 2004.
pub fn cdf(x: f64) -> f64 {
    /// From here on the series cancels; what is left is below 1e-11.
    const FAR: f64 = 7.0;
    if x.abs() > FAR {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut k) = (x, 0.0f64, 1.0);
    while term.abs() > f64::EPSILON * sum.abs() / 16.0 {
        sum += term;
        k += 2.0;
        term *= x * x / k;
    }
    0.5 + sum * (-x * x / 2.0).exp() / TAU.sqrt()
}

/// The number that a standard normal one stays below with chance `p`, by halving; `p` is held between
/// 1e-9 and 1 - 1e-9.
pub fn quantile(p: f64) -> f64 {
    let p = p.clamp(1e-9, 1.0 - 1e-9);
    let (mut low, mut high) = (-7.0, 7.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if cdf(middle) < p { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_tables() {
        for (x, p) in [(0.0, 0.5), (1.0, 0.841_344_746_069), (-3.0, 0.001_349_898_032)] {
            assert!((cdf(x) - p).abs() < 1e-12, "{x}: {}", cdf(x));
        }
        for (p, x) in [(0.975, 1.959_963_985), (0.995, 2.575_829_304), (0.1, -1.281_551_566)] {
            assert!((quantile(p) - x).abs() < 1e-9, "{p}: {}", quantile(p));
        }
        assert_eq!((cdf(8.0), cdf(-8.0)), (1.0, 0.0));
    }
}
