//! Data that moves on a described machine: what caches and memory give in truth decides.

use std::collections::BTreeMap;

use kernels::memory::Stores;
use kernels::memory::chase::Walk;
use machine::simulated::{Memory, Model};
use model::{CpuId, Pages, Seconds};

use super::super::super::job::{Around, Interval};
use super::super::super::traffic::{Party, RawParty, RawTraffic, Stretch, Task, Traffic};
use super::{Line, START, Simulated};

/// Answers a job from the model of memory.
pub(super) fn simulate(rig: &mut Simulated, job: &Traffic) -> RawTraffic {
    let model = rig.model.clone();
    let Some(memory) = &model.memory else {
        panic!("BUG: a machine without memory was asked to move data");
    };
    let scene = Scene::new(&model, memory, job);
    let begun = model.elapsed.seconds() + START;
    let mut line = Line { model: &model, now: begun, random: rig.random.fork() };
    let trips = scene.trips();
    let mut members: Vec<RawParty> = job.members.iter().map(|party| absent(party.cpu)).collect();
    for _ in 0..job.repetitions {
        let start = line.now;
        let mut last = start;
        for (index, (party, raw)) in std::iter::zip(&job.members, &mut members).enumerate() {
            if !party.background {
                line.now = start;
                let units = scene.units(index, trips);
                let noise = 1.0 + model.noise.relative_sd * line.gaussian();
                let work = scene.unit[index] * units as f64 * noise.max(0.5);
                let interval = line.pass(work);
                raw.stretches.push(Stretch { interval, units });
                raw.rulers.push(scene.ruler(party, &mut line));
                last = Seconds(last.0.max(line.now.0));
            }
        }
        let beside = last - start;
        for (index, (party, raw)) in std::iter::zip(&job.members, &mut members).enumerate() {
            if party.background {
                // It ends with the trip in which the others were through.
                let units = (beside / scene.unit[index]).ceil().max(1.0);
                line.now = start;
                let interval = line.pass(scene.unit[index] * units);
                raw.stretches.push(Stretch { interval, units: units as u64 });
            }
        }
        line.now = last;
    }
    let end = line.now;
    rig.model.elapsed.advance(end - rig.model.elapsed.seconds());
    RawTraffic { members }
}

fn absent(cpu: CpuId) -> RawParty {
    let usage = Some(sys::thread::Usage::default());
    let around = Around { settled: true, usage, ..Around::default() };
    RawParty { cpu, stretches: Vec::new(), rulers: Vec::new(), answer: None, around }
}

/// Who takes what from whom.
struct Scene<'a> {
    model: &'a Model,
    memory: &'a Memory,
    job: &'a Traffic,
    /// Members in each package, which share its last-level cache.
    sharing: BTreeMap<u32, u64>,
    /// What all members together would move to and from each node, if it gave so much.
    demand: BTreeMap<u32, f64>,
    /// What they do move.
    moved: BTreeMap<u32, f64>,
    /// How long a trip, or one step of all chains, takes each member.
    unit: Vec<Seconds>,
}

impl<'a> Scene<'a> {
    fn new(model: &'a Model, memory: &'a Memory, job: &'a Traffic) -> Scene<'a> {
        let (sharing, demand, moved) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut scene = Scene { model, memory, job, sharing, demand, moved, unit: Vec::new() };
        for party in &job.members {
            *scene.sharing.entry(model.package_of(party.cpu)).or_default() += 1;
        }
        let users: Vec<&Party> = job.members.iter().filter(|p| scene.is_memory(p)).collect();
        for party in &users {
            *scene.demand.entry(scene.home(party)).or_default() += memory.core_bandwidth;
        }
        for party in users {
            let rate = scene.moved_bytes(party) as f64 / scene.of(party).0;
            *scene.moved.entry(scene.home(party)).or_default() += rate;
        }
        scene.unit = job.members.iter().map(|party| scene.of(party)).collect();
        scene
    }

    /// Trips of every member, so that the slowest takes the target.
    fn trips(&self) -> u64 {
        let members = std::iter::zip(&self.job.members, &self.unit);
        let wanted = members
            .filter(|(party, _)| !party.background)
            .map(|(_, unit)| (self.job.target / *unit).ceil() as u64);
        wanted.max().unwrap_or(1).max(1)
    }

    fn units(&self, member: usize, trips: u64) -> u64 {
        match self.job.members[member].task {
            Task::Trips { .. } => trips,
            Task::Chase { .. } => ((self.job.target / self.unit[member]) as u64).max(1),
        }
    }

    /// How long a trip, or one step of all chains, takes a member.
    fn of(&self, party: &Party) -> Seconds {
        match party.task {
            Task::Trips { pause, .. } => {
                let bytes = self.moved_bytes(party) as f64;
                let share = self.share(party);
                Seconds(bytes / share) + pause
            }
            Task::Chase { chains, bytes, .. } => {
                let waves = (chains as f64 / self.memory.lines_in_flight).max(1.0);
                Seconds(self.latency(party, bytes) * waves)
            }
        }
    }

    /// The node whose memory a member uses.
    fn home(&self, party: &Party) -> u32 {
        party.store.node.unwrap_or_else(|| self.model.node_of(party.cpu))
    }

    fn is_remote(&self, party: &Party) -> bool {
        self.home(party) != self.model.node_of(party.cpu)
    }

    /// Members in the same package, which share its last-level cache.
    fn sharing(&self, party: &Party) -> u64 {
        self.sharing.get(&self.model.package_of(party.cpu)).copied().unwrap_or(1)
    }

    /// Whether its data comes from memory, because no cache holds it or its stores pass caches by.
    fn is_memory(&self, party: &Party) -> bool {
        let Task::Trips { transfer, moving, .. } = &party.task else { return false };
        let footprint = if *moving { party.store.bytes } else { party.task.footprint() };
        transfer.stores() == Stores::NonTemporal
            || self.memory.level(footprint, self.sharing(party)).is_none()
    }

    /// Bytes that one trip moves: with the lines that ordinary stores bring in first.
    fn moved_bytes(&self, party: &Party) -> u64 {
        let Task::Trips { transfer, elements, .. } = &party.task else { return 0 };
        let asked = transfer.asked_bytes(*elements);
        let moved = transfer.kernel.moved_bytes_per_element(transfer.stores());
        let moved = moved.map_or(asked, |bytes| bytes * elements);
        if self.is_memory(party) { moved } else { asked }
    }

    /// What a member moves, in bytes per second: what its core can, and its part of the node.
    fn share(&self, party: &Party) -> f64 {
        let own = self.own_share(party);
        if !self.is_memory(party) {
            return own;
        }
        let home = self.home(party);
        let demand = self.demand.get(&home).copied().unwrap_or(own);
        let most = if self.is_remote(party) {
            self.memory.remote_bandwidth
        } else {
            self.memory.node_bandwidth
        };
        own * (most / demand).min(1.0)
    }

    /// What a member would move if it were alone.
    fn own_share(&self, party: &Party) -> f64 {
        if self.is_memory(party) {
            return self.memory.core_bandwidth;
        }
        let level = self.memory.level(party.task.footprint(), self.sharing(party));
        level.map_or(self.memory.core_bandwidth, |level| level.core_bandwidth)
    }

    /// How long a pointer takes, in seconds.
    fn latency(&self, party: &Party, bytes: u64) -> f64 {
        let memory = self.memory;
        let far = if self.is_remote(party) { memory.remote_latency_seconds } else { 0.0 };
        let is_small = party.store.pages == Pages::Base && walks_pages(party);
        let walk =
            if is_small && bytes > memory.tlb_bytes { memory.page_walk_seconds } else { 0.0 };
        match memory.level(bytes, 1) {
            Some(level) => level.latency_seconds + walk,
            None => (memory.latency_seconds + far) * self.queueing(self.home(party)) + walk,
        }
    }

    /// How much longer memory of a node takes while others use it.
    fn queueing(&self, node: u32) -> f64 {
        const USED_MAX: f64 = 0.97;
        let moved = self.moved.get(&node).copied().unwrap_or(0.0);
        let used = (moved / self.memory.node_bandwidth).min(USED_MAX);
        1.0 + self.memory.queueing * used / (1.0 - used)
    }

    /// The ruler right after a chase.
    fn ruler(&self, party: &Party, line: &mut Line<'_>) -> Option<(Interval, u64)> {
        const ITERATIONS: u64 = 100;
        let Task::Chase { .. } = party.task else { return None };
        let row = &kernels::ruler::RULER;
        let cycles =
            self.model.cycles_per_op(row.id)? * (row.ops_per_iteration * ITERATIONS) as f64;
        let sharing = self.sharing(party) as u32;
        Some((line.pass(Seconds(cycles / self.model.bin_hz(0, sharing))), ITERATIONS))
    }
}

/// Whether a chase goes to another page at each step.
fn walks_pages(party: &Party) -> bool {
    matches!(party.task, Task::Chase { walk: Walk::Random, .. })
}
