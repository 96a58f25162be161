//! What sets something on a simulated machine.
//!
//! The kernel's rules that settings depend on are here: which words a file takes, which driver refuses
//! what, and what a setting changes elsewhere.

use std::io;

use model::{CpuId, Seconds};
use sys::errno::{EACCES, EBUSY, EINVAL, ENOENT, EPERM, EROFS};

use crate::description::Model;
use crate::faults::Fault;
use crate::files::CPU;
use crate::state::{GOVERNORS, LatencyRequest, PREFERENCES, key};
use crate::sysfs::SimulatedTree;

/// What writes settings of a simulated machine.
pub struct Writer {
    model: Model,
    tree: SimulatedTree,
    /// The limit of exit latency that is asked for.
    request: Option<LatencyRequest>,
}

impl Writer {
    /// That of a machine.
    pub fn new(model: &Model) -> Writer {
        Writer { model: model.clone(), tree: SimulatedTree::new(model), request: None }
    }

    /// Whether a file could be written.
    pub fn permits(&self, path: &str) -> io::Result<()> {
        if self.model.has(Fault::PlainUser) {
            return Err(code(EACCES));
        }
        if self.model.has(Fault::ReadOnlyFiles) {
            return Err(code(EROFS));
        }
        // What the tree does not have cannot be opened.
        self.file(path).map(drop).ok_or_else(|| code(ENOENT))
    }

    /// Whether a register could be written.
    pub fn permits_register(&self, cpu: CpuId, register: u32) -> io::Result<()> {
        if self.model.has(Fault::PlainUser) {
            return Err(code(EACCES));
        }
        crate::registers::holds(&self.model, cpu, register).map(drop).ok_or_else(|| code(ENOENT))
    }

    /// Whether a limit of exit latency could be asked for.
    pub fn permits_request(&self) -> io::Result<()> {
        let is_refused = self.model.has(Fault::PlainUser) || !self.model.may_limit_latency;
        if is_refused { Err(code(EACCES)) } else { Ok(()) }
    }

    /// Asks for a limit of exit latency, in microseconds.
    pub fn request(&mut self, text: &str) -> io::Result<()> {
        self.permits_request()?;
        let microseconds: u32 = text.parse().map_err(|_| code(EINVAL))?;
        if !self.model.has(Fault::SettingsDoNotStick) {
            let limit = Seconds(f64::from(microseconds) / 1e6);
            self.request = Some(self.model.idled.request(limit));
        }
        Ok(())
    }

    /// Asks for it no more.
    pub fn release(&mut self) {
        self.request = None;
    }

    /// Writes a file as its kernel would take it.
    pub fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.permits(path)?;
        let text = self.taken(path, text)?;
        if self.model.has(Fault::SettingsDoNotStick) {
            return Ok(());
        }
        let mut written = self.brought(path, &text)?;
        written.push((path.to_owned(), text));
        self.model.settings.change(|set| {
            for (path, text) in written {
                // What is as it came leaves no trace.
                if self.tree.came(&path).as_ref() == Some(&text) {
                    set.files.remove(&path);
                } else {
                    set.files.insert(path, text);
                }
            }
        })
    }

    /// What a write to a file also writes to others.
    ///
    /// # Source
    /// Linux, kernel/cpu.c: `cpuhp_smt_enable` brings all siblings, `cpu_smt_allowed`.
    fn brought(&self, path: &str, text: &str) -> io::Result<Vec<(String, String)>> {
        let is_sibling = |cpu: &CpuId| self.model.is_sibling(*cpu);
        let switch = |cpu: CpuId| format!("{CPU}/cpu{cpu}/online");
        if path.ends_with("/smt/control") {
            let digit = if text == "on" { "1" } else { "0" };
            let siblings = self.model.cpus().filter(is_sibling);
            return Ok(siblings.map(|cpu| (switch(cpu), digit.to_owned())).collect());
        }
        let along = crate::uncore::along(&self.model, path);
        if !along.is_empty() {
            return Ok(along.into_iter().map(|path| (path, text.to_owned())).collect());
        }
        let forbidden = self.model.forbids_smt()
            && text == "1"
            && self.model.cpus().filter(is_sibling).any(|cpu| switch(cpu) == path);
        if forbidden { Err(code(EPERM)) } else { Ok(Vec::new()) }
    }

    /// Sets or clears a bit of a register.
    pub fn write_bit(&self, cpu: CpuId, register: u32, bit: u8, to: bool) -> io::Result<()> {
        self.permits_register(cpu, register)?;
        let value =
            crate::registers::holds(&self.model, cpu, register).ok_or_else(|| code(ENOENT))?;
        self.write_register(cpu, register, if to { value | 1 << bit } else { value & !(1 << bit) })
    }

    /// Sets all of a register.
    pub fn write_register(&self, cpu: CpuId, register: u32, value: u64) -> io::Result<()> {
        self.permits_register(cpu, register)?;
        if self.model.has(Fault::SettingsDoNotStick) {
            return Ok(());
        }
        self.model.settings.change(|set| {
            set.registers.insert(key(cpu, register), value);
        })
    }

    /// What a file holds after a write.
    ///
    /// # Source
    /// Linux, drivers/cpufreq/{cpufreq,intel_pstate}.c, mm/huge_memory.c, drivers/base/cpu.c.
    fn taken(&self, path: &str, text: &str) -> io::Result<String> {
        let text = text.trim();
        let one_of = |words: &str| -> io::Result<String> {
            let known = words.split_whitespace().any(|word| word == text);
            if known { Ok(text.to_owned()) } else { Err(code(EINVAL)) }
        };
        let number = || text.parse::<u64>().map_err(|_| code(EINVAL));
        let file = path.rsplit('/').next().unwrap_or(path);
        match file {
            "scaling_governor" => one_of(GOVERNORS),
            "energy_performance_preference" => {
                let governor = path.replace("energy_performance_preference", "scaling_governor");
                if self.file(&governor).as_deref() == Some("performance") {
                    return Err(code(EBUSY));
                }
                match text.parse::<u64>() {
                    Ok(0..=255) => Ok(text.to_owned()),
                    _ => one_of(PREFERENCES),
                }
            }
            "no_turbo" | "boost" | "online" | "disable" | "numa_balancing" => one_of("0 1"),
            "platform_profile" => {
                one_of(&self.file(&format!("{path}_choices")).unwrap_or_default())
            }
            "energy_perf_bias" => one_of("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"),
            "control" => one_of("on off"),
            "scaling_min_freq" | "scaling_max_freq" => self.limit(path, file, number()?),
            "enabled" | "defrag" => {
                let list = self.file(path).unwrap_or_default();
                let plain = list.replace(['[', ']'], "");
                one_of(&plain)?;
                let marked =
                    |word: &str| if word == text { format!("[{word}]") } else { word.into() };
                Ok(plain.split_whitespace().map(marked).collect::<Vec<_>>().join(" "))
            }
            "pm_qos_resume_latency_us" if text == "n/a" => Ok(text.to_owned()),
            // The kernel sets aside what it finds.
            "nr_hugepages" => {
                const PAGE_BYTES: u64 = 2 << 20;
                Ok(number()?.min(self.model.caches.memory_bytes / PAGE_BYTES).to_string())
            }
            // Ratios of 100 MHz.
            "min_freq_khz" | "max_freq_khz" => Ok((number()? / 100_000 * 100_000).to_string()),
            _ => number().map(|number| number.to_string()),
        }
    }

    /// A limit of the clock: within what the hardware has, and not beyond the other one.
    fn limit(&self, path: &str, file: &str, khz: u64) -> io::Result<String> {
        let read =
            |other: &str| -> Option<u64> { self.file(&path.replace(file, other))?.parse().ok() };
        let least = read("cpuinfo_min_freq").unwrap_or(0);
        // Without boost the kernel keeps what is asked for beyond base, too.
        let came = self.tree.came(&path.replace(file, "cpuinfo_max_freq"));
        let most = came.and_then(|khz| khz.parse().ok()).unwrap_or(u64::MAX);
        let khz = khz.clamp(least, most);
        let left = path.strip_suffix(file).and_then(|folder| self.tree.highest_khz(folder));
        let shown = khz.min(left.unwrap_or(khz));
        let fits = match file {
            "scaling_min_freq" => read("scaling_max_freq").is_none_or(|max| shown <= max),
            _ => read("scaling_min_freq").is_none_or(|min| shown >= min),
        };
        if fits { Ok(khz.to_string()) } else { Err(code(EINVAL)) }
    }

    /// What a setting holds: as it was set, or as the machine came.
    fn file(&self, path: &str) -> Option<String> {
        self.tree.read(path).ok()
    }
}

fn code(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}
