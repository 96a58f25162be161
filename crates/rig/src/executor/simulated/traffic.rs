//! Data that moves on a described machine: what caches and memory give in truth decides.

use std::collections::BTreeMap;

use kernels::memory::Stores;
use kernels::memory::chase::Walk;
use machine::instruments::traffic::TrafficCounters;
use model::ticks::Stamp;
use model::{CpuId, Pages, Seconds, Ticks};
use simulated::{CacheLevel, Left, Memory, Model, Reach};

use super::super::super::job::{Around, Interval};
use super::super::super::traffic::{
    Begin, CountedTraffic, Party, RawParty, RawTraffic, Stretch, Task, Traffic,
};
use super::{CpuTimeline, START, Simulated};

/// Answers a job from the model of memory.
pub(super) fn simulate(
    rig: &mut Simulated,
    job: &Traffic,
    counters: Option<&TrafficCounters>,
) -> RawTraffic {
    let counters = counters.filter(|_| job.is_countable());
    let model = rig.model.clone();
    let Some(memory) = &model.memory else {
        panic!("BUG: a machine without memory was asked to move data");
    };
    let mut scene = Scene::new(&model, memory, job);
    scene.left = job.members.iter().map(|party| rig.left(party.cpu)).collect();
    let begun = model.elapsed.seconds() + START;
    let mut line = CpuTimeline { model: &model, now: begun, random: rig.random.fork() };
    let trips = scene.trips();
    let mut members: Vec<RawParty> = job.members.iter().map(|party| absent(party.cpu)).collect();
    let mut counted = Vec::new();
    for _ in 0..job.repetitions {
        let before = counters.map(|counters| read(&mut line, counters, |interval| interval.start));
        let start = line.now;
        let mut last = start;
        for (member, raw) in members.iter_mut().enumerate() {
            if !job.members[member].background {
                line.now = start;
                let units = scene.units(member, trips);
                let noise = 1.0 + model.noise.relative_sd * line.gaussian();
                let work = scene.unit(member) * units as f64 * noise.max(0.5);
                let interval = line.pass(work);
                raw.stretches.push(Stretch { interval, units });
                raw.rulers.push(scene.ruler(member, &mut line));
                last = Seconds(last.0.max(line.now.0));
            }
        }
        let beside = last - start;
        for (member, raw) in members.iter_mut().enumerate() {
            if job.members[member].background {
                // It ends with the trip in which the others were through.
                let units = (beside / scene.unit(member)).ceil().max(1.0);
                line.now = start;
                let interval = line.pass(scene.unit(member) * units);
                let units = units as u64;
                raw.stretches.push(Stretch { interval, units });
            }
        }
        line.now = last;
        for (member, raw) in members.iter().enumerate() {
            let units = raw.stretches.last().map_or(0, |stretch| stretch.units);
            model.carry(scene.seats[member].home, scene.carried(member, units));
        }
        scene.write_back(&mut rig.dirty);
        let after = counters.map(|counters| read(&mut line, counters, |interval| interval.end));
        counted.extend(before.zip(after).map(|(before, after)| [before, after]));
    }
    let end = line.now;
    rig.worked(end, &job.cpus());
    RawTraffic { members, counted }
}

/// A reading of the memory controllers, which takes its time.
fn read(
    line: &mut CpuTimeline<'_>,
    counters: &TrafficCounters,
    when: fn(Interval) -> Ticks<Stamp>,
) -> CountedTraffic {
    let cost = counters.simulated_cost();
    let stamp = when(line.pass(cost));
    // What others move goes on with the time; the reading itself takes the last part of it.
    line.model.elapsed.advance(line.now - cost - line.model.elapsed.seconds());
    CountedTraffic { stamp, counts: counters.read() }
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
    /// Of each member, in the order of the job.
    seats: Vec<Seat>,
    /// What members would move to and from the memory of each node if there were no others.
    demands: BTreeMap<u32, f64>,
    /// What neighbours leave each member.
    left: Vec<Left>,
}

/// What a member uses.
#[derive(Clone, Copy)]
struct Seat {
    /// The node whose memory it is.
    home: u32,
    is_remote: bool,
    /// Members that share its last-level cache.
    sharing: u64,
    /// Members in the same package.
    active: u32,
    /// Whether its data comes from memory, because no cache holds it or its stores pass caches by.
    in_memory: bool,
    /// What it would move if it were alone, in bytes per second.
    alone: f64,
}

impl<'a> Scene<'a> {
    fn new(model: &'a Model, memory: &'a Memory, job: &'a Traffic) -> Scene<'a> {
        let members = |is_one: &dyn Fn(CpuId) -> bool| {
            job.members.iter().filter(|party| is_one(party.cpu)).count()
        };
        let seat = |party: &Party| {
            let (cpu, package) = (party.cpu, model.package_of(party.cpu));
            let sharing = members(&|other| model.cache_of(other) == model.cache_of(cpu)) as u64;
            let active = members(&|other| model.package_of(other) == package) as u32;
            Seat { active, ..Seat::new(model, memory, party, sharing) }
        };
        let seats: Vec<Seat> = job.members.iter().map(seat).collect();
        let mut demands: BTreeMap<u32, f64> = BTreeMap::new();
        for seat in seats.iter().filter(|seat| seat.in_memory) {
            *demands.entry(seat.home).or_default() += seat.alone;
        }
        let left = job.members.iter().map(|party| model.left_by(party.cpu, &[])).collect();
        Scene { model, memory, job, seats, demands, left }
    }

    /// What caches and memory give to a CPU.
    fn reach(&self, cpu: CpuId) -> Reach<'a> {
        self.memory.reach(self.model.kind_of(cpu))
    }

    /// Trips of every member, so that the slowest takes the target.
    fn trips(&self) -> u64 {
        let members = (0..self.seats.len()).filter(|&member| !self.job.members[member].background);
        let wanted = members.map(|member| (self.job.target / self.unit(member)).ceil() as u64);
        wanted.max().unwrap_or(1).max(1)
    }

    fn units(&self, member: usize, trips: u64) -> u64 {
        match self.job.members[member].task {
            Task::Trips { .. } => trips,
            Task::Chase { .. } => ((self.job.target / self.unit(member)) as u64).max(1),
        }
    }

    /// How long a trip, or one step of all chains, takes.
    fn unit(&self, member: usize) -> Seconds {
        match self.job.members[member].task {
            Task::Trips { pause, .. } => {
                Seconds(self.moved_bytes(member) / self.share(member)) + pause
            }
            Task::Chase { chains, bytes, .. } => {
                let waves = (chains as f64 / self.memory.lines_in_flight).max(1.0);
                Seconds(self.latency(member, bytes) * waves)
            }
        }
    }

    /// Bytes that one trip moves: with the lines that ordinary stores bring in first.
    fn moved_bytes(&self, member: usize) -> f64 {
        let Task::Trips { transfer, elements, .. } = &self.job.members[member].task else {
            return 0.0;
        };
        let asked = transfer.asked_bytes(*elements);
        let moved = transfer.kernel.moved_bytes_per_element(transfer.stores());
        let moved = moved.map_or(asked, |bytes| bytes * elements);
        let evaded = self.memory.controllers.map_or(0.0, |controllers| controllers.evaded_share);
        let brought_in = (moved - asked) as f64 * (1.0 - evaded);
        if self.seats[member].in_memory { asked as f64 + brought_in } else { asked as f64 }
    }

    /// What so many trips of a member let through the memory controllers.
    fn carried(&self, member: usize, trips: u64) -> [f64; 2] {
        let Task::Trips { transfer, elements, .. } = &self.job.members[member].task else {
            return [0.0; 2];
        };
        if !self.seats[member].in_memory {
            return [0.0; 2];
        }
        let written = (elements * 8 * u64::from(transfer.kernel.writes)) as f64;
        let trips = trips as f64;
        [(self.moved_bytes(member) - written) * trips, written * trips]
    }

    /// Bytes of changed lines that a member leaves in caches.
    fn left_dirty(&self, member: usize) -> f64 {
        let Task::Trips { transfer, elements, .. } = &self.job.members[member].task else {
            return 0.0;
        };
        if transfer.stores() != Stores::Ordinary {
            return 0.0;
        }
        let written = elements * 8 * u64::from(transfer.kernel.writes);
        let cpu = self.job.members[member].cpu;
        let room = self.reach(cpu).cache.last().map_or(0, |level| level.bytes);
        written.min(room / self.seats[member].sharing) as f64
    }

    /// Lets what members leave in caches take the place of what was left there before: that is written
    /// back now, and theirs later.
    fn write_back(&self, dirty: &mut BTreeMap<u32, f64>) {
        let mut left: BTreeMap<u32, f64> = BTreeMap::new();
        for (member, seat) in self.seats.iter().enumerate().filter(|(_, seat)| seat.in_memory) {
            *left.entry(seat.home).or_default() += self.left_dirty(member);
        }
        for (home, bytes) in left {
            let before = dirty.insert(home, bytes).unwrap_or(0.0);
            self.model.carry(home, [0.0, before - bytes]);
        }
    }

    /// What a member moves, in bytes per second: what its core can, and its part of the node.
    fn share(&self, member: usize) -> f64 {
        let Seat { home, is_remote, in_memory, alone, .. } = self.seats[member];
        let node = self.node_bandwidth(home);
        let most = if is_remote { self.memory.remote_bandwidth.min(node) } else { node };
        let share = if in_memory { (most / self.demands[&home]).min(1.0) } else { 1.0 };
        alone * share * self.left[member].bandwidth
    }

    /// What a node gives to all cores together, in bytes per second.
    fn node_bandwidth(&self, node: u32) -> f64 {
        self.model.node_bandwidth(node).unwrap_or(self.memory.node_bandwidth)
    }

    /// How long a pointer takes, in seconds.
    fn latency(&self, member: usize, bytes: u64) -> f64 {
        let (memory, seat) = (self.memory, self.seats[member]);
        let party = &self.job.members[member];
        let reach = self.reach(party.cpu);
        let far = if seat.is_remote { memory.remote_latency_seconds } else { 0.0 };
        let is_small = party.store.pages == Pages::Base && walks_pages(party);
        let walk =
            if is_small && bytes > memory.tlb_bytes { memory.page_walk_seconds } else { 0.0 };
        let cpu = party.cpu;
        let is_last =
            |level: &CacheLevel| reach.cache.last().is_some_and(|l| l.bytes == level.bytes);
        // Whose lines were flushed finds none of them in any cache.
        match reach.level(bytes, 1).filter(|_| !is_cold(party)) {
            Some(level) if is_last(level) => {
                level.latency_seconds * self.model.last_cache_slowdown(cpu) + walk
            }
            Some(level) => level.latency_seconds + walk,
            None => {
                let late = if ascends(party) { 1.0 - self.model.fetched_ahead(cpu) } else { 1.0 };
                let waiting = self.queueing(seat.home) * late * self.left[member].latency;
                (reach.latency_seconds + far) * waiting + walk
            }
        }
    }

    /// How much longer memory of a node takes while others use it.
    fn queueing(&self, node: u32) -> f64 {
        const USED_MAX: f64 = 0.97;
        let loads = (0..self.seats.len())
            .filter(|&member| self.seats[member].home == node && self.seats[member].in_memory);
        let moved: f64 = loads.map(|load| self.moved_bytes(load) / self.unit(load).0).sum();
        let used = (moved / self.node_bandwidth(node)).min(USED_MAX);
        1.0 + self.memory.queueing * used / (1.0 - used)
    }

    /// The ruler right after a chase.
    fn ruler(&self, member: usize, line: &mut CpuTimeline<'_>) -> Option<(Interval, u64)> {
        const ITERATIONS: u64 = 100;
        let Task::Chase { .. } = self.job.members[member].task else { return None };
        let row = &kernels::ruler::RULER;
        let cycles =
            self.model.cycles_per_op(row.id)? * (row.ops_per_iteration * ITERATIONS) as f64;
        let active = self.seats[member].active;
        let hertz = self.model.bin_hz(0, active);
        let own = self.model.kind_of(self.job.members[member].cpu);
        let hertz = own.and_then(|kind| kind.highest_hz).map_or(hertz, |most| hertz.min(most));
        Some((line.pass(Seconds(cycles / hertz)), ITERATIONS))
    }
}

impl Seat {
    fn new(model: &Model, memory: &Memory, party: &Party, sharing: u64) -> Seat {
        let node = model.node_of(party.cpu);
        let home = party.store.node.unwrap_or(node);
        let reach = memory.reach(model.kind_of(party.cpu));
        let (in_memory, level) = match &party.task {
            Task::Trips { transfer, moving, .. } => {
                let footprint = if *moving { party.store.bytes } else { party.task.footprint() };
                let level = reach.level(footprint, sharing);
                (transfer.stores() == Stores::NonTemporal || level.is_none(), level)
            }
            Task::Chase { .. } => (false, None),
        };
        let level = level.filter(|_| !in_memory);
        let alone = level.map_or(reach.core_bandwidth, |level| level.core_bandwidth);
        Seat { home, is_remote: home != node, sharing, active: 1, in_memory, alone }
    }
}

/// Whether a chase goes from each line to the next.
fn ascends(party: &Party) -> bool {
    matches!(party.task, Task::Chase { walk: Walk::Ascending, .. })
}

/// Whether a chase goes to another page at each step.
fn walks_pages(party: &Party) -> bool {
    matches!(party.task, Task::Chase { walk: Walk::Random, .. })
}

/// Whether a member begins with nothing in caches.
fn is_cold(party: &Party) -> bool {
    matches!(party.task, Task::Chase { begin: Begin::Cold, .. })
}
