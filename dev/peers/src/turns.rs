//! Streams beside loops of a C program, which executes the same instructions and shares nothing with the kernels.
//!
//! It runs as a child on the same CPU, and the two take short turns, so that both meet the same clock. Each side
//! times itself with the system's clock, so that the stamps of cpudyno are no part of the answer. What is compared
//! is the bare kernel: what the rig makes of it is not.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kernels::{Data, Runnable, StreamRow};
use model::{CpuId, stats};

use crate::companion::Companion;

/// One turn: long against the handing over of the CPU, short against a change of its clock.
const TURN: Duration = Duration::from_micros(75);
/// Quads of turns: stream, loop, loop, stream. A drift of the clock cancels out within each.
pub(crate) const QUADS: usize = 400;
/// Quads before them, in which the clock finds the licence of the instruction.
const WARM_UP_QUADS: usize = 20;

/// Pins this thread, and with it each child that it starts, to one CPU.
pub(crate) fn pin(cpu: Option<CpuId>) -> anyhow::Result<CpuId> {
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
pub(crate) struct Loop {
    pub(crate) name: String,
    pub(crate) ops_per_iteration: u64,
    /// Multiplications and additions of numbers, where the program counts them.
    pub(crate) operations_per_iteration: Option<u64>,
}

impl Loop {
    /// Reads a line of the program's list.
    fn parse(line: &str) -> Option<Loop> {
        let mut words = line.split(' ');
        let name = words.next()?.to_owned();
        let counts = words.map(|word| word.parse().ok().filter(|&count| count > 0));
        let (ops_per_iteration, operations_per_iteration) =
            match counts.collect::<Option<Vec<u64>>>()?[..] {
                [ops] => (ops, None),
                [ops, operations] => (ops, Some(operations)),
                _ => return None,
            };
        Some(Loop { name, ops_per_iteration, operations_per_iteration })
    }
}

/// The C program, which waits for requests.
pub(crate) struct Loops {
    program: Companion,
    pub(crate) list: Vec<Loop>,
}

impl Loops {
    /// Starts it and reads its list.
    pub(crate) fn start(binary: &Path, arguments: &[String]) -> anyhow::Result<Loops> {
        let mut loops = Loops { program: Companion::start(binary, arguments)?, list: Vec::new() };
        loop {
            let line = loops.program.answer()?;
            if line.is_empty() {
                return Ok(loops);
            }
            let parsed = Loop::parse(&line);
            loops.list.push(parsed.with_context(|| format!("`{line}` is no loop"))?);
        }
    }

    /// Executes a loop so many times, and tells the seconds of each.
    pub(crate) fn run(
        &mut self,
        index: usize,
        iterations: u64,
        times: usize,
    ) -> anyhow::Result<Vec<f64>> {
        let answer = self.program.ask(&format!("{index} {iterations} {times}"))?;
        let nanoseconds = answer.split(' ').map(str::parse::<u64>).collect::<Result<Vec<_>, _>>();
        match nanoseconds {
            Ok(each) if each.len() == times && each.iter().all(|&one| one > 0) => {
                Ok(each.into_iter().map(|one| one as f64 * 1e-9).collect())
            }
            _ => bail!("the C program answered `{answer}` where {times} times were expected"),
        }
    }

    /// Which loop is called so.
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|one| one.name == name)
    }

    /// Ends the program.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        self.program.stop()
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
pub(crate) struct Quad {
    pub(crate) stream: f64,
    pub(crate) plain: f64,
}

/// What came of a stream.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Compared(Compared),
    /// The CPU lacks instruction sets.
    Lacking(String),
}

/// A stream beside its loop.
#[derive(Debug, PartialEq)]
pub(crate) struct Compared {
    /// Medians, in ops a second.
    pub(crate) stream: f64,
    pub(crate) plain: f64,
    /// Speed of the stream over that of the loop: the median of quads.
    pub(crate) ratio: f64,
    /// The interval of that median.
    pub(crate) interval: [f64; 2],
    /// 5th and 95th percentile of quads.
    pub(crate) spread: [f64; 2],
}

impl Compared {
    /// None where there are too few quads for an interval.
    pub(crate) fn of(quads: &[Quad]) -> Option<Compared> {
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
}

/// Measures a stream and a loop in turns.
pub(crate) fn compare(
    row: &'static StreamRow,
    loops: &mut Loops,
    index: usize,
) -> anyhow::Result<Outcome> {
    let runnable = match row.runnable() {
        Ok(runnable) => runnable,
        Err(unavailable) => return Ok(Outcome::Lacking(unavailable.why)),
    };
    runnable.verify().context("cannot believe a stream")?;
    let iterations = loops.iterations_per_turn(index)?;
    let mut quads = Vec::with_capacity(QUADS);
    for number in 0..WARM_UP_QUADS + QUADS {
        let quad = quad(&runnable, loops, index, iterations)?;
        if number >= WARM_UP_QUADS {
            quads.push(quad);
        }
    }
    Compared::of(&quads).map(Outcome::Compared).context("BUG: there are too few quads")
}

/// Stream, loop, loop, stream: as many ops in each, to the nearest iteration.
fn quad(
    stream: &Runnable,
    loops: &mut Loops,
    index: usize,
    iterations: u64,
) -> anyhow::Result<Quad> {
    let plain_ops = iterations * loops.list[index].ops_per_iteration;
    let per_iteration = stream.row().ops_per_iteration;
    let trips = (plain_ops / per_iteration).max(1);
    let first_s = turn_s(stream, trips);
    let plain_s: f64 = loops.run(index, iterations, 2)?.iter().sum();
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let of = |operations_per_iteration| {
            Some(Loop { name: "one".to_owned(), ops_per_iteration: 96, operations_per_iteration })
        };
        assert_eq!(Loop::parse("one 96"), of(None));
        assert_eq!(Loop::parse("one 96 1536"), of(Some(1536)));
        for line in ["one", "one 0", "one -1", "one x", "one 96 0", "one 96 x", "one 96 9 9", ""] {
            assert_eq!(Loop::parse(line), None, "{line}");
        }
    }
}
