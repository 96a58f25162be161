//! The registers behind the newer generation's interface, as debugfs writes them down.
//!
//! They answer as the driver would: what it makes of registers is here, and what is made of its answers
//! is elsewhere and the same for all.
//!
//! # Source
//! Linux, drivers/platform/x86/intel/vsec_tpmi.c (`mem_dump`) and
//! drivers/platform/x86/intel/speed_select_if/isst_tpmi_core.c (the places of fields).

use std::collections::BTreeSet;

use model::{Obstacle, Reading, Unavailable};
use simulated::files::missing;
use simulated::tpmi::Tpmi;
use sys::isst::structures::{
    BUCKETS, BaseFreqInfo, ClosAssoc, ClosParam, CorePowerState, CpuMask, FabricInfo,
    InstanceCount, LICENCES, PerfLevelInfo, PerfLevels, PerfSetFeature, PerfSetLevel,
    TurboFreqInfo,
};

use super::recorded::CAPTURE_AS_ROOT;
use crate::ports::Tree;

const DEBUGFS: &str = "/sys/kernel/debug";
/// The feature's number.
const SPEED_SELECT: &str = "tpmi-id-05";
/// What tells which package a device belongs to.
const PLACE: &str = "tpmi-id-81";

/// The registers of all packages, each with its power domains. `None`: the domain reads all ones, so it
/// is not there.
#[derive(Debug, Clone, Default)]
pub(super) struct TpmiRegisters {
    packages: Vec<Vec<Option<Domain>>>,
}

/// The registers of a power domain.
#[derive(Debug, Clone)]
struct Domain(Vec<u64>);

impl TpmiRegisters {
    /// What debugfs says. A package whose registers cannot be read keeps its place, without power domains.
    /// Where devices do not say which package is theirs, the order of PCI devices is that of packages.
    pub(super) fn read(tree: &dyn Tree) -> Reading<TpmiRegisters> {
        let names = tree.list(DEBUGFS).map_err(|reason| absent(reason, DEBUGFS))?;
        let path = |name: &str| format!("{DEBUGFS}/{name}");
        let has_it = |name: &&String| {
            let features = tree.list(&path(name));
            features.is_ok_and(|features| features.iter().any(|feature| feature == SPEED_SELECT))
        };
        let devices = names.iter().filter(|name| name.starts_with("tpmi-"));
        let devices: Vec<&String> = devices.filter(has_it).collect();
        let dump = |name: &str, feature| format!("{}/{feature}/mem_dump", path(name));
        let places = devices.iter().map(|name| package(&tree.read(&dump(name, PLACE)).ok()?));
        let places: Option<Vec<usize>> = places.collect();
        // Two that say the same leave no way to tell.
        let apart =
            |places: &Vec<usize>| places.iter().collect::<BTreeSet<_>>().len() == devices.len();
        let places = places.filter(apart).unwrap_or_else(|| (0..devices.len()).collect());
        let dumps: Vec<Reading<String>> =
            devices.iter().map(|name| tree.read(&dump(name, SPEED_SELECT))).collect();
        if dumps.iter().all(Result::is_err) {
            let first = devices.iter().zip(&dumps).find_map(|(name, it)| {
                Some(absent(it.as_ref().err()?.clone(), &dump(name, SPEED_SELECT)))
            });
            return Err(first.unwrap_or_else(not_there));
        }
        let mut packages = vec![Vec::new(); places.iter().max().map_or(0, |last| last + 1)];
        for (place, dump) in places.into_iter().zip(dumps) {
            packages[place] = domains(&dump.unwrap_or_default());
        }
        Ok(TpmiRegisters { packages })
    }

    fn domain(&self, package: u8, domain: u8) -> Option<&Domain> {
        self.packages.get(usize::from(package))?.get(usize::from(domain))?.as_ref()
    }

    fn of_level(&self, package: u8, domain: u8, level: u16, part: usize) -> Option<&[u64]> {
        self.domain(package, domain)?.of_level(level, part)
    }
}

/// Why there are no registers: what may not be read is no absence.
fn absent(reason: Unavailable, path: &str) -> Unavailable {
    if reason == missing(path) {
        return not_there();
    }
    Unavailable { what: "Speed Select".to_owned(), ..reason }
}

fn not_there() -> Unavailable {
    let why = format!(
        "the files of this machine have no `{DEBUGFS}/tpmi-*/{SPEED_SELECT}/mem_dump`: CPUs before Sierra \
         Forest and Granite Rapids have no such registers, and only root may read them"
    );
    Unavailable::new(Obstacle::Cpudyno, "Speed Select", why).with_remedy(CAPTURE_AS_ROOT)
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

/// Eight digits; fewer are one that was cut off.
fn word(text: &str) -> Option<u32> {
    const DIGITS: usize = 8;
    u32::from_str_radix(text, 16).ok().filter(|_| text.len() == DIGITS)
}

/// The registers of every instance of a feature: a title for each, then lines of a place and words. A line that does
/// not go on where the last one ended comes behind damage.
fn blocks(dump: &str) -> Vec<Vec<u64>> {
    let mut blocks: Vec<Vec<u32>> = Vec::new();
    for line in dump.lines() {
        if line.starts_with("TPMI Instance:") {
            blocks.push(Vec::new());
        } else if let (Some((place, words)), Some(block)) =
            (line.split_once(':'), blocks.last_mut())
            && usize::from_str_radix(place.trim(), 16) == Ok(block.len() * size_of::<u32>())
        {
            block.extend(words.split_whitespace().map_while(word));
        }
    }
    let wide = |words: &[u32]| {
        let quad = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
        words.chunks_exact(2).map(quad).collect::<Vec<u64>>()
    };
    blocks.iter().map(|words| wide(words)).collect()
}

/// The most power domains of a package: the driver has a bit for each.
const DOMAINS_MAX: usize = u16::BITS as usize;

/// The power domains of a package.
fn domains(dump: &str) -> Vec<Option<Domain>> {
    let domain = |registers: Vec<u64>| {
        // An interface of version FFh is none.
        registers.first().is_some_and(|first| first & 0xff != 0xff).then_some(Domain(registers))
    };
    blocks(dump).into_iter().take(DOMAINS_MAX).map(domain).collect()
}

/// Offsets are there for so many levels.
const LEVELS_MAX: usize = 5;

/// Bits of a register.
fn bits(register: u64, start: u32, width: u32) -> u64 {
    register >> start & (u64::MAX >> (64 - width))
}

/// A byte of a register; beyond its end there is none.
fn byte(register: u64, place: usize) -> u8 {
    register.to_le_bytes().get(place).copied().unwrap_or(0)
}

fn mhz(register: u64, place: usize) -> u16 {
    u16::from(byte(register, place)) * 100
}

/// Turbo limits: a register for each licence, a byte for each group of cores.
fn limits_of(registers: &[u64]) -> [[u16; BUCKETS]; LICENCES] {
    std::array::from_fn(|licence| std::array::from_fn(|place| mhz(registers[licence], place)))
}

impl Domain {
    /// The register at that place, in units of 8 bytes; what is beyond the end reads as zero.
    fn at(&self, place: u64) -> u64 {
        usize::try_from(place).ok().and_then(|place| self.0.get(place)).copied().unwrap_or(0)
    }

    fn has(&self, feature: u32) -> bool {
        bits(self.at(0), 8 + feature, 1) == 1
    }

    /// A register of priorities and classes; none: it was cut off.
    fn cp(&self, place: u64) -> Option<u64> {
        self.0.get(usize::try_from(bits(self.at(0), 16, 8) + place).ok()?).copied()
    }

    /// A register of levels.
    fn pp(&self, place: u64) -> u64 {
        self.at(bits(self.at(0), 24, 8) + place)
    }

    /// The registers of a level: of its own (0), its base frequencies (1), its turbo frequencies (2). None: there is no
    /// such level, or they were cut off.
    fn of_level(&self, level: u16, part: usize) -> Option<&[u64]> {
        const REGISTERS: [u64; 3] = [12, 2, 8];
        let level = usize::from(level);
        if level >= LEVELS_MAX || self.level_mask() >> level & 1 == 0 {
            return None;
        }
        let start = bits(self.at(0), 24, 8)
            + u64::from(byte(self.pp(2), level))
            + u64::from(byte(self.pp(1), part));
        let end = start + REGISTERS[part];
        self.0.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    fn level_mask(&self) -> u8 {
        bits(self.pp(0), 12, 8) as u8
    }

    fn max_level(&self) -> u8 {
        self.level_mask().checked_ilog2().unwrap_or(0) as u8
    }

    /// Levels that have a part; none: it was cut off.
    fn supporting(&self, part: usize) -> Option<u8> {
        let levels = (0..LEVELS_MAX as u8).filter(|level| self.level_mask() >> level & 1 == 1);
        let supports = |mask, level: u8| {
            let first = self.of_level(level.into(), part)?.first()?;
            Some(mask | (bits(*first, 12, 1) as u8) << level)
        };
        levels.into_iter().try_fold(0, supports)
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
        let Some(status) = (if domain.has(0) { domain.cp(2) } else { Some(0) }) else {
            return false;
        };
        of.enable = bits(status, 0, 1) as u8;
        of.priority_type = bits(status, 1, 1) as u8;
        true
    }

    fn class(&self, of: &mut ClosParam) -> bool {
        let domain = self.domain(of.socket, of.domain).filter(|_| of.set == 0 && of.clos < 4);
        let Some(register) = domain.and_then(|domain| domain.cp(3 + u64::from(of.clos))) else {
            return false;
        };
        of.weight = bits(register, 4, 4) as u8;
        of.min_mhz = mhz(register, 1);
        of.max_mhz = mhz(register, 2);
        true
    }

    fn association(&self, of: &mut ClosAssoc, set: bool) -> bool {
        /// Four bits for each of them.
        const CORES_IN_REGISTER: u16 = 16;
        let readable = !set && of.core < 64 && of.clos < 4;
        let domain = self.domain(of.socket, of.domain).filter(|_| readable);
        let place = 7 + u64::from(of.core / CORES_IN_REGISTER);
        let Some(register) = domain.and_then(|domain| domain.cp(place)) else { return false };
        of.clos = bits(register, u32::from(of.core % CORES_IN_REGISTER) * 4, 4) as u16;
        true
    }

    fn levels(&self, of: &mut PerfLevels) -> bool {
        let Some(domain) = self.domain(of.socket, of.domain) else { return false };
        let (Some(base_freq), Some(turbo_freq)) = (domain.supporting(1), domain.supporting(2))
        else {
            return false;
        };
        let status = domain.pp(4);
        of.max_level = domain.max_level();
        of.feature_rev = bits(domain.pp(0), 4, 8) as u8;
        of.level_mask = domain.level_mask();
        of.current_level = bits(status, 0, 3) as u8;
        of.feature_state = bits(status, 8, 8) as u8;
        of.locked = bits(status, 3, 1) as u8;
        of.enabled = domain.has(1).into();
        of.base_freq_support = base_freq;
        of.turbo_freq_support = turbo_freq;
        true
    }

    fn set_level(&self, _to: PerfSetLevel) -> bool {
        false
    }

    fn set_feature(&self, _to: PerfSetFeature) -> bool {
        false
    }

    fn level(&self, of: &mut PerfLevelInfo) -> bool {
        let Some(registers) = self.of_level(of.socket, of.domain, of.level, 0) else {
            return false;
        };
        let (base, limits, ratios) = (registers[0], registers[1], registers[11]);
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
        of.bucket_cores = std::array::from_fn(|place| byte(registers[10], place).into());
        of.trl_mhz = limits_of(&registers[4..]);
        true
    }

    fn cores(&self, of: &mut CpuMask) -> bool {
        let registers = self.of_level(of.socket, of.domain, of.level.into(), 0);
        registers.is_some_and(|registers| {
            of.mask = registers[2];
            true
        })
    }

    fn base_freq(&self, of: &mut BaseFreqInfo) -> bool {
        let Some(&[register, _]) = self.of_level(of.socket, of.domain, of.level, 1) else {
            return false;
        };
        of.high_mhz = bits(register, 13, 8) as u16 * 100;
        of.low_mhz = bits(register, 21, 8) as u16 * 100;
        of.tjunction_max_c = bits(register, 38, 8) as u16;
        of.tdp_watts = (bits(register, 46, 15) / 8) as u16;
        true
    }

    fn base_freq_cores(&self, of: &mut CpuMask) -> bool {
        let registers = self.of_level(of.socket, of.domain, of.level.into(), 1);
        registers.is_some_and(|registers| {
            of.mask = registers[1];
            true
        })
    }

    fn turbo_freq(&self, of: &mut TurboFreqInfo) -> bool {
        let Some(registers) = self.of_level(of.socket, of.domain, of.level, 2) else {
            return false;
        };
        of.max_clips = LICENCES as u16;
        of.max_buckets = BUCKETS as u16;
        of.max_trl_levels = LICENCES as u16;
        of.clip_mhz = std::array::from_fn(|licence| mhz(registers[0], 2 + licence));
        of.bucket_cores = std::array::from_fn(|place| byte(registers[1], place).into());
        of.trl_mhz = limits_of(&registers[2..]);
        true
    }

    /// Where they lie is known to newer drivers only.
    fn fabrics(&self, _of: &mut FabricInfo) -> bool {
        false
    }
}
