//! When a measurement begins: at its time, and alone.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cpudyno::host_lock::{self as lock, Held, NotLocked};
use machine::Machine;

use super::launch;
use crate::args::{Files, StartArgs, StartTime};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

/// When to begin, and what may be recorded then.
#[derive(Default)]
pub(super) struct Start {
    when: StartArgs,
    /// Whether the command has options of that.
    is_told_when: bool,
    names_hosts: bool,
}

/// The time in which this process measures: nobody else here does.
pub(super) struct Turn {
    /// Whether names of hosts may enter the record (invariant I10): its file is named by one.
    pub(super) names_hosts: bool,
    _held: Option<Held>,
}

/// How often what is waited for is looked at.
const STEP: Duration = Duration::from_millis(100);

impl Start {
    pub(super) fn new(when: StartArgs, files: &Files) -> Start {
        let names_hosts = files.json.as_deref().is_some_and(output::is_folder);
        Start { when, is_told_when: true, names_hosts }
    }

    /// Waits until it is time, and until nobody else measures here, as far as that was asked for.
    pub(super) fn turn(&self, machine: &Machine, signals: &Signals) -> Result<Turn, Failure> {
        let StartArgs { wait_lock, stagger, at } = self.when;
        if let Some(time) = at {
            wait_until(time, signals)?;
        }
        if let Some(within) = stagger {
            let host = launch::host();
            let delay = within.mul_f64(share(&host));
            let why = format!("--stagger, for host `{host}`");
            wait_for(delay, &why, signals)?;
        }
        // A simulated machine, or a captured one, is not loaded.
        let is_here = machine.simulated.is_none() && machine.elsewhere.is_none();
        let place = lock::place(is_here);
        let held = place.map(|place| self.hold(&place, wait_lock, signals)).transpose()?.flatten();
        Ok(Turn { names_hosts: self.names_hosts, _held: held })
    }

    /// Takes the lock, or says who has it.
    fn hold(
        &self,
        place: &lock::Place,
        patience: Option<Duration>,
        signals: &Signals,
    ) -> Result<Option<Held>, Failure> {
        let begun = Instant::now();
        let mut is_told = false;
        loop {
            let holder = match place.take().map_err(|error| not_locked(&error))? {
                lock::Taken::Held(held) => return Ok(held),
                lock::Taken::By(holder) => holder,
            };
            let waited = begun.elapsed();
            let left = patience.and_then(|patience| patience.checked_sub(waited));
            let Some(left) = left.filter(|left| !left.is_zero()) else {
                let wait = if self.is_told_when {
                    "wait for it: --wait-lock 60s"
                } else {
                    "wait until it has ended"
                };
                let hint = format!("{wait}; CPUDYNO_LOCK=off measures beside it");
                let text = format!("cannot measure: this host is measured by {holder}");
                return Err(Failure::new(code::REFUSED, text).hint(hint));
            };
            if !is_told {
                output::remark(&format!("note: waits for {holder} (--wait-lock)"));
                is_told = true;
            }
            if signals.stop().asked() {
                let text = format!("ended while it waited for {holder}: nothing was measured");
                return Err(signals.of(Failure::new(code::NOT_HERE, text)));
            }
            thread::sleep(left.min(STEP));
        }
    }
}

fn not_locked(error: &NotLocked) -> Failure {
    Failure::new(code::REFUSED, error.to_string()).hint(lock::HINT)
}

/// Waits for a time of day, however that clock is set meanwhile.
fn wait_until(time: StartTime, signals: &Signals) -> Result<(), Failure> {
    let left = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = now.as_secs_f64();
        (now, time.from(now))
    };
    let (now, ahead) = left();
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs_f64((now + ahead).max(0.0));
    let moment = humantime::format_rfc3339_seconds(moment);
    if ahead < 0.0 {
        let text = format!("cannot begin at {moment}: that was {} ago", words(-ahead));
        return Err(Failure::usage(text).hint("name a later time, in UTC: --at 14:30"));
    }
    output::remark(&format!("note: begins at {moment}, in {} (--at)", words(ahead)));
    // Of an hour the nearest one is asked for: what was ahead is now, or has just passed.
    sleep_while(signals, "--at", || {
        let (_, ahead) = left();
        (ahead > 0.0).then(|| Duration::from_secs_f64(ahead))
    })
}

fn wait_for(delay: Duration, why: &str, signals: &Signals) -> Result<(), Failure> {
    output::remark(&format!("note: begins in {} ({why})", words(delay.as_secs_f64())));
    let begun = Instant::now();
    sleep_while(signals, "--stagger", || {
        delay.checked_sub(begun.elapsed()).filter(|it| !it.is_zero())
    })
}

/// Sleeps as long as something is left, or until a signal comes.
fn sleep_while(
    signals: &Signals,
    option: &str,
    left: impl Fn() -> Option<Duration>,
) -> Result<(), Failure> {
    while let Some(left) = left() {
        if signals.stop().asked() {
            let text = format!("ended before its time came ({option}): nothing was measured");
            return Err(signals.of(Failure::new(code::NOT_HERE, text)));
        }
        thread::sleep(left.min(STEP));
    }
    Ok(())
}

/// The place of a name among all, from 0 to less than 1: always the same, and even for names that differ by a
/// digit.
///
/// # Source
/// FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>, 64 bits; the last steps are those of `MurmurHash3`
/// (fmix64), as the upper bits of FNV depend little on the last letters.
fn share(name: &str) -> f64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^= hash >> 33;
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

fn words(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    humantime::format_duration(Duration::from_secs(seconds as u64)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_spread_evenly_and_always_alike() {
        let mut tenths = [0; 10];
        for number in 0..1000 {
            tenths[(share(&format!("n{number:04}")) * 10.0) as usize] += 1;
        }
        // 100 +- 10 by chance: five times that.
        assert!(tenths.iter().all(|count| (50..=150).contains(count)), "{tenths:?}");
        assert_eq!(share("n1").to_bits(), share("n1").to_bits());
        assert!((share("n1") - share("n2")).abs() > 0.01);
        assert!((0.0..1.0).contains(&share("")));
    }
}
