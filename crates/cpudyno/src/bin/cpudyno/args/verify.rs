//! Arguments of `cpudyno verify`.

use clap::Args;
use model::{CpuSet, Seconds};

use super::BadValue;
use super::common::{Output, cpu_list, long_budget};
use super::start::StartArgs;

/// Check whether every core computes right.
///
/// Every stream that computes and every memory kernel runs on every CPU, alone and all together, under full load and as
/// hot as that makes them, on operands that are random, all ones, all zeros, walking bits and toggling bits. Each answer is
/// compared with a reference that two other CPUs computed one op at a time; where another instruction computes the same,
/// that confirms it. Data that was moved is compared number by number.
///
/// A wrong answer is tried again, on the same CPU and on others, and is kept with its operands, bits, clock and
/// temperature. Nothing is averaged. Where nothing is wrong, the page says in how many ops, and what was not compared.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// Time limit of the run (1s to 24h).
    #[arg(long, default_value = "60s", value_parser = long_budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// The same in minutes, such as 20.
    #[arg(long, value_parser = minutes, value_name = "MINUTES", conflicts_with = "budget")]
    pub(crate) minutes: Option<Seconds>,

    /// CPUs to check, such as 0-3,8; by default all, with SMT siblings.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Streams and memory kernels to check, such as avx256_fma_t,triad; by default all.
    #[arg(long, value_parser = workload, value_delimiter = ',', value_name = "IDS")]
    pub(crate) streams: Vec<&'static str>,

    #[command(flatten)]
    pub(crate) start: StartArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

fn minutes(text: &str) -> Result<Seconds, BadValue> {
    let wrong = || BadValue::new("expected minutes from 0.1 to 1440", "such as --minutes 20");
    let minutes: f64 = text.trim().parse().map_err(|_| wrong())?;
    if (0.1..=1440.0).contains(&minutes) { Ok(Seconds(minutes * 60.0)) } else { Err(wrong()) }
}

fn workload(text: &str) -> Result<&'static str, BadValue> {
    measure::verify::named(text)
        .map_err(|reason| BadValue::new(reason.why, reason.remedy.unwrap_or_default()))
}

const EXAMPLES: &str = "\
Examples:
  cpudyno verify                                     a minute
  cpudyno verify --minutes 20 --json verify.json     what is sure takes its time
  cpudyno verify --cpus 3 --streams avx512_fma_t --minutes 10    how often it is wrong
  cpudyno gate --verify 30s                          for schedulers: FAIL where an answer is wrong
  cpudyno verify --machine sim:faulty                what that looks like

Exit codes: 0 no answer was wrong, 1 one was, 3 nothing could be compared.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_numbers_and_workloads_have_names() {
        assert_eq!(minutes("20"), Ok(Seconds(1200.0)));
        assert_eq!(minutes("0.5"), Ok(Seconds(30.0)));
        for bad in ["", "0", "-1", "NaN", "1e9", "20m"] {
            assert!(minutes(bad).is_err(), "{bad}");
        }
        assert_eq!(workload("triad"), Ok("triad"));
        let near = workload("triat").unwrap_err();
        assert_eq!(near.hint, "did you mean `triad`?");
        assert!(workload("pause_only").is_err(), "it computes nothing");
    }
}
