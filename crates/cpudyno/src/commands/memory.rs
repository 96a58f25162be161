//! `cpudyno memory`.

use std::process::ExitCode;

use bench::areas::memory::{Options, Question};
use bench::rig::placement::Choice;
use machine::Machine;
use model::record::{ByteCount, PageKind};

use super::measure::{measure, outline};
use super::{command, presentation, sink, text};
use crate::args::{Format, Kernel, Look, MemoryArgs, QuestionArgs, Switch};
use crate::failure::Failure;
use crate::output;

pub(super) fn run(machine: &Machine, args: MemoryArgs) -> Result<ExitCode, Failure> {
    if args.list {
        return list(machine, &args.look);
    }
    let mut look = args.look.clone();
    let sink = sink(&args.json, &mut look)?;
    let dry_run = args.dry_run;
    let request = options(args).request(command(), presentation(&look, PageKind::Memory));
    if dry_run {
        return outline(machine, &request, look.format);
    }
    measure(machine, &request, look.format, sink)
}

/// The kernels with their variants.
fn list(machine: &Machine, look: &Look) -> Result<ExitCode, Failure> {
    let page = bench::areas::memory::list(machine);
    let printed = match look.format {
        Format::Text => text(&page, presentation(look, PageKind::Memory)),
        Format::Markdown => views::markdown::render(&page),
        Format::Json | Format::Csv => {
            return Err(Failure::usage("the list of kernels is no record")
                .hint("print it as text or markdown: --format markdown"));
        }
    };
    output::data(&printed)?;
    Ok(ExitCode::SUCCESS)
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
