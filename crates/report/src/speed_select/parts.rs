//! What several pages are made of.

use std::collections::BTreeMap;

use crate::kit::Absences;
use model::page::{Text, Tone};
use model::record::{
    ChosenCores, PerformanceLevel, PerformanceProfiles, PowerDomain, PowerDomainKind, SpeedSelect,
};
use model::{CpuId, CpuSet, Hertz, Known, Obstacle, Unavailable};

/// A reading page under construction.
pub(super) struct PageBuilder<'a> {
    pub(super) run: &'a SpeedSelect,
    pub(super) verbosity: u8,
    pub(super) absences: Absences<'a>,
}

impl<'a> PageBuilder<'a> {
    /// What has no value. What the hardware does not have goes without saying, unless details are wanted.
    pub(super) fn absent(&mut self, reason: &'a Unavailable, name: &str) {
        if self.verbosity > 0 || reason.obstacle != Obstacle::Hardware {
            self.absences.note(reason, name.to_owned());
        }
    }

    /// What must be there, and is not.
    pub(super) fn lacking(&mut self, reason: &'a Unavailable, name: String) {
        self.absences.note(reason, name);
    }
}

/// Power domains that differ in nothing but where they are.
pub(super) struct DomainGroup<'a> {
    pub(super) domains: Vec<&'a PowerDomain>,
    pub(super) name: String,
}

impl<'a> DomainGroup<'a> {
    /// Any of them.
    pub(super) fn first(&self) -> &'a PowerDomain {
        self.domains[0]
    }

    /// The profiles, where they were asked for and answered.
    pub(super) fn profiles(&self, told: &mut PageBuilder<'a>) -> Option<&'a PerformanceProfiles> {
        match self.first().profiles.as_ref()? {
            Known::Yes(profiles) => Some(profiles),
            Known::No { unavailable } => {
                told.lacking(unavailable, format!("{} of {}", unavailable.what, self.name));
                None
            }
        }
    }
}

/// Domains that are alike, in the order of the first ones.
pub(super) fn groups(run: &SpeedSelect) -> Vec<DomainGroup<'_>> {
    let mut groups: Vec<(PowerDomain, Vec<&PowerDomain>)> = Vec::new();
    for domain in &run.domains {
        let nowhere = nowhere(domain);
        match groups.iter_mut().find(|(known, _)| *known == nowhere) {
            Some((_, alike)) => alike.push(domain),
            None => groups.push((nowhere, vec![domain])),
        }
    }
    let alike = groups.into_iter().map(|(_, domains)| domains);
    alike.map(|domains| DomainGroup { name: name(run, &domains), domains }).collect()
}

/// The domain without what says where it is: its numbers, its CPUs.
fn nowhere(domain: &PowerDomain) -> PowerDomain {
    let mut it = PowerDomain { package: 0, die: None, number: 0, ..domain.clone() };
    it.cpus = CpuSet::default();
    for core in &mut it.cores {
        core.cpus = CpuSet::default();
    }
    for association in &mut it.associations {
        association.cpus = CpuSet::default();
    }
    if let Some(Known::Yes(profiles)) = &mut it.profiles {
        for level in &mut profiles.levels {
            if let Some(Known::Yes(allowed)) = level.properties.as_mut().map(|it| &mut it.allowed) {
                allowed.cpus = CpuSet::default();
            }
            if let Some(Known::Yes(base_freq)) = &mut level.base_freq {
                base_freq.chosen.cpus = CpuSet::default();
            }
        }
    }
    it
}

/// `packages 0-1`, `package 0, power domains 0-2`, with what they are for where that is not cores.
pub(super) fn name(run: &SpeedSelect, domains: &[&PowerDomain]) -> String {
    // The older generation has a domain for each die.
    let by_die = run.generation != "tpmi";
    let place = |it: &PowerDomain| if by_die { it.die.unwrap_or(it.number) } else { it.number };
    let mut packages: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for domain in domains {
        packages.entry(domain.package).or_default().push(place(domain));
    }
    let is_alone = |domain: &PowerDomain| {
        run.domains.iter().filter(|other| other.package == domain.package).count() == 1
    };
    let word = if by_die { "die" } else { "power domain" };
    let numbers: Vec<u32> = packages.keys().copied().collect();
    let text = if by_die && domains.iter().all(|domain| is_alone(domain)) {
        plural("package", &numbers)
    } else if packages.values().all(|places| Some(places) == packages.values().next()) {
        let places = packages.values().next().map_or(&[][..], Vec::as_slice);
        format!("{}, {}", plural("package", &numbers), plural(word, places))
    } else {
        let one = |(package, places): (&u32, &Vec<u32>)| {
            format!("package {package}, {}", plural(word, places))
        };
        packages.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    match domains[0].kind {
        PowerDomainKind::Compute => text,
        PowerDomainKind::Io => format!("{text} (I/O: no cores)"),
        PowerDomainKind::Unknown => format!("{text} (no CPU online)"),
    }
}

fn plural(word: &str, numbers: &[u32]) -> String {
    let s = if numbers.len() == 1 { "" } else { "s" };
    format!("{word}{s} {}", list(numbers.iter().copied()))
}

/// `0-2,5`.
pub(super) fn list(numbers: impl IntoIterator<Item = u32>) -> String {
    numbers.into_iter().map(CpuId).collect::<CpuSet>().to_string()
}

/// A list that may be empty.
pub(super) fn cpus(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "none online".to_owned() } else { cpus.to_string() }
}

/// In MHz, without the unit.
pub(super) fn mhz(frequency: Hertz) -> String {
    format!("{:.0}", frequency.0 / 1e6)
}

/// From the highest to the lowest: `3200-3100`.
pub(super) fn span(frequencies: impl IntoIterator<Item = Hertz>) -> Option<String> {
    let all: Vec<f64> = frequencies.into_iter().map(|it| it.0).collect();
    let highest = all.iter().copied().reduce(f64::max)?;
    let lowest = all.iter().copied().reduce(f64::min)?;
    let (first, last) = (mhz(Hertz(highest)), mhz(Hertz(lowest)));
    Some(if first == last { first } else { format!("{first}-{last}") })
}

/// What stands where there is nothing.
pub(super) const NONE: &str = "-";

/// Rows with the same cells become one; the levels that they were of stand in front, as `0-2`.
pub(super) fn merged(rows: Vec<(u8, Vec<String>)>) -> Vec<Vec<Text>> {
    let mut merged: Vec<(Vec<u32>, Vec<String>)> = Vec::new();
    for (level, cells) in rows {
        match merged.iter_mut().find(|(_, known)| *known == cells) {
            Some((levels, _)) => levels.push(level.into()),
            None => merged.push((vec![level.into()], cells)),
        }
    }
    let row = |(levels, cells): (Vec<u32>, Vec<String>)| {
        let first = Text::toned(list(levels), Tone::Strong);
        std::iter::once(first).chain(cells.into_iter().map(Text::from)).collect()
    };
    merged.into_iter().map(row).collect()
}

/// The hardware's numbers of cores that there are: with CPUs online, allowed or chosen by a level.
pub(super) fn core_numbers(domain: &PowerDomain, levels: &[PerformanceLevel]) -> Vec<u32> {
    let allowed = levels.iter().filter_map(|level| level.properties.as_ref()?.allowed.value());
    let chosen = levels.iter().filter_map(|level| Some(&level.base_freq.as_ref()?.value()?.chosen));
    let of = |it: &ChosenCores| it.cores.iter().map(|core| core.0).collect::<Vec<_>>();
    let mut numbers: Vec<u32> = domain.cores.iter().map(|core| core.core).collect();
    numbers.extend(allowed.chain(chosen).flat_map(of));
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// One sign for each core, with a gap after each eighth.
pub(super) fn picture(numbers: &[u32], sign: impl Fn(u32) -> char) -> String {
    let eight = |some: &[u32]| some.iter().map(|core| sign(*core)).collect::<String>();
    numbers.chunks(8).map(eight).collect::<Vec<_>>().join(" ")
}

/// Whether a core has CPUs online.
pub(super) fn is_online(domain: &PowerDomain, core: u32) -> bool {
    domain.cores.iter().any(|it| it.core == core)
}
