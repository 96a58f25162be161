//! Regions: stretches of a program that threads enter and leave as they like, nested or overlapping.
//!
//! A thread has counters of its own, open all the time: entering a region reads each of them and the stamp
//! clock, leaving it reads them again, and the differences are summed by region. Whoever asks for the sums
//! may be another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

use kernels::empty_loop::count_down;
use machine::Machine;
use machine::instruments::clock::{StampSource, calibrate};
use machine::perf::{Reader, Sample, core_pmu};
use model::record::EventCount;
use model::ticks::Stamp;
use model::{CpuId, Known, Obstacle, Rate, Reading, Unavailable};
use serde::Serialize;
use sys::clock::Probe;
use sys::perf_open::Modes;

use super::api::EventList;
use super::pass::OpenCounters;
use super::plan::{of_another_kind, plan};
use super::sections::first_reading;
use super::{anchors, base, counted_by, needs_counter, sanity_loop, unit_of};
use crate::events::Encoded;

/// How many regions a thread has room for.
pub const REGIONS_MAX: usize = 256;

/// What the measurement itself costs is measured in a row of its own.
const OWN: usize = REGIONS_MAX;

/// What regions are measured with: events as one machine encodes them, and its stamp clock.
#[derive(Debug, Clone)]
pub struct RegionPlan {
    events: Vec<Encoded>,
    source: StampSource,
    rate: Rate<Stamp>,
}

impl RegionPlan {
    /// Looks events up, and calibrates the stamp clock, which takes about 70 ms on a real machine.
    /// Without events: instructions, cycles and reference cycles.
    ///
    /// # Error
    /// Where a name means nothing, or nothing can be executed on the machine: it is a capture.
    pub fn of<E: EventList + ?Sized>(machine: &Machine, events: &E) -> Reading<RegionPlan> {
        if let Some(elsewhere) = &machine.elsewhere {
            let why = format!("nothing can be counted on {elsewhere}");
            return Err(Unavailable::new(Obstacle::Cpudyno, "regions", why)
                .with_remedy("count on the machine itself"));
        }
        let mut events = events.encoded(machine)?;
        if events.is_empty() {
            events = base(machine, machine.perf.current_cpu().unwrap_or(CpuId(0)));
        }
        let clock = calibrate(machine)?;
        Ok(RegionPlan { events, source: clock.source, rate: clock.rate })
    }

    /// The names of the events.
    pub fn events(&self) -> impl Iterator<Item = &str> {
        self.events.iter().map(|event| event.name.as_str())
    }
}

/// Why a region was not entered or left; nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionRefusal {
    /// There is no room for a region of that number.
    Unknown,
    /// The thread is in it already.
    Entered,
    /// The thread is not in it.
    NotEntered,
    /// The thread is entering or leaving it: a signal handler interrupted that.
    Changing,
}

/// The counters of a thread, and what they have summed. They are those of the thread that opened them,
/// which cannot be sent to another one.
pub struct RegionCounters {
    machine: Machine,
    readers: Vec<Reader>,
    source: StampSource,
    sums: Arc<RegionSums>,
}

/// What a thread has summed, for all to read.
#[derive(Debug)]
pub struct RegionSums {
    events: Vec<RegionEvent>,
    rows: Box<[RegionRow]>,
    rate: Rate<Stamp>,
    own_ticks: u64,
}

/// An event, and which reader counts it or why none does.
#[derive(Debug)]
struct RegionEvent {
    event: Encoded,
    reader: Reading<usize>,
    way: Option<&'static str>,
    /// What entering and leaving a region count by themselves.
    own: u64,
}

/// A region of a thread. The thread alone writes it; what others read is odd in `version` while it moves.
#[derive(Debug)]
struct RegionRow {
    state: AtomicU8,
    version: AtomicU32,
    calls: AtomicU64,
    /// Calls in which each counter had its place all the time.
    counted: AtomicU64,
    ticks: AtomicU64,
    begun: AtomicU64,
    counts: Box<[RegionCount]>,
}

#[derive(Debug, Default)]
struct RegionCount {
    begun: AtomicU64,
    waited_ns: AtomicU64,
    /// In the call that ended last.
    moved: AtomicU64,
    sum: AtomicU64,
}

const OUTSIDE: u8 = 0;
const INSIDE: u8 = 1;
/// Inside, and a counter could not be read on the way in.
const UNREAD: u8 = 2;
const CHANGING: u8 = 3;

/// What one region took, of one thread or of several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionTotal {
    /// How often it was left.
    pub calls: u64,
    /// In how many of those calls each counter had its place on the hardware: the counts are of these.
    pub counted: u64,
    /// For how long threads were inside in those that ended, without what the measurement itself takes.
    pub seconds: Known<f64>,
    /// Threads that are inside, whose calls have not ended.
    pub inside: u64,
    /// The events; those without a count have the reason.
    pub events: Vec<EventCount>,
}

impl RegionCounters {
    /// Opens counters of the calling thread in user mode. An event that cannot be counted here has a
    /// reason among the sums; time is measured anyway.
    ///
    /// # Error
    /// Where the events do not fit on the counters together.
    pub fn open(machine: Machine, plan: &RegionPlan) -> Reading<RegionCounters> {
        let mut readers = Vec::new();
        let events = opened(&machine, &plan.events)?.into_iter().map(|(event, reader)| {
            let way = reader.as_ref().ok().map(|reader| reader.way().name());
            let reader = reader.map(|reader| {
                readers.push(reader);
                readers.len() - 1
            });
            RegionEvent { event, reader, way, own: 0 }
        });
        let events: Vec<RegionEvent> = events.collect();
        let rows = (0..=OWN).map(|_| RegionRow::new(readers.len())).collect();
        let sums = Arc::new(RegionSums { events, rows, rate: plan.rate, own_ticks: 0 });
        let mut counters = RegionCounters { machine, readers, source: plan.source, sums };
        counters.measure_own();
        counters.sing();
        Ok(counters)
    }

    /// What it has summed, for other threads.
    pub fn sums(&self) -> Arc<RegionSums> {
        Arc::clone(&self.sums)
    }

    /// The machine that it counts on.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Enters a region. No allocation, no lock; no system call where counters are read by instruction.
    ///
    /// # Error
    /// Where the thread is inside already.
    #[inline]
    pub fn enter(&self, region: usize) -> Result<(), RegionRefusal> {
        let row = self.sums.rows[..REGIONS_MAX].get(region).ok_or(RegionRefusal::Unknown)?;
        self.begin(row)
    }

    /// Leaves a region, and adds what happened inside to its sums. As cheap as entering it.
    ///
    /// # Error
    /// Where the thread is not inside.
    #[inline]
    pub fn leave(&self, region: usize) -> Result<(), RegionRefusal> {
        // The stamp comes first, so that nothing of ours is inside.
        let ended = self.ticks();
        let row = self.sums.rows[..REGIONS_MAX].get(region).ok_or(RegionRefusal::Unknown)?;
        self.end(row, ended)
    }

    /// Forgets what this thread has summed in a region. It may be inside.
    ///
    /// # Error
    /// Where there is no room for such a region, or a signal handler interrupted a change of it.
    pub fn reset(&self, region: usize) -> Result<(), RegionRefusal> {
        let row = self.sums.rows[..REGIONS_MAX].get(region).ok_or(RegionRefusal::Unknown)?;
        let state = row.claim(|_| Ok(()))?;
        row.written(|| row.clear());
        row.change(state);
        Ok(())
    }

    /// Goes so many times through a loop of two instructions, one of them a branch: counts that are
    /// known, to try regions out. A simulated machine does it by its model.
    ///
    /// # Error
    /// Where a model does not know it.
    pub fn execute_loop(&self, trips: u64) -> Reading<()> {
        match &self.machine.simulated {
            None => count_down(trips),
            Some(model) => model.execute("loop", 1, trips)?,
        }
        Ok(())
    }

    #[inline]
    fn begin(&self, row: &RegionRow) -> Result<(), RegionRefusal> {
        row.claim(|state| if state == OUTSIDE { Ok(()) } else { Err(RegionRefusal::Entered) })?;
        let mut inside = INSIDE;
        for (reader, count) in self.readers.iter().zip(&row.counts) {
            match reader.read() {
                Ok(Sample { value, waited_ns, .. }) => {
                    count.begun.store(value, Ordering::Relaxed);
                    count.waited_ns.store(waited_ns, Ordering::Relaxed);
                }
                Err(_) => inside = UNREAD,
            }
        }
        // What is stored next is what the clock says last.
        row.begun.store(self.ticks(), Ordering::Relaxed);
        row.change(inside);
        Ok(())
    }

    #[inline]
    fn end(&self, row: &RegionRow, ended: u64) -> Result<(), RegionRefusal> {
        let is_in = |state| if state == OUTSIDE { Err(RegionRefusal::NotEntered) } else { Ok(()) };
        let mut whole = row.claim(is_in)? == INSIDE;
        // Readings are nested like brackets.
        for (reader, count) in self.readers.iter().zip(&row.counts).rev() {
            let read = reader.read().ok().and_then(|sample| {
                let had_place = sample.waited_ns == count.waited_ns.load(Ordering::Relaxed);
                // A counter that falls says nothing.
                let moved = sample.value.checked_sub(count.begun.load(Ordering::Relaxed));
                moved.filter(|_| had_place)
            });
            whole &= read.is_some();
            count.moved.store(read.unwrap_or(0), Ordering::Relaxed);
        }
        row.written(|| row.add(ended, whole));
        row.change(OUTSIDE);
        Ok(())
    }

    #[inline]
    fn ticks(&self) -> u64 {
        match self.source {
            StampSource::Tsc(tsc) => tsc.stamp(),
            StampSource::Cntvct(timer) => timer.stamp(),
            StampSource::MonotonicRaw(clock) => clock.stamp(),
            StampSource::Simulated => {
                self.machine.perf.ticks().expect("BUG: every model has a stamp clock")
            }
        }
    }

    /// What a region without anything inside takes: the least of many that follow each other at once.
    fn measure_own(&mut self) {
        const TIMES: usize = 100;
        let mut own_ticks = u64::MAX;
        let mut own = vec![u64::MAX; self.readers.len()];
        for _ in 0..TIMES {
            let row = &self.sums.rows[OWN];
            row.clear();
            let ended = self.begin(row).map(|()| self.ticks());
            if ended.and_then(|ended| self.end(row, ended)).is_err() {
                continue;
            }
            own_ticks = own_ticks.min(row.ticks.load(Ordering::Relaxed));
            // Where a counter lost its place, what it says is nothing.
            if row.counted.load(Ordering::Relaxed) == 0 {
                continue;
            }
            for (own, count) in own.iter_mut().zip(&row.counts) {
                *own = (*own).min(count.moved.load(Ordering::Relaxed));
            }
        }
        let sums = Arc::get_mut(&mut self.sums).expect("BUG: nobody else has them yet");
        sums.own_ticks = own_ticks;
        for event in &mut sums.events {
            let Ok(reader) = event.reader else { continue };
            match own[reader] {
                u64::MAX => event.reader = Err(never_counted(&event.event.name)),
                own => event.own = own,
            }
        }
    }

    /// Counts a loop whose counts are known: an event that counts it wrongly is not believed, and none
    /// of the core's where instructions are wrong.
    fn sing(&mut self) {
        let row = &self.sums.rows[OWN];
        row.clear();
        let sung =
            self.begin(row).is_ok() && sanity_loop::sing(self.machine.simulated.as_ref()).is_ok();
        let ended = self.ticks();
        let is_whole = self.end(row, ended).is_ok() && row.counted.load(Ordering::Relaxed) == 1;
        // Whose counters have no place in this moment may have them later, and the sums say when not.
        if !sung || !is_whole {
            return;
        }
        let wrong = |event: &RegionEvent| {
            let moved = row.counts[*event.reader.as_ref().ok()?].moved.load(Ordering::Relaxed);
            let counted = moved.saturating_sub(event.own);
            sanity_loop::wrong(&event.event, counted, Modes::User, sanity_loop::JUST_BEFORE)
        };
        let verdicts: Vec<Option<String>> = self.sums.events.iter().map(wrong).collect();
        let is_anchor = |event: &RegionEvent| event.event.name == anchors()[0];
        let anchor =
            self.sums.events.iter().position(is_anchor).and_then(|at| verdicts[at].clone());
        let sums = Arc::get_mut(&mut self.sums).expect("BUG: nobody else has them yet");
        for (event, verdict) in sums.events.iter_mut().zip(verdicts) {
            let shared = anchor.clone().filter(|_| needs_counter(&event.event));
            if let Some(why) = verdict.or(shared).filter(|_| event.reader.is_ok()) {
                event.reader = Err(sanity_loop::rejected(&event.event.name, why));
            }
        }
    }
}

/// Each of the events with its counter, or why it has none.
type Opened = Vec<(Encoded, Reading<Reader>)>;

fn opened(machine: &Machine, asked: &[Encoded]) -> Reading<Opened> {
    let cpu = machine.perf.current_cpu().unwrap_or(CpuId(0));
    let pmu = core_pmu(machine, cpu);
    let plan = plan(machine, cpu, asked);
    let refusal = |event: &Encoded| {
        let of_plan = |absent: &&super::Absent| plan.events[absent.event].is_same(event);
        let planned = plan.absent.iter().find(of_plan).map(|absent| absent.why.clone());
        of_another_kind(event, pmu.as_deref()).or(planned)
    };
    let (mut here, mut events): (Vec<&Encoded>, Opened) = (Vec::new(), Vec::new());
    for event in asked {
        match refusal(event) {
            None => here.push(event),
            Some(reason) => events.push((event.clone(), Err(reason))),
        }
    }
    let together: Vec<Encoded> = here.iter().map(|event| (*event).clone()).collect();
    plan.together(&together)?;
    let readers = OpenCounters::of(machine, &here, Modes::User).readers();
    for (event, reader) in together.into_iter().zip(readers) {
        let reader = reader.and_then(|reader| first_reading(&event, &reader).map(|_| reader));
        events.push((event, reader));
    }
    events.sort_by_key(|(event, _)| asked.iter().position(|it| it.name == event.name));
    Ok(events)
}

impl RegionRow {
    fn new(readers: usize) -> RegionRow {
        RegionRow {
            state: AtomicU8::new(OUTSIDE),
            version: AtomicU32::new(0),
            calls: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            counts: (0..readers).map(|_| RegionCount::default()).collect(),
        }
    }

    /// Takes the row for a change, from the state that it gives. A signal handler may do the same between any two
    /// instructions of its thread.
    #[inline]
    fn claim(
        &self,
        is_allowed: impl Fn(u8) -> Result<(), RegionRefusal>,
    ) -> Result<u8, RegionRefusal> {
        loop {
            let state = self.state.load(Ordering::Relaxed);
            if state == CHANGING {
                return Err(RegionRefusal::Changing);
            }
            is_allowed(state)?;
            let order = (Ordering::Relaxed, Ordering::Relaxed);
            if self.state.compare_exchange(state, CHANGING, order.0, order.1).is_ok() {
                compiler_fence(Ordering::SeqCst);
                return Ok(state);
            }
        }
    }

    /// Enters a state, as signal handlers of the thread see it, too.
    #[inline]
    fn change(&self, state: u8) {
        compiler_fence(Ordering::SeqCst);
        self.state.store(state, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// Writes what others read: its version is odd meanwhile.
    #[inline]
    fn written(&self, write: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        write();
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    #[inline]
    fn add(&self, ended: u64, whole: bool) {
        // The thread is the only one that writes.
        let add = |to: &AtomicU64, more: u64| {
            to.store(to.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        };
        add(&self.calls, 1);
        add(&self.ticks, ended.wrapping_sub(self.begun.load(Ordering::Relaxed)));
        if whole {
            add(&self.counted, 1);
            for count in &self.counts {
                add(&count.sum, count.moved.load(Ordering::Relaxed));
            }
        }
    }

    fn clear(&self) {
        let sums = self.counts.iter().map(|count| &count.sum);
        for it in [&self.calls, &self.counted, &self.ticks].into_iter().chain(sums) {
            it.store(0, Ordering::Relaxed);
        }
    }

    /// Calls, counted calls, ticks and the sums, of one moment; none where the thread never rests.
    fn read(&self) -> Option<([u64; 3], Vec<u64>)> {
        /// A thread writes in nanoseconds.
        const ATTEMPTS: usize = 10_000;
        for attempt in 0..ATTEMPTS {
            let before = self.version.load(Ordering::Acquire);
            let head =
                [&self.calls, &self.counted, &self.ticks].map(|it| it.load(Ordering::Relaxed));
            let sums = self.counts.iter().map(|count| count.sum.load(Ordering::Relaxed)).collect();
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == before {
                return Some((head, sums));
            }
            // The writer may have lost its CPU.
            if attempt > ATTEMPTS / 2 {
                std::thread::yield_now();
            }
        }
        None
    }
}

impl RegionSums {
    /// What a region took in this thread so far.
    ///
    /// # Error
    /// Where there is no room for such a region, or the thread never rests in it.
    pub fn total(&self, region: usize) -> Reading<RegionTotal> {
        let absent = |why| Unavailable::new(Obstacle::Measurement, "sums of a region", why);
        let row = self.rows[..REGIONS_MAX].get(region);
        let row = row.ok_or_else(|| absent("there is no such region"))?;
        let ([calls, counted, ticks], sums) =
            row.read().ok_or_else(|| absent("its thread changes them all the time"))?;
        let ticks = ticks.saturating_sub(self.own_ticks.saturating_mul(calls));
        let events = self.events.iter().map(|event| event.count(calls, counted, &sums)).collect();
        Ok(RegionTotal {
            calls,
            counted,
            seconds: Known::from(match calls {
                0 => Err(not_left("seconds in the region")),
                _ => Ok(ticks as f64 / self.rate.hertz().0),
            }),
            inside: u64::from(row.state.load(Ordering::Relaxed) != OUTSIDE),
            events,
        })
    }
}

/// Why there is nothing to tell of a region.
fn not_left(what: &str) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, what, "no thread has left the region yet")
}

impl RegionEvent {
    fn count(&self, calls: u64, counted: u64, sums: &[u64]) -> EventCount {
        let own = self.own.saturating_mul(counted);
        let count = self.reader.clone().and_then(|reader| {
            let why = match (calls, counted) {
                (_, 1..) => return Ok(sums[reader].saturating_sub(own)),
                (0, _) => return Err(not_left(&self.event.name)),
                _ => format!("a counter was off the hardware in each of {calls} calls"),
            };
            Err(Unavailable::new(Obstacle::Measurement, &self.event.name, why))
        });
        let is_known = count.is_ok();
        EventCount {
            event: self.event.name.clone(),
            by: counted_by(&self.event),
            unit: unit_of(&self.event),
            count: Known::from(count),
            own: is_known.then_some(own),
            way: self.way.filter(|_| is_known).map(str::to_owned),
        }
    }
}

impl RegionTotal {
    /// The same with what another thread took. A count that one of them lacks although it was inside is
    /// not known of both.
    #[must_use]
    pub fn with(self, other: RegionTotal) -> RegionTotal {
        let inside = self.inside + other.inside;
        if self.calls == 0 || other.calls == 0 {
            let one = if self.calls == 0 { other } else { self };
            return RegionTotal { inside, ..one };
        }
        let seconds = both(self.seconds, other.seconds, |one, other| one + other);
        let events = self.events.into_iter().zip(other.events);
        RegionTotal {
            calls: self.calls + other.calls,
            counted: self.counted + other.counted,
            seconds,
            inside,
            events: events.map(|(one, other)| sum(one, other)).collect(),
        }
    }
}

/// The counts of an event in two threads as one.
fn sum(one: EventCount, other: EventCount) -> EventCount {
    EventCount {
        count: both(one.count, other.count, |one, other| one + other),
        own: one.own.zip(other.own).map(|(one, other)| one + other),
        // Read by two ways: there is no one way to name.
        way: one.way.filter(|way| other.way.as_ref() == Some(way)),
        ..one
    }
}

/// What is known of two where each is known.
fn both<T>(one: Known<T>, other: Known<T>, sum: impl FnOnce(T, T) -> T) -> Known<T> {
    match (one, other) {
        (Known::Yes(one), Known::Yes(other)) => Known::Yes(sum(one, other)),
        (reason @ Known::No { .. }, _) | (_, reason @ Known::No { .. }) => reason,
    }
}

/// Why an event of which not even nothing could be counted has no count.
fn never_counted(event: &str) -> Unavailable {
    let why = "its counter lost its place whenever an empty region was counted";
    Unavailable::new(Obstacle::Measurement, event, why).with_remedy("count fewer events at once")
}
