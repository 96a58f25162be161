//! Turbo frequencies of two kinds of cores, and the turbo limits that hold at most.

use levers::plan::Step;
use machine::isst::settable::{ClassText, What, features_text, limits_text};
use model::CpuSet;

use super::super::ground::{Ground, LOOK, modules_of, place};
use super::super::{Refused, Steps};
use super::base_freq::{needs_priorities, overwritten, without_priorities};
use super::core_power::{all_switches, classes, cores};
use crate::model::{Domain, Level, Modules};

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
        } else {
            needs_priorities(ground, domain, "turbo-freq")?;
        }
    }
    // Without it the firmware would not know whom to choose.
    if auto || ground.wish.lenient {
        steps.firmware.extend(all_switches(ground, true, true)?);
    }
    if auto {
        steps.remarks.extend(overwritten(&domains));
    }
    for domain in domains {
        let base = ground.on(domain)?.base_freq;
        steps.firmware.push(ground.step(domain, What::Features, features_text(base, true))?);
        let text = limits_text(limits.unwrap_or(OPEN));
        steps.firmware.push(ground.step(domain, What::TurboLimits, text)?);
    }
    Ok(steps)
}

fn chosen<'g>(ground: &'g Ground<'_>) -> Result<&'g CpuSet, Refused> {
    ground.wish.cpus.as_ref().ok_or_else(|| {
        let hint = "name them before the feature: cpudyno sst -c 12,13 turbo-freq enable -a";
        ground.wish.usage("nobody said which CPUs are to go first", hint)
    })
}

/// The chosen cores in the first class, all others of the power domain in the last.
fn prioritised(
    ground: &Ground<'_>,
    domain: &Domain,
    chosen: &CpuSet,
) -> Result<Vec<Step>, Refused> {
    let level = ground.current(domain)?;
    let it = ground.known(level.turbo_freq.as_ref(), domain)?;
    let first = modules_of(domain, chosen);
    let most = it.buckets.last().map_or(0, |bucket| bucket.cores);
    if first.count() > most.into() {
        let why = format!(
            "{} cores of {} are to go first, and level {} has frequencies for {most} at most",
            first.count(),
            place(domain),
            level.number
        );
        return Err(ground.wish.not_here(why, "choose fewer: `cpudyno sst turbo-freq info`"));
    }
    let class = |number: u8| match number {
        0 => ClassText { epp: Some(0), ..ClassText::default() },
        _ => ClassText { weight: 15, epp: Some(15), ..ClassText::default() },
    };
    let mut steps = classes(ground, domain, class)?;
    steps.extend(cores(ground, domain, first, 0)?);
    steps.extend(cores(ground, domain, Modules(domain.modules().0 & !first.0), 3)?);
    Ok(steps)
}

pub(super) fn disable(
    ground: &Ground<'_>,
    auto: bool,
    limits: Option<u64>,
) -> Result<Steps, Refused> {
    let mut steps = Steps::default();
    for domain in ground.having(|features| features.turbo_freq)? {
        let base = ground.on(domain)?.base_freq;
        steps.firmware.push(ground.step(domain, What::Features, features_text(base, false))?);
        let level = ground.current(domain)?;
        let limits = match limits {
            Some(limits) => limits,
            None => of_level(level).ok_or_else(|| {
                let why =
                    format!("level {} of {} tells no turbo limits", level.number, place(domain));
                ground.wish.not_here(why, "say which are to hold: -t 0x...")
            })?,
        };
        steps.firmware.push(ground.step(domain, What::TurboLimits, limits_text(limits))?);
    }
    if auto {
        without_priorities(ground, &mut steps, false, |on| on.base_freq)?;
    }
    Ok(steps)
}

/// The turbo limits of a level for the weakest instructions, a ratio in each byte.
fn of_level(level: &Level) -> Option<u64> {
    let turbo = level.properties.as_ref()?.turbo.first()?;
    let limits = turbo.limits.as_ref().ok()?;
    let ratios = limits.iter().map(|limit| u64::from(limit.map_or(0, |mhz| mhz.0 / 100)));
    Some(ratios.enumerate().fold(0, |word, (place, ratio)| word | (ratio & 0xff) << (8 * place)))
}

/// The turbo limits that hold at most.
pub(super) fn limits(ground: &Ground<'_>, limits: u64) -> Result<Steps, Refused> {
    if limits == 0 {
        return Err(ground.wish.usage("limits of 0 let no core run", LOOK));
    }
    let mut firmware = Vec::new();
    for domain in ground.compute()? {
        firmware.push(ground.step(domain, What::TurboLimits, limits_text(limits))?);
    }
    Ok(Steps { firmware, ..Steps::default() })
}
