//! How long `undo` takes on a large machine, and what `ab` pays for a setting that is as it should be, or
//! is not: 2,048 CPUs' governors, in files laid out like a kernel's.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use levers::journal::Shelf;
use levers::plan::{Change, Plan};
use levers::port::Kernel;
use levers::{Others, Session};
use machine::Machine;

use crate::EXIT_NO;

const CPUS: usize = 2048;
/// What the project promises.
const PROMISED: Duration = Duration::from_secs(1);
const ROUNDS: usize = 5;

/// What the project promises of `ab`'s own cost in a round, where nothing is to be written.
const ROUND: Duration = Duration::from_millis(10);

/// What was timed in a round, in this order.
const TIMED: [&str; 3] = ["undo", "switch, nothing to write", "switch, all written"];

pub(crate) fn run() -> Result<ExitCode> {
    println!("{}", crate::load());
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(round()?);
    }
    let mut middles = Vec::new();
    for (what, name) in TIMED.iter().enumerate() {
        let mut times: Vec<Duration> = rounds.iter().map(|round| round[what]).collect();
        times.sort_unstable();
        let (least, middle, most) = (times[0], times[ROUNDS / 2], times[ROUNDS - 1]);
        println!(
            "{CPUS} CPUs' governors, {name}: {middle:.3?} (least {least:.3?}, most {most:.3?}, {ROUNDS} \
             rounds)"
        );
        middles.push(middle);
    }
    println!("promised: undo in less than {PROMISED:?}, nothing to write in less than {ROUND:?}");
    let kept = middles[0] < PROMISED && middles[1] < ROUND;
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// Sets all governors, and takes the time of putting them back; and, before that, of arms of `ab`.
fn round() -> Result<[Duration; 3]> {
    // The kernel's files are in memory, and so are these where that is possible; the journal is on a
    // disk, as that of users: forcing it there is part of the time.
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let folder = tempfile::tempdir_in(".")?;
    let root = memory.path().join("root");
    for cpu in 0..CPUS {
        lay_out(&root, cpu)?;
    }
    let list = format!("0-{}\n", CPUS - 1);
    for file in ["present", "online"] {
        fs::write(root.join("sys/devices/system/cpu").join(file), &list)?;
    }
    let machine = Machine::rooted(&root)?;
    let kernel = || Box::new(Kernel::below(&root, root.join("dev/cpu")));
    let shelf = Shelf::new(folder.path().join("state"), &machine);
    let mut session = Session::open(&machine, kernel(), &shelf, "xtask")?;
    let asked = ["governor=performance".parse()?];
    let (arms, _) = Plan::arms(&machine, session.levers(), [&asked, &[]], false)?;
    let [nothing, all] = switched(&mut session, &arms)?;
    ensure!(session.restore().is_complete(), "not all was put back");
    let mut session = Session::open(&machine, kernel(), &shelf, "xtask")?;
    let plan = Plan::new(&machine, session.levers(), &asked, false)?;
    ensure!(plan.changes.len() == CPUS, "the plan has {} changes", plan.changes.len());
    session.apply(&plan)?;
    session.leave();
    let begun = Instant::now();
    let undone = levers::undo(&machine, kernel(), &shelf, Others::Spare, "xtask")?;
    let undo = begun.elapsed();
    ensure!(undone.is_complete() && undone.restored.len() == CPUS, "not all was put back");
    let last =
        root.join(format!("sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", CPUS - 1));
    ensure!(fs::read_to_string(last)?.trim() == "powersave", "the last governor is another one");
    Ok([undo, nothing, all])
}

/// What it takes to switch to the arm that is set already, and to the other one, once both were set.
fn switched(session: &mut Session<'_>, arms: &[Vec<Change>; 2]) -> Result<[Duration; 2]> {
    for arm in arms {
        session.switch(arm)?;
    }
    let timed = |session: &mut Session<'_>, arm: &[Change]| -> Result<Duration> {
        let begun = Instant::now();
        session.switch(arm)?;
        Ok(begun.elapsed())
    };
    let all = timed(session, &arms[0])?;
    Ok([timed(session, &arms[0])?, all])
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
