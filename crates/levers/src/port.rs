//! The port through which a machine is written to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use machine::Machine;
use machine::simulated::Writer;

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
    /// Writes the text of a file, `0` or `1` to a bit, or the number of a request, which holds until it
    /// is released, or this port is dropped.
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
        (None, Some(model)) => Some(Box::new(Writer::new(model))),
        (None, None) => Some(Box::new(Kernel::real())),
    }
}

/// Files and registers of a kernel.
pub struct Kernel {
    /// The folder in which its files lie: `/`.
    root: PathBuf,
    /// The folder that is laid out like `/dev/cpu`.
    registers: PathBuf,
    /// The devices that are open because something is asked for there.
    requests: HashMap<Object, File>,
}

impl Kernel {
    fn real() -> Kernel {
        Kernel::below("/", "/dev/cpu")
    }

    /// Files below a folder, and registers that are files in a folder laid out like `/dev/cpu`.
    pub fn below(root: impl Into<PathBuf>, registers: impl Into<PathBuf>) -> Kernel {
        Kernel { root: root.into(), registers: registers.into(), requests: HashMap::new() }
    }

    /// The file of an object, opened for writing; none is made.
    fn open(&self, object: &Object, options: &mut OpenOptions) -> io::Result<File> {
        let path = match object {
            Object::File(path) | Object::Request(path) => {
                self.root.join(path.trim_start_matches('/'))
            }
            Object::Bit { cpu, .. } => self.registers.join(format!("{cpu}/msr")),
        };
        options.write(true).open(path)
    }
}

impl Levers for Kernel {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.open(object, &mut OpenOptions::new()).map(drop)
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

impl Levers for Writer {
    fn permits(&self, object: &Object) -> io::Result<()> {
        match object {
            Object::File(path) => Writer::permits(self, path),
            Object::Bit { cpu, register, .. } => self.permits_register(*cpu, *register),
            Object::Request(_) => self.permits_request(),
        }
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        match object {
            Object::File(path) => Writer::write(self, path, text),
            Object::Bit { cpu, register, bit } => {
                self.write_bit(*cpu, *register, *bit, text == "1")
            }
            Object::Request(_) => self.request(text),
        }
    }

    fn release(&mut self, _: &Object) {
        Writer::release(self);
    }
}
