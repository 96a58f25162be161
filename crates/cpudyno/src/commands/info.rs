//! `cpudyno info`.

use std::process::ExitCode;

use machine::Machine;
use model::record::PageKind;

use super::{command, presentation, render, sink};
use crate::args::{Format, InfoArgs};
use crate::failure::Failure;
use crate::output;

pub(super) fn run(machine: &Machine, args: InfoArgs) -> Result<ExitCode, Failure> {
    let InfoArgs { json, mut look } = args;
    let sink = sink(&json, &mut look)?;
    let presentation = presentation(&look, PageKind::Info);
    let record = machine::describe(machine, command(), presentation);
    let written = match sink {
        Some(sink) => sink.write(&render(&record, Format::Json, presentation)?),
        None => Ok(()),
    };
    output::data(&render(&record, look.format, presentation)?)?;
    written?;
    Ok(ExitCode::SUCCESS)
}
