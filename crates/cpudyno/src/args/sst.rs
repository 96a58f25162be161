//! Arguments of `cpudyno sst`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use model::record::SpeedSelectQuestion;
use model::{CpuSet, Seconds};
use sst::change::{ClassWish, What, Wish};
use sst::model::Priority;

use super::common::{long_budget, whole};
use super::{BadValue, Output};

/// Intel Speed Select: performance levels, base and turbo frequencies of two kinds of cores, classes.
///
/// Some Xeon servers can be told which of their cores get which clock. This shows what the firmware offers
/// and what of it is on: for each level which cores it allows and at which base frequency (perf-profile),
/// which cores can have a higher one at the cost of others (base-freq), how few cores can have a higher
/// turbo limit (turbo-freq), and who is throttled last (core-power). A picture has a sign for each core.
///
/// It changes the same, when you ask for it: each step is planned (--dry-run shows it), kept in a journal,
/// read back, and put back by `cpudyno undo`. What must come first is said before anything is written.
///
/// It takes root, or the right to open /dev/isst_interface, and reads both generations of the interface.
/// Of a machine elsewhere it reads registers of the newer one that were recorded: in a capture that root
/// took (--machine), or in debugfs below a folder (--root). There nothing is changed.
/// Options that hold for all stand before the feature: `cpudyno sst -c 0 perf-profile info`. What people
/// call a CPU here is Linux' number of a hardware thread; cores have the numbers of the hardware.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, mut_arg("format", |format| format.short('f')))]
pub(crate) struct SstArgs {
    /// Only the power domains of these CPUs, such as 0-3,14; for get-assoc only these CPUs.
    #[arg(short, long = "cpu", alias = "cpus", value_parser = cpus, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Write to this file instead of standard output, in the format that -f says.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Also show every ioctl with its answers; of those that are asked again and answered alike how many.
    #[arg(short, long)]
    pub(crate) debug: bool,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(subcommand)]
    pub(crate) feature: Option<SstFeature>,
}

/// The features; without one, all of them in brief.
#[derive(Debug, Subcommand)]
pub(crate) enum SstFeature {
    /// What this machine can do, what of it is on, and what the driver is. This is the default.
    Info(Elsewhere),
    /// Performance levels (SST-PP): fewer cores at a higher base frequency.
    #[command(subcommand)]
    PerfProfile(PerfProfile),
    /// Priorities (SST-CP): four classes of cores, and who is throttled last.
    #[command(subcommand)]
    CorePower(CorePower),
    /// Base frequencies (SST-BF): some cores get a higher one, the others a lower one.
    #[command(subcommand)]
    BaseFreq(BaseFreq),
    /// Turbo frequencies (SST-TF): few cores of your choice get a higher limit, all others are clipped.
    #[command(subcommand)]
    TurboFreq(TurboFreq),
    /// Whether CPUs may go above their base frequency, by limits of the clock.
    #[command(subcommand)]
    TurboMode(TurboMode),
    /// Who would get which clock: who gains, who loses. Nothing is changed.
    ///
    /// The numbers are the firmware's own. `cpudyno sst try` measures what comes of it.
    #[command(subcommand)]
    Plan(Planned),
    /// Find out whether a feature is worth it here: measured without it and with it, in turns.
    Try(Box<TryArgs>),
}

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tried {
    /// Another performance level, all CPUs left online.
    PerfProfile,
    /// Base frequencies of two kinds of cores.
    BaseFreq,
    /// Turbo frequencies, where the CPUs that are measured go first.
    TurboFreq,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TriedWorkload {
    /// Two threads that wake each other through pipes: the round trip.
    Pipe,
    /// The clock of the CPUs.
    Clock,
}

/// Find out whether a feature is worth it on this machine: the method of the user guide.
///
/// CPUs are kept busy, the workload runs on others, without the feature (A) and with it (B), in turns that
/// a coin decides, with controls of A against A. The answer is the ratio with its interval. Before that,
/// the clock of each measured CPU is held against what firmware promises. At the end everything is as it was.
#[derive(Debug, Args)]
#[command(after_long_help = TRY)]
pub(crate) struct TryArgs {
    /// What is tried.
    #[arg(value_enum, value_name = "FEATURE")]
    pub(crate) feature: Tried,

    /// The performance level that perf-profile tries; of other features the one at which they are tried.
    #[arg(short, long, value_parser = level, value_name = "N")]
    pub(crate) level: Option<u8>,

    /// Where the workload runs: CPUs such as 12,13; usually two that the feature is good for. Of turbo-freq,
    /// high-priority are those of class 0.
    #[arg(long, value_parser = on, value_name = "LIST|high-priority")]
    pub(crate) on: Option<Chosen>,

    /// Where it runs without the feature, as A, unless that is where it runs with it.
    #[arg(long, value_parser = cpus, value_name = "LIST")]
    pub(crate) on_a: Option<CpuSet>,

    /// Which CPUs are kept busy while an arm runs elsewhere: a list, none, or the rest, one of each other core of
    /// the package.
    #[arg(long, value_parser = busy, default_value = "rest", value_name = "LIST|rest|none")]
    pub(crate) busy: Chosen,

    /// What is measured, unless a command is given.
    #[arg(long, value_enum, default_value_t = TriedWorkload::Pipe, value_name = "WORKLOAD")]
    pub(crate) workload: TriedWorkload,

    /// The time for all of it.
    #[arg(long, value_parser = long_budget, default_value = "60s", value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// Leave it off in both arms: compare the machine with itself, to see its noise.
    #[arg(long)]
    pub(crate) control: bool,

    /// A command that is measured instead, by its time.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

const TRY: &str = "\
Examples:
  sudo cpudyno sst try base-freq                            two cores of the higher base frequency
  sudo cpudyno sst try turbo-freq --on 12,13                these two go first, all others are busy
  sudo cpudyno sst try base-freq --on-a 3,4 --on 5,6        moved to cores of the higher base frequency
  sudo cpudyno sst try perf-profile -l 4 --workload clock   another level
  sudo cpudyno sst try turbo-freq -l 4 --on 0,1             at another level
  sudo cpudyno sst try turbo-freq --on 12,13 -- ./job       by the time of a command
  cpudyno --machine sim:guide sst try turbo-freq --on 12,13   on a simulated machine, without root";

/// CPUs by a list or by a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// Those.
    Cpus(CpuSet),
    /// As the word says.
    Usual,
    /// Nobody.
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

/// What is thought through.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Planned {
    /// Another performance level.
    PerfProfile {
        /// The level.
        #[arg(short, long, value_parser = level, value_name = "N")]
        level: u8,
    },
    /// Base frequencies of two kinds of cores.
    BaseFreq {
        /// At this level, without them and with them; usually the one at present.
        #[arg(short, long, value_parser = level, value_name = "N")]
        level: Option<u8>,
    },
    /// Turbo frequencies, where the CPUs that are named before `plan` go first.
    TurboFreq {
        /// At this level, without them and with them; usually the one at present.
        #[arg(short, long, value_parser = level, value_name = "N")]
        level: Option<u8>,
    },
}

/// How a change is made.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Change {
    /// Say what would be written, step by step, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Also do what cannot be undone wholly: take CPUs offline that somebody is bound to.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Whether more than the feature itself is set.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Switch {
    /// Also set classes, core-power and limits of the clock as the feature needs them.
    #[arg(short, long)]
    pub(crate) auto: bool,

    #[command(flatten)]
    pub(crate) change: Change,
}

/// What can be asked of performance levels.
#[derive(Debug, Subcommand)]
pub(crate) enum PerfProfile {
    /// Who gets which clock at each level: cores, base frequencies, turbo limits, power.
    Info(AtLevel),
    /// The highest level, and which levels there are.
    GetConfigLevels(Elsewhere),
    /// Revision of the firmware's interface.
    GetConfigVersion(Elsewhere),
    /// Whether levels can be chosen while the machine runs.
    GetConfigEnabled(Elsewhere),
    /// The level at present.
    GetConfigCurrentLevel(Elsewhere),
    /// Whether the level is locked, and by whom.
    GetLockStatus(Elsewhere),
    /// Choose another level: fewer cores at a higher base frequency, or more at a lower one.
    ///
    /// A new level switches base-freq and turbo-freq off. Its base frequency holds where no other cores
    /// are online than those that it allows: -o takes the others offline, brings those that it allows
    /// back, and sets the limits of the uncore.
    SetConfigLevel {
        /// The level.
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
    /// Whether cores have priorities, and of which kind.
    Info(Elsewhere),
    /// The classes: their lowest and highest frequency, and their weight.
    GetConfig {
        /// Only this class, 0 to 3.
        #[arg(short, long = "clos", alias = "class", value_parser = class, value_name = "N")]
        class: Option<u8>,
    },
    /// The class of each core.
    ///
    /// CPUs of a core, or of a module of several cores, share their class. Name them before the feature:
    /// `cpudyno sst -c 10 core-power get-assoc`.
    GetAssoc(Elsewhere),
    /// Let firmware heed classes, in all power domains of a package (with interface 1 of a die).
    Enable {
        /// 0: power is shared in proportion to weights; 1: class 0 is throttled last, class 3 first.
        #[arg(short, long, value_parser = priority, default_value = "0", value_name = "TYPE")]
        priority: u8,

        #[command(flatten)]
        change: Change,
    },
    /// Let firmware forget classes; base-freq and turbo-freq must be off.
    Disable {
        /// The type that is left meanwhile, 0 or 1 as for enable; it counts for nothing until then.
        #[arg(short, long, value_parser = priority, default_value = "0", value_name = "TYPE")]
        priority: u8,

        #[command(flatten)]
        change: Change,
    },
    /// Configure a class, in all power domains of a package (with interface 1 of a die). What is not said
    /// becomes what is usual.
    Config {
        /// The class, 0 to 3.
        #[arg(short, long = "clos", alias = "class", value_parser = class, value_name = "N")]
        class: u8,

        /// Its share where priorities are proportional, 0 to 15; usually 0.
        #[arg(short, long, value_parser = weight, value_name = "N")]
        weight: Option<u8>,

        /// Between performance (0) and energy (15); usually 0.
        #[arg(short, long, value_parser = preference, value_name = "N")]
        epp: Option<u8>,

        /// The lowest frequency in MHz; usually 0.
        #[arg(short = 'n', long, value_parser = mhz, value_name = "MHZ")]
        min: Option<u32>,

        /// The highest frequency in MHz; usually there is no limit.
        #[arg(short, long, value_parser = mhz, value_name = "MHZ")]
        max: Option<u32>,

        #[command(flatten)]
        change: Change,
    },
    /// Put CPUs into a class. Those that share a core go along.
    ///
    /// Name them before the feature: `cpudyno sst -c 10 core-power assoc -c 3`.
    Assoc {
        /// The class, 0 to 3.
        #[arg(short, long = "clos", alias = "class", value_parser = class, value_name = "N")]
        class: u8,

        #[command(flatten)]
        change: Change,
    },
}

/// What can be asked of base frequencies.
#[derive(Debug, Subcommand)]
pub(crate) enum BaseFreq {
    /// Which cores can have a higher base frequency, and what the others pay for it.
    Info(AtLevel),
    /// Switch it on at the level at present; with -a, everything that it needs.
    Enable(Switch),
    /// Switch it off; with -a, core-power as well, and the lowest clocks as low as they go.
    Disable(Switch),
}

/// What can be asked of turbo frequencies.
#[derive(Debug, Subcommand)]
pub(crate) enum TurboFreq {
    /// How many cores can have which turbo limit, and at what the others are clipped.
    Info {
        #[command(flatten)]
        at: AtLevel,

        /// Only this group of chosen cores, counted from 0.
        #[arg(short, long, value_parser = bucket, value_name = "N")]
        bucket: Option<u8>,

        /// Only the limits under this licence: sse, avx2, avx512, or level-0 and so on.
        #[arg(short = 'r', long = "trl-type", alias = "licence", value_name = "TYPE")]
        licence: Option<String>,
    },
    /// Switch it on at the level at present; with -a, the CPUs that are named go first.
    ///
    /// Name them before the feature: `cpudyno sst -c 12,13 turbo-freq enable -a`.
    Enable {
        /// The turbo limits that hold at most then: a ratio of 100 MHz in each byte; usually none.
        #[arg(short = 't', long = "trl", value_parser = limits, value_name = "0xHEX")]
        limits: Option<u64>,

        #[command(flatten)]
        switch: Switch,
    },
    /// Switch it off; with -a, core-power as well.
    Disable {
        /// The turbo limits that hold at most then; usually those of the level.
        #[arg(short = 't', long = "trl", value_parser = limits, value_name = "0xHEX")]
        limits: Option<u64>,

        #[command(flatten)]
        switch: Switch,
    },
}

/// What can be done about clocks above the base frequency.
#[derive(Debug, Subcommand)]
pub(crate) enum TurboMode {
    /// Limits of the clock as high as they go.
    Enable(Change),
    /// Limits of the clock at the base frequency.
    Disable(Change),
    /// Set the turbo limits that hold at most.
    SetTrl {
        /// A ratio of 100 MHz in each byte, that of the fewest active cores lowest.
        #[arg(short = 't', long = "trl", value_parser = limits, value_name = "0xHEX")]
        limits: u64,

        #[command(flatten)]
        change: Change,
    },
}

/// A level.
#[derive(Debug, Args)]
pub(crate) struct AtLevel {
    /// This level; by default all of them for perf-profile, the one at present for the others.
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
}

const EXAMPLES: &str = "\
Examples:
  sudo cpudyno sst                                   what this machine can do
  sudo cpudyno sst perf-profile info                 who gets which clock, at all levels
  sudo cpudyno sst perf-profile info -l 4            at level 4
  sudo cpudyno sst -c 0,14 core-power get-assoc      the classes of two CPUs
  sudo cpudyno sst -f json -o sst.json perf-profile info
  sudo cpudyno sst perf-profile set-config-level -l 4 -o --dry-run   what a level would change
  sudo cpudyno sst plan base-freq                    who would gain, and who would lose
  sudo cpudyno sst base-freq enable -a               higher base frequencies for the chosen cores
  sudo cpudyno sst -c 12,13 turbo-freq enable -a     higher turbo limits for these CPUs
  sudo cpudyno undo                                  everything as it was
  cpudyno sst --machine sim:guide base-freq info     on a simulated machine, without root
  cpudyno sst --machine my.capture                   what a capture holds, which root took";

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
