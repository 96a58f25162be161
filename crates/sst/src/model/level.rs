//! Performance levels, and what belongs to them.

use model::Reading;

use super::{Celsius, Megahertz, Watts};

/// How many groups of active cores have turbo limits of their own.
pub const BUCKETS: usize = sys::isst::structures::BUCKETS;

/// The performance levels of a power domain.
#[derive(Debug, Clone, PartialEq)]
pub struct Profiles {
    /// Revision of the interface.
    pub revision: Reading<u8>,
    /// The highest level.
    pub highest: u8,
    /// Which levels there are, a bit each.
    pub mask: u8,
    /// The level at present.
    pub current: u8,
    /// Whether it stays until the next reset.
    pub locked: bool,
    /// Whether register 64Bh locks it as well, where that was asked: the older generation has it.
    pub locked_by_register: Option<Reading<bool>>,
    /// Whether it can be chosen while the machine runs.
    pub dynamic: bool,
    /// What is on, where it is said together with the levels: it belongs to the one at present.
    pub on: Option<On>,
    /// Those that were asked for.
    pub levels: Vec<Level>,
}

/// What is on at the level at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct On {
    /// Turbo frequencies of two kinds of cores.
    pub turbo_freq: bool,
    /// Base frequencies of two kinds of cores.
    pub base_freq: bool,
}

impl Profiles {
    /// The numbers of all levels that there are.
    pub fn numbers(&self) -> impl Iterator<Item = u8> + use<> {
        let mask = self.mask;
        (0..8).filter(move |level| mask >> level & 1 == 1)
    }

    /// The level of that number, where it was asked for.
    pub fn level(&self, number: u8) -> Option<&Level> {
        self.levels.iter().find(|level| level.number == number)
    }
}

/// A performance level. What was not asked for is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Its number.
    pub number: u8,
    /// What it supports, and what is on.
    pub features: Reading<Features>,
    /// Cores, frequencies, power.
    pub properties: Option<Properties>,
    /// Base frequencies of two kinds of cores.
    pub base_freq: Option<Reading<BaseFreq>>,
    /// Turbo frequencies of two kinds of cores.
    pub turbo_freq: Option<Reading<TurboFreq>>,
}

/// What a level supports, and what is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Turbo frequencies of two kinds of cores.
    pub turbo_freq: Feature,
    /// Base frequencies of two kinds of cores.
    pub base_freq: Feature,
}

/// Whether a feature is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// It cannot be.
    Unsupported,
    /// It is off.
    Disabled,
    /// It is on.
    Enabled,
}

impl Feature {
    /// What two bits say.
    pub(crate) fn of(supported: bool, enabled: bool) -> Feature {
        match (supported, enabled) {
            (false, _) => Feature::Unsupported,
            (true, false) => Feature::Disabled,
            (true, true) => Feature::Enabled,
        }
    }

    /// The same, on or off where it can be.
    pub(crate) fn with(self, on: bool) -> Feature {
        Feature::of(self != Feature::Unsupported, on)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Feature::Unsupported => "unsupported",
            Feature::Disabled => "disabled",
            Feature::Enabled => "enabled",
        }
    }
}

/// A licence: what instructions cores may execute at a frequency. They come as a list, because
/// generations differ in how many there are and what they are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Licence {
    /// Its number.
    pub number: u8,
    /// `sse`, `avx2`, ...; `level-0` and so on where it has none.
    pub name: &'static str,
}

pub(crate) const NAMED: [&str; 4] = ["sse", "avx2", "avx512", "amx"];
const NUMBERED: [&str; 6] = ["level-0", "level-1", "level-2", "level-3", "level-4", "level-5"];

impl Licence {
    /// The first ones, with the names of instruction sets.
    pub(crate) fn named(count: usize) -> impl Iterator<Item = Licence> {
        Licence::of(&NAMED, count)
    }

    /// The first ones, with numbers.
    pub(crate) fn numbered(count: usize) -> impl Iterator<Item = Licence> {
        Licence::of(&NUMBERED, count)
    }

    fn of(names: &'static [&'static str], count: usize) -> impl Iterator<Item = Licence> {
        (0..).zip(names).take(count).map(|(number, name)| Licence { number, name })
    }
}

/// A frequency under a licence; none: the firmware gives none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerLicence {
    /// The licence.
    pub licence: Licence,
    /// The frequency.
    pub frequency: Option<Megahertz>,
}

/// A bit for each core, or module, of a power domain, by the hardware's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Modules(pub u64);

impl Modules {
    /// Whether a module is among them.
    pub fn contains(self, module: u32) -> bool {
        module < u64::BITS && self.0 >> module & 1 == 1
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// Cores, frequencies and power of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct Properties {
    /// The cores, or modules, that it allows.
    pub modules: Reading<Modules>,
    /// Base frequency as a multiple of 100 MHz, which the thermal design power stands for.
    pub tdp_ratio: Reading<u8>,
    /// Base frequencies.
    pub base: Reading<Vec<PerLicence>>,
    /// Thermal design power.
    pub tdp: Reading<Watts>,
    /// The least and the most power of the package.
    pub power: Reading<[Watts; 2]>,
    /// The highest temperature.
    pub temperature: Reading<Celsius>,
    /// Frequencies of the fabrics, in order of their numbers.
    pub fabrics: Reading<Vec<Fabric>>,
    /// The highest rate of memory.
    pub memory: Reading<Megahertz>,
    /// How it is cooled.
    pub cooling: Reading<u8>,
    /// Up to how many active cores each group of turbo limits goes.
    pub bucket_cores: Reading<[u16; BUCKETS]>,
    /// Turbo limits, by licence.
    pub turbo: Vec<TurboLimits>,
}

/// Frequencies of a fabric; none: not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fabric {
    /// The lowest one.
    pub lowest: Option<Megahertz>,
    /// The one that is guaranteed.
    pub guaranteed: Option<Megahertz>,
    /// The highest one.
    pub highest: Option<Megahertz>,
}

/// Turbo limits under a licence, by group of active cores.
#[derive(Debug, Clone, PartialEq)]
pub struct TurboLimits {
    /// The licence.
    pub licence: Licence,
    /// The limits, in the order of groups.
    pub limits: Reading<[Option<Megahertz>; BUCKETS]>,
}

/// Base frequencies of two kinds of cores (SST-BF).
#[derive(Debug, Clone, PartialEq)]
pub struct BaseFreq {
    /// Who gets the higher one.
    pub modules: Modules,
    /// The higher one.
    pub high: Option<Megahertz>,
    /// The lower one.
    pub low: Option<Megahertz>,
    /// The highest temperature.
    pub temperature: Reading<Celsius>,
    /// Thermal design power.
    pub tdp: Reading<Watts>,
}

/// Turbo frequencies of two kinds of cores (SST-TF).
#[derive(Debug, Clone, PartialEq)]
pub struct TurboFreq {
    /// Groups of chosen cores, ascending.
    pub buckets: Vec<Bucket>,
    /// Limits of the others.
    pub clips: Vec<PerLicence>,
}

/// A group of chosen cores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Up to how many of them.
    pub cores: u16,
    /// Their limits.
    pub limits: Vec<PerLicence>,
}
