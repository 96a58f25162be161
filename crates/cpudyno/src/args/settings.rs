//! Arguments of `cpudyno settings`, `set` and `undo`.

use clap::Args;
use levers::ask::SettingSpec;
use levers::{Error, Lever};
use model::Seconds;
use model::name::did_you_mean;

use super::common::hold;
use super::{BadValue, Output};

/// List what can be set on this machine: what it is, what it takes, who honours it.
///
/// Nothing is changed. Where a setting is there and cannot be set by this user, the page says what
/// stands in the way. -v adds what each one does and how it is shown that the machine obeys.
#[derive(Debug, Args)]
#[command(after_long_help = SETTINGS)]
pub(crate) struct SettingsArgs {
    /// Only these, such as governor, thp.
    #[arg(value_parser = name, value_name = "SETTING")]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) output: Output,
}

const SETTINGS: &str = "\
Examples:
  cpudyno settings                 all of them
  sudo cpudyno settings -v         what root could set, and what each one does
  cpudyno settings governor thp    these two";

/// Change settings of this machine, show that it obeys, and know how to put them back.
///
/// Every value that is overwritten goes to a journal on disk first; `cpudyno undo` puts it back, also
/// after a crash. What is written is read back, and what should change is measured before and after: a
/// machine that says yes and does nothing is found out. Nothing written here survives the next start of
/// the machine, but for `platform_profile`, which firmware may keep: it takes --force. Needs root for most settings; `cpudyno settings` says for which.
#[derive(Debug, Args)]
#[command(after_long_help = SET)]
pub(crate) struct SetArgs {
    /// What to set; @ names CPUs where a setting has one value for each.
    #[arg(required = true, value_parser = asked, value_name = "SETTING[@CPUS]=VALUE")]
    pub(crate) settings: Vec<Wanted>,

    /// Hold the settings for so long (1s to 24h), then put them back; also after Ctrl-C, or when
    /// the connection is lost.
    #[arg(long = "for", value_parser = hold, value_name = "TIME")]
    pub(crate) hold: Option<Seconds>,

    /// Say what would be written, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) changing: Changing,
}

/// How settings of the machine are set, by whatever command, and where that is told.
#[derive(Debug, Clone, Args)]
pub(crate) struct Changing {
    /// Do not measure whether the machine obeys.
    #[arg(long)]
    pub(crate) no_proof: bool,

    /// Also do what cannot be undone wholly: take CPUs offline that somebody is bound to, set what
    /// firmware may keep.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

const SET: &str = "\
Examples:
  sudo cpudyno set governor=performance              on all CPUs
  sudo cpudyno set max_freq@0-3=2.4GHz no_turbo=on    several at once: all, or none
  sudo cpudyno set idle.C6=off --for 10m             and put back after ten minutes
  sudo cpudyno set cpu_dma_latency=20 --for 10m      a limit that holds only meanwhile
  sudo cpudyno set thp=never --dry-run               what would be written
  sudo cpudyno undo                                  everything as it was";

/// Put back what cpudyno set: every setting to the value it had before.
///
/// The values come from the journal that `set` and `ab` keep. Where somebody else changed a setting
/// meanwhile, it is left alone and named; --force puts the former value back all the same, --keep leaves it
/// so for good.
#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// Also put back what somebody else changed meanwhile.
    #[arg(long)]
    pub(crate) force: bool,

    /// Leave what somebody else changed, or what cannot be put back, as it is, and forget its former
    /// value.
    #[arg(long, conflicts_with = "force")]
    pub(crate) keep: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// A setting with its value.
#[derive(Debug, Clone)]
pub(crate) struct Wanted(pub(crate) SettingSpec);

pub(super) fn asked(text: &str) -> Result<Wanted, BadValue> {
    text.parse().map(Wanted).map_err(|error| refused(&error, levers()))
}

/// Where all names are.
pub(super) const LIST: &str = "`cpudyno settings` lists them";

fn levers() -> impl Iterator<Item = &'static str> {
    Lever::all().map(|lever| lever.id)
}

/// The settings of the machine, and those of an arm of `ab`.
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    levers().chain(measure::run::arm::ROWS.iter().map(|row| row.id))
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
    name.starts_with("env.") || measure::run::arm::ROWS.iter().any(|row| row.id == name)
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
