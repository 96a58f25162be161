//! What a lever moves.

use std::fmt;

use machine::isst::settable::Settable;
use machine::{Machine, pm_qos};
use model::{CpuId, Obstacle, Reading, Unavailable};
use serde::{Deserialize, Serialize};

/// A file of the kernel, a bit of a register, a value of firmware, or a request to the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Object {
    /// A file with one setting.
    File(String),
    /// One bit of a model-specific register of one CPU.
    Bit {
        /// Whose register.
        cpu: CpuId,
        /// Its number.
        register: u32,
        /// The bit, counted from the lowest.
        bit: u8,
    },
    /// A value that the firmware of Speed Select holds.
    SpeedSelect(Settable),
    /// What is asked for by a device, for as long as it is open: the strictest one who asks counts.
    Request(String),
}

impl Object {
    /// Whether the kernel forgets it when this process ends, however it ends: then there is nothing to
    /// undo, and no journal knows of it.
    pub fn is_held(&self) -> bool {
        matches!(self, Object::Request(_))
    }

    /// What it holds, as it is written: of a list with one word in brackets, that word.
    pub fn read(&self, machine: &Machine) -> Reading<String> {
        match self {
            Object::File(path) => {
                let text = machine.tree.read(path)?;
                let text = text.trim();
                if text.is_empty() {
                    let why = format!("`{path}` is empty");
                    return Err(Unavailable::new(Obstacle::Hardware, format!("`{path}`"), why));
                }
                Ok(chosen(text).unwrap_or(text).to_owned())
            }
            Object::Bit { cpu, register, bit } => {
                let value = machine.msr.read(*cpu, *register)?;
                Ok((value >> bit & 1).to_string())
            }
            Object::SpeedSelect(settable) => settable.read(&*machine.isst, &*machine.tree),
            // There is no other such device.
            Object::Request(_) => pm_qos::effective(machine).map(|limit| limit.to_string()),
        }
    }
}

/// The word in brackets.
fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0)
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::File(path) | Object::Request(path) => f.write_str(path),
            Object::SpeedSelect(settable) => settable.fmt(f),
            Object::Bit { cpu, register, bit } => {
                write!(f, "bit {bit} of MSR {register:#x} of CPU {cpu}")
            }
        }
    }
}
