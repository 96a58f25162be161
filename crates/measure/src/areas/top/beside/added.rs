//! A column that somebody added: a register, a file of the kernel, or an event.

use std::str::FromStr;

use machine::perf::{Reader, core_pmu};
use machine::pmu::{Pmu, is_of_cores};
use machine::{Machine, facts};
use model::record::CpuPlace;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable, Unit};
use pmu::counting::open_on;
use pmu::events::{CounterPlace, EventScope, Events, Target};
use sys::perf_open::{Begin, Count};

use super::growing::{Growing, between, counted, exact};
use super::{BesideColumn, BesideMissing, BesideSource, Whose};

const GROWTH: &str = "added_growth";
const VALUE: &str = "added_value";

/// A column that is to be added: `msr/0x10`, `sysfs/devices/system/cpu/cpuN/cpuidle/state1/usage,delta`,
/// `perf/instructions,name=Instr`.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedColumn {
    place: AddedPlace,
    name: String,
    is_raw: bool,
    is_short: bool,
    whose: Whose,
}

#[derive(Debug, Clone, PartialEq)]
enum AddedPlace {
    Register(u32),
    /// With the numbers of the CPU, package or node that was named.
    File(String),
    Event(String),
}

/// The parts of a path that have a number: their beginning, and whose it is.
const NUMBERED: &[(&str, Whose)] =
    &[("cpu", Whose::Cpu), ("package_", Whose::Package), ("node", Whose::Node)];

/// Of `cpu7` or `cpuN` the beginning, whose number it is, how many digits it has at least, and the rest.
fn numbered(part: &str) -> Option<(&str, Whose, usize, &str)> {
    let of = |(prefix, whose): &(&'static str, Whose)| {
        let number = part.strip_prefix(prefix)?;
        let digits = number.chars().take_while(char::is_ascii_digit).count();
        let digits = if number.starts_with('N') { 1 } else { digits };
        let rest = number.get(digits..)?;
        let is_it = digits > 0 && (rest.is_empty() || rest.starts_with('_'));
        let width = if number.starts_with('0') { digits } else { 1 };
        is_it.then_some((*prefix, *whose, width, rest))
    };
    NUMBERED.iter().find_map(of)
}

/// Where a place ends: an event between slashes has commas of its own.
fn end_of(text: &str) -> usize {
    let comma = text.find(',').unwrap_or(text.len());
    let is_event = text.starts_with("perf/");
    let begins = text.get(5..).and_then(|event| event.find('/')).map(|at| at + 5);
    match begins.filter(|at| is_event && *at < comma) {
        Some(begins) => {
            let ends = text[begins + 1..].find('/').map_or(begins, |at| begins + 1 + at);
            text[ends..].find(',').map_or(text.len(), |at| ends + at)
        }
        None => comma,
    }
}

impl FromStr for AddedColumn {
    type Err = String;

    fn from_str(text: &str) -> Result<AddedColumn, String> {
        let (place, words) = text.split_at(end_of(text));
        let (kind, rest) = place.split_once('/').unwrap_or((place, ""));
        let (place, whose) = match kind {
            "msr" => {
                let digits = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
                let number =
                    digits.map_or_else(|| rest.parse(), |hex| u32::from_str_radix(hex, 16));
                let number = number.map_err(|_| format!("`{rest}` is no register"))?;
                (AddedPlace::Register(number), Whose::Cpu)
            }
            "sysfs" => {
                let below = rest.strip_prefix("/sys/").unwrap_or(rest).trim_start_matches('/');
                if below.is_empty() || below.split('/').any(|part| part == "..") {
                    return Err(format!("`{rest}` is no file below /sys"));
                }
                let whose = below.split('/').filter_map(numbered).map(|(_, whose, ..)| whose).min();
                (AddedPlace::File(format!("/sys/{below}")), whose.unwrap_or(Whose::Machine))
            }
            "perf" if !rest.is_empty() => (AddedPlace::Event(rest.to_owned()), Whose::Cpu),
            _ => return Err(format!("`{place}` is no register, file or event")),
        };
        let is_raw = matches!(place, AddedPlace::File(_));
        let name = match &place {
            AddedPlace::Register(number) => format!("msr{number:#x}"),
            AddedPlace::File(path) => path.rsplit('/').next().unwrap_or(path).to_owned(),
            AddedPlace::Event(event) => event.clone(),
        };
        let mut column = AddedColumn { place, name, is_raw, is_short: false, whose };
        for word in words.split(',').skip(1) {
            column.take(word)?;
        }
        Ok(column)
    }
}

impl AddedColumn {
    /// Its name in tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn take(&mut self, word: &str) -> Result<(), String> {
        let is_event = matches!(self.place, AddedPlace::Event(_));
        match word {
            "delta" => self.is_raw = false,
            "raw" if !is_event => self.is_raw = true,
            "u64" => self.is_short = false,
            "u32" if !is_event => self.is_short = true,
            "cpu" if self.whose != Whose::Machine => self.whose = Whose::Cpu,
            "core" if self.whose == Whose::Cpu && !is_event => self.whose = Whose::Core,
            "package" if self.whose == Whose::Cpu && !is_event => self.whose = Whose::Package,
            _ => match word.strip_prefix("name=").filter(|name| !name.is_empty()) {
                Some(name) => name.clone_into(&mut self.name),
                None => return Err(format!("`{word}` says nothing of `{}`", self.source())),
            },
        }
        Ok(())
    }

    fn quantity(&self) -> &'static str {
        if self.is_raw { VALUE } else { GROWTH }
    }

    fn source(&self) -> String {
        match &self.place {
            AddedPlace::Register(number) => format!("MSR {number:#x}"),
            AddedPlace::File(path) => path.clone(),
            AddedPlace::Event(event) => format!("perf, {event}"),
        }
    }

    fn column(&self, carriers: &[(CpuPlace, CpuSet)]) -> BesideColumn {
        BesideColumn {
            header: self.name.clone(),
            quantity: self.quantity(),
            unit: Unit::Count,
            source: self.source(),
            carriers: carriers.iter().map(|(place, cpus)| (place.cpu, cpus.clone())).collect(),
            is_weight: false,
        }
    }

    /// What is said where it cannot be had.
    pub(super) fn missing(&self, reason: Unavailable) -> BesideMissing {
        let (header, quantity) = (self.name.clone(), self.quantity());
        BesideMissing { header, quantity, unit: Unit::Count, reason }
    }

    /// The file of a CPU, of its package or of its node.
    fn file(path: &str, place: &CpuPlace) -> String {
        let number = |part: &str| {
            let (prefix, whose, digits, rest) = numbered(part)?;
            let number = match whose {
                Whose::Node => place.node?,
                Whose::Package => place.package,
                _ => place.cpu.0,
            };
            Some(format!("{prefix}{number:0digits$}{rest}"))
        };
        let parts = path.split('/').map(|part| number(part).unwrap_or_else(|| part.to_owned()));
        parts.collect::<Vec<_>>().join("/")
    }

    /// What a register or a file says.
    fn read(&self, machine: &Machine, place: &CpuPlace) -> Reading<PlaceNumber> {
        match &self.place {
            AddedPlace::Register(number) => {
                machine.msr.read(place.cpu, *number).map(PlaceNumber::Whole)
            }
            AddedPlace::File(path) => {
                let path = AddedColumn::file(path, place);
                let text = machine.tree.read(&path)?;
                said(text.trim()).ok_or_else(|| {
                    let first: String = text.trim().chars().take(20).collect();
                    let why = format!("`{path}` holds `{first}`, which is no number");
                    Unavailable::new(Obstacle::Hardware, &self.name, why)
                })
            }
            AddedPlace::Event(event) => {
                Err(Unavailable::new(Obstacle::Cpudyno, event, "events are counted"))
            }
        }
    }

    /// How much it grew from one reading to the next.
    fn between(&self, now: PlaceNumber, before: PlaceNumber) -> Reading<u64> {
        if let (PlaceNumber::Whole(now), PlaceNumber::Whole(before)) = (now, before) {
            return between(&self.name, self.is_short, now, before);
        }
        let why = "it is no whole number, and only those have a growth";
        let refused = Unavailable::new(Obstacle::Cpudyno, &self.name, why);
        Err(refused.with_remedy("show it as it is: `raw`"))
    }

    /// Its number as it is.
    fn raw(&self, said: PlaceNumber) -> Reading<f64> {
        match said {
            PlaceNumber::Whole(number) if self.is_short => Ok(f64::from(number as u32)),
            PlaceNumber::Whole(number) => exact(&self.name, number),
            PlaceNumber::Other(number) => Ok(number),
        }
    }
}

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PlaceNumber {
    Whole(u64),
    Other(f64),
}

fn said(text: &str) -> Option<PlaceNumber> {
    let hex = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let whole = hex.or_else(|| text.parse().ok()).map(PlaceNumber::Whole);
    let other = || text.parse().ok().filter(|it: &f64| it.is_finite()).map(PlaceNumber::Other);
    whole.or_else(other)
}

/// Opens it once: where none of its carriers can be read, nothing is read again.
pub(super) fn open(
    machine: &Machine,
    watched: &[CpuPlace],
    column: &AddedColumn,
) -> Reading<Box<dyn BesideSource>> {
    if let AddedPlace::Event(event) = &column.place {
        return counted_event(machine, watched, column, event);
    }
    let mut carriers = Vec::new();
    let mut first = None;
    for (place, cpus) in column.whose.carriers(watched) {
        match column.read(machine, &place) {
            Ok(_) => carriers.push((place, cpus)),
            Err(reason) => drop(first.get_or_insert(reason)),
        }
    }
    if carriers.is_empty() {
        let none =
            || Unavailable::new(Obstacle::Hardware, &column.name, "no CPU has such a number");
        return Err(first.unwrap_or_else(none));
    }
    let counters = carriers.iter().map(|_| Growing::new()).collect();
    Ok(Box::new(ReadPlace { column: column.clone(), carriers, counters }))
}

/// A register or a file of some carriers.
struct ReadPlace {
    column: AddedColumn,
    carriers: Vec<(CpuPlace, CpuSet)>,
    counters: Vec<Growing<PlaceNumber>>,
}

impl BesideSource for ReadPlace {
    fn columns(&self) -> Vec<BesideColumn> {
        vec![self.column.column(&self.carriers)]
    }

    fn note(&mut self, machine: &Machine) {
        let column = &self.column;
        for ((place, _), counter) in self.carriers.iter().zip(&mut self.counters) {
            counter.note(column.read(machine, place), |now, before| {
                if column.is_raw { Ok(0) } else { column.between(now, before) }
            });
        }
    }

    fn take(&mut self, _: f64) -> Vec<Vec<Reading<f64>>> {
        let column = &self.column;
        let value = |counter: &mut Growing<PlaceNumber>| {
            if column.is_raw {
                return counter.last(&column.name).and_then(|number| column.raw(number));
            }
            counter.take().and_then(|more| exact(&column.name, more))
        };
        vec![self.counters.iter_mut().map(value).collect()]
    }
}

/// The counters of an event, for each of its carriers.
struct CountedEvent {
    column: AddedColumn,
    carriers: Vec<(CpuPlace, CpuSet)>,
    counters: Vec<Vec<(Reader, Growing<Count>)>>,
    is_shared: bool,
    is_of_cores: bool,
}

/// An event of CPUs, or one that parts of each package count, which are added.
fn counted_event(
    machine: &Machine,
    watched: &[CpuPlace],
    column: &AddedColumn,
    name: &str,
) -> Reading<Box<dyn BesideSource>> {
    let refused = |obstacle, why: String| Unavailable::new(obstacle, &column.name, why);
    let found = Events::of(Target::of(machine)).resolve(name);
    let found = found.map_err(|error| {
        refused(Obstacle::Hardware, error.to_string()).with_remedy("names: cpudyno pmu list")
    })?;
    let is_of_parts = found.iter().any(|event| event.scope == EventScope::Shared);
    let whose = if is_of_parts { Whose::Package } else { Whose::Cpu };
    let carriers = whose.carriers(watched);
    let mut counters = Vec::with_capacity(carriers.len());
    let packages = facts::topology(machine);
    for (place, _) in &carriers {
        let mut on: Vec<(CpuId, &pmu::Encoded)> = Vec::new();
        let core = core_pmu(machine, place.cpu);
        for event in &found {
            let pmu = event.pmu.as_deref();
            if !is_of_parts {
                let is_here = pmu.is_none_or(|pmu| !is_of_cores(pmu)) || pmu == core.as_deref();
                on.extend(is_here.then_some((place.cpu, event)));
                continue;
            }
            let cpus = Pmu::new(&*machine.tree, pmu.unwrap_or_default()).cpus()?;
            let package = |cpu: &CpuId| packages.place(*cpu).map(|place| place.package);
            let here = cpus.into_iter().filter(|cpu| package(cpu) == Some(place.package));
            on.extend(here.map(|cpu| (cpu, event)));
        }
        let is_one = |other: &&(CpuId, &pmu::Encoded)| other.1.name == on[0].1.name;
        match &on[..] {
            [] => {
                let why = format!("nothing counts it for CPU {}", place.cpu);
                return Err(refused(Obstacle::Hardware, why));
            }
            [_, other, ..] if !is_of_parts && !is_one(&other) => {
                let why = format!("`{name}` means several: `{}`, `{}`", on[0].1.name, other.1.name);
                return Err(refused(Obstacle::Cpudyno, why).with_remedy("name one of them"));
            }
            _ => {}
        }
        let opened = on.into_iter().map(|(cpu, event)| {
            Ok((open_on(machine, event, cpu, Begin::Now, None)?, Growing::new()))
        });
        counters.push(opened.collect::<Reading<Vec<_>>>()?);
    }
    let is_shared = found.iter().any(|event| event.place != CounterPlace::Software);
    let is_of_cores = is_shared && !is_of_parts;
    let column = column.clone();
    Ok(Box::new(CountedEvent { column, carriers, counters, is_shared, is_of_cores }))
}

/// What a counter of the kernel says.
pub(super) fn count(what: &str, reader: &Reader) -> Reading<Count> {
    reader.count().map_err(|error| {
        let why = format!("reading the kernel's counter answered `{error}`");
        Unavailable::new(Obstacle::Measurement, what, why)
    })
}

impl BesideSource for CountedEvent {
    fn columns(&self) -> Vec<BesideColumn> {
        vec![self.column.column(&self.carriers)]
    }

    fn takes_counters(&self) -> bool {
        self.is_of_cores
    }

    fn note(&mut self, _: &Machine) {
        let (name, is_shared) = (&self.column.name, self.is_shared);
        for (reader, counter) in self.counters.iter_mut().flatten() {
            let between = |now, before| counted(name, is_shared, now, before);
            counter.note(count(name, reader), between);
        }
    }

    fn take(&mut self, _: f64) -> Vec<Vec<Reading<f64>>> {
        let name = &self.column.name;
        let value = |readers: &mut Vec<(Reader, Growing<Count>)>| {
            let grown = readers.iter_mut().map(|(_, counter)| counter.take());
            let parts: Vec<u64> = grown.collect::<Reading<_>>()?;
            exact(name, parts.into_iter().fold(0, u64::saturating_add))
        };
        vec![self.counters.iter_mut().map(value).collect()]
    }
}
