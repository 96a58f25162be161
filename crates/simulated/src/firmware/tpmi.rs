//! The firmware of the newer generation, behind the driver's structures.

use sys::isst::structures::{
    BUCKETS, BaseFreqInfo, ClosAssoc, ClosParam, CorePowerState, CpuMask, FabricInfo,
    InstanceCount, LICENCES, PerfLevelInfo, PerfLevels, PerfSetFeature, PerfSetLevel,
    TurboFreqInfo,
};

use super::state::Firmware;
use crate::description::speed_select::Level;
use crate::state::{At, FirmwareItem};
use crate::tpmi::Tpmi;

impl Firmware<'_> {
    /// The power domain, where it is there and nothing goes wrong with this ioctl.
    fn at(&self, number: u8, package: u8, domain: u8) -> Option<At> {
        self.kept_at(number, package, domain).map(|(at, _)| at)
    }

    /// The same, and whether what this ioctl sets is kept.
    fn kept_at(&self, number: u8, package: u8, domain: u8) -> Option<(At, bool)> {
        let at = (package.into(), domain.into());
        let sticks = self.harmed(&format!("tpmi/{number}")).ok()?;
        self.exists(at).then_some((at, sticks))
    }

    /// Levels with the given part, as interface 3 says it, or interface 2.
    fn supporting(&self, (_, domain): At, has: impl Fn(&Level) -> bool) -> u8 {
        if domain as usize >= self.is.modules.len() {
            return 0;
        }
        let mask = self.mask_of(has);
        if self.is.interface < 3 { u8::from(mask != 0) } else { mask }
    }

    fn mask_of(&self, has: impl Fn(&Level) -> bool) -> u8 {
        let levels = self.is.level.iter().filter(|level| has(level));
        levels.fold(0, |mask, level| mask | 1 << level.number)
    }

    fn is_compute(&self, domain: u8) -> bool {
        usize::from(domain) < self.is.modules.len()
    }
}

impl Tpmi for Firmware<'_> {
    fn instances(&self, of: &mut InstanceCount) -> bool {
        if self.at(5, of.socket, 0).is_none() {
            return false;
        }
        of.count = self.domains() as u8;
        of.valid = (1 << self.domains()) - 1;
        true
    }

    fn core_power(&self, of: &mut CorePowerState) -> bool {
        let Some((at, sticks)) = self.kept_at(6, of.socket, of.domain) else { return false };
        if of.set == 1 {
            let fits = self.is.core_power && of.enable <= 1 && of.priority_type <= 1;
            let is_on = self.core_power(at);
            let may_be = of.enable == 1 || !is_on || self.may_forget_priorities(at);
            return fits
                && may_be
                && (!sticks
                    || self.hold(at, FirmwareItem::CorePower, of.enable.into()).is_ok()
                        && self
                            .hold(at, FirmwareItem::Priorities, u64::from(of.priority_type) << 2)
                            .is_ok());
        }
        of.supported = self.is.core_power.into();
        of.enable = self.core_power(at).into();
        of.priority_type = (self.priorities(at) >> 2 & 1) as u8;
        true
    }

    fn class(&self, of: &mut ClosParam) -> bool {
        let Some((at, sticks)) = self.kept_at(7, of.socket, of.domain) else { return false };
        if of.clos > 3 || !self.is.core_power {
            return false;
        }
        if of.set == 1 {
            let [min, max] = [of.min_mhz, of.max_mhz].map(|mhz| u64::from((mhz / 100) & 0xff));
            let word = u64::from(of.weight & 0xf) << 4 | min << 8 | max << 16;
            let what = FirmwareItem::Class(of.clos.into());
            return !sticks || self.hold(at, what, word).is_ok();
        }
        let word = self.class(at, of.clos.into());
        of.weight = (word >> 4 & 0xf) as u8;
        of.min_mhz = (word >> 8 & 0xff) as u16 * 100;
        of.max_mhz = (word >> 16 & 0xff) as u16 * 100;
        true
    }

    fn association(&self, of: &mut ClosAssoc, set: bool) -> bool {
        let Some((at, sticks)) = self.kept_at(8, of.socket, of.domain) else { return false };
        if of.core > 63 || of.clos > 3 || !self.is.core_power {
            return false;
        }
        if set {
            let what = FirmwareItem::Association(of.core.into());
            return !sticks || self.hold(at, what, of.clos.into()).is_ok();
        }
        of.clos = self.association(at, of.core.into()) as u16;
        true
    }

    fn levels(&self, of: &mut PerfLevels) -> bool {
        let Some(at) = self.at(9, of.socket, of.domain) else { return false };
        of.max_level = self.is.level.last().map_or(0, |level| level.number);
        of.feature_rev = self.is.revision;
        of.level_mask = self.mask_of(|_| true);
        of.current_level = self.current(at);
        of.feature_state = self.features(at) as u8;
        of.locked = self.is.locked.into();
        of.enabled = (!self.is.without_levels.contains(&at.1)).into();
        of.base_freq_support = self.supporting(at, |level| level.base_freq.is_some());
        of.turbo_freq_support = self.supporting(at, |level| level.turbo_freq.is_some());
        true
    }

    fn set_level(&self, to: PerfSetLevel) -> bool {
        let Some((at, sticks)) = self.kept_at(10, to.socket, to.domain) else { return false };
        let level = self.is.level(to.level).filter(|level| level.allowed && self.is.dynamic);
        let refused = level.is_none() || self.is.locked || self.current(at) == to.level;
        // The driver waits until the level is there.
        !refused && sticks && self.switch(at, to.level).is_ok()
    }

    /// What the level does not support stays off.
    fn set_feature(&self, to: PerfSetFeature) -> bool {
        let Some((at, sticks)) = self.kept_at(11, to.socket, to.domain) else { return false };
        if to.feature > 3 {
            return false;
        }
        let level = self.current_level(at).filter(|_| self.is_compute(to.domain));
        let has = level.map_or(0, |level| {
            u8::from(level.base_freq.is_some()) | u8::from(level.turbo_freq.is_some()) << 1
        });
        let is_one_too_many = to.feature == 3 && self.is.exclusive_features;
        is_one_too_many
            || !sticks
            || self.hold(at, FirmwareItem::Features, (to.feature & has).into()).is_ok()
    }

    fn level(&self, of: &mut PerfLevelInfo) -> bool {
        let level = self.at(12, of.socket, of.domain).and(self.is.level(of.level));
        let Some(level) = level else { return false };
        let highest = level.turbo_mhz.first().map_or(0, |limits| limits[0]);
        of.tdp_ratio = level.base_mhz[0] / 100;
        [of.base_mhz, of.base_avx2_mhz, of.base_avx512_mhz, of.base_amx_mhz] = level.base_mhz;
        of.tdp_watts = level.tdp_watts;
        of.tjunction_max_c = level.tjunction_max_c.into();
        of.memory_mhz = level.memory;
        of.cooling = level.cooling.into();
        [of.p0_mhz, of.p1_mhz, of.pn_mhz, of.pm_mhz] = [highest, level.base_mhz[0], 800, 500];
        [of.fabric_p0_mhz, of.fabric_p1_mhz, of.fabric_pm_mhz] = level.fabric_mhz;
        of.max_buckets = BUCKETS as u16;
        of.max_trl_levels = LICENCES as u16;
        of.bucket_cores = [0; BUCKETS];
        of.trl_mhz = [[0; BUCKETS]; LICENCES];
        if self.is_compute(of.domain) {
            of.bucket_cores = self.is.bucket_cores.map(u16::from);
            for (to, limits) in of.trl_mhz.iter_mut().zip(&level.turbo_mhz) {
                *to = *limits;
            }
        }
        true
    }

    fn cores(&self, of: &mut CpuMask) -> bool {
        let Some((_, domain)) = self.at(13, of.socket, of.domain) else { return false };
        let level = self.is.level(of.level);
        of.mask = level.map_or(0, |level| self.mask(domain, level.cores.as_ref()));
        true
    }

    fn base_freq(&self, of: &mut BaseFreqInfo) -> bool {
        if self.at(14, of.socket, of.domain).is_none() || !self.is_compute(of.domain) {
            return false;
        }
        let level = self.is.level(of.level).and_then(|level| level.base_freq.as_ref());
        let Some(it) = level else { return false };
        of.high_mhz = it.high_mhz;
        of.low_mhz = it.low_mhz;
        of.tjunction_max_c = it.tjunction_max_c.into();
        of.tdp_watts = it.tdp_watts;
        true
    }

    fn base_freq_cores(&self, of: &mut CpuMask) -> bool {
        let Some((_, domain)) = self.at(15, of.socket, of.domain) else { return false };
        let level = self.is.level(of.level).and_then(|level| level.base_freq.as_ref());
        of.mask = level.map_or(0, |it| self.mask(domain, Some(&it.cores)));
        true
    }

    fn turbo_freq(&self, of: &mut TurboFreqInfo) -> bool {
        if self.at(16, of.socket, of.domain).is_none() || !self.is_compute(of.domain) {
            return false;
        }
        let level = self.is.level(of.level).and_then(|level| level.turbo_freq.as_ref());
        let Some(it) = level else { return false };
        *of = TurboFreqInfo {
            max_clips: LICENCES as u16,
            max_buckets: BUCKETS as u16,
            max_trl_levels: LICENCES as u16,
            socket: of.socket,
            domain: of.domain,
            level: of.level,
            ..TurboFreqInfo::default()
        };
        for (to, mhz) in of.clip_mhz.iter_mut().zip(&it.clip_mhz) {
            *to = *mhz;
        }
        for (to, cores) in of.bucket_cores.iter_mut().zip(&it.bucket_cores) {
            *to = (*cores).into();
        }
        for (to, limits) in of.trl_mhz.iter_mut().zip(&it.turbo_mhz) {
            for (to, mhz) in to.iter_mut().zip(limits) {
                *to = *mhz;
            }
        }
        true
    }

    /// Hardware of that revision tells it, and this one has a single fabric.
    fn fabrics(&self, of: &mut FabricInfo) -> bool {
        let level = self.at(17, of.socket, of.domain).and(self.is.level(of.level));
        let Some(level) = level.filter(|_| self.is.revision >= 2) else { return false };
        of.max_fabrics = 1;
        [of.p0_mhz[0], of.p1_mhz[0], of.pm_mhz[0]] = level.fabric_mhz;
        true
    }
}
