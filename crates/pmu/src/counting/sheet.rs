//! The data sheet of a kernel, or of a function of a program: its counts by unit under several
//! circumstances. Data of several sizes, in the caches or not, another thread busy beside it or
//! not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::{Machine, facts};
use model::record::{CountedUnit, Counts};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use simulated::Model;

use sys::memory::Mapping;

use super::counted_kernels::{self, Spec, Under, size_in_words};
use super::examples::without;
use super::session::Executable;
use super::{CountingPlan, Session, Work};

/// What a data sheet is made of.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// The kernel.
    pub spec: Spec,
    /// Sizes of its data; none: those that lie in each cache, and beyond.
    pub sizes: Vec<u64>,
    /// Units that are executed at least, where the data is warm.
    pub units: u64,
    /// Who is busy beside it; none: the other thread of its core, or else any other CPU.
    pub neighbour: Option<CpuId>,
}

/// The circumstances that are compared, in words.
#[derive(Clone, Copy)]
struct Circumstance {
    words: &'static str,
    cold: bool,
    beside: bool,
}

const CIRCUMSTANCES: [Circumstance; 3] = [
    Circumstance { words: "warm", cold: false, beside: false },
    Circumstance { words: "cold", cold: true, beside: false },
    Circumstance { words: "neighbour busy", cold: false, beside: true },
];

/// Sizes of data that lies in each of the CPU's caches, and beyond all of them.
pub fn sizes(machine: &Machine, cpu: CpuId) -> Vec<u64> {
    /// Where nobody says how large caches are.
    const USUAL: u64 = 16 << 10;
    /// So much of memory is enough for anybody's caches, and there may be no more.
    const MOST: u64 = 1 << 30;
    let caches = counted_kernels::caches(machine, cpu);
    let Some(last) = caches.last() else { return vec![USUAL] };
    let beyond = (2 * last).min(MOST);
    caches.iter().map(|size| size / 2).chain([beyond]).collect()
}

/// Counts a kernel once, with its data in the caches as far as they hold it.
pub fn kernel(
    session: &Session<'_>,
    plan: &CountingPlan,
    spec: Spec,
    units: u64,
) -> Reading<Counts> {
    let counted =
        spec.with(session, |kernel| kernel.count(session, plan, units, Under::default()))?;
    counted.map(|counted| counted.counts)
}

impl Sheet {
    /// Counts it under all circumstances that make a difference to it. What cannot be executed has its
    /// reasons in place of counts.
    pub fn count(&self, session: &Session<'_>, plan: &CountingPlan) -> Vec<Counts> {
        let sizes = match self.spec.has_data() {
            true if self.sizes.is_empty() => sizes(session.machine(), session.cpu()),
            true => self.sizes.clone(),
            false => vec![0],
        };
        let each = |size: u64| {
            let different = CIRCUMSTANCES.iter().filter(|it| !it.cold || self.spec.has_data());
            different.map(move |circumstance| self.one(session, plan, size, *circumstance))
        };
        sizes.into_iter().flat_map(each).collect()
    }

    fn one(
        &self,
        session: &Session<'_>,
        plan: &CountingPlan,
        size: u64,
        circumstance: Circumstance,
    ) -> Counts {
        let spec = self.spec.of_size(size);
        let size = spec.data_bytes();
        let neighbour = (self.neighbour, spec);
        let count = |under| self.way(session, plan, spec, under);
        under(session, circumstance, neighbour, count).named(spec.name(), size, circumstance, plan)
    }

    fn way(
        &self,
        session: &Session<'_>,
        plan: &CountingPlan,
        spec: Spec,
        under: Under,
    ) -> Reading<Counts> {
        let counted = spec.with(session, |kernel| {
            let once = kernel.data.map_or(1, |data| data.once);
            // Of what was cold, only the first way through it is.
            let units = if under.cold { once } else { self.units.max(once) };
            kernel.count(session, plan, units, under)
        })?;
        counted.map(|counted| counted.counts)
    }
}

/// What was counted under a circumstance, and beside whom.
struct CircumstanceCounts {
    counted: Reading<Counts>,
    beside: Option<CpuId>,
}

/// Counts under a circumstance; a neighbour, who is where it was asked for, executes a kernel of
/// its own.
fn under(
    session: &Session<'_>,
    circumstance: Circumstance,
    (asked, kernel): (Option<CpuId>, Spec),
    mut count: impl FnMut(Under) -> Reading<Counts>,
) -> CircumstanceCounts {
    let Circumstance { cold, beside, .. } = circumstance;
    if !beside {
        return CircumstanceCounts {
            counted: count(Under { cold, beside_sibling: false }),
            beside: None,
        };
    }
    let (cpu, beside_sibling) = match neighbour(session, asked) {
        Ok(found) => found,
        Err(reason) => return CircumstanceCounts { counted: Err(reason), beside: None },
    };
    let mut count = || count(Under { cold, beside_sibling });
    let counted = match session.machine().simulated {
        Some(_) => count(),
        None => busy(kernel, cpu, count).and_then(|counted| counted),
    };
    CircumstanceCounts { counted, beside: Some(cpu) }
}

impl CircumstanceCounts {
    /// As a table that says what it is of.
    fn named(
        self,
        name: &str,
        size: Option<u64>,
        circumstance: Circumstance,
        plan: &CountingPlan,
    ) -> Counts {
        let words = circumstance.words;
        let size = size.map(size_in_words);
        let title = match &size {
            Some(size) => format!("{name}, {size}, {words}"),
            None => format!("{name}, {words}"),
        };
        let rows = [
            ("state", Some(words.to_owned())),
            ("size", size),
            ("neighbour", self.beside.map(|cpu| format!("CPU {cpu}"))),
        ];
        let circumstances =
            rows.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        let counts = self.counted.unwrap_or_else(|reason| without(&title, plan, &[], &reason));
        Counts { title, circumstances, ..counts }
    }
}

/// The data sheet of a function of a program, as [`sheet`](super::api::sheet) counts it.
pub(super) struct FunctionSheet<'a> {
    /// Sizes that it is called with, each as many bytes of data; none: it is called with 0 alone.
    pub(super) sizes: &'a [u64],
    /// What a call does, by unit, from its size.
    pub(super) units: &'a dyn Fn(u64) -> Vec<CountedUnit>,
}

impl FunctionSheet<'_> {
    /// Counts it under all circumstances that can be made here.
    pub(super) fn count(
        &self,
        session: &Session<'_>,
        plan: &CountingPlan,
        function: &mut dyn FnMut(u64),
    ) -> Vec<Counts> {
        /// Enough to be in everybody's way, where a function has no sizes.
        const USUAL: u64 = 1 << 20;
        let sizes = if self.sizes.is_empty() { &[0][..] } else { self.sizes };
        let mut tables = Vec::with_capacity(sizes.len() * CIRCUMSTANCES.len());
        for (&size, circumstance) in
            sizes.iter().flat_map(|size| CIRCUMSTANCES.iter().map(move |it| (size, *it)))
        {
            let beside = Spec::named("triad").unwrap_or(Spec::Loop);
            let beside = beside.of_size(if size > 0 { size } else { USUAL });
            let count = |under: Under| {
                let mut others = if under.cold { Some(Others::new(session)?) } else { None };
                let mut call = Call { function: &mut *function, size, others: others.as_mut() };
                session.count("function", plan, Work::Known(&mut call), &(self.units)(size))
            };
            let size = (size > 0).then_some(size);
            let found = under(session, circumstance, (None, beside), count);
            tables.push(found.named("function", size, circumstance, plan));
        }
        tables
    }
}

/// A call of a function, warm or cold.
struct Call<'c> {
    function: &'c mut dyn FnMut(u64),
    size: u64,
    others: Option<&'c mut Others>,
}

impl Executable for Call<'_> {
    /// Once before, so that its code and its data are there; then other data, where it shall be
    /// cold.
    fn before(&mut self) {
        (self.function)(self.size);
        if let Some(others) = &mut self.others {
            others.displace();
        }
    }

    fn run(&mut self) {
        (self.function)(self.size);
    }

    fn simulate(&mut self, _: &Model) -> Reading<()> {
        let why = "a simulated machine cannot execute a function of this program";
        Err(Unavailable::new(Obstacle::Cpudyno, "function", why))
    }
}

/// Data that displaces a program's own from the caches: nobody knows which lines a function uses.
struct Others(Mapping);

impl Others {
    /// Twice as large as the last cache.
    fn new(session: &Session<'_>) -> Reading<Others> {
        let bytes = sizes(session.machine(), session.cpu()).into_iter().max().unwrap_or(1 << 24);
        counted_kernels::has_room(session.machine(), "data to displace others", bytes)?;
        counted_kernels::mapped("data to displace others", bytes).map(Others)
    }

    fn displace(&mut self) {
        const WORDS_OF_LINE: usize = 8;
        for word in self.0.integers_mut().iter_mut().step_by(WORDS_OF_LINE) {
            *std::hint::black_box(word) += 1;
        }
    }
}

/// Who is busy beside the session's CPU, and whether that is a thread of the same core.
fn neighbour(session: &Session<'_>, asked: Option<CpuId>) -> Reading<(CpuId, bool)> {
    if asked == Some(session.cpu()) {
        let why =
            format!("CPU {} counts, so the busy neighbour must be another CPU", session.cpu());
        let absent = Unavailable::new(Obstacle::Cpudyno, "busy neighbour", why);
        return Err(absent.with_remedy("name another CPU: --neighbour CPU"));
    }
    let topology = facts::topology(session.machine());
    let cpu = session.cpu();
    let siblings = topology.place(cpu).map(|place| place.siblings.clone()).unwrap_or_default();
    let others = || session.usable().iter().filter(|&other| other != cpu);
    let beside = others().find(|&other| siblings.contains(other));
    let found = asked.or(beside).or_else(|| others().next()).ok_or_else(|| {
        let why = "this process may use only one CPU";
        Unavailable::new(Obstacle::Permission, "busy neighbour", why)
    })?;
    Ok((found, siblings.contains(found)))
}

/// Does something while another thread executes the same kernel on its own data, on that CPU.
fn busy<R>(spec: Spec, cpu: CpuId, doing: impl FnOnce() -> R) -> Reading<R> {
    /// How long somebody waits who waits for a thread to begin.
    const LOOK: Duration = Duration::from_millis(1);
    /// Units at a time, between two looks at whether it is over.
    const AT_ONCE: u64 = 10_000;
    /// Sets it, also where somebody panics meanwhile: the scope waits for the thread then, too.
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| -> Reading<()> {
            let machine = Machine::real();
            machine.perf.run_on(&CpuSet::from_iter([cpu]))?;
            spec.on(&machine, [Some(cpu), None], |kernel| {
                let units = kernel.whole(AT_ONCE);
                begun.store(true, Ordering::Release);
                while !ended.load(Ordering::Acquire) {
                    kernel.run(units);
                }
            })
        });
        let ends = Ends(&ended);
        while !begun.load(Ordering::Acquire) && !beside.is_finished() {
            std::thread::sleep(LOOK);
        }
        let answer = begun.load(Ordering::Acquire).then(doing);
        drop(ends);
        let done = beside.join().unwrap_or_else(|_| {
            let why = "the neighbour's thread ended too early";
            Err(Unavailable::new(Obstacle::Cpudyno, "busy neighbour", why))
        });
        done.map(|()| answer.expect("BUG: who was never busy has a reason"))
    })
}
