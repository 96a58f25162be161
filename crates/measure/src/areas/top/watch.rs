//! From looks to series.

use std::collections::BTreeMap;
use std::time::Duration;

use machine::Machine;
use machine::activity::{Activity, Column, Interval};
use model::record::{Disturbance, Outcome, PageKind, Presentation, Record, Samples, Series};
use model::{CpuId, CpuSet, Reading, Seconds, Unavailable, Unit};

use super::beside::{self, AddedColumn, BesideColumn, BesideMissing, BesideSource, Opened};
use super::{AREA, COLUMN, GROUP, HIDDEN, INTERVAL, SORT, SOURCE, WORKLOAD};

/// What is watched.
#[derive(Debug, Clone, Default)]
pub struct Watched<'a> {
    /// These CPUs; none: all.
    pub cpus: Option<&'a CpuSet>,
    /// How often; none: one interval.
    pub every: Option<Seconds>,
    /// Columns in addition to the usual ones.
    pub added: &'a [AddedColumn],
    /// The [`COUNTERS`](super::COUNTERS) that are opened: they take counters of the cores away from others.
    pub counted: &'a [&'a str],
    /// Whether these are opened together with events that were added, too.
    pub is_counted_anyway: bool,
}

/// The order of rows of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowOrder {
    /// The column by whose values, the largest first; none: by number.
    pub sort: Option<String>,
    /// What has a row each, of [`GROUPS`](super::GROUPS); none: each CPU.
    pub group: Option<String>,
}

impl RowOrder {
    /// Puts the rows of a record into this order.
    pub fn put(&self, record: &mut Record) {
        let lengths = record.series.iter_mut().find(|series| series.quantity == INTERVAL);
        let Some(lengths) = lengths else { return };
        for (key, of) in [(SORT, &self.sort), (GROUP, &self.group)] {
            match of {
                Some(of) => drop(lengths.parameters.insert(key.to_owned(), of.clone())),
                None => drop(lengths.parameters.remove(key)),
            }
        }
    }
}

/// CPUs under watch, and the record of it.
pub struct Watch<'a> {
    machine: &'a Machine,
    activity: Activity<'a>,
    beside: Vec<Box<dyn BesideSource>>,
    /// The columns of each of them.
    beside_columns: Vec<BesideColumn>,
    beside_missing: Vec<BesideMissing>,
    order: RowOrder,
    intervals: Vec<SeenInterval>,
    /// How many ended, those that were forgotten among them.
    ended: usize,
    /// The columns that are shown; none: all of them.
    shown: Option<Vec<String>>,
    record: Record,
    /// When it was looked, or noted, last.
    noted: Duration,
}

/// What was seen in an interval.
#[derive(Clone)]
struct SeenInterval {
    usual: Interval,
    beside: Vec<Vec<Reading<f64>>>,
}

/// How often counters of energy are noted within an interval: they begin again after minutes.
pub const NOTE: Duration = Duration::from_secs(30);

impl<'a> Watch<'a> {
    /// Begins to watch these CPUs, or all, in all columns.
    ///
    /// # Error
    /// Where one of the CPUs is not online, nothing runs on the machine, or two columns have one name.
    pub fn begin(
        machine: &'a Machine,
        watched: &Watched<'_>,
        command: Vec<String>,
        presentation: Presentation,
    ) -> Result<Watch<'a>, Unavailable> {
        let mut activity = Activity::open(machine, watched.cpus)?;
        let is_counted = |header: &str| watched.counted.contains(&header);
        let added = watched.added.iter();
        let mut opened: Vec<Opened> =
            added.map(|it| beside::added(machine, activity.cpus(), it)).collect();
        let takes = |(source, _): &Opened| source.as_ref().is_some_and(|it| it.takes_counters());
        let is_taken = opened.iter().any(takes) && !watched.is_counted_anyway;
        opened.insert(0, beside::counters(machine, activity.cpus(), is_counted, is_taken));
        let (beside, missing): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        let presentation = Presentation { page: PageKind::Top, ..presentation };
        let mut record = machine::describe(machine, command, presentation);
        record.run.plan.cpus = activity.cpus().iter().map(|place| place.cpu).collect();
        record.run.plan.placement = "watched, not kept busy".into();
        // How often, where that was asked for.
        record.run.plan.budget_seconds = watched.every.map_or(0.0, |every| every.0);
        record.run.seconds = 0.0;
        activity.look();
        let mut watch = Watch {
            machine,
            noted: activity.passed(),
            activity,
            beside: beside.into_iter().flatten().collect(),
            beside_columns: Vec::new(),
            beside_missing: missing.into_iter().flatten().collect(),
            order: RowOrder::default(),
            intervals: Vec::new(),
            ended: 0,
            shown: None,
            record,
        };
        watch.note_beside();
        watch.name_beside();
        match watch.twice() {
            None => Ok(watch),
            Some(name) => {
                let why = "there are two columns of this name";
                let twice = Unavailable::new(model::Obstacle::Cpudyno, name, why);
                Err(twice.with_remedy("name what you add: --add msr/0x10,name=TSC"))
            }
        }
    }

    fn note_beside(&mut self) {
        self.beside.iter_mut().for_each(|source| source.note(self.machine));
    }

    fn name_beside(&mut self) {
        self.beside_columns = self.beside.iter().flat_map(|source| source.columns()).collect();
    }

    /// The name that two columns have.
    fn twice(&self) -> Option<String> {
        let (read, missing) = self.columns();
        let mut names: Vec<&str> =
            read.into_iter().chain(missing.into_iter().map(|it| it.0)).collect();
        names.sort_unstable();
        names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned())
    }

    /// Puts rows into another order, from now on.
    pub fn arrange(&mut self, order: RowOrder) {
        self.order = order;
    }

    /// The order of rows.
    pub fn order(&self) -> &RowOrder {
        &self.order
    }

    /// Shows the columns of these names alone, and reads no more than they need.
    pub fn only(&mut self, shown: Vec<String>) {
        self.activity.only(&shown);
        let is_shown = |header: &String| shown.contains(header);
        self.beside.retain(|source| source.columns().iter().any(|it| is_shown(&it.header)));
        self.beside_missing.retain(|missing| is_shown(&missing.header));
        self.name_beside();
        self.shown = Some(shown);
    }

    /// The names of the columns that are read, and of those that cannot be, each with its reason.
    pub fn columns(&self) -> (Vec<&str>, Vec<(&str, &Unavailable)>) {
        let read = self.activity.columns().iter().map(|column| column.header.as_ref());
        let beside = self.beside_columns.iter().filter(|column| !column.is_weight);
        let beside = beside.map(|column| column.header.as_str());
        let missing = self.activity.missing().iter().map(|m| (m.header, &m.reason));
        let absent = self.beside_missing.iter().map(|m| (m.header.as_str(), &m.reason));
        (read.chain(beside).collect(), missing.chain(absent).collect())
    }

    /// The names of the columns that are read and show.
    pub fn showing(&self) -> Vec<&str> {
        let shows =
            |name: &&str| self.shown.as_ref().is_none_or(|it| it.iter().any(|it| it == name));
        self.columns().0.into_iter().filter(shows).collect()
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
        self.note_beside();
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
        let usual = self.activity.look();
        self.note_beside();
        if let Some(usual) = usual {
            self.record.run.seconds += usual.seconds.0;
            let taken = self.beside.iter_mut().flat_map(|source| source.take(usual.seconds.0));
            let beside = taken.collect();
            self.intervals.push(SeenInterval { usual, beside });
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
        let columns = self.activity.columns().len() + self.beside_columns.len();
        let each = columns * self.activity.cpus().len();
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

    fn record_of(&self, intervals: &[SeenInterval]) -> Record {
        let mut record = self.record.clone();
        record.run.plan.blocks_done = intervals.len() as u64;
        record.run.plan.blocks_planned = record.run.plan.blocks_done;
        let shown = self.shown.as_deref();
        let usual: Vec<Interval> = intervals.iter().map(|seen| seen.usual.clone()).collect();
        record.series = series(&self.activity, &usual, shown);
        self.order.put(&mut record);
        let read = record.series.iter().take_while(|it| !is_missing(it)).count();
        let beside = self.beside_series(intervals);
        record.series.splice(read..read, beside);
        let all = &record.run.plan.cpus;
        let absent = self.beside_missing.iter().map(|missing| {
            let BesideMissing { header, quantity, unit, reason } = missing;
            absent((header, quantity, *unit), reason, all, shown)
        });
        record.series.extend(absent);
        record
    }

    fn beside_series(&self, intervals: &[SeenInterval]) -> Vec<Series> {
        let mut series = Vec::new();
        for (index, column) in self.beside_columns.iter().enumerate() {
            for (carrier, (cpu, sharing)) in column.carriers.iter().enumerate() {
                let values = intervals.iter().map(|seen| &seen.beside[index][carrier]);
                let mut parameters = named(&column.header, &column.source, self.shown.as_deref());
                if column.is_weight {
                    parameters.insert(HIDDEN.to_owned(), "weight".to_owned());
                }
                let outcome = outcome(values);
                let one = one(column.quantity, column.unit, parameters, *cpu, outcome);
                series.push(Series { active: sharing.clone(), ..one });
            }
        }
        series
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
    let lengths = intervals.iter().map(|interval| vec![interval.seconds.0]).collect();
    let lengths = measured(lengths, None);
    let mut series = vec![of_all(INTERVAL, Unit::Second, BTreeMap::new(), &all, lengths)];
    for (index, column) in activity.columns().iter().enumerate() {
        for (carrier, cpu) in activity.carriers(column.scope).into_iter().enumerate() {
            let outcome = outcome(intervals.iter().map(|it| &it.values[index][carrier]));
            let series_of =
                one(column.quantity, column.unit, parameters(column, shown), cpu, outcome);
            series.push(Series { active: activity.sharing(column.scope, cpu), ..series_of });
        }
    }
    series.extend(activity.missing().iter().map(|missing| {
        absent((missing.header, missing.quantity, missing.unit), &missing.reason, &all, shown)
    }));
    series
}

/// A series of a carrier, by its value in each interval.
fn outcome<'a>(values: impl Iterator<Item = &'a Reading<f64>> + Clone) -> Outcome {
    let blocks = values.clone().map(|value| value.iter().copied().collect()).collect();
    let reason = values.into_iter().find_map(|value| value.as_ref().err());
    measured(blocks, reason)
}

/// The series of a column that cannot be had.
fn absent(
    (header, quantity, unit): (&str, &str, Unit),
    reason: &Unavailable,
    all: &CpuSet,
    shown: Option<&[String]>,
) -> Series {
    let unavailable = Unavailable { what: header.into(), ..reason.clone() };
    let outcome = Outcome::Unavailable { unavailable };
    // One that was named keeps its column.
    let named = shown.map(|_| (COLUMN.to_owned(), header.to_owned()));
    of_all(quantity, unit, named.into_iter().collect(), all, outcome)
}

/// Whether a series stands for a column that cannot be had.
fn is_missing(series: &Series) -> bool {
    series.quantity != INTERVAL && !series.parameters.contains_key(SOURCE)
}

/// A series of all watched CPUs.
fn of_all(
    quantity: &str,
    unit: Unit,
    parameters: BTreeMap<String, String>,
    all: &CpuSet,
    outcome: Outcome,
) -> Series {
    let first = all.iter().next().unwrap_or(CpuId(0));
    Series { active: all.clone(), ..one(quantity, unit, parameters, first, outcome) }
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
    let mut parameters = named(&column.header, &column.source, shown);
    let part = if column.quantity == "power" || column.quantity == "temperature" {
        "domain"
    } else {
        "state"
    };
    parameters.extend(column.part.clone().map(|value| (part.to_owned(), value)));
    parameters
}

/// What every column has.
fn named(header: &str, source: &str, shown: Option<&[String]>) -> BTreeMap<String, String> {
    let named = [(COLUMN, header), (SOURCE, source)];
    let is_hidden = shown.is_some_and(|shown| !shown.iter().any(|it| it == header));
    let hidden = is_hidden.then_some((HIDDEN, "yes"));
    let all = named.into_iter().chain(hidden);
    all.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}
