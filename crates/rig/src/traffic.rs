//! Jobs that move data: threads pass over arrays or follow pointers, all at the same time.
//!
//! Unlike streams, these have no cost per op that holds by itself: what one thread gets depends on
//! what the others take. So all members begin each repetition together, do the same work, and the
//! repetition lasts from the first beginning to the last end.

use kernels::memory::chase::Walk;
use kernels::memory::{MemoryKernel, Mover, Stores, Variant, WrongNumber};
use machine::instruments::traffic::{Carried, TrafficCounts};
use model::page::si;
use model::ticks::Stamp;
use model::{CpuId, Obstacle, Pages, Rate, Reading, Seconds, Ticks, Unavailable, Unit};

use super::job::{Around, Interval};

/// Members move data, each in memory of its own, all at the same time.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// Who moves what. One at least is no background.
    pub members: Vec<Party>,
    /// Timed repetitions.
    pub repetitions: u32,
    /// How long a repetition lasts at least: as many trips over the arrays as that takes, or one.
    pub target: Seconds,
}

/// A thread that takes part.
#[derive(Debug, Clone)]
pub struct Party {
    /// Where it runs.
    pub cpu: CpuId,
    /// The memory that it works in.
    pub store: Store,
    /// What it does there.
    pub task: Task,
    /// Whether it goes on until the others are through, instead of doing as much as they do.
    pub background: bool,
}

/// Memory of one thread, first touched by it and kept for later jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Store {
    /// What is in it.
    pub content: Content,
    /// Its size, in bytes: of all arrays together, or of the ring.
    pub bytes: u64,
    /// The pages that it is asked to come in.
    pub pages: Pages,
    /// The node that it must lie on; none: where the thread that touches it first runs.
    pub node: Option<u32>,
}

/// What memory is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    /// So many arrays of numbers, of equal length.
    Arrays(u32),
    /// Pointers that form one cycle.
    Ring,
}

/// Arrays begin so many bytes off the pages of each other: loads and stores at equal places of pages
/// would wait for each other (Intel's optimization manual, 4 KiB aliasing).
const OFFSET: u64 = 1088;

impl Store {
    /// Room for so many arrays of so many elements.
    pub fn of_arrays(arrays: u32, elements: u64, pages: Pages) -> Store {
        let bytes = ((elements * 8).next_multiple_of(4096) + OFFSET) * u64::from(arrays);
        Store { content: Content::Arrays(arrays), bytes, pages, node: None }
    }

    /// Room for a ring of so many bytes.
    pub fn of_ring(bytes: u64, pages: Pages) -> Store {
        Store { content: Content::Ring, bytes, pages, node: None }
    }

    /// Elements that each of its arrays has room for.
    pub fn elements(&self) -> u64 {
        match self.content {
            Content::Arrays(arrays) => (self.bytes / u64::from(arrays) - OFFSET) / 8,
            Content::Ring => 0,
        }
    }
}

impl Content {
    /// The word for it in records.
    pub fn word(self) -> &'static str {
        match self {
            Content::Arrays(_) => "arrays",
            Content::Ring => "ring",
        }
    }
}

/// What a thread does in its memory.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    /// Trips over the first elements of its arrays.
    Trips {
        /// What is done to each element.
        transfer: Transfer,
        /// Elements of each array in one trip.
        elements: u64,
        /// Whether each trip is over the next elements instead of the same ones, so that small trips
        /// find nothing in caches.
        moving: bool,
        /// Idle time after each stretch of 16 KiB or so; none for members that are no background.
        pause: Seconds,
    },
    /// Following pointers, one for each line.
    Chase {
        /// How many at once.
        chains: usize,
        /// The lines that the cycle goes through, in bytes.
        bytes: u64,
        /// Its order.
        walk: Walk,
        /// How it begins.
        begin: Begin,
    },
}

/// What a chase finds in caches when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// What following all pointers once has left there.
    Lap,
    /// Nothing: all lines were flushed to memory, and none is visited twice. For rings beyond all
    /// caches, where a lap would take longer than the measurement.
    Cold,
}

/// A kernel in one of its variants.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// The formula.
    pub kernel: &'static MemoryKernel,
    /// How it is executed.
    pub variant: &'static Variant,
    /// What executes it; none on a simulated machine.
    pub mover: Option<Mover>,
}

impl Transfer {
    /// Bytes of one trip over so many elements, as the program asks for them.
    pub fn asked_bytes(&self, elements: u64) -> u64 {
        elements * self.kernel.bytes_per_element()
    }

    /// How its stores reach memory.
    pub fn stores(&self) -> Stores {
        self.variant.stores
    }
}

impl Task {
    /// Bytes that one trip asks for; a chase has none.
    pub fn trip_bytes(&self) -> u64 {
        match self {
            Task::Trips { transfer, elements, .. } => transfer.asked_bytes(*elements),
            Task::Chase { .. } => 0,
        }
    }

    /// Bytes of memory that it goes through.
    pub fn footprint(&self) -> u64 {
        match self {
            Task::Trips { transfer, elements, .. } => {
                elements * 8 * u64::from(transfer.kernel.arrays)
            }
            Task::Chase { bytes, .. } => *bytes,
        }
    }
}

/// Elements of each array in a trip of a trial: with two arrays and more, beyond second-level caches.
const TRIAL_ELEMENTS: u64 = 512 << 10;

impl Traffic {
    /// A short look at the same: one short trip after the other over the whole of its arrays, so that
    /// caches hold none of it.
    #[must_use]
    pub fn trial(&self) -> Traffic {
        let mut trial = self.clone();
        (trial.repetitions, trial.target) = (2, Seconds(0.0));
        for party in &mut trial.members {
            if let Task::Trips { elements, moving, .. } = &mut party.task {
                *moving |= *elements > TRIAL_ELEMENTS;
                *elements = (*elements).min(TRIAL_ELEMENTS);
            }
        }
        trial
    }

    /// Whether counters can be read around its repetitions: nobody goes on while the others are through,
    /// and nobody follows pointers, which is too little to be told from what others move.
    pub fn is_countable(&self) -> bool {
        let moves = |party: &Party| matches!(party.task, Task::Trips { .. });
        self.members.iter().all(|party| moves(party) && !party.background)
    }

    /// The active CPUs; the first one is no background.
    pub fn cpus(&self) -> Vec<CpuId> {
        self.members.iter().map(|party| party.cpu).collect()
    }

    /// How long one block of it takes, as planned: what memory gives is known only when it was
    /// measured, so that this is what a slow core would take.
    pub fn duration(&self) -> Seconds {
        const BYTES_PER_SECOND: f64 = 8e9;
        /// A line that is linked, and followed once to warm up.
        const LINE: Seconds = Seconds(60e-9);
        const SHARING_MAX: f64 = 8.0;
        let moved: u64 = self.members.iter().map(|party| party.task.trip_bytes()).sum();
        let together = (self.members.len() as f64).min(SHARING_MAX);
        let trip = Seconds(moved as f64 / BYTES_PER_SECOND / together);
        let longest = if trip > self.target { trip } else { self.target };
        let prepared = self.members.iter().map(|party| match party.task {
            Task::Trips { .. } => Seconds(2e-3),
            Task::Chase { bytes, .. } => LINE * (bytes / 64) as f64,
        });
        let prepared = prepared.fold(Seconds(0.0), |a, b| if b > a { b } else { a });
        prepared + longest * f64::from(self.repetitions)
    }
}

/// What the members of a [`Traffic`] saw.
#[derive(Debug, Clone)]
pub struct RawTraffic {
    /// One for each member, in the order of the job.
    pub members: Vec<RawParty>,
    /// Where memory controllers are counted: readings before and after each repetition.
    pub counted: Vec<[CountedTraffic; 2]>,
}

/// A reading of the memory controllers.
#[derive(Debug, Clone)]
pub struct CountedTraffic {
    /// When: the first one's before, the second one's after all counters were read.
    pub stamp: Ticks<Stamp>,
    /// What they say.
    pub counts: Reading<TrafficCounts>,
}

/// What one member saw.
#[derive(Debug, Clone)]
pub struct RawParty {
    /// Where it ran.
    pub cpu: CpuId,
    /// One for each repetition.
    pub stretches: Vec<Stretch>,
    /// Multiplies of the ruler right after each repetition, where it follows pointers.
    pub rulers: Vec<Option<(Interval, u64)>>,
    /// The largest relative error of the answer, or the wrong number; none where nothing is computed.
    pub answer: Option<Result<f64, WrongNumber>>,
    /// What went on around it.
    pub around: Around,
}

/// A timed repetition.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// When.
    pub interval: Interval,
    /// Trips over the arrays, or pointers that each chain followed.
    pub units: u64,
}

/// Where memory of a thread lies.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// Whose it is.
    pub cpu: CpuId,
    /// What was asked for.
    pub store: Store,
    /// Its first address, and its bytes.
    pub range: (usize, usize),
}

/// The samples of one job.
#[derive(Debug, Clone, Default)]
pub struct MemorySamples {
    /// Bytes per second that the members that are no background asked for together, one sample for each
    /// repetition.
    pub bandwidth: Vec<f64>,
    /// How much earlier than the last one the first member was through, as a share of the repetition.
    pub skew: Vec<f64>,
    /// Seconds that each pointer took.
    pub latency: Vec<f64>,
    /// Core cycles that each pointer took, by the ruler right after.
    pub cycles: Vec<f64>,
    /// Bytes per second that the background asked for.
    pub background: Vec<f64>,
    /// The largest relative error of the answers.
    pub error: Vec<f64>,
    /// What the memory controllers counted; none: nobody asked them.
    pub counted: Option<CountedHaul>,
    /// How many repetitions were to be counted and are left out there, where there are any.
    pub uncounted: Vec<f64>,
}

/// What the memory controllers of the whole machine counted, one sample for each repetition but the
/// first: that one writes back what the job before has left in caches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CountedHaul {
    /// Bytes that the members asked for per second of the repetition.
    pub asked: Vec<f64>,
    /// Bytes read from memory per second of the repetition.
    pub read: Vec<f64>,
    /// Bytes written to memory per second of the repetition.
    pub written: Vec<f64>,
    /// How much longer the time between the two readings was, as a share of the repetition.
    pub beyond: Vec<f64>,
    /// Bytes read from memory for each byte that was asked for.
    pub read_per_asked: Vec<f64>,
    /// Bytes written to memory for each byte that was asked for.
    pub written_per_asked: Vec<f64>,
    /// Why repetitions are left out, each from all samples.
    pub left_out: Vec<Unavailable>,
}

/// Cycles of one iteration of the ruler on a CPU.
pub type RulerCycles = Option<f64>;

/// The samples of a job, or why there is none: an answer was wrong.
pub fn reduce(
    raw: &RawTraffic,
    job: &Traffic,
    rate: Rate<Stamp>,
    ruler_cycles: RulerCycles,
) -> Result<MemorySamples, Unavailable> {
    let mut haul = MemorySamples::default();
    let pairs = || std::iter::zip(&raw.members, &job.members);
    let answers: Result<Vec<f64>, WrongNumber> =
        raw.members.iter().filter_map(|member| member.answer).collect();
    let errors = answers.map_err(|wrong| {
        let why = format!("{wrong}: a kernel with wrong results is not timed");
        Unavailable::new(Obstacle::Cpudyno, "answer", why)
    })?;
    haul.error.extend(errors.into_iter().reduce(f64::max));
    let hertz = rate.hertz().0;
    let repetitions = pairs().filter(|(_, p)| !p.background).map(|(m, _)| m.stretches.len()).min();
    for repetition in 0..repetitions.unwrap_or(0) {
        let foreground: Vec<(&Party, Stretch)> = pairs()
            .filter(|(_, party)| !party.background)
            .map(|(member, party)| (party, member.stretches[repetition]))
            .collect();
        together(&mut haul, &foreground, hertz);
        let background: f64 = pairs()
            .filter(|(_, party)| party.background)
            .filter_map(|(member, party)| {
                let stretch = member.stretches.get(repetition)?;
                let seconds = stretch.interval.length().count() as f64 / hertz;
                let bytes = (stretch.units * party.task.trip_bytes()) as f64;
                (seconds > 0.0).then(|| bytes / seconds)
            })
            .sum();
        if job.members.iter().any(|party| party.background) {
            haul.background.push(background);
        }
    }
    for (member, party) in pairs() {
        chased(&mut haul, member, party, hertz, ruler_cycles);
    }
    if !raw.counted.is_empty() {
        let counted = counted(raw, job, hertz);
        haul.uncounted.extend(Some(counted.left_out.len() as f64).filter(|count| *count > 0.0));
        haul.counted = Some(counted);
    }
    Ok(haul)
}

/// What the memory controllers counted around each repetition. Members move data between its stamps
/// alone, so that this is its time; what others move is counted a little longer.
fn counted(raw: &RawTraffic, job: &Traffic, hertz: f64) -> CountedHaul {
    let mut haul = CountedHaul::default();
    if raw.counted.len() == 1 {
        let why = "the only repetition also writes back what the job before left in caches";
        haul.left_out.push(Unavailable::new(Obstacle::Measurement, "measured memory traffic", why));
    }
    for repetition in 1..raw.counted.len() {
        let members = std::iter::zip(&raw.members, &job.members);
        let stretches: Vec<(&Party, Stretch)> = members
            .filter_map(|(member, party)| Some((party, *member.stretches.get(repetition)?)))
            .collect();
        let Some(whole) = Interval::around(stretches.iter().map(|(_, it)| it.interval)) else {
            continue;
        };
        let seconds = whole.length().count() as f64 / hertz;
        let asked: u64 = stretches.iter().map(|(p, it)| p.task.trip_bytes() * it.units).sum();
        if seconds <= 0.0 || asked == 0 {
            continue;
        }
        let [before, after] = &raw.counted[repetition];
        let between = after.stamp.since(before.stamp).count() as f64 / hertz;
        match carried(before, after, asked) {
            Ok(Carried { read, written }) => {
                haul.asked.push(asked as f64 / seconds);
                haul.read.push(read / seconds);
                haul.written.push(written / seconds);
                haul.beyond.push(between / seconds - 1.0);
                haul.read_per_asked.push(read / asked as f64);
                haul.written_per_asked.push(written / asked as f64);
            }
            Err(reason) => haul.left_out.push(reason),
        }
    }
    haul
}

/// What was carried between two readings, while so many bytes were asked for.
fn carried(before: &CountedTraffic, after: &CountedTraffic, asked: u64) -> Reading<Carried> {
    let carried = after.counts.clone()?.since(&before.counts.clone()?)?;
    if carried.read + carried.written <= 0.0 {
        let why = format!(
            "{} were requested, but the memory controllers counted 0: {COUNTS_NOTHING}",
            si::format(asked as f64, Unit::Byte)
        );
        return Err(Unavailable::new(Obstacle::Measurement, "measured memory traffic", why));
    }
    Ok(carried)
}

/// What it may mean that counters read zero.
pub const COUNTS_NOTHING: &str = "they do not count on this machine, or another tool uses them";

/// What members that began together moved, until the last one was through.
fn together(haul: &mut MemorySamples, stretches: &[(&Party, Stretch)], hertz: f64) {
    let bytes: u64 = stretches.iter().map(|(p, stretch)| p.task.trip_bytes() * stretch.units).sum();
    let intervals = || stretches.iter().map(|(_, stretch)| stretch.interval);
    let (Some(whole), Some(soonest)) =
        (Interval::around(intervals()), intervals().map(|interval| interval.end).min())
    else {
        return;
    };
    let last = whole.end;
    let ticks = whole.length().count() as f64;
    if bytes > 0 && ticks > 0.0 {
        haul.bandwidth.push(bytes as f64 / (ticks / hertz));
        if stretches.len() > 1 {
            haul.skew.push(last.since(soonest).count() as f64 / ticks);
        }
    }
}

/// What each pointer took.
fn chased(
    haul: &mut MemorySamples,
    member: &RawParty,
    party: &Party,
    hertz: f64,
    ruler_cycles: RulerCycles,
) {
    let Task::Chase { .. } = party.task else { return };
    for (index, stretch) in member.stretches.iter().enumerate() {
        let ticks = stretch.interval.length().count() as f64 / stretch.units.max(1) as f64;
        if ticks <= 0.0 {
            continue;
        }
        haul.latency.push(ticks / hertz);
        let ruler = member.rulers.get(index).copied().flatten();
        if let (Some((interval, iterations)), Some(cycles)) = (ruler, ruler_cycles) {
            let per_iteration = interval.length().count() as f64 / iterations.max(1) as f64;
            if per_iteration > 0.0 {
                haul.cycles.push(ticks / per_iteration * cycles);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kernels::memory::find;
    use machine::Machine;
    use machine::instruments::traffic::TrafficCounters;
    use model::{Hertz, Ticks};
    use simulated::Model;

    use super::*;

    /// One tick is one nanosecond.
    fn rate() -> Rate<Stamp> {
        Rate::new(Hertz(1e9))
    }

    const ELEMENTS: u64 = 1000;

    fn transfer(kernel: &str) -> Transfer {
        let kernel = find(kernel).unwrap();
        Transfer { kernel, variant: &kernel.variants[0], mover: None }
    }

    fn trips(kernel: &str, background: bool) -> Party {
        let transfer = transfer(kernel);
        let pause = Seconds(0.0);
        Party {
            cpu: CpuId(0),
            store: Store::of_arrays(3, ELEMENTS, Pages::Base),
            task: Task::Trips { transfer, elements: ELEMENTS, moving: false, pause },
            background,
        }
    }

    fn chase(chains: usize) -> Party {
        let (bytes, walk, begin) = (4096, Walk::Random, Begin::Lap);
        Party {
            cpu: CpuId(0),
            store: Store::of_ring(bytes, Pages::Base),
            task: Task::Chase { chains, bytes, walk, begin },
            background: false,
        }
    }

    fn job(members: &[Party]) -> Traffic {
        Traffic { members: members.to_vec(), repetitions: 2, target: Seconds(1e-3) }
    }

    fn interval(start: u64, end: u64) -> Interval {
        Interval { start: Ticks::new(start), end: Ticks::new(end) }
    }

    /// A member that needed from start to end for so many units.
    fn raw(stretches: &[(u64, u64, u64)]) -> RawParty {
        let stretch = |&(start, end, units): &_| Stretch { interval: interval(start, end), units };
        RawParty {
            cpu: CpuId(0),
            stretches: stretches.iter().map(stretch).collect(),
            rulers: Vec::new(),
            answer: Some(Ok(0.0)),
            around: Around::default(),
        }
    }

    fn reduced(job: &Traffic, members: Vec<RawParty>, cycles: RulerCycles) -> MemorySamples {
        let raw = RawTraffic { members, counted: Vec::new() };
        reduce(&raw, job, rate(), cycles).unwrap()
    }

    #[test]
    fn bandwidth_is_from_the_first_start_to_the_last_end() {
        let job = job(&[trips("copy", false), trips("copy", false)]);
        let first = raw(&[(0, 8000, 4), (10_000, 14_000, 4)]);
        let second = raw(&[(2000, 10_000, 4), (10_000, 12_000, 4)]);
        let haul = reduced(&job, vec![first, second], None);
        // 16 bytes for each element, 8 trips in all.
        let bytes = 8.0 * 16.0 * ELEMENTS as f64;
        assert_eq!(haul.bandwidth, [bytes / 10_000e-9, bytes / 4000e-9]);
        assert_eq!(haul.skew, [0.2, 0.5]);
        assert_eq!(haul.error, [0.0], "the largest");
        assert!(haul.latency.is_empty() && haul.background.is_empty() && haul.cycles.is_empty());
    }

    #[test]
    fn one_member_has_no_skew_and_no_time_has_no_bandwidth() {
        let haul =
            reduced(&job(&[trips("add", false)]), vec![raw(&[(5, 5, 1), (5, 1005, 1)])], None);
        assert_eq!(haul.bandwidth.len(), 1);
        assert!((haul.bandwidth[0] / (24.0 * ELEMENTS as f64 / 1e-6) - 1.0).abs() < 1e-12);
        assert!(haul.skew.is_empty());
    }

    #[test]
    fn a_repetition_that_one_member_lacks_is_none() {
        let job = job(&[trips("copy", false), trips("copy", false)]);
        let haul = reduced(&job, vec![raw(&[(0, 10, 1), (10, 20, 1)]), raw(&[(0, 10, 1)])], None);
        assert_eq!(haul.bandwidth.len(), 1);
        assert!(reduced(&job, vec![raw(&[]), raw(&[])], None).bandwidth.is_empty());
    }

    #[test]
    fn a_background_counts_by_its_own_time_and_not_as_bandwidth() {
        let job = job(&[chase(1), trips("load", true), trips("copy", true)]);
        let mut members =
            vec![raw(&[(0, 1000, 10)]), raw(&[(0, 2000, 5)]), raw(&[(500, 1500, 1), (0, 9, 9)])];
        members[0].answer = None;
        let haul = reduced(&job, members, None);
        let elements = ELEMENTS as f64;
        assert_eq!(haul.background, [5.0 * 8.0 * elements / 2e-6 + 16.0 * elements / 1e-6]);
        assert!(haul.bandwidth.is_empty(), "a chase asks for none");
        assert_eq!(haul.latency, [100e-9]);
    }

    #[test]
    fn latency_is_time_and_cycles_of_a_pointer() {
        let mut member = raw(&[(0, 3000, 30), (10_000, 10_500, 10), (20_000, 20_000, 10)]);
        // Ten iterations in 50 ns, of 20 cycles each: 4 cycles in a nanosecond.
        member.rulers = vec![Some((interval(0, 50), 10)), None];
        let haul = reduced(&job(&[chase(4)]), vec![member.clone()], Some(20.0));
        assert_eq!(haul.latency, [100e-9, 50e-9], "what took no time is none");
        assert_eq!(haul.cycles, [400.0]);
        assert!(reduced(&job(&[chase(4)]), vec![member], None).cycles.is_empty());
    }

    #[test]
    fn a_wrong_answer_of_any_member_refuses_all_numbers() {
        let job = job(&[trips("copy", false), trips("copy", true)]);
        let mut wrong = raw(&[(0, 10, 1)]);
        let (kernel, variant) = ("copy", "sse2");
        let number = WrongNumber { kernel, variant, index: Some(7), found: 1.0, expected: 2.0 };
        wrong.answer = Some(Err(number));
        let members = vec![raw(&[(0, 10, 1)]), wrong];
        let raw = RawTraffic { members, counted: Vec::new() };
        let reason = reduce(&raw, &job, rate(), None).unwrap_err();
        assert_eq!(reason.what, "answer");
        assert!(reason.why.contains("`copy`, variant `sse2`: a[7] is 1.0"), "{reason:?}");
        assert!(reason.why.contains("with wrong results"), "{reason:?}");
    }

    /// Readings around a repetition in which so many bytes were read, by a simulated machine of whose
    /// memory nobody else moves anything.
    fn readings(between: [u64; 2], read: f64) -> [CountedTraffic; 2] {
        let mut model = Model::named("2s-56c").unwrap();
        let controllers = model.memory.as_mut().and_then(|memory| memory.controllers.as_mut());
        let controllers = controllers.unwrap();
        (controllers.idle_read, controllers.idle_written) = (0.0, 0.0);
        let counters = TrafficCounters::find(&Machine::from(model.clone())).unwrap();
        let [before, after] = between.map(Ticks::new);
        let before = CountedTraffic { stamp: before, counts: counters.read() };
        model.carry(0, [read, 0.0]);
        [before, CountedTraffic { stamp: after, counts: counters.read() }]
    }

    #[test]
    fn what_controllers_counted_belongs_to_the_time_of_the_repetition() {
        let job = job(&[trips("load", false), trips("load", false)]);
        let members =
            vec![raw(&[(0, 10, 1), (1000, 9000, 1)]), raw(&[(0, 10, 1), (2000, 11_000, 1)])];
        // The first repetition contains what was there before.
        let counted = vec![readings([0, 15], 5e9), readings([500, 13_000], 51_200.0)];
        let haul = reduce(&RawTraffic { members, counted }, &job, rate(), None).unwrap();
        let counted = haul.counted.unwrap();
        let asked = 2.0 * 8.0 * ELEMENTS as f64;
        assert_eq!(counted.asked, [asked / 10_000e-9]);
        assert_eq!(counted.read, [51_200.0 / 10_000e-9]);
        assert_eq!((counted.written, counted.beyond), (vec![0.0], vec![0.25]));
        assert_eq!(counted.read_per_asked, [51_200.0 / asked]);
        assert_eq!(counted.written_per_asked, [0.0]);
        assert!(counted.left_out.is_empty() && haul.uncounted.is_empty());
    }

    #[test]
    fn a_single_repetition_is_never_counted() {
        let job = job(&[trips("load", false)]);
        let counted = vec![readings([0, 15], 5e9)];
        let raw = RawTraffic { members: vec![raw(&[(0, 10, 1)])], counted };
        let haul = reduce(&raw, &job, rate(), None).unwrap();
        let counted = haul.counted.unwrap();
        assert!(counted.read.is_empty() && haul.bandwidth.len() == 1);
        assert!(counted.left_out[0].why.contains("the job before"), "{counted:?}");
    }

    #[test]
    fn a_reading_that_failed_or_counted_nothing_takes_its_repetition_in_pairs() {
        let job = job(&[trips("load", false)]);
        let stretches = [(0, 10, 1), (20, 30, 1), (40, 50, 1), (60, 70, 1)];
        let mut failed = readings([15, 35], 64e3);
        failed[1].counts = Err(Unavailable::new(Obstacle::Hardware, "it", "it failed"));
        let counted = vec![
            readings([0, 15], 64e3),
            failed,
            readings([35, 55], 64e3),
            readings([55, 75], 0.0),
        ];
        let raw = RawTraffic { members: vec![raw(&stretches)], counted };
        let haul = reduce(&raw, &job, rate(), None).unwrap();
        let counted = haul.counted.unwrap();
        let lengths = [&counted.read, &counted.written, &counted.beyond, &counted.asked];
        assert_eq!(lengths.map(Vec::len), [1; 4], "{counted:?}");
        let [first, second] = &counted.left_out[..] else { panic!("{counted:?}") };
        assert_eq!(first.why, "it failed");
        assert!(second.why.contains("the memory controllers counted 0: "), "{second:?}");
        assert_eq!((haul.bandwidth.len(), haul.uncounted), (4, vec![2.0]));
    }

    #[test]
    fn a_trial_is_short_and_goes_over_the_whole_arrays() {
        let of = |elements| {
            let mut party = trips("triad", false);
            if let Task::Trips { elements: own, .. } = &mut party.task {
                *own = elements;
            }
            let trial = job(&[party, chase(1)]).trial();
            assert_eq!(trial.target.0.to_bits(), 0, "one trip");
            assert!(matches!(trial.members[1].task, Task::Chase { bytes: 4096, .. }));
            match trial.members[0].task {
                Task::Trips { elements, moving, .. } => (elements, moving),
                Task::Chase { .. } => panic!("it became a chase"),
            }
        };
        assert_eq!(of(ELEMENTS), (ELEMENTS, false), "what is small stays as it is");
        assert_eq!(of(TRIAL_ELEMENTS), (TRIAL_ELEMENTS, false));
        assert_eq!(of(TRIAL_ELEMENTS + 1), (TRIAL_ELEMENTS, true));
        assert_eq!(of(1 << 40), (TRIAL_ELEMENTS, true));
    }

    #[test]
    fn a_store_has_room_for_what_it_was_made_for() {
        for arrays in 1..=4 {
            for elements in [0, 1, 511, 512, 513, 1_000_003] {
                let store = Store::of_arrays(arrays, elements, Pages::Base);
                assert!(store.elements() >= elements, "{store:?}");
                assert!(store.elements() < elements + 512 + 1, "{store:?}");
                let each = store.bytes / u64::from(arrays);
                assert!(each.is_multiple_of(8) && !each.is_multiple_of(4096), "{each}");
            }
        }
    }

    #[test]
    fn more_work_is_planned_to_take_longer() {
        let seconds = |members: &[Party]| job(members).duration().0;
        assert!(seconds(&[trips("copy", false)]) >= 2e-3, "two repetitions of a millisecond");
        let mut large = chase(1);
        if let Task::Chase { bytes, .. } = &mut large.task {
            *bytes = 1 << 30;
        }
        assert!(seconds(&[large]) > seconds(&[chase(1)]) + 0.1);
    }
}
