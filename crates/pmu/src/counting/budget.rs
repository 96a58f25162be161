//! Budgets: how often events should happen for each unit of work, as a file keeps it, and what became of
//! that.

use model::record::{BudgetRow, CountedBy, Counts};
use model::{Known, Obstacle, Unavailable};
use serde::{Deserialize, Serialize};

use super::examples::Packets;

/// What a program expects of its parts, or somebody of a kernel or a command, as it is kept in a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// What is executed to look whether it holds; none: a command, or parts of a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<BudgetKernel>,
    /// The expectations.
    pub expected: Vec<Expected>,
}

/// A kernel with its parameters, in the words of `cpudyno pmu kernel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetKernel {
    /// Its name.
    pub name: String,
    /// Events beyond the usual ones.
    #[serde(default)]
    pub events: Vec<String>,
    /// Iterations, or units.
    pub iterations: u64,
    /// Packets.
    pub packets: u64,
    /// Sizes in bytes: of packets, or of data.
    #[serde(default)]
    pub sizes: Vec<u64>,
    /// Whether it is counted under all circumstances of a data sheet.
    #[serde(default)]
    pub sheet: bool,
    /// Whether the kernel's work for the thread is counted, too.
    #[serde(default)]
    pub with_kernel: bool,
}

impl BudgetKernel {
    /// Iterations and packets are no more than these: whoever waits for more waits for days.
    pub const NUMBER_MAX: u64 = 1_000_000_000_000;
    /// Data, and packets, are no larger.
    pub const SIZE_MAX: u64 = 1 << 40;
    /// Numbers of bytes beyond are not whole any more where they are divided.
    const BYTES_MAX: u64 = 1 << 53;

    /// The size of each packet, in bytes.
    pub fn packet_bytes(&self) -> u64 {
        self.sizes.first().copied().unwrap_or(Packets::USUAL.bytes as u64)
    }

    /// Whether it can be executed at all, whoever wrote it down.
    ///
    /// # Error
    /// What is wrong with its numbers, and what would be right.
    pub fn check(&self) -> Result<(), Unavailable> {
        let wrong = |why: String, remedy: String| {
            Err(Unavailable::new(Obstacle::Cpudyno, &self.name, why).with_remedy(remedy))
        };
        let most = BudgetKernel::NUMBER_MAX;
        for (what, number) in [("iterations", self.iterations), ("packets", self.packets)] {
            if !(1..=most).contains(&number) {
                let why = format!("{number} {what} are not possible");
                return wrong(why, format!("{what} from 1 to {most}"));
            }
        }
        let most = BudgetKernel::SIZE_MAX;
        if let Some(size) = self.sizes.iter().find(|size| !(1..=most).contains(size)) {
            let why = format!("a size of {size} bytes is not possible");
            return wrong(why, format!("sizes from 1 to {most} bytes"));
        }
        let (packets, size) = (self.packets, self.packet_bytes());
        let bytes = packets.checked_mul(size).filter(|bytes| *bytes <= BudgetKernel::BYTES_MAX);
        if bytes.is_some() {
            return Ok(());
        }
        let why = format!("{packets} packets of {size} bytes are too many");
        wrong(why, "ask for fewer: --packets 100000".to_owned())
    }
}

/// How often an event should happen for each unit of a part's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The part.
    pub part: String,
    /// The event.
    pub event: String,
    /// Its count for each unit.
    pub per_unit: f64,
    /// The share of it by which it may be off.
    pub tolerance: f64,
    /// And so much for each unit, whatever is expected: events that are few are few by chance.
    #[serde(default)]
    pub slack: f64,
}

/// What is not as expected.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    /// What was expected.
    pub expected: Expected,
    /// The count for each unit; or why it cannot be told.
    pub found: Result<f64, Unavailable>,
}

/// So many of the kernel's own events happen by chance.
const OF_KERNEL: f64 = 10.0;

/// By how many events a count may be off, however few there are: what the kernel counts varies as chance
/// does, and a core's counters see interrupts and what has to be learnt again after them.
fn slack(by: CountedBy, count: f64) -> f64 {
    const OF_CORE: f64 = 1000.0;
    const DEVIATIONS: f64 = 5.0;
    match by {
        CountedBy::Kernel => OF_KERNEL + DEVIATIONS * count.sqrt(),
        _ => OF_CORE,
    }
}

impl Budget {
    /// Whether what was read from a file can be held against counts.
    ///
    /// # Error
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), Unavailable> {
        let refused = |what: &str, why: &str| Err(Unavailable::new(Obstacle::Cpudyno, what, why));
        if self.expected.is_empty() {
            return refused("budget", "it expects nothing");
        }
        let is_sound = |expected: &&Expected| {
            let Expected { per_unit, tolerance, slack, .. } = expected;
            per_unit.is_finite()
                && [tolerance, slack].into_iter().all(|it| it.is_finite() && *it >= 0.0)
        };
        if let Some(unsound) = self.expected.iter().find(|expected| !is_sound(expected)) {
            return refused(&unsound.event, "its tolerance or slack is no number from 0 on");
        }
        self.kernel.as_ref().map_or(Ok(()), BudgetKernel::check)
    }

    /// What was counted, as the budget of later executions: all but times.
    pub fn of(tables: &[Counts], tolerance: f64) -> Budget {
        let of_table = |counts: &Counts| {
            let units = units(counts);
            let is_time = |by, unit: &Option<String>| by == CountedBy::Clock || unit.is_some();
            let rows = counts.events.iter().filter(|row| !is_time(row.by, &row.unit));
            let expected = rows.filter_map(|row| {
                let count = *row.count.value()? as f64;
                Some(Expected {
                    part: counts.title.clone(),
                    event: row.event.clone(),
                    per_unit: count / units,
                    tolerance,
                    slack: slack(row.by, count) / units,
                })
            });
            expected.collect::<Vec<_>>()
        };
        Budget { kernel: None, expected: tables.iter().flat_map(of_table).collect() }
    }

    /// Whether these tables can be held against anything: a counter of a core counted, or more of the
    /// kernel's own events than happen by chance. Where nothing was counted, a budget of nothing holds.
    pub fn is_counted(tables: &[Counts]) -> bool {
        let mut rows = tables.iter().flat_map(|counts| &counts.events);
        rows.any(|row| match (row.by, row.count.value()) {
            (CountedBy::Fixed | CountedBy::General, Some(count)) => *count > 0,
            (CountedBy::Kernel, Some(count)) => row.unit.is_none() && *count as f64 > OF_KERNEL,
            _ => false,
        })
    }

    /// Each expectation beside what was counted.
    pub fn compare(&self, tables: &[Counts]) -> Vec<BudgetRow> {
        let of = |expected: &Expected| {
            let table = tables.iter().find(|counts| counts.title == expected.part);
            expected.row(table)
        };
        self.expected.iter().map(of).collect()
    }
}

impl Expected {
    /// Beside what was counted of its part, where there is one.
    pub(super) fn row(&self, counts: Option<&Counts>) -> BudgetRow {
        let Expected { part, event, per_unit, tolerance, slack } = self;
        let off = tolerance * per_unit.abs() + slack;
        BudgetRow {
            part: part.clone(),
            event: event.clone(),
            expected: *per_unit,
            least: (per_unit - off).max(0.0),
            most: per_unit + off,
            found: self.found(counts).into(),
        }
    }

    fn found(&self, counts: Option<&Counts>) -> Result<f64, Unavailable> {
        let Expected { part, event, .. } = self;
        let missing = |why: String| Err(Unavailable::new(Obstacle::Measurement, event, why));
        let Some(counts) = counts else {
            return missing(format!("there is no part `{part}`"));
        };
        let Some(row) = counts.events.iter().find(|row| row.event == *event) else {
            return missing("this event is not counted".to_owned());
        };
        let units = units(counts);
        match &row.count {
            Known::No { unavailable } => Err(unavailable.clone()),
            Known::Yes(_) if units == 0.0 => missing(format!("`{part}` has done no unit of work")),
            Known::Yes(count) => Ok(*count as f64 / units),
        }
    }
}

/// Units that were done; where nobody counts them, the execution is one.
fn units(counts: &Counts) -> f64 {
    counts.units.first().map_or(1.0, |unit| unit.number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_nobody_can_count_are_refused() {
        let sound = BudgetKernel {
            name: "checksum".to_owned(),
            events: Vec::new(),
            iterations: 1,
            packets: 100_000,
            sizes: vec![1440],
            sheet: false,
            with_kernel: false,
        };
        assert_eq!(sound.check(), Ok(()));
        let why = |kernel: BudgetKernel| kernel.check().unwrap_err().why;
        let huge = BudgetKernel { packets: 1 << 39, sizes: vec![1 << 39], ..sound.clone() };
        assert!(why(huge).contains("are too many"));
        let beyond = BudgetKernel { packets: u64::MAX, ..sound.clone() };
        assert!(why(beyond).contains("18446744073709551615 packets are not possible"));
        let nothing = BudgetKernel { iterations: 0, ..sound.clone() };
        assert!(why(nothing).contains("0 iterations are not possible"));
        let sizes = BudgetKernel { sizes: vec![1440, u64::MAX], ..sound.clone() };
        assert!(why(sizes).contains("a size of 18446744073709551615 bytes"));
        let expected = Expected {
            part: "loop".to_owned(),
            event: "cycles".to_owned(),
            per_unit: 1.0,
            tolerance: 0.1,
            slack: 0.0,
        };
        let of = |expected| Budget { kernel: Some(sound.clone()), expected: vec![expected] };
        assert_eq!(of(expected.clone()).check(), Ok(()));
        assert!(of(Expected { tolerance: -1.0, ..expected }).check().is_err());
        assert_eq!(Budget::default().check().unwrap_err().why, "it expects nothing");
    }
}
