//! Do two runs on one machine agree?
//!
//! Cycles per op are ratios to the clock chain, so they must repeat within half a per cent however
//! the clock moves. The clock itself moves on a shared machine; its movement is shown, not judged.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use model::page::si;
use model::record::{self, Outcome, Record, Series};
use model::stats::Summary;
use model::{CpuId, Unit};

use crate::{EXIT_CANNOT, EXIT_NO, built, table};

/// The area whose series are compared.
const AREA: &str = "turbo";
/// Two runs agree on cycles per op when they differ by no more than this.
const TOLERANCE: f64 = 0.005;
/// The kind of workload whose cycles per op are judged: a busy sibling changes those of the others.
const JUDGED: &str = "latency";

/// Measures twice and compares.
pub(crate) fn run(budget: &str) -> anyhow::Result<ExitCode> {
    let binary = built::release_binary()?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let sheet = ["sheet", "--budget", budget];
    let a = measure(&binary, &sheet, &folder.path().join("a.json"))?;
    let b = measure(&binary, &sheet, &folder.path().join("b.json"))?;
    let comparison = compare(&judged(&a), &judged(&b));
    println!("{}", describe(&comparison));
    Ok(match comparison.verdict() {
        Verdict::Agree => ExitCode::SUCCESS,
        Verdict::Disagree => {
            println!("both records are kept in `{}`", folder.keep().display());
            ExitCode::from(EXIT_NO)
        }
        Verdict::NothingCompared => ExitCode::from(EXIT_CANNOT),
    })
}

/// Runs a command of cpudyno that measures, and reads the record that it writes to `path`.
pub(crate) fn measure(binary: &Path, arguments: &[&str], path: &Path) -> anyhow::Result<Record> {
    let line = format!("cpudyno {} --json {}", arguments.join(" "), path.display());
    println!("$ {line}");
    let status = Command::new(binary)
        .args(arguments)
        .arg("--json")
        .arg(path)
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("cannot measure: `{line}` failed ({status})\nhint: its messages stand above");
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the record `{}`", path.display()))?;
    record::read(&text).with_context(|| format!("cannot use the record `{}`", path.display()))
}

/// What a series measures, of the quantities that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Quantity {
    Cycles,
    Clock,
}

/// The series of a record without those that a busy sibling changes.
fn judged(record: &Record) -> Vec<Series> {
    let plan = &record.run.plan;
    let kind = |series: &Series| plan.workload(&series.workload).map(|planned| &*planned.kind);
    let of = |series: &&Series| series.unit != Unit::CyclePerOp || kind(series) == Some(JUDGED);
    record.series.iter().filter(of).cloned().collect()
}

/// What two series must share to be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    quantity: Quantity,
    workload: String,
    active: usize,
    cpu: CpuId,
    placement_class: Option<String>,
    parameters: BTreeMap<String, String>,
}

impl Key {
    /// The key of a series; none where it is not one of those that are compared.
    fn of(series: &Series) -> Option<Key> {
        let quantity = match (series.quantity.as_str(), series.unit) {
            ("cycles_per_op", Unit::CyclePerOp) => Quantity::Cycles,
            ("clock", Unit::Hertz) => Quantity::Clock,
            _ => return None,
        };
        (series.area == AREA).then(|| Key {
            quantity,
            workload: series.workload.clone(),
            active: series.active.len(),
            cpu: series.cpu,
            placement_class: series.placement_class.clone(),
            parameters: series.parameters.clone(),
        })
    }

    /// The conditions beside stream, cores and CPU; empty where there are none.
    fn conditions(&self) -> String {
        let parameters = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        self.placement_class.clone().into_iter().chain(parameters).collect::<Vec<_>>().join(" ")
    }
}

/// A series of both runs.
#[derive(Debug)]
struct Pair {
    key: Key,
    a: Summary,
    b: Summary,
}

impl Pair {
    /// How far B's median is from A's, as a share of A's.
    fn difference(&self) -> f64 {
        self.b.median / self.a.median - 1.0
    }

    fn agrees(&self) -> bool {
        self.difference().abs() <= TOLERANCE
    }
}

/// What was compared, and what was not.
#[derive(Debug, Default)]
struct Comparison {
    cycles: Vec<Pair>,
    clocks: Vec<Pair>,
    not_compared: Vec<(Key, String)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Agree,
    Disagree,
    NothingCompared,
}

impl Comparison {
    /// Latency cells that have a number in one run only, or in none.
    fn cycles_missing(&self) -> usize {
        self.not_compared.iter().filter(|(key, _)| key.quantity == Quantity::Cycles).count()
    }

    fn verdict(&self) -> Verdict {
        // A few cells that agree say nothing of many that could not be compared.
        if self.cycles.is_empty() || self.cycles.len() < self.cycles_missing() {
            Verdict::NothingCompared
        } else if self.cycles.iter().all(Pair::agrees) {
            Verdict::Agree
        } else {
            Verdict::Disagree
        }
    }
}

/// Pairs the series of two records, in the order of the first.
fn compare(a: &[Series], b: &[Series]) -> Comparison {
    let mut comparison = Comparison::default();
    let mut partners = BTreeMap::new();
    for series in b {
        let Some(key) = Key::of(series) else { continue };
        if partners.insert(key.clone(), series).is_some() {
            comparison.not_compared.push((key, "B holds it twice".to_owned()));
        }
    }
    for series in a {
        let Some(key) = Key::of(series) else { continue };
        let Some(partner) = partners.remove(&key) else {
            comparison.not_compared.push((key, "it has no partner in B".to_owned()));
            continue;
        };
        match (summary(series, "A"), summary(partner, "B")) {
            (Ok(a), Ok(b)) if key.quantity == Quantity::Cycles => {
                comparison.cycles.push(Pair { key, a, b });
            }
            (Ok(a), Ok(b)) => comparison.clocks.push(Pair { key, a, b }),
            (Err(why), _) | (_, Err(why)) => comparison.not_compared.push((key, why)),
        }
    }
    let alone = partners.into_keys().map(|key| (key, "it has no partner in A".to_owned()));
    comparison.not_compared.extend(alone);
    comparison
}

/// The numbers of a series, or why it has none that can be divided by.
fn summary(series: &Series, run: &str) -> Result<Summary, String> {
    match &series.outcome {
        Outcome::Measured { summary, .. } if summary.median > 0.0 => Ok(*summary),
        Outcome::Measured { summary, .. } => {
            Err(format!("{run}: its median is {}, which is no length", summary.median))
        }
        Outcome::Unavailable { unavailable } => Err(format!("{run}: {}", unavailable.why)),
    }
}

fn describe(comparison: &Comparison) -> String {
    let mut parts = Vec::new();
    if !comparison.cycles.is_empty() {
        let tolerance = percent(TOLERANCE);
        let caption = format!("Core cycles per op, median; two runs agree within {tolerance}");
        parts.push(format!("{caption}\n{}", cycles_table(&comparison.cycles)));
    }
    if !comparison.clocks.is_empty() {
        let caption = "Clock, 5th to 95th percentile; the drift of the median is not judged";
        parts.push(format!("{caption}\n{}", clock_table(&comparison.clocks)));
    }
    if !comparison.not_compared.is_empty() {
        parts.push(format!("Not compared\n{}", not_compared_table(&comparison.not_compared)));
    }
    parts.push(conclusion(comparison));
    format!("\n{}", parts.join("\n\n"))
}

fn cycles_table(pairs: &[Pair]) -> String {
    let rows = pairs.iter().map(|pair| {
        let Pair { key, a, b } = pair;
        let verdict = if pair.agrees() { "agree" } else { "DISAGREE" };
        [
            key.workload.clone(),
            key.active.to_string(),
            key.cpu.to_string(),
            key.conditions(),
            format!("{:.4}", a.median),
            format!("{:.4}", b.median),
            signed_percent(pair.difference()),
            verdict.to_owned(),
        ]
    });
    let header = ["stream", "cores", "cpu", "conditions", "A", "B", "B-A", "verdict"];
    table::plain(header, &["cores", "cpu", "A", "B", "B-A"], rows)
}

fn clock_table(pairs: &[Pair]) -> String {
    let rows = pairs.iter().map(|pair| {
        let Pair { key, a, b } = pair;
        [
            key.workload.clone(),
            key.active.to_string(),
            key.cpu.to_string(),
            key.conditions(),
            range(a),
            range(b),
            signed_percent(pair.difference()),
        ]
    });
    let header = ["stream", "cores", "cpu", "conditions", "A", "B", "drift"];
    table::plain(header, &["cores", "cpu", "A", "B", "drift"], rows)
}

fn not_compared_table(rows: &[(Key, String)]) -> String {
    let rows = rows.iter().map(|(key, why)| {
        let quantity = match key.quantity {
            Quantity::Cycles => "cycles per op",
            Quantity::Clock => "clock",
        };
        [
            key.workload.clone(),
            quantity.to_owned(),
            key.active.to_string(),
            key.cpu.to_string(),
            key.conditions(),
            why.clone(),
        ]
    });
    let header = ["stream", "quantity", "cores", "cpu", "conditions", "why"];
    table::plain(header, &["cores", "cpu"], rows)
}

/// One sentence that a reader in a hurry may take away.
fn conclusion(comparison: &Comparison) -> String {
    let size = |pair: &&Pair| pair.difference().abs();
    let Some(worst) = comparison.cycles.iter().max_by(|x, y| size(x).total_cmp(&size(y))) else {
        return "nothing could be compared: no latency stream has numbers in both runs\n\
                hint: a larger `--budget` lets more streams in"
            .to_owned();
    };
    let agreeing = comparison.cycles.iter().filter(|pair| pair.agrees()).count();
    let drift = comparison.clocks.iter().map(|pair| pair.difference().abs()).reduce(f64::max);
    let drift = drift.map_or_else(String::new, |drift| {
        format!("; the clock drifted by up to {} between the runs", percent(drift))
    });
    let missing = match comparison.cycles_missing() {
        0 => String::new(),
        missing => format!("; {missing} more could not be compared"),
    };
    format!(
        "{agreeing} of {} latency cells agree within {}; the largest difference is {} \
         ({}, {} active, cpu {}){missing}{drift}",
        comparison.cycles.len(),
        percent(TOLERANCE),
        percent(size(&worst)),
        worst.key.workload,
        worst.key.active,
        worst.key.cpu,
    )
}

fn range(summary: &Summary) -> String {
    let [low, high] = [summary.p5, summary.p95].map(|value| si::format(value, Unit::Hertz));
    format!("{low} - {high}")
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

fn signed_percent(share: f64) -> String {
    format!("{:+.2} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use model::record::{Disturbance, Samples};
    use model::{Obstacle, Unavailable};

    use super::*;

    fn series(workload: &str, quantity: &str, unit: Unit, value: f64) -> Series {
        let samples = Samples::Plain(vec![vec![value * 0.999, value, value * 1.001]]);
        let summary = samples.summary().unwrap();
        Series {
            area: AREA.to_owned(),
            workload: workload.to_owned(),
            quantity: quantity.to_owned(),
            unit,
            parameters: BTreeMap::new(),
            cpu: CpuId(0),
            active: [CpuId(0), CpuId(1)].into_iter().collect(),
            placement_class: None,
            outcome: Outcome::Measured { samples, summary },
            fixed_cost: None,
            disturbance: Disturbance::default(),
        }
    }

    fn cycles(workload: &str, value: f64) -> Series {
        series(workload, "cycles_per_op", Unit::CyclePerOp, value)
    }

    fn clock(value: f64) -> Series {
        series("avx256_fma", "clock", Unit::Hertz, value)
    }

    #[test]
    fn half_a_per_cent_agrees_and_more_does_not() {
        let verdict = |b| compare(&[cycles("fma", 4.0)], &[cycles("fma", b)]).verdict();
        assert_eq!(verdict(4.0), Verdict::Agree);
        assert_eq!(verdict(4.019), Verdict::Agree);
        assert_eq!(verdict(3.981), Verdict::Agree);
        assert_eq!(verdict(4.021), Verdict::Disagree);
        assert_eq!(verdict(3.979), Verdict::Disagree);
    }

    #[test]
    fn one_stream_that_disagrees_decides() {
        let a = [cycles("fma", 4.0), cycles("add", 1.0)];
        let b = [cycles("add", 1.02), cycles("fma", 4.0)];
        let comparison = compare(&a, &b);
        assert_eq!(comparison.verdict(), Verdict::Disagree);
        let text = describe(&comparison);
        assert!(text.contains("1 of 2 latency cells agree within 0.50 %"), "{text}");
        assert!(text.contains("2.00 % (add, 2 active, cpu 0)"), "{text}");
        assert!(text.contains("DISAGREE"), "{text}");
    }

    #[test]
    fn the_clock_may_drift() {
        let a = [cycles("fma", 4.0), clock(4.0e9)];
        let b = [cycles("fma", 4.0), clock(3.8e9)];
        let comparison = compare(&a, &b);
        assert_eq!(comparison.verdict(), Verdict::Agree);
        let text = describe(&comparison);
        assert!(text.contains("-5.00 %"), "{text}");
        assert!(text.contains("drifted by up to 5.00 % between"), "{text}");
    }

    #[test]
    fn another_area_or_unit_is_not_compared() {
        let mut memory = cycles("fma", 4.0);
        memory.area = "memory".to_owned();
        let seconds = series("fma", "cycles_per_op", Unit::SecondPerOp, 1e-9);
        assert_eq!(Key::of(&memory), None);
        assert_eq!(Key::of(&seconds), None);
    }

    #[test]
    fn absence_is_listed_with_its_reason() {
        let mut absent = cycles("fma", 4.0);
        let why = Unavailable::new(Obstacle::Measurement, "cycles per op", "contended");
        absent.outcome = Outcome::Unavailable { unavailable: why };
        let comparison = compare(&[cycles("fma", 4.0)], &[absent]);
        assert_eq!(comparison.verdict(), Verdict::NothingCompared);
        assert_eq!(comparison.not_compared[0].1, "B: contended");
        assert!(describe(&comparison).contains("B: contended"));
    }

    #[test]
    fn a_median_of_zero_is_no_length() {
        let comparison = compare(&[cycles("fma", 0.0)], &[cycles("fma", 1.0)]);
        assert!(comparison.not_compared[0].1.starts_with("A: its median is 0"));
    }

    #[test]
    fn placement_classes_are_never_pooled() {
        let placed =
            |class: &str| Series { placement_class: Some(class.to_owned()), ..cycles("fma", 4.0) };
        let comparison = compare(&[placed("same core")], &[placed("apart")]);
        assert_eq!(comparison.verdict(), Verdict::NothingCompared);
        let reasons: Vec<_> = comparison.not_compared.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(reasons, ["it has no partner in B", "it has no partner in A"]);
    }

    #[test]
    fn a_series_held_twice_is_said() {
        let comparison = compare(&[cycles("fma", 4.0)], &[cycles("fma", 4.0), cycles("fma", 4.0)]);
        assert_eq!(comparison.not_compared[0].1, "B holds it twice");
        assert_eq!(comparison.cycles.len(), 1);
    }
}
