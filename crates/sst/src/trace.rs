//! Every ioctl with its answers, for those who want to see what firmware was asked.

use std::sync::{Arc, Mutex, PoisonError};

use machine::isst::{Message, Refusal};
use machine::{Isst, IsstDevice, Machine, Reading};

/// What was asked, a line each; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    /// Those of a machine, from now on: of everybody who asks it, or sets something.
    pub fn of(machine: &mut Machine) -> Calls {
        let calls = Calls::default();
        let isst = Arc::clone(&machine.isst);
        machine.isst = Arc::new(Traced { isst, calls: calls.clone() });
        calls
    }

    /// The lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A device of which every call is told.
struct Traced {
    isst: Arc<dyn Isst>,
    calls: Calls,
}

impl Isst for Traced {
    fn open(&self) -> Reading<Box<dyn IsstDevice + '_>> {
        let device = self.isst.open()?;
        Ok(Box::new(Told { device, calls: &self.calls }))
    }
}

/// What the ioctls are called, by their numbers.
///
/// # Source
/// Linux, include/uapi/linux/isst_if.h.
const NAMES: [&str; 18] = [
    "platform",
    "places",
    "mmio",
    "mailbox",
    "msr",
    "instances",
    "core-power",
    "class",
    "associations",
    "levels",
    "set-level",
    "set-feature",
    "level",
    "level-cores",
    "base-freq",
    "base-freq-cores",
    "turbo-freq",
    "fabrics",
];

/// The same, open.
struct Told<'a> {
    device: Box<dyn IsstDevice + 'a>,
    calls: &'a Calls,
}

impl IsstDevice for Told<'_> {
    fn call(&self, message: &mut Message) -> Result<u32, Refusal> {
        let answer = self.device.call(message);
        let request = message.request();
        let name = NAMES.get(usize::from(request.number)).copied().unwrap_or("?");
        let came = match &answer {
            Ok(count) => format!("= {count}"),
            Err(Refusal::Errno(code)) => {
                let error = std::io::Error::from_raw_os_error(*code);
                format!("= -1 {}", sys::errno::name(&error))
            }
            Err(Refusal::Unavailable(reason)) => format!("= {}", reason.why),
        };
        let argument = &*message.argument();
        let mut lines = Vec::new();
        if request.entry_bytes == 0 {
            lines.push(format!("{name} [{}] {came}", hex(argument)));
        } else {
            let entries = argument[request.header_bytes..].chunks_exact(request.entry_bytes);
            lines.push(format!("{name} of {} {came}", entries.len()));
            lines.extend(entries.map(|entry| format!("  {}", entry_text(request.number, entry))));
        }
        self.calls.0.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
        answer
    }
}

/// An entry: what is asked, and what was answered.
fn entry_text(number: u8, entry: &[u8]) -> String {
    let word = |at: usize| {
        let bytes = entry.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    };
    match number {
        1 => format!("CPU {}: {:#x}", word(0), word(4)),
        2 => format!("CPU {} register {:#x}: {:#010x}", word(4), word(8), word(12)),
        3 => {
            let (command, sub) = (word(16) & 0xffff, word(16) >> 16);
            let selector = word(4) | word(8);
            format!("CPU {} {command:02x}/{sub:02x} ({selector:x}h): {:#010x}", word(0), word(12))
        }
        4 => format!("CPU {} {:#x}: {:#010x}{:08x}", word(4), word(8), word(20), word(16)),
        _ => hex(entry),
    }
}

/// Bytes, trailing zeros left out.
fn hex(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let digits: Vec<String> = bytes[..end].iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}
