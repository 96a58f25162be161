//! Arguments of `cpudyno pause`.

use clap::Args;
use kernels::Kind;
use model::name::did_you_mean;
use model::{CpuSet, Seconds};

use super::BadValue;
use super::common::{Measuring, Stream, budget, cpu_list};

/// Measure the latency of spin-wait instructions.
///
/// PAUSE (ISB on AArch64) takes 3 to 230 cycles, depending on the CPU model, and no CPU reports it. TPAUSE,
/// UMWAIT and MWAITX, or YIELD and WFE, are measured where the CPU has them, with nothing left to wait for.
/// The overhead of a repetition is subtracted. Each CPU is measured alone; the page also shows published
/// latencies of its microarchitecture.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PauseArgs {
    /// Instructions: pause, tpause, umwait, mwaitx (AArch64: yield, wfe).
    ///
    /// By default all that the CPU has.
    #[arg(long, value_delimiter = ',', value_parser = wait, value_name = "IDS")]
    pub(crate) instructions: Option<Vec<Stream>>,

    /// CPUs to measure, such as 0-3,8; by default every usable one.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Time limit (1s to 1h); 5s by default.
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
