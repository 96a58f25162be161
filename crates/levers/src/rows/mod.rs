//! All levers: one row each.

mod cpus;
mod frequency;
mod idle;
mod kernel;
mod prefetchers;
pub(crate) mod speed_select;
mod uncore;

use machine::isst::settable::What;
use model::name::did_you_mean;
use model::{Obstacle, Unavailable};

use crate::drivers::Drivers;
use crate::object::Object;

/// A setting of the machine that can be changed and put back.
#[derive(Debug)]
pub struct Lever {
    /// What users call it. `idle.STATE` stands for one name for each idle state.
    pub id: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// What there is one of.
    pub scope: Scope,
    /// Where it is.
    pub place: LeverPlace,
    /// What it may be set to.
    pub values: Values,
    /// Who honours it here, in words; none: nothing stands in its way.
    pub rule: fn(&Drivers) -> Option<String>,
    /// Files that a write changes, too: put back after it, in this order. A gap that the lever itself
    /// does not fill stands for each of what there is.
    pub followers: &'static [&'static str],
    /// How it is shown that the machine obeys.
    pub proof: Proof,
    /// What a write does that cannot be undone.
    pub loses: Option<Loss>,
    /// Whether it moves power, so that what it does goes on with the heat that it made or spared.
    pub moves_power: bool,
}

/// What a lever has one of. A path may hold the gaps `{cpu}`, `{state}`, `{die}`; one of what follows
/// also `{node}`, `{huge}` (the default size of huge pages, in KiB), `{governor}` (the one that is set)
/// and `{tunable}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One for the machine.
    Machine,
    /// One for each CPU.
    Cpu,
    /// One for each group of CPUs whose frequency is set together.
    Policy,
    /// One for each idle state of each CPU.
    IdleState,
    /// One for each die with a clock of its own outside the cores.
    UncoreDie,
    /// One or more for each power domain of Speed Select; those have commands of their own.
    PowerDomain,
}

/// Where a lever is.
#[derive(Debug, Clone, Copy)]
pub enum LeverPlace {
    /// The file of the kernel.
    File(&'static str),
    /// The device that is asked, and that forgets when it is closed.
    Request(&'static str),
    /// What firmware of Speed Select holds.
    SpeedSelect(fn(What) -> bool),
    /// A bit of a register, on the CPUs that are known to have it.
    Bit {
        /// The register.
        register: u32,
        /// The bit.
        bit: u8,
        /// Whether this CPU has it: registers of others mean something else.
        known: fn(&Drivers) -> bool,
        /// Which CPUs those are, in words.
        cpus: &'static str,
    },
}

/// What a lever may be set to.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// The words that another file lists; where it does not exist, any word.
    Listed(&'static str),
    /// The words that another file lists, or a number up to this.
    ListedOr(&'static str, u64),
    /// The words that the file itself lists, the one that is set in brackets.
    Bracketed,
    /// These words.
    Words(&'static [&'static str]),
    /// On and off, with the texts that are written.
    Switch {
        /// On.
        on: &'static str,
        /// Off.
        off: &'static str,
    },
    /// A frequency, written in kHz.
    Kilohertz,
    /// A text like that which is read.
    AsRead,
    /// A whole number.
    Number {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
        /// Its unit, where it has one.
        unit: &'static str,
    },
    /// A whole number, or a word for what is no number.
    NumberOr {
        /// The word, as it is typed.
        word: &'static str,
        /// The word, as it is written.
        text: &'static str,
        /// The greatest number; the least is 0.
        max: u64,
        /// Its unit.
        unit: &'static str,
    },
}

/// Which measurement must change when a lever is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The clock of one core under load, by the chain.
    Clock,
    /// How long a core takes from rest to its clock.
    Ramp,
    /// How often CPUs enter the idle states that it forbids.
    IdleStates,
    /// How many huge pages back memory that was just touched.
    HugePages,
    /// The latency of the last cache, at a fixed core clock.
    CacheLatency,
    /// How long a chase with a constant stride takes.
    Stride,
    /// Whether a thread can be pinned to it.
    Pinning,
    /// None is known, and why.
    Unobservable(&'static str),
}

impl Proof {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Proof::Clock => "clock of one core under load",
            Proof::Ramp => "time from rest to the clock",
            Proof::IdleStates => "entries of idle states",
            Proof::HugePages => "huge pages behind memory",
            Proof::CacheLatency => "latency of the last cache",
            Proof::Stride => "chase with a constant stride",
            Proof::Pinning => "a pinned thread",
            Proof::Unobservable(why) => why,
        }
    }
}

/// What a write does that cannot be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The kernel is marked as tainted until it starts again.
    Taint,
    /// Threads and interrupts that are bound to the CPU are moved for good.
    Bindings,
    /// Firmware keeps it, and nobody promises that it forgets it at the next start.
    Firmware,
}

/// The governor that is the highest clock.
pub(crate) const PERFORMANCE: &str = "performance";

/// Nothing stands in its way.
fn honoured(_: &Drivers) -> Option<String> {
    None
}

/// All levers, in the order in which they are shown.
pub static LEVERS: &[&[Lever]] = &[
    frequency::LEVERS,
    uncore::LEVERS,
    idle::LEVERS,
    kernel::LEVERS,
    cpus::LEVERS,
    prefetchers::LEVERS,
];

/// What the commands of `cpudyno sst` change, beside some of those: they are planned, journaled and put back
/// like all others, and have no name by which users ask for them.
pub static SPEED_SELECT: &[Lever] = speed_select::LEVERS;

impl Lever {
    /// All that users ask for by name.
    pub fn all() -> impl Iterator<Item = &'static Lever> {
        LEVERS.iter().copied().flatten()
    }

    /// The one that an object belongs to.
    pub fn of(object: &Object) -> Option<&'static Lever> {
        Lever::all().chain(SPEED_SELECT).find(|lever| lever.is_at(object))
    }

    /// The lever of that name, and the idle state that the name has in the place of `STATE`.
    pub fn find(name: &str) -> Option<(&'static Lever, Option<&str>)> {
        Lever::all().find_map(|lever| match lever.id.strip_suffix("STATE") {
            Some(stem) => {
                let state = name.strip_prefix(stem).filter(|state| !state.is_empty())?;
                Some((lever, Some(state)))
            }
            None => (lever.id == name).then_some((lever, None)),
        })
    }

    /// The one of the same name that each group of CPUs has for itself, beside one for all.
    pub(crate) fn of_groups(&self) -> Option<&'static Lever> {
        Lever::all().find(|other| other.id == self.id && other.scope == Scope::Policy)
    }

    /// The file that lists the words that it takes.
    pub(crate) fn list(&self) -> Option<&'static str> {
        match self.values {
            Values::Listed(path) | Values::ListedOr(path, _) => Some(path),
            _ => None,
        }
    }

    /// A value in the words in which it is set.
    pub(crate) fn in_words(&self, raw: &str) -> String {
        match self.values {
            Values::Switch { on, .. } if raw == on => "on".to_owned(),
            Values::Switch { off, .. } if raw == off => "off".to_owned(),
            Values::Kilohertz => match raw.parse::<f64>() {
                Ok(khz) => format!("{}MHz", khz / 1e3),
                Err(_) => raw.to_owned(),
            },
            Values::NumberOr { word, text, .. } if raw == text => word.to_owned(),
            Values::Number { unit, .. } | Values::NumberOr { unit, .. }
                if raw.parse::<u64>().is_ok() =>
            {
                format!("{raw}{unit}")
            }
            _ => raw.to_owned(),
        }
    }

    /// Whether an object is where it is.
    pub fn is_at(&self, object: &Object) -> bool {
        match (self.place, object) {
            (LeverPlace::Bit { register, bit, .. }, Object::Bit { register: r, bit: b, .. }) => {
                (register, bit) == (*r, *b)
            }
            (LeverPlace::File(form), Object::File(path)) => fits(form, path),
            (LeverPlace::Request(device), Object::Request(path)) => device == path,
            (LeverPlace::SpeedSelect(is), Object::SpeedSelect(settable)) => is(settable.what),
            _ => false,
        }
    }

    /// Why there is none, where the driver has something in its place.
    pub(crate) fn missing(&self, drivers: &Drivers, reason: Unavailable) -> Unavailable {
        let rule = (self.rule)(drivers).filter(|_| reason.obstacle != Obstacle::Permission);
        match rule {
            Some(rule) if reason.remedy.is_none() => reason.with_remedy(rule),
            _ => reason,
        }
    }

    /// Why this CPU is not known to have it, where it is not.
    pub(crate) fn unknown_here(&self, drivers: &Drivers) -> Option<String> {
        match self.place {
            LeverPlace::Bit { known, cpus, .. } if !known(drivers) => {
                let not_it = match drivers.vendor {
                    Some(_) => "this CPU is none of them",
                    None => "whether this CPU is one of them is unknown without CPUID",
                };
                Some(format!("cpudyno knows the bit only on {cpus}, and {not_it}"))
            }
            LeverPlace::Bit { .. }
            | LeverPlace::File(_)
            | LeverPlace::Request(_)
            | LeverPlace::SpeedSelect(_) => None,
        }
    }

    /// Why it cannot be moved from this value, where it cannot: the kernel has words for "never".
    pub(crate) fn stuck_at(&self, value: &str) -> Option<String> {
        let moves = self.id != "smt" || matches!(value, "on" | "off");
        (!moves).then(|| format!("the kernel says `{value}`"))
    }

    /// The name most like what was typed.
    pub fn near(typed: &str) -> Option<&'static str> {
        did_you_mean(typed, Lever::all().map(|lever| lever.id))
    }
}

/// Whether it is what a lever writes to, or what follows it, and a journal can know of it.
pub(crate) fn knows(object: &Object) -> bool {
    if let Object::SpeedSelect(settable) = object {
        return settable.is_sound();
    }
    let follows = |lever: &Lever| match object {
        Object::File(path) => lever.followers.iter().any(|form| fits(form, path)),
        Object::SpeedSelect(_) | Object::Bit { .. } | Object::Request(_) => false,
    };
    !object.is_held() && Lever::all().any(|lever| lever.is_at(object) || follows(lever))
}

/// Whether a path has this form. A gap stands for digits, or for a name, within one part of it.
fn fits(form: &str, path: &str) -> bool {
    let Some((before, rest)) = form.split_once('{') else { return form == path };
    let Some((gap, after)) = rest.split_once('}') else { return false };
    let Some(path) = path.strip_prefix(before) else { return false };
    let fills = |byte: &u8| match gap {
        "cpu" | "state" | "node" | "huge" => byte.is_ascii_digit(),
        _ => byte.is_ascii_alphanumeric() || *byte == b'_',
    };
    let length = path.bytes().take_while(|byte| fills(byte)).count();
    length > 0 && fits(after, &path[length..])
}

#[cfg(test)]
mod tests {
    use machine::isst::settable::{Address, Die, Settable};
    use model::CpuId;

    use super::*;

    #[test]
    fn only_what_levers_are_for_is_known() {
        let cpu = "/sys/devices/system/cpu";
        for (path, known) in [
            (format!("{cpu}/cpu12/cpufreq/scaling_governor"), true),
            (format!("{cpu}/cpu1/cpuidle/state3/disable"), true),
            (format!("{cpu}/intel_uncore_frequency/package_00_die_01/max_freq_khz"), true),
            (format!("{cpu}/cpu0/cpufreq/schedutil/rate_limit_us"), true),
            ("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages".into(), true),
            (format!("{cpu}/cpu/cpufreq/scaling_governor"), false),
            (format!("{cpu}/cpu1/../cpufreq/scaling_governor"), false),
            (format!("{cpu}/intel_uncore_frequency/../../max_freq_khz"), false),
            (format!("{cpu}/cpu12/cpufreq/scaling_governor2"), false),
            ("/proc/sys/kernel/core_pattern".into(), false),
            ("/etc/shadow".into(), false),
        ] {
            assert_eq!(knows(&Object::File(path.clone())), known, "{path}");
        }
        let bit = |register, bit| Object::Bit { cpu: CpuId(3), register, bit };
        assert!(knows(&bit(0x1a4, 3)) && knows(&bit(0xc000_0108, 5)));
        assert!(!knows(&bit(0x1a4, 5)) && !knows(&bit(0x1a0, 0)));
        let at = Address::Registers(Die { package: 0, die: None });
        let firmware = |what| Object::SpeedSelect(Settable { at, what });
        assert!(knows(&firmware(What::Level)) && knows(&firmware(What::Core(63))));
        assert!(!knows(&firmware(What::Class(4))) && !knows(&firmware(What::Core(64))));
    }

    #[test]
    fn each_value_of_firmware_has_one_row() {
        let at = Address::Registers(Die { package: 0, die: None });
        for what in [
            What::Level,
            What::Features,
            What::CorePower,
            What::Priorities,
            What::Class(2),
            What::Core(7),
            What::TurboLimits,
        ] {
            let object = Object::SpeedSelect(Settable { at, what });
            let rows = SPEED_SELECT.iter().filter(|lever| lever.is_at(&object));
            assert_eq!(rows.count(), 1, "{object}");
            assert!(Lever::of(&object).is_some_and(|lever| lever.id.starts_with("sst.")));
        }
    }
}
