//! CPUs and their places as `/sys/devices/system/cpu` shows them.

use model::{CpuId, CpuSet, Obstacle, Unavailable};

use super::super::platform::not_offered;
use super::cpuinfo::Cpuinfo;
use super::groups::{Groups, Numbered};
use crate::ports::{Machine, Reading};

pub(super) const CPU: &str = "/sys/devices/system/cpu";

/// The text of a small file, without what surrounds it: some recordings are padded with zeros.
pub(super) fn text(machine: &Machine, path: &str) -> Option<String> {
    let text = machine.tree.read(path).ok()?;
    Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').into())
}

/// A number of the kernel; -1 and what only looks like it mean that there is none.
pub(super) fn number(machine: &Machine, path: &str) -> Option<u32> {
    text(machine, path)?.parse().ok().filter(|&number| i32::try_from(number).is_ok())
}

/// CPUs from the first of these files that lists them.
pub(super) fn list(machine: &Machine, folder: &str, files: &[&str]) -> Option<CpuSet> {
    files.iter().find_map(|file| text(machine, &format!("{folder}/{file}"))?.parse().ok())
}

/// CPUs from a list, else from a mask: older kernels have masks only.
pub(super) fn members(machine: &Machine, folder: &str, list: &str, mask: &str) -> Option<CpuSet> {
    let read = |name: &str| text(machine, &format!("{folder}/{name}"));
    let listed = read(list).and_then(|list| list.parse().ok());
    listed.or_else(|| CpuSet::from_mask(&read(mask)?))
}

/// The CPUs that have a folder.
fn folders(machine: &Machine) -> CpuSet {
    let names = machine.tree.list(CPU).unwrap_or_default();
    let number = |name: &String| -> Option<CpuSet> { name.strip_prefix("cpu")?.parse().ok() };
    names
        .iter()
        .filter_map(number)
        .filter(|cpus| cpus.len() == 1)
        .filter_map(|c| first(&c))
        .collect()
}

fn first(cpus: &CpuSet) -> Option<CpuId> {
    cpus.iter().next()
}

/// The CPUs that are online. Old kernels have no list: then those whose folder says so,
/// or which have a topology; then those of `/proc/cpuinfo`.
pub(super) fn online(machine: &Machine) -> CpuSet {
    let is_online = |&cpu: &CpuId| match text(machine, &format!("{CPU}/cpu{cpu}/online")) {
        Some(online) => online == "1",
        None => machine.tree.list(&format!("{CPU}/cpu{cpu}/topology")).is_ok(),
    };
    let some = |cpus: &CpuSet| !cpus.is_empty();
    let listed = list(machine, CPU, &["online"]).filter(some);
    listed
        .or_else(|| Some(folders(machine).iter().filter(is_online).collect()).filter(some))
        .or_else(|| Some(Cpuinfo::parse(&machine.tree.read("/proc/cpuinfo").ok()?).cpus()))
        .unwrap_or_default()
}

/// The CPUs that are plugged in; empty where the kernel does not say.
pub(super) fn present(machine: &Machine) -> CpuSet {
    list(machine, CPU, &["present"]).unwrap_or_else(|| folders(machine))
}

/// The CPUs that the scheduler leaves alone.
pub(super) fn isolated(machine: &Machine) -> Reading<CpuSet> {
    let path = format!("{CPU}/isolated");
    let listed = text(machine, &path).ok_or_else(|| {
        not_offered("this kernel does not list isolated CPUs; newer ones do", &path)
    })?;
    listed.parse().map_err(|_| {
        let start: String = listed.chars().take(40).collect();
        let why = format!("`{path}` holds `{start}`, which is no list of CPUs");
        Unavailable::new(Obstacle::Cpudyno, "isolated CPUs", why)
    })
}

/// How CPUs are nested.
pub(super) struct Nesting {
    pub(super) packages: Numbered,
    pub(super) dies: Numbered,
    pub(super) modules: Option<Numbered>,
    pub(super) cores: Numbered,
}

/// Reads lists where the kernel has them, each by the first CPU that it names; else numbers.
pub(super) fn nesting(machine: &Machine, cpus: &CpuSet, cpuinfo: &Cpuinfo) -> Nesting {
    let folder = |cpu: CpuId| format!("{CPU}/cpu{cpu}/topology");
    let file = |cpu, name: &str| number(machine, &format!("{}/{name}", folder(cpu)));
    let groups = |names: &[&str]| -> Option<Groups> {
        let list = |cpu| {
            let of = |name: &&str| {
                let list = members(machine, &folder(cpu), &format!("{name}_list"), name);
                // A list without the CPU that it is asked of says nothing.
                list.filter(|list| list.contains(cpu))
            };
            names.iter().find_map(of)
        };
        list(first(cpus)?)?;
        Some(Groups::listed(cpus, list))
    };

    let package_id = |cpu| file(cpu, "physical_package_id").or_else(|| cpuinfo.of(cpu).package);
    // Some Arm, s390 and POWER machines answer -1: their packages are counted.
    let mut unnamed = 0..;
    let packages = groups(&["package_cpus", "core_siblings"])
        .unwrap_or_else(|| Groups::keyed(cpus, package_id))
        .with(|cpu| package_id(cpu).or_else(|| unnamed.next()));

    let die_id = |cpu| file(cpu, "die_id");
    let dies = groups(&["die_cpus"])
        .unwrap_or_else(|| Groups::keyed(cpus, |cpu| (packages.number(cpu), die_id(cpu))))
        .with_unique(&packages, die_id);

    // 65535 is what x86 shows where it knows no second-level cache.
    let cluster_id = |cpu| file(cpu, "cluster_id").filter(|&id| id != 65_535);
    let modules = first(cpus)
        .and_then(cluster_id)
        .and_then(|_| groups(&["cluster_cpus"]))
        .map(|modules| modules.with_unique(&packages, cluster_id));

    let core_id = |cpu| file(cpu, "core_id").or_else(|| cpuinfo.of(cpu).core);
    let by_number = |cpu| match core_id(cpu) {
        Some(core) => Ok((packages.number(cpu), dies.groups.index(cpu), core)),
        None => Err(cpu),
    };
    let cores = groups(&["core_cpus", "thread_siblings"])
        .unwrap_or_else(|| Groups::keyed(cpus, by_number))
        .with_unique(&packages, |cpu| core_id(cpu).or(Some(cpu.0)));
    Nesting { packages, dies, modules, cores }
}
