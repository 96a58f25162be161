//! Limits of the clock: what is read is what they come to, not what was asked for.
//!
//! The kernel keeps the wish, and shows what hardware and other wishes leave of it. So a limit that is as
//! high as the hardware goes says nothing of a number that somebody chose: it is put back open, or that
//! number would hold once turbo is on again, or another level has a higher one.

use machine::Machine;

use crate::object::Object;

/// A highest clock that limits nothing, in kHz: the kernel's own value where nobody asked for any.
///
/// # Source
/// Linux, include/linux/pm_qos.h: `FREQ_QOS_MAX_DEFAULT_VALUE`.
pub const OPEN_KHZ: &str = "2147483647";

/// Whether clocks above the base frequency are allowed; a driver that says nothing of it does not
/// forbid them.
pub fn allows_turbo(machine: &Machine) -> bool {
    let says =
        |path: &str, text: &str| machine.tree.read(path).is_ok_and(|found| found.trim() == text);
    !says("/sys/devices/system/cpu/intel_pstate/no_turbo", "1")
        && !says("/sys/devices/system/cpu/cpufreq/boost", "0")
}

/// Whether this, in kHz, is as high as the clock of that CPU goes at present: nobody limits it, as far
/// as can be seen.
pub fn is_open(machine: &Machine, object: &Object, text: &str) -> bool {
    let Object::File(path) = object else { return false };
    let Some(folder) = path.strip_suffix("scaling_max_freq") else { return false };
    let beside = |file: &str| -> Option<u64> {
        machine.tree.read(&format!("{folder}{file}")).ok()?.trim().parse().ok()
    };
    let most = beside("cpuinfo_max_freq");
    let base = beside("base_frequency").filter(|_| !allows_turbo(machine));
    let (Some(most), Ok(khz)) = (base.or(most), text.parse::<u64>()) else { return false };
    khz >= most
}

/// Whether a limit that was to go from one value to another one, in kHz, went part of the way. Without
/// turbo an open one shows the base frequency, and some kernels only once another limit moves.
pub(crate) fn is_taken(machine: &Machine, former: &str, found: &str, wanted: &str) -> bool {
    let khz = |text: &str| text.parse::<u64>();
    let (Ok(from), Ok(now), Ok(to)) = (khz(former), khz(found), khz(wanted)) else { return false };
    let is_nearer = from < now && now <= to || to <= now && now < from;
    is_nearer || wanted == OPEN_KHZ && now == from && !allows_turbo(machine)
}
