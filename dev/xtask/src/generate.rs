//! Rewriting what is generated: the tests that find it stale can also write it.

use std::process::ExitCode;

use anyhow::Context;

use xtask::{EXIT_NO, cargo};

/// Tests of generated text, a command each.
const TESTS: &[&str] = &[
    "cargo test --quiet --package cpudyno-checks --test it page::",
    "cargo test --quiet --package cpudyno-model --features schema --test schema",
    "cargo test --quiet --workspace --test machines",
    "cargo test --quiet --package cpudyno-capi --test it header::",
    "cargo test --quiet --package cpudyno-capi --test it the_guide",
    "cargo test --quiet --package peers conformance::",
];

/// Rewrites all of it.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    for test in TESTS {
        println!("$ UPDATE_GENERATED=1 {test}");
        let status = cargo::command(test)
            .env("UPDATE_GENERATED", "1")
            .status()
            .with_context(|| format!("cannot run `{test}`"))?;
        if !status.success() {
            eprintln!("error: cannot rewrite the generated reference: `{test}` failed");
            return Ok(ExitCode::from(EXIT_NO));
        }
    }
    println!("the generated reference is up to date; `git diff` shows what changed");
    Ok(ExitCode::SUCCESS)
}
