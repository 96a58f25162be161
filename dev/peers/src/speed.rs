//! What the project claims about its own speed and size, one row per claim.
//!
//! A benchmark, no part of the checks: no test may judge a time that was taken on a shared machine.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use machine::Machine;
use model::record::{PageKind, Presentation, SpeedSelectQuestion};
use model::stats;
use simulated::Model;
use views::text::Layout;

use crate::{EXIT_CANNOT, EXIT_NO, agree, built, conformance, large, table, turbo};

/// A claim that a measurement can refute.
struct Claim {
    /// What is measured.
    what: &'static str,
    /// The unit of limit and measured value.
    unit: &'static str,
    /// The largest value that keeps the claim.
    limit: f64,
    /// Measures it with the packaged binary at that path.
    measure: fn(&Path) -> anyhow::Result<f64>,
}

/// All claims.
const CLAIMS: &[Claim] = &[
    Claim {
        what: "`cpudyno --version`, median of 50 runs",
        unit: "ms",
        limit: 10.0,
        measure: version_ms,
    },
    Claim { what: "`cpudyno sheet --budget 30s`", unit: "s", limit: 33.0, measure: sheet_s },
    Claim {
        what: "`cpudyno info --root DIR` of 2,048 CPUs, median of 5 runs",
        unit: "s",
        limit: 1.0,
        measure: large_s,
    },
    Claim {
        what: "Speed Select of 16 simulated packages of 144 cores, read and shown, median of 5",
        unit: "ms",
        limit: 100.0,
        measure: speed_select_ms,
    },
    Claim {
        what: "`cpudyno compare` of 1,000 records of 1.3 MB",
        unit: "s",
        limit: 2.0,
        measure: compare_s,
    },
    Claim {
        what: "`cpudyno show FILE --html FILE` of the record of sim:2s-28c, median of 5 runs",
        unit: "ms",
        limit: 250.0,
        measure: |binary| page_ms(binary, "sim:2s-28c", "60s"),
    },
    Claim {
        what: "the same of sim:sapphire, 112 cores at the default budget",
        unit: "ms",
        limit: 250.0,
        measure: |binary| page_ms(binary, "sim:sapphire", "30s"),
    },
    Claim { what: "size of the packaged binary", unit: "MB", limit: 12.0, measure: size_mb },
    Claim {
        what: "`cpudyno turbo --max-threads 1`, 49 streams, median of 5 runs",
        unit: "s",
        limit: turbo::ONE_CORE_S,
        measure: |binary| turbo_s(binary, 1),
    },
    Claim {
        what: "`cpudyno turbo --max-threads 2`, 49 streams, median of 5 runs",
        unit: "s",
        limit: 3.7,
        measure: |binary| turbo_s(binary, 2),
    },
    Claim {
        what: "ioctls of `perf-profile info`, 2 packages of 5 levels, to those of intel-speed-select",
        unit: "%",
        limit: 50.0,
        measure: |_| conformance::ioctls_percent(),
    },
    Claim {
        what: "time of `perf-profile info`, 2 packages of 5 levels, to that of intel-speed-select",
        unit: "%",
        limit: 100.0,
        measure: conformance::time_percent,
    },
];

/// What came of a claim.
#[derive(Debug, PartialEq)]
enum Finding {
    Holds(f64),
    Fails(f64),
    NotMeasured(String),
}

impl Claim {
    fn judge(&self, measured: anyhow::Result<f64>) -> Finding {
        match measured {
            Ok(value) if value <= self.limit => Finding::Holds(value),
            Ok(value) => Finding::Fails(value),
            Err(error) => Finding::NotMeasured(format!("{error:#}")),
        }
    }
}

/// Measures every claim.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let binary = built::packaged_binary()?;
    let mut findings = Vec::new();
    for claim in CLAIMS {
        println!("measuring: {}", claim.what);
        findings.push(claim.judge((claim.measure)(&binary)));
    }
    println!("\n{}", describe(&findings));
    Ok(ExitCode::from(exit_code(&findings)))
}

/// A refuted claim weighs more than one that could not be measured.
fn exit_code(findings: &[Finding]) -> u8 {
    if findings.iter().any(|finding| matches!(finding, Finding::Fails(_))) {
        EXIT_NO
    } else if findings.iter().any(|finding| matches!(finding, Finding::NotMeasured(_))) {
        EXIT_CANNOT
    } else {
        0
    }
}

fn describe(findings: &[Finding]) -> String {
    let rows = CLAIMS.iter().zip(findings).map(|(claim, finding)| {
        let value = |value: &f64| format!("{value:.2} {}", claim.unit);
        let (measured, verdict) = match finding {
            Finding::Holds(measured) => (value(measured), "holds".to_owned()),
            Finding::Fails(measured) => (value(measured), "FAILS".to_owned()),
            Finding::NotMeasured(why) => ("-".to_owned(), format!("not measured: {why}")),
        };
        [claim.what.to_owned(), measured, format!("{} {}", claim.limit, claim.unit), verdict]
    });
    table::plain(["claim", "measured", "at most", "verdict"], &["measured", "at most"], rows)
}

fn version_ms(binary: &Path) -> anyhow::Result<f64> {
    const RUNS: usize = 50;
    // The first run loads the file from disk, which is not what is claimed.
    timed(binary, &["--version"])?;
    let mut times_ms = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        times_ms.push(timed(binary, &["--version"])?.as_secs_f64() * 1e3);
    }
    stats::median(&times_ms).context("BUG: no run was timed")
}

fn sheet_s(binary: &Path) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let begun = Instant::now();
    // The record is read too, so that a run that ends early without measuring proves nothing.
    let record =
        agree::measure(binary, &["sheet", "--budget", "30s"], &folder.path().join("sheet.json"))?;
    let took = begun.elapsed();
    if record.run.plan.blocks_done == 0 {
        bail!("the run completed no block");
    }
    Ok(took.as_secs_f64())
}

/// Names of one record: what is read and compared is as much as of a thousand.
fn compare_s(binary: &Path) -> anyhow::Result<f64> {
    const RECORDS: usize = 1000;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let first = folder.path().join("0.json");
    agree::measure(binary, &["sheet", "--machine", "sim:4c", "--budget", "5s"], &first)?;
    let mut files = vec![first.clone()];
    for number in 1..RECORDS {
        let file = folder.path().join(format!("{number}.json"));
        std::fs::hard_link(&first, &file).context("cannot link a record")?;
        files.push(file);
    }
    let begun = Instant::now();
    let done = Command::new(binary).arg("compare").args(&files).stdout(Stdio::null()).status()?;
    let took = begun.elapsed();
    if !done.success() {
        bail!("`cpudyno compare` ended with {done}");
    }
    Ok(took.as_secs_f64())
}

/// A full record as a page that can be forwarded.
fn page_ms(binary: &Path, machine: &str, budget: &str) -> anyhow::Result<f64> {
    const RUNS: usize = 5;
    const PAGE_MAX: u64 = 3_000_000;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let (json, html) = (folder.path().join("sheet.json"), folder.path().join("sheet.html"));
    agree::measure(binary, &["sheet", "--machine", machine, "--budget", budget], &json)?;
    let [json, page] = [&json, &html].map(|file| file.to_str());
    let no_name = "the temporary folder has no name in UTF-8";
    let (json, page) = (json.context(no_name)?, page.context(no_name)?);
    let mut times_ms = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        times_ms.push(timed(binary, &["show", json, "--html", page])?.as_secs_f64() * 1e3);
    }
    let bytes = html.metadata().context("there is no page")?.len();
    if bytes > PAGE_MAX {
        bail!("the page has {bytes} bytes");
    }
    stats::median(&times_ms).context("BUG: no run was timed")
}

/// In this process, which is not as fast as the release binary.
fn speed_select_ms(_: &Path) -> anyhow::Result<f64> {
    const RUNS: usize = 5;
    const GRANITE: &str = include_str!("../../../crates/simulated/src/machines/granite.toml");
    const SIZES: [(&str, &str); 3] = [
        ("packages = 2", "packages = 16"),
        ("cores_per_package = 32", "cores_per_package = 144"),
        ("modules = [11, 11, 10]", "modules = [48, 48, 48]"),
    ];
    let text = SIZES.iter().fold(GRANITE.to_owned(), |text, (from, to)| text.replace(from, to));
    let machine = Machine::from(Model::parse("large.toml", &text)?);
    let command = sst::Command::named("perf-profile info").context("BUG: there is no such row")?;
    let mut times_ms = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let begun = Instant::now();
        let snapshot = sst::read(&machine, &sst::Wanted::by(command))?;
        let question = SpeedSelectQuestion { command: command.words.into(), ..Default::default() };
        let told = sst::speed_select(&snapshot, question, Vec::new());
        let presentation = Presentation::of(PageKind::Sst);
        let record = sst::record(&machine, told, Vec::new(), presentation);
        let layout = Layout { width: 100, colour: false };
        let page = views::text::render(&report::speed_select::page(&record, 0), layout);
        times_ms.push(begun.elapsed().as_secs_f64() * 1e3);
        if snapshot.domains.len() != 16 * 5 || page.is_empty() {
            bail!("{} power domains were read", snapshot.domains.len());
        }
    }
    stats::median(&times_ms).context("BUG: no run was timed")
}

fn large_s(binary: &Path) -> anyhow::Result<f64> {
    const RUNS: usize = 5;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let large::Written { files, cpuinfo_bytes } = large::write(folder.path())?;
    println!(
        "  a machine of {} CPUs: {files} files; /proc/cpuinfo has {:.1} MB",
        large::CPUS,
        cpuinfo_bytes as f64 / 1e6
    );
    let root = folder.path().to_str().context("the temporary folder has no name in UTF-8")?;
    // The first run finds the folders in no cache, which is not what is claimed. Its record is read,
    // so that a run that saw nothing proves nothing.
    let file = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    let path = file.path().to_str().context("the temporary file has no name in UTF-8")?;
    let calls = read_calls(binary, &["info", "--root", root, "--json", path])?;
    println!("  it takes {calls} calls of `read`, one or two for each file");
    let text = std::fs::read_to_string(path).context("cannot read the record")?;
    let record = model::record::read(&text).context("cannot use the record")?;
    let online = record.machine.topology.online.len();
    if online != large::CPUS as usize {
        bail!("`info` saw {online} CPUs");
    }
    let mut times_s = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        times_s.push(timed(binary, &["info", "--root", root])?.as_secs_f64());
    }
    stats::median(&times_s).context("BUG: no run was timed")
}

fn turbo_s(binary: &Path, cores: u32) -> anyhow::Result<f64> {
    const RUNS: usize = 5;
    let runs = turbo::measure(binary, cores, RUNS)?;
    turbo::median_s(&runs)
}

fn size_mb(binary: &Path) -> anyhow::Result<f64> {
    let metadata = std::fs::metadata(binary)
        .with_context(|| format!("cannot read the size of `{}`", binary.display()))?;
    Ok(metadata.len() as f64 / 1e6)
}

/// How often the command calls `read`, as the kernel counts: until it is waited for, it can be asked
/// about.
fn read_calls(binary: &Path, arguments: &[&str]) -> anyhow::Result<u64> {
    let line = format!("cpudyno {}", arguments.join(" "));
    let mut command = Command::new(binary);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run `{line}`"))?;
    if let Some(mut stdout) = child.stdout.take() {
        std::io::copy(&mut stdout, &mut std::io::sink()).context("cannot read its output")?;
    }
    let counts = std::fs::read_to_string(format!("/proc/{}/io", child.id()));
    let status = child.wait().with_context(|| format!("cannot wait for `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    let counts = counts.context("cannot read what the kernel counted")?;
    let calls = counts.lines().find_map(|line| line.strip_prefix("syscr: ")?.parse().ok());
    calls.context("the kernel does not count calls of `read`")
}

/// How long the command takes, from start to end, with its output thrown away.
pub(crate) fn timed(binary: &Path, arguments: &[&str]) -> anyhow::Result<Duration> {
    let line = format!("cpudyno {}", arguments.join(" "));
    let begun = Instant::now();
    let status = Command::new(binary)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot run `{line}`"))?;
    let took = begun.elapsed();
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(took)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn claims_are_unique_and_have_units() {
        let claims: BTreeSet<_> = CLAIMS.iter().map(|claim| claim.what).collect();
        assert_eq!(claims.len(), CLAIMS.len());
        assert!(CLAIMS.iter().all(|claim| !claim.unit.is_empty() && claim.limit > 0.0));
    }

    #[test]
    fn the_limit_itself_still_holds() {
        assert_eq!(CLAIMS[0].judge(Ok(10.0)), Finding::Holds(10.0));
        assert_eq!(CLAIMS[0].judge(Ok(10.1)), Finding::Fails(10.1));
    }

    #[test]
    fn a_refuted_claim_outweighs_an_unmeasured_one() {
        let unmeasured = || Finding::NotMeasured("`cpudyno sheet` failed".to_owned());
        assert_eq!(exit_code(&[Finding::Holds(1.0)]), 0);
        assert_eq!(exit_code(&[Finding::Holds(1.0), unmeasured()]), EXIT_CANNOT);
        assert_eq!(exit_code(&[unmeasured(), Finding::Fails(9.0)]), EXIT_NO);
    }

    #[test]
    fn every_finding_is_shown_with_its_unit() {
        let findings = [
            Finding::Holds(2.5),
            Finding::Fails(40.0),
            Finding::Holds(0.5),
            Finding::Holds(50.0),
            Finding::Holds(1.5),
            Finding::Holds(120.0),
            Finding::Holds(250.0),
            Finding::NotMeasured("no file".to_owned()),
        ];
        let text = describe(&findings);
        for part in
            ["2.50 ms", "40.00 s", "FAILS", "0.50 s", "1.50 s", "not measured: no file", "12 MB"]
        {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}
