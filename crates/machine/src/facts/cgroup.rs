//! The control groups that limit this process.

use model::{CpuSet, Obstacle, Reading, Unavailable};

use crate::facts::{is_contained, no_file};
use crate::parse::{first_number, value_of, whole_number};
use crate::ports::Machine;

/// How often, and for how long, quotas stopped this process.
pub(crate) struct Throttles {
    pub(crate) count: f64,
    pub(crate) seconds: f64,
}

/// A mounted hierarchy of groups.
struct Mount {
    /// Where it is mounted.
    point: String,
    /// The group that is seen there; in a container it may be an inner one.
    root: String,
    /// `cgroup2`, `cgroup` (version 1), or `cpuset` of the time before groups.
    kind: String,
    /// Its options; those of version 1 name its controllers.
    options: String,
}

impl Mount {
    /// A line of `/proc/self/mountinfo`.
    ///
    /// # Source
    /// proc_pid_mountinfo(5): optional fields end with a lone `-`.
    fn of_mountinfo(line: &str) -> Option<Mount> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        Mount::new(point, root, kind.next()?, kind.nth(1)?)
    }

    /// A line of `/proc/mounts`, which does not say what is seen at the mount point.
    fn of_mounts(line: &str) -> Option<Mount> {
        let mut words = line.split(' ').skip(1);
        Mount::new(words.next()?, "/", words.next()?, words.next()?)
    }

    fn new(point: &str, root: &str, kind: &str, options: &str) -> Option<Mount> {
        let groups = ["cgroup2", "cgroup", "cpuset"].contains(&kind);
        let [point, root, kind, options] = [point, root, kind, options].map(String::from);
        groups.then_some(Mount { point, root, kind, options })
    }

    fn is_of(&self, controller: &str) -> bool {
        match self.kind.as_str() {
            "cgroup" => self.options.split(',').any(|option| option == controller),
            kind => kind == controller,
        }
    }
}

/// The hierarchies that the kernel lists as mounted; `None`: it lists no mounts at all.
fn listed_mounts(machine: &Machine) -> Option<Vec<Mount>> {
    let read = |path, line: fn(&str) -> Option<Mount>| -> Option<Vec<Mount>> {
        Some(machine.tree.read(path).ok()?.lines().filter_map(line).collect())
    };
    read("/proc/self/mountinfo", Mount::of_mountinfo)
        .or_else(|| read("/proc/mounts", Mount::of_mounts))
}

/// Whether no group can limit this process: the kernel says that it is in none, or in the root of all,
/// and no hierarchy is mounted.
///
/// # Source
/// cgroups(7), "/proc files": a kernel without groups has no such file; one where no hierarchy was ever
/// mounted writes nothing.
fn has_no_groups(machine: &Machine) -> bool {
    let is_unmounted = listed_mounts(machine).is_some_and(|mounts| mounts.is_empty());
    let is_outside = || match machine.tree.read("/proc/self/cgroup") {
        Ok(groups) => groups.lines().all(|line| line.ends_with(":/")),
        Err(reason) => reason.obstacle == Obstacle::Hardware && !machine.is_copied(),
    };
    is_unmounted && is_outside() && !is_contained(&*machine.tree)
}

/// The mounted hierarchies; where the kernel does not list them, those of every distribution.
fn mounts(machine: &Machine, controller: &str) -> Vec<Mount> {
    let listed = listed_mounts(machine).filter(|mounts| !mounts.is_empty());
    listed.unwrap_or_else(|| {
        let v1 = Mount::new(&format!("/sys/fs/cgroup/{controller}"), "/", "cgroup", controller);
        v1.into_iter().chain(Mount::new("/sys/fs/cgroup", "/", "cgroup2", "")).collect()
    })
}

/// The group of this process for a controller, and where its hierarchy is mounted.
fn group(machine: &Machine, controller: &str) -> Reading<(Mount, String)> {
    group_of(machine, "self", controller)
}

fn group_of(machine: &Machine, process: &str, controller: &str) -> Reading<(Mount, String)> {
    let mut mounts = mounts(machine, controller);
    let mut mount = |of: &dyn Fn(&Mount) -> bool| {
        mounts.iter().position(of).map(|index| mounts.swap_remove(index))
    };
    let groups = machine.tree.read(&format!("/proc/{process}/cgroup"));
    let Ok(groups) = groups.as_deref() else {
        // Cpusets are older than groups, and have a file of their own.
        let path = machine.tree.read(&format!("/proc/{process}/cpuset"));
        let path = path.ok().filter(|_| controller == "cpuset");
        let mount = mount(&|m| m.is_of(controller)).or_else(|| mount(&|m| m.kind == "cgroup2"));
        return mount.zip(path).ok_or_else(|| no_group(machine, controller));
    };
    let path_of = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            wanted(parts.next()?).then(|| parts.next().map(String::from))?
        })
    };
    // Version 1 wins where both are mounted: a controller lives in one of them only.
    path_of(&|controllers| controllers.split(',').any(|name| name == controller))
        .and_then(|path| Some((mount(&|m| m.is_of(controller))?, path)))
        .or_else(|| Some((mount(&|m| m.kind == "cgroup2")?, path_of(&str::is_empty)?)))
        .ok_or_else(|| no_group(machine, controller))
}

/// Whether a controller is in a hierarchy of version 1 here.
pub(crate) fn is_of_version_1(machine: &Machine, controller: &str) -> bool {
    group(machine, controller).is_ok_and(|(mount, _)| mount.kind != "cgroup2")
}

/// The groups of this process.
const GROUPS: &str = "/proc/self/cgroup";

fn no_group(machine: &Machine, controller: &str) -> Unavailable {
    if machine.is_copied() && machine.tree.read(GROUPS).is_err() {
        return no_file(machine, "", GROUPS);
    }
    let why = format!("`{GROUPS}` names no group with a controller `{controller}`");
    Unavailable::new(Obstacle::Permission, "cgroup", why)
}

/// Longer paths are none of the kernel's (`PATH_MAX`).
const PATH_BYTES_MAX: usize = 4096;

/// The folders of the group that this process is in and of the groups above it, innermost first; none
/// where no group can limit it.
///
/// In a container the path may lie outside of what is mounted: folders that are not there are left
/// out by whoever reads in them, and the root of the mount is always among them.
fn folders(machine: &Machine, controller: &str) -> Reading<Vec<String>> {
    if has_no_groups(machine) {
        return Ok(Vec::new());
    }
    let (mount, path) = group(machine, controller)?;
    within(machine, &mount, &path)
}

fn within(machine: &Machine, mount: &Mount, path: &str) -> Reading<Vec<String>> {
    let point = mount.point.trim_end_matches('/');
    machine.tree.list(&mount.point)?;
    let path = path.trim().strip_prefix(mount.root.trim_end_matches('/')).unwrap_or_default();
    let strange = path.len() > PATH_BYTES_MAX || path.split('/').any(|part| part == "..");
    let path = if strange { "" } else { path.trim_end_matches('/') };
    let mut folder = format!("{point}{path}");
    let mut folders = vec![folder.clone()];
    while folder.len() > point.len() {
        folder.truncate(folder.rfind('/').unwrap_or(0).max(point.len()));
        folders.push(folder.clone());
    }
    Ok(folders)
}

/// The CPUs that control groups leave to this process; `None`: nobody says that they limit them.
///
/// # Source
/// cpuset(7) and the kernel's `cgroup-v2.rst`: a group without the controller has the CPUs of the
/// group above it.
pub(crate) fn cpuset(machine: &Machine) -> Option<CpuSet> {
    cpuset_in(machine, &folders(machine, "cpuset").ok()?)
}

/// The CPUs that version 2 of control groups leaves to a process, by its number: when one of them goes off
/// and comes back, the kernel takes it from the threads of the group and gives it back to them. Version
/// 1 takes it for good.
///
/// # Source
/// `Documentation/admin-guide/cgroup-v2.rst`, `cpuset.cpus`: the requested CPUs stay as they were written,
/// `cpuset.cpus.effective` follows hotplug; `cgroup-v1/cpusets.rst`, section 1.1, for the older one.
pub fn restored_cpuset(machine: &Machine, process: &str) -> Option<CpuSet> {
    let (mount, path) = group_of(machine, process, "cpuset").ok()?;
    if mount.kind != "cgroup2" {
        return None;
    }
    cpuset_in(machine, &within(machine, &mount, &path).ok()?)
}

fn cpuset_in(machine: &Machine, folders: &[String]) -> Option<CpuSet> {
    const FILES: [&str; 4] =
        ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus", "cpus"];
    let mut paths =
        folders.iter().flat_map(|f| FILES.iter().map(move |file| format!("{f}/{file}")));
    paths.find_map(|path| {
        let cpus: CpuSet = machine.tree.read(&path).ok()?.parse().ok()?;
        (!cpus.is_empty()).then_some(cpus)
    })
}

/// The time of CPUs that a group and all groups in it have in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    microseconds: u64,
    period: u64,
    /// How many groups above that of this process it is set.
    above: usize,
    file: &'static str,
}

impl Quota {
    /// How many CPUs that is.
    pub fn cpus(self) -> f64 {
        self.microseconds as f64 / self.period as f64
    }

    /// `8 CPUs`; kernels take no quota below a thousandth of one.
    pub fn amount(self) -> String {
        let cpus = (self.cpus() * 1e3).round() / 1e3;
        format!("{cpus} CPU{}", if cpus > 1.0 { "s" } else { "" })
    }

    /// `8 CPUs (800000 of 100000 us, cpu.max of the control group 2 above its own)`
    pub fn words(self) -> String {
        let Quota { microseconds, period, above, file } = self;
        let group = whose(above);
        format!("{} ({microseconds} of {period} us, {file} of {group})", self.amount())
    }

    /// Whether so many CPUs, all busy, are stopped by it.
    pub fn binds(self, cpus: usize) -> bool {
        self.cpus() < cpus as f64
    }
}

/// A group by its place. Groups have names that people gave them: they are not told.
fn whose(above: usize) -> String {
    match above {
        0 => "its control group".to_owned(),
        1 => "the control group above its own".to_owned(),
        _ => format!("the control group {above} above its own"),
    }
}

/// The file of a quota, that of its period where it is another one, and the word for no quota.
const QUOTAS: &[(&str, Option<&str>, &str)] =
    &[("cpu.max", None, "max"), ("cpu.cfs_quota_us", Some("cpu.cfs_period_us"), "-1")];

/// The tightest quota; `None`: there is none. It is unknown where a group has one that is not
/// understood, and where no group of this process is shown.
pub(crate) fn quota(machine: &Machine) -> Reading<Option<Quota>> {
    let folders = folders(machine, "cpu")?;
    let mut said = false;
    let mut tightest: Option<Quota> = None;
    for (above, folder) in folders.iter().enumerate() {
        for &(file, period, none) in QUOTAS {
            let Some(text) = quota_text(machine, folder, file, period)? else { continue };
            said = true;
            let quota = parse_quota(&text, none).map_err(|NoQuota| {
                let start: String = text.chars().take(40).collect();
                let why = format!("`{file}` of {} says `{start}`, which is no quota", whose(above));
                Unavailable::new(Obstacle::Cpudyno, "CPU quota", why)
            })?;
            let quota = quota.map(|(us, period)| Quota { microseconds: us, period, above, file });
            // Of equal ones, the innermost.
            let is_tighter = |q: &Quota| tightest.is_none_or(|known| q.cpus() < known.cpus());
            tightest = quota.filter(is_tighter).or(tightest);
        }
    }
    // The root of all groups has no such file; a group inside has one, or its folder shows that the
    // controller is off.
    let is_shown = said
        || folders.is_empty()
        || folders.first().is_some_and(|own| machine.tree.list(own).is_ok());
    match folders.first() {
        _ if is_shown => Ok(tightest),
        Some(own) if machine.is_copied() => Err(no_file(machine, "", &format!("{own}/cpu.max"))),
        _ => Err(no_group(machine, "cpu")),
    }
}

/// What a group says of its quota and its period; `None` where it has no such file.
fn quota_text(
    machine: &Machine,
    folder: &str,
    file: &str,
    period: Option<&str>,
) -> Reading<Option<String>> {
    let read = |file: &str| match machine.tree.read(&format!("{folder}/{file}")) {
        Err(reason) if reason.obstacle == Obstacle::Permission => Err(reason),
        other => Ok(other.ok()),
    };
    let Some(mut text) = read(file)? else { return Ok(None) };
    if let Some(period) = period.map(read).transpose()?.flatten() {
        text = format!("{} {}", text.trim(), period.trim());
    }
    Ok(Some(text))
}

/// A text that is no quota.
struct NoQuota;

/// Quota and period, in microseconds; `None`: there is none.
///
/// # Source
/// The kernel's `cgroup-v2.rst` (`cpu.max`: "$MAX $PERIOD", of which the second may be left out) and
/// `scheduler/sched-bwc.rst`: periods of 1 ms to 1 s, 100 ms by default, and no quota below 1 ms.
fn parse_quota(text: &str, none: &str) -> Result<Option<(u64, u64)>, NoQuota> {
    const DEFAULT_PERIOD: &str = "100000";
    let number = |word: &str| word.parse::<u64>().map_err(|_| NoQuota);
    let mut words = text.split_whitespace();
    let quota = words.next().ok_or(NoQuota)?;
    let period = number(words.next().unwrap_or(DEFAULT_PERIOD))?;
    if words.next().is_some() || !(1_000..=1_000_000).contains(&period) {
        return Err(NoQuota);
    }
    if quota == none {
        return Ok(None);
    }
    let quota = number(quota)?;
    if quota < 1_000 { Err(NoQuota) } else { Ok(Some((quota, period))) }
}

/// The tightest limit of memory, in bytes; `None`: there is none.
///
/// # Source
/// The kernel's `Documentation/admin-guide/cgroup-v2.rst` (`memory.max`) and
/// `cgroup-v1/memory.rst` (`memory.limit_in_bytes`).
pub(crate) fn memory_limit(machine: &Machine) -> Reading<Option<f64>> {
    let folders = folders(machine, "memory")?.into_iter();
    let limits = folders.filter_map(|folder| memory_limit_in(machine, &folder));
    Ok(limits.reduce(f64::min))
}

fn memory_limit_in(machine: &Machine, folder: &str) -> Option<f64> {
    let limit = |file| limit_in(machine, folder, file);
    // A group has the files of one version.
    limit("memory.max").or_else(|| limit("memory.limit_in_bytes")).map(|bytes| bytes as f64)
}

/// The limit in a file of a group; `None`: there is none.
fn limit_in(machine: &Machine, folder: &str, file: &str) -> Option<u64> {
    /// Version 1 writes the largest whole number of pages for no limit.
    const NO_LIMIT: u64 = 1 << 62;
    // `max` is no number: no limit.
    let limit = machine.tree.read(&format!("{folder}/{file}")).ok()?;
    limit.trim().parse().ok().filter(|&bytes| bytes < NO_LIMIT)
}

/// What a limit leaves to this process.
pub(crate) struct MemoryLeft {
    pub(crate) bytes: u64,
    pub(crate) limited_by: String,
}

/// A limit of memory, and the files that say what of it is used.
struct MemoryLimit {
    limit: &'static str,
    used: &'static str,
    /// The line of `memory.stat` with pages of files that nobody used for a while, which the
    /// kernel drops before it kills; groups further in included.
    reclaimable: &'static str,
}

const MEMORY_LIMITS: &[MemoryLimit] = &[
    MemoryLimit { limit: "memory.max", used: "memory.current", reclaimable: "inactive_file" },
    // Nobody is killed here, but slowed down until little would be measured of memory.
    MemoryLimit { limit: "memory.high", used: "memory.current", reclaimable: "inactive_file" },
    MemoryLimit {
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        reclaimable: "total_inactive_file",
    },
];

/// What each limit of the group of this process and of those above it leaves.
pub(crate) fn memory_left(machine: &Machine) -> Reading<Vec<MemoryLeft>> {
    let folders = folders(machine, "memory").unwrap_or_default();
    let mut left = Vec::new();
    for (above, folder) in folders.iter().enumerate() {
        for file in MEMORY_LIMITS {
            let Some(limit) = limit_in(machine, folder, file.limit) else { continue };
            let limited_by = format!("`{}` of {}", file.limit, whose(above));
            let bytes = limit.saturating_sub(memory_in_use(machine, folder, file)?);
            left.push(MemoryLeft { bytes, limited_by });
        }
    }
    Ok(left)
}

/// Limits of huge pages, and the files that say what of each is used: what is touched, and what is mapped.
const HUGE_PAGE_LIMITS: &[(&str, &str)] = &[
    ("max", "current"),
    ("rsvd.max", "rsvd.current"),
    ("limit_in_bytes", "usage_in_bytes"),
    ("rsvd.limit_in_bytes", "rsvd.usage_in_bytes"),
];

/// What each limit of reserved pages of that size leaves, of the group of this process and of those above it.
///
/// # Source
/// The kernel's `cgroup-v2.rst` (`hugetlb.<size>.max`) and `cgroup-v1/hugetlb.rst`.
pub(crate) fn huge_pages_left(machine: &Machine, page_bytes: u64) -> Reading<Vec<MemoryLeft>> {
    let size = match page_bytes >> 20 {
        0 => format!("{}KB", page_bytes >> 10),
        mib if mib < 1024 => format!("{mib}MB"),
        mib => format!("{}GB", mib >> 10),
    };
    let folders = folders(machine, "hugetlb").unwrap_or_default();
    let mut left = Vec::new();
    for (above, folder) in folders.iter().enumerate() {
        for (limit, used) in HUGE_PAGE_LIMITS {
            let file = format!("hugetlb.{size}.{limit}");
            let Some(limit) = limit_in(machine, folder, &file) else { continue };
            let path = format!("{folder}/hugetlb.{size}.{used}");
            let used = whole_number(&path, &machine.tree.read(&path)?)?;
            let limited_by = format!("`{file}` of {}", whose(above));
            left.push(MemoryLeft { bytes: limit.saturating_sub(used), limited_by });
        }
    }
    Ok(left)
}

/// What a group uses and cannot drop.
fn memory_in_use(machine: &Machine, folder: &str, file: &MemoryLimit) -> Reading<u64> {
    let path = format!("{folder}/{}", file.used);
    let used = whole_number(&path, &machine.tree.read(&path)?)?;
    let stat = machine.tree.read(&format!("{folder}/memory.stat")).unwrap_or_default();
    let reclaimable = value_of(&stat, file.reclaimable).and_then(|text| text.parse().ok());
    Ok(used.saturating_sub(reclaimable.unwrap_or(0)))
}

/// Which versions of control groups have controllers or groups here.
///
/// # Source
/// cgroups(7): version 2 is hierarchy 0 and names no controllers.
pub(crate) fn version(machine: &Machine) -> Reading<String> {
    let groups = machine
        .tree
        .read("/proc/self/cgroup")
        .or_else(|reason| if has_no_groups(machine) { Ok(String::new()) } else { Err(reason) })?;
    let controllers = groups.lines().filter_map(|line| line.split(':').nth(1));
    let (second, first): (Vec<&str>, Vec<&str>) = controllers.partition(|names| names.is_empty());
    // systemd names a hierarchy of its own, which controls nothing.
    let first = first.iter().any(|names| !names.starts_with("name="));
    match (first, !second.is_empty()) {
        (true, true) => Ok("version 1, version 2 beside it".into()),
        (true, false) => Ok("version 1".into()),
        (false, true) => Ok("version 2".into()),
        (false, false) if has_no_groups(machine) => Ok("none".into()),
        (false, false) => {
            let why = "`/proc/self/cgroup` names no group";
            Err(Unavailable::new(Obstacle::Permission, "cgroup", why))
        }
    }
}

/// Throttles of this group and those above it, summed.
pub(crate) fn throttles(machine: &Machine) -> Reading<Throttles> {
    let folders = folders(machine, "cpu")?;
    if folders.is_empty() {
        return Ok(Throttles { count: 0.0, seconds: 0.0 });
    }
    let stats = folders.iter().filter_map(|folder| throttles_in(machine, folder));
    stats
        .reduce(|a, b| Throttles { count: a.count + b.count, seconds: a.seconds + b.seconds })
        .ok_or_else(|| {
            let why = "the CPU controller counts no throttling here";
            Unavailable::new(Obstacle::Permission, "cgroup throttling", why)
        })
}

fn throttles_in(machine: &Machine, folder: &str) -> Option<Throttles> {
    let path = format!("{folder}/cpu.stat");
    let stat = machine.tree.read(&path).ok()?;
    let number = |key| value_of(&stat, key).and_then(|text| first_number(&path, text).ok());
    let seconds = match number("throttled_usec") {
        Some(microseconds) => microseconds * 1e-6,
        // Version 1 counts nanoseconds.
        None => number("throttled_time")? * 1e-9,
    };
    Some(Throttles { count: number("nr_throttled")?, seconds })
}
