//! `cpudyno gate --metrics`: what node_exporter's textfile collector reads, by readers of it; rules and a dashboard of
//! `contrib/` on it.
//!
//! Where `promtool`, `prometheus-node-exporter` or Debian's `python3-prometheus-client` is not installed, its case is
//! shown as ignored; `CPUDYNO_NEEDS_PROMETHEUS=1`, which the project's check sets, makes it fail there.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::common::{Finished, cpudyno, finish, program};
use crate::contrib::contrib;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

/// That of Debian, whose packages others have not.
const PYTHON: &str = "/usr/bin/python3";

/// Reads metrics in Prometheus' text format, and prints each sample, with its family and type. An empty label is none:
/// the collector adds them, so that all samples of a family have the same.
const PARSER: &str = "\
import json, sys
from prometheus_client.parser import text_string_to_metric_families as families
print(json.dumps(sorted(
    [family.name, family.type, family.documentation, sample.name,
     sorted((name, value) for name, value in sample.labels.items() if value), sample.value]
    for family in families(open(sys.argv[1]).read()) for sample in family.samples)))
";

/// Bounds of which one does not hold, so that each family has samples.
const BOUNDS: [&str; 4] = ["--min", "memory.triad=1GB/s", "--max", "wake.latency=1ns"];

pub(crate) fn trials() -> Vec<Trial> {
    let is_needed = std::env::var_os("CPUDYNO_NEEDS_PROMETHEUS").is_some();
    let trial = |name: &str, probes: &[&[&str]], case: fn() -> Result<(), Failed>| {
        let answers = |probe: &[&str]| {
            let done = program(probe[0]).args(&probe[1..]).output();
            done.is_ok_and(|done| done.status.success())
        };
        let lacking = probes.iter().find(|probe| !answers(probe)).filter(|_| !is_needed);
        let name = lacking
            .map_or_else(|| name.to_owned(), |probe| format!("{name}: `{}` fails", probe[0]));
        Trial::test(format!("metrics::{name}"), case).with_ignored_flag(lacking.is_some())
    };
    let python: &[&str] = &[PYTHON, "-c", "import prometheus_client.parser"];
    let promtool: &[&str] = &["promtool", "--version"];
    let exporter: &[&str] = &[EXPORTER, "--version"];
    vec![
        trial("promtool_finds_nothing_wrong", &[promtool], by_promtool),
        trial("a_parser_of_the_text_format_reads_them", &[python], by_parser),
        trial("node_exporter_serves_every_series_of_a_file", &[python, exporter], by_exporter),
        trial("nothing_stands_for_what_was_not_measured", &[], nothing_for_nothing),
        trial("a_host_has_fewer_than_200_series_whatever_it_is", &[], few_series),
        trial("the_file_appears_whole_or_not_at_all", &[], whole_or_not),
        trial("rules_fire_when_they_should_and_only_then", &[promtool], rules),
        trial("every_panel_of_the_dashboard_shows_something", &[promtool], dashboard),
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

/// The samples of a file: family, type, help, name, labels, value.
fn parsed(file: &Path) -> Result<Vec<Value>, Failed> {
    let mut python = program(PYTHON);
    python.args(["-c", PARSER]).arg(file);
    let told = finish(python);
    assert_eq!(told.code, Some(0), "{}\n{}", told.stderr, fs::read_to_string(file)?);
    Ok(serde_json::from_str(&told.stdout)?)
}

fn by_parser() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (file, done) = written(folder.path(), &["--min", "memory.triad=1GB/s"]);
    done.success();
    let samples = parsed(&file)?;
    for wanted in [
        "cpudyno_turbo_clock_hertz",
        "cpudyno_memory_bandwidth_bytes_per_second",
        "cpudyno_run_duration_seconds",
        "cpudyno_gate_pass",
        "cpudyno_gate_bound_holds",
        "cpudyno_info",
    ] {
        assert!(samples.iter().any(|sample| sample[0] == wanted), "no `{wanted}`: {samples:?}");
    }
    assert!(samples.iter().all(|sample| sample[1] == "gauge" && sample[0] == sample[3]));
    let info = samples.iter().find(|sample| sample[0] == "cpudyno_info").unwrap();
    let labels = info[4].as_array().unwrap().iter().map(|label| label[0].as_str().unwrap());
    let labels: Vec<&str> = labels.collect();
    for wanted in ["bios", "cpu", "kernel", "microcode", "version"] {
        assert!(labels.contains(&wanted), "{labels:?}");
    }
    Ok(())
}

const EXPORTER: &str = "prometheus-node-exporter";

/// A server, which ends with it.
struct Exporter {
    child: Child,
    address: String,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Exporter {
    fn start(folder: &Path) -> Result<Exporter, Failed> {
        // Whoever takes the port in between makes it fail, and another is tried.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let address = format!("127.0.0.1:{port}");
            let mut server = program(EXPORTER);
            server.arg(format!("--web.listen-address={address}"));
            server.args(["--collector.disable-defaults", "--collector.textfile"]);
            server.arg(format!("--collector.textfile.directory={}", folder.display()));
            let child = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            let mut server = Exporter { child, address };
            while server.child.try_wait()?.is_none() {
                if server.scrape().is_ok() {
                    return Ok(server);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Err("node_exporter does not start".into())
    }

    fn scrape(&self) -> Result<String, Failed> {
        let mut curl = program("curl");
        curl.args(["-sS", "--fail", "--max-time", "30"])
            .arg(format!("http://{}/metrics", self.address));
        let done = finish(curl);
        if done.code == Some(0) { Ok(done.stdout) } else { Err(done.stderr.into()) }
    }
}

fn by_exporter() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (file, done) = written(folder.path(), &BOUNDS);
    assert_eq!(done.code, Some(1), "{done:?}");
    // Another machine's file: families of one name have one HELP, or the collector complains.
    let other = folder.path().join("other.prom");
    let args = ["gate", "--machine", "sim:hybrid", "--budget", "5s", "--metrics"];
    finish(cpudyno(&[&args[..], &[other.to_str().unwrap()]].concat())).success();
    let served = Exporter::start(folder.path())?.scrape()?;
    assert!(served.contains("\nnode_textfile_scrape_error 0\n"), "{served}");
    let mtime = format!("node_textfile_mtime_seconds{{file=\"{}\"}}", file.display());
    assert!(served.contains(&mtime), "{served}");
    let beside = tempfile::tempdir()?;
    let copy = beside.path().join("served");
    fs::write(&copy, served)?;
    let served = parsed(&copy)?;
    let of_both = [parsed(&file)?, parsed(&other)?].concat();
    let lost: Vec<&Value> = of_both.iter().filter(|sample| !served.contains(sample)).collect();
    assert!(of_both.len() > 100 && lost.is_empty(), "{lost:?}");
    Ok(())
}

fn nothing_for_nothing() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // It cannot be judged: neither passed nor failed.
    let (file, _) = written(folder.path(), &["--min", "turbo.clock@99=1GHz"]);
    let text = fs::read_to_string(file)?;
    assert!(!text.contains("cpudyno_gate_pass") && !text.contains("_bound_holds"), "{text}");
    assert!(text.starts_with("# SIMULATED"), "{text}");
    // It is no OpenMetrics, and no sample has a time.
    assert!(!text.contains("# EOF") && !text.contains("# UNIT"), "{text}");
    let names: BTreeSet<&str> = samples(&text).map(|(name, _)| name).collect();
    assert_eq!(names.len(), samples(&text).count(), "one sample each");
    assert!(samples(&text).all(|(name, _)| name.contains("simulated=\"4c\"")), "{text}");
    for (name, value) in samples(&text) {
        assert!(name.ends_with('}') && value.parse::<f64>().is_ok_and(f64::is_finite), "{name}");
    }
    Ok(())
}

/// Names with labels, and values.
fn samples(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').expect("a sample has a value"))
}

fn few_series() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let names: Vec<&str> = simulated::names().collect();
    let file = |name: &str| folder.path().join(name).with_extension("prom");
    let file = &file;
    std::thread::scope(|scope| {
        for half in names.chunks(names.len().div_ceil(2)) {
            scope.spawn(move || {
                for name in half {
                    let (machine, to) = (format!("sim:{name}"), file(name).display().to_string());
                    let args = ["gate", "--machine", &machine, "--budget", "30s", "--metrics", &to];
                    finish(cpudyno(&args));
                }
            });
        }
    });
    let mut helps = BTreeSet::new();
    for name in names {
        let text = fs::read_to_string(file(name))?;
        let count = samples(&text).count();
        assert!((20..200).contains(&count), "{name}: {count} series");
        let of = |wanted: &str| samples(&text).any(|(name, _)| name.starts_with(wanted));
        assert!(of("cpudyno_memory_bandwidth") && of("cpudyno_info"), "{name}: {text}");
        let lines = text.lines().filter(|line| line.starts_with("# HELP "));
        helps.extend(lines.map(str::to_owned));
    }
    let named: BTreeSet<&str> = helps.iter().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(helps.len(), named.len(), "one HELP for each name on all machines: {helps:#?}");
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

fn promtool(args: &[&str], file: &Path) -> Finished {
    let mut promtool = program("promtool");
    promtool.args(args).arg(file);
    finish(promtool)
}

fn rules() -> Result<(), Failed> {
    for (args, file) in [
        (["check", "rules"], "prometheus/cpudyno.rules.yml"),
        (["test", "rules"], "prometheus/cpudyno.rules.test.yml"),
    ] {
        let done = promtool(&args, &contrib(file));
        assert!(done.code == Some(0) && done.stdout.contains("SUCCESS"), "{done:?}");
    }
    // What they ask of is in a file that is written.
    let folder = tempfile::tempdir()?;
    let (file, _) = written(folder.path(), &BOUNDS);
    let text = fs::read_to_string(file)?;
    let rules = fs::read_to_string(contrib("prometheus/cpudyno.rules.yml"))?;
    let words = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let asked: BTreeSet<&str> = words.filter(|word| word.starts_with("cpudyno_")).collect();
    assert!(asked.len() >= 2, "{asked:?}");
    for name in asked {
        assert!(text.contains(&format!("# TYPE {name} gauge\n")), "{name}");
    }
    Ok(())
}

/// Each query, as an alert that fires where it finds something; promtool feeds it with what was written.
fn dashboard() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (file, _) = written(folder.path(), &BOUNDS);
    let json = fs::read_to_string(contrib("grafana/cpudyno.json"))?;
    let dashboard: Value = serde_json::from_str(&json)?;
    let panels = dashboard["panels"].as_array().ok_or("panels")?;
    assert!((5..=8).contains(&panels.len()), "{} panels", panels.len());
    let mut rules = "groups:\n- name: panels\n  rules:\n".to_owned();
    let mut test = "rule_files: [rules.yml]\ntests:\n- interval: 1m\n  input_series:\n".to_owned();
    for (name, value) in samples(&fs::read_to_string(file)?) {
        // The host's label is what a scrape adds.
        let series = name.replacen('{', "{instance=\"n1\",", 1);
        writeln!(test, "  - {{series: {}, values: '{value}'}}", quoted(&series))?;
    }
    let mtime = "node_textfile_mtime_seconds{instance=\"n1\",file=\"/d/cpudyno.prom\"}";
    write!(test, "  - {{series: {}, values: '0'}}\n  alert_rule_test:\n", quoted(mtime))?;
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64()), "{panel}: ids are unique");
        let (title, place) = (panel["title"].as_str().ok_or("title")?, &panel["gridPos"]);
        let (x, w) = (place["x"].as_u64(), place["w"].as_u64());
        assert!(x.zip(w).is_some_and(|(x, w)| w > 0 && x + w <= 24), "{title}: {place}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        for target in panel["targets"].as_array().ok_or("targets")? {
            let query = target["expr"].as_str().ok_or("expr")?;
            assert!(query.contains("instance=~\"$instance\""), "{title}: {query}");
            let query = format!("count({}) > 0", query.replace("$instance", ".*"));
            let alert = quoted(&format!("{title} {}", target["refId"]));
            writeln!(rules, "  - {{alert: {alert}, expr: {}}}", quoted(&query))?;
            let fires = "exp_alerts: [{exp_labels: {}}]";
            writeln!(test, "  - {{alertname: {alert}, eval_time: 0m, {fires}}}")?;
        }
    }
    fs::write(folder.path().join("rules.yml"), rules)?;
    let tests = folder.path().join("test.yml");
    fs::write(&tests, test)?;
    let done = promtool(&["test", "rules"], &tests);
    assert!(done.code == Some(0) && done.stdout.contains("SUCCESS"), "{done:?}");
    Ok(())
}

/// A text in YAML, which reads what JSON writes.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
