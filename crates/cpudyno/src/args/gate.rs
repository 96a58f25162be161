//! Arguments of `cpudyno gate`.

use std::path::PathBuf;

use clap::Args;
use model::record::{Bound, BoundKind};
use model::{CpuSet, Seconds};

use super::common::{budget, cpu_list};
use super::{BadValue, Output, StartArgs};

/// Check results against bounds and earlier records.
///
/// The answer is one line and an exit code, for schedulers and monitoring; -v prints the page. Within the
/// budget, it measures what the bounds need; with --reference or --metrics, all areas.
///
/// A bound is AREA.RESULT=VALUE with a unit. RESULT is a workload, a quantity, or both
/// (turbo.avx512_fma.clock). The bound holds for the result with the most active cores, or with N as @N says;
/// of several results, the one nearest to the bound decides.
///
/// --reference compares each result with earlier records of such a machine (same CPU and number of cores, both
/// real or both virtual). A result fails if it is worse than their median and spread allow. It takes eight
/// records. A result that cannot be measured is no pass: the exit code is 3.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct GateArgs {
    /// Lower bound, such as memory.triad=80GB/s; repeat it for more.
    #[arg(long, value_parser = at_least, value_name = "NAME=VALUE")]
    pub(crate) min: Vec<Bounded>,

    /// Upper bound, such as wake.latency=50us; repeat it for more.
    #[arg(long, value_parser = at_most, value_name = "NAME=VALUE")]
    pub(crate) max: Vec<Bounded>,

    /// Folder of earlier records; fail if a result is worse than they allow.
    #[arg(long, value_name = "DIR")]
    pub(crate) reference: Option<PathBuf>,

    /// Also write metrics to this file, for node_exporter's textfile collector.
    ///
    /// The file appears when it is complete.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,

    /// Time limit of the run (1s to 1h).
    #[arg(long, default_value = "30s", value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// CPUs to measure, such as 0-3,8; by default one of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    #[command(flatten)]
    pub(crate) start: StartArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno gate --min memory.triad=80GB/s --min turbo.clock=2.4GHz
  cpudyno gate --budget 10s --max wake.latency=50us
  case $? in 0) admit;; 1) drain;; *) try again later;; esac     3: cannot judge, such as when busy
  cpudyno gate --min turbo.avx256_fma.clock@2=3GHz     with two active cores
  cpudyno gate --reference /var/lib/records --json /var/lib/records/today.json
  cpudyno gate --reference DIR --metrics /var/lib/node_exporter/cpudyno.prom

Exit codes: 0 pass, 1 fail, 2 wrong arguments, 3 cannot judge.";

/// A bound.
#[derive(Debug, Clone)]
pub(crate) struct Bounded(pub(crate) Bound);

fn at_least(text: &str) -> Result<Bounded, BadValue> {
    bound(text, BoundKind::Min)
}

fn at_most(text: &str) -> Result<Bounded, BadValue> {
    bound(text, BoundKind::Max)
}

fn bound(text: &str, kind: BoundKind) -> Result<Bounded, BadValue> {
    measure::gate::read(text, kind)
        .map(Bounded)
        .map_err(|error| BadValue::new(error.why, error.hint))
}
