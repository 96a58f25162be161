//! `cpudyno gate --metrics`: what node_exporter's textfile collector reads, by two readers of it.
//!
//! Where `promtool` or Debian's `python3-prometheus-client` is not installed, its case is shown as ignored;
//! `CPUDYNO_NEEDS_PROMETHEUS=1`, which the project's check sets, makes it fail there.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::common::{Finished, cpudyno, finish, program};
use libtest_mimic::{Failed, Trial};

/// That of Debian, whose packages others have not.
const PYTHON: &str = "/usr/bin/python3";

/// Reads metrics as OpenMetrics, and prints the name, type, unit and number of samples of each.
const PARSER: &str = "\
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
for family in families(open(sys.argv[1]).read()):
    print(family.name, family.type, family.unit or '-', len(family.samples))
";

pub(crate) fn trials() -> Vec<Trial> {
    let is_needed = std::env::var_os("CPUDYNO_NEEDS_PROMETHEUS").is_some();
    let trial = |name: &str, probe: &[&str], case: fn() -> Result<(), Failed>| {
        let done = program(probe[0]).args(&probe[1..]).output();
        let answers = done.is_ok_and(|done| done.status.success());
        let ignored = !answers && !is_needed;
        let name = if ignored { format!("{name}: `{}` fails", probe[0]) } else { name.to_owned() };
        Trial::test(format!("metrics::{name}"), case).with_ignored_flag(ignored)
    };
    let python = [PYTHON, "-c", "import prometheus_client.openmetrics.parser"];
    vec![
        trial("promtool_finds_nothing_wrong", &["promtool", "--version"], by_promtool),
        trial("an_openmetrics_parser_reads_them", &python, by_parser),
        trial("nothing_stands_for_what_was_not_measured", &["true"], nothing_for_nothing),
        trial("the_file_appears_whole_or_not_at_all", &["true"], whole_or_not),
    ]
}

fn written(folder: &Path, more: &[&str]) -> (PathBuf, Finished) {
    let file = folder.join("cpudyno.prom");
    let args =
        ["gate", "--machine", "sim:4c", "--budget", "5s", "--metrics", file.to_str().unwrap()];
    let done = finish(cpudyno(&[&args[..], more].concat()));
    (file, done)
}

fn by_promtool() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (file, done) = written(folder.path(), &["--min", "memory.triad=1GB/s"]);
    done.success();
    let mut promtool = program("promtool");
    promtool.args(["check", "metrics"]).stdin(File::open(&file)?);
    let done = promtool.output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{said}\n{}", fs::read_to_string(file)?);
    Ok(())
}

fn by_parser() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (file, done) = written(folder.path(), &["--min", "memory.triad=1GB/s"]);
    done.success();
    let mut python = program(PYTHON);
    let done = python.args(["-c", PARSER]).arg(&file).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}\n{}", fs::read_to_string(&file)?);
    let families = String::from_utf8_lossy(&done.stdout).into_owned();
    let has = |wanted: &str| families.lines().any(|line| line.starts_with(wanted));
    for wanted in [
        "cpudyno_turbo_clock_hertz gauge hertz ",
        "cpudyno_memory_bandwidth_bytes_per_second gauge bytes_per_second ",
        "cpudyno_run_duration_seconds gauge seconds 1",
        "cpudyno_gate_pass gauge - 1",
        "cpudyno_gate_bound_holds gauge - 1",
    ] {
        assert!(has(wanted), "no `{wanted}` in\n{families}");
    }
    assert!(families.lines().all(|line| line.contains(" gauge ")), "{families}");
    Ok(())
}

fn nothing_for_nothing() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // It cannot be judged: neither passed nor failed.
    let (file, _) = written(folder.path(), &["--min", "turbo.clock@99=1GHz"]);
    let text = fs::read_to_string(file)?;
    assert!(!text.contains("cpudyno_gate_pass") && !text.contains("_bound_holds"), "{text}");
    assert!(text.contains("SIMULATED") && text.ends_with("# EOF\n"), "{text}");
    let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let names: BTreeSet<&str> =
        samples.iter().filter_map(|line| line.rsplit_once(' ').map(|(name, _)| name)).collect();
    assert_eq!(names.len(), samples.len(), "one sample each");
    assert!(!text.contains("NaN") && !text.contains("-1\n"), "{text}");
    Ok(())
}

fn whole_or_not() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (file, done) = written(folder.path(), &[]);
    done.success();
    let names: Vec<_> = fs::read_dir(folder.path())?.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, [file.file_name().unwrap()], "nothing is left beside it");
    let nowhere = folder.path().join("none/cpudyno.prom");
    let args = ["gate", "--machine", "sim:1c", "--metrics", nowhere.to_str().unwrap()];
    let refused = finish(cpudyno(&args));
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
    assert!(refused.stderr.contains("cannot write"), "{refused:?}");
    Ok(())
}
