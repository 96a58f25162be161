//! Cascade Lake-N: three processors whose base frequencies of two kinds of cores are chosen in the setup
//! of the firmware. There is nothing to ask: the kernel's base frequencies tell who was given which.

use std::collections::BTreeMap;

use machine::{Machine, Tree};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use sys::isst::structures::PlatformInfo;

use crate::error::Error;
use crate::model::{
    BaseFreq, CLASSES, CorePower, Domain, Feature, Features, Level, Licence, Megahertz, Member,
    Modules, PerLicence, Profiles, Properties, Snapshot,
};
use crate::processor::Processor;
use crate::read::{Levels, Part, Wanted, domain, not_at_level};
use crate::topology::Topology;

/// The processors.
///
/// # Source
/// Linux, tools/power/x86/intel-speed-select/isst-config.c.
const NAMES: [&str; 3] = ["6252N", "6230N", "5218N"];

/// What such a machine has; none: it is another one.
pub(crate) fn read(
    machine: &Machine,
    processor: Option<Processor>,
    wanted: &Wanted,
) -> Option<Result<Snapshot, Error>> {
    let processor =
        processor.filter(|it| it.is_skylake_server() && matches!(it.stepping, 6 | 7))?;
    let brand =
        brand(&*machine.tree).filter(|brand| NAMES.iter().any(|name| brand.contains(name)))?;
    Some(snapshot(machine, processor, &brand, wanted))
}

fn brand(tree: &dyn Tree) -> Option<String> {
    let text = tree.read("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn snapshot(
    machine: &Machine,
    processor: Processor,
    brand: &str,
    wanted: &Wanted,
) -> Result<Snapshot, Error> {
    let topology = Topology::read(&*machine.tree).map_err(Error::Unavailable)?;
    if let Some(cpus) = &wanted.cpus {
        crate::read::check_cpus(cpus, &topology)?;
    }
    let mut members: BTreeMap<(u32, Option<u32>), Vec<Member>> = BTreeMap::new();
    let mut lost = Vec::new();
    for place in &topology.online {
        let path = format!("/sys/devices/system/cpu/cpu{}/topology/core_id", place.cpu);
        match number(&*machine.tree, &path) {
            Ok(module) => {
                let member = Member { cpu: place.cpu, module };
                members.entry((place.package, place.die)).or_default().push(member);
            }
            Err(reason) => lost.push((place.cpu, reason)),
        }
    }
    let is_wanted = |members: &[Member]| {
        let asked = |cpus: &CpuSet| members.iter().any(|member| cpus.contains(member.cpu));
        wanted.cpus.as_ref().is_none_or(asked)
    };
    let domains = members.into_iter().filter(|(_, members)| is_wanted(members));
    let domains = domains.map(|((package, die), members)| {
        let mut domain = domain(package, die, 0, members);
        fill(&mut domain, &*machine.tree, brand, wanted);
        domain
    });
    let domains: Vec<Domain> = domains.collect();
    crate::read::check_level(wanted.levels, &domains)?;
    let offline = topology.offline.iter().map(|cpu| (cpu, crate::read::offline()));
    lost.extend(offline.filter(|_| wanted.cpus.is_none()));
    Ok(Snapshot {
        platform: PlatformInfo::default(),
        processor: Some(processor),
        backend: "cpufreq",
        domains,
        unplaced: crate::read::by_reason(lost),
        missing: Vec::new(),
        ioctls: 0,
    })
}

fn number(tree: &dyn Tree, path: &str) -> Reading<u32> {
    let text = tree.read(path)?;
    text.trim().parse().map_err(|_| {
        let why = format!("`{path}` holds no number");
        Unavailable::new(Obstacle::Permission, "place of CPUs", why)
    })
}

fn fill(domain: &mut Domain, tree: &dyn Tree, brand: &str, wanted: &Wanted) {
    let none = |what: &str| {
        let why = "Cascade Lake-N has only base-freq, which the setup of its firmware chooses";
        Unavailable::new(Obstacle::Hardware, what, why)
    };
    if wanted.has(Part::CorePower) {
        domain.core_power = Some(CorePower {
            supported: Ok(false),
            enabled: Ok(false),
            classes_enabled: Ok(false),
            priority: Err(none("priorities")),
        });
    }
    if wanted.has(Part::Classes) {
        domain.classes = Some(vec![Err(none("class")); CLASSES.into()]);
    }
    if wanted.has(Part::Associations) {
        let class = |member: &Member| (member.cpu, Err(none("classes of CPUs")));
        domain.associations = Some(domain.cpus.iter().map(class).collect());
    }
    if wanted.levels == Levels::None {
        return;
    }
    let frequencies = base_frequencies(domain, tree);
    let split = frequencies.as_ref().map(|it| Feature::of(true, it.high != it.low));
    let modules = domain.modules();
    let features = split
        .map_err(Unavailable::clone)
        .map(|base_freq| Features { base_freq, turbo_freq: Feature::Unsupported });
    let properties = wanted.has(Part::Properties).then(|| properties(modules, brand, &none));
    let level = Level {
        number: 0,
        features,
        properties,
        base_freq: wanted.has(Part::BaseFreq).then(|| frequencies.clone()),
        turbo_freq: wanted
            .has(Part::TurboFreq)
            .then(|| Err(not_at_level("turbo frequencies of two kinds", 0))),
    };
    let is_asked = !matches!(wanted.levels, Levels::Summary)
        && !matches!(wanted.levels, Levels::Only(level) if level > 0);
    domain.profiles = Some(Ok(Profiles {
        revision: Err(none("revision of performance levels")),
        highest: 0,
        mask: 1,
        current: 0,
        locked: true,
        locked_by_register: None,
        dynamic: false,
        on: None,
        levels: if is_asked { vec![level] } else { Vec::new() },
    }));
}

/// What the name of the processor tells: `... CPU @ 2.30GHz`.
fn properties(modules: Modules, brand: &str, none: &dyn Fn(&str) -> Unavailable) -> Properties {
    let gigahertz = brand
        .rsplit_once('@')
        .and_then(|(_, rest)| rest.trim().strip_suffix("GHz")?.trim().parse::<f64>().ok());
    let ratio = gigahertz.map(|gigahertz| (gigahertz * 10.0).round() as u8);
    let base = |ratio| {
        let one = |licence| PerLicence { licence, frequency: Megahertz::of_ratio(ratio) };
        Licence::named(1).map(one).collect()
    };
    Properties {
        modules: Ok(modules),
        tdp_ratio: ratio.ok_or_else(|| none("base frequency")),
        base: ratio.map(base).ok_or_else(|| none("base frequency")),
        tdp: Err(none("thermal design power")),
        power: Err(none("power of the package")),
        temperature: Err(none("highest temperature")),
        fabrics: Err(none("fabrics")),
        memory: Err(none("rate of memory")),
        cooling: Err(none("cooling")),
        bucket_cores: Err(none("turbo limits")),
        turbo: Vec::new(),
    }
}

/// The highest and the lowest base frequency of the domain's CPUs, and who has the highest.
fn base_frequencies(domain: &Domain, tree: &dyn Tree) -> Reading<BaseFreq> {
    let of = |cpu: CpuId| {
        let kilohertz =
            number(tree, &format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/base_frequency"))?;
        Ok(Megahertz(kilohertz / 1000))
    };
    let each = domain.cpus.iter().map(|member| Ok((*member, of(member.cpu)?)));
    let each = each.collect::<Reading<Vec<(Member, Megahertz)>>>()?;
    let high = each.iter().map(|(_, mhz)| *mhz).max();
    let low = each.iter().map(|(_, mhz)| *mhz).min();
    // Where all are alike, nobody is raised.
    let is_raised = |mhz: Megahertz| Some(mhz) == high && high != low;
    let chosen = each.iter().filter(|(member, mhz)| is_raised(*mhz) && member.module < 64);
    let not_told =
        |what: &str| Unavailable::new(Obstacle::Hardware, what, "no interface reports it");
    Ok(BaseFreq {
        modules: Modules(chosen.fold(0, |mask, (member, _)| mask | 1 << member.module)),
        high,
        low,
        temperature: Err(not_told("highest temperature")),
        tdp: Err(not_told("thermal design power")),
    })
}
