//! What limits of the clock come to once firmware has moved, as far as that is known before.

use std::collections::HashMap;

use levers::SettingOwner;
use levers::plan::{Change, Plan};
use levers::unlimited::{OPEN_KHZ, is_open};
use model::CpuId;

use super::What;
use super::ground::{Ground, cpufreq};
use super::limits::{MAX, MIN, MOST, bases};
use super::recipes::FIXED;
use crate::model::Domain;

/// What an open limit comes to where only the kernel will know the number.
const AS_ALLOWED: &str = "as high as the kernel allows";

impl Ground<'_> {
    /// Limits in a plan as what they will come to.
    pub(super) fn foresee(&self, plan: &mut Plan) {
        let domains = self.targets().into_iter();
        let bases: HashMap<_, _> = domains.flat_map(|domain| self.bases_then(domain)).collect();
        let most = |cpu: CpuId| self.highest_then(cpu, bases.get(&cpu).copied().flatten());
        let mut highest: HashMap<CpuId, Option<u64>> = HashMap::new();
        for (cpu, change) in limits(plan, MAX) {
            let most = most(cpu);
            highest.insert(cpu, most);
            if change.wanted != OPEN_KHZ {
                change.wanted = at_most(&change.wanted, most);
                highest.insert(cpu, change.wanted.parse().ok());
            } else if let Some(most) = most.filter(|most| most.to_string() != change.former) {
                change.wanted = most.to_string();
            } else {
                AS_ALLOWED.clone_into(&mut change.wanted);
            }
        }
        for (cpu, change) in limits(plan, MIN) {
            let left = || self.left_then(cpu, most(cpu));
            change.wanted =
                at_most(&change.wanted, highest.get(&cpu).copied().unwrap_or_else(left));
        }
    }

    /// The base frequency of each CPU of a power domain, in kHz, as firmware gives it then.
    fn bases_then(&self, domain: &Domain) -> Vec<(CpuId, Option<u64>)> {
        let profiles = domain.profiles.as_ref().and_then(|profiles| profiles.as_ref().ok());
        let profiles = profiles.filter(|_| self.snapshot.backend != FIXED);
        let found = profiles.and_then(|profiles| match self.wish.what {
            What::Level { level, .. } => Some((profiles.level(level)?, false)),
            What::BaseFreq { on, .. } => Some((profiles.level(profiles.current)?, on)),
            _ => None,
        });
        let told = |cpu| (cpu, self.khz(cpu, "base_frequency"));
        match found {
            Some((level, base_freq)) => bases(domain, level, base_freq),
            None => domain.cpus.iter().map(|member| told(member.cpu)).collect(),
        }
    }

    /// As high as the clock of a CPU goes then: without turbo its base frequency. Another level may have another
    /// highest clock, and only the kernel will tell it.
    fn highest_then(&self, cpu: CpuId, base: Option<u64>) -> Option<u64> {
        match self.wish.what {
            _ if !self.allows_turbo() => base,
            What::Level { .. } => None,
            _ => self.khz(cpu, MOST),
        }
    }

    /// The highest clock that is left to a CPU whose limit stays: an open one follows the base frequency.
    fn left_then(&self, cpu: CpuId, most: Option<u64>) -> Option<u64> {
        let max = self.khz(cpu, MAX)?;
        let object = levers::Object::File(cpufreq(cpu, MAX));
        if is_open(self.machine, &object, &max.to_string()) { most } else { Some(max) }
    }
}

/// The limits of CPUs in a plan that are in that file.
fn limits<'p>(plan: &'p mut Plan, file: &'p str) -> impl Iterator<Item = (CpuId, &'p mut Change)> {
    plan.changes.iter_mut().filter_map(move |change| match change.of {
        SettingOwner::Cpu(cpu) if change.object.to_string() == cpufreq(cpu, file) => {
            Some((cpu, change))
        }
        _ => None,
    })
}

/// A limit, in kHz, that is no higher than that.
fn at_most(wanted: &str, most: Option<u64>) -> String {
    let khz = wanted.parse::<u64>().ok().zip(most).map(|(wanted, most)| wanted.min(most));
    khz.map_or_else(|| wanted.to_owned(), |khz| khz.to_string())
}
