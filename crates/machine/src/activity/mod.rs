//! What CPUs do while others use them: how often they are busy, at which clock, how they idle, what
//! they draw and how warm they are.
//!
//! A source is one row of `SOURCES`. It opens once what it reads, and answers what its columns say of
//! the time since it was read last. Columns have the names that turbostat gave them, and a name means
//! what it means there.

mod cycles;
mod energy;
mod events;
mod idle;
mod interrupts;
mod joules;
mod kernel;
mod residency;
pub(crate) mod temperature;
mod tsc;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use model::record::{CpuPlace, Topology};
use model::{CpuId, CpuSet, Obstacle, Reading, Seconds, Unavailable, Unit};

use crate::facts;
use crate::ports::{Machine, Tree};
pub use joules::{EnergyMeter, EnergyReading};

/// Whose number a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// That of each CPU.
    Cpu,
    /// That of each core; its first CPU carries it.
    Core,
    /// That of each package; its first CPU carries it.
    Package,
}

/// A number that is read of CPUs, cores or packages.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name in a table: `Bzy_MHz`.
    pub header: Cow<'static, str>,
    /// What it means: the id of a quantity.
    pub quantity: &'static str,
    /// Which of several, such as the idle state `C6` or the domain `dram`.
    pub part: Option<String>,
    /// The unit of its values.
    pub unit: Unit,
    /// Whose it is.
    pub scope: Scope,
    /// Where it is read.
    pub source: Cow<'static, str>,
}

/// A column that cannot be had here.
#[derive(Debug, Clone, PartialEq)]
pub struct Missing {
    /// Its name in a table.
    pub header: &'static str,
    /// The id of its quantity.
    pub quantity: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Why.
    pub reason: Unavailable,
}

/// What was read of the time between two looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// How long it was.
    pub seconds: Seconds,
    /// For each column, the value of each of its carriers, in the order of [`Activity::carriers`].
    pub values: Vec<Vec<Reading<f64>>>,
}

/// Something that is read at each look.
trait ColumnSource {
    /// What it says.
    fn columns(&self) -> Vec<Column>;
    /// What its columns say of the time since it was read last: what it says first means nothing.
    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>>;
    /// Takes note of counters that begin again, in the middle of an interval.
    fn note(&mut self, _look: &LookContext<'_>) {}
}

/// What a source is read with.
struct LookContext<'a> {
    machine: &'a Machine,
    places: &'a Places,
    /// By the clock that measures intervals.
    now: Duration,
}

/// A source, and the columns that it may have.
struct SourceRow {
    columns: &'static [(&'static str, &'static str, Unit)],
    open: fn(&Machine, &Places) -> Reading<Box<dyn ColumnSource>>,
}

/// In the order of columns. Of two sources of one column the first that can be read gives it.
#[rustfmt::skip]
const SOURCES: &[SourceRow] = &[
    SourceRow { columns: cycles::COLUMNS, open: cycles::open },
    SourceRow { columns: tsc::COLUMNS, open: tsc::open },
    SourceRow { columns: kernel::COLUMNS, open: kernel::open },
    SourceRow { columns: interrupts::IRQ_COLUMNS, open: interrupts::by_table },
    SourceRow { columns: interrupts::SMI_COLUMNS, open: interrupts::by_register },
    SourceRow { columns: idle::COLUMNS, open: idle::open },
    SourceRow { columns: events::CORE_COLUMNS, open: events::core_residency },
    SourceRow { columns: events::PACKAGE_COLUMNS, open: events::package_residency },
    SourceRow { columns: temperature::COLUMNS, open: temperature::open },
    SourceRow { columns: energy::COLUMNS, open: energy::open },
    SourceRow { columns: events::POWER_COLUMNS, open: events::power },
    SourceRow { columns: energy::REGISTER_COLUMNS, open: energy::by_registers },
    SourceRow { columns: events::CORE_COLUMNS, open: residency::of_cores },
    SourceRow { columns: events::PACKAGE_COLUMNS, open: residency::of_packages },
];

/// The CPUs that are watched.
struct Places {
    cpus: Vec<CpuPlace>,
    cores: Vec<CpuId>,
    packages: Vec<CpuId>,
    /// The package of every CPU that is online, watched or not.
    package_of: BTreeMap<CpuId, u32>,
    /// The first CPU of each core that is online.
    leaders: CpuSet,
}

impl Places {
    fn new(topology: &Topology, cpus: &CpuSet) -> Places {
        let cpus: Vec<CpuPlace> =
            topology.cpus.iter().filter(|place| cpus.contains(place.cpu)).cloned().collect();
        let first = |same: fn(&CpuPlace, &CpuPlace) -> bool| -> Vec<CpuId> {
            let firsts = cpus.iter().enumerate();
            let firsts = firsts.filter(|(i, place)| !cpus[..*i].iter().any(|p| same(p, place)));
            firsts.map(|(_, place)| place.cpu).collect()
        };
        let cores = first(|a, b| (a.package, a.core) == (b.package, b.core));
        let packages = first(|a, b| a.package == b.package);
        let package_of = topology.cpus.iter().map(|place| (place.cpu, place.package)).collect();
        let leads =
            |place: &&CpuPlace| place.siblings.iter().next().is_none_or(|it| it == place.cpu);
        let leaders = topology.cpus.iter().filter(leads).map(|place| place.cpu).collect();
        Places { cpus, cores, packages, package_of, leaders }
    }

    /// The first watched CPU of each of that scope, in the order of the CPUs.
    fn carriers(&self, scope: Scope) -> Vec<CpuId> {
        match scope {
            Scope::Cpu => self.cpus.iter().map(|place| place.cpu).collect(),
            Scope::Core => self.cores.clone(),
            Scope::Package => self.packages.clone(),
        }
    }

    fn place(&self, cpu: CpuId) -> Option<&CpuPlace> {
        let index = self.cpus.binary_search_by_key(&cpu, |place| place.cpu).ok()?;
        self.cpus.get(index)
    }

    /// Whether a CPU is the first of its core.
    fn leads_its_core(&self, cpu: CpuId) -> bool {
        self.leaders.contains(cpu)
    }

    /// The numbers of the packages, in the order of their carriers.
    fn packages(&self) -> Vec<u32> {
        self.packages.iter().filter_map(|&cpu| Some(self.place(cpu)?.package)).collect()
    }

    /// Whether two CPUs have one core or package; the first one is watched.
    fn share(&self, scope: Scope, watched: CpuId, other: CpuId) -> bool {
        match scope {
            Scope::Cpu => watched == other,
            Scope::Core => self.place(watched).is_some_and(|place| place.siblings.contains(other)),
            Scope::Package => {
                let package = self.package_of.get(&other);
                package.is_some() && self.package_of.get(&watched) == package
            }
        }
    }
}

/// The CPUs of a machine under watch.
pub struct Activity<'a> {
    machine: &'a Machine,
    places: Places,
    sources: Vec<(Box<dyn ColumnSource>, Vec<bool>)>,
    columns: Vec<Column>,
    missing: Vec<Missing>,
    last: Option<Duration>,
    /// The watched CPUs that were offline at the last look.
    offline: CpuSet,
}

/// Whether files below a folder are those of a machine that runs, as where `/proc` of a host is mounted
/// there: the time since its start grows.
///
/// # Source
/// proc_uptime(5): in hundredths of a second.
fn runs(tree: &dyn Tree) -> bool {
    const APART: Duration = Duration::from_millis(30);
    let uptime = || tree.read("/proc/uptime").ok();
    let Some(before) = uptime() else { return false };
    std::thread::sleep(APART);
    uptime().is_some_and(|now| now != before)
}

/// What only the machine itself tells.
fn not_in_files(what: &str, elsewhere: &str) -> Unavailable {
    let why = format!("this machine is {elsewhere}, which does not contain it");
    Unavailable::new(Obstacle::Cpudyno, what, why).with_remedy("run it on the machine itself")
}

impl<'a> Activity<'a> {
    /// Begins to watch these CPUs, or all that are online.
    ///
    /// # Error
    /// Where one of them is not online, or where the machine is no machine that runs.
    pub fn open(machine: &'a Machine, cpus: Option<&CpuSet>) -> Reading<Activity<'a>> {
        const WHAT: &str = "what CPUs do";
        if let Some(elsewhere) = &machine.elsewhere
            && !runs(&*machine.tree)
        {
            let why = format!("nothing runs on {elsewhere}");
            return Err(Unavailable::new(Obstacle::Cpudyno, WHAT, why));
        }
        let topology = facts::topology(machine);
        let wanted = cpus.unwrap_or(&topology.online);
        let not_there = wanted.difference(&topology.online);
        if !not_there.is_empty() {
            let why = format!("CPUs {not_there} are not online");
            let remedy = format!("choose among --cpus {}", topology.online);
            return Err(Unavailable::new(Obstacle::Hardware, WHAT, why).with_remedy(remedy));
        }
        let places = Places::new(&topology, wanted);
        let mut this = Activity {
            machine,
            places,
            sources: Vec::new(),
            columns: Vec::new(),
            missing: Vec::new(),
            last: None,
            offline: CpuSet::default(),
        };
        for row in SOURCES {
            this.add(row, (row.open)(machine, &this.places));
        }
        let known = |missing: &Missing| !this.columns.iter().any(|c| c.header == missing.header);
        this.missing.retain(known);
        Ok(this)
    }

    fn add(&mut self, row: &SourceRow, opened: Reading<Box<dyn ColumnSource>>) {
        let opened = opened.map(|source| (source.columns(), source));
        let offered = opened.as_ref().map_or(&[][..], |(columns, _)| columns);
        for &(header, quantity, unit) in row.columns {
            let is_told = self.missing.iter().any(|missing| missing.header == header);
            if is_told || offered.iter().any(|column| column.header == header) {
                continue;
            }
            let reason = opened.as_ref().err().cloned();
            let why = || format!("this machine has no {header}");
            let reason =
                reason.unwrap_or_else(|| Unavailable::new(Obstacle::Hardware, header, why()));
            self.missing.push(Missing { header, quantity, unit, reason });
        }
        if let Ok((columns, source)) = opened {
            let is_new = |column: &Column| !self.columns.iter().any(|c| c.header == column.header);
            let taken: Vec<bool> = columns.iter().map(is_new).collect();
            let new = columns.into_iter().zip(&taken).filter(|(_, taken)| **taken);
            self.columns.extend(new.map(|(column, _)| column));
            self.sources.push((source, taken));
        }
    }

    /// Reads no more than these columns need. Those of one source are read together, and stay.
    pub fn only(&mut self, headers: &[String]) {
        let is_wanted = |column: &Column| headers.iter().any(|header| *header == column.header);
        let mut columns = std::mem::take(&mut self.columns).into_iter();
        self.sources.retain(|(_, taken)| {
            let count = taken.iter().filter(|taken| **taken).count();
            let own: Vec<Column> = columns.by_ref().take(count).collect();
            let stays = own.iter().any(is_wanted);
            if stays {
                self.columns.extend(own);
            }
            stays
        });
        self.missing.retain(|missing| headers.iter().any(|header| header == missing.header));
    }

    /// What is read.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What cannot be.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Where the watched CPUs sit, ascending.
    pub fn cpus(&self) -> &[CpuPlace] {
        &self.places.cpus
    }

    /// The CPUs that carry the values of a column of that scope.
    pub fn carriers(&self, scope: Scope) -> Vec<CpuId> {
        self.places.carriers(scope)
    }

    /// What was read since the last look; none at the first one, and where no time went by.
    pub fn look(&mut self) -> Option<Interval> {
        let now = self.machine.passed();
        let look = LookContext { machine: self.machine, places: &self.places, now };
        let mut values = Vec::with_capacity(self.columns.len());
        for (source, taken) in &mut self.sources {
            let read = source.read(&look).into_iter().zip(taken);
            values.extend(read.filter(|(_, taken)| **taken).map(|(values, _)| values));
        }
        self.without_offline(&mut values);
        let last = self.last.replace(now).filter(|last| now > *last)?;
        Some(Interval { seconds: Seconds(now.saturating_sub(last).as_secs_f64()), values })
    }

    /// A counter of a CPU that is offline, or was at the last look, stands still or begins anew:
    /// its numbers say nothing of the interval.
    fn without_offline(&mut self, values: &mut [Vec<Reading<f64>>]) {
        let online = facts::online(self.machine);
        let watched = self.places.cpus.iter().map(|place| place.cpu);
        let offline: CpuSet = watched.filter(|&cpu| !online.contains(cpu)).collect();
        let before = std::mem::replace(&mut self.offline, offline.clone());
        if offline.is_empty() && before.is_empty() {
            return;
        }
        for (column, values) in self.columns.iter().zip(values) {
            if column.scope != Scope::Cpu {
                continue;
            }
            for (place, value) in self.places.cpus.iter().zip(values) {
                let when = match (offline.contains(place.cpu), before.contains(place.cpu)) {
                    (true, _) => "is offline",
                    (false, true) => "was offline when the interval began",
                    (false, false) => continue,
                };
                let why = format!("CPU {} {when}", place.cpu);
                *value = Err(Unavailable::new(Obstacle::Hardware, column.header.as_ref(), why));
            }
        }
    }

    /// Takes note of counters that begin again every few minutes, in the middle of a long interval.
    pub fn note(&mut self) {
        let look =
            LookContext { machine: self.machine, places: &self.places, now: self.machine.passed() };
        self.sources.iter_mut().for_each(|(source, _)| source.note(&look));
    }

    /// The watched CPUs whose number a column of that scope holds, where this one carries it.
    pub fn sharing(&self, scope: Scope, carrier: CpuId) -> CpuSet {
        let watched = self.places.cpus.iter().map(|place| place.cpu);
        watched.filter(|&cpu| self.places.share(scope, carrier, cpu)).collect()
    }

    /// The time that has passed on the machine, since some moment.
    pub fn passed(&self) -> Duration {
        self.machine.passed()
    }

    /// Lets so much time pass until the next look: on a simulated machine it passes at once.
    pub fn wait(&self, duration: Seconds) {
        match &self.machine.simulated {
            None => std::thread::sleep(Duration::from_secs_f64(duration.0.max(0.0))),
            Some(model) => model.work(duration),
        }
    }
}

/// Columns that hold a number of each CPU, all of one source.
fn of_each_cpu(
    columns: &[(&'static str, &'static str, Unit)],
    source: &'static str,
) -> Vec<Column> {
    let column = |&(header, quantity, unit): &(&'static str, &'static str, Unit)| Column {
        header: header.into(),
        quantity,
        part: None,
        unit,
        scope: Scope::Cpu,
        source: source.into(),
    };
    columns.iter().map(column).collect()
}

/// How it is said that a counter of energy stood still.
pub const STOOD_STILL: &str = "the counter of its energy stood still";

/// The power of what counted so much energy: whatever is on draws some, so that a counter which
/// stood still is one that does not count.
fn watts(what: &str, joules: f64, seconds: f64) -> Reading<f64> {
    if joules > 0.0 {
        return Ok(joules / seconds);
    }
    let why = format!("{STOOD_STILL} for {seconds:.2} s");
    Err(Unavailable::new(Obstacle::Hardware, what, why))
}

/// What share of the time was counted, in ticks of a TSC that stood there: who counts a few more than went by counted
/// all of the time.
fn share_of_ticks(what: &str, counted: f64, stamp: u64, then: u64) -> Reading<f64> {
    if stamp > then {
        return Ok((counted / (stamp - then) as f64).min(1.0));
    }
    let why = format!("the TSC, the time base of this counter, went from {then} to {stamp}");
    Err(Unavailable::new(Obstacle::Measurement, what, why))
}

/// Before the second look there is nothing to say.
fn no_interval(what: &str) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, what, "the counter was read only once")
}
