//! Arguments of `cpudyno wait`.

use clap::Args;
use model::{CpuSet, Seconds};

use super::common::{Measuring, budget, cpu_list};

/// Spin or sleep? Advice on waiting, from this machine's own numbers.
///
/// Measures in brief what a pause takes, how long a line travels from core to core, what waking a thread
/// costs after short and long rests, and what parallel regions cost by runtime and setting; says from
/// that for how long to spin before sleeping, which KMP_BLOCKTIME and GOMP_SPINCOUNT to set, and what
/// sleep states cost. Each advice names the numbers that it rests on.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct WaitArgs {
    /// Use exactly these CPUs, such as 0-3,8; by default one CPU of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Measure for so long; by default 25s.
    #[arg(long, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno wait                            this machine
  cpudyno wait --machine sim:2s-56c       a simulated one (SIMULATED)
More of each: cpudyno pause, cores, wake, openmp";
