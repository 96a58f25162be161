//! Which files are captured: one row per pattern of paths.
//!
//! A capture names these patterns, so that a path which fits one and is not in the capture is known
//! to be absent, and any other path is known not to have been looked for. Serial numbers stand next
//! to what is wanted (`product_uuid`, `topology/ppin`): there, files are named one by one.

use std::sync::LazyLock;

use crate::scrub;

/// One row: paths, and what of them is kept.
pub(crate) struct PathRow {
    /// Components with `*` for any text, `#` for a number, `{a,b}` for one of several; `**` stands
    /// for any number of components.
    pub(crate) pattern: &'static str,
    pub(crate) keep: Keep,
}

/// What of a file is kept.
#[derive(Clone, Copy)]
pub(crate) enum Keep {
    /// Its text, or what is left of it.
    Text(fn(&str) -> String),
    /// What is left of its bytes, as hexadecimal digits.
    Bytes(fn(&[u8]) -> Vec<u8>),
    /// The same, where names of control groups are in it.
    Named(fn(&str, &mut scrub::GroupNames) -> String),
    /// Only that it is there.
    Name,
    /// As `Text`, in the folders of our own control groups, which have other names in captures.
    Group,
}

const fn whole(pattern: &'static str) -> PathRow {
    PathRow { pattern, keep: Keep::Text(str::to_owned) }
}

const fn part(pattern: &'static str, what: fn(&str) -> String) -> PathRow {
    PathRow { pattern, keep: Keep::Text(what) }
}

const fn named(pattern: &'static str, what: fn(&str, &mut scrub::GroupNames) -> String) -> PathRow {
    PathRow { pattern, keep: Keep::Named(what) }
}

const fn name(pattern: &'static str) -> PathRow {
    PathRow { pattern, keep: Keep::Name }
}

const fn bytes(pattern: &'static str, what: fn(&[u8]) -> Vec<u8>) -> PathRow {
    PathRow { pattern, keep: Keep::Bytes(what) }
}

const fn group(pattern: &'static str) -> PathRow {
    PathRow { pattern, keep: Keep::Group }
}

/// In the order of captures. The first row that fits a path counts.
#[rustfmt::skip]
pub(crate) const TABLE: &[PathRow] = &[
    // CPUs.
    whole("/sys/devices/system/cpu/{online,offline,present,possible,isolated,nohz_full,enabled,\
        kernel_max}"),
    whole("/sys/devices/system/cpu/cpu#/{online,cpu_capacity,l1_dcache_size,l1_dcache_line_size,\
        l1_icache_size,l1_icache_line_size,l2_cache_size,l2_cache_line_size}"),
    whole("/sys/devices/system/cpu/cpu#/topology/{*_id,*_list}"),
    whole("/sys/devices/system/cpu/cpu#/cache/index#/{level,type,id,size,ways_of_associativity,\
        number_of_sets,coherency_line_size,physical_line_partition,shared_cpu_list,\
        allocation_policy,write_policy}"),
    whole("/sys/devices/system/cpu/cpu#/cpufreq/{scaling_driver,scaling_governor,\
        scaling_available_*,scaling_min_freq,scaling_max_freq,scaling_boost_frequencies,\
        cpuinfo_min_freq,cpuinfo_max_freq,cpuinfo_transition_latency,base_frequency,bios_limit,\
        energy_*,amd_pstate_*,boost,cpb,affected_cpus,related_cpus,freqdomain_cpus}"),
    whole("/sys/devices/system/cpu/cpu#/cpuidle/state#/{name,desc,latency,residency,power,disable,\
        default_status}"),
    whole("/sys/devices/system/cpu/cpu#/acpi_cppc/{*_perf,*_freq}"),
    whole("/sys/devices/system/cpu/cpu#/power/{energy_perf_bias,pm_qos_resume_latency_us}"),
    whole("/sys/devices/system/cpu/cpu#/thermal_throttle/{*_throttle_count,\
        *_throttle_total_time_ms}"),
    whole("/sys/devices/system/cpu/cpu#/microcode/{version,processor_flags}"),
    whole("/sys/devices/system/cpu/cpu#/regs/identification/{midr_el1,revidr_el1}"),
    whole("/sys/devices/system/cpu/smt/{active,control}"),
    whole("/sys/devices/system/cpu/vulnerabilities/*"),
    whole("/sys/devices/system/cpu/{intel_pstate,amd_pstate}/*"),
    whole("/sys/devices/system/cpu/cpufreq/{boost,amd_pstate_*}"),
    whole("/sys/devices/system/cpu/cpufreq/policy#/{scaling_driver,scaling_governor,\
        scaling_available_*,scaling_min_freq,scaling_max_freq,scaling_boost_frequencies,\
        cpuinfo_min_freq,cpuinfo_max_freq,cpuinfo_transition_latency,base_frequency,bios_limit,\
        energy_*,amd_pstate_*,boost,cpb,affected_cpus,related_cpus,freqdomain_cpus}"),
    whole("/sys/devices/system/cpu/cpuidle/*"),
    whole("/sys/devices/system/cpu/intel_uncore_frequency/*/{min_freq_khz,max_freq_khz,initial_*,\
        package_id,domain_id,fabric_cluster_id,die_id,agent_types,elc_*}"),
    whole("/sys/devices/system/cpu/types/*/cpulist"),
    whole("/sys/devices/{cpu,cpu_core,cpu_atom,cpu_lowpower}/{cpus,type}"),
    // Memory.
    whole("/sys/devices/system/node/{online,possible,has_cpu,has_memory,has_normal_memory,\
        has_generic_initiator}"),
    whole("/sys/devices/system/node/node#/{cpulist,distance}"),
    part("/sys/devices/system/node/node#/meminfo", scrub::node_meminfo),
    whole("/sys/devices/system/node/node#/hugepages/*/{nr_hugepages,free_hugepages,\
        surplus_hugepages}"),
    whole("/sys/devices/system/node/node#/access#/{initiators,targets}/{read_bandwidth,\
        write_bandwidth,read_latency,write_latency}"),
    name("/sys/devices/system/node/node#/access#/{initiators,targets}/node#"),
    whole("/sys/devices/system/node/node#/memory_side_cache/index#/{size,line_size,indexing,\
        write_policy}"),
    whole("/sys/kernel/mm/transparent_hugepage/{enabled,defrag,shmem_enabled,hpage_pmd_size,\
        use_zero_page}"),
    whole("/sys/kernel/mm/hugepages/*/{nr_hugepages,free_hugepages,resv_hugepages,\
        surplus_hugepages,nr_overcommit_hugepages}"),
    whole("/sys/devices/system/edac/mc/mc#/{ce_count,ue_count,ce_noinfo_count,ue_noinfo_count,\
        max_location,mc_name}"),
    whole("/sys/devices/system/edac/mc/mc#/{dimm#,rank#}/{size,dimm_label,dimm_location,\
        dimm_mem_type,dimm_edac_mode,dimm_ce_count,dimm_ue_count}"),
    // The kernel.
    whole("/proc/cpuinfo"),
    part("/proc/meminfo", scrub::meminfo),
    part("/proc/cmdline", scrub::command_line),
    whole("/proc/loadavg"),
    whole("/proc/sys/kernel/{arch,osrelease,version,ostype,perf_event_paranoid,\
        perf_event_max_sample_rate,perf_cpu_time_max_percent,kptr_restrict,nmi_watchdog,watchdog,\
        numa_balancing,randomize_va_space,sched_*,timer_migration,tainted,\
        unprivileged_bpf_disabled}"),
    whole("/proc/sys/kernel/yama/ptrace_scope"),
    whole("/proc/sys/vm/{nr_hugepages,nr_overcommit_hugepages,swappiness,overcommit_memory,\
        zone_reclaim_mode}"),
    part("/proc/modules", scrub::modules),
    named("/proc/self/cgroup", scrub::groups),
    named("/proc/self/cpuset", scrub::group),
    named("/proc/self/mountinfo", scrub::mountinfo),
    named("/proc/mounts", scrub::mounts),
    part("/proc/self/uid_map", scrub::uid_map),
    part("/proc/filesystems", scrub::filesystems),
    part("/proc/sysinfo", scrub::sysinfo),
    part("/proc/self/status", scrub::status),
    whole("/proc/xen/capabilities"),
    whole("/proc/vz/version"),
    part("/boot/config-*", scrub::configuration),
    whole("/sys/module/{msr,cpuid}/initstate"),
    whole("/sys/module/{intel_idle,processor,cpuidle,haltpoll,msr,kvm,kvm_intel,\
           kvm_amd}/parameters/*"),
    whole("/sys/kernel/debug/sched/preempt"),
    whole("/sys/kernel/debug/x86/sched_itmt_enabled"),
    whole("/sys/kernel/sched_ext/state"),
    whole("/sys/kernel/sched_ext/root/ops"),
    whole("/proc/irq/#/effective_affinity_list"),
    part("/sys/kernel/irq/#/actions", scrub::actions),
    // Registers of Speed Select, and which package they are of.
    whole("/sys/kernel/debug/tpmi-*/tpmi-id-{05,81}/mem_dump"),
    whole("/sys/kernel/security/lockdown"),
    name("/sys/kernel/security/*"),
    whole("/sys/firmware/efi/efivars/SecureBoot-*"),
    whole("/sys/devices/system/clocksource/clocksource#/{current,available}_clocksource"),
    group("/sys/fs/cgroup/**/{cpu.max,cpu.stat,cpu.weight,cpu.shares,cpu.cfs_quota_us,\
        cpu.cfs_period_us,cpuset.cpus,cpuset.cpus.effective,cpuset.effective_cpus,cpuset.mems,\
        cpuset.mems.effective,cpuset.effective_mems,cgroup.controllers,memory.max,memory.high,\
        memory.limit_in_bytes}"),
    part("/.dockerenv", scrub::nothing),
    part("/run/.containerenv", scrub::nothing),
    whole("/run/systemd/container"),
    part("/var/run/secrets/kubernetes.io/serviceaccount/namespace", scrub::nothing),
    // Firmware and hypervisor.
    whole("/sys/class/dmi/id/{bios_vendor,bios_version,bios_date,bios_release,sys_vendor,\
        product_name,product_family,product_version,board_vendor,board_name,board_version,\
        chassis_vendor,chassis_type}"),
    // Serial numbers stand in it, of the machine and of its parts.
    bytes("/sys/firmware/dmi/tables/DMI", scrub::smbios),
    whole("/sys/firmware/acpi/{platform_profile,platform_profile_choices}"),
    whole("/sys/hypervisor/type"),
    whole("/sys/firmware/qemu_fw_cfg/rev"),
    name("/sys/bus/acpi/devices/QEMU0002*"),
    part("/proc/bus/pci/devices", scrub::pci_devices),
    whole("/proc/device-tree/{model,compatible}"),
    whole("/proc/device-tree/hypervisor/compatible"),
    name("/proc/device-tree/fw-cfg@*"),
    part("/proc/device-tree/ibm,partition-name", scrub::nothing),
    // Counters, sensors, power limits.
    whole("/sys/bus/event_source/devices/*/{type,cpumask,cpus,rdpmc,allow_tsx_force_abort}"),
    whole("/sys/bus/event_source/devices/*/caps/*"),
    whole("/sys/bus/event_source/devices/{cpu*,msr,power*,uncore_imc*,amd_umc*}/{events,\
        format}/*"),
    whole("/sys/class/powercap/*/{name,enabled,energy_uj,max_energy_range_uj,constraint_#_*}"),
    whole("/sys/class/hwmon/hwmon#/{name,power#_cap,temp#_input,temp#_label,temp#_max,temp#_crit}"),
    whole("/sys/class/thermal/thermal_zone#/{type,temp}"),
    name("/dev/cpu/#/{msr,cpuid}"),
    name("/dev/{cpu_dma_latency,isst_interface}"),
];

/// A pattern of paths: components, each with its alternatives.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    components: Vec<Vec<String>>,
}

/// Those of [`TABLE`].
pub(crate) fn patterns() -> &'static [Pattern] {
    static PATTERNS: LazyLock<Vec<Pattern>> =
        LazyLock::new(|| TABLE.iter().filter_map(|row| Pattern::parse(row.pattern)).collect());
    &PATTERNS
}

const ANY_DEPTH: &str = "**";

impl Pattern {
    /// Reads a pattern: absolute, with at most one `**`, and per component at most one `{}`.
    pub(crate) fn parse(text: &str) -> Option<Pattern> {
        let components: Vec<&str> = text.strip_prefix('/')?.split('/').collect();
        let deep = components.iter().filter(|component| **component == ANY_DEPTH).count();
        let simple = |component: &&str| {
            let count = |c| component.matches(c).count();
            count('{') <= 1 && count('{') == count('}')
        };
        let named = components.iter().all(|component| !component.is_empty());
        (named && deep <= 1 && components.iter().all(simple))
            .then(|| Pattern { components: components.into_iter().map(alternatives).collect() })
    }

    /// The names of the files in `{a,b}`.
    pub(crate) fn of_names(text: &str) -> Option<Vec<String>> {
        (!text.contains('/')).then(|| alternatives(text))
    }

    /// The components, each with its alternatives.
    pub(crate) fn components(&self) -> &[Vec<String>] {
        &self.components
    }

    /// Whether a path fits, or is a folder on the way to paths that do.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let Some(path) = path.strip_prefix('/') else { return false };
        let components: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        covers(&self.components, &components)
    }
}

fn covers(pattern: &[Vec<String>], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some((first, after)), Some((_, below))) if first == &[ANY_DEPTH] => {
            covers(after, path) || covers(pattern, below)
        }
        (Some((first, after)), Some((name, below))) => {
            first.iter().any(|one| fits(one, name)) && covers(after, below)
        }
    }
}

/// `a{b,c}d` is `abd` and `acd`.
fn alternatives(component: &str) -> Vec<String> {
    let parts = component.split_once('{').and_then(|(before, rest)| {
        rest.split_once('}').map(|(inner, after)| (before, inner, after))
    });
    match parts {
        Some((before, inner, after)) => {
            inner.split(',').map(|one| format!("{before}{one}{after}")).collect()
        }
        None => vec![component.to_owned()],
    }
}

/// Whether the component names more than one file.
pub(crate) fn is_wild(component: &str) -> bool {
    component.contains(['*', '#'])
}

/// Whether a name fits a component without alternatives: `#` is a number, the first `*` any text.
pub(crate) fn fits(component: &str, name: &str) -> bool {
    let Some((head, tail)) = component.split_once('*') else {
        return after(component, name) == Some("");
    };
    let Some(rest) = after(head, name) else { return false };
    let mut starts = rest.char_indices().map(|(place, _)| place).chain([rest.len()]);
    starts.any(|place| after(tail, &rest[place..]) == Some(""))
}

/// What is left of a name behind this beginning.
fn after<'a>(beginning: &str, name: &'a str) -> Option<&'a str> {
    let mut rest = name;
    for c in beginning.chars() {
        rest = match c {
            '#' => {
                let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                (number.len() < rest.len()).then_some(number)?
            }
            _ => rest.strip_prefix(c)?,
        };
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(path: &str) -> bool {
        patterns().iter().any(|pattern| pattern.covers(path))
    }

    #[test]
    fn every_pattern_can_be_read() {
        for row in TABLE {
            assert!(Pattern::parse(row.pattern).is_some(), "{}", row.pattern);
        }
    }

    #[test]
    fn paths_and_the_folders_above_them_are_covered() {
        for path in [
            "/sys/devices/system/cpu/cpu12/topology/core_id",
            "/sys/devices/system/cpu/cpu12/cache",
            "/sys/devices/system/cpu/cpu12/cache/index3/shared_cpu_list",
            "/sys/class/powercap/intel-rapl:0:1/constraint_0_power_limit_uw",
            "/sys/fs/cgroup/cpu.max",
            "/sys/fs/cgroup/a/b/c/cpu.max",
            "/proc/device-tree/hypervisor/compatible",
            "/proc/device-tree/hypervisor",
            "/sys",
            "/",
        ] {
            assert!(covered(path), "{path}");
        }
    }

    #[test]
    fn what_names_one_machine_is_not_covered() {
        for path in [
            "/sys/devices/system/cpu/cpu0/topology/ppin",
            "/sys/class/dmi/id/product_uuid",
            "/sys/class/dmi/id/product_serial",
            "/sys/firmware/dmi/tables/smbios_entry_point",
            "/sys/firmware/dmi/entries/17-0/raw",
            "/sys/class/dmi/id/board_serial",
            "/sys/class/dmi/id/board_asset_tag",
            "/sys/class/dmi/id/chassis_serial",
            "/sys/hypervisor/uuid",
            "/proc/device-tree/serial-number",
            "/proc/sys/kernel/hostname",
            "/proc/sys/kernel/domainname",
            "/proc/sys/kernel/random/boot_id",
            "/proc/version",
            "/proc/uptime",
            "/etc/machine-id",
            "/etc/hostname",
            "relative",
        ] {
            assert!(!covered(path), "{path}");
        }
    }

    #[test]
    fn components_fit_whole_names() {
        assert!(fits("cpu#", "cpu12") && !fits("cpu#", "cpu") && !fits("cpu#", "cpu1x"));
        assert!(fits("temp#_input", "temp10_input") && fits("*_id", "die_id"));
        assert!(fits("constraint_#_*", "constraint_1_name") && fits("a*", "a"));
        assert!(!fits("a*b", "ba") && fits("a*b", "aé b"));
    }

    #[test]
    fn patterns_that_would_take_long_are_refused() {
        for bad in ["relative", "/", "/**/a/**", "/{a}{b}", "/{a"] {
            assert!(Pattern::parse(bad).is_none(), "{bad}");
        }
    }
}
