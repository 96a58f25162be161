//! For which CPU events are looked up: the machine at hand, or another one.

use std::path::{Path, PathBuf};

use machine::permits::Question;
use machine::pmu::{self, Pmu};
use machine::{Machine, Reading, Tree, facts};
use model::{Obstacle, Unavailable};
use sys::cpuid::Leaf;

use super::cpu::{Cpu, Maker};
use super::error::Error;
use super::table::{CoreType, Family};

/// `PERF_TYPE_RAW`: the number of the cores' PMU where cores have only one.
const RAW: u32 = 4;

/// What events are looked up for.
pub struct Target<'a> {
    /// The machine at hand; none: another CPU, of which only the numbers are known.
    pub(crate) machine: Option<&'a Machine>,
    /// Who it is; where the machine does not say, why.
    pub(crate) cpu: Reading<Cpu>,
    /// Its PMUs of cores: two of a hybrid.
    pub(crate) cores: Vec<Core>,
    /// A folder of perfmon's files.
    pub(crate) folder: Option<PathBuf>,
}

/// The PMU of a type of cores.
pub(crate) struct Core {
    /// Its name in sysfs.
    pub(crate) pmu: String,
    /// Its number; or why events of it cannot be counted here.
    pub(crate) kind: Reading<u32>,
    /// Which CPUs' events it has.
    pub(crate) cpu: Option<Cpu>,
    /// Which type of core, of a hybrid.
    pub(crate) of_type: Option<CoreType>,
    /// Its family, where our table knows it.
    pub(crate) family: Option<&'static Family>,
    /// What CPUID says of its counters (leaf 0Ah), where it says something.
    pub(crate) announced: Option<Leaf>,
}

impl Core {
    /// Whose registers it has.
    pub(crate) fn maker(&self) -> Maker {
        self.cpu.as_ref().map_or(Maker::Other, Cpu::maker)
    }
}

impl<'a> Target<'a> {
    /// The machine at hand.
    pub fn of(machine: &'a Machine) -> Target<'a> {
        let numbers = facts::cpu_numbers(machine);
        let first = |numbers: &Vec<facts::CpuNumbers>| numbers.first().cloned();
        let cpu = numbers.as_ref().ok().and_then(first).map(Cpu::of).ok_or_else(|| {
            let none = || Unavailable::new(Obstacle::Hardware, "CPU", "it has no numbers");
            numbers.as_ref().err().cloned().unwrap_or_else(none)
        });
        let names = pmu::names(machine.tree.as_ref()).unwrap_or_default();
        let mut cores: Vec<Core> = names
            .iter()
            .filter(|name| is_of_cores(name))
            .map(|name| of_core(machine, name, numbers.as_deref().unwrap_or(&[])))
            .collect();
        if cores.is_empty() {
            cores.push(absent(machine, cpu.as_ref().ok()));
        }
        Target { machine: Some(machine), cpu, cores, folder: None }
    }

    /// Another CPU: the name of a family, or numbers such as `GenuineIntel-6-8F`.
    pub fn named(typed: &str) -> Result<Target<'static>, Error> {
        let cpu = Cpu::named(typed)?;
        // The name of one type of core means that one.
        let asked = typed.trim().to_ascii_lowercase();
        let mut families = cpu.families();
        if let Some(only) = families.iter().find(|family| family.id == asked) {
            families = vec![only];
        }
        let not_here = || {
            let why = format!("events of {cpu} are listed, not counted");
            Err(Unavailable::new(Obstacle::Hardware, "PMU", why))
        };
        let core_of = |family: Option<&'static Family>| {
            let core = family.and_then(|family| family.core);
            let hybrid = core.filter(|_| families.len() > 1 || family.is_some());
            let pmu = match (cpu.maker(), hybrid) {
                (Maker::Arm, _) => "armv8_pmuv3_0",
                (_, Some(CoreType::Core)) => "cpu_core",
                (_, Some(CoreType::Atom)) => "cpu_atom",
                _ => "cpu",
            };
            let (pmu, cpu) = (pmu.to_owned(), Some(cpu.clone()));
            Core { pmu, kind: not_here(), cpu, of_type: core, family, announced: None }
        };
        let cores = match families.as_slice() {
            [] => vec![core_of(None)],
            several => several.iter().map(|family| core_of(Some(family))).collect(),
        };
        Ok(Target { machine: None, cpu: Ok(cpu), cores, folder: None })
    }

    /// With a folder of perfmon's files.
    #[must_use]
    pub fn with_folder(self, folder: Option<&Path>) -> Target<'a> {
        Target { folder: folder.map(Path::to_owned), ..self }
    }

    /// Which CPU it is.
    pub fn cpu(&self) -> Reading<&Cpu> {
        self.cpu.as_ref().map_err(Clone::clone)
    }

    /// Whether it is the machine at hand.
    pub fn is_at_hand(&self) -> bool {
        self.machine.is_some()
    }

    /// Whether it is the machine that this process runs on: neither simulated nor recorded.
    pub(crate) fn is_this_machine(&self) -> bool {
        let is_real =
            |machine: &&Machine| machine.simulated.is_none() && machine.elsewhere.is_none();
        self.machine.as_ref().is_some_and(is_real)
    }

    /// What our table calls its cores.
    pub fn families(&self) -> Vec<&'static Family> {
        self.cores.iter().filter_map(|core| core.family).collect()
    }

    /// What our table calls the cores of that PMU; of any, where none is named.
    pub fn family_of(&self, pmu: Option<&str>) -> Option<&'static Family> {
        let is_it = |core: &&Core| pmu.is_none_or(|pmu| core.pmu == pmu);
        self.cores.iter().find(is_it).and_then(|core| core.family)
    }

    /// The PMUs of its cores, each with its number or the reason why nothing can be counted on it.
    pub fn cores(&self) -> impl Iterator<Item = (&str, Reading<u32>)> {
        self.cores.iter().map(|core| (core.pmu.as_str(), core.kind.clone()))
    }

    /// The files of the machine at hand.
    pub(crate) fn tree(&self) -> Option<&'a dyn Tree> {
        self.machine.map(|machine| machine.tree.as_ref())
    }

    /// How an event is called: with its PMU where there are several of cores.
    pub(crate) fn name(&self, core: &Core, name: &str) -> String {
        if self.cores.len() > 1 { format!("{}/{name}/", core.pmu) } else { name.to_owned() }
    }
}

/// Whether a PMU is one of cores.
pub(crate) fn is_of_cores(name: &str) -> bool {
    let begins = |it: &&str| name.starts_with(it);
    ["cpu", "cpu_core", "cpu_atom"].contains(&name) || ["armv", "apple_"].iter().any(begins)
}

/// Of which type of cores a PMU is, of a hybrid.
fn core_type(name: &str) -> Option<CoreType> {
    match name {
        "cpu_core" => Some(CoreType::Core),
        "cpu_atom" => Some(CoreType::Atom),
        _ => None,
    }
}

fn of_core(machine: &Machine, name: &str, numbers: &[facts::CpuNumbers]) -> Core {
    let core = core_type(name);
    let tree = machine.tree.as_ref();
    let first = Pmu::new(tree, name).first_cpu();
    // Cores of Arm's architecture may differ, and each CPU has its numbers.
    let own = first.and_then(|cpu| numbers.get(cpu.0 as usize)).or(numbers.first());
    let cpu = own.cloned().map(Cpu::of);
    let families = cpu.as_ref().map(Cpu::families).unwrap_or_default();
    let leaf = match first {
        Some(cpu) => machine.cpuid.leaf_of(cpu, 0xa, 0),
        None => machine.cpuid.leaf(0xa, 0),
    };
    Core {
        pmu: name.to_owned(),
        kind: Pmu::new(tree, name).kind(),
        family: Family::of_core(&families, core),
        cpu,
        of_type: core,
        announced: leaf.filter(|leaf| leaf.eax & 0xff > 0),
    }
}

/// A machine whose kernel knows no PMU of the cores.
fn absent(machine: &Machine, cpu: Option<&Cpu>) -> Core {
    let reason = machine.permits.ask(Question::PerfCyclesUser).err().unwrap_or_else(|| {
        let why = "the kernel describes no PMU of the cores in `/sys/bus/event_source/devices`";
        Unavailable::new(Obstacle::Permission, "counters of the cores", why)
    });
    let families = cpu.map(Cpu::families).unwrap_or_default();
    // Where cycles can be counted though nothing is described, the number is the one of raw events.
    let may_count = machine.permits.ask(Question::PerfCyclesUser).is_ok();
    Core {
        pmu: "cpu".to_owned(),
        kind: if may_count { Ok(RAW) } else { Err(reason) },
        cpu: cpu.cloned(),
        of_type: None,
        family: Family::of_core(&families, None),
        announced: None,
    }
}
