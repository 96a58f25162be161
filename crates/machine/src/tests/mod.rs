//! What crosses files of this crate; laws of one file are tested in that file.

mod activity;
mod architectures;
mod bent;
mod busy;
mod clock;
mod containers;
mod cpuid;
mod dimms;
mod disturbances;
mod facts;
mod growth;
mod info;
mod instruments;
mod large;
mod memory;
mod power;
mod simulations;
mod surroundings;
mod topology;
mod topology_bent;

use std::sync::Arc;

use model::record::{Fact, FactValue};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use simulated::Files;
use sys::cpuid::Leaf;

use crate::perf::Elsewhere;
use crate::permissions::{Permits, Question};
use crate::ports::{Cpuid, Host, KnownHost, Machine, Msr};

/// A machine of these files and CPUs, without CPUID and registers.
pub(crate) fn machine_of(files: Files, cpus: &str) -> Machine {
    Machine {
        tree: Box::new(files),
        cpuid: Box::new(Nothing),
        msr: Arc::new(Nothing),
        isst: Arc::new(crate::isst::NoIsst::not_recorded("it was not recorded")),
        permits: Box::new(Nothing),
        perf: Box::new(Elsewhere("a machine of a test".to_owned())),
        host: host(Ok(cpus.parse().unwrap()), false),
        elsewhere: None,
        simulated: None,
        worker: None,
    }
}

/// A CPU that says whose it is, and nothing else.
pub(crate) struct Vendor(pub(crate) &'static str);

impl Cpuid for Vendor {
    fn leaf(&self, leaf: u32, _subleaf: u32) -> Option<Leaf> {
        let text = self.0.as_bytes().chunks_exact(4);
        let words: Vec<u32> = text
            .map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte)))
            .collect();
        let [ebx, edx, ecx] = words[..] else { return None };
        (leaf == 0).then_some(Leaf { eax: 0, ebx, edx, ecx })
    }
}

struct Nothing;

impl Cpuid for Nothing {
    fn leaf(&self, _leaf: u32, _subleaf: u32) -> Option<Leaf> {
        None
    }
}

impl Msr for Nothing {
    fn read(&self, _cpu: CpuId, register: u32) -> Reading<u64> {
        Err(Unavailable::new(Obstacle::Hardware, format!("register {register:#x}"), "no registers"))
    }
}

impl Permits for Nothing {
    fn ask(&self, question: Question) -> Reading<String> {
        Err(Unavailable::new(Obstacle::Hardware, question.name(), "nothing can be opened"))
    }
}

/// A host that lets these CPUs be used, or says why it does not tell.
fn host(affinity: Reading<CpuSet>, is_root: bool) -> Box<dyn Host> {
    let (now_utc, run_id) = ("2026-01-01T00:00:00Z".to_owned(), "0123456789ab".to_owned());
    Box::new(KnownHost { now_utc, run_id, seed: 1, affinity, is_root })
}

fn simulated(name: &str) -> Machine {
    Machine::named(&format!("sim:{name}")).unwrap()
}

/// What a fact says, in one line.
fn say(fact: &Fact) -> String {
    match fact.value.value() {
        Some(FactValue::Text(text)) => text.clone(),
        Some(FactValue::Number { value, unit }) => format!("{value} {}", unit.symbol()),
        None => "unavailable".into(),
    }
}

fn said(facts: &[Fact], id: &str) -> String {
    let fact = facts.iter().find(|fact| fact.id == id);
    say(fact.unwrap_or_else(|| panic!("no fact `{id}`")))
}

/// Every absence says why, and is called by what people call it.
fn check_absences(facts: &[Fact]) {
    for fact in facts {
        if let model::Known::No { unavailable } = &fact.value {
            assert!(!unavailable.why.is_empty(), "{fact:?}");
            assert_eq!(unavailable.what, fact.label);
        }
    }
}
