//! `cpudyno sheet`.

use std::process::ExitCode;

use machine::Machine;
use model::record::PageKind;

use super::measure::{measure, once_each, outline};
use super::{command, presentation, sinks};
use crate::args::{SheetArgs, Stream};
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: SheetArgs) -> Result<ExitCode, Failure> {
    let SheetArgs { budget, cpus, streams, dry_run, files, mut look } = args;
    let sinks = sinks(&files, &mut look)?;
    let streams =
        streams.map(|asked| once_each(asked.into_iter().map(|Stream(row)| row), |row| row.id));
    let presentation = presentation(&look, PageKind::Sheet);
    let request = bench::sheet::request(budget, cpus, streams, command(), presentation);
    if dry_run {
        return outline(machine, &request, look.format);
    }
    measure(machine, &request, look.format, sinks)
}
