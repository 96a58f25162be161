//! The highest clock of each CPU as the kernel claims it, held against what else is known of it: registers, CPUID,
//! levels of the firmware. What one of them refutes is not believed, and said.

use std::collections::BTreeMap;

use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::boost;
use super::cppc::{Boosted, boosted_by_hwp, boosted_by_levels};
use super::frequency::{self, gigahertz, stands_for_turbo, turbo_without_number};
use super::groups::alike;
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("cpu.disputed_clocks", "Disputed clocks", |s| disputes(s).map(text)),
];

/// Where the kernel claims it.
pub(crate) const BY_KERNEL: &str = "cpuinfo_max_freq";

/// No CPU is sold with a higher clock, in hertz.
const SOLD_MAX: f64 = 6.5e9;

/// Whether it is a clock that a CPU may have.
pub(crate) fn is_sold(hertz: f64) -> bool {
    hertz <= SOLD_MAX
}

/// Ratios are multiples of 100 MHz, and kernels round.
const SAME: f64 = 0.01;

/// What is claimed of the CPUs.
#[derive(Default)]
pub(crate) struct Claimed {
    /// The clock of each, in hertz, or why there is none.
    of: BTreeMap<CpuId, Reading<f64>>,
    /// Where it is claimed.
    files: BTreeMap<CpuId, &'static str>,
    /// Claims that are not believed, or doubted, each once.
    refuted: Vec<Refuted>,
}

/// A claim that something else refutes.
struct Refuted {
    /// The CPUs that it is made of, and their claims in hertz.
    claims: Vec<(CpuId, f64)>,
    /// The file that makes it.
    file: &'static str,
    /// What is wrong with it.
    why: String,
}

impl Claimed {
    /// The clock of a CPU, as far as it is believed.
    pub(crate) fn of(&self, cpu: CpuId) -> Reading<f64> {
        self.of.get(&cpu).cloned().unwrap_or_else(|| Err(super::topology::nothing_known()))
    }

    /// Believed, though something that may be out of date says something else.
    fn doubt(&mut self, claims: &[(CpuId, f64)], why: String) {
        if !claims.is_empty() {
            let file = self.file_of(claims);
            self.refuted.push(Refuted { claims: claims.to_vec(), file, why });
        }
    }

    /// Where the first of these is made.
    fn file_of(&self, claims: &[(CpuId, f64)]) -> &'static str {
        let file = claims.first().and_then(|(cpu, _)| self.files.get(cpu));
        file.copied().unwrap_or(BY_KERNEL)
    }

    /// Not believed of any of these claims: `instead` stands, where there is something.
    fn refute(&mut self, claims: &[(CpuId, f64)], instead: Option<f64>, why: String) {
        if claims.is_empty() {
            return;
        }
        let file = self.file_of(claims);
        let is_alike = |known: &Refuted| known.why == why && known.file == file;
        let alike = self.refuted.iter().position(is_alike);
        let new = Refuted { claims: Vec::new(), file, why };
        let mut refuted = alike.map_or(new, |known| self.refuted.remove(known));
        refuted.claims.extend(claims);
        for (cpu, _) in claims {
            let absent =
                || Unavailable::new(Obstacle::Cpudyno, "highest frequency", refuted.said());
            self.of.insert(*cpu, instead.ok_or_else(absent));
        }
        self.refuted.push(refuted);
    }
}

impl Refuted {
    fn said(&self) -> String {
        let cpus: CpuSet = self.claims.iter().map(|(cpu, _)| *cpu).collect();
        let hertz = range(self.claims.iter().map(|(_, hertz)| *hertz)).unwrap_or_default();
        format!("`{}` claims {hertz} of {}, {}", self.file, cpus.named(), self.why)
    }
}

/// `3.32 to 3.38 GHz`.
pub(super) fn range(hertz: impl Iterator<Item = f64> + Clone) -> Option<String> {
    let [low, high] = [hertz.clone().reduce(f64::min)?, hertz.reduce(f64::max)?].map(gigahertz);
    let is_one = low.to_bits() == high.to_bits();
    Some(if is_one { format!("{high} GHz") } else { format!("{low} to {high} GHz") })
}

/// What the kernel claims, CPU by CPU.
pub(crate) fn claimed(survey: &Survey<'_>) -> Claimed {
    let base = frequency::highest_table_entry(survey).ok();
    let mut claimed = Claimed::default();
    for policy in &survey.policies().all {
        let hertz = policy.highest(survey).and_then(|(hertz, file)| match base {
            Some(base) if stands_for_turbo(hertz, base) => Err(turbo_without_number(survey, hertz)),
            _ => {
                claimed.files.extend(policy.cpus.iter().map(|cpu| (cpu, file)));
                Ok(hertz)
            }
        });
        claimed.of.extend(policy.cpus.iter().map(|cpu| (cpu, hertz.clone())));
    }
    for cpus in alike(survey) {
        let claims = cpus.iter().filter_map(|cpu| Some((cpu, claimed.of(cpu).ok()?)));
        for claims in by_limit(survey, claims.collect()) {
            hold_against(survey, &mut claimed, &claims);
        }
    }
    claimed
}

/// The claims of CPUs with the same turbo table: packages may have their own.
fn by_limit(survey: &Survey<'_>, claims: Vec<(CpuId, f64)>) -> Vec<Vec<(CpuId, f64)>> {
    let limits = survey.turbo_limits().unwrap_or_default();
    let mut of: BTreeMap<Option<usize>, Vec<(CpuId, f64)>> = BTreeMap::new();
    for claim in claims {
        let limit = limits.iter().position(|limit| limit.cpus.contains(claim.0));
        of.entry(limit).or_default().push(claim);
    }
    of.into_values().collect()
}

/// Holds the claims of CPUs that are alike against what else is known of them.
fn hold_against(survey: &Survey<'_>, claimed: &mut Claimed, claims: &[(CpuId, f64)]) {
    let beyond = |most: f64| -> Vec<(CpuId, f64)> {
        claims.iter().filter(|(_, hertz)| *hertz > most).copied().collect()
    };
    let lowest = claims.iter().map(|(_, hertz)| *hertz).fold(f64::INFINITY, f64::min);
    let highest = claims.iter().map(|(_, hertz)| *hertz).fold(0.0, f64::max);
    let Some(&(first, _)) = claims.first() else { return };
    if let Some((hertz, source)) = by_registers(survey, first) {
        let said = format!("{} GHz by {source}", gigahertz(hertz));
        let beyond: Vec<(CpuId, f64)> = beyond(hertz * (1.0 + SAME))
            .into_iter()
            .filter(|(cpu, claim)| !is_sold_as_favoured(survey, *cpu, *claim, hertz))
            .collect();
        claimed.refute(&beyond, Some(hertz), format!("which reach {said}"));
        if highest < hertz * (1.0 - SAME) && is_base(survey, first, highest) {
            let why = format!("which is their base, while boost is not off; they reach {said}");
            claimed.refute(claims, Some(hertz), why);
        } else if highest < hertz * (1.0 - SAME)
            && !boost::is_boost_off(survey)
            && !is_near_base(survey, first, highest)
        {
            claimed.doubt(
                claims,
                format!("less than they reach by {source}, {} GHz", gigahertz(hertz)),
            );
        }
    } else if by_acpi(survey) && boost::is_boost_on(survey) && is_all_of_table(survey, highest) {
        let why = "which is their base, while boost is on: their highest clock is unknown";
        claimed.refute(claims, None, why.to_owned());
    } else if let Some(source) = made_of_ranks(survey, claims) {
        let why = format!(
            "which the kernel made of ranks of favoured cores ({source}): all of them are known to reach {} GHz \
             alone",
            gigahertz(lowest)
        );
        let instead = Some(lowest).filter(|hertz| *hertz <= SOLD_MAX);
        claimed.refute(&beyond(if instead.is_some() { lowest } else { 0.0 }), instead, why);
    } else if let Some((most, boosted)) = by_levels(survey, claims, highest) {
        let why = format!("which reach {} GHz by {}", gigahertz(boosted.hertz), boosted.source);
        claimed.refute(&beyond(most), Some(boosted.hertz), why);
    } else if highest > SOLD_MAX {
        // Who is wrong of one core is not believed of its like.
        let instead = Some(lowest).filter(|hertz| *hertz <= SOLD_MAX);
        let why = format!("and no CPU is sold with more than {} GHz", gigahertz(SOLD_MAX));
        claimed.refute(&beyond(if instead.is_some() { lowest } else { 0.0 }), instead, why);
    } else if let Some(hertz) = by_cpuid(survey, first) {
        let why = format!("and CPUID 16h {} GHz", gigahertz(hertz));
        claimed.doubt(&beyond(hertz * 1.1), why);
    }
    let least = frequency::lowest_of(survey, first);
    if let Some(least) = least.filter(|least| highest < *least) {
        let why = format!("less than their lowest, {} GHz", gigahertz(least));
        claimed.refute(claims, by_registers(survey, first).map(|(hertz, _)| hertz), why);
    }
}

/// The clock of one active core by the registers, and which these are.
fn by_registers<'a>(survey: &'a Survey<'_>, cpu: CpuId) -> Option<(f64, &'a str)> {
    let limits = survey.turbo_limits().ok()?;
    let limit = limits.iter().find(|limit| limit.cpus.contains(cpu))?;
    let most = limit.steps.iter().map(|step| step.hertz).reduce(f64::max)?;
    Some((most, limit.source.as_str()))
}

/// How far a CPU comes by levels of the firmware, else by what the driver of AMD makes of them. Registers of HWP have no
/// unit but the base that the kernel makes of one of their levels.
fn boosted(survey: &Survey<'_>, cpu: CpuId) -> Option<Boosted> {
    let by_hwp = || {
        frequency::base_of_policy(survey, cpu)?;
        boosted_by_hwp(survey, cpu)
    };
    let by_driver = || {
        let policy = survey.policies().all.iter().find(|policy| policy.cpus.contains(cpu))?;
        let hertz = policy.hertz(survey, frequency::BY_DRIVER).ok()?;
        Some(Boosted { hertz, step: 0.0, source: frequency::BY_DRIVER })
    };
    boosted_by_levels(survey, cpu).or_else(by_hwp).or_else(by_driver)
}

/// How far levels let these CPUs come, where they claim more: what can be believed at most, and what is stated.
fn by_levels(survey: &Survey<'_>, claims: &[(CpuId, f64)], highest: f64) -> Option<(f64, Boosted)> {
    let stated = claims.iter().filter_map(|(cpu, _)| boosted(survey, *cpu));
    let furthest = stated.max_by(|a, b| a.hertz.total_cmp(&b.hertz))?;
    let most = furthest.hertz * (1.0 + furthest.step + SAME);
    (is_sold(furthest.hertz) && highest > most).then_some((most, furthest))
}

/// Whether registers of HWP state this much beyond the turbo table: favoured cores of Turbo Boost Max 3.0 reach a few
/// steps more. Levels of which kernels make far more are no ratios.
///
/// # Source
/// Linux, drivers/cpufreq/intel_pstate.c, `intel_pstate_set_itmt_prio`; Intel SDM volume 4, 771h.
fn is_sold_as_favoured(survey: &Survey<'_>, cpu: CpuId, claim: f64, table: f64) -> bool {
    const MORE_MAX: f64 = 1.15;
    /// Of low levels one step more is so much.
    const STEP: f64 = 0.08;
    let most = boosted_by_hwp(survey, cpu).map(|most| most.hertz);
    let most = most.filter(|most| *most <= table * (MORE_MAX + STEP));
    most.is_some_and(|most| claim <= (most * (1.0 + STEP)).min(table * MORE_MAX))
}

/// Whether the driver knows what ACPI tables list.
fn by_acpi(survey: &Survey<'_>) -> bool {
    frequency::driver(survey).is_ok_and(|driver| frequency::is_of_acpi(&driver))
}

/// Whether a clock is that without boost, though boost is on.
fn is_base(survey: &Survey<'_>, cpu: CpuId, hertz: f64) -> bool {
    boost::is_boost_on(survey) && is_near_base(survey, cpu, hertz)
}

fn is_near_base(survey: &Survey<'_>, cpu: CpuId, hertz: f64) -> bool {
    frequency::base_of(survey, cpu).is_some_and(|base| hertz <= base * (1.0 + SAME))
}

/// Whether that is the end of the firmware's table, which leaves boost out.
///
/// # Source
/// Linux, drivers/cpufreq/acpi-cpufreq.c, `acpi_cpufreq_cpu_init`: the highest clock is the table's, unless `_CPC` tells
/// by how much boost is more.
fn is_all_of_table(survey: &Survey<'_>, hertz: f64) -> bool {
    frequency::highest_table_entry(survey).is_ok_and(|most| (hertz / most - 1.0).abs() <= SAME)
}

/// The highest clock that CPUID states, where that is more than base: it is a formality in guests.
fn by_cpuid(survey: &Survey<'_>, cpu: CpuId) -> Option<f64> {
    if survey.is_guest() {
        return None;
    }
    let [base, most] = [
        frequency::by_cpuid(survey, cpu, |leaf| leaf.eax),
        frequency::by_cpuid(survey, cpu, |leaf| leaf.ebx),
    ];
    let (base, most) = (base.ok()?, most.ok()?);
    (most > base).then_some(most)
}

/// Who states the ranks that these claims are in proportion to, where such are no clocks.
///
/// # Source
/// Linux, arch/x86/kernel/acpi/cppc.c, `amd_get_boost_ratio_numerator`: levels of preferred cores are no clocks, and
/// drivers that scale by them (`acpi-cpufreq`, before that function) make up clocks.
fn made_of_ranks(survey: &Survey<'_>, claims: &[(CpuId, f64)]) -> Option<&'static str> {
    let levels = survey.highest_levels().ok()?;
    let known: BTreeMap<CpuId, u32> = levels.of.iter().copied().collect();
    let ranked = claims.iter().map(|(cpu, hertz)| Some((*hertz, *known.get(cpu)?)));
    let ranked: Vec<(f64, u32)> = ranked.collect::<Option<_>>()?;
    let &(hertz, level) = ranked.first()?;
    let in_proportion = |(of, rank): &(f64, u32)| {
        let expected = hertz * f64::from(*rank) / f64::from(level);
        (of / expected - 1.0).abs() <= SAME
    };
    let differ = ranked.iter().any(|(_, rank)| *rank != level);
    let absurd = || ranked.iter().any(|(hertz, _)| *hertz > SOLD_MAX);
    let made = differ && ranked.iter().all(in_proportion) && (by_acpi(survey) || absurd());
    made.then_some(levels.source)
}

/// Claims that contradict each other, or something that is known.
fn disputes(survey: &Survey<'_>) -> Reading<String> {
    let claimed = survey.claimed_clocks();
    if claimed.of.is_empty() {
        let why = "the kernel claims no clocks here";
        return Err(Unavailable::new(Obstacle::Hardware, "disputed clocks", why));
    }
    let mut said: Vec<String> = claimed.refuted.iter().map(Refuted::said).collect();
    said.extend(below_the_lowest(survey));
    said.dedup();
    Ok(if said.is_empty() { "none".to_owned() } else { said.join("; ") })
}

/// A range that the kernel allows, and that ends below where it begins, or where the clocks do.
fn below_the_lowest(survey: &Survey<'_>) -> Option<String> {
    let policies = &survey.policies().all;
    policies.iter().find_map(|policy| {
        let hertz = |file| policy.hertz(survey, file).ok();
        let most = hertz("scaling_max_freq")?;
        let begins = ["cpuinfo_min_freq", "scaling_min_freq"].into_iter();
        let mut begins = begins.filter_map(|file| Some((file, hertz(file)?)));
        let (file, least) = begins.find(|(_, least)| most < least * (1.0 - SAME))?;
        Some(format!(
            "`scaling_max_freq` allows {} GHz at most on {}, less than `{file}`, {} GHz",
            gigahertz(most),
            policy.cpus.named(),
            gigahertz(least)
        ))
    })
}
