//! Arguments of `cpudyno openmp`.

use clap::Args;
use model::name::did_you_mean;
use model::{CpuSet, Seconds};

use super::BadValue;
use super::common::{Measuring, budget, cpu_list, one_of_counts, whole};

/// Measure the cost of OpenMP parallel regions.
///
/// Threads without work spin or sleep. A setting of the runtime says which, and for how long: KMP_BLOCKTIME,
/// OMP_WAIT_POLICY, GOMP_SPINCOUNT. Each installed runtime (libgomp, libomp, libiomp5) is loaded in a process
/// of its own for each setting, and called as GCC and Clang call it. The page shows the loop of OpenMPTest,
/// the cost of a region, barrier, static loop and reduction by EPCC's method, and the cores that waiting
/// keeps busy. Two barriers of our own, one that spins and one that sleeps, are the lower limit.
///
/// Nothing on the machine is changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct OpenmpArgs {
    /// Runs of the loop (1 to 1000000000), as time allows.
    #[arg(long, default_value_t = 500_000, value_parser = outer, value_name = "N")]
    pub(crate) outer: u64,

    /// Length of the loop plus one (2 to 100000000), as in OpenMPTest.
    #[arg(long, default_value_t = 10_000, value_parser = inner, value_name = "N")]
    pub(crate) inner: u64,

    /// Run 25 empty regions with 200 ms of sleep after each instead.
    ///
    /// It shows the cost of waiting where there is little to do.
    #[arg(long)]
    pub(crate) small: bool,

    /// Numbers of threads, such as 1,2,4; by default one, and then all.
    #[arg(long, value_delimiter = ',', value_parser = one_of_counts, value_name = "LIST")]
    pub(crate) threads: Option<Vec<usize>>,

    /// Runtimes: libgomp, libomp, libiomp5, spin_barrier, futex_barrier; by default all.
    #[arg(long, value_delimiter = ',', value_parser = runtime, value_name = "NAMES")]
    pub(crate) runtime: Option<Vec<RuntimeName>>,

    /// CPUs to use, such as 0-3,8; by default one of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Time to measure (1s to 1h); 25s by default, 65s with --small.
    #[arg(long, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno openmp                               every runtime and setting: half a minute
  cpudyno openmp --runtime libomp              what does KMP_BLOCKTIME do?
  cpudyno openmp --threads 1,2,4 --budget 60s
  cpudyno openmp --small                       what does spinning cost when there is little to do?
  cpudyno openmp --machine sim:2s-56c          a large server (SIMULATED)";

fn outer(text: &str) -> Result<u64, BadValue> {
    whole(text, 1..=1_000_000_000, "give a whole number: --outer 500000")
}

fn inner(text: &str) -> Result<u64, BadValue> {
    whole(text, 2..=100_000_000, "give a whole number: --inner 10000")
}

/// A runtime that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuntimeName(pub(crate) &'static str);

fn runtime(typed: &str) -> Result<RuntimeName, BadValue> {
    let names = measure::areas::openmp::names;
    if let Some(name) = names().find(|name| *name == typed) {
        return Ok(RuntimeName(name));
    }
    let hint = did_you_mean(typed, names()).map_or_else(
        || format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Err(BadValue::new(format!("no runtime `{typed}` is known"), hint))
}
