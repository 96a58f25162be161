//! From looks to series.

use std::collections::BTreeMap;
use std::time::Duration;

use machine::Machine;
use machine::activity::{Activity, Column, Interval};
use model::record::{Disturbance, Outcome, PageKind, Presentation, Record, Samples, Series};
use model::{CpuId, CpuSet, Seconds, Unavailable, Unit};

use super::{AREA, COLUMN, HIDDEN, INTERVAL, SOURCE, WORKLOAD};

/// CPUs under watch, and the record of it.
pub struct Watch<'a> {
    activity: Activity<'a>,
    intervals: Vec<Interval>,
    /// How many ended, those that were forgotten among them.
    ended: usize,
    /// The columns that are shown; none: all of them.
    shown: Option<Vec<String>>,
    record: Record,
    /// When it was looked, or noted, last.
    noted: Duration,
}

/// How often counters of energy are noted within an interval: they begin again after minutes.
pub const NOTE: Duration = Duration::from_secs(30);

impl<'a> Watch<'a> {
    /// Begins to watch these CPUs, or all, in all columns.
    ///
    /// # Error
    /// Where one of the CPUs is not online, or nothing runs on the machine.
    pub fn begin(
        machine: &'a Machine,
        cpus: Option<&CpuSet>,
        every: Option<Seconds>,
        command: Vec<String>,
        presentation: Presentation,
    ) -> Result<Watch<'a>, Unavailable> {
        let mut activity = Activity::open(machine, cpus)?;
        let presentation = Presentation { page: PageKind::Top, ..presentation };
        let mut record = machine::describe(machine, command, presentation);
        let watched: CpuSet = activity.cpus().iter().map(|place| place.cpu).collect();
        record.run.plan.cpus = watched;
        record.run.plan.placement = "watched, not kept busy".into();
        // How often, where that was asked for.
        record.run.plan.budget_seconds = every.map_or(0.0, |every| every.0);
        record.run.seconds = 0.0;
        activity.look();
        let noted = activity.passed();
        Ok(Watch { activity, intervals: Vec::new(), ended: 0, shown: None, record, noted })
    }

    /// Shows the columns of these names alone, and reads no more than they need.
    pub fn only(&mut self, shown: Vec<String>) {
        self.activity.only(&shown);
        self.shown = Some(shown);
    }

    /// The names of the columns that are read, and of those that cannot be, each with its reason.
    pub fn columns(&self) -> (Vec<&str>, Vec<(&str, &Unavailable)>) {
        let read = self.activity.columns().iter().map(|column| column.header.as_ref()).collect();
        let missing = self.activity.missing().iter().map(|m| (m.header, &m.reason)).collect();
        (read, missing)
    }

    /// Whether the machine is simulated, where time passes only when somebody waits for it.
    pub fn is_simulated(&self) -> bool {
        self.record.run.simulated.is_some()
    }

    /// Lets time pass, and takes note of counters every so often; on a simulated machine it passes
    /// at once.
    pub fn wait(&mut self, duration: Seconds) {
        let mut left = duration.0;
        while left > 0.0 {
            let part = left.min(NOTE.as_secs_f64());
            self.activity.wait(Seconds(part));
            self.note_when_due();
            left -= part;
        }
    }

    /// Takes note of counters that begin again, in the middle of a long interval.
    pub fn note(&mut self) {
        self.activity.note();
        self.noted = self.activity.passed();
    }

    /// The same where nobody has looked for a while.
    pub fn note_when_due(&mut self) {
        if self.activity.passed().saturating_sub(self.noted) >= NOTE {
            self.note();
        }
    }

    /// Ends an interval and begins the next.
    pub fn look(&mut self) {
        self.noted = self.activity.passed();
        if let Some(interval) = self.activity.look() {
            self.record.run.seconds += interval.seconds.0;
            self.intervals.push(interval);
            self.ended += 1;
        }
    }

    /// Forgets all intervals but the last: who watches for days and keeps no record needs no more.
    pub fn forget(&mut self) {
        let last = self.intervals.len().saturating_sub(1);
        self.intervals.drain(..last);
    }

    /// Whether it has kept as many intervals as a record holds: of a few CPUs for a day, of a thousand for some minutes.
    pub fn is_full(&self) -> bool {
        /// As numbers, and as a page of them, these take some hundred megabytes.
        const NUMBERS_MAX: usize = 4_000_000;
        let each = self.activity.columns().len() * self.activity.cpus().len();
        self.intervals.len() * each.max(1) >= NUMBERS_MAX
    }

    /// How many intervals have ended.
    pub fn ended(&self) -> usize {
        self.ended
    }

    /// What was seen so far.
    pub fn record(&self) -> Record {
        self.record_of(&self.intervals)
    }

    /// What was seen in the last interval: as `report::areas::top::interval` shows it, it is the
    /// first of this record.
    pub fn last(&self) -> Record {
        let before = self.intervals.len().saturating_sub(1);
        self.record_of(&self.intervals[before..])
    }

    fn record_of(&self, intervals: &[Interval]) -> Record {
        let mut record = self.record.clone();
        record.run.plan.blocks_done = intervals.len() as u64;
        record.run.plan.blocks_planned = record.run.plan.blocks_done;
        record.series = series(&self.activity, intervals, self.shown.as_deref());
        record
    }
}

/// The series of all columns over these intervals, the missing ones among them; where some are named,
/// the others are hidden.
fn series(
    activity: &Activity<'_>,
    intervals: &[Interval],
    shown: Option<&[String]>,
) -> Vec<Series> {
    let all: CpuSet = activity.cpus().iter().map(|place| place.cpu).collect();
    let first = all.iter().next().unwrap_or(CpuId(0));
    let of_all = |quantity: &str, unit, parameters, outcome| Series {
        active: all.clone(),
        ..one(quantity, unit, parameters, first, outcome)
    };
    let lengths = intervals.iter().map(|interval| vec![interval.seconds.0]).collect();
    let mut series = vec![of_all(INTERVAL, Unit::Second, BTreeMap::new(), measured(lengths, None))];
    for (index, column) in activity.columns().iter().enumerate() {
        for (carrier, cpu) in activity.carriers(column.scope).into_iter().enumerate() {
            let values = || intervals.iter().map(|interval| &interval.values[index][carrier]);
            let blocks = values().map(|value| value.iter().copied().collect()).collect();
            let reason = values().find_map(|value| value.as_ref().err());
            let outcome = measured(blocks, reason);
            let series_of =
                one(column.quantity, column.unit, parameters(column, shown), cpu, outcome);
            series.push(Series { active: activity.sharing(column.scope, cpu), ..series_of });
        }
    }
    series.extend(activity.missing().iter().map(|missing| {
        let unavailable = Unavailable { what: missing.header.into(), ..missing.reason.clone() };
        let outcome = Outcome::Unavailable { unavailable };
        // One that was named keeps its column.
        let named = shown.map(|_| (COLUMN.to_owned(), missing.header.to_owned()));
        of_all(missing.quantity, missing.unit, named.into_iter().collect(), outcome)
    }));
    series
}

/// What was seen since the first look, where there is a number.
pub(crate) fn over(activity: &mut Activity<'_>) -> Vec<Series> {
    let intervals: Vec<Interval> = activity.look().into_iter().collect();
    let mut series = series(activity, &intervals, None);
    series.retain(|series| series.samples().is_some());
    series
}

fn one(
    quantity: &str,
    unit: Unit,
    parameters: BTreeMap<String, String>,
    cpu: CpuId,
    outcome: Outcome,
) -> Series {
    Series {
        area: AREA.to_owned(),
        workload: WORKLOAD.to_owned(),
        quantity: quantity.to_owned(),
        unit,
        parameters,
        cpu,
        active: CpuSet::default(),
        placement_class: None,
        outcome,
        fixed_cost: None,
        disturbance: Disturbance::default(),
    }
}

/// One block an interval; where none has a number, the reason of the first.
fn measured(blocks: Vec<Vec<f64>>, reason: Option<&Unavailable>) -> Outcome {
    let samples = Samples::Plain(blocks);
    match (samples.summary(), reason) {
        (Some(summary), _) => Outcome::Measured { samples, summary },
        (None, Some(reason)) => Outcome::Unavailable { unavailable: reason.clone() },
        (None, None) => {
            let why = "no interval ended";
            let unavailable = Unavailable::new(model::Obstacle::Measurement, "top", why);
            Outcome::Unavailable { unavailable }
        }
    }
}

fn parameters(column: &Column, shown: Option<&[String]>) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::from([
        (COLUMN.to_owned(), column.header.clone().into_owned()),
        (SOURCE.to_owned(), column.source.clone().into_owned()),
    ]);
    let part = if column.quantity == "power" || column.quantity == "temperature" {
        "domain"
    } else {
        "state"
    };
    parameters.extend(column.part.clone().map(|value| (part.to_owned(), value)));
    if shown.is_some_and(|shown| !shown.iter().any(|header| *header == column.header)) {
        parameters.insert(HIDDEN.to_owned(), "yes".to_owned());
    }
    parameters
}
