//! Whole runs on the machine at hand whose registers APERF and MPERF are files: what they hold is
//! scripted, by the time at which they are asked for, so that no time is judged.
//!
//! It needs `/dev/fuse` and the right to mount; without them, each test says so.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{assert_near, counters, measured, of, streams, why};
use crate::patience::patiently;
use machine::{Machine, Msr, MsrFolder};
use measure::areas::turbo::TurboOptions;
use model::record::{InstrumentState, Outcome, Record};
use model::{CpuId, CpuSet, Reading};
use msr_fuse::Mounted;
use rig::placement::Choice;

const MPERF: u32 = 0xe7;
const APERF: u32 = 0xe8;

/// What APERF is to MPERF.
const RATIO: f64 = 1.25;

/// A moment in which both counters are read.
#[derive(Clone, Copy)]
struct Moment {
    /// How many such moments there were before.
    index: u64,
    /// How long the machine has been there, in nanoseconds.
    nanoseconds: u64,
}

/// What a register holds at a moment.
type Script = fn(register: u32, moment: Moment) -> io::Result<u64>;

/// Registers that are files, and the moments at which they were asked for: what the file system does
/// until it answers is no part of the counters' time.
struct Timed {
    folder: MsrFolder,
    _mounted: Mounted,
    begun: Instant,
    moments: Arc<[AtomicU64; 2]>,
    /// One thread at a time: the files know one moment.
    asking: Mutex<()>,
}

impl Msr for Timed {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        self.folder.read(cpu, register)
    }

    fn read_many(&self, cpu: CpuId, registers: &[u32]) -> Vec<Reading<u64>> {
        let _alone = self.asking.lock();
        if registers.contains(&MPERF) {
            self.moments[0].fetch_add(1, Ordering::SeqCst);
            self.moments[1].store(self.begun.elapsed().as_nanos() as u64, Ordering::SeqCst);
        }
        self.folder.read_many(cpu, registers)
    }
}

/// The machine at hand with scripted registers.
fn scripted(script: Script) -> Option<Machine> {
    let usable = sys::affinity::current().unwrap();
    let moments = Arc::new([const { AtomicU64::new(0) }; 2]);
    let known = Arc::clone(&moments);
    let register = move |_: CpuId, register: u32, _: Duration| match register {
        MPERF | APERF => {
            let [count, nanoseconds] = [0, 1].map(|i: usize| known[i].load(Ordering::SeqCst));
            script(register, Moment { index: count.saturating_sub(1), nanoseconds })
        }
        _ => eio(),
    };
    let mounted = Mounted::new(usable.as_slice(), register)?;
    let timed = Timed {
        folder: MsrFolder::new(mounted.folder()),
        _mounted: mounted,
        begun: Instant::now(),
        moments,
        asking: Mutex::new(()),
    };
    Some(Machine { msr: Arc::new(timed), ..Machine::real() })
}

fn eio() -> io::Result<u64> {
    Err(io::Error::from_raw_os_error(sys::errno::EIO))
}

/// MPERF in cycles of 2.1 GHz, APERF 1.25 times as many.
fn good(register: u32, moment: Moment) -> u64 {
    const CYCLES_PER_MICROSECOND: u64 = 2100;
    let mperf = moment.nanoseconds * CYCLES_PER_MICROSECOND / 1000;
    if register == APERF { mperf + mperf / 4 } else { mperf }
}

/// How often the counters are read before the first block: found, gauged, calibrated.
const BEFORE_BLOCKS: u64 = 1 + 65 + 16;

/// Two streams on one CPU.
fn asked() -> TurboOptions {
    let usable = sys::affinity::current().unwrap();
    let first: CpuSet = usable.iter().take(1).collect();
    TurboOptions { cpus: Choice::usual(Some(first)), ..streams(&["scalar_iadd", "ucomis_clean"]) }
}

/// All measure the same CPU: one after the other, or each would be the other work that disturbs the next. They may be
/// processes of their own, so it is the lock of a file.
fn alone() -> File {
    let here = File::open(env!("CARGO_TARGET_TMPDIR")).unwrap();
    here.lock().unwrap();
    here
}

/// A run in which the counters were as they should. What the chain finds is not asked for: it depends on
/// who else uses the core.
fn run(script: Script, good_enough: fn(&Record) -> bool) -> Option<Record> {
    let _alone = alone();
    // A machine of its own for each attempt: scripts count from its beginning.
    let attempt = || scripted(script).map(|machine| measured(&machine, asked()));
    patiently(|| match attempt() {
        None => Ok(None),
        Some(record) if good_enough(&record) => Ok(Some(record)),
        Some(record) => Err(record.findings),
    })
}

fn is_calibrated(record: &Record) -> bool {
    matches!(counters(record).state, InstrumentState::Used { .. })
}

/// Nothing is said by the counters but why, and the chain is none the worse for it.
#[track_caller]
fn assert_without(record: &Record, expected: &str) {
    for quantity in ["aperf_per_mperf", "mperf_rate"] {
        let reasons: Vec<&str> = of(record, quantity).map(why).collect();
        assert_eq!(reasons.len(), 2);
        for reason in reasons {
            assert!(reason.contains(expected), "{quantity}: {reason}");
        }
    }
    for clock in of(record, "clock") {
        if let Outcome::Unavailable { unavailable } = &clock.outcome {
            assert!(!unavailable.why.contains(expected), "{unavailable:?}");
        }
    }
}

#[test]
fn good_counters_give_the_clock_by_their_own_rate() {
    // The counters go by this machine's clock, and whoever is held up between the two has read more cycles than time.
    let is_quiet = |record: &Record| match &counters(record).state {
        InstrumentState::Used { rate: Some(rate), .. } => {
            (rate.hertz.0 / 2.1e9 - 1.0).abs() < 0.005
        }
        _ => false,
    };
    let Some(record) = run(|register, moment| Ok(good(register, moment)), is_quiet) else {
        return;
    };
    for series in of(&record, "aperf_per_mperf") {
        let summary = series.summary().unwrap();
        assert_near(summary.median, RATIO, 0.005, &series.workload);
        assert_eq!(summary.blocks, 5, "{}", series.workload);
    }
    let InstrumentState::Used { rate: Some(rate), resolution, .. } = &counters(&record).state
    else {
        panic!("{:?}", counters(&record));
    };
    assert_near(rate.hertz.0, 2.1e9, 0.005, "rate of MPERF");
    assert!(*resolution > 0.0);
    assert_eq!(counters(&record).source, "MSR 0xe8 over 0xe7");
    let tsc = rate.sources.iter().find(|source| source.source == "rate of the TSC");
    let tsc = tsc.and_then(|source| source.hertz.value().copied());
    let said = record.findings.iter().find(|finding| finding.id == "clock.mperf-rate");
    match tsc {
        Some(tsc) if (tsc / 2.1e9 - 1.0).abs() > 0.005 => {
            let said = said.expect("it is not the TSC's rate");
            assert!(said.text.contains("MHz, the TSC at "), "{}", said.text);
        }
        _ => assert!(said.is_none(), "{said:?}"),
    }
}

#[test]
fn counters_that_stand_still_are_named_in_every_cell() {
    let Some(record) = run(|_, _| Ok(1 << 40), |_| true) else { return };
    assert_without(&record, "stood still in 64 readings");
    assert!(!is_calibrated(&record));
}

#[test]
fn a_wrap_at_64_bits_amid_a_run_changes_nothing() {
    // The first reading of the first block is the last one before the wrap: no reading before it
    // belongs to a stretch that it ends.
    static LAST: Mutex<Option<Moment>> = Mutex::new(None);
    static AFTER: AtomicU64 = AtomicU64::new(0);
    let script: Script = |register, moment| {
        let value = good(register, moment);
        let mut last = LAST.lock().unwrap();
        if moment.index < BEFORE_BLOCKS {
            *last = None;
            return Ok((1 << 60) + value);
        }
        AFTER.fetch_max(moment.index - BEFORE_BLOCKS, Ordering::SeqCst);
        let last = last.get_or_insert(moment);
        Ok(value.wrapping_sub(good(register, *last) + 1))
    };
    let Some(record) = run(script, is_calibrated) else { return };
    for series in of(&record, "aperf_per_mperf") {
        let summary = series.summary().unwrap();
        assert_near(summary.median, RATIO, 0.005, &series.workload);
        assert_near(summary.min, RATIO, 0.005, &series.workload);
        assert_near(summary.max, RATIO, 0.005, &series.workload);
    }
    let after = AFTER.load(Ordering::SeqCst);
    assert_eq!(after, 2 * 2 * 5 - 1, "two readings in each block of each stream");
}

#[test]
fn counters_that_run_backwards_are_named_in_every_cell() {
    let script: Script = |register, moment| {
        let value = good(register, moment);
        Ok(if register == APERF { (1 << 60) - value } else { value })
    };
    let Some(record) = run(script, |_| true) else { return };
    assert_without(&record, "APERF ran backwards by ");
    assert!(!is_calibrated(&record));
}

#[test]
fn registers_that_fail_from_some_block_on_are_named_in_every_cell() {
    /// Two blocks of each stream are read.
    const GOOD: u64 = BEFORE_BLOCKS + 2 * 2 * 2;
    let script: Script = |register, moment| match moment.index {
        ..GOOD => Ok(good(register, moment)),
        _ => eio(),
    };
    let Some(record) = run(script, is_calibrated) else { return };
    assert_without(&record, "Input/output error");
}
