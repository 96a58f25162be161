//! Sections and titles, and the two ways in which they are written.

use std::fmt::{Display, Write};

/// A part of what is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A title with a value.
    Leaf(String, String),
    /// A title with parts.
    Section(String, Vec<Node>),
}

impl Node {
    pub(super) fn leaf(title: impl Into<String>, value: &dyn Display) -> Node {
        Node::Leaf(title.into(), value.to_string())
    }

    pub(super) fn section(title: impl Into<String>, parts: Vec<Node>) -> Node {
        Node::Section(title.into(), parts)
    }
}

/// What stands beside each other on the first level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutputEntry {
    /// Where something is, as `package-0` and `cpu-0`, and what is there.
    Place(Vec<String>, Vec<Node>),
    /// It went wrong.
    Error(String),
    /// It is to be known.
    Information(String),
    /// A line that is the same in text and JSON.
    Line(String),
}

/// Everything that one call shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CompatOutput {
    pub(super) entries: Vec<OutputEntry>,
    /// Whether something could not be shown.
    pub(super) failed: bool,
    /// Whether what follows is not shown any more.
    pub(super) is_over: bool,
}

impl CompatOutput {
    pub(super) fn fail(&mut self, text: impl Into<String>) {
        self.entries.push(OutputEntry::Error(text.into()));
        self.failed = true;
    }

    pub(super) fn written(&self, json: bool) -> String {
        let lines = self.entries.iter().all(|entry| matches!(entry, OutputEntry::Line(_)));
        if json && !lines { self.json() } else { self.text() }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let _ = match entry {
                OutputEntry::Place(places, parts) => {
                    for (place, depth) in places.iter().zip(1..) {
                        let _ = writeln!(text, "{}{place}", indent(depth));
                    }
                    text_of(parts, places.len() + 1, &mut text);
                    Ok(())
                }
                OutputEntry::Error(message) => writeln!(text, "Error: {message}"),
                OutputEntry::Information(message) => writeln!(text, "Information: {message}"),
                OutputEntry::Line(line) => writeln!(text, "{line}"),
            };
        }
        text
    }

    fn json(&self) -> String {
        let mut json = Json { text: "{".to_owned(), depth: 0 };
        let mut notes = 0..;
        let mut note = |kind: &str, message: &str| {
            let number = notes.next().unwrap_or(0);
            let message = Node::leaf("message", &message.trim_end());
            (format!("{kind}{number}"), vec![message])
        };
        for entry in &self.entries {
            let (title, parts) = match entry {
                OutputEntry::Place(places, parts) => (places.join(":"), parts.clone()),
                OutputEntry::Error(message) => note("Error", message),
                OutputEntry::Information(message) => note("Information:", message),
                OutputEntry::Line(_) => continue,
            };
            json.open(1, &title);
            json.parts(2, &parts);
            json.close(1);
        }
        json.text.push_str("\n}\n");
        json.text
    }
}

/// The first level begins with one blank, the second with two, the third with four.
fn indent(depth: usize) -> String {
    " ".repeat((2 * depth).saturating_sub(2).max(1))
}

fn text_of(parts: &[Node], depth: usize, text: &mut String) {
    let indent = indent(depth);
    for part in parts {
        let _ = match part {
            Node::Leaf(title, value) => writeln!(text, "{indent}{title}:{value}"),
            Node::Section(title, _) => writeln!(text, "{indent}{title}"),
        };
        if let Node::Section(_, parts) = part {
            text_of(parts, depth + 1, text);
        }
    }
}

/// JSON with the line breaks of the reference tool: where they stand depends on the depth of what was
/// written last.
struct Json {
    text: String,
    /// How deep what was written last stands.
    depth: usize,
}

/// From so many steps up on there is no line break behind the braces.
const STEPS_WITHOUT_BREAK: usize = 3;

impl Json {
    fn indent(depth: usize) -> String {
        "  ".repeat(depth)
    }

    /// Ends what is deeper; `comma`: something follows.
    fn end_deeper(&mut self, depth: usize, comma: bool) {
        for ended in (depth..self.depth).rev() {
            let comma = if comma && ended == depth { "," } else { "" };
            let _ = write!(self.text, "\n{}}}{comma}", Json::indent(ended));
        }
        if self.depth.abs_diff(depth) < STEPS_WITHOUT_BREAK {
            self.text.push('\n');
        }
        self.depth = depth;
    }

    fn open(&mut self, depth: usize, title: &str) {
        if self.depth == depth {
            self.text.push_str(",\n");
        }
        self.end_deeper(depth, true);
        let _ = write!(self.text, "{}{}: {{", Json::indent(depth), quoted(title));
    }

    fn close(&mut self, depth: usize) {
        self.end_deeper(depth, false);
    }

    fn leaf(&mut self, depth: usize, title: &str, value: &str) {
        self.text.push_str(if self.depth == depth { ",\n" } else { "\n" });
        self.depth = depth;
        let (title, value) = (quoted(title), quoted(value));
        let _ = write!(self.text, "{}{title}: {value}", Json::indent(depth));
    }

    fn parts(&mut self, depth: usize, parts: &[Node]) {
        for part in parts {
            match part {
                Node::Leaf(title, value) => self.leaf(depth, title, value),
                Node::Section(title, parts) => {
                    self.open(depth, title);
                    self.parts(depth + 1, parts);
                }
            }
        }
    }
}

/// As JSON writes a string. Titles and values are plain; reasons of failures may be anything.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
