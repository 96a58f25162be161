//! `cpudyno memory`.

use std::process::ExitCode;

use bench::areas::memory::{Options, Question};
use bench::rig::placement::Choice;
use machine::Machine;
use model::record::{ByteCount, PageKind};

use super::measure::{measure, outline};
use super::{command, presentation, sink};
use crate::args::{Kernel, MemoryArgs, QuestionArgs, Switch};
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: MemoryArgs) -> Result<ExitCode, Failure> {
    let mut look = args.look.clone();
    let sink = sink(&args.json, &mut look)?;
    let dry_run = args.dry_run;
    let request = options(args).request(command(), presentation(&look, PageKind::Memory));
    if dry_run {
        return outline(machine, &request, look.format);
    }
    measure(machine, &request, look.format, sink)
}

fn options(args: MemoryArgs) -> Options {
    let question = match args.question {
        None => Question::Bandwidth,
        Some(QuestionArgs::Scaling) => Question::Scaling,
        Some(QuestionArgs::Sweep { factors: None }) => Question::Sweep,
        Some(QuestionArgs::Sweep { factors: Some(most) }) => Question::Factors(most),
        Some(QuestionArgs::Latency) => Question::Latency,
        Some(QuestionArgs::Loaded) => Question::Loaded,
        Some(QuestionArgs::Numa) => Question::Numa,
    };
    Options {
        question,
        kernels: args.kernels.map(|kernels| kernels.iter().map(|Kernel(kernel)| *kernel).collect()),
        variant: args.variant,
        threads: args.threads,
        length: args.length,
        pages: args.pages,
        bytes: ByteCount {
            write_allocate: args.write_allocate == Switch::On,
            unit: args.unit.into(),
        },
        budget: args.budget,
        cpus: Choice {
            cpus: args.cpus,
            siblings: args.allow_hyperthreads,
            order: args.order.into(),
            at_most: None,
        },
    }
}
