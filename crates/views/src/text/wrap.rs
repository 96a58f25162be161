//! How wide text is, and where it breaks.

use unicode_width::UnicodeWidthChar;

use crate::visible;

/// The columns that `text` takes once it is made visible.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|c| char_width(visible::character(c))).sum()
}

/// The columns that a visible character takes.
pub(super) fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The fewest columns to which `text` wraps without breaking a word.
pub(super) fn longest_word(text: &str) -> usize {
    visible::text(text).split_whitespace().map(width).max().unwrap_or(0)
}

/// `text`, made visible, in lines of at most `limit` columns; never without a line.
/// Breaks between words where it can. Text that fits keeps its inner spaces.
pub(super) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let text = visible::text(text);
    let text = text.trim_end();
    if width(text) <= limit {
        return vec![text.into()];
    }
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        if used > 0 && used + 1 + width(word) > limit {
            lines.push(String::new());
            used = 0;
        }
        if used > 0 {
            lines.last_mut().expect("BUG: no line").push(' ');
            used += 1;
        }
        let mut breaks = places(word, limit).into_iter().peekable();
        for (at, c) in word.char_indices() {
            if breaks.next_if_eq(&at).is_some() {
                lines.push(String::new());
                used = 0;
            }
            lines.last_mut().expect("BUG: no line").push(c);
            used += char_width(c);
        }
    }
    lines
}

/// Where a word is broken that is longer than a line: behind the last `/` or comma that fits, or where the line ends.
fn places(word: &str, limit: usize) -> Vec<usize> {
    let (mut found, mut used, mut joint) = (Vec::new(), 0, None);
    if width(word) <= limit {
        return found;
    }
    for (at, c) in word.char_indices() {
        if used + char_width(c) > limit {
            let from = joint.take().unwrap_or(at);
            found.push(from);
            used = width(&word[from..at]);
        }
        used += char_width(c);
        if matches!(c, '/' | ',') {
            joint = Some(at + 1);
        }
    }
    found
}

/// `text` behind `prefix`, its further lines hanging under the first.
pub(super) fn wrap_after(prefix: &str, text: &str, limit: usize) -> Vec<String> {
    let indent = " ".repeat(width(prefix));
    let rows = wrap(text, limit - width(prefix)).into_iter().enumerate();
    rows.map(|(index, row)| format!("{}{row}", if index == 0 { prefix } else { &indent })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_between_words_and_within_long_ones() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("a abcdefghij b", 4), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("  as it is ", 12), ["  as it is"]);
        assert_eq!(wrap("日本語", 5), ["日本", "語"]);
        assert_eq!(
            wrap("/sys/devices/cpu{0-3,8-9}/online", 14),
            ["/sys/devices/", "cpu{0-3,8-9}/", "online"]
        );
        assert_eq!(wrap("it /some/long/path", 10), ["it", "/some/", "long/path"]);
    }

    #[test]
    fn spaces_are_those_that_are_seen() {
        assert_eq!(longest_word("\tone\x0btwo three"), 7);
        assert_eq!(wrap("\tone\x0btwo three", 7), ["one␋two", "three"]);
    }

    #[test]
    fn hangs_under_the_prefix() {
        assert_eq!(wrap_after("- ", "one two", 6), ["- one", "  two"]);
    }
}
