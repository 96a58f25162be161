//! `cpudyno sheet`.

use std::process::ExitCode;

use machine::Machine;
use model::record::PageKind;

use super::measuring::{Prepared, measured, once_each, outline, prepared, tell};
use super::{command, presentation, records};
use crate::args::{SheetArgs, Stream};
use crate::failure::Failure;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: SheetArgs) -> Result<ExitCode, Failure> {
    let SheetArgs { budget, cpus, streams, reference, measuring } = args;
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    // What cannot be read is said before half a minute is spent.
    let earlier = reference.as_deref().map(records::reference).transpose()?;
    let streams =
        streams.map(|asked| once_each(asked.into_iter().map(|Stream(row)| row), |row| row.id));
    let presentation = presentation(&look, PageKind::Sheet);
    let request = measure::sheet::request(budget, cpus, streams, command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    let signals = Signals::listen()?;
    let turn = start.turn(machine, &signals)?;
    let (mut record, signal) = measured(machine, &request, &signals, &turn)?;
    if let Some(earlier) = earlier {
        records::place(&mut record, &earlier);
    }
    tell(&record, signal, (look.format, sinks))
}
