//! The firmware of the older generation: mailbox and registers in memory.
//!
//! # Source
//! Linux, tools/power/x86/intel-speed-select (what commands mean), and the user guide in
//! Documentation/admin-guide/pm/intel-speed-select.rst.

use sys::errno::{EINVAL, EIO, ENXIO};
use sys::isst::structures::MailboxCommand;

use super::state::{BASE_FREQ, Firmware, TURBO_FREQ, bytes};
use crate::description::speed_select::{Level, passes};
use crate::state::{At, FirmwareItem};

/// Bits that reach the hardware.
const PARAMETER_BITS: u32 = 0x3fff;
/// A class or a core is written.
const SET: u32 = 0x100;
/// Cores have priorities.
const PRIORITIES_ON: u32 = 1 << 1;

/// The response, or an error number.
type Response = Result<u32, i32>;

impl Firmware<'_> {
    /// A command for the domain of a CPU.
    pub(super) fn mailbox(&self, at: At, of: &MailboxCommand) -> Response {
        let (command, sub) = (of.command, of.sub_command);
        if !passes(command, sub) {
            return Err(EINVAL);
        }
        let sticks = self.harmed(&format!("{command:02x}/{sub:02x}"))?;
        let (parameter, request) = (of.parameter & PARAMETER_BITS, of.request);
        match (command, sub) {
            (0x7f, 0x00) => Ok(self.levels_info(at)),
            (0x7f, 0x02) => self.set_control(at, request, sticks),
            (0x7f, 0x08) => self.set_level(at, request, sticks),
            (0x7f, _) => {
                let level = self.is.level(request & 0xff).ok_or(ENXIO)?;
                self.about(at, level, sub, request)
            }
            (0xd0, 0x00) => self.association_word(at, parameter, request, sticks),
            (0xd0, 0x01) => {
                let class = parameter & 3;
                self.word(at, FirmwareItem::Class(class), parameter, request, sticks)?;
                Ok(self.class(at, class) as u32)
            }
            // The status, which nobody writes.
            (0xd0, 0x03) => Ok(self.priorities(at) as u32),
            (0xd0, _) => {
                let is_off = parameter & SET != 0 && request & PRIORITIES_ON == 0;
                let was_on = self.priorities(at) & u64::from(PRIORITIES_ON) != 0;
                if was_on && is_off && !self.may_forget_priorities(at) {
                    return Err(ENXIO);
                }
                self.word(at, FirmwareItem::Priorities, parameter, request, sticks)?;
                Ok(self.priorities(at) as u32)
            }
            (0x95, _) if !self.is.core_power => Err(ENXIO),
            (0x95, _) => {
                let on = u64::from(request >> 16 & 1);
                if on == 0 && self.core_power(at) && !self.may_forget_priorities(at) {
                    return Err(ENXIO);
                }
                if sticks {
                    self.hold(at, FirmwareItem::CorePower, on).map_err(|_| EIO)?;
                }
                Ok(0)
            }
            _ => Ok(u32::from(self.is.core_power) | u32::from(self.core_power(at)) << 16),
        }
    }

    /// Stores a word where the parameter says so.
    fn word(
        &self,
        at: At,
        what: FirmwareItem,
        parameter: u32,
        word: u32,
        sticks: bool,
    ) -> Result<(), i32> {
        if parameter & SET == 0 || !sticks {
            return Ok(());
        }
        self.hold(at, what, word.into()).map_err(|_| EIO)
    }

    fn association_word(&self, at: At, parameter: u32, word: u32, sticks: bool) -> Response {
        let core = parameter & 0xff;
        let class = word & 3 << 16;
        self.word(at, FirmwareItem::Association(core), parameter, class >> 16, sticks)?;
        Ok((self.association(at, core) as u32) << 16)
    }

    fn levels_info(&self, at: At) -> u32 {
        let highest = self.is.level.last().map_or(0, |level| level.number);
        u32::from(self.is.revision)
            | u32::from(highest) << 8
            | u32::from(self.current(at)) << 16
            | u32::from(self.is.locked) << 24
            | u32::from(self.is.dynamic) << 31
    }

    fn set_level(&self, at: At, request: u32, sticks: bool) -> Response {
        let level = self.is.level(request & 0xff).filter(|level| level.allowed);
        let level = level.filter(|_| !self.is.locked && self.is.dynamic).ok_or(ENXIO)?;
        if sticks {
            self.switch(at, level.number).map_err(|_| EIO)?;
        }
        Ok(0)
    }

    /// The complete new state: bit 16 turbo frequencies, bit 17 base frequencies.
    fn set_control(&self, at: At, request: u32, sticks: bool) -> Response {
        let level = self.current_level(at).ok_or(ENXIO)?;
        let (turbo, base) = (request >> 16 & 1 == 1, request >> 17 & 1 == 1);
        let is_one_too_many = turbo && base && self.is.exclusive_features;
        if is_one_too_many
            || turbo && level.turbo_freq.is_none()
            || base && level.base_freq.is_none()
        {
            return Err(ENXIO);
        }
        let features = u64::from(base) * BASE_FREQ + u64::from(turbo) * TURBO_FREQ;
        if sticks {
            self.hold(at, FirmwareItem::Features, features).map_err(|_| EIO)?;
        }
        Ok(0)
    }

    fn control(&self, at: At, level: &Level) -> u32 {
        let on = if level.number == self.current(at) { self.features(at) } else { 0 };
        u32::from(level.turbo_freq.is_some())
            | u32::from(level.base_freq.is_some()) << 1
            | u32::from(on & TURBO_FREQ != 0) << 16
            | u32::from(on & BASE_FREQ != 0) << 17
    }

    fn about(&self, at: At, level: &Level, sub: u16, request: u32) -> Response {
        let upper = request >> 8 & 1 == 1;
        let selector = (request >> 16 & 0xff) as usize;
        let [p0, p1, pm] = level.fabric_mhz.map(ratio);
        match sub {
            0x01 => Ok(self.control(at, level)),
            0x03 => Ok(u32::from(level.tdp_watts) | ratio(level.base_mhz[0]) << 16),
            0x04 => {
                let [least, most] = level.power_watts.ok_or(ENXIO)?;
                Ok(u32::from(most) | u32::from(least) << 16)
            }
            0x05 => Ok(level.tjunction_max_c.into()),
            0x06 => Ok(half(self.mask(at.1, level.cores.as_ref()), upper)),
            0x07 => {
                let limits = level.turbo_mhz.get(selector).ok_or(ENXIO)?;
                Ok(half(bytes(limits.iter().map(|mhz| mhz / 100)), upper))
            }
            0x09 => Ok(p0 | p1 << 8),
            0x0a => Ok(bytes(level.base_mhz.iter().map(|mhz| mhz / 100)) as u32),
            0x0b => Ok(level.memory.into()),
            0x0c if selector == 1 && pm > 0 => Ok(p0 | p1 << 8 | pm << 24),
            0x10..=0x12 => {
                let it = level.turbo_freq.as_ref().ok_or(ENXIO)?;
                let cores = || bytes(it.bucket_cores.iter().map(|cores| u16::from(*cores)));
                match sub {
                    0x10 => Ok(half(cores(), upper)),
                    0x11 => {
                        let limits = it.turbo_mhz.get(selector).ok_or(ENXIO)?;
                        Ok(half(bytes(limits.iter().map(|mhz| mhz / 100)), upper))
                    }
                    _ => Ok(bytes(it.clip_mhz.iter().take(3).map(|mhz| mhz / 100)) as u32),
                }
            }
            0x20..=0x23 => {
                let it = level.base_freq.as_ref().ok_or(ENXIO)?;
                Ok(match sub {
                    0x20 => half(self.mask(at.1, Some(&it.cores)), upper),
                    0x21 => ratio(it.low_mhz) | ratio(it.high_mhz) << 8,
                    0x22 => u32::from(it.tjunction_max_c) | u32::from(it.tcontrol_c) << 8,
                    _ => it.tdp_watts.into(),
                })
            }
            _ => Err(ENXIO),
        }
    }

    /// A register in memory, read.
    pub(super) fn register(&self, at: At, register: u32) -> u32 {
        match register {
            0x04 => self.priorities(at) as u32,
            0x08..=0x14 => self.class(at, (register - 0x08) / 4) as u32,
            0x20.. => (self.association(at, (register - 0x20) / 4) as u32) << 16,
            _ => 0,
        }
    }

    /// A register in memory, written.
    pub(super) fn set_register(&self, at: At, register: u32, value: u32) -> Result<(), i32> {
        let hold =
            |what: FirmwareItem, value: u32| self.hold(at, what, value.into()).map_err(|_| EIO);
        match register {
            0x04 => hold(FirmwareItem::Priorities, value),
            0x08..=0x14 => hold(FirmwareItem::Class((register - 0x08) / 4), value),
            0x20.. => hold(FirmwareItem::Association((register - 0x20) / 4), value >> 16 & 3),
            _ => Ok(()),
        }
    }
}

fn ratio(mhz: u16) -> u32 {
    u32::from(mhz / 100)
}

fn half(whole: u64, upper: bool) -> u32 {
    (if upper { whole >> 32 } else { whole }) as u32
}
