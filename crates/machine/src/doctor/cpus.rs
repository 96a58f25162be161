//! Which CPUs this process has, for how long, and how firmly.

use model::page::tally;
use model::{Obstacle, Reading};

use super::{Survey, not_permitted};
use crate::facts::cgroup;
use crate::facts::fact_table::{FactRow, row, text};
use crate::facts::{self, can_be_pinned_to, isolated, online};
use crate::permissions::Question;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
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
    let others = online.difference(&shared);
    let isolated = others.intersection(&isolated(survey));
    if isolated.len() == others.len() && can_be_pinned_to(survey, &others) {
        let word = if isolated.len() == 1 { "is" } else { "are" };
        return Ok(format!(
            "all but {}, which {word} isolated: nothing runs there that is not pinned, such as by `taskset -c {others}`",
            isolated.named()
        ));
    }
    let why = format!(
        "this process may run on {} of {} online CPUs: {shared}",
        shared.len(),
        online.len()
    );
    let whole =
        cgroup::cpuset(survey).is_none_or(|set| set.intersection(&online).len() >= online.len());
    Err(if whole {
        not_permitted(
            format!("{why}; its affinity is narrower than its cpuset"),
            format!("`taskset -c {} cpudyno ...`", online.difference(&facts::isolated(survey))),
        )
    } else {
        not_permitted(format!("{why}; its cpuset has no more"), wider_cpuset(survey))
    })
}

/// Who made the cpuset can widen it; systemd makes them by version 2 of control groups alone.
///
/// # Source
/// systemd.resource-control(5), `AllowedCPUs=`.
fn wider_cpuset(survey: &Survey<'_>) -> &'static str {
    if facts::is_contained(&*survey.tree) {
        "`docker run --cpuset-cpus` with more; a pod of the class Guaranteed has as many as it asks for"
    } else if cgroup::is_of_version_1(survey, "cpuset") {
        "write more of them to `cpuset.cpus` of its control group, and of those above it"
    } else {
        "under systemd `AllowedCPUs=` of the unit with more; else write more of them to `cpuset.cpus` of its \
         control group"
    }
}

/// The same of a quota.
fn without_quota(survey: &Survey<'_>) -> &'static str {
    if facts::is_contained(&*survey.tree) {
        "drop `--cpus` of the container; of a pod, `resources.limits.cpu`"
    } else if cgroup::is_of_version_1(survey, "cpu") {
        "start it in another control group, or write -1 to `cpu.cfs_quota_us` of that one"
    } else {
        "under systemd start it in a scope of its own: `sudo systemd-run --scope cpudyno ...`; else write `max` \
         to `cpu.max` of that group"
    }
}

fn quota(survey: &Survey<'_>) -> Reading<String> {
    let quota = cgroup::quota(survey).map_err(|mut reason| {
        if reason.obstacle == Obstacle::Hardware {
            reason.obstacle = Obstacle::Permission;
            reason.remedy = Some("mount the control groups, such as /sys/fs/cgroup".into());
        }
        reason
    })?;
    let Some(quota) = quota else { return Ok("none".into()) };
    let usable = survey.topology().usable.len();
    if usable > 0 && !quota.binds(usable) {
        return Ok(format!("none that {} could use up: {}", tally(usable, "CPU"), quota.words()));
    }
    let throttled = cgroup::throttles(survey).map(|throttles| throttles.count);
    let times =
        throttled.map_or_else(|_| String::new(), |n| format!("; it stopped threads {n} times"));
    Err(not_permitted(
        format!("a control group gives this process the time of {}{times}", quota.words()),
        without_quota(survey),
    ))
}
