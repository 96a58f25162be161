//! Arguments of `cpudyno settings`, `set` and `undo`.

use std::path::PathBuf;

use clap::Args;
use levers::ask::SettingSpec;
use levers::{Error, Lever};
use model::Seconds;
use model::name::did_you_mean;

use super::common::hold;
use super::{BadValue, Output};

/// List the settings that can be changed.
///
/// The page shows the value of each setting, the values that it takes, and what honours it. If this user
/// cannot change a setting, it says why. -v adds what each one does and how the machine is shown to obey.
/// Nothing is changed.
#[derive(Debug, Args)]
#[command(after_long_help = SETTINGS)]
pub(crate) struct SettingsArgs {
    /// Settings to list, such as governor or thp; by default all.
    #[arg(value_parser = name, value_name = "SETTING")]
    pub(crate) names: Vec<String>,

    /// List the built-in plans, each several settings under one name.
    #[arg(long, conflicts_with_all = ["names", "save", "json", "html"])]
    pub(crate) plans: bool,

    /// Also write the listed settings as they are to this file, as a plan.
    ///
    /// `cpudyno set @FILE` brings them back.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}

const SETTINGS: &str = "\
Examples:
  cpudyno settings                 all of them
  sudo cpudyno settings -v         those of root, and what each one does
  cpudyno settings governor thp    these two
  cpudyno settings --plans         built-in plans, such as @latency
  cpudyno settings --save my.plan  all of them as they are, for `cpudyno set @my.plan`";

/// Change settings and prove that the machine obeys.
///
/// Every value that is overwritten goes to a journal on disk first; `cpudyno undo` restores it, also after a
/// crash. Each new value is read back, and its effect is measured before and after. If the machine does not
/// obey, the exit code is 1. No setting survives a restart, except `platform_profile`, which firmware may
/// keep: it needs --force. Most settings need root; `cpudyno settings` says which.
#[derive(Debug, Args)]
#[command(after_long_help = SET)]
pub(crate) struct SetArgs {
    /// Settings to change, such as governor=performance.
    ///
    /// @CPUS chooses CPUs where each has a value: max_freq@0-3=2.4GHz. @PLAN stands for several settings: those
    /// of a built-in plan (`cpudyno settings --plans`), or of a file with one a line. There # begins a comment,
    /// and a ? before a setting leaves it out on machines that do not have it.
    #[arg(required = true, value_parser = asked, value_name = "SETTING[@CPUS]=VALUE")]
    pub(crate) settings: Vec<Asked<SettingSpec>>,

    /// Hold the settings for this time (1s to 24h), then restore them.
    ///
    /// They are also restored after Ctrl-C, or when the connection is lost.
    #[arg(long = "for", value_parser = hold, value_name = "TIME")]
    pub(crate) hold: Option<Seconds>,

    /// Show what would be written; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) changing: Changing,
}

/// How settings of the machine are set, by any command, and where the page goes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Changing {
    /// Do not measure whether the machine obeys.
    #[arg(long)]
    pub(crate) no_proof: bool,

    /// Also make changes that cannot be undone completely.
    ///
    /// Such as taking CPUs offline that tasks are bound to, and settings that firmware may keep.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

const SET: &str = "\
Examples:
  sudo cpudyno set governor=performance               on all CPUs
  sudo cpudyno set max_freq@0-3=2.4GHz no_turbo=on    several at once: all, or none
  sudo cpudyno set idle.C6=off --for 10m              restored after ten minutes
  sudo cpudyno set cpu_dma_latency=20 --for 10m       a limit that holds only meanwhile
  sudo cpudyno set thp=never --dry-run                what would be written
  sudo cpudyno set @latency epb=4                     a built-in plan, but for epb
  sudo cpudyno set @my.plan                           the settings of a file
  sudo cpudyno undo                                   everything as it was";

const UNDO: &str = "\
Examples:
  sudo cpudyno undo            everything as it was
  sudo cpudyno undo --force    also what something else changed meanwhile";

/// Restore the settings that cpudyno changed.
///
/// The former values come from the journal that `set`, `ab`, `quiet` and `sst` keep. A setting that something
/// else changed meanwhile is named and left alone; --force restores it all the same, --keep leaves it for
/// good.
#[derive(Debug, Args)]
#[command(after_long_help = UNDO)]
pub(crate) struct UndoArgs {
    /// Also restore settings that something else changed meanwhile.
    #[arg(long)]
    pub(crate) force: bool,

    /// Leave settings that something else changed, or that cannot be restored.
    ///
    /// Their former values are forgotten.
    #[arg(long, conflicts_with = "force")]
    pub(crate) keep: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// A setting with its value, or a plan.
#[derive(Debug, Clone)]
pub(crate) struct Asked<T> {
    /// As it was typed.
    pub(crate) text: String,
    /// What it is; none: `@` and the name of a plan.
    pub(crate) setting: Option<T>,
}

impl<T> Asked<T> {
    /// What was typed, where a setting is read by this function.
    pub(super) fn read(
        text: &str,
        setting: fn(&str) -> Result<T, BadValue>,
    ) -> Result<Asked<T>, BadValue> {
        let is_plan = text.starts_with('@');
        if text == "@" {
            return Err(BadValue::new("the name of the plan is missing", PLANS));
        }
        let setting = (!is_plan).then(|| setting(text)).transpose()?;
        Ok(Asked { text: text.to_owned(), setting })
    }
}

/// Where all plans are that need no file.
const PLANS: &str = "`cpudyno settings --plans` lists those that are built in; @FILE names another";

pub(super) fn asked(text: &str) -> Result<Asked<SettingSpec>, BadValue> {
    Asked::read(text, setting)
}

/// A setting with its value.
pub(crate) fn setting(text: &str) -> Result<SettingSpec, BadValue> {
    text.parse().map_err(|error| refused(&error, levers()))
}

/// Where all names are.
pub(super) const LIST: &str = "`cpudyno settings` lists them";

fn levers() -> impl Iterator<Item = &'static str> {
    Lever::all().map(|lever| lever.id)
}

/// The settings of the machine, and those of an arm of `ab`.
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    levers().chain(measure::run::arm_env::ROWS.iter().map(|row| row.id))
}

/// A setting that was not understood, with the name that is most like it, where that is the trouble.
pub(super) fn refused(error: &Error, known: impl Iterator<Item = &'static str>) -> BadValue {
    let hint = match error {
        Error::Unknown { setting, .. } if is_of_an_arm(setting) => {
            "only an arm of `cpudyno ab` has it: cpudyno ab --a".to_owned()
                + &format!(" {setting}=VALUE")
        }
        Error::Unknown { setting, .. } => near(setting, known),
        _ => LIST.to_owned(),
    };
    BadValue::new(error.to_string(), hint)
}

fn is_of_an_arm(name: &str) -> bool {
    name.starts_with("env.") || measure::run::arm_env::ROWS.iter().any(|row| row.id == name)
}

fn near(typed: &str, known: impl Iterator<Item = &'static str>) -> String {
    did_you_mean(typed, known)
        .map_or_else(|| LIST.to_owned(), |near| format!("did you mean `{near}`?"))
}

fn name(typed: &str) -> Result<String, BadValue> {
    let is_known = Lever::find(typed).is_some() || all_names().any(|name| name == typed);
    if is_known {
        return Ok(typed.to_owned());
    }
    Err(BadValue::new("no such setting", near(typed, all_names())))
}
