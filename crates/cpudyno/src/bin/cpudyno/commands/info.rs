//! `cpudyno info`.

use std::process::ExitCode;

use machine::Machine;
use model::record::PageKind;

use super::{Delivery, command, presentation, sinks};
use crate::args::InfoArgs;
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: InfoArgs) -> Result<ExitCode, Failure> {
    let (sinks, look) = sinks(args.output)?;
    let presentation = presentation(&look, PageKind::Info);
    let record = machine::describe(machine, command(), presentation);
    Delivery::of(&record).deliver(sinks, look.format)?;
    Ok(ExitCode::SUCCESS)
}
