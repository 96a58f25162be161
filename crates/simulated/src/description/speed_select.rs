//! What the description of a simulated machine may say of its Speed Select.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::CpuSet;
use serde::Deserialize;
use sys::isst::structures::{BUCKETS, LICENCES};

use crate::faults::{FirmwareFault, Harm};
use crate::state::Held;

/// Its firmware and the driver in front of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own in the description")]
pub struct SpeedSelect {
    /// Version of the driver's interface: 1 has a mailbox and registers in memory, 2 and 3 have power
    /// domains, 0 has found no hardware.
    pub interface: u16,
    /// Revision of performance levels.
    pub revision: u8,
    /// Whether the level can be chosen while the machine runs.
    #[serde(default)]
    pub dynamic: bool,
    /// Whether it stays as it is until the next reset.
    #[serde(default)]
    pub locked: bool,
    /// Power domains that say that they have no levels; interfaces 2 and 3.
    #[serde(default)]
    pub without_levels: Vec<u32>,
    /// Whether cores can have priorities.
    #[serde(default)]
    pub core_power: bool,
    /// Whether base and turbo frequencies of two kinds of cores exclude each other.
    #[serde(default)]
    pub exclusive_features: bool,
    /// How many modules each power domain of a package has; a die each in interface 1.
    pub modules: Vec<u32>,
    /// How many cores share a module.
    #[serde(default = "one")]
    pub cores_per_module: u32,
    /// The hardware's numbers of modules, where some are missing; absent: from 0 on.
    pub module_numbers: Option<CpuSet>,
    /// Power domains of a package that have no cores.
    #[serde(default)]
    pub io_domains: u32,
    /// Up to how many active cores each group of turbo limits goes.
    pub bucket_cores: [u8; BUCKETS],
    /// Its levels, ascending.
    pub level: Vec<Level>,
    /// What was set on it before anybody looks, such as `"0.0/priorities" = 6`.
    #[serde(default)]
    pub came_with: BTreeMap<Held, u64>,
    /// What goes wrong.
    #[serde(default)]
    pub fault: Vec<FirmwareFault>,
    /// How often it has gone wrong. Clones share it.
    #[serde(skip)]
    pub(crate) strikes: Strikes,
}

const fn one() -> u32 {
    1
}

/// A level.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Its number.
    pub number: u8,
    /// Whether it can be chosen; else it is only described.
    #[serde(default = "yes")]
    pub allowed: bool,
    /// The hardware's numbers of the modules that it allows; absent: all.
    pub cores: Option<CpuSet>,
    /// Base frequencies: plain, AVX2, AVX-512, AMX; 0: not given.
    pub base_mhz: [u16; 4],
    /// Thermal design power.
    pub tdp_watts: u16,
    /// The least and the most power of the package.
    pub power_watts: Option<[u16; 2]>,
    /// The highest temperature.
    pub tjunction_max_c: u8,
    /// The fabric: highest, guaranteed, lowest; 0: older firmware, which does not tell.
    pub fabric_mhz: [u16; 3],
    /// The rate of memory: a code in interface 1, else MHz.
    pub memory: u16,
    /// How it is cooled.
    #[serde(default)]
    pub cooling: u8,
    /// Turbo limits by licence and group.
    pub turbo_mhz: Vec<[u16; BUCKETS]>,
    /// Base frequencies of two kinds of cores; absent: not at this level.
    pub base_freq: Option<BaseFreq>,
    /// Turbo frequencies of two kinds of cores; absent: not at this level.
    pub turbo_freq: Option<TurboFreq>,
}

const fn yes() -> bool {
    true
}

/// Base frequencies of two kinds of cores.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaseFreq {
    /// The modules that get the higher one.
    pub cores: CpuSet,
    /// The higher one.
    pub high_mhz: u16,
    /// The lower one.
    pub low_mhz: u16,
    /// Thermal design power.
    pub tdp_watts: u16,
    /// The highest temperature.
    pub tjunction_max_c: u8,
    /// Where the fans begin.
    #[serde(default)]
    pub tcontrol_c: u8,
}

/// Turbo frequencies of two kinds of cores.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurboFreq {
    /// Up to how many chosen cores each group goes.
    pub bucket_cores: Vec<u8>,
    /// Their limits, by licence and group.
    pub turbo_mhz: Vec<Vec<u16>>,
    /// The limits of the others, by licence.
    pub clip_mhz: Vec<u16>,
}

impl FirmwareFault {
    /// Whether there is such a call in that interface.
    fn is_sound(&self, interface: u16) -> bool {
        let older = interface == 1;
        let two = |text: &str| {
            let (first, second) = text.split_once('/')?;
            let number =
                |text: &str| (text.len() == 2).then(|| u16::from_str_radix(text, 16).ok())?;
            Some((number(first)?, number(second)?))
        };
        match self.on.as_str() {
            "map" | "msr" => interface > 0,
            "mmio" => older,
            on => match on.strip_prefix("tpmi/") {
                Some(number) => {
                    interface > 1 && number.parse().is_ok_and(|n| (5u8..=17).contains(&n))
                }
                None => older && two(on).is_some_and(|(command, sub)| passes(command, sub)),
            },
        }
    }
}

/// The driver lets these through: command, first and last sub-command.
const ALLOWED: &[(u16, u16, u16)] = &[
    (0xd0, 0x00, 0x03),
    (0x7f, 0x00, 0x0c),
    (0x7f, 0x10, 0x12),
    (0x7f, 0x20, 0x23),
    (0x94, 0x03, 0x03),
    (0x95, 0x03, 0x03),
];

/// Whether the driver lets a command through.
pub(crate) fn passes(command: u16, sub: u16) -> bool {
    ALLOWED.iter().any(|&(known, first, last)| known == command && (first..=last).contains(&sub))
}

/// Which calls came of the fault at each place; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Strikes(Arc<Mutex<BTreeMap<usize, u32>>>);

impl SpeedSelect {
    /// What becomes of this call, where something goes wrong.
    pub(crate) fn harm(&self, call: &str) -> Option<Harm> {
        self.fault.iter().enumerate().find_map(|(place, fault)| {
            if fault.on != call {
                return None;
            }
            let mut strikes = self.strikes.0.lock().unwrap_or_else(PoisonError::into_inner);
            let seen = strikes.entry(place).or_default();
            *seen += 1;
            let beyond = seen.checked_sub(fault.after).filter(|nth| *nth > 0)?;
            fault.times.is_none_or(|times| beyond <= times).then_some(fault.does)
        })
    }

    /// The level of that number.
    pub(crate) fn level(&self, number: impl Into<u32>) -> Option<&Level> {
        let number = number.into();
        self.level.iter().find(|level| u32::from(level.number) == number)
    }

    /// What is wrong with it, where the machine has so many cores in a package.
    pub(crate) fn check(&self, cores_per_package: u32) -> Result<(), String> {
        let modules: u32 = self.modules.iter().sum();
        let numbers = self.module_numbers.as_ref().map(CpuSet::len);
        let most = self.modules.iter().max().copied().unwrap_or(0);
        let ascending = self.level.windows(2).all(|pair| pair[0].number < pair[1].number);
        let rules = [
            ("interface", "must be 0..=3", self.interface <= 3),
            (
                "modules",
                "must hold the cores of a package",
                modules * self.cores_per_module == cores_per_package,
            ),
            ("io_domains", "must be 0 in interface 1", self.interface > 1 || self.io_domains == 0),
            ("modules", "must be 1..=64 in 1..=8 domains", most <= 64 && self.domains_fit()),
            (
                "module_numbers",
                "must be as many as a domain has at most, below 64",
                numbers.is_none_or(|numbers| numbers == most as usize)
                    && self.module_numbers.iter().flat_map(CpuSet::iter).all(|n| n.0 < 64),
            ),
            ("level", "must begin with 0 and ascend below 5", ascending && self.levels_fit()),
        ];
        let broken = rules.into_iter().find(|(_, _, met)| !met);
        if let Some((key, why, _)) = broken {
            return Err(format!("`speed_select.{key}` {why}"));
        }
        if let Some(fault) = self.fault.iter().find(|fault| !fault.is_sound(self.interface)) {
            return Err(format!(
                "`speed_select.fault` on `{}`: interface {} has no such call; calls are `map`, `msr`, \
                 `mmio` and `7f/00` of interface 1, and `tpmi/5` to `tpmi/17` of the others",
                fault.on, self.interface
            ));
        }
        let unfit = self.level.iter().find(|level| !level.is_sound());
        unfit.map_or(Ok(()), |level| {
            let number = level.number;
            Err(format!(
                "`speed_select.level` {number}: must have frequencies in steps of 100 MHz up to 25500, \
                 and at most {LICENCES} licences and {BUCKETS} groups"
            ))
        })
    }

    fn domains_fit(&self) -> bool {
        let all = self.modules.len() as u32 + self.io_domains;
        (1..=8).contains(&all) && self.modules.iter().all(|modules| *modules > 0)
    }

    fn levels_fit(&self) -> bool {
        self.level.first().is_some_and(|level| level.number == 0)
            && self.level.last().is_some_and(|level| level.number < 5)
    }
}

impl Level {
    fn is_sound(&self) -> bool {
        let turbo = self.turbo_mhz.iter().flatten();
        let base_freq = self.base_freq.iter().flat_map(|it| [&it.high_mhz, &it.low_mhz]);
        let turbo_freq =
            self.turbo_freq.iter().flat_map(|it| it.turbo_mhz.iter().flatten().chain(&it.clip_mhz));
        let all = turbo.chain(&self.base_mhz).chain(&self.fabric_mhz);
        let mut all = all.chain(base_freq).chain(turbo_freq);
        let fits = self.turbo_freq.as_ref().is_none_or(|it| {
            it.bucket_cores.len() <= BUCKETS
                && it.clip_mhz.len() <= LICENCES
                && it.turbo_mhz.len() <= LICENCES
                && it.turbo_mhz.iter().all(|limits| limits.len() == it.bucket_cores.len())
        });
        fits && self.turbo_mhz.len() <= LICENCES && all.all(|mhz| mhz % 100 == 0 && *mhz <= 25500)
    }
}
