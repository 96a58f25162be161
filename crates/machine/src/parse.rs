//! Reading the kernel's small texts.

use std::collections::HashMap;

use model::{Obstacle, Reading, Unavailable};
use simulated::files::missing;

/// The names in a folder, none where there is no such folder; what may not be read is no absence.
pub(crate) fn or_empty(path: &str, names: Reading<Vec<String>>) -> Reading<Vec<String>> {
    names.or_else(|reason| if reason == missing(path) { Ok(Vec::new()) } else { Err(reason) })
}

/// The first number of a text.
pub(crate) fn first_number(path: &str, text: &str) -> Reading<f64> {
    let number = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    number.filter(|number| number.is_finite()).ok_or_else(|| {
        let start: String = text.chars().take(40).collect();
        let why = format!("`{path}` holds no number but `{start}`");
        Unavailable::new(Obstacle::Cpudyno, format!("`{path}`"), why)
    })
}

/// The first word of a text, which is a whole number.
pub(crate) fn whole_number(path: &str, text: &str) -> Reading<u64> {
    let number = text.split_whitespace().next().and_then(|word| word.parse().ok());
    number.ok_or_else(|| {
        let start: String = text.chars().take(40).collect();
        let why = format!("`{path}` holds no whole number but `{start}`");
        Unavailable::new(Obstacle::Cpudyno, format!("`{path}`"), why)
    })
}

/// The value behind `key` in lines such as `key: value` or `key value`.
pub fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        rest.starts_with([':', ' ', '\t']).then(|| rest.trim_start_matches([':', ' ', '\t']).trim())
    })
}

/// `48 KiB`, `2 MiB`, `1.5 MiB`.
pub(crate) fn bytes(bytes: f64) -> String {
    let (divisor, unit) = match bytes {
        b if b >= 1_073_741_824.0 => (1_073_741_824.0, "GiB"),
        b if b >= 1_048_576.0 => (1_048_576.0, "MiB"),
        _ => (1024.0, "KiB"),
    };
    let rounded = (bytes / divisor * 10.0).round() / 10.0;
    format!("{rounded} {unit}")
}

/// Bytes of a size as sysfs writes it: `48K`, `32M`, `512`.
pub(crate) fn sysfs_bytes(size: &str) -> Option<f64> {
    let (digits, factor) = match size.trim().split_at_checked(size.trim().len().checked_sub(1)?)? {
        (digits, "K") => (digits, 1024.0),
        (digits, "M") => (digits, 1_048_576.0),
        (digits, "G") => (digits, 1_073_741_824.0),
        _ => (size.trim(), 1.0),
    };
    Some(digits.parse::<u64>().ok()? as f64 * factor)
}

/// Equal values folded: `performance`, or `powersave (56), performance (8)`, the most frequent
/// first; of many, the rest together.
pub(crate) fn folded<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 16;
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for value in values {
        let place = *places.entry(value).or_insert(counts.len());
        match counts.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    if let [(only, _)] = counts.as_slice() {
        return (*only).into();
    }
    let (shown, rest) = counts.split_at(counts.len().min(SHOWN));
    let rest: usize = rest.iter().map(|(_, count)| count).sum();
    let mut parts: Vec<String> = shown.iter().map(|(v, n)| format!("{v} ({n})")).collect();
    if rest > 0 {
        parts.push(format!("others ({rest})"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_sysfs_writes_them() {
        assert_eq!(sysfs_bytes("48K").map(bytes).as_deref(), Some("48 KiB"));
        assert_eq!(sysfs_bytes("266240K").map(bytes).as_deref(), Some("260 MiB"));
        assert_eq!(sysfs_bytes("1280K").map(bytes).as_deref(), Some("1.3 MiB"));
        assert_eq!(sysfs_bytes("512"), Some(512.0));
        assert_eq!(sysfs_bytes(""), None);
        assert_eq!(sysfs_bytes("lots"), None);
        assert_eq!(sysfs_bytes("4µ"), None);
    }

    #[test]
    fn values_behind_keys_that_begin_alike() {
        let text = "nr_throttled_total 5\nnr_throttled 3\nMemTotal:   12 kB";
        assert_eq!(value_of(text, "nr_throttled"), Some("3"));
        assert_eq!(value_of(text, "MemTotal"), Some("12 kB"));
        assert_eq!(value_of(text, "Mem"), None);
    }

    #[test]
    fn equal_values_are_folded() {
        assert_eq!(folded(["a", "a"]), "a");
        assert_eq!(folded(["a", "b", "b"]), "b (2), a (1)");
    }

    #[test]
    fn no_number_is_a_reason() {
        assert_eq!(first_number("/x", "0.52 1.0"), Ok(0.52));
        assert!(first_number("/x", "<unsupported>").unwrap_err().why.contains("`/x`"));
        assert!(first_number("/x", "nan").is_err());
    }
}
