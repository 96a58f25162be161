//! What `cpudyno cores` measures.

use std::collections::BTreeMap;

use model::record::Presentation;
use model::{CpuId, Obstacle, Seconds, Unavailable};

use super::CORES;
use super::messages::{MESSAGES, Message};
use super::pairs::{pairs, representatives, spread};
use super::tell::{LINES, MessageJob};
use crate::run::plan::{Cell, CellWork, Planning, Proposal};
use crate::run::{Error, Request, Span};
use rig::placement::Choice;
use rig::protocol::JOB_OVERHEAD;

/// The time that it takes at most, if nobody says.
const TIME: Seconds = Seconds(30.0);

/// Where lines are at home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// On the node of the first CPU of each pair.
    First,
    /// On the node of the second one.
    Second,
    /// On this node.
    Node(u32),
}

/// What was asked for.
#[derive(Clone)]
pub struct CoresOptions {
    /// How cores tell each other; none: all ways of few CPUs, and the first one of many.
    pub messages: Option<Vec<&'static Message>>,
    /// Where lines are at home.
    pub home: Home,
    /// Time to measure; what does not fit is not all pairs.
    pub budget: Option<Seconds>,
    /// Which CPUs.
    pub cpus: Choice,
}

impl CoresOptions {
    /// The run that answers it.
    pub fn request(self, command: Vec<String>, presentation: Presentation) -> Request {
        let budget = self.budget.unwrap_or(TIME);
        let (span, cpus) = (Span::All(budget), self.cpus.clone());
        let proposal = move |plan: &Planning<'_>| self.proposal(plan, budget);
        Request { cpus, ..Request::of(&CORES, span, proposal, command, presentation) }
    }

    fn proposal(&self, plan: &Planning<'_>, budget: Seconds) -> Result<Proposal, Error> {
        let cpus = &plan.placement.cpus;
        if let [alone] = cpus.as_slice() {
            return match self.cpus.cpus {
                Some(_) => Err(Error::Asked(self::lonely(*alone))),
                None => Ok(self::alone(*alone)),
            };
        }
        if let Home::Node(node) = self.home
            && !plan.topology().usable_nodes().any(|known| known.id == node)
        {
            let known: Vec<String> =
                plan.topology().usable_nodes().map(|node| node.id.to_string()).collect();
            let why = match known.as_slice() {
                [] => "the kernel lists no memory nodes".to_owned(),
                [one] => format!("memory may come from node {one}"),
                several => format!("memory may come from nodes {}", several.join(", ")),
            };
            let reason =
                Unavailable::new(Obstacle::Measurement, format!("lines of node {node}"), why);
            return Err(Error::Asked(reason));
        }
        let messages = match &self.messages {
            Some(messages) => messages.clone(),
            None if cpus.len() <= CPUS_WITH_ALL => MESSAGES.iter().collect(),
            None => MESSAGES.iter().take(1).collect(),
        };
        let cost = messages
            .iter()
            .fold(Seconds(0.0), |sum, message| sum + JOB_OVERHEAD + MessageJob::planned(message));
        // One block of each pair is the least, and calibration takes its time.
        let count = (budget / (cost * 1.2)) as usize;
        let chosen = pairs(plan.topology(), cpus, count, plan.machine.host.seed());
        Ok(self::cells(plan, &messages, &chosen, self.home))
    }
}

/// Why one CPU has no pair.
fn lonely(cpu: CpuId) -> Unavailable {
    let why = format!("only CPU {cpu} may be measured, and a pair needs two");
    Unavailable::new(Obstacle::Permission, "pairs of cores", why)
        .with_remedy("allow more CPUs: `taskset`, `--cpus`, the cpuset of the container")
}

fn alone(cpu: CpuId) -> Proposal {
    Proposal { cells: Vec::new(), absent: vec![(MESSAGES[0].id, lonely(cpu))] }
}

/// Of up to so many CPUs all messages are measured.
const CPUS_WITH_ALL: usize = 8;

/// Of up to so many pairs the placement is probed: it costs about as much as a block.
const PAIRS_PROBED: usize = 6;

fn cells(
    plan: &Planning<'_>,
    messages: &[&'static Message],
    pairs: &[[CpuId; 2]],
    home: Home,
) -> Proposal {
    let topology = plan.topology();
    let several = topology.usable_nodes().count() > 1;
    let node_of = |cpu| topology.place(cpu).and_then(|place| place.node).filter(|_| several);
    let mut cells = Vec::new();
    for &pair in pairs {
        for &message in messages {
            let home = match home {
                Home::First => node_of(pair[0]),
                Home::Second => node_of(pair[1]),
                Home::Node(node) => Some(node),
            };
            let relation = topology.relation(pair[0], pair[1]);
            let relation = relation.map(|relation| relation.word().to_owned());
            let lines = Some(LINES.to_string());
            let parameters = [
                ("between", relation),
                ("home_node", home.map(|node| node.to_string())),
                ("lines", lines),
            ];
            let parameters = parameters.into_iter().filter_map(|(k, v)| Some((k.to_owned(), v?)));
            let tell = MessageJob {
                order: MESSAGES.iter().position(|row| row.id == message.id).unwrap_or(0),
                message,
                pair,
                home,
                is_probed: pairs.len() <= PAIRS_PROBED,
                is_simulated: plan.machine.simulated.is_some(),
            };
            let parameters: BTreeMap<String, String> = parameters.collect();
            cells.push(Cell { work: CellWork::CustomJob(Box::new(tell)), parameters });
        }
    }
    Proposal { cells, absent: Vec::new() }
}

/// What a key asks: one pair for each way in which two CPUs lie to each other, and the two ends.
pub(super) fn in_key(plan: &Planning<'_>) -> Proposal {
    let cpus = &plan.placement.cpus;
    if let [alone] = cpus.as_slice() {
        return self::alone(*alone);
    }
    let mut chosen = representatives(plan.topology(), cpus);
    let ends = [cpus[0].min(cpus[cpus.len() - 1]), cpus[0].max(cpus[cpus.len() - 1])];
    if !chosen.contains(&ends) {
        chosen.push(ends);
    }
    chosen.truncate(PAIRS_PROBED);
    cells(plan, &[&MESSAGES[0]], &chosen, Home::First)
}

/// What the data sheet asks: every pair of a few CPUs, which lie as far apart as they can.
pub(super) fn in_brief(plan: &Planning<'_>) -> Proposal {
    const CPUS_MAX: usize = 8;
    let cpus = &plan.placement.cpus;
    if let [alone] = cpus.as_slice() {
        return self::alone(*alone);
    }
    let few = spread(plan.topology(), cpus, CPUS_MAX);
    let chosen = pairs(plan.topology(), &few, usize::MAX, plan.machine.host.seed());
    cells(plan, &[&MESSAGES[0]], &chosen, Home::First)
}
