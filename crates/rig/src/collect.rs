//! Gathering samples, block by block, into the series of a record.

use std::collections::BTreeMap;

use model::areas::Quantity;
use model::record::{Disturbance, Outcome, Samples, Series};
use model::stats::{cut_to_digits, to_digits};
use model::{CpuId, CpuSet, Obstacle, Unavailable};

use super::job::Around;
use super::placement;
use super::reduce::{Evidence, PerOp, Reduced, WITNESS_TOLERANCE};
use super::traffic::{CountedHaul, MemorySamples};
use super::verdict;

/// How the numbers of a quantity are taken from what a member saw.
#[derive(Clone, Copy)]
pub struct Taken {
    /// What makes it worth nothing.
    guard: Guard,
    /// Whether only some workloads offer it: the others have no series of it.
    if_offered: bool,
    /// Its samples.
    take: Take,
}

impl Taken {
    /// Given by a custom job by the quantity's id, as it is.
    pub const NAMED: Taken = Taken::by(Take::Named);

    /// In that way, of workloads that offer it, whatever else happened.
    pub const fn by(take: Take) -> Taken {
        Taken { guard: Guard::None, if_offered: true, take }
    }

    /// Whether a custom job gives them.
    pub fn is_named(self) -> bool {
        matches!(self.take, Take::Named)
    }

    /// Of each workload.
    #[must_use]
    pub const fn always(self) -> Taken {
        Taken { if_offered: false, ..self }
    }

    /// Unless that makes it worth nothing.
    #[must_use]
    pub const fn guarded(self, guard: Guard) -> Taken {
        Taken { guard, ..self }
    }
}

/// What makes a number worth nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Nothing: it is true of a shared core, too.
    None,
    /// A witness that disagrees with the ruler (see [`Reduced::contended`]).
    Witness,
    /// The same, or a clock within the payload's loop that disagrees with the one after it (see
    /// [`Reduced::evidence`]).
    Clock,
}

/// How samples are taken from what a member saw.
#[derive(Clone, Copy)]
pub enum Take {
    /// As they are.
    Samples(fn(&Reduced) -> Vec<f64>),
    /// One reading in each block, or the reason why there is none.
    Reading(fn(&Reduced) -> Option<Result<f64, Unavailable>>),
    /// Per op, less what is fixed.
    PerOp(fn(&Reduced) -> &PerOp),
    /// Of data that was moved; a wrong answer refuses it.
    MemorySamples(fn(&MemorySamples) -> &Vec<f64>),
    /// Of what memory controllers counted meanwhile.
    Counted(fn(&CountedHaul) -> &Vec<f64>),
    /// What the area made of its own jobs, by the quantity's id.
    Named,
}

/// What one block gave.
enum Block {
    Samples(Vec<f64>),
    PerOp(PerOp),
}

impl Take {
    /// Why a block has no number, where it says so itself.
    fn refusal(self, id: &str, reduced: &Reduced) -> Option<Unavailable> {
        match self {
            Take::Reading(reading) => reading(reduced)?.err(),
            Take::MemorySamples(_) => reduced.haul.as_ref()?.as_ref().err().cloned(),
            Take::Named => reduced.readings.get(id)?.as_ref().err().cloned(),
            // Repetitions that were not counted are left out one by one.
            Take::Samples(_) | Take::PerOp(_) | Take::Counted(_) => None,
        }
    }

    fn block(self, id: &str, reduced: &Reduced) -> Option<Block> {
        match self {
            Take::Samples(samples) => {
                Some(samples(reduced)).filter(|s| !s.is_empty()).map(Block::Samples)
            }
            Take::Reading(reading) => {
                reading(reduced)?.ok().map(|value| Block::Samples(vec![value]))
            }
            Take::MemorySamples(samples) => {
                let haul = reduced.haul.as_ref()?.as_ref().ok()?;
                Some(samples(haul).clone()).filter(|s| !s.is_empty()).map(Block::Samples)
            }
            Take::Counted(samples) => {
                let samples = samples(counted(reduced)?).clone();
                Some(samples).filter(|s| !s.is_empty()).map(Block::Samples)
            }
            Take::Named => {
                let samples = reduced.readings.get(id)?.as_ref().ok()?;
                Some(samples.clone()).filter(|s| !s.is_empty()).map(Block::Samples)
            }
            Take::PerOp(per_op) => {
                let per_op = per_op(reduced);
                (!per_op.repetitions.is_empty()).then(|| Block::PerOp(per_op.clone()))
            }
        }
    }
}

fn counted(reduced: &Reduced) -> Option<&CountedHaul> {
    reduced.haul.as_ref()?.as_ref().ok()?.counted.as_ref()
}

impl Taken {
    /// The middle of what one block gave; an error where it says so itself, or where somebody else used
    /// the core.
    pub fn middle(
        self,
        quantity: &Quantity,
        reduced: &Reduced,
    ) -> Result<Option<f64>, Unavailable> {
        if let Some(reason) = self.take.refusal(quantity.id, reduced) {
            return Err(reason);
        }
        if self.guard != Guard::None && reduced.contended(WITNESS_TOLERANCE) {
            let what = quantity.label.to_owned();
            return Err(verdict::contended(false, WITNESS_TOLERANCE, what));
        }
        let samples = match self.take.block(quantity.id, reduced) {
            None => return Ok(None),
            Some(Block::Samples(samples)) => samples,
            Some(Block::PerOp(per_op)) => per_op.samples(),
        };
        Ok(model::stats::median(&samples))
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
    to_digits(sample, 7)
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

struct SeriesEntry {
    quantities: Vec<(&'static Quantity, Taken)>,
    /// By quantity.
    blocks: Vec<Vec<Option<Block>>>,
    /// By quantity: how many blocks were held back.
    contended: Vec<u64>,
    /// By quantity: why a block has no reading.
    reasons: Vec<Option<Unavailable>>,
    /// Why repetitions were left out of what memory controllers counted.
    uncounted: Vec<Unavailable>,
    /// One for each block that has both clocks.
    evidence: Vec<Evidence>,
    /// Whether an area makes its numbers itself: it has those that it gives, and no others.
    is_named: bool,
    deviations: Vec<f64>,
    /// How far all of them may be off by the steps of the stamps.
    step: f64,
    /// How far the median of their deviations may be.
    tolerance: f64,
    disturbance: Disturbance,
    polled_ticks: u64,
    lost_ticks: u64,
}

/// The class of CPUs that share a core.
const SAME_CORE: &str = placement::Class::SameCore.word();

/// Gathers samples.
pub struct Collector {
    /// How far the witness may be from one cycle per add before a block counts as contended.
    tolerance: f64,
    entries: BTreeMap<Key, SeriesEntry>,
}

/// When a record would hold more samples than this, they are packed.
const PLAIN_SAMPLES_MAX: usize = 250_000;

/// So are those of a series with more than this: of a distribution of thousands the order of its samples tells
/// nothing that its blocks do not, and takes ten times as much of the file.
const PLAIN_SERIES_MAX: usize = 1_000;

impl Collector {
    /// Nothing is gathered yet; so far the witness may be from one cycle per add.
    pub fn within(tolerance: f64) -> Collector {
        Collector { tolerance, entries: BTreeMap::new() }
    }

    /// Adds one block of one member.
    pub fn add(
        &mut self,
        key: Key,
        quantities: impl FnOnce() -> Vec<(&'static Quantity, Taken)>,
        around: &Around,
        reduced: &Reduced,
    ) {
        let new = || {
            let quantities = quantities();
            SeriesEntry {
                blocks: quantities.iter().map(|_| Vec::new()).collect(),
                contended: vec![0; quantities.len()],
                reasons: vec![None; quantities.len()],
                quantities,
                uncounted: Vec::new(),
                evidence: Vec::new(),
                is_named: false,
                deviations: Vec::new(),
                step: 0.0,
                tolerance: self.tolerance,
                disturbance: Disturbance::default(),
                polled_ticks: 0,
                lost_ticks: 0,
            }
        };
        let contended = reduced.contended(self.tolerance);
        let entry = self.entries.entry(key).or_insert_with(new);
        entry.is_named |= !reduced.readings.is_empty();
        entry.deviations.extend(reduced.witness.map(|witness| witness.deviation));
        entry.step = reduced.witness.map_or(entry.step, |witness| entry.step.max(witness.step()));
        entry.uncounted.extend(counted(reduced).into_iter().flat_map(|it| it.left_out.clone()));
        for (index, (quantity, taken)) in entry.quantities.iter().enumerate() {
            let block = taken.take.block(quantity.id, reduced);
            let rejected = taken.guard != Guard::None && contended;
            entry.contended[index] += u64::from(block.is_some() && rejected);
            if let Some(reason) = taken.take.refusal(quantity.id, reduced) {
                entry.reasons[index] = Some(reason);
            }
            // A block that is held back keeps its place, so that CPUs can be compared block by block.
            entry.blocks[index].push(block.filter(|_| !rejected));
        }
        entry.evidence.extend(reduced.evidence().filter(|_| !contended));
        entry.note(around, contended);
    }

    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The series of everything that was gathered, in reading order.
    ///
    /// `no_ruler` and `no_counters` say why CPUs have no clock, and why nothing is read by counters of
    /// core cycles.
    pub fn into_series(
        self,
        no_ruler: &BTreeMap<CpuId, Unavailable>,
        no_counters: Option<&Unavailable>,
    ) -> Vec<Series> {
        let many = self.sample_count() > PLAIN_SAMPLES_MAX;
        let mut series = Vec::new();
        for (key, entry) in self.entries {
            for (index, (quantity, taken)) in entry.quantities.iter().enumerate() {
                let none = entry.blocks[index].iter().all(Option::is_none);
                let has_reason = entry.reasons[index].is_some()
                    || entry.contended[index] > 0
                    || entry.is_lost(index);
                if (taken.if_offered || entry.is_named) && none && !has_reason {
                    continue;
                }
                let absent = match taken.take {
                    Take::Reading(_) => no_counters,
                    Take::Samples(_) | Take::PerOp(_) => no_ruler.get(&key.cpu),
                    Take::MemorySamples(_) | Take::Counted(_) | Take::Named => None,
                };
                let outcome = entry.outcome(index, &key, absent, many);
                let mut disturbance = entry.disturbance;
                disturbance.witness_deviation =
                    model::stats::median(&entry.deviations).map(rounded);
                if taken.guard == Guard::None {
                    disturbance.contended_blocks = 0;
                }
                let one = Series {
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
                };
                series.push(((key.area_order, index), one));
            }
        }
        // By quantity within each area: similar numbers beside each other are packed an eighth smaller.
        series.sort_by_key(|(order, _)| *order);
        series.into_iter().map(|(_, series)| series).collect()
    }

    fn sample_count(&self) -> usize {
        let of_entry = |entry: &SeriesEntry| {
            (0..entry.blocks.len()).map(|i| entry.sample_count(i)).sum::<usize>()
        };
        self.entries.values().map(of_entry).sum()
    }
}

impl SeriesEntry {
    fn note(&mut self, around: &Around, contended: bool) {
        let usage = around.usage.unwrap_or_default();
        self.polled_ticks += around.gaps.polled;
        self.lost_ticks += around.gaps.lost;
        let lost =
            (self.polled_ticks > 0).then(|| self.lost_ticks as f64 / self.polled_ticks as f64);
        let sum = &mut self.disturbance;
        sum.involuntary_switches += usage.involuntary_switches;
        sum.page_faults += usage.page_faults;
        sum.migrations += around.migrations;
        sum.gaps += around.gaps.long;
        sum.lost_share = lost;
        sum.unsettled_blocks += u64::from(!around.settled);
        sum.contended_blocks += u64::from(contended);
    }

    fn outcome(
        &self,
        index: usize,
        key: &Key,
        absent: Option<&Unavailable>,
        many: bool,
    ) -> Outcome {
        let (quantity, _) = &self.quantities[index];
        let plain = Samples::Plain(samples(&self.blocks[index]));
        let many = many || self.sample_count(index) > PLAIN_SERIES_MAX;
        let samples = match plain.summary() {
            // Bins are relative to the median: there are none about zero.
            Some(summary) if many && quantity.packing > 0.0 && summary.median.abs() > 0.0 => {
                // Two digits: whatever is a whole number of bins is short, too. No more than the quantity allows.
                plain.packed(cut_to_digits(summary.median.abs() * quantity.packing, 2))
            }
            _ => plain,
        };
        let without = |unavailable| Outcome::Unavailable { unavailable };
        match samples.summary() {
            _ if self.reasons[index].is_some() || self.is_lost(index) => {
                without(self.reason(index, key, absent))
            }
            Some(_) if self.shared(index) => without(self.reason(index, key, absent)),
            Some(summary) => match self.refuted(index, key) {
                Some(reason) => without(reason),
                None => Outcome::Measured { samples, summary },
            },
            None => without(self.reason(index, key, absent)),
        }
    }

    /// Whether fewer than half of the repetitions were counted, where that is what the quantity is of.
    fn is_lost(&self, index: usize) -> bool {
        matches!(self.quantities[index].1.take, Take::Counted(_))
            && self.uncounted.len() > self.sample_count(index)
    }

    fn sample_count(&self, index: usize) -> usize {
        let size = |block: &Block| match block {
            Block::Samples(samples) => samples.len(),
            Block::PerOp(per_op) => per_op.repetitions.len(),
        };
        self.blocks[index].iter().flatten().map(size).sum()
    }

    /// Whether the CPU was taken away more often than an idle machine does it.
    fn preempted(&self) -> bool {
        const SWITCHES_PER_BLOCK: u64 = 2;
        const LOST_MAX: f64 = 0.05;
        let blocks = self.evidence.len().max(1) as u64;
        self.disturbance.involuntary_switches > SWITCHES_PER_BLOCK * blocks
            || self.disturbance.lost_share.is_some_and(|lost| lost > LOST_MAX)
    }

    /// Whether all blocks together say that the core is shared, though each may be within chance.
    fn shared(&self, index: usize) -> bool {
        let deviation = model::stats::median(&self.deviations);
        self.quantities[index].1.guard != Guard::None
            && deviation.is_some_and(|deviation| deviation.abs() > self.tolerance + self.step)
    }

    /// Of the ratios of all blocks the one that speaks least for a disagreement, of those that three
    /// blocks in four go beyond: one disturbed block is none.
    fn mildest(&self, of: fn(&Evidence) -> f64) -> Option<f64> {
        let ratios: Vec<f64> = self.evidence.iter().map(of).collect();
        let [low, high] = [0.25, 0.75].map(|q| model::stats::quantile(&ratios, q));
        let (low, high) = (low?, high?);
        Some(if low > 1.0 { low } else { high.min(1.0) })
    }

    /// Why a clock that was measured is not believed.
    fn refuted(&self, index: usize, key: &Key) -> Option<Unavailable> {
        let (quantity, taken) = &self.quantities[index];
        if taken.guard != Guard::Clock {
            return None;
        }
        let dense = self.mildest(|evidence| evidence.dense)?;
        let half = self.mildest(|evidence| evidence.half)?;
        let what = format!("{} of `{}` on CPU {}", quantity.id, key.workload, key.cpu);
        verdict::refutes(Evidence { dense, half }, self.preempted(), what)
    }

    fn reason(&self, index: usize, key: &Key, absent: Option<&Unavailable>) -> Unavailable {
        let (quantity, _) = &self.quantities[index];
        let what = format!("{} of `{}` on CPU {}", quantity.id, key.workload, key.cpu);
        if let Some(reason) = &self.reasons[index] {
            return Unavailable { what, ..reason.clone() };
        }
        if let Some(reason) = self.uncounted.last().filter(|_| self.is_lost(index)) {
            let lost = self.uncounted.len();
            let all = lost + self.sample_count(index);
            let why = format!("{lost} of {all} repetitions were not counted: {}", reason.why);
            return Unavailable { what, why, ..reason.clone() };
        }
        if self.contended[index] > 0 || self.shared(index) {
            let shared = key.class.as_deref().is_some_and(|class| class.contains(SAME_CORE));
            return verdict::contended(shared, self.tolerance, what);
        }
        match absent {
            Some(reason) => Unavailable { what, ..reason.clone() },
            None => Unavailable::new(
                Obstacle::Measurement,
                what,
                "the run ended before one block of it was complete",
            ),
        }
    }
}
