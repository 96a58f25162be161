//! How long the instructions take by which a spinning thread waits: `pause`, `tpause`, `yield`, ...

use model::record::{Presentation, Record, Series};
use model::{CpuSet, Obstacle, Reading, Unavailable};
use rig::placement::Choice;

use crate::Error;
use crate::builder::{RunExtent, answers};
use crate::record::Value;

/// The latency of each such instruction, on each CPU alone.
///
/// # Errors
/// See [`Builder::run`](crate::Builder::run).
pub fn latency() -> Result<Latencies, Error> {
    Latencies::builder().run()
}

/// Latencies of waiting instructions.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    /// One of each instruction and type of core.
    pub instructions: Vec<InstructionLatency>,
    record: Record,
}

/// How long one takes on cores of one type, each of them alone: the median over them.
#[derive(Debug, Clone, PartialEq)]
pub struct InstructionLatency {
    /// Its name: `pause_only`, `tpause`, ...
    pub instruction: String,
    /// What type of core they are, where a machine has several: `P`, `E`.
    pub core_type: Option<String>,
    /// The CPUs.
    pub cpus: CpuSet,
    /// Core cycles.
    pub cycles: Reading<Value>,
    /// Seconds.
    pub time: Reading<Value>,
}

impl Latencies {
    /// Core cycles that an instruction takes: `pause_only`, `tpause`, ...
    ///
    /// # Errors
    /// Why there is no number: there are several where a machine has several types of cores.
    pub fn cycles(&self, instruction: &str) -> Reading<Value> {
        self.of(instruction)?.cycles.clone()
    }

    /// Seconds that it takes.
    ///
    /// # Errors
    /// Why there is no number.
    pub fn time(&self, instruction: &str) -> Reading<Value> {
        self.of(instruction)?.time.clone()
    }

    fn of(&self, instruction: &str) -> Reading<&InstructionLatency> {
        let found: Vec<&InstructionLatency> =
            self.instructions.iter().filter(|it| it.instruction == instruction).collect();
        let why = match found[..] {
            [only] => return Ok(only),
            [] => "there is no such instruction here".to_owned(),
            _ => {
                let types: Vec<&str> =
                    found.iter().filter_map(|it| it.core_type.as_deref()).collect();
                format!("it differs by type of core: {}; `instructions` has each", types.join(", "))
            }
        };
        Err(Unavailable::new(Obstacle::Cpudyno, instruction, why))
    }

    fn of_record(record: Record) -> Latencies {
        Latencies { instructions: instructions(&record), record }
    }
}

/// The instructions of a record, each by type of core.
pub fn instructions(record: &Record) -> Vec<InstructionLatency> {
    let kind = |series: &&Series| record.machine.topology.kind(series.cpu).map(str::to_owned);
    let own = || record.measured().filter(|series| series.area == model::areas::pause::AREA);
    let mut keys: Vec<(String, Option<String>)> = Vec::new();
    for series in own() {
        let key = (series.workload.clone(), kind(&series));
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let instruction = |(instruction, core_type): (String, Option<String>)| {
        let is_it = |it: &&Series| it.workload == instruction && kind(it) == core_type;
        let all: Vec<&Series> = own().filter(is_it).collect();
        let of = |quantity: &str| -> Reading<Value> {
            let of: Vec<&Series> =
                all.iter().copied().filter(|it| it.quantity == quantity).collect();
            Value::of(&of)
        };
        let (cycles, time) = (of("cycles_per_op"), of("time_per_op"));
        let cpus = all.iter().map(|it| it.cpu).collect();
        InstructionLatency { instruction, core_type, cpus, cycles, time }
    };
    keys.into_iter().map(instruction).collect()
}

answers! {
    Latencies of () as "pause::Latencies", Pause, (), request;
}

fn request(
    (): (),
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    let cpus = Choice { siblings: true, ..Choice::usual(cpus) };
    measure::areas::pause::request(budget, cpus, None, command, presentation)
}
