//! CPUs and their places as `/sys/devices/system/cpu` shows them.

use std::collections::{BTreeMap, BTreeSet};

use model::record::Unsaid;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::super::cpuinfo::Cpuinfo;
use super::super::platform::{is_contained, no_file};
use super::disputes::{Disputes, MOST};
use super::groups::{Claims, Groups, Numbered};
use crate::ports::Machine;

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
    listed_present(machine).unwrap_or_else(|| folders(machine))
}

/// The same by lists alone: a folder of a CPU that is off may be missing.
pub(super) fn listed_present(machine: &Machine) -> Option<CpuSet> {
    list(machine, CPU, &["present"]).or_else(|| {
        let [online, off] = ["online", "offline"].map(|file| list(machine, CPU, &[file]));
        Some(online?.iter().chain(off?.iter()).collect())
    })
}

/// Those of some CPUs that are not online which are not off either: a container does not show them.
///
/// # Source
/// Linux, `Documentation/core-api/cpu_hotplug.rst`: `offline`, `cpuX/online`. lxcfs puts a list of the
/// container's CPUs in the place of `online` alone.
pub(super) fn not_shown(machine: &Machine, not_online: &CpuSet) -> CpuSet {
    if not_online.is_empty() {
        return CpuSet::default();
    }
    let off = list(machine, CPU, &["offline"]);
    let contained = off.is_none() && is_contained(&*machine.tree);
    let is_hidden = |cpu: &CpuId| match (text(machine, &format!("{CPU}/cpu{cpu}/online")), &off) {
        (Some(switch), _) if switch == "0" => false,
        (_, Some(off)) => !off.contains(*cpu),
        (Some(_), None) => true,
        (None, None) => contained,
    };
    not_online.iter().filter(is_hidden).collect()
}

/// The CPUs that the scheduler leaves alone.
pub(super) fn isolated(machine: &Machine) -> Reading<CpuSet> {
    listed(machine, "isolated", "this kernel does not list isolated CPUs; newer ones do")
}

/// A list of CPUs that may never have been made: the kernel prints it as `(null)`, behind as many blanks as it may
/// be long.
pub(super) fn listed(machine: &Machine, file: &str, absent: &str) -> Reading<CpuSet> {
    let path = format!("{CPU}/{file}");
    let listed = text(machine, &path).ok_or_else(|| match machine.tree.read(&path) {
        Err(refused) if refused.obstacle == Obstacle::Permission => refused,
        _ => no_file(machine, absent, &path),
    })?;
    if listed == "(null)" {
        return Ok(CpuSet::default());
    }
    listed.parse().map_err(|_| {
        let start: String = listed.chars().take(40).collect();
        let why = format!("`{path}` holds `{start}`, which is no list of CPUs");
        Unavailable::new(Obstacle::Cpudyno, format!("{file} CPUs"), why)
    })
}

/// How CPUs are nested.
pub(super) struct Nesting {
    pub(super) packages: Numbered,
    pub(super) dies: Numbered,
    pub(super) modules: Option<Numbered>,
    pub(super) cores: Numbered,
    /// Whether cores are known by their numbers alone.
    pub(super) cores_by_number: bool,
    pub(super) unsaid: Unsaid,
}

impl Nesting {
    /// Cores that lists name.
    pub(super) fn listed_cores(&self) -> Option<&Groups> {
        Some(&self.cores.groups).filter(|_| !self.cores_by_number)
    }

    /// Tells cores that are known by their numbers alone apart by their first-level caches: numbers
    /// may begin anew in each cluster.
    pub(super) fn split_cores(
        &mut self,
        cpus: &CpuSet,
        first_level: &BTreeMap<CpuId, CpuId>,
        disputes: &Disputes,
    ) {
        if !self.cores_by_number || !cpus.iter().all(|cpu| first_level.contains_key(&cpu)) {
            return;
        }
        let key = |cpu| (self.cores.groups.index(cpu), first_level.get(&cpu));
        let split = Groups::keyed(cpus, key);
        let is_whole = |core: &&CpuSet| first(core).is_some_and(|cpu| split.of(cpu) == Some(*core));
        let Some(core) = self.cores.groups.iter().find(|core| !is_whole(core)) else { return };
        let says = format!("{} have one core number, and not one first-level cache", core.named());
        disputes.note("cores", &says, "the caches are believed");
        self.cores = split.with(|core| first(core).map(|CpuId(cpu)| cpu));
    }
}

/// Names of a list, which ends in `_list`, and of the mask beside it.
macro_rules! names {
    ($($mask:literal),+) => { &[$([concat!($mask, "_list"), $mask]),+] };
}

/// Who shares something, as files in the folders of these CPUs list it, under the first of these
/// names. A list and a mask that differ are two claims; the mask is read once for each list.
pub(super) fn claims(
    machine: &Machine,
    cpus: &CpuSet,
    folder: impl Fn(CpuId) -> Option<String>,
    names: &[[&str; 2]],
) -> Claims {
    let mut claims = Claims::of(cpus);
    let mut known: BTreeMap<(bool, String), [Option<CpuSet>; 2]> = BTreeMap::new();
    for (cpu, folder) in cpus.iter().filter_map(|cpu| Some((cpu, folder(cpu)?))) {
        let read = |name: &str| text(machine, &format!("{folder}/{name}"));
        for [list, mask] in names {
            let listed = read(list).map(|text| (true, text));
            let Some(key) = listed.or_else(|| Some((false, read(mask)?))) else { continue };
            let said = known.entry(key).or_insert_with_key(|(is_list, text)| {
                let listed = is_list.then(|| text.parse().ok()).flatten();
                [listed, read(mask).and_then(|mask| CpuSet::from_mask(&mask))]
            });
            let mut said = said.iter().flatten().filter(|said| said.contains(cpu)).peekable();
            if said.peek().is_some() {
                said.for_each(|said| claims.add(cpu, said));
                break;
            }
        }
        if claims.are_absurd() {
            break;
        }
    }
    claims
}

/// Reads lists where the kernel has them; else numbers.
pub(super) fn nesting(
    machine: &Machine,
    cpus: &CpuSet,
    cpuinfo: &Cpuinfo,
    disputes: &Disputes,
) -> Nesting {
    let folder = |cpu: CpuId| format!("{CPU}/cpu{cpu}/topology");
    let file = |cpu, name: &str| number(machine, &format!("{}/{name}", folder(cpu)));
    let mut unsaid = Unsaid::default();
    let groups = |about: &str, names: &[[&str; 2]], within: Option<&Groups>| {
        let claims = claims(machine, cpus, |cpu| Some(folder(cpu)), names);
        let (groups, dispute) =
            claims.decided(cpus, |set| within.is_none_or(|outer| outer.hold(set)));
        if let Some(says) = dispute {
            disputes.note(about, &says, MOST);
        }
        (!claims.is_empty()).then_some((groups, claims))
    };

    let package_id = |cpu| file(cpu, "physical_package_id").or_else(|| cpuinfo.package(cpu));
    // s390 numbers its chips anew in each book, and its books in each drawer.
    let book = |cpu| {
        let of = |file_name: &str, key| file(cpu, file_name).or_else(|| cpuinfo.small(cpu, &[key]));
        (of("drawer_id", "drawer id"), of("book_id", "book id"))
    };
    let packages = groups("packages", names!["package_cpus", "core_siblings"], None);
    let (packages, named) = packages.map_or_else(
        || (Groups::keyed(cpus, |cpu| (book(cpu), package_id(cpu))), BTreeSet::new()),
        |(groups, claims)| (groups, claims.named()),
    );
    unsaid.package =
        cpus.iter().filter(|cpu| !named.contains(cpu) && package_id(*cpu).is_none()).collect();
    let has_books = first(cpus).is_some_and(|cpu| book(cpu).1.is_some());
    let number = |cpu| if has_books { None } else { package_id(cpu) };
    let packages = numbered_packages(packages, number, disputes);

    let die_id = |cpu| file(cpu, "die_id");
    let dies = groups("dies", names!["die_cpus"], None)
        .map_or_else(
            || Groups::keyed(cpus, |cpu| (packages.number(cpu), die_id(cpu))),
            |(groups, _)| groups,
        )
        .with_unique(&packages, die_id);

    // 65535 is what x86 shows where it knows no second-level cache.
    let cluster_id = |cpu| file(cpu, "cluster_id").filter(|&id| id != 65_535);
    let modules = cpus
        .iter()
        .find_map(cluster_id)
        .and_then(|_| groups("modules", names!["cluster_cpus"], None))
        .map(|(modules, _)| modules.with_unique(&packages, cluster_id));

    let core_id = |cpu| file(cpu, "core_id").or_else(|| cpuinfo.core(cpu));
    // The numbers may begin anew in each cluster.
    let by_number = |cpu| match core_id(cpu) {
        Some(core) => Ok((packages.number(cpu), dies.groups.index(cpu), cluster_id(cpu), core)),
        None => Err(cpu),
    };
    let names = names!["core_cpus", "thread_siblings"];
    let listed = groups("cores", names, Some(&packages.groups));
    let cores_by_number = listed.is_none();
    let (cores, named) = listed.map_or_else(
        || (Groups::keyed(cpus, by_number), BTreeSet::new()),
        |(groups, claims)| (groups, claims.named()),
    );
    unsaid.core =
        cpus.iter().filter(|cpu| !named.contains(cpu) && core_id(*cpu).is_none()).collect();
    if cpus.len() == 1 {
        // A lone CPU is one core in one package, whoever says so.
        unsaid = Unsaid::default();
    }
    Nesting {
        cores: cores.with_unique(&packages, |cpu| core_id(cpu).or(Some(cpu.0))),
        packages,
        dies,
        modules,
        cores_by_number,
        unsaid,
    }
}

/// Packages with the number that most of their CPUs have. Some Arm, s390 and POWER machines answer
/// -1: their packages are counted, and so is one whose number another one has.
fn numbered_packages(
    packages: Groups,
    id: impl Fn(CpuId) -> Option<u32>,
    disputes: &Disputes,
) -> Numbered {
    let mut seen = BTreeSet::new();
    let number = |group: &CpuSet| {
        let mut votes: BTreeMap<u32, usize> = BTreeMap::new();
        for id in group.iter().filter_map(&id) {
            *votes.entry(id).or_default() += 1;
        }
        if votes.len() > 1 {
            let numbers: CpuSet = votes.keys().copied().map(CpuId).collect();
            let says =
                format!("{} are listed as one package, whose numbers are {numbers}", group.named());
            disputes.note("package numbers", &says, "the lists are believed");
        }
        let most = votes.into_iter().max_by_key(|&(id, votes)| (votes, std::cmp::Reverse(id)));
        most.map(|(id, _)| id).filter(|&id| seen.insert(id))
    };
    let numbers: Vec<Option<u32>> = packages.iter().map(number).collect();
    let mut free = (0..).filter(|number| !seen.contains(number));
    let mut numbers = numbers.into_iter().map(|number| number.or_else(|| free.next()));
    packages.with(|_| numbers.next().flatten())
}
