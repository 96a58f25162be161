//! Arguments of `cpudyno ab`.

use clap::{Args, ValueEnum};
use levers::ask::SettingSpec;
use measure::areas::subjects;
use measure::run::arm_env;
use measure::run::single::Subject;
use model::Seconds;
use model::name::did_you_mean;

use super::BadValue;
use super::common::long_budget;
use super::settings::{self, Asked, Changing, LIST};

/// Compare two settings by a command or a measurement.
///
/// The page says which of A and B is better, by how much, how sure that is, and what each setting was seen to
/// do. A and B take turns in random order, A B B A or B A A B, so that drift cancels. In between, A is
/// compared with itself, which shows the noise of this machine. The run ends when it is decided at a moment
/// that was planned before, or when the time is over; the page says which. Settings of the machine are
/// restored, also after Ctrl-C; see `cpudyno set`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct AbArgs {
    /// Setting of A, or @PLAN; repeat it for more. Without it, A is the machine as it is.
    ///
    /// A plan is several settings under one name, as for `cpudyno set`.
    #[arg(long = "a", value_parser = arm, value_name = "SETTING=VALUE")]
    pub(crate) a: Vec<Asked<ArmSetting>>,

    /// Setting of B, or @PLAN; repeat it for more. Without it, B is the machine as it is.
    #[arg(long = "b", value_parser = arm, value_name = "SETTING=VALUE")]
    pub(crate) b: Vec<Asked<ArmSetting>>,

    /// Area to measure, such as turbo, memory, wake, openmp.
    ///
    /// Areas: turbo, memory, memory-latency, memory-cache, memory-stride, cores, pause, wake, openmp.
    #[arg(long, value_parser = area, value_name = "AREA", conflicts_with = "command")]
    pub(crate) area: Option<Area>,

    /// Metric: wall (default), json:PATH, regex:EXPRESSION; a quantity of AREA.
    ///
    /// Of a command: its wall time, a value of the JSON that it prints, or the number that is the first group of
    /// the expression in what it prints. Of an area: one of its quantities.
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,

    /// Better direction; by default that of the area, less for a command.
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) better: Option<Direction>,

    /// Largest difference that counts as the same, in per cent (0.01 to 50).
    #[arg(long, default_value = "1", value_parser = percent, value_name = "PERCENT")]
    pub(crate) band: f64,

    /// Time limit of the run (1s to 24h).
    #[arg(long, default_value = "60s", value_parser = long_budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// Take no key of the machine before and after: each takes 2 s of one core, beyond --budget.
    #[arg(long)]
    pub(crate) no_key: bool,

    #[command(flatten)]
    pub(crate) changing: Changing,

    /// Command to measure, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno ab --a env.KMP_BLOCKTIME=0 --b env.KMP_BLOCKTIME=1 --area openmp
  cpudyno ab --a pages=4k --b pages=thp --area memory-latency
  cpudyno ab --a cpus=0 --b cpus=1 -- gzip -k -c file        wall time of a command
  cpudyno ab --a env.LANG=C --b env.LANG=en_US.UTF-8 -- sort words
  cpudyno ab --b nice=10 --metric 'regex:([0-9.]+) ops/s' --better more -- ./bench
  sudo cpudyno ab --a thp=never --b thp=always --area memory  settings of the machine
  sudo cpudyno ab --a @efficient --b @throughput --area memory  plans: cpudyno settings --plans
  cpudyno ab --area turbo                                     A and B equal: noise of this machine

Exit codes: 0 decided, 3 cannot tell.";

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    /// Times and costs.
    Less,
    /// Rates.
    More,
}

/// A setting of an arm: of the machine, or of how the arm runs.
#[derive(Debug, Clone)]
pub(crate) enum ArmSetting {
    /// Of the machine.
    Lever(Box<SettingSpec>),
    /// Of the arm alone: name and value.
    ArmEnv(String, String),
}

/// An area that can be compared.
#[derive(Clone, Copy)]
pub(crate) struct Area(pub(crate) &'static Subject);

impl std::fmt::Debug for Area {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id)
    }
}

pub(super) fn area(name: &str) -> Result<Area, BadValue> {
    subjects::find(name).map(Area).ok_or_else(|| {
        let known: Vec<String> =
            subjects::SUBJECTS.iter().map(|s| s.id.replace(' ', "-")).collect();
        let hint = match did_you_mean(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("areas: {}", known.join(", ")),
        };
        BadValue::new("nothing of that name can be compared", hint)
    })
}

fn arm(text: &str) -> Result<Asked<ArmSetting>, BadValue> {
    Asked::read(text, arm_setting)
}

/// A setting of an arm with its value.
pub(crate) fn arm_setting(text: &str) -> Result<ArmSetting, BadValue> {
    if let Some((name, value)) = text.split_once('=')
        && let Some(taken) = arm_env::ArmEnv::default().take(name.trim(), value)
    {
        taken.map_err(|why| BadValue::new(why, LIST))?;
        return Ok(ArmSetting::ArmEnv(name.trim().to_owned(), value.to_owned()));
    }
    let asked = text.parse().map_err(|error| settings::refused(&error, settings::all_names()))?;
    Ok(ArmSetting::Lever(Box::new(asked)))
}

pub(super) fn percent(text: &str) -> Result<f64, BadValue> {
    let number = text.trim_end_matches('%').trim().parse::<f64>();
    match number {
        Ok(percent) if (0.01..=50.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(BadValue::new("expected per cent from 0.01 to 50", "such as --band 2")),
    }
}
