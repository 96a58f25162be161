//! Limits of the clock: what is read is what they come to, not what was asked for.
//!
//! The kernel keeps the wish, and shows what hardware and other wishes leave of it. So a limit that is as
//! high as the hardware goes says nothing of a number that somebody chose: it is put back open, or that
//! number would hold once turbo is on again, or another level has a higher one.

use machine::Machine;
use machine::isst::settable::{Settable, What};
use model::{CpuId, CpuSet};

use crate::drivers::online;
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
    !says(NO_TURBO, "1") && !says("/sys/devices/system/cpu/cpufreq/boost", "0")
}

/// The setting that switches turbo off, or on, on this machine.
pub(crate) fn turbo_setting(machine: &Machine, on: bool) -> &'static str {
    match (machine.tree.read(NO_TURBO).is_ok(), on) {
        (true, true) => "no_turbo=off",
        (true, false) => "no_turbo=on",
        (false, true) => "boost=on",
        (false, false) => "boost=off",
    }
}

const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";

/// Whether writing this allows turbo (true) or forbids it (false), and leaves the limits of the clock as they are;
/// none: it does neither.
pub(crate) fn turns_turbo(object: &Object, text: &str) -> Option<bool> {
    matches!(object, Object::File(path) if path == NO_TURBO).then(|| text != "1")
}

/// The limits of the clock that may show as something else once this is written, though nobody touches them: without
/// turbo, or at another base frequency, the kernel shows less of them, and nothing of those of a CPU that is off.
pub(crate) fn moved_by(machine: &Machine, object: &Object) -> Vec<Object> {
    let cpus = match object {
        Object::File(path) if path == NO_TURBO || path.ends_with("/smt/control") => online(machine),
        Object::File(path) => path
            .strip_suffix("/online")
            .and_then(|path| path.strip_prefix("/sys/devices/system/cpu/cpu")?.parse().ok())
            .map(|cpu| CpuSet::from_iter([CpuId(cpu)]))
            .unwrap_or_default(),
        Object::SpeedSelect(Settable { what: What::Level | What::Features, .. }) => online(machine),
        _ => CpuSet::default(),
    };
    let file = |cpu, file| Object::File(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"));
    cpus.iter().flat_map(|cpu| [MAX, MIN].map(|it| file(cpu, it))).collect()
}

/// Whether somebody set a limit that shows as this, as far as can be seen.
pub(crate) fn is_set(machine: &Machine, object: &Object, text: &str) -> bool {
    let Object::File(path) = object else { return false };
    match (path.strip_suffix(MIN), text.parse::<u64>()) {
        (Some(folder), Ok(khz)) => beside(machine, folder, LEAST).is_none_or(|least| khz > least),
        _ => !is_open(machine, object, text),
    }
}

const LEAST: &str = "cpuinfo_min_freq";
const MAX: &str = "scaling_max_freq";
const MIN: &str = "scaling_min_freq";

/// Whether it is a limit of the clock.
pub(crate) fn is_limit(object: &Object) -> bool {
    matches!(object, Object::File(path) if path.ends_with(MAX) || path.ends_with(MIN))
}

/// A number in kHz of a file beside the limits of a CPU.
fn beside(machine: &Machine, folder: &str, file: &str) -> Option<u64> {
    machine.tree.read(&format!("{folder}{file}")).ok()?.trim().parse().ok()
}

/// As high as the clock of a CPU goes at present, in kHz: without turbo its base frequency.
fn highest(machine: &Machine, folder: &str) -> Option<u64> {
    let base = || beside(machine, folder, "base_frequency").filter(|_| !allows_turbo(machine));
    base().or_else(|| beside(machine, folder, "cpuinfo_max_freq"))
}

/// Whether this, in kHz, is as high as the clock of that CPU goes at present: nobody limits it, as far
/// as can be seen.
pub fn is_open(machine: &Machine, object: &Object, text: &str) -> bool {
    let Object::File(path) = object else { return false };
    let Some(folder) = path.strip_suffix(MAX) else { return false };
    let (Some(most), Ok(khz)) = (highest(machine, folder), text.parse::<u64>()) else {
        return false;
    };
    khz >= most
}

/// What a limit that is asked for comes to at present, as it is read: within what the clock of that CPU
/// does, and the lowest one not above the highest one. None: it is no limit, or the kernel does not tell.
///
/// # Source
/// Linux, drivers/cpufreq/intel_pstate.c: `intel_pstate_verify_cpu_policy`.
pub fn comes_to(machine: &Machine, object: &Object, text: &str) -> Option<String> {
    let Object::File(path) = object else { return None };
    let (folder, most) = if let Some(folder) = path.strip_suffix(MAX) {
        (folder, highest(machine, folder)?)
    } else {
        let folder = path.strip_suffix(MIN)?;
        (folder, beside(machine, folder, MAX)?)
    };
    let least = beside(machine, folder, LEAST).unwrap_or(0);
    let khz: u64 = text.parse().ok()?;
    Some(khz.max(least).min(most).to_string())
}

/// What the kernel makes of a limit beyond what the clock of that CPU does at all, in kHz, and the file
/// that says so. None: it takes it as it is.
pub(crate) fn cut(
    machine: &Machine,
    object: &Object,
    text: &str,
) -> Option<(String, &'static str)> {
    const MOST: &str = "cpuinfo_max_freq";
    let Object::File(path) = object else { return None };
    let folder = path.strip_suffix(MAX).or_else(|| path.strip_suffix(MIN))?;
    let khz: u64 = text.parse().ok()?;
    let bound = |file: &'static str| Some((beside(machine, folder, file)?, file));
    let least = || bound(LEAST).filter(|(least, _)| khz < *least);
    // What is as high as can be asked for opens a limit.
    let most = || bound(MOST).filter(|(most, _)| khz > *most && text != OPEN_KHZ);
    let by_firmware = || {
        let listed = machine.tree.read(&format!("{folder}scaling_available_frequencies"));
        let steps = listed.unwrap_or_default();
        let last = steps.split_whitespace().filter_map(|khz| khz.parse::<u64>().ok()).max();
        let last = last.or_else(|| beside(machine, folder, MOST))?;
        // That of the last step limits nothing.
        bound("bios_limit").filter(|(limit, _)| *limit < last && khz > *limit && text != OPEN_KHZ)
    };
    by_firmware().or_else(most).or_else(least).map(|(khz, file)| (khz.to_string(), file))
}

/// The highest clock that is allowed on a CPU, in kHz.
pub(crate) fn highest_allowed(machine: &Machine, cpu: CpuId) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{MAX}");
    machine.tree.read(&path).ok().map(|khz| khz.trim().to_owned())
}

/// Whether a file that holds this was asked for that, in these or in other words.
pub(crate) fn is_wished(machine: &Machine, object: &Object, wish: &str, found: &str) -> bool {
    wish == found || comes_to(machine, object, wish).is_some_and(|text| text == found)
}
