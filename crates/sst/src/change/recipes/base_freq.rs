//! Base frequencies of two kinds of cores.

use levers::plan::PlannedWrite;
use machine::isst::settable::{ClassText, What, features_text};

use super::super::ground::Ground;
use super::super::limits::placed;
use super::super::{Refused, Steps};
use super::core_power::{all_switches, asleep, classes, cores, stale, switches};
use crate::model::{BaseFreq, Domain, Modules, On};

pub(super) fn enable(ground: &Ground<'_>, auto: bool) -> Result<Steps, Refused> {
    let mut steps = Steps::default();
    let mut hidden = None;
    let domains = ground.having(|features| features.base_freq)?;
    for domain in &domains {
        let level = ground.current(domain)?;
        if !auto {
            needs_priorities(ground, domain, "base-freq")?;
            continue;
        }
        let it = ground.known(level.base_freq.as_ref(), domain)?;
        steps.firmware.extend(prioritised(ground, domain, it)?);
        steps.remarks.extend(asleep(ground, domain));
        steps.limits.extend(ground.raised(domain, level));
        hidden = hidden.or_else(|| ground.hidden(domain, level, true));
    }
    if auto {
        steps.firmware.extend(all_switches(ground, true, true)?);
        steps.remarks.extend(overwritten(&domains));
        steps.remarks.extend(stale_beside(ground, &domains));
    }
    for domain in domains {
        let On { turbo_freq: turbo, base_freq } = ground.on(domain)?;
        steps.remarks.extend((turbo && !base_freq).then(|| both(ground, "turbo-freq", domain)));
        steps.firmware.push(ground.step(domain, What::Features, features_text(true, turbo))?);
    }
    steps.remarks.extend(hidden);
    if ground.allows_turbo() {
        steps.remarks.push(
            "turbo is on: clocks show a base frequency only where power runs short, or with \
             `cpudyno set no_turbo=on`"
                .to_owned(),
        );
    }
    Ok(steps)
}

/// No processor says beforehand whether it has both.
pub(super) fn both(ground: &Ground<'_>, other: &str, domain: &Domain) -> String {
    format!(
        "{other} of {} is on, and a processor may not support both at once: if firmware refuses, \
         everything is put back; then `{} {other} disable` first",
        domain.place(),
        ground.wish.face()
    )
}

/// Core-power comes first, where nobody asked to have it done.
pub(super) fn needs_priorities(
    ground: &Ground<'_>,
    domain: &Domain,
    feature: &str,
) -> Result<(), Refused> {
    if Ground::heeds_priorities(domain) || ground.wish.lenient {
        return Ok(());
    }
    let why = format!("core-power is off in {}, and {feature} needs it", domain.place());
    let face = ground.wish.face();
    // Somebody has to go first.
    let is_nobody = feature == "turbo-freq" && ground.wish.cpus.is_none();
    let chosen = if is_nobody { " -c LIST" } else { "" };
    let hint = format!(
        "first `{face} core-power enable -p 1`, with classes and their cores; or all at once: \
         `{face}{chosen} {feature} enable -a`"
    );
    Err(ground.wish.order(why, hint))
}

/// Classes for the two kinds of cores, and who is in which.
fn prioritised(
    ground: &Ground<'_>,
    domain: &Domain,
    it: &BaseFreq,
) -> Result<Vec<PlannedWrite>, Refused> {
    let mhz = |frequency: Option<crate::model::Megahertz>| frequency.map_or(0, |mhz| mhz.0);
    let class = |number: u8| match number {
        0 => ClassText { min_mhz: mhz(it.high), epp: Some(0), ..ClassText::default() },
        _ => ClassText { min_mhz: mhz(it.low), weight: 15, epp: Some(15), ..ClassText::default() },
    };
    let mut steps = classes(ground, domain, class)?;
    let all = domain.classed().0;
    let high = Modules(all & it.modules.0);
    steps.extend(cores(ground, domain, high, 0)?);
    steps.extend(cores(ground, domain, Modules(all & !high.0), 3)?);
    Ok(steps)
}

/// What somebody had configured, and is overwritten.
pub(super) fn overwritten(domains: &[&Domain]) -> Option<String> {
    let is_placed = |domain: &&&Domain| !placed(domain).is_empty();
    let found: Vec<String> =
        domains.iter().filter(is_placed).map(|domain| domain.place()).collect();
    (!found.is_empty()).then(|| {
        format!(
            "the classes of cores of {} are replaced; `cpudyno undo` restores the present ones",
            found.join("; ")
        )
    })
}

/// Where core-power is switched on for whole packages, classes of those power domains that are not meant count again.
pub(super) fn stale_beside(ground: &Ground<'_>, domains: &[&Domain]) -> Option<String> {
    let is_meant = |it: &Domain| domains.iter().any(|meant| std::ptr::eq(*meant, it));
    let others: Vec<&Domain> = ground.switched().into_iter().filter(|it| !is_meant(it)).collect();
    stale(&others)
}

pub(super) fn disable(ground: &Ground<'_>, auto: bool) -> Result<Steps, Refused> {
    let mut steps = Steps::default();
    let able = ground.able(|features| features.base_freq)?;
    for &domain in &able {
        let turbo = ground.on(domain)?.turbo_freq;
        steps.firmware.push(ground.step(domain, What::Features, features_text(false, turbo))?);
        if auto {
            steps.limits.extend(ground.lowered(domain));
        }
    }
    if auto {
        let others = |on: On| On { base_freq: false, ..on };
        without_priorities(ground, &able, &mut steps, true, others)?;
    }
    Ok(steps)
}

/// Core-power off in each package or die that has the feature, unless something else stands on it there: what is left
/// on in the power domains that are meant, and whatever is on in others.
pub(super) fn without_priorities(
    ground: &Ground<'_>,
    able: &[&Domain],
    steps: &mut Steps,
    ordered: bool,
    left: fn(On) -> On,
) -> Result<(), Refused> {
    let all = ground.switched();
    let is_one = |a: &&Domain, b: &&Domain| a.package == b.package && !ground.is_older();
    for switched in all.chunk_by(is_one) {
        // Where the feature cannot be, core-power is there for somebody else.
        if !switched.iter().any(|domain| able.iter().any(|able| std::ptr::eq(*able, *domain))) {
            continue;
        }
        let mut reason = None;
        for domain in switched.iter().filter(|domain| !domain.cpus.is_empty()) {
            let on = ground.on(domain)?;
            let on = if ground.is_target(domain) { left(on) } else { on };
            let other = match (on.turbo_freq, on.base_freq) {
                (true, _) => "turbo-freq",
                (_, true) => "base-freq",
                _ => continue,
            };
            reason = Some(format!("core-power stays on: {other} of {} needs it", domain.place()));
        }
        if let Some(reason) = reason {
            steps.remarks.push(reason);
            continue;
        }
        for domain in switched.iter().filter(|domain| Ground::has_priorities(domain)) {
            steps.firmware.extend(switches(ground, domain, false, ordered)?);
        }
    }
    steps.remarks.push(
        "classes of cores stay as they are, and apply again when core-power is on; `cpudyno undo` \
         restores the former ones"
            .to_owned(),
    );
    Ok(())
}
