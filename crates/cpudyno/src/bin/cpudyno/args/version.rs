//! `cpudyno --version -v`: what a report of a fault should name.

use std::ffi::OsString;

/// Whether that is asked for: both words, in any order, or in one as of rustc.
pub(super) fn is_asked(args: &[OsString]) -> bool {
    let words: Vec<&str> = args.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let is_version = |word: &str| matches!(word, "--version" | "-V");
    let is_verbose = |word: &str| matches!(word, "--verbose" | "-v");
    match words[..] {
        ["-vV" | "-Vv"] => true,
        [one, other] => {
            is_version(one) && is_verbose(other) || is_verbose(one) && is_version(other)
        }
        _ => false,
    }
}

/// Version, commit, target, features, and the schema of records.
pub(super) fn text() -> String {
    let commit = option_env!("CPUDYNO_COMMIT")
        .unwrap_or("unknown: not built from a clone, or for debugging");
    let features = if cfg!(feature = "parquet") { "parquet" } else { "none" };
    format!(
        "cpudyno {}\ncommit    {commit}\ntarget    {}\nfeatures  {features}\nrecord    {}\n",
        env!("CARGO_PKG_VERSION"),
        env!("CPUDYNO_TARGET"),
        model::record::SCHEMA,
    )
}
