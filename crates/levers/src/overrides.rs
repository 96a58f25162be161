//! Who else decides about a setting: firmware, hardware, a driver's mode, a hypervisor, another program.
//! Asked where a value was not kept or is not obeyed, so that the answer names the layer with its
//! evidence. What leaves no trace on the machine is not guessed at.

use machine::isst::settable::{Address, Settable, What, features_text};
use machine::{Machine, pm_qos};
use model::CpuId;

use crate::object::Object;
use crate::rows::{Lever, PERFORMANCE};
use crate::unlimited::{allows_turbo, turbo_setting};

/// Somebody who may overrule settings.
#[derive(Debug)]
pub struct Decider {
    /// What it is called.
    pub id: &'static str,
    /// The levers that he may overrule.
    pub over: &'static [&'static str],
    /// How it is seen that he does, in words; none: he does not, or nobody can tell.
    evidence: fn(&Case<'_>) -> Option<String>,
}

/// What was to be set.
struct Case<'a> {
    machine: &'a Machine,
    object: &'a Object,
    wanted: &'a str,
}

/// All of them, the one with the clearest evidence first.
///
/// # Source
/// Intel SDM volume 4: `IA32_MISC_ENABLE` (1A0H) bit 38, `IA32_PM_ENABLE` (770H) bit 0,
/// `MSR_UNCORE_RATIO_LIMIT` (620H), whose ratios are multiples of 100 MHz. Linux,
/// Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate,intel_uncore_frequency_scaling}.rst,
/// Documentation/power/pm_qos_interface.rst.
pub static DECIDERS: &[Decider] = &[
    Decider { id: "kernel: SMT", over: &["online"], evidence: smt_is_off },
    Decider { id: "firmware: turbo", over: &["no_turbo", "boost"], evidence: turbo_is_locked },
    Decider { id: "firmware: clock", over: &["min_freq", "max_freq"], evidence: firmware_limit },
    Decider { id: "hardware: clock", over: &["min_freq", "max_freq"], evidence: core_range },
    Decider { id: "no_turbo", over: &["min_freq", "max_freq"], evidence: turbo_is_off },
    Decider { id: "hardware: uncore", over: &["uncore_min", "uncore_max"], evidence: uncore_range },
    Decider {
        id: "hardware: steps of the uncore",
        over: &["uncore_min", "uncore_max"],
        evidence: uncore_steps,
    },
    Decider {
        id: "firmware: Speed Select",
        over: &["sst.level", "sst.features", "sst.core-power", "sst.priorities"],
        evidence: speed_select,
    },
    Decider { id: "governor", over: &["epp"], evidence: performance_governor },
    Decider { id: "other programs", over: &["cpu_dma_latency"], evidence: stricter_request },
    Decider {
        id: "processor: HWP",
        over: &["governor", "epp", "epb", "no_turbo", "boost", "min_freq", "max_freq"],
        evidence: hwp,
    },
    Decider {
        id: "driver: mode",
        over: &["governor", "epp", "boost", "min_freq", "max_freq"],
        evidence: mode,
    },
    Decider {
        id: "hypervisor",
        over: &[
            "governor",
            "epp",
            "epb",
            "no_turbo",
            "boost",
            "min_freq",
            "max_freq",
            "platform_profile",
            "uncore_min",
            "uncore_max",
            "resume_latency",
            "cpu_dma_latency",
            "idle.STATE",
        ],
        evidence: hypervisor,
    },
];

/// Who else decides about an object that was to hold this, in words.
pub fn of(machine: &Machine, object: &Object, wanted: &str) -> Vec<String> {
    let Some(lever) = Lever::of(object) else { return Vec::new() };
    let case = Case { machine, object, wanted };
    let over = DECIDERS.iter().filter(|decider| decider.over.contains(&lever.id));
    over.filter_map(|decider| (decider.evidence)(&case)).collect()
}

impl Case<'_> {
    /// The text of a file beside that of the setting, and its path.
    fn beside(&self, name: &str) -> Option<(String, String)> {
        let Object::File(path) = self.object else { return None };
        let (folder, _) = path.rsplit_once('/')?;
        let path = format!("{folder}/{name}");
        Some((self.read(&path)?, path))
    }

    fn read(&self, path: &str) -> Option<String> {
        Some(self.machine.tree.read(path).ok()?.trim().to_owned())
    }

    /// The CPU that the setting is of, or the first one.
    fn cpu(&self) -> CpuId {
        let of_path = |path: &str| {
            let (_, rest) = path.split_once("/cpu/cpu")?;
            rest.split('/').next()?.parse().ok().map(CpuId)
        };
        match self.object {
            Object::Bit { cpu, .. } => *cpu,
            Object::File(path) => of_path(path).unwrap_or(CpuId(0)),
            Object::SpeedSelect(_) | Object::Request(_) => CpuId(0),
        }
    }

    fn register(&self, register: u32) -> Option<u64> {
        self.machine.msr.read(self.cpu(), register).ok()
    }

    /// That what was wanted, in kHz, is above one file beside it, or below another one.
    fn beyond(&self, least: &str, most: &str, who: &str) -> Option<String> {
        let wanted: u64 = self.wanted.parse().ok()?;
        let gigahertz = |khz: u64| khz as f64 / 1e6;
        let above = self.beside(most).and_then(|(text, path)| {
            let khz: u64 = text.parse().ok()?;
            (khz < wanted).then(|| format!("{who} goes up to {:.3} GHz (`{path}`)", gigahertz(khz)))
        });
        above.or_else(|| {
            let (text, path) = self.beside(least)?;
            let khz: u64 = text.parse().ok()?;
            (khz > wanted)
                .then(|| format!("{who} goes down to {:.3} GHz (`{path}`)", gigahertz(khz)))
        })
    }
}

const SMT_CONTROL: &str = "/sys/devices/system/cpu/smt/control";

/// What brings second threads of cores on where SMT is off: the kernel refuses them one by one (EPERM).
///
/// # Source
/// Linux, kernel/cpu.c, `cpu_bootable`: under `notsupported` and `notimplemented` it refuses none.
fn brings_threads_on(machine: &Machine) -> Option<&'static str> {
    match machine.tree.read(SMT_CONTROL).ok()?.trim() {
        "off" => Some("`cpudyno set smt=on` switches them on"),
        "forceoff" => Some("only a boot without `nosmt=force` switches them on"),
        _ => None,
    }
}

/// That second threads of cores are off altogether, and what helps.
pub(crate) fn smt_off(machine: &Machine) -> Option<String> {
    let how = brings_threads_on(machine)?;
    Some(format!("SMT is off (`{SMT_CONTROL}`), so second threads of cores are off: {how}"))
}

fn smt_is_off(case: &Case<'_>) -> Option<String> {
    smt_off(case.machine).filter(|_| case.wanted == "1")
}

fn turbo_is_locked(case: &Case<'_>) -> Option<String> {
    const MISC_ENABLE: u32 = 0x1a0;
    const TURBO_OFF: u8 = 38;
    let Object::File(path) = case.object else { return None };
    let allows = case.wanted == if path.ends_with("no_turbo") { "0" } else { "1" };
    let vendor = crate::Drivers::of(case.machine);
    if !allows || !vendor.is("GenuineIntel") {
        return None;
    }
    (case.register(MISC_ENABLE)? >> TURBO_OFF & 1 == 1).then(|| {
        let cpu = case.cpu();
        format!("turbo is switched off by firmware or a driver (bit 38 of MSR 0x1a0 of CPU {cpu})")
    })
}

fn firmware_limit(case: &Case<'_>) -> Option<String> {
    let (text, path) = case.beside("bios_limit")?;
    let (limit, wanted): (u64, u64) = (text.parse().ok()?, case.wanted.parse().ok()?);
    (limit < wanted)
        .then(|| format!("firmware limits the clock to {:.3} GHz (`{path}`)", limit as f64 / 1e6))
}

fn performance_governor(case: &Case<'_>) -> Option<String> {
    let (governor, path) = case.beside("scaling_governor")?;
    (governor == PERFORMANCE && ![PERFORMANCE, "0"].contains(&case.wanted)).then(|| {
        format!(
            "the governor is `{governor}` (`{path}`), under which drivers accept no other \
             preference: set governor=powersave, too"
        )
    })
}

fn core_range(case: &Case<'_>) -> Option<String> {
    case.beyond("cpuinfo_min_freq", "cpuinfo_max_freq", "the clock of this core")
}

fn turbo_is_off(case: &Case<'_>) -> Option<String> {
    let (text, path) = case.beside("base_frequency").filter(|_| !allows_turbo(case.machine))?;
    let (base, wanted): (u64, u64) = (text.parse().ok()?, case.wanted.parse().ok()?);
    (base < wanted).then(|| {
        format!(
            "turbo is off, and without it the clock goes up to {:.3} GHz (`{path}`); `cpudyno set {}` allows more",
            base as f64 / 1e6,
            turbo_setting(case.machine, true)
        )
    })
}

fn uncore_range(case: &Case<'_>) -> Option<String> {
    case.beyond("initial_min_freq_khz", "initial_max_freq_khz", "the clock of this uncore")
}

/// What is said where nothing is known: it may also have given up waiting for firmware.
pub(crate) const SILENT: &str = "the driver of this generation gives no reason for a refusal";

/// The driver of the newer generation has one answer for whatever is refused.
fn speed_select(case: &Case<'_>) -> Option<String> {
    let Object::SpeedSelect(Settable { at, what }) = case.object else { return None };
    if *what == What::Features && case.wanted == features_text(true, true) {
        return Some("a processor may not support base-freq and turbo-freq at once".to_owned());
    }
    let Address::Domain(at) = at else {
        return (*what == What::Features)
            .then(|| "firmware decides which features a level has, alone and together".to_owned());
    };
    let device = case.machine.isst.open().ok()?;
    let locked = device.levels(*at).is_ok_and(|levels| levels.locked == 1);
    if locked && *what == What::Level {
        return Some("firmware has locked the level until the next reset".to_owned());
    }
    if case.register(PM_ENABLE).is_some_and(|value| value & 1 == 0) {
        return Some(
            "hardware P-states are off, and the driver changes nothing without them".to_owned(),
        );
    }
    Some(SILENT.to_owned())
}

/// What may have to come first: of two features that need not go together the one that is on goes off.
pub(crate) fn comes_first(
    machine: &Machine,
    object: &Object,
    wanted: &str,
) -> Option<&'static str> {
    let Object::SpeedSelect(Settable { what: What::Features, .. }) = object else { return None };
    if wanted != features_text(true, true) {
        return None;
    }
    match object.read(machine).ok()?.as_str() {
        on if on == features_text(true, false) => Some(
            "nothing was left changed; first `cpudyno sst base-freq disable`, with the same -c",
        ),
        on if on == features_text(false, true) => Some(
            "nothing was left changed; first `cpudyno sst turbo-freq disable`, with the same -c",
        ),
        _ => None,
    }
}

fn uncore_steps(case: &Case<'_>) -> Option<String> {
    const STEP_KHZ: u64 = 100_000;
    let wanted: u64 = case.wanted.parse().ok()?;
    (!wanted.is_multiple_of(STEP_KHZ))
        .then(|| "the register of the uncore counts in steps of 100 MHz".to_owned())
}

fn stricter_request(case: &Case<'_>) -> Option<String> {
    let wanted: u64 = case.wanted.parse().ok()?;
    let now = pm_qos::effective(case.machine).ok()?;
    (now < wanted)
        .then(|| format!("another program requests {now} us, and the strictest request applies"))
}

/// Bit 0: the processor chooses its clock itself.
const PM_ENABLE: u32 = 0x770;

fn hwp(case: &Case<'_>) -> Option<String> {
    // That turbo is off says it all.
    if case.machine.cpuid.leaf(6, 0)?.eax >> 7 & 1 == 0 || turbo_is_off(case).is_some() {
        return None;
    }
    (case.register(PM_ENABLE)? & 1 == 1).then(|| {
        let cpu = case.cpu();
        format!(
            "the processor chooses its clock itself, and the kernel's setting is only a hint (HWP \
             is on: bit 0 of MSR 0x770 of CPU {cpu})"
        )
    })
}

fn mode(case: &Case<'_>) -> Option<String> {
    let of = |driver: &str| {
        let path = format!("/sys/devices/system/cpu/{driver}/status");
        let mode = case.read(&path)?;
        (mode != "off").then(|| format!("the driver {driver} is in mode `{mode}` (`{path}`)"))
    };
    of("intel_pstate").or_else(|| of("amd_pstate"))
}

fn hypervisor(case: &Case<'_>) -> Option<String> {
    if case.machine.cpuid.leaf(1, 0).is_some_and(|leaf| leaf.ecx >> 31 & 1 == 1) {
        return Some(
            "a hypervisor is below this kernel and decides what reaches the hardware (CPUID leaf 1, \
             ECX bit 31)"
                .to_owned(),
        );
    }
    machine::facts::is_guest(case.machine).then(|| {
        "this is a guest, and the hypervisor decides what reaches the hardware (`cpudyno info` \
         names it)"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::SPEED_SELECT;

    #[test]
    fn whoever_overrules_overrules_levers_that_there_are() {
        for decider in DECIDERS {
            for id in decider.over {
                assert!(
                    Lever::all().chain(SPEED_SELECT).any(|lever| lever.id == *id),
                    "{}: {id}",
                    decider.id
                );
            }
        }
    }
}
