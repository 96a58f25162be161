//! `cpudyno wait`.

use std::process::ExitCode;

use machine::Machine;
use measure::areas::wait;
use model::record::PageKind;
use rig::placement::Choice;

use super::measuring::{Prepared, measure, outline, prepared};
use super::{command, presentation};
use crate::args::WaitArgs;
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: WaitArgs) -> Result<ExitCode, Failure> {
    let WaitArgs { cpus, budget, measuring } = args;
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    let presentation = presentation(&look, PageKind::Wait);
    let request = wait::request(budget, Choice::usual(cpus), command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    measure(machine, &request, (look.format, sinks), &start)
}
