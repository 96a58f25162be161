//! The page of all checks, which `cargo xtask generate` writes.

use std::fmt::Write;
use std::path::Path;

use checks::{Check, Condition};

const PAGE: &str = "../../docs/reference/checks.md";

const HEAD: &str = "\
# Checks of configuration

<!-- Generated from data/checks.toml by `cargo xtask generate`. -->

What settings should be, where, and why. [`cpudyno doctor`](../guide/doctor.md) names those that differ, a run has those of weight
warning and above among its [findings](findings.md) as `check.<id>`, and [`cpudyno gate`](../guide/gate.md) judges by them.
**note**: a choice with a price; **warning**: most people would want it otherwise; **serious**: something is broken.

What is not known is no pass: the page says why, and what helps. Where it holds: facts of [`cpudyno info -v`](../guide/doctor.md),
or what is drawn from them.
";

#[test]
fn the_page_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = page();
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert_eq!(found, page, "stale: `cargo xtask generate` writes it");
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for check in checks::table() {
        add(&mut page, check);
    }
    page
}

fn add(page: &mut String, check: &Check) {
    let Check { id, about, weight, reads, why, measure, mend, source, .. } = check;
    let expected = check.expected.clone().unwrap_or_else(|| check.expect.stated());
    write!(page, "\n## {id}\n\n{about}, {}: {why}.\n\n", weight.word()).unwrap();
    writeln!(page, "- expected: {expected} (`{reads}`)").unwrap();
    if !check.only.is_empty() {
        let only: Vec<String> = check.only.iter().map(condition).collect();
        writeln!(page, "- where: {}", only.join("; ")).unwrap();
    }
    writeln!(page, "- what it costs: {measure}").unwrap();
    writeln!(page, "- what mends it: {mend}").unwrap();
    writeln!(page, "- source: {source}").unwrap();
}

fn condition(condition: &Condition) -> String {
    format!("`{}` is {}", condition.fact, condition.is.stated())
}
