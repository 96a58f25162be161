//! Do threads wake each other as fast as in a C program, and as in `perf bench sched pipe`?
//!
//! All take turns on the same CPUs, with as many round trips. What is compared is the pair within one
//! round: a turn of ours before the other's and one after it, so that drift cancels. `perf` cannot pin
//! its two threads apart: with it one CPU is compared only.

use std::process::{Command, ExitCode};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use machine::instruments::clock;
use machine::{Machine, facts};
use model::{CpuId, CpuSet, stats};
use rig::exchange::{Exchange, Pace};
use rig::executor::{Executor, Stop};
use rig::signals::{self, Method};

use crate::companion::{self, Companion};
use crate::{EXIT_NO, because, table};

/// The C program, from the repository's root.
const SOURCE: &str = "benchmarks/ping-pong/pingpong.c";
/// What its compiler is told.
const OPTIONS: &str = "-O2 -pthread";
/// What both have.
const METHODS: [&str; 2] = ["futex", "pipe"];
/// Round trips of one turn, and those before that are not timed.
const TRIPS: u32 = 10_000;
const WARM_UP: u32 = 1000;
/// As fast as the C program means no more than this times its time.
const RATIO_MAX: f64 = 1.02;
/// The same for `perf`, which is another program with another loop.
const PERF_RATIO_MAX: f64 = 1.05;

/// Compares futex and pipe, on one CPU and between two.
pub(crate) fn run(rounds: u32, cpus: Option<&str>) -> anyhow::Result<ExitCode> {
    let machine = Machine::real();
    let usable = facts::machine(&machine).topology.usable;
    let pairs = pairs(&usable, cpus)?;
    println!("{}", crate::load());
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let binary = folder.path().join("pingpong");
    companion::compile(SOURCE, OPTIONS, &binary)?;
    let stamp = clock::calibrate(&machine).map_err(|reason| because(&reason))?;
    let executor = measure::run::executor(&machine, &stamp, None, &Stop::default());
    let mut ours = Ours { executor: executor.map_err(|reason| because(&reason))? };
    let mut rows = Vec::new();
    let mut as_fast = true;
    for pair in pairs {
        let arguments = pair.map(|cpu| cpu.to_string());
        let mut program = Companion::start(&binary, &arguments)?;
        for id in METHODS {
            let method = signals::find(id).context("BUG: no such method")?;
            let (row, good) = ours.against(method, pair, "C", RATIO_MAX, rounds, &mut || {
                of_program(&mut program, id)
            })?;
            rows.push(row);
            as_fast &= good;
        }
        program.stop()?;
    }
    let first = usable.iter().next().context("this process may use no CPU")?;
    if Command::new("perf").arg("--version").output().is_ok() {
        let pipe = signals::find("pipe").context("BUG: no such method")?;
        let mut perf = || of_perf(first);
        let (row, good) =
            ours.against(pipe, [first; 2], "perf", PERF_RATIO_MAX, rounds, &mut perf)?;
        rows.push(row);
        as_fast &= good;
    } else {
        println!("perf is not installed: apt-get install -y linux-perf");
    }
    let header = ["method", "CPUs", "other", "ours us", "other us", "ratio", "least", "most"];
    println!("{}", table::plain(header, &header[3..], rows));
    Ok(if as_fast { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// One CPU, and the first two.
fn pairs(usable: &CpuSet, cpus: Option<&str>) -> anyhow::Result<Vec<[CpuId; 2]>> {
    let chosen: CpuSet = match cpus {
        None => usable.clone(),
        Some(list) => list.parse().map_err(|error| anyhow!("`{list}`: {error}"))?,
    };
    let chosen: Vec<CpuId> = chosen.iter().collect();
    let Some(&first) = chosen.first() else { bail!("this process may use no CPU") };
    let two = chosen.get(1).map(|&second| [first, second]);
    Ok(std::iter::once([first; 2]).chain(two).collect())
}

struct Ours {
    executor: Box<dyn Executor>,
}

impl Ours {
    /// A row of the table, and whether ours is as fast.
    fn against(
        &mut self,
        method: &'static Method,
        pair: [CpuId; 2],
        other: &str,
        ratio_max: f64,
        rounds: u32,
        turn: &mut dyn FnMut() -> anyhow::Result<f64>,
    ) -> anyhow::Result<([String; 8], bool)> {
        let (mut mine, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let before = self.turn(method, pair)?;
            let between = turn()?;
            let after = self.turn(method, pair)?;
            let mean = f64::midpoint(before, after);
            mine.push(mean);
            others.push(between);
            ratios.push(mean / between);
        }
        let at = |values: &[f64], q| stats::quantile(values, q).unwrap_or(f64::NAN);
        let ratio = at(&ratios, 0.5);
        let cpus = if pair[0] == pair[1] { format!("{}", pair[0]) } else { pair_words(pair) };
        let row = [
            method.id.to_owned(),
            cpus,
            other.to_owned(),
            format!("{:.3}", at(&mine, 0.5) * 1e6),
            format!("{:.3}", at(&others, 0.5) * 1e6),
            format!("{ratio:.3}"),
            format!("{:.3}", at(&ratios, 0.0)),
            format!("{:.3}", at(&ratios, 1.0)),
        ];
        Ok((row, ratio <= ratio_max))
    }

    /// Seconds of a round trip of ours.
    fn turn(&mut self, method: &'static Method, pair: [CpuId; 2]) -> anyhow::Result<f64> {
        let channel = (method.open)().with_context(|| format!("cannot open a {}", method.id))?;
        let channels: Arc<[_]> = Arc::new([channel]);
        let job = |stretches, round_trips| Exchange {
            id: method.id,
            first: pair[0],
            second: pair[1],
            channels: Arc::clone(&channels),
            stretches,
            round_trips,
            pace: Pace::Rally,
            look: None,
        };
        // As many stretches to warm up as the other has round trips for it.
        let stretches = 1 + TRIPS / WARM_UP;
        let raw = self.executor.exchange(&job(stretches, WARM_UP))?;
        let timed = &raw.stretches[1..];
        let (first, last) = (timed.first(), timed.last());
        let (first, last) = first.zip(last).context("BUG: no stretch")?;
        let ticks = last.end.since(first.start);
        Ok(ticks.at(self.executor.rate()).0 / f64::from(TRIPS))
    }
}

fn pair_words([first, second]: [CpuId; 2]) -> String {
    format!("{first}, {second}")
}

/// Seconds of a round trip of the C program.
fn of_program(program: &mut Companion, method: &str) -> anyhow::Result<f64> {
    let answer = program.ask(&format!("{method} {WARM_UP} {TRIPS}"))?;
    let seconds: f64 =
        answer.parse().with_context(|| format!("the C program answered `{answer}`"))?;
    Ok(seconds / f64::from(TRIPS))
}

/// Seconds of a round trip of `perf bench sched pipe` with two threads on one CPU.
fn of_perf(cpu: CpuId) -> anyhow::Result<f64> {
    let trips = TRIPS.to_string();
    let output = Command::new("taskset")
        .args(["-c", &cpu.to_string(), "perf", "bench", "sched", "pipe", "-T", "-l", &trips])
        .output()
        .context("cannot run perf bench sched pipe")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.trim().strip_suffix("usecs/op"));
    let microseconds: Option<f64> = line.and_then(|number| number.trim().parse().ok());
    let microseconds = microseconds.context("perf bench sched pipe printed no usecs/op")?;
    Ok(microseconds * 1e-6)
}
