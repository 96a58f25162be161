//! What Debian asks of each package, in its forms: copyright and changelog.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context;

use xtask::cargo;

use super::{MAINTAINER, RELEASE, VERSION, moment, tree};

/// So many characters a line of a changelog has at most.
const COLUMNS: usize = 76;

/// Writes them into a tree.
pub(super) fn files_of(tree: &Path) -> anyhow::Result<()> {
    let root = cargo::root();
    let documentation = tree.join(tree::DOCUMENTATION);
    let mit = fs::read_to_string(root.join("LICENSE-MIT")).context("no LICENSE-MIT")?;
    tree::written(&documentation.join("copyright"), copyright(&mit)?.as_bytes())?;
    let changes = fs::read_to_string(root.join("CHANGELOG.md")).context("no CHANGELOG.md")?;
    let log = changelog(&newest(&changes), &moment::of_mail(moment::seconds()?)?)?;
    tree::written(&documentation.join("changelog.Debian.gz"), &tree::gzipped(log.as_bytes())?)?;
    let overrides = root.join("packaging/lintian-overrides");
    let overrides = fs::read(overrides).context("no packaging/lintian-overrides")?;
    tree::written(&tree.join("usr/share/lintian/overrides/cpudyno"), &overrides)
}

/// Who holds the rights, and the licences: <https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/>.
fn copyright(mit: &str) -> anyhow::Result<String> {
    let holder = mit.lines().find_map(|line| line.strip_prefix("Copyright (c) "));
    let holder = holder.context("LICENSE-MIT has no line `Copyright (c) ...`")?;
    let licence = env!("CARGO_PKG_LICENSE").replace(" OR ", " or ");
    let permission = mit.lines().skip_while(|line| !line.starts_with("Permission")).map(|line| {
        if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {}\n", line.trim_end()) }
    });
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: cpudyno\n\
         Source: {}\n\
         \n\
         Files: *\n\
         Copyright: {holder}\n\
         License: {licence}\n\
         \n\
         License: MIT\n\
         {}\n\
         License: Apache-2.0\n \
         On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.\n",
        env!("CARGO_PKG_REPOSITORY"),
        permission.collect::<String>()
    ))
}

/// The changes of the newest version, each as one line: the items of the first section.
pub(super) fn newest(changes: &str) -> Vec<String> {
    let lines = changes.lines().skip_while(|line| !line.starts_with("## ")).skip(1);
    let mut items: Vec<String> = Vec::new();
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        match (line.strip_prefix("- "), items.last_mut()) {
            (Some(item), _) => items.push(item.to_owned()),
            (None, Some(item)) if line.starts_with("  ") => {
                let _ = write!(item, " {}", line.trim());
            }
            _ => {}
        }
    }
    items
}

/// The changelog of a package that has one version: Debian Policy 4.4.
fn changelog(items: &[String], date: &str) -> anyhow::Result<String> {
    let mut text = format!("cpudyno ({VERSION}-{RELEASE}) unstable; urgency=medium\n\n");
    for item in items {
        let mut line = "  *".to_owned();
        for word in item.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > COLUMNS {
                writeln!(text, "{line}")?;
                "   ".clone_into(&mut line);
            }
            write!(line, " {word}")?;
        }
        writeln!(text, "{line}")?;
    }
    write!(text, "\n -- {MAINTAINER}  {date}\n")?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_the_items_of_the_first_section() {
        let text =
            "# Changelog\n\nText.\n\n## 0.2.0\n\n- One\n  goes on.\n- Two.\n\n## 0.1.0\n\n- Old.\n";
        assert_eq!(newest(text), ["One goes on.", "Two."]);
    }

    #[test]
    fn lines_of_a_changelog_are_short_and_indented() {
        let text = changelog(&["word ".repeat(40), "last".into()], "today").unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("  * ")).count(), 2, "{text}");
        assert_eq!(text.matches("word").count(), 40);
        assert!(text.ends_with("  today\n"));
    }

    #[test]
    fn copyright_names_holder_and_licence() {
        let text =
            copyright("MIT License\n\nCopyright (c) 1 Us\n\nPermission is.\n\nEnd\n").unwrap();
        assert!(text.contains("\nCopyright: 1 Us\nLicense: MIT or Apache-2.0\n"), "{text}");
        assert!(
            text.contains("License: MIT\n Permission is.\n .\n End\n\nLicense: Apache"),
            "{text}"
        );
        assert!(copyright("").is_err());
    }
}
