//! The command: reads arguments, calls the library, prints. The only crate that writes to standard
//! output and standard error (invariant I1), and it computes no number.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod output;
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    let done = args::parse(std::env::args_os()).and_then(commands::run);
    match done {
        Ok(code) => code,
        Err(failure) => {
            output::failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}
