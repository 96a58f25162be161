//! The energy that packages draw over a stretch of time.

use std::time::Duration;

use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::{ColumnSource, LookContext, Places, energy, events};
use crate::facts;
use crate::ports::Machine;

/// What reasons call it.
const WHAT: &str = "package energy";

/// Counters of energy move about that often.
///
/// # Source
/// Intel SDM volume 3B, "RAPL Interfaces": about every millisecond. AMD's, by the same driver of the
/// kernel, do the same.
const UPDATE: Duration = Duration::from_millis(1);

/// So many of these steps make a stretch of which energy is said: both ends are off by up to one step,
/// together by 1 % at most.
const UPDATES_MIN: u32 = 100;

/// The energy of all that is on some packages, whoever draws it.
pub struct EnergyMeter<'a> {
    machine: &'a Machine,
    places: Places,
    /// What counts it, and its column of packages; or why nothing does.
    counter: Reading<(Box<dyn ColumnSource>, usize)>,
    begun: Duration,
}

/// What a stretch of time took.
#[derive(Debug, Clone, PartialEq)]
pub struct EnergyReading {
    /// How long it was.
    pub lasted: Duration,
    /// The energy of the packages, in joules; or why that is not known.
    pub joules: Reading<f64>,
    /// What counted it.
    pub source: Option<String>,
}

impl EnergyReading {
    /// Whether it was long enough for the steps of counters of energy.
    pub fn is_long(&self) -> bool {
        self.lasted >= UPDATE * UPDATES_MIN
    }
}

impl<'a> EnergyMeter<'a> {
    /// Opens the counters of a CPU's package, or of all packages: powercap, else perf, else registers.
    pub fn new(machine: &'a Machine, cpu: Option<CpuId>) -> EnergyMeter<'a> {
        let topology = facts::topology(machine);
        let cpus = cpu.map_or_else(|| topology.online.clone(), |cpu| CpuSet::from_iter([cpu]));
        let places = Places::new(&topology, &cpus);
        let of_packages = |source: Box<dyn ColumnSource>| {
            let columns = source.columns();
            let at = columns.iter().position(|it| it.part.as_deref() == Some("package"))?;
            Some((source, at))
        };
        let mut counter = Err(Unavailable::new(Obstacle::Hardware, WHAT, "nothing counts it"));
        for (number, open) in
            [energy::open, events::power, energy::by_registers].into_iter().enumerate()
        {
            match open(machine, &places) {
                Ok(source) => {
                    if let Some(found) = of_packages(source) {
                        counter = Ok(found);
                        break;
                    }
                }
                // The first source is the one that is easiest to come by.
                Err(reason) if number == 0 => counter = Err(reason),
                Err(_) => {}
            }
        }
        EnergyMeter { machine, places, counter, begun: machine.passed() }
    }

    /// Begins a stretch.
    pub fn begin(&mut self) {
        self.begun = self.machine.passed();
        let look = LookContext { machine: self.machine, places: &self.places, now: self.begun };
        if let Ok((source, _)) = &mut self.counter {
            source.read(&look);
        }
    }

    /// Takes note of counters that begin again, in a stretch of minutes.
    pub fn note(&mut self) {
        let now = self.machine.passed();
        let look = LookContext { machine: self.machine, places: &self.places, now };
        if let Ok((source, _)) = &mut self.counter {
            source.note(&look);
        }
    }

    /// Ends the stretch.
    pub fn end(&mut self) -> EnergyReading {
        let now = self.machine.passed();
        let lasted = now.saturating_sub(self.begun);
        let look = LookContext { machine: self.machine, places: &self.places, now };
        let (watts, source) = match &mut self.counter {
            Err(reason) => (Err(reason.clone()), None),
            Ok((source, at)) => {
                let values = source.read(&look).swap_remove(*at);
                let none = || {
                    Unavailable::new(Obstacle::Hardware, WHAT, "no package of its CPUs is known")
                };
                let watts: Reading<f64> =
                    if values.is_empty() { Err(none()) } else { values.into_iter().sum() };
                (watts, Some(source.columns()[*at].source.clone().into_owned()))
            }
        };
        let reading = EnergyReading { lasted, joules: Err(too_short(lasted)), source };
        let named = |reason: Unavailable| Unavailable { what: WHAT.to_owned(), ..reason };
        match watts {
            Ok(_) if !reading.is_long() => reading,
            _ => EnergyReading {
                joules: watts.map(|watts| watts * lasted.as_secs_f64()).map_err(named),
                ..reading
            },
        }
    }
}

fn too_short(lasted: Duration) -> Unavailable {
    let why = format!(
        "it took {:.1} ms: counters of energy move once a millisecond, and {UPDATES_MIN} of their \
         steps make 1 %",
        lasted.as_secs_f64() * 1e3
    );
    Unavailable::new(Obstacle::Measurement, WHAT, why)
        .with_remedy("execute more: `--iterations`, or a longer command")
}
