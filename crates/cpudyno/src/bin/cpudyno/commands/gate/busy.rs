//! Whether somebody uses this machine: then it is not measured, for their sake and for the numbers'.

use std::fs;
use std::thread;
use std::time::Duration;

use machine::Machine;
use machine::cpu_load::BusySnapshot;

/// Shares of a CPU are told in steps of 4 % in it.
const LOOK: Duration = Duration::from_millis(250);

/// Less than half a CPU is the everyday life of daemons.
const BUSY_MIN: f64 = 0.5;
/// Of large machines, so much of all CPUs.
const BUSY_SHARE_MIN: f64 = 0.02;

/// In words, who uses it; `None`: nobody, as far as can be seen.
pub(super) fn by_whom(machine: &Machine) -> Option<String> {
    if machine.simulated.is_some() || machine.elsewhere.is_some() {
        return None;
    }
    jobs().or_else(|| load(machine))
}

/// Jobs of Slurm but for the one whose prolog or epilog this is: each step has a daemon of its own. Asking the
/// controller would be a message of every node at once.
///
/// # Source
/// slurm, `src/slurmd/slurmstepd/slurmstepd.c`: it calls itself `slurmstepd: [JOB.STEP]`.
fn jobs() -> Option<String> {
    let own = ["SLURM_JOB_ID", "SLURM_JOBID"].into_iter().find_map(|name| std::env::var(name).ok());
    let processes = fs::read_dir("/proc").ok()?;
    let of_process = |entry: fs::DirEntry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let command = fs::read(entry.path().join("cmdline")).ok()?;
        job_of(&String::from_utf8_lossy(&command)).map(str::to_owned)
    };
    let mut jobs: Vec<String> = processes.flatten().filter_map(of_process).collect();
    jobs.retain(|job| Some(job) != own.as_ref());
    jobs.sort();
    jobs.dedup();
    match jobs.as_slice() {
        [] => None,
        [job] => Some(format!("busy: job {job} runs here")),
        [job, ..] => Some(format!("busy: {} jobs run here, {job} among them", jobs.len())),
    }
}

/// The job of a step's daemon.
fn job_of(command: &str) -> Option<&str> {
    let (job, _) = command.strip_prefix("slurmstepd: [")?.split_once(['.', ']'])?;
    job.bytes().all(|byte| byte.is_ascii_digit()).then_some(job).filter(|job| !job.is_empty())
}

/// What processes and interrupts use, by the kernel's account.
fn load(machine: &Machine) -> Option<String> {
    let before = BusySnapshot::read(machine).ok()?;
    thread::sleep(LOOK);
    let after = BusySnapshot::read(machine).ok()?;
    let cpus = after.telling_since(&before);
    let busy: f64 = cpus.values().flatten().map(|cpu| cpu.share).sum();
    let limit = BUSY_MIN.max(cpus.len() as f64 * BUSY_SHARE_MIN);
    (busy >= limit).then(|| format!("busy: others use {busy:.1} of {} CPUs", cpus.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_slurm_name_their_job() {
        assert_eq!(job_of("slurmstepd: [4711.batch]\0"), Some("4711"));
        assert_eq!(job_of("slurmstepd: [12.0]"), Some("12"));
        for none in ["slurmstepd: []", "slurmstepd: [x.0]", "slurmd", "slurmstepd infinity", ""] {
            assert_eq!(job_of(none), None, "{none}");
        }
    }
}
