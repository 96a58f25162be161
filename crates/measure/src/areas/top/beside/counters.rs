//! Columns that are computed from counters of each CPU: instructions per cycle, stalls, caches.
//!
//! All events of a CPU are one group, so that they are counted at the same time or not at all; a count of a
//! part of the time is rejected. Events are known by their names alone: where a core has none of them, the
//! column is missing.

use machine::Machine;
use machine::perf::{Reader, core_pmu};
use model::record::CpuPlace;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable, Unit};
use pmu::Encoded;
use pmu::counting::{base, open_on, plan};
use pmu::events::{Events, Target};
use pmu::metrics::{Formula, FormulaError};
use sys::perf_open::{Begin, Count};

use super::added::count;
use super::growing::{Growing, counted};
use super::{BesideColumn, BesideMissing, BesideSource, Opened};

/// A column, and how it is computed: the first formula whose events a core has.
struct CountedColumn {
    header: &'static str,
    quantity: &'static str,
    unit: Unit,
    formulas: &'static [&'static str],
}

/// # Source
/// Intel SDM volume 3B, "Architectural Performance Events" (last-level cache); descriptions of events in
/// `data/events.toml`.
#[rustfmt::skip]
const COLUMNS: &[CountedColumn] = &[
    CountedColumn { header: "IPC", quantity: "instructions_per_cycle", unit: Unit::One, formulas: &["instructions / cycles"] },
    CountedColumn { header: "Stall%", quantity: "stall_share", unit: Unit::One,
        formulas: &["cycle_activity.stalls_total / cycles", "stall_backend / cycles"] },
    CountedColumn { header: "L2MRPS", quantity: "l2_references", unit: Unit::PerSecond, formulas: &[
        "l2_rqsts.references", "l2_request.hit + l2_request.miss",
        "l2_cache_req_stat.ic_dc_hit_in_l2 + l2_cache_req_stat.ic_dc_miss_in_l2", "l2d_cache",
    ] },
    CountedColumn { header: "L2%hit", quantity: "l2_hit_share", unit: Unit::One, formulas: &[
        "1 - l2_rqsts.miss / l2_rqsts.references", "l2_request.hit / (l2_request.hit + l2_request.miss)",
        "l2_cache_req_stat.ic_dc_hit_in_l2 / (l2_cache_req_stat.ic_dc_hit_in_l2 + l2_cache_req_stat.ic_dc_miss_in_l2)",
        "1 - l2d_cache_refill / l2d_cache",
    ] },
    CountedColumn { header: "LLCMRPS", quantity: "llc_references", unit: Unit::PerSecond,
        formulas: &["longest_lat_cache.reference", "ll_cache_rd"] },
    CountedColumn { header: "LLC%hit", quantity: "llc_hit_share", unit: Unit::One, formulas: &[
        "1 - longest_lat_cache.miss / longest_lat_cache.reference", "1 - ll_cache_miss_rd / ll_cache_rd",
    ] },
];

/// What ratios of cycles are weighted by over several CPUs: the cycles of the same group. It never shows.
const CYCLES: CountedColumn = CountedColumn {
    header: "cycles of IPC",
    quantity: "average_clock",
    unit: Unit::Hertz,
    formulas: &["cycles"],
};

/// The columns that are computed from counters.
pub const HEADERS: &[&str] = &["IPC", "Stall%", "L2MRPS", "L2%hit", "LLCMRPS", "LLC%hit"];

impl CountedColumn {
    /// Whose mean over several CPUs needs it.
    fn weighs(&self) -> &'static [&'static str] {
        match self.quantity {
            "average_clock" => &["IPC", "Stall%"],
            "l2_references" => &["L2%hit"],
            "llc_references" => &["LLC%hit"],
            _ => &[],
        }
    }

    fn is_weight(&self) -> bool {
        self.header == CYCLES.header
    }

    /// What the counts of an interval say.
    fn value(
        &self,
        formula: &Formula,
        seconds: f64,
        count: impl Fn(&str) -> Option<f64>,
    ) -> Reading<f64> {
        /// Counters of a group do not begin and end in one instant.
        const SLACK: f64 = 0.01;
        let refused = |why: String| Unavailable::new(Obstacle::Measurement, self.header, why);
        let value = formula.value(count).map_err(|error| match error {
            FormulaError::Zero(cycles) if cycles == "cycles" => {
                refused("idle for the whole interval, so it has no clock".to_owned())
            }
            FormulaError::Zero(event) => refused(format!("`{event}` did not happen")),
            error => refused(error.to_string()),
        })?;
        match self.unit {
            Unit::PerSecond | Unit::Hertz => Ok(value / seconds),
            _ if self.quantity == "instructions_per_cycle" => Ok(value),
            _ if (-SLACK..=1.0 + SLACK).contains(&value) => Ok(value.clamp(0.0, 1.0)),
            _ => Err(refused(format!(
                "the counts give {:.1} %, which is no share: they do not fit together",
                value * 100.0
            ))),
        }
    }
}

/// A kind of core: the events that are counted on it, and what becomes of each column.
struct CountedKind {
    pmu: Option<String>,
    events: Vec<(String, Encoded)>,
    columns: Vec<Reading<Formula>>,
}

impl CountedKind {
    /// Takes columns as long as their events fit into the counters of a core at once: there are no turns.
    fn of(machine: &Machine, events: &Events<'_>, cpu: CpuId, wanted: &[&CountedColumn]) -> Self {
        let pmu = core_pmu(machine, cpu);
        let base: Vec<(String, Encoded)> =
            base(machine, cpu).into_iter().map(|event| (event.name.clone(), event)).collect();
        let event_of = |name: &str| -> Option<Encoded> {
            // Those of the base are called as they are everywhere.
            let of_base = base.iter().find(|(known, _)| {
                known == name || known.split('/').nth(1).is_some_and(|known| known == name)
            });
            let found = || events.resolve(name).ok();
            let here = |event: &Encoded| event.pmu == pmu && event.kind.is_some();
            of_base.map(|(_, event)| event.clone()).or_else(|| found()?.into_iter().find(here))
        };
        let mut kind = CountedKind { pmu: pmu.clone(), events: Vec::new(), columns: Vec::new() };
        for column in wanted {
            let formulas = column.formulas.iter().filter_map(|text| text.parse::<Formula>().ok());
            let named = |formula: Formula| {
                let events = formula.events();
                let known = events.into_iter().map(|name| Some((name.to_owned(), event_of(name)?)));
                let known: Option<Vec<(String, Encoded)>> = known.collect();
                known.map(|known| (formula, known))
            };
            let Some((formula, more)) = formulas.into_iter().find_map(named) else {
                let why = format!("no event of it is known for the cores of CPU {cpu}");
                let absent = Unavailable::new(Obstacle::Cpudyno, column.header, why);
                kind.columns.push(Err(absent));
                continue;
            };
            let is_new =
                |(name, _): &(String, Encoded)| !kind.events.iter().any(|(n, _)| n == name);
            let more: Vec<(String, Encoded)> = more.into_iter().filter(is_new).collect();
            let together: Vec<Encoded> =
                kind.events.iter().chain(&more).map(|(_, event)| event.clone()).collect();
            let planned = plan(machine, cpu, &together);
            // Where nobody says how many counters there are, the kernel does when they are opened.
            let fits = planned.passes.len() <= 1 && planned.absent.is_empty();
            if planned.limits.is_ok() && !fits {
                let why = "the counters of a core do not suffice for it and the columns before it";
                let full = Unavailable::new(Obstacle::Hardware, column.header, why);
                let only = format!("show it without others: --show {}", column.header);
                kind.columns.push(Err(full.with_remedy(only)));
                continue;
            }
            kind.events.extend(more);
            kind.columns.push(Ok(formula));
        }
        kind
    }
}

/// The open counters of a CPU, in the order of its kind's events.
struct CpuGroup {
    cpu: CpuId,
    kind: usize,
    counters: Vec<(Reader, Growing<Count>)>,
}

struct CoreCounters {
    wanted: Vec<&'static CountedColumn>,
    kinds: Vec<CountedKind>,
    groups: Vec<CpuGroup>,
}

/// Opens the counters of those of [`HEADERS`] that are wanted.
pub(in crate::areas::top) fn open(
    machine: &Machine,
    watched: &[CpuPlace],
    is_wanted: impl Fn(&str) -> bool,
    is_taken: bool,
) -> Opened {
    let is_read = |it: &&CountedColumn| {
        is_wanted(it.header) || it.weighs().iter().any(|header| is_wanted(header))
    };
    // Cycles come last: their event is there already.
    let wanted: Vec<&CountedColumn> =
        COLUMNS.iter().chain(std::iter::once(&CYCLES)).filter(is_read).collect();
    let missing = |column: &CountedColumn, reason: &Unavailable| {
        let (header, quantity, unit) = (column.header.to_owned(), column.quantity, column.unit);
        let missing = BesideMissing { header, quantity, unit, reason: reason.clone() };
        is_wanted(column.header).then_some(missing)
    };
    let Some(first) = watched.first().filter(|_| !wanted.is_empty()) else {
        return (None, Vec::new());
    };
    // Whoever may not count at all reads no table of events.
    let tried = match base(machine, first.cpu).first() {
        Some(event) => open_on(machine, event, first.cpu, Begin::Now, None).map(drop),
        None => Err(Unavailable::new(Obstacle::Hardware, "counters", "this CPU has no PMU")),
    };
    let free = tried.and_then(|()| {
        if !is_taken {
            return Ok(());
        }
        let why = "the event that was added has the counters of the cores";
        let taken = Unavailable::new(Obstacle::Cpudyno, "counters", why);
        Err(taken.with_remedy("name what is to be counted with it: --show IPC"))
    });
    let opened = free.and_then(|()| opened(machine, watched, &wanted));
    match opened {
        Err(reason) => (None, wanted.iter().filter_map(|it| missing(it, &reason)).collect()),
        Ok(mut source) => {
            let absent = source.without_absent();
            let absent = absent.iter().filter_map(|(it, reason)| missing(it, reason)).collect();
            let is_empty = source.wanted.is_empty();
            let source: Box<dyn BesideSource> = Box::new(source);
            ((!is_empty).then_some(source), absent)
        }
    }
}

fn opened(
    machine: &Machine,
    watched: &[CpuPlace],
    wanted: &[&'static CountedColumn],
) -> Reading<CoreCounters> {
    let events = Events::of(Target::of(machine));
    let mut kinds: Vec<CountedKind> = Vec::new();
    let mut groups = Vec::with_capacity(watched.len());
    for place in watched {
        let pmu = core_pmu(machine, place.cpu);
        let known = kinds.iter().position(|kind| kind.pmu == pmu);
        let kind = known.unwrap_or(kinds.len());
        if known.is_none() {
            kinds.push(CountedKind::of(machine, &events, place.cpu, wanted));
        }
        let mut counters: Vec<(Reader, Growing<Count>)> = Vec::new();
        for (_, event) in &kinds[kind].events {
            let leader = counters.first().map(|(reader, _)| reader);
            let begin = if leader.is_some() { Begin::Now } else { Begin::WhenStarted };
            counters.push((open_on(machine, event, place.cpu, begin, leader)?, Growing::new()));
        }
        if let Some((leader, _)) = counters.first() {
            leader.start_group().map_err(|error| {
                let why = format!("starting the counters of CPU {} answered `{error}`", place.cpu);
                Unavailable::new(Obstacle::Hardware, "counters", why)
            })?;
        }
        groups.push(CpuGroup { cpu: place.cpu, kind, counters });
    }
    Ok(CoreCounters { wanted: wanted.to_vec(), kinds, groups })
}

impl CoreCounters {
    /// Gives up the columns that no kind of core has, each with the reason of the first.
    fn without_absent(&mut self) -> Vec<(&'static CountedColumn, Unavailable)> {
        let mut absent = Vec::new();
        for at in (0..self.wanted.len()).rev() {
            let reasons = self.kinds.iter().map(|kind| kind.columns[at].as_ref().err());
            let Some(Some(reasons)) =
                reasons.collect::<Option<Vec<_>>>().map(|it| it.first().map(|it| (*it).clone()))
            else {
                continue;
            };
            self.kinds.iter_mut().for_each(|kind| drop(kind.columns.remove(at)));
            absent.push((self.wanted.remove(at), reasons));
        }
        absent.reverse();
        absent
    }

    /// What a column says of a CPU by what its counters grew by.
    fn value(&self, at: usize, kind: usize, grown: &[Reading<u64>], seconds: f64) -> Reading<f64> {
        let CountedKind { events, columns, .. } = &self.kinds[kind];
        let formula = columns[at].as_ref().map_err(Clone::clone)?;
        let place = |name: &str| events.iter().position(|(known, _)| known == name);
        for name in formula.events() {
            if let Some(Err(reason)) = place(name).and_then(|place| grown.get(place)) {
                return Err(reason.clone());
            }
        }
        let count = |name: &str| Some(*grown.get(place(name)?)?.as_ref().ok()? as f64);
        self.wanted[at].value(formula, seconds, count)
    }
}

impl BesideSource for CoreCounters {
    fn columns(&self) -> Vec<BesideColumn> {
        let source = |at: usize| {
            let mut formulas = self.kinds.iter().filter_map(|kind| kind.columns[at].as_ref().ok());
            formulas.next().map_or_else(String::new, |formula| format!("perf, {}", formula.text()))
        };
        let carriers = self.groups.iter().map(|group| {
            let own: CpuSet = std::iter::once(group.cpu).collect();
            (group.cpu, own)
        });
        let carriers: Vec<(CpuId, CpuSet)> = carriers.collect();
        let column = |(at, column): (usize, &&CountedColumn)| BesideColumn {
            header: column.header.to_owned(),
            quantity: column.quantity,
            unit: column.unit,
            source: source(at),
            carriers: carriers.clone(),
            is_weight: column.is_weight(),
        };
        self.wanted.iter().enumerate().map(column).collect()
    }

    fn note(&mut self, _: &Machine) {
        for group in &mut self.groups {
            for ((reader, counter), (name, _)) in
                group.counters.iter_mut().zip(&self.kinds[group.kind].events)
            {
                let between = |now, before| counted(name, true, now, before);
                counter.note(count(name, reader), between);
            }
        }
    }

    fn take(&mut self, seconds: f64) -> Vec<Vec<Reading<f64>>> {
        let of_group = |group: &mut CpuGroup| -> (usize, Vec<Reading<u64>>) {
            (group.kind, group.counters.iter_mut().map(|(_, counter)| counter.take()).collect())
        };
        let grown: Vec<(usize, Vec<Reading<u64>>)> = self.groups.iter_mut().map(of_group).collect();
        let of_column =
            |at| grown.iter().map(|(kind, grown)| self.value(at, *kind, grown, seconds)).collect();
        (0..self.wanted.len()).map(of_column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_can_be_computed_and_has_a_name() {
        let headers: Vec<&str> = COLUMNS.iter().map(|column| column.header).collect();
        assert_eq!(headers, HEADERS);
        for column in COLUMNS {
            for text in column.formulas {
                let formula: Formula = text.parse().unwrap();
                let value = column.value(&formula, 2.0, |_| Some(4.0));
                assert!(value.is_ok_and(f64::is_finite), "{}: {text}", column.header);
            }
        }
    }

    #[test]
    fn what_is_no_share_is_no_number() {
        let stalls = &COLUMNS[1];
        let formula: Formula = stalls.formulas[0].parse().unwrap();
        let of = |stalled: f64| {
            let count = |name: &str| Some(if name == "cycles" { 100.0 } else { stalled });
            stalls.value(&formula, 1.0, count)
        };
        assert_eq!((of(25.0), of(100.5)), (Ok(0.25), Ok(1.0)));
        assert!(of(150.0).unwrap_err().why.contains("150.0 %"));
        let halted = stalls.value(&formula, 1.0, |_| Some(0.0)).unwrap_err();
        assert!(halted.why.contains("idle for the whole"), "{halted:?}");
    }
}
