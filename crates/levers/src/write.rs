//! One write: what is said where it is refused, and what is read back.

use std::io;
use std::time::Duration;

use machine::Machine;
use machine::isst::settable::{Settable, What};
use model::Unavailable;

use crate::error::Error;
use crate::journal::Journal;
use crate::object::Object;
use crate::overrides;
use crate::port::Levers;
use crate::rows::Lever;
use crate::unlimited::{self, OPEN_KHZ};

/// Writes, reads back, and remembers what the kernel made of it, and what it will not show any more.
pub(crate) fn put(
    machine: &Machine,
    levers: &mut dyn Levers,
    journal: &mut Journal,
    (object, text): (&Object, &str),
    is_kept: &dyn Fn(&str) -> bool,
) -> Result<String, Error> {
    journal.hide(machine, unlimited::moved_by(machine, object));
    write(machine, levers, object, text)?;
    journal.replaced(object);
    let mut settled = settled(machine, object, text, is_kept);
    if let (Err(Error::NotKept { .. }), OPEN_KHZ) = (&settled, text) {
        settled = moved(machine, levers, journal, object, is_kept);
    }
    let found = settled.as_ref().ok().cloned().or_else(|| object.read(machine).ok());
    if let Some(found) = found.filter(|found| found != text) {
        journal.hear(object, found);
    }
    settled
}

/// Opens a limit that is open, and shows what it came to under another base frequency: kernels look at it anew
/// only when a limit moves.
///
/// # Source
/// Linux, kernel/power/qos.c: `freq_qos_update_request`.
fn moved(
    machine: &Machine,
    levers: &mut dyn Levers,
    journal: &mut Journal,
    object: &Object,
    is_kept: &dyn Fn(&str) -> bool,
) -> Result<String, Error> {
    if let Some(near) = unlimited::comes_to(machine, object, OPEN_KHZ) {
        journal.begin(vec![(object.clone(), near.clone())]);
        write(machine, levers, object, &near)?;
        settled(machine, object, &near, is_kept)?;
        write(machine, levers, object, OPEN_KHZ)?;
    }
    settled(machine, object, OPEN_KHZ, is_kept)
}

fn write(
    machine: &Machine,
    levers: &mut dyn Levers,
    object: &Object,
    text: &str,
) -> Result<(), Error> {
    levers.write(object, text).map_err(|error| {
        // That a device is busy or gone, or that rights are missing, nobody decides.
        let decides = !matches!(object, Object::SpeedSelect(_))
            || matches!(error.raw_os_error(), Some(sys::errno::ENXIO | sys::errno::ENOTTY));
        let deciders = if decides { overrides::of(machine, object, text) } else { Vec::new() };
        let is_overruled = error.raw_os_error() == Some(sys::errno::EPERM) && !deciders.is_empty();
        let is_unexplained = deciders.iter().all(|why| why == overrides::SILENT);
        let (why, is_final) = match error.raw_os_error() {
            Some(sys::errno::ENOTTY) if matches!(object, Object::SpeedSelect(_)) => {
                ("the driver refused it (ENOTTY)".to_owned(), !is_unexplained)
            }
            Some(sys::errno::ETIMEDOUT) => (sys::errno::words(&error), false),
            _ => (sys::errno::words(&error), error.kind() != io::ErrorKind::TimedOut),
        };
        Error::Refused {
            object: object.to_string(),
            wanted: text.to_owned(),
            why,
            is_final,
            // Drivers say "not permitted" of what firmware has locked, too.
            is_right: error.kind() == io::ErrorKind::PermissionDenied
                && !is_overruled
                && !machine.host.is_root(),
            first: decides.then(|| overrides::comes_first(machine, object, text)).flatten(),
            deciders: deciders.into(),
        }
    })
}

/// How long it is waited for what was written, look after look: drivers of files take a moment.
const MOMENTS: &[Duration] = &[Duration::from_millis(2); 4];

pub(crate) fn is_level(object: &Object) -> bool {
    matches!(object, Object::SpeedSelect(Settable { what: What::Level, .. }))
}

/// The same of firmware. Its driver waits some 20 ms for a new level and does not wait for features, and the
/// reference tool waits ever longer with each version: a second in all.
pub(crate) const MOMENTS_OF_FIRMWARE: &[Duration] = &[
    Duration::from_millis(2),
    Duration::from_millis(4),
    Duration::from_millis(8),
    Duration::from_millis(16),
    Duration::from_millis(32),
    Duration::from_millis(64),
    Duration::from_millis(128),
    Duration::from_millis(256),
    Duration::from_millis(512),
];

/// What an object holds after a write.
pub(crate) fn settled(
    machine: &Machine,
    object: &Object,
    wanted: &str,
    is_kept: &dyn Fn(&str) -> bool,
) -> Result<String, Error> {
    let is_firmware = matches!(object, Object::SpeedSelect(_));
    let mut moments = if is_firmware { MOMENTS_OF_FIRMWARE } else { MOMENTS }.iter();
    loop {
        let found = match object.read(machine) {
            Ok(now) if is_kept(&now) => return Ok(now),
            found => found,
        };
        match moments.next() {
            Some(moment) => std::thread::sleep(*moment),
            None => {
                return Err(match found {
                    Ok(found) => not_kept(machine, object, wanted, found),
                    Err(reason) => unseen(object, wanted, reason),
                });
            }
        }
    }
}

fn unseen(object: &Object, wanted: &str, reason: Unavailable) -> Error {
    let setting = Lever::of(object).map_or_else(|| object.to_string(), |lever| lever.id.to_owned());
    let why = format!("`{wanted}` was written, and cannot be read back: {}", reason.why);
    Error::Absent { setting, why, remedy: reason.remedy }
}

pub(crate) fn not_kept(machine: &Machine, object: &Object, wanted: &str, found: String) -> Error {
    let deciders = overrides::of(machine, object, wanted).into();
    let first = overrides::comes_first(machine, object, wanted);
    Error::NotKept { object: object.to_string(), wanted: wanted.to_owned(), found, deciders, first }
}
