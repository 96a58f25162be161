//! Arguments of `cpudyno wake`.

use clap::{Args, Subcommand};
use measure::areas::wake::{CpuPair, PairSpec};
use model::name::did_you_mean;
use model::record::Relation;
use model::{CpuId, CpuSet, Seconds};
use rig::signals::{self, Method};

use super::BadValue;
use super::common::{Measuring, budget, cpu_list, whole};

/// Measure thread wake-up latency.
///
/// Without a subcommand, two threads signal each other as fast as they can, by each method and between two
/// CPUs of each kind: one CPU, SMT siblings, cores with one last-level cache, with separate caches, in two
/// packages. The page shows time per signal, signals per second, the distribution of round trips, and
/// whether the waiting thread really slept.
///
/// Threads are pinned. Nothing on the machine is changed, except by `idle --limit-latency` while it runs.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, subcommand_negates_reqs = true)]
pub(crate) struct WakeArgs {
    /// What to measure instead.
    #[command(subcommand)]
    pub(crate) question: Option<WakeQuestion>,

    /// Methods of signalling, such as futex,pipe,spin; by default all (idle: futex).
    ///
    /// `cpudyno wake --list` lists them.
    #[arg(long, global = true, value_delimiter = ',', value_parser = method, value_name = "IDS")]
    pub(crate) methods: Option<Vec<WakeMethod>>,

    /// Pairs of CPUs, such as 0:1, or kinds of pairs, such as same-cache.
    ///
    /// Kinds: same-cpu, smt-sibling, same-cache, same-package, other-cache, other-package. Of 0:1, CPU 0 begins.
    /// By default one pair of each kind (idle: the two nearest cores).
    #[arg(long, global = true, value_delimiter = ',', value_parser = pair, value_name = "PAIRS")]
    pub(crate) pairs: Option<Vec<PairSpec>>,

    /// Signals per method and pair, half of them each way; by default as time allows.
    #[arg(long, value_parser = signals, value_name = "N", conflicts_with = "budget")]
    pub(crate) signals: Option<u64>,

    /// CPUs to use, such as 0-3,8; by default all.
    #[arg(long, global = true, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Time to measure (1s to 1h); by default 8s, `idle` 10s, `timer` 6s.
    #[arg(long, global = true, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    /// List the methods; measure nothing.
    #[arg(long)]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno wake                                 every method, every kind of pair: ten seconds
  cpudyno wake --signals 100000 --methods condvar
  cpudyno wake --pairs 0:1,same-cpu            these two CPUs, and one alone
  cpudyno wake idle                            what does deep sleep add?
  sudo cpudyno wake idle --limit-latency 10    the same without states of more than 10 us
  cpudyno wake timer                           how late do timers fire?
  cpudyno wake idle --machine sim:4c           a deep-sleep cliff (SIMULATED)";

/// The questions, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum WakeQuestion {
    /// Measure wake-up latency by length of the rest.
    ///
    /// The sleeper rests for 0, 10 us, 100 us, 1 ms and 10 ms. The page shows the idle states that its CPU
    /// entered, by the kernel's count.
    Idle {
        /// Also measure without idle states that take longer to leave, in us.
        ///
        /// /dev/cpu_dma_latency is held meanwhile, which needs the right to write there.
        #[arg(long, value_parser = latency, value_name = "US")]
        limit_latency: Option<Seconds>,
    },
    /// Measure how late timers fire.
    ///
    /// The lateness is the time from an alarm until its thread runs: of clock_nanosleep and of timerfd, 10 us to
    /// 20 ms ahead at random, on each CPU.
    Timer,
}

/// A method that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct WakeMethod(pub(crate) &'static Method);

impl std::fmt::Debug for WakeMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id)
    }
}

fn method(id: &str) -> Result<WakeMethod, BadValue> {
    let id = id.trim();
    signals::find(id).map(WakeMethod).ok_or_else(|| {
        let hint = match signals::near(id) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`cpudyno wake --list` prints them".to_owned(),
        };
        BadValue::new("no such method", hint)
    })
}

fn pair(text: &str) -> Result<PairSpec, BadValue> {
    let text = text.trim();
    if let Some(kind) = Relation::named(text) {
        return Ok(PairSpec::Relation(kind));
    }
    let hint = did_you_mean(text, Relation::ALL.map(Relation::word)).map_or_else(
        || "give two CPUs, such as 0:1, or a kind, such as same-cache".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    let number = |text: &str| text.parse().ok().map(CpuId);
    let cpus =
        text.split_once(':').and_then(|(first, second)| Some((number(first)?, number(second)?)));
    match cpus {
        Some((first, second)) => Ok(PairSpec::Pair(CpuPair { first, second })),
        None => Err(BadValue::new("no such pair of CPUs", hint)),
    }
}

/// A number of signals.
fn signals(text: &str) -> Result<u64, BadValue> {
    /// Half an hour of the slowest method.
    const MOST: u64 = 100_000_000;
    whole(text, 1..=MOST, "give a whole number: --signals 100000")
}

/// A latency in microseconds.
fn latency(text: &str) -> Result<Seconds, BadValue> {
    /// More than any state takes.
    const MOST: u32 = 1_000_000;
    match text.parse::<u32>() {
        Ok(microseconds) if microseconds <= MOST => Ok(Seconds(f64::from(microseconds) * 1e-6)),
        _ => Err(BadValue::new(
            format!("expected microseconds from 0 to {MOST}"),
            "give a whole number: --limit-latency 10; 0 keeps CPUs from any sleep",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_kinds_or_two_cpus() {
        assert_eq!(pair("same-cache"), Ok(PairSpec::Relation(Relation::SameCache)));
        let two = CpuPair { first: CpuId(3), second: CpuId(0) };
        assert_eq!(pair("3:0"), Ok(PairSpec::Pair(two)));
        for bad in ["", "3", "3:", ":", "0:1:2", "-1:0", "same-cash", "0-1"] {
            assert!(pair(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(signals("100000"), Ok(100_000));
        assert_eq!(latency("0"), Ok(Seconds(0.0)));
        for bad in ["", "0", "-1", "1e5", "99999999999", "many"] {
            assert!(signals(bad).is_err(), "{bad}");
        }
        for bad in ["", "-1", "10us", "2000000"] {
            assert!(latency(bad).is_err(), "{bad}");
        }
    }
}
