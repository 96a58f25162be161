//! What the firmware of a simulated machine holds, and the rules by which it changes.

use model::{CpuId, CpuSet};

use crate::description::Model;
use crate::description::speed_select::{Level, SpeedSelect};
use crate::state::{At, FirmwareItem, Held};

/// The firmware of a machine that has one.
#[derive(Clone, Copy)]
pub(crate) struct Firmware<'a> {
    pub(super) model: &'a Model,
    pub(super) is: &'a SpeedSelect,
}

/// Where a CPU is in the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HardwarePlace {
    pub(super) package: u32,
    pub(super) domain: u32,
    /// The hardware's number of its module.
    pub(super) module: u32,
    /// The thread of its core, or the core of its module.
    pub(super) within: u32,
}

/// What is on at the present level.
pub(super) const BASE_FREQ: u64 = 1;
pub(super) const TURBO_FREQ: u64 = 2;

/// The first class of low priority: 0 and 1 are of high priority.
const LOW: u64 = 2;

/// A class without limits: at most 25500 MHz.
const OPEN_CLASS: u64 = 0x00ff_0000;

impl<'a> Firmware<'a> {
    /// That of a machine, where it has one.
    pub(crate) fn of(model: &'a Model) -> Option<Firmware<'a>> {
        Some(Firmware { model, is: model.speed_select.as_ref()? })
    }

    /// Where a CPU is; none: there is no such CPU.
    pub(super) fn place(&self, cpu: CpuId) -> Option<HardwarePlace> {
        if cpu.0 >= self.model.cpus().len() as u32 {
            return None;
        }
        let per_module = self.is.cores_per_module;
        let mut core = self.model.claimed_core_of(cpu);
        let domain = self.is.modules.iter().position(|modules| {
            let here = core < modules * per_module;
            if !here {
                core -= modules * per_module;
            }
            here
        })?;
        let within = if per_module > 1 { core % per_module } else { self.model.thread_of(cpu) };
        let module = self.module_number(core / per_module);
        Some(HardwarePlace {
            package: self.model.package_of(cpu),
            domain: domain as u32,
            module,
            within,
        })
    }

    fn module_number(&self, nth: u32) -> u32 {
        let numbers = self.is.module_numbers.as_ref();
        let number = numbers.and_then(|all| all.as_slice().get(nth as usize));
        number.map_or(nth, |number| number.0)
    }

    /// What register 53h or 54h says of a CPU.
    pub(crate) fn physical(&self, cpu: CpuId) -> Option<u32> {
        let place = self.place(cpu)?;
        Some(match self.is.interface {
            0 | 1 => place.domain << 9 | place.module << 1 | place.within,
            _ => place.domain << 11 | place.module << 3 | place.within,
        })
    }

    /// The die that the kernel says a CPU is in: where a package has several domains with cores, each is
    /// a die of its own.
    pub(crate) fn die(&self, cpu: CpuId) -> Option<u32> {
        self.place(cpu).map(|place| place.domain)
    }

    /// How many parts of a package have a fabric with limits of its own: all power domains of the newer
    /// generation.
    pub(crate) fn fabrics(&self) -> u32 {
        if self.is.interface > 1 { self.domains() } else { 0 }
    }

    /// The package and the power domain of a CPU.
    pub(crate) fn seat(&self, cpu: CpuId) -> Option<(u32, u32)> {
        self.place(cpu).map(|place| (place.package, place.domain))
    }

    /// How many power domains a package has, those without cores among them.
    pub(super) fn domains(&self) -> u32 {
        self.is.modules.len() as u32 + self.is.io_domains
    }

    pub(super) fn exists(&self, (package, domain): At) -> bool {
        package < self.model.topology.packages && domain < self.domains()
    }

    /// A bit for each module of a domain.
    fn modules(&self, domain: u32) -> u64 {
        let count = self.is.modules.get(domain as usize).copied().unwrap_or(0);
        (0..count).fold(0, |mask, nth| mask | 1 << self.module_number(nth))
    }

    /// A bit for each of those modules that a domain has.
    pub(super) fn mask(&self, domain: u32, modules: Option<&CpuSet>) -> u64 {
        let all = self.modules(domain);
        let chosen = modules.map(|set| set.iter().fold(0u64, |mask, module| mask | 1 << module.0));
        chosen.map_or(all, |chosen| chosen & all)
    }

    fn held(&self, at: At, what: FirmwareItem) -> Option<u64> {
        let held = Held { at, what };
        self.model.settings.firmware(held).or_else(|| self.is.came_with.get(&held).copied())
    }

    /// What is as the machine came is not kept: what was put back leaves no trace.
    pub(super) fn hold(&self, at: At, what: FirmwareItem, value: u64) -> std::io::Result<()> {
        let came = match what {
            FirmwareItem::TurboLimits => self.turbo_limits_of_level(at.0),
            FirmwareItem::Class(_) => OPEN_CLASS,
            _ => 0,
        };
        let value = (value != came).then_some(value);
        self.model.settings.set_firmware(Held { at, what }, value)
    }

    pub(super) fn current(&self, at: At) -> u8 {
        self.held(at, FirmwareItem::Level).map_or(0, |level| level as u8)
    }

    pub(super) fn current_level(&self, at: At) -> Option<&'a Level> {
        self.is.level(self.current(at))
    }

    /// What is on: [`BASE_FREQ`], [`TURBO_FREQ`].
    pub(super) fn features(&self, at: At) -> u64 {
        self.held(at, FirmwareItem::Features).unwrap_or(0)
    }

    /// Switches to a level, which switches the features of levels off; of one with cores, the turbo limits
    /// of the package are those of the level again.
    pub(super) fn switch(&self, at: At, level: u8) -> std::io::Result<()> {
        self.hold(at, FirmwareItem::Level, level.into())?;
        self.hold(at, FirmwareItem::Features, 0)?;
        if (at.1 as usize) < self.is.modules.len() {
            let limits = self.turbo_limits_of_level(at.0);
            self.hold((at.0, 0), FirmwareItem::TurboLimits, limits)?;
        }
        Ok(())
    }

    /// Whether priorities can be switched off: nothing stands on them.
    pub(super) fn may_forget_priorities(&self, at: At) -> bool {
        self.features(at) == 0
    }

    /// Whether the firmware heeds priorities.
    pub(super) fn core_power(&self, at: At) -> bool {
        self.held(at, FirmwareItem::CorePower) == Some(1)
    }

    /// Interface 1: bit 1 priorities on, bit 2 in the order of classes. Others: bit 2 alone.
    pub(super) fn priorities(&self, at: At) -> u64 {
        self.held(at, FirmwareItem::Priorities).unwrap_or(0)
    }

    /// Bits 7:4 weight, 15:8 lowest, 23:16 highest ratio.
    pub(super) fn class(&self, at: At, class: u32) -> u64 {
        self.held(at, FirmwareItem::Class(class)).unwrap_or(OPEN_CLASS)
    }

    pub(super) fn association(&self, at: At, module: u32) -> u64 {
        self.held(at, FirmwareItem::Association(module)).unwrap_or(0)
    }

    /// Whether cores have the limits and the rank of their classes. Of interface 1 both switches must be on.
    fn heeds_classes(&self, at: At) -> bool {
        const ON: u64 = 1 << 1;
        self.core_power(at) && (self.is.interface > 1 || self.priorities(at) & ON != 0)
    }

    /// The clock that priorities leave a CPU under a licence, in hertz: classes have limits of their own, and
    /// with turbo frequencies of two kinds the lower classes are clipped.
    pub(crate) fn clip_hz(&self, cpu: CpuId, licence: usize) -> f64 {
        let Some(place) = self.place(cpu) else { return f64::INFINITY };
        let at = (place.package, place.domain);
        if !self.heeds_classes(at) {
            return f64::INFINITY;
        }
        let class = self.association(at, place.module);
        let highest = (self.class(at, class as u32) >> 16 & 0xff) as f64 * 1e8;
        // No core is slower than its lowest clock.
        let lowest = self.model.registers.map_or(0.0, |registers| registers.lowest_hz);
        let highest = highest.max(lowest);
        let clips = self.current_level(at).and_then(|level| level.turbo_freq.as_ref());
        let is_clipped = class >= LOW && self.features(at) & TURBO_FREQ != 0;
        let clip = clips.filter(|_| is_clipped).and_then(|it| it.clip_mhz.get(licence));
        clip.map_or(highest, |mhz| highest.min(f64::from(*mhz) * 1e6))
    }

    /// Register 1ADh, as set or as the level says.
    pub(crate) fn turbo_limits(&self, package: u32) -> u64 {
        let held = self.held((package, 0), FirmwareItem::TurboLimits);
        held.unwrap_or_else(|| self.turbo_limits_of_level(package))
    }

    /// Those of the first power domain, which stand for the package.
    fn turbo_limits_of_level(&self, package: u32) -> u64 {
        let level = self.current_level((package, 0));
        let first = level.and_then(|level| level.turbo_mhz.first());
        first.map_or(0, |limits| bytes(limits.iter().map(|mhz| mhz / 100)))
    }

    /// Register 1AEh.
    pub(crate) fn turbo_cores(&self) -> u64 {
        bytes(self.is.bucket_cores.iter().map(|cores| u16::from(*cores)))
    }

    /// What is written to register 1ADh holds at most while so many cores are active, in hertz.
    pub(crate) fn most_hz(&self, cpu: CpuId, active: u32) -> f64 {
        let place = self.place(cpu);
        let limits =
            place.and_then(|place| self.held((place.package, 0), FirmwareItem::TurboLimits));
        let ratio = limits.map_or(0, |limits| limits >> (8 * self.group(active)) & 0xff);
        if ratio == 0 { f64::INFINITY } else { ratio as f64 * 1e8 }
    }

    /// The group of so many active cores.
    fn group(&self, active: u32) -> usize {
        let cores = &self.is.bucket_cores;
        let group = cores.iter().position(|cores| u32::from(*cores) >= active);
        group.unwrap_or(cores.len() - 1)
    }

    /// How far a CPU may go while so many cores of its package are active, in hertz; none: the firmware
    /// has nothing to say beyond what the machine came with.
    pub(crate) fn turbo_hz(&self, cpu: CpuId, licence: usize, active: u32) -> Option<f64> {
        let place = self.place(cpu)?;
        let at = (place.package, place.domain);
        let level = self.current_level(at)?;
        let hertz = |mhz: &u16| f64::from(*mhz) * 1e6;
        let group = self.group(active);
        if self.features(at) & TURBO_FREQ == 0 || !self.heeds_classes(at) {
            let limits = level.turbo_mhz.get(licence).filter(|_| level.number > 0)?;
            return limits.get(group).map(hertz);
        }
        let it = level.turbo_freq.as_ref()?;
        let modules = self.modules(place.domain);
        let is_first = |module: u32| self.association(at, module) < LOW;
        let first =
            (0..64).filter(|&module| modules >> module & 1 == 1 && is_first(module)).count();
        let limit = if is_first(place.module) {
            let group = it.bucket_cores.iter().position(|cores| usize::from(*cores) >= first)?;
            it.turbo_mhz.get(licence)?.get(group).map(hertz)?
        } else {
            it.clip_mhz.get(licence).map(hertz)?
        };
        // What is written to register 1ADh holds at most.
        let most = self.turbo_limits(place.package) >> (8 * group) & 0xff;
        Some(limit.min(most as f64 * 1e8))
    }

    /// The base frequency that the kernel shows for a CPU.
    pub(crate) fn base_mhz(&self, cpu: CpuId) -> Option<u16> {
        let place = self.place(cpu)?;
        let at = (place.package, place.domain);
        let level = self.current_level(at)?;
        let plain = level.base_mhz[0];
        let split = level.base_freq.as_ref().filter(|_| self.features(at) & BASE_FREQ != 0);
        Some(split.map_or(plain, |it| {
            let chosen = self.mask(place.domain, Some(&it.cores)) >> place.module & 1 == 1;
            if chosen { it.high_mhz } else { it.low_mhz }
        }))
    }
}

/// Up to eight, the first one lowest.
pub(super) fn bytes(values: impl Iterator<Item = u16>) -> u64 {
    values.take(8).enumerate().fold(0, |all, (place, value)| all | u64::from(value) << (8 * place))
}
