//! What holds clocks below what their level gives: the class of a core, limits of the kernel, and that turbo is off.
//!
//! A class counts where core-power is on. base-freq and turbo-freq with their priorities set all classes anew,
//! none of them with a highest frequency; a new level leaves classes as they are. A limit of the kernel stays,
//! unless it is below a new base frequency: then the recipe opens it.

use std::collections::HashMap;

use levers::Object;
use levers::unlimited::is_open;
use model::{CpuId, Reading};

use super::ground::{Ground, cpufreq};
use super::limits::{LEAST, MAX};
use crate::model::{Class, Domain, Megahertz};

/// A clock that a CPU does not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    /// The clock.
    pub mhz: Megahertz,
    /// Who says so.
    pub by: CeilingBy,
}

/// Who holds a clock down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CeilingBy {
    /// The class of its core.
    Class(u8),
    /// The kernel, by a limit that somebody set.
    Kernel,
    /// The turbo limits that hold at most, which somebody lowered.
    TurboLimits,
    /// Turbo is off: no clock is above its base frequency.
    NoTurbo,
}

/// The ceilings of the CPUs of a power domain.
#[derive(Clone)]
pub(super) struct Ceilings {
    classes: HashMap<CpuId, Reading<Ceiling>>,
    /// In kHz.
    kernel: HashMap<CpuId, u64>,
    /// Whether turbo is on.
    allows_turbo: bool,
}

impl Ceilings {
    /// As things are.
    pub(super) fn of(ground: &Ground<'_>, domain: &Domain) -> Ceilings {
        let cpus = || domain.cpus.iter().map(|member| member.cpu);
        let kernel = cpus().filter_map(|cpu| Some((cpu, of_kernel(ground, cpu)?))).collect();
        let allows_turbo = ground.allows_turbo();
        let found = Ceilings { classes: HashMap::new(), kernel, allows_turbo };
        if Ground::heeds_priorities(domain) { found.with_classes(ground, domain) } else { found }
    }

    /// Classes count.
    pub(super) fn with_classes(self, ground: &Ground<'_>, domain: &Domain) -> Ceilings {
        let cpus = domain.cpus.iter().map(|member| member.cpu);
        let one = |cpu| Some((cpu, of_class(ground, domain, cpu).transpose()?));
        Ceilings { classes: cpus.filter_map(one).collect(), ..self }
    }

    /// Classes are set anew, without a highest frequency.
    pub(super) fn without_classes(self) -> Ceilings {
        Ceilings { classes: HashMap::new(), ..self }
    }

    /// Limits of the kernel that are below these base frequencies, in kHz, are opened.
    pub(super) fn opened_below(mut self, bases: &[(CpuId, Option<u64>)]) -> Ceilings {
        let is_below = |cpu: CpuId, khz: u64| {
            bases.iter().any(|(of, base)| *of == cpu && base.is_some_and(|base| khz < base))
        };
        self.kernel.retain(|cpu, khz| !is_below(*cpu, *khz));
        self
    }

    /// Whether clocks may be above their base frequency.
    pub(super) fn allows_turbo(&self) -> bool {
        self.allows_turbo
    }

    /// The lowest one of a CPU with that base frequency.
    pub(super) fn of_cpu(&self, cpu: CpuId, base: &Reading<Megahertz>) -> Reading<Option<Ceiling>> {
        let base = if self.allows_turbo { None } else { Some(base.clone()?) };
        let without_turbo = base.map(|mhz| Ceiling { mhz, by: CeilingBy::NoTurbo });
        let class = self.classes.get(&cpu).cloned().transpose()?;
        let kernel = self.kernel.get(&cpu).map(|khz| {
            let mhz = Megahertz((khz / 1000).try_into().unwrap_or(u32::MAX));
            Ceiling { mhz, by: CeilingBy::Kernel }
        });
        Ok(class.into_iter().chain(kernel).chain(without_turbo).min_by_key(|it| it.mhz))
    }
}

/// No core is slower than its lowest clock, whatever its class says.
fn of_class(ground: &Ground<'_>, domain: &Domain, cpu: CpuId) -> Reading<Option<Ceiling>> {
    let of = domain.associations.iter().flatten().find(|(of, _)| *of == cpu);
    let Some((_, number)) = of else { return Ok(None) };
    let number = number.clone()?;
    let Some(class) = domain.classes.iter().flatten().nth(number.into()) else { return Ok(None) };
    let &Class { highest, .. } = class.as_ref().map_err(Clone::clone)?;
    let least = ground.khz(cpu, LEAST).and_then(|khz| u32::try_from(khz / 1000).ok()).unwrap_or(0);
    let ceiling =
        |mhz: Megahertz| Ceiling { mhz: mhz.max(Megahertz(least)), by: CeilingBy::Class(number) };
    Ok(highest.map(ceiling))
}

/// A limit that somebody set; one that is as high as the clock goes at present is none.
fn of_kernel(ground: &Ground<'_>, cpu: CpuId) -> Option<u64> {
    let khz = ground.khz(cpu, MAX)?;
    let object = Object::File(cpufreq(cpu, MAX));
    (!is_open(ground.machine, &object, &khz.to_string())).then_some(khz)
}
