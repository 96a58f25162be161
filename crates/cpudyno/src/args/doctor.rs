//! Arguments of `cpudyno doctor`.

use clap::Args;

use super::Look;

/// Say what can be measured here, what not, why, and what helps.
///
/// Three answers are kept apart: the hardware cannot, the kernel or hypervisor does not allow,
/// cpudyno does not know how.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// End with exit code 1 unless these capabilities are there, such as msr,perf.
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    pub(crate) require: Vec<String>,

    #[command(flatten)]
    pub(crate) look: Look,
}
