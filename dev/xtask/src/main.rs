//! The project's own checks: `cargo xtask --help`.
//!
//! Each check is one row in `check::STEPS`, each tool that the checks need one row in
//! `needs::NEEDS`, each test of generated text one row in `generate::TESTS`. Comparisons with other programs
//! are `cargo peers`.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool that talks to its terminal; invariant I1 is about the product"
)]

mod check;
#[cfg(test)]
mod features;
mod generate;
mod needs;
mod slowest;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "The project's checks")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the checks of every day: format, lints, tests
    Check {
        /// Run all of them: also docs, dependencies, the other architecture, conformance, release
        #[arg(long)]
        full: bool,
        /// Install what is missing first (rustup, pip, apt-get)
        #[arg(long)]
        install: bool,
    },
    /// Rewrite the generated reference
    Generate,
}

fn main() -> ExitCode {
    xtask::ended(match Arguments::parse().task {
        Task::Check { full, install } => check::run(full, install),
        Task::Generate => generate::run(),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
