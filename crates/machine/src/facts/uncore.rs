//! Frequencies of what lies between the cores: mesh or ring, last-level cache, memory controllers.
//!
//! # Source
//! Linux, `Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst`; Intel SDM volume 4,
//! `MSR_UNCORE_RATIO_LIMIT`.

use model::{Obstacle, Unavailable};

use super::frequency::gigahertz;
use super::groups::{Maker, bits, by_kind, groups, identity, register};
use crate::ports::{Machine, Reading};
use crate::rows::{Row, row, text};
use crate::survey::Survey;
use crate::text::{first_number, folded};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("uncore.limits", "Uncore limits", |s| limits(s).map(text)),
];

const FOLDER: &str = "/sys/devices/system/cpu/intel_uncore_frequency";
const UNCORE_RATIO_LIMIT: u32 = 0x620;

/// No uncore is faster; a larger number is garbage.
const HERTZ_MAX: f64 = 20e9;

/// As the driver states them per die, else as the register does per package.
fn limits(survey: &Survey<'_>) -> Reading<String> {
    by_driver(survey).or_else(|reason| {
        by_register(survey).map_err(|register| {
            if reason.obstacle == Obstacle::Permission { reason } else { register }
        })
    })
}

/// Where there are clusters (`uncore00`), the folders of dies repeat them.
fn by_driver(machine: &Machine) -> Reading<String> {
    let names = machine.tree.list(FOLDER)?;
    let starting = |start: &str| -> Vec<&String> {
        names.iter().filter(|name| name.starts_with(start)).collect()
    };
    let clusters = starting("uncore");
    let folders = if clusters.is_empty() { starting("package_") } else { clusters };
    let ranges: Vec<Reading<String>> =
        folders.iter().map(|name| range(machine, &format!("{FOLDER}/{name}"))).collect();
    if !ranges.iter().any(Result::is_ok) {
        let nothing = || unavailable(Obstacle::Cpudyno, &format!("`{FOLDER}` holds no limits"));
        return Err(ranges.into_iter().find_map(Result::err).unwrap_or_else(nothing));
    }
    Ok(folded(ranges.iter().map(|range| range.as_deref().unwrap_or("unreadable"))))
}

fn unavailable(obstacle: Obstacle, why: &str) -> Unavailable {
    Unavailable::new(obstacle, "uncore limits", why)
}

/// What is set, and what could be.
fn range(machine: &Machine, folder: &str) -> Reading<String> {
    let read = |file: &str| {
        let path = format!("{folder}/{file}");
        let hertz = first_number(&path, &machine.tree.read(&path)?)? * 1e3;
        if 0.0 < hertz && hertz <= HERTZ_MAX {
            return Ok(gigahertz(hertz));
        }
        Err(unavailable(Obstacle::Cpudyno, &format!("`{path}` says {hertz} Hz")))
    };
    let set = (read("min_freq_khz")?, read("max_freq_khz")?);
    let range = |(min, max)| format!("{min} to {max} GHz");
    let initial =
        read("initial_min_freq_khz").and_then(|min| Ok((min, read("initial_max_freq_khz")?)));
    Ok(match initial {
        Ok(initial) if range(initial) != range(set) => {
            format!("{} (of {})", range(set), range(initial))
        }
        _ => range(set),
    })
}

fn by_register(survey: &Survey<'_>) -> Reading<String> {
    if identity(survey)?.0 != Maker::Intel {
        let why = "only CPUs of Intel have a register for them";
        return Err(unavailable(Obstacle::Hardware, why));
    }
    by_kind(&groups(survey), |group| {
        let value = register(survey, group.first(), UNCORE_RATIO_LIMIT)?;
        from_register(value).ok_or_else(|| {
            let why = format!("the register 620h holds {value:#x}: its limits are kept elsewhere");
            unavailable(Obstacle::Cpudyno, &why)
        })
    })
}

/// Bits 6:0 the highest ratio, 14:8 the lowest, in 100 MHz.
fn from_register(value: u64) -> Option<String> {
    let (max, min) = (bits(value, 0, 7), bits(value, 8, 7));
    let gigahertz = |ratio| gigahertz(ratio as f64 * 100e6);
    (0 < min && min <= max).then(|| format!("{} to {} GHz", gigahertz(min), gigahertz(max)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_in_the_register() {
        assert_eq!(from_register(0x0c18).as_deref(), Some("1.2 to 2.4 GHz"));
        assert_eq!(from_register(0), None);
        assert_eq!(from_register(0x7f01), None);
    }
}
