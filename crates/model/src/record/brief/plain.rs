//! Plain samples, taken out of a record's text before it is parsed.
//!
//! A record is mostly plain samples. What reads JSON looks at each of their digits; here they are stepped over,
//! and only those that somebody wants are read, in one pass.

use memchr::memmem;

/// The plain samples of a record: lists of blocks, each as text.
#[derive(Default)]
pub(super) struct Lists<'a> {
    /// The blocks of all lists, one list after the other.
    blocks: Vec<&'a str>,
    /// Where each list ends among them.
    ends: Vec<usize>,
}

impl<'a> Lists<'a> {
    /// The blocks of a list.
    pub(super) fn get(&self, list: usize) -> Option<&[&'a str]> {
        let begin = list.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.blocks.get(begin..*self.ends.get(list)?)
    }
}

/// Takes plain samples out, and leaves the text without them in `rest`, where the number of each list is in its
/// place. `None` where the text is no record that this version would write: who reads all of it has to say what is
/// wrong.
pub(super) fn cut<'a>(text: &'a str, rest: &mut String) -> Option<Lists<'a>> {
    const KEY: &str = "\"samples\"";
    let (mut lists, mut kept) = (Lists::default(), 0);
    rest.clear();
    for key in memmem::find_iter(text.as_bytes(), KEY) {
        // Within a string this would be its end.
        let (before, after) = (text.get(..key)?, text.get(key + KEY.len()..)?);
        if before.ends_with('\\') {
            return None;
        }
        // It may be a value.
        let Some(value) = after.trim_start().strip_prefix(':') else { continue };
        let list = value.trim_start();
        if list.starts_with('{') {
            continue;
        }
        let after = blocks(list, &mut lists.blocks)?;
        rest.push_str(text.get(kept..text.len() - list.len())?);
        rest.push_str(&lists.ends.len().to_string());
        lists.ends.push(lists.blocks.len());
        kept = text.len() - after.len();
    }
    rest.push_str(text.get(kept..)?);
    Some(lists)
}

/// Adds the texts of the lists within a list, and says what follows it.
fn blocks<'a>(list: &'a str, blocks: &mut Vec<&'a str>) -> Option<&'a str> {
    let mut left = list.strip_prefix('[')?.trim_start();
    if let Some(after) = left.strip_prefix(']') {
        return Some(after);
    }
    loop {
        let open = left.strip_prefix('[')?;
        let end = memchr::memchr(b']', open.as_bytes())?;
        let (block, after) = (open.get(..end)?, open.get(end + 1..)?);
        if !looks_numeric(block) {
            return None;
        }
        blocks.push(block);
        let after = after.trim_start();
        if let Some(after) = after.strip_prefix(']') {
            return Some(after);
        }
        left = after.strip_prefix(',')?.trim_start();
    }
}

/// Whether there is nothing but what numbers and the way from one to the next are written with.
fn looks_numeric(block: &str) -> bool {
    // From `+` to `9` are all digits, signs, the comma, the point, and a slash, which no number has. There is no way
    // out of the loop before its end, so that it looks at many bytes at once.
    let is_strange = |byte: u8| {
        let is_usual = byte.wrapping_sub(b'+') <= b'9' - b'+';
        let is_other = matches!(byte, b'e' | b'E' | b' ' | b'\n' | b'\r' | b'\t');
        !(is_usual | is_other)
    };
    !block.bytes().fold(false, |strange, byte| strange | is_strange(byte))
}

/// Adds the numbers of a block; `None` where one is none, or is too large.
pub(super) fn numbers(block: &str, numbers: &mut Vec<f64>) -> Option<()> {
    let mut left = block.trim_ascii().as_bytes();
    if left.is_empty() {
        return Some(());
    }
    loop {
        let (number, after) = number(left)?;
        numbers.push(number);
        match after.trim_ascii_start() {
            [] => return Some(()),
            [b',', after @ ..] => left = after.trim_ascii_start(),
            _ => return None,
        }
    }
}

/// The number that a text begins with, and what follows it.
fn number(text: &[u8]) -> Option<(f64, &[u8])> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (whole, after) = read_digits(0, digits);
    let mut read = digits.len() - after.len();
    if read == 0 {
        return None;
    }
    let (mut mantissa, mut exponent, mut left) = (whole, 0, after);
    if let [b'.', digits @ ..] = left {
        (mantissa, left) = read_digits(mantissa, digits);
        let decimals = digits.len() - left.len();
        if decimals == 0 {
            return None;
        }
        read += decimals;
        exponent -= decimals as i32;
    }
    if let [b'e' | b'E', power @ ..] = left {
        let (sign, digits) = match power {
            [b'-', digits @ ..] => (-1, digits),
            [b'+', digits @ ..] | digits => (1, digits),
        };
        let (power, after) = read_digits(0, digits);
        let length = digits.len() - after.len();
        // No number that a record can hold has a longer power.
        if length == 0 || length > 4 {
            return None;
        }
        exponent += sign * power as i32;
        left = after;
    }
    let value = match exact(mantissa, read, exponent) {
        Some(value) if is_negative => -value,
        Some(value) => value,
        None => std::str::from_utf8(text.get(..text.len() - left.len())?).ok()?.parse().ok()?,
    };
    f64::is_finite(value).then_some((value, left))
}

/// Appends the digits that a text begins with, and says what follows them. Too many of them make no sense.
fn read_digits(begun: u64, text: &[u8]) -> (u64, &[u8]) {
    let (mut number, mut left) = (begun, text);
    while let [digit @ b'0'..=b'9', after @ ..] = left {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        left = after;
    }
    (number, left)
}

/// A number of so many digits times a power of ten, where one operation on exact numbers gives it, and so rightly
/// rounded.
///
/// # Source
/// Clinger, How to read floating point numbers accurately, PLDI 1990.
fn exact(mantissa: u64, digits: usize, exponent: i32) -> Option<f64> {
    /// Any number of so many digits is less than 2^53, and so exact.
    const DIGITS_MAX: usize = 15;
    /// Powers of ten up to 10^22 are exact.
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    if digits > DIGITS_MAX {
        return None;
    }
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    let mantissa = mantissa as f64;
    Some(if exponent < 0 { mantissa / power } else { mantissa * power })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_rust_reads() {
        let mut random = 1u64;
        let mut next = || {
            // Knuth's constants (MMIX).
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            random >> 11
        };
        let mut texts: Vec<String> =
            ["0", "-0.0", "1e-12", "2.991045e9", "-3.5E+2", "123456789012345678901234567890.5"]
                .map(str::to_owned)
                .to_vec();
        for _ in 0..2000 {
            let number = f64::from_bits(next() << 11 | next() & 0x7ff);
            let short = next() as f64 / 1e10 * 10f64.powi((next() % 40) as i32 - 20);
            texts.extend(
                [number, short].iter().filter(|it| it.is_finite()).map(|it| format!("{it:?}")),
            );
            texts.push(format!("{short:.6e}"));
        }
        let expected: Vec<f64> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let read = |text: &str| {
            let mut found = Vec::new();
            numbers(text, &mut found).map(|()| found)
        };
        let found = read(&texts.join(",\n ")).unwrap();
        let bits = |all: &[f64]| all.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&expected));
        assert_eq!(read(" "), Some(Vec::new()));
        for none in ["1,", ",1", "1 2", "-", "1.", ".5", "1e", "1e99999", "1e400", "+1", "1/2"] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn lists_are_taken_out_and_nothing_else() {
        let text = r#"{"a": "\"samples\": [[1]] \\", "samples": [[1, 2],[],[3.5]], "of": "samples",
            "b": [{"samples": {"step": 1}}, {"samples": []}]}"#;
        let mut rest = "of the record before".to_owned();
        let lists = cut(text, &mut rest).unwrap();
        assert_eq!(lists.get(0).unwrap(), ["1, 2", "", "3.5"]);
        assert!(lists.get(1).unwrap().is_empty() && lists.get(2).is_none());
        let expected = text.replace("[[1, 2],[],[3.5]]", "0").replace("[]}]", "1}]");
        assert_eq!(rest, expected);
    }

    #[test]
    fn what_is_damaged_is_left_to_who_reads_all() {
        for text in [
            r#"{"samples": [[1, 2], "summary": {}}"#,
            r#"{"samples": [[1, "a"]]}"#,
            r#"{"samples": 3}"#,
            r#"{"samples": [[1"#,
            r#"{"samples": "#,
            r#"{"a string \"samples": [[1]]}"#,
        ] {
            let mut rest = String::new();
            let found = cut(text, &mut rest);
            assert!(found.is_none_or(|lists| lists.ends.is_empty() && rest == text), "{text}");
        }
    }
}
