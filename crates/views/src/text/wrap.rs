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
        for c in word.chars() {
            if used + char_width(c) > limit {
                lines.push(String::new());
                used = 0;
            }
            lines.last_mut().expect("BUG: no line").push(c);
            used += char_width(c);
        }
    }
    lines
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
