//! What Speed Select is made of, whichever generation it is.
//!
//! A machine has packages, a package has power domains, and a power domain has performance levels,
//! priorities and cores. Cores are addressed by the number of their module: on processors with
//! efficient cores several of them share one.

mod core_power;
mod level;
mod units;

pub use model::record::CLASSES;
use model::{CpuId, CpuSet, Reading, Unavailable};
use sys::isst::structures::PlatformInfo;

pub use self::core_power::{Class, CorePower, Priority};
pub(crate) use self::level::NAMED;
pub use self::level::{
    BUCKETS, BaseFreq, Bucket, Fabric, Feature, Features, Level, Licence, Modules, On, PerLicence,
    Profiles, Properties, TurboFreq, TurboLimits,
};
pub use self::units::{Celsius, Megahertz, Watts};
use crate::processor::Processor;

/// Speed Select of a machine at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// What the driver is.
    pub platform: PlatformInfo,
    /// Which processor it is; none: nobody says.
    pub processor: Option<Processor>,
    /// Which generation answered.
    pub backend: &'static str,
    /// The power domains, by package and number.
    pub domains: Vec<Domain>,
    /// CPUs of which it is not known where they are: they are offline, or have no number within the
    /// hardware.
    pub unplaced: Vec<Unplaced>,
    /// What else could not be read: the power domains of a package.
    pub missing: Vec<Unavailable>,
    /// How many ioctls it took.
    pub ioctls: u32,
}

/// CPUs of which it is not known where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplaced {
    /// Which ones.
    pub cpus: CpuSet,
    /// Why.
    pub reason: Unavailable,
}

/// A power domain. What was not asked for is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Domain {
    /// The package that it is in.
    pub package: u32,
    /// The die that the kernel says its CPUs are in; none: it says none, or there are no CPUs.
    pub die: Option<u32>,
    /// Its number within the package.
    pub number: u32,
    /// Whether it is a die, as in the older generation.
    pub is_die: bool,
    /// Its CPUs that are online, ascending.
    pub cpus: Vec<Member>,
    /// Its performance levels.
    pub profiles: Option<Reading<Profiles>>,
    /// Whether its cores have priorities.
    pub core_power: Option<CorePower>,
    /// Its classes.
    pub classes: Option<Vec<Reading<Class>>>,
    /// The classes of its CPUs.
    pub associations: Option<Vec<(CpuId, Reading<u8>)>>,
    /// The cores that its levels have and none of whose CPUs is online, with their classes.
    pub(crate) sleeping: Vec<(u32, Reading<u8>)>,
    /// Whether no CPU that is present, online or not, can be in it.
    pub(crate) is_vacant: bool,
}

/// A CPU of a power domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The kernel's number.
    pub cpu: CpuId,
    /// The hardware's number of its core, or module.
    pub module: u32,
}

/// What a power domain is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DomainKind {
    /// It has cores.
    Compute,
    /// It has none.
    Io,
    /// None of its CPUs is online, if it has any.
    Unknown,
}

impl Domain {
    /// Where it is, in words: the first one of a package is called as the package.
    pub fn place(&self) -> String {
        let Domain { package, die, number, is_die, .. } = self;
        match die.unwrap_or(*number) {
            die if *is_die && die > 0 => format!("package {package}, die {die}"),
            die if !is_die && die > 0 && die != *number => {
                format!("package {package}, die {die}, power domain {number}")
            }
            _ if !is_die && *number > 0 => format!("package {package}, power domain {number}"),
            _ => format!("package {package}"),
        }
    }

    /// What it is for.
    pub fn kind(&self) -> DomainKind {
        if !self.cpus.is_empty() {
            return DomainKind::Compute;
        }
        let masks: Vec<u64> = self.of_levels().collect();
        match masks.as_slice() {
            [] if self.is_vacant => DomainKind::Io,
            [] => DomainKind::Unknown,
            masks if masks.iter().all(|mask| *mask == 0) => DomainKind::Io,
            _ => DomainKind::Compute,
        }
    }

    /// The CPUs that are online.
    pub fn online(&self) -> CpuSet {
        self.cpus.iter().map(|member| member.cpu).collect()
    }

    /// The lowest CPU, through which it is asked.
    pub fn first(&self) -> Option<CpuId> {
        self.cpus.first().map(|member| member.cpu)
    }

    /// The CPUs, among those online, of these modules.
    pub fn cpus_of(&self, modules: Modules) -> CpuSet {
        let chosen = self.cpus.iter().filter(|member| modules.contains(member.module));
        chosen.map(|member| member.cpu).collect()
    }

    /// The numbers of its modules whose CPUs are online.
    pub fn modules(&self) -> Modules {
        let modules = self.cpus.iter().filter(|member| member.module < u64::BITS);
        Modules(modules.fold(0, |mask, member| mask | 1 << member.module))
    }

    /// A bit for each module of each level that tells them.
    fn of_levels(&self) -> impl Iterator<Item = u64> {
        let profiles = self.profiles.as_ref().and_then(|profiles| profiles.as_ref().ok());
        let levels = profiles.into_iter().flat_map(|profiles| &profiles.levels);
        levels
            .filter_map(|level| level.properties.as_ref()?.modules.as_ref().ok())
            .map(|modules| modules.0)
    }

    /// The numbers of the modules that its levels have and none of whose CPUs is online: the kernel does not say where
    /// those are, firmware knows its cores. None: no level tells them.
    pub(crate) fn asleep(&self) -> Option<Modules> {
        let all = self.of_levels().reduce(|all, mask| all | mask)?;
        Some(Modules(all & !self.modules().0))
    }

    /// The numbers of its modules whose class is known, whether or not their CPUs are online.
    pub(crate) fn classed(&self) -> Modules {
        let asleep = self.sleeping.iter().filter(|(_, class)| class.is_ok());
        Modules(asleep.fold(self.modules().0, |mask, (module, _)| mask | 1 << module))
    }
}

impl Snapshot {
    /// The power domains, a slice for each package.
    pub fn packages(&self) -> impl Iterator<Item = &[Domain]> {
        self.domains.chunk_by(|a, b| a.package == b.package)
    }
}
