//! Arguments of `cpudyno sheet`.

use std::path::PathBuf;

use clap::Args;
use model::{CpuSet, Seconds};

use super::common::{Measuring, Stream, budget, cpu_list, stream};

/// Measure this machine and print its data sheet.
///
/// The sheet covers clocks by stream and active cores, memory, core-to-core latency, wake-ups, OpenMP,
/// counters and Speed Select. It shows how far the numbers can be trusted, findings with their remedy,
/// and what could not be measured and why. All areas are measured in short blocks that are spread over
/// the whole run.
///
/// All cores are fully loaded meanwhile. Nothing on the machine is changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SheetArgs {
    /// Time limit of the run (1s to 1h); it may end earlier.
    #[arg(long, default_value = "30s", value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// CPUs to measure, such as 0-3,8; by default one of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Streams to measure, such as scalar_iadd,avx256_fma.
    ///
    /// `cpudyno streams` lists them. By default a selection.
    #[arg(long, value_delimiter = ',', value_parser = stream, value_name = "IDS")]
    pub(crate) streams: Option<Vec<Stream>>,

    /// Place each result among earlier records in this folder.
    ///
    /// A result that is too far from them becomes a finding. Records count if they are of machines with the
    /// same CPU, packages, cores and virtualisation; it takes eight.
    #[arg(long, value_name = "DIR")]
    pub(crate) reference: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno sheet                              everything, in half a minute
  cpudyno sheet --budget 5s --json r.json    a quick look, and its record
  cpudyno show r.json                        the same text again, on any machine
  cpudyno sheet --html sheet.html            a page to forward, with the record in it
  cpudyno sheet --reference records/         is this machine like the others of its kind?
  cpudyno sheet --dry-run                    what it would measure, and how long that takes
  cpudyno sheet --machine sim:2s-56c         a large server (SIMULATED)";
