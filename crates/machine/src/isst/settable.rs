//! What of Speed Select can be set: each is one value that the firmware holds, as a text that says all of
//! it, so that what was read can be written back.

use std::fmt;
use std::io;
use std::sync::Arc;

use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use serde::{Deserialize, Serialize};
use simulated::SimulatedTree;
use sys::errno::{EACCES, EINVAL, EPERM};
use sys::isst::layout::Layout;
use sys::isst::structures::{
    ClosAssoc, ClosAssocHeader, ClosParam, CorePowerState, MailboxCommand, MmioCommand, MsrCommand,
    PerfSetFeature, PerfSetLevel,
};

use super::{AboutLevel, DomainAddress, MailboxQuestion, Message, Refusal};
use crate::dir::Folder;
use crate::ports::{Isst, IsstDevice, Machine, Tree};

/// What helps where CPUs are offline.
pub const BRING_BACK: &str = "`cpudyno set online@N=on` brings CPU N back";

/// One value, and where it is. Whichever CPUs come and go, it is the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Settable {
    /// The power domain.
    pub at: Address,
    /// What of it.
    pub what: What,
}

/// Where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Address {
    /// Interface 1, and registers of the processor in all; classes are registers in memory.
    Registers(Die),
    /// Interface 1; classes are behind the mailbox.
    Mailbox(Die),
    /// Interfaces 2 and 3.
    Domain(DomainAddress),
}

/// What is asked through one of its CPUs, any that is online.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Die {
    /// The package.
    pub package: u32,
    /// The die, as the kernel numbers it, 0 where it does not; none: the whole package.
    pub die: Option<u32>,
}

impl Die {
    /// The first of its CPUs that is online.
    fn cpu(self, tree: &dyn Tree) -> Reading<CpuId> {
        const CPU: &str = "/sys/devices/system/cpu";
        let list = tree.read(&format!("{CPU}/online"))?;
        let online: CpuSet = list.trim().parse().unwrap_or_default();
        let text = |cpu: CpuId, file: &str| -> Option<String> {
            let text = tree.read(&format!("{CPU}/cpu{cpu}/topology/{file}")).ok()?;
            Some(text.trim().to_owned())
        };
        let number = |cpu, file| text(cpu, file)?.parse::<u32>().ok();
        // Neighbours of a CPU that is elsewhere are elsewhere, too: of hundreds a few are asked.
        let mut elsewhere = CpuSet::default();
        for cpu in online.iter() {
            if elsewhere.contains(cpu) {
                continue;
            }
            let is_package = number(cpu, "physical_package_id") == Some(self.package);
            let is_die = |die| number(cpu, "die_id").unwrap_or(0) == die;
            let others = match is_package {
                true if self.die.is_none_or(is_die) => return Ok(cpu),
                true => "die_cpus_list",
                false => "package_cpus_list",
            };
            let neighbours: Option<CpuSet> = text(cpu, others).and_then(|list| list.parse().ok());
            elsewhere = elsewhere.iter().chain(neighbours.iter().flat_map(CpuSet::iter)).collect();
        }
        let why = format!("no CPU of {self} is online, and its firmware answers only through one");
        Err(Unavailable::new(Obstacle::Permission, "Speed Select", why).with_remedy(BRING_BACK))
    }
}

impl fmt::Display for Die {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "package {}", self.package)?;
        match self.die {
            Some(die) if die > 0 => write!(f, ", die {die}"),
            _ => Ok(()),
        }
    }
}

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The performance level: its number.
    Level,
    /// What is on at the level at present: `none`, `base-freq`, `turbo-freq`, or both.
    Features,
    /// Whether the firmware heeds priorities, `on` or `off`. Interface 1 alone has this second switch.
    CorePower,
    /// Whether cores have classes, and what those mean: `on ordered`, `off proportional`.
    Priorities,
    /// A class: `min=2000MHz max=none weight=5 epp=2`.
    Class(u8),
    /// The class of a core, or a module, by the hardware's number.
    Core(u8),
    /// The turbo limits that hold at most, a ratio of 100 MHz in each byte: register 1ADh.
    TurboLimits,
}

/// The highest number of a class, and of a core.
const CLASS_MAX: u8 = 3;
const CORE_MAX: u8 = 63;

/// Parameters of mailbox commands and registers in memory.
const SET: u32 = 0x100;
const CLASS_REGISTERS: u32 = 0x08;
const CORE_REGISTERS: u32 = 0x20;
const TURBO_LIMITS: u32 = 0x1ad;

/// Bits of the word of priorities.
const PRIORITIES_ON: u32 = 1 << 1;
const PRIORITIES_ORDERED: u32 = 1 << 2;

const TURBO_FREQ: &str = "turbo-freq";
const BASE_FREQ: &str = "base-freq";

/// A class, as texts have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassText {
    /// The lowest frequency, in MHz.
    pub min_mhz: u32,
    /// The highest one, in MHz; none: no limit.
    pub max_mhz: Option<u32>,
    /// Its weight, 0 to 15.
    pub weight: u32,
    /// Between performance (0) and energy (15); none: the newer generation has none.
    pub epp: Option<u32>,
    /// The frequency that is wished for, in MHz.
    pub desired_mhz: u32,
}

/// A ratio that stands for no limit.
const NO_LIMIT: u32 = 0xff;

impl ClassText {
    /// Bits 3:0 preference, 7:4 weight, 15:8 lowest, 23:16 highest, 31:24 desired ratio.
    fn of_word(word: u32) -> ClassText {
        let [low, min, max, desired] = word.to_le_bytes().map(u32::from);
        ClassText {
            min_mhz: min * 100,
            max_mhz: (max != NO_LIMIT).then_some(max * 100),
            weight: low >> 4,
            epp: Some(low & 0xf),
            desired_mhz: desired * 100,
        }
    }

    fn word(self) -> u32 {
        let max = self.max_mhz.map_or(NO_LIMIT, |mhz| mhz / 100);
        self.epp.unwrap_or(0) & 0xf
            | (self.weight & 0xf) << 4
            | ((self.min_mhz / 100) & 0xff) << 8
            | (max & 0xff) << 16
            | ((self.desired_mhz / 100) & 0xff) << 24
    }

    fn parse(text: &str) -> Option<ClassText> {
        let mut class = ClassText::default();
        for field in text.split(' ') {
            let (name, value) = field.split_once('=')?;
            let number = || value.trim_end_matches("MHz").parse::<u32>().ok();
            match (name, value) {
                ("max", "none") => class.max_mhz = None,
                ("max", _) => class.max_mhz = Some(number()?),
                ("min", _) => class.min_mhz = number()?,
                ("weight", _) => class.weight = number()?,
                ("epp", _) => class.epp = Some(number()?),
                ("desired", _) => class.desired_mhz = number()?,
                _ => return None,
            }
        }
        Some(class)
    }
}

impl fmt::Display for ClassText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "min={}MHz", self.min_mhz)?;
        match self.max_mhz {
            Some(mhz) => write!(f, " max={mhz}MHz")?,
            None => write!(f, " max=none")?,
        }
        write!(f, " weight={}", self.weight)?;
        if let Some(epp) = self.epp {
            write!(f, " epp={epp}")?;
        }
        if self.desired_mhz > 0 {
            write!(f, " desired={}MHz", self.desired_mhz)?;
        }
        Ok(())
    }
}

/// What is on, as texts have it.
pub fn features_text(base_freq: bool, turbo_freq: bool) -> &'static str {
    match (base_freq, turbo_freq) {
        (false, false) => "none",
        (true, false) => BASE_FREQ,
        (false, true) => TURBO_FREQ,
        (true, true) => "base-freq turbo-freq",
    }
}

/// Whether cores have classes and what those mean, as texts have it.
pub fn priorities_text(is_on: bool, is_ordered: bool) -> &'static str {
    match (is_on, is_ordered) {
        (true, true) => "on ordered",
        (true, false) => "on proportional",
        (false, true) => "off ordered",
        (false, false) => "off proportional",
    }
}

/// Base frequencies, turbo frequencies.
fn features_of(text: &str) -> Option<[bool; 2]> {
    [[false, false], [true, false], [false, true], [true, true]]
        .into_iter()
        .find(|&[base, turbo]| features_text(base, turbo) == text)
}

/// On, ordered.
fn priorities_of(text: &str) -> Option<[bool; 2]> {
    [[false, false], [true, false], [false, true], [true, true]]
        .into_iter()
        .find(|&[on, ordered]| priorities_text(on, ordered) == text)
}

fn switch_of(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// The turbo limits that such a text says.
pub fn limits_of(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The turbo limits of a register, as texts have it.
pub fn limits_text(word: u64) -> String {
    format!("{word:#018x}")
}

impl Settable {
    /// Whether there can be such a thing: what a file says need not be true.
    pub fn is_sound(&self) -> bool {
        let is_new = matches!(self.at, Address::Domain(_));
        match self.what {
            What::Class(class) => class <= CLASS_MAX,
            What::Core(core) => core <= CORE_MAX,
            What::CorePower | What::TurboLimits => !is_new,
            What::Level | What::Features | What::Priorities => true,
        }
    }

    /// What it holds.
    pub fn read(&self, isst: &dyn Isst, tree: &dyn Tree) -> Reading<String> {
        let device = isst.open()?;
        self.ask(&*device, tree).map_err(|refusal| match refusal {
            Refusal::Unavailable(reason) => reason,
            Refusal::Errno(code) => {
                let why = format!("reading {self}: {}", words(code));
                let is_right = matches!(code, EACCES | EPERM);
                let obstacle = if is_right { Obstacle::Permission } else { Obstacle::Hardware };
                Unavailable::new(obstacle, "Speed Select", why)
            }
        })
    }

    fn ask(&self, device: &dyn IsstDevice, tree: &dyn Tree) -> Result<String, Refusal> {
        match self.at {
            Address::Registers(die) => self.ask_older(device, through(die, tree)?, false),
            Address::Mailbox(die) => self.ask_older(device, through(die, tree)?, true),
            Address::Domain(at) => self.ask_newer(device, at),
        }
    }

    fn ask_older(
        &self,
        device: &dyn IsstDevice,
        cpu: CpuId,
        by_mailbox: bool,
    ) -> Result<String, Refusal> {
        let mailbox = |question| one(device.mailbox(&[(cpu, question)])?);
        let mmio = |register| one(device.mmio(&[(cpu, register)])?);
        Ok(match self.what {
            What::Level => current(mailbox(MailboxQuestion::LEVELS)?).to_string(),
            What::Features => {
                let level = current(mailbox(MailboxQuestion::LEVELS)?);
                let word = mailbox(MailboxQuestion::about(AboutLevel::Control, level))?;
                features_text(word >> 17 & 1 == 1, word >> 16 & 1 == 1).to_owned()
            }
            What::CorePower => {
                let is_on = mailbox(MailboxQuestion::CORE_POWER)? >> 16 & 1 == 1;
                if is_on { "on" } else { "off" }.to_owned()
            }
            What::Priorities => {
                let word = mailbox(MailboxQuestion::PRIORITIES)?;
                let bit = |bit| word & bit != 0;
                priorities_text(bit(PRIORITIES_ON), bit(PRIORITIES_ORDERED)).to_owned()
            }
            What::Class(class) => {
                let word = if by_mailbox {
                    mailbox(MailboxQuestion::class(class))?
                } else {
                    mmio(CLASS_REGISTERS + 4 * u32::from(class))?
                };
                ClassText::of_word(word).to_string()
            }
            What::Core(core) => {
                let word = if by_mailbox {
                    mailbox(MailboxQuestion::association(core))?
                } else {
                    mmio(CORE_REGISTERS + 4 * u32::from(core))?
                };
                (word >> 16 & 3).to_string()
            }
            What::TurboLimits => limits_text(one(device.msr(&[(cpu, TURBO_LIMITS)])?)?),
        })
    }

    fn ask_newer(&self, device: &dyn IsstDevice, at: DomainAddress) -> Result<String, Refusal> {
        Ok(match self.what {
            What::Level => device.levels(at)?.current_level.to_string(),
            What::Features => {
                let state = device.levels(at)?.feature_state;
                features_text(state & 1 == 1, state >> 1 & 1 == 1).to_owned()
            }
            What::Priorities => {
                let state = device.core_power(at)?;
                priorities_text(state.enable == 1, state.priority_type == 1).to_owned()
            }
            What::Class(class) => {
                let class = device.class(at, class)?;
                let [min_mhz, max] = [class.min_mhz, class.max_mhz].map(u32::from);
                let class = ClassText {
                    min_mhz,
                    max_mhz: (max != NO_LIMIT * 100).then_some(max),
                    weight: class.weight.into(),
                    epp: None,
                    desired_mhz: 0,
                };
                class.to_string()
            }
            What::Core(core) => one(device.associations(&[(at, core.into())])?)?.to_string(),
            What::CorePower | What::TurboLimits => return Err(Refusal::Errno(EINVAL)),
        })
    }

    /// Writes it: a text as it was read, or made by the functions here.
    fn set(&self, device: &dyn IsstDevice, tree: &dyn Tree, text: &str) -> Result<(), Refusal> {
        match self.at {
            Address::Registers(die) => self.set_older(device, through(die, tree)?, false, text),
            Address::Mailbox(die) => self.set_older(device, through(die, tree)?, true, text),
            Address::Domain(at) => self.set_newer(device, at, text),
        }
    }

    fn set_older(
        &self,
        device: &dyn IsstDevice,
        cpu: CpuId,
        by_mailbox: bool,
        text: &str,
    ) -> Result<(), Refusal> {
        let mailbox = |command: u16, sub_command: u16, parameter: u32, request: u32| {
            let it = MailboxCommand {
                cpu: cpu.0,
                command,
                sub_command,
                parameter,
                request,
                response: 0,
            };
            changed(device.call(&mut Message::list(3, &[it])))
        };
        let mmio = |register: u32, value: u32| {
            let it = MmioCommand { write: 1, cpu: cpu.0, register, value };
            changed(device.call(&mut Message::list(2, &[it])))
        };
        match self.what {
            What::Level => mailbox(0x7f, 0x08, 0, text.parse::<u8>().map_err(|_| INVALID)?.into()),
            What::Features => {
                let [base, turbo] = features_of(text).ok_or(INVALID)?.map(u32::from);
                mailbox(0x7f, 0x02, 0, base << 17 | turbo << 16)
            }
            What::CorePower => {
                mailbox(0x95, 0x03, 0, u32::from(switch_of(text).ok_or(INVALID)?) << 16)
            }
            What::Priorities => {
                let [on, ordered] = priorities_of(text).ok_or(INVALID)?;
                // The other bits are not ours.
                let word = one(device.mailbox(&[(cpu, MailboxQuestion::PRIORITIES)])?)?;
                let word = word & !(PRIORITIES_ON | PRIORITIES_ORDERED)
                    | if on { PRIORITIES_ON } else { 0 }
                    | if ordered { PRIORITIES_ORDERED } else { 0 };
                mailbox(0xd0, 0x02, SET, word)
            }
            What::Class(class) => {
                let word = ClassText::parse(text).ok_or(INVALID)?.word();
                if by_mailbox {
                    mailbox(0xd0, 0x01, SET | u32::from(class), word)
                } else {
                    mmio(CLASS_REGISTERS + 4 * u32::from(class), word)
                }
            }
            What::Core(core) => {
                let word = u32::from(class_number(text)?) << 16;
                if by_mailbox {
                    mailbox(0xd0, 0x00, SET | u32::from(core), word)
                } else {
                    mmio(CORE_REGISTERS + 4 * u32::from(core), word)
                }
            }
            What::TurboLimits => {
                let data = limits_of(text).ok_or(INVALID)?;
                let it = MsrCommand { write: 1, cpu: cpu.0, msr: TURBO_LIMITS.into(), data };
                changed(device.call(&mut Message::list(4, &[it])))
            }
        }
    }

    fn set_newer(
        &self,
        device: &dyn IsstDevice,
        at: DomainAddress,
        text: &str,
    ) -> Result<(), Refusal> {
        let (socket, domain) = (at.package, at.domain);
        let mut message = match self.what {
            What::Level => {
                let level = text.parse().map_err(|_| INVALID)?;
                Message::single(10, &PerfSetLevel { socket, domain, level })
            }
            What::Features => {
                let [base, turbo] = features_of(text).ok_or(INVALID)?.map(u8::from);
                Message::single(11, &PerfSetFeature { socket, domain, feature: base | turbo << 1 })
            }
            What::Priorities => {
                let [on, ordered] = priorities_of(text).ok_or(INVALID)?.map(u8::from);
                let (enable, priority_type) = (on, ordered);
                let state =
                    CorePowerState { set: 1, socket, domain, enable, supported: 0, priority_type };
                Message::single(6, &state)
            }
            What::Class(clos) => {
                let class = ClassText::parse(text).ok_or(INVALID)?;
                let mhz = |mhz: u32| u16::try_from(mhz).map_err(|_| INVALID);
                let param = ClosParam {
                    set: 1,
                    socket,
                    domain,
                    clos,
                    min_mhz: mhz(class.min_mhz)?,
                    max_mhz: mhz(class.max_mhz.unwrap_or(NO_LIMIT * 100))?,
                    weight: class.weight as u8,
                };
                Message::single(7, &param)
            }
            What::Core(core) => {
                let clos = class_number(text)?.into();
                let entry = ClosAssoc { socket, domain, core: core.into(), clos };
                let mut message = Message::list(8, &[entry]);
                let header = ClosAssocHeader { count: 1, set: 1, punit_cpu_map: 1 };
                header.to_bytes(&mut message.argument);
                message
            }
            What::CorePower | What::TurboLimits => return Err(INVALID),
        };
        device.call(&mut message).map(drop)
    }
}

const INVALID: Refusal = Refusal::Errno(EINVAL);

fn through(die: Die, tree: &dyn Tree) -> Result<CpuId, Refusal> {
    die.cpu(tree).map_err(Refusal::Unavailable)
}

fn class_number(text: &str) -> Result<u8, Refusal> {
    text.parse().ok().filter(|class| *class <= CLASS_MAX).ok_or(INVALID)
}

/// Bits 23:16 of what is said of levels.
fn current(word: u32) -> u8 {
    (word >> 16) as u8
}

/// The only answer. A driver that says that it answered none has not looked at the question.
fn one<T>(answers: Vec<T>) -> Result<T, Refusal> {
    answers.into_iter().next().ok_or(Refusal::Errno(sys::errno::EINTR))
}

fn changed(count: Result<u32, Refusal>) -> Result<(), Refusal> {
    if count? == 0 { Err(Refusal::Errno(sys::errno::EINTR)) } else { Ok(()) }
}

fn words(code: i32) -> String {
    sys::errno::words(&io::Error::from_raw_os_error(code))
}

impl fmt::Display for Settable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Level => write!(f, "performance level")?,
            What::Features => write!(f, "features of the level")?,
            What::CorePower => write!(f, "switch of core-power")?,
            What::Priorities => write!(f, "priorities of cores")?,
            What::Class(class) => write!(f, "class {class}")?,
            What::Core(core) => write!(f, "class of core {core}")?,
            What::TurboLimits => write!(f, "turbo limits (MSR 0x1ad)")?,
        }
        match self.at {
            Address::Registers(die) | Address::Mailbox(die) => write!(f, " of {die}"),
            Address::Domain(DomainAddress { package, domain }) => {
                write!(f, " of package {package}, power domain {domain}")
            }
        }
    }
}

/// What writes them. Only the crate `levers` makes one (invariant I6).
pub struct Setter {
    isst: Arc<dyn Isst>,
    /// Where CPUs are.
    tree: Box<dyn Tree + Send>,
}

impl Setter {
    /// MemoryTraffic the device of a machine: the one that this process runs on, or a simulated one.
    pub fn of(machine: &Machine) -> Setter {
        let tree: Box<dyn Tree + Send> = match &machine.simulated {
            Some(model) => Box::new(SimulatedTree::new(model)),
            None => Box::new(Folder::real()),
        };
        Setter { isst: Arc::clone(&machine.isst), tree }
    }

    /// Whether the device can be opened; what else a change takes, only a change tells.
    pub fn permits(&self) -> io::Result<()> {
        self.isst.open().map(drop).map_err(|reason| {
            let kind = match reason.obstacle {
                Obstacle::Permission => io::ErrorKind::PermissionDenied,
                _ => io::ErrorKind::NotFound,
            };
            io::Error::new(kind, reason.why)
        })
    }

    /// Writes a text as it was read.
    pub fn write(&self, settable: &Settable, text: &str) -> io::Result<()> {
        let device = self.isst.open().map_err(|reason| io::Error::other(reason.why))?;
        settable.set(&*device, &*self.tree, text).map_err(|refusal| match refusal {
            Refusal::Errno(code) => io::Error::from_raw_os_error(code),
            Refusal::Unavailable(reason) => io::Error::other(reason.why),
        })
    }
}

#[cfg(test)]
mod tests {
    use simulated::{Model, Writer};

    use super::*;

    const PACKAGE: Address = Address::Registers(Die { package: 0, die: Some(0) });

    /// A machine, and what writes to its firmware.
    fn machine(name: &str) -> (Machine, Setter) {
        let machine = Machine::from(Model::named(name).unwrap());
        let setter = Setter::of(&machine);
        (machine, setter)
    }

    fn held(machine: &Machine, settable: Settable) -> Reading<String> {
        settable.read(&*machine.isst, &*machine.tree)
    }

    #[test]
    fn what_is_written_is_read_and_can_be_written_back() {
        let older = PACKAGE;
        let newer = Address::Domain(DomainAddress { package: 1, domain: 2 });
        for (name, at, what, text) in [
            ("guide", older, What::Level, "4"),
            ("guide", older, What::Features, "base-freq turbo-freq"),
            ("guide", older, What::Features, "turbo-freq"),
            ("guide", older, What::CorePower, "on"),
            ("guide", older, What::Priorities, "on ordered"),
            (
                "guide",
                older,
                What::Class(3),
                "min=1200MHz max=3000MHz weight=5 epp=2 desired=900MHz",
            ),
            ("guide", older, What::Core(13), "2"),
            ("guide", older, What::TurboLimits, "0xffffffffffffffff"),
            ("granite", newer, What::Level, "1"),
            ("granite", newer, What::Features, "base-freq"),
            ("granite", newer, What::Priorities, "on proportional"),
            ("granite", newer, What::Class(0), "min=2000MHz max=none weight=15"),
            ("granite", newer, What::Core(9), "3"),
        ] {
            let ((machine, setter), settable) = (machine(name), Settable { at, what });
            let before = held(&machine, settable).unwrap();
            assert_ne!(before, text, "{settable}");
            setter.permits().unwrap();
            setter.write(&settable, text).unwrap();
            assert_eq!(held(&machine, settable).unwrap(), text, "{settable}");
            setter.write(&settable, &before).unwrap();
            assert_eq!(held(&machine, settable).unwrap(), before, "{settable}");
            assert!(settable.is_sound());
        }
    }

    /// It is the same value while CPUs come and go, and needs one that is there.
    #[test]
    fn it_is_asked_through_any_cpu_that_is_online() {
        let (machine, setter) = machine("guide");
        let writer = Writer::new(machine.simulated.as_ref().unwrap());
        let at = Address::Registers(Die { package: 1, die: Some(0) });
        let level = Settable { at, what: What::Level };
        let online = |cpu: u32| format!("/sys/devices/system/cpu/cpu{cpu}/online");
        writer.write(&online(14), "0").unwrap();
        setter.write(&level, "1").unwrap();
        assert_eq!(held(&machine, level).unwrap(), "1");
        assert_eq!(held(&machine, Settable { at: PACKAGE, ..level }).unwrap(), "0");
        for cpu in (15..28).chain(42..56) {
            writer.write(&online(cpu), "0").unwrap();
        }
        let reason = held(&machine, level).unwrap_err();
        assert!(reason.why.contains("no CPU of package 1 is online"), "{reason:?}");
        let none = Settable { at: Address::Registers(Die { package: 2, die: None }), ..level };
        assert!(held(&machine, none).is_err());
    }

    #[test]
    fn what_is_no_value_is_not_written() {
        let ((machine, setter), at) = (machine("guide"), PACKAGE);
        for (what, text) in [
            (What::Level, "high"),
            (What::Features, "all"),
            (What::CorePower, "1"),
            (What::Priorities, "on"),
            (What::Class(0), "min=fast"),
            (What::Core(0), "4"),
            (What::TurboLimits, "31"),
        ] {
            let settable = Settable { at, what };
            let before = held(&machine, settable).unwrap();
            let error = setter.write(&settable, text).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(EINVAL), "{settable}");
            assert_eq!(held(&machine, settable).unwrap(), before);
        }
        let domain = Address::Domain(DomainAddress { package: 0, domain: 0 });
        assert!(!Settable { at, what: What::Class(4) }.is_sound());
        assert!(!Settable { at, what: What::Core(64) }.is_sound());
        assert!(!Settable { at: domain, what: What::TurboLimits }.is_sound());
    }
}
