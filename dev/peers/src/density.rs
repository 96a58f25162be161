//! Up to which density is the clock within the payload's loop the clock?
//!
//! The densities of docs/method/clock.md: the clock that a chain of multiplies in a stream's own loop tells, over
//! the one right after the stream, at densities from a third to beyond one. A benchmark, no part of the
//! checks.

use std::process::ExitCode;

use anyhow::anyhow;
use kernels::Data;
use machine::Machine;
use model::{CpuId, Seconds, stats};
use rig::job::{Density, Load, Manner, Member, Phase, Purpose, Repeat, Step, StepKind, Tools};
use rig::streams;
use rig::{protocol, reduce, ruler};

use crate::one_cpu::OneCpu;
use crate::table;

/// Per cent of the chain's time that the payload alone would take.
const DENSITIES: [u8; 6] = [33, 50, 65, 82, 95, 120];

/// The median of so many blocks.
const BLOCKS: usize = 9;

/// Prints the table for the first CPU that this process may use.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let machine = Machine::real();
    let OneCpu { mut executor, tools, cpu, ruler } = OneCpu::of(&machine)?;
    let ruler = &ruler;
    let mut rows = Vec::new();
    for row in kernels::streams::CLASSIC {
        let Ok(load) = streams::load(&machine, row, Data::Quiet) else { continue };
        if load.in_loop_ops.is_none() {
            continue;
        }
        let ratios =
            DENSITIES.map(|density| ratio(&mut executor, &tools, ruler, cpu, load, density));
        let mut cells = vec![row.id.to_owned()];
        cells.extend(ratios.map(|r| r.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"))));
        rows.push(
            <[String; 7]>::try_from(cells).map_err(|_| anyhow!("BUG: a row of another size"))?,
        );
    }
    println!(
        "clock within the loop over the clock right after the stream, by density of the stream"
    );
    let header = ["stream", "33 %", "50 %", "65 %", "82 %", "95 %", "120 %"];
    println!("{}", table::plain(header, &header[1..], rows));
    Ok(ExitCode::SUCCESS)
}

fn ratio(
    executor: &mut dyn rig::executor::Executor,
    tools: &Tools,
    ruler: &ruler::Ruler,
    cpu: CpuId,
    load: Load,
    density: u8,
) -> Option<f64> {
    let job = Repeat {
        members: vec![Member::new(cpu, load)],
        phases: vec![protocol::quiet(4), phase(density)],
        tools: *tools,
        manner: Manner::USUAL,
    };
    let mut ratios = Vec::new();
    for _ in 0..BLOCKS {
        let raw = executor.repeat(&job).ok()?;
        let reduced = reduce::reduce(&raw.members[0], load, &job, Some(ruler), executor.rate());
        let in_loop = [&reduced.clock_in_loop, &reduced.clock_in_loop_half];
        let in_loop = in_loop.into_iter().find_map(|clock| stats::median(clock))?;
        ratios.push(in_loop / stats::median(&reduced.clock)?);
    }
    stats::median(&ratios)
}

/// Sandwiches and looks from within the loop, in turn.
fn phase(density: u8) -> Phase {
    let step =
        |what, microseconds: f64| Step { what, target: Seconds(microseconds * 1e-6), multiple: 1 };
    let steps = vec![
        step(StepKind::Payload, 45.0),
        step(StepKind::Ruler, 3.0),
        step(StepKind::Payload, 45.0),
        step(StepKind::InLoop { density: Density::PerCent(density) }, 10.0),
    ];
    Phase { purpose: Purpose::Sandwich, steps, rounds: 40, settle: Seconds(2e-3) }
}
