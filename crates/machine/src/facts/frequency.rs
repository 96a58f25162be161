//! Frequencies as the machine claims them; measuring them is elsewhere.

use model::{Obstacle, Unavailable, Unit};

use super::platform::{is_guest, not_offered};
use super::topology::first_cpu;
use crate::ports::{Machine, Reading};
use crate::rows::{Row, number, row};
use crate::text::first_number;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cpu.base_frequency", "Base frequency, as claimed", |s| Ok(number(base(s)?, Unit::Hertz))),
    row("cpu.max_frequency", "Highest frequency, as claimed", |s| Ok(number(max(s)?, Unit::Hertz))),
];

/// Claimed by cpufreq, else by CPUID 16h.
///
/// # Unit
/// Hertz.
///
/// # Source
/// `base_frequency` of intel_pstate; Intel SDM volume 2A, CPUID 16h EAX: whole megahertz.
fn base(machine: &Machine) -> Reading<f64> {
    claimed(machine, "base_frequency", |leaf| leaf.eax)
}

/// Claimed by cpufreq, else by CPUID 16h.
///
/// # Unit
/// Hertz.
///
/// # Source
/// `cpuinfo_max_freq` of cpufreq; Intel SDM volume 2A, CPUID 16h EBX: whole megahertz.
fn max(machine: &Machine) -> Reading<f64> {
    claimed(machine, "cpuinfo_max_freq", |leaf| leaf.ebx)
}

fn claimed(machine: &Machine, file: &str, register: fn(sys::cpuid::Leaf) -> u32) -> Reading<f64> {
    let kilohertz =
        cpufreq(machine, first_cpu(machine)?, file).and_then(|text| first_number(file, &text));
    kilohertz.map(|kilohertz| kilohertz * 1e3).or_else(|reason| {
        // The upper halves are reserved.
        let megahertz = machine.cpuid.leaf(0x16, 0).map_or(0, |leaf| register(leaf) & 0xffff);
        if megahertz == 0 { Err(reason) } else { Ok(f64::from(megahertz) * 1e6) }
    })
}

/// A file of one CPU's cpufreq folder.
pub(crate) fn cpufreq(machine: &Machine, cpu: model::CpuId, file: &str) -> Reading<String> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
    machine.tree.read(&format!("{folder}/{file}")).map_err(|error| {
        if error.obstacle == Obstacle::Permission {
            return error;
        }
        if machine.tree.list(&folder).is_ok() {
            let why = format!("the cpufreq driver here has no `{file}`");
            return not_offered(&why, &folder);
        }
        no_cpufreq(machine)
    })
}

pub(crate) fn no_cpufreq(machine: &Machine) -> Unavailable {
    if is_guest(machine) {
        let why = "the kernel offers no cpufreq here; usual in guests";
        Unavailable::new(Obstacle::Permission, "cpufreq", why)
            .with_remedy("read it on the host, or measure on bare metal")
    } else {
        let why = "the kernel offers no cpufreq here: no driver is loaded";
        Unavailable::new(Obstacle::Permission, "cpufreq", why)
            .with_remedy("load the driver of this CPU, such as `modprobe acpi-cpufreq` as root")
    }
}
