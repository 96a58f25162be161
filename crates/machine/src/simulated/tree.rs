//! The files of a simulated machine.

use std::fmt::Write;

use model::{CpuId, CpuSet};

use super::model::{Fault, Model};
use crate::files::Files;
use crate::ports::{Reading, Tree};

const CPU: &str = "/sys/devices/system/cpu";

/// The files of a simulated machine: most never change, counters grow with the time that passes.
pub(super) struct SimulatedTree {
    files: Files,
    model: Model,
}

impl SimulatedTree {
    pub(super) fn new(model: &Model) -> SimulatedTree {
        let mut files = Files::default();
        put_topology(&mut files, model);
        put_caches(&mut files, model);
        if !model.has(Fault::NoCpufreq) {
            put_cpufreq(&mut files, model);
        }
        put_platform(&mut files, model);
        for path in ["/proc/stat", "/proc/interrupts"] {
            files.put(path, "");
        }
        // Guests see neither sensors nor throttling.
        let bare = model.identity.hypervisor.is_none();
        for cpu in model.cpus().filter(|_| bare) {
            for scope in ["core", "package"] {
                files.put(throttle_count(cpu, scope), "0");
            }
        }
        SimulatedTree { files, model: model.clone() }
    }
}

fn throttle_count(cpu: CpuId, scope: &str) -> String {
    format!("{CPU}/cpu{cpu}/thermal_throttle/{scope}_throttle_count")
}

impl Tree for SimulatedTree {
    fn read(&self, path: &str) -> Reading<String> {
        match path {
            "/proc/stat" => Ok(stat(&self.model)),
            "/proc/interrupts" => Ok(interrupts(&self.model)),
            _ if path.ends_with("core_throttle_count")
                && self.model.has(Fault::ThermalThrottle) =>
            {
                Ok((self.model.elapsed.seconds().0 as u64).to_string())
            }
            _ => self.files.read(path),
        }
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.files.list(path)
    }
}

/// In units of 10 ms: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice.
fn stat(model: &Model) -> String {
    let elapsed = model.elapsed.seconds().0 * 100.0;
    let steal = (elapsed * model.noise.steal_share) as u64;
    let user = elapsed as u64 - steal;
    let cpus = model.cpus().count() as u64;
    let mut text = format!("cpu  {} 0 0 0 0 0 0 {} 0 0\n", user * cpus, steal * cpus);
    for cpu in model.cpus() {
        let _ = writeln!(text, "cpu{cpu} {user} 0 0 0 0 0 0 {steal} 0 0");
    }
    text + "btime 1767225600"
}

fn interrupts(model: &Model) -> String {
    let count = (model.elapsed.seconds().0 * model.noise.interrupts_per_second) as u64;
    let mut header = String::new();
    let mut timer = String::from("LOC:");
    for cpu in model.cpus() {
        let _ = write!(header, " CPU{cpu}");
        let _ = write!(timer, " {count}");
    }
    format!("{header}\n{timer} Local timer interrupts")
}

fn put_topology(files: &mut Files, model: &Model) {
    let cpus: CpuSet = model.cpus().collect();
    for list in ["online", "possible", "present"] {
        files.put(format!("{CPU}/{list}"), &cpus);
    }
    for cpu in cpus.iter() {
        let (package, core) = (model.package_of(cpu), model.claimed_core_of(cpu));
        let siblings: CpuSet = cpus
            .iter()
            .filter(|&c| model.package_of(c) == package && model.claimed_core_of(c) == core)
            .collect();
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), &package);
        files.put(format!("{topology}/core_id"), &core);
        files.put(format!("{topology}/core_cpus_list"), &siblings);
    }
    let nodes = model.topology.packages * model.topology.nodes_per_package;
    for node in 0..nodes {
        let members: CpuSet = cpus.iter().filter(|&cpu| model.node_of(cpu) == node).collect();
        files.put(format!("/sys/devices/system/node/node{node}/cpulist"), &members);
    }
    let online: CpuSet = (0..nodes).map(CpuId).collect();
    files.put("/sys/devices/system/node/online", &online);
    let smt = if model.topology.threads_per_core > 1 { "on" } else { "notsupported" };
    files.put(format!("{CPU}/smt/control"), &smt);
}

fn put_caches(files: &mut Files, model: &Model) {
    let sizes = &model.caches;
    let caches = [
        (1, "Data", sizes.l1d_bytes),
        (2, "Unified", sizes.l2_bytes),
        (3, "Unified", sizes.l3_bytes),
    ];
    let packages: Vec<CpuSet> = (0..model.topology.packages)
        .map(|package| model.cpus().filter(|&cpu| model.package_of(cpu) == package).collect())
        .collect();
    for cpu in model.cpus() {
        for (index, (level, kind, bytes)) in caches.iter().enumerate() {
            let cache = format!("{CPU}/cpu{cpu}/cache/index{index}");
            files.put(format!("{cache}/level"), &level);
            files.put(format!("{cache}/type"), &kind);
            files.put(format!("{cache}/size"), &format!("{}K", bytes / 1024));
            if *level == 3 {
                let shared = &packages[model.package_of(cpu) as usize];
                files.put(format!("{cache}/shared_cpu_list"), shared);
            }
        }
    }
}

fn put_cpufreq(files: &mut Files, model: &Model) {
    let kilohertz = |hertz: f64| ((hertz / 1e3).round() as u64).to_string();
    let max = model.licence.iter().map(|l| l.bins[0].1).fold(0.0, f64::max);
    let base = model.clock.tsc_hz;
    for cpu in model.cpus() {
        let values = [
            ("scaling_driver", "intel_pstate".to_string()),
            ("scaling_governor", "performance".to_string()),
            ("energy_performance_preference", "performance".to_string()),
            ("base_frequency", kilohertz(base)),
            ("cpuinfo_max_freq", kilohertz(max)),
            ("scaling_min_freq", kilohertz(max / 4.0)),
            ("scaling_max_freq", kilohertz(max)),
        ];
        for (name, value) in values {
            files.put(format!("{CPU}/cpu{cpu}/cpufreq/{name}"), &value);
        }
    }
    files.put(format!("{CPU}/intel_pstate/no_turbo"), "0");
}

fn put_platform(files: &mut Files, model: &Model) {
    let identity = &model.identity;
    files.put("/proc/cpuinfo", &cpuinfo(model));
    files.put("/proc/meminfo", &format!("MemTotal: {} kB", model.caches.memory_bytes / 1024));
    files.put("/proc/sys/kernel/osrelease", &identity.kernel);
    files.put("/proc/loadavg", "0.00 0.00 0.00 1/100 1");
    files.put("/proc/self/cgroup", "0::/");
    files.put("/sys/fs/cgroup/cpu.max", "max 100000");
    files.put("/proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t0");
    files.put("/proc/self/uid_map", "0 0 4294967295");
    files.put("/proc/modules", "");
    if !model.has(Fault::NoMsr) {
        files.put("/sys/module/msr/initstate", "live");
    }
    files.put("/proc/sys/kernel/perf_event_paranoid", "2");
    files.put("/proc/sys/vm/nr_hugepages", "0");
    let huge = "/sys/kernel/mm/hugepages/hugepages-1048576kB";
    for file in ["nr_hugepages", "free_hugepages"] {
        files.put(format!("{huge}/{file}"), "0");
    }
    files.put("/sys/fs/cgroup/cpu.stat", "nr_throttled 0\nthrottled_usec 0");
    files.put("/sys/class/dmi/id/bios_vendor", "SIMULATED firmware");
    files.put("/sys/class/dmi/id/bios_version", "1");
    files.put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    files.put(clock, "tsc");
    if identity.hypervisor.is_none() {
        files.put("/sys/class/thermal/thermal_zone0/temp", "45000");
    }
    files.put(format!("{CPU}/vulnerabilities/simulated"), "Not affected");
}

fn cpuinfo(model: &Model) -> String {
    let identity = &model.identity;
    let isa: Vec<&str> = identity.isa.iter().map(|isa| isa.name()).collect();
    let guest = if identity.hypervisor.is_some() { " hypervisor" } else { "" };
    model.cpus().fold(String::new(), |mut text, cpu| {
        let _ = writeln!(text, "processor\t: {cpu}\nvendor_id\t: {}", identity.vendor);
        let _ = writeln!(text, "cpu family\t: {}\nmodel\t\t: {}", identity.family, identity.model);
        let _ =
            writeln!(text, "model name\t: {}\nstepping\t: {}", identity.brand, identity.stepping);
        let _ = writeln!(text, "microcode\t: {}", identity.microcode);
        let _ = writeln!(text, "flags\t\t: fpu tsc constant_tsc{guest} {}\n", isa.join(" "));
        text
    })
}
