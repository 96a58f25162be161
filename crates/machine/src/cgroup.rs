//! The control groups that limit this process.

use model::{Obstacle, Unavailable};

use crate::ports::{Machine, Reading};
use crate::text::{first_number, value_of};

/// How often, and for how long, quotas stopped this process.
pub(crate) struct Throttles {
    pub(crate) count: f64,
    pub(crate) seconds: f64,
}

/// The folders of the group that this process is in and of the groups above it, innermost first.
///
/// In a container the path may lie outside of what is mounted: folders that are not there are left
/// out by whoever reads in them, and the root of the mount is always among them.
fn folders(machine: &Machine) -> Reading<Vec<String>> {
    let groups = machine.tree.read("/proc/self/cgroup")?;
    let path_of = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            wanted(parts.next()?).then(|| parts.next())?
        })
    };
    // Version 1 wins where both are mounted: a controller lives in one of them only.
    let v1 = path_of(&|controllers| controllers.split(',').any(|name| name == "cpu"));
    let (mount, path) = match (v1, path_of(&str::is_empty)) {
        (Some(path), _) => ("/sys/fs/cgroup/cpu", path),
        (None, Some(path)) => ("/sys/fs/cgroup", path),
        (None, None) => {
            let why = "`/proc/self/cgroup` names no group with a CPU controller";
            return Err(Unavailable::new(Obstacle::Permission, "cgroup", why));
        }
    };
    machine.tree.list(mount)?;
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
    let quotas = folders(machine)?.into_iter().filter_map(|folder| quota_in(machine, &folder));
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

/// Throttles of this group and those above it, summed.
pub(crate) fn throttles(machine: &Machine) -> Reading<Throttles> {
    let folders = folders(machine)?;
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
