//! Do the statistics of before and after keep their promises?
//!
//! A table, of which docs/method/compare.md has a part: many simulated runs for each case, with known truth, and what
//! `model::stats::paired` says of them. Everything comes from the seed; the answer is the same on
//! every machine.

use std::process::ExitCode;

use model::stats::paired::simulated::{self, Case, Disturbance, Tally, noise};
use model::stats::paired::{BAND, Draw, Estimate, Flag, Looks, Noise, Verdict, schedule};
use model::stats::share_at_most;

use crate::{EXIT_NO, because, table};

/// Intervals of 95 % hold the truth as often as this.
const COVERAGE: [f64; 2] = [0.93, 0.97];

/// A difference as large as the band is called "the same", with a confidence of 95 %, at most as often.
const EDGE_MAX: f64 = 0.05;

/// Equal arms are called different, with a confidence of 95 %, less often than this.
const FALSE_BELOW: f64 = 0.07;

/// A true change of 2 % is found at least as often, in the cases that promise it.
const POWER_MIN: f64 = 0.9;

/// With the quads that runs asked for, at least as many decide. They aim at 90 %, from a spread that is
/// itself measured.
const DECIDED_MIN: f64 = 0.85;

/// One quad of four is a control.
const CONTROL_EVERY: u64 = 4;

/// What a case promises beside coverage and few false differences.
#[derive(Clone, Copy, PartialEq)]
enum Promise {
    /// Nothing.
    Honest,
    /// To find the difference that there is.
    Finds,
    /// To say something else than "cannot tell".
    Decides,
    /// To say how many quads it takes: it runs again with as many.
    Asks,
    /// Not to call the same what differs by as much as the band allows.
    Edge,
}

/// One line of the table.
struct Line {
    case: Case,
    promise: Promise,
    tally: Tally,
}

/// Prints the table; the answer is no where a promise is broken.
pub(crate) fn run(trials: u64, seed: u64) -> anyhow::Result<ExitCode> {
    let mut chance = fastrand::Rng::with_seed(seed);
    let draw: Draw<'_> = &mut |below| chance.u64(..below);
    let mut lines = Vec::new();
    for (case, promise) in cases()? {
        let tally = case.trials(trials, draw);
        lines.push(Line { case, promise, tally });
    }
    lines.extend(with_what_was_needed(&lines, trials, draw)?);
    println!("{trials} simulated runs for each case; one of {CONTROL_EVERY} quads is a control");
    println!("{}\n", describe(&lines));
    println!("an answer where the noise is too large:\n  {}\n", answer(draw)?);
    println!("{}\n", contrasts(trials, draw));
    println!("{}\n", flags(trials, draw));
    let broken: Vec<String> = lines.iter().flat_map(Line::broken).collect();
    if broken.is_empty() {
        println!("every promise is kept");
        return Ok(ExitCode::SUCCESS);
    }
    println!("BROKEN:\n  {}", broken.join("\n  "));
    Ok(ExitCode::from(EXIT_NO))
}

/// A case with the usual band and share of controls.
fn case(
    disturbance: Disturbance,
    spread: f64,
    ratio: f64,
    quads: u64,
    looks: u64,
) -> anyhow::Result<Case> {
    let looks = Looks::planned(quads, looks).map_err(|reason| because(&reason))?;
    Ok(Case { disturbance, spread, ratio, looks, control_every: CONTROL_EVERY, band: BAND })
}

/// All cases: every disturbance, equal and different arms, with and without early looks; then the
/// fewest quads, many quads, and more noise.
fn cases() -> anyhow::Result<Vec<(Case, Promise)>> {
    use Disturbance::{All, Autocorrelated, Bursts, Drift, FarClocks, None, TwoClocks};
    let mut cases = Vec::new();
    for looks in [1, 5] {
        for disturbance in Disturbance::EACH {
            // The others have more spread than these 2 %.
            let calm = [None, Drift, Autocorrelated, TwoClocks].contains(&disturbance);
            let promise = if calm { Promise::Finds } else { Promise::Honest };
            cases.push((case(disturbance, 0.02, 1.0, 20, looks)?, Promise::Honest));
            cases.push((case(disturbance, 0.02, 1.02, 20, looks)?, promise));
        }
    }
    for (disturbance, spread, quads, looks, promise) in [
        (All, 0.02, 8, 1, Promise::Honest),
        (All, 0.02, 120, 1, Promise::Honest),
        (All, 0.02, 100, 5, Promise::Honest),
        (None, 0.005, 20, 5, Promise::Decides),
        (None, 0.03, 20, 1, Promise::Asks),
        (None, 0.1, 20, 5, Promise::Honest),
    ] {
        for ratio in [1.0, 1.02] {
            cases.push((case(disturbance, spread, ratio, quads, looks)?, promise));
        }
    }
    // With as many quads, and as little noise, as it takes to say "same" of equal arms.
    for looks in [1, 5] {
        for (disturbance, spread, quads) in [
            (None, 0.005, 20),
            (Drift, 0.02, 100),
            (Autocorrelated, 0.02, 100),
            (Bursts, 0.02, 100),
            (TwoClocks, 0.02, 100),
            (FarClocks, 0.02, 100),
            (All, 0.02, 120),
        ] {
            let edge = case(disturbance, spread, 1.0 + BAND, quads, looks)?;
            cases.push((edge, Promise::Edge));
        }
    }
    Ok(cases)
}

/// Runs that asked for more quads once more, with the median of what those asked for that could not
/// tell.
fn with_what_was_needed(lines: &[Line], trials: u64, draw: Draw<'_>) -> anyhow::Result<Vec<Line>> {
    let asking = lines.iter().filter(|line| line.promise == Promise::Asks);
    let again = asking.map(|line| {
        let Case { disturbance, spread, ratio, .. } = line.case;
        let needed = line.needed().ok_or_else(|| anyhow::anyhow!("BUG: all could tell"))?;
        let case = case(disturbance, spread, ratio, needed, 1)?;
        let tally = case.trials(trials, draw);
        Ok(Line { case, promise: Promise::Decides, tally })
    });
    again.collect()
}

impl Line {
    /// The median of what runs asked for that could not tell; none where they were few.
    fn needed(&self) -> Option<u64> {
        let mut needed = self.tally.needed.clone();
        needed.sort_unstable();
        let many = needed.len() as f64 > 0.05 * self.tally.trials as f64;
        many.then(|| needed[needed.len() / 2])
    }

    /// Promises that were not kept.
    fn broken(&self) -> Vec<String> {
        let tally = &self.tally;
        let coverage = tally.share(tally.covered);
        let by_all = tally.share(tally.covered_by_all);
        let decided = 1.0 - tally.share(tally.cannot_tell);
        let found = tally.share(tally.found);
        let [least, most] = COVERAGE;
        let same_at_most = share_at_most(tally.same, tally.trials);
        let kept = [
            // Of several looks it is all intervals together that hold as often as they say. One of them
            // alone may hold the truth more often.
            (
                (least..=most).contains(&by_all),
                format!("coverage of all looks is {}", percent(by_all)),
            ),
            (coverage >= least, format!("coverage is {}", percent(coverage))),
            (
                self.false_at_most() < FALSE_BELOW,
                format!("false differences may be {}", percent(self.false_at_most())),
            ),
            (
                !self.differs() || same_at_most <= EDGE_MAX,
                format!("a false \"same\" may be {}", percent(same_at_most)),
            ),
            (
                self.promise != Promise::Finds || found >= POWER_MIN,
                format!("found are {}", percent(found)),
            ),
            (
                self.promise != Promise::Decides || decided >= DECIDED_MIN,
                format!("decided are {}", percent(decided)),
            ),
        ];
        let name = self.cells()[..5].join(", ");
        kept.into_iter()
            .filter(|(kept, _)| !kept)
            .map(|(_, what)| format!("{name}: {what}"))
            .collect()
    }

    /// Whether there is a difference to find.
    fn differs(&self) -> bool {
        (self.case.ratio - 1.0).abs() > 0.0
    }

    fn false_at_most(&self) -> f64 {
        share_at_most(self.tally.false_differences, self.tally.trials)
    }

    fn cells(&self) -> [String; 12] {
        let (case, tally) = (&self.case, &self.tally);
        [
            case.disturbance.name().to_owned(),
            percent(case.spread),
            format!("{:.2}", case.ratio),
            case.looks.last().to_string(),
            case.looks.quads.len().to_string(),
            format!("{:.1}", tally.quads as f64 / tally.trials as f64),
            percent(tally.share(tally.covered)),
            percent(tally.share(tally.covered_by_all)),
            format!(
                "{} (< {})",
                percent(tally.share(tally.false_differences)),
                percent(self.false_at_most())
            ),
            if self.differs() { percent(tally.share(tally.found)) } else { "-".to_owned() },
            format!(
                "{} / {}",
                percent(tally.share(tally.same)),
                percent(tally.share(tally.cannot_tell))
            ),
            self.needed().map_or("-".to_owned(), |needed| needed.to_string()),
        ]
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn describe(lines: &[Line]) -> String {
    let header = [
        "disturbed by",
        "spread",
        "B / A",
        "quads",
        "looks",
        "used",
        "coverage",
        "of all looks",
        "false (95 % bound)",
        "found",
        "same / cannot tell",
        "needs",
    ];
    table::plain(header, &header[1..], lines.iter().map(Line::cells))
}

/// What a run says that cannot tell.
fn answer(draw: Draw<'_>) -> anyhow::Result<String> {
    let case = case(Disturbance::None, 0.05, 1.0, 20, 1)?;
    loop {
        if let Verdict::CannotTell(why) = case.trial(draw).told.verdict {
            let remedy = why.remedy.map_or(String::new(), |remedy| format!("; it needs {remedy}"));
            return Ok(format!("cannot tell: {}{remedy}", why.why));
        }
    }
}

/// What others do, on equal arms: how often they call them different.
fn contrasts(trials: u64, draw: Draw<'_>) -> String {
    let mut lines = vec!["equal arms that are called different by other designs:".to_owned()];
    for disturbance in Disturbance::EACH {
        let wrong = (0..trials).filter(|_| one_after_the_other(disturbance, draw)).count();
        let name = disturbance.name();
        lines.push(format!(
            "  all of A, then all of B, disturbed by {name}: {}",
            percent(wrong as f64 / trials as f64)
        ));
    }
    let looks = Looks { quads: (8..=100).collect(), level: 0.05 };
    let (disturbance, spread, band) = (Disturbance::None, 0.02, 0.0);
    let case = Case { disturbance, spread, ratio: 1.0, looks, control_every: 0, band };
    let tally = case.trials(trials / 4, draw);
    lines.push(format!(
        "  quads, but stopping \"when decided\", 8 to 100 of them: {}",
        percent(tally.share(tally.false_differences))
    ));
    lines.join("\n")
}

/// What is remarked of runs of equal arms, by what disturbs them.
fn flags(trials: u64, draw: Draw<'_>) -> String {
    let mut rows = Vec::new();
    for disturbance in Disturbance::EACH {
        let mut counts = [0u64; 5];
        for _ in 0..trials {
            let slots = schedule(20, CONTROL_EVERY, draw);
            let run = simulated::run(&slots, 1.0, disturbance, 0.02, draw);
            let mut seen = [false; 5];
            for flag in Noise::of(&run, 0.0).flags(BAND.ln_1p()) {
                seen[match flag {
                    Flag::Drift { .. } => 0,
                    Flag::Order { .. } => 1,
                    Flag::Wanders { .. } => 2,
                    Flag::Outliers { .. } => 3,
                    Flag::TwoModes { .. } => 4,
                    // Nothing is simulated beside them, and nothing is lost.
                    Flag::Machine { .. } | Flag::Lost { .. } => continue,
                }] = true;
            }
            for (count, seen) in counts.iter_mut().zip(seen) {
                *count += u64::from(seen);
            }
        }
        let [drift, order, wanders, outliers, modes] =
            counts.map(|count| percent(count as f64 / trials as f64));
        rows.push([disturbance.name().to_owned(), drift, order, wanders, outliers, modes]);
    }
    let header = ["disturbed by", "drift", "order", "wanders", "outliers", "two modes"];
    let table = table::plain(header, &header[1..], rows);
    format!("remarks on runs of 20 quads with a spread of 2 %\n{table}")
}

/// Forty measurements of A, then forty of B, which are equal: does the same test call them different?
fn one_after_the_other(disturbance: Disturbance, draw: Draw<'_>) -> bool {
    const EACH: usize = 40;
    let noise = noise(2 * EACH, disturbance, 0.02, draw);
    let differences: Vec<f64> = (0..EACH).map(|i| noise[EACH + i] - noise[i]).collect();
    let estimate = Estimate::of(&differences, 0.05);
    estimate
        .and_then(|estimate| estimate.interval.value().copied())
        .is_some_and(|i| i.excludes_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_promises_are_named() {
        let tally = Tally {
            trials: 1000,
            covered: 950,
            covered_by_all: 950,
            found: 950,
            ..Tally::default()
        };
        let case = case(Disturbance::Drift, 0.02, 1.02, 20, 1).unwrap();
        let mut line = Line { case, promise: Promise::Finds, tally };
        assert!(line.broken().is_empty());
        line.tally.found = 890;
        assert_eq!(line.broken(), ["drift, 2.0 %, 1.02, 20, 1: found are 89.0 %"]);
        line.tally = Tally { covered_by_all: 980, false_differences: 60, same: 70, ..line.tally };
        assert_eq!(line.broken().len(), 4, "{:?}", line.broken());
    }
}
