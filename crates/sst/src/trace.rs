//! Every ioctl with its answers, for those who want to see what firmware was asked.

use model::Reading;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use machine::isst::{Message, Refusal};
use machine::{Isst, IsstDevice, Machine};

/// What was asked, a line each; clones share it. Who plans and reads back asks the same again and again: what is
/// answered as before is counted.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<CallLog>>);

#[derive(Debug, Default)]
struct CallLog {
    lines: Vec<String>,
    /// What was asked, and answered so, before.
    known: HashSet<Vec<String>>,
    repeated: u64,
}

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
        let asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let repeated = (asked.repeated > 0).then(|| {
            format!(
                "{} more ioctls asked the same once more, with the same answers",
                asked.repeated
            )
        });
        asked.lines.iter().cloned().chain(repeated).collect()
    }

    fn add(&self, lines: Vec<String>, is_set: bool) {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_set || asked.known.insert(lines.clone()) {
            asked.lines.extend(lines);
        } else {
            asked.repeated += 1;
        }
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
        Ok(Box::new(TracedDevice { device, calls: &self.calls }))
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
struct TracedDevice<'a> {
    device: Box<dyn IsstDevice + 'a>,
    calls: &'a Calls,
}

impl IsstDevice for TracedDevice<'_> {
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
        let is_set = sets(request.number, argument, request.header_bytes);
        let name = if is_set { format!("{name} is set") } else { name.to_owned() };
        let mut lines = Vec::new();
        if request.entry_bytes == 0 {
            lines.push(format!("{name} [{}] {came}", hex(argument)));
        } else {
            let entries = argument[request.header_bytes..].chunks_exact(request.entry_bytes);
            lines.push(format!("{name} of {} {came}", entries.len()));
            let texts: Vec<String> =
                entries.map(|entry| entry_text(request.number, entry)).collect();
            // Places of CPUs are short, and many.
            let together = if request.number == 1 { 6 } else { 1 };
            lines.extend(texts.chunks(together).map(|some| format!("  {}", some.join(", "))));
        }
        self.calls.add(lines, is_set);
        answer
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_le_bytes)
}

/// Whether an ioctl sets something, by its structure; of several, the first tells.
///
/// # Source
/// Linux, include/uapi/linux/isst_if.h; drivers/platform/x86/intel/speed_select_if/isst_if_common.c.
fn sets(number: u8, argument: &[u8], header: usize) -> bool {
    let entry = argument.get(header..).unwrap_or_default();
    match number {
        2 | 4 => word(entry, 0) == 1,
        3 => is_set_command(entry),
        6 | 7 => argument.first() == Some(&1),
        8 => argument.get(2) == Some(&1),
        10 | 11 => true,
        _ => false,
    }
}

/// Whether a command of the mailbox sets something: a feature, a level, the switch of core-power, and of classes
/// what has the bit for it.
fn is_set_command(entry: &[u8]) -> bool {
    const WRITE: u32 = 0x100;
    match (word(entry, 16) & 0xffff, word(entry, 16) >> 16) {
        (0x7f, 0x02 | 0x08) | (0x95, 0x03) => true,
        (0xd0, _) => word(entry, 4) & WRITE > 0,
        _ => false,
    }
}

/// An entry: what is asked, and what was answered.
fn entry_text(number: u8, entry: &[u8]) -> String {
    let word = |at: usize| word(entry, at);
    let verb = if word(0) == 1 { "writes" } else { "reads" };
    match number {
        1 => format!("CPU {}: {:#x}", word(0), word(4)),
        2 => format!("CPU {} {verb} register {:#x}: {:#010x}", word(4), word(8), word(12)),
        3 => {
            let (command, sub) = (word(16) & 0xffff, word(16) >> 16);
            if is_set_command(entry) {
                let at = if word(4) > 0 { format!(" ({:x}h)", word(4)) } else { String::new() };
                return format!(
                    "CPU {} sets {command:02x}/{sub:02x}{at} to {:#x}",
                    word(0),
                    word(8)
                );
            }
            let selector = word(4) | word(8);
            format!("CPU {} {command:02x}/{sub:02x} ({selector:x}h): {:#010x}", word(0), word(12))
        }
        4 => format!("CPU {} {verb} {:#x}: {:#010x}{:08x}", word(4), word(8), word(20), word(16)),
        _ => hex(entry),
    }
}

/// Bytes, trailing zeros left out.
fn hex(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let digits: Vec<String> = bytes[..end].iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}
