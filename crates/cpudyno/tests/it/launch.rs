//! Runs that a launcher starts: records in a folder, one measurement at a time, and starts that wait.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use model::Known;
use model::record::{FactValue, Record};

use crate::common::{Finished, Running, cpudyno, finish, program};
use crate::record::checked;
use crate::signals::send;

const CORES: [&str; 3] = ["cores", "--machine", "sim:4c"];

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Record {
    checked(&fs::read_to_string(file).unwrap())
}

/// What a record says of its launcher.
fn launched(record: &Record) -> Vec<String> {
    let ours = record.machine.facts.iter().filter(|fact| fact.id.starts_with("launch."));
    ours.map(|fact| match &fact.value {
        Known::Yes(FactValue::Text(text)) => format!("{}={text}", fact.id),
        other => panic!("{other:?}"),
    })
    .collect()
}

#[test]
fn a_folder_gets_each_record_under_a_name_that_fleet_reads() {
    let folder = tempfile::tempdir().unwrap();
    let slashed = format!("{}/", folder.path().display());
    let runs: [&[&str]; 5] = [
        &["sheet", "--budget", "2s"],
        &["sheet", "--budget", "2s"],
        &["turbo", "--test", "scalar_iadd", "--budget", "2s"],
        &["gate", "--budget", "2s", "--min", "turbo.clock=1GHz"],
        &["info"],
    ];
    let hosts = ["r_1.example", "r_1.example", "n2", "n3", "n4"];
    for (run, host) in runs.iter().zip(hosts) {
        let run = [run, &["--machine", "sim:4c"][..]].concat();
        let file = folder.path().join("named.json");
        let mut one = cpudyno(&[&run[..], &["--json", file.to_str().unwrap()]].concat());
        let mut many = cpudyno(&[&run[..], &["--json", &slashed]].concat());
        many.env("CPUDYNO_HOST", host);
        one.env("CPUDYNO_HOST", host);
        assert_eq!(finish(many).success(), finish(one).success(), "{run:?}");
        fs::remove_file(file).unwrap();
    }
    let files = in_folder(folder.path());
    assert_eq!(files.len(), runs.len(), "{files:?}");
    for file in &files {
        read(file);
    }
    let expect = tempfile::NamedTempFile::new().unwrap();
    fs::write(expect.path(), "r_1.example\nn2\nn3\nn4\nn9\n").unwrap();
    let expect = expect.path().to_str().unwrap();
    let survey = finish(cpudyno(&["fleet", &slashed, "--expect", expect, "--format", "json"]));
    let survey: serde_json::Value = serde_json::from_str(&survey.success()).unwrap();
    assert_eq!(survey["missing"], serde_json::json!(["n9"]));
}

/// A limit of the process stands for a full disk: it, too, lets a file begin and not end.
#[test]
fn a_disk_that_is_full_leaves_no_half_record() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$@\"";
    let mut limited = program("sh");
    limited.args(["-c", script, "sh", env!("CARGO_BIN_EXE_cpudyno")]);
    limited.args(CORES).args(["--json", folder]);
    let done = finish(limited);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains(&format!("error: cannot write `{folder}/")), "{done:?}");
    assert!(done.stderr.contains("hint: is the disk full?"), "{done:?}");
    assert!(!done.stderr.contains(".cpudyno-"), "{done:?}");
    // Time was spent on it: the page is there.
    assert!(done.stdout.contains("core to core"), "{done:?}");
    assert!(in_folder(Path::new(folder)).is_empty());
}

#[test]
fn a_folder_that_is_not_there_is_said_before_anything_is_measured() {
    let done = finish(cpudyno(&[&CORES[..], &["--json", "/nowhere/records/"]].concat()));
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{done:?}");
    assert!(done.stderr.contains("hint: make the folder first"), "{done:?}");
    // What is no record is not named by this host.
    let folder = tempfile::tempdir().unwrap();
    let json = ["--json", folder.path().to_str().unwrap()];
    let done = finish(cpudyno(&[&["fleet", folder.path().to_str().unwrap()][..], &json].concat()));
    assert_eq!(done.code, Some(2), "{done:?}");
}

#[test]
fn a_record_says_who_launched_it_and_names_hosts_only_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let launch = |to: &Path| {
        let mut command = cpudyno(&[&CORES[..], &["--json", to.to_str().unwrap()]].concat());
        command.env("SLURM_JOB_ID", "17").env("SLURM_PROCID", "3").env("SLURM_NNODES", "8");
        command.env("SLURM_JOB_NODELIST", "n[1-8]").env("SLURMD_NODENAME", "n4");
        finish(command).success();
    };
    let expected = ["launch.launcher=Slurm", "launch.job=17", "launch.rank=3", "launch.nodes=8"];
    launch(&file);
    assert_eq!(launched(&read(&file)), expected);
    fs::remove_file(&file).unwrap();
    launch(folder.path());
    let files = in_folder(folder.path());
    assert!(files[0].file_name().unwrap().to_str().unwrap().starts_with("n4_2"), "{files:?}");
    let record = read(&files[0]);
    let named = [&expected[..], &["launch.node_list=n[1-8]"]].concat();
    assert_eq!(launched(&record), named);
    // What is another on each machine separates none from others.
    let digest = record.digest.unwrap();
    let ids: BTreeSet<&str> = digest.facts.iter().map(|fact| &*fact.id).collect();
    assert!(ids.contains("launch.job") && !ids.contains("launch.rank"), "{ids:?}");
    assert!(!ids.contains("launch.node_list"), "{ids:?}");
}

/// A command that takes this lock, with its remarks in a file.
fn locking(args: &[&str], lock: &Path, remarks: &Path) -> Command {
    let mut command = cpudyno(args);
    command.env("CPUDYNO_LOCK", lock).stderr(File::create(remarks).unwrap());
    command
}

/// Waits until the command has said that it waits.
fn until_said(running: &mut Running, remarks: &Path, what: &str) {
    while !fs::read_to_string(remarks).unwrap().contains(what) {
        assert!(running.child.try_wait().unwrap().is_none(), "it has not waited");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_second_measurer_is_refused_and_told_who_measures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let lock = File::create(&path).unwrap();
    lock.lock().unwrap();
    let refused = |more: &[&str]| -> Finished {
        let mut command = cpudyno(&[&CORES[..], more].concat());
        command.env("CPUDYNO_LOCK", &path);
        finish(command)
    };
    for more in [&[][..], &["--wait-lock", "1s"]] {
        let done = refused(more);
        assert_eq!((done.code, done.stdout.as_str()), (Some(4), ""), "{done:?}");
        let holder = format!("this host is measured by process {}, `", std::process::id());
        assert!(done.stderr.contains(&holder) && done.stderr.contains("`, since 2"), "{done:?}");
        assert!(done.stderr.contains("hint: wait for it: --wait-lock 60s"), "{done:?}");
    }
    assert_eq!(refused(&["--dry-run"]).code, Some(0), "what measures nothing needs no lock");
    lock.unlock().unwrap();
    refused(&[]).success();
}

#[test]
fn who_waits_for_the_lock_measures_when_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let (path, remarks) = (folder.path().join("lock"), folder.path().join("remarks"));
    let lock = File::create(&path).unwrap();
    lock.lock().unwrap();
    let args = [&CORES[..], &["--wait-lock", "24h"]].concat();
    let mut running = Running::start(locking(&args, &path, &remarks));
    until_said(&mut running, &remarks, "waits for process");
    lock.unlock().unwrap();
    let done = running.finish();
    assert!(done.code == Some(0) && done.stdout.contains("SIMULATED"), "{done:?}");
}

#[test]
fn a_measurer_that_is_killed_gives_its_lock_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let mut real = cpudyno(&["sheet", "--budget", "30s"]);
    real.env("CPUDYNO_LOCK", &path);
    let mut running = Running::start(real);
    let is_held = || {
        let file = File::open(&path);
        file.is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
    };
    while !is_held() {
        assert!(running.child.try_wait().unwrap().is_none(), "it holds the lock while it runs");
        thread::sleep(Duration::from_millis(5));
    }
    let beside = || {
        let mut command = cpudyno(&CORES);
        command.env("CPUDYNO_LOCK", &path);
        finish(command)
    };
    let done = beside();
    let holder = format!("by process {}, `", running.child.id());
    assert!(done.code == Some(4) && done.stderr.contains(&holder), "{done:?}");
    send(&running.child, "KILL");
    assert_eq!(running.finish().code, None);
    beside().success();
}

#[test]
fn ctrl_c_ends_every_way_of_waiting_and_leaves_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let (path, remarks) = (folder.path().join("lock"), folder.path().join("remarks"));
    let records = folder.path().join("records");
    fs::create_dir(&records).unwrap();
    let lock = File::create(&path).unwrap();
    lock.lock().unwrap();
    let ways: [(&[&str], &str); 3] = [
        (&["--stagger", "24h"], "(--stagger, for host `n1`)"),
        (&["--at", "2999-12-31T23:59:59Z"], "begins at 2999-12-31T23:59:59Z, in "),
        (&["--wait-lock", "24h"], "(--wait-lock)"),
    ];
    for (way, said) in ways {
        let args = [&CORES[..], way, &["--json", records.to_str().unwrap()]].concat();
        let mut command = locking(&args, &path, &remarks);
        command.env("CPUDYNO_HOST", "n1");
        let mut running = Running::start(command);
        until_said(&mut running, &remarks, said);
        send(&running.child, "INT");
        let done = running.finish();
        assert_eq!((done.code, done.stdout.as_str()), (Some(130), ""), "{way:?}: {done:?}");
        let remarks = fs::read_to_string(&remarks).unwrap();
        assert!(remarks.contains("nothing was measured"), "{remarks}");
        assert!(in_folder(&records).is_empty());
    }
}

#[test]
fn a_start_that_has_passed_is_refused_and_one_that_comes_is_waited_for() {
    let at = |seconds: i64| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let of_day = (now.as_secs() as i64 + seconds).rem_euclid(86_400);
        let time = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
        finish(cpudyno(&[&CORES[..], &["--at", &time]].concat()))
    };
    let passed = at(-60);
    assert_eq!((passed.code, passed.stdout.as_str()), (Some(2), ""), "{passed:?}");
    assert!(passed.stderr.contains("error: cannot begin at 2"), "{passed:?}");
    let comes = at(2);
    assert!(comes.code == Some(0) && comes.stdout.contains("SIMULATED"), "{comes:?}");
    assert!(comes.stderr.starts_with("note: begins at 2"), "{comes:?}");
}
