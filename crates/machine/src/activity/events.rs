//! What the kernel counts as events of whole cores and packages: residency in idle states that the
//! hardware entered, and energy.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

use model::{CpuId, Obstacle, Reading, Unavailable, Unit};
use sys::clock::{Probe, Tsc};
use sys::perf_open::{Event, Scope as Whose, open};

use super::{Column, ColumnSource, LookContext, Places, Scope, no_interval, share_of_ticks};
use crate::pmu::Pmu;
use crate::ports::Machine;
use crate::probes::for_everybody;
use model::growth::grown;

const RESIDENCY: &str = "residency";
const POWER: &str = "power";

pub(super) const CORE_COLUMNS: &[(&str, &str, Unit)] = &[("CPU%c6", RESIDENCY, Unit::One)];
pub(super) const PACKAGE_COLUMNS: &[(&str, &str, Unit)] = &[("Pkg%pc6", RESIDENCY, Unit::One)];
pub(super) const POWER_COLUMNS: &[(&str, &str, Unit)] = super::energy::COLUMNS;

/// An event of a PMU, and the column that it fills.
struct EventColumn {
    event: String,
    header: String,
    quantity: &'static str,
    part: String,
    unit: Unit,
    scope: Scope,
}

/// The residency of cores: the counters of `cstate_core` run with the TSC while a core is in a state.
///
/// # Source
/// Linux, arch/x86/events/intel/cstate.c: events `cN-residency`.
pub(super) fn core_residency(machine: &Machine, _: &Places) -> Reading<Box<dyn ColumnSource>> {
    residency(machine, "cstate_core", Scope::Core, "CPU%")
}

/// The same of packages, `cstate_pkg`.
pub(super) fn package_residency(machine: &Machine, _: &Places) -> Reading<Box<dyn ColumnSource>> {
    residency(machine, "cstate_pkg", Scope::Package, "Pkg%p")
}

fn residency(
    machine: &Machine,
    pmu: &str,
    scope: Scope,
    prefix: &str,
) -> Reading<Box<dyn ColumnSource>> {
    let pmu = Pmu::new(machine.tree.as_ref(), pmu);
    let counted = pmu.events()?.into_iter().filter_map(|event| {
        let state = event.strip_suffix("-residency")?.to_owned();
        let header = format!("{prefix}{state}");
        let part = if scope == Scope::Package { format!("p{state}") } else { state };
        Some(EventColumn { event, header, quantity: RESIDENCY, part, unit: Unit::One, scope })
    });
    opened(machine, &pmu, counted.collect())
}

/// The power of packages: energy by the PMU `power`.
///
/// # Source
/// Linux, arch/x86/events/rapl.c: `energy-pkg`, `energy-cores`, `energy-ram`, with their scale in joules.
pub(super) fn power(machine: &Machine, _: &Places) -> Reading<Box<dyn ColumnSource>> {
    let pmu = Pmu::new(machine.tree.as_ref(), "power");
    let known = pmu.events()?;
    let events = ["energy-pkg", "energy-cores", "energy-ram"];
    let counted =
        events.into_iter().zip(super::energy::DOMAINS).map(|(event, (header, part))| EventColumn {
            event: event.to_owned(),
            header: (*header).to_owned(),
            quantity: POWER,
            part: (*part).to_owned(),
            unit: Unit::Watt,
            scope: Scope::Package,
        });
    let counted = counted.filter(|of| known.contains(&of.event)).collect();
    opened(machine, &pmu, counted)
}

/// What an event counted so far, on the CPUs that count it.
struct EventCounter {
    counted: EventColumn,
    /// What one count is, in the unit; of residency, in ticks of the TSC.
    scale: f64,
    files: Vec<(CpuId, File)>,
}

struct Events {
    counters: Vec<EventCounter>,
    source: String,
    tsc: Option<Tsc>,
    last: Option<Last>,
}

/// When counters were read, by two clocks, and what each said on each of its CPUs.
struct Last {
    at: Duration,
    stamp: u64,
    counts: Vec<Vec<Reading<u64>>>,
}

fn opened(
    machine: &Machine,
    pmu: &Pmu<'_>,
    events: Vec<EventColumn>,
) -> Reading<Box<dyn ColumnSource>> {
    if machine.simulated.is_some() {
        let why = "a simulated machine opens no counters of the kernel";
        return Err(Unavailable::new(Obstacle::Cpudyno, pmu.name(), why));
    }
    if let Some(elsewhere) = &machine.elsewhere {
        return Err(super::not_in_files(pmu.name(), elsewhere));
    }
    let (kind, cpus) = (pmu.kind()?, pmu.cpus()?);
    let mut counters = Vec::new();
    for counted in events {
        let named = pmu.event(&counted.event)?;
        let event = Event { kind, config: named.config[0], kernel: true };
        let mut files = Vec::with_capacity(cpus.len());
        for &cpu in &cpus {
            let file = open(event, Whose::Everybody(cpu)).map_err(|error| {
                let why = format!("perf_event_open of the PMU `{}`: {error}", pmu.name());
                Unavailable::new(Obstacle::Permission, counted.quantity, why)
                    .with_remedy(for_everybody(&error))
            })?;
            files.push((cpu, File::from(file)));
        }
        counters.push(EventCounter { counted, scale: named.scale.unwrap_or(1.0), files });
    }
    let source = format!("perf, PMU `{}`", pmu.name());
    Ok(Box::new(Events { counters, source, tsc: Tsc::invariant(), last: None }))
}

fn count(mut file: &File) -> Reading<u64> {
    let mut value = [0; 8];
    file.read_exact(&mut value).map_err(|error| {
        let why = format!("reading the kernel's counter failed: {error}");
        Unavailable::new(Obstacle::Hardware, "counter", why)
    })?;
    Ok(u64::from_ne_bytes(value))
}

impl Events {
    /// What a counter grew by is this in the unit of its column.
    fn value(
        &self,
        counter: &EventCounter,
        grown: f64,
        seconds: f64,
        [stamp, then]: [u64; 2],
    ) -> Reading<f64> {
        match counter.counted.unit {
            Unit::One if self.tsc.is_none() => {
                let why = "residency is counted in ticks of a TSC, which this CPU does not have";
                Err(Unavailable::new(Obstacle::Hardware, RESIDENCY, why))
            }
            Unit::One => share_of_ticks(RESIDENCY, grown, stamp, then),
            _ => super::watts(counter.counted.quantity, grown * counter.scale, seconds),
        }
    }
}

impl ColumnSource for Events {
    fn columns(&self) -> Vec<Column> {
        let column = |EventCounter { counted, .. }: &EventCounter| Column {
            header: counted.header.clone().into(),
            quantity: counted.quantity,
            part: Some(counted.part.clone()),
            unit: counted.unit,
            scope: counted.scope,
            source: self.source.clone().into(),
        };
        self.counters.iter().map(column).collect()
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        let of =
            |counter: &EventCounter| counter.files.iter().map(|(_, file)| count(file)).collect();
        let now: Vec<Vec<Reading<u64>>> = self.counters.iter().map(of).collect();
        let stamp = self.tsc.map_or(0, Probe::stamp);
        let last = self.last.replace(Last { at: look.now, stamp, counts: now.clone() });
        let value = |index: usize, carrier: CpuId| -> Reading<f64> {
            let counter = &self.counters[index];
            let last = last.as_ref().ok_or_else(|| no_interval("counter"))?;
            let shares =
                |(cpu, _): &(CpuId, File)| look.places.share(counter.counted.scope, carrier, *cpu);
            let place = counter.files.iter().position(shares).ok_or_else(|| {
                let why = format!("no CPU counts `{}` for CPU {carrier}", counter.counted.event);
                Unavailable::new(Obstacle::Hardware, counter.counted.quantity, why)
            })?;
            let (now, before) = (now[index][place].clone()?, last.counts[index][place].clone()?);
            let seconds = look.now.saturating_sub(last.at).as_secs_f64();
            let grown = grown(counter.counted.quantity, now as f64, before as f64)?;
            self.value(counter, grown, seconds, [stamp, last.stamp])
        };
        let of_counter = |(index, counter): (usize, &EventCounter)| {
            let carriers = look.places.carriers(counter.counted.scope);
            carriers.into_iter().map(|carrier| value(index, carrier)).collect()
        };
        self.counters.iter().enumerate().map(of_counter).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::CpuSet;
    use simulated::Model;

    use super::*;
    use crate::facts;

    fn counter(unit: Unit, scale: f64) -> EventCounter {
        let counted = EventColumn {
            event: "energy-pkg".to_owned(),
            header: "PkgWatt".to_owned(),
            quantity: POWER,
            part: "package".to_owned(),
            unit,
            scope: Scope::Package,
        };
        EventCounter { counted, scale, files: Vec::new() }
    }

    fn events(counters: Vec<EventCounter>, tsc: Option<Tsc>) -> Events {
        Events { counters, source: "a test".to_owned(), tsc, last: None }
    }

    #[test]
    fn energy_over_time_is_power_and_ticks_over_ticks_a_share() {
        let of = events(Vec::new(), Tsc::invariant());
        let energy = counter(Unit::Watt, 0.25);
        assert_eq!(of.value(&energy, 8.0, 2.0, [1, 0]), Ok(1.0));
        assert!(of.value(&energy, 0.0, 2.0, [1, 0]).unwrap_err().why.contains("stood still"));
        let residency = counter(Unit::One, 1.0);
        if of.tsc.is_some() {
            assert_eq!(of.value(&residency, 25.0, 2.0, [200, 100]), Ok(0.25));
            // Who never entered a state was in it for no time.
            assert_eq!(of.value(&residency, 0.0, 2.0, [200, 100]), Ok(0.0));
            assert_eq!(of.value(&residency, 101.0, 2.0, [200, 100]), Ok(1.0));
            // A TSC that was set back counts no ticks that anything is a share of.
            for stamp in [100, 40] {
                let unknown = of.value(&residency, 25.0, 2.0, [stamp, 100]).unwrap_err();
                assert!(unknown.why.contains("TSC"), "{unknown:?}");
            }
        }
        let without = events(Vec::new(), None).value(&residency, 25.0, 2.0, [200, 100]);
        assert!(without.unwrap_err().why.contains("a TSC, which this CPU does not have"));
    }

    /// What the kernel would answer, in a file that is written anew before each look.
    fn said(count: u64) -> File {
        use std::io::{Seek, Write};
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&count.to_ne_bytes()).unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn a_counter_that_falls_is_no_zero() {
        let machine: Machine = Model::named("4c").unwrap().into();
        let all: CpuSet = std::iter::once(CpuId(0)).collect();
        let places = Places::new(&facts::topology(&machine), &all);
        let mut of = events(vec![counter(Unit::Watt, 1.0)], None);
        let mut look = |seconds: u64, count: u64| -> Reading<f64> {
            of.counters[0].files = vec![(CpuId(0), said(count))];
            let now = Duration::from_secs(seconds);
            of.read(&LookContext { machine: &machine, places: &places, now }).remove(0).remove(0)
        };
        assert!(look(0, 100).unwrap_err().why.contains("only once"));
        assert_eq!(look(2, 150), Ok(25.0));
        assert!(look(3, 40).unwrap_err().why.contains("the counter fell from 150 to 40"));
        assert!(look(4, 40).unwrap_err().why.contains("stood still for 1.00 s"));
        assert_eq!(look(5, 47), Ok(7.0));
    }
}
