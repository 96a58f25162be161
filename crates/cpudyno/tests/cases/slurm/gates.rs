//! Scripts and lines of `contrib/slurm` in a real Slurm: prolog, epilog and health check.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::Value;

use super::{Cluster, NODES};
use crate::common::{Finished, cpudyno, finish};
use crate::contrib::{answers, contrib, of_slurm, reframe, script};

/// Whatever does not come by then will not.
const PATIENCE: Duration = Duration::from_secs(90);

/// A clock that sim:4c has with its turbo, and not without.
const BOUND: &str = "--min turbo.scalar_iadd.clock@1=3.3GHz";
/// A reason of others.
const FOREIGN: &str = "NHC: disk full";

pub(super) fn on_a_cluster() -> Result<(), Failed> {
    let cluster = Cluster { folder: tempfile::tempdir()? };
    installed(&cluster)?;
    // It becomes idle with a health check on every node at its start.
    cluster.start(1, Some(&cluster.path("gates.conf")))?;
    for node in 1..=NODES {
        cluster.until(&format!("n{node} was checked"), |cluster| {
            !cluster.calls(node, HEALTH).is_empty()
        })?;
    }
    by_reframe(&cluster)?;
    slow_nodes(&cluster)?;
    prologs(&cluster)?;
    epilogs(&cluster)?;
    assert_eq!(cluster.node(1)?, ("idle".to_owned(), String::new()), "nobody minded it");
    // Whatever came of it, a health check ends with 0.
    for node in 1..=NODES {
        assert!(cluster.calls(node, HEALTH).iter().all(|code| code == "0"), "n{node}");
    }
    Ok(())
}

const HEALTH: &str = "slurm-health";

/// The files of `contrib/slurm`, below the cluster's folder, and a `cpudyno` for each node.
fn installed(cluster: &Cluster) -> Result<(), Failed> {
    let (programs, etc) = (cluster.path("bin"), cluster.path("etc"));
    for folder in [&programs, &etc.join("prolog.d"), &etc.join("epilog.d")] {
        fs::create_dir_all(folder)?;
    }
    for (file, to) in [
        ("slurm/prolog", "prolog.d/50-cpudyno"),
        ("slurm/epilog", "epilog.d/50-cpudyno"),
        ("slurm/healthcheck", "healthcheck"),
    ] {
        script(&etc.join(to), &of_slurm(file, &programs)?)?;
    }
    let lines = fs::read_to_string(contrib("slurm/slurm.conf"))?;
    let every = "HealthCheckInterval=3600";
    assert!(lines.contains("/etc/slurm/") && lines.contains(every), "{lines}");
    let lines = lines.replace("/etc/slurm/", &format!("{}/", etc.display()));
    fs::write(cluster.path("gates.conf"), lines.replace(every, "HealthCheckInterval=2"))?;
    // It notes its exit code. What stands in a file for a node and a caller is added.
    let (folder, program) = (cluster.folder.path().display(), env!("CARGO_BIN_EXE_cpudyno"));
    let text = format!(
        "#!/bin/bash\nexport SLURM_CONF={folder}/slurm.conf CPUDYNO_LOCK=off\nat={folder}/$SLURMD_NODENAME.$3\n\
         read -ra more 2>/dev/null < \"$at\"\n\
         {program} \"$@\" {BOUND} \"${{more[@]}}\" --machine sim:4c@{folder}/$SLURMD_NODENAME.state 2>> \"$at.said\"\n\
         code=$?\necho \"$code\" >> \"$at.calls\"\nexit \"$code\"\n"
    );
    script(&programs.join("cpudyno"), &text)
}

impl Cluster {
    /// Exit codes of a caller's gates on a node.
    fn calls(&self, node: usize, caller: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(&format!("n{node}.{caller}.calls")));
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// What a caller's gate is given in addition, on a node.
    fn give(&self, node: usize, caller: &str, more: &str) -> Result<(), Failed> {
        Ok(fs::write(self.path(&format!("n{node}.{caller}")), format!("{more}\n"))?)
    }

    fn done(&self, program: &str, args: &[&str]) -> Result<Finished, Failed> {
        let mut command = self.command(program);
        command.args(args);
        let done = finish(command);
        if done.code == Some(0) { Ok(done) } else { Err(format!("{program}: {done:?}").into()) }
    }

    /// State and reason.
    fn node(&self, node: usize) -> Result<(String, String), Failed> {
        let name = format!("n{node}");
        let told = self.done("sinfo", &["-h", "-N", "-n", &name, "-o", "%T|%E"])?.stdout;
        let (state, reason) = told.trim().split_once('|').ok_or("a state and a reason")?;
        let reason = if reason == "none" { "" } else { reason };
        Ok((state.to_owned(), reason.to_owned()))
    }

    fn has_turbo(&self, node: usize, has: bool) -> Result<(), Failed> {
        let machine = format!("sim:4c@{}", self.path(&format!("n{node}.state")).display());
        let setting = if has { "no_turbo=off" } else { "no_turbo=on" };
        let mut set = cpudyno(&["set", setting, "--no-proof", "--machine", &machine]);
        set.env("CPUDYNO_STATE", self.path("journal"));
        let done = finish(set);
        if done.code == Some(0) { Ok(()) } else { Err(format!("{done:?}").into()) }
    }

    fn until(&self, what: &str, holds: impl Fn(&Cluster) -> bool) -> Result<(), Failed> {
        let begun = Instant::now();
        while !holds(self) {
            if begun.elapsed() > PATIENCE {
                let nodes = self.done("sinfo", &["-N", "-o", "%N %T %E"])?.stdout;
                return Err(format!("never: {what}\n{nodes}\n{}", self.said()).into());
            }
            thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// What gates printed for people.
    fn said(&self) -> String {
        let files = fs::read_dir(self.folder.path()).into_iter().flatten().flatten();
        let of = |path: &Path| path.extension().is_some_and(|extension| extension == "said");
        let files = files.map(|file| file.path()).filter(|path| of(path));
        let last = |path: &Path| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let last = text.lines().last().unwrap_or_default().to_owned();
            format!("{}: {last}\n", path.display())
        };
        files.map(|path| last(&path)).collect()
    }

    fn is(&self, node: usize, state: &str, reason: &str) -> bool {
        self.node(node).is_ok_and(|found| found.0 == state && found.1.starts_with(reason))
    }

    /// One more health check has ended on a node than until now.
    fn one_more_check(&self, node: usize) -> Result<(), Failed> {
        // The one that runs may have begun before.
        let before = self.calls(node, HEALTH).len();
        self.until("another health check", |it| it.calls(node, HEALTH).len() >= before + 2)
    }
}

/// One test of ReFrame becomes a job on each idle node, and each gives its metrics.
fn by_reframe(cluster: &Cluster) -> Result<(), Failed> {
    if !answers(reframe(cluster.folder.path()).arg("--version")) {
        eprintln!("ReFrame is not installed");
        return Ok(());
    }
    let config = cluster.path("reframe.json");
    let site = serde_json::json!({
        "systems": [{"name": "box", "hostnames": [".*"], "partitions": [{
            "name": "all", "scheduler": "squeue", "launcher": "srun", "access": ["-p all"],
            "environs": ["builtin"]
        }]}],
        "environments": [{"name": "builtin"}]
    });
    fs::write(&config, site.to_string())?;
    cluster.wrapper("cpudyno", "")?;
    let (folder, path) = (cluster.folder.path(), std::env::var("PATH").unwrap_or_default());
    let report = cluster.path("report.json");
    let mut run = reframe(folder);
    run.env("PATH", format!("{}:{path}", folder.display()));
    run.env("SLURM_CONF", cluster.path("slurm.conf"));
    run.arg("-C").arg(config).arg("--prefix").arg(cluster.path("reframe"));
    run.arg("-c").arg(contrib("reframe/cpudyno_check.py"));
    run.args(["-r", "--distribute=idle", "--report-file"]).arg(&report);
    let done = finish(run);
    assert_eq!(done.code, Some(0), "{done:?}");
    let report: Value = serde_json::from_str(&fs::read_to_string(report)?)?;
    let cases = report["runs"][0]["testcases"].as_array().ok_or("cases")?;
    // ReFrame's `job_nodelist` is null when `squeue` forgot a job before ReFrame looked.
    let nodes: BTreeSet<&str> = cases
        .iter()
        .flat_map(|case| case["display_name"].as_str().unwrap_or_default().split(' '))
        .filter_map(|word| word.strip_prefix("%.nid="))
        .collect();
    assert_eq!((cases.len(), nodes.len()), (NODES, NODES), "{nodes:?}");
    for case in cases {
        let values = case["perfvalues"].as_object().ok_or("perfvalues")?;
        assert!(values.keys().any(|name| name.ends_with(":memory.triad")), "{values:?}");
    }
    Ok(())
}

/// The health check drains the slow one of eight and puts it back when it is well; what others drained is theirs.
fn slow_nodes(cluster: &Cluster) -> Result<(), Failed> {
    for node in [6, 7] {
        let (name, reason) = (format!("NodeName=n{node}"), format!("Reason={FOREIGN}"));
        cluster.done("scontrol", &["update", &name, "State=DRAIN", &reason])?;
    }
    for node in [5, 7] {
        cluster.has_turbo(node, false)?;
    }
    cluster.until("n5 is drained", |it| it.is(5, "drained", "cpudyno:CLK "))?;
    let (_, reason) = cluster.node(5)?;
    assert!(reason.len() <= 80 && reason.contains("turbo.scalar_iadd.clock"), "{reason}");
    for node in [5, 6, 7] {
        cluster.one_more_check(node)?;
    }
    assert!(cluster.is(5, "drained", &reason));
    for node in [6, 7] {
        assert_eq!(cluster.node(node)?, ("drained".to_owned(), FOREIGN.to_owned()));
    }
    for node in [1, 2, 3, 4, 8] {
        assert!(cluster.is(node, "idle", ""), "n{node}: {:?}", cluster.node(node)?);
    }
    for node in [5, 7] {
        cluster.has_turbo(node, true)?;
    }
    cluster.until("n5 is in use again", |it| it.is(5, "idle", ""))?;
    for node in [6, 7] {
        cluster.one_more_check(node)?;
        assert_eq!(cluster.node(node)?, ("drained".to_owned(), FOREIGN.to_owned()));
    }
    Ok(())
}

/// A node that cannot be judged runs the job; one that fails is drained, and the job waits.
fn prologs(cluster: &Cluster) -> Result<(), Failed> {
    const CALLER: &str = "slurm-prolog";
    cluster.give(1, CALLER, "--bounds /nowhere/bounds.toml")?;
    let before = cluster.calls(1, CALLER).len();
    let told = cluster.done("srun", &["-w", "n1", "-N1", "sh", "-c", "echo ran"])?;
    let calls = cluster.calls(1, CALLER);
    assert_eq!((told.stdout.as_str(), &calls[before..]), ("ran\n", &["0".to_owned()][..]));
    cluster.until("n1 is idle", |it| it.is(1, "idle", ""))?;
    cluster.give(2, CALLER, "--min memory.triad=100TB/s")?;
    let submit = ["--parsable", "-w", "n2", "-o", "job.out", "--wrap", "echo ran"];
    let job = cluster.done("sbatch", &submit)?.stdout.trim().to_owned();
    cluster.until("n2 is drained", |it| {
        it.node(2).is_ok_and(|(state, reason)| state.starts_with("drain") && !reason.is_empty())
    })?;
    assert!(cluster.calls(2, CALLER).contains(&"1".to_owned()));
    cluster.until("the job is held", |it| {
        let told = it.done("squeue", &["-h", "-j", &job, "-o", "%T|%r"]);
        told.is_ok_and(|told| told.stdout.starts_with("PENDING|") && told.stdout.contains("held"))
    })?;
    // Slurm makes the file before the prolog has ended.
    let output = fs::read_to_string(cluster.path("job.out")).unwrap_or_default();
    assert!(!output.contains("ran"), "the job has not run: {output}");
    // That reason is Slurm's, and the health check leaves it.
    let (_, reason) = cluster.node(2)?;
    cluster.one_more_check(2)?;
    assert!(cluster.is(2, "drained", &reason) && !reason.starts_with("cpudyno:"), "{reason}");
    cluster.done("scancel", &[&job]).map(drop)
}

/// The job has run; the node that fails after it is drained.
fn epilogs(cluster: &Cluster) -> Result<(), Failed> {
    const CALLER: &str = "slurm-epilog";
    cluster.give(3, CALLER, "--min memory.triad=100TB/s")?;
    let told = cluster.done("srun", &["-w", "n3", "-N1", "sh", "-c", "echo ran"])?;
    assert_eq!(told.stdout, "ran\n");
    cluster.until("n3 is drained", |it| {
        it.node(3).is_ok_and(|(state, reason)| state.starts_with("drain") && !reason.is_empty())
    })?;
    let last = |node| cluster.calls(node, CALLER).pop();
    assert_eq!((last(3).as_deref(), last(1).as_deref()), (Some("1"), Some("0")));
    Ok(())
}
