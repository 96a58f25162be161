//! What do answers that are compared on the way cost a measurement?
//!
//! Blocks as a sheet has them, with answers compared after each repetition and without, in quads of A B B A or B A A B as
//! a coin says: the ratio of cycles per op, and how much of a repetition is fixed. Every fourth quad compares without with
//! without: what no difference looks like here. A benchmark, no part of the checks.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use kernels::Data;
use machine::Machine;
use model::stats::paired::{Arm, Estimate, Kind, Quad, log_ratios, schedule};
use model::{Known, stats};
use rig::executor::Executor;
use rig::job::{Manner, Member, Repeat, Tools};
use rig::timed_answers::TimedAnswers;
use rig::{protocol, reduce, ruler, streams};

use crate::one_cpu::OneCpu;
use crate::{because, table};

/// Serial, and at full throughput, by width.
const STREAMS: [&str; 6] =
    ["scalar_iadd", "avx256_fma", "avx256_fma_t", "avx512_fma", "avx512_fma_t", "avx512_iadd_t"];

/// Every so many quads, one compares A with A.
const CONTROL_EVERY: u64 = 4;

/// Of the intervals.
const LEVEL: f64 = 0.05;

/// Prints the table for the first CPU that this process may use.
pub(crate) fn run(quads: u32) -> anyhow::Result<ExitCode> {
    let machine = Machine::real();
    let OneCpu { mut executor, tools, cpu, ruler } = OneCpu::of(&machine)?;
    let ruler = &ruler;
    let mut rows = Vec::new();
    for row in STREAMS.iter().filter_map(|id| kernels::streams::find(id)) {
        let Ok(load) = streams::load(&machine, row, Data::Toggling) else { continue };
        let mut bench =
            Bench { executor: &mut executor, tools, ruler, member: Member::new(cpu, load) };
        rows.push(bench.compare(u64::from(quads))?);
    }
    println!(
        "cycles per op with answers compared over without, on CPU {cpu}: ratio less 1, in parts per million \
         (95 %); control: without over without; fixed: what answers add to a repetition, in cycles"
    );
    let header = ["stream", "cycles per op", "ratio", "control", "fixed", "compared"];
    println!("{}", table::plain(header, &header[1..], rows));
    Ok(ExitCode::SUCCESS)
}

/// A stream that is measured in both ways.
struct Bench<'a> {
    executor: &'a mut dyn Executor,
    tools: Tools,
    ruler: &'a ruler::Ruler,
    member: Member,
}

/// What one block gave.
struct Block {
    per_op: f64,
    fixed: f64,
    answers: u64,
}

impl Bench<'_> {
    fn compare(&mut self, quads: u64) -> anyhow::Result<[String; 6]> {
        let mut random = fastrand::Rng::with_seed(47);
        let slots = schedule(quads, CONTROL_EVERY, &mut |below| random.u64(..below));
        let (mut all, mut fixed, mut costs, mut answers) =
            (Vec::new(), [vec![], vec![]], vec![], 0);
        for slot in slots {
            let arms = match slot.kind {
                Kind::Compared => slot.order.arms(),
                Kind::Control => [Arm::A; 4],
            };
            let mut values = [0.0; 4];
            for (value, arm) in values.iter_mut().zip(arms) {
                let is_compared = arm == Arm::B;
                let block = self.block(is_compared)?;
                fixed[usize::from(is_compared)].push(block.fixed);
                (*value, answers) = (block.per_op, answers + block.answers);
                costs.push(block.per_op);
            }
            all.push(Quad::new(slot, values).map_err(|reason| because(&reason))?);
        }
        let median = |numbers: &[f64]| stats::median(numbers).unwrap_or(f64::NAN);
        let [without, with] = [median(&fixed[0]), median(&fixed[1])];
        Ok([
            self.member.payload.id.to_owned(),
            format!("{:.4}", median(&costs)),
            told(&log_ratios(&all, Kind::Compared)),
            told(&log_ratios(&all, Kind::Control)),
            format!("{:+.2} to {without:.1}", with - without),
            format!("{answers}"),
        ])
    }

    fn block(&mut self, compared: bool) -> anyhow::Result<Block> {
        let Member { payload, cpu, .. } = self.member;
        let is_heavy = payload.saturates || payload.id.starts_with("avx512");
        let phases = if is_heavy { protocol::heavy() } else { protocol::serial() };
        let manner = Manner { compared, ..Manner::USUAL };
        let job = Repeat { members: vec![self.member], phases, tools: self.tools, manner };
        let raw = self.executor.repeat(&job)?;
        let raw = &raw.members[0];
        let reduced = reduce::reduce(raw, payload, &job, Some(self.ruler), self.executor.rate());
        let per_op = stats::median(&reduced.cycles.samples());
        let per_op =
            per_op.ok_or_else(|| anyhow!("no cycles per op of {} on CPU {cpu}", payload.id))?;
        let fixed = reduced.cycles.fixed_cost().unwrap_or(f64::NAN);
        if raw.answers.iter().any(|it| it.found.len() > 1) {
            bail!("`{}` answered in several ways: cpudyno verify --cpus {cpu}", payload.id);
        }
        Ok(Block { per_op, fixed, answers: raw.answers.iter().map(TimedAnswers::calls).sum() })
    }
}

/// A log ratio, with its interval, in parts per million.
fn told(ratios: &[f64]) -> String {
    let Some(estimate) = Estimate::of(ratios, LEVEL) else { return "-".to_owned() };
    let ppm = |value: f64| value * 1e6;
    match estimate.interval {
        Known::Yes(interval) => format!(
            "{:+.0} ({:+.0} to {:+.0})",
            ppm(estimate.centre),
            ppm(interval.low),
            ppm(interval.high)
        ),
        Known::No { .. } => format!("{:+.0} (too few)", ppm(estimate.centre)),
    }
}
