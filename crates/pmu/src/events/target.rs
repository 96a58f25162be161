//! For which CPU events are looked up: the machine at hand, or another one.

use std::path::{Path, PathBuf};

use machine::permissions::Question;
use machine::pmu::{self, Pmu};
use machine::{Machine, Tree, facts};
use model::microarchitecture::CpuNumbers;
use model::{Obstacle, Reading, Unavailable};
use sys::cpuid::Leaf;

use super::cpu::{CpuModel, Maker};
use super::error::Error;
use super::sources;
use super::table::{CoreType, Family};

/// `PERF_TYPE_RAW`: the number of the cores' PMU where cores have only one.
const RAW: u32 = 4;

/// What events are looked up for.
pub struct Target<'a> {
    /// The machine at hand; none: another CPU, of which only the numbers are known.
    pub(crate) machine: Option<&'a Machine>,
    /// Who it is; where the machine does not say, why.
    pub(crate) cpu: Reading<CpuModel>,
    /// Its PMUs of cores: two of a hybrid.
    pub(crate) cores: Vec<CoreTypePmu>,
    /// A folder of perfmon's files.
    pub(crate) folder: Option<PathBuf>,
}

/// The PMU of a type of cores.
pub(crate) struct CoreTypePmu {
    /// Its name in sysfs.
    pub(crate) pmu: String,
    /// Its number; or why events of it cannot be counted here.
    pub(crate) kind: Reading<u32>,
    /// Which CPUs' events it has.
    pub(crate) cpu: Option<CpuModel>,
    /// Which type of core, of a hybrid.
    pub(crate) of_type: Option<CoreType>,
    /// Its family, where our table knows it.
    pub(crate) family: Option<&'static Family>,
    /// What CPUID says of its counters (leaf 0Ah), where it says something.
    pub(crate) announced: Option<Leaf>,
    /// Whether the kernel knows unit masks of 8 bits only.
    pub(crate) is_narrow: bool,
}

impl CoreTypePmu {
    /// Whose registers it has.
    pub(crate) fn maker(&self) -> Maker {
        self.cpu.as_ref().map_or(Maker::Other, CpuModel::maker)
    }

    /// Whether it has the fixed counter of that number; none where nobody says.
    ///
    /// # Source
    /// Intel SDM volume 2A, CPUID 0Ah: as many fixed counters as EDX\[4:0\] says, and from version 5 on those
    /// whose bits are set in ECX.
    pub(crate) fn has_fixed(&self, number: u32) -> Option<bool> {
        match (self.announced, self.family) {
            (Some(Leaf { eax, ecx, edx, .. }), _) => {
                Some(number < edx & 0x1f || eax & 0xff >= 5 && ecx >> number & 1 == 1)
            }
            (None, Some(family)) => Some(number < family.fixed),
            (None, None) => None,
        }
    }
}

impl<'a> Target<'a> {
    /// The machine at hand.
    pub fn of(machine: &'a Machine) -> Target<'a> {
        let numbers = facts::cpu_numbers(machine);
        let first = |numbers: &Vec<CpuNumbers>| numbers.first().cloned();
        let cpu = numbers.as_ref().ok().and_then(first).map(CpuModel::of).ok_or_else(|| {
            let none = || Unavailable::new(Obstacle::Hardware, "CPU", "it has no numbers");
            numbers.as_ref().err().cloned().unwrap_or_else(none)
        });
        let names = pmu::of_cores(machine.tree.as_ref());
        let mut cores: Vec<CoreTypePmu> = names
            .iter()
            .map(|name| of_core(machine, name, numbers.as_deref().unwrap_or(&[])))
            .collect();
        if cores.is_empty() {
            cores = absent(machine, cpu.as_ref().ok());
        }
        Target { machine: Some(machine), cpu, cores, folder: None }
    }

    /// Another CPU: the name of a family, or numbers such as `GenuineIntel-6-8F`.
    pub fn named(typed: &str) -> Result<Target<'static>, Error> {
        let cpu = CpuModel::named(typed)?;
        // The name of one type of core means that one.
        let mut families = cpu.families();
        let named: Vec<_> =
            families.iter().copied().filter(|family| family.is_called(typed)).collect();
        if let [only] = named.as_slice() {
            families = vec![only];
        }
        let not_here = || {
            let why = format!("events of {cpu} are listed, not counted");
            Err(Unavailable::new(Obstacle::Hardware, "PMU", why))
        };
        let core_of = |family: Option<&'static Family>| {
            let core = family.and_then(|family| family.core);
            let (pmu, cpu) = (usual_name(Some(&cpu), core).to_owned(), Some(cpu.clone()));
            CoreTypePmu {
                pmu,
                kind: not_here(),
                cpu,
                of_type: core,
                family,
                announced: None,
                is_narrow: false,
            }
        };
        let cores = match families.as_slice() {
            [] => vec![core_of(None)],
            several => several.iter().map(|family| core_of(Some(family))).collect(),
        };
        Ok(Target { machine: None, cpu: Ok(cpu), cores, folder: None })
    }

    /// With a folder of perfmon's files. What types of cores a CPU has that neither our table nor a kernel
    /// knows, its lists say.
    #[must_use]
    pub fn with_folder(mut self, folder: Option<&Path>) -> Target<'a> {
        self.folder = folder.map(Path::to_owned);
        if let ([core], Some(folder)) = (self.cores.as_slice(), folder)
            && let (Err(reason), Some(cpu)) = (&core.kind, &core.cpu)
            && core.of_type.is_none()
            && core.family.is_none()
        {
            let of_type = |core: CoreType| CoreTypePmu {
                pmu: core.pmu().to_owned(),
                kind: Err(reason.clone()),
                cpu: Some(cpu.clone()),
                of_type: Some(core),
                family: None,
                announced: None,
                is_narrow: false,
            };
            let cores: Vec<CoreTypePmu> =
                sources::core_types(folder, cpu).into_iter().map(of_type).collect();
            if cores.len() > 1 {
                self.cores = cores;
            }
        }
        self
    }

    /// Which CPU it is.
    pub fn cpu(&self) -> Reading<&CpuModel> {
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
        let is_it = |core: &&CoreTypePmu| pmu.is_none_or(|pmu| core.pmu == pmu);
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
    pub(crate) fn name(&self, core: &CoreTypePmu, name: &str) -> String {
        if self.cores.len() > 1 { format!("{}/{name}/", core.pmu) } else { name.to_owned() }
    }
}

/// What the kernel usually calls the PMU of such cores.
fn usual_name(cpu: Option<&CpuModel>, core: Option<CoreType>) -> &'static str {
    match (cpu.map(CpuModel::maker), core) {
        (Some(Maker::Arm), _) => "armv8_pmuv3_0",
        (_, Some(core)) => core.pmu(),
        (_, None) => "cpu",
    }
}

/// The type of a core by CPUID, where the kernel has one PMU for all of them.
///
/// # Source
/// Intel SDM volume 2A, CPUID 1Ah: EAX\[31:24\] is 40h of a performance core and 20h of an efficient one.
fn announced_type(leaf: Option<Leaf>) -> Option<CoreType> {
    match leaf?.eax >> 24 {
        0x40 => Some(CoreType::Core),
        0x20 => Some(CoreType::Atom),
        _ => None,
    }
}

/// The type of all cores, where CPUID has parts of both kinds under one number and says that this one is no hybrid:
/// such parts have performance cores alone.
///
/// # Source
/// Intel SDM volume 2A, CPUID: 7 EDX\[15\] tells hybrids.
fn type_of_all(structured: Option<Leaf>) -> Option<CoreType> {
    (structured?.edx >> 15 & 1 == 0).then_some(CoreType::Core)
}

fn of_core(machine: &Machine, name: &str, numbers: &[CpuNumbers]) -> CoreTypePmu {
    let tree = machine.tree.as_ref();
    let pmu = Pmu::new(tree, name);
    let first = pmu.first_cpu();
    // Cores of Arm's architecture may differ, and each CPU has its numbers.
    let own = first.and_then(|cpu| numbers.get(cpu.0 as usize)).or(numbers.first());
    let cpu = own.cloned().map(CpuModel::of);
    let families = cpu.as_ref().map(CpuModel::families).unwrap_or_default();
    let leaf = |number: u32| match first {
        Some(cpu) => machine.cpuid.leaf_of(cpu, number, 0),
        None => machine.cpuid.leaf(number, 0),
    };
    let core = CoreType::of_pmu(name)
        .or_else(|| announced_type(leaf(0x1a)))
        .or_else(|| type_of_all(leaf(7)).filter(|_| families.len() > 1));
    CoreTypePmu {
        pmu: name.to_owned(),
        kind: pmu.kind(),
        family: Family::of_core(&families, core),
        cpu,
        of_type: core,
        announced: leaf(0xa).filter(|leaf| leaf.eax & 0xff > 0),
        is_narrow: pmu.encode("umask=0xff").is_ok() && pmu.encode("umask=0x1ff").is_err(),
    }
}

/// The cores of a machine whose kernel knows no PMU of them.
fn absent(machine: &Machine, cpu: Option<&CpuModel>) -> Vec<CoreTypePmu> {
    // Where cycles can be counted though nothing is described, the number is the one of raw events.
    let kind = match machine.permits.ask(Question::PerfCyclesUser) {
        Ok(_) => Ok(RAW),
        Err(reason) => Err(reason),
    };
    let families = cpu.map(CpuModel::families).unwrap_or_default();
    let types: Vec<Option<CoreType>> = match families.as_slice() {
        several @ [_, _, ..] if kind.is_err() => several.iter().map(|it| it.core).collect(),
        _ => vec![announced_type(machine.cpuid.leaf(0x1a, 0))],
    };
    let is_hybrid = types.len() > 1;
    let of_type = |core: Option<CoreType>| CoreTypePmu {
        pmu: usual_name(cpu, core.filter(|_| is_hybrid)).to_owned(),
        kind: kind.clone(),
        cpu: cpu.cloned(),
        of_type: core,
        family: Family::of_core(&families, core),
        announced: None,
        is_narrow: false,
    };
    types.into_iter().map(of_type).collect()
}
