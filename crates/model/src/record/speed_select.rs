//! Intel Speed Select in a record: what the firmware offered at one moment. Nothing of it is measured.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::quantity::Hertz;
use crate::unavailable::{Known, Unavailable};

/// What CPUs lack that are in no level.
pub const OUTSIDE: &str = "a part in the level";

/// Classes of service of each domain.
pub const CLASSES: u8 = 4;

/// What was asked, and what the firmware answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpeedSelect {
    /// What was asked.
    pub question: SpeedSelectQuestion,
    /// Which generation answered: `mailbox`, `tpmi`, or `cpufreq` where firmware has no interface;
    /// empty where nobody did.
    pub generation: String,
    /// What the driver says of itself; none: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<SpeedSelectDriver>,
    /// Which processor it is; none: nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorNumbers>,
    /// How many ioctls it took.
    pub ioctls: u32,
    /// The power domains that were asked, by package and number.
    pub domains: Vec<PowerDomain>,
    /// CPUs of which it is not known where they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unplaced: Vec<UnplacedCpus>,
    /// What else could not be read, such as the power domains of a package.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Unavailable>,
    /// Every ioctl with its answers, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Who would get which clock, where a change was thought through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectedClocks>,
    /// What to know of that change before it is made: what it does beside, or why it would be refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to_know: Vec<String>,
}

/// The clocks of CPUs that are alike, before a change and after it, by the firmware's numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpectedClocks {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The package that they are in.
    pub package: u32,
    /// As things are.
    pub now: ClockPair,
    /// As they would be; none: the level is without these CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<ClockPair>,
}

/// What a CPU is given for the weakest instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockPair {
    /// What is guaranteed.
    pub base: Known<Hertz>,
    /// Up to where it may go while all cores are at work.
    pub turbo: Known<Hertz>,
    /// What holds these below what the level gives; none: nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<ClockCeiling>,
}

/// A clock that a CPU does not exceed, whatever its level gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockCeiling {
    /// The clock.
    pub clock: Hertz,
    /// Who says so.
    pub by: CeilingBy,
}

/// Who holds a clock down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CeilingBy {
    /// The class of its core, by number.
    Class(u8),
    /// The kernel, by a limit that somebody set.
    Kernel,
    /// The turbo limits that hold at most, which somebody lowered.
    TurboLimits,
    /// Turbo is off: no clock is above its base frequency.
    NoTurbo,
}

/// A command with its options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpeedSelectQuestion {
    /// Feature and command: `perf-profile info`.
    pub command: String,
    /// Only the power domains of these CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuSet>,
    /// Of what was tried, where it runs: without it, and with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<[CpuSet; 2]>,
    /// Who was kept busy beside it: without it, and with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<[CpuSet; 2]>,
    /// Only that level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// Only that class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// Only that group of chosen cores, by its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<u8>,
    /// Only the limits under that licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
}

/// The driver in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpeedSelectDriver {
    /// Version of its interface: 1 has a mailbox and registers in memory, 2 and 3 have power domains.
    pub interface: u16,
    /// Its own version; 0: there is none, registers were recorded.
    pub version: u16,
    /// How many commands it takes at once.
    pub commands_at_once: u16,
    /// Whether it has a mailbox.
    pub mailbox: bool,
    /// Whether it has registers in memory.
    pub mmio: bool,
}

/// Which processor it is, as CPUID numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessorNumbers {
    /// Display family.
    pub family: u32,
    /// Display model.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
}

/// CPUs of which it is not known in which power domain they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnplacedCpus {
    /// Which ones.
    pub cpus: CpuSet,
    /// Why.
    pub reason: Unavailable,
}

/// What a power domain is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PowerDomainKind {
    /// It has cores.
    Compute,
    /// It has none.
    Io,
    /// None of its CPUs is online, if it has any.
    Unknown,
}

/// A power domain. What was not asked for is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerDomain {
    /// The package that it is in.
    pub package: u32,
    /// The die that the kernel says its CPUs are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub die: Option<u32>,
    /// Its number within the package.
    pub number: u32,
    /// What it is for.
    pub kind: PowerDomainKind,
    /// Its CPUs that are online.
    pub cpus: CpuSet,
    /// Its cores, or modules of several cores, with CPUs online.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<DomainCore>,
    /// Its performance levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiles: Option<Known<PerformanceProfiles>>,
    /// Whether its cores have priorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_power: Option<CorePowerSwitches>,
    /// Its classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Known<ServiceClass>>,
    /// The classes of its cores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub associations: Vec<CoreAssociation>,
}

/// A core, or a module of several cores, of a power domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DomainCore {
    /// The hardware's number of it.
    pub core: u32,
    /// Its CPUs that are online.
    pub cpus: CpuSet,
}

/// The class of a core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreAssociation {
    /// The hardware's number of the core, or module.
    pub core: u32,
    /// Those of its CPUs that were asked for.
    pub cpus: CpuSet,
    /// Its class.
    pub class: Known<u8>,
}

/// The performance levels of a power domain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerformanceProfiles {
    /// Revision of the interface.
    pub revision: Known<u8>,
    /// The highest level.
    pub highest: u8,
    /// The levels that there are.
    pub there: Vec<u8>,
    /// The level at present.
    pub current: u8,
    /// Whether the level can be chosen while the machine runs.
    pub can_change: bool,
    /// Whether firmware has locked it until the next reset.
    pub locked: bool,
    /// Whether register 64Bh locks it, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_by_register: Option<Known<bool>>,
    /// The levels that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<PerformanceLevel>,
}

/// Whether a feature is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FeatureState {
    /// It cannot be.
    Unsupported,
    /// It is off.
    Disabled,
    /// It is on.
    Enabled,
}

/// A performance level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerformanceLevel {
    /// Its number.
    pub number: u8,
    /// Whether base frequencies of two kinds of cores are on.
    pub base_freq_state: Known<FeatureState>,
    /// Whether turbo frequencies of two kinds of cores are on.
    pub turbo_freq_state: Known<FeatureState>,
    /// Cores, frequencies, power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<LevelProperties>,
    /// Base frequencies of two kinds of cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_freq: Option<Known<BaseFrequencies>>,
    /// Turbo frequencies of two kinds of cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turbo_freq: Option<Known<TurboFrequencies>>,
}

/// Cores of a power domain, by the hardware's numbers, and their CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChosenCores {
    /// The hardware's numbers of cores, or modules.
    pub cores: CpuSet,
    /// Their CPUs that are online.
    pub cpus: CpuSet,
}

/// Cores, frequencies and power of a performance level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelProperties {
    /// The cores that it allows.
    pub allowed: Known<ChosenCores>,
    /// Base frequencies by licence, those that are given.
    pub base: Known<Vec<LicenceFrequency>>,
    /// Base frequency as a multiple of 100 MHz, which the thermal design power stands for.
    pub tdp_ratio: Known<u8>,
    /// Thermal design power, in watts.
    pub tdp_watts: Known<u32>,
    /// The least and the most power of the package, in watts.
    pub package_watts: Known<[u32; 2]>,
    /// The highest temperature, in degrees Celsius.
    pub highest_celsius: Known<u32>,
    /// Frequencies of the fabrics.
    pub fabrics: Known<Vec<FabricFrequencies>>,
    /// The highest rate of memory, in transfers per second.
    pub memory_transfers: Known<Hertz>,
    /// How it is cooled, by the hardware's number.
    pub cooling: Known<u8>,
    /// Turbo limits by licence and number of active cores, those that are given.
    pub turbo: Known<Vec<LicenceSteps>>,
}

/// A frequency under a licence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LicenceFrequency {
    /// What instructions may be executed at it: `sse`, `avx2`; `level-0` and so on where it has no name.
    pub licence: String,
    /// The frequency.
    pub hertz: Hertz,
}

/// Limits under a licence, by number of cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LicenceSteps {
    /// What instructions may be executed at them.
    pub licence: String,
    /// The steps, ascending by number of cores.
    pub steps: Vec<CoreStep>,
}

/// A limit for so many cores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreStep {
    /// Up to how many cores it goes; none: that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u16>,
    /// The limit; none: the firmware gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hertz: Option<Hertz>,
}

/// Frequencies of a fabric. What firmware does not tell is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FabricFrequencies {
    /// The lowest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowest_hertz: Option<Hertz>,
    /// The one that is guaranteed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_hertz: Option<Hertz>,
    /// The highest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_hertz: Option<Hertz>,
}

/// Base frequencies of two kinds of cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BaseFrequencies {
    /// Who gets the higher one.
    pub chosen: ChosenCores,
    /// The higher one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_hertz: Option<Hertz>,
    /// The lower one, of all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_hertz: Option<Hertz>,
    /// The highest temperature, in degrees Celsius.
    pub highest_celsius: Known<u32>,
    /// Thermal design power, in watts.
    pub tdp_watts: Known<u32>,
}

/// Turbo frequencies of two kinds of cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurboFrequencies {
    /// Limits of chosen cores, by licence and how many are chosen.
    pub chosen: Vec<LicenceSteps>,
    /// Limits of all others, by licence.
    pub others: Vec<LicenceFrequency>,
}

/// Whether cores have priorities. The older generation has two switches, which can disagree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CorePowerSwitches {
    /// Whether the firmware can heed priorities.
    pub supported: Known<bool>,
    /// Whether it does.
    pub enabled: Known<bool>,
    /// Whether cores have classes.
    pub classes_enabled: Known<bool>,
    /// What classes mean: `proportional` or `ordered`.
    pub priority: Known<String>,
}

/// A class of service. What the generation does not have is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceClass {
    /// Its number.
    pub number: u8,
    /// Hint between performance (0) and energy (15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_preference: Option<u8>,
    /// Its weight, 0 to 15.
    pub weight: u8,
    /// The lowest frequency; none: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowest_hertz: Option<Hertz>,
    /// The highest one; none: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_hertz: Option<Hertz>,
    /// The one that is wished for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_hertz: Option<Hertz>,
}
