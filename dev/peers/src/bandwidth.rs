//! Do the memory kernels move as much as a C program's loops, and as likwid-bench?
//!
//! All take turns on the same CPUs with arrays of the same length. Each turn fills the same time, and
//! its mean counts, because likwid-bench prints no other number. What is compared is the pair within one
//! round; rounds in which the host moved the CPUs count for nothing.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, anyhow, bail};
use kernels::memory::MemoryKernel;
use machine::instruments::clock;
use machine::{Machine, facts};
use measure::areas::memory;
use model::record::Topology;
use model::{CpuId, CpuSet, Pages, Seconds, stats};
use rig::executor::{Executor, Stop};
use rig::job::Tools;
use rig::placement::{self, Fabric};
use rig::streams;
use rig::traffic::{self, Party, Store, Task, Traffic, Transfer};
use rig::variant_selection::Contest;

use crate::companion::{self, Companion};
use crate::{EXIT_NO, because, table};

/// The C program, from the repository's root.
const SOURCE: &str = "benchmarks/four-loops/loops.c";
/// What its compiler is told.
const OPTIONS: &str = "-O3 -march=native -fopenmp -lm";
/// One turn.
const TURN: Seconds = Seconds(0.2);
/// One turn while a variant is chosen: two trips or so over the whole arrays.
const SHORT: Seconds = Seconds(0.01);
/// How long choosing one takes at most, unless the fewest rounds take longer.
const CHOOSING: Seconds = Seconds(5.0);

/// What likwid-bench has that moves the same bytes, by kernel: its classic forms and those with
/// non-temporal stores. It has no SCALE and no ADD.
const LIKWID: &[(&str, &[&str])] = &[
    ("copy", &["copy_sse", "copy_avx", "copy_avx512", "copy_mem_avx", "copy_mem_avx512"]),
    (
        "triad",
        &["stream_sse", "stream_avx", "stream_avx512", "stream_mem_avx", "stream_mem_avx512"],
    ),
];

/// Compares copy, scale, add and triad, on one CPU and on all.
pub(crate) fn run(rounds: u32, cpus: Option<&str>) -> anyhow::Result<ExitCode> {
    let machine = Machine::real();
    let topology = facts::machine(&machine).topology;
    let groups = groups(&topology, cpus)?;
    println!("{}", crate::load());
    let mut all_as_fast = true;
    for cpus in &groups {
        let mut game = Match::new(&machine, &topology, cpus)?;
        all_as_fast &= game.run(rounds)?;
        game.loops.stop()?;
    }
    Ok(if all_as_fast { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

fn groups(topology: &Topology, cpus: Option<&str>) -> anyhow::Result<Vec<Vec<CpuId>>> {
    if let Some(list) = cpus {
        let cpus: CpuSet = list.parse().map_err(|error| anyhow!("`{list}`: {error}"))?;
        return Ok(vec![cpus.iter().collect()]);
    }
    let all = placement::Choice::usual(None).place(topology)?.cpus;
    let mut groups = vec![all[..1].to_vec()];
    groups.extend((all.len() > 1).then_some(all));
    Ok(groups)
}

/// Who takes part, on some CPUs.
struct Match<'a> {
    topology: &'a Topology,
    machine: &'a Machine,
    cpus: Vec<CpuId>,
    elements: u64,
    executor: Box<dyn Executor>,
    tools: Tools,
    loops: Companion,
    likwid: bool,
    folder: tempfile::TempDir,
}

/// Megabytes per second of a round, one for each side.
#[derive(Debug, Clone, Copy)]
struct Round {
    ours: f64,
    loops: f64,
    likwid: Option<f64>,
}

impl<'a> Match<'a> {
    fn new(
        machine: &'a Machine,
        topology: &'a Topology,
        cpus: &[CpuId],
    ) -> anyhow::Result<Match<'a>> {
        let stamp = clock::calibrate(machine).map_err(|reason| because(&reason))?;
        let executor = measure::run::executor(machine, &stamp, None, &Stop::default());
        let executor = executor.map_err(|reason| because(&reason))?;
        // Whole lines for each thread, so that nobody has a remainder.
        let step = 64 * cpus.len() as u64;
        let elements = (model::areas::memory::rule(topology, cpus) / 8).next_multiple_of(step);
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let binary = folder.path().join("loops");
        companion::compile(SOURCE, OPTIONS, &binary)?;
        let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        let mut loops = Companion::start(&binary, &[elements.to_string(), list.join(",")])?;
        loops.answer()?;
        let likwid = Command::new("likwid-bench").arg("-v").stdout(Stdio::null()).status().is_ok();
        let tools = streams::tools(machine).map_err(|reason| because(&reason))?;
        let cpus = cpus.to_vec();
        Ok(Match { topology, machine, cpus, elements, executor, tools, loops, likwid, folder })
    }

    fn run(&mut self, rounds: u32) -> anyhow::Result<bool> {
        let set: CpuSet = self.cpus.iter().copied().collect();
        println!("\nCPUs {set}, arrays of {} elements, {rounds} rounds", self.elements);
        if !self.likwid {
            println!("likwid-bench is not installed: apt-get install -y likwid");
        }
        let mut rows = Vec::new();
        let mut as_fast = true;
        for kernel in memory::classic() {
            let (row, good) = self.compare(kernel, rounds)?;
            rows.push(row);
            as_fast &= good;
        }
        let header = ["kernel", "variant", "MB/s", "C", "ratio", "likwid", "ratio", "rounds"];
        println!("{}", table::plain(header, &header[2..], rows));
        Ok(as_fast)
    }

    /// A kernel against all others; and whether it is as fast as each.
    fn compare(
        &mut self,
        kernel: &'static MemoryKernel,
        rounds: u32,
    ) -> anyhow::Result<([String; 8], bool)> {
        let transfer = self.best(kernel)?;
        let likwid = self.best_likwid(kernel.id)?;
        let mut seen = Vec::new();
        for _ in 0..rounds {
            let before = self.class()?;
            let round = self.round(transfer, likwid.as_deref())?;
            if self.class()? == before {
                seen.push((before, round));
            }
        }
        // The class that most rounds had.
        let count = |class: &Option<String>| seen.iter().filter(|(c, _)| c == class).count();
        let class = seen.iter().map(|(class, _)| class).max_by_key(|class| count(class)).cloned();
        let Some(class) = class else { bail!("the host moved the CPUs in every round") };
        let of_class: Vec<Round> =
            seen.iter().filter(|(c, _)| *c == class).map(|(_, round)| *round).collect();
        let median = |of: &dyn Fn(&Round) -> Option<f64>| {
            stats::median(&of_class.iter().filter_map(of).collect::<Vec<_>>())
        };
        let to_loops = median(&|round| Some(round.ours / round.loops));
        let to_likwid = median(&|round| Some(round.ours / round.likwid?));
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.0}"));
        let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.3}"));
        let good = [to_loops, to_likwid].into_iter().flatten().all(|ratio| ratio >= 1.0);
        let row = [
            kernel.id.to_owned(),
            transfer.variant.id.to_owned(),
            number(median(&|round| Some(round.ours))),
            number(median(&|round| Some(round.loops))),
            ratio(to_loops),
            number(median(&|round| round.likwid)),
            ratio(to_likwid),
            format!("{} of {rounds}", of_class.len()),
        ];
        Ok((row, good))
    }

    /// How the CPUs lie to each other now.
    fn class(&mut self) -> anyhow::Result<Option<String>> {
        let mut probes = Vec::new();
        for pair in placement::pairs(&self.cpus) {
            let executor = &mut *self.executor;
            probes.push(placement::probe(executor, &self.tools, self.topology, Fabric::Any, pair)?);
        }
        Ok(placement::class_word(&probes))
    }

    /// One turn of each; who begins changes nothing, because all are short against drift.
    fn round(&mut self, transfer: Transfer, likwid: Option<&str>) -> anyhow::Result<Round> {
        let first = self.ours(transfer, TURN)?;
        let loops = self.of_loops(transfer.kernel.id)?;
        let likwid = likwid.map(|test| self.of_likwid(test, transfer.kernel)).transpose()?;
        let last = self.ours(transfer, TURN)?;
        Ok(Round { ours: f64::midpoint(first, last), loops, likwid })
    }

    /// The mean of our kernel.
    fn ours(&mut self, transfer: Transfer, turn: Seconds) -> anyhow::Result<f64> {
        let each = self.elements / self.cpus.len() as u64;
        let task = Task::Trips { transfer, elements: each, moving: false, pause: Seconds(0.0) };
        let store = Store::of_arrays(3, each, Pages::Transparent);
        let party = |&cpu: &CpuId| Party { cpu, store, task, background: false };
        let members = self.cpus.iter().map(party).collect();
        let job = Traffic { members, repetitions: 1, target: turn };
        let raw = self.executor.traffic(&job, &self.tools, None)?;
        let haul = traffic::reduce(&raw, &job, self.executor.rate(), None);
        let haul = haul.map_err(|reason| because(&reason))?;
        let mean = haul.bandwidth.first().context("nothing was moved")?;
        Ok(mean / 1e6)
    }

    /// The mean of the C program's loop.
    fn of_loops(&mut self, kernel: &str) -> anyhow::Result<f64> {
        let answer = self.loops.ask(&format!("{kernel} {}", TURN.0 * 1e3))?;
        let answer: serde_json::Value = serde_json::from_str(&answer)
            .with_context(|| format!("the C program answered `{answer}`"))?;
        answer["mean_mb_per_s"].as_f64().context("the C program answered no mean")
    }

    /// The mean that likwid-bench prints.
    fn of_likwid(&self, test: &str, kernel: &MemoryKernel) -> anyhow::Result<f64> {
        let bytes = kernel.bytes_per_element() * self.elements;
        // Iterations that fill a turn at 12 GB/s for each thread; a mean does not mind a few more.
        let iterations = (TURN.0 * 12e9 * self.cpus.len() as f64 / bytes as f64).ceil().max(2.0);
        let group = format!("N:{}kB:{}", bytes / 1000, self.cpus.len());
        let list: Vec<String> = self.cpus.iter().map(ToString::to_string).collect();
        let output = Command::new("taskset")
            .args(["-c", &list.join(","), "likwid-bench", "-t", test, "-W", &group])
            .args(["-i", &format!("{iterations}")])
            .current_dir(self.folder.path())
            .output()
            .context("cannot run likwid-bench")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix("MByte/s:"));
        let number = line.and_then(|line| line.trim().parse().ok());
        number.with_context(|| format!("likwid-bench -t {test} printed no rate"))
    }

    /// The variant that moves most, by short turns in rounds, as a run chooses.
    fn best(&mut self, kernel: &'static MemoryKernel) -> anyhow::Result<Transfer> {
        let transfers: Vec<Transfer> =
            streams::transfers(self.machine, kernel, kernel.variants).flatten().collect();
        let mut contest = Contest::new(transfers.len(), self.machine.host.seed());
        let until = self.executor.elapsed() + CHOOSING;
        while let Some(turns) = contest.turns(self.executor.elapsed() > until) {
            let mut reached = Vec::new();
            for turn in turns {
                reached.push((turn, self.ours(transfers[turn], SHORT)?));
            }
            contest.round(&reached);
        }
        let best = contest.leader().context("no variant runs here")?;
        Ok(transfers[best])
    }

    /// The test of likwid-bench that moves most, each given two turns.
    fn best_likwid(&self, kernel: &str) -> anyhow::Result<Option<String>> {
        let Some((_, tests)) = LIKWID.iter().find(|(id, _)| self.likwid && *id == kernel) else {
            return Ok(None);
        };
        let kernel = kernels::memory::find(kernel).context("BUG: no such kernel")?;
        let mut best: Option<(f64, &str)> = None;
        for test in *tests {
            for _ in 0..2 {
                // A CPU without the instructions has no such test.
                let Ok(rate) = self.of_likwid(test, kernel) else { continue };
                if best.is_none_or(|(known, _)| rate > known) {
                    best = Some((rate, test));
                }
            }
        }
        Ok(best.map(|(_, test)| test.to_owned()))
    }
}
