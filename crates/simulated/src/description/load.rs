//! The work of others, what it draws and costs, and what waits for it.

use model::CpuSet;
use serde::Deserialize;

/// Somebody else's work.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The CPUs that it keeps busy.
    pub cpus: CpuSet,
    /// For which share of the time, 0 to 1.
    pub share: f64,
}

/// What packages draw. The numbers are plausible, and no product's.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// A package whose cores all idle, in watts.
    pub idle_watts: f64,
    /// What a busy core adds for each gigahertz of its clock, in watts.
    pub core_watts_per_ghz: f64,
    /// Its memory, in watts.
    pub dram_watts: f64,
    /// Its temperature where all cores idle, in degrees Celsius; it rises by a tenth of a degree a watt.
    pub idle_celsius: f64,
    /// The time constant of the long-term power limit, in seconds.
    pub long_term_seconds: f64,
    /// That limit (PL1), in watts; absent: there is none.
    pub long_term_watts: Option<f64>,
    /// The short-term limit (PL2), in watts; absent: there is none.
    pub short_term_watts: Option<f64>,
    /// How much more a core draws with each heavier licence, as a share.
    #[serde(default)]
    pub heavier: f64,
}

impl Power {
    pub(crate) fn is_sound(&self) -> bool {
        let watts = [self.idle_watts, self.core_watts_per_ghz, self.dram_watts];
        let limits = [self.long_term_watts, self.short_term_watts].into_iter().flatten();
        let above_idle = limits.clone().all(|limit| limit > self.idle_watts);
        let numbers = watts.into_iter().chain([self.long_term_seconds, self.heavier]);
        numbers.chain(limits).all(|number| number.is_finite() && number >= 0.0)
            && above_idle
            && (0.0..=110.0).contains(&self.idle_celsius)
    }
}

/// What somebody who runs a workload costs others, as shares of what they have alone.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tax {
    /// The stream or memory kernel that costs it.
    pub by: String,
    /// Whether it costs the other thread of its core, or the other cores of its package.
    pub sibling: bool,
    /// What is left of the clock.
    #[serde(default = "whole")]
    pub clock: f64,
    /// What is left of ops per cycle.
    #[serde(default = "whole")]
    pub ops: f64,
    /// What is left of bandwidth.
    #[serde(default = "whole")]
    pub bandwidth: f64,
    /// How much longer a pointer takes: 1.2 is a fifth longer.
    #[serde(default = "whole")]
    pub latency: f64,
    /// How many of them cost all of that; fewer cost a share of it.
    #[serde(default = "one")]
    pub neighbours: u32,
}

const fn one() -> u32 {
    1
}

const fn whole() -> f64 {
    1.0
}

impl Tax {
    pub(crate) fn is_sound(&self) -> bool {
        let shares = [self.clock, self.ops, self.bandwidth];
        shares.into_iter().all(|share| share > 0.0 && share <= 1.0)
            && self.latency.is_finite()
            && self.latency >= 1.0
            && self.neighbours > 0
    }
}

/// The memory controllers of a package, whose PMUs are those of Intel's servers.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controllers {
    /// Channels, each with a PMU of its own.
    pub channels: u32,
    /// What others read from the memory of each package all the time, in bytes per second.
    pub idle_read: f64,
    /// What they write to it.
    pub idle_written: f64,
    /// The share of the lines that ordinary stores change without bringing them in first.
    #[serde(default)]
    pub evaded_share: f64,
}

impl Controllers {
    pub(crate) fn is_sound(&self) -> bool {
        let rates = [self.idle_read, self.idle_written];
        (1..=64).contains(&self.channels)
            && rates.into_iter().all(|rate| rate.is_finite() && rate >= 0.0)
            && (0.0..=1.0).contains(&self.evaded_share)
    }
}

/// What a way to signal a thread, or an alarm, costs.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalCost {
    /// From the signal until the other thread goes on, on another CPU, beyond the way of a cache line
    /// and the exit from an idle state, in seconds; of an alarm, how late it is.
    pub seconds: f64,
    /// The same to a thread on the same CPU; absent: there it waits forever.
    pub same_cpu_seconds: Option<f64>,
    /// Whether the other thread sleeps, so that its CPU may idle.
    #[serde(default)]
    pub sleeps: bool,
}
