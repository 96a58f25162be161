//! Arguments of `cpudyno sst`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use model::record::SpeedSelectQuestion;
use model::{CpuSet, Seconds};
use sst::change::{ClassWish, What, Wish};
use sst::model::Priority;

use super::common::{long_budget, whole};
use super::{BadValue, Output};

/// Show and set Intel Speed Select.
///
/// Speed Select gives the cores of some Xeon servers different clocks. The page shows what the firmware offers
/// and what is on: performance levels with their cores and base frequencies (perf-profile), cores with a
/// higher base frequency at the cost of the others (base-freq), few cores with a higher turbo limit
/// (turbo-freq), and which cores are throttled last (core-power). A picture has a sign for each core.
///
/// Changes are made in steps: each is planned (--dry-run shows it), kept in a journal and read back, and
/// `cpudyno undo` restores it. If something else must be set first, cpudyno says so before it writes.
///
/// It needs root, or the right to open /dev/isst_interface, and reads both generations of the interface. Of
/// another machine it reads recorded registers of the newer generation, and changes nothing: from a capture
/// that root took (--machine), or from debugfs below a folder (--root).
///
/// Options of all features come before the feature: `cpudyno sst -c 0 perf-profile info`. CPUs have Linux'
/// numbers of hardware threads, cores the numbers of the hardware.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, mut_arg("format", |format| format.short('f')))]
pub(crate) struct SstArgs {
    /// CPUs of the power domains to use, such as 0-3,14; by default all.
    ///
    /// For get-assoc, assoc, and turbo-freq enable -a: the CPUs themselves.
    #[arg(short, long = "cpu", alias = "cpus", value_parser = cpus, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// File to write instead of standard output, in the format of -f.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Also show each ioctl with its answer, equal ones as a count.
    #[arg(short, long)]
    pub(crate) debug: bool,

    /// Take the arguments of intel-speed-select, and print its text and JSON.
    ///
    /// As version 1.20 unless told otherwise; `--compat --help` has its help. A link of its name does the same.
    // Words with it are those of the reference tool, and `compat` takes them before these are read.
    #[arg(long, value_name = "VERSION", num_args = 0..=1, require_equals = true)]
    compat: Option<String>,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(subcommand)]
    pub(crate) feature: Option<SstFeature>,
}

/// The features; without one, all of them in brief.
#[derive(Debug, Subcommand)]
pub(crate) enum SstFeature {
    /// Show what this machine can do and what is on (default).
    ///
    /// Also the driver.
    Info(Elsewhere),
    /// Show and set performance levels (SST-PP).
    #[command(subcommand)]
    PerfProfile(PerfProfile),
    /// Show and set priorities of cores (SST-CP).
    #[command(subcommand)]
    CorePower(CorePower),
    /// Show and set base frequencies of two kinds (SST-BF).
    #[command(subcommand)]
    BaseFreq(BaseFreq),
    /// Show and set turbo frequencies (SST-TF).
    #[command(subcommand)]
    TurboFreq(TurboFreq),
    /// Allow or forbid clocks above the base frequency.
    #[command(subcommand)]
    TurboMode(TurboMode),
    /// Show which cores would gain clock, and which would lose.
    ///
    /// Nothing is changed. The numbers are the firmware's own; `cpudyno sst try` measures the effect.
    #[command(subcommand, after_long_help = PLAN)]
    Plan(Planned),
    Try(Box<TryArgs>),
}

/// The feature to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tried {
    /// Another performance level; all CPUs stay online.
    PerfProfile,
    /// Base frequencies of two kinds.
    BaseFreq,
    /// Turbo frequencies, with priority for the measured CPUs.
    TurboFreq,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TriedWorkload {
    /// Round trip of two threads that wake each other through pipes.
    Pipe,
    /// Clock of the CPUs.
    Clock,
}

/// Measure a workload without a feature and with it.
///
/// The answer is the ratio with its interval. Some CPUs are kept busy, and the workload runs on others, without
/// the feature (A) and with it (B), in random turns, with controls of A against A: the method of the user
/// guide. First, the clock of each measured CPU is compared with what the firmware promises. At the end,
/// everything is as it was.
#[derive(Debug, Args)]
#[command(after_long_help = TRY)]
pub(crate) struct TryArgs {
    /// Feature to try.
    #[arg(value_enum, value_name = "FEATURE")]
    pub(crate) feature: Tried,

    /// Performance level to try, or at which to try another feature.
    #[arg(short, long, value_parser = level, value_name = "N")]
    pub(crate) level: Option<u8>,

    /// CPUs of the workload, such as 12,13; by default two that the feature favours.
    ///
    /// With turbo-freq, high-priority are those of class 0.
    #[arg(long, value_parser = on, value_name = "LIST|high-priority")]
    pub(crate) on: Option<Chosen>,

    /// CPUs of the workload without the feature (A); by default the same as with it.
    #[arg(long, value_parser = cpus, value_name = "LIST")]
    pub(crate) on_a: Option<CpuSet>,

    /// CPUs to keep busy meanwhile: a list, none, or the rest.
    ///
    /// The rest is one CPU of each other core of the package.
    #[arg(long, value_parser = busy, default_value = "rest", value_name = "LIST|rest|none")]
    pub(crate) busy: Chosen,

    /// Workload to measure, unless a command is given.
    #[arg(long, value_enum, default_value_t = TriedWorkload::Pipe, value_name = "WORKLOAD")]
    pub(crate) workload: TriedWorkload,

    /// Time limit of the run (1s to 24h).
    #[arg(long, value_parser = long_budget, default_value = "60s", value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// Leave the feature off in A and B, to see the noise of the machine.
    #[arg(long)]
    pub(crate) control: bool,

    /// Command to measure instead, by its time, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

const TRY: &str = "\
Examples:
  sudo cpudyno sst try base-freq                            two cores of the higher base frequency
  sudo cpudyno sst try turbo-freq --on 12,13                priority for these two, all others busy
  sudo cpudyno sst try base-freq --on-a 3,4 --on 5,6        moved to cores of higher frequency
  sudo cpudyno sst try perf-profile -l 4 --workload clock   another level
  sudo cpudyno sst try turbo-freq -l 4 --on 0,1             at another level
  sudo cpudyno sst try turbo-freq --on 12,13 -- ./job       by the time of a command
  cpudyno --machine sim:guide sst try turbo-freq --on 12,13   on a simulated machine, without root";

const PLAN: &str = "\
Examples:
  sudo cpudyno sst plan base-freq
  sudo cpudyno sst -c 12,13 plan turbo-freq    these two go first
  sudo cpudyno sst plan perf-profile -l 4";

/// CPUs by a list or by a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// Those.
    Cpus(CpuSet),
    /// As the word says.
    Usual,
    /// None.
    None,
}

fn on(text: &str) -> Result<Chosen, BadValue> {
    if text == "high-priority" { Ok(Chosen::Usual) } else { cpus(text).map(Chosen::Cpus) }
}

fn busy(text: &str) -> Result<Chosen, BadValue> {
    match text {
        "rest" => Ok(Chosen::Usual),
        "none" => Ok(Chosen::None),
        list => cpus(list).map(Chosen::Cpus),
    }
}

/// What to plan.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Planned {
    /// Plan another performance level.
    PerfProfile {
        /// Level to plan.
        #[arg(short, long, value_parser = level, value_name = "N")]
        level: u8,
    },
    /// Plan base frequencies of two kinds.
    ///
    /// At one level, without base-freq and with it.
    BaseFreq {
        /// Level at which to plan; by default the present one.
        #[arg(short, long, value_parser = level, value_name = "N")]
        level: Option<u8>,
    },
    /// Plan turbo frequencies, with priority for chosen CPUs.
    ///
    /// At one level, without turbo-freq and with it. Name the CPUs before `plan`:
    /// `cpudyno sst -c 12,13 plan turbo-freq`.
    TurboFreq {
        /// Level at which to plan; by default the present one.
        #[arg(short, long, value_parser = level, value_name = "N")]
        level: Option<u8>,
    },
}

/// How a change is made.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Change {
    /// Show what would be written, step by step; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Also take CPUs offline that tasks are bound to.
    ///
    /// That cannot be undone completely.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Whether more than the feature itself is set.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Switch {
    /// Also set classes, core-power and clock limits as the feature needs them.
    #[arg(short, long)]
    pub(crate) auto: bool,

    #[command(flatten)]
    pub(crate) change: Change,
}

/// What can be asked of performance levels.
#[derive(Debug, Subcommand)]
pub(crate) enum PerfProfile {
    /// Show cores, frequencies, turbo limits and power by level.
    Info(AtLevel),
    /// Show the highest level, and which levels there are.
    GetConfigLevels(Elsewhere),
    /// Show the revision of the firmware's interface.
    GetConfigVersion(Elsewhere),
    /// Show whether levels can be chosen at run time.
    GetConfigEnabled(Elsewhere),
    /// Show the present level.
    GetConfigCurrentLevel(Elsewhere),
    /// Show whether the level is locked, and by what.
    GetLockStatus(Elsewhere),
    /// Choose another level.
    SetConfigLevel {
        /// Level to choose.
        #[arg(short, long, value_parser = level, value_name = "N")]
        level: u8,

        /// Also bring the CPUs of the level online, and take all others offline.
        #[arg(short, long)]
        online: bool,

        #[command(flatten)]
        change: Change,
    },
}

/// What can be asked of priorities.
#[derive(Debug, Subcommand)]
pub(crate) enum CorePower {
    /// Show whether cores have priorities, and of which kind.
    Info(Elsewhere),
    /// Show the frequencies and the weight of each class.
    GetConfig {
        /// Class to show (0 to 3); by default all.
        #[arg(short, long = "clos", alias = "class", value_parser = class, value_name = "N")]
        class: Option<u8>,
    },
    /// Show the class of each core.
    GetAssoc(Elsewhere),
    /// Switch priorities on.
    Enable {
        /// Type: 0 shares power by weight; 1 throttles class 3 first, class 0 last.
        #[arg(short, long, value_parser = priority, default_value = "0", value_name = "TYPE")]
        priority: u8,

        #[command(flatten)]
        change: Change,
    },
    /// Switch priorities off.
    Disable {
        /// Type to leave, 0 or 1 as for enable; it has no effect while off.
        #[arg(short, long, value_parser = priority, default_value = "0", value_name = "TYPE")]
        priority: u8,

        #[command(flatten)]
        change: Change,
    },
    /// Configure a class.
    Config {
        /// Class to configure (0 to 3).
        #[arg(short, long = "clos", alias = "class", value_parser = class, value_name = "N")]
        class: u8,

        /// Weight, where power is shared by weight (0 to 15); 0 by default.
        #[arg(short, long, value_parser = weight, value_name = "N")]
        weight: Option<u8>,

        /// Preference, from performance (0) to energy (15); 0 by default.
        #[arg(short, long, value_parser = preference, value_name = "N")]
        epp: Option<u8>,

        /// Lowest frequency in MHz; 0 by default.
        #[arg(short = 'n', long, value_parser = mhz, value_name = "MHZ")]
        min: Option<u32>,

        /// Highest frequency in MHz; no limit by default.
        #[arg(short, long, value_parser = mhz, value_name = "MHZ")]
        max: Option<u32>,

        #[command(flatten)]
        change: Change,
    },
    /// Put CPUs into a class.
    Assoc {
        /// Class of the CPUs (0 to 3).
        #[arg(short, long = "clos", alias = "class", value_parser = class, value_name = "N")]
        class: u8,

        #[command(flatten)]
        change: Change,
    },
}

/// What can be asked of base frequencies.
#[derive(Debug, Subcommand)]
pub(crate) enum BaseFreq {
    /// Show cores with a higher base frequency, and the cost.
    Info(AtLevel),
    /// Switch base-freq on at the present level.
    Enable(Switch),
    /// Switch base-freq off.
    Disable(Switch),
}

/// What can be asked of turbo frequencies.
#[derive(Debug, Subcommand)]
pub(crate) enum TurboFreq {
    /// Show turbo limits by number of chosen cores.
    Info {
        #[command(flatten)]
        at: AtLevel,

        /// Group of chosen cores to show, counted from 0; by default all.
        #[arg(short, long, value_parser = bucket, value_name = "N")]
        bucket: Option<u8>,

        /// Licence of the limits: sse, avx2, avx512, or level-0 and so on; by default all.
        #[arg(short = 'r', long = "trl-type", alias = "licence", value_name = "TYPE")]
        licence: Option<String>,
    },
    /// Switch turbo-freq on at the present level.
    Enable {
        /// Highest turbo limits then, a ratio of 100 MHz in each byte; none by default.
        #[arg(short = 't', long = "trl", value_parser = limits, value_name = "0xHEX")]
        limits: Option<u64>,

        #[command(flatten)]
        switch: Switch,
    },
    /// Switch turbo-freq off.
    Disable {
        /// Highest turbo limits then; by default those of the level.
        #[arg(short = 't', long = "trl", value_parser = limits, value_name = "0xHEX")]
        limits: Option<u64>,

        #[command(flatten)]
        switch: Switch,
    },
}

/// What can be done about clocks above the base frequency.
#[derive(Debug, Subcommand)]
pub(crate) enum TurboMode {
    /// Set the clock limits as high as they go.
    Enable(Change),
    /// Set the clock limits to the base frequency.
    Disable(Change),
    /// Set the highest turbo limits.
    SetTrl {
        /// Ratios of 100 MHz, one in each byte; the lowest is that of the fewest cores.
        #[arg(short = 't', long = "trl", value_parser = limits, value_name = "0xHEX")]
        limits: u64,

        #[command(flatten)]
        change: Change,
    },
}

/// A level.
#[derive(Debug, Args)]
pub(crate) struct AtLevel {
    /// Level to show; by default all of perf-profile, else the present one.
    #[arg(short, long, value_parser = level, value_name = "N")]
    pub(crate) level: Option<u8>,

    #[command(flatten)]
    elsewhere: Elsewhere,
}

/// What stands before the feature is not taken for something else behind it.
#[derive(Debug, Args)]
pub(crate) struct Elsewhere {
    #[arg(short = 'c', hide = true, value_parser = before, value_name = "LIST")]
    cpus: Option<u8>,
    #[arg(short = 'o', hide = true, value_parser = out_before, value_name = "FILE")]
    out: Option<u8>,
}

const EXAMPLES: &str = "\
Examples:
  sudo cpudyno sst                                   what this machine can do
  sudo cpudyno sst perf-profile info                 cores and frequencies of all levels
  sudo cpudyno sst perf-profile info -l 4            at level 4
  sudo cpudyno sst -c 0,14 core-power get-assoc      the classes of two CPUs
  sudo cpudyno sst -f json -o sst.json perf-profile info
  sudo cpudyno sst perf-profile set-config-level -l 4 -o --dry-run   what a level would change
  sudo cpudyno sst plan base-freq                    which cores would gain, and which would lose
  sudo cpudyno sst base-freq enable -a               higher base frequencies for the chosen cores
  sudo cpudyno sst -c 12,13 turbo-freq enable -a     higher turbo limits for these CPUs
  sudo cpudyno undo                                  everything as it was
  cpudyno sst --machine sim:guide base-freq info     on a simulated machine, without root
  sudo cpudyno sst --compat perf-profile info -l 0   as intel-speed-select prints it
  cpudyno sst --machine my.capture                   what a capture by root holds";

/// What changes the machine asks nothing.
const CHANGES: &str = "";

fn cpus(list: &str) -> Result<CpuSet, BadValue> {
    const HINT: &str = "a list of CPUs looks like 0-3,8";
    let parsed = list.replace("..", "-").parse();
    let cpus: CpuSet = parsed
        .map_err(|error: model::cpus::CpuListError| BadValue::new(error.to_string(), HINT))?;
    if cpus.is_empty() { Err(BadValue::new("the list names no CPU", HINT)) } else { Ok(cpus) }
}

fn level(text: &str) -> Result<u8, BadValue> {
    number(text, 255, "`cpudyno sst perf-profile get-config-levels` says which levels there are")
}

fn class(text: &str) -> Result<u8, BadValue> {
    number(text, 3, "there are four classes: -c 0")
}

fn priority(text: &str) -> Result<u8, BadValue> {
    number(text, 1, "0 is proportional, 1 is ordered: -p 1")
}

fn weight(text: &str) -> Result<u8, BadValue> {
    number(text, 15, "a weight is 0 to 15, such as -w 5")
}

fn preference(text: &str) -> Result<u8, BadValue> {
    number(text, 15, "0 is performance, 15 is energy, such as -e 2")
}

fn mhz(text: &str) -> Result<u32, BadValue> {
    whole(text, 0..=25500, "in MHz, such as -n 2000 -m 3000").map(|mhz| mhz as u32)
}

fn limits(text: &str) -> Result<u64, BadValue> {
    let bad = |what| BadValue::new(what, "eight ratios of 100 MHz, such as -t 0x1f1f1f1f1f1f1f20");
    let digits = text.strip_prefix("0x").filter(|digits| !digits.is_empty());
    let digits = digits.ok_or_else(|| bad("expected a number that begins with 0x"))?;
    u64::from_str_radix(digits, 16).map_err(|error| match error.kind() {
        std::num::IntErrorKind::PosOverflow => {
            bad("the number has more than 16 hexadecimal digits")
        }
        _ => bad("expected hexadecimal digits after 0x"),
    })
}

fn bucket(text: &str) -> Result<u8, BadValue> {
    number(text, 7, "groups of cores are counted from 0: -b 0")
}

fn number(text: &str, most: u8, hint: &'static str) -> Result<u8, BadValue> {
    whole(text, 0..=most.into(), hint).map(|number| number as u8)
}

fn before(_: &str) -> Result<u8, BadValue> {
    let hint = "cpudyno sst -c LIST FEATURE COMMAND";
    Err(BadValue::new("CPUs are named before the feature", hint))
}

fn out_before(_: &str) -> Result<u8, BadValue> {
    let hint = "cpudyno sst -o FILE FEATURE COMMAND";
    Err(BadValue::new("the file is named before the feature", hint))
}

impl SstArgs {
    /// What is to be changed, and how; none: something is asked.
    pub(crate) fn wish(&self) -> Option<(Wish, Change)> {
        let (what, change) = match self.feature.as_ref()? {
            SstFeature::PerfProfile(PerfProfile::SetConfigLevel { level, online, change }) => {
                (What::Level { level: *level, with_cpus: *online }, change)
            }
            SstFeature::CorePower(command) => match command {
                CorePower::Enable { priority, change } => {
                    (What::CorePower { on: true, priority: Priority::of(*priority == 1) }, change)
                }
                CorePower::Disable { priority, change } => {
                    (What::CorePower { on: false, priority: Priority::of(*priority == 1) }, change)
                }
                CorePower::Config { class, weight, epp, min, max, change } => {
                    let (class, weight, epp) = (*class, *weight, *epp);
                    let wish = ClassWish { class, weight, epp, min_mhz: *min, max_mhz: *max };
                    (What::Class(wish), change)
                }
                CorePower::Assoc { class, change } => (What::Association(*class), change),
                _ => return None,
            },
            SstFeature::BaseFreq(command) => match command {
                BaseFreq::Enable(Switch { auto, change }) => {
                    (What::BaseFreq { on: true, auto: *auto }, change)
                }
                BaseFreq::Disable(Switch { auto, change }) => {
                    (What::BaseFreq { on: false, auto: *auto }, change)
                }
                BaseFreq::Info(_) => return None,
            },
            SstFeature::TurboFreq(command) => match command {
                TurboFreq::Enable { limits, switch: Switch { auto, change } } => {
                    (What::TurboFreq { on: true, auto: *auto, limits: *limits }, change)
                }
                TurboFreq::Disable { limits, switch: Switch { auto, change } } => {
                    (What::TurboFreq { on: false, auto: *auto, limits: *limits }, change)
                }
                TurboFreq::Info { .. } => return None,
            },
            SstFeature::TurboMode(command) => match command {
                TurboMode::Enable(change) => (What::TurboMode(true), change),
                TurboMode::Disable(change) => (What::TurboMode(false), change),
                TurboMode::SetTrl { limits, change } => (What::TurboLimits(*limits), change),
            },
            _ => return None,
        };
        Some((Wish { what, cpus: self.cpus.clone(), lenient: false }, *change))
    }

    /// What is thought through; none: something else is done.
    pub(crate) fn planned(&self) -> Option<Wish> {
        let Some(SstFeature::Plan(planned)) = &self.feature else { return None };
        let what = match *planned {
            Planned::PerfProfile { level } => What::Level { level, with_cpus: false },
            Planned::BaseFreq { .. } => What::BaseFreq { on: true, auto: true },
            Planned::TurboFreq { .. } => What::TurboFreq { on: true, auto: true, limits: None },
        };
        Some(Wish { what, cpus: self.cpus.clone(), lenient: false })
    }

    /// What is asked.
    pub(crate) fn question(&self) -> SpeedSelectQuestion {
        let mut question =
            SpeedSelectQuestion { cpus: self.cpus.clone(), ..SpeedSelectQuestion::default() };
        let words = match &self.feature {
            None | Some(SstFeature::Info(_)) => "info",
            Some(SstFeature::PerfProfile(command)) => match command {
                PerfProfile::Info(at) => {
                    question.level = at.level;
                    "perf-profile info"
                }
                PerfProfile::GetConfigLevels(_) => "perf-profile get-config-levels",
                PerfProfile::GetConfigVersion(_) => "perf-profile get-config-version",
                PerfProfile::GetConfigEnabled(_) => "perf-profile get-config-enabled",
                PerfProfile::GetConfigCurrentLevel(_) => "perf-profile get-config-current-level",
                PerfProfile::GetLockStatus(_) => "perf-profile get-lock-status",
                PerfProfile::SetConfigLevel { .. } => CHANGES,
            },
            Some(SstFeature::CorePower(command)) => match command {
                CorePower::Info(_) => "core-power info",
                CorePower::GetConfig { class } => {
                    question.class = *class;
                    "core-power get-config"
                }
                CorePower::GetAssoc(_) => "core-power get-assoc",
                CorePower::Enable { .. }
                | CorePower::Disable { .. }
                | CorePower::Config { .. }
                | CorePower::Assoc { .. } => CHANGES,
            },
            Some(SstFeature::BaseFreq(BaseFreq::Info(at))) => {
                question.level = at.level;
                "base-freq info"
            }
            Some(SstFeature::TurboFreq(TurboFreq::Info { at, bucket, licence })) => {
                question.level = at.level;
                question.bucket = *bucket;
                question.licence.clone_from(licence);
                "turbo-freq info"
            }
            Some(SstFeature::Plan(planned)) => match planned {
                Planned::PerfProfile { level } => {
                    question.level = Some(*level);
                    "plan perf-profile"
                }
                Planned::BaseFreq { level } => {
                    question.level = *level;
                    "plan base-freq"
                }
                Planned::TurboFreq { level } => {
                    question.level = *level;
                    "plan turbo-freq"
                }
            },
            Some(SstFeature::Try(tried)) => {
                question.level = tried.level;
                match tried.feature {
                    Tried::PerfProfile => "try perf-profile",
                    Tried::BaseFreq => "try base-freq",
                    Tried::TurboFreq => "try turbo-freq",
                }
            }
            Some(SstFeature::BaseFreq(_) | SstFeature::TurboFreq(_) | SstFeature::TurboMode(_)) => {
                CHANGES
            }
        };
        words.clone_into(&mut question.command);
        question
    }
}
