//! What a guest said: each question with its output, and what the kernel said beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;

/// What a command answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// The words of the command.
    pub(crate) command: String,
    pub(crate) output: String,
    pub(crate) errors: String,
    pub(crate) code: i32,
    /// From its start to its end, by the guest's clock.
    pub(crate) seconds: f64,
}

/// Everything that a guest left in the shared folder.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    /// By label, of those that have ended.
    pub(crate) asked: BTreeMap<String, Reply>,
    /// Labels of those that have not.
    pub(crate) unanswered: Vec<String>,
    /// What the kernel said, by name.
    pub(crate) notes: BTreeMap<String, String>,
    pub(crate) console: String,
    /// Whether the guest came to the end of its tasks.
    pub(crate) complete: bool,
}

impl Replies {
    /// Reads a machine's folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut replies = Self::default();
        let entries =
            fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
        let text = |name: &str| {
            let bytes = fs::read(folder.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if let Some(label) = name.strip_suffix(".cmd").filter(|label| *label != "qemu") {
                let Some((code, seconds)) = ending(&text(&format!("{label}.end"))) else {
                    replies.unanswered.push(label.to_owned());
                    continue;
                };
                let reply = Reply {
                    command: text(&name),
                    output: text(&format!("{label}.out")),
                    errors: text(&format!("{label}.err")),
                    code,
                    seconds,
                };
                replies.asked.insert(label.to_owned(), reply);
            } else if let Some(note) = name.strip_suffix(".note") {
                replies.notes.insert(note.to_owned(), text(&name).trim().to_owned());
            }
        }
        replies.console = text("console.log") + &text("kernel.log");
        replies.complete = folder.join("ended").exists();
        Ok(replies)
    }
}

/// The exit code, and the seconds that it took.
fn ending(text: &str) -> Option<(i32, f64)> {
    let (code, seconds) = text.trim().split_once(' ')?;
    Some((code.parse().ok()?, seconds.parse().ok()?))
}
