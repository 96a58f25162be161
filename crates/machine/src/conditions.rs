//! What could change between two runs on one machine: one row per condition.

use model::areas::turbo::promise::BY_SHARE;
use model::growth::Places;
use model::page::tally;
use model::record::{Fact, FactValue};
use model::{Obstacle, Reading, Unavailable};

use crate::facts::boost::{boost, no_such_setting, of_cpus};
use crate::facts::cgroup;
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{self, FactRow, row, text};
use crate::facts::frequency::{self, folded_over_policies, gigahertz};
use crate::facts::prefetchers::{OF_AMD, OF_INTEL, has_misc_feature_control};
use crate::facts::tuning::{self, of_kernel, or_words};
use crate::facts::{
    self, Maker, bits, flag, folded_over_cpus, hidden_from_guest, identity, idle, no_file, online,
    register_of_all,
};
use crate::parse::first_number;
use crate::ports::Machine;

/// In reading order.
#[rustfmt::skip]
pub(crate) const TABLE: &[FactRow] = &[
    row("cpufreq.driver", "Frequency driver", |m| m.frequency_drivers().map(text)),
    row("cpufreq.mode", "Frequency driver's mode", mode),
    row("cpufreq.governor", "Governor", |m| of_policies(m, "scaling_governor")),
    row("cpufreq.epp", "Energy preference", |m| of_policies(m, "energy_performance_preference")),
    row("cpufreq.epb", "Energy bias", energy_bias),
    row("cpufreq.boost", "Boost", boost),
    row("cpufreq.limits", "Frequency limits", limits),
    row("cpufreq.share", "Share of the clock", share),
    row("idle.disabled", "Idle states switched off", |m| idle::disabled(m).map(text)),
    row("idle.resume_latency", "Resume latency allowed", resume_latency),
    row("power.profile", "Power profile", power_profile),
    row("smt.control", "SMT", smt),
    row("prefetchers", "Prefetchers", prefetchers),
    row("thp.enabled", "Transparent huge pages", |m| transparent(m, "enabled")),
    row("thp.defrag", "Huge pages at faults", |m| transparent(m, "defrag")),
    row("memory.reserved_pages", "Huge pages reserved", |m| of_kernel(m, "vm/nr_hugepages")),
    row("kernel.numa_balancing", "NUMA balancing", |m| of_kernel(m, "kernel/numa_balancing")),
    row("vm.zone_reclaim_mode", "Reclaim before remote memory", |m| of_kernel(m, "vm/zone_reclaim_mode")),
    row("vm.swappiness", "Swappiness", |m| of_kernel(m, "vm/swappiness")),
    row("memory.swapped", "Swap in use", tuning::swapped),
    row("kernel.nmi_watchdog", "NMI watchdog", |m| of_kernel(m, "kernel/nmi_watchdog")),
    row("kernel.sched_schedstats", "Statistics of the scheduler", |m| of_kernel(m, "kernel/sched_schedstats")),
    row("kernel.sched_itmt", "Preference for fast cores", tuning::preferred_cores),
    row("kernel.sched_ext", "Scheduler by a BPF program", tuning::sched_ext),
    row("interrupts.on_isolated", "Interrupts to isolated CPUs", tuning::interrupts_on_isolated),
    row("memory.errors", "Memory errors since boot", memory_errors),
    row("clocksource", "Kernel clock source", |m| m.tree.read(CLOCKSOURCE).map(text)),
    row("load", "Load, 1 min", load),
    row("temperature", "Temperature, hottest", temperature),
    row("cpus.usable", "Usable CPUs", usable),
    row("cgroup.quota", "CPU quota", quota),
    row("user", "User", |m| Ok(text(if m.host.is_root() { "root" } else { "plain user" }))),
];

/// The kernel's choice of clock.
pub(crate) const CLOCKSOURCE: &str =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Reads every condition. It never fails: what cannot be read says why.
pub fn read(machine: &Machine) -> Vec<Fact> {
    read_of(&Survey::new(machine))
}

pub(crate) fn read_of(survey: &Survey<'_>) -> Vec<Fact> {
    fact_table::read(TABLE, survey)
}

fn of_policies(survey: &Survey<'_>, file: &str) -> Reading<FactValue> {
    folded_over_policies(survey, |policy| policy.read(survey, file)).map(text)
}

/// As EDAC counts them: `none`, or `12 corrected, 0 uncorrected`.
fn memory_errors(survey: &Survey<'_>) -> Reading<FactValue> {
    let sum = |places: Places| places.values().sum::<f64>();
    let [corrected, uncorrected] =
        ["ce", "ue"].map(|kind| facts::memory_errors(survey, kind).map(sum));
    let (corrected, uncorrected) = (corrected?, uncorrected?);
    Ok(text(if corrected + uncorrected > 0.0 {
        format!("{corrected} corrected, {uncorrected} uncorrected")
    } else {
        "none".to_owned()
    }))
}

/// Drivers that have modes: active, where the CPU chooses, and passive, where the governor does.
fn mode(survey: &Survey<'_>) -> Reading<FactValue> {
    let status = of_cpus(survey, "intel_pstate/status")
        .or_else(|_| of_cpus(survey, "amd_pstate/status"))
        .ok()
        .filter(|status| status != "off");
    status.map(text).ok_or_else(|| no_such_setting(survey, "mode"))
}

/// Per CPU, 0 (performance) to 15 (power saving); from sysfs, else from the register.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/intel_epb.rst`; Intel SDM volume 4,
/// `IA32_ENERGY_PERF_BIAS`: bits 3:0.
fn energy_bias(survey: &Survey<'_>) -> Reading<FactValue> {
    const ENERGY_PERF_BIAS: u32 = 0x1b0;
    let read = |cpu| of_cpus(survey, &format!("cpu{cpu}/power/energy_perf_bias"));
    let by_kernel = folded_over_cpus(survey, read);
    by_kernel.map(text).or_else(|reason| {
        if reason.obstacle == Obstacle::Permission {
            return Err(reason);
        }
        if flag(survey, "epb") == Some(false) {
            let why = "this CPU has no energy bias, or the kernel does not use it (flag `epb`)";
            return Err(Unavailable::new(Obstacle::Hardware, reason.what, why));
        }
        let say = |value: u64| (value & 0xf).to_string();
        register_of_all(survey, Maker::Intel, ENERGY_PERF_BIAS, say).map(text)
    })
}

/// As far as CPUs come, where the kernel allows more than that.
fn limits(survey: &Survey<'_>) -> Reading<FactValue> {
    let range = folded_over_policies(survey, |policy| {
        let limit = |file: &str| policy.hertz(survey, file);
        let (low, high) = (limit("scaling_min_freq")?, limit("scaling_max_freq")?);
        let claimed = policy.cpus.iter().next().map(|cpu| survey.claimed_clocks().of(cpu));
        let most = claimed.and_then(Result::ok).map_or(high, |most| most.min(high));
        Ok(format!("{} to {} GHz", gigahertz(low), gigahertz(most)))
    });
    range.map(text)
}

const INTEL_PSTATE: &str = "/sys/devices/system/cpu/intel_pstate";

/// A share of the highest clock that `intel_pstate` keeps to, in percent.
fn percent(survey: &Survey<'_>, file: &str) -> Reading<f64> {
    let path = format!("{INTEL_PSTATE}/{file}");
    let percent = first_number(&path, &survey.tree.read(&path)?)?;
    if (0.0..=100.0).contains(&percent) {
        return Ok(percent);
    }
    let why = format!("`{path}` says {percent}, which is no percentage from 0 to 100");
    Err(Unavailable::new(Obstacle::Cpudyno, "share of the clock", why))
}

/// The largest share of the highest clock that `intel_pstate` allows, in percent, where that is not all of it.
pub(crate) fn most_share(survey: &Survey<'_>) -> Option<f64> {
    percent(survey, BY_SHARE).ok().filter(|percent| *percent < 100.0)
}

/// Between which shares of the highest clock `intel_pstate` keeps CPUs, where it keeps them from any that they have.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/intel_pstate.rst`: `max_perf_pct`, `min_perf_pct`; in
/// `drivers/cpufreq/intel_pstate.c`, `min_perf_pct_min` is what the second begins with: the share of the lowest clock
/// of the first CPU.
fn share(survey: &Survey<'_>) -> Reading<FactValue> {
    let (most, least) = (percent(survey, BY_SHARE), percent(survey, "min_perf_pct"));
    let least_of_all = || -> Option<f64> {
        let first = online(survey).iter().next()?;
        let highest = survey.claimed_clocks().of(first).ok()?;
        Some(frequency::lowest_of(survey, first)? / highest * 100.0)
    };
    // Shares are whole numbers.
    let is_raised =
        |percent: &f64| least_of_all().is_some_and(|least| *percent >= least.floor() + 2.0);
    let mut said = Vec::new();
    if let Some(most) = most_share(survey) {
        let path = format!("{INTEL_PSTATE}/{BY_SHARE}");
        said.push(format!(
            "at most {most} % of the highest clock, by `{path}`; `echo 100 | sudo tee {path}` \
             lifts the limit until a program sets it again"
        ));
    }
    if let Some(least) = least.clone().ok().filter(is_raised) {
        let path = format!("{INTEL_PSTATE}/min_perf_pct");
        said.push(format!("at least {least} % of the highest clock, by `{path}`"));
    }
    match (said.is_empty(), most.and(least)) {
        (false, _) => Ok(text(said.join("; "))),
        (true, Ok(_)) => Ok(text("none")),
        (true, Err(reason)) if reason.obstacle == Obstacle::Hardware => {
            Err(no_such_setting(survey, "limit by share"))
        }
        (true, Err(reason)) => Err(reason),
    }
}

fn power_profile(machine: &Survey<'_>) -> Reading<FactValue> {
    let profile = machine.tree.read("/sys/firmware/acpi/platform_profile");
    or_words(machine, profile, "the firmware offers no power profiles").map(text)
}

fn smt(machine: &Survey<'_>) -> Reading<FactValue> {
    let control = machine.tree.read("/sys/devices/system/cpu/smt/control");
    or_words(machine, control, "the kernel offers no SMT control").map(text)
}

/// The kernel marks the chosen one: `always [madvise] never`.
fn transparent(machine: &Survey<'_>, file: &str) -> Reading<FactValue> {
    let modes = machine.tree.read(&format!("/sys/kernel/mm/transparent_hugepage/{file}"));
    let modes = or_words(machine, modes, "the kernel was built without transparent huge pages")?;
    let chosen = modes.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Ok(text(chosen.map_or(modes.as_str(), |(chosen, _)| chosen)))
}

/// How long CPUs may take to wake: deeper idle states are left out.
///
/// # Source
/// Linux, `Documentation/ABI/testing/sysfs-devices-power`, `pm_qos_resume_latency_us`: 0 is no limit, `n/a` no
/// latency at all.
fn resume_latency(survey: &Survey<'_>) -> Reading<FactValue> {
    let of_cpu = |cpu| {
        let read = of_cpus(survey, &format!("cpu{cpu}/power/pm_qos_resume_latency_us"))?;
        Ok(match read.as_str() {
            "0" => "any".to_owned(),
            "n/a" => "none at all".to_owned(),
            microseconds => format!("{microseconds} us"),
        })
    };
    let read = folded_over_cpus(survey, of_cpu);
    or_words(survey, read, "the kernel has no such limit here").map(text)
}

/// Which are switched off, by the bits of their register.
///
/// # Source
/// Intel SDM volume 4, `MSR_MISC_FEATURE_CONTROL` (1A4H), bits 3:0; AMD PPR of family 19h models 10h and later,
/// MSRC000_0108 (Prefetch Control), bits 5 and 3:0.
fn prefetchers(survey: &Survey<'_>) -> Reading<FactValue> {
    fn off(bits: u64) -> String {
        let off: Vec<String> =
            (0..8).filter(|bit| bits >> bit & 1 == 1).map(|bit: u32| bit.to_string()).collect();
        if off.is_empty() { "all on".to_owned() } else { format!("off: bits {}", off.join(", ")) }
    }
    let (maker, signature) = identity(survey)?;
    let has_bits = match maker {
        Maker::Intel => Some(
            has_misc_feature_control(signature.family, signature.model)
                && survey.cpuid.leaf(7, 0).is_none_or(|leaf| leaf.edx >> 15 & 1 == 0),
        ),
        Maker::Amd => survey.cpuid.leaf(0x8000_0021, 0).map(|leaf| leaf.eax >> 13 & 1 == 1),
    };
    if has_bits != Some(true) {
        let cpus = if maker == Maker::Intel { OF_INTEL } else { OF_AMD };
        let not_it = match has_bits {
            Some(_) => "this CPU is none of them",
            None => "whether this CPU is one of them is unknown",
        };
        let why = format!("cpudyno knows the bits of prefetchers only on {cpus}, and {not_it}");
        return Err(Unavailable::new(Obstacle::Cpudyno, "prefetchers", why));
    }
    // A hypervisor answers what it likes, mostly 0.
    if survey.is_guest() {
        return Err(hidden_from_guest(survey, "prefetchers"));
    }
    let read = match maker {
        Maker::Intel => register_of_all(survey, Maker::Intel, 0x1a4, |bits| off(bits & 0xf)),
        Maker::Amd => register_of_all(survey, Maker::Amd, 0xc000_0108, |bits| off(bits & 0x2f)),
    };
    read.map(text)
}

fn load(machine: &Survey<'_>) -> Reading<FactValue> {
    let averages = machine.tree.read("/proc/loadavg")?;
    Ok(text(format!("{:.2}", first_number("/proc/loadavg", &averages)?)))
}

/// The hottest sensor of the CPU; of everything where no sensor says that it is the CPU's.
fn temperature(machine: &Survey<'_>) -> Reading<FactValue> {
    let hottest = |degrees: Vec<f64>| degrees.into_iter().reduce(f64::max);
    if let Some(degrees) = hottest(cpu_sensors(machine)).or_else(|| hottest(zones(machine))) {
        return Ok(text(format!("{degrees:.0} °C")));
    }
    if machine.is_guest() {
        return Err(hidden_from_guest(machine, "temperature"));
    }
    by_registers(machine).map(text).ok_or_else(|| {
        no_file(machine, "the kernel shows no temperature sensor", "/sys/class/hwmon")
    })
}

/// Of the hottest CPU.
///
/// # Source
/// Intel SDM volume 3B, `IA32_THERM_STATUS`: bit 31 says that bits 22:16, degrees below the limit, are valid; volume
/// 4, `MSR_TEMPERATURE_TARGET`: the limit in bits 23:16.
fn by_registers(survey: &Survey<'_>) -> Option<String> {
    const THERM_STATUS: u32 = 0x19c;
    const TEMPERATURE_TARGET: u32 = 0x1a2;
    if identity(survey).ok()?.0 != Maker::Intel {
        return None;
    }
    let below = |cpu| {
        let status = survey.msr.read(cpu, THERM_STATUS).ok()?;
        (bits(status, 31, 1) == 1).then(|| (bits(status, 16, 7), cpu))
    };
    let (below, hottest) = online(survey).iter().filter_map(below).min()?;
    let target = survey.msr.read(hottest, TEMPERATURE_TARGET).ok();
    Some(match target.map(|target| bits(target, 16, 8)).filter(|target| *target > below) {
        Some(target) => format!("{} °C", target - below),
        None => format!("{below} °C below its limit (MSR {THERM_STATUS:X}h)"),
    })
}

pub(crate) fn millidegrees(machine: &Machine, path: &str) -> Option<f64> {
    /// Sensors that say otherwise are broken, or not there.
    const PLAUSIBLE: std::ops::RangeInclusive<f64> = -100.0..=250.0;
    let degrees = first_number(path, &machine.tree.read(path).ok()?).ok()? / 1e3;
    PLAUSIBLE.contains(&degrees).then_some(degrees)
}

fn zones(machine: &Machine) -> Vec<f64> {
    let folder = "/sys/class/thermal";
    let names = machine.tree.list(folder).unwrap_or_default();
    let zones = names.iter().filter(|name| name.starts_with("thermal_zone"));
    zones.filter_map(|zone| millidegrees(machine, &format!("{folder}/{zone}/temp"))).collect()
}

fn cpu_sensors(machine: &Machine) -> Vec<f64> {
    /// hwmon names of the drivers for sensors inside CPUs.
    const CPU_DRIVERS: &[&str] = &["coretemp", "k10temp", "zenpower", "cpu_thermal"];
    let folder = "/sys/class/hwmon";
    let mut degrees = Vec::new();
    for chip in machine.tree.list(folder).unwrap_or_default() {
        let chip = format!("{folder}/{chip}");
        let name = machine.tree.read(&format!("{chip}/name")).unwrap_or_default();
        if CPU_DRIVERS.contains(&name.as_str()) {
            let files = machine.tree.list(&chip).unwrap_or_default();
            let inputs =
                files.iter().filter(|file| file.starts_with("temp") && file.ends_with("_input"));
            degrees.extend(inputs.filter_map(|i| millidegrees(machine, &format!("{chip}/{i}"))));
        }
    }
    degrees
}

fn usable(machine: &Survey<'_>) -> Reading<FactValue> {
    let affinity = machine.host.affinity()?;
    let online = online(machine);
    Ok(text(format!("{} of {}", affinity.intersection(&online).len(), online.len())))
}

fn quota(survey: &Survey<'_>) -> Reading<FactValue> {
    let Some(quota) = cgroup::quota(survey)? else { return Ok(text("none")) };
    let usable = survey.topology().usable.len();
    let idle = if quota.binds(usable) || usable == 0 {
        String::new()
    } else {
        format!(", and no limit to {}", tally(usable, "usable CPU"))
    };
    Ok(text(quota.words() + &idle))
}
