//! Machines that exist only as a text: for tests, for examples, for machines that are not here.
//!
//! One file per machine in `machines/`, one line per file in the table below. The [`Model`] is what
//! the file says; the ports are generated from it, and so are the stamps of the simulated executor,
//! elsewhere. Everything that a simulated machine says of itself says SIMULATED.

mod check;
mod controllers;
mod counters;
pub mod firmware;
mod heat;
mod idle;
mod model;
mod obeyed;
mod pmu;
mod ports;
mod registers;
mod settings;
mod tax;
mod tree;
mod uncore;
mod work;

pub use self::controllers::{Controllers, Through};
pub use self::counters::SimulatedCounters;
pub use self::heat::Budget;
pub(crate) use self::idle::Request;
pub use self::idle::{Idled, SignalCost};
pub use self::model::{
    Cache, Claims, Clock, Cost, Distance, Elapsed, Fault, HugePages, Identity, IdleState, Layout,
    Level, Licence, Memory, Model, Noise, Openmp, Registers, SlowCores,
};
pub use self::obeyed::{Occupied, Rise};
pub use self::pmu::{ArmPmu, CorePmu, Counting, PmuEvent, SimulatedCounter};
pub(crate) use self::ports::machine;
use self::ports::made;
pub use self::settings::{Settings, Writer};
pub use self::tax::{Left, Tax};
pub use self::tree::Came;
pub use self::work::{Busy, Power, Work, Worked};

use ::model::name::did_you_mean;

use crate::error::Error;
use crate::ports::Machine;

/// Name and description of every simulated machine.
const MACHINES: &[(&str, &str)] = &[
    ("1c", include_str!("machines/1c.toml")),
    ("4c", include_str!("machines/4c.toml")),
    ("laptop", include_str!("machines/laptop.toml")),
    ("container", include_str!("machines/container.toml")),
    ("2s-28c", include_str!("machines/2s-28c.toml")),
    ("2s-56c", include_str!("machines/2s-56c.toml")),
    ("guide", include_str!("machines/guide.toml")),
    ("icelake", include_str!("machines/icelake.toml")),
    ("sapphire", include_str!("machines/sapphire.toml")),
    ("sapphire-locked", include_str!("machines/sapphire-locked.toml")),
    ("granite", include_str!("machines/granite.toml")),
    ("epyc", include_str!("machines/epyc.toml")),
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

    fn fresh(name: &str) -> Result<Model, Error> {
        match MACHINES.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Model::parse(&format!("{name}.toml"), text),
            None => Err(Error::UnknownSimulation {
                name: name.into(),
                suggestion: did_you_mean(name, names()),
                known: names().map(|name| format!("sim:{name}")).collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

fn broken(file: &str, why: String) -> Error {
    Error::BrokenSimulation { file: file.into(), why }
}

impl From<Model> for Machine {
    /// The machine that a description stands for.
    fn from(model: Model) -> Machine {
        machine(model)
    }
}

/// The same simulated machine as another process finds it, with what is set on it in a file: its files are not made anew
/// unless a fault in that file is one of theirs.
pub fn found_again(model: &Model, file: &str) -> Result<Machine, Error> {
    let found = model.clone().kept_in(file)?;
    Ok(if found.faults == model.faults { made(found) } else { machine(found) })
}
