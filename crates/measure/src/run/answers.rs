//! Answers of streams that were timed. Repetitions of a stream with as many iterations on the same operands must all answer
//! alike, on each CPU and in each block; one of those answers is held against the portable computation when all is
//! measured.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kernels::{Data, Operands, StreamRow};
use model::record::{
    ComparedAnswers, Outcome, Series, Topology, WrongAgain, WrongAnswer, WrongAnswers,
};
use model::{CpuId, CpuSet, Known, Obstacle, Seconds, Unavailable};

use crate::jury::{self, AGAIN, EXAMPLES_MAX, Jury};
use crate::run::plan::DATA;
use rig::checking::{CheckedWork, REFERENCE};
use rig::executor::Executor;
use rig::job::{Body, Load};
use rig::timed_answers::TimedAnswers;

/// Portable computations may take this share of a run, when it is over.
const SHARE: f64 = 0.01;

/// Everything that streams answered.
#[derive(Default)]
pub(super) struct AnswerLog {
    calls: BTreeMap<AlikeCalls, BTreeMap<CpuId, Found>>,
}

/// Calls that must answer alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AlikeCalls {
    stream: &'static str,
    /// Where their operands lie.
    operands: usize,
    iterations: u64,
}

/// What one CPU answered.
struct Found {
    load: Load,
    answers: Vec<GotAnswer>,
    /// Repetitions with yet other answers, and those of them in which the other CPUs idled.
    others: [u64; 2],
}

#[derive(Clone, Copy)]
struct GotAnswer {
    got: u64,
    /// Repetitions, and those of them in which the other CPUs idled.
    times: [u64; 2],
    /// When the block was over in which it first came, and whether the other CPUs idled in that.
    first: (Seconds, bool),
}

impl AnswerLog {
    /// Adds what a member answered in a block that was over then.
    pub(super) fn note(
        &mut self,
        cpu: CpuId,
        load: Load,
        answers: &[TimedAnswers],
        (at, is_alone): (Seconds, bool),
    ) {
        let (Body::Kernel(_, operands) | Body::Simulated(operands)) = load.body;
        if kernels::streams::find(load.id).is_none_or(|row| !row.computes()) {
            return;
        }
        let both = |times| [times, if is_alone { times } else { 0 }];
        for one in answers {
            let call = AlikeCalls {
                stream: load.id,
                operands: std::ptr::from_ref(operands).addr(),
                iterations: one.iterations,
            };
            let found = self.calls.entry(call).or_default().entry(cpu).or_insert_with(|| Found {
                load,
                answers: Vec::new(),
                others: [0, 0],
            });
            for (answer, times) in &one.found {
                let has_room = found.answers.len() < TimedAnswers::KEPT;
                let first = (at, is_alone);
                match found.answers.iter_mut().find(|known| known.got == *answer) {
                    Some(known) => known.times = sum(known.times, both(*times)),
                    None if has_room => {
                        let new = GotAnswer { got: *answer, times: both(*times), first };
                        found.answers.push(new);
                    }
                    None => found.others = sum(found.others, both(*times)),
                }
            }
            found.others = sum(found.others, both(one.others));
        }
    }

    /// What came of them; nothing where no stream was timed that computes. `time`: that of the run.
    pub(super) fn judge(
        &self,
        executor: &mut dyn Executor,
        cpus: &[CpuId],
        topology: &Topology,
        time: Seconds,
    ) -> Option<ComparedAnswers> {
        if self.calls.is_empty() {
            return None;
        }
        let mut judge = Judge {
            until: executor.elapsed() + time * SHARE,
            executor,
            jury: Jury::new(cpus),
            wrong: BTreeMap::new(),
            computed: 0,
        };
        let (mut with_reference, mut among_themselves) = (0, 0);
        for (call, found) in self.in_order() {
            let count =
                if judge.call(call, found) { &mut with_reference } else { &mut among_themselves };
            *count += 1;
        }
        let all = || self.calls.iter().flat_map(|(call, of)| of.iter().map(move |it| (call, it)));
        let mut totals: BTreeMap<(CpuId, &str), [u64; 2]> = BTreeMap::new();
        for (call, (cpu, found)) in all() {
            let total = totals.entry((*cpu, call.stream)).or_default();
            let calls = found.calls();
            *total = sum(*total, [calls, calls * call.iterations * found.load.ops_per_iteration]);
        }
        let computed = judge.computed;
        let wrong = judge.wrong.into_iter().map(|(key, wrong)| {
            let place = topology.place(key.0);
            let [calls, ops] = totals.get(&key).copied().unwrap_or([computed, 0]);
            let (core, package) = place.map_or((key.0.0, 0), |place| (place.core, place.package));
            WrongAnswers { calls, ops, core, package, ..wrong }
        });
        let mut ops: BTreeMap<CpuId, u64> = BTreeMap::new();
        for ((cpu, _), [_, more]) in &totals {
            *ops.entry(*cpu).or_default() += more;
        }
        let streams: BTreeSet<&str> = self.calls.keys().map(|call| call.stream).collect();
        Some(ComparedAnswers {
            cpus: ops.keys().copied().collect::<CpuSet>(),
            streams: streams.into_iter().map(str::to_owned).collect(),
            calls: totals.values().map(|[calls, _]| calls).sum(),
            ops_least: ops.values().copied().min().unwrap_or(0),
            with_reference,
            among_themselves,
            wrong: wrong.collect(),
        })
    }

    /// Those that differ first, then one of each stream, then a second one of each.
    fn in_order(&self) -> Vec<(AlikeCalls, &BTreeMap<CpuId, Found>)> {
        let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
        let mut all: Vec<_> = self
            .calls
            .iter()
            .map(|(call, found)| {
                let rank = ranks.entry(call.stream).or_default();
                *rank += 1;
                ((alike(found).is_some(), *rank), (*call, found))
            })
            .collect();
        all.sort_by_key(|(order, _)| *order);
        all.into_iter().map(|(_, it)| it).collect()
    }
}

/// Holds answers against what is right.
struct Judge<'a> {
    executor: &'a mut dyn Executor,
    jury: Jury,
    /// Until when it computes where nothing differs.
    until: Seconds,
    wrong: BTreeMap<(CpuId, &'static str), WrongAnswers>,
    /// Portable computations.
    computed: u64,
}

impl Judge<'_> {
    /// Judges calls, and says whether the portable computation told what is right.
    fn call(&mut self, call: AlikeCalls, found: &BTreeMap<CpuId, Found>) -> bool {
        let Some((row, load)) = found
            .values()
            .next()
            .and_then(|it| Some((kernels::streams::find(call.stream)?, it.load)))
        else {
            return false;
        };
        let told = self.told(row, load, call, found);
        let right = told.unwrap_or_else(|| most(found));
        for (cpu, found) in found {
            self.compare(*cpu, (row, load), call, found, right);
        }
        told.is_some()
    }

    /// What the portable computation tells; nothing where it knows no answer, or there was no time for it.
    fn told(
        &mut self,
        row: &'static StreamRow,
        load: Load,
        call: AlikeCalls,
        found: &BTreeMap<CpuId, Found>,
    ) -> Option<u64> {
        let alike = alike(found);
        let is_in_time = alike.is_none() || self.executor.elapsed() < self.until;
        if !row.is_known_after_any() || !is_in_time {
            return None;
        }
        let own: Vec<CpuId> = found.keys().copied().collect();
        let (iterations, operands) = (call.iterations, operands(load));
        let portable = CheckedWork::Reference { row, iterations, operands };
        if let Some(alike) = alike {
            let cpu = self.jury.beside(&own);
            self.computed += 1;
            let right = jury::answer(self.executor, cpu, &portable).ok()?;
            if right == alike {
                return Some(right);
            }
        }
        let agreed = self.jury.agreed(self.executor, &portable, &stream(row, load, call)).ok()?;
        self.computed += 2;
        for (cpu, got) in agreed.others {
            let example = (got, [1, 1], (self.executor.elapsed(), true));
            let job = jury::once(cpu, portable.clone(), Some(agreed.right), AGAIN);
            let again = self.jury.again(self.executor, cpu, &job).ok();
            self.note((cpu, REFERENCE), call, agreed.right, example, again);
        }
        Some(agreed.right)
    }

    /// Notes what of one CPU is wrong.
    fn compare(
        &mut self,
        cpu: CpuId,
        (row, load): (&'static StreamRow, Load),
        call: AlikeCalls,
        found: &Found,
        right: u64,
    ) {
        for it in found.answers.iter().filter(|it| it.got != right) {
            let is_new = !self.wrong.contains_key(&(cpu, call.stream));
            let again = is_new.then(|| {
                let job = jury::once(cpu, stream(row, load, call), Some(right), AGAIN);
                self.jury.again(self.executor, cpu, &job)
            });
            let example = (it.got, it.times, it.first);
            self.note((cpu, call.stream), call, right, example, again.and_then(Result::ok));
        }
        if let Some(wrong) = self.wrong.get_mut(&(cpu, call.stream)) {
            [wrong.wrong, wrong.wrong_alone] = sum([wrong.wrong, wrong.wrong_alone], found.others);
        }
    }

    fn note(
        &mut self,
        key: (CpuId, &'static str),
        call: AlikeCalls,
        right: u64,
        (got, times, (at, alone)): (u64, [u64; 2], (Seconds, bool)),
        again: Option<WrongAgain>,
    ) {
        let wrong = self.wrong.entry(key).or_insert_with(|| WrongAnswers {
            cpu: key.0,
            core: 0,
            package: 0,
            workload: key.1.to_owned(),
            wrong: 0,
            calls: 0,
            ops: 0,
            wrong_alone: 0,
            examples: Vec::new(),
            again: again.unwrap_or(WrongAgain { here: [0, 0], elsewhere: Vec::new() }),
        });
        [wrong.wrong, wrong.wrong_alone] = sum([wrong.wrong, wrong.wrong_alone], times);
        if wrong.examples.len() < EXAMPLES_MAX {
            let (expected, got, flipped) = WrongAnswer::bits(right, got);
            wrong.examples.push(WrongAnswer {
                operands: data(call).word().to_owned(),
                iterations: call.iterations,
                expected,
                got,
                flipped,
                index: None,
                at: at.0,
                alone,
                clock: unread("clock"),
                celsius: unread("temperature"),
            });
        }
    }
}

/// Answers that are compared on the way have no readings beside them.
fn unread<T>(what: &str) -> Known<T> {
    let why = "answers of timed repetitions are compared when all is measured";
    let unavailable = Unavailable::new(Obstacle::Measurement, what, why);
    Known::No { unavailable: unavailable.with_remedy("cpudyno verify reads it") }
}

impl Found {
    fn calls(&self) -> u64 {
        self.answers.iter().map(|it| it.times[0]).sum::<u64>() + self.others[0]
    }
}

/// The one answer of all CPUs, where they have one.
fn alike(found: &BTreeMap<CpuId, Found>) -> Option<u64> {
    let first = found.values().next()?.answers.first()?.got;
    let is_it =
        |found: &Found| found.others[0] == 0 && found.answers.iter().all(|it| it.got == first);
    found.values().all(is_it).then_some(first)
}

/// The answer that most repetitions gave.
fn most(found: &BTreeMap<CpuId, Found>) -> u64 {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for it in found.values().flat_map(|found| &found.answers) {
        *counts.entry(it.got).or_default() += it.times[0];
    }
    counts.into_iter().max_by_key(|(_, times)| *times).map_or(0, |(answer, _)| answer)
}

/// The data on which a call was measured.
fn data(call: AlikeCalls) -> Data {
    let is_it = |data: &Data| std::ptr::from_ref(data.operands()).addr() == call.operands;
    [Data::Quiet, Data::Toggling].into_iter().find(is_it).unwrap_or(DATA)
}

fn operands(load: Load) -> Arc<Operands> {
    let (Body::Kernel(_, operands) | Body::Simulated(operands)) = load.body;
    Arc::new(*operands)
}

fn stream(row: &'static StreamRow, load: Load, call: AlikeCalls) -> CheckedWork {
    CheckedWork::Stream { load, row, operands: operands(load), iterations: call.iterations }
}

fn sum(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

/// Takes the numbers of a stream away from a CPU that computed it wrong: none of them may be believed.
pub(super) fn refuse(series: &mut [Series], wrong: &[WrongAnswers]) {
    for one in series.iter_mut().filter(|it| it.summary().is_some()) {
        let of_it = |it: &&WrongAnswers| it.cpu == one.cpu && it.workload == one.workload;
        let Some(it) = wrong.iter().find(of_it) else { continue };
        let what = format!("{} of `{}` on CPU {}", one.quantity, one.workload, one.cpu);
        let why = format!("{} of its {} answers were wrong", it.wrong, it.calls);
        let remedy = format!("cpudyno verify --cpus {} --minutes 10", it.cpu);
        let unavailable = Unavailable::new(Obstacle::Hardware, what, why).with_remedy(remedy);
        one.outcome = Outcome::Unavailable { unavailable };
    }
}
