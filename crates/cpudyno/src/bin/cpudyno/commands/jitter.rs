//! `cpudyno jitter`.

use std::process::ExitCode;

use machine::Machine;
use measure::areas::jitter;
use model::record::PageKind;

use super::measuring::{Prepared, measure, outline, prepared};
use super::{command, presentation};
use crate::args::JitterArgs;
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: JitterArgs) -> Result<ExitCode, Failure> {
    let JitterArgs { time, cpus, shortest, measuring } = args;
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    let presentation = presentation(&look, PageKind::Jitter);
    let request = jitter::request(time, shortest, cpus, command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    measure(machine, &request, (look.format, sinks), &start)
}
