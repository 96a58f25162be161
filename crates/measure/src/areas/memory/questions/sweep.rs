//! Where caches end: bandwidth and latency by the size of what is used.

use std::collections::VecDeque;

use kernels::memory::chase::Walk;
use kernels::memory::{MemoryKernel, find};
use model::areas::memory::{beyond, cache_sizes};
use model::{CpuId, Seconds};

use super::super::cells::{Arrays, Chase, Effort, Which};
use super::super::size;
use super::{LINE, QuestionContext, SMALLEST, limit, lines_of, miss, some_cells};
use crate::run::Error;
use crate::run::plan::Proposal;
use rig::traffic::{Begin, Store};

/// Points each time that the size doubles.
const STEPS_PER_OCTAVE: u32 = 3;
const STEPS_IN_BRIEF: u32 = 1;

const EFFORT: Effort = Effort { repetitions: 3, target: Seconds(0.7e-3) };

impl QuestionContext<'_> {
    pub(super) fn sweep(&self) -> Result<Proposal, Error> {
        let mut proposal = Proposal::default();
        for cpu in self.of_each_type() {
            let Proposal { cells, absent } = self.sweep_on(cpu, STEPS_PER_OCTAVE)?;
            proposal.cells.extend(cells);
            for (id, why) in absent {
                miss(&mut proposal, id, why);
            }
        }
        Ok(proposal)
    }

    /// For the sheet: of further types of cores memory alone.
    pub(super) fn sweep_in_brief(&self) -> Result<Proposal, Error> {
        let cpus = self.of_each_type();
        let mut proposal = self.sweep_on(cpus[0], STEPS_IN_BRIEF)?;
        for cpu in &cpus[1..] {
            // The largest size comes first, and of each size the chase.
            let cells = self.sweep_on(*cpu, STEPS_IN_BRIEF)?.cells;
            proposal.cells.extend(cells.into_iter().take(1));
        }
        Ok(proposal)
    }

    /// For the key of a machine: the first CPU, half of each inner cache, and around the last one where it ends, each
    /// time that the size doubles; memory itself, and how much is read of it.
    pub(super) fn sweep_in_key(&self) -> Result<Proposal, Error> {
        /// As much as there is time for, unless caches are so large that this is not memory yet, ...
        const LARGEST: u64 = 256 << 20;
        /// ... as those of no machine that is known are beyond here.
        const LARGEST_EVER: u64 = 1 << 30;
        /// Where nobody says which caches there are, the last one begins here.
        const INNER: u64 = 2 << 20;
        let cpu = self.cpus()[0];
        let kernels: Vec<&'static MemoryKernel> = find("load").into_iter().collect();
        let mut inner = cache_sizes(self.plan.topology(), cpu);
        let largest = match inner.as_slice() {
            // What nobody describes may be large.
            [] => LARGEST,
            _ => size::beyond_caches(self.plan, cpu).min(LARGEST),
        };
        let needed = beyond(self.plan.topology(), cpu).min(LARGEST_EVER);
        let (fit, arrays, store) = self.reserved(cpu, &kernels, largest.max(needed))?;
        inner.pop();
        let from = 2 * inner.last().map_or(INNER, |(_, bytes)| *bytes);
        let halves = inner.iter().map(|(_, bytes)| (bytes / 2).max(SMALLEST) / LINE * LINE);
        let steps = std::iter::successors(Some(from), |bytes| bytes.checked_mul(2));
        // One within an octave of the largest adds little, and following all of it once takes long.
        let below = steps.take_while(|bytes| bytes.saturating_mul(3) / 2 < store.bytes);
        let mut sizes: Vec<u64> = halves.filter(|bytes| *bytes < from).chain(below).collect();
        sizes.push(store.bytes);
        sizes.dedup();
        let mut proposal = Proposal::default();
        for bytes in sizes {
            let begin = if bytes == store.bytes { Begin::Cold } else { Begin::Lap };
            let chase = Chase { cpu, store, bytes, walk: Walk::Random, chains: 1, begin };
            proposal.cells.push(chase.cell(EFFORT));
        }
        for kernel in &kernels {
            let ways = (&self.which_or(Which::WidestOrdinary), &[*kernel][..]);
            let elements = elements_in(store.bytes, kernel);
            self.on(&mut proposal, ways, &arrays, (&[cpu], elements), EFFORT);
        }
        limit(&mut proposal.cells, &fit);
        some_cells(proposal)
    }

    /// Memory of a CPU for a ring of so many bytes and for these kernels; less of each where it does not fit.
    fn reserved(
        &self,
        cpu: CpuId,
        kernels: &[&'static MemoryKernel],
        largest: u64,
    ) -> Result<(size::Fit, Arrays, Store), Error> {
        let reserve = |share: f64| -> (Arrays, Store) {
            let bytes = lines_of(largest, share);
            let mut arrays = self.arrays(kernels);
            let elements = kernels.iter().map(|kernel| elements_in(bytes, kernel)).max();
            arrays.reserve(&[cpu], elements.unwrap_or(1));
            (arrays, Store::of_ring(bytes, self.pages))
        };
        let fit = self.fit(|share| {
            let (arrays, ring) = reserve(share);
            arrays.stores().into_iter().chain([ring]).collect()
        })?;
        let (arrays, store) = reserve(fit.share);
        Ok((fit, arrays, store))
    }

    fn sweep_on(&self, cpu: CpuId, per_octave: u32) -> Result<Proposal, Error> {
        let usual: Vec<&'static MemoryKernel> = find("load").into_iter().collect();
        let kernels = self.kernels_or(&usual);
        let largest = self.largest_ring(cpu);
        let (fit, arrays, store) = self.reserved(cpu, &kernels, largest)?;
        let which = self.which_or(Which::WidestOrdinary);
        let beyond = size::beyond_caches(self.plan, cpu);
        let mut proposal = Proposal::default();
        // What does not fit into a budget leaves a coarser curve.
        for bytes in coarse_first(&sizes(store.bytes, per_octave)) {
            let begin = if bytes > beyond { Begin::Cold } else { Begin::Lap };
            let chase = Chase { cpu, store, bytes, walk: Walk::Random, chains: 1, begin };
            proposal.cells.push(chase.cell(EFFORT));
            for kernel in &kernels {
                let elements = elements_in(bytes, kernel);
                self.on(&mut proposal, (&which, &[*kernel]), &arrays, (&[cpu], elements), EFFORT);
            }
        }
        limit(&mut proposal.cells, &fit);
        some_cells(proposal)
    }
}

/// Elements of each of a kernel's arrays, where all together have so many bytes.
fn elements_in(bytes: u64, kernel: &MemoryKernel) -> u64 {
    (bytes / 8 / u64::from(kernel.arrays)).max(1)
}

/// Sizes up to the largest one, which is a number of whole lines and comes last.
fn sizes(largest: u64, per_octave: u32) -> Vec<u64> {
    let steps = (largest as f64 / SMALLEST as f64).log2() * f64::from(per_octave);
    let size = |step: u32| {
        let size = SMALLEST as f64 * (f64::from(step) / f64::from(per_octave)).exp2();
        // Whole multiples of what kernels take at once: a rest would be gone over number by number.
        ((size / SMALLEST as f64).round() as u64 * SMALLEST).min(largest)
    };
    let mut sizes: Vec<u64> = (0..steps.ceil() as u32).map(size).chain([largest]).collect();
    sizes.dedup();
    sizes
}

/// Last, first, and then always what lies in the middle of the widest gap, so that every part of the
/// order from its beginning is spread evenly.
fn coarse_first(items: &[u64]) -> Vec<u64> {
    let ends = [items.last(), items.first()].into_iter().flatten().copied();
    let mut ordered: Vec<u64> = ends.take(items.len()).collect();
    let mut gaps = VecDeque::from([(0, items.len().saturating_sub(1))]);
    // Gaps are halved in the order in which they arose: from the widest to the narrowest.
    while let Some((low, high)) = gaps.pop_front() {
        let middle = usize::midpoint(low, high);
        if middle > low {
            ordered.push(items[middle]);
            gaps.extend([(low, middle), (middle, high)]);
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_lines_and_end_where_asked() {
        assert_eq!(sizes(SMALLEST, 3), [SMALLEST]);
        assert_eq!(sizes(4 * SMALLEST, 1), [SMALLEST, 2 * SMALLEST, 4 * SMALLEST]);
        for largest in (SMALLEST..1 << 20).step_by(64 * 97) {
            let sizes = sizes(largest, 3);
            assert_eq!(sizes.first(), Some(&SMALLEST));
            assert_eq!(sizes.last(), Some(&largest));
            assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "{sizes:?}");
            assert!(sizes.iter().all(|size| size.is_multiple_of(LINE)), "{sizes:?}");
        }
    }

    #[test]
    fn every_beginning_is_spread_evenly() {
        assert_eq!(coarse_first(&[1, 2, 3, 4, 5]), [5, 1, 3, 2, 4]);
        assert_eq!(coarse_first(&[7]), [7]);
        assert_eq!(coarse_first(&[7, 8]), [8, 7]);
        assert_eq!(coarse_first(&[]), [0; 0]);
        for count in 2..50_u64 {
            let ordered = coarse_first(&(0..count).collect::<Vec<_>>());
            let mut sorted = ordered.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..count).collect::<Vec<_>>(), "each once");
            for begun in 2..=ordered.len() {
                let mut known = ordered[..begun].to_vec();
                known.sort_unstable();
                let gaps: Vec<u64> = known.windows(2).map(|pair| pair[1] - pair[0]).collect();
                let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
                assert!(*most <= 2 * least + 2, "{begun} of {count}: {known:?}");
            }
        }
    }
}
