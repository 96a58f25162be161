//! APERF and MPERF through files of registers whose contents are scripted by the number of
//! readings, so that no time is judged.
//!
//! It needs `/dev/fuse` and the right to mount; without them, each test says so.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use machine::instruments::aperf_mperf::{Counts, CountsDelta, CycleCounters};
use machine::{Machine, MsrFolder};
use model::ticks::Ticks;
use model::{CpuId, Obstacle, Reading};
use msr_fuse::Mounted;

const MPERF: u32 = 0xe7;
const APERF: u32 = 0xe8;

/// Between two readings, by the script.
const ELAPSED: u64 = 1_000_000;

type Script = fn(register: u32, reading: u64) -> io::Result<u64>;

/// The machine at hand with scripted registers, and a CPU of it.
struct Scripted {
    _mounted: Mounted,
    counters: Reading<CycleCounters>,
    cpu: CpuId,
}

/// MPERF is read first: it begins a reading. The first one is made by `find`.
fn scripted(script: Script) -> Option<Scripted> {
    let usable = sys::affinity::current().unwrap();
    let begun = AtomicU64::new(0);
    let register = move |_: CpuId, register: u32, _: Duration| match register {
        MPERF => script(MPERF, begun.fetch_add(1, Ordering::SeqCst)),
        APERF => script(APERF, begun.load(Ordering::SeqCst) - 1),
        _ => Err(io::Error::from_raw_os_error(sys::errno::EIO)),
    };
    let mounted = Mounted::new(usable.as_slice(), register)?;
    let msr = Arc::new(MsrFolder::new(mounted.folder()));
    let counters = CycleCounters::find(&Machine { msr, ..Machine::real() });
    Some(Scripted { _mounted: mounted, counters, cpu: usable.iter().next()? })
}

impl Scripted {
    fn read(&self) -> Reading<Counts> {
        self.counters.as_ref().unwrap().read(self.cpu)
    }

    /// What the next two readings say together.
    fn delta(&self) -> Reading<CountsDelta> {
        let earlier = self.read()?;
        self.read()?.since(earlier, Ticks::new(ELAPSED))
    }
}

fn eio<T>() -> io::Result<T> {
    Err(io::Error::from_raw_os_error(sys::errno::EIO))
}

/// Steps of 1.5 times, and once, the stamp clock.
fn good(register: u32, reading: u64) -> u64 {
    reading * if register == APERF { 1_500_000 } else { 1_000_000 }
}

#[test]
fn good_counters_give_the_ratio() {
    let Some(scripted) = scripted(|register, reading| Ok(good(register, reading))) else { return };
    assert_eq!(scripted.counters.as_ref().unwrap().source(), "MSR 0xe8 over 0xe7");
    assert_eq!(scripted.delta(), Ok(CountsDelta { aperf: 1_500_000, mperf: 1_000_000 }));
    let gauge = scripted.counters.as_ref().unwrap().gauge(scripted.cpu).unwrap();
    assert_eq!(gauge.step_cycles, 1_500_000);
    assert!(gauge.own_cost.0 > 0.0);
}

#[test]
fn threads_read_at_the_same_time() {
    let Some(scripted) = scripted(|register, _| Ok(u64::from(register))) else { return };
    let counters = scripted.counters.clone().unwrap();
    let expected = Ok(Counts { aperf: u64::from(APERF), mperf: u64::from(MPERF) });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(counters.read(scripted.cpu), expected));
        }
    });
}

#[test]
fn a_wrap_at_64_bits_is_followed() {
    let script: Script =
        |register, reading| Ok(good(register, reading).wrapping_sub(2 * 1_000_000));
    let Some(scripted) = scripted(script) else { return };
    let earlier = scripted.read().unwrap();
    let later = scripted.read().unwrap();
    assert!(later.aperf < earlier.aperf && later.mperf < earlier.mperf, "{earlier:?} {later:?}");
    let delta = later.since(earlier, Ticks::new(ELAPSED));
    assert_eq!(delta, Ok(CountsDelta { aperf: 1_500_000, mperf: 1_000_000 }));
}

#[test]
fn counters_that_stand_still_or_run_backwards_give_their_reason() {
    let cases: [(Script, &str); 4] = [
        (|_, _| Ok(7), "neither APERF nor MPERF moved while the stamp clock moved by 1000000"),
        (
            |register, reading| Ok(if register == APERF { 7 } else { good(register, reading) }),
            "MPERF moved by 1000000, but APERF stood still",
        ),
        (
            |register, reading| Ok((1 << 50) - good(register, reading)),
            "APERF ran backwards by 1500000",
        ),
        // An overflow that sets both to zero.
        (
            |register, reading| match (register, reading) {
                (APERF, 0..2) => Ok(u64::MAX - 2_000_000 + good(APERF, reading)),
                (_, 0..2) => Ok((1 << 40) + good(register, reading)),
                _ => Ok(good(register, reading - 2)),
            },
            "MPERF ran backwards by 1099512627776",
        ),
    ];
    for (script, expected) in cases {
        let Some(scripted) = scripted(script) else { return };
        let reason = scripted.delta().unwrap_err();
        assert!(reason.why.starts_with(expected), "{expected}: {reason:?}");
    }
}

#[test]
fn an_error_amid_a_run_is_the_reason_of_that_reading_alone() {
    let script: Script = |register, reading| match reading {
        2 => eio(),
        3 if register == APERF => eio(),
        _ => Ok(good(register, reading)),
    };
    let Some(scripted) = scripted(script) else { return };
    let first = scripted.read().unwrap();
    let both = scripted.read().unwrap_err();
    assert_eq!(
        (both.what.as_str(), both.obstacle),
        ("core clock by APERF/MPERF", Obstacle::Hardware)
    );
    assert!(both.why.contains("/msr` answered `Input/output error"), "{both:?}");
    let one = scripted.read().unwrap_err();
    assert!(one.why.starts_with("register 0xe8: `"), "{one:?}");
    let last = scripted.read().unwrap();
    let delta = last.since(first, Ticks::new(3 * ELAPSED));
    assert_eq!(delta, Ok(CountsDelta { aperf: 4_500_000, mperf: 3_000_000 }));
}

#[test]
fn without_registers_another_way_is_found_or_the_reason_is_theirs() {
    let Some(scripted) = scripted(|_, _| eio()) else { return };
    match &scripted.counters {
        Ok(counters) => assert_ne!(counters.source(), "MSR 0xe8 over 0xe7"),
        Err(reason) => {
            assert_eq!(reason.what, "core clock by APERF/MPERF");
            assert!(reason.why.contains("Input/output error"), "{reason:?}");
        }
    }
}
