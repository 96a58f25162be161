//! Packs of simulated fleets, made without records: months of ten thousand machines would be terabytes of those.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use clap::Args;
use fleet::pack::{Packable, Packer, TOGETHER};
use fleet::simulate::{FAULTS, PlantedFault, SimulatedFleet};
use fleet::survey::beginning_of;
use fleet::threads::each_with;
use model::areas::memory;
use model::record::Digest;

const DAY: Duration = Duration::from_hours(24);
/// One machine of so many loses bandwidth from some day on.
const AGEING_ONE_OF: usize = 500;
const AGEING_FROM_DAY: u64 = 60;
const AGEING_FACTOR: f64 = 0.9;

/// Runs that are added to a pack: one a day of each machine.
#[derive(Debug, Args)]
pub(crate) struct FleetDays {
    /// The record of the simulated machine that all are made of
    base: PathBuf,
    /// The pack
    pack: PathBuf,
    /// How many machines
    hosts: usize,
    /// The first day; that of the record is 0
    from: u64,
    /// The day after the last
    to: u64,
}

/// Lets a process of its own add these days, and says how long that took: Linux counts as a child's peak of memory at
/// least what its parent had, so whoever measures children stays small.
pub(crate) fn add(base: &Path, pack: &Path, hosts: usize, days: Range<u64>) -> Result<Duration> {
    let begun = Instant::now();
    let program = std::env::current_exe().context("cannot find this program")?;
    let numbers = [hosts as u64, days.start, days.end].map(|number| number.to_string());
    let mut worker = Command::new(program);
    worker.arg("fleet-days").args([base, pack]).args(numbers);
    let done = worker.status().context("cannot run this program again")?;
    ensure!(done.success(), "cannot fill the pack `{}`: {done}", pack.display());
    Ok(begun.elapsed())
}

/// The work of that process.
pub(crate) fn worker(wanted: &FleetDays) -> Result<ExitCode> {
    let FleetDays { base, pack, hosts, from, to } = wanted;
    let base = digest(base)?;
    let begun = begin(&base)?;
    let faults = FAULTS.iter().map(|fault| PlantedFault { fault, count: None });
    let fleet = SimulatedFleet::new(base, *hosts, 1, &faults.collect::<Vec<_>>());
    let mut packer = Packer::open(pack)?;
    for first in (0..*hosts).step_by(TOGETHER) {
        let count = TOGETHER.min(hosts - first);
        let make = |number: usize, (): &mut ()| DailyMachine::new(&fleet, first + number);
        let machines: Result<Vec<DailyMachine>> =
            each_with(count, || (), make).into_iter().collect();
        let machines = machines?;
        for day in *from..*to {
            let ledger = packer.ledger();
            let run = |number: usize, (): &mut ()| {
                let machine = &machines[number];
                ledger.run(&machine.name, &machine.on_day(day, begun))
            };
            let runs: Option<Vec<Packable>> = each_with(count, || (), run).into_iter().collect();
            packer.add(runs.context("BUG: a digest cannot be read back")?, &[])?;
        }
    }
    packer.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// What a record begins with.
pub(crate) fn digest(record: &Path) -> Result<Digest> {
    let text = std::fs::read_to_string(record)
        .with_context(|| format!("cannot read the record `{}`", record.display()))?;
    Digest::read(&text).with_context(|| format!("`{}` begins with no digest", record.display()))
}

/// When the run of a record began.
pub(crate) fn begin(digest: &Digest) -> Result<SystemTime> {
    let started = &digest.run.started;
    humantime::parse_rfc3339(started).with_context(|| format!("`{started}` is no time"))
}

/// The time of a run so many days later: RFC 3339, UTC.
pub(crate) fn started(begun: SystemTime, day: u64) -> String {
    humantime::format_rfc3339_seconds(begun + Duration::from_secs(DAY.as_secs() * day)).to_string()
}

/// A machine, which says the same every day, until it ages.
struct DailyMachine {
    name: String,
    /// When its run began, and its id, as its record has them.
    run: [String; 2],
    /// What its record begins with.
    says: String,
    /// The same later, where it ages.
    later: Option<String>,
}

impl DailyMachine {
    fn new(fleet: &SimulatedFleet, host: usize) -> Result<DailyMachine> {
        let mut digest = fleet.digest(host);
        let run = [&digest.run.started, &digest.run.id].map(Clone::clone);
        let beginning =
            |digest: &Digest| beginning_of(digest).context("BUG: a digest cannot be written");
        let says = beginning(&digest)?;
        let ages = host.is_multiple_of(AGEING_ONE_OF);
        age(&mut digest);
        let later = ages.then(|| beginning(&digest)).transpose()?;
        Ok(DailyMachine { name: fleet.name(host), run, says, later })
    }

    /// What its record begins with so many days later.
    fn on_day(&self, day: u64, begun: SystemTime) -> String {
        let says = self.later.as_ref().filter(|_| day >= AGEING_FROM_DAY).unwrap_or(&self.says);
        let [started_first, id] = &self.run;
        // Both stand before whatever else might say the same.
        let says = says.replacen(started_first, &started(begun, day), 1);
        says.replacen(id, &format!("{id}-{day}"), 1)
    }
}

/// Takes bandwidth away.
fn age(digest: &mut Digest) {
    for (key, result) in &mut digest.results {
        let is_bandwidth = key.area == memory::AREA && key.quantity == "bandwidth";
        if let Some(measured) = result.outcome.as_mut().ok().filter(|_| is_bandwidth) {
            measured.median *= AGEING_FACTOR;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_go_on_in_the_next_month() {
        let begun = humantime::parse_rfc3339("2026-01-01T00:00:00Z").unwrap();
        assert_eq!(started(begun, 0), "2026-01-01T00:00:00Z");
        assert_eq!(started(begun, 31), "2026-02-01T00:00:00Z");
        assert_eq!(started(begun, 89), "2026-03-31T00:00:00Z");
    }

    #[test]
    fn one_of_many_machines_loses_bandwidth_from_some_day_on() {
        let cell = r#"{"active": 1, "median": 100.0, "blocks_ppm": [0]}"#;
        let areas = format!(
            r#"{{"memory": {{"triad": {{"bandwidth": {{"unit": "B/s", "rows": [{{"cells": [{cell}]}}]}}}}}}}}"#
        );
        let tool = r#"{"name": "cpudyno", "version": "0", "target": "x"}"#;
        let run = r#"{"id": "a", "started": "2026-01-01T00:00:00Z"}"#;
        let text = format!(
            r#"{{"tool": {tool}, "run": {run}, "packages": 1, "cores": 1, "facts": [], "results": {{"areas": {areas}}}}}"#
        );
        let digest: Digest = serde_json::from_str(&text).unwrap();
        let fleet = SimulatedFleet::new(digest, 2, 1, &[]);
        let on_day = |host: usize, day: u64| {
            let machine = DailyMachine::new(&fleet, host).unwrap();
            Digest::read(&machine.on_day(day, begin(&fleet.digest(0)).unwrap())).unwrap()
        };
        let value = |host: usize, day: u64| {
            on_day(host, day).results.into_values().next().unwrap().outcome.unwrap().median
        };
        for (host, day, factor) in
            [(0, AGEING_FROM_DAY, AGEING_FACTOR), (0, AGEING_FROM_DAY - 1, 1.0), (1, 89, 1.0)]
        {
            let ratio = value(host, day) / value(host, 0);
            assert!((ratio - factor).abs() < 1e-6, "{host} on day {day}: {ratio}");
        }
        let moved = on_day(1, 40).run;
        assert_eq!(
            (&*moved.started, &*moved.id),
            ("2026-02-10T00:00:00Z", "simulated00000001.0-40")
        );
    }
}
