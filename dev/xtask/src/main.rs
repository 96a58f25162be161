//! The project's own checks: `cargo xtask --help`.
//!
//! Each check is one row in `check::STEPS`, each tool that the checks need one row in
//! `xtask::needs::NEEDS`, each test of generated text one row in `generate::TESTS`. Comparisons with other programs
//! are `cargo peers`, real kernels in emulated machines the program `lab`.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool that talks to its terminal; invariant I1 is about the product"
)]

mod ancestors;
#[cfg(test)]
mod arrows;
mod check;
#[cfg(test)]
mod circles;
mod clib;
#[cfg(test)]
mod features;
#[cfg(test)]
mod findings;
mod generate;
mod junit;
#[cfg(test)]
mod names;
#[cfg(test)]
mod paths;
mod site;
#[cfg(test)]
mod sizes;
mod wheel;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use xtask::{EXIT_CANNOT, cargo};

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
        /// Run all of them: also docs, dependencies, the other architecture, conformance, the lab, release
        #[arg(long)]
        full: bool,
        /// Install what is missing first (rustup, pip, apt-get)
        #[arg(long)]
        install: bool,
    },
    /// Rewrite the generated reference
    Generate,
    /// Build the library for C, and put it with its header into a folder as a prefix has them
    Clib {
        /// The folder
        #[arg(default_value = "target/clib")]
        folder: std::path::PathBuf,
        /// The profile of cargo that it is built with
        #[arg(long, default_value = "dist")]
        profile: String,
    },
    /// Build the documentation site with mdBook, in target/site/book
    Site {
        /// The program whose help it shows; by default it is built
        #[arg(long, value_name = "FILE")]
        program: Option<std::path::PathBuf>,
    },
    /// Build the wheel of the Python package with the command in it, into dist/
    Wheel(wheel::WheelArgs),
    /// Build what a release offers into dist/: programs, packages, wheels, an image
    #[command(disable_help_flag = true)]
    Dist {
        /// What is asked of it: `--help` says it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Boot emulated machines and hold what the product says of them against what they are
    #[command(disable_help_flag = true)]
    Lab {
        /// What the lab is asked for: `--help` says it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    xtask::ended(match Arguments::parse().task {
        Task::Check { full, install } => check::run(full, install),
        Task::Generate => generate::run(),
        Task::Clib { folder, profile } => clib::run(&folder, &profile),
        Task::Site { program } => site::run(program.as_deref()),
        Task::Wheel(args) => wheel::run(&args),
        Task::Dist { arguments } => tool("dist", &arguments),
        Task::Lab { arguments } => tool("lab", &arguments),
    })
}

/// Runs a tool that is a program of its own: checks of every day need not wait for it.
fn tool(name: &str, arguments: &[String]) -> anyhow::Result<ExitCode> {
    let mut command = cargo::command(&format!("cargo run --quiet --locked --package {name} --"));
    let status = command.args(arguments).status().with_context(|| format!("cannot run {name}"))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(EXIT_CANNOT)))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
