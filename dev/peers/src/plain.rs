//! Is each classic stream as fast as the simplest loop of the same instruction?
//!
//! The loops are a C program that shares nothing with the kernels. It runs as a child on the same
//! CPU, and the two take short turns, so that both meet the same clock. Each side times itself with
//! the system's clock, so that the stamps of cpudyno are no part of the answer. What is compared is
//! the bare kernel: what the rig makes of it is not.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kernels::{Data, Runnable, StreamRow, streams};
use model::{CpuId, stats};

use crate::companion::{self, Companion};
use crate::{EXIT_CANNOT, EXIT_NO, table};

/// The plain loops, from the repository's root.
const SOURCE: &str = "benchmarks/plain-loops/plain.c";
/// What it is told.
const OPTIONS: &str = "-O2 -Wall -Wextra -Werror -masm=intel";
/// A stream is as fast as its plain loop when the two differ by no more than this.
const TOLERANCE: f64 = 0.02;
/// One turn: long against the handing over of the CPU, short against a change of its clock.
const TURN: Duration = Duration::from_micros(75);
/// Quads of turns: stream, loop, loop, stream. A drift of the clock cancels out within each.
const QUADS: usize = 400;
/// Quads before them, in which the clock finds the licence of the instruction.
const WARM_UP_QUADS: usize = 20;

/// Compares every classic stream that can run here.
pub(crate) fn run(cpu: Option<CpuId>) -> anyhow::Result<ExitCode> {
    if !cfg!(target_arch = "x86_64") {
        bail!("cannot compare: the plain loops are written for x86-64");
    }
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    println!("{}", crate::load());
    let cpu = pin(cpu)?;
    // A child may run where its parent may.
    let mut plain = start(folder.path())?;
    println!("comparing {} streams on CPU {cpu}", streams::CLASSIC.len());
    let rows = streams::CLASSIC
        .iter()
        .map(|row| Ok((row.id, compare(row, &mut plain)?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    plain.program.stop()?;
    println!("\n{}", describe(&rows));
    Ok(ExitCode::from(exit_code(&rows)))
}

/// The plain loops, compiled and started.
fn start(folder: &Path) -> anyhow::Result<Plain> {
    let binary = folder.join("plain");
    companion::compile(SOURCE, OPTIONS, &binary)?;
    Plain::start(&binary)
}

/// Pins this thread, and with it each child that it starts, to one CPU.
fn pin(cpu: Option<CpuId>) -> anyhow::Result<CpuId> {
    let usable = sys::affinity::current().context("cannot read which CPUs may be used")?;
    let cpu = match cpu {
        Some(cpu) if !usable.contains(cpu) => {
            bail!("cannot use CPU {cpu}: this process may run on {usable}");
        }
        Some(cpu) => cpu,
        // Interrupts prefer the first.
        None => usable.iter().last().context("this process may run on no CPU")?,
    };
    sys::affinity::pin(cpu).with_context(|| format!("cannot pin to CPU {cpu}"))?;
    Ok(cpu)
}

/// A loop of the C program.
#[derive(Debug, PartialEq, Eq)]
struct Loop {
    name: String,
    ops_per_iteration: u64,
}

impl Loop {
    /// Reads a line of the program's list.
    fn parse(line: &str) -> Option<Loop> {
        let (name, ops) = line.split_once(' ')?;
        let ops_per_iteration = ops.parse().ok().filter(|&ops| ops > 0)?;
        Some(Loop { name: name.to_owned(), ops_per_iteration })
    }
}

/// The C program, which waits for requests.
struct Plain {
    program: Companion,
    loops: Vec<Loop>,
}

impl Plain {
    /// Starts it and reads its list.
    fn start(binary: &Path) -> anyhow::Result<Plain> {
        let mut plain = Plain { program: Companion::start(binary, &[])?, loops: Vec::new() };
        loop {
            let line = plain.program.answer()?;
            if line.is_empty() {
                return Ok(plain);
            }
            let parsed = Loop::parse(&line);
            plain.loops.push(parsed.with_context(|| format!("`{line}` is no loop"))?);
        }
    }

    /// Executes a loop so many times, and tells the seconds of each.
    fn run(&mut self, index: usize, iterations: u64, times: usize) -> anyhow::Result<Vec<f64>> {
        let answer = self.program.ask(&format!("{index} {iterations} {times}"))?;
        let nanoseconds = answer.split(' ').map(str::parse::<u64>).collect::<Result<Vec<_>, _>>();
        match nanoseconds {
            Ok(each) if each.len() == times && each.iter().all(|&one| one > 0) => {
                Ok(each.into_iter().map(|one| one as f64 * 1e-9).collect())
            }
            _ => bail!("the plain loops answered `{answer}` where {times} times were expected"),
        }
    }

    /// Iterations of a loop that fill one turn.
    fn iterations_per_turn(&mut self, index: usize) -> anyhow::Result<u64> {
        const TIMES: usize = 5;
        let mut iterations = 16;
        // The second look is at turns of nearly the right length.
        for _ in 0..2 {
            let times = self.run(index, iterations, TIMES)?;
            let shortest = times.into_iter().fold(f64::INFINITY, f64::min);
            iterations = (iterations as f64 * TURN.as_secs_f64() / shortest).ceil() as u64;
        }
        Ok(iterations)
    }
}

/// One quad: the speeds of stream and loop, in ops a second.
#[derive(Debug, Clone, Copy)]
struct Quad {
    stream: f64,
    plain: f64,
}

/// What came of a stream.
#[derive(Debug, PartialEq)]
enum Outcome {
    Compared(Compared),
    /// The CPU lacks instruction sets.
    Lacking(String),
}

/// A stream beside its plain loop.
#[derive(Debug, PartialEq)]
struct Compared {
    /// Medians, in ops a second.
    stream: f64,
    plain: f64,
    /// Speed of the stream over that of the loop: the median of quads.
    ratio: f64,
    /// The interval of that median.
    interval: [f64; 2],
    /// 5th and 95th percentile of quads.
    spread: [f64; 2],
}

impl Compared {
    /// None where there are too few quads for an interval.
    fn of(quads: &[Quad]) -> Option<Compared> {
        let all = |of: fn(&Quad) -> f64| quads.iter().map(of).collect::<Vec<f64>>();
        let ratios = all(|quad| quad.stream / quad.plain);
        Some(Compared {
            stream: stats::median(&all(|quad| quad.stream))?,
            plain: stats::median(&all(|quad| quad.plain))?,
            ratio: stats::median(&ratios)?,
            interval: stats::median_interval(&ratios)?,
            spread: [stats::quantile(&ratios, 0.05)?, stats::quantile(&ratios, 0.95)?],
        })
    }

    fn holds(&self) -> bool {
        (self.ratio - 1.0).abs() <= TOLERANCE
    }
}

/// Measures a stream and its plain loop in turns.
fn compare(row: &'static StreamRow, plain: &mut Plain) -> anyhow::Result<Outcome> {
    let id = row.id;
    let index = plain.loops.iter().position(|one| one.name == id);
    let index = index.with_context(|| format!("`{SOURCE}` has no loop called `{id}`"))?;
    let runnable = match row.runnable() {
        Ok(runnable) => runnable,
        Err(unavailable) => return Ok(Outcome::Lacking(unavailable.why)),
    };
    runnable.verify().context("cannot believe a stream")?;
    let iterations = plain.iterations_per_turn(index)?;
    let mut quads = Vec::with_capacity(QUADS);
    for number in 0..WARM_UP_QUADS + QUADS {
        let quad = quad(&runnable, plain, index, iterations)?;
        if number >= WARM_UP_QUADS {
            quads.push(quad);
        }
    }
    Compared::of(&quads).map(Outcome::Compared).context("BUG: there are too few quads")
}

/// Stream, loop, loop, stream: as many ops in each, to the nearest iteration.
fn quad(
    stream: &Runnable,
    plain: &mut Plain,
    index: usize,
    iterations: u64,
) -> anyhow::Result<Quad> {
    let plain_ops = iterations * plain.loops[index].ops_per_iteration;
    let per_iteration = stream.row().ops_per_iteration;
    let trips = (plain_ops / per_iteration).max(1);
    let first_s = turn_s(stream, trips);
    let plain_s: f64 = plain.run(index, iterations, 2)?.iter().sum();
    let stream_s = first_s + turn_s(stream, trips);
    Ok(Quad {
        stream: (2 * trips * per_iteration) as f64 / stream_s,
        plain: (2 * plain_ops) as f64 / plain_s,
    })
}

/// How long so many iterations of a stream take, in seconds.
fn turn_s(stream: &Runnable, trips: u64) -> f64 {
    let begun = Instant::now();
    black_box(stream.run(trips, Data::Quiet.operands()));
    begun.elapsed().as_secs_f64()
}

/// A refuted claim weighs more than one that could not be measured.
fn exit_code(rows: &[(&str, Outcome)]) -> u8 {
    let compared = rows.iter().filter_map(|(_, outcome)| match outcome {
        Outcome::Compared(compared) => Some(compared.holds()),
        Outcome::Lacking(_) => None,
    });
    match compared.reduce(|all, one| all && one) {
        Some(true) => 0,
        Some(false) => EXIT_NO,
        None => EXIT_CANNOT,
    }
}

fn describe(rows: &[(&str, Outcome)]) -> String {
    let compared: Vec<_> = rows
        .iter()
        .filter_map(|(id, outcome)| match outcome {
            Outcome::Compared(compared) => Some((*id, compared)),
            Outcome::Lacking(_) => None,
        })
        .collect();
    let lacking = rows.iter().filter_map(|(id, outcome)| match outcome {
        Outcome::Lacking(why) => Some([(*id).to_owned(), why.clone()]),
        Outcome::Compared(_) => None,
    });
    let mut parts = Vec::new();
    if !compared.is_empty() {
        let caption = format!(
            "Speed of each stream over that of its plain loop, median of {QUADS} quads; \
             at most {:.0} % apart",
            TOLERANCE * 100.0
        );
        parts.push(format!("{caption}\n{}", compared_table(&compared)));
    }
    let lacking: Vec<_> = lacking.collect();
    if !lacking.is_empty() {
        parts.push(format!("Not compared\n{}", table::plain(["stream", "why"], &[], lacking)));
    }
    parts.push(conclusion(&compared));
    parts.join("\n\n")
}

fn compared_table(compared: &[(&str, &Compared)]) -> String {
    let mops = |ops_per_second: f64| format!("{:.0}", ops_per_second * 1e-6);
    let range = |[low, high]: [f64; 2]| format!("{low:.4} - {high:.4}");
    let rows = compared.iter().map(|(id, compared)| {
        let verdict = if compared.holds() { "holds" } else { "FAILS" };
        [
            (*id).to_owned(),
            mops(compared.stream),
            mops(compared.plain),
            format!("{:.4}", compared.ratio),
            range(compared.interval),
            range(compared.spread),
            verdict.to_owned(),
        ]
    });
    let header =
        ["stream", "Mops", "plain Mops", "ratio", "its interval", "5 % - 95 % of quads", "verdict"];
    table::plain(header, &["Mops", "plain Mops", "ratio"], rows)
}

/// One sentence that a reader in a hurry may take away.
fn conclusion(compared: &[(&str, &Compared)]) -> String {
    let distance = |one: &Compared| (one.ratio - 1.0).abs();
    let worst = compared.iter().max_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
    let Some((id, worst)) = worst else {
        return "nothing could be compared: this CPU can run none of the streams".to_owned();
    };
    format!(
        "{} of {} streams are within {:.0} % of their plain loop; the farthest is {id} ({:+.2} %)",
        compared.iter().filter(|(_, one)| one.holds()).count(),
        compared.len(),
        TOLERANCE * 100.0,
        (worst.ratio - 1.0) * 100.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(ratio: f64) -> Outcome {
        let quads: Vec<_> = (0..9).map(|_| Quad { stream: ratio * 3e9, plain: 3e9 }).collect();
        Outcome::Compared(Compared::of(&quads).unwrap())
    }

    #[test]
    fn two_per_cent_hold_and_more_does_not() {
        let code = |ratio| exit_code(&[("one", compared(ratio))]);
        assert_eq!(code(1.019), 0);
        assert_eq!(code(0.981), 0);
        assert_eq!(code(1.021), EXIT_NO);
        assert_eq!(code(0.979), EXIT_NO);
    }

    #[test]
    fn one_stream_that_is_off_decides() {
        let rows = [("good", compared(1.0)), ("bad", compared(1.5)), ("none", lacking())];
        assert_eq!(exit_code(&rows), EXIT_NO);
        let text = describe(&rows);
        assert!(text.contains("1 of 2 streams are within 2 %"), "{text}");
        assert!(text.contains("the farthest is bad (+50.00 %)"), "{text}");
        assert!(text.contains("lacks avx512f"), "{text}");
    }

    #[test]
    fn lacking_streams_refute_nothing_and_prove_nothing() {
        assert_eq!(exit_code(&[("good", compared(1.0)), ("none", lacking())]), 0);
        assert_eq!(exit_code(&[("none", lacking())]), EXIT_CANNOT);
    }

    #[test]
    fn the_median_of_quads_counts() {
        let mut quads = vec![Quad { stream: 1e9, plain: 1e9 }; 9];
        // One turn of the stream was interrupted.
        quads[3].stream = 1e8;
        let compared = Compared::of(&quads).unwrap();
        assert_eq!((compared.ratio, compared.interval), (1.0, [1.0, 1.0]));
        assert!(compared.spread[0] < 1.0);
        assert_eq!(Compared::of(&quads[..4]), None);
    }

    #[test]
    fn a_loop_without_ops_is_no_loop() {
        let parsed = Loop { name: "one".to_owned(), ops_per_iteration: 96 };
        assert_eq!(Loop::parse("one 96"), Some(parsed));
        for line in ["one", "one 0", "one -1", "one x", ""] {
            assert_eq!(Loop::parse(line), None, "{line}");
        }
    }

    /// The linker of these tests is a C compiler already.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn each_classic_stream_has_a_loop_that_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut plain = start(folder.path()).unwrap();
        let names: Vec<_> = plain.loops.iter().map(|one| one.name.clone()).collect();
        let classic: Vec<_> = streams::CLASSIC.iter().map(|row| row.id).collect();
        assert_eq!(names, classic);
        for (index, row) in streams::CLASSIC.iter().enumerate() {
            if row.runnable().is_ok() {
                assert_eq!(plain.run(index, 3, 2).unwrap().len(), 2, "{}", row.id);
            }
        }
        plain.program.stop().unwrap();
    }

    fn lacking() -> Outcome {
        Outcome::Lacking("this CPU, or the system that runs it, lacks avx512f".to_owned())
    }
}
