//! Arguments of `cpudyno sweep`.

use clap::{Args, ValueEnum};
use model::Seconds;
use model::record::SweptValue;

use super::ab::{Area, area, arm_setting, percent};
use super::common::long_budget;
use super::settings::Changing;
use super::{ArmSetting, BadValue, Direction};

/// Find the best value of a setting.
///
/// By a command, or by a measurement of cpudyno's own. Every value takes its turn, twice in each block: in random order, and then in that order backwards, so that drift
/// cancels. The page says which value is best, which others are as good, and the knee: the first value that loses no
/// more than the band. With --per it ranks by energy. Settings of the machine are restored, also after Ctrl-C; see
/// `cpudyno set`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// Setting and its values, such as threads=1..8 or governor=powersave,performance.
    ///
    /// A range is FROM..TO:STEP, with a factor FROM..TO:xFACTOR; without a step it has up to 9 values. Values that have
    /// commas of their own are divided by semicolons: 'cpus=0;0-1;0-3'. `cpudyno settings` lists the settings.
    #[arg(value_parser = swept, value_name = "SETTING=VALUES")]
    pub(crate) swept: Swept,

    /// Setting that every value is measured with, such as cpus=0-3; repeat it for more.
    #[arg(long, value_parser = arm_setting, value_name = "SETTING=VALUE")]
    pub(crate) with: Vec<ArmSetting>,

    /// Area to measure, such as turbo, memory, wake, openmp.
    ///
    /// Areas: turbo, memory, memory-latency, memory-cache, memory-stride, cores, pause, wake, openmp.
    #[arg(long, value_parser = area, value_name = "AREA", conflicts_with = "command")]
    pub(crate) area: Option<Area>,

    /// Metric: wall (default), json:PATH, regex:EXPRESSION; a quantity of AREA.
    #[arg(long, value_name = "METRIC")]
    pub(crate) metric: Option<String>,

    /// Better direction; by default that of the area, less for a command.
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) better: Option<Direction>,

    /// Rank by energy: watt, the least energy; joule, the least energy times time.
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) per: Option<PerUnit>,

    /// Largest loss against the best that counts as as good, in per cent (0.01 to 50).
    #[arg(long, default_value = "2", value_parser = percent, value_name = "PERCENT")]
    pub(crate) band: f64,

    /// Time limit of the run (1s to 24h).
    #[arg(long, default_value = "60s", value_parser = long_budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// Take no key of the machine before and after: each takes 2 s of one core.
    #[arg(long)]
    pub(crate) no_key: bool,

    #[command(flatten)]
    pub(crate) changing: Changing,

    /// Command to measure, after `--`; {n} in it is the number of `threads`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno sweep threads=1..8 -- ./solver -t {n}        how many threads a program wants
  cpudyno sweep env.KMP_BLOCKTIME=0,1,20,200 --area openmp
  cpudyno sweep 'cpus=0;0-1;0-3' -- make -j4           sets of CPUs
  sudo cpudyno sweep max_freq=1.2GHz..3.6GHz:400MHz --per watt -- ./solver
  sudo cpudyno sweep epp=performance,balance_performance,power --area turbo
  cpudyno sweep threads=1..64:x2 --better more --metric 'regex:([0-9.]+) it/s' -- ./bench

Exit codes: 0 the best value or its equals are known, 3 cannot tell.";

/// What measurements are related to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PerUnit {
    /// Performance per watt: who is best takes the least energy for its work.
    Watt,
    /// Performance per joule: who is best has the least product of energy and time.
    Joule,
}

/// A setting with the values that it is swept over.
#[derive(Debug, Clone)]
pub(crate) struct Swept {
    /// The setting, as it was typed.
    pub(crate) setting: String,
    /// Its values, the least number first.
    pub(crate) values: Vec<(SweptValue, ArmSetting)>,
}

/// Where nobody gives a step, there are no more steps than these.
const STEPS: f64 = 8.0;

/// More values than this no budget has blocks for.
const VALUES_MAX: usize = 64;

fn swept(text: &str) -> Result<Swept, BadValue> {
    let wrong = |why: String| BadValue::new(why, "such as threads=1..8, or thp=never,always");
    let (setting, values) = text
        .split_once('=')
        .ok_or_else(|| wrong("a sweep looks like SETTING=VALUES".to_owned()))?;
    let setting = setting.trim();
    // `../a` is a path.
    let ends = values.split_once("..").filter(|(from, _)| quantity(from).is_some());
    let mut values = if let Some((from, rest)) = ends {
        range(from, rest).map_err(wrong)?
    } else {
        let divider = if values.contains(';') { ';' } else { ',' };
        values.split(divider).map(|value| value.trim().to_owned()).collect()
    };
    let mut seen: Vec<String> = Vec::new();
    values.retain(|value| {
        !seen.contains(value) && {
            seen.push(value.clone());
            true
        }
    });
    if !(2..=VALUES_MAX).contains(&values.len()) {
        let count = values.len();
        return Err(wrong(format!("{count} values; a sweep has 2 to {VALUES_MAX}")));
    }
    let arm = |value: String| {
        let known = arm_setting(&format!("{setting}={value}"))?;
        let number = quantity(&value).map(|(number, _)| number);
        Ok((SweptValue { text: value, number }, known))
    };
    let mut values = values.into_iter().map(arm).collect::<Result<Vec<_>, BadValue>>()?;
    let units: Vec<Option<&str>> =
        values.iter().map(|(value, _)| quantity(&value.text).map(|(_, unit)| unit)).collect();
    if units.iter().all(|unit| unit.is_some() && *unit == units[0]) {
        values
            .sort_by(|(a, _), (b, _)| a.number.unwrap_or(0.0).total_cmp(&b.number.unwrap_or(0.0)));
    } else {
        // What is not a number, or of two units, is in the order in which it was typed.
        for (value, _) in &mut values {
            value.number = None;
        }
    }
    Ok(Swept { setting: setting.to_owned(), values })
}

/// A number and what stands behind it.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    // `0-3` is a list.
    let number: f64 = number.parse().ok()?;
    Some((number, unit)).filter(|(_, unit)| unit.chars().all(|c| c.is_ascii_alphabetic()))
}

/// `1..8`, `1..8:2`, `1..64:x2`, `1.2GHz..3.6GHz:200MHz` is refused: a step has the unit of its ends.
fn range(from: &str, rest: &str) -> Result<Vec<String>, String> {
    let (to, step) = match rest.split_once(':') {
        Some((to, step)) => (to, Some(step.trim())),
        None => (rest, None),
    };
    let none = |text: &str| format!("`{text}` is no number, and a range needs two");
    let (first, own) = quantity(from).ok_or_else(|| none(from))?;
    let (last, unit) = quantity(to).ok_or_else(|| none(to))?;
    let unit = if unit.is_empty() { own } else { unit };
    if !(own.is_empty() || own == unit) {
        return Err(format!("`{}` and `{}` have two units", from.trim(), to.trim()));
    }
    if first >= last {
        return Err(format!("{from}..{to} does not ascend"));
    }
    let is_whole = first.fract() == 0.0 && last.fract() == 0.0;
    let next: Box<dyn Fn(f64) -> f64> = match step {
        Some(step) if step.starts_with('x') => {
            let factor: f64 = step[1..].parse().unwrap_or(0.0);
            if factor.is_nan() || factor <= 1.0 {
                return Err(format!("the factor `{step}` is not above x1"));
            }
            Box::new(move |value| value * factor)
        }
        Some(step) => {
            let (more, own) = quantity(step)
                .filter(|(more, _)| *more > 0.0)
                .ok_or_else(|| format!("the step `{step}` is no number above 0"))?;
            let more = more * scale(own, unit)?;
            Box::new(move |value| value + more)
        }
        None if is_whole => {
            let more = ((last - first) / STEPS).ceil();
            Box::new(move |value| value + more)
        }
        None => {
            let more = (last - first) / STEPS;
            Box::new(move |value| value + more)
        }
    };
    // A millionth of a step more than the end is the end.
    let end = last + (next(first) - first) * 1e-6;
    let mut values: Vec<f64> = std::iter::successors(Some(first), |value| Some(next(*value)))
        .take_while(|value| *value <= end)
        .take(VALUES_MAX + 1)
        .collect();
    if is_whole && step.is_none_or(|step| step.starts_with('x')) {
        for value in &mut values {
            *value = value.round();
        }
    }
    // The end is asked for by name, whatever the step.
    if values.len() <= VALUES_MAX && values.last().is_some_and(|value| *value < last - (end - last))
    {
        values.push(last);
    }
    Ok(values.into_iter().map(|value| format!("{}{unit}", written(value))).collect())
}

/// What a step in one unit is in another one.
fn scale(own: &str, unit: &str) -> Result<f64, String> {
    let factor = |unit: &str| match unit.to_ascii_lowercase().as_str() {
        "ghz" => Some(1e9),
        "mhz" => Some(1e6),
        "khz" => Some(1e3),
        "hz" | "w" | "us" => Some(1.0),
        _ => None,
    };
    match (factor(own), factor(unit)) {
        _ if own.is_empty() || own == unit => Ok(1.0),
        (Some(step), Some(ends)) => Ok(step / ends),
        _ => Err(format!("the step is in `{own}`, and the range in `{unit}`")),
    }
}

/// Without the noise of binary fractions.
fn written(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        swept(text).unwrap().values.into_iter().map(|(value, _)| value.text).collect()
    }

    #[test]
    fn ranges_and_lists_come_to_values() {
        assert_eq!(values("threads=1..4"), ["1", "2", "3", "4"]);
        assert_eq!(values("threads=1..64:x2"), ["1", "2", "4", "8", "16", "32", "64"]);
        assert_eq!(values("threads=1..48:x2"), ["1", "2", "4", "8", "16", "32", "48"]);
        assert_eq!(values("threads=1..7:4"), ["1", "5", "7"]);
        assert_eq!(values("threads=1..56").last().map(String::as_str), Some("56"));
        assert_eq!(
            values("max_freq=1.2GHz..1.8GHz:200MHz"),
            ["1.2GHz", "1.4GHz", "1.6GHz", "1.8GHz"]
        );
        assert_eq!(values("threads=8,2,4,2"), ["2", "4", "8"]);
        assert_eq!(values("cpus=0;0-1;0,2"), ["0", "0-1", "0,2"]);
        assert_eq!(values("env.MODE=b,a"), ["b", "a"]);
        assert_eq!(values("env.LIB=../b,../a"), ["../b", "../a"]);
        assert_eq!(swept("env.MODE=b,a").unwrap().values[0].0.number, None);
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        for wrong in [
            "threads",
            "threads=4",
            "threads=8..1",
            "threads=1..x",
            "threads=1..9:0",
            "threads=1..9:x1",
            "threads=1..100:1",
            "threads=0..3",
            "max_freq=1GHz..2W",
            "max_freq=1GHz..2GHz:1W",
        ] {
            assert!(swept(wrong).is_err(), "{wrong}");
        }
    }
}
