//! Who would get which clock, by the firmware's own numbers, before anything is changed.

use std::ops::Range;

use machine::Machine;
use model::record::OUTSIDE;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::ceilings::{Ceiling, CeilingBy, Ceilings};
use super::ground::{Ground, Sleepers, modules_of, numbers, registers};
use super::limits::{bases, plain};
use super::recipes::lowered;
use super::{Refused, What, Wish};
use crate::model::{Domain, Feature, Level, Megahertz, Member, Modules, PerLicence};

/// CPUs that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The package that they are in.
    pub package: u32,
    /// As things are.
    pub now: Clocks,
    /// As they would be; none: the level is without them.
    pub then: Option<Clocks>,
}

/// What a CPU is given for the weakest instructions.
#[derive(Debug, Clone, PartialEq)]
pub struct Clocks {
    /// What is guaranteed.
    pub base: Reading<Megahertz>,
    /// Up to where it may go while all cores are at work.
    pub turbo: Reading<Megahertz>,
    /// What holds these below what the level gives; none: nothing does.
    pub ceiling: Option<Ceiling>,
}

impl Clocks {
    /// No higher than a ceiling; where nobody knows whether there is one, nobody knows the clocks.
    fn below(self, ceiling: Reading<Option<Ceiling>>) -> Clocks {
        let ceiling = match ceiling {
            Ok(Some(ceiling)) => ceiling,
            Ok(None) => return self,
            Err(reason) => {
                return Clocks { base: Err(reason.clone()), turbo: Err(reason), ceiling: None };
            }
        };
        let is_above =
            |clock: &Reading<Megahertz>| clock.as_ref().is_ok_and(|it| *it > ceiling.mhz);
        let is_held = is_above(&self.base) || is_above(&self.turbo);
        let held = |clock: Reading<Megahertz>| clock.map(|mhz| mhz.min(ceiling.mhz));
        let Clocks { base, turbo, .. } = self;
        Clocks { base: held(base), turbo: held(turbo), ceiling: is_held.then_some(ceiling) }
    }
}

/// How a power domain stands.
#[derive(Clone)]
struct Standing<'a> {
    level: &'a Level,
    base_freq: bool,
    turbo_freq: bool,
    /// Who goes first.
    first: Modules,
    /// How many cores beside them are in classes that go first, none of whose CPUs is online.
    asleep: u32,
    /// Who is there.
    allowed: Modules,
    /// How many of them are at work; none: all.
    active: Option<u32>,
    /// What holds clocks below what the level gives.
    ceilings: Ceilings,
    /// The turbo limits that hold at most, a ratio in each byte; none: those of the level.
    most: Option<u64>,
}

/// The first class of low priority, where turbo frequencies are of two kinds.
pub(super) const LOW: u8 = 2;

/// As things are, or as they would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Before a change.
    Now,
    /// After it.
    Then,
}

/// The CPUs that a change is good for, two cores of them: those that gain, where firmware says so.
pub fn gainers(machine: &Machine, wish: &Wish) -> Result<CpuSet, Refused> {
    let sleepers = Sleepers::default();
    let expected = meant(&Ground::of(machine, wish, &sleepers)?, None, None)?;
    let gain = |it: &Expected| {
        let then = it.then.as_ref()?;
        let of = |now: &Reading<Megahertz>, then: &Reading<Megahertz>| {
            let mhz =
                |reading: &Reading<Megahertz>| reading.as_ref().ok().map(|mhz| i64::from(mhz.0));
            Some(mhz(then)? - mhz(now)?)
        };
        Some(
            of(&it.now.base, &then.base).unwrap_or(0) + of(&it.now.turbo, &then.turbo).unwrap_or(0),
        )
    };
    // Of several that are alike, the first.
    // Who was held down, and is not any more, gains by something else.
    let rank = |it: &&Expected| (it.now.ceiling.is_none(), gain(it));
    let best = expected.iter().filter(|it| it.then.is_some()).rev().max_by_key(rank);
    let Some(best) = best else {
        return Err(
            wish.not_here("no CPU has a part in it", "`cpudyno sst info` says what there is")
        );
    };
    Ok(best.cpus.iter().take(2).collect())
}

/// The CPUs that go first already, two cores of them: those of the first class, where others are in a lower one.
pub fn first_class(machine: &Machine, wish: &Wish) -> Result<CpuSet, Refused> {
    let sleepers = Sleepers::default();
    let ground = Ground::of(machine, wish, &sleepers)?;
    let domains = ground.compute()?;
    let cores = |domain: &Domain, modules: Modules| -> CpuSet {
        let one = |number| domain.cpus.iter().find(|it| it.module == u32::from(number));
        numbers(modules).filter_map(one).take(2).map(|member| member.cpu).collect()
    };
    for domain in domains.iter().filter(|domain| Ground::heeds_priorities(domain)) {
        let first = of_classes(domain, 0..1);
        let there = Modules(first.0 & allowed(ground.current(domain)?, domain).0);
        if there.count() > 0 && first != domain.modules() {
            return Ok(cores(domain, there));
        }
    }
    let any = cores(domains[0], domains[0].modules());
    let hint = format!(
        "name two, such as --on {any}; or put them into class 0 and others into a lower one, with core-power on"
    );
    Err(wish.usage(
        "no CPUs were named to go first, and no cores are in a higher class than others",
        hint,
    ))
}

/// One CPU of each other core in the packages of these CPUs, of those that have a part in it at that time: all power
/// domains of a package share its power, and firmware's limits suppose that all cores are at work.
pub fn others(
    machine: &Machine,
    wish: &Wish,
    cpus: &CpuSet,
    time: Time,
) -> Result<CpuSet, Refused> {
    let here = Wish { cpus: Some(cpus.clone()), ..wish.clone() };
    let sleepers = Sleepers::default();
    let ground = Ground::of(machine, &here, &sleepers)?;
    ground.compute()?;
    let mut found = Vec::new();
    for domain in ground.packages() {
        // What is wished for is for the power domains that are meant alone.
        let is_meant = wish.cpus.as_ref().is_none_or(|it| has_any(domain, it));
        let allowed = match time {
            Time::Then if is_meant => then(&ground, domain)?.allowed,
            Time::Now | Time::Then => now(&ground, domain)?.allowed,
        };
        let mut taken = modules_of(domain, cpus).0;
        for member in &domain.cpus {
            let bit = 1u64.checked_shl(member.module).unwrap_or(0);
            if taken & bit == 0 && allowed.contains(member.module) {
                taken |= bit;
                found.push(member.cpu);
            }
        }
    }
    Ok(found.into_iter().collect())
}

fn has_any(domain: &Domain, cpus: &CpuSet) -> bool {
    domain.cpus.iter().any(|member| cpus.contains(member.cpu))
}

/// The clocks that CPUs have, and those that they would have, while all cores are at work.
pub fn expected(machine: &Machine, wish: &Wish) -> Result<Vec<Expected>, Refused> {
    expected_of(machine, wish, None, None)
}

/// The same at another level, with what is wished for and without it.
pub fn expected_at(machine: &Machine, wish: &Wish, level: u8) -> Result<Vec<Expected>, Refused> {
    expected_of(machine, wish, None, Some(level))
}

/// The same while these CPUs are at work, before and after it: of those also the ones that it changes nothing for.
pub fn expected_with(
    machine: &Machine,
    wish: &Wish,
    at_work: &[CpuSet; 2],
) -> Result<Vec<Expected>, Refused> {
    expected_of(machine, wish, Some(at_work), None)
}

fn expected_of(
    machine: &Machine,
    wish: &Wish,
    at_work: Option<&[CpuSet; 2]>,
    level: Option<u8>,
) -> Result<Vec<Expected>, Refused> {
    let sleepers = Sleepers::default();
    let ground = Ground::of(machine, wish, &sleepers)?;
    let mut found = meant(&ground, at_work, level)?;
    for domain in ground.packages().into_iter().filter(|it| !ground.is_target(it)) {
        let Ok(before) = now(&ground, domain) else { continue };
        let of = |arm: usize| Standing { active: active(domain, at_work, arm), ..before.clone() };
        let (now, then) = (of(0), beside(&ground, domain, of(1))?);
        for member in &domain.cpus {
            let [now, then] = [&now, &then].map(|standing| standing.clocks(*member));
            let is_at_work =
                at_work.iter().flat_map(|arms| arms.iter()).any(|it| it.contains(member.cpu));
            if now != then || is_at_work {
                let cpus = CpuSet::from_iter([member.cpu]);
                add(
                    &mut found,
                    Expected { cpus, package: domain.package, now, then: Some(then) },
                    member.cpu,
                );
            }
        }
    }
    Ok(found)
}

/// What a change is to a power domain of the package that is not meant: the newer generation switches core-power on for
/// all of them, and turbo limits that are in one register are opened for all.
fn beside<'g>(
    ground: &Ground<'_>,
    domain: &'g Domain,
    now: Standing<'g>,
) -> Result<Standing<'g>, Refused> {
    let (auto, opened) = match ground.wish.what {
        What::BaseFreq { on: true, auto } => (auto, None),
        What::TurboFreq { on: true, auto, limits } => (auto, Some(limits)),
        _ => return Ok(now),
    };
    let is_along = auto && !ground.is_older();
    let counts = is_along && Ground::has_priorities(domain) && !Ground::heeds_priorities(domain);
    let then = if counts { now.with_classes(ground, domain)? } else { now };
    let register = |it: &Domain| registers(&ground.snapshot, it);
    let shares = ground.targets().iter().any(|it| register(it) == register(domain));
    Ok(match opened.filter(|_| shares) {
        Some(most) => Standing { most, ..then },
        None => then,
    })
}

/// How many cores of a power domain are at work; none: all.
fn active(domain: &Domain, at_work: Option<&[CpuSet; 2]>, arm: usize) -> Option<u32> {
    at_work.map(|cpus| modules_of(domain, &cpus[arm]).count())
}

/// The clocks of the power domains that are meant.
fn meant(
    ground: &Ground<'_>,
    at_work: Option<&[CpuSet; 2]>,
    level: Option<u8>,
) -> Result<Vec<Expected>, Refused> {
    let mut found: Vec<Expected> = Vec::new();
    for domain in ground.with_cpus()? {
        let active = |arm| active(domain, at_work, arm);
        let before = match level {
            Some(level) => at(ground, domain, level)?,
            None => now(ground, domain)?,
        };
        let then = Standing { active: active(1), ..with(ground, domain, before.clone())? };
        let now = Standing { active: active(0), ..before };
        for member in &domain.cpus {
            let clocks = |standing: &Standing<'_>| standing.clocks(*member);
            let one = Expected {
                cpus: CpuSet::from_iter([member.cpu]),
                package: domain.package,
                now: clocks(&now),
                then: then.allowed.contains(member.module).then(|| clocks(&then)),
            };
            add(&mut found, one, member.cpu);
        }
    }
    Ok(found)
}

/// CPUs of a package that are alike are told together.
fn add(found: &mut Vec<Expected>, one: Expected, cpu: CpuId) {
    let alike =
        |it: &&mut Expected| (it.package, &it.now, &it.then) == (one.package, &one.now, &one.then);
    match found.iter_mut().find(alike) {
        Some(it) => it.cpus = it.cpus.iter().chain([cpu]).collect(),
        None => found.push(one),
    }
}

fn now<'g>(ground: &Ground<'_>, domain: &'g Domain) -> Result<Standing<'g>, Refused> {
    let level = ground.current(domain)?;
    let on = ground.on(domain)?;
    Ok(Standing {
        level,
        base_freq: on.base_freq,
        turbo_freq: on.turbo_freq && Ground::heeds_priorities(domain),
        first: of_classes(domain, 0..LOW),
        asleep: asleep_of(domain, 0..LOW),
        allowed: allowed(level, domain),
        active: None,
        ceilings: Ceilings::of(ground, domain),
        most: lowered(ground, domain)?,
    })
}

/// The cores of some classes.
pub(super) fn of_classes(domain: &Domain, classes: Range<u8>) -> Modules {
    let all = domain.associations.iter().flatten();
    let is_in = |class: &Reading<u8>| class.as_ref().is_ok_and(|class| classes.contains(class));
    let cpus: CpuSet = all.filter(|(_, class)| is_in(class)).map(|(cpu, _)| *cpu).collect();
    modules_of(domain, &cpus)
}

/// How many cores none of whose CPUs is online are in some classes; of whom nobody knows it may be.
pub(super) fn asleep_of(domain: &Domain, classes: Range<u8>) -> u32 {
    let may_be = |class: &Reading<u8>| class.as_ref().map_or(true, |it| classes.contains(it));
    domain.sleeping.iter().filter(|(_, class)| may_be(class)).count() as u32
}

/// How many of those stay as they are when all cores are given classes.
fn asleep_for_good(domain: &Domain) -> u32 {
    asleep_of(domain, 0..0)
}

/// Who is online of those that a level allows.
pub(super) fn allowed(level: &Level, domain: &Domain) -> Modules {
    let all = domain.modules();
    let of_level = level.properties.as_ref().and_then(|it| it.modules.as_ref().ok());
    of_level.map_or(all, |modules| Modules(modules.0 & all.0))
}

/// At another level, with nothing on; a level that is there already is no other one.
fn at<'g>(ground: &Ground<'_>, domain: &'g Domain, level: u8) -> Result<Standing<'g>, Refused> {
    let profiles = ground.profiles(domain)?;
    let found = profiles.level(level).ok_or_else(|| {
        let why = format!("{} has no level {level}", domain.place());
        ground.wish.not_here(why, "`cpudyno sst perf-profile info` shows all levels")
    })?;
    let (allowed, now) = (allowed(found, domain), now(ground, domain)?);
    if profiles.current == level {
        return Ok(now);
    }
    let ceilings = now.ceilings.opened_below(&bases(domain, found, false));
    let (base_freq, turbo_freq, most) = (false, false, None);
    Ok(Standing { level: found, base_freq, turbo_freq, allowed, ceilings, most, ..now })
}

fn then<'g>(ground: &Ground<'_>, domain: &'g Domain) -> Result<Standing<'g>, Refused> {
    with(ground, domain, now(ground, domain)?)
}

/// The same with what is wished for.
fn with<'g>(
    ground: &Ground<'_>,
    domain: &'g Domain,
    now: Standing<'g>,
) -> Result<Standing<'g>, Refused> {
    let needs = |state: fn(&Level) -> Feature, level: &Level| {
        if state(level) != Feature::Unsupported {
            return Ok(());
        }
        let why = format!("level {} of {} does not support it", level.number, domain.place());
        Err(ground.wish.not_here(why, "`cpudyno sst info` says at which levels it is"))
    };
    let of =
        |level: &Level| level.features.as_ref().map_or(Feature::Unsupported, |it| it.base_freq);
    let of_turbo =
        |level: &Level| level.features.as_ref().map_or(Feature::Unsupported, |it| it.turbo_freq);
    Ok(match &ground.wish.what {
        What::Level { level, with_cpus } => {
            let then = at(ground, domain, *level)?;
            let properties = then.level.properties.as_ref();
            let all = *ground.known(properties.map(|properties| &properties.modules), domain)?;
            // Nobody wakes those who are off.
            let allowed = if *with_cpus { all } else { then.allowed };
            let ceilings = then.ceilings.opened_below(&bases(domain, then.level, false));
            Standing { allowed, ceilings, ..then }
        }
        What::BaseFreq { on, auto } => {
            needs(of, now.level)?;
            if !(on & auto) {
                return Ok(Standing { base_freq: *on, ..now });
            }
            // Who has the higher base frequency goes first.
            let split = now.level.base_freq.as_ref().and_then(|split| split.as_ref().ok());
            let first = split.map_or(now.first, |it| Modules(it.modules.0 & domain.modules().0));
            let high = split.map_or(0, |it| it.modules.0 & domain.classed().0).count_ones();
            let asleep = high - first.count().min(high) + asleep_for_good(domain);
            let bases = bases(domain, now.level, true);
            let ceilings = now.ceilings.without_classes().opened_below(&bases);
            Standing { base_freq: true, first, asleep, ceilings, ..now }
        }
        What::TurboFreq { on, auto, limits } => {
            needs(of_turbo, now.level)?;
            let chosen = ground.wish.cpus.as_ref();
            let first = chosen.map_or(now.first, |cpus| modules_of(domain, cpus));
            let (asleep, ceilings) = if on & auto {
                (asleep_for_good(domain), now.ceilings.without_classes())
            } else {
                (now.asleep, now.ceilings)
            };
            Standing { turbo_freq: *on, first, asleep, ceilings, most: *limits, ..now }
        }
        _ => now,
    })
}

impl Standing<'_> {
    /// The same with classes that count.
    fn with_classes(self, ground: &Ground<'_>, domain: &Domain) -> Result<Self, Refused> {
        let turbo_freq = ground.on(domain)?.turbo_freq;
        Ok(Standing { turbo_freq, ceilings: self.ceilings.with_classes(ground, domain), ..self })
    }

    fn clocks(&self, Member { cpu, module }: Member) -> Clocks {
        if !self.allowed.contains(module) {
            let why = format!("level {} excludes these cores", self.level.number);
            let none = || Err(Unavailable::new(Obstacle::Hardware, OUTSIDE, why.clone()));
            return Clocks { base: none(), turbo: none(), ceiling: None };
        }
        let split = self.level.base_freq.as_ref().filter(|_| self.base_freq);
        let base = match split {
            Some(Ok(it)) if it.modules.contains(module) => it.high.ok_or_else(|| none("base")),
            Some(Ok(it)) => it.low.ok_or_else(|| none("base")),
            Some(Err(reason)) => Err(reason.clone()),
            None => plain(self.level).ok_or_else(|| none("base")),
        };
        let ceiling = self
            .ceilings
            .of_cpu(cpu, &base)
            .map(|it| it.into_iter().chain(self.most()).min_by_key(|ceiling| ceiling.mhz));
        let turbo = match self.turbo(module) {
            // What it may come to does not matter.
            Err(_) if !self.ceilings.allows_turbo() => base.clone(),
            turbo => turbo,
        };
        Clocks { base, turbo, ceiling: None }.below(ceiling)
    }

    fn turbo(&self, module: u32) -> Reading<Megahertz> {
        if !self.turbo_freq {
            return self.all_cores();
        }
        let it = match self.level.turbo_freq.as_ref() {
            Some(it) => it.as_ref().map_err(Unavailable::clone)?,
            None => return Err(none("turbo")),
        };
        let weakest = |limits: &[PerLicence]| limits.first().and_then(|limit| limit.frequency);
        if !self.first.contains(module) {
            return weakest(&it.clips).ok_or_else(|| none("turbo"));
        }
        let limit = |count: u32| {
            let bucket = it.buckets.iter().find(|bucket| u32::from(bucket.cores) >= count);
            bucket.and_then(|bucket| weakest(&bucket.limits))
        };
        let (count, asleep) = (self.first.count(), self.asleep);
        let found = limit(count).ok_or_else(|| {
            let why = format!("the firmware has no limit for {count} cores that go first");
            Unavailable::new(Obstacle::Hardware, "turbo", why)
        })?;
        if limit(count + asleep) == Some(found) {
            return Ok(found);
        }
        let why = format!(
            "{count} cores go first, and {asleep} more are in their classes without an online CPU: \
             whether firmware counts those is unknown"
        );
        let remedy = "`cpudyno sst -c LIST turbo-freq enable -a` puts them into the last class";
        Err(Unavailable::new(Obstacle::Hardware, "turbo", why).with_remedy(remedy))
    }

    /// What the turbo limits that hold at most leave, where somebody set them.
    fn most(&self) -> Option<Ceiling> {
        let properties = self.level.properties.as_ref()?;
        let place = self.group(properties.bucket_cores.as_ref().ok()?);
        let ratio = self.most?.to_le_bytes()[place?.min(7)];
        Some(Ceiling { mhz: Megahertz::of_ratio(ratio)?, by: CeilingBy::TurboLimits })
    }

    /// The group in which the cores at work are.
    fn group(&self, cores: &[u16]) -> Option<usize> {
        group(cores, self.active.unwrap_or(self.allowed.count()))
    }

    /// The limit of that group.
    fn all_cores(&self) -> Reading<Megahertz> {
        turbo_of(self.level, self.active.unwrap_or(self.allowed.count()))
    }
}

/// The group of so many cores, the last one for more; none: there are no groups.
fn group(cores: &[u16], active: u32) -> Option<usize> {
    let place = cores.iter().position(|cores| u32::from(*cores) >= active);
    place.or(cores.len().checked_sub(1))
}

/// The turbo limit of a level while so many cores are at work.
pub(super) fn turbo_of(level: &Level, active: u32) -> Reading<Megahertz> {
    let properties = level.properties.as_ref().ok_or_else(|| none("turbo"))?;
    let cores = properties.bucket_cores.as_ref().map_err(Unavailable::clone)?;
    let turbo = properties.turbo.first().ok_or_else(|| none("turbo"))?;
    let limits = turbo.limits.as_ref().map_err(Unavailable::clone)?;
    let place = group(cores, active).and_then(|place| limits.get(place));
    place.copied().flatten().ok_or_else(|| none("turbo"))
}

fn none(what: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, what, "the firmware gives none")
}
