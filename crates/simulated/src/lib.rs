//! Machines that exist only as a text: for tests, for examples, for machines that are not here.
//!
//! One file per machine in `machines/`, one line per file in the table below. The [`Model`] is what
//! the file says, and what has happened on it since; files, registers, counters and firmware are made from it, and
//! so are the stamps of the simulated executor, elsewhere. Everything that a simulated machine says of itself says SIMULATED.

#![forbid(unsafe_code)]

mod controllers;
mod counters;
mod cpuid;
mod description;
mod effects;
mod error;
mod faults;
pub mod files;
pub mod firmware;
mod heat;
mod idle;
mod pmu;
mod registers;
mod state;
mod sysfs;
mod tax;
pub mod tpmi;
mod uncore;
mod work;
mod writer;

use ::model::name::did_you_mean;

pub use self::counters::SimulatedCounters;
pub use self::description::{
    ArmPmu, Cache, CacheLevel, Claims, Clock, Controllers, CoreKind, CorePmu, Cost, Dimms,
    Distance, HugePages, Identity, IdleState, KindMemory, KindName, Layout, Licence, Memory, Model,
    Noise, Openmp, PmuEvent, Power, Reach, Registers, SignalCost, SlowCores, Tax, Work,
};
pub use self::effects::Rise;
pub use self::error::Error;
pub use self::faults::{Fault, WrongAnswers};
pub use self::files::Files;
pub use self::heat::Budget;
pub use self::pmu::SLOTS_PER_CYCLE;
pub use self::state::{
    Busy, Came, Counting, Elapsed, Idled, InState, LatencyRequest, MemoryTraffic, Occupied,
    Settings, SimulatedCounter, Worked,
};
pub use self::sysfs::SimulatedTree;
pub use self::tax::Left;
pub use self::writer::Writer;

/// Name and description of every simulated machine.
const MACHINES: &[(&str, &str)] = &[
    ("1c", include_str!("machines/1c.toml")),
    ("4c", include_str!("machines/4c.toml")),
    ("laptop", include_str!("machines/laptop.toml")),
    ("faulty", include_str!("machines/faulty.toml")),
    ("hybrid", include_str!("machines/hybrid.toml")),
    ("container", include_str!("machines/container.toml")),
    ("2s-28c", include_str!("machines/2s-28c.toml")),
    ("2s-56c", include_str!("machines/2s-56c.toml")),
    ("guide", include_str!("machines/guide.toml")),
    ("icelake", include_str!("machines/icelake.toml")),
    ("sapphire", include_str!("machines/sapphire.toml")),
    ("sapphire-dimm", include_str!("machines/sapphire-dimm.toml")),
    ("sapphire-locked", include_str!("machines/sapphire-locked.toml")),
    ("granite", include_str!("machines/granite.toml")),
    ("epyc", include_str!("machines/epyc.toml")),
    ("quota", include_str!("machines/quota.toml")),
    ("sierra", include_str!("machines/sierra.toml")),
    ("vm-2c", include_str!("machines/vm-2c.toml")),
];

/// The names of all simulated machines, without `sim:`.
pub fn names() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(name, _)| *name)
}

impl Model {
    /// The simulated machine of that name (without `sim:`). After an `@` comes the file that keeps what
    /// is set on it between processes, and may put in faults.
    pub fn named(name: &str) -> Result<Model, Error> {
        match name.split_once('@') {
            None => Model::fresh(name),
            Some((name, file)) => Model::fresh(name)?.kept_in(file),
        }
    }

    /// The same machine, with a file that keeps what is set on it, and may put in faults.
    pub fn kept_in(self, file: &str) -> Result<Model, Error> {
        let settings = Settings::open(file.into())?;
        let faults = [self.faults.clone(), settings.faults()].concat();
        let of_firmware = settings.firmware_faults();
        let mut model = Model { faults, settings, ..self };
        match &mut model.speed_select {
            Some(speed_select) => speed_select.fault.extend(of_firmware),
            None if of_firmware.is_empty() => {}
            None => {
                return Err(broken(file, "this machine has no firmware of Speed Select".into()));
            }
        }
        model.check().map_err(|why| broken(file, why))?;
        Ok(model)
    }

    /// The same machine, with files made of what it is now.
    #[must_use]
    pub fn made(self) -> Model {
        Model { came: Came::of(&self), ..self }
    }

    fn fresh(name: &str) -> Result<Model, Error> {
        match MACHINES.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Model::parse(&format!("{name}.toml"), text),
            None => Err(Error::Unknown {
                name: name.into(),
                suggestion: did_you_mean(name, names()),
                known: names().map(|name| format!("sim:{name}")).collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

fn broken(file: &str, why: String) -> Error {
    Error::Broken { file: file.into(), why }
}
