//! Who else uses the CPUs: the kernel's account of their time at two moments, and the process that
//! used most of one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use model::{CpuId, Obstacle, Reading, Unavailable};

use crate::ports::{Machine, Tree};

/// The time of each CPU since boot.
#[derive(Debug, Clone)]
pub struct BusySnapshot {
    cpus: BTreeMap<CpuId, Jiffies>,
    at: Instant,
}

/// In units of 10 ms, in the order of [`FIELDS`].
type Jiffies = [u64; FIELDS.len()];

/// What `/proc/stat` counts of a CPU; what guests used is part of user and nice.
///
/// # Source
/// proc(5), `/proc/stat`.
pub(crate) const FIELDS: [&str; 8] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
/// Fields of [`FIELDS`] in which a CPU did not work for this machine.
const IDLE: [usize; 2] = [3, 4];
const STEAL: usize = 7;

/// Linux counts CPU time in `USER_HZ`.
///
/// # Source
/// proc(5), /proc/stat; 100 on x86-64 and aarch64.
pub(crate) const USER_HZ: f64 = 100.0;

const WHAT: &str = "time of the CPUs";

/// How one CPU spent its time between two moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BusyCpu {
    /// The CPU.
    pub cpu: CpuId,
    /// The share of time, 0 to 1, in which it worked for processes, the kernel or interrupts.
    pub share: f64,
    /// The share of time that the hypervisor took; not part of `share`.
    pub steal: f64,
}

impl BusySnapshot {
    /// So long after one moment shares can be told ([`BusySnapshot::telling_since`]).
    pub const TELLING: Duration = Duration::from_millis(110);

    /// When it was read.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The time of all CPUs since boot, in steps of 10 ms: two moments should be 100 ms or more
    /// apart.
    ///
    /// # Error
    /// Where `/proc/stat` cannot be read or names no CPU.
    pub fn read(machine: &Machine) -> Reading<BusySnapshot> {
        let stat = machine.tree.read("/proc/stat")?;
        let cpus: BTreeMap<CpuId, Jiffies> = stat.lines().filter_map(jiffies).collect();
        if cpus.is_empty() {
            let why = format!("`/proc/stat` says nothing of the {WHAT}");
            return Err(Unavailable::new(Obstacle::Hardware, WHAT, why));
        }
        Ok(BusySnapshot { cpus, at: Instant::now() })
    }

    /// The same, as if it had been read so long after that.
    #[cfg(test)]
    pub(crate) fn after(self, earlier: &BusySnapshot, time: Duration) -> BusySnapshot {
        BusySnapshot { at: earlier.at + time, ..self }
    }

    /// How each CPU spent its time since `earlier`, of those that were online at both moments.
    ///
    /// # Error
    /// Where its time did not grow, or fell: of a CPU that went off and on, of a guest that moved.
    pub fn since(&self, earlier: &BusySnapshot) -> BTreeMap<CpuId, Reading<BusyCpu>> {
        self.since_of(earlier, 1.0)
    }

    /// The same where a share shall be told: of less than 100 ms one step is too much of it.
    ///
    /// # Error
    /// As in [`BusySnapshot::since`], and where less was counted of a CPU.
    pub fn telling_since(&self, earlier: &BusySnapshot) -> BTreeMap<CpuId, Reading<BusyCpu>> {
        self.since_of(earlier, TELLING)
    }

    fn since_of(&self, earlier: &BusySnapshot, least: f64) -> BTreeMap<CpuId, Reading<BusyCpu>> {
        let elapsed = self.at.saturating_duration_since(earlier.at).as_secs_f64() * USER_HZ;
        let both =
            self.cpus.iter().filter_map(|(cpu, now)| Some((*cpu, now, earlier.cpus.get(cpu)?)));
        both.map(|(cpu, now, then)| (cpu, spent(cpu, now, then, elapsed, least))).collect()
    }
}

fn spent(cpu: CpuId, now: &Jiffies, then: &Jiffies, elapsed: f64, least: f64) -> Reading<BusyCpu> {
    let grown = |field: usize| now[field].checked_sub(then[field]);
    let fell = |field: usize| {
        let why = format!(
            "`/proc/stat`: {} of CPU {cpu} fell from {} to {}, as when a CPU goes offline and \
             back, or a guest is migrated",
            FIELDS[field], then[field], now[field]
        );
        Unavailable::new(Obstacle::Measurement, WHAT, why)
    };
    let mut busy: u64 = 0;
    for field in (0..STEAL).filter(|field| !IDLE.contains(field)) {
        busy = busy.saturating_add(grown(field).ok_or_else(|| fell(field))?);
    }
    let steal = grown(STEAL).ok_or_else(|| fell(STEAL))?;
    // Time of waiting for devices may fall (proc(5)): what is left of the interval was idle.
    let total = match IDLE.iter().find(|field| grown(**field).is_none()) {
        None => {
            IDLE.into_iter().filter_map(grown).fold(busy.saturating_add(steal), u64::saturating_add)
                as f64
        }
        Some(_) if elapsed >= TELLING && busy.saturating_add(steal) as f64 <= elapsed => elapsed,
        Some(field) => return Err(fell(*field)),
    };
    if total < least {
        return Err(unsaid(cpu, total, elapsed, least));
    }
    let share = |jiffies: u64| jiffies as f64 / total;
    Ok(BusyCpu { cpu, share: share(busy), steal: share(steal) })
}

/// In as many jiffies or more a step is a tenth of what passed at most.
const TELLING: f64 = 10.0;

/// All of these times are in jiffies.
fn unsaid(cpu: CpuId, total: f64, elapsed: f64, least: f64) -> Unavailable {
    let time = if total == 0.0 { "no time".to_owned() } else { format!("{} ms", total * 10.0) };
    if elapsed >= TELLING.max(2.0 * least) {
        let why = format!("`/proc/stat` counted {time} of CPU {cpu} in {:.2} s", elapsed / 100.0);
        return Unavailable::new(Obstacle::Measurement, WHAT, why);
    }
    let why = format!(
        "the interval is too short: `/proc/stat` counts in steps of 10 ms, and counted {time} of \
         CPU {cpu}"
    );
    let unsaid = Unavailable::new(Obstacle::Measurement, WHAT, why);
    // Only who sees each step chose the interval.
    if least < TELLING { unsaid.with_remedy("look less often: -i 100ms") } else { unsaid }
}

fn jiffies(line: &str) -> Option<(CpuId, Jiffies)> {
    /// Kernels before 2.6.11 did not count steal.
    const LEAST: usize = STEAL;
    let (cpu, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
    let cpu = CpuId(cpu.parse().ok()?);
    let fields = fields.split_whitespace().map(|field| field.parse::<u64>().ok());
    let fields: Vec<u64> = fields.collect::<Option<_>>()?;
    let mut jiffies = Jiffies::default();
    jiffies.iter_mut().zip(&fields).for_each(|(jiffies, field)| *jiffies = *field);
    (fields.len() >= LEAST).then_some((cpu, jiffies))
}

/// By CPU, the name of the process, other than this one, whose threads used most time between two scans
/// 200 ms apart and were last seen on that CPU, where some of them used any.
///
/// It reads two files of every thread of the machine: ask only where a CPU was found busy.
///
/// # Caveats
/// The name is the short one that the process gave itself, never its command line: that may hold
/// names of people and of machines (invariant I10).
pub fn culprits(machine: &Machine, cpus: &[CpuId]) -> BTreeMap<CpuId, String> {
    const APART: Duration = Duration::from_millis(200);
    let earlier = Threads::scan(machine.tree.as_ref());
    if machine.simulated.is_none() {
        std::thread::sleep(APART);
    }
    let now = Threads::scan(machine.tree.as_ref());
    cpus.iter().filter_map(|&cpu| Some((cpu, now.busiest_on(cpu, &earlier)?))).collect()
}

/// What all other processes have used so far.
pub struct Others {
    threads: Threads,
    at: Instant,
}

/// What another process used between two moments.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherProcess {
    /// The short name that it gave itself.
    pub name: String,
    /// The CPU that its busiest thread was last seen on.
    pub cpu: CpuId,
    /// CPU time by time: 1 is one CPU all of the time.
    pub cores: f64,
}

impl Others {
    /// Reads two files of every thread of the machine.
    pub fn scan(machine: &Machine) -> Others {
        Others { threads: Threads::scan(machine.tree.as_ref()), at: Instant::now() }
    }

    /// What each process used since `earlier`, the busiest first. Processes that ended meanwhile are not
    /// seen.
    ///
    /// # Caveats
    /// The kernel counts in units of 10 ms. Names are the short ones, as in [`culprits`].
    pub fn since(&self, earlier: &Others) -> Vec<OtherProcess> {
        let seconds = (self.at - earlier.at).as_secs_f64();
        let used = self.threads.used_since(&earlier.threads, |_| true).into_values();
        let process = |used: Used<'_>| OtherProcess {
            name: used.process.to_owned(),
            cpu: used.cpu,
            cores: used.jiffies as f64 * 0.01 / seconds.max(0.01),
        };
        let mut all: Vec<OtherProcess> = used.map(process).collect();
        all.sort_by(|a, b| b.cores.total_cmp(&a.cores));
        all
    }
}

/// What a process used: in sum, and where its busiest thread was last seen.
struct Used<'a> {
    process: &'a str,
    jiffies: u64,
    most: u64,
    cpu: CpuId,
}

/// The threads of all processes but this one, by process and thread.
struct Threads(BTreeMap<(u32, u32), Thread>);

/// What a thread used so far.
#[derive(Debug, Clone, PartialEq)]
struct Thread {
    process: String,
    /// User and system time, in units of 10 ms.
    jiffies: u64,
    /// When it began: numbers of threads are used again.
    started: u64,
    cpu: CpuId,
}

impl Threads {
    fn scan(tree: &dyn Tree) -> Threads {
        let own = tree.read("/proc/self/stat").unwrap_or_default();
        let own: Option<u32> = own.split(' ').next().and_then(|pid| pid.parse().ok());
        let numbers = |folder: &str| {
            let names = tree.list(folder).unwrap_or_default();
            names.into_iter().filter_map(|name| name.parse::<u32>().ok()).collect::<Vec<_>>()
        };
        let mut threads = BTreeMap::new();
        for process in numbers("/proc").into_iter().filter(|&process| Some(process) != own) {
            let stat = tree.read(&format!("/proc/{process}/stat")).unwrap_or_default();
            let Some(leader) = thread(&stat) else { continue };
            for number in numbers(&format!("/proc/{process}/task")) {
                let stat = tree.read(&format!("/proc/{process}/task/{number}/stat"));
                let thread = stat.ok().and_then(|stat| thread(&stat));
                threads.extend(thread.map(|thread| {
                    let process_name = leader.process.clone();
                    ((process, number), Thread { process: process_name, ..thread })
                }));
            }
        }
        Threads(threads)
    }

    fn busiest_on(&self, cpu: CpuId, earlier: &Threads) -> Option<String> {
        let used = self.used_since(earlier, |thread| thread.cpu == cpu);
        let busiest = used.into_values().max_by_key(|used| used.jiffies);
        busiest.filter(|used| used.jiffies > 0).map(|used| used.process.to_owned())
    }

    /// What the threads in question used, by process.
    fn used_since(
        &self,
        earlier: &Threads,
        asked: impl Fn(&Thread) -> bool,
    ) -> BTreeMap<u32, Used<'_>> {
        let mut all: BTreeMap<u32, Used<'_>> = BTreeMap::new();
        for (number, now) in self.0.iter().filter(|(_, now)| asked(now)) {
            let then = earlier.0.get(number).filter(|then| then.started == now.started);
            let grown = now.jiffies.saturating_sub(then.map_or(0, |then| then.jiffies));
            let nothing = Used { process: &now.process, jiffies: 0, most: 0, cpu: now.cpu };
            let used = all.entry(number.0).or_insert(nothing);
            used.jiffies = used.jiffies.saturating_add(grown);
            if grown > used.most {
                (used.most, used.cpu) = (grown, now.cpu);
            }
        }
        all
    }
}

/// # Source
/// proc_pid_stat(5): pid (comm) state ... utime is field 14, stime 15, starttime 22, processor 39.
/// The name may hold anything, also blanks and parentheses.
fn thread(stat: &str) -> Option<Thread> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let shown = |letter: char| if letter.is_control() { '?' } else { letter };
    Some(Thread {
        process: name.chars().map(shown).collect(),
        jiffies: field(14)?.saturating_add(field(15)?),
        started: field(22)?,
        cpu: CpuId(u32::try_from(field(39)?).ok()?),
    })
}
