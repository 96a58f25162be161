//! The words of a capture: how names, values and reasons stand in one line.

use std::fmt::Write;

use model::{Obstacle, Unavailable};

/// In names and reasons, the place of what differs between CPUs: a number, a path. No path of the
/// kernel and no reason has this character.
pub(crate) const PLACE: char = '\0';

/// What a port answered, as it stands behind a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// `= text`
    Text(String),
    /// `= {}`: the number of the CPU, node or the like that the line is about.
    OwnNumber,
    /// `(noted)`: it is there; a folder is empty, a file was not read.
    Noted,
    /// `! obstacle: why => remedy`
    Refused(Reason),
}

/// Why not; [`PLACE`] stands for what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    obstacle: Obstacle,
    why: String,
    remedy: Option<String>,
}

const OBSTACLES: &[(Obstacle, &str)] = &[
    (Obstacle::Hardware, "hardware"),
    (Obstacle::Permission, "permission"),
    (Obstacle::Cpudyno, "cpudyno"),
    (Obstacle::Measurement, "measurement"),
];

impl Reason {
    /// A reason in which `asked` is left open.
    pub(crate) fn of(unavailable: &Unavailable, asked: &str) -> Reason {
        let place = |text: &str| {
            let text = text.replace(PLACE, " ");
            if asked.is_empty() { text } else { text.replace(asked, "\0") }
        };
        Reason {
            obstacle: unavailable.obstacle,
            why: place(&unavailable.why),
            remedy: unavailable.remedy.as_deref().map(place).filter(|text| !text.is_empty()),
        }
    }

    /// The reason why `what` is not there, where `asked` was asked for.
    pub(crate) fn unavailable(&self, what: String, asked: &str) -> Unavailable {
        let fill = |text: &String| text.replace(PLACE, asked);
        Unavailable {
            what,
            why: fill(&self.why),
            remedy: self.remedy.as_ref().map(fill),
            obstacle: self.obstacle,
        }
    }
}

impl Answer {
    /// As it stands in the line, behind a blank.
    pub(crate) fn line(&self) -> String {
        match self {
            Answer::Text(text) if text.is_empty() => "=".to_owned(),
            // Not to be taken for the number.
            Answer::Text(text) if text == "{}" => "= \\u{7b}}".to_owned(),
            Answer::Text(text) => format!("= {}", value(text)),
            Answer::OwnNumber => OWN_NUMBER.to_owned(),
            Answer::Noted => NOTED.to_owned(),
            Answer::Refused(reason) => {
                let (_, obstacle) = OBSTACLES
                    .iter()
                    .find(|(obstacle, _)| *obstacle == reason.obstacle)
                    .expect("BUG: the table has every obstacle");
                let remedy = match &reason.remedy {
                    Some(remedy) => format!(" => {}", with_place(remedy)),
                    None => String::new(),
                };
                let reason = last_blank_visible(format!("{}{remedy}", with_place(&reason.why)));
                if reason.is_empty() {
                    format!("! {obstacle}:")
                } else {
                    format!("! {obstacle}: {reason}")
                }
            }
        }
    }

    /// Reads what `line` writes; otherwise what was expected.
    pub(crate) fn parse(line: &str) -> Result<Answer, String> {
        if line == "=" {
            return Ok(Answer::Text(String::new()));
        }
        if line == OWN_NUMBER {
            return Ok(Answer::OwnNumber);
        }
        if let Some(text) = line.strip_prefix("= ") {
            return unescaped(text).map(Answer::Text);
        }
        if line == NOTED {
            return Ok(Answer::Noted);
        }
        if let Some((obstacle, rest)) = line.strip_prefix("! ").and_then(|l| l.split_once(':')) {
            let rest = rest.strip_prefix(' ').unwrap_or(rest);
            let known = OBSTACLES.iter().find(|(_, name)| *name == obstacle);
            let Some((obstacle, _)) = known else {
                return Err(format!(
                    "expected `hardware`, `permission` or `cpudyno`, found {}",
                    quoted(obstacle)
                ));
            };
            let (why, remedy) = match rest.split_once(" => ") {
                Some((why, remedy)) => (why, Some(remedy)),
                None => (rest, None),
            };
            let read = |text: &str| unescaped(&text.replace("{}", "\0"));
            let (why, remedy) = (read(why)?, remedy.map(read).transpose()?);
            return Ok(Answer::Refused(Reason { obstacle: *obstacle, why, remedy }));
        }
        Err(format!("expected `= VALUE`, `! REASON` or `{NOTED}`, found {}", quoted(line)))
    }
}

const NOTED: &str = "(noted)";
const OWN_NUMBER: &str = "= {}";

/// The beginning of a text in an error.
pub(crate) fn quoted(text: &str) -> String {
    const LETTERS_MAX: usize = 40;
    let start: String = text.chars().take(LETTERS_MAX).collect();
    format!("`{}`", start.escape_debug())
}

/// A value: one line, nothing at its end that an editor would take away.
pub(crate) fn value(text: &str) -> String {
    last_blank_visible(escaped(text, |_| false))
}

/// A path or the like: no blanks, and brackets only where numbers are folded.
pub(crate) fn name(text: &str) -> String {
    escaped(text, |c| c.is_whitespace() || matches!(c, '[' | ']'))
}

/// A text in which `{}` is the open place.
fn with_place(text: &str) -> String {
    let parts: Vec<String> =
        text.split(PLACE).map(|part| escaped(part, |c| matches!(c, '{' | '>'))).collect();
    parts.join("{}")
}

fn last_blank_visible(mut text: String) -> String {
    if let Some(last) = text.chars().next_back().filter(|c| c.is_whitespace()) {
        text.truncate(text.len() - last.len_utf8());
        push_code(&mut text, last);
    }
    text
}

fn escaped(text: &str, special: impl Fn(char) -> bool) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\t' if !special(c) => line.push(c),
            _ if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || special(c) => {
                push_code(&mut line, c);
            }
            _ => line.push(c),
        }
    }
    line
}

fn push_code(line: &mut String, c: char) {
    let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
}

/// Reads what the functions above write.
pub(crate) fn unescaped(line: &str) -> Result<String, String> {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let code = |after: &str| {
            let (code, behind) = after.strip_prefix("u{")?.split_once('}')?;
            let c = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
            Some((c, after.len() - behind.len()))
        };
        let (c, length) = match after.as_bytes().first() {
            Some(b'\\') => ('\\', 1),
            Some(b'n') => ('\n', 1),
            _ => code(after).ok_or_else(|| {
                format!(
                    "expected `\\\\`, `\\n` or `\\u{{..}}`, found {}",
                    quoted(&rest[before.len()..])
                )
            })?,
        };
        text.push(c);
        rest = &after[length..];
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_plain() {
        let text = |text: &str| Answer::Text(text.to_owned()).line();
        assert_eq!(text("0-3"), "= 0-3");
        assert_eq!(text(""), "=");
        assert_eq!(text("a\nb\\c "), "= a\\nb\\\\c\\u{20}");
        let refused =
            Unavailable::new(Obstacle::Permission, "`/a/b`", "you may not read `/a/b` {}");
        let refused = refused.with_remedy("run as root");
        let reason = Reason::of(&refused, "/a/b");
        let line = Answer::Refused(reason.clone()).line();
        assert_eq!(line, "! permission: you may not read `{}` \\u{7b}} => run as root");
        assert_eq!(Answer::parse(&line), Ok(Answer::Refused(reason.clone())));
        assert_eq!(reason.unavailable("`/c`".into(), "/c").why, "you may not read `/c` {}");
    }

    #[test]
    fn wrong_lines_say_what_was_expected() {
        for (line, expected) in [
            ("x", "expected `= VALUE`"),
            ("= \\q", "expected `\\\\`, `\\n` or"),
            ("= \\u{110000}", "expected `\\\\`"),
            ("= \\", "expected `\\\\`"),
            ("! nobody: why", "expected `hardware`"),
        ] {
            assert!(Answer::parse(line).unwrap_err().starts_with(expected), "{line}");
        }
    }

    proptest! {
        #[test]
        fn answers_survive(text in "\\PC*|[\\x00-\\x7f]*", remedy in proptest::option::of(".*")) {
            let text_answer = Answer::Text(text.clone());
            prop_assert_eq!(Answer::parse(&text_answer.line()), Ok(text_answer));
            let unavailable = Unavailable { what: String::new(), why: text.clone(), remedy, obstacle: Obstacle::Cpudyno };
            let refused = Answer::Refused(Reason::of(&unavailable, "ab"));
            prop_assert!(!refused.line().contains('\n'));
            prop_assert_eq!(Answer::parse(&refused.line()), Ok(refused));
            prop_assert_eq!(unescaped(&name(&text)), Ok(text));
        }
    }
}
