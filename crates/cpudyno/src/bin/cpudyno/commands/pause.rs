//! `cpudyno pause`.

use std::process::ExitCode;

use machine::Machine;
use measure::areas::pause;
use model::record::PageKind;
use rig::placement::Choice;

use super::measuring::{Prepared, measure, once_each, outline, prepared};
use super::{command, presentation};
use crate::args::PauseArgs;
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: PauseArgs) -> Result<ExitCode, Failure> {
    let PauseArgs { instructions, cpus, budget, measuring } = args;
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    let choice = Choice { siblings: true, ..Choice::usual(cpus) };
    let rows =
        instructions.map(|asked| once_each(asked.into_iter().map(|stream| stream.0), |row| row.id));
    let presentation = presentation(&look, PageKind::Pause);
    let request = pause::request(budget, choice, rows, command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    measure(machine, &request, (look.format, sinks), &start)
}
