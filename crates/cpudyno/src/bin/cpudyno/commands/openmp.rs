//! `cpudyno openmp`.

use std::process::ExitCode;

use machine::Machine;
use measure::areas::openmp::OpenmpOptions;
use model::record::PageKind;
use rig::placement::Choice;

use super::measuring::{Prepared, measure, outline, prepared};
use super::{command, presentation};
use crate::args::{OpenmpArgs, RuntimeName};
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: OpenmpArgs) -> Result<ExitCode, Failure> {
    let Prepared { dry_run, start, sinks, look } = prepared(args.measuring)?;
    let names = |names: Vec<RuntimeName>| names.into_iter().map(|it| it.0.to_owned()).collect();
    let options = OpenmpOptions {
        outer: args.outer,
        inner: args.inner,
        small: args.small,
        threads: args.threads,
        runtimes: args.runtime.map(names),
        budget: args.budget,
        cpus: Choice::usual(args.cpus),
        variables: None,
    };
    let request = options.request(command(), presentation(&look, PageKind::Openmp));
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    measure(machine, &request, (look.format, sinks), &start)
}
