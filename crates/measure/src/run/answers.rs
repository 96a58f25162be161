//! Answers of streams that were timed. Repetitions of a stream with as many iterations on the same operands must all answer
//! alike, on each CPU and in each block; one of those answers is held against the portable computation when all is
//! measured.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kernels::{Data, Operands, StreamRow};
use model::record::{
    ComparedAnswers, Outcome, Series, Topology, WrongAgain, WrongAnswer, WrongAnswers,
};
use model::{CpuId, CpuSet, Finding, Known, Obstacle, Seconds, Unavailable};

use crate::jury::{self, AGAIN, EXAMPLES_MAX, Jury};
use crate::run::plan::DATA;
use rig::checking::{CheckedWork, Checking, REFERENCE};
use rig::executor::Executor;
use rig::job::{Body, Load};
use rig::timed_answers::TimedAnswers;

/// Portable computations may take this share of a run, when it is over.
const SHARE: f64 = 0.01;

/// Of short runs they may take so long.
const LEAST: Seconds = Seconds(0.05);

/// Where answers differ, this long more.
const IF_WRONG: Seconds = Seconds(1.0);

/// The same call again may take so long on each CPU.
const AGAIN_TIME: Seconds = Seconds(0.05);

/// Seconds that an op of a portable computation takes at least, until a slower one was seen.
const PER_OP: f64 = 20e-9;

/// Computations that are shorter say nothing of the time of an op: starting them takes as long.
const TELLING: Seconds = Seconds(1e-3);

/// Everything that streams answered.
#[derive(Default)]
pub(super) struct AnswerLog {
    calls: BTreeMap<AlikeCalls, BTreeMap<CpuId, Found>>,
}

/// What came of all answers.
#[derive(Default)]
pub(super) struct Judged {
    /// What was compared, and what was wrong; nothing where no stream was timed that computes.
    pub(super) compared: Option<ComparedAnswers>,
    /// Streams whose answers differ on these CPUs, and nothing tells whose are wrong.
    unclear: BTreeMap<&'static str, BTreeSet<CpuId>>,
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

    /// What came of them. `time`: that of the run.
    pub(super) fn judge(
        &self,
        executor: &mut dyn Executor,
        cpus: &[CpuId],
        topology: &Topology,
        time: Seconds,
    ) -> Judged {
        if self.calls.is_empty() {
            return Judged::default();
        }
        let mut judge = Judge {
            until: executor.elapsed() + Seconds((time * SHARE).0.max(LEAST.0)),
            per_op: PER_OP,
            executor,
            jury: Jury::new(cpus),
            wrong: BTreeMap::new(),
            unclear: BTreeMap::new(),
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
        let compared = ComparedAnswers {
            cpus: ops.keys().copied().collect::<CpuSet>(),
            streams: streams.into_iter().map(str::to_owned).collect(),
            calls: totals.values().map(|[calls, _]| calls).sum(),
            ops_least: ops.values().copied().min().unwrap_or(0),
            with_reference,
            among_themselves,
            wrong: wrong.collect(),
        };
        Judged { compared: Some(compared), unclear: judge.unclear }
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
    /// Seconds of an op of the slowest portable computation.
    per_op: f64,
    wrong: BTreeMap<(CpuId, &'static str), WrongAnswers>,
    unclear: BTreeMap<&'static str, BTreeSet<CpuId>>,
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
        match told.or_else(|| majority(found)) {
            Some(right) => {
                // CPUs beside it that are right tell as much as the same call again.
                let is_right = |found: &Found| found.has_only(right);
                let is_sure = told.is_some() && found.values().any(is_right);
                for (cpu, found) in found {
                    self.compare(*cpu, (row, load), call, found, (right, is_sure));
                }
            }
            None if alike(found).is_some() => (),
            None => self.unclear.entry(call.stream).or_default().extend(found.keys()),
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
        let ops = call.iterations * row.ops_per_iteration;
        let is_in_time = alike.is_none() || self.has_time_for(ops, self.until);
        if !row.is_known_after_any() || !is_in_time {
            return None;
        }
        let own: Vec<CpuId> = found.keys().copied().collect();
        let (iterations, operands) = (call.iterations, operands(load));
        let portable = CheckedWork::Reference { row, iterations, operands };
        if let Some(alike) = alike {
            let cpu = self.jury.beside(&own);
            self.computed += 1;
            let begun = self.executor.elapsed();
            let right = jury::answer(self.executor, cpu, &portable).ok()?;
            let took = self.executor.elapsed() - begun;
            if took >= TELLING {
                self.per_op = self.per_op.max(took.0 / ops as f64);
            }
            if right == alike {
                return Some(right);
            }
        }
        let is_in_time = self.has_time_for(2 * ops, self.until + IF_WRONG);
        let agreed = || self.jury.agreed(self.executor, &portable, &stream(row, load, call)).ok();
        let Some(agreed) = is_in_time.then(agreed).flatten() else {
            // One computation has another answer, which no second one confirms.
            if alike.is_some() {
                self.unclear.entry(call.stream).or_default().extend(own);
            }
            return None;
        };
        self.computed += 2;
        for (cpu, got) in agreed.others {
            let example = (got, [1, 1], (self.executor.elapsed(), true));
            let job = jury::once(cpu, portable.clone(), Some(agreed.right), AGAIN);
            let again = self.again(cpu, &job);
            self.note((cpu, REFERENCE), call, agreed.right, example, again);
        }
        Some(agreed.right)
    }

    /// Whether a portable computation of so many ops is over by then.
    fn has_time_for(&self, ops: u64, until: Seconds) -> bool {
        self.executor.elapsed() + Seconds(self.per_op * ops as f64) < until
    }

    /// The same call again, while there is time.
    fn again(&mut self, cpu: CpuId, job: &Checking) -> Option<WrongAgain> {
        let is_in_time = self.executor.elapsed() < self.until + IF_WRONG;
        if !is_in_time {
            return None;
        }
        self.jury.again(self.executor, cpu, job, AGAIN_TIME).ok()
    }

    /// Notes what of one CPU is wrong, or that this is unclear: where neither is sure what is right nor the same call was
    /// made again.
    fn compare(
        &mut self,
        cpu: CpuId,
        (row, load): (&'static StreamRow, Load),
        call: AlikeCalls,
        found: &Found,
        (right, is_sure): (u64, bool),
    ) {
        if found.has_only(right) {
            return;
        }
        let is_new = !self.wrong.contains_key(&(cpu, call.stream));
        let mut again = None;
        if is_new {
            let job = jury::once(cpu, stream(row, load, call), Some(right), AGAIN);
            again = self.again(cpu, &job);
        }
        if is_new && again.is_none() && !is_sure {
            self.unclear.entry(call.stream).or_default().insert(cpu);
            return;
        }
        for it in found.answers.iter().filter(|it| it.got != right) {
            let example = (it.got, it.times, it.first);
            self.note((cpu, call.stream), call, right, example, again.clone());
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

    fn has_only(&self, answer: u64) -> bool {
        self.others[0] == 0 && self.answers.iter().all(|it| it.got == answer)
    }
}

/// The one answer of all CPUs, where they have one.
fn alike(found: &BTreeMap<CpuId, Found>) -> Option<u64> {
    let first = found.values().next()?.answers.first()?.got;
    found.values().all(|found| found.has_only(first)).then_some(first)
}

/// The one answer of most CPUs, of three or more. Each has one vote, however often it answered, and none if it has several
/// answers.
fn majority(found: &BTreeMap<CpuId, Found>) -> Option<u64> {
    let votes: Vec<u64> = found
        .values()
        .filter_map(|it| it.answers.first().map(|first| first.got).filter(|got| it.has_only(*got)))
        .collect();
    let count = |answer: u64| votes.iter().filter(|it| **it == answer).count();
    let is_most = |answer: &u64| found.len() > 2 && 2 * count(*answer) > found.len();
    votes.iter().copied().find(is_most)
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

impl Judged {
    /// What is wrong, of CPUs or of cpudyno, and what is unclear.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let unclear = self.unclear.iter().map(|(stream, cpus)| {
            let cpus: CpuSet = cpus.iter().copied().collect();
            Finding::warning("verify.unclear", format!("`{stream}`"), differ(&cpus))
                .remedy(verify(&cpus.to_string()))
        });
        self.wrong().iter().map(jury::finding).chain(unclear).collect()
    }

    /// Takes the numbers of a stream away from a CPU that computed it wrong, or may have: none of them may be believed.
    pub(super) fn refuse(&self, series: &mut [Series]) {
        for one in series.iter_mut().filter(|it| it.summary().is_some()) {
            let of_it = |it: &&WrongAnswers| it.cpu == one.cpu && it.workload == one.workload;
            let what = format!("{} of `{}` on CPU {}", one.quantity, one.workload, one.cpu);
            let unavailable = if let Some(it) = self.wrong().iter().find(of_it) {
                let why = format!("{} of its {} answers were wrong", it.wrong, it.calls);
                if it.is_everywhere() {
                    let why = format!("{why}, and the same on other CPUs");
                    let remedy = jury::finding(it).remedy.unwrap_or_default();
                    Unavailable::new(Obstacle::Cpudyno, what, why).with_remedy(remedy)
                } else {
                    let remedy = verify(&it.cpu.to_string());
                    Unavailable::new(Obstacle::Hardware, what, why).with_remedy(remedy)
                }
            } else if let Some(cpus) = self.unclear.get(&*one.workload)
                && cpus.contains(&one.cpu)
            {
                let cpus: CpuSet = cpus.iter().copied().collect();
                Unavailable::new(Obstacle::Measurement, what, differ(&cpus))
                    .with_remedy(verify(&cpus.to_string()))
            } else {
                continue;
            };
            one.outcome = Outcome::Unavailable { unavailable };
        }
    }

    fn wrong(&self) -> &[WrongAnswers] {
        self.compared.as_ref().map_or(&[], |compared| &compared.wrong)
    }
}

fn differ(cpus: &CpuSet) -> String {
    format!("answers of CPU {cpus} differ, and nothing tells whose are wrong")
}

fn verify(cpus: &str) -> String {
    format!("cpudyno verify --cpus {cpus} --minutes 10")
}

#[cfg(test)]
mod tests {
    use model::{Hertz, Rate};
    use rig::executor::Stop;
    use rig::executor::simulated::Simulated;
    use simulated::Model;

    use super::*;

    /// What comes of answers of dot products, which no portable computation tells after so many iterations: of each CPU the
    /// answer and how often it came.
    fn judged(answers: &[(u64, u64)], stop: &Stop) -> Judged {
        let row = kernels::streams::find("avx512_bf16").unwrap();
        assert!(!row.is_known_after_any());
        let load = Load {
            id: row.id,
            ops_per_iteration: row.ops_per_iteration,
            saturates: false,
            in_loop_ops: None,
            body: Body::Simulated(Data::Quiet.operands()),
        };
        let mut log = AnswerLog::default();
        for (cpu, (answer, times)) in std::iter::zip(0.., answers) {
            let mut one = TimedAnswers::of(100);
            one.take(*answer, *times);
            log.note(CpuId(cpu), load, &[one], (Seconds(1.0), true));
        }
        let model = Model::named("4c").unwrap();
        let topology = Topology::default();
        let mut executor = Simulated::new(model, Rate::new(Hertz(1e9)), stop.clone());
        let cpus: Vec<CpuId> = (0..answers.len() as u32).map(CpuId).collect();
        log.judge(&mut executor, &cpus, &topology, Seconds(10.0))
    }

    fn accused(judged: &Judged) -> Vec<CpuId> {
        judged.wrong().iter().map(|it| it.cpu).collect()
    }

    fn unclear(judged: &Judged) -> Vec<CpuId> {
        judged.unclear.values().flatten().copied().collect()
    }

    #[test]
    fn the_cpu_with_more_repetitions_accuses_nobody() {
        let two = judged(&[(7, 900), (5, 3)], &Stop::default());
        assert_eq!((accused(&two), unclear(&two)), (vec![], vec![CpuId(0), CpuId(1)]));
        let findings = two.findings();
        let ids: Vec<&str> = findings.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["verify.unclear"]);
        let tied = judged(&[(7, 900), (5, 3), (5, 3), (7, 3)], &Stop::default());
        assert_eq!((accused(&tied), unclear(&tied).len()), (vec![], 4));
    }

    #[test]
    fn most_of_three_cpus_accuse_the_other_where_the_same_call_could_be_made_again() {
        let answers = [(7, 900), (5, 3), (5, 3)];
        let three = judged(&answers, &Stop::default());
        assert_eq!((accused(&three), unclear(&three)), (vec![CpuId(0)], vec![]));
        let stop = Stop::default();
        stop.ask();
        let stopped = judged(&answers, &stop);
        assert_eq!((accused(&stopped), unclear(&stopped)), (vec![], vec![CpuId(0)]));
    }

    #[test]
    fn answers_that_are_alike_accuse_nobody() {
        let alike = judged(&[(5, 900), (5, 3)], &Stop::default());
        assert_eq!((accused(&alike), unclear(&alike)), (vec![], vec![]));
        assert_eq!(alike.compared.map(|it| (it.with_reference, it.among_themselves)), Some((0, 1)));
    }
}
