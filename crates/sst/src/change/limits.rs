//! Limits of clocks, in the kernel's files.

use levers::plan::PlannedWrite;
use levers::unlimited::{OPEN_KHZ, allows_turbo, is_open};
use levers::{Object, SettingOwner};
use model::{CpuId, CpuSet, Reading};

use super::clocks::turbo_of;
use super::ground::{Ground, cpufreq};
use super::{Refused, Steps, What};
use crate::model::{Domain, Level, Megahertz, Modules};

pub(super) const MAX: &str = "scaling_max_freq";
pub(super) const MIN: &str = "scaling_min_freq";
pub(super) const MOST: &str = "cpuinfo_max_freq";
pub(super) const LEAST: &str = "cpuinfo_min_freq";

/// A limit of a CPU, as it is to be.
pub(super) fn limit(cpu: CpuId, file: &str, khz: u64) -> PlannedWrite {
    let object = Object::File(cpufreq(cpu, file));
    let setting = levers::Lever::of(&object).map_or("limit", |lever| lever.id).to_owned();
    PlannedWrite {
        setting,
        of: SettingOwner::Cpu(cpu),
        object,
        wanted: khz.to_string(),
        is_effective: true,
    }
}

/// The highest clock of a CPU, open.
fn open(cpu: CpuId) -> PlannedWrite {
    PlannedWrite { wanted: OPEN_KHZ.to_owned(), ..limit(cpu, MAX, 0) }
}

/// The base frequency of each CPU of a power domain at a level, in kHz, as firmware gives it.
pub(super) fn bases(domain: &Domain, level: &Level, base_freq: bool) -> Vec<(CpuId, Option<u64>)> {
    let khz = |mhz: Option<Megahertz>| mhz.map(|mhz| u64::from(mhz.0) * 1000);
    let split = level.base_freq.as_ref().filter(|_| base_freq);
    let split = split.and_then(|split| split.as_ref().ok());
    let base = |module: u32| match split {
        Some(split) if split.modules.contains(module) => khz(split.high),
        Some(split) => khz(split.low),
        None => khz(plain(level)),
    };
    domain.cpus.iter().map(|member| (member.cpu, base(member.module))).collect()
}

/// The base frequency of a level: of the weakest instructions, else what its power stands for.
pub(super) fn plain(level: &Level) -> Option<Megahertz> {
    let properties = level.properties.as_ref()?;
    let bases = properties.base.as_ref().ok();
    let first = bases.and_then(|bases| bases.first()?.frequency);
    first.or_else(|| Megahertz::of_ratio(*properties.tdp_ratio.as_ref().ok()?))
}

/// The CPUs of a power domain whose cores somebody put into a class.
pub(super) fn placed(domain: &Domain) -> CpuSet {
    let all = domain.associations.iter().flatten();
    let is_placed = |class: &Reading<u8>| class.as_ref().is_ok_and(|class| *class != 0);
    all.filter(|(_, class)| is_placed(class)).map(|(cpu, _)| *cpu).collect()
}

/// That CPUs have limits in the kernel and in firmware.
pub(super) fn both_limit(cpus: &CpuSet) -> Option<String> {
    (!cpus.is_empty()).then(|| {
        format!(
            "clocks of {} are already limited (min_freq, max_freq): these limits stay and apply \
             together with those of classes",
            cpus.named()
        )
    })
}

impl Ground<'_> {
    /// Whether clocks above the base frequency are allowed.
    pub(super) fn allows_turbo(&self) -> bool {
        allows_turbo(self.machine)
    }

    /// Whether the highest clock of a CPU is below a base frequency because somebody wished so: then it is
    /// opened, or it would keep clocks below what firmware gives. What is as high as the kernel lets it go
    /// follows by itself.
    fn is_below(&self, cpu: CpuId, base: u64) -> bool {
        let limits =
            |max: u64| max < base && !is_open(self.machine, &open(cpu).object, &max.to_string());
        self.khz(cpu, MAX).is_some_and(limits)
    }

    /// The highest clocks of the CPUs of a level that must be opened.
    pub(super) fn opened_at(
        &self,
        domain: &Domain,
        level: &Level,
        base_freq: bool,
        modules: Option<Modules>,
    ) -> Vec<PlannedWrite> {
        let is_in = |cpu: CpuId| {
            let module = domain.cpus.iter().find(|member| member.cpu == cpu);
            modules.is_none_or(|all| module.is_some_and(|it| all.contains(it.module)))
        };
        bases(domain, level, base_freq)
            .into_iter()
            .filter(|(cpu, _)| is_in(*cpu))
            .filter(|(cpu, base)| base.is_some_and(|base| self.is_below(*cpu, base)))
            .map(|(cpu, _)| open(cpu))
            .collect()
    }

    /// That limits may show once base frequencies have risen, of which no plan can know.
    pub(super) fn hidden(&self, domain: &Domain, level: &Level, base_freq: bool) -> Option<String> {
        let rises = |(cpu, base): (CpuId, Option<u64>)| base > self.khz(cpu, "base_frequency");
        let may_show =
            !self.allows_turbo() && bases(domain, level, base_freq).into_iter().any(rises);
        may_show.then(|| {
            "turbo is off (no_turbo), which hides any `max_freq` at or above the base frequency. \
             One that appears below a new base frequency is also opened. `cpudyno undo` restores \
             it; one of exactly the present base frequency is known only if it was set before \
             `cpudyno set no_turbo=on`"
                .to_owned()
        })
    }

    /// As high as the clock of a CPU goes with turbo, in kHz. Kernels from 6.10 on tell the base frequency where turbo
    /// is off: then the level says it.
    ///
    /// # Source
    /// Linux, drivers/cpufreq/intel_pstate.c: `__intel_pstate_update_max_freq`.
    pub(super) fn highest(&self, level: &Level, cpu: CpuId) -> Option<u64> {
        let told = self.khz(cpu, MOST)?;
        if self.allows_turbo() || self.khz(cpu, "base_frequency") != Some(told) {
            return Some(told);
        }
        let turbo = turbo_of(level, 1).ok().map(|mhz| u64::from(mhz.0) * 1000);
        Some(turbo.map_or(told, |turbo| turbo.max(told)))
    }

    /// The lowest clock of each CPU of a power domain as high as it goes, so that firmware gives what it
    /// can. Without turbo the kernel makes its base frequency of that.
    pub(super) fn raised(&self, domain: &Domain, level: &Level) -> Vec<PlannedWrite> {
        let mut steps = self.opened_at(domain, level, true, None);
        for (cpu, base) in bases(domain, level, true) {
            let (Some(most), Some(max), Some(min)) =
                (self.highest(level, cpu), self.khz(cpu, MAX), self.khz(cpu, MIN))
            else {
                continue;
            };
            let base = base.unwrap_or(most);
            let most = most.max(base);
            let is_free = self.is_below(cpu, base)
                || is_open(self.machine, &open(cpu).object, &max.to_string());
            let highest = if is_free { most } else { max };
            let left = if self.allows_turbo() { highest } else { highest.min(base) };
            if min < left {
                steps.push(limit(cpu, MIN, highest));
            }
        }
        steps
    }

    /// The lowest clock of each CPU of a power domain as low as it goes.
    pub(super) fn lowered(&self, domain: &Domain) -> Vec<PlannedWrite> {
        let least = |cpu: CpuId| Some(limit(cpu, MIN, self.khz(cpu, LEAST)?));
        domain.cpus.iter().filter_map(|member| least(member.cpu)).collect()
    }

    /// The CPUs of a power domain whose clock somebody limits in the kernel.
    pub(super) fn limited(&self, domain: &Domain) -> CpuSet {
        let is_limited = |cpu: CpuId| {
            let max = self.khz(cpu, MAX);
            let is_below = |khz: u64| !is_open(self.machine, &open(cpu).object, &khz.to_string());
            let is_raised = self.khz(cpu, MIN).zip(self.khz(cpu, LEAST));
            max.is_some_and(is_below) || is_raised.is_some_and(|(min, least)| min > least)
        };
        domain.cpus.iter().map(|member| member.cpu).filter(|cpu| is_limited(*cpu)).collect()
    }

    /// Limits of the clock are set of CPUs whose cores are in classes: those that are not set anew along with it.
    pub(super) fn beside_classes(&self, steps: &Steps) -> Option<String> {
        if matches!(self.wish.what, What::BaseFreq { auto: true, .. }) {
            return None;
        }
        let is_set = |cpu: CpuId| steps.limits.iter().any(|step| step.of == SettingOwner::Cpu(cpu));
        let domains = self.targets();
        let found = domains.into_iter().filter(|domain| !Ground::heeds_priorities(domain));
        let placed: CpuSet =
            found.flat_map(|domain| placed(domain).iter().collect::<Vec<_>>()).collect();
        let placed: CpuSet = placed.iter().filter(|cpu| is_set(*cpu)).collect();
        (!placed.is_empty()).then(|| {
            format!(
                "cores of {} are already in classes: once core-power is on, classes limit the \
                 clock in addition to these limits (`cpudyno sst core-power get-assoc`)",
                placed.named()
            )
        })
    }

    /// Limits of the clock that let CPUs go above their base frequency, or not. Where cores have classes,
    /// limits stay as they are.
    pub(super) fn turbo_mode(&self, on: bool) -> Result<Steps, Refused> {
        let targets = self.targets();
        let mut heeded = targets.iter().filter(|domain| Ground::heeds_priorities(domain));
        let why = heeded.next().map(|domain| {
            format!(
                "cores of {} have classes (core-power is on), which limit the clock as well",
                domain.place()
            )
        });
        if let Some(why) = why.clone().filter(|_| !self.wish.lenient) {
            let first = "first `cpudyno sst core-power disable`; --force sets it anyway";
            return Err(self.wish.order(why, first));
        }
        let online = self
            .snapshot
            .domains
            .iter()
            .flat_map(|domain| domain.online().iter().collect::<Vec<_>>());
        let wanted = |cpu: &CpuId| self.wish.cpus.as_ref().is_none_or(|cpus| cpus.contains(*cpu));
        let mut steps = Vec::new();
        let mut remarks: Vec<String> = why.into_iter().collect();
        if !self.allows_turbo() {
            let what = if on {
                "turbo is off (no_turbo), which hides limits at or above the base frequency: all \
                 are opened. `cpudyno undo` restores those that were set before `cpudyno set \
                 no_turbo=on`, or seen since"
            } else {
                "turbo is already off (no_turbo): clocks without a limit stay at the base \
                 frequency until it is on, and get no further limit"
            };
            remarks.push(what.to_owned());
        }
        for cpu in online.filter(wanted) {
            let file = if on { MOST } else { "base_frequency" };
            let khz = self.khz(cpu, file).ok_or_else(|| {
                let why = format!("`{}` holds no frequency", cpufreq(cpu, file));
                self.wish.not_here(why, "the driver intel_pstate reports it")
            })?;
            if let Some(min) = self.khz(cpu, MIN).filter(|min| *min > khz) {
                let why = format!(
                    "the lowest clock of CPU {cpu} is {:.3} GHz, above its base frequency",
                    min as f64 / 1e6
                );
                return Err(self.wish.order(
                    why,
                    "lower it first: `cpudyno sst base-freq disable -a`, or `cpudyno undo`",
                ));
            }
            steps.push(if on { open(cpu) } else { limit(cpu, MAX, khz) });
        }
        Ok(Steps { limits: steps, remarks, ..Steps::default() })
    }
}
