//! A line of styled pieces.

use anstyle::{AnsiColor, Style};
use model::page::Tone;

use super::wrap::width;
use crate::visible;

/// How a tone looks.
pub(super) fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Faint => Style::new().dimmed(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Warning => AnsiColor::Yellow.on_default(),
        Tone::Serious => AnsiColor::Red.on_default(),
        Tone::Strong => Style::new().bold(),
    }
}

/// A line of styled pieces.
#[derive(Default)]
pub(super) struct StyledLine {
    pieces: Vec<(String, Style)>,
}

impl StyledLine {
    /// A line of one piece.
    pub(super) fn new(text: impl AsRef<str>, style: Style) -> Self {
        let mut line = StyledLine::default();
        line.push(text, style);
        line
    }

    /// Adds a piece; it joins the one before where both have one style.
    pub(super) fn push(&mut self, text: impl AsRef<str>, style: Style) {
        let text = visible::text(text.as_ref());
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some((before, its)) if *its == style => before.push_str(&text),
            _ => self.pieces.push((text, style)),
        }
    }

    /// Adds spaces.
    pub(super) fn space(&mut self, columns: usize) {
        self.push(" ".repeat(columns), Style::new());
    }

    /// Adds a piece, filled up with spaces behind it to that many columns.
    pub(super) fn push_left(&mut self, text: &str, columns: usize, style: Style) {
        self.push(text, style);
        self.fill(columns.saturating_sub(width(text)), style);
    }

    /// Adds a piece, filled up with spaces before it to that many columns.
    pub(super) fn push_right(&mut self, text: &str, columns: usize, style: Style) {
        self.fill(columns.saturating_sub(width(text)), style);
        self.push(text, style);
    }

    /// Adds the spaces beside a piece: a background covers them too.
    fn fill(&mut self, columns: usize, style: Style) {
        let background = Style::new().bg_color(style.get_bg_color());
        self.push(" ".repeat(columns), background);
    }

    /// Writes the line without the spaces at its end.
    pub(super) fn write(&self, out: &mut String, colour: bool) {
        let whole: String = self.pieces.iter().map(|(text, _)| text.as_str()).collect();
        let mut left = whole.trim_end().len();
        for (text, style) in &self.pieces {
            let text = &text[..text.len().min(left)];
            left -= text.len();
            if colour && !text.is_empty() {
                out.extend([&style.render().to_string(), text, &style.render_reset().to_string()]);
            } else {
                out.push_str(text);
            }
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_at_the_end_are_dropped_whatever_their_style() {
        let mut line = StyledLine::new("a ", style(Tone::Strong));
        line.push("  ", style(Tone::Warning));
        line.space(3);
        let mut text = String::new();
        line.write(&mut text, true);
        assert_eq!(text, "\x1b[1ma\x1b[0m\n");
    }
}
