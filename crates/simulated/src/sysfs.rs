//! The files of a simulated machine.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use model::{CpuId, CpuSet, Reading};

use crate::controllers::put_controllers;
use crate::description::{Model, Slot};
use crate::faults::Fault;
use crate::files::{CPU, Files, digits_of, kilohertz, missing};
use crate::firmware::Firmware;
use crate::pmu::put_pmus;
use crate::state::{Came, GOVERNORS, PREFERENCES, Settings};
use crate::uncore::{self, put_uncore};
use crate::work::{HWMON, drawn, put_power};

const NODE: &str = "/sys/devices/system/node";

/// The files of a simulated machine: most never change, counters grow with the time that passes.
#[derive(Clone)]
pub struct SimulatedTree {
    files: Arc<Files>,
    model: Model,
    /// The path of the list of CPUs that are switched on.
    online: String,
}

impl Came {
    /// Those of a description, made anew.
    pub(crate) fn of(model: &Model) -> Came {
        Came(Some(came_with(model)))
    }
}

fn came_with(model: &Model) -> Arc<Files> {
    // What was set on it is asked for with each file.
    let model = &Model { settings: Settings::default(), ..model.clone() };
    let mut files = Files::default();
    put_topology(&mut files, model);
    put_nodes(&mut files, model);
    put_caches(&mut files, model);
    put_idle(&mut files, model);
    put_registers(&mut files, model);
    put_levels(&mut files, model);
    if !model.has(Fault::NoCpufreq) {
        put_cpufreq(&mut files, model);
    }
    put_platform(&mut files, model);
    put_kernel(&mut files, model);
    put_controllers(&mut files, model);
    put_power(&mut files, model);
    put_pmus(&mut files, model);
    for path in ["/proc/stat", "/proc/interrupts"] {
        files.put(path, "");
    }
    // Guests see neither sensors nor throttling.
    let bare = model.identity.hypervisor.is_none();
    for cpu in model.online().iter().filter(|_| bare) {
        for scope in ["core", "package"] {
            files.put(throttle_count(cpu, scope), "0");
        }
    }
    Arc::new(files)
}

impl SimulatedTree {
    /// Those of a machine.
    pub fn new(model: &Model) -> SimulatedTree {
        let files = model.came.0.clone().unwrap_or_else(|| came_with(model));
        SimulatedTree { files, model: model.clone(), online: format!("{CPU}/online") }
    }
}

impl SimulatedTree {
    /// As it was set, or as the machine came.
    fn setting(&self, path: &str) -> Reading<String> {
        let came = self.files.read(path)?;
        let came = self.base_frequency(path).unwrap_or(came);
        if self.model.settings.is_empty() {
            return Ok(came);
        }
        // A CPU that is switched off keeps the file that switches it on.
        if let Some((cpu, file)) = of_cpu(path)
            && file != "online"
            && !self.model.is_online(cpu)
        {
            return Err(missing(path));
        }
        if let Some((cpu, file)) = of_cpu(path)
            && SIBLINGS.contains(&file)
        {
            return Ok(siblings(&self.model, &self.model.online(), cpu).shown(file));
        }
        // Governor `performance` makes the preference performance for as long as it is set.
        if let Some(folder) = path.strip_suffix("energy_performance_preference")
            && self.setting(&format!("{folder}scaling_governor")).as_deref() == Ok("performance")
        {
            return Ok("performance".to_owned());
        }
        // Speed Select's machines have the older kernel of its guide, which leaves that file as it is.
        if self.model.speed_select.is_none()
            && let Some(folder) = path.strip_suffix("cpuinfo_max_freq")
            && let Some(khz) = self.highest_khz(folder)
        {
            return Ok(khz.to_string());
        }
        let set = self.model.settings.text(path).unwrap_or(came);
        Ok(self.in_force(path, &set).unwrap_or(set))
    }

    /// What a limit of the clock comes to: the kernel keeps what was asked for, and shows what is left.
    ///
    /// # Source
    /// Linux, drivers/cpufreq/intel_pstate.c: `intel_pstate_verify_cpu_policy`.
    fn in_force(&self, path: &str, set: &str) -> Option<String> {
        let folder = path.strip_suffix("scaling_max_freq");
        let is_max = folder.is_some();
        let folder = folder.or_else(|| path.strip_suffix("scaling_min_freq"))?;
        let khz: u64 = set.parse().ok()?;
        let most: u64 = if is_max {
            self.highest_khz(folder)?
        } else {
            self.setting(&format!("{folder}scaling_max_freq")).ok()?.parse().ok()?
        };
        Some(khz.min(most).to_string())
    }

    /// The highest clock that the driver gives the CPU of a folder `cpufreq`: without boost its base, but for drivers
    /// that say the same of both.
    ///
    /// # Source
    /// Linux, drivers/cpufreq: `intel_pstate.c`, `__intel_pstate_update_max_freq`; `amd-pstate.c`,
    /// `amd_pstate_cpu_boost_update`; `acpi-cpufreq.c`, `set_boost`, which writes a register alone.
    pub(crate) fn highest_khz(&self, folder: &str) -> Option<u64> {
        let path = format!("{folder}cpuinfo_max_freq");
        let came = self.files.read(&path).ok()?;
        let most: u64 = self.model.settings.text(&path).unwrap_or(came).parse().ok()?;
        let is =
            |file: &str, text: &str| self.setting(&format!("{CPU}/{file}")).as_deref() == Ok(text);
        let is_amd =
            self.model.cpufreq_driver.as_deref().is_some_and(|it| it.starts_with("amd-pstate"));
        let base = if is("intel_pstate/no_turbo", "1") {
            self.setting(&format!("{folder}base_frequency")).ok()?.parse().ok()?
        } else if is_amd && is("cpufreq/boost", "0") && !self.model.has(Fault::IgnoresBoost) {
            (self.model.clock.tsc_hz / 1e3).round() as u64
        } else {
            u64::MAX
        };
        Some(most.min(base))
    }
}

impl SimulatedTree {
    /// What a file held when the machine came.
    pub(crate) fn came(&self, path: &str) -> Option<String> {
        self.files.read(path).ok()
    }

    /// What the firmware guarantees a CPU, where the path asks for that and there is one.
    fn base_frequency(&self, path: &str) -> Option<String> {
        let firmware = Firmware::of(&self.model)?;
        let (cpu, _) = of_cpu(path).filter(|(_, file)| *file == "cpufreq/base_frequency")?;
        firmware.base_mhz(cpu).map(|mhz| (u32::from(mhz) * 1000).to_string())
    }
}

/// The CPU whose file it is, and the rest of its path.
fn of_cpu(path: &str) -> Option<(CpuId, &str)> {
    let (cpu, file) = path.strip_prefix(CPU)?.strip_prefix("/cpu")?.split_once('/')?;
    Some((CpuId(cpu.parse().ok()?), file))
}

fn throttle_count(cpu: CpuId, scope: &str) -> String {
    format!("{CPU}/cpu{cpu}/thermal_throttle/{scope}_throttle_count")
}

impl SimulatedTree {
    /// The text of the file at an absolute path, without its final newline.
    pub fn read(&self, path: &str) -> Reading<String> {
        match path {
            "/proc/stat" => Ok(stat(&self.model)),
            "/sys/fs/cgroup/cpu.stat" => Ok(throttled(&self.model)),
            "/proc/interrupts" => Ok(interrupts(&self.model)),
            _ if path.ends_with("core_throttle_count")
                && self.model.has(Fault::ThermalThrottle) =>
            {
                Ok((self.model.elapsed.seconds().0 as u64).to_string())
            }
            _ if path.ends_with("dimm0/dimm_ce_count") && self.model.has(Fault::MemoryErrors) => {
                Ok(((self.model.elapsed.seconds().0 * 10.0) as u64).to_string())
            }
            _ if path.ends_with("/energy_uj") || path.starts_with(HWMON) => {
                drawn(&self.model, path).unwrap_or_else(|| self.setting(path))
            }
            "/sys/devices/system/cpu/smt/active" => Ok(u8::from(self.model.has_smt()).to_string()),
            "/sys/devices/system/cpu/offline" => {
                let all: CpuSet = self.model.cpus().collect();
                Ok(all.difference(&self.model.online()).to_string())
            }
            _ if path == self.online => Ok(self.model.online().to_string()),
            _ if path.ends_with("/current_freq_khz") => uncore::clock(&self.model, path),
            _ => idle_count(&self.model, path).unwrap_or_else(|| self.setting(path)),
        }
    }

    /// The names of the entries of a folder, sorted.
    pub fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.files.list(path)
    }
}

/// How often a quota stopped threads, and for how long, all CPUs together.
fn throttled(model: &Model) -> String {
    /// About so long at once.
    const ONCE: f64 = 1e-3;
    let seconds = model.elapsed.seconds().0 * model.noise.quota_share * model.online().len() as f64;
    format!("nr_throttled {:.0}\nthrottled_usec {:.0}", seconds / ONCE, seconds * 1e6)
}

/// In units of 10 ms: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice.
fn stat(model: &Model) -> String {
    let elapsed = model.elapsed.seconds().0 * 100.0;
    let steal = (elapsed * model.noise.steal_share) as u64;
    // A run's own CPUs nobody asks for.
    let left = elapsed as u64 - steal;
    let (mut of_all, mut lines) = ([0; 2], String::new());
    for cpu in model.online().iter() {
        let busy = ((model.busy(cpu).seconds * 100.0) as u64).min(left);
        let idle = left - busy;
        of_all = [of_all[0] + busy, of_all[1] + idle];
        let _ = writeln!(lines, "cpu{cpu} {busy} 0 0 {idle} 0 0 0 {steal} 0 0");
    }
    let [busy, idle] = of_all;
    let steal = steal * model.online().len() as u64;
    format!("cpu  {busy} 0 0 {idle} 0 0 0 {steal} 0 0\n{lines}btime 1767225600")
}

fn interrupts(model: &Model) -> String {
    let count = (model.elapsed.seconds().0 * model.noise.interrupts_per_second) as u64;
    let mut header = String::new();
    let mut timer = String::from("LOC:");
    for cpu in model.online().iter() {
        let _ = write!(header, " CPU{cpu}");
        let _ = write!(timer, " {count}");
    }
    format!("{header}\n{timer} Local timer interrupts")
}

fn put_topology(files: &mut Files, model: &Model) {
    let all: CpuSet = model.cpus().collect();
    let online = model.online();
    for list in ["possible", "present"] {
        files.put(format!("{CPU}/{list}"), &all);
    }
    files.put(format!("{CPU}/online"), &online);
    files.put(format!("{CPU}/offline"), &all.difference(&online));
    files.put(format!("{CPU}/isolated"), &model.topology.isolated);
    files.put(format!("{CPU}/nohz_full"), "");
    for cpu in online.iter() {
        let (package, core) = (model.package_of(cpu), model.claimed_core_of(cpu));
        let die = Firmware::of(model).and_then(|firmware| firmware.die(cpu)).unwrap_or(0);
        let folder = format!("{CPU}/cpu{cpu}");
        files.put(format!("{folder}/topology/physical_package_id"), &package);
        files.put(format!("{folder}/topology/die_id"), &die);
        files.put(format!("{folder}/topology/core_id"), &core);
        let siblings = siblings(model, &online, cpu);
        for file in SIBLINGS {
            files.put(format!("{folder}/{file}"), &siblings.shown(file));
        }
    }
    // What each kind's events can be counted on tells the kinds apart.
    for (unit, efficient) in [("cpu_core", false), ("cpu_atom", true)] {
        let members: CpuSet =
            online.iter().filter(|&cpu| model.is_efficient(cpu) == Some(efficient)).collect();
        if !members.is_empty() {
            files.put(format!("/sys/devices/{unit}/cpus"), &members);
        }
    }
    let smt = if model.topology.threads_per_core > 1 { "on" } else { "notsupported" };
    files.put(format!("{CPU}/smt/control"), &smt);
    files.put(format!("{CPU}/smt/active"), "");
    // The first CPU cannot be switched off.
    for cpu in model.cpus().skip(1) {
        files.put(format!("{CPU}/cpu{cpu}/online"), &u8::from(online.contains(cpu)));
    }
}

/// Who shares a core, as a list and as a mask; the words with `thread` are the older ones.
const SIBLINGS: [&str; 3] =
    ["topology/core_cpus_list", "topology/thread_siblings_list", "topology/thread_siblings"];

/// Those that share a core with a CPU, among so many CPUs.
struct Siblings {
    cpus: CpuSet,
    among: usize,
}

fn siblings(model: &Model, online: &CpuSet, cpu: CpuId) -> Siblings {
    let place = |cpu| (model.package_of(cpu), model.claimed_core_of(cpu));
    let cpus = online.iter().filter(|other| place(*other) == place(cpu)).collect();
    Siblings { cpus, among: model.cpus().len() }
}

impl Siblings {
    fn shown(&self, file: &str) -> String {
        if file.ends_with("_list") { self.cpus.to_string() } else { mask(&self.cpus, self.among) }
    }
}

/// A bit for each CPU, in words of 32 that begin with the last one; the first one is only as long as it
/// must be.
///
/// # Source
/// Linux, lib/vsprintf.c: `bitmap_string`.
fn mask(cpus: &CpuSet, width: usize) -> String {
    const WORD: usize = 32;
    let words = (0..width.div_ceil(WORD)).rev().map(|word| {
        let first = word * WORD;
        let bits = cpus.iter().filter_map(|cpu| (cpu.0 as usize).checked_sub(first));
        let bits = bits.filter(|bit| *bit < WORD).fold(0u32, |bits, bit| bits | 1 << bit);
        let digits = (width - first).min(WORD).div_ceil(4);
        format!("{bits:0digits$x}")
    });
    words.collect::<Vec<_>>().join(",")
}

fn put_nodes(files: &mut Files, model: &Model) {
    let nodes = model.nodes();
    let online: CpuSet = (0..nodes).map(CpuId).collect();
    files.put(format!("{NODE}/online"), &online);
    let kibibytes = model.caches.memory_bytes / 1024 / u64::from(nodes);
    for node in 0..nodes {
        let members: CpuSet =
            model.online().iter().filter(|&cpu| model.node_of(cpu) == node).collect();
        let folder = format!("{NODE}/node{node}");
        files.put(format!("{folder}/cpulist"), &members);
        let lines = ["MemTotal", "MemFree"].map(|key| format!("Node {node} {key}: {kibibytes} kB"));
        files.put(format!("{folder}/meminfo"), &lines.join("\n"));
        if let Some(remote) = model.topology.remote_node_distance {
            let distance = |to| if to == node { 10 } else { remote }.to_string();
            let distances: Vec<String> = (0..nodes).map(distance).collect();
            files.put(format!("{folder}/distance"), &distances.join(" "));
        }
    }
}

fn put_caches(files: &mut Files, model: &Model) {
    let of = &model.caches;
    // Level, type, bytes and ways.
    let caches = [
        (1, "Data", Some(of.l1d_bytes), of.l1d_ways),
        (1, "Instruction", of.l1i_bytes, of.l1i_ways),
        (2, "Unified", Some(of.l2_bytes), of.l2_ways),
        (3, "Unified", Some(of.l3_bytes), of.l3_ways),
    ];
    let present = caches
        .iter()
        .filter_map(|(level, kind, bytes, ways)| Some((*level, kind, (*bytes)?, ways)));
    for (index, (level, kind, bytes, ways)) in present.enumerate() {
        let mut sharers: BTreeMap<(u32, u32, u32), Vec<CpuId>> = BTreeMap::new();
        let instance = |cpu| match level {
            1 => (model.package_of(cpu), model.claimed_core_of(cpu), 0),
            2 => model.l2_of(cpu),
            _ => {
                let (package, cache) = model.cache_of(cpu);
                (package, cache, 0)
            }
        };
        for cpu in model.online().iter().filter(|cpu| level < 3 || model.has_l3(*cpu)) {
            sharers.entry(instance(cpu)).or_default().push(cpu);
        }
        for cpus in sharers.into_values() {
            let shared: CpuSet = cpus.iter().copied().collect();
            for cpu in cpus {
                let own = model.kind_of(cpu).and_then(|kind| kind.l2_bytes);
                let bytes = own.filter(|_| level == 2).unwrap_or(bytes);
                let cache = format!("{CPU}/cpu{cpu}/cache/index{index}");
                files.put(format!("{cache}/level"), &level);
                files.put(format!("{cache}/type"), kind);
                files.put(format!("{cache}/size"), &format!("{}K", bytes / 1024));
                files.put(format!("{cache}/shared_cpu_list"), &shared);
                if let Some(line) = of.line_bytes {
                    files.put(format!("{cache}/coherency_line_size"), &line);
                }
                if let Some(ways) = ways {
                    files.put(format!("{cache}/ways_of_associativity"), ways);
                }
            }
        }
    }
}

fn put_idle(files: &mut Files, model: &Model) {
    if model.idle.is_empty() {
        return;
    }
    let driver = if model.identity.is_amd() { "acpi_idle" } else { "intel_idle" };
    files.put(format!("{CPU}/cpuidle/current_driver"), driver);
    files.put(format!("{CPU}/cpuidle/current_governor"), "menu");
    let microseconds = |seconds: f64| (seconds * 1e6).round() as u64;
    for cpu in model.online().iter() {
        files.put(format!("{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us"), "0");
        for (index, state) in model.idle.iter().enumerate() {
            let folder = format!("{CPU}/cpu{cpu}/cpuidle/state{index}");
            files.put(format!("{folder}/name"), &state.name);
            files.put(format!("{folder}/desc"), &format!("SIMULATED {}", state.name));
            files.put(format!("{folder}/latency"), &microseconds(state.exit_latency_seconds));
            files.put(format!("{folder}/residency"), &microseconds(state.target_residency_seconds));
            files.put(format!("{folder}/disable"), "0");
            for count in ["usage", "time"] {
                files.put(format!("{folder}/{count}"), "");
            }
        }
    }
}

/// How often a CPU was in a state, or for how many microseconds, where the path asks for that.
fn idle_count(model: &Model, path: &str) -> Option<Reading<String>> {
    let (cpu, rest) = path.strip_prefix(CPU)?.strip_prefix("/cpu")?.split_once("/cpuidle/state")?;
    let (state, file) = rest.split_once('/')?;
    let count = *model.idle_counts(CpuId(cpu.parse().ok()?)).get(state.parse::<usize>().ok()?)?;
    match file {
        "usage" => Some(Ok(count.entries.to_string())),
        "time" => Some(Ok(((count.seconds * 1e6).round() as u64).to_string())),
        _ => None,
    }
}

/// Files that the kernel makes of registers, all of them Intel's.
fn put_registers(files: &mut Files, model: &Model) {
    let Some(registers) = model.registers.filter(|_| !model.identity.is_amd()) else { return };
    for cpu in model.online().iter() {
        let path = format!("{CPU}/cpu{cpu}/power/energy_perf_bias");
        files.put(path, &registers.energy_perf_bias);
    }
    put_uncore(files, model, registers);
}

/// What ACPI says of levels of performance.
fn put_levels(files: &mut Files, model: &Model) {
    let lowest = model.registers.map_or(model.clock.tsc_hz, |registers| registers.lowest_hz);
    let efficient = model.registers.map_or(lowest, |registers| registers.efficient_hz);
    let nominal = model.clock.tsc_hz;
    for cpu in model.online().iter() {
        let clocks = [
            ("lowest", lowest),
            ("lowest_nonlinear", efficient),
            ("nominal", nominal),
            ("highest", model.highest_hz(cpu)),
        ];
        let folder = format!("{CPU}/cpu{cpu}/acpi_cppc");
        for (name, hertz) in clocks {
            let Some(level) = model.level(hertz) else { return };
            files.put(format!("{folder}/{name}_perf"), &level);
        }
        for (name, hertz) in [("lowest", lowest), ("nominal", nominal)] {
            files.put(format!("{folder}/{name}_freq"), &((hertz / 1e6).round() as u64));
        }
    }
}

/// The driver of a machine that names none.
const INTEL_PSTATE: &str = "intel_pstate";
/// The active driver of AMD.
const AMD_PSTATE: &str = "amd-pstate-epp";

fn put_cpufreq(files: &mut Files, model: &Model) {
    let base = model.clock.tsc_hz;
    let driver = model.cpufreq_driver.as_deref().unwrap_or(INTEL_PSTATE);
    for cpu in model.online().iter() {
        let max = model.highest_hz(cpu);
        let lowest = model.registers.map_or(max / 4.0, |registers| registers.lowest_hz);
        let values = [
            ("scaling_driver", driver.to_string()),
            ("scaling_governor", "performance".to_string()),
            ("scaling_available_governors", GOVERNORS.to_string()),
            ("energy_performance_available_preferences", PREFERENCES.to_string()),
            ("energy_performance_preference", "performance".to_string()),
            ("cpuinfo_max_freq", kilohertz(max)),
            ("cpuinfo_min_freq", kilohertz(lowest)),
            ("scaling_min_freq", kilohertz(lowest)),
            ("scaling_max_freq", kilohertz(max)),
        ];
        let base = (driver != AMD_PSTATE).then(|| ("base_frequency", kilohertz(base)));
        let boosted = (driver == AMD_PSTATE).then(|| ("amd_pstate_max_freq", kilohertz(max)));
        for (name, value) in values.into_iter().chain(base).chain(boosted) {
            files.put(format!("{CPU}/cpu{cpu}/cpufreq/{name}"), &value);
        }
    }
    if driver == AMD_PSTATE {
        files.put(format!("{CPU}/amd_pstate/status"), "active");
    }
    if driver == INTEL_PSTATE {
        files.put(format!("{CPU}/intel_pstate/status"), "active");
        files.put(format!("{CPU}/intel_pstate/no_turbo"), "0");
    }
    if driver != INTEL_PSTATE || model.has(Fault::IgnoresBoost) {
        files.put(format!("{CPU}/cpufreq/boost"), "1");
    }
}

/// Slots by firmware's tables, and filled ones by EDAC, as on a server whose packages have one controller each.
fn put_dimms(files: &mut Files, model: &Model) {
    if model.has(Fault::Container) {
        return;
    }
    if let Some(table) = model.memory_table() {
        files.put("/sys/firmware/dmi/tables/DMI", &digits_of(&table));
    }
    let Some(dimms) = &model.dimms else { return };
    for package in 0..model.topology.packages {
        let controller = format!("/sys/devices/system/edac/mc/mc{package}");
        for file in ["ce_count", "ue_count", "ce_noinfo_count", "ue_noinfo_count"] {
            files.put(format!("{controller}/{file}"), "0");
        }
        files.put(
            format!("{controller}/max_location"),
            &format!("channel {} slot 0", dimms.channels - 1),
        );
    }
    for slot in dimms.slots(&model.topology).iter().filter(|slot| slot.is_filled) {
        let Slot { package, channel, .. } = slot;
        let folder = format!("/sys/devices/system/edac/mc/mc{package}/dimm{channel}");
        for (file, text) in [
            ("size", (dimms.bytes >> 20).to_string()),
            ("dimm_label", format!("CPU_SrcID#{package}_MC#0_Chan#{channel}_DIMM#0")),
            ("dimm_location", format!("channel {channel} slot 0")),
            ("dimm_mem_type", format!("Registered-{}", dimms.kind)),
            ("dimm_edac_mode", "S4ECD4ED".to_owned()),
            ("dimm_ce_count", "0".to_owned()),
            ("dimm_ue_count", "0".to_owned()),
        ] {
            files.put(format!("{folder}/{file}"), &text);
        }
    }
}

fn put_platform(files: &mut Files, model: &Model) {
    let identity = &model.identity;
    if let Some(profile) = model.platform_profiles.first() {
        files.put("/sys/firmware/acpi/platform_profile", profile);
        let choices = model.platform_profiles.join(" ");
        files.put("/sys/firmware/acpi/platform_profile_choices", &choices);
    }
    files.put("/proc/cpuinfo", &cpuinfo(model));
    // Nobody uses any of it.
    let kibibytes = model.caches.memory_bytes / 1024;
    let lines = ["MemTotal", "MemFree", "MemAvailable"].map(|key| format!("{key}: {kibibytes} kB"));
    let swap = ["SwapTotal: 0 kB", "SwapFree: 0 kB"].map(str::to_owned);
    files.put("/proc/meminfo", &[lines.as_slice(), &swap].concat().join("\n"));
    if model.has(Fault::Container) {
        files.put("/.dockerenv", "");
    }
    files.put("/proc/loadavg", "0.00 0.00 0.00 1/100 1");
    files.put("/proc/self/cgroup", "0::/");
    let quota = model.topology.quota_cpus.map(|cpus| format!("{:.0} 100000", cpus * 1e5));
    files.put("/sys/fs/cgroup/cpu.max", quota.as_deref().unwrap_or("max 100000"));
    let nodes: CpuSet = (0..model.nodes()).map(CpuId).collect();
    let status = format!("CapEff:\t0000000000000000\nSeccomp:\t0\nMems_allowed_list:\t{nodes}");
    files.put("/proc/self/status", &status);
    files.put("/proc/self/uid_map", "0 0 4294967295");
    files.put("/proc/modules", "");
    if !model.has(Fault::NoMsr) {
        files.put("/sys/module/msr/initstate", "live");
    }
    files.put("/proc/sys/kernel/perf_event_paranoid", &model.perf_event_paranoid);
    files.put("/proc/sys/vm/nr_hugepages", "0");
    let huge = "/sys/kernel/mm/hugepages/hugepages-1048576kB";
    for file in ["nr_hugepages", "free_hugepages"] {
        files.put(format!("{huge}/{file}"), "0");
    }
    files.put("/sys/fs/cgroup/cpu.stat", "nr_throttled 0\nthrottled_usec 0");
    put_dimms(files, model);
    files.put("/sys/class/dmi/id/bios_vendor", "SIMULATED firmware");
    files.put("/sys/class/dmi/id/bios_version", "1");
    for (file, text) in
        [("bios_date", &identity.firmware_date), ("product_name", &identity.product)]
    {
        if let Some(text) = text {
            files.put(format!("/sys/class/dmi/id/{file}"), text);
        }
    }
    for pool in &model.huge_pages {
        let folder = format!("/sys/kernel/mm/hugepages/hugepages-{}kB", pool.page_bytes / 1024);
        files.put(format!("{folder}/nr_hugepages"), &pool.reserved);
        files.put(format!("{folder}/free_hugepages"), &pool.free);
    }
    let huge = "/sys/kernel/mm/transparent_hugepage";
    files.put(format!("{huge}/enabled"), "always [madvise] never");
    files.put(format!("{huge}/defrag"), "always defer defer+madvise [madvise] never");
    files.put("/proc/sys/kernel/numa_balancing", &u8::from(model.nodes() > 1));
    files.put("/proc/sys/kernel/sched_schedstats", "0");
    files.put("/proc/sys/vm/zone_reclaim_mode", "0");
    files.put("/proc/sys/vm/swappiness", "60");
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    files.put(clock, "tsc");
    if identity.hypervisor.is_none() {
        files.put("/sys/class/thermal/thermal_zone0/temp", "45000");
    }
}

fn put_kernel(files: &mut Files, model: &Model) {
    let identity = &model.identity;
    files.put("/proc/sys/kernel/osrelease", &identity.kernel);
    if let Some(version) = &identity.kernel_version {
        files.put("/proc/sys/kernel/version", version);
    }
    if let Some(line) = &identity.command_line {
        files.put("/proc/cmdline", line);
    }
    let folder = format!("{CPU}/vulnerabilities");
    if model.vulnerabilities.is_empty() {
        files.put(format!("{folder}/simulated"), "Not affected");
    }
    for (name, answer) in &model.vulnerabilities {
        files.put(format!("{folder}/{name}"), answer);
    }
}

fn cpuinfo(model: &Model) -> String {
    let identity = &model.identity;
    let isa: Vec<&str> = identity.isa.iter().map(|isa| isa.name()).collect();
    let guest = if identity.hypervisor.is_some() { " hypervisor" } else { "" };
    model.online().iter().fold(String::new(), |mut text, cpu| {
        let _ = writeln!(text, "processor\t: {cpu}\nvendor_id\t: {}", identity.vendor);
        let _ = writeln!(text, "cpu family\t: {}\nmodel\t\t: {}", identity.family, identity.model);
        let _ =
            writeln!(text, "model name\t: {}\nstepping\t: {}", identity.brand, identity.stepping);
        let _ = writeln!(text, "microcode\t: {}", identity.microcode);
        let _ = writeln!(
            text,
            "flags\t\t: fpu tsc constant_tsc nonstop_tsc{guest} {}\n",
            isa.join(" ")
        );
        text
    })
}
