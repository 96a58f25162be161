//! The choice of a team: the smallest that reaches nearly the most.

use super::curve::{Curve, Point};
use super::{Proposal, Quota, Work};

/// The part of the most that is enough of compute: what measurements scatter by.
pub(super) const COMPUTE: f64 = 0.98;
/// The same of bandwidth, which is nearly flat where it bends.
pub(super) const MOVING: f64 = 0.95;
/// A team that no quota stops is taken where it reaches this part of the most.
const UNSTOPPED: f64 = 0.95;

/// What a team reaches where the quota has its part of the time.
pub(super) fn reached(point: &Point, quota: Option<Quota>) -> f64 {
    point.together * quota.map_or(1.0, |quota| quota.share(point.cpus.len()))
}

/// What one thread alone reaches, of which a quota below one CPU takes its part, too.
pub(super) fn alone(curve: &Curve, quota: Option<Quota>) -> Option<f64> {
    curve.points.first().filter(|point| point.cpus.len() == 1).map(|point| reached(point, quota))
}

/// The teams that a quota leaves to choose from.
fn teams(curve: &Curve, quota: Option<Quota>) -> impl Iterator<Item = &Point> {
    let fits = move |point: &&Point| quota.is_none_or(|it| point.cpus.len() <= it.team_max());
    curve.points.iter().filter(fits)
}

/// What the best team reaches.
pub(super) fn most(curve: &Curve, quota: Option<Quota>) -> Option<f64> {
    teams(curve, quota).map(|point| reached(point, quota)).reduce(f64::max)
}

/// The proposal for a kind of work: none without one thread to compare with.
pub(super) fn proposal(
    work: Work,
    curve: &Curve,
    share: f64,
    quota: Option<Quota>,
) -> Option<Proposal> {
    let alone = alone(curve, quota)?;
    let most = most(curve, quota)?;
    let is_enough = |share: f64| move |point: &&Point| reached(point, quota) >= share * most;
    let is_unstopped = |point: &&Point| quota.is_some_and(|it| !it.binds(point.cpus.len()));
    let mut unstopped = teams(curve, quota).filter(is_unstopped);
    let team = unstopped
        .find(is_enough(share.min(UNSTOPPED)))
        .or_else(|| teams(curve, quota).find(is_enough(share)))?;
    let reached = reached(team, quota);
    Some(Proposal {
        work,
        threads: team.cpus.len(),
        cpus: team.cpus.clone(),
        speedup: reached / alone,
        of_most: reached / most,
    })
}
