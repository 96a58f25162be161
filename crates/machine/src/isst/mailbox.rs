//! What may be asked through the mailbox. No command that changes anything can be made here.

use sys::isst::structures::MailboxCommand;

/// A question to the firmware of a package.
///
/// # Source
/// Linux, tools/power/x86/intel-speed-select/isst.h: commands 7Fh (performance levels and what belongs to
/// them), D0h (classes), 94h (power management).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MailboxQuestion {
    command: u8,
    sub_command: u8,
    parameter: u16,
    request: u32,
}

const PROFILE: u8 = 0x7f;
const CLASSES: u8 = 0xd0;
const POWER: u8 = 0x94;

/// Questions about a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AboutLevel {
    /// What it supports, and what is on.
    Control = 0x01,
    /// Thermal design power.
    Tdp = 0x03,
    /// Power of the package.
    Power = 0x04,
    /// The highest temperature.
    Temperature = 0x05,
    /// The fabric's frequencies, by older firmware.
    Fabric = 0x09,
    /// Base frequencies.
    Base = 0x0a,
    /// The rate of memory.
    Memory = 0x0b,
    /// Limits of those that turbo frequencies do not choose.
    TurboFreqClip = 0x12,
    /// Base frequencies of the two kinds.
    BaseFreqRatios = 0x21,
    /// The highest temperature with them.
    BaseFreqTemperature = 0x22,
    /// Thermal design power with them.
    BaseFreqTdp = 0x23,
}

/// Questions about a level whose answer has two halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HalfOfLevel {
    /// Cores that it allows, 32 at a time.
    Cores = 0x06,
    /// Groups of chosen cores, four at a time.
    TurboFreqCores = 0x10,
    /// Cores with the higher base frequency, 32 at a time.
    BaseFreqCores = 0x20,
}

/// Questions about a level and a licence, four groups of cores at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LicenceOfLevel {
    /// Turbo limits.
    Turbo = 0x07,
    /// Turbo limits of chosen cores.
    TurboFreq = 0x11,
}

/// The lower or the upper part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Bits 31:0, or the first four.
    Low = 0,
    /// Bits 63:32, or the last four.
    High = 1,
}

impl Half {
    /// Both, in their order.
    pub const BOTH: [Half; 2] = [Half::Low, Half::High];
}

impl MailboxQuestion {
    /// Which levels there are.
    pub const LEVELS: MailboxQuestion = Self::profile(0x00, 0);
    /// Whether priorities are on, and of which kind.
    pub const PRIORITIES: MailboxQuestion = Self::of_classes(0x02, 0);
    /// Whether the firmware can and does heed them.
    pub const CORE_POWER: MailboxQuestion =
        MailboxQuestion { command: POWER, sub_command: 0x03, parameter: 0, request: 0 };

    const fn profile(sub_command: u8, request: u32) -> Self {
        MailboxQuestion { command: PROFILE, sub_command, parameter: 0, request }
    }

    const fn of_classes(sub_command: u8, parameter: u8) -> Self {
        let parameter = parameter as u16;
        MailboxQuestion { command: CLASSES, sub_command, parameter, request: 0 }
    }

    /// About a level.
    pub const fn about(what: AboutLevel, level: u8) -> Self {
        Self::profile(what as u8, level as u32)
    }

    /// Half of an answer about a level.
    pub const fn half(what: HalfOfLevel, level: u8, half: Half) -> Self {
        Self::profile(what as u8, level as u32 | (half as u32) << 8)
    }

    /// Half of an answer about a level and a licence.
    pub const fn licence(what: LicenceOfLevel, level: u8, half: Half, licence: u8) -> Self {
        Self::profile(what as u8, level as u32 | (half as u32) << 8 | (licence as u32) << 16)
    }

    /// The fabric's frequencies of a level, by newer firmware.
    pub const fn fabric(level: u8) -> Self {
        Self::profile(0x0c, level as u32 | 1 << 16)
    }

    /// The class of a core.
    pub const fn association(core: u8) -> Self {
        Self::of_classes(0x00, core)
    }

    /// A class.
    pub const fn class(class: u8) -> Self {
        Self::of_classes(0x01, class & 3)
    }

    /// As the driver takes it.
    pub(super) fn to(self, cpu: u32) -> MailboxCommand {
        MailboxCommand {
            cpu,
            parameter: self.parameter.into(),
            request: self.request,
            response: 0,
            command: self.command.into(),
            sub_command: self.sub_command.into(),
        }
    }
}

/// `7f/06 (104h)`: command, sub-command, and what is handed over.
impl std::fmt::Display for MailboxQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let selector = self.request | u32::from(self.parameter);
        write!(f, "{:02x}/{:02x} ({selector:x}h)", self.command, self.sub_command)
    }
}
