//! Frequencies of what lies between the cores: mesh or ring, last-level cache, memory controllers.
//!
//! # Source
//! Linux, `Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst`; Intel SDM volume 4,
//! `MSR_UNCORE_RATIO_LIMIT`.

use model::{Obstacle, Reading, Unavailable};

use super::frequency::gigahertz;
use super::groups::{Maker, bits, by_kind, groups, identity, register};
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::parse::{first_number, folded};
use crate::ports::Machine;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
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
    let ranges: Vec<(String, Reading<String>)> = folders
        .iter()
        .map(|name| (agents(machine, name).join(", "), range(machine, &format!("{FOLDER}/{name}"))))
        .collect();
    if !ranges.iter().any(|(_, range)| range.is_ok()) {
        let nothing = || unavailable(Obstacle::Cpudyno, &format!("`{FOLDER}` holds no limits"));
        return Err(ranges.into_iter().find_map(|(_, range)| range.err()).unwrap_or_else(nothing));
    }
    // Domains of other agents are other clocks, also where their ranges are equal.
    let mut kinds: Vec<&str> = Vec::new();
    for (agents, _) in &ranges {
        if !kinds.contains(&agents.as_str()) {
            kinds.push(agents);
        }
    }
    let of_kind = |kind: &&str| {
        let mine = ranges.iter().filter(|(agents, _)| agents == kind);
        let words = folded(mine.map(|(_, range)| range.as_deref().unwrap_or("unreadable")));
        if kind.is_empty() { words } else { format!("{kind}: {words}") }
    };
    Ok(kinds.iter().map(of_kind).collect::<Vec<_>>().join("; "))
}

/// Whose clock a domain is; empty where the kernel does not say.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst`: `agent_types`.
pub fn agents(machine: &Machine, domain: &str) -> Vec<&'static str> {
    const AGENTS: &[&str] = &["core", "cache", "memory", "io"];
    let listed = machine.tree.read(&format!("{FOLDER}/{domain}/agent_types")).unwrap_or_default();
    let is_listed = |agent: &&&str| listed.split_whitespace().any(|word| word == **agent);
    AGENTS.iter().filter(is_listed).copied().collect()
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
    if set.0 > set.1 {
        return Ok(format!("contradictory, {} GHz at least and {} GHz at most", set.0, set.1));
    }
    let range = |(min, max)| format!("{min} to {max} GHz");
    let initial =
        read("initial_min_freq_khz").and_then(|min| Ok((min, read("initial_max_freq_khz")?)));
    Ok(match initial {
        Ok(initial) if initial.0 <= initial.1 && range(initial) != range(set) => {
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
    use simulated::Files;

    use super::*;
    use crate::tests::machine_of;

    #[test]
    fn domains_of_other_agents_are_kept_apart() {
        let limits = |domains: &[(&str, &str, &str)]| {
            let mut files = Files::default();
            for (name, agents, most) in domains {
                let folder = format!("{FOLDER}/{name}");
                files.put(format!("{folder}/min_freq_khz"), "800000");
                files.put(format!("{folder}/max_freq_khz"), *most);
                if !agents.is_empty() {
                    files.put(format!("{folder}/agent_types"), *agents);
                }
            }
            by_driver(&machine_of(files, "0")).unwrap()
        };
        let (compute, io) = ("core cache memory", "io");
        assert_eq!(
            limits(&[
                ("uncore00", compute, "2200000"),
                ("uncore01", io, "2500000"),
                ("uncore02", compute, "2200000"),
                ("uncore03", io, "2500000"),
            ]),
            "core, cache, memory: 0.8 to 2.2 GHz; io: 0.8 to 2.5 GHz"
        );
        let equal = limits(&[("uncore00", "core", "2200000"), ("uncore01", "io", "2200000")]);
        assert_eq!(equal, "core: 0.8 to 2.2 GHz; io: 0.8 to 2.2 GHz");
        let none = limits(&[("uncore00", "", "2200000"), ("uncore01", "", "2500000")]);
        assert_eq!(none, "0.8 to 2.2 GHz (1), 0.8 to 2.5 GHz (1)");
        let below = limits(&[("uncore00", "core", "2200000"), ("uncore01", "io", "600000")]);
        assert_eq!(
            below,
            "core: 0.8 to 2.2 GHz; io: contradictory, 0.8 GHz at least and 0.6 GHz at most"
        );
        let strange = limits(&[("uncore00", "io\u{1b}[31m soul", "2200000")]);
        assert_eq!(strange, "0.8 to 2.2 GHz", "what names no agent says nothing");
    }

    #[test]
    fn limits_in_the_register() {
        assert_eq!(from_register(0x0c18).as_deref(), Some("1.2 to 2.4 GHz"));
        assert_eq!(from_register(0), None);
        assert_eq!(from_register(0x7f01), None);
    }
}
