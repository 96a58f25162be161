//! Boots a machine and waits until it powers off.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::answers;
use crate::machine::{Boot, Machine};
use crate::setup::{System, folder};

/// A machine that has run.
pub(crate) struct Run {
    /// Where everything is that it said.
    pub(crate) folder: PathBuf,
    /// Whether it powered off by itself.
    pub(crate) ended: bool,
    pub(crate) seconds: f64,
}

/// The last run of that machine.
pub(crate) fn last(machine: &Machine) -> Run {
    let folder = folder().join("results").join(&machine.name);
    let seconds =
        fs::read_to_string(folder.join("seconds")).ok().and_then(|text| text.parse().ok());
    Run { ended: seconds.is_some(), folder, seconds: seconds.unwrap_or_default() }
}

const LIBRARY: &str = include_str!("../guest/lib.sh");

/// Where QEMU takes commands while it runs.
const MONITOR: &str = "monitor";

/// How often a machine is booted at most: on a busy host emulated CPUs may wait for each other for good, before the
/// guest has run anything of ours.
const ATTEMPTS: u32 = 3;

/// Boots the machine for its tasks.
pub(crate) fn run(machine: &Machine, system: &System, limit: Duration) -> anyhow::Result<Run> {
    let folder = folder().join("results").join(&machine.name);
    let begun = Instant::now();
    let mut ended = false;
    for attempt in 1..=ATTEMPTS {
        ended = once(machine, system, &folder, limit)?;
        if ended || folder.join("began").exists() {
            break;
        }
        println!("{:12} hung before it began, attempt {attempt} of {ATTEMPTS}", machine.name);
    }
    let seconds = begun.elapsed().as_secs_f64();
    if ended {
        write(&folder, "seconds", &seconds.to_string())?;
    }
    Ok(Run { folder, ended, seconds })
}

/// Boots it once and says whether it powered off.
fn once(
    machine: &Machine,
    system: &System,
    folder: &Path,
    limit: Duration,
) -> anyhow::Result<bool> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    write(folder, "tasks.sh", &script(machine))?;
    let words = arguments(machine, system, folder);
    let qemu = machine.arch.qemu();
    write(folder, "qemu.cmd", &format!("{qemu} {}\n", words.join(" ")))?;
    let log = File::create(folder.join("qemu.log")).context("cannot write `qemu.log`")?;
    let mut child = Command::new(&qemu)
        .args(&words)
        .stdin(Stdio::null())
        .stdout(log.try_clone().context("cannot write `qemu.log`")?)
        .stderr(log)
        .spawn()
        .with_context(|| {
            let hint = "hint: `apt-get install qemu-system-x86 qemu-system-arm` installs it";
            format!("cannot run `{qemu}`\n{hint}")
        })?;
    // Every CPU takes its time to come up.
    let begins = Duration::from_secs(90 + 2 * u64::from(machine.shape.cpus()));
    ends(&mut child, folder, begins, limit).context("cannot wait for QEMU")
}

fn write(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

/// What the guest runs.
fn script(machine: &Machine) -> String {
    let tasks = machine.tasks.iter().filter_map(|name| answers::task(name));
    // A task that leaves a folder or a variable behind does not reach the next one.
    let tasks = tasks.map(|task| format!("(\n{}\n)\n", task.script));
    let rounds = format!("rounds={}\n", machine.rounds);
    [LIBRARY.to_owned(), rounds].into_iter().chain(tasks).collect()
}

fn arguments(machine: &Machine, system: &System, results: &Path) -> Vec<String> {
    let mut words = machine.qemu_arguments();
    let share = format!("local,path={},mount_tag=host,security_model=none", results.display());
    let console = format!("file:{}", results.join("console.log").display());
    let path = |path: &Path| path.display().to_string();
    let rest = [
        ("-kernel", path(&system.kernel)),
        ("-initrd", path(&system.initramfs)),
        ("-append", machine.command_line()),
        ("-virtfs", share),
        ("-serial", console),
        ("-monitor", format!("unix:{},server=on,wait=off", results.join(MONITOR).display())),
        ("-nic", "none".to_owned()),
    ];
    if machine.boot == Boot::Firmware
        && let Some(firmware) = &system.firmware
    {
        words.extend(["-bios".to_owned(), path(firmware)]);
    }
    words.extend(rest.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
    words.extend(["-nographic", "-no-reboot"].map(str::to_owned));
    words
}

/// Whether it ends by itself, and well, within that time, of which it has a part to begin; it is over afterwards in
/// any case.
fn ends(
    child: &mut Child,
    folder: &Path,
    begins: Duration,
    limit: Duration,
) -> std::io::Result<bool> {
    let [began, suspend, balloon] = ["began", "suspend", "balloon"].map(|name| folder.join(name));
    let start = Instant::now();
    while start.elapsed() < if began.exists() { limit } else { begins } {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if suspend.exists() {
            stand_still(child)?;
            fs::remove_file(&suspend)?;
        }
        if let Ok(mib) = fs::read_to_string(&balloon) {
            command(&folder.join(MONITOR), &format!("balloon {}", mib.trim()))?;
            fs::remove_file(&balloon)?;
        }
        thread::sleep(Duration::from_millis(100));
    }
    child.kill()?;
    child.wait()?;
    Ok(false)
}

/// Gives QEMU a command. It does not heed one whose sender is gone before it has answered.
fn command(monitor: &Path, line: &str) -> std::io::Result<()> {
    let mut monitor = UnixStream::connect(monitor)?;
    writeln!(monitor, "{line}")?;
    monitor.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut answer = [0; 1024];
    while monitor.read(&mut answer).is_ok_and(|bytes| bytes > 0) {}
    Ok(())
}

/// Lets a guest lose its CPUs for a while, as when its host sleeps: its clock goes on.
fn stand_still(child: &Child) -> std::io::Result<()> {
    const TIME: Duration = Duration::from_secs(10);
    let signal = |name: &str| Command::new("kill").args([name, &child.id().to_string()]).status();
    signal("-STOP")?;
    thread::sleep(TIME);
    signal("-CONT").map(drop)
}
