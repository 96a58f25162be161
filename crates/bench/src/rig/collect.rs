//! Gathering samples, block by block, into the series of a record.

use std::collections::BTreeMap;

use model::record::{Disturbance, Outcome, Samples, Series};
use model::{CpuId, CpuSet, Obstacle, Unavailable, Unit};

use super::job::RawMember;
use super::placement;
use super::reduce::{PerOp, Reduced};

/// What a number means, and how it is taken from what a member saw: one row per quantity.
pub struct Quantity {
    /// Its id in records.
    pub id: &'static str,
    /// What people call it, with its unit.
    pub label: &'static str,
    /// The unit of its samples.
    pub unit: Unit,
    /// Which direction is better, in words; empty where neither is.
    pub better: &'static str,
    /// What it is and how it is obtained.
    pub doc: &'static str,
    /// Whether it is worth nothing while the core is shared (see [`Reduced::contended`]).
    pub guarded: bool,
    /// Bins of this relative width lose nothing that matters when samples are packed.
    pub packing: f64,
    /// Its samples.
    pub take: Take,
}

/// How samples are taken from what a member saw.
#[derive(Clone, Copy)]
pub enum Take {
    /// As they are.
    Samples(fn(&Reduced) -> Vec<f64>),
    /// Per op, less what is fixed.
    PerOp(fn(&Reduced) -> &PerOp),
}

/// What one block gave.
enum Block {
    Samples(Vec<f64>),
    PerOp(PerOp),
}

impl Take {
    fn block(self, reduced: &Reduced) -> Option<Block> {
        match self {
            Take::Samples(samples) => {
                Some(samples(reduced)).filter(|s| !s.is_empty()).map(Block::Samples)
            }
            Take::PerOp(per_op) => {
                let per_op = per_op(reduced);
                (!per_op.repetitions.is_empty()).then(|| Block::PerOp(per_op.clone()))
            }
        }
    }
}

/// What of a repetition is fixed, where that is known: the median over blocks.
fn fixed_cost(blocks: &[Option<Block>]) -> Option<f64> {
    let of_block = |block: &Block| match block {
        Block::PerOp(per_op) => per_op.fixed_cost(),
        Block::Samples(_) => None,
    };
    let fixed: Vec<f64> = blocks.iter().flatten().filter_map(of_block).collect();
    model::stats::median(&fixed).map(rounded)
}

/// The samples of all blocks.
fn samples(blocks: &[Option<Block>]) -> Vec<Vec<f64>> {
    let of_block = |block: &Option<Block>| match block {
        Some(Block::Samples(samples)) => samples.clone(),
        Some(Block::PerOp(per_op)) => per_op.samples(),
        None => Vec::new(),
    };
    blocks.iter().map(|block| of_block(block).into_iter().map(rounded).collect()).collect()
}

/// To seven significant digits: more would be noise that fills the record.
pub fn rounded(sample: f64) -> f64 {
    format!("{sample:.6e}").parse().unwrap_or(sample)
}

/// What tells one series from another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Order of the area among areas.
    pub area_order: usize,
    /// The area.
    pub area: &'static str,
    /// Order of the workload within its area.
    pub workload_order: usize,
    /// The workload.
    pub workload: &'static str,
    /// Number of active CPUs.
    pub active_count: usize,
    /// The active CPUs.
    pub active: Vec<CpuId>,
    /// The CPU.
    pub cpu: CpuId,
    /// How the host placed them.
    pub class: Option<String>,
    /// What else tells it apart.
    pub parameters: BTreeMap<String, String>,
}

struct Entry {
    quantities: &'static [Quantity],
    /// By quantity.
    blocks: Vec<Vec<Option<Block>>>,
    /// By quantity: how many blocks were held back.
    contended: Vec<u64>,
    deviations: Vec<f64>,
    disturbance: Disturbance,
    polled_ticks: u64,
    lost_ticks: u64,
}

/// The class of CPUs that share a core.
const SAME_CORE: &str = placement::Class::SameCore.word();

/// Gathers samples.
#[derive(Default)]
pub struct Collector {
    entries: BTreeMap<Key, Entry>,
}

/// When a record would hold more samples than this, they are packed.
const PLAIN_SAMPLES_MAX: usize = 250_000;

impl Collector {
    /// Adds one block of one member.
    pub fn add(
        &mut self,
        key: Key,
        quantities: &'static [Quantity],
        raw: &RawMember,
        reduced: &Reduced,
    ) {
        let entry = self.entries.entry(key).or_insert_with(|| Entry {
            quantities,
            blocks: quantities.iter().map(|_| Vec::new()).collect(),
            contended: vec![0; quantities.len()],
            deviations: Vec::new(),
            disturbance: Disturbance::default(),
            polled_ticks: 0,
            lost_ticks: 0,
        });
        entry.deviations.extend(reduced.witness_deviation);
        for (index, quantity) in quantities.iter().enumerate() {
            let block = quantity.take.block(reduced);
            let rejected = quantity.guarded && reduced.contended();
            entry.contended[index] += u64::from(block.is_some() && rejected);
            // A block that is held back keeps its place, so that CPUs can be compared block by block.
            entry.blocks[index].push(block.filter(|_| !rejected));
        }
        entry.note(raw, reduced.contended());
    }

    /// The series of everything that was gathered, in reading order.
    pub fn into_series(self, no_ruler: &BTreeMap<CpuId, Unavailable>) -> Vec<Series> {
        let many = self.sample_count() > PLAIN_SAMPLES_MAX;
        let mut series = Vec::new();
        for (key, entry) in self.entries {
            for (index, quantity) in entry.quantities.iter().enumerate() {
                let outcome = entry.outcome(index, &key, no_ruler.get(&key.cpu), many);
                let mut disturbance = entry.disturbance;
                disturbance.witness_deviation =
                    model::stats::median(&entry.deviations).map(rounded);
                if !quantity.guarded {
                    disturbance.contended_blocks = 0;
                }
                series.push(Series {
                    area: key.area.to_owned(),
                    workload: key.workload.to_owned(),
                    quantity: quantity.id.to_owned(),
                    unit: quantity.unit,
                    parameters: key.parameters.clone(),
                    cpu: key.cpu,
                    active: key.active.iter().copied().collect::<CpuSet>(),
                    placement_class: key.class.clone(),
                    outcome,
                    fixed_cost: fixed_cost(&entry.blocks[index]),
                    disturbance,
                });
            }
        }
        series
    }

    fn sample_count(&self) -> usize {
        let size = |block: &Block| match block {
            Block::Samples(samples) => samples.len(),
            Block::PerOp(per_op) => per_op.repetitions.len(),
        };
        self.entries.values().flat_map(|entry| &entry.blocks).flatten().flatten().map(size).sum()
    }
}

impl Entry {
    fn note(&mut self, raw: &RawMember, contended: bool) {
        let usage = raw.usage.unwrap_or_default();
        self.polled_ticks += raw.gaps.polled;
        self.lost_ticks += raw.gaps.lost;
        let lost =
            (self.polled_ticks > 0).then(|| self.lost_ticks as f64 / self.polled_ticks as f64);
        let sum = &mut self.disturbance;
        sum.involuntary_switches += usage.involuntary_switches;
        sum.page_faults += usage.page_faults;
        sum.migrations += raw.migrations;
        sum.gaps += raw.gaps.long;
        sum.lost_share = lost;
        sum.unsettled_blocks += u64::from(!raw.settled);
        sum.contended_blocks += u64::from(contended);
    }

    fn outcome(
        &self,
        index: usize,
        key: &Key,
        no_ruler: Option<&Unavailable>,
        many: bool,
    ) -> Outcome {
        let quantity = &self.quantities[index];
        let plain = Samples::Plain(samples(&self.blocks[index]));
        let samples = match plain.summary() {
            // Bins are relative to the median: there are none about zero.
            Some(summary) if many && summary.median.abs() > 0.0 => {
                plain.packed(rounded(summary.median.abs() * quantity.packing))
            }
            _ => plain,
        };
        match samples.summary() {
            Some(summary) => Outcome::Measured { samples, summary },
            None => Outcome::Unavailable { unavailable: self.reason(index, key, no_ruler) },
        }
    }

    fn reason(&self, index: usize, key: &Key, no_ruler: Option<&Unavailable>) -> Unavailable {
        let quantity = &self.quantities[index];
        let what = format!("{} of `{}` on CPU {}", quantity.id, key.workload, key.cpu);
        let contended = self.contended[index];
        let shared = key.class.as_deref().is_some_and(|class| class.contains(SAME_CORE));
        if contended > 0 && shared {
            let why = "contended: some of these CPUs share a core, as the placement probe says";
            return Unavailable::new(Obstacle::Measurement, what, why)
                .with_remedy("measure one CPU of each core: --cpus LIST");
        }
        if contended > 0 {
            let why = "contended: in all blocks the add chain beside the payload disagreed with the \
                       multiply chain by more than 0.25 %, so something else uses the core";
            return Unavailable::new(Obstacle::Measurement, what, why)
                .with_remedy("run again when the machine, or its SMT sibling, is idle");
        }
        match no_ruler {
            Some(reason) => Unavailable { what, ..reason.clone() },
            None => Unavailable::new(
                Obstacle::Measurement,
                what,
                "the run ended before a whole block of it was measured",
            ),
        }
    }
}
