//! What limits the clock, as registers and the kernel say it: power, temperature, current, PROCHOT.
//!
//! [`Looked`] is one look, [`Looked::and`] makes what two of them say together. The tables of bits are in
//! `reasons.rs`, the limits of power in `power.rs`. Nothing is written: logs that were set before stay set,
//! and are no evidence of what happened in between.

mod power;
mod reasons;

use std::collections::BTreeMap;

use model::record::{
    AllowedClock, ClockRecord, CoreLevel, LimitReason, LimitState, LimitSwitch, PowerLimit,
};
use model::{CpuId, CpuSet, Obstacle, Unavailable};

use crate::facts::{Maker, hidden_from_guest, identity, is_guest};
use crate::ports::{Machine, Reading};
use crate::survey::Survey;
use crate::text::first_number;
use reasons::{Bit, Register, Switch, Whose};

/// A register of a CPU, or of the package that it is the first of.
type Place = (u32, CpuId);

/// What the registers of reasons hold at one moment.
#[derive(Default)]
pub struct Looked {
    registers: Vec<&'static Register>,
    switches: &'static [Switch],
    values: BTreeMap<Place, Reading<u64>>,
    /// Why there are no such registers at all.
    absent: Option<Unavailable>,
}

/// The first of these CPUs in each package, with its number.
fn firsts(survey: &Survey<'_>, cpus: &CpuSet) -> BTreeMap<u32, CpuId> {
    let mut firsts = BTreeMap::new();
    for place in survey.topology().cpus.iter().filter(|place| cpus.contains(place.cpu)) {
        firsts.entry(place.package).or_insert(place.cpu);
    }
    firsts
}

/// Looks at the reasons on these CPUs and their packages.
pub fn look(machine: &Machine, cpus: &CpuSet) -> Looked {
    let survey = Survey::new(machine);
    let (registers, switches) = match identity(&survey) {
        Ok((Maker::Intel, signature)) if signature.family == 6 => {
            (reasons::of_intel(signature.model), reasons::SWITCHES_OF_INTEL)
        }
        Ok((Maker::Amd, signature)) if signature.family >= 0x17 => {
            (reasons::of_amd(), reasons::SWITCHES_OF_AMD)
        }
        Ok((_, signature)) => {
            let why =
                format!("this version knows no such registers of family {}", signature.family);
            let absent = Unavailable::new(Obstacle::Cpudyno, WHAT, why);
            return Looked { absent: Some(absent), ..Looked::default() };
        }
        Err(absent) => return Looked { absent: Some(absent), ..Looked::default() },
    };
    let mut values = BTreeMap::new();
    let firsts = firsts(&survey, cpus);
    for cpu in cpus.iter() {
        let is_first = firsts.values().any(|first| *first == cpu);
        let wanted = registers.iter().filter(|it| it.whose == Whose::Core || is_first);
        let mut addresses: Vec<u32> = wanted.map(|register| register.address).collect();
        addresses.extend(switches.iter().filter(|_| is_first).map(|switch| switch.address));
        let read = machine.msr.read_many(cpu, &addresses);
        values.extend(addresses.iter().map(|address| (*address, cpu)).zip(read));
    }
    Looked { registers, switches, values, absent: None }
}

const WHAT: &str = "reasons for a lower clock";

impl Looked {
    /// What two looks say, one before a run and one right after it, beside the limits that stand.
    pub fn and(&self, after: &Looked, machine: &Machine, cpus: &CpuSet) -> ClockRecord {
        let survey = Survey::new(machine);
        let (allowed, levels) = (allowed(machine, cpus), levels(&survey, cpus));
        if is_guest(machine) {
            // A guest that may read such registers reads what its hypervisor makes up.
            let unread = [WHAT, "power limits"].map(hidden_from_guest).to_vec();
            return ClockRecord { allowed, levels, unread, ..ClockRecord::default() };
        }
        let mut unread: Vec<Unavailable> = after.absent.iter().cloned().collect();
        unread.extend(after.refused());
        let power = match power_limits(&survey, cpus) {
            Ok(power) => power,
            Err(reason) => {
                unread.push(Unavailable { what: "power limits".to_owned(), ..reason });
                Vec::new()
            }
        };
        ClockRecord {
            allowed,
            power,
            reasons: self.reasons(after),
            switches: after.switch_positions(),
            levels,
            asked: after.asked(),
            unread,
            accounts: Vec::new(),
        }
    }

    /// The registers that answered, each once.
    fn asked(&self) -> Vec<String> {
        let answered = |register: &&&'static Register| {
            let mut values = self.values.iter();
            values.any(|((address, _), value)| *address == register.address && value.is_ok())
        };
        let answered = self.registers.iter().filter(answered);
        answered.map(|register| format!("MSR {:X}h", register.address)).collect()
    }

    /// Why registers did not answer, each reason once.
    fn refused(&self) -> Vec<Unavailable> {
        let mut refused: Vec<Unavailable> = Vec::new();
        let errors =
            self.values.iter().filter_map(|(place, value)| Some((place, value.as_ref().err()?)));
        for ((address, _), reason) in errors {
            let what = format!("{WHAT} (MSR {address:X}h)");
            if !refused.iter().any(|known| known.what == what || known.why == reason.why) {
                refused.push(Unavailable { what, ..reason.clone() });
            }
        }
        refused
    }

    fn state(&self, register: u32, bit: &Bit, cpu: CpuId) -> LimitState {
        let value = match self.values.get(&(register, cpu)) {
            Some(Ok(value)) => *value,
            _ => 0,
        };
        let is_set = |bit: u32| value >> bit & 1 == 1;
        LimitState { active: is_set(bit.active), logged: bit.log.is_some_and(is_set) }
    }

    /// Reasons that any CPU has set in any of the two looks.
    fn reasons(&self, after: &Looked) -> Vec<LimitReason> {
        let mut found = Vec::new();
        for register in &after.registers {
            for bit in register.bits {
                found.extend(self.reason(after, register, bit));
            }
        }
        found
    }

    fn reason(&self, after: &Looked, register: &Register, bit: &Bit) -> Option<LimitReason> {
        let none = LimitState::default();
        let cpus = after.values.keys().filter(|(address, _)| *address == register.address);
        let said = cpus.filter_map(|&(address, cpu)| {
            let states = [self.state(address, bit, cpu), after.state(address, bit, cpu)];
            (states != [none, none]).then_some((cpu, states))
        });
        let said: Vec<(CpuId, [LimitState; 2])> = said.collect();
        let any = |index: usize| LimitState {
            active: said.iter().any(|(_, states)| states[index].active),
            logged: said.iter().any(|(_, states)| states[index].logged),
        };
        // Where the log of one CPU was set before and that of another came up, both are told.
        let fresh = said.iter().any(|(_, [before, after])| after.logged && !before.logged);
        let before = LimitState { logged: any(0).logged && !fresh, ..any(0) };
        let bits = bit
            .log
            .map_or(format!("bit {}", bit.active), |log| format!("bits {}, {log}", bit.active));
        (!said.is_empty()).then(|| LimitReason {
            id: bit.id.to_owned(),
            label: bit.label.to_owned(),
            cpus: said.iter().map(|(cpu, _)| *cpu).collect(),
            source: format!("MSR {:X}h {bits}", register.address),
            before,
            after: any(1),
        })
    }

    fn switch_positions(&self) -> Vec<LimitSwitch> {
        let mut positions: Vec<LimitSwitch> = Vec::new();
        for switch in self.switches {
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

/// By registers, else by the kernel; the reason of the first package where neither answers.
fn power_limits(survey: &Survey<'_>, cpus: &CpuSet) -> Reading<Vec<PowerLimit>> {
    let of_intel = match identity(survey) {
        Ok((Maker::Intel, signature)) if signature.family == 6 => Ok(signature.model),
        Ok(_) => {
            let why = "CPUs of AMD state theirs to the firmware alone";
            Err(Unavailable::new(Obstacle::Hardware, "power limits", why))
        }
        Err(reason) => Err(reason),
    };
    let of_package = |(package, cpu): (u32, CpuId)| {
        let by_registers = of_intel
            .clone()
            .and_then(|model| power::by_registers(survey, model, package, cpu))
            .map(Vec::from);
        by_registers.or_else(|reason| power::by_kernel(survey, package).map_err(|_| reason))
    };
    let limits: Reading<Vec<Vec<PowerLimit>>> =
        firsts(survey, cpus).into_iter().map(of_package).collect();
    Ok(limits?.concat())
}

/// The highest level of each of these CPUs, equal ones together; nothing where firmware states none.
fn levels(survey: &Survey<'_>, cpus: &CpuSet) -> Vec<CoreLevel> {
    let mut levels: BTreeMap<u32, Vec<CpuId>> = BTreeMap::new();
    for &(cpu, highest) in survey.highest_levels().unwrap_or_default() {
        if cpus.contains(cpu) {
            levels.entry(highest).or_default().push(cpu);
        }
    }
    let level = |(highest, cpus): (u32, Vec<CpuId>)| CoreLevel {
        cpus: cpus.into_iter().collect(),
        highest,
    };
    levels.into_iter().rev().map(level).collect()
}

/// What the kernel allows each of these CPUs, equal ones together; nothing where it has no say.
fn allowed(machine: &Machine, cpus: &CpuSet) -> Vec<AllowedClock> {
    const FILE: &str = "scaling_max_freq";
    let mut allowed: Vec<AllowedClock> = Vec::new();
    for cpu in cpus.iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{FILE}");
        let read = machine.tree.read(&path).and_then(|text| first_number(&path, &text));
        let Ok(kilohertz) = read else { continue };
        let hertz = kilohertz * 1e3;
        match allowed.iter_mut().find(|known| known.hertz.to_bits() == hertz.to_bits()) {
            Some(known) => known.cpus = known.cpus.iter().chain([cpu]).collect(),
            None => allowed.push(AllowedClock {
                cpus: CpuSet::from_iter([cpu]),
                hertz,
                source: FILE.to_owned(),
            }),
        }
    }
    allowed
}
