//! Arguments of `cpudyno top`.

use clap::Args;
use measure::areas::top::{AddedColumn, GROUPS};
use model::{CpuSet, Seconds};

use super::BadValue;
use super::common::{Output, THREADS_MAX, cpu_list, seconds, whole};

/// Watch clock, idle states, power and temperature.
///
/// Columns have turbostat's names and meanings: Avg_MHz (cycles over time), Busy% (not halted), Bzy_MHz
/// (clock while not halted), TSC_MHz, IRQ (interrupts), SMI (firmware's, on Intel), C1% and deeper (idle states requested), CPU%c6 and Pkg%pc6 (idle states
/// entered), CoreTmp and PkgTmp, PkgWatt, CorWatt and RAMWatt; Steal% in guests; by counters of each CPU IPC, Stall%
/// (cycles in which nothing was executed), L2MRPS and LLCMRPS (references of caches, millions a second), L2%hit and
/// LLC%hit. They are read from registers, perf, cpuidle, powercap and hwmon, as far as your rights allow. A column that
/// cannot be read is named at the end, with the reason and what would help. Nothing is changed, and no CPU is kept busy.
///
/// --add has a register, a file or an event as a column, as often as it is given:
///   msr/0x611,u32           a register of each CPU; u32: of 32 bits, which begins again; core, package: one of each
///   sysfs/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq
///                           a file below /sys; with cpuN, nodeN or package_NN in its path (or any number there), of each
///   perf/instructions:u     an event by any name that `cpudyno pmu list` has, of each CPU; of memory controllers and
///                           the like, of each package
/// Then, behind commas: name=X; delta (how much it grew: registers and events) or raw (what it holds: files).
///
/// On a terminal, one screen is refreshed: h shows the keys. Into a pipe, and with --once or --intervals, it prints
/// lines.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TopArgs {
    /// CPUs to watch, such as 0-13; by default all that are online.
    #[arg(short, long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Length of an interval (10ms to 24h): 2, 500ms, 1m.
    #[arg(short, long, value_parser = interval, default_value = "1s", value_name = "TIME")]
    pub(crate) interval: Seconds,

    /// Number of intervals; by default no limit.
    #[arg(short = 'n', long, value_parser = intervals, value_name = "N")]
    pub(crate) intervals: Option<usize>,

    /// End after one interval.
    #[arg(long, conflicts_with = "intervals")]
    pub(crate) once: bool,

    /// Columns, such as Busy%,Bzy_MHz; Package, Core and CPU always show.
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) show: Vec<String>,

    /// Columns that do not show, such as POLL%,C1%.
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    pub(crate) hide: Vec<String>,

    /// Add a column: msr/0x10, sysfs/PATH or perf/EVENT, each with ,name=X.
    #[arg(long, value_parser = added, value_name = "COLUMN")]
    pub(crate) add: Vec<AddedColumn>,

    /// Sort by a column, the largest first: Busy%.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sort: Option<String>,

    /// Show one row for each core, kind, node or package.
    #[arg(long, value_parser = group, value_name = "WHAT")]
    pub(crate) group: Option<String>,

    #[command(flatten)]
    pub(crate) output: Output,

    /// Command to run, as one interval; its exit code is passed on.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["intervals", "once"])]
    pub(crate) command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno top                                            a screen that is refreshed every second
  cpudyno top --once                                     one second, as lines
  cpudyno top -c 0-13 --show Busy%,Bzy_MHz -i 500ms      two columns, twice a second
  cpudyno top --sort Busy% --group core                  the busiest cores first
  cpudyno top --add perf/context-switches,name=CSW       an event as a column
  cpudyno top -- make -j8                                what the CPUs did while it ran
  cpudyno top -n 60 --json watched.json                  a minute, and a record of it";

fn added(text: &str) -> Result<AddedColumn, BadValue> {
    const HINT: &str = "such as msr/0x10,name=TSC, sysfs/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq, perf/instructions";
    text.parse().map_err(|why: String| BadValue::new(why, HINT))
}

fn group(text: &str) -> Result<String, BadValue> {
    if GROUPS.contains(&text) {
        return Ok(text.to_owned());
    }
    let expected = format!("expected one of {}", GROUPS.join(", "));
    Err(BadValue::new(expected, "leave it out for a row of each CPU"))
}

fn intervals(text: &str) -> Result<usize, BadValue> {
    let most = THREADS_MAX as u64;
    Ok(whole(text, 1..=most, "leave it out to watch until Ctrl-C")? as usize)
}

/// A bare number is seconds, as turbostat takes it.
fn interval(text: &str) -> Result<Seconds, BadValue> {
    const HINT: &str = "give it a number, in seconds or with a unit: -i 1, -i 500ms";
    match seconds(text) {
        Some(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(Seconds(seconds)),
        _ => Err(BadValue::new("expected a time from 10ms to 24h, such as 1 or 500ms", HINT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_seconds_unless_they_say_otherwise() {
        assert_eq!(interval("1"), Ok(Seconds(1.0)));
        assert_eq!(interval("0.5"), Ok(Seconds(0.5)));
        assert_eq!(interval("250ms"), Ok(Seconds(0.25)));
        for bad in ["0", "-1", "NaN", "inf", "", "2d", "1e9"] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
