//! Cores that come further than others of their kind, by whoever ranks them. A kind that comes further is not favoured.

use std::collections::BTreeMap;

use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::boost;
use super::claimed::{self, BY_KERNEL};
use super::frequency::{Policy, gigahertz};
use super::groups::alike;
use super::platform::not_offered;
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::parse::first_number;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("cppc.favoured_cores", "Favoured cores", |s| favoured(s).map(text)),
];

/// What ranks CPUs: the higher, the sooner they get work.
struct Ranking {
    source: &'static str,
    /// Whether ranks are clocks in hertz, which ripple without meaning anything.
    are_clocks: bool,
    of: Vec<(CpuId, f64)>,
}

/// Equal cores whose ranks differ by no more than this share are equal, where ranks are clocks.
const RIPPLE: f64 = 0.02;

impl Ranking {
    /// Those of these CPUs that it ranks.
    fn among(&self, cpus: &CpuSet) -> Vec<(CpuId, f64)> {
        self.of.iter().filter(|(cpu, _)| cpus.contains(*cpu)).copied().collect()
    }

    /// Least and greatest of some ranks.
    fn said(&self, ranks: impl Iterator<Item = f64> + Clone) -> Option<String> {
        if self.are_clocks {
            return claimed::range(ranks);
        }
        let [low, high] = [ranks.clone().reduce(f64::min)?, ranks.reduce(f64::max)?];
        Some(if low < high { format!("{low} to {high}") } else { high.to_string() })
    }

    /// The CPUs of the highest rank, where others of these have a lower one.
    fn favoured(&self, ranked: &[(CpuId, f64)], whose: &str) -> Option<String> {
        let [low, high] = [f64::min, f64::max].map(|of| ranked.iter().map(|it| it.1).reduce(of));
        let (low, high) = (low?, high?);
        let least = if self.are_clocks { high * (1.0 - RIPPLE) } else { high };
        if low >= least {
            return None;
        }
        let is_top = |(_, rank): &&(CpuId, f64)| {
            if self.are_clocks { gigahertz(*rank) >= gigahertz(high) } else { *rank >= high }
        };
        let (top, others): (Vec<_>, Vec<_>) = ranked.iter().partition(is_top);
        let cpus: CpuSet = top.iter().map(|(cpu, _)| *cpu).collect();
        let [top, others] = [top, others].map(|of| self.said(of.iter().map(|(_, rank)| *rank)));
        Some(format!("{} ({}, {whose} {}, {})", cpus.named(), top?, others?, self.source))
    }
}

/// By the first that tells equal cores apart; else that they are equal, by the first that ranks them at all.
fn favoured(survey: &Survey<'_>) -> Reading<String> {
    let (rankings, reason) = rankings(survey);
    let groups = alike(survey);
    let kind = |cpus: &CpuSet| survey.topology().place(cpus.iter().next()?)?.kind.as_deref();
    for ranking in &rankings {
        let whose = |cpus: &CpuSet| match kind(cpus) {
            Some(kind) => format!("other {kind}"),
            None if groups.len() > 1 => format!("others of {}", cpus.named()),
            None => "others".to_owned(),
        };
        let of_group = |cpus: &CpuSet| ranking.favoured(&ranking.among(cpus), &whose(cpus));
        let told: Vec<String> = groups.iter().filter_map(of_group).collect();
        if !told.is_empty() {
            return Ok(told.join("; "));
        }
    }
    // Equal clocks do not say that nobody ranks these cores.
    let ranking = rankings.iter().find(|ranking| !ranking.are_clocks).ok_or(reason)?;
    let said = |cpus: &CpuSet| {
        let ranks = ranking.among(cpus);
        let said = ranking.said(ranks.iter().map(|(_, rank)| *rank))?;
        let whose = kind(cpus).map_or_else(|| cpus.named(), str::to_owned);
        Some((whose, said))
    };
    let all: Vec<(String, String)> = groups.iter().filter_map(said).collect();
    let ranks = match all.as_slice() {
        [(_, first), rest @ ..] if rest.iter().all(|(_, said)| said == first) => {
            format!("all have {first}")
        }
        several => {
            let each = several.iter().map(|(whose, said)| format!("all {whose} have {said}"));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    Ok(format!("none: {ranks} ({})", ranking.source))
}

/// All that rank every CPU, the nearest to what schedulers use first; and why the levels of the firmware do not, where
/// they do not.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/amd-pstate.rst`: `amd_pstate_prefcore_ranking`, `amd_pstate_highest_perf`.
fn rankings(survey: &Survey<'_>) -> (Vec<Ranking>, Unavailable) {
    let by_driver = |file: &'static str| {
        let rank = |policy: &Policy| {
            let rank = first_number(file, &policy.read(survey, file).ok()?).ok();
            rank.filter(|rank| *rank > 0.0)
        };
        let policies = survey.policies().all.iter();
        let ranked = policies.filter_map(|policy| Some((&policy.cpus, rank(policy)?)));
        let of_each = ranked.flat_map(|(cpus, rank)| cpus.iter().map(move |cpu| (cpu, rank)));
        let known: BTreeMap<CpuId, f64> = of_each.collect();
        ranking(survey, file, false, &|cpu| known.get(&cpu).copied())
    };
    let (by_levels, reason) = match survey.highest_levels() {
        Ok(levels) => {
            let of = levels.of.iter().map(|(cpu, level)| (*cpu, f64::from(*level))).collect();
            (Some(Ranking { source: levels.source, are_clocks: false, of }), None)
        }
        Err(reason) => (None, Some(reason)),
    };
    let by_clock = (!boost::is_boost_off(survey))
        .then(|| ranking(survey, BY_KERNEL, true, &|cpu| survey.claimed_clocks().of(cpu).ok()));
    let all = [
        by_driver("amd_pstate_prefcore_ranking"),
        by_levels,
        by_driver("amd_pstate_highest_perf"),
        by_clock.flatten(),
    ];
    let reason = reason.filter(|it| it.obstacle == Obstacle::Permission);
    let reason = reason.unwrap_or_else(|| {
        let why =
            "neither `acpi_cppc`, amd-pstate, registers nor claimed clocks rank cores of one kind";
        not_offered(why, "acpi_cppc")
    });
    (all.into_iter().flatten().collect(), reason)
}

/// A ranking, where it ranks every CPU.
fn ranking(
    survey: &Survey<'_>,
    source: &'static str,
    are_clocks: bool,
    rank: &dyn Fn(CpuId) -> Option<f64>,
) -> Option<Ranking> {
    let places = &survey.topology().cpus;
    let of: Vec<(CpuId, f64)> =
        places.iter().map(|place| Some((place.cpu, rank(place.cpu)?))).collect::<Option<_>>()?;
    (!of.is_empty()).then_some(Ranking { source, are_clocks, of })
}
