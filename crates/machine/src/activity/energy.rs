//! Power by the energy counters of powercap.

use std::time::Duration;

use model::{Obstacle, Unavailable, Unit};

use super::{Column, Look, Places, Scope, Source, no_interval};
use crate::facts::{hidden_from_guest, is_guest};
use crate::ports::{Machine, Reading, Tree};
use crate::text::whole_number;

const QUANTITY: &str = "power";

/// Header and domain, in the order of columns.
pub(super) const DOMAINS: &[(&str, &str)] =
    &[("PkgWatt", "package"), ("CorWatt", "core"), ("RAMWatt", "dram")];

pub(super) const COLUMNS: &[(&str, &str, Unit)] = &[
    ("PkgWatt", QUANTITY, Unit::Watt),
    ("CorWatt", QUANTITY, Unit::Watt),
    ("RAMWatt", QUANTITY, Unit::Watt),
];

const FOLDER: &str = "/sys/class/powercap";

/// No package draws more: a counter that would begin again twice in an interval says nothing.
const WATTS_MAX: f64 = 1000.0;

/// A zone of powercap that counts energy.
struct Zone {
    path: String,
    package: u32,
    domain: &'static str,
    /// Where the counter begins again, in microjoules.
    range: u64,
}

struct Energy {
    zones: Vec<Zone>,
    last: Option<(Duration, Vec<Reading<u64>>)>,
}

/// # Source
/// Linux, `Documentation/power/powercap/powercap.rst`: `intel-rapl:N` is called `package-N`, with the
/// die where a package has several, and has zones `core`, `uncore` and `dram` below it. On AMD the
/// names are the same. Since Linux 5.10 only root may read `energy_uj`.
pub(super) fn open(machine: &Machine, _: &Places) -> Reading<Box<dyn Source>> {
    let tree = machine.tree.as_ref();
    let zones = zones(machine)?;
    if let Some(Err(reason)) = zones.first().map(|zone| energy(tree, zone)) {
        let refused = Unavailable { what: QUANTITY.into(), ..reason };
        return Err(match refused.obstacle {
            Obstacle::Permission => refused.with_remedy(format!(
                "run as root, or `sudo chmod a+r {FOLDER}/intel-rapl:*/energy_uj`"
            )),
            _ => refused,
        });
    }
    Ok(Box::new(Energy { zones, last: None }))
}

fn zones(machine: &Machine) -> Reading<Vec<Zone>> {
    let tree = machine.tree.as_ref();
    let names = tree.list(FOLDER).unwrap_or_default();
    let zones: Vec<Zone> = names
        .iter()
        .filter(|name| name.starts_with("intel-rapl:"))
        .filter_map(|name| zone(tree, &names, name))
        .collect();
    if zones.is_empty() {
        return Err(if is_guest(machine) {
            hidden_from_guest(QUANTITY)
        } else {
            let why = format!("there is no zone that counts energy below `{FOLDER}`");
            Unavailable::new(Obstacle::Hardware, QUANTITY, why)
                .with_remedy("`sudo modprobe intel_rapl_msr` (AMD, too), where the CPU has it")
        });
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
    Some(Zone { path, package, domain, range })
}

/// `package-1`, or `package-1-die-0`.
fn package(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("package-")?;
    rest.split('-').next()?.parse().ok()
}

fn energy(tree: &dyn Tree, zone: &Zone) -> Reading<u64> {
    let path = format!("{}/energy_uj", zone.path);
    whole_number(&path, &tree.read(&path)?)
}

impl Source for Energy {
    fn columns(&self) -> Vec<Column> {
        let is_there = |domain: &str| self.zones.iter().any(|zone| zone.domain == domain);
        let there = DOMAINS.iter().filter(|(_, domain)| is_there(domain));
        let column = |&(header, domain): &(&'static str, &str)| Column {
            header: header.into(),
            quantity: QUANTITY,
            part: Some(domain.to_owned()),
            unit: Unit::Watt,
            scope: Scope::Package,
            source: "powercap, energy_uj".into(),
        };
        there.map(column).collect()
    }

    fn read(&mut self, look: &Look<'_>) -> Vec<Vec<Reading<f64>>> {
        let tree = look.machine.tree.as_ref();
        let now: Vec<Reading<u64>> = self.zones.iter().map(|zone| energy(tree, zone)).collect();
        let last = self.last.replace((look.now, now.clone()));
        let watts = |index: usize| -> Reading<f64> {
            let (then, before) = last.as_ref().ok_or_else(|| no_interval(QUANTITY))?;
            let (now, before) = (now[index].clone()?, before[index].clone()?);
            let seconds = look.now.saturating_sub(*then).as_secs_f64();
            let range = self.zones[index].range as f64 * 1e-6;
            if seconds > range / WATTS_MAX {
                let why = format!(
                    "an interval of {seconds:.0} s is longer than {:.0} s, in which a counter of \
                     {range:.0} J may begin again",
                    range / WATTS_MAX
                );
                let reason = Unavailable::new(Obstacle::Measurement, QUANTITY, why);
                return Err(reason.with_remedy("look more often: -i 10"));
            }
            Ok(since(now, before, self.zones[index].range) as f64 * 1e-6 / seconds)
        };
        let of_package = |package: u32, domain: &str| -> Reading<f64> {
            let zones = self.zones.iter().enumerate();
            let mut of_dies = zones
                .filter(|(_, zone)| (zone.package, zone.domain) == (package, domain))
                .map(|(index, _)| watts(index))
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
    fn packages_are_told_by_their_names() {
        assert_eq!(package("package-1"), Some(1));
        assert_eq!(package("package-0-die-1"), Some(0));
        assert_eq!(package("psys"), None);
    }
}
