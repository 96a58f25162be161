//! Arguments of `cpudyno wait`.

use clap::Args;
use model::{CpuSet, Seconds};

use super::common::{Measuring, budget, cpu_list};

/// Advise whether to spin or to sleep.
///
/// The advice: how long to spin before sleeping, which KMP_BLOCKTIME and GOMP_SPINCOUNT to set, and what idle
/// states cost. It comes from short measurements of spin-wait instructions, core-to-core latency, wake-ups
/// after short and long rests, and parallel regions by runtime and setting. Each piece of advice names the
/// numbers that it rests on.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct WaitArgs {
    /// CPUs to use, such as 0-3,8; by default one of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Time to measure (1s to 1h); 25s by default.
    #[arg(long, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno wait                         this machine
  cpudyno wait --machine sim:2s-56c    a large server (SIMULATED)

More of each: cpudyno pause, cores, wake, openmp";
