//! The command: reads arguments, calls the library, prints. The only crate that writes to standard
//! output and standard error (invariant I1), and it computes no number.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod output;
mod signals;

use std::ffi::OsString;
use std::process::ExitCode;

use failure::{Failure, code};

fn main() -> ExitCode {
    // Without it there is less room for arrays; nothing else changes.
    sys::memory::arenas(1);
    let done = std::panic::catch_unwind(run);
    // A panic has said already where it happened.
    let ours =
        || Failure::new(code::BUG, "cpudyno has a bug").hint("please report the lines above");
    match done.unwrap_or_else(|_| Err(ours())) {
        Ok(code) => code,
        Err(failure) => {
            output::failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

fn run() -> Result<ExitCode, Failure> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(args) = args::compat(&arguments) {
        return commands::compat(&args?);
    }
    let words = arguments.clone();
    let done = args::parse(arguments).and_then(commands::run);
    done.or_else(|failure| commands::misused(&words, failure))
}
