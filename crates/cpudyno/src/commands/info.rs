//! `cpudyno info`.

use std::process::ExitCode;

use machine::Machine;
use model::record::PageKind;

use super::{command, presentation, render, sinks};
use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::output;

pub(super) fn run(machine: &Machine, args: InfoArgs) -> Result<ExitCode, Failure> {
    let InfoArgs { files, mut look } = args;
    let sinks = sinks(&files, &mut look)?;
    let presentation = presentation(&look, PageKind::Info);
    let record = machine::describe(machine, command(), presentation);
    let written = sinks.write(&record, presentation);
    output::data(&render(&record, look.format, presentation)?)?;
    written?;
    Ok(ExitCode::SUCCESS)
}
