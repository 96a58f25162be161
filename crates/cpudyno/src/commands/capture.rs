//! `cpudyno capture`.

use std::process::ExitCode;

use machine::Machine;

use crate::args::CaptureArgs;
use crate::failure::{Failure, code};

pub(super) fn run(_machine: &Machine, args: &CaptureArgs) -> Result<ExitCode, Failure> {
    let message = format!("cannot write `{}`: not built yet", args.file.display());
    Err(Failure::new(code::NOT_HERE, message))
}
