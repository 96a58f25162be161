//! Performance levels, and the CPUs that come and go with them.

use levers::plan::PlannedWrite;
use levers::{Object, SettingOwner};
use machine::isst::settable::What;
use model::{CpuId, CpuSet, Reading};

use super::super::clocks::turbo_of;
use super::super::ground::Ground;
use super::super::limits::{placed, plain};
use super::super::{Refused, Steps};
use crate::model::{Domain, DomainKind, Level, Megahertz, Modules, Profiles};

const CPU: &str = "/sys/devices/system/cpu";
/// The family whose uncore has other limits than levels say.
const OWN_UNCORE_FAMILY: u32 = 19;

pub(super) fn steps(ground: &Ground<'_>, level: u8, with_cpus: bool) -> Result<Steps, Refused> {
    let mut steps = Steps::default();
    let (mut without_uncore, mut hidden) = (Vec::new(), None);
    for domain in ground.targets() {
        let Some(found) = checked(ground, domain, level)? else { continue };
        steps.firmware.push(ground.step(domain, What::Level, level.to_string())?);
        let is_new = ground.profiles(domain)?.current != level;
        if is_new {
            steps.remarks.extend(lost(ground, domain)?);
            steps.remarks.extend(ranked(domain));
            hidden = hidden.or_else(|| ground.hidden(domain, found, false));
        }
        let modules = modules(ground, domain, found)?;
        if !with_cpus {
            steps.remarks.extend(left_off(ground, domain, found, modules));
        }
        steps.limits.extend(ground.opened_at(domain, found, false, with_cpus.then_some(modules)));
        if with_cpus && domain.kind() != DomainKind::Io {
            match uncore(ground, domain, found) {
                Some(limits) => steps.limits.extend(limits),
                None => without_uncore.push(domain.place()),
            }
        }
    }
    steps.remarks.extend(hidden);
    if !without_uncore.is_empty() {
        steps.remarks.push(format!(
            "limits of the uncore stay as they are: the kernel cannot set those of {} (`sudo \
             modprobe intel-uncore-frequency`)",
            without_uncore.join("; ")
        ));
    }
    if with_cpus {
        steps.firmware.extend(cpus(ground, level)?);
        steps.remarks.extend(sleeping(ground, level));
    }
    Ok(steps)
}

/// The level of a power domain, where it can be set; none: the power domain has no cores and no levels.
fn checked<'d>(
    ground: &Ground<'_>,
    domain: &'d Domain,
    level: u8,
) -> Result<Option<&'d Level>, Refused> {
    let is_io = domain.kind() == DomainKind::Io;
    let profiles = match ground.profiles(domain) {
        Err(_) if is_io => return Ok(None),
        profiles => profiles?,
    };
    let found = profiles.level(level).filter(|_| profiles.numbers().any(|number| number == level));
    let is_new = profiles.current != level;
    if is_new && (found.is_some() || !is_io) {
        unlocked(ground, domain, profiles)?;
    }
    let Some(found) = found else {
        if is_io {
            return Ok(None);
        }
        let numbers: Vec<String> = profiles.numbers().map(|number| number.to_string()).collect();
        let why = match numbers.as_slice() {
            [only] => format!("{} has only level {only}", domain.place()),
            _ => format!("{} has levels {}", domain.place(), numbers.join(", ")),
        };
        return Err(ground.wish.not_here(why, "`cpudyno sst perf-profile info` shows all levels"));
    };
    if !is_new {
        return Ok(Some(found));
    }
    if !profiles.dynamic {
        if is_io {
            return Ok(None);
        }
        let why = format!("levels of {} cannot be chosen while the machine runs", domain.place());
        let hint = "the setup of the firmware may choose one";
        return Err(ground.wish.not_here(why, hint));
    }
    Ok(Some(found))
}

/// Whether the level may be another one at all.
fn unlocked(ground: &Ground<'_>, domain: &Domain, profiles: &Profiles) -> Result<(), Refused> {
    let by_register = matches!(profiles.locked_by_register, Some(Ok(true)));
    if !profiles.locked && !by_register {
        return Ok(());
    }
    let who = if by_register { "register 64Bh" } else { "firmware" };
    let why = format!("{who} has locked the level of {} until the next reset", domain.place());
    let hint =
        "the setup of the firmware may unlock it; `cpudyno sst perf-profile get-lock-status`";
    Err(ground.wish.order(why, hint))
}

/// What a new level switches off.
fn lost(ground: &Ground<'_>, domain: &Domain) -> Result<Option<String>, Refused> {
    let on = ground.on(domain)?;
    let names = match (on.base_freq, on.turbo_freq) {
        (false, false) => return Ok(None),
        (true, false) => "base-freq",
        (false, true) => "turbo-freq",
        (true, true) => "base-freq and turbo-freq",
    };
    let place = domain.place();
    Ok(Some(format!("a new level switches {names} of {place} off; `cpudyno undo` brings it back")))
}

/// Classes stay as they are.
fn ranked(domain: &Domain) -> Option<String> {
    (Ground::heeds_priorities(domain) && !placed(domain).is_empty()).then(|| {
        format!(
            "classes of cores of {} stay as they are: when power is short, firmware takes it from \
             some cores first, and those may go below their base frequency",
            domain.place()
        )
    })
}

/// The modules that a level allows.
fn modules(ground: &Ground<'_>, domain: &Domain, level: &Level) -> Result<Modules, Refused> {
    let properties = level.properties.as_ref();
    let modules = properties.map(|properties| &properties.modules);
    ground.known(modules, domain).copied()
}

/// A CPU, switched on or off.
fn switch(cpu: CpuId, on: bool) -> PlannedWrite {
    let object = Object::File(format!("{CPU}/cpu{cpu}/online"));
    let (setting, wanted) = ("online".to_owned(), if on { "1" } else { "0" }.to_owned());
    PlannedWrite { setting, of: SettingOwner::Cpu(cpu), object, wanted, is_effective: false }
}

/// The CPUs of the level on, all others of its power domain off. Of CPUs that are off nobody knows where
/// they are: they are switched on to be asked, and off again if they have no part in it.
fn cpus(ground: &Ground<'_>, level: u8) -> Result<Vec<PlannedWrite>, Refused> {
    let (mut come, mut go) = (Vec::new(), Vec::new());
    for domain in &ground.snapshot.domains {
        if !ground.is_target(domain) {
            continue;
        }
        let Some(found) = checked(ground, domain, level)? else { continue };
        let modules = modules(ground, domain, found)?;
        for member in &domain.cpus {
            if modules.contains(member.module) {
                come.push(switch(member.cpu, true));
                continue;
            }
            if !has_switch(ground, member.cpu) {
                let why = format!(
                    "level {level} excludes core {} of {}, and the kernel cannot switch CPU {} off",
                    member.module,
                    domain.place(),
                    member.cpu
                );
                let hint =
                    "leave out -o, and keep work off that CPU with cpuset groups or isolcpus";
                return Err(ground.wish.not_here(why, hint));
            }
            go.push(switch(member.cpu, false));
        }
    }
    come.retain(|step| matches!(&step.of, SettingOwner::Cpu(cpu) if has_switch(ground, *cpu)));
    go.extend(ground.strangers().iter().map(|cpu| switch(cpu, false)));
    come.extend(unplaced(ground, level).iter().map(|cpu| switch(cpu, true)));
    Ok(come.into_iter().chain(go).collect())
}

fn has_switch(ground: &Ground<'_>, cpu: CpuId) -> bool {
    ground.machine.tree.read(&format!("{CPU}/cpu{cpu}/online")).is_ok()
}

/// Whether the kernel keeps all threads of a core but the first one off.
fn forbids_siblings(ground: &Ground<'_>) -> bool {
    let control = ground.machine.tree.read(&format!("{CPU}/smt/control"));
    control.is_ok_and(|text| matches!(text.trim(), "off" | "forceoff"))
}

/// What is known of a CPU that is off, as far as the driver remembers it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sleeper {
    /// It may be in a power domain that is meant, and in the level.
    Wanted,
    /// It may not be switched on: a thread of a core, and not its first.
    Sibling,
    /// It is elsewhere, or not in the level.
    Other,
}

/// The CPUs that are off, and what is known of them.
fn off(ground: &Ground<'_>, level: u8) -> Vec<(CpuId, Sleeper)> {
    let may_be_allowed = |module: u32, number: Option<u32>| {
        ground.targets().into_iter().any(|domain| {
            let is_here = number.is_none_or(|number| number == domain.number);
            let modules = checked(ground, domain, level).ok().flatten();
            let modules = modules.and_then(modules_or_none);
            is_here && modules.is_none_or(|modules| modules.contains(module))
        })
    };
    let is_first_only = forbids_siblings(ground);
    let device = ground.machine.isst.open().ok();
    let number = |cpu: CpuId| -> Option<u32> {
        let known = device.as_ref()?.physical(&[cpu]).ok()?;
        known.first().copied().filter(|number| *number != u32::MAX)
    };
    let all = ground.snapshot.unplaced.iter().flat_map(|it| it.cpus.iter());
    let all = all.filter(|cpu| !ground.sleepers.foreign.contains(*cpu));
    let all: Vec<(CpuId, Option<u32>)> =
        all.filter(|cpu| has_switch(ground, *cpu)).map(|cpu| (cpu, number(cpu))).collect();
    // Zero stands for the first thread of core 0, and for a CPU that the driver has never seen.
    let zeros: Vec<CpuId> =
        all.iter().filter(|(_, number)| *number == Some(0)).map(|(cpu, _)| *cpu).collect();
    let of = |cpu: CpuId, number: Option<u32>| match number {
        None | Some(0) if !is_first_only => Sleeper::Wanted,
        Some(0) if is_first_core(ground, &zeros, cpu) && may_be_allowed(0, Some(0)) => {
            Sleeper::Wanted
        }
        None | Some(0) => Sleeper::Sibling,
        Some(number) if is_first_only && number & 1 == 1 => Sleeper::Sibling,
        Some(number) => {
            let is_wanted = if ground.is_older() {
                may_be_allowed(number >> 1 & 0xff, None)
            } else {
                may_be_allowed(number >> 3 & 0xff, Some(crate::backends::domain_number(number)))
            };
            if is_wanted { Sleeper::Wanted } else { Sleeper::Other }
        }
    };
    all.into_iter().map(|(cpu, number)| (cpu, of(cpu, number))).collect()
}

/// Whether this is core 0 of a power domain that is meant and lacks it: the nearest one before its CPUs.
fn is_first_core(ground: &Ground<'_>, zeros: &[CpuId], cpu: CpuId) -> bool {
    let lacks = |domain: &&Domain| !domain.modules().contains(0);
    ground.targets().into_iter().filter(lacks).any(|domain| {
        let before = zeros.iter().filter(|zero| domain.first().is_some_and(|first| **zero < first));
        before.max() == Some(&cpu)
    })
}

/// The CPUs that are off and may be in a power domain that is meant.
fn unplaced(ground: &Ground<'_>, level: u8) -> CpuSet {
    of_kind(ground, level, Sleeper::Wanted)
}

fn of_kind(ground: &Ground<'_>, level: u8, kind: Sleeper) -> CpuSet {
    off(ground, level).into_iter().filter(|(_, it)| *it == kind).map(|(cpu, _)| cpu).collect()
}

fn modules_or_none(level: &Level) -> Option<Modules> {
    level.properties.as_ref()?.modules.as_ref().ok().copied()
}

/// What is said of CPUs that are off.
fn sleeping(ground: &Ground<'_>, level: u8) -> Vec<String> {
    let asked = unplaced(ground, level);
    let left = of_kind(ground, level, Sleeper::Sibling);
    // Some of them may be all that a power domain has.
    let is_all = ground.is_older() && ground.wish.cpus.is_none();
    let beside = if is_all {
        "; the level of a power domain that has no other CPU is set as well"
    } else {
        ""
    };
    let asked = (!asked.is_empty()).then(|| {
        format!(
            "the kernel does not report where {} {} while off: CPUs that may be in the level are \
             switched on, and off again if they are not{beside}",
            asked.named(),
            if asked.len() == 1 { "is" } else { "are" }
        )
    });
    let left = (!left.is_empty()).then(|| {
        format!(
            "{} {} off: SMT is off, so only the first thread of a core is on (`cpudyno set \
             smt=on`)",
            left.named(),
            if left.len() == 1 { "stays" } else { "stay" }
        )
    });
    asked.into_iter().chain(left).collect()
}

/// The cores that a level allows again, and which nobody switches on.
fn left_off(
    ground: &Ground<'_>,
    domain: &Domain,
    level: &Level,
    modules: Modules,
) -> Option<String> {
    let is_in = |(module, _): &&(u32, Reading<u8>)| modules.contains(*module);
    let cores: CpuSet =
        domain.sleeping.iter().filter(is_in).map(|(module, _)| CpuId(*module)).collect();
    let mhz = |clock: Option<Megahertz>| clock.map_or("?".to_owned(), |mhz| mhz.0.to_string());
    let (word, them) = if cores.len() == 1 { ("core", "it") } else { ("cores", "them") };
    let base = mhz(plain(level));
    let turbo = mhz(turbo_of(level, modules.count()).ok());
    let face = ground.wish.face();
    let number = level.number;
    (!cores.is_empty()).then(|| {
        format!(
            "level {number} of {} also has {word} {cores}, without an online CPU: `{face} \
             perf-profile set-config-level -l {number} -o` brings {them} back, with a base of \
             {base} MHz and an all-core turbo of {turbo} MHz",
            domain.place()
        )
    })
}

/// The limits of the uncore that a level has; none: nobody can set them.
fn uncore(ground: &Ground<'_>, domain: &Domain, level: &Level) -> Option<Vec<PlannedWrite>> {
    if ground.snapshot.processor.is_some_and(|it| it.family == OWN_UNCORE_FAMILY) {
        return Some(Vec::new());
    }
    let properties = level.properties.as_ref();
    let fabric = properties.and_then(|it| it.fabrics.as_ref().ok()?.first().copied());
    let Some(fabric) = fabric else { return Some(Vec::new()) };
    let folder = uncore_folder(ground, domain)?;
    let files = [("min_freq_khz", fabric.lowest), ("max_freq_khz", fabric.highest)];
    let step = |(file, mhz): (&str, Option<crate::model::Megahertz>)| {
        let path = format!("{folder}/{file}");
        ground.machine.tree.read(&path).ok()?;
        let object = Object::File(path);
        let setting = levers::Lever::of(&object)?.id.to_owned();
        let wanted = (u64::from(mhz?.0) * 1000).to_string();
        let of = SettingOwner::Part(domain.place());
        Some(PlannedWrite { setting, of, object, wanted, is_effective: false })
    };
    Some(files.into_iter().filter_map(step).collect())
}

/// Where the uncore of a power domain is set.
///
/// # Source
/// Linux, Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst.
fn uncore_folder(ground: &Ground<'_>, domain: &Domain) -> Option<String> {
    let root = format!("{CPU}/intel_uncore_frequency");
    if ground.is_older() {
        let die = domain.die.unwrap_or(0);
        let folder = format!("{root}/package_{:02}_die_{die:02}", domain.package);
        return ground
            .machine
            .tree
            .read(&format!("{folder}/max_freq_khz"))
            .is_ok()
            .then_some(folder);
    }
    let number =
        |path: String| -> Option<u32> { ground.machine.tree.read(&path).ok()?.trim().parse().ok() };
    let names = ground.machine.tree.list(&root).ok()?;
    names.into_iter().map(|name| format!("{root}/{name}")).find(|folder| {
        number(format!("{folder}/domain_id")) == Some(domain.number)
            && number(format!("{folder}/package_id")) == Some(domain.package)
    })
}
