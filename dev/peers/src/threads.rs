//! Is the number of threads that `cpudyno threads` proposes the best of all?
//!
//! A program in C, compiled by GCC with OpenMP, does three kinds of work: independent multiply-adds, the triad, steps between
//! barriers. In each round the proposal is asked anew, and every number of threads takes turns, the proposal among them; what
//! counts is the median over rounds.

use std::path::Path;
use std::process::{Command, ExitCode};

use advice::threads::{Advice, Proposal, STEPS, Work, advice};
use anyhow::{Context, bail};
use model::record::Record;
use model::{CpuId, stats};
use rig::placement::{Choice, Order};
use rig::regions::{Waiting, environment};

use crate::{EXIT_NO, built, companion, table};

/// The C program, from the repository's root.
const SOURCE: &str = "benchmarks/threads/threads.c";
/// The proposal reaches this part of the best number's work, or more.
const NEAR: f64 = 0.95;
/// Up to so many CPUs every number of threads is tried; beyond, each eighth more than the one before.
const EACH_MAX: usize = 16;

/// What the program does, in milliseconds, and the work whose proposal is meant.
const ROWS: &[(&str, u32, Work)] = &[
    ("compute", 200, Work::EqualParts),
    ("triad", 400, Work::Bandwidth),
    ("barrier", 200, Work::Steps(STEPS[0])),
];

/// Holds the proposals against every number of threads.
pub(crate) fn run(rounds: u32) -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let program = folder.path().join("threads");
    let source = xtask::cargo::root().join(SOURCE);
    companion::compile_by("gcc", "-O2 -fopenmp -lm", &source, &program)?;
    let mut ratios = vec![Vec::new(); ROWS.len()];
    let mut chosen = vec![Vec::new(); ROWS.len()];
    for round in 1..=rounds {
        // Others come and go: the proposal is asked anew, and holds for this round.
        let record = proposed()?;
        let advice = advice(&record);
        let choice = Choice { siblings: true, order: Order::Spread, ..Choice::usual(None) };
        let cpus = choice.place(&record.machine.topology)?.cpus;
        println!("{}; {} CPUs, round {round} of {rounds}", crate::load(), cpus.len());
        for (row, (word, milliseconds, work)) in ROWS.iter().enumerate() {
            let own = of(&advice, *work).with_context(|| format!("no proposal for {word}"))?;
            let sweep = Sweep { program: &program, word, milliseconds: *milliseconds };
            let (best, ratio) = sweep.over(&cpus, own)?;
            ratios[row].push(ratio);
            chosen[row].push(format!("{}/{best}", own.threads));
        }
    }
    let (mut rows, mut all_near) = (Vec::new(), true);
    for ((word, ..), (ratios, chosen)) in ROWS.iter().zip(ratios.iter().zip(&chosen)) {
        let ratio = stats::median(ratios).context("no round was run")?;
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        all_near &= ratio >= NEAR;
        let numbers = [format!("{ratio:.3}"), format!("{least:.3}")];
        let [ratio, least] = numbers;
        rows.push([(*word).to_owned(), chosen.join(" "), ratio, least]);
    }
    let header = ["work", "proposed/best", "ratio", "least"];
    println!("{}", table::plain(header, &header[2..], rows));
    println!("ratio: of work per second, the median over rounds; {NEAR} or more is near");
    Ok(if all_near { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// What the product says of this machine.
fn proposed() -> anyhow::Result<Record> {
    let output = Command::new(built::binary()?)
        .args(["threads", "--json", "-"])
        .output()
        .context("cannot run cpudyno")?;
    if !output.status.success() {
        bail!("`cpudyno threads` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8(output.stdout).context("the record is no text")?;
    model::record::read(&text).context("cannot read the record")
}

fn of(advice: &Advice, work: Work) -> Option<&Proposal> {
    advice.of(work).or_else(|| advice.of(Work::Vector).filter(|_| work == Work::EqualParts))
}

/// One kind of work.
struct Sweep<'a> {
    program: &'a Path,
    word: &'a str,
    milliseconds: u32,
}

impl Sweep<'_> {
    /// The best number of threads, and the part of its work that the proposal does.
    fn over(&self, cpus: &[CpuId], own: &Proposal) -> anyhow::Result<(usize, f64)> {
        /// Turns of each, in which others are as often in the way of one as of another.
        const TURNS: usize = 3;
        let mut counts = vec![1];
        while let Some(&last) = counts.last().filter(|last| **last < cpus.len()) {
            let more = if last < EACH_MAX { 1 } else { last / 8 };
            counts.push((last + more).min(cpus.len()));
        }
        let mut teams: Vec<Vec<CpuId>> = counts.iter().map(|n| cpus[..*n].to_vec()).collect();
        let own: Vec<CpuId> = own.cpus.iter().collect();
        // The same team twice is one.
        let is_own = |team: &Vec<CpuId>| {
            let (mut team, mut own) = (team.clone(), own.clone());
            team.sort_unstable();
            own.sort_unstable();
            team == own
        };
        let at = teams.iter().position(is_own).unwrap_or(teams.len());
        if at == teams.len() {
            teams.push(own);
        }
        let mut seen = vec![Vec::new(); teams.len()];
        for turn in 0..TURNS * teams.len() {
            let team = turn % teams.len();
            seen[team].push(self.turn(&teams[team])?);
        }
        let medians: Option<Vec<f64>> = seen.iter().map(|all| stats::median(all)).collect();
        let medians = medians.context("no turn was taken")?;
        let best = (0..medians.len()).max_by(|a, b| medians[*a].total_cmp(&medians[*b]));
        let best = best.context("no number of threads was tried")?;
        Ok((teams[best].len(), medians[at] / medians[best]))
    }

    /// Work per second.
    fn turn(&self, cpus: &[CpuId]) -> anyhow::Result<f64> {
        let output = Command::new(self.program)
            .args([self.word.to_owned(), self.milliseconds.to_string()])
            .envs(environment(cpus, Waiting::Default))
            .output()
            .context("cannot run the C program")?;
        let said = String::from_utf8_lossy(&output.stdout);
        let number = said.trim().parse::<f64>().ok().filter(|_| output.status.success());
        number.with_context(|| {
            format!("{} failed: {}", self.word, String::from_utf8_lossy(&output.stderr).trim())
        })
    }
}
