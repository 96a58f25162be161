//! What there is of a lever on a machine.

use std::collections::BTreeSet;

use machine::Machine;
use model::{CpuId, CpuSet};

use crate::drivers::{CPU, online, present};
use crate::object::Object;
use crate::rows::{Lever, LeverPlace, Scope};

/// One of what a lever moves.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Whose it is, in words: `CPU 3`, `package_00_die_00`, `machine`.
    pub of: SettingOwner,
    /// What is written to.
    pub object: Object,
    /// Where the words are listed that it may be set to.
    pub(crate) listed: Option<String>,
    /// What a write changes, too.
    pub(crate) followers: Vec<Object>,
}

/// Whose a setting is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOwner {
    /// The machine's.
    Machine,
    /// That of one CPU, or of a group that it stands for.
    Cpu(CpuId),
    /// That of a part with a name of its own.
    Part(String),
}

impl SettingOwner {
    /// In words; of a part with its agents, where the kernel names them: `uncore01 (io)`.
    pub(crate) fn named(&self, machine: &Machine) -> String {
        match self {
            SettingOwner::Machine => "machine".to_owned(),
            SettingOwner::Cpu(cpu) => format!("CPU {cpu}"),
            SettingOwner::Part(part) => {
                match machine::facts::uncore_agents(machine, part).as_slice() {
                    [] => part.clone(),
                    agents => format!("{part} ({})", agents.join(", ")),
                }
            }
        }
    }
}

/// What fills the gaps in a path.
#[derive(Default)]
struct Gaps<'a> {
    cpu: Option<CpuId>,
    state: Option<&'a str>,
    die: Option<&'a str>,
}

impl Gaps<'_> {
    fn fill(&self, path: &str) -> String {
        let mut path = path.to_owned();
        if let Some(cpu) = self.cpu {
            path = path.replace("{cpu}", &cpu.to_string());
        }
        if let Some(state) = self.state {
            path = path.replace("{state}", state);
        }
        if let Some(die) = self.die {
            path = path.replace("{die}", die);
        }
        path
    }

    fn target(&self, machine: &Machine, lever: &'static Lever, of: SettingOwner) -> Target {
        let object = match lever.place {
            LeverPlace::File(path) => Object::File(self.fill(path)),
            LeverPlace::Request(device) => Object::Request(device.to_owned()),
            LeverPlace::SpeedSelect(_) => unreachable!("BUG: asked for by name"),
            LeverPlace::Bit { register, bit, .. } => {
                let cpu = self.cpu.expect("BUG: a register belongs to a CPU");
                Object::Bit { cpu, register, bit }
            }
        };
        let listed = lever.list().map(|path| self.fill(path));
        let governor = || governor(machine, &SettingOwner::Cpu(self.cpu?));
        let each = |form: &&str| {
            let form = self.fill(form);
            if !form.contains("{governor}") {
                return each(machine, form);
            }
            let governor = governor().unwrap_or_default();
            each(machine, form.replace("{governor}", &governor))
        };
        let followers = lever.followers.iter().flat_map(each).map(Object::File).collect();
        Target { of, object, listed, followers }
    }
}

/// The files that a path with gaps stands for on this machine.
fn each(machine: &Machine, form: String) -> Vec<String> {
    let Some((before, rest)) = form.split_once('{') else { return vec![form] };
    let Some((gap, after)) = rest.split_once('}') else { return Vec::new() };
    let names = |folder: &str| machine.tree.list(folder).unwrap_or_default();
    let fills: Vec<String> = match gap {
        // Limits of the clock are those of a group of CPUs.
        "cpu" if after.contains("cpufreq") => {
            let leaders = leaders(machine, &online(machine));
            leaders.into_iter().map(|cpu| cpu.to_string()).collect()
        }
        "cpu" => present(machine).iter().map(|cpu| cpu.to_string()).collect(),
        "node" => {
            let nodes = names("/sys/devices/system/node");
            nodes.iter().filter_map(|name| name.strip_prefix("node")).map(str::to_owned).collect()
        }
        "huge" => {
            huge_page_bytes(machine).map(|bytes| (bytes / 1024).to_string()).into_iter().collect()
        }
        "tunable" => names(before.trim_end_matches('/')),
        _ => Vec::new(),
    };
    fills.into_iter().flat_map(|fill| each(machine, format!("{before}{fill}{after}"))).collect()
}

/// Bytes of a huge page of the default size.
pub(crate) fn huge_page_bytes(machine: &Machine) -> Option<u64> {
    memory_kibibytes(machine, "Hugepagesize").map(|kibibytes| kibibytes * 1024)
}

/// A line of `/proc/meminfo`.
pub(crate) fn memory_kibibytes(machine: &Machine, key: &str) -> Option<u64> {
    let text = machine.tree.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// The governor of a CPU.
pub(crate) fn governor(machine: &Machine, of: &SettingOwner) -> Option<String> {
    let SettingOwner::Cpu(cpu) = of else { return None };
    let governor = machine.tree.read(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor"));
    governor.ok().map(|governor| governor.trim().to_owned())
}

/// What there is of a lever, for these CPUs or for all.
pub(crate) fn targets(
    machine: &Machine,
    lever: &'static Lever,
    state: Option<&str>,
    cpus: Option<&CpuSet>,
) -> Vec<Target> {
    let all = || if lever.id == "online" { present(machine) } else { online(machine) };
    let chosen = cpus.cloned().unwrap_or_else(all);
    let one = |cpu: CpuId| {
        Gaps { cpu: Some(cpu), ..Gaps::default() }.target(machine, lever, SettingOwner::Cpu(cpu))
    };
    match lever.scope {
        Scope::Machine => vec![Gaps::default().target(machine, lever, SettingOwner::Machine)],
        Scope::Cpu => chosen.iter().map(one).collect(),
        Scope::Policy => leaders(machine, &chosen).into_iter().map(one).collect(),
        // They are asked for by commands that know power domains.
        Scope::PowerDomain => Vec::new(),
        Scope::IdleState => {
            let of = |cpu: CpuId| {
                let index = states(machine, cpu).into_iter().find(|s| Some(&*s.name) == state)?;
                let gaps = Gaps { cpu: Some(cpu), state: Some(&index.index), die: None };
                Some(gaps.target(machine, lever, SettingOwner::Cpu(cpu)))
            };
            chosen.iter().filter_map(of).collect()
        }
        Scope::UncoreDie => {
            let part = |die: &String| {
                let gaps = Gaps { die: Some(die), ..Gaps::default() };
                gaps.target(machine, lever, SettingOwner::Part(die.clone()))
            };
            dies(machine).iter().map(part).collect()
        }
    }
}

/// The parts with a clock of their own outside the cores. Where there is an entry for each cluster of a
/// die, the entry of the whole die writes to all of them, and is no part of its own.
///
/// # Source
/// Linux, Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst, "SoC with TPMI".
fn dies(machine: &Machine) -> Vec<String> {
    let folder = format!("{CPU}/intel_uncore_frequency");
    let names = machine.tree.list(&folder).unwrap_or_default();
    let is_cluster =
        |name: &String| machine.tree.read(&format!("{folder}/{name}/domain_id")).is_ok();
    let clusters: Vec<String> = names.iter().filter(|name| is_cluster(name)).cloned().collect();
    if clusters.is_empty() { names } else { clusters }
}

/// The CPUs of one setting: those whose frequency is set together with that of `cpu`.
pub(crate) fn group(machine: &Machine, cpu: CpuId) -> CpuSet {
    let list = machine.tree.read(&format!("{CPU}/cpu{cpu}/cpufreq/affected_cpus")).ok();
    let alone = || CpuSet::from_iter([cpu]);
    list.and_then(|list| list.split_whitespace().collect::<Vec<_>>().join(",").parse().ok())
        .filter(|group: &CpuSet| group.contains(cpu))
        .unwrap_or_else(alone)
}

/// The first CPU of each group: whichever of its CPUs is named, it is one setting.
fn leaders(machine: &Machine, cpus: &CpuSet) -> Vec<CpuId> {
    let mut covered = BTreeSet::new();
    let mut leaders = Vec::new();
    let online = online(machine);
    for cpu in cpus.iter() {
        if !covered.contains(&cpu) {
            let group = group(machine, cpu);
            let is_first = |cpu: &CpuId| online.contains(*cpu) && !covered.contains(cpu);
            leaders.push(group.iter().find(is_first).unwrap_or(cpu));
            covered.extend(group.iter());
        }
    }
    leaders
}

/// An idle state of a CPU.
pub(crate) struct IdleState {
    /// Its number.
    pub(crate) index: String,
    /// Its name, such as C6.
    pub(crate) name: String,
}

/// Why there is none of them.
pub(crate) const NO_IDLE_STATES: &str =
    "no idle states are here (`/sys/devices/system/cpu/cpu*/cpuidle`)";

/// The idle states of a CPU.
pub(crate) fn states(machine: &Machine, cpu: CpuId) -> Vec<IdleState> {
    let folder = format!("{CPU}/cpu{cpu}/cpuidle");
    let names = machine.tree.list(&folder).unwrap_or_default();
    let state = |entry: String| {
        let index = entry.strip_prefix("state")?.to_owned();
        let name = machine.tree.read(&format!("{folder}/{entry}/name")).ok()?;
        Some(IdleState { index, name: name.trim().to_owned() })
    };
    names.into_iter().filter_map(state).collect()
}
