//! How long `cpudyno turbo` takes, and how well its cycles per op repeat.
//!
//! What a run holds back, because cores were contended for example, is counted and shown, not
//! judged: a number that is not there misleads nobody.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use model::record::{Outcome, Record};
use model::{Obstacle, stats};

use crate::{EXIT_CANNOT, EXIT_NO, agree, built, table};

/// The claim: so many seconds for the 49 classic streams on one core.
pub(crate) const ONE_CORE_S: f64 = 1.8;
/// The streams that a claim about seconds speaks of.
const STREAMS: usize = 49;
/// Runs of this benchmark.
const RUNS: usize = 10;
/// An estimate repeats when it is no farther than this from the median of all runs.
const TOLERANCE: f64 = 0.005;
/// The claim: so large a share of the estimates of latency streams repeats.
const REPEATS: f64 = 0.99;
/// The kind of stream that is judged: a busy sibling changes the throughput of the others.
const JUDGED: &str = "latency";

/// A run of `cpudyno turbo`: what it wrote, and how long it took from start to end.
pub(crate) struct Run {
    record: Record,
    took: Duration,
}

/// Runs `cpudyno turbo` so often, with up to so many active cores.
pub(crate) fn measure(binary: &Path, cores: u32, runs: usize) -> anyhow::Result<Vec<Run>> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let path = folder.path().join("turbo.json");
    let one = |_| {
        let begun = Instant::now();
        let most = cores.to_string();
        let record = agree::measure(binary, &["turbo", "--max-threads", &most], &path)?;
        let took = begun.elapsed();
        if !record.run.plan.active_cores.contains(&cores) {
            bail!(
                "no test with {cores} active cores: cpudyno may use {} here",
                record.run.plan.cpus
            );
        }
        Ok(Run { record, took })
    };
    (0..runs).map(one).collect()
}

/// The median length of runs of all 49 streams, in seconds.
pub(crate) fn median_s(runs: &[Run]) -> anyhow::Result<f64> {
    for Run { record, .. } in runs {
        if record.run.plan.blocks_done == 0 {
            bail!("a run completed no block");
        }
        let streams = record.run.plan.workloads.len();
        if streams != STREAMS {
            bail!("the claim is about {STREAMS} streams, and this machine runs {streams}");
        }
    }
    wall_s(runs)
}

fn wall_s(runs: &[Run]) -> anyhow::Result<f64> {
    let seconds: Vec<_> = runs.iter().map(|run| run.took.as_secs_f64()).collect();
    stats::median(&seconds).context("BUG: there was no run")
}

/// Measures, compares the runs, and judges.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let binary = built::release_binary()?;
    println!("{}", crate::load());
    let runs = measure(&binary, 1, RUNS)?;
    let streams = streams(runs.iter().map(|run| &run.record));
    let workloads = runs.first().map_or(0, |run| run.record.run.plan.workloads.len());
    let wall_s = wall_s(&runs)?;
    println!("\n{}\n", describe(&streams));
    println!(
        "a run takes {wall_s:.2} s, median of {RUNS}: {:.1} ms for each of {workloads} streams",
        wall_s * 1e3 / workloads.max(1) as f64
    );
    let claims = [time_claim(median_s(&runs)), repetition_claim(&streams)];
    for claim in &claims {
        println!("{}", claim.text);
    }
    Ok(ExitCode::from(exit_code(&claims)))
}

/// The estimates of one stream, one from each run.
#[derive(Debug, Default, PartialEq)]
struct Stream {
    kind: String,
    /// Cycles per op: the median of each run.
    estimates: Vec<f64>,
    /// Why other runs gave none.
    held_back: Vec<String>,
}

impl Stream {
    fn median(&self) -> Option<f64> {
        stats::median(&self.estimates).filter(|&median| median > 0.0)
    }

    /// How far each estimate is from the median of all, as a share of it.
    fn deviations(&self) -> Vec<f64> {
        let median = self.median();
        let of = |median: f64| self.estimates.iter().map(move |one| (one / median - 1.0).abs());
        median.into_iter().flat_map(of).collect()
    }

    fn repeated(&self) -> usize {
        self.deviations().iter().filter(|&&one| one <= TOLERANCE).count()
    }
}

/// The estimates of all runs. Streams that the CPU cannot execute are not among them.
fn streams<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<String, Stream> {
    let mut streams = BTreeMap::<String, Stream>::new();
    for record in records {
        for series in record.series.iter().filter(|series| series.quantity == "cycles_per_op") {
            let Some(planned) = record.run.plan.workload(&series.workload) else { continue };
            let lacks = |outcome: &Outcome| {
                matches!(outcome, Outcome::Unavailable { unavailable }
                    if unavailable.obstacle == Obstacle::Hardware)
            };
            if lacks(&series.outcome) {
                continue;
            }
            let stream = streams.entry(series.workload.clone()).or_default();
            stream.kind.clone_from(&planned.kind);
            match &series.outcome {
                Outcome::Measured { summary, .. } => stream.estimates.push(summary.median),
                Outcome::Unavailable { unavailable } => {
                    stream.held_back.push(unavailable.why.clone());
                }
            }
        }
    }
    streams
}

/// What came of a claim: whether it holds, where that is known.
#[derive(Debug, PartialEq)]
struct Judged {
    holds: Option<bool>,
    text: String,
}

impl Judged {
    fn of(claim: &str, holds: bool, measured: &str) -> Judged {
        let verdict = if holds { "holds" } else { "FAILS" };
        Judged { holds: Some(holds), text: format!("{claim}: {verdict}, {measured}") }
    }

    fn unknown(claim: &str, why: &str) -> Judged {
        Judged { holds: None, text: format!("{claim}: not measured: {why}") }
    }
}

fn time_claim(median_s: anyhow::Result<f64>) -> Judged {
    let claim = format!("{STREAMS} streams on one core in {ONE_CORE_S} s");
    match median_s {
        Ok(seconds) => Judged::of(&claim, seconds <= ONE_CORE_S, &format!("{seconds:.2} s")),
        Err(error) => Judged::unknown(&claim, &format!("{error:#}")),
    }
}

fn repetition_claim(streams: &BTreeMap<String, Stream>) -> Judged {
    let claim = format!(
        "{:.0} % of the estimates of {JUDGED} streams within {:.1} % of the median of all runs",
        REPEATS * 100.0,
        TOLERANCE * 100.0
    );
    let judged = || streams.values().filter(|stream| stream.kind == JUDGED);
    let estimates: usize = judged().map(|stream| stream.estimates.len()).sum();
    let held_back: usize = judged().map(|stream| stream.held_back.len()).sum();
    // One estimate of a stream is its own median.
    if estimates == 0 || estimates < held_back {
        let why = format!("{held_back} estimates were held back, and {estimates} were given");
        return Judged::unknown(&claim, &why);
    }
    let repeated: usize = judged().map(Stream::repeated).sum();
    let share = repeated as f64 / estimates as f64;
    let measured =
        format!("{repeated} of {estimates} ({:.1} %), {held_back} held back", share * 100.0);
    Judged::of(&claim, share >= REPEATS, &measured)
}

/// A refuted claim weighs more than one that could not be measured.
fn exit_code(claims: &[Judged]) -> u8 {
    if claims.iter().any(|claim| claim.holds == Some(false)) {
        EXIT_NO
    } else if claims.iter().any(|claim| claim.holds.is_none()) {
        EXIT_CANNOT
    } else {
        0
    }
}

fn describe(streams: &BTreeMap<String, Stream>) -> String {
    let number = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let rows = streams.iter().map(|(id, stream)| {
        let farthest = stream.deviations().into_iter().reduce(f64::max);
        [
            id.clone(),
            stream.kind.clone(),
            number(stream.median().map(|median| format!("{median:.4}"))),
            number(farthest.map(|share| format!("{:.2} %", share * 100.0))),
            format!("{} of {}", stream.repeated(), stream.estimates.len()),
            stream.held_back.len().to_string(),
        ]
    });
    let within = format!("within {:.1} %", TOLERANCE * 100.0);
    let header = ["stream", "kind", "cycles/op", "farthest run", &within, "held back"];
    let right = ["cycles/op", "farthest run", &within, "held back"];
    let text = table::plain(header, &right, rows);
    let mut reasons = BTreeMap::<&str, usize>::new();
    for why in streams.values().flat_map(|stream| &stream.held_back) {
        *reasons.entry(why).or_default() += 1;
    }
    let reasons = reasons.iter().map(|(why, times)| format!("\nheld back {times} times: {why}"));
    text + &reasons.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(kind: &str, estimates: &[f64], held_back: usize) -> Stream {
        let held_back = vec!["contended".to_owned(); held_back];
        Stream { kind: kind.to_owned(), estimates: estimates.to_vec(), held_back }
    }

    fn judge(stream: Stream) -> Judged {
        repetition_claim(&[("one".to_owned(), stream)].into_iter().collect())
    }

    #[test]
    fn estimates_are_compared_with_the_median_of_all() {
        let repeats = stream(JUDGED, &[4.0, 4.019, 3.981, 4.0, 4.0], 0);
        assert_eq!(repeats.repeated(), 5);
        assert_eq!(judge(repeats).holds, Some(true));
        let strays = stream(JUDGED, &[4.0, 4.021, 4.0, 4.0, 4.0], 0);
        assert_eq!(strays.repeated(), 4);
        assert_eq!(judge(strays).holds, Some(false));
    }

    #[test]
    fn one_in_a_hundred_may_stray() {
        let mut estimates = vec![4.0; 99];
        estimates.push(5.0);
        assert_eq!(judge(stream(JUDGED, &estimates, 0)).holds, Some(true));
        estimates.push(5.0);
        assert_eq!(judge(stream(JUDGED, &estimates, 0)).holds, Some(false));
    }

    #[test]
    fn what_is_held_back_is_shown_and_not_judged() {
        let some = stream(JUDGED, &[4.0, 4.0, 4.0], 2);
        let text = describe(&[("one".to_owned(), stream(JUDGED, &[], 2))].into_iter().collect());
        assert!(text.contains("held back 2 times: contended"), "{text}");
        assert!(text.contains("0 of 0"), "{text}");
        let judged = judge(some);
        assert_eq!(judged.holds, Some(true));
        assert!(judged.text.ends_with("3 of 3 (100.0 %), 2 held back"), "{}", judged.text);
        assert_eq!(judge(stream(JUDGED, &[4.0], 2)).holds, None);
    }

    #[test]
    fn throughput_is_not_judged() {
        assert_eq!(judge(stream("throughput", &[4.0, 5.0, 6.0], 0)).holds, None);
    }

    #[test]
    fn a_refuted_claim_outweighs_an_unmeasured_one() {
        let holds = || time_claim(Ok(ONE_CORE_S));
        let unknown = || time_claim(Err(anyhow::anyhow!("no run")));
        assert_eq!(exit_code(&[holds()]), 0);
        assert_eq!(exit_code(&[holds(), unknown()]), EXIT_CANNOT);
        assert_eq!(exit_code(&[unknown(), time_claim(Ok(1.9))]), EXIT_NO);
    }
}
