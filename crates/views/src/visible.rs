//! Characters that a reader would not see, made visible.

/// The character to show for `c`: itself, unless it would act instead of being seen.
pub(crate) fn character(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => ' ',
        // The control pictures stand in the order of the control characters.
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        // More controls, soft hyphens, direction changes, joiners, separators, selectors, tags.
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => '\u{fffd}',
        c => c,
    }
}

/// `text` with every character visible.
pub(crate) fn text(text: &str) -> String {
    text.chars().map(character).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(super::text("a\x1b[31mb\x07\n\u{202e}c\u{9b}"), "a␛[31mb␇ \u{fffd}c\u{fffd}");
        assert_eq!(super::text("Ryzen™ 9, 3,2 µs"), "Ryzen™ 9, 3,2 µs");
    }
}
