//! The record: everything that one run measured, and under which conditions.
//!
//! The record is the product; everything shown is a pure function of it (invariant I2). It is JSON in
//! SI base units with one `schema` string, additive within a major version: readers of the same major
//! keep what they do not know out of the way, and refuse another major.

mod bound;
mod clock;
mod comparison;
mod counts;
mod digest;
mod event;
mod gate;
mod key;
mod memory_channel;
mod original;
mod power;
mod quiet;
mod read;
mod reference;
mod roofline;
mod samples;
mod settings;
mod speed_select;
mod sweep;
mod topology;
mod verify;

pub use bound::Bound;
pub use clock::{
    AccountStep, AdvertisedClock, AllowedClock, BOOST, ClockAccount, ClockRecord, CoreLevel,
    LimitReason, LimitState, LimitSwitch, PowerLimit, PowerLimitBeside, PowerTerm, RefutedLimit,
    THERMAL_THROTTLES, ToldCell,
};
pub use comparison::{
    AbRun, ArmClock, ArmFailure, BesideRun, BusyClock, BusyClocks, ClockSpread, CpuRole, LeftOut,
    QuadCost, Ran,
};
pub use counts::{
    AnchorSpread, AnswerFound, BudgetRow, CountedBy, CountedUnit, Counts, CountsRun, EventCount,
    KnownAnswer, MetricValue,
};
pub use digest::{
    Digest, DigestFact, DigestResult, DigestRun, Measured, ResultValue, Skim, SkimFact, SkimResult,
};
pub use event::{Event, Told};
pub use gate::{
    BoundKind, BoundOutcome, GateBound, GateCode, GateItem, GateRun, GateState, GateVerdict,
};
pub use key::{KEY_SCHEMA, KeyNumber, KeyPair, MachineKey, PairClass};
pub use memory_channel::{MemoryChannel, channels_in_brief};
pub use original::{OriginalRate, OriginalRun};
pub use power::{IdleState, TurboLimit, TurboStep};
pub use quiet::{CommandEnd, QuietRun, Trust};
pub use read::{ReadError, is_of_major, read};
pub use reference::{
    LeftOutRecords, ReferencePlace, ReferencePosition, ReferenceRun, ReferenceSide, ResultKey,
};
pub use roofline::{Roofline, RooflineLevel, RooflinePeak, RooflineSpot};
pub use samples::Samples;
pub use settings::{
    ARM, ChangeOutcome, NO_LATENCY_LIMIT_US, Proof, ProofAnswer, Setting, SettingChange, Settings,
};
pub use speed_select::{
    BaseFrequencies, CLASSES, CeilingBy, ChosenCores, ClockCeiling, ClockPair, CoreAssociation,
    CorePowerSwitches, CoreStep, DomainCore, ExpectedClocks, FabricFrequencies, FeatureState,
    LevelProperties, LicenceFrequency, LicenceSteps, OUTSIDE, PerformanceLevel,
    PerformanceProfiles, PowerDomain, PowerDomainKind, ProcessorNumbers, ServiceClass, SpeedSelect,
    SpeedSelectDriver, SpeedSelectQuestion, TurboFrequencies, UnplacedCpus,
};
pub use sweep::{LeftOutBlock, SweepRun, SweptValue};
pub use topology::{Cache, CacheKind, CpuPlace, Node, Relation, Topology, Unsaid};
pub use verify::{
    ComparedAnswers, VerifiedCpu, VerifiedWorkload, VerifyRun, WrongAgain, WrongAnswer,
    WrongAnswers, WrongElsewhere,
};

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use crate::cpus::{CpuId, CpuSet};
use crate::datatype::Datatype;
use crate::finding::Finding;
use crate::licence::Licence;
use crate::quantity::{Hertz, Unit};
use crate::stats::{Summary, mean};
use crate::unavailable::{Known, Unavailable};

/// The schema that this version writes. Its major number (after the slash) must match to be read.
pub const SCHEMA: &str = "cpudyno.record/1";

/// Everything that one run measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "cpudyno record"))]
pub struct Record {
    /// Name and major version of this format: `cpudyno.record/1`.
    pub schema: String,
    /// What others are held against, of a record of measurements; in one line, so that who compares a thousand of
    /// them reads no further.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "digest::in_one_line"
    )]
    pub digest: Option<Digest>,
    /// The program that measured.
    pub tool: Tool,
    /// When, how long, and what was asked.
    pub run: Run,
    /// The machine, as it describes itself.
    pub machine: Machine,
    /// What could change between two runs on one machine.
    pub conditions: Conditions,
    /// What was read, with resolution and own cost.
    pub instruments: Vec<Instrument>,
    /// The numbers.
    pub series: Vec<Series>,
    /// What holds the clock down, where clocks were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRecord>,
    /// What the original STREAM reported, where it was run beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalRun>,
    /// Settings of the machine, where it was asked for them or changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    /// Two settings compared, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<AbRun>,
    /// A setting swept over its values, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepRun>,
    /// Events that were counted, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<CountsRun>,
    /// Intel Speed Select, where it was asked or is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_select: Option<SpeedSelect>,
    /// The results among those of earlier records, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceRun>,
    /// What was asked of the machine, where that was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateRun>,
    /// A command that was run while the machine was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietRun>,
    /// Keys of the machine around what was done, in their order, where they were taken: `quiet` and `ab` take one before
    /// and one after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<MachineKey>,
    /// Answers of CPUs that were compared, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyRun>,
    /// Answers of streams that were timed, where they were compared on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<ComparedAnswers>,
    /// Remarks on validity and result.
    pub findings: Vec<Finding>,
}

impl Record {
    /// What this version says of a run on that machine, with nothing else known of it: neither conditions nor
    /// numbers.
    pub fn new(run: Run, machine: Machine) -> Record {
        Record {
            schema: SCHEMA.to_owned(),
            digest: None,
            tool: Tool::this(),
            run,
            machine,
            conditions: Conditions::default(),
            instruments: Vec::new(),
            series: Vec::new(),
            clock: None,
            original: None,
            settings: None,
            comparison: None,
            sweep: None,
            counts: None,
            speed_select: None,
            reference: None,
            gate: None,
            quiet: None,
            keys: Vec::new(),
            verify: None,
            answers: None,
            findings: Vec::new(),
        }
    }

    /// Facts, then conditions as they were first.
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.machine.facts.iter().chain(&self.conditions.before)
    }

    /// The fact or condition of that id.
    pub fn fact(&self, id: &str) -> Option<&Fact> {
        self.facts().find(|fact| fact.id == id)
    }

    /// A fact or condition that is a text.
    pub fn text(&self, id: &str) -> Option<&str> {
        match self.fact(id)?.value.value()? {
            FactValue::Text(text) => Some(text),
            FactValue::Number { .. } => None,
        }
    }

    /// Whether a hypervisor runs the machine, and not this kernel below it.
    pub fn is_guest(&self) -> bool {
        let runs_it = |text: &str| !text.starts_with("none") && !text.contains(ROOT_PARTITION);
        self.text("platform.virtualisation").is_some_and(runs_it)
    }

    /// The series of one area and quantity.
    pub fn series_of<'a>(
        &'a self,
        area: &'a str,
        quantity: &'a str,
    ) -> impl Iterator<Item = &'a Series> + Clone {
        // Of two, the quantity tells more of them apart.
        self.series.iter().filter(move |s| s.quantity == quantity && s.area == area)
    }

    /// The series that areas measured: without those of the rig on itself.
    pub fn measured(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|series| series.area != "rig")
    }

    /// Share of time lost in gaps, the mean over cells and their CPUs, however many series each has: gaps are few
    /// and long, and a median hides them.
    pub fn lost_share(&self) -> Option<f64> {
        let mut cells: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for series in self.measured() {
            let cell = (&series.area, &series.workload, series.active.to_string(), series.cpu);
            cells.entry(cell).or_default().extend(series.disturbance.lost_share);
        }
        let means: Vec<f64> = cells.values().filter_map(|shares| mean(shares)).collect();
        mean(&means)
    }
}

/// The class of CPUs that share a core.
pub const SAME_CORE: &str = "same-core";

/// The placement class of blocks whose CPUs lay otherwise after them than before.
pub const CHANGED: &str = "changed";

/// The program that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// `cpudyno`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it was built for, such as `x86_64-linux`.
    pub target: String,
}

/// What this program is called in records.
const NAME: &str = "cpudyno";

impl Tool {
    /// This version.
    pub fn this() -> Tool {
        Tool {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        }
    }

    /// Whether it is not cpudyno.
    pub fn is_foreign(&self) -> bool {
        self.name != NAME
    }
}

/// When, how long, and what was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Tells runs apart; random.
    pub id: String,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The command with its arguments; paths are left out (they may name people).
    pub command: Vec<String>,
    /// The name of the simulated machine, where nothing was measured at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// Where the machine's answers come from, where it is not the one that the program ran on: a
    /// capture, a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// The signal that ended the run early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
    /// What was planned, and how much of it was done.
    pub plan: Plan,
    /// What happened meanwhile beside its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// How the live text was laid out, so that `show` can print the same bytes.
    pub presentation: Presentation,
}

/// The condition that names CPUs that others use.
pub const BUSY_CPUS: &str = "busy.cpus";

/// What it says where there are none.
pub const NONE_BUSY: &str = "none";

/// What was planned, and how much of it was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// The time that the run was given, in seconds.
    pub budget_seconds: f64,
    /// The CPUs that were measured, one per core where siblings are known.
    pub cpus: CpuSet,
    /// Why these CPUs.
    pub placement: String,
    /// How threads took part, in words, where that was not as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<String>,
    /// The areas that took part, in the order of the sheet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub areas: Vec<String>,
    /// The streams that were asked for.
    pub workloads: Vec<PlannedWorkload>,
    /// Numbers of cores active at once.
    pub active_cores: Vec<u32>,
    /// Sweeps over all cells that were planned.
    pub blocks_planned: u64,
    /// Sweeps over all cells that were completed.
    pub blocks_done: u64,
    /// Seed of the order in which cells were measured.
    pub seed: u64,
    /// How bytes are counted on the page, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteCount>,
    /// The memory that was measured in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<PlacedMemory>,
}

/// How bytes are counted on a page. Records hold the bytes that the program asks for, per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByteCount {
    /// Whether lines that ordinary stores bring into the cache first are counted in the headline.
    pub write_allocate: bool,
    /// The unit.
    pub unit: ByteUnit,
}

impl ByteCount {
    /// Where nobody says.
    pub const USUAL: ByteCount = ByteCount { write_allocate: true, unit: ByteUnit::Giga };
}

/// Units of bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ByteUnit {
    /// 10^6 bytes.
    #[serde(rename = "MB/s")]
    Mega,
    /// 10^9 bytes.
    #[serde(rename = "GB/s")]
    Giga,
    /// 2^20 bytes.
    #[serde(rename = "MiB/s")]
    Mebi,
    /// 2^30 bytes.
    #[serde(rename = "GiB/s")]
    Gibi,
}

impl ByteUnit {
    /// The symbol, and its bytes per second.
    pub const fn symbol(self) -> (&'static str, f64) {
        match self {
            ByteUnit::Mega => ("MB/s", 1e6),
            ByteUnit::Giga => ("GB/s", 1e9),
            ByteUnit::Mebi => ("MiB/s", 1_048_576.0),
            ByteUnit::Gibi => ("GiB/s", 1_073_741_824.0),
        }
    }
}

/// Memory of one thread that was measured in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedMemory {
    /// Whose it was; its first touch decided where it lies, unless a node was named.
    pub cpu: CpuId,
    /// What was in it: `arrays` or `ring`.
    pub content: String,
    /// Its size.
    pub bytes: u64,
    /// The pages that were asked for: `4k`, `thp`, `2m` or `1g`.
    pub pages: String,
    /// The node that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// What it really came in, as the kernel says: `2 MiB pages (transparent), 98 %`.
    pub backing: Known<String>,
    /// The share of it that came in the pages that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_asked: Option<f64>,
}

impl Plan {
    /// The plan of a run that reads the machine and measures nothing.
    pub fn nothing() -> Plan {
        Plan {
            budget_seconds: 0.0,
            cpus: CpuSet::default(),
            placement: "nothing was measured".into(),
            manner: None,
            areas: Vec::new(),
            workloads: Vec::new(),
            active_cores: Vec::new(),
            blocks_planned: 0,
            blocks_done: 0,
            seed: 0,
            bytes: None,
            memory: Vec::new(),
        }
    }

    /// The licence of a workload, as whoever measured it says; of what is no stream, the lightest.
    pub fn licence(&self, workload: &str) -> Licence {
        let planned = self.workload(workload);
        planned.and_then(|row| row.licence).unwrap_or_else(|| Licence::by_name(workload))
    }

    /// The workload of that id.
    pub fn workload(&self, id: &str) -> Option<&PlannedWorkload> {
        self.workloads.iter().find(|workload| workload.id == id)
    }
}

/// A workload, as the version that measured it described it: views need no table of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedWorkload {
    /// Its id, such as `avx256_fma`.
    pub id: String,
    /// What it executes.
    pub title: String,
    /// What its number is: `latency`, `throughput` or `spin`.
    pub kind: String,
    /// Width of its vectors, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width_bits: Option<u32>,
    /// The frequency licence that it needs, of streams.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::record::read::if_known"
    )]
    pub licence: Option<Licence>,
    /// The instruction under study, as an assembler spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mnemonic: Option<String>,
    /// Ops in one iteration, as a decoder proves from the assembled bytes.
    pub ops_per_iteration: u64,
    /// What it multiplies and adds, where it does both.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::record::read::if_known"
    )]
    pub datatype: Option<Datatype>,
    /// Multiplications and additions in one op, each counted, where it does both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_per_op: Option<u32>,
}

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Presentation {
    /// Columns.
    pub width: u16,
    /// Whether colours were used.
    pub colour: bool,
    /// 0: the page; 1: with notes, sources, and every fact, instrument and condition.
    pub verbosity: u8,
    /// Whether folded parts were printed, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Which page the live run printed.
    #[serde(default)]
    pub page: PageKind,
}

impl Presentation {
    /// A page of 100 columns without colours.
    pub const fn of(page: PageKind) -> Presentation {
        Presentation { width: 100, colour: false, verbosity: 0, all: false, page }
    }
}

/// The pages that a record can be printed as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PageKind {
    /// The data sheet: everything that was measured.
    #[default]
    Sheet,
    /// What the machine says of itself.
    Info,
    /// What can be measured here, and what not.
    Doctor,
    /// Clocks by instruction stream and number of active cores.
    Turbo,
    /// Bandwidth and latency of caches and memory.
    Memory,
    /// From core to core.
    Cores,
    /// Instructions that wait.
    Pause,
    /// Advice on waiting.
    Wait,
    /// What waking a thread costs.
    Wake,
    /// What parallel regions cost, by runtime and way of waiting.
    Openmp,
    /// Settings of the machine.
    Settings,
    /// What was set, or put back.
    Changes,
    /// Two settings compared.
    Ab,
    /// What the CPUs do while others use them.
    Top,
    /// Events that were counted.
    Pmu,
    /// Intel Speed Select.
    Sst,
    /// A command that was watched.
    Quiet,
    /// Whether a machine passes.
    Gate,
    /// What interrupts busy CPUs.
    Jitter,
    /// How many threads, and on which CPUs.
    Threads,
    /// What a machine is by behaviour.
    Key,
    /// A setting swept over its values.
    Sweep,
    /// Whether every core computes right.
    Verify,
}

/// How the name of a hypervisor ends for the kernel that it leaves the machine to.
pub const ROOT_PARTITION: &str = ", its root partition";

/// A value that people read, or that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FactValue {
    /// A number with its unit.
    Number {
        /// The number, in `unit`.
        value: f64,
        /// Its unit.
        unit: Unit,
    },
    /// A text.
    Text(String),
}

/// One thing that the machine says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// Its kind, such as `cpu.brand`; the same in every run.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What it says, or why it does not.
    pub value: Known<FactValue>,
}

/// The machine, as it describes itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Facts that do not change while it runs, in reading order.
    pub facts: Vec<Fact>,
    /// What can be read and used here, or why not, and what helps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Fact>,
    /// Who sits where.
    pub topology: Topology,
    /// The highest frequencies by number of active cores, where the CPU states them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turbo_limits: Vec<TurboLimit>,
    /// Idle states, the shallowest first, where the kernel shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_states: Vec<IdleState>,
    /// Channels of memory, where firmware's names of slots say which there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_channels: Vec<MemoryChannel>,
}

impl Machine {
    /// The fact of that id.
    pub fn fact(&self, id: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.id == id)
    }
}

/// What could change between two runs, before and after this one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// Before the first measurement.
    pub before: Vec<Fact>,
    /// After the last one.
    pub after: Vec<Fact>,
}

/// Something that was read, and how well it reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Instrument {
    /// Its name, such as `tsc`.
    pub id: String,
    /// Where it is read from.
    pub source: String,
    /// What it measures, in words.
    pub measures: String,
    /// Its qualities, or why it could not be used.
    #[serde(flatten)]
    pub state: InstrumentState,
}

/// The qualities of an instrument, or why it could not be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum InstrumentState {
    /// It could not be used.
    Unavailable {
        /// Why.
        unavailable: Unavailable,
    },
    /// It was used.
    Used {
        /// The unit of what it reads.
        unit: Unit,
        /// Its smallest step, as measured, in `unit`.
        resolution: f64,
        /// What one reading costs, as measured, in seconds.
        own_cost_seconds: f64,
        /// Ticks per second, where it is a clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<CalibratedRate>,
    },
}

impl CalibratedRate {
    /// How sources are called that measure a rate against the kernel's raw clock, with the spread of their windows
    /// behind it; all others are announced.
    pub const MEASURED: &'static str = "CLOCK_MONOTONIC_RAW";

    /// Whether the rate that was used was measured.
    pub fn is_calibrated(&self) -> bool {
        self.chosen.starts_with(Self::MEASURED)
    }
}

/// The rate of a clock: where it comes from, and what other sources say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CalibratedRate {
    /// The rate that was used.
    pub hertz: Hertz,
    /// The source that it was taken from.
    pub chosen: String,
    /// All sources.
    pub sources: Vec<RateSource>,
}

/// What one source says of a clock's rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateSource {
    /// The source.
    pub source: String,
    /// Its rate in hertz, or why it says nothing.
    pub hertz: Known<f64>,
    /// How far it is from the chosen rate, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disagreement_ppm: Option<f64>,
    /// Whether it could disagree at all, or is derived from the same origin.
    pub independent: bool,
}

/// Samples of one quantity for one workload, placement and CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// The area that measured it, such as `turbo`.
    pub area: String,
    /// The workload, such as `avx256_fma`.
    pub workload: String,
    /// What the numbers mean: the id of a quantity, such as `clock`.
    pub quantity: String,
    /// Unit of samples and summary.
    pub unit: Unit,
    /// What else tells this series from its neighbours, such as `data: quiet`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The CPU that the numbers belong to.
    pub cpu: CpuId,
    /// All CPUs that were active at the time, this one among them.
    pub active: CpuSet,
    /// How the host placed the active CPUs, as probed: series of different classes are never pooled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_class: Option<String>,
    /// The numbers, or why there are none.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What of each repetition does not grow with its ops, in the unit of one op times ops: found by
    /// n against 2n in each block and subtracted there; the median over blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_cost: Option<f64>,
    /// What disturbed it.
    #[serde(default, skip_serializing_if = "Disturbance::is_none")]
    pub disturbance: Disturbance,
}

/// As derived, but in one go: what is flattened or untagged is kept as a tree first, and a record is
/// mostly samples.
impl<'de> Deserialize<'de> for Series {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Series, D::Error> {
        #[derive(Deserialize)]
        struct Flat {
            area: String,
            workload: String,
            quantity: String,
            unit: Unit,
            #[serde(default)]
            parameters: BTreeMap<String, String>,
            cpu: CpuId,
            active: CpuSet,
            placement_class: Option<String>,
            unavailable: Option<Unavailable>,
            samples: Option<Samples>,
            summary: Option<Summary>,
            fixed_cost: Option<f64>,
            #[serde(default)]
            disturbance: Disturbance,
        }
        let flat = Flat::deserialize(from)?;
        let outcome = match (flat.unavailable, flat.samples, flat.summary) {
            (Some(unavailable), _, _) => Outcome::Unavailable { unavailable },
            (None, Some(samples), Some(summary)) => Outcome::Measured { samples, summary },
            (None, None, _) => return Err(D::Error::missing_field("samples")),
            (None, _, None) => return Err(D::Error::missing_field("summary")),
        };
        Ok(Series {
            area: flat.area,
            workload: flat.workload,
            quantity: flat.quantity,
            unit: flat.unit,
            parameters: flat.parameters,
            cpu: flat.cpu,
            active: flat.active,
            placement_class: flat.placement_class,
            outcome,
            fixed_cost: flat.fixed_cost,
            disturbance: flat.disturbance,
        })
    }
}

impl Series {
    /// The summary, where there are numbers.
    pub fn summary(&self) -> Option<&Summary> {
        match &self.outcome {
            Outcome::Measured { summary, .. } => Some(summary),
            Outcome::Unavailable { .. } => None,
        }
    }

    /// Whether its numbers rest on disturbed blocks alone: none of them settled, or the only one lost its CPU, was moved,
    /// or lost a hundredth of its time in gaps.
    pub fn is_doubtful(&self) -> bool {
        const LOST_MAX: f64 = 0.01;
        let Some(summary) = self.summary() else { return false };
        let Disturbance { involuntary_switches, migrations, lost_share, .. } = self.disturbance;
        let lost = lost_share.is_some_and(|lost| lost > LOST_MAX);
        let once = involuntary_switches > 0 || migrations > 0 || lost;
        self.disturbance.unsettled_blocks >= summary.blocks || summary.blocks == 1 && once
    }

    /// The samples, block by block, where there are numbers.
    pub fn samples(&self) -> Option<&Samples> {
        match &self.outcome {
            Outcome::Measured { samples, .. } => Some(samples),
            Outcome::Unavailable { .. } => None,
        }
    }
}

/// Numbers, or why there are none; never both, never neither.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Outcome {
    /// Not measured.
    Unavailable {
        /// Why.
        unavailable: Unavailable,
    },
    /// Measured.
    Measured {
        /// Every sample, by block.
        samples: Samples,
        /// Computed from the samples, so that a reader need not.
        summary: Summary,
    },
}

/// What disturbed a series, summed over its blocks. A count that is left out is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disturbance {
    /// Times that the kernel took the CPU away.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub involuntary_switches: u64,
    /// Times that the thread was found on another CPU than its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub migrations: u64,
    /// Page faults between first and last repetition.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub page_faults: u64,
    /// Gaps longer than 10 us, seen by polling the clock between repetitions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gaps: u64,
    /// Time lost in gaps, as a share of the time polled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_share: Option<f64>,
    /// How far the add chain was from one cycle per add beside the payload, the median over blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness_deviation: Option<f64>,
    /// Blocks whose warm-up ended by its time limit, not because timings agreed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsettled_blocks: u64,
    /// Blocks in which the two rulers disagreed by more than 0.25 %; they are not among its
    /// samples.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub contended_blocks: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Disturbance {
    /// Whether nothing was counted at all.
    pub fn is_none(&self) -> bool {
        *self == Disturbance::default()
    }
}

/// The JSON Schema of the record, generated from these types.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Record)
}
