//! `cpudyno cores`.

use std::process::ExitCode;

use machine::Machine;
use measure::areas::cores::CoresOptions;
use model::record::PageKind;
use rig::placement::Choice;

use super::measuring::{Prepared, measure, outline, prepared};
use super::{command, presentation};
use crate::args::CoresArgs;
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: CoresArgs) -> Result<ExitCode, Failure> {
    let CoresArgs { messages, home, cpus, allow_hyperthreads, budget, measuring } = args;
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    let options = CoresOptions {
        messages: messages.map(|messages| messages.into_iter().map(|word| word.0).collect()),
        home: home.0,
        budget,
        cpus: Choice { siblings: allow_hyperthreads, ..Choice::usual(cpus) },
    };
    let request = options.request(command(), presentation(&look, PageKind::Cores));
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    measure(machine, &request, (look.format, sinks), &start)
}
