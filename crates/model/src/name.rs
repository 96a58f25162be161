//! Names that people type, and the nearest known one when they err.

/// The known name most like `typed`, whatever the case of its letters; else the shortest that has it as one of its
/// words, or is one of its words; none, if none is like it at all.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this Jaro-Winkler similarity a suggestion confuses more than it helps: at 0.71, `wait` is like `bandwidth`.
    const SIMILARITY_MIN: f64 = 0.75;
    let known: Vec<&str> = known.into_iter().collect();
    let typed = typed.to_lowercase();
    let similarities =
        known.iter().map(|name| (strsim::jaro_winkler(&typed, &name.to_lowercase()), *name));
    similarities
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
        .or_else(|| {
            let shares = |name: &&str| share_a_word(&typed, &name.to_lowercase());
            known.into_iter().filter(shares).min_by_key(|name| name.len())
        })
}

/// Whether one is a word of the other, as `fma` is of `avx256_fma`; shorter words say little.
fn share_a_word(one: &str, other: &str) -> bool {
    const LETTERS_MIN: usize = 3;
    let has = |whole: &str, word: &str| {
        let mut words = whole.split(|letter: char| !letter.is_alphanumeric());
        word.len() >= LETTERS_MIN && words.any(|it| it == word)
    };
    has(one, other) || has(other, one)
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = [
            "scalar_iadd",
            "avx256_fma_t",
            "avx256_fma",
            "touch",
            "chase",
            "copy",
            "loop",
            "Bzy_MHz",
            "SMI",
        ];
        for (typed, meant) in [
            ("avx256_fmaa", "avx256_fma"),
            ("scaler_iadd", "scalar_iadd"),
            ("AVX256_FMA", "avx256_fma"),
            ("avx256fma", "avx256_fma"),
            ("fma", "avx256_fma"),
            ("nosuch", "touch"),
            ("touhc", "touch"),
            ("chaise", "chase"),
            ("cp", "copy"),
            ("bzymhz", "Bzy_MHz"),
            ("smi", "SMI"),
            ("kernel-loop", "loop"),
        ] {
            assert_eq!(did_you_mean(typed, known), Some(meant), "{typed}");
        }
        for typed in ["zzz", "foo", "bandwidth", "", "_"] {
            assert_eq!(did_you_mean(typed, known), None, "{typed}");
        }
    }
}
