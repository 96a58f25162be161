//! CPUID, registers and surroundings of a simulated machine.

use model::{CpuId, CpuSet, Obstacle, Unavailable};
use sys::cpuid::Leaf;
use sys::errno::{EACCES, ENOENT, ENOMEM, EPERM};

use super::model::{Fault, Model};
use super::tree::SimulatedTree;
use crate::attempts::{Surroundings, refusal};
use crate::permits::{Permits, Question};
use crate::ports::{Cpuid, Host, Machine, Msr, Reading};

/// The ports of a simulated machine.
pub(crate) fn machine(model: Model) -> Machine {
    Machine {
        tree: Box::new(SimulatedTree::new(&model)),
        cpuid: Box::new(SimulatedCpuid(model.clone())),
        msr: Box::new(SimulatedMsr { missing: model.has(Fault::NoMsr) }),
        permits: Box::new(SimulatedPermits::new(&model)),
        host: Box::new(SimulatedHost(model.clone())),
        elsewhere: None,
        simulated: Some(model),
    }
}

struct SimulatedCpuid(Model);

impl Cpuid for SimulatedCpuid {
    fn leaf(&self, leaf: u32, _subleaf: u32) -> Option<Leaf> {
        let identity = &self.0.identity;
        let claims = &self.0.clock.claims;
        let hypervisor = identity.hypervisor.as_deref();
        match leaf {
            0 => {
                let [ebx, edx, ecx] = words(&identity.vendor);
                Some(Leaf { eax: 0x16, ebx, ecx, edx })
            }
            1 => Some(registers([0, 0, u32::from(hypervisor.is_some()) << 31, 0])),
            // A crystal of 1 MHz, and a ratio in thousandths.
            0x15 => claims.cpuid15_hz.map(|hz| registers([1000, (hz / 1e3) as u32, 1_000_000, 0])),
            0x16 => claims.cpuid16_hz.map(|hz| registers([(hz / 1e6) as u32, 0, 0, 0])),
            0x4000_0000 => hypervisor.map(|name| {
                let [ebx, ecx, edx] = words(name);
                Leaf { eax: 0x4000_0010, ebx, ecx, edx }
            }),
            0x4000_0010 => {
                let hertz = claims.hypervisor_hz.filter(|_| hypervisor.is_some());
                hertz.map(|hz| registers([(hz / 1e3) as u32, 0, 0, 0]))
            }
            _ => None,
        }
    }

    fn leaf_of(&self, _cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        self.leaf(leaf, subleaf)
    }

    fn xcr0(&self) -> Option<u64> {
        None
    }
}

/// A plain user on a kernel of default settings.
struct SimulatedPermits {
    tree: SimulatedTree,
    guest: bool,
    msr: bool,
}

impl SimulatedPermits {
    fn new(model: &Model) -> SimulatedPermits {
        let guest = model.identity.hypervisor.is_some();
        let msr = !model.has(Fault::NoMsr);
        SimulatedPermits { tree: SimulatedTree::new(model), guest, msr }
    }
}

impl Permits for SimulatedPermits {
    fn ask(&self, question: Question) -> Reading<String> {
        let pmu = if self.guest { Err(ENOENT) } else { Ok("counters of the cores") };
        let answer = match question {
            Question::PerfUser => Ok("counts user mode of own threads"),
            Question::PerfCyclesUser | Question::Rdpmc => pmu,
            Question::MemoryLock => Ok("a page was locked"),
            Question::Affinity => Ok("threads can be pinned"),
            Question::MsrDevice if !self.msr => Err(ENOENT),
            Question::IsstInterface | Question::PerfUncore | Question::PerfEnergy => Err(ENOENT),
            Question::HugePage => Err(ENOMEM),
            Question::RealTime => Err(EPERM),
            Question::CpuDmaLatency
            | Question::MsrDevice
            | Question::PerfKernel
            | Question::PerfSystemWide => Err(EACCES),
        };
        answer.map(String::from).map_err(|code| {
            let here = Surroundings { tree: &self.tree, guest: self.guest };
            refusal(question, &std::io::Error::from_raw_os_error(code), &here)
        })
    }
}

fn registers([eax, ebx, ecx, edx]: [u32; 4]) -> Leaf {
    Leaf { eax, ebx, ecx, edx }
}

/// Up to twelve letters as three registers, filled with zeros.
fn words(text: &str) -> [u32; 3] {
    let mut bytes = [0; 12];
    let count = text.len().min(bytes.len());
    bytes[..count].copy_from_slice(&text.as_bytes()[..count]);
    std::array::from_fn(|i| {
        u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
    })
}

struct SimulatedMsr {
    missing: bool,
}

impl Msr for SimulatedMsr {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        let what = format!("register {register:#x}");
        if self.missing {
            let why = format!("there is no `/dev/cpu/{cpu}/msr`; guests often have none");
            let missing = Unavailable::new(Obstacle::Permission, what, why);
            return Err(missing.with_remedy("run `modprobe msr` as root"));
        }
        let why = "this version simulates no registers";
        Err(Unavailable::new(Obstacle::Cpudyno, what, why))
    }
}

struct SimulatedHost(Model);

impl Host for SimulatedHost {
    fn now_utc(&self) -> String {
        self.0.started.clone()
    }

    fn run_id(&self) -> String {
        "simulated000".into()
    }

    fn seed(&self) -> u64 {
        self.0.seed
    }

    fn affinity(&self) -> Reading<CpuSet> {
        Ok(self.0.cpus().collect())
    }

    fn is_root(&self) -> bool {
        false
    }
}
