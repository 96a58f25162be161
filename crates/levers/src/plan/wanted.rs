//! The text that is written for a value that was typed.

use machine::Machine;

use crate::ask::SettingSpec;
use crate::error::Error;
use crate::object::Object;
use crate::rows::{Lever, Values};
use crate::targets::{self, Target};

/// The text that is written for a value.
pub(super) fn text(
    machine: &Machine,
    asked: &SettingSpec,
    target: &Target,
) -> Result<String, Error> {
    let typed = asked.value.as_str();
    let refused =
        |why: String| Error::Value { setting: asked.name.clone(), value: typed.to_owned(), why };
    let one_of = |words: Vec<String>| {
        if words.iter().any(|word| word == typed) {
            return Ok(typed.to_owned());
        }
        let near = model::name::did_you_mean(typed, words.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
        Err(refused(format!("it takes {}{near}", words.join(", "))))
    };
    match asked.lever.values {
        Values::ListedOr(_, most) if typed.parse::<u64>().is_ok() => {
            in_range(typed, 0, most, "").map_err(refused)
        }
        Values::Words(_) | Values::Listed(_) | Values::ListedOr(..) | Values::Bracketed => {
            match words(machine, asked.lever, target) {
                Some(words) => one_of(words),
                None => Ok(typed.to_owned()),
            }
        }
        Values::Switch { on, off } => match typed {
            "on" | "yes" | "true" => Ok(on.to_owned()),
            "off" | "no" | "false" => Ok(off.to_owned()),
            _ => Err(refused("it takes on, off".to_owned())),
        },
        Values::Kilohertz => kilohertz(typed).map(|khz| khz.to_string()).ok_or_else(|| {
            refused("it takes a frequency with a unit, such as 2.4GHz or 2400MHz".to_owned())
        }),
        Values::AsRead => Ok(typed.to_owned()),
        Values::NumberOr { word, text, .. } if typed == word => Ok(text.to_owned()),
        Values::NumberOr { word, max, unit, .. } => {
            in_range(typed, 0, max, unit).map_err(|why| refused(format!("{why}, or `{word}`")))
        }
        Values::Number { min, max, unit } => {
            let text = in_range(typed, min, max, unit).map_err(refused)?;
            room(machine, asked.lever, &text).map_err(refused)?;
            Ok(text)
        }
    }
}

/// Whether a value that is there could be written.
pub(super) fn is_taken(machine: &Machine, lever: &Lever, target: &Target, value: &str) -> bool {
    let number = value.parse::<u64>();
    let listed =
        || words(machine, lever, target).is_none_or(|words| words.iter().any(|word| word == value));
    match lever.values {
        Values::ListedOr(_, most) => number.is_ok_and(|number| number <= most) || listed(),
        Values::Words(_) | Values::Listed(_) | Values::Bracketed => listed(),
        Values::Switch { on, off } => value == on || value == off,
        Values::AsRead => true,
        Values::NumberOr { text, .. } => value == text || number.is_ok(),
        Values::Kilohertz | Values::Number { .. } => number.is_ok(),
    }
}

/// The words that it takes; none: nobody lists them.
pub(crate) fn words(machine: &Machine, lever: &Lever, target: &Target) -> Option<Vec<String>> {
    let list = match (lever.values, &target.object) {
        (Values::Words(words), _) => {
            return Some(words.iter().map(|&word| word.to_owned()).collect());
        }
        (Values::Bracketed, Object::File(path)) => Some(path),
        _ => target.listed.as_ref(),
    };
    let text = machine.tree.read(list?).ok()?;
    let words = text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned());
    Some(words.collect())
}

fn in_range(typed: &str, min: u64, max: u64, unit: &str) -> Result<String, String> {
    match typed.strip_suffix(unit).unwrap_or(typed).parse::<u64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number.to_string()),
        _ => Err(format!("it takes a whole number from {min} to {max}")),
    }
}

/// Whether there is memory for so many huge pages: a kernel that has none sets aside what it finds, and
/// leaves nothing to anybody.
fn room(machine: &Machine, lever: &Lever, text: &str) -> Result<(), String> {
    if lever.id != "huge_pages" {
        return Ok(());
    }
    let (Some(bytes), Some(free)) =
        (targets::huge_page_bytes(machine), targets::memory_kibibytes(machine, "MemAvailable"))
    else {
        return Ok(());
    };
    let held = targets::memory_kibibytes(machine, "HugePages_Total").unwrap_or(0);
    let most = held + free * 1024 / bytes.max(1);
    let fits = text.parse::<u64>().is_ok_and(|pages| pages <= most);
    let size = bytes / 1024;
    if fits { Ok(()) } else { Err(format!("there is memory for {most} pages of {size} KiB")) }
}

/// Kilohertz of `2.4GHz`, `2400MHz` or `2400000kHz`.
fn kilohertz(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (number, unit) = [("ghz", 1e6), ("mhz", 1e3), ("khz", 1.0)]
        .into_iter()
        .find_map(|(suffix, unit)| Some((lower.strip_suffix(suffix)?.trim(), unit)))?;
    let number: f64 = number.parse().ok()?;
    let khz = (number * unit).round();
    (khz.is_finite() && (1.0..1e9).contains(&khz)).then_some(khz as u64)
}
