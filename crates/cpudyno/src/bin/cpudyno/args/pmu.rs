//! Arguments of `cpudyno pmu`.

mod counting;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pmu::events::{SOURCES, Source};

use super::{BadValue, PresentationArgs};
pub(crate) use counting::{
    AskedEvents, PmuCheckArgs, PmuKernel, PmuKernelArgs, PmuSelftestArgs, PmuStatArgs,
    RooflineOfRecord, SavedBudget,
};

/// Count hardware events of code, and list them.
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
    /// Run sub-commands line by line, from a terminal or a file.
    ///
    /// Each line is what stands behind `cpudyno pmu`: kernel loop -e cycles. A line that begins with # says nothing;
    /// `quit` or the end of the input ends it. A file ends at the first line that fails, with its exit code.
    Repl(PmuReplArgs),
    /// Fetch published lists of events.
    #[command(subcommand)]
    Events(PmuEventsCommand),
}

/// Where the lines are.
#[derive(Debug, Args)]
#[command(after_long_help = REPL_EXAMPLES)]
pub(crate) struct PmuReplArgs {
    /// File of lines; by default standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

const REPL_EXAMPLES: &str = "\
Examples:
  cpudyno pmu repl                     lines that you type
  cpudyno pmu repl tries.txt           lines of a file
  printf 'kernel loop\nkernel triad\n' | cpudyno pmu --machine sim:2s-28c repl";

/// What can be done with lists of events.
#[derive(Debug, Subcommand)]
pub(crate) enum PmuEventsCommand {
    Update(PmuUpdateArgs),
}

/// List events: name, encoding, counters, description.
///
/// Names come from our own table, from a folder of event lists where there is one, from the kernel, and from
/// libpfm4 where it is installed. Where several have a name, the first counts. An event that cannot be
/// counted on this machine is listed with the reason.
#[derive(Debug, Args)]
pub(crate) struct PmuListArgs {
    /// Regular expression that the name contains, such as `mem_load.*l._hit`.
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: Option<String>,

    #[command(flatten)]
    pub(crate) cpu: CpuModelArgs,

    /// Only names of this source: own, perfmon, kernel or libpfm.
    ///
    /// Names that another source has as well are listed, too.
    #[arg(long, value_parser = source, value_name = "NAME")]
    pub(crate) source: Option<Source>,

    #[command(flatten)]
    pub(crate) look: PresentationArgs,
}

/// Fetch Intel's event lists for a CPU (perfmon).
///
/// curl fetches them; nothing is sent but the request for the files. Lists for other CPUs can be copied into
/// a folder and named by --event-dir: those of AMD are in Linux' tools/perf, those of Arm in
/// ARM-software/data.
#[derive(Debug, Args)]
pub(crate) struct PmuUpdateArgs {
    #[command(flatten)]
    pub(crate) cpu: CpuModelArgs,

    /// Address of the lists, or of a copy.
    #[arg(long, value_name = "URL", default_value = PERFMON)]
    pub(crate) from: String,
}

/// Where Intel publishes its lists.
const PERFMON: &str = "https://raw.githubusercontent.com/intel/perfmon/main";

/// The CPU that events are of.
#[derive(Debug, Clone, Args)]
pub(crate) struct CpuModelArgs {
    /// CPU model, if not the one at hand: skylake-x, zen4, or GenuineIntel-6-8F.
    #[arg(long = "cpu", value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Folder of event lists; by default that of `pmu events update`.
    #[arg(long, value_name = "DIR")]
    pub(crate) event_dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno pmu stat -- make -j4                      a command and all that it starts
  cpudyno pmu kernel checksum                       checksum routines, by byte and packet
  cpudyno pmu kernel loop -e 'retired.*all_branches$'
  cpudyno pmu kernel triad --sheet                  each cache: warm, cold, with a busy neighbour
  cpudyno pmu kernel checksum --save-budget b.json  save the counts by byte ...
  cpudyno pmu check b.json                          ... and check later whether they drifted
  cpudyno pmu selftest                              which events count correctly?
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
