//! The registers behind the newer generation's interface, as debugfs writes them down.
//!
//! They answer as the driver would: what it makes of registers is here, and what is made of its answers
//! is elsewhere and the same for all.
//!
//! # Source
//! Linux, drivers/platform/x86/intel/vsec_tpmi.c (`mem_dump`) and
//! drivers/platform/x86/intel/speed_select_if/isst_tpmi_core.c (the places of fields).

use std::collections::BTreeSet;

use model::{Obstacle, Unavailable};
use sys::errno::ENOTTY;

use super::structures::{
    BUCKETS, BaseFreqInfo, ClosAssoc, ClosParam, CorePowerState, CpuMask, FabricInfo,
    InstanceCount, LICENCES, PerfLevelInfo, PerfLevels, PerfSetFeature, PerfSetLevel, PlatformInfo,
    TurboFreqInfo,
};
use super::tpmi::{self, COMMANDS_MAX, Tpmi};
use super::{Message, Refusal};
use crate::isst::layout::Layout;
use crate::ports::{Isst, IsstDevice, Reading, Tree};

const DEBUGFS: &str = "/sys/kernel/debug";
/// The feature's number.
const SPEED_SELECT: &str = "tpmi-id-05";
/// What tells which package a device belongs to.
const PLACE: &str = "tpmi-id-81";

/// The registers of all packages, each with its power domains. `None`: the domain reads all ones, so it
/// is not there.
#[derive(Debug, Clone, Default)]
pub struct TpmiRegisters {
    packages: Vec<Vec<Option<Domain>>>,
}

/// The registers of a power domain.
#[derive(Debug, Clone)]
struct Domain(Vec<u64>);

impl TpmiRegisters {
    /// What debugfs says. A package whose registers cannot be read keeps its place, without power domains.
    /// Where devices do not say which package is theirs, the order of PCI devices is that of packages.
    pub fn read(tree: &dyn Tree) -> Reading<TpmiRegisters> {
        let names = tree.list(DEBUGFS)?;
        let devices = names.iter().filter(|name| name.starts_with("tpmi-"));
        let has_it = |name: &&String| {
            let features = tree.list(&format!("{DEBUGFS}/{name}"));
            features.is_ok_and(|features| features.iter().any(|feature| feature == SPEED_SELECT))
        };
        let dump =
            |name: &str, feature| tree.read(&format!("{DEBUGFS}/{name}/{feature}/mem_dump")).ok();
        let devices: Vec<&String> = devices.filter(has_it).collect();
        let places = devices.iter().map(|name| package(&dump(name, PLACE)?));
        let places: Option<Vec<usize>> = places.collect();
        // Two that say the same leave no way to tell.
        let apart =
            |places: &Vec<usize>| places.iter().collect::<BTreeSet<_>>().len() == devices.len();
        let places = places.filter(apart).unwrap_or_else(|| (0..devices.len()).collect());
        let dumps: Vec<Option<String>> =
            devices.iter().map(|name| dump(name, SPEED_SELECT)).collect();
        if dumps.iter().all(Option::is_none) {
            let why = format!("there is no `{DEBUGFS}/tpmi-*/{SPEED_SELECT}/mem_dump`");
            return Err(Unavailable::new(Obstacle::Cpudyno, "Speed Select", why));
        }
        let mut packages = vec![Vec::new(); places.iter().max().map_or(0, |last| last + 1)];
        for (place, dump) in places.into_iter().zip(dumps) {
            packages[place] = domains(dump.as_deref().unwrap_or_default());
        }
        Ok(TpmiRegisters { packages })
    }

    fn domain(&self, package: u8, domain: u8) -> Option<&Domain> {
        self.packages.get(usize::from(package))?.get(usize::from(domain))?.as_ref()
    }
}

/// The package that a device belongs to: bits 23:16 of the second register.
///
/// # Source
/// Linux, drivers/platform/x86/intel/vsec_tpmi.c, `struct tpmi_info_header`.
fn package(dump: &str) -> Option<usize> {
    let blocks = blocks(dump);
    let header = blocks.first()?.get(1)?;
    usize::try_from(bits(*header, 16, 8)).ok()
}

/// The registers of every instance of a feature: a title for each, then lines of a place and words.
fn blocks(dump: &str) -> Vec<Vec<u64>> {
    let mut blocks: Vec<Vec<u32>> = Vec::new();
    for line in dump.lines() {
        if line.starts_with("TPMI Instance:") {
            blocks.push(Vec::new());
        } else if let (Some((_, words)), Some(block)) = (line.split_once(':'), blocks.last_mut()) {
            block.extend(
                words.split_whitespace().map_while(|word| u32::from_str_radix(word, 16).ok()),
            );
        }
    }
    let wide = |words: &[u32]| {
        let quad = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
        words.chunks_exact(2).map(quad).collect::<Vec<u64>>()
    };
    blocks.iter().map(|words| wide(words)).collect()
}

/// The power domains of a package.
fn domains(dump: &str) -> Vec<Option<Domain>> {
    let domain = |registers: Vec<u64>| {
        // An interface of version FFh is none.
        registers.first().is_some_and(|first| first & 0xff != 0xff).then_some(Domain(registers))
    };
    blocks(dump).into_iter().map(domain).collect()
}

/// Bits of a register.
fn bits(register: u64, start: u32, width: u32) -> u64 {
    register >> start & (u64::MAX >> (64 - width))
}

fn byte(register: u64, place: usize) -> u8 {
    (register >> (8 * place)) as u8
}

fn mhz(register: u64, place: usize) -> u16 {
    u16::from(byte(register, place)) * 100
}

impl Domain {
    /// The register at that place, in units of 8 bytes; what is beyond the end reads as zero.
    fn at(&self, place: u64) -> u64 {
        usize::try_from(place).ok().and_then(|place| self.0.get(place)).copied().unwrap_or(0)
    }

    fn has(&self, feature: u32) -> bool {
        bits(self.at(0), 8 + feature, 1) == 1
    }

    /// A register of priorities and classes.
    fn cp(&self, place: u64) -> u64 {
        self.at(bits(self.at(0), 16, 8) + place)
    }

    /// A register of levels.
    fn pp(&self, place: u64) -> u64 {
        self.at(bits(self.at(0), 24, 8) + place)
    }

    /// A register of a level: of its own (0), its base frequencies (1), its turbo frequencies (2).
    fn of_level(&self, level: u16, part: usize, place: u64) -> u64 {
        let level = u64::from(byte(self.pp(2), usize::from(level)));
        self.pp(level + u64::from(byte(self.pp(1), part)) + place)
    }

    fn level_mask(&self) -> u8 {
        bits(self.pp(0), 12, 8) as u8
    }

    fn max_level(&self) -> u8 {
        self.level_mask().checked_ilog2().unwrap_or(0) as u8
    }

    /// Offsets are there for five levels.
    fn has_level(&self, level: u16) -> bool {
        level < 5 && self.level_mask() >> level & 1 == 1
    }

    /// Levels that have a part.
    fn supporting(&self, part: usize) -> u8 {
        let supports = |level: &u8| bits(self.of_level((*level).into(), part, 0), 12, 1) == 1;
        (0..=self.max_level()).filter(supports).fold(0, |mask, level| mask | 1 << level)
    }
}

impl Tpmi for TpmiRegisters {
    fn instances(&self, of: &mut InstanceCount) -> bool {
        let Some(domains) = self.packages.get(usize::from(of.socket)) else { return false };
        let valid = domains.iter().enumerate().filter(|(_, domain)| domain.is_some());
        of.valid = valid.fold(0, |mask, (place, _)| mask | 1 << place);
        of.count = if of.valid == 0 { 0 } else { domains.len() as u8 };
        true
    }

    fn core_power(&self, of: &mut CorePowerState) -> bool {
        let Some(domain) = self.domain(of.socket, of.domain).filter(|_| of.set == 0) else {
            return false;
        };
        of.supported = domain.has(0).into();
        let status = if domain.has(0) { domain.cp(2) } else { 0 };
        of.enable = bits(status, 0, 1) as u8;
        of.priority_type = bits(status, 1, 1) as u8;
        true
    }

    fn class(&self, of: &mut ClosParam) -> bool {
        let Some(domain) = self.domain(of.socket, of.domain).filter(|_| of.set == 0 && of.clos < 4)
        else {
            return false;
        };
        let register = domain.cp(3 + u64::from(of.clos));
        of.weight = bits(register, 4, 4) as u8;
        of.min_mhz = mhz(register, 1);
        of.max_mhz = mhz(register, 2);
        true
    }

    fn association(&self, of: &mut ClosAssoc, set: bool) -> bool {
        /// Four bits for each of them.
        const CORES_IN_REGISTER: u16 = 16;
        let readable = !set && of.core < 64 && of.clos < 4;
        let Some(domain) = self.domain(of.socket, of.domain).filter(|_| readable) else {
            return false;
        };
        let register = domain.cp(7 + u64::from(of.core / CORES_IN_REGISTER));
        of.clos = bits(register, u32::from(of.core % CORES_IN_REGISTER) * 4, 4) as u16;
        true
    }

    fn levels(&self, of: &mut PerfLevels) -> bool {
        let Some(domain) = self.domain(of.socket, of.domain) else { return false };
        let status = domain.pp(4);
        of.max_level = domain.max_level();
        of.feature_rev = bits(domain.pp(0), 4, 8) as u8;
        of.level_mask = domain.level_mask();
        of.current_level = bits(status, 0, 3) as u8;
        of.feature_state = bits(status, 8, 8) as u8;
        of.locked = bits(status, 3, 1) as u8;
        of.enabled = domain.has(1).into();
        of.base_freq_support = domain.supporting(1);
        of.turbo_freq_support = domain.supporting(2);
        true
    }

    fn set_level(&self, _to: PerfSetLevel) -> bool {
        false
    }

    fn set_feature(&self, _to: PerfSetFeature) -> bool {
        false
    }

    fn level(&self, of: &mut PerfLevelInfo) -> bool {
        let Some(domain) =
            self.domain(of.socket, of.domain).filter(|domain| domain.has_level(of.level))
        else {
            return false;
        };
        let register = |place| domain.of_level(of.level, 0, place);
        let (base, limits, ratios) = (register(0), register(1), register(11));
        of.tdp_ratio = byte(base, 0).into();
        [of.base_mhz, of.base_avx2_mhz, of.base_avx512_mhz, of.base_amx_mhz] =
            std::array::from_fn(|place| mhz(base, place));
        of.tdp_watts = (bits(limits, 32, 15) / 8) as u16;
        of.tjunction_max_c = bits(limits, 47, 8) as u16;
        of.memory_mhz = bits(limits, 55, 7) as u16 * 100;
        of.cooling = bits(limits, 62, 2) as u16;
        [of.p0_mhz, of.p1_mhz, of.pn_mhz, of.pm_mhz] =
            std::array::from_fn(|place| mhz(ratios, place));
        [of.fabric_p0_mhz, of.fabric_p1_mhz, of.fabric_pm_mhz] =
            std::array::from_fn(|place| mhz(ratios, 4 + place));
        of.max_buckets = BUCKETS as u16;
        of.max_trl_levels = LICENCES as u16;
        of.bucket_cores = std::array::from_fn(|place| byte(register(10), place).into());
        of.trl_mhz = std::array::from_fn(|licence| {
            let limits = register(4 + licence as u64);
            std::array::from_fn(|place| mhz(limits, place))
        });
        true
    }

    fn cores(&self, of: &mut CpuMask) -> bool {
        let Some(domain) = self.domain(of.socket, of.domain) else { return false };
        of.mask = domain.of_level(of.level.into(), 0, 2);
        true
    }

    fn base_freq(&self, of: &mut BaseFreqInfo) -> bool {
        let Some(domain) = self.domain(of.socket, of.domain) else { return false };
        if of.level > domain.max_level().into() {
            return false;
        }
        let register = domain.of_level(of.level, 1, 0);
        of.high_mhz = bits(register, 13, 8) as u16 * 100;
        of.low_mhz = bits(register, 21, 8) as u16 * 100;
        of.tjunction_max_c = bits(register, 38, 8) as u16;
        of.tdp_watts = (bits(register, 46, 15) / 8) as u16;
        true
    }

    fn base_freq_cores(&self, of: &mut CpuMask) -> bool {
        let Some(domain) = self.domain(of.socket, of.domain) else { return false };
        of.mask = domain.of_level(of.level.into(), 1, 1);
        true
    }

    fn turbo_freq(&self, of: &mut TurboFreqInfo) -> bool {
        let Some(domain) = self.domain(of.socket, of.domain) else { return false };
        if of.level > domain.max_level().into() {
            return false;
        }
        let register = |place| domain.of_level(of.level, 2, place);
        of.max_clips = LICENCES as u16;
        of.max_buckets = BUCKETS as u16;
        of.max_trl_levels = LICENCES as u16;
        of.clip_mhz = std::array::from_fn(|licence| mhz(register(0), 2 + licence));
        of.bucket_cores = std::array::from_fn(|place| byte(register(1), place).into());
        of.trl_mhz = std::array::from_fn(|licence| {
            let limits = register(2 + licence as u64);
            std::array::from_fn(|place| mhz(limits, place))
        });
        true
    }

    /// Where they lie is known to newer drivers only.
    fn fabrics(&self, _of: &mut FabricInfo) -> bool {
        false
    }
}

impl IsstDevice for TpmiRegisters {
    fn call(&self, message: &mut Message) -> Result<u32, Refusal> {
        let number = message.request().number;
        match number {
            0 => {
                let commands_max = COMMANDS_MAX as u16;
                let info = PlatformInfo { api_version: 3, commands_max, ..Default::default() };
                info.to_bytes(message.argument());
                Ok(0)
            }
            // The CPUs' own registers are elsewhere.
            1 | 4 => Err(Refusal::Unavailable(Unavailable::new(
                Obstacle::Cpudyno,
                "Speed Select",
                "the registers of debugfs do not say it",
            ))),
            2 | 3 => Err(Refusal::Errno(ENOTTY)),
            _ => tpmi::call(self, number, message.argument()).map_err(Refusal::Errno),
        }
    }
}

impl Isst for TpmiRegisters {
    fn open(&self) -> Reading<Box<dyn IsstDevice + '_>> {
        Ok(Box::new(self.clone()))
    }
}
