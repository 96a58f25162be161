//! From a snapshot to a record.

use std::collections::BTreeMap;

use machine::Machine;
use model::record::{
    BaseFrequencies, CeilingBy, ChosenCores, ClockCeiling, ClockPair, CoreAssociation,
    CorePowerSwitches, CoreStep, DomainCore, ExpectedClocks, FabricFrequencies, FeatureState,
    LevelProperties, LicenceFrequency, LicenceSteps, PerformanceLevel, PerformanceProfiles,
    PowerDomain, PowerDomainKind, Presentation, ProcessorNumbers, Record, ServiceClass,
    SpeedSelect, SpeedSelectDriver, SpeedSelectQuestion, TurboFrequencies, UnplacedCpus,
};
use model::{CpuId, CpuSet, Hertz, Known, Obstacle, Reading, Unavailable};

use crate::change::{self, Ceiling, Clocks, Expected};
use crate::model::{
    BaseFreq, Class, CorePower, Domain, DomainKind, Fabric, Feature, Level, Megahertz, Modules,
    PerLicence, Profiles, Properties, Snapshot, TurboFreq, TurboLimits,
};

/// Who would get which clock, as a record has it.
pub fn expected(found: &[Expected]) -> Vec<ExpectedClocks> {
    let known = |reading: &Reading<Megahertz>| match reading {
        Ok(mhz) => Known::Yes(hertz(*mhz)),
        Err(unavailable) => Known::No { unavailable: unavailable.clone() },
    };
    let ceiling = |ceiling: Ceiling| ClockCeiling {
        clock: hertz(ceiling.mhz),
        by: match ceiling.by {
            change::CeilingBy::Class(number) => CeilingBy::Class(number),
            change::CeilingBy::Kernel => CeilingBy::Kernel,
            change::CeilingBy::TurboLimits => CeilingBy::TurboLimits,
            change::CeilingBy::NoTurbo => CeilingBy::NoTurbo,
        },
    };
    let pair = |clocks: &Clocks| ClockPair {
        base: known(&clocks.base),
        turbo: known(&clocks.turbo),
        ceiling: clocks.ceiling.map(ceiling),
    };
    let one = |it: &Expected| ExpectedClocks {
        cpus: it.cpus.clone(),
        package: it.package,
        now: pair(&it.now),
        then: it.then.as_ref().map(pair),
    };
    found.iter().map(one).collect()
}

/// What a machine answered, as a record. Of the machine itself it says which one it is, and no more: that
/// takes longer than all of this.
pub fn record(
    machine: &Machine,
    answered: SpeedSelect,
    command: Vec<String>,
    presentation: Presentation,
) -> Record {
    const FACTS: &[&str] = &["cpu.brand", "cpu.microcode", "kernel.release"];
    let run = machine.begin(command, presentation);
    let facts = machine::facts::some(machine, FACTS);
    let description = model::record::Machine { facts, ..model::record::Machine::default() };
    Record { speed_select: Some(answered), ..Record::new(run, description) }
}

/// The part of a record that a snapshot makes.
pub fn speed_select(
    snapshot: &Snapshot,
    question: SpeedSelectQuestion,
    calls: Vec<String>,
) -> SpeedSelect {
    let platform = snapshot.platform;
    let driver = SpeedSelectDriver {
        interface: platform.api_version,
        version: platform.driver_version,
        commands_at_once: platform.commands_max,
        mailbox: platform.mailbox == 1,
        mmio: platform.mmio == 1,
    };
    let numbers = |it: crate::Processor| ProcessorNumbers {
        family: it.family,
        model: it.model,
        stepping: it.stepping,
    };
    let unplaced = |it: &crate::model::Unplaced| UnplacedCpus {
        cpus: it.cpus.clone(),
        reason: it.reason.clone(),
    };
    SpeedSelect {
        question,
        generation: snapshot.backend.to_owned(),
        driver: (platform.api_version > 0).then_some(driver),
        processor: snapshot.processor.map(numbers),
        ioctls: snapshot.ioctls,
        domains: snapshot.domains.iter().map(domain).collect(),
        unplaced: snapshot.unplaced.iter().map(unplaced).collect(),
        missing: snapshot.missing.clone(),
        calls,
        expected: Vec::new(),
        to_know: Vec::new(),
    }
}

fn known<T, U>(reading: &Reading<T>, with: impl FnOnce(&T) -> U) -> Known<U> {
    reading.as_ref().map(with).map_err(Unavailable::clone).into()
}

fn hertz(frequency: Megahertz) -> Hertz {
    Hertz(f64::from(frequency.0) * 1e6)
}

fn domain(of: &Domain) -> PowerDomain {
    let levels = of.profiles.iter().flatten().flat_map(|profiles| &profiles.levels);
    let has_cores = of.associations.is_some()
        || levels.into_iter().any(|level| level.properties.is_some() || level.base_freq.is_some());
    PowerDomain {
        package: of.package,
        die: of.die,
        number: of.number,
        kind: match of.kind() {
            DomainKind::Compute => PowerDomainKind::Compute,
            DomainKind::Io => PowerDomainKind::Io,
            DomainKind::Unknown => PowerDomainKind::Unknown,
        },
        cpus: of.online(),
        cores: if has_cores { cores(of) } else { Vec::new() },
        profiles: of.profiles.as_ref().map(|it| known(it, |it| profiles(of, it))),
        core_power: of.core_power.as_ref().map(core_power),
        classes: of.classes.iter().flatten().map(|it| known(it, class)).collect(),
        associations: of.associations.as_deref().map_or_else(Vec::new, |all| associations(of, all)),
    }
}

fn cores(of: &Domain) -> Vec<DomainCore> {
    let mut cores: BTreeMap<u32, Vec<CpuId>> = BTreeMap::new();
    for member in &of.cpus {
        cores.entry(member.module).or_default().push(member.cpu);
    }
    let core =
        |(core, cpus): (u32, Vec<CpuId>)| DomainCore { core, cpus: cpus.into_iter().collect() };
    cores.into_iter().map(core).collect()
}

fn associations(of: &Domain, all: &[(CpuId, Reading<u8>)]) -> Vec<CoreAssociation> {
    let classes: BTreeMap<CpuId, &Reading<u8>> = all.iter().map(|(cpu, it)| (*cpu, it)).collect();
    let one = |DomainCore { core, cpus }: DomainCore| {
        let cpus: CpuSet = cpus.iter().filter(|cpu| classes.contains_key(cpu)).collect();
        let class = classes.get(cpus.as_slice().first()?)?;
        Some(CoreAssociation { core, class: known(class, |class| *class), cpus })
    };
    cores(of).into_iter().filter_map(one).collect()
}

fn profiles(of: &Domain, it: &Profiles) -> PerformanceProfiles {
    PerformanceProfiles {
        revision: known(&it.revision, |revision| *revision),
        highest: it.highest,
        there: it.numbers().collect(),
        current: it.current,
        can_change: it.dynamic,
        locked: it.locked,
        locked_by_register: it.locked_by_register.as_ref().map(|it| known(it, |it| *it)),
        levels: it.levels.iter().map(|it| level(of, it)).collect(),
    }
}

fn state(feature: Feature) -> FeatureState {
    match feature {
        Feature::Unsupported => FeatureState::Unsupported,
        Feature::Disabled => FeatureState::Disabled,
        Feature::Enabled => FeatureState::Enabled,
    }
}

fn level(of: &Domain, it: &Level) -> PerformanceLevel {
    PerformanceLevel {
        number: it.number,
        base_freq_state: known(&it.features, |features| state(features.base_freq)),
        turbo_freq_state: known(&it.features, |features| state(features.turbo_freq)),
        properties: it.properties.as_ref().map(|it| properties(of, it)),
        base_freq: it.base_freq.as_ref().map(|it| known(it, |it| base_freq(of, it))),
        turbo_freq: it.turbo_freq.as_ref().map(|it| known(it, turbo_freq)),
    }
}

fn chosen(of: &Domain, modules: Modules) -> ChosenCores {
    let cores = (0..u64::BITS).filter(|module| modules.contains(*module)).map(CpuId).collect();
    ChosenCores { cores, cpus: of.cpus_of(modules) }
}

fn properties(of: &Domain, it: &Properties) -> LevelProperties {
    LevelProperties {
        allowed: known(&it.modules, |modules| chosen(of, *modules)),
        base: known(&it.base, |base| frequencies(base)),
        tdp_ratio: known(&it.tdp_ratio, |ratio| *ratio),
        tdp_watts: known(&it.tdp, |watts| watts.0),
        package_watts: known(&it.power, |watts| watts.map(|watts| watts.0)),
        highest_celsius: known(&it.temperature, |celsius| celsius.0),
        fabrics: known(&it.fabrics, |fabrics| fabrics.iter().map(fabric).collect()),
        memory_transfers: known(&it.memory, |mhz| hertz(*mhz)),
        cooling: known(&it.cooling, |cooling| *cooling),
        turbo: turbo(&it.turbo, &it.bucket_cores).into(),
    }
}

/// Those that are given.
fn frequencies(all: &[PerLicence]) -> Vec<LicenceFrequency> {
    let one = |it: &PerLicence| {
        let licence = it.licence.name.to_owned();
        Some(LicenceFrequency { licence, hertz: hertz(it.frequency?) })
    };
    all.iter().filter_map(one).collect()
}

fn fabric(it: &Fabric) -> FabricFrequencies {
    FabricFrequencies {
        lowest_hertz: it.lowest.map(hertz),
        base_hertz: it.guaranteed.map(hertz),
        highest_hertz: it.highest.map(hertz),
    }
}

/// Licences that are given. Firmware refuses those that it does not have; any other reason stands for all.
fn turbo(
    all: &[TurboLimits],
    cores: &Reading<[u16; crate::model::BUCKETS]>,
) -> Reading<Vec<LicenceSteps>> {
    let reasons = || all.iter().filter_map(|it| it.limits.as_ref().err());
    let every = reasons().count() == all.len();
    if let Some(reason) = reasons().find(|it| every || it.obstacle != Obstacle::Hardware) {
        return Err(reason.clone());
    }
    let given = |it: &TurboLimits| {
        let limits = it.limits.as_ref().ok().filter(|limits| limits[0].is_some())?;
        let step = |(place, limit): (usize, &Option<Megahertz>)| CoreStep {
            cores: cores.as_ref().ok().map(|cores| cores[place]),
            hertz: limit.map(hertz),
        };
        let steps = limits.iter().enumerate().map(step).collect();
        Some(LicenceSteps { licence: it.licence.name.to_owned(), steps })
    };
    Ok(all.iter().filter_map(given).collect())
}

fn base_freq(of: &Domain, it: &BaseFreq) -> BaseFrequencies {
    BaseFrequencies {
        chosen: chosen(of, it.modules),
        high_hertz: it.high.map(hertz),
        low_hertz: it.low.map(hertz),
        highest_celsius: known(&it.temperature, |celsius| celsius.0),
        tdp_watts: known(&it.tdp, |watts| watts.0),
    }
}

fn turbo_freq(it: &TurboFreq) -> TurboFrequencies {
    let mut chosen: Vec<LicenceSteps> = Vec::new();
    for bucket in &it.buckets {
        for limit in &bucket.limits {
            let name = limit.licence.name;
            let step = CoreStep { cores: Some(bucket.cores), hertz: limit.frequency.map(hertz) };
            match chosen.iter_mut().find(|known| known.licence == name) {
                Some(known) => known.steps.push(step),
                None => chosen.push(LicenceSteps { licence: name.to_owned(), steps: vec![step] }),
            }
        }
    }
    // Licences without any limit are those that the processor does not have.
    chosen.retain(|licence| licence.steps.iter().any(|step| step.hertz.is_some()));
    TurboFrequencies { chosen, others: frequencies(&it.clips) }
}

fn core_power(it: &CorePower) -> CorePowerSwitches {
    CorePowerSwitches {
        supported: known(&it.supported, |it| *it),
        enabled: known(&it.enabled, |it| *it),
        classes_enabled: known(&it.classes_enabled, |it| *it),
        priority: known(&it.priority, |priority| priority.word().to_owned()),
    }
}

fn class(it: &Class) -> ServiceClass {
    ServiceClass {
        number: it.number,
        energy_preference: it.energy_preference,
        weight: it.weight,
        lowest_hertz: Some(it.lowest).filter(|mhz| mhz.0 > 0).map(hertz),
        highest_hertz: it.highest.map(hertz),
        desired_hertz: it.desired.map(hertz),
    }
}
