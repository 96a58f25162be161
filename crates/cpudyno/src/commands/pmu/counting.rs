//! `cpudyno pmu stat` and `cpudyno pmu kernel`.

use std::process::ExitCode;

use machine::Machine;
use model::record::{CountsRun, PageKind, Record};
use model::{CpuId, Unavailable};
use pmu::counting::demonstrations::{self, Packets};
use pmu::counting::{Plan, Session, base, software, stat as count_command};
use pmu::events::{Encoded, Events, Target};

use super::super::{child, command, presentation, render, sink};
use super::refused;
use crate::args::{AskedEvents, Format, PmuKernel, PmuKernelArgs, PmuStatArgs};
use crate::failure::{Failure, code};
use crate::output;

pub(super) fn stat(machine: &Machine, args: PmuStatArgs) -> Result<ExitCode, Failure> {
    let PmuStatArgs { events, json, mut look, command: words } = args;
    let sink = sink(&json, &mut look)?;
    not_csv(look.format)?;
    if machine.simulated.is_some() || machine.elsewhere.is_some() {
        return Err(Failure::usage("a command can be counted on the machine at hand alone").hint(
            "leave out --machine and --root; `cpudyno pmu kernel` counts on simulated ones",
        ));
    }
    let first = machine.host.affinity().ok().and_then(|cpus| cpus.iter().next());
    let mut asked = base(machine, first.unwrap_or(CpuId(0)));
    asked.extend(resolved(machine, &events, &[&GENERIC])?);
    asked.extend(software());
    let done = count_command(machine, &words, &asked, child::wait);
    let done = done.map_err(|error| child::not_started(&words[0], "pmu stat", &error))?;
    let mut record = described(machine, &look);
    record.counts = Some(done.run);
    let presentation = record.run.presentation;
    let text = render(&record, look.format, presentation)?;
    if let Some(sink) = sink {
        sink.write(&render(&record, Format::Json, presentation)?)?;
    }
    if look.format == Format::Json {
        output::data(&text)?;
    } else {
        output::remark(text.trim_end());
    }
    Ok(ExitCode::from(child::code(done.status)))
}

pub(super) fn kernel(machine: &Machine, args: &PmuKernelArgs) -> Result<ExitCode, Failure> {
    let PmuKernelArgs { kernel, events, with_kernel, pin, json, .. } = args;
    let (kernel, with_kernel, pin) = (*kernel, *with_kernel, *pin);
    if args.packets.checked_mul(args.size).is_none_or(|bytes| bytes > BYTES_MAX) {
        let text = format!("{} packets of {} bytes are too many", args.packets, args.size);
        return Err(Failure::usage(text).hint("ask for fewer: --packets 100000"));
    }
    let mut look = args.look.clone();
    let sink = sink(json, &mut look)?;
    not_csv(look.format)?;
    let mut asked = resolved(machine, events, usual(kernel))?;
    asked.extend(software());
    let mut record = described(machine, &look);
    let session = Session::on(machine, pin).map_err(cannot_count)?;
    let session = if with_kernel { session.with_kernel() } else { session };
    let plan = session.plan(&asked);
    let name = match kernel {
        PmuKernel::Empty => "an empty function",
        PmuKernel::Loop => "a loop",
        PmuKernel::Checksum => "the Internet checksum",
    };
    let mut run = session.outline(name, &plan);
    if !args.dry_run {
        count(&session, &plan, args, &mut run).map_err(cannot_count)?;
    }
    drop(session);
    record.counts = Some(run);
    let presentation = record.run.presentation;
    let written = match sink {
        Some(sink) => sink.write(&render(&record, Format::Json, presentation)?),
        None => Ok(()),
    };
    output::data(&render(&record, look.format, presentation)?)?;
    written.map(|()| ExitCode::SUCCESS)
}

fn count(
    session: &Session<'_>,
    plan: &Plan,
    args: &PmuKernelArgs,
    run: &mut CountsRun,
) -> Result<(), Unavailable> {
    let PmuKernelArgs { iterations, packets: number, size, .. } = *args;
    let packets = Packets { number, bytes: size as usize };
    run.tables = match args.kernel {
        PmuKernel::Empty => vec![demonstrations::empty(session, plan)?],
        PmuKernel::Loop => vec![demonstrations::counted_loop(session, plan, iterations)?],
        PmuKernel::Checksum => demonstrations::checksums(session, plan, packets),
    };
    Ok(())
}

/// What every CPU with counters has.
const GENERIC: [&str; 2] = ["branch-instructions", "branch-misses"];

/// Numbers beyond are not whole any more where they are divided.
const BYTES_MAX: u64 = 1 << 53;

/// What is counted if nobody says: the patterns of which the first fits some event here.
fn usual(kernel: PmuKernel) -> &'static [&'static [&'static str]] {
    match kernel {
        PmuKernel::Empty => &[],
        PmuKernel::Loop => &[&["retired.*all_branches$"], &GENERIC],
        PmuKernel::Checksum => &[
            &["^mem_load_(uops_)?retired.l[123]_hit$", "^mem_load_(uops_)?retired.l3_miss$"],
            &["l1-dcache-loads", "l1-dcache-load-misses"],
            &["cache-references", "cache-misses"],
        ],
    }
}

/// The events that were asked for, or the usual ones.
fn resolved(
    machine: &Machine,
    asked: &AskedEvents,
    usual: &[&[&str]],
) -> Result<Vec<Encoded>, Failure> {
    let folder = super::lists(asked.event_dir.as_deref());
    let events = Events::of(Target::of(machine).with_folder(folder.as_deref()));
    if !asked.events.is_empty() {
        return events.resolve_all(asked.events.iter().map(String::as_str)).map_err(refused);
    }
    let found = |names: &&[&str]| events.resolve_all(names.iter().copied()).ok();
    Ok(usual.iter().find_map(found).unwrap_or_default())
}

fn described(machine: &Machine, look: &crate::args::Look) -> Record {
    machine::describe(machine, command(), presentation(look, PageKind::Pmu))
}

fn not_csv(format: Format) -> Result<(), Failure> {
    if format != Format::Csv {
        return Ok(());
    }
    Err(Failure::usage("counts are no samples for a table of them")
        .hint("print them as text, markdown or json: --format json"))
}

fn cannot_count(reason: Unavailable) -> Failure {
    let Unavailable { what, why, remedy, .. } = reason;
    let failure = Failure::new(code::NOT_HERE, format!("cannot count `{what}`: {why}"));
    match remedy {
        Some(remedy) => failure.hint(remedy),
        None => failure,
    }
}
