//! What a recipe stands on: the machine as it is.

use levers::plan::PlannedWrite;
use levers::{Object, SettingOwner};
use machine::Machine;
use machine::isst::DomainAddress;
use machine::isst::settable::{self, Address, BRING_BACK, Die, Settable};
use model::{CpuId, CpuSet, Reading, Unavailable};

use super::{Refused, Wish};
use crate::error::Error;
use crate::model::{
    Domain, DomainKind, Feature, Features, Level, Modules, On, Profiles, Snapshot, Unplaced,
};
use crate::read::{Levels, Part, Wanted, read};

/// The machine, and what is wanted of it.
pub(super) struct Ground<'a> {
    pub(super) machine: &'a Machine,
    pub(super) wish: &'a Wish,
    pub(super) snapshot: Snapshot,
    /// What is known of CPUs that are switched off.
    pub(super) sleepers: &'a Sleepers,
}

/// CPUs that were switched off before anything was done: the kernel does not say where they are.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    /// All of them.
    pub(super) all: CpuSet,
    /// Those that were switched on to be asked, and have no part in it.
    pub(super) foreign: CpuSet,
}

/// At most, of one core.
const THREADS: usize = 2;

const PARTS: [Part; 8] = [
    Part::Properties,
    Part::BaseFreq,
    Part::TurboFreq,
    Part::CorePower,
    Part::Classes,
    Part::Associations,
    Part::Sleeping,
    Part::Lock,
];

impl<'a> Ground<'a> {
    pub(super) fn of(
        machine: &'a Machine,
        wish: &'a Wish,
        sleepers: &'a Sleepers,
    ) -> Result<Ground<'a>, Refused> {
        // All power domains are looked at, whichever CPUs are named: those must be there.
        if wish.cpus.is_some() {
            read(
                machine,
                &Wanted { levels: Levels::None, parts: Vec::new(), cpus: wish.cpus.clone() },
            )?;
        }
        let wanted = Wanted { levels: Levels::All, parts: PARTS.to_vec(), cpus: None };
        let snapshot = read(machine, &wanted)?;
        let nobody = snapshot.domains.iter().all(|domain| domain.cpus.is_empty());
        if let Some(Unplaced { cpus, reason }) = snapshot.unplaced.first().filter(|_| nobody) {
            return Err(Error::Unplaced { cpus: cpus.clone(), reason: reason.clone() }.into());
        }
        Ok(Ground { machine, wish, snapshot, sleepers })
    }

    /// As if the power domains that are meant were at that level, which switches the features of levels off.
    pub(super) fn at_level(mut self, level: u8) -> Result<Ground<'a>, Refused> {
        let wish = self.wish;
        let is_meant = |domain: &Domain| {
            wish.cpus.as_ref().is_none_or(|cpus| domain.cpus.iter().any(|it| cpus.contains(it.cpu)))
        };
        for domain in self.snapshot.domains.iter_mut().filter(|it| is_meant(it)) {
            let place = domain.place();
            let has_cores = domain.kind() != DomainKind::Io;
            let Some(Ok(profiles)) = &mut domain.profiles else { continue };
            if profiles.current == level {
                continue;
            }
            let Some(found) = profiles.levels.iter_mut().find(|it| it.number == level) else {
                if !has_cores {
                    continue;
                }
                let why = format!("{place} has no level {level}");
                return Err(wish.not_here(why, "`cpudyno sst perf-profile info` shows all levels"));
            };
            if let Ok(features) = &mut found.features {
                features.turbo_freq = features.turbo_freq.with(false);
                features.base_freq = features.base_freq.with(false);
            }
            profiles.current = level;
            profiles.on = Some(On { turbo_freq: false, base_freq: false });
        }
        Ok(self)
    }

    /// The power domains that are meant: those of the CPUs that were named, or all.
    pub(super) fn targets(&self) -> Vec<&Domain> {
        self.snapshot.domains.iter().filter(|domain| self.is_target(domain)).collect()
    }

    pub(super) fn is_target(&self, domain: &Domain) -> bool {
        self.wish
            .cpus
            .as_ref()
            .is_none_or(|cpus| domain.cpus.iter().any(|member| cpus.contains(member.cpu)))
    }

    /// The CPUs that were switched on to be asked, and are elsewhere.
    pub(super) fn strangers(&self) -> CpuSet {
        let elsewhere = self.snapshot.domains.iter().filter(|domain| !self.is_target(domain));
        let online = elsewhere.flat_map(|domain| domain.cpus.iter().map(|member| member.cpu));
        online.filter(|cpu| self.sleepers.all.contains(*cpu)).collect()
    }

    /// That a whole package is off: the older generation is asked through its CPUs. There is one where more are off than
    /// the cores of all others hold.
    pub(super) fn elsewhere(&self) -> Option<String> {
        let is_meant = self.wish.cpus.is_none() && self.is_older();
        if !is_meant || matches!(self.wish.what, super::What::Level { with_cpus: true, .. }) {
            return None;
        }
        let off = &self.sleepers.all;
        let control = self.machine.tree.read("/sys/devices/system/cpu/smt/control");
        let has_siblings = control.is_ok_and(|text| text.trim() != "notsupported");
        let threads = if has_siblings { THREADS } else { 1 };
        let room = |domain: &Domain| {
            let cores = domain.modules().count() + domain.asleep()?.count();
            Some((threads * cores as usize).saturating_sub(domain.cpus.len()))
        };
        let room: usize = self.snapshot.domains.iter().map(room).sum::<Option<usize>>()?;
        (off.len() > room).then(|| {
            format!(
                "{} are off, all CPUs of a package among them: that package stays as it is \
                 ({BRING_BACK})",
                off.named()
            )
        })
    }

    /// The CPUs of the power domains that are meant which are online after these steps.
    pub(super) fn stays(&self, steps: &[PlannedWrite]) -> CpuSet {
        let goes = |cpu: CpuId| {
            let of = |step: &&PlannedWrite| matches!(step.of, SettingOwner::Cpu(of) if of == cpu);
            steps.iter().find(of).is_some_and(|step| step.wanted == "0")
        };
        let all = self
            .targets()
            .into_iter()
            .flat_map(|domain| domain.online().iter().collect::<Vec<_>>());
        all.filter(|cpu| !goes(*cpu)).collect()
    }

    /// Those with cores: one there is at least.
    pub(super) fn compute(&self) -> Result<Vec<&Domain>, Refused> {
        let compute: Vec<&Domain> =
            self.targets().into_iter().filter(|domain| domain.kind() != DomainKind::Io).collect();
        if compute.is_empty() {
            return Err(self.wish.not_here("no power domain has CPUs online", BRING_BACK));
        }
        match compute.iter().find(|domain| domain.cpus.is_empty()) {
            Some(domain) => {
                let why = format!("no CPU of {} is online", domain.place());
                let others: CpuSet =
                    compute.iter().flat_map(|it| it.cpus.iter().map(|member| member.cpu)).collect();
                let hint = if others.is_empty() {
                    BRING_BACK.to_owned()
                } else {
                    format!("{BRING_BACK}; -c {others} before the feature selects all others")
                };
                Err(self.wish.not_here(why, hint))
            }
            None => Ok(compute),
        }
    }

    /// Those that have CPUs: one there is at least.
    pub(super) fn with_cpus(&self) -> Result<Vec<&Domain>, Refused> {
        let all = self.targets().into_iter();
        let found: Vec<&Domain> = all.filter(|domain| !domain.cpus.is_empty()).collect();
        // What is missing is said by who needs all of them.
        if found.is_empty() { self.compute() } else { Ok(found) }
    }

    /// All power domains in the packages that are meant.
    pub(super) fn packages(&self) -> Vec<&Domain> {
        let domains = self.snapshot.domains.iter();
        let targets = self.targets();
        domains.filter(|it| targets.iter().any(|target| target.package == it.package)).collect()
    }

    /// The power domains whose priorities change along with those that are meant: the newer generation has them for
    /// a package, and with the older one each die has its own.
    pub(super) fn switched(&self) -> Vec<&Domain> {
        if self.is_older() { self.targets() } else { self.packages() }
    }

    pub(super) fn is_older(&self) -> bool {
        self.snapshot.platform.api_version == 1
    }

    /// Whether its classes have neither weight nor preference.
    pub(super) fn is_skylake(&self) -> bool {
        self.snapshot.processor.is_some_and(crate::Processor::is_skylake_server)
    }

    fn address(&self, domain: &Domain) -> Result<Address, Refused> {
        if !self.is_older() {
            let small = |number: u32| u8::try_from(number).ok();
            if let (Some(package), Some(domain)) = (small(domain.package), small(domain.number)) {
                return Ok(Address::Domain(DomainAddress { package, domain }));
            }
        }
        if domain.cpus.is_empty() {
            let why = format!("no CPU of {} is online", domain.place());
            return Err(self.wish.not_here(why, BRING_BACK));
        }
        let die = Die { package: domain.package, die: Some(domain.die.unwrap_or(0)) };
        Ok(if self.is_skylake() { Address::Mailbox(die) } else { Address::Registers(die) })
    }

    /// A value of a power domain, as it is to be.
    pub(super) fn step(
        &self,
        domain: &Domain,
        what: settable::What,
        wanted: impl Into<String>,
    ) -> Result<PlannedWrite, Refused> {
        let at = match what {
            settable::What::TurboLimits => registers(&self.snapshot, domain),
            _ => self.address(domain)?,
        };
        let object = Object::SpeedSelect(Settable { at, what });
        let setting = levers::Lever::of(&object).map_or("sst", |lever| lever.id).to_owned();
        let (of, wanted) = (SettingOwner::Part(domain.place()), wanted.into());
        Ok(PlannedWrite { setting, of, object, wanted, is_effective: false })
    }

    /// The performance levels of a power domain.
    pub(super) fn profiles<'d>(&self, domain: &'d Domain) -> Result<&'d Profiles, Refused> {
        self.known(domain.profiles.as_ref(), domain)
    }

    /// The level at present.
    pub(super) fn current<'d>(&self, domain: &'d Domain) -> Result<&'d Level, Refused> {
        let profiles = self.profiles(domain)?;
        profiles.level(profiles.current).ok_or_else(|| {
            let why =
                format!("{} does not describe its level {}", domain.place(), profiles.current);
            self.wish.not_here(why, LOOK)
        })
    }

    /// What is on at the level at present.
    pub(super) fn on(&self, domain: &Domain) -> Result<On, Refused> {
        if let Some(on) = self.profiles(domain)?.on {
            return Ok(on);
        }
        let level = self.current(domain)?;
        let features = self.read(&level.features, domain)?;
        let is_on = |feature: Feature| feature == Feature::Enabled;
        Ok(On { turbo_freq: is_on(features.turbo_freq), base_freq: is_on(features.base_freq) })
    }

    /// The power domains that are meant; all of them must have the feature at their level.
    pub(super) fn having(
        &self,
        feature: fn(&Features) -> Feature,
    ) -> Result<Vec<&Domain>, Refused> {
        let domains = self.compute()?;
        for domain in &domains {
            let level = self.current(domain)?;
            let features = self.read(&level.features, domain)?;
            if feature(features) == Feature::Unsupported {
                let number = level.number;
                let why = format!("level {number} of {} does not support it", domain.place());
                let hint = "`cpudyno sst info` says at which levels it is; -c names the power \
                            domains of CPUs";
                return Err(self.wish.not_here(why, hint));
            }
        }
        Ok(domains)
    }

    /// Those of them that have the feature at their level, one at least: of others it is off.
    pub(super) fn able(&self, feature: fn(&Features) -> Feature) -> Result<Vec<&Domain>, Refused> {
        let is_able = |domain: &&Domain| {
            let level = self.current(domain).ok().and_then(|level| level.features.as_ref().ok());
            level.is_none_or(|features| feature(features) != Feature::Unsupported)
        };
        let able: Vec<&Domain> = self.compute()?.into_iter().filter(is_able).collect();
        if able.is_empty() { self.having(feature) } else { Ok(able) }
    }

    /// What was asked for and answered.
    pub(super) fn known<'r, T>(
        &self,
        reading: Option<&'r Reading<T>>,
        domain: &Domain,
    ) -> Result<&'r T, Refused> {
        match reading {
            Some(reading) => self.read(reading, domain),
            None => Err(self.wish.not_here(format!("{} does not report it", domain.place()), LOOK)),
        }
    }

    pub(super) fn read<'r, T>(
        &self,
        reading: &'r Reading<T>,
        domain: &Domain,
    ) -> Result<&'r T, Refused> {
        reading.as_ref().map_err(|reason: &Unavailable| {
            let why = format!("{} of {}: {}", reason.what, domain.place(), reason.why);
            let hint = reason.remedy.clone().unwrap_or_else(|| LOOK.to_owned());
            self.wish.not_here(why, hint)
        })
    }

    /// Whether cores of a power domain can have priorities.
    pub(super) fn has_priorities(domain: &Domain) -> bool {
        let of = domain.core_power.as_ref();
        of.is_some_and(|core_power| core_power.supported == Ok(true))
    }

    /// Whether they have: where there are two switches, both must be on.
    pub(super) fn heeds_priorities(domain: &Domain) -> bool {
        let of = domain.core_power.as_ref();
        of.is_some_and(|it| it.enabled == Ok(true) && it.classes_enabled == Ok(true))
    }

    /// A file of a CPU's clock in kHz, where it is there.
    pub(super) fn khz(&self, cpu: CpuId, file: &str) -> Option<u64> {
        self.machine.tree.read(&cpufreq(cpu, file)).ok()?.trim().parse().ok()
    }
}

/// Where the registers of the processor are that hold for the cores of a power domain: of one with a
/// mailbox of its own they are its own, of others the package's.
pub(crate) fn registers(snapshot: &Snapshot, domain: &Domain) -> Address {
    let is_own = snapshot.platform.api_version == 1;
    let die = is_own.then_some(domain.die.unwrap_or(0));
    Address::Registers(Die { package: domain.package, die })
}

pub(super) const LOOK: &str = "`cpudyno sst info` says what there is";

/// Where the limits of a CPU's clock are.
pub(super) fn cpufreq(cpu: CpuId, file: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}")
}

/// The modules of those CPUs that are named, in a power domain.
pub(super) fn modules_of(domain: &Domain, cpus: &CpuSet) -> Modules {
    let named = domain.cpus.iter().filter(|member| cpus.contains(member.cpu));
    Modules(named.fold(0, |mask, member| mask | 1u64.checked_shl(member.module).unwrap_or(0)))
}

/// The numbers of modules.
pub(super) fn numbers(modules: Modules) -> impl Iterator<Item = u8> {
    (0..64).filter(move |number| modules.contains(u32::from(*number)))
}
