//! Arguments of `cpudyno fleet`.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use fleet::simulate::PlantedFault;
use model::Seconds;

use super::common::with_unit;
use super::compare::worse_by;
use super::{BadValue, Output, PlanArgs};

/// Find slow machines among many, and why they are slow.
///
/// Takes records of `cpudyno sheet --json`, one or more of each machine; the newest counts. Machines are held
/// against those of their kind (CPU, packages, cores, virtualisation), result by result. A machine is a suspect
/// where it is worse than others of its sort, with its whole 95 % interval where it has one, by more than chance: of
/// twenty fleets without a fault one shows a suspect. Of each suspect it names the facts that separate it from the
/// others. Sorts are many that are alike, such as another lot of silicon, or that say the same and are worse.
///
/// A machine's name is that of its file, up to `_` and a time.
///
/// Exit codes of --fail-on: 1 a suspect, or a sort, loses more than SHARE; 3 not all could be judged.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: Option<FleetCommand>,

    /// Records, folders of records, and packs of them.
    #[arg(value_name = "DIR|FILE", required = true, num_args = 1..)]
    pub(crate) records: Vec<PathBuf>,

    /// Show what changed since a time (2026-11-01 or 30d), or since the records of a folder.
    ///
    /// Each machine is held against its newest run before, and its change against those of its kind. Times are UTC; a
    /// folder that is called as a time is ./2026-11.
    #[arg(long, value_parser = since, value_name = "TIME|DIR")]
    pub(crate) since: Option<Since>,

    /// Leave out records that are older: 30d.
    #[arg(long, value_parser = age, value_name = "TIME")]
    pub(crate) max_age: Option<Seconds>,

    /// Machines that are expected, a name to a line; those without a record are named.
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: Option<PathBuf>,

    /// Which group a machine is in, such as its rack: lines of its name and its group.
    ///
    /// The group is a fact like others, and may separate suspects. By default it is the name without the
    /// number at its end: r07 of r07n12.
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Option<PathBuf>,

    /// Print the names of all that are no suspects and have a whole record, as a host list of Slurm.
    #[arg(long, conflicts_with = "bad")]
    pub(crate) good: bool,

    /// Print the names of suspects, as a host list of Slurm.
    #[arg(long)]
    pub(crate) bad: bool,

    /// Exit with 1 if a machine loses more than SHARE: slower:5%.
    #[arg(long, value_parser = worse_by, value_name = "slower:SHARE")]
    pub(crate) fail_on: Option<f64>,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    Pack(PackArgs),
    Plan(PlanArgs),
    Simulate(SimulateArgs),
}

/// Write records as tables for DuckDB, Polars and later surveys.
///
/// A pack is a folder of Parquet files, one of results and one of facts for each month and time of packing. What it
/// has stays as it is; a machine's run that it has already is not packed again. `cpudyno fleet PACK` finds what it
/// finds in the records, which are then no longer needed.
#[derive(Debug, Args)]
#[command(after_long_help = PACK_EXAMPLES)]
pub(crate) struct PackArgs {
    /// Records, and folders of records.
    #[arg(value_name = "DIR|FILE", required = true, num_args = 1..)]
    pub(crate) records: Vec<PathBuf>,

    /// The folder of the pack; by default `pack` in the first folder of records.
    #[arg(long, value_name = "PACK")]
    pub(crate) to: Option<PathBuf>,
}

/// Write records of a simulated fleet with faults.
///
/// Each machine is the record of --from with noise between machines; four of ten have cores that clock 2 % lower.
/// Everything says SIMULATED.
#[derive(Debug, Args)]
#[command(after_long_help = SIMULATE_EXAMPLES)]
pub(crate) struct SimulateArgs {
    /// The folder that records are written to; it is made, and must be empty.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// A record of a simulated machine: `cpudyno sheet --machine sim:2s-56c --json base.json`.
    #[arg(long, value_name = "RECORD")]
    pub(crate) from: PathBuf,

    /// How many machines (1 to 100,000).
    #[arg(long, default_value = "100", value_parser = hosts, value_name = "N")]
    pub(crate) hosts: usize,

    /// A fault, and how many machines have it: missing-dimm or missing-dimm:3. May be given several times; `all`
    /// are all of them.
    ///
    /// missing-dimm, wrong-epp, old-microcode, hot-rack, c6-off, smt-off, thp-off, clock-cap, slow-firmware.
    #[arg(long = "fault", value_parser = fault, value_delimiter = ',', value_name = "NAME[:N]")]
    pub(crate) faults: Vec<AskedFault>,

    /// Measure the same machines so many days later: `cpudyno fleet DIR --since DIR` shows what changed.
    #[arg(long, default_value = "0", value_parser = day, value_name = "N")]
    pub(crate) day: u64,

    /// What chance begins with: another number gives another fleet.
    #[arg(long, default_value = "1", value_parser = seed, value_name = "N")]
    pub(crate) seed: u64,
}

/// Where the time before begins, or who was before.
#[derive(Debug, Clone)]
pub(crate) enum Since {
    /// RFC 3339, UTC, or its beginning.
    Time(String),
    /// Records and packs.
    Records(PathBuf),
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Since::Time(time) => f.write_str(time),
            Since::Records(folder) => folder.display().fmt(f),
        }
    }
}

fn since(text: &str) -> Result<Since, BadValue> {
    /// What the beginning of a time lacks.
    const WHOLE: &str = "0000-01-01T00:00:00Z";
    let refused =
        |why: &str| BadValue::new(why, "such as --since 2026-11-01 (UTC), or --since 30d");
    let now = SystemTime::now();
    if let Some(ago) = with_unit(text) {
        let then = now.checked_sub(Duration::from_secs_f64(ago));
        let then = then.filter(|then| *then >= SystemTime::UNIX_EPOCH);
        let then = then.ok_or_else(|| refused("longer ago than times are known"))?;
        return Ok(Since::Time(humantime::format_rfc3339_seconds(then).to_string()));
    }
    let is_time = |(letter, of_form): (char, char)| match of_form {
        '0' | '1' => letter.is_ascii_digit(),
        other => letter == other,
    };
    let is_whole = [7, 10, 19, 20].contains(&text.len());
    if !is_whole || !text.chars().zip(WHOLE.chars()).all(is_time) {
        return Ok(Since::Records(PathBuf::from(text)));
    }
    let time = humantime::parse_rfc3339(&format!("{text}{}", &WHOLE[text.len()..]));
    match time {
        Err(_) => Err(refused("no such time")),
        Ok(time) if time > now => Err(refused("a time after now")),
        Ok(_) => Ok(Since::Time(text.to_owned())),
    }
}

fn age(text: &str) -> Result<Seconds, BadValue> {
    const LONGEST_DAYS: f64 = 3_653.0;
    let age = with_unit(text).filter(|age| (1.0..=LONGEST_DAYS * 86_400.0).contains(age));
    let refused = || BadValue::new("expected a time up to ten years", "such as --max-age 30d");
    age.map(Seconds).ok_or_else(refused)
}

/// One fault, or all.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AskedFault {
    All,
    One(PlantedFault),
}

fn fault(text: &str) -> Result<AskedFault, BadValue> {
    if text == "all" {
        return Ok(AskedFault::All);
    }
    let planted = text.parse::<PlantedFault>().map(AskedFault::One);
    planted.map_err(|why| BadValue::new(why, "such as --fault missing-dimm:3, or --fault all"))
}

fn seed(text: &str) -> Result<u64, BadValue> {
    let refused = || BadValue::new("not a whole number", "such as --seed 7");
    text.parse().map_err(|_| refused())
}

fn day(text: &str) -> Result<u64, BadValue> {
    let refused = || BadValue::new("not 0 to 3653 days", "such as --day 30");
    text.parse().ok().filter(|day| *day <= 3_653).ok_or_else(refused)
}

fn hosts(text: &str) -> Result<usize, BadValue> {
    let refused = || BadValue::new("not 1 to 100000 machines", "such as --hosts 1000");
    text.parse().ok().filter(|hosts| (1..=100_000).contains(hosts)).ok_or_else(refused)
}

const EXAMPLES: &str = "\
Examples:
  cpudyno fleet plan --slurm --hosts n[1-64] --to records/ | sbatch
  cpudyno fleet records/                      which are slow, and why
  cpudyno fleet records/ -v                   every machine, result and fact
  cpudyno fleet records/ --bad                for scontrol or a drain list
  cpudyno fleet records/ --expect hosts.txt   also which have no record
  cpudyno fleet records/ --since 2026-11-01   what changed since then
  cpudyno sheet --json records/               the record of one machine, by hand";

const PACK_EXAMPLES: &str = "\
Examples:
  cpudyno fleet pack records/                   into records/pack
  cpudyno fleet pack tonight/ --to fleet.pack   adds to what is there
  cpudyno fleet fleet.pack                      which are slow, and why";

const SIMULATE_EXAMPLES: &str = "\
Examples:
  cpudyno sheet --machine sim:2s-56c --json base.json
  cpudyno fleet simulate --from base.json --hosts 1000 --fault all fleet/
  cpudyno fleet fleet/";
