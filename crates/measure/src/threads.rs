//! What the advice on numbers of threads rests on: teams that grow, in two orders of CPUs, with three kinds of work.
//!
//! Streams say what cores give, a kernel of memory where bandwidth ends, a loop between barriers what waiting for each
//! other costs. All three belong to areas that know how to measure them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use kernels::StreamRow;
use model::areas::turbo::{HEAVY, LIGHT};
use model::areas::{COMPACT, OF_TYPE, ORDER, SPREAD};
use model::record::Presentation;
use model::{CpuId, CpuSet, Seconds};

use crate::areas::memory::{self, MEMORY};
use crate::areas::openmp::{self, OPENMP};
use crate::areas::turbo::{self, TURBO};
use crate::run::area::Area;
use crate::run::plan::{Cell, DATA, Planning, Proposal};
use crate::run::{AreaRequest, Request, Span};
use rig::placement::{Choice, Order};
use rig::streams;

/// Blocks of every cell where nobody gives a time: about two seconds on a laptop, and ten on two sockets.
const BLOCKS: u64 = 5;

/// The heavy streams of other architectures than x86-64, the heaviest first.
const FURTHER: [&str; 3] = ["sve_fma_t", "neon_fma_t", "sse2_add_t"];

/// The run that measures what advice on threads rests on.
pub fn request(
    budget: Option<Seconds>,
    cpus: Option<CpuSet>,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    let ask = |plan: &Planning<'_>| {
        let teams = Teams::of(plan);
        let asked = |area: &'static Area, proposal| AreaRequest { area, proposal };
        Ok(vec![
            asked(&TURBO, streams_of(plan, &teams)),
            asked(&MEMORY, in_order(memory::of_teams(plan, &teams.moving()), SPREAD)),
            asked(&OPENMP, in_order(openmp::of_teams(plan, &teams.stepping()), COMPACT)),
        ])
    };
    let span = budget.map_or(Span::Bounded(BLOCKS), Span::All);
    let cpus = Choice { cpus, siblings: true, order: Order::Spread, at_most: None };
    Request { cpus, streams: rows().collect(), ..Request::new(span, ask, command, presentation) }
}

/// The streams that it chooses from: the lightest one, and those that saturate the widest units.
fn rows() -> impl Iterator<Item = &'static StreamRow> {
    let ids = std::iter::once(LIGHT).chain(HEAVY).chain(FURTHER);
    ids.filter_map(|id| kernels::streams::TABLE.iter().find(|row| row.id == id)).copied()
}

/// CPUs in the orders in which they join a team.
struct Teams {
    spread: Vec<CpuId>,
    compact: Vec<CpuId>,
    /// How many cores there are.
    cores: usize,
    /// No team is larger.
    most: usize,
    /// Numbers at which one of the orders comes to other cores: of another type, or to siblings of those before.
    ends: BTreeSet<usize>,
    /// The same of caches and packages, as the compact order fills them.
    filled: BTreeSet<usize>,
    /// First threads of the cores of each type but the first.
    further: Vec<(String, Vec<CpuId>)>,
}

/// What sorts a CPU in every order: which thread of its core it is, and how fast its type may be.
type Rank = (usize, Reverse<u64>);

impl Teams {
    fn of(plan: &Planning<'_>) -> Teams {
        let ranks = ranks(plan);
        let mut spread = plan.placement.cpus.clone();
        spread.sort_by_key(|cpu| ranks[cpu]);
        let place = |cpu: &CpuId| plan.topology().place(*cpu);
        let near = |cpu: &CpuId| {
            place(cpu).map(|it| (it.package, it.last_level_cache.iter().next(), it.core))
        };
        let mut compact = spread.clone();
        compact.sort_by_key(|cpu| (ranks[cpu], near(cpu), *cpu));
        let mut ends: BTreeSet<usize> = changes(&spread, |cpu| Some(ranks[&cpu])).collect();
        ends.extend([1, spread.len()]);
        let quota = machine::facts::cpu_quota(plan.machine).ok().flatten();
        // More threads than a quota has CPUs do no more work, and stand still for a part of the time.
        let most = quota.map_or(spread.len(), |quota| (quota.cpus().ceil() as usize).max(1));
        ends.extend([most, quota.map_or(1, |quota| (quota.cpus() as usize).max(1))]);
        let of_package = |cpu: CpuId| near(&cpu).map(|(package, cache, _)| (package, cache));
        let filled = changes(&compact, of_package).take(FILLED_MAX).collect();
        let kind = |cpu: &CpuId| place(cpu).and_then(|it| it.kind.clone());
        let mut further: Vec<(String, Vec<CpuId>)> = Vec::new();
        let first = spread.first().and_then(kind);
        for &cpu in spread.iter().filter(|cpu| ranks[cpu].0 == 0 && kind(cpu) != first) {
            let name = kind(&cpu).unwrap_or_default();
            match further.iter_mut().find(|(known, _)| *known == name) {
                Some((_, cpus)) => cpus.push(cpu),
                None => further.push((name, vec![cpu])),
            }
        }
        let cores = spread.iter().filter(|cpu| ranks[cpu].0 == 0).count();
        Teams { spread, compact, cores, most, ends, filled, further }
    }

    /// Teams for what uses the cores alone: what lies between ends is a straight line, but for the clock.
    fn computing(&self) -> Vec<Vec<CpuId>> {
        self.of_spread(2.0)
    }

    /// The same for what meets at memory: finer, since the curve bends anywhere.
    fn moving(&self) -> Vec<Vec<CpuId>> {
        self.of_spread(1.19)
    }

    /// Each of few CPUs; of many ever more, up to one of each core.
    fn of_spread(&self, ratio: f64) -> Vec<Vec<CpuId>> {
        let (most, each) = match self.spread.len() {
            all @ ..=EACH_MAX => (all, all),
            _ => (self.cores, EACH),
        };
        self.first(&self.spread, &grown(most, each, ratio) | &self.ends)
    }

    /// The same for what waits for each other; each is a process of its own, which takes its time.
    fn stepping(&self) -> Vec<Vec<CpuId>> {
        let counts = &(&grown(self.cores, 2, 2.0) | &self.ends) | &self.filled;
        self.first(&self.compact, counts)
    }

    /// So many CPUs of an order each, as far as there are any and a quota lets them work.
    fn first(&self, order: &[CpuId], counts: BTreeSet<usize>) -> Vec<Vec<CpuId>> {
        let fits = |count: &usize| *count <= self.most.min(order.len());
        counts.into_iter().filter(fits).map(|count| order[..count].to_vec()).collect()
    }
}

/// Up to so many CPUs every number of them is measured.
const EACH_MAX: usize = 8;
/// Of more CPUs each number up to this one.
const EACH: usize = 4;

/// More caches and packages than this are not told apart.
const FILLED_MAX: usize = 4;

/// Numbers up to all, each one of the first few, and then each so many times the one before.
fn grown(all: usize, each: usize, ratio: f64) -> BTreeSet<usize> {
    let next = move |count: &usize| {
        let grown = if *count < each { 0 } else { (*count as f64 * ratio) as usize };
        Some(grown.max(count + 1))
    };
    std::iter::successors(Some(1), next).take_while(|count| *count < all).chain([all]).collect()
}

/// How many CPUs come before each one that differs from the one before it.
fn changes<T: PartialEq>(cpus: &[CpuId], of: impl Fn(CpuId) -> T) -> impl Iterator<Item = usize> {
    let differs = move |pair: &[CpuId]| of(pair[0]) != of(pair[1]);
    let all: Vec<bool> = cpus.windows(2).map(differs).collect();
    all.into_iter().enumerate().filter(|(_, differs)| *differs).map(|(at, _)| at + 1)
}

/// What each chosen CPU is sorted by.
fn ranks(plan: &Planning<'_>) -> BTreeMap<CpuId, Rank> {
    let chosen: CpuSet = plan.placement.cpus.iter().copied().collect();
    let kind = |cpu: CpuId| plan.topology().kind(cpu);
    let mut fastest: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    for cpu in chosen.iter() {
        let speed = fastest.entry(kind(cpu)).or_default();
        *speed = (*speed).max(claimed_speed(plan, cpu).unwrap_or(0));
    }
    let rank = |cpu: CpuId| {
        let siblings = plan.topology().place(cpu).map(|it| it.siblings.intersection(&chosen));
        let thread = siblings.and_then(|it| it.iter().position(|other| other == cpu));
        (cpu, (thread.unwrap_or(0), Reverse(fastest[&kind(cpu)])))
    };
    chosen.iter().map(rank).collect()
}

/// How fast a CPU is, as the kernel says: its capacity, or its highest clock. Only the order of types rests on it.
fn claimed_speed(plan: &Planning<'_>, cpu: CpuId) -> Option<u64> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
    let number = |file: &str| {
        plan.machine.tree.read(&format!("{folder}/{file}")).ok()?.trim().parse::<u64>().ok()
    };
    number("cpu_capacity").or_else(|| number("cpufreq/cpuinfo_max_freq"))
}

/// The lightest stream and the heaviest that can be run, on each team, and on the cores of further types alone.
fn streams_of(plan: &Planning<'_>, teams: &Teams) -> Proposal {
    let mut proposal = Proposal::default();
    let mut loads = Vec::new();
    for (order, row) in rows().enumerate() {
        match streams::load(plan.machine, row, DATA) {
            Ok(load) => loads.push((order, row, load)),
            Err(reason) if row.id == LIGHT => proposal.absent.push((row.id, reason)),
            Err(_) => {}
        }
        if loads.iter().any(|(_, row, _)| row.id != LIGHT) {
            break;
        }
    }
    let of = |cpus: &[CpuId], word: &str| {
        let cell = |(order, row, load): &(usize, &'static StreamRow, _)| {
            let mut cell = Cell::uniform(*order, *load, cpus, turbo::phases(row));
            cell.parameters.insert(ORDER.to_owned(), word.to_owned());
            cell
        };
        loads.iter().map(cell).collect::<Vec<_>>()
    };
    for cpus in teams.computing() {
        proposal.cells.extend(of(&cpus, SPREAD));
    }
    for (kind, cpus) in &teams.further {
        let mut counts = vec![1, cpus.len()];
        counts.dedup();
        for mut cell in counts.into_iter().flat_map(|count| of(&cpus[..count], OF_TYPE)) {
            cell.parameters.insert("core_type".to_owned(), kind.clone());
            proposal.cells.push(cell);
        }
    }
    proposal
}

/// Lets cells say in which order their CPUs joined.
fn in_order(mut proposal: Proposal, word: &str) -> Proposal {
    for cell in &mut proposal.cells {
        cell.parameters.insert(ORDER.to_owned(), word.to_owned());
    }
    proposal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_grow_to_all() {
        let counts = |all, each, ratio| grown(all, each, ratio).into_iter().collect::<Vec<_>>();
        assert_eq!(counts(1, 8, 2.0), [1]);
        assert_eq!(counts(6, 8, 2.0), [1, 2, 3, 4, 5, 6]);
        assert_eq!(counts(20, 8, 2.0), [1, 2, 3, 4, 5, 6, 7, 8, 16, 20]);
        assert_eq!(counts(16, 2, 2.0), [1, 2, 4, 8, 16]);
    }

    #[test]
    fn fast_cores_come_first_and_siblings_last() {
        let teams = |name: &str| {
            let machine = machine::Machine::named(name).unwrap();
            let description = machine::facts::machine(&machine);
            let choice = Choice { siblings: true, order: Order::Spread, ..Choice::usual(None) };
            let placement = choice.place(&description.topology).unwrap();
            Teams::of(&Planning {
                machine: &machine,
                description: &description,
                placement: &placement,
                streams: &[],
                budget: crate::run::plan::UNLIMITED,
            })
        };
        let hybrid = teams("sim:hybrid");
        assert_eq!(hybrid.spread, (0..10).map(CpuId).collect::<Vec<_>>());
        assert!(hybrid.ends.is_superset(&[1, 4, 8, 10].into()), "{:?}", hybrid.ends);
        let names: Vec<&str> = hybrid.further.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["E", "LP-E"]);
        // Two packages take turns where CPUs are spread; 56 cores, and then their siblings.
        let server = teams("sim:2s-28c");
        assert_eq!(server.spread[..4], [0, 28, 1, 29].map(CpuId));
        assert_eq!(server.compact[..4], [0, 1, 2, 3].map(CpuId));
        assert!(server.ends.contains(&56) && server.filled.contains(&28));
        assert!(server.spread[..56].iter().all(|cpu| cpu.0 < 56));
    }
}
