use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use model::CpuId;
use proptest::prelude::*;

use super::{machine_of, simulated};
use crate::busy::{BusyCpu, BusySnapshot, culprit};
use crate::files::Files;
use crate::ports::{Machine, Reading, Tree};

fn snapshot(stat: &str) -> BusySnapshot {
    let mut files = Files::default();
    files.put("/proc/stat", stat);
    BusySnapshot::read(&machine_of(files, "0-3")).unwrap()
}

#[test]
fn shares_of_work_and_steal_are_told_apart() {
    let earlier = snapshot(
        "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 10 20 1000 50 0 5 7 0 0\ncpu1 1 0 0 500 0 0 0 0 0 0\n\
         cpu2 5 0 0 0 0 0 0 0 0 0\nintr 1 2 3",
    );
    // CPU 0: 40 of work, 50 idle, 10 stolen. CPU 1: its waiting falls. CPU 2 stands still. CPU 3 is
    // new. CPU 9 is no line of numbers.
    let later = snapshot(
        "cpu0 120 15 25 1040 60 5 10 17 0 0\ncpu1 1 0 0 490 0 0 0 0 0 0\ncpu2 5 0 0 0 0 0 0 0 0 0\n\
         cpu3 5 0 0 0 0 0 0 0 0 0\ncpu9 x 0 0 0 0 0 0",
    );
    let cpu = CpuId(0);
    assert_eq!(later.since(&earlier), [BusyCpu { cpu, share: 0.4, steal: 0.1 }]);
    // In reverse, nothing but the idle time of CPU 1 grows.
    let idle = BusyCpu { cpu: CpuId(1), share: 0.0, steal: 0.0 };
    assert_eq!(earlier.since(&later), [idle]);
    // Kernels before 2.6.11 did not count steal.
    let old = snapshot("cpu0 1 0 0 1 0 0 0").since(&snapshot("cpu0 0 0 0 0 0 0 0"));
    assert_eq!(old, [BusyCpu { cpu, share: 0.5, steal: 0.0 }]);
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
    assert_eq!(BusySnapshot::read(&machine).unwrap().since(&earlier), []);
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
        let busy = shares.iter().any(|busy| busy.cpu == cpu && busy.share + busy.steal > 0.5);
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
