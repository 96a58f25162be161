//! The port through which a machine is written to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use machine::Machine;
use machine::isst::settable::Setter;
use simulated::Writer;

use crate::object::Object;

/// What can be written.
pub trait Levers: Send {
    /// Whether this process may write it; tried without writing.
    fn permits(&self, object: &Object) -> io::Result<()>;
    /// Whether the kernel lets nobody write that file, whatever his rights.
    fn is_read_only(&self, path: &str) -> bool {
        let _ = path;
        false
    }
    /// Writes the text of a file or of a value of firmware, `0` or `1` to a bit, or the number of a
    /// request, which holds until it is released, or this port is dropped.
    fn write(&mut self, object: &Object, text: &str) -> io::Result<()>;
    /// Gives up a request.
    fn release(&mut self, object: &Object) {
        let _ = object;
    }
}

/// The port of a machine; none: it is a capture, or only its files are there.
pub fn of(machine: &Machine) -> Option<Box<dyn Levers>> {
    // A capture of a simulated machine is a capture.
    match (&machine.elsewhere, &machine.simulated) {
        (Some(_), _) => None,
        (None, Some(model)) => {
            Some(Box::new(Simulated { writer: Writer::new(model), isst: Setter::of(machine) }))
        }
        (None, None) => {
            let isst = Some(Setter::of(machine));
            Some(Box::new(KernelPort { isst, ..KernelPort::below("/", "/dev/cpu") }))
        }
    }
}

/// The port to plan with: of a machine that is not here everything can be planned, and nothing written.
pub fn to_plan(machine: &Machine) -> Box<dyn Levers> {
    of(machine).unwrap_or_else(|| Box::new(Nowhere))
}

/// What is written on a machine that is not here.
struct Nowhere;

impl Levers for Nowhere {
    fn permits(&self, _: &Object) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, _: &Object, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Files and registers of a kernel.
pub struct KernelPort {
    /// The folder in which its files lie: `/`.
    root: PathBuf,
    /// The folder that is laid out like `/dev/cpu`.
    registers: PathBuf,
    /// The devices that are open because something is asked for there.
    requests: HashMap<Object, File>,
    /// What writes to the firmware of Speed Select, where there is one.
    isst: Option<Setter>,
}

impl KernelPort {
    /// Files below a folder, and registers that are files in a folder laid out like `/dev/cpu`.
    pub fn below(root: impl Into<PathBuf>, registers: impl Into<PathBuf>) -> KernelPort {
        let (root, registers) = (root.into(), registers.into());
        KernelPort { root, registers, requests: HashMap::new(), isst: None }
    }

    /// The file of an object, opened for writing; none is made.
    fn open(&self, object: &Object, options: &mut OpenOptions) -> io::Result<File> {
        let path = match object {
            Object::File(path) | Object::Request(path) => {
                self.root.join(path.trim_start_matches('/'))
            }
            Object::Bit { cpu, .. } => self.registers.join(format!("{cpu}/msr")),
            Object::SpeedSelect(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        options.write(true).open(path)
    }
}

/// What the driver of Speed Select asks for of who changes anything, CAP_SYS_ADMIN; some calls it forgets
/// to check.
///
/// # Source
/// Linux, include/uapi/linux/capability.h, drivers/platform/x86/intel/speed_select_if.
const SYS_ADMIN: u32 = 21;

impl KernelPort {
    /// Whether this process may write to firmware.
    fn permits_firmware(&self) -> io::Result<()> {
        let setter = self.isst.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        setter.permits()?;
        let status = std::fs::read_to_string(self.root.join("proc/self/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let mask = line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok());
        if mask.is_some_and(|mask| mask >> SYS_ADMIN & 1 == 1) {
            return Ok(());
        }
        let why = "the capability SYS_ADMIN is missing";
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }
}

impl Levers for KernelPort {
    fn permits(&self, object: &Object) -> io::Result<()> {
        match object {
            Object::SpeedSelect(_) => self.permits_firmware(),
            _ => self.open(object, &mut OpenOptions::new()).map(drop),
        }
    }

    fn is_read_only(&self, path: &str) -> bool {
        let known = std::fs::metadata(self.root.join(path.trim_start_matches('/')));
        known.is_ok_and(|known| known.mode() & 0o222 == 0)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        match object {
            // The kernel takes a setting in one write, and cares not for the length of its files.
            Object::File(_) => {
                self.open(object, options.truncate(true))?.write_all(text.as_bytes())
            }
            Object::Bit { register, bit, .. } => {
                let file = self.open(object, options.read(true))?;
                let place = u64::from(*register);
                let mut bytes = [0; 8];
                file.read_exact_at(&mut bytes, place)?;
                let (value, mask) = (u64::from_le_bytes(bytes), 1 << bit);
                let value = if text == "1" { value | mask } else { value & !mask };
                file.write_all_at(&value.to_le_bytes(), place)
            }
            Object::SpeedSelect(settable) => {
                let setter = self.isst.as_ref().ok_or(io::ErrorKind::Unsupported)?;
                setter.write(settable, text)
            }
            Object::Request(_) => {
                let number: i32 = text.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
                let file = self.open(object, &mut options)?;
                let file = match self.requests.entry(object.clone()) {
                    Entry::Occupied(open) => open.into_mut(),
                    Entry::Vacant(place) => place.insert(file),
                };
                file.write_all_at(&number.to_ne_bytes(), 0)
            }
        }
    }

    fn release(&mut self, object: &Object) {
        self.requests.remove(object);
    }
}

/// Files, registers and firmware of a simulated machine.
struct Simulated {
    writer: Writer,
    isst: Setter,
}

impl Levers for Simulated {
    fn permits(&self, object: &Object) -> io::Result<()> {
        match object {
            Object::File(path) => self.writer.permits(path),
            Object::Bit { cpu, register, .. } => self.writer.permits_register(*cpu, *register),
            Object::SpeedSelect(_) => self.isst.permits(),
            Object::Request(_) => self.writer.permits_request(),
        }
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        match object {
            Object::File(path) => self.writer.write(path, text),
            Object::Bit { cpu, register, bit } => {
                self.writer.write_bit(*cpu, *register, *bit, text == "1")
            }
            Object::SpeedSelect(settable) => self.isst.write(settable, text),
            Object::Request(_) => self.writer.request(text),
        }
    }

    fn release(&mut self, _: &Object) {
        self.writer.release();
    }
}
