//! `cpudyno pmu`.

mod counting;

use std::process::ExitCode;

use machine::Machine;
use pmu::events::Error;

use crate::args::{PmuArgs, PmuCommand};
use crate::failure::{Failure, code};

pub(super) fn run(machine: &Machine, args: PmuArgs) -> Result<ExitCode, Failure> {
    match args.command {
        PmuCommand::Stat(args) => counting::stat(machine, args),
        PmuCommand::Kernel(args) => counting::kernel(machine, &args),
    }
}

/// A name that means nothing.
fn refused(error: Error) -> Failure {
    let message = error.to_string();
    match error {
        Error::Unknown { near, .. } if !near.is_empty() => {
            Failure::new(code::NOT_HERE, message).hint(format!("did you mean `{}`?", near[0]))
        }
        Error::Pattern { .. } => {
            Failure::usage(message).hint("put a backslash before \\ ( [ * + ?")
        }
        _ => Failure::new(code::NOT_HERE, message)
            .hint("`cpudyno pmu list` lists the events of this machine"),
    }
}
