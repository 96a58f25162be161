//! Arguments of what counts: `cpudyno pmu stat`, `cpudyno pmu kernel`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use model::CpuId;

use super::super::BadValue;
use super::super::common::{Json, Look, whole};

/// Count a command and all that it starts, from its first instruction on.
///
/// Events of the kernel are counted in any case; --event adds others. The table goes to standard error,
/// because standard output is the command's; the exit code is the command's, or 128 and its signal.
#[derive(Debug, Args)]
pub(crate) struct PmuStatArgs {
    #[command(flatten)]
    pub(crate) events: AskedEvents,

    #[command(flatten)]
    pub(crate) json: Json,

    #[command(flatten)]
    pub(crate) look: Look,

    /// The command with its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Count one of the built-in demonstrations: an empty function, a loop, the Internet checksum.
///
/// The function is executed once for each pass; events that do not fit into one pass are counted in
/// further ones, with instructions and cycles in each. What the measurement counts by itself is
/// subtracted. A simulated machine counts what its model says, and says SIMULATED.
#[derive(Debug, Args)]
pub(crate) struct PmuKernelArgs {
    /// Which.
    #[arg(value_enum, value_name = "NAME")]
    pub(crate) kernel: PmuKernel,

    #[command(flatten)]
    pub(crate) events: AskedEvents,

    /// Count the kernel's work for the thread, too, and not user mode alone.
    #[arg(long)]
    pub(crate) with_kernel: bool,

    /// Pin to this CPU; by default to the one that cpudyno runs on.
    #[arg(long, value_parser = cpu, value_name = "CPU")]
    pub(crate) pin: Option<CpuId>,

    /// How often the loop goes round.
    #[arg(long, value_parser = iterations, default_value = "1000000", value_name = "NUMBER")]
    pub(crate) iterations: u64,

    /// How many packets the checksum is computed of.
    #[arg(long, value_parser = iterations, default_value = "100000", value_name = "NUMBER")]
    pub(crate) packets: u64,

    /// How large each of them is, in bytes.
    #[arg(long, value_parser = size, default_value = "1440", value_name = "BYTES")]
    pub(crate) size: u64,

    /// Print the passes and the counters that there are, and count nothing.
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) json: Json,

    #[command(flatten)]
    pub(crate) look: Look,
}

/// What is at hand to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PmuKernel {
    /// Nothing: what the measurement counts by itself.
    Empty,
    /// A loop of a decrement and a conditional jump.
    Loop,
    /// The checksum of RFC 1071: generic, SSE2, AVX2, AVX-512.
    Checksum,
}

/// Events that were asked for.
#[derive(Debug, Clone, Args)]
pub(crate) struct AskedEvents {
    /// Also count this event: a name, a pattern such as `mem_load.*l._hit`, or a code such as 0x1c2; may be
    /// repeated.
    #[arg(short, long = "event", value_name = "EVENT")]
    pub(crate) events: Vec<String>,

    /// The folder of event lists.
    #[arg(long, value_name = "DIR")]
    pub(crate) event_dir: Option<PathBuf>,
}

fn cpu(text: &str) -> Result<CpuId, BadValue> {
    whole(text, 0..=u64::from(u32::MAX), "`cpudyno info` says which CPUs there are")
        .map(|number| CpuId(number as u32))
}

fn iterations(text: &str) -> Result<u64, BadValue> {
    whole(text, 1..=1_000_000_000_000, "a whole number, such as 1000000")
}

fn size(text: &str) -> Result<u64, BadValue> {
    whole(text, 1..=1 << 30, "bytes of a packet, such as 64 or 1440")
}
