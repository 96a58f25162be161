//! Priorities of cores: switches, classes, who is in which.

use levers::plan::PlannedWrite;
use machine::isst::settable::{BRING_BACK, ClassText, What, priorities_text};

use super::super::clocks::{LOW, of_classes};
use super::super::ground::{Ground, LOOK, modules_of, numbers};
use super::super::limits::{LEAST, MOST, both_limit, placed};
use super::super::{ClassWish, Refused, Steps};
use super::turbo_freq::crowded;
use crate::model::{Domain, Modules, Priority};
use model::{CpuId, CpuSet};

/// Frequencies of classes are multiples of that.
const STEP_MHZ: u32 = 100;
/// The highest one that can be said; it stands for no limit.
const OPEN_MHZ: u32 = 25500;

/// The power domains that change along whose cores can have priorities.
fn domains<'g>(ground: &'g Ground<'_>) -> Result<Vec<&'g Domain>, Refused> {
    let all = ground.switched();
    let meant = all.iter().filter(|domain| ground.is_target(domain));
    for domain in meant.filter(|domain| !domain.cpus.is_empty()) {
        let Some(core_power) = &domain.core_power else { continue };
        if !*ground.read(&core_power.supported, domain)? {
            let why = format!(
                "cores of {} have no priorities (core-power is not supported)",
                domain.place()
            );
            return Err(ground.wish.not_here(why, LOOK));
        }
    }
    let able: Vec<&Domain> =
        all.into_iter().filter(|domain| Ground::has_priorities(domain)).collect();
    if able.is_empty() {
        let why = "cores have no priorities here (core-power is not supported)";
        return Err(ground.wish.not_here(why, LOOK));
    }
    Ok(able)
}

/// The switches of a power domain: the first one is that of the firmware, where there are two.
pub(super) fn switches(
    ground: &Ground<'_>,
    domain: &Domain,
    on: bool,
    ordered: bool,
) -> Result<Vec<PlannedWrite>, Refused> {
    let mut steps = Vec::new();
    if ground.is_older() {
        steps.push(ground.step(domain, What::CorePower, if on { "on" } else { "off" })?);
    }
    steps.push(ground.step(domain, What::Priorities, priorities_text(on, ordered))?);
    Ok(steps)
}

/// The switches of all power domains that change along.
pub(super) fn all_switches(
    ground: &Ground<'_>,
    on: bool,
    ordered: bool,
) -> Result<Vec<PlannedWrite>, Refused> {
    let mut steps = Vec::new();
    for domain in domains(ground)? {
        steps.extend(switches(ground, domain, on, ordered)?);
    }
    Ok(steps)
}

pub(super) fn enable(ground: &Ground<'_>, priority: Priority) -> Result<Steps, Refused> {
    if ground.is_skylake() && priority == Priority::Proportional && !ground.wish.lenient {
        let why = "this processor supports only ordered classes";
        return Err(ground.wish.not_here(why, "choose them: -p 1"));
    }
    let firmware = all_switches(ground, true, is_ordered(ground, priority))?;
    let mut remarks = beyond(ground);
    let switched = ground.switched();
    remarks.extend(stale(&switched));
    let limited = switched.iter().filter(|domain| !Ground::heeds_priorities(domain));
    let limited = limited.flat_map(|domain| ground.limited(domain).iter().collect::<Vec<_>>());
    remarks.extend(both_limit(&limited.collect()));
    remarks.push(
        "limits of the clock (min_freq, max_freq) and those of classes apply together: programs \
         that set the former override the latter"
            .to_owned(),
    );
    Ok(Steps { firmware, limits: Vec::new(), remarks })
}

/// Of which kind priorities are, where there may be one alone.
fn is_ordered(ground: &Ground<'_>, priority: Priority) -> bool {
    ground.is_skylake() || priority == Priority::Ordered
}

pub(super) fn disable(ground: &Ground<'_>, priority: Priority) -> Result<Steps, Refused> {
    for domain in domains(ground)?.into_iter().filter(|domain| !domain.cpus.is_empty()) {
        let on = ground.on(domain)?;
        let feature = match (on.turbo_freq, on.base_freq) {
            (true, _) => "turbo-freq",
            (_, true) => "base-freq",
            _ => continue,
        };
        let why = format!("{feature} is on in {} and needs core-power", domain.place());
        // It may be on in a power domain beside those that are meant.
        let cpus = ground.wish.cpus.as_ref().map(|_| format!(" -c {}", domain.online()));
        let hint = format!("first: `cpudyno sst{} {feature} disable`", cpus.unwrap_or_default());
        return Err(ground.wish.order(why, hint));
    }
    Ok(Steps {
        firmware: all_switches(ground, false, is_ordered(ground, priority))?,
        limits: Vec::new(),
        remarks: beyond(ground),
    })
}

/// What else in a package changes along with what was named.
fn beyond(ground: &Ground<'_>) -> Vec<String> {
    let others: Vec<String> = ground
        .switched()
        .into_iter()
        .filter(|domain| !ground.is_target(domain) && Ground::has_priorities(domain))
        .map(Domain::place)
        .collect();
    if others.is_empty() {
        return Vec::new();
    }
    vec![format!("priorities apply to a whole package: {} change as well", others.join("; "))]
}

/// Classes that somebody left count again.
pub(super) fn stale(domains: &[&Domain]) -> Option<String> {
    let found: Vec<String> = domains
        .iter()
        .filter(|domain| !Ground::heeds_priorities(domain) && !placed(domain).is_empty())
        .map(|domain| domain.place())
        .collect();
    (!found.is_empty()).then(|| {
        format!(
            "cores of {} are already in classes, which apply from now on: `cpudyno sst core-power \
             get-assoc`",
            found.join("; ")
        )
    })
}

pub(super) fn class(ground: &Ground<'_>, wish: &ClassWish) -> Result<Steps, Refused> {
    let class = checked(ground, wish)?;
    let mut firmware = Vec::new();
    for domain in domains(ground)? {
        firmware.push(ground.step(domain, What::Class(wish.class), class.to_string())?);
    }
    let unsaid = [
        ("min", wish.min_mhz.is_none(), "0 MHz"),
        ("max", wish.max_mhz.is_none(), "no limit"),
        ("weight", wish.weight.is_none(), "0"),
        ("epp", wish.epp.is_none() && class.epp.is_some(), "0"),
    ];
    let unsaid: Vec<String> = unsaid
        .into_iter()
        .filter(|(_, is_unsaid, _)| *is_unsaid)
        .map(|(name, _, value)| format!("{name} ({value})"))
        .collect();
    let mut remarks = beyond(ground);
    remarks.extend(beyond_clocks(ground, wish));
    if !unsaid.is_empty() {
        remarks.push(format!("not given, set to the default: {}", unsaid.join(", ")));
    }
    Ok(Steps { firmware, limits: Vec::new(), remarks })
}

/// Limits of a class that no core can reach.
fn beyond_clocks(ground: &Ground<'_>, wish: &ClassWish) -> Vec<String> {
    let domains = ground.targets();
    let cpus = || domains.iter().flat_map(|domain| domain.cpus.iter().map(|member| member.cpu));
    let of = |domain: &&Domain| {
        let level = ground.current(domain).ok();
        let khz = |cpu| level.map_or_else(|| ground.khz(cpu, MOST), |it| ground.highest(it, cpu));
        domain.cpus.iter().filter_map(|member| khz(member.cpu)).max()
    };
    let highest = domains.iter().filter_map(of).max();
    let lowest = cpus().filter_map(|cpu| ground.khz(cpu, LEAST)).min();
    let khz = |mhz: u32| u64::from(mhz) * 1000;
    let min = wish.min_mhz.zip(highest).filter(|(mhz, highest)| khz(*mhz) > *highest);
    let max = wish.max_mhz.zip(lowest).filter(|(mhz, lowest)| khz(*mhz) < *lowest);
    let min = min.map(|(mhz, highest)| {
        format!(
            "no CPU reaches the lowest frequency, {mhz} MHz: their highest is {} MHz",
            highest / 1000
        )
    });
    let max = max.map(|(mhz, lowest)| {
        format!(
            "no CPU is as slow as the highest frequency, {mhz} MHz: their lowest is {} MHz",
            lowest / 1000
        )
    });
    min.into_iter().chain(max).collect()
}

/// The class as firmware takes it.
fn checked(ground: &Ground<'_>, wish: &ClassWish) -> Result<ClassText, Refused> {
    let refuse = |why: String, hint: &str| Err(ground.wish.usage(why, hint));
    if wish.class > 3 {
        return refuse(format!("there is no class {}", wish.class), "there are four: -c 0 to -c 3");
    }
    let no_weight = ground.is_skylake() && wish.weight.is_some();
    let has_epp = ground.is_older() && !ground.is_skylake();
    if no_weight || !has_epp && wish.epp.is_some_and(|epp| epp > 0) && !ground.wish.lenient {
        let what = if no_weight { "weight" } else { "energy preference" };
        let why = format!("classes of this processor have no {what}");
        return Err(ground.wish.not_here(why, "leave it out"));
    }
    for mhz in [wish.min_mhz, wish.max_mhz].into_iter().flatten() {
        if mhz > OPEN_MHZ || !ground.wish.lenient && !mhz.is_multiple_of(STEP_MHZ) {
            let why = format!("{mhz} MHz is no multiple of {STEP_MHZ} MHz up to {OPEN_MHZ} MHz");
            return refuse(why, "such as -n 2000 -m 3000");
        }
    }
    if wish.max_mhz.is_some_and(|mhz| mhz < STEP_MHZ) && !ground.wish.lenient {
        let why = "a highest frequency of 0 lets no core of the class run".to_owned();
        return refuse(why, "such as -m 3000, or leave it out for none");
    }
    let floor = |mhz: u32| mhz / STEP_MHZ * STEP_MHZ;
    let min_mhz = floor(wish.min_mhz.unwrap_or(0));
    let max_mhz = wish.max_mhz.map(floor).filter(|mhz| *mhz < OPEN_MHZ);
    if let Some(max) = max_mhz.filter(|max| min_mhz > *max) {
        let why = format!("the lowest frequency, {min_mhz} MHz, is above the highest, {max} MHz");
        return refuse(why, "give -n the lower one");
    }
    let weight = wish.weight.unwrap_or(0).into();
    // The word has a field for it wherever it is a word.
    let epp = ground.is_older().then(|| wish.epp.unwrap_or(0).into());
    Ok(ClassText { min_mhz, max_mhz, weight, epp, desired_mhz: 0 })
}

pub(super) fn associate(ground: &Ground<'_>, class: u8) -> Result<Steps, Refused> {
    let Some(cpus) = &ground.wish.cpus else {
        let hint = "name them before the feature: cpudyno sst -c 10 core-power assoc -c 3";
        return Err(ground.wish.usage("no CPUs were named", hint));
    };
    if class > 3 {
        let why = format!("there is no class {class}");
        return Err(ground.wish.usage(why, "there are four: -c 0 to -c 3"));
    }
    domains(ground)?;
    let (mut firmware, mut remarks) = (Vec::new(), Vec::new());
    for domain in ground.targets() {
        let modules = modules_of(domain, cpus);
        firmware.extend(cores(ground, domain, modules, class)?);
        if ground.on(domain).is_ok_and(|on| on.turbo_freq) {
            let others = of_classes(domain, 0..LOW).0 & !modules.0;
            let first = if class < LOW { others | modules.0 } else { others };
            remarks.extend(crowded(ground, domain, Modules(first)));
        }
        let along = domain.cpus_of(modules).difference(cpus);
        if !along.is_empty() {
            let (share, go) =
                if along.len() == 1 { ("shares a core", "goes") } else { ("share cores", "go") };
            remarks.push(format!("{} {share} with the named CPUs and {go} along", along.named()));
        }
        if !Ground::heeds_priorities(domain) {
            remarks.push(format!(
                "core-power is off in {}: classes apply once it is on (`cpudyno sst core-power \
                 enable`)",
                domain.place()
            ));
        }
    }
    let limited = ground.targets().into_iter().map(|domain| {
        ground.limited(domain).intersection(&domain.cpus_of(modules_of(domain, cpus)))
    });
    remarks.extend(both_limit(&limited.flat_map(|cpus| cpus.iter().collect::<Vec<_>>()).collect()));
    remarks.push(
        "from now on, do not change limits of the clock (min_freq, max_freq): classes and limits \
         apply together"
            .to_owned(),
    );
    Ok(Steps { firmware, limits: Vec::new(), remarks })
}

/// What becomes of cores none of whose CPUs is online, where all cores of a power domain are given classes: firmware
/// knows cores, and counts those of a class whether or not the kernel uses them.
pub(super) fn asleep(ground: &Ground<'_>, domain: &Domain) -> Vec<String> {
    if domain.asleep().is_none() && !ground.snapshot.unplaced.is_empty() {
        return vec![format!(
            "levels of {} do not list their cores: cores without an online CPU stay in their \
             classes, and firmware may count them as going first ({BRING_BACK})",
            domain.place()
        )];
    }
    let list = |is_known: bool| -> CpuSet {
        let some = domain.sleeping.iter().filter(|(_, class)| class.is_ok() == is_known);
        some.map(|(module, _)| CpuId(*module)).collect()
    };
    let (set, left) = (list(true), list(false));
    let word = |cores: &CpuSet| if cores.len() == 1 { "core" } else { "cores" };
    let set = (!set.is_empty()).then(|| {
        format!(
            "{} {set} of {}, without an online CPU, {} class like all others: firmware counts \
             cores",
            word(&set),
            domain.place(),
            if set.len() == 1 { "is given its" } else { "are given their" }
        )
    });
    let reason = domain.sleeping.iter().find_map(|(_, class)| class.as_ref().err());
    let left = reason.map(|reason| {
        format!(
            "the class of {} {left} of {}, without an online CPU, stays as it is, and firmware may \
             count it as going first: {}",
            word(&left),
            domain.place(),
            reason.why
        )
    });
    set.into_iter().chain(left).collect()
}

/// These modules are in that class.
pub(super) fn cores(
    ground: &Ground<'_>,
    domain: &Domain,
    modules: Modules,
    class: u8,
) -> Result<Vec<PlannedWrite>, Refused> {
    let one = |core: u8| ground.step(domain, What::Core(core), class.to_string());
    numbers(modules).map(one).collect()
}

/// A class of each number of a power domain.
pub(super) fn classes(
    ground: &Ground<'_>,
    domain: &Domain,
    of: impl Fn(u8) -> ClassText,
) -> Result<Vec<PlannedWrite>, Refused> {
    let one = |class: u8| {
        let epp = of(class).epp.filter(|_| ground.is_older());
        let text = ClassText { epp, ..of(class) }.to_string();
        ground.step(domain, What::Class(class), text)
    };
    (0..crate::model::CLASSES).map(one).collect()
}
