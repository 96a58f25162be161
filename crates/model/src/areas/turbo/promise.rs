//! What the machine promises: which clock with how many active cores, and where that changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{AllowedClock, ClockRecord, Record, SpeedSelect, Topology, TurboLimit};
use crate::{CpuId, CpuSet};

use super::speed_select::Selected;
use crate::licence::Licence;

/// How many cores these CPUs are: threads of one core are one.
pub fn cores(topology: &Topology, cpus: &CpuSet) -> usize {
    let place = |cpu| topology.place(cpu).map(|place| (place.package, place.core));
    cpus.iter().filter_map(place).collect::<BTreeSet<(u32, u32)>>().len()
}

/// How many cores are active in the package that has most of them.
pub fn busiest(topology: &Topology, active: &CpuSet) -> usize {
    let package = |cpu: &CpuId| topology.place(*cpu).map(|place| place.package);
    let packages: BTreeSet<Option<u32>> = active.iter().map(|cpu| package(&cpu)).collect();
    let of = |wanted| active.iter().filter(|cpu| package(cpu) == wanted).collect();
    packages.into_iter().map(|wanted| cores(topology, &of(wanted))).max().unwrap_or(0)
}

/// How many cores count as active beside a CPU, by the package that has most of them. Chosen cores keep their clock,
/// however many others are active.
pub fn counted(record: &Record, cpu: CpuId, active: &CpuSet) -> usize {
    let count = busiest(&record.machine.topology, active);
    let firmware = Selected::of(record.speed_select.as_ref(), cpu);
    firmware.and_then(|it| it.chosen()).map_or(count, |chosen| chosen.min(count))
}

/// The highest clock that the registers promise to the first of some CPUs while others are active beside it, in hertz.
pub fn turbo_hertz(record: &Record, own: &CpuSet, active: &CpuSet) -> Option<f64> {
    let cpu = own.iter().next()?;
    turbo_hertz_of(record, cpu, counted(record, cpu, active))
}

/// The highest clock that the registers promise a CPU with so many cores active in its package, in hertz.
pub fn turbo_hertz_of(record: &Record, cpu: CpuId, count: usize) -> Option<f64> {
    let limit = limit_of(record, cpu)?;
    let step = limit.steps.iter().find(|step| step.active_cores as usize >= count);
    let last = limit.steps.last().filter(|_| limit.beyond.is_none());
    step.or(last).map(|step| step.hertz).filter(|hertz| *hertz < OPEN)
}

/// All bits of a ratio, which limit nothing: whoever switches turbo-freq on opens the limits so.
pub const OPEN: f64 = 25.5e9;

/// The limits by active cores that registers state of a CPU, unless they are open.
pub fn limit_of(record: &Record, cpu: CpuId) -> Option<&TurboLimit> {
    let limit = record.machine.turbo_limits.iter().find(|limit| limit.cpus.contains(cpu))?;
    limit.steps.iter().any(|step| step.hertz < OPEN).then_some(limit)
}

/// Where the limit of the kernel is read.
pub const BY_KERNEL: &str = "scaling_max_freq";

/// Where the limit of firmware is read that the kernel passes on.
pub const BY_FIRMWARE: &str = "bios_limit";

/// Where `intel_pstate` says which share of the highest clock it allows.
pub const BY_SHARE: &str = "max_perf_pct";

/// What the source of a governor's clock begins with.
pub const BY_GOVERNOR: &str = "governor ";

/// The clocks that kernel, governors and requests allow some of these CPUs.
fn allowed<'a>(
    clock: Option<&'a ClockRecord>,
    active: &'a CpuSet,
) -> impl Iterator<Item = &'a AllowedClock> + Clone {
    let all = clock.into_iter().flat_map(|clock| &clock.allowed);
    all.filter(|allowed| !allowed.cpus.intersection(active).is_empty())
}

/// Those that limit these CPUs: as far as cores come is no limit that the kernel sets.
pub fn limiting<'a>(
    clock: Option<&'a ClockRecord>,
    active: &'a CpuSet,
) -> impl Iterator<Item = &'a AllowedClock> + Clone {
    let highest = clock.into_iter().flat_map(|clock| &clock.highest);
    let limits = move |it: &&AllowedClock| {
        let is_of = |own: &&AllowedClock| own.cpus.iter().any(|cpu| it.cpus.contains(cpu));
        let mut own = highest.clone().filter(is_of).peekable();
        it.source != BY_KERNEL || own.peek().is_none() || own.any(|own| own.hertz > it.hertz)
    };
    allowed(clock, active).filter(limits)
}

/// The highest clocks that the kernel allows these CPUs, the least and the greatest of them, in hertz.
pub fn allowed_hertz(record: &Record, active: &CpuSet) -> Option<[f64; 2]> {
    let all = allowed(record.clock.as_ref(), active);
    let of_kernel = all.filter(|it| it.source == BY_KERNEL);
    let all = of_kernel.map(|allowed| allowed.hertz);
    Some([all.clone().reduce(f64::min)?, all.reduce(f64::max)?])
}

/// Of more groups of CPUs with limits of their own than this a page shows the first.
pub const GROUPS_MAX: usize = 8;

/// These CPUs by the least clock that kernel, governors and requests allow each of them, and by what Speed Select leaves
/// them under each licence.
pub fn alike(
    clock: Option<&ClockRecord>,
    said: Option<&SpeedSelect>,
    active: &CpuSet,
) -> Vec<CpuSet> {
    type Limits = (Option<u64>, [Option<u64>; Licence::ALL.len()]);
    let limits = |cpu: CpuId| -> Limits {
        let own = CpuSet::from_iter([cpu]);
        let firmware = Selected::of(said, cpu);
        let by_priority =
            |licence| firmware.and_then(|it| it.by_priority(licence)).map(|it| it.0 as u64);
        let least = limiting(clock, &own).map(|it| it.hertz as u64).min();
        (least, Licence::ALL.map(by_priority))
    };
    let mut groups: BTreeMap<Limits, Vec<CpuId>> = BTreeMap::new();
    for cpu in active.iter() {
        groups.entry(limits(cpu)).or_default().push(cpu);
    }
    groups.into_values().map(CpuSet::from_iter).collect()
}
