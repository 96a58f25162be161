//! Limits of a package's power: registers of Intel CPUs, and what the kernel shows of them to everybody.

use model::record::{PowerLimit, PowerTerm};
use model::{CpuId, Obstacle, Unavailable};

use crate::facts::bits;
use crate::ports::{Machine, Reading};
use crate::text::first_number;

/// What power and time are counted in.
pub(super) const RAPL_POWER_UNIT: u32 = 0x606;
/// Both limits of a package.
pub(super) const PKG_POWER_LIMIT: u32 = 0x610;

/// The most that the field of a limit holds, in watts, at the usual unit: firmware that sets no limit
/// writes it.
const WATTS_MAX: f64 = 4095.0;

/// A limit of nothing limits nothing either: no package could run with it.
fn stated(watts: f64) -> Option<f64> {
    (watts > 0.0 && watts < WATTS_MAX).then_some(watts)
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
        let watts = bits(limits, low, 15) as f64 * watt;
        let time = bits(limits, low + 17, 7);
        let (exponent, quarters) = (bits(time, 0, 5), bits(time, 5, 2));
        let seconds = 2f64.powi(exponent as i32) * (1.0 + quarters as f64 / 4.0) * second;
        PowerLimit {
            package,
            term,
            watts: stated(watts),
            seconds: Some(seconds),
            enabled: bits(limits, low + 15, 1) == 1,
            locked: Some(locked),
            source: format!("MSR {PKG_POWER_LIMIT:X}h"),
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

/// By the files of the kernel, which plain users may read.
///
/// # Source
/// Linux, `Documentation/power/powercap/powercap.rst`; `drivers/powercap/intel_rapl_common.c` names the
/// constraints `long_term` and `short_term`.
pub(super) fn by_kernel(machine: &Machine, package: u32) -> Reading<Vec<PowerLimit>> {
    let read = |path: &str| machine.tree.read(path).map(|text| text.trim().to_owned());
    let names = machine.tree.list(FOLDER).unwrap_or_default();
    let is_ours = |zone: &&String| {
        let name = read(&format!("{FOLDER}/{zone}/name")).unwrap_or_default();
        name.strip_prefix("package-").and_then(|rest| rest.split('-').next()?.parse().ok())
            == Some(package)
    };
    let zones = names.iter().filter(|name| name.starts_with("intel-rapl:"));
    let zone = zones.into_iter().find(is_ours).ok_or_else(|| {
        let why = format!("there is no zone `package-{package}` below `{FOLDER}`");
        Unavailable::new(Obstacle::Hardware, "power limits", why)
    })?;
    let enabled = read(&format!("{FOLDER}/{zone}/enabled")).map_or(true, |text| text != "0");
    let mut limits = Vec::new();
    for constraint in 0..2 {
        let file = |name: &str| format!("{FOLDER}/{zone}/constraint_{constraint}_{name}");
        let term = match read(&file("name")).as_deref() {
            Ok("long_term") => PowerTerm::Long,
            Ok("short_term") => PowerTerm::Short,
            _ => continue,
        };
        let number = |name: &str| {
            let path = file(name);
            first_number(&path, &read(&path)?).map(|microunits| microunits * 1e-6)
        };
        let Ok(watts) = number("power_limit_uw") else { continue };
        limits.push(PowerLimit {
            package,
            term,
            watts: stated(watts),
            seconds: number("time_window_us").ok().filter(|seconds| *seconds > 0.0),
            enabled,
            locked: None,
            source: "powercap".to_owned(),
        });
    }
    if limits.is_empty() {
        let why = format!("`{FOLDER}/{zone}` states no limit");
        return Err(Unavailable::new(Obstacle::Hardware, "power limits", why));
    }
    Ok(limits)
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
        let goldmont = said(0x330a_0e08, 0x0007_a500_005b_9f00);
        assert_eq!(goldmont, [(w(31.0), 10.0, true), (w(37.0), 0.0078, true)]);
    }

    /// A register that nobody has written.
    #[test]
    fn no_watts_are_no_limit() {
        assert_eq!(said(0xa_0e03, 0).map(|(watts, ..)| watts), [None, None]);
    }

    #[test]
    fn a_limit_that_is_off_says_so() {
        assert_eq!(said(0xa_0e03, 0x0488)[0], (Some(145.0), 0.001, false));
    }
}
