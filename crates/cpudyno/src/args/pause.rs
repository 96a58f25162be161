//! Arguments of `cpudyno pause`.

use clap::Args;
use kernels::Kind;
use model::name::did_you_mean;
use model::{CpuSet, Seconds};

use super::BadValue;
use super::common::{Measuring, Stream, budget, cpu_list};

/// Measure how long the instructions of spin loops wait, on every CPU.
///
/// PAUSE (ISB on AArch64) takes from 3 to 230 cycles by CPU model, and nothing announces how long; beside
/// it stand TPAUSE, UMWAIT and MWAITX, or YIELD and WFE, where the CPU has them, with nothing left to
/// wait for. What a repetition costs by itself is removed. Each CPU is measured alone, beside what others
/// found on its microarchitecture.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PauseArgs {
    /// Measure only these instructions: pause, tpause, umwait, mwaitx; yield, wfe on AArch64.
    #[arg(long, value_delimiter = ',', value_parser = wait, value_name = "IDS")]
    pub(crate) instructions: Option<Vec<Stream>>,

    /// Use exactly these CPUs, such as 0-3,8; by default every usable one.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Measure for so long at most; by default 5s.
    #[arg(long, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno pause                          every CPU
  cpudyno pause --cpus 0,16              a P and an E core
  cpudyno pause --instructions pause     PAUSE alone";

fn wait(id: &str) -> Result<Stream, BadValue> {
    let id = id.trim();
    let waits = || kernels::streams::TABLE.iter().filter(|row| row.kind == Kind::Spin);
    let found = waits().find(|row| row.id == id || row.alias == Some(id));
    found.map(|row| Stream(row)).ok_or_else(|| {
        let ids = || waits().map(|row| row.alias.unwrap_or(row.id));
        let hint = match did_you_mean(id, ids()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("instructions: {}", ids().collect::<Vec<_>>().join(", ")),
        };
        BadValue::new("no such instruction", hint)
    })
}
