//! `cpudyno info`.

use std::process::ExitCode;

use machine::Machine;
use model::record::PageKind;

use super::{command, presentation, render};
use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::output;

pub(super) fn run(machine: &Machine, args: &InfoArgs) -> Result<ExitCode, Failure> {
    let presentation = presentation(&args.look, PageKind::Info);
    let record = machine::describe(machine, command(), presentation);
    output::data(&render(&record, args.look.format, presentation)?)?;
    Ok(ExitCode::SUCCESS)
}
