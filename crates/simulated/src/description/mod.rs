//! What the description of a simulated machine may say.

mod check;
mod dimms;
mod kinds;
mod like;
mod load;
mod pmu;
pub(crate) mod speed_select;

use std::collections::BTreeMap;

use model::{CpuId, CpuSet, Isa, Seconds};
use serde::Deserialize;

use self::check::{not_negative, positive};
pub use self::dimms::Dimms;
pub(crate) use self::dimms::Slot;
pub use self::kinds::{CoreKind, KindMemory, KindName, Reach};
pub use self::load::{Controllers, Power, SignalCost, Tax, Work};
pub use self::pmu::{ArmPmu, CorePmu, PmuEvent};
use self::speed_select::SpeedSelect;
use crate::error::Error;
use crate::faults::{Fault, WrongAnswers};
use crate::files::CPU;
use crate::state::{Came, Counting, Elapsed, Idled, MemoryTraffic, Occupied, Settings, Worked};

/// A simulated machine, as its file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Its name, without `sim:`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where its randomness begins.
    pub seed: u64,
    /// The time of day at which every run starts: RFC 3339, UTC.
    pub started: String,
    /// Cycles that every repetition costs beyond its ops.
    pub overhead_cycles: f64,
    /// How long a core keeps a licence after the last op that needed it, in seconds.
    pub licence_hold_seconds: f64,
    /// How long a core halts when its licence changes, in seconds.
    pub halt_seconds: f64,
    /// How long dispatch is throttled to one cycle of four before that, in seconds.
    #[serde(default)]
    pub throttled_seconds: f64,
    /// How long a core halts when it gives a licence back, in seconds.
    #[serde(default)]
    pub return_halt_seconds: f64,
    /// Whether the other cores halt with it.
    #[serde(default)]
    pub halts_others: bool,
    /// What faults were put in.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// What its CPUs compute wrong; none: all that is right.
    #[serde(default)]
    pub wrong_answers: Vec<WrongAnswers>,
    /// Who it says it is.
    pub identity: Identity,
    /// How its CPUs are laid out.
    pub topology: Layout,
    /// Its kinds of cores, in the order of cores within a package; none: all are of one kind.
    #[serde(default)]
    pub kind: Vec<CoreKind>,
    /// Its caches.
    pub caches: Cache,
    /// What is in its slots of memory; absent: firmware does not say it.
    #[serde(default)]
    pub dimms: Option<Dimms>,
    /// Its pools of huge pages; none: it is not said whether there are any.
    #[serde(default)]
    pub huge_pages: Vec<HugePages>,
    /// Its idle states, shallowest first; none: the kernel manages none.
    #[serde(default)]
    pub idle: Vec<IdleState>,
    /// Its registers; absent: it has none that can be read.
    pub registers: Option<Registers>,
    /// What the kernel says of each vulnerability; absent: it knows one, and that is no concern.
    #[serde(default)]
    pub vulnerabilities: BTreeMap<String, String>,
    /// What its caches and memory give in truth; absent: nothing can be moved on it.
    pub memory: Option<Memory>,
    /// What its OpenMP runtimes take; absent: it has none.
    pub openmp: Option<Openmp>,
    /// Its stamp clock.
    pub clock: Clock,
    /// Its frequency licences, lightest first.
    pub licence: Vec<Licence>,
    /// What workloads cost, by their id. A workload without a cost cannot run here.
    pub costs: BTreeMap<String, Cost>,
    /// How its timings scatter.
    pub noise: Noise,
    /// How long a cache line takes from one CPU to another.
    pub distance: Distance,
    /// What a signal to another thread costs, and how late alarms are, by their id. What has no cost
    /// cannot be used here.
    #[serde(default)]
    pub signals: BTreeMap<String, SignalCost>,
    /// Whether processes may ask for a limit of idle states' exit latency.
    #[serde(default)]
    pub may_limit_latency: bool,
    /// The driver of the cores' frequency; absent: `intel_pstate`. Any other one has the file `boost`.
    #[serde(default)]
    pub cpufreq_driver: Option<String>,
    /// The profiles that its firmware offers, the current one first; none: it knows of none.
    #[serde(default)]
    pub platform_profiles: Vec<String>,
    /// What plain users may count, as `kernel.perf_event_paranoid` says it.
    #[serde(default = "usual_paranoid")]
    pub perf_event_paranoid: i32,
    /// What runs on it while nobody measures.
    #[serde(default)]
    pub work: Vec<Work>,
    /// What its packages draw; absent: nothing measures that.
    pub power: Option<Power>,
    /// The clock above which something outside of its packages lets no core run, by PROCHOT, in hertz;
    /// absent: nothing does.
    pub prochot_hz: Option<f64>,
    /// When it begins to do so, in seconds after the start.
    #[serde(default)]
    pub prochot_from_seconds: f64,
    /// What work costs others, where it does.
    #[serde(default)]
    pub tax: Vec<Tax>,
    /// Its Speed Select; absent: it has none.
    pub speed_select: Option<SpeedSelect>,
    /// How many hertz a level of performance stands for, where firmware states levels (CPPC); absent: it states none.
    #[serde(default)]
    pub level_hz: Option<f64>,
    /// Cores that come less far than others, of which firmware favours the rest.
    #[serde(default)]
    pub slow_cores: Vec<SlowCores>,
    /// Time that has passed on it. Clones share it, so that counters grow while jobs run.
    #[serde(skip)]
    pub elapsed: Elapsed,
    /// CPUs that somebody keeps busy beside what is measured.
    #[serde(skip)]
    pub occupied: Occupied,
    /// What its CPUs idled. Clones share it.
    #[serde(skip)]
    pub idled: Idled,
    /// What was worked on it. Clones share it.
    #[serde(skip)]
    pub worked: Worked,
    /// What was set on it. Clones share it.
    #[serde(skip)]
    pub settings: Settings,
    /// The files that it came with, once it is a machine: who changes its description makes it one anew.
    #[serde(skip)]
    pub came: Came,
    /// The PMUs of its cores; none: nothing counts.
    #[serde(default)]
    pub pmu: Vec<CorePmu>,
    /// Whether the kernel's watchdog holds a counter.
    #[serde(default)]
    pub nmi_watchdog: bool,
    /// Its open counters. Clones share them.
    #[serde(skip)]
    pub counting: Counting,
    /// What went through its memory controllers. Clones share it.
    #[serde(skip)]
    pub through: MemoryTraffic,
}

/// The kernel's own choice: user mode of own threads.
const fn usual_paranoid() -> i32 {
    2
}

/// Cores with a highest clock of their own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowCores {
    /// Their CPUs.
    pub cpus: CpuSet,
    /// As far as they come, in hertz.
    pub highest_hz: f64,
}

/// Who it says it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Vendor, as CPUID 0 writes it.
    pub vendor: String,
    /// Brand; must contain SIMULATED.
    pub brand: String,
    /// Display family.
    pub family: u32,
    /// Display model.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
    /// Name of the microarchitecture.
    pub microarchitecture: String,
    /// Microcode revision.
    pub microcode: String,
    /// Kernel release.
    pub kernel: String,
    /// Instruction sets.
    pub isa: Vec<Isa>,
    /// Twelve letters of the hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// What the firmware calls the machine, where it has a table; must contain SIMULATED.
    pub product: Option<String>,
    /// Date of the firmware.
    pub firmware_date: Option<String>,
    /// Version of the kernel, as `uname -v` prints it.
    pub kernel_version: Option<String>,
    /// What the kernel was started with.
    pub command_line: Option<String>,
}

impl Identity {
    /// Whether registers and CPUID are laid out as AMD does.
    pub(crate) fn is_amd(&self) -> bool {
        self.vendor == "AuthenticAMD"
    }
}

/// How its CPUs are laid out. They are numbered as Linux does: the first threads of all cores of
/// package 0, those of package 1, ..., then the second threads.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Number of packages.
    pub packages: u32,
    /// Cores in each.
    pub cores_per_package: u32,
    /// Threads of each core.
    pub threads_per_core: u32,
    /// NUMA nodes in each package.
    pub nodes_per_package: u32,
    /// Further nodes, which have memory and no CPUs. Their numbers follow those of the others.
    #[serde(default)]
    pub memory_only_nodes: u32,
    /// CPUs that are switched off.
    #[serde(default)]
    pub offline: CpuSet,
    /// CPUs that the scheduler leaves alone.
    #[serde(default)]
    pub isolated: CpuSet,
    /// How far another node is, where one's own is 10.
    pub remote_node_distance: Option<u32>,
    /// CPUs 2k and 2k+1 share a core, although the kernel says that they do not.
    #[serde(default)]
    pub secretly_shared_cores: bool,
    /// What two threads of a core that saturate its units do together, over what one does alone; absent: as much.
    #[serde(default)]
    pub smt_yield: Option<f64>,
    /// The time of so many CPUs is what the control group has in each period of 100 ms; absent: there is no quota.
    #[serde(default)]
    pub quota_cpus: Option<f64>,
}

impl Layout {
    /// For how much longer than they work so many threads are stopped by the quota.
    pub fn stopped_by_quota(&self, threads: usize) -> f64 {
        self.quota_cpus.map_or(0.0, |cpus| (threads as f64 / cpus - 1.0).max(0.0))
    }
}

/// Sizes of the caches and of memory, in bytes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// First-level data cache of a core.
    pub l1d_bytes: u64,
    /// Second-level cache of a core.
    pub l2_bytes: u64,
    /// Last-level cache of a package, or of those cores of it that share one.
    pub l3_bytes: u64,
    /// Memory of the machine, in equal parts in its nodes.
    pub memory_bytes: u64,
    /// First-level instruction cache of a core.
    pub l1i_bytes: Option<u64>,
    /// Size of a line.
    pub line_bytes: Option<u32>,
    /// Ways of the first-level data cache.
    pub l1d_ways: Option<u32>,
    /// Ways of the first-level instruction cache.
    pub l1i_ways: Option<u32>,
    /// Ways of the second-level cache.
    pub l2_ways: Option<u32>,
    /// Ways of the last-level cache.
    pub l3_ways: Option<u32>,
    /// Cores that share a second-level cache; absent: none do.
    pub cores_per_l2: Option<u32>,
    /// Cores that share a last-level cache; absent: all of a package.
    pub cores_per_l3: Option<u32>,
}

/// What caches and memory give in truth, whatever the machine says of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Caches, nearest first; the last one is shared by the cores of a package.
    pub cache: Vec<CacheLevel>,
    /// How long a pointer takes that lies in memory of the own node, in seconds.
    pub latency_seconds: f64,
    /// What one core moves to and from memory at most, in bytes per second.
    pub core_bandwidth: f64,
    /// What a node gives to all cores together, in bytes per second.
    pub node_bandwidth: f64,
    /// How much longer a pointer takes that lies in another node.
    pub remote_latency_seconds: f64,
    /// What a node gives to the cores of another one, in bytes per second.
    pub remote_bandwidth: f64,
    /// Lines that one core waits for at once.
    pub lines_in_flight: f64,
    /// How latency grows with the used share `u` of a node's bandwidth: by this times `u / (1 - u)`.
    pub queueing: f64,
    /// Beyond so many bytes of base pages each pointer needs a page walk ...
    pub tlb_bytes: u64,
    /// ... that takes so long.
    pub page_walk_seconds: f64,
    /// The counters of its memory controllers; absent: nothing counts.
    pub controllers: Option<Controllers>,
}

/// A level of caches.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheLevel {
    /// What it really holds.
    pub bytes: u64,
    /// How long a pointer takes that lies in it, in seconds.
    pub latency_seconds: f64,
    /// What one core moves to and from it, in bytes per second.
    pub core_bandwidth: f64,
}

impl CacheLevel {
    fn is_sound(&self) -> bool {
        self.bytes > 0 && positive(self.latency_seconds) && positive(self.core_bandwidth)
    }
}

impl Memory {
    pub(crate) fn is_sound(&self) -> bool {
        let ascending = self.cache.windows(2).all(|pair| pair[0].bytes < pair[1].bytes);
        let levels = self.cache.iter().all(CacheLevel::is_sound);
        let rest = [
            self.latency_seconds,
            self.core_bandwidth,
            self.node_bandwidth,
            self.remote_bandwidth,
            self.lines_in_flight,
        ];
        let more = [self.remote_latency_seconds, self.queueing, self.page_walk_seconds];
        let rest = rest.into_iter().all(positive) && more.into_iter().all(not_negative);
        let rest = rest && self.controllers.is_none_or(|it| it.is_sound());
        !self.cache.is_empty() && ascending && levels && rest
    }
}

/// What parallel regions take with more than one thread. All times in seconds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Openmp {
    /// One number of the loop.
    pub element_seconds: f64,
    /// A region whose threads spin before it.
    pub region_spinning_seconds: f64,
    /// A region whose threads sleep before it.
    pub region_sleeping_seconds: f64,
    /// A barrier within a region, where threads spin.
    pub barrier_spinning_seconds: f64,
    /// The same where they sleep.
    pub barrier_sleeping_seconds: f64,
    /// What a reduction adds to a region.
    pub reduction_seconds: f64,
    /// One look of a thread of libgomp that spins.
    pub look_seconds: f64,
    /// How often such a thread looks if nobody says.
    pub gomp_spin_count: u64,
    /// How long a thread of libomp spins if nobody says, in milliseconds.
    pub kmp_block_time_ms: u32,
}

impl Openmp {
    pub(crate) fn is_sound(&self) -> bool {
        [
            self.element_seconds,
            self.region_spinning_seconds,
            self.region_sleeping_seconds,
            self.barrier_spinning_seconds,
            self.barrier_sleeping_seconds,
            self.reduction_seconds,
            self.look_seconds,
        ]
        .into_iter()
        .all(positive)
    }
}

/// A pool of huge pages.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HugePages {
    /// Size of a page.
    pub page_bytes: u64,
    /// Pages that are set aside.
    pub reserved: u64,
    /// How many of them nobody uses.
    pub free: u64,
}

/// An idle state.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleState {
    /// Its name, such as `C1`.
    pub name: String,
    /// How long it takes to leave it, in seconds.
    pub exit_latency_seconds: f64,
    /// How long a CPU should stay in it, in seconds.
    pub target_residency_seconds: f64,
}

/// What registers say beyond frequency licences; frequencies in hertz.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// Hint between performance (0) and energy (15).
    pub energy_perf_bias: u8,
    /// The lowest frequency of the cores.
    pub lowest_hz: f64,
    /// The most efficient one.
    pub efficient_hz: f64,
    /// The lowest frequency of the uncore.
    pub uncore_min_hz: f64,
    /// The highest one.
    pub uncore_max_hz: f64,
    /// Whether it has APERF and MPERF.
    #[serde(default)]
    pub aperf_mperf: bool,
    /// What MPERF counts at; absent: the rate of the TSC.
    pub mperf_hz: Option<f64>,
}

/// Its stamp clock.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// What it really ticks at, in hertz.
    pub tsc_hz: f64,
    /// Every stamp is a multiple of this.
    pub tsc_step_ticks: u64,
    /// What a stamp costs, in ticks.
    pub stamp_cost_ticks: u64,
    /// What the sources say that it ticks at.
    pub claims: Claims,
}

/// What sources say of the rate of the stamp clock, in hertz; absent: the source says nothing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// CPUID 15h; kept to whole kilohertz.
    pub cpuid15_hz: Option<f64>,
    /// CPUID 16h; kept to whole megahertz.
    pub cpuid16_hz: Option<f64>,
    /// The hypervisor's leaf; kept to whole kilohertz.
    pub hypervisor_hz: Option<f64>,
    /// The kernel's own conversion.
    pub kernel_hz: Option<f64>,
    /// The regression against `CLOCK_MONOTONIC_RAW`.
    pub monotonic_raw_hz: Option<f64>,
    /// What the correction by NTP implies.
    pub adjtimex_hz: Option<f64>,
}

/// A frequency licence: how fast cores may run while they execute this kind of op.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Licence {
    /// Its name, such as `L0`.
    pub name: String,
    /// Up to so many active cores of a package, and the frequency in hertz; ascending by cores.
    pub bins: Vec<(u32, f64)>,
}

/// What a workload costs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Core cycles per op.
    pub cycles: f64,
    /// The licence that it needs.
    pub licence: String,
}

/// How its timings scatter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Standard deviation of a repetition, as a share of its time.
    pub relative_sd: f64,
    /// The clock of all cores swings by this share of itself ...
    pub drift_amplitude: f64,
    /// ... with this period, in seconds.
    pub drift_period_seconds: f64,
    /// Interrupts on each CPU, per second.
    pub interrupts_per_second: f64,
    /// How long an interrupt keeps the CPU, in seconds.
    pub interrupt_seconds: f64,
    /// How often firmware stops each CPU, per second.
    #[serde(default)]
    pub smis_per_second: f64,
    /// For how long, in seconds.
    #[serde(default)]
    pub smi_seconds: f64,
    /// The share of time that the hypervisor takes away.
    pub steal_share: f64,
    /// The share of time for which a quota of the control group stops whoever works.
    #[serde(default)]
    pub quota_share: f64,
    /// How much slower, as a share, the chain of additions runs beside a busy sibling.
    pub sibling_busy_witness_slowdown: f64,
}

/// How long a cache line takes from one CPU to another, one way, in seconds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distance {
    /// Between threads of one core.
    pub same_core_seconds: f64,
    /// Between cores that share the last-level cache.
    pub same_cache_seconds: f64,
    /// Between those that share none.
    pub apart_seconds: f64,
}

impl Model {
    /// Reads a description; errors name `file` and the key. What it leaves out is as in the one that its key `like` names.
    pub fn parse(file: &str, text: &str) -> Result<Model, Error> {
        let broken = |why| Error::Broken { file: file.into(), why };
        let described = like::complete(text).map_err(broken)?;
        let model: Model = described.try_into().map_err(|error| broken(error.to_string()))?;
        model.check().map_err(broken)?;
        Ok(model)
    }

    /// The licence that a workload needs, as an index into [`Model::licence`]; `None` where this
    /// machine cannot run it.
    pub fn licence_of(&self, workload: &str) -> Option<usize> {
        let cost = self.costs.get(workload)?;
        self.licence.iter().position(|licence| licence.name == cost.licence)
    }

    /// Core cycles per op of a workload; `None` where this machine cannot run it.
    ///
    /// # Unit
    /// Cycles of the core clock per op.
    pub fn cycles_per_op(&self, workload: &str) -> Option<f64> {
        self.costs.get(workload).map(|cost| cost.cycles)
    }

    /// The same on a CPU: other kinds of cores may take longer, or shorter.
    pub fn cycles_per_op_on(&self, cpu: CpuId, workload: &str) -> Option<f64> {
        let own = self.kind_of(cpu).and_then(|kind| kind.costs.get(workload));
        own.map(|cost| cost.cycles).or_else(|| self.cycles_per_op(workload))
    }

    /// How fast a core runs under a licence while so many cores of its package are active.
    ///
    /// # Unit
    /// Hertz.
    pub fn bin_hz(&self, licence: usize, active_in_package: u32) -> f64 {
        let bins = &self.licence[licence].bins;
        let bin = bins.iter().find(|(cores, _)| active_in_package <= *cores).or(bins.last());
        bin.map(|&(_, hertz)| hertz).expect("BUG: a checked licence has bins")
    }

    /// As far as a CPU comes at all, in hertz: all alone, with the lightest instructions.
    pub fn highest_hz(&self, cpu: CpuId) -> f64 {
        let fastest = self.licence.iter().map(|licence| licence.bins[0].1).fold(0.0, f64::max);
        let own = self.slow_cores.iter().filter(|slow| slow.cpus.contains(cpu));
        let of_kind = self.kind_of(cpu).and_then(|kind| kind.highest_hz);
        own.map(|slow| slow.highest_hz).chain(of_kind).fold(fastest, f64::min)
    }

    /// All CPUs, in order of their number.
    pub fn cpus(&self) -> impl ExactSizeIterator<Item = CpuId> + use<> {
        (0..self.cores() * self.topology.threads_per_core).map(CpuId)
    }

    /// The CPU that went offline, once it has.
    pub fn lost_cpu(&self) -> Option<CpuId> {
        /// A few blocks of a small run.
        const ONLINE_UNTIL: f64 = 0.05;
        let lost = self.has(Fault::CpuLost) && self.elapsed.seconds().0 > ONLINE_UNTIL;
        self.cpus().last().filter(|_| lost)
    }

    /// The CPUs that are switched on.
    pub fn online(&self) -> CpuSet {
        let came = |cpu: &CpuId| !self.topology.offline.contains(*cpu);
        if self.settings.is_empty() {
            return self.cpus().filter(came).collect();
        }
        self.cpus().filter(|cpu| self.is_online(*cpu)).collect()
    }

    /// Whether a CPU is switched on.
    pub fn is_online(&self, cpu: CpuId) -> bool {
        if cpu.0 as usize >= self.cpus().len() {
            return false;
        }
        match self.settings.text(&format!("{CPU}/cpu{cpu}/online")) {
            _ if self.is_sibling(cpu) && self.forbids_smt() => false,
            Some(text) => text == "1",
            None => !self.topology.offline.contains(cpu),
        }
    }

    /// Whether it is not the first thread of its core.
    pub(crate) fn is_sibling(&self, cpu: CpuId) -> bool {
        cpu.0 >= self.cores()
    }

    /// Which thread of its core it is.
    pub(crate) fn thread_of(&self, cpu: CpuId) -> u32 {
        cpu.0 / self.cores()
    }

    pub(crate) fn forbids_smt(&self) -> bool {
        self.settings.text(&format!("{CPU}/smt/control")).as_deref() == Some("off")
    }

    /// Whether any core has two threads that are switched on.
    pub(crate) fn has_smt(&self) -> bool {
        self.online().iter().any(|cpu| self.is_sibling(cpu))
    }

    /// Number of cores of the machine, as it says.
    fn cores(&self) -> u32 {
        self.topology.packages * self.topology.cores_per_package
    }

    /// The package that a CPU is in.
    pub fn package_of(&self, cpu: CpuId) -> u32 {
        cpu.0 % self.cores() / self.topology.cores_per_package
    }

    /// The last-level cache that a CPU uses: its package, and which of that.
    pub fn cache_of(&self, cpu: CpuId) -> (u32, u32) {
        if !self.has_l3(cpu) {
            return (self.package_of(cpu), u32::MAX);
        }
        let cores = self.caches.cores_per_l3.unwrap_or(self.topology.cores_per_package);
        (self.package_of(cpu), self.claimed_core_of(cpu) / cores)
    }

    /// The level of performance that a clock stands for; none: firmware states none.
    pub(crate) fn level(&self, hertz: f64) -> Option<u64> {
        self.level_hz.map(|each| (hertz / each).round() as u64)
    }

    /// The core that a CPU is said to be in; unique within its package.
    pub fn claimed_core_of(&self, cpu: CpuId) -> u32 {
        cpu.0 % self.topology.cores_per_package
    }

    /// The core that a CPU is in, in truth; unique within the machine.
    pub fn core_of(&self, cpu: CpuId) -> u32 {
        let core = cpu.0 % self.cores();
        if self.topology.secretly_shared_cores { core / 2 } else { core }
    }

    /// The NUMA node that a CPU is in.
    pub fn node_of(&self, cpu: CpuId) -> u32 {
        let layout = &self.topology;
        let cores_per_node = layout.cores_per_package / layout.nodes_per_package;
        cpu.0 % self.cores() / cores_per_node
    }

    /// Number of NUMA nodes, those without CPUs among them.
    pub fn nodes(&self) -> u32 {
        let layout = &self.topology;
        layout.packages * layout.nodes_per_package + layout.memory_only_nodes
    }

    /// How long a cache line takes from one CPU to another, one way.
    pub fn distance(&self, from: CpuId, to: CpuId) -> Seconds {
        Seconds(if self.core_of(from) == self.core_of(to) {
            self.distance.same_core_seconds
        } else if self.cache_of(from) == self.cache_of(to) {
            let [one, other] = [from, to].map(|cpu| self.kind_of(cpu));
            let own = one.filter(|one| other.is_some_and(|other| other.name == one.name));
            own.and_then(|kind| kind.distance_seconds).unwrap_or(self.distance.same_cache_seconds)
        } else {
            self.distance.apart_seconds
        })
    }

    /// Whether somebody who does not belong to a run uses the siblings of all cores at this moment.
    pub fn siblings_are_busy(&self) -> bool {
        let now = self.elapsed.seconds().0;
        self.has(Fault::SiblingsBusyAtTimes) && now.fract() > 0.7
            || self.has(Fault::SiblingsBusyLater) && now > 1.0
    }

    /// Whether a fault was put in.
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}
