//! What the kernel names: events that it finds on every PMU, its own counters, and those of sysfs.

use machine::Tree;
use machine::pmu::{self, NamedEvent, Pmu};
use model::{Obstacle, Reading, Unavailable};

use super::{EventSource, Listed, no_more};
use crate::events::cpu::Maker;
use crate::events::encoded::{CounterPlace, Encoded, EventScope, Source};
use crate::events::target::{CoreTypePmu, Target};

pub(super) const ROW: EventSource = EventSource {
    source: Source::Kernel,
    name: "kernel",
    doc: "generic events, the kernel's own counters, and those that sysfs names",
    all,
    find: no_more,
};

/// `perf_type_id` of `include/uapi/linux/perf_event.h`.
pub(crate) const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CACHE: u32 = 3;

/// `perf_hw_id`: number, name, what it counts.
#[rustfmt::skip]
const GENERIC: &[(u64, &str, &str)] = &[
    (1, "instructions", "Instructions retired."),
    (0, "cycles", "Cycles of the core while this thread is not halted, at whatever clock it has."),
    (9, "ref-cycles", "Time in which this thread is not halted, in ticks of a clock of constant rate."),
    (2, "cache-references", "Accesses to the last level of cache, by the kernel's choice of event."),
    (3, "cache-misses", "Misses of the last level of cache, by the kernel's choice of event."),
    (4, "branches", "Branches retired."),
    (5, "branch-misses", "Branches retired that were predicted wrongly."),
    (6, "bus-cycles", "Ticks of the bus's clock."),
    (7, "stalled-cycles-frontend", "Cycles in which nothing was issued for want of instructions."),
    (8, "stalled-cycles-backend", "Cycles in which nothing was issued for want of resources."),
];

/// `perf_sw_ids`: number, name, what it counts.
#[rustfmt::skip]
const OF_KERNEL: &[(u64, &str, &str)] = &[
    (1, "task-clock", "Time that the thread was on a CPU, in nanoseconds."),
    (0, "cpu-clock", "Time that the counter was on, in nanoseconds."),
    (2, "page-faults", "Page faults."),
    (5, "minor-faults", "Page faults that no device had to answer."),
    (6, "major-faults", "Page faults that a device answered."),
    (3, "context-switches", "Times that the thread left its CPU for another thread."),
    (4, "cpu-migrations", "Times that the thread came to another CPU."),
    (11, "cgroup-switches", "Context switches to a thread of another control group."),
    (7, "alignment-faults", "Accesses that the kernel repeated because of their alignment."),
    (8, "emulation-faults", "Instructions that the kernel emulated."),
];

/// The number of a generic event.
pub(crate) fn generic_number(name: &str) -> Option<u64> {
    GENERIC.iter().find(|row| row.1 == name).map(|row| row.0)
}

/// The number of an event of the kernel's own.
pub(crate) fn software_number(name: &str) -> Option<u64> {
    OF_KERNEL.iter().find(|row| row.1 == name).map(|row| row.0)
}

/// The fixed counter that Intel's CPUs have for a generic event: Intel SDM volume 3B, fixed-function
/// counters.
pub(crate) fn fixed_of_intel(number: u64) -> Option<u32> {
    (0..).zip([1, 0, 9]).find(|(_, fixed)| *fixed == number).map(|(counter, _)| counter)
}

/// The PMU that a generic event means, of several.
#[derive(Clone, Copy)]
pub(crate) struct Meant<'a> {
    pub(crate) name: &'a str,
    pub(crate) number: u32,
}

/// `type` and `config` of a generic event. Only where there are several PMUs of cores does the kernel have to
/// be told which one is meant: by `config`'s upper half, or on Arm, whose kernels before 6.6 answer ENOENT
/// to that, by asking the PMU itself for the architecture's event. What that has not, no PMU of Arm has.
pub(crate) fn generic(kind: u32, number: u64, meant: Option<Meant<'_>>) -> (u32, u64) {
    /// `PERF_PMU_TYPE_SHIFT`.
    const OF_PMU: u32 = 32;
    let Some(meant) = meant else { return (kind, number) };
    if !pmu::is_of_arm(meant.name) {
        return (kind, u64::from(meant.number) << OF_PMU | number);
    }
    let row = OF_ARM.iter().find(|row| (row.0, row.1) == (kind, number));
    row.map_or((kind, number), |row| (meant.number, row.2))
}

/// Generic events as Arm's architecture numbers them: `type`, `config`, number.
///
/// # Source
/// Linux `drivers/perf/arm_pmuv3.c`, `armv8_pmuv3_perf_map` and `armv8_pmuv3_perf_cache_map`; Arm ARM, "The
/// PMU event number space and common events".
#[rustfmt::skip]
const OF_ARM: &[(u32, u64, u64)] = &[
    (HARDWARE, 0, 0x11), // cycles: CPU_CYCLES
    (HARDWARE, 1, 0x08), // instructions: INST_RETIRED
    (HARDWARE, 2, 0x04), // cache-references: L1D_CACHE
    (HARDWARE, 3, 0x03), // cache-misses: L1D_CACHE_REFILL
    (HARDWARE, 4, 0x21), // branches: BR_RETIRED
    (HARDWARE, 5, 0x10), // branch-misses: BR_MIS_PRED
    (HARDWARE, 6, 0x1d), // bus-cycles: BUS_CYCLES
    (HARDWARE, 7, 0x23), // stalled-cycles-frontend: STALL_FRONTEND
    (HARDWARE, 8, 0x24), // stalled-cycles-backend: STALL_BACKEND
    (CACHE, 0x0_0000, 0x04), // l1-dcache-loads: L1D_CACHE
    (CACHE, 0x1_0000, 0x03), // l1-dcache-load-misses: L1D_CACHE_REFILL
    (CACHE, 0x0_0001, 0x14), // l1-icache-loads: L1I_CACHE
    (CACHE, 0x1_0001, 0x01), // l1-icache-load-misses: L1I_CACHE_REFILL
    (CACHE, 0x0_0002, 0x36), // llc-loads: LL_CACHE_RD
    (CACHE, 0x1_0002, 0x37), // llc-load-misses: LL_CACHE_MISS_RD
    (CACHE, 0x0_0003, 0x25), // dtlb-loads: L1D_TLB
    (CACHE, 0x1_0003, 0x05), // dtlb-load-misses: L1D_TLB_REFILL
    (CACHE, 0x0_0004, 0x26), // itlb-loads: L1I_TLB
    (CACHE, 0x1_0004, 0x02), // itlb-load-misses: L1I_TLB_REFILL
    (CACHE, 0x0_0005, 0x12), // branch-loads: BR_PRED
    (CACHE, 0x1_0005, 0x10), // branch-load-misses: BR_MIS_PRED
];

/// Whether Arm's architecture has a generic event of the hardware.
pub(crate) fn has_arm(number: u64) -> bool {
    OF_ARM.iter().any(|row| (row.0, row.1) == (HARDWARE, number))
}

/// Other names of the same: those that perf takes, too.
pub(crate) const ALIASES: &[(&str, &str)] = &[
    ("cpu-cycles", "cycles"),
    ("branch-instructions", "branches"),
    ("idle-cycles-frontend", "stalled-cycles-frontend"),
    ("idle-cycles-backend", "stalled-cycles-backend"),
    ("faults", "page-faults"),
    ("cs", "context-switches"),
    ("migrations", "cpu-migrations"),
];

/// `perf_hw_cache_id`, with the operations that mean something there: reading, writing, prefetching.
#[rustfmt::skip]
const CACHES: &[(u64, &str, &str, [bool; 3])] = &[
    (0, "l1-dcache", "the L1 data cache", [true, true, true]),
    (1, "l1-icache", "the L1 instruction cache", [true, false, true]),
    (2, "llc", "the last level of cache", [true, true, true]),
    (3, "dtlb", "the data TLB", [true, true, true]),
    (4, "itlb", "the instruction TLB", [true, false, false]),
    (5, "branch", "the branch prediction", [true, false, false]),
    (6, "node", "memory of the own node", [true, true, true]),
];

/// Of each operation: what perf calls accesses and misses.
const OPERATIONS: [[&str; 2]; 3] =
    [["loads", "load-misses"], ["stores", "store-misses"], ["prefetches", "prefetch-misses"]];

fn all(target: &Target<'_>) -> Listed {
    let mut listed = Listed::default();
    for core in &target.cores {
        listed.events.extend(of_core(target, core));
    }
    // In user mode alone there is no switch and no migration: they happen in the kernel's.
    let software = OF_KERNEL.iter().map(|(id, name, doc)| Encoded {
        place: CounterPlace::Software,
        by_mode: ![3, 4, 11].contains(id),
        ..plain(name.to_string(), None, Some(SOFTWARE), [*id, 0, 0, 0], doc)
    });
    listed.events.extend(software);
    let Some(tree) = target.tree() else { return listed };
    match pmu::names(tree) {
        Ok(names) => names.iter().for_each(|name| of_sysfs(target, tree, name, &mut listed)),
        Err(reason) => listed.missing.push(reason),
    }
    if let Some((core, reason)) = of_absent(target) {
        listed.missing.push(Unavailable { what: format!("events of `{core}`"), ..reason });
    }
    listed
}

/// The cores' PMU, where the kernel has none.
fn of_absent(target: &Target<'_>) -> Option<(String, Unavailable)> {
    let absent = |core: &CoreTypePmu| Some((core.pmu.clone(), core.kind.clone().err()?));
    target.cores.iter().find_map(absent).filter(|_| target.is_at_hand())
}

fn plain(
    name: String,
    pmu: Option<String>,
    kind: Option<u32>,
    config: [u64; 4],
    doc: &str,
) -> Encoded {
    Encoded {
        name,
        pmu,
        kind,
        config,
        by_mode: true,
        modes: None,
        scope: EventScope::Thread,
        place: CounterPlace::General { counters: u64::MAX, takes: 1 },
        register: None,
        source: Source::Kernel,
        description: (!doc.is_empty()).then(|| doc.to_owned()),
        caveats: Vec::new(),
    }
}

/// Events that the kernel translates for whatever PMU there is.
fn of_core(target: &Target<'_>, core: &CoreTypePmu) -> Vec<Encoded> {
    let meant = match (target.cores.len(), &core.kind) {
        (2.., Ok(number)) => Some(Meant { name: &core.pmu, number: *number }),
        _ => None,
    };
    let is_there = |kind: u32| core.kind.as_ref().ok().map(|_| kind);
    let pmu = || Some(core.pmu.clone());
    let mut events = Vec::new();
    for (id, name, doc) in GENERIC {
        let fixed = match (core.maker(), *id) {
            (Maker::Intel, id) => fixed_of_intel(id),
            (Maker::Arm, 0) => Some(31),
            _ => None,
        };
        let place = fixed
            .map_or(CounterPlace::General { counters: u64::MAX, takes: 1 }, CounterPlace::Fixed);
        let name = target.name(core, name);
        let (kind, config) = generic(HARDWARE, *id, meant);
        let event = plain(name, pmu(), is_there(kind), [config, 0, 0, 0], doc);
        events.push(Encoded { place, ..event });
    }
    for (cache, name, of, operations) in CACHES {
        let operations = (0_u64..).zip(OPERATIONS).zip(operations).filter(|(_, means)| **means);
        for ((operation, words), _) in operations {
            for (result, word) in (0_u64..).zip(words) {
                let name = target.name(core, &format!("{name}-{word}"));
                let doc = format!("{} of {of}, by the kernel's choice of event.", sentence(word));
                let number = cache | operation << 8 | result << 16;
                let (kind, config) = generic(CACHE, number, meant);
                events.push(plain(name, pmu(), is_there(kind), [config, 0, 0, 0], &doc));
            }
        }
    }
    events
}

/// `load-misses`: Load misses.
fn sentence(word: &str) -> String {
    let word = word.replace('-', " ");
    word[..1].to_uppercase() + &word[1..]
}

/// The events that a PMU has names for.
fn of_sysfs(target: &Target<'_>, tree: &dyn Tree, name: &str, listed: &mut Listed) {
    let pmu = Pmu::new(tree, name);
    let names = match pmu.events() {
        Ok(names) => names,
        Err(reason) => return listed.missing.push(reason),
    };
    let core = target.cores.iter().find(|core| core.pmu == name);
    for event in names {
        // The generic ones, under their other names.
        let known = |known: &str| known == event || ALIASES.iter().any(|(it, _)| *it == event);
        if core.is_some() && GENERIC.iter().any(|(_, generic, _)| known(generic)) {
            continue;
        }
        match in_pmu(target, pmu, &event) {
            Ok(encoded) => listed.events.push(encoded),
            Err(reason) => listed.missing.push(reason),
        }
    }
}

/// The PMUs that a name means: itself, or the instances `NAME_0`, `NAME_1`, ...
pub(super) fn instances(tree: &dyn Tree, name: &str) -> Vec<String> {
    let all = pmu::names(tree).unwrap_or_default();
    if all.iter().any(|it| it == name) {
        return vec![name.to_owned()];
    }
    let number = |it: &String| it.strip_prefix(name)?.strip_prefix('_')?.parse::<u32>().ok();
    let mut found: Vec<(u32, String)> =
        all.into_iter().filter_map(|it| Some((number(&it)?, it))).collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}

/// `EVENT` or `TERM=VALUE,...` of a PMU that the kernel describes.
pub(super) fn in_pmu(target: &Target<'_>, pmu: Pmu<'_>, terms: &str) -> Reading<Encoded> {
    let kind = pmu.kind()?;
    let is_name = !terms.contains(['=', ',']);
    let named = if is_name { Some(pmu.event(terms)) } else { None };
    let event = match named {
        Some(Ok(event)) => event,
        // A flag, or `config` as the kernel's words, is a term without a name.
        Some(Err(reason)) => match pmu.encode(terms) {
            Ok(config) if pmu.terms().is_ok_and(|all| all.iter().any(|it| it == terms)) => {
                NamedEvent { config, scale: None, unit: None }
            }
            _ => return Err(no_such(pmu, terms, &reason)),
        },
        None => NamedEvent { config: pmu.encode(terms)?, scale: None, unit: None },
    };
    let core = target.cores.iter().find(|core| core.pmu == pmu.name());
    let NamedEvent { config, scale, unit } = event;
    let is_shared = core.is_none() && pmu.cpus().is_ok();
    let by_name = is_name && core.is_some() && target.cores.len() == 1;
    let name = if by_name { terms.to_owned() } else { format!("{}/{terms}/", pmu.name()) };
    let unit = unit.map(|unit| {
        let scale = scale.unwrap_or(1.0);
        format!("A count is {scale:e} {unit}.")
    });
    let place = match core {
        Some(core) if core.maker() == Maker::Intel => intel_place(config),
        None if pmu.name() == "msr" => CounterPlace::Software,
        _ => CounterPlace::General { counters: u64::MAX, takes: 1 },
    };
    let is_share = place == CounterPlace::SHARE;
    Ok(Encoded {
        by_mode: core.is_some(),
        scope: if is_shared { EventScope::Shared } else { EventScope::Thread },
        place,
        source: if is_name { Source::Kernel } else { Source::Raw },
        description: unit,
        caveats: Vec::from_iter(is_share.then(|| CounterPlace::WITH_SLOTS.to_owned())),
        ..plain(name, Some(pmu.name().to_owned()), Some(kind), config, "")
    })
}

fn no_such(pmu: Pmu<'_>, event: &str, reason: &Unavailable) -> Unavailable {
    let names = pmu.events().unwrap_or_default();
    let near = model::name::did_you_mean(event, names.iter().map(String::as_str));
    let near = near.map(|near| format!("; did you mean `{}/{near}/`?", pmu.name()));
    let why = match near {
        Some(near) => format!("`{}` has no event `{event}`{near}", pmu.name()),
        None if names.is_empty() => reason.why.clone(),
        None => format!("`{}` has no event `{event}` but {}", pmu.name(), names.join(", ")),
    };
    Unavailable::new(Obstacle::Cpudyno, format!("event `{event}` of `{}`", pmu.name()), why)
}

/// # Source
/// Linux `arch/x86/events/intel/core.c`: the tables of constraints, and the shares of slots at events of
/// code 0 with unit masks from 80h on.
fn intel_place(config: [u64; 4]) -> CounterPlace {
    match config[0] {
        0xc0 => CounterPlace::Fixed(0),
        0x3c => CounterPlace::Fixed(1),
        0x300 => CounterPlace::Fixed(2),
        0x400 => CounterPlace::Fixed(3),
        0x8000..=0xff00 if config[0].trailing_zeros() >= 8 => CounterPlace::SHARE,
        _ => CounterPlace::General { counters: u64::MAX, takes: 1 },
    }
}
