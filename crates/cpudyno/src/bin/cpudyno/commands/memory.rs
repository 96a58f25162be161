//! `cpudyno memory`.

use std::process::ExitCode;
use std::time::Duration;

use machine::Machine;
use measure::areas::memory::{self, Extent, Length, MemoryOptions, Question};
use measure::original::{self, BuildEnvironment, StreamSource};
use model::page::Block;
use model::record::{ByteCount, PageKind, Presentation};
use rig::executor::Stop;
use rig::placement::Choice;

use super::measuring::{
    Prepared, measure, measure_after, once_each, outline, outline_after, prepared, refused,
};
use super::start::Start;
use super::{Sinks, command, lists, presentation};
use crate::args::{Format, KernelArg, MemoryArgs, OriginalArgs, QuestionArgs, Switch};
use crate::failure::{Failure, code};

pub(super) fn run(machine: &Machine, args: MemoryArgs) -> Result<ExitCode, Failure> {
    if args.list {
        return lists::kernels(machine, &args.measuring.output.look);
    }
    let Prepared { dry_run, start, sinks, look } = prepared(args.measuring.clone())?;
    let presentation = presentation(&look, PageKind::Memory);
    let (options, original) = options(args);
    if let Some(original) = original {
        let beside = StreamComparison::new(machine, options, original)?;
        return if dry_run {
            beside.outline(machine, (look.format, sinks), presentation)
        } else {
            beside.measure(machine, (look.format, sinks), presentation, &start)
        };
    }
    let request = options.request(command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    measure(machine, &request, (look.format, sinks), &start)
}

/// The original STREAM, and then our kernels on the same CPUs with arrays of the same length.
struct StreamComparison {
    original: original::StreamRequest,
    extent: Extent,
    ours: MemoryOptions,
}

impl StreamComparison {
    fn new(
        machine: &Machine,
        options: MemoryOptions,
        args: OriginalArgs,
    ) -> Result<StreamComparison, Failure> {
        /// Ten repetitions of the largest arrays that fit into memory take less.
        const TIME_LIMIT: Duration = Duration::from_mins(10);
        let extent = memory::extent(machine, &options).map_err(|error| refused(machine, error))?;
        let original = original::StreamRequest {
            source: StreamSource::new(&args.source),
            sha256: args.sha256,
            compiler: args.compiler,
            cpus: extent.cpus.clone(),
            array_elements: extent.elements,
            repetitions: args.repetitions,
            time_limit: TIME_LIMIT,
            surroundings: BuildEnvironment::of_process(),
        };
        let ours = MemoryOptions {
            threads: Some(extent.cpus.len()),
            length: Some(Length::Elements(extent.elements)),
            ..options
        };
        Ok(StreamComparison { original, extent, ours })
    }

    fn measure(
        self,
        machine: &Machine,
        output: (Format, Sinks),
        presentation: Presentation,
        start: &Start,
    ) -> Result<ExitCode, Failure> {
        let StreamComparison { original, extent, ours } = self;
        let request = ours.request(command(), presentation);
        measure_after(machine, &request, output, start, |stop, tell| {
            let original = original::run(&original, stop, tell).map_err(|error| failed(&error))?;
            Ok(Some(memory::kept(&original, &extent)))
        })
    }

    /// What would be compiled and measured, where it could be.
    fn outline(
        self,
        machine: &Machine,
        output: (Format, Sinks),
        presentation: Presentation,
    ) -> Result<ExitCode, Failure> {
        let checked =
            original::check(&self.original, &Stop::default()).map_err(|error| failed(&error))?;
        let planned = memory::planned(&checked, &self.extent);
        let planned = planned.map(|(label, text)| (label.to_owned(), text.into()));
        let request = self.ours.request(command(), presentation);
        outline_after(machine, &request, output, vec![Block::Box(planned.to_vec())])
    }
}

fn failed(error: &original::Error) -> Failure {
    let failed = Failure::new(code_of(error), error.to_string());
    Failure { hint: error.hint(), ..failed }
}

/// What was asked for wrongly, and what does not go here.
fn code_of(error: &original::Error) -> u8 {
    use original::Error::{NotStream, OtherSource, Request, Unreadable};
    match error {
        Request { .. } | Unreadable { .. } | NotStream { .. } | OtherSource { .. } => code::USAGE,
        _ => code::NOT_HERE,
    }
}

fn options(args: MemoryArgs) -> (MemoryOptions, Option<OriginalArgs>) {
    let mut original = None;
    let every_count = matches!(args.question, Some(QuestionArgs::Scaling { all: true }));
    let question = match args.question {
        None => Question::Bandwidth,
        Some(QuestionArgs::Original(asked)) => {
            original = Some(asked);
            Question::Bandwidth
        }
        Some(QuestionArgs::Scaling { .. }) => Question::Scaling,
        Some(QuestionArgs::Sweep { factors: None }) => Question::Sweep,
        Some(QuestionArgs::Sweep { factors: Some(most) }) => Question::Factors(most),
        Some(QuestionArgs::Latency) => Question::Latency,
        Some(QuestionArgs::Loaded) => Question::Loaded,
        Some(QuestionArgs::Numa) => Question::Numa,
    };
    let options = MemoryOptions {
        question,
        kernels: args.kernels.map(|asked| {
            once_each(asked.into_iter().map(|KernelArg(kernel)| kernel), |kernel| kernel.id)
        }),
        variant: args.variant,
        threads: args.threads,
        every_count,
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
    };
    (options, original)
}
