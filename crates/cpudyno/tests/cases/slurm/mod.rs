//! `cpudyno fleet plan --slurm` and `--json DIR/` under a real Slurm: eight nodes, all of them this machine, each with
//! a simulated machine of its own; and the scripts of `contrib/slurm` ([`gates`]).
//!
//! Where Slurm is not installed, or this is not root, the case is shown as ignored; `CPUDYNO_NEEDS_SLURM=1`, which the
//! project's check sets, makes it fail there.

#![expect(clippy::print_stderr, reason = "what cannot be tested here says why")]

mod gates;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Finished, Running, cpudyno, finish, program};
use libtest_mimic::{Failed, Trial};
use model::Known;
use model::record::{FactValue, Record};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/slurm/cluster.sh");

const NODES: usize = 8;

/// The node whose machine has no turbo.
const SLOW: &str = "n5";

fn is_needed() -> bool {
    std::env::var_os("CPUDYNO_NEEDS_SLURM").is_some()
}

pub(crate) fn trials() -> Vec<Trial> {
    let lacking = || {
        let tools = [["slurmctld", "-V"], ["slurmd", "-V"], ["sbatch", "-V"], ["munged", "-V"]];
        let is_there = |tool: &&[&str; 2]| program(tool[0]).arg(tool[1]).output().is_ok();
        let missing = tools.iter().find(|tool| !is_there(tool));
        let by_name = missing.map(|tool| format!("`{}` is not there", tool[0]));
        by_name.or_else(|| (sys::host::effective_user() != 0).then(|| "needs root".to_owned()))
    };
    let lacking = lacking().filter(|_| !is_needed());
    let trial = |name: &str, case: fn() -> Result<(), Failed>| {
        let name = lacking.as_ref().map_or_else(|| name.to_owned(), |why| format!("{name}: {why}"));
        Trial::test(format!("slurm::{name}"), case).with_ignored_flag(lacking.is_some())
    };
    vec![
        trial("each_node_leaves_one_record_whatever_happens_to_others", on_a_cluster),
        trial("gates_drain_who_fails_and_put_back_who_is_well_again", gates::on_a_cluster),
    ]
}

/// A cluster, which ends with it.
struct Cluster {
    folder: tempfile::TempDir,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(program("bash").arg(SCRIPT).arg("down").arg(self.folder.path()).status());
    }
}

impl Cluster {
    fn up() -> Result<Cluster, Failed> {
        let cluster = Cluster { folder: tempfile::tempdir()? };
        cluster.start(0, None)?;
        // What the cluster writes is in its own folder; ours has other names.
        for folder in ["planned", "killed", "two", "full"] {
            fs::create_dir(cluster.path(folder))?;
        }
        Ok(cluster)
    }

    /// Starts it, with more lines of its configuration. Clusters of one process differ by their number.
    fn start(&self, number: u16, more: Option<&Path>) -> Result<(), Failed> {
        let mut up = program("bash");
        up.arg(SCRIPT).arg("up").arg(self.folder.path());
        up.args([NODES.to_string(), free_ports(number)?.to_string()]).args(more);
        // Daemons keep what they are given: a pipe would never end.
        let output = self.path("up");
        let file = fs::File::create(&output)?;
        let status = up.stdout(file.try_clone()?).stderr(file).status()?;
        assert!(status.success(), "{}", fs::read_to_string(output)?);
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = program(name);
        command.env("SLURM_CONF", self.path("slurm.conf")).current_dir(self.folder.path());
        command
    }

    /// A program for every node: the command with the machine of its own.
    fn wrapper(&self, name: &str, before: &str) -> Result<PathBuf, Failed> {
        let program = env!("CARGO_BIN_EXE_cpudyno");
        let text = format!(
            "#!/bin/bash\nmachine=sim:4c@{}/$SLURMD_NODENAME.state\nrun=({program} \"$@\" --machine \"$machine\")\n\
             {before}\nexec \"${{run[@]}}\"\n",
            self.folder.path().display()
        );
        let file = self.path(name);
        fs::write(&file, text)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
        Ok(file)
    }

    fn survey(&self, records: &Path) -> Result<serde_json::Value, Failed> {
        let expected: Vec<String> = (1..=NODES + 1).map(|node| format!("n{node}\n")).collect();
        let hosts = self.path("hosts.txt");
        fs::write(&hosts, expected.concat())?;
        let args = ["fleet", records.to_str().unwrap(), "--expect", hosts.to_str().unwrap()];
        let told = finish(cpudyno(&[&args[..], &["--format", "json"]].concat())).success();
        Ok(serde_json::from_str(&told)?)
    }
}

/// The job that would be submitted.
fn planned(records: &Path, program: &Path) -> Result<PathBuf, Failed> {
    let nodes = format!("n[1-{NODES}]");
    let (to, with) = (records.to_str().unwrap(), program.to_str().unwrap());
    let args = ["--slurm", "--hosts", &nodes, "--to", to, "--program", with, "--budget", "2s"];
    let text = finish(cpudyno(&[&["fleet", "plan"], &args[..]].concat())).success();
    let job = program.with_extension("job");
    fs::write(&job, text)?;
    Ok(job)
}

/// A port that is free, as are those after it.
fn free_ports(number: u16) -> Result<u16, Failed> {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let begin = 20_000 + (std::process::id() % 20_000) as u16 + 16 * number;
    let fits = |port: &u16| (*port..=port + NODES as u16).all(is_free);
    (begin..60_000).step_by(32).find(fits).ok_or_else(|| "no free ports".into())
}

/// The records of a folder, by their hosts; nothing else is in it.
fn records(folder: &Path) -> Result<BTreeMap<String, Vec<Record>>, Failed> {
    let mut found: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (host, time) = name.split_once('_').ok_or_else(|| format!("a file `{name}`"))?;
        let is_json = path.extension().is_some_and(|end| end == "json");
        assert!(time.starts_with('2') && is_json, "{name}");
        let record = model::record::read(&fs::read_to_string(&path)?)?;
        found.entry(host.to_owned()).or_default().push(record);
    }
    Ok(found)
}

fn said(record: &Record, id: &str) -> String {
    match record.machine.facts.iter().find(|fact| fact.id == id).map(|fact| &fact.value) {
        Some(Known::Yes(FactValue::Text(text))) => text.clone(),
        other => panic!("{id}: {other:?}"),
    }
}

fn on_a_cluster() -> Result<(), Failed> {
    let cluster = Cluster::up()?;
    planned_job(&cluster)?;
    killed_rank(&cluster)?;
    two_jobs(&cluster)?;
    full_disk(&cluster)
}

/// What is planned is submitted as it is, and its records make a survey that finds the slow node.
fn planned_job(cluster: &Cluster) -> Result<(), Failed> {
    let state = format!("sim:4c@{}", cluster.path(&format!("{SLOW}.state")).display());
    let mut set = cpudyno(&["set", "no_turbo=on", "--no-proof", "--machine", &state]);
    set.env("CPUDYNO_STATE", cluster.path("journal"));
    assert_eq!(finish(set).code, Some(0));
    let folder = cluster.path("planned");
    let job = planned(&folder, &cluster.wrapper("plain", "")?)?;
    let mut submit = cluster.command("sbatch");
    submit.args(["--wait", "--output", "job.out"]).stdin(fs::File::open(job)?);
    let done = finish(submit);
    let output = fs::read_to_string(cluster.path("job.out")).unwrap_or_default();
    assert!(done.code == Some(0), "{done:?}\n{output}");
    let found = records(&folder)?;
    let hosts: Vec<String> = (1..=NODES).map(|node| format!("n{node}")).collect();
    assert_eq!(found.keys().cloned().collect::<Vec<_>>(), hosts);
    let each: Vec<&Record> = found.values().flatten().collect();
    assert_eq!(each.len(), NODES);
    let ranks: BTreeSet<String> = each.iter().map(|it| said(it, "launch.rank")).collect();
    assert_eq!(ranks, (0..NODES).map(|rank| rank.to_string()).collect());
    for record in each {
        assert_eq!(said(record, "launch.launcher"), "Slurm");
        assert_eq!(said(record, "launch.nodes"), NODES.to_string());
        assert_eq!(said(record, "launch.node_list"), format!("n[1-{NODES}]"));
    }
    let survey = cluster.survey(&folder)?;
    assert_eq!(survey["missing"], serde_json::json!(["n9"]), "a node that never answered");
    let bad = finish(cpudyno(&["fleet", folder.to_str().unwrap(), "--bad"])).success();
    assert_eq!(bad, format!("{SLOW}\n"), "{survey:#}");
    let why = survey["suspects"][0].to_string();
    assert!(why.contains("turbo") || why.contains("boost"), "{why}");
    assert!(!why.contains("launch."), "{why}");
    Ok(())
}

/// A rank that is killed while it runs leaves nothing, and ends nobody else.
fn killed_rank(cluster: &Cluster) -> Result<(), Failed> {
    let folder = cluster.path("killed");
    // Its files are open, and it waits for a start that never comes.
    let kill = "if [ \"$SLURMD_NODENAME\" = n3 ]; then\n  \
                \"${run[@]}\" --stagger 24h 2> n3.said & \n  \
                until grep -q begins n3.said; do sleep 0.05; done\n  \
                kill -KILL $!; wait $!; exit\nfi";
    let job = planned(&folder, &cluster.wrapper("killing", kill)?)?;
    let mut submit = cluster.command("sbatch");
    submit.args(["--wait", "--output", "killed.out"]).stdin(fs::File::open(job)?);
    let done = finish(submit);
    let output = fs::read_to_string(cluster.path("killed.out")).unwrap_or_default();
    assert_eq!(done.code, Some(137), "{done:?}\n{output}");
    let hosts: Vec<String> = records(&folder)?.into_keys().collect();
    assert_eq!(hosts, ["n1", "n2", "n4", "n5", "n6", "n7", "n8"], "{output}");
    assert_eq!(cluster.survey(&folder)?["missing"], serde_json::json!(["n3", "n9"]));
    Ok(())
}

/// Two jobs at once write into one folder, and none replaces a file of the other.
fn two_jobs(cluster: &Cluster) -> Result<(), Failed> {
    let folder = cluster.path("two");
    let plain = cluster.wrapper("plain", "")?;
    let start = || {
        let mut srun = cluster.command("srun");
        srun.arg(format!("-N{NODES}")).args(["--ntasks-per-node=1", "--oversubscribe"]);
        srun.arg(&plain).args(["cores", "--json"]).arg(&folder).stdout(Stdio::null());
        Running::start(srun)
    };
    for running in [start(), start()] {
        let done: Finished = running.finish();
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    let found = records(&folder)?;
    assert_eq!(found.len(), NODES);
    assert!(found.values().all(|of_host| of_host.len() == 2));
    let jobs =
        |of: &Vec<Record>| of.iter().map(|it| said(it, "launch.job")).collect::<BTreeSet<_>>();
    assert!(found.values().all(|of_host| jobs(of_host).len() == 2));
    Ok(())
}

/// A file system of its own, which ends with it.
struct SmallDisk<'a>(&'a Path);

impl SmallDisk<'_> {
    fn mount(folder: &Path, bytes: u64) -> Result<SmallDisk<'_>, String> {
        let mut mount = program("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(folder);
        let done = finish(mount);
        if done.code == Some(0) { Ok(SmallDisk(folder)) } else { Err(done.stderr) }
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        drop(program("umount").arg(self.0).status());
    }
}

/// Where not all records fit, each rank has written its own or says that it could not.
fn full_disk(cluster: &Cluster) -> Result<(), Failed> {
    const FIRST: usize = 2;
    let of_two = fs::read_dir(cluster.path("two"))?.next().ok_or("no record")??;
    let folder = cluster.path("full");
    // Of the ten that will be written.
    let disk = match SmallDisk::mount(&folder, 5 * of_two.metadata()?.len()) {
        Ok(disk) => disk,
        Err(why) if is_needed() => return Err(why.into()),
        Err(why) => {
            eprintln!("no disk is full here, as none can be mounted: {why}");
            return Ok(());
        }
    };
    let run = |nodes: usize| -> Result<Finished, Failed> {
        let mut srun = cluster.command("srun");
        srun.arg(format!("-N{nodes}")).args(["--ntasks-per-node=1", "--label"]);
        srun.arg(cluster.wrapper("plain", "")?).args(["cores", "--json"]).arg(&folder);
        Ok(finish(srun))
    };
    let done = run(FIRST)?;
    assert_eq!(done.code, Some(0), "{done:?}");
    let before = records(&folder)?;
    assert_eq!(before.len(), FIRST);
    let done = run(NODES)?;
    assert_eq!(done.code, Some(3), "{done:?}");
    let said = |rank: usize, what: &str| {
        done.stderr.lines().any(|line| line.starts_with(&format!("{rank}: {what}")))
    };
    // Nothing but whole records: neither half of one nor what it would have become.
    let after = records(&folder)?;
    for (rank, host) in (0..NODES).map(|rank| (rank, format!("n{}", rank + 1))) {
        let count = |of: &BTreeMap<String, Vec<Record>>| of.get(&host).map_or(0, Vec::len);
        let failed = said(rank, &format!("error: cannot write `{}/{host}_2", folder.display()));
        assert_eq!(failed, said(rank, "hint: is the disk full?"), "{done:?}");
        assert_eq!(count(&after) - count(&before), usize::from(!failed), "{done:?}");
    }
    let missing = (1..=NODES + 1).map(|node| format!("n{node}"));
    let missing: Vec<String> = missing.filter(|host| !after.contains_key(host)).collect();
    let survey = cluster.survey(&folder)?;
    assert_eq!(survey["missing"], serde_json::json!(missing));
    assert_eq!(survey["hosts"], after.len());
    drop(disk);
    Ok(())
}
