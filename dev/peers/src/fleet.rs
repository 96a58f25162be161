//! How long `cpudyno fleet` looks at ten thousand records, at packs of them and at months; and how long what people do
//! instead takes for a part of the answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use model::stats;
use xtask::cargo::root;

use crate::fleet_ways::{FleetFiles, Need, Taken, WAYS, cpudyno, script, summary, surveyed, taken};
use crate::{built, fleet_packs, table};

/// The machine that all are made of.
const MACHINE: &str = "sim:2s-56c";
const LARGE_FLEET: usize = 100_000;
/// The pack is called as the guide calls it, whose questions are asked where it is.
const PACK: &str = "fleet.pack";
const GUIDE: &str = "docs/guide/fleet.md";

#[derive(Debug, Args)]
pub(crate) struct FleetTrial {
    /// Machines of the fleet
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(8..=100_000))]
    hosts: u32,
    /// Rounds; each lets all take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Keep what is generated in this folder, and use what is there; by default a temporary one
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Look only at a pack of 100,000 machines
    #[arg(long, conflicts_with_all = ["hosts", "days"])]
    hundred_thousand: bool,
    /// Look only at a pack of so many days, and ask it what the guide asks
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1000))]
    days: Option<u64>,
}

/// What the project promises of a command.
struct Promise {
    /// As `Way::name` has it.
    of: &'static str,
    hosts: u32,
    time_s: f64,
    peak_bytes: Option<f64>,
}

const PROMISES: &[Promise] = &[
    Promise { of: "cpudyno fleet DIR", hosts: 10_000, time_s: 2.0, peak_bytes: Some(1e9) },
    Promise { of: "cpudyno fleet PACK", hosts: 10_000, time_s: 1.0, peak_bytes: Some(1e9) },
    Promise { of: "cpudyno fleet PACK", hosts: 100_000, time_s: 10.0, peak_bytes: None },
];

pub(crate) fn run(trial: &FleetTrial) -> Result<ExitCode> {
    println!("{}", crate::load());
    let temporary = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folder = trial.folder.as_deref().unwrap_or(temporary.path());
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let folder = fs::canonicalize(folder)?;
    let files = FleetFiles {
        binary: built::packaged_binary()?,
        base: folder.join("base.json"),
        records: folder.join("records"),
        pack: match (trial.hundred_thousand, trial.days) {
            (true, _) => folder.join("large").join(PACK),
            (false, Some(_)) => folder.join("days").join(PACK),
            (false, None) => folder.join(PACK),
        },
    };
    if !files.base.exists() {
        taken(cpudyno(&files).args(["sheet", "--machine", MACHINE, "--json"]).arg(&files.base))?;
    }
    let bytes = fs::metadata(&files.base)?.len();
    println!("SIMULATED: machines like {MACHINE}; its record has {:.1} MB", bytes as f64 / 1e6);
    match (trial.hundred_thousand, trial.days) {
        (true, _) => large_fleet(&files, trial.rounds)?,
        (false, Some(days)) => months(&files, trial.hosts, days)?,
        (false, None) => records(&files, trial.hosts, trial.rounds)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// All ways take turns.
fn records(files: &FleetFiles, hosts: u32, rounds: u32) -> Result<()> {
    generate(files, hosts)?;
    let missing: Vec<Option<String>> = WAYS.iter().map(|way| way.needs.missing()).collect();
    let mut turns: Vec<Vec<Taken>> = vec![Vec::new(); WAYS.len()];
    let mut answers: Vec<String> = vec![String::new(); WAYS.len()];
    for _ in 0..rounds {
        for (place, way) in WAYS.iter().enumerate().filter(|(place, _)| missing[*place].is_none()) {
            let (took, said) = taken(&mut (way.command)(files))?;
            turns[place].push(took);
            answers[place] = said;
        }
    }
    println!("\n{}\n\n{}\n", crate::load(), describe(&turns)?);
    for (way, said) in WAYS.iter().zip(&answers).filter(|(_, said)| !said.is_empty()) {
        println!("{}: {}", way.name, summary(said)?);
    }
    for (way, why) in WAYS.iter().zip(&missing) {
        if let Some(why) = why {
            println!("{}: unavailable: {why}", way.name);
        }
    }
    for (way, turns) in WAYS.iter().zip(&turns) {
        judge(way.name, hosts, turns)?;
    }
    Ok(())
}

/// Writes records and packs them, unless both are there.
fn generate(files: &FleetFiles, hosts: u32) -> Result<()> {
    let FleetFiles { base, records, pack, .. } = files;
    if records.exists() {
        let there = fs::read_dir(records)?.count();
        let folder = records.display();
        ensure!(there == hosts as usize, "`{folder}` has {there} records, not {hosts}: remove it");
    } else {
        let mut simulate = cpudyno(files);
        simulate.args(["fleet", "simulate", "--hosts", &hosts.to_string(), "--fault", "all"]);
        let (took, _) = taken(simulate.arg("--from").arg(base).arg(records))?;
        println!("cpudyno fleet simulate, {hosts} records: {:.1} s", took.time_s);
    }
    if !pack.exists() {
        let (took, said) =
            taken(cpudyno(files).args(["fleet", "pack"]).arg(records).arg("--to").arg(pack))?;
        println!("cpudyno fleet pack: {:.2} s, {}", took.time_s, said.trim_end());
    }
    let (records, pack) = (megabytes(records)?, megabytes(pack)?);
    println!("{records:.0} MB of records, which have no samples; {pack:.0} MB of pack");
    Ok(())
}

fn large_fleet(files: &FleetFiles, rounds: u32) -> Result<()> {
    let name = "cpudyno fleet PACK";
    if !files.pack.exists() {
        let took = fleet_packs::add(&files.base, &files.pack, LARGE_FLEET, 0..1)?;
        println!("{LARGE_FLEET} machines are packed: {:.0} s", took.as_secs_f64());
    }
    println!("{:.0} MB of pack", megabytes(&files.pack)?);
    let mut turns = Vec::new();
    for _ in 0..rounds {
        let (took, said) = taken(&mut surveyed(files, &files.pack))?;
        println!("  {name}: {:.2} s, {}", took.time_s, summary(&said)?);
        turns.push(took);
    }
    println!("{}", crate::load());
    judge(name, LARGE_FLEET as u32, &turns)
}

/// A run a day of each machine, packed by month.
fn months(files: &FleetFiles, hosts: u32, days: u64) -> Result<()> {
    if files.pack.exists() {
        println!("the pack that is there is asked: {:.0} MB", megabytes(&files.pack)?);
    } else {
        pack_months(files, hosts as usize, days)?;
    }
    let (took, said) = taken(&mut surveyed(files, &files.pack))?;
    let peak = took.peak_bytes / 1e6;
    println!("cpudyno fleet PACK: {:.2} s, {peak:.0} MB, {}", took.time_s, summary(&said)?);
    let needs = Need::Module("duckdb", "cargo xtask check --install");
    if let Some(why) = needs.missing() {
        println!("DuckDB: unavailable: {why}");
        return Ok(());
    }
    let folder = files.pack.parent().context("a pack lies in a folder")?;
    let mut questions = script("questions.py", &root().join(GUIDE));
    let (took, said) = taken(questions.current_dir(folder))?;
    println!("DuckDB, what {GUIDE} asks; {:.0} MB of memory:\n{said}", took.peak_bytes / 1e6);
    println!("{}", crate::load());
    Ok(())
}

fn pack_months(files: &FleetFiles, hosts: usize, days: u64) -> Result<()> {
    let begun = fleet_packs::begin(&fleet_packs::digest(&files.base)?)?;
    let month = |day: u64| fleet_packs::started(begun, day)[..7].to_owned();
    let mut first = 0;
    while first < days {
        let next = (first..days).find(|day| month(*day) != month(first)).unwrap_or(days);
        let took = fleet_packs::add(&files.base, &files.pack, hosts, first..next)?;
        let (name, took, size) = (month(first), took.as_secs_f64(), megabytes(&files.pack)?);
        println!("{name}: {hosts} machines x {} days, {took:.0} s, {size:.0} MB", next - first);
        first = next;
    }
    Ok(())
}

fn describe(turns: &[Vec<Taken>]) -> Result<String> {
    let first = &turns[0];
    let rows = WAYS.iter().zip(turns).map(|(way, turns)| {
        let row = |numbers: [String; 4]| {
            let [time, ratio, cpu, peak] = numbers;
            [way.name.into(), way.answers.into(), time, ratio, cpu, peak]
        };
        if turns.is_empty() {
            return Ok(row(["unavailable", "", "", ""].map(str::to_owned)));
        }
        let ratios: Vec<f64> = turns.iter().zip(first).map(|(a, b)| a.time_s / b.time_s).collect();
        let Taken { time_s, cpu_s, peak_bytes } = medians(turns)?;
        let ratio = stats::median(&ratios).context("BUG: no ratio")?;
        let times = turns.iter().map(|it| it.time_s);
        let (least, most) = (times.clone().fold(f64::MAX, f64::min), times.fold(0.0, f64::max));
        let time = format!("{time_s:.2} ({least:.2} to {most:.2})");
        let peak = format!("{:.0}", peak_bytes / 1e6);
        Ok(row([time, format!("{ratio:.2}"), format!("{cpu_s:.2}"), peak]))
    });
    let header = ["who", "answers", "time, s", "ratio", "time of CPUs, s", "peak memory, MB"];
    let rows: Vec<_> = rows.collect::<Result<_>>()?;
    Ok(table::plain(header, &header[2..], rows))
}

/// Says what was promised of it and whether it was kept; nothing where nothing was.
fn judge(name: &str, hosts: u32, turns: &[Taken]) -> Result<()> {
    for promise in PROMISES.iter().filter(|it| it.of == name && it.hosts == hosts) {
        let Taken { time_s, peak_bytes, .. } = medians(turns)?;
        let said = |kept: bool| if kept { "met" } else { "missed" };
        let peak = promise.peak_bytes.map_or_else(String::new, |promised| {
            format!(", promised {:.0} MB: {}", promised / 1e6, said(peak_bytes <= promised))
        });
        println!(
            "{name}, {hosts} machines: {time_s:.2} s, promised {} s: {}; {:.0} MB{peak}",
            promise.time_s,
            said(time_s <= promise.time_s),
            peak_bytes / 1e6,
        );
    }
    Ok(())
}

fn medians(turns: &[Taken]) -> Result<Taken> {
    let median = |of: fn(&Taken) -> f64| {
        let all: Vec<f64> = turns.iter().map(of).collect();
        stats::median(&all).context("BUG: nobody took a turn")
    };
    let (time_s, cpu_s) = (median(|it| it.time_s)?, median(|it| it.cpu_s)?);
    Ok(Taken { time_s, cpu_s, peak_bytes: median(|it| it.peak_bytes)? })
}

/// What is below a folder.
fn megabytes(folder: &Path) -> Result<f64> {
    let (mut bytes, mut folders) = (0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += metadata.len();
            }
        }
    }
    Ok(bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_of_ways_that_there_are() {
        for promise in PROMISES {
            assert!(WAYS.iter().any(|way| way.name == promise.of), "{}", promise.of);
        }
    }

    #[test]
    fn ratios_are_to_the_first_of_the_same_round() {
        let taken = |time_s: f64| Taken { time_s, cpu_s: 2.0 * time_s, peak_bytes: 3e6 };
        let mut turns = vec![Vec::new(); WAYS.len()];
        turns[0] = vec![taken(1.0), taken(2.0), taken(4.0)];
        turns[1] = vec![taken(3.0), taken(6.0), taken(1.0)];
        let text = describe(&turns).unwrap();
        let line = |way: usize| text.lines().find(|line| line.contains(WAYS[way].name)).unwrap();
        assert!(line(0).contains("2.00 (1.00 to 4.00)   1.00"), "{text}");
        assert!(line(1).contains("3.00 (1.00 to 6.00)   3.00"), "{text}");
        assert!(line(2).contains("unavailable"), "{text}");
    }
}
