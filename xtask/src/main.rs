//! The project's own checks and benchmarks: `cargo xtask --help`.
//!
//! Each check is one row in `check::STEPS`, each tool that the checks need one row in
//! `needs::NEEDS`, each claim about speed one row in `speed::CLAIMS`. Nothing here is part of the
//! product.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool that talks to its terminal; invariant I1 is about the product"
)]

mod agree;
mod cargo;
mod check;
mod large;
mod latency;
mod needs;
mod speed;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The answer is no: a step failed, two runs disagree, a claim does not hold.
const EXIT_NO: u8 = 1;
/// It cannot be decided here: a tool is missing, or nothing could be measured.
const EXIT_CANNOT: u8 = 3;

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "The project's checks and benchmarks")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check: format, lints, tests, docs, licences, the other architecture, release
    Check {
        /// Install what is missing first (rustup, cargo install, apt-get)
        #[arg(long)]
        install: bool,
    },
    /// Measure this machine twice and say whether the two runs agree
    Agree {
        /// Time for each of the two runs
        #[arg(long, default_value = "10s")]
        budget: String,
    },
    /// Measure instruction latencies here and compare them with those that others found
    Latency,
    /// Measure what the project claims about its own speed and size
    Speed,
    /// Rewrite the generated reference
    Generate,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Check { install } => check::run(install),
        Task::Agree { budget } => agree::run(&budget),
        Task::Latency => latency::run(),
        Task::Speed => speed::run(),
        Task::Generate => cargo::generate(),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        for cause in error.chain().skip(1) {
            eprintln!("  caused by: {cause}");
        }
        ExitCode::from(EXIT_CANNOT)
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
