//! The newer generation: several power domains in a package, each asked by its own ioctls.
//!
//! # Source
//! Linux, include/uapi/linux/isst_if.h and drivers/platform/x86/intel/speed_select_if/isst_tpmi_core.c.

use std::collections::BTreeMap;

use machine::IsstDevice;
use machine::isst::DomainAddress;
use model::{Obstacle, Reading, Unavailable};
use sys::errno::ENOTTY;
use sys::isst::structures::{PerfLevelInfo, PerfLevels, TurboFreqInfo};

use super::{Backend, Context, FoundDomains, chosen, domain_number, no_priorities, physical};
use crate::model::{
    BaseFreq, Bucket, CLASSES, Celsius, Class, CorePower, Domain, Fabric, Feature, Features, Level,
    Licence, Megahertz, Member, Modules, On, PerLicence, Priority, Profiles, Properties, TurboFreq,
    TurboLimits, Watts,
};
use crate::query::{not_given, reason};
use crate::read::{Levels, Part, domain, map, not_at_level};
use crate::topology::{CpuLocation, Topology};

pub(super) const ROW: Backend = Backend {
    name: "tpmi",
    doc: "power domains, each with registers of its own: Sierra Forest, Granite Rapids and later ones",
    matches: |platform| matches!(platform.api_version, 2 | 3),
    domains,
    fill,
};

/// From here on a level bit mask says which levels support a feature; before, it is one flag for all.
const BY_LEVEL: u16 = 3;
/// From this revision of levels on there is an ioctl for more than one fabric.
const FABRICS: u8 = 2;
/// "No limit" of a class.
const NO_LIMIT_MHZ: u16 = 25_500;

/// The kernel's numbers of packages are those of the driver.
fn address(package: u32, domain: u32) -> Option<DomainAddress> {
    Some(DomainAddress { package: package.try_into().ok()?, domain: domain.try_into().ok()? })
}

/// Those that the driver says are there, with the CPUs whose own register names them; some have none.
fn domains(context: &Context<'_>, topology: &Topology, numbers: &[Reading<u32>]) -> FoundDomains {
    let mut found = FoundDomains::default();
    let mut members: BTreeMap<(u32, u32), Vec<(CpuLocation, u32)>> = BTreeMap::new();
    for (place, number) in topology.online.iter().zip(numbers) {
        match physical(number) {
            Ok(number) => {
                let at = (place.package, domain_number(number));
                members.entry(at).or_default().push((*place, number >> 3 & 0xff));
            }
            Err(reason) => found.lost.push((place.cpu, reason)),
        }
    }
    for package in topology.packages() {
        let valid = match instances(context, package) {
            Ok(valid) => valid,
            Err(reason) => {
                let here = members.extract_if((package, 0)..=(package, u32::MAX), |_, _| true);
                let cpus = here.flat_map(|(_, cpus)| cpus);
                found.lost.extend(cpus.map(|(place, _)| (place.cpu, reason.clone())));
                found.missing.push(reason);
                continue;
            }
        };
        for number in (0..u16::BITS).filter(|number| valid >> number & 1 == 1) {
            let here = members.remove(&(package, number)).unwrap_or_default();
            let die = here.first().and_then(|(place, _)| place.die);
            let cpus =
                here.iter().map(|(place, module)| Member { cpu: place.cpu, module: *module });
            found.domains.push(domain(package, die, number, cpus.collect()));
        }
    }
    for ((package, number), cpus) in members {
        let why = format!("the driver lists no power domain {number} in package {package}");
        let reason = Unavailable::new(Obstacle::Permission, "place of CPUs", why);
        found.lost.extend(cpus.into_iter().map(|(place, _)| (place.cpu, reason.clone())));
    }
    found.lost.sort_by_key(|(cpu, _)| *cpu);
    found
}

/// A bit for each power domain of a package.
fn instances(context: &Context<'_>, package: u32) -> Reading<u16> {
    let what = format!("power domains of package {package}");
    let Some(at) = address(package, 0) else {
        let why = "its number is beyond those that the driver can be asked for, 0 to 255";
        return Err(Unavailable::new(Obstacle::Cpudyno, what, why));
    };
    let instances = context.asker.once(|device| device.instances(at.package));
    let lost = || {
        let why = "the driver says that none of its power domains is there";
        Unavailable::new(Obstacle::Permission, what.clone(), why)
    };
    let valid = instances.map(|instances| instances.valid).map_err(|refusal| {
        if !refusal.is(ENOTTY) {
            return reason(&what, refusal);
        }
        let why = "the driver lists no power domains: it has not found that package's hardware, or \
                   lost it (ENOTTY)";
        Unavailable::new(Obstacle::Permission, what.clone(), why)
            .with_remedy("`sudo modprobe isst_tpmi`, or see `dmesg | grep -i isst`")
    })?;
    if valid == 0 { Err(lost()) } else { Ok(valid) }
}

fn fill(context: &Context<'_>, domains: &mut [Domain]) {
    for domain in domains {
        let Some(at) = address(domain.package, domain.number) else { continue };
        let asked = DomainQuery { context, at, has_cores: !domain.cpus.is_empty() };
        let wanted = context.wanted;
        if wanted.levels != Levels::None {
            domain.profiles = Some(asked.profiles());
        }
        let has_classes = wanted.has(Part::Classes) || wanted.has(Part::Associations);
        let core_power = (has_classes || wanted.has(Part::CorePower)).then(|| asked.core_power());
        // Only where there are none is there no use in asking.
        let none = core_power.as_ref().is_some_and(|it| it.supported == Ok(false));
        if wanted.has(Part::Classes) {
            let class = |number| {
                if none { Err(no_priorities("class")) } else { asked.class(number) }
            };
            domain.classes = Some((0..CLASSES).map(class).collect());
        }
        if wanted.has(Part::Associations) {
            let asleep = if none { Vec::new() } else { context.asleep(domain) };
            let (associations, sleeping) = asked.associations(domain, &asleep, none);
            domain.associations = Some(associations);
            domain.sleeping = sleeping;
        }
        domain.core_power = core_power.filter(|_| wanted.has(Part::CorePower));
    }
}

/// A power domain under question.
struct DomainQuery<'a> {
    context: &'a Context<'a>,
    at: DomainAddress,
    /// Whether some of its CPUs are online.
    has_cores: bool,
}

impl DomainQuery<'_> {
    /// One ioctl. The driver has one answer for all that it refuses: where there are cores, it is not said
    /// to be the hardware, which goes without saying.
    fn one<T>(
        &self,
        what: &str,
        ask: impl FnOnce(&dyn IsstDevice, DomainAddress) -> Result<T, machine::isst::Refusal>,
    ) -> Reading<T> {
        self.context.asker.once(|device| ask(device, self.at)).map_err(|refusal| {
            if !refusal.is(ENOTTY) {
                return reason(what, refusal);
            }
            let DomainAddress { package, domain } = self.at;
            let obstacle = if self.has_cores { Obstacle::Permission } else { Obstacle::Hardware };
            let why = format!(
                "power domain {domain} of package {package} does not have it, or the driver \
                 refused without a reason (ENOTTY)"
            );
            Unavailable::new(obstacle, what, why)
        })
    }

    fn profiles(&self) -> Reading<Profiles> {
        let info = self.one("performance levels", |device, at| device.levels(at))?;
        // All ones: there is nothing behind the address.
        if info.level_mask == u8::MAX && info.feature_rev == u8::MAX {
            let why = "its registers read all ones: this power domain is not there";
            return Err(Unavailable::new(Obstacle::Hardware, "performance levels", why));
        }
        let mut profiles = Profiles {
            revision: Ok(info.feature_rev),
            highest: info.max_level,
            mask: info.level_mask,
            current: info.current_level,
            locked: info.locked == 1,
            locked_by_register: None,
            dynamic: info.enabled == 1,
            on: Some(On {
                turbo_freq: info.feature_state >> 1 & 1 == 1,
                base_freq: info.feature_state & 1 == 1,
            }),
            levels: Vec::new(),
        };
        let numbers = chosen(self.context.wanted.levels, &profiles);
        profiles.levels = numbers.into_iter().map(|number| self.level(number, &info)).collect();
        Ok(profiles)
    }

    fn level(&self, number: u8, info: &PerfLevels) -> Level {
        let features = self.features(number, info);
        let wanted = self.context.wanted;
        let has = |feature: Feature| feature != Feature::Unsupported;
        Level {
            number,
            features: Ok(features),
            properties: wanted.has(Part::Properties).then(|| self.properties(number, info)),
            base_freq: wanted.has(Part::BaseFreq).then(|| {
                if has(features.base_freq) {
                    self.base_freq(number)
                } else {
                    Err(not_at_level("base frequencies of two kinds", number))
                }
            }),
            turbo_freq: wanted.has(Part::TurboFreq).then(|| {
                if has(features.turbo_freq) {
                    self.turbo_freq(number)
                } else {
                    Err(not_at_level("turbo frequencies of two kinds", number))
                }
            }),
        }
    }

    /// What is on is said of the level at present alone; at any other nothing is.
    fn features(&self, number: u8, info: &PerfLevels) -> Features {
        let supports = |mask: u8| {
            if self.context.platform.api_version >= BY_LEVEL {
                mask >> number & 1 == 1
            } else {
                mask != 0
            }
        };
        let on = |bit: u8| number == info.current_level && info.feature_state >> bit & 1 == 1;
        Features {
            turbo_freq: Feature::of(supports(info.turbo_freq_support), on(1)),
            base_freq: Feature::of(supports(info.base_freq_support), on(0)),
        }
    }

    fn properties(&self, number: u8, levels: &PerfLevels) -> Properties {
        let info = self.one("level", |device, at| device.level(at, number));
        let modules = self.one("cores of the level", |device, at| device.cores(at, number));
        let given = |what: &str, pick: fn(&PerfLevelInfo) -> u16| {
            let number = u32::from(map(&info, pick)?);
            if number == 0 { Err(not_given(what)) } else { Ok(number) }
        };
        let none = |what: &str| {
            let why = "the driver of this generation does not report it";
            Unavailable::new(Obstacle::Hardware, what, why)
        };
        Properties {
            modules: modules.map(Modules),
            tdp_ratio: map(&info, |info| info.tdp_ratio as u8),
            base: map(&info, base),
            tdp: given("thermal design power", |info| info.tdp_watts).map(Watts),
            power: Err(none("power of the package")),
            temperature: given("highest temperature", |info| info.tjunction_max_c).map(Celsius),
            fabrics: self.fabrics(number, levels, &info),
            memory: given("rate of memory", |info| info.memory_mhz).map(Megahertz),
            cooling: map(&info, |info| info.cooling as u8),
            bucket_cores: map(&info, |info| info.bucket_cores),
            turbo: turbo(&info),
        }
    }

    /// Older drivers and hardware know one, which is told with the level.
    fn fabrics(
        &self,
        number: u8,
        levels: &PerfLevels,
        info: &Reading<PerfLevelInfo>,
    ) -> Reading<Vec<Fabric>> {
        let fabric = |lowest: u16, guaranteed: u16, highest: u16| Fabric {
            lowest: Megahertz::given(lowest),
            guaranteed: Megahertz::given(guaranteed),
            highest: Megahertz::given(highest),
        };
        if levels.feature_rev >= FABRICS
            && let Ok(all) = self.one("fabrics", |device, at| device.fabrics(at, number))
        {
            let count = usize::from(all.max_fabrics).min(all.p0_mhz.len());
            let one = |i: usize| fabric(all.pm_mhz[i], all.p1_mhz[i], all.p0_mhz[i]);
            return Ok((0..count).map(one).collect());
        }
        let one =
            |it: &PerfLevelInfo| vec![fabric(it.fabric_pm_mhz, it.fabric_p1_mhz, it.fabric_p0_mhz)];
        map(info, one)
    }

    fn base_freq(&self, number: u8) -> Reading<BaseFreq> {
        let what = "base frequencies of two kinds";
        let info = self.one(what, |device, at| device.base_freq(at, number))?;
        let modules = self.one(what, |device, at| device.base_freq_cores(at, number))?;
        let given = |what: &str, number: u16| {
            if number == 0 { Err(not_given(what)) } else { Ok(u32::from(number)) }
        };
        Ok(BaseFreq {
            modules: Modules(modules),
            high: Megahertz::given(info.high_mhz),
            low: Megahertz::given(info.low_mhz),
            temperature: given("highest temperature", info.tjunction_max_c).map(Celsius),
            tdp: given("thermal design power", info.tdp_watts).map(Watts),
        })
    }

    fn turbo_freq(&self, number: u8) -> Reading<TurboFreq> {
        let what = "turbo frequencies of two kinds";
        self.one(what, |device, at| device.turbo_freq(at, number)).map(|info| turbo_freq(&info))
    }

    fn core_power(&self) -> CorePower {
        let state = self.one("priorities", |device, at| device.core_power(at));
        CorePower {
            supported: map(&state, |state| state.supported == 1),
            enabled: map(&state, |state| state.enable == 1),
            classes_enabled: map(&state, |state| state.enable == 1),
            priority: map(&state, |state| Priority::of(state.priority_type == 1)),
        }
    }

    fn class(&self, number: u8) -> Reading<Class> {
        let class = self.one("class", |device, at| device.class(at, number))?;
        let limit = Some(class.max_mhz).filter(|mhz| *mhz != NO_LIMIT_MHZ);
        Ok(Class {
            number,
            energy_preference: None,
            weight: class.weight,
            lowest: Megahertz(class.min_mhz.into()),
            highest: limit.map(|mhz| Megahertz(mhz.into())),
            desired: None,
        })
    }

    /// CPUs of a module share its class: each module is asked once, all of them together; those none of whose CPUs is
    /// online are told by themselves.
    fn associations(&self, domain: &Domain, asleep: &[u32], none: bool) -> (OfCpus, OfModules) {
        const WHAT: &str = "classes of CPUs";
        let wanted = self.context.wanted.cpus.as_ref();
        let asked = |member: &&Member| wanted.is_none_or(|cpus| cpus.contains(member.cpu));
        let members: Vec<Member> = domain.cpus.iter().filter(asked).copied().collect();
        if none {
            let reason = || Err(no_priorities(WHAT));
            return (members.iter().map(|member| (member.cpu, reason())).collect(), Vec::new());
        }
        let all = members.iter().map(|member| member.module).chain(asleep.iter().copied());
        let mut modules: Vec<u16> = all.map(|module| module as u16).collect();
        modules.sort_unstable();
        modules.dedup();
        let mut of: BTreeMap<u16, Reading<u8>> = BTreeMap::new();
        let at_once = usize::from(self.context.platform.commands_max).max(1);
        let ask = |some: &[u16]| {
            let questions: Vec<_> = some.iter().map(|module| (self.at, *module)).collect();
            self.one(WHAT, |device, _| device.associations(&questions))
        };
        for some in modules.chunks(at_once) {
            match ask(some) {
                Ok(classes) => {
                    let answers = classes.into_iter().map(|class| Ok(class as u8));
                    of.extend(some.iter().copied().zip(answers));
                }
                // One that is refused takes all others with it.
                Err(_) => of.extend(some.iter().map(|module| {
                    let class = ask(&[*module]);
                    (*module, class.map(|classes| classes[0] as u8))
                })),
            }
        }
        let of = |module: u32| of[&(module as u16)].clone();
        (
            members.iter().map(|member| (member.cpu, of(member.module))).collect(),
            asleep.iter().map(|module| (*module, of(*module))).collect(),
        )
    }
}

/// Classes of CPUs, and of modules.
type OfCpus = Vec<(model::CpuId, Reading<u8>)>;
type OfModules = Vec<(u32, Reading<u8>)>;

/// Plain, AVX2, AVX-512, AMX.
fn base(info: &PerfLevelInfo) -> Vec<PerLicence> {
    let all = [info.base_mhz, info.base_avx2_mhz, info.base_avx512_mhz, info.base_amx_mhz];
    per_licence(Licence::named(all.len()), all)
}

fn per_licence(
    licences: impl Iterator<Item = Licence>,
    mhz: impl IntoIterator<Item = u16>,
) -> Vec<PerLicence> {
    let one = |(licence, mhz)| PerLicence { licence, frequency: Megahertz::given(mhz) };
    licences.zip(mhz).map(one).collect()
}

/// The limits of each licence.
fn turbo(info: &Reading<PerfLevelInfo>) -> Vec<TurboLimits> {
    let licences = Licence::numbered(sys::isst::structures::LICENCES);
    let limits = |licence: Licence| {
        map(info, |info| info.trl_mhz[usize::from(licence.number)].map(Megahertz::given))
    };
    licences.map(|licence| TurboLimits { licence, limits: limits(licence) }).collect()
}

/// The list of groups ends with the first that is empty. Where hardware counts modules, some drivers fill
/// three groups and leave the others as they were: beyond the third, one that does not go on from the one
/// before ends the list as well.
fn turbo_freq(info: &TurboFreqInfo) -> TurboFreq {
    const SURE: usize = 3;
    let goes_on = |&(place, cores): &(usize, u16)| {
        let before = place.checked_sub(1).map_or(0, |before| info.bucket_cores[before]);
        cores > 0 && (place < SURE || cores > before && info.trl_mhz[0][place] > 0)
    };
    let licences = || Licence::numbered(sys::isst::structures::LICENCES);
    let cores = info.bucket_cores.iter().copied().enumerate();
    let bucket = |(place, cores): (usize, u16)| Bucket {
        cores,
        limits: per_licence(licences(), info.trl_mhz.iter().map(|limits| limits[place])),
    };
    TurboFreq {
        buckets: cores.take_while(goes_on).map(bucket).collect(),
        clips: per_licence(licences(), info.clip_mhz),
    }
}
