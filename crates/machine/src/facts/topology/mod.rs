//! Who sits where.
//!
//! Each file reads one thing: [`sysfs`] CPUs and how they are nested, [`caches`], [`nodes`],
//! [`kinds`] of cores, [`dies`] that sysfs does not show. Of lists that several CPUs share disjoint
//! [`groups`] are made, so that lists that contradict each other still give every CPU one place, with
//! a word on the contradiction ([`disputes`]).

mod caches;
mod dies;
mod disputes;
mod groups;
mod kinds;
mod nodes;
mod rows;
mod sysfs;

pub(super) mod by_cpuid;

use std::collections::BTreeMap;

use model::microarchitecture::{Turbo, clock_of_intel};
use model::record::{Cache, CpuPlace, Topology, Unsaid};
use model::{CpuId, CpuSet, Finding, Obstacle, Reading, Unavailable};

use self::caches::Caches;
use self::disputes::Disputes;
pub(super) use self::rows::{ROWS, is_of_one_kind};
use self::sysfs::Nesting;
use super::cpuinfo::Cpuinfo;
use super::groups::{Maker, identity};
use crate::facts::cgroup;
use crate::facts::fact_cache::Survey;
use crate::ports::Machine;

/// The topology as far as the kernel says, and where its files contradict each other. It never
/// fails: a CPU of which nobody says its core counts as one, and is named as such.
pub(super) fn topology(survey: &Survey<'_>) -> (Topology, Vec<Finding>) {
    let machine: &Machine = survey;
    let nothing = Cpuinfo::default();
    let cpuinfo = survey.cpuinfo().unwrap_or(&nothing);
    let online = online(machine);
    let disputes = Disputes::default();
    let listed = sysfs::online(machine);
    if !listed.is_empty() && listed != online {
        let says = format!(
            "`{}/online` lists CPUs {listed}, and this process may run on CPUs {online}",
            sysfs::CPU
        );
        disputes.note("CPUs", &says, "a container's own list (lxcfs) has other numbers");
    }
    let nodes = nodes::read(machine, &online, &disputes);
    let Places { mut cpus, caches, unsaid } = by_cpuid_alone(machine, &online)
        .unwrap_or_else(|| as_the_kernel_shows(survey, &online, cpuinfo, &disputes));
    let node_of: BTreeMap<CpuId, u32> =
        nodes.iter().rev().flat_map(|node| node.cpus.iter().map(|cpu| (cpu, node.id))).collect();
    for place in &mut cpus {
        place.node = node_of.get(&place.cpu).copied();
    }
    let present = sysfs::present(machine);
    let not_shown = not_shown(machine, &present);
    let topology = Topology {
        usable: usable(machine, &online),
        present: present.difference(&not_shown),
        isolated: isolated(machine),
        online,
        cpus,
        caches,
        nodes,
        unsaid,
    };
    (topology, disputes.into_findings())
}

/// What a source says of places.
struct Places {
    cpus: Vec<CpuPlace>,
    caches: Vec<Cache>,
    unsaid: Unsaid,
}

/// Places and caches by CPUID, where the kernel describes no CPU at all: a container may hide sysfs.
fn by_cpuid_alone(machine: &Machine, online: &CpuSet) -> Option<Places> {
    let is_described =
        |cpu| machine.tree.list(&format!("/sys/devices/system/cpu/cpu{cpu}/topology")).is_ok();
    if online.iter().any(is_described) {
        return None;
    }
    let Topology { cpus, caches, unsaid, .. } = by_cpuid::topology(machine.cpuid.as_ref(), online)?;
    Some(Places { cpus, caches, unsaid })
}

/// Places and caches by sysfs and `/proc/cpuinfo`; dies by a register, where sysfs hides them.
fn as_the_kernel_shows(
    survey: &Survey<'_>,
    online: &CpuSet,
    cpuinfo: &Cpuinfo,
    disputes: &Disputes,
) -> Places {
    let machine: &Machine = survey;
    let mut nesting = sysfs::nesting(machine, online, cpuinfo, disputes);
    let caches = Caches::read(machine, online, nesting.listed_cores(), cpuinfo, disputes);
    nesting.split_cores(online, &caches.first_level(), disputes);
    let mut cpus = places(online, &nesting, &caches);
    let cores = &nesting.cores.groups;
    let kinds = kinds::read(machine, online, cores, &caches, cpuinfo);
    for place in &mut cpus {
        place.kind = kinds.get(&place.cpu).cloned();
    }
    // Kinds of cores that nobody names may differ in their caches.
    if !kinds.is_empty() || !is_hybrid_model(survey) {
        heed_gaps(&mut cpus, &caches, &kinds, disputes);
    }
    if dies::are_by_register(Some(cpuinfo)) {
        let dies = dies::by_register(machine, cores);
        for place in &mut cpus {
            place.die = dies.get(&place.cpu).copied();
        }
    }
    Places { cpus, caches: caches.rows, unsaid: nesting.unsaid }
}

/// Whether all CPUs of this model have several kinds of cores.
fn is_hybrid_model(survey: &Survey<'_>) -> bool {
    let clock = identity(survey).ok().filter(|(maker, _)| *maker == Maker::Intel);
    let clock = clock.and_then(|(_, it)| clock_of_intel(it.family, it.model));
    clock.is_some_and(|clock| clock.turbo == Some(Turbo::Hybrid))
}

/// A cache that equal cores have and a CPU does not list is not missing: nothing is said of it, nor of who shares it.
fn heed_gaps(
    cpus: &mut [CpuPlace],
    caches: &Caches,
    kinds: &BTreeMap<CpuId, String>,
    disputes: &Disputes,
) {
    for (sort, lacking) in caches.gaps(kinds) {
        let (verb, name) = (if lacking.len() == 1 { "lists" } else { "list" }, caches::name(sort));
        let says = format!("{} {verb} no {name}, and equal cores do", lacking.named());
        disputes.note(&caches::about(sort), &says, "which CPUs share it there is unknown");
        let is_beyond = |cpu| caches.last_level_of(cpu).is_some_and(|last| last < sort.0);
        for place in cpus.iter_mut().filter(|it| lacking.contains(it.cpu) && is_beyond(it.cpu)) {
            place.last_level_cache = CpuSet::default();
        }
    }
}

/// The CPUs that are online; those that this process may use where the kernel does not say, or where a file says that
/// none of them is: no kernel keeps a process on CPUs that are off.
///
/// # Source
/// lxcfs(1), `--enable-cfs` and cpusets: `online` then counts a container's CPUs from 0.
pub fn online(machine: &Machine) -> CpuSet {
    let online = sysfs::online(machine);
    let affinity = machine.host.affinity().unwrap_or_default();
    let is_of_others = online.intersection(&affinity).is_empty() && !affinity.is_empty();
    if is_of_others { affinity } else { online }
}

/// The CPUs that the scheduler leaves alone, as far as the kernel lists them.
pub(crate) fn isolated(machine: &Machine) -> CpuSet {
    sysfs::isolated(machine).unwrap_or_default()
}

/// Those of the CPUs that are plugged in which are neither online nor off: a container does not show them.
pub fn not_shown(machine: &Machine, present: &CpuSet) -> CpuSet {
    sysfs::not_shown(machine, &present.difference(&online(machine)))
}

/// Whether threads of this process could be pinned to these CPUs although they are outside of its affinity,
/// as isolated ones are: they are online, and its cpuset has them.
///
/// # Source
/// sched_setaffinity(2), and `isolcpus=` in `Documentation/admin-guide/kernel-parameters.txt`.
pub fn can_be_pinned_to(machine: &Machine, cpus: &CpuSet) -> bool {
    let within = |set: &CpuSet| cpus.difference(set).is_empty();
    let limited = cgroup::cpuset(machine);
    within(&sysfs::online(machine)) && limited.is_none_or(|cpuset| within(&cpuset))
}

/// Online, in the affinity of this process where it is known, and in its cpuset.
fn usable(machine: &Machine, online: &CpuSet) -> CpuSet {
    let usable = match machine.host.affinity() {
        Ok(affinity) => affinity.intersection(online),
        Err(_) => online.clone(),
    };
    // A cpuset without any of these CPUs is that of somebody else.
    let limited = cgroup::cpuset(machine).map(|cpuset| usable.intersection(&cpuset));
    limited.filter(|limited| !limited.is_empty()).unwrap_or(usable)
}

/// Where each CPU sits; kind and node are added by who knows them.
fn places(online: &CpuSet, nesting: &Nesting, caches: &Caches) -> Vec<CpuPlace> {
    let last_level = caches.last_level();
    let by_caches;
    let modules = if let Some(modules) = &nesting.modules {
        modules
    } else {
        by_caches = caches.modules(online, &nesting.packages);
        &by_caches
    };
    let place = |cpu: CpuId| {
        let siblings = nesting.cores.groups.of(cpu).cloned().unwrap_or_default();
        // A core is in one place, even where lists put its CPUs into different ones.
        let first = siblings.iter().next().unwrap_or(cpu);
        CpuPlace {
            cpu,
            package: nesting.packages.number(first).unwrap_or_default(),
            die: nesting.dies.number(first),
            module: modules.number(first),
            core: nesting.cores.number(cpu).unwrap_or(cpu.0),
            siblings,
            last_level_cache: last_level.get(&cpu).cloned().unwrap_or_default(),
            node: None,
            kind: None,
        }
    };
    online.iter().map(place).collect()
}

/// The lowest CPU that is online: CPU 0 may be absent.
pub(crate) fn first_cpu(machine: &Machine) -> Reading<CpuId> {
    online(machine).iter().next().ok_or_else(nothing_known)
}

pub(crate) fn nothing_known() -> Unavailable {
    let why = "neither `/sys/devices/system/cpu/online` nor the affinity says which CPUs there are";
    Unavailable::new(Obstacle::Permission, "CPUs", why)
}
