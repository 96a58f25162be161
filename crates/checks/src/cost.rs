//! What a difference costs, by the numbers of the record.

use model::record::{Record, Series};
use model::{Known, Obstacle, Unavailable};

use crate::expectation::numbers;
use crate::readings;
use crate::table::Check;

/// What the numbers of a record say of a cost; `None`: nothing.
type Cost = fn(&Record) -> Option<String>;

/// By the name that rows use.
#[rustfmt::skip]
pub(crate) const COSTS: &[(&str, Cost)] = &[
    ("boost", boost),
    ("busy_sibling", |record| found(record, &["turbo.busy-sibling"])),
    ("channels", |record| withheld(record, "memory.channels_share", "of the bandwidth")),
    ("clock_limit", clock_limit),
    ("deep_sleep", |record| found(record, &["wake.deep-sleep"])),
    ("huge_pages", huge_pages),
    ("lost_time", |record| found(record, &["jitter.lost", "run.gaps"])),
    ("offline", offline),
    ("quota", quota),
    ("usable", |record| withheld(record, "cpus.usable_share", "of the CPUs")),
];

/// As measured in the record, where it was.
pub(crate) fn of(check: &Check, record: &Record) -> Known<String> {
    let name = check.cost.as_deref();
    let row = COSTS.iter().find(|(known, _)| Some(*known) == name);
    row.and_then(|(_, cost)| cost(record)).map_or_else(|| unknown(check), Known::Yes)
}

/// Not measured, and what would measure it.
pub(crate) fn unknown(check: &Check) -> Known<String> {
    let what = format!("cost of {}", check.id);
    let reason = Unavailable::new(Obstacle::Measurement, what, "it was not measured here");
    Known::No { unavailable: reason.with_remedy(check.measure.clone()) }
}

/// What findings of the run say: what the remedy gives, otherwise what was seen.
fn found(record: &Record, ids: &[&str]) -> Option<String> {
    let finding = record.findings.iter().find(|finding| ids.contains(&finding.id.as_str()))?;
    Some(finding.gain.clone().unwrap_or_else(|| finding.text.clone()))
}

/// The largest number of a reading.
fn largest(record: &Record, id: &str) -> Option<f64> {
    numbers(&readings::read(record, id).ok()?)?.into_iter().reduce(f64::max)
}

/// `43 %`; `None`: nothing is lost.
fn lost(left: f64, of: f64) -> Option<String> {
    let share = 1.0 - left / of;
    (of > 0.0 && share.is_finite() && share >= 0.005).then(|| format!("{:.0} %", share * 100.0))
}

/// What is missing of a share.
fn withheld(record: &Record, id: &str, what: &str) -> Option<String> {
    Some(format!("{} {what}", lost(largest(record, id)?, 1.0)?))
}

/// The share of the highest clock that a limit takes.
fn clock_limit(record: &Record) -> Option<String> {
    let lost = lost(largest(record, "cpufreq.limits")?, largest(record, "cpu.max_frequency")?)?;
    Some(format!("up to {lost} of the highest clock"))
}

/// Medians of an area's quantity.
fn medians<'a>(
    record: &'a Record,
    area: &'a str,
    quantity: &'a str,
) -> impl Iterator<Item = (&'a Series, f64)> {
    let series = record.series_of(area, quantity);
    series.filter_map(|series| Some((series, series.summary()?.median)))
}

/// The highest clock that was measured, below the one that the machine claims.
fn boost(record: &Record) -> Option<String> {
    let measured = medians(record, "turbo", "clock").map(|(_, median)| median).reduce(f64::max)?;
    let lost = lost(measured, largest(record, "cpu.max_frequency")?)?;
    Some(format!("up to {lost} of the highest clock: no core was seen to run faster"))
}

/// What a quota leaves of the time of the usable CPUs.
fn quota(record: &Record) -> Option<String> {
    let quota = largest(record, "cgroup.quota")?;
    let usable = record.text("cpus.usable")?.split_whitespace().next()?.parse().ok()?;
    Some(format!("{} of the time of {usable} CPUs", lost(quota, usable)?))
}

/// The CPUs that are off, among all.
fn offline(record: &Record) -> Option<String> {
    let off: model::CpuSet = record.text("cpu.offline")?.parse().ok()?;
    let online = record.machine.topology.online.len();
    let all = (online + off.len()) as f64;
    Some(format!("{} of the CPUs", lost(online as f64, all)?))
}

/// Latency on small pages, over that on huge ones, of the largest footprint that has both.
fn huge_pages(record: &Record) -> Option<String> {
    const PAGES: &str = "pages";
    let of = |series: &Series| {
        let mut rest = series.parameters.clone();
        let pages = rest.remove(PAGES)?;
        let bytes: u64 = rest.get("footprint")?.parse().ok()?;
        Some((pages, bytes, rest))
    };
    let all: Vec<_> = medians(record, "memory", "latency")
        .filter_map(|(series, median)| Some((of(series)?, median)))
        .collect();
    let (small, huge): (Vec<_>, Vec<_>) = all.into_iter().partition(|(of, _)| of.0 == "4k");
    let both = small.iter().filter_map(|((_, bytes, rest), small)| {
        let (_, huge) = huge.iter().find(|((_, _, other), _)| other == rest)?;
        Some((*bytes, small / huge - 1.0))
    });
    let (_, share) = both.max_by_key(|(bytes, _)| *bytes)?;
    let is_worth = share.is_finite() && share >= 0.005;
    is_worth.then(|| format!("{:.0} % of the latency of memory", share * 100.0))
}
