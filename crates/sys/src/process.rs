//! Children, and the groups that they lead.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use model::CpuSet;

/// Lets the child that this command starts be killed when the thread that started it ends, however
/// that comes about: prctl(2), `PR_SET_PDEATHSIG`.
pub fn die_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let ask = move || {
        let is_there = die_with(parent)?;
        if is_there { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: between fork and exec it calls prctl and getppid alone, and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

/// Lets the child run on these CPUs alone, and with that niceness.
pub fn arrange(command: &mut Command, cpus: Option<CpuSet>, nice: Option<i32>) {
    let mask = cpus.map(|cpus| crate::affinity::mask(&cpus));
    let arrange = move || {
        if let Some(nice) = nice {
            // SAFETY: takes no pointer.
            let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
            if done != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        mask.as_deref().map_or(Ok(()), crate::affinity::restrict_to)
    };
    // SAFETY: between fork and exec it calls setpriority and sched_setaffinity alone, and allocates
    // nothing.
    unsafe { command.pre_exec(arrange) };
}

/// Whether a child has ended. It stays to be waited for, so that nobody else gets its number and
/// [`kill_group`] can still name its group.
pub fn has_ended(child: &Child) -> io::Result<bool> {
    const FLAGS: libc::c_int = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `siginfo_t` consists of integers and pointers, for which zero is a value.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `siginfo_t`, which lives on this stack.
    let done = unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut info, FLAGS) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // waitid(2): without a child that has ended, the number stays zero.
    // SAFETY: waitid succeeded, so that the fields of a child's end are those that were written.
    let ended = unsafe { info.si_pid() };
    Ok(ended != 0)
}

/// What a child, and all children that it waited for, used until its end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ChildUsage {
    /// Time of CPUs, its own and the kernel's for it.
    pub cpu_time: Duration,
    /// Times that a CPU was taken away from one of its threads.
    pub involuntary_switches: u64,
    /// The most memory that one of them had at once, in bytes. The kernel counts that of the process that started it,
    /// too: a large one cannot see how much a small child had.
    pub peak_memory_bytes: u64,
}

/// Sleeps until a child has ended. It stays to be waited for, as after [`has_ended`].
///
/// # Source
/// waitid(2): the system call fills in a `rusage`, which the function of the C library leaves out.
pub fn wait_until_ended(child: &Child) -> io::Result<ChildUsage> {
    const FLAGS: libc::c_int = libc::WEXITED | libc::WNOWAIT;
    loop {
        // SAFETY: `siginfo_t` consists of integers and pointers, for which zero is a value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: `rusage` consists of integers only, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        let (info, usage_at) = (&raw mut info, &raw mut usage);
        let (call, who, which) = (libc::SYS_waitid, libc::P_PID, child.id());
        // SAFETY: the kernel writes one `siginfo_t` and one `rusage`, which live on this stack.
        let done = unsafe { libc::syscall(call, who, which, info, FLAGS, usage_at) };
        match io::Error::last_os_error() {
            _ if done == 0 => return Ok(ChildUsage::of(&usage)),
            error if error.kind() == io::ErrorKind::Interrupted => {}
            error => return Err(error),
        }
    }
}

impl ChildUsage {
    fn of(usage: &libc::rusage) -> ChildUsage {
        let time = |time: libc::timeval| {
            let micros = u64::try_from(time.tv_usec).unwrap_or_default();
            Duration::from_secs(time.tv_sec.cast_unsigned()) + Duration::from_micros(micros)
        };
        ChildUsage {
            cpu_time: time(usage.ru_utime) + time(usage.ru_stime),
            involuntary_switches: usage.ru_nivcsw.cast_unsigned(),
            // Linux counts it in kilobytes of 1024 bytes: getrusage(2).
            peak_memory_bytes: usage.ru_maxrss.cast_unsigned() * 1024,
        }
    }
}

/// Kills every process of the group that this child leads. To be called before the child is waited
/// for: afterwards its number may be somebody else's. That nobody is left is no error.
pub fn kill_group(leader: &Child) -> io::Result<()> {
    let group = leader.id().cast_signed();
    // SAFETY: takes no pointer.
    let done = unsafe { libc::kill(-group, libc::SIGKILL) };
    match io::Error::last_os_error() {
        _ if done == 0 => Ok(()),
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        error => Err(error),
    }
}

/// Lets the kernel kill this process when the thread that started it ends. Whether that thread is still
/// there: whoever lost its parent before has another one, and nobody will kill it.
pub fn die_with(parent: u32) -> io::Result<bool> {
    // SAFETY: takes no pointer.
    let done = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(std::os::unix::process::parent_id() == parent)
}

/// What ended children used that were waited for, and theirs (getrusage(2), `RUSAGE_CHILDREN`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in user mode.
    pub user: Duration,
    /// Time in the kernel.
    pub system: Duration,
    /// Page faults, served from memory or from disk.
    pub page_faults: u64,
    /// Times that they gave up the CPU, or lost it.
    pub switches: u64,
}

impl Usage {
    /// What was used since then.
    #[must_use]
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            page_faults: self.page_faults.saturating_sub(earlier.page_faults),
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }
}

/// What all ended children used so far.
pub fn usage_of_children() -> io::Result<Usage> {
    // SAFETY: `rusage` consists of integers only, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `rusage`, which lives on this stack.
    let done = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let time = |time: libc::timeval| {
        Duration::new(time.tv_sec.cast_unsigned(), time.tv_usec as u32 * 1000)
    };
    Ok(Usage {
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        page_faults: (usage.ru_minflt + usage.ru_majflt).cast_unsigned(),
        switches: (usage.ru_nvcsw + usage.ru_nivcsw).cast_unsigned(),
    })
}

/// Sends a signal to a child that was not waited for yet. That it has ended is no error.
pub fn signal(child: &Child, number: i32) -> io::Result<()> {
    // SAFETY: takes no pointer.
    let done = unsafe { libc::kill(child.id().cast_signed(), number) };
    match io::Error::last_os_error() {
        _ if done == 0 => Ok(()),
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        error => Err(error),
    }
}

/// CPU time of all threads of this process, those that are running among them.
pub fn cpu_time() -> io::Result<Duration> {
    crate::thread::time_of(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};

    use super::*;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.process_group(0).spawn().unwrap()
    }

    #[test]
    fn a_child_that_has_ended_can_still_be_waited_for() {
        let mut child = shell("read line; exit 7");
        assert!(!has_ended(&child).unwrap());
        drop(child.stdin.take());
        while !has_ended(&child).unwrap() {
            std::thread::yield_now();
        }
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn what_a_child_used_is_told_with_its_children() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let mut child = shell(&format!("sh -c '{script}'; exit 5"));
        let used = wait_until_ended(&child).unwrap();
        // Twenty thousand turns of a shell take some milliseconds anywhere.
        assert!(used.cpu_time > Duration::from_micros(500), "{used:?}");
        assert_eq!(child.wait().unwrap().code(), Some(5));
    }

    #[test]
    fn peak_memory_of_a_child_is_that_of_its_largest_child() {
        const LARGE: u64 = 64 << 20;
        // `dd` has one block of that size in memory, and fills it.
        let dd = format!("dd if=/dev/zero of=/dev/null bs={LARGE} count=1 2>/dev/null");
        let peak = |script: &str| {
            let mut child = shell(script);
            let used = wait_until_ended(&child).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(5));
            used.peak_memory_bytes
        };
        let (small, large) = (peak("exit 5"), peak(&format!("{dd}; exit 5")));
        assert!(small < LARGE && (LARGE..2 * LARGE).contains(&large), "{small} {large}");
    }

    #[test]
    fn a_group_is_killed_with_its_children() {
        // The pipe ends when the last process that holds it has.
        let mut child = shell("sleep 1000 & echo begun; wait");
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        kill_group(&child).unwrap();
        assert_eq!(output.read_line(&mut line).unwrap(), 0);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let start = || {
            let mut command = Command::new("sleep");
            command.arg("1000");
            die_with_parent(&mut command);
            command.spawn().unwrap()
        };
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_group_without_members_is_no_error() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        kill_group(&child).unwrap();
    }
}
