//! CPUs that are alike, so that one of them can answer for all: those of one kind in one package.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_n;

use model::microarchitecture::Signature;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::cpu;
use crate::facts::fact_cache::Survey;
use crate::parse::folded;

/// The online CPUs of one kind in one package.
#[derive(Debug, Clone)]
pub(super) struct CpuGroup {
    /// Their kind, where the machine has several.
    pub(super) kind: Option<String>,
    /// They themselves.
    pub(super) cpus: CpuSet,
    /// How many cores they are.
    pub(super) cores: u32,
}

impl CpuGroup {
    /// The one that answers for all.
    pub(super) fn first(&self) -> CpuId {
        self.cpus.as_slice().first().copied().unwrap_or(CpuId(0))
    }
}

/// All groups, ascending by package and kind.
pub(super) fn groups(survey: &Survey<'_>) -> Vec<CpuGroup> {
    type Members = (Vec<CpuId>, BTreeSet<u32>);
    let mut members: BTreeMap<(u32, Option<&str>), Members> = BTreeMap::new();
    for place in &survey.topology().cpus {
        let (cpus, cores) = members.entry((place.package, place.kind.as_deref())).or_default();
        cpus.push(place.cpu);
        cores.insert(place.core);
    }
    let group = |((_, kind), (cpus, cores)): ((u32, Option<&str>), Members)| CpuGroup {
        kind: kind.map(String::from),
        cpus: cpus.into_iter().collect(),
        cores: u32::try_from(cores.len()).unwrap_or(u32::MAX),
    };
    let mut groups: Vec<CpuGroup> = members.into_iter().map(group).collect();
    groups.sort_by_key(CpuGroup::first);
    groups
}

/// CPUs that should reach the same clock: those of one kind, with as many threads in a core and an L2 alike, which
/// tells kinds apart where nobody names them.
pub(super) fn alike(survey: &Survey<'_>) -> Vec<CpuSet> {
    let topology = survey.topology();
    let mut threads: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for place in &topology.cpus {
        *threads.entry((place.package, place.core)).or_default() += 1;
    }
    let second = topology.caches.iter().filter(|cache| cache.level == 2);
    let shared = second.flat_map(|cache| cache.instances.iter().map(|cpus| (cache.bytes, cpus)));
    let caches: BTreeMap<CpuId, (Option<u64>, usize)> = shared
        .flat_map(|(bytes, cpus)| cpus.iter().map(move |cpu| (cpu, (bytes, cpus.len()))))
        .collect();
    let mut members: BTreeMap<_, Vec<CpuId>> = BTreeMap::new();
    for place in &topology.cpus {
        let threads = threads.get(&(place.package, place.core));
        // A thread that is off is no other kind.
        let own = match place.kind.as_deref() {
            Some(kind) => (Some(kind), None, None),
            None => (None, threads, caches.get(&place.cpu)),
        };
        members.entry(own).or_default().push(place.cpu);
    }
    let mut sets: Vec<CpuSet> = members.into_values().map(CpuSet::from_iter).collect();
    sets.sort_by_key(|cpus| cpus.iter().next());
    sets
}

/// What every group says, kinds apart where they differ: `P: 5.2 GHz; E: 3.9 GHz`; where groups of
/// a kind differ, with the number of CPUs that each stands for. The first reason where none says
/// anything.
pub(super) fn by_kind(
    groups: &[CpuGroup],
    read: impl Fn(&CpuGroup) -> Reading<String>,
) -> Reading<String> {
    /// Answers, each with the number of CPUs that it stands for.
    type Answers = Vec<(String, usize)>;
    let answers: Vec<(&CpuGroup, Reading<String>)> = groups.iter().map(|g| (g, read(g))).collect();
    if answers.iter().all(|(_, answer)| answer.is_err()) {
        let reason = answers.into_iter().find_map(|(_, answer)| answer.err());
        return Err(reason.unwrap_or_else(super::topology::nothing_known));
    }
    let mut kinds: Vec<(Option<&str>, Answers)> = Vec::new();
    for (group, answer) in answers {
        let answer = (answer.unwrap_or_else(|_| "unreadable".to_owned()), group.cpus.len());
        let kind = group.kind.as_deref();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, answers)) => answers.push(answer),
            None => kinds.push((kind, vec![answer])),
        }
    }
    let fold = |answers: &[(String, usize)]| {
        folded(answers.iter().flat_map(|(answer, cpus)| repeat_n(answer.as_str(), *cpus)))
    };
    let mut said: Vec<(Option<&str>, String)> =
        kinds.into_iter().map(|(kind, answers)| (kind, fold(&answers))).collect();
    if said.iter().all(|(_, answer)| said.first().is_some_and(|(_, first)| first == answer)) {
        return Ok(said.swap_remove(0).1);
    }
    let say = |(kind, answer): &(Option<&str>, String)| {
        kind.map_or_else(|| answer.clone(), |kind| format!("{kind}: {answer}"))
    };
    Ok(said.iter().map(say).collect::<Vec<_>>().join("; "))
}

/// Whether `/proc/cpuinfo` lists a flag of the first CPU; `None` where it lists none at all.
pub(crate) fn flag(survey: &Survey<'_>, name: &str) -> Option<bool> {
    let flags = cpu::cpuinfo(survey, "flags").ok()?;
    Some(flags.split_whitespace().any(|flag| flag == name))
}

/// Who made the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    Intel,
    /// AMD and Hygon: the same registers.
    Amd,
}

/// Maker and model, which say where registers lie and what they mean.
///
/// # Source
/// Intel SDM volume 2A, CPUID: leaf 0 holds the vendor, leaf 1 the signature.
pub(crate) fn identity(survey: &Survey<'_>) -> Reading<(Maker, Signature)> {
    let vendor = cpu::vendor(survey)?;
    let maker = match vendor.as_str() {
        "GenuineIntel" => Maker::Intel,
        "AuthenticAMD" | "HygonGenuine" => Maker::Amd,
        _ => {
            let why = format!("CPUs of `{vendor}` have no such registers");
            return Err(Unavailable::new(Obstacle::Hardware, "registers", why));
        }
    };
    Ok((maker, cpu::signature(survey)?))
}

/// A register of one CPU.
pub(super) fn register(survey: &Survey<'_>, cpu: CpuId, address: u32) -> Reading<u64> {
    survey.msr.read(cpu, address)
}

/// A register of that maker's CPUs as every group has it, in words.
pub(crate) fn register_of_all(
    survey: &Survey<'_>,
    maker: Maker,
    address: u32,
    say: fn(u64) -> String,
) -> Reading<String> {
    if identity(survey)?.0 != maker {
        let why = format!("only CPUs of {maker:?} have the register {address:X}h");
        return Err(Unavailable::new(Obstacle::Hardware, "register", why));
    }
    by_kind(&groups(survey), |group| register(survey, group.first(), address).map(say))
}

/// A field of a register.
pub(crate) fn bits(value: u64, low: u32, width: u32) -> u64 {
    (value >> low) & ((1 << width) - 1)
}

/// Byte number `index` of a register.
pub(super) fn byte(value: u64, index: usize) -> u32 {
    value.to_le_bytes().get(index).copied().map_or(0, u32::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_bytes() {
        assert_eq!(bits(0x0804_0838_f181_2000, 8, 8), 0x20);
        assert_eq!(bits(u64::MAX, 63, 1), 1);
        assert_eq!((byte(0x1122, 0), byte(0x1122, 1), byte(0x1122, 9)), (0x22, 0x11, 0));
    }
}
