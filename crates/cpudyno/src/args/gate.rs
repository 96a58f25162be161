//! Arguments of `cpudyno gate`.

use std::path::PathBuf;

use clap::Args;
use model::record::{Bound, BoundKind};
use model::{CpuSet, Seconds};

use super::common::{budget, cpu_list};
use super::{BadValue, Output};

/// Does this machine pass? Bounds on results, and their place among earlier records.
///
/// Measures what the bounds need, within the budget, and answers with one line and an exit code, as
/// schedulers and monitoring want it; -v prints the page. A bound is AREA.RESULT=VALUE with a unit; RESULT is a
/// workload, a quantity, or both (turbo.avx512_fma.clock). It is about the result with the most active cores
/// that was measured, or with so many as @N says, and of several the one that comes nearest to breaking it.
///
/// With --reference, each result is held against those of earlier records of such a machine (the same CPU
/// and number of cores, both real or both virtual): it fails where one is worse than they allow, by their
/// median and spread. That needs eight of them. What cannot be measured here is no pass: the code is 3.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct GateArgs {
    /// Fail where a result is below this, such as memory.triad=80GB/s; again for more.
    #[arg(long, value_parser = at_least, value_name = "NAME=VALUE")]
    pub(crate) min: Vec<Bounded>,

    /// Fail where a result is above this, such as wake.latency=50us; again for more.
    #[arg(long, value_parser = at_most, value_name = "NAME=VALUE")]
    pub(crate) max: Vec<Bounded>,

    /// Fail where a result is worse than the earlier records in this folder allow.
    #[arg(long, value_name = "DIR")]
    pub(crate) reference: Option<PathBuf>,

    /// Also write metrics to this file, for node_exporter's textfile collector; it appears when it is whole.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,

    /// Time that the run may take (1s to 1h).
    #[arg(long, default_value = "30s", value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// Measure exactly these CPUs, such as 0-3,8; by default one CPU of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    #[command(flatten)]
    pub(crate) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno gate --min memory.triad=80GB/s --min turbo.clock=2.4GHz
  cpudyno gate --budget 10s --max wake.latency=50us
  case $? in 0) admit;; 1) drain;; *) try again later;; esac     3: it cannot tell, as when busy
  cpudyno gate --min turbo.avx256_fma.clock@2=3GHz     with two active cores
  cpudyno gate --reference /var/lib/records --json /var/lib/records/today.json
  cpudyno gate --reference DIR --metrics /var/lib/node_exporter/cpudyno.prom

Exit codes: 0 pass, 1 fail, 2 wrong arguments, 3 cannot judge; as those of `cpudyno compare --fail-on`.";

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
