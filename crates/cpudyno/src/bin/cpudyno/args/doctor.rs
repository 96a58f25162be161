//! Arguments of `cpudyno doctor`.

use clap::Args;
use model::name::did_you_mean;

use super::{BadValue, PresentationArgs};

/// Show what can be measured here, and what would help.
///
/// Start here when a number is missing from `sheet` or `info`. A capability is missing for one of three
/// reasons: the hardware cannot, the kernel or hypervisor does not allow it, or cpudyno does not know how.
/// Everything is tried, and nothing is changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Exit with 1 unless these capabilities are there, such as msr,perf.
    ///
    /// The page has the id of every capability.
    #[arg(long, value_parser = capability, value_delimiter = ',', value_name = "IDS")]
    pub(crate) require: Vec<&'static str>,

    #[command(flatten)]
    pub(crate) look: PresentationArgs,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno doctor                         this user, here
  sudo cpudyno doctor                    what root could do
  cpudyno doctor --require pmu,rdpmc     for scripts: exit code 1 without them
  cpudyno doctor --machine my.capture    another machine, from its capture";

fn capability(typed: &str) -> Result<&'static str, BadValue> {
    machine::doctor::ids().find(|id| *id == typed).ok_or_else(|| {
        let known: Vec<&str> = machine::doctor::ids().collect();
        let list = format!("capabilities: {}", known.join(", "));
        let hint = match did_you_mean(typed, known) {
            Some(near) => format!("did you mean `{near}`? {list}"),
            None => list,
        };
        let why = if typed.is_empty() { "an id is missing" } else { "no such capability" };
        BadValue::new(why, hint)
    })
}
