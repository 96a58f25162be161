//! From the device to a snapshot.

use machine::isst::settable::BRING_BACK;
use machine::{IsstDevice, Machine};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use crate::backends::{self, Context, FoundDomains};
use crate::cascade_lake_n;
use crate::commands::Command;
use crate::error::Error;
use crate::model::{Domain, Member, Profiles, Snapshot, Unplaced};
use crate::processor::Processor;
use crate::query::Asker;
use crate::topology::Topology;

/// Which performance levels are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// None, nor which there are.
    None,
    /// Which there are.
    Summary,
    /// Each of them.
    All,
    /// The one at present.
    Current,
    /// That one.
    Only(u8),
}

/// What is asked for beside levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Cores, frequencies and power of levels.
    Properties,
    /// Base frequencies of two kinds of cores.
    BaseFreq,
    /// Turbo frequencies of two kinds of cores.
    TurboFreq,
    /// Whether cores have priorities.
    CorePower,
    /// The classes.
    Classes,
    /// The classes of CPUs.
    Associations,
    /// The classes of cores none of whose CPUs is online, as far as levels tell them.
    Sleeping,
    /// What else locks the level than firmware.
    Lock,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Which levels.
    pub levels: Levels,
    /// What beside them.
    pub parts: Vec<Part>,
    /// Only power domains with one of these CPUs; none: all.
    pub cpus: Option<CpuSet>,
}

impl Wanted {
    /// What a command asks for.
    pub fn by(command: &Command) -> Wanted {
        Wanted { levels: command.levels, parts: command.parts.to_vec(), cpus: None }
    }

    pub(crate) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

/// Asks a machine.
pub fn read(machine: &Machine, wanted: &Wanted) -> Result<Snapshot, Error> {
    let processor = Processor::of(machine);
    if let Some(fixed) = cascade_lake_n::read(machine, processor, wanted) {
        return fixed;
    }
    let device = machine.isst.open().map_err(Error::Unavailable)?;
    let asker = Asker::new(&*device);
    let platform =
        asker.one("Speed Select", <dyn IsstDevice>::platform).map_err(Error::Unavailable)?;
    asker.limit(platform.commands_max);
    let backend = backends::of(platform).map_err(Error::Unavailable)?;
    let topology = Topology::read(&*machine.tree).map_err(Error::Unavailable)?;
    if let Some(cpus) = &wanted.cpus {
        check_cpus(cpus, &topology)?;
    }
    let cpus: Vec<_> = topology.online.iter().map(|place| place.cpu).collect();
    let physical = asker.physical(&cpus);
    // What was recorded tells levels without saying whose; a driver that places nobody is out of order.
    let nobody = machine.elsewhere.is_none() && physical.iter().all(Result::is_err);
    if let Some(Err(unavailable)) = physical.first().filter(|_| nobody) {
        return Err(Error::Unavailable(unavailable.clone()));
    }
    let has_sleepers = !topology.offline.is_empty();
    let context = Context { asker: &asker, platform, processor, wanted, machine, has_sleepers };
    let FoundDomains { mut domains, missing, mut lost } =
        (backend.domains)(&context, &topology, &physical);
    if let (true, Some(reason)) = (domains.is_empty(), missing.first()) {
        return Err(Error::Unavailable(reason.clone()));
    }
    mark_vacant(&asker, &topology, &mut domains, lost.is_empty());
    if let Some(cpus) = &wanted.cpus {
        domains.retain(|domain| domain.cpus.iter().any(|member| cpus.contains(member.cpu)));
        lost.retain(|(cpu, _)| cpus.contains(*cpu));
    } else {
        lost.extend(topology.offline.iter().map(|cpu| (cpu, offline())));
    }
    let unplaced = by_reason(lost);
    // Whoever names CPUs wants all of them.
    let is_lost = wanted.cpus.is_some() || domains.is_empty();
    if let Some(Unplaced { cpus, reason }) = unplaced.first().filter(|_| is_lost) {
        return Err(Error::Unplaced { cpus: cpus.clone(), reason: reason.clone() });
    }
    (backend.fill)(&context, &mut domains);
    check_level(wanted.levels, &domains)?;
    let ioctls = asker.ioctls();
    let backend = backend.name;
    Ok(Snapshot { platform, processor, backend, domains, unplaced, missing, ioctls })
}

/// Those that are named must be there, and where they are must be known.
pub(crate) fn check_cpus(cpus: &CpuSet, topology: &Topology) -> Result<(), Error> {
    let online: CpuSet = topology.online.iter().map(|place| place.cpu).collect();
    let off = cpus.intersection(&topology.offline);
    let strange = cpus.difference(&online).difference(&off);
    if !strange.is_empty() {
        return Err(Error::Cpus { cpus: strange, online });
    }
    if !off.is_empty() {
        return Err(Error::Unplaced { cpus: off, reason: offline() });
    }
    Ok(())
}

/// The kernel forgets in which package a CPU is when it is switched off.
pub(crate) fn offline() -> Unavailable {
    let why = "offline, and the kernel does not say where";
    Unavailable::new(Obstacle::Permission, "place of CPUs", why).with_remedy(BRING_BACK)
}

/// CPUs with the same reason together, in the order of the first one.
pub(crate) fn by_reason(lost: Vec<(CpuId, Unavailable)>) -> Vec<Unplaced> {
    let mut groups: Vec<(Unavailable, Vec<CpuId>)> = Vec::new();
    for (cpu, reason) in lost {
        match groups.iter_mut().find(|(known, _)| known.why == reason.why) {
            Some((_, cpus)) => cpus.push(cpu),
            None => groups.push((reason, vec![cpu])),
        }
    }
    let group = |(reason, cpus): (Unavailable, Vec<CpuId>)| {
        let reason = Unavailable { what: "place of CPUs".to_owned(), ..reason };
        Unplaced { cpus: cpus.into_iter().collect(), reason }
    };
    groups.into_iter().map(group).collect()
}

/// A power domain without CPUs has none at all, unless one that is offline may be in it: the driver
/// remembers numbers of CPUs that were online once, and says zero of others.
fn mark_vacant(asker: &Asker<'_>, topology: &Topology, domains: &mut [Domain], all_placed: bool) {
    if !all_placed || domains.iter().all(|domain| !domain.cpus.is_empty()) {
        return;
    }
    let offline: Vec<CpuId> = topology.offline.iter().collect();
    let remembered = asker.physical(&offline);
    let known =
        |number: &&Reading<u32>| number.as_ref().is_ok_and(|it| *it != 0 && *it != u32::MAX);
    if remembered.iter().filter(known).count() < offline.len() {
        return;
    }
    for domain in domains.iter_mut().filter(|domain| domain.cpus.is_empty()) {
        let is_here = |it: &u32| backends::domain_number(*it) == domain.number;
        domain.is_vacant = !remembered.iter().flatten().any(is_here);
    }
}

/// A level that was named must be there in one power domain at least; others may be without it.
pub(crate) fn check_level(levels: Levels, domains: &[Domain]) -> Result<(), Error> {
    let Levels::Only(level) = levels else { return Ok(()) };
    let known = domains.iter().filter_map(|it| Some((it, it.profiles.as_ref()?.as_ref().ok()?)));
    let known: Vec<(&Domain, &Profiles)> = known.collect();
    let has = |(_, profiles): &(_, &Profiles)| profiles.numbers().any(|it| it == level);
    let Some((domain, profiles)) = known.first().filter(|_| !known.iter().any(has)) else {
        return Ok(());
    };
    let numbers: Vec<String> = profiles.numbers().map(|n| n.to_string()).collect();
    let has = match numbers.as_slice() {
        [] => "are none".to_owned(),
        [only] => format!("is level {only} alone"),
        several => format!("are levels {}", several.join(", ")),
    };
    Err(Error::Level { level, place: domain.place(), has })
}

/// A power domain of which nothing was asked yet.
pub(crate) fn domain(package: u32, die: Option<u32>, number: u32, cpus: Vec<Member>) -> Domain {
    Domain {
        package,
        die,
        number,
        is_die: false,
        cpus,
        profiles: None,
        core_power: None,
        classes: None,
        associations: None,
        sleeping: Vec::new(),
        is_vacant: false,
    }
}

/// Reading one through another.
pub(crate) fn map<T, U>(reading: &Reading<T>, with: impl FnOnce(&T) -> U) -> Reading<U> {
    reading.as_ref().map(with).map_err(Unavailable::clone)
}

/// What a level does not have.
pub(crate) fn not_at_level(what: &str, level: u8) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, what, format!("level {level} does not support it"))
}
