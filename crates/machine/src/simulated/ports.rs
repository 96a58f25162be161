//! CPUID, registers and surroundings of a simulated machine.

use std::sync::Arc;
use std::time::Duration;

use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use sys::cpuid::Leaf;
use sys::errno::{EACCES, ENOENT, ENOMEM, EPERM};

use super::firmware::SimulatedIsst;
use super::model::{Fault, Identity, Model};
use super::registers::SimulatedMsr;
use super::tree::{Came, SimulatedTree};
use crate::attempts::{Surroundings, counter_refused, refusal};
use crate::facts::Ground;
use crate::perf::{Reader, Wanted, lacked};
use crate::permits::{Permits, Question};
use crate::ports::{Cpuid, Host, Machine, Perf};

/// The ports of a simulated machine.
pub(crate) fn machine(model: Model) -> Machine {
    made(Model { came: Came::of(&model), ..model })
}

/// Those of one whose files are made.
pub(super) fn made(model: Model) -> Machine {
    let tree = SimulatedTree::new(&model);
    Machine {
        cpuid: Box::new(SimulatedCpuid(model.clone())),
        msr: Arc::new(SimulatedMsr(model.clone())),
        isst: Arc::new(SimulatedIsst::new(&model)),
        permits: Box::new(SimulatedPermits::new(&model, tree.clone())),
        perf: Box::new(SimulatedPerf { model: model.clone(), tree: tree.clone() }),
        tree: Box::new(tree),
        host: Box::new(SimulatedHost(model.clone())),
        elsewhere: None,
        simulated: Some(model),
        worker: None,
    }
}

struct SimulatedCpuid(Model);

impl Cpuid for SimulatedCpuid {
    fn leaf(&self, leaf: u32, _subleaf: u32) -> Option<Leaf> {
        let identity = &self.0.identity;
        let claims = &self.0.clock.claims;
        let hypervisor = identity.hypervisor.as_deref();
        if self.0.is_arm() {
            return None;
        }
        match leaf {
            0 => {
                let [ebx, edx, ecx] = words(&identity.vendor);
                Some(Leaf { eax: 0x16, ebx, ecx, edx })
            }
            1 => {
                let guest = u32::from(hypervisor.is_some()) << 31;
                Some(registers([signature(identity), 0, guest, 0]))
            }
            // Turbo, HWP and its energy preference; the bias between performance and energy, and
            // APERF with MPERF.
            6 => self.0.registers.map(|has| {
                let pair = u32::from(has.aperf_mperf);
                let [power, bias] =
                    if identity.is_amd() { [0; 2] } else { [1 << 1 | 1 << 7 | 1 << 10, 1 << 3] };
                registers([power, 0, bias | pair, 0])
            }),
            // How far this range goes, and the register that switches prefetchers off.
            0x8000_0000 if identity.is_amd() => Some(registers([0x8000_0021, 0, 0, 0])),
            0x8000_0021 if identity.is_amd() => Some(registers([1 << 13, 0, 0, 0])),
            0xa => self.counters(CpuId(0)),
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

    fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        match (leaf, self.0.is_efficient(cpu)) {
            // The kind of core: Atom, Core.
            (0x1a, Some(efficient)) => {
                Some(registers([if efficient { 0x20 } else { 0x40 } << 24, 0, 0, 0]))
            }
            (0xa, _) => self.counters(cpu),
            // A hybrid says so.
            (7, Some(_)) if subleaf == 0 => Some(registers([0, 0, 0, 1 << 15])),
            _ => self.leaf(leaf, subleaf),
        }
    }

    fn xcr0(&self) -> Option<u64> {
        None
    }
}

impl SimulatedCpuid {
    /// How many counters a thread has, in version 4 of the leaf.
    fn counters(&self, cpu: CpuId) -> Option<Leaf> {
        let limits = self.0.core_limits(cpu)?;
        let width = limits.width.unwrap_or(0);
        let general = 4 | limits.general << 8 | width << 16 | 7 << 24;
        Some(registers([general, 0, 0, limits.fixed_bits.count_ones() | width << 5]))
    }
}

/// Family, model and stepping as CPUID 1 packs them.
///
/// # Source
/// Intel SDM volume 2A, CPUID, figure of the version information in EAX.
fn signature(identity: &Identity) -> u32 {
    let family = identity.family.min(15);
    let beyond = identity.family - family;
    let (model, model_beyond) = (identity.model & 0xf, identity.model >> 4 & 0xf);
    beyond << 20 | model_beyond << 16 | family << 8 | model << 4 | identity.stepping & 0xf
}

/// A plain user on a kernel whose settings are the default but for what may be counted.
struct SimulatedPermits {
    tree: SimulatedTree,
    ground: Ground,
    msr: bool,
    latency: bool,
    /// `kernel.perf_event_paranoid`.
    paranoid: i32,
    /// Channels of memory controllers, where they are counted.
    channels: Option<u32>,
    /// Whether the device of Speed Select opens, or the error number.
    isst: Result<(), i32>,
}

impl SimulatedPermits {
    fn new(model: &Model, tree: SimulatedTree) -> SimulatedPermits {
        let ground = model.ground();
        let msr = !model.has(Fault::NoMsr);
        let latency = model.may_limit_latency;
        let paranoid = model.perf_event_paranoid;
        let channels = model.controllers().map(|controllers| controllers.channels);
        let isst = SimulatedIsst::new(model).opens();
        SimulatedPermits { tree, ground, msr, latency, paranoid, channels, isst }
    }
}

impl Permits for SimulatedPermits {
    fn ask(&self, question: Question) -> Reading<String> {
        let pmu =
            if self.ground == Ground::Machine { Ok("counters of the cores") } else { Err(ENOENT) };
        let counts = |level, what| if self.paranoid <= level { Ok(what) } else { Err(EACCES) };
        let controllers = format!("{} PMUs, such as `uncore_imc_0`", self.channels.unwrap_or(0));
        let answer = match question {
            Question::PerfKernel => counts(1, "counts the kernel's work for own threads"),
            Question::PerfSystemWide => counts(0, "counts every process on a CPU"),
            Question::PerfUncore if self.channels.is_some() => counts(0, &*controllers),
            Question::PerfUser => Ok("counts user mode of own threads"),
            Question::PerfCyclesUser | Question::Rdpmc => pmu,
            Question::MemoryLock => Ok("a page was locked"),
            Question::Affinity => Ok("threads can be pinned"),
            Question::CpuDmaLatency if self.latency => Ok("limits can be asked for"),
            Question::MsrDevice if !self.msr => Err(ENOENT),
            Question::IsstInterface => self.isst.map(|()| "opens"),
            Question::PerfUncore | Question::PerfEnergy => Err(ENOENT),
            Question::HugePage => Err(ENOMEM),
            Question::RealTime => Err(EPERM),
            Question::CpuDmaLatency | Question::MsrDevice => Err(EACCES),
        };
        answer.map(String::from).map_err(|code| {
            let here = Surroundings { tree: &self.tree, ground: self.ground };
            refusal(question, &std::io::Error::from_raw_os_error(code), &here)
        })
    }
}

/// Counters that move when the model executes one of its demonstrations.
struct SimulatedPerf {
    model: Model,
    tree: SimulatedTree,
}

impl Perf for SimulatedPerf {
    fn open(&self, wanted: &Wanted<'_>, leader: Option<&Reader>) -> Reading<Reader> {
        let leader = match leader {
            Some(Reader::Simulated(leader)) => Some(leader),
            _ => None,
        };
        if let Some(lacked) = lacked(&self.tree, wanted) {
            return Err(lacked);
        }
        let opened = self.model.open_counter(&wanted.attributes, wanted.scope, leader);
        opened.map(Reader::Simulated).map_err(|error| {
            let here = Surroundings { tree: &self.tree, ground: self.model.ground() };
            counter_refused(wanted, &error, &here)
        })
    }

    fn run_on(&self, cpus: &CpuSet) -> Reading<()> {
        if let Some(cpu) = cpus.iter().find(|cpu| self.model.is_online(*cpu)) {
            self.model.count_on(cpu);
            return Ok(());
        }
        let why = "this simulated machine has no such CPUs";
        Err(Unavailable::new(Obstacle::Hardware, format!("thread on CPUs {cpus}"), why))
    }

    fn current_cpu(&self) -> Option<CpuId> {
        Some(self.model.counted_cpu())
    }

    fn ticks(&self) -> Option<u64> {
        Some((self.model.elapsed.seconds().0 * self.model.clock.tsc_hz).round() as u64)
    }

    fn thread_time(&self) -> Option<Duration> {
        Some(Duration::from_secs_f64(self.model.elapsed.seconds().0))
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
        Ok(self.0.online())
    }

    fn is_root(&self) -> bool {
        false
    }
}
