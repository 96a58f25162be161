//! Frequency, idle states, energy and temperature.

use model::{Obstacle, Reading, Unavailable};

use super::{Survey, not_permitted, said_elsewhere};
use crate::activity::temperature::with_driver;
use crate::facts::fact_table::{FactRow, row, text};
use crate::facts::{self, ON_THE_HOST, first_cpu};
use crate::permissions::Question;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("cpufreq", "Frequency control (cpufreq)",
        |s| said_elsewhere(s, "cpufreq.driver").map(text)),
    row("cpuidle", "Idle states (cpuidle)", |s| cpuidle(s).map(text)),
    row("cpu_dma_latency", "Bound on wake-up latency",
        |s| s.permits.ask(Question::CpuDmaLatency).map(text)),
    row("isst", "Speed Select (ISST)", |s| s.permits.ask(Question::IsstInterface).map(text)),
    row("rapl", "Energy (RAPL)", |s| energy(s).map(text)),
    row("thermal", "Temperature sensors", |s| thermal(s).map(text)),
];

fn cpuidle(survey: &Survey<'_>) -> Reading<String> {
    survey.sysfs()?;
    let folder = format!("/sys/devices/system/cpu/cpu{}/cpuidle", first_cpu(survey)?);
    let states = survey.tree.list(&folder).unwrap_or_default();
    let name = |state: &String| survey.tree.read(&format!("{folder}/{state}/name")).ok();
    let names: Vec<String> =
        states.iter().filter(|state| state.starts_with("state")).filter_map(name).collect();
    if !names.is_empty() {
        return Ok(names.join(", "));
    }
    let driver = survey.tree.read("/sys/devices/system/cpu/cpuidle/current_driver");
    if survey.is_copied() && !driver.as_ref().is_ok_and(|driver| driver == "none") {
        return Err(facts::no_file(survey, "", &folder));
    }
    let driver = driver.unwrap_or_else(|_| "none".into());
    let why = format!("the kernel shows no idle states (driver: {driver})");
    Err(if survey.is_guest() {
        let why = format!("{why}: the hypervisor decides how deep this guest's CPUs sleep");
        not_permitted(why, ON_THE_HOST)
    } else {
        facts::switched_off(survey).absence("", &why)
    })
}

/// By powercap, else by perf.
///
/// # Source
/// `Documentation/power/powercap/powercap.rst`: a zone has `name` and `energy_uj`; since Linux 5.10
/// only root may read the latter.
fn energy(survey: &Survey<'_>) -> Reading<String> {
    const FOLDER: &str = "/sys/class/powercap";
    survey.sysfs()?;
    let entries = survey.tree.list(FOLDER).unwrap_or_default();
    let zones: Vec<&String> =
        entries.iter().filter(|name| name.starts_with("intel-rapl:")).collect();
    let read = |zone: &String| {
        survey.tree.read(&format!("{FOLDER}/{zone}/energy_uj"))?;
        survey.tree.read(&format!("{FOLDER}/{zone}/name"))
    };
    let answers: Vec<Reading<String>> = zones.iter().map(|zone| read(zone)).collect();
    let names: Vec<&str> = answers.iter().flatten().map(String::as_str).collect();
    if !names.is_empty() {
        return Ok(format!("powercap: {}", names.join(", ")));
    }
    survey.permits.ask(Question::PerfEnergy).map_err(|reason| match answers.first() {
        Some(Err(refused)) if refused.obstacle == Obstacle::Permission => not_permitted(
            refused.why.clone(),
            format!("run as root, or `sudo chmod a+r {FOLDER}/intel-rapl:*/energy_uj`"),
        ),
        _ => reason,
    })
}

fn thermal(survey: &Survey<'_>) -> Reading<String> {
    survey.sysfs()?;
    said_elsewhere(survey, "temperature").map_err(|reason| {
        if reason.obstacle == Obstacle::Hardware { no_sensor(survey) } else { reason }
    })
}

fn no_sensor(survey: &Survey<'_>) -> Unavailable {
    if survey.is_copied() {
        return facts::no_file(survey, "", "/sys/class/hwmon");
    }
    if survey.is_guest() {
        let why = "the hypervisor shows this guest no temperature sensor";
        return not_permitted(why, ON_THE_HOST);
    }
    let none = Unavailable::new(Obstacle::Hardware, "", "the kernel shows no temperature sensor");
    with_driver(survey, none)
}
