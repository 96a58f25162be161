//! Arguments of the commands that count: `cpudyno pmu stat`, `pmu kernel`, `pmu selftest`, `pmu check`.

use std::path::PathBuf;

use clap::Args;
use model::name::did_you_mean;
use model::{CpuId, Datatype};
use pmu::counting::{BudgetKernel, Spec};
use pmu::metrics::Metric;

use super::super::BadValue;
use super::super::common::{Output, whole};

/// Count events of a command and of all that it starts.
///
/// Instructions, cycles, reference cycles, branches and the kernel's own events are always counted, as far as
/// the machine allows; --event adds others. Counting begins at the first instruction. Each event has its
/// counter all the time, or is refused: a command is executed once, so there are no passes. Before the start,
/// events with known counts in a loop must count them; during the run, nothing shows whether a host shares
/// the counters.
///
/// The table goes to standard error; standard output is the command's. The exit code is the command's, or 128
/// plus its signal; it is 3 where the command succeeds and none of the events asked for was counted.
#[derive(Debug, Args)]
pub(crate) struct PmuStatArgs {
    #[command(flatten)]
    pub(crate) events: AskedEvents,

    #[command(flatten)]
    pub(crate) budget: SavedBudget,

    #[command(flatten)]
    pub(crate) roofline: RooflineOfRecord,

    /// Operations that it does, such as 2e9; by default they are counted, where events allow.
    #[arg(long, value_parser = amount, requires = "roofline", value_name = "NUMBER")]
    pub(crate) operations: Option<f64>,

    /// Bytes that it moves from and to memory, such as 24e9; by default lines are counted.
    ///
    /// Lines that the last-level cache did not have: what is written back is not in them.
    #[arg(long, value_parser = amount, requires = "roofline", value_name = "NUMBER")]
    pub(crate) bytes: Option<f64>,

    /// Datatype of its operations: fp64 (the default), fp32, fp16, bf16, int16 or int8.
    #[arg(long, value_parser = datatype, requires = "roofline", value_name = "NAME")]
    pub(crate) datatype: Option<Datatype>,

    /// Show which events would be counted; execute nothing.
    #[arg(long, conflicts_with_all = ["json", "html", "roofline"])]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) output: Output,

    /// Command with its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Count events of a built-in kernel, by unit of its work.
///
/// There are loops, checksums, instruction streams, memory kernels and a walk. The kernel is executed once
/// for each pass; events that do not fit into one pass are counted in further ones, with instructions and
/// cycles in each. The overhead of measuring is subtracted, and a loop with known counts is counted first in
/// each pass. A simulated machine counts what its model says.
///
/// --sheet compares sizes of data: warm, cold, and with a busy neighbour. --save-budget saves the counts per
/// unit to a file; `cpudyno pmu check` compares later runs with it.
#[derive(Debug, Args)]
pub(crate) struct PmuKernelArgs {
    /// Kernel, such as loop, checksum, triad or avx256_fma.
    ///
    /// Kernels: empty, loop, coin, checksum, chase, touch, sleep, move; a memory kernel (`cpudyno memory --list`
    /// lists them); a stream (`cpudyno streams` lists them).
    #[arg(value_parser = kernel, value_name = "NAME")]
    pub(crate) kernel: PmuKernel,

    #[command(flatten)]
    pub(crate) events: AskedEvents,

    /// Also count kernel mode; by default only user mode.
    #[arg(long)]
    pub(crate) with_kernel: bool,

    /// CPU to pin to; by default the one that cpudyno runs on.
    #[arg(long, value_parser = cpu, value_name = "CPU")]
    pub(crate) pin: Option<CpuId>,

    /// Least number of units to execute; by default about 1 ms of them.
    ///
    /// A unit is an iteration, op, element or load, depending on the kernel.
    #[arg(long, value_parser = iterations, value_name = "NUMBER")]
    pub(crate) iterations: Option<u64>,

    /// Number of packets of the checksum.
    #[arg(long, value_parser = iterations, default_value = "100000", value_name = "NUMBER")]
    pub(crate) packets: u64,

    /// Size of a packet, or of the data, in bytes: 1440, 32K, 1M.
    ///
    /// Memory kernels and the walk have data, of whole blocks: the title says how much. With --sheet it may be
    /// several sizes.
    #[arg(long = "size", value_parser = size, value_delimiter = ',', value_name = "BYTES")]
    pub(crate) sizes: Vec<u64>,

    /// Print a data sheet: each size warm, cold, and with a busy neighbour.
    ///
    /// By default, sizes lie in each cache, and beyond.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) sheet: bool,

    /// CPU of the busy neighbour; by default the SMT sibling, else another CPU.
    #[arg(long, value_parser = cpu, requires = "sheet", value_name = "CPU")]
    pub(crate) neighbour: Option<CpuId>,

    #[command(flatten)]
    pub(crate) budget: SavedBudget,

    #[command(flatten)]
    pub(crate) roofline: RooflineOfRecord,

    /// Show the passes and the counters; count nothing.
    #[arg(long, conflicts_with_all = ["json", "html", "roofline"])]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Test events against work of known counts.
///
/// The machine code says how often the work branches, loads or multiplies. Each event is counted for n units
/// and for 2n; the difference must be what the code says, within the tolerance of the event. A wrong event is
/// refused by name, and `--tested` refuses it in `pmu stat` and `pmu kernel`.
///
/// Exit codes: 1 an event is wrong; 3 no event can be judged, or a named one cannot.
#[derive(Debug, Args)]
pub(crate) struct PmuSelftestArgs {
    /// Event to test, by name or pattern; by default all with known counts.
    ///
    /// Repeat it for more, or separate events by commas.
    #[arg(short, long = "event", value_name = "EVENT")]
    pub(crate) events: Vec<String>,

    /// Folder of event lists; by default that of `pmu events update`.
    #[arg(long, value_name = "DIR")]
    pub(crate) event_dir: Option<PathBuf>,

    /// CPU to pin to; by default the one that cpudyno runs on.
    #[arg(long, value_parser = cpu, value_name = "CPU")]
    pub(crate) pin: Option<CpuId>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Count again and compare with a saved budget.
///
/// The budget is a file of `--save-budget`; its expected counts may be edited.
///
/// Exit codes: 1 a count drifted from the budget; 3 a count is missing; that of the command if it fails.
#[derive(Debug, Args)]
pub(crate) struct PmuCheckArgs {
    /// File of `pmu kernel --save-budget` or `pmu stat --save-budget`.
    #[arg(value_name = "BUDGET")]
    pub(crate) budget: PathBuf,

    /// Folder of event lists; by default that of `pmu events update`.
    #[arg(long, value_name = "DIR")]
    pub(crate) event_dir: Option<PathBuf>,

    /// CPU to pin to; by default the one that cpudyno runs on.
    #[arg(long, value_parser = cpu, value_name = "CPU", conflicts_with = "command")]
    pub(crate) pin: Option<CpuId>,

    #[command(flatten)]
    pub(crate) output: Output,

    /// Command with its arguments, after `--`, if the budget is of one.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// What is at hand to be counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PmuKernel {
    /// Nothing: what the measurement counts by itself.
    Empty,
    /// The checksum of RFC 1071: generic, SSE2, AVX2, AVX-512.
    Checksum,
    /// One of the kernels with known counts.
    Of(Spec),
}

impl PmuKernel {
    /// The kernel of that name.
    pub(crate) fn named(name: &str) -> Option<PmuKernel> {
        match name {
            EMPTY => Some(PmuKernel::Empty),
            CHECKSUM => Some(PmuKernel::Checksum),
            _ => Spec::named(name).map(PmuKernel::Of),
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PmuKernel::Empty => EMPTY,
            PmuKernel::Checksum => CHECKSUM,
            PmuKernel::Of(spec) => spec.name(),
        }
    }
}

const EMPTY: &str = "empty";
const CHECKSUM: &str = "checksum";

/// Events that were asked for.
#[derive(Debug, Clone, Args)]
pub(crate) struct AskedEvents {
    /// Event to count as well: a name, a pattern, or a code such as 0x1c2.
    ///
    /// A pattern is such as `mem_load.*l._hit`. Repeat it for more, or separate events by commas:
    /// -e cycles,instructions.
    #[arg(short, long = "event", value_name = "EVENT")]
    pub(crate) events: Vec<String>,

    /// Metric to count and print as well, such as ipc or l1d-mpki, or `all`.
    ///
    /// `all` are those known for this CPU. Repeat it for more. Metrics that follow from the counts are printed
    /// anyway.
    #[arg(short, long = "metric", value_parser = metric, value_delimiter = ',', value_name = "ID")]
    pub(crate) metrics: Vec<String>,

    /// Test the events first, and refuse those that are wrong.
    ///
    /// With --dry-run nothing is executed, and nothing is tested.
    #[arg(long)]
    pub(crate) tested: bool,

    /// Folder of event lists; by default that of `pmu events update`.
    #[arg(long, value_name = "DIR")]
    pub(crate) event_dir: Option<PathBuf>,
}

/// The record whose roofline work is placed on.
#[derive(Debug, Clone, Args)]
pub(crate) struct RooflineOfRecord {
    /// Place the work on the roofline of this record.
    ///
    /// `cpudyno turbo --datatypes --json FILE` writes one that has a roofline.
    #[arg(id = "roofline", long = "roofline", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// The counts per unit, as a file that later runs are compared with.
#[derive(Debug, Clone, Args)]
pub(crate) struct SavedBudget {
    /// Save the counts per unit to this file, for `cpudyno pmu check`.
    #[arg(long = "save-budget", value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) file: Option<PathBuf>,

    /// Tolerance of a later count, in per cent (0 to 1000).
    #[arg(long, value_parser = per_cent, default_value = "10", value_name = "PERCENT")]
    pub(crate) tolerance: f64,
}

fn kernel(name: &str) -> Result<PmuKernel, BadValue> {
    let name = name.trim();
    PmuKernel::named(name).ok_or_else(|| {
        let names = [EMPTY, CHECKSUM].into_iter().chain(Spec::names());
        let hint = match did_you_mean(name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "kernels are empty, loop, checksum, chase, triad and others: see `cpudyno pmu \
                     kernel --help`"
                .to_owned(),
        };
        BadValue::new("no such kernel", hint)
    })
}

fn datatype(name: &str) -> Result<Datatype, BadValue> {
    let is_it = |it: &Datatype| it.name().eq_ignore_ascii_case(name.trim());
    Datatype::ALL.into_iter().find(is_it).ok_or_else(|| {
        BadValue::new("no such datatype", "datatypes are fp64, fp32, fp16, bf16, int16 and int8")
    })
}

fn amount(number: &str) -> Result<f64, BadValue> {
    let found = number.trim().parse().ok().filter(|it: &f64| it.is_finite() && *it > 0.0);
    found.ok_or_else(|| BadValue::new("not a number above 0", "write it as 2e9 or 2000000000"))
}

fn metric(id: &str) -> Result<String, BadValue> {
    const ALL: &str = "all";
    let id = id.trim();
    if id == ALL || Metric::find(id).is_some() {
        return Ok(id.to_owned());
    }
    let ids = || Metric::all().iter().map(|metric| metric.id.as_str());
    let hint = match did_you_mean(id, ids()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("metrics are {}", ids().collect::<Vec<_>>().join(", ")),
    };
    Err(BadValue::new("no such metric", hint))
}

fn cpu(text: &str) -> Result<CpuId, BadValue> {
    whole(text, 0..=u64::from(u32::MAX), "`cpudyno info` says which CPUs there are")
        .map(|number| CpuId(number as u32))
}

fn iterations(text: &str) -> Result<u64, BadValue> {
    whole(text, 1..=BudgetKernel::NUMBER_MAX, "a whole number, such as 1000000")
}

fn per_cent(text: &str) -> Result<f64, BadValue> {
    let number = text.trim_end_matches('%').parse::<f64>().ok();
    let share = number.filter(|number| (0.0..=1000.0).contains(number)).map(|it| it / 100.0);
    share.ok_or_else(|| {
        BadValue::new("expected a number from 0 to 1000", "by how much: --tolerance 10")
    })
}

/// `1440`, `32K`, `32KiB`, `1M`.
fn size(text: &str) -> Result<u64, BadValue> {
    const HINT: &str = "bytes, such as 64, 1440, 32K or 1M";
    let text = text.trim().to_ascii_uppercase();
    let text = text.strip_suffix("IB").unwrap_or(&text).to_owned();
    let (digits, factor) = match text {
        text if text.ends_with('K') => (text, 1u64 << 10),
        text if text.ends_with('M') => (text, 1 << 20),
        text if text.ends_with('G') => (text, 1 << 30),
        text => (text, 1),
    };
    let most = BudgetKernel::SIZE_MAX / factor;
    let digits = if factor > 1 { &digits[..digits.len() - 1] } else { &digits };
    whole(digits, 1..=most, HINT).map(|number| number * factor)
}
