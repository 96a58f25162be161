//! `cpudyno worker`: does what needs a process of its own, for the `cpudyno` that started it.

use std::io::BufRead;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::output;

pub(super) fn run() -> Result<ExitCode, Failure> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::usage(format!("cannot read an order: {error}")))?;
    output::data(&rig::child::answer(&line))?;
    Ok(ExitCode::SUCCESS)
}
