//! Names that people type, and the nearest known one when they err.

/// The known name most like `typed`, if any is like it at all.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this Jaro-Winkler similarity a suggestion confuses more than it helps.
    const SIMILARITY_MIN: f64 = 0.75;
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(typed, name), name))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["scalar_iadd", "avx256_fma", "pause_only"];
        assert_eq!(did_you_mean("avx256_fmaa", known), Some("avx256_fma"));
        assert_eq!(did_you_mean("scaler_iadd", known), Some("scalar_iadd"));
        assert_eq!(did_you_mean("zzz", known), None);
    }
}
