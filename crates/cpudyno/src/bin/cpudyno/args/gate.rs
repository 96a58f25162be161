//! Arguments of `cpudyno gate`.

use std::path::PathBuf;

use clap::Args;
use fleet::gate::callers::{self, CALLERS, Caller};
use model::name::did_you_mean;
use model::record::{Bound, BoundKind};
use model::{CpuSet, Seconds};

use super::common::{budget, cpu_list, long_budget};
use super::{BadValue, Output, StartArgs};

/// Check whether this machine passes.
///
/// The answer is one line and an exit code, for schedulers and monitoring; -v prints the page.
///
/// Alone, it judges by what is known anyway: what theory and published figures expect of this CPU, what the
/// machine claims of itself, its settings, and errors of its memory. With bounds or earlier records, it judges
/// by those instead. What could not be judged is counted, and told by -v.
///
/// --for speaks the language of a caller: exit codes, a time in which it ends, and a line of at most 80
/// characters. A machine that others use is not measured then, and cannot be judged. A failure that other work may have
/// caused is none.
///
/// A bound is AREA.RESULT=VALUE with a unit. RESULT is a workload, a quantity, or both
/// (turbo.avx512_fma.clock). The bound holds for the result with the most active cores, or with N as @N says;
/// of several results, the one nearest to the bound decides. A bound that was typed has to be judged; one of a
/// file fails the machine, or is named if it was not measured.
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

    /// File of bounds, as --learn prints it; other machines are not judged by them.
    #[arg(long, value_name = "FILE", conflicts_with = "reference")]
    pub(crate) bounds: Option<PathBuf>,

    /// Print bounds learned from the records of this folder; measure nothing.
    ///
    /// Records are those of good machines of one kind: eight or more, also of one machine. What is printed is a
    /// file for --bounds, to be read and edited.
    #[arg(long, value_name = "DIR", exclusive = true)]
    pub(crate) learn: Option<PathBuf>,

    /// Speak the language of a caller: slurm-prolog, slurm-epilog, slurm-health, nhc, npd, nagios, verdict.
    ///
    /// verdict prints one JSON object, for programs.
    #[arg(long = "for", value_parser = caller, value_name = "CALLER")]
    pub(crate) caller: Option<&'static Caller>,

    /// Drain the node of Slurm where it fails, unless others did; --for slurm-health.
    ///
    /// Only a node that is neither drained nor down, or was drained by cpudyno. Reasons begin with `cpudyno:`.
    #[arg(long, requires = "caller")]
    pub(crate) drain: bool,

    /// Resume the node of Slurm where it passes and cpudyno drained it; --for slurm-health.
    #[arg(long, requires = "caller")]
    pub(crate) undrain: bool,

    /// Also write metrics to this file, for node_exporter's textfile collector.
    ///
    /// The file appears when it is complete.
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,

    /// Also write labels to this file, for node-feature-discovery's local source.
    ///
    /// The file appears when it is complete. Labels end eight days after the run.
    #[arg(long, value_name = "FILE")]
    pub(crate) features: Option<PathBuf>,

    /// Time limit of the run (1s to 1h); by default 30s, or what a caller allows.
    #[arg(long, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    /// CPUs to measure, such as 0-3,8; by default one of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Also compare answers of every CPU for so long (1s to 24h); fail if one is wrong. See `cpudyno verify`.
    #[arg(long, value_parser = long_budget, value_name = "TIME", conflicts_with = "caller")]
    pub(crate) verify: Option<Seconds>,

    #[command(flatten)]
    pub(crate) start: StartArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno gate                                         by what is known anyway
  cpudyno gate --learn /srv/good > bounds.toml; cpudyno gate --bounds bounds.toml
  cpudyno gate --for slurm-prolog --bounds /etc/cpudyno/bounds.toml
  cpudyno gate --for slurm-health --drain --undrain
  cpudyno gate --min memory.triad=80GB/s --min turbo.clock=2.4GHz
  cpudyno gate --budget 10s --max wake.latency=50us
  case $? in 0) admit;; 1) drain;; *) try again later;; esac     3: cannot judge, such as when busy
  cpudyno gate --min turbo.avx256_fma.clock@2=3GHz     with two active cores
  cpudyno gate --reference /var/lib/records --json /var/lib/records/today.json
  cpudyno gate --verify 30s                            and every CPU computes right
  cpudyno gate --reference DIR --metrics /var/lib/node_exporter/cpudyno.prom

Exit codes: 0 pass, 1 fail, 2 wrong arguments, 3 cannot judge.";

/// A bound.
#[derive(Debug, Clone)]
pub(crate) struct Bounded(pub(crate) Bound);

fn caller(word: &str) -> Result<&'static Caller, BadValue> {
    callers::find(word).ok_or_else(|| {
        let words = || CALLERS.iter().map(|caller| caller.word);
        let hint = did_you_mean(word, words()).map_or_else(
            || format!("callers: {}", words().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        BadValue::new("no such caller", hint)
    })
}

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
