//! `cpudyno pmu stat` beside `perf stat`: each of the kernel's own events of a fixed program.
//!
//! `perf` belongs to the kernel's sources. Where it is not installed, or the kernel lets it count
//! nothing, the case is shown as ignored, with the reason; `CPUDYNO_NEEDS_PERF=1`, which the
//! project's check sets, makes it fail where `perf` is missing.

use crate::common::{cpudyno, finish, program};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use sys::perf_open::{Counter, Event, Scope};

/// A shell that counts, starts another one, and waits for it.
const LOOP: &str = "x=0; while [ $x -lt 3000 ]; do x=$((x+1)); done; (exit 0); true & wait";

/// What both count.
const EVENTS: [&str; 4] = ["page-faults", "context-switches", "cpu-migrations", "task-clock"];

/// Runs of each, which take turns.
const RUNS: usize = 5;

pub(crate) fn trials() -> Vec<Trial> {
    let missing = missing();
    let name = "each_software_count_is_that_of_perf_stat";
    let name = match &missing {
        Some(why) => format!("{name}: {why}"),
        None => name.to_owned(),
    };
    let trial = Trial::test(format!("perf_stat::{name}"), counts_are_those_of_perf_stat);
    vec![trial.with_ignored_flag(missing.is_some())]
}

/// Why nothing can be compared here.
fn missing() -> Option<String> {
    /// Page faults in all modes, of the kernel's own counters.
    const FAULTS: Event = Event { kind: 1, config: 2, kernel: true };
    if let Err(error) = Counter::open(FAULTS, Scope::ThisThread) {
        return Some(format!("the kernel lets nobody count here ({error})"));
    }
    // Who says that it is there wants to know when it is not.
    let is_needed = std::env::var_os("CPUDYNO_NEEDS_PERF").is_some();
    (!is_needed && by_perf().is_err()).then(|| "`perf stat` is not installed".to_owned())
}

/// What `perf stat` counts of the program, in the order of [`EVENTS`]: the clock in milliseconds.
fn by_perf() -> Result<Vec<f64>, Failed> {
    let mut perf = program("perf");
    perf.args(["stat", "-x,", "-e", &EVENTS.join(","), "--", "sh", "-c", LOOP]);
    let running = perf.output().map_err(|error| format!("`perf` cannot be executed: {error}"))?;
    let stderr = String::from_utf8_lossy(&running.stderr).into_owned();
    let count = |event: &&str| {
        let row = stderr.lines().find(|line| line.split(',').nth(2) == Some(event));
        let count = row.and_then(|row| row.split(',').next()?.parse::<f64>().ok());
        count.ok_or_else(|| Failed::from(format!("`perf` says nothing of {event}: {stderr}")))
    };
    EVENTS.iter().map(count).collect()
}

/// The same by us.
fn by_us() -> Result<Vec<f64>, Failed> {
    let words = ["pmu", "stat", "--format", "json", "--", "sh", "-c", LOOP];
    let record: Value = serde_json::from_str(&finish(cpudyno(&words)).success())?;
    let rows = record["counts"]["tables"][0]["events"].as_array().ok_or("there is no table")?;
    let count = |event: &&str| -> Result<f64, Failed> {
        let row = rows.iter().find(|row| row["event"] == **event);
        let count = row.and_then(|row| row["count"].as_f64());
        let count = count.ok_or_else(|| format!("perf counts {event}, and we do not: {rows:?}"))?;
        Ok(count * if *event == "task-clock" { 1e-6 } else { 1.0 })
    };
    EVENTS.iter().map(count).collect()
}

/// Our median lies where perf's own runs lie, and as far beside as they are apart from each other.
/// Both are pinned, and what they start is.
fn counts_are_those_of_perf_stat() -> Result<(), Failed> {
    /// Who else wants the CPU for a moment adds to the switches of those runs.
    const TRIES: usize = 3;
    let mut told = compared();
    for _ in 1..TRIES {
        told = told.or_else(|_| compared());
    }
    told
}

fn compared() -> Result<(), Failed> {
    let usable = sys::affinity::current()?;
    let first = usable.iter().next().ok_or("this process may use no CPU")?;
    sys::affinity::pin(first)?;
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        theirs.push(by_perf()?);
        ours.push(by_us()?);
    }
    for (at, event) in EVENTS.iter().enumerate() {
        let sorted = |runs: &[Vec<f64>]| -> Vec<f64> {
            let mut counts: Vec<f64> = runs.iter().map(|run| run[at]).collect();
            counts.sort_by(f64::total_cmp);
            counts
        };
        let (theirs, ours) = (sorted(&theirs), sorted(&ours));
        let (least, most, median) = (theirs[0], theirs[RUNS - 1], ours[RUNS / 2]);
        let is_right = if *event == "task-clock" {
            // How fast the machine is changes from run to run; that both mean the same time does
            // not.
            (0.5..2.0).contains(&(median / theirs[RUNS / 2]))
        } else {
            // Five runs that agree may be one apart from the sixth: stacks begin at random
            // addresses.
            let apart = (most - least).max(1.0);
            (least - apart..=most + apart).contains(&median)
        };
        if !is_right {
            return Err(format!("{event}: {ours:?}, by perf: {theirs:?}").into());
        }
    }
    Ok(())
}
