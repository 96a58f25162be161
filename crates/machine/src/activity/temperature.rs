//! Temperatures by the sensors of the CPU.

use std::collections::BTreeMap;

use model::{CpuId, Obstacle, Reading, Unavailable, Unit};

use super::{Column, ColumnSource, LookContext, Places, Scope};
use crate::conditions::millidegrees;
use crate::facts::fact_cache::Survey;
use crate::facts::{cpu_vendor, hidden_from_guest, to_load};
use crate::ports::{Machine, Tree};

const QUANTITY: &str = "temperature";
const CORE: &str = "CoreTmp";
const PACKAGE: &str = "PkgTmp";

pub(super) const COLUMNS: &[(&str, &str, Unit)] =
    &[(CORE, QUANTITY, Unit::Celsius), (PACKAGE, QUANTITY, Unit::Celsius)];

const FOLDER: &str = "/sys/class/hwmon";

/// What a sensor measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SensorScope {
    Package(u32),
    /// Package and core.
    Core(u32, u32),
}

struct Sensors(BTreeMap<SensorScope, String>);

/// # Source
/// Linux, `Documentation/hwmon/coretemp.rst` (`Package id N`, `Core N`: the core's id in sysfs) and
/// `k10temp.rst` (`Tdie`, else `Tctl`, which may lie above it by design).
pub(super) fn open(machine: &Machine, places: &Places) -> Reading<Box<dyn ColumnSource>> {
    let tree = machine.tree.as_ref();
    let mut sensors = BTreeMap::new();
    for chip in tree.list(FOLDER).unwrap_or_default() {
        let chip = format!("{FOLDER}/{chip}");
        match tree.read(&format!("{chip}/name")).as_deref().map(str::trim) {
            Ok("coretemp") => sensors.extend(coretemp(tree, &chip)),
            Ok("k10temp" | "zenpower") => sensors.extend(k10temp(tree, &chip, places)),
            _ => {}
        }
    }
    if !sensors.is_empty() {
        return Ok(Box::new(Sensors(sensors)));
    }
    let survey = Survey::new(machine);
    if survey.is_guest() {
        return Err(hidden_from_guest(&survey, QUANTITY));
    }
    let why = "no temperature sensor belongs to the CPU (drivers coretemp, k10temp)";
    Err(with_driver(&survey, Unavailable::new(Obstacle::Hardware, QUANTITY, why)))
}

/// With the driver of this CPU's sensors, where it has one that is not loaded.
pub(crate) fn with_driver(survey: &Survey<'_>, absent: Unavailable) -> Unavailable {
    let driver = match cpu_vendor(survey).as_deref() {
        Ok("GenuineIntel") => to_load(survey, "coretemp"),
        Ok("AuthenticAMD" | "HygonGenuine") => to_load(survey, "k10temp"),
        _ => None,
    };
    Unavailable { remedy: driver, ..absent }
}

/// Inputs and labels of a chip.
fn labelled(tree: &dyn Tree, chip: &str) -> Vec<(String, String)> {
    let files = tree.list(chip).unwrap_or_default();
    let labelled = files.iter().filter_map(|file| {
        let stem = file.strip_suffix("_label").filter(|stem| stem.starts_with("temp"))?;
        let label = tree.read(&format!("{chip}/{file}")).ok()?;
        Some((label.trim().to_owned(), format!("{chip}/{stem}_input")))
    });
    labelled.collect()
}

fn coretemp(tree: &dyn Tree, chip: &str) -> Vec<(SensorScope, String)> {
    let sensors = labelled(tree, chip);
    let number = |label: &str, prefix: &str| label.strip_prefix(prefix)?.trim().parse::<u32>().ok();
    let package = sensors.iter().find_map(|(label, _)| number(label, "Package id"));
    let Some(package) = package else { return Vec::new() };
    let of = |(label, input): (String, String)| {
        let core = number(&label, "Core").map(|core| SensorScope::Core(package, core));
        let of = core.or_else(|| number(&label, "Package id").map(SensorScope::Package))?;
        Some((of, input))
    };
    sensors.into_iter().filter_map(of).collect()
}

/// One chip a package; its PCI device lies beside that package's CPUs.
fn k10temp(tree: &dyn Tree, chip: &str, places: &Places) -> Option<(SensorScope, String)> {
    let sensors = labelled(tree, chip);
    let labelled = |wanted: &str| sensors.iter().find(|(label, _)| label == wanted);
    let (_, input) = labelled("Tdie").or_else(|| labelled("Tctl"))?;
    let packages: Vec<u32> = places.package_of.values().copied().collect();
    let of = if packages.windows(2).all(|pair| pair[0] == pair[1]) {
        *packages.first()?
    } else {
        let beside = tree.read(&format!("{chip}/device/local_cpulist")).ok()?;
        let beside: model::CpuSet = beside.trim().parse().ok()?;
        let mut of = beside.iter().filter_map(|cpu| places.package_of.get(&cpu));
        let first = *of.next()?;
        // A device that lies beside all packages says nothing.
        of.all(|package| *package == first).then_some(first)?
    };
    Some((SensorScope::Package(of), input.clone()))
}

impl ColumnSource for Sensors {
    fn columns(&self) -> Vec<Column> {
        let has = |core: bool| self.0.keys().any(|of| matches!(of, SensorScope::Core(..)) == core);
        let column = |(header, scope, part): (&'static str, Scope, &str)| Column {
            header: header.into(),
            quantity: QUANTITY,
            part: Some(part.to_owned()),
            unit: Unit::Celsius,
            scope,
            source: "hwmon, at the end of the interval".into(),
        };
        let columns = [(CORE, Scope::Core, "core"), (PACKAGE, Scope::Package, "package")];
        let there = columns.into_iter().filter(|(_, scope, _)| has(*scope == Scope::Core));
        there.map(column).collect()
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        let of_carrier = |cpu: CpuId, scope: Scope| -> Reading<f64> {
            let place = look.places.place(cpu);
            let of = place.map(|place| match scope {
                Scope::Core => SensorScope::Core(place.package, place.core),
                Scope::Cpu | Scope::Package => SensorScope::Package(place.package),
            });
            let input = of.and_then(|of| self.0.get(&of)).ok_or_else(|| {
                let why = format!("there is no sensor for CPU {cpu}");
                Unavailable::new(Obstacle::Hardware, QUANTITY, why)
            })?;
            millidegrees(look.machine, input).ok_or_else(|| {
                let why = format!("`{input}` holds no temperature");
                Unavailable::new(Obstacle::Hardware, QUANTITY, why)
            })
        };
        let columns = self.columns();
        let scopes = columns.iter().map(|column| column.scope);
        let of_scope = |scope| {
            let carriers = look.places.carriers(scope);
            carriers.into_iter().map(|cpu| of_carrier(cpu, scope)).collect()
        };
        scopes.map(of_scope).collect()
    }
}
