//! Kernels that can be counted, and what they execute: how often an event happens in a unit of them.
//!
//! The numbers are facts of the machine code. Simulated machines count by them, and counters are held
//! against them ([`super::known_answers`]).

use std::time::Duration;

use kernels::empty_loop::count_down;
use kernels::memory::chase::{LINE_BYTES, Ring, STEPS_AT_ONCE, Walk, flush};
use kernels::memory::{Arrays, MemoryKernel, Mover, Stores, Variant, fill};
use kernels::random_branch;
use kernels::{Operands, Runnable, StreamRow, memory, streams};
use machine::memory::room;
use machine::{Machine, facts};
use model::page::si;
use model::record::{CacheKind, CountedUnit, Counts};
use model::{CpuId, CpuSet, Datatype, Isa, Obstacle, Pages, Reading, Unavailable, Unit};
use simulated::Model;
use sys::memory::Mapping;

use super::session::Executable;
use super::{CountingPlan, Session, Work};

/// Which kernel.
#[derive(Debug, Clone, Copy)]
pub enum Spec {
    /// A loop of a decrement and a conditional jump.
    Loop,
    /// A loop with a branch that nobody can predict.
    Coin,
    /// An instruction stream.
    Stream(&'static StreamRow),
    /// A memory kernel, and the bytes of all its arrays.
    Memory(&'static MemoryKernel, u64),
    /// A random walk over every second line of so many bytes.
    Chase(u64),
    /// Pages that are touched for the first time.
    Touch,
    /// Sleeps, each of which gives the CPU away.
    Sleep,
    /// Moves from one CPU to another.
    Move,
}

/// A kernel that can be executed, with its data.
pub struct Kernel<'a> {
    /// What it is, in a few words.
    pub title: String,
    /// What is counted by.
    pub unit: &'static str,
    /// Units come so many at a time.
    pub grain: u64,
    /// Other units, and how many of them are in one of the first.
    pub others: Vec<(&'static str, f64)>,
    /// Its data, where it has any.
    pub data: Option<Data>,
    /// How often events happen in a unit, by the names of [`Model::happen`].
    pub happens: Vec<(&'static str, f64)>,
    body: Box<dyn Body + 'a>,
}

/// The data of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Its size.
    pub bytes: u64,
    /// Units of one way through it.
    pub once: u64,
    /// Lines that are visited on that way.
    pub lines: u64,
}

/// What executes.
trait Body {
    /// So many units.
    fn run(&mut self, units: u64);
    /// Drops its data from the caches.
    fn flush(&mut self) {}
}

/// Names of events, as simulated machines and the table of known answers have them.
pub(super) mod key {
    pub(crate) const INSTRUCTIONS: &str = "instructions";
    pub(crate) const CYCLES: &str = "cycles";
    pub(crate) const BRANCHES: &str = "branch-instructions";
    pub(crate) const MISSES: &str = "branch-misses";
    pub(crate) const TAKEN: &str = "br_inst_retired.near_taken";
    pub(crate) const CONDITIONAL: &str = "br_inst_retired.cond";
    pub(crate) const CONDITIONAL_TAKEN: &str = "br_inst_retired.cond_taken";
    pub(crate) const CONDITIONAL_MISSES: &str = "br_misp_retired.cond";
    pub(crate) const LOADS: &str = "mem_inst_retired.all_loads";
    pub(crate) const STORES: &str = "mem_inst_retired.all_stores";
    pub(crate) const L1_HIT: &str = "mem_load_uops_retired.l1_hit";
    pub(crate) const L1_MISS: &str = "mem_load_uops_retired.l1_miss";
    pub(crate) const L2_HIT: &str = "mem_load_uops_retired.l2_hit";
    pub(crate) const L2_MISS: &str = "mem_load_uops_retired.l2_miss";
    pub(crate) const L3_HIT: &str = "mem_load_uops_retired.l3_hit";
    pub(crate) const L3_MISS: &str = "mem_load_uops_retired.l3_miss";
    pub(crate) const FLOPS_128: &str = "fp_arith_inst_retired.128b_packed_double";
    pub(crate) const FLOPS_256: &str = "fp_arith_inst_retired.256b_packed_double";
    pub(crate) const FLOPS_512: &str = "fp_arith_inst_retired.512b_packed_double";
    pub(crate) const FAULTS: &str = "page-faults";
    pub(crate) const SWITCHES: &str = "context-switches";
    pub(crate) const MIGRATIONS: &str = "cpu-migrations";
}

/// `48 KiB`
pub(super) fn size_in_words(bytes: u64) -> String {
    si::format(bytes as f64, Unit::Byte)
}

impl Spec {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Spec::Loop => "loop",
            Spec::Coin => "coin",
            Spec::Stream(row) => row.id,
            Spec::Memory(kernel, _) => kernel.id,
            Spec::Chase(_) => "chase",
            Spec::Touch => "touch",
            Spec::Sleep => "sleep",
            Spec::Move => "move",
        }
    }

    /// The kernel of that name, with data of a usual size where it has any.
    pub fn named(name: &str) -> Option<Spec> {
        /// Small enough for the nearest cache.
        const USUAL: u64 = 16 << 10;
        const PLAIN: [Spec; 6] =
            [Spec::Loop, Spec::Coin, Spec::Chase(USUAL), Spec::Touch, Spec::Sleep, Spec::Move];
        let stream = || streams::find(name).map(Spec::Stream);
        let memory = || memory::find(name).map(|kernel| Spec::Memory(kernel, USUAL));
        PLAIN.into_iter().find(|spec| spec.name() == name).or_else(memory).or_else(stream)
    }

    /// The names that there are, those of streams last.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let plain = ["loop", "coin", "chase", "touch", "sleep", "move"];
        let memory = memory::TABLE.iter().map(|kernel| kernel.id);
        plain.into_iter().chain(memory).chain(streams::TABLE.iter().map(|row| row.id))
    }

    /// Whether it has data whose size can be chosen.
    pub fn has_data(self) -> bool {
        matches!(self, Spec::Memory(..) | Spec::Chase(_))
    }

    /// The same with about so many bytes of data, where it has any; [`Spec::data_bytes`] says with how
    /// many.
    #[must_use]
    pub fn of_size(self, bytes: u64) -> Spec {
        match self {
            Spec::Memory(kernel, _) => Spec::Memory(kernel, bytes),
            Spec::Chase(_) => Spec::Chase(bytes),
            other => other,
        }
    }

    /// The bytes of its data, where it has any.
    pub fn data_bytes(self) -> Option<u64> {
        match self {
            Spec::Memory(kernel, bytes) => {
                Some(elements_of(kernel, bytes) * bytes_of_element(kernel))
            }
            Spec::Chase(bytes) => Some(chased(bytes)),
            _ => None,
        }
    }

    /// Makes it ready on the session's machine, and does something with it.
    ///
    /// # Error
    /// Where the machine cannot execute it, or has no memory for it.
    pub fn with<R>(
        self,
        session: &Session<'_>,
        doing: impl FnOnce(&mut Kernel<'_>) -> R,
    ) -> Reading<R> {
        let between = session.usable().iter().find(|&other| other != session.cpu());
        self.on(session.machine(), [Some(session.cpu()), between], doing)
    }

    /// The same for a thread that counts nothing, on one CPU or between two.
    pub(super) fn on<R>(
        self,
        machine: &Machine,
        cpus: [Option<CpuId>; 2],
        doing: impl FnOnce(&mut Kernel<'_>) -> R,
    ) -> Reading<R> {
        let model = machine.simulated.as_ref();
        match self {
            Spec::Loop => Ok(doing(&mut plain("a loop", "iteration", of_loop(), count_down))),
            Spec::Coin => {
                let mut state = 1;
                let run = move |n| state = random_branch::toss(n, state);
                Ok(doing(&mut plain("a loop with a coin", "toss", of_coin(), run)))
            }
            Spec::Stream(row) => stream(row, model).map(|mut kernel| doing(&mut kernel)),
            Spec::Memory(kernel, bytes) => {
                has_room(machine, kernel.id, bytes)?;
                moved(kernel, bytes, model, doing)
            }
            Spec::Chase(bytes) => {
                has_room(machine, self.name(), bytes)?;
                chase(bytes, model, doing)
            }
            Spec::Touch => {
                let happens =
                    vec![(key::FAULTS, 1.0), (key::CYCLES, 1e3), (key::INSTRUCTIONS, 10.0)];
                Ok(doing(&mut plain("touching new pages", "page", happens, touch)))
            }
            Spec::Sleep => {
                let happens = vec![(key::SWITCHES, 1.0), (key::CYCLES, 1e4)];
                Ok(doing(&mut plain("sleeping", "sleep", happens, sleep)))
            }
            Spec::Move => {
                let [Some(here), Some(there)] = cpus else {
                    let why = "this process may use only one CPU";
                    return Err(Unavailable::new(Obstacle::Permission, "moves", why));
                };
                let happens = vec![(key::MIGRATIONS, 1.0), (key::CYCLES, 1e4)];
                let run = move |n| move_between([here, there], n);
                Ok(doing(&mut plain("moves between two CPUs", "move", happens, run)))
            }
        }
    }
}

impl Spec {
    /// The datatype that it computes with, and its operations in a unit, as its code says; none where it computes
    /// nothing that a roofline knows.
    pub fn operations(&self) -> Option<(Datatype, f64)> {
        match self {
            Spec::Memory(kernel, _) => {
                (kernel.flops > 0).then(|| (Datatype::Fp64, f64::from(kernel.flops)))
            }
            Spec::Stream(row) => Some((row.datatype()?, f64::from(row.operations_per_op()?))),
            _ => None,
        }
    }
}

impl Kernel<'_> {
    /// Whole grains: at least so many units.
    pub fn whole(&self, units: u64) -> u64 {
        units.max(1).div_ceil(self.grain) * self.grain
    }

    /// How often an event happens in a unit, by its name in [`Model::happen`].
    pub fn per_unit(&self, name: &str) -> Option<f64> {
        self.happens.iter().find(|row| row.0 == name).map(|row| row.1)
    }

    /// Executes so many units on the calling thread, and counts nothing.
    pub(super) fn run(&mut self, units: u64) {
        self.body.run(units);
    }

    /// So many units, as units of counts.
    pub fn units(&self, number: u64) -> Vec<CountedUnit> {
        let others = self.others.iter();
        let others =
            others.map(|(name, each)| CountedUnit::new(*name, (number as f64 * each) as u64));
        std::iter::once(CountedUnit::new(self.unit, number)).chain(others).collect()
    }

    /// Counts events of at least so many units.
    ///
    /// # Error
    /// As [`Session::count`].
    pub fn count(
        &mut self,
        session: &Session<'_>,
        plan: &CountingPlan,
        units: u64,
        under: Under,
    ) -> Reading<KernelCounts> {
        let number = self.whole(units);
        let (units, title) = (self.units(number), self.title.clone());
        let machine = session.machine();
        let mut trip = Trip { kernel: self, machine, number, under, times: Vec::new() };
        let counts = session.count(&title, plan, Work::Known(&mut trip), &units)?;
        let shares = trip.times.iter().map(|time| time.on_cpu());
        let on_cpu = shares.min_by(f64::total_cmp);
        let thread_time = trip.times.first().map(|time| time.thread);
        Ok(KernelCounts { counts, number, thread_time, on_cpu })
    }
}

/// What was counted of a kernel.
pub struct KernelCounts {
    /// The counts.
    pub counts: Counts,
    /// Units that were executed.
    pub number: u64,
    /// How long the thread was on a CPU meanwhile, in the first pass.
    pub thread_time: Option<Duration>,
    /// The share of its time in which the thread was on a CPU, the least of all passes.
    pub on_cpu: Option<f64>,
}

/// How long something took: by the thread's own clock, and by the one on the wall.
#[derive(Debug, Clone, Copy)]
struct Took {
    thread: Duration,
    wall: Duration,
}

impl Took {
    fn on_cpu(self) -> f64 {
        self.thread.as_secs_f64() / self.wall.as_secs_f64()
    }
}

/// Under which circumstances a kernel is executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Under {
    /// Its data was dropped from the caches before; else it was executed once before.
    pub cold: bool,
    /// Another thread of the core is busy.
    pub beside_sibling: bool,
}

/// One way through a kernel.
struct Trip<'t, 'k> {
    kernel: &'t mut Kernel<'k>,
    machine: &'t Machine,
    number: u64,
    under: Under,
    times: Vec<Took>,
}

impl Trip<'_, '_> {
    fn timed(&mut self, work: impl FnOnce(&mut Self)) {
        let now = || (self.machine.passed(), self.machine.perf.thread_time());
        let (begun, before) = now();
        work(self);
        let (ended, after) = (self.machine.passed(), self.machine.perf.thread_time());
        let wall = ended.saturating_sub(begun);
        let took = |(after, before): (Duration, Duration)| Took {
            thread: after.saturating_sub(before),
            wall,
        };
        self.times.extend(after.zip(before).map(took).filter(|_| !wall.is_zero()));
    }
}

impl Executable for Trip<'_, '_> {
    fn before(&mut self) {
        if self.machine.simulated.is_some() {
            return;
        }
        if self.under.cold {
            self.kernel.body.flush();
        } else if let Some(data) = self.kernel.data {
            self.kernel.body.run(data.once);
        }
    }

    fn run(&mut self) {
        self.timed(|trip| trip.kernel.body.run(trip.number));
    }

    fn simulate(&mut self, model: &Model) -> Reading<()> {
        /// Lines of memory that are under way at once, where they are read in order.
        const AT_ONCE: f64 = 8.0;
        /// Instructions of a cycle in which nothing is waited for.
        const ISSUED_AT_ONCE: f64 = 4.0;
        /// Cycles in which nothing is executed while loads wait, by the nearest level that they wait for.
        const STALLS: [(&str, usize); 4] = [
            ("exe_activity.bound_on_loads", 0),
            ("memory_activity.stalls_l1d_miss", 1),
            ("memory_activity.stalls_l2_miss", 2),
            ("memory_activity.stalls_l3_miss", 3),
        ];
        let slowed = if self.under.beside_sibling {
            1.0 + model.noise.sibling_busy_witness_slowdown
        } else {
            1.0
        };
        let (number, cold) = (self.number as f64, self.kernel.data.filter(|_| self.under.cold));
        let first = cold.map_or(0.0, |data| (number / data.once as f64).min(1.0));
        // On the first way through cold data each line is a miss everywhere.
        let lines = cold.map_or(0.0, |data| data.lines as f64 * first);
        let again = cold.map_or(number, |data| number - data.once as f64 * first);
        let latency = model.memory.as_ref().map_or(0.0, |memory| memory.latency_seconds);
        let waiting = lines * latency * model.bin_hz(0, 1) / AT_ONCE;
        self.timed(|trip| {
            let each = |name: &str| trip.kernel.per_unit(name).unwrap_or(0.0);
            let cycles = each(key::CYCLES) * number * slowed + waiting;
            let stalled = (cycles - each(key::INSTRUCTIONS) * number / ISSUED_AT_ONCE).max(0.0);
            // The level that loads wait for: the farthest that any of them reaches.
            let farthest = [key::L1_HIT, key::L2_HIT, key::L3_HIT, key::L3_MISS]
                .map(|name| each(name) > 0.0 || lines > 0.0 && name == key::L3_MISS);
            let waits_beyond = |level: usize| farthest[level..].iter().any(|it| *it);
            model.happen(|name| {
                let each = each(name);
                if let Some((_, level)) = STALLS.iter().find(|stall| stall.0 == name) {
                    return if waits_beyond(*level) { stalled } else { 0.0 };
                }
                match name {
                    key::CYCLES => cycles,
                    "topdown-mem-bound" if waits_beyond(0) => stalled * simulated::SLOTS_PER_CYCLE,
                    key::L1_MISS | key::L2_MISS | key::L3_MISS => each * again + lines,
                    key::L1_HIT | key::L2_HIT | key::L3_HIT => each * again,
                    _ => each * number,
                }
            });
        });
        Ok(())
    }
}

/// A kernel without data.
struct Plain<F>(F);

impl<F: FnMut(u64)> Body for Plain<F> {
    fn run(&mut self, units: u64) {
        (self.0)(units);
    }
}

fn plain<'a>(
    title: &str,
    unit: &'static str,
    happens: Vec<(&'static str, f64)>,
    run: impl FnMut(u64) + 'a,
) -> Kernel<'a> {
    Kernel {
        title: title.to_owned(),
        unit,
        grain: 1,
        others: Vec::new(),
        data: None,
        happens,
        body: Box::new(Plain(run)),
    }
}

/// Two instructions, of which the second is a conditional branch that is taken.
pub(super) fn of_loop() -> Vec<(&'static str, f64)> {
    use key::{BRANCHES, CONDITIONAL, CONDITIONAL_TAKEN, CYCLES, INSTRUCTIONS, TAKEN};
    let ones = [BRANCHES, CONDITIONAL, CONDITIONAL_TAKEN, TAKEN, CYCLES].map(|name| (name, 1.0));
    [(INSTRUCTIONS, 2.0)].into_iter().chain(ones).collect()
}

/// The branch of the coin is taken every other time, and guessed as often; that of the loop is taken.
fn of_coin() -> Vec<(&'static str, f64)> {
    let branches = random_branch::BRANCHES as f64;
    // What the branch passes over is one instruction, every other time.
    let instructions = if cfg!(target_arch = "x86_64") { 6.5 } else { 4.5 };
    vec![
        (key::INSTRUCTIONS, instructions),
        (key::CYCLES, 12.0),
        (key::BRANCHES, branches),
        (key::CONDITIONAL, branches),
        (key::TAKEN, branches - 0.5),
        (key::CONDITIONAL_TAKEN, branches - 0.5),
        (key::MISSES, 0.5),
        (key::CONDITIONAL_MISSES, 0.5),
    ]
}

struct Stream {
    runnable: Runnable,
    ops: u64,
}

impl Body for Stream {
    fn run(&mut self, units: u64) {
        self.runnable.run(units / self.ops, &Operands::QUIET);
    }
}

/// What cannot be executed here, on a simulated machine.
struct Simulated;

impl Body for Simulated {
    fn run(&mut self, _units: u64) {}
}

fn stream(row: &'static StreamRow, model: Option<&Model>) -> Reading<Kernel<'static>> {
    let ops = row.ops_per_iteration;
    let each = |in_iteration: f64| in_iteration / ops as f64;
    let beside = f64::from(u8::from(row.beside.is_some()));
    // A decrement and a conditional jump end an iteration.
    let instructions = 1.0 + row.followers.len() as f64 + each(2.0 + beside);
    let branches = each(1.0);
    let mut happens = vec![(key::INSTRUCTIONS, instructions)];
    happens.extend(
        [key::BRANCHES, key::TAKEN, key::CONDITIONAL, key::CONDITIONAL_TAKEN]
            .map(|name| (name, branches)),
    );
    // Intel's events count a fused multiply and add twice.
    let per_op = match row.mnemonic {
        fused if fused.starts_with("vfm") && fused.ends_with("pd") => 2.0,
        "addpd" => 1.0,
        _ => 0.0,
    };
    happens.extend(flops(row.width_bits).map(|name| (name, per_op)));
    let body: Box<dyn Body> = match model {
        None => Box::new(Stream { runnable: row.runnable()?, ops }),
        Some(model) => {
            let cycles = model.cycles_per_op(row.id).ok_or_else(|| {
                let why = "this simulated machine has no cost for it";
                Unavailable::new(Obstacle::Hardware, row.id, why)
            })?;
            happens.push((key::CYCLES, cycles));
            Box::new(Simulated)
        }
    };
    Ok(Kernel {
        title: row.id.to_owned(),
        unit: "op",
        grain: ops,
        others: Vec::new(),
        data: None,
        happens,
        body,
    })
}

/// The event that counts packed arithmetic on doubles of that width.
fn flops(width_bits: Option<u32>) -> Option<&'static str> {
    match width_bits? {
        128 => Some(key::FLOPS_128),
        256 => Some(key::FLOPS_256),
        512 => Some(key::FLOPS_512),
        _ => None,
    }
}

struct Moved<'m> {
    mover: Mover,
    parts: [&'m mut [f64]; 4],
}

impl Body for Moved<'_> {
    fn run(&mut self, units: u64) {
        let length = self.parts[0].len().max(self.parts[1].len());
        let [a, b, c, d] = &mut self.parts;
        let mut arrays = Arrays { a, b, c, d };
        self.mover.run_trips(&mut arrays, units / length.max(1) as u64);
    }

    fn flush(&mut self) {
        self.parts.iter().for_each(|part| flush(part));
    }
}

/// The widest variant that can be executed, with ordinary stores and one pointer.
fn variant(
    kernel: &'static MemoryKernel,
    model: Option<&Model>,
) -> Reading<(&'static Variant, Option<Mover>)> {
    let plain = |variant: &&&'static Variant| {
        matches!(variant.stores, Stores::None | Stores::Ordinary)
            && variant.lines_ahead.is_none()
            && variant.width_bits.is_some()
    };
    let variants: Vec<&'static Variant> = kernel.variants.iter().collect();
    let mut reason = None;
    for &variant in variants.iter().filter(|variant| plain(variant)).rev() {
        let able = match model {
            None => Mover::new(kernel, variant).map(Some),
            Some(model) => {
                let offered = |isa| isa == Isa::Sse2 || model.identity.isa.contains(&isa);
                variant.lacking(kernel, offered).map_or(Ok(None), Err)
            }
        };
        match able {
            Ok(mover) => return Ok((variant, mover)),
            Err(lacking) => reason = Some(lacking),
        }
    }
    Err(reason.unwrap_or_else(|| {
        Unavailable::new(Obstacle::Cpudyno, kernel.id, "it has no variant with ordinary stores")
    }))
}

/// Bytes of a number.
const ELEMENT: u64 = 8;

/// Bytes of an element in all arrays.
fn bytes_of_element(kernel: &MemoryKernel) -> u64 {
    ELEMENT * u64::from(kernel.arrays)
}

/// Elements of each array where all have so many bytes, or the few less of whole blocks.
fn elements_of(kernel: &MemoryKernel, bytes: u64) -> u64 {
    /// Elements of the largest block that machine code takes at once, in all of its sub-streams.
    const BLOCK: u64 = 512;
    (bytes / bytes_of_element(kernel) / BLOCK).max(1) * BLOCK
}

/// Bytes of a ring, of as many or a few more.
fn chased(bytes: u64) -> u64 {
    /// Lines that a ring has at least.
    const LINES_MIN: u64 = 64;
    let line = LINE_BYTES as u64;
    bytes.next_multiple_of(2 * line).max(LINES_MIN * line)
}

fn moved<R>(
    kernel: &'static MemoryKernel,
    bytes: u64,
    model: Option<&Model>,
    doing: impl FnOnce(&mut Kernel<'_>) -> R,
) -> Reading<R> {
    let (variant, mover) = variant(kernel, model)?;
    let elements = elements_of(kernel, bytes);
    let bytes = elements * bytes_of_element(kernel);
    let width = f64::from(variant.width_bits.unwrap_or(64));
    let per_element = |number: u32| f64::from(number) * 64.0 / width;
    let (reads, writes) = (per_element(kernel.reads), per_element(kernel.writes));
    let flops_each = per_element(kernel.flops);
    let mut happens = vec![(key::LOADS, reads), (key::STORES, writes)];
    happens.extend(flops(variant.width_bits).map(|name| (name, flops_each)));
    if let Some(model) = model {
        let memory = memory_of(model)?;
        let place = memory.cache.iter().position(|level| bytes <= level.bytes);
        let lines = f64::from(kernel.reads) * ELEMENT as f64 / LINE_BYTES as f64;
        let (first, lines) = match place {
            Some(0) => (reads, 0.0),
            _ => (reads - lines, lines),
        };
        let further = of_level(place.unwrap_or(memory.cache.len()), 0.0);
        let further = further.into_iter().filter(|row| row.0 != key::L1_HIT);
        happens.extend(further.map(|(name, each)| (name, each * lines)));
        happens.push((key::L1_HIT, first));
        let reach = memory.reach(None);
        let bandwidth = reach.level(bytes, 1).map_or(reach.core_bandwidth, |it| it.core_bandwidth);
        let seconds = kernel.bytes_per_element() as f64 / bandwidth;
        happens.push((key::CYCLES, seconds * model.bin_hz(0, 1)));
        happens.push((key::INSTRUCTIONS, reads + writes + flops_each));
    }
    let mut mapping = mover.map(|mover| Ok((mover, mapped(kernel.id, bytes)?))).transpose()?;
    let body: Box<dyn Body + '_> = match &mut mapping {
        None => Box::new(Simulated),
        Some((mover, mapping)) => {
            let mut rest = mapping.words_mut();
            let used = [kernel.writes, 1, 1, 1];
            let mut left = kernel.arrays;
            let parts = used.map(|wanted| {
                let take = if wanted > 0 && left > 0 { elements as usize } else { 0 };
                left -= u32::from(take > 0);
                let (part, others) = std::mem::take(&mut rest).split_at_mut(take);
                rest = others;
                part
            });
            Box::new(ready(*mover, parts))
        }
    };
    let title = format!("{}, {}", kernel.id, size_in_words(bytes));
    let others = vec![("byte", kernel.bytes_per_element() as f64)];
    let mut kernel = Kernel {
        title,
        unit: "element",
        grain: elements,
        others,
        data: Some(Data { bytes, once: elements, lines: bytes / LINE_BYTES as u64 }),
        happens,
        body,
    };
    Ok(doing(&mut kernel))
}

/// With numbers in the arrays.
fn ready(mover: Mover, mut parts: [&mut [f64]; 4]) -> Moved<'_> {
    fill(parts.each_mut().map(|part| &mut **part), 0);
    Moved { mover, parts }
}

struct Chased<'m>(Ring<'m>);

impl Body for Chased<'_> {
    fn run(&mut self, units: u64) {
        self.0.walk(1, units);
    }

    fn flush(&mut self) {
        self.0.flush();
    }
}

fn chase<R>(
    bytes: u64,
    model: Option<&Model>,
    doing: impl FnOnce(&mut Kernel<'_>) -> R,
) -> Reading<R> {
    const SEED: u64 = 1;
    let bytes = chased(bytes);
    let each = 1.0 / STEPS_AT_ONCE as f64;
    // On x86-64 the trips are counted in memory: a load and a store that hit, in each of them.
    let counting = if cfg!(target_arch = "x86_64") { each } else { 0.0 };
    let mut happens = vec![
        (key::INSTRUCTIONS, 1.0 + 2.0 * each),
        (key::BRANCHES, each),
        (key::LOADS, 1.0 + counting),
        (key::STORES, counting),
    ];
    // Half of the lines are visited.
    let visited = bytes / 2;
    let level = match model {
        // Where it lies is what the known answers choose the size for.
        None => None,
        Some(model) => {
            let memory = memory_of(model)?;
            let place = memory.cache.iter().position(|level| visited <= level.bytes);
            let latency =
                place.map_or(memory.latency_seconds, |at| memory.cache[at].latency_seconds);
            happens.push((key::CYCLES, latency * model.bin_hz(0, 1)));
            Some(place.unwrap_or(memory.cache.len()))
        }
    };
    if let Some(level) = level {
        happens.extend(of_level(level, counting));
    }
    let mut memory = if model.is_none() { Some(mapped("chase", bytes)?) } else { None };
    let body: Box<dyn Body + '_> = match &mut memory {
        None => Box::new(Simulated),
        Some(mapping) => {
            let words = &mut mapping.integers_mut()[..bytes as usize / size_of::<u64>()];
            Box::new(Chased(Ring::link(words, Walk::Apart, SEED)))
        }
    };
    let mut kernel = Kernel {
        title: format!("chase, {}", size_in_words(bytes)),
        unit: "load",
        grain: STEPS_AT_ONCE,
        others: Vec::new(),
        data: Some(Data {
            bytes,
            once: visited / LINE_BYTES as u64,
            lines: visited / LINE_BYTES as u64,
        }),
        happens,
        body,
    };
    Ok(doing(&mut kernel))
}

/// What a step of the walk counts where its lines lie in a cache, from 0 on, or beyond all of them.
fn of_level(level: usize, counting: f64) -> Vec<(&'static str, f64)> {
    let hits = [key::L1_HIT, key::L2_HIT, key::L3_HIT];
    let misses = [key::L1_MISS, key::L2_MISS, key::L3_MISS];
    let mut happens: Vec<(&'static str, f64)> =
        misses.iter().take(level).map(|name| (*name, 1.0)).collect();
    let first = if level == 0 { 1.0 + counting } else { counting };
    happens.push((key::L1_HIT, first));
    happens.extend(hits.get(level).filter(|_| level > 0).map(|name| (*name, 1.0)));
    happens
}

fn memory_of(model: &Model) -> Reading<&simulated::Memory> {
    model.memory.as_ref().ok_or_else(|| {
        let why = "nothing can be moved on this simulated machine";
        Unavailable::new(Obstacle::Hardware, "memory", why)
    })
}

/// Whether so much memory may be touched without anybody being killed for it. Simulated data takes
/// none.
pub(super) fn has_room(machine: &Machine, what: &str, bytes: u64) -> Reading<()> {
    if machine.simulated.is_some() {
        return Ok(());
    }
    match room(machine, Pages::Base) {
        Ok(room) if bytes > room.usable() => {
            let why = format!(
                "{} of memory are more than the {} that this process may use: {}",
                size_in_words(bytes),
                size_in_words(room.usable()),
                room.limited_by
            );
            let remedy = "choose less: --size 1M";
            Err(Unavailable::new(Obstacle::Permission, what, why).with_remedy(remedy))
        }
        // Where nobody says how much there is, the attempt does.
        _ => Ok(()),
    }
}

/// Memory in large pages where the kernel gives them, so that no page walk is counted with the loads.
pub(super) fn mapped(what: &str, bytes: u64) -> Reading<Mapping> {
    let whole = || {
        let size = usize::try_from(bytes).map_err(std::io::Error::other)?;
        let mapping =
            Mapping::new(size, Pages::Transparent).or_else(|_| Mapping::new(size, Pages::Base))?;
        Ok(mapping)
    };
    whole().map_err(|error: std::io::Error| {
        let why = format!("no memory of {} for it: {error}", size_in_words(bytes));
        Unavailable::new(Obstacle::Permission, what, why)
    })
}

/// Brings so many pages in, one fault each.
fn touch(pages: u64) {
    /// So many at a time, so that memory is given back soon.
    const AT_ONCE: u64 = 1024;
    let base = sys::memory::base_page_bytes();
    let mut left = pages;
    while left > 0 {
        let now = left.min(AT_ONCE);
        let Ok(mut mapping) = Mapping::new(now as usize * base, Pages::Base) else { return };
        for word in mapping.integers_mut().iter_mut().step_by(base / size_of::<u64>()) {
            *std::hint::black_box(word) = 1;
        }
        left -= now;
    }
}

/// Longer than the kernel takes to find another thread, or to idle.
const NAP: Duration = Duration::from_micros(100);

fn sleep(times: u64) {
    (0..times).for_each(|_| std::thread::sleep(NAP));
}

/// Moves so many times, and comes back in the end.
fn move_between(cpus: [CpuId; 2], times: u64) {
    let to = |cpu: CpuId| drop(sys::affinity::restrict(&CpuSet::from_iter([cpu])));
    (1..=times).for_each(|turn| to(cpus[turn as usize % 2]));
}

/// Sizes of the data caches of a CPU, the nearest first.
pub(super) fn caches(machine: &Machine, cpu: CpuId) -> Vec<u64> {
    let topology = facts::topology(machine);
    let mut levels: Vec<(u8, u64)> = topology
        .caches
        .iter()
        .filter(|cache| cache.kind != CacheKind::Instruction)
        .filter(|cache| cache.instances.iter().any(|cpus| cpus.contains(cpu)))
        .filter_map(|cache| Some((cache.level, cache.bytes?)))
        .collect();
    levels.sort_unstable();
    levels.dedup_by_key(|level| level.0);
    levels.into_iter().map(|level| level.1).collect()
}
