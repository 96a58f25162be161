use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use model::{CpuId, Reading};
use proptest::prelude::*;
use simulated::Files;

use super::{machine_of, simulated};
use crate::cpu_load::{BusyCpu, BusySnapshot, culprits};
use crate::ports::{Machine, Tree};

fn snapshot(stat: &str) -> BusySnapshot {
    let mut files = Files::default();
    files.put("/proc/stat", stat);
    BusySnapshot::read(&machine_of(files, "0-3")).unwrap()
}

fn culprit(machine: &Machine, cpu: CpuId) -> Option<String> {
    culprits(machine, &[cpu]).remove(&cpu)
}

#[test]
fn shares_of_work_and_steal_are_told_apart() {
    let earlier = snapshot(
        "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 10 20 1000 50 0 5 7 0 0\ncpu1 1 0 0 500 0 0 0 0 0 0\n\
         cpu2 5 0 0 0 0 0 0 0 0 0\nintr 1 2 3",
    );
    // CPU 0: 40 of work, 50 idle, 10 stolen. CPU 1: its idle time falls. CPU 2 stands still. CPU 3 is
    // new. CPU 9 is no line of numbers.
    let later = snapshot(
        "cpu0 120 15 25 1040 60 5 10 17 0 0\ncpu1 1 0 0 490 0 0 0 0 0 0\ncpu2 5 0 0 0 0 0 0 0 0 0\n\
         cpu3 5 0 0 0 0 0 0 0 0 0\ncpu9 x 0 0 0 0 0 0",
    );
    let cpu = CpuId(0);
    let spent = later.since(&earlier);
    let why = |cpu: u32| spent[&CpuId(cpu)].clone().unwrap_err().why;
    assert_eq!(spent.len(), 3);
    assert_eq!(spent[&cpu], Ok(BusyCpu { cpu, share: 0.4, steal: 0.1 }));
    assert!(why(1).contains("idle of CPU 1 fell from 500 to 490"), "{}", why(1));
    assert!(why(2).contains("counted no time of CPU 2"), "{}", why(2));
    // In reverse, nothing but the idle time of CPU 1 grows.
    let back = earlier.since(&later);
    let idle = BusyCpu { cpu: CpuId(1), share: 0.0, steal: 0.0 };
    assert_eq!(back[&CpuId(1)], Ok(idle));
    assert!(back[&cpu].clone().unwrap_err().why.contains("user of CPU 0 fell from 120 to 100"));
    // Kernels before 2.6.11 did not count steal.
    let old = snapshot("cpu0 1 0 0 1 0 0 0").since(&snapshot("cpu0 0 0 0 0 0 0 0"));
    assert_eq!(old[&cpu], Ok(BusyCpu { cpu, share: 0.5, steal: 0.0 }));
}

/// One tick of 10 ms is all or nothing of an interval that is no longer.
#[test]
fn one_tick_makes_nobody_busy() {
    let earlier = snapshot("cpu0 10 0 0 90 0 0 0 0\ncpu1 10 0 0 90 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0");
    let later = snapshot("cpu0 11 0 0 90 0 0 0 0\ncpu1 19 0 0 91 0 0 0 0\ncpu2 3 0 0 6 0 0 0 0");
    let (any, told) = (later.since(&earlier), later.telling_since(&earlier));
    let share =
        |of: &BTreeMap<CpuId, Reading<BusyCpu>>, cpu| of[&CpuId(cpu)].clone().map(|it| it.share);
    assert_eq!(share(&any, 0), Ok(1.0), "an observer may look as often as he likes");
    assert!(share(&told, 0).unwrap_err().why.contains("counted 10 ms of CPU 0"));
    assert!(share(&told, 2).is_err(), "90 ms");
    assert_eq!(share(&told, 1), Ok(0.9), "100 ms");
}

/// The interval was long enough: looking less often does not help.
#[test]
fn a_cpu_that_stood_still_for_a_second_is_not_told_to_be_looked_at_less_often() {
    let still = || snapshot("cpu0 7 0 0 90 0 0 0 0");
    let reason = |millis| {
        let later = still().after(&still(), Duration::from_millis(millis));
        later.since(&still())[&CpuId(0)].clone().unwrap_err()
    };
    let long = reason(1000);
    assert!(long.why.ends_with("counted no time of CPU 0 in 1.00 s"), "{}", long.why);
    assert_eq!(long.remedy, None);
    assert!(reason(5).remedy.is_some_and(|remedy| remedy.contains("-i 100ms")));
}

/// The time of waiting for devices fell in a second in which the CPU did a hundredth of work.
#[test]
fn a_cpu_whose_waiting_fell_is_not_busy() {
    let earlier = snapshot("cpu0 1000 0 500 9000 5000 0 5 0 0 0");
    let fallen = "cpu0 1001 0 500 9098 4000 0 5 0 0 0";
    let why = snapshot(fallen).since(&earlier)[&CpuId(0)].clone().unwrap_err().why;
    assert!(why.contains("iowait of CPU 0 fell from 5000 to 4000"), "{why}");
    let a_second_later = snapshot(fallen).after(&earlier, Duration::from_secs(1));
    let share = a_second_later.since(&earlier)[&CpuId(0)].clone().map(|busy| busy.share);
    assert_eq!(share, Ok(0.01));
    // More work than time passed: nobody knows.
    let more = snapshot("cpu0 1101 0 500 9098 4000 0 5 0 0 0");
    let more = more.after(&earlier, Duration::from_secs(1));
    assert!(more.since(&earlier)[&CpuId(0)].is_err());
}

proptest! {
    /// A counter that goes back never makes a share that the time between does not bear.
    #[test]
    fn counters_that_go_back_make_no_share_by_themselves(
        then in prop::collection::vec(0_u64..10_000, 8),
        grown in prop::collection::vec(0_u64..50, 8),
        bent in 0_usize..8,
        back in 1_u64..10_000,
        seconds in 0_u64..9,
    ) {
        let line = |fields: &[u64]| {
            let fields: Vec<String> = fields.iter().map(u64::to_string).collect();
            format!("cpu0 {} 0 0", fields.join(" "))
        };
        let mut now: Vec<u64> = then.iter().zip(&grown).map(|(then, grown)| then + grown).collect();
        now[bent] = then[bent].saturating_sub(back);
        let earlier = snapshot(&line(&then));
        let later = snapshot(&line(&now)).after(&earlier, Duration::from_secs(seconds));
        let spent = later.since(&earlier)[&CpuId(0)].clone();
        if then[bent] > now[bent] {
            match spent {
                Ok(busy) => {
                    prop_assert!([3, 4].contains(&bent) && seconds > 0, "{busy:?}");
                    let worked: u64 = [0, 1, 2, 5, 6].map(|field| grown[field]).iter().sum();
                    let share = worked as f64 / (100 * seconds) as f64;
                    prop_assert!((busy.share - share).abs() < 1e-9 && share <= 1.0, "{busy:?}");
                }
                Err(reason) => prop_assert!(reason.why.contains("fell from"), "{}", reason.why),
            }
        }
    }
}

#[test]
fn without_lines_of_cpus_there_is_a_reason() {
    let mut files = Files::default();
    assert!(BusySnapshot::read(&machine_of(files.clone(), "0")).is_err());
    files.put("/proc/stat", "cpu  1 2 3 4 5 6 7\nctxt 5");
    let reason = BusySnapshot::read(&machine_of(files, "0")).unwrap_err();
    assert_eq!(reason.why, "`/proc/stat` says nothing of the time of the CPUs");
}

#[test]
fn a_simulated_machine_answers() {
    let machine = simulated("2s-56c");
    let earlier = BusySnapshot::read(&machine).unwrap();
    let spent = BusySnapshot::read(&machine).unwrap().since(&earlier);
    assert!(!spent.is_empty() && spent.values().all(Result::is_err));
    assert_eq!(culprit(&machine, CpuId(0)), None);
}

/// Files of a machine that change at the second scan: whenever `/proc` is listed.
struct Scans {
    files: [Files; 2],
    listed: std::cell::Cell<usize>,
}

impl Tree for Scans {
    fn read(&self, path: &str) -> Reading<String> {
        // The process itself is asked before the list.
        self.files[self.listed.get().clamp(1, 2) - 1].read(path)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.listed.set(self.listed.get() + usize::from(path == "/proc"));
        self.files[self.listed.get().clamp(1, 2) - 1].list(path)
    }
}

/// A line of proc_pid_stat(5), with these fields: name, utime, stime, starttime, processor.
fn stat(pid: u32, name: &str, user: u64, system: u64, started: u64, cpu: u32) -> String {
    let dots = |count: usize| "0 ".repeat(count);
    format!(
        "{pid} ({name}) R {}{user} {system} {}{started} {}{cpu} 0 0",
        dots(10),
        dots(6),
        dots(16)
    )
}

/// Process, thread, name of the thread, user, system, start, CPU.
type Row = (u32, u32, &'static str, u64, u64, u64, u32);

fn scans(rows: [&[Row]; 2]) -> Machine {
    let files = rows.map(|rows| {
        let mut files = Files::default();
        files.put("/proc/self/stat", &stat(1, "cpudyno", 0, 0, 0, 0));
        files.put("/proc/uptime", "1 2");
        for &(process, thread, name, user, system, started, cpu) in rows {
            let text = stat(thread, name, user, system, started, cpu);
            if process == thread {
                files.put(format!("/proc/{process}/stat"), &text);
            }
            files.put(format!("/proc/{process}/task/{thread}/stat"), &text);
        }
        files
    });
    let tree = Box::new(Scans { files, listed: std::cell::Cell::default() });
    // Simulated, so that nobody waits between the scans.
    Machine { tree, ..simulated("1c") }
}

#[test]
fn the_process_that_used_most_of_a_cpu_is_named() {
    let machine = || {
        scans([
            &[
                (1, 1, "cpudyno", 0, 0, 5, 1),
                (20, 20, "web (old) server", 100, 50, 5, 0),
                (20, 21, "pool-1", 10, 0, 5, 1),
                (20, 22, "pool-2", 10, 0, 5, 1),
                (30, 30, "cc1", 900, 0, 5, 1),
                (40, 40, "ended", 5, 5, 5, 1),
            ],
            &[
                (1, 1, "cpudyno", 500, 0, 5, 1),
                (20, 20, "web (old) server", 300, 50, 5, 0),
                (20, 21, "pool-1", 20, 0, 5, 1),
                (20, 22, "pool-2", 15, 4, 5, 1),
                (30, 30, "cc1", 915, 0, 5, 1),
                // Its number was another's before.
                (40, 40, "new\nline", 4, 0, 9, 2),
                (50, 50, "idle", 7, 0, 5, 3),
            ],
        ])
    };
    let named = |cpu| culprit(&machine(), CpuId(cpu));
    assert_eq!(named(0).as_deref(), Some("web (old) server"));
    // 10 + 9 of two threads are more than 15 of one.
    assert_eq!(named(1).as_deref(), Some("web (old) server"));
    assert_eq!(named(2).as_deref(), Some("new?line"));
    assert_eq!(named(3).as_deref(), Some("idle"));
    assert_eq!(named(4), None);
}

#[test]
fn nobody_is_named_where_nobody_worked() {
    let rows: &[Row] = &[(20, 20, "asleep", 100, 50, 5, 0)];
    assert_eq!(culprit(&scans([rows, rows]), CpuId(0)), None);
}

/// Ended and reaped when it goes out of scope.
struct Spinning(Child);

impl Drop for Spinning {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A shell of another name that spins on one CPU.
fn spin(cpu: CpuId, folder: &std::path::Path) -> Spinning {
    let shell = folder.join("cpudyno-spin");
    std::fs::copy("/bin/sh", &shell).unwrap();
    let started = std::thread::spawn(move || {
        sys::affinity::pin(cpu).unwrap();
        let mut command = Command::new(shell);
        command.arg0("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()
    });
    Spinning(started.join().unwrap())
}

#[test]
fn a_process_that_spins_is_found_and_named() {
    let machine = Machine::real();
    let cpu = machine.host.affinity().unwrap().iter().last().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let _spinning = spin(cpu, folder.path());
    // Where others want the same CPU, it gets its turn sooner or later.
    let found = (0..100).any(|_| {
        let earlier = BusySnapshot::read(&machine).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let shares = BusySnapshot::read(&machine).unwrap().since(&earlier);
        let busy = shares[&cpu].as_ref().is_ok_and(|busy| busy.share + busy.steal > 0.5);
        busy && culprit(&machine, cpu).as_deref() == Some("cpudyno-spin")
    });
    assert!(found);
}

proptest! {
    #[test]
    fn whatever_the_files_hold_nothing_breaks(
        text in "(cpu[0-9]{0,3}|[ -~\\n()]| [0-9]{1,20}){0,60}",
    ) {
        let mut files = Files::default();
        files.put("/proc/stat", &text);
        files.put("/proc/self/stat", &text);
        files.put("/proc/7/stat", &text);
        files.put("/proc/7/task/7/stat", &text);
        let machine = Machine { tree: Box::new(files), ..simulated("1c") };
        if let Ok(snapshot) = BusySnapshot::read(&machine) {
            snapshot.since(&snapshot);
        }
        culprit(&machine, CpuId(0));
    }
}
