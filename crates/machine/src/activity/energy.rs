//! Power by the energy counters of powercap.

use std::time::Duration;

use model::{CpuId, Obstacle, Reading, Unavailable, Unit};

use super::{Column, ColumnSource, LookContext, Places, Scope, no_interval, watts};
use crate::facts::fact_cache::Survey;
use crate::facts::{Architecture, hidden_from_guest, to_load};
use crate::parse::whole_number;
use crate::perf::is_amd;
use crate::ports::{Machine, Tree};

const QUANTITY: &str = "power";

/// Header and domain, in the order of columns.
pub(super) const DOMAINS: &[(&str, &str)] =
    &[("PkgWatt", "package"), ("CorWatt", "core"), ("RAMWatt", "dram")];

/// What registers have of it.
pub(super) const REGISTER_COLUMNS: &[(&str, &str, Unit)] =
    &[("PkgWatt", QUANTITY, Unit::Watt), ("CorWatt", QUANTITY, Unit::Watt)];

pub(super) const COLUMNS: &[(&str, &str, Unit)] = &[
    ("PkgWatt", QUANTITY, Unit::Watt),
    ("CorWatt", QUANTITY, Unit::Watt),
    ("RAMWatt", QUANTITY, Unit::Watt),
];

const FOLDER: &str = "/sys/class/powercap";

/// No package draws more: a counter that would begin again twice in an interval says nothing.
const WATTS_MAX: f64 = 1000.0;

/// Where energy is counted.
enum EnergyCounter {
    /// A zone of powercap.
    Folder(String),
    /// A register of 32 bits, and what one count is in microjoules.
    Register(CpuId, u32, f64),
}

/// Something that counts the energy of a package, or of a part of it.
struct Zone {
    place: EnergyCounter,
    package: u32,
    domain: &'static str,
    /// Where the counter begins again, in microjoules.
    range: u64,
}

struct Energy {
    zones: Vec<Zone>,
    source: &'static str,
    /// When counters were read last, and what they said.
    last: Option<(Duration, Vec<Reading<u64>>)>,
    /// What each counted since the last look, in microjoules.
    counted: Vec<Reading<u64>>,
    /// When that was; none: nobody has looked yet.
    looked: Option<Duration>,
}

impl Energy {
    /// Adds what was counted since the last reading.
    fn add(&mut self, look: &LookContext<'_>) {
        let read = |zone| energy(look.machine, zone);
        let now: Vec<Reading<u64>> = self.zones.iter().map(read).collect();
        let Some((then, before)) = self.last.replace((look.now, now.clone())) else { return };
        let seconds = look.now.saturating_sub(then).as_secs_f64();
        for (index, (now, before)) in now.into_iter().zip(before).enumerate() {
            let range = self.zones[index].range;
            let more = now.and_then(|now| grown(now, before?, range, seconds));
            let so_far = &mut self.counted[index];
            *so_far = so_far.clone().and_then(|so_far| Ok(so_far + more?));
        }
    }
}

/// What a counter counted within so many seconds, in which it began again once at most.
fn grown(now: u64, before: u64, range: u64, seconds: f64) -> Reading<u64> {
    let joules = range as f64 * 1e-6;
    if seconds > joules / WATTS_MAX {
        let why = format!(
            "the interval of {seconds:.0} s is too long: after {:.0} s, a counter of {joules:.0} J \
             may wrap around",
            joules / WATTS_MAX
        );
        let reason = Unavailable::new(Obstacle::Measurement, QUANTITY, why);
        return Err(reason.with_remedy("look more often: -i 10"));
    }
    let counted = since(now, before, range);
    if now < before && counted as f64 * 1e-6 > WATTS_MAX * (seconds + STEP_SECONDS) {
        let why = format!(
            "the counter was reset: it fell from {before} to {now} uJ within {seconds:.2} s, too \
             soon to wrap around at {range}"
        );
        return Err(Unavailable::new(Obstacle::Measurement, QUANTITY, why));
    }
    Ok(counted)
}

/// Counters of energy may show what they counted this much later.
const STEP_SECONDS: f64 = 0.01;

/// # Source
/// Linux, `Documentation/power/powercap/powercap.rst`: `intel-rapl:N` is called `package-N`, with the
/// die where a package has several, and has zones `core`, `uncore` and `dram` below it. On AMD the
/// names are the same. Since Linux 5.10 only root may read `energy_uj`.
pub(super) fn open(machine: &Machine, _: &Places) -> Reading<Box<dyn ColumnSource>> {
    let zones = zones(machine)?;
    if let Some(Err(reason)) = zones.first().map(|zone| energy(machine, zone)) {
        let refused = Unavailable { what: QUANTITY.into(), ..reason };
        return Err(match refused.obstacle {
            Obstacle::Permission => refused.with_remedy(format!(
                "run as root, or `sudo chmod a+r {FOLDER}/intel-rapl:*/energy_uj`"
            )),
            _ => refused,
        });
    }
    Ok(begun(zones, "powercap, energy_uj"))
}

fn begun(zones: Vec<Zone>, source: &'static str) -> Box<dyn ColumnSource> {
    let counted = vec![Ok(0); zones.len()];
    Box::new(Energy { zones, source, last: None, counted, looked: None })
}

/// The registers that count energy, where the kernel has no zones of powercap.
///
/// # Source
/// Intel SDM volume 3B, "RAPL interfaces": the unit is 1 J over 2 to the power of `MSR_RAPL_POWER_UNIT`
/// \[12:8\]; `MSR_PKG_ENERGY_STATUS` 611h, `MSR_PP0_ENERGY_STATUS` 639h, 32 bits each. Memory has a unit of
/// its own on some servers, and is left to powercap. AMD PPR: the same at C001_0299h, packages C001_029Bh,
/// each core C001_029Ah.
pub(super) fn by_registers(machine: &Machine, places: &Places) -> Reading<Box<dyn ColumnSource>> {
    const RANGE: f64 = (1u64 << 32) as f64;
    let amd = machine.cpuid.leaf(0, 0).is_some_and(is_amd);
    let (unit, package, core) =
        if amd { (0xc001_0299, 0xc001_029b, 0xc001_029a) } else { (0x606, 0x611, 0x639) };
    let first = places.packages.first().copied().unwrap_or(CpuId(0));
    let exponent = machine.msr.read(first, unit)? >> 8 & 0x1f;
    let microjoules = 1e6 / (1u64 << exponent) as f64;
    let zone = |cpu, register, package, domain| Zone {
        place: EnergyCounter::Register(cpu, register, microjoules),
        package,
        domain,
        range: (RANGE * microjoules) as u64,
    };
    let mut zones = Vec::new();
    let mut packages = Vec::new();
    for (&cpu, &number) in &places.package_of {
        let is_first = !packages.contains(&number);
        if is_first {
            packages.push(number);
            machine.msr.read(cpu, package)?;
            zones.push(zone(cpu, package, number, "package"));
        }
        // Intel's register is the package's; each of AMD's cores has its own.
        let is_wanted = if amd { places.leads_its_core(cpu) } else { is_first };
        if is_wanted && machine.msr.read(cpu, core).is_ok_and(|energy| energy & 0xffff_ffff > 0) {
            zones.push(zone(cpu, core, number, "core"));
        }
    }
    Ok(begun(zones, "registers of energy"))
}

fn zones(machine: &Machine) -> Reading<Vec<Zone>> {
    let tree = machine.tree.as_ref();
    let names = tree.list(FOLDER).unwrap_or_default();
    let of_control = |control: &str| -> Vec<Zone> {
        let entries = names.iter().filter(|name| name.starts_with(control));
        entries.filter_map(|name| zone(tree, &names, name)).collect()
    };
    // Both count the energy of the same package: it is taken from one.
    let mut zones = of_control("intel-rapl:");
    if zones.is_empty() {
        zones = of_control("intel-rapl-mmio:");
    }
    if zones.is_empty() {
        let survey = Survey::new(machine);
        if survey.is_guest() {
            return Err(hidden_from_guest(machine, QUANTITY));
        }
        let why = format!("there is no zone that counts energy below `{FOLDER}`");
        let load = match survey.architecture() {
            Some(Architecture::X86) => to_load(machine, "intel_rapl_msr"),
            _ => None,
        };
        let remedy = load.map(|load| format!("{load} (AMD, too), where the CPU has it"));
        let absent = Unavailable::new(Obstacle::Hardware, QUANTITY, why);
        return Err(Unavailable { remedy, ..absent });
    }
    Ok(zones)
}

fn zone(tree: &dyn Tree, names: &[String], entry: &str) -> Option<Zone> {
    let path = format!("{FOLDER}/{entry}");
    let name = tree.read(&format!("{path}/name")).ok()?;
    let (package, domain) = match name.trim() {
        of_package if of_package.starts_with("package-") => (package(of_package)?, "package"),
        domain => {
            let domain = DOMAINS.iter().find(|(_, known)| *known == domain)?.1;
            // intel-rapl:N:M lies in intel-rapl:N.
            let parent =
                names.iter().find(|n| entry.rsplit_once(':').map(|(p, _)| p) == Some(n))?;
            let parent = tree.read(&format!("{FOLDER}/{parent}/name")).ok()?;
            (package(parent.trim())?, domain)
        }
    };
    let range = format!("{path}/max_energy_range_uj");
    let range = tree.read(&range).and_then(|text| whole_number(&range, &text)).ok()?;
    Some(Zone { place: EnergyCounter::Folder(path), package, domain, range })
}

/// `package-1`, or `package-1-die-0`.
fn package(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("package-")?;
    rest.split('-').next()?.parse().ok()
}

/// In microjoules.
fn energy(machine: &Machine, zone: &Zone) -> Reading<u64> {
    match &zone.place {
        EnergyCounter::Folder(path) => {
            let path = format!("{path}/energy_uj");
            whole_number(&path, &machine.tree.read(&path)?)
        }
        EnergyCounter::Register(cpu, register, microjoules) => {
            let count = machine.msr.read(*cpu, *register)? & 0xffff_ffff;
            Ok((count as f64 * microjoules) as u64)
        }
    }
}

impl ColumnSource for Energy {
    fn columns(&self) -> Vec<Column> {
        let is_there = |domain: &str| self.zones.iter().any(|zone| zone.domain == domain);
        let there = DOMAINS.iter().filter(|(_, domain)| is_there(domain));
        let column = |&(header, domain): &(&'static str, &str)| Column {
            header: header.into(),
            quantity: QUANTITY,
            part: Some(domain.to_owned()),
            unit: Unit::Watt,
            scope: Scope::Package,
            source: self.source.into(),
        };
        there.map(column).collect()
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        self.add(look);
        let counted = std::mem::replace(&mut self.counted, vec![Ok(0); self.zones.len()]);
        let looked = self.looked.replace(look.now);
        let of_zone = |index: usize| -> Reading<f64> {
            let then = looked.ok_or_else(|| no_interval(QUANTITY))?;
            let seconds = look.now.saturating_sub(then).as_secs_f64();
            watts(QUANTITY, counted[index].clone()? as f64 * 1e-6, seconds)
        };
        let of_package = |package: u32, domain: &str| -> Reading<f64> {
            let zones = self.zones.iter().enumerate();
            let mut of_dies = zones
                .filter(|(_, zone)| (zone.package, zone.domain) == (package, domain))
                .map(|(index, _)| of_zone(index))
                .peekable();
            if of_dies.peek().is_none() {
                let why = format!("package {package} has no zone `{domain}`");
                return Err(Unavailable::new(Obstacle::Hardware, QUANTITY, why));
            }
            of_dies.sum()
        };
        let packages = look.places.packages();
        let columns = self.columns();
        let domains = columns.iter().filter_map(|column| column.part.as_deref());
        let of_domain = |domain| packages.iter().map(|&p| of_package(p, domain)).collect();
        domains.map(of_domain).collect()
    }

    fn note(&mut self, look: &LookContext<'_>) {
        self.add(look);
    }
}

/// What a counter counted that may have begun again once.
fn since(now: u64, then: u64, range: u64) -> u64 {
    if now >= then { now - then } else { now + range.saturating_sub(then) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_begin_again_at_their_range() {
        assert_eq!(since(1_500, 1_000, 10_000), 500);
        assert_eq!(since(100, 9_900, 10_000), 200);
    }

    #[test]
    fn an_interval_in_which_a_counter_may_begin_again_twice_says_nothing() {
        // 262 J at 1000 W begin again after a quarter of a second.
        assert_eq!(grown(1_500, 1_000, 262_000_000, 0.2), Ok(500));
        // Began again, and started anew.
        assert_eq!(grown(100_000, 261_900_000, 262_000_000, 0.2), Ok(200_000));
        let anew = grown(100, 50_000_000, 262_000_000, 0.2).unwrap_err().why;
        assert!(anew.contains("fell from 50000000 to 100 uJ"), "{anew}");
        assert!(grown(1_500, 1_000, 262_000_000, 0.3).unwrap_err().why.contains("may wrap around"));
    }

    /// Registers and memory count the same energy.
    #[test]
    fn the_energy_of_a_package_is_counted_once() {
        let put = |files: &mut crate::Files, zone: &str| {
            files.put(format!("{FOLDER}/{zone}/name"), "package-0");
            files.put(format!("{FOLDER}/{zone}/energy_uj"), "1000");
            files.put(format!("{FOLDER}/{zone}/max_energy_range_uj"), "262143328850");
        };
        let mut files = crate::Files::default();
        put(&mut files, "intel-rapl-mmio:0");
        let count = |files: &crate::Files| {
            zones(&crate::tests::machine_of(files.clone(), "0-1")).map(|zones| zones.len())
        };
        assert_eq!(count(&files), Ok(1), "where nothing else counts it");
        put(&mut files, "intel-rapl:0");
        assert_eq!(count(&files), Ok(1));
    }

    #[test]
    fn packages_are_told_by_their_names() {
        assert_eq!(package("package-1"), Some(1));
        assert_eq!(package("package-0-die-1"), Some(0));
        assert_eq!(package("psys"), None);
    }
}
