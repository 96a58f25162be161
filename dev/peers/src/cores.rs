//! Is the latency from core to core what a plain C program finds by compare-and-swap on one line?
//!
//! Both take turns on the same pair of CPUs; what is compared is the pair within one round, and rounds in
//! which the host moved the CPUs count for nothing.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, bail};
use machine::instruments::clock;
use machine::{Machine, facts};
use measure::areas::cores;
use model::{CpuId, CpuSet, stats};
use rig::executor::Stop;
use rig::placement::{self, Fabric};
use rig::streams;

use crate::companion::{self, Companion};
use crate::{EXIT_NO, because, table};

/// The C program, from the repository's root.
const SOURCE: &str = "benchmarks/core-to-core/swap.c";
/// What its compiler is told.
const OPTIONS: &str = "-O2 -pthread";
/// Round trips of the C program in one round.
const ROUND_TRIPS: u32 = 2000;

/// The ratio that still is the same number: one line may be nearer than the middle of 64.
const SAME: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// Compares one pair of CPUs, by default the first two.
pub(crate) fn run(rounds: u32, cpus: Option<&str>) -> anyhow::Result<ExitCode> {
    let machine = Machine::real();
    let topology = facts::machine(&machine).topology;
    let pair = pair(&topology.usable, cpus)?;
    let stamp = clock::calibrate(&machine).map_err(|reason| because(&reason))?;
    let executor = measure::run::executor(&machine, &stamp, None, &Stop::default());
    let mut executor = executor.map_err(|reason| because(&reason))?;
    let tools = streams::tools(&machine).map_err(|reason| because(&reason))?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let binary = folder.path().join("swap");
    companion::compile(SOURCE, OPTIONS, &binary)?;
    let arguments = [pair[0].to_string(), pair[1].to_string(), ROUND_TRIPS.to_string()];
    let mut plain = Companion::start(&binary, &arguments)?;
    let message = &cores::MESSAGES[0];
    let mut seen: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for _ in 0..rounds {
        let before =
            placement::probe(&mut *executor, &tools, &topology, Fabric::Any, pair)?.class();
        let ours = cores::block(&mut *executor, message, pair)?;
        let ours = stats::median(&ours.map_err(|reason| because(&reason))?);
        let ours = ours.context("BUG: a block without samples")? * 1e9;
        let theirs: f64 = plain.ask("go")?.parse().context("the C program answers no number")?;
        if placement::probe(&mut *executor, &tools, &topology, Fabric::Any, pair)?.class() == before
        {
            seen.entry(before.word()).or_default().push((ours, theirs));
        }
    }
    plain.stop()?;
    println!("{}", crate::load());
    if seen.is_empty() {
        bail!("the host moved the CPUs in every round");
    }
    let mut same = true;
    let row = |(class, pairs): (&&str, &Vec<(f64, f64)>)| {
        let median = |of: fn(&(f64, f64)) -> f64| {
            stats::median(&pairs.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        let ratio = median(|(ours, theirs)| ours / theirs);
        same &= SAME.contains(&ratio);
        let number = |value: f64| format!("{value:.1}");
        [
            format!("{}-{}", pair[0], pair[1]),
            (*class).to_owned(),
            number(median(|pair| pair.0)),
            number(median(|pair| pair.1)),
            format!("{ratio:.3}"),
            format!("{} of {rounds}", pairs.len()),
        ]
    };
    let rows: Vec<[String; 6]> = seen.iter().map(row).collect();
    let header = ["pair", "placement", "ns", "C", "ratio", "rounds"];
    println!("{}", table::plain(header, &header[2..], rows));
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

fn pair(usable: &CpuSet, cpus: Option<&str>) -> anyhow::Result<[CpuId; 2]> {
    let cpus: CpuSet = match cpus {
        Some(list) => list.parse().with_context(|| format!("`{list}` is no list of CPUs"))?,
        None => usable.iter().take(2).collect(),
    };
    match cpus.iter().collect::<Vec<_>>()[..] {
        [a, b] => Ok([a, b]),
        _ => bail!("it takes two CPUs, not {cpus}\nhint: --cpus 0,1"),
    }
}
