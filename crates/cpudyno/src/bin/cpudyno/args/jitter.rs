//! Arguments of `cpudyno jitter`.

use clap::Args;
use model::{CpuSet, Seconds};

use super::BadValue;
use super::common::{Measuring, budget, cpu_list};

/// Measure what interrupts busy CPUs.
///
/// A thread on each CPU does nothing but read the clock. Where the clock jumps, something else had the CPU: an interrupt,
/// another thread, firmware, the hypervisor. After each gap the kernel's counters say which: /proc/interrupts and
/// /proc/softirqs of that CPU, the thread's own switches, and as root on Intel MSR 34h, which counts SMIs. What no counter
/// explains is firmware, hardware or the hypervisor. Nothing but reading needs root.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct JitterArgs {
    /// How long to watch (1s to 10min).
    #[arg(long = "for", value_parser = time, default_value = "10s", value_name = "TIME")]
    pub(crate) time: Seconds,

    /// CPUs to watch, all at once, such as 2-7; by default every usable one.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Shortest gap that counts, in microseconds (0.2 to 10000).
    #[arg(long, value_parser = microseconds, default_value = "1", value_name = "US")]
    pub(crate) shortest: Seconds,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno jitter                      every CPU, 10 s
  cpudyno jitter --cpus 2-7 --for 60s isolated CPUs, a minute
  sudo cpudyno jitter                 SMIs apart from what nothing explains
  cpudyno jitter --json today.json    for `cpudyno compare` with another day";

fn time(text: &str) -> Result<Seconds, BadValue> {
    const MOST: Seconds = Seconds(600.0);
    let time = budget(text)?;
    if time > MOST {
        return Err(BadValue::new("expected a time from 1s to 10min", "run it again: --for 10min"));
    }
    Ok(time)
}

fn microseconds(text: &str) -> Result<Seconds, BadValue> {
    let number = text.parse::<f64>().ok().filter(|it| (0.2..=1e4).contains(it));
    number.map(|it| Seconds(it * 1e-6)).ok_or_else(|| {
        BadValue::new("expected a number from 0.2 to 10000", "in microseconds: --shortest 5")
    })
}
