//! Whether CPUs have the clock that each arm promises them, by the chain.

use levers::Object;
use levers::unlimited::is_open;
use machine::Machine;
use model::record::{Proof, ProofAnswer};
use model::{CpuId, CpuSet, Hertz};

use crate::areas::subjects;
use crate::arms::ArmRunner;
use crate::run::Error;
use crate::run::arm_env::ArmEnv;
use crate::run::single::Single;
use rig::executor::Stop;

/// The clock that a CPU is promised by each arm; none: nobody says.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// The CPU.
    pub cpu: CpuId,
    /// As A, as B.
    pub clocks: [Option<Hertz>; 2],
    /// Who holds it to that clock; none: what firmware gives is all that decides.
    pub held_by: [Option<String>; 2],
    /// Whether A, and B, run there.
    pub is_used: [bool; 2],
    /// Whether it is kept busy while A, and B, runs.
    pub is_busy: [bool; 2],
}

impl Promise {
    /// No higher than the limit that the kernel shows now. One that was as high as the clock went before the arm
    /// was set could not be told from none.
    fn limit(&mut self, machine: &Machine, arm: usize) {
        let path = format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_max_freq", self.cpu);
        let object = Object::File(path);
        let Ok(text) = object.read(machine) else { return };
        let limit = match text.parse::<f64>() {
            Ok(khz) if !is_open(machine, &object, &text) => khz * 1e3,
            _ => return,
        };
        if self.clocks[arm].is_some_and(|clock| limit < clock.0 * (1.0 - BAND)) {
            self.clocks[arm] = Some(Hertz(limit));
            self.held_by[arm] = Some("at most, by scaling_max_freq".to_owned());
        }
    }
}

/// Relative differences up to this are the promised clock.
const BAND: f64 = 0.02;

/// The clock of each CPU that was promised one, in both arms. What the kernel turns out to leave of a promise, once an
/// arm was set, is all that is promised then.
pub(super) fn keep<'m>(
    bench: &mut ArmRunner<'m, '_, '_>,
    machine: &'m Machine,
    promises: &mut [Promise],
    stop: &Stop,
) -> Result<Vec<Proof>, Error> {
    let mut seen = vec![[None; 2]; promises.len()];
    for arm in [0, 1] {
        if promises.is_empty() || stop.asked() {
            return Ok(Vec::new());
        }
        bench.set(arm)?;
        for (found, promise) in seen.iter_mut().zip(promises.iter_mut()) {
            promise.limit(machine, arm);
            if promise.is_used[arm] {
                // Whoever is measured with it is at work, too.
                bench.keep_busy_around(promise.cpu, arm)?;
                found[arm] = clock(machine, promise.cpu, stop)?;
            }
        }
    }
    let chains = promises.iter().zip(seen).filter(|(it, _)| it.is_used != [false; 2]);
    Ok(chains.map(|(promise, seen)| proof(promise, promise.is_used, seen)).collect())
}

/// Whether CPUs that are kept busy have the clock that the arm promises them, once it was seen.
pub(super) fn busy_kept(bench: &ArmRunner<'_, '_, '_>, promises: &[Promise]) -> Vec<Proof> {
    /// Clocks are averages.
    const STEP: f64 = 1e7;
    let mut alike: Vec<(CpuSet, Proof)> = Vec::new();
    for promise in promises.iter().filter(|promise| promise.is_busy != [false; 2]) {
        let rounded = |hertz: f64| (hertz / STEP).round() * STEP;
        let seen = [0, 1].map(|arm| bench.busy_clock(promise.cpu, arm).map(rounded));
        if seen == [None, None] {
            continue;
        }
        let proof = proof(promise, promise.is_busy, seen);
        let is_like =
            |(_, it): &&mut (CpuSet, Proof)| it.answer == proof.answer && it.seen == proof.seen;
        match alike.iter_mut().find(is_like) {
            Some((cpus, _)) => *cpus = cpus.iter().chain([promise.cpu]).collect(),
            None => alike.push((CpuSet::from_iter([promise.cpu]), proof)),
        }
    }
    let named = |(cpus, proof): (CpuSet, Proof)| Proof {
        id: format!("clock of busy {}", cpus.named()),
        load: "chain of multiplies, around each measurement".to_owned(),
        ..proof
    };
    alike.into_iter().map(named).collect()
}

/// The clock of a CPU by the chain, in hertz; none: it cannot be told now.
fn clock(machine: &Machine, cpu: CpuId, stop: &Stop) -> Result<Option<f64>, Error> {
    let Some(subject) = subjects::find("turbo") else { return Ok(None) };
    let own = ArmEnv { cpus: Some(CpuSet::from_iter([cpu])), ..ArmEnv::default() };
    let mut single = Single::new(machine, stop)?;
    let ready = single.prepare(subject, &own, subject.quantity, None)?;
    Ok(single.measure(&ready).map_err(Error::from)?.ok())
}

/// What was seen of a promise in the arms that are looked at.
fn proof(promise: &Promise, arms: [bool; 2], seen: [Option<f64>; 2]) -> Proof {
    let Promise { cpu, clocks, held_by, .. } = promise;
    let words = |clock: Option<f64>| {
        clock.map_or_else(|| "unknown".to_owned(), |hertz| format!("{:.0} MHz", hertz / 1e6))
    };
    let (mut kept, mut told) = (Vec::new(), Vec::new());
    for (place, arm) in ["A", "B"].into_iter().enumerate().filter(|(place, _)| arms[*place]) {
        let (seen, promised) = (seen[place], clocks[place].map(|hertz| hertz.0));
        let ratio = seen.zip(promised).map(|(seen, promised)| seen / promised);
        kept.push(ratio.map(|ratio| (ratio - 1.0).abs() <= BAND));
        let by = held_by[place].as_ref().map(|who| format!(" ({who})")).unwrap_or_default();
        let promised = match promised {
            Some(hertz) => format!("promised {}", words(Some(hertz))),
            None => "nothing promised".to_owned(),
        };
        told.push(format!("{} as {arm}, {promised}{by}", words(seen)));
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
