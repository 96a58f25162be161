//! A page as Markdown has it: lines and tables under headings, each text as it was before it was escaped.

/// The page.
pub(crate) struct Page {
    pub(crate) parts: Vec<Part>,
}

/// What stands under a heading.
pub(crate) struct Part {
    /// The heading; empty above the first.
    pub(crate) section: String,
    pub(crate) what: What,
}

/// What headings begin with.
pub(crate) const HEADING: &str = "### ";

pub(crate) enum What {
    Line(String),
    Table(Table),
}

/// A table. Bars, maps and plots are tables in Markdown.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

pub(crate) fn parse(markdown: &str) -> Page {
    let mut parts = Vec::new();
    let (mut section, mut caption) = (String::new(), String::new());
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix(HEADING) {
            section = plain(heading);
            // A line that keeps its mark: only rules for headings have it.
            let what = What::Line(format!("{HEADING}{section}"));
            parts.push(Part { section: section.clone(), what });
        } else if line.starts_with('|') {
            let columns = cells(line);
            lines.next().expect("a rule under the header of a table");
            let mut rows = Vec::new();
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(row));
            }
            let what = What::Table(Table { caption: std::mem::take(&mut caption), columns, rows });
            parts.push(Part { section: section.clone(), what });
        } else if line.starts_with('*') && !line.starts_with("**") && line.ends_with('*') {
            caption = plain(&line[1..line.len() - 1]);
        } else if !line.trim().is_empty() {
            let text = line.trim_start_matches("## ").trim_start_matches("- ").trim();
            parts.push(Part { section: section.clone(), what: What::Line(plain(text)) });
        }
    }
    Page { parts }
}

/// Without the marks of Markdown.
fn plain(text: &str) -> String {
    let mut seen = String::new();
    let mut in_code = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '`' => {
                in_code = !in_code;
                seen.push(letter);
            }
            '\\' if letters.peek() == Some(&'|') || !in_code => {
                seen.push(letters.next().unwrap_or('\\'));
            }
            '*' if !in_code && letters.peek() == Some(&'*') => drop(letters.next()),
            _ => seen.push(letter),
        }
    }
    seen
}

fn cells(row: &str) -> Vec<String> {
    let inner = row.trim().trim_start_matches('|');
    let mut cells = vec![String::new()];
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '|' => cells.push(String::new()),
            '\\' => {
                let cell = cells.last_mut().expect("there is a cell");
                cell.push(letter);
                cell.extend(letters.next());
            }
            _ => cells.last_mut().expect("there is a cell").push(letter),
        }
    }
    cells.pop();
    cells.iter().map(|cell| plain(cell.trim())).collect()
}

impl Page {
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.parts.iter().filter_map(|part| match &part.what {
            What::Table(table) => Some(table),
            What::Line(_) => None,
        })
    }
}

/// Whether a text is made from a template, in which each `{}` stands for any text.
pub(crate) fn matches(template: &str, text: &str) -> bool {
    let mut pieces = template.split("{}");
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else { return rest.is_empty() };
    for piece in between {
        let Some(place) = rest.find(piece) else { return false };
        rest = &rest[place + piece.len()..];
    }
    rest.ends_with(last)
}

pub(crate) fn has_digit(text: &str) -> bool {
    text.chars().any(|letter| letter.is_ascii_digit())
}
