//! Files of `contrib/`, as those call them that they are for.
//!
//! Where `shellcheck` or ReFrame is not installed, its case is shown as ignored; `CPUDYNO_NEEDS_CONTRIB=1`, which the
//! project's check sets, makes it fail there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Finished, Running, cpudyno, finish, program};
use libtest_mimic::{Failed, Trial};
use serde::Deserialize;
use serde_json::Value;

/// What a simulated machine can never reach.
const TOO_MUCH: &str = "--min memory.triad=100TB/s";
/// A gate that has nothing to judge by.
const NO_BOUNDS: &str = "--bounds /nowhere/bounds.toml";

pub(crate) fn trials() -> Vec<Trial> {
    let is_needed = std::env::var_os("CPUDYNO_NEEDS_CONTRIB").is_some();
    let trial = |name: &str, probe: Option<Command>, case: fn() -> Result<(), Failed>| {
        let fails = |mut probe: Command| {
            let program = probe.get_program().to_string_lossy().into_owned();
            (!answers(&mut probe)).then_some(program)
        };
        let lacking = probe.and_then(fails).filter(|_| !is_needed);
        let name = lacking
            .as_ref()
            .map_or_else(|| name.to_owned(), |program| format!("{name}: `{program}` fails"));
        Trial::test(format!("contrib::{name}"), case).with_ignored_flag(lacking.is_some())
    };
    let mut shellcheck = program("shellcheck");
    shellcheck.arg("--version");
    let mut reframe = reframe(Path::new("/tmp"));
    reframe.arg("--version");
    vec![
        trial("every_folder_is_in_the_table", None, table),
        trial("a_problem_detector_s_configuration_is_one_and_its_rule_answers", None, detector),
        trial("nhc_passes_who_cannot_be_judged_and_fails_who_fails", None, health_check),
        trial("shellcheck_finds_nothing_in_scripts", Some(shellcheck), by_shellcheck),
        trial("only_a_failure_lets_a_script_of_slurm_fail", None, guards),
        trial("reframe_reports_every_metric_of_one_job", Some(reframe), by_reframe),
        trial("nothing_stays_of_files_whose_writer_is_killed", None, killed),
        trial("labels_are_written_as_kubernetes_takes_them", None, labels),
    ]
}

/// Whether a program is there.
pub(crate) fn answers(probe: &mut Command) -> bool {
    probe.output().is_ok_and(|done| done.status.success())
}

pub(crate) fn contrib(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(file)
}

/// Writes a program.
pub(crate) fn script(file: &Path, text: &str) -> Result<(), Failed> {
    fs::write(file, text)?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// A folder with a `cpudyno` of its own: the program with more arguments, on a simulated machine.
fn with_program(more: &str) -> Result<tempfile::TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    let program = env!("CARGO_BIN_EXE_cpudyno");
    let text = format!("#!/bin/sh\nexec {program} \"$@\" --machine sim:4c {more}\n");
    script(&folder.path().join("cpudyno"), &text)?;
    Ok(folder)
}

fn table() -> Result<(), Failed> {
    let table = fs::read_to_string(contrib("README.md"))?;
    for folder in fs::read_dir(contrib(""))? {
        let folder = folder?;
        if !folder.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(folder.path())? {
            let name = file?.file_name().into_string().unwrap();
            let named = format!("{}/{name}", folder.file_name().to_str().unwrap());
            assert!(table.contains(&named), "`{named}` is not in contrib/README.md");
        }
    }
    Ok(())
}

/// What node-problem-detector reads: `pkg/custompluginmonitor/types/{config,types}.go` and `pkg/types/types.go` there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "what is not asked for below has a type at least")]
struct Detector {
    plugin: String,
    #[serde(rename = "pluginConfig")]
    plugin_config: DetectorPlugin,
    source: String,
    #[serde(rename = "metricsReporting")]
    metrics_reporting: Option<bool>,
    conditions: Vec<DetectorCondition>,
    rules: Vec<DetectorRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "as above")]
struct DetectorPlugin {
    invoke_interval: String,
    timeout: String,
    max_output_length: usize,
    concurrency: usize,
    enable_message_change_based_condition_update: Option<bool>,
    skip_initial_status: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DetectorCondition {
    r#type: String,
    reason: String,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DetectorRule {
    r#type: String,
    condition: String,
    reason: String,
    path: String,
    args: Vec<String>,
    timeout: String,
}

/// Of what Go reads as a time, that much is written here.
fn seconds(text: &str) -> u64 {
    let (number, unit) = text.split_at(text.len() - 1);
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        other => panic!("a time in `{other}`"),
    };
    number.parse::<u64>().unwrap() * factor
}

fn detector() -> Result<(), Failed> {
    let text = fs::read_to_string(contrib("npd/cpudyno.json"))?;
    let config: Detector = serde_json::from_str(&text)?;
    let plugin = &config.plugin_config;
    assert_eq!((config.plugin.as_str(), plugin.max_output_length), ("custom", 80));
    assert!(seconds(&plugin.invoke_interval) > seconds(&plugin.timeout));
    let [condition] = config.conditions.as_slice() else { return Err("one condition".into()) };
    assert!(!condition.message.is_empty());
    // Reasons are one word in CamelCase, as conditions of nodes have them.
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    for rule in &config.rules {
        assert_eq!((rule.r#type.as_str(), &rule.condition), ("permanent", &condition.r#type));
        assert!(
            is_word(&rule.reason) && is_word(&condition.reason) && rule.reason != condition.reason
        );
        assert!(seconds(&rule.timeout) <= seconds(&plugin.timeout));
        assert_eq!(Path::new(&rule.path), Path::new("/usr/bin/cpudyno"));
        // 0 fine, 1 a problem, all else unknown.
        let cases =
            [("", 0, "cpudyno:OK "), (TOO_MUCH, 1, "cpudyno:BW "), (NO_BOUNDS, 2, "cpudyno:NONE ")];
        for (more, code, begin) in cases {
            let mut args: Vec<&str> = rule.args.iter().map(String::as_str).collect();
            args.extend(["--machine", "sim:4c"]);
            args.extend(more.split_whitespace());
            let done = finish(cpudyno(&args));
            assert_eq!(done.code, Some(code), "{done:?}");
            let line = done.stdout.trim();
            assert!(line.starts_with(begin) && line.len() <= plugin.max_output_length, "{line}");
        }
    }
    Ok(())
}

const NHC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/contrib/nhc.sh");

fn health_check() -> Result<(), Failed> {
    let run = |file: &Path, folder: &Path| {
        let mut nhc = program("bash");
        nhc.args([NHC, "n1"]).arg(file).env("CHECK_PATH", format!("{}:", folder.display()));
        finish(nhc)
    };
    let file = contrib("nhc/cpudyno.conf");
    for (more, code) in [("", 0), (TOO_MUCH, 1), (NO_BOUNDS, 0)] {
        let done = run(&file, with_program(more)?.path());
        assert_eq!(done.code, Some(code), "{more}: {done:?}");
    }
    // More than the gate's 5 s, less than the watchdog's 30 s; whoever hangs is ended.
    let text = fs::read_to_string(&file)?;
    let line = text.lines().find(|line| !line.starts_with('#') && line.contains("||")).unwrap();
    let limit = line.split_once("-t ").unwrap().1.split_once(' ').unwrap().0;
    assert!((6..30).contains(&limit.parse::<u32>()?), "{line}");
    let hangs = tempfile::tempdir()?;
    script(&hangs.path().join("cpudyno"), "#!/bin/sh\nexec sleep 600\n")?;
    let short = hangs.path().join("nhc.conf");
    fs::write(&short, line.replace(&format!("-t {limit} "), "-t 1 "))?;
    let done = run(&short, hangs.path());
    assert!(done.code == Some(1) && done.stdout.contains("124 returned by cpudyno"), "{done:?}");
    Ok(())
}

const SCRIPTS: [&str; 3] = ["slurm/prolog", "slurm/epilog", "slurm/healthcheck"];

fn by_shellcheck() -> Result<(), Failed> {
    let mut shellcheck = program("shellcheck");
    shellcheck.args(SCRIPTS.map(contrib)).arg(NHC);
    let done = finish(shellcheck);
    if done.code == Some(0) { Ok(()) } else { Err(done.stdout.into()) }
}

/// The scripts of a folder find its programs before those of the system; Slurm sets no PATH.
pub(crate) fn of_slurm(file: &str, programs: &Path) -> Result<String, Failed> {
    let text = fs::read_to_string(contrib(file))?;
    let path = "\nPATH=/usr/local/sbin:";
    assert!(text.contains(path), "{file} sets its PATH");
    Ok(text.replace(path, &format!("\nPATH={}:/usr/local/sbin:", programs.display())))
}

fn guards() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let run = |file: &str| -> Result<Finished, Failed> {
        let copy = folder.path().join("script");
        script(&copy, &of_slurm(file, folder.path())?)?;
        let mut command = program(copy);
        command.env_clear().current_dir("/");
        Ok(finish(command))
    };
    for file in SCRIPTS {
        let is_acted_on = file != "slurm/healthcheck";
        // A program that is missing is none that failed.
        assert_eq!(run(file)?.code, Some(0), "{file}");
        for code in [0, 1, 2, 3, 101, 126, 137, 143] {
            let fake = folder.path().join("cpudyno");
            script(&fake, &format!("#!/bin/sh\necho \"$@\"\nexit {code}\n"))?;
            let done = run(file)?;
            assert_eq!(done.code, Some(i32::from(code == 1 && is_acted_on)), "{file} {code}");
            let (_, caller) = file.split_once('/').unwrap();
            let caller = if is_acted_on { caller } else { "health" };
            assert!(done.stdout.starts_with(&format!("gate --for slurm-{caller}")), "{done:?}");
            fs::remove_file(fake)?;
        }
    }
    Ok(())
}

/// As the checks install it. Its files go below that folder.
pub(crate) fn reframe(folder: &Path) -> Command {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/reframe");
    let mut reframe = program("python3");
    reframe.arg(tools.join("bin/reframe")).env("PYTHONPATH", &tools).env("TMPDIR", folder);
    reframe.env("HOME", folder).current_dir(folder);
    reframe
}

fn by_reframe() -> Result<(), Failed> {
    let programs = with_program("")?;
    let folder = tempfile::tempdir()?;
    let mut run = reframe(folder.path());
    run.arg("--prefix").arg(folder.path()).arg("-c").arg(contrib("reframe/cpudyno_check.py"));
    let path = std::env::var("PATH").unwrap_or_default();
    run.env("PATH", format!("{}:{path}", programs.path().display()));
    let report = folder.path().join("report.json");
    run.args(["-r", "--performance-report", "--report-file"]).arg(&report);
    let done = finish(run);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("memory.triad"), "{done:?}");
    let report: Value = serde_json::from_str(&fs::read_to_string(report)?)?;
    let case = &report["runs"][0]["testcases"][0];
    assert_eq!(case["result"], "pass", "{case}");
    let values = case["perfvalues"].as_object().ok_or("perfvalues")?;
    let of = |name: &str| {
        let found = values.iter().find(|(key, _)| key.ends_with(&format!(":{name}")));
        found.and_then(|(_, value)| value[0].as_f64()).ok_or_else(|| format!("{name}: {values:?}"))
    };
    // As sim:4c is described.
    assert!((8.0..10.0).contains(&of("memory.triad")?), "{values:?}");
    assert!((3000.0..4000.0).contains(&of("turbo.scalar_iadd.clock")?), "{values:?}");
    assert!(of("turbo.scalar_iadd.clock@1")? > of("turbo.scalar_iadd.clock")?);
    assert!(values.len() > 40, "{} metrics", values.len());
    Ok(())
}

/// Nothing half stays where a scheduler kills it: neither the files nor what they would have become.
fn killed() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let files = ["--json", &path("r.json"), "--metrics", &path("m.prom"), "--features", &path("f")];
    let gate = ["gate", "--machine", "sim:4c", "--stagger", "24h"];
    let said = tempfile::NamedTempFile::new()?;
    let mut command = cpudyno(&[&gate[..], &files].concat());
    command.stderr(said.reopen()?);
    let mut running = Running::start(command);
    while !fs::read_to_string(said.path())?.contains("begins") {
        assert!(running.child.try_wait()?.is_none(), "it waits for its moment");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    running.child.kill()?;
    assert_eq!(running.finish().code, None);
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

fn labels() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("cpudyno");
    let args = ["gate", "--machine", "sim:4c", "--features", file.to_str().unwrap()];
    assert_eq!(finish(cpudyno(&args)).code, Some(0));
    let text = fs::read_to_string(&file)?;
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("# +expiry-time=2026-01-09T00:00:00Z"), "{text}");
    let labels: Vec<(&str, &str)> = lines.map(|line| line.split_once('=').unwrap()).collect();
    let of = |name: &str| labels.iter().find(|(label, _)| *label == format!("cpudyno.io/{name}"));
    assert_eq!(of("gate").map(|label| label.1), Some("pass"));
    assert_eq!(of("simulated").map(|label| label.1), Some("4c"));
    let clock = of("clock-mhz").ok_or("a clock")?.1;
    assert!((3000..4000).contains(&clock.parse::<u32>()?) && clock.ends_with("00"), "{clock}");
    assert!((5..=8).contains(&labels.len()) && text.len() < 64_000, "{text}");
    Ok(())
}
