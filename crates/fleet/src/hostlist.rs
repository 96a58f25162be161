//! Names of machines as Slurm writes them: `r01n[03-05,09]`.

use std::collections::{BTreeMap, BTreeSet};

/// Names that differ by the number at their end are one word, with ranges. A name that no machine can have, such as
/// one of a file that somebody called `n1,n2[1-9]`, is told as in an address, `n1%2Cn2%5B1-9%5D`: it names no other.
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
            _ if !name.chars().all(is_of_names) => words.push(escaped(name)),
            Ok(number) => {
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

fn is_of_names(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._".contains(letter)
}

fn escaped(name: &str) -> String {
    let byte = |byte: u8| match char::from(byte) {
        letter if is_of_names(letter) => letter.to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(byte).collect()
}

/// More names than any fleet has: ranges multiply.
const NAMES_MAX: usize = 1_000_000;

/// The names of a list, each once, in its order; words are separated by commas, blanks or lines.
///
/// # Errors
/// In words, what of it is no list of names.
pub fn read(list: &str) -> Result<Vec<String>, String> {
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    for word in words(list)? {
        for name in expanded(word)? {
            if seen.insert(name.clone()) {
                names.push(name);
            }
            if names.len() > NAMES_MAX {
                return Err(format!("more than {NAMES_MAX} names"));
            }
        }
    }
    match names.iter().find(|name| name.starts_with('-') || !name.chars().all(is_of_names)) {
        Some(name) => Err(format!("`{name}` is no name of a machine")),
        None if names.is_empty() => Err("it names no machine".to_owned()),
        None => Ok(names),
    }
}

/// The words of a list: a comma in brackets separates nothing.
fn words(list: &str) -> Result<Vec<&str>, String> {
    let (mut words, mut begin, mut is_inside) = (Vec::new(), 0, false);
    for (place, letter) in list.char_indices() {
        match letter {
            '[' | ']' if is_inside == (letter == '[') => {
                return Err("brackets do not match".to_owned());
            }
            '[' | ']' => is_inside = !is_inside,
            _ if !is_inside && (letter == ',' || letter.is_whitespace()) => {
                words.push(&list[begin..place]);
                begin = place + letter.len_utf8();
            }
            _ => {}
        }
    }
    if is_inside {
        return Err("a bracket is not closed".to_owned());
    }
    words.push(&list[begin..]);
    words.retain(|word| !word.is_empty());
    Ok(words)
}

/// The names that one word stands for.
fn expanded(word: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('[') {
        let (ranges, after) = after.split_once(']').unwrap_or((after, ""));
        let numbers: Vec<String> =
            ranges.split(',').map(range).collect::<Result<Vec<_>, _>>()?.concat();
        if names.len().saturating_mul(numbers.len()) > NAMES_MAX {
            return Err(format!("more than {NAMES_MAX} names"));
        }
        let each = |name: &String| -> Vec<String> {
            numbers.iter().map(|number| format!("{name}{before}{number}")).collect()
        };
        names = names.iter().flat_map(each).collect();
        rest = after;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// `03-05`, or one number.
fn range(text: &str) -> Result<Vec<String>, String> {
    let refused = || format!("`{text}` is no range of numbers, such as 01-16");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| text.parse::<usize>().ok().filter(|_| is_number(text));
    let (Some(from), Some(to)) = (number(first), number(last)) else { return Err(refused()) };
    if to < from || to - from >= NAMES_MAX {
        return Err(refused());
    }
    let width = first.len();
    Ok((from..=to).map(|number| format!("{number:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_was_told_is_read_again() {
        for names in [&["n9", "n10", "n11", "n13"][..], &["login", "r1n01", "r1n02"], &["a7"]] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let mut read = super::read(&super::told(&names)).unwrap();
            read.sort();
            let mut sorted = names.clone();
            sorted.sort();
            assert_eq!(read, sorted);
        }
        let read = |list: &str| super::read(list).unwrap().join(" ");
        assert_eq!(read("r[1-2]n[08-10,12]"), "r1n08 r1n09 r1n10 r1n12 r2n08 r2n09 r2n10 r2n12");
        assert_eq!(read("n1, n[1-2]\nn3\n"), "n1 n2 n3");
        assert_eq!(read("n[1-2].example.org"), "n1.example.org n2.example.org");
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_reason() {
        for bad in [
            "",
            ",",
            "n[1-",
            "n1]",
            "n[[1]]",
            "n[a]",
            "n[2-1]",
            "n[+1]",
            "n[1--2]",
            "$(reboot)",
            "-f",
            "n[0-9999999]",
            "n[1-9999]m[1-9999]",
            "n;x",
            "n'",
            "n[99999999999999999999]",
        ] {
            assert!(super::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_at_the_end_become_ranges_and_keep_their_zeros() {
        let told = |names: &[&str]| {
            super::told(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(told(&["n9", "n10", "n11", "n13"]), "n9,n[10-11,13]");
        assert_eq!(told(&["r1n03", "r1n01", "r1n02", "r1n02", "login"]), "login,r1n[01-03]");
        assert_eq!(told(&["a7"]), "a7");
        assert_eq!(told(&[]), "");
        assert_eq!(told(&["n1,n[2-9]", "x\n7", "n1"]), "n1,n1%2Cn%5B2-9%5D,x%0A7");
    }
}
