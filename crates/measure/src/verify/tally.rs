//! What was compared, counted, and wrong answers, each of a CPU and a workload.

use std::collections::BTreeMap;

use kernels::patterns::Pattern;
use model::record::{
    Topology, VerifiedCpu, VerifiedWorkload, WrongAgain, WrongAnswer, WrongAnswers,
};
use model::{CpuId, CpuSet, Known, Seconds};

use rig::checking::{CheckedWork, Checking, RawChecked};
use rig::placement::Placement;

use crate::jury::EXAMPLES_MAX;

use super::surroundings::Surroundings;
use super::workloads::{Body, Workload};

/// What is counted.
pub(super) struct Tally {
    cpus: BTreeMap<CpuId, CpuTally>,
    pub(super) workloads: Vec<VerifiedWorkload>,
    /// Calls of a workload on a CPU.
    calls: BTreeMap<(CpuId, String), [u64; 2]>,
    pub(super) wrong: Vec<WrongAnswers>,
    pub(super) references: u64,
}

#[derive(Default)]
struct CpuTally {
    calls: u64,
    ops: u64,
    numbers: u64,
}

/// A call that was compared.
pub(super) struct Call<'a> {
    pub(super) work: &'a CheckedWork,
    pub(super) pattern: Pattern,
    /// Whether the other CPUs idled.
    pub(super) is_alone: bool,
}

impl Call<'_> {
    /// The name that its wrong answers have.
    fn name(&self) -> String {
        self.work.id().to_owned()
    }

    /// What it computed with.
    fn operands(&self) -> String {
        match self.work {
            CheckedWork::Memory { transfer, length, .. } => {
                format!("{}, arrays of {length} numbers", transfer.variant.id)
            }
            CheckedWork::Reference { row, .. } => {
                format!("{} for {}", self.pattern.words(), row.id)
            }
            CheckedWork::Stream { .. } => self.pattern.words(),
        }
    }

    fn iterations(&self) -> u64 {
        match self.work {
            CheckedWork::Memory { trips, .. } => *trips,
            CheckedWork::Reference { iterations, .. } | CheckedWork::Stream { iterations, .. } => {
                *iterations
            }
        }
    }
}

/// An entry of the wrong answers.
pub(super) struct Entry {
    pub(super) entry: usize,
    pub(super) is_new: bool,
}

impl Tally {
    pub(super) fn new(placement: &Placement, workloads: &[Workload]) -> Tally {
        let blank = |workload: &Workload| {
            let (title, instruction, needs, moves_memory) = match &workload.body {
                Body::Stream(row, _) => (row.title, row.mnemonic, row.needs, false),
                Body::Memory(kernel, _) => (kernel.title, kernel.formula, &[][..], true),
            };
            VerifiedWorkload {
                id: workload.id.to_owned(),
                title: title.to_owned(),
                instruction: instruction.to_owned(),
                isa: needs.iter().map(|isa| isa.name().to_owned()).collect(),
                second_form: workload.second.map(|(row, _)| row.id.to_owned()),
                moves_memory,
                ways: Vec::new(),
                calls: 0,
                ops: 0,
                alone: CpuSet::default(),
                together: CpuSet::default(),
            }
        };
        Tally {
            cpus: placement.cpus.iter().map(|cpu| (*cpu, CpuTally::default())).collect(),
            workloads: workloads.iter().map(blank).collect(),
            calls: BTreeMap::new(),
            wrong: Vec::new(),
            references: 0,
        }
    }

    /// The place of a workload.
    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.workloads.iter().position(|workload| workload.id == id)
    }

    /// Whether anything was wrong.
    pub(super) fn is_any(&self) -> bool {
        !self.wrong.is_empty()
    }

    /// Counts the calls of a job.
    pub(super) fn count(&mut self, raw: &[RawChecked], job: &Checking, index: usize) {
        let workload = &mut self.workloads[index];
        let all = self.cpus.len();
        if let CheckedWork::Memory { transfer, .. } = &job.work {
            let way = transfer.variant.id;
            if !workload.ways.iter().any(|known| known == way) {
                workload.ways.push(way.to_owned());
            }
        }
        for checked in raw {
            let ops = checked.calls * job.work.ops();
            let cpu = self.cpus.entry(checked.cpu).or_default();
            cpu.calls += checked.calls;
            *(if workload.moves_memory { &mut cpu.numbers } else { &mut cpu.ops }) += ops;
            workload.calls += checked.calls;
            workload.ops += ops;
            let seen =
                if job.cpus.len() < all { &mut workload.alone } else { &mut workload.together };
            if !seen.contains(checked.cpu) {
                *seen = seen.iter().chain([checked.cpu]).collect();
            }
            let known = self.calls.entry((checked.cpu, workload.id.clone())).or_default();
            *known = [known[0] + checked.calls, known[1] + ops];
        }
    }

    /// Notes that answers were wrong.
    pub(super) fn note(&mut self, checked: &RawChecked, of: &Call<'_>) -> Entry {
        let name = of.name();
        let is_it = |it: &WrongAnswers| it.cpu == checked.cpu && it.workload == name;
        let known = self.wrong.iter().position(is_it);
        let entry = known.unwrap_or_else(|| {
            self.wrong.push(WrongAnswers {
                cpu: checked.cpu,
                core: 0,
                package: 0,
                workload: name.clone(),
                wrong: 0,
                calls: 0,
                ops: 0,
                wrong_alone: 0,
                examples: Vec::new(),
                again: WrongAgain { here: [0, 0], elsewhere: Vec::new() },
            });
            self.wrong.len() - 1
        });
        let wrong = &mut self.wrong[entry];
        wrong.wrong += checked.wrong;
        wrong.wrong_alone += if of.is_alone { checked.wrong } else { 0 };
        Entry { entry, is_new: known.is_none() }
    }

    /// Whether another wrong answer of an entry is kept as it was.
    pub(super) fn wants_example(&self, entry: usize) -> bool {
        self.wrong[entry].examples.len() < EXAMPLES_MAX
    }

    /// Keeps the first wrong answer of a job as it was.
    pub(super) fn describe(
        &mut self,
        entry: usize,
        checked: &RawChecked,
        of: &Call<'_>,
        at: Seconds,
        (clock, celsius): (Known<f64>, Known<f64>),
    ) {
        let Some(call) = checked.first.first() else { return };
        let (expected, got, flipped) = WrongAnswer::bits(call.expected, call.got);
        self.wrong[entry].examples.push(WrongAnswer {
            operands: of.operands(),
            iterations: of.iterations(),
            expected,
            got,
            flipped,
            index: call.index,
            at: at.0,
            alone: of.is_alone,
            clock,
            celsius,
        });
    }

    /// Wrong answers with all calls of their kind and the cores of their CPUs, the most frequent first.
    pub(super) fn wrong(&self, topology: &Topology) -> Vec<WrongAnswers> {
        let mut wrong = self.wrong.clone();
        for it in &mut wrong {
            (it.core, it.package) = seat(topology, it.cpu);
            let calls = self.calls.get(&(it.cpu, it.workload.clone()));
            // Of the portable computation, those of all CPUs are known.
            [it.calls, it.ops] = calls.copied().unwrap_or([self.references, 0]);
        }
        wrong.sort_by_key(|it| std::cmp::Reverse(it.wrong));
        wrong
    }

    /// What was compared on each CPU.
    pub(super) fn cpus(&self, topology: &Topology, around: &Surroundings<'_>) -> Vec<VerifiedCpu> {
        let of = |(cpu, counts): (&CpuId, &CpuTally)| {
            let (core, package) = seat(topology, *cpu);
            VerifiedCpu {
                cpu: *cpu,
                core,
                package,
                calls: counts.calls,
                ops: counts.ops,
                numbers: counts.numbers,
                clock: around.clock_of(*cpu),
            }
        };
        self.cpus.iter().map(of).collect()
    }
}

fn seat(topology: &Topology, cpu: CpuId) -> (u32, u32) {
    topology.place(cpu).map_or((cpu.0, 0), |place| (place.core, place.package))
}
