//! The data sheet of a kernel: its counts by unit under several circumstances. Data of several sizes, in
//! the caches or not, another thread busy beside it or not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::ports::Reading;
use machine::{Machine, facts};
use model::record::Counts;
use model::{CpuId, CpuSet, Obstacle, Unavailable};

use super::demonstrations::without;
use super::work::{self, Spec, Under, size_in_words};
use super::{Plan, Session};

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
    let caches = work::caches(machine, cpu);
    let Some(last) = caches.last() else { return vec![USUAL] };
    let beyond = (2 * last).min(MOST);
    caches.iter().map(|size| size / 2).chain([beyond]).collect()
}

/// Counts a kernel once, with its data in the caches as far as they hold it.
pub fn kernel(session: &Session<'_>, plan: &Plan, spec: Spec, units: u64) -> Reading<Counts> {
    let counted =
        spec.with(session, |kernel| kernel.count(session, plan, units, Under::default()))?;
    counted.map(|counted| counted.counts)
}

impl Sheet {
    /// Counts it under all circumstances that make a difference to it. What cannot be executed has its
    /// reasons in place of counts.
    pub fn count(&self, session: &Session<'_>, plan: &Plan) -> Vec<Counts> {
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
        plan: &Plan,
        size: u64,
        circumstance: Circumstance,
    ) -> Counts {
        let spec = self.spec.of_size(size);
        let Circumstance { words, cold, beside } = circumstance;
        let mut circumstances = BTreeMap::from([("state".to_owned(), words.to_owned())]);
        if spec.has_data() {
            circumstances.insert("size".to_owned(), size_in_words(size));
        }
        let counted = if beside {
            neighbour(session, self.neighbour).and_then(|(cpu, is_sibling)| {
                circumstances.insert("neighbour".to_owned(), format!("CPU {cpu}"));
                let under = Under { cold, beside_sibling: is_sibling };
                let count = || self.way(session, plan, spec, under);
                match session.machine().simulated {
                    Some(_) => count(),
                    None => busy(spec, cpu, count)?,
                }
            })
        } else {
            self.way(session, plan, spec, Under { cold, beside_sibling: false })
        };
        let name = spec.name();
        let title = match circumstances.get("size") {
            Some(size) => format!("{name}, {size}, {words}"),
            None => format!("{name}, {words}"),
        };
        let counts = counted.unwrap_or_else(|reason| without(&title, plan, &[], &reason));
        Counts { title, circumstances, ..counts }
    }

    fn way(&self, session: &Session<'_>, plan: &Plan, spec: Spec, under: Under) -> Reading<Counts> {
        let counted = spec.with(session, |kernel| {
            let once = kernel.data.map_or(1, |data| data.once);
            // Of what was cold, only the first way through it is.
            let units = if under.cold { once } else { self.units.max(once) };
            kernel.count(session, plan, units, under)
        })?;
        counted.map(|counted| counted.counts)
    }
}

/// Who is busy beside the session's CPU, and whether that is a thread of the same core.
fn neighbour(session: &Session<'_>, asked: Option<CpuId>) -> Reading<(CpuId, bool)> {
    let topology = facts::topology(session.machine());
    let cpu = session.cpu();
    let siblings = topology.place(cpu).map(|place| place.siblings.clone()).unwrap_or_default();
    let others = || session.usable().iter().filter(|&other| other != cpu);
    let beside = others().find(|&other| siblings.contains(other));
    let found = asked.or(beside).or_else(|| others().next()).ok_or_else(|| {
        let why = "this process may use one CPU alone";
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
        while !begun.load(Ordering::Acquire) && !beside.is_finished() {
            std::thread::sleep(LOOK);
        }
        let answer = begun.load(Ordering::Acquire).then(doing);
        ended.store(true, Ordering::Release);
        let done = beside.join().unwrap_or_else(|_| {
            let why = "the thread beside it ended before its time";
            Err(Unavailable::new(Obstacle::Cpudyno, "busy neighbour", why))
        });
        done.map(|()| answer.expect("BUG: who was never busy has a reason"))
    })
}
