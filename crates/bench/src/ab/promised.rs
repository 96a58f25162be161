//! Whether CPUs have the clock that each arm promises them, by the chain.

use std::collections::BTreeMap;

use machine::Machine;
use machine::activity::Activity;
use model::record::{Proof, ProofAnswer};
use model::stats::paired::Arm as Side;
use model::{CpuId, CpuSet, Hertz};

use super::own::Own;
use super::seat::{Bench, Stopped};
use crate::ab;
use crate::rig::executor::Stop;
use crate::run::Error;
use crate::run::single::Single;

/// The clock that a CPU is promised by each arm; none: nobody says.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// The CPU.
    pub cpu: CpuId,
    /// As A, as B.
    pub clocks: [Option<Hertz>; 2],
    /// Whether A, and B, run there; neither: it is kept busy.
    pub is_used: [bool; 2],
}

/// What can be seen of the machine whenever an arm was set, beside clocks.
pub type Look = fn(&Machine) -> Vec<Proof>;

/// Relative differences up to this are the promised clock.
const BAND: f64 = 0.02;

impl<'m> Bench<'m, '_, '_> {
    /// The clock of each CPU that was promised one, in both arms.
    pub(super) fn keep_promises(
        &mut self,
        machine: &'m Machine,
        promises: &[Promise],
        stop: &Stop,
    ) -> Result<Vec<Proof>, Error> {
        let mut seen = vec![[None; 2]; promises.len()];
        let mut at_work = [BTreeMap::new(), BTreeMap::new()];
        for (place, side) in [Side::A, Side::B].into_iter().enumerate() {
            if promises.is_empty() || stop.asked() {
                return Ok(Vec::new());
            }
            self.set(side)?;
            at_work[place] = self.at_work(machine, side)?;
            for (found, promise) in seen.iter_mut().zip(promises) {
                if promise.is_used[place] {
                    found[place] = clock(machine, promise.cpu, stop)?;
                }
            }
        }
        let is_measured =
            |(promise, _): &(&Promise, [Option<f64>; 2])| promise.is_used != [false; 2];
        let chains = promises.iter().zip(seen).filter(is_measured);
        let mut proofs: Vec<Proof> = chains.map(|(promise, seen)| proof(promise, seen)).collect();
        proofs.extend(busy(promises, &at_work));
        Ok(proofs)
    }

    /// The clock of each CPU while it is busy, around one measurement of an arm; nothing where the machine does not
    /// count it.
    fn at_work(&mut self, machine: &'m Machine, side: Side) -> Result<BTreeMap<CpuId, f64>, Error> {
        const CLOCK: &str = "Bzy_MHz";
        let none = Ok(BTreeMap::new());
        let Ok(mut activity) = Activity::open(machine, None) else { return none };
        activity.only(&[CLOCK.to_owned()]);
        let mut columns = activity.columns().iter();
        let Some(column) = columns.position(|column| column.header == CLOCK) else { return none };
        activity.look();
        match self.value(side, side) {
            Err(Stopped::Error(error)) => return Err(error),
            Err(Stopped::Interrupted | Stopped::Disturbed(..) | Stopped::Failed(_)) | Ok(_) => {}
        }
        let Some(interval) = activity.look() else { return none };
        let cpus = activity.carriers(activity.columns()[column].scope);
        let values = cpus.into_iter().zip(&interval.values[column]);
        Ok(values.filter_map(|(cpu, value)| Some((cpu, *value.as_ref().ok()?))).collect())
    }
}

/// The clocks of CPUs at work, those that are alike together.
fn busy(promises: &[Promise], at_work: &[BTreeMap<CpuId, f64>; 2]) -> Vec<Proof> {
    /// Clocks are averages.
    const STEP: f64 = 1e7;
    let mut alike: Vec<(CpuSet, Proof)> = Vec::new();
    for promise in promises {
        let cpu = promise.cpu;
        let rounded = |hertz: &f64| (hertz / STEP).round() * STEP;
        let seen = [0, 1].map(|place: usize| at_work[place].get(&cpu).map(rounded));
        if seen == [None, None] {
            continue;
        }
        // Who does not run there in an arm is busy in both.
        let is_used = if promise.is_used == [false; 2] { [true; 2] } else { promise.is_used };
        let one = proof(&Promise { is_used, ..promise.clone() }, seen);
        let is_like =
            |(_, it): &&mut (CpuSet, Proof)| it.answer == one.answer && it.seen == one.seen;
        match alike.iter_mut().find(is_like) {
            Some((cpus, _)) => *cpus = cpus.iter().chain([cpu]).collect(),
            None => alike.push((CpuSet::from_iter([cpu]), one)),
        }
    }
    let named = |(cpus, proof): (CpuSet, Proof)| Proof {
        id: format!("Bzy_MHz of CPUs {cpus}"),
        load: "the workload, and a chain of multiplies on the busy CPUs".to_owned(),
        ..proof
    };
    alike.into_iter().map(named).collect()
}

/// The clock of a CPU by the chain, in hertz; none: it cannot be told now.
fn clock(machine: &Machine, cpu: CpuId, stop: &Stop) -> Result<Option<f64>, Error> {
    let Some(subject) = ab::find("turbo") else { return Ok(None) };
    let own = Own { cpus: Some(CpuSet::from_iter([cpu])), ..Own::default() };
    let mut single = Single::new(machine, stop)?;
    let ready = single.prepare(subject, &own, subject.quantity, None)?;
    Ok(single.measure(&ready).map_err(Error::from)?.ok())
}

fn proof(promise: &Promise, seen: [Option<f64>; 2]) -> Proof {
    let Promise { cpu, clocks, is_used } = promise;
    let words = |clock: Option<f64>| {
        clock.map_or_else(|| "unknown".to_owned(), |hertz| format!("{:.0} MHz", hertz / 1e6))
    };
    let (mut kept, mut told) = (Vec::new(), Vec::new());
    for (place, arm) in ["A", "B"].into_iter().enumerate().filter(|(place, _)| is_used[*place]) {
        let (seen, promised) = (seen[place], clocks[place].map(|hertz| hertz.0));
        let ratio = seen.zip(promised).map(|(seen, promised)| seen / promised);
        kept.push(ratio.map(|ratio| (ratio - 1.0).abs() <= BAND));
        told.push(format!("{} as {arm}, promised {}", words(seen), words(promised)));
    }
    let answer = if kept.is_empty() || kept.contains(&None) {
        ProofAnswer::NotObservable
    } else if kept.contains(&Some(false)) {
        ProofAnswer::NotObeyed
    } else {
        ProofAnswer::Obeyed
    };
    Proof {
        id: format!("clock of CPU {cpu}"),
        load: "chain of multiplies, beside the busy CPUs".to_owned(),
        answer,
        seen: told.join("; "),
        caveat: None,
    }
}
