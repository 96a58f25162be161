//! The clock outside of the cores: where its limits are set, and what it is.
//!
//! A machine whose firmware has power domains has a folder for each of them, and one for the package, which writes
//! to all of those. Other machines have the latter alone.
//!
//! # Source
//! Linux, Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst, "SoC with TPMI".

use model::{CpuId, Reading};

use crate::description::{Model, Registers};
use crate::files::{CPU, Files, kilohertz, missing};
use crate::firmware::Firmware;

const FOLDER: &str = "intel_uncore_frequency";
/// What can be set.
const LIMITS: [&str; 2] = ["min_freq_khz", "max_freq_khz"];

/// The folders of power domains, and where those are: package and domain.
fn clusters(model: &Model) -> Vec<(String, (u32, u32))> {
    let domains = Firmware::of(model).map_or(0, |firmware| firmware.fabrics());
    let packages = 0..model.topology.packages;
    let places = packages.flat_map(|package| (0..domains).map(move |domain| (package, domain)));
    places.enumerate().map(|(nth, at)| (format!("{CPU}/{FOLDER}/uncore{nth:02}"), at)).collect()
}

fn of_package(package: u32) -> String {
    format!("{CPU}/{FOLDER}/package_{package:02}_die_00")
}

pub(crate) fn put_uncore(files: &mut Files, model: &Model, registers: Registers) {
    let (min, max) = (registers.uncore_min_hz, registers.uncore_max_hz);
    let limits = [("min", min), ("max", max), ("initial_min", min), ("initial_max", max)];
    let clusters = clusters(model);
    let packages = (0..model.topology.packages).map(of_package);
    for folder in clusters.iter().map(|(folder, _)| folder.clone()).chain(packages) {
        for (file, hertz) in limits {
            files.put(format!("{folder}/{file}_freq_khz"), &kilohertz(hertz));
        }
    }
    for (folder, (package, domain)) in clusters {
        files.put(format!("{folder}/package_id"), &package);
        files.put(format!("{folder}/domain_id"), &domain);
        files.put(format!("{folder}/fabric_cluster_id"), "0");
    }
}

/// The files that are written along with one: what is set for a package is set for all that is in it.
pub(crate) fn along(model: &Model, path: &str) -> Vec<String> {
    let packages = 0..model.topology.packages;
    let limit = |package: u32| {
        let file = path.strip_prefix(&of_package(package))?.strip_prefix('/')?;
        LIMITS.contains(&file).then_some((package, file))
    };
    let Some((package, file)) = packages.into_iter().find_map(limit) else { return Vec::new() };
    let clusters = clusters(model).into_iter().filter(|(_, at)| at.0 == package);
    clusters.map(|(folder, _)| format!("{folder}/{file}")).collect()
}

/// What a file `current_freq_khz` says. Where there are power domains, packages have none.
pub(crate) fn clock(model: &Model, path: &str) -> Reading<String> {
    let clusters = clusters(model);
    let packages = (0..model.topology.packages).map(of_package);
    let folders: Vec<String> = if clusters.is_empty() {
        packages.collect()
    } else {
        clusters.into_iter().map(|(folder, _)| folder).collect()
    };
    let folder = path.rsplit_once('/').map(|(folder, _)| folder);
    let folder = folder.filter(|folder| folders.iter().any(|known| known == folder));
    let hertz = folder.and_then(|folder| model.uncore_hz(folder));
    hertz.map(kilohertz).ok_or_else(|| missing(path))
}

impl Model {
    /// How much longer a pointer into the last cache takes than with the limits of the uncore that the
    /// machine came with.
    ///
    /// # Caveats
    /// One core at work keeps the uncore halfway between its limits, and all of the way to the last
    /// cache takes cycles of that clock.
    pub fn last_cache_slowdown(&self, cpu: CpuId) -> f64 {
        let Some(registers) = self.registers else { return 1.0 };
        let came = f64::midpoint(registers.uncore_min_hz, registers.uncore_max_hz);
        let at = Firmware::of(self).and_then(|firmware| firmware.seat(cpu));
        let cluster = clusters(self).into_iter().find(|(_, place)| Some(*place) == at);
        let folder = cluster.map_or_else(|| of_package(self.package_of(cpu)), |(folder, _)| folder);
        self.uncore_hz(&folder).map_or(1.0, |now| came / now)
    }

    /// The clock outside of the cores that a folder is about, while one core is at work.
    fn uncore_hz(&self, folder: &str) -> Option<f64> {
        let registers = self.registers?;
        let limit = |file: &str, came: f64| {
            let set = self.obeyed(&format!("{folder}/{file}")).and_then(|khz| khz.parse().ok());
            set.map_or(came, |khz: f64| khz * 1e3)
        };
        let [least, most] = LIMITS;
        let least = limit(least, registers.uncore_min_hz);
        Some(f64::midpoint(least, limit(most, registers.uncore_max_hz)))
    }
}
