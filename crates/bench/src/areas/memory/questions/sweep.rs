//! Where caches end: bandwidth and latency by the size of what is used.

use std::collections::VecDeque;

use kernels::memory::chase::Walk;
use kernels::memory::{MemoryKernel, find};
use model::Seconds;

use super::super::super::Wishes;
use super::super::cells::{Arrays, Chase, Effort, Which};
use super::super::size;
use super::{SMALLEST, Scope, limit, lines_of, some_cells};
use crate::rig::traffic::{Begin, Store};
use crate::run::Error;

/// Points each time that the size doubles.
pub(super) const STEPS_PER_OCTAVE: u32 = 3;
pub(super) const STEPS_IN_BRIEF: u32 = 1;

const EFFORT: Effort = Effort { repetitions: 3, target: Seconds(0.7e-3) };

impl Scope<'_> {
    pub(super) fn sweep(&self, per_octave: u32) -> Result<Wishes, Error> {
        let cpu = self.cpus()[0];
        let usual: Vec<&'static MemoryKernel> = find("load").into_iter().collect();
        let kernels = self.kernels_or(&usual);
        let largest = self.largest_ring(cpu);
        let reserve = |share: f64| -> (Arrays, Store) {
            let bytes = lines_of(largest, share);
            let mut arrays = self.arrays(&kernels);
            let elements = kernels.iter().map(|kernel| elements_in(bytes, kernel)).max();
            arrays.reserve(&[cpu], elements.unwrap_or(1));
            (arrays, Store::of_ring(bytes, self.pages))
        };
        let fit = self.fit(|share| {
            let (arrays, ring) = reserve(share);
            arrays.stores().into_iter().chain([ring]).collect()
        })?;
        let (arrays, store) = reserve(fit.share);
        let which = self.which_or(Which::WidestOrdinary);
        let beyond = size::beyond_caches(self.plan, cpu);
        let mut wishes = Wishes::default();
        // The farthest points first: what does not fit into a budget leaves a gap in the middle.
        for bytes in outside_in(sizes(store.bytes, per_octave)) {
            let begin = if bytes > beyond { Begin::Cold } else { Begin::Lap };
            let chase = Chase { cpu, store, bytes, walk: Walk::Random, chains: 1, begin };
            wishes.cells.push(chase.cell(EFFORT));
            for kernel in &kernels {
                let elements = elements_in(bytes, kernel);
                self.on(&mut wishes, (&which, &[*kernel]), &arrays, (&[cpu], elements), EFFORT);
            }
        }
        limit(&mut wishes.cells, &fit);
        some_cells(wishes)
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

/// First, last, second, last but one, ...
fn outside_in<T>(items: Vec<T>) -> Vec<T> {
    let mut left = VecDeque::from(items);
    let mut ordered = Vec::with_capacity(left.len());
    while let Some(item) = left.pop_front() {
        ordered.push(item);
        ordered.extend(left.pop_back());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::super::LINE;
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
    fn the_ends_come_first() {
        assert_eq!(outside_in(vec![1, 2, 3, 4, 5]), [1, 5, 2, 4, 3]);
        assert!(outside_in(Vec::<u8>::new()).is_empty());
    }
}
