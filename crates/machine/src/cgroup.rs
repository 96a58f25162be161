//! The control groups that limit this process.

use model::{Obstacle, Unavailable};

use crate::ports::{Machine, Reading};
use crate::text::{first_number, value_of};

/// How often, and for how long, quotas stopped this process.
pub(crate) struct Throttles {
    pub(crate) count: f64,
    pub(crate) seconds: f64,
}

/// The folders of the group that this process is in and of the groups above it, innermost first, for
/// one controller.
///
/// In a container the path may lie outside of what is mounted: folders that are not there are left
/// out by whoever reads in them, and the root of the mount is always among them.
fn folders(machine: &Machine, controller: &str) -> Reading<Vec<String>> {
    let groups = machine.tree.read("/proc/self/cgroup")?;
    let path_of = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            wanted(parts.next()?).then(|| parts.next())?
        })
    };
    // Version 1 wins where both are mounted: a controller lives in one of them only.
    let v1 = path_of(&|controllers| controllers.split(',').any(|name| name == controller));
    let (mount, path) = match (v1, path_of(&str::is_empty)) {
        (Some(path), _) => (format!("/sys/fs/cgroup/{controller}"), path),
        (None, Some(path)) => ("/sys/fs/cgroup".to_owned(), path),
        (None, None) => {
            let why = format!("`/proc/self/cgroup` names no group with a {controller} controller");
            return Err(Unavailable::new(Obstacle::Permission, "cgroup", why));
        }
    };
    machine.tree.list(&mount)?;
    let mut folder = format!("{mount}{}", path.trim_end_matches('/'));
    let mut folders = vec![folder.clone()];
    while folder.len() > mount.len() {
        folder.truncate(folder.rfind('/').unwrap_or(0));
        folders.push(folder.clone());
    }
    Ok(folders)
}

/// The tightest quota, in CPUs; `None`: there is none.
pub(crate) fn quota(machine: &Machine) -> Reading<Option<f64>> {
    let quotas =
        folders(machine, "cpu")?.into_iter().filter_map(|folder| quota_in(machine, &folder));
    Ok(quotas.reduce(f64::min))
}

fn quota_in(machine: &Machine, folder: &str) -> Option<f64> {
    let number = |file: &str| {
        let path = format!("{folder}/{file}");
        first_number(&path, &machine.tree.read(&path).ok()?).ok()
    };
    let (quota, period) = match machine.tree.read(&format!("{folder}/cpu.max")) {
        // `max 100000` has no number in the first place: no quota.
        Ok(max) => {
            let (quota, period) = max.split_once(' ')?;
            (quota.parse().ok()?, period.trim().parse().ok()?)
        }
        Err(_) => (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?),
    };
    // Version 1 writes -1 for no quota.
    (quota > 0.0 && period > 0.0).then_some(quota / period)
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
    /// Version 1 writes the largest whole number of pages for no limit.
    const NO_LIMIT: u64 = 1 << 62;
    let read = |file: &str| machine.tree.read(&format!("{folder}/{file}"));
    // `max` is no number: no limit.
    let limit = read("memory.max").or_else(|_| read("memory.limit_in_bytes")).ok()?;
    let bytes = limit.trim().parse::<u64>().ok()?;
    (bytes < NO_LIMIT).then_some(bytes as f64)
}

/// Which versions of control groups have controllers or groups here.
///
/// # Source
/// cgroups(7): version 2 is hierarchy 0 and names no controllers.
pub(crate) fn version(machine: &Machine) -> Reading<String> {
    let groups = machine.tree.read("/proc/self/cgroup")?;
    let controllers = groups.lines().filter_map(|line| line.split(':').nth(1));
    let (second, first): (Vec<&str>, Vec<&str>) = controllers.partition(|names| names.is_empty());
    // systemd names a hierarchy of its own, which controls nothing.
    let first = first.iter().any(|names| !names.starts_with("name="));
    match (first, !second.is_empty()) {
        (true, true) => Ok("version 1, version 2 beside it".into()),
        (true, false) => Ok("version 1".into()),
        (false, true) => Ok("version 2".into()),
        (false, false) => {
            let why = "`/proc/self/cgroup` names no group";
            Err(Unavailable::new(Obstacle::Permission, "cgroup", why))
        }
    }
}

/// Throttles of this group and those above it, summed.
pub(crate) fn throttles(machine: &Machine) -> Reading<Throttles> {
    let folders = folders(machine, "cpu")?;
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
