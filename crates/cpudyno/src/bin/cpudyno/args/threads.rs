//! Arguments of `cpudyno threads`.

use clap::{Args, ValueEnum};
use model::{CpuSet, Seconds};

use super::Direction;
use super::common::{Measuring, budget, cpu_list};

/// Find out how many threads to use, and on which CPUs.
///
/// It measures teams of threads that grow: vector and scalar instructions, data that comes from memory, and a loop
/// between barriers. The answer is for this process as it stands: its affinity, the quota and cpuset of its control
/// group, SMT siblings, cores of several types, NUMA nodes, what others leave of them. It takes some seconds.
///
/// A quota limits time, not threads: more threads than it has CPUs use it up early in each period of 100 ms, and then all
/// of them stand still. Nothing on the machine is changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ThreadsArgs {
    /// Print the number of threads for this kind of work, and nothing else.
    #[arg(long, value_enum, value_name = "WORK", conflicts_with = "explain")]
    pub(crate) print: Option<KindOfWork>,

    /// Show the curves over numbers of threads, and why they bend.
    #[arg(long)]
    pub(crate) explain: bool,

    /// Metric of the command: wall (default), json:PATH, regex:EXPRESSION.
    #[arg(long, value_name = "METRIC", requires = "command")]
    pub(crate) metric: Option<String>,

    /// Better direction of the metric; by default less.
    #[arg(long, value_enum, value_name = "DIRECTION", requires = "command")]
    pub(crate) better: Option<Direction>,

    /// CPUs to choose from, such as 0-7; by default every usable one.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Time to measure (1s to 1h); by default as long as every team takes.
    ///
    /// With a command, the time for its runs; by default 60s.
    #[arg(long, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    /// Command to run with the proposed numbers and their neighbours, after `--`.
    ///
    /// {n} in it is the number, which is also in OMP_NUM_THREADS.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "print")]
    pub(crate) command: Vec<String>,
}

/// A kind of work.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum KindOfWork {
    /// Instructions that saturate the widest units, handed out as threads ask for them.
    Compute,
    /// The same, split into equal parts before it begins, as loops of OpenMP usually are.
    EqualParts,
    /// Data that comes from memory.
    Bandwidth,
    /// Steps of 10 us between barriers.
    Barriers,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno threads                                               the answer, and lines to paste
  OMP_NUM_THREADS=$(cpudyno threads --print equal-parts) ./a    in a script: loops of OpenMP
  cpudyno threads --explain                                     where the curves bend, and why
  cpudyno threads -- ./solver -t {n}                            which of them this program wants
  docker run --cpus 2.5 IMAGE cpudyno threads                   under a quota";
