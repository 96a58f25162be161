//! Arguments of what counts: `cpudyno pmu stat`, `pmu kernel`, `pmu selftest`, `pmu check`.

use std::path::PathBuf;

use clap::Args;
use model::CpuId;
use model::name::did_you_mean;
use pmu::counting::{BudgetKernel, Spec};
use pmu::metrics::Metric;

use super::super::BadValue;
use super::super::common::{Output, whole};

/// Count a command and all that it starts, from its first instruction on.
///
/// Instructions, cycles, reference cycles, branches and the kernel's own events are counted in any
/// case, as far as the machine lets us; --event adds others. Each event has its counter all the
/// time, or is refused: there are no passes, because a command is executed once. Before it starts,
/// events whose counts in a loop are known must count them; while it runs, nothing tells whether a
/// host shares the counters. The exit code is 3 where it succeeds and none of the events that were
/// asked for was counted. The table goes to standard error, because standard output is the
/// command's; the exit code is the command's, or 128 and its signal.
#[derive(Debug, Args)]
pub(crate) struct PmuStatArgs {
    #[command(flatten)]
    pub(crate) events: AskedEvents,

    #[command(flatten)]
    pub(crate) budget: SavedBudget,

    /// Print which events would be counted, and execute nothing.
    #[arg(long, conflicts_with_all = ["json", "html"])]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) output: Output,

    /// The command with its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Count a kernel that is at hand: a loop, checksums, instruction streams, memory kernels, a walk.
///
/// The function is executed once for each pass; events that do not fit into one pass are counted in
/// further ones, with instructions and cycles in each. What the measurement counts by itself is
/// subtracted, and a loop whose counts are known is counted first in each pass. A simulated machine counts
/// what its model says, and says SIMULATED.
///
/// --sheet compares: data of several sizes, warm, cold, and with a busy neighbour. --save-budget keeps the
/// counts by unit in a file that `cpudyno pmu check` compares later runs with.
#[derive(Debug, Args)]
pub(crate) struct PmuKernelArgs {
    /// Which: empty, loop, coin, checksum, chase, touch, sleep, move; a memory kernel, such as triad; a
    /// stream, such as avx256_fma (`cpudyno streams` lists them).
    #[arg(value_parser = kernel, value_name = "NAME")]
    pub(crate) kernel: PmuKernel,

    #[command(flatten)]
    pub(crate) events: AskedEvents,

    /// Count the kernel's work for the thread, too, and not user mode alone.
    #[arg(long)]
    pub(crate) with_kernel: bool,

    /// Pin to this CPU; by default to the one that cpudyno runs on.
    #[arg(long, value_parser = cpu, value_name = "CPU")]
    pub(crate) pin: Option<CpuId>,

    /// How many units of the kernel are executed at least: iterations, ops, elements, loads. By default as
    /// many as take about a millisecond.
    #[arg(long, value_parser = iterations, value_name = "NUMBER")]
    pub(crate) iterations: Option<u64>,

    /// How many packets the checksum is computed of.
    #[arg(long, value_parser = iterations, default_value = "100000", value_name = "NUMBER")]
    pub(crate) packets: u64,

    /// How large each packet is, or the data of a memory kernel or walk: 1440, 32K, 1M. With --sheet several.
    #[arg(long = "size", value_parser = size, value_delimiter = ',', value_name = "BYTES")]
    pub(crate) sizes: Vec<u64>,

    /// The data sheet: each size, warm, cold, and with a busy neighbour; sizes are by default those that lie
    /// in each cache, and beyond.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) sheet: bool,

    /// Who is busy beside it; by default the other thread of the core, else another CPU.
    #[arg(long, value_parser = cpu, requires = "sheet", value_name = "CPU")]
    pub(crate) neighbour: Option<CpuId>,

    #[command(flatten)]
    pub(crate) budget: SavedBudget,

    /// Print the passes and the counters that there are, and count nothing.
    #[arg(long, conflicts_with_all = ["json", "html"])]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Hold events against work whose counts are known.
///
/// The machine code of the work says how often it branches, loads, multiplies; each event is counted for n
/// units and for 2n, and the difference must be what the code says, within a tolerance that each event
/// has its reason for. The exit code is 1 where an event is wrong: it is refused by name, and `--tested`
/// refuses it in `pmu stat` and `pmu kernel`.
#[derive(Debug, Args)]
pub(crate) struct PmuSelftestArgs {
    /// Only this event: a name or a pattern; may be repeated, or several with commas between. By default all
    /// whose answer is known.
    #[arg(short, long = "event", value_name = "EVENT")]
    pub(crate) events: Vec<String>,

    /// The folder of event lists.
    #[arg(long, value_name = "DIR")]
    pub(crate) event_dir: Option<PathBuf>,

    /// Pin to this CPU; by default to the one that cpudyno runs on.
    #[arg(long, value_parser = cpu, value_name = "CPU")]
    pub(crate) pin: Option<CpuId>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Count again what a budget was made of, and compare.
///
/// The budget is a file of `--save-budget`; its expectations may be edited. The exit code is 1 where a count
/// drifts from it, 3 where one cannot be told, and that of the command where that fails.
#[derive(Debug, Args)]
pub(crate) struct PmuCheckArgs {
    /// The file of `pmu kernel --save-budget` or `pmu stat --save-budget`.
    #[arg(value_name = "BUDGET")]
    pub(crate) budget: PathBuf,

    /// The folder of event lists.
    #[arg(long, value_name = "DIR")]
    pub(crate) event_dir: Option<PathBuf>,

    /// Pin to this CPU; by default to the one that cpudyno runs on.
    #[arg(long, value_parser = cpu, value_name = "CPU", conflicts_with = "command")]
    pub(crate) pin: Option<CpuId>,

    #[command(flatten)]
    pub(crate) output: Output,

    /// The command with its arguments, after `--`, where the budget is of one.
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
    /// Also count this event: a name, a pattern such as `mem_load.*l._hit`, or a code such as 0x1c2; may be
    /// repeated, or several with commas between: -e cycles,instructions.
    #[arg(short, long = "event", value_name = "EVENT")]
    pub(crate) events: Vec<String>,

    /// Also count what this number needs, and print it: ipc, branch-miss-rate, l1d-mpki, retiring; `all` is
    /// each that is known for this CPU; may be repeated. What follows from the counts anyway is printed
    /// without.
    #[arg(short, long = "metric", value_parser = metric, value_delimiter = ',', value_name = "ID")]
    pub(crate) metrics: Vec<String>,

    /// Hold the events against their known answers first, and refuse those that are wrong; with
    /// --dry-run nothing is executed for that, either.
    #[arg(long)]
    pub(crate) tested: bool,

    /// The folder of event lists.
    #[arg(long, value_name = "DIR")]
    pub(crate) event_dir: Option<PathBuf>,
}

/// The counts by unit, as a file that later runs are compared with.
#[derive(Debug, Clone, Args)]
pub(crate) struct SavedBudget {
    /// Keep the counts by unit in this file, for `cpudyno pmu check`.
    #[arg(long = "save-budget", value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) file: Option<PathBuf>,

    /// By how much a later count may be off, in per cent.
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

/// `1440`, `32K`, `1M`.
fn size(text: &str) -> Result<u64, BadValue> {
    const HINT: &str = "bytes, such as 64, 1440, 32K or 1M";
    let (digits, factor) = match text.trim().to_ascii_uppercase() {
        text if text.ends_with('K') => (text, 1u64 << 10),
        text if text.ends_with('M') => (text, 1 << 20),
        text if text.ends_with('G') => (text, 1 << 30),
        text => (text, 1),
    };
    let most = BudgetKernel::SIZE_MAX / factor;
    let digits = if factor > 1 { &digits[..digits.len() - 1] } else { &digits };
    whole(digits, 1..=most, HINT).map(|number| number * factor)
}
