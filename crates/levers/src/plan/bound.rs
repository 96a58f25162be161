//! Who is bound to CPUs that are to leave.

use machine::Machine;
use machine::facts::restored_cpuset;
use model::CpuSet;

use crate::drivers;
use crate::port::Levers;

/// So many are named.
const NAMED: usize = 3;

/// Who is bound to these CPUs, in words; nobody: none.
pub(super) fn to(machine: &Machine, levers: &dyn Levers, leaving: &CpuSet) -> Option<String> {
    if leaving.is_empty() {
        return None;
    }
    let online = drivers::online(machine);
    let threads = threads(machine, &online, leaving);
    let irqs = interrupts(machine, levers, &online, leaving);
    let mut what = Vec::new();
    if !threads.is_empty() {
        let more = threads.len().saturating_sub(NAMED);
        let named = threads.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        what.push(format!(
            "threads that are bound there lose their binding for good: {named}{more}"
        ));
    }
    match irqs {
        0 => {}
        1 => what.push("1 interrupt is bound there and moves away for good".to_owned()),
        irqs => what.push(format!("{irqs} interrupts are bound there and move away for good")),
    }
    let word = if leaving.len() == 1 { "CPU" } else { "CPUs" };
    (!what.is_empty()).then(|| format!("{word} {leaving} would go offline; {}", what.join("; ")))
}

fn numbers(machine: &Machine, folder: &str) -> Vec<String> {
    let names = machine.tree.list(folder).unwrap_or_default();
    names.into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

/// Threads that may not run everywhere, and may run on a CPU that leaves: each thread has CPUs of its
/// own.
fn threads(machine: &Machine, online: &CpuSet, leaving: &CpuSet) -> Vec<String> {
    let touched = |list: &str| {
        let cpus: CpuSet = list.parse().unwrap_or_default();
        // Who may run everywhere loses nothing.
        !online.difference(&cpus).is_empty() && !cpus.intersection(leaving).is_empty()
    };
    let bound = |status: &str, id: &str, pid: &str| {
        let field = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
        let list = field("Cpus_allowed_list:")?.trim();
        let name = field("Name:")?.trim();
        // Who has all that its control group has gets it back from there.
        let is_restored =
            || restored_cpuset(machine, pid).is_some_and(|set| set.to_string() == list);
        (touched(list) && !is_restored()).then(|| format!("{name} ({id}, CPUs {list})"))
    };
    let of_process = |pid: String| -> Vec<String> {
        // Threads of the kernel belong to a CPU, and come and go with it.
        let line = machine.tree.read(&format!("/proc/{pid}/cmdline"));
        if !line.is_ok_and(|text| !text.is_empty()) {
            return Vec::new();
        }
        let folder = format!("/proc/{pid}/task");
        let of_thread = |id: String| {
            let status = machine.tree.read(&format!("{folder}/{id}/status")).ok()?;
            bound(&status, &id, &pid)
        };
        numbers(machine, &folder).into_iter().filter_map(of_thread).collect()
    };
    numbers(machine, "/proc").into_iter().flat_map(of_process).collect()
}

/// Drivers whose interrupts the kernel spreads and binds by itself, by what those are called: such an
/// interrupt sleeps while its CPU is away, and comes back with it. Older kernels do not tell otherwise.
///
/// # Source
/// Linux, callers of `pci_alloc_irq_vectors_affinity` and `virtio_find_vqs` with a description of
/// affinity: drivers/nvme/host/pci.c, drivers/block/virtio_blk.c, drivers/scsi/{megaraid,mpt3sas,
/// smartpqi,hisi_sas}.
const MANAGED: &[&str] = &["nvme", "-req.", "megasas", "mpt3sas", "smartpqi", "hisi_sas"];

/// How many interrupts have no CPU left but these, and do not come back with them.
fn interrupts(machine: &Machine, levers: &dyn Levers, online: &CpuSet, leaving: &CpuSet) -> usize {
    let loses = |number: &&String| {
        let folder = format!("/proc/irq/{number}");
        let list = machine.tree.read(&format!("{folder}/smp_affinity_list")).unwrap_or_default();
        let cpus: CpuSet = list.trim().parse().unwrap_or_default();
        let left = cpus.intersection(online).difference(leaving);
        let bound = left.is_empty() && !cpus.intersection(leaving).is_empty();
        let actions = machine.tree.read(&format!("/sys/kernel/irq/{number}/actions"));
        let actions = actions.unwrap_or_default();
        let is_managed = MANAGED.iter().any(|driver| actions.contains(driver))
            || levers.is_read_only(&format!("{folder}/smp_affinity"));
        bound && !is_managed
    };
    numbers(machine, "/proc/irq").iter().filter(loses).count()
}
