//! What each question measures on a machine.

mod bandwidth;
mod latency;
mod loaded;
mod numa;
mod sweep;

use std::collections::BTreeMap;

use kernels::memory::MemoryKernel;
use kernels::memory::chase::LINE_BYTES;
use model::{CpuId, Pages, Seconds, Unavailable};

use super::super::turbo::active;
use super::cells::{self, Arrays, Effort, Which};
use super::classic;
use super::request::{MemoryOptions, Question};
use super::size::{self, Fit, Length};
use crate::run::Error;
use crate::run::plan::{Cell, Planning, Proposal};
use rig::traffic::Store;

/// A line, in which a chase has one pointer.
pub(super) const LINE: u64 = LINE_BYTES as u64;

/// Sizes of sweeps begin here; rings have room for the most chains.
pub(super) const SMALLEST: u64 = 4096;

/// Rings are no larger than this, which is far beyond any cache.
pub(super) const RING_MAX: u64 = 128 << 30;

/// A question, on a machine.
pub(super) struct QuestionContext<'a> {
    pub(super) plan: &'a Planning<'a>,
    pub(super) pages: Pages,
    pub(super) options: &'a MemoryOptions,
    /// The part of free memory that it may take: what questions of one run use is kept until its end.
    pub(super) part: f64,
}

impl QuestionContext<'_> {
    /// The answer to its question, with a word where more might run than is known.
    pub(super) fn proposal(&self) -> Result<Proposal, Error> {
        self.answer().map(|proposal| self.with_unknown(proposal))
    }

    fn answer(&self) -> Result<Proposal, Error> {
        match self.options.question {
            Question::Bandwidth => self.bandwidth(),
            Question::Scaling => self.scaling(),
            Question::Sweep => self.sweep(),
            Question::Factors(most) => self.factors(most),
            Question::Latency => self.latency(),
            Question::Stride => self.stride(),
            Question::Loaded => self.loaded(loaded::PAUSES),
            Question::Numa => self.numa(),
        }
    }

    /// The same for the data sheet.
    pub(super) fn briefly(&self) -> Result<Proposal, Error> {
        match self.options.question {
            Question::Bandwidth => self.bandwidth_in_brief(),
            Question::Sweep => self.sweep_in_brief(),
            Question::Loaded => self.loaded(loaded::PAUSES_IN_BRIEF),
            _ => self.answer(),
        }
        .map(|proposal| self.with_unknown(proposal))
    }

    /// The same for the key of a machine.
    pub(super) fn in_key(&self) -> Result<Proposal, Error> {
        self.sweep_in_key().map(|proposal| self.with_unknown(proposal))
    }

    /// Where nobody says which instruction sets there are, transfers are those that every CPU executes.
    fn with_unknown(&self, mut proposal: Proposal) -> Proposal {
        const WIDER: &str = "wider variants";
        if let Some(reason) = rig::streams::isa_unknown(self.plan.machine) {
            let reason = Unavailable { what: WIDER.to_owned(), ..reason };
            miss(&mut proposal, WIDER, reason);
        }
        proposal
    }

    /// As many elements of each array as asked for or by the rule, or fewer where there is no room for
    /// them.
    pub(super) fn fitting(&self, cpus: &[CpuId]) -> Result<u64, Error> {
        let (_, fit) = self.fitted(&self.kernels(), &[cpus])?;
        Ok(match fit.limit {
            None => self.elements(cpus),
            Some(_) => self.each(cpus, fit.share) * cpus.len() as u64,
        })
    }

    /// Bytes of the largest ring on that CPU: as asked for, or by the rule.
    fn largest_ring(&self, cpu: CpuId) -> u64 {
        self.elements(&[cpu]) * 8
    }

    fn cpus(&self) -> &[CpuId] {
        &self.plan.placement.cpus
    }

    /// The first chosen CPU of each type of core.
    fn of_each_type(&self) -> Vec<CpuId> {
        let firsts = active::kinds(self.plan).into_iter();
        firsts.filter_map(|(_, cpus)| cpus.first().copied()).collect()
    }

    /// As many CPUs as asked for, or all.
    pub(super) fn asked_cpus(&self) -> &[CpuId] {
        let all = self.cpus();
        &all[..self.options.threads.unwrap_or(all.len())]
    }

    /// The proposal with as many points as fit into the time, where thinning tells them how sparse to be.
    fn in_time(
        &self,
        proposal: impl Fn(&Thinning) -> Result<Proposal, Error>,
    ) -> Result<Proposal, Error> {
        let time = self.options.time();
        let [finest @ .., coarsest] = &THINNINGS;
        for thinning in finest {
            let proposal = proposal(thinning)?;
            let sweep = proposal.cells.iter().fold(Seconds(0.0), |sum, cell| sum + cell.duration());
            if sweep * thinning.sweeps <= time {
                return Ok(proposal);
            }
        }
        proposal(coarsest)
    }

    /// The kernels asked for, or else these.
    fn kernels_or(&self, usual: &[&'static MemoryKernel]) -> Vec<&'static MemoryKernel> {
        self.options.kernels.clone().unwrap_or_else(|| usual.to_vec())
    }

    fn kernels(&self) -> Vec<&'static MemoryKernel> {
        self.kernels_or(&classic())
    }

    /// The variant asked for, or else these.
    fn which_or(&self, usual: Which) -> Which {
        self.options.variant.clone().map_or(usual, Which::Named)
    }

    fn arrays(&self, kernels: &[&'static MemoryKernel]) -> Arrays {
        Arrays {
            count: cells::arrays_of(kernels),
            pages: self.pages,
            node: None,
            room: BTreeMap::new(),
        }
    }

    /// Elements of each array over these CPUs: as asked for, or by the rule.
    fn elements(&self, cpus: &[CpuId]) -> u64 {
        self.options
            .length
            .map_or_else(|| size::rule(self.plan.topology(), cpus) / 8, Length::elements)
    }

    /// Elements of each thread, where there is room for that share of all.
    fn each(&self, cpus: &[CpuId], share: f64) -> u64 {
        part_of(self.elements(cpus), cpus.len(), share)
    }

    /// The share of a ring beside arrays that have that share: a length that was asked for is the length
    /// of arrays.
    fn ring_share(&self, share: f64) -> f64 {
        if self.options.length.is_some() { 1.0 } else { share }
    }

    /// What part of these stores there is room for. Less than a length that was asked for is an error.
    fn fit(&self, stores: impl Fn(f64) -> Vec<Store>) -> Result<Fit, Error> {
        let fit = size::fit(self.plan, self.part, stores)?;
        match (&fit.limit, self.options.length) {
            (Some(limit), Some(length)) => {
                let elements = length.elements();
                let most = part_of(elements, 1, fit.share);
                let remedy = format!("ask for less: --length {most}");
                Err(limit.refuse(&format!("arrays of {elements} elements"), remedy))
            }
            _ => Ok(fit),
        }
    }

    /// Room for these groups of threads, shrunk to what there is; and what shrank it.
    fn fitted(
        &self,
        kernels: &[&'static MemoryKernel],
        groups: &[&[CpuId]],
    ) -> Result<(Arrays, Fit), Error> {
        let elements: Vec<u64> = groups.iter().map(|cpus| self.elements(cpus)).collect();
        let reserve = |share: f64| {
            let mut arrays = self.arrays(kernels);
            for (cpus, elements) in std::iter::zip(groups, &elements) {
                arrays.reserve(cpus, part_of(*elements, cpus.len(), share));
            }
            arrays
        };
        let fit = self.fit(|share| reserve(share).stores())?;
        Ok((reserve(fit.share), fit))
    }

    /// The cells of kernels on these threads; kernels that cannot run are absent.
    fn on(
        &self,
        proposal: &mut Proposal,
        (which, kernels): (&Which, &[&'static MemoryKernel]),
        arrays: &Arrays,
        (cpus, elements): (&[CpuId], u64),
        effort: Effort,
    ) {
        for &kernel in kernels {
            match which.transfers(self.plan, kernel) {
                Ok(transfers) => {
                    let ways = (which, transfers.as_slice());
                    proposal.cells.push(cells::trips(kernel, ways, cpus, arrays, elements, effort));
                }
                Err(reason) => miss(proposal, kernel.id, reason),
            }
        }
    }
}

/// How sparse points may be.
struct Thinning {
    /// All of them up to this one ...
    dense: u64,
    /// ... and then each this many times the one before.
    ratio: f64,
    /// It is taken where there is time for so many sweeps.
    sweeps: f64,
}

/// The finest first.
const THINNINGS: [Thinning; 6] = [
    Thinning { dense: 64, ratio: 1.06, sweeps: 5.0 },
    Thinning { dense: 8, ratio: 1.12, sweeps: 5.0 },
    Thinning { dense: 8, ratio: 1.25, sweeps: 1.0 },
    Thinning { dense: 4, ratio: 1.5, sweeps: 1.0 },
    Thinning { dense: 2, ratio: 2.0, sweeps: 1.0 },
    Thinning { dense: 1, ratio: 4.0, sweeps: 1.0 },
];

impl Thinning {
    /// Every one, whatever time there is.
    const NONE: Thinning = Thinning { dense: u64::MAX, ratio: 1.0, sweeps: 0.0 };

    /// Numbers from 1 to this one, which comes last.
    fn numbers(&self, most: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = (1..=most.min(self.dense)).collect();
        while let Some(&last) = numbers.last().filter(|last| **last < most) {
            numbers.push(((last as f64 * self.ratio) as u64).clamp(last + 1, most));
        }
        numbers
    }
}

/// The share of so many elements that each of so many threads has: one at least.
fn part_of(elements: u64, threads: usize, share: f64) -> u64 {
    ((elements as f64 * share) as u64 / threads as u64).max(1)
}

/// The share of so many bytes, in whole lines, and no smaller or larger than a ring may be.
fn lines_of(bytes: u64, share: f64) -> u64 {
    ((bytes as f64 * share) as u64 / LINE * LINE).clamp(SMALLEST, RING_MAX)
}

/// Notes once that there is no such workload.
pub(super) fn miss(proposal: &mut Proposal, workload: &'static str, reason: Unavailable) {
    let absent = (workload, reason);
    if !proposal.absent.contains(&absent) {
        proposal.absent.push(absent);
    }
}

/// Says of cells what their size was limited by.
fn limit(cells: &mut [Cell], fit: &Fit) {
    if let Some(limit) = &fit.limit {
        for cell in cells {
            cell.parameters.insert("limited_by".to_owned(), limit.by.clone());
        }
    }
}

/// The proposal, if there is anything to measure; else why there is not.
fn some_cells(proposal: Proposal) -> Result<Proposal, Error> {
    match (proposal.cells.is_empty(), proposal.absent.first()) {
        (true, Some((_, reason))) => Err(Error::Asked(reason.clone())),
        _ => Ok(proposal),
    }
}

#[cfg(test)]
mod tests {
    use super::{THINNINGS, Thinning};

    #[test]
    fn numbers_are_dense_at_first_and_end_with_all() {
        let usual = Thinning { dense: 8, ratio: 1.25, sweeps: 1.0 };
        assert_eq!(usual.numbers(1), [1]);
        assert_eq!(usual.numbers(9), (1..=9).collect::<Vec<_>>());
        assert_eq!(usual.numbers(16)[8..], [10, 12, 15, 16]);
        for most in 1..600 {
            let mut before = usize::MAX;
            for thinning in THINNINGS {
                let numbers = thinning.numbers(most);
                assert_eq!((numbers.first(), numbers.last()), (Some(&1), Some(&most)));
                assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
                assert!(numbers.len() <= before, "{numbers:?}");
                before = numbers.len();
            }
        }
    }
}
