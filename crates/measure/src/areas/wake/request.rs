//! What `cpudyno wake` measures, question by question.

use std::cell::RefCell;
use std::sync::Arc;

use fastrand::Rng;
use machine::instruments::idle::IdleCounters;
use machine::pm_qos::LatencyLimits;
use model::record::{Presentation, Relation};
use model::{CpuSet, Known, Obstacle, Seconds, Unavailable};

use super::idle::{RESTS, Rested};
use super::pairs::{self, CpuPair, PairSpec};
use super::signals::Signals;
use super::timer::{Alarms, WAYS, Way};
use super::{WAKE, idle};
use crate::run::plan::{Planning, Proposal};
use crate::run::{Error, Request, Span};
use rig::placement::{Choice, Order, Refusal};
use rig::protocol::JOB_OVERHEAD;
use rig::signals::{self, Method, Waits};

/// What is asked of waking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// What signals cost, one right after the other.
    Signals,
    /// What they cost when the sleeper rested before.
    Idle,
    /// How late alarms are.
    Timer,
}

impl Question {
    /// The time that it takes if nobody says.
    const fn time(self) -> Seconds {
        Seconds(match self {
            Question::Signals => 8.0,
            Question::Idle => 10.0,
            Question::Timer => 6.0,
        })
    }
}

/// The workload of a record that lacks a second CPU.
const OTHER_CPU: &str = "other-cpu";

/// What was asked for.
#[derive(Clone)]
pub struct WakeOptions {
    /// The question.
    pub question: Question,
    /// The ways to signal; none: all, and of a sleeper that rests, the futex.
    pub methods: Option<Vec<&'static Method>>,
    /// The pairs; none: one of each kind, and of a sleeper that rests, the nearest two cores.
    pub pairs: Option<Vec<PairSpec>>,
    /// Signals of each method and pair; none: as many as the time allows.
    pub signals: Option<u64>,
    /// Beside all else, with idle states limited to this exit latency.
    pub limit: Option<Seconds>,
    /// Time to measure.
    pub budget: Option<Seconds>,
    /// Which CPUs; none: all.
    pub cpus: Option<CpuSet>,
}

/// Blocks that a fixed number of signals is spread over: five at least, and none of more signals than
/// are sent within a second, so that who stops the run loses little.
fn blocks(signals: u64) -> u64 {
    const SIGNALS_MAX: u64 = 100_000;
    signals.div_ceil(SIGNALS_MAX).max(5)
}

impl WakeOptions {
    /// The question, and everything else as usual.
    pub fn about(question: Question) -> WakeOptions {
        WakeOptions {
            question,
            methods: None,
            pairs: None,
            signals: None,
            limit: None,
            budget: None,
            cpus: None,
        }
    }

    /// The run that answers it.
    pub fn request(self, command: Vec<String>, presentation: Presentation) -> Request {
        let span = match self.signals {
            Some(signals) => Span::Blocks(blocks(signals)),
            None => Span::All(self.budget.unwrap_or(self.question.time())),
        };
        let cpus = Choice {
            cpus: self.cpus.clone(),
            siblings: true,
            order: Order::Package,
            at_most: None,
        };
        let proposal = move |plan: &Planning<'_>| self.proposal(plan);
        Request { cpus, ..Request::of(&WAKE, span, proposal, command, presentation) }
    }

    fn proposal(&self, plan: &Planning<'_>) -> Result<Proposal, Error> {
        let asked = self.pairs.as_deref().unwrap_or_default();
        let missing = pairs::unusable(asked, &plan.topology().usable);
        if !missing.is_empty() {
            let usable = plan.topology().usable.clone();
            return Err(Refusal::Missing { asked: missing, usable }.into());
        }
        let mut proposal = Proposal::default();
        match self.question {
            Question::Signals => self.signals(plan, &mut proposal),
            Question::Idle => self.idle(plan, &mut proposal),
            Question::Timer => self.timer(plan, &mut proposal),
        }
        Ok(proposal)
    }

    fn signals(&self, plan: &Planning<'_>, proposal: &mut Proposal) {
        let (topology, cpus) = (plan.topology(), &plan.placement.cpus);
        let any_two = pairs::unsaid_two(topology, cpus).map(PairSpec::Pair);
        let every_kind: Vec<PairSpec> =
            pairs::kinds(topology).map(PairSpec::Relation).chain(any_two).collect();
        let asked = self.pairs.as_deref().unwrap_or(&every_kind);
        let methods = self.methods(plan, signals::TABLE, proposal);
        for asked in asked {
            let pairs = pairs_of(plan, *asked, proposal);
            let each = pairs.iter().flat_map(|it| methods.iter().map(move |method| (it, *method)));
            for ((kind, pair), method) in each {
                if *kind == Some(Relation::SameCpu) && method.waits != Waits::Sleeping {
                    continue;
                }
                let count = match self.signals {
                    Some(signals) => signals.div_ceil(blocks(signals)),
                    None => Signals::usual(method),
                };
                proposal.cells.push(Signals { method, pair: *pair, kind: *kind, count }.cell());
            }
        }
        for method in methods.iter().filter(|method| method.waits != Waits::Sleeping) {
            if asked.iter().all(|asked| is_alone(plan, *asked)) {
                let why = "a spinning thread keeps the only CPU from the thread that signals it";
                let reason = Unavailable::new(Obstacle::Hardware, method.id, why);
                proposal.absent.push((method.id, reason));
            }
        }
    }

    fn idle(&self, plan: &Planning<'_>, proposal: &mut Proposal) {
        let futex: Vec<&'static Method> = signals::find("futex").into_iter().collect();
        let methods = self.methods(plan, &futex, proposal);
        let limit = self.limit.and_then(|limit| match LatencyLimits::of(plan.machine) {
            Ok(limits) => Some((limit, Arc::new(limits))),
            Err(reason) => {
                let what = format!("wake-ups limited to {} us", idle::microseconds(limit));
                proposal.absent.push(("limited", Unavailable { what, ..reason }));
                None
            }
        });
        let pairs = match &self.pairs {
            None => match pairs::nearest_of_each_type(plan) {
                Ok(pairs) => pairs.into_iter().map(PairSpec::Pair).collect(),
                Err(reason) => {
                    proposal.absent.push((OTHER_CPU, reason));
                    return;
                }
            },
            Some(asked) => asked.clone(),
        };
        proposal.absent.extend(without_states(plan));
        let pairs: Vec<_> =
            pairs.into_iter().flat_map(|asked| pairs_of(plan, asked, proposal)).collect();
        for (kind, pair) in pairs {
            if kind == Some(Relation::SameCpu) {
                let word = Relation::SameCpu.word();
                let why = "the waking thread must stay awake, on another CPU than the sleeper";
                proposal.absent.push((word, Unavailable::new(Obstacle::Hardware, word, why)));
                continue;
            }
            for &method in &methods {
                let limits = [None, limit.clone()];
                let limits = &limits[..=usize::from(limit.is_some())];
                rested(plan, proposal, (method, pair, kind), &RESTS, limits);
            }
        }
    }

    /// Alarms on each CPU; if there is no time for all, on some that are spread over the machine.
    fn timer(&self, plan: &Planning<'_>, proposal: &mut Proposal) {
        /// Each CPU has as many blocks at least.
        const BLOCKS: f64 = 2.0;
        let known: Vec<&'static Way> =
            WAYS.iter().filter(|way| has_cost(plan, way, proposal)).collect();
        let budget = self.budget.unwrap_or(self.question.time());
        let sweep = (Alarms::planned() + JOB_OVERHEAD) * (known.len().max(1) as f64 * BLOCKS);
        let cpus = &plan.placement.cpus;
        let most = ((budget / sweep) as usize).max(1);
        let step = cpus.len().div_ceil(most).max(1);
        let (chosen, left): (Vec<_>, Vec<_>) =
            cpus.iter().enumerate().partition(|(place, _)| place % step == 0);
        for way in known {
            for cpu in chosen.iter().map(|(_, cpu)| **cpu) {
                let counters = IdleCounters::of(plan.machine, cpu).ok().map(Arc::new);
                let seed = plan.machine.host.seed() ^ u64::from(cpu.0);
                let random = RefCell::new(Rng::with_seed(seed));
                proposal.cells.push(Alarms { way, cpu, counters, random }.cell());
            }
        }
        if !left.is_empty() {
            let left: CpuSet = left.into_iter().map(|(_, cpu)| *cpu).collect();
            let all = sweep * cpus.len() as f64;
            let why = format!("alarms on {} CPUs take {:.0} s", cpus.len(), all.0.ceil());
            let reason =
                Unavailable::new(Obstacle::Measurement, format!("alarms on CPUs {left}"), why);
            let remedy =
                format!("give it more time: --budget {:.0}s; or --cpus LIST", all.0.ceil());
            proposal.absent.push(("alarms", reason.with_remedy(remedy)));
        }
        proposal.absent.extend(without_states(plan));
    }

    /// Those of the methods that this machine has.
    fn methods(
        &self,
        plan: &Planning<'_>,
        usual: &[&'static Method],
        proposal: &mut Proposal,
    ) -> Vec<&'static Method> {
        let asked = self.methods.as_deref().unwrap_or(usual);
        available(plan, asked, proposal)
    }
}

fn available(
    plan: &Planning<'_>,
    asked: &[&'static Method],
    proposal: &mut Proposal,
) -> Vec<&'static Method> {
    let mut known = Vec::new();
    for &method in asked {
        match method.missing(plan.machine) {
            None => known.push(method),
            Some(reason) => proposal.absent.push((method.id, reason)),
        }
    }
    known
}

/// Whether both threads would share a CPU, or there is no such pair. Where nobody says how CPUs lie to each other, there
/// may be one.
fn is_alone(plan: &Planning<'_>, asked: PairSpec) -> bool {
    let (topology, cpus) = (plan.topology(), &plan.placement.cpus);
    match asked {
        PairSpec::Relation(Relation::SameCpu) => true,
        PairSpec::Relation(kind) => {
            pairs::of_kind(topology, cpus, kind).is_err()
                && !pairs::has_unsaid_pairs(topology, cpus)
        }
        PairSpec::Pair(pair) => pair.first == pair.second,
    }
}

/// The pair that was asked for, of a way to lie one of each type of core, with how it lies, where somebody says so; the
/// reason where there is none.
fn pairs_of(
    plan: &Planning<'_>,
    asked: PairSpec,
    proposal: &mut Proposal,
) -> Vec<(Option<Relation>, CpuPair)> {
    match asked {
        PairSpec::Pair(pair) => vec![(pair.kind(plan.topology()), pair)],
        PairSpec::Relation(kind) => match pairs::of_each_type(plan, kind) {
            Ok(pairs) => pairs.into_iter().map(|pair| (Some(kind), pair)).collect(),
            Err(reason) => {
                proposal.absent.push((kind.word(), reason));
                Vec::new()
            }
        },
    }
}

/// Sleepers that rest, with each limit.
fn rested(
    plan: &Planning<'_>,
    proposal: &mut Proposal,
    (method, pair, kind): (&'static Method, CpuPair, Option<Relation>),
    rests: &[Seconds],
    limits: &[Option<(Seconds, Arc<LatencyLimits>)>],
) {
    let counters = IdleCounters::of(plan.machine, pair.second);
    let counters = counters.ok().map(Arc::new);
    for limit in limits {
        for &rest in rests {
            let (limit, counters) = (limit.clone(), counters.clone());
            proposal.cells.push(Rested { method, pair, kind, rest, limit, counters }.cell());
        }
    }
}

/// Whether alarms of that kind can be had; the reason where a simulated machine has no cost for them.
fn has_cost(plan: &Planning<'_>, way: &Way, proposal: &mut Proposal) -> bool {
    let lacks = plan.machine.simulated.as_ref().filter(|model| !model.signals.contains_key(way.id));
    if let Some(model) = lacks {
        let why = format!("sim:{} has no cost for it", model.name);
        proposal.absent.push((way.id, Unavailable::new(Obstacle::Hardware, way.id, why)));
    }
    lacks.is_none()
}

/// Why nothing is said of idle states, where the kernel counts none.
fn without_states(plan: &Planning<'_>) -> Option<(&'static str, Unavailable)> {
    match &plan.description.fact("idle.states")?.value {
        Known::Yes(_) => None,
        Known::No { unavailable } => {
            let what = "idle states that wake-ups ended".to_owned();
            Some(("idle_states", Unavailable { what, ..unavailable.clone() }))
        }
    }
}

/// What the data sheet asks: a few methods between the nearest two cores and on one CPU, and what deep
/// sleep adds.
pub(super) fn in_brief(plan: &Planning<'_>) -> Proposal {
    const BETWEEN: [&str; 4] = ["futex", "pipe", "condvar", "spin-pause"];
    const ALONE: [&str; 1] = ["futex"];
    /// Light sleep, deeper sleep, and a rest in which every CPU sleeps as deeply as it can.
    const RESTS: [Seconds; 3] = [Seconds(10e-6), Seconds(100e-6), Seconds(1e-3)];
    let mut proposal = Proposal::default();
    let cpus = &plan.placement.cpus;
    let nearest = pairs::nearest_of_each_type(plan);
    let two = nearest.as_ref().map(|pairs| pairs[0]).map_err(Unavailable::clone);
    let alone = pairs::of_kind(plan.topology(), cpus, Relation::SameCpu);
    let all: Vec<&'static Method> = BETWEEN.iter().filter_map(|id| signals::find(id)).collect();
    let known = available(plan, &all, &mut proposal);
    for (pair, ids) in [(&two, &BETWEEN[..]), (&alone, &ALONE[..])] {
        let Ok(pair) = pair else { continue };
        let kind = pair.kind(plan.topology());
        for method in known.iter().filter(|method| ids.contains(&method.id)) {
            let count = Signals::usual(method);
            proposal.cells.push(Signals { method, pair: *pair, kind, count }.cell());
        }
    }
    let futex = known.iter().find(|method| method.id == "futex");
    // Of further types of cores what most programs sleep on.
    let further = nearest.iter().flatten().skip(1);
    for (pair, method) in further.filter_map(|pair| Some((*pair, *futex?))) {
        let (kind, count) = (pair.kind(plan.topology()), Signals::usual(method));
        proposal.cells.push(Signals { method, pair, kind, count }.cell());
    }
    match (two, futex) {
        (Ok(pair), Some(futex)) => {
            let kind = pair.kind(plan.topology());
            rested(plan, &mut proposal, (futex, pair, kind), &RESTS, &[None]);
        }
        (Err(reason), _) => proposal.absent.push((OTHER_CPU, reason)),
        (Ok(_), None) => {}
    }
    proposal
}
