//! What the developers' tools share: how they call cargo, what they need, and how they end.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool says there what it installs, and why it failed"
)]

pub mod cargo;
pub mod files;
pub mod maturin;
pub mod needs;

use std::process::ExitCode;

/// The answer is no: a step failed, two runs disagree, a claim does not hold.
pub const EXIT_NO: u8 = 1;
/// It cannot be decided here: a tool is missing, or nothing could be measured.
pub const EXIT_CANNOT: u8 = 3;

/// How a tool ends, after saying why it could not do what it was asked for.
pub fn ended(done: anyhow::Result<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        for cause in error.chain().skip(1) {
            eprintln!("  caused by: {cause}");
        }
        ExitCode::from(EXIT_CANNOT)
    })
}
