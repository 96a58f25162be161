//! From the device to a snapshot.

use machine::{IsstDevice, Machine, Reading};
use model::{CpuSet, Obstacle, Unavailable};

use crate::asking::Asker;
use crate::backends::{self, Context};
use crate::commands::Command;
use crate::error::Error;
use crate::model::{Domain, Member, Snapshot};
use crate::processor::Processor;
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
    let device = machine.isst.open().map_err(Error::Unavailable)?;
    let asker = Asker::new(&*device);
    let platform =
        asker.one("Speed Select", <dyn IsstDevice>::platform).map_err(Error::Unavailable)?;
    asker.limit(platform.commands_max);
    let processor = Processor::of(machine);
    let backend = backends::of(platform).map_err(Error::Unavailable)?;
    let topology = Topology::read(&*machine.tree).map_err(Error::Unavailable)?;
    if let Some(cpus) = &wanted.cpus {
        check_cpus(cpus, &topology)?;
    }
    let cpus: Vec<_> = topology.online.iter().map(|place| place.cpu).collect();
    let physical = asker.physical(&cpus);
    let nobody = physical.iter().all(Result::is_err);
    if let Some(Err(unavailable)) = physical.first().filter(|_| nobody) {
        return Err(Error::Unavailable(unavailable.clone()));
    }
    let context = Context { asker: &asker, platform, processor, wanted };
    let mut domains = (backend.domains)(&context, &topology, &physical);
    if let Some(cpus) = &wanted.cpus {
        domains.retain(|domain| domain.cpus.iter().any(|member| cpus.contains(member.cpu)));
    }
    let placed: CpuSet =
        domains.iter().flat_map(|domain| domain.cpus.iter().map(|m| m.cpu)).collect();
    let lost = topology.online.iter().map(|place| place.cpu).filter(|cpu| !placed.contains(*cpu));
    let lost = if wanted.cpus.is_none() { lost.collect() } else { CpuSet::default() };
    (backend.fill)(&context, &mut domains);
    check_level(wanted.levels, &domains)?;
    Ok(Snapshot {
        platform,
        processor,
        backend: backend.name,
        domains,
        unplaced: topology.offline.iter().chain(lost.iter()).collect(),
        ioctls: asker.ioctls(),
    })
}

fn check_cpus(cpus: &CpuSet, topology: &Topology) -> Result<(), Error> {
    let online: CpuSet = topology.online.iter().map(|place| place.cpu).collect();
    let (off, strange): (Vec<_>, Vec<_>) = cpus
        .iter()
        .filter(|cpu| !online.contains(*cpu))
        .partition(|cpu| topology.offline.contains(*cpu));
    let refused = |cpus: Vec<_>, why: &str| {
        Err(Error::Cpus { cpus: cpus.into_iter().collect(), why: why.to_owned() })
    };
    if !strange.is_empty() {
        return refused(strange, "this machine has no such CPUs");
    }
    if !off.is_empty() {
        return refused(off, "they are offline, and it is not known where they are");
    }
    Ok(())
}

/// A level that was named must be there.
fn check_level(levels: Levels, domains: &[Domain]) -> Result<(), Error> {
    let Levels::Only(level) = levels else { return Ok(()) };
    for domain in domains {
        let Some(Ok(profiles)) = &domain.profiles else { continue };
        if profiles.numbers().all(|number| number != level) {
            let numbers: Vec<String> = profiles.numbers().map(|n| n.to_string()).collect();
            let has = match numbers.as_slice() {
                [only] => format!("is level {only} alone"),
                several => format!("are levels {}", several.join(", ")),
            };
            let (package, domain) = (domain.package, domain.number);
            return Err(Error::Level { level, package, domain, has });
        }
    }
    Ok(())
}

/// A power domain of which nothing was asked yet.
pub(crate) fn domain(package: u32, die: Option<u32>, number: u32, cpus: Vec<Member>) -> Domain {
    Domain {
        package,
        die,
        number,
        cpus,
        profiles: None,
        core_power: None,
        classes: None,
        associations: None,
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
