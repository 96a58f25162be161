//! Plain numbers for axes and summaries, where the unit stands elsewhere.

/// Beyond these powers of ten, zeros are harder to count than an exponent is to read.
const PLAIN: std::ops::RangeInclusive<i32> = -4..=6;

/// Four significant digits, without zeros that say nothing.
pub(crate) fn short(value: f64) -> String {
    with_digits(value, 4)
}

/// Multiples of `step` up to `size`, so that neighbours look different.
pub(crate) fn on_scale(value: f64, step: f64, size: f64) -> String {
    with_digits(value, (power(size) - power(step) + 1).max(1))
}

/// Numbers of bytes by powers of 1,024, as short as they can be: `4K`, `1.5M`.
pub(crate) fn bytes(value: f64) -> String {
    const STEPS: [(f64, &str); 4] = [
        (1024.0 * 1024.0 * 1024.0 * 1024.0, "T"),
        (1024.0 * 1024.0 * 1024.0, "G"),
        (1024.0 * 1024.0, "M"),
        (1024.0, "K"),
    ];
    let step = STEPS.into_iter().find(|(size, _)| value.abs() >= *size);
    step.map_or_else(|| short(value), |(size, prefix)| short(value / size) + prefix)
}

fn power(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

fn with_digits(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        // Zero has no sign worth showing.
        return (value + 0.0).to_string();
    }
    let power = power(value);
    if !PLAIN.contains(&power) {
        return format!("{value:.*e}", usize::try_from(digits - 1).unwrap_or(0));
    }
    let text = format!("{value:.*}", usize::try_from(digits - 1 - power).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_and_no_more() {
        assert_eq!(short(0.0), "0");
        assert_eq!(short(-0.0), "0");
        assert_eq!(short(2.593_41), "2.593");
        assert_eq!(short(-1500.0), "-1500");
        assert_eq!(short(41_234.7), "41235");
        assert_eq!(short(0.000_25), "0.00025");
        assert_eq!(short(2.5e9), "2.500e9");
        assert_eq!(short(f64::NAN), "NaN");
    }

    #[test]
    fn bytes_are_short() {
        assert_eq!(bytes(4096.0), "4K");
        assert_eq!(bytes(1.5 * 1024.0 * 1024.0), "1.5M");
        assert_eq!(bytes(64.0), "64");
    }

    #[test]
    fn neighbours_on_a_scale_differ() {
        assert_eq!(on_scale(2593.42, 0.02, 2593.5), "2593.42");
        assert_eq!(on_scale(0.2, 0.2, 3.8), "0.2");
        assert_eq!(on_scale(1.2e9, 2e8, 2e9), "1.2e9");
    }
}
