//! Limits of a package's power: registers of Intel CPUs, and what the kernel shows of them to everybody.

use std::collections::BTreeMap;

use model::record::{PowerLimit, PowerLimitBeside, PowerTerm};
use model::{CpuId, Obstacle, Reading, Unavailable};

use crate::facts::bits;
use crate::parse::first_number;
use crate::ports::Machine;

/// What power and time are counted in.
pub(super) const RAPL_POWER_UNIT: u32 = 0x606;
/// Both limits of a package.
pub(super) const PKG_POWER_LIMIT: u32 = 0x610;

/// What firmware that sets no limit writes into the field of one: as much as fits, or a whole number of watts less.
const FULL: u64 = 0x7ff8;
/// The same in watts, at the usual unit.
const WATTS_MAX: f64 = 4095.0;

/// A limit that is in force, of less than `most`. One of nothing limits nothing either: no package could run with it.
fn limit(package: u32, term: PowerTerm, watts: f64, most: f64, source: String) -> PowerLimit {
    let is_limit = watts > 0.0 && watts < most;
    PowerLimit {
        package,
        term,
        watts: Some(watts).filter(|_| is_limit),
        no_limit_watts: Some(watts).filter(|_| !is_limit),
        seconds: None,
        enabled: true,
        locked: None,
        source,
        beside: Vec::new(),
    }
}

/// Silvermont and Airmont, whose units are others.
///
/// # Source
/// Intel SDM volume 4, tables of these models: `MSR_RAPL_POWER_UNIT` is 2^n milliwatts there.
const OTHER_UNITS: &[u32] = &[0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x5d];

/// The limits in the register 610h, PL1 first.
///
/// # Source
/// Intel SDM volume 3B, "Package RAPL domain": PL1 in bits 14:0, enable 15, time 23:17; PL2 32 bits
/// higher; lock 63. A time is 2^Y (1 + Z/4) units, Y the lower five bits and Z the upper two. Units in
/// 606h: power 1/2^\[3:0\] W, time 1/2^\[19:16\] s.
pub(super) fn decode(package: u32, units: u64, limits: u64) -> [PowerLimit; 2] {
    let watt = 1.0 / f64::from(1u32 << bits(units, 0, 4));
    let second = 1.0 / f64::from(1u32 << bits(units, 16, 4));
    let locked = bits(limits, 63, 1) == 1;
    [(PowerTerm::Long, 0), (PowerTerm::Short, 32)].map(|(term, low)| {
        let [watts, most] = [bits(limits, low, 15), FULL].map(|field| field as f64 * watt);
        let time = bits(limits, low + 17, 7);
        let (exponent, quarters) = (bits(time, 0, 5), bits(time, 5, 2));
        let seconds = 2f64.powi(exponent as i32) * (1.0 + quarters as f64 / 4.0) * second;
        PowerLimit {
            seconds: Some(seconds),
            enabled: bits(limits, low + 15, 1) == 1,
            locked: Some(locked),
            ..limit(package, term, watts, most, format!("MSR {PKG_POWER_LIMIT:X}h"))
        }
    })
}

/// Of the package of a CPU, by its registers.
pub(super) fn by_registers(
    machine: &Machine,
    model: u32,
    package: u32,
    cpu: CpuId,
) -> Reading<[PowerLimit; 2]> {
    if OTHER_UNITS.contains(&model) {
        let why = "this version does not know the units of this model";
        return Err(Unavailable::new(Obstacle::Cpudyno, "power limits", why));
    }
    let units = machine.msr.read(cpu, RAPL_POWER_UNIT)?;
    Ok(decode(package, units, machine.msr.read(cpu, PKG_POWER_LIMIT)?))
}

const FOLDER: &str = "/sys/class/powercap";

/// Who counts and limits power for the kernel: registers (or TPMI behind the same name), and memory beside them,
/// whose limits hold, too.
///
/// # Source
/// Linux, `drivers/thermal/intel/int340x_thermal/processor_thermal_rapl.c`: the second.
const CONTROLS: [&str; 2] = ["intel-rapl", "intel-rapl-mmio"];

/// By the files of the kernel, which plain users may read: what each of those says.
///
/// # Source
/// Linux, `Documentation/power/powercap/powercap.rst`; `drivers/powercap/intel_rapl_common.c` names the
/// constraints `long_term`, `short_term` and `peak_power`.
pub(super) fn by_kernel(machine: &Machine, package: u32) -> Reading<Vec<PowerLimit>> {
    let names = machine.tree.list(FOLDER).unwrap_or_default();
    let terms = |zone: &String| {
        let name = machine.tree.read(&format!("{FOLDER}/{zone}/name")).unwrap_or_default();
        terms_of(name.trim(), package)
    };
    // Of packages with several dies each die has a zone.
    let of_control = |control: &'static str| {
        let zones = names.iter().filter(move |name| name.starts_with(&format!("{control}:")));
        let ours = zones.filter_map(|zone| Some((zone, terms(zone)?)));
        ours.map(|(zone, terms)| of_zone(machine, package, control, zone, terms))
    };
    let limits: Vec<Vec<PowerLimit>> = CONTROLS.into_iter().flat_map(of_control).collect();
    if limits.is_empty() {
        let why = format!("there is no zone `package-{package}` below `{FOLDER}`");
        return Err(Unavailable::new(Obstacle::Hardware, "power limits", why));
    }
    let limits = limits.concat();
    if limits.is_empty() {
        let why = format!("no zone `package-{package}` below `{FOLDER}` states a limit");
        return Err(Unavailable::new(Obstacle::Hardware, "power limits", why));
    }
    Ok(limits)
}

/// The limits that a zone has by the names of its constraints.
type Terms = &'static [(&'static str, PowerTerm)];

/// Those of the zone of that name, where it is one of this package or of the platform that it is the first of.
///
/// # Source
/// Linux, `drivers/powercap/intel_rapl_common.c`, `rapl_package_register_powercap` and `rapl_init_domains`:
/// `package-N`, `package-N-die-M`; `psys`, and `psys-N` beyond the first package.
fn terms_of(zone: &str, package: u32) -> Option<Terms> {
    use PowerTerm::{Long, Peak, PlatformLong, PlatformShort, Short};
    const OF_PACKAGE: Terms = &[("long_term", Long), ("short_term", Short), ("peak_power", Peak)];
    const OF_PLATFORM: Terms = &[("long_term", PlatformLong), ("short_term", PlatformShort)];
    let (name, rest) = zone.split_once('-').unwrap_or((zone, "0"));
    let number = rest.split('-').next().and_then(|number| number.parse().ok());
    match name {
        _ if number != Some(package) => None,
        "package" => Some(OF_PACKAGE),
        "psys" => Some(OF_PLATFORM),
        _ => None,
    }
}

/// What one zone of powercap states. Who is off altogether limits nothing in any zone.
fn of_zone(
    machine: &Machine,
    package: u32,
    control: &str,
    zone: &str,
    terms: Terms,
) -> Vec<PowerLimit> {
    let read = |path: &str| machine.tree.read(path).map(|text| text.trim().to_owned());
    let is_on = |of: &str| read(&format!("{FOLDER}/{of}/enabled")).map_or(true, |text| text != "0");
    let enabled = is_on(control) && is_on(zone);
    let of_constraint = |constraint: u32| {
        let file = |name: &str| format!("{FOLDER}/{zone}/constraint_{constraint}_{name}");
        let name = read(&file("name")).ok()?;
        let (_, term) = terms.iter().find(|(known, _)| *known == name)?;
        let number = |name: &str| {
            let path = file(name);
            first_number(&path, &read(&path)?).map(|microunits| microunits * 1e-6)
        };
        let watts = number("power_limit_uw").ok()?;
        Some(PowerLimit {
            seconds: number("time_window_us").ok().filter(|seconds| *seconds > 0.0),
            enabled,
            ..limit(package, *term, watts, WATTS_MAX, zone.to_owned())
        })
    };
    (0..3).filter_map(of_constraint).collect()
}

/// What the packages of AMD's servers may draw, where the kernel shows it.
///
/// # Source
/// Linux, `Documentation/arch/x86/amd_hsmp.rst`, `drivers/platform/x86/amd/hsmp/hwmon.c`: one sensor for each
/// socket, in their order; `power1_cap` in microwatts.
pub(super) fn by_sensor(machine: &Machine, package: u32) -> Reading<Vec<PowerLimit>> {
    const SENSORS: &str = "/sys/class/hwmon";
    let names = machine.tree.list(SENSORS).unwrap_or_default();
    let is_ours = |name: &&String| {
        let name = machine.tree.read(&format!("{SENSORS}/{name}/name")).unwrap_or_default();
        name.trim() == "amd_hsmp_hwmon"
    };
    let mut ours: Vec<&String> = names.iter().filter(is_ours).collect();
    ours.sort_by_key(|name| name.trim_start_matches("hwmon").parse::<u32>().ok());
    let sensor = ours.get(package as usize).ok_or_else(|| {
        let why = "CPUs of AMD state power limits to the firmware only";
        Unavailable::new(Obstacle::Hardware, "power limits", why)
    })?;
    let path = format!("{SENSORS}/{sensor}/power1_cap");
    let watts = first_number(&path, &machine.tree.read(&path)?)? * 1e-6;
    let source = format!("{sensor}/power1_cap");
    Ok(vec![limit(package, PowerTerm::Package, watts, WATTS_MAX, source)])
}

/// Of all that is stated of one package, what binds: of each term the least that is in force. What says the same a
/// second time is left out: the kernel reads registers, too.
pub(super) fn binding(stated: Vec<PowerLimit>) -> Vec<PowerLimit> {
    let mut by_term: BTreeMap<PowerTerm, Vec<PowerLimit>> = BTreeMap::new();
    for limit in stated {
        by_term.entry(limit.term).or_default().push(limit);
    }
    by_term.into_values().filter_map(least).collect()
}

fn least(mut stated: Vec<PowerLimit>) -> Option<PowerLimit> {
    /// Units are 1/8 W, and files are rounded.
    const SAME_WATTS: f64 = 0.5;
    let watts = |limit: &PowerLimit| limit.watts.filter(|_| limit.enabled).unwrap_or(f64::INFINITY);
    // The first of equal ones: the sort is stable. What is in force and limits nothing is before what is off.
    stated.sort_by(|a, b| watts(a).total_cmp(&watts(b)).then(b.enabled.cmp(&a.enabled)));
    let mut stated = stated.into_iter();
    let mut least = stated.next()?;
    for other in stated {
        let all = |limit: &PowerLimit| limit.watts.or(limit.no_limit_watts);
        let is_same = other.enabled == least.enabled
            && match (all(&other), all(&least)) {
                (Some(other), Some(least)) => (other - least).abs() <= SAME_WATTS,
                (other, least) => other == least,
            };
        if !is_same {
            let PowerLimit { watts, no_limit_watts, enabled, source, .. } = other;
            least.beside.push(PowerLimitBeside { watts, no_limit_watts, enabled, source });
        }
    }
    Some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(units: u64, limits: u64) -> [(Option<f64>, f64, bool); 2] {
        decode(0, units, limits).map(|limit| {
            let seconds = limit.seconds.map_or(f64::NAN, |s| (s * 1e4).round() / 1e4);
            (limit.watts, seconds, limit.enabled)
        })
    }

    /// Registers of Xeon E5-2699 v3, Platinum 8180, w9-3475X, Core i9-12900K, Core Ultra 7 155H and Atom
    /// C3958, as InstLatx64 recorded them.
    #[test]
    fn recorded_limits() {
        const UNITS: u64 = 0xa_0e03;
        let w = Some;
        let of = |limits| said(UNITS, limits);
        assert_eq!(of(0x0007_8570_005b_8488), [(w(145.0), 10.0, true), (w(174.0), 0.0078, true)]);
        assert_eq!(of(0x8003_87b0_0014_8668), [(w(205.0), 1.0, true), (w(246.0), 0.002, true)]);
        assert_eq!(of(0x0087_8b40_0015_8960), [(w(300.0), 1.0, true), (w(360.0), 0.0117, true)]);
        assert_eq!(of(0x0042_fff8_00df_fff8), [(None, 56.0, true), (None, 0.0024, true)]);
        assert_eq!(of(0x0042_8200_00dd_8200), [(w(64.0), 28.0, true), (w(64.0), 0.0024, true)]);
        assert_eq!(decode(0, UNITS, 0x8003_87b0_0014_8668)[0].locked, Some(true));
        // What fills the field, whatever the unit is.
        assert_eq!(said(0xa_0e08, 0x0042_ffff_00df_ffff).map(|limit| limit.0), [None, None]);
        let goldmont = said(0x330a_0e08, 0x0007_a500_005b_9f00);
        assert_eq!(goldmont, [(w(31.0), 10.0, true), (w(37.0), 0.0078, true)]);
    }

    /// A register that nobody has written.
    #[test]
    fn no_watts_are_no_limit() {
        assert_eq!(said(0xa_0e03, 0).map(|(watts, ..)| watts), [None, None]);
    }

    /// Of several sources the least that is on binds; one that repeats it is not named.
    #[test]
    fn the_least_limit_binds() {
        let stated = |term, watts: Option<f64>, enabled, source: &str| PowerLimit {
            enabled,
            ..limit(0, term, watts.unwrap_or(0.0), WATTS_MAX, source.to_owned())
        };
        let said = |stated: Vec<PowerLimit>| -> Vec<String> {
            binding(stated).iter().map(PowerLimit::said).collect()
        };
        let long = |watts, enabled, source| stated(PowerTerm::Long, watts, enabled, source);
        let all = || vec![long(Some(125.0), true, "a"), long(Some(125.1), true, "b")];
        assert_eq!(said(all()), ["PL1 125 W (a)"]);
        let lower = || long(Some(35.0), true, "c");
        assert_eq!(
            said([all(), vec![lower()]].concat()),
            ["PL1 35 W (c; 125 W by a does not bind; 125 W by b does not bind)"]
        );
        let off = long(Some(15.0), false, "d");
        assert_eq!(said(vec![lower(), off.clone()]), ["PL1 35 W (c; 15 W by d is off)"]);
        assert_eq!(said(vec![off]), ["PL1 15 W (d, off)"]);
        let none = long(None, true, "e");
        assert_eq!(said(vec![none.clone(), lower()]), ["PL1 35 W (c; 0 W by e is no limit)"]);
        // What is off is named by who is on, even where that limits nothing.
        let off = || long(Some(15.0), false, "d");
        assert_eq!(
            said(vec![off(), none]),
            ["PL1 0 W, which nothing could keep (e; 15 W by d is off)"]
        );
        let full = long(Some(4095.9), true, "g");
        assert_eq!(said(vec![off(), full]), ["PL1 none (g; 15 W by d is off)"]);
        let peak = stated(PowerTerm::Peak, Some(200.0), true, "f");
        assert_eq!(said(vec![peak, lower()]), ["PL1 35 W (c)", "PL4 200 W (f)"]);
    }

    #[test]
    fn a_limit_that_is_off_says_so() {
        assert_eq!(said(0xa_0e03, 0x0488)[0], (Some(145.0), 0.001, false));
    }
}
