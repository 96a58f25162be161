//! Arguments of `cpudyno pmu`.

mod counting;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pmu::events::{SOURCES, Source};

use super::{BadValue, PresentationArgs};
pub(crate) use counting::{
    AskedEvents, PmuCheckArgs, PmuKernel, PmuKernelArgs, PmuSelftestArgs, PmuStatArgs, SavedBudget,
};

/// Count events of the CPU's performance monitoring unit, and list what there is to count.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PmuArgs {
    #[command(subcommand)]
    pub(crate) command: PmuCommand,
}

/// The sub-commands, in the order of their help.
#[derive(Debug, Subcommand)]
pub(crate) enum PmuCommand {
    Stat(PmuStatArgs),
    Kernel(PmuKernelArgs),
    Selftest(PmuSelftestArgs),
    Check(PmuCheckArgs),
    List(PmuListArgs),
    /// Lists of events that other people keep.
    #[command(subcommand)]
    Events(PmuEventsCommand),
}

/// What can be done with lists of events.
#[derive(Debug, Subcommand)]
pub(crate) enum PmuEventsCommand {
    Update(PmuUpdateArgs),
}

/// List events: what they are called, their encoding, which counters take them, what they count.
///
/// Names come from our own table, from a folder of event lists where there is one, from the kernel and
/// from libpfm4 where it is installed; the first that has a name is believed. What cannot be counted on
/// this machine is listed all the same, with the reason.
#[derive(Debug, Args)]
pub(crate) struct PmuListArgs {
    /// Only events whose name has this in it: a regular expression, such as `mem_load.*l._hit`.
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: Option<String>,

    #[command(flatten)]
    pub(crate) cpu: CpuModelArgs,

    /// Only what this source says, also where another one is believed: own, perfmon, kernel, libpfm.
    #[arg(long, value_parser = source, value_name = "NAME")]
    pub(crate) source: Option<Source>,

    #[command(flatten)]
    pub(crate) look: PresentationArgs,
}

/// Fetch perfmon's lists of a CPU's events, by `curl`.
///
/// They are Intel's, for Intel's CPUs. Nothing is sent but the request for the files. The lists of other
/// CPUs can be copied into a folder and named by --event-dir: those of AMD are in Linux' tools/perf,
/// those of Arm in ARM-software/data.
#[derive(Debug, Args)]
pub(crate) struct PmuUpdateArgs {
    #[command(flatten)]
    pub(crate) cpu: CpuModelArgs,

    /// Fetch from there: a copy of https://raw.githubusercontent.com/intel/perfmon/main.
    #[arg(long, value_name = "URL", default_value = PERFMON)]
    pub(crate) from: String,
}

/// Where Intel publishes its lists.
const PERFMON: &str = "https://raw.githubusercontent.com/intel/perfmon/main";

/// Whose events.
#[derive(Debug, Clone, Args)]
pub(crate) struct CpuModelArgs {
    /// Events of this CPU instead of the one at hand: skylake-x, zen4, or GenuineIntel-6-8F.
    #[arg(long = "cpu", value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The folder of event lists; by default that of `pmu events update`, if it is there.
    #[arg(long, value_name = "DIR")]
    pub(crate) event_dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno pmu stat -- make -j4                      count a command and all that it starts
  cpudyno pmu kernel checksum                       compare checksum routines, by byte and packet
  cpudyno pmu kernel loop -e 'retired.*all_branches$'
  cpudyno pmu kernel triad --sheet                  each cache, warm, cold, beside a busy neighbour
  cpudyno pmu kernel checksum --save-budget b.json  keep the counts by byte ...
  cpudyno pmu check b.json                          ... and look later whether they drifted
  cpudyno pmu selftest                              which events count what they should
  cpudyno pmu list                                  what this machine can count
  cpudyno pmu list 'mem_load.*l._hit'               by pattern, with descriptions
  cpudyno pmu list --cpu sapphire-rapids topdown    of another CPU
  cpudyno pmu list --event-dir perfmon --format json
  cpudyno pmu events update                         fetch Intel's lists for this CPU";

fn source(name: &str) -> Result<Source, BadValue> {
    let row = SOURCES.iter().find(|row| row.name == name && row.source != Source::Raw);
    row.map(|row| row.source).ok_or_else(|| {
        BadValue::new("no such source of events", "sources are own, perfmon, kernel and libpfm")
    })
}
