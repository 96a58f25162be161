//! A simulated machine behind the ports.

use std::sync::Arc;
use std::time::Duration;

use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use simulated::firmware::SimulatedIsst;
use simulated::{Fault, Files, Model, SimulatedTree};
use sys::cpuid::Leaf;
use sys::errno::{EACCES, ENOENT, ENOMEM, EPERM};

use crate::facts::Ground;
use crate::isst::{Message, Refusal};
use crate::perf::{Reader, Wanted, lacked};
use crate::permissions::{Permits, Question};
use crate::ports::{Cpuid, Host, Isst, IsstDevice, Machine, Msr, Perf, Tree};
use crate::probes::{Surroundings, counter_refused, no_speed_select, refusal};

impl From<Model> for Machine {
    /// The machine that a description stands for.
    fn from(model: Model) -> Machine {
        machine(model.made())
    }
}

impl Machine {
    /// The simulated machine of that name, such as `sim:2s-56c`; names that may be the file of a capture go to
    /// `recorded::named`.
    pub fn named(name: &str) -> Result<Machine, simulated::Error> {
        Ok(Model::named(name.strip_prefix("sim:").unwrap_or(name))?.into())
    }

    /// The same simulated machine as another process finds it, with what is set on it in a file: its files are not made
    /// anew unless a fault in that file is one of theirs.
    pub fn found_again(model: &Model, file: &str) -> Result<Machine, simulated::Error> {
        let found = model.clone().kept_in(file)?;
        Ok(if found.faults == model.faults { machine(found) } else { Machine::from(found) })
    }
}

/// One whose files are made.
fn machine(model: Model) -> Machine {
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

/// What its kernel runs on.
fn ground(model: &Model) -> Ground {
    if model.identity.hypervisor.is_some() { Ground::Guest } else { Ground::Machine }
}

impl Tree for Files {
    fn read(&self, path: &str) -> Reading<String> {
        Files::read(self, path)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        Files::list(self, path)
    }
}

impl Tree for SimulatedTree {
    fn read(&self, path: &str) -> Reading<String> {
        SimulatedTree::read(self, path)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        SimulatedTree::list(self, path)
    }
}

struct SimulatedMsr(Model);

impl Msr for SimulatedMsr {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        self.0.register(cpu, register)
    }
}

impl Isst for SimulatedIsst {
    fn open(&self) -> Reading<Box<dyn IsstDevice + '_>> {
        if let Err(code) = self.opens() {
            let tree = SimulatedTree::new(self.model());
            let here = Surroundings { tree: &tree, ground: ground(self.model()) };
            return Err(no_speed_select(&std::io::Error::from_raw_os_error(code), &here));
        }
        Ok(Box::new(OpenSimulated(self)))
    }
}

struct OpenSimulated<'a>(&'a SimulatedIsst);

impl IsstDevice for OpenSimulated<'_> {
    fn call(&self, message: &mut Message) -> Result<u32, Refusal> {
        let request = message.request();
        self.0.call(request, message.argument()).map_err(Refusal::Errno)
    }
}

struct SimulatedCpuid(Model);

impl Cpuid for SimulatedCpuid {
    fn leaf(&self, leaf: u32, _subleaf: u32) -> Option<Leaf> {
        self.0.leaf(leaf)
    }

    fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        self.0.leaf_of(cpu, leaf, subleaf)
    }
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
        let ground = ground(model);
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
            let here = Surroundings { tree: &self.tree, ground: ground(&self.model) };
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
