//! The documentation site: the texts of the repository as they lie there, and the help of every command, as a book.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};

use xtask::cargo;

use crate::ancestors;

/// Where it is made, from the root; `book/index.html` is its first page.
const SITE: &str = "target/site";

/// Texts of the root that are pages.
const PAGES: [&str; 6] =
    ["README.md", "BIAS.md", "SAFETY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Writes the help of every command to `cpudyno.md` there, where generated files are asked for.
const COMMANDS: &str = "cargo test --quiet --locked --package cpudyno --test it generated::";

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let root = cargo::root();
    let (site, source) = (root.join(SITE), root.join(SITE).join("src"));
    if source.exists() {
        fs::remove_dir_all(&source).context("cannot clear the site")?;
    }
    // Links between texts hold, because their places to each other stay.
    copy(&root.join("docs"), &source.join("docs"))?;
    for page in PAGES {
        fs::copy(root.join(page), source.join(page)).with_context(|| format!("no {page}"))?;
    }
    fs::rename(source.join("docs/SUMMARY.md"), source.join("SUMMARY.md"))?;
    fs::rename(source.join("docs/book.toml"), site.join("book.toml"))?;
    let mut help = cargo::command(COMMANDS);
    let written = help.env("UPDATE_GENERATED", "1").status().context("cannot run cargo")?;
    if !written.success() {
        bail!("the help of commands was not written: {written}");
    }
    fs::copy(site.join("cpudyno.md"), source.join("docs/reference/cpudyno.md"))?;
    fs::write(source.join("docs/reference/ancestors.md"), ancestors::page(&root)?)?;
    let built = cargo::command("mdbook build").arg(&site).status().context("cannot run mdbook")?;
    if !built.success() {
        bail!("mdbook failed: {built}");
    }
    println!("{SITE}/book/index.html");
    Ok(ExitCode::SUCCESS)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("no {}", from.display()))? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
