//! What one question costs there and here: all levels of a machine with two packages and five levels.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use machine::Machine;
use model::stats;
use sst::compat::Tool;
use sst::{Command, Wanted};

use super::tool::{Built, Shim};
use crate::speed::timed;

const MACHINE: &str = "sim:guide";
const WORDS: [&str; 2] = ["perf-profile", "info"];
const RUNS: usize = 21;

fn words() -> Vec<String> {
    WORDS.map(str::to_owned).to_vec()
}

/// Ours, per cent of those of the reference tool.
pub(crate) fn ioctls_percent() -> anyhow::Result<f64> {
    let shim = Shim::build()?;
    let built = Built::new(&shim, Tool::DEFAULT)?;
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let there = built.run(&shim, MACHINE, &words(), folder.path())?.ioctls;
    let wanted = Wanted::by(Command::named(&WORDS.join(" ")).context("BUG: no such command")?);
    let here = sst::read(&Machine::named(MACHINE)?, &wanted)?.ioctls;
    println!("  {there} ioctls there, {here} here");
    Ok(100.0 * f64::from(here) / there as f64)
}

/// Ours, per cent of the reference tool's: whole processes in turns, each with the same simulated machine,
/// which both make anew. That of the reference tool answers through the preload library, ours is asked
/// directly.
pub(crate) fn time_percent(binary: &Path) -> anyhow::Result<f64> {
    let shim = Shim::build_release()?;
    let built = Built::new(&shim, Tool::DEFAULT)?;
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let ours = ["--machine", MACHINE, "sst", "perf-profile", "info"];
    let (mut times_there, mut times_here) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let begun = Instant::now();
        built.run(&shim, MACHINE, &words(), folder.path())?;
        times_there.push(begun.elapsed().as_secs_f64() * 1e3);
        times_here.push(timed(binary, &ours)?.as_secs_f64() * 1e3);
    }
    let there = stats::median(&times_there).context("BUG: no run was timed")?;
    let here = stats::median(&times_here).context("BUG: no run was timed")?;
    println!("  {there:.1} ms there, {here:.1} ms here, medians of {RUNS} runs");
    Ok(100.0 * here / there)
}
