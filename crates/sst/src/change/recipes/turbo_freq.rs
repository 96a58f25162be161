//! Turbo frequencies of two kinds of cores, and the turbo limits that hold at most.

use levers::plan::PlannedWrite;
use machine::isst::settable::{ClassText, What, features_text, limits_of, limits_text};
use model::CpuSet;

use super::super::clocks::{LOW, allowed, asleep_of, of_classes};
use super::super::ground::{Ground, LOOK, modules_of, registers};
use super::super::{Refused, Steps};
use super::base_freq::{both, needs_priorities, overwritten, stale_beside, without_priorities};
use super::core_power::{all_switches, asleep, classes, cores};
use crate::model::{Domain, Level, Megahertz, Modules, On};

/// No limit by software.
const OPEN: u64 = u64::MAX;

pub(super) fn enable(
    ground: &Ground<'_>,
    auto: bool,
    limits: Option<u64>,
) -> Result<Steps, Refused> {
    if !ground.allows_turbo() {
        let hint = "first `cpudyno set no_turbo=off`, or boost=on";
        return Err(ground.wish.order("turbo is switched off", hint));
    }
    let mut steps = Steps::default();
    let domains = ground.having(|features| features.turbo_freq)?;
    for domain in &domains {
        if auto {
            let chosen = chosen(ground)?;
            steps.firmware.extend(prioritised(ground, domain, chosen)?);
            steps.remarks.extend(asleep(ground, domain));
        } else {
            needs_priorities(ground, domain, "turbo-freq")?;
            steps.remarks.extend(crowded(ground, domain, of_classes(domain, 0..LOW)));
        }
    }
    // Without it the firmware would not know whom to choose.
    if auto || ground.wish.lenient {
        steps.firmware.extend(all_switches(ground, true, true)?);
    }
    if auto {
        steps.remarks.extend(overwritten(&domains));
        steps.remarks.extend(stale_beside(ground, &domains));
    }
    for domain in &domains {
        let On { base_freq: base, turbo_freq } = ground.on(domain)?;
        steps.remarks.extend((base && !turbo_freq).then(|| both(ground, "base-freq", domain)));
        steps.firmware.push(ground.step(domain, What::Features, features_text(base, true))?);
    }
    for sharing in sharing(ground, &domains) {
        steps.firmware.push(held_at_most(ground, sharing[0], limits.unwrap_or(OPEN))?);
    }
    Ok(steps)
}

/// Power domains that share the register of the turbo limits that hold at most.
fn sharing<'s, 'd>(
    ground: &Ground<'_>,
    domains: &'s [&'d Domain],
) -> impl Iterator<Item = &'s [&'d Domain]> {
    let of = |domain: &Domain| registers(&ground.snapshot, domain);
    domains.chunk_by(move |a, b| of(a) == of(b))
}

/// The turbo limits that hold at most, as they were named.
fn held_at_most(
    ground: &Ground<'_>,
    domain: &Domain,
    limits: u64,
) -> Result<PlannedWrite, Refused> {
    let step = ground.step(domain, What::TurboLimits, limits_text(limits))?;
    let byte = |word: u64, place: usize| word.to_le_bytes()[place];
    // The level says which groups there are; where it does not, the register does.
    let told = of_level(ground.current(domain)?);
    let has = |at: usize, now: u64| {
        let is_told = told.iter().any(Option::is_some);
        if is_told { told[at].is_some() } else { byte(now, at) > 0 }
    };
    let now = held(ground, &step, domain)?;
    if let Some(group) = (0..8).find(|&at| byte(limits, at) == 0 && (limits == 0 || has(at, now))) {
        let why = format!("a limit of 0 stops all cores of group {group}, and {limits:#x} has one");
        let hint = "a byte is a ratio of 100 MHz, that of the fewest active cores lowest: \
                    `cpudyno sst --compat turbo-mode get-trl` shows those at present";
        return Err(ground.wish.usage(why, hint));
    }
    Ok(step)
}

/// What the register of a step holds.
fn held(ground: &Ground<'_>, step: &PlannedWrite, domain: &Domain) -> Result<u64, Refused> {
    let text = step.object.read(ground.machine);
    let text = ground.read(&text, domain)?;
    limits_of(text).ok_or_else(|| {
        let why = format!("{} holds `{text}`, which are no limits", step.object);
        ground.wish.not_here(why, LOOK)
    })
}

fn chosen<'g>(ground: &'g Ground<'_>) -> Result<&'g CpuSet, Refused> {
    ground.wish.cpus.as_ref().ok_or_else(|| {
        let hint = "name them before the feature: cpudyno sst -c 12,13 turbo-freq enable -a";
        ground.wish.usage("no CPUs were named to go first", hint)
    })
}

/// The chosen cores in the first class, all others of the power domain in the last.
fn prioritised(
    ground: &Ground<'_>,
    domain: &Domain,
    chosen: &CpuSet,
) -> Result<Vec<PlannedWrite>, Refused> {
    let level = ground.current(domain)?;
    let it = ground.known(level.turbo_freq.as_ref(), domain)?;
    let first = modules_of(domain, chosen);
    let most = it.buckets.last().map_or(0, |bucket| bucket.cores);
    if first.count() > most.into() {
        let why = format!(
            "{} cores of {} are to go first, and level {} has frequencies for {most} at most",
            first.count(),
            domain.place(),
            level.number
        );
        return Err(ground.wish.not_here(why, "choose fewer: `cpudyno sst turbo-freq info`"));
    }
    let without = Modules(first.0 & !allowed(level, domain).0);
    // The reference tool does it all the same.
    if without.count() > 0 && !ground.wish.lenient {
        let why = format!(
            "level {} of {} excludes {} of the cores that are to go first",
            level.number,
            domain.place(),
            without.count()
        );
        let hint = "choose others: `cpudyno sst perf-profile info` shows the CPUs of each level";
        return Err(ground.wish.not_here(why, hint));
    }
    let class = |number: u8| match number {
        0 => ClassText { epp: Some(0), ..ClassText::default() },
        _ => ClassText { weight: 15, epp: Some(15), ..ClassText::default() },
    };
    let mut steps = classes(ground, domain, class)?;
    steps.extend(cores(ground, domain, first, 0)?);
    // Whoever is not chosen goes last, also where the kernel does not use it at present.
    steps.extend(cores(ground, domain, Modules(domain.classed().0 & !first.0), 3)?);
    Ok(steps)
}

/// What to know of the cores that go first by the classes that are there, when these are in classes 0 and 1: that they
/// are more than there are frequencies for, or that some of them are asleep.
pub(super) fn crowded(ground: &Ground<'_>, domain: &Domain, first: Modules) -> Option<String> {
    let level = ground.current(domain).ok()?;
    let most: u32 = level.turbo_freq.as_ref()?.as_ref().ok()?.buckets.last()?.cores.into();
    let asleep = asleep_of(domain, 0..LOW);
    let (cores, place) = (first.count() + asleep, domain.place());
    let hint = "`cpudyno sst -c LIST turbo-freq enable -a` lets only those of LIST go first";
    if cores > most {
        let without = match asleep {
            0 => String::new(),
            asleep => format!(" ({asleep} of them without an online CPU)"),
        };
        return Some(format!(
            "{cores} cores of {place} go first (classes 0 and 1){without}, but level {} has \
             frequencies for at most {most}: {hint}",
            level.number
        ));
    }
    let (word, are) = if asleep == 1 { ("core", "is") } else { ("cores", "are") };
    (asleep > 0).then(|| {
        format!(
            "{asleep} {word} of {place} without an online CPU {are} in classes 0 and 1, in \
             addition to {} that go first: firmware may count them, which lowers clocks: {hint}",
            first.count()
        )
    })
}

pub(super) fn disable(
    ground: &Ground<'_>,
    auto: bool,
    limits: Option<u64>,
) -> Result<Steps, Refused> {
    let mut steps = Steps::default();
    let domains = ground.able(|features| features.turbo_freq)?;
    for domain in &domains {
        let base = ground.on(domain)?.base_freq;
        steps.firmware.push(ground.step(domain, What::Features, features_text(base, false))?);
    }
    for sharing in sharing(ground, &domains) {
        match limits {
            Some(limits) => steps.firmware.push(held_at_most(ground, sharing[0], limits)?),
            None => usual(ground, sharing[0], &mut steps)?,
        }
    }
    if auto {
        let others = |on: On| On { turbo_freq: false, ..on };
        without_priorities(ground, &domains, &mut steps, false, others)?;
    }
    Ok(steps)
}

/// The turbo limits of the levels again, unless turbo-freq of another power domain needs more.
fn usual(ground: &Ground<'_>, domain: &Domain, steps: &mut Steps) -> Result<(), Refused> {
    let register = registers(&ground.snapshot, domain);
    let all = ground.snapshot.domains.iter().filter(|it| !it.cpus.is_empty());
    let all = all.filter(|it| registers(&ground.snapshot, it) == register);
    let mut most: [Option<u8>; 8] = [None; 8];
    for it in all {
        if !ground.is_target(it) && ground.on(it)?.turbo_freq {
            let why = format!(
                "turbo limits of package {} stay as they are: turbo-freq of {} needs them",
                it.package,
                it.place()
            );
            steps.remarks.push(why);
            return Ok(());
        }
        for (most, limit) in most.iter_mut().zip(of_level(ground.current(it)?)) {
            *most = limit.max(*most);
        }
    }
    if most.iter().all(Option::is_none) {
        let why = format!("the level of {} reports no turbo limits", domain.place());
        return Err(ground.wish.not_here(why, "name the limits: -t 0x..."));
    }
    let step = ground.step(domain, What::TurboLimits, limits_text(OPEN))?;
    let limits = with(held(ground, &step, domain)?, most);
    steps.firmware.push(PlannedWrite { wanted: limits_text(limits), ..step });
    Ok(())
}

/// The turbo limits that hold at most, where somebody set them to less than levels tell, or levels do not say what
/// holds: with turbo-freq on.
pub(in super::super) fn lowered(
    ground: &Ground<'_>,
    domain: &Domain,
) -> Result<Option<u64>, Refused> {
    let Ok(step) = ground.step(domain, What::TurboLimits, String::new()) else { return Ok(None) };
    let Ok(limits) = held(ground, &step, domain) else { return Ok(None) };
    if ground.on(domain)?.turbo_freq {
        return Ok(Some(limits));
    }
    let register = registers(&ground.snapshot, domain);
    let all = ground.snapshot.domains.iter().filter(|it| !it.cpus.is_empty());
    let sharing = all.filter(|it| registers(&ground.snapshot, it) == register);
    let levels: Vec<_> =
        sharing.map(|it| ground.current(it).map(of_level)).collect::<Result<_, _>>()?;
    // What belongs to the level of another power domain is nobody's limit.
    let is_lower = |(group, ratio): (usize, u8)| {
        ratio > 0 && levels.iter().all(|told| told[group].is_some_and(|told| ratio < told))
    };
    let bytes = limits.to_le_bytes();
    Ok(bytes.into_iter().enumerate().any(is_lower).then_some(limits))
}

/// Turbo limits with those that are told; the others stay as they are.
fn with(limits: u64, told: [Option<u8>; 8]) -> u64 {
    let mut bytes = limits.to_le_bytes();
    for (byte, limit) in bytes.iter_mut().zip(told) {
        *byte = limit.unwrap_or(*byte);
    }
    u64::from_le_bytes(bytes)
}

/// The turbo limits of a level for the weakest instructions, ratios of 100 MHz, as far as it tells them.
fn of_level(level: &Level) -> [Option<u8>; 8] {
    let turbo = level.properties.as_ref().and_then(|properties| properties.turbo.first());
    let limits = turbo.and_then(|turbo| turbo.limits.as_ref().ok());
    let ratio = |mhz: Option<Megahertz>| {
        mhz.and_then(|mhz| u8::try_from(mhz.0 / 100).ok()).filter(|ratio| *ratio > 0)
    };
    limits.map_or([None; 8], |limits| limits.map(ratio))
}

/// The turbo limits that hold at most.
pub(super) fn limits(ground: &Ground<'_>, limits: u64) -> Result<Steps, Refused> {
    let domains = ground.compute()?;
    let each = sharing(ground, &domains);
    let firmware = each.map(|sharing| held_at_most(ground, sharing[0], limits));
    Ok(Steps { firmware: firmware.collect::<Result<_, _>>()?, ..Steps::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_nobody_tells_stay() {
        let told = [Some(0x20), None, Some(0x1f), None, None, None, None, None];
        assert_eq!(with(0xffff_ffff_ffff_ffff, told), 0xffff_ffff_ff1f_ff20);
        assert_eq!(with(0x1d1d, [None; 8]), 0x1d1d);
    }
}
