//! What the hardware of a simulated machine makes of what was set.

use model::{CpuId, Seconds};

use crate::description::Model;
use crate::faults::Fault;
use crate::files::CPU;
use crate::firmware::Firmware;
use crate::registers::{self, BOOST_DISABLED, HWCR};

/// How the clock of a CPU rises after rest.
///
/// # Caveats
/// It rises evenly, from the lowest clock that may be chosen, in a time that governor and preference
/// decide: the processors' own algorithms are not public. The energy performance bias has no part in
/// it, as on hardware that has a preference. Only who rested within its job begins below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rise {
    /// Where it begins, in hertz.
    pub from_hz: f64,
    /// How long it takes.
    pub duration: Seconds,
}

/// How long the clock rises under governor `powersave`, by preference.
const RISES: &[(&str, Seconds)] = &[
    ("performance", Seconds(1e-3)),
    ("balance_performance", Seconds(2e-3)),
    ("default", Seconds(2e-3)),
    ("balance_power", Seconds(5e-3)),
    ("power", Seconds(10e-3)),
];

/// The same under governor `performance`.
const SHORTEST_RISE: Seconds = Seconds(0.1e-3);

/// The prefetchers of a vendor.
struct Prefetchers {
    /// Where a bit that is set switches one off.
    register: u32,
    /// What each one saves of a pointer that leads to the next line, by its bit: the best one that is
    /// on counts.
    saved: &'static [(u32, f64)],
}

const INTEL: Prefetchers =
    Prefetchers { register: 0x1a4, saved: &[(0, 0.85), (1, 0.45), (2, 0.6), (3, 0.3)] };

const AMD: Prefetchers = Prefetchers {
    register: 0xc000_0108,
    saved: &[(0, 0.6), (1, 0.3), (2, 0.4), (3, 0.85), (5, 0.5)],
};

impl Rise {
    /// The clock, so long after the CPU woke up, where it comes to that one in hertz.
    pub fn hertz(self, awake: Seconds, full: f64) -> f64 {
        let part = (awake / self.duration).min(1.0);
        let from = self.from_hz.min(full);
        from + (full - from) * part
    }
}

impl Model {
    /// How many cores are active that share turbo limits with a CPU, while these CPUs, and those that somebody
    /// keeps busy, are at work: those of its package, or of its power domain where a package has several.
    pub fn active_cores(&self, cpu: CpuId, at_work: &[CpuId]) -> u32 {
        let place = |cpu: CpuId| {
            let die = Firmware::of(self).and_then(|firmware| firmware.die(cpu));
            (self.package_of(cpu), die)
        };
        let (occupied, here) = (self.occupied.cpus(), place(cpu));
        let all = at_work.iter().copied().chain(occupied.iter());
        let here = all.filter(|other| place(*other) == here);
        let mut cores: Vec<u32> = here.map(|other| self.core_of(other)).collect();
        cores.sort_unstable();
        cores.dedup();
        cores.len() as u32
    }

    /// How fast a core runs under a licence while so many cores are active that share its turbo limits, by what the
    /// machine came with and by what Speed Select was told, in hertz.
    pub fn granted_hz(&self, cpu: CpuId, licence: usize, active: u32) -> f64 {
        let firmware = Firmware::of(self);
        let given = firmware.and_then(|it| it.turbo_hz(cpu, licence, active));
        let most = firmware.map_or(f64::INFINITY, |it| it.most_hz(cpu, active));
        given.unwrap_or_else(|| self.bin_hz(licence, active)).min(most)
    }

    /// How much longer two threads take that wake each other than with the clock of a machine that has
    /// nothing else to do.
    ///
    /// # Caveats
    /// All of the way takes cycles of the core. Only machines with Speed Select know of it.
    pub fn slowdown(&self, cpu: CpuId, at_work: &[CpuId]) -> f64 {
        if self.speed_select.is_none() {
            return 1.0;
        }
        self.bin_hz(0, 1) / self.hz_at_work(cpu, 0, at_work)
    }

    /// The clock of a CPU that works under a licence while these are at work, too, in hertz.
    ///
    /// # Caveats
    /// Neither power nor drift has a part in it.
    pub fn hz_at_work(&self, cpu: CpuId, licence: usize, at_work: &[CpuId]) -> f64 {
        let granted = self.granted_hz(cpu, licence, self.active_cores(cpu, at_work));
        granted.min(self.ceiling_hz(cpu)).min(self.clip_hz(cpu, licence))
    }

    /// The clock that its core, settings and PROCHOT allow a CPU, in hertz.
    pub fn ceiling_hz(&self, cpu: CpuId) -> f64 {
        let are_alike = self.slow_cores.is_empty() && self.kind.is_empty();
        let own = if are_alike { f64::INFINITY } else { self.highest_hz(cpu) };
        let hot = self.prochot_now().unwrap_or(f64::INFINITY);
        self.set_ceiling_hz(cpu).min(own).min(hot)
    }

    /// The clock that PROCHOT leaves at this moment, in hertz; none: it is not asserted.
    pub(crate) fn prochot_now(&self) -> Option<f64> {
        self.prochot_hz.filter(|_| self.elapsed.seconds().0 >= self.prochot_from_seconds)
    }

    /// The clock that Speed Select leaves a CPU under a licence, in hertz.
    pub fn clip_hz(&self, cpu: CpuId, licence: usize) -> f64 {
        Firmware::of(self).map_or(f64::INFINITY, |firmware| firmware.clip_hz(cpu, licence))
    }

    fn set_ceiling_hz(&self, cpu: CpuId) -> f64 {
        if self.settings.is_empty() {
            return f64::INFINITY;
        }
        let is = |path: String, text: &str| self.obeyed(&path).as_deref() == Some(text);
        let no_turbo = is(format!("{CPU}/intel_pstate/no_turbo"), "1")
            || is(format!("{CPU}/cpufreq/boost"), "0") && !self.has(Fault::IgnoresBoost)
            || self.written(cpu, HWCR).is_some_and(|it| it >> BOOST_DISABLED & 1 == 1);
        let guaranteed = || {
            let firmware = Firmware::of(self).and_then(|firmware| firmware.base_mhz(cpu));
            firmware.map_or(self.clock.tsc_hz, |mhz| f64::from(mhz) * 1e6)
        };
        let base = if no_turbo { guaranteed() } else { f64::INFINITY };
        let max = self.obeyed(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_max_freq"));
        let max =
            max.and_then(|khz| khz.parse::<f64>().ok()).map_or(f64::INFINITY, |khz| khz * 1e3);
        base.min(max).min(self.governed_hz(cpu)).min(self.requested_hz(cpu))
    }

    /// The clock of the highest level that somebody wrote into the register of requests, in hertz.
    fn requested_hz(&self, cpu: CpuId) -> f64 {
        let is_amd = self.identity.is_amd();
        let [enable, request] = if is_amd { [0xc001_02b1, 0xc001_02b3] } else { [0x770, 0x774] };
        let is_off = self.written(cpu, enable).is_some_and(|it| it & 1 == 0);
        let Some(asked) = self.written(cpu, request).filter(|_| !is_off) else {
            return f64::INFINITY;
        };
        let byte = |start: u32| (asked >> start & 0xff) as f64;
        // A level that is desired is held.
        let (most, desired) = (byte(if is_amd { 0 } else { 8 }), byte(16));
        let level = if desired > 0.0 { most.min(desired) } else { most };
        let each = if is_amd { self.level_hz.unwrap_or(f64::INFINITY) } else { 100e6 };
        if level > 0.0 { level * each } else { f64::INFINITY }
    }

    /// What somebody wrote into a register, where the hardware heeds it.
    fn written(&self, cpu: CpuId, register: u32) -> Option<u64> {
        self.settings.register(cpu, register).filter(|_| !self.has(Fault::IgnoresSettings))
    }

    /// The clock of a governor that chooses one and keeps it. Drivers that let the hardware choose have others by
    /// these names.
    fn governed_hz(&self, cpu: CpuId) -> f64 {
        const BY_HARDWARE: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];
        let obeyed = |file: &str| self.obeyed(&format!("{CPU}/cpu{cpu}/cpufreq/{file}"));
        let driver = self.cpufreq_driver.as_deref().unwrap_or("intel_pstate");
        let is_kept = !BY_HARDWARE.contains(&driver)
            && obeyed("scaling_governor").as_deref() == Some("powersave");
        let least = obeyed("scaling_min_freq").and_then(|khz| khz.parse::<f64>().ok());
        let lowest = || self.registers.map_or(self.highest_hz(cpu) / 4.0, |it| it.lowest_hz);
        if is_kept { least.map_or_else(lowest, |khz| khz * 1e3) } else { f64::INFINITY }
    }

    /// Whether settings forbid a CPU that idle state.
    pub(crate) fn forbids_idle(&self, cpu: CpuId, state: usize) -> bool {
        if self.settings.is_empty() {
            return false;
        }
        let disable = format!("{CPU}/cpu{cpu}/cpuidle/state{state}/disable");
        let limit = self.obeyed(&format!("{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us"));
        let beyond = match limit.as_deref() {
            // 0 sets no limit; n/a allows no latency at all.
            None | Some("0") => false,
            Some(text) => {
                let microseconds = text.parse().unwrap_or(0.0);
                self.idle[state].exit_latency_seconds * 1e6 > microseconds
            }
        };
        beyond || self.obeyed(&disable).as_deref() == Some("1")
    }

    /// How the clock of a CPU rises after rest.
    pub fn rise(&self, cpu: CpuId) -> Rise {
        let obeyed = |file: &str| self.obeyed(&format!("{CPU}/cpu{cpu}/cpufreq/{file}"));
        let lowest = self.registers.map_or(self.clock.tsc_hz, |registers| registers.lowest_hz);
        let least = obeyed("scaling_min_freq").and_then(|khz| khz.parse::<f64>().ok());
        let preference = obeyed("energy_performance_preference");
        let of = |name: &str| RISES.iter().find(|(known, _)| *known == name).map(|(_, rise)| *rise);
        let duration = match obeyed("scaling_governor").as_deref() {
            Some("powersave") => of(preference.as_deref().unwrap_or("performance")),
            _ => None,
        };
        let from_hz = least.map_or(lowest, |khz| khz * 1e3);
        Rise { from_hz, duration: duration.unwrap_or(SHORTEST_RISE) }
    }

    /// The share of a pointer's time that prefetchers save where each line follows the one below it.
    pub fn fetched_ahead(&self, cpu: CpuId) -> f64 {
        let Prefetchers { register, saved } = if self.identity.is_amd() { AMD } else { INTEL };
        let came = if self.has(Fault::IgnoresSettings) { Some(0) } else { None };
        let Some(off) = came.or_else(|| registers::holds(self, cpu, register)) else { return 0.0 };
        let on = saved.iter().filter(|(bit, _)| off >> bit & 1 == 0);
        on.map(|(_, share)| *share).fold(0.0, f64::max)
    }

    /// What was set, where the hardware heeds it.
    pub(crate) fn obeyed(&self, path: &str) -> Option<String> {
        self.settings.text(path).filter(|_| !self.has(Fault::IgnoresSettings))
    }
}
