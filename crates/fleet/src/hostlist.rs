//! Names of machines as Slurm writes them: `r01n[03-05,09]`.

use std::collections::BTreeMap;

/// Names that differ by the number at their end are one word, with ranges.
///
/// # Source
/// scontrol(1), `show hostlist`: numbers keep their leading zeros.
pub fn told(names: &[String]) -> String {
    let mut groups: BTreeMap<(&str, usize), Vec<u64>> = BTreeMap::new();
    let mut words: Vec<String> = Vec::new();
    for name in names {
        let prefix = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let digits = &name[prefix.len()..];
        match digits.parse() {
            // What a list of hosts means by them is no part of a name.
            Ok(number) if !name.contains(['[', ']', ',']) => {
                groups.entry((prefix, digits.len())).or_default().push(number);
            }
            _ => words.push(name.clone()),
        }
    }
    for ((prefix, width), mut numbers) in groups {
        numbers.sort_unstable();
        numbers.dedup();
        let ranges: Vec<String> = numbers
            .chunk_by(|a, b| a + 1 == *b)
            .map(|range| match range {
                [one] => format!("{one:0width$}"),
                [first, .., last] => format!("{first:0width$}-{last:0width$}"),
                [] => String::new(),
            })
            .collect();
        words.push(match numbers.as_slice() {
            [one] => format!("{prefix}{one:0width$}"),
            _ => format!("{prefix}[{}]", ranges.join(",")),
        });
    }
    words.sort();
    words.join(",")
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_at_the_end_become_ranges_and_keep_their_zeros() {
        let told = |names: &[&str]| {
            super::told(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(told(&["n9", "n10", "n11", "n13"]), "n9,n[10-11,13]");
        assert_eq!(told(&["r1n03", "r1n01", "r1n02", "r1n02", "login"]), "login,r1n[01-03]");
        assert_eq!(told(&["a7"]), "a7");
        assert_eq!(told(&[]), "");
    }
}
