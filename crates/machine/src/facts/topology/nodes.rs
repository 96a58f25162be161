//! Memory nodes, also those without CPUs.

use std::collections::{BTreeMap, BTreeSet};

use model::record::Node;
use model::{CpuId, CpuSet};

use super::super::memory::MEMORY_BYTES_MAX;
use super::disputes::Disputes;
use super::sysfs::{self, list, text};
use crate::parse::value_of;
use crate::ports::Machine;

const NODE: &str = "/sys/devices/system/node";

/// The kernel has at most 1,024 nodes (`CONFIG_NODES_SHIFT`).
const NODE_NUMBER_MAX: u32 = 1023;

/// The memory nodes, ascending; empty where the kernel knows none.
///
/// # Source
/// The kernel's `stable/sysfs-devices-node`.
pub(super) fn read(machine: &Machine, online: &CpuSet, disputes: &Disputes) -> Vec<Node> {
    let numbers = numbers(machine);
    let allowed = allowed(machine);
    let mut claimed = BTreeSet::new();
    let of = |id: &u32| Some((*id, members(machine, &format!("{NODE}/node{id}"), *id, disputes)?));
    let listed: BTreeMap<u32, CpuSet> = numbers.iter().filter_map(of).collect();
    // Where nobody says who is near one of them, that is nobody's place and not without CPUs.
    if listed.len() < numbers.len() {
        return Vec::new();
    }
    let emulated = emulated(machine, &listed);
    let node = |(id, listed): (u32, CpuSet)| {
        if emulated.contains(&id) {
            claimed = claimed.difference(&listed.iter().collect()).copied().collect();
        }
        if let Some(twice) = listed.iter().find(|cpu| claimed.contains(cpu)) {
            let says = format!("CPU {twice} is listed in two nodes, {id} is one of them");
            disputes.note("nodes", &says, "the node of the lower number is believed");
        }
        let free = |cpu: &CpuId| online.contains(*cpu) && claimed.insert(*cpu);
        let not_shown = sysfs::not_shown(machine, &listed.difference(online));
        Node {
            id,
            cpus: listed.iter().filter(free).collect(),
            not_shown,
            memory_bytes: memory_bytes(machine, id),
            usable: allowed.as_ref().map(|allowed| allowed.contains(CpuId(id))),
            distances: distances(machine, id, &numbers),
        }
    };
    listed.into_iter().map(node).collect()
}

/// The nodes whose CPUs are those of an earlier one: parts that the kernel makes of a node have all of its CPUs.
///
/// # Source
/// Linux, `Documentation/arch/x86/x86_64/fake-numa-for-cpusets.rst`: `numa=fake=`, of other architectures, too, since 6.13.
fn emulated(machine: &Machine, listed: &BTreeMap<u32, CpuSet>) -> BTreeSet<u32> {
    let command_line = machine.tree.read("/proc/cmdline").unwrap_or_default();
    let is_asked_for = |word: &str| {
        let options = word.strip_prefix("numa=").unwrap_or_default();
        options.split(',').any(|option| option.starts_with("fake="))
    };
    if !command_line.split_whitespace().any(is_asked_for) {
        return BTreeSet::new();
    }
    let is_part = |(id, cpus): &(&u32, &CpuSet)| {
        listed.iter().any(|(earlier, of)| earlier < *id && of == *cpus)
    };
    listed.iter().filter(is_part).map(|(id, _)| *id).collect()
}

/// Whether there are nodes, whatever they say.
pub(super) fn are_there(machine: &Machine) -> bool {
    !numbers(machine).is_empty()
}

/// The CPUs of a node from its list, else from its mask: older kernels have masks only.
fn members(machine: &Machine, folder: &str, id: u32, disputes: &Disputes) -> Option<CpuSet> {
    let listed = list(machine, folder, &["cpulist"]);
    let masked =
        text(machine, &format!("{folder}/cpumap")).and_then(|mask| CpuSet::from_mask(&mask));
    if let (Some(listed), Some(masked)) = (&listed, &masked)
        && listed != masked
    {
        let says = format!("node {id} has CPUs {listed} by its list, {masked} by its mask");
        disputes.note("nodes", &says, "the list is believed");
    }
    listed.or(masked)
}

/// The numbers of the nodes that are online, by the kernel's list, or else by their folders; numbers have holes.
fn numbers(machine: &Machine) -> BTreeSet<u32> {
    let names = machine.tree.list(NODE).unwrap_or_default();
    let of = |name: &String| name.strip_prefix("node")?.parse().ok();
    let folders: BTreeSet<u32> = names.iter().filter_map(of).collect();
    // Node lists are written like CPU lists.
    let online = list(machine, NODE, &["online"]).filter(|online| !online.is_empty());
    let numbers = match online {
        Some(online) if !folders.is_empty() => online.iter().map(|CpuId(number)| number).collect(),
        _ => folders,
    };
    numbers.into_iter().filter(|&number| number <= NODE_NUMBER_MAX).collect()
}

/// The nodes that this process may have memory of; written like CPUs, too.
///
/// # Source
/// proc_pid_status(5): `Mems_allowed_list`.
fn allowed(machine: &Machine) -> Option<CpuSet> {
    let status = machine.tree.read("/proc/self/status").ok()?;
    let nodes: CpuSet = value_of(&status, "Mems_allowed_list")?.parse().ok()?;
    Some(nodes).filter(|nodes| !nodes.is_empty())
}

/// `Node 0 MemTotal:  8386704 kB`
fn memory_bytes(machine: &Machine, id: u32) -> Option<u64> {
    let path = format!("{NODE}/node{id}/meminfo");
    let meminfo = text(machine, &path)?;
    let total = meminfo.lines().find_map(|line| line.split_once("MemTotal:"))?.1;
    let kibibytes = total.split_whitespace().next()?.parse::<u64>().ok()?;
    kibibytes.checked_mul(1024).filter(|&bytes| bytes <= MEMORY_BYTES_MAX)
}

/// One number per node that is online; other counts cannot be told apart and are left out.
fn distances(machine: &Machine, id: u32, numbers: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
    let text = text(machine, &format!("{NODE}/node{id}/distance")).unwrap_or_default();
    let distances: Option<Vec<u32>> =
        text.split_whitespace().map(|number| number.parse().ok()).collect();
    let distances = distances.filter(|distances| distances.len() == numbers.len());
    numbers.iter().copied().zip(distances.unwrap_or_default()).collect()
}
