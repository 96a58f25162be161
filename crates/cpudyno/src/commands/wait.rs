//! `cpudyno wait`.

use std::process::ExitCode;

use machine::Machine;
use measure::areas::wait;
use model::record::PageKind;
use rig::placement::Choice;

use super::measuring::{measure, outline};
use super::{command, presentation, sinks};
use crate::args::{Measuring, WaitArgs};
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: WaitArgs) -> Result<ExitCode, Failure> {
    let WaitArgs { cpus, budget, measuring } = args;
    let Measuring { dry_run, output } = measuring;
    let (sinks, look) = sinks(output)?;
    let presentation = presentation(&look, PageKind::Wait);
    let request = wait::request(budget, Choice::usual(cpus), command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    measure(machine, &request, look.format, sinks)
}
