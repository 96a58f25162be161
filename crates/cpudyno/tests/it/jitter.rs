//! `cpudyno jitter`: what was put in the way of a busy CPU comes out, by its cause.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::common::{cpudyno, finish};
use model::CpuId;
use model::areas::jitter::{CAUSE, cause};
use model::record::Record;
use sys::affinity;
use sys::timer::TimerFile;

/// The gaps of a cause, in microseconds.
fn gaps(record: &Record, cause: &str) -> Vec<f64> {
    let mine = record.series.iter().filter(|series| {
        series.quantity == "gap" && series.parameters.get(CAUSE).is_some_and(|it| it == cause)
    });
    mine.filter_map(|series| Some(series.samples()?.all())).flatten().map(|it| it * 1e6).collect()
}

/// The first CPU that this process may use.
fn first() -> CpuId {
    let usable = affinity::current().unwrap();
    usable.iter().next().unwrap()
}

/// One watch at a time: they are of one CPU.
static ONE: Mutex<()> = Mutex::new(());

/// Watches one CPU while something else goes on.
fn watch(meanwhile: impl FnOnce(u32)) -> Record {
    let cpus = first().to_string();
    let args = ["jitter", "--cpus", &cpus, "--for", "2s", "--format", "json"];
    let child = cpudyno(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    meanwhile(child.id());
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// A thread that takes the CPU for so long, again and again.
fn busy(time: Duration) -> (Record, u64) {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (stops, counts) = (Arc::clone(&stop), Arc::clone(&count));
    let thread = std::thread::spawn(move || {
        affinity::pin(first()).unwrap();
        while !stops.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
            let begun = Instant::now();
            while begun.elapsed() < time {
                std::hint::spin_loop();
            }
            counts.fetch_add(1, Ordering::Relaxed);
        }
    });
    let record = watch(|_| {});
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    (record, count.load(Ordering::Relaxed))
}

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_thread_that_takes_the_cpu_is_the_cause_of_gaps_as_long() {
    let _alone = alone();
    for microseconds in [20, 200] {
        let (record, count) = busy(Duration::from_micros(microseconds));
        let found = gaps(&record, cause::THREAD);
        let as_long = found.iter().filter(|gap| **gap >= microseconds as f64 * 0.95).count();
        // Some come before the watch and after it, and while causes are looked up.
        assert!(as_long as u64 > count / 4, "{as_long} of {count} of {microseconds} us: {found:?}");
    }
}

#[test]
fn alarms_that_wake_nobody_are_interrupts_of_the_timer() {
    /// One each five milliseconds, beside those that the kernel has anyway, for as long as the watch may begin late.
    const ALARMS: u32 = 400;
    const APART: Duration = Duration::from_millis(5);
    const TIMES: u32 = 3;
    let _alone = alone();
    let both = |record: &Record| -> usize {
        [cause::TIMER, cause::TIMER_SOFTIRQ].iter().map(|cause| gaps(record, cause).len()).sum()
    };
    let quiet = both(&watch(|_| {}));
    let before = affinity::current().unwrap();
    let alarms: Vec<TimerFile> = (0..ALARMS).map(|_| TimerFile::new().unwrap()).collect();
    let record = watch(|_| {
        affinity::pin(first()).unwrap();
        for _ in 0..TIMES {
            let now = sys::timer::now().unwrap();
            for (number, alarm) in (1..).zip(&alarms) {
                alarm.arm(now + APART * number).unwrap();
            }
            std::thread::sleep(APART * ALARMS);
        }
        affinity::restrict(&before).unwrap();
    });
    let found = both(&record);
    // The watch is as long as one of the three.
    assert!(found > quiet + ALARMS as usize / 5, "{found}, and {quiet} without {ALARMS} alarms");
}

#[test]
fn a_process_that_is_stopped_says_so() {
    /// As long as it watches, whenever it begins.
    const TIMES: usize = 100;
    let _alone = alone();
    let record = watch(|child| {
        let send = |signal| {
            // SAFETY: takes no pointer.
            assert_eq!(unsafe { libc::kill(child.cast_signed(), signal) }, 0);
        };
        std::thread::sleep(Duration::from_millis(300));
        for _ in 0..TIMES {
            send(libc::SIGSTOP);
            // Who has no CPU at this moment stops when it gets one.
            std::thread::sleep(Duration::from_millis(3));
            send(libc::SIGCONT);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let found = gaps(&record, cause::STOPPED);
    let as_long = found.iter().filter(|gap| **gap >= 200.0).count();
    assert!(as_long > TIMES / 20, "{as_long} of {TIMES}: {found:?}");
}

#[test]
fn firmware_of_a_simulated_machine_is_counted_and_the_hypervisor_of_a_guest_is_not() {
    let page = |machine: &str| {
        finish(cpudyno(&["jitter", "--machine", machine, "--width", "120"])).success()
    };
    let (server, guest) = (page("sim:2s-28c"), page("sim:vm-2c"));
    assert!(
        server.contains("SIMULATED interruptions of busy CPUs: machine sim:2s-28c"),
        "{server}"
    );
    // 2 a second on each CPU, of 150 us and up to half more.
    let line = server.lines().find(|line| line.starts_with("SMI")).expect(&server);
    let cells: Vec<&str> = line.split_whitespace().collect();
    let rate: f64 = cells[1].parse().unwrap();
    assert!((1.8..2.2).contains(&rate), "{line}");
    assert!(server.contains("firmware stops a CPU "), "{server}");
    // A fiftieth of the time, a millisecond each.
    assert!(guest.contains("none that the kernel counts: the hypervisor, or firmware"), "{guest}");
    assert!(!guest.contains("SMI "), "{guest}");
}
