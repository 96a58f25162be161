//! Threads that move data.

use std::collections::BTreeMap;
use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kernels::memory::chase::{Ring, STEPS_AT_ONCE};
use kernels::memory::{self, Mover, WrongNumber};
use machine::instruments::traffic::TrafficCounters;
use model::ticks::Stamp;
use model::{CpuId, Pages, Seconds, Ticks};
use sys::clock::Probe;
use sys::memory::Mapping;

use super::super::super::job::{Around, Interval, Manner, Tools};
use super::super::super::traffic::{
    Begin, Content, CountedTraffic, Party, Placed, RawParty, RawTraffic, Store, Stretch, Task,
    Traffic, Transfer,
};
use super::super::RunError;
use super::neighbour::Street;
use super::purse;
use super::{Call, Meeting, Threads, difference};

/// Memory of each thread, kept so that later jobs find it touched.
#[derive(Default)]
pub(super) struct Stores(Mutex<BTreeMap<StoreKey, Kept>>);

/// What memory is told apart by: its size may grow.
type StoreKey = (CpuId, Content, Pages, Option<u32>);

/// Memory, and where the next moving trip begins in it.
struct Kept {
    mapping: Mapping,
    store: Store,
    /// Moving trips so far.
    moved: u64,
}

fn place(cpu: CpuId, store: &Store) -> StoreKey {
    (cpu, store.content, store.pages, store.node)
}

impl Stores {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<StoreKey, Kept>> {
        // What a thread that panicked has left behind is whole: entries are moved in and out.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory of a thread, touched by this one where it is new.
    fn take(&self, cpu: CpuId, store: Store) -> Result<Kept, RunError> {
        let kept = self.lock().remove(&place(cpu, &store));
        if let Some(kept) = kept.filter(|kept| kept.store.bytes >= store.bytes) {
            return Ok(kept);
        }
        let refused = |source| RunError::Memory { cpu, store, source };
        let mut mapping = Mapping::new(store.bytes as usize, store.pages).map_err(refused)?;
        if let Some(node) = store.node {
            mapping.bind(node).map_err(refused)?;
        }
        if store.pages.reserved_bytes().is_some() {
            // Where none is left on the node this is an error, and a touch would be a signal.
            mapping.populate(0..mapping.bytes()).map_err(refused)?;
        }
        let mut kept = Kept { mapping, store, moved: 0 };
        if let Content::Arrays(_) = store.content {
            memory::fill(kept.arrays(), 0);
        }
        Ok(kept)
    }

    /// How long it may take until the memory of these threads is there, as far as it is new: on a machine that others
    /// use too the kernel hands out pages slowly, and that is no hang.
    pub(super) fn first_touch(&self, wanted: impl Iterator<Item = (CpuId, Store)>) -> Seconds {
        const SLOWEST_BYTES_PER_SECOND: f64 = 256e6;
        let kept = self.lock();
        let is_new = |(cpu, store): &(CpuId, Store)| {
            kept.get(&place(*cpu, store)).is_none_or(|kept| kept.store.bytes < store.bytes)
        };
        let bytes: u64 = wanted.filter(is_new).map(|(_, store)| store.bytes).sum();
        Seconds(bytes as f64 / SLOWEST_BYTES_PER_SECOND)
    }

    /// Gives back what is more than so many bytes, the largest first, but for those that are wanted; the bytes that it
    /// holds beside them then.
    pub(super) fn keep(&self, most: u64, wanted: &[(CpuId, Store)]) -> u64 {
        let mut kept = self.lock();
        let is_wanted = |of: &StoreKey| wanted.iter().any(|(cpu, store)| place(*cpu, store) == *of);
        let mut beside: Vec<(u64, StoreKey)> = kept
            .iter()
            .filter(|(place, _)| !is_wanted(place))
            .map(|(place, kept)| (purse::bytes(&kept.store), *place))
            .collect();
        beside.sort_unstable();
        let mut held: u64 = beside.iter().map(|(bytes, _)| bytes).sum();
        while held > most
            && let Some((bytes, place)) = beside.pop()
        {
            kept.remove(&place);
            held -= bytes;
        }
        held
    }

    /// Bytes of what a thread will hold there: what is kept may be larger than it wants.
    pub(super) fn would_hold(&self, (cpu, store): &(CpuId, Store)) -> u64 {
        let kept = self.lock().get(&place(*cpu, store)).map_or(0, |kept| purse::bytes(&kept.store));
        kept.max(purse::bytes(store))
    }

    /// Bytes of all that is kept.
    pub(super) fn held(&self) -> u64 {
        self.lock().values().map(|kept| purse::bytes(&kept.store)).sum()
    }

    /// Keeps memory that nobody works in.
    #[cfg(test)]
    pub(super) fn touch(&self, cpu: CpuId, store: Store) -> Result<(), RunError> {
        self.put(cpu, self.take(cpu, store)?);
        Ok(())
    }

    fn put(&self, cpu: CpuId, kept: Kept) {
        self.lock().insert(place(cpu, &kept.store), kept);
    }

    /// Where all of it lies.
    pub(super) fn placed(&self) -> Vec<Placed> {
        let of = |(place, kept): (&StoreKey, &Kept)| Placed {
            cpu: place.0,
            store: kept.store,
            range: (kept.mapping.address(), kept.mapping.bytes()),
        };
        self.lock().iter().map(of).collect()
    }
}

/// The arrays of a store: `a` to `d`, as far as there are so many.
type Views<'a> = [&'a mut [f64]; 4];

impl Kept {
    fn arrays(&mut self) -> Views<'_> {
        let elements = self.store.elements() as usize;
        let Content::Arrays(count) = self.store.content else {
            panic!("BUG: a ring has no arrays");
        };
        let stride = self.store.bytes as usize / 8 / count as usize;
        let words = &mut self.mapping.words_mut()[..stride * count as usize];
        let mut parts = words.chunks_mut(stride).map(|part| &mut part[..elements]);
        let mut part = || parts.next().unwrap_or_default();
        // What only reads needs one array, and that is `b`; what only writes finds `a` there.
        let (b, a, c, d) = (part(), part(), part(), part());
        [a, b, c, d]
    }
}

/// A mover on its way through arrays.
struct Passage<'a> {
    mover: Mover,
    arrays: Views<'a>,
    elements: usize,
    /// Of moving trips, the parts of the arrays that they go over in turns; else one.
    windows: u64,
    /// Trips before this job.
    begun: u64,
    /// Trips since the arrays were prepared.
    trips: u64,
    /// What kernels that only read have returned: of all trips, or of each in the first windows.
    sums: Vec<f64>,
}

impl<'a> Passage<'a> {
    /// More windows than this are not looked at: each has been gone over by the same code.
    const CHECKED_MAX: u64 = 64;

    fn new(mover: Mover, arrays: Views<'a>, elements: usize, moving: bool, begun: u64) -> Self {
        let [a, b, c, d] = arrays;
        let is_alone = a.is_empty() && mover.kernel().writes > 0;
        let arrays = if is_alone { [b, a, c, d] } else { [a, b, c, d] };
        let room = arrays.iter().map(|array| array.len()).max().unwrap_or(0);
        let windows = if moving { (room / elements.max(1)).max(1) as u64 } else { 1 };
        let sums = Vec::with_capacity(Self::CHECKED_MAX as usize);
        Passage { mover, arrays, elements, windows, begun, trips: 0, sums }
    }

    /// Bytes that it goes through again and again.
    fn footprint(&self) -> usize {
        let arrays = self.mover.kernel().arrays as usize;
        self.elements * self.windows as usize * arrays * size_of::<f64>()
    }

    /// The first element of a trip.
    fn first(&self, trip: u64) -> usize {
        ((self.begun + trip) % self.windows) as usize * self.elements
    }

    /// The arrays from an element on, those that the kernel does not use being empty.
    fn part(&mut self, first: usize, elements: usize) -> memory::Arrays<'_> {
        let [a, b, c, d] = self.arrays.each_mut().map(|array| {
            let end = (first + elements).min(array.len());
            &mut array[first.min(end)..end]
        });
        memory::Arrays { a, b, c, d }
    }

    /// Trips over the first elements that nobody counts.
    fn unseen(&mut self, elements: usize) {
        let mover = self.mover;
        mover.run(&mut self.part(0, elements));
    }

    /// Makes sure that the check will see what trips have done from now on.
    fn prepare(&mut self) {
        let mover = self.mover;
        for window in 0..self.windows.min(Self::CHECKED_MAX) {
            let (first, elements) = (self.first(window), self.elements);
            mover.prepare(self.part(first, elements).a, first as u64);
        }
    }

    /// So many trips, one after the other.
    fn go(&mut self, trips: u64) {
        let (mover, elements) = (self.mover, self.elements);
        if self.windows == 1 {
            let sum = mover.run_trips(&mut self.part(0, elements), trips);
            self.trips += trips;
            match self.sums.first_mut() {
                Some(sums) => *sums += sum,
                None => self.sums.push(sum),
            }
            return;
        }
        for _ in 0..trips {
            let first = self.first(self.trips);
            let sum = mover.run(&mut self.part(first, elements));
            self.trips += 1;
            if self.trips <= Self::CHECKED_MAX {
                self.sums.push(sum);
            }
        }
    }

    /// The largest relative error of the answers.
    fn check(&mut self) -> Result<f64, WrongNumber> {
        let (mover, elements, reads) = (self.mover, self.elements, self.mover.kernel().writes == 0);
        if self.windows == 1 {
            let (trips, sum) = (self.trips, self.sums.first().copied().unwrap_or(0.0));
            return mover.check(&self.part(0, elements), 0, trips, sum);
        }
        let checked = self.trips.min(self.windows).min(Self::CHECKED_MAX);
        (0..checked).try_fold(0.0, |worst: f64, trip| {
            // Every further turn through all windows visits this one again; sums are those of one trip.
            let visits = if reads { 1 } else { (self.trips - trip).div_ceil(self.windows) };
            let (first, sum) = (self.first(trip), self.sums[trip as usize]);
            let error = mover.check(&self.part(first, elements), first as u64, visits, sum)?;
            Ok(worst.max(error))
        })
    }
}

/// What the members of a job share beside the place where they meet.
struct Shared {
    /// The most trips that any member needs for the target.
    trips: AtomicU64,
    /// How often a member that is no background was through with a repetition.
    through: AtomicU64,
    /// How many of them there are.
    foreground: u64,
    /// What the first member reads around each repetition.
    counters: Option<Arc<TrafficCounters>>,
    /// What it read.
    counted: Mutex<Vec<[CountedTraffic; 2]>>,
}

/// One member at work.
struct Hauler<'a, P> {
    probe: P,
    party: &'a Party,
    job: &'a Traffic,
    meeting: &'a Meeting,
    shared: &'a Shared,
    /// Whether it is the first member.
    leads: bool,
    ruler: Call,
    ticks_per_second: f64,
}

impl<P: Probe> Threads<P> {
    pub(super) fn move_data(
        &self,
        job: &Traffic,
        tools: &Tools,
        counters: Option<&Arc<TrafficCounters>>,
    ) -> Result<RawTraffic, RunError> {
        let counters = counters.filter(|_| job.is_countable()).cloned();
        let foreground = job.members.iter().filter(|party| !party.background).count() as u64;
        let (trips, through) = (AtomicU64::new(1), AtomicU64::new(0));
        let counted = Mutex::default();
        let shared = Arc::new(Shared { trips, through, foreground, counters, counted });
        let (rig, job, tools) = (Arc::clone(&self.rig), job.clone(), *tools);
        let of_all = Arc::clone(&shared);
        let members = self.together(&job.cpus(), Manner::USUAL, move |index, meeting| {
            let party = &job.members[index];
            let mut kept = rig.stores.take(party.cpu, party.store)?;
            let hauler = Hauler {
                probe: rig.probe,
                party,
                job: &job,
                meeting,
                shared: &of_all,
                leads: index == 0,
                ruler: Call::of(tools.ruler),
                ticks_per_second: rig.rate.hertz().0,
            };
            let raw = hauler.run(&mut kept);
            rig.stores.put(party.cpu, kept);
            raw
        })?;
        let mut counted = shared.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = std::mem::take(&mut *counted);
        Ok(RawTraffic { members, counted })
    }
}

/// Moves data in memory of its own, trip after trip, until nobody needs it any more; then that memory goes
/// back, for the next block beside the same neighbour.
pub(super) fn move_until(
    cpu: CpuId,
    (stores, store): (&Stores, Store),
    (transfer, elements): (Transfer, u64),
    street: &Street,
) -> Result<(), RunError> {
    let Some(mover) = transfer.mover else {
        panic!("BUG: `{}` is simulated, threads cannot run it", transfer.kernel.id);
    };
    let mut kept = stores.take(cpu, store)?;
    let mut passage = Passage::new(mover, kept.arrays(), elements as usize, false, 0);
    passage.prepare();
    street.move_in();
    while !street.is_over() {
        passage.go(1);
    }
    stores.put(cpu, kept);
    Ok(())
}

impl<P: Probe> Hauler<'_, P> {
    fn run(&self, kept: &mut Kept) -> Result<RawParty, RunError> {
        match self.party.task {
            Task::Trips { transfer, elements, moving, pause } => {
                self.trips(kept, transfer, elements as usize, moving, pause)
            }
            Task::Chase { chains, bytes, walk, begin } => {
                let memory = &mut kept.mapping.integers_mut()[..bytes as usize / 8];
                let ring = Ring::link(memory, walk, u64::from(self.party.cpu.0) + 1);
                self.chase(ring, chains, begin)
            }
        }
    }

    fn ticks(&self, duration: Seconds) -> u64 {
        (duration.0 * self.ticks_per_second) as u64
    }

    fn now(&self) -> u64 {
        self.probe.stamp()
    }

    fn interval(start: u64, end: u64) -> Interval {
        let at = Ticks::<Stamp>::new;
        Interval { start: at(start), end: at(end) }
    }

    fn trips(
        &self,
        kept: &mut Kept,
        transfer: Transfer,
        elements: usize,
        moving: bool,
        pause: Seconds,
    ) -> Result<RawParty, RunError> {
        let Some(mover) = transfer.mover else {
            panic!("BUG: `{}` is simulated, threads cannot run it", transfer.kernel.id);
        };
        let begun = kept.moved;
        let mut passage = Passage::new(mover, kept.arrays(), elements, moving, begun);
        let pace = self.warm(&mut passage);
        if !self.party.background {
            let wanted = (self.ticks(self.job.target) as f64 / pace.max(1.0)).ceil();
            self.shared.trips.fetch_max(wanted.clamp(1.0, 1e9) as u64, Ordering::AcqRel);
        }
        passage.prepare();
        self.meeting.wait()?;
        let trips = self.shared.trips.load(Ordering::Acquire);
        let before = sys::thread::usage().ok();
        let mut stretches = Vec::with_capacity(self.job.repetitions as usize);
        for repetition in 1..=u64::from(self.job.repetitions) {
            self.meeting.wait()?;
            stretches.push(if self.party.background {
                self.beside(&mut passage, repetition, pause)
            } else {
                let stretch = match self.shared.counters.as_deref() {
                    None => self.undisturbed(|| self.stretch(&mut passage, trips)),
                    Some(counters) => {
                        let counted = || self.counted(&mut passage, trips, counters);
                        let (stretch, counted) = self.undisturbed(counted)?;
                        self.note(counted);
                        stretch
                    }
                };
                self.shared.through.fetch_add(1, Ordering::AcqRel);
                stretch
            });
        }
        let around = self.around(before);
        let answer = Some(passage.check());
        kept.moved = begun + passage.trips;
        let rulers = Vec::new();
        Ok(RawParty { cpu: self.party.cpu, stretches, rulers, answer, around })
    }

    /// A repetition in which the kernel did not take the CPU away, if one of three is: what lasts a
    /// millisecond is ten times as long with another thread's slice in it. Others would have to repeat
    /// it too, so that this is for members alone. The switches are in the record.
    fn undisturbed<T>(&self, mut repetition: impl FnMut() -> T) -> T {
        let switches = || sys::thread::usage().ok().map(|usage| usage.involuntary_switches);
        let mut last = None;
        for _ in 0..self.tries() {
            let before = switches();
            last = Some(repetition());
            if switches() == before {
                break;
            }
        }
        last.expect("BUG: no try at all")
    }

    /// How often a repetition is executed at most.
    fn tries(&self) -> u64 {
        const TRIES: u64 = 3;
        if self.job.members.len() == 1 { TRIES } else { 1 }
    }

    /// One repetition: nothing happens between the stamps but trips (invariant I3).
    fn stretch(&self, passage: &mut Passage<'_>, trips: u64) -> Stretch {
        let start = self.now();
        passage.go(trips);
        Stretch { interval: Self::interval(start, self.now()), units: trips }
    }

    /// One repetition between two readings of the memory controllers by the first member: nobody moves
    /// data while they are read (invariant I3 holds between the stamps of the stretch).
    fn counted(
        &self,
        passage: &mut Passage<'_>,
        trips: u64,
        counters: &TrafficCounters,
    ) -> Result<(Stretch, Option<[CountedTraffic; 2]>), RunError> {
        let at = |stamp, counts| CountedTraffic { stamp: Ticks::new(stamp), counts };
        let before = self.leads.then(|| at(self.now(), counters.read()));
        self.meeting.wait()?;
        let stretch = self.stretch(passage, trips);
        self.meeting.wait()?;
        let counted = before.map(|before| {
            let counts = counters.read();
            [before, at(self.now(), counts)]
        });
        Ok((stretch, counted))
    }

    fn note(&self, counted: Option<[CountedTraffic; 2]>) {
        let mut all = self.shared.counted.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(counted);
    }

    /// Goes on, with pauses, until the others are through with this repetition.
    fn beside(&self, passage: &mut Passage<'_>, repetition: u64, pause: Seconds) -> Stretch {
        let pause = self.ticks(pause);
        let through = repetition * self.shared.foreground;
        let start = self.now();
        let mut units = 0;
        while self.shared.through.load(Ordering::Acquire) < through && !self.meeting.given_up() {
            passage.go(1);
            units += 1;
            let paused = self.now();
            while pause > 0 && self.now().saturating_sub(paused) < pause {
                hint::spin_loop();
            }
        }
        Stretch { interval: Self::interval(start, self.now()), units }
    }

    /// Brings clock, caches and translations to where they stay, and answers the ticks of one trip.
    fn warm(&self, passage: &mut Passage<'_>) -> f64 {
        /// Larger arrays than this are not in any cache after a trip; a part of them will do.
        const WHOLE_MAX: usize = 64 << 20;
        const PART: usize = 256 << 10;
        let (least, begun) = (self.ticks(Seconds(1e-3)), self.now());
        let part = if passage.footprint() > WHOLE_MAX { PART } else { passage.elements };
        let part = part.min(passage.elements);
        let mut pace = f64::INFINITY;
        loop {
            let start = self.now();
            passage.unseen(part);
            let end = self.now();
            pace = pace.min(end.saturating_sub(start) as f64);
            if end.saturating_sub(begun) >= least || self.meeting.given_up() {
                return pace / part.max(1) as f64 * passage.elements as f64;
            }
        }
    }

    fn chase(&self, mut ring: Ring<'_>, chains: usize, begin: Begin) -> Result<RawParty, RunError> {
        let lines = ring.lines() as u64;
        let pace = match begin {
            Begin::Lap => self.lap(&mut ring, chains, lines),
            Begin::Cold => {
                ring.flush();
                self.lap(&mut ring, chains, lines / 64)
            }
        };
        let wanted = (self.ticks(self.job.target) as f64 / pace.max(f64::MIN_POSITIVE)) as u64;
        let repetitions = u64::from(self.job.repetitions);
        let most = match begin {
            Begin::Lap => u64::MAX,
            // With what is walked unseen before each repetition, no line is visited twice.
            Begin::Cold => lines / chains as u64 * 3 / 4 / (repetitions * self.tries()).max(1),
        };
        let steps = wanted.clamp(1, (most / STEPS_AT_ONCE * STEPS_AT_ONCE).max(1));
        let unseen = if self.job.members.len() > 1 { steps / 4 } else { 0 };
        self.meeting.wait()?;
        let before = sys::thread::usage().ok();
        let mut stretches = Vec::with_capacity(repetitions as usize);
        let mut rulers = Vec::with_capacity(repetitions as usize);
        for _ in 0..repetitions {
            self.meeting.wait()?;
            // Loads beside it take a moment to get going.
            ring.walk(chains, unseen);
            let stretch = self.undisturbed(|| {
                let start = self.now();
                let units = ring.walk(chains, steps - unseen);
                Stretch { interval: Self::interval(start, self.now()), units }
            });
            rulers.push(Some(self.rule()));
            self.shared.through.fetch_add(1, Ordering::AcqRel);
            stretches.push(stretch);
        }
        let around = self.around(before);
        Ok(RawParty { cpu: self.party.cpu, stretches, rulers, answer: None, around })
    }

    /// Follows so many pointers in all, and answers the ticks of one step of all chains.
    fn lap(&self, ring: &mut Ring<'_>, chains: usize, lines: u64) -> f64 {
        const PIECE: u64 = 4096;
        let (mut left, mut pace) = ((lines / chains as u64).max(1), f64::NAN);
        while left > 0 && !self.meeting.given_up() {
            let start = self.now();
            let walked = ring.walk(chains, left.min(PIECE)).max(1);
            pace = self.now().saturating_sub(start) as f64 / walked as f64;
            left = left.saturating_sub(walked);
        }
        pace
    }

    /// Multiplies of the ruler for about 10 us: the clock of this moment.
    fn rule(&self) -> (Interval, u64) {
        const ITERATIONS: u64 = 100;
        // Once unseen: what it follows changes what is fixed about it.
        self.ruler.kernel.run(2, self.ruler.operands);
        let start = self.now();
        self.ruler.kernel.run(ITERATIONS, self.ruler.operands);
        (Self::interval(start, self.now()), ITERATIONS)
    }

    fn around(&self, before: Option<sys::thread::Usage>) -> Around {
        let moved = sys::thread::current_cpu() != Some(self.party.cpu);
        Around {
            settled: true,
            usage: before.zip(sys::thread::usage().ok()).map(|(b, after)| difference(b, after)),
            migrations: u64::from(moved),
            ..Around::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_memory_that_is_new_takes_time_until_it_is_there() {
        let stores = Stores::default();
        let of = |mebibytes: u64| Store::of_ring(mebibytes << 20, Pages::Base);
        let [here, there] = [CpuId(0), CpuId(1)];
        let both = stores.first_touch([(here, of(8)), (there, of(8))].into_iter());
        let one = stores.first_touch([(here, of(8))].into_iter());
        assert!(one.0 > 0.0);
        assert_eq!(both, one * 2.0);
        stores.put(here, stores.take(here, of(8)).unwrap());
        assert_eq!(stores.first_touch([(here, of(8))].into_iter()), Seconds(0.0));
        assert_eq!(stores.first_touch([(here, of(8)), (there, of(8))].into_iter()), one);
        // What grows comes anew.
        assert_eq!(stores.first_touch([(here, of(16))].into_iter()), both);
    }
}
