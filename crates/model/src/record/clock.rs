//! What holds the clock down: limits as registers and kernel state them, and the account of the way
//! from the advertised clock to the delivered one.

use serde::{Deserialize, Serialize};

use crate::cpus::{CpuId, CpuSet};
use crate::unavailable::{Known, Unavailable};

/// What limits the clock of the CPUs that were measured, and what became of that clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockRecord {
    /// The highest clock that the kernel lets each CPU have, and the highest that is asked of hardware that
    /// chooses the clock itself, where that is less than it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<AllowedClock>,
    /// The highest clock that the kernel says each CPU could have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub highest: Vec<AllowedClock>,
    /// As far as CPUs would come with boost, where that is off, others say so, and it is beyond what the kernel says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boosted: Vec<AllowedClock>,
    /// Limits of power, package by package.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub power: Vec<PowerLimit>,
    /// Reasons that were in force or logged before the run or after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<LimitReason>,
    /// Switches that bear on limits, such as whether others may throttle this CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<LimitSwitch>,
    /// The highest level of performance that firmware gives CPUs, where it ranks them (CPPC).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<CoreLevel>,
    /// Where reasons were looked for, such as `MSR 19Ch`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// What cannot be read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unavailable>,
    /// Seconds that the blocks of the run kept CPUs busy, as planned and no more than it lasted, of all CPUs
    /// together: what a quota took is told against them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_seconds: Option<f64>,
    /// Accounts of the way from the advertised clock to the delivered one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<ClockAccount>,
}

/// A highest clock of CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllowedClock {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The clock, in hertz.
    pub hertz: f64,
    /// Where it was read, such as `scaling_max_freq`.
    pub source: String,
}

/// CPUs that firmware gives one level of performance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreLevel {
    /// The CPUs.
    pub cpus: CpuSet,
    /// Their highest level, in the firmware's own measure.
    pub highest: u32,
    /// Where it was read, such as `MSR 771h`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

/// Which of a package's limits of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PowerTerm {
    /// PL1: on the average over a time.
    Long,
    /// PL2: for a short time.
    Short,
    /// PL4: never more.
    Peak,
    /// PPT of AMD's CPUs: what the package may draw.
    Package,
    /// PL1 of the platform (psys): of all that hangs on its supply, on the average over a time.
    PlatformLong,
    /// PL2 of the platform.
    PlatformShort,
}

impl PowerTerm {
    /// What people call it.
    pub fn word(self) -> &'static str {
        match self {
            PowerTerm::Long => "PL1",
            PowerTerm::Short => "PL2",
            PowerTerm::Peak => "PL4",
            PowerTerm::Package => "PPT",
            PowerTerm::PlatformLong => "platform PL1",
            PowerTerm::PlatformShort => "platform PL2",
        }
    }
}

/// A limit of the power of a package, or of the platform that it is in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerLimit {
    /// The package.
    pub package: u32,
    /// Which limit.
    pub term: PowerTerm,
    /// The limit, in watts; none: the field holds nothing, or as much as fits, which limits nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts: Option<f64>,
    /// What is stated there, in watts, where that is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_limit_watts: Option<f64>,
    /// The time that power is averaged over, in seconds, where that is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Whether it is in force.
    pub enabled: bool,
    /// Whether it can be changed before the machine is started again, where that is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
    /// Where it was read, such as `MSR 610h`.
    pub source: String,
    /// What other sources state of it, which does not bind: it is more, or off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<PowerLimitBeside>,
}

/// A limit of power that does not bind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerLimitBeside {
    /// The limit, in watts, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts: Option<f64>,
    /// What is stated there, in watts, where that is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_limit_watts: Option<f64>,
    /// Whether it is in force.
    pub enabled: bool,
    /// Where it was read.
    pub source: String,
}

impl PowerLimit {
    /// `PL1 45 W over 28 s (intel-rapl-mmio:0; 175 W by MSR 610h does not bind)`; 0 W are not believed.
    pub fn said(&self) -> String {
        let watts = match (self.watts, self.no_limit_watts) {
            (Some(watts), _) => format!("{watts:.0} W"),
            (None, Some(least)) if least <= 0.0 => "0 W, which nothing could keep".to_owned(),
            // As much as fits, or not told.
            (None, _) => "none".to_owned(),
        };
        let seconds = self.seconds.filter(|_| self.watts.is_some());
        let seconds = seconds.map_or(String::new(), |seconds| {
            format!(" over {}", crate::page::si::format(seconds, crate::Unit::Second))
        });
        let locked = if self.locked == Some(true) { ", locked" } else { "" };
        let off = if self.enabled { "" } else { ", off" };
        let beside: String = self.beside.iter().map(PowerLimitBeside::said).collect();
        let (term, source) = (self.term.word(), &self.source);
        format!("{term} {watts}{seconds} ({source}{locked}{off}{beside})")
    }

    /// Whether anything is stated of what is in force, be it that nothing is limited.
    pub fn is_told(&self) -> bool {
        self.watts.is_some() || self.enabled && self.no_limit_watts.is_some()
    }
}

impl PowerLimitBeside {
    fn said(&self) -> String {
        let stated = self.watts.or(self.no_limit_watts);
        let watts = stated.map_or("none".to_owned(), |watts| format!("{watts:.0} W"));
        let how = match (self.enabled, stated) {
            (false, _) => "is off",
            (true, Some(watts)) if watts <= 0.0 => "is no limit",
            (true, _) => "does not bind",
        };
        format!("; {watts} by {} {how}", self.source)
    }
}

/// A reason for which hardware lowers the clock. Its log stays set until somebody clears it, so that only
/// a log which came up during the run is evidence of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitReason {
    /// Which: the same word for one reason wherever it was read, such as `prochot`.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// The CPUs that say so; the first one of a package for a register of the package.
    pub cpus: CpuSet,
    /// Whether it is of these CPUs' cores alone; else it is of their packages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_cores: bool,
    /// Where it was read, such as `MSR 64Fh bit 10`.
    pub source: String,
    /// What it said before the run, on any of the CPUs.
    pub before: LimitState,
    /// What it said right after it.
    pub after: LimitState,
    /// Cells in none of whose blocks it came up, as far as its log tells, which was clear after one of them at
    /// least: what their clocks lost meanwhile, they lost to something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spared: Vec<ToldCell>,
    /// Cells in one of whose blocks it came up, or after which it was in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub met: Vec<ToldCell>,
}

/// A stream on some cores, and of how many of its blocks a log tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToldCell {
    /// The stream.
    pub workload: String,
    /// The cores that executed it.
    pub active: CpuSet,
    /// Blocks after which the log was clear: the first ones.
    #[serde(default)]
    pub clear: u64,
    /// Blocks before which it was set already, so that it tells nothing of them.
    #[serde(default)]
    pub untold: u64,
}

impl ToldCell {
    /// Whether these cores executed this stream.
    pub fn is(&self, workload: &str, active: &CpuSet) -> bool {
        self.workload == workload && self.active == *active
    }
}

impl LimitReason {
    /// Whether it held the clock down during the run: it was in force at its beginning or end, or its log
    /// came up meanwhile.
    pub fn held(&self) -> bool {
        self.before.active || self.after.active || (self.after.logged && !self.before.logged)
    }

    /// Whether it held while these cores executed a stream, or nothing tells that it did not.
    pub fn held_in(&self, workload: &str, active: &CpuSet) -> bool {
        self.held() && self.spared_in(workload, active).is_none()
    }

    /// Of how many blocks of a stream on these cores its log tells that it did not come up, if of any.
    pub fn spared_in(&self, workload: &str, active: &CpuSet) -> Option<&ToldCell> {
        self.spared.iter().find(|cell| cell.is(workload, active))
    }

    /// Whether it says what lowers the clock. Others say that something does, or that a limit which stands
    /// anyway was reached.
    pub fn is_cause(&self) -> bool {
        LimitReason::names_cause(&self.id)
    }

    /// Whether that is one of the words of what lowers clocks.
    pub fn names_cause(id: &str) -> bool {
        /// The turbo limit of the active cores states a clock, and attenuation belongs to it; the others are what
        /// came of limits.
        const STATES: [&str; 4] = ["turbo-limit", "attenuation", "below-request", "p1"];
        !STATES.contains(&id)
    }
}

/// The two bits of a reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitState {
    /// Whether it is in force at this moment.
    pub active: bool,
    /// Whether it was since the log was cleared.
    pub logged: bool,
}

/// A switch that bears on limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitSwitch {
    /// What it is called, such as `bi-directional PROCHOT`.
    pub label: String,
    /// Its position, as read after the run.
    pub on: bool,
    /// The CPUs that say so.
    pub cpus: CpuSet,
    /// Where it was read, such as `MSR 1FCh bit 0`.
    pub source: String,
}

/// From the advertised clock to the delivered one, for one stream on some cores. All clocks in hertz.
///
/// What the steps take away and what is unexplained adds up to the distance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockAccount {
    /// The stream.
    pub workload: String,
    /// When, where a run has several clocks of one stream, such as `last window`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moment: Option<String>,
    /// The type of the cores, where the machine has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_type: Option<String>,
    /// The cores that executed it; of a mix of streams, all of its cores.
    pub active: CpuSet,
    /// Those that executed it, where the others executed other streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<CpuSet>,
    /// The CPU whose clock it is.
    pub cpu: CpuId,
    /// The clock that is advertised for one core, or why nobody tells.
    pub advertised: Known<AdvertisedClock>,
    /// The clock while the core was at work: the median of the chain.
    pub clock: f64,
    /// What of it was left for the program: less halts, less what others took.
    pub delivered: f64,
    /// What took it away, in the order in which limits apply.
    pub steps: Vec<AccountStep>,
    /// Limits that state a clock, and that this one is above: nobody obeyed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<RefutedLimit>,
    /// What no step explains; negative where more was delivered than the steps leave. None: nothing is
    /// advertised that it could be told from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unexplained: Option<f64>,
}

/// An advertised clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdvertisedClock {
    /// In hertz.
    pub hertz: f64,
    /// Who states it.
    pub source: String,
}

/// One step down from the advertised clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountStep {
    /// Its kind, such as `active-cores`. Several reasons that cannot be told apart by megahertz are one
    /// step, their ids joined by `+`.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What it took away, in hertz.
    pub hertz: f64,
    /// What says so, with numbers.
    pub evidence: String,
}

/// A limit that the clock itself refutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefutedLimit {
    /// The kind of the step that it would have been, such as `kernel`.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// The clock that it states, in hertz.
    pub hertz: f64,
    /// The clock that is above it: of this account, or another one of the same core, in hertz.
    pub clock: f64,
    /// What states it, with numbers.
    pub evidence: String,
}

/// The switch that lets cores of AMD go beyond their base clock (PPR, HWCR).
pub const BOOST: &str = "core performance boost";

/// What counts how often heat throttled cores and packages.
pub const THERMAL_THROTTLES: [&str; 2] =
    ["disturbance.thermal_core", "disturbance.thermal_package"];
