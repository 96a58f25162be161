//! How long one pointer takes: in each cache and in memory, in small and huge pages, in parallel.

use kernels::memory::chase::{CHAINS_MAX, Walk};
use model::{CpuId, CpuSet, Pages, Seconds};

use super::super::cells::{Chase, Effort};
use super::super::size;
use super::{LINE, QuestionContext, SMALLEST, limit, lines_of};
use crate::run::Error;
use crate::run::plan::Proposal;
use model::areas::memory::data_caches;
use rig::traffic::{Begin, Store};

const EFFORT: Effort = Effort { repetitions: 3, target: Seconds(2e-3) };

/// A size, and what it lies in.
struct MemoryLevel {
    name: String,
    bytes: u64,
}

impl QuestionContext<'_> {
    pub(super) fn latency(&self) -> Result<Proposal, Error> {
        let mut proposal = Proposal::default();
        for cpu in self.of_each_type() {
            proposal.cells.extend(self.latency_on(cpu)?.cells);
        }
        Ok(proposal)
    }

    fn latency_on(&self, cpu: CpuId) -> Result<Proposal, Error> {
        let largest = self.largest_ring(cpu);
        let kinds: Vec<Pages> = match self.options.pages {
            Some(pages) => vec![pages],
            None if self.pages == Pages::Base => vec![Pages::Base],
            None => vec![Pages::Base, self.pages],
        };
        let reserve = |share: f64| -> Vec<Store> {
            let ring = |&pages: &Pages| Store::of_ring(lines_of(largest, share), pages);
            kinds.iter().map(ring).collect()
        };
        let fit = self.fit(reserve)?;
        let beyond = size::beyond_caches(self.plan, cpu);
        let mut proposal = Proposal::default();
        for store in reserve(fit.share) {
            for MemoryLevel { name, bytes } in self.levels(cpu, store.bytes) {
                let begin = if bytes > beyond { Begin::Cold } else { Begin::Lap };
                let mut ways = vec![(Walk::Random, 1), (Walk::LOCAL, 1)];
                if bytes == store.bytes && store.pages == self.pages {
                    ways.extend((2..=CHAINS_MAX).map(|chains| (Walk::Random, chains)));
                }
                for (walk, chains) in ways {
                    let chase = Chase { cpu, store, bytes, walk, chains, begin };
                    let mut cell = chase.cell(EFFORT);
                    cell.parameters.insert("level".to_owned(), name.clone());
                    proposal.cells.push(cell);
                }
            }
        }
        limit(&mut proposal.cells, &fit);
        Ok(proposal)
    }

    /// One chain from each line to the next, in memory.
    pub(super) fn stride(&self) -> Result<Proposal, Error> {
        let cpu = self.cpus()[0];
        let largest = self.largest_ring(cpu);
        let reserve = |share: f64| vec![Store::of_ring(lines_of(largest, share), self.pages)];
        let fit = self.fit(reserve)?;
        let mut proposal = Proposal::default();
        for store in reserve(fit.share) {
            let (bytes, walk, begin) = (store.bytes, Walk::Ascending, Begin::Cold);
            let chase = Chase { cpu, store, bytes, walk, chains: 1, begin };
            proposal.cells.push(chase.cell(EFFORT));
        }
        limit(&mut proposal.cells, &fit);
        Ok(proposal)
    }

    /// Sizes that lie within each cache, by what the machine says of it, and the largest one: it is
    /// called memory if it is larger than all of them.
    fn levels(&self, cpu: CpuId, largest: u64) -> Vec<MemoryLevel> {
        let topology = self.plan.topology();
        let mut caches: Vec<(u8, u64)> = data_caches(topology, &CpuSet::from_iter([cpu]))
            .filter_map(|cache| Some((cache.level, cache.bytes?)))
            .collect();
        caches.sort_unstable();
        let mut levels = Vec::new();
        let mut inner = 0;
        for (level, bytes) in caches {
            let within = within(inner, bytes);
            if bytes > inner && (SMALLEST..largest).contains(&within) {
                levels.push(MemoryLevel { name: format!("L{level}"), bytes: within });
            }
            inner = bytes;
        }
        let is_memory = largest > size::caches(topology, &[cpu]);
        let name = if is_memory { "memory".to_owned() } else { format!("{} KiB", largest >> 10) };
        levels.push(MemoryLevel { name, bytes: largest });
        levels
    }
}

/// A size that a cache holds and the one further in does not: half of it, or halfway between them
/// where that is more.
fn within(inner: u64, bytes: u64) -> u64 {
    let between = (inner as f64 * bytes as f64).sqrt() as u64;
    (bytes / 2).max(between) / LINE * LINE
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn a_size_lies_within_its_cache_and_beyond_the_one_before() {
        assert_eq!(within(0, 48 << 10), 24 << 10);
        assert_eq!(within(48 << 10, 2 << 20), 1 << 20);
        for (inner, bytes) in [(1 << 20, 1536 << 10), (2 << 20, 3 << 20), (2 << 20, 4 << 20)] {
            assert!((inner + 1..bytes).contains(&within(inner, bytes)), "{inner} {bytes}");
        }
    }
}
