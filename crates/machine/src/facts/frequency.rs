//! Frequencies as the machine claims them; measuring them is elsewhere.

use std::collections::BTreeSet;

use model::record::FactValue;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable, Unit};

use super::claimed::{BY_KERNEL, is_sold};
use super::cpuinfo::Architecture;
use super::groups::{Maker, bits, by_kind, groups, identity, register};
use super::kernel::to_load;
use super::platform::{hidden_from_guest, no_file, not_offered};
use super::topology::{first_cpu, online};
use super::{cppc, turbo_ratio};
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, number, row, text};
use crate::parse::{first_number, folded};
use crate::ports::Machine;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("cpu.base_frequency", "Base frequency (claimed)", base),
    row("cpu.max_frequency", "Highest frequency (claimed)", max),
    row("cpu.min_frequency", "Lowest frequency (claimed)", min),
];

const CPU: &str = "/sys/devices/system/cpu";

/// Below and above, a number is no frequency of a CPU.
const PLAUSIBLE_HERTZ: std::ops::RangeInclusive<f64> = 10e6..=20e9;

/// CPUs whose frequency the kernel sets together, and the folder that says how.
pub(crate) struct Policy {
    folder: String,
    /// Those of them that are online.
    pub(crate) cpus: CpuSet,
}

/// The policies of the online CPUs, by number.
#[derive(Default)]
pub(crate) struct Policies {
    pub(crate) all: Vec<Policy>,
    /// How many online CPUs have none.
    without: usize,
}

/// Every policy; a folder per CPU where there is none for policies.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/cpufreq.rst`: `policyX`, `affected_cpus`.
pub(crate) fn policies(machine: &Machine) -> Policies {
    let online = online(machine);
    let folder = format!("{CPU}/cpufreq");
    let names = machine.tree.list(&folder).unwrap_or_default();
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix("policy")?.parse().ok()).collect();
    numbers.sort_unstable();
    let mut seen = BTreeSet::new();
    let mut policies = Vec::new();
    for number in numbers {
        let folder = format!("{folder}/policy{number}");
        let members = machine.tree.read(&format!("{folder}/affected_cpus"));
        let members: Vec<CpuId> = members.map_or_else(
            |_| vec![CpuId(number)],
            |list| list.split_whitespace().filter_map(|w| w.parse().ok().map(CpuId)).collect(),
        );
        let new = members.into_iter().filter(|&cpu| online.contains(cpu) && seen.insert(cpu));
        let cpus: CpuSet = new.collect();
        if !cpus.is_empty() {
            policies.push(Policy { folder, cpus });
        }
    }
    if policies.is_empty() {
        let folders = online.iter().map(|cpu| (cpu, format!("{CPU}/cpu{cpu}/cpufreq")));
        let there = folders.filter(|(_, folder)| machine.tree.list(folder).is_ok());
        let policy = |(cpu, folder)| Policy { folder, cpus: CpuSet::from_iter([cpu]) };
        policies.extend(there.map(policy));
    }
    let covered = policies.iter().map(|policy| policy.cpus.len()).sum();
    Policies { all: policies, without: online.len().saturating_sub(covered) }
}

impl Policy {
    /// A file of its folder.
    pub(crate) fn read(&self, machine: &Machine, file: &str) -> Reading<String> {
        let text = machine.tree.read(&format!("{}/{file}", self.folder)).map_err(|error| {
            if error.obstacle == Obstacle::Permission {
                return error;
            }
            let why = format!("the cpufreq driver here has no `{file}`");
            no_file(machine, &why, &format!("{}/{file}", self.folder))
        })?;
        if text.trim().is_empty() {
            return Err(not_offered(&format!("`{}/{file}` is empty", self.folder), &self.folder));
        }
        Ok(text)
    }

    /// A frequency of its folder, in hertz.
    pub(crate) fn hertz(&self, machine: &Machine, file: &str) -> Reading<f64> {
        let path = format!("{}/{file}", self.folder);
        plausible(&path, first_number(&path, &self.read(machine, file)?)? * 1e3)
    }
}

/// Where the driver of AMD states the clock of the highest level.
pub(crate) const BY_DRIVER: &str = "amd_pstate_max_freq";
/// Where clocks beyond those without boost are listed.
pub(crate) const BY_LIST: &str = "scaling_boost_frequencies";

impl Policy {
    /// The highest frequency that a driver claims, and in which file: while boost is off, that with it is listed beside
    /// `cpuinfo_max_freq`.
    ///
    /// # Source
    /// Linux, `Documentation/admin-guide/pm/amd-pstate.rst`: `amd_pstate_max_freq`;
    /// `drivers/cpufreq/freq_table.c`: `scaling_boost_frequencies`.
    pub(super) fn highest(&self, machine: &Machine) -> Reading<(f64, &'static str)> {
        let claimed = self.hertz(machine, BY_KERNEL).map(|hertz| (hertz, BY_KERNEL));
        let listed = self.read(machine, BY_LIST).unwrap_or_default();
        let boosted = listed.split_whitespace().filter_map(|khz| khz.parse::<f64>().ok());
        let boosted = boosted.map(|khz| khz * 1e3).filter(|hertz| PLAUSIBLE_HERTZ.contains(hertz));
        let by_list = boosted.reduce(f64::max).map(|hertz| (hertz, BY_LIST));
        let by_driver = self.hertz(machine, BY_DRIVER).ok().map(|hertz| (hertz, BY_DRIVER));
        let others = by_driver.into_iter().chain(by_list);
        // The first of equal ones.
        let most = claimed
            .clone()
            .into_iter()
            .chain(others)
            .reduce(|most, other| if other.0 > most.0 { other } else { most });
        most.map_or(claimed, Ok)
    }
}

impl Policy {
    /// The highest of the steps that a driver lists without boost, in hertz.
    ///
    /// # Source
    /// Linux, `drivers/cpufreq/freq_table.c`: `scaling_available_frequencies`, in kilohertz.
    pub(crate) fn last_step(&self, machine: &Machine) -> Option<f64> {
        let steps = self.read(machine, "scaling_available_frequencies").ok()?;
        let steps = steps.split_whitespace().filter_map(|khz| khz.parse::<f64>().ok());
        steps.reduce(f64::max).map(|khz| khz * 1e3)
    }
}

fn plausible(what: &str, hertz: f64) -> Reading<f64> {
    if PLAUSIBLE_HERTZ.contains(&hertz) {
        return Ok(hertz);
    }
    let why = format!("`{what}` says {hertz} Hz, which is no frequency of a CPU");
    Err(Unavailable::new(Obstacle::Cpudyno, "frequency", why))
}

/// What the policies say, and for how many CPUs each.
fn over_policies<T>(
    survey: &Survey<'_>,
    read: impl Fn(&Policy) -> Reading<T>,
) -> Reading<Vec<(Reading<T>, usize)>> {
    let policies = survey.policies();
    let mut answers: Vec<(Reading<T>, usize)> =
        policies.all.iter().map(|policy| (read(policy), policy.cpus.len())).collect();
    if !answers.iter().any(|(answer, _)| answer.is_ok()) {
        let reason = answers.into_iter().find_map(|(answer, _)| answer.err());
        return Err(reason.unwrap_or_else(|| no_cpufreq(survey)));
    }
    if policies.without > 0 {
        answers.push((Err(no_cpufreq(survey)), policies.without));
    }
    Ok(answers)
}

/// Equal answers of the policies folded, each as often as it has CPUs.
pub(crate) fn folded_over_policies(
    survey: &Survey<'_>,
    read: impl Fn(&Policy) -> Reading<String>,
) -> Reading<String> {
    let answers = over_policies(survey, read)?;
    let words = answers.iter().flat_map(|(answer, cpus)| {
        std::iter::repeat_n(answer.as_deref().unwrap_or("unreadable"), *cpus)
    });
    Ok(folded(words))
}

/// One frequency for all CPUs is a number, several are folded: cores of a hybrid differ. Many are a range.
fn claimed(survey: &Survey<'_>, read: impl Fn(&Policy) -> Reading<f64>) -> Reading<FactValue> {
    let answers = over_policies(survey, read)?;
    let mut known = answers.iter().filter_map(|(answer, _)| answer.as_ref().ok());
    if let Some(&first) = known.next()
        && answers.iter().all(|(answer, _)| answer.as_ref() == Ok(&first))
    {
        return Ok(number(first, Unit::Hertz));
    }
    if let Some(ranges) = many_in_ranges(survey, &answers) {
        return Ok(text(ranges));
    }
    let words: Vec<(String, usize)> = answers
        .iter()
        .map(|(answer, cpus)| {
            let word = answer.as_ref().map(|&hertz| format!("{} GHz", gigahertz(hertz)));
            (word.unwrap_or_else(|_| "unreadable".to_owned()), *cpus)
        })
        .collect();
    let repeated = words.iter().flat_map(|(word, cpus)| std::iter::repeat_n(word.as_str(), *cpus));
    Ok(text(folded(repeated)))
}

/// `P: 5.5 to 5.8 GHz; E: 4.3 GHz`, where kinds of cores have names, or every core has a clock of its own.
fn many_in_ranges(survey: &Survey<'_>, answers: &[(Reading<f64>, usize)]) -> Option<String> {
    /// So many are told one by one.
    const EACH_MAX: usize = 4;
    let all: Option<Vec<f64>> = answers.iter().map(|(answer, _)| answer.clone().ok()).collect();
    let all = all?;
    let different: BTreeSet<u64> = all.iter().map(|hertz| hertz.to_bits()).collect();
    let kind = |cpu: CpuId| survey.topology().place(cpu)?.kind.as_deref();
    // A policy may have CPUs of several kinds.
    let of_policy = |(policy, hertz): (&Policy, f64)| {
        policy.cpus.iter().map(|cpu| (kind(cpu), hertz)).collect::<Vec<_>>()
    };
    let clocks: Vec<(Option<&str>, f64)> =
        survey.policies().all.iter().zip(all).flat_map(of_policy).collect();
    let mut kinds: Vec<Option<&str>> = Vec::new();
    for (kind, _) in &clocks {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    if different.len() <= EACH_MAX && kinds.len() <= 1 {
        return None;
    }
    let of_kind = |wanted: Option<&str>| {
        let own = clocks.iter().filter(|(kind, _)| *kind == wanted);
        let range = super::claimed::range(own.map(|(_, hertz)| *hertz))?;
        Some(wanted.map_or(range.clone(), |kind| format!("{kind}: {range}")))
    };
    Some(kinds.into_iter().filter_map(of_kind).collect::<Vec<_>>().join("; "))
}

/// Gigahertz with two decimals at most.
pub(crate) fn gigahertz(hertz: f64) -> f64 {
    (hertz / 1e7).round() / 100.0
}

/// Where a frequency is claimed.
type FrequencySource = fn(&Survey<'_>) -> Reading<FactValue>;

/// The first answer of several sources; the reason of the first where none answers.
fn first_known(
    survey: &Survey<'_>,
    first: Reading<FactValue>,
    others: &[FrequencySource],
) -> Reading<FactValue> {
    first.or_else(|reason| others.iter().find_map(|read| read(survey).ok()).ok_or(reason))
}

/// A frequency of the first CPU: of its kind only, where there are several.
fn of_first_cpu(survey: &Survey<'_>, hertz: f64) -> Reading<FactValue> {
    let hertz = plausible("the first CPU", hertz)?;
    let kind = survey.topology().cpus.first().and_then(|place| place.kind.as_deref());
    Ok(match kind {
        Some(kind) => text(format!("{kind}: {} GHz", gigahertz(hertz))),
        None => number(hertz, Unit::Hertz),
    })
}

/// Claimed by cpufreq, else by CPUID 16h, registers, ACPI.
///
/// # Source
/// `base_frequency` of `intel_pstate`; Intel SDM volume 2A, CPUID 16h EAX: whole megahertz. On
/// hybrids every core answers with the base of the performance cores.
fn base(survey: &Survey<'_>) -> Reading<FactValue> {
    let claimed = claimed(survey, |policy| policy.hertz(survey, "base_frequency"));
    first_known(
        survey,
        claimed,
        &[
            |s| of_first_cpu(s, by_cpuid(s, first_cpu(s)?, |leaf| leaf.eax)?),
            |s| of_first_cpu(s, turbo_ratio::platform_info(s)?.0),
            |s| of_first_cpu(s, highest_pstate(s)?),
            |s| of_first_cpu(s, highest_table_entry(s)?),
            |s| of_first_cpu(s, cppc::nominal_frequency(s)?),
        ],
    )
}

/// Claimed by cpufreq as far as nothing refutes it, else by CPUID 16h, else the first of the turbo limits.
///
/// # Source
/// `cpuinfo_max_freq` of cpufreq; Intel SDM volume 2A, CPUID 16h EBX: whole megahertz.
fn max(survey: &Survey<'_>) -> Reading<FactValue> {
    let claimed = claimed(survey, |policy| {
        let first = policy.cpus.iter().next().ok_or_else(|| no_cpufreq(survey))?;
        survey.claimed_clocks().of(first)
    });
    first_known(
        survey,
        claimed,
        &[max_by_cpuid, |s| {
            let limits = s.turbo_limits()?;
            let all = limits.iter().flat_map(|limit| &limit.steps).map(|step| step.hertz);
            let all = all.filter(|hertz| is_sold(*hertz));
            of_first_cpu(s, all.reduce(f64::max).ok_or_else(|| no_cpufreq(s))?)
        }],
    )
}

/// The base of a CPU by registers, else by CPUID, in hertz. On hybrids every core answers with that of the
/// performance cores.
pub(crate) fn base_of(survey: &Survey<'_>, cpu: CpuId) -> Option<f64> {
    if let Some(base) = base_of_policy(survey, cpu) {
        return Some(base);
    }
    let place = survey.topology().place(cpu)?;
    let is_other = place.kind.as_deref().is_some_and(|kind| kind != "P");
    let by_register = turbo_ratio::platform_info(survey).map(|(base, _)| base);
    let base = by_register.or_else(|_| by_cpuid(survey, cpu, |leaf| leaf.eax)).ok()?;
    (!is_other && base > 0.0).then_some(base)
}

/// The base of a CPU as the kernel makes it of the guaranteed level: kinds of cores have their own.
pub(super) fn base_of_policy(survey: &Survey<'_>, cpu: CpuId) -> Option<f64> {
    let policy = survey.policies().all.iter().find(|policy| policy.cpus.contains(cpu))?;
    policy.hertz(survey, "base_frequency").ok()
}

/// The lowest clock that the kernel claims of a CPU, in hertz.
pub(crate) fn lowest_of(survey: &Survey<'_>, cpu: CpuId) -> Option<f64> {
    let policies = &survey.policies().all;
    let policy = policies.iter().find(|policy| policy.cpus.contains(cpu))?;
    policy.hertz(survey, "cpuinfo_min_freq").ok()
}

fn max_by_cpuid(survey: &Survey<'_>) -> Reading<FactValue> {
    let max = |cpu| {
        by_cpuid(survey, cpu, |leaf| leaf.ebx).and_then(|hertz| {
            let absurd = || not_offered("CPUID 16h states a clock that no CPU has", "CPUID 16h");
            is_sold(hertz).then_some(hertz).ok_or_else(absurd)
        })
    };
    let groups = groups(survey);
    if groups.iter().all(|group| group.kind.is_none()) {
        return of_first_cpu(survey, max(first_cpu(survey)?)?);
    }
    by_kind(&groups, |group| Ok(format!("{} GHz", gigahertz(max(group.first())?)))).map(text)
}

/// Claimed by cpufreq, else by the register of Intel CPUs.
fn min(survey: &Survey<'_>) -> Reading<FactValue> {
    let claimed = claimed(survey, |policy| policy.hertz(survey, "cpuinfo_min_freq"));
    first_known(survey, claimed, &[|s| of_first_cpu(s, turbo_ratio::platform_info(s)?.1)])
}

/// ACPI has no way to say how high turbo goes: firmware lists it as one megahertz above base.
///
/// # Source
/// Linux, `Documentation/admin-guide/pm/intel_pstate.rst`, section on ACPI `_PSS`.
pub(super) fn stands_for_turbo(hertz: f64, base: f64) -> bool {
    (hertz - base - 1e6).abs() < 1.0
}

pub(super) fn turbo_without_number(survey: &Survey<'_>, hertz: f64) -> Unavailable {
    let why = format!(
        "the firmware lists {} MHz, 1 MHz above the highest frequency of its table: this entry \
         stands for turbo and states no clock",
        hertz / 1e6
    );
    // A register may say it, where it can be read.
    let read = first_cpu(survey).and_then(|cpu| survey.msr.read(cpu, turbo_ratio::PLATFORM_INFO));
    let remedy = read.err().and_then(|reason| reason.remedy);
    Unavailable { remedy, ..Unavailable::new(Obstacle::Permission, "highest frequency", why) }
}

/// The drivers of all policies, folded.
pub(crate) fn drivers(survey: &Survey<'_>) -> Reading<String> {
    folded_over_policies(survey, |policy| policy.read(survey, "scaling_driver"))
}

/// The driver of the first policy.
pub(crate) fn driver(survey: &Survey<'_>) -> Reading<String> {
    let first = survey.policies().all.first();
    first.ok_or_else(|| no_cpufreq(survey))?.read(survey, "scaling_driver")
}

/// Drivers whose tables are those of ACPI `_PSS`, which end at base; tables of device trees end at
/// the highest frequency.
const DRIVERS_OF_ACPI: &[&str] = &["acpi-cpufreq", "pcc-cpufreq", "powernow-k8"];

/// Whether it is one of those.
pub(super) fn is_of_acpi(driver: &str) -> bool {
    DRIVERS_OF_ACPI.contains(&driver)
}

/// The highest frequency of the firmware's table that is one, in hertz: base.
pub(super) fn highest_table_entry(survey: &Survey<'_>) -> Reading<f64> {
    let file = "scaling_available_frequencies";
    let policy = survey.policies().all.first().ok_or_else(|| no_cpufreq(survey))?;
    let driver = driver(survey)?;
    if !is_of_acpi(&driver) {
        let why = format!("the driver `{driver}` has no table of ACPI");
        return Err(not_offered(&why, &policy.folder));
    }
    let list = policy.read(survey, file)?;
    let mut hertz: Vec<f64> = list
        .split_whitespace()
        .filter_map(|word| plausible(file, word.parse::<f64>().ok()? * 1e3).ok())
        .collect();
    hertz.sort_by(|a, b| b.total_cmp(a));
    match hertz.as_slice() {
        [turbo, base, ..] if stands_for_turbo(*turbo, *base) => Ok(*base),
        [base, ..] => Ok(*base),
        [] => Err(not_offered("the cpufreq driver here lists no frequencies", &policy.folder)),
    }
}

pub(super) fn by_cpuid(
    machine: &Survey<'_>,
    cpu: CpuId,
    register: fn(sys::cpuid::Leaf) -> u32,
) -> Reading<f64> {
    let leaf = machine.cpuid.leaf_of(cpu, 0x16, 0).or_else(|| machine.cpuid.leaf(0x16, 0));
    // The upper halves are reserved.
    let megahertz = leaf.map_or(0, |leaf| register(leaf) & 0xffff);
    if megahertz == 0 {
        return Err(not_offered("CPUID 16h says nothing", "CPUID 16h"));
    }
    Ok(f64::from(megahertz) * 1e6)
}

/// The first P-state register of AMD CPUs.
const PSTATE_0: u32 = 0xc001_0064;

fn highest_pstate(survey: &Survey<'_>) -> Reading<f64> {
    let unknown = |why| Unavailable::new(Obstacle::Hardware, "P-state 0", why);
    let (maker, signature) = identity(survey)?;
    if maker != Maker::Amd {
        return Err(unknown("only CPUs of AMD have the register C0010064h"));
    }
    let value = register(survey, first_cpu(survey)?, PSTATE_0)?;
    pstate_hertz(signature.family, value).ok_or_else(|| unknown("it is not in use"))
}

/// The frequency of a P-state; P0 is base.
///
/// # Unit
/// Hertz.
///
/// # Source
/// AMD processor programming references, `Core::X86::Msr::PStateDef`: families 17h and 19h
/// 200 MHz x `CpuFid[7:0]` / `CpuDfsId[5:0]`, family 1Ah 5 MHz x `CpuFid[11:0]`; bit 63 in use.
fn pstate_hertz(family: u32, value: u64) -> Option<f64> {
    if bits(value, 63, 1) == 0 {
        return None;
    }
    let hertz = match family {
        0x17..=0x19 => {
            let divisor = bits(value, 8, 6);
            // Below 8 is off, or reserved.
            (divisor >= 8).then(|| bits(value, 0, 8) as f64 * 200e6 / divisor as f64)
        }
        0x1a => Some(bits(value, 0, 12) as f64 * 5e6),
        _ => None,
    };
    hertz.map(f64::round).filter(|hertz| PLAUSIBLE_HERTZ.contains(hertz))
}

pub(crate) fn no_cpufreq(survey: &Survey<'_>) -> Unavailable {
    if survey.is_copied() {
        return no_file(survey, "", "/sys/devices/system/cpu/cpufreq");
    }
    if let Err(reason) = survey.sysfs() {
        return reason;
    }
    if survey.is_guest() {
        return hidden_from_guest(survey, "cpufreq");
    }
    let absent = |why: &str| {
        let why = format!("the kernel offers no cpufreq here: {why}");
        Unavailable::new(Obstacle::Permission, "cpufreq", why)
    };
    match survey.architecture() {
        Some(Architecture::X86) => {
            let load = to_load(survey, "acpi-cpufreq");
            let remedy = load.map(|load| format!("where ACPI describes P-states, {load}"));
            Unavailable { remedy, ..absent("no driver is loaded") }
        }
        Some(Architecture::S390) => {
            Unavailable { obstacle: Obstacle::Hardware, ..absent("s390 has no driver for it") }
        }
        _ => absent("no driver is loaded"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn base_frequencies_of_amd_by_family() {
        for (family, value, megahertz) in [
            (0x17, 0x8000_0000_4517_8a64, 2000.0),
            (0x17, 0x8000_0000_4592_085a, 2250.0),
            (0x19, 0x8000_0000_4620_c860, 2400.0),
            (0x1a, 0x8000_0000_4ab2_435c, 4300.0),
        ] {
            assert_eq!(pstate_hertz(family, value), Some(megahertz * 1e6));
        }
        assert_eq!(pstate_hertz(0x19, 0x0000_0000_4620_c860), None);
        assert_eq!(pstate_hertz(0x15, u64::MAX), None);
    }

    #[test]
    fn one_megahertz_above_base_stands_for_turbo() {
        assert!(stands_for_turbo(2.101e9, 2.1e9));
        assert!(!stands_for_turbo(3_800_241e3, 3.25e9));
    }

    proptest! {
        #[test]
        fn any_register_is_a_frequency_or_none(family in 0u32..64, value: u64) {
            if let Some(hertz) = pstate_hertz(family, value) {
                prop_assert!(PLAUSIBLE_HERTZ.contains(&hertz));
            }
        }
    }
}
