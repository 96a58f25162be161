//! Machines as data: what QEMU is asked for, and what therefore is right.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::answers;
use crate::cpus::Cpus;

/// A machine of `machines.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    pub(crate) name: String,
    /// What it is there for, in a line.
    #[serde(rename = "for")]
    pub(crate) purpose: String,
    pub(crate) arch: Arch,
    /// QEMU's model of the CPU, with its properties.
    pub(crate) cpu: String,
    /// Whether it must be emulated, even where the host could lend its own CPU.
    #[serde(default)]
    emulated: bool,
    /// Whether the host lends its own CPU.
    #[serde(skip)]
    pub(crate) kvm: bool,
    #[serde(default)]
    pub(crate) shape: Shape,
    /// What the guest's kernel sees instead, where the model of the CPU hides a part.
    pub(crate) seen: Option<Shape>,
    /// How many CPUs are there from the start, where that is not all.
    pub(crate) cpus: Option<u32>,
    /// CPUs beyond those, by package, core and thread.
    #[serde(default)]
    pub(crate) plugged: Vec<[u32; 3]>,
    pub(crate) memory_mib: u64,
    #[serde(default)]
    pub(crate) nodes: Vec<Node>,
    /// From each node to each; 10 within a node and 20 between two where it is not given.
    #[serde(default)]
    pub(crate) distances: Vec<Vec<u32>>,
    /// Which of the kernels it boots.
    #[serde(default)]
    pub(crate) release: Release,
    /// What starts the kernel.
    #[serde(default)]
    pub(crate) boot: Boot,
    /// The kernel's parameters.
    #[serde(default)]
    pub(crate) kernel: Vec<String>,
    /// What else QEMU is given.
    #[serde(default)]
    pub(crate) qemu: Vec<String>,
    pub(crate) tasks: Vec<String>,
    /// How often a task asks that asks again and again.
    #[serde(skip)]
    pub(crate) rounds: u32,
    /// Whether it belongs to the selection.
    #[serde(default)]
    pub(crate) short: bool,
}

/// The architecture of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Arch {
    #[serde(rename = "x86-64")]
    X86,
    #[serde(rename = "aarch64")]
    Arm,
}

/// Kernels that packages offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Release {
    /// The one that this release of Debian came with.
    #[default]
    Stable,
    /// The newest one that there is for it.
    Backports,
}

/// What starts a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Boot {
    /// QEMU, which describes an Arm machine by a device tree.
    #[default]
    Qemu,
    /// Firmware of a package, which describes it by ACPI.
    Firmware,
}

/// How many of each there are in one of the next larger.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Shape {
    pub(crate) packages: u32,
    pub(crate) dies: u32,
    pub(crate) clusters: u32,
    pub(crate) cores: u32,
    pub(crate) threads: u32,
}

/// A memory node.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    #[serde(default)]
    pub(crate) cpus: Cpus,
    #[serde(default)]
    pub(crate) mib: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    machine: Vec<Machine>,
}

const MACHINES: &str = include_str!("../machines.toml");

/// All machines.
pub(crate) fn all() -> anyhow::Result<Vec<Machine>> {
    let File { machine } = toml::from_str(MACHINES).context("cannot read `machines.toml`")?;
    let mut names = BTreeSet::new();
    for machine in &machine {
        machine
            .check()
            .with_context(|| format!("machine `{}` of `machines.toml`", machine.name))?;
        if !names.insert(&machine.name) {
            bail!("`machines.toml` has two machines `{}`", machine.name);
        }
    }
    Ok(machine)
}

impl Default for Shape {
    fn default() -> Self {
        Self { packages: 1, dies: 1, clusters: 1, cores: 1, threads: 1 }
    }
}

impl Shape {
    /// Cores of a package.
    fn package_cores(self) -> u32 {
        self.dies * self.clusters * self.cores
    }

    /// All CPUs.
    pub(crate) fn cpus(self) -> u32 {
        self.packages * self.package_cores() * self.threads
    }
}

impl Arch {
    /// What Rust, GNU and QEMU call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arch::X86 => "x86_64",
            Arch::Arm => "aarch64",
        }
    }

    /// What Debian calls it.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Arch::X86 => "amd64",
            Arch::Arm => "arm64",
        }
    }

    pub(crate) fn qemu(self) -> String {
        format!("qemu-system-{}", self.name())
    }

    /// The package of its firmware and the file in it, where there is one beside QEMU's own.
    pub(crate) fn firmware(self) -> Option<(&'static str, &'static str)> {
        match self {
            Arch::X86 => None,
            Arch::Arm => Some(("qemu-efi-aarch64", "usr/share/qemu-efi-aarch64/QEMU_EFI.fd")),
        }
    }

    /// Where this machine's CPU could run it, and lets us.
    fn has_kvm(self) -> bool {
        let opens = || std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok();
        std::env::consts::ARCH == self.name() && opens()
    }

    fn console(self) -> &'static str {
        match self {
            Arch::X86 => "ttyS0",
            Arch::Arm => "ttyAMA0",
        }
    }
}

impl Machine {
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if let Some(task) = self.tasks.iter().find(|task| answers::task(task).is_none()) {
            bail!("there is no task `{task}`");
        }
        let nodes = self.nodes.len();
        if !self.nodes.is_empty()
            && self.nodes.iter().map(|n| n.mib).sum::<u64>() != self.memory_mib
        {
            bail!("its nodes do not share out its memory");
        }
        if self.boot == Boot::Firmware && self.arch.firmware().is_none() {
            bail!("there is no firmware for it but QEMU's own");
        }
        if self.distances.len() > nodes || self.distances.iter().any(|row| row.len() != nodes) {
            bail!("distances are from each node to each");
        }
        Ok(())
    }

    /// Lets it run on the host's own CPU, where that is of its kind and the machine does not forbid it.
    pub(crate) fn lend_cpu(&mut self) {
        self.kvm = !self.emulated && self.arch.has_kvm();
    }

    /// QEMU's arguments for the machine itself.
    pub(crate) fn qemu_arguments(&self) -> Vec<String> {
        let board = match self.arch {
            Arch::X86 => "q35",
            Arch::Arm => "virt,gic-version=3",
        };
        // Instructions are counted in one thread of the host, or not at all; and where newer kernels patch code that other
        // CPUs run, those run on in the middle of the patch (`Oops: int3` in `__schedule`, QEMU 7.2).
        let is_counted = self.qemu.iter().any(|word| word == "-icount");
        let is_patched = self.arch == Arch::X86 && self.release == Release::Backports;
        let is_single = is_counted || is_patched;
        let threads = if is_single { "single" } else { "multi" };
        let accelerator = if self.kvm { "kvm".to_owned() } else { format!("tcg,thread={threads}") };
        let mut words: Vec<String> = Vec::new();
        let mut give = |option: &str, value: String| words.extend([option.to_owned(), value]);
        give("-machine", board.to_owned());
        give("-accel", accelerator);
        give("-cpu", self.cpu.clone());
        give("-smp", self.smp());
        give("-m", format!("{}M", self.memory_mib));
        for [package, core, thread] in &self.plugged {
            let model = self.cpu.split(',').next().unwrap_or_default();
            let place = format!("socket-id={package},core-id={core},thread-id={thread}");
            give("-device", format!("{model}-{}-cpu,{place}", self.arch.name()));
        }
        for (id, node) in self.nodes.iter().enumerate() {
            let mut text = format!("node,nodeid={id}");
            for (first, last) in node.cpus.ranges() {
                let _ = write!(text, ",cpus={first}-{last}");
            }
            if node.mib > 0 {
                give("-object", format!("memory-backend-ram,id=m{id},size={}M", node.mib));
                let _ = write!(text, ",memdev=m{id}");
            }
            give("-numa", text);
        }
        for (from, row) in self.distances.iter().enumerate() {
            for (to, value) in row.iter().enumerate().filter(|&(to, _)| to != from) {
                give("-numa", format!("dist,src={from},dst={to},val={value}"));
            }
        }
        words.extend(self.qemu.iter().cloned());
        words
    }

    fn smp(&self) -> String {
        let Shape { packages, dies, clusters, cores, threads } = self.shape;
        let all = self.shape.cpus();
        let middle = match self.arch {
            Arch::X86 => format!("dies={dies}"),
            Arch::Arm => format!("clusters={clusters}"),
        };
        let now = self.cpus.unwrap_or(all);
        format!("{now},maxcpus={all},sockets={packages},{middle},cores={cores},threads={threads}")
    }

    /// What the kernel is started with.
    pub(crate) fn command_line(&self) -> String {
        // Where the host is busy, a CPU stands still for long, which is no fault of the guest's.
        let ours = format!("console={} panic=-1 quiet nosoftlockup", self.arch.console());
        [ours].into_iter().chain(self.kernel.iter().cloned()).collect::<Vec<_>>().join(" ")
    }

    /// The value of a parameter of the kernel: empty where it has none.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.kernel.iter().find_map(|word| {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            (key == name).then_some(value)
        })
    }

    /// Whether its PMU counts such events. QEMU's has cycles, and instructions where it counts them itself.
    pub(crate) fn counts(&self, event: &str) -> bool {
        let has_pmu = self.arch == Arch::Arm && !self.cpu.contains("pmu=off");
        has_pmu && (event == "cycles" || self.qemu.iter().any(|word| word == "-icount"))
    }

    /// What the guest's kernel sees.
    pub(crate) fn seen(&self) -> Shape {
        self.seen.unwrap_or(self.shape)
    }

    /// All CPUs that are plugged in.
    pub(crate) fn present(&self) -> Cpus {
        let now = self.cpus.unwrap_or_else(|| self.shape.cpus());
        Cpus((0..now + self.plugged.len() as u32).collect())
    }

    /// Those that run after the start.
    pub(crate) fn online(&self) -> Cpus {
        let few = self.parameter("maxcpus").and_then(|text| text.parse::<u32>().ok());
        let siblings = if self.parameter("nosmt").is_some() { self.seen().threads } else { 1 };
        let runs = |cpu: &u32| few.is_none_or(|few| *cpu < few) && cpu.is_multiple_of(siblings);
        Cpus(self.present().0.into_iter().filter(runs).collect())
    }

    /// Those that the scheduler leaves alone.
    pub(crate) fn isolated(&self) -> Cpus {
        let text = self.parameter("isolcpus").unwrap_or_default();
        Cpus::parse(text).unwrap_or_default()
    }

    /// Where a CPU that is plugged in stands among all that could be.
    fn place(&self, cpu: u32) -> u32 {
        let now = self.cpus.unwrap_or_else(|| self.shape.cpus());
        let Some(&[package, core, thread]) = self.plugged.get((cpu.wrapping_sub(now)) as usize)
        else {
            return cpu;
        };
        (package * self.shape.package_cores() + core) * self.shape.threads + thread
    }

    /// The CPUs among `cpus` that share a package.
    pub(crate) fn packages(&self, cpus: &Cpus) -> BTreeSet<Cpus> {
        let seen = self.seen();
        self.grouped(cpus, seen.package_cores() * seen.threads)
    }

    /// The CPUs among `cpus` that share a core.
    pub(crate) fn cores(&self, cpus: &Cpus) -> BTreeSet<Cpus> {
        self.grouped(cpus, self.seen().threads)
    }

    fn grouped(&self, cpus: &Cpus, size: u32) -> BTreeSet<Cpus> {
        let groups: BTreeSet<u32> = cpus.0.iter().map(|&cpu| self.place(cpu) / size).collect();
        let members = |group: u32| {
            Cpus(cpus.0.iter().copied().filter(|&cpu| self.place(cpu) / size == group).collect())
        };
        groups.into_iter().map(members).collect()
    }

    /// The memory nodes: one that has everything where none is described.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        if self.nodes.is_empty() {
            return vec![Node { cpus: self.present(), mib: self.memory_mib }];
        }
        self.nodes.clone()
    }

    pub(crate) fn distance(&self, from: usize, to: usize) -> u32 {
        let default = if from == to { 10 } else { 20 };
        self.distances.get(from).and_then(|row| row.get(to)).copied().unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> Machine {
        all().unwrap().into_iter().find(|machine| machine.name == name).unwrap()
    }

    fn listed(groups: &BTreeSet<Cpus>) -> Vec<String> {
        groups.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn answers_follow_from_the_parameters_of_the_kernel() {
        assert_eq!(machine("x-nosmt").online().to_string(), "0,2,4,6");
        assert_eq!(machine("x-maxcpus").online().to_string(), "0-4");
        assert_eq!(machine("x-isol").isolated().to_string(), "2");
    }

    #[test]
    fn cpus_sit_where_they_are_plugged_in() {
        let hole = machine("x-hole");
        let present = hole.present();
        assert_eq!(present.to_string(), "0-2");
        assert_eq!(listed(&hole.packages(&present)), ["0-1", "2"]);
        assert_eq!(listed(&hole.cores(&present)), ["0-1", "2"]);
        let hidden = machine("x-2s8");
        assert_eq!(listed(&hidden.packages(&hidden.online())), ["0-3", "4-7"]);
        assert_eq!(hidden.cores(&hidden.online()).len(), 8);
    }

    #[test]
    fn the_emulator_is_told_all_of_it() {
        let words = machine("x-oddnodes").qemu_arguments().join(" ");
        for part in [
            "-smp 8,maxcpus=8,sockets=2,dies=1,cores=2,threads=2",
            "-numa node,nodeid=2,cpus=6-7 ",
            "-numa node,nodeid=3,memdev=m3",
            "-numa dist,src=2,dst=3,val=40",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(machine("a-icount").qemu_arguments().join(" ").contains("tcg,thread=single"));
        assert!(machine("x-hole").qemu_arguments().contains(
            &"Skylake-Server-v4-x86_64-cpu,socket-id=1,core-id=1,thread-id=1".to_owned()
        ));
    }
}
