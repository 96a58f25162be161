//! The neighbour tax: what others on the machine cost a scalar, a vector and a memory-bound victim.
//!
//! A block is a victim alone, beside its neighbours twice, and alone again, so that a clock that drifts evenly
//! cancels. What is left is the ratio of what it has beside them and alone, one for each block.

use std::collections::BTreeMap;

use kernels::StreamRow;
use kernels::memory::chase::Walk;
use kernels::memory::{MemoryKernel, Stores, TABLE};
pub(super) use model::areas::interference::{
    AREA, BANDWIDTH, BESIDE, CLOCK, MEMORY_CLASS, MOVED, Measure, PLACE, Place, QUANTITIES, RATE,
    SCALAR, SCALAR_CLASS, VECTOR, VICTIMS, WAIT, is_class, named_in_matrix,
};
use model::areas::{Quantity, STREAM};
use model::stats::{mean, median};
use model::{CpuId, Obstacle, Pages, Seconds, Unavailable};

use super::turbo::{CLOCKS, active, asked, phases};
use crate::run::area::Area;
use crate::run::plan::{
    Cell, CellWork, CustomJob, DATA, JobContext, JobTarget, Planning, Proposal, Run, takes,
};
use rig::background_load::{Busy, Neighbour};
use rig::executor::{Executor, RunError};
use rig::job::{Around, Load, Manner, Member, Phase, Repeat, Tools};
use rig::protocol;
use rig::reduce::{self, Readings};
use rig::ruler::Rulers;
use rig::streams;
use rig::traffic::{self, Begin, Party, Store, Task, Traffic, Transfer};

/// Blocks of each cell. Where all of twelve lie on one side, chance is one in two thousand: little enough to be
/// believed among all cells of the matrix. And one disturbed block is no end of the interval of a median.
pub(super) const BLOCKS: u64 = 12;

/// The streams of victims and neighbours.
pub(super) fn streams() -> Vec<&'static kernels::StreamRow> {
    let stream = |(_, work): &(&str, NeighbourWork)| match work {
        NeighbourWork::Stream(id) => named(id),
        NeighbourWork::Memory | NeighbourWork::Lock => None,
    };
    DOING.iter().filter_map(stream).collect()
}

/// What neighbours do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NeighbourWork {
    /// They move memory.
    Memory,
    /// They execute a stream.
    Stream(&'static str),
    /// They spin for one lock.
    Lock,
}

/// What neighbours do, with the word for it. Those that cost most come first: of a matrix for which there is no time,
/// the last ones are left out.
pub(super) const DOING: [(&str, NeighbourWork); 9] = [
    (MEMORY_CLASS, NeighbourWork::Memory),
    (SCALAR_CLASS, NeighbourWork::Stream("scalar_iadd")),
    ("tiles", NeighbourWork::Stream("amx_bf16_t")),
    ("heavy 512 bit", NeighbourWork::Stream("avx512_fma_t")),
    ("heavy 256 bit", NeighbourWork::Stream("avx256_fma_t")),
    ("light 512 bit", NeighbourWork::Stream("avx512_iadd_t")),
    ("light 256 bit", NeighbourWork::Stream("avx256_iadd_t")),
    ("lock spinner", NeighbourWork::Lock),
    ("pause", NeighbourWork::Stream("pause_only")),
];

/// What is put beside what.
pub(super) struct Matrix {
    rows: Vec<NeighbourClass>,
}

/// A class of neighbours, where they are, and who suffers from them.
struct NeighbourClass {
    class: &'static str,
    work: NeighbourWork,
    places: &'static [Place],
    victims: &'static [&'static str],
}

impl Matrix {
    /// Everything.
    pub(super) fn whole() -> Matrix {
        const BOTH: [Place; 2] = [Place::Others, Place::Sibling];
        let row = |(class, work)| NeighbourClass { class, work, places: &BOTH, victims: &VICTIMS };
        Matrix { rows: DOING.into_iter().map(row).collect() }.by_count()
    }

    /// With fewer neighbours beside, of each class the victims that tell what it costs.
    fn by_count(mut self) -> Matrix {
        let others = self.rows.iter().filter(|row| row.places.contains(&Place::Others));
        let fewer = others.map(|row| {
            let told: &[&str] = match row.work {
                NeighbourWork::Memory => &[BANDWIDTH],
                NeighbourWork::Stream(_) | NeighbourWork::Lock => &[SCALAR],
            };
            NeighbourClass { places: &Place::FEWER, victims: told, ..*row }
        });
        let fewer: Vec<NeighbourClass> = fewer.collect();
        self.rows.extend(fewer);
        self
    }

    /// What a sheet has time for: its heaviest stream beside scalar code, and others who move memory beside one
    /// who does.
    pub(super) fn short(heaviest: &StreamRow) -> Matrix {
        let row = |(class, work): (&'static str, NeighbourWork)| match work {
            NeighbourWork::Memory => Some(NeighbourClass {
                class,
                work,
                places: &[Place::Others],
                victims: &[BANDWIDTH],
            }),
            NeighbourWork::Stream(id) if id == heaviest.id => {
                Some(NeighbourClass { class, work, places: &Place::ALL, victims: &[SCALAR] })
            }
            // What being active costs is none of the heaviest one's doing.
            NeighbourWork::Stream(_) if class == SCALAR_CLASS => {
                Some(NeighbourClass { class, work, places: &[Place::Others], victims: &[SCALAR] })
            }
            NeighbourWork::Stream(_) | NeighbourWork::Lock => None,
        };
        Matrix { rows: DOING.into_iter().filter_map(row).collect() }
    }
}

/// The area.
pub static INTERFERENCE: Area =
    Area { offers, needs: CLOCKS, ..Area::new(AREA, QUANTITIES, 0.75, proposal) };

fn offers(workload: &str, quantity: &Quantity) -> bool {
    if is_class(workload) {
        return quantity.id == RATE.ratio;
    }
    measures(workload).iter().any(|measure| measure.has(quantity.id))
}

fn proposal(plan: &Planning<'_>) -> Proposal {
    asked::of_heaviest(plan, SCALAR, |heaviest| within(plan, heaviest))
}

/// What the heaviest neighbours cost, and of all others as much as a tenth of the time has room for; what is left out
/// altogether has its reason.
fn within(plan: &Planning<'_>, heaviest: &StreamRow) -> Result<Proposal, Unavailable> {
    const SHARE: f64 = 0.1;
    let mut proposal = of_matrix(plan, &Matrix::short(heaviest))?;
    let all = of_matrix(plan, &Matrix::whole())?;
    let name = |cell: &Cell| (cell.workloads()[0].id, cell.parameters.clone());
    let known: Vec<_> = proposal.cells.iter().map(name).collect();
    let mut room = plan.budget.0 * SHARE - takes(&proposal.cells);
    let mut left_out = Vec::new();
    for cell in all.cells.into_iter().filter(|cell| !known.contains(&name(cell))) {
        let seconds = takes(std::slice::from_ref(&cell));
        // One that does not fit ends it: those after it are wanted less.
        if seconds <= room && left_out.is_empty() {
            room -= seconds;
            proposal.cells.push(cell);
        } else {
            left_out.push(cell);
        }
    }
    let is_in = |cells: &[Cell], what: &str| {
        cells.iter().any(|cell| {
            let beside = cell.parameters.get(BESIDE);
            cell.workloads()[0].id == what || beside.is_some_and(|class| class == what)
        })
    };
    let missing =
        named_in_matrix().filter(|it| is_in(&left_out, it) && !is_in(&proposal.cells, it));
    let why = format!("it does not fit into a tenth of {} s", plan.budget.0);
    let reason = |what: &'static str| {
        let reason = Unavailable::new(Obstacle::Measurement, format!("neighbours: {what}"), &*why);
        (what, reason.with_remedy("cpudyno turbo --neighbours"))
    };
    let missing: Vec<_> = missing.map(reason).collect();
    proposal.absent.extend(missing);
    Ok(proposal)
}

/// What a victim does.
enum VictimWork {
    Stream(Load, Vec<Phase>),
    Traffic(Traffic),
}

/// One victim beside one class of neighbours.
struct InterferenceJob {
    victim: &'static str,
    cpu: CpuId,
    task: VictimWork,
    neighbours: Vec<Neighbour>,
    tools: Tools,
}

/// The cells, and what cannot be.
pub(super) fn of_matrix(plan: &Planning<'_>, matrix: &Matrix) -> Result<Proposal, Unavailable> {
    let tools = streams::tools(plan.machine)?;
    let Some(&cpu) = plan.placement.cpus.first() else {
        return Err(Unavailable::new(Obstacle::Hardware, "neighbours", "there is no CPU"));
    };
    let (mut proposal, mut jobs) = (Proposal::default(), Vec::new());
    let others = active::others(plan, cpu);
    let sibling = sibling(plan, cpu).and_then(|sibling| {
        // Where CPUs were named no others are used.
        if !plan.placement.is_named || plan.placement.cpus.contains(&sibling) {
            return Some(sibling);
        }
        let why = format!("CPU {sibling}, the sibling of CPU {cpu}, is not among the named CPUs");
        let reason = Unavailable::new(Obstacle::Measurement, "sibling", why);
        lacks(
            &mut proposal,
            Place::Sibling.word(),
            reason.with_remedy("name it, too: --cpus LIST"),
        );
        None
    });
    if others.is_empty() && sibling.is_none() {
        let why = "only one CPU may be used, so it has no neighbours";
        return Err(Unavailable::new(Obstacle::Hardware, "neighbours", why)
            .with_remedy("let it use more: --cpus LIST"));
    }
    for place in Place::ALL {
        let cpus = at(place, &others, sibling);
        if cpus.is_empty() {
            continue;
        }
        for row in matrix.rows.iter().filter(|row| row.places.contains(&place)) {
            let class = row.class;
            let neighbours = match neighbours(plan, row.work, &cpus) {
                Ok(neighbours) => neighbours,
                Err(reason) => {
                    lacks(&mut proposal, class, reason);
                    continue;
                }
            };
            for &victim in row.victims {
                let task = match task(plan, victim, cpu) {
                    Ok(task) => task,
                    Err(reason) => {
                        lacks(&mut proposal, victim, reason);
                        continue;
                    }
                };
                let mut parameters = BTreeMap::from([
                    (BESIDE.to_owned(), class.to_owned()),
                    (PLACE.to_owned(), place.word().to_owned()),
                ]);
                if let VictimWork::Stream(load, _) = &task {
                    parameters.insert(STREAM.to_owned(), load.id.to_owned());
                }
                let tax =
                    InterferenceJob { victim, cpu, task, neighbours: neighbours.clone(), tools };
                jobs.push((place, tax, parameters));
            }
        }
    }
    shorten(&mut jobs);
    let cell = |(_, tax, parameters)| Cell { work: CellWork::CustomJob(Box::new(tax)), parameters };
    proposal.cells = jobs.into_iter().map(cell).collect();
    Ok(proposal)
}

/// A job with where its neighbours are, and what tells its series apart.
type PlacedJob = (Place, InterferenceJob, BTreeMap<String, String>);

/// The CPUs of a place. One neighbour and half of them are told apart from all where there are enough.
fn at(place: Place, others: &[CpuId], sibling: Option<CpuId>) -> Vec<CpuId> {
    match place {
        Place::Others => others.to_vec(),
        Place::Sibling => sibling.into_iter().collect(),
        Place::One => others.iter().take(1).copied().filter(|_| others.len() > 1).collect(),
        Place::Half if others.len() > 3 => others.iter().step_by(2).copied().collect(),
        Place::Half => Vec::new(),
    }
}

/// Lets the victims have less time, so that all jobs take as long as those would beside all neighbours alone.
fn shorten(jobs: &mut [PlacedJob]) {
    /// Medians of fewer looks move too much.
    const SHARE_MIN: f64 = 0.5;
    let takes = |is_wanted: fn(&Place) -> bool| -> f64 {
        let wanted = jobs.iter().filter(|(place, ..)| is_wanted(place));
        wanted.map(|(_, job, _)| job.duration().0).sum()
    };
    let [before, all] = [takes(|place| !Place::FEWER.contains(place)), takes(|_| true)];
    let share = (before / all).clamp(SHARE_MIN, 1.0);
    for (_, job, _) in jobs {
        match &mut job.task {
            VictimWork::Stream(_, phases) => {
                for phase in phases {
                    phase.rounds = (f64::from(phase.rounds) * share).ceil() as u32;
                }
            }
            VictimWork::Traffic(traffic) => traffic.target = traffic.target * share,
        }
    }
}

/// A victim, or a class of neighbours, that cannot be had: each once.
fn lacks(proposal: &mut Proposal, workload: &'static str, reason: Unavailable) {
    if !proposal.absent.iter().any(|(id, _)| *id == workload) {
        let what = format!("neighbours: {workload}");
        proposal.absent.push((workload, Unavailable { what, ..reason }));
    }
}

/// Another thread of the same core.
fn sibling(plan: &Planning<'_>, cpu: CpuId) -> Option<CpuId> {
    let topology = plan.topology();
    let siblings = &topology.place(cpu)?.siblings;
    siblings.iter().find(|other| *other != cpu && topology.usable.contains(*other))
}

fn named(id: &str) -> Option<&'static kernels::StreamRow> {
    kernels::streams::TABLE.iter().find(|row| row.id == id).copied()
}

fn neighbours(
    plan: &Planning<'_>,
    work: NeighbourWork,
    cpus: &[CpuId],
) -> Result<Vec<Neighbour>, Unavailable> {
    let unknown = || Unavailable::new(Obstacle::Cpudyno, "stream", "this build has no such stream");
    let work = match work {
        NeighbourWork::Stream(id) => {
            Busy::Stream(streams::load(plan.machine, named(id).ok_or_else(unknown)?, DATA)?)
        }
        NeighbourWork::Memory => {
            let (transfer, elements) = triad(plan, cpus.len())?;
            Busy::Memory { transfer, elements, store: store(transfer.kernel, elements) }
        }
        NeighbourWork::Lock => Busy::Lock,
    };
    Ok(cpus.iter().map(|&cpu| Neighbour { cpu, work }).collect())
}

fn store(kernel: &MemoryKernel, elements: u64) -> Store {
    Store::of_arrays(kernel.arrays, elements, Pages::Base)
}

/// The widest triad with ordinary stores, and elements of each array so that all of so many threads together are
/// beyond caches.
fn triad(plan: &Planning<'_>, threads: usize) -> Result<(Transfer, u64), Unavailable> {
    const EACH_MIN: u64 = 4 << 20;
    /// No caches are larger than half of it.
    const EACH_MAX: u64 = 512 << 20;
    const TIMES_CACHES: u64 = 2;
    let kernel = TABLE.iter().find(|kernel| kernel.id == "triad").ok_or_else(|| {
        Unavailable::new(Obstacle::Cpudyno, "triad", "this build has no such memory kernel")
    })?;
    let ordinary = kernel.variants.iter().filter(|it| it.stores == Stores::Ordinary);
    let known = streams::transfers(plan.machine, kernel, ordinary);
    let (known, refused): (Vec<_>, Vec<_>) = known.partition(Result::is_ok);
    let widest = known.into_iter().flatten().max_by_key(|it| it.variant.width_bits);
    let transfer = widest.ok_or_else(|| {
        let none = || Unavailable::new(Obstacle::Hardware, "triad", "it has no such variant");
        refused.into_iter().find_map(Result::err).unwrap_or_else(none)
    })?;
    let caches = plan.topology().caches_in_use(&plan.placement.cpus.iter().copied().collect());
    let all = TIMES_CACHES * caches.map_or(32 << 20, |caches| caches.bytes);
    let each = (all / threads.max(1) as u64).clamp(EACH_MIN, EACH_MAX);
    Ok((transfer, each / u64::from(kernel.arrays) / 8 / 64 * 64))
}

/// Bytes of the victim's ring. All lines are flushed and none is visited twice, so that it is beyond caches of any
/// size: no more is needed than what two repetitions visit, each tried up to three times, where a line takes 40 ns
/// and more. To link it is most of what this victim takes.
const RING: u64 = 24 << 20;

fn task(plan: &Planning<'_>, victim: &str, cpu: CpuId) -> Result<VictimWork, Unavailable> {
    let stream = |ids: &[&str]| {
        let mut reason = None;
        for row in ids.iter().filter_map(|id| named(id)) {
            match streams::load(plan.machine, row, DATA) {
                Ok(load) => return Ok(VictimWork::Stream(load, phases(row))),
                Err(why) => reason = Some(why),
            }
        }
        let none = || Unavailable::new(Obstacle::Cpudyno, victim, "this build has no such stream");
        Err(reason.unwrap_or_else(none))
    };
    match victim {
        SCALAR => stream(&["scalar_iadd"]),
        VECTOR => stream(&["avx256_fma_t", "avx128_fma_t"]),
        BANDWIDTH => {
            let (transfer, elements) = triad(plan, 1)?;
            let (moving, pause) = (false, Seconds(0.0));
            let task = Task::Trips { transfer, elements, moving, pause };
            let party =
                Party { cpu, store: store(transfer.kernel, elements), task, background: false };
            Ok(VictimWork::Traffic(Traffic {
                members: vec![party],
                repetitions: 2,
                target: Seconds(10e-3),
            }))
        }
        _ => {
            streams::moves_data(plan.machine)?;
            let task =
                Task::Chase { chains: 1, bytes: RING, walk: Walk::LOCAL, begin: Begin::Cold };
            let store = Store::of_ring(RING, Pages::Base);
            let party = Party { cpu, store, task, background: false };
            Ok(VictimWork::Traffic(Traffic {
                members: vec![party],
                repetitions: 2,
                target: Seconds(2e-3),
            }))
        }
    }
}

/// What the jobs of one kind gave so far, by measure.
#[derive(Default)]
struct MeasureSamples(BTreeMap<&'static str, Vec<f64>>);

impl MeasureSamples {
    fn add(&mut self, measure: &Measure, samples: &[f64]) {
        self.0.entry(measure.ratio).or_default().extend(median(samples));
    }

    fn mean(&self, measure: &Measure) -> Option<f64> {
        mean(self.0.get(measure.ratio)?)
    }
}

impl InterferenceJob {
    fn job(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
        seen: &mut MeasureSamples,
    ) -> Result<Result<Around, Unavailable>, RunError> {
        let ruler = rulers.get(&self.cpu).and_then(|ruler| ruler.as_ref().ok());
        match &self.task {
            VictimWork::Stream(load, phases) => {
                let job = Repeat {
                    members: vec![Member::new(self.cpu, *load)],
                    phases: phases.clone(),
                    tools: self.tools,
                    manner: Manner::USUAL,
                };
                let raw = executor.repeat(&job)?;
                let member = &raw.members[0];
                let reduced = reduce::reduce(member, *load, &job, ruler, executor.rate());
                // Beside a busy sibling the chain of multiplies is the clock, whatever the adds say.
                seen.add(&CLOCK, &reduced.clock);
                let rates: Vec<f64> =
                    reduced.seconds.samples().into_iter().map(|seconds| 1.0 / seconds).collect();
                seen.add(&RATE, &rates);
                Ok(Ok(member.around))
            }
            VictimWork::Traffic(job) => {
                let raw = executor.traffic(job, &self.tools, None)?;
                let haul = match traffic::reduce(&raw, job, executor.rate(), None) {
                    Ok(haul) => haul,
                    Err(reason) => return Ok(Err(reason)),
                };
                seen.add(&MOVED, &haul.bandwidth);
                seen.add(&WAIT, &haul.latency);
                Ok(Ok(raw.members[0].around))
            }
        }
    }

    /// Alone, beside, beside, alone.
    fn block(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
    ) -> Result<Result<Run, Unavailable>, RunError> {
        let (mut alone, mut beside) = (MeasureSamples::default(), MeasureSamples::default());
        let mut around = match self.job(executor, rulers, &mut alone)? {
            Ok(around) => around,
            Err(reason) => return Ok(Err(reason)),
        };
        let mut refused = None;
        executor.among(&self.neighbours, &mut |executor| {
            for _ in 0..2 {
                match self.job(executor, rulers, &mut beside)? {
                    Ok(more) => around = around.and(more),
                    Err(reason) => refused = Some(reason),
                }
            }
            Ok(())
        })?;
        match self.job(executor, rulers, &mut alone)? {
            Ok(more) => around = around.and(more),
            Err(reason) => refused = Some(reason),
        }
        if let Some(reason) = refused {
            return Ok(Err(reason));
        }
        let mut readings = Readings::new();
        if let (VictimWork::Stream(..), Some(Err(reason))) = (&self.task, rulers.get(&self.cpu)) {
            // Ops need no ruler: they have numbers where the clock has none.
            readings.insert(CLOCK.ratio, Err(reason.clone()));
        }
        for measure in [CLOCK, RATE, MOVED, WAIT] {
            if let Some((alone, beside)) = alone.mean(&measure).zip(beside.mean(&measure)) {
                readings.insert(measure.alone, Ok(vec![alone]));
                readings.insert(measure.beside, Ok(vec![beside]));
                readings.insert(measure.ratio, Ok(vec![beside / alone]));
            }
        }
        Ok(Ok(Run { around, readings, ..Run::default() }))
    }
}

/// The measures of a victim.
pub(super) fn measures(victim: &str) -> &'static [Measure] {
    match victim {
        SCALAR | VECTOR => &[CLOCK, RATE],
        BANDWIDTH => &[MOVED],
        _ => &[WAIT],
    }
}

/// Threads that start, find how long their pieces are, and end.
const STREET: Seconds = Seconds(2e-3);

/// What a neighbour takes of a block to begin and to end: its memory is touched in the first one, its arrays are
/// prepared in each, and it goes on to the end of its last trip.
fn settling(neighbour: &Neighbour) -> Seconds {
    /// To touch memory for the first time, to prepare arrays, and a trip over them, as slow cores do.
    const BYTES_PER_SECOND: [f64; 3] = [1e9, 4e9, 4e9];
    let Busy::Memory { store, .. } = &neighbour.work else { return STREET };
    let [touched, prepared, trip] = BYTES_PER_SECOND.map(|rate| store.bytes as f64 / rate);
    STREET + Seconds(touched / BLOCKS as f64 + prepared + trip)
}

/// Neighbours begin and end together.
fn longer(a: Seconds, b: Seconds) -> Seconds {
    if b > a { b } else { a }
}

impl CustomJob for InterferenceJob {
    fn aim(&self) -> JobTarget {
        let place = VICTIMS.iter().position(|victim| *victim == self.victim).unwrap_or(0);
        let others = self.neighbours.iter().map(|neighbour| neighbour.cpu);
        JobTarget {
            order: place,
            workload: self.victim,
            cpus: std::iter::once(self.cpu).chain(others).collect(),
        }
    }

    fn duration(&self) -> Seconds {
        let once = match &self.task {
            VictimWork::Stream(_, phases) => protocol::duration(phases),
            VictimWork::Traffic(job) => protocol::JOB_OVERHEAD + job.duration(),
        };
        once * 4.0 + self.neighbours.iter().map(settling).fold(STREET, longer)
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        let ratios = measures(self.victim).iter().map(|measure| measure.ratio);
        Ok(Run::or_reason(self.block(means.executor, means.rulers)?, ratios))
    }
}

#[cfg(test)]
mod tests {
    use model::stats::median_interval;

    use super::BLOCKS;

    #[test]
    fn one_disturbed_block_is_no_end_of_the_interval() {
        let mut ratios: Vec<f64> = (0..BLOCKS).map(|block| 0.9 + block as f64 * 1e-3).collect();
        ratios[3] = 0.5;
        let [low, high] = median_interval(&ratios).unwrap();
        assert!(low >= 0.9 && high < 0.911, "{low} to {high}");
    }
}
