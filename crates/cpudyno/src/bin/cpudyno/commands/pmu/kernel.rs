//! `cpudyno pmu kernel`.

use std::process::ExitCode;

use machine::Machine;
use model::record::CountsRun;
use model::{CpuId, Unavailable};
use pmu::counting::examples::{self, Packets};
use pmu::counting::{self, BudgetKernel, CountingPlan, Session, Sheet, Spec, software};

use super::super::sinks;
use super::counting::{
    Done, EventSelection, GENERIC, budget_file, cannot_count, described, not_csv, print, save,
    session,
};
use super::roofline::{self, PlacedWork};
use crate::args::{AskedEvents, PmuKernel, PmuKernelArgs};
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: &PmuKernelArgs) -> Result<ExitCode, Failure> {
    let (sinks, look) = sinks(args.output.clone())?;
    not_csv(look.format)?;
    let work = wanted(args)?;
    let record = described(machine, &look);
    let rooflines = roofline::read(&args.roofline, &record)?;
    let kept = budget_file(&args.budget)?;
    let at = Where { pin: args.pin, neighbour: args.neighbour, dry_run: args.dry_run };
    let mut done = count(machine, args.kernel, &work, &args.events, at)?;
    let operations = match args.kernel {
        PmuKernel::Of(spec) => spec.operations(),
        PmuKernel::Empty | PmuKernel::Checksum => None,
    };
    let kind = done.run.cpu.and_then(|cpu| record.machine.topology.kind(cpu)).map(str::to_owned);
    roofline::place(&mut done.run, rooflines, kind.as_deref(), &PlacedWork::Kernel(operations));
    let saved = save(kept, &args.budget, &done.run.tables, Some(work));
    print(record, done.run.clone(), sinks, look.format)?;
    saved.map(|()| done.code())
}

/// Where it is counted.
#[derive(Clone, Copy, Default)]
pub(super) struct Where {
    /// The CPU.
    pub(super) pin: Option<CpuId>,
    /// Who is busy beside it.
    pub(super) neighbour: Option<CpuId>,
    /// Whether nothing is counted.
    pub(super) dry_run: bool,
}

/// What is to be executed, as a budget keeps it.
fn wanted(args: &PmuKernelArgs) -> Result<BudgetKernel, Failure> {
    let PmuKernelArgs { kernel, packets, sizes, sheet, with_kernel, .. } = args;
    let has_size = match kernel {
        PmuKernel::Empty => false,
        PmuKernel::Checksum => true,
        PmuKernel::Of(spec) => spec.has_data(),
    };
    let name = kernel.name();
    if !has_size && !sizes.is_empty() {
        return Err(Failure::usage(format!("`{name}` has no data whose size could be chosen"))
            .hint("leave out --size"));
    }
    if *sheet && !matches!(kernel, PmuKernel::Of(_)) {
        return Err(Failure::usage(format!("`{name}` has no data sheet"))
            .hint("`cpudyno pmu kernel triad --sheet`, or another kernel"));
    }
    if let Some(cpu) = args.pin.filter(|_| args.pin == args.neighbour) {
        return Err(Failure::usage(format!("CPU {cpu} cannot be its own neighbour"))
            .hint("name another CPU, or leave out --neighbour"));
    }
    if sizes.len() > 1 && !sheet {
        return Err(
            Failure::usage("several sizes make a data sheet").hint("add --sheet, or name one size")
        );
    }
    let work = BudgetKernel {
        name: name.to_owned(),
        events: args.events.events.clone(),
        iterations: args.iterations.unwrap_or_else(|| usual_number(*kernel)),
        packets: *packets,
        sizes: sizes.clone(),
        sheet: *sheet,
        with_kernel: *with_kernel,
    };
    match work.check() {
        Ok(()) => Ok(work),
        Err(Unavailable { why, remedy, .. }) => {
            Err(Failure { hint: remedy, ..Failure::usage(why) })
        }
    }
}

/// As many as take about a millisecond, or a few where each gives the CPU away.
fn usual_number(kernel: PmuKernel) -> u64 {
    match kernel {
        PmuKernel::Of(Spec::Sleep | Spec::Move) => 100,
        PmuKernel::Of(Spec::Touch) => 1000,
        PmuKernel::Of(Spec::Stream(row)) if row.kind == kernels::Kind::Spin => 10_000,
        _ => 1_000_000,
    }
}

/// Counts a kernel.
pub(super) fn count(
    machine: &Machine,
    kernel: PmuKernel,
    work: &BudgetKernel,
    events: &AskedEvents,
    at: Where,
) -> Result<Done, Failure> {
    let asked = {
        let session = session(machine, at.pin)?.without_canary();
        let core = std::slice::from_ref(session.core());
        let mut asked = EventSelection::new(machine, core, events, usual(kernel), &software())?;
        if !at.dry_run {
            asked.test(&session, machine, events);
        }
        asked
    };
    let session = session(machine, at.pin)?.with_metrics(&asked.metrics);
    let session = if work.with_kernel { session.with_kernel() } else { session };
    let mut plan = session.plan(&asked.events);
    plan.refuse(&asked.refused);
    let name = match kernel {
        PmuKernel::Empty => "an empty function",
        PmuKernel::Checksum => "the Internet checksum",
        PmuKernel::Of(Spec::Loop) => "a loop",
        PmuKernel::Of(spec) => spec.name(),
    };
    if at.dry_run {
        let plan = session.tried(plan);
        return Ok(asked.done(session.outline(name, &plan), &plan.events));
    }
    let tables = tables(&session, &plan, kernel, work, at.neighbour).map_err(cannot_count)?;
    let run = CountsRun { tables, ..session.outline(name, &plan) };
    Ok(asked.done(run, &plan.events))
}

fn tables(
    session: &Session<'_>,
    plan: &CountingPlan,
    kernel: PmuKernel,
    work: &BudgetKernel,
    neighbour: Option<CpuId>,
) -> Result<Vec<model::record::Counts>, Unavailable> {
    let BudgetKernel { iterations, packets: number, sizes, sheet, .. } = work;
    let size = sizes.first().copied();
    match kernel {
        PmuKernel::Empty => examples::empty(session, plan).map(|counts| vec![counts]),
        PmuKernel::Checksum => {
            let bytes = work.packet_bytes() as usize;
            Ok(examples::checksums(session, plan, Packets { number: *number, bytes }))
        }
        PmuKernel::Of(spec) if *sheet => {
            let sheet = Sheet { spec, sizes: sizes.clone(), units: *iterations, neighbour };
            Ok(sheet.count(session, plan))
        }
        PmuKernel::Of(Spec::Loop) => {
            examples::counted_loop(session, plan, *iterations).map(|counts| vec![counts])
        }
        PmuKernel::Of(spec) => {
            let spec = size.map_or(spec, |bytes| spec.of_size(bytes));
            counting::kernel(session, plan, spec, *iterations).map(|counts| vec![counts])
        }
    }
}

/// What is counted if nobody says: the patterns of which the first fits some event here.
fn usual(kernel: PmuKernel) -> &'static [&'static [&'static str]] {
    const CACHES: &[&[&str]] = &[
        &["^mem_load_(uops_)?retired.l[123]_hit$", "^mem_load_(uops_)?retired.l3_miss$"],
        &["l1-dcache-loads", "l1-dcache-load-misses"],
        &["cache-references", "cache-misses"],
    ];
    match kernel {
        PmuKernel::Of(Spec::Loop | Spec::Coin) => &[&["retired.*all_branches$"], &GENERIC],
        PmuKernel::Checksum | PmuKernel::Of(Spec::Memory(..) | Spec::Chase(_)) => CACHES,
        PmuKernel::Empty | PmuKernel::Of(_) => &[],
    }
}
