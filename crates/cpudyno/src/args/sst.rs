//! Arguments of `cpudyno sst`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use model::CpuSet;
use model::record::SpeedSelectQuestion;

use super::common::whole;
use super::{BadValue, Json, Look};

/// Read Intel Speed Select: performance levels, base and turbo frequencies of two kinds of cores, classes.
///
/// Some Xeon servers can be told which of their cores get which clock. This shows what the firmware offers
/// and what of it is on: for each level which cores it allows and at which base frequency (perf-profile),
/// which cores can have a higher one at the cost of others (base-freq), how few cores can have a higher
/// turbo limit (turbo-freq), and who is throttled last (core-power). A picture has a sign for each core.
/// Nothing is changed.
///
/// It takes root, or the right to open /dev/isst_interface, and reads both generations of the interface.
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

    /// Also show every ioctl with its answers.
    #[arg(short, long)]
    pub(crate) debug: bool,

    #[command(flatten)]
    pub(crate) json: Json,

    #[command(flatten)]
    pub(crate) look: Look,

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
}

/// What can be asked of base frequencies.
#[derive(Debug, Subcommand)]
pub(crate) enum BaseFreq {
    /// Which cores can have a higher base frequency, and what the others pay for it.
    Info(AtLevel),
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
  cpudyno sst --machine sim:guide base-freq info     on a simulated machine, without root";

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
            },
            Some(SstFeature::CorePower(command)) => match command {
                CorePower::Info(_) => "core-power info",
                CorePower::GetConfig { class } => {
                    question.class = *class;
                    "core-power get-config"
                }
                CorePower::GetAssoc(_) => "core-power get-assoc",
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
        };
        words.clone_into(&mut question.command);
        question
    }
}
