//! One set of counters, and a bill for each part of a program: for production use, where a switch from
//! part to part must cost no more than one reading of each counter.

use std::marker::PhantomData;

use machine::Machine;
use machine::perf::{Reader, Sample, Way, core_pmu};
use model::record::{CountedUnit, Counts, EventCount};
use model::{Known, Obstacle, Reading, Unavailable};
use simulated::Model;
use sys::perf_open::Modes;

use super::api::EventList;
use super::budget::{Budget, Drift, Expected};
use super::pass::OpenCounters;
use super::plan::{of_another_kind, plan};
use super::{counted_by, sanity_loop, slower, unit_of};
use crate::events::Encoded;

/// A part of a program: its place among the names that the set was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartIndex(pub usize);

/// Counters of the calling thread that are open all the time, with a bill for each part.
///
/// [`CounterSet::switch_to`] reads each counter once: what was counted since the last switch goes onto the
/// bill of the part that was entered then. It allocates nothing, and makes no system call where counters
/// are read by instruction. The counters are those of the thread that opened the set, which cannot be
/// sent to another one.
#[derive(Debug)]
pub struct CounterSet {
    counters: Vec<One>,
    /// What was asked for and is counted on another kind of core, with that reason.
    elsewhere: Vec<(Encoded, Unavailable)>,
    /// By part; the counts of all of them are in `counts`, one row by part.
    bills: Vec<Bill>,
    counts: Vec<u64>,
    current: usize,
    /// Units of work that the part which is entered has done since it was.
    units: u64,
    /// Where it is simulated.
    model: Option<Box<Model>>,
    of_this_thread: PhantomData<*const ()>,
}

#[derive(Debug)]
struct One {
    event: Encoded,
    reader: Reader,
    last: Sample,
    way: Way,
    /// What it counted in the interval that ends.
    moved: u64,
    /// What a switch counts by itself.
    own: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Bill {
    name: String,
    units: u64,
    /// Intervals that are on the bill, and those that are not, because a counter lost its place.
    intervals: u64,
    rejected: u64,
}

impl CounterSet {
    /// Opens counters of the calling thread in user mode, with a bill for each of these parts; the
    /// first part is entered. Events are names and patterns, or what was looked up before. A name
    /// means an event of each kind of core: those of other kinds than the one at hand are rows with
    /// that reason on each bill.
    ///
    /// # Error
    /// Where there is no part, where the events do not fit on the counters together, one cannot be
    /// counted, or one counts a loop wrongly whose counts are known ([`CounterSet::verify`]).
    pub fn open<E: EventList + ?Sized>(
        machine: &Machine,
        events: &E,
        parts: &[&str],
    ) -> Result<CounterSet, Unavailable> {
        let refused = |why: &str| Unavailable::new(Obstacle::Cpudyno, "set of counters", why);
        let cpu = machine.perf.current_cpu().ok_or_else(|| refused("no CPU is known here"))?;
        let (pmu, asked) = (core_pmu(machine, cpu), events.encoded(machine)?);
        let (mut events, mut elsewhere) = (Vec::new(), Vec::new());
        for event in asked {
            match of_another_kind(&event, pmu.as_deref()) {
                None => events.push(event),
                Some(reason) => elsewhere.push((event, reason)),
            }
        }
        if let Some((_, reason)) = elsewhere.first().filter(|_| events.is_empty()) {
            return Err(reason.clone());
        }
        if parts.is_empty() || events.is_empty() {
            return Err(refused("it needs at least one part and one event"));
        }
        let events = events.as_slice();
        let plan = plan(machine, cpu, events);
        if let Some(absent) = plan
            .absent
            .iter()
            .find(|absent| events.iter().any(|event| event.name == plan.events[absent.event].name))
        {
            return Err(absent.why.clone());
        }
        plan.together(events)?;
        let wanted: Vec<&Encoded> = events.iter().collect();
        let readers = OpenCounters::of(machine, &wanted, Modes::User).readers();
        let mut counters = Vec::with_capacity(events.len());
        for (event, reader) in events.iter().zip(readers) {
            let reader = reader?;
            let last = first_reading(event, &reader)?;
            let way = last.way;
            counters.push(One { event: event.clone(), reader, last, way, moved: 0, own: 0 });
        }
        let bill = |name: &&str| Bill { name: (*name).to_owned(), ..Bill::default() };
        let bills: Vec<Bill> = parts.iter().map(bill).collect();
        let counts = vec![0; bills.len() * counters.len()];
        let mut set = CounterSet {
            counters,
            elsewhere,
            bills,
            counts,
            current: 0,
            units: 0,
            model: machine.simulated.clone().map(Box::new),
            of_this_thread: PhantomData,
        };
        set.measure_own();
        // Whose counters have no place in this moment has them later, and bills say when not.
        set.sing().unwrap_or(Ok(()))?;
        Ok(set)
    }

    /// Counts a loop of microseconds whose counts are known, on no bill: whether a host has begun
    /// to share the counters, or they lie. For programs that run for long, every now and then. What
    /// was counted before is on the bill of the part that is entered, as with
    /// [`CounterSet::switch_to`].
    ///
    /// # Error
    /// Where an event counted wrongly, with what it counted; or where a counter had no place.
    pub fn verify(&mut self) -> Result<(), Unavailable> {
        self.switch_to(PartIndex(self.current));
        self.sing().unwrap_or_else(|| {
            let why = "a counter was off the hardware while the loop executed";
            Err(Unavailable::new(Obstacle::Measurement, "set of counters", why)
                .with_remedy("end other programs that count on this CPU: `perf`, profilers"))
        })
    }

    /// What is wrong with the counts of the loop, if anything; none where a counter had no place.
    fn sing(&mut self) -> Option<Reading<()>> {
        self.read();
        let sung = sanity_loop::sing(self.model.as_deref());
        if let Err(reason) = sung {
            return Some(Err(reason));
        }
        let whole = self.read();
        let wrong = |one: &One| {
            let counted = one.moved.saturating_sub(one.own);
            let why =
                sanity_loop::wrong(&one.event, counted, Modes::User, sanity_loop::JUST_BEFORE)?;
            Some(sanity_loop::rejected(&one.event.name, why))
        };
        whole.then(|| self.counters.iter().find_map(wrong).map_or(Ok(()), Err))
    }

    /// What a switch counts by itself: the least of many that follow each other at once.
    fn measure_own(&mut self) {
        const SWITCHES: usize = 100;
        let mut least = vec![u64::MAX; self.counters.len()];
        for _ in 0..SWITCHES {
            self.switch_to(PartIndex(0));
            for (least, one) in least.iter_mut().zip(&self.counters) {
                *least = (*least).min(one.moved);
            }
        }
        for (one, least) in self.counters.iter_mut().zip(least) {
            one.own = least;
        }
        self.counts.fill(0);
        for bill in &mut self.bills {
            *bill = Bill { name: std::mem::take(&mut bill.name), ..Bill::default() };
        }
    }

    /// Enters a part: what was counted since the last switch is on the bill of the part that is left. A
    /// part that there is not is the last one.
    #[inline]
    pub fn switch_to(&mut self, part: PartIndex) {
        let whole = self.read();
        let number = self.counters.len();
        let bill = &mut self.bills[self.current];
        let units = std::mem::take(&mut self.units);
        if whole {
            bill.intervals += 1;
            bill.units += units;
            let row = &mut self.counts[self.current * number..][..number];
            for (count, one) in row.iter_mut().zip(&self.counters) {
                *count += one.moved;
            }
        } else {
            bill.rejected += 1;
        }
        self.current = part.0.min(self.bills.len() - 1);
    }

    /// Reads each counter once: whether all of them had their place since they were read last, and
    /// did not fall.
    #[inline]
    fn read(&mut self) -> bool {
        let mut whole = true;
        for one in &mut self.counters {
            match one.reader.read() {
                Ok(sample) => {
                    // A counter that falls says nothing.
                    let moved = sample.value.checked_sub(one.last.value);
                    whole &= sample.waited_ns == one.last.waited_ns && moved.is_some();
                    one.moved = moved.unwrap_or(0);
                    one.way = slower(one.way, sample.way);
                    one.last = sample;
                }
                Err(_) => whole = false,
            }
        }
        whole
    }

    /// Says that the part which is entered did so many units of its work. They are on its bill with
    /// what was counted meanwhile, once it is left.
    #[inline]
    pub fn done(&mut self, units: u64) {
        self.units += units;
    }

    /// The part of that name.
    pub fn part(&self, name: &str) -> Option<PartIndex> {
        self.bills.iter().position(|bill| bill.name == name).map(PartIndex)
    }

    /// How often a part was left, and how many of those intervals are not on its bill because a counter
    /// had lost its place on the hardware.
    pub fn intervals(&self, part: PartIndex) -> Option<(u64, u64)> {
        self.bills.get(part.0).map(|bill| (bill.intervals + bill.rejected, bill.rejected))
    }

    /// The bill of a part, without what the switches count by themselves, by the unit of its work.
    pub fn bill(&self, part: PartIndex, unit: &str) -> Option<Counts> {
        let bill = self.bills.get(part.0)?;
        let number = self.counters.len();
        let row = &self.counts[part.0 * number..][..number];
        let mut events: Vec<EventCount> = self
            .counters
            .iter()
            .zip(row)
            .map(|(one, &count)| {
                let own = one.own * bill.intervals;
                EventCount {
                    event: one.event.name.clone(),
                    by: counted_by(&one.event),
                    unit: unit_of(&one.event),
                    count: bill.known(&one.event.name, count.saturating_sub(own)),
                    own: Some(own),
                    way: Some(one.way.name().to_owned()),
                }
            })
            .collect();
        events.extend(self.elsewhere.iter().map(|(event, reason)| EventCount {
            event: event.name.clone(),
            by: counted_by(event),
            unit: unit_of(event),
            count: Known::No { unavailable: reason.clone() },
            own: None,
            way: None,
        }));
        events.sort_by_key(|row| row.by);
        Some(Counts {
            title: bill.name.clone(),
            units: vec![CountedUnit::new(unit, bill.units)],
            events,
            executions: 1,
            ..Counts::default()
        })
    }

    /// What is not as expected: a count by unit of work that is off by more than its tolerance, or that
    /// cannot be told.
    pub fn check(&self, budget: &Budget) -> Vec<Drift> {
        let drift = |expected: &Expected| {
            let bill = self.part(&expected.part).and_then(|part| self.bill(part, "unit"));
            let row = expected.row(bill.as_ref());
            let found = match (row.holds(), row.found) {
                (Some(true), _) => return None,
                (_, Known::Yes(found)) => Ok(found),
                (_, Known::No { unavailable }) => Err(unavailable),
            };
            Some(Drift { expected: expected.clone(), found })
        };
        budget.expected.iter().filter_map(drift).collect()
    }
}

impl Bill {
    fn known(&self, event: &str, count: u64) -> Known<u64> {
        if self.intervals > 0 {
            return Known::Yes(count);
        }
        let why = match self.rejected {
            0 => format!("`{}` has not ended yet", self.name),
            rejected => format!(
                "a counter was off the hardware in each of {rejected} intervals of `{}`",
                self.name
            ),
        };
        Known::No { unavailable: Unavailable::new(Obstacle::Measurement, event, why) }
    }
}

pub(super) fn first_reading(event: &Encoded, reader: &Reader) -> Reading<Sample> {
    reader.read().map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "another program uses its counter".to_owned(),
            _ => format!("reading its counter answered {error}"),
        };
        Unavailable::new(Obstacle::Permission, &event.name, why)
    })
}
