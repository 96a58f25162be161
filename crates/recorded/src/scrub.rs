//! What is left of files that also name people, hosts or one machine (invariant I10), and of files of
//! which little is of interest. Each function leaves its own result as it is.

use std::collections::HashMap;

use firmware::MemoryTable;
use machine::facts::concerns_performance;

/// Stands where something was left out.
const LEFT_OUT: &str = "…";

pub(crate) fn nothing(_text: &str) -> String {
    String::new()
}

/// Whether an interrupt has a driver, and not which: devices have names that people gave them.
pub(crate) fn actions(text: &str) -> String {
    if text.is_empty() { String::new() } else { LEFT_OUT.to_owned() }
}

fn lines(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| wanted(line)).collect();
    lines.join("\n")
}

pub(crate) fn meminfo(text: &str) -> String {
    /// Beginnings of lines.
    const WANTED: &[&str] =
        &["MemTotal", "MemFree", "MemAvailable", "Swap", "AnonHuge", "Huge", "DirectMap"];
    lines(text, |line| WANTED.iter().any(|start| line.starts_with(start)))
}

/// Every line begins with `Node 0`.
pub(crate) fn node_meminfo(text: &str) -> String {
    const WANTED: &[&str] = &["MemTotal", "MemFree", "MemUsed", "HugePages", "AnonHuge"];
    lines(text, |line| {
        let key = line.split_whitespace().nth(2).unwrap_or_default();
        WANTED.iter().any(|start| key.starts_with(start))
    })
}

/// What this process may use; not which process it is, nor whose.
pub(crate) fn status(text: &str) -> String {
    const WANTED: &[&str] =
        &["CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Cpus_allowed_list", "Mems_allowed_list"];
    lines(text, |line| line.split_once(':').is_some_and(|(key, _)| WANTED.contains(&key)))
}

/// The names of modules that have to do with clocks, power and counters.
pub(crate) fn modules(text: &str) -> String {
    const WANTED: &[&str] = &[
        "acpi_cpufreq",
        "acpi_pad",
        "amd64_edac",
        "amd_energy",
        "amd_pstate_ut",
        "amd_uncore",
        "coretemp",
        "cppc_cpufreq",
        "cpuid",
        "cpufreq_",
        "fam15h_power",
        "intel_cstate",
        "intel_powerclamp",
        "intel_rapl",
        "intel_uncore",
        "isst_if",
        "k10temp",
        "kvm",
        "msr",
        "pcc_cpufreq",
        "x86_pkg_temp_thermal",
        "zenpower",
    ];
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    let wanted = names.filter(|name| WANTED.iter().any(|start| name.starts_with(start)));
    wanted.collect::<Vec<&str>>().join("\n")
}

/// Settings of the kernel that concern performance. Others hold the builder's name.
pub(crate) fn configuration(text: &str) -> String {
    const WANTED: &[&str] = &[
        "CONFIG_HZ",
        "CONFIG_NO_HZ",
        "CONFIG_PREEMPT",
        "CONFIG_CPU_FREQ",
        "CONFIG_CPU_IDLE",
        "CONFIG_NR_CPUS",
        "CONFIG_NUMA",
        "CONFIG_TRANSPARENT_HUGEPAGE",
        "CONFIG_RCU_NOCB",
        "CONFIG_X86_MSR",
        "CONFIG_X86_CPUID",
        "CONFIG_SCHED_SMT",
        "CONFIG_SCHED_MC",
        "CONFIG_PERF_EVENTS",
        "CONFIG_INTEL_SPEED_SELECT",
        "CONFIG_DEBUG_",
        "CONFIG_GCOV_KERNEL",
        "CONFIG_KASAN",
        "CONFIG_KC",
        "CONFIG_KMSAN",
        "CONFIG_LOCK",
        "CONFIG_PROVE_LOCKING",
        "CONFIG_SLUB_DEBUG_ON",
    ];
    lines(text, |line| WANTED.iter().any(|start| line.starts_with(start)))
}

/// Parameters that name nobody, beside those that concern performance.
const PLAIN: &[&str] = &["efi", "lockdown", "nokaslr", "quiet", "ro", "rw"];

/// Word for word: parameters that concern performance or name nobody as they are, of others the name alone. What stands behind
/// `--` is for the first process.
pub(crate) fn command_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take_while(|word| *word != "--").collect();
    let words: Vec<String> = words.into_iter().map(parameter).collect();
    words.join(" ")
}

fn parameter(word: &str) -> String {
    /// A name of the kernel's; host names and addresses could stand here, too.
    fn is_plain(name: &str) -> bool {
        let parts: Vec<&str> = name.split('.').collect();
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        parts.len() <= 2 && name.len() <= 40 && name.chars().all(|c| letters(c) || c == '.')
    }
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    if concerns_performance(word) || PLAIN.contains(&name) {
        return word.to_owned();
    }
    match word.split_once('=') {
        Some((name, _)) if is_plain(name) => format!("{name}={LEFT_OUT}"),
        _ => LEFT_OUT.to_owned(),
    }
}

/// The names of control groups, which name users, containers and services.
#[derive(Default)]
pub(crate) struct GroupNames(HashMap<String, usize>);

impl GroupNames {
    /// A path of groups with plain names for all of them: `/group1/group2`.
    pub(crate) fn plain(&mut self, path: &str) -> String {
        let names: Vec<String> = path.split('/').map(|name| self.plain_name(name)).collect();
        names.join("/")
    }

    fn plain_name(&mut self, name: &str) -> String {
        if matches!(name, "" | "." | "..") {
            return name.to_owned();
        }
        let next = self.0.len() + 1;
        format!("group{}", self.0.entry(name.to_owned()).or_insert(next))
    }

    /// The names in `/proc/self/cgroup`.
    pub(crate) fn of(text: &str) -> GroupNames {
        let mut names = GroupNames::default();
        for (_, path) in hierarchies(text) {
            names.plain(path);
        }
        names
    }
}

/// A line of `/proc/self/cgroup`: the number of the hierarchy, its controllers, the group's path.
fn hierarchy(line: &str) -> Option<(u32, &str, &str)> {
    let mut parts = line.splitn(3, ':');
    let number = parts.next()?.parse().ok()?;
    let (controllers, path) = (parts.next()?, parts.next()?);
    let named = !controllers.contains('/');
    (named && path.starts_with('/')).then_some((number, controllers, path))
}

/// The hierarchies in `/proc/self/cgroup`: controllers and path of the group.
pub(crate) fn hierarchies(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(hierarchy).map(|(_, controllers, path)| (controllers, path))
}

/// `/proc/self/cgroup` with plain names.
pub(crate) fn groups(text: &str, names: &mut GroupNames) -> String {
    let lines = text.lines().filter_map(hierarchy);
    let lines =
        lines.map(|(n, controllers, path)| format!("{n}:{controllers}:{}", names.plain(path)));
    lines.collect::<Vec<String>>().join("\n")
}

/// `/proc/self/cpuset` with plain names.
pub(crate) fn group(text: &str, names: &mut GroupNames) -> String {
    names.plain(text)
}

/// Where a hierarchy of control groups is mounted.
pub(crate) struct Mount<'a> {
    /// What precedes the root in its line.
    before: String,
    /// The group that is seen at the mount point.
    pub(crate) root: &'a str,
    pub(crate) point: &'a str,
    pub(crate) kind: &'a str,
    /// Those of version 1 name the controllers.
    pub(crate) options: &'a str,
}

/// Without paths: `release_agent` is a program of the host's.
fn options_without_paths(options: &str) -> String {
    let options: Vec<&str> = options.split(',').filter(|option| !option.contains('/')).collect();
    options.join(",")
}

/// The mounted hierarchies in `/proc/self/mountinfo`; those in unusual places are left out, with
/// all other mounts: their paths name people and hosts.
///
/// # Source
/// proc_pid_mountinfo(5).
pub(crate) fn group_mounts(text: &str) -> impl Iterator<Item = Mount<'_>> {
    text.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let words: Vec<&str> = place.split(' ').collect();
        let &[id, parent, device, root, point, ..] = words.as_slice() else { return None };
        let mut kind = kind.split(' ');
        let (kind, options) = (kind.next()?, kind.nth(1)?);
        let before = format!("{id} {parent} {device}");
        is_of_groups(kind, point).then_some(Mount { before, root, point, kind, options })
    })
}

fn is_of_groups(kind: &str, point: &str) -> bool {
    matches!(kind, "cgroup" | "cgroup2" | "cpuset")
        && (point == "/sys/fs/cgroup" || point.starts_with("/sys/fs/cgroup/"))
}

pub(crate) fn mountinfo(text: &str, names: &mut GroupNames) -> String {
    let line = |mount: Mount<'_>| {
        let Mount { before, root, point, kind, options } = mount;
        let options = options_without_paths(options);
        format!("{before} {} {point} - {kind} none {options}", names.plain(root))
    };
    group_mounts(text).map(line).collect::<Vec<String>>().join("\n")
}

/// `/proc/mounts` says the same, and not which group is seen.
pub(crate) fn mounts(text: &str, _names: &mut GroupNames) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let &[_, point, kind, options, ..] = words.as_slice() else { return None };
        let options = options_without_paths(options);
        is_of_groups(kind, point).then(|| format!("none {point} {kind} {options} 0 0"))
    };
    text.lines().filter_map(line).collect::<Vec<String>>().join("\n")
}

/// Whether users are others outside, not which ones.
pub(crate) fn uid_map(text: &str) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [inside, outside, count] if inside != outside => {
                format!("{inside} {LEFT_OUT} {count}")
            }
            _ => line.to_owned(),
        }
    };
    text.lines().map(line).collect::<Vec<String>>().join("\n")
}

pub(crate) fn filesystems(text: &str) -> String {
    const WANTED: &[&str] = &["securityfs", "cgroup", "cgroup2", "cpuset", "hugetlbfs", "resctrl"];
    lines(text, |line| line.split_whitespace().last().is_some_and(|name| WANTED.contains(&name)))
}

/// Which hypervisor is below; the rest of the file names machine and guest.
pub(crate) fn sysinfo(text: &str) -> String {
    const WANTED: &[&str] = &["VM00 Control Program", "LPAR Number"];
    lines(text, |line| WANTED.iter().any(|start| line.starts_with(start)))
}

/// Where each device sits, and what it is: not its addresses and interrupts.
pub(crate) fn pci_devices(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let columns: Vec<&str> = line.split_whitespace().take(2).collect();
        columns.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line of `/proc/cpuinfo`: Arm boards state their serial number there, s390 that of each CPU.
pub(crate) fn cpuinfo_line(line: &str) -> String {
    let left_out = |start: &str| format!("{start}: {LEFT_OUT}");
    match line.split_once(':') {
        Some((key, _)) if key.to_lowercase().contains("serial") => left_out(key),
        Some((key, rest)) if rest.contains("identification =") => {
            let fields: Vec<String> = rest.split(',').map(field_without_identification).collect();
            format!("{key}:{}", fields.join(","))
        }
        _ => line.to_owned(),
    }
}

fn field_without_identification(field: &str) -> String {
    match field.split_once("identification =") {
        Some((before, _)) => format!("{before}identification = {LEFT_OUT}"),
        None => field.to_owned(),
    }
}

/// The tables of SMBIOS: what is said of slots of memory, and nothing else.
pub(crate) fn smbios(table: &[u8]) -> Vec<u8> {
    MemoryTable::parse(table).to_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_keeps_names_of_others_only() {
        let line = "BOOT_IMAGE=/boot/vmlinuz-6.8 root=UUID=01234567-89ab ro isolcpus=2-5 \
                    mitigations=off ip=10.1.2.3::10.1.2.1:255.255.255.0:myhost:eth0:off quiet \
                    intel_idle.max_cstate=1 alice@host.example.com=x secret -- --user alice";
        let kept = "BOOT_IMAGE=… root=… ro isolcpus=2-5 mitigations=off ip=… quiet \
                    intel_idle.max_cstate=1 … …";
        assert_eq!(command_line(line), kept);
        assert_eq!(command_line(kept), kept);
    }

    #[test]
    fn groups_get_plain_names_in_the_order_of_the_file() {
        let text = "12:cpu,cpuacct:/user.slice/user-1000.slice\n1:name=systemd:/user.slice/x\n0::/";
        let kept = "12:cpu,cpuacct:/group1/group2\n1:name=systemd:/group1/group3\n0::/";
        let groups = |text: &str| super::groups(text, &mut GroupNames::default());
        assert_eq!(groups(text), kept);
        assert_eq!(groups(kept), kept);
        let mut names = GroupNames::of(text);
        assert_eq!(names.plain("/user.slice/x"), "/group1/group3");
        assert_eq!(groups("0::/../../a\nnonsense"), "0::/../../group1");
        let mounts = "24 1 8:2 / / rw - ext4 /dev/alice rw\n\
                      36 32 0:31 /user.slice /sys/fs/cgroup/cpu rw shared:9 - cgroup host:/x \
                      rw,cpu,release_agent=/home/alice/x";
        let kept = "36 32 0:31 /group1 /sys/fs/cgroup/cpu - cgroup none rw,cpu";
        assert_eq!(mountinfo(mounts, &mut names), kept);
    }

    #[test]
    fn serial_numbers_are_left_out() {
        assert_eq!(cpuinfo_line("Serial\t\t: 00000000deadbeef"), "Serial\t\t: …");
        let s390 = "processor 0: version = FF,  identification = 133E1B,  machine = 2964";
        let kept = "processor 0: version = FF,  identification = …,  machine = 2964";
        assert_eq!(cpuinfo_line(s390), kept);
        assert_eq!(cpuinfo_line(kept), kept);
        assert_eq!(cpuinfo_line("model name\t: x"), "model name\t: x");
    }

    #[test]
    fn files_are_cut_down_to_what_concerns_performance() {
        assert_eq!(meminfo("MemTotal: 1 kB\nBuffers: 2 kB"), "MemTotal: 1 kB");
        assert_eq!(
            node_meminfo("Node 0 MemTotal: 1 kB\nNode 0 Dirty: 2 kB"),
            "Node 0 MemTotal: 1 kB"
        );
        assert_eq!(status("Name:\tbash\nUid:\t1000\nSeccomp:\t0"), "Seccomp:\t0");
        assert_eq!(modules("msr 16384 0 - Live 0x0\nsecret 1 0 - Live 0x0\n"), "msr");
        let config = "CONFIG_HZ=250\nCONFIG_DEFAULT_HOSTNAME=\"myhost\"";
        assert_eq!(configuration(config), "CONFIG_HZ=250");
    }
}
