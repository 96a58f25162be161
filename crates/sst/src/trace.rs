//! Every ioctl with its answers, for those who want to see what firmware was asked.

use std::cell::RefCell;

use machine::IsstDevice;
use machine::isst::{Message, Refusal};

/// What was asked, a line each.
#[derive(Debug, Default)]
pub struct Calls(RefCell<Vec<String>>);

impl Calls {
    /// The lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.borrow().clone()
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

/// A device that tells what it is asked.
pub(crate) struct Told<'a> {
    device: &'a dyn IsstDevice,
    calls: &'a Calls,
}

impl<'a> Told<'a> {
    pub(crate) fn new(device: &'a dyn IsstDevice, calls: &'a Calls) -> Told<'a> {
        Told { device, calls }
    }
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
        self.calls.0.borrow_mut().extend(lines);
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
