//! The documentation site: the texts of the repository as they lie there, and the help of every command, as a book.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

use xtask::cargo;
use xtask::files::copied;

use crate::ancestors;

/// Where it is made, from the root; `book/index.html` is its first page.
const SITE: &str = "target/site";

/// Texts of the root that are pages.
const PAGES: [&str; 6] =
    ["README.md", "BIAS.md", "SAFETY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Has a program write the help of every command to `cpudyno.md` in a folder, which is the next argument.
const COMMANDS: &str = "cargo run --quiet --locked --package cpudyno -- pages";

/// Builds it, with the help of the commands as this program prints it, or one that is built for that.
pub(crate) fn run(program: Option<&Path>) -> anyhow::Result<ExitCode> {
    let root = cargo::root();
    let (site, source) = (root.join(SITE), root.join(SITE).join("src"));
    if source.exists() {
        fs::remove_dir_all(&source).context("cannot clear the site")?;
    }
    // Links between texts hold, because their places to each other stay.
    copied(&root.join("docs"), &source.join("docs"))?;
    for page in PAGES {
        fs::copy(root.join(page), source.join(page)).with_context(|| format!("no {page}"))?;
    }
    fs::rename(source.join("docs/SUMMARY.md"), source.join("SUMMARY.md"))?;
    fs::rename(source.join("docs/book.toml"), site.join("book.toml"))?;
    let mut pages = cargo::command(COMMANDS);
    if let Some(program) = program {
        pages = Command::new(program);
        pages.arg("pages");
    }
    let written = pages.arg(&site).status().context("cannot run what writes the help")?;
    if !written.success() {
        bail!("the help of commands was not written: {written}");
    }
    fs::copy(site.join("cpudyno.md"), source.join("docs/reference/cpudyno.md"))?;
    fs::write(source.join("docs/reference/ancestors.md"), ancestors::page(&root)?)?;
    let built = cargo::command("mdbook build").arg(&site).status().context("cannot run mdbook")?;
    if !built.success() {
        bail!("mdbook failed: {built}");
    }
    let book = site.join("book");
    let pages = for_programs(&source, &book)?;
    println!("{SITE}/book/index.html, and {pages} pages as they were written, listed in llms.txt");
    Ok(ExitCode::SUCCESS)
}

/// Puts the pages as they were written into the book, and lists them in `llms.txt` (llmstxt.org): programs read these
/// rather than HTML. Says how many.
fn for_programs(source: &Path, book: &Path) -> anyhow::Result<usize> {
    let summary = fs::read_to_string(source.join("SUMMARY.md"))?;
    let mut list = String::from(
        "# cpudyno\n\n> A dynamometer for CPUs: one Linux command, and a library, that measures what a machine's CPU \
         really does, explains it, and helps to set it up.\n",
    );
    let mut pages = 0;
    for line in summary.lines().map(str::trim_start) {
        if let Some(part) = line.strip_prefix("# ").filter(|part| *part != "Summary") {
            writeln!(list, "\n## {part}\n")?;
        }
        let Some((_, page)) = line.trim_end_matches(')').split_once("](") else { continue };
        let to = book.join(page);
        fs::create_dir_all(to.parent().unwrap_or(book))?;
        fs::copy(source.join(page), &to).with_context(|| format!("SUMMARY.md names {page}"))?;
        if let Some(item) = line.strip_prefix("- ") {
            writeln!(list, "- {item}")?;
        }
        pages += 1;
    }
    list += "\n## Optional\n\n- [JSON schema of records](docs/reference/record.schema.json)\n";
    fs::write(book.join("llms.txt"), list)?;
    Ok(pages)
}
