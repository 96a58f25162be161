//! Whether the machine obeys, as far as the kernel tells it: the base frequency of each CPU.

use machine::Machine;
use model::CpuSet;

use super::ground::cpufreq;
use super::limits::bases;
use crate::error::Error;
use crate::model::Domain;
use crate::read::{Levels, Part, Wanted, read};

/// What firmware gives CPUs, and what the kernel says of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The base frequency that firmware gives them at their level, in kHz.
    pub given_khz: u64,
    /// What the kernel says; none: it says nothing of it.
    pub told_khz: Option<u64>,
}

/// The base frequency of every CPU that is online, those that are alike together.
pub fn base_frequencies(machine: &Machine, cpus: Option<&CpuSet>) -> Result<Vec<Base>, Error> {
    let parts = vec![Part::Properties, Part::BaseFreq];
    let wanted = Wanted { levels: Levels::Current, parts, cpus: cpus.cloned() };
    let snapshot = read(machine, &wanted)?;
    let mut found: Vec<Base> = Vec::new();
    for (cpu, given) in snapshot.domains.iter().flat_map(of_domain) {
        let path = cpufreq(cpu, "base_frequency");
        let told = machine.tree.read(&path).ok().and_then(|text| text.trim().parse().ok());
        let one = CpuSet::from_iter([cpu]);
        match found.iter_mut().find(|it| (it.given_khz, it.told_khz) == (given, told)) {
            Some(it) => it.cpus = it.cpus.iter().chain([cpu]).collect(),
            None => found.push(Base { cpus: one, given_khz: given, told_khz: told }),
        }
    }
    Ok(found)
}

fn of_domain(domain: &Domain) -> Vec<(model::CpuId, u64)> {
    let Some(Ok(profiles)) = &domain.profiles else { return Vec::new() };
    let Some(level) = profiles.level(profiles.current) else { return Vec::new() };
    let by_level =
        || Some(level.features.as_ref().ok()?.base_freq == crate::model::Feature::Enabled);
    let is_on = profiles.on.map(|on| on.base_freq).or_else(by_level).unwrap_or(false);
    let all = bases(domain, level, is_on).into_iter();
    all.filter_map(|(cpu, khz)| Some((cpu, khz?))).collect()
}
