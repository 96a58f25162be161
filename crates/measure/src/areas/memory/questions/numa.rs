//! Latency and bandwidth from the CPUs of each node to the memory of each.

use kernels::memory::chase::Walk;
use kernels::memory::{MemoryKernel, find};
use model::{CpuId, Obstacle, Seconds, Unavailable};

use super::super::cells::{Arrays, Chase, Effort, Which};
use super::super::size;
use super::{QuestionContext, limit, lines_of, part_of, some_cells};
use crate::run::Error;
use crate::run::plan::Proposal;
use rig::traffic::{Begin, Store};

const EFFORT: Effort = Effort { repetitions: 3, target: Seconds(2e-3) };

/// CPUs of one node, and memory of the same or another one.
struct NodePair {
    from: u32,
    to: u32,
    cpus: Vec<CpuId>,
    /// Elements of each array over all of these CPUs.
    elements: u64,
    /// Bytes of the ring that the first of them follows.
    ring: u64,
}

impl QuestionContext<'_> {
    pub(super) fn numa(&self) -> Result<Proposal, Error> {
        let pairs = self.pairs();
        if pairs.is_empty() {
            let why = if self.plan.topology().nodes.is_empty() {
                "no memory node is listed here"
            } else {
                "no chosen CPU is in a memory node, or no node has memory for this process"
            };
            return Err(Unavailable::new(Obstacle::Hardware, "memory nodes", why).into());
        }
        let usual: Vec<&'static MemoryKernel> = find("load").into_iter().collect();
        let kernels = self.kernels_or(&usual);
        let reserve = |pair: &NodePair, share: f64| -> (Arrays, Store) {
            let mut arrays = Arrays { node: Some(pair.to), ..self.arrays(&kernels) };
            arrays.reserve(&pair.cpus, part_of(pair.elements, pair.cpus.len(), share));
            let ring = Store::of_ring(lines_of(pair.ring, self.ring_share(share)), self.pages);
            (arrays, Store { node: Some(pair.to), ..ring })
        };
        let fit = self.fit(|share| {
            let of_pair = |pair: &NodePair| {
                let (arrays, ring) = reserve(pair, share);
                arrays.stores().into_iter().chain([ring])
            };
            pairs.iter().flat_map(of_pair).collect()
        })?;
        let which = self.which_or(Which::WidestOrdinary);
        let (walk, begin) = (Walk::Random, Begin::Cold);
        let mut proposal = Proposal::default();
        for pair in &pairs {
            let (arrays, store) = reserve(pair, fit.share);
            let cpu = pair.cpus[0];
            let elements = part_of(pair.elements, pair.cpus.len(), fit.share);
            let chase = Chase { cpu, store, bytes: store.bytes, walk, chains: 1, begin };
            let begun = proposal.cells.len();
            proposal.cells.push(chase.cell(EFFORT));
            self.on(&mut proposal, (&which, &kernels), &arrays, (&pair.cpus, elements), EFFORT);
            for cell in &mut proposal.cells[begun..] {
                cell.parameters.insert("from_node".to_owned(), pair.from.to_string());
                cell.parameters.insert("to_node".to_owned(), pair.to.to_string());
            }
        }
        limit(&mut proposal.cells, &fit);
        some_cells(proposal)
    }

    /// From each node with chosen CPUs to each with memory that this process may have.
    fn pairs(&self) -> Vec<NodePair> {
        let topology = self.plan.topology();
        let mut pairs = Vec::new();
        for from in &topology.nodes {
            let is_of = |cpu: &CpuId| from.cpus.contains(*cpu);
            let cpus: Vec<CpuId> = self.cpus().iter().copied().filter(is_of).collect();
            let Some(&first) = cpus.first() else { continue };
            let (elements, ring) = (self.elements(&cpus), size::beyond_caches(self.plan, first));
            pairs.extend(topology.usable_nodes().map(|to| NodePair {
                from: from.id,
                to: to.id,
                cpus: cpus.clone(),
                elements,
                ring,
            }));
        }
        pairs
    }
}
