//! Codes whose event is 0: of Intel's CPUs they mean the counters that count one thing each, and nothing else.

use super::cpu::Maker;
use super::table::{EventRow, Table};
use super::target::CoreTypePmu;

/// The counter of the slots, of which there are shares.
const SLOTS: u32 = 3;

/// Why a code whose event is 0 counts nothing on these cores, or another event than that of its name. A
/// general counter with such a code counts nothing, and the kernel says no word.
///
/// # Source
/// Linux `arch/x86/events/intel/core.c` and `perf_event.h`: event 0 stands for fixed counters by their
/// number and 1 in the unit mask, and with unit masks from 80h to 87h for shares of the slots.
pub(super) fn refused(core: &CoreTypePmu, name: Option<&str>, code: u64) -> Option<String> {
    let (event, umask) = (code & 0xff, code >> 8 & 0xff);
    if core.maker() != Maker::Intel || event != 0 {
        return None;
    }
    let lacks = |number: u32| core.has_fixed(number) == Some(false);
    let number = match umask {
        0x80..=0x87 if !lacks(SLOTS) => return None,
        1.. => umask as u32 - 1,
        0 => u32::MAX,
    };
    let row = Table::builtin().fixed.events.get(number as usize).filter(|_| !lacks(number));
    let Some(row) = row else {
        return Some(format!(
            "event 0 means only fixed counters, and these cores have none of unit mask {umask:#x}"
        ));
    };
    let is_its = name.is_none_or(|name| calls(row, name));
    (!is_its).then(|| format!("its code {:#x} is that of `{}`", code & 0xffff, row.name))
}

fn calls(row: &EventRow, name: &str) -> bool {
    row.name == name || row.also.iter().any(|also| also == name)
}
