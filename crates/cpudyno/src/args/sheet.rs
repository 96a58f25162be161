//! Arguments of `cpudyno sheet`.

use std::path::PathBuf;

use clap::Args;
use model::{CpuSet, Seconds};

use super::common::{Measuring, Stream, budget, cpu_list, stream};

/// Measure this machine now and print its data sheet.
///
/// Measures everything in many short blocks spread over the whole run, and prints what was found: the
/// machine in brief, how far the numbers can be trusted, five sentences, findings with their remedy,
/// claims against facts, what is normal; then clock by stream and active cores and why it is not
/// higher, memory, core to core, wake-ups, OpenMP, counters, Speed Select; what could not be measured
/// and why.
///
/// All cores are fully loaded meanwhile. Nothing on the machine is changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SheetArgs {
    /// Time that the run may take, such as 10s or 2m; it may end earlier.
    #[arg(long, default_value = "30s", value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// Measure exactly these CPUs, such as 0-3,8; by default one CPU of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Measure only these streams, such as scalar_iadd,avx256_fma; `cpudyno streams` lists them.
    #[arg(long, value_delimiter = ',', value_parser = stream, value_name = "IDS")]
    pub(crate) streams: Option<Vec<Stream>>,

    /// Say where each result lies among those of earlier records in this folder, of machines like this.
    ///
    /// A number that is farther out than such machines ever are becomes a finding. It takes eight records
    /// of machines with the same CPU, packages, cores and virtualisation.
    #[arg(long, value_name = "DIR")]
    pub(crate) reference: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno sheet                          everything, in half a minute
  cpudyno sheet --budget 5s --json r.json    a quick look, and the record of it
  cpudyno sheet --html sheet.html        a page to forward, with the record in it
  cpudyno sheet --reference records/     is this machine like the others of its kind?
  cpudyno show r.json                    the same text again, on any machine
  cpudyno sheet --dry-run                what it would measure, and how long that takes
  cpudyno sheet --machine sim:2s-56c     what it looks like on a large server (SIMULATED)";
