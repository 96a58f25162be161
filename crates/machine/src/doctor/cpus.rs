//! Which CPUs this process has, for how long, and how firmly.

use model::{CpuSet, Obstacle};

use super::{Survey, not_permitted, said_elsewhere};
use crate::facts::online;
use crate::permits::Question;
use crate::ports::{Machine, Reading};
use crate::rows::{Row, row, text};
use crate::text::value_of;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("affinity", "Pinning threads", |s| s.permits.ask(Question::Affinity).map(text)),
    row("cpus", "Every online CPU", |s| cpus(s).map(text)),
    row("cpus.quota", "CPUs without a quota", |s| quota(s).map(text)),
    row("realtime", "Real-time scheduling", |s| s.permits.ask(Question::RealTime).map(text)),
];

fn cpus(survey: &Survey<'_>) -> Reading<String> {
    let usable = survey.host.affinity()?;
    let online = online(survey);
    let shared = usable.intersection(&online);
    if shared.len() >= online.len() {
        return Ok(format!("all {}: {online}", online.len()));
    }
    let why = format!(
        "this process may run on {} of {} online CPUs: {shared}",
        shared.len(),
        online.len()
    );
    let whole = cpuset(survey).is_none_or(|set| set.intersection(&online).len() >= online.len());
    Err(if whole {
        not_permitted(
            format!("{why}; its affinity is narrower than its cpuset"),
            format!("`taskset -c {online} cpudyno ...`"),
        )
    } else {
        not_permitted(
            format!("{why}; its cpuset has no more"),
            "in a container `docker run --cpuset-cpus` with more; under systemd \
             `AllowedCPUs=` of the unit",
        )
    })
}

/// The CPUs of the control group, where one says so.
///
/// # Source
/// cpuset(7) and `Documentation/admin-guide/cgroup-v2.rst`, `cpuset.cpus.effective`; version 1
/// calls it `cpuset.effective_cpus`.
fn cpuset(machine: &Machine) -> Option<CpuSet> {
    let groups = machine.tree.read("/proc/self/cgroup").ok()?;
    let own = |controller: &str| {
        let line = groups.lines().filter_map(|line| line.split_once(':')).map(|(_, rest)| rest);
        let mut line = line.filter_map(|rest| rest.split_once(':'));
        line.find(|(names, _)| names.split(',').any(|name| name == controller)).map(|(_, p)| p)
    };
    let v1 = own("cpuset").map(|path| ("/sys/fs/cgroup/cpuset", path, "cpuset.effective_cpus"));
    let v2 = own("").map(|path| ("/sys/fs/cgroup", path, "cpuset.cpus.effective"));
    [v1, v2].into_iter().flatten().find_map(|(mount, path, file)| {
        // In a container the path may lie outside of what is mounted: then the mount itself is it.
        [path.trim_end_matches('/'), ""].iter().find_map(|path| {
            machine.tree.read(&format!("{mount}{path}/{file}")).ok()?.trim().parse().ok()
        })
    })
}

fn quota(survey: &Survey<'_>) -> Reading<String> {
    let quota = said_elsewhere(survey, "cgroup.quota").map_err(|mut reason| {
        if reason.obstacle == Obstacle::Hardware {
            reason.obstacle = Obstacle::Permission;
            reason.remedy = Some("mount the control groups, such as /sys/fs/cgroup".into());
        }
        reason
    })?;
    if quota == "none" {
        return Ok("none".into());
    }
    let throttled = survey.tree.read("/sys/fs/cgroup/cpu.stat").ok();
    let throttled = throttled.as_deref().and_then(|stat| value_of(stat, "nr_throttled"));
    let times = throttled.map_or_else(String::new, |n| format!("; it stopped its group {n} times"));
    Err(not_permitted(
        format!("a control group gives this process the time of {quota}{times}"),
        "in a container drop `--cpus`; under systemd start it in a scope of its own: `sudo \
         systemd-run --scope cpudyno ...`",
    ))
}
