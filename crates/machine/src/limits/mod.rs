//! What limits the clock, as registers and the kernel say it: power, temperature, current, PROCHOT.
//!
//! [`Reasons`] knows where to look, [`Looked`] is one look, [`Looked::and`] makes what two of them say
//! together. The tables of bits are in `reasons.rs`, the limits of power in `power.rs`, what is asked of the
//! hardware in `request.rs`. Nothing is written: logs that were set before stay set, and are no evidence of
//! what happened in between. What could not be read in both looks says nothing.

mod allowed;
mod boosted;
mod power;
mod reasons;
mod request;

use std::collections::{BTreeMap, BTreeSet};

use model::record::{
    AllowedClock, ClockRecord, CoreLevel, LimitReason, LimitState, LimitSwitch, PowerLimit,
};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use reasons::{Bit, Register, Switch, Whose};

use crate::facts::boost;
use crate::facts::fact_cache::Survey;
use crate::facts::{Maker, hidden_from_guest, identity};
use crate::ports::Machine;

/// A register of a CPU, or of the package that it is the first of.
type RegisterPlace = (u32, CpuId);

/// Where a machine has its registers of reasons: found once, so that a look between two jobs is short.
#[derive(Default, Clone)]
pub struct Reasons {
    registers: Vec<&'static Register>,
    switches: &'static [Switch],
    cpus: CpuSet,
    /// The first of these CPUs in the package of each.
    first: BTreeMap<CpuId, CpuId>,
    /// Why there are no such registers at all.
    absent: Option<Unavailable>,
}

/// What a reason did between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// Its log is clear on all CPUs: it did not hold.
    Clear,
    /// Its log came up, or it is in force at the second look.
    CameUp,
    /// Its log was set before, or there is none, or it could not be read.
    Untold,
}

/// What the registers of reasons hold at one moment.
#[derive(Default)]
pub struct Looked {
    of: Reasons,
    values: BTreeMap<RegisterPlace, Reading<u64>>,
}

/// The first of these CPUs in each package, with its number.
fn firsts(survey: &Survey<'_>, cpus: &CpuSet) -> BTreeMap<u32, CpuId> {
    let mut firsts = BTreeMap::new();
    for place in survey.topology().cpus.iter().filter(|place| cpus.contains(place.cpu)) {
        firsts.entry(place.package).or_insert(place.cpu);
    }
    firsts
}

impl Reasons {
    /// Those of these CPUs and of their packages.
    pub fn of(machine: &Machine, cpus: &CpuSet) -> Reasons {
        Reasons::of_survey(&Survey::new(machine), cpus)
    }

    fn of_survey(survey: &Survey<'_>, cpus: &CpuSet) -> Reasons {
        if survey.is_guest() {
            return Reasons::default();
        }
        let (registers, switches) = match identity(survey) {
            Ok((Maker::Intel, signature)) if signature.is_6_or_later() => {
                (reasons::of_intel(signature), reasons::SWITCHES_OF_INTEL)
            }
            Ok((Maker::Amd, signature)) if signature.family >= 0x17 => {
                (reasons::of_amd(), reasons::SWITCHES_OF_AMD)
            }
            Ok((_, signature)) => {
                let why =
                    format!("this version knows no such registers of family {}", signature.family);
                let absent = Unavailable::new(Obstacle::Cpudyno, WHAT, why);
                return Reasons { absent: Some(absent), ..Reasons::default() };
            }
            Err(absent) => {
                let absent = Unavailable { what: WHAT.to_owned(), ..absent };
                return Reasons { absent: Some(absent), ..Reasons::default() };
            }
        };
        let firsts = firsts(survey, cpus);
        let first = |cpu| {
            let package = survey.topology().place(cpu)?.package;
            Some((cpu, *firsts.get(&package)?))
        };
        let first = cpus.iter().filter_map(first).collect();
        Reasons { registers, switches, cpus: cpus.clone(), first, absent: None }
    }

    /// Looks at all of them.
    pub fn look(&self, machine: &Machine) -> Looked {
        self.look_at(machine, &self.cpus)
    }

    /// Looks at those of some of the CPUs, and of their packages.
    pub fn look_at(&self, machine: &Machine, cpus: &CpuSet) -> Looked {
        let firsts: CpuSet = cpus.iter().filter_map(|cpu| self.first.get(&cpu).copied()).collect();
        let mut values = BTreeMap::new();
        for cpu in cpus.iter().chain(firsts.difference(cpus).iter()) {
            let wanted = |register: &&&Register| match register.whose {
                Whose::Core => cpus.contains(cpu),
                Whose::Package => firsts.contains(cpu),
            };
            let wanted = self.registers.iter().filter(wanted);
            let mut addresses: Vec<u32> = wanted.map(|register| register.address).collect();
            let switches = self.switches.iter().filter(|_| firsts.contains(cpu));
            addresses.extend(switches.map(|switch| switch.address));
            // Switches of one register lie side by side.
            addresses.dedup();
            let read = machine.msr.read_many(cpu, &addresses);
            values.extend(addresses.iter().map(|address| (*address, cpu)).zip(read));
        }
        Looked { of: self.clone(), values }
    }
}

const WHAT: &str = "reasons for a lower clock";
/// Turbo limits, by what they limit: a step of that name takes a clock down to them.
const ACTIVE_CORES: &str = "limit of the active cores";

impl Looked {
    /// What two looks say, one before a run and one right after it, beside the limits that stand.
    pub fn and(&self, after: &Looked, machine: &Machine, cpus: &CpuSet) -> ClockRecord {
        self.and_of_survey(after, &Survey::new(machine), cpus)
    }

    fn and_of_survey(&self, after: &Looked, survey: &Survey<'_>, cpus: &CpuSet) -> ClockRecord {
        let levels = levels(survey, cpus);
        let without_boost = boost::without_boost(survey);
        let mut allowed = allowed::by_kernel(survey, cpus, &without_boost);
        allowed.extend(allowed::by_firmware(survey, cpus));
        let highest = allowed::highest_now(survey, cpus, &without_boost);
        if survey.is_guest() {
            // A guest that may read such registers reads what its hypervisor makes up.
            let mut unread =
                [WHAT, "power limits"].map(|what| hidden_from_guest(survey, what)).to_vec();
            unread.extend(
                survey.turbo_limits().is_err().then(|| hidden_from_guest(survey, ACTIVE_CORES)),
            );
            return ClockRecord { allowed, highest, levels, unread, ..ClockRecord::default() };
        }
        let boosted = boosted::clocks(survey, &cpus.intersection(&without_boost), &highest);
        let mut unread: Vec<Unavailable> = after.of.absent.iter().cloned().collect();
        let active_cores = survey.turbo_limits().err();
        unread.extend(active_cores.map(|it| Unavailable { what: ACTIVE_CORES.to_owned(), ..it }));
        match request::allowed(survey, cpus) {
            Ok(asked) => allowed.extend(asked),
            Err(reason) => unread.push(reason),
        }
        allowed.extend(allowed::by_governor(survey, cpus));
        allowed.extend(allowed::by_share(survey, &highest));
        unread.extend(self.refused(after));
        let power = match limits_of_power(survey, cpus) {
            Ok(power) => power,
            Err(reason) => {
                unread.push(Unavailable { what: "power limits".to_owned(), ..reason });
                Vec::new()
            }
        };
        ClockRecord {
            allowed,
            highest,
            boosted,
            power,
            reasons: self.reasons(after),
            switches: after.switch_positions(),
            levels,
            asked: self.asked(after),
            unread,
            busy_seconds: None,
            accounts: Vec::new(),
        }
    }

    /// The registers that answered everywhere in both looks, each once.
    fn asked(&self, after: &Looked) -> Vec<String> {
        let answered = |register: &&&'static Register| {
            let of = |looked: &Looked| -> Vec<bool> {
                let mine = looked.values.iter().filter(|(place, _)| place.0 == register.address);
                mine.map(|(_, value)| value.is_ok()).collect()
            };
            let all = [of(self), of(after)].concat();
            !all.is_empty() && all.into_iter().all(|is_ok| is_ok)
        };
        let answered = after.of.registers.iter().filter(answered);
        answered.map(|register| format!("MSR {:X}h", register.address)).collect()
    }

    /// Why registers did not answer in one of the looks, each reason once.
    fn refused(&self, after: &Looked) -> Vec<Unavailable> {
        let mut refused: Vec<Unavailable> = Vec::new();
        let both = self.values.iter().chain(&after.values);
        let errors = both.filter_map(|(place, value)| Some((place, value.as_ref().err()?)));
        for ((address, _), reason) in errors {
            let what = format!("{WHAT} (MSR {address:X}h)");
            if !refused.iter().any(|known| known.what == what || known.why == reason.why) {
                refused.push(Unavailable { what, ..reason.clone() });
            }
        }
        refused
    }

    /// What each reason did between this look and a later one at the same CPUs. The words are those of
    /// [`LimitReason::source`].
    pub fn meanwhile(&self, after: &Looked) -> BTreeMap<String, Meanwhile> {
        let registers = self.of.registers.iter();
        let bits = registers.flat_map(|it| it.bits().map(move |bit| (*it, bit)));
        let did = |(register, bit): (&Register, &Bit)| {
            let places = self.values.keys().filter(|place| place.0 == register.address);
            let states = places
                .map(|&(at, cpu)| Some([self.state(at, bit, cpu)?, after.state(at, bit, cpu)?]));
            let states: Vec<Option<[LimitState; 2]>> = states.collect();
            let came = |[before, after]: &[LimitState; 2]| {
                after.active || (after.logged && !before.logged)
            };
            let is_clear = |it: &Option<[LimitState; 2]>| {
                it.is_some_and(|[_, after]| after == LimitState::default())
            };
            let did = if states.iter().flatten().any(came) {
                Meanwhile::CameUp
            } else if bit.log.is_some() && states.iter().all(is_clear) {
                Meanwhile::Clear
            } else {
                Meanwhile::Untold
            };
            (!states.is_empty()).then(|| (source(register, bit), did))
        };
        bits.filter_map(did).collect()
    }

    /// Labels of causes that came up between this look and a later one, or are in force at that.
    pub fn came_up(&self, after: &Looked) -> BTreeSet<&'static str> {
        let meanwhile = self.meanwhile(after);
        let bits = self.of.registers.iter().flat_map(|it| it.bits().map(move |bit| (*it, bit)));
        let came = bits.filter(|(register, bit)| {
            let did = meanwhile.get(&source(register, bit));
            LimitReason::names_cause(bit.id) && did == Some(&Meanwhile::CameUp)
        });
        came.map(|(_, bit)| bit.label).collect()
    }

    /// None: it could not be read.
    fn state(&self, register: u32, bit: &Bit, cpu: CpuId) -> Option<LimitState> {
        let value = *self.values.get(&(register, cpu))?.as_ref().ok()?;
        let is_set = |bit: u32| value >> bit & 1 == 1;
        Some(LimitState { active: is_set(bit.active), logged: bit.log.is_some_and(is_set) })
    }

    /// Reasons that any CPU has set in any of the two looks.
    fn reasons(&self, after: &Looked) -> Vec<LimitReason> {
        let mut found = Vec::new();
        for register in &after.of.registers {
            for bit in register.bits() {
                found.extend(self.said(after, register, bit));
            }
        }
        found
    }

    /// One for all CPUs that say the same: what one of them logged before the run is no news of another.
    fn said(&self, after: &Looked, register: &Register, bit: &Bit) -> Vec<LimitReason> {
        let none = LimitState::default();
        let cpus = after.values.keys().filter(|(address, _)| *address == register.address);
        let mut said: Vec<([LimitState; 2], Vec<CpuId>)> = Vec::new();
        for &(address, cpu) in cpus {
            // A log of which nobody knows whether it was set before tells nothing of the run.
            let before = self.state(address, bit, cpu);
            let Some((before, after)) = before.zip(after.state(address, bit, cpu)) else {
                continue;
            };
            let states = [before, after];
            match said.iter_mut().find(|(known, _)| *known == states) {
                Some((_, cpus)) => cpus.push(cpu),
                None => said.push((states, vec![cpu])),
            }
        }
        said.retain(|(states, _)| *states != [none, none]);
        let reason = |([before, after], cpus): ([LimitState; 2], Vec<CpuId>)| LimitReason {
            id: bit.id.to_owned(),
            label: bit.label.to_owned(),
            cpus: cpus.into_iter().collect(),
            of_cores: register.whose == Whose::Core,
            source: source(register, bit),
            before,
            after,
            spared: Vec::new(),
            met: Vec::new(),
        };
        said.into_iter().map(reason).collect()
    }

    fn switch_positions(&self) -> Vec<LimitSwitch> {
        let mut positions: Vec<LimitSwitch> = Vec::new();
        for switch in self.of.switches {
            for (&(address, cpu), value) in &self.values {
                let Ok(value) = value else { continue };
                if address != switch.address {
                    continue;
                }
                let (on, label) = (switch.is_on(*value), switch.label);
                match positions.iter_mut().find(|it| it.label == label && it.on == on) {
                    Some(known) => known.cpus = known.cpus.iter().chain([cpu]).collect(),
                    None => positions.push(LimitSwitch {
                        label: label.to_owned(),
                        on,
                        cpus: CpuSet::from_iter([cpu]),
                        source: format!("MSR {address:X}h bit {}", switch.bit),
                    }),
                }
            }
        }
        positions
    }
}

/// `MSR 64Fh bits 10, 26`.
fn source(register: &Register, bit: &Bit) -> String {
    let bits =
        bit.log.map_or(format!("bit {}", bit.active), |log| format!("bits {}, {log}", bit.active));
    format!("MSR {:X}h {bits}", register.address)
}

/// What limits the clocks of all CPUs at this moment.
pub(crate) fn now(survey: &Survey<'_>) -> ClockRecord {
    let cpus = &survey.topology().online;
    let looked = Reasons::of_survey(survey, cpus).look(survey);
    looked.and_of_survey(&looked, survey, cpus)
}

/// The limits of power of the packages of these CPUs.
///
/// # Error
/// The reason of the first package where neither registers nor the kernel answer.
pub fn power_limits(machine: &Machine, cpus: &CpuSet) -> Reading<Vec<PowerLimit>> {
    limits_of_power(&Survey::new(machine), cpus)
}

/// By all that state some: the least of each counts.
fn limits_of_power(survey: &Survey<'_>, cpus: &CpuSet) -> Reading<Vec<PowerLimit>> {
    let of_package = |(package, cpu): (u32, CpuId)| {
        let own = match identity(survey) {
            Ok((Maker::Intel, signature)) if signature.is_6_or_later() => {
                power::by_registers(survey, signature.model, package, cpu).map(Vec::from)
            }
            Ok(_) => power::by_sensor(survey, package),
            Err(reason) => Err(reason),
        };
        match (own, power::by_kernel(survey, package)) {
            (Ok(own), by_kernel) => Ok([own, by_kernel.unwrap_or_default()].concat()),
            (Err(reason), by_kernel) => by_kernel.map_err(|_| reason),
        }
        .map(power::binding)
    };
    let limits: Reading<Vec<Vec<PowerLimit>>> =
        firsts(survey, cpus).into_iter().map(of_package).collect();
    Ok(limits?.concat())
}

/// The highest level of each of these CPUs, equal ones together; nothing where firmware states none.
fn levels(survey: &Survey<'_>, cpus: &CpuSet) -> Vec<CoreLevel> {
    let Ok(stated) = survey.highest_levels() else { return Vec::new() };
    let mut levels: BTreeMap<u32, Vec<CpuId>> = BTreeMap::new();
    for &(cpu, highest) in &stated.of {
        if cpus.contains(cpu) {
            levels.entry(highest).or_default().push(cpu);
        }
    }
    let level = |(highest, cpus): (u32, Vec<CpuId>)| CoreLevel {
        cpus: cpus.into_iter().collect(),
        highest,
        source: stated.source.to_owned(),
    };
    levels.into_iter().rev().map(level).collect()
}

/// Equal clocks are one.
fn together(clocks: impl Iterator<Item = (CpuId, f64)>, source: &str) -> Vec<AllowedClock> {
    let mut all: Vec<AllowedClock> = Vec::new();
    for (cpu, hertz) in clocks {
        let same = |known: &&mut AllowedClock| known.hertz.to_bits() == hertz.to_bits();
        if let Some(known) = all.iter_mut().find(same) {
            known.cpus = known.cpus.iter().chain([cpu]).collect();
        } else {
            let (cpus, source) = (CpuSet::from_iter([cpu]), source.to_owned());
            all.push(AllowedClock { cpus, hertz, source });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use model::microarchitecture::Signature;

    use super::*;

    /// A look at MSR 19Ch of these CPUs.
    fn looked(values: [Reading<u64>; 2]) -> Looked {
        let signature = Signature { family: 6, model: 0x8f, stepping: Some(8) };
        let of = Reasons { registers: reasons::of_intel(signature), ..Reasons::default() };
        let places = (0..).map(|cpu| (0x19c, CpuId(cpu)));
        Looked { of, values: places.zip(values).collect() }
    }

    fn refused() -> Reading<u64> {
        Err(Unavailable::new(Obstacle::Permission, "register 0x19c", "no"))
    }

    /// Whether the log of a power limit (bit 11) was set before is unknown where nothing was read.
    #[test]
    fn what_was_not_read_before_is_no_evidence() {
        let (before, after) = (looked([refused(), Ok(0)]), looked([Ok(1 << 11), Ok(0)]));
        assert_eq!(before.reasons(&after), []);
        assert_eq!(before.asked(&after), [""; 0], "it did not answer everywhere");
        assert_eq!(before.refused(&after).len(), 1);
        assert_eq!(looked([Ok(0), Ok(0)]).refused(&looked([Ok(0), refused()])).len(), 1);
        let came = looked([Ok(0), Ok(0)]).reasons(&looked([Ok(1 << 11), Ok(0)]));
        assert!(came.len() == 1 && came[0].held(), "{came:?}");
    }

    #[test]
    fn a_log_tells_of_what_came_up_after_it_was_clear() {
        let power = "MSR 19Ch bits 10, 11";
        let did = |before: [Reading<u64>; 2], after: [Reading<u64>; 2]| {
            looked(before).meanwhile(&looked(after))[power]
        };
        let (clear, logged) = (|| [Ok(0), Ok(0)], || [Ok(0), Ok(1 << 11)]);
        assert_eq!(did(clear(), clear()), Meanwhile::Clear);
        assert_eq!(did(clear(), logged()), Meanwhile::CameUp);
        assert_eq!(did(logged(), logged()), Meanwhile::Untold);
        assert_eq!(
            did(logged(), [Ok(1 << 11), Ok(1 << 11)]),
            Meanwhile::CameUp,
            "on the first CPU"
        );
        assert_eq!(did(logged(), [Ok(0), Ok(0b11 << 10)]), Meanwhile::CameUp, "in force");
        assert_eq!(did([Ok(0), refused()], clear()), Meanwhile::Untold);
        assert_eq!(Looked::default().meanwhile(&Looked::default()), BTreeMap::new());
        let came = looked(clear()).came_up(&looked(logged()));
        assert_eq!(came, BTreeSet::from(["power limit"]));
    }

    /// What one core logged before is no news of another.
    #[test]
    fn cores_that_say_different_things_are_told_apart() {
        let reasons = looked([Ok(1 << 11), Ok(0)]).reasons(&looked([Ok(1 << 11), Ok(1 << 11)]));
        let held: Vec<(bool, String)> =
            reasons.iter().map(|it| (it.held(), it.cpus.to_string())).collect();
        assert_eq!(held, [(false, "0".to_owned()), (true, "1".to_owned())]);
        assert!(reasons.iter().all(|it| it.of_cores));
    }
}
