//! The counters as events of the kernel's PMU `msr`, for all that happens on a CPU.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use model::{CpuId, Obstacle, Reading, Unavailable};
use sys::perf_open::{Event, Scope, open};

use super::{Counts, WHAT};
use crate::pmu::Pmu;
use crate::ports::Tree;
use crate::probes::for_everybody;

/// Both events, and the CPUs on which they are open.
pub(super) struct Events {
    aperf: Event,
    mperf: Event,
    open: Mutex<BTreeMap<CpuId, Arc<CounterFiles>>>,
}

struct CounterFiles {
    aperf: File,
    mperf: File,
}

impl Events {
    /// The events of these names of the PMU `msr`.
    ///
    /// # Source
    /// Linux, arch/x86/events/msr.c: `aperf` and `mperf` are there where the CPU has the pair; no
    /// mode can be left out.
    pub(super) fn named(tree: &dyn Tree, aperf: &str, mperf: &str) -> Reading<Events> {
        let msr = Pmu::new(tree, "msr");
        let kind = msr.kind()?;
        let event = |name: &str| -> Reading<Event> {
            let [config, ..] = msr.event(name)?.config;
            Ok(Event { kind, config, kernel: true })
        };
        Ok(Events { aperf: event(aperf)?, mperf: event(mperf)?, open: Mutex::default() })
    }

    /// Both counters of a CPU, counted from when they were first read there.
    pub(super) fn read(&self, cpu: CpuId) -> Reading<Counts> {
        let pair = self.pair(cpu).map_err(|error| refused(cpu, &error))?;
        let counts = || Ok(Counts { mperf: count(&pair.mperf)?, aperf: count(&pair.aperf)? });
        counts().map_err(|error: io::Error| {
            let why = format!("reading the kernel's counters of CPU {cpu} failed: {error}");
            Unavailable::new(Obstacle::Hardware, WHAT, why)
        })
    }

    fn pair(&self, cpu: CpuId) -> io::Result<Arc<CounterFiles>> {
        let mut open_pairs = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pair) = open_pairs.get(&cpu) {
            return Ok(Arc::clone(pair));
        }
        let file = |event| open(event, Scope::Everybody(cpu)).map(File::from);
        let pair = Arc::new(CounterFiles { aperf: file(self.aperf)?, mperf: file(self.mperf)? });
        open_pairs.insert(cpu, Arc::clone(&pair));
        Ok(pair)
    }
}

fn count(mut event: &File) -> io::Result<u64> {
    let mut value = [0; 8];
    event.read_exact(&mut value)?;
    Ok(u64::from_ne_bytes(value))
}

fn refused(cpu: CpuId, error: &io::Error) -> Unavailable {
    let why = format!("perf_event_open of the PMU `msr` on CPU {cpu} answered `{error}`");
    let refused = Unavailable::new(Obstacle::Permission, WHAT, why);
    refused.with_remedy(for_everybody(error))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::ticks::Ticks;
    use simulated::Files;

    use super::*;
    use crate::pmu::PMUS;
    use crate::ports::Machine;

    fn pmu(events: &[(&str, &str)]) -> Files {
        let mut files = Files::default();
        files.put(format!("{PMUS}/msr/type"), "10");
        files.put(format!("{PMUS}/msr/format/event"), "config:0-63");
        for (name, text) in events {
            files.put(format!("{PMUS}/msr/events/{name}"), text);
        }
        files
    }

    #[test]
    fn events_are_read_from_the_pmus_files() {
        let files = pmu(&[("aperf", "event=0x01"), ("mperf", "event=0x02")]);
        let events = Events::named(&files, "aperf", "mperf").unwrap();
        assert_eq!(events.aperf, Event { kind: 10, config: 1, kernel: true });
        assert_eq!(events.mperf, Event { kind: 10, config: 2, kernel: true });
        let reason = |files: &Files| Events::named(files, "aperf", "mperf").err().unwrap().why;
        assert!(reason(&pmu(&[("tsc", "event=0x00")])).contains("msr/events/aperf"));
        assert!(reason(&pmu(&[("aperf", "1")])).contains("msr/format/1`"));
    }

    /// The TSC is an event of this PMU on every x86, so that the way is walked in guests, too.
    #[test]
    fn where_the_kernel_lets_us_the_counters_count() {
        let machine = Machine::real();
        let cpu = machine.host.affinity().unwrap().iter().next().unwrap();
        let read = || {
            let events = Events::named(machine.tree.as_ref(), "tsc", "tsc")?;
            events.read(cpu).map(|_| events)
        };
        let events = match read() {
            Ok(events) => events,
            Err(reason) => return assert!(!reason.why.is_empty(), "{reason:?}"),
        };
        let ratio = || {
            let first = events.read(cpu).unwrap();
            let began = sys::clock::monotonic_raw();
            let mut elapsed = Duration::ZERO;
            while elapsed < Duration::from_millis(2) {
                elapsed = sys::clock::monotonic_raw().saturating_sub(began);
            }
            let second = events.read(cpu).unwrap();
            second.since(first, Ticks::new(elapsed.as_nanos() as u64)).unwrap().ratio()
        };
        // Whoever is held up between the reading of one and of the other has read more of that: not half of the time.
        let ratios: Vec<f64> = std::iter::repeat_with(ratio).take(25).collect();
        let middle = model::stats::median(&ratios).unwrap();
        assert!((middle - 1.0).abs() < 0.1, "{ratios:?}");
    }
}
