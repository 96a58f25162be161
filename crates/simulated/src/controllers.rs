//! The memory controllers of a simulated machine: what went through them, and their PMUs.

use std::io;

use model::CpuId;
use sys::errno::{EACCES, EINVAL, ENODEV};
use sys::perf_open::Count;

use crate::description::{Controllers, Model};
use crate::faults::Fault;
use crate::files::Files;
use crate::files::PMUS;

/// Reads and writes of column addresses, as `event` and `umask` of Skylake servers.
const READ: u64 = 0x0304;
const WRITTEN: u64 = 0x0c04;
const LINE: f64 = 64.0;
const PMU: &str = "uncore_imc_";

impl Model {
    /// Lets so many bytes be read from the memory of a node, and written to it.
    pub fn carry(&self, node: u32, [read, written]: [f64; 2]) {
        let package = node / self.topology.nodes_per_package;
        let mut packages = self.through.packages();
        let sum = packages.entry(package).or_default();
        *sum = [sum[0] + read, sum[1] + written];
    }

    /// The memory controllers, where it has some.
    pub fn controllers(&self) -> Option<Controllers> {
        self.memory.as_ref()?.controllers
    }

    /// What a counter says, if it was opened as such on that CPU.
    ///
    /// # Error
    /// As the kernel answers: where plain users may count nothing outside of their threads, and where
    /// there is no such PMU, event or CPU.
    pub fn controller_count(&self, pmu: &str, config: u64, cpu: CpuId) -> io::Result<Count> {
        /// Where counters stand that are about to begin again at zero.
        const NEARLY: u64 = (1 << 48) - (1 << 20);
        let refused = |code| Err(io::Error::from_raw_os_error(code));
        if self.perf_event_paranoid > 0 {
            return refused(EACCES);
        }
        let channel = pmu.strip_prefix(PMU).and_then(|number| number.parse::<u32>().ok());
        let controllers = self.controllers().filter(|it| channel.is_some_and(|c| c < it.channels));
        let Some(controllers) = controllers.filter(|_| self.readers().contains(&cpu)) else {
            return refused(ENODEV);
        };
        let [read, written] =
            self.through.packages().get(&self.package_of(cpu)).copied().unwrap_or_default();
        let (own, others) = match config {
            READ => (read, controllers.idle_read),
            WRITTEN => (written, controllers.idle_written),
            _ => return refused(EINVAL),
        };
        let bytes = own + others * self.elapsed.seconds().0;
        let lines = bytes / LINE / f64::from(controllers.channels);
        let value = if self.has(Fault::ControllersReadZero) {
            0
        } else if self.has(Fault::ControllersSeeHalf) {
            (lines / 2.0) as u64
        } else if self.has(Fault::ControllersWrap) {
            NEARLY.wrapping_add(lines as u64) & ((1 << 48) - 1)
        } else {
            lines as u64
        };
        let [enabled_ns, running_ns] = self.counted_times();
        Ok(Count { value, enabled_ns, running_ns })
    }

    /// For how long counters were enabled, and counted, in nanoseconds.
    fn counted_times(&self) -> [u64; 2] {
        const STANDING_SINCE: f64 = 0.05;
        const TAKEN_SINCE: f64 = 1.2;
        const TAKEN_FOR: f64 = 0.1;
        let elapsed = self.elapsed.seconds().0;
        let stands = self.has(Fault::ControllersStandStill);
        let enabled = if stands { elapsed.min(STANDING_SINCE) } else { elapsed };
        let is_taken = self.has(Fault::ControllersTaken);
        let taken = if is_taken { (enabled - TAKEN_SINCE).clamp(0.0, TAKEN_FOR) } else { 0.0 };
        [enabled, enabled - taken / 2.0].map(|seconds| (seconds * 1e9).round() as u64)
    }

    /// The CPUs that read the counters: the first of each package.
    fn readers(&self) -> Vec<CpuId> {
        let of = |package| self.online().iter().find(|&cpu| self.package_of(cpu) == package);
        (0..self.topology.packages).filter_map(of).collect()
    }
}

/// The PMUs, as the kernel describes them.
pub(crate) fn put_controllers(files: &mut Files, model: &Model) {
    let Some(controllers) = model.controllers() else { return };
    let readers: model::CpuSet = model.readers().into_iter().collect();
    for channel in 0..controllers.channels {
        let mut put = |file: &str, text: &str| {
            files.put(format!("{PMUS}/{PMU}{channel}/{file}"), text);
        };
        put("type", &(20 + channel).to_string());
        put("cpumask", &readers.to_string());
        put("format/event", "config:0-7");
        put("format/umask", "config:8-15");
        put("format/edge", "config:18");
        for (event, umask) in [("cas_count_read", "0x03"), ("cas_count_write", "0x0c")] {
            put(&format!("events/{event}"), &format!("event=0x04,umask={umask}"));
            put(&format!("events/{event}.scale"), "6.103515625e-5");
            put(&format!("events/{event}.unit"), "MiB");
        }
    }
}
