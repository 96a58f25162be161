//! How long the instructions take by which a spinning thread waits: `pause`, `tpause`, `yield`, ...

use model::record::{Presentation, Record};
use model::{Obstacle, Reading, Unavailable};
use rig::placement::Choice;

use crate::Error;
use crate::builder::{RunExtent, answers};
use crate::record::{Row, Value, rows};

/// The latency of each such instruction on all cores at once.
///
/// # Errors
/// See [`Builder::run`](crate::Builder::run).
pub fn latency() -> Result<Latencies, Error> {
    Latencies::builder().run()
}

/// Latencies of waiting instructions.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    record: Record,
}

impl Latencies {
    /// Core cycles that an instruction takes: `pause_only`, `tpause`, ...
    ///
    /// # Errors
    /// Why there is no number.
    pub fn cycles(&self, instruction: &str) -> Reading<Value> {
        self.of(instruction, "cycles_per_op")
    }

    /// Seconds that it takes.
    ///
    /// # Errors
    /// Why there is no number.
    pub fn time(&self, instruction: &str) -> Reading<Value> {
        self.of(instruction, "time_per_op")
    }

    /// Each CPU runs alone in such a record: of all of them together.
    fn of(&self, instruction: &str, quantity: &str) -> Reading<Value> {
        let is_it = |row: &Row| row.workload == instruction && row.quantity == quantity;
        let series = self.record.measured();
        let series: Vec<_> =
            series.filter(|it| it.workload == instruction && it.quantity == quantity).collect();
        if rows(&self.record).iter().any(is_it) {
            return Value::of(&series);
        }
        Err(Unavailable::new(Obstacle::Cpudyno, instruction, "there is no such instruction here"))
    }

    fn of_record(record: Record) -> Latencies {
        Latencies { record }
    }
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
