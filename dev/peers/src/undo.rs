//! How long `undo` takes on a large machine: 2,048 CPUs' governors, in files laid out like a kernel's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use levers::journal::JournalDir;
use levers::plan::Plan;
use levers::port::{KernelPort, Levers};
use levers::{Others, Session};
use machine::Machine;
use tempfile::TempDir;

use crate::EXIT_NO;

/// As many as a large machine has.
pub(crate) const CPUS: usize = 2048;
/// What the project promises.
const PROMISED: Duration = Duration::from_secs(1);
const ROUNDS: usize = 5;

pub(crate) fn run() -> Result<ExitCode> {
    println!("{}", crate::load());
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        times.push(round()?);
    }
    times.sort_unstable();
    let (least, middle, most) = (times[0], times[ROUNDS / 2], times[ROUNDS - 1]);
    println!(
        "undo of {CPUS} CPUs' governors: {middle:.3?} (least {least:.3?}, most {most:.3?}, {ROUNDS} rounds); \
         promised: less than {PROMISED:?}"
    );
    Ok(if middle < PROMISED { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// A machine in files, with so many CPUs, and where its journal is kept.
pub(crate) struct Large {
    memory: TempDir,
    folder: TempDir,
}

impl Large {
    pub(crate) fn new() -> Result<Large> {
        // The kernel's files are in memory, and so are these where that is possible; the journal is on a
        // disk, as that of users: forcing it there is part of the time.
        let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
        let large = Large { memory, folder: tempfile::tempdir_in(".")? };
        let root = large.root();
        for cpu in 0..CPUS {
            lay_out(&root, cpu)?;
        }
        let list = format!("0-{}\n", CPUS - 1);
        for file in ["present", "online"] {
            fs::write(root.join("sys/devices/system/cpu").join(file), &list)?;
        }
        let pstate = root.join("sys/devices/system/cpu/intel_pstate");
        fs::create_dir_all(&pstate)?;
        fs::write(pstate.join("no_turbo"), "0\n")?;
        Ok(large)
    }

    fn root(&self) -> PathBuf {
        self.memory.path().join("root")
    }

    pub(crate) fn machine(&self) -> Result<Machine> {
        Ok(Machine::rooted(&self.root())?)
    }

    pub(crate) fn kernel(&self) -> Box<dyn Levers> {
        Box::new(KernelPort::below(self.root(), self.root().join("dev/cpu")))
    }

    pub(crate) fn shelf(&self, machine: &Machine) -> JournalDir {
        JournalDir::new(self.folder.path().join("state"), machine)
    }
}

/// Sets all governors, and takes the time of putting them back.
fn round() -> Result<Duration> {
    let large = Large::new()?;
    let machine = large.machine()?;
    let shelf = large.shelf(&machine);
    let mut session = Session::open(&machine, large.kernel(), &shelf, "peers")?;
    let asked = ["governor=performance".parse()?];
    let plan = Plan::new(&machine, session.levers(), &asked, false)?;
    ensure!(plan.changes.len() == CPUS, "the plan has {} changes", plan.changes.len());
    session.apply(&plan)?;
    session.leave();
    let begun = Instant::now();
    let undone = levers::undo(&machine, large.kernel(), &shelf, Others::Spare, "peers")?;
    let time = begun.elapsed();
    ensure!(undone.is_complete() && undone.restored.len() == CPUS, "not all was put back");
    let last = format!("sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", CPUS - 1);
    let last = fs::read_to_string(large.root().join(last))?;
    ensure!(last.trim() == "powersave", "the last governor is another one");
    Ok(time)
}

fn lay_out(root: &Path, cpu: usize) -> Result<()> {
    let folder = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"));
    fs::create_dir_all(&folder).context("making the files")?;
    for (file, text) in [
        ("affected_cpus", cpu.to_string().as_str()),
        ("scaling_driver", "intel_pstate"),
        ("scaling_governor", "powersave"),
        ("scaling_available_governors", "performance powersave"),
        ("energy_performance_preference", "balance_performance"),
    ] {
        fs::write(folder.join(file), format!("{text}\n"))?;
    }
    Ok(())
}
