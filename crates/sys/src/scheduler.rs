//! Asking for another scheduling policy, to see whether the kernel grants it.

use std::io;

/// Makes a thread that asks for real-time scheduling and ends: no other thread is touched.
///
/// # Source
/// sched(7): SCHED_FIFO needs CAP_SYS_NICE or a soft limit RLIMIT_RTPRIO of at least the priority.
pub fn try_realtime() -> io::Result<()> {
    /// The lowest of the real-time priorities.
    const PRIORITY: libc::c_int = 1;
    let thread = std::thread::Builder::new().spawn(|| {
        let priority = PRIORITY;
        // Not libc's function: musl's does nothing but answer ENOSYS.
        // SAFETY: the kernel reads one `struct sched_param`, which is one int on this stack.
        let done = unsafe {
            libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    })?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that asked died")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_attempt_leaves_the_policy_alone() {
        drop(super::try_realtime());
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        for task in tasks.flatten() {
            let Ok(stat) = std::fs::read_to_string(task.path().join("stat")) else { continue };
            // Behind the name in parentheses: field 41 of proc_pid_stat(5) is the policy.
            let policy = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(41 - 3);
            assert_eq!(policy, Some("0"), "{stat}");
        }
    }
}
