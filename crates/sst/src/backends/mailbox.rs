//! The older generation: a mailbox for each package or die, and registers in memory.
//!
//! Everything is asked in three rounds, each for all power domains and levels together: which levels there
//! are, what each one supports, and what belongs to it. A round is as many ioctls as its commands need.
//!
//! # Source
//! Linux, tools/power/x86/intel-speed-select: the meaning of commands 7Fh, D0h and 94h and of the bits of
//! their answers.

use std::collections::BTreeMap;

use machine::isst::{AboutLevel, Half, HalfOfLevel, LicenceOfLevel, MailboxQuestion};
use model::{CpuId, Obstacle, Reading, Unavailable};

use super::{Backend, Context, FoundDomains, chosen, no_priorities, physical};
use crate::model::{
    BUCKETS, BaseFreq, Bucket, CLASSES, Celsius, Class, CorePower, Domain, Fabric, Feature,
    Features, Level, Licence, Megahertz, Member, Modules, PerLicence, Priority, Profiles,
    Properties, TurboFreq, TurboLimits, Watts,
};
use crate::processor::Processor;
use crate::query::{Answers, not_given};
use crate::read::{Levels, Part, domain, map, not_at_level};
use crate::topology::Topology;

pub(super) const ROW: Backend = Backend {
    name: "mailbox",
    doc: "a mailbox for each package and registers in memory: Cascade Lake to Emerald Rapids",
    matches: |platform| platform.api_version == 1,
    domains,
    fill,
};

/// Up to how many active cores each group of turbo limits goes, a byte each.
const TURBO_CORES: u32 = 0x1ae;
/// The turbo limits of those groups as they are at present, a ratio each.
const TURBO_LIMITS: u32 = 0x1ad;
/// Control of levels by the operating system: bit 31 locks it.
const LEVEL_CONTROL: u32 = 0x64b;
/// Where the registers of classes and of the classes of cores begin, four bytes each.
const CLASS_REGISTERS: u32 = 0x08;
const CORE_REGISTERS: u32 = 0x20;

/// A power domain is a die: each has its own mailbox.
fn domains(_: &Context<'_>, topology: &Topology, numbers: &[Reading<u32>]) -> FoundDomains {
    let mut domains: BTreeMap<(u32, Option<u32>, u32), Vec<Member>> = BTreeMap::new();
    let mut lost = Vec::new();
    for (place, number) in topology.online.iter().zip(numbers) {
        let number = match physical(number) {
            Ok(number) => number,
            Err(reason) => {
                lost.push((place.cpu, reason));
                continue;
            }
        };
        let punit = number >> 9 & 0x1f;
        let punit = if punit < 8 { punit } else { 0 };
        let member = Member { cpu: place.cpu, module: number >> 1 & 0xff };
        domains.entry((place.package, place.die, punit)).or_default().push(member);
    }
    let one = |((package, die, punit), cpus)| Domain {
        is_die: true,
        ..domain(package, die, punit, cpus)
    };
    FoundDomains { domains: domains.into_iter().map(one).collect(), missing: Vec::new(), lost }
}

fn fill(context: &Context<'_>, domains: &mut [Domain]) {
    let first = context.asker.mailbox(&each(domains, |_| first_round(context)));
    for domain in &mut *domains {
        let Some(cpu) = domain.first() else { continue };
        let ask = |question| answer(&first, cpu, question);
        if context.wanted.levels != Levels::None {
            domain.profiles = Some(map(&ask(MailboxQuestion::LEVELS), |word| profiles(*word)));
        }
        if context.wanted.has(Part::CorePower) {
            domain.core_power = Some(core_power(&ask));
        }
    }
    levels(context, domains, &first);
    if context.wanted.has(Part::Lock) {
        locks(context, domains);
    }
    if context.wanted.has(Part::Classes) {
        classes(context, domains, &first);
    }
    if context.wanted.has(Part::Associations) {
        associations(context, domains, &first);
    }
}

/// Whether the operating system can choose levels at all.
fn locks(context: &Context<'_>, domains: &mut [Domain]) {
    let mut locks = registers(context, domains, LEVEL_CONTROL);
    for domain in domains {
        let lock = domain.first().and_then(|cpu| locks.remove(&cpu));
        if let (Some(Ok(profiles)), Some(lock)) = (&mut domain.profiles, lock) {
            profiles.locked_by_register = Some(lock.map(|word| word >> 31 & 1 == 1));
        }
    }
}

/// A register of each power domain, by the CPU that it was read on.
fn registers(
    context: &Context<'_>,
    domains: &[Domain],
    register: u32,
) -> BTreeMap<CpuId, Reading<u64>> {
    let asked: Vec<(CpuId, u32)> =
        domains.iter().filter_map(|domain| Some((domain.first()?, register))).collect();
    let answers = context.asker.msr(&asked);
    asked.into_iter().map(|(cpu, _)| cpu).zip(answers).collect()
}

/// The same questions, or others, to each domain.
fn each(
    domains: &[Domain],
    questions: impl Fn(&Domain) -> Vec<MailboxQuestion>,
) -> Vec<(CpuId, MailboxQuestion)> {
    let of = |domain: &Domain| {
        let cpu = domain.first();
        let questions = questions(domain).into_iter();
        questions.filter_map(move |question| Some((cpu?, question))).collect::<Vec<_>>()
    };
    domains.iter().flat_map(of).collect()
}

fn answer(answers: &Answers, cpu: CpuId, question: MailboxQuestion) -> Reading<u32> {
    answers.get(&(cpu, question)).cloned().unwrap_or_else(|| {
        let what = format!("mailbox {question}");
        Err(Unavailable::new(Obstacle::Cpudyno, what, "it was not queried"))
    })
}

fn by_mailbox(processor: Option<Processor>) -> bool {
    processor.is_some_and(Processor::is_skylake_server)
}

fn first_round(context: &Context<'_>) -> Vec<MailboxQuestion> {
    let wanted = context.wanted;
    let mut questions = Vec::new();
    if wanted.levels != Levels::None {
        questions.push(MailboxQuestion::LEVELS);
    }
    let has_classes = wanted.has(Part::Classes) || wanted.has(Part::Associations);
    if has_classes || wanted.has(Part::CorePower) {
        questions.push(MailboxQuestion::CORE_POWER);
    }
    if wanted.has(Part::CorePower) {
        questions.push(MailboxQuestion::PRIORITIES);
    }
    if wanted.has(Part::Properties) {
        // Whether the firmware is new enough to answer it: level 0 is always there.
        questions.push(MailboxQuestion::fabric(0));
    }
    if wanted.has(Part::Classes) && by_mailbox(context.processor) {
        questions.extend((0..CLASSES).map(MailboxQuestion::class));
    }
    questions
}

/// Bits 7:0 revision, 15:8 highest level, 23:16 level at present, 24 locked, 31 can be chosen.
fn profiles(word: u32) -> Profiles {
    let [revision, highest, current, _] = word.to_le_bytes();
    Profiles {
        revision: Ok(revision),
        highest,
        mask: ((1u32 << (u32::from(highest.min(7)) + 1)) - 1) as u8,
        current,
        locked: word >> 24 & 1 == 1,
        locked_by_register: None,
        dynamic: word >> 31 == 1,
        on: None,
        levels: Vec::new(),
    }
}

fn core_power(ask: &impl Fn(MailboxQuestion) -> Reading<u32>) -> CorePower {
    let switch = ask(MailboxQuestion::CORE_POWER);
    let classes = ask(MailboxQuestion::PRIORITIES);
    CorePower {
        supported: map(&switch, |word| word & 1 == 1),
        enabled: map(&switch, |word| word >> 16 & 1 == 1),
        classes_enabled: map(&classes, |word| word >> 1 & 1 == 1),
        priority: map(&classes, |word| Priority::of(word >> 2 & 1 == 1)),
    }
}

/// The second and the third round.
fn levels(context: &Context<'_>, domains: &mut [Domain], first: &Answers) {
    let numbers = |domain: &Domain| match &domain.profiles {
        Some(Ok(profiles)) => profiles.numbers().collect(),
        _ => Vec::new(),
    };
    let control = |level| MailboxQuestion::about(AboutLevel::Control, level);
    // All of them, whichever are wanted: numbers may have holes, of which only a refusal tells.
    let second = context
        .asker
        .mailbox(&each(domains, |domain| numbers(domain).into_iter().map(control).collect()));
    for domain in &mut *domains {
        let (Some(cpu), numbers) = (domain.first(), numbers(domain)) else { continue };
        let Some(Ok(profiles)) = &mut domain.profiles else { continue };
        for number in numbers {
            let features = map(&answer(&second, cpu, control(number)), |word| features(*word));
            let refused = features.as_ref().is_err_and(|no| no.obstacle == Obstacle::Hardware);
            if refused && number != profiles.current {
                profiles.mask &= !(1 << number);
                continue;
            }
            let level =
                Level { number, features, properties: None, base_freq: None, turbo_freq: None };
            profiles.levels.push(level);
        }
        let chosen = chosen(context.wanted.levels, profiles);
        profiles.levels.retain(|level| chosen.contains(&level.number));
    }
    third_round(context, domains, first);
}

/// Bits 0 and 16 turbo frequencies, 1 and 17 base frequencies: supported, and on.
fn features(word: u32) -> Features {
    let bit = |bit: u32| word >> bit & 1 == 1;
    Features { turbo_freq: Feature::of(bit(0), bit(16)), base_freq: Feature::of(bit(1), bit(17)) }
}

fn third_round(context: &Context<'_>, domains: &mut [Domain], first: &Answers) {
    let newer = |domain: &Domain| {
        let cpu = domain.first();
        cpu.is_some_and(|cpu| answer(first, cpu, MailboxQuestion::fabric(0)).is_ok())
    };
    let of_levels = |domain: &Domain, of: &dyn Fn(&Level) -> Vec<MailboxQuestion>| {
        let Some(Ok(profiles)) = &domain.profiles else { return Vec::new() };
        profiles.levels.iter().flat_map(of).collect()
    };
    let mut third = context.asker.mailbox(&each(domains, |domain| {
        of_levels(domain, &|level| questions(context, level, newer(domain)))
    }));
    // Firmware may answer the newer question of one level and not of another.
    let refused = |cpu, level: &Level| {
        let question = MailboxQuestion::fabric(level.number);
        third.get(&(cpu, question)).is_some_and(Result::is_err)
    };
    let older = each(domains, |domain| {
        of_levels(domain, &|level| {
            let fabric = MailboxQuestion::about(AboutLevel::Fabric, level.number);
            let again = domain.first().is_some_and(|cpu| refused(cpu, level));
            again.then_some(fabric).into_iter().collect()
        })
    });
    third.extend(context.asker.mailbox(&older));
    let read = |register| {
        let wanted = context.wanted.has(Part::Properties);
        if wanted { registers(context, domains, register) } else { BTreeMap::new() }
    };
    let bucket_cores = read(TURBO_CORES);
    let fixed = |domain: &Domain| matches!(&domain.profiles, Some(Ok(it)) if is_fixed(context, it));
    let limits = if domains.iter().any(fixed) { read(TURBO_LIMITS) } else { BTreeMap::new() };
    for domain in domains {
        let Some(cpu) = domain.first() else { continue };
        let Some(Ok(profiles)) = &mut domain.profiles else { continue };
        let is_fixed = is_fixed(context, profiles);
        for level in &mut profiles.levels {
            let asked = LevelQuery { answers: &third, cpu, level: level.number, context };
            if context.wanted.has(Part::Properties) {
                let properties = asked.properties(&bucket_cores[&cpu]);
                let known = |it: &Properties| {
                    it.base.as_ref().is_ok_and(|all| all.iter().any(|it| it.frequency.is_some()))
                };
                level.properties = Some(match limits.get(&cpu) {
                    Some(limits) if is_fixed && !known(&properties) => {
                        asked.without_levels(properties, limits)
                    }
                    _ => properties,
                });
            }
            if context.wanted.has(Part::BaseFreq) {
                level.base_freq = Some(asked.if_supported(
                    "base frequencies of two kinds",
                    map(&level.features, |features| features.base_freq),
                    LevelQuery::base_freq,
                ));
            }
            if context.wanted.has(Part::TurboFreq) {
                level.turbo_freq = Some(asked.if_supported(
                    "turbo frequencies of two kinds",
                    map(&level.features, |features| features.turbo_freq),
                    LevelQuery::turbo_freq,
                ));
            }
        }
    }
}

/// Skylake servers whose firmware describes no levels: what holds is known to the kernel and to registers.
fn is_fixed(context: &Context<'_>, profiles: &Profiles) -> bool {
    !profiles.dynamic && by_mailbox(context.processor)
}

/// How many licences there are, and what they are called.
fn licences(processor: Option<Processor>) -> Vec<Licence> {
    if processor.is_some_and(Processor::is_emerald_rapids) {
        Licence::numbered(5).collect()
    } else {
        Licence::named(3).collect()
    }
}

/// Everything that belongs to a level.
fn questions(context: &Context<'_>, level: &Level, newer: bool) -> Vec<MailboxQuestion> {
    use AboutLevel as About;
    let number = level.number;
    let about = |what| MailboxQuestion::about(what, number);
    let halves = |what| Half::BOTH.map(|half| MailboxQuestion::half(what, number, half));
    let by_licence = |what| {
        let licences = licences(context.processor).into_iter();
        licences.flat_map(move |licence| {
            Half::BOTH.map(|half| MailboxQuestion::licence(what, number, half, licence.number))
        })
    };
    let supports = |pick: fn(&Features) -> Feature| {
        level.features.as_ref().is_ok_and(|it| pick(it) != Feature::Unsupported)
    };
    let mut questions = Vec::new();
    if context.wanted.has(Part::Properties) {
        let plain = [About::Tdp, About::Power, About::Temperature, About::Base, About::Memory];
        questions.extend(plain.map(about));
        questions.push(if newer { MailboxQuestion::fabric(number) } else { about(About::Fabric) });
        questions.extend(halves(HalfOfLevel::Cores));
        questions.extend(by_licence(LicenceOfLevel::Turbo));
    }
    if context.wanted.has(Part::BaseFreq) && supports(|features| features.base_freq) {
        questions.extend(halves(HalfOfLevel::BaseFreqCores));
        let plain = [About::BaseFreqRatios, About::BaseFreqTemperature, About::BaseFreqTdp];
        questions.extend(plain.map(about));
    }
    if context.wanted.has(Part::TurboFreq) && supports(|features| features.turbo_freq) {
        questions.push(about(About::TurboFreqClip));
        questions.extend(halves(HalfOfLevel::TurboFreqCores));
        questions.extend(by_licence(LicenceOfLevel::TurboFreq));
    }
    questions
}

/// What was answered about a level.
struct LevelQuery<'a> {
    answers: &'a Answers,
    cpu: CpuId,
    level: u8,
    context: &'a Context<'a>,
}

impl LevelQuery<'_> {
    fn about(&self, what: AboutLevel) -> Reading<u32> {
        answer(self.answers, self.cpu, MailboxQuestion::about(what, self.level))
    }

    /// Both halves as one number.
    fn halves(&self, what: HalfOfLevel) -> Reading<u64> {
        self.both(|half| MailboxQuestion::half(what, self.level, half))
    }

    fn both(&self, question: impl Fn(Half) -> MailboxQuestion) -> Reading<u64> {
        let low = answer(self.answers, self.cpu, question(Half::Low))?;
        let high = answer(self.answers, self.cpu, question(Half::High))?;
        Ok(u64::from(low) | u64::from(high) << 32)
    }

    /// Limits of eight groups, a byte each.
    fn limits(&self, what: LicenceOfLevel, licence: Licence) -> Reading<[u8; BUCKETS]> {
        let number = licence.number;
        self.both(|half| MailboxQuestion::licence(what, self.level, half, number))
            .map(u64::to_le_bytes)
    }

    fn if_supported<T>(
        &self,
        what: &str,
        feature: Reading<Feature>,
        read: impl FnOnce(&Self) -> Reading<T>,
    ) -> Reading<T> {
        match feature? {
            Feature::Unsupported => Err(not_at_level(what, self.level)),
            _ => read(self),
        }
    }

    fn properties(&self, bucket_cores: &Reading<u64>) -> Properties {
        let tdp = self.about(AboutLevel::Tdp);
        let turbo = licences(self.context.processor).into_iter().map(|licence| TurboLimits {
            licence,
            limits: self
                .limits(LicenceOfLevel::Turbo, licence)
                .map(|limits| limits.map(Megahertz::of_ratio)),
        });
        Properties {
            modules: self.halves(HalfOfLevel::Cores).map(Modules),
            tdp_ratio: map(&tdp, |word| (word >> 16) as u8),
            base: self.about(AboutLevel::Base).map(base),
            tdp: tdp.and_then(|word| given(word & 0x7fff, "thermal design power", Watts)),
            power: self
                .about(AboutLevel::Power)
                .map(|word| [Watts(word >> 16 & 0x7fff), Watts(word & 0x7fff)]),
            temperature: self
                .about(AboutLevel::Temperature)
                .and_then(|word| given(word & 0xff, "highest temperature", Celsius)),
            fabrics: self.fabric().map(|fabric| vec![fabric]),
            memory: self.memory(),
            cooling: Err(Unavailable::new(
                Obstacle::Hardware,
                "cooling",
                "the mailbox of this generation does not report it",
            )),
            bucket_cores: map(bucket_cores, |all| all.to_le_bytes().map(u16::from)),
            turbo: turbo.collect(),
        }
    }

    /// Where the levels say nothing: the kernel's base frequency, and turbo limits as they are now.
    fn without_levels(&self, known: Properties, limits: &Reading<u64>) -> Properties {
        let path = format!("/sys/devices/system/cpu/cpu{}/cpufreq/base_frequency", self.cpu);
        let base = self.context.machine.tree.read(&path).and_then(|text| {
            let kilohertz: Option<u32> = text.trim().parse().ok();
            let mhz = kilohertz.and_then(|kilohertz| Megahertz::given(kilohertz / 1000));
            mhz.ok_or_else(|| {
                let why = format!("`{path}` holds no frequency");
                Unavailable::new(Obstacle::Permission, "base frequency", why)
            })
        });
        let plain = Licence::named(1);
        let limits = map(limits, |all| all.to_le_bytes().map(Megahertz::of_ratio));
        let turbo = plain.map(|licence| TurboLimits { licence, limits: limits.clone() });
        Properties {
            base: base.map(|mhz| {
                let one = |licence| PerLicence { licence, frequency: Some(mhz) };
                Licence::named(1).map(one).collect()
            }),
            turbo: turbo.collect(),
            ..known
        }
    }

    /// Older firmware does not tell the lowest one.
    fn fabric(&self) -> Reading<Fabric> {
        let newer = answer(self.answers, self.cpu, MailboxQuestion::fabric(self.level));
        let tells_lowest = newer.is_ok();
        let word = newer.or_else(|_| self.about(AboutLevel::Fabric))?;
        let [highest, guaranteed, _, lowest] = word.to_le_bytes().map(Megahertz::of_ratio);
        Ok(Fabric { lowest: lowest.filter(|_| tells_lowest), guaranteed, highest })
    }

    /// A code that each generation means otherwise.
    fn memory(&self) -> Reading<Megahertz> {
        const ICE_LAKE: [u32; 7] = [3200, 2933, 2667, 2400, 2133, 1867, 1600];
        const SAPPHIRE_RAPIDS_STEP: u32 = 200;
        let code = self.about(AboutLevel::Memory)? & 0xff;
        let is = |model: fn(Processor) -> bool| self.context.processor.is_some_and(model);
        let mhz = if is(Processor::is_ice_lake) {
            ICE_LAKE.get(code as usize).copied()
        } else if is(Processor::is_sapphire_rapids) {
            Some(code * SAPPHIRE_RAPIDS_STEP).filter(|mhz| *mhz > 0)
        } else {
            None
        };
        mhz.map(Megahertz).ok_or_else(|| {
            let why = format!("the meaning of code {code} on this processor is unknown");
            Unavailable::new(Obstacle::Cpudyno, "rate of memory", why)
        })
    }

    fn base_freq(&self) -> Reading<BaseFreq> {
        let modules = Modules(self.halves(HalfOfLevel::BaseFreqCores)?);
        let [low, high, _, _] = self.about(AboutLevel::BaseFreqRatios)?.to_le_bytes();
        Ok(BaseFreq {
            modules,
            high: Megahertz::of_ratio(high),
            low: Megahertz::of_ratio(low),
            temperature: self
                .about(AboutLevel::BaseFreqTemperature)
                .and_then(|word| given(word & 0xff, "highest temperature", Celsius)),
            tdp: self
                .about(AboutLevel::BaseFreqTdp)
                .and_then(|word| given(word & 0xffff, "thermal design power", Watts)),
        })
    }

    fn turbo_freq(&self) -> Reading<TurboFreq> {
        let cores = self.halves(HalfOfLevel::TurboFreqCores)?.to_le_bytes();
        let clips = self.about(AboutLevel::TurboFreqClip)?.to_le_bytes();
        let licences = licences(self.context.processor);
        let limits = licences
            .iter()
            .map(|licence| Ok((*licence, self.limits(LicenceOfLevel::TurboFreq, *licence)?)))
            .collect::<Reading<Vec<_>>>()?;
        let bucket = |(place, cores): (usize, u8)| Bucket {
            cores: cores.into(),
            limits: limits
                .iter()
                .map(|(licence, limits)| PerLicence {
                    licence: *licence,
                    frequency: Megahertz::of_ratio(limits[place]),
                })
                .collect(),
        };
        let clip = |(licence, ratio): (Licence, u8)| PerLicence {
            licence,
            frequency: Megahertz::of_ratio(ratio),
        };
        Ok(TurboFreq {
            buckets: cores
                .into_iter()
                .enumerate()
                .take_while(|(_, n)| *n > 0)
                .map(bucket)
                .collect(),
            clips: licences.iter().copied().zip(clips).take(CLIPS).map(clip).collect(),
        })
    }
}

/// How many limits of the others a word has, whatever the number of licences.
const CLIPS: usize = 3;

/// Plain, AVX2, AVX-512, AMX.
fn base(word: u32) -> Vec<PerLicence> {
    let licences = Licence::named(4).zip(word.to_le_bytes());
    licences
        .map(|(licence, ratio)| PerLicence { licence, frequency: Megahertz::of_ratio(ratio) })
        .collect()
}

/// Zero is none.
fn given<T>(number: u32, what: &str, unit: fn(u32) -> T) -> Reading<T> {
    if number == 0 { Err(not_given(what)) } else { Ok(unit(number)) }
}

/// Bits 3:0 preference, 7:4 weight, 15:8 lowest, 23:16 highest, 31:24 desired ratio.
fn class(number: u8, word: u32) -> Class {
    const NO_LIMIT: u8 = 0xff;
    let [low, lowest, highest, desired] = word.to_le_bytes();
    Class {
        number,
        energy_preference: Some(low & 0xf),
        weight: low >> 4,
        lowest: Megahertz::of_ratio(lowest).unwrap_or(Megahertz(0)),
        highest: Some(highest)
            .filter(|ratio| *ratio != NO_LIMIT)
            .map(|ratio| Megahertz::of_ratio(ratio).unwrap_or(Megahertz(0))),
        desired: Megahertz::of_ratio(desired),
    }
}

/// Whether a domain surely has no priorities.
fn has_none(first: &Answers, domain: &Domain) -> bool {
    let switch = |cpu| answer(first, cpu, MailboxQuestion::CORE_POWER);
    domain.first().is_some_and(|cpu| switch(cpu).is_ok_and(|word| word & 1 == 0))
}

fn classes(context: &Context<'_>, domains: &mut [Domain], first: &Answers) {
    for domain in domains.iter_mut().filter(|domain| has_none(first, domain)) {
        domain.classes = Some(vec![Err(no_priorities("class")); CLASSES.into()]);
    }
    let mut domains: Vec<&mut Domain> =
        domains.iter_mut().filter(|domain| domain.classes.is_none()).collect();
    if by_mailbox(context.processor) {
        for domain in domains {
            let Some(cpu) = domain.first() else { continue };
            let word = |number| answer(first, cpu, MailboxQuestion::class(number));
            let all = (0..CLASSES).map(|number| word(number).map(|word| class(number, word)));
            domain.classes = Some(all.collect());
        }
        return;
    }
    let registers: Vec<(CpuId, u32)> = domains
        .iter()
        .filter_map(|domain| domain.first())
        .flat_map(|cpu| (0..CLASSES).map(move |n| (cpu, CLASS_REGISTERS + 4 * u32::from(n))))
        .collect();
    let mut answers = context.asker.mmio(&registers).into_iter();
    for domain in domains.iter_mut().filter(|domain| domain.first().is_some()) {
        let own = answers.by_ref().take(usize::from(CLASSES));
        let all = (0..).zip(own).map(|(number, word)| word.map(|word| class(number, word)));
        domain.classes = Some(all.collect());
    }
}

/// Threads of a core share its register: each core is asked once.
fn associations(context: &Context<'_>, domains: &mut [Domain], first: &Answers) {
    for domain in domains {
        let wanted = context.wanted.cpus.as_ref();
        let members: Vec<Member> = domain
            .cpus
            .iter()
            .filter(|member| wanted.is_none_or(|cpus| cpus.contains(member.cpu)))
            .copied()
            .collect();
        let asleep = context.asleep(domain);
        let all = members.iter().map(|member| member.module).chain(asleep.iter().copied());
        let mut modules: Vec<u32> = all.collect();
        modules.sort_unstable();
        modules.dedup();
        let Some(cpu) = domain.first() else { continue };
        if has_none(first, domain) {
            let reason = || Err(no_priorities("classes of CPUs"));
            let all = members.iter().map(|member| (member.cpu, reason()));
            domain.associations = Some(all.collect());
            continue;
        }
        let words: Vec<Reading<u32>> = if by_mailbox(context.processor) {
            let question = |module: &u32| (cpu, MailboxQuestion::association(*module as u8));
            let questions: Vec<_> = modules.iter().map(question).collect();
            let answers = context.asker.mailbox(&questions);
            questions.iter().map(|(cpu, question)| answer(&answers, *cpu, *question)).collect()
        } else {
            let register = |module: &u32| (cpu, CORE_REGISTERS + 4 * module);
            context.asker.mmio(&modules.iter().map(register).collect::<Vec<_>>())
        };
        let of: BTreeMap<u32, Reading<u8>> = modules
            .into_iter()
            .zip(words.iter().map(|word| map(word, |w| (w >> 16 & 3) as u8)))
            .collect();
        let all = members.iter().map(|member| (member.cpu, of[&member.module].clone()));
        domain.associations = Some(all.collect());
        domain.sleeping = asleep.iter().map(|module| (*module, of[module].clone())).collect();
    }
}
