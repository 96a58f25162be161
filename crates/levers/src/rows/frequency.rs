//! The clock of the cores.
//!
//! # Source
//! Linux, Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate,intel_epb}.rst,
//! Documentation/ABI/testing/sysfs-platform_profile, Documentation/userspace-api/sysfs-platform_profile.rst.

use super::{Lever, LeverPlace, Loss, PERFORMANCE, Proof, Scope, Values, honoured};
use crate::drivers::Drivers;

const EPP: &str = "/sys/devices/system/cpu/cpu{cpu}/cpufreq/energy_performance_preference";

/// Leaving a governor forgets how it was tuned, for one policy or for all, and the clock that was set by
/// hand.
const TUNED: &[&str] = &[
    EPP,
    "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_setspeed",
    "/sys/devices/system/cpu/cpu{cpu}/cpufreq/{governor}/{tunable}",
    "/sys/devices/system/cpu/cpufreq/{governor}/{tunable}",
];

pub(super) static LEVERS: &[Lever] = &[
    Lever {
        id: "governor",
        doc: "Which algorithm chooses the clock.",
        scope: Scope::Policy,
        place: LeverPlace::File("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"),
        values: Values::Listed(
            "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_available_governors",
        ),
        rule: governor,
        followers: TUNED,
        proof: Proof::Ramp,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "epp",
        doc: "Energy performance preference: what the processor prefers when it chooses the clock itself.",
        scope: Scope::Policy,
        place: LeverPlace::File(EPP),
        values: Values::ListedOr(
            "/sys/devices/system/cpu/cpu{cpu}/cpufreq/energy_performance_available_preferences",
            255,
        ),
        rule: epp,
        followers: &[],
        proof: Proof::Ramp,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "epb",
        doc: "Energy performance bias, from 0 (performance) to 15 (energy).",
        scope: Scope::Cpu,
        place: LeverPlace::File("/sys/devices/system/cpu/cpu{cpu}/power/energy_perf_bias"),
        values: Values::Number { min: 0, max: 15, unit: "" },
        rule: honoured,
        followers: &[],
        proof: Proof::Ramp,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "no_turbo",
        doc: "Forbids intel_pstate clocks above the base frequency.",
        scope: Scope::Machine,
        place: LeverPlace::File("/sys/devices/system/cpu/intel_pstate/no_turbo"),
        values: Values::Switch { on: "1", off: "0" },
        rule: honoured,
        // Without turbo the least share of the clock is cut to what is left.
        followers: &["/sys/devices/system/cpu/intel_pstate/min_perf_pct"],
        proof: Proof::Clock,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "boost",
        doc: "Allows clocks above the nominal frequency.",
        scope: Scope::Machine,
        place: LeverPlace::File("/sys/devices/system/cpu/cpufreq/boost"),
        values: Values::Switch { on: "1", off: "0" },
        rule: boost,
        // Drivers with tables of frequencies write the limits anew, and those that can switch it for each
        // policy do so.
        followers: &[
            "/sys/devices/system/cpu/cpu{cpu}/cpufreq/boost",
            "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq",
        ],
        proof: Proof::Clock,
        loses: None,
        moves_power: true,
    },
    // The same of some CPUs: after that of all, which writes to each of them.
    Lever {
        id: "boost",
        doc: "Allows clocks above the nominal frequency.",
        scope: Scope::Policy,
        place: LeverPlace::File("/sys/devices/system/cpu/cpu{cpu}/cpufreq/boost"),
        values: Values::Switch { on: "1", off: "0" },
        rule: honoured,
        followers: &["/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq"],
        proof: Proof::Clock,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "min_freq",
        doc: "The lowest clock that the governor may choose.",
        scope: Scope::Policy,
        place: LeverPlace::File("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_min_freq"),
        values: Values::Kilohertz,
        rule: honoured,
        followers: &[],
        proof: Proof::Ramp,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "max_freq",
        doc: "The highest clock that the governor may choose.",
        scope: Scope::Policy,
        place: LeverPlace::File("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq"),
        values: Values::Kilohertz,
        rule: honoured,
        followers: &[],
        proof: Proof::Clock,
        loses: None,
        moves_power: true,
    },
    Lever {
        id: "platform_profile",
        doc: "What the firmware prefers: quiet, balance, performance.",
        scope: Scope::Machine,
        place: LeverPlace::File("/sys/firmware/acpi/platform_profile"),
        values: Values::Listed("/sys/firmware/acpi/platform_profile_choices"),
        rule: honoured,
        followers: &[],
        proof: Proof::Clock,
        loses: Some(Loss::Firmware),
        moves_power: true,
    },
];

fn governor(drivers: &Drivers) -> Option<String> {
    match drivers.cpufreq.as_deref()? {
        driver @ ("intel_pstate" | "amd-pstate-epp") => Some(format!(
            "{driver} has governors of its own: `performance` also makes the preference (epp) \
             performance, `powersave` leaves the clock to the processor"
        )),
        _ => None,
    }
}

/// # Source
/// Linux, drivers/cpufreq/{intel_pstate,amd-pstate}.c: `store_energy_performance_preference`; in passive
/// mode the governor is another one's.
fn epp(drivers: &Drivers) -> Option<String> {
    let is_active = matches!(drivers.cpufreq.as_deref()?, "intel_pstate" | "amd-pstate-epp");
    (is_active && drivers.governor.as_deref() == Some(PERFORMANCE)).then(|| {
        "under governor `performance` the driver answers EBUSY to every preference but `performance`: \
         set another governor with it, such as governor=powersave"
            .to_owned()
    })
}

/// `intel_cpufreq` is what that driver calls itself in passive mode.
fn boost(drivers: &Drivers) -> Option<String> {
    matches!(drivers.cpufreq.as_deref()?, "intel_pstate" | "intel_cpufreq")
        .then(|| "intel_pstate ignores `boost`: write `no_turbo`".to_owned())
}
